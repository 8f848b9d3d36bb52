"""Every state that a kill or a power cut can leave, from a recording of file operations.

A state is what the folder holds afterwards: names to contents. After a kill all operations up to
a moment have happened. After a power cut, of those since the folder was last synced any subset
may have, and of what was written to a file since it was synced nothing, half or all may be there.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from graphio.storage.files import FileLayer

OPTIONAL = 8  # of the last operations since a sync, all subsets are tried
UNSYNCED = 4  # of the last files that were not synced, all contents are tried

#: name to the number of its content, see Contents
State = frozenset[tuple[str, int]]


class Contents:
    """Every content once: states refer to them by number."""

    def __init__(self) -> None:
        self.all: list[bytes] = []
        self._numbers: dict[bytes, int] = {}

    def number(self, data: bytes) -> int:
        """The number of a content."""
        found = self._numbers.setdefault(data, len(self.all))
        if found == len(self.all):
            self.all.append(data)
        return found

    def state(self, files: Mapping[str, bytes]) -> State:
        """The state of a folder that holds these files."""
        return frozenset((name, self.number(data)) for name, data in files.items())


@dataclass
class Operation:
    """A recorded call: create, write, fsync, rename, remove, sync, ack, make or sync above.

    The last two: the folder itself was made, and the one that it is in synced.

    Attributes:
        kind: of those.
        file: the number of the file that was created, written, synced or closed.
        name, old: of the file made or removed; before the rename.
        data: what was written.
        step: what was acknowledged.
    """

    kind: str
    file: int = -1
    name: str = ""
    old: str = ""
    data: bytes = b""
    step: int = -1


class Recorder(FileLayer):
    """Does everything and notes it. One folder, which it may make; any number of threads.

    Attributes:
        operations: in the order in which they happened.
    """

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._files = 0
        self._made: str | None = None
        self._handles: dict[int, int] = {}
        self._begun: set[int] = set()
        self._lock = threading.Lock()

    def acknowledge(self, step: int) -> None:
        """A save has returned."""
        self._note("ack", step=step)

    def _note(self, kind: str, **what: object) -> None:
        self.operations.append(Operation(kind, **what))  # type: ignore[arg-type]

    def create(self, path: str) -> int:
        with self._lock:
            handle = super().create(path)
            self._handles[handle] = self._files
            self._note("create", file=self._files, name=os.path.basename(path))
            self._files += 1
            return handle

    def write(self, handle: int, data: memoryview) -> int:
        with self._lock:
            number, part = self._handles[handle], memoryview(data).cast("B")
            if number not in self._begun:
                self._begun.add(number)
                part = part[: len(part) // 2 + 1]  # a short write, as a system may do
            written = super().write(handle, part)
            self._note("write", file=number, data=bytes(part[:written]))
            return written

    def fsync(self, handle: int) -> None:
        with self._lock:
            super().fsync(handle)
            self._note("fsync", file=self._handles[handle])

    def rename(self, old: str, new: str) -> None:
        with self._lock:
            super().rename(old, new)
            self._note("rename", old=os.path.basename(old), name=os.path.basename(new))

    def remove(self, path: str) -> None:
        with self._lock:
            super().remove(path)
            self._note("remove", name=os.path.basename(path))

    def sync_folder(self, path: str) -> None:
        with self._lock:
            super().sync_folder(path)
            above = self._made is not None and os.path.samefile(path, os.path.dirname(self._made))
            self._note("sync above" if above else "sync")

    def make_folder(self, path: str) -> None:
        with self._lock:
            super().make_folder(path)
            self._made = os.path.abspath(path)
            self._note("make")


@dataclass
class _File:
    """A file as it is written: its bytes, and how many of them are surely on the disk."""

    data: bytes = b""
    synced: int = 0


@dataclass
class _Disk:
    """The durable state, the possible changes to it, and the acknowledged steps."""

    names: dict[str, _File]
    durable: dict[str, _File]
    pending: list[tuple[str, str, _File | None]] = field(default_factory=list)  # gone, made, file
    files: dict[int, _File] = field(default_factory=dict)
    acknowledged: int = -1
    fleeting: bool = False  # the folder may be gone after a power cut

    def apply(self, done: Operation) -> None:
        """Goes on by one operation."""
        if done.kind == "create":
            self.files[done.file] = self.names[done.name] = _File()
            self.pending.append(("", done.name, self.files[done.file]))
        elif done.kind == "write":
            self.files[done.file].data += done.data
        elif done.kind == "fsync":
            self.files[done.file].synced = len(self.files[done.file].data)
        elif done.kind == "rename":
            self.names[done.name] = self.names.pop(done.old)
            self.pending.append((done.old, done.name, self.names[done.name]))
        elif done.kind == "remove":
            del self.names[done.name]
            self.pending.append((done.name, "", None))
        elif done.kind == "sync":
            self.durable, self.pending = dict(self.names), []
        elif done.kind in ("make", "sync above"):
            self.fleeting = done.kind == "make"
        elif done.kind == "ack":
            self.acknowledged = done.step
        else:
            raise ValueError(f"unknown operation {done.kind!r}")

    def cuts(self) -> Iterator[dict[str, bytes]]:
        """The folders that a power cut can leave now."""
        if self.fleeting:
            yield {}
        certain, optional = self.pending[:-OPTIONAL], self.pending[-OPTIONAL:]
        for chosen in itertools.product((False, True), repeat=len(optional)):
            names = dict(self.durable)
            for gone, made, file in itertools.chain(certain, itertools.compress(optional, chosen)):
                names.pop(gone, None)
                if file is not None:
                    names[made] = file
            yield from _amounts(names)


def _amounts(names: Mapping[str, _File]) -> Iterator[dict[str, bytes]]:
    """All contents that the files may have after a power cut."""
    unsynced = [n for n, f in names.items() if f.synced < len(f.data)][-UNSYNCED:]
    state = {name: file.data for name, file in names.items()}
    for amounts in itertools.product((0, 1, 2), repeat=len(unsynced)):
        for name, amount in zip(unsynced, amounts, strict=True):
            file = names[name]
            size = file.synced + (len(file.data) - file.synced) * amount // 2
            state[name] = file.data[:size]
        yield state


def held(folder: str | os.PathLike[str]) -> dict[str, bytes]:
    """The files of a folder."""
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = file.read()
    return found


def replayed(operations: Iterable[Operation], initial: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of the folder after operations, if they are all that happened."""
    disk = _disk(initial)
    for done in operations:
        disk.apply(done)
    return {name: file.data for name, file in disk.names.items()}


def _disk(initial: Mapping[str, bytes], base: int = -1) -> _Disk:
    old = {name: _File(data, len(data)) for name, data in initial.items()}
    return _Disk(dict(old), dict(old), acknowledged=base)


def states(
    operations: Iterable[Operation],
    initial: Mapping[str, bytes],
    contents: Contents,
    base: int = -1,
) -> tuple[dict[State, int], dict[State, int]]:
    """The states that kills and power cuts can leave.

    Args:
        operations: as they happened.
        initial: what the folder held before, durably.
        contents: takes what the states hold.
        base: the step acknowledged before.

    Returns:
        Two dicts, for kills and for power cuts: state to the last step that was acknowledged
        when it could arise.
    """
    disk = _disk(initial, base)
    kills: dict[State, int] = {}
    cuts: dict[State, int] = {}

    def add(found: dict[State, int], state: Mapping[str, bytes]) -> None:
        key = contents.state(state)
        # The same state may come before and after an acknowledgement: the later one counts.
        found[key] = max(found.get(key, -1), disk.acknowledged)

    for done in operations:
        disk.apply(done)
        add(kills, {name: file.data for name, file in disk.names.items()})
        for state in disk.cuts():
            add(cuts, state)
    return kills, cuts


class Replica:
    """A folder that takes on one state after another, quickly: its files are links.

    Args:
        folder: an empty one; the contents are stored next to it.
    """

    def __init__(self, folder: str | os.PathLike[str], contents: Contents) -> None:
        self.folder, self.pool = os.fspath(folder), os.fspath(folder) + ".contents"
        self.contents = contents
        self._now: dict[str, int] = {}
        self._made = 0
        os.makedirs(self.folder, exist_ok=True)
        os.mkdir(self.pool)

    def become(self, state: State) -> None:
        """Makes the folder hold exactly this state."""
        for number in range(self._made, len(self.contents.all)):
            with open(os.path.join(self.pool, str(number)), "wb") as file:
                file.write(self.contents.all[number])
        self._made = len(self.contents.all)
        expected = dict(state)
        for name, number in list(self._now.items()):
            if expected.get(name) != number:
                os.unlink(os.path.join(self.folder, name))
                del self._now[name]
        for name, number in expected.items():
            if name not in self._now:
                os.link(os.path.join(self.pool, str(number)), os.path.join(self.folder, name))
        self._now = expected

    def copy(self, state: State) -> None:
        """Makes the folder hold exactly this state, in separate files that may be changed."""
        self.forget()
        for name, number in state:
            with open(os.path.join(self.folder, name), "wb") as file:
                file.write(self.contents.all[number])

    def forget(self) -> None:
        """Empties the folder, whatever was done in it."""
        for name in os.listdir(self.folder):
            os.unlink(os.path.join(self.folder, name))
        self._now = {}
