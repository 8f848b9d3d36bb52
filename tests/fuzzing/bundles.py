"""Several files in one input: for each its number among known names, its length and its bytes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

_HEAD = struct.Struct("<BI")


def pack(names: Sequence[str], files: dict[str, bytes]) -> bytes:
    """One input of some files."""
    return b"".join(_HEAD.pack(names.index(name), len(data)) + data for name, data in files.items())


def unpack(names: Sequence[str], data: bytes) -> dict[str, bytes]:
    """The files of an input: a length beyond its end means its end."""
    files: dict[str, bytes] = {}
    at = 0
    while len(data) - at >= _HEAD.size:
        number, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        files[names[number % len(names)]] = data[at : at + length]
        at += length
    return files


def lay(folder: Path, files: dict[str, bytes]) -> None:
    """Makes a folder hold these files and no others."""
    for path in folder.iterdir():
        if path.name not in files:
            path.unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)
