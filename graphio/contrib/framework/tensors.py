"""Checks of shapes and dtypes, sums of several tensors, lists of a graph's placeholders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Graph, Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface as array
from graphio.ops.base import emit
from graphio.ops.checks.assert_shapes import assert_scalar
from graphio.ops.checks.assertion import Assert
from graphio.ops.control_flow.branches import cond
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard

__all__ = [
    "assert_scalar_int",
    "get_graph_from_inputs",
    "get_name_scope",
    "get_placeholders",
    "reduce_sum_n",
    "remove_squeezable_dimensions",
    "smart_constant_value",
    "with_same_shape",
    "with_shape",
]


@api_guard.operator
def assert_scalar_int(tensor: Any, name: str | None = None) -> Tensor:
    """The tensor, which is a scalar of integers.

    Raises:
        ValueError: it has another dtype or shape.
    """
    given = convert_to_tensor(tensor)
    if not given.dtype.base_dtype.is_integer:
        raise ValueError(f"Expected integer type for {given.name}, received type: {given.dtype}.")
    assert_scalar(given, name=name)
    return given


@api_guard.operator
def reduce_sum_n(tensors: Sequence[Tensor], name: str | None = None) -> Tensor:
    """The sum of all elements of all tensors.

    Raises:
        ValueError: there are none.
    """
    if not tensors:
        raise ValueError("No tensors provided.")
    with scopes.name_scope(name, "reduce_sum_n") as scope:
        sums = [reduction.reduce_sum(t, name=f"{t.op.name}/sum") for t in tensors]
        return sums[0] if len(sums) == 1 else elementwise.add_n(sums, name=scope)


@api_guard.operator
def remove_squeezable_dimensions(
    predictions: Any, labels: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Predictions and labels, the one with one axis more without its last axis of size 1."""
    with scopes.name_scope(name, "remove_squeezable_dimensions"):
        one, two = convert_to_tensor(predictions), convert_to_tensor(labels)
        if one.shape.ndims is not None and two.shape.ndims is not None:
            difference = one.shape.ndims - two.shape.ndims
            if difference == 1:
                return array.squeeze(one, [-1]), two
            return one, array.squeeze(two, [-1]) if difference == -1 else two
        excess = elementwise.subtract(array.rank(one), array.rank(two))
        return _squeezed_if(one, excess, 1), _squeezed_if(two, excess, -1)


def _squeezed_if(x: Tensor, excess: Tensor, expected: int) -> Tensor:
    """x without its last axis, where a run finds that difference of ranks."""
    if x.shape.ndims is not None and x.shape.as_list()[-1] not in (None, 1):
        return x
    found: Tensor = cond(
        comparison.equal(excess, expected), lambda: array.squeeze(x, [-1]), lambda: x
    )
    return found


@api_guard.operator
def with_same_shape(expected_tensor: Tensor, tensor: Tensor) -> Tensor:
    """The tensor, whose shape is that of another one; see with_shape."""
    known = expected_tensor.get_shape()
    if known.is_fully_defined():
        return with_shape(known.as_list(), tensor)
    return with_shape(array.shape(expected_tensor, name="expected_shape"), tensor)


@api_guard.operator
def with_shape(expected_shape: Any, tensor: Tensor) -> Tensor:
    """The tensor, whose shape is as expected: checked here if it is known, else in a run.

    Args:
        expected_shape: integers, a TensorShape, or an int32 vector. A tensor of one element with
            the expected shape [] is reshaped.

    Raises:
        ValueError: the shape is another, or expected_shape is not a vector of int32.
        InvalidArgumentError: in a run, the shape is another.
    """
    if isinstance(tensor, SparseTensor):
        raise ValueError("SparseTensor not supported.")
    given = _shape_of(expected_shape, tensor)
    actual = tensor.get_shape()
    symbolic = emit.is_symbolic(given)
    if not symbolic and not len(given) and (actual.is_compatible_with([1]) or actual.ndims is None):
        return tensor if actual.ndims == 0 else array.reshape(tensor, [])
    if symbolic or not actual.is_fully_defined():
        return _checked(given, tensor)
    if not actual.is_compatible_with(given):
        raise ValueError(
            f"Invalid shape for tensor {tensor.name}, expected {list(given)}, got {actual}."
        )
    return tensor


def _shape_of(given: Any, tensor: Tensor) -> Any:
    """The shape that is expected: a tensor, or a list in which None is an unknown size."""
    if isinstance(given, TensorShape):
        return given.as_list()
    if emit.is_symbolic(given):
        if given.dtype.base_dtype != dtypes.int32:
            raise ValueError(
                f"Invalid dtype {given.dtype} for shape {given} expected of tensor {tensor.name}."
            )
        return given
    if not isinstance(given, np.ndarray):
        return list(given)
    if given.ndim > 1 or given.dtype != np.int32:
        raise ValueError(
            f"Invalid rank {given.ndim} or dtype {given.dtype} for shape {given} expected of "
            f"tensor {tensor.name}: give a vector of int32"
        )
    return given.tolist()


def _checked(expected: Any, tensor: Tensor) -> Tensor:
    symbolic = emit.is_symbolic(expected)
    known_sizes = expected if symbolic else [-1 if d is None else int(d) for d in expected]
    with scopes.name_scope("assert_shape"):
        sizes = convert_to_tensor(known_sizes, dtypes.int32)
        actual = array.shape(tensor, name="actual")
        same_rank = comparison.equal(array.size(sizes), array.rank(tensor))

        def same_sizes() -> Tensor:
            unknown = comparison.equal(sizes, -1)
            return reduction.reduce_all(
                comparison.logical_or(unknown, comparison.equal(sizes, actual))
            )

        holds = cond(same_rank, same_sizes, lambda: convert_to_tensor(False))
        words = f"Wrong shape for {tensor.name} [expected] [actual]."
        check = Assert(holds, [words, sizes, actual])
    with scopes.control_dependencies([check]):
        result = array.identity(tensor)
    if not symbolic:
        result.set_shape(expected)
    return result


@api_guard.unguarded
def get_placeholders(graph: Graph) -> list[Tensor]:
    """The placeholders of a graph.

    Raises:
        TypeError: it is not a graph.
    """
    if not isinstance(graph, Graph):
        raise TypeError(f"Input graph needs to be a Graph: {graph!r}")
    return [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]


@api_guard.unguarded
def get_graph_from_inputs(op_input_list: Sequence[Any], graph: Graph | None = None) -> Graph:
    """The graph of some tensors and operations; the default graph where there are none.

    Raises:
        ValueError: they are of different graphs, or of another than the given one.
    """
    for given in op_input_list:
        found = getattr(given, "graph", None)
        if isinstance(found, Graph):
            if graph is not None and found is not graph:
                raise ValueError(f"{given!r} is not from the passed-in graph")
            graph = found
    return scopes.get_default_graph() if graph is None else graph


@api_guard.unguarded
def get_name_scope() -> str:
    """The current name scope of the default graph."""
    return scopes.get_default_graph().get_name_scope()


@api_guard.unguarded
def smart_constant_value(pred: Any) -> bool | None:
    """The truth of pred where it is known while the graph is built; None: it is not.

    Args:
        pred: a bool, 0, 1, or a tensor.

    Raises:
        TypeError: pred is something else.
    """
    if isinstance(pred, bool) or (isinstance(pred, int) and pred in (0, 1)):
        return bool(pred)
    if not isinstance(pred, Tensor):
        raise TypeError(
            f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {pred!r}"
        )
    value = constant_value(pred)
    return None if value is None else bool(value)
