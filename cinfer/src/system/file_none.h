/* file_none.h - file.c where there are no files (CI_NO_FILES), which alone includes it: models come from memory, the
 * other functions fail with that reason. */
static ci_status file_none(ci_error *error, const char *name) {
  return ci_fail(error, CI_UNIMPLEMENTED, "cannot open '%s': this build has no files (CI_NO_FILES)", name);
}

int64_t ci_file_now(void) { return 0; }

uint64_t ci_file_random(void) { return 0; } /* names files, which do not exist here */

ci_status ci_file_map(const ci_allocator *allocator, const char *path, uint64_t max_bytes, ci_bytes *bytes,
                      ci_error *error) {
  (void)allocator, (void)max_bytes, (void)bytes;
  return file_none(error, path);
}

void ci_file_unmap(const ci_allocator *allocator, ci_bytes *bytes) { (void)allocator, (void)bytes; }

void ci_file_forget(const ci_bytes *file, const void *part, size_t bytes) { (void)file, (void)part, (void)bytes; }

void ci_file_start(int handle, uint64_t offset, uint64_t bytes) { (void)handle, (void)offset, (void)bytes; }

ci_status ci_folder_open(const ci_allocator *allocator, const char *prefix, ci_folder *folder, const char **base,
                         ci_error *error) {
  (void)allocator;
  *folder = (ci_folder){.handle = -1};
  *base = prefix;
  return file_none(error, prefix);
}

void ci_folder_close(ci_folder *folder) { (void)folder; }

/* The functions below need an open folder, which cannot exist. */

ci_status ci_folder_read(const ci_folder *folder, const char *name, uint64_t max_bytes, ci_bytes *bytes,
                         ci_error *error) {
  (void)folder, (void)max_bytes, (void)bytes;
  return file_none(error, name);
}

ci_status ci_reader_open(const ci_folder *folder, const char *name, uint64_t max_bytes, ci_reader *reader,
                         ci_error *error) {
  (void)folder, (void)max_bytes;
  *reader = (ci_reader){.name = name, .handle = -1};
  return file_none(error, name);
}

ci_status ci_reader_get(ci_reader *reader, uint64_t offset, void *to, size_t bytes, ci_error *error) {
  (void)offset, (void)to, (void)bytes;
  return file_none(error, reader->name);
}

void *ci_reader_map(const ci_reader *reader) {
  (void)reader;
  return NULL;
}

void ci_reader_unmap(void *data, uint64_t size) { (void)data, (void)size; }

void ci_reader_close(ci_reader *reader) { (void)reader; }

ci_status ci_folder_rename(const ci_folder *folder, const char *from, const char *to, ci_error *error) {
  (void)folder, (void)from;
  return file_none(error, to);
}

ci_status ci_folder_sync(const ci_folder *folder, ci_error *error) { return file_none(error, folder->path); }

ci_status ci_folder_unlink(const ci_folder *folder, const char *name) {
  (void)folder;
  return file_none(NULL, name);
}

bool ci_folder_has(const ci_folder *folder, const char *name) {
  (void)folder, (void)name;
  return false;
}

bool ci_folder_times(const ci_folder *folder, const char *name, int64_t *modified, int64_t *arrived) {
  (void)folder, (void)name, (void)modified, (void)arrived;
  return false;
}

ci_status ci_folder_each(const ci_folder *folder, ci_folder_visit visit, void *argument, ci_error *error) {
  (void)visit, (void)argument;
  return file_none(error, folder->path);
}

ci_status ci_writer_create(const ci_folder *folder, const char *name, ci_writer *writer, ci_error *error) {
  *writer = (ci_writer){.folder = folder, .name = name, .handle = -1};
  return file_none(error, name);
}

ci_status ci_writer_put(ci_writer *writer, const void *data, size_t bytes, ci_error *error) {
  (void)data, (void)bytes;
  return file_none(error, writer->name);
}

ci_status ci_writer_finish(ci_writer *writer, ci_error *error) { return file_none(error, writer->name); }

void ci_writer_abandon(ci_writer *writer) { (void)writer; }

#include "file_lock_none.h"
