"""Functions of Python's in the graph: py_func and its relatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio import dtypes
from graphio.constants import convert_to_tensor
from graphio.dtypes import DType
from graphio.gradient_registry import lacks_gradient
from graphio.graph import Operation
from graphio.ops.emit import scope
from graphio.ops.host import host_call
from graphio.tensor_shape import TensorShape

__all__ = ["numpy_function", "py_func", "py_function"]

lacks_gradient(
    "EagerPyFunc", "write it with functions of tf, or use tf.py_func, which lets no gradient pass"
)


def py_func(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """What a Python function gives for the values of tensors, when a run gets there.

    The function is not part of a saved model: the file has its name, which is to be given a
    function again when the model is loaded. No gradient passes. set_shape tells what is known of
    the results' shapes.

    Args:
        func: takes one numpy array for each of inp, a numpy scalar (bytes of a string) where there
            are no dimensions; returns an array, a number, text, or a list of them as Tout is.
        inp: list of tensors.
        Tout: the results' dtype, or a list of dtypes. numpy's must be the same: a Python float is
            float64, an integer int64.
        stateful: False says that equal inputs give equal results.
        name: of the operation.

    Returns:
        A tensor of unknown shape, a list of them where Tout is a list, the operation where that is
        empty (an empty list of a function that is not stateful: nothing is left to run it for).

    Raises:
        TypeError: func is not callable, inp is no list, or Tout is no dtype.
    """
    return _call(func, inp, Tout, stateful, name, "PyFunc" if stateful else "PyFuncStateless")


def numpy_function(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None
) -> Any:
    """As py_func."""
    return _call(func, inp, Tout, True, name, "PyFunc")


def py_function(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None
) -> Any:
    """As py_func; the function's arguments have numpy(), and its results are cast to Tout.

    A gradient through it is a LookupError: here a Python function cannot be differentiated.
    """

    def call(*inputs: Any) -> Any:
        results = func(*(np.asarray(x).view(_Eager) for x in inputs))
        kinds = _dtypes(Tout)
        if isinstance(Tout, (list, tuple)):
            return [_cast(v, d) for v, d in zip(_results(results), kinds, strict=True)]
        return _cast(results, kinds[0])

    if not callable(func):
        raise _not_callable(func)
    return _call(call, inp, Tout, True, name, "EagerPyFunc")


class _Eager(np.ndarray[Any, Any]):
    """An array with the method of TensorFlow's eager tensors."""

    def numpy(self) -> Any:
        """The array; a scalar where there are no dimensions."""
        return np.asarray(self)[()]


def _cast(value: Any, dtype: DType) -> Any:
    plain = np.asarray(value.numpy() if isinstance(value, _Eager) else value)
    return plain if dtype == dtypes.string else plain.astype(dtype.as_numpy_dtype)


def _call(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,
    stateful: bool,
    name: str | None,
    tf_type: str,
) -> Any:
    if not callable(func):
        raise _not_callable(func)
    if not isinstance(inp, (list, tuple)):
        raise TypeError(
            f"Expected list for 'input' argument to '{tf_type}' Op, not {type(inp).__name__}"
        )

    def call(inputs: list[Any]) -> list[Any]:
        return _results(func(*(x[()] for x in inputs)))

    with scope(name, tf_type) as at:
        tensors = [convert_to_tensor(x, name=f"input_{i}") for i, x in enumerate(inp)]
        outputs = [(dtype, TensorShape(None)) for dtype in _dtypes(Tout)]
        made: Operation = host_call(
            lambda session: call,
            tensors,
            outputs,
            function="pyfunc",
            stateful=stateful,
            name=at,
            tf_type=tf_type,
        )
    if not isinstance(Tout, (list, tuple)):
        return made.outputs[0]
    return made if stateful and not Tout else list(made.outputs)


def _results(value: Any) -> list[Any]:
    """What a function returned, as a list with one entry a result."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _dtypes(Tout: Any) -> list[DType]:
    given = Tout if isinstance(Tout, (list, tuple)) else [Tout]
    return [dtypes.as_dtype(d) for d in given]


def _not_callable(func: Any) -> TypeError:
    return TypeError(f"py_func: func is {type(func).__name__}, expected a callable")
