"""Making nodes: the small layer between the builders and Graph.add_operation.

A builder enters `scope(name, default)`; helper nodes that it makes are named `<name>/<part>`,
and the node that is made with `name=scope` bears the user's name itself.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from graphio.framework import dtypes, registered, scopes
from graphio.framework.constants import constant, convert_to_tensor, with_sizes
from graphio.framework.dtypes import DType
from graphio.framework.folding import constant_shape, constant_value
from graphio.framework.graph import Operation, Tensor
from graphio.framework.tensor_shape import Dimension, TensorShape
from graphio.ops.base import composing
from graphio.ops.base.shapes import Dims
from graphio.support import errors

__all__ = [
    "FLOATING",
    "FLOATING_OR_COMPLEX",
    "INTEGER",
    "NUMERIC",
    "as_invalid_argument",
    "describe",
    "int_value",
    "ints",
    "is_symbolic",
    "node",
    "operands",
    "operation",
    "or_reflected",
    "renamed",
    "require",
    "scalar",
    "scope",
    "single",
    "static_ints",
]

FLOATING = "floating"
FLOATING_OR_COMPLEX = "floating or complex"
INTEGER = "integer"
NUMERIC = "numeric"

_INTEGERS = frozenset((int,))
#: types whose reflected operators do not take tensors
_PLAIN = (int, float, complex, str, bytes, list, tuple, np.generic, np.ndarray)
_KINDS: dict[str, tuple[str, Callable[[DType], bool]]] = {
    FLOATING: ("a floating dtype", lambda d: d.is_floating),
    FLOATING_OR_COMPLEX: (
        "a floating dtype or a complex one",
        lambda d: d.is_floating or d.is_complex,
    ),
    INTEGER: ("an integer dtype", lambda d: d.is_integer),
    NUMERIC: ("a numeric dtype", lambda d: d.is_floating or d.is_integer or d.is_complex),
}


def scope(name: str | None, default: str) -> AbstractContextManager[str]:
    """The name scope of one builder call; its value is the name for the last node."""
    return scopes.operation_scope(name, default)


def describe(name: str, op: str) -> str:
    """How an error names the node under construction: 'MatMul_1' (op: 'MatMul')."""
    return f"'{name.rstrip('/') or op}' (op: '{op}')"


def operation(
    op: str,
    inputs: Sequence[Tensor | None],
    outputs: Sequence[tuple[DType, Dims]],
    *,
    name: str | None = None,
    domain: str = "",
    version: int | None = None,
    tf_type: str | None = None,
    attrs: Mapping[str, object] | None = None,
) -> Operation:
    """One node; outputs gives each one's dtype and static shape. Where no kernel computes with
    the dtypes, other nodes replace it (composing.py), and the last of them is the result."""
    composed = composing.composed(op, domain, inputs, outputs, attrs or {}, name)
    if composed is not None:
        made: Operation = composed.op
        return made
    return scopes.get_default_graph().add_operation(
        op,
        inputs,
        [(dtype, TensorShape(dims)) for dtype, dims in outputs],
        attrs,
        domain=domain,
        version=version,
        name=name,
        tf_type=tf_type,
    )


def node(
    op: str,
    inputs: Sequence[Tensor | None],
    dtype: DType,
    dims: Dims,
    *,
    name: str | None = None,
    domain: str = "",
    version: int | None = None,
    tf_type: str | None = None,
    **attrs: object,
) -> Tensor:
    """The output of a node that has one."""
    made = operation(
        op,
        inputs,
        [(dtype.base_dtype, dims)],
        name=name,
        domain=domain,
        version=version,
        tf_type=tf_type,
        attrs=attrs,
    )
    return made.outputs[0]


@registered.node.register
def _plain_node(op: str, inputs: Sequence[Tensor], dtype: DType, dims: Dims) -> Tensor:
    return node(op, inputs, dtype, dims)


def is_symbolic(value: Any) -> bool:
    """Whether value is a tensor or variable, so that its numbers come at run time."""
    return isinstance(value, Tensor) or hasattr(value, "initial_value")


def operands(x: Any, y: Any, op: str, names: tuple[str, str] = ("x", "y")) -> tuple[Tensor, Tensor]:
    """Both as tensors of one dtype, which the first one fixes.

    Raises:
        TypeError: the dtypes differ, or y has no value of x's dtype.
    """
    first = convert_to_tensor(x, name=names[0])
    return first, like(y, first, op, names)


def like(value: Any, first: Tensor, op: str, names: tuple[str, str]) -> Tensor:
    """value as a tensor of first's dtype.

    Raises:
        TypeError: value is a tensor of another dtype, or has no value of first's dtype.
    """
    requested = first.dtype.base_dtype
    if is_symbolic(value) and value.dtype.base_dtype != requested:
        raise TypeError(
            f"Input '{names[1]}' of '{op}' Op has type {value.dtype.base_dtype.name} that does "
            f"not match type {requested.name} of argument '{names[0]}'; cast one of them"
        )
    label = names[1].replace("[", "_").replace("]", "")
    return convert_to_tensor(value, dtype=requested, name=label)


def or_reflected(
    method: str, forward: Callable[[Tensor, Any], Any]
) -> Callable[[Tensor, Any], Any]:
    """x <op> y; where y cannot become a tensor, `__r<method>__` of y is tried before it fails."""
    own = f"__r{method}__"

    def call(x: Tensor, y: Any) -> Any:
        try:
            return forward(x, y)
        except (TypeError, ValueError):
            reflected = getattr(type(y), own, None)
            if reflected is None or isinstance(y, _PLAIN) or Tensor.is_like(y):
                raise
            with contextlib.suppress(TypeError, ValueError):
                found = reflected(y, x)
                if found is not NotImplemented:
                    return found
            raise

    return call


def renamed(name: str, value: Any, old_name: str, old_value: Any) -> Any:
    """The value of an argument that has an old name, too.

    Raises:
        ValueError: it is given under both names.
    """
    if value is not None and old_value is not None:
        raise ValueError(
            f"Can't specify both '{name}' and '{old_name}', its old name; give '{name}' alone"
        )
    return old_value if value is None else value


@contextlib.contextmanager
def as_invalid_argument() -> Iterator[None]:
    """A context whose ValueErrors become InvalidArgumentErrors, which are ValueErrors, too: the
    class of what TensorFlow finds when the operation runs."""
    try:
        yield
    except errors.InvalidArgumentError:
        raise
    except ValueError as error:
        raise errors.InvalidArgumentError(message=str(error)) from None


def require(tensor: Tensor, kind: str, op: str, parameter: str = "x") -> None:
    """Refuses a dtype that the operator does not take.

    Raises:
        TypeError: the dtype is not of the kind.
    """
    words, holds = _KINDS[kind]
    if not holds(tensor.dtype.base_dtype):
        advice = "use tf.abs, tf.math.real or tf.math.imag of it"
        raise TypeError(
            f"Value passed to parameter '{parameter}' of '{op}' has DataType "
            f"{tensor.dtype.base_dtype.name}, expected {words}; "
            f"{advice if tensor.dtype.is_complex else 'cast it'}"
        )


def cut(value: Any) -> Any:
    """numpy's floats without their fractions, anything else as it is: for parameters that
    TensorFlow makes integers of, where it casts arrays and refuses lists of floats."""
    is_float = isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "f"
    return value.astype(np.int64) if is_float else value


def integers(value: Any, op: str, parameter: str) -> Tensor:
    """A tensor of integers, also of an array of floats; see cut.

    Raises:
        TypeError: a list or a tensor of something else.
    """
    tensor = convert_to_tensor(with_sizes(cut(value)), name=parameter)
    require(tensor, INTEGER, op, parameter)
    return tensor


def whole(value: Any, op: str, parameter: str) -> Tensor:
    """An int64 tensor of integers: numbers of rows, of segments, of steps.

    Raises:
        TypeError: they are not integers; an empty list counts as integers.
    """
    tensor = convert_to_tensor(value, name=parameter)
    if tensor.shape.num_elements() != 0:
        require(tensor, INTEGER, op, parameter)
    dims = None if tensor.shape.ndims is None else tuple(tensor.shape.as_list())
    if tensor.dtype.base_dtype == dtypes.int64:
        return tensor
    return node("Cast", [tensor], dtypes.int64, dims, to=dtypes.int64)


def scalar(value: float | int | bool, dtype: DType, name: str = "Const") -> Tensor:
    """A constant () of the dtype."""
    return constant(np.asarray(value, dtype=dtype.base_dtype.as_numpy_dtype), name=name)


def int_value(value: Any, op: str, parameter: str) -> int:
    """A number that must be known while the graph is built (an axis, a count).

    Raises:
        ValueError: value is a tensor whose value is not known statically.
        TypeError: value is None, or a list with a None.
    """
    found = static_ints(value)
    if found is None or len(found) != 1 or found[0] is None:
        if value is None or (
            isinstance(value, (list, tuple)) and any(each is None for each in value)
        ):
            raise TypeError(f"{op}: {parameter} is {value!r}, expected an integer")
        raise ValueError(
            f"{op}: {parameter} must be known while the graph is built, got {value!r}; "
            "give a Python integer"
        )
    return found[0]


def static_ints(value: Any) -> list[int | None] | None:
    """The integers of a scalar or vector as far as they are known; None if nothing is.

    Raises:
        TypeError: they are not integers.
    """
    if value is None:
        return None
    if isinstance(value, TensorShape):
        return None if value.ndims is None else list(value.as_list())
    if isinstance(value, Dimension):
        return [value.value]
    if is_symbolic(value):
        tensor = convert_to_tensor(value)
        known = constant_value(tensor)
        if known is not None:
            return [*integers_of(known)]
        if tensor.shape.ndims != 1:
            return None
        shape = constant_shape(tensor)
        return None if shape is None or shape.ndims is None else list(shape.as_list())
    if isinstance(value, (list, tuple)):
        if set(map(type, value)) <= _INTEGERS:
            return list(value)
        parts = [static_ints(v) for v in value]
        return [p[0] if p is not None and len(p) == 1 else None for p in parts]
    return [*integers_of(value)]


def integers_of(numbers: Any) -> list[int]:
    """Integers of a number, list or array. Raises TypeError where one is none: 2.0, too; and
    ValueError where one is beyond int64."""
    try:
        return [operator.index(n) for n in np.ravel(numbers).tolist()]
    except TypeError:
        listed = np.ravel(np.asarray(numbers, object)).tolist()
        if any(isinstance(n, int) and n.bit_length() > 63 for n in listed):
            raise ValueError(f"expected integers of int64, got {numbers!r}") from None
        raise TypeError(f"expected integers, got {numbers!r}") from None


def ints(value: Any, op: str, parameter: str, name: str | None = None) -> Tensor:
    """An int64 vector from an argument that TensorFlow takes for a shape, an axis list or similar.

    Args:
        value: an integer, a list or array of them, a TensorShape, an integer tensor of rank 0
            or 1, or a list that mixes integers and scalar tensors.
        op: for errors.
        parameter: for errors, and for the constant's name.
        name: of the constant; None: parameter.

    Raises:
        TypeError: something in it is not an integer.
        ValueError: it is a shape with unknown sizes.
    """
    label = name or parameter
    if isinstance(value, TensorShape) and value.ndims is not None and None in value.as_list():
        raise ValueError(
            f"{op}: {parameter} is the partially known {value}, expected a size for each axis; "
            "tf.shape gives those of a run"
        )
    if isinstance(value, (TensorShape, Dimension)):
        value = static_ints(value)
    if is_symbolic(value):
        return _int_tensor(convert_to_tensor(value), op, parameter)
    if isinstance(value, (list, tuple)) and any(is_symbolic(v) for v in value):
        parts = [single(v, op, parameter, f"{label}_{i}") for i, v in enumerate(value)]
        return node("Concat", parts, dtypes.int64, (len(parts),), name=label, axis=0)
    if value is None:
        raise ValueError(f"{op}: {parameter} is unknown or None; give integers")
    if isinstance(value, (list, tuple)):
        value = [v.value if isinstance(v, Dimension) else v for v in value]
        if any(v is None for v in value):
            raise TypeError(f"{op}: {parameter} is {value}, expected integers; None is not a size")
    array = np.asarray(value)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{op}: {parameter} is {value!r}, expected integers")
    if array.ndim > 1:
        raise ValueError(f"{op}: {parameter} has shape {array.shape}, expected a vector")
    return constant(array.reshape(-1).astype(np.int64), name=label)


def single(value: Any, op: str, parameter: str, name: str | None = None) -> Tensor:
    """As `ints`, of one integer: a tensor of unknown rank can only be a scalar."""
    found = ints(value, op, parameter, name)
    if found.shape.ndims is not None:
        return found
    one = constant(np.ones(1, np.int64), name="one")
    return node("Reshape", [found, one], dtypes.int64, (1,))


def _int_tensor(tensor: Tensor, op: str, parameter: str) -> Tensor:
    if not tensor.dtype.is_integer:
        raise TypeError(
            f"{op}: {parameter} '{tensor.name}' is {tensor.dtype.name}, expected int32 or int64"
        )
    if tensor.dtype.base_dtype != dtypes.int64:
        dims = None if tensor.shape.ndims is None else tuple(tensor.shape.as_list())
        tensor = node("Cast", [tensor], dtypes.int64, dims, to=dtypes.int64)
    if tensor.shape.ndims == 0:
        axes = constant(np.zeros(1, np.int64), name="axes")
        return node("Unsqueeze", [tensor, axes], dtypes.int64, (1,))
    return tensor
