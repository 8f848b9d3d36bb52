/* heap.c - values with separately allocated memory, within the session's memory limit. */
#include "../session/session.h"

bool ci_heap_take(ci_plan *plan, ci_buffer *buffer, size_t bytes) {
  ci_buffer_release(plan, buffer);
  void *block = ci_charge_value(plan->session, bytes) ? ci_alloc(&plan->session->values, bytes) : NULL;
  if (block == NULL) return false;
  buffer->block = block;
  buffer->block_bytes = bytes;
  plan->session->heap_bytes += bytes;
  return true;
}

ci_status ci_heap_refuse(ci_kernel *k, const char *what, size_t bytes) {
  const struct ci_session *session = k->node->plan->session;
  return ci_k_fail(k, CI_RESOURCE_EXHAUSTED,
                   "%s of %zu bytes, with %zu held already and %zu for plans, exceeds the session's limit of %llu",
                   what, bytes, session->arena_bytes + session->heap_bytes, session->planned,
                   (unsigned long long)session->limits.max_memory);
}

ci_status ci_heap_grow(ci_kernel *k, ci_buffer *buffer, size_t keep, size_t bytes) {
  ci_plan *plan = k->node->plan;
  struct ci_session *session = plan->session;
  if (keep == 0) ci_buffer_release(plan, buffer);
  if (!ci_charge_value(session, bytes)) return ci_heap_refuse(k, "a value", bytes);
  void *block = ci_alloc_uncleared(&session->values, bytes);
  if (block == NULL) return ci_k_no_memory(k);
  if (keep > 0) memcpy(block, buffer->block, keep);
  ci_buffer_release(plan, buffer);
  buffer->block = block;
  buffer->block_bytes = bytes;
  session->heap_bytes += bytes;
  return CI_OK;
}

ci_status ci_heap_value(ci_kernel *k, ci_value *value) {
  ci_buffer *buffer = ci_plan_buffer_of(k->node->plan, value);
  CI_TRY(ci_heap_grow(k, buffer, 0, value->bytes));
  value->data = buffer->block;
  return CI_OK;
}

ci_status ci_heap_copy(ci_kernel *k, ci_value *to, const ci_value *from) {
  if (ci_plan_buffer_of(k->node->plan, to)->home == CI_HOME_HEAP) {
    *to = *from;
    CI_TRY(ci_heap_value(k, to));
  }
  if (to->data != from->data && to->bytes > 0) memcpy(to->data, from->data, to->bytes);
  return CI_OK;
}

void ci_heap_release_frame(ci_frame *frame) {
  if (!frame->has_heap) return;
  for (int32_t p = frame->buffers_begin; p < frame->buffers_end; p++)
    ci_buffer_release(frame->plan, &frame->plan->buffers.at[p]);
}
