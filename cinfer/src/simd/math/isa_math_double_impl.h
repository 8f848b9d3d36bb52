/* isa_math_double_impl.h - powers, sines and arcs of float32 in double, as scalar_math.c and scalar_trig.c have them,
 * without branches: compilers make vectors of the loops. Included once, in the first region that has any
 * (isa_math_double.h).
 *
 * A piece writes NaN wherever the short way does not hold, and the function of one number then sees to it: the bits are
 * that function's always.
 */
enum { DOUBLE_PIECE = 64, DOUBLE_FEW = 4 /* numbers, which are faster one by one */, DOUBLE_TIMES = 8 };

/* Vectors are intended, not sixteen copies of the loop. */
#if defined(__GNUC__) && !defined(__clang__)
#define DOUBLE_LOOP(i) _Pragma("GCC unroll 1") for (int i = 0; i < DOUBLE_PIECE; i++)
#else
#define DOUBLE_LOOP(i) for (int i = 0; i < DOUBLE_PIECE; i++)
#endif

typedef struct double_job {
  void (*piece)(double *x, const double *z, int how); /* x becomes the result */
  double (*one)(double x); /* NULL: ci_pow_float */
  int how;
  /* relative to the result, half the width of the interval that has the function's own double; where both ends of it
   * round to one float, that is the float */
  double margin;
  bool always; /* the short way holds for all numbers: where it gives NaN, that is the result */
} double_job;

/* yes ? a : b by their bits: compilers move what one side alone needs into a branch otherwise, and make no vectors. */
CI_INLINE double double_choose(bool yes, double a, double b) {
  const uint64_t mask = 0 - (uint64_t)yes;
  return ci_double_from_bits((ci_double_bits(a) & mask) | (ci_double_bits(b) & ~mask));
}

/* The one NaN of results: NAN has another sign where a compiler makes it of 0 / 0. */
CI_INLINE float double_nan(void) { return ci_float_from(0x7fc00000); }

CI_FAST static void double_of(double *restrict d, const float *restrict x) { DOUBLE_LOOP(i) d[i] = (double)x[i]; }

/* Whether all of a piece hold. */
CI_FAST static bool double_round(float *restrict y, const double *restrict d, double margin) {
  int32_t odd = 0;
  DOUBLE_LOOP(i) {
    const float low = (float)(d[i] * (1.0 - margin)), high = (float)(d[i] * (1.0 + margin));
    y[i] = low == high ? low : double_nan();
    odd |= low != high;
  }
  return odd == 0;
}

static void double_run(const double_job *job, float *y, const float *x, const float *z, int64_t n, int scalar) {
  if (n <= 0) return;
  const bool few = n < DOUBLE_FEW;
  float in[2][DOUBLE_PIECE], out[DOUBLE_PIECE];
  double wide[2][DOUBLE_PIECE];
  for (int j = 0; j < DOUBLE_PIECE; j++) in[0][j] = *x, in[1][j] = *z;
  double_of(wide[1], in[1]);
  for (int64_t i = 0; i < n; i += DOUBLE_PIECE) {
    const int count = (int)(n - i < DOUBLE_PIECE ? n - i : DOUBLE_PIECE);
    if (scalar != CI_SCALAR_A) memcpy(in[0], x + i, (size_t)count * sizeof *x);
    if (scalar != CI_SCALAR_B) {
      memcpy(in[1], z + i, (size_t)count * sizeof *z);
      double_of(wide[1], in[1]);
    }
    double_of(wide[0], in[0]);
    if (few) memset(wide[0], 0xff, sizeof wide[0]);
    else job->piece(wide[0], wide[1], job->how);
    if (!double_round(out, wide[0], job->margin) && (few || !job->always)) {
      for (int j = 0; j < count; j++) {
        if (out[j] == out[j]) continue;
        out[j] = job->one != NULL ? (float)job->one((double)in[0][j]) : ci_pow_float(in[0][j], in[1][j]);
        if (out[j] != out[j]) out[j] = double_nan();
      }
    }
    memcpy(y + i, out, (size_t)count * sizeof *y);
  }
}

/* ---- Pow ---- */

/* The power of a whole number, or of 1/2 (times 0); above: else its inverse. Each step is one rounding. */
CI_FAST static void double_pow_short(double *restrict x, const double *restrict z, int times) {
  double d[DOUBLE_PIECE];
  memcpy(d, x, sizeof d);
  if (times == 0) {
    DOUBLE_LOOP(i) x[i] = sqrt(d[i]) + 0.0;
  }
  for (int t = 1; t < times; t++) {
    DOUBLE_LOOP(i) x[i] *= d[i];
  }
  if (*z < 0.0) {
    DOUBLE_LOOP(i) x[i] = 1.0 / x[i];
  }
}

/* exp(z log(x)) of numbers above 0, and of those below it if all exponents are integers, by parity: ci_parity of all.
 */
CI_FAST static void double_pow_long(double *restrict x, const double *restrict z, int parity) {
  const uint64_t top = (uint64_t)1 << 63, keep = parity == 0 ? UINT64_MAX : ~top, sign = parity == 1 ? top : 0;
  DOUBLE_LOOP(i) {
    const double v = x[i], size = ci_double_from_bits(ci_double_bits(v) & keep);
    const uint64_t bits = ci_double_bits(size), offset = bits - 0x3fe6a09e00000000;
    const double k = ci_double_from_bits((offset + top) >> 52 | 0x4330000000000000) - (0x1p52 + 2048.0);
    const double f = ci_double_from_bits(bits - (offset & 0xfff0000000000000)) - 1.0;
    const double s = f / (2.0 + f), square = s * s, h = 0.5 * f * f;
    const double small = f - (h - (s * (h + square * ci_log_series(square, 0)) + k * CI_LN2_LOW));
    const double prod = z[i] * (k * CI_LN2_HIGH + small);
    /* beyond 200 there is no float: infinity or 0 in any case */
    const double above = double_choose(prod < -200.0, -200.0, prod), p = double_choose(above > 200.0, 200.0, above);
    const double whole = p * 0x1.71547652b82fep+0 + 0x1.8p52, n = whole - 0x1.8p52;
    const double high = p - n * CI_LN2_HIGH, shift = n * CI_LN2_LOW, r = high - shift, lost = (high - r) - shift;
    const double unit = ci_double_from_bits((ci_double_bits(whole) + 1023) << 52);
    const double power = (1.0 + (r + (r * r * ci_exp_series(r) + lost))) * unit;
    const double with_sign = ci_double_from_bits(ci_double_bits(power) | (ci_double_bits(v) & sign));
    const double held = double_choose((size > 0.0) & (size < INFINITY), with_sign, (double)NAN);
    x[i] = double_choose(z[i] == 2.0, v * v, held);
  }
}

/* ci_pow_float's double is within 2^-44 of the true power, that of few roundings within 2^-49. */
void ci_double_pow(float *y, const float *x, const float *z, int64_t n, int scalar) {
  double_job job = {double_pow_long, NULL, 0, 0.0, false};
  if (n > 0 && scalar == CI_SCALAR_B) {
    const float size = fabsf(*z);
    if (*z == 2.0f) {
      CI_N(binary_mul)(y, x, x, n, CI_NO_SCALAR);
      return;
    }
    job.how = ci_parity((double)*z);
    if (size == 0.5f || (job.how != 0 && size >= 1.0f && size <= (float)DOUBLE_TIMES)) {
      job.piece = double_pow_short;
      job.how = (int)size;
      job.margin = 0x1p-42;
    }
  }
  double_run(&job, y, x, z, n, scalar);
}

/* ---- sines and arcs ---- */

#if CI_HAS(trigonometry)
/* quarter 0: sin(x), 1: cos(x). Near multiples of pi / 2 and from 2^20 on more bits of pi would be needed. */
CI_FAST static void double_wave(double *restrict x, const double *restrict z, int quarter) {
  const double tiny = quarter == 0 ? 0x1p-28 : 0.0;
  (void)z;
  DOUBLE_LOOP(i) {
    const double v = x[i], size = fabs(v);
    const double whole = v * 0x1.45f306dc9c883p-1 + 0x1.8p52, n = whole - 0x1.8p52;
    double low;
    const double high = ci_two_sum(v - n * 0x1.921fb544p+0, n * -0x1.0b4611a6p-34, &low);
    const double tail = low - n * CI_HALF_PI_THIRD, r = high + tail, rest = (high - r) + tail;
    const double square = r * r, h = 0.5 * square, w = 1.0 - h;
    const double sine = r + (r * square * ci_sin_series(square) + rest * w);
    const double cosine = w + (((1.0 - w) - h) + (square * square * ci_cos_series(square) - r * rest));
    const uint64_t turns = ci_double_bits(whole) + (uint64_t)quarter;
    const double wave = double_choose((turns & 1) != 0, cosine, sine);
    const double with_sign = ci_double_from_bits(ci_double_bits(wave) ^ (turns & 2) << 62);
    const bool held = (size <= 0.785) | ((fabs(high) >= 0x1p-20) & (size < 0x1p20));
    x[i] = double_choose(size < tiny, v, double_choose(held, with_sign, (double)NAN)); /* the sign of zero, too */
  }
}

CI_FAST static void double_atan(double *restrict x, const double *restrict z, int how) {
  (void)z, (void)how;
  DOUBLE_LOOP(i) {
    const double v = x[i], size = fabs(v), inside = double_choose(size <= 1.0, size, 0.0);
    const double a = double_choose(size > 1.0, 1.0 / size, inside), up = 8.0 * a + 0.5;
    const double whole = (up + 0x1p52) - 0x1p52, nearest = whole - double_choose(whole > up, 1.0, 0.0);
    const double c = nearest * 0.125;
    const uint64_t at = ci_double_bits(nearest + 0x1p52) & 15; /* 0 to 8 */
    const double t = (a - c) / (1.0 + c * a), square = t * t,
                 tail = t * square * ci_atan_series(square) + ci_atan_eighths[at][1];
    const double y = ci_atan_eighths[at][0] + (t + tail), far = (CI_HALF_PI - y) + CI_HALF_PI_LOW;
    x[i] = double_choose(v != v, v, copysign(double_choose(size > 1.0, far, y), v));
  }
}

/* how 0: asin, 1: acos. Up to 1/2 a polynomial, beyond it the root of (1 - |x|) / 2 in two doubles; beyond 1 NaN. */
CI_FAST static void double_arc(double *restrict x, const double *restrict z, int how) {
  const bool cosine = how != 0;
  (void)z;
  DOUBLE_LOOP(i) {
    const double v = x[i], size = fabs(v), square = v * v, half = (1.0 - size) * 0.5;
    const double of = double_choose(size <= 0.5, square, half), series = ci_asin_series(of), s = sqrt(half);
    double s_low, lost, near_lost;
    const double back = ci_two_product(s, s, &s_low), twice = double_choose(s > 0.0, 2.0 * s, 1.0);
    const double low = s * half * series + ((half - back) - s_low) / twice, add = v * square * series;
    const double turn = double_choose(cosine, 2.0 * CI_HALF_PI, CI_HALF_PI);
    const double left = ci_two_sum(turn, -2.0 * s, &lost), by = double_choose(cosine, 2.0, 1.0);
    const double far = left + (lost + by * (CI_HALF_PI_LOW - low));
    const double from = ci_two_sum(CI_HALF_PI, -v, &near_lost);
    const double near_cosine = from + (near_lost + (CI_HALF_PI_LOW - add));
    const double far_cosine = double_choose(v > 0.0, 2.0 * (s + low), far);
    const double far_sine = copysign(left + (lost + (CI_HALF_PI_LOW - 2.0 * low)), v);
    x[i] = double_choose(cosine, double_choose(size <= 0.5, near_cosine, far_cosine),
                         double_choose(size <= 0.5, v + add, far_sine));
  }
}

#define DOUBLE_UNARY(name, piece, how, always)                                   \
  void ci_double_##name(float *y, const float *x, int64_t n, float a, float b) { \
    static const double_job job = {piece, ci_##name, how, 0.0, always};          \
    (void)a, (void)b;                                                            \
    double_run(&job, y, x, x, n, CI_SCALAR_B);                                   \
  }
DOUBLE_UNARY(sin, double_wave, 0, false)
DOUBLE_UNARY(cos, double_wave, 1, false)
DOUBLE_UNARY(asin, double_arc, 0, true)
DOUBLE_UNARY(acos, double_arc, 1, true)
DOUBLE_UNARY(atan, double_atan, 0, true)
#undef DOUBLE_UNARY
#endif
#undef DOUBLE_LOOP
