/* window.c - strides, pads and output sizes of convolution and pooling. */
#include "window.h"

ci_status ci_window_ints(ci_kernel *k, const char *name, int most, int64_t least, int64_t *out) {
  const int64_t *values = NULL;
  int count = -1;
  CI_TRY(ci_k_attr_ints(k, name, &values, &count));
  if (count < 0) return CI_OK;
  if (count != most) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute %s has %d numbers, expected %d", name, count, most);
  }
  for (int i = 0; i < most; i++) {
    if (values[i] < least || values[i] > CI_WINDOW_MOST) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute %s[%d] is %lld, expected %lld to %lld", name, i,
                       (long long)values[i], (long long)least, (long long)CI_WINDOW_MOST);
    }
    out[i] = values[i];
  }
  return CI_OK;
}

ci_status ci_window_mode(ci_kernel *k, int *mode) {
  static const char names[4][12] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
  ci_span named;
  CI_TRY(ci_k_attr_s(k, "auto_pad", "NOTSET", &named));
  for (*mode = 0; *mode < 4; ++*mode) {
    if (ci_span_is(named, names[*mode])) return CI_OK;
  }
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "auto_pad is '%.*s', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER",
                   (int)(named.length < 32 ? named.length : 32), named.data);
}

/* One axis: output size and the padding before. same: 0 none, 1 upper, 2 lower. */
static bool window_axis(int64_t size, int64_t span, int64_t stride, int same, int64_t *before, int64_t after,
                        int64_t *out) {
  if (same != 0) {
    *out = (size + stride - 1) / stride;
    const int64_t padding = *out > 0 ? (*out - 1) * stride + span - size : 0;
    const int64_t total = padding > 0 ? padding : 0;
    *before = same == 1 ? total / 2 : total - total / 2;
    return true;
  }
  const int64_t rest = size + *before + after - span;
  *out = rest < 0 ? 0 : rest / stride + 1;
  return rest >= 0;
}

ci_status ci_window_prepare(ci_kernel *k, const int64_t *x_dims, int64_t kh, int64_t kw, bool pools, ci_window *g) {
  int64_t strides[2] = {1, 1}, dilations[2] = {1, 1}, pads[4] = {0, 0, 0, 0};
  int mode;
  CI_TRY(ci_window_ints(k, "strides", 2, 1, strides));
  CI_TRY(ci_window_ints(k, "pads", 4, 0, pads));
  if (!pools) CI_TRY(ci_window_ints(k, "dilations", 2, 1, dilations));
  CI_TRY(ci_window_mode(k, &mode));
  const bool valid = mode == CI_PAD_VALID;
  const int same = mode == CI_PAD_SAME_UPPER ? 1 : mode == CI_PAD_SAME_LOWER ? 2 : 0;
  if (valid) memset(pads, 0, sizeof pads);
  for (int i = 0; i < 4; i++) {
    if (x_dims[i] > CI_WINDOW_MOST || x_dims[i] < 0) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "an image axis has %lld elements, expected 0 to %lld",
                       (long long)x_dims[i], (long long)CI_WINDOW_MOST);
    }
  }
  if (kh < 1 || kw < 1 || kh > CI_WINDOW_MOST || kw > CI_WINDOW_MOST) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the window is %lld x %lld, both must be 1 or more", (long long)kh,
                     (long long)kw);
  }
  ci_nd *nd = &g->nd;
  *nd = (ci_nd){.rank = 2,
                .size = {x_dims[1], x_dims[2]},
                .kernel = {kh, kw},
                .stride = {strides[0], strides[1]},
                .dilation = {dilations[0], dilations[1]},
                .before = {pads[0], pads[1]}};
  g->n = x_dims[0];
  g->c = x_dims[3];
  const int64_t span_h = (kh - 1) * dilations[0] + 1, span_w = (kw - 1) * dilations[1] + 1;
  const bool fits_h = window_axis(nd->size[0], span_h, strides[0], same, &nd->before[0], pads[2], &nd->out[0]);
  const bool fits_w = window_axis(nd->size[1], span_w, strides[1], same, &nd->before[1], pads[3], &nd->out[1]);
  if (!fits_h || !fits_w) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "a window of %lld x %lld does not fit into an image of %lld x %lld with its padding",
                     (long long)span_h, (long long)span_w, (long long)nd->size[0], (long long)nd->size[1]);
  }
  if (pools && same == 0 && (pads[0] >= kh || pads[2] >= kh || pads[1] >= kw || pads[3] >= kw)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "pads %lld %lld %lld %lld must be smaller than the window %lld x %lld",
                     (long long)pads[0], (long long)pads[1], (long long)pads[2], (long long)pads[3], (long long)kh,
                     (long long)kw);
  }
  const int64_t oh = nd->out[0], ow = nd->out[1];
  if (oh > 0 && ow > 0 && g->n > INT64_MAX / oh / ow) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "%lld images of %lld x %lld outputs are too many", (long long)g->n,
                     (long long)oh, (long long)ow);
  }
  nd->area = nd->size[0] * nd->size[1];
  nd->taps = kh * kw;
  nd->positions = oh * ow;
  g->pixels = g->n * nd->positions;
  return CI_OK;
}

int64_t ci_window_taps(const ci_nd *g, size_t pixel_bytes, const char *x, const ci_pixel *at, const char *none,
                       const char **taps) {
  const int64_t y0 = at->y * g->stride[0] - g->before[0], x0 = at->x * g->stride[1] - g->before[1];
  int64_t count = 0, i = 0, i_end = g->kernel[0], first = 0, last = g->kernel[1];
  if (none == NULL) { /* pools, without dilation: only taps inside the image */
    if (y0 < 0) i = -y0;
    if (x0 < 0) first = -x0;
    if (i_end > g->size[0] - y0) i_end = g->size[0] - y0;
    if (last > g->size[1] - x0) last = g->size[1] - x0;
  }
  for (; i < i_end; i++) {
    const int64_t iy = y0 + i * g->dilation[0];
    const bool row = iy >= 0 && iy < g->size[0];
    for (int64_t j = first; j < last; j++) {
      const int64_t ix = x0 + j * g->dilation[1];
      if (row && ix >= 0 && ix < g->size[1]) {
        taps[count++] = x + (size_t)((at->image * g->size[0] + iy) * g->size[1] + ix) * pixel_bytes;
      } else if (none != NULL) {
        taps[count++] = none;
      }
    }
  }
  return count;
}
