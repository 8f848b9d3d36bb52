/* file_windows.h - the Windows half of file.c, which alone includes it. Files are read, never mapped, so that they may
 * be replaced while a model is open. Entries of folders become durable with MOVEFILE_WRITE_THROUGH. */
#include <fcntl.h>
#include <io.h>
#include <share.h>
#include <sys/stat.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#undef near /* words of 16-bit Windows, which are names elsewhere */
#undef far
#define RtlGenRandom SystemFunction036
BOOLEAN NTAPI RtlGenRandom(PVOID bytes, ULONG count); /* advapi32 */

/* The path of a folder's file; NULL when out of memory. Released with file_join_bytes. */
static size_t file_join_bytes(const ci_folder *folder, const char *name) { return folder->path_bytes + strlen(name); }
static char *file_join(const ci_folder *folder, const char *name) {
  char *path = ci_alloc(folder->allocator, file_join_bytes(folder, name));
  if (path) strcat(strcpy(path, folder->path), name);
  return path;
}
static void file_join_release(const ci_folder *folder, const char *name, char *path) {
  if (path) ci_release(folder->allocator, path, file_join_bytes(folder, name));
}

int64_t ci_file_now(void) {
  FILETIME now; /* units of 100 ns since 1601 */
  GetSystemTimeAsFileTime(&now);
  uint64_t units = (uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime;
  return ((int64_t)units - INT64_C(116444736000000000)) * 100;
}

static ci_status file_open_to_read(const char *path, uint64_t max_bytes, int *handle, uint64_t *size, ci_error *error) {
  struct _stat64 about;
  *handle = -1;
  if (_sopen_s(handle, path, _O_RDONLY | _O_BINARY, _SH_DENYNO, 0)) return file_fail(error, "open", path);
  if (_fstat64(*handle, &about) || about.st_size < 0 || !(about.st_mode & _S_IFREG))
    return ci_fail(error, CI_INVALID_ARGUMENT, "'%s' is no regular file", path);
  *size = (uint64_t)about.st_size;
  return *size > max_bytes || *size > SIZE_MAX / 2 ? file_too_large(error, path, *size, max_bytes) : CI_OK;
}

static ci_status file_get(int handle, const char *name, uint64_t offset, void *to, size_t bytes, ci_error *error) {
  uint8_t *data = to;
  if (_lseeki64(handle, (int64_t)offset, SEEK_SET) < 0) return file_fail(error, "read", name);
  while (bytes > 0) {
    int n = _read(handle, data, bytes < 1u << 30 ? (unsigned)bytes : 1u << 30);
    if (n < 0) return file_fail(error, "read", name);
    if (n == 0) return file_shrank(error, name, offset);
    data += n;
    bytes -= (size_t)n;
    offset += (uint64_t)n;
  }
  return CI_OK;
}

ci_status ci_file_map(const ci_allocator *allocator, const char *path, uint64_t max_bytes, ci_bytes *bytes,
                      ci_error *error) {
  int handle;
  uint64_t size = 0;
  ci_status status = file_open_to_read(path, max_bytes, &handle, &size, error);
  uint8_t *data = status == CI_OK ? ci_alloc_uncleared(allocator, (size_t)size) : NULL;
  if (status == CI_OK && !data) status = file_no_memory(error, path);
  if (status == CI_OK) status = file_get(handle, path, 0, data, (size_t)size, error);
  if (handle >= 0) _close(handle);
  if (status != CI_OK && data) ci_release(allocator, data, (size_t)size);
  if (status == CI_OK) *bytes = (ci_bytes){.data = data, .length = (size_t)size};
  return status;
}

ci_status ci_reader_open(const ci_folder *folder, const char *name, uint64_t max_bytes, ci_reader *reader,
                         ci_error *error) {
  *reader = (ci_reader){.name = name, .handle = -1};
  char *path = file_join(folder, name);
  ci_status status =
      path ? file_open_to_read(path, max_bytes, &reader->handle, &reader->size, error) : file_no_memory(error, name);
  file_join_release(folder, name, path);
  if (status != CI_OK) ci_reader_close(reader);
  return status;
}

ci_status ci_reader_get(ci_reader *reader, uint64_t offset, void *to, size_t bytes, ci_error *error) {
  return file_get(reader->handle, reader->name, offset, to, bytes, error);
}

void *ci_reader_map(const ci_reader *reader) {
  (void)reader;
  return NULL;
}

void ci_reader_unmap(void *data, uint64_t size) {
  (void)data;
  (void)size;
}

void ci_reader_close(ci_reader *reader) {
  if (reader->handle >= 0) _close(reader->handle);
  reader->handle = -1;
}

void ci_file_forget(const ci_bytes *file, const void *part, size_t bytes) {
  (void)file, (void)part, (void)bytes; /* it was read, not mapped */
}

void ci_file_unmap(const ci_allocator *allocator, ci_bytes *bytes) {
  if (bytes->data) ci_release(allocator, (void *)(uintptr_t)bytes->data, bytes->length);
  *bytes = (ci_bytes){0};
}

ci_status ci_folder_open(const ci_allocator *allocator, const char *prefix, ci_folder *folder, const char **base,
                         ci_error *error) {
  return file_open_split(allocator, prefix, folder, base, error);
}

void ci_folder_close(ci_folder *folder) {
  if (folder->path) ci_release(folder->allocator, folder->path, folder->path_bytes);
  *folder = (ci_folder){.handle = -1};
}

ci_status ci_folder_read(const ci_folder *folder, const char *name, uint64_t max_bytes, ci_bytes *bytes,
                         ci_error *error) {
  char *path = file_join(folder, name);
  ci_status status = path ? ci_file_map(folder->allocator, path, max_bytes, bytes, error) : file_no_memory(error, name);
  file_join_release(folder, name, path);
  return status;
}

ci_status ci_folder_rename(const ci_folder *folder, const char *from, const char *to, ci_error *error) {
  char *old_path = file_join(folder, from), *new_path = file_join(folder, to);
  ci_status status = CI_OK;
  if (!old_path || !new_path) status = file_no_memory(error, to);
  else if (!MoveFileExA(old_path, new_path, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
    status = ci_fail(error, CI_UNAVAILABLE, "cannot rename a new file to '%s': Windows error %lu", to, GetLastError());
  file_join_release(folder, from, old_path);
  file_join_release(folder, to, new_path);
  return status;
}

ci_status ci_folder_sync(const ci_folder *folder, ci_error *error) {
  (void)folder, (void)error;
  return CI_OK;
}

ci_status ci_folder_unlink(const ci_folder *folder, const char *name) {
  char *path = file_join(folder, name);
  ci_status status = !path ? CI_RESOURCE_EXHAUSTED : _unlink(path) ? file_fail(NULL, "remove", name) : CI_OK;
  file_join_release(folder, name, path);
  return status;
}

bool ci_folder_times(const ci_folder *folder, const char *name, int64_t *modified, int64_t *arrived) {
  struct _stat64 about;
  char *path = file_join(folder, name);
  bool known = path && _stat64(path, &about) == 0;
  if (known) *modified = (int64_t)about.st_mtime * CI_SECOND;
  if (known) *arrived = (int64_t)(about.st_ctime > about.st_mtime ? about.st_ctime : about.st_mtime) * CI_SECOND;
  file_join_release(folder, name, path);
  return known;
}

bool ci_folder_has(const ci_folder *folder, const char *name) {
  int64_t modified, arrived;
  return ci_folder_times(folder, name, &modified, &arrived);
}

ci_status ci_folder_each(const ci_folder *folder, ci_folder_visit visit, void *argument, ci_error *error) {
  WIN32_FIND_DATAA entry;
  char *pattern = file_join(folder, "*");
  if (!pattern) return file_no_memory(error, folder->path);
  HANDLE entries = FindFirstFileA(pattern, &entry);
  file_join_release(folder, "*", pattern);
  if (entries == INVALID_HANDLE_VALUE)
    return ci_fail(error, GetLastError() == ERROR_PATH_NOT_FOUND ? CI_NOT_FOUND : CI_UNAVAILABLE,
                   "cannot list the folder '%s': Windows error %lu", folder->path, GetLastError());
  do
    if (!visit(argument, entry.cFileName)) break;
  while (FindNextFileA(entries, &entry));
  FindClose(entries);
  return CI_OK;
}

ci_status ci_writer_create(const ci_folder *folder, const char *name, ci_writer *writer, ci_error *error) {
  *writer = (ci_writer){.folder = folder, .name = name, .handle = -1};
  char *path = file_join(folder, name);
  if (!path) return file_no_memory(error, name);
  int flags = _O_WRONLY | _O_BINARY | _O_CREAT | _O_EXCL;
  errno_t failed = _sopen_s(&writer->handle, path, flags, _SH_DENYNO, _S_IREAD | _S_IWRITE);
  file_join_release(folder, name, path);
  return failed ? file_fail_in(error, "create", folder->path, name) : CI_OK;
}

void ci_file_start(int handle, uint64_t offset, uint64_t bytes) {
  (void)handle;
  (void)offset;
  (void)bytes;
}

ci_status ci_writer_put(ci_writer *writer, const void *data, size_t bytes, ci_error *error) {
  const uint8_t *from = data;
  while (bytes > 0) {
    int n = _write(writer->handle, from, bytes < 1u << 30 ? (unsigned)bytes : 1u << 30);
    if (n <= 0) return file_fail_in(error, "write", writer->folder->path, writer->name);
    from += n;
    bytes -= (size_t)n;
    writer->written += (uint64_t)n;
  }
  return CI_OK;
}

ci_status ci_writer_finish(ci_writer *writer, ci_error *error) {
  ci_status status =
      _commit(writer->handle) ? file_fail_in(error, "bring to the disk", writer->folder->path, writer->name) : CI_OK;
  if (_close(writer->handle) && status == CI_OK)
    status = file_fail_in(error, "close", writer->folder->path, writer->name);
  writer->handle = -1;
  if (status != CI_OK) (void)ci_folder_unlink(writer->folder, writer->name);
  return status;
}

void ci_writer_abandon(ci_writer *writer) {
  if (writer->handle < 0) return;
  _close(writer->handle);
  writer->handle = -1;
  (void)ci_folder_unlink(writer->folder, writer->name);
}

bool ci_file_random(void *bytes, size_t count) { return RtlGenRandom(bytes, (ULONG)count) != 0; }

/* A file that is open cannot be renamed here, so none is locked. */
int ci_writer_lock(const ci_writer *writer, bool *works) {
  (void)writer;
  *works = false;
  return -1;
}

void ci_lock_release(int lock) { (void)lock; }

ci_status ci_folder_unlink_unlocked(const ci_folder *folder, const char *name) {
  return ci_folder_unlink(folder, name);
}
