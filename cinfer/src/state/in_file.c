/* in_file.c - sets variables to values in ranges of files: maps them, or else reads and checks them. */
#include "state.h"

typedef struct in_file_job {
  ci_state *state;
  const ci_assignment *requested;
  ci_slot_change *changes;
  const char *checkpoint; /* for messages */
  ci_reader *reader;
  ci_mapping *mapping; /* or NULL */
} in_file_job;

static ci_status in_file_read(const in_file_job *job, int i, ci_error *error) {
  const ci_in_file *source = &job->requested->in_file[i];
  ci_slot_change *change = &job->changes[i];
  ci_value *value = &change->value;
  CI_TRY(ci_state_alloc(job->state, value->bytes, &value->data, error));
  change->given = true;
  CI_TRY(ci_reader_get(job->reader, source->offset, value->data, value->bytes, error));
  CI_TRY(ci_state_value_check(value, source->crc32c, ci_state_slot(job->state, change->slot)->name, job->checkpoint,
                              error));
  ci_dtype_swap(value->dtype, value->data, value->bytes);
  return CI_OK;
}

static ci_status in_file_inside(const in_file_job *job, int i, ci_error *error) {
  const uint64_t offset = job->requested->in_file[i].offset, size = job->reader->size;
  const size_t bytes = job->changes[i].value.bytes;
  if (offset <= size && bytes <= size - offset) return CI_OK;
  return ci_fail(error, CI_DATA_LOSS, "variable '%.200s' needs %zu bytes at %llu of '%.600s', which has %llu",
                 ci_state_slot(job->state, job->changes[i].slot)->name, bytes, (unsigned long long)offset,
                 job->reader->name, (unsigned long long)size);
}

static ci_status in_file_take(const in_file_job *job, int i, ci_error *error) {
  const ci_in_file *source = &job->requested->in_file[i];
  ci_slot_change *change = &job->changes[i];
  ci_value *value = &change->value;
  if (value->dtype == CI_STRING || ci_dtype_bits(value->dtype) < 8)
    return ci_fail(error, CI_INVALID_ARGUMENT,
                   "variable '%s' has elements of type %s, which files store in another form",
                   ci_state_slot(job->state, change->slot)->name, ci_dtype_name(value->dtype));
  CI_TRY(in_file_inside(job, i, error));
  void *data = job->mapping && value->bytes
                   ? ci_mapping_at(job->mapping, source->offset, value->bytes, ci_dtype_size(value->dtype))
                   : NULL;
  if (!data) return in_file_read(job, i, error);
  value->data = data;
  change->mapping = ci_mapping_hold(job->mapping);
  change->crc32c = source->crc32c;
  return CI_OK;
}

static ci_status in_file_all(in_file_job *job, const ci_folder *folder, const char *base, int file, ci_error *error) {
  ci_reader reader;
  CI_TRY(ci_reader_open(folder, base, UINT64_MAX, &reader, error));
  job->reader = &reader;
  job->mapping = ci_mapping_open(ci_state_allocator(job->state), &reader, job->checkpoint);
  ci_status status = CI_OK;
  for (int i = 0; status == CI_OK && i < job->requested->variable_count; i++)
    if (job->requested->in_file[i].file == file) status = in_file_take(job, i, error);
  ci_mapping_drop(job->mapping);
  ci_reader_close(&reader);
  return status;
}

ci_status ci_in_file_changes(ci_state *state, const ci_assignment *requested, ci_slot_change *changes,
                             ci_error *error) {
  for (int file = 0; file < requested->file_count; file++) {
    const char *path = requested->files[file], *base;
    in_file_job job = {.state = state, .requested = requested, .changes = changes};
    job.checkpoint = requested->checkpoint ? requested->checkpoint : path;
    ci_folder folder;
    CI_TRY(ci_folder_open(ci_state_allocator(state), path, &folder, &base, error));
    ci_status status = in_file_all(&job, &folder, base, file, error);
    ci_folder_close(&folder);
    if (status != CI_OK) return status;
  }
  return CI_OK;
}
