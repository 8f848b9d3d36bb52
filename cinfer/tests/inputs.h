/* inputs.h - makes inputs for any signature from the types that the model declares; and computes a digest that
 * distinguishes results. */
#ifndef CI_TEST_INPUTS_H
#define CI_TEST_INPUTS_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cinfer.h"

enum { INPUTS_MOST = 16, OUTPUTS_MOST = 256, INPUTS_ITEMS = 2, INPUTS_WORDS = 4 };

typedef struct inputs {
  ci_tensor tensors[INPUTS_MOST];
  ci_tensor items[INPUTS_MOST][INPUTS_ITEMS]; /* of sequences */
  void *blocks[INPUTS_MOST];
  int count;
} inputs;

/* Integers are 0 and 1, so that they may be indices, too; a shape is [-1, 1, ...]. */
static inline void inputs_fill(ci_tensor *t, const char *name, int64_t n) {
  const size_t size = ci_dtype_size(t->dtype), count = t->bytes / size;
  for (size_t i = 0; i < count; i++) {
    char *at = (char *)t->data + i * size;
    const int64_t whole = strcmp(name, "shape") == 0 ? (i == 0 ? -1 : 1) : ((int64_t)i + n) % 2;
    const int64_t part = (int64_t)(i * 7 % 11) - 5;
    if (t->dtype == CI_FLOAT) memcpy(at, &(float){(float)part / 4}, size);
    else if (t->dtype == CI_DOUBLE) memcpy(at, &(double){(double)part / 4}, size);
    else if (t->dtype == CI_STRING) memcpy(at, &(ci_string){"text", (size_t)whole * 4}, size);
    else if (t->dtype == CI_INT64) memcpy(at, &whole, size);
    else if (t->dtype == CI_INT32) memcpy(at, &(int32_t){(int32_t)whole}, size);
    else memset(at, (int)(whole & 1), 1);
  }
}

/* Dimensions that are unknown are n. */
static inline ci_tensor inputs_tensor(const ci_info *info, int64_t n, void **block) {
  ci_tensor t = {.dtype = info->dtype, .rank = info->rank < 0 ? 1 : info->rank, .bytes = ci_dtype_size(info->dtype)};
  for (int32_t d = 0; d < t.rank; d++) {
    t.dims[d] = info->rank < 0 || info->dims[d] < 0 ? n : info->dims[d];
    t.bytes *= (size_t)t.dims[d];
  }
  t.data = *block = calloc(t.bytes + 1, 1);
  if (t.data == NULL) abort();
  inputs_fill(&t, info->name, n);
  return t;
}

static inline void inputs_make(inputs *in, const ci_model *model, int signature, int64_t n) {
  memset(in, 0, sizeof *in);
  in->count = ci_input_count(model, signature);
  if (in->count > INPUTS_MOST) abort();
  for (int i = 0; i < in->count; i++) {
    ci_info info;
    if (ci_input(model, signature, i, &info) != CI_OK) abort();
    in->tensors[i] = inputs_tensor(&info, n, &in->blocks[i]);
    const int kind = ci_input_kind(model, signature, i);
    if ((kind & CI_KIND_OPTIONAL) != 0 && n % 2 == 0) in->tensors[i] = (ci_tensor){.dtype = CI_NOTHING};
    else if ((kind & CI_KIND_SEQUENCE) != 0) {
      for (int e = 0; e < INPUTS_ITEMS; e++) in->items[i][e] = in->tensors[i];
      in->tensors[i] = (ci_tensor){in->items[i], sizeof in->items[i], CI_SEQUENCE, 1, {INPUTS_ITEMS}};
    }
  }
}

static inline void inputs_free(inputs *in) {
  for (int i = 0; i < in->count; i++) free(in->blocks[i]);
}

/* ---- results ---- */

static inline uint32_t digest_plain(uint32_t crc, const ci_tensor *t) {
  crc = ci_crc32c(crc, &t->dtype, sizeof t->dtype);
  if (t->rank > 0) crc = ci_crc32c(crc, t->dims, (size_t)t->rank * sizeof *t->dims);
  if (t->dtype != CI_STRING) return t->bytes > 0 ? ci_crc32c(crc, t->data, t->bytes) : crc;
  const ci_string *strings = t->data;
  for (size_t i = 0; i < t->bytes / sizeof *strings; i++) {
    crc = ci_crc32c(crc, &strings[i].length, sizeof strings[i].length);
    if (strings[i].length > 0) crc = ci_crc32c(crc, strings[i].data, strings[i].length);
  }
  return crc;
}

static inline uint32_t digest_tensors(uint32_t crc, const ci_tensor *t, int count) {
  for (int i = 0; i < count; i++) {
    if (t[i].dtype != CI_SEQUENCE) {
      crc = digest_plain(crc, &t[i]);
      continue;
    }
    crc = ci_crc32c(crc, &t[i].dims[0], sizeof t[i].dims[0]);
    for (int64_t e = 0; e < t[i].dims[0]; e++) crc = digest_plain(crc, (const ci_tensor *)t[i].data + e);
  }
  return crc;
}

/* All variables and generators of a state, in its order. */
static inline uint32_t digest_state(const ci_state *state) {
  uint32_t crc = 0;
  for (int i = 0; i < ci_variable_count(state); i++) {
    ci_tensor value;
    ci_info info;
    if (ci_variable(state, i, &info) != CI_OK) abort();
    crc = ci_crc32c(crc, info.name, strlen(info.name) + 1);
    if (ci_variable_view(state, i, &value, NULL) == CI_OK) crc = digest_tensors(crc, &value, 1);
  }
  for (int i = 0; i < ci_generator_count(state); i++) {
    ci_generator g = {0, 0};
    int used = 0;
    if (ci_generator_get(state, i, &g, &used) != CI_OK) abort();
    crc = ci_crc32c(crc, &g, sizeof g);
    crc = ci_crc32c(crc, &used, sizeof used);
  }
  return crc;
}
#endif
