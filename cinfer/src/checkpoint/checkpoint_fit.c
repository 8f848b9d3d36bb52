/* checkpoint_fit.c - checks that a checkpoint fits the variables of a state, and reports all differences in one
 * message. */
#include <stdio.h>
#include <string.h>

#include "checkpoint.h"
#include "../model/model.h"

enum { FIT_SHAPE = 240, FIT_SUGGESTED = 10 /* missing names for which near ones are looked up */ };

typedef struct fit_list { /* lines, up to the capacity */
  char str[720];
  size_t length;
  int shown, dropped;
} fit_list;

static void fit_note(fit_list *list, const char *format, ...) CI_PRINTF(2, 3);
static void fit_note(fit_list *list, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const size_t space = sizeof list->str - list->length;
  int n = vsnprintf(list->str + list->length, space, format, arguments);
  va_end(arguments);
  bool fits = n >= 0 && (size_t)n < space && list->dropped == 0;
  if (fits) list->length += (size_t)n;
  list->str[list->length] = 0;
  if (fits) list->shown++;
  else list->dropped++;
}

static const char *fit_shape(int rank, const int64_t *dims, char str[FIT_SHAPE]) {
  size_t used = (size_t)snprintf(str, FIT_SHAPE, "[");
  for (int i = 0; i < rank && used < FIT_SHAPE; i++) {
    const char *comma = i ? "," : "";
    int n = dims[i] < 0 ? snprintf(str + used, FIT_SHAPE - used, "%s?", comma)
                        : snprintf(str + used, FIT_SHAPE - used, "%s%lld", comma, (long long)dims[i]);
    used += n > 0 ? (size_t)n : 0;
  }
  if (used < FIT_SHAPE) snprintf(str + used, FIT_SHAPE - used, "]");
  return str;
}

static size_t fit_find(const ci_index *index, ci_span name) {
  size_t low = 0, high = index->variables.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = ci_span_order(index->variables.at[middle].name, name);
    if (order == 0) return middle;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return SIZE_MAX;
}

/* How similar two names are: their common characters at both ends, in percent of the longer one. */
static size_t fit_likeness(ci_span a, ci_span b) {
  const size_t shorter = a.length < b.length ? a.length : b.length, longer = a.length + b.length - shorter;
  size_t front = 0, back = 0;
  while (front < shorter && a.data[front] == b.data[front]) front++;
  while (front + back < shorter && a.data[a.length - 1 - back] == b.data[b.length - 1 - back]) back++;
  return longer == 0 ? 0 : (front + back) * 100 / longer;
}

static const ci_saved *fit_nearest(const ci_index *index, ci_span name) {
  const ci_saved *best = NULL;
  size_t most = 60;
  for (size_t i = 0; i < index->variables.count; i++) {
    size_t likeness = fit_likeness(name, index->variables.at[i].name);
    if (likeness <= most) continue;
    most = likeness;
    best = &index->variables.at[i];
  }
  return best;
}

static void fit_note_missing(fit_list *list, const ci_index *index, ci_span name) {
  const ci_saved *near = list->shown < FIT_SUGGESTED && !list->dropped ? fit_nearest(index, name) : NULL;
  if (near)
    fit_note(list, "\nKey %.*s not found in checkpoint (it has %.*s)", CI_SPAN_ARG(name), CI_SPAN_ARG(near->name));
  else fit_note(list, "\nKey %.*s not found in checkpoint", CI_SPAN_ARG(name));
}

static void fit_note_difference(fit_list *list, const ci_slot *slot, const ci_saved *v) {
  char lhs[FIT_SHAPE], rhs[FIT_SHAPE];
  if (slot->dtype != v->dtype)
    fit_note(list, "\n%.200s: the variable has dtype %s, the checkpoint %s", slot->name, ci_dtype_name(slot->dtype),
             ci_dtype_name(v->dtype));
  if (!ci_slot_accepts(slot, slot->dtype, v->rank, v->dims))
    fit_note(list, "\n%.200s: Assign requires shapes of both tensors to match. lhs shape= %s rhs shape= %s", slot->name,
             fit_shape(slot->rank, slot->dims, lhs), fit_shape(v->rank, v->dims, rhs));
}

static int fit_missing(ci_state *state, const ci_index *index, fit_list *list) {
  int missing = 0;
  for (int i = 0; i < ci_state_slot_count(state); i++) {
    const char *name = ci_state_slot(state, i)->name;
    const ci_span str = {name, strlen(name)};
    if (fit_find(index, str) != SIZE_MAX) continue;
    missing++;
    if (list) fit_note_missing(list, index, str);
  }
  return missing;
}

static int fit_different(ci_state *state, const ci_index *index, bool *skip, fit_list *list) {
  int different = 0;
  for (int i = 0; i < ci_state_slot_count(state); i++) {
    const ci_slot *slot = ci_state_slot(state, i);
    const size_t at = fit_find(index, (ci_span){slot->name, strlen(slot->name)});
    const ci_saved *v = at == SIZE_MAX ? NULL : &index->variables.at[at];
    if (!v || ci_slot_accepts(slot, v->dtype, v->rank, v->dims)) continue;
    different++;
    skip[at] = true;
    if (list) fit_note_difference(list, slot, v);
  }
  return different;
}

ci_status ci_checkpoint_fit(ci_state *state, const ci_index *index, const char *base, uint32_t partial, bool *skip,
                            int32_t *left_out, ci_error *error) {
  fit_list list = {.length = 0};
  char more[40] = "";
  int missing = fit_missing(state, index, partial & CI_PARTIAL_MISSING ? NULL : &list);
  const bool lacks = list.length > 0 || list.dropped > 0;
  int different = fit_different(state, index, skip, partial & CI_PARTIAL_DIFFERENT ? NULL : &list);
  *left_out = missing + different;
  if (list.length == 0 && list.dropped == 0) return CI_OK;
  if (list.dropped) snprintf(more, sizeof more, "\nand %d more", list.dropped);
  return ci_fail(error, lacks ? CI_NOT_FOUND : CI_INVALID_ARGUMENT,
                 "Restoring from checkpoint '%.100s' failed, nothing was restored: %d variables are missing in it, %d "
                 "are others.\n%s%s",
                 base, missing, different, list.str + 1, more);
}
