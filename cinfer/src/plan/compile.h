/* compile.h - the compiler of plans: the state that compile.c, fold.c and layout.c share while they make a plan. */
#ifndef CI_COMPILE_H
#define CI_COMPILE_H
#include "../session/session.h"

typedef struct ci_offer { /* output may be written over input, which must have its last reader there */
  int32_t output, input; /* plan values */
  int32_t position;
  bool alone; /* the input's bytes may be no other input's, and the step may fail when it has written some */
  int32_t next; /* layout.c: another of the same output, or CI_NONE */
} ci_offer;

typedef struct ci_assigned { /* a position at which a variable changes */
  int32_t slot, position;
} ci_assigned;

typedef struct ci_slot_plan { /* facts about a variable while going through the nodes */
  bool assigned;    /* by some needed node */
  bool in_body;     /* by one inside an If or Loop */
  bool before;      /* by a node before the present one */
  bool shape_known; /* of the value assigned last */
  int32_t assigns;  /* how many there are */
  int32_t next;     /* layout.c: the position of the next one, while going through the steps backwards; 0: none */
  int32_t read_until;   /* layout.c: the last position at which the value before the last one is read */
  int32_t rank;
  int64_t dims[CI_MAX_RANK];
} ci_slot_plan;

typedef struct ci_gap { /* layout.c: a free range of the arena */
  size_t offset, bytes;
} ci_gap;

typedef struct ci_compiler {
  ci_plan *plan;
  const ci_model *model;
  const ci_allocator *allocator;
  ci_error *error;
  int32_t signature; /* the signature that the arrays below are of; CI_NONE: none yet */
  int32_t plan_value_count;
  int32_t *need;    /* [node] */
  bool *fed;        /* [edge] */
  int32_t *plan_value_of; /* [edge], CI_NONE: not in the plan */
  int32_t *readers; /* [edge]: how often it occurs among inputs, captures and outputs of the signature's nodes */
  ci_slot_plan *slots;
  size_t slot_count;
  int32_t unread; /* next plan value for an output that the caller feeds instead */
  int32_t depth;
  void **loops; /* [node], NULL until there is one; control.c: results of earlier attempts at a loop */
  int32_t frame_begin; /* position of the frame that is being compiled */
  uint64_t folded; /* bytes read and written by constant folding for this plan */
  uint64_t read;   /* bytes of values that were read for its shapes */
  CI_LIST(ci_offer) offers;
  CI_LIST(ci_assigned) assigns;
  CI_LIST(ci_step *) step_at; /* by position; NULL where a frame begins or ends */
  CI_LIST(int32_t) sorted; /* layout.c: the first offer of each value; buffers, by first and last position */
  CI_LIST(ci_gap) gaps;
} ci_compiler;

/* The session's compiler: its lists and arrays are used again for every plan. */
ci_status ci_compiler_begin(struct ci_session *session, ci_compiler **made, ci_error *error);
/* plan.c: whether so many bytes of values may be read for the shape of one more output: shapes that depend on more are
 * left to the run. */
bool ci_plan_may_read(ci_compiler *c, uint64_t work);

/* ---- fold.c ---- */

void ci_fold_readers(ci_compiler *c, const ci_signature_info *signature); /* fills readers */
/* Computes a step's results now, and gives them buffers. A failure is left to the run, which may or may not reach the
 * step. */
bool ci_fold(ci_compiler *c, ci_step *step);
/* The same into the memory that its outputs have; false: it cannot be done, or failed. */
bool ci_fold_again(ci_compiler *c, ci_step *step);
/* Called for every step once its outputs have buffers. done: the run skips the step. */
void ci_fold_note(ci_compiler *c, ci_step *step, bool done);
enum { CI_END = INT32_MAX }; /* the position of the signature's outputs */
#endif
