/* where.c - Where and Clip: a choice for each element. */
#include <math.h>

#include "../isa.h"
#include "broadcast.h"
#include "elementwise.h"

enum { WHERE_GRAIN = 1 << 14 };

/* ---- Where: condition, x, y ---- */

typedef struct where_sixteen { /* complex128, strings */
  uint64_t part[2];
} where_sixteen;

/* CHOOSE(T, c, a, b): c ? a : b */
#define WHERE_IF(T, c, a, b) (c) ? (a) : (b)
#define WHERE_MASK(T, c, a, b) (T)(((a) & (T)(0 - (T)(c))) | ((b) & (T)((T)(c) - 1))) /* what is loaded anyway */
#define WHERE_LOOP(name, T, CHOOSE)                                                            \
  static void where_##name(const void *context, void *out, const void *const *in, int64_t n) { \
    const ci_broadcast *walk = context;                                                        \
    const bool *c = in[0];                                                                     \
    const T *a = in[1], *b = in[2];                                                            \
    T *y = out;                                                                                \
    const bool still_c = ci_broadcast_still(walk, 0);                                          \
    const ptrdiff_t as = !ci_broadcast_still(walk, 1), bs = !ci_broadcast_still(walk, 2);      \
    if (still_c) { /* one of the two, whole */                                                 \
      const T *x = *c ? a : b;                                                                 \
      const ptrdiff_t xs = *c ? as : bs;                                                       \
      for (ptrdiff_t i = 0; i < n; i++) y[i] = x[i * xs];                                      \
    } else if (as && bs) {                                                                     \
      for (ptrdiff_t i = 0; i < n; i++) y[i] = CHOOSE(T, c[i], a[i], b[i]);                    \
    } else if (as) {                                                                           \
      const T one = *b;                                                                        \
      for (ptrdiff_t i = 0; i < n; i++) y[i] = CHOOSE(T, c[i], a[i], one);                     \
    } else {                                                                                   \
      const T one = *a;                                                                        \
      for (ptrdiff_t i = 0; i < n; i++) y[i] = CHOOSE(T, c[i], one, b[i * bs]);                \
    }                                                                                          \
  }
CI_FAST WHERE_LOOP(1, uint8_t, WHERE_MASK) WHERE_LOOP(2, uint16_t, WHERE_IF) CI_FAST WHERE_LOOP(4, uint32_t, WHERE_MASK)
CI_FAST WHERE_LOOP(8, uint64_t, WHERE_MASK) WHERE_LOOP(16, where_sixteen, WHERE_IF)

    static ci_broadcast_fn where_function(size_t item) {
  switch (item) {
    case 1: return where_1;
    case 2: return where_2;
    case 4: return where_4;
    case 8: return where_8;
    case 16: return where_16;
    default: return NULL;
  }
}

typedef struct where_plan {
  ci_broadcast walk;
  ci_broadcast_fn fn;
} where_plan;

ci_status prepare_where(ci_kernel *k) {
  const ci_value *in[3] = {k->in[0], k->in[1], k->in[2]};
  int rank;
  int64_t dims[CI_MAX_RANK];
  if (in[0]->dtype != CI_BOOL) {
    return k_fail(k, CI_INVALID_ARGUMENT, "the condition has type %s, expected bool", ci_dtype_name(in[0]->dtype));
  }
  if (in[1]->dtype != in[2]->dtype) {
    return k_fail(k, CI_INVALID_ARGUMENT, "x has type %s, y has %s; they must be equal: cast one",
                  ci_dtype_name(in[1]->dtype), ci_dtype_name(in[2]->dtype));
  }
  CI_TRY(k_broadcast(k, in, 3, &rank, dims));
  CI_TRY(k_out(k, 0, in[1]->dtype, rank, dims));
  where_plan *p = k_private(k, sizeof *p);
  if (p == NULL) return k_no_memory(k);
  p->fn = where_function(ci_dtype_size(in[1]->dtype));
  if (p->fn == NULL) return k_fail(k, CI_UNIMPLEMENTED, "elements of type %s", ci_dtype_name(in[1]->dtype));
  ci_broadcast_plan(&p->walk, k->out[0], in, 3);
  for (int i = 1; i < 3; i++) {
    if (in[i]->bytes == k->out[0]->bytes) k_in_place(k, 0, i);
  }
  return CI_OK;
}

ci_status run_where(ci_kernel *k) {
  const where_plan *p = k->private_memory;
  const void *x[3] = {k->in[0]->data, k->in[1]->data, k->in[2]->data};
  ci_broadcast_run(k, &p->walk, p->fn, &p->walk, k->out[0]->data, x);
  return CI_OK;
}

/* ---- Clip: x, least or none, most or none ---- */

typedef struct clip_plan {
  ci_clip_fn typed;
  size_t item;
} clip_plan;

static const void *clip_bound(const ci_kernel *k, int i) {
  return k->n_in > i && k->in[i] != NULL ? k->in[i]->data : NULL;
}

ci_status prepare_clip(ci_kernel *k) {
  const ci_value *x = k->in[0];
  clip_plan *p = k_private(k, sizeof *p);
  if (p == NULL) return k_no_memory(k);
  p->typed = ci_typed_clip(x->dtype);
  p->item = ci_dtype_size(x->dtype);
  if (p->typed == NULL) return k_fail(k, CI_UNIMPLEMENTED, "there is no kernel for %s%s", ci_dtype_name(x->dtype), CI_TYPES_LEFT_OUT);
  for (int i = 1; i < k->n_in && i < 3; i++) {
    const ci_value *bound = k->in[i];
    if (bound == NULL || (bound->dtype == x->dtype && bound->count == 1)) continue;
    char found[128];
    return k_fail(k, CI_INVALID_ARGUMENT, "bound %s is %s, expected one %s", i == 1 ? "min" : "max",
                  k_describe(bound, found, sizeof found), ci_dtype_name(x->dtype));
  }
  CI_TRY(k_out_like(k, 0, x->dtype, x));
  k_in_place(k, 0, 0);
  return CI_OK;
}

static void clip_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const clip_plan *p = k->private_memory;
  const void *low = clip_bound(k, 1), *high = clip_bound(k, 2);
  (void)thread;
  if (k->in[0]->dtype == CI_FLOAT) {
    k->isa->math->unary[CI_MATH_clip]((float *)k->out[0]->data + begin, (const float *)k->in[0]->data + begin,
                                      end - begin, low != NULL ? *(const float *)low : -INFINITY,
                                      high != NULL ? *(const float *)high : INFINITY);
  } else {
    p->typed((char *)k->out[0]->data + (size_t)begin * p->item, (const char *)k->in[0]->data + (size_t)begin * p->item,
             end - begin, low, high);
  }
}

ci_status run_clip(ci_kernel *k) {
  k_parallel(k, k->out[0]->count, WHERE_GRAIN, clip_part, k);
  return CI_OK;
}
