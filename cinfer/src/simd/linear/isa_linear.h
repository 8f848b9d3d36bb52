/* isa_linear.h - the functions of every instruction set for matrix multiplication, convolution and pooling, in
 * float32.
 *
 * Nothing here decides an order of summation: the form (dots or columns) and the block length come from the entire
 * operator (docs/numerics.md, "Matrix multiplication"), so a caller may cut rows and columns as it likes.
 */
#ifndef CI_ISA_LINEAR_H
#define CI_ISA_LINEAR_H
#include "../../base/ci_common.h"

enum {
  CI_BLOCK = 256,            /* the longest chain of the column form */
  CI_FAR = 1 << 17,          /* elements of c from which its memory is prefetched */
  CI_SWEEP_ROWS = 504,       /* at most, of which a block of a is in use at a time */
  CI_SWEEP_BUFFER_ROW = CI_BLOCK + 16 /* floats from row to row of the memory for such a block */
};
enum { CI_STREAM = 1024, CI_STREAM_FROM = 1 << 17 }; /* columns, elements of b from which a multiplication streams */
enum { CI_WINDOWS_SLACK = 64, CI_PLANE_LANES = 16, CI_PLANE_SLACK = 6 };
enum { CI_PLAIN_INTS = 4 };
enum { CI_MANY_LANES_FROM = 256 }; /* dot form: 64 lanes instead of 16 from this K on */

typedef struct ci_tile { /* c[m, n] = sum over k of a[m, k] * b[k, n]; strides in elements */
  const float *a;
  ptrdiff_t a_row, a_k;
  const float *b;
  ptrdiff_t b_k;   /* columns: neighbouring columns of b are contiguous, */
  /* or those of a packed tile are, and this is from one tile to the next; 0: all of them. Of a last tile that is not
   * full, b_k is ci_packed_tile_row's */
  ptrdiff_t b_packed_tile;
  ptrdiff_t b_col; /* dots: each column of b, and each row of a, is contiguous along k */
  float *c;
  ptrdiff_t c_row;
  int64_t m, n, k;
  int64_t block; /* L: columns only */
  float *sweep_buffer; /* columns: NULL, or memory where a block of a is gathered: CI_SWEEP_ROWS by CI_SWEEP_BUFFER_ROW;
                          a_k is 1 */
  bool add; /* columns: c already holds the total of the blocks before these */
  const struct ci_after *after; /* columns of a narrow tile: NULL, or the steps after the sum, `added` to each column */
} ci_tile;
/* Few columns: all blocks may stay in registers. */
enum { CI_NARROW = 32, CI_NARROW_ROWS = 4 };
CI_INLINE bool ci_tile_is_narrow(int64_t m, int64_t n, int64_t k) {
  return CI_LARGE && m >= CI_NARROW_ROWS && n <= CI_NARROW && k > 0;
}

/* Rows of pixels of a convolution, a packed tile of outputs as lanes; pixels counted through all rows, c[pixel *
 * c_step + lane] = sum over k of x[row * x_row + column * x_step + offset[k]] * w[k * width + lane], one chain from
 * +0. */
typedef struct ci_conv_rows {
  const float *x;
  ptrdiff_t x_step, x_row;
  const int32_t *offset;
  const float *w;
  float *c;
  ptrdiff_t c_step;
  int64_t k;
  int rows, pixels; /* pixels of a row */
  int vectors; /* 1 or 2: width in vectors; in w missing outputs are zeros */
  int lanes; /* outputs that exist, all of the first vector if there are two */
  bool add; /* c holds the total of the blocks before these */
  const float *ahead; /* as many weights after these are called into the cache by `all` pixels together */
  int all;
} ci_conv_rows;

/* The same of entire rows of pixels with windows three wide, one apart: each element of a row of x is read once, taps
 * in the padding not at all. c[pixel * c_step + lane], pixels counted through all rows; full vectors. */
typedef struct ci_conv_threes {
  const float *x; /* an image of channels planes of height by width */
  ptrdiff_t x_row, x_plane;
  int64_t channels, height, width;
  int64_t taps, stride, dilation, above; /* of a column of taps, and between rows of pixels; padding */
  int64_t before; /* padding before a row, 0 or 1; after it is no more than 1 */
  int64_t first, rows, pixels; /* rows of pixels, pixels of a row */
  const float *w;
  float *c;
  ptrdiff_t c_step;
  int vectors; /* 1 or 2 */
} ci_conv_threes;

/* y = min(high, max(low, y + added)) + 0. */
typedef struct ci_after {
  const float *added; /* as y is laid out, unless stated otherwise; or NULL */
  bool clamps;
  float low, high;
} ci_after;

/* y[lane * y_row + pixel] = c[pixel * c_step + lane] + bias[lane], then `after`. c is read up to a whole number of
 * vectors of pixels. */
typedef struct ci_conv_turn {
  float *y;
  const float *c, *bias; /* bias NULL: none is added */
  ptrdiff_t y_row, c_step;
  int64_t pixels;
  int lanes;
  ci_after after;
} ci_conv_turn;

/* c[window][lane] = the first largest of c[pixel][lane] + bias[lane] over the pixels of a window, the first NaN if
 * there is one, for rows of pixels in memory one after the other. bias NULL: none is added. */
typedef struct ci_conv_largest {
  float *c;
  const float *bias;
  ptrdiff_t c_step;
  int64_t pixels; /* of a row */
  int64_t height, width, down, right, rows, columns; /* as ci_largest's */
  int lanes; /* bias has so many numbers; c is read and written up to a whole number of vectors */
} ci_conv_largest;

/* y[output * y_row + pixel] = one chain over k channels of fma(x[channel * x_row + pixel], w[output * w_row + channel],
 * .), from +0, + bias[output], then `after`. */
typedef struct ci_conv_pixels {
  const float *x, *w, *bias; /* bias NULL: none is added */
  float *y;
  ptrdiff_t x_row, w_row, y_row;
  int64_t k, pixels;
  int outputs;
  ci_after after; /* added is laid out as y is */
} ci_conv_pixels;

/* Copies planes of `rows` rows of n numbers, x_step, x_row and x_plane apart, with `above` and `below` rows of `fill`
 * and `before` numbers of it before each row, and after each row up to y_row. y has memory for two vectors more. With
 * an x_step other than 1 there is no padding after a row. */
typedef struct ci_padding {
  const float *x;
  float *y;
  ptrdiff_t x_step, x_row, x_plane, y_row;
  int64_t planes, above, rows, below, before, n;
  float fill;
} ci_padding;

typedef struct ci_windows { /* of a plane, padding included: y dense */
  const float *x;
  ptrdiff_t x_down, x_right; /* from window to window */
  ptrdiff_t tap_down, tap_right; /* from tap to tap */
  int64_t kh, kw;
  const float *w; /* the weights of depthwise_transposed */
  const double *across, *down; /* of average_plane: taps that count, along each axis; 8 more across */
  float *y;
  int64_t rows, columns;
} ci_windows;

/* y = one chain over the taps of a 3 x 3 window of fma(x, w[tap], .), from +0, + bias, then `after`: a plane that is
 * read in place, with zeros around it. */
typedef struct ci_depthwise {
  const float *x, *w, *bias; /* bias or NULL */
  float *y;
  int64_t height, width; /* of x */
  int64_t above, before; /* zeros; before a row 0 or 1 */
  int64_t rows, columns; /* of y */
  int stride; /* 1 or 2, along both axes */
  ci_after after; /* added is NULL */
} ci_depthwise;

/* The steps after a matrix multiplication: y = fma(beta, c, alpha * y), where alpha 1 and beta 1 skip their
 * multiplication, then y = min(high, max(low, y)) + 0. */
typedef struct ci_finish {
  float *y;
  const float *c; /* NULL: nothing is added */
  ptrdiff_t y_row, c_row, c_step; /* c_step 0 or 1 */
  int64_t rows, n;
  float alpha, beta, low, high;
  bool clamps;
} ci_finish;

/* Floats from row to row of a packed tile that holds so many columns: the last one may be narrower than the others, so
 * that its rows are no more memory than they must be. */
CI_INLINE int64_t ci_packed_tile_row(int64_t columns, int64_t packed_tile_width) {
  int64_t row = packed_tile_width;
  while (row > 4 && columns <= row / 2) row /= 2;
  return row;
}

struct ci_isa_linear {
  int packed_tile_width; /* columns of b that a tile takes at a time */
  int lanes; /* of a vector */
  /* to[c * to_row + r] = from[r * from_row + c] */
  void (*transpose)(float *to, ptrdiff_t to_row, const float *from, ptrdiff_t from_row, int64_t rows, int64_t cols);
  void (*finish)(const ci_finish *t);
  void (*add)(float *y, const float *x, int64_t n); /* y[i] = y[i] + x[i] */
  /* y[i] = fma(a[i], b[i], y[i]) */
  void (*multiply_add)(float *y, const float *a, const float *b, int64_t n);
#if CI_HAS_GEMM
  void (*columns)(const ci_tile *t); /* column form: blocks of L, each one chain from +0, added in order */
  void (*dots)(const ci_tile *t); /* dot form: 16 or 64 lanes, then the tree */
  /* The same where a, b and c hold float64, or 32 bits that wrap, without packed tiles: plain_rows rows or fewer (of
   * integers also no more than CI_PLAIN_INTS) and a vector of columns or fewer, `words` of four bytes, of one block of
   * length terms; add: c holds the total before it. */
  void (*plain_double)(const ci_tile *t, int rows, int words, int64_t length, bool add);
  void (*plain_int)(const ci_tile *t, int rows, int words, int64_t length, bool add);
  int plain_rows;
#endif
#if CI_HAS_CONVOLUTIONS
  void (*conv_rows)(const ci_conv_rows *t);
  void (*conv_threes)(const ci_conv_threes *t);
  void (*conv_pixels)(const ci_conv_pixels *t);
  void (*conv_turn)(const ci_conv_turn *t);
  void (*conv_largest)(const ci_conv_largest *t);
  /* y[c] = one chain over the taps of fma(x[tap][c], w[tap * n + c], .), from +0 */
  void (*depthwise)(float *y, const float *const *x, const float *w, int64_t taps, int64_t n);
  /* y[window][lane] = one chain over the taps of fma(x[tap][lane], w[tap][lane], .), from +0: CI_PLANE_LANES lanes.
   * Reads and writes CI_PLANE_SLACK windows more than there are. */
  void (*depthwise_transposed)(const ci_windows *t);
  void (*depthwise_3x3)(const ci_depthwise *t);
#endif
#if CI_HAS_CONVOLUTIONS || CI_HAS_POOLS
  void (*pad)(const ci_padding *t);
#endif
#if CI_HAS_POOLS
  /* Pooling of n channels over the taps of a window, in row-major order; zeros are +0. */
  void (*largest)(float *y, const float *const *x, int64_t taps, int64_t n); /* NaN wins, no tap gives -inf */
  void (*average)(float *y, const float *const *x, int64_t taps, int64_t n); /* a chain of sums from +0, / taps */
  void (*largest_plane)(const ci_windows *t); /* the first largest, the first NaN if there is one, as it is */
  /* Chains of sums from +0 in double, over the count. x_right at most 2, of small builds 4; x is followed by
   * CI_WINDOWS_SLACK numbers more. */
  void (*average_plane)(const ci_windows *t);
#if CI_LARGE
  /* y[lane] = the chain over the taps of x[offset[tap] + lane], / count: CI_PLANE_LANES lanes */
  void (*average_transposed)(float *y, const float *x, const int32_t *offset, int64_t taps, double count);
#endif
  void (*average_whole)(float *y, const float *x, int64_t planes, int64_t area); /* the same of entire planes */
#endif
#if CI_HAS(training)
  /* Gradients of pooling: dx[tap] += dy at the first tap that is the largest (the first NaN if there is one), += 0 at
   * the others */
  void (*route)(float *const *dx, const float *const *x, const float *dy, int64_t taps, int64_t n);
  void (*spread)(float *const *dx, const float *dy, int64_t taps, int64_t n); /* dx[tap] += dy / taps */
#endif
};
#endif
