/* compile.c - compiles a signature, for given input shapes, to the steps of a plan. */
#include "compile.h"
#include "half.h"
#include "kinds.h"
#include "../base/wire.h"

/* A loop around another lets the other be compiled a few times more (loop_known in control.c); bodies deeper than this
 * are compiled once for each of those around them. */
enum { COMPILE_DEEP = 4 };

static ci_status compile_memory(ci_compiler *c) { return ci_needs_no_memory(c->error); }

/* ---- plan values and buffers ---- */

static void compile_blank(ci_plan *plan, int32_t plan_value, int32_t dtype) {
  plan->plan_values[plan_value] = (ci_plan_value){.value = {.dtype = dtype, .rank = -1},
                                                  .root = plan_value,
                                                  .next = CI_NONE,
                                                  .buffer = CI_NONE,
                                                  .made = CI_NONE,
                                                  .last_read = CI_NONE,
                                                  .result = CI_NONE};
}

/* ---- positions ---- */

static ci_status compile_position(ci_compiler *c, ci_step *step, int32_t *position) {
  if (c->step_at.count >= INT32_MAX / 2 || !CI_LIST_GROW(c->allocator, &c->step_at)) return compile_memory(c);
  *position = (int32_t)c->step_at.count;
  c->step_at.at[c->step_at.count++] = step;
  return CI_OK;
}

/* ---- variables ---- */

/* Notes an Assign, which decides how the readers after it see the variable. */
static ci_status compile_note_assign(ci_compiler *c, const ci_step *step) {
  int32_t index = step->slot;
  if (index < 0) return CI_OK; /* in a body, of no variable: the run reports it if it comes here */
  ci_slot_plan *known = &c->slots[index];
  known->before = true;
  known->assigns++;
  known->shape_known = !step->dynamic;
  if (!step->dynamic) {
    known->rank = step->k.in[0]->rank;
    memcpy(known->dims, step->k.in[0]->dims, sizeof known->dims);
  }
  if (!CI_LIST_GROW(c->allocator, &c->assigns)) return compile_memory(c);
  c->assigns.at[c->assigns.count++] = (ci_assigned){index, step->begin};
  return CI_OK;
}

/* A node that the load took for fed, because another signature feeds it, may be of an operator that is not there. */
static ci_status compile_check_kernels(const ci_compiler *c) {
  for (size_t n = 0; n < c->model->nodes.count; n++) {
    const ci_node *node = &c->model->nodes.at[n];
    if (!c->need[n] || node->kernel != NULL) continue;
    return ci_node_fail(c->model, node, c->error, CI_UNIMPLEMENTED, "this cinfer lacks the operator");
  }
  return CI_OK;
}

static void compile_find_assigns(ci_compiler *c) {
  for (size_t n = 0; n < c->model->nodes.count; n++) {
    const ci_node *node = &c->model->nodes.at[n];
    if (!c->need[n] || (node->kernel->flags & CI_OP_ASSIGNS) == 0) continue;
    const ci_attr *name = ci_attr_find(c->model, node, "variable");
    int32_t slot = name == NULL || name->kind != CI_PB_ATTRIBUTEVALUE_S
                       ? -1
                       : ci_state_find(c->plan->state, ci_stored_bytes(c->model, name->as.at));
    if (slot < 0) continue; /* its prepare says so */
    c->slots[slot].assigned = true;
    if (node->graph != 0) c->slots[slot].in_body = true;
  }
}

/* ---- steps ---- */

static ci_plan_value *compile_plan_value(const ci_compiler *c, int32_t edge) {
  return edge == CI_NONE || c->plan_value_of[edge] == CI_NONE ? NULL : &c->plan->plan_values[c->plan_value_of[edge]];
}

/* The plan value that a node writes: one without readers if the caller feeds the value instead. */
static ci_plan_value *compile_output_plan_value(ci_compiler *c, const ci_node *node, int32_t o) {
  int32_t edge = node->outputs + o;
  int32_t plan_value = c->fed[edge] ? c->unread++ : c->plan_value_of[edge];
  compile_blank(c->plan, plan_value, c->model->edges.at[edge].dtype);
  return &c->plan->plan_values[plan_value];
}

static ci_status compile_new_step(ci_compiler *c, const ci_node *node, ci_step **made) {
  ci_plan *plan = c->plan;
  uint32_t input_slots = node->input_count; /* kernels may look at optional inputs that the node does not write */
  if (node->kernel->max_in > 0 && input_slots < (uint32_t)node->kernel->max_in)
    input_slots = (uint32_t)node->kernel->max_in;
  size_t outs = (size_t)node->output_count;
  /* one piece of memory: small plans are made in a microsecond, of which fresh memory is the largest part */
  ci_step *step =
      ci_pool_alloc(&plan->pool, sizeof *step + (input_slots + outs) * sizeof(ci_value *) + outs * sizeof(int32_t));
  if (step == NULL) return compile_memory(c);
  ci_value **in = (ci_value **)(step + 1), **out = in + input_slots;
  int32_t *alias = (int32_t *)(out + outs);
  if (!CI_LIST_GROW(c->allocator, &plan->all_steps)) return compile_memory(c);
  for (uint32_t i = 0; i < node->input_count; i++) {
    ci_plan_value *plan_value = compile_plan_value(c, c->model->refs.at[node->inputs + i]);
    in[i] = plan_value == NULL ? NULL : &plan_value->value;
  }
  for (int32_t o = 0; o < node->output_count; o++) {
    out[o] = &compile_output_plan_value(c, node, o)->value;
    alias[o] = CI_NONE;
  }
  *step = (ci_step){.k = {.n_in = (int)node->input_count,
                          .n_out = (int)node->output_count,
                          .in = in,
                          .out = out,
                          .scratch = step,
                          .isa = c->model->isa,
                          .threads = plan->session->thread_count,
                          .node = step},
                    .run = node->kernel->run,
                    .node = node,
                    .plan = plan,
                    .alias = alias,
                    .scratch = CI_NONE,
                    .freed = CI_NONE,
                    .slot = CI_NONE};
  plan->all_steps.at[plan->all_steps.count++] = step;
  *made = step;
  return CI_OK;
}

static bool compile_shapes_known(const ci_step *step) {
  for (int i = 0; i < step->k.n_in; i++) {
    if (step->k.in[i] != NULL && step->k.in[i]->rank < 0) return false;
  }
  return true;
}

/* A failure inside a body must not fail the run: the branch may not be taken, the loop may have no iteration. Such a
 * step is prepared again when it is reached, and fails there. */
static ci_status compile_prepare(ci_compiler *c, ci_step *step) {
  if (ci_step_is(step, CI_OP_CONTROL)) return ci_step_prepare(step);
  const bool root = step->node->graph == 0;
  if (!compile_shapes_known(step)) {
    step->dynamic = true;
    const ci_status found = ci_step_is(step, CI_OP_ASSIGNS) ? ci_plan_variables_slot(&step->k) : CI_OK;
    return root ? found : CI_OK;
  }
  size_t offers = c->offers.count;
  ci_status status = ci_step_prepare(step);
  if (status == CI_OK) return CI_OK;
  bool always = step->node->input_count == 0 && !ci_step_is(step, CI_OP_STATEFUL);
  if (status != CI_PENDING && (always || root)) return status;
  step->dynamic = true;
  c->offers.count = offers;
  return CI_OK;
}

static ci_status compile_dynamic_outputs(ci_compiler *c, ci_step *step) {
  for (int o = 0; o < step->k.n_out; o++) {
    ci_plan_value *plan_value = ci_plan_value_of(step->k.out[o]);
    compile_blank(c->plan, ci_plan_value_index(c->plan, plan_value), plan_value->value.dtype);
    plan_value->made = step->begin;
    plan_value->buffer = ci_plan_buffer(c->plan, CI_HOME_HEAP, 0);
    if (plan_value->buffer == CI_NONE) return compile_memory(c);
  }
  return CI_OK;
}

static ci_status compile_outputs(ci_compiler *c, ci_step *step) {
  ci_plan *plan = c->plan;
  if (step->dynamic) return compile_dynamic_outputs(c, step);
  for (int o = 0; o < step->k.n_out; o++) {
    ci_plan_value *plan_value = ci_plan_value_of(step->k.out[o]);
    plan_value->made = step->begin;
    if (plan_value->buffer !=
        CI_NONE) { /* from the kernel; bodies run while it is written, so no other value may use it */
      plan->buffers.at[ci_plan_resolve(plan, plan_value->buffer)].last = step->end;
      continue;
    }
    if (step->alias[o] != CI_NONE) {
      const ci_plan_value *from = ci_plan_value_of(step->k.in[step->alias[o]]);
      plan_value->root = from->root;
      plan_value->value.data = plan->plan_values[from->root].value.data;
      continue;
    }
    plan_value->buffer = ci_plan_buffer(plan, CI_HOME_ARENA, plan_value->value.bytes);
    if (plan_value->buffer == CI_NONE) return compile_memory(c);
  }
  if (step->k.scratch_bytes == 0) return CI_OK;
  step->scratch = ci_plan_buffer(plan, CI_HOME_ARENA, step->k.scratch_bytes);
  if (step->scratch == CI_NONE) return compile_memory(c);
  plan->buffers.at[step->scratch].first = step->begin;
  plan->buffers.at[step->scratch].last = step->end;
  return CI_OK;
}

/* ---- frames ---- */

/* A step that has nothing to do in the run is not put into the frame. */
static bool compile_is_idle(ci_compiler *c, const ci_step *step) {
  if (step->dynamic) return false;
  if (ci_step_is(step, CI_OP_NO_RUN)) return true;
  return ci_step_is(step, CI_OP_READS_VARIABLE) && !c->slots[step->slot].assigned;
}

static ci_status compile_bound_read(ci_compiler *c, const ci_step *step) {
  ci_plan *plan = c->plan;
  if (!ci_step_is(step, CI_OP_READS_VARIABLE)) return CI_OK;
  if (!CI_LIST_GROW(c->allocator, &plan->bound_reads)) return compile_memory(c);
  plan->bound_reads.at[plan->bound_reads.count++] = ci_plan_value_index(plan, ci_plan_value_of(step->k.out[0]));
  return CI_OK;
}

static void compile_reads(ci_compiler *c, const ci_step *step) {
  for (int i = 0; i < step->k.n_in; i++) {
    if (step->k.in[i] == NULL) continue;
    ci_plan_note_reader(c->plan, ci_plan_value_index(c->plan, ci_plan_value_of(step->k.in[i])), step->begin);
  }
  for (int b = 0; b < 2; b++) {
    if (step->bodies[b] == NULL) continue;
    const ci_graph *graph = &c->model->graphs.at[step->bodies[b]->graph];
    for (uint32_t i = 0; i < graph->capture_count; i++) {
      const ci_plan_value *plan_value = compile_plan_value(c, c->model->refs.at[graph->captures + i]);
      if (plan_value != NULL) ci_plan_note_reader(c->plan, ci_plan_value_index(c->plan, plan_value), step->end);
    }
  }
}

static ci_status compile_node(ci_compiler *c, ci_frame *frame, const ci_node *node) {
  ci_step *step = NULL;
  ci_stop *stop = &c->plan->session->stop;
  if (ci_stop_requested(stop))
    return ci_node_fail(c->model, node, c->error, ci_stop_status(stop), "the run %s", ci_stop_string(stop));
  CI_TRY(compile_new_step(c, node, &step));
  CI_TRY(compile_position(c, step, &step->begin));
  step->end = step->begin;
  CI_TRY(compile_prepare(c, step));
  if (step->widens && !step->dynamic) step->run = ci_half_run;
  if (ci_step_is(step, CI_OP_CONTROL)) CI_TRY(compile_position(c, step, &step->end));
  const bool folded = ci_fold(c, step);
  if (!folded) CI_TRY(compile_outputs(c, step));
  ci_fold_note(c, step, folded || (!step->dynamic && ci_step_is(step, CI_OP_NO_RUN)));
  if (folded) return CI_OK;
  if (ci_step_is(step, CI_OP_ASSIGNS)) CI_TRY(compile_note_assign(c, step));
  if (compile_is_idle(c, step)) return compile_bound_read(c, step);
  compile_reads(c, step);
  if (step->dynamic) step->run = ci_execute_dynamic_step;
  if (!CI_LIST_GROW(c->allocator, &frame->steps)) return compile_memory(c);
  frame->steps.at[frame->steps.count++] = step;
  return CI_OK;
}

static ci_status compile_frame(ci_compiler *c, ci_frame *frame) {
  const ci_graph *graph = &c->model->graphs.at[frame->graph];
  frame->buffers_begin = (int32_t)c->plan->buffers.count;
  frame->steps.count = 0;
  CI_TRY(compile_position(c, NULL, &frame->begin));
  const int32_t around = c->frame_begin;
  c->frame_begin = frame->begin;
  for (int32_t n = graph->first; n < graph->end; n = ci_graph_next(c->model, graph, n)) {
    if (c->need[n]) CI_TRY(compile_node(c, frame, &c->model->nodes.at[n]));
  }
  c->frame_begin = around;
  CI_TRY(compile_position(c, NULL, &frame->end));
  frame->buffers_end = (int32_t)c->plan->buffers.count;
  frame->has_heap = false;
  for (int32_t p = frame->buffers_begin; p < frame->buffers_end; p++) {
    if (c->plan->buffers.at[p].home == CI_HOME_HEAP) frame->has_heap = true;
  }
  for (int32_t i = 0; i < frame->output_count; i++) {
    CI_TRY(ci_pack_plain(c->plan, &frame->outputs[i]->value));
    ci_plan_note_reader(c->plan, ci_plan_value_index(c->plan, frame->outputs[i]), frame->end);
  }
  return CI_OK;
}

bool ci_compile_is_deep(const ci_kernel *k) { return k->node->plan->compiler->depth > COMPILE_DEEP; }

static ci_status compile_frame_plan_values(ci_compiler *c, ci_frame *frame) {
  const ci_graph *graph = &c->model->graphs.at[frame->graph];
  frame->formal_count = graph->formal_count;
  frame->output_count = (int32_t)graph->output_count;
  frame->formals = ci_pool_alloc(&c->plan->pool, (size_t)frame->formal_count * sizeof(ci_plan_value *));
  frame->outputs = ci_pool_alloc(&c->plan->pool, graph->output_count * sizeof(ci_plan_value *));
  if (frame->formals == NULL || frame->outputs == NULL) return compile_memory(c);
  for (int32_t i = 0; i < frame->formal_count; i++) frame->formals[i] = compile_plan_value(c, graph->formals + i);
  for (uint32_t i = 0; i < graph->output_count; i++) {
    frame->outputs[i] = compile_plan_value(c, c->model->refs.at[graph->outputs + i]);
  }
  return CI_OK;
}

ci_status ci_compile_frame(ci_kernel *k, int body, const char *name) {
  ci_compiler *c = k->node->plan->compiler;
  const ci_attr *attr = ci_attr_find(c->model, k->node->node, name);
  if (attr == NULL || attr->kind != CI_PB_ATTRIBUTEVALUE_G) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute %s is missing or no graph", name);
  }
  ci_frame *frame = ci_pool_alloc(&c->plan->pool, sizeof *frame);
  if (frame == NULL) return compile_memory(c);
  frame->plan = c->plan;
  frame->graph = attr->as.graph;
  k->node->bodies[body] = frame;
  return compile_frame_plan_values(c, frame);
}

ci_status ci_compile_frame_nodes(ci_kernel *k, int body) {
  ci_compiler *c = k->node->plan->compiler;
  c->depth++;
  ci_status status = compile_frame(c, k->node->bodies[body]);
  c->depth--;
  return status;
}

/* ---- the plan ---- */

/* Numbers the plan values: outputs of needed nodes, formal inputs of their bodies, fed values. */
static int64_t compile_number_plan_values(ci_compiler *c, const ci_signature_info *signature) {
  const ci_model *m = c->model;
  int64_t count = 0;
  for (size_t e = 0; e < m->edges.count; e++) {
    const ci_edge *edge = &m->edges.at[e];
    const int32_t owner = edge->role == CI_EDGE_FORMAL ? m->graphs.at[edge->of].owner : edge->of;
    const bool needed = c->fed[e] || (edge->role != CI_EDGE_SAME && c->need[owner]); /* the root has no formal input */
    c->plan_value_of[e] = needed ? (int32_t)count++ : CI_NONE;
  }
  return count + signature->input_count;
}

/* The part that does not depend on shapes; it is kept for the next plan of the same signature. */
static ci_status compile_signature(ci_compiler *c, int32_t number) {
  const ci_signature_info *signature = &c->model->signatures.at[number];
  if (c->signature == number) return CI_OK;
  c->signature = CI_NONE;
  memset(c->need, 0, c->model->nodes.count * sizeof *c->need);
  memset(c->fed, 0, c->model->edges.count * sizeof *c->fed);
  for (int32_t i = 0; i < signature->input_count; i++) c->fed[signature->inputs[i].edge] = true;
  CI_TRY(ci_needs(c->model, signature, c->fed, c->need, c->error));
  CI_TRY(compile_check_kernels(c));
  int64_t count = compile_number_plan_values(c, signature);
  if (count > INT32_MAX) return compile_memory(c);
  c->plan_value_count = (int32_t)count;
  ci_fold_readers(c, signature);
  c->signature = number;
  return CI_OK;
}

static ci_status compile_plan_values(ci_compiler *c, const ci_signature_info *signature) {
  c->plan->plan_value_count = c->plan_value_count;
  c->unread = c->plan_value_count - signature->input_count;
  c->plan->plan_values = ci_pool_alloc(&c->plan->pool, (size_t)c->plan_value_count * sizeof(ci_plan_value));
  if (c->plan->plan_values == NULL) return compile_memory(c);
  for (int32_t i = 0; i < c->plan->plan_value_count; i++) compile_blank(c->plan, i, 0);
  return CI_OK;
}

static ci_status compile_inputs(ci_compiler *c, const ci_signature_info *signature, const ci_tensor *inputs) {
  ci_plan *plan = c->plan;
  size_t count = (size_t)signature->input_count;
  plan->input_count = signature->input_count;
  plan->inputs = ci_pool_alloc(&plan->pool, count * sizeof *plan->inputs);
  plan->input_plan_values = ci_pool_alloc(&plan->pool, count * sizeof *plan->input_plan_values);
  if (plan->inputs == NULL || plan->input_plan_values == NULL) return compile_memory(c);
  for (int32_t i = 0; i < signature->input_count; i++) {
    ci_plan_value *plan_value = compile_plan_value(c, signature->inputs[i].edge);
    const ci_binding *binding = &signature->inputs[i];
    if (binding->kind == CI_KIND_TENSOR) {
      ci_tensor shape = inputs[i];
      shape.data = plan_value; /* only so that the check of sizes does not miss data; nothing reads it */
      CI_TRY(ci_value_of_tensor(&shape, &plan_value->value, c->error));
      plan_value->value.data = NULL;
    } else {
      compile_blank(plan, ci_plan_value_index(plan, plan_value), binding->dtype); /* known when it is fed */
    }
    plan->inputs[i] = inputs[i];
    plan->inputs[i].data = NULL;
    plan->input_plan_values[i] = plan_value;
    plan_value->made = 0;
    plan_value->buffer = ci_plan_buffer(plan, binding->kind == CI_KIND_TENSOR ? CI_HOME_INPUT : CI_HOME_HEAP, 0);
    if (plan_value->buffer == CI_NONE) return compile_memory(c);
  }
  return CI_OK;
}

static bool compile_is_sessions(const ci_plan *plan, const ci_plan_value *plan_value) {
  ci_home home = plan->buffers.at[plan->plan_values[plan_value->root].buffer].home;
  return home == CI_HOME_ARENA || home == CI_HOME_HEAP;
}

static ci_status compile_results(ci_compiler *c, const ci_signature_info *signature) {
  ci_plan *plan = c->plan;
  plan->output_count = signature->output_count;
  plan->outputs = ci_pool_alloc(&plan->pool, (size_t)signature->output_count * sizeof *plan->outputs);
  plan->extents =
      ci_pool_alloc(&plan->pool, ((size_t)plan->input_count + (size_t)plan->output_count) * sizeof *plan->extents);
  if (plan->outputs == NULL || plan->extents == NULL) return compile_memory(c);
  for (int32_t i = 0; i < signature->output_count; i++) {
    ci_plan_value *plan_value = compile_plan_value(c, signature->outputs[i].edge);
    plan->outputs[i] = (ci_plan_output){.plan_value = plan_value, .copy = CI_NONE};
    CI_TRY(ci_pack_plain(plan, &plan_value->value));
    ci_plan_note_reader(plan, ci_plan_value_index(plan, plan_value), CI_END);
    if (compile_is_sessions(plan, plan_value)) continue;
    int32_t copy = ci_plan_buffer(plan, CI_HOME_ARENA, plan_value->value.bytes);
    if (copy == CI_NONE) return compile_memory(c);
    plan->buffers.at[copy].first = plan->buffers.at[copy].last = CI_END;
    plan->outputs[i].copy = copy;
  }
  return CI_OK;
}

static ci_status compile_all(ci_compiler *c, const ci_signature_info *signature, const ci_tensor *inputs) {
  CI_TRY(compile_signature(c, c->plan->signature));
  CI_TRY(compile_plan_values(c, signature));
  CI_TRY(compile_inputs(c, signature, inputs));
  compile_find_assigns(c);
  c->plan->root.plan = c->plan;
  CI_TRY(compile_frame(c, &c->plan->root));
  CI_TRY(compile_results(c, signature));
  return ci_layout_plan(c->plan);
}

ci_status ci_compile_plan(struct ci_session *session, int signature, const ci_tensor *inputs, ci_plan **made,
                          ci_error *error) {
  ci_compiler *c = NULL;
  CI_TRY(ci_compiler_begin(session, &c, error));
  ci_plan *plan = session->plans.spare;
  session->plans.spare = NULL;
  if (plan == NULL) plan = ci_alloc(&session->allocator, sizeof *plan);
  if (plan == NULL) return ci_needs_no_memory(error);
  plan->session = session;
  plan->model = session->model;
  plan->state = session->state;
  plan->signature = signature;
  plan->pool.allocator = &session->allocator;
  plan->bound_layout = UINT64_MAX;
  plan->compiler = c;
  plan->error = error;
  c->plan = plan;
  ci_status status = compile_all(c, &session->model->signatures.at[signature], inputs);
  plan->compiler = NULL;
  plan->error = NULL;
  if (status == CI_OK) {
    ci_dynamic_shapes_classify(plan);
    *made = plan;
  } else {
    ci_plan_free(plan);
  }
  return status;
}
