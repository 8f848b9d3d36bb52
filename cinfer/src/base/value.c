/* value.c - values: their descriptions in messages, their copies, and views of a caller's tensors. */
#include "value.h"

#include <stdio.h>
#include <string.h>

/* Every buffer is large enough for the name of a type; shapes may be cut. */
const char *ci_value_describe(const ci_value *v, char *buffer, size_t size) {
  size_t used = (size_t)snprintf(buffer, size, "%s", ci_dtype_name(v->dtype));
  if (ci_holds(v->dtype)) return buffer;
  if (v->rank < 0) {
    snprintf(buffer + used, size - used, "[...]");
    return buffer;
  }
  for (int32_t i = 0; i <= v->rank && used < size; i++) {
    const char *before = i == 0 ? "[" : ",";
    int more;
    if (i == v->rank) more = snprintf(buffer + used, size - used, v->rank == 0 ? "[]" : "]");
    else if (v->dims[i] < 0) more = snprintf(buffer + used, size - used, "%s?", before);
    else more = snprintf(buffer + used, size - used, "%s%lld", before, (long long)v->dims[i]);
    used += (size_t)more;
  }
  return buffer;
}

bool ci_value_storage(const ci_value *value, size_t *bytes) {
  *bytes = value->bytes;
  if (value->dtype != CI_STRING) return true;
  const ci_string *strings = value->data;
  for (int64_t i = 0; i < value->count; i++) {
    if (!ci_add_size(*bytes, strings[i].length, bytes)) return false;
  }
  return true;
}

void ci_value_copy(void *to, const ci_value *value) {
  if (value->bytes == 0 || to == value->data) return;
  memcpy(to, value->data, value->bytes);
  if (value->dtype != CI_STRING) return;
  ci_string *strings = to;
  char *str = (char *)to + value->bytes;
  for (int64_t i = 0; i < value->count; i++) {
    if (strings[i].length > 0) memcpy(str, strings[i].data, strings[i].length);
    strings[i].data = str;
    str += strings[i].length;
  }
}

ci_status ci_value_of_tensor(const ci_tensor *tensor, ci_value *value, ci_error *error) {
  size_t item = ci_dtype_size(tensor->dtype), bytes = item;
  *value = (ci_value){.data = tensor->data, .dtype = tensor->dtype, .rank = tensor->rank, .count = 1};
  bool fits = item > 0 && tensor->rank >= 0 && tensor->rank <= CI_MAX_RANK;
  for (int32_t i = 0; fits && i < tensor->rank; i++) {
    value->dims[i] = tensor->dims[i];
    fits = tensor->dims[i] >= 0 && (uint64_t)tensor->dims[i] <= SIZE_MAX &&
           ci_mul_size(bytes, (uint64_t)tensor->dims[i], &bytes) && ci_at_most(bytes, INT64_MAX);
  }
  if (!fits) return ci_fail(error, CI_INVALID_ARGUMENT, "a tensor has an impossible dtype, rank or shape");
  value->count = (int64_t)(bytes / item);
  value->bytes = bytes;
  if (tensor->data == NULL && bytes > 0) return ci_fail(error, CI_INVALID_ARGUMENT, "a tensor has no data");
  return CI_OK;
}
