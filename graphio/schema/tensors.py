"""Arrays to bytes and back, as schema/README.md lays tensors out."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from graphio.schema import dtypes, small_types
from graphio.schema.crc32c import crc32c
from graphio.schema.packed_weights import Packing, restore
from graphio.support import errors

if TYPE_CHECKING:
    from graphio.schema.model_pb2 import Tensor

Array = np.ndarray[Any, Any]
_LITTLE = sys.byteorder == "little"
_SMALL = 1024  # bytes: a copy costs less than a view


def encode(array: Array) -> bytes | memoryview:
    """The elements as little-endian bytes, strings as lengths, then text.

    A view of the array where its memory is already so, except of bools.
    """
    row = dtypes.of_numpy(array.dtype)
    if row.numpy is None:
        return small_types.encode(row, array)
    if row.number == dtypes.STRING:
        parts = [_text(element) for element in array.ravel().tolist()]
        return np.array([len(p) for p in parts], "<u8").tobytes() + b"".join(parts)
    if array.dtype == np.bool_:  # any byte but 0 is true in memory, only 1 in a file
        array = array.view(np.uint8) != 0
    if array.nbytes <= _SMALL and _LITTLE and array.dtype.isnative:
        return array.tobytes()
    dense = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return dense.reshape(-1).view(np.uint8).data


def stored_size(array: Array) -> int:
    """The number of bytes of encode."""
    row = dtypes.of_numpy(array.dtype)
    if row.number == dtypes.STRING:
        return sum(8 + len(_text(element)) for element in array.ravel().tolist())
    return (array.size * row.bits + 7) // 8


def is_plain(row: dtypes.ElementType) -> bool:
    """Whether elements have the same bytes in this machine's memory as in files."""
    return _LITTLE and row.bits >= 8 and row.number != dtypes.STRING


def memory(array: Array) -> memoryview:
    """The bytes of a contiguous array."""
    return array.reshape(-1).view(np.uint8).data


def strings(array: Array) -> Array:
    """An array of strings with each of them as bytes.

    Raises:
        InvalidArgumentError: an element is neither bytes nor str.
    """
    if all(element.__class__ is bytes for element in array.flat):
        return array
    result = np.empty(array.shape, object)
    result.reshape(-1)[:] = [_text(element) for element in array.flat]
    return result


def _text(element: Any) -> bytes:
    if isinstance(element, str):
        return element.encode()
    if isinstance(element, bytes):
        return element
    raise errors.InvalidArgumentError(
        message=f"a string tensor holds {type(element).__name__}, expected bytes or str"
    )


def decode(number: int, dims: Sequence[int], data: bytes | memoryview) -> Array:
    """The array that encode made; without a copy where the bytes allow it.

    Raises:
        DataLossError: the bytes do not fit dtype and shape.
    """
    row = dtypes.of_number(number)
    count = math.prod(dims)
    if row.number == dtypes.STRING:
        return _decode_strings(count, data).reshape(dims)
    if row.numpy is None:
        return small_types.decode(row, count, data).reshape(dims)
    if len(data) != count * row.numpy.itemsize:
        raise errors.DataLossError(
            message=f"tensor {row.name}{list(dims)} has {len(data)} bytes, expected "
            f"{count * row.numpy.itemsize}"
        )
    order = row.numpy if _LITTLE else row.numpy.newbyteorder("<")
    if not are_values(row, data):
        raise no_values(row)
    array: Array = np.frombuffer(data, order).reshape(dims)
    return array if array.dtype.isnative else array.astype(row.numpy)


def are_values(row: dtypes.ElementType, data: bytes | memoryview) -> bool:
    """Whether bytes, as many as there may be, are values of the type."""
    return row.name != "bool" or not len(data) or bool(np.frombuffer(data, np.uint8).max() < 2)


def no_values(row: dtypes.ElementType) -> errors.DataLossError:
    """The error of bytes that no value has."""
    return errors.DataLossError(message=f"a {row.name} tensor holds a byte other than 0 and 1")


def _decode_strings(count: int, data: bytes | memoryview) -> Array:
    if len(data) < 8 * count:
        raise errors.DataLossError(
            message=f"a string tensor of {count} elements has {len(data)} bytes"
        )
    lengths = np.frombuffer(data, "<u8", count).tolist()
    if sum(lengths) != len(data) - 8 * count:
        raise errors.DataLossError(
            message=f"the lengths of a string tensor add up to {sum(lengths)}, but "
            f"{len(data) - 8 * count} bytes follow"
        )
    array = np.empty(count, object)
    position = 8 * count
    for i, length in enumerate(lengths):
        array[i] = bytes(data[position : position + length])
        position += length
    return array


def check_dims(dims: Sequence[int]) -> None:
    """Refuses a rank above 16, negative dimensions and more than 2^58 elements.

    Dimensions of 0 do not count: numpy has no arrays whose other dimensions exceed its memory.
    """
    if not dims:
        return
    if len(dims) > 16:
        raise errors.DataLossError(message=f"rank {len(dims)} is above the limit of 16")
    if min(dims) < 0 or math.prod([d for d in dims if d]) > 1 << 58:
        raise errors.DataLossError(message=f"the shape {list(dims)} is impossible")


def from_array(array: Array) -> Tensor:
    """An inline tensor."""
    from graphio.schema.model_pb2 import Tensor

    made = Tensor()
    fill(made, array, encode(array))
    return made


def fill(message: Tensor, array: Array, data: bytes | memoryview) -> None:
    """Makes a message the inline tensor of an array that encode made the bytes of."""
    message.dtype = dtypes.of_numpy(array.dtype).number  # type: ignore[assignment]
    if array.ndim:
        message.dims.extend(array.shape)
    message.data = bytes(data)


def to_array(tensor: Tensor) -> Array:
    """The array of an inline tensor.

    Raises:
        DataLossError: the bytes do not fit dtype and shape, or claim to be packed.
    """
    dims = tuple(tensor.dims)
    check_dims(dims)
    if tensor.packed_tile_width or tensor.packed_tile_axis:
        raise errors.DataLossError(
            message="an inline tensor claims to be packed; only tensors of the data section may be"
        )
    return decode(tensor.dtype, dims, tensor.data)


class Location(NamedTuple):
    """The location of a tensor's bytes.

    Attributes:
        path: of a file on this machine.
        offset: of the first byte.
        checkpoint: how messages call what the file belongs to.
    """

    path: str
    offset: int
    checkpoint: str


class Stored:
    """A tensor's bytes in a file: checked and decoded when first used.

    Args:
        number: of the element type.
        dims: the shape.
        data: the bytes, or what fetches them.
        crc: their checksum; None: it is not looked at.
        what: how messages call it, "tensor 3".
        location: file and offset of the bytes; None: in no file of this machine.
        packing: their packed tiles; None: they are row-major.
    """

    def __init__(
        self,
        number: int,
        dims: Sequence[int],
        data: memoryview | Callable[[], memoryview],
        crc: int | None,
        what: str,
        location: Location | None = None,
        packing: Packing | None = None,
    ) -> None:
        self.number, self.shape, self.crc, self.what = number, tuple(dims), crc, what
        self.location, self.packing = location, packing
        self._data = data
        self._array: Array | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The array's dtype."""
        return small_types.numpy_dtype(dtypes.of_number(self.number))

    def reshape(self, dims: Sequence[int]) -> Stored:
        """The same bytes with another shape of as many elements."""
        return Stored(
            self.number, dims, self._data, self.crc, self.what, self.location, self.packing
        )

    def array(self) -> Array:
        """The read-only array.

        Raises:
            DataLossError: the bytes do not have their checksum, or do not fit dtype and shape.
        """
        if self._array is None:
            data = self._data() if callable(self._data) else self._data
            if self.crc is not None and crc32c(data) != self.crc:
                raise errors.DataLossError(message=f"the checksum of {self.what} does not match")
            try:
                check_dims(self.shape)
                self._array = self._decoded(data)
            except errors.OpError as error:
                raise type(error)(message=f"{self.what}: {error.message}") from None
        return self._array

    def _decoded(self, data: memoryview) -> Array:
        if self.packing is None:
            return decode(self.number, self.shape, data)
        elements = decode(self.number, (math.prod(self.shape),), data)
        array = restore(elements, *self.packing).reshape(self.shape)
        array.flags.writeable = False
        return array


class StoredList(Sequence[Array]):
    """Arrays of a file, each checked and decoded when first used."""

    def __init__(self, items: Sequence[Stored]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [item.array() for item in self._items[index]]
        return self._items[index].array()
