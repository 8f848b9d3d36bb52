/* scalar_trig.c - sine, cosine, tangent and their inverses of one double. */
#include <math.h>

#include "scalar_math.h"
#include "scalar_parts.h"

#define ST_HALF_PI 0x1.921fb54442d18p+0
#define ST_HALF_PI_LOW 0x1.1a62633145c07p-54
#define ST_HALF_PI_THIRD 0x1.3198a2e037073p-69 /* what parts of 33 and 33 bits leave */

/* 2 / pi in binary, enough for the largest double. */
static const uint32_t st_two_over_pi[38] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};

typedef struct st_angle { /* high + low in [-pi/4, pi/4], and quarter turns */
  double high, low;
  int quarter;
} st_angle;

/* Bits at..at+63 of a number of 10 words, lowest first. */
static uint64_t st_bits(const uint32_t *word, int at) {
  const int first = at >> 5, shift = at & 31;
  const uint64_t low = word[first] | (uint64_t)word[first + 1] << 32;
  return shift == 0 ? low : low >> shift | (uint64_t)word[first + 2] << (64 - shift);
}

/* The high 64 bits of a product of two of 64 bits. */
static uint64_t st_high_product(uint64_t a, uint64_t b) {
  const uint64_t a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
  const uint64_t cross = (middle & 0xffffffff) + a0 * b1;
  return a1 * b1 + (middle >> 32) + (cross >> 32);
}

/* A fraction of a quarter turn, high and low 64 bits below the point, times pi / 2. */
static void st_scale(uint64_t high, uint64_t low, st_angle *angle) {
  int zeros = 0; /* never 64: no double lies closer to a multiple of pi / 2 than 2^-62 */
  for (int step = 32; step > 0; step /= 2) {
    if (high >> (64 - step) == 0) {
      high = high << step | low >> (64 - step);
      low <<= step;
      zeros += step;
    }
  }
  const uint64_t product = st_high_product(high, 0xc90fdaa22168c235); /* pi / 2 * 2^63 */
  const double unit = ci_power_of_two(-63 - zeros);
  angle->high = (double)(product & ~(uint64_t)0x7ff) * unit;
  angle->low = (double)(product & 0x7ff) * unit;
}

/* x = m 2^e times those bits of 2 / pi that give no multiple of 4; |x| > pi / 4, finite. */
static st_angle st_reduce(double x) {
  const uint64_t bits = ci_double_bits(x);
  const uint64_t m = (bits & 0x000fffffffffffff) | 0x0010000000000000;
  const int e = (int)(bits >> 52 & 0x7ff) - 1075, skip = e > 2 ? (e - 2) / 32 : 0;
  uint32_t product[12] = {0};
  for (int half = 0; half < 2; half++) {
    const uint64_t factor = half == 0 ? m & 0xffffffff : m >> 32;
    uint64_t carry = 0;
    for (int i = 0; i < 7; i++) {
      const uint64_t sum = factor * st_two_over_pi[skip + 6 - i] + product[i + half] + carry;
      product[i + half] = (uint32_t)sum;
      carry = sum >> 32;
    }
    product[7 + half] = (uint32_t)carry;
  }
  const int point = 32 * (skip + 7) - e;
  st_angle angle = {.quarter = (int)(st_bits(product, point) & 3)};
  uint64_t high = st_bits(product, point - 64), low = st_bits(product, point - 128);
  const bool over = high >> 63 != 0;
  if (over) { /* the next quarter is nearer */
    low = ~low + 1;
    high = ~high + (low == 0);
    angle.quarter = (angle.quarter + 1) & 3;
  }
  st_scale(high, low, &angle);
  if (over != (x < 0.0)) {
    angle.high = -angle.high;
    angle.low = -angle.low;
  }
  if (x < 0.0) angle.quarter = (4 - angle.quarter) & 3;
  return angle;
}

/* (sin(r) - r) / r^3 and (cos(r) - 1 + r r / 2) / r^4 by their series, |r| <= pi / 4. */
static double st_sin_series(double z) {
  static const double factor[] = {
      1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0,
      1.0 / 362880.0,          -1.0 / 5040.0,          1.0 / 120.0,        -1.0 / 6.0};
  return ci_polynomial(factor, 8, z);
}
static double st_cos_series(double z) {
  static const double factor[] = {
      -1.0 / 6402373705728000.0, 1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0,
      -1.0 / 3628800.0,          1.0 / 40320.0,          -1.0 / 720.0,         1.0 / 24.0};
  return ci_polynomial(factor, 8, z);
}

static double st_sin(double r, double low) {
  const double z = r * r;
  return r + (r * z * st_sin_series(z) + low * (1.0 - 0.5 * z));
}

static double st_cos(double r, double low) {
  const double z = r * r, h = 0.5 * z, w = 1.0 - h;
  return w + (((1.0 - w) - h) + (z * z * st_cos_series(z) - r * low));
}

/* sin(angle + quarter turns); quarter counts on from the angle's own. */
static double st_wave(st_angle angle, int quarter) {
  quarter = (angle.quarter + quarter) & 3;
  const double y = quarter & 1 ? st_cos(angle.high, angle.low) : st_sin(angle.high, angle.low);
  return quarter & 2 ? -y : y;
}

/* pi / 2 in three parts, the first two of 33 bits: products with quarters below 2^20 are exact. Near a multiple, where
 * what is lost would show, and for large x the bits of 2 / pi decide. */
static st_angle st_angle_of(double x) {
  if (fabs(x) <= 0.785) return (st_angle){.high = x};
  if (fabs(x) < 0x1p20) {
    const double n = (x * 0x1.45f306dc9c883p-1 + 0x1.8p52) - 0x1.8p52;
    const double rest = x - n * 0x1.921fb544p+0;
    double low;
    const double high = ci_two_sum(rest, n * -0x1.0b4611a6p-34, &low);
    if (fabs(high) >= 0x1p-20) {
      const double tail = low - n * ST_HALF_PI_THIRD, sum = high + tail;
      return (st_angle){.high = sum, .low = (high - sum) + tail, .quarter = (int)n & 3};
    }
  }
  return st_reduce(x);
}

double ci_sin(double x) {
  if (fabs(x) < 0x1p-28) return x; /* the sign of zero, too */
  if (!(fabs(x) < INFINITY)) return NAN;
  return st_wave(st_angle_of(x), 0);
}

double ci_cos(double x) {
  if (!(fabs(x) < INFINITY)) return NAN;
  return st_wave(st_angle_of(x), 1);
}

double ci_tan(double x) {
  if (fabs(x) < 0x1p-28) return x;
  if (!(fabs(x) < INFINITY)) return NAN;
  const st_angle angle = st_angle_of(x);
  return st_wave(angle, 0) / st_wave(angle, 1);
}

void ci_circle(double u, double *cosine, double *sine) {
  const double turns = 4.0 * u;
  const int quarter = (int)(turns + 0.5);
  const double rest = turns - (double)quarter;
  double low;
  const double high = ci_two_product(rest, ST_HALF_PI, &low);
  const st_angle angle = {.high = high, .low = low + rest * ST_HALF_PI_LOW, .quarter = quarter & 3};
  *sine = st_wave(angle, 0);
  *cosine = st_wave(angle, 1);
}

/* atan(x) = atan(c) + atan((x - c) / (1 + c x)) for the nearest c of eighths; beyond 1 by 1 / x. */
static const double st_eighths[9][2] = {{0.0, 0.0},
                                        {0x1.fd5ba9aac2f6ep-4, -0x1.cd37686760c17p-59},
                                        {0x1.f5b75f92c80ddp-3, 0x1.8ab6e3cf7afbdp-57},
                                        {0x1.6f61941e4def1p-2, -0x1.c63aae6f6e918p-56},
                                        {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
                                        {0x1.1e00babdefeb4p-1, -0x1.928df287a668fp-58},
                                        {0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56},
                                        {0x1.700a7c5784634p-1, -0x1.8c34d25aadef6p-56},
                                        {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55}};

double ci_atan(double x) {
  static const double factor[] = {1.0 / 13.0, -1.0 / 11.0, 1.0 / 9.0, -1.0 / 7.0, 1.0 / 5.0, -1.0 / 3.0};
  const double size = fabs(x);
  if (size < 0x1p-28 || x != x) return x;
  const bool far = size > 1.0;
  const double a = far ? 1.0 / size : size;
  const int nearest = (int)(8.0 * a + 0.5);
  const double c = (double)nearest * 0.125, t = (a - c) / (1.0 + c * a), z = t * t;
  const double tail = t * z * ci_polynomial(factor, 6, z) + st_eighths[nearest][1];
  const double y = st_eighths[nearest][0] + (t + tail);
  return copysign(far ? (ST_HALF_PI - y) + ST_HALF_PI_LOW : y, x);
}

/* (asin(r) - r) / r^3 for z = r r <= 1/4: through the Chebyshev points of [0, 1/4], error 2^-53. */
static double st_asin_series(double z) {
  static const double factor[] = {
      0x1.d72b2bc8155f8p-6, -0x1.e6aaa8a0a04ccp-7, 0x1.1d189408314eep-6, 0x1.65a9c4dfcf8b2p-8, 0x1.52420b04b37bep-7,
      0x1.782651caa6547p-7, 0x1.c9cf07674736ap-7,  0x1.1c4d35cf95421p-6, 0x1.6e8bb1c8209a2p-6, 0x1.f1c71c1db0623p-6,
      0x1.6db6db6e31f13p-5, 0x1.3333333332ecap-4,  0x1.5555555555556p-3};
  return ci_polynomial(factor, 13, z);
}

/* asin(sqrt((1 - size) / 2)), half of acos(size), as *high and the value that is returned; size >= 1/2. */
static double st_half_acos(double size, double *high) {
  const double z = (1.0 - size) * 0.5, s = sqrt(z);
  double square_low;
  const double square = ci_two_product(s, s, &square_low);
  const double low = s > 0.0 ? ((z - square) - square_low) / (2.0 * s) : 0.0;
  *high = s;
  return s * z * st_asin_series(z) + low;
}

double ci_asin(double x) {
  const double size = fabs(x);
  if (!(size <= 1.0)) return NAN;
  if (size < 0x1p-28) return x;
  if (size <= 0.5) return x + x * (x * x) * st_asin_series(x * x);
  double high, lost;
  const double low = st_half_acos(size, &high), y = ci_two_sum(ST_HALF_PI, -2.0 * high, &lost);
  return copysign(y + (lost + (ST_HALF_PI_LOW - 2.0 * low)), x);
}

double ci_acos(double x) {
  const double size = fabs(x);
  double high, lost;
  if (!(size <= 1.0)) return NAN;
  if (size <= 0.5) {
    const double y = ci_two_sum(ST_HALF_PI, -x, &lost);
    return y + (lost + (ST_HALF_PI_LOW - x * (x * x) * st_asin_series(x * x)));
  }
  const double low = st_half_acos(size, &high);
  if (x > 0.0) return 2.0 * (high + low);
  const double y = ci_two_sum(2.0 * ST_HALF_PI, -2.0 * high, &lost);
  return y + (lost + 2.0 * (ST_HALF_PI_LOW - low));
}
