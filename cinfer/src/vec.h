/* vec.h - one name for each vector instruction: included once per instruction set, without a guard on purpose.
 *
 * Before the include: CI_N(x) puts the instruction set's suffix on a name, and one of CI_VEC_AVX512, CI_VEC_AVX2,
 * CI_VEC_NEON or none of them (portable C, one lane) is defined. After it:
 *
 *   vf CI_VL floats, vi CI_VL int32, vm one truth value per lane; CI_MANY_REGISTERS: 32 vector registers
 *   v_load v_store v_set v_add v_sub v_mul v_div v_sqrt   IEEE, one rounding each
 *   v_fma(a, b, c) = a * b + c, v_nfma(a, b, c) = c - a * b   one rounding
 *   v_max(a, b) = a > b ? a : b, v_min(a, b) = a < b ? a : b   so a NaN in a is dropped, one in b stays
 *   v_gt v_ge v_eq v_is_nan (ordered but the last) vm_or vm_and v_select(m, a, b) = m ? a : b
 *   v_bits v_from_bits vi_set vi_add vi_sub vi_and vi_or vi_xor vi_shl vi_sra vi_to_float
 *   v_load_part(p, n, fill) v_store_part(p, n, v)   the first n of CI_VL lanes, 0 <= n <= CI_VL
 *   v_sum_tree v_max_tree v_min_tree   lane i with lane i + CI_VL/2, then i + CI_VL/4 ... 1
 *   v_abs v_copy_sign(magnitude, sign)   by bits
 *
 * No product is an operand of a sum except through v_fma and v_nfma, so there is nothing that a compiler could fuse.
 */
#ifndef CI_VEC_NAMES
#define CI_VEC_NAMES
#include <math.h>
#include <string.h>

#include "ci_common.h"
#include "soft_fma.h"
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* CI_N is looked up where a name is used, so these serve every instruction set. */
#define vf CI_N(vf)
#define vi CI_N(vi)
#define vm CI_N(vm)
#define v_load CI_N(v_load)
#define v_store CI_N(v_store)
#define v_set CI_N(v_set)
#define v_add CI_N(v_add)
#define v_sub CI_N(v_sub)
#define v_mul CI_N(v_mul)
#define v_div CI_N(v_div)
#define v_sqrt CI_N(v_sqrt)
#define v_fma CI_N(v_fma)
#define v_nfma CI_N(v_nfma)
#define v_max CI_N(v_max)
#define v_min CI_N(v_min)
#define v_gt CI_N(v_gt)
#define v_ge CI_N(v_ge)
#define v_eq CI_N(v_eq)
#define v_is_nan CI_N(v_is_nan)
#define vm_or CI_N(vm_or)
#define vm_and CI_N(vm_and)
#define v_select CI_N(v_select)
#define v_bits CI_N(v_bits)
#define v_from_bits CI_N(v_from_bits)
#define vi_set CI_N(vi_set)
#define vi_add CI_N(vi_add)
#define vi_sub CI_N(vi_sub)
#define vi_and CI_N(vi_and)
#define vi_or CI_N(vi_or)
#define vi_xor CI_N(vi_xor)
#define vi_shl CI_N(vi_shl)
#define vi_sra CI_N(vi_sra)
#define vi_to_float CI_N(vi_to_float)
#define v_load_part CI_N(v_load_part)
#define v_store_part CI_N(v_store_part)
#define v_sum_tree CI_N(v_sum_tree)
#define v_max_tree CI_N(v_max_tree)
#define v_min_tree CI_N(v_min_tree)
#define v_abs CI_N(v_abs)
#define v_copy_sign CI_N(v_copy_sign)
#endif

#undef CI_VL
#undef CI_MANY_REGISTERS
#if defined(CI_VEC_AVX512)
#define CI_VL 16
#define CI_MANY_REGISTERS 1
#include "vec_avx512.h"
#elif defined(CI_VEC_AVX2)
#define CI_VL 8
#define CI_MANY_REGISTERS 0
#include "vec_avx2.h"
#elif defined(CI_VEC_NEON)
#define CI_VL 4
#define CI_MANY_REGISTERS 1
#include "vec_neon.h"
#else
#define CI_VL 1
#define CI_MANY_REGISTERS 0
#include "vec_portable.h"
#endif

CI_INLINE vf v_abs(vf a) { return v_from_bits(vi_and(v_bits(a), vi_set(0x7fffffff))); }

CI_INLINE vf v_copy_sign(vf magnitude, vf sign) {
  return v_from_bits(vi_or(vi_and(v_bits(magnitude), vi_set(0x7fffffff)), vi_and(v_bits(sign), vi_set(INT32_MIN))));
}
