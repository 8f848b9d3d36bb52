/* stream.c - a recurrent network gets a signal piece by piece; its state stays in the session.
 *
 *   ./stream stream.gio LENGTH        stream.gio: streaming.py; LENGTH: time steps of a piece
 */
#include <stdio.h>
#include <stdlib.h>

#include "cinfer.h"

enum { CHANNELS = 3, STEPS = 100 };

/* Simulates a sensor. */
static void measure(int step, float x[CHANNELS]) {
  for (int i = 0; i < CHANNELS; i++) x[i] = (float)((7 * step + 3 * i) % 16) / 16;
}

static ci_status listen(ci_model *model, ci_session *session, int length, ci_error *error) {
  const int listens = ci_signature(model, "listen");
  float x[STEPS][CHANNELS], y[STEPS];
  for (int start = 0; start < STEPS; start += length) {
    const int count = start + length < STEPS ? length : STEPS - start;
    for (int i = 0; i < count; i++) measure(start + i, x[i]);
    ci_tensor input = {x, (size_t)count * sizeof x[0], CI_FLOAT, 2, {count, CHANNELS}};
    ci_tensor output = {y, sizeof y, CI_FLOAT, 1, {count}};
    const ci_status status = ci_run(session, listens, &input, 1, &output, 1, error);
    if (status != CI_OK) return status;
    for (int i = 0; i < count; i++) printf("%.9g\n", (double)y[i]);
  }
  return CI_OK;
}

int main(int argc, char **argv) {
  ci_model *model = NULL;
  ci_session *session = NULL;
  ci_error error;
  const int length = argc > 2 ? atoi(argv[2]) : 1;
  if (argc < 2 || length < 1 || length > STEPS)
    return fprintf(stderr, "usage: %s stream.gio [1 to %d steps a piece]\n", argv[0], STEPS), 2;
  ci_status status = ci_open(argv[1], NULL, &model, &error);
  if (status == CI_OK) status = ci_session_open(model, NULL, NULL, &session, &error);
  /* A new session begins with the state of the file; "reset" goes back to it later. */
  if (status == CI_OK) status = ci_run(session, ci_signature(model, "reset"), NULL, 0, NULL, 0, &error);
  if (status == CI_OK) status = listen(model, session, length, &error);
  if (status != CI_OK) fprintf(stderr, "%s: %s\n", ci_status_name(status), error.message);
  ci_session_close(session);
  ci_close(model);
  return status == CI_OK ? 0 : 1;
}
