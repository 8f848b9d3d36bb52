/* lock.c - the lock of a state: what threading.RLock does, and runner.c takes it without a call of Python.
 *
 * The GIL guards all that is in it, so a free lock is taken and given back without an atomic instruction or a look at
 * the clock. Threads that must wait do so without the GIL at two locks of the system. The first of them holds `queue`,
 * where the others are, and waits at `gate`, which is shut; who gives the lock back opens it. Until the first one runs
 * others may overtake it, which saves a change of threads for each run, but not for ever: they too queue up when that
 * was often, or when the first one has passed the gate in vain. */
#include "lock.h"
#ifdef HAVE_FORK
#include <unistd.h>
#endif

enum { LOCK_OFTEN = 100 };

struct graphio_lock {
  PyObject_HEAD unsigned long owner; /* a thread, where count > 0 */
  Py_ssize_t count;                  /* how often the owner has it */
  bool first;                        /* there is one that has the queue */
  bool open;                         /* the gate, until one has passed */
  int overtaken;                     /* the first one, so often */
  long process;                      /* that made the gate and the queue */
  PyThread_type_lock gate, queue;    /* NULL: no thread has waited yet */
};

/* ---- without waiting ---- */

static bool lock_take(graphio_lock *lock, bool as_first) {
  const unsigned long thread = PyThread_get_thread_ident();
  if (lock->count > 0 ? lock->owner != thread : lock->first && !as_first && lock->overtaken >= LOCK_OFTEN) return false;
  if (lock->count++ == 0) lock->overtaken = lock->first && !as_first ? lock->overtaken + 1 : 0;
  lock->owner = thread;
  return true;
}

static long lock_process(void) {
#ifdef HAVE_FORK
  return (long)getpid();
#else
  return 0;
#endif
}

bool graphio_lock_release(graphio_lock *lock) {
  if (lock->count == 0 || lock->owner != PyThread_get_thread_ident()) {
    PyErr_SetString(PyExc_RuntimeError, "cannot release un-acquired lock");
    return false;
  }
  if (--lock->count == 0 && lock->first && !lock->open && lock->process == lock_process()) {
    lock->open = true;
    PyThread_release_lock(lock->gate);
  }
  return true;
}

/* ---- waiting ---- */

static void lock_drop(PyThread_type_lock lock) {
  if (lock != NULL) PyThread_free_lock(lock);
}

/* Sees to it that there are a gate and a queue, and whether they are new. In the child of a fork the threads that
 * waited are gone, and how they left both cannot be known: they are left behind, as Python leaves its own locks. */
static bool lock_has_gate(graphio_lock *lock, bool *is_new) {
  *is_new = lock->gate == NULL || lock->process != lock_process();
  if (!*is_new) return true;
  PyThread_type_lock gate = PyThread_allocate_lock(), queue = PyThread_allocate_lock();
  if (gate == NULL || queue == NULL) {
    lock_drop(gate);
    lock_drop(queue);
    PyErr_NoMemory();
    return false;
  }
  (void)PyThread_acquire_lock(gate, NOWAIT_LOCK);
  lock->gate = gate;
  lock->queue = queue;
  lock->process = lock_process();
  lock->first = lock->open = false;
  lock->overtaken = 0;
  return true;
}

static bool lock_now(double *seconds) {
  PyObject *time = PyImport_ImportModule("time");
  PyObject *now = time == NULL ? NULL : PyObject_CallMethod(time, "monotonic", NULL);
  *seconds = now == NULL ? 0 : PyFloat_AsDouble(now);
  Py_XDECREF(time);
  Py_XDECREF(now);
  return now != NULL;
}

/* Waits for a lock of the system, at most so many seconds; a negative number: for ever. */
static PyLockStatus lock_sleep(PyThread_type_lock lock, double seconds) {
  const double most = 1000; /* in one piece; who calls this looks at the clock */
  const long long microseconds = seconds < 0 ? -1 : (long long)((seconds < most ? seconds : most) * 1e6) + 1;
  PyLockStatus status;
  Py_BEGIN_ALLOW_THREADS;
  status = PyThread_acquire_lock_timed(lock, microseconds, 1);
  Py_END_ALLOW_THREADS;
  return status;
}

/* The gate was passed, or the queue is this thread's. */
static void lock_called(graphio_lock *lock, bool *first) {
  if (*first) {
    lock->open = false;
    if (lock->count > 0) lock->overtaken = LOCK_OFTEN;
  }
  *first = lock->first = true;
}

/* 1: taken, 0: it is late, -1: an exception. Between its look at the lock and the gate the first one keeps the GIL, or
 * it would miss a call; the thread of that call alone uses it. */
static int lock_wait_as(graphio_lock *lock, double seconds, bool *first) {
  double now = 0, end = 0;
  if (seconds > 0 && !lock_now(&end)) return -1;
  for (end += seconds;;) {
    bool is_new;
    if (!lock_has_gate(lock, &is_new) || (seconds > 0 && !lock_now(&now))) return -1;
    if (is_new) *first = false;
    if (lock_take(lock, *first)) return 1;
    if (seconds >= 0 && now >= end) return 0;
    const PyLockStatus status = lock_sleep(*first ? lock->gate : lock->queue, seconds < 0 ? -1 : end - now);
    if (status == PY_LOCK_ACQUIRED) lock_called(lock, first);
    if (status == PY_LOCK_INTR && Py_MakePendingCalls() < 0) return -1;
  }
}

static int lock_wait(graphio_lock *lock, double seconds) {
  bool first = false;
  const int taken = lock_wait_as(lock, seconds, &first);
  if (first && lock->process == lock_process()) {
    lock->first = false;
    PyThread_release_lock(lock->queue);
  }
  return taken;
}

bool graphio_lock_acquire(graphio_lock *lock) { return lock_take(lock, false) || lock_wait(lock, -1) > 0; }

/* ---- the type ---- */

static PyObject *lock_acquire(PyObject *self, PyObject *arguments, PyObject *names) {
  static char *known[] = {"blocking", "timeout", NULL};
  graphio_lock *lock = (graphio_lock *)self;
  int blocking = 1;
  double timeout = -1;
  if (!PyArg_ParseTupleAndKeywords(arguments, names, "|pd:acquire", known, &blocking, &timeout)) return NULL;
  if (timeout != -1 && (!blocking || !(timeout >= 0))) {
    PyErr_SetString(PyExc_ValueError,
                    blocking ? "timeout is neither -1 nor a number of seconds" : "who does not wait has no timeout");
    return NULL;
  }
  const int taken = lock_take(lock, false) ? 1 : lock_wait(lock, blocking ? timeout : 0);
  return taken < 0 ? NULL : PyBool_FromLong(taken);
}

static PyObject *lock_enter(PyObject *self, PyObject *unused) {
  (void)unused;
  return graphio_lock_acquire((graphio_lock *)self) ? PyBool_FromLong(1) : NULL;
}

static PyObject *lock_release(PyObject *self, PyObject *unused) {
  (void)unused;
  if (!graphio_lock_release((graphio_lock *)self)) return NULL;
  Py_INCREF(Py_None);
  return Py_None;
}

static PyObject *lock_exit(PyObject *self, PyObject *const *unused, Py_ssize_t count) {
  (void)unused;
  (void)count;
  return lock_release(self, NULL);
}

static void lock_free(PyObject *self) {
  graphio_lock *lock = (graphio_lock *)self;
  PyTypeObject *type = Py_TYPE(self);
  if (lock->gate != NULL && lock->process == lock_process()) {
    if (!lock->open) PyThread_release_lock(lock->gate); /* not every system frees one that is shut */
    lock_drop(lock->gate);
    lock_drop(lock->queue);
  }
  PyObject_Free(self);
  Py_DECREF((PyObject *)type);
}

/* There is no type below this one, and nothing else is freed so. */
graphio_lock *graphio_lock_of(PyObject *object) {
  const bool is_lock = PyType_GetSlot(Py_TYPE(object), Py_tp_dealloc) == (void *)lock_free;
  return is_lock ? (graphio_lock *)object : NULL;
}

static PyMethodDef lock_methods[] = {
    {"acquire", (PyCFunction)(void (*)(void))lock_acquire, METH_VARARGS | METH_KEYWORDS,
     "acquire(blocking=True, timeout=-1)\n--\n\nTakes the lock; False if that takes longer than timeout."},
    {"release", lock_release, METH_NOARGS, "release()\n--\n\nGives it back."},
    {"__enter__", lock_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))lock_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL}};
static PyType_Slot lock_slots[] = {{Py_tp_new, (void *)PyType_GenericNew},
                                   {Py_tp_dealloc, (void *)lock_free},
                                   {Py_tp_methods, lock_methods},
                                   {Py_tp_doc, (void *)"A lock that its owner may take again; the GIL guards it."},
                                   {0, NULL}};
PyType_Spec graphio_lock_spec = {"graphio.cinfer._native.Lock", sizeof(graphio_lock), 0, Py_TPFLAGS_DEFAULT,
                                 lock_slots};
