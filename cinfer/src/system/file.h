/* file.h - files: read or mapped completely, written so that a crash leaves the old file or the new one. */
#ifndef CI_FILE_H
#define CI_FILE_H
#include "../base/ci_common.h"

/* ---- reading ---- */

typedef struct ci_bytes { /* a complete file */
  const uint8_t *data;    /* 64-aligned; never NULL after a successful read */
  size_t length;
  bool mapped;
} ci_bytes;

/* Maps `path`, or reads it where it cannot be mapped. More than max_bytes is CI_RESOURCE_EXHAUSTED, a missing file
 * CI_NOT_FOUND, anything but a regular file CI_INVALID_ARGUMENT, a failing read CI_UNAVAILABLE. */
ci_status ci_file_map(const ci_allocator *allocator, const char *path, uint64_t max_bytes, ci_bytes *bytes,
                      ci_error *error);
void ci_file_unmap(const ci_allocator *allocator, ci_bytes *bytes);
/* A part of it will hardly be read again: the memory that shows it goes back to the system, which reads the file again
 * if needed. No effect on bytes that are not mapped. */
void ci_file_forget(const ci_bytes *file, const void *part, size_t bytes);

/* ---- folders: names inside one are base names, so nothing is opened outside ---- */

typedef struct ci_folder {
  char *path; /* "." or the part up to the last separator, with it */
  size_t path_bytes;
  const ci_allocator *allocator;
  int handle; /* POSIX: of the folder */
} ci_folder;

/* The folder of `prefix`; *base points at the base name inside prefix. An empty base name is an error. */
ci_status ci_folder_open(const ci_allocator *allocator, const char *prefix, ci_folder *folder, const char **base,
                         ci_error *error);
void ci_folder_close(ci_folder *folder);
/* Whether `name` may be used inside a folder: 1 to 255 bytes of UTF-8 without /, \, " and control characters, on
 * Windows without <>:|?*, too, not beginning with a dot. */
bool ci_file_safe_name(const char *name, size_t length);
/* Reads an entire file of the folder; symbolic links are not followed out of it. */
ci_status ci_folder_read(const ci_folder *folder, const char *name, uint64_t max_bytes, ci_bytes *bytes,
                         ci_error *error);
/* A file of the folder that is read at offsets; not through a symbolic link. */
typedef struct ci_reader {
  const char *name; /* the caller's, for messages */
  int handle;       /* -1: not open */
  uint64_t size;    /* when it was opened */
} ci_reader;
ci_status ci_reader_open(const ci_folder *folder, const char *name, uint64_t max_bytes, ci_reader *reader,
                         ci_error *error);
/* CI_DATA_LOSS: the file ends before. */
ci_status ci_reader_get(ci_reader *reader, uint64_t offset, void *to, size_t bytes, ci_error *error);
/* The entire file as private memory of the process: writing to it changes no file. NULL: it cannot be mapped. */
void *ci_reader_map(const ci_reader *reader);
void ci_reader_unmap(void *data, uint64_t size);
void ci_reader_close(ci_reader *reader);
ci_status ci_folder_rename(const ci_folder *folder, const char *from, const char *to, ci_error *error);
ci_status ci_folder_sync(const ci_folder *folder, ci_error *error);
/* CI_OK, CI_NOT_FOUND, or the system's error. */
ci_status ci_folder_unlink(const ci_folder *folder, const char *name);
/* Whether there is an entry of that name. */
bool ci_folder_has(const ci_folder *folder, const char *name);
/* When a file was last written, and when it came under its name. */
bool ci_folder_times(const ci_folder *folder, const char *name, int64_t *modified, int64_t *arrived);
/* Calls visit with the name of each entry, in the system's order; visit returns false to end that. It changes nothing
 * in the folder. */
typedef bool (*ci_folder_visit)(void *argument, const char *name);
ci_status ci_folder_each(const ci_folder *folder, ci_folder_visit visit, void *argument, ci_error *error);

/* ---- writing: create, put ..., finish; any failure is remembered and finish returns it ---- */

typedef struct ci_writer {
  const ci_folder *folder;
  const char *name; /* the caller's, for messages */
  int handle;       /* -1: not open */
  uint64_t written, started; /* bytes; those that the system was instructed to bring to the disk */
} ci_writer;

/* Creates a new file, mode 0666 less the umask; an existing one is an error. */
ci_status ci_writer_create(const ci_folder *folder, const char *name, ci_writer *writer, ci_error *error);
ci_status ci_writer_put(ci_writer *writer, const void *data, size_t bytes, ci_error *error);
/* Bytes of a file begin their way to the disk while others are made: less is left for the fsync, which reports whether
 * they arrived. A hint: systems that do not know it do nothing. */
void ci_file_start(int handle, uint64_t offset, uint64_t bytes);
/* On the disk and closed, both checked. */
ci_status ci_writer_finish(ci_writer *writer, ci_error *error);
/* Closes and removes the file; harmless after finish. */
void ci_writer_abandon(ci_writer *writer);

/* ---- locks: whether the process that writes a file is still there; where the system has none, no process holds one
 * ----
 */

/* Locks the file of a writer until ci_lock_release, or until the process ends; -1: it cannot. *works: others were seen
 * to be kept out. */
int ci_writer_lock(const ci_writer *writer, bool *works);
void ci_lock_release(int lock);
/* ci_folder_unlink of a file that no process has locked; CI_ALREADY_EXISTS: one has. */
ci_status ci_folder_unlink_unlocked(const ci_folder *folder, const char *name);

/* A number that no other call in any process returns: random bits of the operating system or, where it gives none, of
 * clocks, process and thread. It opens no file unless the system has no call for random bits. */
uint64_t ci_file_random(void);
/* Times are nanoseconds since 1970, UTC. */
#define CI_SECOND INT64_C(1000000000)
int64_t ci_file_now(void);
#endif
