/* state.h - a state: variables and random generators by name, which outlive a run. */
#ifndef CI_STATE_H
#define CI_STATE_H

#include "../system/atomics.h"
#include "../base/value.h"
#include "../system/mapping.h"
#include "resources.h"

typedef struct ci_slot { /* one variable */
  char *name;            /* terminated; owned */
  int32_t dtype;
  int32_t rank; /* -1: a value of any shape may be assigned */
  int64_t dims[CI_MAX_RANK]; /* -1: any size */
  bool ruled; /* false: only a checkpoint had it, and the first model that declares it decides its shape */
  bool initialized;
  ci_value value; /* when initialized; data is 64-aligned. Elements of CI_STRING are ci_string, their bytes follow */
  size_t capacity; /* of value.data, unless that is in `mapping` */
  ci_mapping *mapping; /* held: the file where value.data is, or NULL */
  atomic_bool checked; /* whether the bytes there have been compared with crc32c */
  uint32_t crc32c;
  uint64_t version; /* +1 with every change of the value */
  char *slot_of, *slot; /* owned: an optimizer's slot knows its variable and which it is; else NULL */
} ci_slot;

typedef struct ci_random { /* one generator */
  char *name;
  bool initialized; /* false until it is first used or set */
  bool seeded; /* the model gives the key; else it comes from the state's seed */
  uint64_t seed_key;
  ci_generator now;
} ci_random;

/* Slots and generators keep their index for the life of the state. */
int ci_state_slot_count(const ci_state *state);
ci_slot *ci_state_slot(const ci_state *state, int index);
int ci_state_find(const ci_state *state, ci_span name); /* or -1 */
int ci_state_random_count(const ci_state *state);
ci_random *ci_state_random(const ci_state *state, int index);
int ci_state_find_random(const ci_state *state, ci_span name); /* or -1 */
const ci_allocator *ci_state_allocator(const ci_state *state);
const ci_limits *ci_state_limits(const ci_state *state);
ci_resources *ci_state_resources(const ci_state *state);
int64_t ci_state_opened(const ci_state *state); /* nanoseconds since 1970 */
typedef struct ci_origin { /* the checkpoint that was the newest of its folder when the state was restored from it */
  char base[256];          /* last part of the prefix; "": none */
  uint64_t save_id;
} ci_origin;
ci_origin *ci_state_origin(ci_state *state);

/* Adds a variable that a model declares; one that is there already must agree in dtype and shape. ci_state_adopt: a
 * variable that only a checkpoint has, whose shape is not a rule. A new generator with the name of a blob is
 * CI_ALREADY_EXISTS: a checkpoint could not have both. */
ci_status ci_state_adopt(ci_state *state, ci_span name, int32_t dtype, int32_t rank, const int64_t *dims, int *index,
                         ci_error *error);
ci_status ci_state_declare(ci_state *state, ci_span name, int32_t dtype, int32_t rank, const int64_t *dims, int *index,
                           ci_error *error);
/* Makes the shape that was declared the rule of a variable that only a checkpoint had. */
void ci_state_rule(ci_state *state, int index, int32_t rank, const int64_t *dims);
ci_status ci_state_declare_random(ci_state *state, ci_span name, bool seeded, uint64_t key, int *index,
                                  ci_error *error);
/* Declares of which variable this one is the slot; the first declaration counts, an empty one declares nothing. *made:
 * it was declared by this call. */
ci_status ci_state_link(ci_state *state, int index, ci_span slot_of, ci_span slot, bool *made, ci_error *error);
void ci_state_unlink(ci_state *state, int index);
/* Removes the last declarations: variables and generators from these numbers on. No session may know them. */
void ci_state_forget(ci_state *state, int slot_count, int random_count);
/* Gives a generator that was never used its first key. */
void ci_state_random_start(const ci_state *state, ci_random *random);

/* Several changes at once: all are checked and all memory is there before the first is made, so a failure changes
 * nothing. Values are views (ci_string elements for CI_STRING); they are copied. */
typedef struct ci_slot_change {
  int slot;
  ci_value value;
  bool linked; /* for this change, and not any more when it fails */
  bool given; /* not copied: value.data is memory of ci_state_alloc, which becomes the slot's unless the change fails */
  ci_mapping *mapping; /* or NULL; held for the change: value.data is there, and is checked when it is first used */
  uint32_t crc32c;
} ci_slot_change;
typedef struct ci_random_change {
  int random;
  ci_generator value;
} ci_random_change;
/* in_file.c: the values of those variables of an assignment that are in files. */
ci_status ci_in_file_changes(ci_state *state, const ci_assignment *requested, ci_slot_change *changes, ci_error *error);
/* Takes a value back: the variable is uninitialised again. */
void ci_state_empty(ci_state *state, int index);
/* Frees the memory of a change that was not made. */
void ci_state_change_drop(ci_state *state, ci_slot_change *change);
ci_status ci_state_change(ci_state *state, const ci_slot_change *slots, int slot_count, const ci_random_change *randoms,
                          int random_count, ci_error *error);

/* Rises when a buffer moves, a shape changes or something is initialised or declared: plans must then check their
 * shapes and pointers again. */
uint64_t ci_state_layout(const ci_state *state);
/* Copies a value into a slot, whose dtype and shape rule it must fit. The memory that it replaces is given to
 * *replaced (data NULL if the buffer stayed), because views of it may live until the run ends. */
typedef struct ci_block {
  void *data;
  size_t bytes;
  ci_mapping *mapping; /* the file that data points into, or NULL */
} ci_block;
void ci_block_free(const ci_allocator *allocator, ci_block block);
ci_status ci_slot_assign(ci_state *state, ci_slot *slot, const ci_value *value, ci_block *replaced, ci_error *error);
/* Compares a value with its checksum in a file. */
ci_status ci_state_value_check(const ci_value *value, uint32_t crc32c, const char *name, const char *checkpoint,
                               ci_error *error);
/* To be called before any number of a value is used. CI_DATA_LOSS: it was restored without a look at it, and now its
 * checksum does not match. */
ci_status ci_slot_check(const ci_slot *slot, ci_error *error);
/* Whether dims fit the rule of a slot. */
bool ci_slot_accepts(const ci_slot *slot, int32_t dtype, int32_t rank, const int64_t *dims);

void ci_state_retain(ci_state *state);
/* A run begins and ends; meanwhile a host function must not change the state. */
ci_status ci_state_enter(ci_state *state, ci_error *error);
void ci_state_leave(ci_state *state);
ci_status ci_state_idle(const ci_state *state, ci_error *error);
#endif
