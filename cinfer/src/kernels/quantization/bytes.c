/* bytes.c - convolutions of bytes (bytes.h). With x' = x and w' = w moved to the ranges that the multiplication takes,
 *
 *   sum (x - zx) (w - zw) = sum x' w' - zx' sum w' - zw' sum x' + terms zx' zw'
 *
 * where zx' and zw' are the zero points moved as much. Padding is the zero point, so that all windows have all terms.
 */
#include "bytes.h"

#include "../../simd/isa.h"
#include "../../plan/pack.h"

enum { BYTES_BLOCK = CI_BYTES_ROWS * CI_BYTES_DEPTH, BYTES_PACKED = 1 << 30 };

static int64_t bytes_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

/* ---- plan ---- */

static void bytes_steps(ci_bytes_conv *p, const ci_nd *g) {
  const int64_t row = p->phases * p->line, dy = g->rank == 2 ? g->dilation[0] : 1, dx = g->dilation[g->rank - 1];
  ptrdiff_t *step = p->step;
  for (int64_t q = 0; q < p->quads; q++) {
    for (int64_t y = 0; y < p->kernel[0]; y++) {
      for (int64_t x = 0; x < p->kernel[1]; x++) {
        const int64_t column = x * dx % p->phases * p->line + x * dx / p->phases;
        *step++ = (ptrdiff_t)(((q * p->rows + y * dy) * row + column) * CI_BYTES_DEPTH);
      }
    }
  }
}

/* Bytes of all packed weights. */
static int64_t bytes_weights(const ci_bytes_conv *p) {
  return p->groups * bytes_up(p->oc, CI_BYTES_ROWS) * p->steps * CI_BYTES_DEPTH;
}

static int8_t bytes_weight(const ci_value *w, int64_t at) { /* unsigned ones move down by 128 */
  return (int8_t)(((const uint8_t *)w->data)[at] ^ (w->dtype == CI_UINT8 ? 0x80 : 0));
}

static uint32_t bytes_sum(const uint8_t *w, int64_t n, uint8_t flip) {
  uint32_t sum = 0;
  for (int64_t i = 0; i < n; i++) {
    const int32_t value = (int8_t)(w[i] ^ flip);
    sum += (uint32_t)value;
  }
  return sum;
}

/* Groups after each other: blocks of 8 outputs, steps, outputs, 4 channels. Behind all, the sum of each output's. */
static void bytes_pack(void *to, const ci_value *w, const void *argument) {
  const ci_bytes_conv *p = argument;
  const int64_t terms = p->own_ic * p->taps;
  int8_t *y = to;
  uint32_t *sums = (uint32_t *)(void *)(y + bytes_weights(p));
  for (int64_t o = 0; o < p->groups * p->oc; o++)
    sums[o] = bytes_sum((const uint8_t *)w->data + o * terms, terms, w->dtype == CI_UINT8 ? 0x80 : 0);
  for (int64_t group = 0; group < p->groups; group++) {
    for (int64_t first = 0; first < p->oc; first += CI_BYTES_ROWS) {
      for (int64_t s = 0; s < p->steps; s++) {
        for (int64_t i = 0; i < BYTES_BLOCK; i++) {
          const int64_t o = first + i / CI_BYTES_DEPTH, c = s / p->taps * CI_BYTES_DEPTH + i % CI_BYTES_DEPTH;
          const bool has = o < p->oc && c < p->ic && c / p->own_ic == o / p->own_oc;
          *y++ = has ? bytes_weight(w, ((group * p->oc + o) * p->own_ic + c % p->own_ic) * p->taps + s % p->taps) : 0;
        }
      }
    }
  }
}

static bool bytes_add(size_t *total, size_t *part, int64_t a, int64_t b, int64_t c, size_t item) {
  size_t bytes;
  if (!ci_mul_size((uint64_t)a, (uint64_t)b, &bytes) || !ci_mul_size(bytes, (uint64_t)c, &bytes) ||
      !ci_mul_size(bytes, item, &bytes) || bytes > PTRDIFF_MAX / 8)
    return false;
  *part = ci_round_up(bytes, 64);
  return ci_add_size(*total, *part, total);
}

bool ci_bytes_plan(ci_kernel *k, const ci_nd *g, int64_t groups, int w, ci_bytes_conv *p) {
  const ci_value *weights = k->in[w];
  if (g->rank > 2 || k->out[0]->count == 0 || weights->count == 0) return false;
  const int last = g->rank - 1;
  *p = (ci_bytes_conv){.groups = groups, .own_ic = weights->dims[1], .own_oc = weights->dims[0] / groups};
  while (p->groups % 2 == 0 && p->own_ic * (groups / p->groups) * 2 <= CI_BYTES_DEPTH) p->groups /= 2;
  p->ic = p->own_ic * (groups / p->groups);
  p->oc = p->own_oc * (groups / p->groups);
  for (int i = 0; i < 2; i++) {
    const int from = i - 2 + g->rank;
    const bool has = from >= 0;
    p->kernel[i] = has ? g->kernel[from] : 1;
    p->out[i] = has ? g->out[from] : 1;
    p->size[i] = has ? g->size[from] : 1;
    p->before[i] = has ? g->before[from] : 0;
    p->stride[i] = has ? g->stride[from] : 1;
  }
  const int64_t dy = g->rank == 2 ? g->dilation[0] : 1;
  p->taps = p->kernel[0] * p->kernel[1];
  if (p->taps == 1 && p->out[0] == p->size[0] && p->out[1] == p->size[1] && p->stride[0] * p->stride[1] == 1) {
    p->out[1] *= p->out[0]; /* each window is one pixel of the image: one row of them */
    p->size[1] *= p->size[0];
    p->out[0] = p->size[0] = 1;
  }
  p->quads = bytes_up(p->ic, CI_BYTES_DEPTH) / CI_BYTES_DEPTH;
  p->steps = p->quads * p->taps;
  p->phases = p->stride[1];
  p->rows = (p->out[0] - 1) * p->stride[0] + (p->kernel[0] - 1) * dy + 1;
  p->line = ((p->kernel[1] - 1) * g->dilation[last]) / p->phases + p->out[1];
  p->flat = p->stride[0] == 1 && p->phases == 1;
  p->run = p->flat ? (p->out[0] - 1) * p->line + p->out[1] : p->out[1];
  p->c_line = p->flat ? p->line : bytes_up(p->out[1], CI_BYTES_COLS);
  p->c_row = p->flat ? bytes_up(p->run, CI_BYTES_COLS) : p->out[0] * p->c_line;
  size_t tail;
  const int64_t outputs = bytes_up(p->oc, CI_BYTES_ROWS);
  if (!bytes_add(&p->bytes, &p->image, p->quads * p->rows, p->phases, p->line, CI_BYTES_DEPTH) ||
      !bytes_add(&p->bytes, &tail, CI_BYTES_COLS, 2, 1, CI_BYTES_DEPTH) ||
      !bytes_add(&p->bytes, &p->sums, outputs + CI_BYTES_ROWS, p->c_row, 1, sizeof(int32_t)) ||
      !bytes_add(&p->bytes, &p->weights, p->groups * outputs + CI_BYTES_ROWS, p->steps + 1, CI_BYTES_DEPTH, 1))
    return false;
  p->image += tail;
  p->step = ci_k_private_more(k, (size_t)p->steps * sizeof *p->step);
  if (p->step == NULL) return false;
  bytes_steps(p, g);
  if (groups < BYTES_PACKED) {
    const size_t packed = (size_t)(bytes_weights(p) + p->groups * p->oc * (int64_t)sizeof(int32_t));
    p->packed = ci_k_packed(k, w, CI_PACK_CONV, BYTES_PACKED | (uint32_t)groups, packed, bytes_pack, p);
  }
  return true;
}

/* ---- run ---- */

CI_FAST void ci_bytes_interleave(uint8_t *restrict y, const uint8_t *a, const uint8_t *b, const uint8_t *c,
                                 const uint8_t *d, int64_t n, uint8_t flip) {
  for (int64_t i = 0; i < n; i++) {
    y[4 * i] = a[i] ^ flip, y[4 * i + 1] = b[i] ^ flip;
    y[4 * i + 2] = c[i] ^ flip, y[4 * i + 3] = d[i] ^ flip;
  }
}

CI_FAST static void bytes_pick(uint32_t *restrict y, const uint32_t *restrict x, int64_t n, int64_t step) {
  if (step == 2) {
    for (int64_t i = 0; i < n; i++) y[i] = x[2 * i];
  } else {
    for (int64_t i = 0; i < n; i++) y[i] = x[i * step];
  }
}

/* Every step-th number of four rows, n of them: some neighbours are laid side by side, of which the others are left. */
static void bytes_apart(uint8_t *y, const uint8_t *const *plane, int64_t at, int64_t n, int64_t step, uint8_t flip) {
  enum { some = 256 };
  uint32_t all[some];
  const int64_t most = step < some ? some / step : 1;
  for (int64_t i = 0; i < n; i += most, y += most * CI_BYTES_DEPTH) {
    const int64_t count = n - i < most ? n - i : most, first = at + i * step;
    ci_bytes_interleave((uint8_t *)all, plane[0] + first, plane[1] + first, plane[2] + first, plane[3] + first,
                        (count - 1) * step + 1, flip);
    bytes_pick((uint32_t *)(void *)y, all, count, step);
  }
}

/* One row of an image's fours of channels: columns by their index modulo the stride, padding as the zero point. */
static void bytes_row(const ci_bytes_conv *p, uint8_t *y, const uint8_t *const *plane, uint8_t flip, uint8_t zero) {
  for (int64_t phase = 0; phase < p->phases; phase++, y += p->line * CI_BYTES_DEPTH) {
    const int64_t stride = p->phases, left = p->before[1] - phase; /* of the image's first column */
    int64_t first = left > 0 ? (left + stride - 1) / stride : 0;
    int64_t end = p->size[1] + left > 0 ? (p->size[1] + left + stride - 1) / stride : 0;
    if (first > p->line) first = p->line;
    if (end > p->line) end = p->line;
    if (end < first) end = first;
    memset(y, zero, (size_t)(first * CI_BYTES_DEPTH));
    const int64_t at = first * stride - left;
    if (stride == 1 && end > first) {
      ci_bytes_interleave(y + first * CI_BYTES_DEPTH, plane[0] + at, plane[1] + at, plane[2] + at, plane[3] + at,
                          end - first, flip);
    } else {
      bytes_apart(y + first * CI_BYTES_DEPTH, plane, at, end - first, stride, flip);
    }
    memset(y + end * CI_BYTES_DEPTH, zero, (size_t)((p->line - end) * CI_BYTES_DEPTH));
  }
}

/* The channels of a group of an image; those beyond the last have weights of 0. */
static void bytes_image(const ci_bytes_job *job, uint8_t *y, int64_t first_channel, uint8_t zero) {
  const ci_bytes_conv *p = job->p;
  const int64_t area = p->size[0] * p->size[1], row = p->phases * p->line * CI_BYTES_DEPTH;
  const uint8_t flip = job->x->dtype == CI_INT8 ? 0x80 : 0, *x = (const uint8_t *)job->x->data + first_channel * area;
  for (int64_t q = 0; q < p->quads; q++) {
    for (int64_t r = 0; r < p->rows; r++, y += row) {
      const int64_t source = r - p->before[0];
      const uint8_t *plane[CI_BYTES_DEPTH];
      if (source < 0 || source >= p->size[0]) {
        memset(y, zero, (size_t)row);
        continue;
      }
      for (int64_t i = 0; i < CI_BYTES_DEPTH; i++) {
        const int64_t c = q * CI_BYTES_DEPTH + i;
        plane[i] = x + (c < p->ic ? c : 0) * area + source * p->size[1];
      }
      bytes_row(p, y, plane, flip, zero);
    }
  }
}

typedef struct bytes_group {
  const ci_bytes_job *job;
  const uint8_t *columns;
  const int8_t *weights, *ones;
  const uint32_t *weight_sums;
  int32_t *sums;
  int64_t image, group;
  uint8_t x_zero; /* moved */
} bytes_group;

static void bytes_gemm(const bytes_group *g, const int8_t *w, int64_t rows, int32_t *c) {
  const ci_bytes_conv *p = g->job->p;
  ci_bytes_tile tile = {.x = g->columns,
                        .step = p->step,
                        .w = w,
                        .c = c,
                        .c_row = (ptrdiff_t)p->c_row,
                        .steps = p->steps,
                        .rows = rows,
                        .cols = p->run};
  for (int64_t run = 0; run < (p->flat ? 1 : p->out[0]); run++) {
    g->job->k->isa->bytes->gemm(&tile);
    tile.x += p->stride[0] * p->phases * p->line * CI_BYTES_DEPTH;
    tile.c += p->c_line;
  }
}

CI_FAST static void bytes_less(uint32_t *y, const uint32_t *columns, int64_t n, uint32_t by) {
  for (int64_t i = 0; i < n; i++) y[i] = y[i] - by * columns[i];
}

/* The zero points of output o, and the function that takes its sums. */
static void bytes_finish(const bytes_group *g, int64_t o, int32_t *c) {
  const ci_bytes_job *job = g->job;
  const ci_bytes_conv *p = job->p;
  const ci_value *w = job->w, *z = job->w_zero;
  const int64_t output = g->group * p->oc + o, terms = p->own_ic * p->taps;
  const int64_t at = z == NULL || z->count == 1 ? 0 : output;
  const int32_t w_zero = z == NULL ? (w->dtype == CI_UINT8 ? -128 : 0) : bytes_weight(z, at);
  const uint64_t add = (uint64_t)(terms * g->x_zero * w_zero) - (uint64_t)g->x_zero * g->weight_sums[output];
  const int32_t *columns = g->sums + o / p->own_oc * p->c_row;
  if (w_zero != 0)
    bytes_less((uint32_t *)(void *)c, (const uint32_t *)(const void *)columns, p->c_row, (uint32_t)w_zero);
  job->take(job->argument, g->image, output, c, (int32_t)(uint32_t)add);
}

static void bytes_blocks(void *argument, int64_t begin, int64_t end, int thread) {
  const bytes_group *g = argument;
  const ci_bytes_conv *p = g->job->p;
  int32_t *c = g->sums + (begin + 1) * CI_BYTES_ROWS * p->c_row;
  (void)thread;
  bytes_gemm(g, g->weights + begin * p->steps * BYTES_BLOCK, (end - begin) * CI_BYTES_ROWS, c);
  for (int64_t o = begin * CI_BYTES_ROWS; o < end * CI_BYTES_ROWS && o < p->oc; o++, c += p->c_row)
    bytes_finish(g, o, c);
}

/* Rows of ones over the channels that each of the node's groups has. */
static void bytes_ones(const ci_bytes_conv *p, int8_t *w) {
  memset(w, 0, (size_t)(p->steps * BYTES_BLOCK));
  for (int64_t s = 0; s < p->steps; s++) {
    for (int64_t i = 0; i < CI_BYTES_DEPTH; i++) {
      const int64_t c = s / p->taps * CI_BYTES_DEPTH + i;
      if (c < p->ic) w[s * BYTES_BLOCK + c / p->own_ic * CI_BYTES_DEPTH + i] = 1;
    }
  }
}

/* Whether weights have zero points other than 0 once they are moved. */
static bool bytes_has_zero(const ci_bytes_job *job) {
  bool any = job->w_zero == NULL && job->w->dtype == CI_UINT8;
  for (int64_t i = 0; job->w_zero != NULL && i < job->w_zero->count; i++) any |= bytes_weight(job->w_zero, i) != 0;
  return any;
}

void ci_bytes_forward(const ci_bytes_job *job) {
  const ci_bytes_conv *p = job->p;
  const int64_t blocks = bytes_up(p->oc, CI_BYTES_ROWS) / CI_BYTES_ROWS;
  int8_t *ones = (int8_t *)(job->scratch + p->image + p->sums), *scratch_weights = ones + p->steps * BYTES_BLOCK;
  const uint8_t flip = job->x->dtype == CI_INT8 ? 0x80 : 0;
  const uint8_t zero = (uint8_t)((job->x_zero == NULL ? 0 : *(const uint8_t *)job->x_zero->data) ^ flip);
  const int8_t *weights = p->packed;
  if (weights == NULL) bytes_pack(scratch_weights, job->w, p);
  if (weights == NULL) weights = scratch_weights;
  const bool by_columns = bytes_has_zero(job);
  if (by_columns) bytes_ones(p, ones);
  memset(job->scratch + p->image - CI_BYTES_COLS * CI_BYTES_DEPTH * 2, 0, CI_BYTES_COLS * CI_BYTES_DEPTH * 2);
  for (int64_t i = 0; i < job->x->dims[0] * p->groups; i++) {
    bytes_group group = {.job = job,
                         .columns = (const uint8_t *)job->scratch,
                         .ones = ones,
                         .weight_sums = (const uint32_t *)(const void *)(weights + bytes_weights(p)),
                         .weights = weights + i % p->groups * blocks * p->steps * BYTES_BLOCK,
                         .sums = (int32_t *)(void *)(job->scratch + p->image),
                         .image = i / p->groups,
                         .group = i % p->groups,
                         .x_zero = zero};
    bytes_image(job, (uint8_t *)job->scratch, i * p->ic, zero);
    if (by_columns) bytes_gemm(&group, ones, CI_BYTES_ROWS, group.sums);
    ci_k_parallel(job->k, blocks, 1, bytes_blocks, &group);
  }
}
