/* io_shim.c - stands between a program and the system's calls on the files of one folder: notes them or fails one.
 *
 *   cc -shared -fPIC -O1 io_shim.c -ldl -o io_shim.so;  IO_SHIM_FOLDER=/tmp/run IO_SHIM_NTH=3 IO_SHIM_ERROR=28 \
 *   LD_PRELOAD=./io_shim.so program
 *
 * IO_SHIM_FOLDER: calls on it and on files in it are watched, all others pass. IO_SHIM_NTH: which of them fails, from
 * 1 on; 0: none. IO_SHIM_ERROR: with which errno; -1: none fails, but every write and read does half of what it could;
 * -2: reads find the end of their file, as if it had been cut short.
 * IO_SHIM_COUNT: file that gets the number of calls when the program ends.
 * IO_SHIM_AGE: so many seconds are taken off the times of files that are older than the process, as if it had started
 * later. IO_SHIM_FOREVER=1: all from that one on fail. IO_SHIM_LOG: file to which they are appended, one line each,
 * after a write its bytes. A program may call io_shim_arm itself. Linux, glibc. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "io_shim.h"

enum { HANDLES = 65536 };

static char folder[4096];
static long nth, calls;
static int error_number;
static bool forever;
static bool mapless; /* no file can be mapped */
static bool randomless; /* the system gives no random bits */
static int syncless; /* with this the fsync of the folder fails */
static long age;
static struct timespec started;
static int log_handle = -1;
static unsigned char watched[HANDLES]; /* 1: a file of the folder, 2: the folder itself, 4: opened for reading */

#define NEXT(type, name, ...)       \
  static type (*next)(__VA_ARGS__); \
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name)

void io_shim_arm(const char *where, long at, int number, int for_ever) {
  snprintf(folder, sizeof folder, "%s", where);
  error_number = number;
  forever = for_ever != 0;
  __atomic_store_n(&calls, 0, __ATOMIC_SEQ_CST);
  nth = at;
}

void io_shim_refuse_random(int refuse) { randomless = refuse != 0; }

void io_shim_refuse_maps(int refuse) { mapless = refuse != 0; }

void io_shim_refuse_sync(int number) { syncless = number; }

long io_shim_calls(void) { return __atomic_load_n(&calls, __ATOMIC_SEQ_CST); }

__attribute__((constructor)) static void io_shim_begin(void) {
  const char *where = getenv("IO_SHIM_FOLDER"), *at = getenv("IO_SHIM_NTH"), *number = getenv("IO_SHIM_ERROR");
  const char *log = getenv("IO_SHIM_LOG"), *ever = getenv("IO_SHIM_FOREVER");
  if (where) io_shim_arm(where, at ? atol(at) : 0, number ? atoi(number) : 0, ever && *ever == '1');
  const char *older = getenv("IO_SHIM_AGE");
  age = older ? atol(older) : 0;
  clock_gettime(CLOCK_REALTIME_COARSE, &started);
  if (log) log_handle = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
}

__attribute__((destructor)) static void io_shim_end(void) {
  const char *path = getenv("IO_SHIM_COUNT");
  char text[32];
  if (!path) return;
  int handle = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  syscall(SYS_write, handle, text, (size_t)snprintf(text, sizeof text, "%ld\n", io_shim_calls()));
  syscall(SYS_close, handle);
}

static void note(const char *format, ...) {
  char line[1024];
  va_list arguments;
  if (log_handle < 0) return;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  syscall(SYS_write, log_handle, line, (size_t)length);
}

/* 1: a file of the folder, 2: the folder, 0: neither. */
static int kind_of_path(int at, const char *path) {
  size_t length = strlen(folder);
  if (!length) return 0;
  if (path[0] != '/' && at >= 0 && at < HANDLES) return (watched[at] & 3) == 2;
  if (strncmp(path, folder, length) != 0) return 0;
  path += length;
  while (*path == '/') path++;
  return *path ? (path[-1] == '/' && !strchr(path, '/')) : 2;
}

static const char *base(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int known(int handle) { return handle >= 0 && handle < HANDLES ? watched[handle] : 0; }

/* Counts a call that is watched; whether it fails. EINTR comes only from calls that wait, and no reading finds the disk
 * full. */
enum { WAITS = 1, READS = 2, BYTES = 4 };
static bool fails(int how) {
  bool full = error_number == ENOSPC || error_number == EDQUOT;
  if (error_number == IO_SHIM_HALVES || (error_number == IO_SHIM_ENDS && !(how & BYTES)) ||
      (error_number == EINTR && !(how & WAITS)) || (full && how & READS))
    return false;
  long number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
  if (nth <= 0 || (forever ? number < nth : number != nth)) return false;
  errno = error_number;
  return true;
}

static size_t some(size_t count) { return nth > 0 && error_number == IO_SHIM_HALVES && count > 1 ? count / 2 : count; }

static ssize_t ended(void) { return error_number == IO_SHIM_ENDS ? 0 : -1; }

static int opened(int handle, int kind, int flags, const char *path) {
  bool reads = (flags & O_ACCMODE) == O_RDONLY;
  if (handle >= 0 && handle < HANDLES) watched[handle] = (unsigned char)(kind ? kind | (reads ? 4 : 0) : 0);
  if (handle >= 0 && kind == 1 && flags & O_CREAT) note("create %d %s\n", handle, base(path));
  return handle;
}

#define OPEN_AT(name)                                                                      \
  int name(int at, const char *path, int flags, ...) {                                     \
    NEXT(int, name, int, const char *, int, ...);                                          \
    va_list arguments;                                                                     \
    va_start(arguments, flags);                                                            \
    mode_t mode = va_arg(arguments, mode_t);                                               \
    va_end(arguments);                                                                     \
    int kind = kind_of_path(at, path);                                                     \
    if (kind && fails((flags & O_ACCMODE) == O_RDONLY ? WAITS | READS : WAITS)) return -1; \
    return opened(next(at, path, flags, mode), kind, flags, path);                         \
  }
OPEN_AT(openat)
OPEN_AT(openat64)

#define OPEN(name)                                                                         \
  int name(const char *path, int flags, ...) {                                             \
    NEXT(int, name, const char *, int, ...);                                               \
    va_list arguments;                                                                     \
    va_start(arguments, flags);                                                            \
    mode_t mode = va_arg(arguments, mode_t);                                               \
    va_end(arguments);                                                                     \
    int kind = kind_of_path(AT_FDCWD, path);                                               \
    if (kind && fails((flags & O_ACCMODE) == O_RDONLY ? WAITS | READS : WAITS)) return -1; \
    return opened(next(path, flags, mode), kind, flags, path);                             \
  }
OPEN(open)
OPEN(open64)

int close(int handle) {
  NEXT(int, close, int);
  int kind = known(handle);
  if (kind) watched[handle] = 0;
  bool failed = kind && fails(kind & 4 ? WAITS | READS : WAITS);
  int number = errno, done = next(handle);
  if (!failed) return done;
  errno = number;
  return -1;
}

static ssize_t wrote(int handle, const void *data, ssize_t done) {
  if (known(handle) && done >= 0) {
    note("write %d %zd\n", handle, done);
    if (log_handle >= 0) syscall(SYS_write, log_handle, data, (size_t)done);
  }
  return done;
}

ssize_t write(int handle, const void *data, size_t count) {
  NEXT(ssize_t, write, int, const void *, size_t);
  if (!known(handle)) return next(handle, data, count);
  return fails(WAITS) ? -1 : wrote(handle, data, next(handle, data, some(count)));
}

ssize_t read(int handle, void *data, size_t count) {
  NEXT(ssize_t, read, int, void *, size_t);
  if (!known(handle)) return next(handle, data, count);
  return fails(WAITS | READS | BYTES) ? ended() : next(handle, data, some(count));
}

#define READ_AT(name, offset_type)                                                           \
  ssize_t name(int handle, void *data, size_t count, offset_type offset) {                   \
    NEXT(ssize_t, name, int, void *, size_t, offset_type);                                   \
    if (!known(handle)) return next(handle, data, count, offset);                            \
    return fails(WAITS | READS | BYTES) ? ended() : next(handle, data, some(count), offset); \
  }
READ_AT(pread, off_t)
READ_AT(pread64, off64_t)

#define MAP(name, offset_type)                                                                        \
  void *name(void *where, size_t length, int protection, int flags, int handle, offset_type offset) { \
    NEXT(void *, name, void *, size_t, int, int, int, offset_type);                                   \
    if (known(handle) && (mapless || fails(READS))) return MAP_FAILED;                                \
    return next(where, length, protection, flags, handle, offset);                                    \
  }
MAP(mmap, off_t)
MAP(mmap64, off64_t)

static void make_older(struct timespec *time) {
  if (time->tv_sec < started.tv_sec || (time->tv_sec == started.tv_sec && time->tv_nsec < started.tv_nsec))
    time->tv_sec -= age;
}

#define AGED(result, about)                                                           \
  int done = result;                                                                  \
  if (done == 0 && age) make_older(&(about)->st_mtim), make_older(&(about)->st_ctim); \
  return done

#define STAT(name, type)                          \
  int name(int handle, struct type *about) {      \
    NEXT(int, name, int, struct type *);          \
    if (known(handle) && fails(READS)) return -1; \
    AGED(next(handle, about), about);             \
  }
STAT(fstat, stat)
STAT(fstat64, stat64)

#define STAT_PATH(name, type)                                    \
  int name(const char *path, struct type *about) {               \
    NEXT(int, name, const char *, struct type *);                \
    if (kind_of_path(AT_FDCWD, path) && fails(READS)) return -1; \
    AGED(next(path, about), about);                              \
  }
STAT_PATH(stat, stat)
STAT_PATH(stat64, stat64)
STAT_PATH(lstat, stat)
STAT_PATH(lstat64, stat64)

#define STAT_AT(name, type)                                           \
  int name(int at, const char *path, struct type *about, int flags) { \
    NEXT(int, name, int, const char *, struct type *, int);           \
    if (kind_of_path(at, path) && fails(READS)) return -1;            \
    AGED(next(at, path, about, flags), about);                        \
  }
STAT_AT(fstatat, stat)
STAT_AT(fstatat64, stat64)

DIR *opendir(const char *path) {
  NEXT(DIR *, opendir, const char *);
  return kind_of_path(AT_FDCWD, path) && fails(READS) ? NULL : next(path);
}

#define READ_FOLDER(name, type)                             \
  struct type *name(DIR *entries) {                         \
    NEXT(struct type *, name, DIR *);                       \
    if (known(dirfd(entries)) && fails(READS)) return NULL; \
    return next(entries);                                   \
  }
READ_FOLDER(readdir, dirent)
READ_FOLDER(readdir64, dirent64)

#define SYNC(name)                                                \
  int name(int handle) {                                          \
    NEXT(int, name, int);                                         \
    int kind = known(handle);                                     \
    if ((kind & 3) == 2 && syncless) return errno = syncless, -1; \
    if (kind && fails(WAITS)) return -1;                          \
    int done = next(handle);                                      \
    if ((kind & 3) == 2 && done == 0) note("sync\n");             \
    if ((kind & 3) == 1 && done == 0) note("fsync %d\n", handle); \
    return done;                                                  \
  }
SYNC(fsync)
SYNC(fdatasync)

static int renamed(int done, const char *old, const char *new_name) {
  if (done == 0) note("rename %s %s\n", base(old), base(new_name));
  return done;
}

int rename(const char *old, const char *new_name) {
  NEXT(int, rename, const char *, const char *);
  if (!kind_of_path(AT_FDCWD, new_name)) return next(old, new_name);
  return fails(0) ? -1 : renamed(next(old, new_name), old, new_name);
}

int renameat(int from, const char *old, int to, const char *new_name) {
  NEXT(int, renameat, int, const char *, int, const char *);
  if (!kind_of_path(to, new_name)) return next(from, old, to, new_name);
  return fails(0) ? -1 : renamed(next(from, old, to, new_name), old, new_name);
}

static int removed(int done, const char *path) {
  if (done == 0) note("remove %s\n", base(path));
  return done;
}

int unlink(const char *path) {
  NEXT(int, unlink, const char *);
  if (!kind_of_path(AT_FDCWD, path)) return next(path);
  return fails(0) ? -1 : removed(next(path), path);
}

int unlinkat(int at, const char *path, int flags) {
  NEXT(int, unlinkat, int, const char *, int);
  if (!kind_of_path(at, path)) return next(at, path, flags);
  return fails(0) ? -1 : removed(next(at, path, flags), path);
}

ssize_t getrandom(void *bytes, size_t count, unsigned flags) {
  NEXT(ssize_t, getrandom, void *, size_t, unsigned);
  if (!randomless) return next(bytes, count, flags);
  errno = ENOSYS;
  return -1;
}
