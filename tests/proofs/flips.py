"""R5: every single flipped bit of every file is refused, by Python and by C.

    python -m proofs.flips --help          (in the folder tests, or make proof-flips)

The file `checkpoint` is text that people write too: a flipped bit in it may be refused or harmless,
but the newest checkpoint is found all the same.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np

import graphio as tf
from proofs import victims
from proofs.slices import Mode, Result, main
from proofs.victims import ENGINES, READERS, Reader, Tally

STEPS = (1, 3, 2, 7)  # one bit apart, the newest last


def of_a_file(load: victims.Load, path: Path, bits: Iterable[int]) -> Tally:
    """Loads with each of the bits flipped."""
    tally = Tally()
    for bit in victims.flipped(path, bits):
        tally.refuse(load, f"{path.suffix}, bit {bit}")
    return tally


def of_a_checkpoint(name: str, prefix: Path, step: int = 1) -> Tally:
    """Every step-th bit of each file, by a reader; a restore that fails assigns nothing."""
    reader, tally = Reader(name, prefix), Tally()
    for path in victims.files_of(prefix):
        tally += of_a_file(reader.load, path, range(0, 8 * path.stat().st_size, step))
    reader.check_unchanged(tally)
    return tally


def of_a_bundle(engine: str, data: bytes, step: int = 1) -> Tally:
    """Every step-th bit of a model file, loaded from memory."""
    return of_bits(engine, data, range(0, 8 * len(data), step))


def of_bits(engine: str, data: bytes, bits: Iterable[int]) -> Tally:
    """Those bits of a model file."""
    load, tally = victims.engine(engine).load, Tally()
    load(data)
    damaged = bytearray(data)
    for bit in bits:
        damaged[bit // 8] ^= 1 << bit % 8
        tally.refuse(lambda: load(bytes(damaged)), f"model, bit {bit}")
        damaged[bit // 8] ^= 1 << bit % 8
    return tally


def state_file(folder: Path) -> Path:
    """The file `checkpoint` of a folder with four checkpoints; STEPS[-1] is the newest."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("v", [], initializer=tf.zeros_initializer())
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        for step in sorted(STEPS):
            saver.save(session, folder / "m", global_step=step, write_meta_graph=False)
    return folder / "checkpoint"


def of_the_state_file(folder: Path) -> Tally:
    """Every bit; refused counts those that were seen."""
    path, tally = state_file(folder), Tally()
    expected = str(folder / f"m-{max(STEPS)}")
    for bit in victims.flipped(path, range(8 * path.stat().st_size)):
        tally.tried += 1
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            found = tf.train.latest_checkpoint(folder)
        tally.refused += bool(seen)
        if found != expected:
            tally.taken.append(f"checkpoint, bit {bit}: {found}")
    return tally


# ---- slices ----


def result(tallies: Iterable[tuple[str, Tally]], what: str = "flips") -> Result:
    """Counts, in all and by reader; what was taken is lost."""
    found = Result()
    for name, tally in tallies:
        found.count(what, tally.tried)
        found.count("refused", tally.refused)
        found.count(f"by {name}", tally.tried)
        found.lost += [f"{name}: {what}" for what in tally.taken]
    return found


def checkpoints(seed: int, count: int, folder: Path) -> Result:
    """A trial is every bit of all files of a checkpoint."""
    tallies = []
    for k in range(count):
        prefix = folder / f"c{k}"
        victims.write(prefix, save_id=seed * 1000 + k, change=seed + k, two_shards=k % 2 == 0)
        tallies += [(name, of_a_checkpoint(name, prefix)) for name in READERS]
    return result(tallies)


def of_c(seed: int, count: int, folder: Path) -> Result:
    """A trial is every bit of a checkpoint that the C library wrote."""
    tallies = []
    for k in range(count):
        prefix = folder / f"c{k}"
        written_by_c(prefix, seed + k)
        tallies += [(name, of_a_checkpoint(name, prefix)) for name in READERS]
    return result(tallies)


def written_by_c(prefix: Path, seed: int) -> None:
    """A checkpoint from a state of the C library."""
    first = prefix.with_name("first")
    victims.write(first, save_id=seed)
    state = victims.engine("cinfer").new_state(seed)
    state.restore(first)
    state.save(prefix, step=seed, meta=victims.graph_file())


def bundles(seed: int, count: int, folder: Path) -> Result:
    """A trial is every bit of a model file."""
    tallies = []
    for k in range(count):
        data = victims.bundle(seed + k)
        tallies += [(engine, of_a_bundle(engine, data)) for engine in ENGINES]
    return result(tallies)


def state_files(seed: int, count: int, folder: Path) -> Result:
    """A trial is every bit of a file `checkpoint`."""
    tallies = []
    for k in range(count):
        (folder / str(k)).mkdir()
        tallies.append(("latest_checkpoint", of_the_state_file(folder / str(k))))
    return result(tallies)


def large(seed: int, count: int, folder: Path) -> Result:
    """A trial is 100 bits at random in the files of a checkpoint of 10 MB."""
    rng, prefix = random.Random(seed), folder / "c"
    values = {
        f"layer_{i}/w": np.random.default_rng(seed + i).random([500, 250], np.float32)
        for i in range(20)
    }
    values["of_float32"] = values["layer_0/w"]
    victims.checkpoint.write_checkpoint(prefix, values, meta=victims.graph_file(), save_id=seed)
    files = victims.files_of(prefix)
    tallies = []
    for name in READERS:
        reader, tally = Reader(name, prefix), Tally()
        for path in rng.choices(files, [p.stat().st_size for p in files], k=100 * count):
            tally += of_a_file(reader.load, path, [rng.randrange(8 * path.stat().st_size)])
        reader.check_unchanged(tally)
        tallies.append((name, tally))
    return result(tallies)


def large_bundle(seed: int, count: int, folder: Path) -> Result:
    """A trial is 100 bits at random of a model of 1 MB."""
    rng, data = random.Random(seed), victims.bundle(seed, rows=32_768)
    tallies = []
    for engine in ENGINES:
        bits = (rng.randrange(8 * len(data)) for _ in range(100 * count))
        tallies.append((engine, of_bits(engine, data, bits)))
    return result(tallies)


MODES = {
    "checkpoint, every bit": Mode(checkpoints),
    "checkpoint written by C, every bit": Mode(of_c),
    "model, every bit": Mode(bundles),
    "state file, every bit": Mode(state_files),
    "checkpoint of 10 MB, 100 bits": Mode(large),
    "model of 1 MB, 100 bits": Mode(large_bundle),
}

if __name__ == "__main__":
    sys.exit(main("R5", "Flips bits of files and restores.", MODES, count=10, slice_count=2))
