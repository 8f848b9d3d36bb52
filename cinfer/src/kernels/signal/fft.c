/* fft.c - Fourier transforms by stages that leave the numbers in order (Stockham), one for each factor of the length;
 * lengths with a prime factor above FFT_MOST_PRIME by convolution with a chirp (Bluestein), whose length is a power of
 * two. */
#include "fft.h"

#include "../../math/scalar_math.h"

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

bool ci_fft_size(int64_t n, size_t *tables, size_t *buffer) {
  const int64_t length = fft_length(n);
  if (length == 0 || !ci_mul_size((uint64_t)length, 2 * sizeof(double), buffer)) return false;
  if (length == n) {
    *tables = *buffer;
    return true;
  }
  return ci_mul_size(*buffer, 4, tables); /* circle, kernel, chirp, and a buffer to make the kernel with */
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

static void fft_store(double *y, double real, double imaginary, const double *w) {
  const double a = real * w[0], b = imaginary * w[1], c = real * w[1], d = imaginary * w[0];
  y[0] = a - b;
  y[1] = c + d;
}

typedef struct fft_stage { /* factor numbers, `apart` numbers apart, to `factor` neighbours times `stride` */
  int64_t length, stride, apart;
  const double *circle;
  int64_t whole; /* of the circle */
  int factor;
} fft_stage;

static void fft_two(const fft_stage *s, int64_t j, const double *x, double *y) {
  const double *w = s->circle + 2 * (j * s->stride), *other = x + 2 * s->stride * s->apart;
  for (int64_t q = 0; q < 2 * s->stride; q += 2) {
    y[q] = x[q] + other[q];
    y[q + 1] = x[q + 1] + other[q + 1];
    fft_store(y + 2 * s->stride + q, x[q] - other[q], x[q + 1] - other[q + 1], w);
  }
}

static void fft_four(const fft_stage *s, int64_t j, const double *x, double *y) {
  const int64_t step = 2 * s->stride * s->apart, out = 2 * s->stride;
  const double *w = s->circle + 2 * (j * s->stride), *w2 = s->circle + 4 * (j * s->stride),
               *w3 = s->circle + 6 * (j * s->stride);
  for (int64_t q = 0; q < 2 * s->stride; q += 2) {
    const double *a = x + q, *b = a + step, *c = b + step, *d = c + step;
    const double even = a[0] + c[0], even_i = a[1] + c[1], odd = b[0] + d[0], odd_i = b[1] + d[1];
    const double low = a[0] - c[0], low_i = a[1] - c[1], high = b[0] - d[0], high_i = b[1] - d[1];
    y[q] = even + odd;
    y[q + 1] = even_i + odd_i;
    fft_store(y + out + q, low + high_i, low_i - high, w);
    fft_store(y + 2 * out + q, even - odd, even_i - odd_i, w2);
    fft_store(y + 3 * out + q, low - high_i, low_i + high, w3);
  }
}

static void fft_any(const fft_stage *s, int64_t j, const double *x, double *y) {
  const int64_t step = 2 * s->stride * s->apart, root = s->whole / s->factor;
  for (int64_t q = 0; q < 2 * s->stride; q += 2) {
    for (int t = 0; t < s->factor; t++) {
      double real = x[q], imaginary = x[q + 1], term[2];
      for (int r = 1; r < s->factor; r++) {
        const double *from = x + q + r * step;
        fft_store(term, from[0], from[1], s->circle + 2 * (root * (r * t % s->factor)));
        real = real + term[0];
        imaginary = imaginary + term[1];
      }
      fft_store(y + 2 * s->stride * t + q, real, imaginary, s->circle + 2 * (j * t * s->stride));
    }
  }
}

static double *fft_stages(const ci_fft *f, double *x, double *y) {
  fft_stage s = {.length = f->length, .stride = 1, .circle = f->circle, .whole = f->length};
  for (int i = 0; i < f->factor_count; i++) {
    s.factor = f->factors[i];
    s.apart = s.length / s.factor;
    for (int64_t j = 0; j < s.apart; j++) {
      const double *from = x + 2 * s.stride * j;
      double *to = y + 2 * s.stride * s.factor * j;
      if (s.factor == 4) fft_four(&s, j, from, to);
      else if (s.factor == 2) fft_two(&s, j, from, to);
      else fft_any(&s, j, from, to);
    }
    double *done = y;
    y = x;
    x = done;
    s.length = s.apart;
    s.stride *= s.factor;
  }
  return x;
}

void ci_fft_make(ci_fft *f, int64_t n, void *tables) {
  double *circle = tables;
  *f = (ci_fft){.n = n, .length = fft_length(n), .circle = circle};
  (void)fft_factors(f->length, f->factors, &f->factor_count);
  for (int64_t k = 0; k < f->length; k++) fft_root(k, f->length, circle + 2 * k);
  if (f->length == n) return;
  double *kernel = circle + 2 * f->length, *buffer = kernel + 2 * f->length, *chirp = buffer + 2 * f->length;
  memset(kernel, 0, (size_t)f->length * 2 * sizeof *kernel);
  for (int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), k++) {
    fft_root(square, 2 * n, chirp + 2 * k);
    const int64_t mirror = k == 0 ? 0 : f->length - k;
    kernel[2 * k] = kernel[2 * mirror] = chirp[2 * k];
    kernel[2 * k + 1] = kernel[2 * mirror + 1] = -chirp[2 * k + 1];
  }
  f->kernel = fft_stages(f, kernel, buffer);
  f->chirp = chirp;
}

double *ci_fft_run(const ci_fft *f, double *x, double *y) {
  if (f->chirp == NULL) return fft_stages(f, x, y);
  for (int64_t k = 0; k < f->n; k++) fft_store(x + 2 * k, x[2 * k], x[2 * k + 1], f->chirp + 2 * k);
  memset(x + 2 * f->n, 0, (size_t)(f->length - f->n) * 2 * sizeof *x);
  double *made = fft_stages(f, x, y), *other = made == x ? y : x, term[2];
  for (int64_t k = 0; k < f->length; k++) { /* exchanged parts make the next transform an inverse one */
    fft_store(term, made[2 * k], made[2 * k + 1], f->kernel + 2 * k);
    made[2 * k] = term[1];
    made[2 * k + 1] = term[0];
  }
  double *back = fft_stages(f, made, other);
  const double whole = (double)f->length;
  for (int64_t k = 0; k < f->n; k++) {
    fft_store(back + 2 * k, back[2 * k + 1] / whole, back[2 * k] / whole, f->chirp + 2 * k);
  }
  return back;
}
