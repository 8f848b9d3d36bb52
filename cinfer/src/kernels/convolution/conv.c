/* conv.c - Conv2D: x (n, h, w, c), w (kh, kw, c / group, m) -> y (n, oh, ow, m).
 *
 * By tiles (conv_tiles.c), by one chain over the taps where it is depthwise, or by matrix multiplication with
 * K = (kh, kw, channel) and N = outputs of a group: tiles of pixels are gathered into scratch and multiplied there.
 * Gradients are in ../training/conv_grad.c.
 */
#include "conv.h"

#include "../../simd/isa.h"
#include "../../simd/linear/isa_linear.h"
#if CI_HAS_CONVOLUTIONS

static ci_status conv_mismatch(ci_kernel *k, const int64_t *x, const int64_t *w, int64_t groups) {
  return ci_k_fail(
      k, CI_INVALID_ARGUMENT,
      "x has %lld channels, w expects %lld for each of %lld groups (x [%lld,%lld,%lld,%lld] is n, h, w, c; "
      "w [%lld,%lld,%lld,%lld] is kh, kw, c / group, m)",
      (long long)x[3], (long long)w[2], (long long)groups, (long long)x[0], (long long)x[1], (long long)x[2],
      (long long)x[3], (long long)w[0], (long long)w[1], (long long)w[2], (long long)w[3]);
}

ci_status ci_conv_prepare(ci_kernel *k, const int64_t *x_dims, const int64_t *w_dims, int32_t dtype, ci_conv *p) {
  if (dtype != CI_FLOAT && dtype != CI_DOUBLE) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "convolution of %s, it exists for float32 and float64", ci_dtype_name(dtype));
  }
  ci_window window;
  int64_t groups;
  CI_TRY(ci_window_prepare(k, x_dims, w_dims[0], w_dims[1], false, &window));
  CI_TRY(ci_k_attr_i(k, "group", 1, &groups));
  if (groups < 1 || w_dims[2] < 0 || w_dims[2] > x_dims[3] || groups > (x_dims[3] > 1 ? x_dims[3] : 1) ||
      w_dims[2] * groups != x_dims[3]) {
    return conv_mismatch(k, x_dims, w_dims, groups);
  }
  if (w_dims[3] % groups != 0) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "w has %lld outputs, they cannot be divided among %lld groups",
                     (long long)w_dims[3], (long long)groups);
  }
  if (w_dims[3] < 0 || w_dims[3] > INT32_MAX) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "w has %lld outputs, expected 0 to %d", (long long)w_dims[3], INT32_MAX);
  }
  size_t depth, bytes;
  const int64_t ic = w_dims[2];
  if (!ci_mul_size((uint64_t)w_dims[0], (uint64_t)w_dims[1], &depth) ||
      !ci_mul_size(depth, (uint64_t)(ic > 0 ? ic : 1), &bytes) || bytes > ((size_t)1 << 31)) {
    return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "a window of %lld x %lld taps is too large", (long long)w_dims[0],
                     (long long)w_dims[1]);
  }
  p->dtype = dtype;
  p->item = ci_dtype_size(dtype);
  p->pixels = window.pixels;
  p->g.nd = window.nd;
  p->g.channels_last = true;
  ci_conv_geometry_channels(&p->g, window.n, groups, ic, w_dims[3]);
  p->matmul.pointwise = ci_conv_geometry_is_pointwise(&p->g);
  const int64_t row_bytes = p->g.depth * (int64_t)p->item;
  p->matmul.rows = row_bytes > 0 ? CI_CONV_TILE_BYTES / row_bytes : p->pixels;
  if (p->matmul.rows < 16) p->matmul.rows = 16;
  if (p->matmul.rows > p->pixels) p->matmul.rows = p->pixels;
  const int64_t work = p->g.depth * p->g.outputs;
  p->grain = work > 0 ? CI_CONV_PART_WORK / work + 1 : 1;
  return CI_OK;
}

/* ---- gathering ---- */

/* Short runs are copied here: calling memcpy for three floats takes longer than the copy. */
static void conv_copy(char *to, const char *from, size_t bytes) {
  if (bytes >= 64) {
    memcpy(to, from, bytes);
    return;
  }
  for (; bytes >= 16; bytes -= 16, to += 16, from += 16) memcpy(to, from, 16);
  if (bytes >= 8) {
    memcpy(to, from, 8);
    bytes -= 8;
    to += 8;
    from += 8;
  }
  if (bytes >= 4) memcpy(to, from, 4);
}

/* Taps [first, last) of one row of the window, which begins at column x0 of the image row `row`. */
static char *conv_gather_row(const ci_conv *p, char *to, const char *row, int64_t x0, int64_t first, int64_t last) {
  const ci_nd *g = &p->g.nd;
  const size_t one = (size_t)p->g.ic * p->item, step = (size_t)p->g.c * p->item;
  if (row == NULL) {
    memset(to, 0, (size_t)(last - first) * one);
    return to + (size_t)(last - first) * one;
  }
  if (g->dilation[1] == 1 && p->g.groups == 1) { /* the inner taps are one run */
    const int64_t from = x0 + first, to_x = x0 + last;
    const int64_t low = from < 0 ? 0 : from, high = to_x > g->size[1] ? g->size[1] : to_x;
    if (low < high) {
      const size_t before = (size_t)(low - from) * one, run = (size_t)(high - low) * one;
      const size_t after = (size_t)(to_x - high) * one;
      if (before > 0) memset(to, 0, before);
      conv_copy(to + before, row + (size_t)low * step, run);
      if (after > 0) memset(to + before + run, 0, after);
      return to + before + run + after;
    }
  }
  for (int64_t j = first; j < last; j++, to += one) {
    const int64_t x = x0 + j * g->dilation[1];
    if (x < 0 || x >= g->size[1]) {
      memset(to, 0, one);
    } else {
      conv_copy(to, row + (size_t)x * step, one);
    }
  }
  return to;
}

void ci_conv_gather(const ci_conv *p, char *to, const char *x, int64_t group, ci_pixel *at, int64_t count,
                    int64_t first, int64_t last) {
  const ci_nd *g = &p->g.nd;
  const size_t line = (size_t)g->size[1] * (size_t)p->g.c * p->item;
  const int64_t first_row = first / g->kernel[1], skipped = first - first_row * g->kernel[1];
  x += (size_t)(group * p->g.ic) * p->item;
  for (; count > 0; count--, ci_window_next(g, at)) {
    const int64_t y0 = at->y * g->stride[0] - g->before[0], x0 = at->x * g->stride[1] - g->before[1];
    int64_t tap = first, j = skipped;
    for (int64_t i = first_row; tap < last; i++, j = 0) {
      const int64_t y = y0 + i * g->dilation[0], end = last - tap < g->kernel[1] - j ? j + last - tap : g->kernel[1];
      const char *row = y < 0 || y >= g->size[0] ? NULL : x + (size_t)(at->image * g->size[0] + y) * line;
      to = conv_gather_row(p, to, row, x0, j, end);
      tap += end - j;
    }
  }
}

/* ---- Conv2D ---- */

typedef struct conv_job {
  ci_kernel *k;
  const ci_conv *p;
} conv_job;

/* The weights of a group: outputs are contiguous, or a packed copy for the dot form. */
static ci_operand conv_weights(const ci_conv *p, const ci_kernel *k, int64_t group) {
  const ci_operand w = {(const char *)k->in[1]->data + (size_t)(group * p->g.oc) * p->item, (ptrdiff_t)p->g.outputs, 1};
  return w;
}

static void conv_pixels(void *argument, int64_t begin, int64_t end, int thread) {
  const conv_job *job = argument;
  const ci_conv *p = job->p;
  const ci_conv_matmul *m = &p->matmul;
  const ci_kernel *k = job->k;
  char *packed = k->scratch, *tile = packed + (size_t)p->g.groups * m->b_bytes + (size_t)thread * m->tile_bytes;
  const char *x = k->in[0]->data;
  ci_pixel start = ci_window_at(&p->g.nd, begin);
  for (int64_t pixel = begin, rows; pixel < end; pixel += rows) {
    ci_pixel next = start;
    rows = end - pixel < m->rows ? end - pixel : m->rows;
    for (int64_t group = 0; group < p->g.groups; group++) {
      ci_operand a = {x + (size_t)(pixel * p->g.c + group * p->g.ic) * p->item, (ptrdiff_t)p->g.c, 1};
      if (!m->pointwise) {
        next = start;
        ci_conv_gather(p, tile, x, group, &next, rows, 0, p->g.nd.taps);
        a = (ci_operand){tile, (ptrdiff_t)p->g.depth, 1};
      }
      ci_operand b = conv_weights(p, k, group);
      if (m->b_bytes > 0) b = (ci_operand){packed + (size_t)group * m->b_bytes, 1, (ptrdiff_t)p->g.depth};
      const ci_matmul_part part = {
          .a = a,
          .b = b,
          .c = (char *)k->out[0]->data + (size_t)(pixel * p->g.outputs + group * p->g.oc) * p->item,
          .c_row = (ptrdiff_t)p->g.outputs,
          .m = rows,
          .n = p->g.oc,
          .k = p->g.depth};
      ci_matmul_compute(&m->rule, k->isa, &part);
    }
    start = next;
  }
}

/* One chain over the taps for every channel. */
static void conv_depthwise_pixels(void *argument, int64_t begin, int64_t end, int thread) {
  const conv_job *job = argument;
  const ci_conv *p = job->p;
  const ci_kernel *k = job->k;
  const char *none = k->scratch; /* a pixel of zeros */
  const char **taps =
      (const char **)(void *)((char *)k->scratch + p->depthwise.zero_bytes + (size_t)thread * p->depthwise.taps_bytes);
  const size_t row = (size_t)p->g.outputs * p->item;
  ci_pixel at = ci_window_at(&p->g.nd, begin);
  for (int64_t pixel = begin; pixel < end; pixel++, ci_window_next(&p->g.nd, &at)) {
    ci_window_taps(&p->g.nd, row, k->in[0]->data, &at, none, taps);
    char *y = (char *)k->out[0]->data + (size_t)pixel * row;
    if (p->dtype == CI_FLOAT) {
      k->isa->linear->depthwise((float *)(void *)y, (const float *const *)(const void *)taps, k->in[1]->data,
                                p->g.nd.taps, p->g.outputs);
      continue;
    }
    const double *w = k->in[1]->data;
    for (int64_t c = 0; c < p->g.outputs; c++) {
      double sum = 0.0;
      for (int64_t i = 0; i < p->g.nd.taps; i++) {
        const double term = ((const double *)(const void *)taps[i])[c] * w[i * p->g.outputs + c];
        sum = sum + term;
      }
      ((double *)(void *)y)[c] = sum;
    }
  }
}

ci_status ci_prepare_conv2d(ci_kernel *k) {
  const ci_value *x = k->in[0], *w = k->in[1];
  if (x->rank != 4 || w->rank != 4 || x->dtype != w->dtype) {
    char left[128], right[128];
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "x is %s and w is %s, expected two tensors of rank 4 and one type",
                     ci_value_describe(x, left, sizeof left), ci_value_describe(w, right, sizeof right));
  }
  const size_t offsets = ci_conv_tiles_offset_bytes(ci_shape_count(w->dims, 0, 3));
  ci_conv *p = ci_k_private(k, sizeof *p + offsets);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_conv_prepare(k, x->dims, w->dims, x->dtype, p));
  const ci_conv_geometry *g = &p->g;
  ci_conv_matmul *m = &p->matmul;
  const int64_t dims[4] = {g->n, g->nd.out[0], g->nd.out[1], g->outputs};
  CI_TRY(ci_k_out(k, 0, x->dtype, 4, dims));
  ci_matmul_rule(&m->rule, p->dtype, g->oc, g->depth);
  const size_t threads = (size_t)k->threads;
  int32_t *offset = offsets > 0 ? (int32_t *)(void *)(p + 1) : NULL;
  if (ci_conv_geometry_is_depthwise(g)) {
    p->strategy = CI_CONV_DEPTHWISE;
    p->depthwise.zero_bytes = ci_round_up((size_t)g->outputs * p->item, 64);
    p->depthwise.taps_bytes = ci_round_up((size_t)g->nd.taps * sizeof(char *), 64);
    k->scratch_bytes = p->depthwise.zero_bytes + threads * p->depthwise.taps_bytes;
  } else if (ci_conv_tiles_plan(k, g, p->dtype, &m->rule, offset, &p->tiles)) {
    p->strategy = CI_CONV_TILES;
  } else {
    p->strategy = CI_CONV_MATMUL;
    m->b_bytes = ci_round_up(ci_matmul_b_bytes(&m->rule, (ptrdiff_t)g->outputs, 1), 64);
    m->tile_bytes = m->pointwise ? 0 : ci_round_up((size_t)m->rows * (size_t)g->depth * p->item, 64);
    k->scratch_bytes = (size_t)g->groups * m->b_bytes + threads * m->tile_bytes;
  }
  return CI_OK;
}

static void conv_run_matmul(const conv_job *job) {
  const ci_kernel *k = job->k;
  const ci_conv *p = job->p;
  const ci_conv_matmul *m = &p->matmul;
  for (int64_t group = 0; m->b_bytes > 0 && group < p->g.groups; group++) {
    ci_matmul_pack_b(&m->rule, conv_weights(p, k, group), (char *)k->scratch + (size_t)group * m->b_bytes);
  }
  ci_k_parallel(job->k, p->pixels, p->grain, conv_pixels, (void *)(uintptr_t)job);
}

ci_status ci_run_conv2d(ci_kernel *k) {
  const conv_job job = {k, k->private_memory};
  const ci_conv *p = job.p;
  if (k->out[0]->count == 0) return CI_OK;
  if (p->strategy == CI_CONV_TILES) {
    const ci_conv_tiles_job tiles = {
        .k = k, .p = &p->tiles, .x = k->in[0]->data, .w = k->in[1]->data, .y = k->out[0]->data};
    ci_conv_tiles_run(&tiles);
  } else if (p->strategy == CI_CONV_DEPTHWISE) {
    memset(k->scratch, 0, p->depthwise.zero_bytes);
    ci_k_parallel(k, p->pixels, p->grain, conv_depthwise_pixels, (void *)(uintptr_t)&job);
  } else {
    conv_run_matmul(&job);
  }
  return CI_OK;
}
#endif
