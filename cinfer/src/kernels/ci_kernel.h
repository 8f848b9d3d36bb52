/* ci_kernel.h - the interface of kernels: values, attributes, errors, memory.
 *
 * An operator is one row of ops.def and two functions. `prepare` reads attributes and input shapes, checks everything
 * that can be checked, sets the type and shape of every output, keeps the data of `run` in ci_k_private memory and
 * requests scratch. `run` computes. prepare is called again whenever a shape changes; run many times after one
 * prepare. Numbers that come as data (indices, labels) are checked in run.
 */
#ifndef CI_KERNEL_H
#define CI_KERNEL_H
#include <stdbool.h>
#include <string.h>

#include "../base/value.h"
#include "../system/threads.h"

typedef struct ci_largest { /* max-pooling windows of planes: all inside the plane, without overlap */
  int64_t height, width, down, right; /* of a window; from one to the next */
  int64_t rows, columns;              /* windows of a plane */
} ci_largest;

typedef struct ci_kernel ci_kernel;

struct ci_kernel {
  int n_in, n_out;      /* as in the node; trailing absent optional inputs are counted or not as written */
  ci_value **in;        /* in[i] is NULL when absent */
  ci_value **out;       /* out[i] is never NULL */
  void *private_memory; /* the memory of ci_k_private in prepare */
  void *private_more;   /* the memory of ci_k_private_more */
  void *scratch;        /* in run: scratch_bytes bytes, 64-aligned; never NULL, so that empty parts have an address */
  size_t scratch_bytes; /* set in prepare; 0 at its start */
  const struct ci_isa *isa; /* vector functions for this machine (isa.h) */
  int threads;          /* how many ci_k_parallel may use */
  bool ahead;           /* run computes while planning: memory of a run cannot be taken */
  /* Set in prepare, NULL at its start. The plan calls join if the next step alone reads out[0], as its in[0]; if it is
   * not 0, run does that step's work, too, with its scratch, and writes its out[0] instead, which gets memory for so
   * many bytes. largest: the work of a step that can be joined. */
  size_t (*join)(ci_kernel *k, const ci_kernel *next);
  const ci_largest *largest;
  /* Set in prepare, 0 at its start, by an operator that offers no memory: the first axis of all inputs in `row_inputs`
   * (bit i: input i) and of out[0], their only one, may have any one length from 2 to free_rows when it runs. */
  int64_t free_rows;
  uint32_t row_inputs;
  uint32_t reordered; /* inputs of which run reads only the memory of pack.h (bit i: input i) */
  bool *one_nan; /* set by ci_k_parallel_rows if out[0] has one NaN; NULL: out[0] stays in the plan */
  struct ci_node_run *node; /* for plan.c and the control-flow kernels alone */
};

/* Attributes. A missing one gives the default; one of another kind is an error that names it. Strings and lists are
 * borrowed from the model. */
ci_status ci_k_attr_i(ci_kernel *k, const char *name, int64_t fallback, int64_t *value);
ci_status ci_k_attr_f(ci_kernel *k, const char *name, double fallback, double *value); /* float or double */
ci_status ci_k_attr_s(ci_kernel *k, const char *name, const char *fallback, ci_span *value); /* bytes, not terminated */
ci_status ci_k_attr_ints(ci_kernel *k, const char *name, const int64_t **values, int *count); /* missing: count -1 */
ci_status ci_k_attr_floats(ci_kernel *k, const char *name, const float **values, int *count);
ci_status ci_k_attr_strings(ci_kernel *k, const char *name, const ci_span **values, int *count);
ci_status ci_k_attr_tensor(ci_kernel *k, const char *name, ci_value *value); /* missing: rank -1 */
/* the same, in packed tiles if the file has it so */
ci_status ci_k_attr_stored(ci_kernel *k, const char *name, ci_value *value);
bool ci_k_has(const ci_kernel *k, const char *name); /* an attribute */
int ci_k_version(const ci_kernel *k); /* the operator's version that the node was written for */

/* Sets the type and shape of an output and computes count and bytes; too large or a negative dimension is an error. */
ci_status ci_k_out(ci_kernel *k, int i, int32_t dtype, int rank, const int64_t *dims);
ci_status ci_k_out_like(ci_kernel *k, int i, int32_t dtype, const ci_value *shape_of);
/* Makes an output a sequence of so many bytes, or nothing. */
ci_status ci_k_out_sequence(ci_kernel *k, int i, size_t bytes);
ci_status ci_k_out_nothing(ci_kernel *k, int i);
/* In prepare, after ci_k_out: output o is the bytes of input i (Reshape, Identity). run then has nothing to do. Whether
 * it is depends on types and attributes alone. */
void ci_k_alias(ci_kernel *k, int o, int i);
/* In prepare: output o may overwrite input i if that has no later reader. Element e of the output may then depend on
 * no element of input i but e. Sizes must be equal. Several candidates may be offered, the first that fits is taken. */
void ci_k_in_place(ci_kernel *k, int o, int i);
/* The same for an operator that reads other inputs at other indices than it writes: not if one of them is the same
 * memory, as in ScatterND(x, indices, x). */
void ci_k_in_place_alone(ci_kernel *k, int o, int i);
/* In prepare: zeroed memory that lives until the next prepare. NULL: out of memory, return ci_k_no_memory(k). */
void *ci_k_private(ci_kernel *k, size_t bytes);
void *ci_k_private_more(ci_kernel *k, size_t bytes); /* a second one, for the epilogue (fused.h) */
/* In prepare, after ci_k_out: the output o is known and `data` has its elements, which stay. */
ci_status ci_k_fix(ci_kernel *k, int o, void *data);
/* In prepare: input i as integers (int32 or int64 data, rank 0 or 1), at most `most`. CI_PENDING when the numbers are
 * not known before the run: return that, and prepare is called again when they are. */
#define CI_PENDING (-1)
ci_status ci_k_known_ints(ci_kernel *k, int i, int64_t *values, int most, int *count);
bool ci_k_known(const ci_kernel *k, int i); /* whether in[i]->data may be read in prepare; call it before reading */
bool ci_k_may_read(const ci_kernel *k,
                   uint64_t work); /* whether prepare may do as much as reading so many bytes more */

/* Runs fn over [0, n) in parts of at least `grain`, on up to k->threads threads. Parts split outputs, never a
 * reduction, so results do not depend on their number. */
void ci_k_parallel(ci_kernel *k, int64_t n, int64_t grain, ci_part_fn fn, void *argument);
/* The same where a part writes its share of out[0] and nothing else, so that elements / n of them go with each number:
 * a result that leaves the library gets its one NaN while it is in the cache. */
void ci_k_parallel_rows(ci_kernel *k, int64_t n, int64_t grain, ci_part_fn fn, void *argument);

/* Before it, of an operator whose out[0] has the elements of x, several times: x is looked at instead. */
void ci_k_repeats(ci_kernel *k, const ci_value *x);

/* The same: the run has seen to the NaN of out[0] itself. */
CI_INLINE void k_wrote_one_nan(ci_kernel *k) {
  if (k->one_nan != NULL) *k->one_nan = true;
}

/* Errors: the message is completed to "Op 'node' (train.py:88 in f): ...". Returns `status`. */
ci_status ci_k_fail(ci_kernel *k, ci_status status, const char *format, ...) CI_PRINTF(3, 4);
ci_status ci_k_no_memory(ci_kernel *k);
/* The error of a caller's function that did not return CI_OK; `what` names the function. */
ci_status ci_k_fail_of(ci_kernel *k, const char *what, ci_status status, ci_error *reported);

/* Random generators of the state: ci_k_draw reserves `blocks` Philox blocks and gives key and first counter. */
ci_status ci_k_draw(ci_kernel *k, ci_span generator, uint64_t blocks, uint64_t *key, uint64_t *counter);

/* Shapes (kernel_shape.c). */
ci_status ci_k_axis(ci_kernel *k, int64_t axis, int rank, int *out); /* -rank <= axis < rank, else an error */
ci_status ci_k_broadcast(ci_kernel *k, const ci_value *const *v, int n, int *rank, int64_t *dims); /* numpy's rule */
/* The same for an operator that was fused into this one: an error names that node (empty name: k's node). */
ci_status ci_k_broadcast_of(ci_kernel *k, ci_span op, ci_span name, const ci_value *const *v, int n, int *rank,
                            int64_t *dims);
/* Calls another operator's prepare for this node; its errors name the node that attribute `names` has first. */
ci_status ci_k_prepare_as(ci_kernel *k, ci_span op, const char *names, ci_status (*prepare)(ci_kernel *k));

/* The table of operators. */
typedef struct ci_op {
  const char *domain, *name;
  int32_t since, until; /* versions; until 0: no end */
  int8_t min_in, max_in; /* max -1: any number */
  int8_t min_out, max_out;
  uint32_t flags;
  const char *types; /* of the inputs, as kinds.c knows them */
  ci_status (*prepare)(ci_kernel *k);
  ci_status (*run)(ci_kernel *k);
} ci_op;
enum {
  CI_OP_STATEFUL = 1, /* reads or changes state: never run before its turn, never merged */
  CI_OP_CONTROL = 2, /* has subgraphs, or finds shapes of outputs in run: prepare may see unknown shapes */
  CI_OP_SHAPE_ONLY = 4, /* needs its input's shape, not the numbers */
  CI_OP_HALF = 8, /* float16 and bfloat16 are computed in float32 (half.h) */
  CI_OP_HOLDS = 16, /* inputs may be sequences, or nothing */
  CI_OP_PACKED_TILES =
      32, /* input 1 may be in packed tiles: prepare gets it from pack.h and reads no element of it itself */
  CI_OP_STEEP = 64, /* its time may grow faster than its bytes: computed before the run only where these are few */
  CI_OP_NO_RUN = 128, /* done once it is prepared: its outputs are inputs or known, and a plan gives it no step */
  CI_OP_READS_VARIABLE = 256, /* its output is the buffer of a variable, or a copy of it */
  CI_OP_ASSIGNS = 512, /* input 0 becomes the value of a variable */
  CI_OP_CALLS_HOST = 1024 /* run is one call of a host function, which ci_host_peek may prepare early */
};

/* The functions of every row, so that a kernel file needs no header for them. */
#define CI_OP(domain, name, since, until, min_in, max_in, min_out, max_out, flags, types, prepare, run) \
  CI_LOCAL ci_status prepare(ci_kernel *k);                                                             \
  CI_LOCAL ci_status run(ci_kernel *k);
#define CI_TAKES(family) 1
#define CI_FAMILY(family)
#include "../ops.def"
#undef CI_OP
#undef CI_TAKES
#undef CI_FAMILY
#endif
