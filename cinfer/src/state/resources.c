/* resources.c - blobs of the caller and positions of iterators: kept, listed, never interpreted. */
#include "resources.h"

#include <string.h>

#include "../model/model.h"
#include "state.h"
#include "../base/wire.h"

static void resource_free(const ci_allocator *allocator, ci_resource *resource) {
  if (resource->name) ci_release(allocator, resource->name, strlen(resource->name) + 1);
  if (resource->data) ci_release(allocator, resource->data, resource->bytes);
  *resource = (ci_resource){0};
}

static ci_span resource_name(const ci_resource *resource) { return (ci_span){resource->name, strlen(resource->name)}; }

/* The first whose name is not before this one. */
static size_t resources_index(const ci_resources *list, ci_span name) {
  size_t low = 0, high = list->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (ci_span_order(resource_name(&list->at[middle]), name) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

static bool resources_has(const ci_resources *list, size_t index, ci_span name) {
  return index < list->count && ci_span_order(resource_name(&list->at[index]), name) == 0;
}

const ci_resource *ci_resources_find(const ci_resources *list, ci_span name) {
  size_t index = resources_index(list, name);
  return resources_has(list, index, name) ? &list->at[index] : NULL;
}

ci_status ci_resources_admit(const ci_resources *list, ci_span generator, ci_error *error) {
  const ci_resource *found = ci_resources_find(list, generator);
  if (!found) return CI_OK;
  return ci_fail(error, CI_ALREADY_EXISTS,
                 "'%.*s' is %s of the state, so no random generator can be called that: remove it by "
                 "ci_state_remove_blob, or call the generator otherwise",
                 CI_SPAN_ARG(generator), found->kind == CI_RESOURCE_BLOB ? "a blob" : "the position of an iterator");
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
  size_t index = resources_index(list, name);
  if (resources_has(list, index, name)) {
    resource_free(allocator, &list->at[index]);
  } else {
    memmove(list->at + index + 1, list->at + index, (list->count - index) * sizeof *list->at);
    list->count++;
  }
  list->at[index] = made;
  return true;
}

bool ci_resources_remove(const ci_allocator *allocator, ci_resources *list, ci_span name) {
  const size_t index = resources_index(list, name);
  if (!resources_has(list, index, name)) return false;
  resource_free(allocator, &list->at[index]);
  list->count--;
  memmove(list->at + index, list->at + index + 1, (list->count - index) * sizeof *list->at);
  return true;
}

void ci_resources_free(const ci_allocator *allocator, ci_resources *list) {
  for (size_t i = 0; i < list->count; i++) resource_free(allocator, &list->at[i]);
  CI_LIST_FREE(allocator, list);
  *list = (ci_resources){0};
}
