/* zeta.c - Hurwitz' zeta function, and the derivatives of digamma. */
#include <math.h>

#include "scalar_math.h"
#include "special_math.h"

static double zt_inverse_power(double q, double x) {
  if (x < INFINITY && q < INFINITY) return ci_pow(q, -x);
  return q < 1.0 ? INFINITY : q > 1.0 ? 0.0 : 1.0;
}

/* By Euler and Maclaurin after some terms; q > 0. */
static double zt_positive(double x, double q) {
  /* (2k)! / B(2k), k from 1 */
  static const double divisor[] = {12.0,
                                   -720.0,
                                   30240.0,
                                   -1209600.0,
                                   47900160.0,
                                   -1307674368000.0 / 691.0,
                                   74724249600.0,
                                   -10670622842880000.0 / 3617.0,
                                   5109094217170944000.0 / 43867.0,
                                   -802857662698291200000.0 / 174611.0,
                                   14101100039391805440000.0 / 77683.0,
                                   -1693824136731743669452800000.0 / 236364091.0};
  enum { summed = 12 };
  double total = 0.0;
  for (int k = 0; k < summed; k++) total = total + zt_inverse_power(q + (double)k, x);
  const double end = q + (double)summed, last = zt_inverse_power(end, x);
  if (!(last > 0.0 && x < INFINITY)) return total;
  double tail = last * end / (x - 1.0) + 0.5 * last, factor = x, part = last / end;
  for (int k = 1; k <= 12; k++) {
    tail = tail + factor * part / divisor[k - 1];
    factor = factor * (x + (2.0 * (double)k - 1.0)) * (x + 2.0 * (double)k);
    part = part / end / end;
  }
  return total + tail;
}

/* q < 0: the terms before 0, whose signs x decides, and those after it. */
static double zt_mirrored(double x, double q) {
  const double part = -q - ci_floor(-q);
  const double gone = zt_positive(x, part) - (x == INFINITY ? 0.0 : zt_positive(x, 1.0 - q));
  const bool odd = ci_floor(0.5 * x) != 0.5 * x;
  return (odd ? -gone : gone) + zt_positive(x, 1.0 - part);
}

double ci_zeta(double x, double q) {
  if (x == 1.0) return INFINITY;
  if (!(x > 1.0) || q != q) return NAN;
  if (q > 0.0) return zt_positive(x, q);
  if (ci_floor(q) == q) return ci_floor(0.5 * x) == 0.5 * x ? INFINITY : NAN;
  return ci_floor(x) == x ? zt_mirrored(x, q) : NAN;
}

double ci_polygamma(double n, double x) {
  if (n == 0.0) return ci_digamma(x);
  if (!(n > 0.0 && ci_floor(n) == n)) return NAN;
  double factorial = 1.0;
  for (int k = 2; k < 171; k++) {
    if (n >= (double)k) factorial = factorial * (double)k;
  }
  if (n > 170.0) factorial = INFINITY;
  const double value = factorial * ci_zeta(n + 1.0, x);
  return ci_floor(0.5 * n) == 0.5 * n && n < INFINITY ? -value : value;
}
