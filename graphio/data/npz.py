"""Arrays of .npy and .npz files, which stay in their files where that can be."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from typing import Any

import numpy as np

from graphio.schema import packed
from graphio.storage.gfile import failing_as_tensorflow
from graphio.support import errors

Array = np.ndarray[Any, Any]


def arrays(path: str) -> dict[str, Array]:
    """The arrays of a file by name; a .npy file's has the name "".

    Raises:
        NotFoundError: there is no such file. DataLossError: it is none of the two.
        ResourceExhaustedError: it is packed and becomes too much; see graphio.schema.packed.
    """
    with failing_as_tensorflow(path), open(path, "rb") as file:
        archived = file.read(4) == b"PK\x03\x04"
    try:
        if not archived:
            return {"": _usable(np.load(path, mmap_mode="r", allow_pickle=False))}
        with zipfile.ZipFile(path) as archive:
            _check_packed(archive, path)
            return {
                info.filename.removesuffix(".npy"): _usable(_member(archive, info, path))
                for info in archive.infolist()
            }
    except errors.ResourceExhaustedError:
        raise
    except Exception as error:  # zipfile and numpy raise almost anything for damaged bytes
        raise errors.DataLossError(message=f"{path} is not a .npy or .npz file: {error}") from None


def _check_packed(archive: zipfile.ZipFile, path: str) -> None:
    members = archive.infolist()
    total = sum(m.file_size for m in members if m.compress_type != zipfile.ZIP_STORED)
    advice = "save it by numpy.savez, which does not pack"
    packed.check(path, os.path.getsize(path), total, None, advice)


def _usable(array: Array) -> Array:
    if array.dtype.kind == "U":
        return np.char.encode(array, "utf-8").astype(object)
    if array.dtype.kind not in "biufcS":
        raise ValueError(f"an array of {array.dtype}")
    return array


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: str) -> Array:
    if info.compress_type != zipfile.ZIP_STORED:
        return _read(archive, info)
    with open(path, "rb") as file:
        file.seek(info.header_offset + 26)
        name, extra = struct.unpack("<HH", file.read(4))
        file.seek(name + extra, 1)
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            return _read(archive, info)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = read(file)
        if fortran or dtype.hasobject or 0 in shape:
            return _read(archive, info)
        return np.memmap(path, dtype, "r", file.tell(), shape)


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    loaded: Array = np.load(io.BytesIO(archive.read(info)), allow_pickle=False)
    return loaded
