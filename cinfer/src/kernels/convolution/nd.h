/* nd.h - windows over images (n, c, spatial...) with any number of spatial axes: ONNX's convolutions and Col2Im. */
#ifndef CI_ND_H
#define CI_ND_H
#include "../ci_kernel.h"

enum { CI_ND_AXES = CI_MAX_RANK - 2 };

typedef struct ci_nd {
  int rank; /* spatial axes */
  int64_t size[CI_ND_AXES], kernel[CI_ND_AXES], stride[CI_ND_AXES], dilation[CI_ND_AXES];
  int64_t before[CI_ND_AXES]; /* padding; after it follows from out */
  int64_t out[CI_ND_AXES];    /* windows */
  int64_t area, taps, positions; /* elements of an image plane, taps of the kernel, windows */
} ci_nd;

/* Reads strides, pads, dilations, auto_pad and, for a convolution, kernel_shape, and determines the windows. */
CI_LOCAL ci_status ci_nd_prepare(ci_kernel *k, int rank, const int64_t *size, const int64_t *kernel, ci_nd *g);
/* The same for ConvTranspose: `in` are its input's sizes (g->out), its output's follow (g->size). */
CI_LOCAL ci_status ci_nd_prepare_transposed(ci_kernel *k, int rank, const int64_t *in, const int64_t *kernel, ci_nd *g);
CI_LOCAL ci_status ci_nd_totals(ci_kernel *k, ci_nd *g); /* area, taps and positions; after a change of the sizes */

typedef struct ci_nd_walk { /* some consecutive windows, one tap of each, row by row */
  const ci_nd *g;
  int64_t start[CI_ND_AXES], at[CI_ND_AXES];
  int64_t position, end; /* the next window, and the one after the last */
  /* a row: windows [first, first + count); the tap is inside the image for [low, high) of them, from element `source`
   * of the plane on, g->stride[last] apart */
  int64_t first, count, low, high, source;
} ci_nd_walk;
CI_LOCAL void ci_nd_start(ci_nd_walk *walk, const ci_nd *g, int64_t tap, int64_t position, int64_t end);
CI_LOCAL bool ci_nd_next(ci_nd_walk *walk);

/* Adds columns (taps, windows) to one plane of float32 or float64, taps ascending. */
CI_LOCAL void ci_nd_scatter(const ci_nd *g, const struct ci_isa *isa, int32_t dtype, void *plane, const void *columns);
#endif
