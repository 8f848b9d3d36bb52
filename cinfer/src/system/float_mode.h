/* float_mode.h - the floating-point environment that the bits need: rounding to nearest, denormals kept. */
#ifndef CI_FLOAT_MODE_H
#define CI_FLOAT_MODE_H
#include "../base/ci_common.h"

/* The mode of the calling thread, saved between enter and leave. */
typedef struct ci_float_mode {
  uint64_t control;
  bool changed;
} ci_float_mode;
void ci_float_enter(ci_float_mode *mode);
void ci_float_leave(const ci_float_mode *mode);
#endif
