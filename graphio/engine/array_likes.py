"""Arrays of other libraries as numpy's: torch, JAX, CuPy, pandas, PyArrow, SciPy, masked arrays."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from graphio.schema import dtypes, small_types

__all__ = ["PROTOCOLS", "odd_element", "to_numpy"]

Array = np.ndarray[Any, Any]
#: by which an object says that it is an array
PROTOCOLS = ("__array__", "__array_interface__", "__dlpack__", "__cuda_array_interface__")
#: types that are used unchanged
_PLAIN = (int, float, complex, str, bytes, bool, np.generic)
#: torch's names of types that numpy lacks, and ours
_SMALL = {
    "bfloat16": "bfloat16",
    "float8_e4m3fn": "float8e4m3fn",
    "float8_e4m3fnuz": "float8e4m3fnuz",
    "float8_e5m2": "float8e5m2",
    "float8_e5m2fnuz": "float8e5m2fnuz",
}


def to_numpy(value: Any) -> Array:
    """An array of what a program gives: numbers, lists, arrays of any library.

    A torch tensor loses its gradient; one of bfloat16 or float8 gets the dtype of ml_dtypes.

    Raises:
        TypeError: its values are on a GPU, sparse, or there are none; says what to give instead.
        ValueError: lists of different lengths; a masked array with masked values.
    """
    if isinstance(value, np.ma.MaskedArray):
        return _unmasked(value)
    try:
        found = np.asarray(value)
    except Exception:
        inner = _inside(value)
        if inner is value:
            raise
        return np.asarray(inner)
    if found.dtype == object and not isinstance(value, (*_PLAIN, np.ndarray)):
        inner = _inside(value)
        if inner is not value:
            return np.asarray(inner)
        _check_held(value)
    return found


def odd_element(array: Array) -> str:
    """The type that makes an array one of objects: of the first element that is not a number."""
    elements = array.ravel()
    odd = (e for e in elements if not isinstance(e, (int, float, complex, np.generic)))
    return type(next(odd, elements[0])).__name__


def _inside(value: Any) -> Any:
    """Arrays of numpy's in the place of those that numpy cannot take, in lists, too."""
    if isinstance(value, (list, tuple)):
        inner = [_inside(v) for v in value]
        return value if all(a is b for a, b in zip(inner, value, strict=True)) else inner
    if hasattr(value, "detach") and hasattr(value, "layout"):
        return _of_torch(value)
    if hasattr(value, "__cuda_array_interface__"):
        raise TypeError(f"{_name(value)} is on a GPU: give its copy in numpy, such as .get()")
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return np.from_dlpack(value)
    return value


def _of_torch(tensor: Any) -> Array:
    what = _name(tensor)
    if str(tensor.layout) != "torch.strided":
        raise TypeError(f"{what} is sparse ({tensor.layout}): give tensor.to_dense()")
    if tensor.device.type == "meta":
        raise TypeError(f"{what} is on the device meta, where tensors have no values")
    if tensor.device.type != "cpu":
        raise TypeError(f"{what} is on the device {tensor.device}: give tensor.cpu()")
    plain = tensor.detach()
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in _SMALL:
        for resolve in ("resolve_conj", "resolve_neg"):
            plain = getattr(plain, resolve, lambda plain=plain: plain)()
        return np.asarray(plain)
    kind = small_types.numpy_dtype(dtypes.BY_NAME[_SMALL[name]])
    torch = sys.modules[type(tensor).__module__.partition(".")[0]]
    words = torch.int16 if kind.itemsize == 2 else torch.uint8
    return np.asarray(plain.contiguous().view(words)).view(kind)


def _unmasked(value: np.ma.MaskedArray[Any, Any]) -> Array:
    count = int(np.count_nonzero(np.ma.getmaskarray(value)))
    if count:
        raise ValueError(
            f"{count} of the {value.size} values of a masked array are masked: say what stands for "
            "them, array.filled(...)"
        )
    return np.asarray(value.data)


def _check_held(value: Any) -> None:
    """Refuses what numpy takes for one object."""
    if hasattr(value, "nnz") and hasattr(value, "toarray"):
        raise TypeError(
            f"{_name(value)} is sparse: give matrix.toarray(), or feed a tf.sparse_placeholder"
        )


def _name(value: Any) -> str:
    kind = type(value)
    return f"a {kind.__module__.partition('.')[0]}.{kind.__qualname__}"
