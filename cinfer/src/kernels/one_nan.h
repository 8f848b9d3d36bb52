/* one_nan.h - replaces each NaN of a result by one quiet NaN, since payloads differ between processors. */
#ifndef CI_ONE_NAN_H
#define CI_ONE_NAN_H
#include "../base/value.h"

struct ci_isa;
/* Copies elements; every NaN of float32, float64 and the complex types becomes the same one. to may be from. */
void ci_one_nan_copy(const struct ci_isa *isa, void *to, const void *from, size_t bytes, int32_t dtype);
/* The same where they are. */
void ci_one_nan(const struct ci_isa *isa, void *data, size_t bytes, int32_t dtype);
/* Whether the value is known to have no NaN; false: it may have some. */
bool ci_has_one_nan(const struct ci_isa *isa, const ci_value *x);
#endif
