/* gemm.c - matrix multiplication: the order of summation, packing, and plain loops for the types without vector
 * kernels. */
#include "gemm.h"

#include "../../simd/isa.h"
#include "../../simd/linear/isa_linear.h"
#include "../../plan/pack.h"
#if CI_HAS_GEMM

static int64_t gemm_at_most(int64_t a, int64_t b) { return a < b ? a : b; }

bool ci_matmul_rule(ci_matmul *p, int32_t dtype, int64_t n, int64_t k) {
  switch (dtype) {
    case CI_FLOAT:
    case CI_DOUBLE:
    case CI_INT32:
    case CI_INT64:
    case CI_UINT32:
    case CI_UINT64: break;
    default: return false;
  }
  const bool floating = dtype == CI_FLOAT || dtype == CI_DOUBLE;
  p->dtype = dtype;
  p->n = n;
  p->k = k;
  p->dots = floating && k > 0 && (n == 1 || (n < 8 && k / 32 >= n));
  p->block = n <= 16 ? k / 4 + (k % 4 != 0) : n <= 32 ? k / 2 + (k % 2 != 0) : k;
  if (p->block < 16) p->block = 16;
  if (p->block > CI_BLOCK) p->block = CI_BLOCK;
  return true;
}

/* ---- operands in the order that the kernels read ---- */

size_t ci_matmul_a_bytes(const ci_matmul *p, int64_t m, ptrdiff_t a_row, ptrdiff_t a_col) {
  (void)a_row;
  if (!p->dots || a_col == 1) return 0;
  return (size_t)m * (size_t)p->k * ci_dtype_size(p->dtype);
}

size_t ci_matmul_b_bytes(const ci_matmul *p, ptrdiff_t b_row, ptrdiff_t b_col) {
  if (p->n == 0 || p->k == 0) return 0;
  if (p->dots ? b_row == 1 : b_col == 1 || p->n == 1) return 0;
  return (size_t)p->n * (size_t)p->k * ci_dtype_size(p->dtype);
}

void ci_transpose_copy(size_t item, void *to, const void *from, int64_t rows, int64_t cols, ptrdiff_t row,
                       ptrdiff_t col) {
  enum { square = 16 }; /* both sides stay in a few cache lines */
  for (int64_t r0 = 0; r0 < rows; r0 += square) {
    const int64_t r1 = gemm_at_most(rows, r0 + square);
    for (int64_t c = 0; c < cols; c++) {
      if (item == sizeof(float)) {
        const float *source = (const float *)from + c * col;
        float *target = (float *)to + c * rows;
        for (int64_t r = r0; r < r1; r++) target[r] = source[r * row];
      } else {
        const double *source = (const double *)from + c * col;
        double *target = (double *)to + c * rows;
        for (int64_t r = r0; r < r1; r++) target[r] = source[r * row];
      }
    }
  }
}

ci_operand ci_matmul_pack_a(const ci_matmul *p, int64_t m, ci_operand a, void *copy) {
  if (ci_matmul_a_bytes(p, m, a.row, a.col) == 0) return a;
  ci_transpose_copy(ci_dtype_size(p->dtype), copy, a.data, p->k, m, a.col, a.row);
  return (ci_operand){copy, (ptrdiff_t)p->k, 1};
}

ci_operand ci_matmul_pack_b(const ci_matmul *p, ci_operand b, void *copy) {
  if (ci_matmul_b_bytes(p, b.row, b.col) == 0) return b;
  if (p->dots) {
    ci_transpose_copy(ci_dtype_size(p->dtype), copy, b.data, p->k, p->n, b.row, b.col);
    return (ci_operand){copy, 1, (ptrdiff_t)p->k};
  }
  ci_transpose_copy(ci_dtype_size(p->dtype), copy, b.data, p->n, p->k, b.col, b.row);
  return (ci_operand){copy, (ptrdiff_t)p->n, 1};
}

/* ---- packed tiles, and constants ---- */

enum { GEMM_FILL_COLUMNS = 128 };
enum { GEMM_BUFFER_ROWS = 256, GEMM_BUFFER_COLUMNS = 256, GEMM_BUFFER_STRIDE = 512 }; /* from which it pays */

size_t ci_matmul_packed_tile_bytes(const ci_matmul *p, const struct ci_isa *isa) {
  const int64_t packed_tile_width = isa->linear->packed_tile_width, more = p->n % packed_tile_width;
  size_t bytes = (size_t)(p->n - more + (more > 0 ? ci_packed_tile_row(more, packed_tile_width) : 0)) * sizeof(float);
  if (p->dtype != CI_FLOAT || p->dots || !ci_mul_size(bytes, (uint64_t)p->k, &bytes)) return 0;
  return bytes;
}

ci_operand ci_matmul_pack_tiles(const ci_matmul *p, const struct ci_isa *isa, ci_operand b, void *copy) {
  const int64_t packed_tile_width = isa->linear->packed_tile_width;
  float *to = copy;
  for (int64_t n = 0; n < p->n; n += packed_tile_width, to += packed_tile_width * p->k) {
    const int64_t columns = gemm_at_most(packed_tile_width, p->n - n),
                  row = ci_packed_tile_row(columns, packed_tile_width);
    const float *from = (const float *)b.data + n * b.col;
    if (columns < row) memset(to, 0, (size_t)(row * p->k) * sizeof *to);
    if (b.col == 1) {
      for (int64_t k = 0; k < p->k; k++) memcpy(to + k * row, from + k * b.row, (size_t)columns * sizeof *to);
    } else {
      isa->linear->transpose(to, (ptrdiff_t)row, from, b.col, columns, p->k);
    }
  }
  return (ci_operand){copy, (ptrdiff_t)packed_tile_width, 1};
}

size_t ci_matmul_buffer_bytes(const ci_matmul *p, int64_t m, ptrdiff_t a_row, ptrdiff_t a_col) {
  const bool large = m >= GEMM_BUFFER_ROWS && p->n >= GEMM_BUFFER_COLUMNS && a_row >= GEMM_BUFFER_STRIDE;
  if (p->dtype != CI_FLOAT || p->dots || a_col != 1 || !large) return 0;
  return (size_t)gemm_at_most(m, CI_SWEEP_ROWS) * CI_SWEEP_BUFFER_ROW * sizeof(float);
}

typedef struct gemm_constant {
  const ci_matmul *p;
  const ci_kernel *k;
  ci_operand b;
} gemm_constant;

/* Columns of a transposed matrix are contiguous: some packed tiles at a time, so that the two copies are never
 * complete in memory. */
static void gemm_fill_transposed(const gemm_constant *c, const float *from, float *to) {
  const int64_t step = (int64_t)ci_round_up(GEMM_FILL_COLUMNS, (size_t)c->k->isa->linear->packed_tile_width);
  ci_matmul part = *c->p;
  for (int64_t n = 0; n < c->p->n; n += step, to += step * part.k) {
    part.n = gemm_at_most(step, c->p->n - n);
    const float *columns = from + n * c->b.col;
    ci_matmul_pack_tiles(&part, c->k->isa, (ci_operand){columns, 1, c->b.col}, to);
    ci_k_pack_forget(c->k, columns, (size_t)(part.n * c->b.col) * sizeof *columns);
  }
}

static void gemm_fill(void *to, const ci_value *value, const void *argument) {
  const gemm_constant *c = argument;
  const ci_operand b = {value->data, c->b.row, c->b.col};
  if (c->p->dots || c->p->dtype != CI_FLOAT) ci_matmul_pack_b(c->p, b, to);
  else if (b.row == 1 && b.col == c->p->k) gemm_fill_transposed(c, b.data, to);
  else ci_matmul_pack_tiles(c->p, c->k->isa, b, to);
}

/* The constant as the file has it, if its order is that of ci_matmul_pack_tiles. */
static const void *gemm_in_file(const ci_matmul *p, ci_kernel *k, int i, ci_operand b) {
  const int64_t packed_tile_width = k->isa->linear->packed_tile_width, more = p->n % packed_tile_width;
  if (p->dots || p->dtype != CI_FLOAT || k->in[i]->rank != 2 ||
      (more > 0 && ci_packed_tile_row(more, packed_tile_width) != more))
    return NULL;
  return ci_k_packed_tiles(k, i, packed_tile_width, b.col == 1);
}

/* A constant may be read as matrices of several shapes, transposed or not: K and the transposition distinguish them. */
const void *ci_matmul_constant(const ci_matmul *p, ci_kernel *k, int i, ci_operand b) {
  const gemm_constant c = {p, k, b};
  const bool packed_tiles = p->dtype == CI_FLOAT && !p->dots;
  const size_t bytes = packed_tiles ? ci_matmul_packed_tile_bytes(p, k->isa) : ci_matmul_b_bytes(p, b.row, b.col);
  if (bytes == 0 || p->k > INT32_MAX) return NULL;
  const void *in_file = gemm_in_file(p, k, i, b);
  if (in_file != NULL) return in_file;
  const uint32_t which = (uint32_t)p->k << 1 | (b.col == 1 ? 1 : 0);
  return ci_k_packed(k, i, p->dots ? CI_PACK_DOTS : CI_PACK_COLUMNS, which, bytes, gemm_fill, &c);
}

/* ---- plain loops: float64 with two roundings a step, integers wrapping ---- */

/* Lanes k mod 16 or k mod 64, then the tree. Terms that the last sixteen lack would add +0 to a sum that is never -0.
 */
static double gemm_dot_double(const double *a, const double *b, int64_t k) {
  const bool many = k >= CI_MANY_LANES_FROM;
  double lane[64] = {0};
  for (int64_t i = 0, count; i < k; i += count) {
    count = many && k - i >= 64 ? 64 : gemm_at_most(k - i, 16);
    for (int64_t j = 0; j < count; j++) {
      const double y = a[i + j] * b[i + j];
      lane[j] = lane[j] + y;
    }
  }
  for (int j = 0; many && j < 16; j++) {
    const double low = lane[j] + lane[16 + j], high = lane[32 + j] + lane[48 + j];
    lane[j] = low + high;
  }
  for (int half = 8; half > 0; half /= 2) {
    for (int j = 0; j < half; j++) lane[j] = lane[j] + lane[j + half];
  }
  return lane[0];
}

/* Of 64 bits, which wrap: the order cannot be seen. */
static void gemm_longs(const ci_matmul_part *t) {
  for (int64_t m = 0; m < t->m; m++) {
    const uint64_t *a = (const uint64_t *)t->a.data + m * t->a.row, *b = t->b.data;
    uint64_t *c = (uint64_t *)t->c + m * t->c_row;
    if (!t->add) memset(c, 0, (size_t)t->n * sizeof *c);
    for (int64_t k = 0; k < t->k; k++) {
      const uint64_t x = a[k * t->a.col], *w = b + k * t->b.row;
      for (int64_t n = 0; n < t->n; n++) c[n] += x * w[n];
    }
  }
}

/* All of a tile of elements of item bytes, block by block; c[0] is its first element. */
static void gemm_plain(const ci_tile *all, const struct ci_isa_linear *isa, size_t item) {
  const int words = (int)item / 4, lanes = isa->lanes > words ? isa->lanes / words : 1;
  const int most = words == 1 && isa->plain_rows > CI_PLAIN_INTS ? CI_PLAIN_INTS : isa->plain_rows;
  const int64_t blocks = all->k > 0 || all->add ? (all->k + all->block - 1) / all->block : 1;
  ci_tile t = *all;
  for (int64_t n = 0; n < all->n; n += lanes) {
    const int width = (int)gemm_at_most(all->n - n, lanes) * words;
    for (int64_t block = 0; block < blocks; block++) {
      const int64_t k = block * all->block, length = gemm_at_most(all->k - k, all->block);
      t.b = all->b + (k * all->b_k + n) * words;
      for (int64_t m = 0; m < all->m; m += most) {
        t.a = all->a + (m * all->a_row + k * all->a_k) * words;
        t.c = all->c + (m * all->c_row + n) * words;
        (item == sizeof(double) ? isa->plain_double : isa->plain_int)(&t, (int)gemm_at_most(all->m - m, most), width,
                                                                      length, block > 0 || all->add);
      }
    }
  }
}

static void gemm_dots(const ci_matmul_part *t) {
  for (int64_t m = 0; m < t->m; m++) {
    const double *a = (const double *)t->a.data + m * t->a.row, *b = t->b.data;
    double *c = (double *)t->c + m * t->c_row;
    for (int64_t n = 0; n < t->n; n++) c[n] = gemm_dot_double(a, b + n * t->b.col, t->k);
  }
}

void ci_matmul_compute(const ci_matmul *p, const struct ci_isa *isa, const ci_matmul_part *part) {
  if (part->m == 0 || part->n == 0) return;
  const ci_tile tile = {.a = part->a.data,
                        .a_row = part->a.row,
                        .a_k = part->a.col,
                        .b = part->b.data,
                        .b_k = part->b.row,
                        .b_col = part->b.col,
                        .b_packed_tile = part->packed_tiles ? (ptrdiff_t)(isa->linear->packed_tile_width * p->k) : 0,
                        .c = part->c,
                        .c_row = part->c_row,
                        .m = part->m,
                        .n = part->n,
                        .k = part->k,
                        .sweep_buffer = part->a.col == 1 ? part->sweep_buffer : NULL,
                        .block = p->block,
                        .add = part->add,
                        .after = part->after};
  switch (p->dtype) {
    case CI_FLOAT: (p->dots ? isa->linear->dots : isa->linear->columns)(&tile); break;
    case CI_DOUBLE:
      if (p->dots) gemm_dots(part);
      else gemm_plain(&tile, isa->linear, sizeof(double));
      break;
    case CI_INT32:
    case CI_UINT32: gemm_plain(&tile, isa->linear, sizeof(uint32_t)); break;
    default: gemm_longs(part); break;
  }
}
#endif
