/* bytes_matmul.c - see bytes_matmul.h. a' and b' are a and b moved to the ranges that the product takes, zero points
 * too:
 *
 *   sum (a - za) (b - zb) = sum a' b' - zb' sum a' - za' sum b' + depth za' zb'
 */
#include "bytes_matmul.h"

#include "../isa.h"
#include "../pack.h"
#include "bytes.h"

enum { MATMUL_BLOCK = CI_BYTES_ROWS * CI_BYTES_DEPTH, MATMUL_BYTES = 1 << 29 };

static int64_t bytes_matmul_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

static bool bytes_matmul_take(size_t *total, size_t *place, int64_t rows, int64_t row, size_t item) {
  size_t bytes;
  *place = *total;
  return ci_mul_size((uint64_t)rows, (uint64_t)row, &bytes) && ci_mul_size(bytes, item, &bytes) &&
         bytes <= PTRDIFF_MAX / 8 && ci_add_size(*total, ci_round_up(bytes, 64), total);
}

static void bytes_matmul_columns(uint8_t *y, const uint8_t *b, const ci_bytes_matmul *p, uint8_t flip) {
  for (int64_t s = 0; s < p->steps; s++, y += p->c_row * CI_BYTES_DEPTH) {
    const uint8_t *row[CI_BYTES_DEPTH];
    for (int64_t i = 0; i < CI_BYTES_DEPTH; i++) { /* those beyond the last have a factor of 0 */
      const int64_t at = s * CI_BYTES_DEPTH + i;
      row[i] = b + (at < p->depth ? at : 0) * p->n;
    }
    ci_bytes_interleave(y, row[0], row[1], row[2], row[3], p->n, 1, flip);
    memset(y + p->n * CI_BYTES_DEPTH, 0, (size_t)((p->c_row - p->n) * CI_BYTES_DEPTH));
  }
}

static void bytes_matmul_pack(void *to, const ci_value *b, const void *argument) {
  bytes_matmul_columns(to, b->data, argument, b->dtype == CI_INT8 ? 0x80 : 0);
}

static bool bytes_matmul_shape(const ci_kernel *k, int a, int b, const ci_value *a_zero, const ci_value *b_zero,
                               ci_bytes_matmul *p) {
  const ci_value *left = k->in[a], *right = k->in[b], *y = k->out[0];
  bool fits = left->rank >= 2 && right->rank >= 2 && y->count > 0 && left->count > 0 && right->count > 0;
  fits = fits && (right->rank == 2 || right->rank == left->rank);
  for (int i = 0; fits && right->rank > 2 && i < left->rank - 2; i++) fits = left->dims[i] == right->dims[i];
  fits = fits && (a_zero == NULL || a_zero->count == 1 || (a_zero->rank == 1 && left->rank == 2));
  fits = fits && (b_zero == NULL || b_zero->count == 1 || b_zero->rank == 1);
  if (!fits) return false;
  *p = (ci_bytes_matmul){.batches = ci_product(left->dims, 0, left->rank - 2),
                         .m = left->dims[left->rank - 2],
                         .n = right->dims[right->rank - 1],
                         .depth = left->dims[left->rank - 1],
                         .one_b = right->rank == 2};
  if (p->one_b) p->m *= p->batches, p->batches = 1;
  p->steps = bytes_matmul_up(p->depth, CI_BYTES_DEPTH) / CI_BYTES_DEPTH;
  p->c_row = bytes_matmul_up(p->n, CI_BYTES_COLS);
  const int64_t rows = bytes_matmul_up(p->m, CI_BYTES_ROWS) + CI_BYTES_ROWS; /* the first block sums b's columns */
  return bytes_matmul_take(&p->bytes, &p->columns, p->steps * CI_BYTES_DEPTH, p->c_row, 1) &&
         bytes_matmul_take(&p->bytes, &p->rows, rows, p->steps * CI_BYTES_DEPTH, 1) &&
         bytes_matmul_take(&p->bytes, &p->sums, rows, p->c_row, sizeof(int32_t));
}

const ci_bytes_matmul *ci_bytes_matmul_plan(ci_kernel *k, int a, int b, const ci_value *a_zero,
                                            const ci_value *b_zero) {
  ci_bytes_matmul shape = {.steps = 0};
  const bool fits = bytes_matmul_shape(k, a, b, a_zero, b_zero, &shape);
  ci_bytes_matmul *p = ci_k_private_more(k, sizeof *p + (fits ? (size_t)shape.steps * sizeof p->step[0] : 0));
  if (p == NULL || !fits) return p;
  *p = shape;
  for (int64_t s = 0; s < p->steps; s++) p->step[s] = (ptrdiff_t)(s * p->c_row * CI_BYTES_DEPTH);
  if (p->one_b) p->packed = ci_k_packed(k, b, CI_PACK_CONV, MATMUL_BYTES, p->rows, bytes_matmul_pack, p);
  return p;
}

/* Row m of a, in blocks of eight; gives its sum. */
CI_FAST static int32_t bytes_matmul_row(int8_t *w, const uint8_t *a, int64_t depth, int64_t steps, uint8_t flip) {
  const uint32_t flips = flip * (uint32_t)0x01010101;
  int64_t s = 0;
  int32_t sum = 0;
  for (; s < depth / CI_BYTES_DEPTH; s++) {
    uint32_t four;
    memcpy(&four, a + s * CI_BYTES_DEPTH, sizeof four);
    four ^= flips;
    memcpy(w + s * MATMUL_BLOCK, &four, sizeof four);
  }
  for (; s < steps; s++) {
    for (int64_t i = 0; i < CI_BYTES_DEPTH; i++) {
      const int64_t at = s * CI_BYTES_DEPTH + i;
      w[s * MATMUL_BLOCK + i] = at < depth ? (int8_t)(a[at] ^ flip) : 0;
    }
  }
  for (int64_t i = 0; i < depth; i++) sum = (int32_t)((uint32_t)sum + (uint32_t)(int8_t)(a[i] ^ flip));
  return sum;
}

/* y = c - za' columns + zb' (depth za' - sum of the row) */
CI_FAST static void bytes_matmul_finish(uint32_t *y, const uint32_t *c, const uint32_t *columns, int64_t n, uint32_t za,
                                        uint32_t row, const uint8_t *zb, bool one, uint8_t flip) {
  if (one) {
    const uint32_t add = (uint32_t)(zb[0] ^ flip) * row;
    for (int64_t i = 0; i < n; i++) y[i] = c[i] - za * columns[i] + add;
  } else {
    for (int64_t i = 0; i < n; i++) y[i] = c[i] - za * columns[i] + (uint32_t)(zb[i] ^ flip) * row;
  }
}

typedef struct bytes_matmul_job {
  ci_kernel *k;
  const ci_bytes_matmul *p;
  const uint8_t *a, *columns;
  const ci_value *a_zero, *b_zero;
  uint8_t a_flip, b_flip;
  char *scratch;
  int32_t *y;
} bytes_matmul_job;

static void bytes_matmul_product(const bytes_matmul_job *job, const int8_t *w, int64_t rows, int32_t *c) {
  const ci_bytes_matmul *p = job->p;
  const ci_bytes_tile tile = {.x = job->columns,
                              .step = p->step,
                              .w = w,
                              .c = c,
                              .c_row = (ptrdiff_t)p->c_row,
                              .steps = p->steps,
                              .rows = rows,
                              .cols = p->n};
  job->k->isa->bytes->product(&tile);
}

static void bytes_matmul_blocks(void *argument, int64_t begin, int64_t end, int thread) {
  static const uint8_t none = 0;
  const bytes_matmul_job *job = argument;
  const ci_bytes_matmul *p = job->p;
  const int64_t first = begin * CI_BYTES_ROWS, last = end * CI_BYTES_ROWS < p->m ? end * CI_BYTES_ROWS : p->m;
  int8_t *w = (int8_t *)(job->scratch + p->rows) + (begin + 1) * p->steps * MATMUL_BLOCK;
  int32_t *sums = (int32_t *)(void *)(job->scratch + p->sums), *c = sums + (first + CI_BYTES_ROWS) * p->c_row;
  int32_t row_sum[CI_BYTES_ROWS];
  const ci_value *za = job->a_zero, *zb = job->b_zero;
  (void)thread;
  for (int64_t m = first; m < last; m += CI_BYTES_ROWS, w += p->steps * MATMUL_BLOCK, c += CI_BYTES_ROWS * p->c_row) {
    const int64_t rows = last - m < CI_BYTES_ROWS ? last - m : CI_BYTES_ROWS;
    if (rows < CI_BYTES_ROWS) memset(w, 0, (size_t)(p->steps * MATMUL_BLOCK));
    for (int64_t r = 0; r < rows; r++) {
      row_sum[r] =
          bytes_matmul_row(w + r * CI_BYTES_DEPTH, job->a + (m + r) * p->depth, p->depth, p->steps, job->a_flip);
    }
    bytes_matmul_product(job, w, CI_BYTES_ROWS, c);
    for (int64_t r = 0; r < rows; r++) {
      const uint8_t given = za == NULL ? 0 : ((const uint8_t *)za->data)[za->count == 1 ? 0 : m + r];
      const int32_t zero = (int8_t)(given ^ job->a_flip);
      bytes_matmul_finish((uint32_t *)(void *)(job->y + (m + r) * p->n), (const uint32_t *)(void *)(c + r * p->c_row),
                          (const uint32_t *)(void *)sums, p->n, (uint32_t)zero,
                          (uint32_t)p->depth * (uint32_t)zero - (uint32_t)row_sum[r], zb == NULL ? &none : zb->data,
                          zb == NULL || zb->count == 1, job->b_flip);
    }
  }
}

/* Sums of b's columns. */
static void bytes_matmul_ones(const bytes_matmul_job *job) {
  const ci_bytes_matmul *p = job->p;
  int8_t *w = (int8_t *)(job->scratch + p->rows);
  memset(w, 0, (size_t)(p->steps * MATMUL_BLOCK));
  for (int64_t i = 0; i < p->depth; i++) w[i / CI_BYTES_DEPTH * MATMUL_BLOCK + i % CI_BYTES_DEPTH] = 1;
  bytes_matmul_product(job, w, CI_BYTES_ROWS, (int32_t *)(void *)(job->scratch + p->sums));
}

void ci_bytes_matmul_run(ci_kernel *k, const ci_bytes_matmul *p, int a, int b, const ci_value *a_zero,
                         const ci_value *b_zero, char *scratch, int32_t *y) {
  bytes_matmul_job job = {.k = k,
                          .p = p,
                          .a_zero = a_zero,
                          .b_zero = b_zero,
                          .scratch = scratch,
                          .y = y,
                          .a = k->in[a]->data,
                          .a_flip = k->in[a]->dtype == CI_UINT8 ? 0x80 : 0,
                          .b_flip = k->in[b]->dtype == CI_INT8 ? 0x80 : 0};
  const int64_t blocks = bytes_matmul_up(p->m, CI_BYTES_ROWS) / CI_BYTES_ROWS;
  for (int64_t i = 0; i < p->batches; i++, job.a += p->m * p->depth, job.y += p->m * p->n) {
    job.columns = p->packed != NULL ? p->packed : (const uint8_t *)(scratch + p->columns);
    if (p->packed == NULL) {
      bytes_matmul_columns((uint8_t *)scratch + p->columns, (const uint8_t *)k->in[b]->data + i * p->depth * p->n, p,
                           job.b_flip);
    }
    bytes_matmul_ones(&job);
    ci_k_parallel(k, blocks, 1, bytes_matmul_blocks, &job);
  }
}
