/* bits_run.h - shared by bits.c and bits_board.c: runs a model in every way and prints the SHA-256 of its results.
 *
 * A line a run: "ISA threads=N MODE MODEL/SIGNATURE WAY HASH", WAY tells how the inputs are fed. One hash a signature,
 * whatever the rest. */
#ifndef CI_TEST_BITS_RUN_H
#define CI_TEST_BITS_RUN_H
#include <stdbool.h>
#include <stdio.h>

#include "bits_inputs.h"
#include "bits_mode.h"
#include "cinfer.h"
#include "sha256.h"

enum { BITS_OUTPUTS = 256, BITS_SEED = 42 };
#if defined(_WIN32) || defined(__wasi__) || defined(__TINYC__) || defined(CI_NO_THREADS)
enum { BITS_THREADS = 1 };
#else
enum { BITS_THREADS = 2 };
#endif

typedef struct bits_job { /* one way of running */
  ci_model *model;
  const char *name; /* of the model, in the output */
  ci_session *session;
  const ci_allocator *allocator;
  int threads, repeats;
  const bits_mode *mode;
} bits_job;

void bits_say(const char *line);

static void must(ci_status status, const ci_error *error) {
  if (status != CI_OK) bits_die(error->message);
}

static ci_session *open_session(ci_model *model, const ci_allocator *allocator, int threads) {
  ci_state_options state_options = ci_state_defaults();
  ci_session_options options = ci_session_defaults();
  ci_state *state;
  ci_session *session;
  ci_error error;
  if (allocator) state_options.allocator = options.allocator = *allocator;
  state_options.seed = BITS_SEED;
  options.threads = threads;
  must(ci_state_open(&state_options, &state, &error), &error);
  must(ci_session_open(model, state, &options, &session, &error), &error);
  ci_state_close(state); /* the session keeps it */
  return session;
}

/* The elements, little-endian; strings as their lengths, then their text. */
static void hash_elements(sha256 *hash, const ci_tensor *t) {
  uint8_t part[256];
  const ci_string *text = t->data;
  const size_t strings = t->dtype == CI_STRING ? t->bytes / sizeof *text : 0;
  for (size_t i = 0; i < strings; i++) {
    for (int k = 0; k < 8; k++) part[k] = (uint8_t)((uint64_t)text[i].length >> (8 * k));
    sha256_add(hash, part, 8);
  }
  for (size_t i = 0; i < strings; i++) sha256_add(hash, text[i].data, text[i].length);
  for (size_t at = 0; t->dtype != CI_STRING && at < t->bytes; at += sizeof part) {
    const size_t bytes = t->bytes - at < sizeof part ? t->bytes - at : sizeof part;
    memcpy(part, (const uint8_t *)t->data + at, bytes);
    swap_elements(t->dtype, part, bytes);
    sha256_add(hash, part, bytes);
  }
}

/* The digest of an array, as tests/support/schema_samples.py defines it. */
static void hash_array(sha256 *hash, const ci_tensor *t) {
  char text[256];
  int length = snprintf(text, sizeof text, "%s[", ci_dtype_name(t->dtype));
  for (int i = 0; i < t->rank; i++)
    length += snprintf(text + length, sizeof text - (size_t)length, i ? ", %lld" : "%lld", (long long)t->dims[i]);
  sha256_add(hash, text, (size_t)length);
  sha256_add(hash, "]", 1);
  hash_elements(hash, t);
}

/* Names decide the order, so that the order inside the library does not. */
static int next_name(const char *after, int count, const char *(*name_of)(const ci_state *, int),
                     const ci_state *state) {
  int best = -1;
  for (int i = 0; i < count; i++) {
    const char *name = name_of(state, i);
    if (after && strcmp(name, after) <= 0) continue;
    if (best < 0 || strcmp(name, name_of(state, best)) < 0) best = i;
  }
  return best;
}

static const char *variable_name(const ci_state *state, int i) {
  ci_info info;
  ci_variable(state, i, &info);
  return info.name;
}

static void hash_state(sha256 *hash, const ci_state *state) {
  ci_error error;
  for (const char *after = NULL;;) {
    int i = next_name(after, ci_variable_count(state), variable_name, state);
    if (i < 0) break;
    after = variable_name(state, i);
    sha256_add(hash, after, strlen(after) + 1);
    ci_tensor value;
    if (!ci_variable_initialized(state, i)) continue;
    must(ci_variable_view(state, i, &value, &error), &error);
    hash_elements(hash, &value);
  }
  for (const char *after = NULL;;) {
    int i = next_name(after, ci_generator_count(state), ci_generator_name, state), used = 0;
    if (i < 0) break;
    ci_generator g = {0, 0};
    after = ci_generator_name(state, i);
    ci_generator_get(state, i, &g, &used);
    char text[64];
    int length = snprintf(text, sizeof text, "%016llx %016llx %d", (unsigned long long)g.key,
                          (unsigned long long)g.counter, used);
    sha256_add(hash, after, strlen(after) + 1);
    sha256_add(hash, text, (size_t)length);
  }
}

static ci_tensor bits_out[BITS_OUTPUTS];

/* Runs with the host's environment set, which must be there again afterwards. */
static int run_set(const bits_job *job, const bits_set *set, const ci_tensor *in) {
  ci_error error;
  const int signature = ci_signature(job->model, set->name);
  if (signature < 0) bits_die("the model lacks a signature of the inputs");
  const int outputs = ci_output_count(job->model, signature);
  if (outputs > BITS_OUTPUTS) bits_die("too many outputs");
  memset(bits_out, 0, sizeof bits_out);
  const ci_status status = ci_run(job->session, signature, in, set->n, bits_out, outputs, &error);
  if (!bits_mode_holds(job->mode)) bits_die("the caller's floating-point environment has changed");
  must(status, &error);
  return outputs;
}

/* One hash an output, over the rows in order, then one over those: so that all at once and row by row are the same. */
static void run_batch(const bits_job *job, const bits_set *set, bool by_row, char hex[65]) {
  static sha256 each[BITS_OUTPUTS];
  static ci_tensor in[BITS_TENSORS];
  sha256 all;
  int outputs = 0;
  int64_t rows = set->in[0].dims[0], step = by_row ? 1 : rows;
  for (int o = 0; o < BITS_OUTPUTS; o++) sha256_start(&each[o]);
  for (int64_t row = 0; row < rows; row += step) {
    for (int i = 0; i < set->n; i++) {
      in[i] = set->in[i];
      if (!by_row || in[i].rank == 0 || in[i].dims[0] != rows) continue;
      in[i].bytes /= (size_t)rows;
      in[i].data = (char *)in[i].data + (size_t)row * in[i].bytes;
      in[i].dims[0] = 1;
    }
    outputs = run_set(job, set, in);
    for (int o = 0; o < outputs; o++) hash_elements(&each[o], &bits_out[o]);
  }
  sha256_start(&all);
  for (int o = 0; o < outputs; o++) {
    sha256_finish(&each[o], hex);
    sha256_add(&all, hex, 64);
  }
  sha256_finish(&all, hex);
}

static void run_once(const bits_job *job, const bits_set *set, char hex[65]) {
  sha256 hash;
  sha256_start(&hash);
  for (int r = 0; r < job->repeats; r++) {
    const int outputs = run_set(job, set, set->in);
    for (int o = 0; o < outputs; o++) hash_elements(&hash, &bits_out[o]);
  }
  hash_state(&hash, ci_session_state(job->session));
  sha256_finish(&hash, hex);
}

/* How many of the sets from here on are lines of one script, which are run one after another. */
static int run_script(const bits_job *job, const bits_set *set, int left, char hex[65]) {
  sha256 hash;
  int lines = 0;
  sha256_start(&hash);
  for (; lines < left && set[lines].kind == BITS_LINE; lines++) {
    const int outputs = run_set(job, &set[lines], set[lines].in);
    for (int o = 0; o < outputs; o++) hash_array(&hash, &bits_out[o]);
  }
  sha256_finish(&hash, hex);
  return lines;
}

/* signature "": a script, which is called by the model's name alone. */
static void say(const bits_job *job, const char *signature, const char *way, const char *hex) {
  char line[256];
  snprintf(line, sizeof line, "%s threads=%d %s %s%s%s %s %s\n", ci_isa_name(job->model), job->threads, job->mode->name,
           job->name, *signature ? "/" : "", signature, way, hex);
  bits_say(line);
}

/* Runs the set, or the script that begins with it; returns how many sets that were. */
static int run_ways(bits_job *job, const bits_set *set, int left) {
  char hex[65];
  int taken = 1;
  job->session = open_session(job->model, job->allocator, job->threads);
  if (set->kind == BITS_ROWS) {
    run_batch(job, set, false, hex);
    say(job, set->name, "whole", hex);
    run_batch(job, set, true, hex);
    say(job, set->name, "rows", hex);
  } else if (set->kind == BITS_ONCE) {
    run_once(job, set, hex);
    say(job, set->name, "once", hex);
  } else {
    taken = run_script(job, set, left, hex);
    say(job, "", "script", hex);
  }
  ci_session_close(job->session);
  return taken;
}

/* The model with each number of threads, in each of the first `modes` environments. */
static void run_model(ci_model *model, const char *name, const ci_allocator *allocator, const bits_inputs *inputs,
                      int repeats, int modes) {
  for (int m = 0; m < modes; m++) {
    if (!bits_mode_set(&bits_modes[m])) continue;
    for (int threads = 1; threads <= BITS_THREADS; threads++) {
      bits_job job = {model, name, NULL, allocator, threads, repeats, &bits_modes[m]};
      for (int s = 0; s < inputs->n;) s += run_ways(&job, &inputs->sets[s], inputs->n - s);
    }
    (void)bits_mode_set(bits_modes);
  }
}
#endif
