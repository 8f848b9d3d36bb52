/* test_linear.c - matrix multiplications, convolutions and pools of every instruction set against their definition,
 * bit by bit.
 *
 * The definition is the plain loop of docs/numerics.md. Outputs and scratch are poisoned before each run, operands are
 * unaligned, rows come one by one, in threes and together, and on one to three threads.
 */
#include <math.h>

#include "kernel_harness.h"

#include "../src/simd/isa.h"
#include "../src/simd/linear/isa_linear.h"
#include "../src/kernels/linear/gemm.h"

static long checks, failures;
static uint32_t seed = 12345;

static uint32_t draw(uint32_t below) {
  seed = seed * 1664525u + 1013904223u;
  return (uint32_t)(((uint64_t)(seed >> 8) * below) >> 24);
}

/* special 0: ordinary numbers, zeros of both signs, denormals; 1: inf and NaN too. */
static float draw_float(int special) {
  switch (draw(48)) {
    case 0: return -0.0f;
    case 1: return 1e-41f;
    case 2: return -3e-20f;
    case 3: return special ? INFINITY : 1e30f;
    case 4: return special ? NAN : -1e30f;
    case 5: return 0.0f;
    default: return ((float)draw(1u << 20) - 524288.0f) / 100000.0f;
  }
}

static float *floats(int64_t n, int special) { /* one element off any alignment */
  float *p = malloc((size_t)(n + 2) * sizeof *p);
  if (p == NULL) exit(2);
  for (int64_t i = 0; i < n + 2; i++) p[i] = draw_float(special);
  return p;
}

static void compare(const char *what, const char *isa, const float *found, const float *expected, int64_t n) {
  checks++;
  for (int64_t i = 0; i < n; i++) {
    if (isnan(expected[i]) ? isnan(found[i]) : memcmp(&found[i], &expected[i], sizeof *found) == 0) continue;
    if (++failures < 20) {
      printf("%s on %s: element %lld of %lld is %a, the definition gives %a\n", what, isa, (long long)i, (long long)n,
             (double)found[i], (double)expected[i]);
    }
    return;
  }
}

/* ---- the definition ---- */

static float define_dot(const float *a, ptrdiff_t a_k, const float *b, ptrdiff_t b_k, int64_t K) {
  float lane[64] = {0};
  const int many = K >= 256;
  const int64_t whole = many ? K / 64 * 64 : 0;
  for (int64_t k = 0; k < whole; k++) lane[k % 64] = fmaf(a[k * a_k], b[k * b_k], lane[k % 64]);
  for (int64_t k = whole; k < (K + 15) / 16 * 16; k++) {
    const float x = k < K ? a[k * a_k] : 0.0f, w = k < K ? b[k * b_k] : 0.0f;
    lane[(k - whole) % 16] = fmaf(x, w, lane[(k - whole) % 16]);
  }
  for (int i = 0; many && i < 16; i++) {
    const float low = lane[i] + lane[i + 16], high = lane[i + 32] + lane[i + 48];
    lane[i] = low + high;
  }
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) lane[i] = lane[i] + lane[i + half];
  }
  return lane[0];
}

static int64_t define_block(int64_t K, int64_t N) {
  const int64_t L = N <= 16 ? (K + 3) / 4 : N <= 32 ? (K + 1) / 2 : K;
  return L < 16 ? 16 : L > 256 ? 256 : L;
}

static float define_column(const float *a, ptrdiff_t a_k, const float *b, ptrdiff_t b_k, int64_t K, int64_t L) {
  float total = 0.0f;
  for (int64_t k = 0; k < K; k += L) {
    float chain = 0.0f;
    for (int64_t i = k; i < K && i < k + L; i++) chain = fmaf(a[i * a_k], b[i * b_k], chain);
    total = k == 0 ? chain : total + chain;
  }
  return total;
}

static void define_matmul(const float *a, ptrdiff_t a_m, ptrdiff_t a_k, const float *b, ptrdiff_t b_k, ptrdiff_t b_n,
                          float *c, ptrdiff_t c_m, int64_t M, int64_t N, int64_t K) {
  const bool dots = N == 1 || (N < 8 && K >= 32 * N);
  for (int64_t m = 0; m < M; m++) {
    for (int64_t n = 0; n < N; n++) {
      const float *row = a + m * a_m, *column = b + n * b_n;
      c[m * c_m + n] = K == 0 ? 0.0f
                       : dots ? define_dot(row, a_k, column, b_k, K)
                              : define_column(row, a_k, column, b_k, K, define_block(K, N));
    }
  }
}

/* ---- matrix multiplication ---- */

static void test_gemm_forms(const struct ci_isa *isa, int64_t M, int64_t N, int64_t K, int special) {
  float *a = floats(M * K, special), *b = floats(K * N, special), *expected = floats(M * N, 0),
        *found = floats(M * N, 0);
  float *copy_a = floats(M * K, 1), *copy_b = floats(K * N, 1);
  char what[80];
  ci_matmul p;
  if (!ci_matmul_rule(&p, CI_FLOAT, N, K)) exit(2);
  const size_t packed = ci_matmul_packed_tile_bytes(&p, isa), buffer = ci_round_up(packed + 1, 64);
  char *const block = aligned_alloc(64, buffer);
  if (block == NULL) exit(2);
  float *packed_tiles = (float *)(void *)(block + (buffer - packed) / 16 * 16); /* nothing after them may be read */
  for (int form = 0; form < 8; form++) { /* a transposed, b transposed, b in packed tiles */
    const int transposed = form & 3;
    const ci_operand A = transposed & 1 ? (ci_operand){a + 1, 1, (ptrdiff_t)M} : (ci_operand){a + 1, (ptrdiff_t)K, 1};
    const ci_operand B = transposed & 2 ? (ci_operand){b + 1, 1, (ptrdiff_t)K} : (ci_operand){b + 1, (ptrdiff_t)N, 1};
    define_matmul(a + 1, A.row, A.col, b + 1, B.row, B.col, expected, (ptrdiff_t)N, M, N, K);
    const bool in_packed_tiles = form >= 4;
    if (in_packed_tiles && packed == 0) continue;
    const ci_operand pa = ci_matmul_pack_a(&p, M, A, copy_a);
    const ci_operand pb =
        in_packed_tiles ? ci_matmul_pack_tiles(&p, isa, B, packed_tiles) : ci_matmul_pack_b(&p, B, copy_b);
    for (int64_t step = 1; step <= M + 3; step = step == 1 ? 3 : M + step) { /* rows one by one, in threes, all */
      memset(found, 0xff, (size_t)(M * N) * sizeof *found);
      for (int64_t m = 0; m < M; m += step) {
        const ci_matmul_part part = {.a = {(const float *)pa.data + m * pa.row, pa.row, pa.col},
                                     .b = pb,
                                     .packed_tiles = in_packed_tiles,
                                     .c = found + m * N,
                                     .c_row = (ptrdiff_t)N,
                                     .m = M - m < step ? M - m : step,
                                     .n = N,
                                     .k = K};
        ci_matmul_compute(&p, isa, &part);
      }
      snprintf(what, sizeof what, "MatMul %lldx%lldx%lld, form %d, %lld rows", (long long)M, (long long)K, (long long)N,
               form, (long long)step);
      compare(what, isa->name, found, expected, M * N);
    }
  }
  free(a), free(b), free(expected), free(found), free(copy_a), free(copy_b), free(block);
}

static void test_all_gemms(const struct ci_isa *isa) {
  static const int64_t columns[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 20, 31, 32, 33, 37, 47, 64, 65, 100, 129};
  static const int64_t depths[] = {0, 1, 2, 15, 16, 17, 31, 40, 64, 65, 100, 255, 256, 257, 300, 513, 1000};
  static const int64_t rows[] = {1, 2, 3, 4, 6, 7, 13, 15, 29};
  test_gemm_forms(isa, 1, 1300, 270, 1);
  test_gemm_forms(isa, 2, 301, 513, 0);
  for (int64_t few = 1; few <= 5; few++) test_gemm_forms(isa, 63 + few, 16 * few + few, 256 + few, (int)(few & 1));
  for (size_t n = 0; n < sizeof columns / sizeof *columns; n++) {
    for (size_t k = 0; k < sizeof depths / sizeof *depths; k++) {
      const size_t count = depths[k] > 300 ? 3 : sizeof rows / sizeof *rows;
      for (size_t m = 0; m < count; m++) test_gemm_forms(isa, rows[(m + n) % 9], columns[n], depths[k], (int)(m & 1));
    }
  }
}

/* MatMul with batches, on several threads: a (2, 3, M, K), b (3, K, N) or (K, N). */
static void test_matmul(const struct ci_isa *isa, int threads, int64_t M, int64_t N, int64_t K, bool batched,
                        bool constant) {
  float *a = floats(6 * M * K, 0), *b = floats(3 * K * N, 0), *expected = floats(6 * M * N, 0);
  const int64_t a_dims[4] = {2, 3, M, K}, b_dims[3] = {3, K, N};
  harness h;
  harness_start(&h, isa, threads);
  harness_input(&h, CI_FLOAT, 4, a_dims, a);
  harness_input(&h, CI_FLOAT, batched ? 3 : 2, batched ? b_dims : b_dims + 1, b);
  h.constants = constant ? 2 : 0;
  for (int i = 0; i < 6; i++) {
    define_matmul(a + i * M * K, (ptrdiff_t)K, 1, b + (batched ? i % 3 : 0) * K * N, (ptrdiff_t)N, 1,
                  expected + i * M * N, (ptrdiff_t)N, M, N, K);
  }
  if (harness_run(&h, 1, ci_prepare_matmul, ci_run_matmul) != CI_OK) {
    printf("MatMul: %s\n", h.error.message);
    failures++;
  } else {
    compare("MatMul", isa->name, h.out[0].data, expected, 6 * M * N);
  }
  harness_end(&h);
  free(a), free(b), free(expected);
}

static void test_gemm(const struct ci_isa *isa, int threads, int64_t M, int64_t N, int64_t K, int form) {
  float *a = floats(M * K, 0), *b = floats(K * N, 0), *c = floats(M * N, 0), *expected = floats(M * N, 0);
  const float alpha = form & 4 ? 0.3f : 1.0f, beta = form & 8 ? -1.7f : 1.0f;
  const int64_t a_dims[2] = {form & 1 ? K : M, form & 1 ? M : K}, b_dims[2] = {form & 2 ? N : K, form & 2 ? K : N};
  const int64_t c_dims[2] = {form & 4 ? M : 1, N};
  harness h;
  harness_start(&h, isa, threads);
  harness_input(&h, CI_FLOAT, 2, a_dims, a);
  harness_input(&h, CI_FLOAT, 2, b_dims, b);
  harness_input(&h, CI_FLOAT, 2, c_dims, c);
  h.constants = form & 16 ? 2 : 0;
  harness_int(&h, "transA", form & 1);
  harness_int(&h, "transB", form >> 1 & 1);
  harness_float(&h, "alpha", (double)alpha);
  harness_float(&h, "beta", (double)beta);
  define_matmul(a, form & 1 ? 1 : (ptrdiff_t)K, form & 1 ? (ptrdiff_t)M : 1, b, form & 2 ? 1 : (ptrdiff_t)N,
                form & 2 ? (ptrdiff_t)K : 1, expected, (ptrdiff_t)N, M, N, K);
  for (int64_t i = 0; i < M * N; i++) {
    const float added = c[form & 4 ? i : i % N], scaled = alpha == 1.0f ? expected[i] : alpha * expected[i];
    expected[i] = beta == 1.0f ? scaled + added : fmaf(beta, added, scaled);
  }
  if (harness_run(&h, 1, ci_prepare_gemm, ci_run_matmul) != CI_OK) {
    printf("Gemm: %s\n", h.error.message);
    failures++;
  } else {
    compare("Gemm", isa->name, h.out[0].data, expected, M * N);
  }
  harness_end(&h);
  free(a), free(b), free(c), free(expected);
}

/* ---- convolutions ---- */

struct conv_case {
  int64_t n, h, w, c, kh, kw, m, group, stride, dilation, top, left, bottom, right;
};

static int64_t conv_size(int64_t size, int64_t before, int64_t after, int64_t k, int64_t dilation, int64_t stride) {
  return (size + before + after - ((k - 1) * dilation + 1)) / stride + 1;
}

/* The image's index of tap (i, j) of output (y, x), or -1 in the padding. */
static int64_t conv_position(const struct conv_case *t, int64_t image, int64_t y, int64_t x, int64_t i, int64_t j) {
  const int64_t iy = y * t->stride - t->top + i * t->dilation, ix = x * t->stride - t->left + j * t->dilation;
  if (iy < 0 || iy >= t->h || ix < 0 || ix >= t->w) return -1;
  return (image * t->h + iy) * t->w + ix;
}

/* One group's patches: (pixels, taps * channels). */
static float *conv_patches(const struct conv_case *t, const float *x, int64_t oh, int64_t ow, int64_t group) {
  const int64_t ic = t->c / t->group, taps = t->kh * t->kw;
  float *patches = floats(t->n * oh * ow * taps * ic, 0), *to = patches;
  for (int64_t p = 0; p < t->n * oh * ow; p++) {
    for (int64_t tap = 0; tap < taps; tap++) {
      const int64_t position = conv_position(t, p / (oh * ow), p / ow % oh, p % ow, tap / t->kw, tap % t->kw);
      for (int64_t c = 0; c < ic; c++) *to++ = position < 0 ? 0.0f : x[position * t->c + group * ic + c];
    }
  }
  return patches;
}

static void conv_attributes(harness *h, const struct conv_case *t) {
  const int64_t strides[2] = {t->stride, t->stride}, dilations[2] = {t->dilation, t->dilation};
  const int64_t pads[4] = {t->top, t->left, t->bottom, t->right};
  harness_ints(h, "strides", 2, strides);
  harness_ints(h, "dilations", 2, dilations);
  harness_ints(h, "pads", 4, pads);
  harness_int(h, "group", t->group);
}

static void conv_check(harness *h, const char *what, ci_status (*prepare)(ci_kernel *), ci_status (*run)(ci_kernel *),
                       const float *expected, int64_t count) {
  if (harness_run(h, 1, prepare, run) != CI_OK || h->out[0].count != count) {
    printf("%s: %s\n", what, h->error.message);
    failures++;
  } else {
    compare(what, h->k.isa->name, h->out[0].data, expected, count);
  }
  harness_end(h);
}

static void define_conv(const struct conv_case *t, const float *x, const float *w, const float *dy, float *y, float *dx,
                        float *dw, int64_t oh, int64_t ow) {
  const int64_t ic = t->c / t->group, oc = t->m / t->group, taps = t->kh * t->kw, depth = taps * ic;
  const int64_t pixels = t->n * oh * ow;
  const bool depthwise = t->group > 1 && ic == 1 && oc == 1;
  memset(dx, 0, (size_t)(t->n * t->h * t->w * t->c) * sizeof *dx);
  for (int64_t g = 0; g < t->group; g++) {
    float *patches = conv_patches(t, x, oh, ow, g), *columns = floats(pixels * depth, 0);
    if (depthwise) { /* one chain a channel; the filters' gradient in the column form, channels are its columns */
      for (int64_t p = 0; p < pixels; p++) {
        y[p * t->m + g] = define_column(patches + p * taps, 1, w + g, (ptrdiff_t)t->m, taps, taps);
      }
      for (int64_t tap = 0; tap < taps; tap++) {
        dw[tap * t->m + g] =
            define_column(patches + tap, (ptrdiff_t)taps, dy + g, (ptrdiff_t)t->m, pixels, define_block(pixels, t->m));
      }
    } else {
      define_matmul(patches, (ptrdiff_t)depth, 1, w + g * oc, (ptrdiff_t)t->m, 1, y + g * oc, (ptrdiff_t)t->m, pixels,
                    oc, depth);
      define_matmul(patches, 1, (ptrdiff_t)depth, dy + g * oc, (ptrdiff_t)t->m, 1, dw + g * oc, (ptrdiff_t)t->m, depth,
                    oc, pixels);
    }
    define_matmul(dy + g * oc, (ptrdiff_t)t->m, 1, w + g * oc, 1, (ptrdiff_t)t->m, columns, (ptrdiff_t)depth, pixels,
                  depth, oc);
    for (int64_t p = 0; p < pixels; p++) {
      for (int64_t tap = 0; tap < taps; tap++) {
        const int64_t position = conv_position(t, p / (oh * ow), p / ow % oh, p % ow, tap / t->kw, tap % t->kw);
        for (int64_t c = 0; position >= 0 && c < ic; c++) {
          float *target = &dx[position * t->c + g * ic + c];
          *target = *target + columns[(p * taps + tap) * ic + c];
        }
      }
    }
    free(patches), free(columns);
  }
}

static void test_conv(const struct ci_isa *isa, int threads, const struct conv_case *t, int special) {
  const int64_t oh = conv_size(t->h, t->top, t->bottom, t->kh, t->dilation, t->stride);
  const int64_t ow = conv_size(t->w, t->left, t->right, t->kw, t->dilation, t->stride);
  int64_t x_dims[4] = {t->n, t->h, t->w, t->c}, w_dims[4] = {t->kh, t->kw, t->c / t->group, t->m};
  int64_t y_dims[4] = {t->n, oh, ow, t->m}, four = 4;
  const int64_t xs = t->n * t->h * t->w * t->c, ws = t->kh * t->kw * t->c / t->group * t->m, ys = t->n * oh * ow * t->m;
  float *x = floats(xs, special), *w = floats(ws, special), *dy = floats(ys, special);
  float *y = floats(ys, 0), *dx = floats(xs, 0), *dw = floats(ws, 0);
  define_conv(t, x, w, dy, y, dx, dw, oh, ow);
  harness h;
  harness_start(&h, isa, threads);
  conv_attributes(&h, t);
  harness_input(&h, CI_FLOAT, 4, x_dims, x);
  harness_input(&h, CI_FLOAT, 4, w_dims, w);
  conv_check(&h, "Conv2D", ci_prepare_conv2d, ci_run_conv2d, y, ys);
  harness_start(&h, isa, threads);
  conv_attributes(&h, t);
  harness_input(&h, CI_INT64, 1, &four, x_dims);
  harness_input(&h, CI_FLOAT, 4, w_dims, w);
  harness_input(&h, CI_FLOAT, 4, y_dims, dy);
  conv_check(&h, "Conv2DGradInput", ci_prepare_conv2d_grad_input, ci_run_conv2d_grad_input, dx, xs);
  harness_start(&h, isa, threads);
  conv_attributes(&h, t);
  harness_input(&h, CI_FLOAT, 4, x_dims, x);
  harness_input(&h, CI_INT64, 1, &four, w_dims);
  harness_input(&h, CI_FLOAT, 4, y_dims, dy);
  conv_check(&h, "Conv2DGradFilter", ci_prepare_conv2d_grad_filter, ci_run_conv2d_grad_filter, dw, ws);
  free(x), free(w), free(dy), free(y), free(dx), free(dw);
}

static void test_convolutions(const struct ci_isa *isa) {
  static const struct conv_case cases[] = {
      /* n h w c  kh kw m  group stride dilation  top left bottom right */
      {2, 8, 8, 1, 3, 3, 16, 1, 1, 1, 1, 1, 1, 1},   {1, 8, 8, 16, 3, 3, 32, 1, 1, 1, 1, 1, 1, 1},
      {2, 7, 5, 3, 3, 2, 5, 1, 2, 1, 1, 0, 2, 1},    {1, 6, 6, 4, 1, 1, 40, 1, 1, 1, 0, 0, 0, 0},
      {2, 9, 9, 2, 3, 3, 1, 1, 1, 2, 2, 2, 2, 2},    {1, 9, 9, 6, 3, 3, 9, 3, 1, 1, 1, 1, 1, 1},
      {2, 6, 7, 18, 3, 3, 18, 18, 1, 1, 1, 1, 1, 1}, {1, 6, 6, 4, 3, 3, 4, 4, 2, 1, 0, 1, 1, 0},
      {1, 5, 5, 1, 5, 5, 1, 1, 1, 1, 4, 4, 4, 4},    {3, 12, 11, 5, 4, 3, 33, 1, 3, 1, 2, 1, 2, 1},
      {1, 4, 4, 8, 1, 1, 8, 2, 1, 1, 0, 0, 0, 0},    {1, 5, 5, 3, 1, 1, 7, 1, 2, 1, 0, 0, 0, 0},
      {5, 20, 20, 1, 2, 2, 2, 1, 1, 1, 0, 0, 0, 0},  {1, 3, 3, 70, 3, 3, 4, 1, 1, 1, 1, 1, 1, 1},
      {2, 6, 6, 4, 3, 3, 8, 4, 1, 1, 1, 1, 1, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int threads = 1; threads <= 3; threads++) test_conv(isa, threads, &cases[i], threads == 3);
  }
}

/* ---- pools ---- */

static void test_pool(const struct ci_isa *isa, int threads, const struct conv_case *t, int special) {
  const int64_t oh = conv_size(t->h, t->top, t->bottom, t->kh, 1, t->stride);
  const int64_t ow = conv_size(t->w, t->left, t->right, t->kw, 1, t->stride);
  int64_t x_dims[4] = {t->n, t->h, t->w, t->c}, y_dims[4] = {t->n, oh, ow, t->c}, four = 4;
  const int64_t xs = t->n * t->h * t->w * t->c, ys = t->n * oh * ow * t->c, window[2] = {t->kh, t->kw};
  float *x = floats(xs, special), *dy = floats(ys, special), *most = floats(ys, 0), *mean = floats(ys, 0);
  float *dx_most = calloc((size_t)xs, sizeof *dx_most), *dx_mean = calloc((size_t)xs, sizeof *dx_mean);
  if (dx_most == NULL || dx_mean == NULL) exit(2);
  for (int64_t i = 0; i < xs; i += 3) x[i] = 1.0f; /* ties */
  for (int64_t p = 0; p < t->n * oh * ow; p++) {
    for (int64_t c = 0; c < t->c; c++) {
      float sum = 0.0f, best = -INFINITY;
      int64_t winner = -1, count = 0;
      for (int pass = 0; pass < 2; pass++) {
        for (int64_t tap = 0; tap < t->kh * t->kw; tap++) {
          const int64_t position = conv_position(t, p / (oh * ow), p / ow % oh, p % ow, tap / t->kw, tap % t->kw);
          if (position < 0) continue;
          const int64_t at = position * t->c + c;
          if (pass == 1) {
            dx_mean[at] = dx_mean[at] + dy[p * t->c + c] / (float)count;
            continue;
          }
          count++;
          sum = sum + x[at];
          if (winner < 0 || x[at] > best || (isnan(x[at]) && !isnan(best))) {
            best = x[at];
            winner = at;
          }
        }
      }
      most[p * t->c + c] = best + 0.0f;
      mean[p * t->c + c] = sum / (float)count;
      dx_most[winner] = dx_most[winner] + dy[p * t->c + c];
    }
  }
  for (int which = 0; which < 4; which++) {
    harness h;
    harness_start(&h, isa, threads);
    conv_attributes(&h, t);
    harness_ints(&h, "kernel_shape", 2, window);
    if (which == 3) {
      harness_input(&h, CI_INT64, 1, &four, x_dims);
    } else {
      harness_input(&h, CI_FLOAT, 4, x_dims, x);
    }
    if (which >= 2) harness_input(&h, CI_FLOAT, 4, y_dims, dy);
    switch (which) {
      case 0: conv_check(&h, "MaxPool2D", ci_prepare_max_pool2d, ci_run_max_pool2d, most, ys); break;
      case 1: conv_check(&h, "AveragePool2D", ci_prepare_average_pool2d, ci_run_average_pool2d, mean, ys); break;
      case 2: conv_check(&h, "MaxPool2DGrad", ci_prepare_max_pool2d_grad, ci_run_max_pool2d_grad, dx_most, xs); break;
      default:
        conv_check(&h, "AveragePool2DGrad", ci_prepare_average_pool2d_grad, ci_run_average_pool2d_grad, dx_mean, xs);
        break;
    }
  }
  free(x), free(dy), free(most), free(mean), free(dx_most), free(dx_mean);
}

static void test_pools(const struct ci_isa *isa) {
  static const struct conv_case cases[] = {
      {2, 8, 8, 32, 2, 2, 0, 1, 2, 1, 0, 0, 0, 0},
      {1, 7, 6, 5, 3, 3, 0, 1, 1, 1, 1, 1, 1, 1},
      {3, 9, 5, 17, 3, 2, 0, 1, 2, 1, 2, 1, 0, 1},
      {1, 4, 4, 1, 4, 4, 0, 1, 1, 1, 0, 0, 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int threads = 1; threads <= 3; threads++) test_pool(isa, threads, &cases[i], threads == 2);
  }
}

int main(void) {
  for (int32_t i = CI_ISA_PORTABLE; i <= CI_ISA_SIMD128; i++) {
    const struct ci_isa *isa = ci_isa_find(i); /* NULL: this processor or this build lacks it */
    if (isa == NULL) continue;
    test_all_gemms(isa);
    for (int threads = 1; threads <= 3; threads++) {
      for (int constant = 0; constant < 2; constant++) {
        test_matmul(isa, threads, 5, 20, 33, true, constant);
        test_matmul(isa, threads, 1, 200, 70, true, constant);
        test_matmul(isa, threads, 9, 3, 128, true, constant);
        test_matmul(isa, threads, 4, 33, 300, false, constant);
      }
      test_gemm(isa, threads, 515, 97, 20, threads % 2 * 16); /* several tiles are finished one by one */
      test_gemm(isa, threads, 40, 700, 33, 2 + threads % 2 * 16);
      if (threads == 2) test_gemm(isa, threads, 150, 257, 512, 0); /* a is put together block by block */
      for (int form = 0; form < 32; form++) { /* operands transposed, alpha, beta, b a constant */
        test_gemm(isa, threads, 17, 10, 64, form);
        test_gemm(isa, threads, 1, 130, 40, form);
        test_gemm(isa, threads, 6, 2, 260, form);
      }
    }
    test_convolutions(isa);
    test_pools(isa);
  }
  printf("%ld checks, %ld failed\n", checks, failures);
  return failures == 0 ? 0 : 1;
}
