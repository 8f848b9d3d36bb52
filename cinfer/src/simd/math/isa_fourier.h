/* isa_fourier.h - a stage of a Fourier transform (docs/numerics.md, "Fourier transforms"), for several lanes at once.
 */
#ifndef CI_ISA_FOURIER_H
#define CI_ISA_FOURIER_H
#include "../../base/ci_common.h"

/* Numbers are complex: real parts, and imaginary ones `plane` doubles behind. `width` neighbours, of all lanes, have
 * the same roots of unity. */
typedef struct ci_fourier_stage {
  int factor;
  int64_t apart;        /* of the numbers that a sum takes, in widths */
  int64_t stride;       /* of the roots: number t of group j is multiplied by root j * t * stride */
  int64_t width;        /* stride * lanes */
  int64_t plane;        /* doubles */
  int64_t length;       /* how many roots there are */
  const double *circle; /* exp(-2 pi i k / length), pairs */
} ci_fourier_stage;
#endif
