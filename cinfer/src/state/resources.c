/* resources.c - blobs of the program and places of iterators: kept, listed, never looked into. */
#include "resources.h"

#include <string.h>

#include "../model/model.h"
#include "state.h"
#include "../base/wire.h"

enum { RESOURCES_MOST_NAME = 4096 };
#define RESOURCES_MOST_BYTES ((size_t)1 << 24) /* of all together: they lie in the index, which is one message */

/* ---- the list ---- */

static void resource_free(const ci_allocator *allocator, ci_resource *resource) {
  if (resource->name) ci_release(allocator, resource->name, strlen(resource->name) + 1);
  if (resource->data) ci_release(allocator, resource->data, resource->bytes);
  *resource = (ci_resource){0};
}

static ci_span resource_name(const ci_resource *resource) { return (ci_span){resource->name, strlen(resource->name)}; }

/* The first whose name is not before this one. */
static size_t resources_place(const ci_resources *list, ci_span name) {
  size_t low = 0, high = list->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (ci_span_order(resource_name(&list->at[middle]), name) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

static bool resources_has(const ci_resources *list, size_t place, ci_span name) {
  return place < list->count && ci_span_order(resource_name(&list->at[place]), name) == 0;
}

const ci_resource *ci_resources_find(const ci_resources *list, ci_span name) {
  size_t place = resources_place(list, name);
  return resources_has(list, place, name) ? &list->at[place] : NULL;
}

ci_status ci_resources_admit(const ci_resources *list, ci_span generator, ci_error *error) {
  const ci_resource *found = ci_resources_find(list, generator);
  if (!found) return CI_OK;
  return ci_fail(error, CI_ALREADY_EXISTS,
                 "'%.*s' is %s of the state, so no random generator can be called that: remove it by "
                 "ci_state_remove_blob, or call the generator otherwise",
                 CI_SPAN_ARG(generator), found->kind == CI_RESOURCE_BLOB ? "a blob" : "the place of an iterator");
}

bool ci_resources_put(const ci_allocator *allocator, ci_resources *list, ci_span name, uint32_t kind, ci_span data) {
  ci_resource made = {.kind = kind, .bytes = data.length};
  made.name = ci_alloc(allocator, name.length + 1);
  made.data = ci_alloc(allocator, data.length);
  if (!made.name || !made.data || !CI_LIST_GROW(allocator, list)) {
    if (made.name) ci_release(allocator, made.name, name.length + 1);
    if (made.data) ci_release(allocator, made.data, made.bytes);
    return false;
  }
  memcpy(made.name, name.data, name.length);
  if (data.length) memcpy(made.data, data.data, data.length);
  size_t place = resources_place(list, name);
  if (resources_has(list, place, name)) {
    resource_free(allocator, &list->at[place]);
  } else {
    memmove(list->at + place + 1, list->at + place, (list->count - place) * sizeof *list->at);
    list->count++;
  }
  list->at[place] = made;
  return true;
}

static void resources_drop(const ci_allocator *allocator, ci_resources *list, size_t place) {
  resource_free(allocator, &list->at[place]);
  list->count--;
  memmove(list->at + place, list->at + place + 1, (list->count - place) * sizeof *list->at);
}

void ci_resources_free(const ci_allocator *allocator, ci_resources *list) {
  for (size_t i = 0; i < list->count; i++) resource_free(allocator, &list->at[i]);
  CI_LIST_FREE(allocator, list);
  *list = (ci_resources){0};
}

/* ---- public ---- */

static ci_status resources_check(ci_state *state, ci_span name, size_t bytes, ci_error *error) {
  if (name.length == 0 || name.length > RESOURCES_MOST_NAME || !ci_utf8_valid(name))
    return ci_fail(error, CI_INVALID_ARGUMENT, "a blob's name must be 1 to %d bytes of UTF-8", RESOURCES_MOST_NAME);
  if (ci_state_find_random(state, name) >= 0)
    return ci_fail(error, CI_ALREADY_EXISTS, "'%.*s' is a random generator of the state: call the blob otherwise",
                   CI_SPAN_ARG(name));
  size_t total = bytes;
  const ci_resources *list = ci_state_resources(state);
  for (size_t i = 0; i < list->count; i++)
    if (ci_span_order(resource_name(&list->at[i]), name) != 0 && !ci_add_size(total, list->at[i].bytes, &total))
      total = SIZE_MAX;
  if (total <= RESOURCES_MOST_BYTES) return CI_OK;
  return ci_fail(error, CI_RESOURCE_EXHAUSTED,
                 "with '%.*s' the blobs of the state have %zu bytes, the limit is %zu: large values are for variables",
                 CI_SPAN_ARG(name), total, RESOURCES_MOST_BYTES);
}

ci_status ci_state_set_blob(ci_state *state, const char *name, const void *data, size_t bytes, ci_error *error) {
  if (!state || !name || (!data && bytes))
    return ci_fail(error, CI_INVALID_ARGUMENT, "setting a blob needs a state, a name and its bytes");
  const ci_span text = {name, strlen(name)};
  CI_TRY(ci_state_idle(state, error));
  CI_TRY(resources_check(state, text, bytes, error));
  if (ci_resources_put(ci_state_allocator(state), ci_state_resources(state), text, CI_RESOURCE_BLOB,
                       (ci_span){data, bytes}))
    return CI_OK;
  return ci_fail(error, CI_RESOURCE_EXHAUSTED, "no memory for the blob '%.200s'", name);
}

ci_status ci_state_blob(const ci_state *state, const char *name, const void **data, size_t *bytes, ci_error *error) {
  if (!state || !name) return ci_fail(error, CI_INVALID_ARGUMENT, "reading a blob needs a state and a name");
  const ci_resource *found = ci_resources_find(ci_state_resources(state), (ci_span){name, strlen(name)});
  if (!found || found->kind != CI_RESOURCE_BLOB)
    return ci_fail(error, CI_NOT_FOUND, "the state has no blob '%.200s'", name);
  if (data) *data = found->data;
  if (bytes) *bytes = found->bytes;
  return CI_OK;
}

ci_status ci_state_remove_blob(ci_state *state, const char *name, ci_error *error) {
  if (!state || !name) return ci_fail(error, CI_INVALID_ARGUMENT, "removing a blob needs a state and a name");
  const ci_span text = {name, strlen(name)};
  ci_resources *list = ci_state_resources(state);
  CI_TRY(ci_state_idle(state, error));
  size_t place = resources_place(list, text);
  if (!resources_has(list, place, text)) return ci_fail(error, CI_NOT_FOUND, "the state has no blob '%.200s'", name);
  resources_drop(ci_state_allocator(state), list, place);
  return CI_OK;
}

int ci_state_blob_count(const ci_state *state) {
  int count = 0;
  for (size_t i = 0; state && i < ci_state_resources(state)->count; i++)
    count += ci_state_resources(state)->at[i].kind == CI_RESOURCE_BLOB;
  return count;
}

const char *ci_state_blob_name(const ci_state *state, int index) {
  if (!state || index < 0) return NULL;
  const ci_resources *list = ci_state_resources(state);
  for (size_t i = 0; i < list->count; i++)
    if (list->at[i].kind == CI_RESOURCE_BLOB && index-- == 0) return list->at[i].name;
  return NULL;
}
