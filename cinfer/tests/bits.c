/* bits.c - SHA-256 of what models compute, for tools/bits_matrix.py to compare between builds and machines.
 *
 *   bits REPEATS COMMAND ...
 *     run MODEL INPUTS NAME        each instruction set, one thread and two; NAME is what the lines call it
 *     modes MODEL INPUTS NAME      the same in each floating-point environment that the host may have
 *     save MODEL INPUTS PREFIX     the sets that run once, then a checkpoint of what they leave
 *     restore PREFIX               the SHA-256 of a checkpoint's state
 *
 * Prints the lines of bits_run.h. */
#include <stdlib.h>

#include "bits_run.h"

void bits_die(const char *what) {
  fprintf(stderr, "bits: %s\n", what);
  exit(1);
}

void bits_say(const char *line) {
  fputs(line, stdout);
  fflush(stdout);
}

static uint8_t *read_file(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) bits_die("cannot open the inputs");
  const long size = ftell(file);
  rewind(file);
  uint8_t *data = size > 0 ? malloc((size_t)size) : NULL;
  if (!data || fread(data, (size_t)size, 1, file) != 1) bits_die("cannot read the inputs");
  fclose(file);
  *bytes = (size_t)size;
  return data;
}

static ci_model *open_model(const char *path, int32_t isa) {
  ci_options options = ci_defaults();
  ci_model *model;
  ci_error error;
  options.isa = isa;
  must(ci_open(path, &options, &model, &error), &error);
  return model;
}

static void run_file(const char *path, const char *inputs_path, const char *name, int repeats, int modes) {
  static bits_inputs inputs;
  size_t bytes;
  uint8_t *data = read_file(inputs_path, &bytes);
  bits_read_inputs(&inputs, data, bytes);
  for (int32_t isa = CI_ISA_PORTABLE; isa <= CI_ISA_SIMD128; isa++) {
    if (!ci_isa_available(isa)) continue;
    ci_model *model = open_model(path, isa);
    run_model(model, name, NULL, &inputs, repeats, modes);
    ci_close(model);
  }
  free(data);
}

static void save_file(const char *path, const char *inputs_path, const char *prefix, int repeats) {
  static bits_inputs inputs;
  size_t bytes;
  ci_error error;
  uint8_t *data = read_file(inputs_path, &bytes);
  bits_read_inputs(&inputs, data, bytes);
  ci_model *model = open_model(path, CI_ISA_BEST);
  bits_job job = {model, "", open_session(model, NULL, 1), NULL, 1, repeats, bits_modes};
  for (int s = 0; s < inputs.n; s++) {
    char hex[65];
    if (inputs.sets[s].kind == BITS_ONCE) run_once(&job, &inputs.sets[s], hex);
  }
  must(ci_save(ci_session_state(job.session), model, prefix, repeats, &error), &error);
  ci_session_close(job.session);
  ci_close(model);
  free(data);
}

static void restore_file(const char *prefix) {
  const ci_state_options options = ci_state_defaults();
  ci_state *state;
  ci_error error;
  sha256 hash;
  char hex[65];
  int64_t step;
  must(ci_state_open(&options, &state, &error), &error);
  must(ci_restore(state, prefix, &step, &error), &error);
  sha256_start(&hash);
  hash_state(&hash, state);
  sha256_finish(&hash, hex);
  ci_state_close(state);
  printf("any threads=1 usual checkpoint restored %s\n", hex);
}

int main(int argc, char **argv) {
  const int repeats = argc > 1 ? atoi(argv[1]) : 0;
  if (repeats < 1) bits_die("usage: bits REPEATS [run|modes|save MODEL INPUTS NAME | restore PREFIX] ...");
  for (int i = 2; i < argc;) {
    char **a = argv + i;
    const int left = argc - i;
    if (left >= 4 && strcmp(a[0], "run") == 0) run_file(a[1], a[2], a[3], repeats, 1);
    else if (left >= 4 && strcmp(a[0], "modes") == 0) run_file(a[1], a[2], a[3], repeats, BITS_MODES);
    else if (left >= 4 && strcmp(a[0], "save") == 0) save_file(a[1], a[2], a[3], repeats);
    else if (left >= 2 && strcmp(a[0], "restore") == 0) restore_file(a[1]);
    else bits_die("an unknown command");
    i += strcmp(a[0], "restore") == 0 ? 2 : 4;
  }
  return 0;
}
