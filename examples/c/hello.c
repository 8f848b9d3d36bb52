/* hello.c - a minimal program: opens a model, feeds it, prints what it says.
 *
 *   ./hello net.gio        net.gio: make_model.py
 */
#include <stdio.h>

#include "cinfer.h"

int main(int argc, char **argv) {
  ci_model *model = NULL;
  ci_session *session = NULL;
  ci_error error;
  float x[3] = {1, 2, 3}, p[2];
  ci_tensor input = {x, sizeof x, CI_FLOAT, 2, {1, 3}};
  ci_tensor output = {p, sizeof p, CI_FLOAT, 2, {1, 2}};
  ci_status status = ci_open(argc > 1 ? argv[1] : "net.gio", NULL, &model, &error);
  if (status == CI_OK) status = ci_session_open(model, NULL, NULL, &session, &error);
  if (status == CI_OK) status = ci_run(session, ci_signature(model, "predict"), &input, 1, &output, 1, &error);
  if (status == CI_OK) printf("%.6f %.6f\n", (double)p[0], (double)p[1]);
  else fprintf(stderr, "%s: %s\n", ci_status_name(status), error.message);
  ci_session_close(session); /* closing accepts NULL */
  ci_close(model);
  return status == CI_OK ? 0 : 1;
}
