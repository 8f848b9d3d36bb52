/* isa_sets.h - which instruction sets this build has vector code for: macros that are 0 or 1. */
#ifndef CI_ISA_SETS_H
#define CI_ISA_SETS_H
#include "isa.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(CI_NO_SIMD)
#define CI_ISA_X86 1
#else
#define CI_ISA_X86 0
#endif
#if defined(__aarch64__) && defined(__GNUC__) && !defined(CI_NO_SIMD) && !defined(CI_NO_NEON)
#define CI_ISA_ARM 1
#else
#define CI_ISA_ARM 0
#endif
#if defined(__wasm_simd128__) && !defined(CI_NO_SIMD) && !defined(CI_NO_SIMD128)
#define CI_ISA_WASM 1
#else
#define CI_ISA_WASM 0
#endif

/* Instruction sets may be left out, the portable code where there is another. */
#if CI_ISA_X86 && !defined(CI_NO_AVX2)
#define CI_ISA_X86_AVX2 1
#else
#define CI_ISA_X86_AVX2 0
#endif
#if CI_ISA_X86 && !defined(CI_NO_AVX512)
#define CI_ISA_X86_AVX512 1
#else
#define CI_ISA_X86_AVX512 0
#endif
#if !defined(CI_NO_PORTABLE) || !(CI_ISA_X86_AVX2 || CI_ISA_X86_AVX512 || CI_ISA_ARM || CI_ISA_WASM)
#define CI_ISA_ANYWHERE 1
#else
#define CI_ISA_ANYWHERE 0
#endif
#endif
