/* broadcast.c - walks operands that are broadcast to one shape (broadcast.h). All that depends on shapes is done in
 * the plan. */
#include "broadcast.h"

enum { BROADCAST_PART_WORK = 1 << 15 }; /* elements that are worth a thread */

void ci_broadcast_plan(ci_broadcast *b, const ci_value *out, const ci_value *const *in, int inputs) {
  ptrdiff_t stride[CI_BROADCAST_MOST + 1]; /* of the dimension at hand, dense */
  *b = (ci_broadcast){.rank = 1, .inputs = inputs, .count = out->count, .grain = 1};
  if (out->count == 0) return; /* next to an axis of size 0 others may be of any size */
  b->rank = 0;
  for (int i = 0; i < inputs; i++) stride[i] = (ptrdiff_t)ci_dtype_size(in[i]->dtype);
  stride[inputs] = (ptrdiff_t)ci_dtype_size(out->dtype);
  for (int d = 0; d < out->rank; d++) {
    const int64_t size = out->dims[out->rank - 1 - d];
    ptrdiff_t step[CI_BROADCAST_MOST + 1];
    bool merge = b->rank > 0, still = true;
    if (size == 1) continue;
    for (int i = 0; i <= inputs; i++) {
      const bool moves = i == inputs || (d < in[i]->rank && in[i]->dims[in[i]->rank - 1 - d] != 1);
      step[i] = moves ? stride[i] : 0;
      if (moves) stride[i] *= (ptrdiff_t)size;
      if (moves && i < inputs) still = false;
      if (b->rank > 0 && moves != (b->step[b->rank - 1][i] != 0)) merge = false;
    }
    if (still && b->rank == 0) b->dims[b->rank++] = 1; /* a run needs an input that moves, or one element */
    if (merge) {
      b->dims[b->rank - 1] *= size;
    } else {
      memcpy(b->step[b->rank], step, sizeof step);
      b->dims[b->rank++] = size;
    }
  }
  if (b->rank == 0) { /* one element; nothing moves */
    b->rank = 1;
    b->dims[0] = 1;
  }
  const int64_t outer = b->dims[b->rank - 1], inner = outer > 0 ? b->count / outer : 0;
  b->grain = inner > 0 ? (BROADCAST_PART_WORK + inner - 1) / inner : 1;
}

bool ci_broadcast_still(const ci_broadcast *b, int i) { return b->step[0][i] == 0; }

struct broadcast_job {
  const ci_broadcast *b;
  ci_broadcast_fn fn;
  const void *context;
  char *y;
  const char *x[CI_BROADCAST_MOST];
};

/* Indices begin..end of the outermost dimension. */
static void broadcast_part(void *argument, int64_t begin, int64_t end, int thread) {
  const struct broadcast_job *job = argument;
  const ci_broadcast *b = job->b;
  const int inputs = b->inputs, outer = b->rank - 1;
  const void *x[CI_BROADCAST_MOST];
  ptrdiff_t at[CI_BROADCAST_MOST + 1];
  int64_t index[CI_MAX_RANK + 1] = {0};
  (void)thread;
  for (int i = 0; i <= inputs; i++) at[i] = (ptrdiff_t)begin * b->step[outer][i];
  const int64_t run = outer == 0 ? end - begin : b->dims[0];
  index[outer] = begin;
  for (;;) {
    int d = 1;
    for (int i = 0; i < inputs; i++) x[i] = job->x[i] + at[i];
    job->fn(job->context, job->y + at[inputs], x, run);
    for (; d <= outer; d++) {
      for (int i = 0; i <= inputs; i++) at[i] += b->step[d][i];
      if (++index[d] < (d == outer ? end : b->dims[d])) break;
      for (int i = 0; i <= inputs; i++) at[i] -= (ptrdiff_t)b->dims[d] * b->step[d][i];
      index[d] = 0;
    }
    if (d > outer) return;
  }
}

void ci_broadcast_run(ci_kernel *k, const ci_broadcast *b, ci_broadcast_fn fn, const void *context, void *y,
                      const void *const *x) {
  if (b->count == 0) return;
  if (k->one_nan != NULL) *k->one_nan = b->one_nan; /* of an operator that runs several loops the last one sets it */
  const int64_t outer = b->dims[b->rank - 1];
  if (b->rank == 1 && outer <= b->grain) {
    fn(context, y, x, outer);
    return;
  }
  struct broadcast_job job = {.b = b, .fn = fn, .context = context, .y = y};
  for (int i = 0; i < b->inputs; i++) job.x[i] = x[i];
  if (b->one_nan || y != k->out[0]->data || b->count != k->out[0]->count) {
    ci_k_parallel(k, outer, b->grain, broadcast_part, &job);
  } else {
    ci_k_parallel_rows(k, outer, b->grain, broadcast_part, &job);
  }
}
