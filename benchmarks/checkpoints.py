"""Saving and restoring, compared with raw reads and writes of the same bytes and other libraries.

    python benchmarks/checkpoints.py [--megabytes 1000] [--tensors 200] [--runs 5]
                                     [--folder .] [--cold] [--tensorflow PYTHON]

Libraries that are not installed are left out; --tensorflow names the Python that has TensorFlow.
Rounds interleave: in each round every library has a separate process, which saves and restores
twice; the second time counts, and the larger memory. A save goes to an empty folder after the disk
has settled; "on disk" adds an fsync of the files, which raw and graphio have in the save itself. A
restore puts the values into separate memory; --cold drops the files from the page cache first.
"x raw" is the median over the rounds of the ratio to raw of the same round, then the ratio of
minimum times, which other programs on the machine disturb less.
"Extra" is how much memory the process had at most during the call beyond what it had before
(Linux). "Lazily" opens or maps without looking at the values; "stall" is how long a save in the
background keeps the caller, compared with a copy of all values in memory.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import importlib.util
import json
import mmap
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Arrays = dict[str, np.ndarray[Any, Any]]
Call = Callable[[], Any]
Runs = dict[str, list[float]]  # a library's figures by what they are of, one for each round


class Work(NamedTuple):
    """Saves and restores of one library in an empty folder."""

    save: Call
    restore: Call
    lazily: Call | None = None
    stall: Call | None = None


def raw(folder: str, arrays: Arrays) -> Work:
    """One file, an unbuffered write for each tensor, fsync, rename, fsync of the folder."""
    path = f"{folder}/raw"

    def save() -> None:
        with open(path + ".new", "xb", buffering=0) as file:
            for array in arrays.values():
                view = memoryview(array).cast("B")
                while len(view):
                    view = view[file.write(view) :]
            os.fsync(file.fileno())
        os.replace(path + ".new", path)
        handle = os.open(folder, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)

    def restore() -> Any:
        found = []
        with open(path, "rb", buffering=0) as file:
            for array in arrays.values():
                made = np.empty_like(array)
                view = memoryview(made).cast("B")
                while len(view):
                    view = view[file.readinto(view) :]
                found.append(made)
        return found

    copies = [np.zeros_like(array) for array in arrays.values()]

    def copy() -> None:
        for target, array in zip(copies, arrays.values(), strict=True):
            np.copyto(target, array)

    return Work(save, restore, stall=copy)


def graphio_in(target: str) -> Callable[[str, Arrays], Work]:
    """Saver in a session of one of the engines."""

    def make(folder: str, arrays: Arrays) -> Work:
        import graphio as tf

        with tf.Graph().as_default():
            variables = {
                name: tf.get_variable(name, array.shape, initializer=tf.zeros_initializer())
                for name, array in arrays.items()
            }
            saver, behind = tf.train.Saver(), tf.train.Saver(asynchronous=True)
            session = tf.Session(target=target)
            for name, variable in variables.items():
                variable.load(arrays[name], session)
        arrays.clear()
        prefix = f"{folder}/model"

        def restore(verify: str = "full") -> Any:
            other = tf.Session(target=target, graph=session.graph)
            saver.restore(other, prefix, verify=verify)
            return other

        def save() -> None:
            with session.graph.as_default():
                saver.save(session, prefix)

        def stall() -> Any:
            with session.graph.as_default():
                behind.save(session, f"{folder}/behind")
            return Waits(behind)

        return Work(save, restore, lambda: restore("lazy"), stall)

    return make


class Waits:
    """Ends a save in the background when it is forgotten, after the time was taken."""

    def __init__(self, saver: Any) -> None:
        self.saver = saver

    def __del__(self) -> None:
        self.saver.wait()


def graphio_c(folder: str, arrays: Arrays) -> Work:
    """ci_save and ci_restore, without a graph."""
    import graphio.cinfer as library

    state, prefix = library.new_state(), f"{folder}/model"
    for name, array in arrays.items():
        state.declare(name, 1, array.shape)
        state.set(name, array)
    arrays.clear()

    def restore() -> Any:
        other = library.new_state()
        other.restore(prefix)
        return other

    return Work(lambda: state.save(prefix), restore)


def tensorflow(folder: str, arrays: Arrays) -> Work:
    """Its Saver of version 1."""
    import tensorflow.compat.v1 as tf  # type: ignore[import-not-found]

    tf.disable_eager_execution()
    variables = {
        name: tf.get_variable(name, array.shape, initializer=tf.zeros_initializer())
        for name, array in arrays.items()
    }
    saver = tf.train.Saver()
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    for name, variable in variables.items():
        variable.load(arrays[name], session)
    arrays.clear()

    def restore() -> Any:
        other = tf.Session()
        saver.restore(other, f"{folder}/model")
        return other

    return Work(lambda: saver.save(session, f"{folder}/model"), restore)


def torch(folder: str, arrays: Arrays) -> Work:
    """torch.save and torch.load of a dict; lazily: mmap=True."""
    import torch as library

    tensors = {name: library.from_numpy(array) for name, array in arrays.items()}
    path = f"{folder}/model.pt"
    return Work(
        lambda: library.save(tensors, path),
        lambda: library.load(path, weights_only=True),
        lazily=lambda: library.load(path, weights_only=True, mmap=True),
    )


def safetensors(folder: str, arrays: Arrays) -> Work:
    """save_file and load_file of safetensors.numpy; lazily: safe_open."""
    import safetensors as library
    from safetensors import numpy

    path = f"{folder}/model.safetensors"
    return Work(
        lambda: numpy.save_file(arrays, path),
        lambda: numpy.load_file(path),
        lazily=lambda: library.safe_open(path, "np"),
    )


def npz(folder: str, arrays: Arrays) -> Work:
    """numpy.savez and numpy.load of all arrays."""
    path = f"{folder}/model.npz"

    def restore() -> Any:
        with np.load(path) as found:
            return [found[name] for name in found.files]

    return Work(lambda: np.savez(path, **arrays), restore)


class Subject(NamedTuple):
    """A row: its name, what it needs, how it works, and what it promises."""

    name: str
    module: str
    make: Callable[[str, Arrays], Work]
    checks: str
    syncs: str


SUBJECTS = {
    s.name: s
    for s in (
        Subject("raw", "numpy", raw, "nothing", "yes"),
        Subject("graphio, Python", "graphio", graphio_in(""), "every byte", "yes"),
        Subject("graphio, cinfer", "graphio.cinfer", graphio_in("cinfer"), "every byte", "yes"),
        Subject("graphio, C alone", "graphio.cinfer", graphio_c, "every byte", "yes"),
        Subject("TensorFlow", "tensorflow", tensorflow, "tensors, index", "no"),
        Subject("torch", "torch", torch, "nothing", "no"),
        Subject("safetensors", "safetensors", safetensors, "nothing", "no"),
        Subject("numpy.savez", "numpy", npz, "zip's CRC-32", "no"),
    )
}


# ---- one library in its process ----


def worker(name: str, folder: str, megabytes: int, tensors: int, cold: bool) -> dict[str, float]:
    """Seconds and bytes of one library."""
    elements = max(megabytes * 10**6 // 4 // tensors, 1)
    arrays = {
        f"layer{i}/weights": np.random.RandomState(i).randint(0, 1 << 31, elements, np.int32)
        for i in range(tensors)
    }
    work = SUBJECTS[name].make(folder, {n: a.view(np.float32) for n, a in arrays.items()})
    del arrays
    figures: dict[str, float] = {}
    for _ in range(2):
        empty(folder)
        settle()
        make_ready(megabytes * 10**6)
        figures["save"], extra = measure(work.save)
        figures["save_extra"] = max(extra, figures.get("save_extra", extra))
        figures["on_disk"] = figures["save"] + measure(lambda: sync_files(folder))[0]
        calls = {"restore": work.restore, "lazily": work.lazily, "stall": work.stall}
        for what, call in calls.items():
            if call is None:
                continue
            settle()
            if cold and what != "stall":
                drop(folder)
            make_ready(megabytes * 10**6)
            figures[what], extra = measure(call)
            figures[what + "_extra"] = max(extra, figures.get(what + "_extra", extra))
    return figures


def empty(folder: str) -> None:
    """Removes everything in a folder."""
    for entry in os.scandir(folder):
        shutil.rmtree(entry) if entry.is_dir() else os.unlink(entry)


def settle() -> None:
    """Waits until the disk has nothing to do for us."""
    if hasattr(os, "sync"):
        os.sync()


def make_ready(count: int) -> None:
    """Frees memory that was just in use, in small and in large pages.

    A virtual machine gives what is free back to its host after seconds; to get it again takes
    longer than to read it full, so that luck would decide who is fast.
    """
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return
    blocks = [mmap.mmap(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _ in range(2)]
    for block, advice in zip(blocks, (mmap.MADV_HUGEPAGE, mmap.MADV_NOHUGEPAGE), strict=True):
        block.madvise(advice)
        np.frombuffer(block, np.uint8)[:: mmap.PAGESIZE] = 1


def files_of(folder: str) -> list[str]:
    """All files below a folder."""
    return [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]


def sync_files(folder: str) -> None:
    """Brings all files of a folder to the disk."""
    for path in files_of(folder):
        with open(path, "rb") as file:
            os.fsync(file.fileno())


def drop(folder: str) -> None:
    """Drops all files of a folder from the page cache."""
    for path in files_of(folder):
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure(call: Call) -> tuple[float, float]:
    """Seconds of a call, and the most memory it had beyond what was there before."""
    before = reset_peak()
    start = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - start
    extra = status("VmHWM") - before
    del result
    return seconds, extra


def reset_peak() -> float:
    """Gives freed memory back, forgets the peak; returns what there is."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return status("VmRSS")


def status(key: str) -> float:
    """A figure of this process in bytes; nan where the system does not tell."""
    with contextlib.suppress(OSError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith(key + ":"):
                return float(line.split()[1]) * 1024
    return float("nan")


# ---- all of them in turns ----


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--tensors", type=int, default=200)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", default=".", help="on the disk that is meant")
    parser.add_argument("--cold", action="store_true", help="restores read from the disk")
    parser.add_argument("--tensorflow", metavar="PYTHON", default=sys.executable)
    parser.add_argument("--only", nargs="*", default=list(SUBJECTS), choices=list(SUBJECTS))
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        figures = worker(
            arguments.worker,
            arguments.folder,
            arguments.megabytes,
            arguments.tensors,
            arguments.cold,
        )
        print(json.dumps(figures))
        return
    names = [name for name in arguments.only if name == "raw" or has(name, arguments)]
    figures = rounds(["raw", *(n for n in names if n != "raw")], arguments)
    print(
        f"{arguments.megabytes} MB in {arguments.tensors} tensors, medians of {arguments.runs} "
        f"rounds, restores from {'the disk' if arguments.cold else 'the page cache'}\n"
    )
    print_table(figures)
    print("\nCRC-32C: " + ", ".join(f"{way} {rate:.1f} GB/s" for way, rate in crc_rates()))


def has(name: str, arguments: argparse.Namespace) -> bool:
    """Whether a library is installed."""
    module = SUBJECTS[name].module
    if name != "TensorFlow":
        return importlib.util.find_spec(module) is not None
    find = f"import importlib.util as u; raise SystemExit(u.find_spec({module!r}) is None)"
    return subprocess.run([arguments.tensorflow, "-c", find], check=False).returncode == 0


def rounds(names: list[str], arguments: argparse.Namespace) -> dict[str, Runs]:
    """The figures of all rounds by name and figure."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for turn in range(arguments.runs):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="bench-") as folder:
                found[name].append(in_process(name, folder, arguments))
    return {
        name: {key: [run[key] for run in runs] for key in runs[0]} for name, runs in found.items()
    }


def in_process(name: str, folder: str, arguments: argparse.Namespace) -> dict[str, float]:
    foreign = name == "TensorFlow"
    command = [arguments.tensorflow if foreign else sys.executable, __file__, "--worker", name]
    command += ["--folder", folder, "--megabytes", str(arguments.megabytes)]
    command += ["--tensors", str(arguments.tensors)] + ["--cold"] * arguments.cold
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
    if foreign and arguments.tensorflow != sys.executable:
        environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def print_table(figures: dict[str, Runs]) -> None:
    print(
        "| | save | on disk | x raw | extra | restore | x raw | extra | lazily | stall "
        "| checks | syncs |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for name, runs in figures.items():
        row = {key: statistics.median(values) for key, values in runs.items()}
        print(
            f"| {name} | {row['save']:.2f} s | {row['on_disk']:.2f} s "
            f"| {ratios(runs, figures['raw'], 'on_disk')} | {megabytes(row['save_extra'])} "
            f"| {row['restore']:.2f} s | {ratios(runs, figures['raw'], 'restore')} "
            f"| {megabytes(row['restore_extra'])} | {milliseconds(row, 'lazily')} "
            f"| {milliseconds(row, 'stall')} | {SUBJECTS[name].checks} | {SUBJECTS[name].syncs} |"
        )


def ratios(runs: Runs, raw: Runs, what: str) -> str:
    """Median of the ratios of each round, and the ratio of the minimum times."""
    pairs = zip(runs[what], raw[what], strict=True)
    middle = statistics.median(ours / theirs for ours, theirs in pairs)
    return f"{middle:.2f}, {min(runs[what]) / min(raw[what]):.2f}"


def milliseconds(row: dict[str, float], what: str) -> str:
    return f"{row[what] * 1e3:.1f} ms" if what in row else ""


def megabytes(count: float) -> str:
    return f"{count / 1e6:.0f} MB" if count == count else ""


def crc_rates() -> list[tuple[str, float]]:
    """GB/s of the checksum in each of the ways that there are here."""
    from graphio.schema.crc32c import crc32c, crc32c_numpy

    data = np.random.RandomState(0).bytes(1 << 20)
    rates = []
    for way, function, times in (("this machine", crc32c, 500), ("numpy alone", crc32c_numpy, 5)):
        function(data)
        least = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(times):
                function(data)
            least = min(least, (time.perf_counter() - start) / times)
        rates.append((way, len(data) / least / 1e9))
    return rates


if __name__ == "__main__":
    main()
