/* conv_tiles.h - float32 convolutions with outputs as lanes, channels first or last, over one or two axes; or first
 * over three. */
#ifndef CI_CONV_TILES_H
#define CI_CONV_TILES_H
#include "../../simd/isa.h"
#include "../../simd/linear/isa_linear.h"
#include "../arithmetic/fused.h"
#include "../linear/gemm.h"
#include "conv_geometry.h"

enum { CI_CONV_TILES_TERMS = 1 << 20 }; /* at most, each of which has an offset */

typedef enum ci_conv_tiles_mode { /* how x is read */
                                  CI_CONV_TILES_IN_PLACE,  /* windows are inside the image */
                                  CI_CONV_TILES_FLAT,      /* 1 x 1, stride 1: an image is one row */
                                  CI_CONV_TILES_PIXELS, /* the same with pixels as lanes: many pixels, few channels */
                                  CI_CONV_TILES_SQUEEZED, /* 1 x 1 with strides, channels first: only the pixels that
                                                             are read are copied */
                                  CI_CONV_TILES_PADDED, /* rows are copied with their padding */
                                  CI_CONV_TILES_SLICES, /* the same over three axes: of the planes that a slice of y
                                                           reads */
                                  CI_CONV_TILES_THREES /* windows three wide and one apart: in place if all weights are
                                                          finite, else padded */
} ci_conv_tiles_mode;

typedef struct ci_conv_tiles {
  const ci_conv_geometry *g;
  ci_conv_axis z, y, x; /* of the geometry; in modes FLAT and PIXELS x has all pixels of an image */
  ci_conv_tiles_mode mode;
  int64_t block; /* terms of a sum that are added in one chain (ci_matmul) */

  /* Strides are in elements. */
  int64_t width; /* outputs of packed weights */
  int64_t inner; /* from column to column of x */
  int64_t row_step, plane_step, channel_step, image_step; /* of x; a plane is a slice of a channel over three axes */
  int64_t planes, plane, row, before; /* of the image or copy that a unit reads: planes of rows; padding before a row */
  int64_t down, right; /* there, from output to output */
  int64_t rows, columns, strips, parts; /* outputs of a unit; units of an image and of its packed weights */
  int64_t grain; /* units of a thread at least */
  size_t packed_bytes, strip_bytes, thread_bytes; /* of all weights; of a thread's copy, and of all of a thread */
  const float *packed; /* the model's copy of the weights, or NULL */
  const ci_largest *largest; /* windows of the result of which y has the largest, or NULL */
  int32_t *offset; /* of each term in planes */
} ci_conv_tiles;

typedef struct ci_conv_tiles_job {
  ci_kernel *k;
  const ci_conv_tiles *p;
  const float *x, *w, *bias; /* bias: channels first only; or NULL */
  float *y;
  int64_t begin,
      end; /* outputs, of which y has the first at its start; 0, 0: all. Of one group, complete packed ones */
  ci_after after; /* operations that follow, channels first only; added is of all of y */
  const ci_fused *program; /* further operations, in rows of a plane's windows; or NULL */
} ci_conv_tiles_job;

/* Whether tiles compute a convolution that is not depthwise; then sets the scratch of the kernel. `rule` is that of its
 * matrix multiplication. `offset` has memory for the geometry's depth, or is NULL: there are too many terms. */
CI_LOCAL bool ci_conv_tiles_plan(ci_kernel *k, const ci_conv_geometry *g, int32_t dtype, const ci_matmul *rule,
                                 int32_t *offset, ci_conv_tiles *p);
/* Memory for the offsets of a convolution with weights of so many terms, or 0. */
CI_LOCAL size_t ci_conv_tiles_offset_bytes(int64_t depth);
/* Whether tiles can also make the largest of windows of the result; y then has those alone. */
CI_LOCAL bool ci_conv_tiles_join(ci_conv_tiles *p, const ci_largest *largest);
CI_LOCAL void ci_conv_tiles_run(const ci_conv_tiles_job *job);
#endif
