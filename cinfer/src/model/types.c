/* types.c - reads the type and shape messages of a model file. */
#include "model.h"
#include "../base/wire.h"

static ci_status types_broken(ci_error *error) {
  return ci_fail(error, CI_DATA_LOSS, "the model is damaged: a type cannot be read");
}

bool ci_dims_append(int64_t *dims, int32_t *rank, uint32_t key, uint32_t packed_key, uint64_t number, ci_span bytes) {
  if (key != packed_key) {
    if (*rank >= CI_MAX_RANK) return false;
    dims[(*rank)++] = (int64_t)number;
    return true;
  }
  ci_wire run = ci_wire_open(bytes);
  while (ci_wire_varint(&run, &number)) {
    if (*rank >= CI_MAX_RANK) return false;
    dims[(*rank)++] = (int64_t)number;
  }
  return !run.broken;
}

static ci_status types_dimension(ci_span message, ci_type *type, ci_error *error) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  int64_t size = -1;
  ci_span symbol = {NULL, 0};
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(DIMENSION_SIZE)) {
      size = (int64_t)field.number;
      if (size < 0) return ci_fail(error, CI_DATA_LOSS, "the model is damaged: a dimension is %lld", (long long)size);
    } else if (field.key == CI_KEY(DIMENSION_SYMBOL)) {
      symbol = field.bytes;
    }
  }
  if (wire.broken || !ci_is_string(symbol)) return types_broken(error);
  if (type->rank >= CI_MAX_RANK) {
    return ci_fail(error, CI_DATA_LOSS, "the model is damaged: a rank is above %d", CI_MAX_RANK);
  }
  type->symbol[type->rank] = symbol;
  type->dims[type->rank++] = size;
  return CI_OK;
}

ci_status ci_type_parse_shape(ci_span message, ci_type *type, ci_error *error) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  type->rank = 0;
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(SHAPE_DIM)) CI_TRY(types_dimension(field.bytes, type, error));
  }
  return wire.broken ? types_broken(error) : CI_OK;
}

static ci_status types_tensor(ci_span message, ci_type *type, ci_error *error) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  uint64_t dtype = 0;
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(TYPE_TENSORTYPE_DTYPE)) {
      dtype = field.number;
    } else if (field.key == CI_KEY(TYPE_TENSORTYPE_SHAPE)) {
      CI_TRY(ci_type_parse_shape(field.bytes, type, error));
    }
  }
  if (wire.broken) return types_broken(error);
  if (dtype == 0 || dtype > CI_PB_DATATYPE_INT2) {
    return ci_fail(error, CI_DATA_LOSS, "the model is damaged: there is no element type %llu",
                   (unsigned long long)dtype);
  }
  type->dtype = (int32_t)dtype;
  return CI_OK;
}

/* `outside`: the type around the one that is read here. */
static ci_status types_parse(ci_span message, int32_t outside, ci_type *type, ci_error *error) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  *type = (ci_type){.kind = outside, .rank = -1};
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(TYPE_TENSOR)) {
      CI_TRY(types_tensor(field.bytes, type, error));
    } else if (field.key == CI_KEY(TYPE_SEQUENCE) || field.key == CI_KEY(TYPE_OPTIONAL)) {
      const int32_t kind = field.key == CI_KEY(TYPE_SEQUENCE) ? CI_KIND_SEQUENCE : CI_KIND_OPTIONAL;
      if (outside != CI_KIND_TENSOR && !(outside == CI_KIND_OPTIONAL && kind == CI_KIND_SEQUENCE)) {
        return ci_fail(error, CI_UNIMPLEMENTED,
                       "cinfer has sequences of tensors and optional values of these and of tensors, nothing deeper");
      }
      CI_TRY(types_parse(field.bytes, outside | kind, type, error)); /* one deeper at most */
    }
  }
  return wire.broken ? types_broken(error) : CI_OK;
}

ci_status ci_type_parse(ci_span message, ci_type *type, ci_error *error) {
  return types_parse(message, CI_KIND_TENSOR, type, error);
}
