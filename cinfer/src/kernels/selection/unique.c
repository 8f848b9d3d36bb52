/* unique.c - Unique: the different elements, or slices of one axis, with their indices and counts. */
#include "order.h"

/* The input as (outer, n, inner): item i is [:, i, :], one element where no axis is given. The memory after the plan
 * holds keys (none for strings) and four lists of n entries; all is found in prepare, since it decides the shapes. */
struct unique_plan {
  const ci_value *x;
  int64_t outer, n, inner, found;
  size_t item;
  uint64_t *keys;
  int64_t *order; /* in run: the first item of each group, in the order of the output */
  int64_t *spare;
  int64_t *group; /* of each item */
  int64_t *count; /* of each group */
};

static int unique_compare_strings(const ci_string *a, const ci_string *b) {
  const size_t shorter = a->length < b->length ? a->length : b->length;
  const int order = shorter > 0 ? memcmp(a->data, b->data, shorter) : 0;
  return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static int unique_compare(const struct unique_plan *p, int64_t a, int64_t b) {
  for (int64_t o = 0; o < p->outer; o++) {
    for (int64_t i = 0; i < p->inner; i++) {
      const int64_t left = (o * p->n + a) * p->inner + i, right = (o * p->n + b) * p->inner + i;
      if (p->keys == NULL) {
        const ci_string *str = p->x->data;
        const int order = unique_compare_strings(&str[left], &str[right]);
        if (order != 0) return order;
      } else if (p->keys[left] != p->keys[right]) {
        return p->keys[left] < p->keys[right] ? -1 : 1;
      }
    }
  }
  return 0;
}

/* Sorts p->order by merging runs of increasing length; items that are equal stay as they are. */
static void unique_sort(struct unique_plan *p) {
  for (int64_t i = 0; i < p->n; i++) p->order[i] = i;
  for (int64_t width = 1; width < p->n; width *= 2) {
    for (int64_t low = 0; low < p->n; low += 2 * width) {
      const int64_t middle = low + width < p->n ? low + width : p->n;
      const int64_t high = middle + width < p->n ? middle + width : p->n;
      for (int64_t a = low, b = middle, to = low; to < high; to++) {
        const bool right = a >= middle || (b < high && unique_compare(p, p->order[b], p->order[a]) < 0);
        p->spare[to] = p->order[right ? b++ : a++];
      }
    }
    int64_t *sorted = p->spare;
    p->spare = p->order;
    p->order = sorted;
  }
}

/* Groups of equal items from sorted ones. */
static void unique_group(struct unique_plan *p) {
  for (int64_t i = 0; i < p->n; i++) {
    const int64_t item = p->order[i];
    if (i == 0 || unique_compare(p, p->order[i - 1], item) != 0) p->spare[p->found++] = item;
    p->group[item] = p->found - 1;
    p->count[p->found - 1]++;
  }
  int64_t *first = p->spare;
  p->spare = p->order;
  p->order = first;
}

/* Renumbers the groups by their first item. */
static void unique_by_appearance(struct unique_plan *p) {
  int64_t *number = p->spare, next = 0;
  for (int64_t i = 0; i < p->n; i++) {
    const int64_t group = p->group[i];
    if (p->order[group] == i) number[group] = next++;
  }
  for (int64_t i = 0; i < p->n; i++) p->group[i] = number[p->group[i]];
  memset(p->count, 0, (size_t)p->n * sizeof *p->count);
  for (int64_t i = 0; i < p->n; i++) {
    if (p->count[p->group[i]]++ == 0) p->order[p->group[i]] = i;
  }
}

/* The type that is compared: a complex number is its real part, then its imaginary one. */
static int32_t unique_part(int32_t dtype) {
  return dtype == CI_COMPLEX64 ? CI_FLOAT : dtype == CI_COMPLEX128 ? CI_DOUBLE : dtype;
}

static ci_status unique_memory(ci_kernel *k, const struct unique_plan *sizes, struct unique_plan **plan) {
  const ci_value *x = k->in[0];
  const size_t keys = x->dtype == CI_STRING ? 0 : x->bytes / sizes->item;
  size_t lists, bytes;
  if (!ci_mul_size((uint64_t)sizes->n, 4, &lists) || !ci_add_size(lists, keys, &lists) ||
      !ci_mul_size(lists, sizeof(int64_t), &bytes) || !ci_add_size(bytes, sizeof **plan, &bytes)) {
    return ci_k_no_memory(k);
  }
  struct unique_plan *p = ci_k_private(k, bytes);
  if (p == NULL) return ci_k_no_memory(k);
  *p = *sizes;
  int64_t *next = (int64_t *)(void *)(p + 1);
  p->order = next;
  p->spare = next + p->n;
  p->group = next + 2 * p->n;
  p->count = next + 3 * p->n;
  if (x->dtype != CI_STRING) {
    p->keys = (uint64_t *)(void *)(next + 4 * p->n);
    ci_value numbers = *x;
    numbers.dtype = unique_part(x->dtype);
    (void)ci_order_keys(&numbers, 0, 1, (int64_t)keys, p->keys);
  }
  *plan = p;
  return CI_OK;
}

/* Sorting compares each element once for each doubling of their number. */
static bool unique_is_short(const ci_kernel *k, const ci_value *x) {
  size_t work = 0;
  for (int64_t n = x->count; n > 0; n /= 2)
    if (!ci_add_size(work, x->bytes, &work)) return false;
  return ci_k_may_read(k, work);
}

ci_status ci_prepare_unique(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t requested = 0, other = 1, sorted = 1, dims[CI_MAX_RANK];
  int axis = 0;
  CI_TRY(ci_k_attr_i(k, "axis", 0, &requested));
  CI_TRY(ci_k_attr_i(k, "axis", 1, &other));
  CI_TRY(ci_k_attr_i(k, "sorted", 1, &sorted));
  const int32_t part = unique_part(x->dtype);
  if (part != CI_STRING && !ci_order_keys(&(ci_value){.dtype = part}, 0, 0, 0, NULL)) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "input 0 has type %s, for which this operator has no kernel",
                     ci_dtype_name(x->dtype));
  }
  const bool flat = requested != other; /* there is no such attribute */
  if (!flat) CI_TRY(ci_k_axis(k, requested, x->rank, &axis));
  if (!flat && x->count == 0 && x->dims[axis] > 0) {
    char str[128];
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s has no elements, but %lld slices along axis %d to compare",
                     ci_value_describe(x, str, sizeof str), (long long)x->dims[axis], axis);
  }
  if (x->count > 0 && !(ci_k_known(k, 0) && unique_is_short(k, x))) return CI_PENDING;
  struct unique_plan *p = NULL, sizes = {.x = x, .outer = 1, .n = x->count, .inner = 1, .item = ci_dtype_size(part)};
  if (!flat && x->count > 0) {
    sizes.outer = ci_shape_count(x->dims, 0, axis);
    sizes.n = x->dims[axis];
    sizes.inner = ci_shape_count(x->dims, axis + 1, x->rank);
  }
  if (part != x->dtype) sizes.inner *= 2;
  CI_TRY(unique_memory(k, &sizes, &p));
  unique_sort(p);
  unique_group(p);
  if (sorted == 0) unique_by_appearance(p);
  for (int i = 0; i < x->rank; i++) dims[i] = x->dims[i];
  dims[flat ? 0 : axis] = p->found;
  CI_TRY(ci_k_out(k, 0, x->dtype, flat ? 1 : x->rank, dims));
  for (int i = 1; i < k->n_out; i++) CI_TRY(ci_k_out(k, i, CI_INT64, 1, i == 2 ? &p->n : &p->found));
  return CI_OK;
}

ci_status ci_run_unique(ci_kernel *k) {
  const struct unique_plan *p = k->private_memory;
  const size_t bytes = (size_t)p->inner * p->item;
  const char *x = k->in[0]->data;
  char *y = k->out[0]->data;
  if (k->in[0]->count == 0) return CI_OK;
  for (int64_t o = 0; o < p->outer; o++) {
    for (int64_t i = 0; i < p->found; i++, y += bytes) memcpy(y, x + (size_t)(o * p->n + p->order[i]) * bytes, bytes);
  }
  const int64_t *const lists[3] = {p->order, p->group, p->count};
  for (int i = 1; i < k->n_out; i++) memcpy(k->out[i]->data, lists[i - 1], k->out[i]->bytes);
  return CI_OK;
}
