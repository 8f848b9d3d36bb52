/* nd.c - where the windows of ONNX's convolutions lie, and Col2Im. */
#include "nd.h"

#include "../../simd/isa.h"
#include "../../simd/linear/isa_linear.h"
#include "window.h"

#define ND_AREA_MOST ((int64_t)1 << 40)

static bool nd_multiply(const int64_t *dims, int n, int64_t *count) {
  *count = 1;
  for (int i = 0; i < n; i++) {
    if (dims[i] > 0 && *count > ND_AREA_MOST / dims[i]) return false;
    *count *= dims[i];
  }
  return true;
}

ci_status ci_nd_totals(ci_kernel *k, ci_nd *g) {
  if (nd_multiply(g->size, g->rank, &g->area) && nd_multiply(g->kernel, g->rank, &g->taps) &&
      nd_multiply(g->out, g->rank, &g->positions) && g->taps <= INT32_MAX) {
    return CI_OK;
  }
  return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "an image, its windows or the kernel have too many elements");
}

/* The attributes that both kinds share. */
static ci_status nd_attributes(ci_kernel *k, int rank, const int64_t *kernel, ci_nd *g, int64_t *pads, int *mode) {
  if (rank < 1 || rank > CI_ND_AXES) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "there are %d spatial axes, expected 1 to %d", rank, CI_ND_AXES);
  }
  g->rank = rank;
  for (int i = 0; i < rank; i++) {
    g->kernel[i] = kernel[i];
    g->stride[i] = g->dilation[i] = 1;
    pads[i] = pads[rank + i] = 0;
    if (kernel[i] < 1 || kernel[i] > CI_WINDOW_MOST) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "the kernel has size %lld along axis %d, expected 1 to %lld",
                       (long long)kernel[i], i + 2, (long long)CI_WINDOW_MOST);
    }
  }
  int64_t shape[CI_ND_AXES];
  memcpy(shape, g->kernel, sizeof shape);
  CI_TRY(ci_window_ints(k, "kernel_shape", rank, 1, shape));
  if (!ci_shape_same(rank, shape, rank, g->kernel)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute kernel_shape differs from the shape of w");
  }
  CI_TRY(ci_window_ints(k, "strides", rank, 1, g->stride));
  CI_TRY(ci_window_ints(k, "dilations", rank, 1, g->dilation));
  CI_TRY(ci_window_ints(k, "pads", 2 * rank, 0, pads));
  CI_TRY(ci_window_mode(k, mode));
  if (*mode != CI_PAD_NOTSET) memset(pads, 0, 2 * (size_t)rank * sizeof *pads);
  return CI_OK;
}

/* The part of a padding that is before the image. */
static int64_t nd_split(int64_t total, bool upper) {
  if (total < 0) total = 0;
  return upper ? total / 2 : total - total / 2;
}

static bool nd_same(int mode) { return mode == CI_PAD_SAME_UPPER || mode == CI_PAD_SAME_LOWER; }

ci_status ci_nd_prepare(ci_kernel *k, int rank, const int64_t *size, const int64_t *kernel, ci_nd *g) {
  int64_t pads[2 * CI_ND_AXES];
  int mode;
  CI_TRY(nd_attributes(k, rank, kernel, g, pads, &mode));
  for (int i = 0; i < rank; i++) {
    if (size[i] < 0 || size[i] > CI_WINDOW_MOST) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "an image axis has %lld elements, expected 0 to %lld",
                       (long long)size[i], (long long)CI_WINDOW_MOST);
    }
    const int64_t reach = (kernel[i] - 1) * g->dilation[i] + 1, stride = g->stride[i];
    g->size[i] = size[i];
    if (nd_same(mode)) {
      g->out[i] = (size[i] + stride - 1) / stride;
      g->before[i] = nd_split((g->out[i] - 1) * stride + reach - size[i], mode == CI_PAD_SAME_UPPER);
      continue;
    }
    const int64_t rest = size[i] + pads[i] + pads[rank + i] - reach;
    if (rest < 0) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT,
                       "a window of %lld does not fit into axis %d of size %lld with its padding", (long long)reach,
                       i + 2, (long long)size[i]);
    }
    g->before[i] = pads[i];
    g->out[i] = rest / stride + 1;
  }
  return ci_nd_totals(k, g);
}

/* output_shape, with or without batch and channels. */
static ci_status nd_output_shape(ci_kernel *k, int rank, const int64_t **shape) {
  int count;
  CI_TRY(ci_k_attr_ints(k, "output_shape", shape, &count));
  if (count < 0) return CI_OK;
  if (count == rank + 2) *shape += 2;
  if (count == rank || count == rank + 2) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute output_shape has %d numbers, expected %d", count, rank);
}

ci_status ci_nd_prepare_transposed(ci_kernel *k, int rank, const int64_t *in, const int64_t *kernel, ci_nd *g) {
  int64_t pads[2 * CI_ND_AXES], extra[CI_ND_AXES] = {0};
  const int64_t *shape = NULL;
  int mode;
  CI_TRY(nd_attributes(k, rank, kernel, g, pads, &mode));
  CI_TRY(ci_window_ints(k, "output_padding", rank, 0, extra));
  CI_TRY(nd_output_shape(k, rank, &shape));
  for (int i = 0; i < rank; i++) {
    const int64_t stride = g->stride[i], dilation = g->dilation[i];
    if (in[i] < 1 || in[i] > CI_WINDOW_MOST) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "an image axis has %lld elements, expected 1 to %lld", (long long)in[i],
                       (long long)CI_WINDOW_MOST);
    }
    if (extra[i] >= stride && extra[i] >= dilation) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT,
                       "output_padding[%d] is %lld, expected less than the stride or the dilation", i,
                       (long long)extra[i]);
    }
    const int64_t full = stride * (in[i] - 1) + extra[i] + (kernel[i] - 1) * dilation + 1;
    g->out[i] = in[i];
    g->before[i] = pads[i];
    g->size[i] = full - pads[i] - pads[rank + i];
    if (shape != NULL || nd_same(mode)) {
      g->size[i] = shape != NULL ? shape[i] : in[i] * stride;
      if (g->size[i] >= 0) g->before[i] = nd_split(full - g->size[i], mode == CI_PAD_SAME_UPPER);
    }
    if (g->size[i] < 0 || g->size[i] > CI_WINDOW_MOST) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "axis %d of the result has %lld elements, expected 0 to %lld", i + 2,
                       (long long)g->size[i], (long long)CI_WINDOW_MOST);
    }
  }
  return ci_nd_totals(k, g);
}

/* ---- walking ---- */

void ci_nd_start(ci_nd_walk *walk, const ci_nd *g, int64_t tap, int64_t position, int64_t end) {
  walk->g = g;
  walk->position = position;
  walk->end = end;
  for (int i = g->rank - 1; i >= 0; i--) {
    walk->start[i] = tap % g->kernel[i] * g->dilation[i] - g->before[i];
    tap /= g->kernel[i];
    walk->at[i] = g->out[i] > 0 ? position % g->out[i] : 0;
    position = g->out[i] > 0 ? position / g->out[i] : 0;
  }
}

bool ci_nd_next(ci_nd_walk *walk) {
  const ci_nd *g = walk->g;
  const int last = g->rank - 1;
  if (walk->position >= walk->end) return false;
  int64_t count = g->out[last] - walk->at[last], row = 0;
  if (count > walk->end - walk->position) count = walk->end - walk->position;
  bool inside = true;
  for (int i = 0; i < last && inside; i++) {
    const int64_t y = walk->at[i] * g->stride[i] + walk->start[i];
    inside = y >= 0 && y < g->size[i];
    if (inside) row = row * g->size[i] + y;
  }
  const int64_t stride = g->stride[last], x = walk->at[last] * stride + walk->start[last], rest = g->size[last] - x;
  int64_t low = x < 0 ? (stride - 1 - x) / stride : 0, high = rest > 0 ? (rest - 1) / stride + 1 : 0;
  if (high > count) high = count;
  if (!inside || low >= high) low = high = count;
  walk->first = walk->position;
  walk->count = count;
  walk->low = low;
  walk->high = high;
  walk->source = low < high ? row * g->size[last] + x + low * stride : 0;
  walk->position += count;
  walk->at[last] += count;
  for (int i = last; i > 0 && walk->at[i] == g->out[i]; i--) {
    walk->at[i] = 0;
    walk->at[i - 1]++;
  }
  return true;
}

void ci_nd_scatter(const ci_nd *g, const struct ci_isa *isa, int32_t dtype, void *plane, const void *columns) {
  const int64_t stride = g->stride[g->rank - 1];
  for (int64_t tap = 0; tap < g->taps; tap++) {
    ci_nd_walk walk;
    ci_nd_start(&walk, g, tap, 0, g->positions);
    while (ci_nd_next(&walk)) {
      const int64_t from = tap * g->positions + walk.first + walk.low, count = walk.high - walk.low;
      if (dtype == CI_FLOAT) {
        float *to = (float *)plane + walk.source;
        const float *x = (const float *)columns + from;
        if (stride == 1) {
          isa->linear->add(to, x, count);
        } else {
          for (int64_t i = 0; i < count; i++) to[i * stride] = to[i * stride] + x[i];
        }
      } else {
        double *to = (double *)plane + walk.source;
        const double *x = (const double *)columns + from;
        for (int64_t i = 0; i < count; i++) to[i * stride] = to[i * stride] + x[i];
      }
    }
  }
}

/* ---- Col2Im ---- */

ci_status ci_prepare_col2im(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t size[CI_ND_AXES], kernel[CI_ND_AXES];
  int rank, blocks;
  char described[128];
  CI_TRY(ci_k_known_ints(k, 1, size, CI_ND_AXES, &rank));
  CI_TRY(ci_k_known_ints(k, 2, kernel, CI_ND_AXES, &blocks));
  if (x->dtype != CI_FLOAT && x->dtype != CI_DOUBLE) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "Col2Im of %s, it exists for float32 and float64", ci_dtype_name(x->dtype));
  }
  if (rank != blocks) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "image_shape has %d numbers and block_shape %d, expected as many", rank,
                     blocks);
  }
  ci_nd *g = ci_k_private(k, sizeof *g);
  if (g == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_nd_prepare(k, rank, size, kernel, g));
  if (x->rank != 3 || x->dims[1] % g->taps != 0 || x->dims[2] != g->positions) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the input is %s, expected [n, a multiple of %lld, %lld]",
                     ci_value_describe(x, described, sizeof described), (long long)g->taps, (long long)g->positions);
  }
  int64_t dims[CI_MAX_RANK] = {x->dims[0], x->dims[1] / g->taps};
  memcpy(dims + 2, size, (size_t)rank * sizeof *size);
  return ci_k_out(k, 0, x->dtype, rank + 2, dims);
}

static void col2im_planes(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const ci_nd *g = k->private_memory;
  const size_t item = ci_dtype_size(k->in[0]->dtype);
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    const char *columns = (const char *)k->in[0]->data + (size_t)(i * g->taps * g->positions) * item;
    ci_nd_scatter(g, k->isa, k->in[0]->dtype, (char *)k->out[0]->data + (size_t)(i * g->area) * item, columns);
  }
}

ci_status ci_run_col2im(ci_kernel *k) {
  const ci_value *y = k->out[0];
  memset(y->data, 0, y->bytes);
  if (y->count > 0) ci_k_parallel(k, y->dims[0] * y->dims[1], 1, col2im_planes, k);
  return CI_OK;
}
