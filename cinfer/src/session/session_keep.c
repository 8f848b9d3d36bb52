/* session_keep.c - keeps memory until the next run, because views of results may show it. */
#include "session.h"

ci_retired *ci_session_keep_record(struct ci_session *session) {
  return ci_alloc(&session->allocator, sizeof(ci_retired));
}

void ci_session_keep_block(struct ci_session *session, ci_retired *record, const ci_allocator *allocator,
                           ci_block block) {
  *record = (ci_retired){session->retired, allocator, block};
  session->retired = record;
}

void *ci_session_keep(struct ci_session *session, size_t bytes) {
  ci_retired *record = ci_session_keep_record(session);
  void *memory = record == NULL ? NULL : ci_alloc(&session->allocator, bytes);
  if (memory == NULL) ci_release(&session->allocator, record, sizeof *record);
  else ci_session_keep_block(session, record, &session->allocator, (ci_block){memory, bytes, NULL});
  return memory;
}
