/* file_lock_none.h - locks of file.c where the system has none: no file is locked. */
int ci_writer_lock(const ci_writer *writer, bool *works) {
  (void)writer;
  *works = false;
  return -1;
}

void ci_lock_release(int lock) { (void)lock; }

ci_status ci_folder_unlink_unlocked(const ci_folder *folder, const char *name) {
  return ci_folder_unlink(folder, name);
}
