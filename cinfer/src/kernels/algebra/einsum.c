/* einsum.c - Einsum as a chain of sums, matrix multiplications and a transposition (docs/numerics.md, "Einsum").
 *
 * Letters and the axes of the ellipsis are labels with one size each. Labels of size 1 vanish, a repeated one is a
 * diagonal (its strides add). Operands are multiplied from the left: a label that only one of two has and that no
 * later operand or the result needs is summed first; the others are batches (in both and needed), rows, columns, or
 * the depth of a matrix multiplication.
 */
#include "../../simd/isa.h"
#include "../shape/copy.h"
#include "../arithmetic/elementwise.h"
#include "../linear/gemm.h"
#include "../reduction/reduce.h"
#if CI_HAS(algebra)

enum { ES_LETTERS = 52, ES_LABELS = ES_LETTERS + CI_MAX_RANK, ES_AXES = CI_COPY_AXES, ES_ROWS = 64 };
#define ES_PART_WORK 131072 /* multiplications that are worth a thread */

typedef struct es_list {
  int count;
  uint8_t label[ES_AXES];
} es_list;

typedef struct es_tensor { /* an input or a result; strides in elements */
  int input;               /* or -1: at `at` in scratch */
  size_t at;
  es_list axes;
  ptrdiff_t stride[ES_AXES];
} es_tensor;

typedef struct es_view { /* a tensor as [outer, rows, columns], perhaps of a copy */
  es_tensor source;
  bool copied;
  size_t at;
  ci_copy copy;
  ptrdiff_t step[3];
} es_view;

enum { ES_SUM, ES_GEMM, ES_MULTIPLY };
typedef struct es_step {
  int kind;
  es_view a, b;           /* a sum has a alone: rows x columns, the columns summed */
  int64_t batches, m;
  ci_matmul gemm;      /* n and k, too */
  size_t y, partial;      /* in scratch; y SIZE_MAX: the output */
  int64_t blocks, grain;  /* ES_ROWS rows a block, in each batch; blocks a part */
} es_step;

typedef struct es_plan {
  int32_t dtype; /* to compute in; narrow integers are widened */
  ci_cast_fn widen, narrow;
  bool empty;
  size_t item;
  int64_t size[ES_LABELS];
  ci_copy last;      /* from the final result to the output */
  size_t last_from;  /* in scratch, SIZE_MAX: it is there already */
  int last_input;    /* or the input it is copied from */
  size_t transposed;     /* where narrow integers wait to be cast */
  size_t scratch;
  int steps;
  es_step step[];
} es_plan;

typedef struct es_term { /* as written: ES_LETTERS stands for the ellipsis */
  int count;
  uint8_t label[2 * CI_MAX_RANK + 1];
} es_term;

/* ---- the equation ---- */

static int es_letter(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1; }

/* One term, up to the comma, the "->" or the end; *at is moved past it. */
static ci_status es_read_term(ci_kernel *k, ci_span str, size_t *at, es_term *term) {
  bool dots = false;
  term->count = 0;
  for (; *at < str.length && str.data[*at] != ',' && str.data[*at] != '-'; (*at)++) {
    const char c = str.data[*at];
    int label = es_letter(c);
    if (c == ' ') continue;
    if (c == '.' && !dots && str.length - *at >= 3 && memcmp(str.data + *at, "...", 3) == 0) {
      dots = true;
      label = ES_LETTERS;
      *at += 2;
    }
    if (label < 0) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "the equation has byte 0x%02x at %llu: neither letter nor ellipsis",
                       (unsigned)(unsigned char)c, (unsigned long long)*at);
    }
    if (term->count >= (int)sizeof term->label) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "a term of the equation has more than %d labels", term->count);
    }
    term->label[term->count++] = (uint8_t)label;
  }
  return CI_OK;
}

static bool es_arrow(ci_span str, size_t at) {
  return str.length - at >= 2 && str.data[at] == '-' && str.data[at + 1] == '>';
}

/* The labels of an input's axes; `wide` is the largest ellipsis of all, whose last axes others share. */
static ci_status es_bind(ci_kernel *k, int i, const es_term *term, int wide, uint8_t *label, int *dots) {
  const int rank = k->in[i]->rank;
  int extra = -1, at = 0;
  for (int t = 0; t < term->count; t++) {
    if (term->label[t] == ES_LETTERS) extra = rank - (term->count - 1);
  }
  if (extra < 0 ? rank != term->count : rank < term->count - 1) {
    char str[128];
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "term %d of the equation names %d axes, input %d is %s", i,
                     term->count - (extra >= 0), i, ci_value_describe(k->in[i], str, sizeof str));
  }
  *dots = extra < 0 ? 0 : extra;
  for (int t = 0; t < term->count; t++) {
    if (term->label[t] < ES_LETTERS) label[at++] = term->label[t];
    else
      for (int e = 0; e < extra; e++) label[at++] = (uint8_t)(ES_LETTERS + wide - extra + e);
  }
  return CI_OK;
}

/* Sizes of all labels, -1 where a label does not occur. */
static ci_status es_sizes(ci_kernel *k, const es_term *terms, int wide, int64_t *size) {
  for (int l = 0; l < ES_LABELS; l++) size[l] = -1;
  for (int i = 0; i < k->n_in; i++) {
    uint8_t label[CI_MAX_RANK];
    int64_t own[ES_LABELS];
    int dots;
    CI_TRY(es_bind(k, i, &terms[i], wide, label, &dots));
    for (int l = 0; l < ES_LABELS; l++) own[l] = -1;
    for (int a = 0; a < k->in[i]->rank; a++) {
      const int64_t n = k->in[i]->dims[a], l = label[a];
      if ((own[l] < 0 || own[l] == n) && (size[l] < 0 || size[l] == 1 || size[l] == n || n == 1)) {
        own[l] = n;
        if (size[l] < 0 || size[l] == 1) size[l] = n;
        continue;
      }
      const char name[2] = {(char)(l < 26 ? 'A' + l : 'a' + l - 26), 0};
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "label %s of the equation has size %lld, in input %d it has %lld",
                       l < ES_LETTERS ? name : "...", (long long)(own[l] < 0 ? size[l] : own[l]), i, (long long)n);
    }
  }
  return CI_OK;
}

/* Without "->": the ellipsis, then the letters that occur once. */
static void es_implicit(const es_term *terms, int count, es_term *out) {
  int uses[ES_LETTERS + 1] = {0};
  out->count = 0;
  for (int i = 0; i < count; i++) {
    for (int t = 0; t < terms[i].count; t++) uses[terms[i].label[t]]++;
  }
  if (uses[ES_LETTERS] > 0) out->label[out->count++] = ES_LETTERS;
  for (int l = 0; l < ES_LETTERS && out->count < (int)sizeof out->label; l++) {
    if (uses[l] == 1) out->label[out->count++] = (uint8_t)l;
  }
}

static ci_status es_parse(ci_kernel *k, es_term *terms, es_term *out) {
  ci_span str;
  size_t at = 0;
  CI_TRY(ci_k_attr_s(k, "equation", "", &str));
  for (int i = 0;; i++) {
    CI_TRY(es_read_term(k, str, &at, &terms[i]));
    const bool more = at < str.length && str.data[at] == ',';
    if (more ? i + 1 >= k->n_in : i + 1 != k->n_in) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "the equation has %s terms than the %d inputs", more ? "more" : "fewer",
                       k->n_in);
    }
    if (!more) break;
    at++;
  }
  if (at >= str.length) {
    es_implicit(terms, k->n_in, out);
    return CI_OK;
  }
  if (!es_arrow(str, at)) return ci_k_fail(k, CI_INVALID_ARGUMENT, "the equation has a '-' without '>'");
  at += 2;
  CI_TRY(es_read_term(k, str, &at, out));
  if (at < str.length) return ci_k_fail(k, CI_INVALID_ARGUMENT, "the equation goes on after its output term");
  return CI_OK;
}

/* The output's labels and shape. */
static ci_status es_output(ci_kernel *k, const es_plan *p, const es_term *term, int wide, es_list *axes) {
  int64_t dims[CI_MAX_RANK];
  int rank = 0;
  bool seen[ES_LABELS] = {false};
  axes->count = 0;
  for (int t = 0; t < term->count; t++) {
    const bool dots = term->label[t] == ES_LETTERS;
    for (int l = term->label[t]; l < (dots ? ES_LETTERS + wide : term->label[t] + 1); l++) {
      const char name[2] = {(char)(l < 26 ? 'A' + l : 'a' + l - 26), 0};
      if (p->size[l] < 0 || seen[l]) {
        return ci_k_fail(k, CI_INVALID_ARGUMENT, "label %s of the output %s", dots ? "..." : name,
                         seen[l] ? "occurs twice" : "is in no input");
      }
      if (rank >= CI_MAX_RANK)
        return ci_k_fail(k, CI_INVALID_ARGUMENT, "the output has more than %d axes", CI_MAX_RANK);
      seen[l] = true;
      dims[rank++] = p->size[l];
      if (p->size[l] != 1) axes->label[axes->count++] = (uint8_t)l;
    }
  }
  return ci_k_out(k, 0, k->in[0]->dtype, rank, dims);
}

/* ---- the steps ---- */

static bool es_has(const es_list *list, int label) {
  for (int i = 0; i < list->count; i++) {
    if (list->label[i] == label) return true;
  }
  return false;
}

static ptrdiff_t es_stride(const es_tensor *t, int label) {
  for (int i = 0; i < t->axes.count; i++) {
    if (t->axes.label[i] == label) return t->stride[i];
  }
  return 0;
}

static int64_t es_count(const es_plan *p, const es_list *list) {
  int64_t n = 1;
  for (int i = 0; i < list->count; i++) n *= p->size[list->label[i]];
  return n;
}

/* Adds a dense area to the scratch. */
static ci_status es_area(ci_kernel *k, es_plan *p, const es_list *const *lists, int count, size_t *at) {
  size_t bytes = p->item;
  *at = p->scratch;
  for (int i = 0; i < count; i++) {
    for (int j = 0; j < lists[i]->count; j++) {
      if (!ci_mul_size(bytes, (uint64_t)p->size[lists[i]->label[j]], &bytes) || bytes > SIZE_MAX / 4) {
        return ci_k_fail(k, CI_INVALID_ARGUMENT, "an intermediate result of the equation is too large");
      }
    }
  }
  if (!ci_add_size(p->scratch, ci_round_up(bytes, 64), &p->scratch)) return ci_k_no_memory(k);
  return CI_OK;
}

static void es_dense(const es_plan *p, es_tensor *t) {
  ptrdiff_t step = 1;
  for (int i = t->axes.count - 1; i >= 0; i--) {
    t->stride[i] = step;
    step *= (ptrdiff_t)p->size[t->axes.label[i]];
  }
}

/* The stride of a list of labels as one axis; false where they are not one axis in this tensor. */
static bool es_merged(const es_plan *p, const es_tensor *t, const es_list *list, ptrdiff_t *step) {
  ptrdiff_t expected = 0;
  *step = 1; /* of one index: any */
  for (int i = list->count - 1; i >= 0; i--) {
    const ptrdiff_t stride = es_stride(t, list->label[i]);
    if (i == list->count - 1) *step = stride;
    else if (stride != expected) return false;
    expected = stride * (ptrdiff_t)p->size[list->label[i]];
  }
  return true;
}

/* The tensor with three lists of labels as axes; `copied` says that it has no such strides. */
static void es_look(const es_plan *p, es_view *v, const es_tensor *t, const es_list *const lists[3]) {
  v->source = *t;
  v->copied = false;
  for (int i = 0; i < 3; i++) v->copied |= !es_merged(p, t, lists[i], &v->step[i]);
}

/* The same through a dense copy. */
static ci_status es_copied(ci_kernel *k, es_plan *p, es_view *v, const es_list *const lists[3]) {
  ptrdiff_t step = 1, to[3][ES_AXES];
  v->copied = true;
  for (int i = 2; i >= 0; i--) {
    v->step[i] = step;
    for (int j = lists[i]->count - 1; j >= 0; j--) {
      to[i][j] = step;
      step *= (ptrdiff_t)p->size[lists[i]->label[j]];
    }
  }
  ci_copy_start(&v->copy, k->isa, p->item);
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < lists[i]->count; j++) {
      const int label = lists[i]->label[j];
      ci_copy_axis(&v->copy, p->size[label], es_stride(&v->source, label), to[i][j]);
    }
  }
  return es_area(k, p, lists, 3, &v->at);
}

/* Sums over the labels of t that `other` and `needed` lack. */
static ci_status es_add_sum(ci_kernel *k, es_plan *p, es_tensor *t, const es_list *other, const bool *needed) {
  static const es_list none;
  es_list kept = {0}, summed = {0};
  for (int i = 0; i < t->axes.count; i++) {
    const uint8_t l = t->axes.label[i];
    es_list *list = needed[l] || (other != NULL && es_has(other, l)) ? &kept : &summed;
    list->label[list->count++] = l;
  }
  if (summed.count == 0) return CI_OK;
  es_step *s = &p->step[p->steps++];
  const es_list *const lists[3] = {&none, &kept, &summed}, *const result[1] = {&kept};
  s->kind = ES_SUM;
  es_look(p, &s->a, t, lists);
  if (s->a.copied || s->a.step[2] != 1) CI_TRY(es_copied(k, p, &s->a, lists));
  s->m = es_count(p, &kept);
  s->gemm.k = es_count(p, &summed);
  s->grain = ES_PART_WORK / s->gemm.k + 1;
  s->partial = p->scratch;
  p->scratch += ci_round_up((size_t)ci_sum_partials(s->gemm.k) * p->item, 64);
  CI_TRY(es_area(k, p, result, 1, &s->y));
  *t = (es_tensor){.input = -1, .at = s->y, .axes = kept};
  es_dense(p, t);
  return CI_OK;
}

static ci_status es_views(ci_kernel *k, es_plan *p, es_step *s, const es_tensor *a, const es_tensor *b,
                          const es_list group[4]) {
  const es_list *const left[3] = {&group[0], &group[1], &group[3]};
  const bool dots = s->gemm.dots;
  const es_list *const right[3] = {&group[0], dots ? &group[2] : &group[3], dots ? &group[3] : &group[2]};
  es_look(p, &s->a, a, left);
  es_look(p, &s->b, b, right);
  const ptrdiff_t b_row = s->b.step[dots ? 2 : 1], b_col = s->b.step[dots ? 1 : 2];
  const bool dense = s->kind == ES_GEMM;
  if (s->a.copied || (dense ? ci_matmul_a_bytes(&s->gemm, s->m, s->a.step[1], s->a.step[2]) > 0 : s->a.step[0] != 1)) {
    CI_TRY(es_copied(k, p, &s->a, left));
  }
  if (s->b.copied || (dense ? ci_matmul_b_bytes(&s->gemm, b_row, b_col) > 0 : s->b.step[0] != 1)) {
    CI_TRY(es_copied(k, p, &s->b, right));
  }
  return CI_OK;
}

/* Multiplies *a by b and sums over the labels that are not needed; the result is in *a. */
static ci_status es_add_gemm(ci_kernel *k, es_plan *p, es_tensor *a, const es_tensor *b, const bool *needed) {
  es_list group[4] = {{0}}; /* batches, rows, columns, depth */
  es_tensor y = {.input = -1};
  for (int i = 0; i < a->axes.count; i++) {
    const uint8_t l = a->axes.label[i];
    es_list *list = &group[!es_has(&b->axes, l) ? 1 : needed[l] ? 0 : 3];
    list->label[list->count++] = l;
  }
  for (int i = 0; i < b->axes.count; i++) {
    if (!es_has(&a->axes, b->axes.label[i])) group[2].label[group[2].count++] = b->axes.label[i];
  }
  if (group[0].count + group[1].count + group[2].count > ES_AXES) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "an intermediate result of the equation has more than %d axes", ES_AXES);
  }
  es_step *s = &p->step[p->steps++];
  const es_list *const result[3] = {&group[0], &group[1], &group[2]};
  CI_TRY(es_area(k, p, result, 3, &y.at));
  for (int g = 0; g < 3; g++) {
    for (int i = 0; i < group[g].count; i++) y.axes.label[y.axes.count++] = group[g].label[i];
  }
  s->y = y.at;
  s->batches = es_count(p, &group[0]);
  s->m = es_count(p, &group[1]);
  const int64_t n = es_count(p, &group[2]), depth = es_count(p, &group[3]);
  ci_matmul_rule(&s->gemm, p->dtype, n, depth);
  s->kind = group[1].count + group[2].count + group[3].count == 0 ? ES_MULTIPLY : ES_GEMM;
  const int64_t rows = s->m < ES_ROWS ? s->m : ES_ROWS;
  s->blocks = (s->m + ES_ROWS - 1) / ES_ROWS;
  s->grain = s->kind == ES_MULTIPLY ? ES_PART_WORK : ES_PART_WORK / depth / n / rows + 1;
  CI_TRY(es_views(k, p, s, a, b, group));
  es_dense(p, &y);
  *a = y;
  return CI_OK;
}

/* The final result in the order of the output. */
static ci_status es_finish(ci_kernel *k, es_plan *p, const es_tensor *t, const es_list *out) {
  es_tensor order = {.axes = *out};
  bool same = p->narrow == NULL && t->input < 0;
  es_dense(p, &order);
  ci_copy_start(&p->last, k->isa, p->item);
  for (int i = 0; i < out->count; i++) {
    const ptrdiff_t from = es_stride(t, out->label[i]);
    ci_copy_axis(&p->last, p->size[out->label[i]], from, order.stride[i]);
    same = same && from == order.stride[i];
  }
  p->last_from = t->at;
  p->last_input = t->input;
  if (same) {
    p->last_from = SIZE_MAX;
    p->step[p->steps - 1].y = SIZE_MAX;
  }
  const es_list *const lists[1] = {out};
  return p->narrow == NULL ? CI_OK : es_area(k, p, lists, 1, &p->transposed);
}

/* Where in scratch input i has its wider integers; after the last: their end. */
static size_t es_wide_at(const ci_kernel *k, const es_plan *p, int i) {
  size_t at = 0;
  for (int j = 0; j < i; j++) at += ci_round_up((size_t)k->in[j]->count * p->item, 64);
  return at;
}

/* Input i with its diagonals, without axes of size 1 and broadcast ones; narrow integers are widened in scratch. */
static ci_status es_open(ci_kernel *k, es_plan *p, int i, const es_term *term, int wide, es_tensor *t) {
  const ci_value *x = k->in[i];
  uint8_t label[CI_MAX_RANK];
  ptrdiff_t stride[CI_MAX_RANK];
  int dots;
  *t = (es_tensor){.input = i};
  CI_TRY(es_bind(k, i, term, wide, label, &dots));
  ci_copy_strides(x->dims, x->rank, stride);
  for (int a = 0; a < x->rank; a++) {
    if (x->dims[a] == 1) continue;
    int at = 0;
    while (at < t->axes.count && t->axes.label[at] != label[a]) at++;
    if (at == t->axes.count) t->axes.label[t->axes.count++] = label[a];
    t->stride[at] += stride[a];
  }
  if (p->widen != NULL) t->at = es_wide_at(k, p, i);
  return CI_OK;
}

static ci_status es_plan_steps(ci_kernel *k, es_plan *p, const es_term *terms, int wide, const es_list *out) {
  es_tensor total, next;
  for (int i = 0; i < k->n_in; i++) {
    bool needed[ES_LABELS] = {false};
    for (int l = 0; l < out->count; l++) needed[out->label[l]] = true;
    for (int j = i + 1; j < k->n_in; j++) {
      uint8_t label[CI_MAX_RANK];
      int dots;
      CI_TRY(es_bind(k, j, &terms[j], wide, label, &dots));
      for (int a = 0; a < k->in[j]->rank; a++) needed[label[a]] = needed[label[a]] || k->in[j]->dims[a] != 1;
    }
    CI_TRY(es_open(k, p, i, &terms[i], wide, &next));
    CI_TRY(es_add_sum(k, p, &next, i == 0 ? NULL : &total.axes, needed));
    if (i == 0) {
      total = next;
      continue;
    }
    CI_TRY(es_add_sum(k, p, &total, &next.axes, needed));
    CI_TRY(es_add_gemm(k, p, &total, &next, needed));
  }
  return es_finish(k, p, &total, out);
}

static ci_status es_types(ci_kernel *k, es_plan *p) {
  const int32_t dtype = k->in[0]->dtype;
  ci_matmul rule;
  for (int i = 1; i < k->n_in; i++) {
    if (k->in[i]->dtype == dtype) continue;
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "input %d has type %s, input 0 has %s; they must be equal: cast one", i,
                     ci_dtype_name(k->in[i]->dtype), ci_dtype_name(dtype));
  }
  p->dtype = dtype == CI_INT8 || dtype == CI_INT16     ? CI_INT32
             : dtype == CI_UINT8 || dtype == CI_UINT16 ? CI_UINT32
                                                       : dtype;
  if (!ci_matmul_rule(&rule, p->dtype, 1, 1)) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "input 0 has type %s, for which this operator has no kernel",
                     ci_dtype_name(dtype));
  }
  if (p->dtype != dtype) {
    p->widen = ci_cast_find(k->isa, dtype, p->dtype);
    p->narrow = ci_cast_find(k->isa, p->dtype, dtype);
  }
  p->item = ci_dtype_size(p->dtype);
  return CI_OK;
}

ci_status ci_prepare_einsum(ci_kernel *k) {
  const size_t inputs = (size_t)k->n_in, steps = 3 * inputs;
  es_plan *p = ci_k_private(k, sizeof *p + steps * sizeof p->step[0] + inputs * sizeof(es_term));
  if (p == NULL) return ci_k_no_memory(k);
  es_term *terms = (es_term *)(void *)&p->step[steps], out;
  es_list axes = {0};
  int wide = 0;
  CI_TRY(es_types(k, p));
  CI_TRY(es_parse(k, terms, &out));
  for (int i = 0; i < k->n_in; i++) {
    uint8_t label[CI_MAX_RANK];
    int dots;
    CI_TRY(es_bind(k, i, &terms[i], CI_MAX_RANK, label, &dots));
    if (dots > wide) wide = dots;
  }
  CI_TRY(es_sizes(k, terms, wide, p->size));
  CI_TRY(es_output(k, p, &out, wide, &axes));
  for (int l = 0; l < ES_LABELS; l++) p->empty = p->empty || p->size[l] == 0;
  if (p->empty) return CI_OK;
  if (p->widen != NULL) p->scratch = es_wide_at(k, p, k->n_in);
  CI_TRY(es_plan_steps(k, p, terms, wide, &axes));
  k->scratch_bytes = p->scratch;
  return CI_OK;
}

/* ---- runs ---- */

typedef struct es_job {
  ci_kernel *k;
  const es_plan *p;
  const es_step *s;
  const char *a, *b;
  char *y;
} es_job;

static const char *es_data(const ci_kernel *k, const es_plan *p, const es_tensor *t) {
  if (t->input >= 0 && p->widen == NULL) return k->in[t->input]->data;
  return (const char *)k->scratch + t->at;
}

static const char *es_open_view(const ci_kernel *k, const es_plan *p, const es_view *v) {
  const char *from = es_data(k, p, &v->source);
  if (!v->copied) return from;
  ci_copy_run(&v->copy, (char *)k->scratch + v->at, from);
  return (const char *)k->scratch + v->at;
}

static void es_sum_part(void *argument, int64_t begin, int64_t end, int thread) {
  const es_job *job = argument;
  const es_step *s = job->s;
  const es_plan *p = job->p;
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    const char *x = job->a + (size_t)(i * s->a.step[1]) * p->item;
    char *y = job->y + (size_t)i * p->item;
    if (p->dtype == CI_FLOAT || p->dtype == CI_DOUBLE) {
      ci_sum_row(job->k->isa->math, p->dtype, y, x, s->gemm.k, (char *)job->k->scratch + s->partial);
    } else {
      ci_reduce_typed_find(CI_REDUCE_SUM, p->dtype)->row(y, x, s->gemm.k);
    }
  }
}

static void es_multiply_part(void *argument, int64_t begin, int64_t end, int thread) {
  const es_job *job = argument;
  const size_t at = (size_t)begin * job->p->item;
  (void)thread;
  if (job->p->dtype == CI_FLOAT) {
    job->k->isa->math->binary[CI_MATH_mul]((float *)(void *)(job->y + at), (const float *)(const void *)(job->a + at),
                                           (const float *)(const void *)(job->b + at), end - begin, CI_NO_SCALAR);
  } else {
    ci_typed_binary(CI_MATH_mul, job->p->dtype)(job->y + at, job->a + at, job->b + at, end - begin, CI_NO_SCALAR);
  }
}

static void es_gemm_part(void *argument, int64_t begin, int64_t end, int thread) {
  const es_job *job = argument;
  const es_step *s = job->s;
  const size_t item = job->p->item;
  const bool dots = s->gemm.dots;
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    const int64_t batch = i / s->blocks, row = i % s->blocks * ES_ROWS;
    const ci_matmul_part part = {
        .a = {job->a + (size_t)(batch * s->a.step[0] + row * s->a.step[1]) * item, s->a.step[1], s->a.step[2]},
        .b = {job->b + (size_t)(batch * s->b.step[0]) * item, s->b.step[dots ? 2 : 1], s->b.step[dots ? 1 : 2]},
        .c = job->y + (size_t)((batch * s->m + row) * s->gemm.n) * item,
        .c_row = (ptrdiff_t)s->gemm.n,
        .m = s->m - row < ES_ROWS ? s->m - row : ES_ROWS,
        .n = s->gemm.n,
        .k = s->gemm.k};
    ci_matmul_compute(&s->gemm, job->k->isa, &part);
  }
}

static void es_run_step(ci_kernel *k, const es_plan *p, const es_step *s) {
  es_job job = {.k = k, .p = p, .s = s, .a = es_open_view(k, p, &s->a)};
  job.y = s->y == SIZE_MAX ? k->out[0]->data : (char *)k->scratch + s->y;
  if (s->kind == ES_SUM) {
    if (s->gemm.k > CI_REDUCE_LONGEST) es_sum_part(&job, 0, s->m, 0); /* one list for all rows */
    else ci_k_parallel(k, s->m, s->grain, es_sum_part, &job);
    return;
  }
  job.b = es_open_view(k, p, &s->b);
  if (s->kind == ES_MULTIPLY) ci_k_parallel(k, s->batches, s->grain, es_multiply_part, &job);
  else ci_k_parallel(k, s->batches * s->blocks, s->grain, es_gemm_part, &job);
}

ci_status ci_run_einsum(ci_kernel *k) {
  const es_plan *p = k->private_memory;
  ci_value *out = k->out[0];
  if (p->empty) {
    memset(out->data, 0, out->bytes); /* sums of nothing */
    return CI_OK;
  }
  char *scratch = k->scratch;
  for (int i = 0; i < k->n_in && p->widen != NULL; i++) {
    p->widen(scratch + es_wide_at(k, p, i), k->in[i]->data, k->in[i]->count);
  }
  for (int i = 0; i < p->steps; i++) es_run_step(k, p, &p->step[i]);
  if (p->last_from == SIZE_MAX) return CI_OK;
  const es_tensor last = {.input = p->last_input, .at = p->last_from};
  char *to = p->narrow != NULL ? scratch + p->transposed : out->data;
  ci_copy_run(&p->last, to, es_data(k, p, &last));
  if (p->narrow != NULL) p->narrow(out->data, to, out->count);
  return CI_OK;
}
#endif
