/* blobs.c - the public functions for binary data of the caller (blobs) in a state. */
#include <string.h>

#include "../base/wire.h"
#include "../model/model.h"
#include "resources.h"
#include "state.h"

enum { BLOBS_MOST_NAME = 4096 };
#define BLOBS_MOST_BYTES ((size_t)1 << 24) /* of all together: they are in the index, which is one message */

static ci_status blobs_check(ci_state *state, ci_span name, size_t bytes, ci_error *error) {
  if (name.length == 0 || name.length > BLOBS_MOST_NAME || !ci_utf8_valid(name))
    return ci_fail(error, CI_INVALID_ARGUMENT, "a blob's name must be 1 to %d bytes of UTF-8", BLOBS_MOST_NAME);
  if (ci_state_find_random(state, name) >= 0)
    return ci_fail(error, CI_ALREADY_EXISTS, "'%.*s' is a random generator of the state: call the blob otherwise",
                   CI_SPAN_ARG(name));
  size_t total = bytes;
  const ci_resources *list = ci_state_resources(state);
  for (size_t i = 0; i < list->count; i++)
    if (!ci_span_is(name, list->at[i].name) && !ci_add_size(total, list->at[i].bytes, &total)) total = SIZE_MAX;
  if (total <= BLOBS_MOST_BYTES) return CI_OK;
  return ci_fail(error, CI_RESOURCE_EXHAUSTED,
                 "with '%.*s' the blobs of the state have %zu bytes, the limit is %zu: large values are for variables",
                 CI_SPAN_ARG(name), total, BLOBS_MOST_BYTES);
}

ci_status ci_state_set_blob(ci_state *state, const char *name, const void *data, size_t bytes, ci_error *error) {
  if (!state || !name || (!data && bytes))
    return ci_fail(error, CI_INVALID_ARGUMENT, "setting a blob needs a state, a name and its bytes");
  const ci_span str = {name, strlen(name)};
  CI_TRY(ci_state_idle(state, error));
  CI_TRY(blobs_check(state, str, bytes, error));
  if (ci_resources_put(ci_state_allocator(state), ci_state_resources(state), str, CI_RESOURCE_BLOB,
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
  const ci_span str = {name, strlen(name)};
  CI_TRY(ci_state_idle(state, error));
  if (ci_resources_remove(ci_state_allocator(state), ci_state_resources(state), str)) return CI_OK;
  return ci_fail(error, CI_NOT_FOUND, "the state has no blob '%.200s'", name);
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
