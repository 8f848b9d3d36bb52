/* pack.c - a model's packed constants: a list for each constant that only grows, until the model is freed.
 *
 * Sessions of one model plan on several threads, so a list is joined by compare and exchange. Two that pack the same at
 * the same time both do the work, and the second leaves its copy unused: nobody ever waits.
 *
 * Packed constants lie behind each other in blocks, of which the first is large enough for all where what is not used
 * costs nothing. All together they count against the model's limit of memory.
 */
#include "pack.h"

#include "session.h"

enum { PACK_HEADER = 192 };

struct ci_packed { /* the bytes follow, PACK_HEADER behind the start */
  struct ci_packed *next;
  uint32_t layout, parameter;
  size_t bytes;
  int32_t rank; /* nodes may read the same bytes as tensors of several shapes */
  int64_t dims[CI_MAX_RANK];
};
_Static_assert(sizeof(struct ci_packed) <= PACK_HEADER && PACK_HEADER % 64 == 0, "the bytes follow aligned");

static const void *pack_bytes(const struct ci_packed *p) { return (const char *)p + PACK_HEADER; }

static bool pack_same(const struct ci_packed *a, const struct ci_packed *b) {
  return a->layout == b->layout && a->parameter == b->parameter && a->bytes == b->bytes && a->rank == b->rank &&
         memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

static const struct ci_packed *pack_find(const struct ci_packed *from, const struct ci_packed *end,
                                         const struct ci_packed *key) {
  for (const struct ci_packed *p = from; p != end; p = p->next) {
    if (pack_same(p, key)) return p;
  }
  return NULL;
}

/* The constant that an input is, or NULL. What half.c widens is no value of the plan. */
static ci_constant *pack_constant(const ci_kernel *k, int i) {
  ci_plan *plan = k->node->plan;
  if (i >= k->n_in || k->in[i] == NULL || k->in[i]->data == NULL || k->node->widens) return NULL;
  const ci_place *place = ci_place_of(plan, k->in[i]);
  if (place->home != CI_HOME_FIXED || place->constant == CI_NONE) return NULL;
  return &plan->session->model->constants.at[place->constant];
}

bool ci_k_is_constant(const ci_kernel *k, int i) { return pack_constant(k, i) != NULL; }

/* ---- memory ---- */

struct ci_pack_block { /* what was given follows, PACK_HEADER behind the start */
  struct ci_pack_block *next;
  size_t bytes;
  _Atomic(size_t) used;
  bool sparse;
};
_Static_assert(sizeof(struct ci_pack_block) <= PACK_HEADER, "what is given follows aligned");

/* Adds to a count unless it exceeds `most` then; the count before is *before. */
static bool pack_count(_Atomic(size_t) *count, size_t bytes, uint64_t most, size_t *before) {
  *before = atomic_load(count);
  do {
    if (bytes > most || *before > most - bytes) return false;
  } while (!atomic_compare_exchange_weak(count, before, *before + bytes));
  return true;
}

static void *pack_within(struct ci_pack_block *block, size_t bytes, size_t more) {
  size_t at;
  if (block == NULL || !pack_count(&block->used, bytes, block->bytes, &at)) return NULL;
  const size_t end = at + bytes, left = block->bytes - end;
  if (block->sparse) ci_sparse_use(block, at, end, more < left ? more : left);
  return (char *)block + at;
}

/* With room for `more` bytes, too, if that costs nothing. */
static struct ci_pack_block *pack_block(ci_model *model, size_t bytes, size_t more) {
  const size_t least = bytes + PACK_HEADER;
  size_t whole;
  struct ci_pack_block *block = NULL;
  if (more > 0 && ci_add_size(least, more, &whole)) block = ci_alloc_sparse(&model->allocator, whole);
  const bool sparse = block != NULL;
  if (sparse) ci_sparse_use(block, 0, least, more);
  else block = ci_alloc_uncleared(&model->allocator, whole = least);
  if (block == NULL) return NULL;
  block->sparse = sparse;
  block->bytes = whole;
  atomic_init(&block->used, PACK_HEADER);
  block->next = atomic_load(&model->packs.blocks);
  return block;
}

static void *pack_take(ci_model *model, size_t bytes) {
  size_t taken;
  if (!pack_count(&model->packs.taken, bytes, model->limits.max_memory, &taken)) return NULL;
  taken += bytes;
  const size_t more = model->packs.expected > taken ? model->packs.expected - taken : 0;
  void *memory = pack_within(atomic_load(&model->packs.blocks), bytes, more);
  if (memory != NULL) return memory;
  struct ci_pack_block *block = pack_block(model, bytes, more + more / 8);
  if (block == NULL) {
    atomic_fetch_sub(&model->packs.taken, bytes);
    return NULL;
  }
  memory = pack_within(block, bytes, more);
  while (!atomic_compare_exchange_weak(&model->packs.blocks, &block->next, block)) {
  }
  return memory;
}

void ci_k_pack_forget(const ci_kernel *k, const void *part, size_t bytes) {
  ci_file_forget(&k->node->plan->model->file, part, bytes);
}

void ci_packs_free(ci_model *model) {
  for (struct ci_pack_block *block = atomic_load(&model->packs.blocks), *next; block != NULL; block = next) {
    next = block->next;
    ci_release(&model->allocator, block, block->bytes);
  }
}

static struct ci_packed *pack_make(ci_model *model, const struct ci_packed *key) {
  if (key->bytes > PTRDIFF_MAX) return NULL;
  struct ci_packed *made = pack_take(model, ci_round_up(key->bytes, 64) + PACK_HEADER);
  if (made != NULL) *made = *key;
  return made;
}

/* ---- constants ---- */

const void *ci_k_packed(ci_kernel *k, int i, uint32_t layout, uint32_t parameter, size_t bytes, ci_pack_fn fill,
                        const void *argument) {
  ci_constant *constant = pack_constant(k, i);
  if (constant == NULL) return NULL;
  ci_model *model = k->node->plan->session->model;
  struct ci_packed key = {.layout = layout, .parameter = parameter, .bytes = bytes, .rank = k->in[i]->rank};
  memcpy(key.dims, k->in[i]->dims, (size_t)key.rank * sizeof *key.dims);
  struct ci_packed *head = atomic_load_explicit(&constant->packed, memory_order_acquire);
  const struct ci_packed *found = pack_find(head, NULL, &key);
  if (found != NULL) return pack_bytes(found);
  struct ci_packed *made = pack_make(model, &key);
  if (made == NULL) return NULL;
  fill((char *)made + PACK_HEADER, k->in[i], argument);
  ci_file_forget(&model->file, k->in[i]->data, k->in[i]->bytes);
  for (const struct ci_packed *seen = head;; seen = head) {
    made->next = head;
    if (atomic_compare_exchange_strong_explicit(&constant->packed, &head, made, memory_order_acq_rel,
                                                memory_order_acquire)) {
      return pack_bytes(made);
    }
    const struct ci_packed *theirs = pack_find(head, seen, &key);
    if (theirs != NULL) return pack_bytes(theirs);
  }
}
