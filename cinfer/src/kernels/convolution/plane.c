/* plane.c - a plane of float32 with its padding. */
#include "plane.h"
#if CI_HAS_CONVOLUTIONS || CI_HAS_POOLS

enum { PLANE_MOST = 1 << 26 };

bool ci_plane_plan(ci_plane *p, const ci_nd *g, bool copy, ci_windows *windows) {
  const int last = g->rank - 1;
  int64_t size[2] = {1, g->size[last]}, kernel[2] = {1, g->kernel[last]}, stride[2] = {1, g->stride[last]};
  int64_t dilation[2] = {1, g->dilation[last]}, before[2] = {0, g->before[last]}, out[2] = {1, g->out[last]};
  if (g->rank > 2) return false;
  if (g->rank == 2) {
    size[0] = g->size[0], kernel[0] = g->kernel[0], stride[0] = g->stride[0];
    dilation[0] = g->dilation[0], before[0] = g->before[0], out[0] = g->out[0];
  }
  int64_t copied[2]; /* as far as windows reach, but at least the plane */
  *p = (ci_plane){.height = size[0], .width = size[1], .above = before[0], .before = before[1], .padded = copy};
  for (int i = 0; i < 2; i++) {
    if (out[i] < 1 || size[i] < 1) return false;
    const int64_t reach = (out[i] - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1;
    p->padded = p->padded || before[i] > 0 || reach > size[i];
    copied[i] = reach > before[i] + size[i] ? reach : before[i] + size[i];
    if (copied[i] > PLANE_MOST) return false;
  }
  p->rows = p->padded ? copied[0] : size[0];
  p->row = p->padded ? copied[1] : size[1];
  if (p->padded && p->rows > PLANE_MOST / p->row) return false;
  if (p->padded) p->bytes = ci_round_up(((size_t)(p->rows * p->row) + CI_WINDOWS_SLACK) * sizeof(float), 64);
  p->used = true;
  *windows = (ci_windows){.x_down = (ptrdiff_t)(stride[0] * p->row),
                          .x_right = (ptrdiff_t)stride[1],
                          .tap_down = (ptrdiff_t)(dilation[0] * p->row),
                          .tap_right = (ptrdiff_t)dilation[1],
                          .kh = kernel[0],
                          .kw = kernel[1],
                          .rows = out[0],
                          .columns = out[1]};
  return true;
}

const float *ci_plane_padded(const ci_plane *p, const struct ci_isa *isa, const float *x, float fill, float *copy) {
  if (!p->padded) return x;
  const ci_padding padding = {.x = x,
                              .y = copy,
                              .x_step = 1,
                              .x_row = (ptrdiff_t)p->width,
                              .y_row = (ptrdiff_t)p->row,
                              .planes = 1,
                              .above = p->above,
                              .rows = p->height,
                              .below = p->rows - p->above - p->height,
                              .before = p->before,
                              .n = p->width,
                              .fill = fill};
  isa->linear->pad(&padding);
  return copy;
}
#endif
