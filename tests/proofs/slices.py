"""The command line that all proofs share: modes, seeds, slices, and the log that is gone on with.

A proof of `count` trials is cut into slices; slice number k of a mode has the seed `seed + k`.
Slices that the log has for the present sources are not run again, so that a deep run may stop at
any moment and go on later.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from proofs import log

MEMORY = "/dev/shm"


@dataclass
class Result:
    """The findings of a slice.

    Attributes:
        counts: what was counted, by name.
        lost: one description for each time that the promise was broken.
    """

    counts: dict[str, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)

    def count(self, name: str, more: int = 1) -> None:
        """Adds to a count."""
        self.counts[name] = self.counts.get(name, 0) + more


#: runs `count` trials with a seed in an empty folder
Slice = Callable[[int, int, Path], Result]


@dataclass(frozen=True)
class Mode:
    """One way in which the promise could be broken.

    Attributes:
        run: one slice.
        control: True for what must lose something, or the proof could not find anything; one
            slice is enough.
    """

    run: Slice
    control: bool = False


def main(
    proof: str,
    purpose: str,
    modes: Mapping[str, Mode],
    *,
    count: int,
    slice_count: int,
    arguments: Sequence[str] | None = None,
) -> int:
    """Runs the modes of a proof slice by slice.

    Args:
        proof: its number: "R1".
        purpose: for --help.
        modes: by name.
        count: trials of each mode, unless --count says another number.
        slice_count: trials of a slice, likewise.
        arguments: of the command line; None: this process's.

    Returns:
        0 if nothing was lost and every control lost something.
    """
    parser = argparse.ArgumentParser(description=purpose)
    parser.add_argument("--mode", action="append", choices=list(modes), help="default: all")
    parser.add_argument("--seed", type=int, default=1, help="of the first slice (default 1)")
    parser.add_argument("--count", type=int, default=count, help=f"of trials a mode ({count})")
    parser.add_argument("--slice", type=int, default=slice_count, help=f"trials ({slice_count})")
    parser.add_argument("--folder", default=memory(), help="where the files lie (%(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="slices at the same time (1)")
    parser.add_argument("--no-log", action="store_true", help="append nothing to docs/proofs.jsonl")
    chosen = parser.parse_args(arguments)
    bad = False
    for name in chosen.mode or list(modes):
        found = _mode(proof, name, modes[name], chosen)
        bad = bad or found
    return int(bad)


def memory() -> str:
    """A folder whose files are in memory, where there is one."""
    return MEMORY if os.access(MEMORY, os.W_OK) else tempfile.gettempdir()


def _mode(proof: str, name: str, mode: Mode, chosen: argparse.Namespace) -> bool:
    """Runs the slices of one mode that are missing; returns whether one broke its promise."""
    bad, most = False, min(chosen.count, chosen.slice) if mode.control else chosen.count
    todo = []
    for number, begin in enumerate(range(0, most, chosen.slice)):
        seed, count = chosen.seed + number, min(chosen.slice, most - begin)
        if not chosen.no_log and log.done(proof, name, seed):
            print(f"{proof} {name}, seed {seed}: in the log")
        else:
            todo.append((seed, count))
    for seed, result, seconds, folder in _results(mode, todo, chosen):
        if not chosen.no_log:
            log.append(
                proof,
                name,
                seed=seed,
                counts=result.counts,
                losses=len(result.lost),
                seconds=seconds,
                folder=folder,
                **({"control": True} if mode.control else {}),
            )
        counts = ", ".join(f"{n} {what}" for what, n in result.counts.items())
        print(f"{proof} {name}, seed {seed}: {counts}, {len(result.lost)} lost, {seconds:.1f} s")
        if not mode.control:
            for line in result.lost[:5]:
                print("   ", line)
        bad = bad or (bool(result.lost) != mode.control)
    return bad


Ran = tuple[int, Result, float, str]


def _results(
    mode: Mode, todo: Sequence[tuple[int, int]], chosen: argparse.Namespace
) -> Iterator[Ran]:
    """Runs slices: seed, result, seconds and folder of each, as they end."""
    if chosen.jobs == 1:
        for seed, count in todo:
            yield _slice(mode, seed, count, chosen.folder)
        return
    global _shared
    _shared = mode  # a forked process has it: it cannot be sent
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(chosen.jobs, context) as pool:
        running = [pool.submit(_shared_slice, seed, count, chosen.folder) for seed, count in todo]
        for done in concurrent.futures.as_completed(running):
            yield done.result()


_shared: Mode


def _shared_slice(seed: int, count: int, where: str) -> Ran:
    return _slice(_shared, seed, count, where)


def _slice(mode: Mode, seed: int, count: int, where: str) -> Ran:
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=where) as folder:
        result = mode.run(seed, count, Path(folder))
        return seed, result, time.monotonic() - started, folder
