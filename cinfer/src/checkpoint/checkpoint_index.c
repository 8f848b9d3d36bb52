/* checkpoint_index.c - encodes and decodes the index file P.index. */
#include <stdio.h>
#include <string.h>

#include "checkpoint.h"
#include "../model/model.h"
#include "../base/sort.h"
#include "../base/wire.h"

static const uint8_t index_magic[CI_CHECKPOINT_MAGIC_BYTES] = {0x89, 'G', 'I', 'X', 0x0d, 0x0a, 0x1a, 0x0a};

bool ci_checkpoint_index_begins(const ci_bytes *bytes) {
  return bytes->length >= sizeof index_magic && memcmp(bytes->data, index_magic, sizeof index_magic) == 0;
}

void ci_checkpoint_index_free(ci_index *index) {
  CI_LIST_FREE(index->allocator, &index->shards);
  CI_LIST_FREE(index->allocator, &index->variables);
  CI_LIST_FREE(index->allocator, &index->resources);
  *index = (ci_index){.allocator = index->allocator};
}

/* ---- encode ---- */

static void index_put_span(ci_out *out, uint32_t field, ci_span str) {
  ci_out_field_bytes(out, field, str.data, str.length);
}

static void index_put_variable(ci_out *m, const ci_saved *v) {
  index_put_span(m, CI_PB_CHECKPOINTVARIABLE_NAME, v->name);
  ci_out_field_varint(m, CI_PB_CHECKPOINTVARIABLE_DTYPE, (uint64_t)v->dtype);
  ci_out_field_packed(m, CI_PB_CHECKPOINTVARIABLE_DIMS, v->dims, v->rank);
  ci_out_field_varint(m, CI_PB_CHECKPOINTVARIABLE_SHARD, v->shard);
  ci_out_field_varint(m, CI_PB_CHECKPOINTVARIABLE_OFFSET, v->offset);
  ci_out_field_varint(m, CI_PB_CHECKPOINTVARIABLE_NBYTES, v->nbytes);
  ci_out_field_fixed32(m, CI_PB_CHECKPOINTVARIABLE_CRC32C, v->crc32c);
  index_put_span(m, CI_PB_CHECKPOINTVARIABLE_SLOT_OF, v->slot_of);
  index_put_span(m, CI_PB_CHECKPOINTVARIABLE_SLOT, v->slot);
}

/* The state is written even when it is empty: the field decides its kind. */
static void index_put_resource(ci_out *m, const ci_saved_resource *r) {
  ci_out state = {.allocator = m->allocator};
  index_put_span(m, CI_PB_CHECKPOINTRESOURCE_NAME, r->name);
  if (r->kind == CI_RESOURCE_GENERATOR) {
    ci_out_field_fixed64(&state, CI_PB_GENERATORSTATE_KEY, r->generator.key);
    ci_out_field_fixed64(&state, CI_PB_GENERATORSTATE_COUNTER, r->generator.counter);
  } else {
    ci_out_bytes(&state, r->bytes.data, r->bytes.length);
  }
  m->failed = m->failed || state.failed;
  ci_out_field_message(m, r->kind, &state);
  ci_out_free(&state);
}

/* In the order of field numbers, as every protobuf writer does it. */
static void index_put_message(ci_out *out, const ci_index *index) {
  ci_out m = {.allocator = out->allocator};
  ci_out_field_fixed64(out, CI_PB_CHECKPOINTINDEX_SAVE_ID, index->save_id);
  for (size_t i = 0; i < index->shards.count; i++, m.length = 0) {
    index_put_span(&m, CI_PB_SHARD_FILE, index->shards.at[i].file);
    ci_out_field_varint(&m, CI_PB_SHARD_NBYTES, index->shards.at[i].nbytes);
    ci_out_field_message(out, CI_PB_CHECKPOINTINDEX_SHARD, &m);
  }
  for (size_t i = 0; i < index->variables.count; i++, m.length = 0) {
    index_put_variable(&m, &index->variables.at[i]);
    ci_out_field_message(out, CI_PB_CHECKPOINTINDEX_VARIABLE, &m);
  }
  for (size_t i = 0; i < index->resources.count; i++, m.length = 0) {
    index_put_resource(&m, &index->resources.at[i]);
    ci_out_field_message(out, CI_PB_CHECKPOINTINDEX_RESOURCE, &m);
  }
  index_put_span(out, CI_PB_CHECKPOINTINDEX_META_FILE, index->meta_file);
  ci_out_field_varint(out, CI_PB_CHECKPOINTINDEX_META_NBYTES, index->meta_nbytes);
  ci_out_field_fixed32(out, CI_PB_CHECKPOINTINDEX_META_CRC32C, index->meta_crc32c);
  if (index->step >= 0) {
    ci_out_field_varint(out, CI_PB_CHECKPOINTINDEX_STEP, (uint64_t)index->step);
    ci_out_field_varint(out, CI_PB_CHECKPOINTINDEX_HAS_STEP, 1);
  }
  ci_out_field_varint(out, CI_PB_CHECKPOINTINDEX_TIME, (uint64_t)index->time);
  char producer[32];
  int length =
      snprintf(producer, sizeof producer, "graphio %d.%d.%d", CI_VERSION_MAJOR, CI_VERSION_MINOR, CI_VERSION_PATCH);
  ci_out_field_bytes(out, CI_PB_CHECKPOINTINDEX_PRODUCER, producer, (size_t)length);
  for (size_t i = 0; i < index->shards.count; i++) ci_out_u32(&m, index->shards.at[i].header_crc32c);
  ci_out_field_bytes(out, CI_PB_CHECKPOINTINDEX_SHARD_HEADER, m.data, m.length);
  out->failed = out->failed || m.failed;
  ci_out_free(&m);
}

void ci_checkpoint_index_encode(const ci_index *index, ci_out *out) {
  ci_out payload = {.allocator = out->allocator};
  index_put_message(&payload, index);
  out->failed = out->failed || payload.failed;
  ci_out_bytes(out, index_magic, sizeof index_magic);
  ci_out_u32(out, CI_CHECKPOINT_MAJOR | (uint32_t)CI_CHECKPOINT_MINOR << 16);
  ci_out_u32(out, 0);
  ci_out_u64(out, payload.length);
  ci_out_u32(out, ci_crc32c(0, payload.data, payload.length));
  if (!out->failed) ci_out_u32(out, ci_crc32c(0, out->data, CI_ENVELOPE_BYTES - 4));
  ci_out_bytes(out, payload.data, payload.length);
  ci_out_free(&payload);
}

/* ---- decode ---- */

typedef struct index_reader {
  ci_index *index;
  const char *name;
  ci_error *error;
  CI_LIST(uint32_t) header_crcs;
} index_reader;

static ci_status index_damaged(const index_reader *r, const char *what) {
  return ci_fail(r->error, CI_DATA_LOSS, "the checkpoint index '%s' is damaged: %s", r->name, what);
}

static ci_status index_too_new(const index_reader *r, unsigned major, unsigned minor, unsigned flags) {
  return ci_fail(r->error, CI_UNIMPLEMENTED,
                 "the checkpoint index '%s' was written by a newer graphio, in format version %u.%u with flags 0x%x; "
                 "this cinfer reads version %d.%d without flags: it is not damaged, a newer one is needed",
                 r->name, major, minor, flags, CI_CHECKPOINT_MAJOR, CI_CHECKPOINT_MINOR);
}

static ci_status index_no_memory(const index_reader *r) {
  return ci_fail(r->error, CI_RESOURCE_EXHAUSTED, "out of memory while reading the checkpoint index '%s'", r->name);
}

static ci_status index_open(const index_reader *r, const ci_bytes *bytes, ci_span *payload) {
  const uint8_t *b = bytes->data;
  if (bytes->length < CI_ENVELOPE_BYTES) return index_damaged(r, "it is shorter than its header");
  if (memcmp(b, index_magic, sizeof index_magic) != 0) return index_damaged(r, "it does not begin as one");
  if (ci_crc32c(0, b, 28) != ci_wire_load_u32(b + 28)) return index_damaged(r, "the header's checksum does not match");
  const unsigned version = ci_wire_load_u32(b + 8), flags = ci_wire_load_u32(b + 12);
  if ((version & 0xffff) != CI_CHECKPOINT_MAJOR || flags != 0)
    return index_too_new(r, version & 0xffff, version >> 16, flags);
  if (ci_wire_load_u64(b + 16) != bytes->length - CI_ENVELOPE_BYTES)
    return index_damaged(r, "its length is not the one in its header");
  *payload = (ci_span){(const char *)b + CI_ENVELOPE_BYTES, bytes->length - CI_ENVELOPE_BYTES};
  if (ci_crc32c(0, payload->data, payload->length) != ci_wire_load_u32(b + 24))
    return index_damaged(r, "its checksum does not match");
  return CI_OK;
}

static bool index_add_dim(ci_saved *v, uint64_t dim) {
  if (v->rank == CI_MAX_RANK || dim > INT64_MAX) return false;
  v->dims[v->rank++] = (int64_t)dim;
  return true;
}

static bool index_get_dims(ci_saved *v, ci_span packed) {
  ci_wire w = ci_wire_open(packed);
  uint64_t dim;
  while (ci_wire_varint(&w, &dim))
    if (!index_add_dim(v, dim)) return false;
  return !w.broken;
}

static ci_status index_get_variable(index_reader *r, ci_span message) {
  ci_saved v = {0};
  ci_wire w = ci_wire_open(message);
  ci_field f;
  bool good = true;
  while (good && ci_wire_next(&w, &f)) switch (f.key) {
      case CI_KEY(CHECKPOINTVARIABLE_NAME): v.name = f.bytes; break;
      case CI_KEY(CHECKPOINTVARIABLE_DTYPE): v.dtype = f.number <= INT32_MAX ? (int32_t)f.number : -1; break;
      case CI_KEY_PACKED(CHECKPOINTVARIABLE_DIMS): good = index_get_dims(&v, f.bytes); break;
      case CI_KEY(CHECKPOINTVARIABLE_DIMS): good = index_add_dim(&v, f.number); break;
      case CI_KEY(CHECKPOINTVARIABLE_SHARD): v.shard = f.number <= UINT32_MAX ? (uint32_t)f.number : UINT32_MAX; break;
      case CI_KEY(CHECKPOINTVARIABLE_OFFSET): v.offset = f.number; break;
      case CI_KEY(CHECKPOINTVARIABLE_NBYTES): v.nbytes = f.number; break;
      case CI_KEY(CHECKPOINTVARIABLE_CRC32C): v.crc32c = (uint32_t)f.number; break;
      case CI_KEY(CHECKPOINTVARIABLE_SLOT_OF): v.slot_of = f.bytes; break;
      case CI_KEY(CHECKPOINTVARIABLE_SLOT): v.slot = f.bytes; break;
      default: break;
    }
  good = good && ci_is_string(v.name) && ci_is_string(v.slot_of) && ci_is_string(v.slot);
  if (!good || w.broken) return index_damaged(r, "a variable's entry cannot be read");
  if (!CI_LIST_GROW(r->index->allocator, &r->index->variables)) return index_no_memory(r);
  r->index->variables.at[r->index->variables.count++] = v;
  return CI_OK;
}

static bool index_get_generator(ci_span message, ci_generator *value) {
  ci_wire w = ci_wire_open(message);
  ci_field f;
  while (ci_wire_next(&w, &f)) {
    if (f.key == CI_KEY(GENERATORSTATE_KEY)) value->key = f.number;
    if (f.key == CI_KEY(GENERATORSTATE_COUNTER)) value->counter = f.number;
  }
  return !w.broken;
}

/* Opaque here, but it must be a message. */
static bool index_is_message(ci_span message) {
  ci_wire w = ci_wire_open(message);
  ci_field f;
  while (ci_wire_next(&w, &f)) continue;
  return !w.broken;
}

static ci_status index_get_resource(index_reader *r, ci_span message) {
  ci_saved_resource resource = {.kind = 0};
  ci_wire w = ci_wire_open(message);
  ci_field f;
  bool good = true;
  while (good && ci_wire_next(&w, &f)) switch (f.key) {
      case CI_KEY(CHECKPOINTRESOURCE_NAME): resource.name = f.bytes; break;
      case CI_KEY(CHECKPOINTRESOURCE_GENERATOR):
        resource.kind = CI_RESOURCE_GENERATOR;
        good = index_get_generator(f.bytes, &resource.generator);
        break;
      case CI_KEY(CHECKPOINTRESOURCE_ITERATOR):
      case CI_KEY(CHECKPOINTRESOURCE_BLOB):
        good = f.key == CI_KEY(CHECKPOINTRESOURCE_BLOB) || index_is_message(f.bytes);
        resource.kind = f.key >> 3;
        resource.bytes = f.bytes;
        break;
      default: break;
    }
  good = good && ci_is_string(resource.name);
  if (!good || w.broken || resource.name.length == 0) return index_damaged(r, "a resource's entry cannot be read");
  if (resource.kind == 0) return index_damaged(r, "a resource has no state");
  if (!CI_LIST_GROW(r->index->allocator, &r->index->resources)) return index_no_memory(r);
  r->index->resources.at[r->index->resources.count++] = resource;
  return CI_OK;
}

static ci_status index_get_shard(index_reader *r, ci_span message) {
  ci_saved_shard shard = {0};
  ci_wire w = ci_wire_open(message);
  ci_field f;
  while (ci_wire_next(&w, &f)) {
    if (f.key == CI_KEY(SHARD_FILE)) shard.file = f.bytes;
    if (f.key == CI_KEY(SHARD_NBYTES)) shard.nbytes = f.number;
  }
  if (w.broken || !ci_file_safe_name(shard.file.data, shard.file.length))
    return index_damaged(r, "a shard's entry cannot be read, or names no plain file");
  if (!CI_LIST_GROW(r->index->allocator, &r->index->shards)) return index_no_memory(r);
  r->index->shards.at[r->index->shards.count++] = shard;
  return CI_OK;
}

static ci_status index_add_header_crc(index_reader *r, uint32_t crc) {
  if (!CI_LIST_GROW(r->index->allocator, &r->header_crcs)) return index_no_memory(r);
  r->header_crcs.at[r->header_crcs.count++] = crc;
  return CI_OK;
}

static ci_status index_get_header_crcs(index_reader *r, ci_span packed) {
  ci_wire w = ci_wire_open(packed);
  uint32_t crc;
  while (ci_wire_fixed32(&w, &crc)) CI_TRY(index_add_header_crc(r, crc));
  return w.broken ? index_damaged(r, "its shards' checksums cannot be read") : CI_OK;
}

static ci_status index_get_message(index_reader *r, ci_span message) {
  ci_index *index = r->index;
  ci_wire w = ci_wire_open(message);
  ci_field f;
  uint64_t step = 0, min_reader = 0;
  bool has_step = false;
  while (ci_wire_next(&w, &f)) switch (f.key) {
      case CI_KEY(CHECKPOINTINDEX_SAVE_ID): index->save_id = f.number; break;
      case CI_KEY(CHECKPOINTINDEX_SHARD): CI_TRY(index_get_shard(r, f.bytes)); break;
      case CI_KEY(CHECKPOINTINDEX_VARIABLE): CI_TRY(index_get_variable(r, f.bytes)); break;
      case CI_KEY(CHECKPOINTINDEX_RESOURCE): CI_TRY(index_get_resource(r, f.bytes)); break;
      case CI_KEY(CHECKPOINTINDEX_META_FILE): index->meta_file = f.bytes; break;
      case CI_KEY(CHECKPOINTINDEX_META_NBYTES): index->meta_nbytes = f.number; break;
      case CI_KEY(CHECKPOINTINDEX_META_CRC32C): index->meta_crc32c = (uint32_t)f.number; break;
      case CI_KEY(CHECKPOINTINDEX_STEP): step = f.number; break;
      case CI_KEY(CHECKPOINTINDEX_HAS_STEP): has_step = f.number != 0; break;
      case CI_KEY(CHECKPOINTINDEX_PRODUCER):
        if (!ci_is_string(f.bytes)) return index_damaged(r, "its producer is not a string");
        break;
      case CI_KEY(CHECKPOINTINDEX_TIME): index->time = f.number <= INT64_MAX ? (int64_t)f.number : 0; break;
      case CI_KEY(CHECKPOINTINDEX_MIN_READER): min_reader = f.number; break;
      case CI_KEY_PACKED(CHECKPOINTINDEX_SHARD_HEADER): CI_TRY(index_get_header_crcs(r, f.bytes)); break;
      case CI_KEY(CHECKPOINTINDEX_SHARD_HEADER): CI_TRY(index_add_header_crc(r, (uint32_t)f.number)); break;
      default: break;
    }
  if (w.broken) return index_damaged(r, "it is not an index");
  if (index->meta_file.length && !ci_file_safe_name(index->meta_file.data, index->meta_file.length))
    return index_damaged(r, "its graph file is not a plain file name");
  if (min_reader > CI_CHECKPOINT_MINOR)
    return index_too_new(r, CI_CHECKPOINT_MAJOR, min_reader < UINT16_MAX ? (unsigned)min_reader : UINT16_MAX, 0);
  index->step = has_step && step <= INT64_MAX ? (int64_t)step : -1;
  return CI_OK;
}

static ci_status index_check_variable(const index_reader *r, const ci_saved *v) {
  size_t bytes = ci_dtype_size(v->dtype);
  if (v->name.length == 0 || memchr(v->name.data, 0, v->name.length)) return index_damaged(r, "a variable has no name");
  if ((v->slot_of.length && memchr(v->slot_of.data, 0, v->slot_of.length)) ||
      (v->slot.length && memchr(v->slot.data, 0, v->slot.length)))
    return index_damaged(r, "the name of a slot has a byte 0");
  if (bytes == 0)
    return ci_fail(r->error, CI_UNIMPLEMENTED,
                   "variable '%.*s' of the checkpoint has element type %d, which this "
                   "library does not hold",
                   (int)(v->name.length < 200 ? v->name.length : 200), v->name.data, (int)v->dtype);
  if (v->dtype == CI_STRING) bytes = 8; /* the length; the text follows */
  for (int i = 0; i < v->rank; i++)
    if ((uint64_t)v->dims[i] > SIZE_MAX || !ci_mul_size(bytes, (uint64_t)v->dims[i], &bytes) ||
        !ci_at_most(bytes, INT64_MAX))
      return index_damaged(r, "a variable is impossibly large");
  if (ci_dtype_bits(v->dtype) < 8) bytes = ci_dtype_packed_bytes(v->dtype, bytes);
  if (v->dtype == CI_STRING ? v->nbytes < bytes : v->nbytes != bytes)
    return index_damaged(r, "a variable's length does not fit its shape");
  if (v->shard >= r->index->shards.count) return index_damaged(r, "a variable is in a shard that does not exist");
  const uint64_t end = r->index->shards.at[v->shard].nbytes;
  if (v->offset > end || v->nbytes > end - v->offset) return index_damaged(r, "a variable is outside of its shard");
  return CI_OK;
}

/* Ascending by offset; those without bytes before the one at the same offset. */
static bool index_lies_before(const void *owner, int32_t a, int32_t b) {
  const ci_index *index = owner;
  const ci_saved *v = &index->variables.at[a], *w = &index->variables.at[b];
  if (v->shard != w->shard) return v->shard < w->shard;
  return v->offset != w->offset ? v->offset < w->offset : v->nbytes < w->nbytes;
}

/* Each byte of a shard belongs to the header before its first variable, or to one variable: else a small file could
 * have any number of variables of a large shard's size. */
static ci_status index_check_positions(const index_reader *r, const int32_t *sorted) {
  const ci_index *index = r->index;
  for (size_t i = 0; i < index->variables.count; i++) {
    const ci_saved *v = &index->variables.at[sorted[i]];
    const ci_saved *next = i + 1 < index->variables.count ? &index->variables.at[sorted[i + 1]] : NULL;
    const bool last = next == NULL || next->shard != v->shard;
    if (v->offset + v->nbytes != (last ? index->shards.at[v->shard].nbytes : next->offset))
      return index_damaged(r, last ? "a shard is longer than its variables" : "variables overlap, or leave a gap");
  }
  return CI_OK;
}

static ci_status index_check_shards(const index_reader *r) {
  const ci_index *index = r->index;
  size_t bytes;
  if (index->variables.count > INT32_MAX || !ci_mul_size(index->variables.count, sizeof(int32_t), &bytes))
    return index_no_memory(r);
  int32_t *sorted = ci_alloc_uncleared(index->allocator, bytes);
  if (sorted == NULL) return index_no_memory(r);
  for (size_t i = 0; i < index->variables.count; i++) sorted[i] = (int32_t)i;
  ci_sort(sorted, index->variables.count, index_lies_before, index);
  const ci_status status = index_check_positions(r, sorted);
  ci_release(index->allocator, sorted, bytes);
  return status;
}

static ci_status index_check(const index_reader *r) {
  ci_index *index = r->index;
  if (r->header_crcs.count != index->shards.count) return index_damaged(r, "shards lack their checksums");
  for (size_t i = 0; i < index->shards.count; i++) index->shards.at[i].header_crc32c = r->header_crcs.at[i];
  for (size_t i = 1; i < index->shards.count; i++)
    if (ci_span_order(index->shards.at[i - 1].file, index->shards.at[i].file) >= 0)
      return index_damaged(r, "its shards are not sorted");
  for (size_t i = 0; i < index->variables.count; i++) {
    CI_TRY(index_check_variable(r, &index->variables.at[i]));
    if (i && ci_span_order(index->variables.at[i - 1].name, index->variables.at[i].name) >= 0)
      return index_damaged(r, "its variables are not sorted");
  }
  for (size_t i = 1; i < index->resources.count; i++)
    if (ci_span_order(index->resources.at[i - 1].name, index->resources.at[i].name) >= 0)
      return index_damaged(r, "its resources are not sorted");
  return index_check_shards(r);
}

ci_status ci_checkpoint_index_decode(const ci_allocator *allocator, const ci_bytes *bytes, const char *name,
                                     ci_index *index, ci_error *error) {
  index_reader r = {.index = index, .name = name, .error = error};
  ci_span payload = {NULL, 0};
  *index = (ci_index){.allocator = allocator, .step = -1};
  ci_status status = index_open(&r, bytes, &payload);
  const bool intact = status == CI_OK;
  if (status == CI_OK) status = index_get_message(&r, payload);
  if (status == CI_OK) status = index_check(&r);
  /* Fields of a later minor version are not damage: the checksums are right. */
  const unsigned minor = intact ? ci_wire_load_u32(bytes->data + 8) >> 16 : 0;
  if (status == CI_DATA_LOSS && minor > CI_CHECKPOINT_MINOR) status = index_too_new(&r, CI_CHECKPOINT_MAJOR, minor, 0);
  CI_LIST_FREE(allocator, &r.header_crcs);
  return status;
}

ci_status ci_checkpoint_read(const ci_folder *folder, const char *name, uint64_t most, ci_bytes *bytes,
                             ci_error *error) {
  ci_reader reader;
  *bytes = (ci_bytes){0};
  CI_TRY(ci_reader_open(folder, name, UINT64_MAX, &reader, error));
  const size_t size = (size_t)reader.size; /* it fits: ci_reader_open has looked */
  uint8_t *data = reader.size <= most ? ci_alloc_uncleared(folder->allocator, size) : NULL;
  ci_status status;
  if (reader.size > most)
    status = ci_fail(error, CI_DATA_LOSS, "'%s' has %llu bytes, more than such a file can have", name,
                     (unsigned long long)reader.size);
  else if (!data) status = ci_fail(error, CI_RESOURCE_EXHAUSTED, "out of memory while reading '%s'", name);
  else status = ci_reader_get(&reader, 0, data, size, error);
  if (status == CI_OK) *bytes = (ci_bytes){.data = data, .length = size};
  else if (data) ci_release(folder->allocator, data, size);
  ci_reader_close(&reader);
  return status;
}

ci_status ci_checkpoint_index_read(const ci_folder *folder, const char *name, ci_bytes *bytes, ci_index *index,
                                   ci_error *error) {
  *index = (ci_index){.allocator = folder->allocator};
  CI_TRY(ci_checkpoint_read(folder, name, CI_INDEX_MOST_BYTES, bytes, error));
  return ci_checkpoint_index_decode(folder->allocator, bytes, name, index, error);
}
