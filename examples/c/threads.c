/* threads.c - several threads share a model: it is read once and never changes, each thread has a session.
 *
 *   ./threads net.gio [threads]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "cinfer.h"

enum { RUNS = 1000, MOST = 64 };

typedef struct worker {
  pthread_t thread;
  ci_model *model;
  float scale; /* distinguishes its inputs from the others' */
  double sum;  /* of all that it got */
  ci_status status;
  ci_error error;
} worker;

static ci_status predict_often(worker *w, ci_session *session) {
  const int predict = ci_signature(w->model, "predict");
  for (int i = 0; i < RUNS; i++) {
    float x[3] = {w->scale, w->scale * (float)i / RUNS, 1}, p[2];
    ci_tensor input = {x, sizeof x, CI_FLOAT, 2, {1, 3}};
    ci_tensor output = {p, sizeof p, CI_FLOAT, 2, {1, 2}};
    const ci_status status = ci_run(session, predict, &input, 1, &output, 1, &w->error);
    if (status != CI_OK) return status;
    w->sum += (double)p[0];
  }
  return CI_OK;
}

static void *work(void *argument) {
  worker *w = argument;
  ci_session *session = NULL;
  w->status = ci_session_open(w->model, NULL, NULL, &session, &w->error);
  if (w->status == CI_OK) w->status = predict_often(w, session);
  ci_session_close(session);
  return NULL;
}

int main(int argc, char **argv) {
  ci_model *model = NULL;
  ci_error error;
  int count = argc > 2 ? atoi(argv[2]) : 4, failed = 0, started = 0;
  worker workers[MOST] = {{0}};
  if (argc < 2 || count < 1 || count > MOST)
    return fprintf(stderr, "usage: %s net.gio [1 to %d threads]\n", argv[0], MOST), 2;
  if (ci_open(argv[1], NULL, &model, &error) != CI_OK) return fprintf(stderr, "%s\n", error.message), 1;
  for (; started < count; started++) {
    workers[started].model = model;
    workers[started].scale = (float)(started % 2);
    if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0) break;
  }
  for (int i = 0; i < started; i++) {
    pthread_join(workers[i].thread, NULL);
    if (workers[i].status != CI_OK) failed = 1, fprintf(stderr, "thread %d: %s\n", i, workers[i].error.message);
    printf("thread %d: %.9f\n", i, workers[i].sum / RUNS);
  }
  ci_close(model);
  return failed || started < count;
}
