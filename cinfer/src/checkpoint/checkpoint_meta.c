/* checkpoint_meta.c - makes P.meta of a model that came from a file: the same file without the values of its
 * variables.
 *
 * Variables lose the reference to their value. A tensor that nothing else refers to becomes an empty one, so that the
 * numbers of the others stay. All other fields are copied as they are, known or not. */
#include <string.h>

#include "checkpoint.h"
#include "../model/model.h"
#include "../base/wire.h"

enum { META_HEADER = 64, META_ALIGN = 64, META_MOST_DEPTH = 64 };

typedef struct meta_job {
  const ci_allocator *allocator;
  ci_span graph, data; /* sections of the file */
  bool *kept;          /* by tensor */
  size_t tensors;
  ci_out message, values;
  bool packed_tiles; /* a tensor of them is in packed tiles */
} meta_job;

/* ---- which tensors are still referred to ---- */

static void meta_keep(meta_job *job, uint64_t tensor) {
  if (tensor < job->tensors) job->kept[tensor] = true;
}

static void meta_keep_graph(meta_job *job, ci_span graph, uint32_t node_key, int depth);

static void meta_keep_list(meta_job *job, ci_span list, int depth) {
  ci_wire w = ci_wire_open(list);
  ci_field f;
  while (ci_wire_next(&w, &f))
    if (f.key == CI_KEY(ATTRIBUTEVALUE_GRAPHLIST_G)) meta_keep_graph(job, f.bytes, CI_KEY(GRAPH_NODE), depth);
}

static void meta_keep_attribute(meta_job *job, ci_span attribute, int depth) {
  ci_wire outer = ci_wire_open(attribute);
  ci_field value, f;
  while (ci_wire_next(&outer, &value)) {
    if (value.key != CI_KEY(ATTRIBUTE_VALUE)) continue;
    ci_wire w = ci_wire_open(value.bytes);
    while (ci_wire_next(&w, &f)) {
      if (f.key == CI_KEY(ATTRIBUTEVALUE_TENSOR)) meta_keep(job, f.number);
      if (f.key == CI_KEY(ATTRIBUTEVALUE_G)) meta_keep_graph(job, f.bytes, CI_KEY(GRAPH_NODE), depth);
      if (f.key == CI_KEY(ATTRIBUTEVALUE_GRAPHS)) meta_keep_list(job, f.bytes, depth);
    }
  }
}

/* A Graph or a Function, whose nodes have another field number. The model was verified, so its depth is limited. */
static void meta_keep_graph(meta_job *job, ci_span graph, uint32_t node_key, int depth) {
  ci_wire outer = ci_wire_open(graph);
  ci_field node, f;
  while (depth <= META_MOST_DEPTH && ci_wire_next(&outer, &node)) {
    if (node.key != node_key) continue;
    ci_wire w = ci_wire_open(node.bytes);
    while (ci_wire_next(&w, &f))
      if (f.key == CI_KEY(NODE_ATTR)) meta_keep_attribute(job, f.bytes, depth + 1);
  }
}

static void meta_keep_test(meta_job *job, ci_span test) {
  ci_wire w = ci_wire_open(test);
  ci_field f;
  uint64_t tensor;
  while (ci_wire_next(&w, &f)) {
    if (f.key == CI_KEY(SELFTEST_INPUT) || f.key == CI_KEY(SELFTEST_OUTPUT)) meta_keep(job, f.number);
    if (f.key != CI_KEY_PACKED(SELFTEST_INPUT) && f.key != CI_KEY_PACKED(SELFTEST_OUTPUT)) continue;
    for (ci_wire run = ci_wire_open(f.bytes); ci_wire_varint(&run, &tensor);) meta_keep(job, tensor);
  }
}

static bool meta_mark(meta_job *job) {
  ci_wire w = ci_wire_open(job->graph);
  ci_field f;
  while (ci_wire_next(&w, &f)) job->tensors += f.key == CI_KEY(MODEL_TENSOR);
  job->kept = ci_alloc(job->allocator, job->tensors);
  if (!job->kept) return false;
  for (w = ci_wire_open(job->graph); ci_wire_next(&w, &f);) {
    if (f.key == CI_KEY(MODEL_GRAPH)) meta_keep_graph(job, f.bytes, CI_KEY(GRAPH_NODE), 0);
    if (f.key == CI_KEY(MODEL_FUNCTION)) meta_keep_graph(job, f.bytes, CI_KEY(FUNCTION_NODE), 0);
    if (f.key == CI_KEY(MODEL_SELFTEST)) meta_keep_test(job, f.bytes);
  }
  return true;
}

/* ---- the new message ---- */

/* Copies the fields of a message except one. */
static void meta_copy_without(ci_out *out, ci_span message, uint32_t key) {
  ci_wire w = ci_wire_open(message);
  ci_field f;
  for (const uint8_t *start = w.at; ci_wire_next(&w, &f); start = w.at)
    if (f.key != key) ci_out_bytes(out, start, (size_t)(w.at - start));
}

static void meta_copy_tensor(meta_job *job, ci_out *out, ci_span message) {
  ci_wire w = ci_wire_open(message);
  ci_field f;
  uint64_t offset = 0, nbytes = 0;
  while (ci_wire_next(&w, &f)) {
    if (f.key == CI_KEY(TENSOR_OFFSET)) offset = f.number;
    if (f.key == CI_KEY(TENSOR_NBYTES)) nbytes = f.number;
    if (f.key == CI_KEY(TENSOR_PACKED_TILE_WIDTH)) job->packed_tiles = job->packed_tiles || f.number != 0;
  }
  while (!job->values.failed && job->values.length % META_ALIGN != 0) ci_out_bytes(&job->values, "", 1);
  meta_copy_without(out, message, CI_KEY(TENSOR_OFFSET));
  ci_out_field_varint(out, CI_PB_TENSOR_OFFSET, job->values.length);
  ci_out_bytes(&job->values, job->data.data + offset, (size_t)nbytes);
}

static void meta_empty_tensor(const meta_job *job, ci_out *out) {
  static const int64_t none = 0;
  ci_out_field_varint(out, CI_PB_TENSOR_DTYPE, CI_FLOAT);
  ci_out_field_packed(out, CI_PB_TENSOR_DIMS, &none, 1);
  ci_out_field_varint(out, CI_PB_TENSOR_OFFSET, ci_round_up(job->values.length, META_ALIGN));
  ci_out_field_varint(out, CI_PB_TENSOR_STORED, 1);
}

static void meta_message(meta_job *job) {
  ci_out inner = {.allocator = job->allocator};
  ci_wire w = ci_wire_open(job->graph);
  ci_field f;
  size_t tensor = 0;
  for (const uint8_t *start = w.at; ci_wire_next(&w, &f); start = w.at, inner.length = 0) {
    if (f.key == CI_KEY(MODEL_VARIABLE)) {
      meta_copy_without(&inner, f.bytes, CI_KEY(VARIABLE_VALUE));
      ci_out_field_message(&job->message, CI_PB_MODEL_VARIABLE, &inner);
    } else if (f.key == CI_KEY(MODEL_TENSOR)) {
      if (job->kept[tensor++]) meta_copy_tensor(job, &inner, f.bytes);
      else meta_empty_tensor(job, &inner);
      ci_out_field_message(&job->message, CI_PB_MODEL_TENSOR, &inner);
    } else {
      ci_out_bytes(&job->message, start, (size_t)(w.at - start));
    }
  }
  ci_out_free(&inner);
}

/* The data section ends where its last tensor ends: an empty one may come after padding. */
static void meta_pad_data(meta_job *job) {
  if (job->tensors == 0 || job->kept[job->tensors - 1]) return;
  while (!job->values.failed && job->values.length % META_ALIGN != 0) ci_out_bytes(&job->values, "", 1);
}

static void meta_file(const meta_job *job, const uint8_t *old_header, ci_out *out) {
  const size_t graph_end = META_HEADER + job->message.length, start = ci_round_up(graph_end, META_ALIGN);
  static const uint8_t zeros[META_ALIGN];
  ci_out_bytes(out, old_header, 12); /* magic, version */
  ci_out_u32(out, job->packed_tiles);
  ci_out_u64(out, job->message.length);
  ci_out_u64(out, start);
  ci_out_u64(out, job->values.length);
  ci_out_u32(out, ci_crc32c(0, job->message.data, job->message.length));
  ci_out_bytes(out, zeros, 16);
  if (!out->failed) ci_out_u32(out, ci_crc32c(0, out->data, META_HEADER - 4));
  ci_out_bytes(out, job->message.data, job->message.length);
  ci_out_bytes(out, zeros, start - graph_end);
  ci_out_bytes(out, job->values.data, job->values.length);
}

ci_status ci_checkpoint_meta(const ci_model *model, ci_out *out, ci_error *error) {
  meta_job job = {.allocator = out->allocator};
  bool packed_tiles;
  job.message.allocator = job.values.allocator = out->allocator;
  const ci_span file = {(const char *)model->file.data, model->file.length};
  CI_TRY(ci_container_open(file, &job.graph, &job.data, &packed_tiles, error));
  bool good = meta_mark(&job);
  if (good) {
    meta_message(&job);
    meta_pad_data(&job);
    meta_file(&job, model->file.data, out);
    good = !job.message.failed && !job.values.failed && !out->failed;
  }
  ci_release(job.allocator, job.kept, job.tensors);
  ci_out_free(&job.message);
  ci_out_free(&job.values);
  return good ? CI_OK : ci_fail(error, CI_RESOURCE_EXHAUSTED, "out of memory while saving the graph of a checkpoint");
}
