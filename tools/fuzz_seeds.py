"""Writes models that are right into the corpora of the fuzz targets, for these to start from.

python tools/fuzz_seeds.py

They come from the rows of tests/cases, the standard's one-node cases, the models of the C tests and
the golden files; then `python tools/fuzz.py TARGET --pack BYTES` chooses those that differ. What
follows a model in an input of `run` is said in cinfer/fuzz/feeds.h.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from hashlib import sha1
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "cinfer/tests"), str(ROOT / "tools")]

import fuzz  # noqa: E402
import fuzz_operators  # noqa: E402

from graphio.schema import dtypes  # noqa: E402

MOST = 6000  # bytes of a seed
COMPARE, STATE, TWICE = 1, 8, 16  # options of a run
EXPLICIT = 0x80  # a feed that gives type and shape


def main() -> None:
    """Writes all of them."""
    models = list(_models())
    _write("wire", (data for data, _ in models))
    _write("run", (data + tail for data, tail in models))
    _write("checkpoint", _checkpoints())


def _write(name: str, seeds: Iterator[bytes]) -> None:
    folder, count = fuzz.corpus_folder(name), 0
    for seed in seeds:
        if len(seed) <= MOST:
            (folder / sha1(seed).hexdigest()).write_bytes(seed)
            count += 1
    print(f"{name}: {count} seeds")


def _models() -> Iterator[tuple[bytes, bytes]]:
    """Models, and for each what a run of it is given."""
    for index, node in enumerate(fuzz_operators.seeds()):
        if index % 2:
            node = fuzz_operators.replace(node, constant=tuple(range(len(node.inputs))))
        try:
            data, feeds = node.file()
        except Exception:  # a row that is refused by the writer is no seed
            continue
        yield data, _tail(feeds)
    import make_models

    for make in ("perceptron", "everything", "sequences", "called", "found", "own"):
        data = getattr(make_models, make)()
        for signature in range(4):
            yield data, bytes([COMPARE | STATE | TWICE, signature, *b"\x03\x03\x03\x03"])
    for path in sorted((ROOT / "tests/golden").rglob("*.gio")):
        for signature in range(3):
            yield path.read_bytes(), bytes([COMPARE | STATE | TWICE, signature])


def _tail(feeds: Sequence[np.ndarray[Any, Any]]) -> bytes:
    out = bytearray([COMPARE, 0])
    for x in feeds:
        out += bytes([EXPLICIT, dtypes.of_numpy(x.dtype).number, x.ndim])
        out += b"".join(
            bytes([n]) if n < 255 else b"\xff" + n.to_bytes(8, "little") for n in x.shape
        )
        out += x.tobytes()
    return bytes(out)


def _checkpoints() -> Iterator[bytes]:
    yield from ()


if __name__ == "__main__":
    main()
