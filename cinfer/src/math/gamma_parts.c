/* gamma_parts.c - parts of the gamma and beta distributions. */
#include <math.h>

#include "scalar_math.h"
#include "scalar_series.h"
#include "special_math.h"

static const double gp_half_log_2pi = 0x1.d67f1c864beb5p-1;

double ci_lgamma1p(double a) {
  /* (-1)^k (zeta(k) - 1) / k, k from 27 down to 2: the logarithm of gamma around 2 */
  static const double factor[] = {
      -0x1.2f69a9fabe3e0p-32, 0x1.3b15d2b2fc10cp-31, -0x1.47b1679258d0ep-30, 0x1.555a877ffd2c3p-29,
      -0x1.6434a8447aeadp-28, 0x1.7469daccfadcdp-27, -0x1.862c734df3eacp-26, 0x1.99b93c2070b0fp-25,
      -0x1.af5a6cbbf8a97p-24, 0x1.c76bbb3f07a4dp-23, -0x1.e2600d93cfd2fp-22, 0x1.0064cdeb22f0fp-20,
      -0x1.11b2eb7679541p-19, 0x1.2597a39f34aacp-18, -0x1.3cbc963ce2243p-17, 0x1.580dcee66eb02p-16,
      -0x1.78de5bd7c81efp-15, 0x1.a127b0f17d65ap-14, -0x1.d3fd4c76d2fc8p-13, 0x1.0b36af86396e9p-11,
      -0x1.38ac5c2bf8e08p-10, 0x1.7add6eadb6c30p-9,  -0x1.e404fc218f5f2p-8,  0x1.51322ac7d8483p-6,
      -0x1.13e001a557607p-4,  0x1.4a34cc4a60fa6p-2};
  const double one_less_euler = 0x1.b0ee6072093cep-2, b = a < 0.5 ? a : a - 1.0;
  const double around = b * (one_less_euler + b * ci_polynomial(factor, 26, b));
  return a < 0.5 ? around - ci_log1p(a) : around;
}

double ci_stirling_error(double a) {
  /* B(2k) / (2k (2k - 1)), k from 10 down to 1 */
  static const double factor[] = {-174611.0 / 125400.0, 43867.0 / 244188.0, -3617.0 / 122400.0, 1.0 / 156.0,
                                  -691.0 / 360360.0,    1.0 / 1188.0,       -1.0 / 1680.0,      1.0 / 1260.0,
                                  -1.0 / 360.0,         1.0 / 12.0};
  if (a < 1.0) return ((ci_lgamma1p(a) - (a + 0.5) * ci_log(a)) + a) - gp_half_log_2pi;
  double z = a, prod = 1.0;
  for (; z < 8.0; z += 1.0) prod = prod * z;
  const double w = 1.0 / z, series = w * ci_polynomial(factor, 10, w * w);
  if (!(z > a)) return series;
  return ((((z - 0.5) * ci_log(z) - (a - 0.5) * ci_log(a)) - (z - a)) - ci_log(prod)) + series;
}

double ci_deviance(double a, double x) {
  const double gap = a - x, v = (0.5 * a - 0.5 * x) / (0.5 * a + 0.5 * x);
  if (fabs(v) < 0.1) {
    const double square = v * v;
    double total = gap * v, part = 2.0 * (a * v);
    for (int j = 1; j < 10; j++) {
      part = part * square;
      total = total + part / (2.0 * (double)j + 1.0);
    }
    return total;
  }
  const double ratio = a / x;
  return a * (ratio > 1e-300 && ratio < 1e300 ? ci_log(ratio) : ci_log(a) - ci_log(x)) - gap;
}

double ci_gamma_term(double a, double x) {
  if (a < 1.0) return ci_exp(a * ci_log(x) - x - ci_lgamma1p(a));
  return ci_exp(-ci_stirling_error(a) - ci_deviance(a, x)) / (CI_ROOT_2PI * sqrt(a));
}

double ci_erfcx(double z) {
  /* of (1 + 2 z) erfcx(z), by Chebyshev polynomials of (z - 3.75) / (z + 3.75), the highest first */
  static const double factor[] = {
      0x1.d3744857e262bp-55,  0x1.561b105822235p-54,  -0x1.6884628ace07ap-50, -0x1.0cb63a80de2c5p-49,
      0x1.2d8b49ab5f72bp-45,  0x1.24f6a772cbc36p-45,  -0x1.0fc16c00b50f2p-40, 0x1.b61b723941781p-43,
      0x1.f8af0a9aa6d31p-36,  -0x1.15df59ca6082bp-34, -0x1.aa4d7b1cdf20ap-31, 0x1.36bf2885524c9p-28,
      0x1.71e1efca86cf9p-27,  -0x1.d601c320c8f9cp-23, 0x1.9f8f03ca86fc1p-21,  0x1.15c3f597f0492p-18,
      -0x1.221e6f70130b5p-14, 0x1.014ed1572209ap-11,  -0x1.3c4c54f8d419dp-9,  0x1.295e991a7d82dp-7,
      -0x1.b4c68f4569326p-6,  0x1.e50c3e7c7dccep-5,   -0x1.59159e8868995p-4,  -0x1.2cd0564f8c1b7p-8,
      0x1.2d75d0246cee8p+0};
  enum { terms = sizeof factor / sizeof *factor };
  const double t = (z - 3.75) / (z + 3.75), twice = t + t;
  double last = 0.0, total = factor[0];
  for (int i = 1; i < terms - 1; i++) {
    const double next = (twice * total - last) + factor[i];
    last = total;
    total = next;
  }
  return ((t * total - last) + factor[terms - 1]) / (1.0 + 2.0 * z);
}

/* pi / tan(pi part), 0 < part < 1. */
static double gp_pi_cotangent(double part) {
  const double pi = 2.0 * CI_HALF_PI, size = part > 0.5 ? 1.0 - part : part;
  const bool near = size <= 0.25;
  const double r = pi * (near ? size : 0.5 - size), z = r * r;
  const double sine = r + r * z * ci_sin_series(z), cosine = (1.0 - 0.5 * z) + z * z * ci_cos_series(z);
  const double value = near ? pi * cosine / sine : pi * sine / cosine;
  return part > 0.5 ? -value : value;
}

double ci_digamma(double x) {
  /* B(2k) / (2k), k from 10 down to 1 */
  static const double factor[] = {-174611.0 / 6600.0, 43867.0 / 14364.0, -3617.0 / 8160.0, 1.0 / 12.0,
                                  -691.0 / 32760.0,   1.0 / 132.0,       -1.0 / 240.0,     1.0 / 252.0,
                                  -1.0 / 120.0,       1.0 / 12.0};
  const bool low = x <= 0.0;
  double z = low ? 1.0 - x : x, total = 0.0;
  for (; z < 10.0; z += 1.0) total = total + 1.0 / z;
  const double w = 1.0 / z, square = w * w;
  const double value = ((ci_log(z) - 0.5 * w) - square * ci_polynomial(factor, 10, square)) - total;
  if (!low) return value;
  const double part = x - ci_floor(x);
  return part > 0.0 ? value - gp_pi_cotangent(part) : NAN;
}

enum { GP_TERMS = 27 };

/* f: the coefficients of 1 / g. */
static void gp_inverse_series(double k, double w, double *f) {
  double square[GP_TERMS] = {1.0}, g[GP_TERMS] = {1.0};
  f[0] = 1.0;
  for (int n = 1; n < GP_TERMS; n++) {
    double h = k * g[n - 1];
    if (n > 1) h = h - w * square[n - 2];
    h = h / (1.0 + 0.5 * (double)n);
    square[n] = h;
    for (int i = 1; i < n; i++) h = h - g[i] * g[n - i];
    g[n] = 0.5 * h;
    double inverse = 0.0;
    for (int i = 1; i <= n; i++) inverse = inverse - g[i] * f[n - i];
    f[n] = inverse;
  }
}

ci_tail ci_uniform_tail(double t, double p, double k, double w) {
  double f[GP_TERMS], b[GP_TERMS + 1] = {0.0}, by_p[GP_TERMS + 1] = {0.0};
  gp_inverse_series(k, w, f);
  for (int n = GP_TERMS - 1; n > 0; n--) {
    b[n - 1] = f[n] + ((double)n + 1.0) * p * b[n + 1];
    by_p[n - 1] = ((double)n + 1.0) * (p * by_p[n + 1] + b[n + 1]);
  }
  double total = 0.0, by_t = 0.0, p_total = 0.0;
  for (int n = GP_TERMS - 2; n >= 0; n--) {
    by_t = by_t * t + total;
    total = total * t + b[n];
    p_total = p_total * t + by_p[n];
  }
  const double below = 1.0 + p * b[1], value = total / below;
  return (ci_tail){value, by_t / below, (p_total - value * (b[1] + p * by_p[1])) / below};
}
