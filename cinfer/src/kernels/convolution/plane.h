/* plane.h - windows over a plane of float32, one or two axes, for depthwise convolution and pooling, channels first. */
#ifndef CI_PLANE_H
#define CI_PLANE_H
#include "../../simd/isa.h"
#include "../../simd/linear/isa_linear.h"
#include "nd.h"

typedef struct ci_plane { /* a plane and its padding in scratch */
  bool used, padded;
  int64_t height, width; /* of the plane */
  int64_t above, before, rows, row; /* padding; rows of the copy, and numbers of one */
  size_t bytes; /* of the copy, 0: the plane is read in place */
} ci_plane;

/* False: more axes, or a copy of more than 2^26 numbers. Fills all of `windows` but x, w, bias and y. copy: the plane
 * is copied even if it has no padding. */
CI_LOCAL bool ci_plane_plan(ci_plane *p, const ci_nd *g, bool copy, ci_windows *windows);
/* The plane, or its copy with `fill` around it. */
CI_LOCAL const float *ci_plane_padded(const ci_plane *p, const struct ci_isa *isa, const float *x, float fill,
                                      float *copy);
#endif
