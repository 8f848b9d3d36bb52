/* conv_grad.c - Conv2DGradInput and Conv2DGradFilter.
 *
 * GradFilter is a product over the pixels of all images: dw[k, o] = sum over pixels of x's tap k times dy. GradInput
 * multiplies dy by the turned filters (K = outputs of a group, N = kh * kw * channels) and adds the taps to dx in
 * ascending order of (oh, ow, kh, kw), from +0.
 */
#include "../convolution/conv.h"

#include "../../simd/isa.h"
#include "../../simd/linear/isa_linear.h"
#if CI_HAS(training)

typedef struct conv_grad_job {
  ci_kernel *k;
  const ci_conv *p;
  int64_t group;
} conv_grad_job;

/* dy must have the shape that Conv2D gives. */
static ci_status conv_grad_prepare(ci_kernel *k, const int64_t *x_dims, const int64_t *w_dims, const ci_value *other,
                                   ci_conv **plan) {
  const ci_value *dy = k->in[2];
  char text[128], more[128];
  if (dy->rank != 4 || other->rank != 4 || dy->dtype != other->dtype) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "dy is %s and the other operand %s, expected two tensors of rank 4 and one type",
                     ci_value_describe(dy, text, sizeof text), ci_value_describe(other, more, sizeof more));
  }
  ci_conv *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_conv_prepare(k, x_dims, w_dims, dy->dtype, p));
  const int64_t dims[4] = {p->g.n, p->g.oh, p->g.ow, p->outputs};
  if (memcmp(dims, dy->dims, sizeof dims) != 0) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "dy is %s, expected [%lld,%lld,%lld,%lld] from the image and the filters",
                     ci_value_describe(dy, text, sizeof text), (long long)dims[0], (long long)dims[1],
                     (long long)dims[2], (long long)dims[3]);
  }
  *plan = p;
  return CI_OK;
}

static ci_status conv_grad_shape(ci_kernel *k, int input, const char *name, int64_t *dims) {
  int count = 0;
  CI_TRY(ci_k_known_ints(k, input, dims, 4, &count));
  if (count == 4) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s has %d numbers, expected 4", name, count);
}

/* ---- Conv2DGradInput ---- */

static void conv_grad_add(const ci_conv *p, const ci_kernel *k, char *to, const char *from, int64_t n) {
  if (p->dtype == CI_FLOAT) {
    k->isa->linear->add((float *)(void *)to, (const float *)(const void *)from, n);
    return;
  }
  double *y = (double *)(void *)to;
  const double *x = (const double *)(const void *)from;
  for (int64_t i = 0; i < n; i++) y[i] = y[i] + x[i];
}

/* Adds one pixel's taps, (tap, channel), where they lie in the image. */
static void conv_grad_scatter(const conv_grad_job *job, const char *taps, const ci_pixel *at) {
  const ci_conv *p = job->p;
  const ci_window *g = &p->g;
  const size_t one = (size_t)p->ic * p->item, step = (size_t)g->c * p->item;
  char *dx = (char *)job->k->out[0]->data + (size_t)job->group * one;
  const int64_t y0 = at->y * g->sh - g->top, x0 = at->x * g->sw - g->left;
  const bool runs = g->dw == 1 && p->groups == 1;
  for (int64_t i = 0; i < g->kh; i++, taps += (size_t)g->kw * one) {
    const int64_t y = y0 + i * g->dh;
    if (y < 0 || y >= g->h) continue;
    char *row = dx + (size_t)((at->image * g->h + y) * g->w) * step;
    if (runs) {
      const int64_t low = x0 < 0 ? 0 : x0, high = x0 + g->kw > g->w ? g->w : x0 + g->kw;
      if (low < high) {
        conv_grad_add(p, job->k, row + (size_t)low * step, taps + (size_t)(low - x0) * one, (high - low) * p->ic);
      }
      continue;
    }
    for (int64_t j = 0; j < g->kw; j++) {
      const int64_t x = x0 + j * g->dw;
      if (x >= 0 && x < g->w) conv_grad_add(p, job->k, row + (size_t)x * step, taps + (size_t)j * one, p->ic);
    }
  }
}

static void conv_grad_input_images(void *argument, int64_t begin, int64_t end, int thread) {
  const conv_grad_job *job = argument;
  const ci_conv *p = job->p;
  const ci_kernel *k = job->k;
  char *packed = k->scratch, *tile = packed + p->b_bytes + (size_t)thread * p->tile_bytes;
  const int64_t outputs = p->g.oh * p->g.ow;
  const ci_operand w = {(const char *)k->in[1]->data + (size_t)(job->group * p->oc) * p->item, 1,
                        (ptrdiff_t)p->outputs};
  const ci_operand b = p->b_bytes == 0 ? w : (ci_operand){packed, (ptrdiff_t)p->depth, 1};
  ci_pixel at = {begin, 0, 0};
  for (int64_t pixel = begin * outputs, rows; pixel < end * outputs; pixel += rows) {
    rows = end * outputs - pixel < p->rows ? end * outputs - pixel : p->rows;
    const ci_matmul_part part = {
        .a = {(const char *)k->in[2]->data + (size_t)(pixel * p->outputs + job->group * p->oc) * p->item,
              (ptrdiff_t)p->outputs, 1},
        .b = b,
        .c = tile,
        .c_row = (ptrdiff_t)p->depth,
        .m = rows,
        .n = p->depth,
        .k = p->oc};
    ci_matmul_compute(&p->product, k->isa, &part);
    for (int64_t i = 0; i < rows; i++, ci_window_next(&p->g, &at)) {
      conv_grad_scatter(job, tile + (size_t)(i * p->depth) * p->item, &at);
    }
  }
}

ci_status ci_prepare_conv2d_grad_input(ci_kernel *k) {
  int64_t x_dims[4];
  CI_TRY(conv_grad_shape(k, 0, "x_shape", x_dims));
  ci_conv *p;
  CI_TRY(conv_grad_prepare(k, x_dims, k->in[1]->dims, k->in[1], &p));
  CI_TRY(ci_k_out(k, 0, p->dtype, 4, x_dims));
  ci_matmul_rule(&p->product, p->dtype, p->depth, p->oc);
  p->b_bytes = ci_round_up(ci_matmul_b_bytes(&p->product, 1, (ptrdiff_t)p->outputs), 64);
  p->tile_bytes = ci_round_up((size_t)p->rows * (size_t)p->depth * p->item, 64);
  k->scratch_bytes = p->b_bytes + (size_t)k->threads * p->tile_bytes;
  return CI_OK;
}

ci_status ci_run_conv2d_grad_input(ci_kernel *k) {
  conv_grad_job job = {.k = k, .p = k->private_memory};
  const ci_conv *p = job.p;
  memset(k->out[0]->data, 0, k->out[0]->bytes);
  if (k->out[0]->count == 0 || p->g.pixels == 0) return CI_OK;
  for (job.group = 0; job.group < p->groups; job.group++) {
    const ci_operand w = {(const char *)k->in[1]->data + (size_t)(job.group * p->oc) * p->item, 1,
                          (ptrdiff_t)p->outputs};
    ci_matmul_pack_b(&p->product, w, k->scratch);
    ci_k_parallel(k, p->g.n, 1, conv_grad_input_images, &job);
  }
  return CI_OK;
}

/* ---- Conv2DGradFilter ---- */

/* Column form: some taps, all pixels in chunks of whole blocks. */
static void conv_grad_filter_chunks(const conv_grad_job *job, char *tile, int64_t first, int64_t last) {
  const ci_conv *p = job->p;
  const ci_kernel *k = job->k;
  const int64_t rows = (last - first) * p->ic;
  ci_pixel at = {0, 0, 0};
  for (int64_t pixel = 0, count; pixel < p->g.pixels; pixel += count) {
    count = p->g.pixels - pixel < p->rows ? p->g.pixels - pixel : p->rows;
    ci_operand a = {(const char *)k->in[0]->data + (size_t)(pixel * p->g.c + job->group * p->ic) * p->item, 1,
                    (ptrdiff_t)p->g.c};
    if (!p->direct) {
      ci_conv_gather(p, tile, k->in[0]->data, job->group, &at, count, first, last);
      a = (ci_operand){tile, 1, (ptrdiff_t)rows};
    }
    const ci_matmul_part part = {
        .a = a,
        .b = {(const char *)k->in[2]->data + (size_t)(pixel * p->outputs + job->group * p->oc) * p->item,
              (ptrdiff_t)p->outputs, 1},
        .c = (char *)k->out[0]->data + (size_t)(first * p->ic * p->outputs + job->group * p->oc) * p->item,
        .c_row = (ptrdiff_t)p->outputs,
        .m = rows,
        .n = p->oc,
        .k = count,
        .add = pixel > 0};
    ci_matmul_compute(&p->product, k->isa, &part);
  }
}

/* Dot form: the lanes run over all pixels, so the rows of a tap are gathered whole and turned. */
static void conv_grad_filter_dots(const conv_grad_job *job, char *tile, int64_t tap) {
  const ci_conv *p = job->p;
  const ci_kernel *k = job->k;
  const ci_operand dy = {(const char *)k->in[2]->data + (size_t)(job->group * p->oc) * p->item, (ptrdiff_t)p->outputs,
                         1};
  const ci_operand b = p->b_bytes == 0 ? dy : (ci_operand){k->scratch, 1, (ptrdiff_t)p->g.pixels};
  char *turned = tile + p->tile_bytes / 2;
  ci_pixel at = {0, 0, 0};
  ci_conv_gather(p, tile, k->in[0]->data, job->group, &at, p->g.pixels, tap, tap + 1);
  ci_transpose_copy(p->item, turned, tile, p->g.pixels, p->ic, (ptrdiff_t)p->ic, 1);
  const ci_matmul_part part = {
      .a = {turned, (ptrdiff_t)p->g.pixels, 1},
      .b = b,
      .c = (char *)k->out[0]->data + (size_t)(tap * p->ic * p->outputs + job->group * p->oc) * p->item,
      .c_row = (ptrdiff_t)p->outputs,
      .m = p->ic,
      .n = p->oc,
      .k = p->g.pixels};
  ci_matmul_compute(&p->product, k->isa, &part);
}

static void conv_grad_filter_taps(void *argument, int64_t begin, int64_t end, int thread) {
  const conv_grad_job *job = argument;
  const ci_conv *p = job->p;
  char *tile = (char *)job->k->scratch + p->b_bytes + (size_t)thread * p->tile_bytes;
  if (p->product.dots) {
    for (int64_t tap = begin; tap < end; tap++) conv_grad_filter_dots(job, tile, tap);
    return;
  }
  for (int64_t tap = begin; tap < end; tap += p->grain) {
    conv_grad_filter_chunks(job, tile, tap, tap + p->grain < end ? tap + p->grain : end);
  }
}

/* Depthwise: the channels are the columns; every tap is a row. Blocks of L pixels, each one chain. */
static void conv_grad_filter_depthwise(void *argument, int64_t begin, int64_t end, int thread) {
  const conv_grad_job *job = argument;
  const ci_conv *p = job->p;
  const ci_window *g = &p->g;
  const ci_kernel *k = job->k;
  const size_t row = (size_t)p->outputs * p->item;
  const char *zeros = k->scratch;
  char *chain = (char *)k->scratch + p->b_bytes + (size_t)thread * p->tile_bytes;
  for (int64_t tap = begin; tap < end; tap++) {
    const int64_t i = tap / g->kw, j = tap - i * g->kw;
    char *dw = (char *)k->out[0]->data + (size_t)tap * row;
    ci_pixel at = {0, 0, 0};
    int64_t left = 0; /* pixels until the block ends */
    char *sum = dw;
    for (int64_t pixel = 0; pixel < g->pixels; ci_window_next(g, &at)) {
      if (left == 0) {
        sum = pixel == 0 ? dw : chain;
        memset(sum, 0, row);
        left = p->product.block;
      }
      const int64_t y = at.y * g->sh - g->top + i * g->dh, x = at.x * g->sw - g->left + j * g->dw;
      const bool inside = y >= 0 && y < g->h && x >= 0 && x < g->w;
      const void *source =
          inside ? (const char *)k->in[0]->data + (size_t)((at.image * g->h + y) * g->w + x) * row : zeros;
      const void *dy = (const char *)k->in[2]->data + (size_t)pixel * row;
      void *target = sum;
      if (p->dtype == CI_FLOAT) {
        k->isa->linear->multiply_add(target, source, dy, p->outputs);
      } else {
        for (int64_t c = 0; c < p->outputs; c++) {
          const double product = ((const double *)source)[c] * ((const double *)dy)[c];
          ((double *)target)[c] = ((double *)target)[c] + product;
        }
      }
      pixel++;
      left--;
      if (sum == chain && (left == 0 || pixel == g->pixels)) conv_grad_add(p, k, dw, chain, p->outputs);
    }
  }
}

static ci_status conv_grad_filter_scratch(ci_kernel *k, ci_conv *p) {
  size_t tile;
  const size_t pixels = (size_t)p->g.pixels, one = (size_t)p->ic * p->item;
  if (p->depthwise) {
    p->b_bytes = ci_round_up((size_t)p->outputs * p->item, 64); /* zeros for taps in the padding */
    tile = p->b_bytes;
  } else if (p->product.dots) {
    p->b_bytes = ci_round_up(ci_matmul_b_bytes(&p->product, (ptrdiff_t)p->outputs, 1), 64);
    if (!ci_mul_size(pixels, one, &tile) || tile > PTRDIFF_MAX / 256) {
      return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "the filters' gradient needs %zu pixels at once, too many", pixels);
    }
    tile = 2 * ci_round_up(tile, 64);
  } else {
    /* whole blocks of pixels, then as many taps as fit */
    const int64_t tap_bytes = p->ic * (int64_t)p->item > 0 ? p->ic * (int64_t)p->item : 1;
    const int64_t most = 2 * CI_CONV_TILE_BYTES, blocks = most / tap_bytes / p->taps / p->product.block;
    p->rows = (blocks > 1 ? blocks : 1) * p->product.block;
    p->grain = most / tap_bytes / p->rows;
    if (p->grain < 1) p->grain = 1;
    if (p->grain > p->taps) p->grain = p->taps;
    tile = p->direct ? 0 : (size_t)p->rows * (size_t)p->grain * one;
  }
  p->tile_bytes = ci_round_up(tile, 128);
  k->scratch_bytes = p->b_bytes + (size_t)k->threads * p->tile_bytes;
  return CI_OK;
}

ci_status ci_prepare_conv2d_grad_filter(ci_kernel *k) {
  int64_t w_dims[4];
  CI_TRY(conv_grad_shape(k, 1, "w_shape", w_dims));
  ci_conv *p;
  CI_TRY(conv_grad_prepare(k, k->in[0]->dims, w_dims, k->in[0], &p));
  CI_TRY(ci_k_out(k, 0, p->dtype, 4, w_dims));
  ci_matmul_rule(&p->product, p->dtype, p->depthwise ? p->outputs : p->oc, p->g.pixels);
  return conv_grad_filter_scratch(k, p);
}

ci_status ci_run_conv2d_grad_filter(ci_kernel *k) {
  conv_grad_job job = {.k = k, .p = k->private_memory};
  const ci_conv *p = job.p;
  if (k->out[0]->count == 0) return CI_OK;
  if (p->g.pixels == 0) {
    memset(k->out[0]->data, 0, k->out[0]->bytes);
    return CI_OK;
  }
  if (p->depthwise) {
    memset(k->scratch, 0, p->b_bytes);
    ci_k_parallel(k, p->taps, 1, conv_grad_filter_depthwise, &job);
    return CI_OK;
  }
  for (job.group = 0; job.group < p->groups; job.group++) {
    if (p->product.dots) {
      const ci_operand dy = {(const char *)k->in[2]->data + (size_t)(job.group * p->oc) * p->item,
                             (ptrdiff_t)p->outputs, 1};
      ci_matmul_pack_b(&p->product, dy, k->scratch);
    }
    ci_k_parallel(k, p->taps, 1, conv_grad_filter_taps, &job);
  }
  return CI_OK;
}
#endif
