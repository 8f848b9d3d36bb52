/* open_recorder.c - notes every file that a program opens, by what it is and not by the name that was given.
 *
 *   cc -shared -fPIC -O1 open_recorder.c -ldl -o open_recorder.so;  OPEN_RECORD=/tmp/log LD_PRELOAD=./open_recorder.so
 * ...
 *
 * A line of the log is the path that /proc/self/fd gives for the new handle. Linux, glibc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int log_handle = -1;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("OPEN_RECORD");
  if (path) log_handle = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
}

static int note(int handle) {
  char link[64], path[4097];
  if (handle < 0 || log_handle < 0) return handle;
  snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
  ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
  if (length < 0) length = 0;
  path[length] = '\n';
  syscall(SYS_write, log_handle, path, (size_t)length + 1);
  return handle;
}

#define OPEN(name)                                        \
  int name(const char *path, int flags, ...) {            \
    static int (*next)(const char *, int, ...);           \
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name); \
    va_list arguments;                                    \
    va_start(arguments, flags);                           \
    mode_t mode = va_arg(arguments, mode_t);              \
    va_end(arguments);                                    \
    return note(next(path, flags, mode));                 \
  }
OPEN(open)
OPEN(open64)

#define OPEN_AT(name)                                     \
  int name(int at, const char *path, int flags, ...) {    \
    static int (*next)(int, const char *, int, ...);      \
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name); \
    va_list arguments;                                    \
    va_start(arguments, flags);                           \
    mode_t mode = va_arg(arguments, mode_t);              \
    va_end(arguments);                                    \
    return note(next(at, path, flags, mode));             \
  }
OPEN_AT(openat)
OPEN_AT(openat64)
