/* test_move.c - casts to and from float16 and moves of bytes in every instruction set: the plain loops of isa_move.h
 * define them, and nothing outside a result is written. */
#include <math.h>
#include <string.h>

#include "check.h"

#include "../src/simd/isa.h"
#include "../src/simd/math/isa_move.h"
#include "../src/kernels/arithmetic/elementwise.h"

static const struct ci_isa *isa_list[5];
static int isa_count;

enum { GUARD = 64, LONGEST = 3000 };
static uint8_t source[2 * LONGEST * 16 + 2 * GUARD], found[2 * LONGEST * 16 + 2 * GUARD],
    expected[2 * LONGEST * 16 + 2 * GUARD];

/* Lengths around those of vectors of every instruction set. */
static const int64_t lengths[] = {0,  1,  2,  3,  4,  5,  7,  8,   9,   11,  15,  16,  17,  23,  31,  32,
                                  33, 47, 63, 64, 65, 95, 99, 127, 128, 129, 255, 257, 511, 512, 513, 1000};
enum { LENGTHS = (int)(sizeof lengths / sizeof *lengths) };

static void poison(void) {
  memset(found, 0xa5, sizeof found);
  memset(expected, 0xa5, sizeof expected);
}

static void fill_source(void) {
  uint32_t seed = 7;
  for (size_t i = 0; i < sizeof source; i++) {
    seed = seed * 1664525u + 1013904223u;
    source[i] = (uint8_t)(seed >> 24);
  }
}

/* ---- float16 ---- */

/* Every float32 whose lowest bits are 0, around each the ties and their neighbours. */
static void test_to_half(const struct ci_isa *isa) {
  static const uint32_t low[] = {0, 1, 0xfff, 0x1000, 0x1001, 0x1fff};
  const ci_cast_fn cast = ci_cast_find(isa, CI_FLOAT, CI_FLOAT16);
  static float x[6 << 10];
  static uint16_t y[6 << 10];
  for (uint32_t top = 0; top < 1u << 19; top += 1u << 10) {
    int n = 0;
    for (uint32_t i = top; i < top + (1u << 10); i++) {
      for (int l = 0; l < 6; l++) x[n++] = ci_float_from(i << 13 | low[l]);
    }
    cast(y, x, n);
    int wrong = 0;
    for (int i = 0; i < n; i++) wrong += y[i] != ci_float_to_half(x[i]);
    CHECK(wrong == 0);
  }
}

static void test_from_half(const struct ci_isa *isa) {
  static uint16_t x[65536];
  static float y[65536];
  for (uint32_t h = 0; h < 65536; h++) x[h] = (uint16_t)h;
  ci_cast_find(isa, CI_FLOAT16, CI_FLOAT)(y, x, 65536);
  int wrong = 0;
  for (int h = 0; h < 65536; h++) wrong += ci_float_bits(y[h]) != ci_float_bits(ci_float_from_half(x[h]));
  CHECK(wrong == 0);
}

static void test_lengths_of_casts(const struct ci_isa *isa) {
  for (int l = 0; l < LENGTHS; l++) {
    const int64_t n = lengths[l];
    const float *x = (const float *)(const void *)(source + 4);
    const uint16_t *h = (const uint16_t *)(const void *)(source + 2);
    poison();
    ci_cast_find(isa, CI_FLOAT, CI_FLOAT16)(found + 2, x, n);
    for (int64_t i = 0; i < n; i++) ((uint16_t *)(void *)(expected + 2))[i] = ci_float_to_half(x[i]);
    CHECK(memcmp(found, expected, sizeof found) == 0);
    poison();
    ci_cast_find(isa, CI_FLOAT16, CI_FLOAT)(found + 4, h, n);
    for (int64_t i = 0; i < n; i++) ((float *)(void *)(expected + 4))[i] = ci_float_from_half(h[i]);
    CHECK(memcmp(found, expected, sizeof found) == 0);
  }
}

/* ---- searching ---- */

static void test_beyond(const struct ci_isa *isa) {
  static const float others[] = {3.0f, -3.0f, NAN, INFINITY, -INFINITY, 1.0f};
  float x[200];
  for (int64_t n = 0; n < 200; n++) {
    for (int64_t at = 0; at <= n; at += 1 + n / 40) {
      for (int o = 0; o < 6; o++) {
        for (int64_t i = 0; i < n; i++) x[i] = i % 3 == 0 ? 1.0f : i % 3 == 1 ? -0.0f : 0x1p-149f;
        for (int64_t i = at; i < n; i += 29) x[i] = others[o];
        for (int above = 0; above < 2; above++) {
          const float limit = above ? 1.0f : -0.0f;
          int64_t first = 0;
          while (first < n && (above ? x[first] <= limit : x[first] >= limit)) first++;
          CHECK(isa->move->beyond(x, n, limit, above != 0) == first);
          CHECK(isa->move->beyond(x, n, NAN, above != 0) == 0);
        }
      }
    }
  }
}

/* ---- bytes ---- */

static void test_runs(const struct ci_isa *isa) {
  for (int l = 1; l < LENGTHS; l++) {
    const ptrdiff_t n = (ptrdiff_t)lengths[l];
    for (int way = 0; way < 4; way++) { /* dense, apart, one again and again, backwards */
      const ptrdiff_t to_step = way == 1 ? n + 3 : n, step = way == 2 ? 0 : way == 3 ? -n : n + (way == 1);
      const uint8_t *from = source + GUARD + (way == 3 ? 6 * n : 1);
      poison();
      isa->move->runs((char *)found + GUARD + 1, to_step, (const char *)from, step, 7, (size_t)n);
      for (int i = 0; i < 7; i++) memcpy(expected + GUARD + 1 + i * to_step, from + i * step, (size_t)n);
      CHECK(memcmp(found, expected, sizeof found) == 0);
    }
  }
}

static void test_fill_and_twice(const struct ci_isa *isa) {
  for (int64_t n = CI_MOVE_FILL; n < 400; n += n < 200 ? 1 : 7) {
    if (n % 16 == 0) {
      poison();
      isa->move->fill((char *)found + GUARD + 1, (const char *)source, (size_t)n);
      for (int64_t i = 0; i < n; i++) expected[GUARD + 1 + i] = source[i % 16];
      CHECK(memcmp(found, expected, sizeof found) == 0);
    }
    char same[16];
    memset(same, 0x3c, sizeof same);
    poison();
    isa->move->fill((char *)found + GUARD + 1, same, (size_t)n);
    memset(expected + GUARD + 1, 0x3c, (size_t)n);
    CHECK(memcmp(found, expected, sizeof found) == 0);
  }
  for (int l = 0; l < LENGTHS; l++) {
    poison();
    isa->move->twice(found + GUARD, source + GUARD, lengths[l]);
    for (int64_t i = 0; i < 2 * lengths[l]; i++) memcpy(expected + GUARD + 4 * i, source + GUARD + i / 2 * 4, 4);
    CHECK(memcmp(found, expected, sizeof found) == 0);
  }
}

static void test_turn(const struct ci_isa *isa) {
  if (isa->move->turn_bytes == NULL) return;
  for (int64_t rows = 0; rows <= 96; rows += CI_MOVE_SQUARE) {
    for (int64_t cols = 0; cols <= 80; cols += CI_MOVE_SQUARE) {
      const ptrdiff_t from_row = (ptrdiff_t)cols + 3, to_row = (ptrdiff_t)rows + 5;
      poison();
      isa->move->turn_bytes((char *)found + GUARD + 1, to_row, (const char *)source + 1, from_row, rows, cols);
      for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < cols; c++) expected[GUARD + 1 + c * to_row + r] = source[1 + r * from_row + c];
      }
      CHECK(memcmp(found, expected, sizeof found) == 0);
    }
  }
}

int main(void) {
  for (int32_t id = CI_ISA_PORTABLE; id <= CI_ISA_SIMD128; id++) {
    if (ci_isa_find(id) != NULL) isa_list[isa_count++] = ci_isa_find(id);
  }
  fill_source();
  for (int i = 0; i < isa_count; i++) {
    test_to_half(isa_list[i]);
    test_from_half(isa_list[i]);
    test_lengths_of_casts(isa_list[i]);
    test_beyond(isa_list[i]);
    test_runs(isa_list[i]);
    test_fill_and_twice(isa_list[i]);
    test_turn(isa_list[i]);
  }
  printf("%d instruction sets, %d failures\n", isa_count, check_failures);
  return CHECK_END;
}
