/* test_math.c - elementary functions, reductions, casts and random words: the same bits on every instruction set and
 * machine, against plain loops that are the definition and hashes that are checked in.
 *
 * With -v the hashes are printed, which is how a new row of the tables below is made.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../src/simd/isa.h"
#include "../src/simd/linear/isa_linear.h"
#include "../src/simd/math/isa_math.h"
#include "../src/kernels/arithmetic/cast.h"
#include "../src/kernels/arithmetic/elementwise.h"
#include "../src/kernels/reduction/reduce.h"
#include "../src/math/philox.h"
#include "../src/math/scalar_math.h"
#include "../src/math/soft_fma.h"

static int failures;
#define CHECK(condition, ...)                \
  do {                                       \
    if (!(condition)) {                      \
      failures++;                            \
      printf("%s:%d: ", __FILE__, __LINE__); \
      printf(__VA_ARGS__);                   \
      printf("\n");                          \
    }                                        \
  } while (0)

static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return x != x ? 0x7fc00000 : bits;
}
static float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static uint64_t hash_bits(uint64_t hash, uint64_t bits, int bytes) { /* FNV-1a, low byte first */
  for (int i = 0; i < bytes; i++) hash = (hash ^ (bits >> (8 * i) & 255)) * 0x100000001b3;
  return hash;
}
static const uint64_t hash_start = 0xcbf29ce484222325;

static uint32_t next_random(uint32_t *state) { return *state = *state * 1664525 + 1013904223; }

/* Numbers of all sizes: random, large, denormal, zeros, and rarely infinite or NaN if `wild`. */
static void fill(float *x, int64_t n, uint32_t seed, bool wild) {
  for (int64_t i = 0; i < n; i++) {
    const uint32_t r = next_random(&seed);
    const float unit = (float)(int32_t)(r & 0xffffff) * 0x1p-23f - 1.0f;
    switch (r >> 24) {
      case 0: x[i] = wild ? INFINITY : unit; break;
      case 1: x[i] = wild ? NAN : unit; break;
      case 2: x[i] = unit * 1e-40f; break;
      case 3: x[i] = -0.0f; break;
      case 4: x[i] = unit * 1e6f; break;
      default: x[i] = unit;
    }
  }
}

static const struct ci_isa *isa_list[5];
static int isa_count;

/* ---- elementary functions ---- */

typedef struct function_case {
  const char *name;
  double (*exact)(double x); /* NULL: the hash alone */
  double ulp;
  float a, b;
  uint64_t hash;
} function_case;

static double exact_reciprocal(double x) { return 1.0 / x; }
static double exact_sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
static double exact_softplus(double x) { return (x > 0.0 ? x : 0.0) + log1p(exp(-fabs(x))); }
static double exact_elu(double x) { return x > 0.0 ? x : 0.5 * expm1(x); }
static double exact_neg(double x) { return -x; }
static double exact_same(double x) { return x; }
static double exact_swish(double x) { return isinf(x) && x < 0.0 ? (double)NAN : x / (1.0 + exp(-x)); }
static double exact_softsign(double x) { return x / (1.0 + fabs(x)); }
static double exact_mish(double x) { return x * tanh(exact_softplus(x)); }

static const function_case function_cases[CI_MATH_UNARY_COUNT] = {
    [CI_MATH_abs] = {"abs", fabs, 0.0, 0, 0, 0xdf38d328568f36a0},
    [CI_MATH_neg] = {"neg", exact_neg, 0.0, 0, 0, 0x31fe35d096ed4b20},
    [CI_MATH_sqrt] = {"sqrt", sqrt, 0.5001, 0, 0, 0x3557012decd3f74c},
    [CI_MATH_reciprocal] = {"reciprocal", exact_reciprocal, 0.5001, 0, 0, 0x6541c6f791ed4cfb},
    [CI_MATH_exp] = {"exp", exp, 0.86, 0, 0, 0x61cfaaa45a492c24},
    [CI_MATH_log] = {"log", log, 0.82, 0, 0, 0x4d0d20516cfb1eeb},
    [CI_MATH_tanh] = {"tanh", tanh, 1.37, 0, 0, 0x76cac3cdf378b7cf},
    [CI_MATH_sigmoid] = {"sigmoid", exact_sigmoid, 2.5, 0, 0, 0x61d23da3ce5752cf},
    [CI_MATH_erf] = {"erf", erf, 1.06, 0, 0, 0x9bcb0b6a1db9e1cc},
    [CI_MATH_softplus] = {"softplus", exact_softplus, 2.2, 0, 0, 0xe65e65d9839bb684},
    [CI_MATH_elu] = {"elu", exact_elu, 1.5, 0.5f, 0, 0x7c6584407837d785},
    [CI_MATH_selu] = {"selu", NULL, 0, 1.673263192f, 1.050701022f, 0x43c887a2c657b71c},
    [CI_MATH_leaky_relu] = {"leaky_relu", NULL, 0, 0.01f, 0, 0xb4534e914930c53a},
    [CI_MATH_relu] = {"relu", NULL, 0, 0, 0, 0xbb3026c3b0c7e5a7},
    [CI_MATH_gelu] = {"gelu", NULL, 0, 0, 0, 0x4d7d9131378bf795},
    [CI_MATH_gelu_tanh] = {"gelu_tanh", NULL, 0, 0, 0, 0x37689854a3992c8d},
    [CI_MATH_mish] = {"mish", exact_mish, 51, 0, 0, 0xcc02469686632942},
    [CI_MATH_swish] = {"swish", exact_swish, 51, 1.0f, 0, 0x3e70a45d1753e548},
    [CI_MATH_hard_sigmoid] = {"hard_sigmoid", NULL, 0, 0.2f, 0.5f, 0x63ee8a59dc776940},
    [CI_MATH_hard_swish] = {"hard_swish", NULL, 0, 0x1.555556p-3f, 0.5f, 0xf4e63520cdcc2028},
    [CI_MATH_softsign] = {"softsign", exact_softsign, 1.5, 0, 0, 0xc0622c0827dfc0e9},
    [CI_MATH_clip] = {"clip", NULL, 0, -1.5f, 2.0f, 0x838b2f3543bd0352},
    [CI_MATH_floor] = {"floor", floor, 0.0, 0, 0, 0xbb4e9c8e4cb17ecc},
    [CI_MATH_ceil] = {"ceil", ceil, 0.0, 0, 0, 0x33b1e1cf1cdac395},
    [CI_MATH_round] = {"round", nearbyint, 0.0, 0, 0, 0x3a86a7f514d391a9},
    [CI_MATH_sign] = {"sign", NULL, 0, 0, 0, 0x0c1bd01cd2ae8df8},
    [CI_MATH_one_nan] = {"one_nan", exact_same, 0, 0, 0, 0xa2a0064485845520},
};

/* Error in ulps of the exact value; inf where only one is finite. */
static double ulp_error(float y, double exact) {
  const float near = (float)exact;
  int exponent;
  if (near != near || y != y) return near != near && y != y ? 0.0 : INFINITY;
  if (isinf(near) || isinf(y)) return y == near || fabs(exact) > 3.4028e38 ? 0.0 : INFINITY;
  (void)frexp(exact, &exponent);
  return fabs((double)y - exact) / ldexp(1.0, exponent - 24 < -149 ? -149 : exponent - 24);
}

enum { STRIDE = 9973, CHUNK = 1021 }; /* CHUNK is not a multiple of a vector */

static void test_functions(bool print) {
  float x[CHUNK], y[CHUNK];
  for (int f = 0; f < CI_MATH_UNARY_COUNT; f++) {
    const function_case *c = &function_cases[f];
    for (int i = 0; i < isa_count; i++) {
      uint64_t hash = hash_start, at = 0;
      double worst = 0.0;
      float worst_x = 0.0f;
      while (at < (uint64_t)1 << 32) {
        int n = 0;
        for (; n < CHUNK && at < (uint64_t)1 << 32; n++, at += STRIDE) x[n] = float_of((uint32_t)at);
        isa_list[i]->math->unary[f](y, x, n, c->a, c->b);
        for (int j = 0; j < n; j++) {
          hash = hash_bits(hash, bits_of(y[j]), 4);
          const double error = c->exact != NULL && i == 0 ? ulp_error(y[j], c->exact(x[j])) : 0.0;
          if (error > worst) worst = error, worst_x = x[j];
        }
      }
      if (print && i == 0) printf("%s 0x%016llx, %.3f ulp\n", c->name, (unsigned long long)hash, worst);
      CHECK(worst <= c->ulp, "%s: %.3f ulp at %a, the limit is %.3f", c->name, worst, (double)worst_x, c->ulp);
      CHECK(hash == c->hash, "%s, %s: hash 0x%016llx, expected 0x%016llx", c->name, isa_list[i]->name,
            (unsigned long long)hash, (unsigned long long)c->hash);
    }
  }
}

static void test_special_values(void) {
  static const struct special {
    int f;
    float x, y;
  } cases[] = {
      {CI_MATH_exp, -INFINITY, 0.0f},    {CI_MATH_exp, INFINITY, INFINITY}, {CI_MATH_exp, -0.0f, 1.0f},
      {CI_MATH_exp, -103.5f, 0x1p-149f}, {CI_MATH_log, 0.0f, -INFINITY},    {CI_MATH_log, -0.0f, -INFINITY},
      {CI_MATH_log, -1.0f, NAN},         {CI_MATH_log, 1.0f, 0.0f},         {CI_MATH_log, INFINITY, INFINITY},
      {CI_MATH_tanh, -0.0f, -0.0f},      {CI_MATH_tanh, -INFINITY, -1.0f},  {CI_MATH_erf, -0.0f, -0.0f},
      {CI_MATH_erf, INFINITY, 1.0f},     {CI_MATH_relu, -0.0f, 0.0f},       {CI_MATH_relu, NAN, NAN},
      {CI_MATH_round, -0.4f, -0.0f},     {CI_MATH_round, 2.5f, 2.0f},       {CI_MATH_ceil, -0.5f, -0.0f},
      {CI_MATH_floor, -0.5f, -1.0f},     {CI_MATH_sign, -0.0f, 0.0f},       {CI_MATH_sign, NAN, NAN},
      {CI_MATH_sigmoid, -INFINITY, 0},   {CI_MATH_softplus, -INFINITY, 0},  {CI_MATH_softplus, INFINITY, INFINITY},
      {CI_MATH_clip, NAN, NAN},          {CI_MATH_clip, -9.0f, 0.0f}};
  for (int i = 0; i < isa_count; i++) {
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
      float y;
      isa_list[i]->math->unary[cases[c].f](&y, &cases[c].x, 1, 0.0f, 5.0f);
      CHECK(bits_of(y) == bits_of(cases[c].y), "%s(%a) on %s: %a, expected %a", function_cases[cases[c].f].name,
            (double)cases[c].x, isa_list[i]->name, (double)y, (double)cases[c].y);
    }
  }
}

static void test_binary(void) {
  enum { N = 100 };
  float a[N], b[N], y[2][N];
  fill(a, N, 1, true);
  fill(b, N, 2, true);
  for (int f = 0; f < CI_MATH_BINARY_COUNT; f++) {
    for (int scalar = 0; scalar < 3; scalar++) {
      for (int i = 0; i < isa_count; i++) {
        isa_list[i]->math->binary[f](y[i > 0], a, b, N, scalar);
        for (int j = 0; j < N; j++)
          CHECK(bits_of(y[i > 0][j]) == bits_of(y[0][j]), "binary %d, %s, element %d", f, isa_list[i]->name, j);
      }
    }
  }
}

/* Half of c's last bit, and a little less or more by turns, as a * b; c also denormal. */
static void near_tie(uint32_t *seed, float *a, float *b, float *c) {
  const uint32_t r = next_random(seed), fraction = next_random(seed) >> 9;
  const int exponent = r >> 31 ? -126 : (int)(r >> 16) % 160 - 80; /* of c */
  *c = ldexpf((exponent == -126 ? 0.0f : 1.0f) + (float)fraction * 0x1p-23f, exponent);
  if (r >> 30 & 1) *c = -*c;
  const float step = (float)(r >> 8 & 3) * 0x1p-23f; /* (1 + step) (1 - step) = 1 - step^2, which a double loses */
  const int half = (exponent - 24) / 2;
  *a = ldexpf(1.0f + step, exponent - 24 - half);
  *b = ldexpf(r >> 10 & 1 ? 1.0f - step : 1.0f, half);
  if (r >> 29 & 1) *a = -*a;
}

static void test_ties_of_fma(void) {
  enum { N = 1000 };
  static float a[N], b[N], c[N], y[2][N];
  uint32_t seed = 7;
  for (int round = 0; round < 100; round++) {
    for (int j = 0; j < N; j++) near_tie(&seed, a + j, b + j, c + j);
    for (int i = 0; i < isa_count; i++) {
      float *sums = y[i > 0];
      memcpy(sums, c, sizeof c);
      isa_list[i]->linear->multiply_add(sums, a, b, N);
      for (int j = 0; j < N; j++)
        CHECK(bits_of(sums[j]) == bits_of(y[0][j]), "fma(%a, %a, %a) on %s", (double)a[j], (double)b[j], (double)c[j],
              isa_list[i]->name);
    }
  }
}

static void test_fma(void) {
  for (int i = 0; i < isa_count; i++)
    CHECK(ci_isa_self_check(isa_list[i]), "the self-check fails on %s", isa_list[i]->name);
  CHECK(ci_soft_fma(0x1.001p0f, 0x1.001p0f, 0x1p-60f) == float_of(0x3f801001), "fma rounds twice");
  CHECK(ci_soft_fma(0x1p100f, 0x1p28f, -0x1p127f) == 0x1p127f, "fma overflows on the way");
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__FP_FAST_FMAF)
  uint32_t seed = 7;
  for (int i = 0; i < 1000000; i++) {
    const float a = float_of(next_random(&seed)), b = float_of(next_random(&seed));
    const float c = i & 1 ? float_of(next_random(&seed)) : -a * b * (1.0f + (float)(i & 15) * 0x1p-23f);
    CHECK(bits_of(ci_soft_fma(a, b, c)) == bits_of(__builtin_fmaf(a, b, c)), "fma(%a, %a, %a)", (double)a, (double)b,
          (double)c);
  }
#endif
}

/* ---- double functions: one hash for all ---- */

static void test_scalar(bool print) {
  static double (*const functions[])(double) = {ci_exp,  ci_expm1, ci_log,     ci_sin,      ci_cos,   ci_tan,
                                                ci_atan, ci_tanh,  ci_sigmoid, ci_softplus, ci_erf,   ci_asin,
                                                ci_acos, ci_sinh,  ci_cosh,    ci_asinh,    ci_acosh, ci_atanh};
  uint64_t hash = hash_start;
  uint32_t seed = 3;
  for (int i = 0; i < 20000; i++) {
    const uint64_t bits = (uint64_t)next_random(&seed) << 32 | next_random(&seed);
    double x, y;
    memcpy(&x, &bits, sizeof x);
    if (i % 4 != 0) x = ldexp((double)(int64_t)bits * 0x1p-63, (int)(bits % 16) - 6);
    for (size_t f = 0; f <= sizeof functions / sizeof functions[0]; f++) {
      uint64_t result;
      y = f < sizeof functions / sizeof functions[0] ? functions[f](x) : ci_pow(fabs(x), (double)(i % 41 - 20) * 0.5);
      memcpy(&result, &y, sizeof result);
      hash = hash_bits(hash, y != y ? 0x7ff8000000000000 : result, 8);
    }
  }
  if (print) printf("scalar 0x%016llx\n", (unsigned long long)hash);
  CHECK(hash == 0xd82c7df09b692db9, "functions of double: hash 0x%016llx", (unsigned long long)hash);
  CHECK(ci_pow(-2.0, 3.0) == -8.0 && ci_pow(0.0, -1.0) == INFINITY && ci_pow(NAN, 0.0) == 1.0, "pow");
  CHECK(ci_pow_float(3.0f, 2.0f) == 9.0f && ci_pow_float(2.0f, -149.0f) == 0x1p-149f, "pow of float");
}

/* ---- reductions against their definition ---- */

static float join(int op, float a, float b) {
  switch (op) {
    case CI_REDUCE_SUM: return a + b;
    case CI_REDUCE_PROD: return a * b;
    case CI_REDUCE_MAX: return a != a ? a : b != b ? b : a > b ? a : b;
    default: return a != a ? a : b != b ? b : a < b ? a : b;
  }
}
static const float neutral[CI_REDUCE_COUNT] = {0.0f, 1.0f, -INFINITY, INFINITY};

static float plain_row(int op, const float *x, int64_t n, bool always16) {
  float lane[64];
  const int many = n >= 256 && !always16;
  for (int i = 0; i < 64; i++) lane[i] = neutral[op];
  for (int64_t i = 0; i < n; i++) {
    const int64_t l = many && i < n / 64 * 64 ? i % 64 : i % 16;
    lane[l] = join(op, lane[l], x[i]);
  }
  for (int i = 0; many && i < 16; i++) {
    const float low = join(op, lane[i], lane[i + 16]), high = join(op, lane[i + 32], lane[i + 48]);
    lane[i] = join(op, low, high);
  }
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) lane[i] = join(op, lane[i], lane[i + half]);
  }
  return op >= CI_REDUCE_MAX ? lane[0] + 0.0f : lane[0];
}

static float plain_column(int op, const float *x, int64_t k, int64_t stride, int64_t block) {
  float total = 0.0f;
  for (int64_t begin = 0; begin < k; begin += block) {
    float chain = neutral[op];
    for (int64_t i = begin; i < k && i < begin + block; i++) chain = join(op, chain, x[i * stride]);
    total = begin == 0 ? chain : join(op, total, chain);
  }
  return op >= CI_REDUCE_MAX ? total + 0.0f : total;
}

static const int lengths[] = {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65, 255, 256, 257, 319, 320, 1000};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static void test_rows(void) {
  static float x[1001];
  for (int l = 0; l < LENGTHS; l++) {
    for (int seed = 0; seed < 8; seed++) {
      fill(x, 1001, (uint32_t)(seed * 100 + l), seed >= 4);
      for (int op = 0; op < CI_REDUCE_COUNT; op++) {
        const float expected = plain_row(op, x + 1, lengths[l], false);
        for (int i = 0; i < isa_count; i++) {
          const float y = isa_list[i]->math->row[op](x + 1, lengths[l]);
          CHECK(bits_of(y) == bits_of(expected), "row of %d, op %d, %s: %a, expected %a", lengths[l], op,
                isa_list[i]->name, (double)y, (double)expected);
        }
      }
    }
  }
}

static void test_columns(void) {
  static float x[70 * 300], y[70];
  static const int widths[] = {2, 3, 15, 16, 17, 33, 64, 65, 70}, heights[] = {1, 5, 16, 17, 300};
  for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
    for (size_t h = 0; h < sizeof heights / sizeof heights[0]; h++) {
      const int64_t n = widths[w], k = heights[h], block = n <= 16 ? 75 : 256;
      fill(x, n * k, (uint32_t)(w * 10 + h), h % 2 == 1);
      for (int op = 0; op < CI_REDUCE_COUNT; op++) {
        for (int i = 0; i < isa_count; i++) {
          isa_list[i]->math->columns[op](y, x, k, n, (ptrdiff_t)n, block);
          for (int64_t c = 0; c < n; c++) {
            const float expected = plain_column(op, x + c, k, n, block);
            CHECK(bits_of(y[c]) == bits_of(expected), "column %d of %d x %d, op %d, %s: %a, expected %a", (int)c,
                  (int)k, (int)n, op, isa_list[i]->name, (double)y[c], (double)expected);
          }
        }
      }
    }
  }
}

/* Pieces of 4096 beyond 65536, and the plain types in the order of float32. */
static void test_long_sums(void) {
  static float x[70001], partial[64], list[18];
  static double wide[1000];
  fill(x, 70001, 5, false);
  for (int i = 0; i < 18; i++)
    list[i] = plain_row(CI_REDUCE_SUM, x + i * 4096, i < 17 ? 4096 : 70001 - 17 * 4096, false);
  CHECK(ci_sum_partials(70001) <= 64, "memory for partial sums");
  for (int i = 0; i < isa_count; i++) {
    float y;
    ci_sum_row(isa_list[i]->math, CI_FLOAT, &y, x, 70001, partial);
    CHECK(bits_of(y) == bits_of(plain_row(CI_REDUCE_SUM, list, 18, false)), "a sum of 70001 on %s", isa_list[i]->name);
  }
  for (int i = 0; i < 1000; i++) wide[i] = (double)(i % 7 - 3);
  double sum;
  ci_reduce_typed_find(CI_REDUCE_SUM, CI_DOUBLE)->row(&sum, wide, 1000);
  CHECK(sum == -3.0 + -2.0 + -1.0 + 0.0 + 1.0 + 2.0, "a sum of float64: %a", sum);
  const int8_t small[3] = {100, 100, -3};
  int8_t wrapped;
  ci_reduce_typed_find(CI_REDUCE_SUM, CI_INT8)->row(&wrapped, small, 3);
  CHECK(wrapped == -59, "int8 sums wrap: %d", wrapped);
  ci_reduce_typed_find(CI_REDUCE_MIN, CI_INT8)->row(&wrapped, small, 3);
  CHECK(wrapped == -3, "the smallest int8: %d", wrapped);
}

static void plain_softmax(const struct ci_isa_math *math, float *y, const float *x, int n, bool logarithm) {
  float m = -INFINITY, s, log_s;
  for (int i = 0; i < n; i++) m = x[i] > m ? x[i] : m;
  for (int i = 0; i < n; i++) {
    const float z = x[i] - m;
    float e;
    math->unary[CI_MATH_exp](&e, &z, 1, 0, 0);
    y[i] = e;
  }
  s = plain_row(CI_REDUCE_SUM, y, n, true);
  math->unary[CI_MATH_log](&log_s, &s, 1, 0, 0);
  const float r = 1.0f / s;
  for (int i = 0; i < n; i++) {
    const float z = x[i] - m;
    y[i] = logarithm ? z - log_s : y[i] * r;
  }
}

static void test_softmax(void) {
  static float x[3000], y[3000], expected[1000];
  for (int l = 0; l < LENGTHS; l++) {
    const int n = lengths[l];
    fill(x, 3 * n, (uint32_t)l, l % 3 == 2);
    if (n > 1) x[1] = -INFINITY;
    for (int i = 0; i < isa_count; i++) {
      for (int logarithm = 0; logarithm < 2; logarithm++) {
        memset(y, 0xff, sizeof y);
        (logarithm ? isa_list[i]->math->log_softmax : isa_list[i]->math->softmax)(y, x, 3, n);
        for (int row = 0; row < 3; row++) {
          plain_softmax(isa_list[0]->math, expected, x + row * n, n, logarithm != 0);
          for (int j = 0; j < n; j++) {
            CHECK(bits_of(y[row * n + j]) == bits_of(expected[j]),
                  "softmax of %d, %s, row %d, element %d: %a, expected %a", n, isa_list[i]->name, row, j,
                  (double)y[row * n + j], (double)expected[j]);
          }
        }
      }
    }
  }
}

/* ---- optimizer steps: two roundings for a multiplication and an addition ---- */

static void test_training(void) {
  enum { N = 37 };
  float p[N], a[N], g[N], v[N], y[3][N];
  const float rate = 0.1f, keep = 0.9f; /* objects: where expressions are wide, constants are, too */
  const ci_adam numbers = {0.01f, 0.1f, 0.001f, 1e-8f};
  fill(p, N, 1, false), fill(a, N, 2, false), fill(g, N, 3, false), fill(v, N, 4, false);
  for (int j = 0; j < N; j++) v[j] = fabsf(v[j]);
  for (int i = 0; i < isa_count; i++) {
    const struct ci_isa_math *math = isa_list[i]->math;
    math->gradient_descent(y[0], p, g, rate, N);
    for (int j = 0; j < N; j++) {
      const float step = rate * g[j], expected = p[j] - step;
      CHECK(bits_of(y[0][j]) == bits_of(expected), "gradient descent on %s", isa_list[i]->name);
    }
    for (int nesterov = 0; nesterov < 2; nesterov++) {
      math->momentum(y[0], y[1], p, a, g, rate, keep, nesterov != 0, N);
      for (int j = 0; j < N; j++) {
        const float kept = keep * a[j], sum = kept + g[j], ahead = keep * sum,
                    direction = nesterov ? g[j] + ahead : sum;
        const float step = rate * direction, expected = p[j] - step;
        CHECK(bits_of(y[0][j]) == bits_of(expected) && bits_of(y[1][j]) == bits_of(sum), "momentum on %s",
              isa_list[i]->name);
      }
    }
    math->adam(y[0], y[1], y[2], p, a, v, g, &numbers, N);
    for (int j = 0; j < N; j++) {
      const float dm = g[j] - a[j], sm = dm * numbers.k1, new_m = a[j] + sm, g2 = g[j] * g[j], dv = g2 - v[j];
      const float sv = dv * numbers.k2, new_v = v[j] + sv, root = sqrtf(new_v), den = root + numbers.epsilon;
      const float top = numbers.rate * new_m, step = top / den, expected = p[j] - step;
      CHECK(bits_of(y[0][j]) == bits_of(expected) && bits_of(y[1][j]) == bits_of(new_m) &&
                bits_of(y[2][j]) == bits_of(new_v),
            "adam on %s, element %d", isa_list[i]->name, j);
    }
  }
}

/* ---- casts ---- */

static void test_casts(void) {
  static const struct cast_case {
    int32_t to;
    double from;
    int64_t value;
  } cases[] = {{CI_INT32, 3e9, INT32_MAX}, {CI_INT32, -3e9, INT32_MIN},  {CI_INT32, -1.9, -1},
               {CI_INT32, NAN, 0},         {CI_UINT8, -1.5, 0},          {CI_UINT8, 300.0, 255},
               {CI_UINT8, 255.9, 255},     {CI_INT8, -128.9, -128},      {CI_INT8, 127.5, 127},
               {CI_INT8, INFINITY, 127},   {CI_INT64, 1e30, INT64_MAX},  {CI_INT64, -1e30, INT64_MIN},
               {CI_UINT16, -INFINITY, 0},  {CI_UINT32, 5e9, UINT32_MAX}, {CI_BOOL, NAN, 1},
               {CI_BOOL, -0.0, 0},         {CI_INT16, 32768.0, 32767},   {CI_BOOL, 0.25, 1}};
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    for (int single = 0; single < 2; single++) {
      const float small = (float)cases[c].from;
      union {
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
      } y = {.i64 = 0};
      ci_cast_find(isa_list[0], single ? CI_FLOAT : CI_DOUBLE, cases[c].to)(
          &y, single ? (const void *)&small : &cases[c].from, 1);
      const int64_t got = cases[c].to == CI_INT8     ? y.i8
                          : cases[c].to == CI_INT16  ? y.i16
                          : cases[c].to == CI_UINT16 ? y.u16
                          : cases[c].to == CI_INT32  ? y.i32
                          : cases[c].to == CI_UINT32 ? (int64_t)y.u32
                          : cases[c].to == CI_INT64  ? y.i64
                                                     : y.u8;
      CHECK(got == cases[c].value, "%g to %s: %lld", cases[c].from, ci_dtype_name(cases[c].to), (long long)got);
    }
  }
  const int64_t twice = ((int64_t)1 << 60) + ((int64_t)1 << 36) + 1; /* through double it would round twice */
  float once;
  ci_cast_find(isa_list[0], CI_INT64, CI_FLOAT)(&once, &twice, 1);
  CHECK(once == 0x1.000002p60f, "int64 to float rounds twice: %a", (double)once);
  for (uint32_t h = 0; h < 65536; h++) { /* half to float and back; every NaN becomes one */
    const uint16_t half = (uint16_t)h, expected = (h & 0x7fff) > 0x7c00 ? 0x7e00 : half;
    uint16_t back;
    float x;
    ci_cast_find(isa_list[0], CI_FLOAT16, CI_FLOAT)(&x, &half, 1);
    ci_cast_find(isa_list[0], CI_FLOAT, CI_FLOAT16)(&back, &x, 1);
    CHECK(back == expected, "half 0x%04x came back as 0x%04x", half, back);
  }
  static const struct half_case {
    double from;
    uint16_t half, brain;
  } halves[] = {{1.0, 0x3c00, 0x3f80},           {65519.0, 0x7bff, 0x4780},
                {65520.0, 0x7c00, 0x4780},       {0x1p-25, 0, 0x3300},
                {0x1.8p-25, 1, 0x3340},          {1.0 + 0x1p-11 + 0x1p-40, 0x3c01, 0x3f80},
                {1.0 + 0x1p-11, 0x3c00, 0x3f80}, {NAN, 0x7e00, 0x7fc0},
                {-INFINITY, 0xfc00, 0xff80}};
  for (size_t c = 0; c < sizeof halves / sizeof halves[0]; c++) {
    uint16_t y[2] = {0};
    ci_caster to_half, to_brain;
    CHECK(ci_caster_make(&to_half, isa_list[0], CI_DOUBLE, CI_FLOAT16, true, CI_ROUND_UP), "no cast to float16");
    CHECK(ci_caster_make(&to_brain, isa_list[0], CI_DOUBLE, CI_BFLOAT16, true, CI_ROUND_UP), "no cast to bfloat16");
    ci_caster_run(&to_half, &y[0], &halves[c].from, 1);
    ci_caster_run(&to_brain, &y[1], &halves[c].from, 1);
    CHECK(y[0] == halves[c].half && y[1] == halves[c].brain, "%a to halves: 0x%04x 0x%04x", halves[c].from, y[0], y[1]);
  }
}

static void test_integers(void) {
  const int32_t a[] = {INT32_MIN, 7, -7, 7, -7, 5, INT32_MAX}, b[] = {-1, 2, 2, -2, -2, 0, 1};
  static const struct integer_case {
    int op;
    int32_t y[7];
  } cases[] = {{CI_MATH_div, {INT32_MIN, 3, -3, -3, 3, 0, INT32_MAX}},
               {CI_EW_MOD, {0, 1, 1, -1, -1, 0, 0}},
               {CI_EW_FMOD, {0, 1, -1, 1, -1, 0, 0}},
               {CI_MATH_add, {INT32_MAX, 9, -5, 5, -9, 5, INT32_MIN}},
               {CI_EW_POW, {0, 49, 49, 0, 0, 1, INT32_MAX}}};
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    int32_t y[7];
    ci_typed_binary(cases[c].op, CI_INT32)(y, a, b, 7, CI_NO_SCALAR);
    for (int i = 0; i < 7; i++) {
      CHECK(y[i] == cases[c].y[i], "op %d of %d and %d: %d, expected %d", cases[c].op, a[i], b[i], y[i], cases[c].y[i]);
    }
  }
}

/* ---- random ---- */

static void test_philox(void) { /* known answers of Random123 */
  static const struct philox_case {
    uint64_t key, low, high;
    uint32_t word[4];
  } cases[] = {
      {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (int c = 0; c < 3; c++) {
    uint32_t word[4];
    ci_philox(cases[c].key, cases[c].low, cases[c].high, word);
    CHECK(memcmp(word, cases[c].word, sizeof word) == 0, "philox %d: %08x %08x %08x %08x", c, word[0], word[1], word[2],
          word[3]);
  }
}

static bool same_double(double a, double b) { return (a != a && b != b) || memcmp(&a, &b, sizeof a) == 0; }

/* Numbers of all exponents; pairs are near each other or not. */
static double random_double(uint32_t *state) {
  static const double special[] = {0.0,     -0.0,      0.5,       -0.5,     1.0,       0x1p52, 0x1p53,
                                   -0x1p63, 0x1p-1074, 0x1p-1022, INFINITY, -INFINITY, NAN};
  const uint64_t high = next_random(state), low = next_random(state);
  const uint32_t choice = next_random(state) >> 24;
  uint64_t bits = high << 32 | low;
  if (choice < 13) return special[choice];
  if (choice < 128) bits = bits << 12 >> 12 | (uint64_t)(1000 + (choice & 63)) << 52 | (uint64_t)(choice & 1) << 63;
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static void test_exact(void) {
  uint32_t state = 7;
  for (int i = 0; i < 200000; i++) {
    const double x = random_double(&state), y = random_double(&state);
    const float narrow = (float)x;
    CHECK(same_double(ci_floor(x), floor(x)) && same_double(ci_ceil(x), ceil(x)), "floor, ceil of %a", x);
    CHECK(same_double(ci_fmod(x, y), fmod(x, y)), "fmod(%a, %a)", x, y);
    CHECK(same_double(ci_below(x), nextafter(x, -(double)INFINITY)), "below %a", x);
    CHECK(bits_of(ci_below_float(narrow)) == bits_of(nextafterf(narrow, -INFINITY)), "below %a", (double)narrow);
  }
}

int main(int argc, char **argv) {
  const bool print = argc > 1 && strcmp(argv[argc - 1], "-v") == 0;
  for (int32_t id = CI_ISA_PORTABLE; id <= CI_ISA_SIMD128; id++) {
    if (ci_isa_find(id) != NULL) isa_list[isa_count++] = ci_isa_find(id);
  }
  test_functions(print);
  test_special_values();
  test_binary();
  test_fma();
  test_ties_of_fma();
  test_scalar(print);
  test_exact();
  test_rows();
  test_columns();
  test_long_sums();
  test_softmax();
  test_training();
  test_casts();
  test_integers();
  test_philox();
  printf("%d instruction sets, %d failures\n", isa_count, failures);
  return failures != 0;
}
