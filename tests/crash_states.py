"""Every state that a kill or a power cut can leave, from a recording of file operations.

A state is what the folder holds afterwards: names to bytes. After a kill all operations up to a
moment have happened. After a power cut, of those since the folder was last synced any subset may
have, and of a file that was not synced nothing, half or all of its bytes may be there.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from graphio.schema.files import FileLayer

OPTIONAL = 6  # of the last operations since a sync, all subsets are tried
UNSYNCED = 3  # of the last files that were not synced, all contents are tried

State = dict[str, bytes]


@dataclass
class File:
    """A file as it is written."""

    data: bytearray = field(default_factory=bytearray)
    synced: bool = False


@dataclass
class Moment:
    """What is known to be durable, what may be, and what has been acknowledged."""

    durable: dict[str, File]
    pending: list[tuple[str, str, File | None]]  # (name gone or "", name made or "", file)
    acknowledged: int


class Recorder(FileLayer):
    """Does everything and notes every moment in between.

    Attributes:
        kills: the states that a kill can leave, with the step acknowledged before.
        cuts: likewise for power cuts.
    """

    def __init__(self) -> None:
        self.kills: list[tuple[State, int]] = []
        self.cuts: dict[tuple[tuple[str, bytes], ...], int] = {}
        self._handles: dict[int, File] = {}
        self._names: dict[str, File] = {}
        self._durable: dict[str, File] = {}
        self._pending: list[tuple[str, str, File | None]] = []
        self.acknowledged = -1

    def acknowledge(self, step: int) -> None:
        """A save has returned."""
        self.acknowledged = step
        self._note()

    def create(self, path: str) -> int:
        handle = super().create(path)
        name = os.path.basename(path)
        self._handles[handle] = self._names[name] = File()
        self._pending.append(("", name, self._names[name]))
        self._note()
        return handle

    def write(self, handle: int, data: memoryview) -> int:
        written = super().write(handle, data[:100])  # short writes, as a system may do
        self._handles[handle].data += data[:written]
        self._note()
        return written

    def fsync(self, handle: int) -> None:
        super().fsync(handle)
        self._handles[handle].synced = True
        self._note()

    def rename(self, old: str, new: str) -> None:
        super().rename(old, new)
        before, after = os.path.basename(old), os.path.basename(new)
        self._names[after] = self._names.pop(before)
        self._pending.append((before, after, self._names[after]))
        self._note()

    def remove(self, path: str) -> None:
        super().remove(path)
        name = os.path.basename(path)
        del self._names[name]
        self._pending.append((name, "", None))
        self._note()

    def sync_folder(self, path: str) -> None:
        super().sync_folder(path)
        self._durable = dict(self._names)
        self._pending = []
        self._note()

    def _note(self) -> None:
        now = {name: bytes(file.data) for name, file in self._names.items()}
        self.kills.append((now, self.acknowledged))
        for state in self._power_cuts():
            key = tuple(sorted(state.items()))
            # The same state may come before and after an acknowledgement: the later one counts.
            self.cuts[key] = max(self.cuts.get(key, -1), self.acknowledged)

    def _power_cuts(self) -> Iterator[State]:
        certain, optional = self._pending[:-OPTIONAL], self._pending[-OPTIONAL:]
        for chosen in itertools.product((False, True), repeat=len(optional)):
            names = dict(self._durable)
            done = [*certain, *(op for op, yes in zip(optional, chosen, strict=True) if yes)]
            for gone, made, file in done:
                names.pop(gone, None)
                if file is not None:
                    names[made] = file
            unsynced = [n for n, f in names.items() if not f.synced and f.data][-UNSYNCED:]
            for amounts in itertools.product((0, 0.5, 1), repeat=len(unsynced)):
                state = {name: bytes(file.data) for name, file in names.items()}
                for name, amount in zip(unsynced, amounts, strict=True):
                    state[name] = state[name][: int(len(state[name]) * amount)]
                yield state


def materialize(state: State, folder: str) -> None:
    """Makes the folder hold exactly this state."""
    for name in os.listdir(folder):
        if name not in state:
            os.unlink(os.path.join(folder, name))
    for name, data in state.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
