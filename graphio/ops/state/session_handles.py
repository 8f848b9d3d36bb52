"""Handles of tensors that a session keeps from one run to later ones."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from graphio.engine.pickling import Unpicklable
from graphio.framework import dtypes
from graphio.framework.constants import placeholder
from graphio.framework.dtypes import DType
from graphio.framework.graph import Operation, Tensor
from graphio.framework.graph_state.attachments import Attachment, table
from graphio.framework.scopes import colocate_with
from graphio.framework.tensor_shape import TensorShape
from graphio.framework.undo import Table
from graphio.ops.base.host import host_call
from graphio.ops.base.waiting import resources_of
from graphio.support import api_guard, errors

__all__ = [
    "HANDLED_DTYPES", "TensorHandle", "delete_session_tensor", "get_session_handle",
    "get_session_tensor",
]  # fmt: skip

Array = np.ndarray[Any, Any]
#: operations that give a handle: the dtype of the tensor that it stands for
HANDLED_DTYPES: Attachment[Table[Operation, DType]] = table("handled_dtypes")
#: a graph's operations for TensorHandle: readers by dtype, and under None the one that deletes
_OF_HANDLES: Attachment[Table[DType | None, tuple[Tensor, Any]]] = table("operations_of_handles")
_DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


class _Store:
    """The tensors that a session keeps, by handle."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, Array] = {}
        self._made = 0

    def keep(self, operation: str, value: Array) -> str:
        """Keeps a tensor; returns its handle: "operation;number;device"."""
        with self._lock:
            handle = f"{operation};{self._made};{_DEVICE}"
            self._made += 1
            self._kept[handle] = value
        return handle

    def find(self, handle: str) -> Array:
        """The tensor of a handle.

        Raises:
            InvalidArgumentError: there is none.
        """
        found = self._kept.get(handle)
        if found is None:
            raise errors.InvalidArgumentError(
                message=f"The tensor with handle '{handle}' is not in the session store."
            )
        return found

    def forget(self, handle: str) -> bool:
        """Drops a tensor; returns whether it was there."""
        return self._kept.pop(handle, None) is not None


def _store(session: Any) -> _Store:
    return resources_of(session).get("tensor handles", _Store)


class TensorHandle(Unpicklable):
    """A tensor that a session keeps, as a run gives it. Fed, it is the tensor's value.

    Without any use it is deleted, unless get_raw_handle was called.

    Args:
        handle: its name.
        dtype: of the tensor.
        session: that keeps it.

    Attributes:
        handle: its name, which get_session_tensor's placeholder takes.
    """

    pickling_hint = "it belongs to a session of this process; send the value that eval() gives"

    def __init__(self, handle: Any, dtype: DType, session: Any) -> None:
        self.handle: str = handle.decode() if isinstance(handle, bytes) else str(handle)
        self._dtype, self._session = dtype, session
        self._store = _store(session)
        self._held = True

    def __del__(self) -> None:
        if self._held:
            self._store.forget(self.handle)

    def __str__(self) -> str:
        return self.handle

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        found = np.array(self._store.find(self.handle))
        return found if dtype is None else found.astype(dtype)

    def to_numpy_array(self) -> Array:
        """The value, as a feed has it."""
        return self.__array__()

    def eval(self) -> Any:
        """The value.

        Raises:
            TypeError: the handle was deleted, or get_raw_handle was called.
        """
        self._check()
        holder, reader = _of_handles(self._session.graph, self._dtype)
        return self._session.run(reader, {holder: self.handle})

    def delete(self) -> None:
        """Has the session drop the tensor.

        Raises:
            TypeError: the handle was deleted, or get_raw_handle was called.
        """
        self._check()
        self._held = False
        holder, deleter = _of_handles(self._session.graph, None)
        self._session.run(deleter, {holder: self.handle})

    def get_raw_handle(self) -> str:
        """The handle; from now on the program deletes the tensor."""
        self._held = False
        return self.handle

    def _check(self) -> None:
        if not self._held:
            raise TypeError(f"Persistent tensor {self.handle} may have already been deleted.")


def _of_handles(graph: Any, dtype: DType | None) -> tuple[Tensor, Any]:
    """The placeholder and the operation that reads tensors of a dtype; None: that deletes."""
    known = _OF_HANDLES.of(graph)
    if dtype not in known:
        with graph.as_default():
            pair = delete_session_tensor("") if dtype is None else get_session_tensor("", dtype)
        known[dtype] = pair
    return known[dtype]


def _text(value: Any) -> str:
    return np.asarray(value).item().decode()  # type: ignore[no-any-return]


class _Keep:
    """From a session to a function that keeps its input.

    Attributes:
        name: of the operation, once it has one.
    """

    name = ""

    def __call__(self, session: Any) -> Any:
        def call(inputs: list[Any]) -> list[Any]:
            kept = _store(session).keep(self.name, np.array(inputs[0]))
            return [np.array(kept.encode(), object)]

        return call


def _find(session: Any) -> Any:
    return lambda inputs: [_store(session).find(_text(inputs[0]))]


def _forget(session: Any) -> Any:
    def call(inputs: list[Any]) -> list[Any]:
        handle = _text(inputs[0])
        if not _store(session).forget(handle):
            raise errors.InvalidArgumentError(
                message=f"Failed to delete a tensor with handle '{handle}' in the session store."
            )
        return []

    return call


@api_guard.guarded
def get_session_handle(data: Tensor, name: str | None = None) -> Tensor:
    """A handle of a tensor's value, which the session keeps for later runs.

    Args:
        data: tensor.
        name: of the operation.

    Returns:
        A string scalar. A run gives it as a TensorHandle, with the attribute `handle` and methods
        eval, delete and get_raw_handle; the tensor is deleted with it.

    Raises:
        TypeError: data is not a tensor.

    Example:
        >>> kept = tf.get_session_handle(tf.constant([1.0, 2.0]))
        >>> with tf.Session() as session:
        ...     handle = session.run(kept)
        ...     holder, value = tf.get_session_tensor(handle.handle, tf.float32)
        ...     print(session.run(value * 10.0, {holder: handle.handle}))
        [10. 20.]
    """
    if not isinstance(data, Tensor):
        raise TypeError("`data` must be of type Tensor.")
    keep = _Keep()
    with colocate_with(data):
        made = host_call(
            keep, [data], [(dtypes.string, TensorShape([]))], function="GetSessionHandle",
            name=name or "GetSessionHandle", tf_type="GetSessionHandle",
        )  # fmt: skip
    keep.name = made.name
    HANDLED_DTYPES.of(made.graph)[made] = data.dtype
    return made.outputs[0]


@api_guard.guarded
def get_session_tensor(handle: Any, dtype: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The tensor of a handle that is fed.

    Args:
        handle: accepted: a handle's device, and there is one.
        dtype: of the tensor.
        name: of the operation.

    Returns:
        A placeholder for TensorHandle.handle, and the tensor, of unknown shape.

    Raises:
        InvalidArgumentError: of the run: the session has no tensor of the handle.
    """
    holder = placeholder(dtypes.string)
    made = host_call(
        _find, [holder], [(dtypes.as_dtype(dtype), TensorShape(None))],
        function="GetSessionTensor", name=name or "GetSessionTensor", tf_type="GetSessionTensor",
    )  # fmt: skip
    return holder, made.outputs[0]


@api_guard.guarded
def delete_session_tensor(handle: Any, name: str | None = None) -> tuple[Tensor, Operation]:
    """An operation that has the session drop the tensor of a handle that is fed.

    Args:
        handle: accepted: a handle's device, and there is one.
        name: of the operation.

    Returns:
        A placeholder for TensorHandle.handle, and the operation.

    Raises:
        InvalidArgumentError: of the run: the session has no tensor of the handle.
    """
    holder = placeholder(dtypes.string)
    made = host_call(
        _forget, [holder], [], function="DeleteSessionTensor",
        name=name or "DeleteSessionTensor", tf_type="DeleteSessionTensor",
    )  # fmt: skip
    return holder, made
