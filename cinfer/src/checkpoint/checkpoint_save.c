/* checkpoint_save.c - writes a checkpoint so that a crash at any moment leaves the old one or the new one.
 *
 * Order: the record (checkpoint_record.c), empty; shards, graph, folder synced; the record written and renamed to the
 * index, folder synced: the commit point; the file `checkpoint`, folder synced; then garbage of this prefix and
 * checkpoints that are too old. Every file is written under a temporary name, brought to the disk and renamed. An error
 * before the commit point removes what was written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "../model/model.h"
#include "../base/wire.h"

enum { SAVE_CHUNK = 4096, SAVE_PIECE = 1 << 22, SAVE_ABANDONED_SECONDS = 3600, SAVE_LIST_TRIES = 4 };

typedef struct save_job {
  ci_state *state;
  const ci_allocator *allocator;
  const ci_save_options *options;
  ci_folder folder;
  const char *base; /* last part of the prefix */
  ci_index index;
  ci_shards data;
  ci_checkpoints list; /* the content of the file `checkpoint` before */
  ci_out list_string;    /* and after */
  char index_file[CI_NAME_BYTES];
  char meta[CI_NAME_BYTES]; /* as written */
  const void *meta_data;
  size_t meta_bytes;
  size_t written; /* shards under their final names that no index refers to yet */
  bool meta_written, committing;
  ci_record record;
} save_job;

static ci_status save_no_memory(ci_error *error) {
  return ci_fail(error, CI_RESOURCE_EXHAUSTED, "out of memory while saving a checkpoint");
}

/* ---- the variables and other state that is saved ---- */

static int save_variable_order(const void *a, const void *b) {
  return ci_span_order(((const ci_saved *)a)->name, ((const ci_saved *)b)->name);
}

static int save_resource_order(const void *a, const void *b) {
  return ci_span_order(((const ci_saved_resource *)a)->name, ((const ci_saved_resource *)b)->name);
}

static ci_span save_string(const char *str) { return (ci_span){str, str ? strlen(str) : 0}; }

static ci_status save_add_resource(save_job *job, ci_saved_resource resource, ci_error *error) {
  if (!ci_utf8_valid(resource.name))
    return ci_fail(error, CI_INVALID_ARGUMENT, "the name '%.*s' of a generator that is saved is not UTF-8",
                   CI_SPAN_ARG(resource.name));
  if (!CI_LIST_GROW(job->allocator, &job->index.resources)) return save_no_memory(error);
  job->index.resources.at[job->index.resources.count++] = resource;
  return CI_OK;
}

static ci_status save_resources(save_job *job, ci_error *error) {
  const ci_resources *kept = ci_state_resources(job->state);
  for (int i = 0; i < ci_state_random_count(job->state); i++) {
    const ci_random *random = ci_state_random(job->state, i);
    ci_saved_resource resource = {save_string(random->name), CI_RESOURCE_GENERATOR, random->now, {NULL, 0}};
    if (random->initialized) CI_TRY(save_add_resource(job, resource, error));
  }
  for (size_t i = 0; i < kept->count; i++) {
    const ci_resource *r = &kept->at[i];
    const ci_span bytes = {(const char *)r->data, r->bytes};
    CI_TRY(save_add_resource(job, (ci_saved_resource){save_string(r->name), r->kind, {0, 0}, bytes}, error));
  }
  const size_t count = job->index.resources.count;
  const ci_saved_resource *sorted = job->index.resources.at;
  if (count) qsort(job->index.resources.at, count, sizeof *sorted, save_resource_order);
  for (size_t i = 1; i < count; i++)
    if (ci_span_order(sorted[i - 1].name, sorted[i].name) == 0)
      return ci_fail(error, CI_INVALID_ARGUMENT, "a generator and a blob are both called '%.*s'",
                     CI_SPAN_ARG(sorted[i].name));
  return CI_OK;
}

static ci_status save_name(const save_job *job, char name[CI_NAME_BYTES], const char *suffix, ci_error *error) {
  /* The temporary name is longer and must fit, too: "tmp-", the save's id, "-". */
  int length = snprintf(name, CI_NAME_BYTES, "%s%s", job->base, suffix);
  if (length > 0 && length + 21 < CI_NAME_BYTES) return CI_OK;
  return ci_fail(error, CI_INVALID_ARGUMENT, "the checkpoint's name '%s' is too long", job->base);
}

static ci_status save_names(save_job *job, ci_error *error) {
  char suffix[96];
  job->index.save_id = ci_file_random();
  for (size_t i = 0; i < job->data.files.count; i++) {
    snprintf(suffix, sizeof suffix, ".data-%016llx-%05zu-of-%05zu.safetensors", (unsigned long long)job->index.save_id,
             i, job->data.files.count);
    CI_TRY(save_name(job, job->data.files.at[i].name, suffix, error));
  }
  return save_name(job, job->index_file, ".index", error);
}

/* Under a name that no other save uses. */
static ci_status save_meta_name(save_job *job, ci_error *error) {
  char suffix[32];
  if (!job->meta_data) return CI_OK;
  job->index.meta_nbytes = job->meta_bytes;
  job->index.meta_crc32c = ci_crc32c(0, job->meta_data, job->meta_bytes);
  snprintf(suffix, sizeof suffix, ".meta-%016llx", (unsigned long long)job->index.save_id);
  CI_TRY(save_name(job, job->meta, suffix, error));
  job->index.meta_file = (ci_span){job->meta, strlen(job->meta)};
  return CI_OK;
}

/* ---- the bytes of the shards ---- */

/* Each piece is checked, then written while it is in cache. */
static ci_status save_put(ci_writer *writer, const void *data, size_t bytes, uint32_t *crc, ci_error *error) {
  const uint8_t *from = data;
  for (size_t n; bytes > 0; from += n, bytes -= n) {
    n = bytes < SAVE_PIECE ? bytes : SAVE_PIECE;
    *crc = ci_crc32c(*crc, from, n);
    CI_TRY(ci_writer_put(writer, from, n, error));
  }
  return CI_OK;
}

static ci_status save_strings(ci_writer *writer, ci_shard_item *item, ci_error *error) {
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

static ci_status save_packed(ci_writer *writer, ci_shard_item *item, ci_error *error) {
  const ci_value *value = &item->slot->value;
  const size_t each = (size_t)(8 / ci_dtype_bits(value->dtype)), count = value->bytes;
  uint8_t chunk[SAVE_CHUNK];
  for (size_t at = 0; at < count; at += SAVE_CHUNK * each) {
    size_t n = count - at < SAVE_CHUNK * each ? count - at : SAVE_CHUNK * each;
    ci_dtype_pack(value->dtype, chunk, (const uint8_t *)value->data + at, n);
    CI_TRY(save_put(writer, chunk, ci_dtype_packed_bytes(value->dtype, n), &item->crc, error));
  }
  return CI_OK;
}

/* A run may have assigned fed values, where any byte but 0 is true. */
static void save_element_bytes(int32_t dtype, uint8_t *bytes, size_t count) {
  for (size_t i = 0; dtype == CI_BOOL && i < count; i++) bytes[i] = bytes[i] != 0;
  ci_dtype_swap(dtype, bytes, count);
}

static ci_status save_value(ci_writer *writer, ci_shard_item *item, ci_error *error) {
  const uint8_t *from = item->slot->value.data;
  const uint16_t one = 1;
  uint8_t chunk[SAVE_CHUNK], little;
  memcpy(&little, &one, 1);
  if (item->slot->dtype == CI_STRING) return save_strings(writer, item, error);
  if (ci_dtype_bits(item->slot->dtype) < 8) return save_packed(writer, item, error);
  if (little && item->slot->dtype != CI_BOOL) return save_put(writer, from, item->nbytes, &item->crc, error);
  for (size_t at = 0; at < item->nbytes; at += SAVE_CHUNK) {
    size_t n = item->nbytes - at < SAVE_CHUNK ? item->nbytes - at : SAVE_CHUNK;
    memcpy(chunk, from + at, n);
    save_element_bytes(item->slot->dtype, chunk, n);
    CI_TRY(save_put(writer, chunk, n, &item->crc, error));
  }
  return CI_OK;
}

typedef struct save_shard_job {
  ci_shard_item *items;
  const ci_shard *shard;
} save_shard_job;

static ci_status save_shard_body(ci_writer *writer, void *argument, ci_error *error) {
  const save_shard_job *job = argument;
  CI_TRY(ci_writer_put(writer, job->shard->header.data, job->shard->header.length, error));
  for (size_t i = 0; i < job->shard->count; i++) CI_TRY(save_value(writer, &job->items[i], error));
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
  if (status != CI_OK) (void)ci_folder_unlink(&job->folder, temporary);
  return status;
}

static ci_status save_describe_variable(save_job *job, const ci_shard_item *item, ci_error *error) {
  const ci_value *value = &item->slot->value;
  if (!CI_LIST_GROW(job->allocator, &job->index.variables)) return save_no_memory(error);
  ci_saved *v = &job->index.variables.at[job->index.variables.count++];
  *v = (ci_saved){.name = item->name, .dtype = value->dtype, .rank = value->rank, .crc32c = item->crc};
  memcpy(v->dims, value->dims, (size_t)value->rank * sizeof *v->dims);
  v->shard = item->shard;
  v->offset = job->data.files.at[item->shard].header.length + item->begin;
  v->nbytes = item->nbytes;
  v->slot_of = save_string(item->slot->slot_of);
  v->slot = save_string(item->slot->slot);
  return CI_OK;
}

static ci_status save_describe(save_job *job, ci_error *error) {
  ci_index *index = &job->index;
  for (size_t i = 0; i < job->data.files.count; i++) {
    const ci_shard *shard = &job->data.files.at[i];
    const ci_shard_item *last = shard->count ? &job->data.items[shard->first + shard->count - 1] : NULL;
    const uint64_t bytes = shard->header.length + (last ? last->begin + last->nbytes : 0);
    if (!CI_LIST_GROW(job->allocator, &index->shards)) return save_no_memory(error);
    index->shards.at[index->shards.count++] =
        (ci_saved_shard){save_string(shard->name), bytes, ci_crc32c(0, shard->header.data, shard->header.length)};
  }
  for (size_t i = 0; i < job->data.count; i++) CI_TRY(save_describe_variable(job, &job->data.items[i], error));
  if (index->variables.count)
    qsort(index->variables.at, index->variables.count, sizeof *index->variables.at, save_variable_order);
  index->time = ci_file_now() / CI_SECOND;
  return CI_OK;
}

/* A rename that failed may have happened all the same (NFS, when the answer was lost): the index itself shows it.
 * Where it cannot be read it is not known, and no file that it may name is removed. */
static bool save_has_happened(save_job *job, bool *known) {
  ci_bytes bytes = {0};
  ci_index index;
  const ci_status status = ci_checkpoint_index_read(&job->folder, job->index_file, &bytes, &index, NULL);
  const bool ours = status == CI_OK && index.save_id == job->index.save_id;
  *known = status == CI_OK || status == CI_NOT_FOUND || status == CI_DATA_LOSS;
  ci_checkpoint_index_free(&index);
  ci_file_unmap(job->allocator, &bytes);
  return ours;
}

/* A data file of the save that another program has removed, or a save to the same prefix that took this one for dead.
 */
static const char *save_gone(const save_job *job) {
  for (size_t i = 0; i < job->written; i++)
    if (!ci_folder_has(&job->folder, job->data.files.at[i].name)) return job->data.files.at[i].name;
  return NULL;
}

/* Before the commit: nothing is replaced by a checkpoint whose files are gone. Afterwards another save may have given
 * the graph file its other name. */
static ci_status save_check_written(const save_job *job, ci_error *error) {
  const char *gone = save_gone(job);
  if (gone == NULL && job->meta_written && !ci_folder_has(&job->folder, job->meta)) gone = job->meta;
  if (gone == NULL) return CI_OK;
  return ci_fail(error, CI_UNAVAILABLE,
                 "'%s%s' was removed before the save was committed, by another program or by a save to the same prefix "
                 "that took this one for dead; nothing was replaced: save again",
                 job->folder.path, gone);
}

static ci_status save_index(save_job *job, ci_error *error) {
  ci_out bytes = {.allocator = job->allocator};
  ci_checkpoint_index_encode(&job->index, &bytes);
  ci_status status = bytes.failed ? save_no_memory(error) : save_check_written(job, error);
  if (status == CI_OK) {
    job->committing = true;
    status = ci_record_commit(&job->record, bytes.data, bytes.length, job->index_file, error);
  }
  ci_out_free(&bytes);
  return status;
}

/* ---- the file `checkpoint`, and checkpoints that are too old ---- */

/* A file that cannot be read is replaced: it is a hint. */
static ci_status save_list_string(save_job *job, ci_error *error) {
  const int32_t most = job->options->max_to_keep;
  if (!job->options->write_state) return CI_OK;
  ci_status status = ci_checkpoints_read(&job->folder, &job->list, NULL);
  if (status == CI_RESOURCE_EXHAUSTED) return save_no_memory(error);
  if (status != CI_OK) {
    ci_checkpoints_free(job->allocator, &job->list);
    job->list = (ci_checkpoints){.latest = {NULL, 0}};
  }
  if (!ci_checkpoints_expire(&job->folder, &job->list, job->base, ci_state_origin(job->state),
                             most > 0 ? (size_t)most : SIZE_MAX))
    return save_no_memory(error);
  ci_checkpoints_string(&job->list, job->base, &job->list_string);
  return job->list_string.failed ? save_no_memory(error) : CI_OK;
}

/* The list is of all runs of the folder. A run that has begun since this file was written takes it for the rest of a
 * crash, and removes it before it has its name: then it is written once more, younger than that run. */
static ci_status save_list(const save_job *job, ci_error *error) {
  ci_span str = {(const char *)job->list_string.data, job->list_string.length};
  ci_status status = CI_NOT_FOUND;
  if (!job->options->write_state) return CI_OK;
  for (int tries = 0; status == CI_NOT_FOUND && tries < SAVE_LIST_TRIES; tries++)
    status = save_file(job, "checkpoint", save_span_body, &str, error);
  CI_TRY(status);
  return ci_folder_sync(&job->folder, error);
}

static void save_delete_expired(const save_job *job) {
  for (size_t i = 0; job->options->max_to_keep > 0 && i < job->list.expired.count; i++) {
    const ci_span path = job->list.expired.at[i];
    char base[CI_NAME_BYTES];
    snprintf(base, sizeof base, "%.*s", (int)path.length, path.data);
    ci_checkpoint_delete(&job->folder, base);
  }
}

/* ---- the order ---- */

static ci_status save_shards(save_job *job, ci_error *error) {
  for (size_t i = 0; i < job->data.files.count; i++) {
    const ci_shard *shard = &job->data.files.at[i];
    save_shard_job one = {job->data.items + shard->first, shard};
    CI_TRY(save_file(job, shard->name, save_shard_body, &one, error));
    job->written++;
  }
  return save_describe(job, error);
}

static ci_status save_write(save_job *job, ci_error *error) {
  ci_span meta = {job->meta_data, job->meta_bytes};
  CI_TRY(ci_record_begin(&job->folder, job->index.save_id, save_string(job->base), &job->record, error));
  CI_TRY(save_shards(job, error));
  if (job->meta_data) {
    CI_TRY(save_file(job, job->meta, save_span_body, &meta, error));
    job->meta_written = true;
  }
  CI_TRY(ci_folder_sync(&job->folder, error));
  return save_index(job, error);
}

/* After a failure: removes what was written, unless the save has committed all the same; returns whether it has. */
static bool save_abandon(save_job *job) {
  bool known = true, happened = false;
  const bool ended = ci_record_cancel(&job->record);
  if (job->committing) happened = save_has_happened(job, &known);
  if (happened || !ended || !known) return happened;
  for (size_t i = 0; i < job->written; i++) (void)ci_folder_unlink(&job->folder, job->data.files.at[i].name);
  if (job->meta_written) (void)ci_folder_unlink(&job->folder, job->meta);
  return false;
}

/* The files of the commit are on the disk and complete, or another save has replaced them. */
static ci_status save_confirm(save_job *job, ci_error *error) {
  bool known = true;
  CI_TRY(ci_folder_sync(&job->folder, error));
  const char *gone = save_gone(job);
  if (gone == NULL || !save_has_happened(job, &known)) return CI_OK;
  return ci_fail(error, CI_UNAVAILABLE, "another program has removed the file '%s' of this save: save again", gone);
}

static ci_status save_commit(save_job *job, ci_error *error) {
  const ci_status status = save_write(job, error);
  if (status != CI_OK && !save_abandon(job)) return status;
  return save_confirm(job, error);
}

/* The save has succeeded: a failing step here is left to the next one. */
static void save_settle(const save_job *job) {
  const int64_t age = SAVE_ABANDONED_SECONDS * CI_SECOND;
  ci_checkpoint_collect(&job->folder, job->base, job->index.save_id, job->record.locks, age);
  ci_checkpoint_remove_temporaries(&job->folder, job->base, job->record.locks, ci_state_opened(job->state), age);
  ci_checkpoint_remove_abandoned(&job->folder, job->base, age);
  if (job->meta_data) ci_checkpoint_name_graph(&job->folder, job->base, job->meta);
  ci_checkpoint_name_left(&job->folder, job->base);
}

static ci_status save_all(save_job *job, ci_error *error) {
  CI_TRY(ci_shards_plan(job->state, job->options->shard_bytes, &job->data, error));
  CI_TRY(save_resources(job, error));
  CI_TRY(save_names(job, error));
  CI_TRY(save_meta_name(job, error));
  CI_TRY(ci_shards_headers(&job->data, job->index.save_id, error));
  CI_TRY(save_list_string(job, error));
  CI_TRY(save_commit(job, error));
  ci_status status = save_list(job, error);
  save_settle(job);
  if (status == CI_OK) save_delete_expired(job); /* checkpoints that the list on the disk names stay */
  return status;
}

static void save_free(save_job *job) {
  ci_shards_free(&job->data);
  ci_checkpoint_index_free(&job->index);
  ci_checkpoints_free(job->allocator, &job->list);
  ci_out_free(&job->list_string);
  ci_folder_close(&job->folder);
}

/* ---- public ---- */

ci_status ci_checkpoint_left_out(ci_error *error) {
  return ci_fail(error, CI_UNIMPLEMENTED,
                 "this cinfer was built without checkpoints: add checkpoints to CINFER_FAMILIES (CMake) or CI_FAMILIES "
                 "(one file)");
}

ci_save_options ci_save_defaults(void) {
  return (ci_save_options){.size = sizeof(ci_save_options), .step = -1, .write_state = 1};
}

ci_status ci_checkpoint_save(ci_state *state, const void *meta, size_t meta_bytes, const char *prefix,
                             const ci_save_options *given, ci_error *error) {
  if (!CI_HAS(checkpoints)) return ci_checkpoint_left_out(error);
  ci_save_options options = ci_save_defaults();
  if (!state || !prefix) return ci_fail(error, CI_INVALID_ARGUMENT, "a save needs a state and a prefix");
  CI_TRY(ci_state_idle(state, error)); /* a state within a step is not a checkpoint */
  CI_TRY(ci_take_options(&options, sizeof options, given, "ci_save_defaults", error));
  save_job job = {.state = state, .allocator = ci_state_allocator(state), .options = &options};
  job.meta_data = meta;
  job.meta_bytes = meta_bytes;
  job.index = (ci_index){.allocator = job.allocator, .step = options.step < 0 ? -1 : options.step};
  job.data.allocator = job.list_string.allocator = job.allocator;
  CI_TRY(ci_folder_open(job.allocator, prefix, &job.folder, &job.base, error));
  ci_status status = ci_checkpoint_is_temporary(job.base)
                         ? ci_fail(error, CI_INVALID_ARGUMENT,
                                   "a checkpoint cannot be called '%s': that is a temporary name", job.base)
                         : save_all(&job, error);
  save_free(&job);
  return status;
}

ci_status ci_save_with(ci_state *state, const ci_model *model, const char *prefix, const ci_save_options *options,
                       ci_error *error) {
  if (!CI_HAS(checkpoints)) return ci_checkpoint_left_out(error);
  if (!state || !model) return ci_checkpoint_save(state, NULL, 0, prefix, options, error);
  ci_out meta = {.allocator = ci_state_allocator(state)};
  ci_status status = ci_checkpoint_meta(model, &meta, error);
  if (status == CI_OK) status = ci_checkpoint_save(state, meta.data, meta.length, prefix, options, error);
  ci_out_free(&meta);
  return status;
}

ci_status ci_save(ci_state *state, const ci_model *model, const char *prefix, int64_t step, ci_error *error) {
  ci_save_options options = ci_save_defaults();
  options.step = step;
  return ci_save_with(state, model, prefix, &options, error);
}
