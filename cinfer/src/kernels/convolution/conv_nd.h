/* conv_nd.h - the plan of a convolution, channels first, and the three products that all operators are made of. */
#ifndef CI_CONV_ND_H
#define CI_CONV_ND_H
#include "conv_tiles.h"
#include "../arithmetic/fused.h"
#include "plane.h"
#include "../linear/product.h"

enum { CI_CONV_PADDED = 1 << 26, CI_CONV_PLANE_WORK = 1 << 15 /* of a thread's part at least */ };

typedef struct ci_conv_nd {
  ci_nd g;
  int32_t dtype; /* of the products */
  size_t item;
  int64_t n, c, groups, ic, oc; /* images, channels; channels per group, in and out */
  int64_t outputs, depth;       /* groups * oc; ic * taps */
  bool direct;                  /* 1 x 1, stride 1, no padding: x is its own matrix */
  bool depthwise;               /* several groups of one channel in and out */
  ci_matmul product;
  int64_t width, chunk; /* of a tile: columns, terms; of the image's gradient: width is channels */
  int64_t tiles, parts; /* column tiles of an image, row parts of a group's outputs */
  size_t tile_bytes;    /* of one thread */
  size_t packed_bytes;  /* of the turned weights, before the tiles */
  ci_nd padded;         /* depthwise: how an image lies in scratch, see conv_nd.c */
  size_t padded_bytes;
  ci_plane plane;       /* of float32 over one or two axes: planes are turned, to be lanes, */
  ci_windows windows;
  int64_t strip, wide; /* so many rows of so many windows at a time, */
  int64_t reach, pitch, numbers; /* which read so many rows of so many numbers of a plane */
  int64_t down, right;           /* strides; right is 0 of one window */
  bool nines;              /* or 3 x 3 windows of a plane that is read in place */
  bool inside;             /* FusedConv: tiles or planes do what follows */
  ci_clamp clamp;          /* FusedConv: what follows, or */
  const ci_fused *program; /* in rows of a plane's windows; or NULL */
  ci_conv_tiles lanes; /* offset NULL: this form is not taken */
  const ci_kernel *joined; /* MaxPool or depthwise convolution whose work it does, or NULL */
} ci_conv_nd;

typedef struct ci_conv_nd_job ci_conv_nd_job;
/* to[(k - k0) * k_step + (p - p0) * p_step], terms [k0, k1) of the windows [p0, p1) of a group of an image. */
typedef struct ci_conv_nd_box {
  int64_t image, group, k0, k1, p0, p1;
  ptrdiff_t k_step, p_step;
} ci_conv_nd_box;
typedef void (*ci_conv_nd_fill)(const ci_conv_nd_job *job, char *to, const ci_conv_nd_box *box);

struct ci_conv_nd_job {
  ci_kernel *k;
  const ci_conv_nd *p;
  const char *x, *w;
  const char *bias; /* one an output, or NULL */
  char *y, *scratch;
  ci_after after; /* of depthwise convolutions by planes, then the program; or NULL */
  const ci_fused *program;
  ci_conv_nd_fill fill; /* NULL: x's windows */
};

/* conv_pair.c: a convolution that does the work of a depthwise one behind it, too; see ci_kernel.join. */
size_t ci_conv_pair_bytes(const ci_kernel *k, const ci_kernel *next);
void ci_conv_pair_run(const ci_kernel *k);
/* What is to be done for a kernel's outputs, which go to y: by tiles, or in one of the other ways. */
ci_conv_tiles_job ci_conv_nd_tiles(const ci_kernel *k, float *y);
ci_conv_nd_job ci_conv_nd_whole(const ci_kernel *k);

/* conv_planes.c: a depthwise convolution of float32, plane.used if it computes it; fills plane to nines, and
 * tile_bytes. */
CI_LOCAL bool ci_conv_planes_plan(ci_conv_nd *p);
CI_LOCAL void ci_conv_planes_run(const ci_conv_nd_job *job);
/* How many planes of an image it reads before it writes: one, or a vector of them. */
CI_LOCAL int64_t ci_conv_planes_together(const ci_conv_nd *p);
/* Planes of one image, neighbours that begin at x. */
CI_LOCAL void ci_conv_planes(const ci_conv_nd_job *job, int64_t plane, int64_t count, const float *x, float *scratch);

/* group, and sizes from x (n, c, ...) and w (m, c / group, ...), of one rank. */
CI_LOCAL ci_status ci_conv_nd_prepare(ci_kernel *k, int rank, const int64_t *x_dims, const int64_t *w_dims,
                                      ci_conv_nd *p);
/* The plan of y = product(w, windows of x) and its scratch, in bytes. */
CI_LOCAL ci_status ci_conv_nd_plan(ci_kernel *k, int32_t dtype, ci_conv_nd *p, size_t *scratch);
CI_LOCAL void ci_conv_nd_forward(const ci_conv_nd_job *job);
CI_LOCAL ci_status ci_conv_nd_bias(ci_kernel *k, int input, int64_t outputs, int32_t dtype);
#endif
