/* checkpoint_save.c - writes a checkpoint so that a crash at any moment leaves the old one or the new one.
 *
 * Order: shard, graph, folder synced; index, folder synced: the commit point; the file `checkpoint`, folder synced;
 * then the shards that an older checkpoint of this prefix had. Every file is written under a temporary name, brought to
 * the disk and renamed. An error before the commit point removes what was written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "model.h"

enum { SAVE_ALIGN = 64, SAVE_CHUNK = 4096, SAVE_STATE_FILE_MOST = 1 << 20 };

typedef struct save_item { /* one variable */
  const ci_slot *slot;
  ci_span name;
  size_t nbytes;    /* in the shard */
  size_t item_size; /* what the bytes should be aligned to */
  uint64_t begin;   /* from the first tensor */
  uint32_t crc;
} save_item;

typedef struct save_job {
  ci_state *state;
  const ci_allocator *allocator;
  ci_folder folder;
  const char *base; /* last part of the prefix */
  ci_index index;
  save_item *items; /* in the order of the shard */
  size_t item_count, items_bytes;
  ci_out header;     /* of the shard */
  ci_out state_text; /* of the file `checkpoint` */
  char shard[CI_NAME_BYTES], index_file[CI_NAME_BYTES];
  char meta[CI_NAME_BYTES], plain_meta[CI_NAME_BYTES]; /* as written, and after the commit */
  const void *meta_data;
  size_t meta_bytes;
  ci_bytes old_bytes; /* the index that the new one replaces, if there is one */
  ci_index old;
  int written; /* final names that no index refers to yet: the shard, then the graph file */
} save_job;

static ci_status save_no_memory(ci_error *error) {
  return ci_fail(error, CI_RESOURCE_EXHAUSTED, "out of memory while saving a checkpoint");
}

/* ---- what is saved ---- */

/* The type in the shard's header; NULL: bytes, whose true type is in the index. */
static const char *save_type(int32_t dtype) {
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

static bool save_string_bytes(const ci_value *value, size_t *bytes) {
  const ci_string *strings = value->data;
  size_t total;
  if (!ci_mul_size((size_t)value->count, 8, &total)) return false;
  for (int64_t i = 0; i < value->count; i++)
    if (!ci_add_size(total, strings[i].length, &total)) return false;
  *bytes = total;
  return true;
}

/* Whole multiples of 64 first, then by falling element size, so that all tensors are aligned without gaps. */
static int save_order(const void *left, const void *right) {
  const save_item *a = left, *b = right;
  int ragged_a = a->nbytes % SAVE_ALIGN != 0, ragged_b = b->nbytes % SAVE_ALIGN != 0;
  if (ragged_a != ragged_b) return ragged_a - ragged_b;
  if (a->item_size != b->item_size) return a->item_size < b->item_size ? 1 : -1;
  return ci_span_order(a->name, b->name);
}

static int save_variable_order(const void *a, const void *b) {
  return ci_span_order(((const ci_saved *)a)->name, ((const ci_saved *)b)->name);
}

static int save_random_order(const void *a, const void *b) {
  return ci_span_order(((const ci_saved_random *)a)->name, ((const ci_saved_random *)b)->name);
}

static ci_status save_collect(save_job *job, ci_error *error) {
  int slots = ci_state_slot_count(job->state), randoms = ci_state_random_count(job->state);
  uint64_t end = 0;
  job->items_bytes = ((size_t)slots + 1) * sizeof *job->items;
  job->items = ci_alloc(job->allocator, job->items_bytes);
  if (!job->items) return save_no_memory(error);
  for (int i = 0; i < slots; i++) {
    const ci_slot *slot = ci_state_slot(job->state, i);
    if (!slot->initialized) continue;
    if (strcmp(slot->name, "__metadata__") == 0)
      return ci_fail(error, CI_INVALID_ARGUMENT, "a variable that is saved cannot be called '__metadata__'");
    save_item item = {.slot = slot, .name = {slot->name, strlen(slot->name)}, .nbytes = slot->value.bytes};
    item.item_size = slot->dtype == CI_STRING ? 1 : ci_dtype_size(slot->dtype);
    if (slot->dtype == CI_STRING && !save_string_bytes(&slot->value, &item.nbytes)) return save_no_memory(error);
    if (ci_dtype_bits(slot->dtype) < 8) item.nbytes = ci_packed_bytes(slot->dtype, item.nbytes);
    job->items[job->item_count++] = item;
  }
  qsort(job->items, job->item_count, sizeof *job->items, save_order);
  for (size_t i = 0; i < job->item_count; i++) {
    job->items[i].begin = end;
    end += job->items[i].nbytes;
  }
  for (int i = 0; i < randoms; i++) {
    const ci_random *random = ci_state_random(job->state, i);
    if (!random->initialized) continue;
    if (!CI_LIST_GROW(job->allocator, &job->index.randoms)) return save_no_memory(error);
    job->index.randoms.at[job->index.randoms.count++] =
        (ci_saved_random){{random->name, strlen(random->name)}, random->now};
  }
  if (job->index.randoms.count)
    qsort(job->index.randoms.at, job->index.randoms.count, sizeof *job->index.randoms.at, save_random_order);
  return CI_OK;
}

static ci_status save_name(const save_job *job, char name[CI_NAME_BYTES], const char *suffix, ci_error *error) {
  /* The temporary name is longer and must fit, too: "tmp-", the save's id, "-". */
  int length = snprintf(name, CI_NAME_BYTES, "%s%s", job->base, suffix);
  if (length > 0 && length + 21 < CI_NAME_BYTES) return CI_OK;
  return ci_fail(error, CI_INVALID_ARGUMENT, "the checkpoint's name '%s' is too long", job->base);
}

static ci_status save_names(save_job *job, ci_error *error) {
  char suffix[80];
  if (!ci_file_random(&job->index.save_id, sizeof job->index.save_id))
    return ci_fail(error, CI_UNAVAILABLE, "the operating system gives no random numbers");
  snprintf(suffix, sizeof suffix, ".data-%016llx-00000-of-00001.safetensors", (unsigned long long)job->index.save_id);
  CI_TRY(save_name(job, job->shard, suffix, error));
  CI_TRY(save_name(job, job->plain_meta, ".meta", error));
  return save_name(job, job->index_file, ".index", error);
}

static void save_read_old(save_job *job) {
  job->old.allocator = job->allocator;
  if (ci_folder_read(&job->folder, job->index_file, SIZE_MAX, &job->old_bytes, NULL) != CI_OK) return;
  if (ci_index_decode(job->allocator, &job->old_bytes, job->index_file, &job->old, NULL) != CI_OK)
    ci_index_free(&job->old);
}

/* A graph file that the old index refers to is not overwritten before the commit: a different one goes beside it. */
static ci_status save_meta_name(save_job *job, ci_error *error) {
  char suffix[32] = ".meta";
  if (!job->meta_data) return CI_OK;
  job->index.meta_nbytes = job->meta_bytes;
  job->index.meta_crc32c = ci_crc32c(0, job->meta_data, job->meta_bytes);
  if (job->old.meta_file.length > 0 &&
      (job->old.meta_nbytes != job->index.meta_nbytes || job->old.meta_crc32c != job->index.meta_crc32c))
    snprintf(suffix, sizeof suffix, ".meta-%016llx", (unsigned long long)job->index.save_id);
  CI_TRY(save_name(job, job->meta, suffix, error));
  job->index.meta_file = (ci_span){job->meta, strlen(job->meta)};
  return CI_OK;
}

/* ---- the shard ---- */

static void save_entry(ci_out *json, const save_item *item) {
  const ci_value *value = &item->slot->value;
  ci_out_text(json, ",");
  ci_out_json_string(json, item->slot->name);
  const char *type = save_type(value->dtype);
  ci_out_text(json, ":{\"dtype\":\"%s\",\"shape\":[", type ? type : "U8");
  if (!type) ci_out_text(json, "%llu", (unsigned long long)item->nbytes);
  for (int d = 0; type && d < value->rank; d++) ci_out_text(json, d ? ",%lld" : "%lld", (long long)value->dims[d]);
  ci_out_text(json, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)item->begin,
              (unsigned long long)item->begin + item->nbytes);
}

/* Spaces behind the JSON put the first tensor on a multiple of 64. */
static ci_status save_header(save_job *job, ci_error *error) {
  ci_out json = {.allocator = job->allocator};
  ci_out_text(&json, "{\"__metadata__\":{\"format\":\"graphio-shard\",\"version\":\"1\",\"save_id\":\"%016llx\"}",
              (unsigned long long)job->index.save_id);
  for (size_t i = 0; i < job->item_count; i++) save_entry(&json, &job->items[i]);
  ci_out_text(&json, "}");
  while (!json.failed && (json.length + 8) % SAVE_ALIGN != 0) ci_out_bytes(&json, " ", 1);
  ci_out_u64(&job->header, json.length);
  ci_out_bytes(&job->header, json.data, json.length);
  bool failed = json.failed || job->header.failed;
  ci_out_free(&json);
  return failed ? save_no_memory(error) : CI_OK;
}

static ci_status save_put(ci_writer *writer, const void *data, size_t bytes, uint32_t *crc, ci_error *error) {
  *crc = ci_crc32c(*crc, data, bytes);
  return ci_writer_put(writer, data, bytes, error);
}

static ci_status save_strings(ci_writer *writer, save_item *item, ci_error *error) {
  const ci_string *strings = item->slot->value.data;
  uint8_t chunk[SAVE_CHUNK];
  size_t used = 0;
  for (int64_t i = 0; i < item->slot->value.count; i++) {
    for (int b = 0; b < 8; b++) chunk[used++] = (uint8_t)((uint64_t)strings[i].length >> (8 * b));
    if (used == sizeof chunk || i + 1 == item->slot->value.count) {
      CI_TRY(save_put(writer, chunk, used, &item->crc, error));
      used = 0;
    }
  }
  for (int64_t i = 0; i < item->slot->value.count; i++)
    CI_TRY(save_put(writer, strings[i].data, strings[i].length, &item->crc, error));
  return CI_OK;
}

static ci_status save_packed(ci_writer *writer, save_item *item, ci_error *error) {
  const ci_value *value = &item->slot->value;
  const size_t each = (size_t)(8 / ci_dtype_bits(value->dtype)), count = value->bytes;
  uint8_t chunk[SAVE_CHUNK];
  for (size_t at = 0; at < count; at += SAVE_CHUNK * each) {
    size_t n = count - at < SAVE_CHUNK * each ? count - at : SAVE_CHUNK * each;
    ci_pack(value->dtype, chunk, (const uint8_t *)value->data + at, n);
    CI_TRY(save_put(writer, chunk, ci_packed_bytes(value->dtype, n), &item->crc, error));
  }
  return CI_OK;
}

static ci_status save_value(ci_writer *writer, save_item *item, ci_error *error) {
  const uint8_t *from = item->slot->value.data;
  const uint16_t one = 1;
  uint8_t chunk[SAVE_CHUNK], little;
  memcpy(&little, &one, 1);
  if (item->slot->dtype == CI_STRING) return save_strings(writer, item, error);
  if (ci_dtype_bits(item->slot->dtype) < 8) return save_packed(writer, item, error);
  if (little) return save_put(writer, from, item->nbytes, &item->crc, error);
  for (size_t at = 0; at < item->nbytes; at += SAVE_CHUNK) {
    size_t n = item->nbytes - at < SAVE_CHUNK ? item->nbytes - at : SAVE_CHUNK;
    memcpy(chunk, from + at, n);
    ci_checkpoint_swap(item->slot->dtype, chunk, n);
    CI_TRY(save_put(writer, chunk, n, &item->crc, error));
  }
  return CI_OK;
}

static ci_status save_shard_body(ci_writer *writer, void *argument, ci_error *error) {
  save_job *job = argument;
  CI_TRY(ci_writer_put(writer, job->header.data, job->header.length, error));
  for (size_t i = 0; i < job->item_count; i++) CI_TRY(save_value(writer, &job->items[i], error));
  return CI_OK;
}

/* ---- files ---- */

typedef ci_status (*save_body)(ci_writer *writer, void *argument, ci_error *error);

static ci_status save_span_body(ci_writer *writer, void *argument, ci_error *error) {
  const ci_span *span = argument;
  return ci_writer_put(writer, span->data, span->length, error);
}

static ci_status save_file(const save_job *job, const char *name, save_body body, void *argument, ci_error *error) {
  char temporary[CI_NAME_BYTES + 32];
  ci_writer writer;
  snprintf(temporary, sizeof temporary, "tmp-%016llx-%s", (unsigned long long)job->index.save_id, name);
  CI_TRY(ci_writer_create(&job->folder, temporary, &writer, error));
  ci_status status = body(&writer, argument, error);
  if (status != CI_OK) {
    ci_writer_abandon(&writer);
    return status;
  }
  CI_TRY(ci_writer_finish(&writer, error));
  status = ci_folder_rename(&job->folder, temporary, name, error);
  if (status != CI_OK) ci_folder_unlink(&job->folder, temporary);
  return status;
}

static ci_status save_describe(save_job *job, ci_error *error) {
  ci_index *index = &job->index;
  uint64_t end = job->header.length;
  for (size_t i = 0; i < job->item_count; i++) {
    const save_item *item = &job->items[i];
    const ci_value *value = &item->slot->value;
    if (!CI_LIST_GROW(job->allocator, &index->variables)) return save_no_memory(error);
    ci_saved *v = &index->variables.at[index->variables.count++];
    *v = (ci_saved){.name = item->name, .dtype = value->dtype, .rank = value->rank, .crc32c = item->crc};
    memcpy(v->dims, value->dims, (size_t)value->rank * sizeof *v->dims);
    v->offset = job->header.length + item->begin;
    v->nbytes = item->nbytes;
    end = v->offset + v->nbytes;
  }
  if (index->variables.count)
    qsort(index->variables.at, index->variables.count, sizeof *index->variables.at, save_variable_order);
  if (!CI_LIST_GROW(job->allocator, &index->shards)) return save_no_memory(error);
  index->shards.at[index->shards.count++] =
      (ci_saved_shard){{job->shard, strlen(job->shard)}, end, ci_crc32c(0, job->header.data, job->header.length)};
  index->time = ci_file_time();
  return CI_OK;
}

static ci_status save_index(save_job *job, ci_error *error) {
  ci_out bytes = {.allocator = job->allocator};
  ci_index_encode(&job->index, &bytes);
  ci_span span = {(const char *)bytes.data, bytes.length};
  ci_status status =
      bytes.failed ? save_no_memory(error) : save_file(job, job->index_file, save_span_body, &span, error);
  ci_out_free(&bytes);
  return status;
}

/* The lines of other checkpoints in the file `checkpoint` stay; ours is the last. An unreadable file is replaced. */
static void save_other_paths(const save_job *job, ci_out *text) {
  static const char key[] = "all_model_checkpoint_paths: \"";
  ci_bytes old = {0};
  if (ci_folder_read(&job->folder, "checkpoint", SAVE_STATE_FILE_MOST, &old, NULL) != CI_OK) return;
  const char *at = (const char *)old.data, *end = at + old.length;
  while (at < end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    size_t length = (size_t)((stop ? stop : end) - at), base = strlen(job->base);
    bool path = length > sizeof key && memcmp(at, key, sizeof key - 1) == 0 && at[length - 1] == '"';
    bool ours = path && length == sizeof key + base && memcmp(at + sizeof key - 1, job->base, base) == 0;
    if (path && !ours) {
      ci_out_bytes(text, at, length);
      ci_out_bytes(text, "\n", 1);
    }
    at += length + 1;
  }
  ci_file_unmap(job->allocator, &old);
}

static ci_status save_state_text(save_job *job, ci_error *error) {
  ci_out_text(&job->state_text, "model_checkpoint_path: \"%s\"\n", job->base);
  save_other_paths(job, &job->state_text);
  ci_out_text(&job->state_text, "all_model_checkpoint_paths: \"%s\"\n", job->base);
  return job->state_text.failed ? save_no_memory(error) : CI_OK;
}

static bool save_is_own(const save_job *job, const char *name) {
  size_t base = strlen(job->base);
  return strncmp(name, job->base, base) == 0 && strncmp(name + base, ".data-", 6) == 0;
}

/* After the commit: the graph file gets its plain name, and the shards of the index that the new one replaced go. It
 * names none of them. */
static void save_settle(const save_job *job) {
  if (job->meta_data && strcmp(job->meta, job->plain_meta) != 0)
    (void)ci_folder_rename(&job->folder, job->meta, job->plain_meta, NULL);
  for (size_t i = 0; i < job->old.shards.count; i++) {
    char name[CI_NAME_BYTES];
    ci_span file = job->old.shards.at[i].file;
    memcpy(name, file.data, file.length);
    name[file.length] = 0;
    if (save_is_own(job, name) && strcmp(name, job->shard) != 0) ci_folder_unlink(&job->folder, name);
  }
}

static ci_status save_commit(save_job *job, ci_error *error) {
  ci_span meta = {job->meta_data, job->meta_bytes};
  CI_TRY(save_file(job, job->shard, save_shard_body, job, error));
  job->written = 1;
  CI_TRY(save_describe(job, error));
  if (job->meta_data) {
    CI_TRY(save_file(job, job->meta, save_span_body, &meta, error));
    job->written = 2;
  }
  CI_TRY(ci_folder_sync(&job->folder, error));
  CI_TRY(save_index(job, error));
  job->written = 0;
  return ci_folder_sync(&job->folder, error);
}

/* A graph file under its plain name may be one that the old index refers to: it stays. */
static void save_abandon(const save_job *job) {
  if (job->written > 0) ci_folder_unlink(&job->folder, job->shard);
  if (job->written > 1 && (job->old.meta_file.length == 0 || strcmp(job->meta, job->plain_meta) != 0))
    ci_folder_unlink(&job->folder, job->meta);
}

static ci_status save_all(save_job *job, ci_error *error) {
  CI_TRY(save_names(job, error));
  save_read_old(job);
  CI_TRY(save_meta_name(job, error));
  CI_TRY(save_collect(job, error));
  CI_TRY(save_header(job, error));
  CI_TRY(save_state_text(job, error));
  ci_status status = save_commit(job, error);
  if (status != CI_OK) {
    save_abandon(job);
    return status;
  }
  ci_span text = {(const char *)job->state_text.data, job->state_text.length};
  CI_TRY(save_file(job, "checkpoint", save_span_body, &text, error));
  CI_TRY(ci_folder_sync(&job->folder, error));
  save_settle(job);
  return CI_OK;
}

ci_status ci_checkpoint_save(ci_state *state, const void *meta, size_t meta_bytes, const char *prefix, int64_t step,
                             ci_error *error) {
  if (!state || !prefix) return ci_fail(error, CI_INVALID_ARGUMENT, "ci_save needs a state and a prefix");
  save_job job = {.state = state, .allocator = ci_state_allocator(state), .meta_data = meta, .meta_bytes = meta_bytes};
  job.index = (ci_index){.allocator = job.allocator, .step = step < 0 ? -1 : step};
  job.header.allocator = job.state_text.allocator = job.allocator;
  CI_TRY(ci_folder_open(job.allocator, prefix, &job.folder, &job.base, error));
  ci_status status = save_all(&job, error);
  ci_index_free(&job.index);
  ci_index_free(&job.old);
  ci_file_unmap(job.allocator, &job.old_bytes);
  ci_out_free(&job.header);
  ci_out_free(&job.state_text);
  ci_release(job.allocator, job.items, job.items_bytes);
  ci_folder_close(&job.folder);
  return status;
}

ci_status ci_save(ci_state *state, const ci_model *model, const char *prefix, int64_t step, ci_error *error) {
  if (!state || !model) return ci_checkpoint_save(state, NULL, 0, prefix, step, error);
  ci_out meta = {.allocator = ci_state_allocator(state)};
  ci_status status = ci_checkpoint_meta(model, &meta, error);
  if (status == CI_OK) status = ci_checkpoint_save(state, meta.data, meta.length, prefix, step, error);
  ci_out_free(&meta);
  return status;
}
