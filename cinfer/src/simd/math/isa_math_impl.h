/* isa_math_impl.h - float32 functions of vectors over vec.h: included once per instruction set. */
#include "isa_math_functions_impl.h"
#include "isa_math_map_impl.h"
#include "isa_math_reduce_impl.h"
#include "isa_math_rows_impl.h"
#include "isa_math_training_impl.h"
#if CI_ISA_DOUBLES && CI_ISA_DOUBLES_HERE
#include "isa_math_double_impl.h"
#endif
#if CI_HAS(recurrent)
#include "isa_math_recurrent_impl.h"
#endif

#define CI_M_UNARY_ENTRY(name, value) [CI_MATH_##name] = CI_N(unary_##name),
#define CI_M_BINARY_ENTRY(name, value) [CI_MATH_##name] = CI_N(binary_##name),
static const struct ci_isa_math CI_N(isa_math) = {
    .unary = {CI_MATH_UNARY_BUILT(CI_M_UNARY_ENTRY)},
    .binary = {CI_MATH_BINARY_BUILT(CI_M_BINARY_ENTRY)},
#if CI_ISA_DOUBLES
    .pow = ci_double_pow,
#if CI_HAS(trigonometry)
    .trigonometry = {ci_double_sin, ci_double_cos, ci_double_asin, ci_double_acos, ci_double_atan},
#endif
#endif
    .row = {CI_N(row_sum), CI_N(row_prod), CI_N(row_max), CI_N(row_min)},
    .columns = {CI_N(columns_sum), CI_N(columns_prod), CI_N(columns_max), CI_N(columns_min)},
#if CI_HAS_SOFTMAX
    .softmax = CI_N(softmax),
    .log_softmax = CI_N(log_softmax),
#endif
    .centre = CI_N(centre),
    .affine = CI_N(affine),
    .batch = CI_N(batch),
#if CI_HAS(training)
    .shifted_exp = CI_N(shifted_exp),
    .cross_entropy = CI_N(cross_entropy),
    .momentum = CI_N(momentum),
    .adam = CI_N(adam),
#endif
#if CI_HAS(recurrent)
    .lstm = CI_N(lstm),
    .gru = CI_N(gru),
    .lstm_units = CI_N(units_4),
    .gru_units = CI_N(units_3),
    .lstm_step = CI_N(lstm_step),
    .gru_step = CI_N(gru_step),
#endif
    .gradient_descent = CI_N(gradient_descent)};
#undef CI_M_UNARY_ENTRY
#undef CI_M_BINARY_ENTRY
#undef CI_M_GROUP
