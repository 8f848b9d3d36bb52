/* state.c - a state: variables and random generators by name, which outlive a run. */
#include "state.h"

#include <string.h>

#include "../system/atomics.h"
#include "../system/file.h"
#include "../model/model.h"
#include "../math/philox.h"
#include "../base/wire.h"

struct ci_state {
  atomic_int references;
  ci_allocator allocator;
  ci_limits limits;
  uint64_t seed;
  uint64_t layout;
  bool busy; /* a run is using it */
  ci_names slot_names, random_names;
  CI_LIST(ci_slot *) slots; /* each allocated alone: plans keep pointers */
  CI_LIST(ci_random *) randoms;
  ci_resources resources;
  int64_t opened;
  ci_origin origin;
};

/* ---- one run at a time ---- */

ci_status ci_state_idle(const ci_state *state, ci_error *error) {
  if (!state->busy) return CI_OK;
  return ci_fail(
      error, CI_FAILED_PRECONDITION,
      "a run is using the state: the functions that it calls can neither run on that state nor change it, and "
      "one that leaves the run by an exception or longjmp keeps the state in use");
}

ci_status ci_state_enter(ci_state *state, ci_error *error) {
  CI_TRY(ci_state_idle(state, error));
  state->busy = true;
  return CI_OK;
}

void ci_state_leave(ci_state *state) { state->busy = false; }

/* ---- values ---- */

/* ---- open and close ---- */

ci_state_options ci_state_defaults(void) {
  ci_state_options options = {.size = sizeof options};
  return options;
}

static ci_status state_memory(ci_error *error) {
  return ci_fail(error, CI_RESOURCE_EXHAUSTED, "no memory for the state");
}

ci_status ci_state_open(const ci_state_options *given, ci_state **state, ci_error *error) {
  ci_state_options options = ci_state_defaults();
  if (state == NULL)
    return ci_fail(error, CI_INVALID_ARGUMENT, "state is NULL; it must point to where the state is stored");
  *state = NULL;
  CI_TRY(ci_take_options(&options, sizeof options, given, "ci_state_defaults", error));
  ci_state *s = ci_alloc(&options.allocator, sizeof *s);
  if (s == NULL) return state_memory(error);
  atomic_init(&s->references, 1);
  s->allocator = options.allocator;
  s->limits = options.limits;
  ci_limits_fill(&s->limits);
  s->seed = options.seed;
  s->opened = ci_file_now();
  *state = s;
  return CI_OK;
}

void ci_state_retain(ci_state *state) { atomic_fetch_add(&state->references, 1); }

static void state_string_free(const ci_allocator *allocator, char *str) {
  if (str != NULL) ci_release(allocator, str, strlen(str) + 1);
}

void ci_block_free(const ci_allocator *allocator, ci_block block) {
  if (block.mapping) ci_mapping_drop(block.mapping);
  else ci_release(allocator, block.data, block.bytes);
}

static ci_block state_block(const ci_slot *slot) { return (ci_block){slot->value.data, slot->capacity, slot->mapping}; }

static void state_slot_free(const ci_allocator *allocator, ci_slot *slot) {
  ci_block_free(allocator, state_block(slot));
  state_string_free(allocator, slot->slot_of);
  state_string_free(allocator, slot->slot);
  state_string_free(allocator, slot->name);
  ci_release(allocator, slot, sizeof *slot);
}

static void state_random_free(const ci_allocator *allocator, ci_random *random) {
  state_string_free(allocator, random->name);
  ci_release(allocator, random, sizeof *random);
}

void ci_state_close(ci_state *state) {
  if (state == NULL || atomic_fetch_sub(&state->references, 1) != 1) return;
  ci_allocator allocator = state->allocator;
  for (size_t i = 0; i < state->slots.count; i++) state_slot_free(&allocator, state->slots.at[i]);
  for (size_t i = 0; i < state->randoms.count; i++) state_random_free(&allocator, state->randoms.at[i]);
  ci_resources_free(&allocator, &state->resources);
  CI_LIST_FREE(&allocator, &state->slots);
  CI_LIST_FREE(&allocator, &state->randoms);
  ci_names_free(&allocator, &state->slot_names);
  ci_names_free(&allocator, &state->random_names);
  ci_release(&allocator, state, sizeof *state);
}

/* ---- looking up ---- */

int ci_state_slot_count(const ci_state *state) { return (int)state->slots.count; }
ci_slot *ci_state_slot(const ci_state *state, int index) { return state->slots.at[index]; }
int ci_state_random_count(const ci_state *state) { return (int)state->randoms.count; }
ci_random *ci_state_random(const ci_state *state, int index) { return state->randoms.at[index]; }
const ci_allocator *ci_state_allocator(const ci_state *state) { return &state->allocator; }
const ci_limits *ci_state_limits(const ci_state *state) { return &state->limits; }
uint64_t ci_state_layout(const ci_state *state) { return state->layout; }
int64_t ci_state_opened(const ci_state *state) { return state->opened; }
ci_origin *ci_state_origin(ci_state *state) { return &state->origin; }
ci_resources *ci_state_resources(const ci_state *state) { return (ci_resources *)(uintptr_t)&state->resources; }

static bool state_is(const char *name, ci_span str) { return ci_span_same((ci_span){name, strlen(name)}, str); }

static bool state_slot_is(const void *owner, uint32_t number, const ci_key *key) {
  return state_is(((const ci_state *)owner)->slots.at[number]->name, key->str);
}

static bool state_random_is(const void *owner, uint32_t number, const ci_key *key) {
  return state_is(((const ci_state *)owner)->randoms.at[number]->name, key->str);
}

int ci_state_find(const ci_state *state, ci_span name) {
  return (int)ci_names_find(&state->slot_names, &(ci_namer){state_slot_is, state}, &(ci_key){.str = name});
}

int ci_state_find_random(const ci_state *state, ci_span name) {
  return (int)ci_names_find(&state->random_names, &(ci_namer){state_random_is, state}, &(ci_key){.str = name});
}

/* ---- declaring ---- */

static char *state_string(ci_state *state, ci_span name) {
  char *copy = ci_alloc(&state->allocator, name.length + 1);
  if (copy != NULL && name.length > 0) memcpy(copy, name.data, name.length);
  return copy;
}

static ci_status state_same_rule(const ci_slot *slot, int32_t dtype, int32_t rank, const int64_t *dims,
                                 ci_error *error) {
  const bool same = slot->dtype == dtype && ci_shape_same(slot->rank, slot->dims, rank, dims);
  /* A looser rule in another model does not contradict it: the value decides. */
  if (same || (slot->dtype == dtype && (slot->rank < 0 || rank < 0))) return CI_OK;
  bool meets = slot->dtype == dtype && slot->rank == rank;
  for (int32_t i = 0; meets && i < rank; i++) meets = slot->dims[i] == dims[i] || slot->dims[i] < 0 || dims[i] < 0;
  if (meets) return CI_OK;
  ci_value had = {.dtype = slot->dtype, .rank = slot->rank}, wants = {.dtype = dtype, .rank = rank};
  char a[160], b[160];
  memcpy(had.dims, slot->dims, sizeof had.dims);
  if (rank > 0) memcpy(wants.dims, dims, (size_t)rank * sizeof *dims);
  return ci_fail(error, CI_INVALID_ARGUMENT,
                 "the state has variable '%.200s' as %s, expected %s: another model uses the "
                 "name for something else; give this one a separate state",
                 slot->name, ci_value_describe(&had, a, sizeof a), ci_value_describe(&wants, b, sizeof b));
}

static bool state_enter(const ci_state *state, ci_names *names, const ci_namer *namer, const char *name,
                        size_t number) {
  const ci_key key = {.str = {name, strlen(name)}};
  return ci_names_add(&state->allocator, names, namer, &key, (uint32_t)number) == CI_NAMES_ADDED;
}

static bool state_enter_slot(ci_state *state, const char *name, size_t number) {
  return state_enter(state, &state->slot_names, &(ci_namer){state_slot_is, state}, name, number);
}

static bool state_enter_random(ci_state *state, const char *name, size_t number) {
  return state_enter(state, &state->random_names, &(ci_namer){state_random_is, state}, name, number);
}

static ci_status state_add_slot(ci_state *state, ci_slot *slot, ci_error *error) {
  if (!CI_LIST_GROW(&state->allocator, &state->slots)) return state_memory(error);
  if (!state_enter_slot(state, slot->name, state->slots.count)) return state_memory(error);
  state->slots.at[state->slots.count++] = slot;
  state->layout++;
  return CI_OK;
}

static bool state_name_fits(ci_span name) { return name.length > 0 && memchr(name.data, '\0', name.length) == NULL; }

static void state_rule(ci_slot *slot, int32_t rank, const int64_t *dims) {
  slot->rank = rank;
  for (int32_t i = 0; i < rank; i++) slot->dims[i] = dims[i] < 0 ? -1 : dims[i];
}

static ci_status state_declarable(ci_span name, int32_t dtype, int32_t rank, ci_error *error) {
  if (state_name_fits(name) && ci_dtype_size(dtype) > 0 && rank >= -1 && rank <= CI_MAX_RANK) return CI_OK;
  return ci_fail(error, CI_INVALID_ARGUMENT, "variable '%.*s' has dtype %s and rank %d, which no variable can have",
                 CI_SPAN_ARG(name), ci_dtype_name(dtype), (int)rank);
}

static ci_status state_new_slot(ci_state *state, ci_span name, int32_t dtype, int32_t rank, const int64_t *dims,
                                bool ruled, int *index, ci_error *error) {
  ci_slot *slot = ci_alloc(&state->allocator, sizeof *slot);
  char *str = state_string(state, name);
  if (slot == NULL || str == NULL) {
    ci_release(&state->allocator, slot, sizeof *slot);
    ci_release(&state->allocator, str, name.length + 1);
    return state_memory(error);
  }
  slot->name = str;
  slot->dtype = dtype;
  slot->ruled = ruled;
  state_rule(slot, rank, dims);
  ci_status status = state_add_slot(state, slot, error);
  if (status != CI_OK) state_slot_free(&state->allocator, slot);
  else *index = (int)state->slots.count - 1;
  return status;
}

ci_status ci_state_declare(ci_state *state, ci_span name, int32_t dtype, int32_t rank, const int64_t *dims, int *index,
                           ci_error *error) {
  CI_TRY(state_declarable(name, dtype, rank, error));
  *index = ci_state_find(state, name);
  return *index < 0 ? state_new_slot(state, name, dtype, rank, dims, true, index, error)
                    : state_same_rule(state->slots.at[*index], dtype, rank, dims, error);
}

void ci_state_rule(ci_state *state, int index, int32_t rank, const int64_t *dims) {
  ci_slot *slot = state->slots.at[index];
  if (!slot->ruled) state_rule(slot, rank, dims);
  slot->ruled = true;
}

ci_status ci_state_adopt(ci_state *state, ci_span name, int32_t dtype, int32_t rank, const int64_t *dims, int *index,
                         ci_error *error) {
  CI_TRY(state_declarable(name, dtype, rank, error));
  *index = ci_state_find(state, name);
  return *index < 0 ? state_new_slot(state, name, dtype, rank, dims, false, index, error) : CI_OK;
}

static ci_status state_add_random(ci_state *state, ci_random *random, ci_error *error) {
  if (!CI_LIST_GROW(&state->allocator, &state->randoms)) return state_memory(error);
  if (!state_enter_random(state, random->name, state->randoms.count)) return state_memory(error);
  state->randoms.at[state->randoms.count++] = random;
  return CI_OK;
}

ci_status ci_state_declare_random(ci_state *state, ci_span name, bool seeded, uint64_t key, int *index,
                                  ci_error *error) {
  *index = ci_state_find_random(state, name);
  if (*index >= 0) return CI_OK;
  if (!state_name_fits(name)) return ci_fail(error, CI_INVALID_ARGUMENT, "a generator has no usable name");
  CI_TRY(ci_resources_admit(&state->resources, name, error));
  ci_random *random = ci_alloc(&state->allocator, sizeof *random);
  char *str = state_string(state, name);
  ci_status status = random == NULL || str == NULL ? state_memory(error) : CI_OK;
  if (status == CI_OK) {
    *random = (ci_random){.name = str, .seeded = seeded, .seed_key = key};
    status = state_add_random(state, random, error);
  }
  if (status == CI_OK) {
    *index = (int)state->randoms.count - 1;
  } else {
    ci_release(&state->allocator, random, sizeof *random);
    ci_release(&state->allocator, str, name.length + 1);
  }
  return status;
}

ci_status ci_state_link(ci_state *state, int index, ci_span slot_of, ci_span slot, bool *made, ci_error *error) {
  ci_slot *linked = state->slots.at[index];
  *made = false;
  if (linked->slot_of != NULL || slot_of.length == 0 || !ci_is_string(slot_of) || !ci_is_string(slot)) return CI_OK;
  char *of = state_string(state, slot_of), *which = state_string(state, slot);
  if (of != NULL && which != NULL) {
    linked->slot_of = of;
    linked->slot = which;
    *made = true;
    return CI_OK;
  }
  ci_release(&state->allocator, of, slot_of.length + 1);
  ci_release(&state->allocator, which, slot.length + 1);
  return state_memory(error);
}

void ci_state_unlink(ci_state *state, int index) {
  ci_slot *linked = state->slots.at[index];
  state_string_free(&state->allocator, linked->slot_of);
  state_string_free(&state->allocator, linked->slot);
  linked->slot_of = linked->slot = NULL;
}

/* The tables have the capacity for their earlier content, so nothing can fail. */
void ci_state_forget(ci_state *state, int slot_count, int random_count) {
  while (state->slots.count > (size_t)slot_count)
    state_slot_free(&state->allocator, state->slots.at[--state->slots.count]);
  while (state->randoms.count > (size_t)random_count)
    state_random_free(&state->allocator, state->randoms.at[--state->randoms.count]);
  ci_names_clear(&state->slot_names);
  ci_names_clear(&state->random_names);
  for (size_t i = 0; i < state->slots.count; i++) state_enter_slot(state, state->slots.at[i]->name, i);
  for (size_t i = 0; i < state->randoms.count; i++) state_enter_random(state, state->randoms.at[i]->name, i);
  state->layout++;
}

/* The first words of the Philox block of the name, as in the Python runtime. */
static uint64_t state_key_of(uint64_t seed, const char *name) {
  uint32_t words[4];
  ci_philox(seed, ci_crc32c(0, name, strlen(name)), 0, words);
  return (uint64_t)words[1] << 32 | words[0];
}

void ci_state_random_start(const ci_state *state, ci_random *random) {
  if (random->initialized) return;
  random->now = (ci_generator){random->seeded ? random->seed_key : state_key_of(state->seed, random->name), 0};
  random->initialized = true;
}

/* ---- checking ---- */

static bool state_bools_valid(const ci_value *value) {
  const uint8_t *elements = value->data;
  for (size_t i = 0; i < value->bytes; i++)
    if (elements[i] > 1) return false;
  return true;
}

ci_status ci_state_value_check(const ci_value *value, uint32_t crc32c, const char *name, const char *checkpoint,
                               ci_error *error) {
  if (ci_crc32c(0, value->data, value->bytes) != crc32c)
    return ci_fail(error, CI_DATA_LOSS, "the checksum of variable '%.200s' in checkpoint '%.600s' does not match", name,
                   checkpoint);
  if (value->dtype == CI_BOOL && !state_bools_valid(value))
    return ci_fail(error, CI_DATA_LOSS,
                   "variable '%.200s' in checkpoint '%.600s' is damaged: a bool is neither 0 nor 1", name, checkpoint);
  return CI_OK;
}

/* Several threads may look at a state that none changes: each finds the same. */
ci_status ci_slot_check(const ci_slot *slot, ci_error *error) {
  if (slot->mapping == NULL || atomic_load_explicit(&slot->checked, memory_order_relaxed)) return CI_OK;
  CI_TRY(ci_state_value_check(&slot->value, slot->crc32c, slot->name, ci_mapping_where(slot->mapping), error));
  atomic_store_explicit((atomic_bool *)(uintptr_t)&slot->checked, true, memory_order_relaxed);
  return CI_OK;
}

/* ---- changing ---- */

bool ci_slot_accepts(const ci_slot *slot, int32_t dtype, int32_t rank, const int64_t *dims) {
  if (slot->dtype != dtype) return false;
  if (slot->rank < 0) return true;
  if (slot->rank != rank) return false;
  for (int32_t i = 0; i < rank; i++) {
    if (slot->dims[i] >= 0 && slot->dims[i] != dims[i]) return false;
  }
  return true;
}

static ci_status state_check(const ci_slot *slot, const ci_value *value, ci_error *error) {
  if (ci_slot_accepts(slot, value->dtype, value->rank, value->dims)) return CI_OK;
  ci_value rule = {.dtype = slot->dtype, .rank = slot->rank};
  char found[160], expected[160];
  memcpy(rule.dims, slot->dims, sizeof rule.dims);
  return ci_fail(error, CI_INVALID_ARGUMENT, "variable '%.200s' is %s and cannot be given %s", slot->name,
                 ci_value_describe(&rule, expected, sizeof expected), ci_value_describe(value, found, sizeof found));
}

static bool state_same_shape(const ci_slot *slot, const ci_value *value) {
  return slot->initialized && ci_shape_same(slot->value.rank, slot->value.dims, value->rank, value->dims);
}

/* The slot has this value, whose elements are in its buffer. */
static void state_put(ci_state *state, ci_slot *slot, const ci_value *value) {
  void *data = slot->value.data;
  if (!state_same_shape(slot, value)) state->layout++;
  slot->value = *value;
  slot->value.data = data;
  slot->initialized = true;
  slot->version++;
}

/* The bytes of strings may be read by other views, so they always move to a new buffer. */
static bool state_fits_buffer(const ci_slot *slot, size_t bytes) {
  return slot->value.data != NULL && !slot->mapping && slot->capacity == bytes && slot->dtype != CI_STRING;
}

ci_status ci_state_alloc(ci_state *state, size_t bytes, void **data, ci_error *error) {
  if (state == NULL || data == NULL)
    return ci_fail(error, CI_INVALID_ARGUMENT,
                   "a buffer needs a state and a pointer to store it in; one of them is NULL");
  if (bytes > state->limits.max_memory) {
    return ci_fail(error, CI_RESOURCE_EXHAUSTED, "a variable of %zu bytes exceeds the limit of %llu", bytes,
                   (unsigned long long)state->limits.max_memory);
  }
  *data = ci_alloc_uncleared(&state->allocator, bytes);
  return *data == NULL ? state_memory(error) : CI_OK;
}

void ci_state_free(ci_state *state, void *data, size_t bytes) {
  if (state != NULL) ci_release(&state->allocator, data, bytes);
}

static void state_move(ci_state *state, ci_slot *slot, ci_block block) {
  slot->value.data = block.data;
  slot->capacity = block.bytes;
  slot->mapping = block.mapping;
  state->layout++;
}

ci_status ci_slot_assign(ci_state *state, ci_slot *slot, const ci_value *value, ci_block *replaced, ci_error *error) {
  size_t bytes;
  *replaced = (ci_block){NULL, 0, NULL};
  CI_TRY(state_check(slot, value, error));
  if (!ci_value_storage(value, &bytes)) return state_memory(error);
  if (!state_fits_buffer(slot, bytes)) {
    void *data;
    CI_TRY(ci_state_alloc(state, bytes, &data, error));
    *replaced = state_block(slot);
    state_move(state, slot, (ci_block){data, bytes, NULL});
  }
  ci_value_copy(slot->value.data, value);
  state_put(state, slot, value);
  return CI_OK;
}

/* The slot takes the block, in which its value is; the block before is in *block then. */
static void state_install(ci_state *state, ci_slot *slot, ci_block *block, const ci_slot_change *change) {
  const ci_block before = state_block(slot);
  state_move(state, slot, *block);
  atomic_store(&slot->checked, block->mapping == NULL);
  slot->crc32c = change->crc32c;
  state_put(state, slot, &change->value);
  *block = before;
}

void ci_state_empty(ci_state *state, int index) {
  ci_slot *slot = state->slots.at[index];
  ci_block_free(&state->allocator, state_block(slot));
  state_move(state, slot, (ci_block){NULL, 0, NULL});
  slot->initialized = false;
}

void ci_state_change_drop(ci_state *state, ci_slot_change *change) {
  if (change->mapping) ci_mapping_drop(change->mapping);
  else if (change->given) ci_release(&state->allocator, change->value.data, change->value.bytes);
  change->mapping = NULL;
  change->given = false;
}

static bool state_is_given(const ci_slot_change *change) { return change->given || change->mapping != NULL; }

static ci_status state_reserve(ci_state *state, const ci_slot_change *change, ci_block *block, ci_error *error) {
  *block = (ci_block){state_is_given(change) ? change->value.data : NULL, 0, change->mapping};
  CI_TRY(state_check(state->slots.at[change->slot], &change->value, error));
  if (change->value.dtype == CI_BOOL && !change->mapping && !state_bools_valid(&change->value))
    return ci_fail(error, CI_INVALID_ARGUMENT, "variable '%.200s' cannot be given a bool that is neither 0 nor 1",
                   state->slots.at[change->slot]->name);
  if (!ci_value_storage(&change->value, &block->bytes)) return state_memory(error);
  return state_is_given(change) ? CI_OK : ci_state_alloc(state, block->bytes, &block->data, error);
}

/* All values are copied before any block goes: they may be views of variables. */
ci_status ci_state_change(ci_state *state, const ci_slot_change *slots, int slot_count, const ci_random_change *randoms,
                          int random_count, ci_error *error) {
  size_t list_bytes;
  if (!ci_mul_size((uint64_t)slot_count, sizeof(ci_block), &list_bytes)) return state_memory(error);
  ci_block *blocks = ci_alloc(&state->allocator, list_bytes);
  ci_status status = blocks == NULL ? state_memory(error) : CI_OK;
  for (int i = 0; status == CI_OK && i < slot_count; i++) status = state_reserve(state, &slots[i], &blocks[i], error);
  for (int i = 0; status == CI_OK && i < slot_count; i++) ci_value_copy(blocks[i].data, &slots[i].value);
  for (int i = 0; status == CI_OK && i < slot_count; i++)
    state_install(state, state->slots.at[slots[i].slot], &blocks[i], &slots[i]);
  for (int i = 0; blocks != NULL && i < slot_count; i++)
    if (status == CI_OK || !state_is_given(&slots[i])) ci_block_free(&state->allocator, blocks[i]);
  for (int i = 0; status == CI_OK && i < random_count; i++) {
    ci_random *random = state->randoms.at[randoms[i].random];
    random->now = randoms[i].value;
    random->initialized = true;
  }
  ci_release(&state->allocator, blocks, list_bytes);
  return status;
}
