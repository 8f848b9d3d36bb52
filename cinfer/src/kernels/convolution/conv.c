/* conv.c - Conv2D: x (n, h, w, c), w (kh, kw, c / group, m) -> y (n, oh, ow, m).
 *
 * A product with K = (kh, kw, channel) and N = outputs of a group: tiles of pixels are gathered into scratch and
 * multiplied where they lie. Gradients are in conv_grad.c.
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
  CI_TRY(ci_window_prepare(k, x_dims, w_dims[0], w_dims[1], false, &p->g));
  CI_TRY(ci_k_attr_i(k, "group", 1, &p->groups));
  if (p->groups < 1 || w_dims[2] < 0 || w_dims[2] > x_dims[3] || p->groups > (x_dims[3] > 1 ? x_dims[3] : 1) ||
      w_dims[2] * p->groups != x_dims[3]) {
    return conv_mismatch(k, x_dims, w_dims, p->groups);
  }
  if (w_dims[3] % p->groups != 0) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "w has %lld outputs, they cannot be divided among %lld groups",
                     (long long)w_dims[3], (long long)p->groups);
  }
  if (w_dims[3] < 0 || w_dims[3] > INT32_MAX) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "w has %lld outputs, expected 0 to %d", (long long)w_dims[3], INT32_MAX);
  }
  const ci_window *g = &p->g;
  p->dtype = dtype;
  p->item = ci_dtype_size(dtype);
  p->ic = w_dims[2];
  p->oc = w_dims[3] / p->groups;
  p->outputs = w_dims[3];
  size_t depth, bytes;
  if (!ci_mul_size((uint64_t)w_dims[0], (uint64_t)w_dims[1], &depth) ||
      !ci_mul_size(depth, (uint64_t)(p->ic > 0 ? p->ic : 1), &bytes) || bytes > ((size_t)1 << 31)) {
    return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "a window of %lld x %lld taps is too large", (long long)w_dims[0],
                     (long long)w_dims[1]);
  }
  p->taps = g->kh * g->kw;
  p->depth = p->taps * p->ic;
  p->direct = p->taps == 1 && g->sh == 1 && g->sw == 1 && g->top == 0 && g->left == 0 && g->oh == g->h && g->ow == g->w;
  p->depthwise = p->groups > 1 && p->ic == 1 && p->oc == 1;
  const int64_t row_bytes = p->depth * (int64_t)p->item;
  p->rows = row_bytes > 0 ? CI_CONV_TILE_BYTES / row_bytes : g->pixels;
  if (p->rows < 16) p->rows = 16;
  if (p->rows > g->pixels) p->rows = g->pixels;
  const int64_t work = p->depth * p->outputs;
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

/* Taps [first, last) of one row of the window, of which the first lies at column x0 of the image row `row`. */
static char *conv_gather_row(const ci_conv *p, char *to, const char *row, int64_t x0, int64_t first, int64_t last) {
  const ci_window *g = &p->g;
  const size_t one = (size_t)p->ic * p->item, step = (size_t)g->c * p->item;
  if (row == NULL) {
    memset(to, 0, (size_t)(last - first) * one);
    return to + (size_t)(last - first) * one;
  }
  if (g->dw == 1 && p->groups == 1) { /* the inner taps are one run */
    const int64_t from = x0 + first, to_x = x0 + last;
    const int64_t low = from < 0 ? 0 : from, high = to_x > g->w ? g->w : to_x;
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
    const int64_t x = x0 + j * g->dw;
    if (x < 0 || x >= g->w) {
      memset(to, 0, one);
    } else {
      conv_copy(to, row + (size_t)x * step, one);
    }
  }
  return to;
}

void ci_conv_gather(const ci_conv *p, char *to, const char *x, int64_t group, ci_pixel *at, int64_t count,
                    int64_t first, int64_t last) {
  const ci_window *g = &p->g;
  const size_t line = (size_t)g->w * (size_t)g->c * p->item;
  const int64_t first_row = first / g->kw, skipped = first - first_row * g->kw;
  x += (size_t)(group * p->ic) * p->item;
  for (; count > 0; count--, ci_window_next(g, at)) {
    const int64_t y0 = at->y * g->sh - g->top, x0 = at->x * g->sw - g->left;
    int64_t tap = first, j = skipped;
    for (int64_t i = first_row; tap < last; i++, j = 0) {
      const int64_t y = y0 + i * g->dh, end = last - tap < g->kw - j ? j + last - tap : g->kw;
      const char *row = y < 0 || y >= g->h ? NULL : x + (size_t)(at->image * g->h + y) * line;
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
  const ci_operand w = {(const char *)k->in[1]->data + (size_t)(group * p->oc) * p->item, (ptrdiff_t)p->outputs, 1};
  return w;
}

static void conv_pixels(void *argument, int64_t begin, int64_t end, int thread) {
  const conv_job *job = argument;
  const ci_conv *p = job->p;
  const ci_kernel *k = job->k;
  char *packed = k->scratch, *tile = packed + (size_t)p->groups * p->b_bytes + (size_t)thread * p->tile_bytes;
  const char *x = k->in[0]->data;
  ci_pixel start = ci_window_at(&p->g, begin);
  for (int64_t pixel = begin, rows; pixel < end; pixel += rows) {
    ci_pixel next = start;
    rows = end - pixel < p->rows ? end - pixel : p->rows;
    for (int64_t group = 0; group < p->groups; group++) {
      ci_operand a = {x + (size_t)(pixel * p->g.c + group * p->ic) * p->item, (ptrdiff_t)p->g.c, 1};
      if (!p->direct) {
        next = start;
        ci_conv_gather(p, tile, x, group, &next, rows, 0, p->taps);
        a = (ci_operand){tile, (ptrdiff_t)p->depth, 1};
      }
      ci_operand b = conv_weights(p, k, group);
      if (p->b_bytes > 0) b = (ci_operand){packed + (size_t)group * p->b_bytes, 1, (ptrdiff_t)p->depth};
      const ci_matmul_part part = {
          .a = a,
          .b = b,
          .c = (char *)k->out[0]->data + (size_t)(pixel * p->outputs + group * p->oc) * p->item,
          .c_row = (ptrdiff_t)p->outputs,
          .m = rows,
          .n = p->oc,
          .k = p->depth};
      ci_matmul_compute(&p->product, k->isa, &part);
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
  const char **taps = (const char **)(void *)((char *)k->scratch + p->b_bytes + (size_t)thread * p->tile_bytes);
  const size_t row = (size_t)p->outputs * p->item;
  ci_pixel at = ci_window_at(&p->g, begin);
  for (int64_t pixel = begin; pixel < end; pixel++, ci_window_next(&p->g, &at)) {
    ci_window_taps(&p->g, p->item, k->in[0]->data, &at, none, taps);
    char *y = (char *)k->out[0]->data + (size_t)pixel * row;
    if (p->dtype == CI_FLOAT) {
      k->isa->linear->depthwise((float *)(void *)y, (const float *const *)(const void *)taps, k->in[1]->data, p->taps,
                                p->outputs);
      continue;
    }
    const double *w = k->in[1]->data;
    for (int64_t c = 0; c < p->outputs; c++) {
      double sum = 0.0;
      for (int64_t i = 0; i < p->taps; i++) {
        const double product = ((const double *)(const void *)taps[i])[c] * w[i * p->outputs + c];
        sum = sum + product;
      }
      ((double *)(void *)y)[c] = sum;
    }
  }
}

/* The form with outputs as lanes, if it fits. */
static void conv_plan_tiles(ci_kernel *k, ci_conv *p, int32_t *offset) {
  const ci_window *g = &p->g;
  ci_conv_tiles *t = &p->lanes;
  if (offset == NULL || p->dtype != CI_FLOAT || p->product.dots) return;
  t->z = (ci_conv_axis){1, 1, 1, 1, 0, 1};
  t->y = (ci_conv_axis){g->h, g->kh, g->sh, g->dh, g->top, g->oh};
  t->x = (ci_conv_axis){g->w, g->kw, g->sw, g->dw, g->left, g->ow};
  t->images = g->n;
  t->groups = p->groups;
  t->ic = p->ic;
  t->oc = p->oc;
  t->block = p->product.block;
  t->channels_last = true;
  t->offset = offset;
  if (!ci_conv_tiles_plan(k, t, &k->scratch_bytes)) t->offset = NULL;
}

ci_status ci_prepare_conv2d(ci_kernel *k) {
  const ci_value *x = k->in[0], *w = k->in[1];
  if (x->rank != 4 || w->rank != 4 || x->dtype != w->dtype) {
    char left[128], right[128];
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "x is %s and w is %s, expected two tensors of rank 4 and one type",
                     ci_value_describe(x, left, sizeof left), ci_value_describe(w, right, sizeof right));
  }
  const int64_t depth = ci_shape_count(w->dims, 0, 3);
  const size_t offsets = depth > 0 && depth <= CI_CONV_OFFSETS ? (size_t)depth * sizeof(int32_t) : 0;
  ci_conv *p = ci_k_private(k, sizeof *p + offsets);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_conv_prepare(k, x->dims, w->dims, x->dtype, p));
  const int64_t dims[4] = {p->g.n, p->g.oh, p->g.ow, p->outputs};
  CI_TRY(ci_k_out(k, 0, x->dtype, 4, dims));
  ci_matmul_rule(&p->product, p->dtype, p->oc, p->depth);
  const size_t threads = (size_t)k->threads;
  if (p->depthwise) {
    p->b_bytes = ci_round_up((size_t)p->outputs * p->item, 64);
    p->tile_bytes = ci_round_up((size_t)p->taps * sizeof(char *), 64);
    k->scratch_bytes = p->b_bytes + threads * p->tile_bytes;
    return CI_OK;
  }
  p->b_bytes = ci_round_up(ci_matmul_b_bytes(&p->product, (ptrdiff_t)p->outputs, 1), 64);
  p->tile_bytes = p->direct ? 0 : ci_round_up((size_t)p->rows * (size_t)p->depth * p->item, 64);
  k->scratch_bytes = (size_t)p->groups * p->b_bytes + threads * p->tile_bytes;
  conv_plan_tiles(k, p, offsets > 0 ? (int32_t *)(void *)(p + 1) : NULL);
  return CI_OK;
}

ci_status ci_run_conv2d(ci_kernel *k) {
  conv_job job = {k, k->private_memory};
  const ci_conv *p = job.p;
  if (k->out[0]->count == 0) return CI_OK;
  if (p->lanes.offset != NULL) {
    const ci_conv_tiles_job tiles = {
        .k = k, .p = &p->lanes, .x = k->in[0]->data, .w = k->in[1]->data, .y = k->out[0]->data};
    ci_conv_tiles_run(&tiles);
    return CI_OK;
  }
  if (p->depthwise) {
    memset(k->scratch, 0, p->b_bytes);
    ci_k_parallel(k, p->g.pixels, p->grain, conv_depthwise_pixels, &job);
    return CI_OK;
  }
  for (int64_t group = 0; p->b_bytes > 0 && group < p->groups; group++) {
    ci_matmul_pack_b(&p->product, conv_weights(p, k, group), (char *)k->scratch + (size_t)group * p->b_bytes);
  }
  ci_k_parallel(k, p->g.pixels, p->grain, conv_pixels, &job);
  return CI_OK;
}
#endif
