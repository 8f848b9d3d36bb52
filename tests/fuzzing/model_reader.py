"""Model files: container, message, rules, and what an engine prepares of them."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

import schema_samples

import graphio as tf
from fuzzing.messages import Mutator, bytes_changed
from fuzzing.target import GOLDEN, Mutate, Target, refusals
from graphio import runtime
from graphio.model import importing
from graphio.schema import container, operators
from graphio.schema.crc32c import crc32c
from graphio.schema.model_pb2 import Model

LARGEST_SEED = 4000


def run(data: bytes) -> None:
    """Loads a model, lazily if its length is odd, prepares its signatures, makes a graph of it."""
    with refusals():
        model = runtime.load(data, lazy=bool(len(data) % 2))
        for name in model.signatures:
            with refusals():
                model.signature(name)
        with refusals(ValueError), tf.Graph().as_default():
            importing.import_model(*container.unpack(data))


def change(data: bytes, rng: random.Random, mutate: Mutate) -> bytes:
    """Changes the message, its bytes or a tensor; checksums and lengths are right again."""
    if rng.random() < 0.1 or not data.startswith(container.MAGIC):
        return mutate(data, 8192)
    flags, length, start = struct.unpack_from("<IQQ", data.ljust(64, b"\0"), 12)
    graph, tensors = data[64 : 64 + length], data[start:]
    if rng.random() < 0.1:
        return sealed(mutate(graph, 8192), tensors, flags)
    model = Model()
    try:
        model.ParseFromString(graph)
    except Exception:  # an input that a fuzzer kept may not be a message
        return sealed(mutate(graph, 8192), tensors, flags)
    if tensors and rng.random() < 0.1:
        tensors = bytes_changed(tensors, rng)
    else:
        Mutator(rng, WORDS, mutate).change(model, rng.choice((1, 1, 1, 2, 4)))
    if rng.random() < 0.8:
        tensors = _stored(model, tensors, rng)
    return sealed(model.SerializeToString(), tensors, flags_of(model))


def _stored(model: Model, tensors: bytes, rng: random.Random) -> bytes:
    """Stores the tensors of a model one after another and sets their checksums."""
    made = b""
    for tensor in model.tensor:
        made += bytes(-len(made) % container.ALIGN)
        nbytes = tensor.nbytes if tensor.nbytes < 4096 else rng.randrange(64)
        piece = tensors[tensor.offset : tensor.offset + nbytes]
        tensor.offset, tensor.nbytes, tensor.crc32c = len(made), len(piece), crc32c(piece)
        made += piece
    return made


def flags_of(model: Model) -> int:
    """The header's flags for a message."""
    return container.PACKED if any(t.packed_tile_width for t in model.tensor) else 0


def sealed(graph: bytes, tensors: bytes, flags: int = 0) -> bytes:
    """A container whose lengths and checksums are right."""
    start = (64 + len(graph) + 63) // 64 * 64
    fields = struct.pack(
        "<8sHHIQQQI16s", container.MAGIC, 1, 0, flags, len(graph), start, len(tensors),
        crc32c(graph), bytes(16),
    )  # fmt: skip
    head = fields + struct.pack("<I", crc32c(fields)) + graph
    return head.ljust(start, b"\0") + tensors


def seeds() -> Iterator[bytes]:
    """Small golden files, and samples."""
    for path in sorted((GOLDEN / "1.0").glob("*.gio")):
        if path.stat().st_size <= LARGEST_SEED:
            yield path.read_bytes()
    yield container.pack(*schema_samples.everything())
    yield container.pack(*schema_samples.everything(), {1: 0, 2: -1})


def _words() -> dict[str, list[str]]:
    table = operators.table()
    names = [name for domain in ("", "graphio") for name in table.names(domain)]
    return {"op": names, "domain": ["", "graphio"]}


WORDS = _words()
TARGET = Target("model_reader", run, change, seeds)
