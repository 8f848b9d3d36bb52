/* checkpoint.h - the files of a checkpoint (schema/README.md), as its three parts share them.
 *
 * Nothing of a checkpoint is valid unless a valid index refers to it. checkpoint_index.c turns an index into bytes and
 * back, checkpoint_meta.c makes the graph file, checkpoint_save.c writes all files in crash-safe order,
 * checkpoint_restore.c reads and checks everything first.
 */
#ifndef CI_CHECKPOINT_H
#define CI_CHECKPOINT_H
#include "file.h"
#include "memory.h"
#include "out.h"
#include "state.h"

enum {
  CI_CHECKPOINT_MAGIC_BYTES = 8,
  CI_ENVELOPE_BYTES = 32, /* magic, version, flags, length and checksum of the payload, checksum of these 28 bytes */
  CI_CHECKPOINT_MAJOR = 1,
  CI_CHECKPOINT_MINOR = 0, /* also the newest min_reader that this reader satisfies */
  CI_NAME_BYTES = 256      /* of a file, with its zero */
};

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

typedef struct ci_saved_random {
  ci_span name;
  ci_generator value;
} ci_saved_random;

typedef struct ci_saved_shard {
  ci_span file;
  uint64_t nbytes;
  uint32_t header_crc32c;
} ci_saved_shard;

typedef struct ci_index { /* spans point into the bytes that were read, or are the writer's */
  const ci_allocator *allocator;
  uint64_t save_id;
  CI_LIST(ci_saved_shard) shards;
  CI_LIST(ci_saved) variables;      /* sorted by name */
  CI_LIST(ci_saved_random) randoms; /* sorted by name */
  ci_span meta_file;
  uint64_t meta_nbytes;
  uint32_t meta_crc32c;
  int64_t step; /* -1: none */
  int64_t time;
} ci_index;

void ci_index_free(ci_index *index);
/* The whole file: envelope and message. */
void ci_index_encode(const ci_index *index, ci_out *out);
/* Everything that the bytes alone can tell is checked; `name` is for messages. Free the index also after a failure. */
ci_status ci_index_decode(const ci_allocator *allocator, const ci_bytes *bytes, const char *name, ci_index *index,
                          ci_error *error);

/* Elements between this machine's byte order and little-endian, in place. */
void ci_checkpoint_swap(int32_t dtype, void *data, size_t bytes);

/* The bytes of P.meta: the model's file without the values of its variables. */
ci_status ci_checkpoint_meta(const ci_model *model, ci_out *out, ci_error *error);

/* ci_save with the bytes of P.meta themselves; NULL: no such file. What the Python binding calls. */
ci_status ci_checkpoint_save(ci_state *state, const void *meta, size_t meta_bytes, const char *prefix, int64_t step,
                             ci_error *error);
#endif
