/* resize.c - Resize and its gradient: one pass along each axis that changes, with a table of taps (docs/numerics.md).
 */
#include <math.h>

#include "../shape/copy.h"
#include "../arithmetic/elementwise.h"
#include "../arithmetic/integers.h"
#include "../../simd/isa.h"
#include "../../simd/math/isa_move.h"
#include "../../math/scalar_math.h"

typedef enum resize_mode { RS_NEAREST, RS_LINEAR, RS_CUBIC } resize_mode;
enum { RS_MOST_TAPS = 1 << 20, RS_GRAIN = 1 << 16 /* bytes that are worth a thread */ };

typedef struct resize_axis { /* out: 0 taps where nothing changes */
  int64_t size, out, taps, first;
  double scale, exact, start, end, narrow;
  int64_t *index;
  double *weights;
  bool *outside;
  bool doubled; /* of nearest: each element twice */
} resize_axis;

typedef struct resize_plan {
  resize_mode mode;
  int64_t coordinates, nearest, policy, antialias, exclude;
  double cubic_a, extrapolation;
  int rank;
  bool transposed, any_outside;
  int order[CI_MAX_RANK], changes; /* axes in the order of the passes */
  resize_axis axis[CI_MAX_RANK];
  size_t buffer; /* bytes of each of two buffers */
} resize_plan;

/* ---- attributes ---- */

static ci_status resize_word(ci_kernel *k, const char *name, const char *const *words, int64_t *number) {
  ci_span found;
  CI_TRY(ci_k_attr_s(k, name, words[0], &found));
  for (*number = 0; words[*number] != NULL; ++*number) {
    if (ci_span_is(found, words[*number])) return CI_OK;
  }
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute %s is '%.*s', expected '%s' or another of its values", name,
                   (int)(found.length < 40 ? found.length : 40), found.data, words[0]);
}

enum { RS_HALF_PIXEL, RS_SYMMETRIC, RS_PYTORCH, RS_ALIGN_CORNERS, RS_ASYMMETRIC, RS_CROP };
static const char *const resize_modes[] = {"nearest", "linear", "cubic", NULL};
static const char *const resize_coordinates[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize",
    NULL};
static const char *const resize_nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
static const char *const resize_policies[] = {"stretch", "not_larger", "not_smaller", NULL};

static ci_status resize_attributes(ci_kernel *k, resize_plan *p) {
  int64_t mode;
  CI_TRY(resize_word(k, "mode", resize_modes, &mode));
  p->mode = mode == 0 ? RS_NEAREST : mode == 1 ? RS_LINEAR : RS_CUBIC;
  CI_TRY(resize_word(k, "coordinate_transformation_mode", resize_coordinates, &p->coordinates));
  CI_TRY(resize_word(k, "nearest_mode", resize_nearest, &p->nearest));
  CI_TRY(resize_word(k, "keep_aspect_ratio_policy", resize_policies, &p->policy));
  CI_TRY(ci_k_attr_i(k, "antialias", 0, &p->antialias));
  CI_TRY(ci_k_attr_i(k, "exclude_outside", 0, &p->exclude));
  CI_TRY(ci_k_attr_f(k, "cubic_coeff_a", -0.75, &p->cubic_a));
  return ci_k_attr_f(k, "extrapolation_value", 0.0, &p->extrapolation);
}

static ci_status resize_axes(ci_kernel *k, int rank, int *axes, int *count) {
  const int64_t *given = NULL;
  int found = -1;
  bool seen[CI_MAX_RANK] = {false};
  CI_TRY(ci_k_attr_ints(k, "axes", &given, &found));
  if (found > rank) return ci_k_fail(k, CI_INVALID_ARGUMENT, "%d axes for an input of rank %d", found, rank);
  *count = found < 0 ? rank : found;
  for (int i = 0; i < *count; i++) {
    axes[i] = i;
    if (found >= 0) CI_TRY(ci_k_axis(k, given[i], rank, &axes[i]));
    if (seen[axes[i]]) return ci_k_fail(k, CI_INVALID_ARGUMENT, "axes name axis %d twice", axes[i]);
    seen[axes[i]] = true;
  }
  return CI_OK;
}

/* ---- sizes, from the inputs roi, scales, sizes that start at input `at` ---- */

static const ci_value *resize_input(const ci_kernel *k, int i) {
  return i < k->n_in && k->in[i] != NULL && k->in[i]->count > 0 ? k->in[i] : NULL;
}

static double resize_number(const ci_value *v, int64_t i) {
  if (v->dtype == CI_FLOAT) return (double)((const float *)v->data)[i];
  return v->dtype == CI_DOUBLE ? ((const double *)v->data)[i] : (double)ci_read_integer(v, i);
}

/* A vector of `count` known numbers, float or (integers) integer. */
static ci_status resize_vector(ci_kernel *k, int i, const char *name, bool whole, int count) {
  const ci_value *v = k->in[i];
  const bool type =
      whole ? v->dtype == CI_INT64 || v->dtype == CI_INT32 : v->dtype == CI_FLOAT || v->dtype == CI_DOUBLE;
  if (!type || v->rank != 1 || v->count != count) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s has %lld numbers of type %s, expected %d %s", name,
                     (long long)v->count, ci_dtype_name(v->dtype), count, whole ? "integers" : "floats");
  }
  return ci_k_known(k, i) ? CI_OK : CI_PENDING;
}

static ci_status resize_sizes(ci_kernel *k, resize_plan *p, int at, const int *axes, int count) {
  const ci_value *roi = resize_input(k, at), *scales = resize_input(k, at + 1), *sizes = resize_input(k, at + 2);
  double common = -1.0;
  if ((scales != NULL) == (sizes != NULL) && count > 0) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "expected scales or sizes, %d numbers, and not both", count);
  }
  if (scales != NULL) CI_TRY(resize_vector(k, at + 1, "scales", false, count));
  if (sizes != NULL) CI_TRY(resize_vector(k, at + 2, "sizes", true, count));
  const bool crop = p->coordinates == RS_CROP;
  if (crop && roi == NULL) return ci_k_fail(k, CI_INVALID_ARGUMENT, "roi is absent, tf_crop_and_resize needs it");
  if (crop) CI_TRY(resize_vector(k, at, "roi", false, 2 * count));
  for (int i = 0; i < count; i++) {
    resize_axis *a = &p->axis[axes[i]];
    if (crop) a->start = resize_number(roi, i), a->end = resize_number(roi, i + count);
    if (sizes != NULL) {
      a->exact = resize_number(sizes, i);
      a->scale = a->size > 0 ? a->exact / (double)a->size : 1.0;
      if (i == 0 || (p->policy == 1 ? a->scale < common : a->scale > common)) common = a->scale;
    } else {
      a->scale = (double)(float)resize_number(scales, i);
      const float exact = (float)a->size * (float)a->scale;
      a->exact = (double)exact;
      if (!(a->scale > 0.0)) a->exact = -1.0;
    }
  }
  for (int i = 0; i < count; i++) {
    resize_axis *a = &p->axis[axes[i]];
    double out = ci_floor(a->exact);
    if (sizes != NULL && p->policy != 0) {
      a->scale = common;
      a->exact = common * (double)a->size;
      out = ci_floor(a->exact + 0.5);
    }
    if (!(out >= 0.0 && out < 2147483648.0) || (out > 0.0 && a->size == 0)) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "axis %d of size %lld cannot be resized: scales or sizes ask for %g",
                       axes[i], (long long)a->size, out);
    }
    a->out = (int64_t)out;
  }
  return CI_OK;
}

/* ---- tables ---- */

static ci_status resize_taps(ci_kernel *k, const resize_plan *p, resize_axis *a) {
  const bool crop = p->coordinates == RS_CROP;
  a->taps = 0;
  if (a->out == a->size && a->scale == 1.0 && (!crop || (a->start == 0.0 && a->end == 1.0))) return CI_OK;
  a->taps = 1;
  if (p->mode == RS_NEAREST) return CI_OK;
  const double reach = p->mode == RS_LINEAR ? 1.0 : 2.0;
  a->narrow = p->antialias != 0 && a->scale < 1.0 ? a->scale : 1.0;
  const double first = ci_floor(-reach / a->narrow) + 1.0, taps = 2.0 - 2.0 * first;
  if (!(taps < (double)RS_MOST_TAPS && taps <= 4.0 * (double)a->size + 64.0)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the scale %g of an axis of size %lld is too small", a->scale,
                     (long long)a->size);
  }
  a->first = (int64_t)first;
  a->taps = (int64_t)taps;
  return CI_OK;
}

/* A float32 scale of 2.2 is a little more, and 11 / 2.2 a little less than 5: nearest takes the float32 next to it, as
 * long as those are dense. */
static double resize_rounded(const resize_plan *p, double found) {
  return p->mode == RS_NEAREST && found < 4194304.0 ? (double)(float)found : found;
}

static double resize_origin(const resize_plan *p, const resize_axis *a, int64_t i) {
  const double at = (double)i, side = (double)(a->size - 1);
  switch (p->coordinates) {
    case RS_ALIGN_CORNERS: return a->exact == 1.0 ? 0.0 : resize_rounded(p, at * side / (a->exact - 1.0));
    case RS_ASYMMETRIC: return resize_rounded(p, at / a->scale);
    case RS_CROP:
      if (a->exact == 1.0) return 0.5 * (a->start + a->end) * side;
      return a->start * side + at * (a->end - a->start) * side / (a->exact - 1.0);
    case RS_PYTORCH:
      if (a->exact == 1.0) return 0.0;
      break;
    default: break;
  }
  const double offset =
      p->coordinates == RS_SYMMETRIC ? (double)a->size / 2.0 * (1.0 - (double)a->out / a->exact) : 0.0;
  return resize_rounded(p, offset + (at + 0.5) / a->scale) - 0.5;
}

static double resize_weight(const resize_plan *p, double x) {
  const double a = p->cubic_a;
  x = fabs(x);
  if (p->mode == RS_LINEAR) return x < 1.0 ? 1.0 - x : 0.0;
  if (x <= 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  return x < 2.0 ? ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a : 0.0;
}

static int64_t resize_clip(int64_t i, int64_t size) { return i < 0 || size == 0 ? 0 : i < size ? i : size - 1; }

static void resize_table(const resize_plan *p, const resize_axis *a, int64_t i) {
  const double x = resize_origin(p, a, i);
  double base = ci_ceil(x) - 1.0, sum = 0.0;
  a->outside[i] = p->coordinates == RS_CROP && !(x >= 0.0 && x <= (double)(a->size - 1));
  if (!(base > -2147483648.0)) base = -2147483648.0;
  if (base > 2147483648.0) base = 2147483648.0;
  const double ratio = x - base; /* in (0, 1] */
  int64_t *index = a->index + i * a->taps;
  double *weights = a->weights + i * a->taps;
  if (p->mode == RS_NEAREST) {
    const bool up = p->nearest == 0   ? ratio > 0.5
                    : p->nearest == 1 ? ratio >= 0.5
                    : p->nearest == 2 ? ratio >= 1.0
                                      : ratio > 0.0;
    index[0] = resize_clip((int64_t)base + up, a->size);
    weights[0] = 1.0;
    return;
  }
  for (int64_t t = 0; t < a->taps; t++) {
    const int64_t at = (int64_t)base + a->first + t;
    weights[t] = resize_weight(p, ((double)(a->first + t) - ratio) * a->narrow);
    if (p->exclude != 0 && (at < 0 || at >= a->size)) weights[t] = 0.0;
    index[t] = resize_clip(at, a->size);
    sum = sum + weights[t];
  }
  for (int64_t t = 0; t < a->taps && (p->exclude != 0 || p->antialias != 0); t++) weights[t] = weights[t] / sum;
}

static bool resize_table_bytes(const resize_axis *a, size_t *bytes) {
  size_t weight_count, more;
  return ci_mul_size((uint64_t)a->out, (uint64_t)a->taps, &weight_count) &&
         ci_mul_size(weight_count, 16, &weight_count) &&
         ci_add_size(weight_count, ci_round_up((size_t)a->out, 8), &more) && ci_add_size(*bytes, more, bytes) &&
         *bytes < PTRDIFF_MAX / 4;
}

static bool resize_is_empty(const resize_plan *p) {
  bool empty = false;
  for (int i = 0; i < p->rank; i++) empty |= p->axis[i].size == 0 || p->axis[i].out == 0;
  return empty;
}

/* The tables follow the plan in its memory; the passes' buffers hold the largest stage. */
static ci_status resize_layout(ci_kernel *k, resize_plan *head) {
  size_t bytes = sizeof *head, largest = 0;
  for (int i = 0; i < head->rank && !resize_is_empty(head); i++) { /* else nothing is read, whatever the other sizes */
    CI_TRY(resize_taps(k, head, &head->axis[i]));
    if (!resize_table_bytes(&head->axis[i], &bytes))
      return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "axis %d is too large", i);
    if (head->axis[i].taps > 0) head->order[head->changes++] = i;
  }
  const bool stages = (head->mode != RS_NEAREST || head->transposed) && !resize_is_empty(head);
  for (int pass = stages ? -1 : head->changes; pass < head->changes; pass++) { /* sizes after each pass */
    size_t stage = sizeof(double);
    for (int i = 0; i < head->rank; i++) {
      bool done = head->axis[i].taps == 0;
      for (int q = 0; q <= pass; q++) done |= head->order[q] == i;
      if (!ci_mul_size(stage, (uint64_t)(done ? head->axis[i].out : head->axis[i].size), &stage)) stage = SIZE_MAX;
    }
    if (stage > PTRDIFF_MAX / 4) return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "the resized input is too large");
    largest = stage > largest ? stage : largest;
  }
  head->buffer = ci_round_up(largest, 64);
  k->scratch_bytes = 2 * head->buffer;
  resize_plan *p = ci_k_private(k, bytes);
  if (p == NULL) return ci_k_no_memory(k);
  *p = *head;
  char *memory = (char *)(p + 1);
  for (int i = 0; i < p->rank; i++) {
    resize_axis *a = &p->axis[i];
    const int64_t weight_count = a->taps * a->out;
    a->index = (int64_t *)(void *)memory;
    a->weights = (double *)(void *)(memory + weight_count * 8);
    a->outside = (bool *)(void *)(memory + weight_count * 16);
    memory += (size_t)weight_count * 16 + (a->taps > 0 ? ci_round_up((size_t)a->out, 8) : 0);
    for (int64_t o = 0; o < a->out && a->taps > 0; o++) {
      resize_table(p, a, o);
      p->any_outside |= a->outside[o];
    }
    a->doubled = a->taps == 1 && a->out == 2 * a->size;
    for (int64_t o = 0; o < a->out && a->doubled; o++) a->doubled = a->index[o] == o / 2;
  }
  return CI_OK;
}

static ci_status resize_plan_make(ci_kernel *k, resize_plan *p, const int64_t *dims, int rank, int at) {
  int axes[CI_MAX_RANK] = {0}, count = 0;
  CI_TRY(resize_attributes(k, p));
  CI_TRY(resize_axes(k, rank, axes, &count));
  p->rank = rank;
  for (int i = 0; i < rank; i++) p->axis[i] = (resize_axis){.size = dims[i], .out = dims[i], .scale = 1.0, .end = 1.0};
  return resize_sizes(k, p, at, axes, count);
}

ci_status ci_prepare_resize(ci_kernel *k) {
  const ci_value *x = k->in[0];
  resize_plan plan = {.transposed = false};
  int64_t dims[CI_MAX_RANK];
  if (x->dtype != CI_FLOAT && x->dtype != CI_DOUBLE && !ci_is_integer(x->dtype)) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "there is no kernel for %s, only for numbers", ci_dtype_name(x->dtype));
  }
  CI_TRY(resize_plan_make(k, &plan, x->dims, x->rank, 1));
  for (int i = 0; i < x->rank; i++) dims[i] = plan.axis[i].out;
  CI_TRY(ci_k_out(k, 0, x->dtype, x->rank, dims));
  return resize_layout(k, &plan);
}

ci_status ci_prepare_resize_grad(ci_kernel *k) {
  const ci_value *dy = k->in[1];
  resize_plan plan = {.transposed = true};
  int64_t dims[CI_MAX_RANK];
  int rank = 0;
  char str[160];
  if (dy->dtype != CI_FLOAT && dy->dtype != CI_DOUBLE) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "there is no kernel for %s, only for floats", ci_dtype_name(dy->dtype));
  }
  CI_TRY(ci_k_known_ints(k, 0, dims, CI_MAX_RANK, &rank));
  CI_TRY(ci_k_out(k, 0, dy->dtype, rank, dims));
  CI_TRY(resize_plan_make(k, &plan, dims, rank, 2));
  bool same = dy->rank == rank;
  for (int i = 0; i < rank && same; i++) same = dy->dims[i] == plan.axis[i].out;
  if (!same) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "dy is %s, expected another shape from x_shape and the sizes",
                     ci_value_describe(dy, str, sizeof str));
  }
  return resize_layout(k, &plan);
}

/* ---- passes: [outer, size, inner] -> [outer, out, inner], or back ---- */

typedef struct resize_pass {
  const resize_axis *a;
  const double *from;
  double *to;
  int64_t inner;
} resize_pass;

/* The sums of one line. */
CI_FAST static void resize_line(double *y, const double *x, const resize_axis *a, int64_t begin, int64_t end) {
  const int64_t *index = a->index;
  const double *weights = a->weights;
  if (a->taps == 2) {
    for (int64_t o = begin; o < end; o++) {
      const double first = x[index[2 * o]] * weights[2 * o], second = x[index[2 * o + 1]] * weights[2 * o + 1];
      const double sum = 0.0 + first;
      y[o] = sum + second;
    }
    return;
  }
  for (int64_t o = begin; o < end; o++) {
    double sum = 0.0;
    for (int64_t t = o * a->taps; t < (o + 1) * a->taps; t++) sum = sum + x[index[t]] * weights[t];
    y[o] = sum;
  }
}

/* The sums of `inner` lines side by side, for one index of the axis; `rows` begins at index 0 of them. */
CI_FAST static void resize_row(double *y, const double *rows, const resize_axis *a, int64_t o, int64_t inner) {
  const int64_t *index = a->index + o * a->taps;
  const double *weights = a->weights + o * a->taps;
  int64_t t = 0;
  for (int64_t c = 0; c < inner && a->taps < 2; c++) y[c] = 0.0;
  if (a->taps >= 2) {
    const double *x = rows + index[0] * inner, *z = rows + index[1] * inner, w = weights[0], v = weights[1];
    for (int64_t c = 0; c < inner; c++) {
      const double first = 0.0 + x[c] * w, second = z[c] * v;
      y[c] = first + second;
    }
    t = 2;
  }
  for (; t < a->taps; t++) {
    const double *x = rows + index[t] * inner, w = weights[t];
    for (int64_t c = 0; c < inner; c++) y[c] = y[c] + x[c] * w;
  }
}

/* The indices from `begin` to `end` of [outer, out]. */
static void resize_sums(void *argument, int64_t begin, int64_t end, int thread) {
  const resize_pass *s = argument;
  const resize_axis *a = s->a;
  (void)thread;
  for (int64_t i = begin; i < end;) {
    const int64_t outer = i / a->out, o = i % a->out, last = a->out - o < end - i ? a->out : o + (end - i);
    double *to = s->to + outer * a->out * s->inner;
    const double *from = s->from + outer * a->size * s->inner;
    if (s->inner == 1) resize_line(to, from, a, o, last);
    for (int64_t position = o; position < last && s->inner != 1; position++)
      resize_row(to + position * s->inner, from, a, position, s->inner);
    i += last - o;
  }
}

static void resize_spreads(void *argument, int64_t begin, int64_t end, int thread) {
  const resize_pass *s = argument;
  const resize_axis *a = s->a;
  (void)thread;
  for (int64_t outer = begin; outer < end; outer++) {
    double *x = s->to + outer * a->size * s->inner;
    const double *y = s->from + outer * a->out * s->inner;
    for (int64_t c = 0; c < a->size * s->inner; c++) x[c] = 0.0;
    for (int64_t o = 0; o < a->out; o++, y += s->inner) {
      for (int64_t t = 0; t < a->taps; t++) {
        const double w = a->weights[o * a->taps + t];
        double *row = x + a->index[o * a->taps + t] * s->inner;
        for (int64_t c = 0; c < s->inner; c++) row[c] = row[c] + y[c] * w;
      }
    }
  }
}

/* Integers are cut towards 0 and kept in their range; NaN is 0. */
static void resize_store(const ci_value *v, int64_t i, double x) {
  const size_t item = ci_dtype_size(v->dtype);
  void *to = (char *)v->data + (size_t)i * item;
  if (v->dtype == CI_FLOAT) {
    ((float *)v->data)[i] = (float)x;
    return;
  }
  if (v->dtype == CI_DOUBLE) {
    ((double *)v->data)[i] = x;
    return;
  }
  const bool negative = v->dtype == CI_INT8 || v->dtype == CI_INT16 || v->dtype == CI_INT32 || v->dtype == CI_INT64;
  const int bits = (int)item * 8 - negative;
  const uint64_t most = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
  uint64_t whole;
  if (!(fabs(x) >= 1.0) || (x < 0.0 && !negative)) {
    whole = 0;
  } else if (x < 0.0) {
    whole = -x >= (double)most ? ~most : (uint64_t)0 - (uint64_t)-x;
  } else {
    whole = x >= (double)most ? most : (uint64_t)x;
  }
  switch (item) {
    case 1: *(uint8_t *)to = (uint8_t)whole; break;
    case 2: *(uint16_t *)to = (uint16_t)whole; break;
    case 4: *(uint32_t *)to = (uint32_t)whole; break;
    default: *(uint64_t *)to = whole; break;
  }
}

/* Whether an element of the resized tensor is outside of the image on some axis. */
static bool resize_is_outside(const resize_plan *p, int64_t i) {
  for (int axis = p->rank - 1; axis >= 0; axis--) {
    const resize_axis *a = &p->axis[axis];
    if (a->taps > 0 && a->outside[i % a->out]) return true;
    i /= a->out;
  }
  return false;
}

/* One pass from `from` into `to`; shape is the input's, and becomes the output's. */
static void resize_step(ci_kernel *k, const resize_plan *p, int axis, int64_t *shape, const double *from, double *to) {
  const resize_axis *a = &p->axis[axis];
  resize_pass pass = {a, from, to, ci_shape_count(shape, axis + 1, p->rank)};
  const int64_t outer = ci_shape_count(shape, 0, axis);
  const int64_t work = pass.inner * a->taps * (p->transposed ? a->out : 1);
  shape[axis] = p->transposed ? a->size : a->out;
  ci_k_parallel(k, p->transposed ? outer : outer * a->out, (1 << 15) / (work > 0 ? work : 1) + 1,
                p->transposed ? resize_spreads : resize_sums, &pass);
}

static void resize_passes(ci_kernel *k, const resize_plan *p, const ci_value *x) {
  const ci_value *y = k->out[0];
  double *const buffers[2] = {k->scratch, (double *)(void *)((char *)k->scratch + p->buffer)};
  double *now = buffers[0];
  int64_t shape[CI_MAX_RANK];
  for (int i = 0; i < p->rank; i++) shape[i] = x->dims[i];
  ci_cast_find(k->isa, x->dtype, CI_DOUBLE)(now, x->data, x->count);
  for (int64_t i = 0; i < x->count && p->transposed && p->any_outside; i++) {
    if (resize_is_outside(p, i)) now[i] = 0.0;
  }
  for (int i = 0; i < p->changes; i++) {
    double *to = buffers[now == buffers[0]];
    resize_step(k, p, p->order[p->transposed ? p->changes - 1 - i : i], shape, now, to);
    now = to;
  }
  if (y->dtype == CI_FLOAT || y->dtype == CI_DOUBLE) {
    ci_cast_find(k->isa, CI_DOUBLE, y->dtype)(y->data, now, y->count);
  } else {
    for (int64_t i = 0; i < y->count; i++) resize_store(y, i, now[i]);
  }
}

/* ---- nearest: elements move, once ---- */

typedef struct resize_moves { /* lines of the innermost axis that changes, with all that is inside it */
  const resize_plan *p;
  const struct ci_isa *isa;
  const char *from;
  char *to;
  int inner; /* that axis */
  size_t item, row; /* bytes of an element and of all inside an index of the axis */
  size_t stride[CI_MAX_RANK]; /* bytes of an index of the axes outside, in the input */
} resize_moves;

/* Elements of one line; those of a doubled one come in pairs. */
#define RESIZE_PICK(T)                                                                    \
  {                                                                                       \
    const T *x = (const T *)(const void *)from;                                           \
    T *restrict y = (T *)(void *)to;                                                      \
    int64_t o = begin;                                                                    \
    if (doubled) {                                                                        \
      for (int64_t i = begin / 2; i < end / 2; i++) y[2 * i] = x[i], y[2 * i + 1] = x[i]; \
      o = end / 2 * 2;                                                                    \
    }                                                                                     \
    for (; o < end; o++) y[o] = x[index[o]];                                              \
  }

CI_FAST static void resize_pick(const resize_moves *m, char *to, const char *from, int64_t begin, int64_t end) {
  const resize_axis *a = &m->p->axis[m->inner];
  const int64_t *index = a->index;
  const bool doubled = a->doubled && begin % 2 == 0;
  switch (m->item) {
    case 1: RESIZE_PICK(uint8_t); break;
    case 2: RESIZE_PICK(uint16_t); break;
    case 4:
      if (doubled && end % 2 == 0) m->isa->move->twice(to + begin * 4, from + begin * 2, (end - begin) / 2);
      else RESIZE_PICK(uint32_t);
      break;
    default: RESIZE_PICK(uint64_t); break;
  }
}

typedef struct resize_position { /* a line on its way through the output */
  int64_t at[CI_MAX_RANK];
  size_t source; /* where it begins in the input */
} resize_position;

static int64_t resize_index(const resize_axis *a, int64_t at) { return a->taps > 0 ? a->index[at] : at; }

/* `line` of [.. i]: its index along axis i, then those of the axes outside of it. */
static void resize_goto(const resize_moves *m, resize_position *w, int64_t line) {
  w->source = 0;
  for (int i = m->inner - 1; i >= 0; i--) {
    const resize_axis *a = &m->p->axis[i];
    w->at[i] = line % a->out;
    w->source += (size_t)resize_index(a, w->at[i]) * m->stride[i];
    line /= a->out;
  }
}

static void resize_next(const resize_moves *m, resize_position *w) {
  for (int i = m->inner - 1; i >= 0; i--) {
    const resize_axis *a = &m->p->axis[i];
    const int64_t was = resize_index(a, w->at[i]);
    w->at[i] = w->at[i] + 1 < a->out ? w->at[i] + 1 : 0;
    const int64_t now = resize_index(a, w->at[i]);
    w->source += (size_t)(now - was) * m->stride[i]; /* wraps where it goes back */
    if (w->at[i] > 0) return;
  }
}

/* Goes to the last of `most` lines that follow and are the same; gives how many that were. */
static int64_t resize_same(const resize_moves *m, resize_position *w, int64_t most) {
  const int axis = m->inner - 1;
  int64_t same = 0;
  if (axis < 0 || m->p->axis[axis].taps == 0) return 0;
  const int64_t *index = m->p->axis[axis].index + w->at[axis];
  const int64_t left = m->p->axis[axis].out - 1 - w->at[axis];
  if (most > left) most = left;
  while (same < most && index[same + 1] == index[0]) same++;
  w->at[axis] += same;
  return same;
}

/* The indices from `begin` to `end` of [lines, out]. Complete lines are copied to those after them. */
static void resize_copies(void *argument, int64_t begin, int64_t end, int thread) {
  const resize_moves *m = argument;
  const resize_axis *a = &m->p->axis[m->inner];
  const struct ci_isa_move *move = m->isa->move;
  resize_position w;
  (void)thread;
  resize_goto(m, &w, begin / a->out);
  int64_t o = begin % a->out;
  for (int64_t i = begin - o; i < end; i += a->out, o = 0, resize_next(m, &w)) {
    const int64_t last = a->out < end - i ? a->out : end - i;
    const size_t line = (size_t)a->out * m->row;
    const char *from = m->from + w.source;
    char *to = m->to + (size_t)i * m->row;
    if (m->row == m->item) resize_pick(m, to, from, o, last);
    for (int64_t position = o; position < last && m->row != m->item; position++)
      move->runs(to + (size_t)position * m->row, 0, from + (size_t)a->index[position] * m->row, 0, 1, m->row);
    if (o > 0 || last < a->out) continue;
    const int64_t same = resize_same(m, &w, (end - i) / a->out - 1);
    move->runs(to + line, (ptrdiff_t)line, to, 0, same, line);
    i += same * a->out;
  }
}

static void resize_move(ci_kernel *k, const resize_plan *p) {
  const ci_value *x = k->in[0], *y = k->out[0];
  resize_moves m = {p, k->isa, x->data, y->data, .inner = p->rank - 1, .item = ci_dtype_size(y->dtype)};
  while (m.inner > 0 && p->axis[m.inner].taps == 0) m.inner--;
  m.row = m.item * (size_t)ci_shape_count(y->dims, m.inner + 1, y->rank);
  size_t bytes = m.row * (size_t)x->dims[m.inner];
  for (int i = m.inner - 1; i >= 0; bytes *= (size_t)x->dims[i--]) m.stride[i] = bytes;
  const int64_t positions = ci_shape_count(y->dims, 0, m.inner + 1), grain = RS_GRAIN / (int64_t)m.row + 1;
  if (p->any_outside) { /* the elements there may be any NaN */
    ci_k_parallel(k, positions, grain, resize_copies, &m);
  } else {
    ci_k_repeats(k, x);
    ci_k_parallel_rows(k, positions, grain, resize_copies, &m);
  }
}

static ci_status resize_run(ci_kernel *k, const ci_value *x) {
  const resize_plan *p = k->private_memory;
  const ci_value *y = k->out[0];
  if (y->count == 0) return CI_OK;
  if (x->count == 0) {
    memset(y->data, 0, y->bytes); /* the gradient of an empty result */
    return CI_OK;
  }
  if (p->mode != RS_NEAREST || p->transposed) resize_passes(k, p, x);
  else if (p->changes > 0) resize_move(k, p);
  else memcpy(y->data, x->data, y->bytes);
  for (int64_t i = 0; i < y->count && p->any_outside && !p->transposed; i++) {
    if (resize_is_outside(p, i)) resize_store(y, i, p->extrapolation);
  }
  return CI_OK;
}

ci_status ci_run_resize(ci_kernel *k) { return resize_run(k, k->in[0]); }
ci_status ci_run_resize_grad(ci_kernel *k) { return resize_run(k, k->in[1]); }
