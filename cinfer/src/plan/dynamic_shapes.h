/* dynamic_shapes.h - plans that serve more than one set of input shapes.
 *
 * A plan is made for the shapes of one call. After that it is in one of three states:
 *
 *   fixed       refits is false. It serves only these shapes. Plans with values on the heap, with control flow or with
 *               steps that are prepared when they run are fixed.
 *   refittable  refits is true, batch.size is 0. Other shapes that fit the signature may be tried: the kernels whose
 *               inputs change are prepared again in the memory of the plan, and the arena is laid out again. The steps
 *               and the sharing of memory stay. If anything else turns out to differ, the plan is spoiled: it has to be
 *               dropped, and a new one is made.
 *   batched     refits is true, batch.size is the present batch size. Every kernel that reads a batched value takes the
 *               batch size from its input when it runs (free_rows in ci_kernel.h). A batch size from batch.least to
 *               batch.most whose values fit the layout (batch.capacity) is an update of a few numbers.
 *
 * Who calls what, in the order of a call, and what it costs:
 *
 *   1. ci_session_plan looks at the plan used last (ci_plan_cache_takes), then into the cache (ci_plan_cache_find). A
 *      batched plan is tried with ci_dynamic_shapes_batch_takes: it compares the dimensions of the inputs, and updates
 *      each batched value if the batch size is new. No allocation.
 *   2. If no plan takes the shapes, ci_plan_cache_refittable chooses one to refit: one that only lacks capacity
 *      (ci_dynamic_shapes_batch_lacks_capacity), or an old one. ci_dynamic_shapes_refit does so, in time proportional
 *      to the plan, with allocations only where kernels or precomputed results need more memory, and classifies it
 *      again.
 *   3. If there is none, or it was spoiled, ci_compile_plan makes a new plan and classifies it.
 *
 * Two flags of a plan's values serve this module alone. shape_changed is valid during ci_dynamic_shapes_refit: the
 * value differs from the one that the plan had, in its shape or in numbers that are known while planning. has_batch is
 * valid from a classification to the next one: the value's first axis is the batch.
 */
#ifndef CI_DYNAMIC_SHAPES_H
#define CI_DYNAMIC_SHAPES_H
#include "../base/memory.h"
#include "../kernels/ci_kernel.h"

struct ci_plan;

typedef struct ci_batched_value { /* with the size of each of its batch items */
  ci_value *value;
  int64_t count;
  size_t bytes;
} ci_batched_value;

typedef struct ci_batch {
  int64_t size;        /* the length of the first axis of all batched values; 0: the plan is not batched */
  int64_t least, most; /* batch sizes with the same choices in kernels and outputs */
  int64_t capacity;    /* the largest batch size whose values fit the layout */
  uint64_t inputs;     /* bit i: input i is batched */
  CI_LIST(ci_batched_value) values;
} ci_batch;

/* ---- dynamic_shapes.c ---- */

void ci_dynamic_shapes_classify(struct ci_plan *plan); /* sets the state of a new plan: refits and batch */
/* Makes a plan fit other shapes of its inputs, which fit the signature. False: it is spoiled and has to be dropped. */
bool ci_dynamic_shapes_refit(struct ci_plan *plan, const ci_tensor *inputs);

/* ---- dynamic_shapes_batch.c ---- */

void ci_dynamic_shapes_batch_find(struct ci_plan *plan); /* sets batch; refits must be set */
/* Whether a batched plan serves inputs of these shapes; if so, their batch size is its present one. */
bool ci_dynamic_shapes_batch_takes(struct ci_plan *plan, const ci_tensor *inputs);
/* Whether only the layout is too small for them. */
bool ci_dynamic_shapes_batch_lacks_capacity(const struct ci_plan *plan, const ci_tensor *inputs);
#endif
