/* test_failures.c - every allocation of a model's life fails: alone, with all after it, and with an end at once.
 *
 *   test_failures GOLDEN_FOLDER                 the models of the tests, short
 *   test_failures --every STRIDE MODEL.gio ...  each signature of models, every STRIDE-th allocation
 *
 * Each call that fails for lack of memory reports it, has changed nothing, and gives the same bits when it is
 * repeated; nothing is kept when all is closed, and all memory comes from the allocator. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "life.h"
#include "models.h"

static char folder[64];

/* ---- the functions that the models call ---- */

/* Any function: each output of its declared type, unknown dimensions are 2. */
static ci_status host_call(void *user, ci_host_call *call, ci_error *error) {
  static const float ones[2] = {1, 2};
  static const ci_string strings[2] = {{"one", 3}, {"", 0}};
  (void)user;
  for (int32_t i = 0; i < call->output_count; i++) {
    const bool text = call->outputs[i].dtype == CI_STRING, one = call->outputs[i].rank == 0;
    const void *data = text ? (const void *)strings : ones;
    const size_t item = ci_dtype_size(call->outputs[i].dtype);
    const ci_tensor value = {(void *)(uintptr_t)data, one ? item : 2 * item, call->outputs[i].dtype, !one, {2}};
    const ci_status status = ci_host_give(call, i, &value, error);
    if (status != CI_OK) return status;
  }
  return CI_OK;
}

static ci_status same_shape(void *user, ci_call *call, ci_error *error) {
  (void)user, (void)error;
  call->outputs[0] = call->inputs[0];
  call->scratch_bytes = 100;
  return CI_OK;
}

/* The first n elements: a shape that depends on a value. */
static ci_status first_shape(void *user, ci_call *call, ci_error *error) {
  (void)user, (void)error;
  if (call->inputs[1].data == NULL) return CI_AT_RUN;
  call->outputs[0] = (ci_tensor){.dtype = CI_FLOAT, .rank = 1, .dims = {*(const int64_t *)call->inputs[1].data}};
  return CI_OK;
}

static ci_status copy_run(void *user, ci_call *call, ci_error *error) {
  (void)user, (void)error;
  if (call->outputs[0].bytes > 0) memcpy(call->outputs[0].data, call->inputs[0].data, call->outputs[0].bytes);
  return CI_OK;
}

static ci_operator own_operator(const char *name, int count,
                                ci_status (*shape)(void *user, ci_call *call, ci_error *error)) {
  return (ci_operator){.size = sizeof(ci_operator),
                       .domain = "com.example",
                       .name = name,
                       .since = 1,
                       .min_inputs = count,
                       .max_inputs = count,
                       .min_outputs = 1,
                       .max_outputs = 1,
                       .shape = shape,
                       .run = copy_run};
}

/* ---- lives ---- */

static void empty_folder(void) {
  char path[512];
  DIR *all = opendir(folder);
  for (struct dirent *entry; all != NULL && (entry = readdir(all)) != NULL;) {
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (entry->d_name[0] != '.') unlink(path);
  }
  if (all != NULL) closedir(all);
}

static int open_files(void) {
  int count = 0;
  DIR *all = opendir("/proc/self/fd");
  while (all != NULL && readdir(all) != NULL) count++;
  if (all != NULL) closedir(all);
  return count;
}

static void live(life *l) {
  const int before = open_files();
  life_live(l);
  if (l->prefix != NULL) empty_folder();
  CHECK(open_files() == before);
}

/* Every stride-th allocation of a life; returns how many there are. */
static long every_allocation(life *l, long stride) {
  static const struct {
    bool forever, gives_up;
  } ways[] = {{false, false}, {true, false}, {true, true}};
  l->knows = false;
  l->faults.at = 0;
  live(l);
  const long all = atomic_load(&l->faults.calls);
  for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
    for (long n = 1 + (long)w % stride; n <= all; n += stride) {
      l->faults.at = n;
      l->faults.forever = ways[w].forever;
      l->gives_up = ways[w].gives_up;
      live(l);
      if (!atomic_load(&l->faults.hit)) life_complain(l, "nothing failed");
    }
  return all;
}

static life *life_of(const char *name) {
  static life l;
  static char prefix[128];
  memset(&l, 0, sizeof l);
  snprintf(prefix, sizeof prefix, "%s/m", folder);
  l.name = name;
  l.only = -1;
  l.shapes = 2;
  l.threads = 1;
  l.options = ci_defaults();
  l.host.call = host_call;
  l.prefix = prefix;
  return &l;
}

/* ---- the models of the tests ---- */

#define BYTES(model) #model, model, sizeof model

static void memory_models(void) {
  const ci_operator scale = own_operator("Scale", 1, same_shape), first = own_operator("First", 2, first_shape);
  const ci_operator *const own[] = {&scale, &first};
  const struct {
    const char *name;
    const void *data;
    size_t bytes;
    int shapes, threads;
    bool lazy, saves;
    long stride;
  } rows[] = {{BYTES(model_perceptron), 12, 1, true, false, 1}, /* more shapes than are kept: some are fitted again */
              {BYTES(model_perceptron), 2, 2, false, false, 1},  {BYTES(model_everything), 2, 1, false, true, 1},
              {BYTES(model_sequences), 2, 1, false, false, 1},   {BYTES(model_called), 2, 1, false, false, 1},
              {BYTES(model_own), 3, 2, false, false, 1},         {BYTES(model_found), 3, 1, false, false, 1},
              {BYTES(model_packed_tiles), 2, 1, true, false, 1}, {BYTES(model_packed_tiles), 2, 1, false, true, 1},
              {BYTES(model_found), 70, 1, false, false, 9}}; /* more than a session keeps: the oldest go */
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    life *l = life_of(rows[i].name);
    l->data = rows[i].data, l->bytes = rows[i].bytes;
    l->shapes = rows[i].shapes, l->threads = rows[i].threads;
    l->options.lazy = rows[i].lazy, l->options.borrow = rows[i].lazy;
    l->options.operators = own, l->options.operator_count = 2;
    if (!rows[i].saves) l->prefix = NULL;
    CHECK(every_allocation(l, rows[i].stride) > 10);
  }
}

static void golden_models(const char *golden, long stride) {
  char path[2048];
  DIR *all = opendir(golden);
  int found = 0;
  for (struct dirent *entry; all != NULL && (entry = readdir(all)) != NULL;) {
    if (strstr(entry->d_name, ".gio") == NULL) continue;
    snprintf(path, sizeof path, "%s/%s", golden, entry->d_name);
    life *l = life_of(path);
    l->path = path;
    l->prefix = NULL;
    CHECK(every_allocation(l, stride) > 10);
    found++;
  }
  if (all != NULL) closedir(all);
  CHECK(found > 5);
}

/* ---- any models ---- */

static void each_signature(const char *path, long stride) {
  ci_model *model = NULL;
  ci_error error = {0};
  CHECK(ci_open(path, NULL, &model, &error) == CI_OK);
  for (int s = 0; s < ci_signature_count(model); s++)
    for (int threads = 1; threads <= 2; threads++) {
      life *l = life_of(path);
      l->path = path;
      l->only = s;
      l->threads = threads;
      if (threads == 1) l->prefix = NULL;
      const long all = every_allocation(l, stride);
      int good = 0;
      for (int i = 0; i < l->all_calls; i++) good += l->notes[i].status == CI_OK;
      printf("%s %s threads=%d: %ld allocations, %d of %d calls succeed\n", path, ci_signature_name(model, s), threads,
             all, good, l->all_calls);
      fflush(stdout);
    }
  ci_close(model);
}

int main(int argc, char **argv) {
  snprintf(folder, sizeof folder, "%s/failures_XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ".");
  if (mkdtemp(folder) == NULL) return 2;
  if (argc > 3 && strcmp(argv[1], "--every") == 0) {
    for (int i = 3; i < argc; i++) each_signature(argv[i], atol(argv[2]));
  } else {
    static const struct {
      const char *name;
      long stride;
    } folders[] = {{"1.0", 5}, {"1.0-packed", 2}};
    memory_models();
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
      char golden[1024];
      snprintf(golden, sizeof golden, "%s/%s", argc > 1 ? argv[1] : ".", folders[i].name);
      golden_models(golden, folders[i].stride);
    }
  }
  CHECK(atomic_load(&faulty_strays) == 0);
  rmdir(folder);
  return CHECK_END;
}
