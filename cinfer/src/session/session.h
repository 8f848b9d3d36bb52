/* session.h - a session: a model that runs on a state, with its plans and memory. */
#ifndef CI_SESSION_H
#define CI_SESSION_H
#include "../plan/plan.h"

typedef struct ci_retired { /* memory that views of this run may still show */
  struct ci_retired *next;
  const ci_allocator *allocator;
  ci_block block;
} ci_retired;

enum {
  CI_MOST_PLANS = 64,
  CI_FEW_STEPS = 32, /* of a small plan, which is fitted to other shapes at little cost */
  CI_KEPT_PLANS = 8  /* small plans of a signature, before one of them is fitted to other shapes */
};

typedef struct ci_plan_cache { /* plan_cache.c */
  int count, latest;
  ci_plan *shown; /* of the latest run, whose results may be borrowed until the next one; or NULL */
  bool shown_is_gone; /* from the list */
  ci_plan *at[CI_MOST_PLANS];
  uint64_t keys[CI_MOST_PLANS]; /* a hash of the key of each */
  uint64_t used[CI_MOST_PLANS]; /* when it became the latest, by the clock */
  uint64_t clock;
  ci_plan *spare; /* an empty one that has memory */
} ci_plan_cache;

typedef struct ci_refused {
  size_t bytes; /* that were requested; 0: nothing was refused */
  size_t plans, values; /* bytes that were held */
} ci_refused;

struct ci_session { /* first what each run reads, in few lines of the cache */
  ci_model *model;
  ci_state *state;
  char *arena;
  size_t arena_bytes;
  size_t heap_bytes; /* of values with separate memory */
  ci_retired *retired;
  uint64_t run;
  ci_stop stop;
  bool running;
  ci_observer observer;
  ci_plan_cache plans;
  ci_stats stats;
  ci_allocator given;     /* the caller's */
  ci_allocator allocator; /* charge.c: for plans and all but values; counts, and asks the caller's */
  ci_allocator values;    /* charge.c: for the memory that arena_bytes and heap_bytes count */
  size_t planned;         /* bytes that the allocator has given */
  size_t granted;         /* so many of them whatever the limit is */
  ci_refused refused;     /* the last request above the limit */
  ci_limits limits;
  ci_host host;
  ci_executor executor;
  struct ci_threads *threads; /* NULL: none */
  int thread_count;
  struct ci_compiler *compiler; /* compiler.c: its memory between plans */
  bool *checked; /* constants whose bytes this session has checked */
};

/* ---- session_plan.c ---- */

/* The plan of a call, made if there is none, and an arena that is large enough for it. */
ci_status ci_session_plan(struct ci_session *session, int signature, const ci_tensor *inputs, ci_plan **plan,
                          ci_error *error);

/* ---- plan_cache.c ---- */

uint64_t ci_plan_cache_key(const struct ci_session *session, int signature, const ci_tensor *inputs); /* a hash */
/* Whether variables still have the shapes that a plan was made for. */
bool ci_plan_cache_holds(const ci_plan *plan);
/* Whether a plan serves these inputs; a batched one may take another batch size for it. */
bool ci_plan_cache_takes(ci_plan *plan, int signature, const ci_tensor *inputs);
/* A plan that takes these inputs, which becomes the latest; NULL: there is none. */
ci_plan *ci_plan_cache_find(struct ci_session *session, uint64_t key, int signature, const ci_tensor *inputs);
ci_plan *ci_plan_cache_use(struct ci_session *session, int p); /* plan p becomes the latest */
void ci_plan_cache_drop(struct ci_session *session, int p);    /* plan p leaves the list */
int ci_plan_cache_oldest(const ci_plan_cache *plans);
/* A plan of the signature to fit to these inputs (ci_dynamic_shapes_refit), or CI_NONE. */
int ci_plan_cache_refittable(const ci_plan_cache *plans, int signature, const ci_tensor *inputs);
/* The results of this plan, or of none, may be borrowed from now on. */
void ci_plan_cache_show(struct ci_session *session, ci_plan *plan);
/* Frees the plans that no run uses and ci_reserve does not need; whether there were any. */
bool ci_plan_cache_shed(struct ci_session *session);
void ci_plan_cache_free(struct ci_session *session);

/* ---- charge.c ---- */

void ci_charge_open(struct ci_session *session); /* makes its allocators */
/* Whether a value of so many bytes may be added; or an arena be so large, in addition to the values of a run. */
bool ci_charge_value(struct ci_session *session, size_t bytes);
bool ci_charge_arena(struct ci_session *session, size_t bytes);
/* The error of a plan that was refused memory. */
ci_status ci_charge_refusal(const struct ci_session *session, int signature, ci_error *error);

/* ---- session_check.c ---- */

ci_status ci_session_check_go_on(struct ci_session *session, ci_error *error); /* not if the call has to end */
ci_status ci_session_check_input(const ci_signature_info *signature, int32_t i, const ci_tensor *input,
                                 ci_error *error);
ci_status ci_session_check_constant(struct ci_session *session, int32_t constant, ci_error *error);

/* ---- session_keep.c ---- */

/* Keeps a block until the next run. The record is made before what can fail. */
ci_retired *ci_session_keep_record(struct ci_session *session);
void *ci_session_keep(struct ci_session *session, size_t bytes); /* memory until the next run, or NULL */
void ci_session_keep_block(struct ci_session *session, ci_retired *record, const ci_allocator *allocator,
                           ci_block block);
#endif
