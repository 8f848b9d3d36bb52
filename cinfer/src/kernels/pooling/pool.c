/* pool.c - MaxPool2D, AveragePool2D and their gradients: images (n, h, w, c), windows without their padding. */
#include <math.h>

#include "../../simd/isa.h"
#include "../../simd/linear/isa_linear.h"
#include "../convolution/window.h"
#if CI_HAS_POOLS

typedef struct pool_plan {
  ci_window g;
  size_t item, list_bytes; /* of one thread's lists of taps */
  int64_t image_bytes;     /* of an image of x */
  int64_t grain;
} pool_plan;

typedef struct pool_job {
  ci_kernel *k;
  const pool_plan *p;
  const char *x, *dy; /* dy: of the gradients */
  char *y;            /* y or dx */
  bool largest;
} pool_job;

enum { POOL_PART_WORK = 1 << 15 };

/* ---- float64, as isa_linear's float32 ---- */

static double pool_most(double most, double next) { return next > most || next != next ? next : most; }

static void pool_largest_double(double *y, const double *const *x, int64_t taps, int64_t n) {
  for (int64_t c = 0; c < n; c++) {
    double most = -INFINITY;
    for (int64_t i = 0; i < taps; i++) most = pool_most(most, x[i][c]);
    y[c] = most + 0.0;
  }
}

static void pool_average_double(double *y, const double *const *x, int64_t taps, int64_t n) {
  for (int64_t c = 0; c < n; c++) {
    double sum = 0.0;
    for (int64_t i = 0; i < taps; i++) sum = sum + x[i][c];
    y[c] = sum / (double)taps;
  }
}

static void pool_route_double(double *const *dx, const double *const *x, const double *dy, int64_t taps, int64_t n) {
  for (int64_t c = 0; c < n; c++) {
    int64_t winner = 0;
    for (int64_t i = 1; i < taps; i++) {
      const double best = x[winner][c];
      if (x[i][c] > best || (x[i][c] != x[i][c] && best == best)) winner = i;
    }
    if (taps > 0) dx[winner][c] = dx[winner][c] + dy[c];
  }
}

static void pool_spread_double(double *const *dx, const double *dy, int64_t taps, int64_t n) {
  for (int64_t c = 0; c < n; c++) {
    const double share = dy[c] / (double)taps;
    for (int64_t i = 0; i < taps; i++) dx[i][c] = dx[i][c] + share;
  }
}

/* ---- the largest of integers ---- */

typedef void (*pool_largest_fn)(void *y, const void *const *x, int64_t taps, int64_t n);

#define POOL_LARGEST(T, least)                                                                             \
  static void pool_largest_##T(void *to, const void *const *x, int64_t taps, int64_t n) {                  \
    T *y = to;                                                                                             \
    for (int64_t c = 0; c < n; c++) {                                                                      \
      T most = least;                                                                                      \
      for (int64_t i = 0; i < taps; i++) most = ((const T *)x[i])[c] > most ? ((const T *)x[i])[c] : most; \
      y[c] = most;                                                                                         \
    }                                                                                                      \
  }
POOL_LARGEST(int8_t, INT8_MIN)
POOL_LARGEST(int16_t, INT16_MIN)
POOL_LARGEST(int32_t, INT32_MIN)
POOL_LARGEST(int64_t, INT64_MIN)
POOL_LARGEST(uint8_t, 0)
POOL_LARGEST(uint16_t, 0)
POOL_LARGEST(uint32_t, 0)
POOL_LARGEST(uint64_t, 0)

/* NULL: of floats. */
static pool_largest_fn pool_largest_integer(int32_t dtype) {
  switch (dtype) {
    case CI_INT8: return pool_largest_int8_t;
    case CI_INT16: return pool_largest_int16_t;
    case CI_INT32: return pool_largest_int32_t;
    case CI_INT64: return pool_largest_int64_t;
    case CI_UINT8: return pool_largest_uint8_t;
    case CI_UINT16: return pool_largest_uint16_t;
    case CI_UINT32: return pool_largest_uint32_t;
    case CI_UINT64: return pool_largest_uint64_t;
    default: return NULL;
  }
}

/* ---- prepare ---- */

static ci_status pool_prepare(ci_kernel *k, const int64_t *x_dims, int32_t dtype, pool_plan **plan) {
  const int64_t *window = NULL;
  int count = -1;
  CI_TRY(ci_k_attr_ints(k, "kernel_shape", &window, &count));
  if (count != 2)
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute kernel_shape must have the window's height and width");
  pool_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_window_prepare(k, x_dims, window[0], window[1], true, &p->g));
  const ci_window *g = &p->g;
  size_t area, touched; /* taps that can be in the image, hence the longest list */
  const size_t rows = (size_t)(g->nd.kernel[0] < g->nd.size[0] ? g->nd.kernel[0] : g->nd.size[0]),
               columns = (size_t)(g->nd.kernel[1] < g->nd.size[1] ? g->nd.kernel[1] : g->nd.size[1]);
  if (!ci_mul_size(rows, columns, &area) || !ci_mul_size(area, 2 * sizeof(char *), &touched) ||
      touched > PTRDIFF_MAX / 4096) {
    return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "a window of %lld x %lld is too large", (long long)g->nd.kernel[0],
                     (long long)g->nd.kernel[1]);
  }
  p->item = ci_dtype_size(dtype);
  p->list_bytes = ci_round_up(touched, 64);
  k->scratch_bytes = p->list_bytes * (size_t)k->threads;
  const int64_t most = (int64_t)(area < POOL_PART_WORK ? area : POOL_PART_WORK), work = most * (g->c > 0 ? g->c : 1);
  p->grain = work > 0 ? POOL_PART_WORK / work + 1 : 1;
  *plan = p;
  return CI_OK;
}

static ci_status pool_image(ci_kernel *k, const ci_value *x, const char *name) {
  char str[128];
  if (x->rank == 4) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s is %s, expected rank 4: n, h, w, c", name,
                   ci_value_describe(x, str, sizeof str));
}

static ci_status pool_forward_prepare(ci_kernel *k) {
  const ci_value *x = k->in[0];
  pool_plan *p;
  CI_TRY(pool_image(k, x, "x"));
  CI_TRY(pool_prepare(k, x->dims, x->dtype, &p));
  const int64_t dims[4] = {p->g.n, p->g.nd.out[0], p->g.nd.out[1], p->g.c};
  return ci_k_out(k, 0, x->dtype, 4, dims);
}

/* dy must have the shape that the forward operator gives. */
static ci_status pool_gradient_prepare(ci_kernel *k, const int64_t *x_dims) {
  const ci_value *dy = k->in[1];
  pool_plan *p;
  char str[128];
  CI_TRY(pool_image(k, dy, "dy"));
  CI_TRY(pool_prepare(k, x_dims, dy->dtype, &p));
  const ci_window *g = &p->g;
  const int64_t dims[4] = {g->n, g->nd.out[0], g->nd.out[1], g->c};
  if (!ci_shape_same(4, dims, dy->rank, dy->dims)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "dy is %s, expected [%lld,%lld,%lld,%lld] from the image and the window",
                     ci_value_describe(dy, str, sizeof str), (long long)dims[0], (long long)dims[1], (long long)dims[2],
                     (long long)dims[3]);
  }
  CI_TRY(ci_k_out(k, 0, dy->dtype, 4, x_dims));
  p->image_bytes = g->n > 0 ? (int64_t)k->out[0]->bytes / g->n : 0;
  return CI_OK;
}

ci_status ci_prepare_max_pool2d(ci_kernel *k) { return pool_forward_prepare(k); }
ci_status ci_prepare_average_pool2d(ci_kernel *k) { return pool_forward_prepare(k); }

ci_status ci_prepare_max_pool2d_grad(ci_kernel *k) {
  const ci_value *x = k->in[0], *dy = k->in[1];
  CI_TRY(pool_image(k, x, "x"));
  if (x->dtype != dy->dtype) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "x is %s and dy is %s, expected one type", ci_dtype_name(x->dtype),
                     ci_dtype_name(dy->dtype));
  }
  return pool_gradient_prepare(k, x->dims);
}

ci_status ci_prepare_average_pool2d_grad(ci_kernel *k) {
  int64_t dims[4];
  int count = 0;
  CI_TRY(ci_k_known_ints(k, 0, dims, 4, &count));
  if (count != 4) return ci_k_fail(k, CI_INVALID_ARGUMENT, "x_shape has %d numbers, expected n, h, w, c", count);
  return pool_gradient_prepare(k, dims);
}

/* ---- run ---- */

static void pool_forward_pixels(void *argument, int64_t begin, int64_t end, int thread) {
  const pool_job *job = argument;
  const pool_plan *p = job->p;
  const struct ci_isa_linear *isa = job->k->isa->linear;
  const char **taps = (const char **)(void *)((char *)job->k->scratch + (size_t)thread * p->list_bytes);
  const void *list = taps;
  const size_t row = (size_t)p->g.c * p->item;
  const pool_largest_fn integers = pool_largest_integer(job->k->in[0]->dtype);
  ci_pixel at = ci_window_at(&p->g.nd, begin);
  for (int64_t pixel = begin; pixel < end; pixel++, ci_window_next(&p->g.nd, &at)) {
    const int64_t count = ci_window_taps(&p->g.nd, row, job->x, &at, NULL, taps);
    void *y = job->y + (size_t)pixel * row;
    if (integers != NULL) {
      integers(y, list, count, p->g.c);
    } else if (p->item == sizeof(double)) {
      (job->largest ? pool_largest_double : pool_average_double)(y, list, count, p->g.c);
    } else {
      (job->largest ? isa->largest : isa->average)(y, list, count, p->g.c);
    }
  }
}

#if CI_HAS(training)
/* The outputs of an image in ascending order: overlapping windows add up in that order. */
static void pool_gradient_images(void *argument, int64_t begin, int64_t end, int thread) {
  const pool_job *job = argument;
  const pool_plan *p = job->p;
  const struct ci_isa_linear *isa = job->k->isa->linear;
  const char **taps = (const char **)(void *)((char *)job->k->scratch + (size_t)thread * p->list_bytes);
  const char **sources = (const char **)(void *)((char *)taps + p->list_bytes / 2);
  const void *dx = taps, *x = sources;
  const int64_t outputs = p->g.nd.positions;
  const size_t row = (size_t)p->g.c * p->item;
  memset(job->y + (size_t)(begin * p->image_bytes), 0, (size_t)((end - begin) * p->image_bytes));
  ci_pixel at = {begin, 0, 0};
  for (int64_t pixel = begin * outputs; pixel < end * outputs; pixel++, ci_window_next(&p->g.nd, &at)) {
    const int64_t count = ci_window_taps(&p->g.nd, row, job->y, &at, NULL, taps);
    const void *dy = job->dy + (size_t)pixel * row;
    if (job->largest) {
      ci_window_taps(&p->g.nd, row, job->x, &at, NULL, sources);
      if (p->item == sizeof(double)) {
        pool_route_double(dx, x, dy, count, p->g.c);
      } else {
        isa->route(dx, x, dy, count, p->g.c);
      }
    } else if (p->item == sizeof(double)) {
      pool_spread_double(dx, dy, count, p->g.c);
    } else {
      isa->spread(dx, dy, count, p->g.c);
    }
  }
}

static ci_status pool_gradient(ci_kernel *k, bool largest) {
  const pool_plan *p = k->private_memory;
  pool_job job = {.k = k, .p = p, .x = k->in[0]->data, .dy = k->in[1]->data, .y = k->out[0]->data, .largest = largest};
  if (k->out[0]->count > 0) ci_k_parallel(k, p->g.n, 1, pool_gradient_images, &job);
  return CI_OK;
}

ci_status ci_run_max_pool2d_grad(ci_kernel *k) { return pool_gradient(k, true); }
ci_status ci_run_average_pool2d_grad(ci_kernel *k) { return pool_gradient(k, false); }
#endif

static ci_status pool_forward(ci_kernel *k, bool largest) {
  pool_job job = {.k = k, .p = k->private_memory, .x = k->in[0]->data, .y = k->out[0]->data, .largest = largest};
  if (k->out[0]->count > 0) ci_k_parallel(k, job.p->g.pixels, job.p->grain, pool_forward_pixels, &job);
  return CI_OK;
}

ci_status ci_run_max_pool2d(ci_kernel *k) { return pool_forward(k, true); }
ci_status ci_run_average_pool2d(ci_kernel *k) { return pool_forward(k, false); }
#endif
