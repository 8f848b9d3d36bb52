/* isa_fourier_impl.h - stages of Fourier transforms: plain loops, of which the compiler makes vectors; included once
 * per instruction set. */

#define CI_FOURIER_STORE(y, i, plane, real, imaginary, w) \
  do {                                                    \
    const double re_ = (real), im_ = (imaginary);         \
    const double a_ = re_ * (w)[0], b_ = im_ * (w)[1];    \
    const double c_ = re_ * (w)[1], d_ = im_ * (w)[0];    \
    (y)[i] = a_ - b_;                                     \
    (y)[(plane) + (i)] = c_ + d_;                         \
  } while (0)

CI_REGION_FAST static void CI_N(fourier_two)(const ci_fourier_stage *s, const double *w, const double *restrict x,
                                             double *restrict y) {
  const int64_t n = s->width, plane = s->plane;
  const double *restrict other = x + n * s->apart;
  const double root[2] = {w[0], w[1]};
  for (int64_t i = 0; i < n; i++) {
    const double real = x[i] - other[i], imaginary = x[plane + i] - other[plane + i];
    y[i] = x[i] + other[i];
    y[plane + i] = x[plane + i] + other[plane + i];
    CI_FOURIER_STORE(y + n, i, plane, real, imaginary, root);
  }
}

CI_REGION_FAST static void CI_N(fourier_four)(const ci_fourier_stage *s, const double *w, const double *w2,
                                              const double *w3, const double *restrict x, double *restrict y) {
  const int64_t n = s->width, plane = s->plane, step = n * s->apart;
  const double one[2] = {w[0], w[1]}, two[2] = {w2[0], w2[1]}, three[2] = {w3[0], w3[1]};
  const double *restrict b = x + step, *restrict c = x + 2 * step, *restrict d = x + 3 * step;
  for (int64_t i = 0; i < n; i++) {
    const int64_t k = plane + i;
    const double even = x[i] + c[i], even_i = x[k] + c[k], odd = b[i] + d[i], odd_i = b[k] + d[k];
    const double low = x[i] - c[i], low_i = x[k] - c[k], high = b[i] - d[i], high_i = b[k] - d[k];
    y[i] = even + odd;
    y[k] = even_i + odd_i;
    CI_FOURIER_STORE(y + n, i, plane, low + high_i, low_i - high, one);
    CI_FOURIER_STORE(y + 2 * n, i, plane, even - odd, even_i - odd_i, two);
    CI_FOURIER_STORE(y + 3 * n, i, plane, low - high_i, low_i + high, three);
  }
}

/* y += x * w */
CI_REGION_FAST static void CI_N(fourier_add)(const double *w, int64_t n, int64_t plane, const double *restrict x,
                                             double *restrict y) {
  const double re = w[0], im = w[1];
  for (int64_t i = 0; i < n; i++) {
    const double a = x[i] * re, b = x[plane + i] * im, c = x[i] * im, d = x[plane + i] * re;
    const double real = a - b, imaginary = c + d;
    y[i] = y[i] + real;
    y[plane + i] = y[plane + i] + imaginary;
  }
}

/* y *= w */
CI_REGION_FAST static void CI_N(fourier_times)(const double *w, int64_t n, int64_t plane, double *y) {
  const double root[2] = {w[0], w[1]};
  for (int64_t i = 0; i < n; i++) CI_FOURIER_STORE(y, i, plane, y[i], y[plane + i], root);
}

static void CI_N(fourier_any)(const ci_fourier_stage *s, int64_t j, const double *x, double *y) {
  const int64_t n = s->width, step = n * s->apart, root = s->length / s->factor;
  const size_t bytes = (size_t)n * sizeof *x;
  for (int64_t t = 0; t < s->factor; t++, y += n) {
    memcpy(y, x, bytes);
    memcpy(y + s->plane, x + s->plane, bytes);
    for (int64_t r = 1, k = t; r < s->factor; r++, k = k + t < s->factor ? k + t : k + t - s->factor)
      CI_N(fourier_add)(s->circle + 2 * root * k, n, s->plane, x + r * step, y);
    CI_N(fourier_times)(s->circle + 2 * (j * t * s->stride), n, s->plane, y);
  }
}

static void CI_N(fourier_stage)(const ci_fourier_stage *s, const double *x, double *y) {
  for (int64_t j = 0; j < s->apart; j++, x += s->width, y += s->width * s->factor) {
    const int64_t at = 2 * j * s->stride;
    if (s->factor == 4) CI_N(fourier_four)(s, s->circle + at, s->circle + 2 * at, s->circle + 3 * at, x, y);
    else if (s->factor == 2) CI_N(fourier_two)(s, s->circle + at, x, y);
    else CI_N(fourier_any)(s, j, x, y);
  }
}
#undef CI_FOURIER_STORE
