/* train.c - trains on the device: steps, a checkpoint now and then, and where it stopped when it is started again.
 *
 *   ./train net.gio FOLDER STEPS
 */
#include <stdio.h>
#include <stdlib.h>

#include "cinfer.h"

enum { BATCH = 8, SAVE_EVERY = 20 };

/* A batch of this step: what a sensor would give. */
static void measure(int64_t step, float x[BATCH][3], float y[BATCH][2]) {
  uint32_t random = (uint32_t)step * 2654435761u + 1u;
  for (int i = 0; i < BATCH; i++) {
    for (int j = 0; j < 3; j++) {
      random = random * 1664525u + 1013904223u;
      x[i][j] = (float)(random >> 8) / (float)(1u << 24) - 0.5f;
    }
    y[i][0] = x[i][0] > x[i][1] ? 1.0f : 0.0f;
    y[i][1] = 1.0f - y[i][0];
  }
}

static ci_status train(ci_model *model, ci_session *session, const char *folder, int64_t steps, ci_error *error) {
  ci_restored restored = {.size = sizeof restored};
  ci_status status = ci_restore_latest(ci_session_state(session), folder, NULL, &restored, error);
  if (status != CI_OK) return status;
  const int64_t first = restored.step < 0 ? 0 : restored.step;
  const int signature = ci_signature(model, "train");
  float x[BATCH][3], y[BATCH][2], loss = 0;
  printf("from step %lld\n", (long long)first);
  for (int64_t step = first; step < steps; step++) {
    measure(step, x, y);
    ci_tensor inputs[] = {{x, sizeof x, CI_FLOAT, 2, {BATCH, 3}}, {y, sizeof y, CI_FLOAT, 2, {BATCH, 2}}};
    ci_tensor output = {&loss, sizeof loss, CI_FLOAT, 0, {0}};
    status = ci_run(session, signature, inputs, 2, &output, 1, error);
    if (status != CI_OK) return status;
    if ((step + 1) % SAVE_EVERY != 0 && step + 1 != steps) continue;
    char prefix[4096];
    ci_save_options options = ci_save_defaults();
    options.step = step + 1;
    options.max_to_keep = 2;
    if (snprintf(prefix, sizeof prefix, "%s/net-%lld", folder, (long long)(step + 1)) >= (int)sizeof prefix)
      return CI_INVALID_ARGUMENT;
    status = ci_save_with(ci_session_state(session), model, prefix, &options, error);
    if (status != CI_OK) return status;
  }
  printf("step %lld loss %.9g\n", (long long)steps, (double)loss);
  return CI_OK;
}

int main(int argc, char **argv) {
  ci_model *model = NULL;
  ci_session *session = NULL;
  ci_error error = {0};
  if (argc < 4) return fprintf(stderr, "usage: %s net.gio FOLDER STEPS\n", argv[0]), 2;
  ci_status status = ci_open(argv[1], NULL, &model, &error);
  if (status == CI_OK) status = ci_session_open(model, NULL, NULL, &session, &error);
  if (status == CI_OK) status = train(model, session, argv[2], strtoll(argv[3], NULL, 10), &error);
  if (status != CI_OK) fprintf(stderr, "%s: %s\n", ci_status_name(status), error.message);
  ci_session_close(session);
  ci_close(model);
  return status == CI_OK ? 0 : 1;
}
