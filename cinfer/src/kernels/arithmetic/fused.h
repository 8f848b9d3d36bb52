/* fused.h - straight-line programs of elementwise float32 operators, run block by block while the block is in cache.
 *
 * A node has a program in its attributes (schema/graphio_operators.json, FusedElementwise). Each step does what the
 * operator of its name does, on the same vector functions, so the bits are those of the operators one by one.
 */
#ifndef CI_FUSED_H
#define CI_FUSED_H
#include "../ci_kernel.h"
#include "broadcast.h"

typedef struct ci_fused ci_fused;

/* For a matrix multiplication or convolution with an epilogue, in prepare, after the output has its shape: reads the
 * program of the node. Its operand 0 is the result of that operator, out[0], the next ones are the inputs from
 * first_extra on, which must broadcast to it. `width` is the length of the rows that ci_fused_rows counts in: out[0]
 * is a matrix of that many columns. The program lives until the next prepare. */
CI_LOCAL ci_status ci_fused_prepare(ci_kernel *k, int first_extra, int64_t width, const ci_fused **program);

/* Adds to the kernel's row_inputs those of the program that have a row for each of the result's; false: the program has
 * to be prepared again for other numbers of rows. */
CI_LOCAL bool ci_fused_prepare_by_rows(ci_kernel *k, const ci_fused *program, int first_extra);

typedef struct ci_clamp { /* y = y + added, then y = min(high, max(low, y)) + 0, as Relu and Clip do it */
  const ci_value *added; /* NULL: nothing */
  ptrdiff_t row, col;    /* of added, floats from one to the next as the result goes on; 0: there is one for all */
  bool clamps;
  float low, high;
} ci_clamp;

/* Whether the program is no more than that, as after most matrix multiplications of networks. */
CI_LOCAL bool ci_fused_prepare_clamp(const ci_kernel *k, const ci_fused *program, ci_clamp *clamp);

/* Applies the program to a finished tile of the result: rows x cols floats, the first of them at y, the next row y_row
 * floats further; they are the result's elements from (row, col) on. y may be the result itself or a copy of the tile.
 * Any number of threads at the same time, if tiles do not overlap. */
CI_LOCAL void ci_fused_rows(const ci_fused *program, float *y, ptrdiff_t y_row, int64_t row, int64_t col, int64_t rows,
                            int64_t cols);
#endif
