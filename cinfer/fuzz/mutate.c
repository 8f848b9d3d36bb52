/* mutate.c - random changes of a model's tree. */
#include "mutate.h"

#include <stdio.h>
#include <string.h>

#include "base/ci_common.h"
#include "base/wire.h"

enum { MODEL_GRAPH = 2, MODEL_SIGNATURE = 6, MODEL_TENSORS = 7, TENSOR_DIMS = 2, TENSOR_BYTES = 3 };
enum { NODE_NAME = 1, NODE_INPUT = 3, BINDING_KEY = 1, BINDING_VALUE = 2, SIGNATURE_OUTPUT = 3 };
enum { MOST_ELEMENTS = 4096, MOST_NAMES = 1024, LONGEST_TEXT = 1024 };

uint32_t fuzz_below(fuzz_random *random, uint32_t most) { /* splitmix64 */
  uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return (uint32_t)((z ^ z >> 31) >> 32) % most;
}

bool fuzz_one_in(fuzz_random *random, uint32_t n) { return fuzz_below(random, n) == 0; }

/* ---- numbers ---- */

static uint64_t mutate_integer(uint64_t value, fuzz_random *random) {
  static const uint64_t edges[] = {0,
                                   1,
                                   2,
                                   3,
                                   4,
                                   7,
                                   8,
                                   16,
                                   17,
                                   64,
                                   255,
                                   256,
                                   65535,
                                   1 << 20,
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   UINT64_C(1) << 32,
                                   UINT64_C(1) << 40,
                                   UINT64_C(1) << 62,
                                   INT64_MAX,
                                   UINT64_C(1) << 63,
                                   UINT64_MAX,
                                   UINT64_MAX - 1,
                                   UINT64_MAX - 2,
                                   (uint64_t)INT32_MIN,
                                   (uint64_t)INT64_MIN + 1};
  switch (fuzz_below(random, 6)) {
    case 0: return value + 1;
    case 1: return value - 1;
    case 2: return 0 - value;
    case 3: return fuzz_below(random, 9);
    case 4: return value ^ UINT64_C(1) << fuzz_below(random, 64);
    default: return edges[fuzz_below(random, sizeof edges / sizeof edges[0])];
  }
}

static double mutate_real(double value, fuzz_random *random) {
  static const double edges[] = {0.0,  -0.0,  1.0,   -1.0, 0.5,   2.0,          1e-40,
                                 3e38, -3e38, 1e300, 1e10, -1e10, 2147483648.0, 9223372036854775808.0,
                                 1e-7};
  static const uint64_t others[] = {UINT64_C(0x7ff0000000000000), UINT64_C(0xfff0000000000000),
                                    UINT64_C(0x7ff8000000000000)};
  const uint32_t count = sizeof edges / sizeof edges[0];
  const uint32_t at = fuzz_below(random, count + 5);
  if (at < count) return edges[at];
  if (at < count + 3) return ci_double_of(others[at - count]);
  return at == count + 3 ? -value : value * 1.5;
}

static uint32_t bits_of_float(double value) {
  union {
    float f;
    uint32_t u;
  } both = {.u = value > 3.4e38 ? 0x7f800000 : value < -3.4e38 ? 0xff800000 : 0x7fc00000};
  if (value >= -3.4e38 && value <= 3.4e38) both.f = (float)value;
  return both.u;
}

static uint64_t bits_of_double(double value) {
  union {
    double d;
    uint64_t u;
  } both = {value};
  return both.u;
}

static void mutate_number(fuzz_field *field, fuzz_random *random) {
  if (field->kind == FUZZ_DTYPE)
    field->value = fuzz_one_in(random, 16) ? mutate_integer(field->value, random) : 1 + fuzz_below(random, 26);
  else if (field->kind == FUZZ_VARINT) field->value = mutate_integer(field->value, random);
  else if (field->kind == FUZZ_FIXED64)
    field->value = fuzz_one_in(random, 3) ? mutate_integer(field->value, random)
                                          : bits_of_double(mutate_real(ci_double_of(field->value), random));
  else field->value = bits_of_float(mutate_real((double)ci_float_of((uint32_t)field->value), random));
}

/* ---- packed numbers ---- */

static size_t write_varint(uint8_t *to, uint64_t value) {
  size_t length = 0;
  for (; value >= 0x80; value >>= 7) to[length++] = (uint8_t)(value | 0x80);
  to[length++] = (uint8_t)value;
  return length;
}

/* Numbers change, come and go. */
static void mutate_varints(fuzz_tree *tree, fuzz_field *field, fuzz_random *random) {
  uint64_t numbers[MOST_NAMES];
  uint32_t count = 0;
  fuzz_span bytes_left = {field->data, field->length};
  while (count < MOST_NAMES - 1 && fuzz_read_varint(&bytes_left, &numbers[count])) count++;
  const uint32_t at = fuzz_below(random, count + 1), what = fuzz_below(random, 6);
  if (what == 0 && count > 0) {
    count--;
    numbers[at < count ? at : 0] = numbers[count];
  } else if (what == 1 || count == 0) {
    numbers[count] = fuzz_one_in(random, 2) ? 1 : fuzz_below(random, 5);
    count++;
  } else if (what == 2) {
    const uint32_t other = fuzz_below(random, count), one = at < count ? at : 0;
    const uint64_t kept = numbers[one];
    numbers[one] = numbers[other];
    numbers[other] = kept;
  } else {
    numbers[at < count ? at : 0] = mutate_integer(numbers[at < count ? at : 0], random);
  }
  uint8_t *bytes = fuzz_take(tree, 10 * (size_t)count);
  if (bytes == NULL) return;
  field->data = bytes;
  field->length = 0;
  for (uint32_t i = 0; i < count; i++) field->length += write_varint(bytes + field->length, numbers[i]);
}

static void mutate_bytes(fuzz_tree *tree, fuzz_field *field, fuzz_random *random) {
  const size_t most = field->length + 1 + fuzz_below(random, 32);
  uint8_t *bytes = field->length > LONGEST_TEXT && field->kind == FUZZ_TEXT ? NULL : fuzz_take(tree, most);
  if (bytes == NULL) return;
  if (field->length > 0) memcpy(bytes, field->data, field->length);
  field->length = LLVMFuzzerMutate(bytes, field->length, most);
  field->data = bytes;
}

static void mutate_floats(fuzz_tree *tree, fuzz_field *field, fuzz_random *random) {
  const size_t count = field->length / 4;
  if (count == 0 || fuzz_one_in(random, 4)) {
    mutate_bytes(tree, field, random);
    return;
  }
  uint8_t *bytes = fuzz_take(tree, field->length);
  if (bytes == NULL) return;
  memcpy(bytes, field->data, field->length);
  uint8_t *at = bytes + 4 * fuzz_below(random, (uint32_t)count);
  const uint32_t made = bits_of_float(mutate_real((double)ci_float_of((uint32_t)fuzz_read_number(at, 4)), random));
  for (int i = 0; i < 4; i++) at[i] = (uint8_t)(made >> (8 * i));
  field->data = bytes;
}

/* ---- tensors ---- */

static fuzz_field *tensor_bytes(fuzz_field *tensor) {
  return tensor->message == FUZZ_MODEL ? tensor : fuzz_find(tensor, TENSOR_BYTES);
}

/* Elements by the dims, or MOST_ELEMENTS + 1 for all that is more or no shape. */
static uint64_t tensor_elements(const fuzz_field *tensor) {
  uint64_t count = 1, size;
  for (const fuzz_field *dims = tensor->child; dims != NULL; dims = dims->next) {
    if (dims->number != TENSOR_DIMS || dims->wire != 2) continue;
    fuzz_span left = {dims->data, dims->length};
    while (fuzz_read_varint(&left, &size)) {
      if (size > MOST_ELEMENTS || count * size > MOST_ELEMENTS) return MOST_ELEMENTS + 1;
      count *= size;
    }
  }
  return count;
}

/* As many bytes as type and shape require, the old ones again and again. */
static void tensor_fit(fuzz_tree *tree, fuzz_field *tensor) {
  fuzz_field *field = tensor_bytes(tensor);
  const fuzz_field *type = fuzz_find(tensor, 1);
  const uint64_t count = tensor_elements(tensor);
  if (field == NULL || type == NULL || type->value > 26 || count > MOST_ELEMENTS) return;
  const int32_t dtype = (int32_t)type->value;
  const size_t item = ci_dtype_size(dtype);
  if (dtype == CI_STRING || item == 0) return;
  const size_t needed = ci_dtype_bits(dtype) < 8 ? ci_dtype_packed_bytes(dtype, (size_t)count) : (size_t)count * item;
  uint8_t *bytes = fuzz_take(tree, needed);
  if (bytes == NULL) return;
  for (size_t i = 0; i < needed; i++) {
    bytes[i] = field->length > 0 ? field->data[i % field->length] : 0;
    if (dtype == CI_BOOL) bytes[i] &= 1;
  }
  field->data = bytes;
  field->length = needed;
}

/* Numbers that a kernel may take for indices, sizes or axes, or bytes of any kind. */
static void tensor_number(fuzz_tree *tree, fuzz_field *tensor, fuzz_random *random) {
  fuzz_field *field = tensor_bytes(tensor);
  const fuzz_field *type = fuzz_find(tensor, 1);
  if (field == NULL || type == NULL || field->length == 0) return;
  const size_t item = ci_dtype_size((int32_t)(type->value % 27));
  uint8_t *bytes = fuzz_take(tree, field->length);
  if (bytes == NULL || item == 0 || item > 8 || field->length < item) return;
  memcpy(bytes, field->data, field->length);
  uint8_t *at = bytes + item * fuzz_below(random, (uint32_t)(field->length / item));
  uint64_t value = fuzz_read_number(at, (int)item);
  if (type->value == CI_FLOAT) value = bits_of_float(mutate_real((double)ci_float_of((uint32_t)value), random));
  else if (type->value == CI_DOUBLE) value = bits_of_double(mutate_real(ci_double_of(value), random));
  else value = mutate_integer(value, random);
  for (size_t i = 0; i < item; i++) at[i] = (uint8_t)(value >> (8 * i));
  field->data = bytes;
}

static void mutate_tensor(fuzz_tree *tree, fuzz_field *tensor, fuzz_random *random) {
  fuzz_field *type = fuzz_find(tensor, 1), *dims = fuzz_find(tensor, TENSOR_DIMS);
  switch (fuzz_below(random, 4)) {
    case 0:
      if (type != NULL) mutate_number(type, random);
      break;
    case 1:
      if (dims != NULL && dims->wire == 2) mutate_varints(tree, dims, random);
      break;
    default: tensor_number(tree, tensor, random);
  }
}

/* ---- fields ---- */

static fuzz_field *any_field(const fuzz_tree *tree, fuzz_random *random) {
  return tree->fields[fuzz_below(random, (uint32_t)tree->count)];
}

/* One of the fields that the same messages have under the same number, maybe itself. */
static const fuzz_field *any_like(const fuzz_tree *tree, const fuzz_field *field, fuzz_random *random) {
  const fuzz_field *found = NULL;
  uint32_t seen = 0;
  for (size_t i = 0; i < tree->count; i++) {
    const fuzz_field *other = tree->fields[i];
    bool same = other->kind == field->kind && other->inside == field->inside;
    if (field->kind != FUZZ_VALUE && field->kind != FUZZ_CHILD)
      same = same && other->message == field->message && other->number == field->number;
    if (same && fuzz_one_in(random, ++seen)) found = other;
  }
  return found;
}

static void mutate_field(fuzz_tree *tree, fuzz_field *field, fuzz_random *random) {
  if (field->wire != 2) {
    mutate_number(field, random);
    return;
  }
  const fuzz_field *other = any_like(tree, field, random);
  if (field->kind == FUZZ_CHILD && field->inside == FUZZ_TENSOR) mutate_tensor(tree, field, random);
  else if (field->kind == FUZZ_VARINTS && !fuzz_one_in(random, 8)) mutate_varints(tree, field, random);
  else if (field->kind == FUZZ_FLOATS) mutate_floats(tree, field, random);
  else if (other != NULL && !fuzz_one_in(random, 4)) {
    const fuzz_field *copy = fuzz_copy(tree, other); /* it may hold this very field */
    if (copy == NULL) return;
    field->data = copy->data;
    field->length = copy->length;
    field->child = copy->child;
  } else if (field->kind != FUZZ_CHILD) mutate_bytes(tree, field, random);
}

static fuzz_field *any_parent(fuzz_tree *tree, fuzz_random *random) {
  for (int i = 0; i < 32; i++) {
    fuzz_field *field = any_field(tree, random);
    if (field->kind == FUZZ_CHILD && field->child != NULL) return field;
  }
  return &tree->root;
}

static fuzz_field **any_link(fuzz_field *parent, fuzz_random *random) {
  uint32_t count = 0;
  for (const fuzz_field *field = parent->child; field != NULL; field = field->next) count++;
  fuzz_field **link = &parent->child;
  for (uint32_t i = count > 0 ? fuzz_below(random, count) : 0; i > 0; i--) link = &(*link)->next;
  return link;
}

static void remove_field(fuzz_tree *tree, fuzz_random *random) {
  fuzz_field **link = any_link(any_parent(tree, random), random);
  if (*link != NULL) *link = (*link)->next;
}

static void double_field(fuzz_tree *tree, fuzz_random *random) {
  fuzz_field **link = any_link(any_parent(tree, random), random);
  fuzz_field *copy = *link != NULL ? fuzz_copy(tree, *link) : NULL;
  if (copy == NULL) return;
  copy->next = (*link)->next;
  (*link)->next = copy;
}

static void swap_fields(fuzz_tree *tree, fuzz_random *random) {
  fuzz_field **link = any_link(any_parent(tree, random), random);
  fuzz_field *first = *link, *second = first != NULL ? first->next : NULL;
  if (second == NULL) return;
  first->next = second->next;
  second->next = first;
  *link = second;
}

void fuzz_mutate(fuzz_tree *tree, fuzz_random *random) {
  const uint32_t what = fuzz_below(random, 16);
  if (what == 0) remove_field(tree, random);
  else if (what == 1) double_field(tree, random);
  else if (what == 2) swap_fields(tree, random);
  else if (what < 6) fuzz_splice(tree, tree, random);
  else mutate_field(tree, any_field(tree, random), random);
  for (size_t i = 0; i < tree->count; i++) {
    fuzz_field *field = tree->fields[i];
    if (field->kind == FUZZ_CHILD && field->inside == FUZZ_TENSOR && !fuzz_one_in(random, 16)) tensor_fit(tree, field);
  }
}

/* ---- parts of other models ---- */

/* The names that nodes of the root graph have, up to one of them. */
static uint32_t names_before(const fuzz_field *graph, const fuzz_field *end, const fuzz_field **names) {
  uint32_t count = 0;
  for (const fuzz_field *node = graph->child; node != NULL && node != end; node = node->next) {
    const fuzz_field *name = node->kind == FUZZ_CHILD && node->inside == FUZZ_NODE ? fuzz_find(node, NODE_NAME) : NULL;
    if (name != NULL && count < MOST_NAMES) names[count++] = name;
  }
  return count;
}

static fuzz_field *text_field(fuzz_tree *tree, uint8_t message, uint32_t number, uint8_t kind, const fuzz_field *text) {
  fuzz_field *field = fuzz_take(tree, sizeof *field);
  if (field != NULL)
    *field = (fuzz_field){
        .number = number, .wire = 2, .kind = kind, .message = message, .data = text->data, .length = text->length};
  return field;
}

/* The first signature gives the value, too. */
static void add_output(fuzz_tree *tree, const fuzz_field *name) {
  fuzz_field *signature = fuzz_find(&tree->root, MODEL_SIGNATURE), *binding = fuzz_take(tree, sizeof *binding);
  if (signature == NULL || signature->kind != FUZZ_CHILD || binding == NULL) return;
  *binding = (fuzz_field){.number = SIGNATURE_OUTPUT, .wire = 2, .kind = FUZZ_CHILD, .message = FUZZ_SIGNATURE};
  binding->inside = FUZZ_BINDING;
  binding->child = text_field(tree, FUZZ_BINDING, BINDING_KEY, FUZZ_TEXT, name);
  if (binding->child == NULL) return;
  binding->child->next = text_field(tree, FUZZ_BINDING, BINDING_VALUE, FUZZ_VALUE, name);
  fuzz_field **last = &signature->child;
  while (*last != NULL && (*last)->number <= SIGNATURE_OUTPUT) last = &(*last)->next;
  binding->next = *last;
  *last = binding;
}

/* Inserts a node with a unique name after one of the root graph; it reads values of nodes before it. */
static void splice_node(fuzz_tree *tree, const fuzz_field *node, fuzz_random *random) {
  fuzz_field *graph = fuzz_find(&tree->root, MODEL_GRAPH);
  fuzz_field *made = fuzz_copy(tree, node);
  if (graph == NULL || graph->kind != FUZZ_CHILD || made == NULL) return;
  fuzz_field **link = any_link(graph, random);
  if (*link != NULL && !fuzz_one_in(random, 3)) /* mostly at the end, where all can be read */
    while (*link != NULL && (*link)->number <= made->number) link = &(*link)->next;
  const fuzz_field *names[MOST_NAMES];
  const uint32_t count = names_before(graph, *link, names);
  for (fuzz_field *field = made->child; field != NULL; field = field->next) {
    if (field->number != NODE_INPUT || field->length == 0 || count == 0) continue;
    const fuzz_field *name = names[fuzz_below(random, count)];
    field->data = name->data;
    field->length = name->length;
  }
  fuzz_field *name = fuzz_find(made, NODE_NAME);
  char *text = fuzz_take(tree, 16);
  if (name == NULL || text == NULL) return;
  name->length = (size_t)snprintf(text, 16, "n%u", (unsigned)fuzz_below(random, 1 << 30));
  name->data = (const uint8_t *)text;
  made->next = *link;
  *link = made;
  if (!fuzz_one_in(random, 4)) add_output(tree, name);
}

static bool is_node(const fuzz_field *field) { return field->kind == FUZZ_CHILD && field->inside == FUZZ_NODE; }

void fuzz_splice(fuzz_tree *tree, const fuzz_tree *other, fuzz_random *random) {
  const fuzz_field *part = any_field(other, random);
  for (int i = 0; i < 8 && part->kind != FUZZ_CHILD; i++) part = any_field(other, random);
  if (is_node(part)) {
    splice_node(tree, part, random);
    return;
  }
  fuzz_field *target = NULL;
  for (int i = 0; i < 64 && target == NULL; i++) {
    fuzz_field *field = any_field(tree, random);
    if (field->kind == part->kind && field->inside == part->inside && field->wire == part->wire) target = field;
  }
  fuzz_field *copy = target != NULL ? fuzz_copy(tree, part) : NULL;
  if (copy == NULL) return;
  copy->number = target->number;
  copy->message = target->message;
  if (fuzz_one_in(random, 3)) { /* after it */
    copy->next = target->next;
    target->next = copy;
  } else {
    copy->next = target->next;
    *target = *copy;
  }
}
