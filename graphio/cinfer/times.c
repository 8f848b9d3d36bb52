/* times.c - when the steps of a run ended, noted without a call of Python in between. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

typedef struct graphio_step_end {
  int64_t at; /* nanoseconds since 1970 */
  const char *name; /* of the model; NULL before the first step */
  size_t length;
} graphio_step_end;
typedef struct graphio_times {
  size_t count, capacity;
  graphio_step_end *ends;
} graphio_times;

graphio_times *graphio_times_new(void);
void graphio_times_free(graphio_times *times);
void graphio_times_note(void *user, const char *name, size_t length);

graphio_times *graphio_times_new(void) { return calloc(1, sizeof(graphio_times)); }

void graphio_times_free(graphio_times *times) {
  if (times != NULL) free(times->ends);
  free(times);
}

/* A ci_observer's step. Without memory the rest of the run goes unnoted. */
void graphio_times_note(void *user, const char *name, size_t length) {
  graphio_times *times = user;
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  if (times->count == times->capacity) {
    const size_t capacity = times->capacity == 0 ? 256 : 2 * times->capacity;
    graphio_step_end *ends = realloc(times->ends, capacity * sizeof *ends);
    if (ends == NULL) return;
    times->ends = ends;
    times->capacity = capacity;
  }
  times->ends[times->count++] =
      (graphio_step_end){.at = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec, .name = name, .length = length};
}
