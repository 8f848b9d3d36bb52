"""scan, map_fn, foldl and foldr: a function run element by element, lowered to one ONNX Scan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphio.framework import dtypes, nest, scopes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface as array
from graphio.ops.base import primitive as p
from graphio.ops.base.emit import node
from graphio.ops.base.shapes import dims_of
from graphio.ops.control_flow.branches import restoring
from graphio.ops.control_flow.loops import constant_to_gradients, holds, scan_node
from graphio.ops.sparse.map import has_sparse, map_rows
from graphio.support import api_guard, errors

__all__ = ["foldl", "foldr", "map_fn", "scan", "vectorized_map"]

Tensors = list[Tensor]


@api_guard.operator
def scan(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """All results of a = fn(a, x) for the elements x along the first dimension.

    Args:
        fn: from the last result and one element to the next result, in initializer's structure,
            dtypes and shapes.
        elems: tensor or structure of tensors (n, ...).
        initializer: the first a, a tensor or structure; None: the first element, which is then
            also the first result.
        parallel_iterations, swap_memory, infer_shape: accepted.
        back_prop: False: no gradient passes.
        reverse: True starts with the last element; each result keeps the position of its element.
        name: name scope.

    Returns:
        initializer's structure (elems' without one) of tensors (n, ...).

    Raises:
        TypeError: fn is not callable, or gives a list for a tuple.
        ValueError: elems are scalars or differ in length, or a result differs in structure or
            shape from a.
        InvalidArgumentError: fn returns another dtype; or, by the run, no initializer and n is 0.
    """
    _check_callable(fn, "scan")
    with restoring(), scopes.operation_scope(name, "scan"):
        pieces, length = _elements(elems, "scan")
        first, pieces, structure = _start(elems, pieces, initializer, reverse)

        def body(state: Tensors, xs: Tensors) -> tuple[Tensors, Tensors]:
            result = fn(nest.pack_sequence_as(structure, state), nest.pack_sequence_as(elems, xs))
            following = _like(result, structure, state, "scan")
            return following, following

        count = len(pieces)
        ways = [(0, reverse)]
        found = scan_node(body, first, pieces, ways * count, ways * len(first), name="scan")
        results = found[len(first) :]
        if initializer is None:
            results = [_joined(x, rest, reverse) for x, rest in zip(first, results, strict=True)]
        return _packed(structure, results, length, back_prop)


@api_guard.operator
def map_fn(
    fn: Callable[..., Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """fn of each element along the first dimension, stacked.

    Args:
        fn: from one element, in elems' structure, to a result in dtype's structure.
        elems: tensor or structure of tensors (n, ...), sparse ones, too, of which an element has
            one axis less.
        dtype: dtype or structure of dtypes of fn's results, which are dense; None: those of elems,
            and sparse where elems are.
        parallel_iterations, swap_memory, infer_shape: accepted.
        back_prop: False: no gradient passes.
        name: name scope.
        fn_output_signature: a newer name of dtype.

    Returns:
        dtype's structure (elems' without one) of tensors (n, ...).

    Raises:
        TypeError: fn is not callable, or gives a list for a tuple.
        ValueError: elems are scalars or differ in length, or the structure is not dtype's.
        InvalidArgumentError: fn returns another dtype than announced.
    """
    _check_callable(fn, "map_fn")
    dtype = fn_output_signature if dtype is None else dtype
    with restoring(), scopes.operation_scope(name, "map"):
        structure = elems if dtype is None else dtype
        if has_sparse(elems):
            return _mapped_rows(fn, elems, structure, dtype is None, back_prop)
        pieces, length = _elements(elems, "map_fn")
        given = [x.dtype for x in pieces] if dtype is None else nest.flatten(dtype)
        kinds = [dtypes.as_dtype(kind) for kind in given]

        def body(_: Tensors, xs: Tensors) -> tuple[Tensors, Tensors]:
            result = fn(nest.pack_sequence_as(elems, xs))
            return [], _of_dtypes(result, structure, kinds, "map_fn")

        return _packed(structure, scan_node(body, [], pieces, name="map"), length, back_prop)


@api_guard.operator
def vectorized_map(fn: Callable[..., Any], elems: Any) -> Any:
    """As map_fn, but fn may give another structure and other dtypes than those of elems. It is
    computed element after element.

    Args:
        fn: takes the elements of elems at one position, gives a tensor or a nested structure.
        elems: tensor, or nested structure of tensors, with the same first dimension.

    Returns:
        The structure that fn gives, of tensors with one more dimension at the front.

    Raises:
        TypeError: fn is not callable.
        ValueError: elems are scalars or differ in length.

    Example:
        >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        >>> total = tf.vectorized_map(lambda row: tf.cast(tf.reduce_sum(row), tf.int32), x)
        >>> with tf.Session() as session:
        ...     print(session.run(total))
        [3 7]
    """
    _check_callable(fn, "vectorized_map")
    results: list[Any] = []
    with restoring(), scopes.name_scope("vectorized_map"):
        pieces, length = _elements(elems, "vectorized_map")

        def body(_: Tensors, xs: Tensors) -> tuple[Tensors, Tensors]:
            results[:] = [fn(nest.pack_sequence_as(elems, xs))]
            return [], [convert_to_tensor(value) for value in nest.flatten(results[0])]

        found = scan_node(body, [], pieces, name="map")
        return _packed(results[0], found, length, True)


def _mapped_rows(
    fn: Callable[..., Any], elems: Any, structure: Any, alike: bool, back_prop: bool
) -> Any:
    """map_fn over elements of which some are sparse; alike: whether the results are of their
    kinds."""
    given = nest.flatten(structure)
    sparse = [alike and isinstance(x, SparseTensor) for x in given]
    kinds = [
        None if rows else convert_to_tensor(x).dtype if alike else dtypes.as_dtype(x)
        for x, rows in zip(given, sparse, strict=True)
    ]

    def check(result: Any) -> list[Any]:
        found = _flat_results(result, structure, "map_fn")
        return [
            y if kind is None else _of_dtypes(y, None, [kind], "map_fn")[0]
            for y, kind in zip(found, kinds, strict=True)
        ]

    made = map_rows(fn, elems, kinds, check, back_prop)
    return nest.pack_sequence_as(structure, made)


@api_guard.operator
def foldl(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The last a of a = fn(a, x) for the elements x from first to last; arguments as scan's."""
    return _fold(fn, elems, initializer, False, back_prop, name, "foldl")


@api_guard.operator
def foldr(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The last a of a = fn(a, x) for the elements x from last to first; arguments as scan's."""
    return _fold(fn, elems, initializer, True, back_prop, name, "foldr")


def _fold(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any,
    reverse: bool,
    back_prop: bool,
    name: Any,
    what: str,
) -> Any:
    _check_callable(fn, what)
    with restoring(), scopes.operation_scope(name, what):
        pieces, _ = _elements(elems, what)
        first, pieces, structure = _start(elems, pieces, initializer, reverse)

        def body(state: Tensors, xs: Tensors) -> tuple[Tensors, Tensors]:
            result = fn(nest.pack_sequence_as(structure, state), nest.pack_sequence_as(elems, xs))
            return _like(result, structure, state, what), []

        found = scan_node(body, first, pieces, [(0, reverse)] * len(pieces), name=what)
        return nest.pack_sequence_as(structure, _leaving(found, back_prop))


# ---- inputs ----


def _check_callable(fn: Any, what: str) -> None:
    if not callable(fn):
        raise TypeError(f"{what}: fn is {type(fn).__name__}, expected a callable")


def _elements(elems: Any, what: str) -> tuple[Tensors, int | None]:
    """elems as tensors, and their common length where it is known."""
    pieces = [convert_to_tensor(x, name="elem") for x in nest.flatten(elems)]
    if not pieces:
        raise ValueError(f"{what}: elems holds no tensor")
    length = None
    for x in pieces:
        if x.shape.ndims == 0:
            raise ValueError(
                f"{what}: elements in elems must be 1+ dimensional Tensors, not scalars: "
                f"'{x.name}' has shape ()"
            )
        found = None if x.shape.ndims is None else x.shape.as_list()[0]
        if None not in (length, found) and length != found:
            raise ValueError(f"{what}: elems have the lengths {length} and {found}, expected one")
        length = found if length is None else length
    return pieces, length


def _start(
    elems: Any, pieces: Tensors, initializer: Any, reverse: bool
) -> tuple[Tensors, Tensors, Any]:
    """The first state, the elements left, and the structure of the state."""
    if initializer is not None:
        first = [convert_to_tensor(x, name="initializer") for x in nest.flatten(initializer)]
        return first, pieces, initializer
    begin, end = (0, -1) if reverse else (1, p.last)
    first = [_element(x, -1 if reverse else 0) for x in pieces]
    return first, [p.slice_axes(x, [begin], [end], [0]) for x in pieces], elems


def _element(x: Tensor, position: int) -> Tensor:
    """One element; of none there is none, which the run says."""
    dims = dims_of(x)
    at = constant(position, dtypes.int64)
    return node("Gather", [x, at], x.dtype, None if dims is None else dims[1:], axis=0)


# ---- results ----


def _flat_results(result: Any, structure: Any, what: str) -> list[Any]:
    try:
        nest.assert_same_structure(structure, result)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what}: fn returned another structure than expected: {error}") from None
    return nest.flatten(result)


def _of_dtypes(result: Any, structure: Any, kinds: Sequence[dtypes.DType], what: str) -> Tensors:
    """fn's results as tensors of the dtypes."""
    tensors = []
    for value, kind in zip(_flat_results(result, structure, what), kinds, strict=True):
        tensor = convert_to_tensor(value, preferred_dtype=kind)
        if tensor.dtype != kind:
            raise errors.InvalidArgumentError(
                message=f"{what}: fn returned {tensor.dtype.name} ('{tensor.name}'), expected "
                f"{kind.name}; "
                + ("give dtype=" if what == "map_fn" else "cast it, or give another initializer")
            )
        tensors.append(tensor)
    return tensors


def _like(result: Any, structure: Any, state: Tensors, what: str) -> Tensors:
    """fn's results as tensors of the dtypes and shapes of the state."""
    following = _of_dtypes(result, structure, [s.dtype for s in state], what)
    for before, after in zip(state, following, strict=True):
        if not holds(before.shape, after.shape):
            raise ValueError(
                f"{what}: the accumulated value enters fn with shape {before.shape} and leaves it "
                f"with {after.shape} ('{after.name}'); its shape must stay as the initializer's"
            )
    return following


def _joined(first: Tensor, rest: Tensor, reverse: bool) -> Tensor:
    one = p.unsqueeze(first, [0])
    joined: Tensor = array.concat([rest, one] if reverse else [one, rest], 0)
    return joined


def _leaving(results: Tensors, back_prop: bool) -> list[Any]:
    return list(results) if back_prop else [constant_to_gradients(y) for y in results]


def _packed(structure: Any, results: Tensors, length: int | None, back_prop: bool) -> Any:
    for y in results:
        if y.shape.ndims is not None:
            y.set_shape(TensorShape([length, *y.shape.as_list()[1:]]))
    return nest.pack_sequence_as(structure, _leaving(results, back_prop))
