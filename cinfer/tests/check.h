/* check.h - for test programs: CHECK reports and counts, CHECK_END is the exit code. */
#ifndef CI_TEST_CHECK_H
#define CI_TEST_CHECK_H
#include <stdio.h>

static int check_failures;
#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      check_failures++;                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                         \
  } while (0)
#define CHECK_END (check_failures ? 1 : 0)
#endif
