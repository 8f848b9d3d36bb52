/* scalar_math.c - exp, log and power functions of one double; scalar_trig.c has the others. */
#include "scalar_math.h"

#include <math.h>

#include "scalar_series.h"

/* One copy of each series for all that is here. */
static double sm_exp_series(double r) { return ci_exp_series(r); }

/* exp(x + low), where low is a correction far below x. */
static double sm_exp(double x, double low) {
  if (x != x) return x;
  if (x > 709.79) return INFINITY;
  if (x < -745.14) return 0.0;
  const double n = (x * 0x1.71547652b82fep+0 + 0x1.8p52) - 0x1.8p52;
  const double high = x - n * CI_LN2_HIGH;
  const double shift = n * CI_LN2_LOW - low;
  const double r = high - shift;
  const double lost = (high - r) - shift;
  const double y = 1.0 + (r + (r * r * sm_exp_series(r) + lost));
  const int k = (int)n, half = k >> 1;
  return y * ci_power_of_two(half) * ci_power_of_two(k - half);
}

double ci_exp(double x) { return sm_exp(x, 0.0); }

double ci_expm1(double x) {
  if (fabs(x) > 0.34) return sm_exp(x, 0.0) - 1.0;
  return x + x * x * sm_exp_series(x);
}

/* x > 0 finite: x = 2^k (1 + f), f in [-0.293, 0.415]. */
static double sm_split(double x, int *k) {
  int shift = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    shift = 54;
  }
  uint64_t bits = ci_double_bits(x);
  const uint64_t offset = bits - 0x3fe6a09e00000000; /* of sqrt(1/2), cut */
  *k = (int)(int64_t)(offset >> 52) - (offset >> 63 ? 4096 : 0) - shift;
  bits -= offset & 0xfff0000000000000;
  return ci_double_from_bits(bits) - 1.0;
}

static double sm_log_series(double z, int skip) { return ci_log_series(z, skip); }

/* log(1 + f) = f - (h - s (h + R)), h = f f / 2, s = f / (2 + f), R the series in s s. */
static double sm_log1p_near(double f, double low) {
  const double s = f / (2.0 + f), z = s * s, h = 0.5 * f * f;
  return f - (h - (s * (h + z * sm_log_series(z, 0)) + low));
}

double ci_log(double x) {
  if (x != x || x == INFINITY) return x;
  if (x == 0.0) return -INFINITY;
  if (x < 0.0) return NAN;
  int k;
  const double f = sm_split(x, &k);
  return (double)k * CI_LN2_HIGH + sm_log1p_near(f, (double)k * CI_LN2_LOW);
}

double ci_log1p(double x) {
  if (x < 0x1p-60 || x > 0x1p60 || x != x) return x > 1.0 ? ci_log(x) : x;
  const double u = 1.0 + x;
  const double lost = x < 1.0 ? x - (u - 1.0) : 1.0 - (u - x);
  return ci_log(u) + lost / u;
}

double ci_softplus(double x) { return (x > 0.0 ? x : x != x ? x : 0.0) + ci_log1p(ci_exp(-fabs(x))); }

double ci_sigmoid(double x) {
  const double e = ci_exp(-fabs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

double ci_tanh(double x) {
  const double size = fabs(x);
  if (x != x) return x;
  if (size > 22.0) return x < 0.0 ? -1.0 : 1.0;
  const double e = ci_expm1(2.0 * size);
  const double y = size < 0.5 ? e / (e + 2.0) : 1.0 - 2.0 / (e + 2.0);
  return copysign(y, x);
}

/* log x = *high + the value that is returned, to about 2^-65 of its size; x > 0 finite. */
static double sm_log_pair(double x, double *high) {
  int k;
  const double f = sm_split(x, &k), u = 2.0 + f, u_low = f - (u - 2.0);
  double low, z_low, third_low, g_low;
  const double s = f / u, prod = ci_two_product(s, u, &low);
  const double s_low = ((f - prod) - low - s * u_low) / u;
  /* log(1 + f) = 2 s + s g, g = 2/3 z + z z P(z), z = s s */
  const double z = ci_two_product(s, s, &z_low), z_tail = z_low + 2.0 * s * s_low;
  const double third = ci_two_product(z, 2.0 / 3.0, &third_low);
  const double g = ci_two_sum(third, z * z * sm_log_series(z, 1), &g_low);
  const double g_tail = g_low + (third_low + (z_tail * (2.0 / 3.0) + z * 0x1.5555555555555p-55));
  double sg_low, sum_low, total_low;
  const double sg = ci_two_product(s, g, &sg_low);
  const double sum = ci_two_sum(2.0 * s, sg, &sum_low);
  const double tail = sum_low + (sg_low + (s * g_tail + s_low * g) + 2.0 * s_low);
  const double total = ci_two_sum((double)k * CI_LN2_HIGH, sum, &total_low);
  const double rest = total_low + (tail + (double)k * CI_LN2_LOW);
  *high = total + rest;
  return (total - *high) + rest;
}

/* ---- hyperbolic functions: exponentials, and logarithms of numbers that are known to twice the digits ---- */

/* exp(x) / 2 without its overflow, x > 22. */
static double sm_half_exp(double x) { return sm_exp(x - CI_LN2_HIGH, -CI_LN2_LOW); }

double ci_sinh(double x) {
  static const double factor[] = {1.0 / 355687428096000.0, 1.0 / 1307674368000.0, 1.0 / 6227020800.0, 1.0 / 39916800.0,
                                  1.0 / 362880.0,          1.0 / 5040.0,          1.0 / 120.0,        1.0 / 6.0};
  const double size = fabs(x), z = x * x;
  if (size <= 1.0) return x + x * z * ci_polynomial(factor, 8, z);
  if (size > 22.0) return copysign(sm_half_exp(size), x);
  const double e = sm_exp(size, 0.0);
  return copysign(0.5 * (e - 1.0 / e), x);
}

double ci_cosh(double x) {
  const double size = fabs(x);
  if (size > 22.0) return sm_half_exp(size);
  const double e = sm_exp(size, 0.0);
  return 0.5 * (e + 1.0 / e);
}

/* log(u + u_low), u >= 1 far below overflow. */
static double sm_log_of_pair(double u, double u_low) {
  double high;
  const double low = sm_log_pair(u, &high);
  return high + (low + u_low / u);
}

/* log(x + sqrt(x x + one)), one 1 or -1. */
static double sm_area(double x, double one) {
  if (x > 0x1p28) return ci_log(x) + CI_LN2_LOW + CI_LN2_HIGH;
  double square_low, inner_low, root_low, u_low;
  const double square = ci_two_product(x, x, &square_low), inner = ci_two_sum(square, one, &inner_low);
  const double root = sqrt(inner), back = ci_two_product(root, root, &root_low);
  if (root == 0.0) return 0.0;
  const double rest = (((inner - back) - root_low) + (inner_low + square_low)) / (2.0 * root);
  const double u = ci_two_sum(x, root, &u_low);
  return sm_log_of_pair(u, u_low + rest);
}

double ci_asinh(double x) {
  const double size = fabs(x);
  if (size < 0x1p-28 || !(size < INFINITY)) return x;
  return copysign(sm_area(size, 1.0), x);
}

double ci_acosh(double x) {
  if (!(x >= 1.0)) return NAN;
  return x == INFINITY ? x : sm_area(x, -1.0);
}

double ci_atanh(double x) {
  const double size = fabs(x);
  if (!(size <= 1.0)) return NAN;
  if (size < 0x1p-28) return x;
  if (size == 1.0) return copysign(INFINITY, x);
  double above_low, below_low, back_low;
  const double above = ci_two_sum(1.0, size, &above_low), below = ci_two_sum(1.0, -size, &below_low);
  const double u = above / below, back = ci_two_product(u, below, &back_low);
  const double rest = (((above - back) - back_low) + (above_low - u * below_low)) / below;
  return copysign(0.5 * sm_log_of_pair(u, rest), x);
}

int ci_parity(double y) {
  const double size = fabs(y);
  if (!(size < 0x1p53)) return 2; /* NaN, too, which the callers handle */
  const int64_t whole = (int64_t)size;
  if ((double)whole != size) return 0;
  return whole & 1 ? 1 : 2;
}

static double sm_pow_positive(double x, double y) {
  double high, prod_low;
  const double low = sm_log_pair(x, &high), guess = y * high;
  if (guess > 710.0) return INFINITY;
  if (guess < -746.0) return 0.0;
  if (fabs(y) > 0x1p100 || fabs(y) < 0x1p-100) return 1.0 + guess; /* x is 1, or y is next to nothing */
  const double prod = ci_two_product(y, high, &prod_low);
  return sm_exp(prod, prod_low + y * low);
}

/* Everything but x > 0: `positive` is sm_pow_positive or a coarser one. */
static double sm_pow(double x, double y, double (*positive)(double x, double y)) {
  if (y == 0.0 || x == 1.0) return 1.0;
  if (x != x || y != y) return x + y;
  const int parity = ci_parity(y);
  const double sign = parity == 1 && copysign(1.0, x) < 0.0 ? -1.0 : 1.0;
  const double size = fabs(x);
  if (fabs(y) == INFINITY) return size == 1.0 ? 1.0 : (size > 1.0) == (y > 0.0) ? INFINITY : 0.0;
  if (size == 0.0) return sign * (y < 0.0 ? INFINITY : 0.0);
  if (size == INFINITY) return sign * (y < 0.0 ? 0.0 : INFINITY);
  if (x < 0.0 && parity == 0) return NAN;
  return sign * positive(size, y);
}

double ci_pow(double x, double y) { return sm_pow(x, y, sm_pow_positive); }

static double sm_pow_float(double x, double y) { return ci_exp(y * ci_log(x)); }

float ci_pow_float(float x, float y) {
  if (y == 2.0f) return x * x;
  return (float)sm_pow(x, y, sm_pow_float);
}

/* 2 / sqrt(pi) exp(-x x) (x + 2/3 x^3 + 4/15 x^5 + ...): all terms have one sign. */
static double sm_erf_series(double x, double square) {
  double term = x, sum = x;
  for (double odd = 3.0; term > sum * 0x1p-56; odd += 2.0) {
    term = term * (2.0 * square) / odd;
    sum += term;
  }
  return 0x1.20dd750429b6dp+0 * sum;
}

/* erfc(x) exp(x x) = 1 / sqrt(pi) / (x + 1/2 / (x + 2/2 / (x + 3/2 / (x + ...)))), x >= 2. */
static double sm_erfc_fraction(double x) {
  double below = x;
  for (double i = 30.0; i > 0.0; i -= 0.5) below = x + i / below;
  return 0x1.20dd750429b6dp-1 / below;
}

double ci_erf(double x) {
  const double size = fabs(x);
  if (x != x) return x;
  if (size > 6.0) return x < 0.0 ? -1.0 : 1.0;
  double square_low;
  const double square = ci_two_product(size, size, &square_low), e = sm_exp(-square, -square_low);
  return copysign(size < 2.0 ? sm_erf_series(size, square) * e : 1.0 - sm_erfc_fraction(size) * e, x);
}
