/* pool_nd.c - ONNX's pooling, channels first, over any number of axes: planes of n * c images (docs/numerics.md). */
#include <math.h>

#include "../ci_kernel.h"
#include "../../simd/math/isa_math.h"
#include "../../math/scalar_math.h"
#include "../arithmetic/integers.h"
#include "../convolution/plane.h"
#if CI_HAS_POOLS

typedef enum nd_kind { ND_MAX, ND_AVERAGE, ND_LP, ND_SPREAD, ND_LIST } nd_kind;
typedef enum nd_divisor { ND_WINDOW, ND_PADDED, ND_ONE } nd_divisor;

typedef struct nd_plan {
  int axes;
  bool column_major;
  nd_divisor divisor;
  int64_t p, planes, x_count, y_count, area;
  int64_t x[CI_MAX_RANK], y[CI_MAX_RANK], kernel[CI_MAX_RANK], stride[CI_MAX_RANK], dilation[CI_MAX_RANK];
  int64_t head[CI_MAX_RANK], tail[CI_MAX_RANK];
  ci_plane plane; /* of float32, see plane.h: of the largest over three axes a slice */
  ci_windows windows;
  bool transposed; /* averages of float32 with planes as lanes */
  bool whole; /* a window is the plane */
  ci_largest largest; /* of MaxPool */
} nd_plan;

typedef struct nd_window { /* taps lo..hi of each axis are in the image, from the corner `start` */
  int64_t at[CI_MAX_RANK], start[CI_MAX_RANK], lo[CI_MAX_RANK], hi[CI_MAX_RANK], padded[CI_MAX_RANK];
} nd_window;

enum { ND_PART_WORK = 1 << 14, ND_MOST_SCRATCH = 1 << 26 /* numbers */ };
static const int64_t nd_limit = (int64_t)1 << 31;

/* ---- the positions of windows ---- */

/* A list attribute of `count` numbers in [least, 2^31); `fallback` where it is absent. */
static ci_status nd_list(ci_kernel *k, const char *name, int count, int64_t least, int64_t fallback, int64_t *to) {
  const int64_t *values = NULL;
  int found = -1;
  CI_TRY(ci_k_attr_ints(k, name, &values, &found));
  if (found < 0 && fallback < least) return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute %s is absent", name);
  if (found > 0 && found != count) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s are %d numbers, expected %d numbers", name, found, count);
  }
  for (int i = 0; i < count; i++) {
    to[i] = found > 0 ? values[i] : fallback;
    if (to[i] >= least && to[i] < nd_limit) continue;
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s has %lld, expected %lld or more", name, (long long)to[i],
                     (long long)least);
  }
  return CI_OK;
}

static ci_status nd_axis(ci_kernel *k, nd_plan *p, int i, ci_span automatic, bool ceiling) {
  const int64_t extent = (p->kernel[i] - 1) * p->dilation[i] + 1, size = p->x[i], step = p->stride[i];
  if (ci_span_is(automatic, "SAME_UPPER") || ci_span_is(automatic, "SAME_LOWER")) {
    p->y[i] = size / step + (size % step != 0);
    const int64_t total = p->y[i] > 0 ? (p->y[i] - 1) * step + extent - size : 0;
    const int64_t both = total > 0 ? total : 0;
    p->head[i] = ci_span_is(automatic, "SAME_LOWER") ? (both + 1) / 2 : both / 2;
    p->tail[i] = both - p->head[i];
    return CI_OK;
  }
  if (!ci_span_is(automatic, "NOTSET")) p->head[i] = p->tail[i] = 0;
  const int64_t remaining = size + p->head[i] + p->tail[i] - extent;
  const bool part = ceiling && remaining < 0 && remaining > -step; /* of one window are inside */
  if (remaining < 0 && !part) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "a window of %lld does not fit axis %d of size %lld padded by %lld and %lld", (long long)extent,
                     i + 2, (long long)size, (long long)p->head[i], (long long)p->tail[i]);
  }
  p->y[i] = part ? 1 : remaining / step + 1 + (ceiling && remaining % step != 0);
  if (ceiling && (p->y[i] - 1) * step >= size + p->head[i]) p->y[i]--;
  return CI_OK;
}

static ci_status pool_attributes(ci_kernel *k, nd_plan *p) {
  int64_t pads[2 * CI_MAX_RANK];
  CI_TRY(nd_list(k, "kernel_shape", p->axes, 1, 0, p->kernel));
  CI_TRY(nd_list(k, "strides", p->axes, 1, 1, p->stride));
  CI_TRY(nd_list(k, "dilations", p->axes, 1, 1, p->dilation));
  CI_TRY(nd_list(k, "pads", 2 * p->axes, 0, 0, pads));
  memcpy(p->head, pads, (size_t)p->axes * sizeof *pads);
  memcpy(p->tail, pads + p->axes, (size_t)p->axes * sizeof *pads);
  return CI_OK;
}

static ci_status nd_geometry(ci_kernel *k, nd_plan *p) {
  ci_span automatic;
  int64_t ceiling;
  CI_TRY(ci_k_attr_s(k, "auto_pad", "NOTSET", &automatic));
  CI_TRY(ci_k_attr_i(k, "ceil_mode", 0, &ceiling));
  if (!ci_span_is(automatic, "NOTSET") && !ci_span_is(automatic, "VALID") && !ci_span_is(automatic, "SAME_UPPER") &&
      !ci_span_is(automatic, "SAME_LOWER")) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "auto_pad is '%.*s', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER",
                     (int)(automatic.length < 40 ? automatic.length : 40), automatic.data);
  }
  CI_TRY(pool_attributes(k, p));
  for (int i = 0; i < p->axes; i++) CI_TRY(nd_axis(k, p, i, automatic, ceiling != 0));
  return CI_OK;
}

static ci_status nd_plan_make(ci_kernel *k, const int64_t *dims, int rank, bool whole, nd_plan **plan) {
  if (rank < (whole ? 2 : 3)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "x has rank %d, expected n, c and %d or more axes", rank, whole ? 0 : 1);
  }
  for (int i = 2; i < rank; i++) { /* next to an axis of size 0 others may be of any size */
    if (dims[i] < nd_limit) continue;
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "axis %d of x has %lld elements, expected fewer than 2^31", i,
                     (long long)dims[i]);
  }
  nd_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->axes = rank - 2;
  p->p = 1;
  for (int i = 0; i < p->axes; i++) {
    p->x[i] = p->kernel[i] = dims[i + 2];
    p->y[i] = p->stride[i] = p->dilation[i] = 1;
  }
  if (!whole) CI_TRY(nd_geometry(k, p));
  if (p->axes == 0) p->axes = 1, p->x[0] = p->kernel[0] = p->y[0] = p->stride[0] = p->dilation[0] = 1;
  p->planes = ci_shape_count(dims, 0, 2);
  p->area = 1;
  for (int i = 0; i < p->axes && p->area < nd_limit; i++) p->area *= p->kernel[i] < p->x[i] ? p->kernel[i] : p->x[i];
  *plan = p;
  return CI_OK;
}

/* ceil(a / b) for b > 0, not below 0 */
static int64_t nd_ceil(int64_t a, int64_t b) { return a <= 0 ? 0 : b == 1 ? a : (a - 1) / b + 1; }

static void nd_position(const nd_plan *p, nd_window *w, int i) {
  const int64_t kernel = p->kernel[i], start = w->at[i] * p->stride[i] - p->head[i];
  const int64_t end = nd_ceil(p->x[i] - start, p->dilation[i]);
  const int64_t padded = nd_ceil(p->x[i] + p->tail[i] - start, p->dilation[i]);
  w->start[i] = start;
  w->lo[i] = nd_ceil(-start, p->dilation[i]);
  w->hi[i] = end < kernel ? end : kernel;
  if (w->hi[i] < w->lo[i]) w->hi[i] = w->lo[i];
  w->padded[i] = padded < kernel ? padded : kernel;
}

static void nd_begin(const nd_plan *p, nd_window *w) {
  for (int i = 0; i < p->axes; i++) {
    w->at[i] = 0;
    nd_position(p, w, i);
  }
}

static void nd_next(const nd_plan *p, nd_window *w) {
  for (int i = p->axes - 1; i >= 0; i--) {
    w->at[i] = w->at[i] + 1 < p->y[i] ? w->at[i] + 1 : 0;
    nd_position(p, w, i);
    if (w->at[i] != 0) return;
  }
}

static double nd_divide_by(const nd_plan *p, const nd_window *w) {
  double count = 1.0;
  for (int i = 0; i < p->axes && p->divisor != ND_ONE; i++) {
    count = count * (double)(p->divisor == ND_PADDED ? w->padded[i] : w->hi[i] - w->lo[i]);
  }
  return count;
}

/* ---- one window: its elements in row-major order, in double ---- */

CI_INLINE double nd_load(int32_t dtype, const void *x, int64_t i) {
  switch (dtype) {
    case CI_FLOAT: return (double)((const float *)x)[i];
    case CI_DOUBLE: return ((const double *)x)[i];
    case CI_INT8: return (double)((const int8_t *)x)[i];
    default: return (double)((const uint8_t *)x)[i];
  }
}

typedef struct nd_result {
  double value; /* most, sum, or the share that is spread */
  int64_t index;
} nd_result;

CI_INLINE void nd_term(nd_kind kind, int32_t dtype, const nd_plan *p, void *x, int64_t i, nd_result *r) {
  if (CI_LARGE && kind == ND_LIST) {
    ((int32_t *)x)[++r->index] = (int32_t)i;
    return;
  }
  if (kind == ND_SPREAD) {
    if (dtype == CI_FLOAT) ((float *)x)[i] = (float)((double)((float *)x)[i] + r->value);
    if (dtype == CI_DOUBLE) ((double *)x)[i] = ((double *)x)[i] + r->value;
    return;
  }
  const double v = nd_load(dtype, x, i), size = fabs(v);
  if (kind == ND_MAX) {
    if (r->index < 0 || v > r->value || (v != v && r->value == r->value)) {
      r->value = v;
      r->index = i;
    }
  } else if (kind == ND_AVERAGE) {
    r->value = r->value + v;
  } else {
    r->value = r->value + (p->p == 1 ? size : p->p == 2 ? v * v : ci_pow(size, (double)p->p));
  }
}

CI_INLINE void nd_walk(nd_kind kind, int32_t dtype, const nd_plan *p, const nd_window *w, void *x, nd_result *r) {
  const int last = p->axes - 1;
  int64_t tap[CI_MAX_RANK];
  for (int i = 0; i < last; i++) {
    tap[i] = w->lo[i];
    if (w->lo[i] >= w->hi[i]) return;
  }
  for (int axis = 0; axis >= 0;) {
    int64_t offset = 0;
    for (int i = 0; i < last; i++) offset = (offset + w->start[i] + tap[i] * p->dilation[i]) * p->x[i + 1];
    offset += w->start[last];
    for (int64_t t = w->lo[last]; t < w->hi[last]; t++) nd_term(kind, dtype, p, x, offset + t * p->dilation[last], r);
    for (axis = last - 1; axis >= 0; axis--) {
      if (++tap[axis] < w->hi[axis]) break;
      tap[axis] = w->lo[axis];
    }
  }
}

CI_OUTLINE void nd_any(nd_kind kind, int32_t dtype, const nd_plan *p, const nd_window *w, void *x, nd_result *r) {
  if (CI_LARGE && kind == ND_MAX && dtype == CI_FLOAT) {
    nd_walk(ND_MAX, CI_FLOAT, p, w, x, r);
  } else if (CI_LARGE && kind == ND_AVERAGE && dtype == CI_FLOAT) {
    nd_walk(ND_AVERAGE, CI_FLOAT, p, w, x, r);
  } else {
    nd_walk(kind, dtype, p, w, x, r);
  }
}

static void nd_store(int32_t dtype, void *y, int64_t i, double v) {
  switch (dtype) {
    case CI_FLOAT: ((float *)y)[i] = (float)v; break;
    case CI_DOUBLE: ((double *)y)[i] = v; break;
    case CI_INT8: ((int8_t *)y)[i] = (int8_t)v; break;
    default: ((uint8_t *)y)[i] = (uint8_t)v; break;
  }
}

/* ---- run ---- */

typedef struct nd_job {
  ci_kernel *k;
  const nd_plan *p;
  nd_kind kind;
} nd_job;

static double nd_lowest(int32_t dtype) { return dtype == CI_INT8 ? -128.0 : dtype == CI_UINT8 ? 0.0 : -INFINITY; }

static int64_t nd_column_major(const nd_plan *p, int64_t index) {
  int64_t result = 0, stride = p->x_count;
  for (int i = p->axes - 1; i >= 0; i--) {
    stride /= p->x[i];
    result += index % p->x[i] * stride;
    index /= p->x[i];
  }
  return result;
}

static void nd_forward_planes(void *argument, int64_t begin, int64_t end, int thread) {
  const nd_job *job = argument;
  const nd_plan *p = job->p;
  const int32_t dtype = job->k->out[0]->dtype;
  int64_t *indices = job->k->n_out > 1 ? job->k->out[1]->data : NULL;
  const size_t plane_bytes = (size_t)p->x_count * ci_dtype_size(dtype);
  nd_window w;
  (void)thread;
  for (int64_t plane = begin; plane < end; plane++) {
    char *x = (char *)job->k->in[0]->data + (size_t)plane * plane_bytes;
    nd_begin(p, &w);
    for (int64_t i = plane * p->y_count; i < (plane + 1) * p->y_count; i++, nd_next(p, &w)) {
      nd_result r = {job->kind == ND_MAX ? nd_lowest(dtype) : 0.0, -1};
      nd_any(job->kind, dtype, p, &w, x, &r);
      if (job->kind == ND_AVERAGE) r.value = r.value / nd_divide_by(p, &w);
      if (job->kind == ND_LP && p->p == 2) r.value = sqrt(r.value);
      if (job->kind == ND_LP && p->p > 2) r.value = ci_pow(r.value, 1.0 / (double)p->p);
      nd_store(dtype, job->k->out[0]->data, i, r.value);
      if (indices == NULL) continue;
      if (r.index >= 0 && p->column_major) r.index = nd_column_major(p, r.index);
      indices[i] = r.index < 0 ? -1 : r.index + plane * p->x_count;
    }
  }
}

/* The largest of `count` planes of float32, which are contiguous. Planes whose windows fill them are treated as one
 * tall plane. */
static void nd_largest_slices(const nd_plan *p, const struct ci_isa *isa, const float *x, float *y, int64_t count,
                              float *copy) {
  const int64_t size = p->plane.height * p->plane.width;
  ci_windows windows = p->windows;
  const bool filled =
      !p->plane.padded && windows.rows * windows.x_down == size && windows.tap_down * windows.kh <= windows.x_down;
  const int64_t together = filled ? count : 1, results = windows.rows * windows.columns;
  windows.rows *= together;
  for (int64_t i = 0; i < count; i += together) {
    windows.x = ci_plane_padded(&p->plane, isa, x + i * size, -INFINITY, copy);
    windows.y = y + i * results;
    isa->linear->largest_plane(&windows);
  }
}

/* float32 over one or two axes: a plane with its padding in scratch, windows of a row are lanes. */
static void nd_largest_planes(void *argument, int64_t begin, int64_t end, int thread) {
  const nd_job *job = argument;
  const nd_plan *p = job->p;
  const float *x = (const float *)job->k->in[0]->data + begin * p->x_count;
  float *copy = (float *)job->k->scratch + (size_t)thread * (p->plane.bytes / sizeof(float));
  nd_largest_slices(p, job->k->isa, x, (float *)job->k->out[0]->data + begin * p->y_count, end - begin, copy);
}

/* Over three: of every slice, then of the slices' results, which keeps the order of equal numbers. */
static void nd_largest_volumes(void *argument, int64_t begin, int64_t end, int thread) {
  const nd_job *job = argument;
  const nd_plan *p = job->p;
  const int64_t size = p->windows.rows * p->windows.columns;
  float *copy =
      (float *)(void *)((char *)job->k->scratch + (size_t)thread * (job->k->scratch_bytes / (size_t)job->k->threads));
  float *slices = copy + p->plane.bytes / sizeof(float);
  nd_window w;
  for (int64_t plane = begin; plane < end; plane++) {
    ci_windows deep = {.x_right = 1, .tap_right = 1, .kw = 1, .rows = 1, .columns = size};
    deep.tap_down = (ptrdiff_t)(p->dilation[0] * size);
    deep.y = (float *)job->k->out[0]->data + plane * p->y_count;
    nd_largest_slices(p, job->k->isa, (const float *)job->k->in[0]->data + plane * p->x_count, slices, p->x[0], copy);
    for (w.at[0] = 0; w.at[0] < p->y[0]; w.at[0]++, deep.y += size) {
      nd_position(p, &w, 0);
      deep.kh = w.hi[0] - w.lo[0];
      deep.x_down = (ptrdiff_t)deep.kh * deep.tap_down; /* windows share no rows */
      deep.x = slices + (deep.kh > 0 ? (w.start[0] + w.lo[0] * p->dilation[0]) * size : 0);
      job->k->isa->linear->largest_plane(&deep);
    }
  }
}

/* The same of entire planes: of numbers that are equal only zeros differ, so that the first one is looked for. */
static void nd_largest_whole(void *argument, int64_t begin, int64_t end, int thread) {
  const nd_job *job = argument;
  const int64_t n = job->p->x_count;
  const float *x = (const float *)job->k->in[0]->data + begin * n;
  float *y = job->k->out[0]->data;
  (void)thread;
  for (int64_t plane = begin; plane < end; plane++, x += n) {
    int64_t first = 0;
    y[plane] = job->k->isa->math->row[CI_REDUCE_MAX](x, n);
    if (y[plane] != 0.0f) continue;
    while (x[first] != 0.0f) first++;
    y[plane] = x[first];
  }
}

/* The same for averages: padding adds +0, which changes no sum that began at +0, and is not counted. */
static void nd_average_planes(void *argument, int64_t begin, int64_t end, int thread) {
  const nd_job *job = argument;
  const nd_plan *p = job->p;
  const struct ci_isa *isa = job->k->isa;
  const float *x = (const float *)job->k->in[0]->data + begin * p->x_count;
  float *y = (float *)job->k->out[0]->data + begin * p->y_count;
  if (p->whole) {
    isa->linear->average_whole(y, x, end - begin, p->x_count);
    return;
  }
  float *copy = (float *)job->k->scratch + (size_t)thread * (p->plane.bytes / sizeof(float));
  ci_windows windows = p->windows;
  for (int64_t plane = begin; plane < end; plane++, x += p->x_count, y += p->y_count) {
    windows.x = ci_plane_padded(&p->plane, isa, x, 0.0f, copy);
    windows.y = y;
    isa->linear->average_plane(&windows);
  }
}

#if CI_LARGE
/* Indices of a window's elements: that of the first one, the others relative to it. Those of the window before are
 * reused for one of the same taps. */
typedef struct nd_taps {
  int64_t count;
  nd_window like;
  int32_t *offset;
} nd_taps;

static int64_t nd_list_taps(const nd_plan *p, const nd_window *w, nd_taps *taps) {
  const size_t bytes = (size_t)p->axes * sizeof *w->lo;
  int64_t first = 0;
  for (int i = 0; i < p->axes; i++) first = first * p->x[i] + w->start[i] + w->lo[i] * p->dilation[i];
  if (taps->count < 0 || memcmp(taps->like.lo, w->lo, bytes) != 0 || memcmp(taps->like.hi, w->hi, bytes) != 0) {
    nd_result r = {0.0, -1};
    nd_any(ND_LIST, CI_FLOAT, p, w, taps->offset, &r);
    taps->count = r.index + 1;
    taps->like = *w;
    for (int64_t i = 0; i < taps->count; i++) taps->offset[i] = (taps->offset[i] - (int32_t)first) * CI_PLANE_LANES;
  }
  return taps->count > 0 ? first : 0;
}

/* Averages of float32 where windows are not contiguous lanes: groups of planes are transposed, to be the lanes. */
static void nd_average_transposed(void *argument, int64_t begin, int64_t end, int thread) {
  enum { lanes = CI_PLANE_LANES };
  const nd_job *job = argument;
  const nd_plan *p = job->p;
  const struct ci_isa_linear *linear = job->k->isa->linear;
  float *x =
      (float *)(void *)((char *)job->k->scratch + (size_t)thread * (job->k->scratch_bytes / (size_t)job->k->threads));
  float *y = x + p->x_count * lanes;
  nd_taps taps = {-1, {.at = {0}}, (int32_t *)(void *)(y + p->y_count * lanes)};
  nd_window w;
  memset(x, 0, (size_t)(p->x_count * lanes) * sizeof *x);
  for (int64_t plane = begin * lanes; plane < end * lanes && plane < p->planes; plane += lanes) {
    const int64_t count = p->planes - plane < lanes ? p->planes - plane : lanes;
    const float *from = (const float *)job->k->in[0]->data + plane * p->x_count;
    linear->transpose(x, lanes, from, (ptrdiff_t)p->x_count, count, p->x_count);
    nd_begin(p, &w);
    for (int64_t i = 0; i < p->y_count; i++, nd_next(p, &w)) {
      const int64_t first = nd_list_taps(p, &w, &taps);
      linear->average_transposed(y + i * lanes, x + first * lanes, taps.offset, taps.count, nd_divide_by(p, &w));
    }
    float *to = (float *)job->k->out[0]->data + plane * p->y_count;
    linear->transpose(to, (ptrdiff_t)p->y_count, y, lanes, p->y_count, count);
  }
}
#endif

static void nd_spread_planes(void *argument, int64_t begin, int64_t end, int thread) {
  const nd_job *job = argument;
  const nd_plan *p = job->p;
  const ci_value *dy = job->k->in[1];
  const size_t plane_bytes = (size_t)p->x_count * ci_dtype_size(dy->dtype);
  nd_window w;
  (void)thread;
  for (int64_t plane = begin; plane < end; plane++) {
    char *dx = (char *)job->k->out[0]->data + (size_t)plane * plane_bytes;
    memset(dx, 0, plane_bytes);
    nd_begin(p, &w);
    for (int64_t i = plane * p->y_count; i < (plane + 1) * p->y_count; i++, nd_next(p, &w)) {
      nd_result r = {nd_load(dy->dtype, dy->data, i) / nd_divide_by(p, &w), -1};
      nd_any(ND_SPREAD, dy->dtype, p, &w, dx, &r);
    }
  }
}

static ci_status nd_run(ci_kernel *k, nd_kind kind) {
  const nd_plan *p = k->private_memory;
  nd_job job = {k, p, kind};
  if (k->out[0]->count == 0) return CI_OK;
  const int64_t area = p->area > 0 ? p->area : 1;
  const int64_t work = p->y_count > ND_PART_WORK / area ? ND_PART_WORK : p->y_count * area;
  ci_part_fn planes = kind == ND_SPREAD ? nd_spread_planes : nd_forward_planes;
#if CI_LARGE
  if (kind == ND_AVERAGE && p->transposed) {
    const int64_t groups = (p->planes - 1) / CI_PLANE_LANES + 1;
    ci_k_parallel(k, groups, ND_PART_WORK / (work * CI_PLANE_LANES) + 1, nd_average_transposed, &job);
    return CI_OK;
  }
#endif
  if (kind == ND_MAX && p->plane.used) planes = CI_LARGE && p->axes > 2 ? nd_largest_volumes : nd_largest_planes;
  if (kind == ND_MAX && p->whole && k->out[0]->dtype == CI_FLOAT) planes = nd_largest_whole;
  if (kind == ND_AVERAGE && k->out[0]->dtype == CI_FLOAT && (p->whole || p->plane.used)) planes = nd_average_planes;
  ci_k_parallel(k, p->planes, ND_PART_WORK / (work > 0 ? work : 1) + 1, planes, &job);
  return CI_OK;
}

ci_status ci_run_max_pool(ci_kernel *k) { return nd_run(k, ND_MAX); }
ci_status ci_run_average_pool(ci_kernel *k) { return nd_run(k, ND_AVERAGE); }
ci_status ci_run_lp_pool(ci_kernel *k) { return nd_run(k, ND_LP); }
ci_status ci_run_average_pool_grad(ci_kernel *k) { return nd_run(k, ND_SPREAD); }

/* ---- prepare ---- */

static ci_status nd_type(ci_kernel *k, int32_t dtype, bool bytes) {
  if (dtype == CI_FLOAT || dtype == CI_DOUBLE || (bytes && (dtype == CI_INT8 || dtype == CI_UINT8))) return CI_OK;
  return ci_k_fail(k, CI_UNIMPLEMENTED, "there is no kernel for %s, only for float32%s", ci_dtype_name(dtype),
                   bytes ? ", float64, int8 and uint8" : " and float64");
}

static void nd_counts(nd_plan *p, int64_t x_count, int64_t y_count) {
  p->x_count = p->planes > 0 ? x_count / p->planes : 0;
  p->y_count = p->planes > 0 ? y_count / p->planes : 0;
}

static ci_status nd_forward_prepare(ci_kernel *k, bool bytes, bool whole, nd_plan **plan) {
  const ci_value *x = k->in[0];
  int64_t dims[CI_MAX_RANK];
  CI_TRY(nd_type(k, x->dtype, bytes));
  CI_TRY(nd_plan_make(k, x->dims, x->rank, whole, plan));
  for (int i = 0; i < x->rank; i++) dims[i] = i < 2 ? x->dims[i] : (*plan)->y[i - 2];
  CI_TRY(ci_k_out(k, 0, x->dtype, x->rank, dims));
  nd_counts(*plan, x->count, k->out[0]->count);
  return CI_OK;
}

/* slices: of the axes after the first; their result is stored after the plane. */
static void nd_plan_plane(ci_kernel *k, nd_plan *p, bool slices) {
  const int from = slices ? 1 : 0;
  ci_nd g = {.rank = p->axes - from};
  const size_t bytes = (size_t)g.rank * sizeof *g.size;
  memcpy(g.size, p->x + from, bytes);
  memcpy(g.kernel, p->kernel + from, bytes);
  memcpy(g.stride, p->stride + from, bytes);
  memcpy(g.dilation, p->dilation + from, bytes);
  memcpy(g.before, p->head + from, bytes);
  memcpy(g.out, p->y + from, bytes);
  p->plane.used = ci_plane_plan(&p->plane, &g, false, &p->windows);
  int64_t kept = slices ? p->windows.rows * p->windows.columns : 0;
  if (slices && p->x[0] > 0 && kept > ND_MOST_SCRATCH / p->x[0]) p->plane.used = false;
  if (!p->plane.used) return;
  kept *= p->x[0];
  k->scratch_bytes = (size_t)k->threads * (p->plane.bytes + ci_round_up((size_t)kept * sizeof(float), 64));
}

/* Lets a step before this one do its work. */
static void nd_plan_largest(ci_kernel *k, nd_plan *p) {
  const ci_plane *plane = &p->plane;
  const ci_windows *w = &p->windows;
  if (!plane->used || plane->padded || w->tap_right != 1 || w->tap_down != plane->row) return;
  p->largest = (ci_largest){.height = w->kh,
                            .width = w->kw,
                            .down = w->x_down / plane->row,
                            .right = w->x_right,
                            .rows = w->rows,
                            .columns = w->columns};
  if (w->kh <= p->largest.down && w->kw <= w->x_right) k->largest = &p->largest;
}

ci_status ci_prepare_max_pool(ci_kernel *k) {
  nd_plan *p;
  int64_t order;
  CI_TRY(ci_k_attr_i(k, "storage_order", 0, &order));
  CI_TRY(nd_forward_prepare(k, true, false, &p));
  p->column_major = order != 0;
  if (k->n_out > 1) return ci_k_out_like(k, 1, CI_INT64, k->out[0]);
  if (k->out[0]->dtype != CI_FLOAT || k->out[0]->count == 0) return CI_OK;
  nd_plan_plane(k, p, CI_LARGE && p->axes == 3);
  if (p->axes < 3) nd_plan_largest(k, p);
  return CI_OK;
}

/* How many taps count along each axis, for every window position. */
static ci_status nd_plan_counts(ci_kernel *k, nd_plan *p) {
  enum { slack = 16 }; /* see average_plane */
  const int last = p->axes - 1;
  double *to = ci_k_private_more(k, (size_t)(p->windows.rows + p->windows.columns + slack) * sizeof *to);
  if (to == NULL) return ci_k_no_memory(k);
  nd_window w = {.at = {0}};
  p->windows.down = to;
  p->windows.across = to + p->windows.rows;
  *to = 1.0;
  for (int i = 0; i <= last; i++) {
    if (i == last) to += p->windows.rows - (last > 0 ? p->y[0] : 0);
    for (w.at[i] = 0; w.at[i] < p->y[i]; w.at[i]++) {
      nd_position(p, &w, i);
      *to++ = (double)(p->divisor == ND_PADDED ? w.padded[i] : w.hi[i] - w.lo[i]);
    }
  }
  for (int i = 0; i < slack; i++) *to++ = 1.0;
  return CI_OK;
}

/* Scratch of nd_average_transposed: planes and results as lanes, offsets of a window. */
static void nd_plan_transposed(ci_kernel *k, nd_plan *p) {
  const int64_t most = ND_MOST_SCRATCH / CI_PLANE_LANES / 2;
  if (p->x_count < 1 || p->x_count > most || p->y_count > most) return;
  const int64_t numbers = (p->x_count + p->y_count) * CI_PLANE_LANES + p->area;
  k->scratch_bytes = (size_t)k->threads * ci_round_up((size_t)numbers * sizeof(float), 64);
  p->transposed = true;
}

ci_status ci_prepare_average_pool(ci_kernel *k) {
  enum { steps = CI_LARGE ? 2 : 4 }; /* see average_plane */
  nd_plan *p;
  int64_t padding;
  CI_TRY(ci_k_attr_i(k, "count_include_pad", 0, &padding));
  CI_TRY(nd_forward_prepare(k, false, false, &p));
  p->divisor = padding != 0 ? ND_PADDED : ND_WINDOW;
  if (k->out[0]->dtype != CI_FLOAT || k->out[0]->count == 0) return CI_OK;
  if (p->stride[p->axes - 1] <= steps) nd_plan_plane(k, p, false);
  if (CI_LARGE && !p->plane.used) nd_plan_transposed(k, p);
  return p->plane.used ? nd_plan_counts(k, p) : CI_OK;
}

static ci_status nd_lp_prepare(ci_kernel *k, bool whole) {
  nd_plan *p;
  int64_t power;
  CI_TRY(ci_k_attr_i(k, "p", 2, &power));
  if (power < 1 || power >= nd_limit) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute p is %lld, expected 1 or more", (long long)power);
  }
  CI_TRY(nd_forward_prepare(k, false, whole, &p));
  p->p = power;
  return CI_OK;
}

ci_status ci_prepare_lp_pool(ci_kernel *k) { return nd_lp_prepare(k, false); }
ci_status ci_prepare_global_lp_pool(ci_kernel *k) { return nd_lp_prepare(k, true); }

ci_status ci_prepare_global_pool(ci_kernel *k) {
  nd_plan *p;
  CI_TRY(nd_forward_prepare(k, false, true, &p));
  p->whole = true;
  return CI_OK;
}

ci_status ci_prepare_average_pool_grad(ci_kernel *k) {
  const ci_value *dy = k->in[1];
  int64_t dims[CI_MAX_RANK];
  int rank = 0;
  ci_span divisor;
  nd_plan *p;
  char str[160];
  CI_TRY(nd_type(k, dy->dtype, false));
  CI_TRY(ci_k_known_ints(k, 0, dims, CI_MAX_RANK, &rank));
  CI_TRY(ci_k_attr_s(k, "divisor", "window", &divisor));
  CI_TRY(ci_k_out(k, 0, dy->dtype, rank, dims));
  CI_TRY(nd_plan_make(k, dims, rank, false, &p));
  p->divisor = ci_span_is(divisor, "padded") ? ND_PADDED : ci_span_is(divisor, "one") ? ND_ONE : ND_WINDOW;
  if (p->divisor == ND_WINDOW && !ci_span_is(divisor, "window")) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute divisor is none of window, padded and one");
  }
  bool same = dy->rank == rank;
  for (int i = 0; i < rank && same; i++) same = dy->dims[i] == (i < 2 ? dims[i] : p->y[i - 2]);
  if (!same) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "dy is %s, expected another shape from the image and the window",
                     ci_value_describe(dy, str, sizeof str));
  }
  nd_counts(p, k->out[0]->count, dy->count);
  return CI_OK;
}

/* ---- MaxUnpool: indices count in the shape that the attributes give, which starts the output ---- */

ci_status ci_prepare_max_unpool(ci_kernel *k) {
  const ci_value *x = k->in[0], *indices = k->in[1];
  int64_t requested[CI_MAX_RANK];
  int count = 0;
  CI_TRY(nd_type(k, x->dtype, false));
  if (x->rank < 3 || indices->dtype != CI_INT64 || !ci_shape_same(x->rank, x->dims, indices->rank, indices->dims)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "x and indices (int64) must have one shape: n, c and more axes");
  }
  nd_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->axes = x->rank - 2;
  CI_TRY(pool_attributes(k, p));
  int64_t dims[CI_MAX_RANK] = {x->dims[0], x->dims[1]};
  for (int i = 0; i < p->axes; i++) {
    if (x->dims[i + 2] >= nd_limit) return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "x is too large");
    dims[i + 2] = (x->dims[i + 2] - 1) * p->stride[i] + p->kernel[i] - p->head[i] - p->tail[i];
  }
  CI_TRY(ci_k_out(k, 0, x->dtype, x->rank, dims)); /* refuses negative sizes */
  p->x_count = k->out[0]->count;
  memcpy(p->x, dims, (size_t)x->rank * sizeof *dims);
  if (k->n_in < 3 || k->in[2] == NULL) return CI_OK;
  CI_TRY(ci_k_known_ints(k, 2, requested, CI_MAX_RANK, &count));
  bool fits = count == x->rank;
  for (int i = 0; i < count && fits; i++) fits = requested[i] >= dims[i];
  if (!fits) return ci_k_fail(k, CI_INVALID_ARGUMENT, "output_shape is smaller than the attributes' shape");
  return ci_k_out(k, 0, x->dtype, x->rank, requested);
}

ci_status ci_run_max_unpool(ci_kernel *k) {
  const nd_plan *p = k->private_memory;
  const ci_value *x = k->in[0];
  const int64_t *indices = k->in[1]->data;
  if (k->out[0]->bytes > 0) memset(k->out[0]->data, 0, k->out[0]->bytes);
  for (int64_t i = 0; i < x->count; i++) {
    if (indices[i] < 0 || indices[i] >= p->x_count) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "index %lld is outside [0, %lld), the output's elements",
                       (long long)indices[i], (long long)p->x_count);
    }
    int64_t rest = indices[i], to = 0, stride = 1;
    for (int a = x->rank - 1; a >= 0; a--) {
      to += rest % p->x[a] * stride;
      rest /= p->x[a];
      stride *= k->out[0]->dims[a];
    }
    nd_store(x->dtype, k->out[0]->data, to, nd_load(x->dtype, x->data, i));
  }
  return CI_OK;
}
#endif
