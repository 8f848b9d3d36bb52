/* cpu.h - the instruction sets that an x86-64 processor has and its system lets programs use. */
#ifndef CI_CPU_H
#define CI_CPU_H
#include "../base/ci_common.h"

enum {
  CI_CPU_SSE42 = 1,
  CI_CPU_PCLMUL = 2,
  CI_CPU_AVX2 = 4,   /* and FMA, F16C */
  CI_CPU_AVX512 = 8, /* F, VL, BW, DQ */
  CI_CPU_VNNI = 16,
  CI_CPU_VPCLMUL = 32
};

uint32_t ci_cpu(void); /* a sum of these; 0 on other processors */
#endif
