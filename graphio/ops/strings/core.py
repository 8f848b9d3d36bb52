"""String operators of both engines: case, length, parts, joining. Strings are bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.gradient_registry import not_differentiable
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.ops.array import index, run_axis
from graphio.ops.array.permuting import as_matrix
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    INTEGER,
    describe,
    node,
    operation,
    renamed,
    require,
    scope,
    static_ints,
)
from graphio.ops.base.primitive import binary, cast
from graphio.ops.base.shapes import Dims, dims_of
from graphio.ops.strings.python_strings import as_bytes, as_text, split_by, utf8_cased
from graphio.support import api_guard, errors

__all__ = [
    "length",
    "lower",
    "reduce_join",
    "split",
    "string_split",
    "string_strip",
    "substr",
    "upper",
]

not_differentiable(
    "StringLength", "StringTransform", "Substr", "StringJoin", "StringReduceJoin", "StringSplit",
    domain="graphio",
)  # fmt: skip
not_differentiable(
    "StringConcat", "StringSplit", "StringNormalizer", "RegexFullMatch", "TfIdfVectorizer",
)  # fmt: skip


def _transformed(value: Any, way: str, tf_type: str, name: str | None) -> Tensor:
    with scope(name, tf_type) as at:
        x = as_text(value)
        return node("StringTransform", [x], dtypes.string, dims_of(x), name=at, domain="graphio",
                    tf_type=tf_type, way=way)  # fmt: skip


def _cased(value: Any, encoding: str, way: str, name: str | None) -> Tensor:
    if encoding not in ("", "utf-8"):
        raise ValueError(f"encoding must be '' or 'utf-8', but got {encoding!r}")
    if encoding:
        return utf8_cased(value, way, name)
    return _transformed(value, way, f"String{way.capitalize()}", name)


@api_guard.operator
def lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Small letters for large ones.

    Args:
        input: string tensor.
        encoding: "": only A to Z; "utf-8": those of every language, by a call of Python.
        name: of the operation.

    Raises:
        ValueError: another encoding.
    """
    return _cased(input, encoding, "lower", name)


@api_guard.operator
def upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Large letters for small ones; see lower."""
    return _cased(input, encoding, "upper", name)


@api_guard.operator
def string_strip(input: Any, name: str | None = None) -> Tensor:
    """Strings without white space at both ends."""
    return _transformed(input, "strip", "StringStrip", name)


def _check_unit(unit: str) -> None:
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise ValueError(f"unit must be 'BYTE' or 'UTF8_CHAR', but got {unit!r}")


@api_guard.operator
def length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """The length of each string: int32.

    Args:
        input: string tensor.
        name: of the operation.
        unit: BYTE or UTF8_CHAR.

    Raises:
        ValueError: another unit.
    """
    _check_unit(unit)
    with scope(name, "StringLength") as at:
        x = as_text(input)
        return node("StringLength", [x], dtypes.int32, dims_of(x), name=at, domain="graphio",
                    unit=unit)  # fmt: skip


@api_guard.operator
def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """A substring of each string.

    Args:
        input: string tensor.
        pos: int32 or int64, broadcasts with input: where the part begins; negative counts from
            the end.
        len: of pos' dtype and shape: how long it is at most.
        name: of the operation.
        unit: BYTE or UTF8_CHAR.

    Raises:
        ValueError: another unit, pos and len differ in shape, or do not broadcast with input.
        UnimplementedError: input and pos, which is not a scalar, differ in shape and broadcast to
            rank 3 or more, as far as static shapes are known.
        InvalidArgumentError: at run time: pos is beyond the end, or len is negative.
    """
    _check_unit(unit)
    with scope(name, "Substr") as at:
        x, start = as_text(input), convert_to_tensor(pos, name="pos")
        require(start, INTEGER, "Substr", "pos")
        count = cast(convert_to_tensor(len, dtype=start.dtype, name="len"), dtypes.int64)
        start = cast(start, dtypes.int64)
        shapes.merge(dims_of(start), dims_of(count), describe(at, "Substr"))
        if start.shape.ndims != 0 or count.shape.ndims != 0:
            x, start, count = _broadcast(x, start, count, describe(at, "Substr"))
        return node("Substr", [x, start, count], dtypes.string, dims_of(x), name=at,
                    domain="graphio", unit=unit)  # fmt: skip


def _check_rank(x: Tensor, positions: Tensor, dims: Dims, what: str) -> None:
    """TensorFlow's kernel broadcasts to vectors and matrices alone."""
    if dims is not None and len(dims) > 2 and not x.shape.is_compatible_with(positions.shape):
        raise errors.UnimplementedError(
            message=f"Substr broadcast not implemented for {len(dims)} dimensions, in {what}: the "
            f"strings have shape {x.shape}, pos and len {positions.shape}; repeat them with "
            "tf.broadcast_to"
        )


def _broadcast(x: Tensor, start: Tensor, count: Tensor, what: str) -> tuple[Tensor, Tensor, Tensor]:
    """All three in the shape to which they broadcast."""
    positions = binary("Add", start, count)
    dims = shapes.broadcast(dims_of(x), dims_of(positions), what)
    _check_rank(x, positions, dims, what)
    wide = primitive.expand(x, primitive.shape_of(positions), dims)
    shape = primitive.shape_of(wide)
    return wide, primitive.expand(start, shape, dims), primitive.expand(count, shape, dims)


@api_guard.operator
def reduce_join(
    inputs: Any,
    axis: Any = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Strings joined along axes.

    Args:
        inputs: string tensor.
        axis: which axes, in the order in which they are joined; None: all, the last one first.
        keep_dims: old name of keepdims.
        separator: put between the strings.
        name: of the operation.
        reduction_indices: old name of axis.
        keepdims: True keeps the axes, with size 1.

    Raises:
        ValueError: an axis is out of range.
    """
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with scope(name, "ReduceJoin") as at:
        x = as_text(inputs, "inputs")
        rank = x.shape.ndims
        listed = renamed("axis", axis, "reduction_indices", reduction_indices)
        given = static_ints(listed)
        if rank is None or (listed is not None and (given is None or None in given)):
            return _joined_in_run(x, listed, as_bytes(separator), keep, at)
        requested = list(range(rank))[::-1] if given is None else [a or 0 for a in given]
        axes = [shapes.normalize_axis(a, rank, describe(at, "ReduceJoin")) for a in requested]

        joined = x
        for a in axes:
            dims = shapes.reduced(dims_of(joined), [a], True, describe(at, "ReduceJoin"))
            joined = node("StringReduceJoin", [joined], dtypes.string, dims, domain="graphio",
                          axis=a, separator=as_bytes(separator))  # fmt: skip
        if keep or not axes:
            return primitive.unary("Identity", joined, at)
        return primitive.squeeze(joined, axes, at)


def _joined_in_run(x: Tensor, axis: Any, separator: bytes, keep: bool, name: str) -> Tensor:
    """reduce_join where only the run knows the axes or the rank: the elements to join are a row of
    a matrix, the first axis moving fastest."""
    if axis is None:
        axes = run_axis.numbers_of_axes(x)
    else:
        axes = index.reverse(run_axis.checked_axes(x, axis, "ReduceJoin"), [0])
    rows, sizes = as_matrix(x, axes, "ReduceJoin")
    joined = node("StringReduceJoin", [rows], dtypes.string, (None, 1), domain="graphio", axis=1,
                  separator=separator)  # fmt: skip
    if keep:
        sizes = run_axis.with_ones(x, axes)
    result = primitive.reshape_to(joined, sizes, None, name)
    if keep:
        result.set_shape(None if x.shape.ndims is None else [None] * x.shape.ndims)
    return result


@api_guard.operator
def string_split(
    source: Any, sep: Any = None, skip_empty: bool = True, delimiter: Any = None,
    result_type: str = "SparseTensor", name: str | None = None,
) -> SparseTensor:  # fmt: skip
    """The parts of each string between the characters of sep.

    Args:
        source: string vector (n).
        sep: text, or string scalar tensor: each of its bytes separates; "": every byte is a part;
            None: a space.
        skip_empty: True leaves empty parts out.
        delimiter: old name of sep.
        result_type: SparseTensor; there are no ragged tensors.
        name: name scope of the operations.

    Returns:
        A SparseTensor (n, most parts of a string) of strings.

    Raises:
        ValueError: source is not a vector, or another result_type.
    """
    if result_type != "SparseTensor":
        raise ValueError(
            f"string_split: result_type is {result_type!r}, expected 'SparseTensor': ragged "
            "tensors are not part of this version"
        )
    chosen = delimiter if sep is None else sep
    attrs = {"letters": 1, "skip_empty": int(skip_empty), "limit": -1}
    return _split("StringSplit", source, b" " if chosen is None else chosen, name, attrs)


@api_guard.operator
def split(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> SparseTensor:
    """The parts of each string, as Python's split gives them.

    Args:
        input: string vector (n), or a scalar, which is as a vector of one.
        sep: text, or string scalar tensor: what separates; None or "": white space.
        maxsplit: at most how many times a string is split; -1: as often as sep comes.
        result_type: SparseTensor; there are no ragged tensors.
        source: old name of input.
        name: name scope of the operations.

    Returns:
        A SparseTensor (n, most parts of a string) of strings.

    Raises:
        ValueError: the input is not a vector, or result_type is another.
    """
    if result_type != "SparseTensor":
        raise ValueError(f"result_type is {result_type!r}; only 'SparseTensor' is there")
    given = as_text(source if input is None else input, "input")
    if given.shape.ndims == 0:
        given = primitive.unsqueeze(given, [0])
    attrs = {"letters": 0, "skip_empty": 0, "limit": max(maxsplit, -1)}
    return _split("StringSplitV2", given, b"" if sep is None else sep, name, attrs)


def _split(
    tf_type: str, source: Any, mark: Any, name: str | None, attrs: Mapping[str, Any]
) -> SparseTensor:
    if isinstance(mark, (list, tuple, np.ndarray)):
        raise ValueError(f"{tf_type}: delimiter is {mark!r}, expected one string")
    with scope(name, tf_type) as at:
        x = as_text(source, "source")
        if x.shape.ndims not in (1, None):
            raise ValueError(
                f"Shape must be rank 1 but is rank {x.shape.ndims} for {describe(at, tf_type)} "
                f"with input shapes: {shapes.text_of(x)}"
            )
        if isinstance(mark, Tensor):
            return SparseTensor(*split_by(x, as_text(mark), tf_type, at, **attrs).outputs)
        outputs: list[tuple[DType, Dims]] = [
            (dtypes.int64, (None, 2)), (dtypes.string, (None,)), (dtypes.int64, (2,)),
        ]  # fmt: skip
        made = operation("StringSplit", [x], outputs, name=at, domain="graphio", tf_type=tf_type,
                         attrs={"separator": as_bytes(mark), **attrs})  # fmt: skip
        return SparseTensor(*made.outputs)
