/* file_lock.h - locks of file.c, which alone includes it: whether a process that writes a file is still there. */
#ifdef __wasi__
#include "file_lock_none.h"
#else
#include <sys/file.h>

static int lock_take(int handle, int how) {
  int failed;
  do failed = flock(handle, how);
  while (failed && errno == EINTR);
  return failed;
}

int ci_writer_lock(const ci_writer *writer, bool *works) {
  const int lock = fcntl(writer->handle, F_DUPFD_CLOEXEC, 0); /* it outlives the close of the other */
  *works = false;
  if (lock >= 0 && lock_take(lock, LOCK_EX)) {
    close(lock);
    return -1;
  }
  const int other = lock < 0 ? -1 : file_open_at(writer->folder->handle, writer->name, O_RDWR | O_NOFOLLOW);
  if (other >= 0) {
    *works = lock_take(other, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
    close(other);
  }
  return lock;
}

void ci_lock_release(int lock) {
  if (lock >= 0) close(lock);
}

ci_status ci_folder_unlink_unlocked(const ci_folder *folder, const char *name) {
  const int handle = file_open_at(folder->handle, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  if (handle < 0) return errno == ENOENT ? CI_NOT_FOUND : ci_folder_unlink(folder, name);
  const bool held = lock_take(handle, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
  const ci_status status = held ? CI_ALREADY_EXISTS : ci_folder_unlink(folder, name); /* while others are kept out */
  close(handle);
  return status;
}
#endif
