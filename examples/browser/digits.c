/* digits.c - what digits.js calls: cinfer as WebAssembly, with one model and one session.
 *
 *   build.py has the command that compiles it
 */
#include <stdlib.h>

#include "cinfer.h"

enum { PIXELS = 64, OUTPUTS = 2 }; /* probabilities, classes */
#define EXPORT(name) __attribute__((export_name(#name)))

static ci_model *model;
static ci_session *session;
static ci_error error;
static float pixels[PIXELS];
static ci_tensor outputs[OUTPUTS];

void *reserve(size_t bytes);
int open_model(const void *file, size_t bytes);
float *image(void);
int run(int times);
const float *scores(void);
const char *message(void);

/* Where the page puts the model's file; NULL without memory. The model keeps it. */
EXPORT(reserve) void *reserve(size_t bytes) { return malloc(bytes); }

EXPORT(open_model) int open_model(const void *file, size_t bytes) {
  ci_options options = ci_defaults();
  options.borrow = 1;
  ci_status status = ci_open_memory(file, bytes, &options, &model, &error);
  if (status == CI_OK) status = ci_session_open(model, NULL, NULL, &session, &error);
  return (int)status;
}

EXPORT(image) float *image(void) { return pixels; }

/* Predicts the image `times` times: a browser's clock has coarse steps. */
EXPORT(run) int run(int times) {
  const ci_tensor x = {pixels, sizeof pixels, CI_FLOAT, 2, {1, PIXELS}};
  ci_status status = CI_OK;
  for (int i = 0; i < times && status == CI_OK; i++) {
    for (int j = 0; j < OUTPUTS; j++) outputs[j].data = NULL; /* borrowed until the next run */
    status = ci_run(session, ci_signature(model, "predict"), &x, 1, outputs, OUTPUTS, &error);
  }
  return (int)status;
}

EXPORT(scores) const float *scores(void) { return outputs[0].data; }
EXPORT(message) const char *message(void) { return error.message; }
