/* conv_grad.c - Conv2DGradInput and Conv2DGradFilter, the gradients of Conv2D.
 *
 * GradFilter sums over the pixels of all images: dw[k, o] = sum over pixels of x's tap k times dy. GradInput
 * multiplies dy by the transposed filters (K = outputs of a group, N = kh * kw * channels) and adds the taps to dx in
 * ascending order of (oh, ow, kh, kw), from +0.
 */
#include "../convolution/conv.h"

#include "../../simd/isa.h"
#include "../../simd/linear/isa_linear.h"
#if CI_HAS(training)

typedef struct conv_grad_plan {
  ci_conv conv;
  int64_t taps; /* of a tile of the filters' gradient */
} conv_grad_plan;

typedef struct conv_grad_job {
  ci_kernel *k;
  const ci_conv *p;
  int64_t taps; /* of a tile of the filters' gradient */
  int64_t group;
} conv_grad_job;

/* dy must have the shape that Conv2D gives. */
static ci_status conv_grad_prepare(ci_kernel *k, const int64_t *x_dims, const int64_t *w_dims, const ci_value *other,
                                   conv_grad_plan **plan) {
  const ci_value *dy = k->in[2];
  char described[128], more[128];
  if (dy->rank != 4 || other->rank != 4 || dy->dtype != other->dtype) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "dy is %s and the other operand %s, expected two tensors of rank 4 and one type",
                     ci_value_describe(dy, described, sizeof described), ci_value_describe(other, more, sizeof more));
  }
  *plan = ci_k_private(k, sizeof **plan);
  if (*plan == NULL) return ci_k_no_memory(k);
  ci_conv *p = &(*plan)->conv;
  CI_TRY(ci_conv_prepare(k, x_dims, w_dims, dy->dtype, p));
  const int64_t dims[4] = {p->g.n, p->g.nd.out[0], p->g.nd.out[1], p->g.outputs};
  if (!ci_shape_same(4, dims, dy->rank, dy->dims)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "dy is %s, expected [%lld,%lld,%lld,%lld] from the image and the filters",
                     ci_value_describe(dy, described, sizeof described), (long long)dims[0], (long long)dims[1],
                     (long long)dims[2], (long long)dims[3]);
  }
  return CI_OK;
}

static ci_status conv_grad_shape(ci_kernel *k, int input, const char *name, int64_t *dims) {
  int count = 0;
  CI_TRY(ci_k_known_ints(k, input, dims, 4, &count));
  if (count == 4) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s has %d numbers, expected 4", name, count);
}

static conv_grad_job conv_grad_job_of(ci_kernel *k) {
  const conv_grad_plan *plan = k->private_memory;
  return (conv_grad_job){.k = k, .p = &plan->conv, .taps = plan->taps};
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

/* Adds one pixel's taps, (tap, channel), to the image. */
static void conv_grad_scatter(const conv_grad_job *job, const char *taps, const ci_pixel *at) {
  const ci_conv *p = job->p;
  const ci_nd *g = &p->g.nd;
  const size_t one = (size_t)p->g.ic * p->item, step = (size_t)p->g.c * p->item;
  char *dx = (char *)job->k->out[0]->data + (size_t)job->group * one;
  const int64_t y0 = at->y * g->stride[0] - g->before[0], x0 = at->x * g->stride[1] - g->before[1];
  const bool runs = g->dilation[1] == 1 && p->g.groups == 1;
  for (int64_t i = 0; i < g->kernel[0]; i++, taps += (size_t)g->kernel[1] * one) {
    const int64_t y = y0 + i * g->dilation[0];
    if (y < 0 || y >= g->size[0]) continue;
    char *row = dx + (size_t)((at->image * g->size[0] + y) * g->size[1]) * step;
    if (runs) {
      const int64_t low = x0 < 0 ? 0 : x0, high = x0 + g->kernel[1] > g->size[1] ? g->size[1] : x0 + g->kernel[1];
      if (low < high) {
        conv_grad_add(p, job->k, row + (size_t)low * step, taps + (size_t)(low - x0) * one, (high - low) * p->g.ic);
      }
      continue;
    }
    for (int64_t j = 0; j < g->kernel[1]; j++) {
      const int64_t x = x0 + j * g->dilation[1];
      if (x >= 0 && x < g->size[1]) conv_grad_add(p, job->k, row + (size_t)x * step, taps + (size_t)j * one, p->g.ic);
    }
  }
}

static void conv_grad_input_images(void *argument, int64_t begin, int64_t end, int thread) {
  const conv_grad_job *job = argument;
  const ci_conv *p = job->p;
  const ci_kernel *k = job->k;
  char *packed = k->scratch, *tile = packed + p->matmul.b_bytes + (size_t)thread * p->matmul.tile_bytes;
  const int64_t outputs = p->g.nd.positions;
  const ci_operand w = {(const char *)k->in[1]->data + (size_t)(job->group * p->g.oc) * p->item, 1,
                        (ptrdiff_t)p->g.outputs};
  const ci_operand b = p->matmul.b_bytes == 0 ? w : (ci_operand){packed, (ptrdiff_t)p->g.depth, 1};
  ci_pixel at = {begin, 0, 0};
  for (int64_t pixel = begin * outputs, rows; pixel < end * outputs; pixel += rows) {
    rows = end * outputs - pixel < p->matmul.rows ? end * outputs - pixel : p->matmul.rows;
    const ci_matmul_part part = {
        .a = {(const char *)k->in[2]->data + (size_t)(pixel * p->g.outputs + job->group * p->g.oc) * p->item,
              (ptrdiff_t)p->g.outputs, 1},
        .b = b,
        .c = tile,
        .c_row = (ptrdiff_t)p->g.depth,
        .m = rows,
        .n = p->g.depth,
        .k = p->g.oc};
    ci_matmul_compute(&p->matmul.rule, k->isa, &part);
    for (int64_t i = 0; i < rows; i++, ci_window_next(&p->g.nd, &at)) {
      conv_grad_scatter(job, tile + (size_t)(i * p->g.depth) * p->item, &at);
    }
  }
}

ci_status ci_prepare_conv2d_grad_input(ci_kernel *k) {
  int64_t x_dims[4];
  CI_TRY(conv_grad_shape(k, 0, "x_shape", x_dims));
  conv_grad_plan *plan;
  CI_TRY(conv_grad_prepare(k, x_dims, k->in[1]->dims, k->in[1], &plan));
  ci_conv *p = &plan->conv;
  CI_TRY(ci_k_out(k, 0, p->dtype, 4, x_dims));
  ci_matmul_rule(&p->matmul.rule, p->dtype, p->g.depth, p->g.oc);
  p->matmul.b_bytes = ci_round_up(ci_matmul_b_bytes(&p->matmul.rule, 1, (ptrdiff_t)p->g.outputs), 64);
  p->matmul.tile_bytes = ci_round_up((size_t)p->matmul.rows * (size_t)p->g.depth * p->item, 64);
  k->scratch_bytes = p->matmul.b_bytes + (size_t)k->threads * p->matmul.tile_bytes;
  return CI_OK;
}

ci_status ci_run_conv2d_grad_input(ci_kernel *k) {
  conv_grad_job job = conv_grad_job_of(k);
  const ci_conv *p = job.p;
  memset(k->out[0]->data, 0, k->out[0]->bytes);
  if (k->out[0]->count == 0 || p->pixels == 0) return CI_OK;
  for (job.group = 0; job.group < p->g.groups; job.group++) {
    const ci_operand w = {(const char *)k->in[1]->data + (size_t)(job.group * p->g.oc) * p->item, 1,
                          (ptrdiff_t)p->g.outputs};
    ci_matmul_pack_b(&p->matmul.rule, w, k->scratch);
    ci_k_parallel(k, p->g.n, 1, conv_grad_input_images, &job);
  }
  return CI_OK;
}

/* ---- Conv2DGradFilter ---- */

/* Column form: some taps, all pixels in chunks of complete blocks. */
static void conv_grad_filter_chunks(const conv_grad_job *job, char *tile, int64_t first, int64_t last) {
  const ci_conv *p = job->p;
  const ci_kernel *k = job->k;
  const int64_t rows = (last - first) * p->g.ic;
  ci_pixel at = {0, 0, 0};
  for (int64_t pixel = 0, count; pixel < p->pixels; pixel += count) {
    count = p->pixels - pixel < p->matmul.rows ? p->pixels - pixel : p->matmul.rows;
    ci_operand a = {(const char *)k->in[0]->data + (size_t)(pixel * p->g.c + job->group * p->g.ic) * p->item, 1,
                    (ptrdiff_t)p->g.c};
    if (!p->matmul.pointwise) {
      ci_conv_gather(p, tile, k->in[0]->data, job->group, &at, count, first, last);
      a = (ci_operand){tile, 1, (ptrdiff_t)rows};
    }
    const ci_matmul_part part = {
        .a = a,
        .b = {(const char *)k->in[2]->data + (size_t)(pixel * p->g.outputs + job->group * p->g.oc) * p->item,
              (ptrdiff_t)p->g.outputs, 1},
        .c = (char *)k->out[0]->data + (size_t)(first * p->g.ic * p->g.outputs + job->group * p->g.oc) * p->item,
        .c_row = (ptrdiff_t)p->g.outputs,
        .m = rows,
        .n = p->g.oc,
        .k = count,
        .add = pixel > 0};
    ci_matmul_compute(&p->matmul.rule, k->isa, &part);
  }
}

/* Dot form: the lanes run over all pixels, so that all rows of a tap are gathered, and transposed. */
static void conv_grad_filter_dots(const conv_grad_job *job, char *tile, int64_t tap) {
  const ci_conv *p = job->p;
  const ci_kernel *k = job->k;
  const ci_operand dy = {(const char *)k->in[2]->data + (size_t)(job->group * p->g.oc) * p->item,
                         (ptrdiff_t)p->g.outputs, 1};
  const ci_operand b = p->matmul.b_bytes == 0 ? dy : (ci_operand){k->scratch, 1, (ptrdiff_t)p->pixels};
  char *transposed = tile + p->matmul.tile_bytes / 2;
  ci_pixel at = {0, 0, 0};
  ci_conv_gather(p, tile, k->in[0]->data, job->group, &at, p->pixels, tap, tap + 1);
  ci_transpose_copy(p->item, transposed, tile, p->pixels, p->g.ic, (ptrdiff_t)p->g.ic, 1);
  const ci_matmul_part part = {
      .a = {transposed, (ptrdiff_t)p->pixels, 1},
      .b = b,
      .c = (char *)k->out[0]->data + (size_t)(tap * p->g.ic * p->g.outputs + job->group * p->g.oc) * p->item,
      .c_row = (ptrdiff_t)p->g.outputs,
      .m = p->g.ic,
      .n = p->g.oc,
      .k = p->pixels};
  ci_matmul_compute(&p->matmul.rule, k->isa, &part);
}

static void conv_grad_filter_taps(void *argument, int64_t begin, int64_t end, int thread) {
  const conv_grad_job *job = argument;
  const ci_conv *p = job->p;
  char *tile = (char *)job->k->scratch + p->matmul.b_bytes + (size_t)thread * p->matmul.tile_bytes;
  if (p->matmul.rule.dots) {
    for (int64_t tap = begin; tap < end; tap++) conv_grad_filter_dots(job, tile, tap);
    return;
  }
  for (int64_t tap = begin; tap < end; tap += job->taps) {
    conv_grad_filter_chunks(job, tile, tap, ci_min(tap + job->taps, end));
  }
}

/* Depthwise: the channels are the columns; every tap is a row. Blocks of L pixels, each one chain. */
static void conv_grad_filter_depthwise(void *argument, int64_t begin, int64_t end, int thread) {
  const conv_grad_job *job = argument;
  const ci_conv *p = job->p;
  const ci_nd *g = &p->g.nd;
  const ci_kernel *k = job->k;
  const size_t row = (size_t)p->g.outputs * p->item;
  const char *zeros = k->scratch;
  char *chain = (char *)k->scratch + p->matmul.b_bytes + (size_t)thread * p->matmul.tile_bytes;
  for (int64_t tap = begin; tap < end; tap++) {
    const int64_t i = tap / g->kernel[1], j = tap - i * g->kernel[1];
    char *dw = (char *)k->out[0]->data + (size_t)tap * row;
    ci_pixel at = {0, 0, 0};
    int64_t left = 0; /* pixels until the block ends */
    char *sum = dw;
    for (int64_t pixel = 0; pixel < p->pixels; ci_window_next(g, &at)) {
      if (left == 0) {
        sum = pixel == 0 ? dw : chain;
        memset(sum, 0, row);
        left = p->matmul.rule.block;
      }
      const int64_t y = at.y * g->stride[0] - g->before[0] + i * g->dilation[0],
                    x = at.x * g->stride[1] - g->before[1] + j * g->dilation[1];
      const bool inside = y >= 0 && y < g->size[0] && x >= 0 && x < g->size[1];
      const void *source =
          inside ? (const char *)k->in[0]->data + (size_t)((at.image * g->size[0] + y) * g->size[1] + x) * row : zeros;
      const void *dy = (const char *)k->in[2]->data + (size_t)pixel * row;
      void *target = sum;
      if (p->dtype == CI_FLOAT) {
        k->isa->linear->multiply_add(target, source, dy, p->g.outputs);
      } else {
        for (int64_t c = 0; c < p->g.outputs; c++) {
          const double term = ((const double *)source)[c] * ((const double *)dy)[c];
          ((double *)target)[c] = ((double *)target)[c] + term;
        }
      }
      pixel++;
      left--;
      if (sum == chain && (left == 0 || pixel == p->pixels)) conv_grad_add(p, k, dw, chain, p->g.outputs);
    }
  }
}

static ci_status conv_grad_filter_scratch(ci_kernel *k, conv_grad_plan *plan) {
  ci_conv *p = &plan->conv;
  size_t tile;
  const size_t pixels = (size_t)p->pixels, one = (size_t)p->g.ic * p->item;
  if (ci_conv_geometry_is_depthwise(&p->g)) {
    p->matmul.b_bytes = ci_round_up((size_t)p->g.outputs * p->item, 64); /* zeros for taps in the padding */
    tile = p->matmul.b_bytes;
  } else if (p->matmul.rule.dots) {
    p->matmul.b_bytes = ci_round_up(ci_matmul_b_bytes(&p->matmul.rule, (ptrdiff_t)p->g.outputs, 1), 64);
    if (!ci_mul_size(pixels, one, &tile) || tile > PTRDIFF_MAX / 256) {
      return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "the filters' gradient needs %zu pixels at once, too many", pixels);
    }
    tile = 2 * ci_round_up(tile, 64);
  } else {
    /* complete blocks of pixels, then as many taps as fit */
    const int64_t tap_bytes = p->g.ic * (int64_t)p->item > 0 ? p->g.ic * (int64_t)p->item : 1;
    const int64_t most = 2 * CI_CONV_TILE_BYTES, blocks = most / tap_bytes / p->g.nd.taps / p->matmul.rule.block;
    p->matmul.rows = (blocks > 1 ? blocks : 1) * p->matmul.rule.block;
    plan->taps = ci_min(most / tap_bytes / p->matmul.rows, p->g.nd.taps);
    if (plan->taps < 1) plan->taps = 1;
    tile = p->matmul.pointwise ? 0 : (size_t)p->matmul.rows * (size_t)plan->taps * one;
  }
  p->matmul.tile_bytes = ci_round_up(tile, 128);
  k->scratch_bytes = p->matmul.b_bytes + (size_t)k->threads * p->matmul.tile_bytes;
  return CI_OK;
}

ci_status ci_prepare_conv2d_grad_filter(ci_kernel *k) {
  int64_t w_dims[4];
  CI_TRY(conv_grad_shape(k, 1, "w_shape", w_dims));
  conv_grad_plan *plan;
  CI_TRY(conv_grad_prepare(k, k->in[0]->dims, w_dims, k->in[0], &plan));
  ci_conv *p = &plan->conv;
  CI_TRY(ci_k_out(k, 0, p->dtype, 4, w_dims));
  ci_matmul_rule(&p->matmul.rule, p->dtype, ci_conv_geometry_is_depthwise(&p->g) ? p->g.outputs : p->g.oc, p->pixels);
  return conv_grad_filter_scratch(k, plan);
}

ci_status ci_run_conv2d_grad_filter(ci_kernel *k) {
  conv_grad_job job = conv_grad_job_of(k);
  const ci_conv *p = job.p;
  if (k->out[0]->count == 0) return CI_OK;
  if (p->pixels == 0) {
    memset(k->out[0]->data, 0, k->out[0]->bytes);
    return CI_OK;
  }
  if (ci_conv_geometry_is_depthwise(&p->g)) {
    memset(k->scratch, 0, p->matmul.b_bytes);
    ci_k_parallel(k, p->g.nd.taps, 1, conv_grad_filter_depthwise, &job);
    return CI_OK;
  }
  for (job.group = 0; job.group < p->g.groups; job.group++) {
    if (p->matmul.rule.dots) {
      const ci_operand dy = {(const char *)k->in[2]->data + (size_t)(job.group * p->g.oc) * p->item,
                             (ptrdiff_t)p->g.outputs, 1};
      ci_matmul_pack_b(&p->matmul.rule, dy, k->scratch);
    }
    ci_k_parallel(k, p->g.nd.taps, 1, conv_grad_filter_taps, &job);
  }
  return CI_OK;
}
#endif
