/* model.c - opens and closes a model, and describes its signatures. */
#include "model.h"

#include <string.h>

#include "custom.h"
#include "../simd/isa.h"
#include "../simd/linear/isa_linear.h"
#include "../plan/pack.h"
#include "../system/threads.h"
#include "../base/wire.h"

ci_options ci_defaults(void) {
  ci_options options = {.size = sizeof options, .abi = CI_ABI, .isa = CI_ISA_BEST};
  return options;
}

static ci_status model_damaged(ci_error *error, const char *what) {
  return ci_fail(error, CI_DATA_LOSS, "the model is damaged: %s", what);
}

static ci_status model_memory(ci_error *error) {
  return ci_fail(error, CI_RESOURCE_EXHAUSTED, "no memory for the model");
}

/* ---- memory of the load ---- */

static void *model_alloc(void *user, size_t bytes, size_t align) {
  ci_model *m = user;
  (void)align; /* ci_alloc asks for 64 */
  if (bytes > m->most - m->held) {
    m->exhausted = true;
    return NULL;
  }
  void *memory = ci_alloc_uncleared(&m->given, bytes); /* ci_alloc clears it */
  if (memory != NULL) m->held += bytes;
  return memory;
}

static void model_release(void *user, void *memory, size_t bytes) {
  ci_model *m = user;
  m->held -= bytes;
  ci_release(&m->given, memory, bytes);
}

/* ---- tables ---- */

static ci_status model_string(ci_model *m, ci_span str, const char **copy, ci_error *error) {
  if (!ci_is_string(str)) return model_damaged(error, "a name or the metadata has a zero byte");
  *copy = ci_pool_string(&m->pool, str);
  return *copy == NULL ? model_memory(error) : CI_OK;
}

/* As many numbers as the rank, in the pool. */
static ci_status model_dims(ci_model *m, const ci_type *type, const int64_t **dims, ci_error *error) {
  if (type->rank <= 0) return CI_OK;
  int64_t *copy = ci_pool_words(&m->pool, (size_t)type->rank * sizeof *copy);
  if (copy == NULL) return model_memory(error);
  memcpy(copy, type->dims, (size_t)type->rank * sizeof *copy);
  *dims = copy;
  return CI_OK;
}

static ci_status model_tensor(ci_model *m, ci_span message, ci_span data, size_t *end, ci_error *error) {
  ci_constant *constant = &m->constants.at[m->constants.count]; /* model_tensors has reserved the capacity */
  CI_TRY(ci_constant_parse(m, message, data, end, constant, error));
  const bool in_order = constant->packed_tile_width == m->isa->linear->packed_tile_width; /* it will not be packed */
  if (constant->dtype == CI_FLOAT && constant->rank > 1 && !in_order) m->packs.expected += constant->bytes.length;
  m->constants.count++;
  return CI_OK;
}

static ci_status model_variable(ci_model *m, ci_span message, ci_error *error) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  ci_span name = {NULL, 0}, slot_of = {NULL, 0}, slot = {NULL, 0};
  ci_type type = {.rank = -1};
  uint64_t value = 0, dtype = 0;
  bool has_value = false;
  while (ci_wire_next(&wire, &field)) {
    switch (field.key) {
      case CI_KEY(VARIABLE_NAME): name = field.bytes; break;
      case CI_KEY(VARIABLE_DTYPE): dtype = field.number; break;
      case CI_KEY(VARIABLE_SHAPE): CI_TRY(ci_type_parse_shape(field.bytes, &type, error)); break;
      case CI_KEY(VARIABLE_SLOT_OF): slot_of = field.bytes; break;
      case CI_KEY(VARIABLE_SLOT): slot = field.bytes; break;
      case CI_KEY(VARIABLE_VALUE):
        value = field.number;
        has_value = true;
        break;
      default: break;
    }
  }
  if (wire.broken || name.length == 0 || dtype == 0 || dtype > CI_PB_DATATYPE_INT2) {
    return model_damaged(error, "a variable cannot be read");
  }
  if (has_value && value >= m->constants.count)
    return model_damaged(error, "a variable's value is not a tensor of the file");
  if (!CI_LIST_GROW(&m->allocator, &m->variables)) return model_memory(error);
  ci_variable_info *v = &m->variables.at[m->variables.count];
  *v = (ci_variable_info){.dtype = (int32_t)dtype, .rank = type.rank, .value = has_value ? (int32_t)value : CI_NONE};
  CI_TRY(model_dims(m, &type, &v->dims, error));
  v->slot_of = slot_of;
  v->slot = slot;
  if (!ci_is_string(slot_of) || !ci_is_string(slot)) return model_damaged(error, "a name has a zero byte");
  CI_TRY(model_string(m, name, &v->name, error));
  m->variables.count++;
  return CI_OK;
}

static bool model_generator_state(ci_span message, ci_generator *state) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(GENERATORSTATE_KEY)) state->key = field.number;
    else if (field.key == CI_KEY(GENERATORSTATE_COUNTER)) state->counter = field.number;
  }
  return !wire.broken;
}

static bool model_generator(ci_span message, ci_generator_info *info) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  while (ci_wire_next(&wire, &field)) {
    switch (field.key) {
      case CI_KEY(RESOURCE_GENERATOR_SEEDED): info->seeded = field.number != 0; break;
      case CI_KEY(RESOURCE_GENERATOR_KEY): info->key = field.number; break;
      case CI_KEY(RESOURCE_GENERATOR_STATE):
        info->has_state = true;
        if (!model_generator_state(field.bytes, &info->state)) return false;
        break;
      default: break;
    }
  }
  return !wire.broken;
}

/* Iterators and blobs belong to the host language; only generators matter here. */
static ci_status model_resource(ci_model *m, ci_span message, ci_error *error) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  ci_generator_info info = {0};
  ci_span name = {NULL, 0};
  bool generator = false, kind = false;
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(RESOURCE_NAME)) name = field.bytes;
    else if (field.key == CI_KEY(RESOURCE_ITERATOR) || field.key == CI_KEY(RESOURCE_BLOB)) kind = true;
    if (field.key != CI_KEY(RESOURCE_GENERATOR)) continue;
    generator = kind = true;
    if (!model_generator(field.bytes, &info)) return model_damaged(error, "a resource cannot be read");
  }
  if (wire.broken || name.length == 0 || !kind || !ci_is_string(name)) {
    return model_damaged(error, "a resource cannot be read");
  }
  if (!generator) return CI_OK;
  if (!CI_LIST_GROW(&m->allocator, &m->generators)) return model_memory(error);
  CI_TRY(model_string(m, name, &info.name, error));
  m->generators.at[m->generators.count++] = info;
  return CI_OK;
}

static ci_status model_metadata(ci_model *m, ci_span message, ci_error *error) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  ci_span key = {NULL, 0}, value = {NULL, 0};
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(KEYVALUE_KEY)) key = field.bytes;
    else if (field.key == CI_KEY(KEYVALUE_VALUE)) value = field.bytes;
  }
  if (wire.broken) return model_damaged(error, "an entry of the metadata cannot be read");
  if (!CI_LIST_GROW(&m->allocator, &m->metadata)) return model_memory(error);
  ci_metadata_info *info = &m->metadata.at[m->metadata.count];
  CI_TRY(model_string(m, key, &info->key, error));
  CI_TRY(model_string(m, value, &info->value, error));
  m->metadata.count++;
  return CI_OK;
}

/* ---- signatures ---- */

static ci_status model_binding_type(ci_model *m, ci_span message, ci_binding *binding, ci_error *error) {
  ci_type type;
  CI_TRY(ci_type_parse(message, &type, error));
  binding->kind = type.kind;
  binding->dtype = type.dtype;
  binding->rank = type.rank;
  CI_TRY(model_dims(m, &type, &binding->dims, error));
  const char **symbols = NULL;
  for (int32_t i = 0; i < type.rank; i++) {
    if (type.symbol[i].length == 0) continue;
    if (symbols == NULL) symbols = ci_pool_words(&m->pool, (size_t)type.rank * sizeof *symbols);
    if (symbols == NULL) return model_memory(error);
    CI_TRY(model_string(m, type.symbol[i], &symbols[i], error));
  }
  binding->symbol = symbols;
  return CI_OK;
}

static ci_status model_binding(ci_model *m, ci_span message, ci_binding *binding, ci_error *error) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  ci_span key = {NULL, 0}, value = {NULL, 0}, type = {NULL, 0};
  while (ci_wire_next(&wire, &field)) {
    switch (field.key) {
      case CI_KEY(SIGNATURE_BINDING_KEY): key = field.bytes; break;
      case CI_KEY(SIGNATURE_BINDING_VALUE): value = field.bytes; break;
      case CI_KEY(SIGNATURE_BINDING_TYPE): type = field.bytes; break;
      default: break;
    }
  }
  if (wire.broken || key.length == 0) return model_damaged(error, "a signature cannot be read");
  CI_TRY(ci_parse_root_value(m, value, "a signature's value", &binding->edge, error));
  CI_TRY(model_string(m, key, &binding->key, error));
  if (type.length == 0) {
    type = ci_stored_bytes(m, m->edges.at[binding->edge].type);
    CI_TRY(ci_load_again(m, type.length, error));
  }
  return model_binding_type(m, type, binding, error);
}

static ci_status model_target(ci_model *m, ci_span name, ci_signature_info *s, ci_error *error) {
  ci_range range = {0};
  CI_TRY(ci_parse_root_nodes(m, name, "a signature's target", &range, error));
  if (!CI_LIST_GROW_BY(&m->allocator, &m->refs, 2)) return model_memory(error);
  m->refs.at[m->refs.count++] = range.begin;
  m->refs.at[m->refs.count++] = range.end;
  s->target_count++;
  return CI_OK;
}

static ci_status model_signature_body(ci_model *m, ci_span message, ci_signature_info *s, ci_error *error) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  s->targets = (uint32_t)m->refs.count;
  while (ci_wire_next(&wire, &field)) {
    switch (field.key) {
      case CI_KEY(SIGNATURE_NAME): CI_TRY(model_string(m, field.bytes, &s->name, error)); break;
      case CI_KEY(SIGNATURE_INPUT):
        CI_TRY(model_binding(m, field.bytes, &s->inputs[s->input_count], error));
        if (s->inputs[s->input_count].dtype == 0) return model_damaged(error, "an input has no element type");
        s->input_count++;
        break;
      case CI_KEY(SIGNATURE_OUTPUT):
        CI_TRY(model_binding(m, field.bytes, &s->outputs[s->output_count], error));
        s->output_count++;
        break;
      case CI_KEY(SIGNATURE_TARGET): CI_TRY(model_target(m, field.bytes, s, error)); break;
      default: break;
    }
  }
  return s->name == NULL ? model_string(m, (ci_span){"", 0}, &s->name, error) : CI_OK;
}

/* Input i has two names: 2i is its key, 2i + 1 the bytes of its value's number. */
static ci_key model_input_name(const ci_signature_info *s, uint32_t number) {
  const ci_binding *input = &s->inputs[number / 2];
  if (number % 2 != 0) return (ci_key){{(const char *)&input->edge, sizeof input->edge}, 1};
  return (ci_key){{input->key, strlen(input->key)}, 0};
}

static bool model_input_is(const void *owner, uint32_t number, const ci_key *key) {
  return ci_key_same(model_input_name(owner, number), *key);
}

static ci_status model_inputs_unique(const ci_model *m, const ci_signature_info *s, ci_error *error) {
  ci_names seen = {0};
  const ci_namer namer = {model_input_is, s};
  ci_names_result added = CI_NAMES_ADDED;
  for (uint32_t n = 0; added == CI_NAMES_ADDED && n < 2 * (uint32_t)s->input_count; n++) {
    const ci_key name = model_input_name(s, n);
    added = ci_names_add(&m->allocator, &seen, &namer, &name, n);
  }
  ci_names_free(&m->allocator, &seen);
  if (added == CI_NAMES_ADDED) return CI_OK;
  return added == CI_NAMES_NO_MEMORY ? model_memory(error)
                                     : model_damaged(error, "two inputs of a signature are the same");
}

static ci_status model_signature(ci_model *m, ci_span message, ci_error *error) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  size_t inputs = 0, outputs = 0, input_bytes, output_bytes;
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(SIGNATURE_INPUT)) inputs++;
    if (field.key == CI_KEY(SIGNATURE_OUTPUT)) outputs++;
  }
  if (wire.broken) return model_damaged(error, "a signature cannot be read");
  if (!CI_LIST_GROW(&m->allocator, &m->signatures)) return model_memory(error);
  ci_signature_info *s = &m->signatures.at[m->signatures.count];
  *s = (ci_signature_info){0};
  if (!ci_mul_size(inputs, sizeof(ci_binding), &input_bytes) ||
      !ci_mul_size(outputs, sizeof(ci_binding), &output_bytes)) {
    return model_memory(error);
  }
  s->inputs = ci_pool_words(&m->pool, input_bytes);
  s->outputs = ci_pool_words(&m->pool, output_bytes);
  if (s->inputs == NULL || s->outputs == NULL) return model_memory(error);
  CI_TRY(model_signature_body(m, message, s, error));
  CI_TRY(model_inputs_unique(m, s, error));
  m->signatures.count++;
  return CI_OK;
}

/* ---- the message ---- */

typedef ci_status (*model_reader)(ci_model *m, ci_span message, ci_error *error);

/* The name of an entry of a table: field 1 in all of them. */
static ci_span model_name(ci_span entry) {
  ci_wire wire = ci_wire_open(entry);
  ci_field field;
  ci_span name = {"", 0};
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(VARIABLE_NAME)) name = field.bytes;
  }
  return name;
}

/* A table, which is sorted by name, of a message that model_tensors has read to its end; `reader` NULL: of no use
 * here. */
static ci_status model_each(ci_model *m, ci_span message, uint32_t key, model_reader reader, ci_error *error) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  ci_span last = {NULL, 0};
  while (ci_wire_next(&wire, &field)) {
    if (field.key != key) continue;
    const ci_span name = model_name(field.bytes);
    if (last.data != NULL && ci_span_order(last, name) >= 0) {
      return ci_fail(error, CI_DATA_LOSS, "the model is damaged: a table is not sorted and unique at '%.*s'",
                     CI_SPAN_ARG(name));
    }
    last = name;
    CI_TRY(ci_load_go_on(m, error));
    if (reader != NULL) CI_TRY(reader(m, field.bytes, error));
  }
  return CI_OK;
}

static ci_status model_tensors(ci_model *m, ci_span message, ci_span data, ci_error *error) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  size_t end = 0, count = 0;
  while (ci_wire_next(&wire, &field)) count += field.key == CI_KEY(MODEL_TENSOR);
  if (!CI_LIST_GROW_BY(&m->allocator, &m->constants, count)) return model_memory(error);
  for (wire = ci_wire_open(message); ci_wire_next(&wire, &field);) {
    if (field.key != CI_KEY(MODEL_TENSOR)) continue;
    CI_TRY(ci_load_go_on(m, error));
    CI_TRY(model_tensor(m, field.bytes, data, &end, error));
  }
  if (wire.broken) return model_damaged(error, "its message cannot be read");
  bool packed_tiles = false;
  for (size_t i = 0; i < m->constants.count; i++)
    packed_tiles = packed_tiles || m->constants.at[i].packed_tile_width > 0;
  if (packed_tiles != m->packed_tiles)
    return model_damaged(error, "its flags announce packed tiles, which no tensor is in");
  return end == data.length ? CI_OK : model_damaged(error, "the data section is longer than its tensors");
}

static ci_status model_graph(ci_model *m, ci_span message, ci_error *error) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  ci_span graph = {NULL, 0};
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(MODEL_GRAPH) && graph.data != NULL) /* other readers would put them together */
      return model_damaged(error, "it has two graphs");
    if (field.key == CI_KEY(MODEL_GRAPH)) graph = field.bytes;
  }
  return ci_parse_graph(m, message, graph, error);
}

static ci_status model_contents(ci_model *m, ci_span message, ci_error *error) {
  CI_TRY(model_each(m, message, CI_KEY(MODEL_VARIABLE), model_variable, error));
  CI_TRY(model_each(m, message, CI_KEY(MODEL_RESOURCE), model_resource, error));
  CI_TRY(model_each(m, message, CI_KEY(MODEL_METADATA), model_metadata, error));
  CI_TRY(model_each(m, message, CI_KEY(MODEL_COLLECTION), NULL, error));
  CI_TRY(model_graph(m, message, error));
  return model_each(m, message, CI_KEY(MODEL_SIGNATURE), model_signature, error);
}

static ci_status model_read(ci_model *m, ci_error *error) {
  ci_span message, data;
  m->most = ci_load_most(m);
  const ci_span file = {(const char *)m->file.data, m->file.length};
  CI_TRY(ci_container_open(file, &message, &data, &m->packed_tiles, error));
  m->section = message;
  CI_TRY(model_tensors(m, message, data, error));
  const ci_status status = model_contents(m, message, error);
  CI_TRY(status == CI_DATA_LOSS ? ci_container_misfit(file, error) : status);
  ci_names_free(&m->allocator, &m->names); /* names are needed only while the file is read */
  return ci_verify_operators(m, error);
}

/* ---- open and close ---- */

static ci_status model_create(const ci_options *given, ci_model **model, ci_error *error) {
  ci_options options = ci_defaults();
  if (model == NULL)
    return ci_fail(error, CI_INVALID_ARGUMENT, "model is NULL; it must point to where the model is stored");
  *model = NULL;
  CI_TRY(ci_take_options(&options, sizeof options, given, "ci_defaults", error));
  if (options.abi != CI_ABI) {
    return ci_fail(error, CI_INVALID_ARGUMENT, "the program was compiled for ABI %u of cinfer, this library has %d",
                   (unsigned)options.abi, CI_ABI);
  }
  const struct ci_isa *isa = ci_isa_find(options.isa);
  if (isa == NULL && options.isa == CI_ISA_BEST) {
    return ci_fail(error, CI_UNIMPLEMENTED,
                   "this cinfer was built for processors with AVX2 or better: add portable to CINFER_ISAS (CMake), or "
                   "drop CI_NO_PORTABLE (one file)");
  }
  if (isa == NULL) {
    return ci_fail(error, CI_UNIMPLEMENTED, "this processor or build lacks instruction set %d", (int)options.isa);
  }
  ci_float_mode mode;
  ci_float_enter(&mode);
  const bool right = ci_isa_self_check(isa);
  ci_float_leave(&mode);
  if (!right) {
    return ci_fail(error, CI_INTERNAL,
                   "this build does not give cinfer's bits: was it compiled with a flag such as "
                   "-ffp-contract=fast or -funsafe-math-optimizations?");
  }
  ci_model *m = ci_alloc(&options.allocator, sizeof *m);
  if (m == NULL) return model_memory(error);
  atomic_init(&m->references, 1);
  m->given = options.allocator;
  m->allocator = (ci_allocator){m, model_alloc, model_release};
  m->most = SIZE_MAX;
  m->held = sizeof *m;
  m->limits = options.limits;
  ci_limits_fill(&m->limits);
  m->lazy = options.lazy != 0;
  m->borrow = options.borrow != 0;
  m->isa = isa;
  m->pool.allocator = &m->allocator;
  *model = m;
  ci_status status = ci_stop_set(&m->stop, options.deadline, options.cancel, options.interrupt, error);
  ci_stop_begin(&m->stop);
  if (status == CI_OK) status = ci_custom_take(m, options.operators, options.operator_count, error);
  if (status == CI_OK) return CI_OK;
  ci_close(m);
  *model = NULL;
  return status;
}

static ci_status model_finish(ci_model **model, ci_status status, ci_error *error) {
  ci_model *m = *model;
  if (status == CI_OK) status = model_read(m, error);
  if (status == CI_OK) {
    m->allocator = m->given;
    return CI_OK;
  }
  if (m->exhausted) {
    status =
        ci_fail(error, CI_RESOURCE_EXHAUSTED,
                "the model of %zu bytes needs more than %u times its size of memory; if it can be trusted, raise the "
                "limit max_load",
                m->file.length, (unsigned)m->limits.max_load);
  }
  ci_close(m);
  *model = NULL;
  return status;
}

ci_status ci_open(const char *path, const ci_options *options, ci_model **model, ci_error *error) {
  CI_TRY(model_create(options, model, error));
  ci_model *m = *model;
  ci_status status = path == NULL ? ci_fail(error, CI_INVALID_ARGUMENT, "path is NULL")
                                  : ci_file_map(&m->allocator, path, m->limits.max_bytes, &m->file, error);
  if (status == CI_OK) m->origin = CI_ORIGIN_FILE;
  return model_finish(model, status, error);
}

static ci_status model_take(ci_model *m, const void *data, size_t bytes, ci_error *error) {
  if (data == NULL) return ci_fail(error, CI_INVALID_ARGUMENT, "data is NULL");
  if (bytes > m->limits.max_bytes) {
    return ci_fail(error, CI_RESOURCE_EXHAUSTED, "the model has %zu bytes, the limit is %llu", bytes,
                   (unsigned long long)m->limits.max_bytes);
  }
  m->file = (ci_bytes){data, bytes, false};
  if (m->borrow) return CI_OK;
  uint8_t *copy = ci_alloc(&m->allocator, bytes);
  if (copy == NULL) return model_memory(error);
  if (bytes > 0) memcpy(copy, data, bytes);
  m->file.data = copy;
  m->origin = CI_ORIGIN_COPY;
  return CI_OK;
}

ci_status ci_open_memory(const void *data, size_t bytes, const ci_options *options, ci_model **model, ci_error *error) {
  CI_TRY(model_create(options, model, error));
  return model_finish(model, model_take(*model, data, bytes, error), error);
}

void ci_model_retain(ci_model *model) { atomic_fetch_add(&model->references, 1); }

static void model_free(ci_model *m) {
  ci_allocator allocator = m->allocator;
  CI_LIST_FREE(&allocator, &m->nodes);
  CI_LIST_FREE(&allocator, &m->edges);
  CI_LIST_FREE(&allocator, &m->graphs);
  CI_LIST_FREE(&allocator, &m->attrs);
  CI_LIST_FREE(&allocator, &m->refs);
  CI_LIST_FREE(&allocator, &m->inlined);
  CI_LIST_FREE(&allocator, &m->ints);
  CI_LIST_FREE(&allocator, &m->floats);
  CI_LIST_FREE(&allocator, &m->strings);
  ci_pack_free(m);
  CI_LIST_FREE(&allocator, &m->constants);
  CI_LIST_FREE(&allocator, &m->variables);
  CI_LIST_FREE(&allocator, &m->generators);
  CI_LIST_FREE(&allocator, &m->signatures);
  CI_LIST_FREE(&allocator, &m->metadata);
  ci_names_free(&allocator, &m->names);
  CI_LIST_FREE(&allocator, &m->named);
  ci_pool_release(&m->pool);
  if (m->origin == CI_ORIGIN_FILE) ci_file_unmap(&allocator, &m->file);
  if (m->origin == CI_ORIGIN_COPY) ci_release(&allocator, (void *)(uintptr_t)m->file.data, m->file.length);
  allocator = m->given;
  ci_release(&allocator, m, sizeof *m);
}

void ci_close(ci_model *model) {
  if (model != NULL && atomic_fetch_sub(&model->references, 1) == 1) model_free(model);
}

/* ---- questions ---- */

static const ci_signature_info *model_signature_at(const ci_model *model, int signature) {
  if (model == NULL || signature < 0 || (size_t)signature >= model->signatures.count) return NULL;
  return &model->signatures.at[signature];
}

int ci_signature_count(const ci_model *model) { return model == NULL ? 0 : (int)model->signatures.count; }

const char *ci_signature_name(const ci_model *model, int signature) {
  const ci_signature_info *s = model_signature_at(model, signature);
  return s == NULL ? NULL : s->name;
}

int ci_signature(const ci_model *model, const char *name) {
  for (int i = 0; name != NULL && i < ci_signature_count(model); i++) {
    if (strcmp(model->signatures.at[i].name, name) == 0) return i;
  }
  return -1;
}

int ci_input_count(const ci_model *model, int signature) {
  const ci_signature_info *s = model_signature_at(model, signature);
  return s == NULL ? 0 : s->input_count;
}

int ci_output_count(const ci_model *model, int signature) {
  const ci_signature_info *s = model_signature_at(model, signature);
  return s == NULL ? 0 : s->output_count;
}

static int model_binding_index(const ci_binding *bindings, int32_t count, const char *name) {
  for (int32_t i = 0; name != NULL && i < count; i++) {
    if (strcmp(bindings[i].key, name) == 0) return i;
  }
  return -1;
}

int ci_input_index(const ci_model *model, int signature, const char *name) {
  const ci_signature_info *s = model_signature_at(model, signature);
  return s == NULL ? -1 : model_binding_index(s->inputs, s->input_count, name);
}

int ci_output_index(const ci_model *model, int signature, const char *name) {
  const ci_signature_info *s = model_signature_at(model, signature);
  return s == NULL ? -1 : model_binding_index(s->outputs, s->output_count, name);
}

static ci_status model_describe(const ci_binding *bindings, int32_t count, int index, ci_info *info) {
  if (info == NULL || index < 0 || index >= count) return CI_OUT_OF_RANGE;
  const ci_binding *b = &bindings[index];
  *info = (ci_info){.name = b->key, .dtype = b->dtype, .rank = b->rank};
  for (int32_t i = 0; i < b->rank; i++) {
    info->dims[i] = b->dims[i];
    info->symbol[i] = b->symbol == NULL ? NULL : b->symbol[i];
  }
  return CI_OK;
}

ci_status ci_input(const ci_model *model, int signature, int index, ci_info *info) {
  const ci_signature_info *s = model_signature_at(model, signature);
  return s == NULL ? CI_OUT_OF_RANGE : model_describe(s->inputs, s->input_count, index, info);
}

int ci_input_kind(const ci_model *model, int signature, int index) {
  const bool exists = index >= 0 && index < ci_input_count(model, signature);
  return exists ? model_signature_at(model, signature)->inputs[index].kind : -1;
}

int ci_output_kind(const ci_model *model, int signature, int index) {
  const bool exists = index >= 0 && index < ci_output_count(model, signature);
  return exists ? model_signature_at(model, signature)->outputs[index].kind : -1;
}

ci_status ci_output(const ci_model *model, int signature, int index, ci_info *info) {
  const ci_signature_info *s = model_signature_at(model, signature);
  return s == NULL ? CI_OUT_OF_RANGE : model_describe(s->outputs, s->output_count, index, info);
}

const char *ci_metadata(const ci_model *model, const char *key) {
  for (size_t i = 0; model != NULL && key != NULL && i < model->metadata.count; i++) {
    if (strcmp(model->metadata.at[i].key, key) == 0) return model->metadata.at[i].value;
  }
  return NULL;
}

const char *ci_metadata_key(const ci_model *model, int index) {
  return model == NULL || index < 0 || (size_t)index >= model->metadata.count ? NULL : model->metadata.at[index].key;
}

const char *ci_isa_name(const ci_model *model) { return model == NULL ? "" : model->isa->name; }
