/* fft.h - discrete Fourier transforms of any length, in double (docs/numerics.md, "Fourier transforms"). */
#ifndef CI_FFT_H
#define CI_FFT_H
#include "../ci_kernel.h"

enum { CI_FFT_MOST_FACTORS = 64, CI_FFT_APART = 8 };

typedef struct ci_fft { /* complex numbers are pairs of doubles */
  const struct ci_isa *isa;
  int64_t n;
  int64_t length; /* of the stages: n, or a power of two that holds a convolution with n terms */
  int factor_count;
  int factors[CI_FFT_MOST_FACTORS];
  const double *circle; /* exp(-2 pi i k / length) */
  const double *chirp;  /* exp(-pi i k k / n) where length is not n, else NULL */
  const double *kernel; /* the transform of the chirp's conjugate */
} ci_fft;

/* Bytes of the tables, and of one of the two buffers that transforms of so many lanes work in; false: too large. */
bool ci_fft_size(int64_t n, int64_t lanes, size_t *tables, size_t *buffer);
/* Doubles from real parts to imaginary ones. More than the parts: powers of two would share lines of the cache. */
CI_INLINE int64_t ci_fft_plane(const ci_fft *f, int64_t lanes) { return f->length * lanes + CI_FFT_APART; }
/* Makes the tables in memory of that size; n >= 1. */
void ci_fft_make(ci_fft *f, int64_t n, const struct ci_isa *isa, void *tables);
/* Transforms of several lanes, whose buffers are one: number k of lane l is at k * lanes + l. Of `x` only the first n
 * numbers are read. The result is in `x` or in `y`, whichever is returned. */
double *ci_fft_run(const ci_fft *f, int64_t lanes, double *x, double *y);
#endif
