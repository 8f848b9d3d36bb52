/* pack.c - a model's packed constants: a list for each constant that only grows, until the model is freed.
 *
 * Sessions of one model plan on several threads, so a list is joined by compare and exchange. Two that pack the same at
 * the same time both do the work, and the second throws its copy away: nobody ever waits.
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
  const ci_cell *root = &plan->cells[ci_cell_of(k->in[i])->root];
  if (root->place == CI_NONE) return NULL;
  const ci_place *place = &plan->places.at[ci_plan_resolve(plan, root->place)];
  if (place->home != CI_HOME_FIXED || place->constant == CI_NONE) return NULL;
  return &plan->session->model->constants.at[place->constant];
}

bool k_is_constant(const ci_kernel *k, int i) { return pack_constant(k, i) != NULL; }

static struct ci_packed *pack_make(const ci_model *model, const struct ci_packed *key) {
  size_t whole;
  if (key->bytes > model->limits.max_memory || !ci_add_size(key->bytes, PACK_HEADER, &whole)) return NULL;
  struct ci_packed *made = ci_alloc_uncleared(&model->allocator, whole);
  if (made != NULL) *made = *key;
  return made;
}

const void *k_packed(ci_kernel *k, int i, uint32_t layout, uint32_t parameter, size_t bytes, ci_pack_fn fill,
                     const void *argument) {
  ci_constant *constant = pack_constant(k, i);
  if (constant == NULL) return NULL;
  const ci_model *model = k->node->plan->model;
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
    found = pack_find(head, seen, &key);
    if (found == NULL) continue;
    ci_release(&model->allocator, made, bytes + PACK_HEADER);
    return pack_bytes(found);
  }
}

void ci_packed_free(const ci_allocator *allocator, struct ci_packed *first) {
  while (first != NULL) {
    struct ci_packed *next = first->next;
    ci_release(allocator, first, first->bytes + PACK_HEADER);
    first = next;
  }
}
