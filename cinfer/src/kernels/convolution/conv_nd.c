/* conv_nd.c - Conv: x (n, c, ...), w (m, c / group, ...) -> y (n, m, ...); its gradients; ConvTranspose.
 *
 * As a matrix multiplication, weights are rows and the windows of one image columns: tiles of (term, window) are
 * gathered into scratch, a term being (channel, tap). The image's gradient and ConvTranspose multiply the transposed
 * weights and add the columns to planes; the weights' gradient gathers (window, term).
 */
#include "conv_nd.h"

#include "../../simd/isa.h"
#include "../../simd/linear/isa_linear.h"
#include "window.h"
#if CI_HAS_CONVOLUTIONS

enum {
  CONV_ND_TILE_BYTES = 1 << 18,
  CONV_ND_WIDTH = 192,
  CONV_ND_COLUMNS = 64,
};

static ci_status conv_nd_large(ci_kernel *k) {
  return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "a convolution of these sizes needs too much memory at once");
}

/* a * b elements, padded to a cache line. */
static ci_status conv_nd_bytes(ci_kernel *k, int64_t a, int64_t b, size_t item, size_t *bytes) {
  if (!ci_mul_size((uint64_t)a, (uint64_t)b, bytes) || !ci_mul_size(*bytes, item, bytes) ||
      *bytes > PTRDIFF_MAX / 1024) {
    return conv_nd_large(k);
  }
  *bytes = ci_round_up(*bytes, 64);
  return CI_OK;
}

ci_status ci_conv_nd_prepare(ci_kernel *k, int rank, const int64_t *x, const int64_t *w, ci_conv_nd *p) {
  int64_t groups;
  CI_TRY(ci_k_attr_i(k, "group", 1, &groups));
  if (groups < 1 || groups > INT32_MAX || w[1] > INT32_MAX || w[1] * groups != x[1] || w[0] % groups != 0) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "x has %lld channels, w has %lld outputs of %lld channels, they do not fit group %lld",
                     (long long)x[1], (long long)w[0], (long long)w[1], (long long)groups);
  }
  CI_TRY(ci_nd_prepare(k, rank - 2, x + 2, w + 2, &p->g.nd));
  ci_conv_geometry_channels(&p->g, x[0], groups, w[1], w[0]);
  return p->g.depth > INT32_MAX || p->g.outputs > INT32_MAX ? conv_nd_large(k) : CI_OK;
}

static ci_status conv_nd_floating(ci_kernel *k, const ci_value *a, const ci_value *b) {
  char left[128], right[128];
  if (a->dtype != b->dtype || a->rank < 3 || a->rank != b->rank) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the operands are %s and %s, expected one type and one rank, 3 or more",
                     ci_value_describe(a, left, sizeof left), ci_value_describe(b, right, sizeof right));
  }
  if (a->dtype == CI_FLOAT || a->dtype == CI_DOUBLE) return CI_OK;
  return ci_k_fail(k, CI_UNIMPLEMENTED, "convolution of %s, it exists for float32 and float64",
                   ci_dtype_name(a->dtype));
}

ci_status ci_conv_nd_bias(ci_kernel *k, int input, int64_t outputs, int32_t dtype) {
  const ci_value *b = k->n_in > input ? k->in[input] : NULL;
  char described[128];
  if (b == NULL || (b->rank == 1 && b->dims[0] == outputs && b->dtype == dtype)) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "the bias is %s, expected %s[%lld]",
                   ci_value_describe(b, described, sizeof described), ci_dtype_name(dtype), (long long)outputs);
}

/* ---- gathering ---- */

static void conv_nd_copy(size_t item, char *to, ptrdiff_t to_step, const char *from, ptrdiff_t step, int64_t n) {
  if (to_step == 1 && step == 1) {
    memcpy(to, from, (size_t)n * item);
  } else if (item == 4) {
    uint32_t *y = (uint32_t *)(void *)to;
    const uint32_t *x = (const uint32_t *)(const void *)from;
    for (int64_t i = 0; i < n; i++) y[i * to_step] = x[i * step];
  } else {
    uint64_t *y = (uint64_t *)(void *)to;
    const uint64_t *x = (const uint64_t *)(const void *)from;
    for (int64_t i = 0; i < n; i++) y[i * to_step] = x[i * step];
  }
}

static void conv_nd_zero(size_t item, char *to, ptrdiff_t step, int64_t n) {
  if (step == 1) {
    memset(to, 0, (size_t)n * item);
  } else {
    for (int64_t i = 0; i < n; i++) memset(to + (size_t)(i * step) * item, 0, item);
  }
}

/* One tap of a plane for the windows [p0, p1), p_step elements apart. */
static void conv_nd_gather_tap(const ci_nd *g, size_t item, char *to, ptrdiff_t p_step, const char *plane, int64_t tap,
                               int64_t p0, int64_t p1) {
  const ptrdiff_t stride = (ptrdiff_t)g->stride[g->rank - 1];
  const size_t step = (size_t)p_step * item;
  ci_nd_walk walk;
  ci_nd_start(&walk, g, tap, p0, p1);
  while (ci_nd_next(&walk)) {
    char *at = to + (size_t)(walk.first - p0) * step;
    conv_nd_zero(item, at, p_step, walk.low);
    conv_nd_copy(item, at + (size_t)walk.low * step, p_step, plane + (size_t)walk.source * item, stride,
                 walk.high - walk.low);
    conv_nd_zero(item, at + (size_t)walk.high * step, p_step, walk.count - walk.high);
  }
}

static void conv_nd_gather(const ci_conv_nd_job *job, char *to, const ci_conv_nd_box *box) {
  const ci_conv_nd *p = job->p;
  const ci_nd *g = &p->g.nd;
  const char *x = job->x + (size_t)((box->image * p->g.c + box->group * p->g.ic) * g->area) * p->item;
  for (int64_t term = box->k0; term < box->k1; term++, to += (size_t)box->k_step * p->item) {
    const int64_t channel = term / g->taps;
    conv_nd_gather_tap(g, p->item, to, box->p_step, x + (size_t)(channel * g->area) * p->item, term - channel * g->taps,
                       box->p0, box->p1);
  }
}

static void conv_nd_add_bias(const ci_conv_nd *p, const ci_kernel *k, char *y, const char *bias, int64_t n) {
  if (p->dtype == CI_FLOAT) {
    const ci_finish added = {.y = (float *)(void *)y,
                             .c = (const float *)(const void *)bias,
                             .rows = 1,
                             .n = n,
                             .alpha = 1.0f,
                             .beta = 1.0f};
    k->isa->linear->finish(&added);
  } else if (p->dtype == CI_DOUBLE) {
    const double b = *(const double *)(const void *)bias;
    for (int64_t i = 0; i < n; i++) ((double *)(void *)y)[i] = ((double *)(void *)y)[i] + b;
  } else {
    const uint32_t b = *(const uint32_t *)(const void *)bias;
    for (int64_t i = 0; i < n; i++) ((uint32_t *)(void *)y)[i] = ((uint32_t *)(void *)y)[i] + b;
  }
}

/* ---- depthwise: a padded plane in scratch, columns sorted by their remainder by the stride, so that the taps of a row
 * of windows are rows of neighbours ---- */

/* The padded plane is itself the columns of a convolution: one tap a remainder, one window an element. */
static bool conv_nd_plan_padded(ci_kernel *k, ci_conv_nd *p) {
  const ci_nd *g = &p->g.nd;
  ci_conv_nd_depthwise *d = &p->depthwise;
  ci_nd *q = &d->padded;
  *q = *g;
  for (int i = 0; i < g->rank; i++) {
    q->kernel[i] = q->dilation[i] = q->stride[i] = 1;
    q->out[i] = (g->out[i] - 1) * g->stride[i] + (g->kernel[i] - 1) * g->dilation[i] + 1;
    if (g->out[i] < 1) return false;
  }
  const int last = g->rank - 1;
  q->kernel[last] = q->stride[last] = g->stride[last];
  q->out[last] = ci_ceil_div(q->out[last], g->stride[last]);
  int64_t elements = g->stride[last];
  for (int i = 0; i < g->rank; i++) {
    if (elements > CI_CONV_ND_PADDED / q->out[i]) return false;
    elements *= q->out[i];
  }
  if (ci_nd_totals(k, q) != CI_OK || g->taps > CI_CONV_ND_PADDED / g->out[last]) return false;
  d->padded_bytes = ci_round_up((size_t)elements * p->item, 64);
  d->weight_bytes = ci_round_up((size_t)(g->taps * g->out[last]) * p->item, 64);
  p->tile_bytes = d->padded_bytes + d->weight_bytes + ci_round_up((size_t)g->taps * (sizeof(char *) + 8), 64);
  return true;
}

/* Where in the padded plane the first window finds a tap. */
static int64_t conv_nd_padded_at(const ci_conv_nd *p, int64_t tap) {
  const ci_nd *g = &p->g.nd, *q = &p->depthwise.padded;
  const int last = g->rank - 1;
  int64_t offset = 0, pitch = 1;
  for (int i = last; i >= 0; i--) {
    const int64_t x = tap % g->kernel[i] * g->dilation[i];
    offset += i == last ? x % g->stride[i] * q->positions + x / g->stride[i] : x * pitch;
    pitch *= q->out[i];
    tap /= g->kernel[i];
  }
  return offset;
}

/* A row of windows: one chain over the taps from +0. weights: (taps, n). */
static void conv_nd_depthwise_row(const ci_conv_nd *p, const ci_kernel *k, char *y, const char **taps,
                                  const char *weights, int64_t n) {
  if (p->dtype == CI_FLOAT) {
    k->isa->linear->depthwise((float *)(void *)y, (const float *const *)(const void *)taps,
                              (const float *)(const void *)weights, p->g.nd.taps, n);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    double sum = 0.0;
    for (int64_t tap = 0; tap < p->g.nd.taps; tap++) {
      const double term =
          ((const double *)(const void *)taps[tap])[i] * ((const double *)(const void *)weights)[tap * n];
      sum = sum + term;
    }
    ((double *)(void *)y)[i] = sum;
  }
}

static void conv_nd_depthwise(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_conv_nd_job *job = argument;
  const ci_conv_nd *p = job->p;
  const ci_nd *g = &p->g.nd, *q = &p->depthwise.padded;
  const int last = g->rank - 1;
  const int64_t n = g->out[last];
  char *padded = job->scratch + (size_t)thread * p->tile_bytes, *weights = padded + p->depthwise.padded_bytes;
  const char **taps = (const char **)(void *)(weights + p->depthwise.weight_bytes);
  int64_t *offsets = (int64_t *)(void *)(taps + g->taps);
  for (int64_t tap = 0; tap < g->taps; tap++) offsets[tap] = conv_nd_padded_at(p, tap);
  for (int64_t plane = begin; plane < end; plane++) {
    const int64_t channel = plane % p->g.c;
    char *y = job->y + (size_t)(plane * g->positions) * p->item;
    for (int64_t tap = 0; tap < q->taps; tap++) {
      conv_nd_gather_tap(q, p->item, padded + (size_t)(tap * q->positions) * p->item, 1,
                         job->x + (size_t)(plane * g->area) * p->item, tap, 0, q->positions);
    }
    for (int64_t tap = 0; tap < g->taps; tap++) {
      conv_nd_copy(p->item, weights + (size_t)(tap * n) * p->item, 1,
                   job->w + (size_t)(channel * g->taps + tap) * p->item, 0, n);
    }
    for (int64_t position = 0; position < g->positions; position += n) {
      int64_t rest = position / n, at = 0, pitch = q->out[last];
      for (int i = last - 1; i >= 0; i--) {
        at += rest % g->out[i] * g->stride[i] * pitch;
        rest /= g->out[i];
        pitch *= q->out[i];
      }
      for (int64_t tap = 0; tap < g->taps; tap++) taps[tap] = padded + (size_t)(at + offsets[tap]) * p->item;
      conv_nd_depthwise_row(p, job->k, y + (size_t)position * p->item, taps, weights, n);
    }
    if (job->bias != NULL) conv_nd_add_bias(p, job->k, y, job->bias + (size_t)channel * p->item, g->positions);
  }
}

/* ---- y = w * windows, as matrices ---- */

static ci_status conv_nd_plan_matmul(ci_kernel *k, int32_t dtype, ci_conv_nd *p) {
  const ci_conv_geometry *g = &p->g;
  ci_conv_nd_matmul *m = &p->matmul;
  const int64_t positions = g->nd.positions;
  p->dtype = dtype;
  p->item = ci_dtype_size(dtype);
  p->strategy = CI_CONV_MATMUL;
  ci_matmul_rule(&m->rule, dtype, positions, g->depth);
  m->width = ci_min(CONV_ND_WIDTH, positions > 0 ? positions : 1);
  const int64_t block_bytes = m->rule.block * m->width * (int64_t)p->item;
  m->chunk = m->rule.block * (block_bytes < CONV_ND_TILE_BYTES ? CONV_ND_TILE_BYTES / block_bytes : 1);
  if (m->chunk > g->depth || m->rule.dots) m->chunk = g->depth > 0 ? g->depth : 1;
  m->tiles = ci_ceil_div(positions, m->width);
  m->parts = 1;
  const size_t threads = (size_t)k->threads;
  size_t units;
  if (!ci_mul_size((uint64_t)g->n, (uint64_t)g->groups, &units) ||
      !ci_mul_size(units, (uint64_t)(m->tiles > 0 ? m->tiles : 1), &units) || !ci_at_most(units, INT64_MAX / 4096)) {
    return conv_nd_large(k);
  }
  if (units > 0 && units < 2 * threads && g->oc >= 128) { /* few tiles: every one is gathered for some rows at a time */
    m->parts = ci_min(g->oc / 64, ci_ceil_div(2 * (int64_t)threads, (int64_t)units));
  }
  return conv_nd_bytes(k, m->chunk, m->width, p->item, &p->tile_bytes);
}

static ci_status conv_nd_scratch(ci_kernel *k, const ci_conv_nd *p, size_t *scratch) {
  if (!ci_mul_size((uint64_t)k->threads, p->tile_bytes, scratch)) return conv_nd_large(k);
  return CI_OK;
}

ci_status ci_conv_nd_plan(ci_kernel *k, int32_t dtype, ci_conv_nd *p, size_t *scratch) {
  CI_TRY(conv_nd_plan_matmul(k, dtype, p));
  p->matmul.pointwise = ci_conv_geometry_is_pointwise(&p->g) && !p->matmul.rule.dots;
  if (p->matmul.pointwise) p->tile_bytes = 0;
  const bool sums = dtype == CI_FLOAT || dtype == CI_DOUBLE;
  if (sums && ci_conv_geometry_is_depthwise(&p->g) && conv_nd_plan_padded(k, p))
    p->strategy = dtype == CI_FLOAT && ci_conv_planes_plan(p) ? CI_CONV_PLANES : CI_CONV_DEPTHWISE;
  return conv_nd_scratch(k, p, scratch);
}

ci_status ci_conv_nd_plan_filled(ci_kernel *k, int32_t dtype, ci_conv_nd *p, size_t *scratch) {
  CI_TRY(conv_nd_plan_matmul(k, dtype, p));
  return conv_nd_scratch(k, p, scratch);
}

/* One tile: rows [r0, r1) of a group, windows [p0, p1) of an image. */
static void conv_nd_tile(const ci_conv_nd_job *job, ci_conv_nd_box box, int64_t r0, int64_t r1, char *tile) {
  const ci_conv_nd *p = job->p;
  const ci_nd *g = &p->g.nd;
  const int64_t first = box.group * p->g.oc + r0, width = box.p1 - box.p0, depth = p->g.depth;
  char *y = job->y + (size_t)((box.image * p->g.outputs + first) * g->positions + box.p0) * p->item;
  for (int64_t k0 = 0; k0 == 0 || k0 < depth; k0 += p->matmul.chunk) {
    box.k0 = k0;
    box.k1 = k0 + ci_min(p->matmul.chunk, depth - k0);
    const int64_t terms = box.k1 - k0;
    box.k_step = p->matmul.rule.dots ? 1 : (ptrdiff_t)width;
    box.p_step = p->matmul.rule.dots ? (ptrdiff_t)terms : 1;
    ci_operand b = {tile, box.k_step, box.p_step};
    if (p->matmul.pointwise) {
      const int64_t plane = box.image * p->g.c + box.group * p->g.ic + k0;
      b = (ci_operand){job->x + (size_t)(plane * g->area + box.p0) * p->item, (ptrdiff_t)g->area, 1};
    } else {
      (job->fill != NULL ? job->fill : conv_nd_gather)(job, tile, &box);
    }
    const ci_matmul_part part = {.a = {job->w + (size_t)(first * depth + k0) * p->item, (ptrdiff_t)depth, 1},
                                 .b = b,
                                 .c = y,
                                 .c_row = (ptrdiff_t)g->positions,
                                 .m = r1 - r0,
                                 .n = width,
                                 .k = terms,
                                 .add = k0 > 0};
    ci_matmul_compute(&p->matmul.rule, job->k->isa, &part);
  }
  for (int64_t row = 0; job->bias != NULL && row < r1 - r0; row++) {
    conv_nd_add_bias(p, job->k, y + (size_t)(row * g->positions) * p->item, job->bias + (size_t)(first + row) * p->item,
                     width);
  }
}

static void conv_nd_units(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_conv_nd_job *job = argument;
  const ci_conv_nd *p = job->p;
  const int64_t rows = ci_ceil_div(p->g.oc, p->matmul.parts);
  for (int64_t unit = begin; unit < end; unit++) {
    const int64_t part = unit % p->matmul.parts, rest = unit / p->matmul.parts, tile = rest % p->matmul.tiles,
                  plane = rest / p->matmul.tiles;
    const ci_conv_nd_box box = {.image = plane / p->g.groups,
                                .group = plane % p->g.groups,
                                .p0 = tile * p->matmul.width,
                                .p1 = ci_min((tile + 1) * p->matmul.width, p->g.nd.positions)};
    const int64_t r0 = part * rows;
    conv_nd_tile(job, box, r0, ci_min(r0 + rows, p->g.oc), job->scratch + (size_t)thread * p->tile_bytes);
  }
}

void ci_conv_nd_forward(const ci_conv_nd_job *job) {
  const ci_conv_nd *p = job->p;
  if (job->k->out[0]->count == 0) return;
  if (p->strategy == CI_CONV_PLANES) {
    ci_conv_planes_run(job);
  } else if (p->strategy == CI_CONV_DEPTHWISE) {
    ci_k_parallel(job->k, p->g.n * p->g.c, CI_CONV_ND_PLANE_WORK / (p->g.nd.positions * p->g.nd.taps) + 1,
                  conv_nd_depthwise, (void *)(uintptr_t)job);
  } else {
    ci_k_parallel(job->k, p->g.n * p->g.groups * p->matmul.tiles * p->matmul.parts, 1, conv_nd_units,
                  (void *)(uintptr_t)job);
  }
}

static const char *conv_nd_optional(const ci_kernel *k, int input) {
  return k->n_in > input && k->in[input] != NULL ? k->in[input]->data : NULL;
}

/* The work of a MaxPool that follows, with at most a clamp between them: the largest of the clamped elements is the
 * clamped largest element, and the bias is added first. Or that of a depthwise convolution. */
static size_t conv_nd_join(ci_kernel *k, const ci_kernel *next) {
  ci_conv_nd *p = k->private_memory;
  size_t bytes = 0;
  if (p->strategy != CI_CONV_TILES) return 0;
  if (next->join == k->join) bytes = ci_conv_pair_bytes(k, next);
  else if (next->largest != NULL && p->program == NULL && p->clamp.added == NULL &&
           ci_conv_tiles_join(&p->tiles, next->largest))
    bytes = next->out[0]->bytes;
  if (bytes > 0) p->joined = next;
  return bytes;
}

ci_status ci_prepare_conv(ci_kernel *k) {
  const ci_value *x = k->in[0], *w = k->in[1];
  CI_TRY(conv_nd_floating(k, x, w));
  const size_t offsets = ci_conv_tiles_offset_bytes(ci_shape_count(w->dims, 1, w->rank));
  ci_conv_nd *p = ci_k_private(k, sizeof *p + offsets);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_conv_nd_prepare(k, x->rank, x->dims, w->dims, p));
  CI_TRY(ci_conv_nd_bias(k, 2, p->g.outputs, x->dtype));
  int64_t dims[CI_MAX_RANK] = {p->g.n, p->g.outputs};
  memcpy(dims + 2, p->g.nd.out, (size_t)p->g.nd.rank * sizeof *dims);
  CI_TRY(ci_k_out(k, 0, x->dtype, x->rank, dims));
  CI_TRY(ci_conv_nd_plan(k, x->dtype, p, &k->scratch_bytes));
  int32_t *offset = offsets > 0 ? (int32_t *)(void *)(p + 1) : NULL;
  if (p->strategy == CI_CONV_MATMUL && ci_conv_tiles_plan(k, &p->g, p->dtype, &p->matmul.rule, offset, &p->tiles))
    p->strategy = CI_CONV_TILES;
  k->join = conv_nd_join;
  return CI_OK;
}

static ci_after conv_nd_after(const ci_conv_nd *p) {
  return (ci_after){.added = p->clamp.added == NULL ? NULL : p->clamp.added->data,
                    .clamps = p->clamp.clamps,
                    .low = p->clamp.low,
                    .high = p->clamp.high};
}

ci_conv_tiles_job ci_conv_nd_tiles(const ci_kernel *k, float *y) {
  const ci_conv_nd *p = k->private_memory;
  return (ci_conv_tiles_job){.k = (ci_kernel *)(uintptr_t)k,
                             .p = &p->tiles,
                             .x = k->in[0]->data,
                             .w = k->in[1]->data,
                             .bias = (const float *)(const void *)conv_nd_optional(k, 2),
                             .y = y,
                             .after = conv_nd_after(p),
                             .program = p->program};
}

ci_conv_nd_job ci_conv_nd_whole(const ci_kernel *k) {
  const ci_conv_nd *p = k->private_memory;
  return (ci_conv_nd_job){.k = (ci_kernel *)(uintptr_t)k,
                          .p = p,
                          .x = k->in[0]->data,
                          .w = k->in[1]->data,
                          .bias = conv_nd_optional(k, 2),
                          .y = k->out[0]->data,
                          .scratch = k->scratch,
                          .after = conv_nd_after(p),
                          .program = p->program};
}

ci_status ci_run_conv(ci_kernel *k) {
  const ci_conv_nd *p = k->private_memory;
  if (p->joined != NULL && p->joined->largest == NULL) {
    ci_conv_pair_run(k);
  } else if (p->strategy == CI_CONV_TILES) {
    const ci_conv_tiles_job job = ci_conv_nd_tiles(k, (p->joined == NULL ? k : p->joined)->out[0]->data);
    ci_conv_tiles_run(&job);
  } else {
    const ci_conv_nd_job job = ci_conv_nd_whole(k);
    ci_conv_nd_forward(&job);
  }
  return CI_OK;
}

/* ---- FusedConv: tiles and planes run the program when they are complete, other strategies over all of y ---- */

ci_status ci_prepare_fused_conv(ci_kernel *k) {
  const ci_fused *program;
  CI_TRY(ci_k_prepare_as(k, (ci_span){"Conv", 4}, "nodes", ci_prepare_conv));
  ci_conv_nd *p = k->private_memory;
  CI_TRY(ci_fused_prepare(k, 3, p->g.nd.positions, &program));
  const bool clamp = ci_fused_prepare_clamp(k, program, &p->clamp);
  const bool planes = p->strategy == CI_CONV_PLANES;
  const bool fits = p->clamp.added == NULL || (!planes && p->clamp.added->count == k->out[0]->count);
  p->inside = p->strategy == CI_CONV_TILES || planes;
  if (!clamp || !p->inside || !fits) {
    p->clamp = (ci_clamp){.added = NULL};
    p->program = program;
  }
  return CI_OK;
}

static void conv_nd_epilogue(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const ci_conv_nd *p = k->private_memory;
  const int64_t positions = p->g.nd.positions;
  (void)thread;
  ci_fused_rows(p->program, (float *)k->out[0]->data + begin * positions, (ptrdiff_t)positions, begin, 0, end - begin,
                positions);
}

ci_status ci_run_fused_conv(ci_kernel *k) {
  const ci_conv_nd *p = k->private_memory;
  CI_TRY(ci_run_conv(k));
  if (p->inside || k->out[0]->count == 0) return CI_OK;
  ci_k_parallel(k, p->g.n * p->g.outputs, CI_CONV_ND_PLANE_WORK / p->g.nd.positions + 1, conv_nd_epilogue, k);
  return CI_OK;
}

/* ---- x from y: the image's gradient and ConvTranspose ---- */

static ci_status conv_nd_plan_spread(ci_kernel *k, int32_t dtype, ci_conv_nd *p) {
  const ci_nd *g = &p->g.nd;
  const size_t threads = (size_t)k->threads;
  size_t columns = 0, packed, transposed;
  p->dtype = dtype;
  p->item = ci_dtype_size(dtype);
  ci_matmul_rule(&p->transposed.rule, dtype, g->positions, p->g.oc);
  CI_TRY(conv_nd_bytes(k, g->taps, g->positions, p->item, &columns));
  p->transposed.width = columns > 0 && columns < CONV_ND_TILE_BYTES ? CONV_ND_TILE_BYTES / (int64_t)columns : 1;
  /* with few images and groups, threads share the channels of a group */
  const int64_t planes = ci_min(p->g.n, 4096) * ci_min(p->g.groups, 4096);
  if (planes > 0 && planes < (int64_t)threads) {
    p->transposed.width =
        ci_min(p->transposed.width, ci_ceil_div(p->g.ic > 0 ? p->g.ic : 1, ci_ceil_div((int64_t)threads, planes)));
  }
  p->transposed.width = ci_min(p->transposed.width, p->g.ic > 0 ? p->g.ic : 1);
  p->transposed.tiles = ci_ceil_div(p->g.ic, p->transposed.width);
  CI_TRY(conv_nd_bytes(k, (int64_t)columns, p->transposed.width, 1, &columns));
  packed = ci_matmul_b_bytes(&p->transposed.rule, (ptrdiff_t)g->positions, 1);
  p->tile_bytes = ci_round_up(packed, 64) + columns;
  transposed = ci_matmul_a_bytes(&p->transposed.rule, p->g.depth, 1, (ptrdiff_t)p->g.depth);
  if (!ci_mul_size(transposed, (uint64_t)p->g.groups, &p->transposed.packed_bytes)) return conv_nd_large(k);
  p->transposed.packed_bytes = ci_round_up(p->transposed.packed_bytes, 64);
  if (p->tile_bytes > PTRDIFF_MAX / 1024 || p->transposed.packed_bytes > PTRDIFF_MAX / 2) return conv_nd_large(k);
  k->scratch_bytes = p->transposed.packed_bytes + threads * p->tile_bytes;
  return CI_OK;
}

static ci_operand conv_nd_transposed(const ci_conv_nd_job *job, int64_t group) {
  const ci_conv_nd *p = job->p;
  return (ci_operand){job->w + (size_t)(group * p->g.oc * p->g.depth) * p->item, 1, (ptrdiff_t)p->g.depth};
}

static void conv_nd_spread_units(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_conv_nd_job *job = argument;
  const ci_conv_nd *p = job->p;
  const ci_nd *g = &p->g.nd;
  const size_t plane_bytes = (size_t)g->area * p->item;
  char *copy = job->scratch + p->transposed.packed_bytes + (size_t)thread * p->tile_bytes;
  char *tile = copy + ci_round_up(ci_matmul_b_bytes(&p->transposed.rule, (ptrdiff_t)g->positions, 1), 64);
  for (int64_t unit = begin; unit < end; unit++) {
    const int64_t at = unit / p->transposed.tiles, group = at % p->g.groups, image = at / p->g.groups;
    const int64_t c0 = unit % p->transposed.tiles * p->transposed.width, c1 = ci_min(c0 + p->transposed.width, p->g.ic);
    ci_operand a = conv_nd_transposed(job, group);
    if (p->transposed.packed_bytes > 0) {
      a = (ci_operand){job->scratch + (size_t)(group * p->g.depth * p->g.oc) * p->item, (ptrdiff_t)p->g.oc, 1};
    }
    a.data = (const char *)a.data + (size_t)(c0 * g->taps * a.row) * p->item;
    const char *x = job->x + (size_t)((image * p->g.outputs + group * p->g.oc) * g->positions) * p->item;
    const ci_matmul_part part = {
        .a = a,
        .b = ci_matmul_pack_b(&p->transposed.rule, (ci_operand){x, (ptrdiff_t)g->positions, 1}, copy),
        .c = tile,
        .c_row = (ptrdiff_t)g->positions,
        .m = (c1 - c0) * g->taps,
        .n = g->positions,
        .k = p->g.oc};
    ci_matmul_compute(&p->transposed.rule, job->k->isa, &part);
    for (int64_t c = c0; c < c1; c++) {
      const int64_t channel = group * p->g.ic + c;
      char *plane = job->y + (size_t)(image * p->g.c + channel) * plane_bytes;
      memset(plane, 0, plane_bytes);
      ci_nd_scatter(g, job->k->isa, p->dtype, plane, tile + (size_t)((c - c0) * g->taps * g->positions) * p->item);
      if (job->bias != NULL) conv_nd_add_bias(p, job->k, plane, job->bias + (size_t)channel * p->item, g->area);
    }
  }
}

static void conv_nd_spread(const ci_conv_nd_job *job) {
  const ci_conv_nd *p = job->p;
  if (job->k->out[0]->count == 0) return;
  for (int64_t group = 0; p->transposed.packed_bytes > 0 && group < p->g.groups; group++) {
    char *copy = job->scratch + (size_t)(group * p->g.depth * p->g.oc) * p->item;
    ci_matmul_pack_a(&p->transposed.rule, p->g.depth, conv_nd_transposed(job, group), copy);
  }
  ci_k_parallel(job->k, p->g.n * p->g.groups * p->transposed.tiles, 1, conv_nd_spread_units, (void *)(uintptr_t)job);
}

ci_status ci_prepare_conv_transpose(ci_kernel *k) {
  const ci_value *x = k->in[0], *w = k->in[1];
  CI_TRY(conv_nd_floating(k, x, w));
  ci_conv_nd *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  int64_t groups;
  CI_TRY(ci_k_attr_i(k, "group", 1, &groups));
  if (groups < 1 || groups > INT32_MAX || w->dims[0] != x->dims[1] || w->dims[0] % groups != 0 ||
      w->dims[1] > INT32_MAX || w->dims[0] > INT32_MAX) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "x has %lld channels, w has %lld, they do not fit group %lld",
                     (long long)x->dims[1], (long long)w->dims[0], (long long)groups);
  }
  CI_TRY(ci_nd_prepare_transposed(k, x->rank - 2, x->dims + 2, w->dims + 2, &p->g.nd));
  ci_conv_geometry_channels(&p->g, x->dims[0], groups, w->dims[1], w->dims[0]);
  if (p->g.depth > INT32_MAX) return conv_nd_large(k);
  CI_TRY(ci_conv_nd_bias(k, 2, p->g.c, x->dtype));
  int64_t dims[CI_MAX_RANK] = {p->g.n, p->g.c};
  memcpy(dims + 2, p->g.nd.size, (size_t)p->g.nd.rank * sizeof *dims);
  CI_TRY(ci_k_out(k, 0, x->dtype, x->rank, dims));
  return conv_nd_plan_spread(k, x->dtype, p);
}

ci_status ci_run_conv_transpose(ci_kernel *k) {
  const ci_conv_nd_job job = {.k = k,
                              .p = k->private_memory,
                              .x = k->in[0]->data,
                              .w = k->in[1]->data,
                              .bias = conv_nd_optional(k, 2),
                              .y = k->out[0]->data,
                              .scratch = k->scratch};
  conv_nd_spread(&job);
  return CI_OK;
}

/* ---- gradients: dy may have fewer windows than x gives, the first along each axis ---- */

/* `other` is x or w, whichever is a tensor; the other one's shape is input `shape_input`. */
static ci_status conv_nd_grad_prepare(ci_kernel *k, int shape_input, ci_conv_nd **plan) {
  const ci_value *dy = k->in[2], *other = k->in[1 - shape_input];
  int64_t dims[CI_MAX_RANK];
  int count;
  CI_TRY(ci_k_known_ints(k, shape_input, dims, CI_MAX_RANK, &count));
  CI_TRY(conv_nd_floating(k, other, dy));
  if (count != dy->rank) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the shape has %d numbers, expected %d", count, dy->rank);
  }
  ci_conv_nd *p = *plan = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  for (int i = 0; i < count; i++) {
    if (dims[i] < 0) return ci_k_fail(k, CI_INVALID_ARGUMENT, "the shape has size %lld", (long long)dims[i]);
  }
  const int64_t *x = shape_input == 0 ? dims : other->dims, *w = shape_input == 0 ? other->dims : dims;
  CI_TRY(ci_conv_nd_prepare(k, count, x, w, p));
  bool fits = dy->dims[0] == p->g.n && dy->dims[1] == p->g.outputs;
  for (int i = 0; i < p->g.nd.rank; i++) {
    fits = fits && dy->dims[i + 2] <= p->g.nd.out[i];
    p->g.nd.out[i] = dy->dims[i + 2];
  }
  char described[128];
  if (!fits) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "dy is %s, which is not what x and w give",
                     ci_value_describe(dy, described, sizeof described));
  }
  CI_TRY(ci_nd_totals(k, &p->g.nd));
  return ci_k_out(k, 0, dy->dtype, count, dims);
}

ci_status ci_prepare_conv_grad_input(ci_kernel *k) {
  ci_conv_nd *p;
  CI_TRY(conv_nd_grad_prepare(k, 0, &p));
  return conv_nd_plan_spread(k, k->in[2]->dtype, p);
}

ci_status ci_run_conv_grad_input(ci_kernel *k) {
  const ci_conv_nd_job job = {.k = k,
                              .p = k->private_memory,
                              .x = k->in[2]->data,
                              .w = k->in[1]->data,
                              .y = k->out[0]->data,
                              .scratch = k->scratch};
  conv_nd_spread(&job);
  return CI_OK;
}

ci_status ci_prepare_conv_grad_weight(ci_kernel *k) {
  ci_conv_nd *p;
  CI_TRY(conv_nd_grad_prepare(k, 1, &p));
  p->dtype = k->in[2]->dtype;
  p->item = ci_dtype_size(p->dtype);
  ci_matmul_rule(&p->matmul.rule, p->dtype, p->g.depth, p->g.nd.positions);
  p->matmul.rule.dots = false; /* the blocks go on from image to image */
  p->matmul.width = ci_min(CONV_ND_COLUMNS, p->g.depth > 0 ? p->g.depth : 1);
  p->matmul.tiles = ci_ceil_div(p->g.depth, p->matmul.width);
  const int64_t block_bytes = p->matmul.rule.block * p->matmul.width * (int64_t)p->item;
  p->matmul.chunk = p->matmul.rule.block * (block_bytes < CONV_ND_TILE_BYTES ? CONV_ND_TILE_BYTES / block_bytes : 1);
  CI_TRY(conv_nd_bytes(k, p->matmul.chunk, p->matmul.width, p->item, &p->tile_bytes));
  k->scratch_bytes = (size_t)k->threads * p->tile_bytes;
  return CI_OK;
}

static void conv_nd_weight_units(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_conv_nd_job *job = argument;
  const ci_conv_nd *p = job->p;
  const int64_t positions = p->g.nd.positions;
  char *tile = job->scratch + (size_t)thread * p->tile_bytes;
  for (int64_t unit = begin; unit < end; unit++) {
    const int64_t group = unit / p->matmul.tiles, k0 = unit % p->matmul.tiles * p->matmul.width,
                  k1 = ci_min(k0 + p->matmul.width, p->g.depth);
    for (int64_t image = 0; image < p->g.n; image++) {
      for (int64_t p0 = 0; p0 < positions; p0 += p->matmul.chunk) {
        const ci_conv_nd_box box = {
            image, group, k0, k1, p0, ci_min(p0 + p->matmul.chunk, positions), 1, (ptrdiff_t)(k1 - k0)};
        conv_nd_gather(job, tile, &box);
        const ci_matmul_part part = {
            .a = {job->w + (size_t)((image * p->g.outputs + group * p->g.oc) * positions + p0) * p->item,
                  (ptrdiff_t)positions, 1},
            .b = {tile, box.p_step, 1},
            .c = job->y + (size_t)(group * p->g.oc * p->g.depth + k0) * p->item,
            .c_row = (ptrdiff_t)p->g.depth,
            .m = p->g.oc,
            .n = k1 - k0,
            .k = box.p1 - p0,
            .add = image > 0 || p0 > 0};
        ci_matmul_compute(&p->matmul.rule, job->k->isa, &part);
      }
    }
  }
}

ci_status ci_run_conv_grad_weight(ci_kernel *k) {
  const ci_conv_nd_job job = {.k = k,
                              .p = k->private_memory,
                              .x = k->in[0]->data,
                              .w = k->in[2]->data,
                              .y = k->out[0]->data,
                              .scratch = k->scratch};
  const ci_value *dw = k->out[0];
  if (dw->count == 0) return CI_OK;
  if (job.p->g.n == 0 || job.p->g.nd.positions == 0) {
    memset(dw->data, 0, dw->bytes);
    return CI_OK;
  }
  ci_k_parallel(k, job.p->g.groups * job.p->matmul.tiles, 1, conv_nd_weight_units, (void *)(uintptr_t)&job);
  return CI_OK;
}
#endif
