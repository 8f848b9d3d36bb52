/* scalar_math.h - elementary functions of one double, the same bits everywhere.
 *
 * Only + - * / and sqrt in double, no contraction, no library. Errors against the true value, in ulps, are in
 * docs/numerics.md. NaN, infinities, zeros and denormals as in C's Annex F.
 */
#ifndef CI_SCALAR_MATH_H
#define CI_SCALAR_MATH_H
#include "../base/ci_common.h"

double ci_exp(double x);
double ci_expm1(double x);
double ci_log(double x);
double ci_log1p(double x); /* x >= 0 */
double ci_pow(double x, double y);
float ci_pow_float(float x, float y); /* y 2: x * x; else rounded once from double */
int ci_parity(double y); /* 0: no integer, 1: odd, 2: even, or NaN */
double ci_sin(double x);
double ci_cos(double x);
double ci_tan(double x);
double ci_atan(double x);
double ci_asin(double x);
double ci_acos(double x);
double ci_sinh(double x);
double ci_cosh(double x);
double ci_asinh(double x);
double ci_acosh(double x);
double ci_atanh(double x);
double ci_tanh(double x);
double ci_sigmoid(double x);
double ci_softplus(double x);
double ci_erf(double x);
double ci_floor(double x);
double ci_ceil(double x);
double ci_fmod(double x, double y);
double ci_below(double x); /* the next number below; -inf and NaN themselves */
float ci_below_float(float x);
/* cos and sin of 2 pi u, 0 <= u < 1. */
void ci_circle(double u, double *cosine, double *sine);
#endif
