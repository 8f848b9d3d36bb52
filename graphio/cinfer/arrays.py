"""numpy arrays as ci_tensor and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.cinfer._native import ffi, lib
from graphio.engine.interface import TensorSpec
from graphio.schema import dtypes, small_types
from graphio.support import errors

Array = np.ndarray[Any, Any]

OBJECT = np.dtype(object)
_MOST_LAYOUTS = 1024


def spec(info: Any, kind: int = 0) -> TensorSpec:
    """The ci_info of an input or output, or of the tensors in one that is of a kind."""
    names = ((lib.CI_KIND_OPTIONAL, "optional"), (lib.CI_KIND_SEQUENCE, "sequence"))
    kinds = tuple(name for bit, name in names if kind & bit)
    name = ffi.string(info.name).decode()
    return TensorSpec(name, numpy_dtype(info.dtype), static_shape(info), kinds)


def static_shape(info: Any) -> tuple[int | None, ...] | None:
    """The shape in a ci_info, None where it is unknown."""
    if info.rank < 0:
        return None
    return tuple(d if d >= 0 else None for d in info.dims[0 : info.rank])


def numpy_dtype(number: int) -> np.dtype[Any]:
    """The numpy dtype of an element type, that of ml_dtypes where numpy has none."""
    return small_types.numpy_dtype(dtypes.of_number(number))


def point_at(tensor: Any, array: Array) -> Any:
    """Makes a ci_tensor a view of a contiguous array; keep what it returns until the C call."""
    number = dtypes.of_numpy(array.dtype).number
    tensor.dtype = number
    set_shape(tensor, array.shape)
    if number == dtypes.STRING:
        return _point_at_strings(tensor, array)
    # Dtypes that are not numpy's own have no buffers.
    plain = array if number not in dtypes.ML_DTYPES else array.view(f"u{array.itemsize}")
    buffer = ffi.from_buffer(plain)
    tensor.data = buffer
    tensor.bytes = array.nbytes
    return buffer


def set_shape(tensor: Any, shape: Sequence[int]) -> None:
    """Gives a ci_tensor its rank and dims."""
    if len(shape) > 16:
        raise errors.InvalidArgumentError(message=f"rank {len(shape)} is above the limit of 16")
    tensor.rank = len(shape)
    tensor.dims[0 : len(shape)] = shape


def point_at_held(tensor: Any, value: Any) -> Any:
    """As `point_at` for a list of arrays too, and for None, an optional value without content."""
    if isinstance(value, np.ndarray):
        return point_at(tensor, value)
    tensor.dtype, tensor.data, tensor.bytes, tensor.rank = lib.CI_NOTHING, ffi.NULL, 0, 0
    if value is None:
        return None
    items = ffi.new("ci_tensor[]", max(len(value), 1))
    keep = [point_at(items[i], array) for i, array in enumerate(value)]
    tensor.dtype, tensor.data, tensor.bytes = lib.CI_SEQUENCE, items, ffi.sizeof(items)
    set_shape(tensor, (len(value),))
    return items, keep


def held(tensor: Any) -> Any:
    """A copy of what C lent in one ci_tensor: an array, a list of arrays, or None."""
    if tensor.dtype == lib.CI_NOTHING:
        return None
    if tensor.dtype != lib.CI_SEQUENCE:
        return _copier(tensor)()
    items = ffi.cast("ci_tensor *", tensor.data)
    return [_copier(items[i])() for i in range(tensor.dims[0])]


def _point_at_strings(tensor: Any, array: Array) -> Any:
    elements = [_bytes(e) for e in array.ravel().tolist()]
    strings = ffi.new("ci_string[]", max(len(elements), 1))
    buffers = [ffi.from_buffer(e) for e in elements]
    for string, buffer in zip(strings, buffers, strict=False):
        string.data = buffer
        string.length = len(buffer)
    tensor.data = strings
    tensor.bytes = len(elements) * ffi.sizeof("ci_string")
    return strings, buffers


def _bytes(element: Any) -> bytes:
    if isinstance(element, str):
        return element.encode()
    if isinstance(element, bytes):
        return element
    raise errors.InvalidArgumentError(
        message=f"a string array holds {type(element).__name__}, expected bytes or str"
    )


def _string_array(tensor: Any, shape: tuple[int, ...]) -> Array:
    array = np.empty(shape, OBJECT)
    strings = ffi.cast("ci_string *", tensor.data)
    flat = array.reshape(-1)
    for i in range(flat.size):
        text = strings[i]
        flat[i] = bytes(ffi.buffer(text.data, text.length)) if text.length else b""
    return array


def reader(tensor: Any) -> Callable[[], Array]:
    """A function that copies what C lent in one ci_tensor, at the least cost each time.

    The bytes of the struct, pointer included, are the key of a numpy view of the memory: in
    the ordinary case, the buffer and shape of the last call, reading is a copy of that view. A view
    is looked at only while C lends just that memory, so one whose memory is gone does no harm.
    """
    fields = ffi.buffer(ffi.addressof(tensor))
    copies: dict[bytes, Callable[[], Array]] = {}
    find = copies.get

    def learn() -> Callable[[], Array]:
        if len(copies) >= _MOST_LAYOUTS:
            copies.clear()
        # Dims beyond the rank may hold anything, hence the key as found, not as it should be.
        copies[fields[:]] = copy = _copier(tensor)
        return copy

    def read() -> Array:
        return (find(fields[:]) or learn())()

    return read


def _copier(tensor: Any) -> Callable[[], Array]:
    """A function that copies the values of a ci_tensor, as long as it lends the same memory."""
    dtype, shape = numpy_dtype(tensor.dtype), tuple(tensor.dims[0 : tensor.rank])
    if dtype == OBJECT:
        return lambda: _string_array(tensor, shape)
    if tensor.bytes == 0:
        return lambda: np.empty(shape, dtype)
    return view(tensor).copy


def view(tensor: Any) -> Array:
    """The memory that a ci_tensor lends, valid as long as the ci_tensor; a copy of strings."""
    dtype, shape = numpy_dtype(tensor.dtype), tuple(tensor.dims[0 : tensor.rank])
    if dtype == OBJECT:
        return _string_array(tensor, shape)
    if tensor.bytes == 0:
        return np.empty(shape, dtype)
    memory = np.frombuffer(ffi.buffer(tensor.data, tensor.bytes), np.uint8)
    return memory.view(dtype).reshape(shape)
