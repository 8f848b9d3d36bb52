"""np.where without its branch, which costs ten times the rest where the condition is like a coin's:
whole numbers of the elements' size are multiplied by 0 and 1 or joined bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np

_WHOLE = {2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}
_WORTH_IT = 512  # elements; below it one call of numpy is faster than three


def _whole(x: Any) -> Any:
    """The type whose numbers have x's bits; None if there is none."""
    return _WHOLE.get(x.itemsize) if x.dtype.kind in "fiu" else None


def kept(condition: Any, x: Any, out: Any = None) -> Any:
    """x where the condition holds, else +0.

    Args:
        condition: booleans that broadcast with x.
        x: numbers.
        out: an array for the result, which may be x; None: a new one.
    """
    whole = _whole(x)
    if whole is None:
        return np.where(condition, x, x.dtype.type(0))
    if out is None:
        return np.multiply(x.view(whole), condition).view(x.dtype)
    np.multiply(x.view(whole), condition, out=out.view(whole))
    return out


def chosen(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, else y; as np.where for arrays of one dtype."""
    whole = _whole(x) if x.size > _WORTH_IT and x.dtype == y.dtype else None
    if whole is None:
        return np.where(condition, x, y)
    y = y.view(whole)
    differing = np.multiply(np.bitwise_xor(x.view(whole), y), condition)
    return np.bitwise_xor(differing, y, out=differing).view(x.dtype)
