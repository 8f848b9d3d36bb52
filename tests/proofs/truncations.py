"""R6: files cut off, extended, spliced, swapped or made by an enemy are refused by Python and C.

python -m proofs.truncations --help          (in the folder tests, or make proof-truncations)
"""

from __future__ import annotations

import contextlib
import random
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import graphio as tf
from proofs import flips, positions, programs, untrusted, victims
from proofs.slices import Mode, Result, main
from proofs.victims import ENGINES, Reader, Tally

EXTRA = range(1, 65)
BLOCK = 64


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[bytes]:
    """Gives a file's bytes and puts them back."""
    data = path.read_bytes()
    try:
        yield data
    finally:
        path.write_bytes(data)


def lengths(size: int, step: int) -> Iterable[int]:
    """Every step-th length below a size, and the last."""
    return sorted({*range(0, size, step), size - 1})


def tails(seed: int) -> Iterator[bytes]:
    """1 to 64 bytes more: zeros, and at random."""
    rng = random.Random(seed)
    for count in EXTRA:
        yield bytes(count)
        yield rng.randbytes(count)


def cut_and_extended(load: victims.Load, path: Path, seed: int, step: int = 1) -> Tally:
    """One file at every length, then with bytes after its end."""
    tally = Tally()
    with replaced(path) as data:
        for length in lengths(len(data), step):
            path.write_bytes(data[:length])
            tally.refuse(load, f"{path.suffix} of {length} bytes")
        for tail in tails(seed):
            path.write_bytes(data + tail)
            tally.refuse(load, f"{path.suffix} and {len(tail)} bytes")
    return tally


def of_a_checkpoint(engine: str, prefix: Path, seed: int, step: int = 1) -> Tally:
    """cut_and_extended for all files of a checkpoint, and each file missing."""
    reader, tally = Reader(engine, prefix), Tally()
    for path in victims.files_of(prefix):
        tally += cut_and_extended(reader.load, path, seed, step)
        if path.suffix == ".safetensors":
            with replaced(path):
                path.unlink()
                tally.refuse(reader.load, f"no {path.suffix}")
    reader.check_unchanged(tally)
    return tally


def of_a_bundle(engine: str, data: bytes, seed: int, step: int = 1) -> Tally:
    """A model file, from memory."""
    load, tally = victims.engine(engine).load, Tally()
    for length in lengths(len(data), step):
        tally.refuse(lambda: load(data[:length]), f"model of {length} bytes")  # noqa: B023
    for tail in tails(seed):
        tally.refuse(lambda: load(data + tail), f"model and {len(tail)} bytes")  # noqa: B023
    return tally


def of_the_state_file(folder: Path, seed: int) -> Tally:
    """Every length, and bytes after the end: the newest checkpoint is found all the same."""
    path, tally = flips.state_file(folder), Tally()
    expected = str(folder / f"m-{max(flips.STEPS)}")
    with replaced(path) as data:
        for damaged in (*(data[:n] for n in range(len(data))), *(data + t for t in tails(seed))):
            path.write_bytes(damaged)
            tally.tried += 1
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                found = tf.train.latest_checkpoint(folder)
            tally.refused += bool(seen)
            if found != expected:
                tally.taken.append(f"checkpoint, {len(damaged)} bytes: {found}")
    return tally


# ---- splices ----


def pairs(folder: Path, seed: int) -> Iterator[tuple[str, Path, Path]]:
    """Two checkpoints of the same variables: of other saves, and of one save id twice."""
    for name, other_id in (("other save", seed + 1), ("same save id", seed)):
        a, b = folder / f"{name[:5]}a" / "c", folder / f"{name[:5]}b" / "c"
        for prefix, save_id, change in ((a, seed, 0), (b, other_id, 1)):
            prefix.parent.mkdir()
            victims.write(prefix, save_id=save_id, change=change)
        yield name, a, b


def spliced(engine: str, a: Path, b: Path) -> Tally:
    """Files of b under the names of a's: complete, and the rest of them from each 64th byte on."""
    reader, tally = Reader(engine, a), Tally()
    ours = victims.files_of(a)
    for path, other in zip(ours, victims.files_of(b), strict=True):
        theirs = other.read_bytes()
        with replaced(path) as data:
            for at in range(0, max(len(data), len(theirs)), BLOCK):
                for mixed in (data[:at] + theirs[at:], theirs[:at] + data[at:]):
                    if mixed != data:
                        path.write_bytes(mixed)
                        tally.refuse(reader.load, f"{path.suffix} spliced at {at}")
    for tampered in (_swapped_shards, _index_of_another):
        with contextlib.ExitStack() as undo:
            for path in ours:
                undo.enter_context(replaced(path))
            tampered(a, b)
            tally.refuse(reader.load, tampered.__name__.strip("_"))
        for path in {*victims.files_of(a)} - {*ours}:
            path.unlink()
    reader.check_unchanged(tally)
    return tally


def _swapped_shards(a: Path, b: Path) -> None:
    """The two shards of a checkpoint have each other's name."""
    shards = [p for p in victims.files_of(a) if p.suffix == ".safetensors"]
    first, second = (p.read_bytes() for p in shards)
    shards[0].write_bytes(second)
    shards[1].write_bytes(first)


def _index_of_another(a: Path, b: Path) -> None:
    """The index of b with the graph file of a, and the shards of a under the names of b's."""
    a.with_suffix(".index").write_bytes(b.with_suffix(".index").read_bytes())
    for ours, theirs in zip(victims.files_of(a), victims.files_of(b), strict=True):
        if ours.suffix == ".safetensors" and ours.name != theirs.name:
            ours.with_name(theirs.name).write_bytes(ours.read_bytes())


# ---- slices ----


def result(tallies: Iterable[tuple[str, Tally]]) -> Result:
    """Counts by engine; what was taken is lost."""
    return flips.result(tallies, "files")


def checkpoints(seed: int, count: int, folder: Path) -> Result:
    """A trial is all of it for one checkpoint."""
    tallies = []
    for k in range(count):
        prefix = folder / f"c{k}"
        victims.write(prefix, save_id=seed * 1000 + k, change=seed, two_shards=k % 2 == 0)
        tallies += [(e, of_a_checkpoint(e, prefix, seed + k)) for e in ENGINES]
    return result(tallies)


def bundles(seed: int, count: int, folder: Path) -> Result:
    """A trial is all of it for one model."""
    tallies = []
    for k in range(count):
        data = victims.bundle(seed + k)
        tallies += [(engine, of_a_bundle(engine, data, seed + k)) for engine in ENGINES]
    return result(tallies)


def state_files(seed: int, count: int, folder: Path) -> Result:
    """A trial is all of it for one file `checkpoint`."""
    tallies = []
    for k in range(count):
        (folder / str(k)).mkdir()
        found = of_the_state_file(folder / str(k), seed + k)
        tallies.append(("latest_checkpoint", found))
    return result(tallies)


def splices(seed: int, count: int, folder: Path) -> Result:
    """A trial is two pairs of checkpoints."""
    tallies = []
    for k in range(count):
        (folder / str(k)).mkdir()
        for _, a, b in pairs(folder / str(k), seed * 1000 + k):
            tallies += [(engine, spliced(engine, a, b)) for engine in ENGINES]
    return result(tallies)


def enemies(seed: int, count: int, folder: Path) -> Result:
    """A trial is every case of untrusted.py, and 1,000 random changes of an index."""
    tallies = []
    for k in range(count):
        (folder / str(k)).mkdir()
        prefix = folder / str(k) / "c"
        victims.write(prefix, save_id=seed * 1000 + k)
        tallies += [(engine, untrusted.all_cases(engine, prefix)) for engine in ENGINES]
        tallies.append(("both engines", untrusted.mutated(prefix, seed + k, 1000)))
    return result(tallies)


def iterators(seed: int, count: int, folder: Path) -> Result:
    """A trial is 20 changed positions of each pipeline; invalid ones are refused."""
    found = [positions.of_pipeline(name, seed, 20 * count) for name in programs.PIPELINES]
    return result([("tf.data", sum(found, Tally()))])


MODES: dict[str, Mode] = {
    "checkpoint, every length": Mode(checkpoints),
    "model, every length": Mode(bundles),
    "state file, every length": Mode(state_files),
    "splices": Mode(splices),
    "index with valid checksums": Mode(enemies),
    "positions of iterators": Mode(iterators),
}

if __name__ == "__main__":
    purpose = "Cuts off, extends, splices and forges files and restores."
    sys.exit(main("R6", purpose, MODES, count=10, slice_count=2))
