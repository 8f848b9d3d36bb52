/* conv.h - what the three convolution kernels share. */
#ifndef CI_CONV_H
#define CI_CONV_H
#include "conv_tiles.h"
#include "../linear/product.h"
#include "window.h"

typedef struct ci_conv {
  ci_window g;
  int32_t dtype;
  size_t item;
  int64_t groups, ic, oc; /* channels per group */
  int64_t outputs;        /* groups * oc */
  int64_t taps;           /* kh * kw */
  int64_t depth;          /* taps * ic */
  bool direct;            /* 1 x 1, stride 1, no padding: x is its own matrix */
  bool depthwise;         /* several groups of one channel in and out */
  ci_matmul product;
  int64_t rows;      /* pixels of a tile */
  size_t tile_bytes; /* of one thread */
  size_t b_bytes;    /* of a group's packed operand, before the tiles */
  ci_conv_tiles lanes; /* Conv2D with outputs as lanes; offset NULL: that form is not taken */
  int64_t grain;     /* pixels of a part; of the filters' gradient: taps of a tile */
} ci_conv;

enum { CI_CONV_TILE_BYTES = 1 << 17, CI_CONV_PART_WORK = 1 << 17 };

/* Attributes and sizes from x (n, h, w, c) and w (kh, kw, c / group, m); names the mismatch. */
CI_LOCAL ci_status ci_conv_prepare(ci_kernel *k, const int64_t *x_dims, const int64_t *w_dims, int32_t dtype,
                                   ci_conv *p);
/* to[pixel][tap][channel]: taps [first, last) of `count` pixels from `at` on (moved past them), channels of group. Taps
 * in the padding are +0. */
CI_LOCAL void ci_conv_gather(const ci_conv *p, char *to, const char *x, int64_t group, ci_pixel *at, int64_t count,
                             int64_t first, int64_t last);
#endif
