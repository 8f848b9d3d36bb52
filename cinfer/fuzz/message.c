/* message.c - parses a model file to a tree of fields, and encodes it again. */
#include "message.h"

#include <string.h>

#include "base/ci_common.h"

enum { HEADER = 64, MODEL_TENSOR = 7, TENSOR_DATA = 3, DEEPEST = 48 };

/* ---- the fields of the schema ---- */

typedef struct schema_row {
  uint8_t kind, inside;
  bool known;
} schema_row;

enum { SCHEMA_NUMBERS = 16 };

static const schema_row schema_rows[FUZZ_MESSAGES][SCHEMA_NUMBERS] = {
#define FUZZ_FIELD(message, number, kind) [FUZZ_##message][number] = {FUZZ_##kind, 0, true},
#define FUZZ_INNER(message, number, inside) [FUZZ_##message][number] = {FUZZ_CHILD, FUZZ_##inside, true},
#include "schema.def"
};

static const schema_row *schema_find(uint8_t message, uint32_t number) {
  if (number >= SCHEMA_NUMBERS || !schema_rows[message][number].known) return NULL;
  return &schema_rows[message][number];
}

/* ---- trees ---- */

void *fuzz_take(fuzz_tree *tree, size_t bytes) {
  const size_t rounded = ci_round_up(bytes, 16);
  if (bytes > FUZZ_BUFFER_BYTES || rounded > FUZZ_BUFFER_BYTES - tree->used) return NULL;
  void *taken = tree->buffer + tree->used;
  tree->used += rounded;
  return taken;
}

fuzz_field *fuzz_find(const fuzz_field *parent, uint32_t number) {
  fuzz_field *child = parent->child;
  while (child != NULL && child->number != number) child = child->next;
  return child;
}

fuzz_field *fuzz_copy(fuzz_tree *tree, const fuzz_field *field) {
  fuzz_field *copy = fuzz_take(tree, sizeof *copy);
  if (copy == NULL) return NULL;
  *copy = *field;
  copy->next = copy->child = NULL;
  uint8_t *bytes = fuzz_take(tree, field->length);
  if (bytes == NULL) return NULL;
  if (field->length > 0) memcpy(bytes, field->data, field->length);
  copy->data = bytes;
  fuzz_field **last = &copy->child;
  for (const fuzz_field *child = field->child; child != NULL; child = child->next) {
    *last = fuzz_copy(tree, child);
    if (*last == NULL) return NULL;
    last = &(*last)->next;
  }
  return copy;
}

bool fuzz_set(fuzz_tree *tree, fuzz_field *parent, uint32_t number, uint8_t wire, uint64_t value) {
  fuzz_field *field = fuzz_find(parent, number);
  if (field == NULL) {
    field = fuzz_take(tree, sizeof *field);
    if (field == NULL) return false;
    fuzz_field **last = &parent->child;
    while (*last != NULL && (*last)->number < number) last = &(*last)->next;
    *field = (fuzz_field){.number = number, .message = parent->inside, .next = *last};
    *last = field;
  }
  field->wire = wire;
  field->kind = wire == 0 ? FUZZ_VARINT : FUZZ_FIXED32;
  field->value = value;
  return true;
}

/* The library's reader is under test, and slow as it is instrumented: here is another. */
bool fuzz_read_varint(fuzz_span *bytes, uint64_t *value) {
  *value = 0;
  for (int shift = 0; shift < 64 && bytes->length > 0; shift += 7) {
    const uint8_t byte = *bytes->at++;
    bytes->length--;
    *value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

uint64_t fuzz_read_number(const uint8_t *at, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; i++) value |= (uint64_t)at[i] << (8 * i);
  return value;
}

static bool read_field(fuzz_span *bytes, fuzz_field *field) {
  uint64_t key, length = 0;
  if (!fuzz_read_varint(bytes, &key) || key >> 32 != 0) return false;
  field->number = (uint32_t)key >> 3;
  field->wire = key & 7;
  static const uint8_t fixed[] = {0, 8, 0, 0, 0, 4, 0, 0};
  static const uint8_t kinds[] = {FUZZ_VARINT, FUZZ_FIXED64, FUZZ_TEXT, 0, 0, FUZZ_FIXED32, 0, 0};
  field->kind = kinds[field->wire];
  if (field->wire == 0) return fuzz_read_varint(bytes, &field->value);
  if (field->wire == 2 && !fuzz_read_varint(bytes, &length)) return false;
  if (fixed[field->wire] == 0 && field->wire != 2) return false;
  length += fixed[field->wire];
  if (length > bytes->length) return false;
  if (field->wire == 2) field->data = bytes->at, field->length = (size_t)length;
  else field->value = fuzz_read_number(bytes->at, (int)length);
  bytes->at += length;
  bytes->length -= (size_t)length;
  return true;
}

static bool parse_message(fuzz_tree *tree, fuzz_field *parent, fuzz_span bytes, int depth) {
  fuzz_field **last = &parent->child;
  while (bytes.length > 0) {
    fuzz_field *field = fuzz_take(tree, sizeof *field);
    if (field == NULL || tree->count == FUZZ_MOST_FIELDS) return false;
    *field = (fuzz_field){.message = parent->inside};
    if (!read_field(&bytes, field)) return false;
    tree->fields[tree->count++] = field;
    *last = field;
    last = &field->next;
    const schema_row *row = schema_find(parent->inside, field->number);
    if (row == NULL || (row->kind >= FUZZ_TEXT) != (field->wire == 2)) continue;
    if (row->kind == FUZZ_DTYPE || field->wire == 2) field->kind = row->kind;
    if (field->kind != FUZZ_CHILD) continue;
    const size_t before = tree->count;
    field->inside = row->inside;
    if (depth < DEEPEST && parse_message(tree, field, (fuzz_span){field->data, field->length}, depth + 1)) {
      field->length = 0;
    } else { /* stays as it is, in bytes */
      tree->count = before;
      field->kind = FUZZ_TEXT;
      field->child = NULL;
    }
  }
  return true;
}

/* ---- the container ---- */

size_t fuzz_container_size(const uint8_t *file, size_t size) {
  if (size < HEADER) return size;
  const uint64_t offset = fuzz_read_number(file + 24, 8), length = fuzz_read_number(file + 32, 8);
  return offset > size || length > size - offset ? size : (size_t)(offset + length);
}

/* The bytes of stored tensors hang on their messages. */
static void parse_data(fuzz_tree *tree, const uint8_t *data, size_t length) {
  for (fuzz_field *field = tree->root.child; field != NULL; field = field->next) {
    if (field->number != MODEL_TENSOR || field->kind != FUZZ_CHILD) continue;
    const fuzz_field *offset = fuzz_find(field, 4), *bytes = fuzz_find(field, 5);
    const uint64_t at = offset != NULL ? offset->value : 0, most = bytes != NULL ? bytes->value : 0;
    field->data = data + (at < length ? at : length);
    field->length = (size_t)(at < length && most <= length - at ? most : 0);
  }
}

bool fuzz_parse_message(fuzz_tree *tree, fuzz_message message, const uint8_t *bytes, size_t size) {
  tree->count = tree->used = 0;
  tree->root = (fuzz_field){.kind = FUZZ_CHILD, .inside = (uint8_t)message};
  return parse_message(tree, &tree->root, (fuzz_span){bytes, size}, 0) && tree->count > 0;
}

bool fuzz_parse(fuzz_tree *tree, const uint8_t *file, size_t size) {
  if (size < HEADER) return false;
  const uint64_t graph = fuzz_read_number(file + 16, 8), offset = fuzz_read_number(file + 24, 8);
  if (graph > size - HEADER || offset > size) return false;
  if (!fuzz_parse_message(tree, FUZZ_MODEL, file + HEADER, (size_t)graph)) return false;
  parse_data(tree, file + offset, size - (size_t)offset);
  return true;
}

/* ---- writing ---- */

typedef struct fuzz_out { /* the capacity sufficed for all that was written */
  uint8_t *at;
  size_t length;
} fuzz_out;

static void put(fuzz_out *out, const void *bytes, size_t length) {
  if (length > 0) memcpy(out->at + out->length, bytes, length);
  out->length += length;
}

static void put_number(fuzz_out *out, uint64_t value, int bytes) {
  uint8_t text[8];
  for (int i = 0; i < bytes; i++) text[i] = (uint8_t)(value >> (8 * i));
  put(out, text, (size_t)bytes);
}

static void put_varint(fuzz_out *out, uint64_t value) {
  uint8_t text[10];
  size_t length = 0;
  for (; value >= 0x80; value >>= 7) text[length++] = (uint8_t)(value | 0x80);
  text[length++] = (uint8_t)value;
  put(out, text, length);
}

static size_t varint_length(uint64_t value) {
  size_t length = 1;
  for (; value >= 0x80; value >>= 7) length++;
  return length;
}

/* The bytes of all fields of a message; of those that are messages it is kept. */
static size_t measure(fuzz_field *parent) {
  size_t length = 0;
  for (fuzz_field *field = parent->child; field != NULL; field = field->next) {
    const size_t inside = field->kind == FUZZ_CHILD ? measure(field) : field->length;
    length += varint_length((uint64_t)field->number << 3);
    if (field->wire == 0) length += varint_length(field->value);
    else length += field->wire == 1 ? 8 : field->wire == 5 ? 4 : varint_length(inside) + inside;
  }
  return parent->encoded = length;
}

size_t fuzz_length(fuzz_field *field) {
  const size_t inside = field->kind == FUZZ_CHILD ? measure(field) : field->length;
  return field->wire == 2 ? 1 + varint_length(inside) + inside : 2;
}

static void put_fields(fuzz_out *out, const fuzz_field *parent);

static void put_field(fuzz_out *out, const fuzz_field *field) {
  put_varint(out, (uint64_t)field->number << 3 | field->wire);
  if (field->wire == 0) put_varint(out, field->value);
  if (field->wire == 1) put_number(out, field->value, 8);
  if (field->wire == 5) put_number(out, field->value, 4);
  if (field->wire != 2) return;
  if (field->kind != FUZZ_CHILD) {
    put_varint(out, field->length);
    put(out, field->data, field->length);
    return;
  }
  put_varint(out, field->encoded);
  put_fields(out, field);
}

static void put_fields(fuzz_out *out, const fuzz_field *parent) {
  for (const fuzz_field *field = parent->child; field != NULL; field = field->next) put_field(out, field);
}

/* Sets offsets and checksums by the order of the tensors; returns the length of the data section. */
static size_t assign_tensors(fuzz_tree *tree) {
  size_t end = 0;
  for (fuzz_field *field = tree->root.child; field != NULL; field = field->next) {
    if (field->number != MODEL_TENSOR || field->kind != FUZZ_CHILD) continue;
    const size_t start = ci_round_up(end, 64);
    (void)(fuzz_set(tree, field, 4, 0, start) && fuzz_set(tree, field, 5, 0, field->length) &&
           fuzz_set(tree, field, 6, 5, ci_crc32c(0, field->data, field->length)) && fuzz_set(tree, field, 7, 0, 1));
    end = start + field->length;
  }
  return end;
}

void fuzz_seal(uint8_t *file, size_t graph_length, size_t size) {
  static const uint8_t start[16] = {0x89, 'G', 'I', 'O', '\r', '\n', 0x1a, '\n', 1};
  const size_t offset = ci_round_up(HEADER + graph_length, 64);
  fuzz_out out = {file, 0};
  put(&out, start, sizeof start);
  put_number(&out, graph_length, 8);
  put_number(&out, offset, 8);
  put_number(&out, size - offset, 8);
  put_number(&out, ci_crc32c(0, file + HEADER, graph_length), 4);
  put_number(&out, 0, 8);
  put_number(&out, 0, 8);
  put_number(&out, ci_crc32c(0, file, 60), 4);
}

size_t fuzz_encode_message(fuzz_tree *tree, uint8_t *bytes, size_t most) {
  const size_t length = measure(&tree->root);
  if (length > most) return 0;
  fuzz_out out = {bytes, 0};
  put_fields(&out, &tree->root);
  return length;
}

size_t fuzz_encode(fuzz_tree *tree, uint8_t *file, size_t most) {
  const size_t data = assign_tensors(tree);
  const size_t graph = measure(&tree->root), offset = ci_round_up(HEADER + graph, 64);
  if (offset > most || data > most - offset) return 0;
  memset(file, 0, offset + data);
  fuzz_out out = {file + HEADER, 0};
  put_fields(&out, &tree->root);
  for (const fuzz_field *field = tree->root.child; field != NULL; field = field->next) {
    if (field->number != MODEL_TENSOR || field->kind != FUZZ_CHILD) continue;
    const fuzz_field *at = fuzz_find(field, 4);
    if (at != NULL && field->length > 0 && at->value <= data - field->length)
      memcpy(file + offset + at->value, field->data, field->length);
  }
  fuzz_seal(file, graph, offset + data);
  return offset + data;
}
