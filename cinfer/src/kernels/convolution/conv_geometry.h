/* conv_geometry.h - the geometry of a convolution, which all algorithms share, channels first or last. */
#ifndef CI_CONV_GEOMETRY_H
#define CI_CONV_GEOMETRY_H
#include "nd.h"

typedef struct ci_conv_geometry {
  ci_nd nd;                     /* the windows along the spatial axes */
  int64_t n, c, groups, ic, oc; /* images, channels of x; channels per group, in and out */
  int64_t outputs, depth;       /* groups * oc; ic * taps, the terms of a sum */
  bool channels_last;
} ci_conv_geometry;

typedef struct ci_conv_axis { /* of the image */
  int64_t size, kernel, stride, dilation, before, out;
} ci_conv_axis;

typedef enum ci_conv_strategy {
  CI_CONV_MATMUL,    /* windows are gathered as a matrix and multiplied */
  CI_CONV_DEPTHWISE, /* depthwise: for each channel one sum over the taps */
  CI_CONV_PLANES,    /* depthwise, float32, channels first, one or two axes: conv_planes.c */
  CI_CONV_TILES      /* float32, not depthwise: conv_tiles.c */
} ci_conv_strategy;

/* Sets the numbers of images and channels; the windows must be set. */
CI_INLINE void ci_conv_geometry_channels(ci_conv_geometry *g, int64_t n, int64_t groups, int64_t ic, int64_t outputs) {
  g->n = n;
  g->c = groups * ic;
  g->groups = groups;
  g->ic = ic;
  g->oc = outputs / groups;
  g->outputs = outputs;
  g->depth = ic * g->nd.taps;
}

/* Several groups of one channel, in and out. */
CI_INLINE bool ci_conv_geometry_is_depthwise(const ci_conv_geometry *g) {
  return g->groups > 1 && g->ic == 1 && g->oc == 1;
}

/* 1 x 1, stride 1, no padding: x is the matrix of its windows. */
CI_INLINE bool ci_conv_geometry_is_pointwise(const ci_conv_geometry *g) {
  bool is = g->nd.taps == 1;
  for (int i = 0; is && i < g->nd.rank; i++)
    is = g->nd.stride[i] == 1 && g->nd.before[i] == 0 && g->nd.size[i] == g->nd.out[i];
  return is;
}

/* The axis that is so many before the last one, or an axis of one element. */
CI_INLINE ci_conv_axis ci_conv_geometry_axis(const ci_conv_geometry *g, int before_last) {
  const ci_nd *nd = &g->nd;
  const int i = nd->rank - 1 - before_last;
  if (i < 0) return (ci_conv_axis){1, 1, 1, 1, 0, 1};
  return (ci_conv_axis){nd->size[i], nd->kernel[i], nd->stride[i], nd->dilation[i], nd->before[i], nd->out[i]};
}
#endif
