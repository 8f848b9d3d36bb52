/* threads.h - a pool of a few worker threads that wait without spinning; none with CI_NO_THREADS, on Windows and in
 * WebAssembly. */
#ifndef CI_THREADS_H
#define CI_THREADS_H
#include "../base/ci_common.h"

typedef void (*ci_part_fn)(void *argument, int64_t begin, int64_t end, int thread);
#include "float_mode.h"

typedef struct ci_threads ci_threads;
/* Threads in addition to the caller's; NULL when there can be none. */
ci_threads *ci_threads_start(const ci_allocator *allocator, int count);
void ci_threads_stop(const ci_allocator *allocator, ci_threads *threads);
/* Runs part p of `parts` as fn(argument, begin, end, p), each once; the caller's thread takes its share. */
void ci_threads_run(ci_threads *threads, int parts, int64_t n, ci_part_fn fn, void *argument);
/* The same on threads of the host's. */
void ci_threads_host(const ci_executor *executor, int parts, int64_t n, ci_part_fn fn, void *argument);
#endif
