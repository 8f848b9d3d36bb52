"""Files of other frameworks: safetensors, numpy's, torch.save's, TensorFlow's, Hugging Face's."""

from __future__ import annotations

import io
import json
import pickle
import random
import zipfile
from collections.abc import Callable, Iterator

import numpy as np

from fuzzing import bundles
from fuzzing.checkpoint_reader import folder
from fuzzing.messages import NUMBERS, bytes_changed
from fuzzing.target import GOLDEN, Mutate, Target, refusals
from graphio.schema.crc32c import crc32c
from graphio.train.interop import table
from graphio.train.interop.sources import Source, open_source

SINGLE, INDEX = "single", "h.index.json"
DATA = tuple(f"t.data-{i:05}-of-{n:05}" for n in (1, 2) for i in range(n))
NAMES = (SINGLE, "t.index", *DATA, INDEX, "h1", "h2")
#: the path to open, by the file that must be there
OPENED = {SINGLE: SINGLE, "t.index": "t", INDEX: INDEX}


def run(data: bytes) -> None:
    """Opens the files by their bytes, and reads all that is in them."""
    files = bundles.unpack(NAMES, data)
    bundles.lay(folder(), files)
    for name, opened in OPENED.items():
        if name in files:
            with refusals():
                _read(open_source(folder() / opened))


def _read(source: Source) -> None:
    for name in source.entries():
        with refusals():
            source.array(name)


# ---- changes ----


def change(data: bytes, rng: random.Random, mutate: Mutate) -> bytes:
    """Changes one file, as its format is made; checksums are right again."""
    files = bundles.unpack(NAMES, data)
    if not files or rng.random() < 0.03:
        return mutate(data, 32768)
    name = rng.choice(list(files))
    old = files[name]
    try:
        files[name] = _changer(name, old)(old, rng, mutate)
    except Exception:  # its format is damaged
        files[name] = mutate(old, 16384)
    return bundles.pack(NAMES, files)


Changer = Callable[[bytes, random.Random, Mutate], bytes]


def _changer(name: str, data: bytes) -> Changer:
    if data.startswith(b"PK"):
        return _changed_zip
    if data[8:9] == b"{":
        return _changed_safetensors
    if data.endswith(table.MAGIC):
        return _changed_table
    return lambda data, rng, mutate: mutate(data, 16384)


def _changed_safetensors(data: bytes, rng: random.Random, mutate: Mutate) -> bytes:
    """Its JSON, by text or by value."""
    length = int.from_bytes(data[:8], "little")
    header, tensors = data[8 : 8 + length], data[8 + length :]
    if rng.random() < 0.5:
        header = mutate(header, 4096)
    else:
        rows = json.loads(header)
        row = rng.choice([rows, *(r for r in rows.values() if isinstance(r, dict))])
        key = rng.choice(list(row) or [""])
        row[key] = rng.choice(
            [rng.choice(NUMBERS), [rng.choice(NUMBERS)] * rng.randrange(5), None, "F32", {}, 1.5]
        )
        header = json.dumps(rows).encode()
    return len(header).to_bytes(8, "little") + header + tensors


def _changed_zip(data: bytes, rng: random.Random, mutate: Mutate) -> bytes:
    """An entry's bytes, sums made again; or the archive's own bytes."""
    if rng.random() < 0.3:
        return bytes_changed(data, rng)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {info.filename: archive.read(info) for info in archive.infolist()}
    name = rng.choice([n for n in entries if n.endswith(("data.pkl", ".npy"))] or list(entries))
    match rng.randrange(8):
        case 0:
            entries[mutate(name.encode(), 60).decode(errors="replace")] = entries.pop(name)
        case 1:
            del entries[name]
        case _:
            entries[name] = mutate(entries[name], 4096)
    made = io.BytesIO()
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return made.getvalue()


def _changed_table(data: bytes, rng: random.Random, mutate: Mutate) -> bytes:
    """A block of a TensorFlow checkpoint's index; the sums of all blocks are right."""
    rows = table.read_table(data, "seed")
    key = rng.choice(list(rows))
    match rng.randrange(6):
        case 0:
            rows[mutate(key, 60)] = rows[key]
        case 1:
            rows[mutate(key, 60)] = rows.pop(key)
        case _:
            rows[key] = mutate(rows[key], 512)
    return tabled(rows, damage=rng if rng.random() < 0.2 else None)


def tabled(rows: dict[bytes, bytes], damage: random.Random | None = None) -> bytes:
    """A table of one block; `damage` changes bytes of blocks before they are summed."""
    made = b""
    handles = []
    block = _block(sorted(rows.items()))
    last = max(rows, default=b"")
    for content in (block, _block([]), b""):
        if not content:
            content = _block([(last, handles[0])])
        content = bytes_changed(content, damage) if damage else content
        handles.append(_varint(len(made)) + _varint(len(content)))
        sum_ = crc32c(content + b"\0")
        masked = ((sum_ >> 15 | sum_ << 17) + 0xA282EAD8) & 0xFFFFFFFF
        made += content + b"\0" + masked.to_bytes(4, "little")
    return made + (handles[1] + handles[2]).ljust(40, b"\0") + table.MAGIC


def _block(rows: list[tuple[bytes, bytes]]) -> bytes:
    entries = b"".join(
        b"\0" + _varint(len(key)) + _varint(len(value)) + key + value for key, value in rows
    )
    return entries + bytes(4) + (1).to_bytes(4, "little")


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes([*made, number])


# ---- seeds ----


def seeds() -> Iterator[bytes]:
    """One input of each format."""
    for path in sorted((GOLDEN / "foreign").glob("torch_*.pt")):
        yield bundles.pack(NAMES, {SINGLE: path.read_bytes()})
    for path in sorted((GOLDEN / "foreign").glob("tf_*.index")):
        files = {"t.index": path.read_bytes()}
        for data in path.parent.glob(f"{path.stem}.data*"):
            files["t" + data.suffix] = data.read_bytes()
        yield bundles.pack(NAMES, files)
    for write in (np.savez, np.savez_compressed):
        buffer = io.BytesIO()
        write(buffer, a=np.arange(4.0), t=np.array(["x", "yz"]), s=np.array([b"q"]))
        yield bundles.pack(NAMES, {SINGLE: buffer.getvalue()})
    for array in (np.arange(6, dtype=">i2").reshape(2, 3).T, np.array([None]), np.array(["ab"])):
        buffer = io.BytesIO()
        np.save(buffer, array)
        yield bundles.pack(NAMES, {SINGLE: buffer.getvalue()})
    kinds = (("F32", 16), ("U8", 4), ("BF16", 8), ("F8_E4M3", 4), ("X9", 4))
    rows, end = {}, 0
    for kind, size in kinds:
        rows[kind] = {"dtype": kind, "shape": [2, 2], "data_offsets": [end, end + size]}
        end += size
    file = safetensors({"__metadata__": {"format": "pt"}, **rows}, bytes(end))
    yield bundles.pack(NAMES, {SINGLE: file})
    index = json.dumps({"weight_map": dict.fromkeys(rows, "h1")}).encode()
    yield bundles.pack(NAMES, {INDEX: index, "h1": file})
    yield bundles.pack(NAMES, {SINGLE: pickle.dumps({"a": 1})})


def safetensors(rows: object, tensors: bytes) -> bytes:
    """A file of a header's JSON and tensors."""
    header = json.dumps(rows).encode()
    return len(header).to_bytes(8, "little") + header + tensors


TARGET = Target("interop", run, change, seeds)
