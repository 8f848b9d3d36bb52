/* test_threads.c - threads and forked processes that use the library at the same time; run under ThreadSanitizer, too.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "inputs.h"
#include "models.h"

/* A child that a process with threads forks has the locks of a sanitizer's allocator as they were then, and waits for
 * ever: there are no forks under one that replaces malloc. Memcheck runs them. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define NO_FORKS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define NO_FORKS 1
#endif
#endif

enum { WORKERS = 4, ROUNDS = 5, LARGE = 20000 };

static ci_model *open_bytes(const void *data, size_t bytes, bool lazy) {
  ci_options options = ci_defaults();
  ci_model *model = NULL;
  ci_error error;
  options.lazy = options.borrow = lazy;
  CHECK(ci_open_memory(data, bytes, &options, &model, &error) == CI_OK);
  if (model == NULL) exit(2);
  return model;
}

static ci_session *open_session(ci_model *model, ci_state *state, const ci_session_options *options) {
  ci_session *session = NULL;
  ci_error error;
  CHECK(ci_session_open(model, state, options, &session, &error) == CI_OK);
  if (session == NULL) exit(2);
  return session;
}

/* The results of all signatures for inputs of this size, and the state after them. */
static uint32_t run_all(ci_session *session, const ci_model *model, int64_t n) {
  uint32_t digest = 0;
  for (int s = 0; s < ci_signature_count(model); s++) {
    ci_tensor outputs[OUTPUTS_MOST] = {{0}};
    inputs in;
    inputs_make(&in, model, s, n);
    const ci_status status = ci_run(session, s, in.tensors, in.count, outputs, ci_output_count(model, s), NULL);
    if (status == CI_OK) digest = digest_tensors(digest, outputs, ci_output_count(model, s));
    digest = ci_crc32c(digest, &status, sizeof status);
    inputs_free(&in);
  }
  const uint32_t left = digest_state(ci_session_state(session));
  return ci_crc32c(digest, &left, sizeof left);
}

static void start(pthread_t *thread, void *(*function)(void *), void *argument) {
  if (pthread_create(thread, NULL, function, argument) != 0) exit(2);
}

/* ---- one model, many sessions ---- */

typedef struct worker {
  pthread_t thread;
  pthread_barrier_t *begin, *opened;
  ci_model *model;
  ci_session_options options;
  int64_t size; /* of the inputs */
  uint32_t found;
} worker;

static uint32_t run_sizes(ci_session *session, const ci_model *model, int64_t size) {
  uint32_t found = 0;
  for (int round = 0; round < ROUNDS; round++) {
    const uint32_t digest = run_all(session, model, size + round);
    found = ci_crc32c(found, &digest, sizeof digest);
  }
  return found;
}

static void *work(void *given) {
  worker *w = given;
  pthread_barrier_wait(w->begin);
  ci_session *session = open_session(w->model, NULL, &w->options);
  pthread_barrier_wait(w->opened);
  w->found = run_sizes(session, w->model, w->size);
  ci_session_close(session); /* the last of them frees the model */
  return NULL;
}

/* All workers use every constant, order and size for the first time at the same time. */
static void share(const void *data, size_t bytes, bool lazy, const ci_session_options *options, int64_t size) {
  worker workers[WORKERS];
  pthread_barrier_t begin, opened;
  ci_model *alone = open_bytes(data, bytes, false), *model = open_bytes(data, bytes, lazy);
  ci_session *session = open_session(alone, NULL, NULL);
  const uint32_t expected = run_sizes(session, alone, size);
  pthread_barrier_init(&begin, NULL, WORKERS);
  pthread_barrier_init(&opened, NULL, WORKERS + 1);
  for (int i = 0; i < WORKERS; i++) {
    workers[i] = (worker){.begin = &begin, .opened = &opened, .model = model, .options = *options, .size = size};
    start(&workers[i].thread, work, &workers[i]);
  }
  pthread_barrier_wait(&opened);
  ci_close(model); /* sessions keep what they need */
  for (int i = 0; i < WORKERS; i++) {
    pthread_join(workers[i].thread, NULL);
    CHECK(workers[i].found == expected);
  }
  pthread_barrier_destroy(&opened);
  pthread_barrier_destroy(&begin);
  ci_session_close(session);
  ci_close(alone);
}

/* Threads of the host's: a new one for each part. */
typedef struct part {
  pthread_t thread;
  void (*run)(void *job, int32_t number);
  void *job;
  int32_t number;
} part;

static void *part_work(void *given) {
  part *p = given;
  p->run(p->job, p->number);
  return NULL;
}

static void host_run(void *user, int32_t parts, void (*run)(void *job, int32_t number), void *job) {
  part all[8];
  atomic_fetch_add((atomic_int *)user, 1);
  CHECK(parts <= 8);
  for (int32_t i = 0; i < parts; i++) {
    all[i] = (part){.run = run, .job = job, .number = i};
    if (i > 0) start(&all[i].thread, part_work, &all[i]);
  }
  part_work(&all[0]);
  for (int32_t i = 1; i < parts; i++) pthread_join(all[i].thread, NULL);
}

static void test_sessions_share_a_model(void) {
  const ci_session_options one = ci_session_defaults();
  ci_session_options two = one, host = one;
  atomic_int handed_out = 0;
  two.threads = host.threads = 2;
  host.executor = (ci_executor){&handed_out, host_run};
  for (int lazy = 0; lazy < 2; lazy++) {
    share(model_perceptron, sizeof model_perceptron, lazy, &one, 2);
    share(model_everything, sizeof model_everything, lazy, &one, 2);
    share(model_sequences, sizeof model_sequences, lazy, &two, 2);
    share(model_perceptron, sizeof model_perceptron, lazy, &two, LARGE);
    share(model_perceptron, sizeof model_perceptron, lazy, &host, LARGE);
  }
  CHECK(atomic_load(&handed_out) > 0);
}

/* ---- threads that the system refuses ---- */

#ifdef CALLS_WRAPPED /* the test is linked with --wrap */
static atomic_int threads_allowed = 1 << 30;
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *given);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *given);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *given) {
  if (atomic_fetch_sub(&threads_allowed, 1) <= 0) return EAGAIN;
  return __real_pthread_create(thread, attributes, function, given);
}

static void test_a_session_goes_on_with_fewer_threads(void) {
  ci_session_options options = ci_session_defaults();
  ci_model *model = open_bytes(model_perceptron, sizeof model_perceptron, false);
  ci_session *alone = open_session(model, NULL, NULL);
  const uint32_t expected = run_all(alone, model, LARGE);
  options.threads = 4;
  for (int allowed = 0; allowed < 4; allowed++) {
    ci_stats stats = {.size = sizeof stats};
    atomic_store(&threads_allowed, allowed);
    ci_session *session = open_session(model, NULL, &options);
    CHECK(run_all(session, model, LARGE) == expected);
    ci_session_stats(session, &stats);
    CHECK(stats.handed_out > 0);
    ci_session_close(session);
  }
  atomic_store(&threads_allowed, 1 << 30);
  ci_session_close(alone);
  ci_close(model);
}
#endif

/* ---- a handle goes from thread to thread ---- */

typedef struct relay {
  ci_model *model;
  ci_session *session;
  uint32_t found;
} relay;

static void *relay_open(void *given) {
  relay *r = given;
  ci_session_options options = ci_session_defaults();
  options.threads = 2;
  r->model = open_bytes(model_everything, sizeof model_everything, false);
  r->session = open_session(r->model, NULL, &options);
  return NULL;
}

static void *relay_run(void *given) {
  relay *r = given;
  r->found = run_all(r->session, r->model, 2);
  return NULL;
}

static void *relay_close(void *given) {
  relay *r = given;
  ci_close(r->model);
  ci_session_close(r->session);
  return NULL;
}

static void in_a_thread(void *(*function)(void *), void *argument) {
  pthread_t thread;
  start(&thread, function, argument);
  pthread_join(thread, NULL);
}

static void test_handles_move_between_threads(void) {
  relay here, there;
  relay_open(&here);
  relay_run(&here);
  in_a_thread(relay_open, &there);
  in_a_thread(relay_run, &there);
  CHECK(there.found == here.found);
  relay_run(&there);
  in_a_thread(relay_run, &here);
  CHECK(there.found == here.found);
  in_a_thread(relay_close, &there);
  relay_close(&here);
}

/* ---- one state ---- */

typedef struct turns { /* sessions of one state: one run at a time */
  pthread_t thread;
  pthread_mutex_t *lock;
  ci_model *model;
  ci_state *state;
} turns;

enum { STEPS = 50 };

static void *take_turns(void *given) {
  turns *t = given;
  pthread_mutex_lock(t->lock);
  ci_session *session = open_session(t->model, t->state, NULL);
  pthread_mutex_unlock(t->lock);
  for (int i = 0; i < STEPS; i++) {
    ci_tensor outputs[3] = {{0}};
    pthread_mutex_lock(t->lock);
    CHECK(ci_run(session, ci_signature(t->model, "step"), NULL, 0, outputs, 3, NULL) == CI_OK);
    pthread_mutex_unlock(t->lock);
  }
  ci_session_close(session);
  return NULL;
}

static void test_sessions_of_a_state_take_turns(void) {
  turns all[WORKERS];
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  ci_model *model = open_bytes(model_everything, sizeof model_everything, false);
  ci_state *state = NULL;
  CHECK(ci_state_open(NULL, &state, NULL) == CI_OK);
  for (int i = 0; i < WORKERS; i++) {
    all[i] = (turns){.lock = &lock, .model = model, .state = state};
    start(&all[i].thread, take_turns, &all[i]);
  }
  for (int i = 0; i < WORKERS; i++) pthread_join(all[i].thread, NULL);
  ci_tensor value;
  CHECK(ci_variable_view(state, ci_variable_index(state, "v"), &value, NULL) == CI_OK);
  CHECK(((const float *)value.data)[0] == 1.0f + WORKERS * STEPS); /* no step is lost */
  ci_state_close(state);
  ci_close(model);
}

/* ---- cancelling ---- */

typedef struct canceller {
  ci_session *session;
  atomic_bool running, over;
} canceller;

static void *cancel_once(void *given) {
  canceller *c = given;
  while (!atomic_load(&c->running)) sched_yield();
  ci_cancel(c->session);
  atomic_store(&c->over, true);
  return NULL;
}

/* Holds the run up until it is cancelled. */
static ci_status wait_call(void *user, ci_host_call *call, ci_error *error) {
  canceller *c = user;
  const ci_string strings[2] = {{"a", 1}, {"b", 1}};
  const float numbers[2] = {1, 2};
  atomic_store(&c->running, true);
  while (!atomic_load(&c->over)) sched_yield();
  for (int32_t i = 0; i < call->output_count; i++) {
    const bool text = call->outputs[i].dtype == CI_STRING;
    const size_t item = ci_dtype_size(call->outputs[i].dtype), count = call->outputs[i].rank == 0 ? 1 : 2;
    const void *data = text ? (const void *)strings : numbers;
    const ci_tensor value = {(void *)(uintptr_t)data, item * count, call->outputs[i].dtype, count == 2, {2}};
    CHECK(ci_host_give(call, i, &value, error) == CI_OK);
  }
  return CI_OK;
}

static void test_a_run_is_cancelled_from_another_thread(void) {
  canceller c = {.running = false};
  ci_session_options options = ci_session_defaults();
  pthread_t thread;
  options.host = (ci_host){&c, wait_call};
  ci_model *model = open_bytes(model_called, sizeof model_called, false);
  c.session = open_session(model, NULL, &options);
  ci_tensor outputs[5] = {{0}};
  inputs in;
  inputs_make(&in, model, 0, 2);
  start(&thread, cancel_once, &c);
  CHECK(ci_run(c.session, 0, in.tensors, in.count, outputs, 5, NULL) == CI_CANCELLED);
  pthread_join(thread, NULL);
  memset(outputs, 0, sizeof outputs);
  CHECK(ci_run(c.session, 0, in.tensors, in.count, outputs, 5, NULL) == CI_OK);
  inputs_free(&in);
  ci_session_close(c.session);
  ci_close(model);
}

static void *cancel_always(void *given) {
  canceller *c = given;
  while (!atomic_load(&c->over)) ci_cancel(c->session);
  return NULL;
}

static void test_runs_that_are_always_cancelled(void) {
  canceller c = {.running = false};
  pthread_t thread;
  ci_model *model = open_bytes(model_everything, sizeof model_everything, false);
  c.session = open_session(model, NULL, NULL);
  const int step = ci_signature(model, "step");
  int cancelled = 0;
  start(&thread, cancel_always, &c);
  for (long i = 0; cancelled < 10 && i < 100000000; i++) {
    ci_tensor outputs[3] = {{0}};
    const ci_status status = ci_run(c.session, step, NULL, 0, outputs, 3, NULL);
    CHECK(status == CI_OK || status == CI_CANCELLED);
    cancelled += status == CI_CANCELLED;
  }
  atomic_store(&c.over, true);
  pthread_join(thread, NULL);
  CHECK(cancelled == 10);
  ci_tensor outputs[3] = {{0}};
  CHECK(ci_run(c.session, step, NULL, 0, outputs, 3, NULL) == CI_OK);
  ci_session_close(c.session);
  ci_close(model);
}

/* ---- checkpoints ---- */

static char folder[64];

typedef struct saver {
  pthread_t thread;
  int number;
  const ci_state *shared; /* no thread changes it */
  uint32_t expected;
} saver;

/* Saves to and restores from the folder that others use at the same time; looks at a state of which nothing has been
 * checked yet. */
static void *save_and_restore(void *given) {
  saver *s = given;
  char prefix[128];
  CHECK(digest_state(s->shared) == s->expected);
  ci_model *model = open_bytes(model_everything, sizeof model_everything, false);
  ci_session *session = open_session(model, NULL, NULL);
  snprintf(prefix, sizeof prefix, "%s/m%d", folder, s->number);
  for (int64_t i = 0; i < ROUNDS; i++) {
    int64_t step = -1;
    run_all(session, model, 3);
    const uint32_t saved = digest_state(ci_session_state(session));
    CHECK(ci_save(ci_session_state(session), model, prefix, i, NULL) == CI_OK);
    run_all(session, model, 4);
    CHECK(ci_restore(ci_session_state(session), prefix, &step, NULL) == CI_OK && step == i);
    CHECK(digest_state(ci_session_state(session)) == saved);
  }
  ci_session_close(session);
  ci_close(model);
  return NULL;
}

static void test_checkpoints_of_many_threads(void) {
  saver all[WORKERS];
  char prefix[128], command[128];
  ci_model *model = open_bytes(model_everything, sizeof model_everything, false);
  ci_session *session = open_session(model, NULL, NULL);
  ci_state *lazy = NULL;
  ci_restore_options how = ci_restore_defaults();
  snprintf(folder, sizeof folder, "%s/threads_XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ".");
  if (mkdtemp(folder) == NULL) exit(2);
  snprintf(prefix, sizeof prefix, "%s/lazy", folder);
  run_all(session, model, 3);
  CHECK(ci_save(ci_session_state(session), model, prefix, 1, NULL) == CI_OK);
  CHECK(ci_state_open(NULL, &lazy, NULL) == CI_OK);
  how.verify = CI_VERIFY_LAZY;
  CHECK(ci_restore_with(lazy, prefix, &how, NULL, NULL) == CI_OK);
  for (int i = 0; i < WORKERS; i++) {
    all[i] = (saver){.number = i, .shared = lazy, .expected = digest_state(ci_session_state(session))};
    start(&all[i].thread, save_and_restore, &all[i]);
  }
  for (int i = 0; i < WORKERS; i++) pthread_join(all[i].thread, NULL);
  ci_state_close(lazy);
  ci_session_close(session);
  ci_close(model);
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  CHECK(system(command) == 0);
}

/* ---- forks ---- */

#ifndef NO_FORKS
typedef struct busy { /* a session that runs while the process forks */
  pthread_t thread;
  ci_model *model;
  ci_session_options options;
  atomic_bool over;
  atomic_long runs;
} busy;

static void *keep_busy(void *given) {
  busy *b = given;
  ci_session *session = open_session(b->model, NULL, &b->options);
  while (!atomic_load(&b->over)) {
    run_all(session, b->model, LARGE);
    atomic_fetch_add(&b->runs, 1);
  }
  ci_session_close(session);
  return NULL;
}

/* In the child: the sessions made before, and a new one. */
static bool use_in_child(ci_session **made, int count, ci_model *model, uint32_t expected) {
  ci_session_options options = ci_session_defaults();
  options.threads = 2;
  alarm(600); /* one that waits for ever is a failure */
  for (int i = 0; i < count; i++) {
    if (run_all(made[i], model, LARGE) != expected) return false;
    ci_session_close(made[i]);
  }
  ci_session *own = open_session(model, NULL, &options);
  const bool same = run_all(own, model, LARGE) == expected;
  ci_session_close(own);
  return same && CHECK_END == 0;
}

/* A child has memory of threads that it has not: it ends without a word, so that no tool calls that lost. */
static bool child_agrees(ci_session **made, int count, ci_model *model, uint32_t expected) {
  int pipes[2], status;
  char agrees = 0;
  if (pipe(pipes) != 0) exit(2);
  const pid_t child = fork();
  if (child == 0) {
    agrees = use_in_child(made, count, model, expected);
    CHECK(write(pipes[1], &agrees, 1) == 1);
    kill(getpid(), SIGKILL);
  }
  close(pipes[1]);
  const bool reported = read(pipes[0], &agrees, 1) == 1;
  close(pipes[0]);
  return child > 0 && waitpid(child, &status, 0) == child && reported && agrees;
}

static void test_forks(void) {
  ci_session_options two = ci_session_defaults();
  ci_session *made[2];
  two.threads = 2;
  ci_model *model = open_bytes(model_perceptron, sizeof model_perceptron, false);
  busy other = {.model = model, .options = two};
  made[0] = open_session(model, NULL, NULL);
  made[1] = open_session(model, NULL, &two);
  const uint32_t expected = run_all(made[0], model, LARGE);
  CHECK(run_all(made[1], model, LARGE) == expected);
  start(&other.thread, keep_busy, &other);
  while (atomic_load(&other.runs) == 0) sched_yield();
  for (int i = 0; i < 6; i++) {
    CHECK(child_agrees(made, 2, model, expected));
    CHECK(run_all(made[i % 2], model, LARGE) == expected); /* the parent's go on */
  }
  atomic_store(&other.over, true);
  pthread_join(other.thread, NULL);
  ci_session_close(made[0]);
  ci_session_close(made[1]);
  ci_close(model);
}
#endif

int main(void) {
  test_sessions_share_a_model();
#ifdef CALLS_WRAPPED
  test_a_session_goes_on_with_fewer_threads();
#endif
  test_handles_move_between_threads();
  test_sessions_of_a_state_take_turns();
  test_a_run_is_cancelled_from_another_thread();
  test_runs_that_are_always_cancelled();
  test_checkpoints_of_many_threads();
#ifndef NO_FORKS
  test_forks();
#endif
  return CHECK_END;
}
