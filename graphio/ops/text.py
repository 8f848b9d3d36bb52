"""Functions of texts that both engines have: case, length, parts, joining. Texts are bytes."""

from __future__ import annotations

from typing import Any

from graphio import dtypes
from graphio.constants import convert_to_tensor
from graphio.gradient_registry import not_differentiable
from graphio.graph import Tensor
from graphio.ops import primitive, shapes
from graphio.ops.emit import INTEGER, describe, node, require, scope
from graphio.ops.primitive import binary, cast
from graphio.ops.shapes import Dims, dims_of
from graphio.ops.text_calls import as_bytes, as_text, utf8_cased

__all__ = ["length", "lower", "string_join", "string_strip", "substr", "upper"]

not_differentiable("StringLength", "StringTransform", "Substr", "StringJoin", domain="graphio")


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


def upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Large letters for small ones; see lower."""
    return _cased(input, encoding, "upper", name)


def string_strip(input: Any, name: str | None = None) -> Tensor:
    """Texts without white space at both ends."""
    return _transformed(input, "strip", "StringStrip", name)


def _check_unit(unit: str) -> None:
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise ValueError(f"unit must be 'BYTE' or 'UTF8_CHAR', but got {unit!r}")


def length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """The length of each text: int32.

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


def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """A part of each text.

    Args:
        input: string tensor.
        pos: int32 or int64, broadcasts with input: where the part begins; negative counts from
            the end.
        len: of pos' dtype: how long it is at most.
        name: of the operation.
        unit: BYTE or UTF8_CHAR.

    Raises:
        ValueError: another unit, or the shapes do not broadcast.
        InvalidArgumentError: at run time: pos lies beyond the end, or len is negative.
    """
    _check_unit(unit)
    with scope(name, "Substr") as at:
        x, start = as_text(input), convert_to_tensor(pos, name="pos")
        require(start, INTEGER, "Substr", "pos")
        count = cast(convert_to_tensor(len, dtype=start.dtype, name="len"), dtypes.int64)
        start = cast(start, dtypes.int64)
        if start.shape.ndims != 0 or count.shape.ndims != 0:
            x, start, count = _broadcast(x, start, count, describe(at, "Substr"))
        return node("Substr", [x, start, count], dtypes.string, dims_of(x), name=at,
                    domain="graphio", unit=unit)  # fmt: skip


def _broadcast(x: Tensor, start: Tensor, count: Tensor, what: str) -> tuple[Tensor, Tensor, Tensor]:
    """All three in the shape to which they broadcast."""
    places = binary("Add", start, count)
    dims = shapes.broadcast(dims_of(x), dims_of(places), what)
    wide = primitive.expand(x, primitive.shape_of(places), dims)
    shape = primitive.shape_of(wide)
    return wide, primitive.expand(start, shape, dims), primitive.expand(count, shape, dims)


def string_join(inputs: Any, separator: str = "", name: str | None = None) -> Tensor:
    """Texts joined one by one.

    Args:
        inputs: list of string tensors of one shape; scalars go with every text.
        separator: what stands between.
        name: of the operation.

    Raises:
        ValueError: inputs is empty, or the shapes differ.
    """
    if not inputs:
        raise ValueError("string_join: expected at least one input")
    with scope(name, "StringJoin") as at:
        texts = [as_text(t, f"inputs_{i}") for i, t in enumerate(inputs)]
        dims: Dims = ()
        for text in texts:
            if text.shape.ndims != 0:
                own = dims_of(text)
                dims = own if dims == () else shapes.merge(dims, own, describe(at, "StringJoin"))
        return node("StringJoin", texts, dtypes.string, dims, name=at, domain="graphio",
                    separator=as_bytes(separator))  # fmt: skip
