/* incomplete_beta.c - the share of the beta distribution below a number. */
#include <math.h>

#include "scalar_math.h"
#include "special_math.h"

/* The contraction of the fraction 8.17.22 of the Digital Library of Mathematical Functions. */
static double ib_fraction(double a, double b, double x, double y, double far) {
  const double both = a + b;
  const double errors = (ci_stirling_error(both) - ci_stirling_error(a)) - ci_stirling_error(b);
  const double scale = sqrt(a) * (sqrt(b) / sqrt(both)) * ci_exp(errors - far) / CI_ROOT_2PI;
  const double gap = a * y - b * x + 1.0;
  ci_lentz f = ci_lentz_start(1.0 / ci_not_0(a / (a + 1.0) * gap));
  for (int i = 1; i <= CI_SPECIAL_STEPS; i++) {
    const double n = (double)i, under = a + (2.0 * n - 1.0), turn = n * ((b - n) * x);
    const double top = ((a + (n - 1.0)) / under) * ((both + (n - 1.0)) * x / under) * turn;
    const double bottom = (n + turn / under) + (a + n) / (a + (2.0 * n + 1.0)) * (gap + n * (2.0 - x));
    if (!ci_lentz_step(&f, top, bottom)) break;
  }
  const double share = scale > 0.0 ? scale * f.total : 0.0;
  return share > 1.0 ? 1.0 : share; /* by rounding, where the first parameter is next to 0 */
}

static double ib_share(double a, double b, double x) {
  const double y = 1.0 - x, both = a + b;
  const double far = ci_deviance(a, both * x) + ci_deviance(b, both * y);
  const double kurt = (b - a) / sqrt(a) / sqrt(b), scale = fabs(kurt) > 1.0 ? fabs(kurt) : 1.0;
  const double eta = sqrt(2.0 * far / both), t = (a * y >= b * x ? -eta : eta) * scale;
  if (!(a >= 30.0 && b >= 30.0 && fabs(t) <= 0.5)) {
    /* the fraction converges fast below the mean; above it 1 - the other share loses digits where this one is small,
     * which a small b makes it */
    const bool straight = x < (a + 1.0) / (both + 2.0) || (b < 1.0 && x <= 0.999);
    return straight ? ib_fraction(a, b, x, y, far) : 1.0 - ib_fraction(b, a, y, x, far);
  }
  const double total = ci_uniform_tail(t, scale * scale / both, kurt / scale, 1.0 / (scale * scale)).sum;
  const double rest = total * scale / (CI_ROOT_2PI * sqrt(both)), half = 0.5 * ci_erfcx(sqrt(far));
  const double share = ci_exp(-far) * (t <= 0.0 ? half - rest : half + rest);
  return t <= 0.0 ? share : 1.0 - share;
}

double ci_betainc(double a, double b, double x) {
  if (!(a > 0.0 && b > 0.0)) return NAN;
  if (x == 0.0 || x == 1.0) return x + 0.0;
  return x > 0.0 && x < 1.0 && a < INFINITY && b < INFINITY ? ib_share(a, b, x) : NAN;
}
