/* quantize.c - QuantizeLinear, DequantizeLinear, MatMulInteger, QLinearMatMul (docs/numerics.md, "Quantisation"). */
#include "../../simd/isa.h"
#include "../../simd/math/isa_move.h"
#include "bytes_matmul.h"
#include "../arithmetic/cast.h"
#include "../linear/gemm.h"
#if CI_HAS(quantization)

enum { QUANT_PIECE = 256, QUANT_GRAIN = 1 << 12, QUANT_RUN = 16 };

/* One scale and zero point for all, for each index of an axis, or for each block along an axis. */
typedef struct quant_grid {
  int64_t inner, axis, blocks, block; /* elements after the axis, its size, scales along it, elements a scale */
  bool outer;                         /* scales differ before and after the axis, too */
} quant_grid;

typedef struct quant_plan {
  quant_grid grid;
  int64_t scales;
  bool one; /* scale for all */
  bool integers, quantizes;
  int32_t precision;
  int64_t least, most;
  ci_caster load, scale, zero, store; /* zero: to float32 */
  size_t zeros;                       /* where the zero points begin in scratch, after the scales */
} quant_plan;

/* ---- prepare ---- */

static bool quant_is_small_float(int32_t dtype) {
  return (dtype >= CI_FLOAT8E4M3FN && dtype <= CI_FLOAT8E5M2FNUZ) || dtype == CI_FLOAT4E2M1;
}

/* Types of quantised values: false for another type. Floats have no limits. */
static bool quant_range(int32_t dtype, int64_t *least, int64_t *most) {
  const bool is_signed = dtype == CI_INT8 || dtype == CI_INT16 || dtype == CI_INT4 || dtype == CI_INT2;
  const int bits = ci_dtype_bits(dtype);
  *least = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
  *most = *least + ((int64_t)1 << (bits < 32 ? bits : 32)) - 1;
  return is_signed || dtype == CI_UINT8 || dtype == CI_UINT16 || dtype == CI_UINT4 || dtype == CI_UINT2 ||
         quant_is_small_float(dtype);
}

static bool quant_is_precision(int32_t dtype) {
  return dtype == CI_FLOAT || dtype == CI_FLOAT16 || dtype == CI_BFLOAT16;
}

static ci_status quant_dtype_attr(ci_kernel *k, const char *name, int32_t fallback, int32_t *dtype) {
  int64_t value;
  CI_TRY(ci_k_attr_i(k, name, 0, &value));
  if (value < 0 || value > CI_INT2) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s is %lld, which is not an element type", name, (long long)value);
  }
  *dtype = value == 0 ? fallback : (int32_t)value;
  return CI_OK;
}

static const ci_value *quant_zero(const ci_kernel *k) { return k->n_in > 2 ? k->in[2] : NULL; }

static ci_status quant_shapes_differ(ci_kernel *k, int axis, int64_t block) {
  char x[160], scale[160];
  return ci_k_fail(k, CI_INVALID_ARGUMENT,
                   "the scale is %s for x %s, axis %d and block_size %lld: expected one number, "
                   "one for each index of the axis, or x's shape with one for each block of the axis",
                   ci_value_describe(k->in[1], scale, sizeof scale), ci_value_describe(k->in[0], x, sizeof x), axis,
                   (long long)block);
}

/* Whether scales of x's rank and shape, but for the axis, fit its blocks. */
static bool quant_blocks_fit(const ci_value *x, const ci_value *scale, int axis, int64_t block) {
  if (scale->rank != x->rank) return false;
  for (int i = 0; i < x->rank; i++) {
    if (i != axis && scale->dims[i] != x->dims[i]) return false;
  }
  return scale->dims[axis] == x->dims[axis] / block + (x->dims[axis] % block != 0);
}

static ci_status quant_grid_of(ci_kernel *k, quant_plan *p) {
  const ci_value *x = k->in[0], *scale = k->in[1], *zero = quant_zero(k);
  int64_t requested, block;
  int axis = 0;
  CI_TRY(ci_k_attr_i(k, "axis", 1, &requested));
  CI_TRY(ci_k_attr_i(k, "block_size", 0, &block));
  if (block < 0) return ci_k_fail(k, CI_INVALID_ARGUMENT, "block_size is %lld, expected 0 or more", (long long)block);
  p->scales = scale->count;
  p->one = scale->rank == 0 || (scale->rank == 1 && scale->count == 1);
  if (zero != NULL) {
    bool equal = zero->rank == scale->rank || (p->one && zero->count == 1 && zero->rank <= 1);
    for (int i = 0; equal && i < zero->rank && !p->one; i++) equal = zero->dims[i] == scale->dims[i];
    if (!equal || (p->one && zero->count != 1)) {
      char one[160], other[160];
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "the zero point is %s, expected the shape of the scale %s",
                       ci_value_describe(zero, one, sizeof one), ci_value_describe(scale, other, sizeof other));
    }
  }
  if (p->one) return CI_OK;
  if (x->rank == 1 && scale->rank == 1) requested = block > 0 ? requested : 0;
  CI_TRY(ci_k_axis(k, x->rank == 1 && requested == 1 ? 0 : requested, x->rank, &axis));
  p->grid.outer = block > 0;
  if (block > 0 ? !quant_blocks_fit(x, scale, axis, block) : scale->rank != 1 || scale->count != x->dims[axis]) {
    return quant_shapes_differ(k, axis, block);
  }
  if (x->count == 0) return CI_OK;
  p->grid.axis = x->dims[axis];
  p->grid.inner = ci_shape_count(x->dims, axis + 1, x->rank);
  p->grid.block = block > 0 ? block : 1;
  p->grid.blocks = block > 0 ? scale->dims[axis] : x->dims[axis];
  return CI_OK;
}

/* Scratch for the scales and zero points as float32, which holds all of them. */
static ci_status quant_scratch(ci_kernel *k, quant_plan *p) {
  size_t bytes;
  if (!ci_mul_size((uint64_t)p->scales, sizeof(float), &bytes) || bytes > PTRDIFF_MAX / 4) return ci_k_no_memory(k);
  p->zeros = ci_round_up(bytes, 64);
  k->scratch_bytes = 2 * p->zeros;
  const ci_value *zero = quant_zero(k);
  if (!ci_caster_make(&p->scale, k->isa, k->in[1]->dtype, CI_FLOAT, true, CI_ROUND_UP) ||
      (zero != NULL && !ci_caster_make(&p->zero, k->isa, zero->dtype, CI_FLOAT, true, CI_ROUND_UP))) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "a scale of type %s", ci_dtype_name(k->in[1]->dtype));
  }
  return CI_OK;
}

static ci_status quant_refuse(ci_kernel *k, const char *what, int32_t found, const char *expected) {
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s is %s, expected %s", what, ci_dtype_name(found), expected);
}

ci_status ci_prepare_quantize_linear(ci_kernel *k) {
  const ci_value *x = k->in[0], *scale = k->in[1], *zero = quant_zero(k);
  quant_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  int32_t to;
  int64_t saturate;
  CI_TRY(quant_dtype_attr(k, "output_dtype", zero != NULL ? zero->dtype : CI_UINT8, &to));
  CI_TRY(quant_dtype_attr(k, "precision", scale->dtype, &p->precision));
  CI_TRY(ci_k_attr_i(k, "saturate", 1, &saturate));
  if (!quant_is_precision(x->dtype) && x->dtype != CI_INT32) {
    return quant_refuse(k, "x", x->dtype, "float32, float16, bfloat16 or int32");
  }
  if (!quant_is_precision(scale->dtype) && scale->dtype != CI_INT32 && scale->dtype != CI_FLOAT8E8M0) {
    return quant_refuse(k, "the scale", scale->dtype, "float32, float16, bfloat16, int32 or float8e8m0");
  }
  if (!quant_range(to, &p->least, &p->most)) {
    return quant_refuse(k, "the output", to, "an integer type of 2 to 16 bits, float8 or float4e2m1");
  }
  if (zero != NULL && zero->dtype != to) return quant_refuse(k, "the zero point", zero->dtype, ci_dtype_name(to));
  if (!quant_is_precision(p->precision)) p->precision = CI_FLOAT;
  p->integers = !quant_is_small_float(to);
  p->quantizes = true;
  CI_TRY(quant_grid_of(k, p));
  CI_TRY(quant_scratch(k, p));
  if (!ci_caster_make(&p->load, k->isa, x->dtype, CI_FLOAT, true, CI_ROUND_UP) ||
      !ci_caster_make(&p->store, k->isa, p->integers ? CI_INT32 : CI_FLOAT, to, saturate != 0, CI_ROUND_UP)) {
    return quant_refuse(k, "the output", to, "a type of numbers");
  }
  return ci_k_out_like(k, 0, to, x);
}

ci_status ci_prepare_dequantize_linear(ci_kernel *k) {
  const ci_value *x = k->in[0], *scale = k->in[1], *zero = quant_zero(k);
  quant_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  int32_t to;
  CI_TRY(quant_dtype_attr(k, "output_dtype", quant_is_precision(scale->dtype) ? scale->dtype : CI_FLOAT, &to));
  if (!quant_range(x->dtype, &p->least, &p->most) && x->dtype != CI_INT32) {
    return quant_refuse(k, "x", x->dtype, "an integer type of 2 to 16 bits, int32, float8 or float4e2m1");
  }
  if (!quant_is_precision(scale->dtype) && scale->dtype != CI_FLOAT8E8M0) {
    return quant_refuse(k, "the scale", scale->dtype, "float32, float16, bfloat16 or float8e8m0");
  }
  if (!quant_is_precision(to)) return quant_refuse(k, "the output", to, "float32, float16 or bfloat16");
  if (zero != NULL && zero->dtype != x->dtype) {
    return quant_refuse(k, "the zero point", zero->dtype, ci_dtype_name(x->dtype));
  }
  CI_TRY(quant_grid_of(k, p));
  CI_TRY(quant_scratch(k, p));
  if (!ci_caster_make(&p->load, k->isa, x->dtype, CI_FLOAT, true, CI_ROUND_UP) ||
      !ci_caster_make(&p->store, k->isa, CI_FLOAT, to, true, CI_ROUND_UP)) {
    return quant_refuse(k, "x", x->dtype, "a type of numbers");
  }
  return ci_k_out_like(k, 0, to, x);
}

/* ---- run ---- */

typedef struct quant_piece { /* of at most QUANT_PIECE elements */
  float x[QUANT_PIECE], scale[QUANT_PIECE], zero[QUANT_PIECE];
} quant_piece;

/* The scales and zero points of n elements from `at` on. */
static void quant_spread(const quant_plan *p, const float *scales, const float *zeros, int64_t at, int64_t n,
                         quant_piece *piece) {
  const quant_grid *g = &p->grid;
  if (p->one) {
    for (int64_t i = 0; i < n; i++) piece->scale[i] = scales[0], piece->zero[i] = zeros[0];
    return;
  }
  int64_t behind = at % g->inner, index = at / g->inner % g->axis, before = at / g->inner / g->axis;
  for (int64_t i = 0; i < n; i++) {
    int64_t from = g->outer ? (before * g->blocks + index / g->block) * g->inner + behind : index;
    piece->scale[i] = scales[from];
    piece->zero[i] = zeros[from];
    if (++behind < g->inner) continue;
    behind = 0;
    if (++index < g->axis) continue;
    index = 0;
    before++;
  }
}

static double quant_limit(double v, double least, double most) { return v < least ? least : v > most ? most : v; }

/* Half to even; |v| < 2^51. */
static double quant_whole(double v) { return v + 0x1.8p52 - 0x1.8p52; }

static int32_t quant_integer(double v, double zero, double least, double most) {
  if (v != v) v = 0.0;
  return (int32_t)quant_limit(quant_whole(quant_limit(v, -0x1p40, 0x1p40)) + zero, least, most);
}

/* x becomes the rounded quotient. */
static void quant_divide(const ci_kernel *k, const quant_plan *p, quant_piece *piece, int64_t n) {
  if (p->precision == CI_FLOAT) {
    k->isa->move->divide(piece->x, piece->scale, n);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    const float x = ci_round_to(p->precision, piece->x[i]), scale = ci_round_to(p->precision, piece->scale[i]);
    piece->x[i] = ci_round_to(p->precision, x / scale);
  }
}

static void quant_make(const ci_kernel *k, const quant_plan *p, quant_piece *piece, int64_t n, void *y) {
  int32_t numbers[QUANT_PIECE];
  quant_divide(k, p, piece, n);
  if (p->integers) {
    k->isa->move->quantize(numbers, piece->x, piece->zero, n, (float)p->least, (float)p->most);
    ci_caster_run(&p->store, y, numbers, n);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    if (piece->zero[i] != 0.0f) piece->x[i] += piece->zero[i];
  }
  ci_caster_run(&p->store, y, piece->x, n);
}

/* ---- float32 to and from bytes, without the pieces between them ---- */

/* n neighbours with one scale, or with one each. */
static void quant_direct_run(const ci_kernel *k, const quant_plan *p, int64_t at, int64_t n, int64_t scale, bool one) {
  const float *scales = (const float *)k->scratch + scale;
  const float *zeros = (const float *)(const void *)((const char *)k->scratch + p->zeros) + scale;
  const struct ci_isa_move *move = k->isa->move;
  if (p->quantizes) {
    const size_t item = ci_dtype_size(k->out[0]->dtype);
    move->quantize_small((char *)k->out[0]->data + (size_t)at * item, item, (const float *)k->in[0]->data + at, scales,
                         zeros, n, one, (float)p->least, (float)p->most);
  } else {
    move->dequantize_integers[ci_move_integer(k->in[0]->dtype)](
        (float *)k->out[0]->data + at, (const char *)k->in[0]->data + (size_t)at * p->load.from_bytes, scales, zeros, n,
        one);
  }
}

static void quant_direct_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const quant_plan *p = k->private_memory;
  const quant_grid *g = &p->grid;
  (void)thread;
  if (p->one) {
    quant_direct_run(k, p, begin, end - begin, 0, true);
    return;
  }
  const int64_t run = g->inner == 1 ? g->axis : g->inner; /* neighbours that follow one rule */
  for (int64_t at = begin; at < end;) {
    const int64_t rest = run - at % run, n = rest < end - at ? rest : end - at;
    quant_direct_run(k, p, at, n, g->inner == 1 ? at % run : at / g->inner % g->axis, g->inner != 1);
    at += n;
  }
}

static bool quant_is_direct(const ci_kernel *k, const quant_plan *p) {
  const int32_t from = k->in[0]->dtype, to = k->out[0]->dtype;
  const bool bytes = p->quantizes
                         ? from == CI_FLOAT && p->precision == CI_FLOAT && p->integers && ci_dtype_bits(to) >= 8
                         : to == CI_FLOAT && ci_move_integer(from) >= 0 && from != CI_INT64;
  const quant_grid *g = &p->grid;
  return bytes && (p->one || (!g->outer && (g->inner == 1 ? g->axis : g->inner) >= QUANT_RUN));
}

static void quant_part(ci_kernel *k, int64_t begin, int64_t end, bool quantizes) {
  const quant_plan *p = k->private_memory;
  const float *scales = k->scratch, *zeros = (const float *)(const void *)((const char *)k->scratch + p->zeros);
  quant_piece piece;
  for (int64_t at = begin; at < end; at += QUANT_PIECE) {
    const int64_t n = end - at < QUANT_PIECE ? end - at : QUANT_PIECE;
    void *y = (char *)k->out[0]->data + (size_t)at * p->store.to_bytes;
    ci_caster_run(&p->load, piece.x, (const char *)k->in[0]->data + (size_t)at * p->load.from_bytes, n);
    if (!p->one || at == begin) quant_spread(p, scales, zeros, at, n, &piece);
    if (quantizes) {
      quant_make(k, p, &piece, n, y);
      continue;
    }
    k->isa->move->dequantize(piece.x, piece.zero, piece.scale, n);
    ci_caster_run(&p->store, y, piece.x, n);
  }
}

static void quant_quantize_part(void *argument, int64_t begin, int64_t end, int thread) {
  (void)thread;
  quant_part(argument, begin, end, true);
}

static void quant_dequantize_part(void *argument, int64_t begin, int64_t end, int thread) {
  (void)thread;
  quant_part(argument, begin, end, false);
}

static ci_status quant_run(ci_kernel *k, ci_part_fn part) {
  const quant_plan *p = k->private_memory;
  const ci_value *zero = quant_zero(k);
  char *scratch = k->scratch;
  if (k->out[0]->count == 0) return CI_OK;
  ci_caster_run(&p->scale, scratch, k->in[1]->data, p->scales);
  if (zero != NULL) ci_caster_run(&p->zero, scratch + p->zeros, zero->data, p->scales);
  else memset(scratch + p->zeros, 0, (size_t)p->scales * sizeof(float));
  ci_k_parallel_rows(k, k->out[0]->count, QUANT_GRAIN, quant_is_direct(k, p) ? quant_direct_part : part, k);
  return CI_OK;
}

ci_status ci_run_quantize_linear(ci_kernel *k) { return quant_run(k, quant_quantize_part); }
ci_status ci_run_dequantize_linear(ci_kernel *k) { return quant_run(k, quant_dequantize_part); }

/* ---- MatMul of integers: zero points are subtracted, then it is MatMul of float32 over some of K at a time: sums of
 * QUANT_DEPTH terms of at most 255 * 255 are integers below 2^24, so exact in any order; int32 adds them ----
 */

enum { QUANT_DEPTH = 256 };

typedef struct quant_gemm { /* the roles of the inputs; -1: none */
  int a, b, a_zero, b_zero, a_scale, b_scale;
} quant_gemm;

static const quant_gemm quant_matmul_integer = {0, 1, 2, 3, -1, -1};
static const quant_gemm quant_qlinear = {0, 3, 2, 5, 1, 4};

static const ci_value *quant_optional(const ci_kernel *k, int i) { return i >= 0 && i < k->n_in ? k->in[i] : NULL; }

/* Zero points and scales: one number, one for each row of a or column of b, or a's shape with 1 in the place of K. */
static ci_status quant_along(ci_kernel *k, const ci_value *matrix, const ci_value *v, const char *what, bool rows) {
  char one[160], other[160];
  if (v == NULL || (v->count == 1 && v->rank <= 1)) return CI_OK;
  const int rank = matrix->rank, kept = rows ? rank - 2 : rank - 1, summed = rows ? rank - 1 : rank - 2;
  bool fits = rank >= 2 && (v->rank == 1 || v->rank == rank);
  if (fits && v->rank == 1) fits = v->count == matrix->dims[kept];
  else
    for (int i = 0; fits && i < rank; i++) fits = v->dims[i] == (i == summed ? 1 : matrix->dims[i]);
  if (fits) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s is %s for a matrix %s: expected one number or one for each %s", what,
                   ci_value_describe(v, one, sizeof one), ci_value_describe(matrix, other, sizeof other),
                   rows ? "row" : "column");
}

/* Which of the numbers belongs to the element `at` of the matrix. */
static int64_t quant_index(const ci_value *matrix, const ci_value *v, bool rows, int64_t at) {
  if (v->count == 1) return 0;
  const int64_t n = matrix->dims[matrix->rank - 1], m = matrix->dims[matrix->rank - 2];
  if (rows) return v->rank == 1 ? at / n % m : at / n;
  return v->rank == 1 ? at % n : at / n / m * n + at % n;
}

static bool quant_is_byte(int32_t dtype) { return dtype == CI_INT8 || dtype == CI_UINT8; }

/* Offsets in scratch of the wide operands, the result of their multiplication and, for QLinearMatMul, the wide result,
 * float32 scales and a factor for each of b's. */
typedef struct quant_offsets {
  size_t b, part, y, a_scale, b_scale, factors, end;
} quant_offsets;

static int quant_axis(const ci_value *v, bool rows) { /* of K */
  return rows || v->rank == 1 ? v->rank - 1 : v->rank - 2;
}

/* The widened operand, of which K is at most QUANT_DEPTH. */
static ci_value quant_wide(const ci_value *v, bool rows) {
  const int axis = quant_axis(v, rows);
  ci_value wide = *v;
  wide.dtype = CI_FLOAT;
  if (v->rank > 0 && v->dims[axis] > QUANT_DEPTH) {
    wide.dims[axis] = QUANT_DEPTH;
    wide.count = v->count / v->dims[axis] * QUANT_DEPTH;
  }
  wide.bytes = (size_t)wide.count * sizeof(float);
  wide.data = NULL;
  return wide;
}

static bool quant_reserve(size_t *end, int64_t count, size_t item) {
  size_t bytes;
  return ci_mul_size((uint64_t)count, item, &bytes) && bytes <= PTRDIFF_MAX / 8 &&
         ci_add_size(*end, ci_round_up(bytes, 64), end);
}

/* wide: the multiplication needs the wide operands. */
static bool quant_offsets_of(const ci_kernel *k, const quant_gemm *q, bool wide, quant_offsets *offsets) {
  const ci_value *a_scale = quant_optional(k, q->a_scale), *b_scale = quant_optional(k, q->b_scale);
  size_t end = 0;
  bool fits = quant_reserve(&end, wide ? quant_wide(k->in[q->a], true).count : 0, sizeof(float));
  offsets->b = end;
  fits = fits && quant_reserve(&end, wide ? quant_wide(k->in[q->b], false).count : 0, sizeof(float));
  offsets->part = end;
  fits = fits && quant_reserve(&end, wide ? k->out[0]->count : 0, sizeof(float));
  offsets->y = end;
  fits = fits && quant_reserve(&end, wide && b_scale != NULL ? k->out[0]->count : 0, sizeof(int32_t));
  offsets->a_scale = end;
  fits = fits && quant_reserve(&end, a_scale == NULL ? 0 : a_scale->count, sizeof(float));
  offsets->b_scale = end;
  fits = fits && quant_reserve(&end, b_scale == NULL ? 0 : b_scale->count, sizeof(float));
  offsets->factors = end;
  fits = fits && quant_reserve(&end, b_scale == NULL ? 0 : b_scale->count, sizeof(double));
  offsets->end = end;
  return fits && ci_add_size(end, 64, &offsets->end); /* not 0: then there would be no pointer to add to */
}

/* MatMul of the wide operands; `y` takes its result. */
static ci_status quant_matmul(ci_kernel *k, ci_value *a, ci_value *b, ci_value *y, ci_status (*step)(ci_kernel *k)) {
  ci_value **in = k->in, **out = k->out, *wide_in[2] = {a, b}, *wide_out[1] = {y};
  k->in = wide_in;
  k->out = wide_out;
  ci_status status = step(k);
  k->in = in;
  k->out = out;
  return status;
}

static ci_status quant_prepare_gemm(ci_kernel *k, const quant_gemm *q, int32_t to) {
  const ci_value *a = k->in[q->a], *b = k->in[q->b];
  const ci_value *a_zero = quant_optional(k, q->a_zero), *b_zero = quant_optional(k, q->b_zero);
  quant_offsets offsets;
  if (!quant_is_byte(a->dtype) || !quant_is_byte(b->dtype)) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "a is %s and b is %s, expected int8 or uint8", ci_dtype_name(a->dtype),
                     ci_dtype_name(b->dtype));
  }
  if (a_zero != NULL && a_zero->dtype != a->dtype) {
    return quant_refuse(k, "the zero point of a", a_zero->dtype, ci_dtype_name(a->dtype));
  }
  if (b_zero != NULL && b_zero->dtype != b->dtype) {
    return quant_refuse(k, "the zero point of b", b_zero->dtype, ci_dtype_name(b->dtype));
  }
  CI_TRY(quant_along(k, a, a_zero, "the zero point of a", true));
  CI_TRY(quant_along(k, b, b_zero, "the zero point of b", false));
  ci_value wide_a = quant_wide(a, true), wide_b = quant_wide(b, false), wide = *k->out[0];
  const int a_axis = quant_axis(a, true), b_axis = quant_axis(b, false);
  if (a->rank > 0 && b->rank > 0 && a->dims[a_axis] != b->dims[b_axis])
    return ci_matmul_unequal(k, a, b, a->dims[a_axis], b->dims[b_axis]);
  CI_TRY(quant_matmul(k, &wide_a, &wide_b, &wide, ci_prepare_matmul));
  k->free_rows = 0; /* which was set for the wide ones */
  CI_TRY(ci_k_out_like(k, 0, to, &wide));
  const ci_bytes_matmul *p = ci_bytes_matmul_plan(k, q->a, q->b, a_zero, b_zero);
  if (p == NULL || !quant_offsets_of(k, q, p->steps == 0, &offsets)) return ci_k_no_memory(k);
  return ci_add_size(offsets.end, p->steps == 0 ? k->scratch_bytes : p->bytes, &k->scratch_bytes) ? CI_OK
                                                                                                  : ci_k_no_memory(k);
}

/* (x ^ 0x80) - 0x80 is x read with its sign. */
CI_FAST static void quant_floats(float *y, const uint8_t *x, int64_t n, int32_t sign, int32_t zero) {
  for (int64_t i = 0; i < n; i++) y[i] = (float)((x[i] ^ sign) - zero);
}

/* Elements `first` to first + QUANT_DEPTH of K; those beyond it are 0. */
static void quant_widen(const ci_value *v, const ci_value *zero, bool rows, int64_t first, float *y) {
  const int axis = quant_axis(v, rows);
  const int64_t depth = v->dims[axis], inner = ci_shape_count(v->dims, axis + 1, v->rank);
  const int64_t most = depth < QUANT_DEPTH ? depth : QUANT_DEPTH, left = depth - first < most ? depth - first : most;
  const uint8_t *x = v->data, *z = zero != NULL ? zero->data : NULL;
  const int32_t sign = v->dtype == CI_INT8 ? 0x80 : 0;
  for (int64_t outer = 0; outer < v->count / depth / inner; outer++, y += most * inner) {
    const int64_t at = (outer * depth + first) * inner, n = left * inner;
    if (z == NULL || zero->count == 1) {
      quant_floats(y, x + at, n, sign, z == NULL ? sign : z[0] ^ sign);
    } else {
      for (int64_t i = 0; i < n; i++) {
        y[i] = (float)((x[at + i] ^ sign) - (z[quant_index(v, zero, rows, at + i)] ^ sign));
      }
    }
    if (left < most) memset(y + n, 0, (size_t)((most - left) * inner) * sizeof *y);
  }
}

CI_FAST static void quant_add(uint32_t *y, const float *part, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = y[i] + (uint32_t)(int32_t)part[i];
}

/* y: the sums, in int32. */
static ci_status quant_run_gemm(ci_kernel *k, const quant_gemm *q, void *y, const quant_offsets *offsets) {
  char *scratch = k->scratch;
  const size_t bytes = k->scratch_bytes;
  const ci_value *left = k->in[q->a], *right = k->in[q->b];
  ci_value a = quant_wide(left, true), b = quant_wide(right, false), part = *k->out[0];
  const int64_t depth = left->dims[quant_axis(left, true)];
  a.data = scratch;
  b.data = scratch + offsets->b;
  part.dtype = CI_FLOAT;
  part.bytes = (size_t)part.count * sizeof(float);
  part.data = scratch + offsets->part;
  memset(y, 0, part.bytes);
  for (int64_t first = 0; first < depth; first += QUANT_DEPTH) {
    quant_widen(left, quant_optional(k, q->a_zero), true, first, a.data);
    quant_widen(right, quant_optional(k, q->b_zero), false, first, b.data);
    k->scratch = scratch + offsets->end;
    k->scratch_bytes = bytes - offsets->end;
    const ci_status status = quant_matmul(k, &a, &b, &part, ci_run_matmul);
    k->scratch = scratch;
    k->scratch_bytes = bytes;
    CI_TRY(status);
    quant_add(y, part.data, part.count);
  }
  return CI_OK;
}

ci_status ci_prepare_matmul_integer(ci_kernel *k) { return quant_prepare_gemm(k, &quant_matmul_integer, CI_INT32); }

ci_status ci_run_matmul_integer(ci_kernel *k) {
  const ci_bytes_matmul *direct = k->private_more;
  quant_offsets offsets;
  if (k->out[0]->count == 0) return CI_OK;
  if (!quant_offsets_of(k, &quant_matmul_integer, direct->steps == 0, &offsets)) return ci_k_no_memory(k);
  if (direct->steps == 0) return quant_run_gemm(k, &quant_matmul_integer, k->out[0]->data, &offsets);
  ci_bytes_matmul_run(k, direct, quant_matmul_integer.a, quant_matmul_integer.b,
                      quant_optional(k, quant_matmul_integer.a_zero), quant_optional(k, quant_matmul_integer.b_zero),
                      (char *)k->scratch + offsets.end, NULL, k->out[0]->data);
  return CI_OK;
}

/* ---- QLinearMatMul: a, a's scale and zero point, b, its two, y's two ---- */

enum { QUANT_Y_SCALE = 6, QUANT_Y_ZERO = 7 };

ci_status ci_prepare_qlinear_matmul(ci_kernel *k) {
  const ci_value *y_scale = k->in[QUANT_Y_SCALE], *y_zero = k->in[QUANT_Y_ZERO];
  const ci_value *a_scale = k->in[quant_qlinear.a_scale], *b_scale = k->in[quant_qlinear.b_scale];
  if (!quant_is_precision(y_scale->dtype) || a_scale->dtype != y_scale->dtype || b_scale->dtype != y_scale->dtype) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "the scales are %s, %s and %s, expected one of float32, float16 and bfloat16",
                     ci_dtype_name(a_scale->dtype), ci_dtype_name(b_scale->dtype), ci_dtype_name(y_scale->dtype));
  }
  if (!quant_is_byte(y_zero->dtype)) return quant_refuse(k, "the zero point of y", y_zero->dtype, "int8 or uint8");
  if (y_scale->count != 1 || y_zero->count != 1) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the scale and the zero point of y must be one number each");
  }
  CI_TRY(quant_along(k, k->in[quant_qlinear.a], a_scale, "the scale of a", true));
  CI_TRY(quant_along(k, k->in[quant_qlinear.b], b_scale, "the scale of b", false));
  return quant_prepare_gemm(k, &quant_qlinear, y_zero->dtype);
}

/* Scales or zero points as float32. */
static const float *quant_numbers(const ci_kernel *k, const ci_value *v, void *y) {
  ci_caster c;
  if (ci_caster_make(&c, k->isa, v->dtype, CI_FLOAT, true, CI_ROUND_UP)) ci_caster_run(&c, y, v->data, v->count);
  return y;
}

/* Which number belongs to row or column i of matrix `batch` of the result; the operand may have fewer batch axes, or
 * axes of 1. */
static int64_t quant_scale_at(const ci_value *matrix, const ci_value *scale, const ci_value *y, int batch_axes,
                              int64_t batch, bool rows, int64_t i) {
  if (scale->count == 1) return 0;
  if (scale->rank == 1) return i;
  int64_t at = 0, step = 1;
  for (int axis = matrix->rank - 3, own = batch_axes - 1; axis >= 0; axis--, own--) {
    if (matrix->dims[axis] != 1) at += batch % y->dims[own] * step;
    batch /= y->dims[own];
    step *= matrix->dims[axis];
  }
  return at * matrix->dims[rows ? matrix->rank - 2 : matrix->rank - 1] + i;
}

/* Turns rows of sums into bytes: the factor of each column, for all rows if a has one scale. */
typedef struct quant_output {
  ci_kernel *k;
  const float *left, *right;
  double *factors; /* as many as columns; NULL: they have one */
  bool finite;     /* the factors are those of all rows, and are finite */
  int64_t n, m;
  float y_scale, y_zero;
} quant_output;

static double quant_factor_of(const quant_output *o, float left, float right) {
  const int32_t dtype = o->k->in[quant_qlinear.a_scale]->dtype;
  return (double)ci_round_to(dtype, ci_round_to(dtype, left * right) / o->y_scale);
}

static double quant_factor(const quant_output *o, int64_t row, int64_t column) {
  const ci_value *a = o->k->in[quant_qlinear.a], *b = o->k->in[quant_qlinear.b], *y = o->k->out[0];
  const ci_value *a_scale = o->k->in[quant_qlinear.a_scale], *b_scale = o->k->in[quant_qlinear.b_scale];
  const int axes = y->rank - (a->rank >= 2) - (b->rank >= 2);
  const int64_t batch = row / o->m;
  return quant_factor_of(o, o->left[quant_scale_at(a, a_scale, y, axes, batch, true, row % o->m)],
                         o->right[quant_scale_at(b, b_scale, y, axes, batch, false, column)]);
}

/* Row `row` of the results, counted through all matrices. */
static void quant_take(void *argument, int64_t row, const int32_t *sums) {
  const quant_output *o = argument;
  const double zero = (double)o->y_zero, least = o->k->out[0]->dtype == CI_INT8 ? -128.0 : 0.0;
  uint8_t *y = (uint8_t *)o->k->out[0]->data + row * o->n;
  const double factor = o->factors == NULL ? quant_factor(o, row, 0) : 0.0;
  if (o->factors != NULL ? o->finite : factor - factor == 0.0) {
    o->k->isa->move->requantize_wide(y, sums, o->n, o->factors == NULL ? &factor : o->factors, o->factors == NULL, zero,
                                     least, least + 255.0);
    return;
  }
  for (int64_t i = 0; i < o->n; i++) {
    const double by = o->factors == NULL ? factor : quant_factor(o, row, i);
    y[i] = (uint8_t)quant_integer((double)sums[i] * by, zero, least, least + 255.0);
  }
}

static quant_output quant_output_of(ci_kernel *k, const quant_offsets *offsets) {
  const ci_value *a = k->in[quant_qlinear.a], *b = k->in[quant_qlinear.b];
  const ci_value *a_scale = k->in[quant_qlinear.a_scale], *b_scale = k->in[quant_qlinear.b_scale];
  quant_output o = {.k = k,
                    .left = quant_numbers(k, a_scale, (char *)k->scratch + offsets->a_scale),
                    .right = quant_numbers(k, b_scale, (char *)k->scratch + offsets->b_scale),
                    .n = b->rank >= 2 ? b->dims[b->rank - 1] : 1,
                    .m = a->rank >= 2 ? a->dims[a->rank - 2] : 1};
  quant_numbers(k, k->in[QUANT_Y_SCALE], &o.y_scale);
  quant_numbers(k, k->in[QUANT_Y_ZERO], &o.y_zero);
  if (b_scale->count == 1) return o;
  o.factors = (double *)(void *)((char *)k->scratch + offsets->factors);
  o.finite = a_scale->count == 1 && (b_scale->rank == 1 || b_scale->count == o.n);
  for (int64_t i = 0; o.finite && i < o.n; i++) {
    o.factors[i] = quant_factor_of(&o, o.left[0], o.right[i]);
    o.finite = o.factors[i] - o.factors[i] == 0.0;
  }
  return o;
}

ci_status ci_run_qlinear_matmul(ci_kernel *k) {
  const ci_bytes_matmul *direct = k->private_more;
  quant_offsets offsets;
  if (k->out[0]->count == 0) return CI_OK;
  if (!quant_offsets_of(k, &quant_qlinear, direct->steps == 0, &offsets)) return ci_k_no_memory(k);
  quant_output output = quant_output_of(k, &offsets);
  if (direct->steps > 0) {
    ci_bytes_matmul_run(k, direct, quant_qlinear.a, quant_qlinear.b, quant_optional(k, quant_qlinear.a_zero),
                        quant_optional(k, quant_qlinear.b_zero), (char *)k->scratch + offsets.end, quant_take, &output);
    return CI_OK;
  }
  int32_t *wide = (int32_t *)(void *)((char *)k->scratch + offsets.y);
  CI_TRY(quant_run_gemm(k, &quant_qlinear, wide, &offsets));
  for (int64_t row = 0; row < k->out[0]->count / output.n; row++) quant_take(&output, row, wide + row * output.n);
  return CI_OK;
}

/* ---- DynamicQuantizeLinear: one float32 tensor to uint8; its scale and zero point ---- */

ci_status ci_prepare_dynamic_quantize_linear(ci_kernel *k) {
  if (k->in[0]->dtype != CI_FLOAT) return quant_refuse(k, "x", k->in[0]->dtype, "float32");
  CI_TRY(ci_k_out_like(k, 0, CI_UINT8, k->in[0]));
  CI_TRY(ci_k_out(k, 1, CI_FLOAT, 0, NULL));
  return ci_k_out(k, 2, CI_UINT8, 0, NULL);
}

typedef struct quant_dynamic {
  const ci_kernel *k;
  float scale, zero;
} quant_dynamic;

static void quant_dynamic_part(void *argument, int64_t begin, int64_t end, int thread) {
  const quant_dynamic *d = argument;
  (void)thread;
  d->k->isa->move->quantize_small((uint8_t *)d->k->out[0]->data + begin, 1, (const float *)d->k->in[0]->data + begin,
                                  &d->scale, &d->zero, end - begin, true, 0.0f, 255.0f);
}

/* Of numbers and 0, in pieces that are read once from memory; NaN stays. */
static float quant_extreme(float so_far, ci_row_fn of, const float *x, int64_t n) {
  const float both[2] = {so_far, of(x, n)};
  return of(both, 2);
}

ci_status ci_run_dynamic_quantize_linear(ci_kernel *k) {
  const struct ci_isa_math *math = k->isa->math;
  const float *x = k->in[0]->data;
  const int64_t n = k->in[0]->count;
  float least = 0.0f, most = 0.0f;
  for (int64_t at = 0; at < n; at += QUANT_GRAIN) {
    const int64_t some = n - at < QUANT_GRAIN ? n - at : QUANT_GRAIN;
    least = quant_extreme(least, math->row[CI_REDUCE_MIN], x + at, some);
    most = quant_extreme(most, math->row[CI_REDUCE_MAX], x + at, some);
  }
  const float scale = (most - least) / 255.0f;
  const uint8_t zero = (uint8_t)quant_integer((double)(0.0f - least / scale), 0.0, 0.0, 255.0);
  quant_dynamic dynamic = {k, scale, (float)zero};
  ci_k_parallel(k, n, QUANT_GRAIN, quant_dynamic_part, &dynamic);
  *(float *)k->out[1]->data = scale;
  *(uint8_t *)k->out[2]->data = zero;
  return CI_OK;
}
#endif
