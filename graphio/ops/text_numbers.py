"""Texts joined along dimensions, texts to numbers and back, bytes as numbers; in both engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio import dtypes
from graphio.constants import convert_to_tensor
from graphio.dtypes import DType
from graphio.gradient_registry import not_differentiable
from graphio.graph import Tensor
from graphio.ops import array
from graphio.ops.emit import operation, scope, static_ints
from graphio.ops.shapes import Dims, dims_of
from graphio.ops.text_calls import as_text

__all__ = ["as_string", "decode_raw", "reduce_join", "string_to_number"]

not_differentiable(
    *("StringReduceJoin", "StringToNumber", "AsString", "DecodeRaw"), domain="graphio"
)


def _made(
    op: str, inputs: Sequence[Tensor], of: DType, dims: Dims, at: str, tf_type: str, **attrs: Any
) -> Tensor:
    made = operation(
        op, inputs, [(of, dims)], name=at, domain="graphio", tf_type=tf_type, attrs=attrs
    )
    return made.outputs[0]


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The texts along some dimensions, joined.

    Args:
        inputs: string tensor.
        axis: one or a list, in the order in which they are joined, the first changing
            fastest; None: all, the last one first.
        keep_dims, keepdims: True leaves the dimensions with size 1.
        separator: between the texts.
        name: of the operation.
        reduction_indices: the old name of axis.

    Raises:
        TypeError: inputs is no text.
        ValueError: an axis is out of range or given twice, or the rank is unknown.
    """
    wanted = axis if axis is not None else reduction_indices
    keep = bool(keepdims if keepdims is not None else keep_dims)
    with scope(name, "ReduceJoin") as at:
        x = as_text(inputs, "inputs")
        if wanted is None and not keep:
            flat = array.reshape(x, [-1])
            return _reduced(flat, (), separator, at)
        rank = x.shape.ndims
        if rank is None:
            raise ValueError("ReduceJoin: the rank of inputs must be known to join some dimensions")
        axes = _axes(wanted, rank)
        kept = [d for d in range(rank) if d not in axes]
        turned = array.transpose(x, kept + axes[::-1])
        lengths: Any = array.shape(x)
        rows = array.reshape(turned, [*(lengths[d] for d in kept), -1])
        full = x.shape.as_list()
        if not keep:
            return _reduced(rows, tuple(full[d] for d in kept), separator, at)
        joined = _reduced(rows, tuple(full[d] for d in kept), separator, "joined")
        target = [1 if d in axes else lengths[d] for d in range(rank)]
        result = array.reshape(joined, target, name=at)
        result.set_shape([1 if d in axes else full[d] for d in range(rank)])
        return result


def _axes(wanted: Any, rank: int) -> list[int]:
    given = list(range(rank))[::-1] if wanted is None else static_ints(wanted)
    if given is None or None in given:
        raise ValueError("ReduceJoin: axis must be known while the graph is built")
    found: list[int] = []
    for axis in given:
        assert axis is not None
        if not -rank <= axis < rank:
            raise ValueError(f"ReduceJoin: Invalid reduction dimension {axis} for rank {rank}")
        if axis % rank in found:
            raise ValueError(f"ReduceJoin: Duplicate reduction dimension {axis}")
        found.append(axis % rank)
    return found


def _reduced(rows: Tensor, dims: Dims, separator: str, at: str) -> Tensor:
    return _made(
        "StringReduceJoin", [rows], dtypes.string, dims, at, "ReduceJoin", separator=separator
    )


# ---- numbers ----


def string_to_number(
    string_tensor: Any = None,
    out_type: Any = dtypes.float32,
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """The number that each text writes.

    Args:
        string_tensor, input: string tensor. A run in which one is no number is an
            InvalidArgumentError.
        out_type: float32, float64, int32 or int64.
        name: of the operation.

    Raises:
        TypeError: it is no text, or out_type is another one.
    """
    with scope(name, "StringToNumber") as at:
        x = as_text(string_tensor if input is None else input, "input")
        wanted = dtypes.as_dtype(out_type)
        if wanted not in (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64):
            raise TypeError(
                f"StringToNumber: out_type is {wanted.name}, expected float32, float64, int32 or "
                "int64"
            )
        return _made("StringToNumber", [x], wanted, dims_of(x), at, "StringToNumber", dtype=wanted)


def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Numbers as text, as C's printf writes them.

    Args:
        input: numbers or bools.
        precision: digits after the point of floats; -1: 6.
        scientific, shortest: floats as %e or %g instead of %f.
        width: at least so many characters; -1: as many as there are.
        fill: "", or one of printf's flags " ", "+", "-", "0", "#".
        name: of the operation.

    Raises:
        ValueError: the options do not go together, or not with the dtype.
        TypeError: input is neither numbers nor bools.
    """
    with scope(name, "AsString") as at:
        x = convert_to_tensor(input, name="input")
        floating = x.dtype in _PRINTED
        if not floating and not x.dtype.is_integer and x.dtype != dtypes.bool:
            raise TypeError(f"AsString: input is {x.dtype.name}, expected numbers or bools")
        if scientific and shortest:
            raise ValueError("AsString: Cannot select both scientific and shortest notation")
        if not floating and (scientific or shortest or precision >= 0):
            raise ValueError(
                f"AsString: scientific, shortest and precision are not supported for {x.dtype.name}"
            )
        if fill not in ("", " ", "+", "-", "0", "#"):
            raise ValueError(f'AsString: Fill argument not supported: "{fill}"')
        if max(width, precision) > _MOST_WIDTH:
            raise ValueError(f"AsString: width and precision are at most {_MOST_WIDTH}")
        return _made(
            "AsString",
            [x],
            dtypes.string,
            dims_of(x),
            at,
            "AsString",
            precision=int(precision),
            scientific=int(scientific),
            shortest=int(shortest),
            width=int(width),
            fill=fill,
        )


_PRINTED = (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)
_MOST_WIDTH = 100


def decode_raw(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Tensor:
    """The bytes of texts as numbers.

    Args:
        input_bytes, bytes: string tensor whose texts have one length, in a run, that is a multiple
            of the dtype's size.
        out_type: dtype of the numbers.
        little_endian: False: the bytes of each number come the highest first.
        name: of the operation.

    Returns:
        The numbers, with one dimension more than the input.

    Raises:
        TypeError: it is no text, or there is no such out_type.
    """
    with scope(name, "DecodeRaw") as at:
        x = as_text(input_bytes if bytes is None else bytes, "bytes")
        wanted = dtypes.as_dtype(out_type)
        if wanted == dtypes.string or wanted.number > dtypes.bfloat16.number:
            raise TypeError(f"DecodeRaw: out_type is {wanted.name}, expected a type of numbers")
        dims = dims_of(x)
        return _made(
            "DecodeRaw",
            [x],
            wanted,
            None if dims is None else (*dims, None),
            at,
            "DecodeRaw",
            dtype=wanted,
            little_endian=int(little_endian),
        )
