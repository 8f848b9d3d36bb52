/* conv_pair.c - a convolution and the depthwise one that reads it, some channels at a time.
 *
 * The value between them is the largest of many nets. As many of its channels as packed weights have outputs are
 * computed, which the depthwise convolution reads while they are in the cache, and then the next ones in the same
 * memory. That memory begins after the results of the first planes of the last channels, those that are read together:
 * no result overwrites a plane that is still to be read, since none is larger than its plane.
 */
#include "conv_nd.h"

#if CI_HAS_CONVOLUTIONS

enum { PAIR_LEAST = 1 << 18 }; /* elements of a value that is large enough */

/* The offset of that memory from the start of the result. */
static int64_t pair_offset(const ci_conv_nd *p, const ci_conv_nd *q) {
  const int64_t whole = (p->g.oc - 1) / p->tiles.width * p->tiles.width;
  return (whole + ci_min(ci_conv_planes_together(q), p->g.oc - whole)) * q->g.nd.positions;
}

/* With outputs in one packed tile, the value would stay in memory as long as the result. */
size_t ci_conv_pair_bytes(const ci_kernel *k, const ci_kernel *next) {
  const ci_conv_nd *p = k->private_memory, *q = next->private_memory;
  const ci_conv_tiles *t = &p->tiles;
  const bool several = p->g.oc > t->width && p->g.groups == 1;
  const bool packed = several && p->strategy == CI_CONV_TILES &&
                      (t->packed != NULL || t->mode == CI_CONV_TILES_PIXELS) && t->parts == 1;
  const bool planes = q->strategy == CI_CONV_PLANES && q->g.n == 1 && next->n_in <= 3;
  if (!packed || !planes || k->threads > 1 || k->out[0]->count < PAIR_LEAST || q->g.nd.positions > q->g.nd.area)
    return 0;
  const int64_t numbers = pair_offset(p, q) + ci_min(p->tiles.width, p->g.oc) * q->g.nd.area;
  return (size_t)numbers * sizeof(float); /* no more than both values have */
}

void ci_conv_pair_run(const ci_kernel *k) {
  const ci_conv_nd *p = k->private_memory;
  const ci_conv_nd_job planes = ci_conv_nd_whole(p->joined);
  float *between = (float *)(void *)planes.y + pair_offset(p, planes.p);
  ci_conv_tiles_job tiles = ci_conv_nd_tiles(k, between);
  for (int64_t c = 0; c < p->g.oc; c = tiles.end) {
    tiles.begin = c;
    tiles.end = ci_min(c + p->tiles.width, p->g.oc);
    ci_conv_tiles_run(&tiles);
    ci_conv_planes_some(&planes, c, tiles.end - c, between, (float *)(void *)planes.scratch);
  }
}
#endif
