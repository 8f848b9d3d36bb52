/* runner.c - a run from Python in one call: arrays to ci_tensor, ci_run without the GIL, results to new arrays.
 *
 * Next to cffi's wrappers of cinfer.h the module _native has two types: Runner, the plain way to run a signature, and
 * Bound, the same on fixed arrays. Both are for signatures whose inputs and outputs are tensors of types that numpy
 * itself has; the others take signature.py's way.
 *
 * Arrays are read and made through numpy's binary interface: the head of an array object and an entry of its table of
 * functions, whose order numpy promises for all of 2.x. The table tells its version: with another one, and for arrays
 * of other classes, __array_struct__ and numpy.empty serve, which take ten times as long. */
#include "lock.h"
#include <stddef.h>
#include <string.h>

#include "cinfer.h"

typedef struct array_interface { /* the struct that __array_struct__ shows */
  int two;
  int nd;
  char typekind;
  int itemsize;
  int flags;
  Py_ssize_t *shape;
  Py_ssize_t *strides;
  void *data;
} array_interface;
typedef struct array_object { /* the head of a numpy array */
  PyObject_HEAD char *data;
  int nd;
  Py_ssize_t *shape;
  Py_ssize_t *strides;
  PyObject *base;
  PyObject *dtype;
  int flags;
} array_object;
typedef PyObject *(*array_make_fn)(PyObject *type, PyObject *dtype, int nd, const Py_ssize_t *shape,
                                   const Py_ssize_t *strides, void *data, int flags, PyObject *like);
enum {
  ARRAY_CONTIGUOUS = 1,
  ARRAY_ALIGNED = 0x100,
  ARRAY_NATIVE = 0x200,
  ARRAY_WRITEABLE = 0x400,
  ARRAY_MAKE = 94, /* PyArray_NewFromDescr in the table */
  ARRAY_MAJOR = 2, /* the version that is known */
  RUNNER_FEW = 8,
  RUNNER_LARGE = 1 << 15 /* bytes of a result for which an array is made before the run, which writes into it */
};

typedef struct runner {
  PyObject_HEAD ci_session **session; /* *session is NULL once the model is closed */
  ci_error *error;
  int signature;
  Py_ssize_t inputs, outputs;
  int32_t *numbers;  /* the element types of the inputs, then of the outputs */
  PyObject **dtypes; /* numpy's objects for them, borrowed from: */
  PyObject *all_dtypes;
  PyObject *array, *empty; /* numpy.ndarray, numpy.empty */
  array_make_fn make; /* NULL: numpy's binary interface is not the one that is known */
  PyObject *lock_object; /* the state's */
  graphio_lock *lock; /* the same, or NULL: it is of another type */
  PyObject *help; /* the rest of the work: signature.py's Help */
  PyObject *struct_name; /* "__array_struct__" */
  bool large; /* the latest run had a result that is worth being made where the caller wants it */
} runner;

typedef struct bound {
  PyObject_HEAD runner *runner;
  PyObject *keep, *given; /* given: the list of outputs, or NULL: fresh ones */
  ci_tensor *tensors; /* as each call begins: inputs, then outputs; nothing writes to them */
} bound;

/* ---- arrays ---- */

static bool runner_type_is(int32_t dtype, char kind, int size) {
  switch (dtype) {
    case CI_FLOAT: return kind == 'f' && size == 4;
    case CI_DOUBLE: return kind == 'f' && size == 8;
    case CI_FLOAT16: return kind == 'f' && size == 2;
    case CI_INT8: return kind == 'i' && size == 1;
    case CI_INT16: return kind == 'i' && size == 2;
    case CI_INT32: return kind == 'i' && size == 4;
    case CI_INT64: return kind == 'i' && size == 8;
    case CI_UINT8: return kind == 'u' && size == 1;
    case CI_UINT16: return kind == 'u' && size == 2;
    case CI_UINT32: return kind == 'u' && size == 4;
    case CI_UINT64: return kind == 'u' && size == 8;
    case CI_BOOL: return kind == 'b' && size == 1;
    case CI_COMPLEX64: return kind == 'c' && size == 8;
    case CI_COMPLEX128: return kind == 'c' && size == 16;
    default: return false;
  }
}

static void runner_point(ci_tensor *tensor, int32_t number, void *data, size_t item, int nd, const Py_ssize_t *shape) {
  size_t bytes = item;
  for (int d = 0; d < nd; d++) {
    tensor->dims[d] = shape[d];
    bytes *= (size_t)shape[d]; /* numpy has seen to it that this fits */
  }
  tensor->data = data;
  tensor->bytes = bytes;
  tensor->dtype = number;
  tensor->rank = nd;
}

/* Makes a ci_tensor a view of an array. False: it is none that can be viewed; no error is set then. */
static bool runner_view_any(const runner *r, PyObject *array, int32_t number, int flags, ci_tensor *tensor) {
  if (!PyObject_TypeCheck(array, (PyTypeObject *)r->array)) return false;
  PyObject *capsule = PyObject_GetAttr(array, r->struct_name);
  const array_interface *a = capsule == NULL ? NULL : PyCapsule_GetPointer(capsule, NULL);
  bool fits = a != NULL && a->two == 2 && (a->flags & flags) == flags && a->nd <= CI_MAX_RANK &&
              (a->flags & ARRAY_NATIVE) != 0 && runner_type_is(number, a->typekind, a->itemsize);
  if (a == NULL) PyErr_Clear();
  if (fits) runner_point(tensor, number, a->data, (size_t)a->itemsize, a->nd, a->shape);
  Py_XDECREF(capsule);
  return fits;
}

static bool runner_view(const runner *r, PyObject *array, Py_ssize_t i, int flags, ci_tensor *tensor) {
  const array_object *a = (const array_object *)array;
  const bool plain = r->make != NULL && (PyObject *)Py_TYPE(array) == r->array && a->dtype == r->dtypes[i] &&
                     (a->flags & flags) == flags && a->nd <= CI_MAX_RANK;
  if (!plain) return runner_view_any(r, array, r->numbers[i], flags, tensor);
  runner_point(tensor, r->numbers[i], a->data, ci_dtype_size(r->numbers[i]), a->nd, a->shape);
  return true;
}

/* Calls a method of the help that raises; true if it did. */
static bool runner_raised(const runner *r, const char *method, Py_ssize_t i, PyObject *value) {
  PyObject *none = PyObject_CallMethod(r->help, method, "nO", i, value);
  if (none == NULL) return true;
  Py_DECREF(none);
  PyErr_SetString(PyExc_ValueError, "an array changed while it was looked at");
  return true;
}

static bool runner_is_list(PyObject *values) { return PyList_CheckExact(values) || PyList_Check(values); }

/* An array is the only one of itself, else values are a list or tuple. */
static bool runner_one(const runner *r, PyObject *values, Py_ssize_t expected) {
  return expected == 1 && !PyList_CheckExact(values) && PyObject_TypeCheck(values, (PyTypeObject *)r->array);
}

static PyObject *runner_item(PyObject *values, Py_ssize_t i) {
  PyObject *item = runner_is_list(values) ? PyList_GetItem(values, i) : PyTuple_GetItem(values, i);
  Py_XINCREF(item);
  return item;
}

static bool runner_take(const runner *r, PyObject *values, bool are_inputs, PyObject **held, ci_tensor *tensors) {
  const Py_ssize_t expected = are_inputs ? r->inputs : r->outputs;
  const Py_ssize_t first = are_inputs ? 0 : r->inputs;
  const int flags = ARRAY_CONTIGUOUS | ARRAY_ALIGNED | (are_inputs ? 0 : ARRAY_WRITEABLE);
  const bool one = runner_one(r, values, expected);
  const Py_ssize_t count = one ? 1 : runner_is_list(values) ? PyList_Size(values) : PyTuple_Size(values);
  if (count != expected) return !runner_raised(r, are_inputs ? "wrong_inputs" : "wrong_outputs", count, values);
  for (Py_ssize_t i = 0; i < expected; i++) {
    held[i] = one ? values : runner_item(values, i);
    if (one) Py_INCREF(values);
    if (held[i] == NULL) return false;
    if (runner_view(r, held[i], first + i, flags, &tensors[i])) continue;
    return !runner_raised(r, are_inputs ? "wrong_input" : "wrong_output", i, held[i]);
  }
  return true;
}

/* ---- results ---- */

static PyObject *runner_empty(const runner *r, PyObject *dtype, int nd, const Py_ssize_t *dims) {
  if (r->make != NULL) {
    Py_INCREF(dtype); /* which the call takes */
    return r->make(r->array, dtype, nd, dims, NULL, NULL, 0, NULL);
  }
  PyObject *shape = PyTuple_New(nd), *array = NULL;
  for (int d = 0; shape != NULL && d < nd; d++) {
    PyObject *dim = PyLong_FromSsize_t(dims[d]);
    if (dim == NULL) Py_CLEAR(shape);
    else PyTuple_SetItem(shape, d, dim);
  }
  if (shape != NULL) array = PyObject_CallFunctionObjArgs(r->empty, shape, dtype, NULL);
  Py_XDECREF(shape);
  return array;
}

/* The memory of the elements of an array that was just made; NULL: the array has another type or shape. */
static void *runner_elements(const runner *r, PyObject *array, Py_ssize_t i, size_t bytes) {
  ci_tensor made;
  if (r->make != NULL) return ((const array_object *)array)->data;
  return runner_view(r, array, r->inputs + i, ARRAY_CONTIGUOUS, &made) && made.bytes == bytes ? made.data : NULL;
}

/* A new array with what C lends, whose type is another one where a file says what is not so. */
static PyObject *runner_copy(const runner *r, Py_ssize_t i, const ci_tensor *tensor) {
  if (tensor->dtype != r->numbers[r->inputs + i])
    return PyObject_CallMethod(r->help, "other_type", "n", (Py_ssize_t)(uintptr_t)tensor);
  Py_ssize_t dims[CI_MAX_RANK];
  size_t bytes = ci_dtype_size(tensor->dtype);
  for (int32_t d = 0; d < tensor->rank; d++) {
    dims[d] = (Py_ssize_t)tensor->dims[d];
    bytes *= (size_t)dims[d];
  }
  PyObject *array = runner_empty(r, r->dtypes[r->inputs + i], tensor->rank, dims);
  if (array == NULL) return NULL;
  void *target = bytes == tensor->bytes ? runner_elements(r, array, i, bytes) : NULL;
  if (target == NULL) {
    PyErr_SetString(PyExc_SystemError, "numpy made another array than was requested");
    Py_CLEAR(array);
  } else if (bytes > 0) {
    memcpy(target, tensor->data, bytes);
  }
  return array;
}

/* The arrays of which there are some in `made` already, or none at all. */
static PyObject *runner_copies(runner *r, ci_tensor *outputs, PyObject *made) {
  PyObject *list = made == NULL ? PyList_New(r->outputs) : made;
  if (made != NULL) Py_INCREF(made);
  r->large = false;
  for (Py_ssize_t i = 0; list != NULL && i < r->outputs; i++) {
    r->large = r->large || outputs[i].bytes >= RUNNER_LARGE;
    if (made != NULL && PyList_GetItem(made, i) != Py_None) continue;
    PyObject *array = runner_copy(r, i, &outputs[i]);
    if (array == NULL) Py_CLEAR(list);
    else PyList_SetItem(list, i, array);
  }
  return list;
}

/* A list of arrays for the large results whose shapes are known before the run, and None for the others. NULL without
 * an error: nothing is known, the run will say why. */
static PyObject *runner_infer(const runner *r, const ci_tensor *inputs, ci_tensor *outputs) {
  PyThreadState *thread = PyEval_SaveThread();
  const ci_status status =
      ci_infer_outputs(*r->session, r->signature, inputs, (int)r->inputs, outputs, (int)r->outputs, NULL);
  PyEval_RestoreThread(thread);
  PyObject *list = status == CI_OK ? PyList_New(r->outputs) : NULL;
  for (Py_ssize_t i = 0; i < r->outputs; i++) {
    Py_ssize_t dims[CI_MAX_RANK];
    PyObject *array = Py_None;
    outputs[i].data = NULL;
    if (list == NULL) continue;
    if (outputs[i].rank >= 0 && outputs[i].bytes >= RUNNER_LARGE && outputs[i].dtype == r->numbers[r->inputs + i]) {
      for (int32_t d = 0; d < outputs[i].rank; d++) dims[d] = (Py_ssize_t)outputs[i].dims[d];
      array = runner_empty(r, r->dtypes[r->inputs + i], outputs[i].rank, dims);
    } else {
      Py_INCREF(array);
    }
    if (array != NULL && array != Py_None) (void)runner_view(r, array, r->inputs + i, ARRAY_CONTIGUOUS, &outputs[i]);
    if (array == NULL) Py_CLEAR(list);
    else PyList_SetItem(list, i, array);
  }
  return list;
}

static PyObject *runner_list(PyObject *const *arrays, Py_ssize_t count) {
  PyObject *list = PyList_New(count);
  for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
    Py_INCREF(arrays[i]);
    PyList_SetItem(list, i, arrays[i]);
  }
  return list;
}

/* ---- a run ---- */

static bool runner_called(PyObject *object, const char *method) {
  PyObject *result = PyObject_CallMethod(object, method, NULL);
  Py_XDECREF(result);
  return result != NULL;
}

static bool runner_acquire(const runner *r) {
  return r->lock != NULL ? graphio_lock_acquire(r->lock) : runner_called(r->lock_object, "acquire");
}

static bool runner_release(const runner *r) {
  return r->lock != NULL ? graphio_lock_release(r->lock) : runner_called(r->lock_object, "release");
}

/* The run itself, with the lock held. */
static bool runner_go(const runner *r, const ci_tensor *inputs, ci_tensor *outputs) {
  ci_session *session = *r->session;
  ci_status status = CI_CANCELLED;
  if (session != NULL) {
    PyThreadState *thread = PyEval_SaveThread();
    status = ci_run(session, r->signature, inputs, (int)r->inputs, outputs, (int)r->outputs, r->error);
    PyEval_RestoreThread(thread);
  }
  if (session != NULL && status == CI_OK) return true;
  PyObject *error = PyObject_CallMethod(r->help, "failed", "ni", (Py_ssize_t)(session != NULL), (int)status);
  if (error != NULL) PyErr_SetObject((PyObject *)Py_TYPE(error), error);
  Py_XDECREF(error);
  return false;
}

/* Runs; gives back `given`, a list that is filled already, or a list of new arrays. Steals nothing. */
static PyObject *runner_locked(runner *r, const ci_tensor *inputs, ci_tensor *outputs, PyObject *given) {
  PyObject *result = NULL, *made = NULL;
  if (!runner_acquire(r)) return NULL;
  const bool inferred = given == NULL && r->large && *r->session != NULL;
  if (inferred) made = runner_infer(r, inputs, outputs);
  if ((!inferred || PyErr_Occurred() == NULL) && runner_go(r, inputs, outputs)) {
    result = given == NULL ? runner_copies(r, outputs, made) : given;
    if (given != NULL) Py_INCREF(given);
  }
  Py_XDECREF(made);
  if (result != NULL) {
    if (!runner_release(r)) Py_CLEAR(result);
    return result;
  }
  PyObject *type, *value, *trace; /* the lock is given back while an exception is set */
  PyErr_Fetch(&type, &value, &trace);
  if (!runner_release(r)) PyErr_Clear();
  PyErr_Restore(type, value, trace);
  return NULL;
}

/* An array that the caller gave has the shape of its result; raises where it has not. */
static bool runner_shape_agrees(const runner *r, Py_ssize_t i, const ci_tensor *array, const ci_tensor *result,
                                PyObject *given) {
  if (array->rank == result->rank && memcmp(array->dims, result->dims, (size_t)array->rank * sizeof *array->dims) == 0)
    return true;
  PyObject *none = PyObject_CallMethod(r->help, "wrong_shape", "nnO", i, (Py_ssize_t)(uintptr_t)result, given);
  Py_XDECREF(none);
  return none != NULL;
}

/* Outputs that the caller gave have the shapes of the results. */
static bool runner_shapes_agree(const runner *r, const ci_tensor *outputs, PyObject *const *given) {
  for (Py_ssize_t i = 0; i < r->outputs; i++) {
    ci_tensor array;
    if (!runner_view(r, given[i], r->inputs + i, ARRAY_CONTIGUOUS, &array)) continue;
    if (!runner_shape_agrees(r, i, &array, &outputs[i], given[i])) return false;
  }
  return true;
}

static PyObject *runner_arrays(runner *r, PyObject *inputs, PyObject *out, PyObject **held, ci_tensor *tensors) {
  PyObject *given = NULL, *result = NULL;
  if (!runner_take(r, inputs, true, held, tensors)) return NULL;
  if (out == NULL) {
    for (Py_ssize_t i = 0; i < r->outputs; i++) tensors[r->inputs + i].data = NULL;
  } else {
    if (!runner_take(r, out, false, held + r->inputs, tensors + r->inputs)) return NULL;
    given = runner_list(held + r->inputs, r->outputs);
    if (given == NULL) return NULL;
  }
  result = runner_locked(r, tensors, tensors + r->inputs, given);
  if (result != NULL && given != NULL && !runner_shapes_agree(r, tensors + r->inputs, held + r->inputs))
    Py_CLEAR(result);
  Py_XDECREF(given);
  return result;
}

static PyObject *runner_call(runner *r, PyObject *inputs, PyObject *out) {
  const size_t count = (size_t)(r->inputs + r->outputs);
  ci_tensor few[RUNNER_FEW], *tensors = few;
  PyObject *held_few[RUNNER_FEW], **held = held_few;
  if (count > RUNNER_FEW) {
    tensors = PyMem_Malloc(count * sizeof *tensors);
    held = PyMem_Malloc(count * sizeof *held);
  }
  PyObject *result = NULL;
  if (tensors != NULL && held != NULL) {
    for (size_t i = 0; i < count; i++) held[i] = NULL;
    result = runner_arrays(r, inputs, out, held, tensors);
    for (size_t i = 0; i < count; i++) Py_XDECREF(held[i]);
  } else {
    PyErr_NoMemory();
  }
  if (tensors != few) PyMem_Free(tensors);
  if (held != held_few) PyMem_Free(held);
  return result;
}

/* A new reference to values, made a tuple unless they are what can be looked at. */
static PyObject *runner_values(const runner *r, PyObject *values, Py_ssize_t expected) {
  if (!runner_is_list(values) && !PyTuple_Check(values) && !runner_one(r, values, expected))
    return PySequence_Tuple(values);
  Py_INCREF(values);
  return values;
}

static PyObject *runner_run(PyObject *self, PyObject *const *given, Py_ssize_t count, PyObject *names) {
  PyObject *values[2] = {NULL, NULL};
  const Py_ssize_t named = names == NULL ? 0 : PyTuple_Size(names);
  bool fits = count <= 2;
  for (Py_ssize_t i = 0; fits && i < count; i++) values[i] = given[i];
  for (Py_ssize_t i = 0; fits && i < named; i++) {
    PyObject *name = PyTuple_GetItem(names, i);
    int which = PyUnicode_CompareWithASCIIString(name, "out") == 0      ? 1
                : PyUnicode_CompareWithASCIIString(name, "inputs") == 0 ? 0
                                                                        : -1;
    fits = which >= 0 && values[which] == NULL;
    if (fits) values[which] = given[count + i];
  }
  if (!fits || values[0] == NULL) {
    PyErr_SetString(PyExc_TypeError, "run() takes `inputs` and, if results shall go into arrays, `out`");
    return NULL;
  }
  runner *r = (runner *)self;
  if (r->help == NULL) return PyErr_Format(PyExc_TypeError, "this Runner was not made");
  const bool fresh = values[1] == NULL || values[1] == Py_None;
  PyObject *inputs = runner_values(r, values[0], r->inputs);
  PyObject *out = inputs == NULL || fresh ? NULL : runner_values(r, values[1], r->outputs);
  PyObject *result = inputs != NULL && (fresh || out != NULL) ? runner_call(r, inputs, out) : NULL;
  Py_XDECREF(inputs);
  Py_XDECREF(out);
  return result;
}

/* ---- on fixed arrays ---- */

static bool bound_shapes_agree(const bound *b, const ci_tensor *outputs) {
  const ci_tensor *arrays = b->tensors + b->runner->inputs;
  for (Py_ssize_t i = 0; i < b->runner->outputs; i++)
    if (!runner_shape_agrees(b->runner, i, &arrays[i], &outputs[i], PyList_GetItem(b->given, i))) return false;
  return true;
}

static PyObject *bound_run(PyObject *self, PyObject *unused) {
  const bound *b = (bound *)self;
  const size_t count = (size_t)b->runner->outputs;
  ci_tensor few[RUNNER_FEW], *outputs = count > RUNNER_FEW ? PyMem_Malloc(count * sizeof *outputs) : few;
  (void)unused;
  if (outputs == NULL) return PyErr_NoMemory();
  for (size_t i = 0; i < count; i++) /* the run fills in the dims, of which most are never used */
    memcpy(&outputs[i], &b->tensors[(size_t)b->runner->inputs + i], offsetof(ci_tensor, dims));
  PyObject *result = runner_locked(b->runner, b->tensors, outputs, b->given);
  if (result != NULL && b->given != NULL && !bound_shapes_agree(b, outputs)) Py_CLEAR(result);
  if (outputs != few) PyMem_Free(outputs);
  return result;
}

static void bound_free(PyObject *self) {
  bound *b = (bound *)self;
  PyTypeObject *type = Py_TYPE(self);
  Py_XDECREF((PyObject *)b->runner);
  Py_XDECREF(b->keep);
  Py_XDECREF(b->given);
  PyMem_Free(b->tensors);
  PyObject_Free(self);
  Py_DECREF((PyObject *)type);
}

/* bind(type, tensors, keep, given): tensors is the address of ci_tensors, which are copied. */
static PyObject *runner_bind(PyObject *self, PyObject *arguments) {
  runner *r = (runner *)self;
  PyObject *type, *keep, *given;
  Py_ssize_t address;
  if (r->help == NULL || !PyArg_ParseTuple(arguments, "O!nOO", &PyType_Type, &type, &address, &keep, &given))
    return NULL;
  PyObject *made = PyType_GenericNew((PyTypeObject *)type, NULL, NULL);
  bound *b = (bound *)made;
  if (made == NULL) return NULL;
  const size_t bytes = (size_t)(r->inputs + r->outputs) * sizeof *b->tensors;
  b->tensors = PyMem_Malloc(bytes);
  if (b->tensors == NULL) {
    Py_DECREF(made);
    return PyErr_NoMemory();
  }
  memcpy(b->tensors, (const void *)(uintptr_t)address, bytes);
  Py_INCREF(self);
  Py_INCREF(keep);
  b->runner = r;
  b->keep = keep;
  if (given != Py_None) {
    Py_INCREF(given);
    b->given = given;
  }
  return made;
}

/* ---- the types ---- */

static void runner_free(PyObject *self) {
  runner *r = (runner *)self;
  PyTypeObject *type = Py_TYPE(self);
  PyMem_Free(r->numbers);
  PyMem_Free(r->dtypes);
  Py_XDECREF(r->array);
  Py_XDECREF(r->empty);
  Py_XDECREF(r->all_dtypes);
  Py_XDECREF(r->lock_object);
  Py_XDECREF(r->help);
  Py_XDECREF(r->struct_name);
  PyObject_Free(self);
  Py_DECREF((PyObject *)type);
}

static bool runner_types(runner *r, PyObject *numbers) {
  const Py_ssize_t count = PyTuple_Size(numbers);
  r->numbers = PyMem_Calloc((size_t)count + 1, sizeof *r->numbers);
  r->dtypes = PyMem_Calloc((size_t)count + 1, sizeof *r->dtypes);
  if (r->numbers == NULL || r->dtypes == NULL) {
    PyErr_NoMemory();
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    r->numbers[i] = (int32_t)PyLong_AsLong(PyTuple_GetItem(numbers, i));
    r->dtypes[i] = PyTuple_GetItem(r->all_dtypes, i);
  }
  return PyErr_Occurred() == NULL;
}

/* numpy's table of functions as a capsule, or None. */
static void runner_numpy(runner *r, PyObject *capsule) {
  void **table = PyCapsule_CheckExact(capsule) ? PyCapsule_GetPointer(capsule, NULL) : NULL;
  if (table == NULL) {
    PyErr_Clear();
    return;
  }
  unsigned (*version)(void);
  memcpy(&version, &table[0], sizeof version);
  if (version() >> 24 == ARRAY_MAJOR) memcpy(&r->make, &table[ARRAY_MAKE], sizeof r->make);
}

/* Runner(help, lock, numpy, table, session, error, signature, outputs, numbers, dtypes): numpy's table; addresses of a
 * ci_session * and of a ci_error; the element types of inputs and outputs, ours and numpy's. */
static int runner_fill(PyObject *self, PyObject *arguments, PyObject *names) {
  runner *r = (runner *)self;
  PyObject *help, *lock, *numpy, *table, *numbers, *dtypes;
  Py_ssize_t session, error, outputs;
  int signature;
  if (names != NULL || r->help != NULL) {
    PyErr_SetString(PyExc_TypeError, "a Runner is made once");
    return -1;
  }
  if (!PyArg_ParseTuple(arguments, "OOOOnninO!O!", &help, &lock, &numpy, &table, &session, &error, &signature, &outputs,
                        &PyTuple_Type, &numbers, &PyTuple_Type, &dtypes))
    return -1;
  r->outputs = outputs;
  r->inputs = PyTuple_Size(numbers) - outputs;
  r->signature = signature;
  r->session = (ci_session **)(uintptr_t)session;
  r->error = (ci_error *)(uintptr_t)error;
  r->array = PyObject_GetAttrString(numpy, "ndarray");
  r->empty = PyObject_GetAttrString(numpy, "empty");
  r->struct_name = PyUnicode_InternFromString("__array_struct__");
  Py_INCREF(lock);
  r->lock_object = lock;
  r->lock = graphio_lock_of(lock);
  Py_INCREF(dtypes);
  r->all_dtypes = dtypes;
  if (r->array == NULL || r->empty == NULL || r->struct_name == NULL || !runner_types(r, numbers)) return -1;
  runner_numpy(r, table);
  Py_INCREF(help);
  r->help = help; /* last: from now on it is complete */
  return 0;
}

static PyMethodDef runner_methods[] = {
    {"run", (PyCFunction)(void (*)(void))runner_run, METH_FASTCALL | METH_KEYWORDS,
     "run(inputs, out=None)\n--\n\nRuns in the signature's order: see Signature.run of graphio.cinfer.signature."},
    {"bind", runner_bind, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};
static PyType_Slot runner_slots[] = {{Py_tp_new, (void *)PyType_GenericNew},
                                     {Py_tp_init, (void *)runner_fill},
                                     {Py_tp_dealloc, (void *)runner_free},
                                     {Py_tp_methods, runner_methods},
                                     {0, NULL}};
static PyType_Spec runner_spec = {"graphio.cinfer._native.Runner", sizeof(runner), 0, Py_TPFLAGS_DEFAULT, runner_slots};

static PyMethodDef bound_methods[] = {{"run", bound_run, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyType_Slot bound_slots[] = {{Py_tp_dealloc, (void *)bound_free}, {Py_tp_methods, bound_methods}, {0, NULL}};
static PyType_Spec bound_spec = {"graphio.cinfer._native.Bound", sizeof(bound), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, bound_slots};

PyObject *graphio_cffi_init(void); /* PyInit__native of cffi, renamed */

static bool runner_add_type(PyObject *module, const char *name, PyType_Spec *spec) {
  PyObject *type = PyType_FromSpec(spec);
  const bool added = type != NULL && PyObject_SetAttrString(module, name, type) == 0;
  Py_XDECREF(type);
  return added;
}

PyMODINIT_FUNC PyInit__native(void) {
  PyObject *module = graphio_cffi_init();
  if (module == NULL) return NULL;
  if (runner_add_type(module, "Lock", &graphio_lock_spec) && runner_add_type(module, "Runner", &runner_spec) &&
      runner_add_type(module, "Bound", &bound_spec))
    return module;
  Py_DECREF(module);
  return NULL;
}
