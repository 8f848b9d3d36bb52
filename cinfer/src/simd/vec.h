/* vec.h - one name for each vector instruction: included once per instruction set, without a guard on purpose.
 *
 * Before the include: CI_N(x) puts the instruction set's suffix on a name, and one of CI_VEC_AVX512, CI_VEC_AVX2,
 * CI_VEC_NEON, CI_VEC_SIMD128 or none of them (portable C, one lane) is defined. After it:
 *
 *   vf CI_VL floats, vi CI_VL int32, vm one truth value per lane; CI_MANY_REGISTERS: 32 vector registers
 *   v_load v_store v_set v_add v_sub v_mul v_div v_sqrt   IEEE, one rounding each
 *   v_fma(a, b, c) = a * b + c, v_nfma(a, b, c) = c - a * b   one rounding
 *   v_max(a, b) = a > b ? a : b, v_min(a, b) = a < b ? a : b   so a NaN in a is dropped, one in b stays
 *   v_gt v_ge v_eq v_is_nan (ordered but the last) v_select(m, a, b) = m ? a : b
 *   v_leading(m)   true lanes in front of the first false one
 *   v_bits v_from_bits vi_set vi_add vi_sub vi_and vi_or vi_xor vi_shl vi_sra vi_to_float
 *   v_load_part(p, n, fill) v_store_part(p, n, v)   the first n of CI_VL lanes, 0 <= n <= CI_VL
 *   v_sum_tree v_max_tree v_min_tree   lane i with lane i + CI_VL/2, then i + CI_VL/4 ... 1
 *   v_abs v_copy_sign(magnitude, sign)   by bits; vi_merge(m, a, b): the bits of a where m has ones, else those of b
 *   v_scale(p, n, n) = p * 2^n, rounded once; n from -150 to 128, as a float and as an integer; p from 1/2 to 2
 *   v_even(a, b)   lanes 0, 2, 4 ... of a, then lanes 1, 3, 5 ... of b: with a = v_load(p), b = v_load(p + CI_VL - 1)
 *                  every second number from p on
 *   CI_QUADS   fours of lanes of a vector, 0 where these are missing: v_quad(p) four numbers in each four of lanes,
 *              v_quads(p, row) those at p + i * row, v_quads_part and v_quads_store the first n of each,
 *              v_quads_of(p) number i at p in all of the i-th four, v_pick(v, i) lane i of each four in all of it
 *   CI_HALVES   whether there are v_load_half(p) and v_store_half(p, v): CI_VL float16, to nearest even; of NaN any
 *   v_behind(a)   0, then the lanes of a but the last
 *   vd CI_VL doubles: vd_zero() vd_store(p, v), vd_add(v, a) adds a float to each
 *   CI_DOUBLES   whether there are vd_of(v) vd_load(p) vd_set(x) vd_plus vd_times vd_over and v_of_doubles(v), and
 *                vd_by(a, n, inverse): the quotient of a sum of floats by an integer n below 2^50, see there
 *   CI_LOW_BYTES whether there is v_store_low_bytes(p, v): of each number its lowest eight bits
 *   CI_SQUARES   whether there is v_turn_bytes(to, to_row, from, from_row): rows of 16 x 16 bytes become columns
 *   v_turn(v)   CI_VL vectors, transposed as rows of a matrix
 *
 * No multiplication is an operand of an addition except through v_fma and v_nfma, so a compiler cannot fuse any.
 */
#include "vec_names.h"

#undef CI_VL
#undef CI_MANY_REGISTERS
#undef CI_QUADS
#undef CI_HALVES
#undef CI_LOW_BYTES
#undef CI_SQUARES
#undef CI_DOUBLES
#undef v_pick
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
#elif defined(CI_VEC_SIMD128)
#define CI_VL 4
#define CI_MANY_REGISTERS 0
#include "vec_simd128.h"
#else
#define CI_VL 1
#define CI_MANY_REGISTERS 0
#include "vec_portable.h"
#endif

#if !defined(CI_QUADS)
#define CI_QUADS 0
#endif
#if !defined(CI_DOUBLES)
#define CI_DOUBLES 0
#endif
#if !defined(CI_LOW_BYTES)
#define CI_LOW_BYTES 0
#endif
#if !defined(CI_SQUARES)
#define CI_SQUARES 0
#endif
#if !defined(CI_HALVES)
#define CI_HALVES 0
#endif

CI_INLINE vf v_abs(vf a) { return v_from_bits(vi_and(v_bits(a), vi_set(0x7fffffff))); }

CI_INLINE vf v_copy_sign(vf magnitude, vf sign) {
  return v_from_bits(vi_merge(vi_set(0x7fffffff), v_bits(magnitude), v_bits(sign)));
}

#if !defined(CI_VEC_AVX512)
/* n is beyond one power of two: 2^(n >> 1) times 2^(n - (n >> 1)), of which only the last multiplication rounds. */
CI_INLINE vf v_scale(vf p, vf n, vi whole) {
  const vi half = vi_sra(whole, 1);
  (void)n;
  const vf low = v_from_bits(vi_shl(vi_add(half, vi_set(127)), 23));
  const vf high = v_from_bits(vi_shl(vi_add(vi_sub(whole, half), vi_set(127)), 23));
  return v_mul(v_mul(p, low), high);
}
#endif
