/* scalar_series.h - the series of scalar_math.c and scalar_trig.c, which vectors of doubles have in common with them.
 */
#ifndef CI_SCALAR_SERIES_H
#define CI_SCALAR_SERIES_H
#include "scalar_parts.h"

#define CI_LN2_HIGH 0x1.62e42feep-1 /* 32 bits: times an exponent it is exact */
#define CI_LN2_LOW 0x1.a39ef35793c76p-33
#define CI_HALF_PI 0x1.921fb54442d18p+0
#define CI_HALF_PI_LOW 0x1.1a62633145c07p-54
#define CI_HALF_PI_THIRD 0x1.3198a2e037073p-69 /* the rest after parts of 33 and 33 bits */

/* The exponential series without its first two terms: (exp(r) - 1 - r) / (r * r), |r| <= 0.35. */
CI_INLINE double ci_exp_series(double r) {
  static const double factor[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0,
                                  1.0 / 362880.0,     1.0 / 40320.0,     1.0 / 5040.0,     1.0 / 720.0,
                                  1.0 / 120.0,        1.0 / 24.0,        1.0 / 6.0,        0.5};
  return ci_polynomial(factor, 12, r);
}

/* z * (2/3 + z * (2/5 + ...)) without its first `skip` terms and powers; z <= 0.0295. */
CI_INLINE double ci_log_series(double z, int skip) {
  static const double factor[] = {2.0 / 25.0, 2.0 / 23.0, 2.0 / 21.0, 2.0 / 19.0, 2.0 / 17.0, 2.0 / 15.0,
                                  2.0 / 13.0, 2.0 / 11.0, 2.0 / 9.0,  2.0 / 7.0,  2.0 / 5.0,  2.0 / 3.0};
  return ci_polynomial(factor, 12 - skip, z);
}

/* (sin(r) - r) / r^3 and (cos(r) - 1 + r r / 2) / r^4 by their series, |r| <= pi / 4. */
CI_INLINE double ci_sin_series(double z) {
  static const double factor[] = {
      1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0,
      1.0 / 362880.0,          -1.0 / 5040.0,          1.0 / 120.0,        -1.0 / 6.0};
  return ci_polynomial(factor, 8, z);
}
CI_INLINE double ci_cos_series(double z) {
  static const double factor[] = {
      -1.0 / 6402373705728000.0, 1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0,
      -1.0 / 3628800.0,          1.0 / 40320.0,          -1.0 / 720.0,         1.0 / 24.0};
  return ci_polynomial(factor, 8, z);
}

/* atan(x) = atan(c) + atan((x - c) / (1 + c x)) for the nearest c of eighths; beyond 1 by 1 / x. */
static const double ci_atan_eighths[9][2] = {{0.0, 0.0},
                                             {0x1.fd5ba9aac2f6ep-4, -0x1.cd37686760c17p-59},
                                             {0x1.f5b75f92c80ddp-3, 0x1.8ab6e3cf7afbdp-57},
                                             {0x1.6f61941e4def1p-2, -0x1.c63aae6f6e918p-56},
                                             {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
                                             {0x1.1e00babdefeb4p-1, -0x1.928df287a668fp-58},
                                             {0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56},
                                             {0x1.700a7c5784634p-1, -0x1.8c34d25aadef6p-56},
                                             {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55}};

/* (atan(t) - t) / t^3 for z = t t */
CI_INLINE double ci_atan_series(double z) {
  static const double factor[] = {1.0 / 13.0, -1.0 / 11.0, 1.0 / 9.0, -1.0 / 7.0, 1.0 / 5.0, -1.0 / 3.0};
  return ci_polynomial(factor, 6, z);
}

/* (asin(r) - r) / r^3 for z = r r <= 1/4: through the Chebyshev points of [0, 1/4], error 2^-53. */
CI_INLINE double ci_asin_series(double z) {
  static const double factor[] = {
      0x1.d72b2bc8155f8p-6, -0x1.e6aaa8a0a04ccp-7, 0x1.1d189408314eep-6, 0x1.65a9c4dfcf8b2p-8, 0x1.52420b04b37bep-7,
      0x1.782651caa6547p-7, 0x1.c9cf07674736ap-7,  0x1.1c4d35cf95421p-6, 0x1.6e8bb1c8209a2p-6, 0x1.f1c71c1db0623p-6,
      0x1.6db6db6e31f13p-5, 0x1.3333333332ecap-4,  0x1.5555555555556p-3};
  return ci_polynomial(factor, 13, z);
}
#endif
