/* checkpoint_record.c - the file that a save commits with: `tmp-<save id>-P.index`, which becomes `P.index`.
 *
 * It is made before all other files of the save and is there until the save has committed or failed. So another save
 * that removes the files of one that has ended removes its record first: from then on that save cannot commit, should
 * it be alive after all. A live save is spared by a lock, which the kernel releases when a process ends, or by age
 * where there are no locks. That nothing is lost depends on neither. */
#include <stdio.h>

#include "checkpoint.h"
#include "../model/model.h"

enum { RECORD_TRIES = 4 };

void ci_record_name(char name[CI_TEMPORARY_BYTES], uint64_t save_id, ci_span base) {
  snprintf(name, CI_TEMPORARY_BYTES, "tmp-%016llx-%.*s.index", (unsigned long long)save_id, CI_NAME_ARG(base));
}

ci_status ci_record_begin(const ci_folder *folder, uint64_t save_id, ci_span base, ci_record *record, ci_error *error) {
  *record = (ci_record){.writer.handle = -1, .lock = -1, .folder = folder};
  ci_record_name(record->name, save_id, base);
  for (int i = 0; i < RECORD_TRIES; i++) { /* another process may take it for a dead one's before it is locked */
    CI_TRY(ci_writer_create(folder, record->name, &record->writer, error));
    record->lock = ci_writer_lock(&record->writer, &record->locks);
    if (ci_folder_has(folder, record->name)) return CI_OK;
    (void)ci_record_cancel(record);
  }
  return ci_fail(error, CI_UNAVAILABLE, "'%s%s' was removed again and again by another process", folder->path,
                 record->name);
}

ci_status ci_record_commit(ci_record *record, const void *data, size_t bytes, const char *name, ci_error *error) {
  CI_TRY(ci_writer_put(&record->writer, data, bytes, error));
  CI_TRY(ci_writer_finish(&record->writer, error));
  const ci_status status = ci_folder_rename(record->folder, record->name, name, error);
  if (status == CI_NOT_FOUND)
    return ci_fail(error, CI_UNAVAILABLE,
                   "'%s%s' was not committed: another process has taken this save for one that was killed and has "
                   "removed its files; save again",
                   record->folder->path, name);
  if (status == CI_OK) ci_record_release(record);
  return status;
}

void ci_record_release(ci_record *record) {
  ci_lock_release(record->lock);
  record->lock = -1;
}

bool ci_record_cancel(ci_record *record) {
  ci_writer_abandon(&record->writer);
  const ci_status status = ci_folder_unlink(record->folder, record->name);
  ci_record_release(record);
  return status == CI_OK || status == CI_NOT_FOUND;
}
