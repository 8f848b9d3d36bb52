/* message.h - parses messages to trees of fields that a mutator changes, and encodes them again; model files with
 * right checksums.
 */
#ifndef FUZZ_MESSAGE_H
#define FUZZ_MESSAGE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum fuzz_message {
#define FUZZ_MESSAGE(name) FUZZ_##name,
#include "schema.def"
  FUZZ_MESSAGES
} fuzz_message;

typedef enum fuzz_kind {
  FUZZ_VARINT,
  FUZZ_DTYPE,   /* varint, an element type */
  FUZZ_FIXED32,
  FUZZ_FIXED64,
  FUZZ_TEXT,    /* bytes */
  FUZZ_VALUE,   /* bytes, a value or a node by name */
  FUZZ_VARINTS, /* packed */
  FUZZ_FLOATS,  /* packed */
  FUZZ_CHILD    /* a message */
} fuzz_kind;

typedef struct fuzz_field {
  uint32_t number;
  uint8_t wire, kind, message; /* message: the one that has the field; of a child: `inside` */
  uint8_t inside;
  uint64_t value;
  const uint8_t *data; /* bytes; of a stored tensor, those in the data section */
  size_t length;
  size_t encoded; /* encoded bytes of a child, while it is written */
  struct fuzz_field *child, *next;
} fuzz_field;

typedef struct fuzz_span {
  const uint8_t *at;
  size_t length;
} fuzz_span;
bool fuzz_read_varint(fuzz_span *bytes, uint64_t *value); /* false: there is none */
uint64_t fuzz_read_number(const uint8_t *at, int bytes);  /* little-endian */

enum { FUZZ_BUFFER_BYTES = 1 << 22, FUZZ_MOST_FIELDS = 1 << 14 };

typedef struct fuzz_tree { /* a model and its memory */
  fuzz_field root;
  fuzz_field *fields[FUZZ_MOST_FIELDS]; /* all that were read, parents first */
  size_t count;
  size_t used;
  size_t left; /* bytes that may still be added before the model is too long; every change keeps it valid */
  _Alignas(16) uint8_t buffer[FUZZ_BUFFER_BYTES];
} fuzz_tree;

/* A message alone, and its encoded length; false and 0: it exceeds the capacity. */
bool fuzz_parse_message(fuzz_tree *tree, fuzz_message message, const uint8_t *bytes, size_t size);
size_t fuzz_encode_message(fuzz_tree *tree, uint8_t *bytes, size_t most);

/* False: there is no container around a message, or it exceeds the capacity. */
bool fuzz_parse(fuzz_tree *tree, const uint8_t *file, size_t size);
/* The file with all lengths, offsets and checksums right; 0: longer than `most`. */
size_t fuzz_encode(fuzz_tree *tree, uint8_t *file, size_t most);

void *fuzz_take(fuzz_tree *tree, size_t bytes); /* NULL: the capacity is used up */
fuzz_field *fuzz_find(const fuzz_field *parent, uint32_t number); /* the first, or NULL */
/* A copy of a field and all that is in it; NULL: the capacity is used up. */
fuzz_field *fuzz_copy(fuzz_tree *tree, const fuzz_field *field);
size_t fuzz_length(fuzz_field *field); /* about how many bytes it takes in its message */
/* Sets a number, which is added where it is missing. */
bool fuzz_set(fuzz_tree *tree, fuzz_field *parent, uint32_t number, uint8_t wire, uint64_t value);
/* The length that the container at the start of `file` declares, at most `size`. */
size_t fuzz_container_size(const uint8_t *file, size_t size);
/* Makes the checksums of header and graph section right, and the lengths those of the bytes. */
void fuzz_seal(uint8_t *file, size_t graph_length, size_t size);
#endif
