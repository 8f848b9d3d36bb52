"""Functions of Python's in the graph: py_func and its relatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes, registered
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.gradient_registry import REGIONS, Region, lacks_gradient
from graphio.framework.graph import Operation, Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.framework.variable import Variable
from graphio.ops.base import immediate, primitive
from graphio.ops.base.emit import scope
from graphio.ops.base.host import host_call
from graphio.support import api_guard

__all__ = ["numpy_function", "py_func", "py_function"]

lacks_gradient(
    "EagerPyFunc",
    "the function is not in the file that the graph was read from; make the operation again",
)


@api_guard.operator
def py_func(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """The results of a Python function, called in a run with the values of tensors.

    The function is not part of a saved model: the file has its name, which is to be given a
    function again when the model is loaded. No gradient passes. set_shape declares what is known of
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
        ValueError: func is not callable.
        TypeError: inp is not a list, or Tout is not a dtype.
    """
    return _call(func, inp, Tout, stateful, name, "PyFunc" if stateful else "PyFuncStateless")


@api_guard.operator
def numpy_function(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None
) -> Any:
    """As py_func."""
    return _call(func, inp, Tout, True, name, "PyFunc")


@api_guard.operator
def py_function(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None
) -> Any:
    """The results of a Python function, called in a run with tensors whose values it can read.

    Each call has a separate graph, in which the function's arguments have values at once: they
    have numpy(), are true or false, and functions of tf and of numpy take them. What the function
    makes with functions of tf can be differentiated; through numpy no gradient passes.

    The function is not part of a saved model, as that of py_func.

    Args:
        func: takes one tensor for each of inp; returns a tensor, an array, a number, text, or a
            list of them as Tout is. Results are cast to Tout.
        inp: list of tensors.
        Tout: the results' dtype, or a list of dtypes.
        name: of the operation.

    Returns:
        As py_func.

    Raises:
        ValueError: func is not callable.
        TypeError: inp is not a list, or Tout is not a dtype.
    """
    _check_callable(func)
    return _eager(func, inp, Tout, name)


def _eager(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None) -> Any:
    kinds = _dtypes(Tout)

    def call(*arrays: Any) -> Any:
        with immediate.opened():
            results = _results(func(*immediate.inputs(arrays)))
            if any(isinstance(result, Variable) for result in results):
                raise RuntimeError(
                    "Attempting to return a variable from a function given to tf.py_function; "
                    "return its value"
                )
            found = immediate.values_of(results)
        return [_cast(v, d) for v, d in zip(found, kinds, strict=True)]

    made = _call(call, inp, list(kinds), True, name, "EagerPyFunc")
    operation = made if isinstance(made, Operation) else made[0].op
    if any(kind.is_floating or kind.is_complex for kind in kinds):
        _differentiable(operation, func)
    return made if isinstance(Tout, (list, tuple)) else made[0]


def _differentiable(operation: Operation, func: Callable[..., Any]) -> None:
    """Gives the operation a gradient, which calls the function again and differentiates it."""
    inputs = [t if t.dtype.is_floating or t.dtype.is_complex else None for t in operation.inputs]
    requested = [i for i, tensor in enumerate(inputs) if tensor is not None]

    def differentiate(arriving: Sequence[Any]) -> Sequence[Any]:
        present = [i for i, gradient in enumerate(arriving) if gradient is not None]
        if not present or not requested:
            return [None] * len(inputs)
        count = len(inputs)

        def backward(*given: Tensor) -> list[Tensor]:
            results = _results(func(*given[:count]))
            ys = [convert_to_tensor(results[i]) for i in present]
            xs = [given[i] for i in requested]
            found = registered.gradients(ys, xs, list(given[count:]), [])
            return [primitive.fill_like(x, 0) if g is None else convert_to_tensor(g)
                    for g, x in zip(found, xs, strict=True)]  # fmt: skip

        passed = [*operation.inputs, *(convert_to_tensor(arriving[i]) for i in present)]
        made = _eager(backward, passed, [operation.inputs[i].dtype for i in requested], None)
        found: list[Any] = [None] * count
        for i, gradient in zip(requested, made, strict=True):
            gradient.set_shape(operation.inputs[i].shape)
            found[i] = gradient
        return found

    region = Region([operation], inputs, operation.outputs, differentiate)
    REGIONS.of(operation.graph)[operation] = region


def _cast(value: Any, dtype: DType) -> Any:
    plain = np.asarray(value)
    return plain if dtype == dtypes.string else plain.astype(dtype.as_numpy_dtype)


def _call(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,
    stateful: bool,
    name: str | None,
    tf_type: str,
) -> Any:
    _check_callable(func)
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
    """The values that a function returned, as a list with one entry a result."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _dtypes(Tout: Any) -> list[DType]:
    given = Tout if isinstance(Tout, (list, tuple)) else [Tout]
    return [dtypes.as_dtype(d) for d in given]


def _check_callable(func: Any) -> None:
    if not callable(func):
        raise ValueError(
            f"Expected func to be callable, but it is {func!r} of type {type(func).__name__}"
        )
