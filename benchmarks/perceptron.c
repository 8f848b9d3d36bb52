/* perceptron.c - the 64-32-10 perceptron at batch 1: by hand, cinfer and ONNX Runtime's C API in turns.
 *
 * Built by perceptron.py with -DNATIVE="…/native.c", which holds the hand-written loop and the ONNX Runtime calls.
 *   perceptron MODEL.gio WEIGHTS.bin [LIBONNXRUNTIME MODEL.onnx]
 * Prints a line an engine: name, median and least nanoseconds of a call. */
#include NATIVE

#include "cinfer.h"

enum { ROUNDS = 200, BURST = 500 };

typedef struct job {
  const char *name;
  call_fn call;
  void *argument;
  double *seconds;
} job;

typedef struct cinfer_job {
  ci_session *session;
  ci_tensor x, y;
} cinfer_job;

static int run_cinfer(void *argument) {
  cinfer_job *j = argument;
  return ci_run(j->session, 0, &j->x, 1, &j->y, 1, NULL);
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static int read_floats(FILE *file, float *to, size_t n) { return fread(to, sizeof *to, n, file) == n; }

static struct dense *by_hand(const char *path, float *x) {
  static const int size[] = {64, 32, 10};
  static float w1[64 * 32], b1[32], w2[32 * 10], b2[10];
  FILE *file = fopen(path, "rb");
  if (!file || !read_floats(file, x, 64) || !read_floats(file, w1, 64 * 32) || !read_floats(file, b1, 32) ||
      !read_floats(file, w2, 320) || !read_floats(file, b2, 10))
    return NULL;
  fclose(file);
  struct dense *d = dense_new(2, size, 1, x);
  dense_set(d, 0, w1, b1);
  dense_set(d, 1, w2, b2);
  return d;
}

static void *onnx_runtime(const char *library, const char *model, float *x) {
  static const int64_t shape[2] = {1, 64};
  struct ort *o = ort_open(library, model, 1);
  if (!o || !ort_input(o, "x", x, 64 * sizeof *x, shape, 2, 1) || !ort_output(o, "y") || ort_run(o)) return NULL;
  ort_keep(o, 1);
  return o;
}

int main(int argc, char **argv) {
  static float x[64], y[10];
  static double seconds[3][ROUNDS * BURST];
  if (argc < 3) return 2;
  ci_model *model;
  ci_error error;
  cinfer_job mine = {.x = {x, sizeof x, CI_FLOAT, 2, {1, 64}}, .y = {y, sizeof y, CI_FLOAT, 2, {1, 10}}};
  struct dense *hand = by_hand(argv[2], x);
  if (!hand) return fprintf(stderr, "cannot read %s\n", argv[2]), 1;
  if (ci_open(argv[1], NULL, &model, &error) || ci_session_open(model, NULL, NULL, &mine.session, &error) ||
      ci_run(mine.session, 0, &mine.x, 1, &mine.y, 1, &error))
    return fprintf(stderr, "%s\n", error.message), 1;
  job jobs[3] = {{"hand", dense_run, hand, seconds[0]}, {"cinfer", run_cinfer, &mine, seconds[1]}};
  int n = 2;
  if (argc == 5) {
    void *ort = onnx_runtime(argv[3], argv[4], x);
    if (!ort) return 1;
    jobs[n++] = (job){"onnxruntime", ort_run, ort, seconds[2]};
  }
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < n; i++)
      if (time_calls(jobs[i].call, jobs[i].argument, BURST, jobs[i].seconds + round * BURST)) return 1;
  for (int i = 0; i < n; i++) {
    qsort(jobs[i].seconds, ROUNDS * BURST, sizeof(double), ascending);
    printf("%s %.0f %.0f\n", jobs[i].name, jobs[i].seconds[ROUNDS * BURST / 2] * 1e9, jobs[i].seconds[0] * 1e9);
  }
  return 0;
}
