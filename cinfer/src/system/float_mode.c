/* float_mode.c - saves and restores the host's floating-point environment: reading one register suffices where it is
 * the usual one. */
#include "float_mode.h"

#if (defined(__x86_64__) || defined(__SSE__)) && defined(__GNUC__)
#include <xmmintrin.h>
#define FLOAT_X86 1
#elif defined(__x86_64__) && defined(__TINYC__) /* which has neither intrinsics nor these instructions by name */
static unsigned _mm_getcsr(void) {
  unsigned now;
  __asm__ volatile(".byte 0x0f, 0xae, 0x18" : : "a"(&now) : "memory"); /* stmxcsr (%rax) */
  return now;
}
static void _mm_setcsr(unsigned now) { __asm__ volatile(".byte 0x0f, 0xae, 0x10" : : "a"(&now) : "memory"); }
#define FLOAT_X86 1
#elif (defined(__aarch64__) || (defined(__arm__) && defined(__ARM_FP))) && defined(__GNUC__)
#define FLOAT_ARM 1
#else
#include <fenv.h>
#endif

#if FLOAT_X86
/* 32-bit code has the x87's control word above: it turns 64-bit integers into numbers by that one's rounding, and exact
 * only where its precision is the widest. */
#ifdef __i386__
#define FLOAT_X87 (UINT64_C(0x300) << 32)
#define FLOAT_X87_ROUNDING (UINT64_C(0xc00) << 32)
#else
#define FLOAT_X87 0
#define FLOAT_X87_ROUNDING 0
#endif
/* Rounding, flush to zero, denormals are zero. */
static const uint64_t float_clear = (0x6000 | 0x8000 | 0x0040) | FLOAT_X87_ROUNDING, float_set = FLOAT_X87;
static uint64_t float_get(void) {
  uint64_t now = _mm_getcsr();
#ifdef __i386__
  uint16_t x87;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  now |= (uint64_t)x87 << 32;
#endif
  return now;
}
static void float_put(uint64_t control) {
  _mm_setcsr((unsigned)control);
#ifdef __i386__
  const uint16_t x87 = (uint16_t)(control >> 32);
  __asm__ volatile("fldcw %0" : : "m"(x87));
#endif
}

#elif FLOAT_ARM
/* Rounding, flush to zero, of halves too; the same bits in both registers. */
static const uint64_t float_clear = 0x1c00000 | 1 << 19, float_set = 0;
#ifdef __aarch64__
static uint64_t float_get(void) {
  uint64_t now;
  __asm__ volatile("mrs %0, fpcr" : "=r"(now));
  return now;
}
static void float_put(uint64_t control) { __asm__ volatile("msr fpcr, %0" : : "r"(control)); }
#else
static uint64_t float_get(void) {
  uint32_t now;
  __asm__ volatile("vmrs %0, fpscr" : "=r"(now));
  return now;
}
static void float_put(uint64_t control) { __asm__ volatile("vmsr fpscr, %0" : : "r"((uint32_t)control)); }
#endif

#else
/* Machines whose C library has only the rounding mode, a number of an int; none of them flushes by itself. */
static const uint64_t float_clear = UINT32_MAX, float_set = FE_TONEAREST;
static uint64_t float_get(void) {
  const int now = fegetround();
  return now < 0 ? FE_TONEAREST : (uint64_t)now; /* a C library without modes */
}
static void float_put(uint64_t control) { (void)fesetround((int)control); }
#endif

void ci_float_enter(ci_float_mode *mode) {
  const uint64_t now = float_get(), requested = (now & ~float_clear) | float_set;
  mode->control = now;
  mode->changed = now != requested;
  if (mode->changed) float_put(requested);
}

void ci_float_leave(const ci_float_mode *mode) {
  if (mode->changed) float_put(mode->control);
}
