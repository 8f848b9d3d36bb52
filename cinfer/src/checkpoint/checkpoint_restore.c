/* checkpoint_restore.c - reads a checkpoint: everything is checked before anything of the state changes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "../model/model.h"
#include "../base/wire.h"

typedef struct restore_job {
  ci_state *state;
  const ci_allocator *allocator;
  const ci_folder *folder;
  const char *base;         /* last part of the prefix */
  char name[CI_NAME_BYTES]; /* of the index */
  uint32_t partial, verify;
  bool stale; /* a file that the index names is not there, or another */
  bool *skip; /* by variable of the checkpoint: not restored */
  size_t skip_bytes;
  int32_t left_out;
  ci_index index;
  ci_bytes index_bytes;
  uint8_t *piece; /* the piece that was read, where the bytes are not kept */
  ci_mapping *mapping; /* the shard at hand, to be checked when it is used; else NULL */
  ci_out where; /* how messages call the checkpoint then */
  CI_LIST(ci_slot_change) slots;
  CI_LIST(ci_random_change) randoms;
  ci_resources resources;
  ci_pool strings;
} restore_job;

/* bytes that are still in the processor's cache when they are checked */
enum { RESTORE_PIECE = 1 << 22 };

static ci_status restore_no_memory(ci_error *error) {
  return ci_fail(error, CI_RESOURCE_EXHAUSTED, "out of memory while restoring a checkpoint");
}

static uint64_t restore_limit(const restore_job *job) {
  const uint64_t most = ci_state_limits(job->state)->max_bytes;
  return most ? most : (uint64_t)1 << 46;
}

static ci_status restore_damaged(const restore_job *job, size_t shard, const char *what, ci_error *error) {
  return ci_fail(error, CI_DATA_LOSS, "the checkpoint shard '%.*s' is damaged: %s",
                 CI_SPAN_ARG(job->index.shards.at[shard].file), what);
}

/* ---- values ---- */

static ci_status restore_strings(restore_job *job, const ci_saved *v, const uint8_t *data, ci_value *value,
                                 ci_error *error) {
  ci_string *strings = ci_pool_alloc(&job->strings, value->bytes);
  if (!strings) return restore_no_memory(error);
  const char *str = (const char *)data + 8 * (size_t)value->count;
  uint64_t left = v->nbytes - 8 * (uint64_t)value->count;
  for (int64_t i = 0; i < value->count; i++) {
    uint64_t length = ci_wire_load_u64(data + 8 * i);
    if (length > left) return restore_damaged(job, v->shard, "the lengths of strings exceed their bytes", error);
    strings[i] = (ci_string){str, (size_t)length};
    str += length;
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
  if (!ci_dtype_unpack(v->dtype, elements, data, value->bytes))
    return restore_damaged(job, v->shard, "filling bits are not zero", error);
  value->data = elements;
  return CI_OK;
}

static bool restore_values_valid(const ci_saved *v, const uint8_t *data, size_t bytes) {
  if (v->dtype == CI_BOOL)
    for (size_t i = 0; i < bytes; i++)
      if (data[i] > 1) return false;
  return true;
}

/* Reads a variable, each piece checked while it is in cache; to: a buffer for all of it, or NULL. */
static ci_status restore_bytes(restore_job *job, ci_reader *reader, const ci_saved *v, uint8_t *to, ci_error *error) {
  uint32_t crc = 0;
  bool valid = true;
  for (uint64_t at = 0; at < v->nbytes; at += RESTORE_PIECE) {
    const size_t n = v->nbytes - at < RESTORE_PIECE ? (size_t)(v->nbytes - at) : RESTORE_PIECE;
    uint8_t *piece = to ? to + at : job->piece;
    CI_TRY(ci_reader_get(reader, v->offset + at, piece, n, error));
    crc = ci_crc32c(crc, piece, n);
    valid = valid && restore_values_valid(v, piece, n);
  }
  if (crc != v->crc32c)
    return ci_fail(error, CI_DATA_LOSS, "the checkpoint is damaged: the checksum of variable '%.*s' does not match",
                   CI_SPAN_ARG(v->name));
  return valid ? CI_OK : restore_damaged(job, v->shard, "a bool is neither 0 nor 1", error);
}

/* The index was checked, so multiplications of sizes do not wrap; strings and packed numbers are larger in memory than
 * in the file. The others are read to where they stay. */
static ci_status restore_value(restore_job *job, ci_reader *reader, const ci_saved *v, ci_slot_change *change,
                               ci_error *error) {
  ci_value *value = &change->value;
  if (!ci_mul_size((uint64_t)value->count, ci_dtype_size(v->dtype), &value->bytes)) return restore_no_memory(error);
  const bool packed = ci_dtype_bits(v->dtype) < 8, plain = !packed && v->dtype != CI_STRING;
  void *data = NULL;
  if (plain) CI_TRY(ci_state_alloc(job->state, value->bytes, &data, error));
  if (!plain) data = ci_pool_alloc(&job->strings, (size_t)v->nbytes);
  if (!data) return restore_no_memory(error);
  value->data = data;
  change->given = plain;
  CI_TRY(restore_bytes(job, reader, v, data, error));
  if (packed) return restore_packed(job, v, data, value, error);
  if (!plain) return restore_strings(job, v, data, value, error);
  ci_dtype_swap(v->dtype, data, value->bytes);
  return CI_OK;
}

/* False: it is not in the file as it is in memory, or cannot be mapped. */
static bool restore_mapped(restore_job *job, const ci_saved *v, ci_slot_change *change) {
  if (!job->mapping || v->dtype == CI_STRING || ci_dtype_bits(v->dtype) < 8) return false;
  change->value.data = ci_mapping_at(job->mapping, v->offset, v->nbytes, ci_dtype_size(v->dtype));
  if (!change->value.data) return false;
  change->value.bytes = (size_t)v->nbytes;
  change->mapping = ci_mapping_hold(job->mapping);
  change->crc32c = v->crc32c;
  return true;
}

static ci_status restore_variable(restore_job *job, ci_reader *reader, const ci_saved *v, ci_error *error) {
  const size_t i = (size_t)(v - job->index.variables.at);
  if (job->skip[i] && job->verify == CI_VERIFY_LAZY) return CI_OK;
  if (job->skip[i]) return restore_bytes(job, reader, v, NULL, error);
  if (!CI_LIST_GROW(job->allocator, &job->slots)) return restore_no_memory(error);
  ci_slot_change *change = &job->slots.at[job->slots.count++];
  *change = (ci_slot_change){.slot = (int)i}; /* until restore_declare */
  change->value = (ci_value){.dtype = v->dtype, .rank = v->rank, .count = 1};
  memcpy(change->value.dims, v->dims, sizeof v->dims);
  for (int d = 0; d < v->rank; d++) change->value.count *= v->dims[d];
  return restore_mapped(job, v, change) ? CI_OK : restore_value(job, reader, v, change, error);
}

/* ---- shards ---- */

static int restore_position_order(const void *left, const void *right) {
  const ci_saved *a = *(const ci_saved *const *)left, *b = *(const ci_saved *const *)right;
  if (a->shard != b->shard) return a->shard < b->shard ? -1 : 1;
  if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
  return (a->nbytes > b->nbytes) - (a->nbytes < b->nbytes);
}

static ci_status restore_header(restore_job *job, ci_reader *reader, size_t s, uint64_t bytes, ci_error *error) {
  uint32_t crc = 0;
  for (uint64_t at = 0; at < bytes; at += RESTORE_PIECE) {
    const size_t n = bytes - at < RESTORE_PIECE ? (size_t)(bytes - at) : RESTORE_PIECE;
    CI_TRY(ci_reader_get(reader, at, job->piece, n, error));
    crc = ci_crc32c(crc, job->piece, n);
  }
  if (crc == job->index.shards.at[s].header_crc32c) return CI_OK;
  return restore_damaged(job, s, "the checksum of its header does not match", error);
}

/* Header and tensors must fill the shard without a gap, so that no byte is unprotected. */
static ci_status restore_contents(restore_job *job, ci_reader *reader, size_t s, const ci_saved *const *rows, size_t n,
                                  ci_error *error) {
  uint64_t end = n ? rows[0]->offset : reader->size;
  CI_TRY(restore_header(job, reader, s, end, error));
  for (size_t i = 0; i < n; i++) {
    if (rows[i]->offset != end) return restore_damaged(job, s, "its tensors leave a gap or overlap", error);
    end += rows[i]->nbytes;
    CI_TRY(restore_variable(job, reader, rows[i], error));
  }
  return end == reader->size ? CI_OK : restore_damaged(job, s, "bytes follow its last tensor", error);
}

/* Opens a file under the first of its names that is there; `name` is for messages. CI_NOT_FOUND: under none. */
static ci_status restore_open(const restore_job *job, ci_span file, ci_candidates *candidates, const char **name,
                              ci_reader *reader, ci_error *error) {
  ci_status status = CI_NOT_FOUND;
  ci_checkpoint_candidates(job->base, file, candidates);
  for (size_t i = 0; i < candidates->count && status == CI_NOT_FOUND; i++) {
    *name = candidates->names[i];
    status = ci_reader_open(job->folder, *name, restore_limit(job), reader, error);
  }
  return status;
}

static ci_status restore_shard(restore_job *job, size_t s, const ci_saved *const *rows, size_t n, ci_error *error) {
  const ci_saved_shard *shard = &job->index.shards.at[s];
  ci_candidates candidates;
  const char *name;
  ci_reader reader;
  ci_status status = restore_open(job, shard->file, &candidates, &name, &reader, error);
  job->stale = status == CI_NOT_FOUND;
  if (job->stale)
    return ci_fail(error, CI_DATA_LOSS,
                   "the checkpoint '%s' lacks its shard '%.*s': bring it back into its folder, or restore another "
                   "checkpoint",
                   job->name, CI_SPAN_ARG(shard->file));
  CI_TRY(status);
  if (job->verify == CI_VERIFY_LAZY)
    job->mapping = ci_mapping_open(job->allocator, &reader, (const char *)job->where.data);
  if (reader.size == shard->nbytes) status = restore_contents(job, &reader, s, rows, n, error);
  else
    status = ci_fail(error, CI_DATA_LOSS, "the checkpoint shard '%s' is damaged: it has %llu bytes, expected %llu",
                     name, (unsigned long long)reader.size, (unsigned long long)shard->nbytes);
  ci_mapping_drop(job->mapping);
  job->mapping = NULL;
  ci_reader_close(&reader);
  return status;
}

static ci_status restore_shards(restore_job *job, ci_error *error) {
  const size_t n = job->index.variables.count, bytes = (n + 1) * sizeof(ci_saved *);
  const ci_saved **by_position = ci_alloc(job->allocator, bytes);
  if (!by_position) return restore_no_memory(error);
  for (size_t i = 0; i < n; i++) by_position[i] = &job->index.variables.at[i];
  qsort(by_position, n, sizeof *by_position, restore_position_order);
  ci_status status = CI_OK;
  for (size_t s = 0, first = 0, next = 0; status == CI_OK && s < job->index.shards.count; s++, first = next) {
    while (next < n && by_position[next]->shard == s) next++;
    status = restore_shard(job, s, by_position + first, next - first, error);
  }
  ci_release(job->allocator, by_position, bytes);
  return status;
}

/* The state stays as it is. */
static ci_status restore_prepare(restore_job *job, ci_error *error) {
  for (size_t i = 0; i < job->index.resources.count; i++) {
    const ci_saved_resource *r = &job->index.resources.at[i];
    if (r->kind != CI_RESOURCE_GENERATOR && ci_state_find_random(job->state, r->name) >= 0)
      return ci_fail(error, CI_INVALID_ARGUMENT,
                     "'%.*s' is %s in the checkpoint '%s' and a random generator of the state, which cannot have both: "
                     "restore into a state without that generator, or call one of them otherwise and save again",
                     CI_SPAN_ARG(r->name), r->kind == CI_RESOURCE_BLOB ? "a blob" : "the position of an iterator",
                     job->base);
    bool made = r->kind == CI_RESOURCE_GENERATOR
                    ? CI_LIST_GROW_BY(job->allocator, &job->randoms, i + 1)
                    : ci_resources_put(job->allocator, &job->resources, r->name, r->kind, r->bytes);
    if (!made) return restore_no_memory(error);
  }
  return CI_OK;
}

static int restore_name_order(const void *a, const void *b) {
  return ((const ci_slot_change *)a)->slot - ((const ci_slot_change *)b)->slot;
}

/* A state that lacks a variable or a generator gets it: a model that is opened later will find it. */
static ci_status restore_declare(restore_job *job, ci_error *error) {
  if (job->slots.count) qsort(job->slots.at, job->slots.count, sizeof *job->slots.at, restore_name_order);
  for (size_t i = 0; i < job->slots.count; i++) {
    ci_slot_change *change = &job->slots.at[i];
    const ci_saved *v = &job->index.variables.at[change->slot];
    CI_TRY(ci_state_adopt(job->state, v->name, v->dtype, v->rank, v->dims, &change->slot, error));
    CI_TRY(ci_state_link(job->state, change->slot, v->slot_of, v->slot, &change->linked, error));
  }
  for (size_t i = 0; i < job->index.resources.count; i++) {
    const ci_saved_resource *r = &job->index.resources.at[i];
    if (r->kind != CI_RESOURCE_GENERATOR) continue;
    int random = ci_state_find_random(job->state, r->name);
    if (random < 0) CI_TRY(ci_state_declare_random(job->state, r->name, false, 0, &random, error));
    job->randoms.at[job->randoms.count++] = (ci_random_change){random, r->generator};
  }
  return CI_OK;
}

static void restore_swap_resources(restore_job *job) {
  ci_resources *kept = ci_state_resources(job->state), before = *kept;
  *kept = job->resources;
  job->resources = before;
}

static void restore_undo(restore_job *job, int slots, int randoms) {
  for (size_t i = 0; i < job->slots.count; i++)
    if (job->slots.at[i].linked) ci_state_unlink(job->state, job->slots.at[i].slot);
  ci_state_forget(job->state, slots, randoms);
  restore_swap_resources(job);
}

/* All or nothing. The resources come first, because names of new generators are compared with theirs. */
static ci_status restore_change(restore_job *job, ci_error *error) {
  const int slots = ci_state_slot_count(job->state), randoms = ci_state_random_count(job->state);
  restore_swap_resources(job);
  ci_status status = restore_declare(job, error);
  if (status == CI_OK)
    status = ci_state_change(job->state, job->slots.at, (int)job->slots.count, job->randoms.at, (int)job->randoms.count,
                             error);
  if (status == CI_OK) job->slots.count = 0; /* their memory is the state's */
  else restore_undo(job, slots, randoms);
  return status;
}

/* ---- files ---- */

/* Whether the file `name` is there, and is the graph file that was saved. */
static ci_status restore_compare_meta(const restore_job *job, const char *name, bool *same, ci_error *error) {
  ci_bytes meta = {0};
  CI_TRY(ci_folder_read(job->folder, name, restore_limit(job), &meta, error));
  *same = meta.length == job->index.meta_nbytes && ci_crc32c(0, meta.data, meta.length) == job->index.meta_crc32c;
  ci_file_unmap(job->allocator, &meta);
  return CI_OK;
}

/* The graph file is not used here; if it is there it must be the one that was saved. Under names that other saves use
 * as well that of this save is looked for. */
static ci_status restore_check_meta(restore_job *job, ci_error *error) {
  ci_candidates candidates;
  char wrong[CI_NAME_BYTES] = "";
  uint64_t id;
  bool same = false;
  if (job->index.meta_file.length == 0) return CI_OK;
  ci_checkpoint_candidates(job->base, job->index.meta_file, &candidates);
  for (size_t i = 0; i < candidates.count; i++) {
    const ci_status status = restore_compare_meta(job, candidates.names[i], &same, error);
    if (status == CI_NOT_FOUND) continue;
    if (status != CI_OK || same) return status;
    if (!wrong[0]) memcpy(wrong, candidates.names[i], sizeof wrong);
    if (ci_checkpoint_prefix(candidates.names[i], &id)) break; /* that name is of one save alone */
  }
  job->stale = wrong[0] != 0;
  if (!wrong[0]) return CI_OK;
  return ci_fail(error, CI_DATA_LOSS, "the graph file '%s' is damaged: it is not the one that was saved", wrong);
}

static void restore_unload(restore_job *job) {
  for (size_t i = 0; i < job->slots.count; i++) ci_state_change_drop(job->state, &job->slots.at[i]);
  job->slots.count = 0;
  if (job->skip) ci_release(job->allocator, job->skip, job->skip_bytes);
  job->skip = NULL;
  ci_pool_release(&job->strings);
  ci_checkpoint_index_free(&job->index);
  ci_file_unmap(job->allocator, &job->index_bytes);
}

static ci_status restore_read(restore_job *job, ci_error *error) {
  const uint64_t limit = restore_limit(job), most = limit < CI_INDEX_MOST_BYTES ? limit : CI_INDEX_MOST_BYTES;
  ci_status status = ci_folder_read(job->folder, job->name, most, &job->index_bytes, error);
  if (status == CI_NOT_FOUND)
    return ci_fail(error, CI_NOT_FOUND, "there is no checkpoint: '%s' does not exist in '%s'", job->name,
                   job->folder->path);
  CI_TRY(status);
  CI_TRY(ci_checkpoint_index_decode(job->allocator, &job->index_bytes, job->name, &job->index, error));
  job->skip_bytes = job->index.variables.count * sizeof *job->skip;
  job->skip = ci_alloc(job->allocator, job->skip_bytes);
  if (!job->skip) return restore_no_memory(error);
  CI_TRY(ci_checkpoint_fit(job->state, &job->index, job->base, job->partial, job->skip, &job->left_out, error));
  CI_TRY(restore_shards(job, error));
  return job->verify == CI_VERIFY_LAZY ? CI_OK : restore_check_meta(job, error);
}

/* While files were read, a save to the same prefix may have replaced them: then the index is another. */
static ci_status restore_load(restore_job *job, ci_error *error) {
  for (bool again = false;; again = true) {
    const uint64_t last = job->index.save_id;
    restore_unload(job);
    job->stale = false;
    ci_status status = restore_read(job, error);
    if (status == CI_OK || !job->stale || (again && job->index.save_id == last)) return status;
  }
}

static ci_status restore_all(restore_job *job, ci_error *error) {
  job->piece = ci_alloc_uncleared(job->allocator, RESTORE_PIECE);
  ci_out_bytes(&job->where, job->folder->path, strlen(job->folder->path));
  ci_out_bytes(&job->where, job->base, strlen(job->base) + 1);
  if (!job->piece || job->where.failed) return restore_no_memory(error);
  CI_TRY(restore_load(job, error));
  CI_TRY(restore_prepare(job, error));
  return restore_change(job, error);
}

static void restore_free(restore_job *job) {
  restore_unload(job);
  ci_out_free(&job->where);
  if (job->piece) ci_release(job->allocator, job->piece, RESTORE_PIECE);
  CI_LIST_FREE(job->allocator, &job->slots);
  CI_LIST_FREE(job->allocator, &job->randoms);
  ci_resources_free(job->allocator, &job->resources);
}

static void restore_tell(const restore_job *job, ci_restored *restored) {
  ci_restored restored_now = {.size = restored->size, .step = job->index.step, .left_out = job->left_out};
  snprintf(restored_now.name, sizeof restored_now.name, "%s", job->base);
  memcpy(restored, &restored_now, restored_now.size < sizeof restored_now ? restored_now.size : sizeof restored_now);
}

/* Notes the checkpoint that the state goes on from: a list that lacks it has it after the next save. */
static void restore_set_origin(const restore_job *job, bool newest) {
  ci_origin *origin = ci_state_origin(job->state);
  *origin = (ci_origin){.save_id = job->index.save_id};
  if (newest) snprintf(origin->base, sizeof origin->base, "%s", job->base);
}

static ci_status restore_base(ci_state *state, const ci_folder *folder, const char *base, bool newest,
                              const ci_restore_options *given, ci_restored *restored, ci_error *error) {
  ci_restore_options options = ci_restore_defaults();
  CI_TRY(ci_take_options(&options, sizeof options, given, "ci_restore_defaults", error));
  restore_job job = {.state = state, .allocator = ci_state_allocator(state), .folder = folder, .base = base};
  job.partial = options.partial;
  job.verify = options.verify;
  job.index.allocator = job.strings.allocator = job.where.allocator = job.allocator;
  if (job.verify > CI_VERIFY_LAZY)
    return ci_fail(error, CI_INVALID_ARGUMENT, "verify is %u, expected CI_VERIFY_FULL or CI_VERIFY_LAZY", job.verify);
  int length = snprintf(job.name, sizeof job.name, "%s.index", base);
  ci_status status = length < CI_NAME_BYTES ? restore_all(&job, error)
                                            : ci_fail(error, CI_INVALID_ARGUMENT, "the name '%s' is too long", base);
  if (status == CI_OK) restore_set_origin(&job, newest);
  if (status == CI_OK && restored) restore_tell(&job, restored);
  restore_free(&job);
  return status;
}

/* ---- public ---- */

ci_restore_options ci_restore_defaults(void) { return (ci_restore_options){.size = sizeof(ci_restore_options)}; }

ci_status ci_restore_with(ci_state *state, const char *prefix, const ci_restore_options *options, ci_restored *restored,
                          ci_error *error) {
  if (!CI_HAS(checkpoints)) return ci_checkpoint_left_out(error);
  const char *base;
  ci_folder folder;
  if (!state || !prefix) return ci_fail(error, CI_INVALID_ARGUMENT, "a restore needs a state and a prefix");
  CI_TRY(ci_state_idle(state, error));
  CI_TRY(ci_folder_open(ci_state_allocator(state), prefix, &folder, &base, error));
  ci_status status = restore_base(state, &folder, base, false, options, restored, error);
  ci_folder_close(&folder);
  return status;
}

ci_status ci_restore(ci_state *state, const char *prefix, int64_t *step, ci_error *error) {
  ci_restored restored = {.size = sizeof restored};
  CI_TRY(ci_restore_with(state, prefix, NULL, &restored, error));
  if (step) *step = restored.step;
  return CI_OK;
}

/* A missing checkpoint is not an error. */
static ci_status restore_nothing(ci_error *error) {
  if (error) *error = (ci_error){.status = CI_OK};
  return CI_OK;
}

/* One that is deleted while it is read has a newer one. */
static ci_status restore_newest(ci_state *state, const ci_folder *folder, const ci_restore_options *options,
                                ci_restored *restored, ci_error *error) {
  char base[CI_NAME_BYTES], index[CI_NAME_BYTES + 8];
  for (;;) {
    ci_status status = ci_checkpoints_latest(folder, base, error);
    if (status == CI_NOT_FOUND) return restore_nothing(error);
    CI_TRY(status);
    status = restore_base(state, folder, base, true, options, restored, error);
    snprintf(index, sizeof index, "%s.index", base);
    if (status == CI_OK || ci_folder_has(folder, index)) return status;
  }
}

ci_status ci_restore_latest(ci_state *state, const char *path, const ci_restore_options *options, ci_restored *restored,
                            ci_error *error) {
  if (!CI_HAS(checkpoints)) return ci_checkpoint_left_out(error);
  const char *base;
  ci_folder folder;
  if (!state || !path || !*path) return ci_fail(error, CI_INVALID_ARGUMENT, "a restore needs a state and a folder");
  CI_TRY(ci_state_idle(state, error));
  if (restored) {
    const ci_restored none = {.size = restored->size, .step = -1};
    memcpy(restored, &none, none.size < sizeof none ? none.size : sizeof none);
  }
  /* a name in the folder, in the form that ci_folder_open takes */
  ci_out inside = {.allocator = ci_state_allocator(state)};
  ci_out_bytes(&inside, path, strlen(path));
  ci_out_bytes(&inside, "/checkpoint", sizeof "/checkpoint");
  ci_status status = inside.failed ? restore_no_memory(error)
                                   : ci_folder_open(inside.allocator, (char *)inside.data, &folder, &base, error);
  ci_out_free(&inside);
  if (status == CI_NOT_FOUND) return restore_nothing(error);
  CI_TRY(status);
  status = restore_newest(state, &folder, options, restored, error);
  ci_folder_close(&folder);
  return status;
}
