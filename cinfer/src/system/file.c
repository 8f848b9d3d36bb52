/* file.c - reading and durable writing of files: POSIX here, Windows in file_windows.h, machines without files in
 * file_none.h.
 *
 * All calls of the file system are here. Every return code is checked: a short write is continued, an interrupted call
 * is repeated, a failed fsync never, because the system may then call lost pages clean. */
#include "posix.h"

#include "file.h"
#include "../base/wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

bool ci_file_safe_name(const char *name, size_t length) {
  static const char unsafe[] = "/\\\"\x7f", windows[] = "<>:|?*";
  if (length == 0 || length > 255 || name[0] == '.' || !ci_utf8_valid((ci_span){name, length})) return false;
  for (size_t i = 0; i < length; i++) {
    if ((unsigned char)name[i] < ' ' || strchr(unsafe, name[i])) return false;
    if (sizeof(wchar_t) == 2 && strchr(windows, name[i])) return false;
  }
  return true;
}

#ifdef CI_NO_FILES
#include "file_none.h"
#else
static bool file_is_full(int reason) {
#ifdef EDQUOT
  if (reason == EDQUOT) return true;
#endif
  return reason == ENOSPC;
}

/* A symbolic link where none is followed, or a loop of them; a file where a folder is meant. */
static bool file_is_other(int reason) {
#ifdef ELOOP
  if (reason == ELOOP) return true;
#endif
  return reason == ENOTDIR;
}

static ci_status file_fail_in(ci_error *error, const char *verb, const char *folder, const char *name) {
  int reason = errno;
  ci_status status = reason == ENOENT        ? CI_NOT_FOUND
                     : reason == EEXIST      ? CI_ALREADY_EXISTS
                     : file_is_full(reason)  ? CI_RESOURCE_EXHAUSTED
                     : file_is_other(reason) ? CI_INVALID_ARGUMENT
                                             : CI_UNAVAILABLE;
  return ci_fail(error, status, "cannot %s '%s%s': %s", verb, folder, name, strerror(reason));
}

static ci_status file_fail(ci_error *error, const char *verb, const char *name) {
  return file_fail_in(error, verb, "", name);
}

static ci_status file_too_large(ci_error *error, const char *name, uint64_t size, uint64_t most) {
  return ci_fail(error, CI_RESOURCE_EXHAUSTED, "'%s' has %llu bytes, the limit is %llu", name, (unsigned long long)size,
                 (unsigned long long)most);
}

static ci_status file_shrank(ci_error *error, const char *name, uint64_t size) {
  return ci_fail(error, CI_DATA_LOSS, "'%s' ends at byte %llu: it became shorter while it was read", name,
                 (unsigned long long)size);
}

static ci_status file_no_memory(ci_error *error, const char *name) {
  return ci_fail(error, CI_RESOURCE_EXHAUSTED, "out of memory while reading '%s'", name);
}

/* Splits prefix into folder and base name; folder->path is NULL when out of memory. */
static const char *file_split(const ci_allocator *allocator, const char *prefix, ci_folder *folder) {
  const char *base = prefix;
  for (const char *p = prefix; *p; p++)
    if (*p == '/' || (*p == '\\' && sizeof(wchar_t) == 2)) base = p + 1;
  size_t length = (size_t)(base - prefix);
  *folder = (ci_folder){.allocator = allocator, .handle = -1, .path_bytes = length + 3};
  folder->path = ci_alloc(allocator, folder->path_bytes);
  if (!folder->path) return base;
  if (length) memcpy(folder->path, prefix, length);
  else memcpy(folder->path, "./", 2);
  return base;
}

static ci_status file_open_split(const ci_allocator *allocator, const char *prefix, ci_folder *folder,
                                 const char **base, ci_error *error) {
  *base = file_split(allocator, prefix, folder);
  if (!folder->path) return file_no_memory(error, prefix);
  if (ci_file_safe_name(*base, strlen(*base))) return CI_OK;
  ci_status status =
      ci_fail(error, CI_INVALID_ARGUMENT,
              "'%s' is not a prefix of a checkpoint: its last part must be 1 to 255 bytes of UTF-8 without "
              "/, \\, \" and control characters, and not begin with a dot",
              prefix);
  ci_folder_close(folder);
  return status;
}

#ifdef _WIN32
#include "file_windows.h"
#else
/* ---- POSIX ---- */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifndef __wasi__ /* which reads entire files */
#include <sys/mman.h>
#define FILE_MAPS 1
#endif

#if defined(__APPLE__) || defined(__wasi__)
#include <sys/random.h>
#define FILE_GETENTROPY 1
#elif defined(__linux__) && defined(__has_include)
#if __has_include(<sys/random.h>)
#include <sys/random.h>
#define FILE_GETRANDOM 1
#endif
#endif

#ifdef __APPLE__
#define FILE_TIME(about, which) ((about)->st_##which##timespec)
#else
#define FILE_TIME(about, which) ((about)->st_##which##tim)
#endif

#ifdef MAP_NORESERVE /* few of the pages are ever written to */
#define FILE_NORESERVE MAP_NORESERVE
#else
#define FILE_NORESERVE 0
#endif

static int64_t file_nanoseconds(struct timespec time) {
  const int64_t most = INT64_MAX / CI_SECOND - 1, seconds = (int64_t)time.tv_sec;
  return (seconds > most ? most : seconds < -most ? -most : seconds) * CI_SECOND + time.tv_nsec;
}

int64_t ci_file_now(void) {
  struct timespec now = {0};
  (void)clock_gettime(CLOCK_REALTIME, &now);
  return file_nanoseconds(now);
}

static int file_open_at(int folder, const char *name, int flags) {
  int handle;
  do handle = openat(folder, name, flags | O_CLOEXEC, 0666);
  while (handle < 0 && errno == EINTR);
  return handle;
}

static ci_status file_get(int handle, const char *name, uint64_t offset, void *to, size_t bytes, ci_error *error) {
  uint8_t *data = to;
  while (bytes > 0) {
    ssize_t n = pread(handle, data, bytes < 1u << 30 ? bytes : 1u << 30, (off_t)offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_fail(error, "read", name);
    if (n == 0) return file_shrank(error, name, offset);
    data += n;
    bytes -= (size_t)n;
    offset += (uint64_t)n;
  }
  return CI_OK;
}

#if FILE_MAPS
enum { FILE_LARGE = 1 << 21 }; /* bytes of a large page */
/* The entire file as private memory of the process; NULL: it cannot be mapped. */
static void *file_map(int handle, uint64_t size, bool writable) {
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ, how = writable ? FILE_NORESERVE : 0;
  void *data = size ? mmap(NULL, (size_t)size, protection, MAP_PRIVATE | how, handle, 0) : MAP_FAILED;
  if (data == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE /* data from the disk comes in large pages, which are mapped in a tenth of the time */
  if (size >= FILE_LARGE) (void)madvise(data, (size_t)size, MADV_HUGEPAGE);
#endif
  return data;
}
static void file_unmap(void *data, uint64_t size) { (void)munmap(data, (size_t)size); }
#else
static void *file_map(int handle, uint64_t size, bool writable) {
  (void)handle, (void)size, (void)writable;
  return NULL;
}
static void file_unmap(void *data, uint64_t size) { (void)data, (void)size; }
#endif

static ci_status file_read_all(const ci_allocator *allocator, int handle, const char *name, size_t size,
                               ci_bytes *bytes, ci_error *error) {
  uint8_t *data = ci_alloc_uncleared(allocator, size);
  if (!data) return file_no_memory(error, name);
  ci_status status = file_get(handle, name, 0, data, size, error);
  if (status == CI_OK) *bytes = (ci_bytes){.data = data, .length = size};
  else ci_release(allocator, data, size);
  return status;
}

static ci_status file_examine(int handle, const char *name, uint64_t max_bytes, uint64_t *size, ci_error *error) {
  struct stat about;
  if (handle < 0) return file_fail(error, "open", name);
  if (fstat(handle, &about) != 0) return file_fail(error, "examine", name);
  if (!S_ISREG(about.st_mode)) return ci_fail(error, CI_INVALID_ARGUMENT, "'%s' is not a regular file", name);
  *size = (uint64_t)about.st_size;
  if (about.st_size < 0 || *size > max_bytes || *size > SIZE_MAX / 2)
    return file_too_large(error, name, *size, max_bytes);
  return CI_OK;
}

/* Takes the handle: it is closed whatever happens. */
static ci_status file_take(const ci_allocator *allocator, int handle, const char *name, uint64_t max_bytes, bool map,
                           ci_bytes *bytes, ci_error *error) {
  uint64_t size = 0;
  ci_status status = file_examine(handle, name, max_bytes, &size, error);
  if (status == CI_OK) {
    void *memory = map ? file_map(handle, size, false) : NULL;
    if (memory) *bytes = (ci_bytes){.data = memory, .length = (size_t)size, .mapped = true};
    else status = file_read_all(allocator, handle, name, (size_t)size, bytes, error);
  }
  if (handle >= 0) close(handle);
  return status;
}

/* O_NONBLOCK: opening a FIFO must not wait for a writer; it means nothing for regular files. */
ci_status ci_file_map(const ci_allocator *allocator, const char *path, uint64_t max_bytes, ci_bytes *bytes,
                      ci_error *error) {
  int handle = file_open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK);
  return file_take(allocator, handle, path, max_bytes, true, bytes, error);
}

void ci_file_unmap(const ci_allocator *allocator, ci_bytes *bytes) {
  if (!bytes->data) return;
  if (bytes->mapped) file_unmap((void *)(uintptr_t)bytes->data, bytes->length);
  else ci_release(allocator, (void *)(uintptr_t)bytes->data, bytes->length);
  *bytes = (ci_bytes){0};
}

void ci_file_forget(const ci_bytes *file, const void *part, size_t bytes) {
#ifdef MADV_DONTNEED
  const uintptr_t start = (uintptr_t)file->data, from = (uintptr_t)part;
  const long known = sysconf(_SC_PAGESIZE);
  if (!file->mapped || known <= 0 || from < start || from - start > file->length ||
      bytes > file->length - (from - start))
    return;
  /* full pages: other data shares the rest */
  const uintptr_t page = (uintptr_t)known, skip = (page - from % page) % page;
  if (bytes <= skip || bytes - skip < page) return;
  (void)madvise((void *)(from + skip), (bytes - skip) / page * page, MADV_DONTNEED);
#else
  (void)file, (void)part, (void)bytes;
#endif
}

ci_status ci_folder_open(const ci_allocator *allocator, const char *prefix, ci_folder *folder, const char **base,
                         ci_error *error) {
  CI_TRY(file_open_split(allocator, prefix, folder, base, error));
  folder->handle = file_open_at(AT_FDCWD, folder->path, O_RDONLY | O_DIRECTORY);
  if (folder->handle >= 0) return CI_OK;
  ci_status status = file_fail(error, "open the folder", folder->path);
  ci_folder_close(folder);
  return status;
}

void ci_folder_close(ci_folder *folder) {
  if (folder->handle >= 0) close(folder->handle);
  if (folder->path) ci_release(folder->allocator, folder->path, folder->path_bytes);
  *folder = (ci_folder){.handle = -1};
}

ci_status ci_folder_read(const ci_folder *folder, const char *name, uint64_t max_bytes, ci_bytes *bytes,
                         ci_error *error) {
  int handle = file_open_at(folder->handle, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  return file_take(folder->allocator, handle, name, max_bytes, false, bytes, error);
}

ci_status ci_reader_open(const ci_folder *folder, const char *name, uint64_t max_bytes, ci_reader *reader,
                         ci_error *error) {
  *reader = (ci_reader){.name = name};
  reader->handle = file_open_at(folder->handle, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  ci_status status = file_examine(reader->handle, name, max_bytes, &reader->size, error);
  if (status != CI_OK) ci_reader_close(reader);
  return status;
}

ci_status ci_reader_get(ci_reader *reader, uint64_t offset, void *to, size_t bytes, ci_error *error) {
  return file_get(reader->handle, reader->name, offset, to, bytes, error);
}

void *ci_reader_map(const ci_reader *reader) { return file_map(reader->handle, reader->size, true); }

void ci_reader_unmap(void *data, uint64_t size) { file_unmap(data, size); }

void ci_reader_close(ci_reader *reader) {
  if (reader->handle >= 0) close(reader->handle);
  reader->handle = -1;
}

ci_status ci_folder_rename(const ci_folder *folder, const char *from, const char *to, ci_error *error) {
  return renameat(folder->handle, from, folder->handle, to)
             ? file_fail_in(error, "rename a new file to", folder->path, to)
             : CI_OK;
}

/* an fsync that was interrupted gives no information about the data. */
static int file_sync(int handle) {
  int failed;
  do failed = fsync(handle);
  while (failed && errno == EINTR);
  return failed;
}

/* The errors of fsync of a folder on file systems that lack it (CIFS, vboxsf, DrvFs). */
static bool file_lacks_sync(int reason) {
#if EOPNOTSUPP != ENOTSUP
  if (reason == EOPNOTSUPP) return true;
#endif
  return reason == EINVAL || reason == ENOTSUP || reason == ENOSYS;
}

ci_status ci_folder_sync(const ci_folder *folder, ci_error *error) {
  /* On an XFS that has shut itself down after an error, fsync of a folder succeeds, and fstat fails. */
  struct stat about;
  bool failed = (file_sync(folder->handle) && !file_lacks_sync(errno)) || fstat(folder->handle, &about);
  return failed ? file_fail(error, "sync the folder", folder->path) : CI_OK;
}

ci_status ci_folder_unlink(const ci_folder *folder, const char *name) {
  return unlinkat(folder->handle, name, 0) ? file_fail(NULL, "remove", name) : CI_OK;
}

bool ci_folder_has(const ci_folder *folder, const char *name) {
  struct stat about;
  /* A file that cannot be examined may well be there. */
  return fstatat(folder->handle, name, &about, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

bool ci_folder_times(const ci_folder *folder, const char *name, int64_t *modified, int64_t *arrived) {
  struct stat about;
  if (fstatat(folder->handle, name, &about, AT_SYMLINK_NOFOLLOW)) return false;
  *modified = file_nanoseconds(FILE_TIME(&about, m));
  *arrived = file_nanoseconds(FILE_TIME(&about, c));
  return true;
}

ci_status ci_folder_each(const ci_folder *folder, ci_folder_visit visit, void *argument, ci_error *error) {
  int handle = file_open_at(folder->handle, ".", O_RDONLY | O_DIRECTORY); /* with a separate position in the list */
  DIR *entries = handle < 0 ? NULL : fdopendir(handle);
  if (!entries) {
    ci_status status = file_fail(error, "list the folder", folder->path);
    if (handle >= 0) close(handle);
    return status;
  }
  errno = 0;
  for (struct dirent *entry; (entry = readdir(entries)); errno = 0)
    if (!visit(argument, entry->d_name)) {
      errno = 0;
      break;
    }
  ci_status status = errno ? file_fail(error, "list the folder", folder->path) : CI_OK;
  closedir(entries);
  return status;
}

ci_status ci_writer_create(const ci_folder *folder, const char *name, ci_writer *writer, ci_error *error) {
  *writer = (ci_writer){.folder = folder, .name = name};
  writer->handle = file_open_at(folder->handle, name, O_WRONLY | O_CREAT | O_EXCL);
  return writer->handle < 0 ? file_fail_in(error, "create", folder->path, name) : CI_OK;
}

void ci_file_start(int handle, uint64_t offset, uint64_t bytes) {
#if defined(__linux__) && defined(SYNC_FILE_RANGE_WRITE)
  (void)sync_file_range(handle, (off_t)offset, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
#else
  (void)handle;
  (void)offset;
  (void)bytes;
#endif
}

enum { FILE_START = 1 << 23, FILE_PAGE = 1 << 16 };

/* Full pages only: half a page would be written twice. */
static void file_start_written(ci_writer *writer) {
  const uint64_t end = writer->written / FILE_PAGE * FILE_PAGE;
  if (end < writer->started + FILE_START) return;
  ci_file_start(writer->handle, writer->started, end - writer->started);
  writer->started = end;
}

ci_status ci_writer_put(ci_writer *writer, const void *data, size_t bytes, ci_error *error) {
  const uint8_t *from = data;
  while (bytes > 0) {
    ssize_t n = write(writer->handle, from, bytes < 1u << 30 ? bytes : 1u << 30);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO;
    if (n <= 0) return file_fail_in(error, "write", writer->folder->path, writer->name);
    from += n;
    bytes -= (size_t)n;
    writer->written += (uint64_t)n;
    file_start_written(writer);
  }
  return CI_OK;
}

static int file_to_disk(int handle) {
#ifdef F_FULLFSYNC /* macOS: fsync alone leaves the data in the drive's cache */
  if (fcntl(handle, F_FULLFSYNC) == 0) return 0;
#endif
  return file_sync(handle);
}

ci_status ci_writer_finish(ci_writer *writer, ci_error *error) {
  ci_status status = file_to_disk(writer->handle)
                         ? file_fail_in(error, "bring to the disk", writer->folder->path, writer->name)
                         : CI_OK;
  int handle = writer->handle;
  writer->handle = -1;
  if (close(handle) && errno != EINTR && status == CI_OK)
    status = file_fail_in(error, "close", writer->folder->path, writer->name);
  if (status != CI_OK) (void)ci_folder_unlink(writer->folder, writer->name);
  return status;
}

void ci_writer_abandon(ci_writer *writer) {
  if (writer->handle < 0) return;
  close(writer->handle);
  writer->handle = -1;
  (void)ci_folder_unlink(writer->folder, writer->name);
}

#include "file_lock.h"

static bool file_random_bits(uint64_t *bits) {
#if FILE_GETRANDOM
  return getrandom(bits, sizeof *bits, GRND_NONBLOCK) == sizeof *bits; /* as few come at once, or none */
#elif FILE_GETENTROPY
  return getentropy(bits, sizeof *bits) == 0;
#else
  int handle = file_open_at(AT_FDCWD, "/dev/urandom", O_RDONLY);
  if (handle < 0) return false;
  ssize_t n;
  do n = read(handle, bits, sizeof *bits);
  while (n < 0 && errno == EINTR);
  close(handle);
  return n == sizeof *bits;
#endif
}

static uint64_t file_ticks(void) {
  struct timespec now = {0};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)file_nanoseconds(now);
}

static uint64_t file_process(void) {
#ifdef __wasi__ /* has one */
  return 0;
#else
  return (uint64_t)getpid();
#endif
}
#endif

/* ---- random numbers ---- */

/* SplitMix64's: each bit of x changes half of the others. */
static uint64_t file_mixed(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

uint64_t ci_file_random(void) {
  uint64_t bits;
  if (file_random_bits(&bits)) return bits;
  const uint64_t parts[] = {(uint64_t)ci_file_now(), file_ticks(), file_process(), (uintptr_t)&bits};
  bits = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) bits = file_mixed(bits ^ parts[i]);
  return bits;
}
#endif
