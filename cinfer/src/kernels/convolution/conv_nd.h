/* conv_nd.h - convolutions of images (n, c, ...), channels first: the plan that all operators share, a struct for each
 * strategy, and how kernels of other families run one.
 */
#ifndef CI_CONV_ND_H
#define CI_CONV_ND_H
#include "../arithmetic/fused.h"
#include "../linear/gemm.h"
#include "conv_tiles.h"
#include "plane.h"

enum { CI_CONV_ND_PLANE_WORK = 1 << 15 /* of a thread's part at least */, CI_CONV_ND_PADDED = 1 << 26 };

typedef struct ci_conv_nd_matmul { /* windows are gathered as the columns of a matrix, which the weights multiply */
  ci_matmul rule;
  bool pointwise;       /* x is the matrix itself */
  int64_t width, chunk; /* of a tile: columns, terms; of the gradient of the weights: terms, windows */
  int64_t tiles, parts; /* column tiles of an image, row parts of a group's outputs */
} ci_conv_nd_matmul;

typedef struct ci_conv_nd_transposed { /* transposed weights multiply x, and the columns are added to planes of y */
  ci_matmul rule;
  int64_t width, tiles; /* channels of a tile, tiles of a group */
  size_t packed_bytes;  /* of the transposed weights, before the tiles */
} ci_conv_nd_transposed;

typedef struct ci_conv_nd_depthwise { /* a padded plane in scratch, see conv_nd.c */
  ci_nd padded;                       /* how the image is stored there */
  size_t padded_bytes, weight_bytes;
} ci_conv_nd_depthwise;

typedef struct ci_conv_planes { /* conv_planes.c */
  bool nines;                   /* 3 x 3 windows of a plane that is read in place, or */
  ci_plane plane;               /* planes are transposed, to be lanes, */
  ci_windows windows;
  int64_t strip, wide;           /* so many rows of so many windows at a time, */
  int64_t reach, pitch, numbers; /* which read so many rows of so many elements of a plane */
  int64_t down, right;           /* strides; right is 0 of one window */
} ci_conv_planes;

typedef struct ci_conv_nd {
  ci_conv_geometry g;
  int32_t dtype; /* of the sums */
  size_t item;
  ci_conv_strategy strategy;
  size_t tile_bytes; /* scratch of one thread, but for tiles */
  ci_conv_nd_matmul matmul;
  ci_conv_nd_transposed transposed;
  ci_conv_nd_depthwise depthwise;
  ci_conv_planes planes;
  ci_conv_tiles tiles;
  bool inside;             /* FusedConv: tiles or planes compute the operations that follow, */
  ci_clamp clamp;          /* which are a clamp, or */
  const ci_fused *program; /* a program in rows of a plane's windows; or NULL */
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
  ci_conv_nd_fill fill; /* NULL: x's windows; else the strategy is matrix multiplication */
};

/* ---- conv_pair.c: a convolution that also does the work of the depthwise one that reads it; see ci_kernel.join ----
 */

size_t ci_conv_pair_bytes(const ci_kernel *k, const ci_kernel *next);
void ci_conv_pair_run(const ci_kernel *k);

/* ---- conv_planes.c ---- */

/* Whether planes compute a depthwise convolution of float32; sets planes and tile_bytes. */
CI_LOCAL bool ci_conv_planes_plan(ci_conv_nd *p);
CI_LOCAL void ci_conv_planes_run(const ci_conv_nd_job *job);
/* How many planes of an image it reads before it writes: one, or a vector of them. */
CI_LOCAL int64_t ci_conv_planes_together(const ci_conv_nd *p);
/* Computes some planes of one image, neighbours that begin at x. */
CI_LOCAL void ci_conv_planes_some(const ci_conv_nd_job *job, int64_t plane, int64_t count, const float *x,
                                  float *scratch);

/* ---- conv_nd.c ---- */

/* group, and sizes from x (n, c, ...) and w (m, c / group, ...), of one rank. */
CI_LOCAL ci_status ci_conv_nd_prepare(ci_kernel *k, int rank, const int64_t *x_dims, const int64_t *w_dims,
                                      ci_conv_nd *p);
/* Chooses a strategy other than tiles, and sets its scratch, in bytes. */
CI_LOCAL ci_status ci_conv_nd_plan(ci_kernel *k, int32_t dtype, ci_conv_nd *p, size_t *scratch);
/* The same for jobs with a fill. */
CI_LOCAL ci_status ci_conv_nd_plan_filled(ci_kernel *k, int32_t dtype, ci_conv_nd *p, size_t *scratch);
CI_LOCAL void ci_conv_nd_forward(const ci_conv_nd_job *job);
CI_LOCAL ci_status ci_conv_nd_bias(ci_kernel *k, int input, int64_t outputs, int32_t dtype);
/* The work of a kernel by tiles, with outputs that go to y; and by another strategy. */
ci_conv_tiles_job ci_conv_nd_tiles(const ci_kernel *k, float *y);
ci_conv_nd_job ci_conv_nd_whole(const ci_kernel *k);
#endif
