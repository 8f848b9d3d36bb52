/* life.h - all that a program may do with a model, call by call; a call that fails for lack of memory is repeated.
 *
 * The first life notes the status and results of every call; the others must be the same. */
#ifndef CI_TEST_LIFE_H
#define CI_TEST_LIFE_H
#include <stdio.h>

#include "faulty.h"
#include "inputs.h"

enum { LIFE_MOST_CALLS = 4096, LIFE_MOST_VARIABLES = 1024, LIFE_MOST_GENERATORS = 64 };

typedef struct life_note { /* of a call */
  ci_status status;
  uint32_t digest;
} life_note;

typedef struct life { /* the calls of a life, and the progress */
  const char *name; /* of the model, for messages */
  const char *path; /* or NULL: bytes in memory */
  const void *data;
  size_t bytes;
  int only;         /* the signature; -1: all */
  int shapes;       /* of each signature */
  int threads;
  const char *prefix; /* of checkpoints; NULL: none are made */
  ci_options options;
  ci_host host;

  life_note notes[LIFE_MOST_CALLS];
  bool knows; /* the notes are those of the first life */
  int all_calls, calls; /* of the first life, of this one */
  faults faults;
  bool gives_up; /* at the first failure */
  bool failed, over;
  ci_status status;
  faulty of_model, of_state, of_session, of_other;
  ci_model *model;
  ci_state *state;
  ci_session *session;
  ci_error error;
} life;

/* ---- calls ---- */

static void life_complain(const life *l, const char *what) {
  check_failures++;
  fprintf(stderr, "%s, signature %d, allocation %ld%s: call %d: %s: %s: %s\n", l->name, l->only, l->faults.at,
          l->faults.forever ? " and all after" : "", l->calls, what, ci_status_name(l->status), l->error.message);
}

/* Whether the call just made failed because an allocation did; the memory is back then. */
static bool life_is_refused(life *l, ci_status status) {
  faulty_inside = false;
  l->status = status;
  if (!atomic_load(&l->faults.hit) || l->failed) return false;
  if (l->calls < LIFE_MOST_CALLS && status == l->notes[l->calls].status) return false; /* it went on without */
  if (status != CI_RESOURCE_EXHAUSTED) life_complain(l, "reported as another error");
  if (l->error.status != status || l->error.message[0] == '\0') life_complain(l, "not reported");
  l->faults.over = l->failed = true;
  l->over = l->gives_up;
  return true;
}

#define LIFE_REFUSED(l, call) life_is_refused(l, (faulty_inside = true, (call)))
/* A call that changes nothing when it fails. */
#define LIFE_CALL(l, call)                                   \
  do {                                                       \
    if (!(l)->over && LIFE_REFUSED(l, call) && !(l)->over) { \
      (l)->status = (call);                                  \
    }                                                        \
  } while (0)

/* After a call: its results are those of the first life. */
static void life_gave(life *l, uint32_t digest) {
  if (l->over) return;
  if (l->calls == LIFE_MOST_CALLS) abort();
  life_note *note = &l->notes[l->calls];
  if (!l->knows) *note = (life_note){l->status, digest};
  if (note->status != l->status) life_complain(l, "another status");
  else if (note->digest != digest) life_complain(l, "another result");
  l->calls++;
}

/* ---- a copy of a state, to be restored after a run that failed half way ---- */

typedef struct life_values {
  int variables[LIFE_MOST_VARIABLES], variable_count, generator_count;
  ci_tensor values[LIFE_MOST_VARIABLES];
  const char *generators[LIFE_MOST_GENERATORS];
  ci_generator positions[LIFE_MOST_GENERATORS];
} life_values;

static void *life_copy(const ci_tensor *value) {
  size_t text = 0;
  const ci_string *strings = value->data;
  const size_t count = value->dtype == CI_STRING ? value->bytes / sizeof *strings : 0;
  for (size_t i = 0; i < count; i++) text += strings[i].length;
  char *copy = malloc(value->bytes + text + 1), *at = copy + value->bytes;
  if (copy == NULL) abort();
  if (value->bytes > 0) memcpy(copy, value->data, value->bytes);
  for (size_t i = 0; i < count; i++) {
    if (strings[i].length > 0) memcpy(at, strings[i].data, strings[i].length);
    ((ci_string *)(void *)copy)[i].data = at;
    at += strings[i].length;
  }
  return copy;
}

static void life_keep(const ci_state *state, life_values *kept) {
  kept->variable_count = kept->generator_count = 0;
  if (ci_variable_count(state) > LIFE_MOST_VARIABLES || ci_generator_count(state) > LIFE_MOST_GENERATORS) abort();
  for (int i = 0; i < ci_variable_count(state); i++) {
    ci_tensor value;
    if (ci_variable_view(state, i, &value, NULL) != CI_OK) continue;
    value.data = life_copy(&value);
    kept->variables[kept->variable_count] = i;
    kept->values[kept->variable_count++] = value;
  }
  for (int i = 0; i < ci_generator_count(state); i++) {
    int used = 0;
    kept->generators[i] = ci_generator_name(state, i);
    if (ci_generator_get(state, i, &kept->positions[kept->generator_count], &used) == CI_OK && used)
      kept->generators[kept->generator_count++] = kept->generators[i];
  }
}

static void life_put_back(life *l, const life_values *kept) {
  const ci_assignment assignment = {.variables = kept->variables,
                                    .values = kept->values,
                                    .variable_count = kept->variable_count,
                                    .generators = kept->generators,
                                    .positions = kept->positions,
                                    .generator_count = kept->generator_count};
  CHECK(ci_state_assign(l->state, &assignment, &l->error) == CI_OK);
}

/* A generator that no run has used has no position that could be restored. */
static void life_begin_generators(life *l) {
  for (int i = 0; !l->over && i < ci_generator_count(l->state); i++) {
    ci_generator position = {(uint64_t)i, 1};
    int used = 0;
    if (ci_generator_get(l->state, i, NULL, &used) == CI_OK && !used)
      LIFE_CALL(l, ci_generator_set(l->state, ci_generator_name(l->state, i), &position, &l->error));
  }
}

static void life_values_free(life_values *kept) {
  for (int i = 0; i < kept->variable_count; i++) free(kept->values[i].data);
}

/* ---- runs ---- */

static void life_run(life *l, int signature, int64_t n) {
  static life_values kept;
  static ci_tensor outputs[OUTPUTS_MOST];
  inputs in;
  const int count = ci_output_count(l->model, signature);
  if (l->over) return;
  if (count > OUTPUTS_MOST) abort();
  inputs_make(&in, l->model, signature, n);
  life_keep(l->state, &kept);
  memset(outputs, 0, sizeof outputs);
  if (LIFE_REFUSED(l, ci_run(l->session, signature, in.tensors, in.count, outputs, count, &l->error)) && !l->over) {
    life_put_back(l, &kept);
    memset(outputs, 0, sizeof outputs);
    l->status = ci_run(l->session, signature, in.tensors, in.count, outputs, count, &l->error);
  }
  life_gave(l, l->status == CI_OK ? digest_tensors(0, outputs, count) : 0);
  life_values_free(&kept);
  inputs_free(&in);
}

/* Plans ahead, by the two ways. */
static void life_plan(life *l, int signature, int64_t n) {
  static ci_tensor outputs[OUTPUTS_MOST];
  inputs in;
  const int count = ci_output_count(l->model, signature);
  inputs_make(&in, l->model, signature, n);
  memset(outputs, 0, sizeof outputs);
  LIFE_CALL(l, ci_infer_outputs(l->session, signature, in.tensors, in.count, outputs, count, &l->error));
  uint32_t digest = 0;
  for (int i = 0; l->status == CI_OK && i < count; i++) digest = ci_crc32c(digest, &outputs[i].rank, sizeof(int32_t));
  /* a shape for which memory was short is left to the run */
  life_gave(l, l->knows && atomic_load(&l->faults.hit) ? l->notes[l->calls].digest : digest);
  LIFE_CALL(l, ci_reserve(l->session, signature, in.tensors, in.count, &l->error));
  life_gave(l, 0);
  inputs_free(&in);
}

static void life_signatures(life *l) {
  for (int s = 0; s < ci_signature_count(l->model); s++) {
    if (l->only >= 0 && s != l->only) continue;
    life_plan(l, s, 3);
    for (int n = 0; n < l->shapes; n++) life_run(l, s, n + 2);
    life_run(l, s, 2);
  }
}

/* ---- the state ---- */

static void life_variables(life *l) {
  float pair[2] = {1, 2};
  const ci_tensor value = {pair, sizeof pair, CI_FLOAT, 1, {2}};
  const ci_info info = {.name = "life/pair", .dtype = CI_FLOAT, .rank = 1, .dims = {2}};
  const ci_info other = {.name = "life/other", .dtype = CI_STRING, .rank = -1};
  const int before = ci_variable_count(l->state);
  int index = -1;
  void *buffer = NULL;
  LIFE_CALL(l, ci_variable_declare(l->state, &info, &index, &l->error));
  LIFE_CALL(l, ci_variable_declare(l->state, &other, NULL, &l->error));
  if (l->over) return;
  CHECK(ci_variable_count(l->state) == before + 2 && ci_variable_index(l->state, "life/other") == before + 1);
  LIFE_CALL(l, ci_variable_forget(l->state, before + 1, &l->error));
  LIFE_CALL(l, ci_variable_set(l->state, index, &value, &l->error));
  LIFE_CALL(l, ci_state_alloc(l->state, sizeof pair, &buffer, &l->error));
  if (l->over) return;
  CHECK(ci_variable_count(l->state) == before + 1 && buffer != NULL);
  memcpy(buffer, (float[]){3, 4}, sizeof pair);
  const ci_tensor given = {buffer, sizeof pair, CI_FLOAT, 1, {2}};
  const ci_assignment assignment = {.variables = &index,
                                    .values = &given,
                                    .variable_count = 1,
                                    .generators = (const char *[]){"life/dice"},
                                    .positions = &(ci_generator){5, 6},
                                    .generator_count = 1,
                                    .given = &(uint8_t){1}};
  LIFE_CALL(l, ci_state_assign(l->state, &assignment, &l->error));
  if (l->over) ci_state_free(l->state, buffer, sizeof pair);
  life_gave(l, digest_state(l->state));
}

static void life_blobs(life *l) {
  const ci_generator position = {7, 8};
  const void *data = NULL;
  size_t bytes = 0;
  LIFE_CALL(l, ci_generator_set(l->state, "life/coin", &position, &l->error));
  LIFE_CALL(l, ci_state_set_blob(l->state, "life/blob", "12345", 5, &l->error));
  LIFE_CALL(l, ci_state_set_blob(l->state, "life/blob", "1234", 4, &l->error));
  LIFE_CALL(l, ci_state_set_blob(l->state, "life/gone", "", 0, &l->error));
  LIFE_CALL(l, ci_state_remove_blob(l->state, "life/gone", &l->error));
  LIFE_CALL(l, ci_state_blob(l->state, "life/blob", &data, &bytes, &l->error));
  if (l->over) return;
  CHECK(ci_state_blob_count(l->state) == 1 && bytes == 4 && memcmp(data, "1234", 4) == 0);
  life_gave(l, digest_state(l->state));
}

/* ---- checkpoints ---- */

static void life_save(life *l, int64_t step) {
  char prefix[512];
  ci_save_options options = ci_save_defaults();
  if (l->over) return;
  options.step = step;
  options.shard_bytes = 256;
  options.max_to_keep = 1;
  snprintf(prefix, sizeof prefix, "%s-%d", l->prefix, (int)step);
  LIFE_CALL(l, ci_save_with(l->state, l->model, prefix, &options, &l->error));
  life_gave(l, 0);
}

/* The newest checkpoint in an empty state, by one of the ways of looking at it. */
static void life_restore(life *l, uint32_t verify) {
  ci_state_options options = ci_state_defaults();
  ci_restore_options how = ci_restore_defaults();
  ci_restored restored = {.size = sizeof restored};
  ci_state *state = NULL;
  char folder[512];
  snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(l->prefix, '/') - l->prefix), l->prefix);
  options.allocator = faulty_hook(&l->of_other);
  how.verify = verify;
  LIFE_CALL(l, ci_state_open(&options, &state, &l->error));
  LIFE_CALL(l, ci_restore_latest(state, folder, &how, &restored, &l->error));
  life_gave(l, l->over ? 0 : ci_crc32c(digest_state(state), &restored.step, sizeof restored.step));
  ci_state_close(state);
}

static void life_checkpoints(life *l) {
  if (l->prefix == NULL) return;
  life_save(l, 1);
  life_save(l, 2);
  life_restore(l, CI_VERIFY_FULL);
  life_restore(l, CI_VERIFY_LAZY);
  for (uint32_t verify = CI_VERIFY_FULL; verify <= CI_VERIFY_LAZY;
       verify++) { /* a state of which a session has views */
    char prefix[512];
    ci_restore_options how = ci_restore_defaults();
    how.verify = verify;
    snprintf(prefix, sizeof prefix, "%s-2", l->prefix);
    LIFE_CALL(l, ci_restore_with(l->state, prefix, &how, NULL, &l->error));
    life_gave(l, 0);
    life_signatures(l); /* values in their file are assigned for the first time */
    life_gave(l, l->over ? 0 : digest_state(l->state));
  }
}

/* ---- from opening to closing ---- */

static void life_open(life *l) {
  ci_state_options of_state = ci_state_defaults();
  l->options.allocator = faulty_hook(&l->of_model);
  of_state.allocator = faulty_hook(&l->of_state);
  of_state.seed = 3;
  if (l->path != NULL) LIFE_CALL(l, ci_open(l->path, &l->options, &l->model, &l->error));
  else LIFE_CALL(l, ci_open_memory(l->data, l->bytes, &l->options, &l->model, &l->error));
  life_gave(l, 0);
  LIFE_CALL(l, ci_state_open(&of_state, &l->state, &l->error));
  life_gave(l, 0);
}

static void life_open_session(life *l) {
  ci_session_options options = ci_session_defaults();
  if (l->over || l->model == NULL) return;
  options.allocator = faulty_hook(&l->of_session);
  options.threads = l->threads;
  options.host = l->host;
  options.limits.max_loop_steps = 1 << 20;
  LIFE_CALL(l, ci_session_open(l->model, l->state, &options, &l->session, &l->error));
  life_begin_generators(l);
  life_gave(l, l->over ? 0 : digest_state(l->state));
}

static void life_seen(void *user, const char *name, size_t length) {
  ((long *)user)[name != NULL]++;
  CHECK((name != NULL) == (length > 0));
}

static void life_close(life *l) {
  ci_close(l->model);
  ci_session_close(l->session);
  ci_state_close(l->state);
  l->model = NULL, l->session = NULL, l->state = NULL;
  const faulty *all[] = {&l->of_model, &l->of_state, &l->of_session, &l->of_other};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (atomic_load(&all[i]->held) != 0) life_complain(l, "memory is kept");
}

static void life_live(life *l) {
  long seen[2] = {0, 0}; /* runs, steps */
  l->calls = 0;
  l->failed = l->over = l->faults.over = false;
  atomic_store(&l->faults.calls, 0);
  atomic_store(&l->faults.hit, false);
  l->of_model.faults = l->of_state.faults = l->of_session.faults = l->of_other.faults = &l->faults;
  life_open(l);
  life_open_session(l);
  if (!l->over && l->session != NULL) {
    ci_session_observe(l->session, (ci_observer){seen, life_seen});
    life_signatures(l);
    life_variables(l);
    life_blobs(l);
    life_signatures(l); /* the state has another layout */
    life_checkpoints(l);
    CHECK(l->over || seen[0] > 0);
  }
  life_close(l);
  if (!l->knows) l->all_calls = l->calls;
  else if (!l->over && l->calls != l->all_calls) life_complain(l, "other calls");
  l->knows = true;
}
#endif
