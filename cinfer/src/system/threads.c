/* threads.c - a pool of a few worker threads that wait without spinning. */
#if !defined(_WIN32) && !defined(__wasi__) && !defined(__TINYC__) && !defined(CI_NO_THREADS)
#include "posix.h"
#define THREADS_POSIX 1
#endif

#include "threads.h"

#ifdef THREADS_POSIX
#include <pthread.h>
#include <unistd.h>

#include "atomics.h"
#if defined(__SSE__) || defined(__x86_64__)
#include <xmmintrin.h>
#endif
#endif

/* Part p of n in `parts` nearly equal ones. */
static int64_t threads_cut(int64_t n, int parts, int p) { return n / parts * p + n % parts * p / parts; }

/* All parts, one after another. */
static void threads_alone(int parts, int64_t n, ci_part_fn fn, void *argument) {
  for (int p = 0; p < parts; p++) fn(argument, threads_cut(n, parts, p), threads_cut(n, parts, p + 1), p);
}

#ifdef THREADS_POSIX

/* How often a thread looks for work before it sleeps: some 20 microseconds, which is less than it takes to wake one.
 * Only just after work: an idle pool sleeps. */
enum { THREADS_LOOKS = 1000 };

static void threads_pause(void) {
#if defined(__SSE__) || defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
  __asm__ volatile("yield");
#endif
}

struct ci_threads {
  pthread_mutex_t lock;
  pthread_cond_t begin, done;
  pid_t process;    /* that the workers live in: a child that it forks has none, and locks as they were then */
  int count;        /* workers */
  atomic_int untaken; /* parts of the job that no thread has begun; workers look at it before they lock */
  atomic_int unfinished;
  int parts;
  atomic_bool stop;
  int64_t n;
  ci_part_fn fn;
  void *argument;
  size_t bytes;
  pthread_t workers[];
};

static void threads_part(const ci_threads *t, int part) {
  t->fn(t->argument, threads_cut(t->n, t->parts, part), threads_cut(t->n, t->parts, part + 1), part);
}

/* Takes a part of the job; the lock is held. */
static int threads_take(ci_threads *t) {
  return t->parts - atomic_fetch_sub_explicit(&t->untaken, 1, memory_order_relaxed);
}

static void threads_finish(ci_threads *t) {
  if (atomic_fetch_sub_explicit(&t->unfinished, 1, memory_order_acq_rel) == 1) pthread_cond_signal(&t->done);
}

static void *threads_work(void *given) {
  ci_threads *t = given;
  ci_float_mode mode;
  ci_float_enter(&mode);
  for (;;) {
    for (int i = 0; i < THREADS_LOOKS && atomic_load_explicit(&t->untaken, memory_order_relaxed) == 0; i++)
      threads_pause();
    pthread_mutex_lock(&t->lock);
    while (!t->stop && t->untaken == 0) pthread_cond_wait(&t->begin, &t->lock);
    if (t->stop) break;
    int part = threads_take(t);
    pthread_mutex_unlock(&t->lock);
    threads_part(t, part);
    pthread_mutex_lock(&t->lock);
    threads_finish(t);
    pthread_mutex_unlock(&t->lock);
  }
  pthread_mutex_unlock(&t->lock);
  return NULL;
}

ci_threads *ci_threads_start(const ci_allocator *allocator, int count) {
  size_t bytes = sizeof(ci_threads) + (size_t)count * sizeof(pthread_t);
  ci_threads *t = ci_alloc(allocator, bytes);
  if (t == NULL) return NULL;
  t->bytes = bytes;
  t->process = getpid();
  atomic_init(&t->untaken, 0);
  atomic_init(&t->unfinished, 0);
  atomic_init(&t->stop, false);
  pthread_mutex_init(&t->lock, NULL);
  pthread_cond_init(&t->begin, NULL);
  pthread_cond_init(&t->done, NULL);
  while (t->count < count && pthread_create(&t->workers[t->count], NULL, threads_work, t) == 0) t->count++;
  return t;
}

static void threads_end(ci_threads *t) {
  pthread_mutex_lock(&t->lock);
  t->stop = true;
  pthread_cond_broadcast(&t->begin);
  pthread_mutex_unlock(&t->lock);
  for (int i = 0; i < t->count; i++) pthread_join(t->workers[i], NULL);
  pthread_cond_destroy(&t->done);
  pthread_cond_destroy(&t->begin);
  pthread_mutex_destroy(&t->lock);
}

void ci_threads_stop(const ci_allocator *allocator, ci_threads *t) {
  if (t == NULL) return;
  if (t->process == getpid()) threads_end(t);
  ci_release(allocator, t, t->bytes);
}

/* Begins a job and takes its first part. */
static void threads_begin(ci_threads *t, int parts, int64_t n, ci_part_fn fn, void *argument) {
  pthread_mutex_lock(&t->lock);
  t->parts = parts;
  t->n = n;
  t->fn = fn;
  t->argument = argument;
  atomic_store_explicit(&t->unfinished, parts - 1, memory_order_relaxed);
  atomic_store_explicit(&t->untaken, parts - 1, memory_order_relaxed);
  if (parts - 1 >= t->count) pthread_cond_broadcast(&t->begin);
  for (int i = 1; i < parts && parts - 1 < t->count; i++) pthread_cond_signal(&t->begin);
  pthread_mutex_unlock(&t->lock);
}

/* Parts are numbers, not threads: a free thread takes the next one, the caller's too, so that a thread which the
 * system keeps from running delays no other. */
void ci_threads_run(ci_threads *t, int parts, int64_t n, ci_part_fn fn, void *argument) {
  if (t->process != getpid()) {
    threads_alone(parts, n, fn, argument);
    return;
  }
  threads_begin(t, parts, n, fn, argument);
  threads_part(t, 0);
  for (;;) {
    pthread_mutex_lock(&t->lock);
    if (t->untaken == 0) break;
    int part = threads_take(t);
    pthread_mutex_unlock(&t->lock);
    threads_part(t, part);
    atomic_fetch_sub_explicit(&t->unfinished, 1, memory_order_acq_rel);
  }
  pthread_mutex_unlock(&t->lock);
  for (int i = 0; i < THREADS_LOOKS && atomic_load_explicit(&t->unfinished, memory_order_acquire) > 0; i++)
    threads_pause();
  pthread_mutex_lock(&t->lock);
  while (t->unfinished > 0) pthread_cond_wait(&t->done, &t->lock);
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
  threads_alone(parts, n, fn, argument);
}

#endif

/* ---- the host's own threads ---- */

typedef struct threads_job {
  int parts;
  int64_t n;
  ci_part_fn fn;
  void *argument;
} threads_job;

static void threads_host_part(void *given, int32_t part) {
  const threads_job *job = given;
  ci_float_mode mode;
  if (part < 0 || part >= job->parts) return;
  ci_float_enter(&mode);
  job->fn(job->argument, threads_cut(job->n, job->parts, part), threads_cut(job->n, job->parts, part + 1), part);
  ci_float_leave(&mode);
}

void ci_threads_host(const ci_executor *executor, int parts, int64_t n, ci_part_fn fn, void *argument) {
  threads_job job = {parts, n, fn, argument};
  executor->run(executor->user, parts, threads_host_part, &job);
}
