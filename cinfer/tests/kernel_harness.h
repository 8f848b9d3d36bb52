/* kernel_harness.h - runs one kernel without a model: attributes from a table, memory from malloc, parts in sequence.
 *
 * Parts are given thread numbers in turn, and every part of a ci_k_parallel runs on its own slice, so that memory
 * which threads share by mistake shows without starting any.
 */
#ifndef CI_KERNEL_HARNESS_H
#define CI_KERNEL_HARNESS_H
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../src/kernels/ci_kernel.h"
#include "../src/base/guard.h"
#include "../src/plan/pack.h"

enum { HARNESS_MOST = 8 };
typedef struct harness_attr {
  const char *name;
  int kind; /* 'i', 'f', 's', 'n' (ints) */
  int64_t i, ints[8];
  int count;
  double f;
  const char *s;
} harness_attr;

typedef struct harness {
  ci_kernel k;
  ci_value in[HARNESS_MOST], out[HARNESS_MOST], *ins[HARNESS_MOST], *outs[HARNESS_MOST];
  harness_attr attrs[HARNESS_MOST];
  int attr_count, parts;
  unsigned constants; /* bit i: input i is a constant of the model */
  void *packed[HARNESS_MOST];
  ci_error error;
} harness;
static harness *harness_current; /* the kernel API has no pointer for the caller */

static inline void harness_start(harness *h, const struct ci_isa *isa, int threads) {
  memset(h, 0, sizeof *h);
  h->k.isa = isa;
  h->k.threads = threads;
  h->k.in = h->ins;
  h->k.out = h->outs;
  h->parts = threads;
  harness_current = h;
}

static inline void harness_dims(ci_value *v, int32_t dtype, int rank, const int64_t *dims) {
  v->dtype = dtype;
  v->rank = rank;
  v->count = 1;
  for (int i = 0; i < rank; i++) {
    v->dims[i] = dims[i];
    v->count *= dims[i];
  }
  v->bytes = (size_t)v->count * ci_dtype_size(dtype);
}

static inline void harness_input(harness *h, int32_t dtype, int rank, const int64_t *dims, void *data) {
  ci_value *v = &h->in[h->k.n_in];
  harness_dims(v, dtype, rank, dims);
  v->data = data;
  h->ins[h->k.n_in++] = v;
}

static inline void harness_ints(harness *h, const char *name, int count, const int64_t *values) {
  harness_attr *a = &h->attrs[h->attr_count++];
  a->name = name;
  a->kind = 'n';
  a->count = count;
  memcpy(a->ints, values, (size_t)count * sizeof *values);
}

static inline void harness_int(harness *h, const char *name, int64_t value) {
  harness_attr *a = &h->attrs[h->attr_count++];
  a->name = name;
  a->kind = 'i';
  a->i = value;
}

static inline void harness_text(harness *h, const char *name, const char *value) {
  harness_attr *a = &h->attrs[h->attr_count++];
  a->name = name;
  a->kind = 's';
  a->s = value;
}

static inline void harness_float(harness *h, const char *name, double value) {
  harness_attr *a = &h->attrs[h->attr_count++];
  a->name = name;
  a->kind = 'f';
  a->f = value;
}

/* prepare, then run with outputs and scratch poisoned. The output's memory is h->out[i].data, for the caller to free.
 */
static inline ci_status harness_run(harness *h, int outputs, ci_status (*prepare)(ci_kernel *),
                                    ci_status (*run)(ci_kernel *)) {
  h->k.n_out = outputs;
  for (int i = 0; i < outputs; i++) h->outs[i] = &h->out[i];
  ci_status status = prepare(&h->k);
  if (status != CI_OK) return status;
  for (int i = 0; i < outputs; i++) {
    h->out[i].data = malloc(h->out[i].bytes + 1);
    if (h->out[i].data == NULL) return CI_RESOURCE_EXHAUSTED;
    memset(h->out[i].data, 0xff, h->out[i].bytes + 1);
  }
  const size_t scratch = ci_round_up(h->k.scratch_bytes + 64, 64);
  h->k.scratch = aligned_alloc(64, scratch);
  if (h->k.scratch == NULL) return CI_RESOURCE_EXHAUSTED;
  memset(h->k.scratch, 0xff, h->k.scratch_bytes);
  CI_FORBID((char *)h->k.scratch + h->k.scratch_bytes, scratch - h->k.scratch_bytes);
  status = run(&h->k);
  free(h->k.scratch);
  return status;
}

static inline void harness_end(harness *h) {
  for (int i = 0; i < h->k.n_out; i++) free(h->out[i].data);
  for (int i = 0; i < HARNESS_MOST; i++) free(h->packed[i]);
  free(h->k.private_memory);
  free(h->k.private_more);
}

static const harness_attr *harness_find(const char *name) {
  for (int i = 0; i < harness_current->attr_count; i++) {
    if (strcmp(harness_current->attrs[i].name, name) == 0) return &harness_current->attrs[i];
  }
  return NULL;
}

/* ---- the part of ci_kernel.h that kernels of this test use ---- */

void ci_k_pack_forget(const ci_kernel *k, const void *part, size_t bytes) { (void)k, (void)part, (void)bytes; }

const void *ci_k_packed_tiles(ci_kernel *k, int i, int64_t width, bool last) {
  (void)k, (void)i, (void)width, (void)last;
  return NULL;
}

const void *ci_k_packed(ci_kernel *k, int i, uint32_t layout, uint32_t parameter, size_t bytes, ci_pack_fn fill,
                        const void *argument) {
  harness *h = harness_current;
  (void)layout, (void)parameter;
  if ((h->constants >> i & 1) == 0) return NULL;
  if (h->packed[i] != NULL) free(h->packed[i]);
  h->packed[i] = aligned_alloc(64, ci_round_up(bytes, 64));
  if (h->packed[i] == NULL) return NULL;
  memset(h->packed[i], 0, bytes);
  fill(h->packed[i], k->in[i], argument);
  return h->packed[i];
}

ci_status ci_k_attr_i(ci_kernel *k, const char *name, int64_t fallback, int64_t *value) {
  const harness_attr *a = harness_find(name);
  (void)k;
  *value = a == NULL ? fallback : a->i;
  return CI_OK;
}
ci_status ci_k_attr_f(ci_kernel *k, const char *name, double fallback, double *value) {
  const harness_attr *a = harness_find(name);
  (void)k;
  *value = a == NULL ? fallback : a->f;
  return CI_OK;
}
ci_status ci_k_attr_s(ci_kernel *k, const char *name, const char *fallback, ci_span *value) {
  const harness_attr *a = harness_find(name);
  (void)k;
  value->data = a == NULL ? fallback : a->s;
  value->length = strlen(value->data);
  return CI_OK;
}
ci_status ci_k_attr_ints(ci_kernel *k, const char *name, const int64_t **values, int *count) {
  const harness_attr *a = harness_find(name);
  (void)k;
  *values = a == NULL ? NULL : a->ints;
  *count = a == NULL ? -1 : a->count;
  return CI_OK;
}
/* No test of a single kernel gives it a program (fused.h). */
ci_status ci_k_attr_floats(ci_kernel *k, const char *name, const float **values, int *count) {
  (void)k, (void)name;
  *values = NULL;
  *count = -1;
  return CI_OK;
}
ci_status ci_k_attr_strings(ci_kernel *k, const char *name, const ci_span **values, int *count) {
  (void)k, (void)name;
  *values = NULL;
  *count = -1;
  return CI_OK;
}
ci_status ci_k_prepare_as(ci_kernel *k, ci_span op, const char *names, ci_status (*prepare)(ci_kernel *k)) {
  (void)op, (void)names;
  return prepare(k);
}
ci_status ci_k_broadcast_of(ci_kernel *k, ci_span op, ci_span name, const ci_value *const *v, int n, int *rank,
                            int64_t *dims) {
  (void)op, (void)name;
  return ci_k_broadcast(k, v, n, rank, dims);
}
void *ci_k_private_more(ci_kernel *k, size_t bytes) {
  free(k->private_more);
  return k->private_more = calloc(1, bytes);
}

bool ci_span_is(ci_span span, const char *text) {
  return span.length == strlen(text) && memcmp(span.data, text, span.length) == 0;
}
int ci_k_version(const ci_kernel *k) {
  (void)k;
  return 18;
}
ci_status ci_k_out(ci_kernel *k, int i, int32_t dtype, int rank, const int64_t *dims) {
  harness_dims(k->out[i], dtype, rank, dims);
  return CI_OK;
}
ci_status ci_k_out_like(ci_kernel *k, int i, int32_t dtype, const ci_value *shape_of) {
  return ci_k_out(k, i, dtype, shape_of->rank, shape_of->dims);
}
void ci_k_in_place(ci_kernel *k, int o, int i) { (void)k, (void)o, (void)i; }
void *ci_k_private(ci_kernel *k, size_t bytes) {
  k->private_memory = calloc(1, bytes);
  return k->private_memory;
}
ci_status ci_k_known_ints(ci_kernel *k, int i, int64_t *values, int most, int *count) {
  const ci_value *v = k->in[i];
  *count = (int)v->count;
  for (int j = 0; j < v->count && j < most; j++) {
    values[j] = v->dtype == CI_INT64 ? ((const int64_t *)v->data)[j] : ((const int32_t *)v->data)[j];
  }
  return CI_OK;
}
bool ci_k_known(const ci_kernel *k, int i) { return k->in[i]->data != NULL; }
void ci_k_parallel(ci_kernel *k, int64_t n, int64_t grain, ci_part_fn fn, void *argument) {
  (void)grain;
  const int64_t parts = k->threads < n ? k->threads : n;
  for (int64_t i = 0; i < parts; i++) fn(argument, n * i / parts, n * (i + 1) / parts, (int)i);
}
void ci_k_parallel_rows(ci_kernel *k, int64_t n, int64_t grain, ci_part_fn fn, void *argument) {
  ci_k_parallel(k, n, grain, fn, argument);
}
ci_status ci_k_fail(ci_kernel *k, ci_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)k;
  vsnprintf(harness_current->error.message, sizeof harness_current->error.message, format, arguments);
  va_end(arguments);
  return status;
}
ci_status ci_k_no_memory(ci_kernel *k) { return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "out of memory"); }
const char *ci_value_describe(const ci_value *v, char *buffer, size_t size) {
  snprintf(buffer, size, "%s rank %d", ci_dtype_name(v->dtype), (int)v->rank);
  return buffer;
}
ci_status ci_k_axis(ci_kernel *k, int64_t axis, int rank, int *out) {
  if (axis < -rank || axis >= rank) return ci_k_fail(k, CI_INVALID_ARGUMENT, "axis %lld", (long long)axis);
  *out = (int)(axis < 0 ? axis + rank : axis);
  return CI_OK;
}
ci_status ci_k_broadcast(ci_kernel *k, const ci_value *const *v, int n, int *rank, int64_t *dims) {
  *rank = 0;
  for (int i = 0; i < n; i++) *rank = v[i]->rank > *rank ? v[i]->rank : *rank;
  for (int d = 0; d < *rank; d++) {
    dims[d] = 1;
    for (int i = 0; i < n; i++) {
      const int axis = d - (*rank - v[i]->rank);
      if (axis < 0 || v[i]->dims[axis] == 1) continue;
      if (dims[d] != 1 && dims[d] != v[i]->dims[axis]) return ci_k_fail(k, CI_INVALID_ARGUMENT, "shapes");
      dims[d] = v[i]->dims[axis];
    }
  }
  return CI_OK;
}
int64_t ci_shape_count(const int64_t *dims, int begin, int end) {
  int64_t total = 1;
  for (int i = begin; i < end; i++) total *= dims[i];
  return total;
}
size_t ci_dtype_size(int32_t dtype) {
  switch (dtype) {
    case CI_FLOAT:
    case CI_INT32:
    case CI_UINT32: return 4;
    case CI_DOUBLE:
    case CI_INT64:
    case CI_UINT64: return 8;
    default: return 1;
  }
}
const char *ci_dtype_name(int32_t dtype) {
  return dtype == CI_FLOAT ? "float32" : dtype == CI_DOUBLE ? "float64" : "other";
}
#endif
