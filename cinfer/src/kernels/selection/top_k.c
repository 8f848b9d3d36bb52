/* top_k.c - TopK: the k largest or smallest elements along an axis, with their indices. */
#include "order.h"

#include "../../simd/isa.h"
#include "../../simd/math/isa_move.h"

/* ---- the first k of a line by key, of equal ones the one with the lower index ---- */

struct top_k_plan {
  int64_t n, inner, most, columns; /* columns: how many become lines before they are read, 0: none */
  uint64_t flip; /* all ones for the largest: keys then count down */
  size_t item;
};

enum { TOP_K_WORK = 1 << 14, TOP_K_FEW = 16, TOP_K_COLUMNS = 16, TOP_K_LINE = 1 << 12 };

/* Whether index a comes after b in the result; without a branch, as it cannot be predicted. */
static bool top_k_after(const uint64_t *keys, int64_t a, int64_t b) {
  return (keys[a] > keys[b]) | ((keys[a] == keys[b]) & (a > b));
}

/* Lets the index at `position` sink: below every entry of the heap are ones that come before it. */
static void top_k_sink(const uint64_t *keys, int64_t *heap, int64_t size, int64_t position) {
  const int64_t index = heap[position];
  for (int64_t child; (child = 2 * position + 1) < size; position = child) {
    if (child + 1 < size && top_k_after(keys, heap[child + 1], heap[child])) child++;
    if (!top_k_after(keys, heap[child], index)) break;
    heap[position] = heap[child];
  }
  heap[position] = index;
}

static void top_k_begin(const uint64_t *keys, int64_t *heap, int64_t most) {
  for (int64_t i = 0; i < most; i++) heap[i] = i;
  for (int64_t i = most / 2; i-- > 0;) top_k_sink(keys, heap, most, i);
}

/* The indices of a heap, in order. */
static void top_k_end(const uint64_t *keys, int64_t *heap, int64_t most) {
  for (int64_t size = most; size > 1; size--) {
    const int64_t worst = heap[0];
    heap[0] = heap[size - 1];
    top_k_sink(keys, heap, size - 1, 0);
    heap[size - 1] = worst;
  }
}

/* The first `most` indices of the order, in order. */
static void top_k_choose(const uint64_t *keys, int64_t n, int64_t *heap, int64_t most) {
  top_k_begin(keys, heap, most);
  uint64_t limit = keys[heap[0]];
  for (int64_t i = most; i < n; i++) { /* an equal key with a higher index never enters */
    if (keys[i] >= limit) continue;
    heap[0] = i;
    top_k_sink(keys, heap, most, 0);
    limit = keys[heap[0]];
  }
  top_k_end(keys, heap, most);
}

CI_FAST static void top_k_flip(uint64_t *keys, int64_t n, uint64_t flip) {
  for (int64_t i = 0; i < n; i++) keys[i] ^= flip;
}

static uint64_t top_k_key(const struct top_k_plan *p, float x) { return ci_order_single(ci_float_bits(x)) ^ p->flip; }

/* The same of a line x of float32: few of many enter, and only these need keys. */
static void top_k_singles(const ci_kernel *k, const float *x, uint64_t *keys, int64_t *heap) {
  const struct top_k_plan *p = k->private_memory;
  for (int64_t i = 0; i < p->most; i++) keys[i] = top_k_key(p, x[i]);
  top_k_begin(keys, heap, p->most);
  for (int64_t i = p->most; i < p->n; i++) {
    i += k->isa->move->beyond(x + i, p->n - i, x[heap[0]], p->flip != 0);
    if (i == p->n) break;
    keys[i] = top_k_key(p, x[i]);
    if (keys[i] >= keys[heap[0]]) continue;
    heap[0] = i;
    top_k_sink(keys, heap, p->most, 0);
  }
  top_k_end(keys, heap, p->most);
}

/* Columns side by side, as lines. */
CI_FAST static void top_k_turn(float *lines, const float *x, int64_t n, int64_t inner, int64_t columns) {
  for (int64_t i = 0; i < n; i++) {
    for (int64_t c = 0; c < columns; c++) lines[c * n + i] = x[i * inner + c];
  }
}

static void top_k_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const struct top_k_plan *p = k->private_memory;
  uint64_t *keys = (uint64_t *)k->scratch + thread * (p->n + p->most + (p->columns * p->n + 1) / 2);
  int64_t *heap = (int64_t *)(void *)(keys + p->n), filled = 0, column = 0;
  float *lines = (float *)(void *)(heap + p->most);
  for (int64_t line = begin; line < end; line++) {
    const int64_t outer = line / p->inner, inner = line % p->inner;
    const int64_t from = outer * p->n * p->inner + inner;
    if (p->columns > 0) {
      if (column == filled) {
        const int64_t left = end - line < p->inner - inner ? end - line : p->inner - inner;
        column = 0, filled = left < p->columns ? left : p->columns;
        top_k_turn(lines, (const float *)k->in[0]->data + from, p->n, p->inner, filled);
      }
      top_k_singles(k, lines + column++ * p->n, keys, heap);
    } else if (k->in[0]->dtype == CI_FLOAT && p->inner == 1 && p->most <= p->n / TOP_K_FEW) {
      top_k_singles(k, (const float *)k->in[0]->data + from, keys, heap);
    } else {
      (void)ci_order_keys(k->in[0], from, p->inner, p->n, keys);
      top_k_flip(keys, p->n, p->flip);
      top_k_choose(keys, p->n, heap, p->most);
    }
    for (int64_t i = 0; i < p->most; i++) {
      const int64_t to = (outer * p->most + i) * p->inner + inner;
      memcpy((char *)k->out[0]->data + (size_t)to * p->item,
             (const char *)k->in[0]->data + (size_t)(from + heap[i] * p->inner) * p->item, p->item);
      if (k->n_out > 1) ((int64_t *)k->out[1]->data)[to] = heap[i];
    }
  }
}

ci_status ci_prepare_top_k(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t requested, largest, most = 0, dims[CI_MAX_RANK];
  int axis = 0, count;
  CI_TRY(ci_k_attr_i(k, "axis", -1, &requested));
  CI_TRY(ci_k_attr_i(k, "largest", 1, &largest));
  if (x->dtype == CI_BOOL || !ci_order_keys(x, 0, 0, 0, NULL)) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "input 0 has type %s, for which this operator has no kernel",
                     ci_dtype_name(x->dtype));
  }
  CI_TRY(ci_k_axis(k, requested, x->rank, &axis));
  CI_TRY(ci_k_known_ints(k, 1, &most, 1, &count));
  if (count != 1 || most < 0 || most > x->dims[axis]) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "k is %lld, expected one number from 0 to %lld, the size of axis %d",
                     (long long)most, (long long)x->dims[axis], axis);
  }
  for (int i = 0; i < x->rank; i++) dims[i] = i == axis ? most : x->dims[i];
  CI_TRY(ci_k_out(k, 0, x->dtype, x->rank, dims));
  if (k->n_out > 1) CI_TRY(ci_k_out(k, 1, CI_INT64, x->rank, dims));
  struct top_k_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  if (k->out[0]->count == 0) return CI_OK;
  *p = (struct top_k_plan){.n = x->dims[axis],
                           .inner = ci_shape_count(x->dims, axis + 1, x->rank),
                           .most = most,
                           .flip = largest != 0 ? UINT64_MAX : 0,
                           .item = ci_dtype_size(x->dtype)};
  if (x->dtype == CI_FLOAT && p->inner > 1 && p->n <= TOP_K_LINE && most <= p->n / TOP_K_FEW) {
    p->columns = p->inner < TOP_K_COLUMNS ? p->inner : TOP_K_COLUMNS;
  }
  const uint64_t words = (uint64_t)p->n + (uint64_t)most + (uint64_t)(p->columns * p->n + 1) / 2;
  if (!ci_mul_size(words, (uint64_t)k->threads * sizeof(uint64_t), &k->scratch_bytes)) {
    return ci_k_no_memory(k);
  }
  return CI_OK;
}

ci_status ci_run_top_k(ci_kernel *k) {
  const struct top_k_plan *p = k->private_memory;
  if (k->out[0]->count == 0) return CI_OK;
  ci_k_parallel(k, k->in[0]->count / p->n, p->n < TOP_K_WORK ? TOP_K_WORK / p->n : 1, top_k_part, k);
  return CI_OK;
}
