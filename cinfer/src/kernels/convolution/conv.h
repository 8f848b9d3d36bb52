/* conv.h - convolutions of images (n, h, w, c), forward and for the gradients. */
#ifndef CI_CONV_H
#define CI_CONV_H
#include "../linear/gemm.h"
#include "conv_tiles.h"
#include "window.h"

typedef struct ci_conv_matmul { /* windows are gathered as the rows of a matrix, some pixels at a time */
  ci_matmul rule;
  bool pointwise;    /* x is the matrix itself */
  int64_t rows;      /* pixels of a tile */
  size_t tile_bytes; /* of one thread */
  size_t b_bytes;    /* of a group's packed operand, before the tiles */
} ci_conv_matmul;

typedef struct ci_conv_depthwise { /* one chain over the taps for each channel */
  size_t zero_bytes; /* a pixel of zeros */
  size_t taps_bytes; /* the addresses of the taps, of one thread, after the zeros */
} ci_conv_depthwise;

typedef struct ci_conv {
  ci_conv_geometry g;
  int32_t dtype;
  size_t item;
  int64_t pixels; /* outputs of all images */
  int64_t grain;  /* pixels that are worth a thread */
  ci_conv_strategy strategy;
  ci_conv_matmul matmul;
  ci_conv_depthwise depthwise;
  ci_conv_tiles tiles;
} ci_conv;

enum { CI_CONV_TILE_BYTES = 1 << 17, CI_CONV_PART_WORK = 1 << 17 };

/* Attributes and sizes from x (n, h, w, c) and w (kh, kw, c / group, m); names the mismatch. Sets all but strategies
 * and sizes of scratch. */
CI_LOCAL ci_status ci_conv_prepare(ci_kernel *k, const int64_t *x_dims, const int64_t *w_dims, int32_t dtype,
                                   ci_conv *p);
/* to[pixel][tap][channel]: taps [first, last) of `count` pixels from `at` on (moved past them), channels of group. Taps
 * in the padding are +0. */
CI_LOCAL void ci_conv_gather(const ci_conv *p, char *to, const char *x, int64_t group, ci_pixel *at, int64_t count,
                             int64_t first, int64_t last);
#endif
