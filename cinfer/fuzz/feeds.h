/* feeds.h - makes input tensors from the bytes of a fuzz input, and computes the digest of output tensors.
 *
 * A tensor is a byte of which the highest bit says that its type and shape follow (type, rank, dimensions), else they
 * are those that the model declares and a byte follows for each unknown dimension. A dimension of 255 is followed by
 * eight bytes. The low bits say how it is filled: 0 the bytes that follow, 1 edges of the type, 2 zeros, 3 counting
 * up, 4 one byte all over. */
#ifndef FUZZ_FEEDS_H
#define FUZZ_FEEDS_H
#include "harness.h"

enum { FUZZ_MOST_FEEDS = 16, FUZZ_MOST_PARTS = 4 };

typedef struct fuzz_feed { /* a tensor, or a sequence of some */
  ci_tensor tensor;
  void *memory; /* of its data; of exact size */
  ci_tensor parts[FUZZ_MOST_PARTS];
  void *part_memory[FUZZ_MOST_PARTS];
} fuzz_feed;

/* Makes the tensor of an input of this type and kind (CI_KIND_...); free it. */
void fuzz_feed_make(fuzz_reader *reader, const ci_info *info, int kind, fuzz_feed *feed);
void fuzz_feed_free(fuzz_feed *feed);

/* Adds all that a caller can see of a tensor to a digest; all NaN are the same. */
uint64_t fuzz_digest(uint64_t digest, const ci_tensor *tensor);
uint64_t fuzz_digest_bytes(uint64_t digest, const void *data, size_t bytes);
#endif
