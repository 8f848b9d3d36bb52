/* open_model.c - opens a model, with a custom operator where one more argument is given. */
#include <stdio.h>
#include "cinfer.h"
static ci_status refuse(void *user, ci_call *call, ci_error *error) {
  (void)user, (void)call, (void)error;
  return CI_INTERNAL;
}
int main(int argc, char **argv) {
  const ci_operator own = {.size = sizeof own,
                           .domain = "com.example",
                           .name = "Own",
                           .max_inputs = 1,
                           .max_outputs = 1,
                           .shape = refuse,
                           .run = refuse};
  const ci_operator *list[] = {&own};
  ci_options options = ci_defaults();
  ci_model *model;
  ci_error error;
  options.operators = list;
  options.operator_count = argc > 2;
  const ci_status status = ci_open(argv[1], &options, &model, &error);
  puts(status == CI_OK ? "opened" : error.message);
  ci_close(model);
  return status;
}
