/* control.c - If, Loop and Scan: operators with bodies. */
#include "../../plan/compile.h"

static bool control_same_shape(const ci_value *a, const ci_value *b) {
  return a->rank >= 0 && a->dtype == b->dtype && ci_shape_same(a->rank, a->dims, b->rank, b->dims);
}

/* Gives a plan value a separate buffer, in the arena if its shape is known. */
static ci_status control_buffer(ci_kernel *k, ci_plan_value *plan_value) {
  ci_plan *plan = k->node->plan;
  int32_t buffer =
      ci_plan_buffer(plan, plan_value->value.rank < 0 ? CI_HOME_HEAP : CI_HOME_ARENA, plan_value->value.bytes);
  if (buffer == CI_NONE) return ci_k_no_memory(k);
  ci_plan_own(plan, plan_value, buffer);
  plan_value->made = k->node->begin;
  return CI_OK;
}

static ci_status control_unknown(ci_kernel *k, int o, int32_t dtype) {
  k->out[o]->dtype = dtype;
  k->out[o]->rank = -1;
  return control_buffer(k, ci_plan_value_of(k->out[o]));
}

/* Leaves an error inside a body to the run, which reports it if it gets there, as of any other step of a body. */
static ci_status control_later(const ci_kernel *k, ci_status status) {
  return status == CI_PENDING || k->node->node->graph != 0 ? CI_OK : status;
}

/* An output whose shape is known if `status` is CI_OK. */
static ci_status control_joined(ci_kernel *k, int o, ci_status status, int32_t dtype, int rank, const int64_t *dims) {
  if (status == CI_OK) status = ci_k_out(k, o, dtype, rank, dims);
  CI_TRY(control_later(k, status));
  return status == CI_OK ? control_buffer(k, ci_plan_value_of(k->out[o])) : control_unknown(k, o, dtype);
}

static ci_status control_like(ci_kernel *k, int o, const ci_value *value) {
  CI_TRY(ci_k_out_like(k, o, value->dtype, value));
  return control_buffer(k, ci_plan_value_of(k->out[o]));
}

static ci_status control_bool(ci_kernel *k, const ci_value *value, const char *what, bool *truth) {
  if (value->dtype != CI_BOOL || value->count != 1) {
    char str[160];
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s is %s, expected one bool", what,
                     ci_value_describe(value, str, sizeof str));
  }
  *truth = *(const uint8_t *)value->data != 0;
  return CI_OK;
}

/* ---- If ---- */

enum { CONTROL_THEN, CONTROL_ELSE };

static ci_status if_branch(ci_kernel *k, int body, const char *name) {
  CI_TRY(ci_compile_frame(k, body, name));
  const ci_frame *frame = k->node->bodies[body];
  if (frame->formal_count != 0 || frame->output_count != k->n_out) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s has %d inputs and %d outputs, expected none and %d", name,
                     (int)frame->formal_count, (int)frame->output_count, k->n_out);
  }
  return ci_compile_frame_nodes(k, body);
}

ci_status ci_prepare_if(ci_kernel *k) {
  ci_plan *plan = k->node->plan;
  CI_TRY(if_branch(k, CONTROL_THEN, "then_branch"));
  CI_TRY(if_branch(k, CONTROL_ELSE, "else_branch"));
  int32_t end = (int32_t)plan->compiler->step_at.count; /* the position that this step's end will have */
  for (int o = 0; o < k->n_out; o++) {
    const ci_plan_value *yes = k->node->bodies[CONTROL_THEN]->outputs[o],
                        *no = k->node->bodies[CONTROL_ELSE]->outputs[o];
    ci_plan_note_reader(plan, ci_plan_value_index(plan, yes), end);
    ci_plan_note_reader(plan, ci_plan_value_index(plan, no), end);
    if (control_same_shape(&yes->value, &no->value)) {
      CI_TRY(control_like(k, o, &yes->value));
    } else {
      CI_TRY(control_unknown(k, o, yes->value.dtype));
    }
  }
  return CI_OK;
}

ci_status ci_run_if(ci_kernel *k) {
  bool yes = false;
  CI_TRY(control_bool(k, k->in[0], "the condition", &yes));
  ci_frame *frame = k->node->bodies[yes ? CONTROL_THEN : CONTROL_ELSE];
  CI_TRY(ci_execute_frame(frame));
  for (int o = 0; o < k->n_out; o++) CI_TRY(ci_heap_copy(k, k->out[o], &frame->outputs[o]->value));
  ci_heap_release_frame(frame);
  return CI_OK;
}

/* ---- Loop ---- */

enum { LOOP_TRIPS, LOOP_CONDITION, LOOP_VALUES }; /* inputs; the formal inputs are iteration, condition, values */

typedef struct scan_way { /* how a Scan cuts an input or joins an output */
  int64_t axis;
  bool backward;
} scan_way;

/* results of earlier attempts at a loop, which is compiled again with the bodies around it */
typedef struct loop_known {
  int32_t failures;
  bool grows[]; /* [carried]: its shape is not known before the run */
} loop_known;

enum { LOOP_MOST_FAILURES = 4 };

typedef struct loop_plan { /* the step's private memory, of a Scan too */
  int32_t head; /* where the carried values begin among the inputs and the formal inputs: 0 for Scan */
  int32_t results; /* and among the outputs of the body */
  int32_t sliced; /* Scan's inputs that are cut, after the carried ones */
  scan_way *ways; /* [sliced + scans] of a Scan */
  int64_t iteration; /* the value of the formal inputs */
  uint8_t condition;
  int32_t carried, scans;
  bool *grows; /* those of `known` */
  loop_known *known;
  /* [carried]: buffer for the next value of one that grows, or of one that another copy would overwrite; else CI_NONE
   */
  int32_t *staged;
  ci_value *next; /* [carried]: shapes of staged values */
  size_t *filled; /* [scans]: bytes that are there */
} loop_plan;

static loop_known *loop_remember(ci_kernel *k, size_t carried) {
  ci_compiler *c = k->node->plan->compiler;
  const size_t node = (size_t)(k->node->node - c->model->nodes.at);
  if (c->loops == NULL) c->loops = ci_alloc(c->allocator, c->model->nodes.count * sizeof *c->loops);
  if (c->loops == NULL) return NULL;
  if (c->loops[node] == NULL) c->loops[node] = ci_pool_alloc(&c->plan->pool, sizeof(loop_known) + carried);
  return c->loops[node];
}

static loop_plan *loop_make(ci_kernel *k, int head, int sliced) {
  size_t carried = (size_t)(k->n_in - head - sliced), scans = (size_t)k->n_out - carried;
  ci_pool *pool = &k->node->plan->pool;
  loop_plan *loop = ci_k_private(k, sizeof *loop);
  if (loop == NULL) return NULL;
  loop->head = head;
  loop->results = head > 0 ? 1 : 0;
  loop->sliced = sliced;
  loop->carried = (int32_t)carried;
  loop->scans = (int32_t)scans;
  loop->known = loop_remember(k, carried);
  loop->grows = loop->known == NULL ? NULL : loop->known->grows;
  loop->staged = ci_pool_alloc(pool, carried * sizeof *loop->staged);
  loop->next = ci_pool_alloc(pool, carried * sizeof *loop->next);
  loop->filled = ci_pool_alloc(pool, scans * sizeof *loop->filled);
  loop->ways = ci_pool_alloc(pool, ((size_t)sliced + scans) * sizeof *loop->ways);
  bool whole = loop->grows != NULL && loop->staged != NULL && loop->next != NULL && loop->filled != NULL;
  return whole && loop->ways != NULL ? loop : NULL;
}

static ci_status loop_check(ci_kernel *k) {
  const ci_frame *frame = k->node->bodies[0];
  int values = k->n_in - LOOP_VALUES;
  if (k->n_out < values || frame->formal_count != k->n_in || frame->output_count != k->n_out + 1) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "%d inputs and %d outputs with a body of %d inputs and %d outputs: the body needs %d and %d",
                     k->n_in, k->n_out, (int)frame->formal_count, (int)frame->output_count, k->n_in, k->n_out + 1);
  }
  const ci_value *trips = k->in[LOOP_TRIPS];
  if (trips != NULL && (trips->dtype != CI_INT64 || (trips->rank >= 0 && trips->count != 1))) {
    char str[160];
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the trip count is %s, expected one int64",
                     ci_value_describe(trips, str, sizeof str));
  }
  return CI_OK;
}

/* The iteration number and the condition, which the step itself refills. */
static ci_status loop_scalar(ci_kernel *k, ci_plan_value *plan_value, int32_t dtype, void *data) {
  ci_plan *plan = k->node->plan;
  size_t bytes = ci_dtype_size(dtype);
  int32_t buffer = ci_plan_buffer(plan, CI_HOME_OWNED, bytes);
  if (buffer == CI_NONE) return ci_k_no_memory(k);
  plan->buffers.at[buffer].block = data;
  plan_value->value = (ci_value){.dtype = dtype, .count = 1, .bytes = bytes};
  plan_value->made = k->node->begin;
  plan_value->last_read = CI_NONE;
  ci_plan_own(plan, plan_value, buffer);
  return CI_OK;
}

/* A carried value: the formal input's buffer is the output's too, so that the last iteration leaves it there. */
static ci_status loop_carried(ci_kernel *k, loop_plan *loop, int i) {
  ci_plan *plan = k->node->plan;
  const ci_value *start = k->in[loop->head + i];
  ci_plan_value *formal = k->node->bodies[0]->formals[loop->head + i], *output = ci_plan_value_of(k->out[i]);
  formal->value = *start;
  formal->value.data = NULL;
  if (loop->grows[i]) formal->value.rank = -1;
  formal->last_read = CI_NONE;
  CI_TRY(control_buffer(k, formal));
  plan->buffers.at[formal->buffer].carried = ci_plan_value_index(plan, formal);
  loop->staged[i] = CI_NONE;
  if (formal->value.rank < 0) {
    loop->grows[i] = true;
    loop->staged[i] = ci_plan_buffer(plan, CI_HOME_HEAP, 0);
    if (loop->staged[i] == CI_NONE) return ci_k_no_memory(k);
    CI_TRY(control_unknown(k, i, start->dtype));
  } else {
    CI_TRY(control_like(k, i, start));
  }
  plan->buffers.at[output->buffer].same_as = formal->buffer;
  return CI_OK;
}

/* The shape of one piece of the input that a Scan cuts. */
static ci_status scan_slice_shape(ci_kernel *k, const loop_plan *loop, int i, ci_value *one) {
  const ci_value *whole = k->in[loop->carried + i];
  size_t bytes = ci_dtype_size(whole->dtype);
  int axis = 0;
  if (bytes == 0) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "input %d is %s, which cannot be cut into steps", loop->carried + i,
                     ci_dtype_name(whole->dtype));
  }
  CI_TRY(ci_k_axis(k, loop->ways[i].axis, whole->rank, &axis));
  *one = (ci_value){.dtype = whole->dtype, .rank = whole->rank - 1, .count = 1};
  bool fits = true, empty = false;
  for (int32_t d = 0; d < one->rank; d++) {
    one->dims[d] = whole->dims[d < axis ? d : d + 1];
    if (one->dims[d] == 0) empty = true;
  }
  for (int32_t d = 0; d < one->rank && !empty; d++) fits = fits && ci_mul_size(bytes, (uint64_t)one->dims[d], &bytes);
  if (!fits || bytes > k->node->plan->session->limits.max_memory) {
    return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "one step of input %d is larger than this session may hold",
                     loop->carried + i);
  }
  one->bytes = empty ? 0 : bytes;
  one->count = (int64_t)(one->bytes / ci_dtype_size(whole->dtype));
  return CI_OK;
}

/* A piece of an input that a Scan cuts: refilled before every iteration. */
static ci_status scan_formal(ci_kernel *k, const loop_plan *loop, int i) {
  ci_plan *plan = k->node->plan;
  const ci_value *whole = k->in[loop->carried + i];
  ci_plan_value *formal = k->node->bodies[0]->formals[loop->carried + i];
  ci_status status = whole->rank >= 0 ? scan_slice_shape(k, loop, i, &formal->value) : CI_PENDING;
  if (status != CI_OK) formal->value = (ci_value){.dtype = whole->dtype, .rank = -1};
  CI_TRY(control_later(k, status));
  formal->last_read = CI_NONE;
  CI_TRY(control_buffer(k, formal));
  plan->buffers.at[formal->buffer].carried = ci_plan_value_index(plan, formal); /* it is not the buffer of a result */
  return CI_OK;
}

static ci_status loop_formals(ci_kernel *k, loop_plan *loop) {
  ci_frame *frame = k->node->bodies[0];
  if (loop->head > 0) {
    CI_TRY(loop_scalar(k, frame->formals[LOOP_TRIPS], CI_INT64, &loop->iteration));
    CI_TRY(loop_scalar(k, frame->formals[LOOP_CONDITION], CI_BOOL, &loop->condition));
  }
  for (int i = 0; i < loop->carried; i++) CI_TRY(loop_carried(k, loop, i));
  for (int i = 0; i < loop->sliced; i++) CI_TRY(scan_formal(k, loop, i));
  return CI_OK;
}

/* Compiles the body; *again if a carried value turns out to change its shape. */
static ci_status loop_try(ci_kernel *k, loop_plan *loop, bool *again) {
  ci_plan *plan = k->node->plan;
  ci_plan_mark mark = ci_plan_mark_now(plan);
  ci_frame *frame = k->node->bodies[0];
  *again = false;
  CI_TRY(loop_formals(k, loop));
  CI_TRY(ci_compile_frame_nodes(k, 0));
  for (int i = 0; i < loop->carried; i++) {
    const ci_value *result = &frame->outputs[loop->results + i]->value;
    if (loop->grows[i] || control_same_shape(result, &frame->formals[loop->head + i]->value)) continue;
    loop->grows[i] = true;
    *again = true;
  }
  if (*again) ci_plan_forget(plan, mark);
  return CI_OK;
}

static ci_status loop_compile(ci_kernel *k, loop_plan *loop) {
  bool again = true;
  if (ci_compile_is_deep(k)) {
    for (int i = 0; i < loop->carried; i++) loop->grows[i] = true;
  }
  for (int attempt = 0; again; attempt++) {
    if (attempt == 2 ||
        loop->known->failures >= LOOP_MOST_FAILURES) { /* a value that grows makes others grow: take all for such */
      for (int i = 0; i < loop->carried; i++) loop->grows[i] = true;
    }
    CI_TRY(loop_try(k, loop, &again));
    loop->known->failures += again;
  }
  return CI_OK;
}

/* Whether the number of iterations is known: a constant count, and a condition that is always true. */
static bool loop_trips_known(const ci_kernel *k, int64_t *trips) {
  const ci_frame *frame = k->node->bodies[0];
  const ci_plan_value *result = frame->outputs[0], *formal = frame->formals[LOOP_CONDITION];
  if (k->in[LOOP_TRIPS] == NULL || k->in[LOOP_TRIPS]->data == NULL) return false;
  const ci_value *start = k->in[LOOP_CONDITION];
  if (start != NULL && (start->data == NULL || start->count != 1 || *(const uint8_t *)start->data == 0)) return false;
  bool passes = k->node->plan->plan_values + result->root == formal;
  bool is_true = result->value.data != NULL && result->value.dtype == CI_BOOL && result->value.count == 1 &&
                 *(const uint8_t *)result->value.data != 0;
  memcpy(trips, k->in[LOOP_TRIPS]->data, sizeof *trips);
  if (*trips < 0) *trips = 0;
  return passes || is_true;
}

/* The value that a scan output would get in an iteration, by the type that the body declares: unknown dimensions are
 * 0. Where there is no iteration this is its shape, and not one that is inferred from the body, so that it is the same
 * in both engines. */
static ci_value loop_scan_type(ci_kernel *k, const loop_plan *loop, int s) {
  const ci_model *m = k->node->plan->model;
  const ci_graph *graph = &m->graphs.at[k->node->bodies[0]->graph];
  int32_t edge = m->refs.at[graph->outputs + (uint32_t)(loop->results + loop->carried + s)];
  ci_type type = {.rank = -1};
  if (ci_type_parse(ci_stored_bytes(m, m->edges.at[edge].type), &type, NULL) != CI_OK || type.rank < 0) type.rank = 0;
  ci_value one = {.dtype = type.dtype != 0 ? type.dtype : k->out[loop->carried + s]->dtype, .rank = type.rank};
  for (int32_t d = 0; d < type.rank; d++) one.dims[d] = type.dims[d] < 0 ? 0 : type.dims[d];
  return one;
}

static ci_status loop_scans(ci_kernel *k, const loop_plan *loop) {
  int64_t dims[CI_MAX_RANK];
  bool counted = loop_trips_known(k, &dims[0]);
  for (int s = 0; s < loop->scans; s++) {
    ci_value one = k->node->bodies[0]->outputs[1 + loop->carried + s]->value;
    int o = loop->carried + s;
    if (counted && dims[0] == 0) one = loop_scan_type(k, loop, s);
    const bool known = counted && one.rank >= 0 && one.rank < CI_MAX_RANK;
    if (known) memcpy(dims + 1, one.dims, (size_t)one.rank * sizeof *dims);
    CI_TRY(control_joined(k, o, known ? CI_OK : CI_PENDING, one.dtype, one.rank + 1, dims));
  }
  return CI_OK;
}

/* Results that go back into formal inputs: one that is another formal input's buffer is copied aside first. */
static ci_status loop_results(ci_kernel *k, loop_plan *loop) {
  ci_plan *plan = k->node->plan;
  ci_frame *frame = k->node->bodies[0];
  for (int i = 0; i < loop->carried; i++) {
    ci_plan_value *root = &plan->plan_values[frame->outputs[loop->results + i]->root];
    const ci_plan_value *formal = frame->formals[loop->head + i];
    if (loop->grows[i]) continue;
    plan->buffers.at[formal->buffer].first = k->node->begin; /* also without a reader: it is written every time */
    plan->buffers.at[formal->buffer].last = frame->end;
    if (root == formal) continue;
    bool is_formal =
        root->made == k->node->begin && plan->buffers.at[root->buffer].carried == ci_plan_value_index(plan, root);
    if (!is_formal) {
      if (root->made > k->node->begin) root->result = ci_plan_value_index(plan, formal);
      continue;
    }
    loop->staged[i] = ci_plan_buffer(plan, CI_HOME_ARENA, formal->value.bytes);
    if (loop->staged[i] == CI_NONE) return ci_k_no_memory(k);
    plan->buffers.at[loop->staged[i]].first = k->node->begin;
    plan->buffers.at[loop->staged[i]].last = frame->end;
  }
  return CI_OK;
}

/* Compiles the body and gives every carried value a buffer. */
static ci_status loop_prepare(ci_kernel *k, loop_plan *loop) {
  CI_TRY(loop_compile(k, loop));
  CI_TRY(loop_results(k, loop));
  for (int i = 0; i < loop->carried; i++) { /* the start value's buffer, if it has no other reader */
    ci_plan_value *formal = k->node->bodies[0]->formals[loop->head + i];
    if (!loop->grows[i])
      (void)ci_plan_offer(k->node->plan, formal, ci_plan_value_of(k->in[loop->head + i]), k->node->begin, true);
  }
  return CI_OK;
}

ci_status ci_prepare_loop(ci_kernel *k) {
  CI_TRY(ci_compile_frame(k, 0, "body"));
  CI_TRY(loop_check(k));
  loop_plan *loop = loop_make(k, LOOP_VALUES, 0);
  if (loop == NULL) return ci_k_no_memory(k);
  CI_TRY(loop_prepare(k, loop));
  return loop_scans(k, loop);
}

/* ---- running a Loop ---- */

static ci_status loop_first_values(ci_kernel *k, loop_plan *loop) {
  for (int i = 0; i < loop->carried; i++) {
    CI_TRY(ci_heap_copy(k, &k->node->bodies[0]->formals[loop->head + i]->value, k->in[loop->head + i]));
  }
  for (int s = 0; s < loop->scans; s++) loop->filled[s] = 0;
  return CI_OK;
}

static ci_status loop_start(ci_kernel *k, loop_plan *loop, int64_t *most, bool *go) {
  *most = INT64_MAX;
  *go = true;
  if (k->in[LOOP_TRIPS] != NULL) {
    if (k->in[LOOP_TRIPS]->count != 1) return ci_k_fail(k, CI_INVALID_ARGUMENT, "the trip count is not one number");
    memcpy(most, k->in[LOOP_TRIPS]->data, sizeof *most);
  }
  if (k->in[LOOP_CONDITION] != NULL) CI_TRY(control_bool(k, k->in[LOOP_CONDITION], "the condition", go));
  return loop_first_values(k, loop);
}

/* Sets the shape of a scan output whose length was not known: steps of the shape of `one`. */
static ci_status loop_scan_shape(ci_kernel *k, int o, const ci_value *one, int64_t steps) {
  int64_t dims[CI_MAX_RANK];
  if (one->rank >= CI_MAX_RANK) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "a scan output would have rank %d, the limit is %d", one->rank + 1,
                     CI_MAX_RANK);
  }
  dims[0] = steps;
  memcpy(dims + 1, one->dims, (size_t)one->rank * sizeof *dims);
  return ci_k_out(k, o, one->dtype, one->rank + 1, dims);
}

static ci_status loop_shapes_differ(ci_kernel *k, int s, const ci_value *one, int64_t step) {
  char found[160];
  return ci_k_fail(
      k, CI_INVALID_ARGUMENT,
      "scan output %d is %s in step %lld, another shape than before: pad it to the largest, or keep it out "
      "of the gradient with stop_gradient, for a gradient through a loop stacks the values of its body",
      s, ci_value_describe(one, found, sizeof found), (long long)step);
}

/* Capacity for one step more; it is doubled when it is used up. */
static ci_status loop_scan_grow(ci_kernel *k, const loop_plan *loop, int s, const ci_value *one, int64_t step) {
  ci_value *out = k->out[loop->carried + s];
  ci_buffer *buffer = ci_plan_buffer_of(k->node->plan, out);
  bool same = one->dtype == out->dtype && ci_shape_same(one->rank, one->dims, out->rank - 1, out->dims + 1);
  if (step > 0 && !same) return loop_shapes_differ(k, s, one, step);
  size_t requested = loop->filled[s] + one->bytes; /* both are sizes of memory that exists */
  CI_TRY(loop_scan_shape(k, loop->carried + s, one, step + 1));
  if (step > 0 && requested <= buffer->block_bytes) return CI_OK;
  CI_TRY(ci_heap_grow(k, buffer, loop->filled[s], requested + (step > 0 ? requested : 0)));
  out->data = buffer->block;
  return CI_OK;
}

static ci_status loop_scan_step(ci_kernel *k, loop_plan *loop, int64_t step) {
  for (int s = 0; s < loop->scans; s++) {
    const ci_value *one = &k->node->bodies[0]->outputs[1 + loop->carried + s]->value;
    ci_value *out = k->out[loop->carried + s];
    if (ci_plan_buffer_of(k->node->plan, out)->home == CI_HOME_HEAP) CI_TRY(loop_scan_grow(k, loop, s, one, step));
    if (one->bytes > 0) memcpy((char *)out->data + loop->filled[s], one->data, one->bytes);
    loop->filled[s] += one->bytes;
  }
  return CI_OK;
}

/* Saves values that the copies of loop_carry would overwrite. */
static ci_status loop_stage(ci_kernel *k, loop_plan *loop) {
  ci_plan *plan = k->node->plan;
  for (int i = 0; i < loop->carried; i++) {
    const ci_value *result = &k->node->bodies[0]->outputs[loop->results + i]->value;
    if (loop->staged[i] == CI_NONE) continue;
    ci_buffer *buffer = &plan->buffers.at[loop->staged[i]];
    loop->next[i] = *result;
    if (loop->grows[i]) CI_TRY(ci_heap_grow(k, buffer, 0, result->bytes));
    loop->next[i].data = loop->grows[i] ? buffer->block : plan->session->arena + buffer->offset;
    if (result->bytes > 0) memcpy(loop->next[i].data, result->data, result->bytes);
  }
  return CI_OK;
}

/* Results become the formal inputs of the next iteration. */
static ci_status loop_carry(ci_kernel *k, loop_plan *loop) {
  ci_plan *plan = k->node->plan;
  CI_TRY(loop_stage(k, loop));
  for (int i = 0; i < loop->carried; i++) {
    const ci_value *result = &k->node->bodies[0]->outputs[loop->results + i]->value;
    ci_plan_value *formal = k->node->bodies[0]->formals[loop->head + i];
    if (loop->staged[i] != CI_NONE) result = &loop->next[i];
    if (loop->grows[i]) {
      ci_buffer *now = ci_plan_buffer_of(plan, &formal->value), *next = &plan->buffers.at[loop->staged[i]];
      ci_block old = {now->block, now->block_bytes, NULL};
      now->block = next->block;
      now->block_bytes = next->block_bytes;
      next->block = old.data;
      next->block_bytes = old.bytes;
      ci_buffer_release(plan, next);
      formal->value = *result;
    } else if (result->data != formal->value.data && result->bytes > 0) {
      memcpy(formal->value.data, result->data, result->bytes);
    }
  }
  return CI_OK;
}

static ci_status loop_iterate(ci_kernel *k, loop_plan *loop, int64_t *steps) {
  ci_frame *frame = k->node->bodies[0];
  uint64_t limit = k->node->plan->session->limits.max_loop_steps;
  int64_t most;
  bool go;
  CI_TRY(loop_start(k, loop, &most, &go));
  for (*steps = 0; go && *steps < most; ++*steps) {
    if ((uint64_t)*steps >= limit) {
      return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "more than %llu steps, which is the limit", (unsigned long long)limit);
    }
    loop->iteration = *steps;
    loop->condition = 1;
    CI_TRY(ci_execute_frame(frame));
    CI_TRY(control_bool(k, &frame->outputs[0]->value, "the condition that the body gives", &go));
    CI_TRY(loop_scan_step(k, loop, *steps));
    CI_TRY(loop_carry(k, loop));
    ci_heap_release_frame(frame);
    CI_TRY(ci_execute_go_on(k));
  }
  return CI_OK;
}

/* No iteration: length 0. */
static ci_status loop_scan_empty(ci_kernel *k, const loop_plan *loop, int s) {
  const ci_value one = loop_scan_type(k, loop, s);
  CI_TRY(loop_scan_shape(k, loop->carried + s, &one, 0));
  return ci_heap_value(k, k->out[loop->carried + s]);
}

static void loop_last_values(ci_kernel *k, const loop_plan *loop) {
  for (int i = 0; i < loop->carried; i++) {
    if (loop->grows[i]) *k->out[i] = k->node->bodies[0]->formals[loop->head + i]->value;
  }
}

ci_status ci_run_loop(ci_kernel *k) {
  loop_plan *loop = k->private_memory;
  int64_t steps;
  CI_TRY(loop_iterate(k, loop, &steps));
  loop_last_values(k, loop);
  for (int s = 0; s < loop->scans && steps == 0; s++) {
    if (ci_plan_buffer_of(k->node->plan, k->out[loop->carried + s])->home == CI_HOME_HEAP)
      CI_TRY(loop_scan_empty(k, loop, s));
  }
  return CI_OK;
}

/* ---- Scan ---- */

/* How inputs are cut or outputs joined: `count` ways from the attributes of that side. */
static ci_status scan_ways(ci_kernel *k, const char *axes_name, const char *directions_name, int count,
                           scan_way *ways) {
  const int64_t *axes, *directions;
  int axis_count, direction_count;
  CI_TRY(ci_k_attr_ints(k, axes_name, &axes, &axis_count));
  CI_TRY(ci_k_attr_ints(k, directions_name, &directions, &direction_count));
  const int wrong = axis_count >= 0 && axis_count != count ? axis_count : direction_count;
  if (wrong >= 0 && wrong != count) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute %s has %d values, expected %d",
                     wrong == axis_count && axis_count != count ? axes_name : directions_name, wrong, count);
  }
  for (int i = 0; i < count; i++) {
    const int64_t direction = direction_count < 0 ? 0 : directions[i];
    if (direction != 0 && direction != 1) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute %s has the value %lld, expected 0 or 1", directions_name,
                       (long long)direction);
    }
    ways[i] = (scan_way){axis_count < 0 ? 0 : axes[i], direction == 1};
  }
  return CI_OK;
}

static ci_status scan_check(ci_kernel *k, int *sliced) {
  const ci_frame *frame = k->node->bodies[0];
  int64_t count;
  CI_TRY(ci_k_attr_i(k, "num_scan_inputs", 0, &count));
  if (count < 1 || count > k->n_in) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute num_scan_inputs is %lld with %d inputs", (long long)count,
                     k->n_in);
  }
  const int carried = k->n_in - (int)count;
  if (k->n_out < carried || frame->formal_count != k->n_in || frame->output_count != k->n_out) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "%d inputs and %d outputs, of which %d are carried, with a body of %d inputs and %d outputs",
                     k->n_in, k->n_out, carried, (int)frame->formal_count, (int)frame->output_count);
  }
  *sliced = (int)count;
  return CI_OK;
}

/* The number of iterations, which all inputs that are cut agree on; -1: not known yet. */
static ci_status scan_steps(ci_kernel *k, const loop_plan *loop, int64_t *steps) {
  *steps = -1;
  for (int i = 0; i < loop->sliced; i++) {
    const ci_value *whole = k->in[loop->carried + i];
    int axis = 0;
    if (whole->rank < 0) continue;
    CI_TRY(ci_k_axis(k, loop->ways[i].axis, whole->rank, &axis));
    if (*steps >= 0 && *steps != whole->dims[axis]) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "input %d has %lld steps, another one %lld", loop->carried + i,
                       (long long)whole->dims[axis], (long long)*steps);
    }
    *steps = whole->dims[axis];
  }
  return CI_OK;
}

/* The shape of a joined output from that of one step. */
static ci_status scan_joined(ci_kernel *k, const loop_plan *loop, int s, const ci_value *one, int64_t steps,
                             int64_t *dims) {
  int axis = 0;
  if (one->rank >= CI_MAX_RANK) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "a scan output would have rank %d, the limit is %d", one->rank + 1,
                     CI_MAX_RANK);
  }
  CI_TRY(ci_k_axis(k, loop->ways[loop->sliced + s].axis, one->rank + 1, &axis));
  for (int32_t d = 0; d <= one->rank; d++) dims[d] = d == axis ? steps : one->dims[d < axis ? d : d - 1];
  return CI_OK;
}

static ci_status scan_outputs(ci_kernel *k, const loop_plan *loop) {
  int64_t steps, dims[CI_MAX_RANK];
  const ci_status counted = scan_steps(k, loop, &steps);
  CI_TRY(control_later(k, counted));
  for (int s = 0; s < loop->scans; s++) {
    const int o = loop->carried + s;
    ci_value one = k->node->bodies[0]->outputs[o]->value;
    ci_status status = CI_PENDING;
    if (counted == CI_OK && steps == 0) one = loop_scan_type(k, loop, s);
    if (counted == CI_OK && steps >= 0 && one.rank >= 0) status = scan_joined(k, loop, s, &one, steps, dims);
    CI_TRY(control_joined(k, o, status, one.dtype, one.rank + 1, dims));
  }
  return CI_OK;
}

ci_status ci_prepare_scan(ci_kernel *k) {
  ci_plan *plan = k->node->plan;
  int sliced = 0;
  CI_TRY(ci_compile_frame(k, 0, "body"));
  CI_TRY(scan_check(k, &sliced));
  loop_plan *loop = loop_make(k, 0, sliced);
  if (loop == NULL) return ci_k_no_memory(k);
  CI_TRY(scan_ways(k, "scan_input_axes", "scan_input_directions", sliced, loop->ways));
  CI_TRY(scan_ways(k, "scan_output_axes", "scan_output_directions", loop->scans, loop->ways + sliced));
  CI_TRY(loop_prepare(k, loop));
  const int32_t end = (int32_t)plan->compiler->step_at.count; /* the position that this step's end will have */
  for (int i = 0; i < sliced; i++) { /* read and written before every iteration */
    ci_plan_note_reader(plan, ci_plan_value_index(plan, ci_plan_value_of(k->in[loop->carried + i])), end);
    const ci_plan_value *formal = k->node->bodies[0]->formals[loop->carried + i];
    if (formal->value.rank < 0) continue;
    plan->buffers.at[formal->buffer].first = k->node->begin;
    plan->buffers.at[formal->buffer].last = k->node->bodies[0]->end;
  }
  return scan_outputs(k, loop);
}

/* Copies one step between a complete tensor and its piece. */
static void scan_move(const ci_value *whole, char *piece, const scan_way *way, int64_t step, bool out) {
  if (whole->bytes == 0) return;
  const int axis = (int)(way->axis < 0 ? way->axis + whole->rank : way->axis);
  const int64_t outer = ci_shape_count(whole->dims, 0, axis), steps = whole->dims[axis];
  const size_t inner = (size_t)ci_shape_count(whole->dims, axis + 1, whole->rank) * ci_dtype_size(whole->dtype);
  char *at = (char *)whole->data + (size_t)(way->backward ? steps - 1 - step : step) * inner;
  for (int64_t o = 0; o < outer; o++, at += (size_t)steps * inner, piece += inner) {
    memcpy(out ? at : piece, out ? piece : at, inner);
  }
}

static ci_status scan_take(ci_kernel *k, const loop_plan *loop, int64_t step) {
  for (int i = 0; i < loop->sliced; i++) {
    ci_value *one = &k->node->bodies[0]->formals[loop->carried + i]->value;
    if (ci_plan_buffer_of(k->node->plan, one)->home == CI_HOME_HEAP) {
      CI_TRY(scan_slice_shape(k, loop, i, one));
      CI_TRY(ci_heap_value(k, one));
    }
    scan_move(k->in[loop->carried + i], one->data, &loop->ways[i], step, false);
  }
  return CI_OK;
}

static ci_status scan_give(ci_kernel *k, const loop_plan *loop, int64_t step, int64_t steps) {
  for (int s = 0; s < loop->scans; s++) {
    const ci_value *one = &k->node->bodies[0]->outputs[loop->carried + s]->value;
    ci_value *out = k->out[loop->carried + s];
    int64_t dims[CI_MAX_RANK];
    CI_TRY(scan_joined(k, loop, s, one, steps, dims));
    if (step == 0 && ci_plan_buffer_of(k->node->plan, out)->home == CI_HOME_HEAP) {
      CI_TRY(ci_k_out(k, loop->carried + s, one->dtype, one->rank + 1, dims));
      CI_TRY(ci_heap_value(k, out));
    }
    if (one->dtype != out->dtype || !ci_shape_same(one->rank + 1, dims, out->rank, out->dims))
      return loop_shapes_differ(k, s, one, step);
    scan_move(out, one->data, &loop->ways[loop->sliced + s], step, true);
  }
  return CI_OK;
}

/* No iteration: the outputs that have no shape yet get that of their type. */
static ci_status scan_nothing(ci_kernel *k, const loop_plan *loop) {
  for (int s = 0; s < loop->scans; s++) {
    int64_t dims[CI_MAX_RANK];
    const ci_value one = loop_scan_type(k, loop, s);
    if (ci_plan_buffer_of(k->node->plan, k->out[loop->carried + s])->home != CI_HOME_HEAP) continue;
    CI_TRY(scan_joined(k, loop, s, &one, 0, dims));
    CI_TRY(ci_k_out(k, loop->carried + s, one.dtype, one.rank + 1, dims));
    CI_TRY(ci_heap_value(k, k->out[loop->carried + s]));
  }
  return CI_OK;
}

ci_status ci_run_scan(ci_kernel *k) {
  loop_plan *loop = k->private_memory;
  ci_frame *frame = k->node->bodies[0];
  int64_t steps;
  CI_TRY(scan_steps(k, loop, &steps));
  if ((uint64_t)steps > k->node->plan->session->limits.max_loop_steps) {
    return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "%lld steps are more than the session's limit", (long long)steps);
  }
  CI_TRY(loop_first_values(k, loop));
  for (int64_t step = 0; step < steps; step++) {
    CI_TRY(scan_take(k, loop, step));
    CI_TRY(ci_execute_frame(frame));
    CI_TRY(scan_give(k, loop, step, steps));
    CI_TRY(loop_carry(k, loop));
    ci_heap_release_frame(frame);
    CI_TRY(ci_execute_go_on(k));
  }
  loop_last_values(k, loop);
  return steps == 0 ? scan_nothing(k, loop) : CI_OK;
}
