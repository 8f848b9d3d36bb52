/* where.c - Where and Clip: select between operands element by element. */
#include <math.h>

#include "../../simd/isa.h"
#include "../../simd/math/isa_move.h"
#include "../arithmetic/broadcast.h"
#include "../arithmetic/elementwise.h"

enum { WHERE_GRAIN = 1 << 14, WHERE_PIECE = 2048 /* bytes */ };

/* ---- Where: condition, x, y ---- */

typedef struct where_plan {
  ci_broadcast walk;
  size_t item;
  const struct ci_isa_move *move;
  void (*choose)(void *y, const uint8_t *c, const void *a, const void *b, int64_t n); /* NULL: 16 bytes */
} where_plan;

/* One element again and again: the part that is filled is copied to the rest. */
static void where_fill(const where_plan *p, char *y, const void *x, int64_t n) {
  size_t done = p->item;
  const size_t bytes = done * (size_t)n, most = bytes < CI_MOVE_FILL ? bytes : 16;
  memcpy(y, x, done);
  for (; done < most; done *= 2) memcpy(y + done, y, bytes - done < done ? bytes - done : done);
  if (bytes >= CI_MOVE_FILL) p->move->fill(y, y, bytes);
}

static void where_sixteen(char *y, const uint8_t *c, const char *a, const char *b, int64_t n) {
  for (int64_t i = 0; i < n; i++, y += 16, a += 16, b += 16) memmove(y, c[i] ? a : b, 16);
}

/* Operands that are one number are filled up to the length of a piece. */
static void where_pieces(const where_plan *p, char *y, const uint8_t *c, const char *a, const char *b, int64_t n,
                         bool one_a, bool one_b) {
  char filled[2][WHERE_PIECE];
  const int64_t most = one_a || one_b ? WHERE_PIECE / (int64_t)p->item : n, all = n < most ? n : most;
  if (one_a) where_fill(p, filled[0], a, all);
  if (one_b) where_fill(p, filled[1], b, all);
  for (int64_t i = 0; i < n; i += most) {
    const size_t at = (size_t)i * p->item;
    const int64_t count = n - i < most ? n - i : most;
    const char *left = one_a ? filled[0] : a + at, *right = one_b ? filled[1] : b + at;
    if (p->choose != NULL) p->choose(y + at, c + i, left, right, count);
    else where_sixteen(y + at, c + i, left, right, count);
  }
}

static void where_run(const void *context, void *y, const void *const *in, int64_t n) {
  const where_plan *p = context;
  const uint8_t *c = in[0]; /* bytes, of which compilers make vectors */
  const bool one_a = ci_broadcast_still(&p->walk, 1), one_b = ci_broadcast_still(&p->walk, 2);
  if (ci_broadcast_still(&p->walk, 0)) { /* one of the two, complete; it may be where the result is */
    if (*c ? one_a : one_b) where_fill(p, y, in[*c ? 1 : 2], n);
    else memmove(y, in[*c ? 1 : 2], (size_t)n * p->item);
  } else {
    where_pieces(p, y, c, in[1], in[2], n, one_a, one_b);
  }
}

ci_status ci_prepare_where(ci_kernel *k) {
  const ci_value *in[3] = {k->in[0], k->in[1], k->in[2]};
  int rank;
  int64_t dims[CI_MAX_RANK];
  if (in[0]->dtype != CI_BOOL) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the condition has type %s, expected bool", ci_dtype_name(in[0]->dtype));
  }
  if (in[1]->dtype != in[2]->dtype) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "x has type %s, y has %s; they must be equal: cast one",
                     ci_dtype_name(in[1]->dtype), ci_dtype_name(in[2]->dtype));
  }
  CI_TRY(ci_k_broadcast(k, in, 3, &rank, dims));
  CI_TRY(ci_k_out(k, 0, in[1]->dtype, rank, dims));
  where_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->item = ci_dtype_size(in[1]->dtype);
  const struct ci_isa_move *move = p->move = k->isa->move;
  if (p->item < 16) p->choose = move->choose[p->item == 1 ? 0 : p->item == 2 ? 1 : p->item == 4 ? 2 : 3];
  ci_broadcast_plan(&p->walk, k->out[0], in, 3);
  for (int i = 1; i < 3; i++) {
    if (in[i]->bytes == k->out[0]->bytes) ci_k_in_place(k, 0, i);
  }
  return CI_OK;
}

ci_status ci_run_where(ci_kernel *k) {
  const where_plan *p = k->private_memory;
  const void *x[3] = {k->in[0]->data, k->in[1]->data, k->in[2]->data};
  ci_broadcast_run(k, &p->walk, where_run, p, k->out[0]->data, x);
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

ci_status ci_prepare_clip(ci_kernel *k) {
  const ci_value *x = k->in[0];
  clip_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->typed = ci_typed_clip(x->dtype);
  p->item = ci_dtype_size(x->dtype);
  if (p->typed == NULL) return ci_k_fail(k, CI_UNIMPLEMENTED, "there is no kernel for %s", ci_dtype_name(x->dtype));
  for (int i = 1; i < k->n_in; i++) {
    const ci_value *bound = k->in[i];
    if (bound == NULL || (bound->dtype == x->dtype && bound->count == 1)) continue;
    char found[128];
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "bound %s is %s, expected one %s", i == 1 ? "min" : "max",
                     ci_value_describe(bound, found, sizeof found), ci_dtype_name(x->dtype));
  }
  CI_TRY(ci_k_out_like(k, 0, x->dtype, x));
  ci_k_in_place(k, 0, 0);
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

ci_status ci_run_clip(ci_kernel *k) {
  ci_k_parallel(k, k->out[0]->count, WHERE_GRAIN, clip_part, k);
  if (k->in[0]->dtype == CI_FLOAT) k_wrote_one_nan(k);
  return CI_OK;
}
