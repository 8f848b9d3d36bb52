/* output.c - hands the results of a run to the caller. */
#include "output.h"

#include "isa_math.h"
#include "isa_move.h"
#include "sequence.h"
#include "session.h"

enum { OUTPUT_BLOCK = 64 }; /* bytes that are changed at once: compilers make vectors of it */

/* NaN payloads are what the processor made of them; a caller sees one NaN. */
static void output_block32(void *to, const void *from) {
  uint32_t words[OUTPUT_BLOCK / 4];
  memcpy(words, from, OUTPUT_BLOCK);
  for (int i = 0; i < OUTPUT_BLOCK / 4; i++) words[i] = (words[i] & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : words[i];
  memcpy(to, words, OUTPUT_BLOCK);
}

static void output_block64(void *to, const void *from) {
  const uint64_t infinity = (uint64_t)0x7ff << 52, nan = (uint64_t)0x7ff8 << 48;
  uint64_t words[OUTPUT_BLOCK / 8];
  memcpy(words, from, OUTPUT_BLOCK);
  for (int i = 0; i < OUTPUT_BLOCK / 8; i++) words[i] = (words[i] & ~((uint64_t)1 << 63)) > infinity ? nan : words[i];
  memcpy(to, words, OUTPUT_BLOCK);
}

void ci_output_copy(const ci_plan *plan, void *to, const void *from, size_t bytes, int32_t dtype) {
  bool words32 = dtype == CI_FLOAT || dtype == CI_COMPLEX64, words64 = dtype == CI_DOUBLE || dtype == CI_COMPLEX128;
  size_t done = 0;
  if (!words32 && !words64) {
    if (to != from && bytes > 0) memcpy(to, from, bytes);
    return;
  }
  if (words32 && ((uintptr_t)to | (uintptr_t)from) % sizeof(float) == 0) {
    const struct ci_isa_math *math = plan->session->model->isa->math;
    math->unary[CI_MATH_one_nan](to, from, (int64_t)(bytes / sizeof(float)), 0.0f, 0.0f);
    return;
  }
  if (words64 && ((uintptr_t)to | (uintptr_t)from) % sizeof(double) == 0) {
    plan->session->model->isa->move->one_nan(to, from, (int64_t)(bytes / sizeof(double)));
    return;
  }
  for (; done + OUTPUT_BLOCK <= bytes; done += OUTPUT_BLOCK) {
    if (words32) output_block32((char *)to + done, (const char *)from + done);
    else output_block64((char *)to + done, (const char *)from + done);
  }
  if (done == bytes) return;
  char rest[OUTPUT_BLOCK] = {0};
  memcpy(rest, (const char *)from + done, bytes - done);
  if (words32) output_block32(rest, rest);
  else output_block64(rest, rest);
  memcpy((char *)to + done, rest, bytes - done);
}

static ci_status output_small(const ci_plan *plan, int32_t i, size_t bytes, size_t wanted, ci_error *error) {
  const ci_signature_info *signature = &plan->model->signatures.at[plan->signature];
  return ci_fail(
      error, CI_INVALID_ARGUMENT,
      "output '%.200s' of signature '%.200s' needs %zu bytes, its buffer has %zu: give a larger one, or NULL to "
      "borrow the session's",
      signature->outputs[i].key, signature->name, wanted, bytes);
}

/* A sequence lies in one block; the caller gets its tensors with pointers into that. */
static ci_status output_held(ci_plan *plan, int32_t i, ci_tensor *output, ci_error *error) {
  const ci_value *value = &plan->outputs[i].cell->value;
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
    block = plan->session->arena + plan->places.at[plan->outputs[i].copy].offset;
    if (block != value->data) memcpy(block, value->data, value->bytes);
  }
  output->data = ci_sequence_point(block);
  output->rank = 1;
  output->dims[0] = ci_sequence_count(block);
  output->bytes = (size_t)output->dims[0] * sizeof(ci_tensor);
  for (int64_t e = 0; e < output->dims[0]; e++) {
    const ci_tensor *item = (const ci_tensor *)output->data + e;
    ci_output_copy(plan, item->data, item->data, item->bytes, item->dtype);
  }
  return CI_OK;
}

ci_status ci_output_check(const ci_plan *plan, const ci_tensor *outputs, ci_error *error) {
  for (int32_t i = 0; i < plan->output_count; i++) {
    const ci_value *value = &plan->outputs[i].cell->value;
    if (outputs[i].data != NULL && value->rank >= 0 && outputs[i].bytes < value->bytes &&
        plan->places.at[plan->cells[plan->outputs[i].cell->root].place].home != CI_HOME_HEAP) {
      return output_small(plan, i, outputs[i].bytes, value->bytes, error);
    }
  }
  return CI_OK;
}

ci_status ci_output_give(ci_plan *plan, ci_tensor *outputs, ci_error *error) {
  for (int32_t i = 0; i < plan->output_count; i++) {
    const ci_value *value = &plan->outputs[i].cell->value;
    ci_tensor *output = &outputs[i];
    if (ci_holds(value->dtype)) {
      CI_TRY(output_held(plan, i, output, error));
      continue;
    }
    void *to = output->data;
    if (to == NULL && plan->outputs[i].copy != CI_NONE) {
      to = plan->session->arena + plan->places.at[plan->outputs[i].copy].offset;
    } else if (to == NULL) {
      to = value->data;
    } else if (output->bytes < value->bytes) {
      return output_small(plan, i, output->bytes, value->bytes, error);
    }
    ci_output_copy(plan, to, value->data, value->bytes, value->dtype);
    *output = (ci_tensor){.data = to, .bytes = value->bytes, .dtype = value->dtype, .rank = value->rank};
    for (int32_t d = 0; d < value->rank; d++) output->dims[d] = value->dims[d];
  }
  return CI_OK;
}
