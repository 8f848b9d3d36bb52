/* model.h - a model in memory: compact arrays that refer to each other by number, and to the file's bytes by span. */
#ifndef CI_MODEL_H
#define CI_MODEL_H

#include "../system/atomics.h"
#include "../kernels/ci_kernel.h"
#include "../system/file.h"
#include "../simd/isa.h"
#include "../base/memory.h"
#include "../base/names.h"
#include "../base/stop.h"
#include "../base/wire.h"

enum { CI_NONE = -1 }; /* a number that refers to nothing */

typedef struct ci_type { /* a type, read from its message when it is needed */
  int32_t kind;             /* CI_KIND_...; the fields below describe the tensors that are held */
  int32_t dtype;
  int32_t rank;             /* -1: unknown */
  int64_t dims[CI_MAX_RANK]; /* -1: unknown */
  ci_span symbol[CI_MAX_RANK];
} ci_type;

/* Bytes of the graph section, by the offset of their length in it (ci_stored_bytes); 0: none. A model is kept small:
 * its load may take four bytes for each of the file's. */
typedef uint32_t ci_stored;

typedef struct ci_attr {
  ci_stored key;
  int32_t kind;   /* CI_PB_ATTRIBUTEVALUE_..., T and TENSOR both refer to a constant */
  uint32_t count; /* of a list */
  union {
    int64_t i;
    double f;        /* F and D */
    ci_stored at;    /* S, and the message of TYPE */
    int32_t constant;
    int32_t graph;
    size_t first;    /* of INTS, FLOATS, STRINGS: index into ci_model.ints, floats, strings */
  } as;
} ci_attr;

typedef struct ci_range { /* nodes begin <= n < end of one graph: an edge to a function call means all of its nodes */
  int32_t begin, end;
} ci_range;

typedef struct ci_node {
  ci_stored at; /* its message, which has its name, its operator and where it was built */
  int32_t graph;
  int32_t outputs;              /* values outputs, outputs + 1, ... */
  uint32_t inputs, input_count; /* into ci_model.refs; CI_NONE is absent */
  uint32_t control_count;       /* ranges, as ci_graph_range_at reads them, behind the inputs */
  uint32_t attrs;               /* into ci_model.attrs, sorted by key */
  uint16_t attr_count, output_count;
  const ci_op *kernel; /* NULL: this build lacks it */
} ci_node;

enum { CI_MOST_OF_NODE = UINT16_MAX }; /* attributes and outputs */

enum {
  CI_EDGE_OUTPUT, /* of node `of` */
  CI_EDGE_FORMAL, /* input of graph `of` */
  CI_EDGE_SAME    /* an output of an inlined call, or an input of its body: it is value `of` */
};

typedef struct ci_edge { /* a value of the graph, before it has numbers */
  int32_t of;
  ci_stored type; /* message Type */
  uint8_t dtype;  /* which it has; 0: none */
  uint8_t role;   /* CI_EDGE_... */
} ci_edge;

typedef struct ci_graph {
  int32_t owner;      /* the node that has it as attribute; CI_NONE: the root */
  int32_t parent;     /* the graph around it; CI_NONE: the root */
  int32_t first, end; /* its nodes, and between them those of their bodies: ci_graph_next */
  int32_t depth;
  int32_t formals, formal_count;     /* edges */
  uint32_t outputs, output_count;    /* into refs */
  uint32_t captures, capture_count;  /* into refs, sorted by number */
  uint32_t targets, target_count;    /* ranges, from there on in refs */
} ci_graph;

typedef struct ci_inlined { /* a call that is replaced by its function's body */
  ci_stored at; /* the calling node's message */
  int32_t parent; /* the call whose body that is in, or CI_NONE */
  ci_range nodes;
} ci_inlined;

enum { CI_MOST_CALLS = 16 }; /* inside each other; a function that calls itself ends here */

typedef struct ci_named { /* named parts that are not nodes: formal inputs, calls, all inside calls */
  ci_stored str;
  uint32_t scope;
  int32_t first, count; /* its values */
  ci_range nodes; /* several for a call, none for a formal input */
} ci_named;

typedef struct ci_constant {
  void *data; /* the elements as kernels read them */
  ci_span bytes; /* as stored */
  const int64_t *dims; /* as many as the rank */
  uint32_t crc;
  uint8_t dtype, rank;
  bool unchecked; /* lazy: the session checks it at first use */
  bool packed_tile_last; /* the axis of its packed tiles is the last, else the first */
  uint16_t packed_tile_width; /* 0: row-major; else the elements are in packed tiles of so many (schema/model.proto,
                                 Tensor) */
  _Atomic(struct ci_packed *) packed; /* pack.h: the same in other orders */
} ci_constant;

typedef struct ci_variable_info {
  const char *name;
  const int64_t *dims;
  int32_t dtype, rank; /* rank -1: any */
  int32_t value; /* constant or CI_NONE */
  ci_span slot_of, slot; /* of an optimizer's slot: its variable, and which it is */
} ci_variable_info;

typedef struct ci_generator_info {
  const char *name;
  bool seeded, has_state;
  uint64_t key;
  ci_generator state;
} ci_generator_info;

typedef struct ci_binding {
  const char *key;
  int32_t edge;
  int32_t kind, dtype, rank; /* as in ci_type */
  const int64_t *dims;
  const char *const *symbol; /* terminated copies */
} ci_binding;

typedef struct ci_signature_info {
  const char *name;
  ci_binding *inputs, *outputs;
  int32_t input_count, output_count;
  uint32_t targets, target_count; /* ranges, from there on in refs */
} ci_signature_info;

typedef struct ci_metadata_info {
  const char *key, *value;
} ci_metadata_info;

typedef struct ci_packs { /* pack.c: memory for the packed constants */
  _Atomic(struct ci_pack_block *) blocks;
  _Atomic(size_t) taken;
  size_t expected; /* bytes, about, if all constants that may be packed are */
} ci_packs;

struct ci_model {
  atomic_int references;
  enum { CI_ORIGIN_BORROWED, CI_ORIGIN_FILE, CI_ORIGIN_COPY } origin;
  ci_allocator allocator; /* while it loads, one that counts */
  ci_allocator given; /* the caller's */
  ci_stop stop; /* the reasons to end its load */
  size_t held, most; /* bytes while it loads, and how many these may be */
  uint64_t again; /* bytes of the file that were read once more: ci_load_again */
  ci_limits limits; /* defaults filled in */
  bool exhausted; /* it needed more */
  bool lazy, borrow;
  bool packed_tiles; /* some constant is in packed tiles */
  int32_t custom_count;
  const struct ci_isa *isa;
  ci_bytes file; /* the bytes that the spans point into */
  ci_span section; /* the graph section of it */
  ci_pool pool;
  ci_names names; /* of nodes (2n) and of `named` (2n + 1), while it loads */
  CI_LIST(ci_named) named; /* and nodes whose name is not first in their message */
  CI_LIST(ci_node) nodes;
  CI_LIST(ci_edge) edges;
  CI_LIST(ci_graph) graphs; /* 0 is the root */
  CI_LIST(ci_attr) attrs;
  CI_LIST(int32_t) refs;
  CI_LIST(ci_inlined) inlined; /* by their first nodes, those outside first */
  CI_LIST(int64_t) ints;
  CI_LIST(float) floats;
  CI_LIST(ci_span) strings;
  CI_LIST(ci_constant) constants; /* Model.tensor first, then the inline ones */
  ci_packs packs;
  CI_LIST(ci_variable_info) variables;
  CI_LIST(ci_generator_info) generators;
  CI_LIST(ci_signature_info) signatures;
  CI_LIST(ci_metadata_info) metadata;
  struct ci_custom *customs; /* custom.h: the program's own operators, custom_count of them */
};

/* ---- stored.c ---- */

ci_span ci_stored_bytes(const ci_model *model, ci_stored at);
/* Where bytes lie that a field of the graph section has. */
ci_stored ci_stored_of(const ci_model *model, const ci_field *field);

/* ---- node_names.c: names that are read from the file when they are needed ---- */

typedef struct ci_node_string {
  ci_span name, op, domain;
  uint64_t version;
  ci_span source; /* message Source, or empty */
} ci_node_string;
/* Takes a field of a Node message, if it is one of these. */
void ci_node_string_take(ci_node_string *str, const ci_field *field);
ci_node_string ci_node_string_at(const ci_model *model, ci_stored at);
ci_node_string ci_node_read(const ci_model *model, const ci_node *node);
ci_span ci_node_own_name(const ci_model *model, const ci_node *node); /* it has one, usually first in its message */
/* The innermost call that has a node, or CI_NONE. */
int32_t ci_node_call(const ci_model *model, const ci_node *node);
/* Its name after those of the calls that it is in ("call/inner"); with any of these it is written to `buffer`, cut to
 * `size`.
 */
ci_span ci_node_name(const ci_model *model, const ci_node *node, char *buffer, size_t size);
/* The same of a node that is not in the model yet. */
ci_span ci_call_name(const ci_model *model, int32_t call, ci_span name, char *buffer, size_t size);

/* ---- node_errors.c ---- */

typedef struct ci_as { /* the operator and name of a node in messages, if it replaces others that were fused */
  ci_span op, name;
} ci_as;
/* Fills node, op, source of *error and completes its message; returns status. `as` may be NULL. */
ci_status ci_node_fail(const ci_model *model, const ci_node *node, ci_error *error, ci_status status,
                       const char *format, ...) CI_PRINTF(5, 6);
ci_status ci_node_vfail(const ci_model *model, const ci_node *node, const ci_as *as, ci_error *error, ci_status status,
                        const char *format, va_list arguments);

/* ---- container.c: the file around the message ---- */

/* Checks header, lengths and the graph section's checksum. *packed_tiles: some tensor is in packed tiles. */
ci_status ci_container_open(ci_span file, ci_span *graph, ci_span *data, bool *packed_tiles, ci_error *error);
/* The status of an opened file whose graph section has the right checksum and does not fit the rules: CI_DATA_LOSS,
 * whose error is set already, or CI_UNIMPLEMENTED if a later minor version may have added the part that does not fit.
 */
ci_status ci_container_misfit(ci_span file, ci_error *error);
/* Fills a constant from a Tensor message whose stored data are in `data`; *end is where the tensor before ended. */
ci_status ci_constant_parse(ci_model *model, ci_span message, ci_span data, size_t *end, ci_constant *constant,
                            ci_error *error);
ci_value ci_constant_value(const ci_constant *constant);
/* Whether the bytes of a lazily checked constant are intact; looks at them only until the call has to end. */
bool ci_constant_intact(const ci_constant *constant, ci_stop *stop);

/* ---- types.c ---- */

/* The type of a Type message; an empty one is (0, unknown rank). CI_UNIMPLEMENTED: sequences whose elements are not
 * tensors, optional values that are neither tensors nor sequences. */
ci_status ci_type_parse(ci_span message, ci_type *type, ci_error *error);
ci_status ci_type_parse_shape(ci_span message, ci_type *type, ci_error *error);
/* Reads one dims entry or a packed run of them. */
bool ci_dims_append(int64_t *dims, int32_t *rank, uint32_t key, uint32_t packed_key, uint64_t number, ci_span bytes);

/* ---- parse.c: the graph ---- */

/* The graph of a Model message. */
ci_status ci_parse_graph(ci_model *model, ci_span message, ci_span graph, ci_error *error);
/* The value of a name in the root graph. */
ci_status ci_parse_root_value(const ci_model *model, ci_span name, const char *what, int32_t *edge, ci_error *error);
/* The nodes of a name in the root graph. */
ci_status ci_parse_root_nodes(const ci_model *model, ci_span name, const char *what, ci_range *range, ci_error *error);

/* ---- ops.c ---- */

const ci_op *ci_op_find(ci_span domain, ci_span name, int64_t version);
/* The family of an operator, of ONNX or of graphio, that this build leaves out; NULL: of no such operator. */
const char *ci_op_left_out(ci_span name);

/* ---- verify.c ---- */

/* Arities of a node against its kernel's row. */
ci_status ci_verify_node(const ci_model *model, const ci_node *node, ci_error *error);
/* All operators that a signature needs and this build lacks, in one error. */
ci_status ci_verify_operators(const ci_model *model, ci_error *error);

/* ---- graph.c ---- */

ci_range ci_graph_range_at(const ci_model *model, uint32_t first, uint32_t i); /* a range is two numbers of refs */
/* The node of the same graph that comes after node n, or the graph's end: those of bodies are jumped over. */
int32_t ci_graph_next(const ci_model *model, const ci_graph *graph, int32_t n);

/* ---- needs.c ---- */

ci_status ci_needs_no_memory(ci_error *error);
/* Makes need[node] other than 0 for what the signature runs, bodies included. fed[edge] stops. Both are zeroed arrays,
 * or need has what another signature runs, too. */
ci_status ci_needs(const ci_model *model, const ci_signature_info *signature, const bool *fed, int32_t *need,
                   ci_error *error);

/* ---- attrs.c ---- */

const ci_attr *ci_attr_find(const ci_model *model, const ci_node *node, const char *name);
/* Among those of a node. */
const ci_attr *ci_attr_find_key(const ci_model *model, uint32_t first, uint32_t count, ci_span key);

/* ---- load.c ---- */

/* To be called before bytes of the file are read once more, or may be, because something refers to them: references
 * can multiply the bytes that are read without taking memory for it. Refuses to read much more than the file. */
ci_status ci_load_again(ci_model *model, size_t bytes, ci_error *error);
ci_status ci_load_go_on(ci_model *model, ci_error *error); /* while it loads: not if the load has to end */
size_t ci_load_most(const ci_model *model); /* bytes that its load may take */

/* ---- model.c ---- */

void ci_model_retain(ci_model *model);
#endif
