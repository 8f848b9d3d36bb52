"""String operators by Python: a model saved with one needs its function again to run it.

Strings are bytes. Each function is registered with the graph once, under a name that says what it
does; see graphio.ops.base.host.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.engine import tensor_text
from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Operation, Tensor
from graphio.framework.graph_state import attachments
from graphio.framework.graph_state.attachments import Attachment
from graphio.framework.tensor_shape import TensorShape
from graphio.framework.undo import Table
from graphio.ops.base.emit import scope
from graphio.ops.base.host import host_call_to
from graphio.ops.base.shapes import Dims, dims_of
from graphio.ops.strings import hashes, patterns
from graphio.support import api_guard, errors

__all__ = [
    "as_bytes",
    "as_text",
    "decode_base64",
    "encode_base64",
    "regex_full_match",
    "regex_replace",
    "string_format",
    "string_to_hash_bucket",
    "string_to_hash_bucket_fast",
    "string_to_hash_bucket_strong",
    "utf8_cased",
]

Array = np.ndarray[Any, Any]
Work = Callable[..., "Sequence[Array]"]
#: by TensorFlow's type and options of an operation, the name of its function
_FUNCTIONS: Attachment[Table[Any, str]] = attachments.table("string_functions")


# ---- calls ----


def call(
    tf_type: str,
    work: Work,
    inputs: Sequence[Tensor],
    outputs: Sequence[tuple[DType, Dims]],
    at: str,
    **options: Any,
) -> Operation:
    """The operation that gives work(*arrays, **options)."""
    graph = scopes.get_default_graph().root
    known = _FUNCTIONS.of(graph)
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


def mapped(
    tf_type: str,
    value: Any,
    function: Callable[..., Any],
    name: str | None,
    dtype: DType = dtypes.string,
    **options: Any,
) -> Tensor:
    """An operation that converts each string to one element."""

    def work(string_values: Array, **given: Any) -> Sequence[Array]:
        return [_each(lambda t: function(t, **given), string_values, dtype=dtype.as_numpy_dtype)]

    with scope(name, tf_type) as at:
        x = as_text(value)
        made = call(tf_type, work, [x], [(dtype, dims_of(x))], at, **options)
        return made.outputs[0]


# ---- text by text ----


def utf8_cased(input: Any, way: str, name: str | None) -> Tensor:
    """Letters of every language made small (way: lower) or large (upper)."""

    def cased(text: bytes, way: str) -> bytes:
        return str(getattr(text.decode("utf-8", "replace"), way)()).encode()

    return mapped(f"String{way.capitalize()}", input, cased, name, way=way)


@api_guard.operator
def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Whether each string as a whole matches a regular expression: bool.

    Args:
        input: string tensor.
        pattern: text, or string scalar tensor: a regular expression of RE2's syntax on UTF-8. A
            run with one that is none is an InvalidArgumentError.
        name: of the operation.

    Raises:
        TypeError: input or pattern is not a string.
    """
    if isinstance(pattern, Tensor):
        with scope(name, "RegexFullMatch") as at:
            inputs = [as_text(input), as_text(pattern)]
            outputs = [(dtypes.bool, dims_of(inputs[0]))]
            return call("RegexFullMatch", _full_matches, inputs, outputs, at).outputs[0]

    def matches(text: bytes, pattern: bytes) -> bool:
        return patterns.full_match(pattern, text)

    return mapped("StaticRegexFullMatch", input, matches, name, dtypes.bool,
                   pattern=as_bytes(pattern))  # fmt: skip


def _full_matches(string_values: Array, pattern: Array) -> Sequence[Array]:
    """Work of regex_full_match by a pattern of the run."""
    known = _scalar(pattern, "Pattern")
    return [_each(lambda t: patterns.full_match(known, t), string_values, dtype=np.bool_)]


def _scalar(value: Array, what: str) -> bytes:
    """The text of an input that a run must give as one."""
    if np.ndim(value):
        raise errors.InvalidArgumentError(
            message=f"{what} must be scalar, but received {list(np.shape(value))}"
        )
    return bytes(np.asarray(value, object).item())


@api_guard.operator
def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    """Strings with the matches of a regular expression replaced.

    Args:
        input: string tensor.
        pattern: as regex_full_match's.
        rewrite: text, or string scalar tensor; \\\\1 to \\\\9 stand for groups, \\\\0 for the
            complete match.
        replace_global: False replaces the first match alone.
        name: of the operation.

    Raises:
        TypeError: input, pattern or rewrite is not a string.
    """
    if isinstance(pattern, Tensor) or isinstance(rewrite, Tensor):
        with scope(name, "RegexReplace") as at:
            inputs = [as_text(input), as_text(pattern), as_text(rewrite)]
            outputs = [(dtypes.string, dims_of(inputs[0]))]
            options = {"replace_global": bool(replace_global)}
            return call("RegexReplace", _replacements, inputs, outputs, at, **options).outputs[0]

    def replaced(text: bytes, pattern: bytes, rewrite: bytes, replace_global: bool) -> bytes:
        return patterns.replaced(pattern, rewrite, replace_global, text)

    return mapped(
        "StaticRegexReplace", input, replaced, name, pattern=as_bytes(pattern),
        rewrite=as_bytes(rewrite), replace_global=bool(replace_global),
    )  # fmt: skip


def _replacements(
    string_values: Array, pattern: Array, rewrite: Array, replace_global: bool
) -> Sequence[Array]:
    """Work of regex_replace by a pattern and a rewrite of the run."""
    known, to = _scalar(pattern, "Pattern"), _scalar(rewrite, "Rewrite")
    return [_each(lambda t: patterns.replaced(known, to, replace_global, t), string_values)]


def as_bytes(text: Any) -> bytes:
    """A Python text as bytes.

    Raises:
        TypeError: it is something else, as a tensor, which only a run knows.
    """
    if isinstance(text, str):
        return text.encode("utf-8", "surrogateescape")
    if isinstance(text, bytes):
        return bytes(text)
    raise TypeError(f"expected a Python text, got {text!r} of {type(text).__name__}")


def split_by(x: Tensor, mark: Tensor, tf_type: str, at: str, **options: Any) -> Operation:
    """The parts of the strings of a vector between marks that only a run knows: their indices, the
    parts, and the shape of both.

    Args:
        x: string vector.
        mark: string scalar.
        tf_type: type of the operation in TensorFlow.
        at: its name.
        options: letters, skip_empty and limit, as StringSplit's attributes.
    """
    outputs: list[tuple[DType, Dims]] = [
        (dtypes.int64, (None, 2)), (dtypes.string, (None,)), (dtypes.int64, (2,)),
    ]  # fmt: skip
    return call(tf_type, _split, [x, mark], outputs, at, **options)


def _split(
    string_values: Array, mark: Array, letters: int, skip_empty: int, limit: int
) -> Sequence[Array]:
    """Work of split_by."""
    known = _scalar(mark, "delimiter" if letters else "sep")
    if string_values.ndim != 1:
        raise errors.InvalidArgumentError(
            message=f"the strings have shape {list(string_values.shape)}, expected a vector"
        )
    rows = [_parts(text, known, letters, skip_empty, limit) for text in string_values.tolist()]
    positions = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    values = np.empty(len(positions), object)
    values[:] = [part for row in rows for part in row]
    shape = np.array([len(rows), max(map(len, rows), default=0)], np.int64)
    return [np.array(positions, np.int64).reshape(-1, 2), values, shape]


def _parts(text: bytes, mark: bytes, letters: int, skip_empty: int, limit: int) -> list[bytes]:
    if not letters:
        return text.split(mark or None, limit)
    if not mark:
        return [text[i : i + 1] for i in range(len(text))]
    parts = re.split(b"[" + re.escape(mark) + b"]", text)
    return [part for part in parts if part or not skip_empty]


def _bucketed(
    tf_type: str, function: Callable[..., int], input: Any, num_buckets: int, name: str | None,
    **options: Any,
) -> Tensor:  # fmt: skip
    """The hash of each string modulo num_buckets."""
    if num_buckets < 1:
        raise ValueError(f"num_buckets is {num_buckets}, expected 1 or more")

    def bucket(text: bytes, num_buckets: int, **given: Any) -> int:
        return function(text, **given) % num_buckets

    return mapped(
        tf_type, input, bucket, name, dtypes.int64, num_buckets=int(num_buckets), **options
    )


@api_guard.operator
def string_to_hash_bucket(
    string_tensor: Any = None, num_buckets: int | None = None, name: str | None = None,
    input: Any = None,
) -> Tensor:  # fmt: skip
    """A number below num_buckets for each string, the same in every run and on every machine.

    The hash is MurmurHash64A, as TensorFlow's, so that rows of a table that was trained there are
    found.

    Args:
        string_tensor: string tensor.
        num_buckets: how many numbers there are, 1 or more.
        name: of the operation.
        input: the newer name of string_tensor.

    Returns:
        An int64 tensor of input's shape.

    Raises:
        ValueError: num_buckets is less than 1, or both names of the tensor are given, or none.
    """
    if (string_tensor is None) == (input is None) or num_buckets is None:
        raise ValueError("expected num_buckets, and one of string_tensor and input")
    given = input if string_tensor is None else string_tensor
    return _bucketed("StringToHashBucket", hashes.murmur64, given, num_buckets, name)


@api_guard.operator
def string_to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """As string_to_hash_bucket, by FarmHash's Fingerprint64, as TensorFlow's."""
    return _bucketed("StringToHashBucketFast", hashes.fingerprint64, input, num_buckets, name)


@api_guard.operator
def string_to_hash_bucket_strong(
    input: Any, num_buckets: int, key: Any, name: str | None = None
) -> Tensor:
    """As string_to_hash_bucket, by SipHash-2-4, as TensorFlow's.

    Args:
        input: string tensor.
        num_buckets: how many numbers there are, 1 or more.
        key: two integers: secret, so that strings of one bucket cannot be chosen on purpose.
        name: of the operation.

    Raises:
        InvalidArgumentError: key has not two.
        ValueError: num_buckets is less than 1.
    """
    if len(key) != 2:
        raise errors.InvalidArgumentError(message=f"Key must have 2 elements, got {list(key)}")
    pair = int(key[0]), int(key[1])
    return _bucketed(
        "StringToHashBucketStrong", hashes.siphash64, input, num_buckets, name, key=pair
    )


@api_guard.operator
def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """Each string in web-safe base64; pad: with "=" at its end."""

    def encoded(text: bytes, pad: bool) -> bytes:
        found = base64.urlsafe_b64encode(text)
        return found if pad else found.rstrip(b"=")

    return mapped("EncodeBase64", input, encoded, name, pad=pad)


@api_guard.operator
def decode_base64(input: Any, name: str | None = None) -> Tensor:
    """Strings from web-safe base64, with or without "=" at the end.

    Raises:
        InvalidArgumentError: at run time: a string is not base64, or has too many or too few "=".
    """

    def decoded(text: bytes) -> bytes:
        letters = text.rstrip(b"=")
        missing = -len(letters) % 4
        if len(letters) == len(text) or len(text) == len(letters) + missing:
            if missing < 3 and _BASE64.fullmatch(letters):
                return base64.b64decode(letters + b"=" * missing, b"-_")
        raise errors.InvalidArgumentError(message=f"Invalid character found in base64: {text!r}")

    return mapped("DecodeBase64", input, decoded, name)


_BASE64 = re.compile(rb"[A-Za-z0-9_-]*")


# ---- formats ----


@api_guard.operator
def string_format(
    template: str,
    inputs: Any,
    placeholder: str = "{}",
    summarize: int = 3,
    name: str | None = None,
) -> Tensor:
    """A template with tensors as text in the places of its placeholders.

    Args:
        template: text.
        inputs: a tensor or a list of them, one a placeholder.
        placeholder: what stands for a tensor.
        summarize: elements that are shown at each end of every dimension; -1: all.
        name: of the operation.

    Returns:
        A scalar string tensor.

    Raises:
        ValueError: there is another number of placeholders than of inputs.
    """
    given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    pieces = template.split(placeholder)
    if len(pieces) != len(given) + 1:
        raise ValueError(
            f"{len(pieces) - 1} placeholder(s) in template does not match {len(given)} tensor(s) "
            "provided as input"
        )

    def fill(*values: Any, pieces: Sequence[str], summarize: int) -> Sequence[Any]:
        string_values = [*(tensor_text.nested(v, summarize) for v in values), ""]
        return ["".join(p + t for p, t in zip(pieces, string_values, strict=True))]

    with scope(name, "StringFormat") as at:
        tensors = [convert_to_tensor(x, name=f"inputs_{i}") for i, x in enumerate(given)]
        outputs: list[tuple[DType, Dims]] = [(dtypes.string, ())]
        options = {"pieces": tuple(pieces), "summarize": summarize}
        return call("StringFormat", fill, tensors, outputs, at, **options).outputs[0]
