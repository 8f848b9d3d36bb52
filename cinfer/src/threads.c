/* threads.c - a few threads that wait without spinning, and the floating-point environment that all of them need. */
#if !defined(_WIN32) && !defined(CI_NO_THREADS)
#include "posix.h"
#define THREADS_POSIX 1
#endif

#include "threads.h"

#if defined(__SSE__) || defined(__x86_64__)
#include <xmmintrin.h>
#endif

#ifdef THREADS_POSIX
#include <pthread.h>
#endif

/* ---- floating-point environment ---- */

#if defined(__SSE__) || defined(__x86_64__)
enum { THREADS_ROUND_AND_FLUSH = 0x6000 | 0x8000 | 0x0040 }; /* rounding, flush to zero, denormals are zero */
void ci_float_enter(ci_float_mode *mode) {
  unsigned now = _mm_getcsr();
  mode->control = now;
  mode->changed = (now & THREADS_ROUND_AND_FLUSH) != 0;
  if (mode->changed) _mm_setcsr(now & ~(unsigned)THREADS_ROUND_AND_FLUSH);
}
void ci_float_leave(const ci_float_mode *mode) {
  if (mode->changed) _mm_setcsr((unsigned)mode->control);
}
#elif defined(__aarch64__) && defined(__GNUC__)
static const uint64_t threads_round_and_flush = (uint64_t)0x1c00000 | (uint64_t)1 << 19; /* rounding, FZ, FZ16 */
void ci_float_enter(ci_float_mode *mode) {
  uint64_t now;
  __asm__ volatile("mrs %0, fpcr" : "=r"(now));
  mode->control = now;
  mode->changed = (now & threads_round_and_flush) != 0;
  now &= ~threads_round_and_flush;
  if (mode->changed) __asm__ volatile("msr fpcr, %0" : : "r"(now));
}
void ci_float_leave(const ci_float_mode *mode) {
  if (mode->changed) __asm__ volatile("msr fpcr, %0" : : "r"(mode->control));
}
#else
#include <fenv.h>
/* Machines whose C library tells only the rounding mode; none of them flushes by itself. */
void ci_float_enter(ci_float_mode *mode) {
  int now = fegetround();
  mode->control = (uint64_t)(unsigned)now;
  mode->changed = now != FE_TONEAREST && now >= 0;
  if (mode->changed) fesetround(FE_TONEAREST);
}
void ci_float_leave(const ci_float_mode *mode) {
  if (mode->changed) fesetround((int)mode->control);
}
#endif

/* Part p of n in `parts` nearly equal ones. */
static int64_t threads_cut(int64_t n, int parts, int p) { return n / parts * p + n % parts * p / parts; }

#ifdef THREADS_POSIX

typedef struct threads_worker {
  pthread_t thread;
  struct ci_threads *threads;
  int part;
} threads_worker;

struct ci_threads {
  pthread_mutex_t lock;
  pthread_cond_t begin, done;
  int count; /* workers */
  uint64_t job; /* rises with every job */
  int working;
  bool stop;
  int parts;
  int64_t n;
  ci_part_fn fn;
  void *argument;
  size_t bytes;
  threads_worker workers[];
};

static void threads_part(const ci_threads *t, int part) {
  if (part < t->parts)
    t->fn(t->argument, threads_cut(t->n, t->parts, part), threads_cut(t->n, t->parts, part + 1), part);
}

static void *threads_work(void *given) {
  threads_worker *worker = given;
  ci_threads *t = worker->threads;
  ci_float_mode mode;
  uint64_t seen = 0;
  ci_float_enter(&mode);
  pthread_mutex_lock(&t->lock);
  for (;;) {
    while (!t->stop && t->job == seen) pthread_cond_wait(&t->begin, &t->lock);
    if (t->stop) break;
    seen = t->job;
    pthread_mutex_unlock(&t->lock);
    threads_part(t, worker->part);
    pthread_mutex_lock(&t->lock);
    if (--t->working == 0) pthread_cond_signal(&t->done);
  }
  pthread_mutex_unlock(&t->lock);
  return NULL;
}

ci_threads *ci_threads_start(const ci_allocator *allocator, int count) {
  size_t bytes = sizeof(ci_threads) + (size_t)count * sizeof(threads_worker);
  ci_threads *t = ci_alloc(allocator, bytes);
  if (t == NULL) return NULL;
  t->bytes = bytes;
  pthread_mutex_init(&t->lock, NULL);
  pthread_cond_init(&t->begin, NULL);
  pthread_cond_init(&t->done, NULL);
  for (int i = 0; i < count; i++) {
    t->workers[i] = (threads_worker){.threads = t, .part = i + 1};
    if (pthread_create(&t->workers[i].thread, NULL, threads_work, &t->workers[i]) != 0) break;
    t->count++;
  }
  return t;
}

void ci_threads_stop(const ci_allocator *allocator, ci_threads *t) {
  if (t == NULL) return;
  pthread_mutex_lock(&t->lock);
  t->stop = true;
  pthread_cond_broadcast(&t->begin);
  pthread_mutex_unlock(&t->lock);
  for (int i = 0; i < t->count; i++) pthread_join(t->workers[i].thread, NULL);
  pthread_cond_destroy(&t->done);
  pthread_cond_destroy(&t->begin);
  pthread_mutex_destroy(&t->lock);
  ci_release(allocator, t, t->bytes);
}

void ci_threads_run(ci_threads *t, int parts, int64_t n, ci_part_fn fn, void *argument) {
  pthread_mutex_lock(&t->lock);
  t->parts = parts <= t->count + 1 ? parts : t->count + 1;
  t->n = n;
  t->fn = fn;
  t->argument = argument;
  t->working = t->count;
  t->job++;
  pthread_cond_broadcast(&t->begin);
  pthread_mutex_unlock(&t->lock);
  threads_part(t, 0);
  pthread_mutex_lock(&t->lock);
  while (t->working > 0) pthread_cond_wait(&t->done, &t->lock);
  pthread_mutex_unlock(&t->lock);
}

#else /* one thread */

ci_threads *ci_threads_start(const ci_allocator *allocator, int count) {
  (void)allocator;
  (void)count;
  return NULL;
}
void ci_threads_stop(const ci_allocator *allocator, ci_threads *threads) {
  (void)allocator;
  (void)threads;
}
void ci_threads_run(ci_threads *threads, int parts, int64_t n, ci_part_fn fn, void *argument) {
  (void)threads;
  for (int p = 0; p < parts; p++) fn(argument, threads_cut(n, parts, p), threads_cut(n, parts, p + 1), p);
}

#endif
