"""The model file `.gio`: header, graph section, data section (schema/README.md).

Every byte is protected: a flip, a truncation or a byte too many is a DataLossError.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from graphio.schema import dtypes, foreign, nodes, tensors, versions, wire
from graphio.schema.crc32c import crc32c
from graphio.schema.draft import Draft
from graphio.schema.filling import filling
from graphio.schema.model_pb2 import Model, Tensor
from graphio.schema.packed_weights import LARGEST, TILE_WIDTH, Packing, order
from graphio.storage import files, stores
from graphio.support import errors

MAGIC = b"\x89GIO\r\n\x1a\n"
MAJOR, MINOR = 1, 0
HEADER = 64
ALIGN = 64
PACKED = 1  # flag: a tensor is packed
_FIELDS = struct.Struct("<8sHHIQQQI16s")  # bytes 0 to 59; their CRC follows
#: kinds of files often mistaken for a model file, by first bytes: ONNX with the version of its
#: format
_OTHERS = (
    (
        re.compile(rb"\x08[\x01-\x1f][\x12\x1a\x22\x28\x32\x3a\x42]"),
        "an ONNX file: graphio.onnx.load runs it, `graphio convert` makes a model file of it",
    ),
    (
        re.compile(rb"\x89GIX\r\n\x1a\n"),
        "the index of a checkpoint: tf.train.Saver, or restore of a model's state, reads it",
    ),
    (
        re.compile(rb"\x89GIO(\n|\r[^\n]|\r\n\x1a\r)"),
        "a model file whose line ends were converted on the way: copy it as binary data",
    ),
)
_UNKNOWN = "not a model file: it does not begin as one"
_GRAPH = wire.tag(Model, "graph")
_FLOAT = 1  # the element type's number

Array = np.ndarray[Any, Any]


def pack(
    model: Model,
    arrays: Sequence[Array],
    packed: Mapping[int, int] | None = None,
    *,
    filled: bool = True,
) -> bytes:
    """The bytes of a model file.

    Args:
        model: everything but Model.tensor, which is filled in from arrays.
        arrays: what attributes and variables refer to by index.
        packed: the arrays that are packed, by index, and along which axis: 0 or the last.
            Readers give them back row-major, whatever the file had.
        filled: True makes it long enough for the default limit of memory of an open (see filling
            of graphio.schema.filling).

    Raises:
        ValueError: there is no such array, or it is not float32 of rank 2 or more, or another axis.
    """
    return b"".join(_parts(model, arrays, packed or {}, filled))


def pack_draft(draft: Draft) -> bytes:
    """As pack with filled=False, of a draft, whose nodes do not become a message."""
    graph = wire.sized(_GRAPH, nodes.encoded_graph(draft.graph))
    return b"".join(_parts(draft.tables, draft.arrays, {}, filled=False, graph=graph))


def write(
    path: str | os.PathLike[str],
    model: Model,
    arrays: Sequence[Array],
    packed: Mapping[int, int] | None = None,
) -> None:
    """Writes a model file: afterwards it is complete and on the disk, or as it was.

    Args:
        path: of the file, or a URL of an object store.
        model, arrays, packed: as pack.

    Raises:
        As pack.
    """
    parts = files.in_blocks(_parts(model, arrays, packed or {}, filled=True))
    if stores.is_remote(path):
        stores.write(path, parts)
    else:
        files.replace(stores.plain(path), parts)


def _parts(
    model: Model,
    arrays: Sequence[Array],
    packed: Mapping[int, int],
    filled: bool,
    graph: bytes = b"",
) -> Iterator[bytes | memoryview]:
    encoded = _encoded(arrays, packed)
    whole = Model()
    whole.CopyFrom(model)
    del whole.tensor[:]
    whole.ClearField("filling")
    end = 0
    for i, (array, data) in enumerate(zip(arrays, encoded, strict=True)):
        tensor = whole.tensor.add(
            dtype=dtypes.of_numpy(array.dtype).number,
            dims=array.shape,
            offset=_round_up(end),
            nbytes=len(data),
            crc32c=crc32c(data),
            stored=True,
        )
        if i in packed:
            tensor.packed_tile_width, tensor.packed_tile_axis = TILE_WIDTH, packed[i] % array.ndim
        end = _round_up(end) + len(data)
    graph += whole.SerializeToString(deterministic=True)
    more = filling(whole, len(graph), HEADER + len(graph) + end) if filled else 0
    if more:
        whole.filling = bytes(more)
        graph = whole.SerializeToString(deterministic=True)
    start = _round_up(HEADER + len(graph))
    flags = PACKED if packed else 0
    fields = _FIELDS.pack(
        MAGIC, MAJOR, MINOR, flags, len(graph), start, end, crc32c(graph), bytes(16)
    )
    yield fields + struct.pack("<I", crc32c(fields))
    yield graph + bytes(start - HEADER - len(graph))
    position = 0
    for data in encoded:
        yield bytes(_round_up(position) - position)
        yield data
        position = _round_up(position) + len(data)


def _encoded(arrays: Sequence[Array], packed: Mapping[int, int]) -> list[bytes | memoryview]:
    for i in packed:
        if not 0 <= i < len(arrays):
            raise ValueError(f"packed names array {i} of {len(arrays)}")
        if dtypes.of_numpy(arrays[i].dtype).number != _FLOAT:
            raise ValueError(f"array {i} is {arrays[i].dtype}, expected float32 to be packed")
    return [
        tensors.encode(order(array, TILE_WIDTH, packed[i]) if i in packed else array)
        for i, array in enumerate(arrays)
    ]


def _round_up(n: int) -> int:
    return (n + ALIGN - 1) // ALIGN * ALIGN


def read(path: str | os.PathLike[str], lazy: bool = False) -> tuple[Model, Sequence[Array]]:
    """The model of a file and its arrays, which are views of the mapped file.

    Args:
        path: of the file, which must not be truncated while the arrays are in use; or a URL of an
            object store, "s3://bucket/model.gio", from which it is fetched.
        lazy: True checks each array when it is first used, not now.

    Raises:
        NotFoundError: there is no such file.
        InvalidArgumentError: the path is not a regular file.
        DataLossError: it is another kind of file, or a byte is damaged, missing or too many.
        UnimplementedError: the file needs a newer reader.
    """
    where = stores.plain(path)
    data = memoryview(stores.loadable(where)) if stores.is_remote(where) else _mapped(where)
    check_beginning(data, where)
    try:
        return unpack(data, lazy)
    except errors.OpError as error:
        raise type(error)(message=f"{os.path.basename(where)}: {error.message}") from None


def _mapped(path: str) -> memoryview:
    try:
        return files.map_file(path)
    except errors.InvalidArgumentError as error:
        raise named_as_folder(error, path) from None


def named_as_folder(error: errors.OpError, path: str) -> errors.OpError:
    """The error of an open, which says what to do with a folder."""
    if not os.path.isdir(path):
        return error
    text = "is a folder: tf.saved_model.load opens those of saved models, others have files in them"
    return type(error)(message=f"{path!r} is not a regular file: it {text}")


def unpack(data: Any, lazy: bool = False) -> tuple[Model, Sequence[Array]]:
    """As read, from a bytes-like object, which the arrays keep alive."""
    foreign.check_source(data)
    view = memoryview(data)
    check_beginning(view)
    header = _header(view)
    graph = view[HEADER : HEADER + header.length]
    if crc32c(graph) != header.crc:
        raise _damaged("the graph section's checksum does not match")
    _expect_zero(view, HEADER + header.length, header.start)
    try:
        model, stored = _parsed(graph, view, header)
    except errors.DataLossError:
        if header.minor > MINOR:  # the checksums are right: it is what that version has added
            raise _too_new(f"{MAJOR}.{header.minor}") from None
        raise
    return model, tensors.StoredList(stored) if lazy else [item.array() for item in stored]


def _parsed(
    graph: memoryview, view: memoryview, header: _Header
) -> tuple[Model, list[tensors.Stored]]:
    model = Model()
    try:
        model.ParseFromString(bytes(graph))
    except DecodeError:
        raise _damaged("the graph section is not a Model message") from None
    model.ClearField("filling")
    return model, _stored(model, view, header)


def check_beginning(data: Any, path: str | None = None) -> None:
    """Refuses another kind of file; a model file that is cut short may still begin as one.

    Args:
        data: its bytes.
        path: of the file; None: the bytes are the source.

    Raises:
        DataLossError: with the kind of the file.
    """
    head = bytes(data[: len(MAGIC)])
    if head and MAGIC.startswith(head):
        return
    kind = (
        foreign.kind_of_name(path or "")  # of messages that may begin as ONNX's do
        or next((text for begins, text in _OTHERS if begins.match(head)), None)
        or foreign.kind_of(data)
        or _UNKNOWN
    )
    raise errors.DataLossError(message=f"{'source' if path is None else repr(path)} is {kind}")


class _Header(NamedTuple):
    """The fields of the header: the minor version, the flags, the length of the graph
    section, where the data section starts and how long it is, the checksum of the graph section."""

    minor: int
    flags: int
    length: int
    start: int
    size: int
    crc: int


def _header(view: memoryview) -> _Header:
    if len(view) < HEADER:
        raise _damaged(f"it has {len(view)} bytes, a model file has at least {HEADER}")
    fields = view[: _FIELDS.size]
    _, major, minor, flags, length, start, size, crc, reserved = _FIELDS.unpack(fields)
    (header_crc,) = struct.unpack("<I", view[_FIELDS.size : HEADER])
    if crc32c(fields) != header_crc:
        raise _damaged("the header's checksum does not match")
    if major != MAJOR or flags & ~PACKED:
        raise _too_new(f"{major}.{minor} with flags {flags:#x}")
    if any(reserved):
        raise _damaged("reserved bytes of the header are not zero")
    if start % ALIGN or start != _round_up(HEADER + length) or start + size != len(view):
        raise _damaged(f"sections of {length} and {size} bytes make no file of {len(view)} bytes")
    return _Header(minor, flags, length, start, size, crc)


def _stored(model: Model, view: memoryview, header: _Header) -> list[tensors.Stored]:
    """The entries of Model.tensor: they tile the data section but for zero padding."""
    start, size = header.start, header.size
    items, end = [], 0
    for i, tensor in enumerate(model.tensor):
        if not tensor.stored or tensor.data or tensor.offset != _round_up(end):
            raise _damaged(f"tensor {i} is not where it belongs")
        if tensor.offset + tensor.nbytes > size:
            raise _damaged(f"tensor {i} ends beyond the data section of {size} bytes")
        _expect_zero(view, start + end, start + tensor.offset)
        end = tensor.offset + tensor.nbytes
        data = view[start + tensor.offset : start + end]
        what = f"tensor {i} of the model file"
        items.append(
            tensors.Stored(
                tensor.dtype, tensor.dims, data, tensor.crc32c, what, packing=_packing(i, tensor)
            )
        )
    if end != size:
        raise _damaged(f"the data section has {size} bytes, its tensors end at {end}")
    if any(item.packing for item in items) != bool(header.flags & PACKED):
        raise _damaged(
            "its flags do not match the tensors: PACKED must be set where one is packed, only there"
        )
    return items


def _packing(i: int, tensor: Tensor) -> Packing | None:
    """The packing of an entry of Model.tensor, None if it is row-major."""
    width, axis, rank = tensor.packed_tile_width, tensor.packed_tile_axis, len(tensor.dims)
    if not width and not axis:
        return None
    if tensor.dtype != _FLOAT or rank < 2 or not 1 <= width <= LARGEST or axis not in (0, rank - 1):
        raise _damaged(
            f"tensor {i} of rank {rank} is in packed tiles of {width} along axis {axis}; expected "
            f"a float32 one of rank 2 or more, 1 to {LARGEST}, along the first axis or the last"
        )
    return Packing(tuple(tensor.dims), width, axis)


def _expect_zero(view: memoryview, begin: int, end: int) -> None:
    if any(view[begin:end]):
        raise _damaged(f"padding at byte {begin} is not zero")


def _too_new(version: str) -> errors.UnimplementedError:
    return versions.too_new(
        "the model file", version, f"{MAJOR}.{MINOR} with no flag but {PACKED:#x}"
    )


def _damaged(what: str) -> errors.DataLossError:
    return errors.DataLossError(message=f"the model file is damaged: {what}")
