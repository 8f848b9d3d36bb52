"""How long it takes to check what a file says, before a byte of a tensor is looked at.

    python benchmarks/validation.py

A checkpoint's index of 100,000 variables and a model of 100,000 nodes, in Python and in C, and the
checksum of 256 MB, alone and in the load of a model that has it as a variable; the best of several
times, in milliseconds of processor time.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import graphio.cinfer
import graphio.runtime
from graphio.schema import checkpoint, container, verify
from graphio.schema.crc32c import crc32c
from graphio.schema.model_pb2 import Model, Type

COUNT = 100_000
TIMES = 5
LARGE = 256_000_000


def best(what: str, action: Callable[[], Any]) -> None:
    """Prints how long an action takes."""
    times = []
    for _ in range(TIMES):
        started = time.process_time()
        action()
        times.append(time.process_time() - started)
    print(f"{what:42}{1000 * min(times):8.1f} ms")


def model() -> bytes:
    """A chain of negations."""
    made, kind = Model(), Type()
    kind.tensor.dtype = 1
    kind.tensor.shape.dim.add().size = 4
    node = made.graph.node.add(name="x", op="Placeholder", domain="graphio", version=1)
    node.attr.add(key="dtype").value.i = 1
    node.attr.add(key="shape").value.type.CopyFrom(kind)
    node.output_type.append(kind)
    for i in range(COUNT):
        before = "x" if i == 0 else f"n{i - 1}"
        node = made.graph.node.add(name=f"n{i}", op="Neg", version=13, input=[before])
        node.output_type.append(kind)
    signature = made.signature.add(name="run")
    signature.input.add(key="x", value="x")
    signature.output.add(key="y", value=f"n{COUNT - 1}")
    return container.pack(made, [])


def large() -> bytes:
    """A model whose variable has LARGE bytes."""
    made = Model()
    made.variable.add(name="v", dtype=2, value=0).shape.dim.add().size = LARGE
    return container.pack(made, [np.zeros(LARGE, np.uint8)])


def main() -> None:
    """Prints the figures."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(folder, "c")
        names = (f"scope_{i % 100}/layer_{i}/kernel" for i in range(COUNT))
        checkpoint.write_checkpoint(prefix, {name: np.zeros(4, np.float32) for name in names})
        best("index, Python", lambda: checkpoint.read_index(prefix))
        state = graphio.cinfer.new_state(0)
        state.restore(prefix)
        best("index, data and assignment, C", lambda: state.restore(prefix))
    data = model()
    message, _ = container.unpack(data)
    best("model, Python: message", lambda: container.unpack(data))
    best("model, Python: checks", lambda: verify.verify(message))
    best("model, C: message, checks, tables", lambda: graphio.cinfer.load(data))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.gio")
        path.write_bytes(large())
        content = path.read_bytes()
        best("256 MB, checksum", lambda: crc32c(content))
        best("256 MB, C: checked at open", lambda: graphio.cinfer.load(path))


if __name__ == "__main__":
    main()
