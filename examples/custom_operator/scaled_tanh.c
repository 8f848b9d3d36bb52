/* scaled_tanh.c - a custom operator: y = tanh(scale * x), for cinfer.
 *
 *   cc -std=c11 -O2 -shared -fPIC -Icinfer/include scaled_tanh.c -o libscaled_tanh.so -lm
 *
 * graphio.cinfer.load(file, operators=["libscaled_tanh.so"]) finds it by ci_operators. A program in C puts the same
 * structs into ci_options.operators.
 */
#include <cinfer.h>
#include <math.h>
#include <stdio.h>

static ci_status shape(void *user, ci_call *call, ci_error *error) {
  (void)user;
  if (call->inputs[0].dtype != CI_FLOAT) {
    snprintf(error->message, sizeof error->message, "x is %s, expected float32",
             call->services->dtype_name(call->inputs[0].dtype));
    return CI_UNIMPLEMENTED;
  }
  call->outputs[0] = call->inputs[0];
  return CI_OK;
}

typedef struct job {
  const float *x;
  float *y;
  float scale;
} job;

static void part(void *argument, int64_t begin, int64_t end) {
  const job *j = argument;
  for (int64_t i = begin; i < end; i++) j->y[i] = tanhf(j->scale * j->x[i]);
}

static ci_status run(void *user, ci_call *call, ci_error *error) {
  double scale;
  (void)user;
  (void)error; /* get_float says itself what is wrong */
  ci_status status = call->services->get_float(call, "scale", 1.0, &scale);
  if (status != CI_OK) return status;
  job j = {call->inputs[0].data, call->outputs[0].data, (float)scale};
  call->services->parallel(call, (int64_t)(call->inputs[0].bytes / sizeof(float)), 4096, part, &j);
  return CI_OK;
}

#if defined(_WIN32)
__declspec(dllexport)
#endif
const ci_operator *ci_operators(int32_t *count);

const ci_operator *ci_operators(int32_t *count) {
  static const ci_operator all[] = {{.size = sizeof(ci_operator),
                                     .domain = "com.example",
                                     .name = "ScaledTanh",
                                     .since = 1,
                                     .min_inputs = 1,
                                     .max_inputs = 1,
                                     .min_outputs = 1,
                                     .max_outputs = 1,
                                     .shape = shape,
                                     .run = run}};
  *count = 1;
  return all;
}
