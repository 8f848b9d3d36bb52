"""Stored values as another dtype, refused where a value would be lost."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.schema import dtypes, small_types

Array = np.ndarray[Any, Any]

_BOOL, _INTEGER, _FLOAT, _COMPLEX = range(4)
_KINDS = {"bool": _BOOL, "complex64": _COMPLEX, "complex128": _COMPLEX}
_PARTS = {"complex64": "float32", "complex128": "float64"}
_NO_TARGET = {"string", "float8e8m0"}  # the latter has neither zero nor signs


def castable(stored: int, requested: int) -> bool:
    """Whether values of one element type may become another: upwards from bool to integer, float
    and complex, and to any size of the same kind.

    Args:
        stored, requested: the element types' numbers.
    """
    one, other = dtypes.name(stored), dtypes.name(requested)
    if one == other:
        return True
    if stored not in dtypes.BY_NUMBER or one == "string" or other in _NO_TARGET:
        return False
    return _kind(one) <= _kind(other)


def _kind(name: str) -> int:
    return _KINDS.get(name, _INTEGER if "int" in name else _FLOAT)


def cast(array: Array, number: int) -> Array:
    """The array as an element type that castable admits.

    Args:
        array: of any dtype.
        number: of the requested element type.

    Raises:
        ValueError: an integer is beyond what the type holds exactly, a number beyond its range,
            or it has no NaN or infinity and there is one; the text says which.
    """
    row = dtypes.of_number(number)
    requested = small_types.numpy_dtype(row)
    if array.dtype == requested:
        return array
    stored = dtypes.of_numpy(array.dtype).name
    if row.name in _PARTS:
        part = dtypes.BY_NAME[_PARTS[row.name]].number
        if stored in _PARTS:
            parts = np.ascontiguousarray(array).reshape(-1).view(_PARTS[stored])
            made: Array = cast(parts, part).view(requested).reshape(array.shape)
            return made
        made = cast(array, part).astype(requested)
        return made
    if _kind(stored) == _INTEGER:
        _check_integers(array, row.name)
    elif _kind(stored) == _FLOAT:
        return _rounded(array, requested, row.name)
    plain: Array = array.astype(requested)
    return plain


def _check_integers(array: Array, name: str) -> None:
    if not array.size:
        return
    known = (array if array.dtype.kind in "iu" else array.astype(np.int64)).reshape(-1)
    if _kind(name) == _FLOAT:
        lost = known[_inexact(known, _limits(name))]
        if lost.size:
            raise ValueError(f"{name} does not hold {lost.flat[0]} exactly")
        return
    low, high = int(_limits(name).min), int(_limits(name).max)
    least, most = int(known.min()), int(known.max())
    if least < low or most > high:
        beyond = least if least < low else most
        raise ValueError(f"{beyond} is beyond the range of {name}, {low} to {high}")


def _inexact(integers: Array, limits: Any) -> Array:
    """A mask of the integers that a float of these limits rounds."""
    sizes = integers.astype(np.uint64)  # of negative ones as two's complement
    with np.errstate(over="ignore"):  # numpy warns of scalars
        sizes = np.where(integers < 0, ~sizes + np.uint64(1), sizes)
        odd = sizes // np.maximum(sizes & (~sizes + np.uint64(1)), np.uint64(1))
    inexact: Array = (odd >= 2 ** (limits.nmant + 1)) | (sizes > int(limits.max))
    return inexact


def _rounded(array: Array, requested: np.dtype[Any], name: str) -> Array:
    limit = float(_limits(name).max)
    if float(_limits(dtypes.of_numpy(array.dtype).name).max) < limit:
        wider: Array = array.astype(requested)
        return wider
    wide = array if array.dtype.kind == "f" else array.astype(np.float32)
    finite = np.isfinite(wide)
    beyond = finite & (np.abs(wide) > limit)
    if beyond.any():
        raise ValueError(f"{wide[beyond].flat[0]} is beyond the range of {name}, {limit:g}")
    with np.errstate(all="ignore"):
        made = array.astype(requested)
    back = made.astype(np.float64)
    if not (np.isnan(back) == np.isnan(wide)).all() or not (np.isinf(back) == np.isinf(wide)).all():
        raise ValueError(f"{wide[~finite].flat[0]} cannot be represented in {name}")
    return made


def _limits(name: str) -> Any:
    """finfo or iinfo."""
    row = dtypes.BY_NAME[name]
    of: Any = np
    if row.numpy is None:
        import ml_dtypes as of
    find = of.iinfo if _kind(name) == _INTEGER else of.finfo
    return find(small_types.numpy_dtype(row))
