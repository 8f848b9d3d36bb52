/* one_nan.c - replaces each NaN of a result by one quiet NaN, since payloads differ between processors. */
#include "one_nan.h"

#include <string.h>

#include "../simd/isa.h"
#include "../simd/math/isa_math.h"
#include "../simd/math/isa_move.h"

enum {
  ONE_NAN_BLOCK = 64,   /* bytes that are changed at once: compilers make vectors of it */
  ONE_NAN_CACHED = 1 << 14 /* bytes that are looked at before they are changed */
};

static void one_nan_block32(void *to, const void *from) {
  uint32_t words[ONE_NAN_BLOCK / 4];
  memcpy(words, from, ONE_NAN_BLOCK);
  for (int i = 0; i < ONE_NAN_BLOCK / 4; i++)
    words[i] = (words[i] & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : words[i];
  memcpy(to, words, ONE_NAN_BLOCK);
}

static void one_nan_block64(void *to, const void *from) {
  const uint64_t infinity = (uint64_t)0x7ff << 52, nan = (uint64_t)0x7ff8 << 48;
  uint64_t words[ONE_NAN_BLOCK / 8];
  memcpy(words, from, ONE_NAN_BLOCK);
  for (int i = 0; i < ONE_NAN_BLOCK / 8; i++) words[i] = (words[i] & ~((uint64_t)1 << 63)) > infinity ? nan : words[i];
  memcpy(to, words, ONE_NAN_BLOCK);
}

static bool one_nan_is32(int32_t dtype) { return dtype == CI_FLOAT || dtype == CI_COMPLEX64; }
static bool one_nan_is64(int32_t dtype) { return dtype == CI_DOUBLE || dtype == CI_COMPLEX128; }

/* NaN is rare: values without one are only read. */
static void one_nan_clean32(const struct ci_isa *isa, float *x, int64_t n) {
  for (int64_t i = 0; i < n; i += ONE_NAN_CACHED / 4) {
    const int64_t count = n - i < ONE_NAN_CACHED / 4 ? n - i : ONE_NAN_CACHED / 4;
    if (isa->move->most_bits((const uint32_t *)(const void *)(x + i), count) <= 0x7f800000) continue;
    isa->math->unary[CI_MATH_one_nan](x + i, x + i, count, 0.0f, 0.0f);
  }
}

void ci_one_nan(const struct ci_isa *isa, void *data, size_t bytes, int32_t dtype) {
  if (one_nan_is32(dtype)) one_nan_clean32(isa, data, (int64_t)(bytes / sizeof(float)));
  else if (one_nan_is64(dtype)) isa->move->one_nan(data, data, (int64_t)(bytes / sizeof(double)));
}

bool ci_has_one_nan(const struct ci_isa *isa, const ci_value *x) {
  if (!one_nan_is32(x->dtype)) return !one_nan_is64(x->dtype);
  return isa->move->most_bits(x->data, (int64_t)(x->bytes / sizeof(float))) <= 0x7f800000;
}

void ci_one_nan_copy(const struct ci_isa *isa, void *to, const void *from, size_t bytes, int32_t dtype) {
  const bool words32 = one_nan_is32(dtype), words64 = one_nan_is64(dtype);
  size_t done = 0;
  if (!words32 && !words64) {
    if (to != from && bytes > 0) memcpy(to, from, bytes);
    return;
  }
  if (words32 && ((uintptr_t)to | (uintptr_t)from) % sizeof(float) == 0) {
    if (to == from) one_nan_clean32(isa, to, (int64_t)(bytes / sizeof(float)));
    else isa->math->unary[CI_MATH_one_nan](to, from, (int64_t)(bytes / sizeof(float)), 0.0f, 0.0f);
    return;
  }
  if (words64 && ((uintptr_t)to | (uintptr_t)from) % sizeof(double) == 0) {
    isa->move->one_nan(to, from, (int64_t)(bytes / sizeof(double)));
    return;
  }
  for (; done + ONE_NAN_BLOCK <= bytes; done += ONE_NAN_BLOCK) {
    if (words32) one_nan_block32((char *)to + done, (const char *)from + done);
    else one_nan_block64((char *)to + done, (const char *)from + done);
  }
  if (done == bytes) return;
  char rest[ONE_NAN_BLOCK] = {0};
  memcpy(rest, (const char *)from + done, bytes - done);
  if (words32) one_nan_block32(rest, rest);
  else one_nan_block64(rest, rest);
  memcpy((char *)to + done, rest, bytes - done);
}
