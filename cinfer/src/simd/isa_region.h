/* isa_region.h - included first by the file of each instruction set (isa_portable.c, isa_avx2.c, ...). Each compiles
 * the vector code once, in a separate region, so that a build has several of them at work at the same time.
 *
 * No file needs a compiler flag: the regions carry their target with them. */
#ifndef CI_ISA_REGION_H
#define CI_ISA_REGION_H
#include "isa_sets.h"

#include "linear/isa_bytes.h"
#include "linear/isa_linear.h"
#include "linear/isa_linear_lists.h"
#include "math/isa_math.h"
#include "math/isa_math_double.h"
#include "math/isa_move.h"
#include "../math/scalar_math.h"
#include "../math/scalar_series.h"
#include "vec_names.h" /* brings the intrinsics, which must not be in a region */

#if CI_HAS(quantization)
#define CI_BYTES(name) &isa_bytes_##name
#else
#define CI_BYTES(name) NULL
#endif

#define CI_PRAGMA(x) _Pragma(#x)
#if defined(__clang__)
#define CI_TARGET_BEGIN(isa) CI_PRAGMA(clang attribute push(__attribute__((target(isa))), apply_to = function))
#define CI_TARGET_END CI_PRAGMA(clang attribute pop)
#else
#define CI_TARGET_BEGIN(isa) CI_PRAGMA(GCC push_options) CI_PRAGMA(GCC target(isa))
#define CI_TARGET_END CI_PRAGMA(GCC pop_options)
#endif

/* The names of an instruction set's tables. */
#define CI_ISA_TABLE(id, name, set, bytes) {id, name, &isa_math_##set, &isa_linear_##set, &isa_move_##set, bytes}
#endif
