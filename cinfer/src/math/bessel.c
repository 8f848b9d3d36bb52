/* bessel.c - modified Bessel functions of order 0 and 1. */
#include <math.h>

#include "scalar_math.h"
#include "special_math.h"

/* Up to here the power series, then the asymptotic one. */
static const double bs_near = 25.0;

/* The sum of (x x / 4)^k / (k! (k + more - 1)!). */
static double bs_series(double x, double more) {
  const double square = 0.25 * x * x;
  double term = 1.0, total = 1.0;
  for (int i = 1; i <= 80; i++) {
    const double k = (double)i, before = total;
    term = term * square / (k * (k + (more - 1.0)));
    total = total + term;
    if (total == before) break;
  }
  return total;
}

static double bs_asymptotic(double x, double mu) {
  const double eight = 8.0 * x;
  double term = 1.0, total = 1.0;
  for (int i = 1; i <= 30; i++) {
    const double k = (double)i, odd = 2.0 * k - 1.0;
    term = term * ((odd * odd - mu) / (k * eight));
    total = total + term;
  }
  return total / (CI_ROOT_2PI * sqrt(x));
}

/* exp(x) value, without an early overflow. */
static double bs_grown(double x, double value) {
  const double half = ci_exp(0.5 * x);
  return half * (half * value);
}

double ci_bessel_i0(double x) {
  const double size = fabs(x);
  if (size <= bs_near) return bs_series(size, 1.0);
  return size < INFINITY ? bs_grown(size, bs_asymptotic(size, 0.0)) : NAN;
}

double ci_bessel_i0e(double x) {
  const double size = fabs(x);
  if (size <= bs_near) return ci_exp(-size) * bs_series(size, 1.0);
  return size < INFINITY ? bs_asymptotic(size, 0.0) : size > 0.0 ? 0.0 : NAN;
}

double ci_bessel_i1(double x) {
  const double size = fabs(x);
  if (size <= bs_near) return copysign(0.5 * size * bs_series(size, 2.0), x);
  return size < INFINITY ? copysign(bs_grown(size, bs_asymptotic(size, 4.0)), x) : NAN;
}

double ci_bessel_i1e(double x) {
  const double size = fabs(x);
  if (size <= bs_near) return copysign(ci_exp(-size) * (0.5 * size * bs_series(size, 2.0)), x);
  return size < INFINITY ? copysign(bs_asymptotic(size, 4.0), x) : size > 0.0 ? copysign(0.0, x) : NAN;
}
