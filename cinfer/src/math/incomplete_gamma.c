/* incomplete_gamma.c - the shares of the gamma distribution below and above a number, and the slope by the shape. */
#include <math.h>

#include "scalar_math.h"
#include "special_math.h"

static bool ig_inside(double a, double x) { return a > 0.0 && x > 0.0 && a < INFINITY && x < INFINITY; }

static bool ig_is_uniform(double a, double x) { return a >= 30.0 && x >= 0.6 * a && 0.6 * x <= a; }

/* P: 1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ... times its first term. */
static double ig_series(double a, double x) {
  double divisor = a, term = 1.0, total = 1.0;
  for (int n = 0; n < CI_SPECIAL_STEPS; n++) {
    divisor = divisor + 1.0;
    term = term * x / divisor;
    const double before = total;
    total = total + term;
    if (total == before) break;
  }
  return ci_gamma_term(a, x) * total;
}

/* Q for x and a up to about 1. */
static double ig_alternating(double a, double x) {
  double factor = 1.0, total = 0.0;
  for (int n = 1; n < 25; n++) {
    factor = factor * -x / (double)n;
    total = total + factor / (a + (double)n);
  }
  const double logarithm = a * ci_log(x) - ci_lgamma1p(a);
  return -ci_expm1(logarithm) - ci_exp(logarithm) * a * total;
}

/* Q: Legendre's continued fraction. */
static double ig_fraction(double a, double x) {
  const double start = x + 1.0 - a;
  ci_lentz f = ci_lentz_start(1.0 / start);
  for (int i = 1; i <= CI_SPECIAL_STEPS; i++) {
    const double n = (double)i;
    if (!ci_lentz_step(&f, n * (a - n), start + 2.0 * n)) break;
  }
  return ci_gamma_term(a, x) * a * f.total;
}

/* Both shares for a large a and x near it. */
static double ig_uniform(double a, double x, bool upper) {
  const bool above = x >= a;
  const double far = ci_deviance(a, x), eta = sqrt(2.0 * far / a);
  const double rest = ci_uniform_tail(above ? eta : -eta, 1.0 / a, 1.0, 0.0).sum / (CI_ROOT_2PI * sqrt(a));
  const double half = 0.5 * ci_erfcx(sqrt(far));
  const double share = ci_exp(-far) * (above ? half + rest : half - rest);
  return above == upper ? share : 1.0 - share;
}

static double ig_share(double a, double x, bool upper) {
  if (ig_is_uniform(a, x)) return ig_uniform(a, x, upper);
  /* up to this a the upper share is the small one, and 1 - P would lose its digits */
  const double bound = x > 0.5 ? 1.1 * x : -0.4 / ci_log(x);
  const bool alternating = x <= 1.1 && a <= bound;
  if (!alternating && (x <= 1.1 || x <= a)) return upper ? 1.0 - ig_series(a, x) : ig_series(a, x);
  const double share = alternating ? ig_alternating(a, x) : ig_fraction(a, x);
  return upper ? share : 1.0 - share;
}

double ci_igamma(double a, double x) {
  if (ig_inside(a, x)) return ig_share(a, x, false);
  if (x == 0.0 || (a == INFINITY && x > 0.0)) return 0.0;
  return a > 0.0 && x == INFINITY ? 1.0 : NAN;
}

double ci_igammac(double a, double x) {
  if (ig_inside(a, x)) return ig_share(a, x, true);
  if (!(a > 0.0 && x >= 0.0)) return NAN;
  return x == INFINITY ? 0.0 : 1.0;
}

/* ---- the derivative by a ---- */

static double ig_uniform_slope(double a, double x) {
  const double far = ci_deviance(a, x), size = sqrt(2.0 * far / a), t = x >= a ? size : -size, p = 1.0 / a;
  const ci_tail tail = ci_uniform_tail(t, p, 1.0, 0.0);
  /* a times the derivative of t, which is -1 / (t / (x / a - 1)); next to t = 0 by its series */
  const double turn = fabs(t) < 1e-4 ? -(1.0 + t / 3.0) : -(((x - a) / a) / t);
  const double by_total = (-0.5 * t * t - t * turn - 0.5 * p) * tail.sum;
  const double slope = ((-turn - 0.5 * t) + by_total) + (tail.by_t * turn * p - tail.by_p * p * p);
  return -(ci_exp(-far) / (CI_ROOT_2PI * sqrt(a)) * slope);
}

static double ig_series_slope(double a, double x) {
  double divisor = a, term = 1.0, reciprocals = 0.0, total = 1.0, slope = 0.0;
  for (int n = 0; n < CI_SPECIAL_STEPS; n++) {
    divisor = divisor + 1.0;
    term = term * x / divisor;
    reciprocals = reciprocals + 1.0 / divisor;
    total = total + term;
    const double before = slope;
    slope = slope - term * reciprocals;
    if (slope == before) break;
  }
  return ci_gamma_term(a, x) * (total * (ci_log(x) - ci_digamma(a + 1.0)) + slope);
}

static double ig_fraction_slope(double a, double x) {
  const double start = x + 1.0 - a, first = 1.0 / start;
  double c = 1.0 / CI_LENTZ_TINY, d = first, total = first, c_slope = 0.0, d_slope = first * first, slope = d_slope;
  for (int i = 1; i <= CI_SPECIAL_STEPS; i++) {
    const double n = (double)i, top = n * (a - n), bottom = start + 2.0 * n;
    const double next = 1.0 / ci_not_0(bottom + top * d);
    d_slope = -(next * next) * ((n * d + top * d_slope) - 1.0);
    d = next;
    c_slope = (n - top * c_slope / c) / c - 1.0;
    c = ci_not_0(bottom + top / c);
    const double change = c * d, before = slope;
    slope = slope * change + total * (c_slope * d + c * d_slope);
    total = total * change;
    if (!(fabs(slope - before) > 0x1p-52 * fabs(slope))) break;
  }
  const double inner = total * (ci_log(x) - ci_digamma(a + 1.0)) + slope;
  return -(ci_gamma_term(a, x) * (a * inner + total));
}

double ci_igamma_grad_a(double a, double x) {
  if (!ig_inside(a, x)) return x == 0.0 || (a > 0.0 && x > 0.0) ? 0.0 : NAN;
  if (ig_is_uniform(a, x)) return ig_uniform_slope(a, x);
  return x <= 1.1 || x <= a ? ig_series_slope(a, x) : ig_fraction_slope(a, x);
}
