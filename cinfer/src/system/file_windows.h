/* file_windows.h - the Windows half of file.c, which alone includes it. Paths are UTF-8 outside and UTF-16 in every
 * call of the system, whatever its code page is. Files are read, never mapped, so that they may be replaced while a
 * model is open. Entries of folders become durable with MOVEFILE_WRITE_THROUGH. */
#include <fcntl.h>
#include <io.h>
#include <share.h>
#include <sys/stat.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <bcrypt.h> /* needs windows.h */
#undef near /* words of 16-bit Windows, which are names elsewhere */
#undef far
#ifdef _MSC_VER
#pragma comment(lib, "bcrypt")
#endif

typedef struct file_path { /* as the system takes it */
  wchar_t *str; /* NULL: the conversion failed */
  size_t bytes;
  const ci_allocator *allocator;
} file_path;

static void file_path_release(file_path *path) {
  if (path->str) ci_release(path->allocator, path->str, path->bytes);
}

/* `folder` is "" or ends with a separator. A byte of UTF-8 is at most one unit of UTF-16. */
static ci_status file_path_of(const ci_allocator *allocator, const char *folder, const char *name, file_path *path,
                              ci_error *error) {
  const size_t most = strlen(folder) + strlen(name) + 1;
  const char *const parts[] = {folder, name};
  size_t units = 0;
  *path = (file_path){.allocator = allocator};
  if (most > INT_MAX) return ci_fail(error, CI_INVALID_ARGUMENT, "a path of %zu bytes is too long", most);
  path->bytes = most * sizeof *path->str;
  path->str = ci_alloc(allocator, path->bytes);
  if (!path->str) return file_no_memory(error, name);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    const size_t length = strlen(parts[i]);
    const int n = length == 0 ? 0
                              : MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, parts[i], (int)length,
                                                    path->str + units, (int)(most - units));
    if (n == 0 && length > 0) {
      file_path_release(path);
      path->str = NULL;
      return ci_fail(error, CI_INVALID_ARGUMENT, "the path '%s%s' is not UTF-8", folder, name);
    }
    units += (size_t)n;
  }
  return CI_OK;
}

static ci_status file_path_in(const ci_folder *folder, const char *name, file_path *path, ci_error *error) {
  return file_path_of(folder->allocator, folder->path, name, path, error);
}

static ci_status file_fail_windows(ci_error *error, const char *verb, const char *name) {
  const DWORD reason = GetLastError();
  const bool missing = reason == ERROR_FILE_NOT_FOUND || reason == ERROR_PATH_NOT_FOUND;
  const ci_status status = missing ? CI_NOT_FOUND : reason == ERROR_DISK_FULL ? CI_RESOURCE_EXHAUSTED : CI_UNAVAILABLE;
  return ci_fail(error, status, "cannot %s '%s': Windows error %lu", verb, name, reason);
}

int64_t ci_file_now(void) {
  FILETIME now; /* units of 100 ns since 1601 */
  GetSystemTimeAsFileTime(&now);
  uint64_t units = (uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime;
  return ((int64_t)units - INT64_C(116444736000000000)) * 100;
}

static ci_status file_open_to_read(const file_path *path, const char *name, uint64_t max_bytes, int *handle,
                                   uint64_t *size, ci_error *error) {
  struct _stat64 about;
  if (_wsopen_s(handle, path->str, _O_RDONLY | _O_BINARY, _SH_DENYNO, 0)) return file_fail(error, "open", name);
  if (_fstat64(*handle, &about) || about.st_size < 0 || !(about.st_mode & _S_IFREG))
    return ci_fail(error, CI_INVALID_ARGUMENT, "'%s' is not a regular file", name);
  *size = (uint64_t)about.st_size;
  return *size > max_bytes || *size > SIZE_MAX / 2 ? file_too_large(error, name, *size, max_bytes) : CI_OK;
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

/* Takes the path: it is released whatever happens. */
static ci_status file_take(file_path *path, const char *name, uint64_t max_bytes, ci_bytes *bytes, ci_error *error) {
  const ci_allocator *allocator = path->allocator;
  int handle = -1;
  uint64_t size = 0;
  ci_status status = file_open_to_read(path, name, max_bytes, &handle, &size, error);
  uint8_t *data = status == CI_OK ? ci_alloc_uncleared(allocator, (size_t)size) : NULL;
  if (status == CI_OK && !data) status = file_no_memory(error, name);
  if (status == CI_OK) status = file_get(handle, name, 0, data, (size_t)size, error);
  if (handle >= 0) _close(handle);
  if (status != CI_OK && data) ci_release(allocator, data, (size_t)size);
  if (status == CI_OK) *bytes = (ci_bytes){.data = data, .length = (size_t)size};
  file_path_release(path);
  return status;
}

ci_status ci_file_map(const ci_allocator *allocator, const char *name, uint64_t max_bytes, ci_bytes *bytes,
                      ci_error *error) {
  file_path path;
  CI_TRY(file_path_of(allocator, "", name, &path, error));
  return file_take(&path, name, max_bytes, bytes, error);
}

ci_status ci_folder_read(const ci_folder *folder, const char *name, uint64_t max_bytes, ci_bytes *bytes,
                         ci_error *error) {
  file_path path;
  CI_TRY(file_path_in(folder, name, &path, error));
  return file_take(&path, name, max_bytes, bytes, error);
}

ci_status ci_reader_open(const ci_folder *folder, const char *name, uint64_t max_bytes, ci_reader *reader,
                         ci_error *error) {
  file_path path;
  *reader = (ci_reader){.name = name, .handle = -1};
  CI_TRY(file_path_in(folder, name, &path, error));
  ci_status status = file_open_to_read(&path, name, max_bytes, &reader->handle, &reader->size, error);
  file_path_release(&path);
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

ci_status ci_folder_rename(const ci_folder *folder, const char *from, const char *to, ci_error *error) {
  file_path old, new;
  CI_TRY(file_path_in(folder, from, &old, error));
  ci_status status = file_path_in(folder, to, &new, error);
  if (status == CI_OK && !MoveFileExW(old.str, new.str, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
    status = file_fail_windows(error, "rename a new file to", to);
  file_path_release(&old);
  file_path_release(&new);
  return status;
}

ci_status ci_folder_sync(const ci_folder *folder, ci_error *error) {
  (void)folder, (void)error;
  return CI_OK;
}

ci_status ci_folder_unlink(const ci_folder *folder, const char *name) {
  file_path path;
  CI_TRY(file_path_in(folder, name, &path, NULL));
  ci_status status = _wunlink(path.str) ? file_fail(NULL, "remove", name) : CI_OK;
  file_path_release(&path);
  return status;
}

bool ci_folder_times(const ci_folder *folder, const char *name, int64_t *modified, int64_t *arrived) {
  struct _stat64 about;
  file_path path;
  if (file_path_in(folder, name, &path, NULL) != CI_OK) return false;
  bool known = _wstat64(path.str, &about) == 0;
  if (known) *modified = (int64_t)about.st_mtime * CI_SECOND;
  if (known) *arrived = (int64_t)(about.st_ctime > about.st_mtime ? about.st_ctime : about.st_mtime) * CI_SECOND;
  file_path_release(&path);
  return known;
}

bool ci_folder_has(const ci_folder *folder, const char *name) {
  file_path path;
  /* a file that cannot be examined may well be there */
  if (file_path_in(folder, name, &path, NULL) != CI_OK) return true;
  const bool known = GetFileAttributesW(path.str) != INVALID_FILE_ATTRIBUTES;
  const DWORD reason = known ? ERROR_SUCCESS : GetLastError();
  file_path_release(&path);
  return reason != ERROR_FILE_NOT_FOUND && reason != ERROR_PATH_NOT_FOUND;
}

/* A name that is not Unicode was not written by the library: it is not visited. */
static bool file_visit(ci_folder_visit visit, void *argument, const wchar_t *name) {
  char str[3 * MAX_PATH + 1]; /* a unit of UTF-16 has at most three bytes in UTF-8 */
  const int n = WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, name, -1, str, (int)sizeof str, NULL, NULL);
  return n == 0 || visit(argument, str);
}

ci_status ci_folder_each(const ci_folder *folder, ci_folder_visit visit, void *argument, ci_error *error) {
  WIN32_FIND_DATAW entry;
  file_path pattern;
  CI_TRY(file_path_in(folder, "*", &pattern, error));
  HANDLE entries = FindFirstFileW(pattern.str, &entry);
  ci_status status =
      entries == INVALID_HANDLE_VALUE ? file_fail_windows(error, "list the folder", folder->path) : CI_OK;
  file_path_release(&pattern);
  if (status != CI_OK) return status;
  bool more = true, next = true;
  while (next && more) {
    more = file_visit(visit, argument, entry.cFileName);
    next = more && FindNextFileW(entries, &entry);
  }
  if (more && GetLastError() != ERROR_NO_MORE_FILES) status = file_fail_windows(error, "list the folder", folder->path);
  FindClose(entries);
  return status;
}

ci_status ci_writer_create(const ci_folder *folder, const char *name, ci_writer *writer, ci_error *error) {
  *writer = (ci_writer){.folder = folder, .name = name, .handle = -1};
  file_path path;
  CI_TRY(file_path_in(folder, name, &path, error));
  int flags = _O_WRONLY | _O_BINARY | _O_CREAT | _O_EXCL;
  errno_t failed = _wsopen_s(&writer->handle, path.str, flags, _SH_DENYNO, _S_IREAD | _S_IWRITE);
  file_path_release(&path);
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

/* A file that is open cannot be renamed here, so none is locked. */
#include "file_lock_none.h"

static bool file_random_bits(uint64_t *bits) {
  return BCryptGenRandom(NULL, (PUCHAR)bits, (ULONG)sizeof *bits, BCRYPT_USE_SYSTEM_PREFERRED_RNG) == 0;
}

static uint64_t file_ticks(void) {
  LARGE_INTEGER now;
  return QueryPerformanceCounter(&now) ? (uint64_t)now.QuadPart : 0;
}

static uint64_t file_process(void) { return GetCurrentProcessId(); }
