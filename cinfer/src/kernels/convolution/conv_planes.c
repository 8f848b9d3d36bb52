/* conv_planes.c - depthwise convolutions of float32 over one or two axes, channels first: 3 x 3 windows of a plane that
 * is read in place, or planes that are transposed, to be lanes.
 */
#include "conv_nd.h"

#include "../../simd/isa.h"
#include "../../simd/linear/isa_linear.h"
#if CI_HAS_CONVOLUTIONS

static bool planes_have_nines(const ci_nd *g) {
  const int64_t *s = g->stride, *d = g->dilation, *k = g->kernel;
  return g->rank == 2 && k[0] == 3 && k[1] == 3 && d[0] == 1 && d[1] == 1 && s[0] == s[1] && s[0] <= 2 &&
         g->before[1] <= 1;
}

static void planes_nines(const ci_conv_nd_job *job, int64_t plane, const float *x) {
  const ci_conv_nd *p = job->p;
  const ci_nd *g = &p->g.nd;
  const float *bias = (const float *)(const void *)job->bias;
  const int64_t channel = plane % p->g.c;
  const ci_depthwise planes = {.x = x,
                               .w = (const float *)(const void *)job->w + channel * g->taps,
                               .bias = bias == NULL ? NULL : bias + channel,
                               .y = (float *)(void *)job->y + plane * g->positions,
                               .height = g->size[0],
                               .width = g->size[1],
                               .above = g->before[0],
                               .before = g->before[1],
                               .rows = g->out[0],
                               .columns = g->out[1],
                               .stride = (int)g->stride[0],
                               .after = job->after};
  job->k->isa->linear->depthwise_3x3(&planes);
}

/* A part of planes as lanes, from where it begins, which may lie above or before them. */
static void planes_transpose(const ci_conv_nd *p, const struct ci_isa_linear *linear, const float *x, int64_t row,
                             int64_t column, int64_t count, float *to) {
  enum { lanes = CI_PLANE_LANES };
  const int64_t width = p->planes.plane.width, pitch = p->planes.pitch, area = p->g.nd.area;
  const int64_t low = ci_min(column < 0 ? -column : 0, pitch);
  const int64_t rest = width - column, high = rest < low ? low : ci_min(rest, pitch);
  for (int64_t end = row + p->planes.reach; row < end; row++, to += pitch * lanes) {
    const bool inside = row >= 0 && row < p->planes.plane.height;
    const int64_t left = inside ? low : pitch;
    memset(to, 0, (size_t)(left * lanes) * sizeof *to);
    if (!inside) continue;
    linear->transpose(to + low * lanes, lanes, x + row * width + column + low, (ptrdiff_t)area, count, high - low);
    memset(to + high * lanes, 0, (size_t)((pitch - high) * lanes) * sizeof *to);
  }
}

/* Some planes, CI_PLANE_LANES or fewer, part by part. */
static void planes_transposed(const ci_conv_nd_job *job, int64_t plane, int64_t count, const float *x, float *scratch) {
  enum { lanes = CI_PLANE_LANES };
  const ci_conv_nd *p = job->p;
  const ci_nd *g = &p->g.nd;
  const struct ci_isa_linear *linear = job->k->isa->linear;
  const int64_t channel = plane % p->g.c, rows = p->planes.windows.rows, columns = p->planes.windows.columns;
  float *weights = scratch + p->planes.numbers, *results = weights + g->taps * lanes;
  ci_windows windows = p->planes.windows;
  ci_conv_turn turn = {.c = results, .y_row = (ptrdiff_t)g->positions, .c_step = lanes, .lanes = (int)count};
  windows.x = scratch;
  windows.w = weights;
  windows.y = results;
  turn.bias = job->bias == NULL ? NULL : (const float *)(const void *)job->bias + channel;
  turn.after = job->after;
  if (count < lanes) memset(scratch, 0, (size_t)(p->planes.numbers + g->taps * lanes) * sizeof *scratch);
  linear->transpose(weights, lanes, (const float *)(const void *)job->w + channel * g->taps, (ptrdiff_t)g->taps, count,
                    g->taps);
  /* a part of a row's windows has one row */
  for (int64_t at = 0; at < rows * columns; at += turn.pixels) {
    const int64_t row = at / columns, column = at % columns;
    windows.rows = ci_min(p->planes.strip, rows - row);
    windows.columns = ci_min(p->planes.wide, columns - column);
    planes_transpose(p, linear, x, row * p->planes.down - p->planes.plane.above,
                     column * p->planes.right - p->planes.plane.before, count, scratch);
    linear->depthwise_transposed(&windows);
    turn.y = (float *)(void *)job->y + plane * g->positions + at;
    turn.pixels = windows.rows * windows.columns;
    linear->conv_turn(&turn);
    if (job->program != NULL) ci_fused_rows(job->program, turn.y, turn.y_row, plane, at, count, turn.pixels);
  }
}

int64_t ci_conv_planes_together(const ci_conv_nd *p) { return CI_LARGE && p->planes.nines ? 1 : CI_PLANE_LANES; }

void ci_conv_planes_some(const ci_conv_nd_job *job, int64_t plane, int64_t count, const float *x, float *scratch) {
  const ci_nd *g = &job->p->g.nd;
  const int64_t step = ci_conv_planes_together(job->p), positions = g->positions;
  for (int64_t end = plane + count; plane < end; plane += step, x += step * g->area) {
    if (!CI_LARGE || step > 1) {
      planes_transposed(job, plane, ci_min(step, end - plane), x, scratch);
      continue;
    }
    planes_nines(job, plane, x);
    if (job->program == NULL) continue;
    ci_fused_rows(job->program, (float *)(void *)job->y + plane * positions, (ptrdiff_t)positions, plane, 0, 1,
                  positions);
  }
}

static void planes_parts(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_conv_nd_job *job = argument;
  const ci_conv_nd *p = job->p;
  const int64_t together = ci_conv_planes_together(p), parts = ci_ceil_div(p->g.c, together);
  float *scratch = (float *)(void *)(job->scratch + (size_t)thread * p->tile_bytes);
  for (int64_t part = begin; part < end; part++) {
    const int64_t channel = part % parts * together, plane = part / parts * p->g.c + channel;
    ci_conv_planes_some(job, plane, ci_min(together, p->g.c - channel),
                        (const float *)(const void *)job->x + plane * p->g.nd.area, scratch);
  }
}

/* Parts whose numbers stay in the second-level cache: rows, or windows of one row. */
static bool planes_strips(ci_conv_nd *p) {
  enum { lanes = CI_PLANE_LANES, near = (1 << 16) / lanes, least = 14 };
  ci_windows *w = &p->planes.windows;
  const int64_t row = p->planes.plane.row, most = CI_CONV_ND_PADDED / lanes;
  const int64_t tall = (w->kh - 1) * (w->tap_down / row) + 1, broad = (w->kw - 1) * w->tap_right + 1;
  p->planes.down = w->x_down / row;
  p->planes.right = w->columns > 1 ? w->x_right : 0; /* of one window's stride nothing is read */
  const int64_t rest = near - tall * broad, fit = rest > 0 ? rest / (tall * p->planes.right + 1) + 1 : 1;
  p->planes.wide = ci_ceil_div(w->columns, ci_ceil_div(w->columns, fit < least ? least : fit)); /* of equal width */
  p->planes.pitch = (p->planes.wide - 1) * p->planes.right + broad;
  const int64_t first = tall * p->planes.pitch + p->planes.wide;
  if (first > most || p->g.nd.taps > most) return false;
  const int64_t rows = p->planes.wide == w->columns && first < near
                           ? (near - first) / (p->planes.down * p->planes.pitch + p->planes.wide) + 1
                           : 1;
  p->planes.strip = ci_ceil_div(w->rows, ci_ceil_div(w->rows, rows));
  p->planes.reach = (p->planes.strip - 1) * p->planes.down + tall;
  p->planes.numbers = (p->planes.reach * p->planes.pitch + CI_PLANE_SLACK * p->planes.right) * lanes;
  w->x_down = (ptrdiff_t)(p->planes.down * p->planes.pitch * lanes);
  w->x_right = (ptrdiff_t)(p->planes.right * lanes);
  w->tap_down = (ptrdiff_t)(w->tap_down / row * p->planes.pitch * lanes);
  w->tap_right *= lanes;
  const int64_t results = p->planes.strip * p->planes.wide + CI_WINDOWS_SLACK; /* see conv_turn */
  p->tile_bytes = ci_round_up((size_t)(p->planes.numbers + (p->g.nd.taps + results) * lanes) * sizeof(float), 64);
  return true;
}

bool ci_conv_planes_plan(ci_conv_nd *p) {
  if (!ci_plane_plan(&p->planes.plane, &p->g.nd, true, &p->planes.windows)) return false;
  p->planes.nines = CI_LARGE && planes_have_nines(&p->g.nd);
  if (!p->planes.nines) return (!CI_LARGE || p->g.c >= CI_PLANE_LANES / 2) && planes_strips(p);
  p->tile_bytes = 0;
  return true;
}

void ci_conv_planes_run(const ci_conv_nd_job *job) {
  const ci_conv_nd *p = job->p;
  const int64_t together = ci_conv_planes_together(p);
  const int64_t grain = CI_CONV_ND_PLANE_WORK / (p->g.nd.positions * p->g.nd.taps * together) + 1;
  ci_k_parallel(job->k, p->g.n * ci_ceil_div(p->g.c, together), grain, planes_parts, (void *)(uintptr_t)job);
}
#endif
