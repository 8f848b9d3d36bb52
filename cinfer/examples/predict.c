/* predict.c - opens a model, runs a signature on zeros, prints the outputs.
 *
 *   cc -std=c11 -O2 predict.c $(python -m graphio.cinfer --cflags --libs) -o predict
 *   ./predict model.gio [signature]
 *
 * Unknown dimensions are taken as 1. A real program fills the inputs instead.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cinfer.h"

enum { MOST = 16 };

static int failed(const ci_error *error) {
  fprintf(stderr, "%s: %s\n", ci_status_name(error->status), error->message);
  return 1;
}

/* An input of zeros; data is NULL if it cannot be made. */
static ci_tensor zeros(const ci_info *info) {
  ci_tensor tensor = {.dtype = info->dtype, .rank = info->rank < 0 ? 0 : info->rank};
  size_t count = 1;
  for (int i = 0; i < tensor.rank; i++) {
    tensor.dims[i] = info->dims[i] < 0 ? 1 : info->dims[i];
    count *= (size_t)tensor.dims[i];
  }
  tensor.bytes = count * ci_dtype_size(tensor.dtype);
  tensor.data = calloc(count + 1, ci_dtype_size(tensor.dtype));
  return tensor;
}

static void print(const char *name, const ci_tensor *tensor) {
  printf("%s: %s[", name, ci_dtype_name(tensor->dtype));
  for (int i = 0; i < tensor->rank; i++) printf(i == 0 ? "%lld" : ",%lld", (long long)tensor->dims[i]);
  printf("]");
  for (size_t i = 0; tensor->dtype == CI_FLOAT && i < tensor->bytes / sizeof(float) && i < 10; i++) {
    printf(" %.6g", (double)((const float *)tensor->data)[i]);
  }
  printf("\n");
}

static int predict(const ci_model *model, ci_session *session, int signature) {
  ci_tensor inputs[MOST] = {{0}}, outputs[MOST] = {{0}}; /* outputs without data are the session's own */
  int input_count = ci_input_count(model, signature), output_count = ci_output_count(model, signature);
  ci_error error;
  ci_info info;
  if (input_count > MOST || output_count > MOST) return fprintf(stderr, "too many inputs or outputs\n"), 1;
  for (int i = 0; i < input_count; i++) {
    if (ci_input(model, signature, i, &info) == CI_OK) inputs[i] = zeros(&info);
  }
  ci_status status = ci_run(session, signature, inputs, input_count, outputs, output_count, &error);
  for (int i = 0; status == CI_OK && i < output_count; i++) {
    if (ci_output(model, signature, i, &info) == CI_OK) print(info.name, &outputs[i]);
  }
  for (int i = 0; i < input_count; i++) free(inputs[i].data);
  return status == CI_OK ? 0 : failed(&error);
}

int main(int argc, char **argv) {
  ci_model *model;
  ci_session *session;
  ci_error error;
  if (argc < 2) return fprintf(stderr, "usage: %s model.gio [signature]\n", argv[0]), 2;
  if (ci_open(argv[1], NULL, &model, &error) != CI_OK) return failed(&error);
  int signature = argc > 2 ? ci_signature(model, argv[2]) : 0;
  if (signature < 0 || signature >= ci_signature_count(model)) return fprintf(stderr, "no such signature\n"), 2;
  if (ci_session_open(model, NULL, NULL, &session, &error) != CI_OK) return failed(&error);
  int result = predict(model, session, signature);
  ci_session_close(session);
  ci_close(model);
  return result;
}
