/* tfidf.c - TfIdfVectorizer: how often the n-grams of a pool occur in rows of strings or integers.
 *
 * The n-grams are sorted; the items of a row are looked up by bisection, longer and longer ones from each index. */
#include "../arithmetic/integers.h"
#include "strings.h"

typedef enum tfidf_mode { TFIDF_TF, TFIDF_IDF, TFIDF_BOTH } tfidf_mode;

typedef struct tfidf_gram { /* items begin .. begin + size of the pool */
  int32_t begin, size;
  int64_t position; /* in the output */
} tfidf_gram;

typedef struct tfidf_plan { /* the n-grams and the weights of the output's columns follow it */
  const ci_span *strings;     /* NULL: integers */
  const int64_t *integers;
  int64_t pool, width, shortest, longest, skips;
  tfidf_mode mode;
  int32_t gram_count;
  tfidf_gram *grams;
  float *weights; /* NULL: all are 1 */
} tfidf_plan;

/* ---- attributes ---- */

static ci_status tfidf_needed(ci_kernel *k, const char *name, int64_t least, int64_t *value) {
  CI_TRY(ci_k_attr_i(k, name, INT64_MIN, value));
  if (*value >= least) return CI_OK;
  if (!ci_k_has(k, name)) return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute %s is missing", name);
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s is %lld, expected at least %lld", name, (long long)*value,
                   (long long)least);
}

static ci_status tfidf_mode_of(ci_kernel *k, tfidf_mode *mode) {
  static const char *const names[] = {"TF", "IDF", "TFIDF"};
  ci_span found;
  CI_TRY(ci_k_attr_s(k, "mode", "", &found));
  for (int i = 0; i < 3; i++) {
    *mode = (tfidf_mode)i;
    if (ci_span_is(found, names[i])) return CI_OK;
  }
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "mode is '%.*s', expected TF, IDF or TFIDF",
                   (int)(found.length < 64 ? found.length : 64), found.length > 0 ? found.data : "");
}

static ci_status tfidf_pool(ci_kernel *k, tfidf_plan *p) {
  int strings, integers;
  char found[128];
  const int32_t dtype = k->in[0]->dtype;
  CI_TRY(ci_k_attr_strings(k, "pool_strings", &p->strings, &strings));
  CI_TRY(ci_k_attr_ints(k, "pool_int64s", &p->integers, &integers));
  if ((strings > 0) == (integers > 0)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "expected one of the attributes pool_strings and pool_int64s");
  }
  p->pool = strings > 0 ? strings : integers;
  if (strings > 0 ? dtype == CI_STRING : dtype == CI_INT32 || dtype == CI_INT64) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "input 0 is %s, expected %s as the pool",
                   ci_value_describe(k->in[0], found, sizeof found), strings > 0 ? "strings" : "integers");
}

/* ---- n-grams ---- */

static int tfidf_compare_strings(ci_span a, const char *b, size_t length) {
  const size_t shorter = a.length < length ? a.length : length;
  const int order = shorter > 0 ? memcmp(a.data, b, shorter) : 0;
  return order != 0 ? order : (a.length > length) - (a.length < length);
}

static int tfidf_compare_grams(const tfidf_plan *p, const tfidf_gram *a, const tfidf_gram *b) {
  for (int32_t i = 0; i < a->size && i < b->size; i++) {
    int order;
    if (p->strings != NULL) {
      const ci_span other = p->strings[b->begin + i];
      order = tfidf_compare_strings(p->strings[a->begin + i], other.data, other.length);
    } else {
      const int64_t left = p->integers[a->begin + i], right = p->integers[b->begin + i];
      order = (left > right) - (left < right);
    }
    if (order != 0) return order;
  }
  return (a->size > b->size) - (a->size < b->size);
}

/* Sorts by sifting down a heap: no memory, no recursion. */
static void tfidf_sift(const tfidf_plan *p, int32_t at, int32_t count) {
  tfidf_gram *g = p->grams;
  for (int32_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && tfidf_compare_grams(p, &g[child], &g[child + 1]) < 0) child++;
    if (tfidf_compare_grams(p, &g[at], &g[child]) >= 0) return;
    const tfidf_gram other = g[at];
    g[at] = g[child];
    g[child] = other;
  }
}

static void tfidf_sort(const tfidf_plan *p) {
  for (int32_t i = p->gram_count / 2; i-- > 0;) tfidf_sift(p, i, p->gram_count);
  for (int32_t last = p->gram_count; last-- > 1;) {
    const tfidf_gram other = p->grams[0];
    p->grams[0] = p->grams[last];
    p->grams[last] = other;
    tfidf_sift(p, 0, last);
  }
}

/* The attributes that are lists, one entry for each n-gram or length. */
typedef struct tfidf_lists {
  const int64_t *counts, *positions;
  const float *weights;
  int lengths, position_count, weight_count;
} tfidf_lists;

static ci_status tfidf_lists_of(ci_kernel *k, tfidf_lists *l, tfidf_plan *p) {
  CI_TRY(ci_k_attr_ints(k, "ngram_counts", &l->counts, &l->lengths));
  CI_TRY(ci_k_attr_ints(k, "ngram_indexes", &l->positions, &l->position_count));
  CI_TRY(ci_k_attr_floats(k, "weights", &l->weights, &l->weight_count));
  if (l->lengths < 1 || l->position_count < 1) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "attributes ngram_counts and ngram_indexes are needed, and not empty");
  }
  if (l->weight_count > 0 && l->weight_count != l->position_count) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "there are %d weights and %d ngram_indexes", l->weight_count,
                     l->position_count);
  }
  for (int i = 0; i < l->position_count; i++) {
    if (l->positions[i] < 0 || l->positions[i] >= INT32_MAX) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "ngram_indexes has %lld, expected at least 0",
                       (long long)l->positions[i]);
    }
    if (l->positions[i] >= p->width) p->width = l->positions[i] + 1;
  }
  return CI_OK;
}

/* Takes the n-grams of the requested lengths out of the pool: those of n items begin at counts[n - 1]. */
static ci_status tfidf_grams(ci_kernel *k, tfidf_plan *p, const tfidf_lists *l) {
  int64_t number = 0;
  for (int n = 1; n <= l->lengths; n++) {
    const int64_t begin = l->counts[n - 1], end = n < l->lengths ? l->counts[n] : p->pool;
    if (begin < 0 || end < begin || end > p->pool || (end - begin) % n != 0) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "ngram_counts: the %d-grams are items %lld to %lld of %lld", n,
                       (long long)begin, (long long)end, (long long)p->pool);
    }
    for (int64_t at = begin; at < end; at += n, number++) {
      if (number >= l->position_count) continue;
      if (l->weight_count > 0) p->weights[l->positions[number]] = l->weights[number];
      if (n >= p->shortest && n <= p->longest)
        p->grams[p->gram_count++] = (tfidf_gram){(int32_t)at, n, l->positions[number]};
    }
  }
  if (number != l->position_count) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the pool has %lld n-grams, ngram_indexes %d", (long long)number,
                     l->position_count);
  }
  tfidf_sort(p);
  for (int32_t i = 1; i < p->gram_count; i++) {
    if (tfidf_compare_grams(p, &p->grams[i - 1], &p->grams[i]) == 0)
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "the pool has an n-gram of %d items twice", (int)p->grams[i].size);
  }
  return CI_OK;
}

ci_status ci_prepare_tfidf(ci_kernel *k) {
  const ci_value *x = k->in[0];
  char found[128];
  tfidf_plan made = {0};
  tfidf_lists lists = {0};
  size_t grams, weights = 0;
  CI_TRY(tfidf_mode_of(k, &made.mode));
  CI_TRY(tfidf_needed(k, "min_gram_length", 1, &made.shortest));
  CI_TRY(tfidf_needed(k, "max_gram_length", made.shortest, &made.longest));
  CI_TRY(tfidf_needed(k, "max_skip_count", 0, &made.skips));
  CI_TRY(tfidf_pool(k, &made));
  CI_TRY(tfidf_lists_of(k, &lists, &made));
  if (x->rank > 2) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "input 0 is %s, expected a vector or rows",
                     ci_value_describe(x, found, sizeof found));
  }
  if (lists.weight_count > 0 && !ci_mul_size((uint64_t)made.width, sizeof(float), &weights)) return ci_k_no_memory(k);
  grams = (size_t)lists.position_count * sizeof(tfidf_gram);
  if (!ci_add_size(weights, sizeof made + grams, &weights)) return ci_k_no_memory(k);
  tfidf_plan *p = ci_k_private(k, weights);
  if (p == NULL) return ci_k_no_memory(k);
  *p = made;
  p->grams = (tfidf_gram *)(void *)(p + 1);
  p->weights = lists.weight_count > 0 && made.mode != TFIDF_TF ? (float *)(void *)((char *)p->grams + grams) : NULL;
  if (p->weights == NULL) lists.weight_count = 0;
  CI_TRY(tfidf_grams(k, p, &lists));
  return ci_k_out(k, 0, CI_FLOAT, x->rank > 1 ? 2 : 1, x->rank > 1 ? (int64_t[]){x->dims[0], p->width} : &p->width);
}

/* ---- rows ---- */

typedef struct tfidf_walk { /* the items from one index on, `step` apart */
  const ci_value *x;
  int64_t begin, step;
  int32_t count;
} tfidf_walk;

/* How the items compare with the begin of an n-gram; 0 where it has all of them. */
static int tfidf_compare(const tfidf_plan *p, const tfidf_gram *gram, const tfidf_walk *w) {
  for (int32_t i = 0; i < gram->size && i < w->count; i++) {
    const int64_t at = w->begin + i * w->step;
    int order;
    if (p->strings != NULL) {
      const ci_string str = ((const ci_string *)w->x->data)[at];
      order = tfidf_compare_strings(p->strings[gram->begin + i], str.data, str.length);
    } else {
      const int64_t item = p->integers[gram->begin + i], other = ci_read_integer(w->x, at);
      order = (item > other) - (item < other);
    }
    if (order != 0) return order;
  }
  return gram->size < w->count ? -1 : 0;
}

/* The first n-gram that begins with the items, from `low` on; the count of all where there is none. */
static int32_t tfidf_find(const tfidf_plan *p, int32_t low, const tfidf_walk *w) {
  int32_t high = p->gram_count;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (tfidf_compare(p, &p->grams[middle], w) < 0) low = middle + 1;
    else high = middle;
  }
  return low < p->gram_count && tfidf_compare(p, &p->grams[low], w) == 0 ? low : p->gram_count;
}

static void tfidf_row(const tfidf_plan *p, const ci_value *x, int64_t row, int64_t columns, float *y) {
  int64_t shortest = p->shortest;
  for (int64_t step = 1; step - 1 <= p->skips && step <= columns && shortest <= p->longest; step++) {
    for (int64_t begin = 0; begin < columns; begin++) {
      tfidf_walk w = {x, row * columns + begin, step, 1};
      int32_t at = 0;
      for (int64_t last = begin; w.count <= p->longest && last < columns; w.count++, last += step) {
        at = tfidf_find(p, at, &w);
        if (at == p->gram_count) break;
        if (w.count >= shortest && p->grams[at].size == w.count) y[p->grams[at].position] += 1.0f;
      }
    }
    if (shortest == 1) shortest = 2; /* single items are the same whatever is skipped */
  }
}

typedef struct tfidf_rows {
  const ci_kernel *k;
  int64_t columns;
} tfidf_rows;

static void tfidf_part(void *argument, int64_t begin, int64_t end, int thread) {
  const tfidf_rows *rows = argument;
  const tfidf_plan *p = rows->k->private_memory;
  (void)thread;
  for (int64_t row = begin; row < end; row++) {
    float *y = (float *)rows->k->out[0]->data + row * p->width;
    memset(y, 0, (size_t)p->width * sizeof *y);
    tfidf_row(p, rows->k->in[0], row, rows->columns, y);
    for (int64_t i = 0; i < p->width && p->mode != TFIDF_TF; i++) {
      const float weight = p->weights == NULL ? 1.0f : p->weights[i];
      y[i] = p->mode == TFIDF_BOTH ? y[i] * weight : y[i] > 0.0f ? weight : 0.0f;
    }
  }
}

ci_status ci_run_tfidf(ci_kernel *k) {
  const ci_value *x = k->in[0];
  tfidf_rows rows = {k, x->rank > 0 ? x->dims[x->rank - 1] : 1};
  ci_k_parallel(k, x->rank > 1 ? x->dims[0] : 1, 16, tfidf_part, &rows);
  return CI_OK;
}
