"""Functions of texts, by Python: a model saved with one needs its function again to run it.

Texts are bytes. Each function is registered with the graph once, under a name that says what it
does; see graphio.ops.host.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio import dtypes, scopes
from graphio.constants import convert_to_tensor
from graphio.dtypes import DType
from graphio.graph import Operation, Tensor
from graphio.ops import shapes
from graphio.ops.emit import describe, scope, static_ints
from graphio.ops.host import host_call_to
from graphio.ops.shapes import Dims, dims_of
from graphio.schema import errors
from graphio.sparse_tensor import SparseTensor
from graphio.tensor_shape import TensorShape

__all__ = [
    "as_bytes",
    "as_string",
    "as_text",
    "decode_base64",
    "decode_raw",
    "encode_base64",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "string_split",
    "string_to_number",
    "utf8_cased",
]

Array = np.ndarray[Any, Any]
Work = Callable[..., "Sequence[Array]"]


# ---- calls ----


def _call(
    tf_type: str,
    work: Work,
    inputs: Sequence[Tensor],
    outputs: Sequence[tuple[DType, Dims]],
    at: str,
    **options: Any,
) -> Operation:
    """The operation that gives work(*arrays, **options)."""
    graph = scopes.get_default_graph().root
    known = graph.state_attributes.setdefault("text functions", {})
    key = (tf_type, tuple(sorted((k, repr(v)) for k, v in options.items())))
    if key not in known or known[key] not in graph.host_functions:

        def bind(session: Any) -> Callable[..., Any]:
            return lambda arrays: list(work(*arrays, **options))

        known[key] = graph.add_host_function(f"text/{tf_type}", bind)
    declared = [(dtype, TensorShape(dims)) for dtype, dims in outputs]
    return host_call_to(known[key], inputs, declared, False, at, tf_type)


def as_text(value: Any, name: str = "input") -> Tensor:
    """value as a string tensor."""
    return convert_to_tensor(value, dtype=dtypes.string, name=name)


def _each(function: Callable[..., Any], *arrays: Array, dtype: Any = object) -> Array:
    """function of the elements of arrays, which broadcast."""
    together = np.broadcast_arrays(*arrays)
    result = np.empty(together[0].shape, dtype)
    columns = zip(*(a.reshape(-1) for a in together), strict=True)
    result.reshape(-1)[:] = [function(*column) for column in columns] or result.reshape(-1)
    return result


def _mapped(
    tf_type: str,
    value: Any,
    function: Callable[..., Any],
    name: str | None,
    dtype: DType = dtypes.string,
    **options: Any,
) -> Tensor:
    """An operation that turns each text into one element."""

    def work(texts: Array, **given: Any) -> Sequence[Array]:
        return [_each(lambda t: function(t, **given), texts, dtype=dtype.as_numpy_dtype)]

    with scope(name, tf_type) as at:
        x = as_text(value)
        made = _call(tf_type, work, [x], [(dtype, dims_of(x))], at, **options)
        return made.outputs[0]


# ---- text by text ----


def utf8_cased(input: Any, way: str, name: str | None) -> Tensor:
    """Letters of every language made small (way: lower) or large (upper)."""

    def cased(text: bytes, way: str) -> bytes:
        return str(getattr(text.decode("utf-8", "replace"), way)()).encode()

    return _mapped(f"String{way.capitalize()}", input, cased, name, way=way)


def regex_full_match(input: Any, pattern: str, name: str | None = None) -> Tensor:
    """Whether the whole of each text matches a regular expression: bool.

    Args:
        input: string tensor.
        pattern: Python text: a regular expression (that of Python's re, on bytes).
        name: of the operation.

    Raises:
        ValueError: pattern is no regular expression.
    """
    compiled = _compiled(pattern)

    def matches(text: bytes, pattern: Any) -> bool:
        return compiled.fullmatch(text) is not None

    return _mapped("StaticRegexFullMatch", input, matches, name, dtypes.bool, pattern=pattern)


def regex_replace(
    input: Any, pattern: str, rewrite: str, replace_global: bool = True, name: str | None = None
) -> Tensor:
    """Texts with what matches a regular expression replaced.

    Args:
        input: string tensor.
        pattern: as regex_full_match's.
        rewrite: Python text; \\\\1 to \\\\9 stand for groups, \\\\0 for the whole match.
        replace_global: False replaces the first match alone.
        name: of the operation.

    Raises:
        ValueError: pattern is no regular expression.
    """
    compiled = _compiled(pattern)
    template = re.sub(rb"\\(\d)", rb"\\g<\1>", as_bytes(rewrite))

    def replaced(text: bytes, **_: Any) -> bytes:
        return compiled.sub(template, text, 0 if replace_global else 1)

    return _mapped(
        "StaticRegexReplace", input, replaced, name, pattern=pattern, rewrite=rewrite,
        replace_global=replace_global,
    )  # fmt: skip


def as_bytes(text: Any) -> bytes:
    """A Python text as bytes."""
    return text if isinstance(text, bytes) else str(text).encode()


def _compiled(pattern: Any) -> re.Pattern[bytes]:
    if isinstance(pattern, Tensor):
        raise TypeError("the pattern of a regular expression must be a Python text, not a tensor")
    try:
        return re.compile(as_bytes(pattern))
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None


def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """Each text in the letters of web-safe base64; pad: with "=" at its end."""

    def encoded(text: bytes, pad: bool) -> bytes:
        found = base64.urlsafe_b64encode(text)
        return found if pad else found.rstrip(b"=")

    return _mapped("EncodeBase64", input, encoded, name, pad=pad)


def decode_base64(input: Any, name: str | None = None) -> Tensor:
    """Texts from web-safe base64, with or without "=" at the end.

    Raises:
        InvalidArgumentError: at run time: a text is none of that.
    """

    def decoded(text: bytes) -> bytes:
        try:
            return base64.b64decode(text + b"=" * (-len(text) % 4), b"-_", validate=True)
        except ValueError:
            raise errors.InvalidArgumentError(
                message=f"Invalid character found in base64: {text!r}"
            ) from None

    return _mapped("DecodeBase64", input, decoded, name)


# ---- numbers ----


def string_to_number(
    string_tensor: Any = None,
    out_type: Any = dtypes.float32,
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """The number that each text spells.

    Args:
        string_tensor: string tensor.
        out_type: float32, float64, int32 or int64.
        name: of the operation.
        input: other name of string_tensor.

    Raises:
        InvalidArgumentError: at run time: a text spells none.
    """
    wanted = dtypes.as_dtype(out_type)
    if wanted not in (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64):
        raise TypeError(f"out_type is {wanted.name}, expected float32, float64, int32 or int64")

    def number(text: bytes, out: str) -> Any:
        try:
            if b"_" in text:
                raise ValueError
            found = float(text) if wanted.is_floating else int(text)
            if wanted.is_integer and not wanted.min <= found <= wanted.max:
                raise ValueError
            return found
        except ValueError:
            raise errors.InvalidArgumentError(
                message=f"StringToNumberOp could not correctly convert string: "
                f"{text.decode('utf-8', 'replace')}"
            ) from None

    given = string_tensor if input is None else input
    return _mapped("StringToNumber", given, number, name, wanted, out=wanted.name)


def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Each number as text.

    Args:
        input: tensor of numbers or bools.
        precision: digits after the point of floats; -1: 6.
        scientific: True: floats with an exponent.
        shortest: True: floats in the shorter one of both ways.
        width: the least width; -1: none.
        fill: what fills up to the width: "", " ", "0", "-" (fills behind).
        name: of the operation.

    Raises:
        ValueError: scientific and shortest are both given, or fill is longer than 1.
    """
    if scientific and shortest:
        raise ValueError("Cannot select both scientific and shortest notation")
    if len(fill) > 1:
        raise ValueError(f"Fill string must be one or fewer characters, but got {fill!r}")
    with scope(name, "AsString") as at:
        x = convert_to_tensor(input, name="input")
        if x.dtype == dtypes.string:
            raise TypeError(f"AsString: input '{x.name}' is a string already")
        if not x.dtype.is_floating and (scientific or shortest or precision >= 0):
            raise ValueError(f"AsString: precision and notation are for floats, not {x.dtype.name}")
        kind = "e" if scientific else "g" if shortest else "f"
        digits = "" if precision < 0 else f".{precision}"
        number = f"{digits}{kind}" if x.dtype.is_floating else "d"
        form = f"%{fill.strip()}{width if width >= 0 else ''}{number}"
        if x.dtype.is_bool:
            form = f"%{fill.strip('0 ')}{width if width >= 0 else ''}s"

        def work(values: Array, form: str) -> Sequence[Array]:
            return [_each(lambda v: (form % _plain(v)).encode(), values)]

        outputs = [(dtypes.string, dims_of(x))]
        return _call("AsString", work, [x], outputs, at, form=form).outputs[0]


def _plain(value: Any) -> Any:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return value.item() if isinstance(value, np.generic) else value


def decode_raw(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Tensor:
    """The numbers whose bytes each text is.

    Args:
        input_bytes: string tensor; its texts are equally long.
        out_type: dtype of the numbers.
        little_endian: the order of the bytes.
        name: of the operation.
        bytes: old name of input_bytes.

    Returns:
        A tensor of out_type with one more axis.

    Raises:
        InvalidArgumentError: at run time: the lengths differ or are no multiple of a number's.
    """
    if out_type is None:
        raise ValueError("decode_raw: out_type is required")
    wanted = dtypes.as_dtype(out_type)
    order = np.dtype(wanted.as_numpy_dtype).newbyteorder("<" if little_endian else ">")

    def work(texts: Array, order: Any) -> Sequence[Array]:
        flat = texts.reshape(-1).tolist()
        size = len(flat[0]) if flat else 0
        if any(len(t) != size for t in flat):
            raise errors.InvalidArgumentError(
                message="DecodeRaw requires input strings to all be the same size"
            )
        if size % order.itemsize:
            raise errors.InvalidArgumentError(
                message=f"Input to DecodeRaw has length {size} that is not a multiple of "
                f"{order.itemsize}, the size of {wanted.name}"
            )
        numbers = np.frombuffer(b"".join(flat), order).astype(wanted.as_numpy_dtype)
        return [numbers.reshape(*texts.shape, size // order.itemsize)]

    with scope(name, "DecodeRaw") as at:
        x = as_text(input_bytes if bytes is None else bytes, "bytes")
        dims = dims_of(x)
        outputs = [(wanted, None if dims is None else (*dims, None))]
        return _call("DecodeRaw", work, [x], outputs, at, order=order).outputs[0]


# ---- joining and splitting ----


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Texts joined along axes.

    Args:
        inputs: string tensor of known rank.
        axis: which axes, in the order in which they are joined; None: all, the last one first.
        keep_dims: old name of keepdims.
        separator: what stands between.
        name: of the operation.
        reduction_indices: old name of axis.
        keepdims: True keeps the axes, with size 1.

    Raises:
        ValueError: an axis is out of range.
    """
    keep = bool(keep_dims if keepdims is None else keepdims)
    with scope(name, "ReduceJoin") as at:
        x = as_text(inputs, "inputs")
        rank = x.shape.ndims
        if rank is None:
            raise ValueError("reduce_join: the rank of inputs must be known; use set_shape")
        given = static_ints(reduction_indices if axis is None else axis)
        wanted = list(range(rank))[::-1] if given is None else [a or 0 for a in given]
        axes = [shapes.normalize_axis(a, rank, describe(at, "ReduceJoin")) for a in wanted]

        def work(texts: Array, axes: list[int], keep: bool, separator: bytes) -> Sequence[Array]:
            for a in axes:
                texts = _joined_along(texts, a, separator)
            return [texts if keep else np.squeeze(texts, tuple(axes))]

        dims = shapes.reduced(dims_of(x), axes, keep, describe(at, "ReduceJoin"))
        outputs = [(dtypes.string, dims)]
        between = as_bytes(separator)
        return _call(
            "ReduceJoin", work, [x], outputs, at, axes=axes, keep=keep, separator=between
        ).outputs[0]


def _joined_along(texts: Array, axis: int, separator: bytes) -> Array:
    lines = np.moveaxis(texts, axis, -1)
    result = np.empty(lines.shape[:-1], object)
    for place in np.ndindex(result.shape):
        result[place] = separator.join(lines[place].tolist())
    return np.expand_dims(result, axis)


def string_split(
    source: Any, sep: Any = None, skip_empty: bool = True, delimiter: Any = None
) -> SparseTensor:
    """The parts of each text between the characters of sep.

    Args:
        source: string vector (n).
        sep: Python text: each of its bytes separates; "": every byte is a part; None: a space.
        skip_empty: True leaves empty parts out.
        delimiter: old name of sep.

    Returns:
        A SparseTensor (n, most parts of a text) of strings.

    Raises:
        ValueError: source is no vector.
    """
    chosen = delimiter if sep is None else sep
    marks = b" " if chosen is None else as_bytes(chosen)

    def parts(text: bytes, marks: bytes, skip_empty: bool) -> list[bytes]:
        if not marks:
            return [text[i : i + 1] for i in range(len(text))]
        found = re.split(b"[" + re.escape(marks) + b"]", text)
        return [part for part in found if part or not skip_empty]

    return _split("StringSplit", source, parts, None, marks=marks, skip_empty=skip_empty)


def split(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> SparseTensor:
    """The parts of each text, as Python's split gives them.

    Args:
        input: string vector (n).
        sep: Python text: what separates; None or "": white space.
        maxsplit: at most how many times a text is split; -1: as often as sep comes.
        result_type: SparseTensor; there are no ragged tensors.
        source: old name of input.
        name: name scope of the operations.

    Returns:
        A SparseTensor (n, most parts of a text) of strings.

    Raises:
        ValueError: the input is no vector, or result_type is another.
    """
    if result_type != "SparseTensor":
        raise ValueError(f"result_type is {result_type!r}; only 'SparseTensor' is there")

    def parts(text: bytes, sep: bytes, maxsplit: int) -> list[bytes]:
        return text.split(sep or None, maxsplit)

    given = source if input is None else input
    mark = b"" if sep is None else as_bytes(sep)
    return _split("StringSplitV2", given, parts, name, sep=mark, maxsplit=maxsplit)


def _split(
    tf_type: str, source: Any, parts: Callable[..., list[bytes]], name: str | None, **options: Any
) -> SparseTensor:
    def work(texts: Array, **given: Any) -> Sequence[Array]:
        rows = [parts(text, **given) for text in texts.tolist()]
        places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
        values = np.empty(len(places), object)
        values[:] = [part for row in rows for part in row]
        widest = max((len(row) for row in rows), default=0)
        indices = np.asarray(places, np.int64).reshape(-1, 2)
        return [indices, values, np.asarray([len(rows), widest], np.int64)]

    with scope(name, tf_type) as at:
        x = as_text(source, "source")
        if x.shape.ndims not in (1, None):
            raise ValueError(
                f"Shape must be rank 1 but is rank {x.shape.ndims} for {describe(at, tf_type)} "
                f"with input shapes: {shapes.text_of(x)}"
            )
        outputs: list[tuple[DType, Dims]] = [
            (dtypes.int64, (None, 2)), (dtypes.string, (None,)), (dtypes.int64, (2,)),
        ]  # fmt: skip
        made = _call(tf_type, work, [x], outputs, at, **options)
        return SparseTensor(*made.outputs)
