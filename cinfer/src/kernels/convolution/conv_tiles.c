/* conv_tiles.c - float32 convolutions with outputs as lanes.
 *
 * A tile is some neighbouring pixels by the outputs of one packed tile of weights. The image is read in place, or
 * strips of it that are copied with their padding; the offset of a term from a pixel is the same for all pixels.
 * Channels first, totals of a strip are transposed when they are complete.
 */
#include "conv_tiles.h"

#include "../../plan/pack.h"
#if CI_HAS_CONVOLUTIONS

enum {
  TILES_EVEN = 8,              /* units of a thread from which on one more is little */
  TILES_PART_WORK = 1 << 19,   /* multiplications that are worth a thread */
  TILES_LEAST = 8,             /* outputs that are worth a packed tile where the image itself is a matrix */
  TILES_PIXELS = 448,          /* of a unit; twice as many if there are few terms */
  TILES_SHALLOW = 32,          /* so few */
  TILES_LONG = 400,            /* pixels with which these are the lanes instead of outputs */
  TILES_NEAR = 56,             /* at a time, of long rows or of several */
  TILES_NEARBY = 1 << 14,      /* numbers of a result that is in the cache anyway */
  TILES_STRIP_BYTES = 1 << 19, /* of a copy, if it has more than one row */
  TILES_MOST = 1 << 24         /* numbers of a copy */
};

/* Slices of the result: small builds leave convolutions over three axes to matrix multiplication. */
static int64_t tiles_slices_of(const ci_conv_tiles *p) { return CI_LARGE ? p->z.out : 1; }
static int64_t tiles_reach(const ci_conv_axis *a, int64_t out) {
  return (out - 1) * a->stride + (a->kernel - 1) * a->dilation + 1;
}
static bool tiles_inside(const ci_conv_axis *a) { return a->before == 0 && tiles_reach(a, a->out) <= a->size; }

/* An image is one row. */
static bool tiles_is_flat(const ci_conv_tiles *p) {
  return p->mode == CI_CONV_TILES_FLAT || p->mode == CI_CONV_TILES_PIXELS;
}
static bool tiles_is_padded(const ci_conv_tiles *p) { return p->mode >= CI_CONV_TILES_PADDED; }
static bool tiles_copies(const ci_conv_tiles *p) { return p->mode >= CI_CONV_TILES_SQUEEZED; }

/* ---- plan ---- */

static void tiles_offsets(ci_conv_tiles *p) {
  const ci_conv_geometry *g = p->g;
  int32_t *to = p->offset;
  for (int64_t term = 0; term < g->depth; term++) {
    int64_t c = term % g->ic, tap = term / g->ic;
    if (!g->channels_last) {
      const int64_t taps = p->y.kernel * p->x.kernel;
      c = term / taps * p->plane;
      tap = term % taps;
    }
    const int64_t at = tap / p->x.kernel * p->y.dilation * p->row + tap % p->x.kernel * p->x.dilation * p->inner + c;
    *to++ = (int32_t)at;
  }
}

/* ---- weights: packed tiles of (term, output), of one vector where that is enough ---- */

static int64_t tiles_wide(const ci_conv_tiles *p, int64_t outputs) {
  return outputs > p->width / 2 ? p->width : p->width / 2;
}

/* Elements of a group's packed tiles. */
static int64_t tiles_numbers(const ci_conv_tiles *p) {
  const ci_conv_geometry *g = p->g;
  const int64_t whole = (g->oc - 1) / p->width * p->width;
  return (whole + tiles_wide(p, g->oc - whole)) * g->depth;
}

/* After the packed tiles: 1 if all weights are finite, else 0. */
static void tiles_note_finite(const ci_conv_tiles *p, const float *w, float *packed) {
  const ci_conv_geometry *g = p->g;
  float different = 0.0f; /* NaN from the first infinity or NaN on */
  for (int64_t i = 0; i < g->groups * g->oc * g->depth; i++) different += w[i] - w[i];
  packed[g->groups * tiles_numbers(p)] = different == 0.0f ? 1.0f : 0.0f;
}

/* The unused lanes of a packed tile are 0. */
static void tiles_pack(const ci_conv_tiles *p, const struct ci_isa_linear *linear, const float *w, float *to) {
  const ci_conv_geometry *g = p->g;
  const int64_t outputs = g->groups * g->oc;
  const ptrdiff_t output_step = g->channels_last ? 1 : (ptrdiff_t)g->depth;
  if (p->mode == CI_CONV_TILES_THREES) tiles_note_finite(p, w, to);
  for (int64_t group = 0; group < g->groups; group++, w += g->oc * output_step) {
    for (int64_t o = 0; o < g->oc; o += p->width) {
      const int64_t count = ci_min(p->width, g->oc - o), wide = tiles_wide(p, count);
      const float *from = w + o * output_step;
      if (!g->channels_last) linear->transpose(to, (ptrdiff_t)wide, from, output_step, count, g->depth);
      for (int64_t term = 0; term < g->depth; term++, to += wide) {
        if (g->channels_last) memcpy(to, from + term * outputs, (size_t)count * sizeof *to);
        if (count < wide) memset(to + count, 0, (size_t)(wide - count) * sizeof *to);
      }
    }
  }
}

typedef struct tiles_fill {
  const ci_conv_tiles *p;
  const struct ci_isa_linear *linear;
} tiles_fill;

static void tiles_pack_constant(void *to, const ci_value *w, const void *argument) {
  const tiles_fill *fill = argument;
  tiles_pack(fill->p, fill->linear, w->data, to);
}

/* The weights in the file, if they are packed in this order there. */
static const float *tiles_in_file(ci_kernel *k, const ci_conv_tiles *p) {
  const ci_conv_geometry *g = p->g;
  const int64_t more = g->oc % p->width;
  if (g->groups > 1 || p->mode == CI_CONV_TILES_THREES || (more > 0 && more != p->width / 2)) return NULL;
  return ci_k_packed_tiles(k, 1, p->width, g->channels_last);
}

static ci_conv_tiles_mode tiles_mode(const ci_conv_tiles *p) {
  const ci_conv_geometry *g = p->g;
  const ci_conv_axis *z = &p->z, *y = &p->y, *x = &p->x;
  const bool first = !g->channels_last, one_block = g->depth <= p->block;
  if (CI_LARGE && (z->size != 1 || z->kernel != 1 || z->out != 1 || z->before != 0)) return CI_CONV_TILES_SLICES;
  if (!tiles_inside(y) || !tiles_inside(x)) {
    const bool threes = x->kernel == 3 && x->stride == 1 && x->dilation == 1 && x->before <= 1;
    return CI_LARGE && first && one_block && threes && x->out - x->before < x->size ? CI_CONV_TILES_THREES
                                                                                    : CI_CONV_TILES_PADDED;
  }
  if (y->kernel != 1 || x->kernel != 1) return CI_CONV_TILES_IN_PLACE;
  if (y->stride > 1 || x->stride > 1) return first ? CI_CONV_TILES_SQUEEZED : CI_CONV_TILES_IN_PLACE;
  if (y->out != y->size || x->out != x->size) return CI_CONV_TILES_IN_PLACE;
  return CI_LARGE && first && one_block && y->size * x->size >= TILES_LONG ? CI_CONV_TILES_PIXELS : CI_CONV_TILES_FLAT;
}

/* Sets the axes, the mode, and the strides of x. */
static void tiles_layout(ci_conv_tiles *p) {
  const ci_conv_geometry *g = p->g;
  const bool last = g->channels_last;
  p->z = ci_conv_geometry_axis(g, 2);
  p->y = ci_conv_geometry_axis(g, 1);
  p->x = ci_conv_geometry_axis(g, 0);
  p->mode = tiles_mode(p);
  p->inner = last ? g->c : 1;
  p->planes = last ? 1 : g->ic * p->z.kernel;
  p->row_step = p->row = p->x.size * p->inner;
  p->plane_step = p->plane = p->row * p->y.size;
  p->channel_step = last ? 1 : p->plane_step * p->z.size;
  p->image_step = last ? p->plane_step : g->c * p->channel_step;
  p->before = p->x.before * p->inner;
  if (tiles_is_flat(p)) {
    p->x.size = p->x.out = p->y.size * p->x.size;
    p->y.size = p->y.out = 1;
  }
}

/* How many outputs a unit has. Long runs of each plane are read and written, and the totals and the copy of what is
 * read stay in the second-level cache. */
static bool tiles_units_of(ci_conv_tiles *p) {
  const bool flat = tiles_is_flat(p);
  const int64_t pixels = flat && p->g->depth <= TILES_SHALLOW ? 2 * TILES_PIXELS : TILES_PIXELS;
  p->columns = flat ? ci_min(p->x.out, pixels) : p->x.out;
  p->rows = flat ? 1 : ci_min(p->y.out, pixels / p->x.out > 1 ? pixels / p->x.out : 1);
  const bool padded = tiles_is_padded(p), copies = tiles_copies(p);
  if (padded) {
    const int64_t reach = tiles_reach(&p->x, p->x.out), whole = p->x.before + p->x.size;
    p->row = (reach > whole ? reach : whole) * p->inner;
  } else if (copies) {
    p->row = p->x.out;
  }
  if (p->row > TILES_MOST / p->planes) return false;
  for (; copies; p->rows--) {
    const int64_t rows = padded ? tiles_reach(&p->y, p->rows) : p->rows;
    p->plane = rows * p->row;
    if (p->rows == 1 || p->plane * p->planes * (int64_t)sizeof(float) <= TILES_STRIP_BYTES) break;
  }
  if (copies) {
    p->rows = ci_ceil_div(p->y.out, ci_ceil_div(p->y.out, p->rows)); /* of equal height */
    p->plane = (padded ? tiles_reach(&p->y, p->rows) : p->rows) * p->row;
    if (p->plane > TILES_MOST / p->planes) return false;
    p->strip_bytes = ci_round_up(((size_t)(p->plane * p->planes) + CI_WINDOWS_SLACK) * sizeof(float), 64);
  }
  const bool squeezed = p->mode == CI_CONV_TILES_SQUEEZED;
  p->down = squeezed ? p->row : p->y.stride * p->row;
  p->right = squeezed ? 1 : p->x.stride * p->inner;
  p->strips = flat ? ci_ceil_div(p->x.out, p->columns) : ci_ceil_div(p->y.out, p->rows);
  return p->plane <= INT32_MAX / p->planes && p->rows * p->columns <= INT32_MAX / 64;
}

size_t ci_conv_tiles_offset_bytes(int64_t depth) {
  return depth > 0 && depth <= CI_CONV_TILES_TERMS ? (size_t)depth * sizeof(int32_t) : 0;
}

/* Whether there is anything to compute, with sums in the column form (ci_matmul). */
static bool tiles_fits(const ci_conv_geometry *g, int32_t dtype, const ci_matmul *rule) {
  if (dtype != CI_FLOAT || rule->dots || g->nd.rank > (CI_LARGE ? 3 : 2)) return false;
  return g->n != 0 && g->nd.positions != 0 && g->ic != 0 && g->oc != 0;
}

/* Divides the work: units of an image, and parts of a unit so that each thread takes as many. False: too large. */
static bool tiles_divide(ci_conv_tiles *p, int64_t threads, size_t *numbers) {
  const ci_conv_geometry *g = p->g;
  if (!tiles_units_of(p)) return false;
  const int64_t units = g->n * g->groups * tiles_slices_of(p) * p->strips, tiles = ci_ceil_div(g->oc, p->width);
  for (p->parts = 1; p->parts < tiles && units < TILES_EVEN * threads && units * p->parts % threads != 0;) p->parts++;
  const int64_t work = p->rows * p->columns * g->depth * g->oc / p->parts;
  p->grain = TILES_PART_WORK / work + 1;
  return ci_mul_size((uint64_t)(g->groups * tiles), (uint64_t)(g->depth * p->width), numbers) &&
         *numbers <= PTRDIFF_MAX / 64;
}

bool ci_conv_tiles_plan(ci_kernel *k, const ci_conv_geometry *g, int32_t dtype, const ci_matmul *rule, int32_t *offset,
                        ci_conv_tiles *p) {
  const int64_t lanes = k->isa->linear->lanes;
  size_t numbers;
  if (offset == NULL || !tiles_fits(g, dtype, rule)) return false;
  p->g = g;
  p->block = rule->block;
  p->offset = offset;
  p->width = 2 * lanes;
  tiles_layout(p);
  const bool pixels = p->mode == CI_CONV_TILES_PIXELS, threes = p->mode == CI_CONV_TILES_THREES;
  if (p->mode == CI_CONV_TILES_FLAT && g->oc < TILES_LEAST) return false;
  if (p->mode == CI_CONV_TILES_SLICES && g->nd.taps == 1) return false;
  if (!tiles_divide(p, k->threads, &numbers)) return false;
  p->packed_bytes = ci_round_up((numbers + threes) * sizeof(float), 64);
  if (pixels) p->packed_bytes = 0; /* the weights are read as they are */
  const size_t totals =
      g->channels_last || pixels ? 0 : (size_t)((p->rows * p->columns + lanes) * p->width) * sizeof(float);
  p->thread_bytes = p->strip_bytes + ci_round_up(totals, 64);
  tiles_offsets(p);
  const tiles_fill fill = {p, k->isa->linear};
  const uint32_t order = (uint32_t)g->groups * 4 + threes * 2 + g->channels_last; /* one model, one instruction set */
  p->packed = pixels ? NULL : tiles_in_file(k, p);
  if (p->packed == NULL && !pixels)
    p->packed = ci_k_packed(k, 1, CI_PACK_CONV, order, p->packed_bytes, tiles_pack_constant, &fill);
  k->scratch_bytes = (p->packed == NULL ? p->packed_bytes : 0) + (size_t)k->threads * p->thread_bytes;
  return true;
}

/* A window's rows must be of one unit. */
bool ci_conv_tiles_join(ci_conv_tiles *p, const ci_largest *largest) {
  const int64_t rows = p->rows / largest->down * largest->down;
  if (tiles_is_flat(p) || p->g->channels_last || rows == 0) return false;
  p->rows = rows;
  p->strips = ci_ceil_div(p->y.out, rows);
  p->largest = largest;
  return true;
}

/* ---- run ---- */

typedef struct tiles_unit {
  int64_t image, group, z, y0, y1, x0, x1; /* slice, rows, columns of outputs */
  const float *base; /* where the first of them finds its first term */
  const float *weights; /* the group's */
  bool threes;          /* base is the first plane */
} tiles_unit;

/* The same rows of all planes that a slice of the result reads, one of which may be in the padding. */
static void tiles_slices(const ci_conv_tiles *p, const struct ci_isa_linear *linear, const tiles_unit *u,
                         ci_padding copy) {
  const float *x = copy.x;
  copy.planes = 1;
  for (int64_t plane = 0; plane < p->planes; plane++, copy.y += p->plane) {
    const int64_t at = u->z * p->z.stride - p->z.before + plane % p->z.kernel * p->z.dilation;
    if (at < 0 || at >= p->z.size) {
      memset(copy.y, 0, (size_t)p->plane * sizeof *copy.y);
    } else {
      copy.x = x + plane / p->z.kernel * p->channel_step + at * p->plane_step;
      linear->pad(&copy);
    }
  }
}

/* Copies the rows that the strip reads, with their padding; of 1 x 1 windows only what is read of them. */
static void tiles_strip(const ci_conv_tiles_job *job, const float *x, const tiles_unit *u, float *strip) {
  const ci_conv_tiles *p = job->p;
  ci_padding copy = {.x = x + u->y0 * p->y.stride * p->row_step,
                     .y = strip,
                     .x_row = (ptrdiff_t)(p->y.stride * p->row_step),
                     .x_step = (ptrdiff_t)p->x.stride,
                     .x_plane = (ptrdiff_t)p->plane_step,
                     .y_row = (ptrdiff_t)p->row,
                     .planes = p->planes,
                     .rows = u->y1 - u->y0,
                     .below = p->plane / p->row - (u->y1 - u->y0),
                     .n = p->x.out};
  if (tiles_is_padded(p)) {
    const int64_t first = u->y0 * p->y.stride - p->y.before, reach = p->plane / p->row;
    const int64_t low = first < 0 ? ci_min(-first, reach) : 0;
    const int64_t rest = p->y.size - first, high = rest < low ? low : ci_min(rest, reach);
    copy.x = x + (first + low) * p->row_step;
    copy.x_row = (ptrdiff_t)p->row_step;
    copy.x_step = 1;
    copy.above = low;
    copy.rows = high - low;
    copy.below = reach - high;
    copy.before = p->before;
    copy.n = p->row_step;
  }
  if (CI_LARGE && p->mode == CI_CONV_TILES_SLICES) tiles_slices(p, job->k->isa->linear, u, copy);
  else job->k->isa->linear->pad(&copy);
}

/* Prefetches the memory that will be written, pixels [begin, end) of some rows, while its values are computed. */
static void tiles_await(const float *y, int64_t row, int64_t begin, int64_t end, int64_t rows) {
  enum { line = 64 / sizeof(float) };
  for (; rows > 0; rows--, y += row) {
    for (int64_t i = (begin + line - 1) / line * line; i < end; i += line) CI_PREFETCH_WRITE(y + i);
  }
}

/* The totals of a unit become the largest of its windows, before what follows is done with fewer of them. */
static void tiles_largest(const ci_conv_tiles_job *job, const tiles_unit *u, int64_t first, float *totals,
                          ci_conv_turn *turn) {
  const ci_conv_tiles *p = job->p;
  const ci_largest *w = p->largest;
  const int64_t begin = u->y0 / w->down, end = u->y1 < p->y.out ? u->y1 / w->down : w->rows;
  const int64_t plane = u->image * p->g->groups * p->g->oc + first;
  const ci_conv_largest largest = {.c = totals,
                                   .bias = turn->bias,
                                   .c_step = turn->c_step,
                                   .pixels = p->x.out,
                                   .height = w->height,
                                   .width = w->width,
                                   .down = w->down,
                                   .right = w->right,
                                   .rows = end - begin,
                                   .columns = w->columns,
                                   .lanes = turn->lanes};
  job->k->isa->linear->conv_largest(&largest);
  turn->bias = NULL;
  turn->y = job->y + (plane * w->rows + begin) * w->columns;
  turn->y_row = (ptrdiff_t)(w->rows * w->columns);
  turn->pixels = (end - begin) * w->columns;
}

/* Whether the form for windows three wide computes it. A sum differs by the sign of a zero at most from that with
 * padding, where all weights are finite, and a clamp ends with + 0. */
static bool tiles_in_threes(const ci_conv_tiles_job *job, const float *packed) {
  return job->p->mode == CI_CONV_TILES_THREES && job->after.clamps &&
         packed[job->p->g->groups * tiles_numbers(job->p)] != 0.0f;
}

static void tiles_threes(const ci_conv_tiles_job *job, const tiles_unit *u, const float *w, int64_t wide,
                         float *totals) {
  const ci_conv_tiles *p = job->p;
  const ci_conv_threes threes = {.x = u->base,
                                 .x_row = (ptrdiff_t)p->row_step,
                                 .x_plane = (ptrdiff_t)p->plane_step,
                                 .channels = p->g->ic,
                                 .height = p->y.size,
                                 .width = p->x.size,
                                 .taps = p->y.kernel,
                                 .stride = p->y.stride,
                                 .dilation = p->y.dilation,
                                 .above = p->y.before,
                                 .before = p->x.before,
                                 .first = u->y0,
                                 .rows = u->y1 - u->y0,
                                 .pixels = p->x.out,
                                 .w = w,
                                 .c = totals,
                                 .c_step = (ptrdiff_t)wide,
                                 .vectors = wide == p->width ? 2 : 1};
  job->k->isa->linear->conv_threes(&threes);
}

static void tiles_pixels(const ci_conv_tiles_job *job, const tiles_unit *u, int64_t o) {
  const ci_conv_tiles *p = job->p;
  const ci_conv_geometry *g = p->g;
  const int64_t first = u->group * g->oc + o, count = ci_min(p->width, g->oc - o);
  const int64_t row = u->image * g->groups * g->oc + first, at = row * p->x.out + u->x0;
  ci_conv_pixels pixels = {.x = u->base,
                           .w = job->w + first * g->depth,
                           .bias = job->bias == NULL ? NULL : job->bias + first,
                           .y = job->y + at - job->begin * p->x.out,
                           .x_row = (ptrdiff_t)p->plane_step,
                           .w_row = (ptrdiff_t)g->depth,
                           .y_row = (ptrdiff_t)p->x.out,
                           .k = g->depth,
                           .pixels = u->x1 - u->x0,
                           .outputs = (int)count,
                           .after = job->after};
  if (pixels.after.added != NULL) pixels.after.added += at;
  job->k->isa->linear->conv_pixels(&pixels);
  if (job->program != NULL) {
    ci_fused_rows(job->program, pixels.y, pixels.y_row, row, u->x0, count, pixels.pixels);
  }
}

static void tiles_outputs(const ci_conv_tiles_job *job, const tiles_unit *u, int64_t o, float *totals) {
  const ci_conv_tiles *p = job->p;
  const ci_conv_geometry *g = p->g;
  const struct ci_isa_linear *linear = job->k->isa->linear;
  const bool joined = p->mode == CI_CONV_TILES_FLAT || p->mode == CI_CONV_TILES_SQUEEZED; /* rows are contiguous */
  const int64_t pixels = (u->y1 - u->y0) * (u->x1 - u->x0), columns = joined ? pixels : u->x1 - u->x0;
  const int64_t count = ci_min(p->width, g->oc - o), wide = tiles_wide(p, count), outputs = g->groups * g->oc;
  const int64_t first = u->group * g->oc + o, height = joined ? 1 : u->y1 - u->y0;
  const int64_t positions = p->y.out * p->x.out, all = positions * tiles_slices_of(p);
  const int64_t in_plane = u->z * positions + u->y0 * p->x.out + u->x0;
  const float *w = u->weights + o * g->depth, *end = u->weights + tiles_numbers(p);
  const int64_t in_all = (u->image * outputs + first) * all + in_plane;
  float *to = job->y + in_all - job->begin * all, *c = totals;
  ptrdiff_t c_step = (ptrdiff_t)wide;
  if (g->channels_last) {
    c = job->y + ((u->image * p->y.out + u->y0) * p->x.out + u->x0) * outputs + first;
    c_step = (ptrdiff_t)outputs;
  }
  if (u->threes) tiles_threes(job, u, w, wide, totals);
  for (int64_t k = 0; k < g->depth && !u->threes; k += p->block) {
    ci_conv_rows block = {.x_step = (ptrdiff_t)p->right,
                          .x_row = (ptrdiff_t)p->down,
                          .offset = p->offset + k,
                          .w = w + k * wide,
                          .c_step = c_step,
                          .k = ci_min(p->block, g->depth - k),
                          .vectors = wide == p->width ? 2 : 1,
                          .lanes = (int)(g->channels_last ? count : wide),
                          .add = k > 0,
                          .all = (int)pixels};
    block.ahead = block.w + block.k * wide < end ? block.w + block.k * wide : block.w;
    const bool complete =
        k + block.k == g->depth && !g->channels_last && outputs * positions > TILES_NEARBY && !p->largest;
    const int64_t step = joined ? TILES_NEAR : columns;
    for (int64_t y = 0, rows; y < height; y += rows) {
      rows = ci_min(columns < TILES_NEAR ? TILES_NEAR / columns : 1, height - y);
      for (int64_t x = 0; x < columns; x += step) {
        const int64_t at = y * columns + x;
        block.rows = (int)rows;
        block.pixels = (int)ci_min(step, columns - x);
        block.x = u->base + y * p->down + x * p->right;
        block.c = c + at * c_step;
        if (complete) tiles_await(to, all, at, at + rows * block.pixels, count);
        if (complete && job->after.added != NULL) {
          tiles_await(job->after.added + in_all, all, at, at + rows * block.pixels, count);
        }
        linear->conv_rows(&block);
      }
    }
  }
  if (g->channels_last) return;
  ci_conv_turn turn = {.y = to,
                       .c = totals,
                       .bias = job->bias == NULL ? NULL : job->bias + first,
                       .y_row = (ptrdiff_t)all,
                       .c_step = c_step,
                       .pixels = pixels,
                       .lanes = (int)count,
                       .after = job->after};
  if (turn.after.added != NULL) turn.after.added += in_all;
  if (p->largest != NULL) tiles_largest(job, u, first, totals, &turn);
  linear->conv_turn(&turn);
  if (job->program == NULL) return;
  ci_fused_rows(job->program, to, (ptrdiff_t)all, u->image * outputs + first, in_plane, count, pixels);
}

static void tiles_units(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_conv_tiles_job *job = argument;
  const ci_conv_tiles *p = job->p;
  const ci_conv_geometry *g = p->g;
  char *scratch = job->k->scratch;
  const float *packed = p->packed;
  if (packed == NULL) {
    packed = (const float *)(const void *)scratch;
    scratch += p->packed_bytes;
  }
  float *strip = (float *)(void *)(scratch + (size_t)thread * p->thread_bytes);
  float *totals = strip + p->strip_bytes / sizeof(float);
  const int64_t tiles = ci_ceil_div(g->oc, p->width), each = ci_ceil_div(tiles, p->parts);
  const bool threes = tiles_in_threes(job, packed);
  const bool pixels = p->mode == CI_CONV_TILES_PIXELS, flat = tiles_is_flat(p), copies = tiles_copies(p);
  for (int64_t unit = begin; unit < end; unit++) {
    const int64_t slices = tiles_slices_of(p), slice = unit / p->parts / p->strips, at = slice / slices;
    const int64_t strip_at = unit / p->parts % p->strips, part = unit % p->parts;
    tiles_unit u = {
        .image = at / g->groups, .group = at % g->groups, .z = slice % slices, .y1 = p->y.out, .x1 = p->x.out};
    if (!pixels) u.weights = packed + u.group * tiles_numbers(p);
    if (flat) {
      u.x0 = strip_at * p->columns;
      u.x1 = ci_min(u.x0 + p->columns, p->x.out);
    } else {
      u.y0 = strip_at * p->rows;
      u.y1 = ci_min(u.y0 + p->rows, p->y.out);
    }
    const float *x = job->x + u.image * p->image_step;
    x += u.group * g->ic * p->channel_step;
    u.base = x + u.y0 * p->y.stride * p->row_step + u.x0 * p->right;
    u.threes = threes;
    if (threes) {
      u.base = x;
    } else if (copies) {
      const int64_t own = g->channels_last ? u.group * g->ic : 0;
      tiles_strip(job, x - own, &u, strip);
      u.base = strip + own;
    }
    const int64_t first = job->end > 0 ? job->begin / p->width : part * each;
    const int64_t last = job->end > 0 ? ci_ceil_div(job->end, p->width) : ci_min((part + 1) * each, tiles);
    for (int64_t tile = first; tile < last; tile++) {
      if (pixels) tiles_pixels(job, &u, tile * p->width);
      else tiles_outputs(job, &u, tile * p->width, totals);
    }
  }
}

void ci_conv_tiles_run(const ci_conv_tiles_job *job) {
  const ci_conv_tiles *p = job->p;
  const ci_conv_geometry *g = p->g;
  if (p->packed == NULL && p->mode != CI_CONV_TILES_PIXELS) tiles_pack(p, job->k->isa->linear, job->w, job->k->scratch);
  ci_k_parallel(job->k, g->n * g->groups * tiles_slices_of(p) * p->strips * p->parts, p->grain, tiles_units,
                (void *)(uintptr_t)job);
}
#endif
