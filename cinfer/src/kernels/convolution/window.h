/* window.h - windows over images (n, h, w, c), for convolution and pooling. */
#ifndef CI_WINDOW_H
#define CI_WINDOW_H
#include "nd.h"

typedef struct ci_window {
  ci_nd nd;             /* of two axes: height and width */
  int64_t n, c, pixels; /* images, channels; outputs of all images */
} ci_window;

typedef struct ci_pixel { /* the position of an output, walked in row-major order */
  int64_t image, y, x;
} ci_pixel;

#define CI_WINDOW_MOST \
  ((int64_t)1 << 30) /* of a size, stride or pad: their sums, and two of them multiplied, then fit 64 bits */
enum { CI_PAD_NOTSET, CI_PAD_VALID, CI_PAD_SAME_UPPER, CI_PAD_SAME_LOWER };

/* An attribute of `most` numbers, least to CI_WINDOW_MOST; `out` stays as it is when the attribute is absent. */
CI_LOCAL ci_status ci_window_ints(ci_kernel *k, const char *name, int most, int64_t least, int64_t *out);
/* auto_pad, one of CI_PAD_. */
CI_LOCAL ci_status ci_window_mode(ci_kernel *k, int *mode);

/* Reads strides, pads, dilations and auto_pad and fills g from x_dims (n, h, w, c) and the window (kh, kw).
 * pools: no dilations, and padding must be smaller than the window. */
CI_LOCAL ci_status ci_window_prepare(ci_kernel *k, const int64_t *x_dims, int64_t kh, int64_t kw, bool pools,
                                     ci_window *g);

/* Addresses of the taps of one output, all channels, in an image of pixels of so many bytes; a tap in the padding is
 * `none`, or left out when that is NULL (pools, no dilation). Returns how many were written. */
CI_LOCAL int64_t ci_window_taps(const ci_nd *g, size_t pixel_bytes, const char *x, const ci_pixel *at, const char *none,
                                const char **taps);

CI_INLINE ci_pixel ci_window_at(const ci_nd *g, int64_t pixel) {
  const int64_t area = g->positions, image = pixel / area, rest = pixel - image * area;
  return (ci_pixel){image, rest / g->out[1], rest % g->out[1]};
}
CI_INLINE void ci_window_next(const ci_nd *g, ci_pixel *p) {
  if (++p->x < g->out[1]) return;
  p->x = 0;
  if (++p->y < g->out[0]) return;
  p->y = 0;
  p->image++;
}
#endif
