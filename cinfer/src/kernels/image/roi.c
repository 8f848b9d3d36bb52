/* roi.c - RoiAlign and its gradient by x, MaxRoiPool; in double (docs/numerics.md). */
#include <math.h>

#include "../ci_kernel.h"
#include "../arithmetic/integers.h"
#include "../../math/scalar_math.h"

typedef struct roi_plan {
  bool maximum, half, grad;
  int64_t channels, h, w, oh, ow, ratio, rois;
  double scale;
} roi_plan;

#define ROI_MOST_SAMPLES ((int64_t)1 << 22) /* of a bin: a region far beyond the image would ask for any number */

typedef struct roi_corners { /* the four elements of a sample, and their weights */
  int64_t at[4];
  double weight[4];
} roi_corners;

static double roi_load(const ci_value *v, int64_t i) {
  return v->dtype == CI_FLOAT ? (double)((const float *)v->data)[i] : ((const double *)v->data)[i];
}

static void roi_store(const ci_value *v, int64_t i, double x) {
  if (v->dtype == CI_FLOAT) {
    ((float *)v->data)[i] = (float)x;
  } else {
    ((double *)v->data)[i] = x;
  }
}

static ci_status roi_prepare(ci_kernel *k, bool grad) {
  const ci_value *x = k->in[0], *rois = k->in[1], *batch = k->in[2];
  ci_span mode, coordinates;
  int64_t oh, ow, ratio;
  double scale;
  CI_TRY(ci_k_attr_s(k, "mode", "avg", &mode));
  CI_TRY(ci_k_attr_s(k, "coordinate_transformation_mode", "half_pixel", &coordinates));
  CI_TRY(ci_k_attr_i(k, "output_height", 1, &oh));
  CI_TRY(ci_k_attr_i(k, "output_width", 1, &ow));
  CI_TRY(ci_k_attr_i(k, "sampling_ratio", 0, &ratio));
  CI_TRY(ci_k_attr_f(k, "spatial_scale", 1.0, &scale));
  if ((x->dtype != CI_FLOAT && x->dtype != CI_DOUBLE) || rois->dtype != x->dtype) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "there is no kernel for %s by %s, only for one float type",
                     ci_dtype_name(x->dtype), ci_dtype_name(rois->dtype));
  }
  if (x->rank != 4 || rois->rank != 2 || rois->dims[1] != 4 || !ci_is_integer(batch->dtype) || batch->rank != 1 ||
      batch->dims[0] != rois->dims[0]) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "expected x (n, c, h, w), rois (r, 4) and integer batch_indices (r)");
  }
  if (oh < 1 || ow < 1 || oh >= 1 << 24 || ow >= 1 << 24 || ratio < 0 || ratio >= 1 << 16) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "output_height %lld, output_width %lld or sampling_ratio %lld is out of range", (long long)oh,
                     (long long)ow, (long long)ratio);
  }
  const bool maximum = ci_span_is(mode, "max"), half = ci_span_is(coordinates, "half_pixel");
  if ((!maximum && !ci_span_is(mode, "avg")) || (!half && !ci_span_is(coordinates, "output_half_pixel"))) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "mode is none of avg and max, or coordinate_transformation_mode none of "
                     "half_pixel and output_half_pixel");
  }
  roi_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  *p = (roi_plan){maximum, half, grad, x->dims[1], x->dims[2], x->dims[3], oh, ow, ratio, rois->dims[0], scale};
  const int64_t dims[4] = {p->rois, p->channels, oh, ow};
  if (!grad) return ci_k_out(k, 0, x->dtype, 4, dims);
  const ci_value *dy = k->in[3];
  if (dy->dtype != x->dtype || !ci_shape_same(dy->rank, dy->dims, 4, dims)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "dy must have the result's type and shape");
  }
  return ci_k_out_like(k, 0, x->dtype, x);
}

ci_status ci_prepare_roi_align(ci_kernel *k) { return roi_prepare(k, false); }
ci_status ci_prepare_roi_align_grad(ci_kernel *k) { return roi_prepare(k, true); }

/* Below and above neighbour of a coordinate and the part of the upper one. */
static void roi_side(double v, int64_t n, int64_t *low, int64_t *high, double *part) {
  if (!(v > 0.0)) v = 0.0;
  *low = (int64_t)v;
  *high = *low + 1;
  if (*low >= n - 1) *low = *high = n - 1, v = (double)*low;
  *part = v - (double)*low;
}

static bool roi_sample(const roi_plan *p, double y, double x, roi_corners *s) {
  int64_t y0, y1, x0, x1;
  double fy, fx;
  if (!(y >= -1.0 && y <= (double)p->h && x >= -1.0 && x <= (double)p->w)) return false;
  roi_side(y, p->h, &y0, &y1, &fy);
  roi_side(x, p->w, &x0, &x1, &fx);
  s->at[0] = y0 * p->w + x0, s->weight[0] = (1.0 - fy) * (1.0 - fx);
  s->at[1] = y0 * p->w + x1, s->weight[1] = (1.0 - fy) * fx;
  s->at[2] = y1 * p->w + x0, s->weight[2] = fy * (1.0 - fx);
  s->at[3] = y1 * p->w + x1, s->weight[3] = fy * fx;
  return true;
}

typedef struct roi_box {
  double top, left, bin_h, bin_w;
  int64_t rows, columns; /* samples of a bin */
} roi_box;

static roi_box roi_box_of(const roi_plan *p, const ci_value *rois, int64_t r) {
  const double offset = p->half ? 0.5 : 0.0;
  double c[4];
  for (int i = 0; i < 4; i++) c[i] = roi_load(rois, 4 * r + i) * p->scale - offset;
  double w = c[2] - c[0], h = c[3] - c[1];
  if (!p->half && !(w > 1.0)) w = 1.0;
  if (!p->half && !(h > 1.0)) h = 1.0;
  roi_box b = {c[1], c[0], h / (double)p->oh, w / (double)p->ow, p->ratio, p->ratio};
  const double most = 65536.0;
  if (p->ratio == 0) b.rows = b.bin_h > 0.0 ? (int64_t)ci_ceil(b.bin_h < most ? b.bin_h : most) : 0;
  if (p->ratio == 0) b.columns = b.bin_w > 0.0 ? (int64_t)ci_ceil(b.bin_w < most ? b.bin_w : most) : 0;
  return b;
}

/* Sample q of bin (i, j). */
static bool roi_position(const roi_plan *p, const roi_box *b, int64_t i, int64_t j, int64_t q, roi_corners *s) {
  const double row = (double)(q / b->columns), column = (double)(q % b->columns);
  const double y = b->top + (double)i * b->bin_h + (row + 0.5) * b->bin_h / (double)b->rows;
  const double x = b->left + (double)j * b->bin_w + (column + 0.5) * b->bin_w / (double)b->columns;
  return roi_sample(p, y, x, s);
}

/* One bin of one channel: its value; in the gradient, g goes to the elements that it came from. */
static double roi_bin(const ci_kernel *k, const roi_plan *p, const roi_box *b, int64_t plane, int64_t i, int64_t j,
                      double g) {
  const int64_t samples = b->rows * b->columns;
  double sum = 0.0, best = -INFINITY, best_weight = 0.0;
  int64_t winner = -1;
  roi_corners s;
  for (int64_t q = 0; q < samples; q++) {
    const bool inside = roi_position(p, b, i, j, q, &s);
    if (!inside && best < 0.0) best = 0.0, winner = -1;
    for (int c = 0; c < 4 && inside; c++) {
      const int64_t at = plane + s.at[c];
      const double term = s.weight[c] * roi_load(k->in[0], at);
      sum = sum + term;
      if (term > best || (isnan(term) && !isnan(best))) best = term, winner = at, best_weight = s.weight[c];
      if (!p->grad || p->maximum) continue;
      roi_store(k->out[0], at, roi_load(k->out[0], at) + s.weight[c] * g / (double)samples);
    }
  }
  if (p->grad && p->maximum && winner >= 0) {
    roi_store(k->out[0], winner, roi_load(k->out[0], winner) + best_weight * g);
  }
  if (samples == 0) return 0.0;
  return p->maximum ? best : sum / (double)samples;
}

enum { ROI_KEPT = 28 }; /* samples whose corners are found once for all channels: 1.8 KB of stack */

CI_FAST static double roi_mean(const float *x, const roi_corners *s, int64_t samples) {
  double sum = 0.0;
  for (int64_t q = 0; q < samples; q++) {
    if (s[q].at[0] < 0) continue;
    for (int c = 0; c < 4; c++) sum = sum + s[q].weight[c] * (double)x[s[q].at[c]];
  }
  return sum / (double)samples;
}

/* The result of roi_bin for the means of float32, in a bin of ROI_KEPT samples or less. */
static void roi_means(const ci_kernel *k, const roi_box *b, int64_t r, int64_t n, int64_t begin, int64_t end) {
  const roi_plan *p = k->private_memory;
  const int64_t samples = b->rows * b->columns, bins = p->oh * p->ow, most = ROI_KEPT / samples;
  roi_corners kept[ROI_KEPT];
  for (int64_t first = 0; first < bins; first += most) {
    const int64_t count = bins - first < most ? bins - first : most;
    for (int64_t q = 0; q < count * samples; q++) {
      const int64_t o = first + q / samples;
      if (!roi_position(p, b, o / p->ow, o % p->ow, q % samples, &kept[q])) kept[q].at[0] = -1;
    }
    for (int64_t c = begin; c < end; c++) {
      const float *x = (const float *)k->in[0]->data + (n * p->channels + c) * p->h * p->w;
      float *y = (float *)k->out[0]->data + (r * p->channels + c) * bins + first;
      for (int64_t o = 0; o < count; o++) y[o] = (float)roi_mean(x, kept + o * samples, samples);
    }
  }
}

/* Channels, so that the gradients of regions that overlap are added in the order of the regions. */
static void roi_channels(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const roi_plan *p = k->private_memory;
  (void)thread;
  for (int64_t r = 0; r < p->rois; r++) {
    const roi_box b = roi_box_of(p, k->in[1], r);
    const int64_t n = ci_read_integer(k->in[2], r), samples = b.rows * b.columns;
    if (!p->grad && !p->maximum && k->in[0]->dtype == CI_FLOAT && samples > 0 && samples <= ROI_KEPT) {
      roi_means(k, &b, r, n, begin, end);
      continue;
    }
    for (int64_t c = begin; c < end; c++) {
      for (int64_t o = 0; o < p->oh * p->ow; o++) {
        const int64_t to = (r * p->channels + c) * p->oh * p->ow + o;
        const double g = p->grad ? roi_load(k->in[3], to) : 0.0;
        const double v = roi_bin(k, p, &b, (n * p->channels + c) * p->h * p->w, o / p->ow, o % p->ow, g);
        if (!p->grad) roi_store(k->out[0], to, v);
      }
    }
  }
}

ci_status ci_run_roi_align(ci_kernel *k) {
  const roi_plan *p = k->private_memory;
  for (int64_t r = 0; r < p->rois; r++) {
    const int64_t n = ci_read_integer(k->in[2], r);
    const roi_box b = roi_box_of(p, k->in[1], r);
    if (n < 0 || n >= k->in[0]->dims[0]) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "batch index %lld of region %lld is outside [0, %lld)", (long long)n,
                       (long long)r, (long long)k->in[0]->dims[0]);
    }
    if (b.rows * b.columns > ROI_MOST_SAMPLES) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "region %lld takes %lld x %lld samples for a bin, the limit is 2^22",
                       (long long)r, (long long)b.rows, (long long)b.columns);
    }
  }
  if (k->out[0]->bytes > 0) memset(k->out[0]->data, 0, k->out[0]->bytes);
  if (k->in[0]->count > 0 && p->rois > 0) ci_k_parallel(k, p->channels, 1, roi_channels, k);
  return CI_OK;
}

/* ---- MaxRoiPool ---- */

ci_status ci_prepare_max_roi_pool(ci_kernel *k) {
  const ci_value *x = k->in[0], *rois = k->in[1];
  const int64_t *shape = NULL;
  int count = -1;
  double scale;
  CI_TRY(ci_k_attr_ints(k, "pooled_shape", &shape, &count));
  CI_TRY(ci_k_attr_f(k, "spatial_scale", 1.0, &scale));
  if (count != 2 || shape[0] < 1 || shape[1] < 1 || shape[0] >= 1 << 24 || shape[1] >= 1 << 24) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "pooled_shape must be height and width");
  }
  if ((x->dtype != CI_FLOAT && x->dtype != CI_DOUBLE) || rois->dtype != x->dtype) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "there is no kernel for %s by %s, only for one float type",
                     ci_dtype_name(x->dtype), ci_dtype_name(rois->dtype));
  }
  if (x->rank != 4 || rois->rank != 2 || rois->dims[1] != 5) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "expected x (n, c, h, w) and rois (r, 5)");
  }
  roi_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  *p = (roi_plan){.channels = x->dims[1],
                  .h = x->dims[2],
                  .w = x->dims[3],
                  .oh = shape[0],
                  .ow = shape[1],
                  .rois = rois->dims[0],
                  .scale = scale};
  return ci_k_out(k, 0, x->dtype, 4, (const int64_t[]){p->rois, p->channels, p->oh, p->ow});
}

/* Bin i of `out` between two ends, which are rounded half away from 0, within [0, n). */
static void roi_range(double low, double high, int64_t out, int64_t i, int64_t n, int64_t *begin, int64_t *end) {
  const double first = low >= 0.0 ? ci_floor(low + 0.5) : -ci_floor(-low + 0.5);
  const double last = high >= 0.0 ? ci_floor(high + 0.5) : -ci_floor(-high + 0.5);
  const double size = last - first + 1.0, step = (size > 1.0 ? size : 1.0) / (double)out;
  const double from = ci_floor((double)i * step) + first, to = ci_ceil((double)(i + 1) * step) + first,
               most = (double)n;
  *begin = (int64_t)(from < 0.0 ? 0.0 : from > most ? most : from);
  *end = (int64_t)(to < 0.0 ? 0.0 : to > most ? most : to);
}

static double roi_largest(const ci_value *x, int64_t plane, int64_t w, const int64_t *y, const int64_t *at) {
  double best = -INFINITY;
  if (y[0] >= y[1] || at[0] >= at[1]) return 0.0;
  for (int64_t i = y[0]; i < y[1]; i++) {
    for (int64_t j = at[0]; j < at[1]; j++) {
      const double v = roi_load(x, plane + i * w + j);
      if (v > best || v != v) best = v;
    }
  }
  return best;
}

ci_status ci_run_max_roi_pool(ci_kernel *k) {
  const roi_plan *p = k->private_memory;
  const ci_value *x = k->in[0];
  for (int64_t r = 0; r < p->rois; r++) {
    double box[5];
    bool good = true;
    for (int i = 0; i < 5; i++) {
      box[i] = roi_load(k->in[1], 5 * r + i) * (i > 0 ? p->scale : 1.0);
      good = good && (i > 0 ? fabs(box[i]) < 1e9 : box[0] >= 0.0 && box[0] < (double)x->dims[0]);
    }
    if (!good) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "region %lld: its image or corners do not exist", (long long)r);
    }
    for (int64_t o = 0; o < p->channels * p->oh * p->ow; o++) {
      const int64_t c = o / p->ow / p->oh, plane = ((int64_t)box[0] * p->channels + c) * p->h * p->w;
      int64_t rows[2], columns[2];
      roi_range(box[2], box[4], p->oh, o / p->ow % p->oh, p->h, rows, rows + 1);
      roi_range(box[1], box[3], p->ow, o % p->ow, p->w, columns, columns + 1);
      roi_store(k->out[0], r * p->channels * p->oh * p->ow + o, roi_largest(x, plane, p->w, rows, columns));
    }
  }
  return CI_OK;
}
