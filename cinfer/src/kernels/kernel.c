/* kernel.c - the functions of ci_kernel.h: attributes, outputs, memory, errors, random numbers. */
#include <stdio.h>

#include "../plan/compile.h"
#include "../base/guard.h"
#include "../session/session.h"
#include "../system/threads.h"
#include "one_nan.h"
#include "../base/wire.h"

enum {
  KERNEL_SMALL = 1 << 16, /* bytes of private memory that every session has */
  KERNEL_LAST_CODE = 16, /* of gRPC's, which the program's functions may return */
  KERNEL_POOLED = 1 << 11 /* while planning, so much of it comes with the plan's own memory */
};

static const ci_node *kernel_node(const ci_kernel *k) { return k->node->node; }
static const ci_model *kernel_model(const ci_kernel *k) { return k->node->plan->model; }

/* ---- errors ---- */

ci_status ci_k_fail(ci_kernel *k, ci_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  ci_node_vfail(kernel_model(k), kernel_node(k), k->node->as, k->node->plan->error, status, format, arguments);
  va_end(arguments);
  return status;
}

ci_status ci_k_no_memory(ci_kernel *k) { return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "no memory"); }

ci_status ci_k_fail_of(ci_kernel *k, const char *what, ci_status status, ci_error *reported) {
  reported->message[sizeof reported->message - 1] = '\0'; /* the program may have filled it */
  const bool silent = reported->message[0] == '\0';
  if (status < CI_OK || status > KERNEL_LAST_CODE) {
    return ci_k_fail(k, CI_UNKNOWN, "%s returned %d, which is not a status of cinfer.h%s%s", what, (int)status,
                     silent ? "" : ": ", reported->message);
  }
  return silent ? ci_k_fail(k, status, "%s failed", what) : ci_k_fail(k, status, "%s", reported->message);
}

ci_status ci_k_prepare_as(ci_kernel *k, ci_span op, const char *names, ci_status (*prepare)(ci_kernel *k)) {
  const ci_span *name;
  int count;
  CI_TRY(ci_k_attr_strings(k, names, &name, &count));
  const ci_as as = {op, count > 0 ? name[0] : (ci_span){NULL, 0}};
  const ci_as *before = k->node->as;
  k->node->as = &as;
  const ci_status status = prepare(k);
  k->node->as = before;
  return status;
}

/* ---- attributes ---- */

int ci_k_version(const ci_kernel *k) { return (int)ci_node_read(kernel_model(k), kernel_node(k)).version; }

static const ci_attr *kernel_attr(const ci_kernel *k, const char *name) {
  return ci_attr_find(kernel_model(k), kernel_node(k), name);
}

bool ci_k_has(const ci_kernel *k, const char *name) { return kernel_attr(k, name) != NULL; }

static ci_status kernel_wrong_kind(ci_kernel *k, const char *name, const char *kind) {
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute %s is not %s", name, kind);
}

ci_status ci_k_attr_i(ci_kernel *k, const char *name, int64_t fallback, int64_t *value) {
  const ci_attr *attr = kernel_attr(k, name);
  *value = fallback;
  if (attr == NULL) return CI_OK;
  if (attr->kind != CI_PB_ATTRIBUTEVALUE_I) return kernel_wrong_kind(k, name, "an integer");
  *value = attr->as.i;
  return CI_OK;
}

ci_status ci_k_attr_f(ci_kernel *k, const char *name, double fallback, double *value) {
  const ci_attr *attr = kernel_attr(k, name);
  *value = fallback;
  if (attr == NULL) return CI_OK;
  if (attr->kind != CI_PB_ATTRIBUTEVALUE_F && attr->kind != CI_PB_ATTRIBUTEVALUE_D) {
    return kernel_wrong_kind(k, name, "a float");
  }
  *value = attr->as.f;
  return CI_OK;
}

ci_status ci_k_attr_s(ci_kernel *k, const char *name, const char *fallback, ci_span *value) {
  const ci_attr *attr = kernel_attr(k, name);
  *value = fallback == NULL ? (ci_span){NULL, 0} : (ci_span){fallback, strlen(fallback)};
  if (attr == NULL) return CI_OK;
  if (attr->kind != CI_PB_ATTRIBUTEVALUE_S) return kernel_wrong_kind(k, name, "a string");
  *value = ci_stored_bytes(kernel_model(k), attr->as.at);
  return CI_OK;
}

ci_status ci_k_attr_ints(ci_kernel *k, const char *name, const int64_t **values, int *count) {
  const ci_attr *attr = kernel_attr(k, name);
  *values = NULL;
  *count = -1;
  if (attr == NULL) return CI_OK;
  if (attr->kind != CI_PB_ATTRIBUTEVALUE_INTS || attr->count > INT32_MAX) {
    return kernel_wrong_kind(k, name, "a list of integers");
  }
  if (attr->count > 0) *values = kernel_model(k)->ints.at + attr->as.first;
  *count = (int)attr->count;
  return CI_OK;
}

ci_status ci_k_attr_floats(ci_kernel *k, const char *name, const float **values, int *count) {
  const ci_attr *attr = kernel_attr(k, name);
  *values = NULL;
  *count = -1;
  if (attr == NULL) return CI_OK;
  const bool empty = attr->kind == CI_PB_ATTRIBUTEVALUE_INTS && attr->count == 0; /* a list of nothing has no kind */
  if ((attr->kind != CI_PB_ATTRIBUTEVALUE_FLOATS && !empty) || attr->count > INT32_MAX) {
    return kernel_wrong_kind(k, name, "a list of floats");
  }
  if (attr->count > 0) *values = kernel_model(k)->floats.at + attr->as.first;
  *count = (int)attr->count;
  return CI_OK;
}

ci_status ci_k_attr_strings(ci_kernel *k, const char *name, const ci_span **values, int *count) {
  const ci_attr *attr = kernel_attr(k, name);
  *values = NULL;
  *count = -1;
  if (attr == NULL) return CI_OK;
  if (attr->kind != CI_PB_ATTRIBUTEVALUE_STRINGS || attr->count > INT32_MAX) {
    return kernel_wrong_kind(k, name, "a list of strings");
  }
  if (attr->count > 0) *values = kernel_model(k)->strings.at + attr->as.first;
  *count = (int)attr->count;
  return CI_OK;
}

ci_status ci_k_attr_stored(ci_kernel *k, const char *name, ci_value *value) {
  const ci_attr *attr = kernel_attr(k, name);
  *value = (ci_value){.rank = -1};
  if (attr == NULL) return CI_OK;
  if (attr->kind != CI_PB_ATTRIBUTEVALUE_T && attr->kind != CI_PB_ATTRIBUTEVALUE_TENSOR) {
    return kernel_wrong_kind(k, name, "a tensor");
  }
  const ci_constant *constant = &kernel_model(k)->constants.at[attr->as.constant];
  ci_status status = ci_session_check_constant(k->node->plan->session, attr->as.constant, NULL);
  if (status != CI_OK) return ci_k_fail(k, status, "the bytes of attribute %s in the model file are damaged", name);
  *value = ci_constant_value(constant);
  return CI_OK;
}

ci_status ci_k_attr_tensor(ci_kernel *k, const char *name, ci_value *value) {
  CI_TRY(ci_k_attr_stored(k, name, value));
  ci_model *model = k->node->plan->session->model;
  if (value->rank < 0 || value->data == NULL) return CI_OK;
  value->data =
      (void *)(uintptr_t)ci_pack_constant_plain(model, &model->constants.at[kernel_attr(k, name)->as.constant]);
  return value->data == NULL ? ci_k_no_memory(k) : CI_OK;
}

/* ---- outputs ---- */

ci_status ci_k_out(ci_kernel *k, int i, int32_t dtype, int rank, const int64_t *dims) {
  size_t item = ci_dtype_size(dtype), bytes = item;
  ci_value *out = k->out[i];
  if (item == 0) return ci_k_fail(k, CI_UNIMPLEMENTED, "elements of type %s", ci_dtype_name(dtype));
  if (rank < 0 || rank > CI_MAX_RANK) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "output %d has rank %d, the limit is %d", i, rank, CI_MAX_RANK);
  }
  bool empty = false;
  for (int d = 0; d < rank; d++) {
    if (dims[d] < 0) return ci_k_fail(k, CI_INVALID_ARGUMENT, "output %d has dimension %lld", i, (long long)dims[d]);
    if (dims[d] == 0) empty = true;
  }
  for (int d = 0; d < rank && !empty; d++) {
    if ((uint64_t)dims[d] > SIZE_MAX || !ci_mul_size(bytes, (uint64_t)dims[d], &bytes) || bytes > PTRDIFF_MAX) {
      return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "output %d is larger than this machine can hold", i);
    }
  }
  if (empty) bytes = 0;
  if (bytes > k->node->plan->session->limits.max_memory) {
    return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "output %d of %zu bytes exceeds the session's limit of %llu", i, bytes,
                     (unsigned long long)k->node->plan->session->limits.max_memory);
  }
  out->dtype = dtype;
  out->rank = rank;
  for (int d = 0; d < rank; d++) out->dims[d] = dims[d];
  out->bytes = bytes;
  out->count = (int64_t)(bytes / item);
  return CI_OK;
}

static ci_status kernel_out_held(ci_kernel *k, int i, int32_t dtype, size_t bytes) {
  if (bytes > k->node->plan->session->limits.max_memory) {
    return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "output %d of %zu bytes exceeds the session's limit of %llu", i, bytes,
                     (unsigned long long)k->node->plan->session->limits.max_memory);
  }
  *k->out[i] = (ci_value){.dtype = dtype, .rank = 1, .dims = {(int64_t)bytes}, .bytes = bytes, .count = (int64_t)bytes};
  return CI_OK;
}

ci_status ci_k_out_sequence(ci_kernel *k, int i, size_t bytes) { return kernel_out_held(k, i, CI_SEQUENCE, bytes); }

ci_status ci_k_out_nothing(ci_kernel *k, int i) { return kernel_out_held(k, i, CI_NOTHING, 0); }

ci_status ci_k_out_like(ci_kernel *k, int i, int32_t dtype, const ci_value *shape_of) {
  if (ci_holds(dtype) && dtype == shape_of->dtype) return kernel_out_held(k, i, dtype, shape_of->bytes);
  return ci_k_out(k, i, dtype, shape_of->rank, shape_of->dims);
}

void ci_k_alias(ci_kernel *k, int o, int i) { k->node->alias[o] = i; }

static void kernel_offer(ci_kernel *k, int o, int i, bool alone) {
  /* An offer that is dropped for lack of memory only loses an optimisation. */
  if (!k->node->dynamic && !k->node->widens)
    (void)ci_plan_offer(k->node->plan, ci_plan_value_of(k->out[o]), ci_plan_value_of(k->in[i]), k->node->begin, alone);
}

void ci_k_in_place(ci_kernel *k, int o, int i) { kernel_offer(k, o, i, false); }

void ci_k_in_place_alone(ci_kernel *k, int o, int i) {
  if (k->node->dynamic || k->node->widens) return;
  for (int j = 0; j < k->n_in; j++) {
    if (j != i && k->in[j] != NULL && ci_plan_value_of(k->in[j])->root == ci_plan_value_of(k->in[i])->root) return;
  }
  kernel_offer(k, o, i, true);
}

static void *kernel_memory(ci_kernel *k, size_t bytes, void **memory, size_t *held, bool *pooled) {
  const ci_allocator *allocator = &k->node->plan->session->allocator;
  if (*memory != NULL && *held >= bytes) {
    CI_PERMIT(*memory, *held);
    memset(*memory, 0, *held);
    CI_FORBID((char *)*memory + bytes, *held - bytes);
    return *memory;
  }
  ci_plan *plan = k->node->plan;
  if (!*pooled) ci_release(allocator, *memory, *held);
  *pooled = plan->compiler != NULL && bytes <= KERNEL_POOLED;
  if (*pooled) {
    *memory = ci_pool_alloc(&plan->pool, bytes);
    *held = *memory == NULL ? 0 : bytes;
    return *memory;
  }
  const bool fits = bytes <= KERNEL_SMALL || bytes <= k->node->plan->session->limits.max_memory;
  *memory = fits ? ci_alloc(allocator, bytes) : NULL;
  *held = *memory == NULL ? 0 : bytes;
  return *memory;
}

void *ci_k_private(ci_kernel *k, size_t bytes) {
  return kernel_memory(k, bytes, &k->private_memory, &k->node->private_bytes, &k->node->private_pooled);
}

void *ci_k_private_more(ci_kernel *k, size_t bytes) {
  return kernel_memory(k, bytes, &k->private_more, &k->node->more_bytes, &k->node->more_pooled);
}

ci_status ci_k_fix(ci_kernel *k, int o, void *data) {
  ci_plan_value *plan_value = ci_plan_value_of(k->out[o]);
  int32_t buffer = ci_plan_buffer(k->node->plan, CI_HOME_FIXED, 0);
  if (buffer == CI_NONE) return ci_k_no_memory(k);
  ci_plan_own(k->node->plan, plan_value, buffer);
  plan_value->value.data = data;
  return CI_OK;
}

/* ---- values that are known in prepare ---- */

enum { KERNEL_READ_FREE = 256 }; /* bytes that are about as much as a node takes in a file */

bool ci_k_may_read(const ci_kernel *k, uint64_t work) {
  ci_compiler *c = k->node->plan->compiler;
  return c == NULL || work <= KERNEL_READ_FREE || ci_plan_may_read(c, work);
}

bool ci_k_known(const ci_kernel *k, int i) {
  const ci_value *v = i < k->n_in ? k->in[i] : NULL;
  if (v == NULL || v->data == NULL) return false;
  /* Of a sequence, prepare reads types and shapes of its tensors, not their elements. */
  const uint64_t bytes = v->dtype == CI_SEQUENCE ? (uint64_t)v->count * sizeof(ci_tensor) : v->bytes;
  if (!ci_k_may_read(k, bytes)) return false;
  uint64_t length = 0;
  for (int64_t n = 0; v->dtype == CI_STRING && n < v->count; n++) length += ((const ci_string *)v->data)[n].length;
  return ci_k_may_read(k, length);
}

ci_status ci_k_known_ints(ci_kernel *k, int i, int64_t *values, int most, int *count) {
  const ci_value *v = k->in[i];
  *count = 0;
  if (v->dtype != CI_INT32 && v->dtype != CI_INT64) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "input %d is %s, expected int32 or int64", i, ci_dtype_name(v->dtype));
  }
  if (v->rank > 1 || v->count > most) {
    char str[160];
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "input %d is %s, expected a list of at most %d numbers", i,
                     ci_value_describe(v, str, sizeof str), most);
  }
  if (v->data == NULL) return CI_PENDING;
  *count = (int)v->count;
  for (int n = 0; n < *count; n++) {
    if (v->dtype == CI_INT64) {
      memcpy(&values[n], (const char *)v->data + 8 * n, 8); /* a caller's array may have any alignment */
    } else {
      int32_t small;
      memcpy(&small, (const char *)v->data + 4 * n, 4);
      values[n] = small;
    }
  }
  return CI_OK;
}

/* ---- parallel parts ---- */

void ci_k_parallel(ci_kernel *k, int64_t n, int64_t grain, ci_part_fn fn, void *argument) {
  if (n <= 0) return;
  int64_t most = grain > 0 ? n / grain : n;
  int64_t parts = most < k->threads ? most : k->threads;
  struct ci_session *session = k->node->plan->session;
  if (parts <= 1) {
    fn(argument, 0, n, 0);
  } else if (session->executor.run != NULL) {
    session->stats.handed_out++;
    ci_threads_host(&session->executor, (int)parts, n, fn, argument);
  } else { /* more than one is allowed only where there are threads */
    session->stats.handed_out++;
    ci_threads_run(session->threads, (int)parts, n, fn, argument);
  }
}

/* Pieces that stay in the first-level cache, together with their inputs. */
enum { KERNEL_ROWS_BYTES = 1 << 13 };

typedef struct kernel_rows {
  const ci_kernel *k;
  ci_part_fn fn;
  void *argument;
  int64_t n;
} kernel_rows;

static void kernel_rows_part(void *argument, int64_t begin, int64_t end, int thread) {
  const kernel_rows *r = argument;
  const ci_value *y = r->k->out[0];
  const size_t row = y->bytes / (size_t)r->n;
  const int64_t step = row < KERNEL_ROWS_BYTES ? (int64_t)(KERNEL_ROWS_BYTES / row) : 1;
  for (int64_t i = begin; i < end; i += step) {
    const int64_t last = end - i < step ? end : i + step;
    char *first = (char *)y->data + (size_t)i * row;
    r->fn(r->argument, i, last, thread);
    ci_one_nan(r->k->isa, first, (size_t)(last - i) * row, y->dtype);
  }
}

void ci_k_parallel_rows(ci_kernel *k, int64_t n, int64_t grain, ci_part_fn fn, void *argument) {
  if (k->one_nan == NULL || *k->one_nan || n <= 0 || k->out[0]->bytes == 0) {
    ci_k_parallel(k, n, grain, fn, argument);
    return;
  }
  kernel_rows rows = {k, fn, argument, n};
  ci_k_parallel(k, n, grain, kernel_rows_part, &rows);
  *k->one_nan = true;
}

void ci_k_repeats(ci_kernel *k, const ci_value *x) {
  if (k->one_nan != NULL && x->bytes < k->out[0]->bytes) *k->one_nan = ci_has_one_nan(k->isa, x);
}

/* ---- random numbers ---- */

ci_status ci_k_draw(ci_kernel *k, ci_span generator, uint64_t blocks, uint64_t *key, uint64_t *counter) {
  ci_state *state = k->node->plan->state;
  int index = ci_state_find_random(state, generator);
  if (index < 0) {
    return ci_k_fail(k, CI_NOT_FOUND, "the model has no random generator '%.*s'", CI_SPAN_ARG(generator));
  }
  ci_random *random = ci_state_random(state, index);
  ci_state_random_start(state, random);
  *key = random->now.key;
  *counter = random->now.counter;
  random->now.counter += blocks;
  return CI_OK;
}
