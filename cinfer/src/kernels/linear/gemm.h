/* gemm.h - matrix multiplication as MatMul, Gemm and the convolutions use them. */
#ifndef CI_GEMM_H
#define CI_GEMM_H
#include "../ci_kernel.h"

typedef struct ci_operand { /* a matrix in place; strides in elements */
  const void *data;
  ptrdiff_t row, col;
} ci_operand;

typedef struct ci_matmul { /* the order of summation, a function of K and N of the entire operator */
  int32_t dtype;
  bool dots;     /* dot form */
  int64_t block; /* L of the column form */
  int64_t n, k;
} ci_matmul;

/* dtype: float32, float64, int32, int64, uint32, uint64. False: this type cannot be multiplied. */
CI_LOCAL bool ci_matmul_rule(ci_matmul *p, int32_t dtype, int64_t n, int64_t k);

/* Refuses operands of which a has other columns than b rows. */
ci_status ci_matmul_unequal(ci_kernel *k, const ci_value *a, const ci_value *b, int64_t columns, int64_t rows);

/* The kernels need b's columns contiguous in the column form; a's rows and b's columns contiguous along k in the dot
 * form. Bytes for a copy in that order, 0 when the operand can be read in place. */
CI_LOCAL size_t ci_matmul_a_bytes(const ci_matmul *p, int64_t m, ptrdiff_t a_row, ptrdiff_t a_col);
CI_LOCAL size_t ci_matmul_b_bytes(const ci_matmul *p, ptrdiff_t b_row, ptrdiff_t b_col);
/* The copies; they return the operand to compute with (the given one when it needs none). */
CI_LOCAL ci_operand ci_matmul_pack_a(const ci_matmul *p, int64_t m, ci_operand a, void *copy);
CI_LOCAL ci_operand ci_matmul_pack_b(const ci_matmul *p, ci_operand b, void *copy);

/* b as the column form reads it fastest: packed tiles of isa->linear->packed_tile_width columns, one after the other,
 * of which the last may hold fewer, in rows of ci_packed_tile_row; b.row or b.col is 1. 0 bytes: this multiplication
 * has no such order. */
CI_LOCAL size_t ci_matmul_packed_tile_bytes(const ci_matmul *p, const struct ci_isa *isa);
CI_LOCAL ci_operand ci_matmul_pack_tiles(const ci_matmul *p, const struct ci_isa *isa, ci_operand b, void *copy);
/* In prepare: the matrix b of input i without its data, in memory of the model: in packed tiles, or for the dot form.
 * NULL: not a constant of the model (pack.h), or one that is best read in place. */
CI_LOCAL const void *ci_matmul_constant(const ci_matmul *p, ci_kernel *k, int i, ci_operand b);

/* Whether a multiplication of so many rows is large enough for a copy of a, block by block, and the bytes of that
 * copy. */
CI_LOCAL size_t ci_matmul_buffer_bytes(const ci_matmul *p, int64_t m, ptrdiff_t a_row, ptrdiff_t a_col);

typedef struct ci_matmul_part { /* some rows and columns of one matrix multiplication, or the next blocks of its K */
  ci_operand a, b;
  bool packed_tiles; /* b is of ci_matmul_pack_tiles, from a row and from a column on that begins a packed tile */
  void *c;
  ptrdiff_t c_row;
  int64_t m, n, k;
  void
      *sweep_buffer; /* NULL, or memory of ci_matmul_buffer_bytes that no other part uses meanwhile: the same, faster */
  bool add; /* c holds the total of the blocks before; k is then counted from a block's start */
  const struct ci_after *after; /* of float32 in column form, where the tile is narrow (isa_linear.h): as there */
} ci_matmul_part;
CI_LOCAL void ci_matmul_compute(const ci_matmul *p, const struct ci_isa *isa, const ci_matmul_part *part);

/* Fills columns x rows, transposed, of float32 or float64: to[c * rows + r] = from[r * row + c * col]. */
CI_LOCAL void ci_transpose_copy(size_t item, void *to, const void *from, int64_t rows, int64_t cols, ptrdiff_t row,
                                ptrdiff_t col);
#endif
