/* fft.h - discrete Fourier transforms of any length, in double (docs/numerics.md, "Fourier transforms"). */
#ifndef CI_FFT_H
#define CI_FFT_H
#include "../ci_kernel.h"

enum { CI_FFT_MOST_FACTORS = 64 };

typedef struct ci_fft { /* complex numbers are pairs of doubles */
  int64_t n;
  int64_t length; /* of the stages: n, or a power of two that holds a convolution with n terms */
  int factor_count;
  int factors[CI_FFT_MOST_FACTORS];
  const double *circle; /* exp(-2 pi i k / length) */
  const double *chirp;  /* exp(-pi i k k / n) where length is not n, else NULL */
  const double *kernel; /* the transform of the chirp's conjugate */
} ci_fft;

/* Bytes of the tables, and of one of the two buffers that a transform works in; false: too large. */
bool ci_fft_size(int64_t n, size_t *tables, size_t *buffer);
/* Makes the tables in memory of that size; n >= 1. */
void ci_fft_make(ci_fft *f, int64_t n, void *tables);
/* The transform of the first n numbers of `x`; the result is in `x` or in `y`, whichever is returned. */
double *ci_fft_run(const ci_fft *f, double *x, double *y);
#endif
