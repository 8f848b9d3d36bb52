/* checkpoint.h - the files of a checkpoint (schema/README.md), as its parts share them: listing, saving and restoring.
 *
 * Nothing of a checkpoint is valid unless a valid index refers to it. checkpoint_index.c turns an index into bytes and
 * back, checkpoint_meta.c makes the graph file, checkpoint_save.c writes all files in crash-safe order,
 * checkpoint_restore.c reads and checks everything first. checkpoint_list.c reads the text file `checkpoint` and finds
 * the newest; checkpoint_keep.c decides which are too old, checkpoint_clean.c deletes. checkpoint_record.c is the file
 * that a save commits with, checkpoint_files.c knows the names of all files, checkpoint_needs.c which of them are
 * needed.
 */
#ifndef CI_CHECKPOINT_H
#define CI_CHECKPOINT_H
#include "../system/file.h"
#include "../base/memory.h"
#include "../base/out.h"
#include "../state/state.h"

enum {
  CI_CHECKPOINT_MAGIC_BYTES = 8,
  CI_ENVELOPE_BYTES = 32, /* magic, version, flags, length and checksum of the payload, checksum of these 28 bytes */
  CI_CHECKPOINT_MAJOR = 1,
  CI_CHECKPOINT_MINOR = 0, /* also the newest min_reader that this reader satisfies */
  CI_NAME_BYTES = 256,     /* of a file, with its zero */
  CI_TEMPORARY_BYTES = CI_NAME_BYTES + 32
};
#define CI_CHECKPOINT_LIST "checkpoint"
#define CI_NAME_ARG(span) (int)(span).length, (span).data /* for "%.*s": the complete name, which a message may cut */
#define CI_INDEX_MOST_BYTES (UINT64_C(1) << 31) /* it is one protobuf message */

typedef struct ci_saved { /* one variable in the index */
  ci_span name;
  int32_t dtype;
  int32_t rank;
  int64_t dims[CI_MAX_RANK];
  uint32_t shard;
  uint64_t offset, nbytes;
  uint32_t crc32c;
  ci_span slot_of, slot;
} ci_saved;

typedef struct ci_saved_resource {
  ci_span name;
  uint32_t kind; /* CI_RESOURCE_... */
  ci_generator generator;
  ci_span bytes; /* of other kinds */
} ci_saved_resource;

typedef struct ci_saved_shard {
  ci_span file;
  uint64_t nbytes;
  uint32_t header_crc32c;
} ci_saved_shard;

typedef struct ci_index { /* spans point into the bytes that were read, or are the writer's */
  const ci_allocator *allocator;
  uint64_t save_id;
  CI_LIST(ci_saved_shard) shards;
  CI_LIST(ci_saved) variables;          /* sorted by name */
  CI_LIST(ci_saved_resource) resources; /* sorted by name */
  ci_span meta_file;
  uint64_t meta_nbytes;
  uint32_t meta_crc32c;
  int64_t step; /* -1: none */
  int64_t time;
} ci_index;

/* ---- checkpoint_shards.c: the positions of variables in the data files of a save ---- */

typedef struct ci_shard_item { /* one variable */
  const ci_slot *slot;
  ci_span name;
  size_t nbytes;    /* in the shard */
  size_t item_size; /* the alignment of the bytes */
  uint32_t shard;
  uint64_t begin; /* from the first tensor */
  uint32_t crc;   /* once it is written */
} ci_shard_item;

typedef struct ci_shard { /* one data file */
  char name[CI_NAME_BYTES];
  size_t first, count; /* its items */
  ci_out header;       /* the bytes before the first tensor */
} ci_shard;

typedef struct ci_shards {
  const ci_allocator *allocator;
  ci_shard_item *items; /* shard by shard, in the order of its bytes */
  size_t count, items_bytes;
  CI_LIST(ci_shard) files; /* at least one */
} ci_shards;

/* All initialised variables; shard_bytes 0: one file. Free the plan also after a failure. */
CI_LOCAL ci_status ci_shards_plan(ci_state *state, uint64_t shard_bytes, ci_shards *plan, ci_error *error);
CI_LOCAL ci_status ci_shards_headers(ci_shards *plan, uint64_t save_id, ci_error *error);
CI_LOCAL void ci_shards_free(ci_shards *plan);

/* ---- checkpoint_index.c ---- */

CI_LOCAL void ci_checkpoint_index_free(ci_index *index);
/* The complete file: envelope and message. */
CI_LOCAL void ci_checkpoint_index_encode(const ci_index *index, ci_out *out);
/* Everything that the bytes alone can tell is checked; `name` is for messages. Free the index also after a failure. */
CI_LOCAL ci_status ci_checkpoint_index_decode(const ci_allocator *allocator, const ci_bytes *bytes, const char *name,
                                              ci_index *index, ci_error *error);
/* Whether a file begins as an index does. */
CI_LOCAL bool ci_checkpoint_index_begins(const ci_bytes *bytes);
/* Reads and decodes the index `name` of a folder; `bytes` must outlive the index. Free both also after a failure. */
CI_LOCAL ci_status ci_checkpoint_index_read(const ci_folder *folder, const char *name, ci_bytes *bytes, ci_index *index,
                                            ci_error *error);
/* A file of at most `most` bytes: a longer one is CI_DATA_LOSS. */
CI_LOCAL ci_status ci_checkpoint_read(const ci_folder *folder, const char *name, uint64_t most, ci_bytes *bytes,
                                      ci_error *error);

/* ---- checkpoint_meta.c ---- */

/* The bytes of P.meta: the model's file without the values of its variables. */
CI_LOCAL ci_status ci_checkpoint_meta(const ci_model *model, ci_out *out, ci_error *error);

/* ---- checkpoint_save.c ---- */

/* The error of saving and restoring in a build without checkpoints (families.h). */
CI_LOCAL ci_status ci_checkpoint_left_out(ci_error *error);
/* ci_save_with the bytes of P.meta themselves; NULL: no such file. What the Python binding calls. */
CI_LOCAL ci_status ci_checkpoint_save(ci_state *state, const void *meta, size_t meta_bytes, const char *prefix,
                                      const ci_save_options *options, ci_error *error);

/* ---- checkpoint_fit.c ---- */

/* Compares the variables of a state with those of a checkpoint. What a partial restore leaves as it is, is counted, and
 * marked in `skip`, one for each variable of the index; else all of it is in one message. */
CI_LOCAL ci_status ci_checkpoint_fit(ci_state *state, const ci_index *index, const char *base, uint32_t partial,
                                     bool *skip, int32_t *left_out, ci_error *error);

/* ---- checkpoint_list.c: the file `checkpoint`, a hint and never the truth ---- */

typedef struct ci_checkpoints { /* the content of the file; spans are in its bytes, still escaped, without quotes */
  ci_bytes file;
  ci_span latest;
  CI_LIST(ci_span) paths;
  CI_LIST(ci_span) times; /* one for each path, or none */
  CI_LIST(ci_span) expired; /* to be deleted */
  ci_span preserved;
  char origin_time[24]; /* of a checkpoint that the file lacks */
} ci_checkpoints;

/* CI_NOT_FOUND: there is none; CI_DATA_LOSS: it cannot be read, or is absurdly long. Free it in any case. */
CI_LOCAL ci_status ci_checkpoints_read(const ci_folder *folder, ci_checkpoints *list, ci_error *error);
CI_LOCAL void ci_checkpoints_free(const ci_allocator *allocator, ci_checkpoints *list);
/* Whether there is one of that name, which may be any string. */
CI_LOCAL bool ci_checkpoint_exists(const ci_folder *folder, ci_span base);
/* The file with `base` as the newest one. */
CI_LOCAL void ci_checkpoints_string(const ci_checkpoints *list, const char *base, ci_out *out);
/* The base name of the newest checkpoint of the folder: that of the file, else the valid one of the highest step, then
 * of the latest time, of which an index has the seconds and its file the rest. CI_NOT_FOUND: there is none.
 * CI_DATA_LOSS: none is complete. CI_UNIMPLEMENTED, CI_UNAVAILABLE: one that cannot be read may be the newest. */
CI_LOCAL ci_status ci_checkpoints_latest(const ci_folder *folder, char base[CI_NAME_BYTES], ci_error *error);

/* ---- checkpoint_keep.c ---- */

/* Adds `base` as the newest: of the others in this folder most - 1 stay, the oldest expire but for those that a file
 * P.keep or P.best protects (schema/README.md). Expired are only checkpoints that are there; false: out of memory. A
 * process that was killed after a commit has not listed its checkpoint: if the run goes on from that one, `origin`
 * adds it. */
CI_LOCAL bool ci_checkpoints_expire(const ci_folder *folder, ci_checkpoints *list, const char *base,
                                    const ci_origin *origin, size_t most);

/* ---- checkpoint_files.c ---- */

/* The length of the prefix in the name of a data or graph file with a save id, else 0. */
CI_LOCAL size_t ci_checkpoint_prefix(const char *name, uint64_t *id);
CI_LOCAL bool ci_checkpoint_is_temporary(const char *name);
/* The name that a temporary file is to get, and the id in its present one. */
CI_LOCAL const char *ci_checkpoint_final(const char *temporary, uint64_t *id);
/* Whether a name has an ending, and something before it: so much. */
CI_LOCAL bool ci_checkpoint_ends(const char *name, const char *ending, size_t *length);
/* The common part of the checkpoints of one run: the length of the name without the step, "-<digits>". */
CI_LOCAL size_t ci_checkpoint_run_length(const char *base);

typedef struct ci_candidates { /* names that a file may have; the first that is there counts */
  char names[4][CI_NAME_BYTES];
  size_t count;
} ci_candidates;

/* Of a file that the index of `base` names. A graph file gets its plain name after the commit. */
CI_LOCAL void ci_checkpoint_candidates(const char *base, ci_span named, ci_candidates *candidates);

/* ---- checkpoint_needs.c ---- */

typedef struct ci_needed { /* the files that the indexes of a folder need */
  ci_pool pool;
  const char *without;    /* the base name of an index that does not count; NULL: all do */
  CI_LIST(char *) names;  /* sorted */
  bool all;               /* an index cannot be read now: it may need everything */
} ci_needed;

CI_LOCAL void ci_needed_read(const ci_folder *folder, const char *without, ci_needed *needs);
CI_LOCAL bool ci_needed_has(const ci_needed *needs, const char *name);
CI_LOCAL void ci_needed_free(ci_needed *needs);
/* Whether a data file that the index of `base` names is not there; which one is in `error`. */
CI_LOCAL bool ci_checkpoint_lacks(const ci_folder *folder, const char *base, const ci_index *index, ci_error *error);

/* ---- checkpoint_record.c ---- */

typedef struct ci_record { /* the file that a save will commit with */
  ci_writer writer;
  const ci_folder *folder;
  char name[CI_TEMPORARY_BYTES];
  int lock;
  bool locks; /* were seen to keep others out in this folder */
} ci_record;

CI_LOCAL void ci_record_name(char name[CI_TEMPORARY_BYTES], uint64_t save_id, ci_span base);
/* The record must stay where it is; commit or cancel it. */
CI_LOCAL ci_status ci_record_begin(const ci_folder *folder, uint64_t save_id, ci_span base, ci_record *record,
                                   ci_error *error);
/* Writes it, on the disk, and replaces the index `name` with it. */
CI_LOCAL ci_status ci_record_commit(ci_record *record, const void *data, size_t bytes, const char *name,
                                    ci_error *error);
/* Ends the save; false: it may commit yet, because its record cannot be removed. */
CI_LOCAL bool ci_record_cancel(ci_record *record);
CI_LOCAL void ci_record_release(ci_record *record);

/* ---- checkpoint_clean.c: nothing here fails a save, and a checkpoint that cannot be deleted stays complete. Files
 * that any index of the folder needs stay, also if the index was renamed or copied ---- */

/* Removes the files of all saves to a prefix but one that are over: their record is gone, or its lock is free, or
 * where locks do not work they are `age` older than the index. */
CI_LOCAL void ci_checkpoint_collect(const ci_folder *folder, const char *base, uint64_t keep, bool locks, int64_t age);
/* Removes files of prefixes other than `base` that crashes have left, when all of them are more than `age` older than
 * the index of `base`: younger files may belong to a save or to a copy under way. */
CI_LOCAL void ci_checkpoint_remove_abandoned(const ci_folder *folder, const char *base, int64_t age);
/* Removes temporaries of the run of `base` last written before `time`, and others `age` older than that: they may be in
 * use. Those of a save under way stay. */
CI_LOCAL void ci_checkpoint_remove_temporaries(const ci_folder *folder, const char *base, bool locks, int64_t time,
                                               int64_t age);
/* Gives the graph file of a committed save its plain name. A save that commits later removes that file before it names
 * its own, so that this fails then: the file that the present index names always has one of its two names. */
CI_LOCAL void ci_checkpoint_name_graph(const ci_folder *folder, const char *base, const char *graph);
/* Does the same for checkpoints of other prefixes that a crash has kept from it. */
CI_LOCAL void ci_checkpoint_name_left(const ci_folder *folder, const char *base);
/* The index first, so that a crash leaves garbage and no half. */
CI_LOCAL void ci_checkpoint_delete(const ci_folder *folder, const char *base);

#endif
