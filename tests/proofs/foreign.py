"""R17: files of other frameworks, every flipped bit, every length, changes at random; nothing runs.

    python -m proofs.foreign --help          (in the folder tests, or make proof-foreign)

What is taken must have the same values, and lie where the format protects nothing.
"""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from foreign_files import FOREIGN, Found, everything, nothing_runs, unprotected

from graphio.support import errors
from proofs.slices import Mode, Result, main

#: the files that are damaged, and what is opened then
FILES = {
    **{f"tf_{kind}.index": f"tf_{kind}" for kind in ("saver", "sharded", "objects")},
    **{f"tf_{kind}.data-00000-of-00001": f"tf_{kind}" for kind in ("saver", "objects")},
    "tf_sharded.data-00000-of-00002": "tf_sharded",
    "tf_sharded.data-00001-of-00002": "tf_sharded",
    **{f"torch_{kind}.pt": f"torch_{kind}.pt" for kind in ("tiny", "state", "training", "network")},
}
#: maps bytes to the offset of the change (-1: no single one) and the changed bytes
Change = Callable[[bytes], Iterable[tuple[int, bytes]]]


def outcome(path: Path) -> Found | None:
    """The values, or None if they are refused; nothing may run."""
    with nothing_runs(path.parent):
        try:
            return everything(path)
        except errors.OpError:
            return None


def damage(folder: Path, file: str, change: Change) -> Result:
    """Opens every changed form of a file."""
    result, opened = Result(), folder / FILES[file]
    for part in FOREIGN.glob(f"{Path(FILES[file]).stem}.*"):
        shutil.copy(part, folder)
    truth, data = everything(opened), (FOREIGN / file).read_bytes()
    free = unprotected(file, data)
    for at, changed in change(data):
        (folder / file).write_bytes(changed)
        found = outcome(opened)
        result.count("files")
        if found is None:
            result.count("refused")
        elif found != truth or (at >= 0 and at not in free):
            result.lost.append(f"{file}, byte {at}")
    return result


def flipped(data: bytes) -> Iterable[tuple[int, bytes]]:
    """Every bit."""
    copy = bytearray(data)
    for bit in range(8 * len(data)):
        copy[bit // 8] ^= 1 << bit % 8
        yield bit // 8, bytes(copy)
        copy[bit // 8] ^= 1 << bit % 8


def cut(data: bytes) -> Iterable[tuple[int, bytes]]:
    """Every length."""
    return ((-1, data[:length]) for length in range(len(data)))


def changes(seed: int, count: int) -> Change:
    """Some bytes replaced, left out, put in or doubled."""

    def change(data: bytes) -> Iterable[tuple[int, bytes]]:
        rng = random.Random(seed)
        for _ in range(count):
            made = bytearray(data)
            for _ in range(rng.choice((1, 1, 2, 4))):
                at, piece = rng.randrange(len(made) or 1), rng.randbytes(rng.randrange(1, 9))
                made[at : at + rng.choice((0, len(piece)))] = rng.choice(
                    (piece, b"", piece, bytes(made[at : at + 40]))
                )
            yield -1, bytes(made)

    return change


def _chosen(seed: int, count: int) -> list[str]:
    """A trial is a file, each in its turn."""
    return [list(FILES)[(seed - 1 + k) % len(FILES)] for k in range(count)]


def _all(folder: Path, files: list[str], change: Change) -> Result:
    total = Result()
    for number, file in enumerate(files):
        (folder / str(number)).mkdir()
        result = damage(folder / str(number), file, change)
        for name, more in result.counts.items():
            total.count(name, more)
        total.lost += result.lost
    return total


MODES = {
    "every bit": Mode(lambda seed, n, folder: _all(folder, _chosen(seed, n), flipped)),
    "every length": Mode(lambda seed, n, folder: _all(folder, _chosen(seed, n), cut)),
    "1,000 changes at random": Mode(
        lambda seed, n, folder: _all(folder, _chosen(seed, n), changes(seed, 1000))
    ),
}

if __name__ == "__main__":
    purpose = "Damages files of other frameworks and opens them."
    sys.exit(main("R17", purpose, MODES, count=len(FILES), slice_count=1))
