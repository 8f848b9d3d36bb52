/* checkpoint_shards.c - assigns variables to data files and offsets, and makes the headers of the data files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "../model/model.h"
#include "../base/wire.h"

enum { SHARD_ALIGN = 64 };

static ci_status shards_no_memory(ci_error *error) {
  return ci_fail(error, CI_RESOURCE_EXHAUSTED, "out of memory while saving a checkpoint");
}

/* The type in the shard's header; NULL: bytes, whose true type is in the index. */
static const char *shards_type(int32_t dtype) {
  switch (dtype) {
    case CI_FLOAT: return "F32";
    case CI_UINT8: return "U8";
    case CI_INT8: return "I8";
    case CI_UINT16: return "U16";
    case CI_INT16: return "I16";
    case CI_INT32: return "I32";
    case CI_INT64: return "I64";
    case CI_BOOL: return "BOOL";
    case CI_FLOAT16: return "F16";
    case CI_DOUBLE: return "F64";
    case CI_UINT32: return "U32";
    case CI_UINT64: return "U64";
    case CI_BFLOAT16: return "BF16";
    default: return NULL;
  }
}

static bool shards_string_bytes(const ci_value *value, size_t *bytes) {
  const ci_string *strings = value->data;
  size_t total;
  if (!ci_mul_size((uint64_t)value->count, 8, &total)) return false;
  for (int64_t i = 0; i < value->count; i++)
    if (!ci_add_size(total, strings[i].length, &total)) return false;
  *bytes = total;
  return true;
}

static int shards_name_order(const void *left, const void *right) {
  return ci_span_order(((const ci_shard_item *)left)->name, ((const ci_shard_item *)right)->name);
}

/* Multiples of 64 first, then by falling element size, so that all tensors are aligned without gaps. */
static int shards_order(const void *left, const void *right) {
  const ci_shard_item *a = left, *b = right;
  int ragged_a = a->nbytes % SHARD_ALIGN != 0, ragged_b = b->nbytes % SHARD_ALIGN != 0;
  if (a->shard != b->shard) return a->shard < b->shard ? -1 : 1;
  if (ragged_a != ragged_b) return ragged_a - ragged_b;
  if (a->item_size != b->item_size) return a->item_size < b->item_size ? 1 : -1;
  return ci_span_order(a->name, b->name);
}

static ci_status shards_add_item(ci_shards *plan, const ci_slot *slot, ci_error *error) {
  CI_TRY(ci_slot_check(slot, error));
  ci_shard_item item = {.slot = slot, .name = {slot->name, strlen(slot->name)}, .nbytes = slot->value.bytes};
  if (strcmp(slot->name, "__metadata__") == 0)
    return ci_fail(error, CI_INVALID_ARGUMENT, "a variable that is saved cannot be called '__metadata__'");
  if (!ci_utf8_valid(item.name))
    return ci_fail(error, CI_INVALID_ARGUMENT, "the name '%.200s' of a variable that is saved is not UTF-8",
                   slot->name);
  item.item_size = slot->dtype == CI_STRING ? 1 : ci_dtype_size(slot->dtype);
  if (slot->dtype == CI_STRING && !shards_string_bytes(&slot->value, &item.nbytes)) return shards_no_memory(error);
  if (ci_dtype_bits(slot->dtype) < 8) item.nbytes = ci_dtype_packed_bytes(slot->dtype, item.nbytes);
  plan->items[plan->count++] = item;
  return CI_OK;
}

/* Dealt in order of name, a new shard before the limit is passed; there is always a first. */
static ci_status shards_deal(ci_shards *plan, uint64_t most, ci_error *error) {
  uint64_t end = 0;
  qsort(plan->items, plan->count, sizeof *plan->items, shards_name_order);
  for (size_t i = 0; i == 0 || i < plan->count; i++) {
    const uint64_t nbytes = i < plan->count ? plan->items[i].nbytes : 0;
    if (i == 0 || (most && (end > most || nbytes > most - end))) {
      if (!CI_LIST_GROW(plan->allocator, &plan->files)) return shards_no_memory(error);
      plan->files.at[plan->files.count++] = (ci_shard){.first = i, .header.allocator = plan->allocator};
      end = 0;
    }
    if (i < plan->count) {
      plan->items[i].shard = (uint32_t)(plan->files.count - 1);
      plan->files.at[plan->files.count - 1].count++;
    }
    end += nbytes;
  }
  qsort(plan->items, plan->count, sizeof *plan->items, shards_order);
  for (size_t i = 0; i < plan->count; i++) {
    bool first = i == 0 || plan->items[i].shard != plan->items[i - 1].shard;
    plan->items[i].begin = first ? 0 : plan->items[i - 1].begin + plan->items[i - 1].nbytes;
  }
  return CI_OK;
}

static void shards_entry(ci_out *json, const ci_shard_item *item) {
  const ci_value *value = &item->slot->value;
  ci_out_string(json, ",");
  ci_out_json_string(json, item->slot->name);
  const char *type = shards_type(value->dtype);
  ci_out_string(json, ":{\"dtype\":\"%s\",\"shape\":[", type ? type : "U8");
  if (!type) ci_out_string(json, "%llu", (unsigned long long)item->nbytes);
  for (int d = 0; type && d < value->rank; d++) ci_out_string(json, d ? ",%lld" : "%lld", (long long)value->dims[d]);
  ci_out_string(json, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)item->begin,
                (unsigned long long)item->begin + item->nbytes);
}

/* Spaces after the JSON put the first tensor on a multiple of 64. */
static ci_status shards_header(const ci_shards *plan, ci_shard *shard, uint64_t save_id, ci_error *error) {
  ci_out json = {.allocator = plan->allocator};
  ci_out_string(&json, "{\"__metadata__\":{\"format\":\"graphio-shard\",\"version\":\"1\",\"save_id\":\"%016llx\"}",
                (unsigned long long)save_id);
  for (size_t i = 0; i < shard->count; i++) shards_entry(&json, &plan->items[shard->first + i]);
  ci_out_string(&json, "}");
  while (!json.failed && (json.length + 8) % SHARD_ALIGN != 0) ci_out_bytes(&json, " ", 1);
  ci_out_u64(&shard->header, json.length);
  ci_out_bytes(&shard->header, json.data, json.length);
  bool failed = json.failed || shard->header.failed;
  ci_out_free(&json);
  return failed ? shards_no_memory(error) : CI_OK;
}

ci_status ci_shards_headers(ci_shards *plan, uint64_t save_id, ci_error *error) {
  for (size_t i = 0; i < plan->files.count; i++) CI_TRY(shards_header(plan, &plan->files.at[i], save_id, error));
  return CI_OK;
}

ci_status ci_shards_plan(ci_state *state, uint64_t shard_bytes, ci_shards *plan, ci_error *error) {
  const int slots = ci_state_slot_count(state);
  plan->items_bytes = ((size_t)slots + 1) * sizeof *plan->items;
  plan->items = ci_alloc(plan->allocator, plan->items_bytes);
  if (!plan->items) return shards_no_memory(error);
  for (int i = 0; i < slots; i++)
    if (ci_state_slot(state, i)->initialized) CI_TRY(shards_add_item(plan, ci_state_slot(state, i), error));
  return shards_deal(plan, shard_bytes, error);
}

void ci_shards_free(ci_shards *plan) {
  for (size_t i = 0; i < plan->files.count; i++) ci_out_free(&plan->files.at[i].header);
  CI_LIST_FREE(plan->allocator, &plan->files);
  ci_release(plan->allocator, plan->items, plan->items_bytes);
}
