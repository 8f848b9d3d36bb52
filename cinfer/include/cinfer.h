/* cinfer.h - predict and train with graphio models from C.
 *
 *  - C11, libc and libm only. No global state, no init call; never aborts, prints, exits or reads the environment.
 *  - ci_model is immutable and may be shared by threads. ci_state is used by one run at a time. ci_session is used
 *    by one thread at a time (ci_cancel excepted). A child of fork() goes on with the handles that no thread was using
 *    then; the threads of a session stay with the parent, and in the child it runs without.
 *  - A fallible call returns ci_status, 0 is success; details go to the caller's ci_error, which may be NULL.
 *  - Paths are UTF-8, on Windows, too, whatever its code page is; elsewhere they are the bytes that the system takes.
 *  - Names and infos that are returned belong to the handle that gave them and live as long as that handle.
 *    Only the three handles are closed; closing accepts NULL and any order (a session keeps what it needs).
 *  - Structs that may grow begin with `size`: fill them with their ..._defaults(); options without a size are refused.
 *    Enums only gain values.
 */
#ifndef CINFER_H
#define CINFER_H
#include <stddef.h>
#include <stdint.h>

#define CI_VERSION_MAJOR 0
#define CI_VERSION_MINOR 1
#define CI_VERSION_PATCH 0
#define CI_ABI 1      /* +1 on any incompatible change of this header */
#define CI_NUMERICS 1 /* +1 on any change of bits that a kernel gives (docs/numerics.md) */
#define CI_MAX_RANK 16

#if defined(CI_STATIC) || defined(CI_ONE_FILE)
#define CI_API
#elif defined(_WIN32) && defined(CI_BUILD)
#define CI_API __declspec(dllexport)
#elif defined(_WIN32)
#define CI_API __declspec(dllimport)
#else
#define CI_API __attribute__((visibility("default")))
#endif

#if defined(__GNUC__)
#define CI_OLD_NAME(now) __attribute__((deprecated("call " now)))
#else
#define CI_OLD_NAME(now)
#endif

#ifdef __cplusplus
extern "C" {
#endif
/* begin cdef: the Python binding reads the declarations between these marks */

typedef struct ci_model ci_model;     /* a file, verified, with its constants */
typedef struct ci_state ci_state;     /* variables and resources by name */
typedef struct ci_session ci_session; /* a model being run on a state */

/* ---- status and errors ---- */

typedef int32_t ci_status;
enum {
  CI_OK = 0,
  CI_INVALID_ARGUMENT = 3, /* numbers are those of TensorFlow's and gRPC's codes */
  CI_DEADLINE_EXCEEDED = 4,
  CI_NOT_FOUND = 5,
  CI_ALREADY_EXISTS = 6,
  CI_RESOURCE_EXHAUSTED = 8, /* memory, or a limit of ci_limits */
  CI_FAILED_PRECONDITION = 9,
  CI_CANCELLED = 1,
  CI_UNKNOWN = 2, /* the status of a host function's error that no other one fits */
  CI_OUT_OF_RANGE = 11,
  CI_UNIMPLEMENTED = 12, /* an operator, type or feature that this build lacks */
  CI_INTERNAL = 13,
  CI_UNAVAILABLE = 14, /* the operating system refused a read or write */
  CI_DATA_LOSS = 15    /* damaged or truncated bytes */
};
typedef struct ci_error { /* owned by the caller; text is UTF-8, always terminated, cut if too long */
  ci_status status;
  char node[128];   /* "encoder/dense_1/MatMul" or "" */
  char op[64];      /* "MatMul" or "" */
  char source[160]; /* where Python built the node, "train.py:88 in build", or "" */
  char message[1024]; /* a complete sentence, with node and source */
} ci_error;
CI_API const char *ci_status_name(ci_status status); /* "INVALID_ARGUMENT" */

/* ---- tensors: views of memory that the caller owns, dense, row-major ---- */

/* clang-format off */
enum { /* element types, ONNX's numbers */
  CI_FLOAT = 1, CI_UINT8 = 2, CI_INT8 = 3, CI_UINT16 = 4, CI_INT16 = 5, CI_INT32 = 6, CI_INT64 = 7, CI_STRING = 8,
  CI_BOOL = 9, CI_FLOAT16 = 10, CI_DOUBLE = 11, CI_UINT32 = 12, CI_UINT64 = 13, CI_COMPLEX64 = 14,
  CI_COMPLEX128 = 15, CI_BFLOAT16 = 16, CI_FLOAT8E4M3FN = 17, CI_FLOAT8E4M3FNUZ = 18, CI_FLOAT8E5M2 = 19,
  CI_FLOAT8E5M2FNUZ = 20, CI_UINT4 = 21, CI_INT4 = 22, CI_FLOAT4E2M1 = 23, CI_FLOAT8E8M0 = 24, CI_UINT2 = 25,
  CI_INT2 = 26, /* 4- and 2-bit types have a byte an element, the code in its low bits, the others zero */
  /* not element types, but other kinds of inputs and outputs: */
  CI_SEQUENCE = 64, /* data is an array of dims[0] ci_tensor, rank is 1, bytes counts the array. An output is always
                       borrowed */
  CI_NOTHING = 65   /* an optional value that holds nothing; rank and bytes are 0 */
};
/* clang-format on */
typedef struct ci_string { /* an element of a CI_STRING tensor */
  const char *data;
  size_t length;
} ci_string;
typedef struct ci_tensor {
  void *data;     /* any alignment of the element type; 64 is best. An output with data NULL borrows the session's
                     buffer until its next run or close; copy it to make it an input of that run */
  size_t bytes;   /* size of data; of an output: capacity before, size used after the run */
  int32_t dtype;
  int32_t rank;   /* outputs: dtype, rank and dims are filled in */
  int64_t dims[16]; /* CI_MAX_RANK */
} ci_tensor;
CI_API size_t ci_dtype_size(int32_t dtype);      /* bytes an element, 0 if unknown */
CI_API const char *ci_dtype_name(int32_t dtype); /* "float32" */

/* ---- hooks and limits ---- */

/* Functions of the program that the library calls (ci_allocator, ci_operator, ci_host, ci_executor, ci_observer):
 *  - They return. An exception, a longjmp or an end of the thread that leaves one is undefined behaviour: a state stays
 *    in use, a C++ program may be terminated. cinfer.hpp catches exceptions and makes errors of them.
 *  - A status that they return is one of ci_status or another of gRPC's codes, at most 16. Any other number becomes
 *    CI_UNKNOWN, and the message tells the number. A sentence that they write into `error` is part of that message.
 *  - `shape` and `run` of an operator and the `call` of a host may use other models, states and sessions in all ways.
 *    Of the run's own they may call ci_cancel and what reads; a call that plans or runs, saves or changes the state is
 *    CI_FAILED_PRECONDITION there, and closing that session is undefined behaviour.
 *  - All the others, and parts that run on threads, call nothing of this library but ci_cancel. */
typedef struct ci_allocator { /* all NULL: malloc. align is a power of two, at most 64 */
  void *user;
  void *(*alloc)(void *user, size_t bytes, size_t align);
  void (*release)(void *user, void *memory, size_t bytes);
} ci_allocator;
typedef struct ci_limits { /* 0: the default in brackets. It is part of other structs and does not grow */
  size_t size;             /* the library's: a value that a program writes here is ignored */
  uint64_t max_bytes;      /* of a file (2^46) */
  uint64_t max_nodes;      /* with those of functions and subgraphs (2^20) */
  uint64_t max_memory;     /* bytes that a session may hold for values and plans together, where plans may always take
                              what max_load allows; that a state may hold for a value, a model for packed constants
                              (2^40) */
  uint64_t max_loop_steps; /* of one Loop (2^40) */
  uint32_t max_depth;      /* of subgraphs (16) */
  uint32_t max_load;       /* heap that opening may take, for each byte of the file, and 64 KB (4) */
} ci_limits;
enum {
  CI_ISA_BEST = 0, /* the best that this processor has; all give the same bits */
  CI_ISA_PORTABLE = 1,
  CI_ISA_AVX2 = 2,
  CI_ISA_AVX512 = 3,
  CI_ISA_NEON = 4,
  CI_ISA_SIMD128 = 5 /* WebAssembly */
};

/* ---- calls that end early ---- */

/* Ends the ci_open that is given it with CI_CANCELLED, as ci_cancel ends a run. The struct is the caller's, {0} at
 * first; it outlives the call, may be given to several at the same time, and serves again once it is set back to 0.
 * From any thread, and from a signal handler. */
typedef struct ci_cancel_token {
  int32_t cancelled; /* by ci_cancel_token_set */
} ci_cancel_token;
CI_API void ci_cancel_token_set(ci_cancel_token *token, int32_t cancelled);
/* For hosts that learn only in the calling thread that a call has to end, such as interpreters with signals. The
 * function is called about five times a second by the thread that opens or runs, in calls that take so long; a result
 * other than 0 ends the call with CI_CANCELLED. It must not call this library. NULL (default): no interruption. */
typedef struct ci_interrupt {
  void *user;
  int32_t (*requested)(void *user);
} ci_interrupt;

/* ---- custom operators ---- */

typedef struct ci_call ci_call;
/* The functions that an operator may call; by address, so that a shared library of operators links nothing.
 * Attributes: a missing one gives the default, one of another kind is CI_INVALID_ARGUMENT, whose message is already
 * set. Text and lists belong to the model; text is not terminated; a missing list has count -1. */
typedef struct ci_services {
  size_t size;
  int32_t (*has)(const ci_call *call, const char *name); /* 1: the node has the attribute */
  ci_status (*get_int)(const ci_call *call, const char *name, int64_t otherwise, int64_t *value);
  ci_status (*get_float)(const ci_call *call, const char *name, double otherwise, double *value);
  ci_status (*get_string)(const ci_call *call, const char *name, const char **data, size_t *length);
  ci_status (*get_ints)(const ci_call *call, const char *name, const int64_t **values, int32_t *count);
  ci_status (*get_floats)(const ci_call *call, const char *name, const float **values, int32_t *count);
  /* In run: calls part(argument, begin, end) for parts of [0, n) of at least `grain`, on the session's threads. Parts
   * should split outputs, never a sum, so that results do not depend on their number. */
  void (*parallel)(const ci_call *call, int64_t n, int64_t grain,
                   void (*part)(void *argument, int64_t begin, int64_t end), void *argument);
  size_t (*dtype_size)(int32_t dtype); /* as ci_dtype_size and ci_dtype_name */
  const char *(*dtype_name)(int32_t dtype);
} ci_services;
struct ci_call { /* a node of such an operator, valid until the function that gets it returns */
  size_t size;
  int32_t version; /* that the node was written for */
  int32_t input_count, output_count;
  const ci_tensor *inputs; /* dtype 0: absent. `shape` sees data only where the numbers are known before the run */
  ci_tensor *outputs; /* `shape` sets dtype, rank and dims; `run` fills data, which is dense */
  size_t scratch_bytes; /* `shape` may set it */
  void *scratch; /* in run: so many bytes, aligned to 64, of any content */
  const ci_services *services;
  void *kernel; /* the library's */
};
enum { CI_AT_RUN = -1 }; /* `shape` returns it when it needs the numbers of an input whose data is NULL */
typedef struct ci_operator { /* it and all that it points at must outlive the models that are opened with it */
  size_t size; /* sizeof(ci_operator) */
  const char *domain, *name; /* as the file has them: "com.example", "ScaledTanh" */
  int32_t since, until; /* versions that it serves; until 0: no end */
  int32_t min_inputs, max_inputs, min_outputs,
      max_outputs; /* the first min_inputs are there; max -1: any number, and none is absent */
  int32_t stateful; /* 1: never run before its turn, never left out */
  void *user;
  /* The types of the outputs from those of the inputs. Called while a shape is planned, for CI_AT_RUN in the run. */
  ci_status (*shape)(void *user, ci_call *call, ci_error *error);
  /* Called by the thread that runs the session; the same inputs must give the same bits. In both error is not NULL. */
  ci_status (*run)(void *user, ci_call *call, ci_error *error);
} ci_operator;
/* The function that a shared library of operators exports for graphio.cinfer.load(..., operators=["its.so"]): it
 * returns an array, and sets its length. */
typedef const ci_operator *(*ci_operators_fn)(int32_t *count); /* const ci_operator *ci_operators(int32_t *count) */

typedef struct ci_options { /* of a model */
  size_t size;
  uint32_t abi;       /* CI_ABI as the caller was compiled */
  int32_t isa;        /* CI_ISA_...; one that the processor lacks is CI_UNIMPLEMENTED */
  int32_t lazy;       /* 1: tensors are checked when first used, not at open */
  int32_t borrow;     /* 1, ci_open_memory: the bytes outlive the model and are not copied */
  ci_allocator allocator;
  ci_limits limits;
  const ci_operator *const *operators; /* pointers to custom operators, whose domains must not be the library's */
  int32_t operator_count;
  const ci_cancel_token *cancel; /* NULL (default): nothing cancels the open */
  uint64_t deadline; /* nanoseconds that the open may take, by a clock that is never set; then it ends with
                        CI_DEADLINE_EXCEEDED. 0 (default): no end. Builds without a clock (CI_NO_FILES) refuse another
                        value, and an interrupt, with CI_UNIMPLEMENTED */
  ci_interrupt interrupt;
} ci_options;
CI_API ci_options ci_defaults(void);

/* ---- models ---- */

CI_API ci_status ci_open(const char *path, const ci_options *options, ci_model **model, ci_error *error);
CI_API ci_status ci_open_memory(const void *data, size_t bytes, const ci_options *options, ci_model **model,
                                ci_error *error);
CI_API void ci_close(ci_model *model);

typedef struct ci_info { /* of an input, an output or a variable */
  const char *name;
  int32_t dtype;
  int32_t rank;          /* -1: unknown */
  int64_t dims[16];      /* -1: unknown */
  const char *symbol[16]; /* names of unknown dimensions, or NULL */
} ci_info;
CI_API int ci_signature_count(const ci_model *model);
CI_API const char *ci_signature_name(const ci_model *model, int signature);
CI_API int ci_signature(const ci_model *model, const char *name); /* its number or -1 */
CI_API int ci_input_count(const ci_model *model, int signature);
CI_API int ci_output_count(const ci_model *model, int signature);
CI_API int ci_input_index(const ci_model *model, int signature, const char *name); /* or -1 */
CI_API int ci_output_index(const ci_model *model, int signature, const char *name);
CI_API ci_status ci_input(const ci_model *model, int signature, int index, ci_info *info);
CI_API ci_status ci_output(const ci_model *model, int signature, int index, ci_info *info);
enum { CI_KIND_TENSOR = 0, CI_KIND_SEQUENCE = 1, CI_KIND_OPTIONAL = 2 }; /* added up: an optional sequence is 3 */
/* The kind of an input or output; where that is not a tensor, ci_input and ci_output describe the tensors that it
 * holds. -1: there is no such input. */
CI_API int ci_input_kind(const ci_model *model, int signature, int index);
CI_API int ci_output_kind(const ci_model *model, int signature, int index);
CI_API const char *ci_metadata(const ci_model *model, const char *key); /* or NULL */
CI_API const char *ci_metadata_key(const ci_model *model, int index); /* NULL past the last */

/* ---- state ---- */

typedef struct ci_state_options {
  size_t size;
  uint64_t seed; /* from it come the keys of random generators that the model does not seed */
  ci_allocator allocator;
  ci_limits limits;
} ci_state_options;
CI_API ci_state_options ci_state_defaults(void);
/* An empty state. Sessions opened on it add the variables of their models, with the values that the file carries
 * where the state has none. */
CI_API ci_status ci_state_open(const ci_state_options *options, ci_state **state, ci_error *error);
CI_API void ci_state_close(ci_state *state);
CI_API int ci_variable_count(const ci_state *state);
CI_API int ci_variable_index(const ci_state *state, const char *name); /* or -1 */
CI_API ci_status ci_variable(const ci_state *state, int index, ci_info *info);
CI_API int ci_variable_initialized(const ci_state *state, int index);
/* A view of the value, valid until the variable changes; uninitialised: CI_FAILED_PRECONDITION. */
CI_API ci_status ci_variable_view(const ci_state *state, int index, ci_tensor *value, ci_error *error);
/* The value may be a view of this state. A CI_BOOL other than 0 and 1 is CI_INVALID_ARGUMENT. */
CI_API ci_status ci_variable_set(ci_state *state, int index, const ci_tensor *value, ci_error *error);
/* Declares a variable (rank -1: any shape) if the state lacks it. */
CI_API ci_status ci_variable_declare(ci_state *state, const ci_info *info, int *index, ci_error *error);
/* Removes the declarations that came after the first `count` variables. Only those of ci_variable_declare, before a
 * session is opened on them; CI_FAILED_PRECONDITION and nothing removed if one of them has a value. */
CI_API ci_status ci_variable_forget(ci_state *state, int count, ci_error *error);
typedef struct ci_generator { /* Philox 4x32-10 */
  uint64_t key;
  uint64_t counter;
} ci_generator;
CI_API int ci_generator_count(const ci_state *state);
CI_API const char *ci_generator_name(const ci_state *state, int index);
CI_API ci_status ci_generator_get(const ci_state *state, int index, ci_generator *value, int *initialized);
CI_API ci_status ci_generator_set(ci_state *state, const char *name, const ci_generator *value, ci_error *error);
/* Memory for a value that ci_state_assign is then given, which saves a copy. It is uninitialised; free it unless it was
 * taken over. */
CI_API ci_status ci_state_alloc(ci_state *state, size_t bytes, void **data, ci_error *error);
CI_API void ci_state_free(ci_state *state, void *data, size_t bytes);
typedef struct ci_in_file { /* a value in a file that must not be changed; as CI_VERIFY_LAZY */
  int32_t file; /* by number; -1: it is in its tensor */
  uint32_t crc32c;
  uint64_t offset;
} ci_in_file;
/* Many variables (by index, none twice) and generators (by name) at once: all, or none when it fails. */
typedef struct ci_assignment {
  const int *variables;
  const ci_tensor *values;
  int variable_count;
  const char *const *generators;
  const ci_generator *positions;
  int generator_count;
  const uint8_t *given; /* NULL, or by variable: not 0: the value is in memory of ci_state_alloc of its size, which is
                           taken over when all is assigned; no strings */
  /* NULL, or for each variable the position of its value in a file; data and bytes of its tensor are then not looked
   * at. Outside of the file is CI_DATA_LOSS */
  const ci_in_file *in_file;
  const char *const *files; /* the files that in_file refers to; symbolic links are not followed */
  int file_count;
  const char *checkpoint; /* how messages call it; NULL: by the name of the file */
} ci_assignment;
CI_API ci_status ci_state_assign(ci_state *state, const ci_assignment *assignment, ci_error *error);
/* Blobs: bytes of the caller, saved and restored in one commit with the variables. Set copies name and bytes and
 * replaces a blob of that name; the name is UTF-8 and not that of a generator (CI_ALREADY_EXISTS, also for a generator
 * with the name of a blob), all blobs together have at most 2^24 bytes (CI_RESOURCE_EXHAUSTED). The bytes that
 * ci_state_blob gives belong to the state and live until that blob is set or removed, the state is restored or closed;
 * a name that is not there is CI_NOT_FOUND. Positions of data iterators that a checkpoint from Python has are kept
 * like blobs and saved as they were, but are not listed; ci_state_remove_blob or a blob of the same name ends that. */
CI_API ci_status ci_state_set_blob(ci_state *state, const char *name, const void *data, size_t bytes, ci_error *error);
CI_API ci_status ci_state_blob(const ci_state *state, const char *name, const void **data, size_t *bytes,
                               ci_error *error);
CI_API ci_status ci_state_remove_blob(ci_state *state, const char *name, ci_error *error);
CI_API int ci_state_blob_count(const ci_state *state);
/* By number in the order of names, NULL past the last; the name lives as long as its blob. */
CI_API const char *ci_state_blob_name(const ci_state *state, int index);

/* ---- checkpoints: the same files as Python's Saver ---- */

/* `prefix` names the checkpoint: a folder that exists, then a name (schema/README.md). step < 0: none; model NULL:
 * without the graph file P.meta. A save is atomic: when the call returns CI_OK it is on the disk, after any failure
 * and at any crash the checkpoint that was there before is complete. Files that crashes have left under this prefix
 * go, those of other prefixes after an hour, temporary ones when they are older than the state, of prefixes that
 * differ in more than the number after the last '-' an hour later; files that any index of the folder names stay. A
 * folder that is missing is CI_NOT_FOUND, one that is not a folder or a loop of symbolic links CI_INVALID_ARGUMENT, a
 * full disk CI_RESOURCE_EXHAUSTED, any other refusal of the system CI_UNAVAILABLE, and the message names the file;
 * during a run CI_FAILED_PRECONDITION. */
CI_API ci_status ci_save(ci_state *state, const ci_model *model, const char *prefix, int64_t step, ci_error *error);
typedef struct ci_save_options {
  size_t size;
  int64_t step; /* -1 (default): none */
  uint64_t shard_bytes; /* how large a data file may become; 0 (default): there is one */
  /* older ones that the folder's file `checkpoint` lists are deleted, after this one is on the disk, except those with
   * a file P.keep or P.best next to them; 0 (default): none. The checkpoint that ci_restore_latest went on from counts
   * as listed if it has this one's name but for the number after the last '-': a kill may have kept it from the list.
   * A failing deletion is not an error: the checkpoint is left */
  int32_t max_to_keep;
  int32_t write_state; /* 1 (default): this one becomes the newest in the file `checkpoint`. 0: the file stays as it is
                          and nothing is deleted */
} ci_save_options;
CI_API ci_save_options ci_save_defaults(void);
CI_API ci_status ci_save_with(ci_state *state, const ci_model *model, const char *prefix,
                              const ci_save_options *options, ci_error *error);
/* Checks every byte first; a failure changes nothing: CI_NOT_FOUND no checkpoint, no folder, or variables of the state
 * that it lacks, CI_INVALID_ARGUMENT another element type or shape (the message names all that fit into it, with names
 * that are near), a blob with the name of a generator of the state, a path that leads to no file or through a loop of
 * symbolic links (files of checkpoints are none themselves), CI_DATA_LOSS damage, CI_UNIMPLEMENTED a newer format,
 * CI_UNAVAILABLE any other refusal of the system. Variables and generators that the state lacks are added; generators
 * that the checkpoint lacks stay; blobs and positions of iterators become those of the checkpoint. *step is -1 if it
 * was saved without; step may be NULL. */
CI_API ci_status ci_restore(ci_state *state, const char *prefix, int64_t *step, ci_error *error);
enum { /* differences that a partial restore accepts, added up */
       CI_PARTIAL_MISSING = 1, /* variables that the checkpoint lacks */
       CI_PARTIAL_DIFFERENT = 2 /* variables of which it has another element type or shape */
};
enum { /* when the numbers of a checkpoint are looked at; index and headers of data files always are */
       CI_VERIFY_FULL = 0, /* (default) every byte, and the graph file, before anything changes */
       /* The data files are mapped, nothing of them is copied or read, and a variable stays in its file until it is
        * assigned or the state closed. It is checked when it is first viewed, saved, or read by a run: damage is
        * CI_DATA_LOSS, which names variable and checkpoint, before any of its numbers is used; such a run has assigned
        * nothing, and a variable that is assigned before is not looked at. Read and checked at once are strings,
        * elements of less than a byte or not at a multiple of their size, and everything where files cannot be mapped
        * (Windows, big-endian machines). A save never changes a file, and one that is deleted stays until the
        * variables let it go; but a program that cuts a mapped file short, or writes into it, gets SIGBUS or other
        * numbers from the system. Use this for files that no process changes. */
       CI_VERIFY_LAZY = 1
};
typedef struct ci_restore_options {
  size_t size;
  uint32_t partial; /* CI_PARTIAL_...; 0 (default): these are errors */
  uint32_t verify; /* CI_VERIFY_... */
} ci_restore_options;
CI_API ci_restore_options ci_restore_defaults(void);
typedef struct ci_restored { /* the caller sets size, the library the rest */
  size_t size;
  int64_t step; /* -1: none */
  int32_t left_out; /* variables that a partial restore left as they were */
  char name[256]; /* the last part of the prefix; "": ci_restore_latest found no checkpoint */
} ci_restored;
/* options and restored may be NULL. */
CI_API ci_status ci_restore_with(ci_state *state, const char *prefix, const ci_restore_options *options,
                                 ci_restored *restored, ci_error *error);
/* The newest checkpoint of a folder: the one that its file `checkpoint` names, else the valid one of the highest step,
 * then of the latest time; one without a step comes before all that have one. CI_OK with an empty name when the folder
 * has none or does not exist, so that a program initialises and goes on; checkpoints of which none is complete are
 * CI_DATA_LOSS, a path that is not a folder or a loop of symbolic links CI_INVALID_ARGUMENT, an index that cannot be
 * read now CI_UNAVAILABLE and one of a newer format CI_UNIMPLEMENTED: it may be the newest. Another process may save
 * and delete there meanwhile. */
CI_API ci_status ci_restore_latest(ci_state *state, const char *folder, const ci_restore_options *options,
                                   ci_restored *restored, ci_error *error);

/* ---- sessions ---- */

typedef struct ci_host_call { /* one call of a function of the host's, valid until it returns */
  size_t size;
  const char *function; /* the name that the model has for it */
  int32_t input_count, output_count;
  const ci_tensor *inputs; /* views of the session's memory */
  const ci_info *outputs; /* the declared types; name is that of the function */
  void *kernel; /* the library's */
} ci_host_call;
/* Gives an output, each once: the elements and the text of strings are copied. A type or shape other than the declared
 * one is CI_INVALID_ARGUMENT; before the call begins and after it has returned CI_FAILED_PRECONDITION. */
CI_API ci_status ci_host_give(ci_host_call *call, int32_t output, const ci_tensor *value, ci_error *error);
/* During a call: the n-th of the calls that follow at once, n from 1 on, into `next`; 0 if there is none that does not
 * read results of those before it, waits for none and calls another function (`name` and `name/part` are one). A host
 * may begin it early; it is made in its turn all the same, and gives its outputs then. */
CI_API int ci_host_peek(const ci_host_call *call, int n, ci_host_call *next);
/* runs HostCall nodes; call NULL: a run that reaches one fails. ImageDecoder calls it, too: the functions
 * ai.onnx.ImageDecoder/RGB, .../BGR and .../Grayscale take the bytes of a file, uint8[n], and give a picture,
 * uint8[height, width, 3 or 1]. */
typedef struct ci_host {
  void *user;
  /* Called by the thread that runs the session, in the order of the nodes. It gives every output and returns CI_OK, or
   * fills `error`, which is never NULL, and returns its status. */
  ci_status (*call)(void *user, ci_host_call *call, ci_error *error);
} ci_host;
/* Threads of the host, for a session that starts none; run NULL: the session's. */
typedef struct ci_executor {
  void *user;
  /* Calls part(job, 0) ... part(job, parts - 1), each once, on any threads, at the same time or one after another, and
   * returns when all have returned; the thread that calls run may take parts, too. parts is at most the option
   * `threads`. A part waits for nothing. Called by the thread that runs the session. */
  void (*run)(void *user, int32_t parts, void (*part)(void *job, int32_t number), void *job);
} ci_executor;
typedef struct ci_session_options {
  size_t size;
  int32_t threads; /* 1 (default): never starts one. The bits do not depend on it. A session's own threads sleep while
                      nothing runs */
  ci_allocator allocator;
  ci_limits limits;
  ci_host host;
  ci_executor executor;
  /* nanoseconds that each call may take: ci_session_open, ci_reserve, ci_infer_outputs, ci_run, planning included. As
   * in ci_options; ci_session_set_deadline sets another one */
  uint64_t deadline;
  ci_interrupt interrupt;
} ci_session_options;
CI_API ci_session_options ci_session_defaults(void);
/* state NULL: a separate one, with the file's values. A failure leaves the state as it was. */
CI_API ci_status ci_session_open(ci_model *model, ci_state *state, const ci_session_options *options,
                                 ci_session **session, ci_error *error);
CI_API void ci_session_close(ci_session *session);
CI_API ci_state *ci_session_state(ci_session *session); /* borrowed */
/* Plans for these inputs (only dtype, rank and dims are looked at), so that runs of these shapes allocate nothing, but
 * for values whose shape only the run shows: it follows from numbers that are computed, or from more constant numbers
 * than a plan reads (32 KB, and 16 bytes for each byte of the file). */
CI_API ci_status ci_reserve(ci_session *session, int signature, const ci_tensor *inputs, int input_count,
                            ci_error *error);
/* The same, and fills in dtype, rank, dims and bytes of the outputs as a run with these inputs will give them; rank is
 * -1 where only the run shows. */
CI_API ci_status ci_infer_outputs(ci_session *session, int signature, const ci_tensor *inputs, int input_count,
                                  ci_tensor *outputs, int output_count, ci_error *error);
/* Runs a signature: inputs and outputs in its order, all of them. Large outputs are computed in the memory given for
 * them: after a failed run its content is undefined. It may be the memory of inputs, which are read first, but an
 * output that was borrowed from the run before must not be an input (CI_INVALID_ARGUMENT). The bytes of a CI_STRING
 * output are the session's until its next run or close, also where the ci_string elements are in the caller's memory.
 */
CI_API ci_status ci_run(ci_session *session, int signature, const ci_tensor *inputs, int input_count,
                        ci_tensor *outputs, int output_count, ci_error *error);
typedef struct ci_observer { /* is called at the steps of a run; step NULL: not */
  void *user;
  /* Called by the thread that runs the session: with NULL and 0 before the first step, with the name of its node, not
   * terminated, after each one of the root graph. */
  void (*step)(void *user, const char *name, size_t length);
} ci_observer;
CI_API void ci_session_observe(ci_session *session, ci_observer observer); /* from the next run on */
/* From any thread: the current ci_run, ci_reserve or ci_infer_outputs ends with CI_CANCELLED before it plans its next
 * node, or runs its next node or step of a loop. A node that has begun is not interrupted. Without such a call it does
 * nothing.
 */
CI_API void ci_cancel(ci_session *session);
/* From the next call on, each may take so many nanoseconds; 0: no end. It ends as if it were cancelled, with
 * CI_DEADLINE_EXCEEDED, one node or at most 16 short ones late. By the thread that uses the session. */
CI_API ci_status ci_session_set_deadline(ci_session *session, uint64_t nanoseconds, ci_error *error);
typedef struct ci_stats {
  size_t size;
  uint64_t runs;
  uint64_t plans; /* shapes planned */
  uint64_t arena_bytes; /* held for values */
  uint64_t allocations; /* calls of the allocator since open */
  uint64_t run_allocations; /* those of them that runs made for values whose shape only the run shows; runs of shapes
                               that were planned make no others */
  uint64_t handed_out; /* how often runs handed work to threads: a run on one thread takes no lock and calls the
                          system for nothing */
  uint64_t refits; /* how many of `plans` were older ones, fitted to new shapes */
} ci_stats;
CI_API void ci_session_stats(const ci_session *session, ci_stats *stats);

/* ---- library ---- */

CI_API uint32_t ci_version(void); /* major << 16 | minor << 8 | patch */
CI_API uint32_t ci_abi(void);
CI_API uint32_t ci_numerics(void);
CI_API const char *ci_isa_name(const ci_model *model); /* "avx512" */
CI_API int ci_isa_available(int32_t isa);
CI_API uint32_t ci_crc32c(uint32_t crc, const void *data, size_t bytes); /* start with crc 0 */

/* end cdef */

/* Older names, which the next version leaves out. */
CI_OLD_NAME("ci_infer_outputs")
CI_API ci_status ci_foresee(ci_session *session, int signature, const ci_tensor *inputs, int input_count,
                            ci_tensor *outputs, int output_count, ci_error *error);
CI_OLD_NAME("ci_state_alloc")
CI_API ci_status ci_state_room(ci_state *state, size_t bytes, void **data, ci_error *error);
CI_OLD_NAME("ci_state_free") CI_API void ci_state_room_free(ci_state *state, void *data, size_t bytes);
CI_OLD_NAME("ci_host_peek") CI_API int ci_host_ahead(const ci_host_call *call, int n, ci_host_call *next);

#ifdef __cplusplus
}
#endif
#endif
