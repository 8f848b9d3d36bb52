/* rotary.c - RotaryEmbedding: rotates pairs of numbers of each head by an angle that depends on the position. */
#include "../normalization/normalize.h"
#if CI_HAS(attention)

enum { ROTARY_PART_WORK = 1 << 13 };

typedef struct rotary_plan {
  bool interleaved;
  size_t item;
  int64_t n, heads, length, size, half; /* half: pairs that are rotated */
  ptrdiff_t step[3];                    /* elements from image to image, head to head, position to position */
  int64_t rows, grain;
} rotary_plan;

/* Angles: (n, length, half), or (positions, half) with position_ids (n, length). */
static ci_status rotary_angles(ci_kernel *k, const rotary_plan *p) {
  const ci_value *positions = k->n_in > 3 ? k->in[3] : NULL;
  char found[160];
  for (int i = 1; i < 3; i++) {
    const ci_value *c = k->in[i];
    const bool fits = positions != NULL
                          ? c->rank == 2 && c->dims[1] == p->half && c->dims[0] == k->in[1]->dims[0]
                          : c->rank == 3 && c->dims[0] == p->n && c->dims[1] == p->length && c->dims[2] == p->half;
    if (fits) continue;
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s is %s, expected %s%lld]", i == 1 ? "cos_cache" : "sin_cache",
                     ci_value_describe(c, found, sizeof found), positions != NULL ? "[positions, " : "[n, length, ",
                     (long long)p->half);
  }
  if (positions == NULL || (positions->dtype == CI_INT64 && positions->rank == 2 && positions->dims[0] == p->n &&
                            positions->dims[1] == p->length)) {
    return CI_OK;
  }
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "position_ids is %s, expected int64[%lld,%lld]",
                   ci_value_describe(positions, found, sizeof found), (long long)p->n, (long long)p->length);
}

ci_status ci_prepare_rotary_embedding(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t interleaved, heads, rotary;
  char found[160];
  rotary_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_same_floats(k, 3));
  CI_TRY(ci_k_attr_i(k, "interleaved", 0, &interleaved));
  CI_TRY(ci_k_attr_i(k, "num_heads", 0, &heads));
  CI_TRY(ci_k_attr_i(k, "rotary_embedding_dim", 0, &rotary));
  const bool flat = x->rank == 3;
  if (x->rank == 4) heads = x->dims[1];
  if ((x->rank != 4 && !flat) || (flat && (heads < 1 || x->dims[2] % heads != 0))) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "x is %s and num_heads %lld, expected rank 4, or rank 3 whose last axis num_heads divides",
                     ci_value_describe(x, found, sizeof found), (long long)heads);
  }
  p->interleaved = interleaved != 0;
  p->item = ci_dtype_size(x->dtype);
  p->n = x->dims[0];
  p->heads = heads;
  p->length = x->dims[flat ? 1 : 2];
  p->size = flat ? x->dims[2] / heads : x->dims[3];
  if (rotary == 0) rotary = p->size;
  if (rotary < 0 || rotary % 2 != 0 || rotary > p->size) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "%lld numbers of a head are rotated, expected an even number up to its size, %lld",
                     (long long)rotary, (long long)p->size);
  }
  p->half = rotary / 2;
  CI_TRY(rotary_angles(k, p));
  CI_TRY(ci_k_out_like(k, 0, x->dtype, x));
  if (x->count == 0) return CI_OK;
  p->step[0] = (ptrdiff_t)(x->count / p->n);
  p->step[1] = (ptrdiff_t)(flat ? p->size : p->length * p->size);
  p->step[2] = (ptrdiff_t)(flat ? heads * p->size : p->size);
  p->rows = x->count / p->size;
  p->grain = p->size < ROTARY_PART_WORK ? ROTARY_PART_WORK / p->size : 1;
  return CI_OK;
}

/* One head at one position. */
#define ROTARY_ROW(T, name)                                                                               \
  static void rotary_row_##name(const rotary_plan *p, T *y, const T *x, const T *cosine, const T *sine) { \
    const int64_t step = p->interleaved ? 2 : 1, other = p->interleaved ? 1 : p->half;                    \
    for (int64_t i = 0; i < p->half; i++) {                                                               \
      const T a = x[i * step], b = x[i * step + other], c = cosine[i], s = sine[i];                       \
      const T ca = c * a, sb = s * b, sa = s * a, cb = c * b;                                             \
      y[i * step] = ca - sb;                                                                              \
      y[i * step + other] = sa + cb;                                                                      \
    }                                                                                                     \
    memcpy(y + 2 * p->half, x + 2 * p->half, (size_t)(p->size - 2 * p->half) * sizeof(T));                \
  }
ROTARY_ROW(float, f32)
ROTARY_ROW(double, f64)

/* Rows (n, heads, length) in this order. */
static void rotary_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const rotary_plan *p = k->private_memory;
  const int64_t *positions = k->n_in > 3 && k->in[3] != NULL ? k->in[3]->data : NULL;
  (void)thread;
  for (int64_t row = begin; row < end; row++) {
    const int64_t at = row % p->length, head = row / p->length % p->heads, n = row / p->length / p->heads;
    const int64_t position = positions != NULL ? positions[n * p->length + at] : n * p->length + at;
    const ptrdiff_t from = (ptrdiff_t)n * p->step[0] + (ptrdiff_t)head * p->step[1] + (ptrdiff_t)at * p->step[2];
    const ptrdiff_t angle = (ptrdiff_t)(position * p->half);
    if (p->item == sizeof(float)) {
      rotary_row_f32(p, (float *)k->out[0]->data + from, (const float *)k->in[0]->data + from,
                     (const float *)k->in[1]->data + angle, (const float *)k->in[2]->data + angle);
    } else {
      rotary_row_f64(p, (double *)k->out[0]->data + from, (const double *)k->in[0]->data + from,
                     (const double *)k->in[1]->data + angle, (const double *)k->in[2]->data + angle);
    }
  }
}

ci_status ci_run_rotary_embedding(ci_kernel *k) {
  const rotary_plan *p = k->private_memory;
  const ci_value *positions = k->n_in > 3 ? k->in[3] : NULL;
  for (int64_t i = 0; positions != NULL && i < positions->count; i++) {
    const int64_t position = ((const int64_t *)positions->data)[i];
    if (position >= 0 && position < k->in[1]->dims[0]) continue;
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "position_ids has %lld, which is outside [0, %lld)", (long long)position,
                     (long long)k->in[1]->dims[0]);
  }
  if (p->rows > 0) ci_k_parallel(k, p->rows, p->grain, rotary_part, k);
  return CI_OK;
}
#endif
