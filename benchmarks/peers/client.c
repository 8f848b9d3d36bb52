/* client.c - what the benchmark calls from C: cinfer, ONNX Runtime's C API, and dense layers written by hand.
 *
 * native.py compiles it to a library and hands in the functions of the engines, so that nothing of them is linked.
 * Every
 * `..._run` is one prediction on fixed buffers, for client_time. */
#define _POSIX_C_SOURCE 200809L
#include "client.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 16 }; /* inputs or outputs of a model */

/* ---- time ---- */

static double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of each of `count` calls; 0 if all went well. */
int client_time(int (*call)(void *), void *argument, long count, double *seconds) {
  for (long i = 0; i < count; i++) {
    double start = seconds_now();
    int failed = call(argument);
    seconds[i] = seconds_now() - start;
    if (failed) return failed;
  }
  return 0;
}

/* ---- cinfer ---- */

struct cinfer_job {
  run_function *run;
  ci_session *session;
  int inputs, outputs;
  size_t capacity[MOST];
  ci_tensor in[MOST], out[MOST];
};

cinfer_job *client_cinfer(run_function *run, ci_session *session) {
  cinfer_job *job = calloc(1, sizeof *job);
  if (job) job->run = run, job->session = session;
  return job;
}

static ci_tensor tensor(void *data, size_t bytes, int32_t dtype, int32_t rank, const int64_t *dims) {
  ci_tensor t = {data, bytes, dtype, rank, {0}};
  memcpy(t.dims, dims, (size_t)rank * sizeof *dims);
  return t;
}

void client_cinfer_clear(cinfer_job *job) { job->inputs = job->outputs = 0; }

void client_cinfer_input(cinfer_job *job, void *data, size_t bytes, int32_t dtype, int32_t rank, const int64_t *dims) {
  job->in[job->inputs++] = tensor(data, bytes, dtype, rank, dims);
}

void client_cinfer_output(cinfer_job *job, void *data, size_t bytes) {
  job->capacity[job->outputs] = bytes;
  job->out[job->outputs++].data = data;
}

int client_cinfer_run(void *argument) {
  cinfer_job *job = argument;
  for (int i = 0; i < job->outputs; i++) job->out[i].bytes = job->capacity[i];
  return job->run(job->session, 0, job->in, job->inputs, job->out, job->outputs, NULL);
}

/* ---- ONNX Runtime, whose functions are a table that only grows ---- */

enum {
  ORT_MESSAGE = 2,
  ORT_ENV = 3,
  ORT_SESSION = 7,
  ORT_RUN = 9,
  ORT_OPTIONS = 10,
  ORT_THREADS = 24,
  ORT_TENSOR = 49,
  ORT_MEMORY = 69,
  ORT_API = 17
};
typedef void *ort_function();
typedef struct ort_base {
  ort_function **(*api)(uint32_t version);
  const char *(*version)(void);
} ort_base;
struct ort_job {
  ort_function **api;
  void *session, *memory;
  size_t inputs, outputs;
  char *in_name[MOST], *out_name[MOST];
  void *in[MOST], *out[MOST];
};

static int ort_failed(ort_job *job, void *status) {
  if (status) fprintf(stderr, "onnxruntime: %s\n", (const char *)job->api[ORT_MESSAGE](status));
  return status != NULL;
}

ort_job *client_ort(const char *library, const char *model, int threads) {
  static void *env; /* there may be one in a process */
  void *so = dlopen(library, RTLD_NOW | RTLD_LOCAL), *options = NULL;
  ort_job *job = calloc(1, sizeof *job);
  if (!so || !job) return fprintf(stderr, "%s\n", so ? "no memory" : dlerror()), NULL;
  ort_base *(*get)(void);
  *(void **)&get = dlsym(so, "OrtGetApiBase");
  if (!get) return fprintf(stderr, "%s has no OrtGetApiBase\n", library), NULL;
  job->api = get()->api(ORT_API);
  if ((!env && ort_failed(job, job->api[ORT_ENV](3, "peers", &env))) ||
      ort_failed(job, job->api[ORT_OPTIONS](&options)) || ort_failed(job, job->api[ORT_THREADS](options, threads)) ||
      ort_failed(job, job->api[ORT_SESSION](env, model, options, &job->session)) ||
      ort_failed(job, job->api[ORT_MEMORY](1, 0, &job->memory)))
    return NULL;
  return job;
}

static int ort_tensor(ort_job *job, void *data, size_t bytes, int dtype, int rank, const int64_t *dims, void **value) {
  return ort_failed(job, job->api[ORT_TENSOR](job->memory, data, bytes, dims, (size_t)rank, dtype, value));
}

/* The values of the tensors are not released: they are few. */
void client_ort_clear(ort_job *job) { job->inputs = job->outputs = 0; }

int client_ort_input(ort_job *job, const char *name, void *data, size_t bytes, int dtype, int rank,
                     const int64_t *dims) {
  job->in_name[job->inputs] = strdup(name);
  return ort_tensor(job, data, bytes, dtype, rank, dims, &job->in[job->inputs++]);
}

int client_ort_output(ort_job *job, const char *name, void *data, size_t bytes, int dtype, int rank,
                      const int64_t *dims) {
  job->out_name[job->outputs] = strdup(name);
  return ort_tensor(job, data, bytes, dtype, rank, dims, &job->out[job->outputs++]);
}

int client_ort_run(void *argument) {
  ort_job *job = argument;
  return job->api[ORT_RUN](job->session, NULL, job->in_name, job->in, job->inputs, job->out_name, job->outputs,
                           job->out) != NULL;
}

/* ---- dense layers by hand: a floor. Weights are [in][out], outputs padded to full vectors ---- */

enum { LANES = 16, LAYERS = 4 };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t lane_bits __attribute__((vector_size(LANES * sizeof(int32_t))));
typedef struct dense_job {
  int layers, rows;
  int in[LAYERS], vectors[LAYERS];
  lanes *weight[LAYERS], *bias[LAYERS], *result[LAYERS];
  const float *x;
} dense_job;

dense_job *client_dense(const float *x, int rows) {
  dense_job *job = calloc(1, sizeof *job);
  if (job) job->x = x, job->rows = rows;
  return job;
}

/* As many of the rows as there were at first, or fewer. */
void client_dense_rows(dense_job *job, int rows) { job->rows = rows; }

static lanes *zeroed(size_t vectors) {
  lanes *made = aligned_alloc(sizeof(lanes), vectors * sizeof(lanes));
  return made ? memset(made, 0, vectors * sizeof(lanes)) : NULL;
}

/* weight is [out][in]. */
int client_dense_layer(dense_job *job, const float *weight, const float *bias, int in, int out) {
  int l = job->layers++, vectors = (out + LANES - 1) / LANES;
  job->in[l] = in, job->vectors[l] = vectors;
  job->weight[l] = zeroed((size_t)in * (size_t)vectors);
  job->bias[l] = zeroed((size_t)vectors);
  job->result[l] = zeroed((size_t)job->rows * (size_t)vectors);
  if (!job->weight[l] || !job->bias[l] || !job->result[l]) return 1;
  for (int o = 0; o < out; o++) {
    ((float *)job->bias[l])[o] = bias[o];
    for (int i = 0; i < in; i++) ((float *)(job->weight[l] + i * vectors))[o] = weight[o * in + i];
  }
  return 0;
}

const float *client_dense_result(dense_job *job, int *stride) {
  *stride = job->vectors[job->layers - 1] * LANES;
  return (const float *)job->result[job->layers - 1];
}

/* A block of ROWS x VECTORS of a layer's result, held in registers. */
#define BLOCK(ROWS, VECTORS)                                                                               \
  static void block_##ROWS##_##VECTORS(const float *x, int stride, const lanes *w, const lanes *b, int in, \
                                       int vectors, lanes *y, int relu) {                                  \
    lanes sum[ROWS][VECTORS], zero = {0};                                                                  \
    for (int r = 0; r < ROWS; r++)                                                                         \
      for (int v = 0; v < VECTORS; v++) sum[r][v] = b[v];                                                  \
    for (int i = 0; i < in; i++)                                                                           \
      for (int r = 0; r < ROWS; r++)                                                                       \
        for (int v = 0; v < VECTORS; v++) sum[r][v] += x[r * stride + i] * w[i * vectors + v];             \
    for (int r = 0; r < ROWS; r++)                                                                         \
      for (int v = 0; v < VECTORS; v++) {                                                                  \
        lanes s = sum[r][v];                                                                               \
        y[r * vectors + v] = relu ? (lanes)((lane_bits)s & (s > zero)) : s;                                \
      }                                                                                                    \
  }
BLOCK(1, 1)
BLOCK(1, 2)
BLOCK(1, 4)
BLOCK(1, 7)
BLOCK(8, 1)
BLOCK(8, 2)
BLOCK(8, 3)

static void (*const blocks[])(const float *, int, const lanes *, const lanes *, int, int, lanes *, int) = {
    block_1_7, block_1_4, block_1_2, block_1_1, block_8_3, block_8_2, block_8_1};
static const int widths[] = {7, 4, 2, 1, 3, 2, 1};

int client_dense_run(void *argument) {
  dense_job *job = argument;
  const float *x = job->x;
  int stride = job->in[0];
  for (int l = 0; l < job->layers; l++) {
    int vectors = job->vectors[l], relu = l + 1 < job->layers;
    for (int r = 0, rows; r < job->rows; r += rows) {
      rows = job->rows - r >= 8 ? 8 : 1;
      for (int v = 0; v < vectors;) {
        int k = rows == 8 ? 4 : 0;
        while (widths[k] > vectors - v) k++;
        blocks[k](x + r * stride, stride, job->weight[l] + v, job->bias[l] + v, job->in[l], vectors,
                  job->result[l] + r * vectors + v, relu);
        v += widths[k];
      }
    }
    x = (const float *)job->result[l], stride = vectors * LANES;
  }
  return 0;
}

/* ---- the machine ---- */

/* Multiplies and additions per second of one core at its peak, in 1e9, without dependencies. */
double client_peak(long rounds) {
  enum { CHAINS = 12 };
  lanes sum[CHAINS], factor = {0}, term = {0};
  for (int i = 0; i < CHAINS; i++) sum[i] = term + (float)i;
  factor += 0.999f, term += 1e-3f;
  double start = seconds_now();
  for (long r = 0; r < rounds; r++)
    for (int i = 0; i < CHAINS; i++) sum[i] = sum[i] * factor + term;
  double seconds = seconds_now() - start;
  static volatile float used; /* or the compiler leaves the work out */
  for (int i = 0; i < CHAINS; i++) used = used + sum[i][0];
  return 2e-9 * LANES * CHAINS * (double)rounds / seconds;
}
