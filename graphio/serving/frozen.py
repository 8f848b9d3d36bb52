"""Copies of models whose weights processes share.

Constants of a model file stay in the file, of which processes share the pages; values of variables
are each process's own, and so is all of a model of another format. A copy has constants in the
place of variables that no signature assigns. One is made for all processes, in a separate
process, which needs the builder of graphs.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import subprocess
import sys

from graphio.schema import container
from graphio.serving.opening import bytes_of, file_of
from graphio.storage import stores

__all__ = ["copy_of", "fingerprint", "forget"]

_log = logging.getLogger(__name__)
Fingerprint = tuple[tuple[str, int, int], ...]


def fingerprint(path: str) -> Fingerprint:
    """Names, sizes and times of a file, or of the files of a folder."""
    paths = [path]
    if os.path.isdir(path):
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    found = []
    for each in sorted(paths):
        with contextlib.suppress(OSError):  # it has just gone
            facts = os.stat(each)
            found.append((os.path.abspath(each), facts.st_size, facts.st_mtime_ns))
    return tuple(found)


def copy_of(path: str, folder: str) -> str | None:
    """The path of a model's copy in a folder; None: it needs none, or none could be made.

    Raises:
        OpError: the file is missing or damaged.
    """
    if not _has_values(path):
        return None
    looks = repr((path, fingerprint(path))).encode()
    target = os.path.join(folder, f"{hashlib.sha256(looks).hexdigest()[:32]}.gio")
    if os.path.exists(target):
        return target
    command = [sys.executable, "-m", "graphio.serving.frozen", path, target]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return target
    lines = done.stderr.strip().splitlines()
    _log.warning("'%s' is not shared by workers: %s", path, lines[-1] if lines else "no copy")
    return None


def forget(copy: str) -> None:
    """Removes a copy; processes that have opened it go on."""
    with contextlib.suppress(OSError):
        os.remove(copy)


def _has_values(path: str) -> bool:
    """Whether a model has values that a process would hold for itself."""
    file = file_of(path)
    if file is None:
        return True
    source = stores.loadable(file)
    read = container.read if isinstance(source, str) else container.unpack
    message, _ = read(source, True)
    return any(variable.HasField("value") for variable in message.variable)


def _write(path: str, target: str) -> None:
    from graphio.model.size_reduction import reduced  # which servers do without

    stores.write(target, [reduced(bytes_of(path), freeze=True)])


if __name__ == "__main__":
    _write(*sys.argv[1:])
