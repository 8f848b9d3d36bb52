"""Nested lists of JSON to arrays, as strictly as TensorFlow Serving: no guess at types or shapes.

A request is parsed in time linear in its size: each level of lists is one flat list.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import json
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from graphio.schema import dtypes
from graphio.serving.failures import invalid
from graphio.support import errors

__all__ = ["array", "decoded", "is_binary", "leaves", "parse", "shown"]

Array = np.ndarray[Any, Any]
_SHOWN = 256  # characters of a value in a message
#: the types that JSON's values have in Python, by the kind of the tensor
_NUMBERS = frozenset((int, float))
_ACCEPTED: dict[str, frozenset[type]] = {
    "f": _NUMBERS,
    "i": frozenset((int,)),
    "u": frozenset((int,)),
    "b": frozenset((bool,)),
    "O": frozenset((str, dict)),
}
_WORDS = {"f": "numbers", "i": "integers", "u": "integers", "b": "true or false", "O": "strings"}
_MOST_LEVELS = 64  # of lists: numpy's limit of dimensions


def parse(body: bytes | memoryview) -> dict[str, Any]:
    """The JSON object of a request; the tokens NaN, Infinity and -Infinity are numbers.

    Raises:
        InvalidArgumentError: it is not JSON, or not an object.
    """
    if not body:
        raise invalid("JSON Parse error: The document is empty")
    try:
        found = json.loads(bytes(body))
    except json.JSONDecodeError as error:
        raise invalid(f"JSON Parse error: {error.msg} at offset: {error.pos}") from None
    except RecursionError:
        raise invalid("JSON Parse error: lists or objects are nested too deep") from None
    except ValueError as error:  # not UTF-8, or a number of thousands of digits
        raise invalid(f"JSON Parse error: {error}") from None
    if not isinstance(found, dict):
        raise invalid(f"JSON Value: {shown(found)} Is not object")
    return found


def shown(value: Any) -> str:
    """A value in a message, cut to a length that does not depend on the request's."""
    if isinstance(value, list) and len(value) > _SHOWN:
        value = value[:_SHOWN]
    elif isinstance(value, dict) and len(value) > _SHOWN:
        value = dict(itertools.islice(value.items(), _SHOWN))
    try:
        text = json.dumps(value)
    except RecursionError:  # deeper than JSON is written, not deeper than it is read
        text = "nested lists or objects"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def leaves(value: Any, what: str) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of nested lists, and their elements in order.

    Raises:
        InvalidArgumentError: lists of one level have different lengths, or only some are lists.
    """
    shape: list[int] = []
    level: list[Any] = [value]
    while level and type(level[0]) is list:
        if set(map(type, level)) != {list}:
            other = next(item for item in level if type(item) is not list)
            raise invalid(
                f"{what}: JSON Value: {shown(other)} found at level {len(shape)}, where other "
                "elements are lists"
            )
        sizes = set(map(len, level))
        if len(sizes) != 1:
            few = ", ".join(map(str, itertools.islice(sorted(sizes), 8)))
            raise invalid(
                f"{what}: lists at level {len(shape)} have sizes {few}, expected one size"
            )
        if len(shape) == _MOST_LEVELS:
            raise invalid(f"{what}: lists are nested more than {_MOST_LEVELS} deep")
        shape += sizes
        level = list(itertools.chain.from_iterable(level))
    return tuple(shape), level


def array(shape: Sequence[int], values: list[Any], dtype: np.dtype[Any], what: str) -> Array:
    """An array of a tensor's type.

    Args:
        shape: its shape.
        values: its elements, as JSON has them; strings as text or {"b64": ...}.
        dtype: of the tensor.
        what: for errors.

    Raises:
        InvalidArgumentError: an element of another type, or out of range.
        UnimplementedError: a type that has no form in JSON.
    """
    kind = _kind_of(dtype)
    if kind not in _ACCEPTED:
        name = dtypes.of_numpy(dtype).name
        raise errors.UnimplementedError(message=f"{what} is {name}, which has no form in JSON")
    _check_types(values, _ACCEPTED[kind], _WORDS[kind], dtype, what)
    if kind == "O":
        made = np.empty(len(values), object)
        made[:] = [_string(value, what) for value in values]
        return made.reshape(shape)
    try:
        with np.errstate(over="ignore"):  # a number too large for float32 is infinite
            return np.array(values, dtype).reshape(shape)
    except OverflowError:
        raise invalid(
            f"{what}: a number is out of range for {dtypes.of_numpy(dtype).name}"
        ) from None


def _kind_of(dtype: np.dtype[Any]) -> str:
    """numpy's letter; types of ml_dtypes, which are V, are numbers as float32 is."""
    if dtype.kind != "V":
        return dtype.kind
    return "f" if "float" in dtypes.of_numpy(dtype).name else "i"


def _check_types(
    values: list[Any], accepted: Collection[type], words: str, dtype: np.dtype[Any], what: str
) -> None:
    found = set(map(type, values))
    if not found <= accepted:  # type: ignore[operator]
        other = next(value for value in values if type(value) not in accepted)
        raise invalid(
            f"{what}: JSON Value: {shown(other)} is not of expected type: "
            f"{dtypes.of_numpy(dtype).name} ({words})"
        )


def is_binary(value: Any) -> bool:
    """Whether an object is {"b64": text}."""
    return type(value) is dict and len(value) == 1 and type(value.get("b64")) is str


def decoded(value: dict[str, str], what: str) -> bytes:
    """The bytes of {"b64": text}, of either alphabet, with or without padding.

    Raises:
        InvalidArgumentError: it is not base64.
    """
    text = value["b64"].replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise invalid(f"{what}: Unable to base64 decode {shown(value)}") from None


def _string(value: Any, what: str) -> bytes:
    if type(value) is str:
        return encoded(value, what)
    if not is_binary(value):
        raise invalid(f"{what}: JSON Value: {shown(value)} not formatted correctly for base64 data")
    return decoded(value, what)


def encoded(text: str, what: str) -> bytes:
    """UTF-8. Raises InvalidArgumentError: half of a surrogate pair."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise invalid(f"{what}: JSON Value: {shown(text)} is half of a surrogate pair") from None
