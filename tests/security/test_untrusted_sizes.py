"""S2, S4, S5, S17: what claims too much, nests too deep or repeats itself costs what is there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import folders
import pytest
import untrusted_sizes

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="only Linux tells the most memory of a while"
)
SECONDS = 300  # for all together; they take 6
#: bytes that a reader may need in addition to those of the file: pages of code that it touches
#: first, and memory that a process keeps for its next allocations
CONSTANT = 32 << 20
#: memory of a reader, relative to the bytes of a file: 4, or the factor of its kind of file
TIMES = {
    "empty nodes": 800,  # a message of Python's for each two bytes
    "a rank of a million": 24,  # a number of a byte becomes one of eight, twice
    "a header of 20 MB": 9,  # an entry of a list for each two bytes
    " times": 400,  # a node of the graph that is built, for each 20 bytes
    "wait": 400,
    "lists in lists": 40,  # a list for each two bytes
    "64 MB of zeros": 1100,  # deflate packs 1,032 times at most
}
#: files that are valid: an array that is packed well, a pickle with a gap in its memo, chains
TAKEN = (
    *("npz, 64 MB of zeros", "pickle, a memo far away", "ONNX, sizes doubled 100 times"),
    *("ONNX, sizes passed on 1000 times", "GraphDef, 1000 wait"),
)

Row = tuple[str, int, int, float, str]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """Name, bytes, growth of memory, seconds of processor, outcome of every case."""
    done = subprocess.run(
        [sys.executable, untrusted_sizes.__file__],
        env=folders.environment(), capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [tuple(row) for row in json.loads(done.stdout)]


def test_all_are_refused_in_few_words(rows: list[Row]) -> None:
    assert len(rows) == len({name for name, *_ in rows}) >= 35
    assert {name for name, *_, outcome in rows if not outcome} == set(TAKEN)
    assert all(len(outcome) < 5000 for *_, outcome in rows)


def test_none_takes_long(rows: list[Row]) -> None:
    """A reader whose work is a square or a power of the file's size would never end here."""
    assert max(seconds for *_, seconds, _ in rows) < 30


def test_memory_is_that_of_the_bytes_that_are_there(rows: list[Row]) -> None:
    for name, nbytes, growth, *_ in rows:
        times = next((n for what, n in TIMES.items() if name.endswith(what)), 4)
        assert growth <= times * nbytes + CONSTANT, (name, nbytes, growth)
