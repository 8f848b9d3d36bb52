/* output.c - gives the results of a run to the caller: in the caller's memory, or as views. */
#include "output.h"

#include "../kernels/one_nan.h"
#include "../kernels/sequence.h"
#include "session.h"

enum { OUTPUT_ALIGN = 16 /* of memory for results that the caller takes */ };

/* ---- results in the caller's memory ---- */

static int32_t output_buffer(const ci_plan *plan, const ci_plan_value *plan_value) {
  const int32_t buffer = plan->plan_values[plan_value->root].buffer;
  return buffer == CI_NONE ? CI_NONE : ci_plan_resolve(plan, buffer);
}

enum { OUTPUT_SEVERAL = CI_NONE - 1 };

/* Notes at each buffer which output uses it. */
static void output_number(ci_plan *plan) {
  for (size_t p = 0; p < plan->buffers.count; p++) plan->buffers.at[p].output = CI_NONE;
  for (int32_t i = 0; i < plan->output_count; i++) {
    const int32_t buffer = output_buffer(plan, plan->outputs[i].plan_value);
    if (buffer == CI_NONE) continue;
    int32_t *output = &plan->buffers.at[buffer].output;
    *output = *output == CI_NONE ? i : OUTPUT_SEVERAL;
  }
}

/* Whether the output's buffer is in the arena, plain and of no other output. */
static bool output_is_direct(const ci_plan *plan, int32_t i) {
  const ci_value *value = &plan->outputs[i].plan_value->value;
  const int32_t buffer = output_buffer(plan, plan->outputs[i].plan_value);
  const bool plain = buffer != CI_NONE && value->rank >= 0 && value->bytes >= CI_OUTPUT_LARGE &&
                     value->dtype != CI_STRING && !ci_holds(value->dtype) && plan->outputs[i].copy == CI_NONE;
  return plain && plan->buffers.at[buffer].home == CI_HOME_ARENA && plan->buffers.at[buffer].bytes == value->bytes &&
         plan->buffers.at[buffer].output == i;
}

static bool output_is_input(const ci_plan *plan, int32_t i) {
  return plan->buffers.at[plan->plan_values[plan->outputs[i].plan_value->root].buffer].home == CI_HOME_INPUT;
}

/* The step at a position; steps are in the order of theirs. */
static ci_step *output_step_at(const ci_plan *plan, int32_t position) {
  size_t low = 0, high = plan->all_steps.count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (plan->all_steps.at[middle]->begin < position) low = middle + 1;
    else high = middle;
  }
  ci_step *step = low < plan->all_steps.count ? plan->all_steps.at[low] : NULL;
  return step != NULL && step->begin == position ? step : NULL;
}

void ci_output_plan(ci_plan *plan) {
  const ci_binding *inputs = plan->model->signatures.at[plan->signature].inputs;
  bool plain = true; /* bodies move their values themselves */
  plan->fed_strings = false;
  plan->may_meet = false;
  for (int32_t i = 0; i < plan->input_count; i++) plan->fed_strings = plan->fed_strings || inputs[i].dtype == CI_STRING;
  output_number(plan);
  for (size_t s = 0; s < plan->all_steps.count; s++) {
    plain = plain && plan->all_steps.at[s]->bodies[0] == NULL;
    plan->all_steps.at[s]->k.one_nan = NULL;
  }
  for (int32_t i = 0; i < plan->output_count; i++) {
    ci_plan_output *output = &plan->outputs[i];
    const ci_plan_value *root = &plan->plan_values[output->plan_value->root];
    output->direct = plain && output_is_direct(plan, i);
    plan->may_meet = plan->may_meet || output->direct || output_is_input(plan, i);
    if (!output->direct || root->made == CI_NONE) continue;
    ci_step *step = output_step_at(plan, root->made);
    if (step != NULL && !step->dynamic && step->k.n_out > 0 && ci_plan_value_of(step->k.out[0]) == root)
      step->k.one_nan = &output->one_nan;
  }
}

static bool output_meets(const char *a, size_t a_bytes, const char *b, size_t b_bytes) {
  return a != NULL && b != NULL && (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

static int32_t output_extent(ci_extent *extents, int32_t count, const void *data, size_t bytes, int32_t output) {
  const uintptr_t begin = (uintptr_t)data;
  if (begin == 0 || bytes == 0) return count;
  extents[count] = (ci_extent){begin, bytes < UINTPTR_MAX - begin ? begin + bytes : UINTPTR_MAX, output};
  return count + 1;
}

/* The memory of the caller's inputs and outputs; of an output as much as will be written if that is known. */
static int32_t output_extents(const ci_plan *plan, const ci_tensor *inputs, const ci_tensor *outputs) {
  int32_t count = 0;
  for (int32_t i = 0; i < plan->input_count; i++)
    count = output_extent(plan->extents, count, inputs[i].data, inputs[i].bytes, CI_NONE);
  for (int32_t i = 0; i < plan->output_count; i++) {
    const size_t bytes = plan->outputs[i].direct ? plan->outputs[i].plan_value->value.bytes : outputs[i].bytes;
    count = output_extent(plan->extents, count, outputs[i].data, bytes, i);
  }
  return count;
}

static void output_sort(ci_extent *extents, int32_t count) { /* Shell sort */
  for (int32_t gap = count / 2; gap > 0; gap /= 2) {
    for (int32_t i = gap; i < count; i++) {
      const ci_extent moved = extents[i];
      int32_t at = i;
      for (; at >= gap && extents[at - gap].begin > moved.begin; at -= gap) extents[at] = extents[at - gap];
      extents[at] = moved;
    }
  }
}

static void output_not_apart(ci_plan *plan, const ci_extent *extent) {
  if (extent->output == CI_NONE) return;
  plan->outputs[extent->output].apart = false;
  plan->meets = true;
}

/* An extent that overlaps any later one overlaps the next one. */
static void output_find_apart(ci_plan *plan, const ci_tensor *inputs, const ci_tensor *outputs) {
  ci_extent *extents = plan->extents;
  bool given = false;
  for (int32_t i = 0; i < plan->output_count; i++) {
    plan->outputs[i].apart = outputs[i].data != NULL;
    given = given || plan->outputs[i].apart;
  }
  if (!given) return;
  const int32_t count = output_extents(plan, inputs, outputs);
  output_sort(extents, count);
  uintptr_t reach = 0;
  for (int32_t i = 0; i < count; i++) {
    if (extents[i].begin < reach) output_not_apart(plan, &extents[i]);
    if (i > 0 && extents[i].begin < extents[i - 1].end) output_not_apart(plan, &extents[i - 1]);
    if (reach < extents[i].end) reach = extents[i].end;
  }
}

/* A caller may give an output the memory of an input, which is then read to the end first. */
static bool output_may_lend(const ci_plan *plan, int32_t i, const ci_tensor *output) {
  const size_t bytes = plan->outputs[i].plan_value->value.bytes;
  return plan->outputs[i].apart && (uintptr_t)output->data % OUTPUT_ALIGN == 0 && output->bytes >= bytes &&
         !output_meets(output->data, bytes, plan->session->arena, plan->session->arena_bytes);
}

static void output_point(ci_plan *plan) {
  for (int32_t c = 0; c < plan->plan_value_count; c++) {
    ci_plan_value *plan_value = &plan->plan_values[c];
    if (plan_value->root != c || plan_value->buffer == CI_NONE) continue;
    const ci_buffer *buffer = &plan->buffers.at[ci_plan_resolve(plan, plan_value->buffer)];
    if (buffer->output < 0 || !plan->outputs[buffer->output].direct) continue;
    void *lent = plan->outputs[buffer->output].lent;
    ci_plan_point(plan, plan_value, lent != NULL ? lent : plan->session->arena + buffer->offset);
  }
}

void ci_output_lend(ci_plan *plan, const ci_tensor *inputs, const ci_tensor *outputs) {
  bool moved = false;
  plan->meets = false;
  if (plan->may_meet) output_find_apart(plan, inputs, outputs);
  for (int32_t i = 0; i < plan->output_count; i++) {
    ci_plan_output *output = &plan->outputs[i];
    output->one_nan = false;
    if (!output->direct) continue;
    void *lent = output_may_lend(plan, i, &outputs[i]) ? outputs[i].data : NULL;
    moved = moved || lent != output->lent;
    output->lent = lent;
  }
  if (moved) output_point(plan);
}

static void *output_copy_of(const ci_plan *plan, int32_t i) {
  return plan->session->arena + plan->buffers.at[plan->outputs[i].copy].offset;
}

static ci_status output_small(const ci_plan *plan, int32_t i, size_t bytes, size_t needed, ci_error *error) {
  const ci_signature_info *signature = &plan->model->signatures.at[plan->signature];
  return ci_fail(
      error, CI_INVALID_ARGUMENT,
      "output '%.200s' of signature '%.200s' needs %zu bytes, its buffer has %zu: give a larger one, or NULL to "
      "borrow the session's",
      signature->outputs[i].key, signature->name, needed, bytes);
}

/* Strings of an output may be in the memory of an input, which need not outlive the run. */
static ci_status output_own_strings(const ci_plan *plan, int32_t i, const ci_tensor *output, ci_error *error) {
  const ci_signature_info *signature = &plan->model->signatures.at[plan->signature];
  const size_t count = output->bytes / sizeof(ci_string);
  ci_string *strings = output->data;
  size_t bytes = 0;
  bool fits = true;
  if (output->dtype != CI_STRING || !plan->fed_strings) return CI_OK;
  for (size_t n = 0; n < count; n++) fits = fits && ci_add_size(bytes, strings[n].length, &bytes);
  if (bytes == 0) return CI_OK;
  fits = fits && bytes <= plan->session->limits.max_memory;
  char *str = fits ? ci_session_keep(plan->session, bytes) : NULL;
  if (str == NULL) {
    return ci_fail(error, CI_RESOURCE_EXHAUSTED, "no memory for the strings of output '%.200s' of signature '%.200s'",
                   signature->outputs[i].key, signature->name);
  }
  for (size_t n = 0; n < count; n++) {
    if (strings[n].length > 0) memcpy(str, strings[n].data, strings[n].length);
    strings[n].data = str;
    str += strings[n].length;
  }
  return CI_OK;
}

/* A sequence is one block; the caller gets its tensors with pointers into that. */
static ci_status output_held(ci_plan *plan, int32_t i, ci_tensor *output, ci_error *error) {
  const ci_value *value = &plan->outputs[i].plan_value->value;
  const ci_signature_info *signature = &plan->model->signatures.at[plan->signature];
  void *block = value->data;
  if (output->data != NULL) {
    return ci_fail(
        error, CI_INVALID_ARGUMENT,
        "output '%.200s' of signature '%.200s' is a sequence or optional value, which is borrowed: give NULL",
        signature->outputs[i].key, signature->name);
  }
  *output = (ci_tensor){.dtype = value->dtype};
  if (value->dtype == CI_NOTHING) return CI_OK;
  if (plan->outputs[i].copy != CI_NONE) {
    block = output_copy_of(plan, i);
    if (block != value->data) memcpy(block, value->data, value->bytes);
  }
  output->data = ci_sequence_point(block);
  output->rank = 1;
  output->dims[0] = ci_sequence_count(block);
  output->bytes = (size_t)output->dims[0] * sizeof(ci_tensor);
  for (int64_t e = 0; e < output->dims[0]; e++) {
    const ci_tensor *item = (const ci_tensor *)output->data + e;
    ci_one_nan_copy(plan->session->model->isa, item->data, item->data, item->bytes, item->dtype);
    CI_TRY(output_own_strings(plan, i, item, error));
  }
  return CI_OK;
}

ci_status ci_output_check(const ci_plan *plan, const ci_tensor *outputs, ci_error *error) {
  for (int32_t i = 0; i < plan->output_count; i++) {
    const ci_value *value = &plan->outputs[i].plan_value->value;
    if (outputs[i].data != NULL && value->rank >= 0 && outputs[i].bytes < value->bytes &&
        plan->buffers.at[plan->plan_values[plan->outputs[i].plan_value->root].buffer].home != CI_HOME_HEAP) {
      return output_small(plan, i, outputs[i].bytes, value->bytes, error);
    }
  }
  return CI_OK;
}

void ci_output_infer(const ci_plan *plan, ci_tensor *outputs) {
  for (int32_t i = 0; i < plan->output_count; i++) {
    const ci_value *value = &plan->outputs[i].plan_value->value;
    const int32_t buffer = output_buffer(plan, plan->outputs[i].plan_value);
    const bool known = value->rank >= 0 && !ci_holds(value->dtype) && buffer != CI_NONE &&
                       plan->buffers.at[buffer].home != CI_HOME_HEAP;
    outputs[i].dtype = value->dtype;
    outputs[i].rank = known ? value->rank : -1;
    outputs[i].bytes = known ? value->bytes : 0;
    for (int32_t d = 0; known && d < value->rank; d++) outputs[i].dims[d] = value->dims[d];
  }
}

/* Where an output may be written over an input, outputs that are an input's bytes are taken aside first. */
static void output_take_aside(const ci_plan *plan) {
  for (int32_t i = 0; plan->meets && i < plan->output_count; i++) {
    const ci_value *value = &plan->outputs[i].plan_value->value;
    if (output_is_input(plan, i) && value->bytes > 0) memcpy(output_copy_of(plan, i), value->data, value->bytes);
  }
}

static ci_status output_give(const ci_plan *plan, int32_t i, ci_tensor *output, ci_error *error) {
  const ci_value *value = &plan->outputs[i].plan_value->value;
  const bool aside = plan->meets && output_is_input(plan, i);
  const void *from = aside ? output_copy_of(plan, i) : value->data;
  void *to = output->data;
  if (to == NULL) to = plan->outputs[i].copy != CI_NONE ? output_copy_of(plan, i) : value->data;
  else if (output->bytes < value->bytes) return output_small(plan, i, output->bytes, value->bytes, error);
  if (!plan->outputs[i].one_nan) ci_one_nan_copy(plan->session->model->isa, to, from, value->bytes, value->dtype);
  else if (to != from) memcpy(to, from, value->bytes);
  *output = (ci_tensor){.data = to, .bytes = value->bytes, .dtype = value->dtype, .rank = value->rank};
  for (int32_t d = 0; d < value->rank; d++) output->dims[d] = value->dims[d];
  return output_own_strings(plan, i, output, error);
}

ci_status ci_output_give(ci_plan *plan, ci_tensor *outputs, ci_error *error) {
  output_take_aside(plan);
  for (int32_t i = 0; i < plan->output_count; i++) {
    const bool holds = ci_holds(plan->outputs[i].plan_value->value.dtype);
    CI_TRY(holds ? output_held(plan, i, &outputs[i], error) : output_give(plan, i, &outputs[i], error));
  }
  return CI_OK;
}

bool ci_output_is_lent(const struct ci_session *session, const void *data) {
  const ci_plan *shown = session->plans.shown;
  if (output_meets(data, 1, session->arena, session->arena_bytes)) return true;
  if (shown == NULL) return false;
  if (output_meets(data, 1, shown->bound_arena, shown->arena_bytes)) return true; /* the arena may have moved since */
  for (int32_t i = 0; shown->has_heap && i < shown->output_count; i++) {
    const int32_t buffer = output_buffer(shown, shown->outputs[i].plan_value);
    if (buffer == CI_NONE) continue;
    if (output_meets(data, 1, shown->buffers.at[buffer].block, shown->buffers.at[buffer].block_bytes)) return true;
  }
  return false;
}
