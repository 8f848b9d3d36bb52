/* checkpoint_restore.c - reads a checkpoint: everything is checked before anything of the state changes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "model.h"
#include "wire.h"

typedef struct restore_job {
  ci_state *state;
  const ci_allocator *allocator;
  ci_folder folder;
  char name[CI_NAME_BYTES]; /* of the index */
  ci_index index;
  ci_bytes index_bytes;
  CI_LIST(ci_bytes) shards;
  CI_LIST(ci_slot_change) slots;
  CI_LIST(ci_random_change) randoms;
  ci_pool strings;
} restore_job;

static ci_status restore_no_memory(ci_error *error) {
  return ci_fail(error, CI_RESOURCE_EXHAUSTED, "out of memory while restoring a checkpoint");
}

static uint64_t restore_limit(const restore_job *job) {
  const uint64_t most = ci_state_limits(job->state)->max_bytes;
  return most ? most : (uint64_t)1 << 46;
}

/* ---- shards ---- */

static int restore_place_order(const void *left, const void *right) {
  const ci_saved *a = *(const ci_saved *const *)left, *b = *(const ci_saved *const *)right;
  if (a->shard != b->shard) return a->shard < b->shard ? -1 : 1;
  if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
  return (a->nbytes > b->nbytes) - (a->nbytes < b->nbytes);
}

static ci_status restore_damaged(const restore_job *job, size_t shard, const char *what, ci_error *error) {
  return ci_fail(error, CI_DATA_LOSS, "the checkpoint shard '%.*s' is damaged: %s",
                 CI_SPAN_ARG(job->index.shards.at[shard].file), what);
}

static ci_status restore_read_shard(restore_job *job, size_t i, ci_error *error) {
  const ci_saved_shard *shard = &job->index.shards.at[i];
  char name[CI_NAME_BYTES];
  memcpy(name, shard->file.data, shard->file.length);
  name[shard->file.length] = 0;
  ci_status status = ci_folder_read(&job->folder, name, restore_limit(job), &job->shards.at[i], error);
  if (status == CI_NOT_FOUND)
    return ci_fail(error, CI_DATA_LOSS, "the checkpoint '%s' lacks its shard '%s'", job->name, name);
  CI_TRY(status);
  if (job->shards.at[i].length == shard->nbytes) return CI_OK;
  return ci_fail(error, CI_DATA_LOSS, "the checkpoint shard '%s' is damaged: it has %llu bytes, expected %llu", name,
                 (unsigned long long)job->shards.at[i].length, (unsigned long long)shard->nbytes);
}

static bool restore_values_valid(const ci_saved *v, const uint8_t *data) {
  if (v->dtype == CI_BOOL)
    for (uint64_t i = 0; i < v->nbytes; i++)
      if (data[i] > 1) return false;
  return true;
}

/* Header and tensors must fill the shard without a gap, so that no byte is unprotected. */
static ci_status restore_check_shards(restore_job *job, const ci_saved **by_place, ci_error *error) {
  size_t next = 0, n = job->index.variables.count;
  for (size_t s = 0; s < job->index.shards.count; s++) {
    const uint8_t *data = job->shards.at[s].data;
    uint64_t end = next < n && by_place[next]->shard == s ? by_place[next]->offset : job->shards.at[s].length;
    if (ci_crc32c(0, data, (size_t)end) != job->index.shards.at[s].header_crc32c)
      return restore_damaged(job, s, "the checksum of its header does not match", error);
    for (; next < n && by_place[next]->shard == s; next++) {
      const ci_saved *v = by_place[next];
      if (v->offset != end) return restore_damaged(job, s, "its tensors leave a gap or overlap", error);
      end += v->nbytes;
      if (ci_crc32c(0, data + v->offset, (size_t)v->nbytes) != v->crc32c)
        return ci_fail(error, CI_DATA_LOSS, "the checkpoint is damaged: the checksum of variable '%.*s' does not match",
                       CI_SPAN_ARG(v->name));
      if (!restore_values_valid(v, data + v->offset))
        return restore_damaged(job, s, "a bool is neither 0 nor 1", error);
    }
    if (end != job->shards.at[s].length) return restore_damaged(job, s, "bytes follow its last tensor", error);
  }
  return CI_OK;
}

static ci_status restore_shards(restore_job *job, ci_error *error) {
  const size_t shards = job->index.shards.count, n = job->index.variables.count;
  if (!CI_LIST_GROW_BY(job->allocator, &job->shards, shards)) return restore_no_memory(error);
  for (; job->shards.count < shards; job->shards.count++) {
    job->shards.at[job->shards.count] = (ci_bytes){0};
    ci_status status = restore_read_shard(job, job->shards.count, error);
    if (status != CI_OK) {
      job->shards.count++;
      return status;
    }
  }
  const size_t bytes = (n + 1) * sizeof(ci_saved *);
  const ci_saved **by_place = ci_alloc(job->allocator, bytes);
  if (!by_place) return restore_no_memory(error);
  for (size_t i = 0; i < n; i++) by_place[i] = &job->index.variables.at[i];
  qsort(by_place, n, sizeof *by_place, restore_place_order);
  ci_status status = restore_check_shards(job, by_place, error);
  ci_release(job->allocator, by_place, bytes);
  return status;
}

/* ---- what does not fit, all of it in one message ---- */

typedef struct restore_list {
  char text[800];
  size_t length;
  int named, dropped;
  bool missing;
} restore_list;

static void restore_note(restore_list *list, const char *format, ...) CI_PRINTF(2, 3);
static void restore_note(restore_list *list, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const size_t space = sizeof list->text - list->length;
  int n = vsnprintf(list->text + list->length, space, format, arguments);
  va_end(arguments);
  if (n < 0 || (size_t)n >= space) {
    list->text[list->length] = 0;
    list->dropped++;
    return;
  }
  list->length += (size_t)n;
  list->named++;
}

static const char *restore_shape(int32_t dtype, int rank, const int64_t *dims, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "%s[", ci_dtype_name(dtype));
  for (int i = 0; i < rank && used < size; i++) {
    const char *comma = i ? "," : "";
    int n = dims[i] < 0 ? snprintf(text + used, size - used, "%s?", comma)
                        : snprintf(text + used, size - used, "%s%lld", comma, (long long)dims[i]);
    used += n > 0 ? (size_t)n : 0;
  }
  if (used < size) snprintf(text + used, size - used, rank < 0 ? "...]" : "]");
  return text;
}

static void restore_compare(const ci_slot *slot, const ci_saved *v, restore_list *list) {
  char wanted[200], found[200];
  if (!v) {
    restore_note(list, "; '%s' is missing", slot->name);
    list->missing = true;
  } else if (!ci_slot_accepts(slot, v->dtype, v->rank, v->dims)) {
    restore_note(list, "; '%s' is %s, expected %s", slot->name,
                 restore_shape(v->dtype, v->rank, v->dims, found, sizeof found),
                 restore_shape(slot->dtype, slot->rank, slot->dims, wanted, sizeof wanted));
  }
}

static const ci_saved *restore_find(const ci_index *index, ci_span name) {
  size_t low = 0, high = index->variables.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = ci_span_order(index->variables.at[middle].name, name);
    if (order == 0) return &index->variables.at[middle];
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return NULL;
}

static ci_status restore_compare_all(const restore_job *job, ci_error *error) {
  restore_list list = {.named = 0};
  bool mismatch = false;
  for (int i = 0; i < ci_state_slot_count(job->state); i++) {
    const ci_slot *slot = ci_state_slot(job->state, i);
    const ci_saved *v = restore_find(&job->index, (ci_span){slot->name, strlen(slot->name)});
    restore_compare(slot, v, &list);
    mismatch = mismatch || (v && !ci_slot_accepts(slot, v->dtype, v->rank, v->dims));
  }
  if (list.named + list.dropped == 0) return CI_OK;
  char more[40] = "";
  if (list.dropped) snprintf(more, sizeof more, "; and %d more", list.dropped);
  return ci_fail(error, mismatch ? CI_INVALID_ARGUMENT : CI_NOT_FOUND,
                 "the checkpoint '%s' does not fit the model%s%s. Nothing was restored", job->name, list.text, more);
}

/* ---- values ---- */

static ci_status restore_strings(restore_job *job, const ci_saved *v, const uint8_t *data, ci_value *value,
                                 ci_error *error) {
  ci_string *strings = ci_pool_alloc(&job->strings, value->bytes);
  if (!strings) return restore_no_memory(error);
  const char *text = (const char *)data + 8 * (size_t)value->count;
  uint64_t left = v->nbytes - 8 * (uint64_t)value->count;
  for (int64_t i = 0; i < value->count; i++) {
    uint64_t length = ci_load_u64(data + 8 * i);
    if (length > left) return restore_damaged(job, v->shard, "the lengths of strings exceed their bytes", error);
    strings[i] = (ci_string){text, (size_t)length};
    text += length;
    left -= length;
  }
  if (left) return restore_damaged(job, v->shard, "the lengths of strings do not fill their bytes", error);
  value->data = strings;
  return CI_OK;
}

static ci_status restore_packed(restore_job *job, const ci_saved *v, const uint8_t *data, ci_value *value,
                                ci_error *error) {
  uint8_t *elements = ci_pool_alloc(&job->strings, value->bytes);
  if (!elements) return restore_no_memory(error);
  if (!ci_unpack(v->dtype, elements, data, value->bytes))
    return restore_damaged(job, v->shard, "filling bits are not zero", error);
  value->data = elements;
  return CI_OK;
}

/* The index was checked, so products do not wrap; strings and packed numbers are larger in memory than in the file. */
static ci_status restore_value(restore_job *job, const ci_saved *v, ci_value *value, ci_error *error) {
  uint8_t *data = (uint8_t *)(uintptr_t)job->shards.at[v->shard].data + v->offset;
  *value = (ci_value){.dtype = v->dtype, .rank = v->rank, .count = 1, .data = data};
  memcpy(value->dims, v->dims, sizeof value->dims);
  for (int i = 0; i < v->rank; i++) value->count *= v->dims[i];
  if (!ci_mul_size((size_t)value->count, ci_dtype_size(v->dtype), &value->bytes)) return restore_no_memory(error);
  if (v->dtype == CI_STRING) return restore_strings(job, v, data, value, error);
  if (ci_dtype_bits(v->dtype) < 8) return restore_packed(job, v, data, value, error);
  ci_checkpoint_swap(v->dtype, data, value->bytes);
  return CI_OK;
}

/* A state that lacks a variable or a generator gets it: a model that is opened later will find it. */
static ci_status restore_prepare(restore_job *job, ci_error *error) {
  for (size_t i = 0; i < job->index.variables.count; i++) {
    const ci_saved *v = &job->index.variables.at[i];
    if (!CI_LIST_GROW(job->allocator, &job->slots)) return restore_no_memory(error);
    ci_slot_change *change = &job->slots.at[job->slots.count++];
    CI_TRY(restore_value(job, v, &change->value, error));
  }
  if (!CI_LIST_GROW_BY(job->allocator, &job->randoms, job->index.randoms.count)) return restore_no_memory(error);
  return CI_OK;
}

static ci_status restore_declare(restore_job *job, ci_error *error) {
  for (size_t i = 0; i < job->slots.count; i++) {
    const ci_saved *v = &job->index.variables.at[i];
    int slot = ci_state_find(job->state, v->name);
    if (slot < 0) CI_TRY(ci_state_declare(job->state, v->name, v->dtype, v->rank, v->dims, &slot, error));
    job->slots.at[i].slot = slot;
  }
  for (size_t i = 0; i < job->index.randoms.count; i++) {
    const ci_saved_random *r = &job->index.randoms.at[i];
    int random = ci_state_find_random(job->state, r->name);
    if (random < 0) CI_TRY(ci_state_declare_random(job->state, r->name, false, 0, &random, error));
    job->randoms.at[job->randoms.count++] = (ci_random_change){random, r->value};
  }
  return CI_OK;
}

/* The graph file is not used here; if it is there it must be the one that was saved. A save renames it to the plain
 * name after its commit. */
static ci_status restore_check_meta(const restore_job *job, const char *base, ci_error *error) {
  char name[CI_NAME_BYTES];
  ci_bytes meta = {0};
  const ci_span file = job->index.meta_file;
  if (file.length == 0) return CI_OK;
  memcpy(name, file.data, file.length);
  name[file.length] = 0;
  ci_status status = ci_folder_read(&job->folder, name, restore_limit(job), &meta, error);
  if (status == CI_NOT_FOUND) {
    snprintf(name, sizeof name, "%s.meta", base);
    status = ci_folder_read(&job->folder, name, restore_limit(job), &meta, error);
  }
  if (status == CI_NOT_FOUND) return CI_OK;
  CI_TRY(status);
  const bool same =
      meta.length == job->index.meta_nbytes && ci_crc32c(0, meta.data, meta.length) == job->index.meta_crc32c;
  ci_file_unmap(job->allocator, &meta);
  return same ? CI_OK
              : ci_fail(error, CI_DATA_LOSS, "the graph file '%s' is damaged: it is not the one that was saved", name);
}

static ci_status restore_all(restore_job *job, const char *base, ci_error *error) {
  ci_status status = ci_folder_read(&job->folder, job->name, restore_limit(job), &job->index_bytes, error);
  if (status == CI_NOT_FOUND)
    return ci_fail(error, CI_NOT_FOUND, "there is no checkpoint: '%s' does not exist in '%s'", job->name,
                   job->folder.path);
  CI_TRY(status);
  CI_TRY(ci_index_decode(job->allocator, &job->index_bytes, job->name, &job->index, error));
  CI_TRY(restore_shards(job, error));
  CI_TRY(restore_check_meta(job, base, error));
  CI_TRY(restore_compare_all(job, error));
  CI_TRY(restore_prepare(job, error));
  CI_TRY(restore_declare(job, error));
  return ci_state_change(job->state, job->slots.at, (int)job->slots.count, job->randoms.at, (int)job->randoms.count,
                         error);
}

ci_status ci_restore(ci_state *state, const char *prefix, int64_t *step, ci_error *error) {
  const char *base;
  if (!state || !prefix) return ci_fail(error, CI_INVALID_ARGUMENT, "ci_restore needs a state and a prefix");
  CI_TRY(ci_state_idle(state, error));
  restore_job job = {.state = state, .allocator = ci_state_allocator(state)};
  job.index.allocator = job.strings.allocator = job.allocator;
  CI_TRY(ci_folder_open(job.allocator, prefix, &job.folder, &base, error));
  int length = snprintf(job.name, sizeof job.name, "%s.index", base);
  ci_status status = length < CI_NAME_BYTES ? restore_all(&job, base, error)
                                            : ci_fail(error, CI_INVALID_ARGUMENT, "the name '%s' is too long", base);
  if (status == CI_OK && step) *step = job.index.step;
  for (size_t i = 0; i < job.shards.count; i++) ci_file_unmap(job.allocator, &job.shards.at[i]);
  CI_LIST_FREE(job.allocator, &job.shards);
  CI_LIST_FREE(job.allocator, &job.slots);
  CI_LIST_FREE(job.allocator, &job.randoms);
  ci_pool_release(&job.strings);
  ci_index_free(&job.index);
  ci_file_unmap(job.allocator, &job.index_bytes);
  ci_folder_close(&job.folder);
  return status;
}
