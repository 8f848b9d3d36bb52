"""Tensors as text, as TensorFlow shows them: in failed assertions, tf.Print and tf.print."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def flat(array: Any, most: int) -> str:
    """ "1 2 3..." for a vector, "[1 2][3 4]" for a matrix, "5" for a scalar.

    Args:
        array: any array.
        most: elements that are shown; negative: all.
    """
    array = np.asarray(array)
    limit = array.size if most < 0 else min(most, array.size)
    if array.ndim == 0:
        return element(array[()]) if limit else "..."
    text = _rows(array, limit)[0]
    return text + "..." if array.size > limit else text


def _rows(array: Array, left: int) -> tuple[str, int]:
    """The first elements, and how many more may be shown."""
    if array.ndim == 1:
        shown = array[:left]
        return " ".join(map(element, shown)), left - len(shown)
    parts = []
    for row in array:
        if left <= 0:
            break
        text, left = _rows(row, left)
        parts.append(f"[{text}]")
    return "".join(parts), left


def nested(array: Any, edge: int, quote: bool = True) -> str:
    """ "[[1 2 ... 8 9]\\n [3 4 ... 6 7]]": the ends of every dimension.

    Args:
        array: any array.
        edge: elements that are shown at each end of a dimension; negative: all.
        quote: whether strings are in quotation marks.
    """
    array = np.asarray(array)
    return _nested(array, edge, quote, 1)


def _nested(array: Array, edge: int, quote: bool, depth: int) -> str:
    if array.ndim == 0:
        value = array[()]
        return f'"{element(value)}"' if quote and isinstance(value, bytes) else element(value)
    whole = edge < 0 or len(array) <= 2 * edge
    front = array if whole else array[:edge]
    back = array[:0] if whole else array[len(array) - edge :]
    parts = [_nested(np.asarray(row), edge, quote, depth + 1) for row in front]
    parts += [] if whole else ["..."]
    parts += [_nested(np.asarray(row), edge, quote, depth + 1) for row in back]
    between = " " if array.ndim == 1 else "\n" * (array.ndim - 1) + " " * depth
    return f"[{between.join(parts)}]"


def element(value: Any) -> str:
    """One element: floats with as few digits as give the value back, bools as 0 and 1."""
    if isinstance(value, (bytes, str)):
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    kind = np.asarray(value).dtype
    if kind.kind == "b":
        return str(int(value))
    if kind.kind in "iu":
        return str(int(value))
    if kind.kind == "c":
        part = np.float32 if kind.itemsize == 8 else np.float64
        return f"({element(part(value.real))},{element(part(value.imag))})"
    return _number(value, np.float64 if kind == np.float64 else np.float32)


def _number(value: Any, kind: type[np.floating[Any]]) -> str:
    """ "%.6g" of a float32 and "%.15g" of a float64 where that is exact, two digits more else."""
    digits = 15 if kind is np.float64 else 6
    number = float(value)
    short = f"{number:.{digits}g}"
    return short if kind(short) == kind(number) or number != number else f"{number:.{digits + 2}g}"
