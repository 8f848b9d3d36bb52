/* conv_tiles.h - float32 convolutions with outputs as lanes, channels first or last, over one or two axes; or first
 * over three. */
#ifndef CI_CONV_TILES_H
#define CI_CONV_TILES_H
#include "../../simd/isa.h"
#include "../../simd/linear/isa_linear.h"
#include "../arithmetic/fused.h"
#include "../linear/product.h"

enum { CI_CONV_OFFSETS = 1 << 20 }; /* terms at most, which have an offset each */

CI_INLINE int64_t ci_conv_least(int64_t a, int64_t b) { return a < b ? a : b; }
CI_INLINE int64_t ci_conv_parts(int64_t n, int64_t of) { return (n + of - 1) / of; } /* both below 2^62 */

typedef struct ci_conv_axis { /* of the image */
  int64_t size, kernel, stride, dilation, before, out;
} ci_conv_axis;

typedef struct ci_conv_tiles {
  ci_conv_axis z, y, x;
  int64_t images, groups, ic, oc; /* channels per group, in and out */
  int64_t block;                  /* L */
  bool channels_last;

  /* ci_conv_tiles_plan's. Strides are in numbers. */
  int64_t depth, width;                     /* terms; numbers of a panel of weights */
  int64_t inner;                            /* from column to column of x */
  int64_t row_step, plane_step, channel_step, image_step; /* of x; a plane is a slice of a channel over three axes */
  int64_t planes, plane, row, before;       /* what a unit reads: planes of rows; padding before a row */
  int64_t down, right;                      /* there, from output to output */
  int64_t rows, columns, strips, parts;     /* outputs of a unit; units of an image and of its panels */
  int64_t grain;                            /* units of a thread at least */
  bool threes;   /* windows are three wide and one apart, all weights finite: padding need not be computed */
  bool pixels;   /* pixels are lanes instead: many of them, few channels */
  bool padded;   /* rows are copied with their padding */
  bool deep;     /* over three axes: the planes that a slice of y reads are */
  bool squeezed; /* 1 x 1 with a stride: what it reads is copied */
  bool flat;     /* 1 x 1 without: an image is one row */
  size_t packed_bytes, strip_bytes, thread_bytes; /* of all weights; of a thread's copy, and of all of a thread */
  const float *packed; /* the model's copy, or NULL */
  const ci_largest *largest; /* windows of the result of which y has the largest, or NULL */
  int32_t *offset; /* of each term in planes */
} ci_conv_tiles;

typedef struct ci_conv_tiles_job {
  ci_kernel *k;
  const ci_conv_tiles *p;
  const float *x, *w, *bias; /* bias: channels first only; or NULL */
  float *y;
  int64_t begin, end;      /* outputs, of which y has the first at its start; 0, 0: all. Of one group, whole panels */
  ci_after after;          /* what follows, channels first only; added is of the whole of y */
  const ci_fused *program; /* what else follows, in rows of a plane's windows; or NULL */
} ci_conv_tiles_job;

/* Whether this form computes it; the geometry must be set. `offset` has room for ic * taps numbers. */
CI_LOCAL bool ci_conv_tiles_plan(ci_kernel *k, ci_conv_tiles *p, size_t *scratch);
/* Whether it can make the largest of windows of its result, too; y then has those alone. */
CI_LOCAL bool ci_conv_tiles_join(ci_conv_tiles *p, const ci_largest *largest);
CI_LOCAL void ci_conv_tiles_run(const ci_conv_tiles_job *job);
#endif
