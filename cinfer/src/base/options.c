/* options.c - reads the options and limits of a caller, which may be of another version of the struct. */
#include <string.h>

#include "ci_common.h"

enum {
  OPTIONS_DEFAULT_DEPTH = 16,
  OPTIONS_MOST_DEPTH = 64,
  OPTIONS_DEFAULT_LOAD = 4 /* bytes of memory for each of the file */
};

/* A size that covers no field but itself is that of a struct that the caller has not filled: its limits would not
 * count. */
ci_status ci_take_options(void *options, size_t size, const void *given, const char *defaults, ci_error *error) {
  size_t given_size;
  if (given == NULL) return CI_OK;
  memcpy(&given_size, given, sizeof given_size);
  if (given_size <= sizeof given_size) {
    return ci_fail(error, CI_INVALID_ARGUMENT, "the options' size is %zu: begin with those that %s() gives", given_size,
                   defaults);
  }
  memcpy(options, given, given_size < size ? given_size : size);
  return CI_OK;
}

void ci_limits_fill(ci_limits *limits) {
  if (limits->max_bytes == 0) limits->max_bytes = (uint64_t)1 << 46;
  if (limits->max_nodes == 0) limits->max_nodes = (uint64_t)1 << 20;
  if (limits->max_memory == 0) limits->max_memory = (uint64_t)1 << 40;
  if (limits->max_loop_steps == 0) limits->max_loop_steps = (uint64_t)1 << 40;
  if (limits->max_depth == 0) limits->max_depth = OPTIONS_DEFAULT_DEPTH;
  if (limits->max_depth > OPTIONS_MOST_DEPTH) limits->max_depth = OPTIONS_MOST_DEPTH; /* the C stack is finite */
  if (limits->max_load == 0) limits->max_load = OPTIONS_DEFAULT_LOAD;
  limits->size = sizeof *limits;
}
