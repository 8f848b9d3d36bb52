/* vec_names.h - gives the names of vec.h the suffix of the instruction set at hand, and the machine's intrinsics. */
#ifndef CI_VEC_NAMES_H
#define CI_VEC_NAMES_H
#include <math.h>
#include <string.h>

#include "ci_common.h"
#include "soft_fma.h"
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__GNUC__)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

/* CI_N is looked up where a name is used, so these serve every instruction set. */
#define vf CI_N(vf)
#define vi CI_N(vi)
#define vm CI_N(vm)
#define vd CI_N(vd)
#define vd_zero CI_N(vd_zero)
#define vd_add CI_N(vd_add)
#define vd_store CI_N(vd_store)
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
#define v_fma_of_lanes CI_N(v_fma_of_lanes)
#define v_select CI_N(v_select)
#define v_bits CI_N(v_bits)
#define v_from_bits CI_N(v_from_bits)
#define vi_set CI_N(vi_set)
#define vi_add CI_N(vi_add)
#define vi_sub CI_N(vi_sub)
#define vi_and CI_N(vi_and)
#define vi_or CI_N(vi_or)
#define vi_xor CI_N(vi_xor)
#define vi_merge CI_N(vi_merge)
#define v_scale CI_N(v_scale)
#define vi_shl CI_N(vi_shl)
#define vi_sra CI_N(vi_sra)
#define vi_to_float CI_N(vi_to_float)
#define v_load_part CI_N(v_load_part)
#define v_store_part CI_N(v_store_part)
#define v_sum_tree CI_N(v_sum_tree)
#define v_max_tree CI_N(v_max_tree)
#define v_min_tree CI_N(v_min_tree)
#define v_even CI_N(v_even)
#define v_behind CI_N(v_behind)
#define v_turn CI_N(v_turn)
#define v_quad CI_N(v_quad)
#define v_quads CI_N(v_quads)
#define v_quads_of CI_N(v_quads_of)
#define v_quads_part CI_N(v_quads_part)
#define v_quads_store CI_N(v_quads_store)
#define v_abs CI_N(v_abs)
#define v_copy_sign CI_N(v_copy_sign)
#endif
