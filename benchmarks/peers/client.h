/* client.h - calls of the engines on fixed buffers, see client.c. */
#ifndef CLIENT_H
#define CLIENT_H
#include "cinfer.h"

typedef struct cinfer_job cinfer_job;
typedef struct ort_job ort_job;
typedef ci_status run_function(ci_session *, int, const ci_tensor *, int, ci_tensor *, int, ci_error *);

cinfer_job *client_cinfer(run_function *run, ci_session *session);
void client_cinfer_clear(cinfer_job *job); /* forgets inputs and outputs */
void client_cinfer_input(cinfer_job *job, void *data, size_t bytes, int32_t dtype, int32_t rank, const int64_t *dims);
void client_cinfer_output(cinfer_job *job, void *data, size_t bytes);
int client_cinfer_run(void *job);

ort_job *client_ort(const char *library, const char *model, int threads);
void client_ort_clear(ort_job *job);
int client_ort_input(ort_job *job, const char *name, void *data, size_t bytes, int dtype, int rank,
                     const int64_t *dims);
int client_ort_output(ort_job *job, const char *name, void *data, size_t bytes, int dtype, int rank,
                      const int64_t *dims);
int client_ort_run(void *job);
#endif
