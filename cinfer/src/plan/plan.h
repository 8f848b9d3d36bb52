/* plan.h - the structures of a plan: a signature compiled for inputs of certain shapes.
 *
 * compile.c goes through the needed nodes in order, bodies in the place of their If or Loop, and gives each a step.
 * Every step has a position on one line; from the positions layout.c sees how long each value is needed, and gives
 * them offsets in one arena. execute.c then only walks the steps. Values whose shape no input shape determines have
 * separate memory, allocated when they are made and freed after their last reader.
 */
#ifndef CI_PLAN_H
#define CI_PLAN_H
#include "../model/model.h"
#include "../state/state.h"
#include "dynamic_shapes.h"

typedef enum ci_home { /* where the bytes of a buffer are */
                       CI_HOME_ARENA,
                       CI_HOME_FIXED,    /* a constant, or computed while planning: data is set already */
                       CI_HOME_INPUT,    /* the caller's */
                       CI_HOME_VARIABLE, /* the state's buffer */
                       CI_HOME_OWNED,    /* `block`, which a step owns and refills */
                       CI_HOME_HEAP      /* `block`, taken when the value is made */
} ci_home;

typedef struct ci_buffer {
  ci_home home;
  int32_t same_as; /* another buffer whose bytes these are (in place, or a Loop's result), or CI_NONE */
  int32_t carried; /* the plan value of the Loop's formal input whose buffer this is, or CI_NONE */
  int32_t result; /* the plan value of the formal input that takes these bytes at the end of an iteration, or CI_NONE */
  int32_t first, last; /* positions between which the bytes matter */
  int32_t slot; /* of CI_HOME_VARIABLE: index into the state */
  int32_t constant; /* of CI_HOME_FIXED: the constant of the model whose bytes these are, or CI_NONE */
  size_t bytes, offset; /* in the arena */
  size_t capacity; /* there, from its offset on */
  size_t first_offset; /* layout.c: from its first attempt */
  void *block; /* of CI_HOME_FIXED, too: the result of constant folding */
  size_t block_bytes; /* of CI_HOME_FIXED: of that result, in a block or in the plan's pool */
  int32_t next_freed; /* the next buffer that the same step frees, or CI_NONE */
  int32_t output; /* output.c: the number of the only output that uses it; negative: none, or several do */
} ci_buffer;

typedef struct ci_plan_value { /* a value of the plan */
  ci_value value; /* first: kernels see only this. rank -1: the shape is not known before the run */
  int32_t root; /* the plan value whose bytes these are; itself if no other */
  int32_t next; /* the next plan value with the same root, or CI_NONE */
  int32_t buffer; /* of a root */
  int32_t made, last_read; /* positions; of a root, last_read counts for all with its bytes */
  int32_t result; /* the carried formal input that takes it at the end of an iteration, or CI_NONE */
  int32_t readers; /* fold.c: of a root that is settled: how many readers are to come */
  bool taken; /* another value is written over it */
  bool settled; /* fold.c: its numbers follow from constants alone */
  bool shape_changed; /* dynamic_shapes.h: while the plan is fitted to other shapes */
  bool has_batch; /* dynamic_shapes.h: its first axis is the batch of a batched plan */
} ci_plan_value;

typedef struct ci_plan ci_plan;
typedef struct ci_frame ci_frame;
typedef struct ci_half ci_half; /* half.c */

typedef struct ci_node_run ci_step;
struct ci_node_run { /* a step */
  ci_kernel k; /* first: the plan calls run(&step->k) */
  ci_status (*run)(ci_kernel *k);
  const ci_node *node;
  const ci_as *as; /* the operator's name in messages, while it is prepared as another; or NULL */
  ci_plan *plan;
  int32_t begin, end; /* positions: the step's, and for If and Loop that after its bodies */
  int32_t *alias; /* of each output: the input whose bytes it is, or CI_NONE */
  int32_t scratch; /* buffer or CI_NONE */
  int32_t freed; /* first buffer to free afterwards, or CI_NONE */
  size_t private_bytes, more_bytes; /* of k.private_memory and k.private_more */
  bool private_pooled, more_pooled; /* the plan's pool has it */
  ci_frame *bodies[2];
  uint64_t assigned_in; /* of Assign: the run that last did it */
  ci_step *makes; /* the first of the Assigns whose values it writes into the variables themselves, or NULL */
  ci_step *joins; /* the next one, whose work it does, too; or NULL */
  ci_step *next_made; /* of Assign: the next of them */
  int32_t slot; /* of operators on a variable: index into the state */
  ci_half *half; /* the state of half.c, or NULL */
  bool widens; /* prepared with inputs of float16 or bfloat16 as float32 */
  bool dynamic; /* prepared when it runs */
  bool joined; /* the step before does its work */
  bool copies; /* of a variable's reader: the variable is assigned before the value's last reader */
};

/* Whether the row of a step's operator has a flag, CI_OP_... */
CI_INLINE bool ci_step_is(const ci_step *step, uint32_t flag) { return (step->node->kernel->flags & flag) != 0; }

struct ci_frame { /* a graph's steps */
  ci_plan *plan;
  int32_t graph;
  CI_LIST(ci_step *) steps;
  int32_t begin, end; /* positions */
  int32_t buffers_begin, buffers_end; /* made by its steps, those of inner frames too */
  bool has_heap;
  ci_plan_value **formals, **outputs;
  int32_t formal_count, output_count;
};

typedef struct ci_watch { /* a variable whose shape the plan took from the state */
  int32_t slot, rank;
  int64_t dims[CI_MAX_RANK];
} ci_watch;

typedef struct ci_read { /* a node that may read a variable's value from before the run */
  int32_t slot;
  bool must; /* it does, so there must be a value */
  const ci_node *node;
} ci_read;

typedef struct ci_plan_output {
  ci_plan_value *plan_value;
  int32_t copy; /* buffer for a borrowed copy of a value in memory that is not the session's, or CI_NONE */
  bool direct; /* no other value uses its buffer: steps may write into the caller's memory */
  bool one_nan; /* the step that made it has seen to its NaN in this run */
  bool apart; /* in this run: the memory that the caller gives for it is used for nothing else */
  void *lent; /* the caller's memory that the plan values point at, or NULL */
} ci_plan_output;

typedef struct ci_extent { /* memory of the caller's */
  uintptr_t begin, end;
  int32_t output; /* for which it is given, or CI_NONE: an input */
} ci_extent;

struct ci_plan { /* first what each run reads, in few lines of the cache */
  struct ci_session *session;
  ci_state *state;
  int32_t signature, input_count, output_count;
  bool may_meet; /* whether extents are to be compared: an output is written while inputs are read, or is an input */
  bool meets; /* in this run: an output was given memory of an input or of another output */
  bool has_heap;
  bool reserved; /* by ci_reserve, so that runs of its shapes allocate nothing */
  ci_tensor *inputs; /* the shapes it is for */
  ci_plan_value **input_plan_values; /* NULL: no needed node reads it and it is not an output */
  ci_plan_output *outputs;
  const char *bound_arena; /* the arena that the plan values point into */
  uint64_t bound_layout; /* of the state */
  size_t arena_bytes;
  ci_batch batch;
  ci_error *error; /* of the call in progress; may be NULL */
  ci_plan_value *plan_values;
  ci_frame root;
  const ci_model *model;
  ci_extent *extents; /* of inputs and outputs in this run */
  int32_t plan_value_count;
  bool fed_strings; /* an input has strings, so strings of outputs may be the caller's */
  bool refits; /* may be fitted to other shapes (dynamic_shapes.h) */
  bool makes; /* a step writes values of Assigns into the variables themselves */
  ci_pool pool;
  CI_LIST(ci_step *) all_steps; /* for giving back their memory */
  CI_LIST(ci_buffer) buffers;
  CI_LIST(ci_watch) watchpoints;
  CI_LIST(ci_read) reads;
  CI_LIST(int32_t) bound_reads; /* root values that are a variable's buffer during the entire run */
  size_t lost; /* bytes of its pool that no step uses any more */
  struct ci_compiler *compiler; /* while compiling */
};

CI_INLINE ci_plan_value *ci_plan_value_of(const ci_value *value) { return (ci_plan_value *)(uintptr_t)value; }
CI_INLINE int32_t ci_plan_value_index(const ci_plan *plan, const ci_plan_value *plan_value) {
  return (int32_t)(plan_value - plan->plan_values);
}

/* ---- plan.c ---- */

/* Notes that the bytes of a plan value are read at a position. */
void ci_plan_note_reader(ci_plan *plan, int32_t plan_value, int32_t position);
/* Points a root value, and all values with its bytes, at data. */
void ci_plan_point(ci_plan *plan, ci_plan_value *root, void *data);
void ci_plan_own(ci_plan *plan, ci_plan_value *plan_value,
                 int32_t buffer); /* the plan value becomes a root in that buffer */
bool ci_plan_offer(ci_plan *plan, ci_plan_value *output, ci_plan_value *input, int32_t position, bool alone);
/* A new buffer of `bytes` with a home; CI_NONE: out of memory. */
int32_t ci_plan_buffer(ci_plan *plan, ci_home home, size_t bytes);
int32_t ci_plan_resolve(const ci_plan *plan, int32_t buffer);
ci_buffer *ci_plan_buffer_of(ci_plan *plan, const ci_value *value);
/* The constant whose bytes a value of the plan has, or NULL. */
ci_constant *ci_plan_constant(ci_plan *plan, const ci_value *value);
void ci_buffer_release(ci_plan *plan, ci_buffer *buffer); /* of CI_HOME_HEAP: frees its memory */
/* Other memory for the bytes of a buffer of CI_HOME_FIXED. */
bool ci_buffer_take_fixed(ci_plan *plan, ci_buffer *buffer, size_t bytes, void **data);
void ci_buffer_release_fixed(ci_plan *plan, ci_buffer *buffer);
/* Drops the buffers from `count` on, and frees what was computed for them. */
void ci_plan_drop_buffers(ci_plan *plan, size_t count);
/* To compile a body again, the plan drops everything after a mark. */
typedef struct ci_plan_mark {
  size_t buffers, steps, offers, bound_reads;
} ci_plan_mark;
ci_plan_mark ci_plan_mark_now(const ci_plan *plan);
void ci_plan_forget(ci_plan *plan, ci_plan_mark mark);
void ci_plan_clear(ci_plan *plan); /* makes it empty; it keeps its memory for the next ci_compile_plan */
void ci_plan_free(ci_plan *plan);

/* ---- compile.c ---- */

ci_status ci_compile_plan(struct ci_session *session, int signature, const ci_tensor *inputs, ci_plan **plan,
                          ci_error *error);
/* For prepare of If and Loop. ci_compile_frame makes the frame and knows its formal inputs; the caller gives the
 * plan values of these their shapes; ci_compile_frame_nodes compiles its nodes. */
ci_status ci_compile_frame(ci_kernel *k, int body, const char *attr);
ci_status ci_compile_frame_nodes(ci_kernel *k, int body);
bool ci_compile_is_deep(const ci_kernel *k); /* too deep to compile twice */

/* ---- compiler.c ---- */

void ci_compiler_free(struct ci_session *session);

/* ---- steps.c ---- */

void ci_step_reset(ci_step *step);
ci_status ci_step_prepare(ci_step *step); /* calls the kernel's prepare */
ci_status ci_step_compute(ci_step *step); /* calls the kernel's run */

/* ---- plan_variables.c ---- */

/* A variable's reader: its slot, and the shape if it is known while planning (else CI_PENDING). */
ci_status ci_plan_variables_read(ci_kernel *k);
ci_status ci_plan_variables_assign(ci_kernel *k);
ci_status ci_plan_variables_slot(ci_kernel *k); /* finds attribute `variable` in the state: step->slot */
ci_status ci_plan_variables_uninitialized(const ci_plan *plan, const ci_node *node, const ci_slot *slot,
                                          ci_error *error);

/* ---- pack.c ---- */

/* A constant's elements, row-major; NULL: there is no memory for them. */
const void *ci_pack_constant_plain(ci_model *model, ci_constant *constant);
/* Restores a constant in packed tiles to row-major order, for steps that do not read packed tiles. */
ci_status ci_pack_plain(ci_plan *plan, ci_value *value);

/* ---- layout.c ---- */

ci_status ci_layout_plan(ci_plan *plan);
ci_status ci_layout_offsets(ci_plan *plan); /* of buffers whose sizes and positions are known */

/* ---- heap.c ---- */

/* Gives a buffer separate memory, with the first `keep` bytes of the old. */
ci_status ci_heap_grow(ci_kernel *k, ci_buffer *buffer, size_t keep, size_t bytes);
/* The same with nothing kept; false: out of memory, or above the session's limit. */
bool ci_heap_take(ci_plan *plan, ci_buffer *buffer, size_t bytes);
/* Memory for a value whose shape is now known; the memory before is freed. */
ci_status ci_heap_value(ci_kernel *k, ci_value *value);
/* Makes output `to` of a step a copy of a value, in separate memory if its shape was not known. */
ci_status ci_heap_copy(ci_kernel *k, ci_value *to, const ci_value *from);
/* The error of a step that needs more than the session's limit; `what` names the purpose. */
ci_status ci_heap_refuse(ci_kernel *k, const char *what, size_t bytes);
void ci_heap_release_frame(ci_frame *frame); /* gives back what its steps have taken */

/* ---- execute.c ---- */

ci_status ci_execute_frame(ci_frame *frame);
ci_status ci_execute_dynamic_step(ci_kernel *k); /* runs a step that is prepared only now */
ci_status ci_execute_freeing_step(ci_kernel *k); /* runs a step and gives back what it was the last to read */
ci_status ci_execute_go_on(ci_kernel *k); /* not if the run has to end */
ci_status ci_execute_bind(ci_plan *plan, ci_error *error);
#endif
