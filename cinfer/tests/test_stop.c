/* test_stop.c - S8: the reasons to end calls early in a build without a clock. */
#define CI_NO_FILES
#include <string.h>

#include "../src/base/stop.c"
#include "check.h"

static int32_t never(void *user) {
  (void)user;
  return 0;
}

static void test_without_a_clock_deadlines_are_refused(void) {
  const ci_interrupt nobody = {NULL, NULL}, somebody = {NULL, never};
  ci_stop stop = {.pace = 0};
  ci_error error;
  CHECK(ci_stop_set(&stop, 1, NULL, nobody, &error) == CI_UNIMPLEMENTED);
  CHECK(strstr(error.message, "this build has no clock (CI_NO_FILES)") != NULL);
  CHECK(ci_stop_set(&stop, 0, NULL, somebody, &error) == CI_UNIMPLEMENTED);
  CHECK(ci_stop_set(&stop, 0, NULL, nobody, &error) == CI_OK);
}

static void test_tokens_need_no_clock(void) {
  ci_cancel_token token = {0};
  ci_stop stop = {.pace = 0};
  CHECK(ci_stop_set(&stop, 0, &token, (ci_interrupt){NULL, NULL}, NULL) == CI_OK);
  ci_stop_begin(&stop);
  int requested = 0;
  while (requested < 1000 && !ci_stop_requested(&stop)) requested++;
  CHECK(requested == 1000);
  ci_cancel_token_set(&token, 1);
  ci_cancel_token_set(NULL, 1);
  for (requested = 0; requested < 1000 && !ci_stop_requested(&stop);) requested++;
  CHECK(requested <= STOP_SELDOM && ci_stop_status(&stop) == CI_CANCELLED);
}

int main(void) {
  test_without_a_clock_deadlines_are_refused();
  test_tokens_need_no_clock();
  return CHECK_END;
}
