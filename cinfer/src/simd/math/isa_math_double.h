/* isa_math_double.h - powers, sines and arcs of float32 by vectors of doubles (isa_math_double_impl.h): one copy, of
 * the lowest instruction set that has them, serves all. */
#ifndef CI_ISA_MATH_DOUBLE_H
#define CI_ISA_MATH_DOUBLE_H
#include "isa_math.h"

void ci_double_pow(float *y, const float *a, const float *b, int64_t n, int scalar);
void ci_double_sin(float *y, const float *x, int64_t n, float p, float q);
void ci_double_cos(float *y, const float *x, int64_t n, float p, float q);
void ci_double_asin(float *y, const float *x, int64_t n, float p, float q);
void ci_double_acos(float *y, const float *x, int64_t n, float p, float q);
void ci_double_atan(float *y, const float *x, int64_t n, float p, float q);
#endif
