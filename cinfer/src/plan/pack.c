/* pack.c - a model's packed constants. Each constant has a list of them that only grows, until the model is freed.
 *
 * Sessions of one model plan on several threads, so a list is joined by compare and exchange. Two that pack the same
 * at the same time both do the work, and the second leaves its copy unused: no thread waits for another.
 *
 * Packed constants are stored one after the other in blocks. Where unused memory costs nothing, the first block is
 * large enough for all of them. Their sum counts against the model's limit of memory.
 */
#include "pack.h"

#include "../base/guard.h"
#include "../simd/isa.h"
#include "../simd/linear/isa_linear.h"
#include "../session/session.h"

enum { PACK_HEADER = 192 };

struct ci_packed { /* the bytes follow, PACK_HEADER after the start */
  struct ci_packed *next;
  uint32_t layout, parameter;
  size_t bytes;
  int32_t rank; /* nodes may read the same bytes as tensors of several shapes */
  int64_t dims[CI_MAX_RANK];
};
_Static_assert(sizeof(struct ci_packed) <= PACK_HEADER && PACK_HEADER % 64 == 0, "the bytes follow aligned");

static const void *pack_bytes(const struct ci_packed *p) { return (const char *)p + PACK_HEADER; }

static bool pack_same(const struct ci_packed *a, const struct ci_packed *b) {
  return a->layout == b->layout && a->parameter == b->parameter && a->bytes == b->bytes &&
         ci_shape_same(a->rank, a->dims, b->rank, b->dims);
}

static const struct ci_packed *pack_find(const struct ci_packed *from, const struct ci_packed *end,
                                         const struct ci_packed *key) {
  for (const struct ci_packed *p = from; p != end; p = p->next) {
    if (pack_same(p, key)) return p;
  }
  return NULL;
}

/* The constant that an input is, or NULL. The widened inputs of half.c are not plan values. */
static ci_constant *pack_constant(const ci_kernel *k, int i) {
  if (i >= k->n_in || k->in[i] == NULL || k->node->widens) return NULL;
  return ci_plan_constant(k->node->plan, k->in[i]);
}

bool ci_k_is_constant(const ci_kernel *k, int i) { return pack_constant(k, i) != NULL; }

/* ---- memory ---- */

struct ci_pack_block { /* the packed bytes follow, PACK_HEADER bytes after the start */
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

/* A new block for `bytes`, with capacity for `more` bytes, too, if that costs nothing. */
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

void ci_pack_free(ci_model *model) {
  for (struct ci_pack_block *block = atomic_load(&model->packs.blocks), *next; block != NULL; block = next) {
    next = block->next;
    ci_release(&model->allocator, block, block->bytes);
  }
}

static struct ci_packed *pack_make(ci_model *model, const struct ci_packed *key) {
  if (key->bytes > PTRDIFF_MAX) return NULL;
  const size_t capacity = ci_round_up(key->bytes + CI_RED_ZONE, 64);
  struct ci_packed *made = pack_take(model, capacity + PACK_HEADER);
  if (made != NULL) *made = *key;
  if (made != NULL) CI_FORBID((char *)made + PACK_HEADER + key->bytes, capacity - key->bytes);
  return made;
}

/* ---- constants ---- */

/* Adds the packed constant of `key` to the constant's list, before `head`; returns the bytes of the first of that key.
 */
static const void *pack_add(ci_constant *constant, struct ci_packed *head, struct ci_packed *made) {
  for (const struct ci_packed *seen = head;; seen = head) {
    made->next = head;
    if (atomic_compare_exchange_strong_explicit(&constant->packed, &head, made, memory_order_acq_rel,
                                                memory_order_acquire)) {
      return pack_bytes(made);
    }
    const struct ci_packed *theirs = pack_find(head, seen, made);
    if (theirs != NULL) return pack_bytes(theirs);
  }
}

/* Writes the elements of packed tiles in row-major order. */
static void pack_restore(const struct ci_isa *isa, const ci_constant *constant, float *to) {
  const float *from = constant->data;
  const int64_t *dims = constant->dims, rank = constant->rank;
  const int64_t rows = dims[constant->packed_tile_last ? rank - 1 : 0];
  const int64_t columns =
      ci_shape_count(dims, constant->packed_tile_last ? 0 : 1, (int)(constant->packed_tile_last ? rank - 1 : rank));
  for (int64_t r = 0, width; columns > 0 && r < rows; r += width, from += width * columns) {
    width = rows - r < constant->packed_tile_width ? rows - r : constant->packed_tile_width;
    if (!constant->packed_tile_last) {
      isa->linear->transpose(to + r * columns, (ptrdiff_t)columns, from, (ptrdiff_t)width, columns, width);
      continue;
    }
    for (int64_t c = 0; c < columns; c++) memcpy(to + c * rows + r, from + c * width, (size_t)width * sizeof *to);
  }
}

const void *ci_pack_constant_plain(ci_model *model, ci_constant *constant) {
  const struct ci_packed key = {.layout = CI_PACK_PLAIN, .bytes = constant->bytes.length};
  if (constant->packed_tile_width == 0) return constant->data;
  struct ci_packed *head = atomic_load_explicit(&constant->packed, memory_order_acquire);
  const struct ci_packed *found = pack_find(head, NULL, &key);
  if (found != NULL) return pack_bytes(found);
  struct ci_packed *made = pack_make(model, &key);
  if (made == NULL) return NULL;
  pack_restore(model->isa, constant, (float *)(void *)((char *)made + PACK_HEADER));
  return pack_add(constant, head, made);
}

const void *ci_k_packed_tiles(ci_kernel *k, int i, int64_t width, bool last) {
  const ci_constant *constant = pack_constant(k, i);
  if (constant == NULL || constant->packed_tile_width != width || constant->packed_tile_last != last) return NULL;
  const ci_value *value = k->in[i]; /* nodes may read the same bytes in several shapes */
  if (!ci_shape_same(constant->rank, constant->dims, value->rank, value->dims)) return NULL;
  k->reordered |= 1u << i;
  return constant->data;
}

/* Calls `fill` with the row-major elements; those of packed tiles are restored to a buffer for the call. */
static bool pack_fill(ci_model *model, const ci_constant *constant, struct ci_packed *made, const ci_value *value,
                      ci_pack_fn fill, const void *argument) {
  ci_value plain = *value;
  void *copy = NULL;
  if (constant->packed_tile_width > 0 && value->data == constant->data) {
    size_t taken;
    if (!pack_count(&model->packs.taken, value->bytes, model->limits.max_memory, &taken)) return false;
    copy = ci_alloc_uncleared(&model->allocator, value->bytes);
    if (copy == NULL) atomic_fetch_sub(&model->packs.taken, value->bytes);
    if (copy == NULL) return false;
    pack_restore(model->isa, constant, copy);
    plain.data = copy;
  }
  fill((char *)made + PACK_HEADER, &plain, argument);
  if (copy != NULL) atomic_fetch_sub(&model->packs.taken, value->bytes);
  else ci_file_forget(&model->file, value->data, value->bytes);
  ci_release(&model->allocator, copy, value->bytes);
  return true;
}

const void *ci_k_packed(ci_kernel *k, int i, uint32_t layout, uint32_t parameter, size_t bytes, ci_pack_fn fill,
                        const void *argument) {
  ci_constant *constant = pack_constant(k, i);
  if (constant == NULL) return NULL;
  ci_model *model = k->node->plan->session->model;
  struct ci_packed key = {.layout = layout, .parameter = parameter, .bytes = bytes, .rank = k->in[i]->rank};
  memcpy(key.dims, k->in[i]->dims, (size_t)key.rank * sizeof *key.dims);
  struct ci_packed *head = atomic_load_explicit(&constant->packed, memory_order_acquire);
  const struct ci_packed *found = pack_find(head, NULL, &key);
  struct ci_packed *made = found == NULL ? pack_make(model, &key) : NULL;
  if (made == NULL && found == NULL) return NULL;
  if (made != NULL && !pack_fill(model, constant, made, k->in[i], fill, argument)) return NULL;
  k->reordered |= 1u << i;
  return found != NULL ? pack_bytes(found) : pack_add(constant, head, made);
}

static bool pack_tiles(ci_plan *plan, const ci_value *value) {
  const ci_constant *constant = value == NULL ? NULL : ci_plan_constant(plan, value);
  return constant != NULL && constant->packed_tile_width > 0 && value->data == constant->data;
}

/* The same value in row-major order, for kernels that do not read packed tiles. */
ci_status ci_pack_plain(ci_plan *plan, ci_value *value) {
  if (!plan->model->packed_tiles || !pack_tiles(plan, value)) return CI_OK;
  void *plain = (void *)(uintptr_t)ci_pack_constant_plain(plan->session->model, ci_plan_constant(plan, value));
  if (plain == NULL) return ci_needs_no_memory(plan->error);
  plan->plan_values[ci_plan_value_of(value)->root].value.data = plain;
  value->data = plain;
  return CI_OK;
}
