/* load.c - the limits of loading a model: memory, time, and bytes of the file that are read more than once. */
#include "model.h"

enum {
  LOAD_LEAST_MEMORY = 1 << 16, /* that the load of any file may take */
  LOAD_LEAST_AGAIN = 1 << 14,  /* bytes of any file that may be read again, */
  LOAD_AGAIN = 4,              /* for each that the load may take so many, */
  LOAD_MOST_AGAIN = 64         /* and at most so many times the file */
};

size_t ci_load_most(const ci_model *m) {
  size_t most;
  const bool fits =
      ci_mul_size(m->file.length, m->limits.max_load, &most) && ci_add_size(most, LOAD_LEAST_MEMORY, &most);
  return fits ? most : SIZE_MAX;
}

ci_status ci_load_go_on(ci_model *model, ci_error *error) {
  if (!ci_stop_requested(&model->stop)) return CI_OK;
  return ci_fail(error, ci_stop_status(&model->stop), "opening the model %s", ci_stop_string(&model->stop));
}

ci_status ci_load_again(ci_model *model, size_t bytes, ci_error *error) {
  model->again += bytes; /* a file has fewer than 2^31 bytes of messages: this does not overflow before it is refused */
  const bool raised = model->limits.max_load >= LOAD_MOST_AGAIN / LOAD_AGAIN;
  const uint32_t times = raised ? LOAD_MOST_AGAIN : LOAD_AGAIN * model->limits.max_load;
  if (model->again <= LOAD_LEAST_AGAIN || (model->again - LOAD_LEAST_AGAIN) / times <= model->file.length) return CI_OK;
  return ci_fail(error, CI_RESOURCE_EXHAUSTED,
                 "calls of functions and other references stand for more than %u times the file of %zu bytes%s",
                 (unsigned)times, model->file.length, raised ? "" : "; if it can be trusted, raise the limit max_load");
}
