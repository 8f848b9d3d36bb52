/* bits_mode.h - floating-point environments that a host may have when it calls the library. */
#ifndef CI_TEST_BITS_MODE_H
#define CI_TEST_BITS_MODE_H
#include <fenv.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__) || defined(__SSE__) /* instructions by number: tcc has no names for them */
#define BITS_FLUSH 0x8040u /* flush to zero, denormals are zero */
static uint32_t bits_control(void) {
  uint32_t now = 0; /* sanitizers do not see what the instruction writes */
  __asm__ volatile(".byte 0x0f, 0xae, 0x18" : : "a"(&now) : "memory"); /* stmxcsr (%rax) */
  return now;
}
static void bits_set_control(uint32_t control) {
  __asm__ volatile(".byte 0x0f, 0xae, 0x10" : : "a"(&control) : "memory"); /* ldmxcsr (%rax) */
}
#elif defined(__aarch64__) && defined(__GNUC__)
#define BITS_FLUSH 0x1000000u
static uint32_t bits_control(void) {
  uint64_t now;
  __asm__ volatile("mrs %0, fpcr" : "=r"(now));
  return (uint32_t)now;
}
static void bits_set_control(uint32_t control) { __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)control)); }
#elif defined(__arm__) && defined(__ARM_FP) && defined(__GNUC__)
#define BITS_FLUSH 0x1000000u
static uint32_t bits_control(void) {
  uint32_t now;
  __asm__ volatile("vmrs %0, fpscr" : "=r"(now));
  return now;
}
static void bits_set_control(uint32_t control) { __asm__ volatile("vmsr fpscr, %0" : : "r"(control)); }
#else
#define BITS_FLUSH 0u /* a machine that always keeps denormals */
static uint32_t bits_control(void) { return 0; }
static void bits_set_control(uint32_t control) { (void)control; }
#endif

#if BITS_FLUSH == 0x1000000u /* ARM: by its register, because not every C library knows the modes */
#ifndef FE_TONEAREST
#define FE_TONEAREST 0
#define FE_UPWARD 0x400000
#define FE_DOWNWARD 0x800000
#define FE_TOWARDZERO 0xc00000
#endif
static int bits_rounding(void) { return (int)(bits_control() & FE_TOWARDZERO); }
static bool bits_set_rounding(int rounding) {
  bits_set_control((bits_control() & ~(uint32_t)FE_TOWARDZERO) | (uint32_t)rounding);
  return true;
}
#else
static int bits_rounding(void) { return fegetround(); }
static bool bits_set_rounding(int rounding) { return fesetround(rounding) == 0; }
#endif

typedef struct bits_mode {
  const char *name;
  int rounding;
  uint32_t flush;
} bits_mode;

/* The usual one first. */
static const bits_mode bits_modes[] = {
    {"usual", FE_TONEAREST, 0},
    {"flush", FE_TONEAREST, BITS_FLUSH},
#ifdef FE_UPWARD
    {"up", FE_UPWARD, 0},
    {"down", FE_DOWNWARD, 0},
    {"zero", FE_TOWARDZERO, BITS_FLUSH}, /* with flush, where there is such a thing */
#endif
};
enum { BITS_MODES = sizeof bits_modes / sizeof *bits_modes };

static bool bits_mode_holds(const bits_mode *mode) {
  return bits_rounding() == mode->rounding && (bits_control() & BITS_FLUSH) == mode->flush;
}

/* Whether this machine has it, and now in this thread. */
static bool bits_mode_set(const bits_mode *mode) {
  const bool usual = mode == bits_modes;
  if (!usual && mode->rounding == FE_TONEAREST && mode->flush == 0) return false; /* flush, which it has not */
  if (!bits_set_rounding(mode->rounding)) return usual;
  bits_set_control((bits_control() & ~BITS_FLUSH) | mode->flush);
  return bits_mode_holds(mode);
}
#endif
