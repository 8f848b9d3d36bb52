/* special_math.h - special functions of doubles, the same bits everywhere; runtime/special/ has twins of them.
 *
 * Only + - * / and sqrt in double. Every loop has a fixed end. Outside of its domain a function gives NaN, with the
 * exceptions of TensorFlow: docs/numerics.md.
 */
#ifndef CI_SPECIAL_MATH_H
#define CI_SPECIAL_MATH_H
#include "../base/ci_common.h"

double ci_igamma(double a, double x);
double ci_igammac(double a, double x);
double ci_igamma_grad_a(double a, double x);
double ci_betainc(double a, double b, double x);
double ci_zeta(double x, double q);
double ci_polygamma(double n, double x);
double ci_bessel_i0(double x);
double ci_bessel_i0e(double x);
double ci_bessel_i1(double x);
double ci_bessel_i1e(double x);

/* ---- parts of them (gamma_parts.c) ---- */

#define CI_ROOT_2PI 0x1.40d931ff62706p+1
double ci_lgamma1p(double a);         /* log(gamma(1 + a)), 0 <= a <= 3/2 */
double ci_stirling_error(double a);   /* log(gamma(a)) - (a - 1/2) log(a) + a - log(2 pi) / 2, a > 0 */
double ci_deviance(double a, double x); /* a log(a / x) + x - a, both > 0 */
double ci_gamma_term(double a, double x); /* x^a exp(-x) / gamma(a + 1), both > 0 */
double ci_erfcx(double z);            /* exp(z z) erfc(z), z >= 0 */
double ci_digamma(double x);

/* Where parameters are large, the sum by which a share differs from that of the normal distribution (Temme 1979, 1987),
 * and its derivatives by t and by p. With g the series of g g + t g g' = 1 + k t g - w t t g g, the sum is
 * b0 + b1 t + b2 t^2 + ... over 1 + p b1, where b(n - 1) is the coefficient n of 1 / g and p (n + 1) b(n + 1) more. */
typedef struct ci_tail {
  double sum, by_t, by_p;
} ci_tail;
ci_tail ci_uniform_tail(double t, double p, double k, double w);

/* A continued fraction by Lentz's method: its value, first the reciprocal of the first denominator. */
typedef struct ci_lentz {
  double c, d, total;
} ci_lentz;
#define CI_LENTZ_TINY 1e-300
enum { CI_SPECIAL_STEPS = 400 };
CI_INLINE double ci_not_0(double x) { return x < CI_LENTZ_TINY && x > -CI_LENTZ_TINY ? CI_LENTZ_TINY : x; }
CI_INLINE ci_lentz ci_lentz_start(double first) { return (ci_lentz){1.0 / CI_LENTZ_TINY, first, first}; }
/* The next numerator and denominator; whether the value still changes. */
CI_INLINE bool ci_lentz_step(ci_lentz *f, double top, double bottom) {
  f->d = 1.0 / ci_not_0(bottom + top * f->d);
  f->c = ci_not_0(bottom + top / f->c);
  const double change = f->c * f->d, off = change - 1.0;
  f->total = f->total * change;
  return off > 0x1p-52 || off < -0x1p-52;
}
#endif
