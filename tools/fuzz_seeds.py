"""Writes models that are right into the corpora of the fuzz targets, for these to start from.

python tools/fuzz_seeds.py                 and cinfer/fuzz/model.dict, the words of models

They come from the rows of tests/cases, the standard's one-node cases, the models of the C tests and
the golden files; then `python tools/fuzz.py TARGET --pack BYTES` chooses those that differ.
cinfer/fuzz/feeds.h describes the bytes that follow a model in an input of `run`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import struct
import sys
import tempfile
from collections.abc import Iterator, Sequence
from hashlib import sha1
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("", "tests/support", "tests", "cinfer/tests", "tools")
sys.path[:0] = [str(ROOT / folder) for folder in FOLDERS]

import cases  # noqa: E402
import engines  # noqa: E402
import fuzz  # noqa: E402
import make_models  # noqa: E402
import untrusted_nodes  # noqa: E402
from conformance import suite  # noqa: E402

import graphio.cinfer  # noqa: E402
import graphio.onnx  # noqa: E402
from graphio.schema import dtypes  # noqa: E402

MOST = 6000  # bytes of a seed
COMPARE, STATE, TWICE = 1, 8, 16  # options of a run
EXPLICIT = 0x80  # a feed that gives type and shape


def main() -> None:
    """Writes all of them."""
    right = list(models())
    _write("wire", (data for data, _ in right))
    _write("run", (data + tail for data, tail in right))
    _write("checkpoint", _checkpoints())
    words = "".join(f'"{word}"\n' for word in sorted(_words()))
    (fuzz.C_FUZZ / "model.dict").write_text(words)


def _words() -> set[str]:
    """Operators, domains, attributes and what these may say."""
    table = json.loads((ROOT / "schema/operators.json").read_text())["operators"]
    found = {"graphio", "com.example", "ai.onnx.ml"}
    for row in table:
        found.add(row["op"])
        for name, (_, *defaults) in row.get("attributes", {}).items():
            found.update([name, *(x for x in defaults if isinstance(x, str) and x)])
    return found


def _write(name: str, seeds: Iterator[bytes]) -> None:
    folder, count = fuzz.corpus_folder(name), 0
    for seed in seeds:
        if len(seed) <= MOST:
            (folder / sha1(seed).hexdigest()).write_bytes(seed)
            count += 1
    print(f"{name}: {count} seeds")


def models() -> Iterator[tuple[bytes, bytes]]:
    """Models, and for each what a run of it is given."""
    for index, node in enumerate(untrusted_nodes.seeds()):
        if index % 2:
            node = dataclasses.replace(node, constant=tuple(range(len(node.inputs))))
        try:
            data, feeds = node.file()
        except Exception:  # a row that is refused by the writer is not a seed
            continue
        yield data, _tail(feeds)
    for data, feeds in (*_text_rows(), *_standard()):
        with contextlib.suppress(Exception):  # feeds of other kinds
            yield data, _tail(feeds)
    for make in ("perceptron", "panels", "everything", "sequences", "called", "found", "own"):
        data = getattr(make_models, make)()
        for signature in range(4):
            yield data, bytes([COMPARE | STATE | TWICE, signature, *b"\x03\x03\x03\x03"])
    for path in sorted((ROOT / "tests/golden").rglob("*.gio")):
        for signature in range(3):
            yield path.read_bytes(), bytes([COMPARE | STATE | TWICE, signature])


def _text_rows() -> Iterator[tuple[bytes, list[Any]]]:
    """Rows of tests/cases with strings, which untrusted_nodes leaves out."""
    for row in cases.CASES:
        arrays = [x for x in (*row.inputs, *row.outputs) if x is not None]
        if any(x.dtype.kind in "OSU" for x in arrays):
            kinds = [x.dtype for x in row.outputs]
            given = {"domain": row.domain, "version": row.version}
            yield engines.one_node(row.op, row.inputs, row.attrs, kinds, **given)


def _standard() -> Iterator[tuple[bytes, list[Any]]]:
    """Complete models of the standard: bodies, sequences, functions."""
    for case in suite.cases().values():
        if len(case.model.SerializeToString()) < MOST and case.data:
            with contextlib.suppress(Exception):  # a model that the importer refuses is not a seed
                data = graphio.onnx.convert(case.model, optimize="none")
                assert data is not None
                yield data, case.data[0][0]


def _tail(feeds: Sequence[Any]) -> bytes:
    return bytes([COMPARE, 0]) + b"".join(map(_feed, feeds))


def _feed(value: Any) -> bytes:
    if value is None:
        return b"\0"
    if isinstance(value, list):
        return bytes([len(value)]) + b"".join(map(_feed, value))
    x = np.asarray(value)
    head = bytes([EXPLICIT, dtypes.of_numpy(x.dtype).number, x.ndim])
    dims = (bytes([n]) if n < 255 else b"\xff" + n.to_bytes(8, "little") for n in x.shape)
    if x.dtype.kind not in "OSU":
        return head + b"".join(dims) + x.tobytes()
    strings = [t if isinstance(t, bytes) else str(t).encode() for t in x.ravel()]
    return head + b"".join(dims) + b"".join(bytes([len(t[:31])]) + t[:31] for t in strings)


def _checkpoints() -> Iterator[bytes]:
    """Folders as cinfer/fuzz/bundle.h says, for each way of restoring them."""
    folders = [path for path in (ROOT / "tests/golden").rglob("checkpoint") if path.is_dir()]
    with tempfile.TemporaryDirectory() as made:
        folders += list(_saved(Path(made)))
        for folder in folders:
            files = sorted(folder.iterdir())
            bundle = b"".join(_file(path.name, path.read_bytes()) for path in files)
            for options in range(64):
                yield bytes([options]) + bundle


def _file(name: str, data: bytes) -> bytes:
    return bytes([len(name)]) + name.encode() + struct.pack("<I", len(data)) + data


def _saved(folder: Path) -> Iterator[Path]:
    """Checkpoints of a variable "a" with those of other types, generators and blobs."""
    arrays = {
        "a": np.arange(4, dtype=np.float32),
        "b/Adam": np.ones((2, 3), np.float64),
        "flags": np.array([True, False]),
        "none": np.zeros((0, 3), np.int32),
        "text": np.array([b"ab", b"", b"cde"], object),
    }
    for count in range(1, len(arrays) + 1):
        target = folder / str(count)
        target.mkdir()
        state = graphio.cinfer.new_state()
        for name in list(arrays)[:count]:
            x = arrays[name]
            state.declare(name, dtypes.of_numpy(x.dtype).number, x.shape)
            state.set(name, x)
        if count > 1:
            state.set_blob("notes", b"of the program")
            state.set_generator("dice", 7, 9)
        state.save(str(target / "model-3"), step=3, shard_bytes=64 if count > 2 else None)
        yield target


if __name__ == "__main__":
    main()
