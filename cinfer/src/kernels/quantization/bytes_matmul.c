/* bytes_matmul.c - matrix multiplication of bytes (bytes_matmul.h). a' and b' are a and b moved to the ranges that the
 * instructions take, zero points too:
 *
 *   sum (a - za) (b - zb) = sum a' b' - zb' sum a' - za' sum b' + depth za' zb'
 */
#include "bytes_matmul.h"

#include "../../simd/isa.h"
#include "../../plan/pack.h"
#include "bytes.h"

enum { MATMUL_BLOCK = CI_BYTES_ROWS * CI_BYTES_DEPTH, MATMUL_BYTES = 1 << 29 };
/* Of a b that leaves the second-level cache, more rows at a time read each part of it. */
enum { MATMUL_FAR = 1 << 18, MATMUL_GROUP = 4 };

static int64_t bytes_matmul_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

static bool bytes_matmul_take(size_t *total, size_t *offset, int64_t rows, int64_t row, size_t item) {
  size_t bytes;
  *offset = *total;
  return ci_mul_size((uint64_t)rows, (uint64_t)row, &bytes) && ci_mul_size(bytes, item, &bytes) &&
         bytes <= PTRDIFF_MAX / 8 && ci_add_size(*total, ci_round_up(bytes, 64), total);
}

CI_FAST static void bytes_matmul_add(uint32_t *sums, const uint8_t *b, int64_t n, uint8_t flip) {
  for (int64_t i = 0; i < n; i++) sums[i] += (uint32_t)(b[i] ^ flip);
}

/* b in packed tiles of CI_BYTES_COLS columns, followed by the sums of its columns. */
static void bytes_matmul_columns(uint8_t *y, const uint8_t *b, const ci_bytes_matmul *p, uint8_t flip) {
  const int64_t packed_tile_step = p->steps * CI_BYTES_COLS * CI_BYTES_DEPTH;
  uint32_t *sums = (uint32_t *)(void *)(y + p->c_row * p->steps * CI_BYTES_DEPTH);
  memset(sums, 0, (size_t)p->c_row * sizeof *sums);
  for (int64_t i = 0; i < p->depth; i++) bytes_matmul_add(sums, b + i * p->n, p->n, flip);
  for (int64_t n = 0; n < p->n; n += CI_BYTES_COLS, y += packed_tile_step) {
    const int64_t some = p->n - n < CI_BYTES_COLS ? p->n - n : CI_BYTES_COLS;
    uint8_t *to = y;
    for (int64_t s = 0; s < p->steps; s++, to += CI_BYTES_COLS * CI_BYTES_DEPTH) {
      const uint8_t *row[CI_BYTES_DEPTH];
      for (int64_t i = 0; i < CI_BYTES_DEPTH; i++) { /* those beyond the last have a factor of 0 */
        const int64_t at = s * CI_BYTES_DEPTH + i;
        row[i] = b + (at < p->depth ? at : 0) * p->n + n;
      }
      ci_bytes_interleave(to, row[0], row[1], row[2], row[3], some, flip);
      memset(to + some * CI_BYTES_DEPTH, 0, (size_t)((CI_BYTES_COLS - some) * CI_BYTES_DEPTH));
    }
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
  *p = (ci_bytes_matmul){.batches = ci_shape_count(left->dims, 0, left->rank - 2),
                         .m = left->dims[left->rank - 2],
                         .n = right->dims[right->rank - 1],
                         .depth = left->dims[left->rank - 1],
                         .one_b = right->rank == 2};
  if (p->one_b) p->m *= p->batches, p->batches = 1;
  p->steps = bytes_matmul_up(p->depth, CI_BYTES_DEPTH) / CI_BYTES_DEPTH;
  p->c_row = bytes_matmul_up(p->n, CI_BYTES_COLS);
  p->group = p->c_row * CI_BYTES_DEPTH > MATMUL_FAR / p->steps ? MATMUL_GROUP : 1;
  const int64_t rows = (k->threads > 1 ? k->threads : 1) * p->group * CI_BYTES_ROWS;
  return bytes_matmul_take(&p->bytes, &p->columns, (p->steps + 1) * CI_BYTES_DEPTH, p->c_row, 1) &&
         bytes_matmul_take(&p->bytes, &p->start, 1, p->c_row, sizeof(int32_t)) &&
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
  for (int64_t s = 0; s < p->steps; s++) p->step[s] = (ptrdiff_t)(s * CI_BYTES_COLS * CI_BYTES_DEPTH);
  if (p->one_b) p->packed = ci_k_packed(k, b, CI_PACK_CONV, MATMUL_BYTES, p->start, bytes_matmul_pack, p);
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

/* The last step where each row has its zero point, or each column has: y = c - za' columns + zb' row. */
static void bytes_matmul_finish(uint32_t *y, const uint32_t *c, const uint32_t *columns, int64_t n, uint32_t za,
                                uint32_t row, const uint8_t *zb, bool one, uint8_t flip) {
  for (int64_t i = 0; i < n; i++) y[i] = c[i] - za * columns[i] + (uint32_t)(zb[one ? 0 : i] ^ flip) * row;
}

typedef struct bytes_matmul_job {
  ci_kernel *k;
  const ci_bytes_matmul *p;
  const uint8_t *a, *columns;
  const ci_value *a_zero, *b_zero;
  uint8_t a_flip, b_flip;
  bool plain; /* one zero point each: sums begin with its contribution */
  char *scratch;
  int64_t first_row; /* of this matrix, in all of them */
  ci_bytes_row_fn take;
  void *argument;
} bytes_matmul_job;

/* c_row: of c. */
static void bytes_matmul_gemm(const bytes_matmul_job *job, const int8_t *w, int64_t rows, int32_t *c, int64_t c_row,
                              const int32_t *start, const int32_t *add) {
  const ci_bytes_matmul *p = job->p;
  const ci_bytes_tile tile = {.x = job->columns,
                              .packed_tile_step = (ptrdiff_t)(p->steps * CI_BYTES_COLS * CI_BYTES_DEPTH),
                              .step = p->step,
                              .w = w,
                              .c = c,
                              .c_row = (ptrdiff_t)c_row,
                              .steps = p->steps,
                              .rows = rows,
                              .cols = p->n,
                              .one = p->m == 1,
                              .start = start,
                              .add = add};
  job->k->isa->bytes->gemm(&tile);
}

/* Of row m. */
static int32_t bytes_matmul_zero(const bytes_matmul_job *job, int64_t m) {
  const ci_value *za = job->a_zero;
  const uint8_t given = za == NULL ? 0 : ((const uint8_t *)za->data)[za->count == 1 ? 0 : m];
  return (int8_t)(given ^ job->a_flip);
}

static const uint8_t *bytes_matmul_b_zero(const bytes_matmul_job *job) {
  static const uint8_t none = 0;
  return job->b_zero == NULL ? &none : job->b_zero->data;
}

/* Sums of b's columns, times -za' if there is one. */
static int32_t *bytes_matmul_start(const bytes_matmul_job *job) {
  return (int32_t *)(void *)(job->scratch + job->p->start);
}

/* Row m of the results: c, or a conversion of it. */
static void bytes_matmul_give(const bytes_matmul_job *job, int64_t m, uint32_t row, int32_t *c) {
  const ci_bytes_matmul *p = job->p;
  if (!job->plain) {
    bytes_matmul_finish((uint32_t *)(void *)c, (const uint32_t *)(void *)c,
                        (const uint32_t *)(const void *)bytes_matmul_start(job), p->n,
                        (uint32_t)bytes_matmul_zero(job, m), row, bytes_matmul_b_zero(job),
                        job->b_zero == NULL || job->b_zero->count == 1, job->b_flip);
  }
  if (job->take != NULL) job->take(job->argument, job->first_row + m, c);
  else memcpy((int32_t *)job->argument + (job->first_row + m) * p->n, c, (size_t)p->n * sizeof *c);
}

/* A group of rows of a, in blocks, and the addend of each: zb' (depth za' - its sum), or of more zero points the
 * factor of zb' alone. */
static void bytes_matmul_rows(const bytes_matmul_job *job, int64_t m, int64_t rows, int8_t *w, int32_t *add) {
  const ci_bytes_matmul *p = job->p;
  const int64_t block = p->steps * MATMUL_BLOCK;
  const uint32_t zb = job->plain ? (uint32_t)(bytes_matmul_b_zero(job)[0] ^ job->b_flip) : 1;
  if (rows % CI_BYTES_ROWS != 0) memset(w + rows / CI_BYTES_ROWS * block, 0, (size_t)block);
  for (int64_t r = 0; r < rows; r++) {
    const int32_t sum = bytes_matmul_row(w + r / CI_BYTES_ROWS * block + r % CI_BYTES_ROWS * CI_BYTES_DEPTH,
                                         job->a + (m + r) * p->depth, p->depth, p->steps, job->a_flip);
    const uint32_t row = (uint32_t)p->depth * (uint32_t)bytes_matmul_zero(job, m + r) - (uint32_t)sum;
    add[r] = (int32_t)(zb * row);
  }
}

static void bytes_matmul_blocks(void *argument, int64_t begin, int64_t end, int thread) {
  const bytes_matmul_job *job = argument;
  const ci_bytes_matmul *p = job->p;
  const int64_t mine = thread * p->group, rows = p->group * CI_BYTES_ROWS;
  const int64_t last = end * CI_BYTES_ROWS < p->m ? end * CI_BYTES_ROWS : p->m;
  const int32_t *start = job->plain ? bytes_matmul_start(job) : NULL;
  int8_t *w = (int8_t *)(job->scratch + p->rows) + mine * p->steps * MATMUL_BLOCK;
  int32_t *c = (int32_t *)(void *)(job->scratch + p->sums) + mine * CI_BYTES_ROWS * p->c_row;
  for (int64_t m = begin * CI_BYTES_ROWS; m < last; m += rows) {
    const int64_t some = last - m < rows ? last - m : rows;
    int32_t add[CI_BYTES_ROWS * MATMUL_GROUP] = {0};
    bytes_matmul_rows(job, m, some, w, add);
    if (job->plain && job->take == NULL && p->n == p->c_row && some % CI_BYTES_ROWS == 0) {
      bytes_matmul_gemm(job, w, some, (int32_t *)job->argument + (job->first_row + m) * p->n, p->n, start, add);
      continue;
    }
    bytes_matmul_gemm(job, w, bytes_matmul_up(some, CI_BYTES_ROWS), c, p->c_row, start, job->plain ? add : NULL);
    for (int64_t r = 0; r < some; r++) bytes_matmul_give(job, m + r, (uint32_t)add[r], c + r * p->c_row);
  }
}

static void bytes_matmul_begin(const bytes_matmul_job *job) {
  const ci_bytes_matmul *p = job->p;
  const uint32_t *sums = (const uint32_t *)(const void *)(job->columns + p->c_row * p->steps * CI_BYTES_DEPTH);
  const uint32_t factor = job->plain ? 0 - (uint32_t)bytes_matmul_zero(job, 0) : 1;
  int32_t *start = bytes_matmul_start(job);
  for (int64_t i = 0; i < p->c_row; i++) start[i] = (int32_t)(sums[i] * factor);
}

/* Zero points of weights are mostly 0, one for each column. */
static bool bytes_matmul_one(const ci_value *zeros) {
  const char *z = zeros == NULL ? NULL : zeros->data;
  return z == NULL || memcmp(z, z + 1, (size_t)zeros->count - 1) == 0;
}

void ci_bytes_matmul_run(ci_kernel *k, const ci_bytes_matmul *p, int a, int b, const ci_value *a_zero,
                         const ci_value *b_zero, char *scratch, ci_bytes_row_fn take, void *argument) {
  bytes_matmul_job job = {.k = k,
                          .p = p,
                          .a_zero = a_zero,
                          .b_zero = b_zero,
                          .scratch = scratch,
                          .take = take,
                          .argument = argument,
                          .a = k->in[a]->data,
                          .plain = bytes_matmul_one(a_zero) && bytes_matmul_one(b_zero),
                          .a_flip = k->in[a]->dtype == CI_UINT8 ? 0x80 : 0,
                          .b_flip = k->in[b]->dtype == CI_INT8 ? 0x80 : 0};
  const int64_t blocks = bytes_matmul_up(p->m, CI_BYTES_ROWS) / CI_BYTES_ROWS;
  for (int64_t i = 0; i < p->batches; i++, job.a += p->m * p->depth, job.first_row += p->m) {
    job.columns = p->packed != NULL ? p->packed : (const uint8_t *)(scratch + p->columns);
    if (p->packed == NULL) {
      bytes_matmul_columns((uint8_t *)scratch + p->columns, (const uint8_t *)k->in[b]->data + i * p->depth * p->n, p,
                           job.b_flip);
    }
    bytes_matmul_begin(&job);
    ci_k_parallel(k, blocks, 1, bytes_matmul_blocks, &job);
  }
}
