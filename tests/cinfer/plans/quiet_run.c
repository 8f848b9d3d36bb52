/* quiet_run.c - runs a signature where any system call but read, write and exit ends the process, counting calls of
 * malloc and pthreads.
 *
 *   quiet_run MODEL.gio SIGNATURE RUNS
 *
 * Linked with --wrap, so that every call from the library comes through here. Unknown dimensions are 2. Prints "heap
 * COUNT locks COUNT", of the runs after the first; "no seccomp" where the system does not offer it. */
#define _DEFAULT_SOURCE /* syscall */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include "cinfer.h"

enum { MOST = 64, TEXT = 64 };

static long heap, locks;

#define WRAP(count, result, name, parameters, arguments) \
  result __real_##name parameters;                       \
  result __wrap_##name parameters;                       \
  result __wrap_##name parameters {                      \
    count++;                                             \
    return __real_##name arguments;                      \
  }
WRAP(heap, void *, malloc, (size_t bytes), (bytes))
WRAP(heap, void *, calloc, (size_t n, size_t bytes), (n, bytes))
WRAP(heap, void *, realloc, (void *p, size_t bytes), (p, bytes))
WRAP(heap, void, free, (void *p), (p))
WRAP(locks, int, pthread_mutex_lock, (void *mutex), (mutex))
WRAP(locks, int, pthread_cond_wait, (void *condition, void *mutex), (condition, mutex))
WRAP(locks, int, pthread_cond_signal, (void *condition), (condition))
WRAP(locks, int, pthread_cond_broadcast, (void *condition), (condition))

static void fill(const ci_info *info, ci_tensor *tensor) {
  size_t count = 1;
  tensor->dtype = info->dtype;
  tensor->rank = info->rank;
  for (int d = 0; d < info->rank; d++) {
    tensor->dims[d] = info->dims[d] < 0 ? 2 : info->dims[d];
    count *= (size_t)tensor->dims[d];
  }
  tensor->bytes = count * ci_dtype_size(info->dtype);
  tensor->data = calloc(1, tensor->bytes + 1);
  for (size_t i = 0; info->dtype == CI_FLOAT && i < count; i++) ((float *)tensor->data)[i] = (float)(i % 7) * 0.25f;
}

static int fail(const ci_error *error) {
  fprintf(stderr, "%s\n", error->message);
  return 1;
}

/* In the child: nothing but the runs, then an exit that is allowed. */
static void quietly(ci_session *session, int signature, const ci_tensor *in, int n, ci_tensor *out, int k, int runs) {
  static ci_error error;
  char text[TEXT];
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) syscall(SYS_exit, 77);
  heap = locks = 0;
  ci_status status = CI_OK;
  for (int i = 0; i < runs && status == CI_OK; i++) {
    for (int o = 0; o < k; o++) out[o].data = NULL;
    status = ci_run(session, signature, in, n, out, k, &error);
  }
  int length = snprintf(text, sizeof text, "heap %ld locks %ld\n", heap, locks);
  if (write(1, text, (size_t)length) != length) status = CI_UNKNOWN;
  syscall(SYS_exit, (int)status);
}

int main(int argc, char **argv) {
  ci_error error;
  ci_model *model;
  ci_session *session;
  ci_tensor in[MOST] = {{0}}, out[MOST] = {{0}};
  if (argc != 4) return 2;
  if (ci_open(argv[1], NULL, &model, &error) || ci_session_open(model, NULL, NULL, &session, &error))
    return fail(&error);
  int signature = ci_signature(model, argv[2]), n = ci_input_count(model, signature);
  int k = ci_output_count(model, signature);
  for (int i = 0; i < n && i < MOST; i++) {
    ci_info info;
    if (ci_input(model, signature, i, &info)) return 1;
    fill(&info, &in[i]);
  }
  if (ci_reserve(session, signature, in, n, &error)) return fail(&error);
  /* The first run may ask the system for the pages of what was reserved, which is not a call; a variable's buffer is
   * made by its first assignment. */
  if (ci_run(session, signature, in, n, out, k, &error)) return fail(&error);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) quietly(session, signature, in, n, out, k, atoi(argv[3]));
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return 1;
  if (WIFSIGNALED(status)) printf("killed by signal %d: a system call\n", WTERMSIG(status));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) puts("no seccomp");
  ci_session_close(session);
  ci_close(model);
  return WIFEXITED(status) && WEXITSTATUS(status) != 77 ? WEXITSTATUS(status) : 0;
}
