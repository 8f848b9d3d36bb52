/* stop.h - calls that end early: cancelled, past their deadline, interrupted by the host. */
#ifndef CI_STOP_H
#define CI_STOP_H
#include "../system/atomics.h"
#include "ci_common.h"

typedef struct ci_stop {
  atomic_int cancelled; /* set by ci_cancel, and for any other reason once it was seen */
  uint32_t left;        /* units of work until the clock is looked at */
  uint32_t pace;        /* how many there are from one look to the next */
  bool late;
  bool looks; /* whether anything but ci_cancel may end a call */
  uint64_t deadline; /* nanoseconds that a call may take; 0: no end */
  uint64_t until;    /* the moment on the clock; 0: none */
  uint64_t seen;     /* the clock at the last look */
  uint64_t ask_at;   /* when the host's interrupt function is called next; 0: not decided yet */
  const ci_cancel_token *token;
  ci_interrupt interrupt;
} ci_stop;

/* Sets the reasons to stop that calls observe. CI_UNIMPLEMENTED: there is no clock. */
ci_status ci_stop_set(ci_stop *stop, uint64_t deadline, const ci_cancel_token *token, ci_interrupt interrupt,
                      ci_error *error);
void ci_stop_restart(ci_stop *stop);
CI_INLINE void ci_stop_begin(ci_stop *stop) { /* a call begins */
  atomic_store_explicit(&stop->cancelled, 0, memory_order_relaxed);
  if (stop->looks) ci_stop_restart(stop);
}
void ci_stop_hasten(ci_stop *stop); /* units of work that take long are about to come */
bool ci_stop_look(ci_stop *stop);
/* Called once for each unit of work, such as a step. A call that only ci_cancel may end reads a flag. */
CI_INLINE bool ci_stop_requested(ci_stop *stop) {
  return atomic_load_explicit(&stop->cancelled, memory_order_relaxed) != 0 || (--stop->left == 0 && ci_stop_look(stop));
}
ci_status ci_stop_status(const ci_stop *stop);
/* "was cancelled": what happened to the call that is named before it. */
const char *ci_stop_string(const ci_stop *stop);
#endif
