/* stop.c - ends calls early (stop.h). The clock is monotonic: CLOCK_MONOTONIC, the performance counter on Windows,
 * none on boards without a system (CI_NO_FILES). */
#include "../system/posix.h"

#include "stop.h"

#ifdef CI_NO_FILES
enum { STOP_HAS_CLOCK = 0 };
static uint64_t stop_clock(void) { return 0; }
#elif defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#undef near
#undef far
enum { STOP_HAS_CLOCK = 1 };
static uint64_t stop_clock(void) {
  LARGE_INTEGER ticks, each;
  (void)QueryPerformanceFrequency(&each);
  (void)QueryPerformanceCounter(&ticks);
  const uint64_t now = (uint64_t)ticks.QuadPart, second = (uint64_t)each.QuadPart;
  return now / second * 1000000000u + now % second * 1000000000u / second;
}
#else
#include <time.h>
enum { STOP_HAS_CLOCK = 1 };
static uint64_t stop_clock(void) {
  struct timespec now = {0, 0};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
#endif

enum {
  STOP_PACE = 16,        /* most units of work from one look at the clock to the next, */
  STOP_SELDOM = 64,      /* where there is no deadline */
  STOP_SHORT = 50000,    /* nanoseconds: shorter units of work need no such frequent looks */
  STOP_ASK = 200000000   /* from one question of the host to the next */
};

void ci_cancel_token_set(ci_cancel_token *token, int32_t cancelled) {
  if (token == NULL) return;
#if defined(__GNUC__) && !defined(__TINYC__)
  __atomic_store_n(&token->cancelled, cancelled, __ATOMIC_RELAXED);
#else
  *(volatile int32_t *)&token->cancelled = cancelled;
#endif
}

static bool stop_token(const ci_cancel_token *token) {
#if defined(__GNUC__) && !defined(__TINYC__)
  return token != NULL && __atomic_load_n(&token->cancelled, __ATOMIC_RELAXED) != 0;
#else
  return token != NULL && *(const volatile int32_t *)&token->cancelled != 0;
#endif
}

ci_status ci_stop_set(ci_stop *stop, uint64_t deadline, const ci_cancel_token *token, ci_interrupt interrupt,
                      ci_error *error) {
  if (!STOP_HAS_CLOCK && (deadline != 0 || interrupt.requested != NULL)) {
    return ci_fail(error, CI_UNIMPLEMENTED,
                   "this build has no clock (CI_NO_FILES), so there are no deadlines and no questions in between: "
                   "leave the options deadline and interrupt at 0, and use ci_cancel");
  }
  stop->deadline = deadline;
  stop->token = token;
  stop->interrupt = interrupt;
  stop->looks = deadline != 0 || token != NULL || interrupt.requested != NULL;
  if (stop->looks) return CI_OK; /* else no call is begun for which there would be something to look at */
  stop->late = false;
  stop->until = 0;
  stop->left = UINT32_MAX;
  return CI_OK;
}

static uint32_t stop_left(const ci_stop *stop) { return stop->looks ? stop->pace : UINT32_MAX; }

void ci_stop_restart(ci_stop *stop) {
  stop->late = false;
  stop->until = stop->seen = stop->ask_at = 0;
  stop->pace = STOP_SELDOM;
  if (stop->deadline != 0) {
    stop->seen = stop_clock();
    stop->until = stop->deadline < UINT64_MAX - stop->seen ? stop->seen + stop->deadline : UINT64_MAX;
    stop->pace = 1;
  }
  stop->left = stop_left(stop);
}

void ci_stop_hasten(ci_stop *stop) {
  stop->pace = 1;
  stop->left = stop_left(stop);
}

/* Calls the host's interrupt function, at most once in STOP_ASK: not in calls that are shorter. */
static bool stop_interrupted(ci_stop *stop, uint64_t now) {
  if (stop->interrupt.requested == NULL || now < stop->ask_at) return false;
  const bool first = stop->ask_at == 0;
  stop->ask_at = now + STOP_ASK;
  return !first && stop->interrupt.requested(stop->interrupt.user) != 0;
}

bool ci_stop_look(ci_stop *stop) {
  const uint64_t now = stop_clock();
  stop->late = stop->late || (stop->until != 0 && now >= stop->until);
  if (stop->late || stop_token(stop->token) || stop_interrupted(stop, now)) /* from now on every check stops */
    atomic_store_explicit(&stop->cancelled, 1, memory_order_relaxed);
  if (now - stop->seen >= STOP_SHORT) stop->pace = stop->pace / 4 + 1;
  else if (stop->pace < (stop->until != 0 ? STOP_PACE : STOP_SELDOM)) stop->pace *= 2;
  stop->seen = now;
  stop->left = stop_left(stop);
  return atomic_load_explicit(&stop->cancelled, memory_order_relaxed) != 0;
}

ci_status ci_stop_status(const ci_stop *stop) { return stop->late ? CI_DEADLINE_EXCEEDED : CI_CANCELLED; }

const char *ci_stop_string(const ci_stop *stop) {
  return stop->late ? "took longer than its deadline" : "was cancelled";
}
