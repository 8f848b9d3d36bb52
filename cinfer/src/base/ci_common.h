/* ci_common.h - declarations that every part uses: spans, checked sizes, errors, memory. */
#ifndef CI_COMMON_H
#define CI_COMMON_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../include/cinfer.h"
#include "../families.h"

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
    defined(__NO_SIGNED_ZEROS__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "cinfer gives the same bits everywhere and cannot be built with -ffast-math or its parts"
#endif

#if defined(__MINGW32__) && !defined(__NO_MATH_ERRNO__)
#error "cinfer needs the processor's square root, that of MinGW's C library is an x87's: compile with -fno-math-errno"
#endif

/* A multiplication and an addition round twice unless the source says v_fma: also under a plain `cc -O2`. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#if defined(__GNUC__)
#ifdef __MINGW32__ /* where printf means Microsoft's */
#define CI_PRINTF(f, a) __attribute__((format(gnu_printf, f, a)))
#else
#define CI_PRINTF(f, a) __attribute__((format(printf, f, a)))
#endif
#define CI_INLINE static inline __attribute__((always_inline, unused))
#define CI_OUTLINE static __attribute__((noinline, unused)) /* one copy: size before speed */
#if defined(__clang__) || defined(CI_SMALL)
#define CI_FAST
#else
#define CI_FAST \
  __attribute__((optimize("O3", "fp-contract=off", "no-trapping-math"))) /* loops over elements: speed before size */
#endif
#define CI_PREFETCH(p) __builtin_prefetch((p), 0, 2) /* any address will do */
#define CI_PREFETCH_NEAR(p) __builtin_prefetch((p), 0, 3)
#define CI_PREFETCH_WRITE(p) __builtin_prefetch((p), 1)
#else
#define CI_PREFETCH(p) ((void)(p))
#define CI_PREFETCH_NEAR(p) ((void)(p))
#define CI_PREFETCH_WRITE(p) ((void)(p))
#define CI_PRINTF(f, a)
#define CI_INLINE static inline
#define CI_OUTLINE static
#define CI_FAST
#endif

/* CI_SMALL: size before speed. Functions that would be inlined, and so compiled again for each caller, are compiled
 * once, and code for special shapes alone (CI_LARGE) is left out; the bits are the same. */
#ifdef CI_SMALL
#define CI_EITHER CI_OUTLINE
#define CI_LARGE 0
#else
#define CI_EITHER CI_INLINE
#define CI_LARGE 1
#endif

/* Internal functions: static in the one-file build, hidden in the others. Definitions follow a declaration, from which
 * they have it. */
#ifndef CI_LOCAL
#define CI_LOCAL
#endif
/* Functions that only missing families use are left to the compiler and the linker to drop. */
#if defined(__GNUC__) && (!CI_HAS_ALL || defined(CI_SMALL))
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-const-variable"
#endif

typedef struct ci_span { /* bytes in memory that the span does not own */
  const char *data;
  size_t length;
} ci_span;

#define CI_TRY(call)                            \
  do {                                          \
    ci_status try_status = (call);              \
    if (try_status != CI_OK) return try_status; \
  } while (0)

/* Sizes: every addition and multiplication of numbers that a file or a caller chose goes through these. */
CI_INLINE bool ci_add_size(size_t a, size_t b, size_t *sum) {
  *sum = a + b;
  return *sum >= a;
}
CI_INLINE bool ci_mul_size(uint64_t a, uint64_t b, size_t *result) {
  if (a != 0 && b > SIZE_MAX / a) return false;
  *result = (size_t)(a * b);
  return true;
}
/* In 64 bits, so that compilers for 32 see no comparison that is always true. */
CI_INLINE bool ci_at_most(uint64_t size, uint64_t most) { return size <= most; }
CI_INLINE int64_t ci_min(int64_t a, int64_t b) { return a < b ? a : b; }
CI_INLINE int64_t ci_ceil_div(int64_t n, int64_t by) { return (n + by - 1) / by; } /* both below 2^62 */
CI_INLINE size_t ci_round_up(size_t n, size_t multiple) { return (n + multiple - 1) / multiple * multiple; }

/* ---- dtype.c ---- */

/* Bits of an element: 4 or 2 where files pack them, else 8 for each byte of ci_dtype_size. For packed types: the bytes
 * in a file, and elements between files and memory, a byte each. ci_dtype_unpack: false if the last byte is not filled
 * up with zero bits. */
int ci_dtype_bits(int32_t dtype);
size_t ci_dtype_packed_bytes(int32_t dtype, size_t count);
void ci_dtype_pack(int32_t dtype, uint8_t *to, const uint8_t *from, size_t count);
bool ci_dtype_unpack(int32_t dtype, uint8_t *to, const uint8_t *from, size_t count);

/* Elements between this machine's byte order and little-endian, in place. */
void ci_dtype_swap(int32_t dtype, void *data, size_t bytes);

/* ---- error.c ---- */

/* Fills error (if not NULL) and returns status. */
ci_status ci_fail(ci_error *error, ci_status status, const char *format, ...) CI_PRINTF(3, 4);
ci_status ci_vfail(ci_error *error, ci_status status, const char *format, va_list arguments);
/* Replaces bytes that are not UTF-8, and control characters that a terminal would obey, with ?; `lines`: line ends and
 * tabs stay. */
void ci_printable(char *str, bool lines);

/* ---- options.c ---- */

/* Copies the caller's options, which begin with their size, over the defaults; given may be NULL. */
ci_status ci_take_options(void *options, size_t size, const void *given, const char *defaults, ci_error *error);
void ci_limits_fill(ci_limits *limits); /* defaults where a limit is 0 */

/* ---- span.c ---- */

bool ci_span_same(ci_span a, ci_span b);
bool ci_span_is(ci_span span, const char *str); /* str is not empty */
int ci_span_order(ci_span a, ci_span b); /* as memcmp: bytes, then length */
#define CI_SPAN_ARG(span) (int)((span).length > 200 ? 200 : (span).length), (span).data /* for "%.*s" */

/* ---- memory.c ---- */

/* Memory through the hook; blocks are 64-aligned and zeroed. bytes 0 gives a valid pointer. */
void *ci_alloc(const ci_allocator *allocator, size_t bytes);
void *ci_alloc_uncleared(const ci_allocator *allocator, size_t bytes); /* likewise, holding anything */
void ci_release(const ci_allocator *allocator, void *memory, size_t bytes);
#endif
