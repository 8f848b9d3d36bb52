/* container.c - the container of a model file: header, checksums, and the data section after the message. */
#include <string.h>

#include "model.h"
#include "../base/wire.h"

enum { CONTAINER_HEADER = 64, CONTAINER_ALIGN = 64, CONTAINER_MAJOR = 1, CONTAINER_MINOR = 0 };
enum {
  CONTAINER_PACKED_TILES = 1, /* the flag of a file with tensors in packed tiles */
  CONTAINER_MOST_PACKED_TILE = 4096,
  CONTAINER_AT_ONCE = 1 << 24 /* bytes that are checked between two looks at whether the call has to end */
};
static const char container_magic[8] = {'\x89', 'G', 'I', 'O', '\r', '\n', '\x1a', '\n'};

static ci_status container_damaged(ci_error *error, const char *what) {
  return ci_fail(error, CI_DATA_LOSS, "the model file is damaged: %s", what);
}

static ci_status container_memory(ci_error *error) {
  return ci_fail(error, CI_RESOURCE_EXHAUSTED, "no memory for a constant");
}

static bool container_zero(const char *at, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) {
    if (at[i] != 0) return false;
  }
  return true;
}

static ci_status container_too_new(ci_span file, ci_error *error) {
  unsigned version = ci_wire_load_u32(file.data + 8), flags = ci_wire_load_u32(file.data + 12);
  return ci_fail(
      error, CI_UNIMPLEMENTED,
      "the model file was written by a newer graphio, in format version %u.%u with flags 0x%x; this cinfer reads "
      "version %d.%d with no flag but 0x%x: it is not damaged, a newer one is needed",
      version & 0xffff, version >> 16, flags, CONTAINER_MAJOR, CONTAINER_MINOR, CONTAINER_PACKED_TILES);
}

ci_status ci_container_misfit(ci_span file, ci_error *error) {
  const unsigned minor = ci_wire_load_u32(file.data + 8) >> 16;
  return minor > CONTAINER_MINOR ? container_too_new(file, error) : CI_DATA_LOSS;
}

ci_status ci_container_open(ci_span file, ci_span *graph, ci_span *data, bool *packed_tiles, ci_error *error) {
  const char *at = file.data;
  if (file.length < CONTAINER_HEADER) {
    return ci_fail(error, CI_DATA_LOSS, "the model file is damaged: it has %zu bytes, the header alone has %d",
                   file.length, CONTAINER_HEADER);
  }
  if (memcmp(at, container_magic, sizeof container_magic) != 0) {
    return container_damaged(error, "it does not start as a model file does");
  }
  if (ci_crc32c(0, at, 60) != ci_wire_load_u32(at + 60)) {
    return container_damaged(error, "the header's checksum does not match");
  }
  unsigned version = ci_wire_load_u32(at + 8), flags = ci_wire_load_u32(at + 12);
  if ((version & 0xffff) != CONTAINER_MAJOR || (flags & ~(unsigned)CONTAINER_PACKED_TILES) != 0)
    return container_too_new(file, error);
  *packed_tiles = flags != 0;
  if (!container_zero(at + 44, 16)) return container_damaged(error, "reserved bytes are not zero");
  uint64_t length = ci_wire_load_u64(at + 16), offset = ci_wire_load_u64(at + 24), bytes = ci_wire_load_u64(at + 32);
  if (length > INT32_MAX || length > file.length - CONTAINER_HEADER || offset > file.length ||
      bytes != file.length - offset || offset != ci_round_up(CONTAINER_HEADER + (size_t)length, CONTAINER_ALIGN)) {
    return container_damaged(error, "its sections do not fit its length");
  }
  *graph = (ci_span){at + CONTAINER_HEADER, (size_t)length};
  *data = (ci_span){at + offset, (size_t)bytes};
  if (ci_crc32c(0, graph->data, graph->length) != ci_wire_load_u32(at + 40)) {
    return container_damaged(error, "the graph section's checksum does not match");
  }
  if (!container_zero(graph->data + graph->length, (size_t)offset - CONTAINER_HEADER - (size_t)length)) {
    return container_damaged(error, "padding is not zero");
  }
  return CI_OK;
}

/* ---- tensors ---- */

typedef struct container_tensor {
  uint64_t dtype, offset, nbytes, packed_tile_width, packed_tile_axis;
  int64_t dims[CI_MAX_RANK];
  int32_t rank;
  uint32_t crc;
  bool stored;
  ci_span inline_bytes;
} container_tensor;

static ci_status container_fields(ci_span message, container_tensor *t, ci_error *error) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  while (ci_wire_next(&wire, &field)) {
    switch (field.key) {
      case CI_KEY(TENSOR_DTYPE): t->dtype = field.number; break;
      case CI_KEY(TENSOR_DIMS):
      case CI_KEY_PACKED(TENSOR_DIMS):
        if (!ci_dims_append(t->dims, &t->rank, field.key, CI_KEY_PACKED(TENSOR_DIMS), field.number, field.bytes)) {
          return container_damaged(error, "the dims of a tensor cannot be read");
        }
        break;
      case CI_KEY(TENSOR_DATA): t->inline_bytes = field.bytes; break;
      case CI_KEY(TENSOR_OFFSET): t->offset = field.number; break;
      case CI_KEY(TENSOR_NBYTES): t->nbytes = field.number; break;
      case CI_KEY(TENSOR_CRC32C): t->crc = (uint32_t)field.number; break;
      case CI_KEY(TENSOR_STORED): t->stored = field.number != 0; break;
      case CI_KEY(TENSOR_PACKED_TILE_WIDTH): t->packed_tile_width = field.number; break;
      case CI_KEY(TENSOR_PACKED_TILE_AXIS): t->packed_tile_axis = field.number; break;
      default: break;
    }
  }
  return wire.broken ? container_damaged(error, "a tensor cannot be read") : CI_OK;
}

/* Elements of the shape; false beyond 2^62, beyond a quarter of all addresses, or when a dimension is negative. */
static bool container_count(const container_tensor *t, int64_t *count) {
  *count = 1;
  bool empty = false;
  for (int i = 0; i < t->rank; i++) {
    if (t->dims[i] < 0) return false;
    if (t->dims[i] == 0) empty = true;
    else if (*count > ((int64_t)1 << 62) / t->dims[i]) return false;
    else *count *= t->dims[i];
  }
  if (empty) *count = 0;
  return (uint64_t)*count <= SIZE_MAX / 4;
}

/* The offset of a stored tensor: right after the one before, with zeros as padding. */
static ci_status container_position(const container_tensor *t, ci_span data, size_t *end, ci_span *bytes,
                                    ci_error *error) {
  size_t start = ci_round_up(*end, CONTAINER_ALIGN);
  if (t->offset != start || start > data.length || t->nbytes > data.length - start) {
    return container_damaged(error, "a tensor is outside of its range of the data section");
  }
  if (!container_zero(data.data + *end, start - *end)) return container_damaged(error, "padding is not zero");
  *bytes = (ci_span){data.data + start, (size_t)t->nbytes};
  *end = start + (size_t)t->nbytes;
  return CI_OK;
}

static bool container_is_little_endian(void) {
  const uint16_t one = 1;
  uint8_t low;
  memcpy(&low, &one, 1);
  return low == 1;
}

/* Bytes of the numbers that make an element: complex ones have two. */
static size_t container_word(int32_t dtype) {
  return dtype == CI_COMPLEX64 || dtype == CI_COMPLEX128 ? ci_dtype_size(dtype) / 2 : ci_dtype_size(dtype);
}

/* A copy of the elements in host order. */
static ci_status container_copy(ci_model *model, ci_value *value, ci_span bytes, ci_error *error) {
  uint8_t *copy = ci_pool_words(&model->pool, bytes.length);
  if (copy == NULL) return container_memory(error);
  size_t word = container_word(value->dtype);
  if (container_is_little_endian() || word == 1) {
    if (bytes.length > 0) memcpy(copy, bytes.data, bytes.length);
  } else {
    for (size_t i = 0; i < bytes.length; i++) {
      copy[i] = (uint8_t)bytes.data[i / word * word + (word - 1 - i % word)];
    }
  }
  value->data = copy;
  return CI_OK;
}

static ci_status container_strings(ci_model *model, ci_value *value, ci_span bytes, ci_error *error) {
  const size_t count = (size_t)value->count, lengths = 8 * count;
  if (count > bytes.length / 8) return container_damaged(error, "a string tensor is shorter than its shape says");
  value->bytes = count * sizeof(ci_string);
  ci_string *strings = ci_pool_alloc(&model->pool, value->bytes);
  if (strings == NULL) return container_memory(error);
  const char *str = bytes.data + lengths;
  size_t left = bytes.length - lengths;
  for (size_t i = 0; i < count; i++) {
    uint64_t length = ci_wire_load_u64(bytes.data + 8 * i);
    if (length > left) return container_damaged(error, "the lengths of a string tensor exceed its bytes");
    strings[i] = (ci_string){str, (size_t)length};
    str += length;
    left -= (size_t)length;
  }
  if (left != 0) return container_damaged(error, "a string tensor has bytes left over");
  value->data = strings;
  return CI_OK;
}

/* A byte an element, from the packed bytes. */
static ci_status container_packed(ci_model *model, ci_value *value, ci_span bytes, ci_error *error) {
  const size_t count = (size_t)value->count;
  if (ci_dtype_packed_bytes(value->dtype, count) != bytes.length) {
    return container_damaged(error, "a packed tensor has another length than its shape says");
  }
  uint8_t *elements = ci_pool_alloc(&model->pool, count);
  if (elements == NULL) return container_memory(error);
  if (!ci_dtype_unpack(value->dtype, elements, (const uint8_t *)bytes.data, count)) {
    return container_damaged(error, "the filling bits of a packed tensor are not zero");
  }
  value->data = elements;
  value->bytes = count;
  return CI_OK;
}

static ci_status container_elements(ci_model *model, ci_value *value, ci_span bytes, ci_error *error) {
  if (value->dtype == CI_STRING) return container_strings(model, value, bytes, error);
  size_t item = ci_dtype_size(value->dtype);
  if (ci_dtype_bits(value->dtype) < 8) return container_packed(model, value, bytes, error);
  if (!ci_mul_size((uint64_t)value->count, item, &value->bytes) || value->bytes != bytes.length) {
    return ci_fail(error, CI_DATA_LOSS, "the model file is damaged: a %s tensor of %lld elements has %zu bytes",
                   ci_dtype_name(value->dtype), (long long)value->count, bytes.length);
  }
  if (value->dtype == CI_BOOL) {
    for (size_t i = 0; i < bytes.length; i++) {
      if ((uint8_t)bytes.data[i] > 1) return container_damaged(error, "a bool is neither 0 nor 1");
    }
  }
  bool in_place =
      container_is_little_endian() && (uintptr_t)bytes.data % container_word(value->dtype) == 0 && bytes.length > 0;
  if (!in_place) return container_copy(model, value, bytes, error);
  value->data = (void *)(uintptr_t)bytes.data; /* constants are never written */
  return CI_OK;
}

/* Packed tiles are of float32 matrices that are stored, in a file whose flags have them. */
static bool container_has_its_packed_tiles(const ci_model *model, const container_tensor *t) {
  if (t->packed_tile_width == 0) return t->packed_tile_axis == 0;
  return model->packed_tiles && t->stored && t->dtype == CI_FLOAT && t->rank >= 2 &&
         t->packed_tile_width <= CONTAINER_MOST_PACKED_TILE &&
         (t->packed_tile_axis == 0 || t->packed_tile_axis == (uint64_t)t->rank - 1);
}

ci_status ci_constant_parse(ci_model *model, ci_span message, ci_span data, size_t *end, ci_constant *constant,
                            ci_error *error) {
  container_tensor t = {.inline_bytes = {"", 0}};
  ci_value value = {.data = NULL};
  CI_TRY(container_fields(message, &t, error));
  *constant = (ci_constant){.bytes = t.inline_bytes, .crc = t.crc};
  if (t.dtype == 0 || t.dtype > CI_PB_DATATYPE_INT2) return container_damaged(error, "a tensor has no element type");
  if (!container_count(&t, &value.count)) return container_damaged(error, "the shape of a tensor is impossible");
  if (!container_has_its_packed_tiles(model, &t))
    return container_damaged(error, "a tensor cannot be in these packed tiles");
  if (t.stored != (end != NULL) || (t.stored && t.inline_bytes.length > 0)) {
    return container_damaged(error, "a tensor is not stored where it belongs");
  }
  if (t.stored) {
    CI_TRY(container_position(&t, data, end, &constant->bytes, error));
    /* Text, truth values and packed numbers are looked at while they are read, so only others can wait. */
    constant->unchecked =
        model->lazy && t.dtype != CI_STRING && t.dtype != CI_BOOL && ci_dtype_bits((int32_t)t.dtype) >= 8;
    if (!constant->unchecked && !ci_constant_intact(constant, &model->stop)) {
      CI_TRY(ci_load_go_on(model, error));
      return container_damaged(error, "the checksum of a tensor does not match");
    }
  }
  value.dtype = (int32_t)t.dtype;
  CI_TRY(container_elements(model, &value, constant->bytes, error));
  int64_t *dims = ci_pool_words(&model->pool, (size_t)t.rank * sizeof *dims);
  if (dims == NULL) return container_memory(error);
  memcpy(dims, t.dims, (size_t)t.rank * sizeof *dims);
  constant->data = value.data;
  constant->dims = dims;
  constant->packed_tile_width = (uint16_t)t.packed_tile_width;
  constant->packed_tile_last = t.packed_tile_axis > 0;
  constant->dtype = (uint8_t)t.dtype;
  constant->rank = (uint8_t)t.rank;
  return CI_OK;
}

ci_value ci_constant_value(const ci_constant *constant) {
  ci_value value = {.data = constant->data, .count = 1, .dtype = constant->dtype, .rank = constant->rank};
  for (int i = 0; i < value.rank; i++) {
    value.dims[i] = constant->dims[i];
    value.count *= constant->dims[i];
  }
  value.bytes = (size_t)value.count * ci_dtype_size(value.dtype);
  return value;
}

bool ci_constant_intact(const ci_constant *constant, ci_stop *stop) {
  ci_span left = constant->bytes;
  uint32_t crc = 0;
  while (left.length > CONTAINER_AT_ONCE && !ci_stop_requested(stop)) {
    crc = ci_crc32c(crc, left.data, CONTAINER_AT_ONCE);
    left = (ci_span){left.data + CONTAINER_AT_ONCE, left.length - CONTAINER_AT_ONCE};
  }
  return left.length <= CONTAINER_AT_ONCE && ci_crc32c(crc, left.data, left.length) == constant->crc;
}
