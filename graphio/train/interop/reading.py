"""Common functions of the readers of foreign files: bytes of a file, errors, element counts."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from graphio.schema import dtypes, tensors
from graphio.storage import files, stores
from graphio.support import errors

Array = np.ndarray[Any, Any]
T = TypeVar("T")
UNKNOWN = 0  # an element type that we cannot hold


def map_bytes(path: str) -> memoryview:
    """The bytes of a file: mapped, or fetched from an object store.

    Raises:
        NotFoundError: there is no such file.
        UnavailableError: it is not a regular file, or cannot be read.
    """
    if not stores.is_remote(path):
        return memoryview(files.map_file(path))
    store, name = stores.of(path)
    opened = store.open(name)
    try:
        data = memoryview(bytearray(opened.size))
        opened.read_into(0, data)
        return data.toreadonly()
    finally:
        opened.close()


def is_file(path: str) -> bool:
    """Whether a path exists and is not a folder."""
    if not stores.is_remote(path):
        return files.exists(path) and not os.path.isdir(path)
    store, name = stores.of(path)
    return bool(name) and store.exists(name)


def stem(path: str) -> str:
    """A file's name without folder and ending: what a value without a name is called."""
    return os.path.splitext(stores.split(path)[1])[0]


def damaged(what: str, text: str) -> errors.DataLossError:
    """The error of a file whose bytes are not as its format wants them."""
    return errors.DataLossError(message=f"{what} is damaged: {text}")


def refused(what: str, text: str) -> errors.InvalidArgumentError:
    """The error of a file, or of something in it, that is undamaged but not supported."""
    return errors.InvalidArgumentError(message=f"{what}: {text}")


def find(items: Mapping[str, T], name: str, what: str) -> T:
    """An item by name. Raises NotFoundError."""
    if name not in items:
        raise errors.NotFoundError(message=f"Key {name} not found in {what}")
    return items[name]


def parse_json(data: bytes, what: str) -> dict[str, Any]:
    """Parses a JSON object: no key twice, all strings Unicode.

    Raises:
        DataLossError: it is another text.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            raise ValueError("an object has a key twice")
        "".join(made).encode()  # an escaped half of a surrogate pair is not a character
        return made

    def constant(text: str) -> Any:
        raise ValueError(f"{text} is not JSON")

    try:
        made = json.loads(data.decode(), object_pairs_hook=unique, parse_constant=constant)
        if not isinstance(made, dict):
            raise ValueError("it is not an object")
    except (ValueError, RecursionError) as error:
        raise damaged(what, f"its JSON is broken: {error}") from None
    return made


def check_dims(dims: Sequence[int], what: str, name: str) -> tuple[int, ...]:
    """The dimensions as a tuple.

    Raises:
        DataLossError: a rank or a size that no tensor has.
    """
    try:
        tensors.check_dims(dims)
    except errors.DataLossError as error:
        raise damaged(what, f"{name!r}: {error.message}") from None
    return tuple(dims)


def nbytes(number: int, dims: Sequence[int]) -> int:
    """The size in bytes of a tensor of fixed-size elements."""
    return (math.prod(dims) * dtypes.of_number(number).bits + 7) // 8


def decode(
    number: int, dims: Sequence[int], data: Any, what: str, name: str, *, big: bool = False
) -> Array:
    """The read-only, aligned array of a tensor's bytes; a view of them where they allow it.

    Args:
        big: whether they are big-endian.

    Raises:
        DataLossError: the bytes do not fit dtype and dimensions.
        UnimplementedError: our table or numpy has no such dtype.
    """
    try:
        data = _swapped(number, data) if big else data
        array = tensors.decode(number, dims, data)
    except errors.OpError as error:
        raise type(error)(message=f"{what}: {name!r}: {error.message}") from None
    return frozen(array)


def frozen(array: Array) -> Array:
    """The array, aligned, its elements in this machine's order, and read-only."""
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    made = np.require(array, requirements=["A"])
    if made.flags.writeable:
        made.flags.writeable = False
    return made


def _swapped(number: int, data: Any) -> bytes:
    """Big-endian elements as little-endian ones; a complex number is two of them."""
    row = dtypes.of_number(number)
    width = row.bits // 16 if row.name.startswith("complex") else row.bits // 8
    if width < 2 or len(data) % width:
        return bytes(data)
    swapped: Array = np.frombuffer(data, f"u{width}").byteswap()
    return swapped.tobytes()
