/* checkpoint_loop.c - trains and saves after every step, for tests that stop it at any moment or fail its calls.
 *
 *   cc -O2 -I../cinfer/include checkpoint_loop.c ../cinfer/cinfer.c -lm -pthread -o checkpoint_loop
 *   ./checkpoint_loop MODEL PREFIX STEPS [SHARD_BYTES [MAX_TO_KEEP]]
 *
 * Goes on from the newest checkpoint in the folder of PREFIX. A PREFIX that ends with '-' gets the step's number, any
 * other is saved to again and again. Runs the signature "train", else "step", on zeros. Prints "resumed N" (0: from the
 * start), then "saved N" when the save of step N has returned. Exit code 0: all steps; 1: an error, told on stderr. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cinfer.h"

enum { MOST_VALUES = 16 };

typedef struct loop {
  const char *prefix;
  long steps;
  ci_save_options save;
  ci_model *model;
  ci_session *session;
  ci_state *state;
  int signature, inputs, outputs;
  ci_tensor in[MOST_VALUES], out[MOST_VALUES];
} loop;

static int fail(const char *what, const ci_error *error) {
  return fprintf(stderr, "%s: %s: %s\n", what, ci_status_name(error->status), error->message), 1;
}

static int prepare(loop *l) {
  ci_error error;
  l->signature = ci_signature(l->model, "train");
  if (l->signature < 0) l->signature = ci_signature(l->model, "step");
  l->inputs = l->signature < 0 ? -1 : ci_input_count(l->model, l->signature);
  l->outputs = l->signature < 0 ? -1 : ci_output_count(l->model, l->signature);
  if (l->inputs < 0 || l->inputs > MOST_VALUES || l->outputs > MOST_VALUES)
    return fprintf(stderr, "the model cannot be trained by this program\n"), 1;
  for (int i = 0; i < l->inputs; i++) {
    ci_info info;
    ci_tensor *t = &l->in[i];
    if (ci_input(l->model, l->signature, i, &info)) return fprintf(stderr, "no input %d\n", i), 1;
    *t = (ci_tensor){.dtype = info.dtype, .rank = info.rank < 0 ? 0 : info.rank, .bytes = ci_dtype_size(info.dtype)};
    for (int d = 0; d < t->rank; d++) {
      t->dims[d] = info.dims[d] < 0 ? 1 : info.dims[d];
      t->bytes *= (size_t)t->dims[d];
    }
    t->data = calloc(t->bytes + 1, 1);
    if (!t->data) return fprintf(stderr, "out of memory\n"), 1;
  }
  return ci_session_open(l->model, l->state, NULL, &l->session, &error) ? fail("open the session", &error) : 0;
}

static int train(loop *l, long first) {
  ci_error error;
  char prefix[1024];
  for (long step = first; step <= l->steps; step++) {
    memset(l->out, 0, sizeof l->out); /* borrowed */
    if (ci_run(l->session, l->signature, l->in, l->inputs, l->out, l->outputs, &error)) return fail("train", &error);
    int numbered = l->prefix[strlen(l->prefix) - 1] == '-';
    snprintf(prefix, sizeof prefix, numbered ? "%s%ld" : "%s", l->prefix, step);
    l->save.step = step;
    if (ci_save_with(l->state, l->model, prefix, &l->save, &error)) return fail("save", &error);
    printf("saved %ld\n", step);
    if (fflush(stdout)) return 1;
  }
  return 0;
}

static int run(loop *l) {
  ci_restored restored = {.size = sizeof restored};
  ci_error error;
  char folder[1024];
  const char *slash = strrchr(l->prefix, '/');
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - l->prefix) + 1 : 1, slash ? l->prefix : ".");
  if (prepare(l)) return 1;
  if (ci_restore_latest(l->state, folder, NULL, &restored, &error)) return fail("restore", &error);
  long done = restored.name[0] ? (long)restored.step : 0;
  printf("resumed %ld\n", done);
  if (fflush(stdout)) return 1;
  return train(l, done + 1);
}

int main(int argc, char **argv) {
  loop l = {.save = ci_save_defaults()};
  ci_error error;
  if (argc < 4 || argc > 6 || !argv[2][0])
    return fprintf(stderr, "usage: %s MODEL PREFIX STEPS [SHARD_BYTES [MAX_TO_KEEP]]\n", argv[0]), 2;
  l.prefix = argv[2];
  l.steps = strtol(argv[3], NULL, 10);
  if (argc > 4) l.save.shard_bytes = strtoull(argv[4], NULL, 10);
  if (argc > 5) l.save.max_to_keep = (int32_t)strtol(argv[5], NULL, 10);
  if (ci_open(argv[1], NULL, &l.model, &error)) return fail("open", &error);
  if (ci_state_open(NULL, &l.state, &error)) return fail("open the state", &error);
  int code = run(&l);
  for (int i = 0; i < l.inputs && i < MOST_VALUES; i++) free(l.in[i].data);
  ci_session_close(l.session);
  ci_state_close(l.state);
  ci_close(l.model);
  return code;
}
