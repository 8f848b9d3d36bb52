/* scalar_trig.c - sine, cosine, tangent and their inverses of one double. */
#include <math.h>

#include "scalar_math.h"
#include "scalar_series.h"

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

/* The upper 64 bits of the result of multiplying two 64-bit numbers. */
static uint64_t st_mul_high(uint64_t a, uint64_t b) {
  const uint64_t a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
  const uint64_t cross = (middle & 0xffffffff) + a0 * b1;
  return a1 * b1 + (middle >> 32) + (cross >> 32);
}

/* A fraction of a quarter turn, high and low 64 bits below the point, times pi / 2. */
static void st_scale(uint64_t high, uint64_t low, st_angle *angle) {
  int zeros = 0; /* never 64: no double is closer to a multiple of pi / 2 than 2^-62 */
  for (int step = 32; step > 0; step /= 2) {
    if (high >> (64 - step) == 0) {
      high = high << step | low >> (64 - step);
      low <<= step;
      zeros += step;
    }
  }
  const uint64_t prod = st_mul_high(high, 0xc90fdaa22168c235); /* pi / 2 * 2^63 */
  const double unit = ci_power_of_two(-63 - zeros);
  angle->high = (double)(prod & ~(uint64_t)0x7ff) * unit;
  angle->low = (double)(prod & 0x7ff) * unit;
}

/* x = m 2^e times those bits of 2 / pi that give no multiple of 4; |x| > pi / 4, finite. */
static st_angle st_reduce(double x) {
  const uint64_t bits = ci_double_bits(x);
  const uint64_t m = (bits & 0x000fffffffffffff) | 0x0010000000000000;
  const int e = (int)(bits >> 52 & 0x7ff) - 1075, skip = e > 2 ? (e - 2) / 32 : 0;
  uint32_t prod[12] = {0};
  for (int half = 0; half < 2; half++) {
    const uint64_t factor = half == 0 ? m & 0xffffffff : m >> 32;
    uint64_t carry = 0;
    for (int i = 0; i < 7; i++) {
      const uint64_t sum = factor * st_two_over_pi[skip + 6 - i] + prod[i + half] + carry;
      prod[i + half] = (uint32_t)sum;
      carry = sum >> 32;
    }
    prod[7 + half] = (uint32_t)carry;
  }
  const int point = 32 * (skip + 7) - e;
  st_angle angle = {.quarter = (int)(st_bits(prod, point) & 3)};
  uint64_t high = st_bits(prod, point - 64), low = st_bits(prod, point - 128);
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

static double st_sin(double r, double low) {
  const double z = r * r;
  return r + (r * z * ci_sin_series(z) + low * (1.0 - 0.5 * z));
}

static double st_cos(double r, double low) {
  const double z = r * r, h = 0.5 * z, w = 1.0 - h;
  return w + (((1.0 - w) - h) + (z * z * ci_cos_series(z) - r * low));
}

/* sin(angle + quarter turns); quarter counts on from the angle's own. */
static double st_wave(st_angle angle, int quarter) {
  quarter = (angle.quarter + quarter) & 3;
  const double y = quarter & 1 ? st_cos(angle.high, angle.low) : st_sin(angle.high, angle.low);
  return quarter & 2 ? -y : y;
}

/* pi / 2 in three parts, the first two of 33 bits: multiplying them by quarters below 2^20 is exact. Near a multiple,
 * where the lost bits would show, and for large x the bits of 2 / pi decide. */
static st_angle st_angle_of(double x) {
  if (fabs(x) <= 0.785) return (st_angle){.high = x};
  if (fabs(x) < 0x1p20) {
    const double n = (x * 0x1.45f306dc9c883p-1 + 0x1.8p52) - 0x1.8p52;
    const double rest = x - n * 0x1.921fb544p+0;
    double low;
    const double high = ci_two_sum(rest, n * -0x1.0b4611a6p-34, &low);
    if (fabs(high) >= 0x1p-20) {
      const double tail = low - n * CI_HALF_PI_THIRD, sum = high + tail;
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
  const double high = ci_two_product(rest, CI_HALF_PI, &low);
  const st_angle angle = {.high = high, .low = low + rest * CI_HALF_PI_LOW, .quarter = quarter & 3};
  *sine = st_wave(angle, 0);
  *cosine = st_wave(angle, 1);
}

double ci_atan(double x) {
  const double size = fabs(x);
  if (size < 0x1p-28 || x != x) return x;
  const bool far = size > 1.0;
  const double a = far ? 1.0 / size : size;
  const int nearest = (int)(8.0 * a + 0.5);
  const double c = (double)nearest * 0.125, t = (a - c) / (1.0 + c * a), z = t * t;
  const double tail = t * z * ci_atan_series(z) + ci_atan_eighths[nearest][1];
  const double y = ci_atan_eighths[nearest][0] + (t + tail);
  return copysign(far ? (CI_HALF_PI - y) + CI_HALF_PI_LOW : y, x);
}

static double st_asin_series(double z) { return ci_asin_series(z); }

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
  const double low = st_half_acos(size, &high), y = ci_two_sum(CI_HALF_PI, -2.0 * high, &lost);
  return copysign(y + (lost + (CI_HALF_PI_LOW - 2.0 * low)), x);
}

double ci_acos(double x) {
  const double size = fabs(x);
  double high, lost;
  if (!(size <= 1.0)) return NAN;
  if (size <= 0.5) {
    const double y = ci_two_sum(CI_HALF_PI, -x, &lost);
    return y + (lost + (CI_HALF_PI_LOW - x * (x * x) * st_asin_series(x * x)));
  }
  const double low = st_half_acos(size, &high);
  if (x > 0.0) return 2.0 * (high + low);
  const double y = ci_two_sum(2.0 * CI_HALF_PI, -2.0 * high, &lost);
  return y + (lost + 2.0 * (CI_HALF_PI_LOW - low));
}
