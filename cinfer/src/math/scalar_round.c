/* scalar_round.c - roundings and remainders, which are exact: with them the library needs no libm. */
#include "scalar_math.h"
#include "scalar_parts.h"

static const double round_whole = 4503599627370496.0; /* 2^52: from here on all are integers */

static double round_magnitude(double x) { return ci_double_from_bits(ci_double_bits(x) << 1 >> 1); }

static double round_signed(double magnitude, double sign) {
  return ci_double_from_bits(ci_double_bits(magnitude) | (ci_double_bits(sign) >> 63 << 63));
}

/* Towards zero, with the sign of x. */
static double round_cut(double x) { return round_signed((double)(int64_t)round_magnitude(x), x); }

double ci_floor(double x) {
  if (!(round_magnitude(x) < round_whole)) return x;
  const double cut = round_cut(x);
  return cut > x ? cut - 1.0 : cut;
}

double ci_ceil(double x) { return -ci_floor(-x); }

/* x = r * 2^*exponent for x >= 0, where r is the integer that is returned. */
static uint64_t round_parts(double x, int *exponent) {
  const uint64_t bits = ci_double_bits(x), fraction = bits << 12 >> 12;
  const int biased = (int)(bits >> 52);
  *exponent = (biased > 0 ? biased : 1) - 1075;
  return biased > 0 ? fraction | (uint64_t)1 << 52 : fraction;
}

double ci_fmod(double x, double y) {
  enum { free_bits = 11 }; /* bits that a remainder leaves free */
  const double a = round_magnitude(x), b = round_magnitude(y);
  if (a != a || b != b || b == 0.0 || a - a != 0.0) return (x * y) / (x * y);
  if (a < b) return x;
  int left, exponent;
  const uint64_t whole = round_parts(a, &left), divisor = round_parts(b, &exponent);
  uint64_t rest = whole % divisor;
  for (left -= exponent; left > 0 && rest > 0; left -= free_bits)
    rest = (rest << (left < free_bits ? left : free_bits)) % divisor;
  const int small = exponent < -1022 ? -1022 - exponent : 0; /* in two steps, each of them exact */
  return round_signed((double)rest * ci_power_of_two(exponent + small) * ci_power_of_two(-small), x);
}

double ci_below(double x) {
  uint64_t bits = ci_double_bits(x);
  if (x == 0.0) bits = UINT64_C(1) << 63 | 1;
  else if (x > 0.0) bits--;
  else if (x - x == 0.0) bits++; /* -inf and NaN stay */
  return ci_double_from_bits(bits);
}

float ci_below_float(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (x == 0.0f) bits = UINT32_C(1) << 31 | 1;
  else if (x > 0.0f) bits--;
  else if (x - x == 0.0f) bits++;
  memcpy(&x, &bits, sizeof x);
  return x;
}
