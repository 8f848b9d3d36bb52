/* fft.c - Fourier transforms by stages that leave the numbers in order (Stockham), one for each factor of the length;
 * lengths with a prime factor above FFT_MOST_PRIME by convolution with a chirp (Bluestein), whose length is a power of
 * two. */
#include "fft.h"

#include "../../math/scalar_math.h"
#include "../../simd/isa.h"
#include "../../simd/math/isa_move.h"
#if CI_HAS(signal)

enum { FFT_MOST_PRIME = 61 };

/* ---- lengths ---- */

/* The factors in the order of the stages: 4, then primes from 2 on. Returns the factor that is left when the primes
 * end. */
static int64_t fft_factors(int64_t n, int *factors, int *count) {
  *count = 0;
  while (n % 4 == 0) {
    factors[(*count)++] = 4;
    n /= 4;
  }
  for (int p = 2; p <= FFT_MOST_PRIME; p++) {
    while (n % p == 0) {
      factors[(*count)++] = p;
      n /= p;
    }
  }
  return n;
}

/* The length of the stages for n numbers; 0: too large. */
static int64_t fft_length(int64_t n) {
  int factors[CI_FFT_MOST_FACTORS], count;
  int64_t length = 1;
  if (n > INT64_MAX / 64) return 0;
  if (fft_factors(n, factors, &count) == 1) return n;
  while (length < 2 * n - 1) length *= 2;
  return length;
}

bool ci_fft_size(int64_t n, int64_t lanes, size_t *tables, size_t *buffer) {
  const int64_t length = fft_length(n);
  size_t numbers = 0;
  if (length == 0 || !ci_mul_size((uint64_t)length, 2 * sizeof(double), &numbers)) return false;
  if (!ci_mul_size(numbers, (uint64_t)lanes, buffer) ||
      !ci_add_size(*buffer, 3 * CI_FFT_APART * sizeof(double), buffer))
    return false;
  *tables = numbers;
  if (length == n) return true;
  /* circle, kernel, chirp, and a buffer to make the kernel with */
  return ci_mul_size(numbers, 4, tables) && ci_add_size(*tables, 2 * CI_FFT_APART * sizeof(double), tables);
}

/* ---- tables ---- */

/* exp(-2 pi i k / n), the angle's remainder in eighths being exact. */
static void fft_root(int64_t k, int64_t n, double *to) {
  const int64_t quarter = (4 * k + n / 2) / n, rest = 4 * k - quarter * n;
  double c, s;
  ci_circle((double)(rest < 0 ? -rest : rest) / (4.0 * (double)n), &c, &s);
  if (rest < 0) s = -s;
  switch (quarter & 3) { /* (c, s) rotated by quarters, then conjugated */
    case 0: to[0] = c, to[1] = -s; break;
    case 1: to[0] = -s, to[1] = -c; break;
    case 2: to[0] = -c, to[1] = s; break;
    default: to[0] = s, to[1] = c; break;
  }
}

/* ---- stages ---- */

static double *fft_stages(const ci_fft *f, int64_t lanes, double *x, double *y) {
  ci_fourier_stage s = {.stride = 1, .plane = ci_fft_plane(f, lanes), .length = f->length, .circle = f->circle};
  int64_t length = f->length;
  for (int i = 0; i < f->factor_count; i++) {
    s.factor = f->factors[i];
    s.apart = length / s.factor;
    s.width = s.stride * lanes;
    f->isa->move->fourier_stage(&s, x, y);
    double *done = y;
    y = x;
    x = done;
    length = s.apart;
    s.stride *= s.factor;
  }
  return x;
}

void ci_fft_make(ci_fft *f, int64_t n, const struct ci_isa *isa, void *tables) {
  double *circle = tables;
  *f = (ci_fft){.isa = isa, .n = n, .length = fft_length(n), .circle = circle};
  (void)fft_factors(f->length, f->factors, &f->factor_count);
  for (int64_t k = 0; k < f->length; k++) fft_root(k, f->length, circle + 2 * k);
  if (f->length == n) return;
  const int64_t plane = ci_fft_plane(f, 1), numbers = plane + f->length;
  double *kernel = circle + 2 * f->length, *buffer = kernel + numbers, *chirp = buffer + numbers;
  double *imaginary = kernel + plane;
  memset(kernel, 0, (size_t)numbers * sizeof *kernel);
  for (int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), k++) {
    fft_root(square, 2 * n, chirp + 2 * k);
    const int64_t mirror = k == 0 ? 0 : f->length - k;
    kernel[k] = kernel[mirror] = chirp[2 * k];
    imaginary[k] = imaginary[mirror] = -chirp[2 * k + 1];
  }
  f->kernel = fft_stages(f, 1, kernel, buffer);
  f->chirp = chirp;
}

/* ---- convolution ---- */

/* The numbers of all lanes times w, to `re` and `im`, which may be exchanged. */
CI_FAST static void fft_times(int64_t lanes, const double *from, int64_t plane, double re, double im, double *to_re,
                              double *to_im) {
  for (int64_t i = 0; i < lanes; i++) {
    const double x = from[i], y = from[plane + i], a = x * re, b = y * im, c = x * im, d = y * re;
    to_re[i] = a - b;
    to_im[i] = c + d;
  }
}

double *ci_fft_run(const ci_fft *f, int64_t lanes, double *x, double *y) {
  if (f->chirp == NULL) return fft_stages(f, lanes, x, y);
  const int64_t plane = ci_fft_plane(f, lanes), to_imaginary = ci_fft_plane(f, 1);
  for (int64_t k = 0, at = 0; k < f->n; k++, at += lanes)
    fft_times(lanes, x + at, plane, f->chirp[2 * k], f->chirp[2 * k + 1], x + at, x + plane + at);
  const size_t rest = (size_t)((f->length - f->n) * lanes) * sizeof *x;
  memset(x + f->n * lanes, 0, rest);
  memset(x + plane + f->n * lanes, 0, rest);
  double *made = fft_stages(f, lanes, x, y), *other = made == x ? y : x;
  for (int64_t k = 0, at = 0; k < f->length; k++, at += lanes) /* exchanged parts make the next one an inverse one */
    fft_times(lanes, made + at, plane, f->kernel[k], f->kernel[to_imaginary + k], made + plane + at, made + at);
  double *back = fft_stages(f, lanes, made, other);
  const double whole = (double)f->length;
  for (int64_t k = 0, at = 0; k < f->n; k++, at += lanes) {
    for (int64_t i = at; i < at + lanes; i++) {
      const double imaginary = back[i] / whole;
      back[i] = back[plane + i] / whole;
      back[plane + i] = imaginary;
    }
    fft_times(lanes, back + at, plane, f->chirp[2 * k], f->chirp[2 * k + 1], back + at, back + plane + at);
  }
  return back;
}
#endif
