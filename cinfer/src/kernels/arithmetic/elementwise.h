/* elementwise.h - the tables of elementwise functions: one for each operator and element type. */
#ifndef CI_ELEMENTWISE_H
#define CI_ELEMENTWISE_H
#include "../ci_kernel.h"
#include "../../simd/math/isa_math.h"

/* Operators of one input beyond those of isa_math.h, then of two. */
enum { CI_EW_NOT = CI_MATH_UNARY_COUNT, CI_EW_IS_NAN, CI_EW_IS_INF, CI_EW_BIT_NOT, CI_EW_UNARY_COUNT };
enum {
  CI_EW_MOD = CI_MATH_BINARY_COUNT,
  CI_EW_FMOD,
  CI_EW_POW,
  CI_EW_BIT_AND,
  CI_EW_BIT_OR,
  CI_EW_BIT_XOR,
  CI_EW_SHIFT_LEFT,
  CI_EW_SHIFT_RIGHT,
  CI_EW_EQUAL, /* from here on the result is bool */
  CI_EW_LESS,
  CI_EW_LESS_EQUAL,
  CI_EW_GREATER,
  CI_EW_GREATER_EQUAL,
  CI_EW_AND,
  CI_EW_OR,
  CI_EW_XOR,
  CI_EW_BINARY_COUNT
};

/* a and b are the operator's numbers: alpha and gamma, or the bounds of a clip. */
typedef void (*ci_typed_unary_fn)(void *y, const void *x, int64_t n, double a, double b);
/* scalar: CI_NO_SCALAR, CI_SCALAR_A, CI_SCALAR_B. */
typedef void (*ci_typed_binary_fn)(void *y, const void *a, const void *b, int64_t n, int scalar);
typedef void (*ci_clip_fn)(void *y, const void *x, int64_t n, const void *low, const void *high); /* NULL: no bound */

/* NULL: the operator does not take the type. float32 operators of isa_math.h are not here. */
CI_LOCAL ci_typed_unary_fn ci_typed_unary(int op, int32_t dtype);
CI_LOCAL ci_typed_binary_fn ci_typed_binary(int op, int32_t dtype);
CI_LOCAL ci_clip_fn ci_typed_clip(int32_t dtype);
/* Functions of one double over float32 (rounded once from double) or float64; NULL: another type. */
typedef double (*ci_scalar_fn)(double x);
typedef void (*ci_scalar_map_fn)(void *y, const void *x, int64_t n, ci_scalar_fn fn);
CI_LOCAL ci_scalar_map_fn ci_scalar_map(int32_t dtype);

/* Cast, docs/numerics.md "Casts". NULL: one of the types has no numbers. */
typedef void (*ci_cast_fn)(void *y, const void *x, int64_t n);
CI_LOCAL ci_cast_fn ci_cast_find(const struct ci_isa *isa, int32_t from, int32_t to);

/* Types of numbers: X(C type, name, ONNX number, type to compute in, class: F, S or U). */
#define CI_INTEGER_TYPES(X) CI_USUAL_INTEGERS(X) CI_RARE_INTEGERS(X)
#define CI_USUAL_INTEGERS(X)             \
  X(int32_t, i32, CI_INT32, uint32_t, S) \
  X(int64_t, i64, CI_INT64, uint64_t, S) \
  X(uint8_t, u8, CI_UINT8, uint32_t, U)
#define CI_RARE_INTEGERS(X)                \
  X(int8_t, i8, CI_INT8, uint32_t, S)      \
  X(int16_t, i16, CI_INT16, uint32_t, S)   \
  X(uint16_t, u16, CI_UINT16, uint32_t, U) \
  X(uint32_t, u32, CI_UINT32, uint32_t, U) \
  X(uint64_t, u64, CI_UINT64, uint64_t, U)
/* Those that operators compute with (ci_step_prepare refuses others); casts know all. */
#if CI_HAS(types)
#define CI_COMPUTED_INTEGERS CI_INTEGER_TYPES
#define CI_COMPUTED_NUMBERS(X) X(double, f64, CI_DOUBLE, double, F) CI_INTEGER_TYPES(X)
#else
#define CI_COMPUTED_INTEGERS CI_USUAL_INTEGERS
#define CI_COMPUTED_NUMBERS CI_USUAL_INTEGERS
#endif
enum { CI_DTYPES = 17 }; /* numbers 0 to 16 */

/* The column of a type in tables of functions: there are fewer columns than types, and CI_SLOTS means none. */
enum { CI_SLOTS = CI_HAS(types) || CI_HAS(bits) ? 12 : 7 };
#define CI_SLOT(id)         \
  ((id) == CI_FLOAT    ? 0  \
   : (id) == CI_DOUBLE ? 1  \
   : (id) == CI_INT32  ? 2  \
   : (id) == CI_INT64  ? 3  \
   : (id) == CI_UINT8  ? 4  \
   : (id) == CI_BOOL   ? 5  \
   : (id) == CI_STRING ? 6  \
   : (id) == CI_INT8   ? 7  \
   : (id) == CI_INT16  ? 8  \
   : (id) == CI_UINT16 ? 9  \
   : (id) == CI_UINT32 ? 10 \
   : (id) == CI_UINT64 ? 11 \
                       : 12)
#endif
