"""tf.strings: operators on text that a file has, so that both engines run them alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio import dtypes
from graphio.constants import convert_to_tensor
from graphio.dtypes import DType
from graphio.gradient_registry import not_differentiable
from graphio.graph import Tensor
from graphio.ops import array, shapes
from graphio.ops.emit import INTEGER, describe, operation, require, scope, static_ints
from graphio.ops.shapes import Dims, dims_of

__all__ = [
    "as_string",
    "decode_raw",
    "length",
    "lower",
    "reduce_join",
    "string_join",
    "string_strip",
    "string_to_number",
    "substr",
    "upper",
]

_OURS = (
    *("StringJoin", "StringReduceJoin", "StringLength", "StringSubstr", "StringChange"),
    *("StringToNumber", "AsString", "DecodeRaw"),
)
not_differentiable(*_OURS, domain="graphio")

_UNITS = ("BYTE", "UTF8_CHAR")


def text_tensor(value: Any, op: str, parameter: str) -> Tensor:
    """value as a tensor of strings.

    Raises:
        TypeError: it is no text.
    """
    tensor = convert_to_tensor(value, name=parameter)
    if tensor.dtype != dtypes.string:
        raise TypeError(
            f"Value passed to parameter '{parameter}' of '{op}' has DataType {tensor.dtype.name}, "
            "expected string; tf.as_string makes text of numbers"
        )
    return tensor


def _made(
    op: str, inputs: Sequence[Tensor], of: DType, dims: Dims, at: str, tf_type: str, **attrs: Any
) -> Tensor:
    made = operation(
        op, inputs, [(of, dims)], name=at, domain="graphio", tf_type=tf_type, attrs=attrs
    )
    return made.outputs[0]


def _unit(unit: Any, op: str) -> str:
    if unit not in _UNITS:
        raise ValueError(f"{op}: unit is {unit!r}, expected one of {', '.join(_UNITS)}")
    return str(unit)


# ---- joining ----


def string_join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> Tensor:
    """The texts of all inputs, element by element one after another.

    Args:
        inputs: list of string tensors of one shape; scalars go with any.
        separator: between them.
        name: of the operation.

    Raises:
        TypeError: an input is no text.
        ValueError: there are none, or the shapes differ.
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError("string_join: expected at least one input, in a list")
    with scope(name, "StringJoin") as at:
        tensors = [text_tensor(x, "StringJoin", f"inputs_{i}") for i, x in enumerate(inputs)]
        dims: Dims = ()
        for tensor in tensors:
            if tensor.shape.ndims != 0:
                own = dims_of(tensor)
                dims = own if dims == () else shapes.merge(dims, own, describe(at, "StringJoin"))
        return _made(
            "StringJoin", tensors, dtypes.string, dims, at, "StringJoin", separator=separator
        )


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
        x = text_tensor(inputs, "ReduceJoin", "inputs")
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


# ---- length and parts ----


def length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """How long each text is (int32).

    Args:
        input: string tensor.
        name: of the operation.
        unit: BYTE or UTF8_CHAR.

    Raises:
        TypeError: input is no text.
        ValueError: unit is neither.
    """
    with scope(name, "StringLength") as at:
        x = text_tensor(input, "StringLength", "input")
        unit = _unit(unit, "StringLength")
        return _made("StringLength", [x], dtypes.int32, dims_of(x), at, "StringLength", unit=unit)


def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Part of each text, as far as there is so much.

    Args:
        input: string tensor.
        pos: where it begins, int32 or int64; a negative one counts from the end. A run in which it
            is outside of the text is an InvalidArgumentError.
        len: how long it is; all three broadcast.
        name: of the operation.
        unit: of pos and len, BYTE or UTF8_CHAR.

    Raises:
        TypeError: input is no text, or pos and len are no integers of one dtype.
        ValueError: the shapes do not broadcast.
    """
    with scope(name, "Substr") as at:
        x = text_tensor(input, "Substr", "input")
        first = convert_to_tensor(pos, name="pos")
        require(first, INTEGER, "Substr", "pos")
        count = convert_to_tensor(len, dtype=first.dtype, name="len")
        what = describe(at, "Substr")
        dims = shapes.broadcast(dims_of(first), dims_of(count), what)
        dims = shapes.broadcast(dims_of(x), dims, what)
        unit = _unit(unit, "Substr")
        return _made(
            "StringSubstr", [x, first, count], dtypes.string, dims, at, "Substr", unit=unit
        )


# ---- change ----


def _changed(value: Any, change: str, tf_type: str, name: str | None) -> Tensor:
    with scope(name, tf_type) as at:
        x = text_tensor(value, tf_type, "input")
        return _made("StringChange", [x], dtypes.string, dims_of(x), at, tf_type, change=change)


def string_strip(input: Any, name: str | None = None) -> Tensor:
    """The texts without white space at both ends."""
    return _changed(input, "strip", "StringStrip", name)


def lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """The texts in lower case.

    Args:
        input: string tensor.
        encoding: "": ASCII letters alone; "utf-8" all letters, by a function of Python's that a
            saved model does not have.
        name: of the operation.
    """
    return _cased(input, encoding, "lower", "StringLower", name)


def upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """The texts in upper case; see lower."""
    return _cased(input, encoding, "upper", "StringUpper", name)


def _cased(value: Any, encoding: str, change: str, tf_type: str, name: str | None) -> Tensor:
    from graphio.ops.text_calls import change_unicode

    if encoding == "utf-8":
        return change_unicode(value, change, tf_type, name)
    if encoding != "":
        raise ValueError(f"{tf_type}: encoding is {encoding!r}, expected '' or 'utf-8'")
    return _changed(value, change, tf_type, name)


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
        x = text_tensor(string_tensor if input is None else input, "StringToNumber", "input")
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
        x = text_tensor(input_bytes if bytes is None else bytes, "DecodeRaw", "bytes")
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
