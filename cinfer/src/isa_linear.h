/* isa_linear.h - what every instruction set offers to matrix products, convolution and pooling, in float32.
 *
 * Nothing here decides an order of summation: the form (dots or columns) and the block length come from the whole
 * operator (docs/numerics.md, "Matrix products"), so a caller may cut rows and columns as it likes.
 */
#ifndef CI_ISA_LINEAR_H
#define CI_ISA_LINEAR_H
#include "ci_common.h"

enum {
  CI_BLOCK = 256,            /* the longest chain of the column form */
  CI_SWEEP_ROWS = 504,       /* at most, of which a block of a is in use at a time */
  CI_ROOM_ROW = CI_BLOCK + 16 /* floats from row to row of the room for such a block */
};
enum { CI_STREAM = 1024, CI_STREAM_FROM = 1 << 17 }; /* columns, elements of b from which a product streams */
enum { CI_MANY_LANES_FROM = 256 }; /* dot form: 64 lanes instead of 16 from this K on */

typedef struct ci_tile { /* c[m, n] = sum over k of a[m, k] * b[k, n]; strides in elements */
  const float *a;
  ptrdiff_t a_row, a_k;
  const float *b;
  ptrdiff_t b_k;   /* columns: neighbouring columns of b are contiguous, */
  ptrdiff_t b_panel; /* or those of a panel are, and this is from one panel to the next; 0: all of them */
  ptrdiff_t b_col; /* dots: each column of b, and each row of a, is contiguous along k */
  float *c;
  ptrdiff_t c_row;
  int64_t m, n, k;
  int64_t block; /* L: columns only */
  float *room;   /* columns: NULL, or where a block of a is put together: CI_SWEEP_ROWS by CI_ROOM_ROW; a_k is 1 */
  bool add;      /* columns: c already holds the total of the blocks before these */
} ci_tile;

struct ci_isa_linear {
  int panel; /* columns of b that a tile takes at a time */
  void (*columns)(const ci_tile *t); /* column form: blocks of L, each one chain from +0, added in order */
  void (*dots)(const ci_tile *t);    /* dot form: 16 or 64 lanes, then the tree */
  /* to[c * to_row + r] = from[r * from_row + c] */
  void (*transpose)(float *to, ptrdiff_t to_row, const float *from, ptrdiff_t from_row, int64_t rows, int64_t cols);
  /* y[i] = fma(beta, c[i * c_step], alpha * y[i]); alpha 1 and beta 1 skip their product */
  void (*scale_add)(float *y, float alpha, float beta, const float *c, ptrdiff_t c_step, int64_t n);
  void (*add)(float *y, const float *x, int64_t n); /* y[i] = y[i] + x[i] */
  /* Pooling of n channels over the taps of a window, in row-major order; zeros are +0. */
  void (*largest)(float *y, const float *const *x, int64_t taps, int64_t n); /* NaN wins, no tap gives -inf */
  void (*average)(float *y, const float *const *x, int64_t taps, int64_t n); /* a chain of sums from +0, / taps */
  /* dx[tap] += dy at the first tap that is the largest (the first NaN if there is one), += 0 at the others */
  void (*route)(float *const *dx, const float *const *x, const float *dy, int64_t taps, int64_t n);
  void (*spread)(float *const *dx, const float *dy, int64_t taps, int64_t n); /* dx[tap] += dy / taps */
  /* y[c] = one chain over the taps of fma(x[tap][c], w[tap * n + c], .), from +0 */
  void (*depthwise)(float *y, const float *const *x, const float *w, int64_t taps, int64_t n);
  /* y[i] = fma(a[i], b[i], y[i]) */
  void (*multiply_add)(float *y, const float *a, const float *b, int64_t n);
};
#endif
