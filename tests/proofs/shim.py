"""The shared library between a program and the system's calls: built, loaded, read."""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from crash_states import Operation

from proofs.building import built

SOURCE = Path(__file__).with_name("io_shim.c")
HALVES = -1  # in place of an errno: no call fails, each does half of what it could
ENDS = -2  # likewise: reads find the end of their file


def why_not() -> str | None:
    """Why the library cannot be used here; None: it can."""
    if not sys.platform.startswith("linux"):
        return "calls are intercepted on Linux only"
    return None if shutil.which("cc") else "there is no C compiler"


def library() -> Path:
    """The library, compiled."""
    sources = [SOURCE, SOURCE.with_suffix(".h")]
    return built("io_shim.so", sources, ["-shared", "-fPIC", "-O1", "-ldl"])


def preloaded() -> bool:
    """Whether this process runs with the library."""
    return hasattr(ctypes.CDLL(None), "io_shim_arm")


def run_preloaded() -> None:
    """Replaces this program by itself with the library loaded; returns if it is loaded."""
    if not preloaded():
        subprocess_environment = {**os.environ, "LD_PRELOAD": str(library())}
        command = [sys.executable, *sys.orig_argv[1:]]
        done = subprocess.run(command, env=subprocess_environment, check=False)
        sys.exit(done.returncode)


class Fault:
    """Inside the block one call on the files of a folder fails; needs the library.

    Args:
        folder: the files.
        nth: which call, from 1 on; 0: none.
        number: errno, or HALVES.
        forever: whether all from that one on fail.

    Attributes:
        calls: how many there were, known after the block.
    """

    def __init__(self, folder: Path, nth: int, number: int, forever: bool = False) -> None:
        self._arm = (os.fsencode(folder), nth, number, forever)
        self.calls = 0

    def __enter__(self) -> Fault:
        _shim().io_shim_arm(*self._arm)
        return self

    def __exit__(self, *_: object) -> None:
        self.calls = _shim().io_shim_calls()
        _shim().io_shim_arm(b"", 0, 0, 0)


def refuse_sync(folder: Path, number: int) -> None:
    """From now on the fsync of a folder fails with an errno; 0: it does not. Needs the library."""
    _shim().io_shim_arm(os.fsencode(folder), 0, 0, 0)
    _shim().io_shim_refuse_sync(number)


@functools.lru_cache(maxsize=1)
def _shim() -> ctypes.CDLL:
    shim = ctypes.CDLL(None)
    shim.io_shim_arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int]
    shim.io_shim_calls.restype = ctypes.c_long
    return shim


def environment(
    folder: Path,
    nth: int = 0,
    number: int = 0,
    forever: bool = False,
    *,
    log: Path | None = None,
    age: int = 0,
    counts: Path | None = None,
) -> dict[str, str]:
    """The environment of a program that runs with the library; arguments as Fault, and:

    Args:
        log: where the calls are noted.
        counts: file that will hold how many calls there were.
        age: by how many seconds older files look that were there before the program.
    """
    return {
        **os.environ,
        "LD_PRELOAD": str(library()),
        "IO_SHIM_FOLDER": str(folder),
        "IO_SHIM_NTH": str(nth),
        "IO_SHIM_ERROR": str(number),
        "IO_SHIM_FOREVER": str(int(forever)),
        "IO_SHIM_AGE": str(age),
        **({"IO_SHIM_LOG": str(log)} if log else {}),
        **({"IO_SHIM_COUNT": str(counts)} if counts else {}),
    }


def operations(log: bytes) -> Iterator[Operation]:
    """The operations of a log; lines "saved N" that the program prints are acknowledgements."""
    files: dict[int, int] = {}  # by handle
    at, made = 0, 0
    while at < len(log):
        end = log.index(b"\n", at)
        kind, *words = log[at:end].decode().split(" ")
        at = end + 1
        if kind == "create":
            files[int(words[0])] = made
            yield Operation("create", file=made, name=words[1])
            made += 1
        elif kind == "write":
            size = int(words[1])
            yield Operation("write", file=files[int(words[0])], data=log[at : at + size])
            at += size
        elif kind == "fsync":
            yield Operation("fsync", file=files[int(words[0])])
        elif kind == "sync":
            yield Operation("sync")
        elif kind == "rename":
            yield Operation("rename", old=words[0], name=words[1])
        elif kind == "remove":
            yield Operation("remove", name=words[0])
        elif kind == "saved":
            yield Operation("ack", step=int(words[0]))
