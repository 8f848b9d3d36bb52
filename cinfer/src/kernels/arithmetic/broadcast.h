/* broadcast.h - walks dense tensors that are broadcast to the shape of another. */
#ifndef CI_BROADCAST_H
#define CI_BROADCAST_H
#include "../ci_kernel.h"

enum { CI_BROADCAST_MOST = 8 };

typedef struct ci_broadcast {
  int inputs, rank;                                     /* rank >= 1 */
  int64_t dims[CI_MAX_RANK + 1]; /* innermost first, neighbours merged where all inputs allow; of 1 if none moves */
  ptrdiff_t step[CI_MAX_RANK + 1][CI_BROADCAST_MOST + 1]; /* bytes from index to index: inputs, then output */
  int64_t count; /* elements of the output */
  int64_t grain; /* indices of the outermost dimension that are worth a thread */
  bool one_nan;  /* the function writes one NaN; false unless the operator sets it */
} ci_broadcast;

/* n neighbouring elements; inputs whose innermost step is 0 are one element. */
typedef void (*ci_broadcast_fn)(const void *context, void *y, const void *const *x, int64_t n);

/* out has its shape already (ci_k_broadcast); inputs must be compatible with it. */
CI_LOCAL void ci_broadcast_plan(ci_broadcast *b, const ci_value *out, const ci_value *const *in, int inputs);
/* Whether input i is one element in every innermost run. */
CI_LOCAL bool ci_broadcast_still(const ci_broadcast *b, int i);
CI_LOCAL void ci_broadcast_run(ci_kernel *k, const ci_broadcast *b, ci_broadcast_fn fn, const void *context, void *y,
                               const void *const *x);
#endif
