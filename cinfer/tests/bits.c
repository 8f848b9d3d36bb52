/* bits.c - SHA-256 of what a model computes, for tools/bits_matrix.py to compare between builds and machines.
 *
 *   bits MODEL.gio INPUTS.bin [REPEATS]
 *
 * INPUTS.bin, little-endian: "GIOBITS1"; u32 sets; a set: u32 length and bytes of the signature's name, u32 1 if it is
 * a batch of rows, u32 inputs; an input: i32 dtype, i32 rank, i64 dims, then the elements.
 *
 * A set of rows runs whole and row by row, which must give the same bytes; another runs once on a fresh state, and the
 * variables and generators that it leaves are hashed with its outputs. Prints a line a run:
 * "ISA threads=N SIGNATURE rows|whole|once HASH". */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "cinfer.h"
#include "sha256.h"

enum { MOST = 32, MOST_OUTPUTS = 256, BIT_SEED = 42 };

typedef struct input_set {
  char name[64];
  bool rows;
  int n;
  ci_tensor in[MOST];
} input_set;

static void die(const char *what) {
  fprintf(stderr, "bits: %s\n", what);
  exit(1);
}

static bool host_is_big(void) {
  const uint16_t one = 1;
  uint8_t first;
  memcpy(&first, &one, 1);
  return first == 0;
}

/* Elements between the host's byte order and little-endian. Complex numbers are two elements. */
static void swap_elements(int32_t dtype, void *data, size_t bytes) {
  size_t size = ci_dtype_size(dtype);
  uint8_t *p = data;
  if (dtype == CI_COMPLEX64 || dtype == CI_COMPLEX128) size /= 2;
  if (!host_is_big() || size < 2) return;
  for (size_t at = 0; at + size <= bytes; at += size)
    for (size_t i = 0; i < size / 2; i++) {
      uint8_t low = p[at + i];
      p[at + i] = p[at + size - 1 - i];
      p[at + size - 1 - i] = low;
    }
}

static uint64_t read_number(FILE *file, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; i++) {
    int c = getc(file);
    if (c == EOF) die("the inputs end too early");
    value |= (uint64_t)c << (8 * i);
  }
  return value;
}

static void read_bytes(FILE *file, void *to, size_t bytes) {
  if (bytes && fread(to, bytes, 1, file) != 1) die("the inputs end too early");
}

static void read_tensor(FILE *file, ci_tensor *t) {
  t->dtype = (int32_t)read_number(file, 4);
  t->rank = (int32_t)read_number(file, 4);
  t->bytes = ci_dtype_size(t->dtype);
  if (t->bytes == 0 || t->dtype == CI_STRING || t->rank < 0 || t->rank > CI_MAX_RANK) die("a strange tensor");
  for (int i = 0; i < t->rank; i++) {
    t->dims[i] = (int64_t)read_number(file, 8);
    t->bytes *= (size_t)t->dims[i];
  }
  t->data = malloc(t->bytes + 1);
  if (!t->data) die("out of memory");
  read_bytes(file, t->data, t->bytes);
  swap_elements(t->dtype, t->data, t->bytes);
}

static int read_inputs(const char *path, input_set *sets) {
  FILE *file = fopen(path, "rb");
  char magic[8];
  if (!file) die("cannot open the inputs");
  read_bytes(file, magic, 8);
  if (memcmp(magic, "GIOBITS1", 8) != 0) die("no inputs file");
  int n = (int)read_number(file, 4);
  if (n < 0 || n > MOST) die("too many sets");
  for (int i = 0; i < n; i++) {
    size_t length = (size_t)read_number(file, 4);
    if (length >= sizeof sets[i].name) die("a name is too long");
    read_bytes(file, sets[i].name, length);
    sets[i].name[length] = 0;
    sets[i].rows = read_number(file, 4) != 0;
    sets[i].n = (int)read_number(file, 4);
    if (sets[i].n < 0 || sets[i].n > MOST) die("too many inputs");
    for (int k = 0; k < sets[i].n; k++) read_tensor(file, &sets[i].in[k]);
  }
  fclose(file);
  return n;
}

static void must(ci_status status, const ci_error *error) {
  if (status != CI_OK) die(error->message);
}

static ci_session *open_session(ci_model *model, int threads) {
  ci_state_options state_options = ci_state_defaults();
  ci_session_options options = ci_session_defaults();
  ci_state *state;
  ci_session *session;
  ci_error error;
  state_options.seed = BIT_SEED;
  options.threads = threads;
  must(ci_state_open(&state_options, &state, &error), &error);
  must(ci_session_open(model, state, &options, &session, &error), &error);
  ci_state_close(state); /* the session keeps it */
  return session;
}

static void hash_tensor(sha256 *hash, const ci_tensor *t) {
  uint8_t *copy = malloc(t->bytes + 1);
  if (!copy) die("out of memory");
  if (t->bytes) memcpy(copy, t->data, t->bytes);
  swap_elements(t->dtype, copy, t->bytes);
  sha256_add(hash, copy, t->bytes);
  free(copy);
}

/* One hash an output, over the rows in order, then one over those: so whole and row by row are the same. */
static void run_batch(ci_session *session, int signature, const input_set *set, bool by_row, int outputs,
                      char hex[65]) {
  sha256 each[MOST_OUTPUTS], all;
  ci_error error;
  int64_t rows = set->in[0].dims[0], step = by_row ? 1 : rows;
  for (int o = 0; o < outputs; o++) sha256_start(&each[o]);
  for (int64_t row = 0; row < rows; row += step) {
    ci_tensor in[MOST], out[MOST_OUTPUTS] = {{0}};
    for (int i = 0; i < set->n; i++) {
      in[i] = set->in[i];
      if (!by_row || in[i].rank == 0 || in[i].dims[0] != rows) continue;
      in[i].bytes /= (size_t)rows;
      in[i].data = (char *)in[i].data + (size_t)row * in[i].bytes;
      in[i].dims[0] = 1;
    }
    must(ci_run(session, signature, in, set->n, out, outputs, &error), &error);
    for (int o = 0; o < outputs; o++) hash_tensor(&each[o], &out[o]);
  }
  sha256_start(&all);
  for (int o = 0; o < outputs; o++) {
    sha256_finish(&each[o], hex);
    sha256_add(&all, hex, 64);
  }
  sha256_finish(&all, hex);
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
    hash_tensor(hash, &value);
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

static void run_once(ci_session *session, int signature, const input_set *set, int outputs, int repeats, char hex[65]) {
  ci_tensor out[MOST_OUTPUTS] = {{0}};
  ci_error error;
  sha256 hash;
  sha256_start(&hash);
  for (int r = 0; r < repeats; r++) {
    memset(out, 0, sizeof out);
    must(ci_run(session, signature, set->in, set->n, out, outputs, &error), &error);
    for (int o = 0; o < outputs; o++) hash_tensor(&hash, &out[o]);
  }
  hash_state(&hash, ci_session_state(session));
  sha256_finish(&hash, hex);
}

static void run_set(ci_model *model, const input_set *set, int threads, int repeats) {
  char hex[65];
  int signature = ci_signature(model, set->name);
  if (signature < 0) die("the model lacks a signature of the inputs");
  int outputs = ci_output_count(model, signature);
  if (outputs > MOST_OUTPUTS) die("too many outputs");
  ci_session *session = open_session(model, threads);
  const char *isa = ci_isa_name(model);
  if (set->rows) {
    run_batch(session, signature, set, false, outputs, hex);
    printf("%s threads=%d %s whole %s\n", isa, threads, set->name, hex);
    run_batch(session, signature, set, true, outputs, hex);
    printf("%s threads=%d %s rows %s\n", isa, threads, set->name, hex);
  } else {
    run_once(session, signature, set, outputs, repeats, hex);
    printf("%s threads=%d %s once %s\n", isa, threads, set->name, hex);
  }
  fflush(stdout);
  ci_session_close(session);
}

int main(int argc, char **argv) {
  static input_set sets[MOST];
  static const int32_t isas[] = {CI_ISA_PORTABLE, CI_ISA_AVX2, CI_ISA_AVX512, CI_ISA_NEON};
  if (argc < 3) die("usage: bits MODEL.gio INPUTS.bin [REPEATS]");
  int n = read_inputs(argv[2], sets), repeats = argc > 3 ? atoi(argv[3]) : 1;
  for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
    if (!ci_isa_available(isas[i])) continue;
    ci_options options = ci_defaults();
    ci_model *model;
    ci_error error;
    options.isa = isas[i];
    must(ci_open(argv[1], &options, &model, &error), &error);
    for (int threads = 1; threads <= 2; threads++)
      for (int s = 0; s < n; s++) run_set(model, &sets[s], threads, repeats);
    ci_close(model);
  }
  return 0;
}
