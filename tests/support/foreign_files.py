"""Files of other frameworks for tests: what is read of them, and a watch that nothing runs."""

from __future__ import annotations

import contextlib
import functools
import io
import struct
import sys
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from folders import GOLDEN
from hypothesis import strategies as st

from graphio.train.interop.sources import open_source

FOREIGN = GOLDEN / "foreign"
Found = dict[str, tuple[Any, ...]]


def everything(path: Path) -> Found:
    """All values of a file, compared by their bytes."""
    source = open_source(path)
    found = {name: source.array(name) for name in source.entries()}
    return {
        name: (str(a.dtype), a.shape, a.tolist() if a.dtype == object else a.tobytes())
        for name, a in found.items()
    }


# ---- nothing runs ----

#: permitted to a reader: opening files below this folder for reading
_ALLOWED: list[str] = []
_SEEN: list[str] = []
_QUIET = {"object.__getattr__", "object.__setattr__", "object.__delattr__", "mmap.__new__"}


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _ALLOWED or event.startswith(("array", "builtins.id", "sys._getframe", "gc.")):
        return
    if (
        event == "open"
        and str(arguments[0]).startswith(_ALLOWED[0])
        and arguments[1] in (None, "r")
    ):
        return
    if event not in _QUIET and not event.startswith("os.listdir"):
        _SEEN.append(f"{event} {arguments!r:.200}")


sys.addaudithook(_audit)


@functools.cache
def _load_readers() -> None:
    """Loads the modules that readers import late before anything is watched."""
    for name in ("torch_state.pt", "tf_saver"):
        everything(FOREIGN / name)


@contextlib.contextmanager
def nothing_runs(folder: Path) -> Iterator[None]:
    """Fails when anything inside imports, compiles, executes, or opens a file elsewhere."""
    _load_readers()
    _SEEN.clear()
    _ALLOWED.append(str(folder))
    try:
        yield
    finally:
        _ALLOWED.clear()
    assert not _SEEN


@contextlib.contextmanager
def bounded(megabytes: int) -> Iterator[None]:
    """Fails when Python takes more memory inside."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < megabytes << 20


# ---- damage ----


def unprotected(file: str, data: bytes) -> set[int]:
    """Bytes that a flip may change without any value changing."""
    if file.startswith("tf"):
        return set()
    read = ("data.pkl", "byteorder", "data/0")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        inside: set[int] = set()
        for info in archive.infolist():
            start = info.header_offset + 30 + len(info.filename)
            start += struct.unpack_from("<H", data, info.header_offset + 28)[0]
            if info.filename.split("/", 1)[1] in read:
                inside.update(range(start, start + info.file_size))
    return set(range(len(data))) - inside


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["put", "cut", "double", "insert"]),
        st.floats(0, 1, exclude_max=True),
        st.binary(min_size=1, max_size=9),
    ),
    min_size=1,
    max_size=4,
)


def mutated(data: bytes, edits: list[tuple[str, float, bytes]]) -> bytes:
    """Bytes after some edits, each at a fraction of their length."""
    for kind, fraction, piece in edits:
        at = int(len(data) * fraction)
        if kind == "put":
            data = data[:at] + piece + data[at + len(piece) :]
        elif kind == "insert":
            data = data[:at] + piece + data[at:]
        elif kind == "cut":
            data = data[:at] + data[at + len(piece) :]
        else:
            data = data[:at] + data[at : at + 40 * len(piece)] + data[at:]
    return data


# ---- archives of torch.save's ----


def torch_file(path: Path, data: bytes, storages: dict[str, bytes] | None = None) -> Path:
    """An archive like torch.save's around a pickle."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/data.pkl", data)
        for key, content in (storages or {}).items():
            archive.writestr(f"a/data/{key}", content)
    return path
