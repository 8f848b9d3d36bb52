/* digits.c - predicts all test images with a trained model, trains on for one epoch, saves.
 *
 *   cc -std=c11 -O2 digits.c $(python -m graphio.cinfer --cflags --libs) -o digits
 *   ./digits digits.gio test.bin train.bin result.bin checkpoint_prefix
 *
 * test.bin and train.bin: int32 count, then count x 64 float32 pixels, then count int32 labels (little-endian).
 * result.bin: count x int64 class, count x 10 float32 probabilities. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cinfer.h"

enum { PIXELS = 64, CLASSES = 10, BATCH = 64 };

typedef struct images {
  int32_t count;
  float *pixels;
  int32_t *labels;
} images;

static int fail(const char *what, const ci_error *error) {
  fprintf(stderr, "%s: %s\n", what, error->message);
  return 1;
}

static double seconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int read_images(const char *path, images *set) {
  FILE *file = fopen(path, "rb");
  if (!file) return 1;
  int ok = fread(&set->count, 4, 1, file) == 1 && set->count > 0 && set->count < 1 << 20;
  size_t n = ok ? (size_t)set->count : 1;
  set->pixels = malloc(n * PIXELS * sizeof *set->pixels);
  set->labels = malloc(n * sizeof *set->labels);
  ok = ok && set->pixels && set->labels && fread(set->pixels, PIXELS * sizeof *set->pixels, n, file) == n &&
       fread(set->labels, sizeof *set->labels, n, file) == n;
  fclose(file);
  return !ok;
}

static ci_tensor view(int32_t dtype, void *data, int rank, int64_t rows, int64_t columns) {
  ci_tensor tensor = {.data = data, .dtype = dtype, .rank = rank, .dims = {rows, columns}};
  tensor.bytes = ci_dtype_size(dtype) * (size_t)rows * (size_t)(rank > 1 ? columns : 1);
  return tensor;
}

/* One image at a time, as an application would; prints microseconds per prediction. */
static int predict(ci_session *session, int signature, const images *test, const char *path) {
  FILE *file = fopen(path, "wb");
  float *probabilities = malloc((size_t)test->count * CLASSES * sizeof *probabilities);
  int64_t *classes = malloc((size_t)test->count * sizeof *classes);
  ci_error error;
  double best = 1e9;
  if (!file || !probabilities || !classes) return fprintf(stderr, "cannot write %s\n", path), 1;
  for (int pass = 0; pass < 5; pass++) {
    double start = seconds();
    for (int32_t i = 0; i < test->count; i++) {
      ci_tensor x = view(CI_FLOAT, test->pixels + (size_t)i * PIXELS, 2, 1, PIXELS);
      ci_tensor out[2] = {view(CI_FLOAT, probabilities + (size_t)i * CLASSES, 2, 1, CLASSES),
                          view(CI_INT64, classes + i, 1, 1, 1)};
      if (ci_run(session, signature, &x, 1, out, 2, &error)) return fail("predict", &error);
    }
    double each = (seconds() - start) / test->count;
    if (each < best) best = each;
  }
  printf("microseconds %.3f\n", best * 1e6);
  size_t n = (size_t)test->count;
  int ok = fwrite(classes, sizeof *classes, n, file) == n &&
           fwrite(probabilities, CLASSES * sizeof *probabilities, n, file) == n;
  ok = fclose(file) == 0 && ok;
  free(probabilities);
  free(classes);
  return !ok;
}

static int train_one_epoch(ci_session *session, int signature, const images *train) {
  ci_error error;
  float loss = 0;
  for (int32_t i = 0; i + BATCH <= train->count; i += BATCH) {
    ci_tensor in[2] = {view(CI_FLOAT, train->pixels + (size_t)i * PIXELS, 2, BATCH, PIXELS),
                       view(CI_INT32, train->labels + i, 1, BATCH, 1)};
    ci_tensor out = view(CI_FLOAT, &loss, 0, 1, 1);
    if (ci_run(session, signature, in, 2, &out, 1, &error)) return fail("train", &error);
  }
  printf("loss %.6f\n", (double)loss);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 6) return fprintf(stderr, "usage: digits MODEL TEST TRAIN RESULT PREFIX\n"), 2;
  double start = seconds();
  ci_model *model = NULL;
  ci_session *session = NULL;
  ci_error error;
  images test = {0}, train = {0};
  if (read_images(argv[2], &test) || read_images(argv[3], &train)) return fprintf(stderr, "no images\n"), 1;
  if (ci_open(argv[1], NULL, &model, &error)) return fail(argv[1], &error);
  if (ci_session_open(model, NULL, NULL, &session, &error)) return fail("session", &error);
  float first[CLASSES];
  int64_t first_class;
  ci_tensor x = view(CI_FLOAT, test.pixels, 2, 1, PIXELS);
  ci_tensor out[2] = {view(CI_FLOAT, first, 2, 1, CLASSES), view(CI_INT64, &first_class, 1, 1, 1)};
  int predict_signature = ci_signature(model, "predict"), train_signature = ci_signature(model, "train");
  if (ci_run(session, predict_signature, &x, 1, out, 2, &error)) return fail("predict", &error);
  printf("first_milliseconds %.3f\n", (seconds() - start) * 1e3);
  int failed = predict(session, predict_signature, &test, argv[4]) || train_one_epoch(session, train_signature, &train);
  if (!failed && ci_save(ci_session_state(session), model, argv[5], -1, &error)) failed = fail("save", &error);
  ci_session_close(session);
  ci_close(model);
  free(test.pixels), free(test.labels), free(train.pixels), free(train.labels);
  return failed;
}
