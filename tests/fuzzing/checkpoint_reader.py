"""Checkpoints: index, data files, graph file, and the text file `checkpoint`."""

from __future__ import annotations

import contextlib
import functools
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from google.protobuf.message import DecodeError
from proofs.slices import memory

import graphio as tf
from fuzzing import bundles
from fuzzing.messages import Mutator, bytes_changed
from fuzzing.target import GOLDEN, Mutate, Target, refusals
from graphio.schema import checkpoint, checkpoint_index
from graphio.schema.checkpoint_pb2 import CheckpointIndex
from graphio.schema.crc32c import crc32c
from graphio.train.checkpoints import checkpoint_text

INDEX, META, TEXT = "c.index", "c.meta", "checkpoint"
SHARDS = tuple(
    f"c.data-0123456789abcdef-{i:05}-of-{n:05}.safetensors" for n in (1, 2) for i in range(n)
)
NAMES = (INDEX, META, TEXT, *SHARDS)


@functools.cache
def folder() -> Path:
    """Where the files lie: in memory."""
    return Path(tempfile.mkdtemp(prefix="fuzzing-", dir=memory()))


def run(data: bytes) -> None:
    """Opens the files of a folder in every way in which a program opens a checkpoint."""
    files = bundles.unpack(NAMES, data)
    bundles.lay(folder(), files)
    prefix = folder() / "c"
    with refusals():
        checkpoint.read_checkpoint(prefix)
    with refusals():
        _ask(tf.train.load_checkpoint(prefix))
    if TEXT in files:
        with refusals(ValueError):
            tf.train.latest_checkpoint(folder())
            tf.train.load_checkpoint(folder())


def _ask(reader: tf.train.CheckpointReader) -> None:
    reader.debug_string(), reader.blobs()
    for name in reader.get_variable_to_shape_map():
        with refusals():
            reader.get_tensor(name)


def change(data: bytes, rng: random.Random, mutate: Mutate) -> bytes:
    """Changes one of the files; then sums are right in the index more often than not."""
    files = bundles.unpack(NAMES, data)
    if not files or rng.random() < 0.03:
        return mutate(data, 16384)
    name = rng.choice(list(files))
    if name == INDEX:
        files[INDEX] = _changed_index(files[INDEX], rng, mutate)
    elif name == TEXT:
        text = mutate(files[TEXT], 4096)
        files[TEXT] = _resealed(text) if rng.random() < 0.5 else text
    else:
        files[name] = bytes_changed(files[name], rng)
    if name != TEXT and rng.random() < 0.7:
        _sum_up(files)
    return bundles.pack(NAMES, files)


def _changed_index(data: bytes, rng: random.Random, mutate: Mutate) -> bytes:
    if rng.random() < 0.1:
        return mutate(data, 8192)
    message = data[checkpoint_index.HEADER :]
    if rng.random() < 0.2:
        return checkpoint_index.wrap(mutate(message, 8192))
    index = CheckpointIndex()
    with contextlib.suppress(DecodeError):
        index.ParseFromString(message)
    words = {"file": SHARDS, "meta_file": (META, INDEX)}
    Mutator(rng, words, mutate).change(index, rng.choice((1, 1, 2)))
    return checkpoint_index.wrap(index.SerializeToString())


def _resealed(text: bytes) -> bytes:
    lines = text.rpartition(b"# crc32c")[0] or text
    return lines + b"# crc32c: %08x\n" % crc32c(lines)


def _sum_up(files: dict[str, bytes]) -> None:
    """Makes the sums of an index those of the files."""
    index = CheckpointIndex()
    try:
        index.ParseFromString(files.get(INDEX, b"")[checkpoint_index.HEADER :])
    except DecodeError:
        return
    for row in index.variable:
        if row.shard < len(index.shard) and row.nbytes < 65536:
            data = files.get(index.shard[row.shard].file, b"")
            row.crc32c = crc32c(data[row.offset : row.offset + row.nbytes])
    del index.shard_header[len(index.shard) :]
    for number in range(len(index.shard_header)):
        starts = [row.offset for row in index.variable if row.shard == number]
        data = files.get(index.shard[number].file, b"")
        index.shard_header[number] = crc32c(data[: min(starts, default=len(data))])
    meta = files.get(META, b"")
    index.meta_nbytes, index.meta_crc32c = len(meta), crc32c(meta)
    files[INDEX] = checkpoint_index.wrap(index.SerializeToString())


def seeds() -> Iterator[bytes]:
    """The golden checkpoint, and small ones with one and two data files."""
    for shard_bytes in (None, 40):
        with tempfile.TemporaryDirectory() as made:
            _write(Path(made), shard_bytes)
            yield bundles.pack(NAMES, _renamed(Path(made)))
    golden = _renamed(next((GOLDEN / "1.0" / "checkpoint").glob("*.index")).parent)
    yield bundles.pack(NAMES, golden)


def _write(made: Path, shard_bytes: int | None) -> None:
    values = {
        "a": np.arange(3, dtype=np.float32),
        "b": np.array([b"xy", b""], object),
        "c": np.array([True, False]),
    }
    resources = {"blob": b"bytes", "random": (7, 1 << 60)}
    checkpoint.write_checkpoint(
        made / "c", values, resources, step=3, meta=b"graph", shard_bytes=shard_bytes
    )
    state = checkpoint_text.CheckpointState("c", ["c"], [1.5], 2.0, ["old"])
    (made / TEXT).write_bytes(checkpoint_text.sealed(state))


def _renamed(made: Path) -> dict[str, bytes]:
    """The files of a folder under the names that bundles have."""
    path = next(made.glob("*.index"))
    index = checkpoint_index.read_index(path.with_suffix(""))
    files = {TEXT: (made / TEXT).read_bytes()} if (made / TEXT).exists() else {}
    names = SHARDS[:1] if len(index.shard) == 1 else SHARDS[1:]
    for shard, name in zip(index.shard, names, strict=True):
        files[name] = (made / shard.file).read_bytes()
        shard.file = name
    if index.meta_file:
        meta = made / index.meta_file
        files[META] = (meta if meta.exists() else path.with_suffix(".meta")).read_bytes()
        index.meta_file = META
    files[INDEX] = checkpoint_index.wrap(index.SerializeToString(deterministic=True))
    return files


def forget() -> None:
    """Removes the folder."""
    shutil.rmtree(folder())
    folder.cache_clear()


TARGET = Target("checkpoint_reader", run, change, seeds)
