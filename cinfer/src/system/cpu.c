/* cpu.c - the instruction sets of the processor, read once while the library is loaded: in a virtual machine each
 * CPUID takes some 30 microseconds. The compiler's own __builtin_cpu_supports does the same with 4 KB of code. */
#include "cpu.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>

enum { CPU_XSAVE = 1 << 27, CPU_YMM = 0x6, CPU_ZMM = 0xe6 }; /* the registers that the system saves: XCR0 */

static uint32_t cpu_found;

static bool cpu_all(uint32_t bits, uint32_t requested) { return (bits & requested) == requested; }

static void cpu_add(bool has, uint32_t feature) {
  if (has) cpu_found |= feature;
}

__attribute__((constructor)) static void cpu_ask(void) {
  uint32_t a = 0, ignored = 0, first = 0, b = 0, c = 0, saved = 0;
  (void)__get_cpuid(1, &a, &ignored, &first, &ignored);
  (void)__get_cpuid_count(7, 0, &a, &b, &c, &ignored);
  if ((first & CPU_XSAVE) != 0) __asm__("xgetbv" : "=a"(saved), "=d"(ignored) : "c"(0));
  const bool avx2 = cpu_all(saved, CPU_YMM) && cpu_all(b, 1u << 5) && cpu_all(first, 1u << 12 | 1u << 29);
  const bool avx512 = cpu_all(saved, CPU_ZMM) && avx2 && cpu_all(b, 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31);
  cpu_add(cpu_all(first, 1u << 20), CI_CPU_SSE42);
  cpu_add(cpu_all(first, 1u << 1), CI_CPU_PCLMUL);
  cpu_add(avx2, CI_CPU_AVX2);
  cpu_add(avx512, CI_CPU_AVX512);
  cpu_add(avx512 && cpu_all(c, 1u << 11), CI_CPU_VNNI);
  cpu_add(avx512 && cpu_all(c, 1u << 10), CI_CPU_VPCLMUL);
}

uint32_t ci_cpu(void) { return cpu_found; }
#else
uint32_t ci_cpu(void) { return 0; }
#endif
