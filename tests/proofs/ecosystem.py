"""R27: every data file opens with the safetensors package, the newest and the oldest.

    python -m proofs.ecosystem --help          (in the folder tests, or make proof-files)

Random checkpoints of all element types, written by Python and by C, are looked at byte by byte (no
holes, aligned as schema/README.md says) and opened by the package, which knows nothing of graphio.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from graphio.schema import checkpoint, dtypes, small_types
from proofs import victims
from proofs.slices import Mode, Result, main

Array = np.ndarray[Any, Any]
#: the oldest that has a wheel for Python 3.11
OLDEST = "0.2.6"
#: dtypes of schema/README.md; the others are U8, of one dimension
STORED = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
BYTES = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4} | dict.fromkeys(
    ("F16", "BF16", "I16", "U16"), 2
)
ALIGN = 64
NAMES = (
    "w",
    "layer/kernel",
    "ü",
    "日本",
    'quote"',
    "back\\slash",
    "tab\t",
    "😀/bias",
    "a b",
    "<&>",
)


def random_variables(rng: random.Random) -> dict[str, Array]:
    """Some variables of all element types: scalars, empty ones, small and larger ones."""
    found: dict[str, Array] = {}
    for i in range(rng.randrange(1, 24)):
        dims = rng.choice([(), (0,), (1,), (3,), (64,), (5, 7), (2, 0, 3), (4, 4, 4), (1, 16)])
        row = rng.choice(dtypes.TABLE)
        count = int(np.prod(dims))
        if row.number == dtypes.STRING:
            strings = [rng.randbytes(rng.randrange(9)) for _ in range(count)]
            value = np.empty(count, object)
            value[:] = strings
        elif row.name == "bool":
            value = np.frombuffer(rng.randbytes(count), np.uint8) > 127
        else:
            codes = np.frombuffer(rng.randbytes(16 * count), np.uint8)[
                : max(row.bits // 8, 1) * count
            ]
            if row.bits < 8:
                value = (codes % 2).astype(small_types.numpy_dtype(row))
            else:
                value = codes.view(small_types.numpy_dtype(row))
        found[f"{rng.choice(NAMES)}_{i}"] = value.reshape(dims)
    return found


# ---- the file by its bytes ----


def rows_of(path: Path) -> dict[str, Any]:
    """The tensors of a file by its own header; raises AssertionError where it is not ours.

    Returns:
        name to [dtype, shape, SHA-256 of the bytes].
    """
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    head, begin = data[8 : 8 + length], 8 + length
    text = head.rstrip(b" ")
    assert begin % ALIGN == 0 and len(head) - len(text) < ALIGN, "header is not a multiple of 64"
    table = json.loads(text, object_pairs_hook=_unique)
    assert list(table)[:1] == ["__metadata__"], "metadata is not first"
    assert set(table.pop("__metadata__")) == {"format", "version", "save_id"}
    assert text.startswith(b"{") and b"\n" not in text
    found, end, small = {}, 0, False
    for name, row in table.items():
        kind, shape, (first, last) = row["dtype"], row["shape"], row["data_offsets"]
        assert list(row) == ["dtype", "shape", "data_offsets"] and first == end <= last, name
        assert last - first == int(np.prod(shape)) * BYTES.get(kind, 1), name
        whole = (last - first) % ALIGN == 0
        assert not (whole and small), f"{name}: a multiple of 64 bytes after others"
        assert (begin + first) % (ALIGN if whole else BYTES.get(kind, 1)) == 0, f"{name}: alignment"
        small = small or not whole
        digest = hashlib.sha256(data[begin + first : begin + last]).hexdigest()
        found[name], end = [kind, shape, digest], last
    assert begin + end == len(data), "bytes after the last tensor"
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    assert len(found) == len(pairs), "a key twice"
    return found


def described(values: Mapping[str, Array]) -> dict[str, Any]:
    """The expected result of rows_of for variables, from their values alone."""
    found = {}
    for name, value in values.items():
        row = dtypes.of_numpy(value.dtype)
        kind, data = STORED.get(row.name, "U8"), _bytes(row, value)
        shape = list(value.shape) if row.name in STORED else [len(data)]
        found[name] = [kind, shape, hashlib.sha256(data).hexdigest()]
    return found


def _bytes(row: dtypes.ElementType, value: Array) -> bytes:
    """Elements as schema/README.md lays them out."""
    if row.number == dtypes.STRING:
        strings = value.ravel().tolist()
        return b"".join([len(t).to_bytes(8, "little") for t in strings] + strings)
    if row.bits >= 8:
        return value.tobytes()
    codes, per = value.reshape(-1).view(np.uint8).tolist(), 8 // row.bits
    groups = [codes[i : i + per] for i in range(0, len(codes), per)]
    low = (1 << row.bits) - 1
    return bytes(sum((c & low) << row.bits * k for k, c in enumerate(g)) for g in groups)


def written(prefix: Path, seed: int, by: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """A random checkpoint by an engine: its data files with what they should hold."""
    rng = random.Random(seed)
    values = random_variables(rng)
    limit = rng.choice([None, 64, 1000])
    checkpoint.write_checkpoint(prefix, values, save_id=seed, shard_bytes=limit)
    if by == "cinfer":
        state = victims.engine("cinfer").new_state(0)
        state.restore(prefix)
        state.save(prefix)
    index, expected = checkpoint.read_index(prefix), described(values)
    for number, shard in enumerate(index.shard):
        inside = {v.name: expected[v.name] for v in index.variable if v.shard == number}
        yield prefix.with_name(shard.file), inside


# ---- the package ----


def opened(
    files: Mapping[str, Any], framework: str, python: str = sys.executable
) -> dict[str, Any]:
    """The findings of opens_shards.py in another process."""
    script = Path(__file__).with_name("opens_shards.py")
    done = subprocess.run(
        [python, *(["-I"] if python != sys.executable else []), str(script), framework],
        input=json.dumps(files),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def looked_at(
    seed: int, count: int, folder: Path, framework: str, python: str = sys.executable
) -> Result:
    """`count` checkpoints, in turn by Python and by C."""
    result, files = Result(), {}
    for k in range(count):
        for path, expected in written(folder / f"c{k}", seed * 100_000 + k, victims.ENGINES[k % 2]):
            try:
                assert rows_of(path) == expected, "other tensors"
            except AssertionError as error:
                result.lost.append(f"{path.name}: {error}")
            files[str(path)] = expected
        result.count("checkpoints")
    found = opened(files, framework, python)
    result.count("files", len(files))
    result.count("tensors", found["tensors"])
    result.count("without a numpy type", found["no numpy type"])
    result.count(f"safetensors {found['version']}", len(files))
    result.lost += found["lost"]
    return result


@functools.lru_cache(maxsize=1)
def oldest_python() -> str:
    """A separate Python with the oldest package, installed from the registry."""
    where = tempfile.mkdtemp(prefix="oldest-safetensors-")
    atexit.register(shutil.rmtree, where, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", where], check=True)
    python = str(Path(where, "bin", "python"))
    install = [python, "-I", "-m", "pip", "install", "-q", "numpy", f"safetensors=={OLDEST}"]
    subprocess.run(install, check=True)
    return python


MODES = {
    "newest, numpy": Mode(lambda seed, count, folder: looked_at(seed, count, folder, "np")),
    "newest, torch": Mode(lambda seed, count, folder: looked_at(seed, count, folder, "pt")),
    "oldest, numpy": Mode(
        lambda seed, count, folder: looked_at(seed, count, folder, "np", oldest_python())
    ),
}

if __name__ == "__main__":
    purpose = "Writes random checkpoints and opens their data files with the safetensors package."
    sys.exit(main("R27", purpose, MODES, count=2000, slice_count=500))
