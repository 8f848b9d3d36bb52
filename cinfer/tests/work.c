/* work.c - the counters of work.h; compiled without instrumentation, linked with --wrap. */
#include "work.h"

#include <stddef.h>

uint64_t work_blocks, work_most = UINT64_MAX;
void (*work_exceeded)(void);
work_positions *work_map;

#define WORK_RARE(condition) __builtin_expect(condition, 0)

static void work_stop(void) {
  work_most = UINT64_MAX;
  work_exceeded();
}

static inline void work_add(uint64_t blocks) {
  work_blocks += blocks;
  if (WORK_RARE(work_blocks > work_most)) work_stop();
}

static void work_note(uintptr_t block, uint32_t position) {
  work_map->block[position] = block;
  work_map->seen[work_map->count++] = position;
}

/* Runs at every block: half of the time that a search takes. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
  work_add(1);
  if (work_map == NULL) return;
  const uintptr_t block = (uintptr_t)__builtin_return_address(0);
  const uint32_t position = (uint32_t)(block >> 3) % WORK_POSITIONS; /* a call alone has five bytes on x86-64 */
  if (WORK_RARE(work_map->runs[position]++ == 0)) work_note(block, position);
}

#define WORK(type, name, parameters, arguments, cost) \
  type __real_##name parameters;                      \
  type __wrap_##name parameters;                      \
  type __wrap_##name parameters {                     \
    work_add(1 + (cost) / 16);                        \
    return __real_##name arguments;                   \
  }

size_t __real_strlen(const char *a);
WORK(void *, memcpy, (void *a, const void *b, size_t n), (a, b, n), n)
WORK(void *, memmove, (void *a, const void *b, size_t n), (a, b, n), n)
WORK(void *, memset, (void *a, int b, size_t n), (a, b, n), n)
WORK(int, memcmp, (const void *a, const void *b, size_t n), (a, b, n), n)
WORK(size_t, strlen, (const char *a), (a), __real_strlen(a))
WORK(int, strcmp, (const char *a, const char *b), (a, b), __real_strlen(a))
