#define _POSIX_C_SOURCE 200809L
/* checkpoint_loop.c - trains and saves after every step, for tests that stop it at any moment or fail its calls.
 *
 *   cc -std=c11 -O2 checkpoint_loop.c $(python -m graphio.cinfer --cflags --libs) -o checkpoint_loop
 *   ./checkpoint_loop MODEL PREFIX STEPS [SHARD_BYTES [MAX_TO_KEEP [BATCHES]]]
 *
 * Goes on from the newest checkpoint in the folder of PREFIX up to step STEPS; if no step is left, it saves
 * what it has restored. A PREFIX that ends with '-' gets the step's number, any other is saved to again and again. Runs
 * the signature "train", else "step", with the records of the file BATCHES in turn (the bytes of all inputs one after
 * the other), else with zeros. Prints "resumed N" (0: from the start), then "saved N" when the save of step N has
 * returned. Exit code 0: all steps; 1: an error, reported on stderr.
 *
 * STEPS "-": starts from scratch and obeys lines of stdin, "STEP WAIT": trains up to that step, waits so many
 * microseconds and saves. Prints "saved N" or "failed N". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cinfer.h"

enum { MOST_VALUES = 16 };

typedef struct loop {
  const char *prefix;
  FILE *batches;
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

/* Fills the inputs for a step, from 1 on. */
static int feed(loop *l, long step) {
  size_t record = 0;
  if (!l->batches) return 0;
  for (int i = 0; i < l->inputs; i++) record += l->in[i].bytes;
  if (fseek(l->batches, 0, SEEK_END)) return 1;
  long count = record ? ftell(l->batches) / (long)record : 0;
  if (count == 0 || fseek(l->batches, (step - 1) % count * (long)record, SEEK_SET)) return 1;
  for (int i = 0; i < l->inputs; i++)
    if (fread(l->in[i].data, 1, l->in[i].bytes, l->batches) != l->in[i].bytes) return 1;
  return 0;
}

static ci_status save_step(loop *l, long step, ci_error *error) {
  char prefix[1024];
  int numbered = l->prefix[strlen(l->prefix) - 1] == '-';
  snprintf(prefix, sizeof prefix, numbered ? "%s%ld" : "%s", l->prefix, step);
  l->save.step = step;
  return ci_save_with(l->state, l->model, prefix, &l->save, error);
}

static int save(loop *l, long step) {
  ci_error error;
  if (save_step(l, step, &error)) return fail("save", &error);
  printf("saved %ld\n", step);
  return fflush(stdout) != 0;
}

static int advance(loop *l, long step) {
  ci_error error;
  memset(l->out, 0, sizeof l->out); /* borrowed */
  if (feed(l, step)) return fprintf(stderr, "cannot read the batch of step %ld\n", step), 1;
  return ci_run(l->session, l->signature, l->in, l->inputs, l->out, l->outputs, &error) ? fail("train", &error) : 0;
}

static int train(loop *l, long done) {
  for (long step = done + 1; step <= l->steps; step++)
    if (advance(l, step) || save(l, step)) return 1;
  return done < l->steps ? 0 : save(l, done);
}

static int obey(loop *l) {
  char line[64];
  ci_error error;
  for (long done = 0; fgets(line, sizeof line, stdin);) {
    char *rest;
    const long step = strtol(line, &rest, 10), wait = strtol(rest, NULL, 10);
    const struct timespec pause = {wait / 1000000, wait % 1000000 * 1000};
    for (; done < step; done++)
      if (advance(l, done + 1)) return 1;
    nanosleep(&pause, NULL);
    const ci_status status = save_step(l, step, &error);
    printf("%s %ld %s\n", status ? "failed" : "saved", step, status ? error.message : "");
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
  if (l->steps < 0) return obey(l);
  if (ci_restore_latest(l->state, folder, NULL, &restored, &error)) return fail("restore", &error);
  long done = restored.name[0] ? (long)restored.step : 0;
  printf("resumed %ld\n", done);
  if (fflush(stdout)) return 1;
  return train(l, done);
}

int main(int argc, char **argv) {
  loop l = {.save = ci_save_defaults()};
  ci_error error;
  if (argc < 4 || argc > 7 || !argv[2][0])
    return fprintf(stderr, "usage: %s MODEL PREFIX STEPS [SHARD_BYTES [MAX_TO_KEEP [BATCHES]]]\n", argv[0]), 2;
  l.prefix = argv[2];
  l.steps = strcmp(argv[3], "-") == 0 ? -1 : strtol(argv[3], NULL, 10);
  if (argc > 4) l.save.shard_bytes = strtoull(argv[4], NULL, 10);
  if (argc > 5) l.save.max_to_keep = (int32_t)strtol(argv[5], NULL, 10);
  if (argc > 6 && !(l.batches = fopen(argv[6], "rb"))) return fprintf(stderr, "cannot open %s\n", argv[6]), 1;
  if (ci_open(argv[1], NULL, &l.model, &error)) return fail("open", &error);
  if (ci_state_open(NULL, &l.state, &error)) return fail("open the state", &error);
  int code = run(&l);
  for (int i = 0; i < l.inputs && i < MOST_VALUES; i++) free(l.in[i].data);
  if (l.batches) fclose(l.batches);
  ci_session_close(l.session);
  ci_state_close(l.state);
  ci_close(l.model);
  return code;
}
