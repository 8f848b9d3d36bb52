"""Arrays as JSON: numbers with as many digits as bring the same bits back.

float32 is written as TensorFlow Serving does, with six digits where they are enough and else nine.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.schema import dtypes
from graphio.support import errors

__all__ = ["elements", "nested", "quoted", "rows_of", "text_of"]

Array = np.ndarray[Any, Any]
_SIX = "%.6g".__mod__
_NINE = "%.9g".__mod__
_SPECIAL = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def text_of(array: Array, what: str, as_binary: bool = False) -> str:
    """An array as nested lists.

    Args:
        array: of any shape; a scalar becomes a value.
        what: for errors.
        as_binary: strings as {"b64": ...}.

    Raises:
        UnimplementedError: a type that has no form in JSON.
    """
    return nested(elements(array, what, as_binary), array.shape)


def rows_of(array: Array, what: str, as_binary: bool = False) -> list[str]:
    """The rows of an array that has some dimension, each as text_of gives it."""
    size = math.prod(array.shape[1:])
    parts = elements(array, what, as_binary)
    return [
        nested(parts[i * size : (i + 1) * size], array.shape[1:]) for i in range(array.shape[0])
    ]


def nested(parts: Sequence[str], shape: Sequence[int]) -> str:
    """Elements in the order of a shape as nested lists."""
    level = list(parts)
    for axis in range(len(shape) - 1, -1, -1):
        size, count = shape[axis], math.prod(shape[:axis])
        level = [f"[{','.join(level[i * size : (i + 1) * size])}]" for i in range(count)]
    return level[0]


def elements(array: Array, what: str, as_binary: bool = False) -> list[str]:
    """Each element as JSON, in order. Arguments and errors as of text_of."""
    kind = array.dtype.kind
    if kind == "O":
        return [_string(value, as_binary) for value in array.reshape(-1).tolist()]
    name = dtypes.of_numpy(array.dtype).name
    if kind == "V" and "float" in name:  # of ml_dtypes
        return _floats(array.reshape(-1))
    if kind not in _WRITERS:
        raise errors.UnimplementedError(message=f"{what} is {name}, which has no form in JSON")
    return _WRITERS[kind](array.reshape(-1))


def quoted(text: str) -> str:
    """A string as JSON."""
    return json.dumps(text)


def _floats(flat: Array) -> list[str]:
    if flat.dtype == np.float64:
        made = list(map(repr, flat.tolist()))
    else:
        flat = flat.astype(np.float32)
        numbers = flat.tolist()
        made = list(map(_SIX, numbers))
        with np.errstate(over="ignore"):
            inexact = np.flatnonzero(np.array(list(map(float, made)), np.float32) != flat)
        for i in inexact.tolist():
            made[i] = _NINE(numbers[i])
    # Without ".0" a reader would take integral ones for integers.
    made = [text if "." in text or "e" in text else f"{text}.0" for text in made]
    if not np.isfinite(flat).all():
        for i in np.flatnonzero(~np.isfinite(flat)).tolist():
            made[i] = _SPECIAL[made[i].removesuffix(".0")]
    return made


def _integers(flat: Array) -> list[str]:
    return list(map(str, flat.tolist()))


def _booleans(flat: Array) -> list[str]:
    return ["true" if value else "false" for value in flat.tolist()]


def _string(value: bytes, as_binary: bool) -> str:
    """Text, or {"b64": ...} on request and for what is not UTF-8."""
    if not as_binary:
        try:
            return quoted(value.decode())
        except UnicodeDecodeError:
            pass
    return json.dumps({"b64": base64.b64encode(value).decode()})


_WRITERS: dict[str, Callable[[Array], list[str]]] = {
    "f": _floats,
    "i": _integers,
    "u": _integers,
    "b": _booleans,
}
