/* start.c - from the start of a process to the first answer of a model of one input and one output, all float32.
 *
 *   start MODEL IN_NAME IN_DIMS IN_FILE OUT_NAME OUT_DIMS OUT_FILE [LIBONNXRUNTIME]
 *
 * Dims are like 1,3,224,224. With a library the model is an ONNX file for it, else ours. Prints milliseconds since the
 * first line of main and the process's peak memory in KB; the answer goes to OUT_FILE. */
#define _POSIX_C_SOURCE 200809L
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct value {
  char *name;
  int64_t dims[CI_MAX_RANK];
  int rank;
  size_t bytes;
  float *data;
} value;

static double milliseconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int make(value *v, char *name, char *dims) {
  v->name = name;
  v->bytes = sizeof(float);
  for (char *next = dims; *next && v->rank < CI_MAX_RANK; v->rank++) {
    v->dims[v->rank] = strtoll(next, &next, 10);
    v->bytes *= (size_t)v->dims[v->rank];
    next += *next == ',';
  }
  return (v->data = malloc(v->bytes)) == NULL;
}

static int moved(const char *path, const char *mode, value *v) {
  FILE *file = fopen(path, mode);
  if (!file) return 1;
  size_t done = *mode == 'r' ? fread(v->data, 1, v->bytes, file) : fwrite(v->data, 1, v->bytes, file);
  return fclose(file) || done != v->bytes;
}

static int by_cinfer(const char *path, value *in, value *out) {
  ci_model *model;
  ci_session *session;
  ci_error error;
  if (ci_open(path, NULL, &model, &error) || ci_session_open(model, NULL, NULL, &session, &error))
    return fprintf(stderr, "%s\n", error.message), 1;
  cinfer_job *job = client_cinfer(ci_run, session);
  if (!job) return 1;
  client_cinfer_input(job, in->data, in->bytes, CI_FLOAT, in->rank, in->dims);
  client_cinfer_output(job, out->data, out->bytes);
  return client_cinfer_run(job);
}

static int by_ort(const char *library, const char *path, value *in, value *out) {
  ort_job *job = client_ort(library, path, 1);
  return !job || client_ort_input(job, in->name, in->data, in->bytes, CI_FLOAT, in->rank, in->dims) ||
         client_ort_output(job, out->name, out->data, out->bytes, CI_FLOAT, out->rank, out->dims) ||
         client_ort_run(job);
}

/* Of this program alone: what getrusage says begins with the memory of the process that started it. */
static long peak_kilobytes(void) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  long found = 0;
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "VmHWM: %ld", &found) == 1) break;
  if (file) fclose(file);
  return found;
}

int main(int argc, char **argv) {
  double start = milliseconds_now();
  value in = {0}, out = {0};
  if (argc < 8 || make(&in, argv[2], argv[3]) || moved(argv[4], "r", &in) || make(&out, argv[5], argv[6])) return 2;
  if (argc > 8 ? by_ort(argv[8], argv[1], &in, &out) : by_cinfer(argv[1], &in, &out)) return 1;
  double end = milliseconds_now();
  long peak = peak_kilobytes();
  if (moved(argv[7], "w", &out)) return 3;
  printf("%.3f %ld\n", end - start, peak);
  return 0;
}
