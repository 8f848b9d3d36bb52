/* work.c - see work.h; compiled without instrumentation, linked with --wrap. */
#include "work.h"

#include <stddef.h>

uint64_t work_blocks;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) { work_blocks++; }

#define WORK(type, name, parameters, arguments, cost) \
  type __real_##name parameters;                      \
  type __wrap_##name parameters;                      \
  type __wrap_##name parameters {                     \
    work_blocks += 1 + (cost) / 16;                   \
    return __real_##name arguments;                   \
  }

size_t __real_strlen(const char *a);
WORK(void *, memcpy, (void *a, const void *b, size_t n), (a, b, n), n)
WORK(void *, memmove, (void *a, const void *b, size_t n), (a, b, n), n)
WORK(void *, memset, (void *a, int b, size_t n), (a, b, n), n)
WORK(int, memcmp, (const void *a, const void *b, size_t n), (a, b, n), n)
WORK(size_t, strlen, (const char *a), (a), __real_strlen(a))
WORK(int, strcmp, (const char *a, const char *b), (a, b), __real_strlen(a))
