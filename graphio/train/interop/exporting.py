"""Variables to files that other tools read: .safetensors and .npz."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from graphio.framework.collections import GraphKeys
from graphio.schema import dtypes, shards, tensors
from graphio.storage import stores
from graphio.support import api_guard, errors
from graphio.train.interop.safetensors import NAMES
from graphio.train.interop.sources import open_source
from graphio.train.interop.zip_file import CENTRAL, END, END64, FULL, FULL16, LOCAL, LOCATOR

__all__ = ["export_variables"]

Array = np.ndarray[Any, Any]
STORED_AS = {ours: theirs for theirs, ours in NAMES.items()}
RESERVED = "__metadata__"
ZIP64 = 45  # the version that a reader needs


@api_guard.makes_variables
def export_variables(
    session_or_prefix: Any, path: str | os.PathLike[str], *, align_all: bool = False
) -> None:
    """Writes variables to a .safetensors or an .npz file, by the path's ending.

    The file is complete and on the disk, or not there at all. Names are kept.

    Args:
        session_or_prefix: a session, whose global variables are written; or whatever
            tf.train.load_values opens, a mapping from names to arrays among it.
        path: of the file, or a URL of an object store; an older one is replaced.
        align_all: in a .safetensors file tensors of a multiple of 64 bytes start at one, others at
            a multiple of their elements' size. True: all start at a multiple of 64; tensors named
            `__pad__/0`, `__pad__/1` ... fill the gaps, since the format allows none.

    Raises:
        InvalidArgumentError: another ending; a dtype that the format has not, or a name.
        FailedPreconditionError: a variable has no value.
        DiskFullError, UnavailableError: as reported by the operating system.
    """
    where = os.fspath(path)
    writer = WRITERS.get(os.path.splitext(where)[1])
    if writer is None:
        raise errors.InvalidArgumentError(
            message=f"{where!r} should end with one of {', '.join(WRITERS)}"
        )
    stores.write(where, writer(_values(session_or_prefix), align_all))


def _values(found: Any) -> Mapping[str, Array]:
    if hasattr(found, "state") and hasattr(found, "graph"):
        names = [v.op.name for v in found.graph.get_collection(GraphKeys.GLOBAL_VARIABLES)]
        known = set(found.state.names())
        empty = [n for n in names if n not in known or not found.state.initialized(n)]
        if empty:
            raise errors.FailedPreconditionError(
                message=f"Attempting to use uninitialized value {', '.join(empty)}"
            )
        return {name: found.state.get(name) for name in names}
    source = open_source(found)
    return {name: source.array(name) for name in source.entries()}


# ---- safetensors ----


def _safetensors(values: Mapping[str, Array], align_all: bool) -> Iterator[Any]:
    entries = []
    for name, array in values.items():
        if name == RESERVED:
            raise errors.InvalidArgumentError(
                message=f"safetensors keeps the name {RESERVED!r} for metadata: export it "
                "under another name (a mapping from names to arrays is taken), or to .npz"
            )
        row = dtypes.of_numpy(array.dtype)
        if row.name not in STORED_AS:
            raise errors.InvalidArgumentError(
                message=f"safetensors has no {row.name}, which {name!r} is"
            )
        entries.append(shards.Entry(name, row.number, array.shape, array.nbytes))
    ordered = shards.in_order(entries)
    placed = _padded(ordered, set(values)) if align_all else ordered
    yield _header(placed)
    for entry in placed:
        yield tensors.encode(values[entry.name]) if entry.name in values else bytes(entry.nbytes)


def _padded(entries: list[shards.Entry], taken: set[str]) -> list[shards.Entry]:
    """The entries with others between them, so that each starts at a multiple of 64."""
    numbers = iter(n for n in range(2 * len(entries)) if f"__pad__/{n}" not in taken)
    made = []
    for entry in entries:
        made.append(entry)
        gap = -entry.nbytes % shards.ALIGN
        if gap and entry is not entries[-1]:
            name = f"__pad__/{next(numbers)}"
            made.append(shards.Entry(name, dtypes.BY_NAME["uint8"].number, (gap,), gap))
    return made


def _header(entries: list[shards.Entry]) -> bytes:
    rows: dict[str, Any] = {"__metadata__": {"producer": "graphio"}}
    offset = 0
    for entry in entries:
        rows[entry.name] = {
            "dtype": STORED_AS[dtypes.name(entry.dtype)],
            "shape": list(entry.dims),
            "data_offsets": [offset, offset + entry.nbytes],
        }
        offset += entry.nbytes
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % shards.ALIGN)
    return len(text).to_bytes(8, "little") + text


# ---- npz ----


def _npz(values: Mapping[str, Array], align_all: bool) -> Iterator[Any]:
    """A zip archive of stored .npy files."""
    directory, offset = [], 0
    for name, array in values.items():
        file = f"{name}.npy".encode()
        parts = _npy(name, array)
        crc = zlib.crc32(parts[1], zlib.crc32(parts[0]))
        size = sum(memoryview(part).nbytes for part in parts)
        local, central = _member(file, crc, size, offset)
        yield from (local, *parts)
        directory.append(central)
        offset += len(local) + size
    yield from directory
    yield _zip_end(len(directory), sum(map(len, directory)), offset)


def _npy(name: str, array: Array) -> tuple[bytes, Any]:
    """Header and bytes of a .npy file."""
    row = dtypes.of_numpy(array.dtype)
    if row.number == dtypes.STRING:
        array = _fixed_width(name, array)
    elif row.numpy is None:
        raise errors.InvalidArgumentError(
            message=f"numpy has no {row.name}, which {name!r} is; a .safetensors file has"
        )
    dense = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)
    text = repr({"descr": dense.dtype.str, "fortran_order": False, "shape": dense.shape})
    text += " " * (-(11 + len(text)) % shards.ALIGN) + "\n"
    head = b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text.encode()
    return head, dense.reshape(-1).view(np.uint8).data if dense.nbytes else b""


def _fixed_width(name: str, array: Array) -> Array:
    string_values = tensors.strings(array)
    if any(text.endswith(b"\0") for text in string_values.flat):
        raise errors.InvalidArgumentError(
            message=f"a string of {name!r} ends with a zero byte, which an .npz file would lose"
        )
    width = max((len(text) for text in string_values.flat), default=0) or 1
    return string_values.astype(f"S{width}")


def _member(file: bytes, crc: int, size: int, offset: int) -> tuple[bytes, bytes]:
    """An entry's local header, and its row of the directory; sizes always in the zip64 field."""
    date = (0, 0x21)  # the first of January 1980: the same values give the same bytes
    flags = 1 << 11  # the name is UTF-8
    sizes = size.to_bytes(8, "little") * 2
    extra = b"\1\0\x10\0" + sizes
    local = LOCAL.pack(b"PK\3\4", ZIP64, flags, 0, *date, crc, FULL, FULL, len(file), len(extra))
    extra64 = b"\1\0\x18\0" + sizes + offset.to_bytes(8, "little")
    central = CENTRAL.pack(
        b"PK\1\2", ZIP64, ZIP64, flags, 0, *date, crc, FULL, FULL, len(file), len(extra64),
        0, 0, 0, 0, FULL,
    )  # fmt: skip
    return local + file + extra, central + file + extra64


def _zip_end(count: int, size: int, offset: int) -> bytes:
    end64 = END64.pack(b"PK\6\6", END64.size - 12, ZIP64, ZIP64, 0, 0, count, count, size, offset)
    locator = LOCATOR.pack(b"PK\6\7", 0, offset + size, 1)
    return end64 + locator + END.pack(b"PK\5\6", 0, 0, FULL16, FULL16, FULL, FULL, 0)


#: by the path's ending
WRITERS: dict[str, Callable[[Mapping[str, Array], bool], Iterator[Any]]] = {
    ".safetensors": _safetensors,
    ".npz": _npz,
}
