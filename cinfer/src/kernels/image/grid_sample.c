/* grid_sample.c - GridSample over any number of axes and its gradients; in double (docs/numerics.md). */
#include <math.h>

#include "../ci_kernel.h"
#include "../arithmetic/integers.h"
#include "../../math/scalar_math.h"

enum { GRID_MOST_AXES = 3 };

typedef struct grid_plan {
  int axes, taps; /* taps: of one axis: 1 nearest, 2 linear, 4 cubic */
  int64_t padding, align, channels, x_count, y_count, size[GRID_MOST_AXES];
} grid_plan;

typedef struct grid_axis { /* taps of a coordinate along one axis; -1: outside, no element */
  int64_t position[4];
  double weight[4], slope[4]; /* slope: derivative of the weight by the grid's number */
} grid_axis;

static double img_load(const ci_value *v, int64_t i) {
  return v->dtype == CI_FLOAT ? (double)((const float *)v->data)[i] : ((const double *)v->data)[i];
}

static void img_store(const ci_value *v, int64_t i, double x) {
  if (v->dtype == CI_FLOAT) {
    ((float *)v->data)[i] = (float)x;
  } else {
    ((double *)v->data)[i] = x;
  }
}

static bool img_is_float(const ci_value *v) { return v->dtype == CI_FLOAT || v->dtype == CI_DOUBLE; }

/* ---- prepare ---- */

static ci_status grid_prepare(ci_kernel *k, grid_plan **plan) {
  const ci_value *x = k->in[0], *grid = k->in[1];
  ci_span mode, padding;
  CI_TRY(ci_k_attr_s(k, "mode", "linear", &mode));
  CI_TRY(ci_k_attr_s(k, "padding_mode", "zeros", &padding));
  if (!img_is_float(x) || !img_is_float(grid)) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "there is no kernel for %s by %s, only for floats", ci_dtype_name(x->dtype),
                     ci_dtype_name(grid->dtype));
  }
  if (x->rank < 3 || x->rank > 2 + GRID_MOST_AXES || grid->rank != x->rank || grid->dims[0] != x->dims[0] ||
      grid->dims[x->rank - 1] != x->rank - 2) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "expected x (n, c, 1 to 3 axes) and a grid (n, as many, their number)");
  }
  grid_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_k_attr_i(k, "align_corners", 0, &p->align));
  p->axes = x->rank - 2;
  p->taps = ci_span_is(mode, "nearest") ? 1 : ci_span_is(mode, "linear") ? 2 : ci_span_is(mode, "cubic") ? 4 : 0;
  p->padding = ci_span_is(padding, "zeros") ? 0 : ci_span_is(padding, "border") ? 1 : 2;
  if (p->taps == 0 || (p->padding == 2 && !ci_span_is(padding, "reflection"))) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "mode or padding_mode is none of nearest, linear, cubic and zeros, border, reflection");
  }
  p->channels = x->dims[1];
  p->x_count = ci_shape_count(x->dims, 2, x->rank);
  p->y_count = ci_shape_count(grid->dims, 1, grid->rank - 1);
  for (int i = 0; i < p->axes; i++) p->size[i] = x->dims[i + 2];
  *plan = p;
  return CI_OK;
}

static void grid_y_dims(const ci_kernel *k, int64_t *dims) {
  const ci_value *grid = k->in[1];
  dims[0] = grid->dims[0], dims[1] = k->in[0]->dims[1];
  for (int i = 2; i < grid->rank; i++) dims[i] = grid->dims[i - 1];
}

ci_status ci_prepare_grid_sample(ci_kernel *k) {
  grid_plan *p;
  int64_t dims[CI_MAX_RANK];
  CI_TRY(grid_prepare(k, &p));
  grid_y_dims(k, dims);
  return ci_k_out(k, 0, k->in[0]->dtype, k->in[0]->rank, dims);
}

ci_status ci_prepare_grid_sample_grad(ci_kernel *k) {
  const ci_value *dy = k->in[2];
  grid_plan *p;
  int64_t dims[CI_MAX_RANK];
  CI_TRY(grid_prepare(k, &p));
  grid_y_dims(k, dims);
  if (dy->dtype != k->in[0]->dtype || !ci_shape_same(dy->rank, dy->dims, k->in[0]->rank, dims)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "dy must have the result's type and shape");
  }
  CI_TRY(ci_k_out_like(k, 0, k->in[0]->dtype, k->in[0]));
  return ci_k_out_like(k, 1, k->in[1]->dtype, k->in[1]);
}

/* ---- taps ---- */

static int64_t grid_position(const grid_plan *p, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  if (p->padding == 0 || n == 0) return -1;
  if (p->padding == 1) return i < 0 ? 0 : n - 1;
  const int64_t period = p->align != 0 ? 2 * (n - 1) : 2 * n;
  if (period == 0) return 0;
  int64_t r = i % period;
  if (r < 0) r += period;
  return r < n ? r : (p->align != 0 ? period : period - 1) - r;
}

/* The cubic convolution kernel with a = -0.75, or its derivative. */
static double grid_cubic(double x, bool slope) {
  const double a = -0.75, s = x < 0.0 ? -1.0 : 1.0;
  x = fabs(x);
  if (x <= 1.0) {
    return slope ? s * (3.0 * (a + 2.0) * x - 2.0 * (a + 3.0)) * x : ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  }
  if (x >= 2.0) return 0.0;
  return slope ? s * ((3.0 * a * x - 10.0 * a) * x + 8.0 * a) : ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
}

static void grid_taps(const grid_plan *p, double g, int64_t n, grid_axis *t) {
  const double size = (double)n, per = p->align != 0 ? (size - 1.0) / 2.0 : size / 2.0;
  double x = p->align != 0 ? (g + 1.0) / 2.0 * (size - 1.0) : ((g + 1.0) * size - 1.0) / 2.0;
  if (!(x > -1e9)) x = -1e9; /* also NaN */
  if (x > 1e9) x = 1e9;
  double base = ci_floor(x);
  const double part = x - base;
  if (p->taps == 1) base = base + (part > 0.5 || (part == 0.5 && ((int64_t)base & 1) != 0) ? 1.0 : 0.0);
  const int first = p->taps == 4 ? -1 : 0;
  for (int i = 0; i < p->taps; i++) {
    t->position[i] = grid_position(p, (int64_t)base + first + i, n);
    const double at = part - (double)(first + i);
    t->weight[i] = p->taps == 1 ? 1.0 : p->taps == 4 ? grid_cubic(at, false) : i == 0 ? 1.0 - part : part;
    t->slope[i] = per * (p->taps == 1 ? 0.0 : p->taps == 4 ? grid_cubic(at, true) : i == 0 ? -1.0 : 1.0);
  }
}

/* The next combination of taps, last axis fastest; false after the last. */
static bool grid_next(const grid_plan *p, int *tap) {
  for (int i = p->axes - 1; i >= 0; i--) {
    if (++tap[i] < p->taps) return true;
    tap[i] = 0;
  }
  return false;
}

/* Element and weight of a combination, and the weight's derivative by each of the grid's numbers; -1: outside. */
static int64_t grid_term(const grid_plan *p, const grid_axis *t, const int *tap, double *weight, double *slope) {
  int64_t at = 0;
  *weight = 1.0;
  for (int i = 0; i < p->axes; i++) {
    if (t[i].position[tap[i]] < 0) return -1;
    at = at * p->size[i] + t[i].position[tap[i]];
    *weight = *weight * t[i].weight[tap[i]];
    for (int j = 0; j < p->axes && slope != NULL; j++) {
      slope[j] = (i == 0 ? 1.0 : slope[j]) * (i == j ? t[i].slope[tap[i]] : t[i].weight[tap[i]]);
    }
  }
  return at;
}

/* Taps of a point of the grid, whose numbers come last axis first. */
static void grid_at(const ci_kernel *k, const grid_plan *p, int64_t position, grid_axis *t) {
  for (int i = 0; i < p->axes; i++) {
    grid_taps(p, img_load(k->in[1], position * p->axes + p->axes - 1 - i), p->size[i], &t[i]);
  }
}

enum { GRID_TERMS = 64 }; /* of a point: four taps along GRID_MOST_AXES */

typedef struct grid_terms {
  int count;
  int64_t at[GRID_TERMS];
  double weight[GRID_TERMS];
} grid_terms;

static void grid_keep(const grid_plan *p, const grid_axis *t, grid_terms *terms) {
  int tap[GRID_MOST_AXES] = {0};
  terms->count = 0;
  do {
    double weight;
    const int64_t at = grid_term(p, t, tap, &weight, NULL);
    if (at < 0) continue;
    terms->at[terms->count] = at;
    terms->weight[terms->count++] = weight;
  } while (grid_next(p, tap));
}

/* The sums of all channels of image n at one point. */
static void grid_channels(const ci_kernel *k, const grid_plan *p, int64_t n, int64_t position,
                          const grid_terms *terms) {
  const bool single = k->in[0]->dtype == CI_FLOAT;
  for (int64_t c = n * p->channels; c < (n + 1) * p->channels; c++) {
    double sum = 0.0;
    if (single) {
      const float *x = (const float *)k->in[0]->data + c * p->x_count;
      for (int i = 0; i < terms->count; i++) sum = sum + terms->weight[i] * (double)x[terms->at[i]];
      ((float *)k->out[0]->data)[c * p->y_count + position] = (float)sum;
      continue;
    }
    for (int i = 0; i < terms->count; i++) {
      sum = sum + terms->weight[i] * img_load(k->in[0], c * p->x_count + terms->at[i]);
    }
    img_store(k->out[0], c * p->y_count + position, sum);
  }
}

static void grid_positions(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const grid_plan *p = k->private_memory;
  grid_axis t[GRID_MOST_AXES];
  grid_terms terms;
  (void)thread;
  for (int64_t position = begin; position < end; position++) {
    const int64_t n = position / p->y_count;
    grid_at(k, p, position, t);
    grid_keep(p, t, &terms);
    grid_channels(k, p, n, position % p->y_count, &terms);
  }
}

ci_status ci_run_grid_sample(ci_kernel *k) {
  const grid_plan *p = k->private_memory;
  if (k->out[0]->count > 0) ci_k_parallel(k, k->in[0]->dims[0] * p->y_count, 256, grid_positions, k);
  return CI_OK;
}

static void grid_back_images(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const grid_plan *p = k->private_memory;
  const ci_value *x = k->in[0], *dy = k->in[2], *dx = k->out[0], *dgrid = k->out[1];
  grid_axis t[GRID_MOST_AXES];
  (void)thread;
  for (int64_t position = begin * p->y_count; position < end * p->y_count; position++) {
    const int64_t n = position / p->y_count;
    double by_grid[GRID_MOST_AXES] = {0}, slope[GRID_MOST_AXES], weight;
    grid_at(k, p, position, t);
    for (int64_t c = n * p->channels; c < (n + 1) * p->channels; c++) {
      const double g = img_load(dy, c * p->y_count + position % p->y_count);
      int tap[GRID_MOST_AXES] = {0};
      do {
        const int64_t from = grid_term(p, t, tap, &weight, slope);
        if (from < 0) continue;
        const int64_t at = c * p->x_count + from;
        img_store(dx, at, img_load(dx, at) + weight * g);
        for (int i = 0; i < p->axes; i++) by_grid[i] = by_grid[i] + slope[i] * (img_load(x, at) * g);
      } while (grid_next(p, tap));
    }
    for (int i = 0; i < p->axes; i++) img_store(dgrid, position * p->axes + p->axes - 1 - i, by_grid[i]);
  }
}

ci_status ci_run_grid_sample_grad(ci_kernel *k) {
  if (k->out[0]->bytes > 0) memset(k->out[0]->data, 0, k->out[0]->bytes);
  if (k->out[1]->count > 0) ci_k_parallel(k, k->in[0]->dims[0], 1, grid_back_images, k);
  return CI_OK;
}
