/* lock.h - the lock of a state, for runner.c; see lock.c. */
#ifndef GRAPHIO_LOCK_H
#define GRAPHIO_LOCK_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030A0000
#endif
#include <Python.h>
#include <stdbool.h>

typedef struct graphio_lock graphio_lock;

extern PyType_Spec graphio_lock_spec; /* of the type Lock */

/* The object as a lock, borrowed; NULL: it is of another type. */
graphio_lock *graphio_lock_of(PyObject *object);

/* Both with the GIL held. False: an exception is set, and the lock was not taken, or is not this thread's. */
bool graphio_lock_acquire(graphio_lock *lock);
bool graphio_lock_release(graphio_lock *lock);

#endif
