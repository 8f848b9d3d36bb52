/* limits.c - what one core can do at most: multiply-adds of float32, and reading from each level of memory. */
#define _POSIX_C_SOURCE 200112L
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif
#define LANES (WIDTH / 4)
#define CHAINS 12 /* more than latency times throughput, and they fit the registers */
typedef float vec __attribute__((vector_size(WIDTH)));

double limits_fma(double seconds);
double limits_read(size_t bytes, double seconds);

static volatile float sink;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void keep(const vec *v, int count) {
  vec sum = v[0];
  for (int i = 1; i < count; i++) sum += v[i];
  sink = sum[0];
}

static double fma_work(const float *unused, size_t bytes, long rounds) {
  vec a[CHAINS], m, k;
  (void)unused;
  (void)bytes;
  for (int j = 0; j < LANES; j++) m[j] = 0.999f, k[j] = 1e-3f;
  for (int i = 0; i < CHAINS; i++) a[i] = m * (float)i;
  for (long r = 0; r < rounds; r++)
    for (int i = 0; i < CHAINS; i++) a[i] = a[i] * m + k;
  keep(a, CHAINS);
  return 2.0 * LANES * CHAINS * (double)rounds;
}

static double read_work(const float *from, size_t bytes, long rounds) {
  const size_t step = 8 * LANES, count = bytes / sizeof(float) / step * step;
  for (long r = 0; r < rounds; r++) {
    vec s[8];
    memset(s, 0, sizeof s);
    for (size_t j = 0; j < count; j += step)
      for (size_t i = 0; i < 8; i++) s[i] += *(const vec *)(const void *)(from + j + i * LANES);
    keep(s, 8);
    __asm__ volatile("" ::: "memory");
  }
  return (double)(count * sizeof(float)) * (double)rounds;
}

/* The best rate of many short trials: the machine may have other work. */
static double best(double (*work)(const float *, size_t, long), const float *from, size_t bytes, double seconds) {
  const double trial = 2e-3, end = now() + seconds;
  long rounds = 1;
  double found = 0;
  do {
    double start = now(), done = work(from, bytes, rounds), spent = now() - start;
    if (spent < trial) rounds *= 2;
    if (spent > trial / 4 && done / spent > found) found = done / spent;
  } while (now() < end || found == 0);
  return found;
}

/* Operations a second, a multiply-add counting as two. */
double limits_fma(double seconds) { return best(fma_work, NULL, 0, seconds); }

/* Bytes a second, read again and again from a block of this size; 0: no memory. */
double limits_read(size_t bytes, double seconds) {
  void *block = NULL;
  if (posix_memalign(&block, 4096, bytes) != 0) return 0;
  memset(block, 1, bytes);
  double found = best(read_work, block, bytes, seconds);
  free(block);
  return found;
}
