/* conv_pair.c - a convolution and the depthwise one that reads it, panel by panel.
 *
 * The value between them is the largest of many nets. A panel of its channels is made, which the depthwise convolution
 * reads while it is in the cache, and then the next in the same memory. That memory begins behind what the first planes
 * of the last panel become, those that are read together: no result reaches a plane that is still to be read, for none
 * is larger than its plane.
 */
#include "conv_nd.h"

#if CI_HAS_CONVOLUTIONS

enum { PAIR_LEAST = 1 << 18 }; /* numbers of a value that is worth it */

/* Where the panel lies from the result on. */
static int64_t pair_panel(const ci_conv_nd *p, const ci_conv_nd *q) {
  const int64_t whole = (p->oc - 1) / p->lanes.width * p->lanes.width;
  return (whole + ci_conv_least(ci_conv_planes_together(q), p->oc - whole)) * q->g.places;
}

/* Of one panel alone the whole would stay in memory as long as the result. */
size_t ci_conv_pair_bytes(const ci_kernel *k, const ci_kernel *next) {
  const ci_conv_nd *p = k->private_memory, *q = next->private_memory;
  const ci_conv_tiles *t = &p->lanes;
  const bool several = p->oc > t->width && p->groups == 1;
  const bool panels = several && t->offset != NULL && (t->packed != NULL || t->pixels) && t->parts == 1;
  const bool planes = q->depthwise && q->plane.used && q->n == 1 && next->n_in <= 3;
  if (!panels || !planes || k->threads > 1 || k->out[0]->count < PAIR_LEAST || q->g.places > q->g.area) return 0;
  const int64_t numbers = pair_panel(p, q) + ci_conv_least(p->lanes.width, p->oc) * q->g.area;
  return (size_t)numbers * sizeof(float); /* no more than both values have */
}

void ci_conv_pair_run(const ci_kernel *k) {
  const ci_conv_nd *p = k->private_memory;
  const ci_conv_nd_job planes = ci_conv_nd_whole(p->joined);
  float *panel = (float *)(void *)planes.y + pair_panel(p, planes.p);
  ci_conv_tiles_job tiles = ci_conv_nd_tiles(k, panel);
  for (int64_t c = 0; c < p->oc; c = tiles.end) {
    tiles.begin = c;
    tiles.end = ci_conv_least(c + p->lanes.width, p->oc);
    ci_conv_tiles_run(&tiles);
    ci_conv_planes(&planes, c, tiles.end - c, panel, (float *)(void *)planes.scratch);
  }
}
#endif
