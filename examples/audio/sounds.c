/* sounds.c - classifies sounds from their raw samples; the spectrogram and all that follows are in the model.
 *
 *   ./sounds sounds.gio samples.f32        samples.f32: float32, 4096 a sound, as audio.py writes them
 *
 * Prints a line for each sound: its kind, and the probability of every kind. */
#include <stdio.h>

#include "cinfer.h"

enum { SAMPLES = 4096, KINDS = 6 };
static const char *const kinds[KINDS] = {"tone", "chord", "rising", "falling", "clicks", "hiss"};

static ci_status classify(ci_model *model, ci_session *session, FILE *file, ci_error *error) {
  static float samples[SAMPLES];
  const int signature = ci_signature(model, "classify");
  float probabilities[KINDS];
  int64_t answer = 0;
  ci_tensor input = {samples, sizeof samples, CI_FLOAT, 2, {1, SAMPLES}};
  while (fread(samples, sizeof samples, 1, file) == 1) {
    ci_tensor outputs[2] = {{&answer, sizeof answer, CI_INT64, 1, {1}},
                            {probabilities, sizeof probabilities, CI_FLOAT, 2, {1, KINDS}}};
    const ci_status status = ci_run(session, signature, &input, 1, outputs, 2, error);
    if (status != CI_OK) return status;
    printf("%s", kinds[answer]);
    for (int i = 0; i < KINDS; i++) printf(" %.9g", (double)probabilities[i]);
    printf("\n");
  }
  return CI_OK;
}

int main(int argc, char **argv) {
  ci_model *model = NULL;
  ci_session *session = NULL;
  ci_error error;
  if (argc != 3) return fprintf(stderr, "usage: %s sounds.gio samples.f32\n", argv[0]), 2;
  FILE *file = fopen(argv[2], "rb");
  if (file == NULL) return fprintf(stderr, "cannot open %s\n", argv[2]), 1;
  ci_status status = ci_open(argv[1], NULL, &model, &error);
  if (status == CI_OK) status = ci_session_open(model, NULL, NULL, &session, &error);
  if (status == CI_OK) status = classify(model, session, file, &error);
  if (status != CI_OK) fprintf(stderr, "%s: %s\n", ci_status_name(status), error.message);
  ci_session_close(session);
  ci_close(model);
  fclose(file);
  return status == CI_OK ? 0 : 1;
}
