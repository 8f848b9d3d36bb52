"""Tensors and shapes: of framework.ops, framework.tensor_util and framework.tensor_shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.indexed_slices import IndexedSlices, convert_to_tensor_or_indexed_slices
from graphio.framework.sparse_tensor import SparseTensor
from graphio.framework.tensor import Tensor
from graphio.framework.tensor_shape import Dimension, TensorShape
from graphio.framework.tensor_shape import as_shape as _as_shape
from graphio.framework.variable import Variable
from graphio.ops.array.static_values import get_static_value
from graphio.support import api_guard

__all__ = [
    "EagerTensor",
    "RegisterShape",
    "as_dimension",
    "as_shape",
    "constant_value_as_shape",
    "convert_n_to_tensor",
    "convert_n_to_tensor_or_indexed_slices",
    "get_all_collection_keys",
    "get_name_scope",
    "graph_of",
    "internal_convert_to_tensor",
    "is_dense_tensor_like",
    "matrix",
    "name_from_scope_name",
    "scalar",
    "shape_equals",
    "uid",
    "unknown_shape",
    "vector",
]


class EagerTensor:
    """The class of tensors with values at once, of which there are none: isinstance gives False."""


@api_guard.guarded
def internal_convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    as_ref: bool = False,
    preferred_dtype: Any = None,
    ctx: Any = None,
    accept_symbolic_tensors: bool = True,
    accept_composite_tensors: bool = False,
) -> Any:
    """tf.convert_to_tensor with the arguments of framework.ops. ctx has no effect: nothing is
    eager.

    Args:
        as_ref: gives a variable itself.
        accept_composite_tensors: gives a SparseTensor or IndexedSlices as it is.
    """
    if as_ref and isinstance(value, Variable):
        return value
    if accept_composite_tensors and isinstance(value, (SparseTensor, IndexedSlices)):
        return value
    return convert_to_tensor(value, dtype=dtype, name=name, preferred_dtype=preferred_dtype)


@api_guard.guarded
def convert_n_to_tensor(
    values: Sequence[Any],
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
) -> list[Tensor]:
    """A list of values as tensors, named name_0, name_1, and so on.

    Raises:
        TypeError: values is not a sequence.
    """
    if not isinstance(values, Sequence):
        raise TypeError("values must be a sequence.")
    return [
        convert_to_tensor(
            value, dtype, None if name is None else f"{name}_{i}", preferred_dtype=preferred_dtype
        )
        for i, value in enumerate(values)
    ]


@api_guard.guarded
def convert_n_to_tensor_or_indexed_slices(
    values: Sequence[Any], dtype: Any = None, name: str | None = None
) -> list[Any]:
    """As convert_n_to_tensor; IndexedSlices, SparseTensors and None stay.

    Raises:
        TypeError: values is not a sequence.
    """
    if not isinstance(values, Sequence):
        raise TypeError("values must be a sequence.")
    return [
        None
        if value is None
        else convert_to_tensor_or_indexed_slices(
            value, dtype, None if name is None else f"{name}_{i}"
        )
        for i, value in enumerate(values)
    ]


@api_guard.unguarded
def graph_of(op_input_list: Iterable[Any], graph: Any = None) -> Any:
    """The graph of the first tensor, operation or variable; the default graph without one.

    Args:
        graph: the graph that all must be in.

    Raises:
        ValueError: one is in another graph.
    """
    found = graph
    for value in op_input_list:
        own = getattr(value, "graph", None)
        if own is None:
            continue
        if found is None:
            found = own
        elif own is not found:
            raise ValueError(f"{value} must be from the same graph as the others")
    return found or scopes.get_default_graph()


@api_guard.unguarded
def get_name_scope() -> str:
    """The name scope of the default graph, without a slash at its end."""
    return scopes.get_default_graph().get_name_scope()


@api_guard.unguarded
def get_all_collection_keys() -> list[Any]:
    """The collections of the default graph."""
    return list(scopes.get_default_graph().get_all_collection_keys())


@api_guard.unguarded
def name_from_scope_name(name: str) -> str:
    """The name of an operation in a scope: without a slash at its end."""
    return name[:-1] if name and name.endswith("/") else name


_counter = iter(range(1, 1 << 62))


@api_guard.unguarded
def uid() -> int:
    """A number that no other call of this process gives."""
    return next(_counter)


@api_guard.unguarded
def is_dense_tensor_like(t: Any) -> bool:
    """Whether t is a tensor or a variable."""
    return isinstance(t, (Tensor, Variable))


class RegisterShape:
    """Decorator of a function of shapes of an operator. No effect: operators have their rules.

    Args:
        op_type: the operator.
    """

    def __init__(self, op_type: str) -> None:
        self.op_type = op_type

    def __call__(self, f: Any) -> Any:
        return f


@api_guard.unguarded
def constant_value_as_shape(tensor: Any) -> TensorShape:
    """The shape that a vector of integers states: sizes that depend on a run are unknown.

    Args:
        tensor: int32 or int64, of shape []: -1, or [n]; -1: an unknown size.

    Raises:
        ValueError: a scalar other than -1, or more than one dimension.
    """
    shape = tensor.get_shape().with_rank_at_most(1)
    value = get_static_value(tensor)
    if shape.ndims == 0:
        if value is None or value == -1:
            return TensorShape(None)
        raise ValueError(f"Received a scalar with value '{value}' as shape; require a vector of -1")
    if value is None:
        value = get_static_value(tensor, partial=True)
    if value is None:
        return TensorShape([None] * shape[0].value if shape[0].value is not None else None)
    return TensorShape([None if size is None or size == -1 else int(size) for size in value])


@api_guard.unguarded
def shape_equals(tensor_proto: Any, shape: Any) -> bool:
    """Whether a TensorProto has a shape, given as a TensorShapeProto or sizes."""
    sizes = [d.size for d in shape.dim] if hasattr(shape, "dim") else list(shape)
    return [d.size for d in tensor_proto.tensor_shape.dim] == sizes


@api_guard.unguarded
def as_shape(shape: Any) -> TensorShape:
    """shape as a TensorShape."""
    return _as_shape(shape)


@api_guard.unguarded
def as_dimension(value: Any) -> Dimension:
    """value as a Dimension."""
    return value if isinstance(value, Dimension) else Dimension(value)


@api_guard.unguarded
def unknown_shape(ndims: int | None = None, rank: int | None = None) -> TensorShape:
    """A shape of ndims unknown sizes; None: of an unknown number of them. rank is its old name."""
    count = rank if ndims is None else ndims
    return TensorShape(None if count is None else [None] * count)


@api_guard.unguarded
def scalar() -> TensorShape:
    """The shape []."""
    return TensorShape([])


@api_guard.unguarded
def vector(length: Any) -> TensorShape:
    """The shape [length]."""
    return TensorShape([length])


@api_guard.unguarded
def matrix(rows: Any, cols: Any) -> TensorShape:
    """The shape [rows, cols]."""
    return TensorShape([rows, cols])
