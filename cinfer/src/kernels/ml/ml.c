/* ml.c - IndexOf (elements looked up among keys) and PairwiseCoupling (probabilities of classes from those of pairs).
 */
#include <math.h>

#include "../../plan/pack.h"
#include "../selection/order.h"

/* ---- IndexOf: keys sorted once, then halved for each element ---- */

struct index_plan {
  int64_t n;
  /* n indices in ascending order of keys, then (of numbers) n keys in that order; NULL: in scratch */
  const char *memory;
  size_t bytes;
};

/* The keys as both are compared: numbers are unsigned integers. */
struct index_keys {
  const int64_t *order;
  const uint64_t *numbers;
  const ci_string *strings;
};

static struct index_keys index_keys_in(const ci_value *keys, const char *memory) {
  const int64_t *order = (const int64_t *)(const void *)memory;
  const bool strings = keys->dtype == CI_STRING;
  return (struct index_keys){.order = order,
                             .numbers = strings ? NULL : (const uint64_t *)(const void *)(order + keys->count),
                             .strings = strings ? keys->data : NULL};
}

static int index_strings(const ci_string *a, const ci_string *b) {
  const size_t shorter = a->length < b->length ? a->length : b->length;
  const int order = shorter > 0 ? memcmp(a->data, b->data, shorter) : 0;
  return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

/* Whether the key at index a comes after the one at index b; equal ones stay in their order. */
static bool index_after(const struct index_keys *keys, int64_t a, int64_t b) {
  const int order = keys->strings != NULL
                        ? index_strings(&keys->strings[a], &keys->strings[b])
                        : (keys->numbers[a] > keys->numbers[b]) - (keys->numbers[a] < keys->numbers[b]);
  return order != 0 ? order > 0 : a > b;
}

static void index_sink(const struct index_keys *keys, int64_t *heap, int64_t size, int64_t at) {
  const int64_t entry = heap[at];
  for (int64_t child; (child = 2 * at + 1) < size; at = child) {
    if (child + 1 < size && index_after(keys, heap[child + 1], heap[child])) child++;
    if (!index_after(keys, heap[child], entry)) break;
    heap[at] = heap[child];
  }
  heap[at] = entry;
}

static void index_fill(void *to, const ci_value *value, const void *argument) {
  int64_t *order = to;
  const int64_t n = value->count;
  (void)argument;
  if (value->dtype != CI_STRING) (void)ci_order_keys(value, 0, 1, n, (uint64_t *)to + n);
  const struct index_keys keys = index_keys_in(value, to);
  for (int64_t i = 0; i < n; i++) order[i] = i;
  for (int64_t i = n / 2; i-- > 0;) index_sink(&keys, order, n, i);
  for (int64_t i = n; i-- > 1;) {
    const int64_t last = order[0];
    order[0] = order[i];
    order[i] = last;
    index_sink(&keys, order, i, 0);
  }
}

ci_status ci_prepare_index_of(ci_kernel *k) {
  const ci_value *x = k->in[0], *keys = k->in[1];
  char str[128];
  if (x->dtype != CI_STRING && (x->dtype == CI_FLOAT16 || x->dtype == CI_BFLOAT16 ||
                                !ci_order_keys(&(ci_value){.dtype = x->dtype}, 0, 0, 0, NULL))) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "x has type %s, for which this operator has no kernel",
                     ci_dtype_name(x->dtype));
  }
  if (keys->dtype != x->dtype || keys->rank != 1) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "keys is %s, expected a vector of %s",
                     ci_value_describe(keys, str, sizeof str), ci_dtype_name(x->dtype));
  }
  struct index_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->n = keys->count;
  if (!ci_mul_size((uint64_t)p->n, x->dtype == CI_STRING ? 8 : 16, &p->bytes)) return ci_k_no_memory(k);
  if (p->n > 0) p->memory = ci_k_packed(k, 1, CI_PACK_SORTED, 0, p->bytes, index_fill, NULL);
  if (p->memory == NULL) k->scratch_bytes = p->bytes;
  return ci_k_out_like(k, 0, CI_INT64, x);
}

static bool index_is_nan(const ci_value *x, int64_t i) {
  const float *narrow = x->data;
  const double *wide = x->data;
  return x->dtype == CI_FLOAT ? narrow[i] != narrow[i] : x->dtype == CI_DOUBLE && wide[i] != wide[i];
}

struct index_run {
  const ci_value *x;
  struct index_keys keys;
  int64_t n;
  int64_t *y;
};

static void index_part(void *argument, int64_t begin, int64_t end, int thread) {
  const struct index_run *r = argument;
  const ci_string *strings = r->x->data;
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    int64_t low = 0, high = r->n;
    uint64_t number = 0;
    if (r->keys.strings == NULL) (void)ci_order_keys(r->x, i, 1, 1, &number);
    while (low < high) { /* the first key that is not below */
      const int64_t middle = low + (high - low) / 2, position = r->keys.order[middle];
      const bool below = r->keys.strings != NULL ? index_strings(&r->keys.strings[position], &strings[i]) < 0
                                                 : r->keys.numbers[position] < number;
      if (below) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const int64_t position = low < r->n ? r->keys.order[low] : -1;
    const bool there =
        position >= 0 && (r->keys.strings != NULL ? index_strings(&r->keys.strings[position], &strings[i]) == 0
                                                  : r->keys.numbers[position] == number);
    r->y[i] = there && !index_is_nan(r->x, i) ? position : -1;
  }
}

ci_status ci_run_index_of(ci_kernel *k) {
  const struct index_plan *p = k->private_memory;
  struct index_run r = {.x = k->in[0], .n = p->n, .y = k->out[0]->data};
  const char *memory = p->memory;
  if (p->n > 0) {
    if (memory == NULL) {
      index_fill(k->scratch, k->in[1], NULL);
      memory = k->scratch;
    }
    r.keys = index_keys_in(k->in[1], memory);
  }
  ci_k_parallel(k, r.x->count, 1 << 12, index_part, &r);
  return CI_OK;
}

/* ---- PairwiseCoupling: in double, row by row; scratch holds Q, Q p and p of each thread ---- */

struct coupling_run {
  const ci_kernel *k;
  int64_t classes, pairs;
  bool is_double;
};

/* Casts round where a compiler keeps float32 in float64. */
#define COUPLING(T)                                                                                \
  static void coupling_quadratic_##T(const T *r, int64_t n, T *q) {                                \
    for (int64_t i = 0; i < n; i++) q[i * n + i] = 0;                                              \
    for (int64_t t = 0; t < n; t++) {                                                              \
      for (int64_t j = 0; j < n; j++) {                                                            \
        const int64_t low = t < j ? t : j, high = t < j ? j : t;                                   \
        if (j == t) continue;                                                                      \
        const T of_low = r[low * (2 * n - low - 1) / 2 + high - low - 1], of_high = 1 - of_low;    \
        const T theirs = j == low ? of_low : of_high, ours = j == low ? of_high : of_low;          \
        q[t * n + t] = q[t * n + t] + (T)(theirs * theirs);                                        \
        q[t * n + j] = -theirs * ours;                                                             \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  /* Q p; returns p Q p. */                                                                        \
  static T coupling_terms_##T(const T *q, const T *p, int64_t n, T *qp) {                          \
    T total = 0;                                                                                   \
    for (int64_t t = 0; t < n; t++) {                                                              \
      qp[t] = 0;                                                                                   \
      for (int64_t j = 0; j < n; j++) qp[t] = qp[t] + (T)(q[t * n + j] * p[j]);                    \
      total = total + (T)(p[t] * qp[t]);                                                           \
    }                                                                                              \
    return total;                                                                                  \
  }                                                                                                \
  static void coupling_sweep_##T(const T *q, T *p, T *qp, int64_t n, T total) {                    \
    for (int64_t t = 0; t < n; t++) {                                                              \
      const T step = (T)(total - qp[t]) / q[t * n + t], one = 1 + step;                            \
      p[t] = p[t] + step;                                                                          \
      const T slope = (T)(step * q[t * n + t]) + (T)(2 * qp[t]), more = total + (T)(step * slope); \
      total = (T)(more / one) / one;                                                               \
      for (int64_t j = 0; j < n; j++) {                                                            \
        qp[j] = (T)(qp[j] + (T)(step * q[t * n + j])) / one;                                       \
        p[j] = p[j] / one;                                                                         \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  static bool coupling_is_done_##T(const T *qp, int64_t n, T total) {                              \
    const T least = (T)0.005 / (T)n;                                                               \
    for (int64_t t = 0; t < n; t++) {                                                              \
      const T error = qp[t] - total;                                                               \
      if (!((error < 0 ? -error : error) < least)) return false;                                   \
    }                                                                                              \
    return true;                                                                                   \
  }                                                                                                \
  static void coupling_part_##T(void *argument, int64_t begin, int64_t end, int thread) {          \
    const struct coupling_run *run = argument;                                                     \
    const int64_t n = run->classes, sweeps = n > 100 ? n : 100;                                    \
    T *q = (T *)run->k->scratch + thread * n * (n + 1), *qp = q + n * n;                           \
    for (int64_t row = begin; row < end; row++) {                                                  \
      T *p = (T *)run->k->out[0]->data + row * n;                                                  \
      coupling_quadratic_##T((const T *)run->k->in[0]->data + row * run->pairs, n, q);             \
      for (int64_t t = 0; t < n; t++) p[t] = (T)(1.0 / (double)n);                                 \
      for (int64_t i = 0; i < sweeps; i++) {                                                       \
        const T total = coupling_terms_##T(q, p, n, qp);                                           \
        if (coupling_is_done_##T(qp, n, total)) break;                                             \
        coupling_sweep_##T(q, p, qp, n, total);                                                    \
      }                                                                                            \
    }                                                                                              \
  }
COUPLING(float)
COUPLING(double)

ci_status ci_prepare_pairwise_coupling(ci_kernel *k) {
  const ci_value *r = k->in[0];
  int64_t classes;
  char str[128];
  CI_TRY(ci_k_attr_i(k, "classes", 0, &classes));
  if (classes < 2 || classes > INT32_MAX) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "classes is %lld, expected 2 or more", (long long)classes);
  }
  struct coupling_run *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  if (r->dtype != CI_FLOAT && r->dtype != CI_DOUBLE) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "r has type %s, for which this operator has no kernel",
                     ci_dtype_name(r->dtype));
  }
  *p = (struct coupling_run){
      .classes = classes, .pairs = classes * (classes - 1) / 2, .is_double = r->dtype == CI_DOUBLE};
  if (r->rank != 2 || r->dims[1] != p->pairs) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "r is %s, expected [rows,%lld]", ci_value_describe(r, str, sizeof str),
                     (long long)p->pairs);
  }
  size_t items;
  if (!ci_mul_size((uint64_t)classes * (uint64_t)(classes + 1), (uint64_t)k->threads, &items) ||
      !ci_mul_size(items, ci_dtype_size(r->dtype), &k->scratch_bytes)) {
    return ci_k_no_memory(k);
  }
  return ci_k_out(k, 0, r->dtype, 2, (int64_t[]){r->dims[0], classes});
}

ci_status ci_run_pairwise_coupling(ci_kernel *k) {
  struct coupling_run r = *(const struct coupling_run *)k->private_memory;
  r.k = k;
  ci_k_parallel(k, k->in[0]->dims[0], 1 + (1 << 12) / (r.pairs + 1),
                r.is_double ? coupling_part_double : coupling_part_float, &r);
  return CI_OK;
}
