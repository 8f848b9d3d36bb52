"""S8: what is computed while planning is in proportion to the file, in both engines; the C library
counts more in cinfer/tests/test_planning.c."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from fuzzing.model_reader import sealed
from schema_samples import node, tensor_type

from graphio import runtime
from graphio.schema import model_pb2 as pb
from graphio.support import errors

NODES, WIDE = 2000, 1 << 14  # each gives 64 KB


def known() -> bytes:
    """A chain of nodes that follow from constants."""
    names = ["wide", *(f"n{i:x}" for i in range(NODES))]
    one = {"t": {"dtype": 1, "dims": [1], "data": np.float32(1).tobytes()}}
    shape = {"t": {"dtype": 7, "dims": [1], "data": np.int64(WIDE).tobytes()}}
    made = pb.Model()
    made.graph.node.extend(
        [
            node("Constant", "one", version=13, value=one),
            node("Constant", "shape", version=13, value=shape),
            node("Expand", "wide", "one", "shape", version=13),
        ]
    )
    pairs = zip(names[1:], names, strict=False)
    made.graph.node.extend(node("Neg", name, before, version=13) for name, before in pairs)
    made.signature.add(name="s").output.add(key="y", value=names[-1], type=tensor_type(WIDE))
    return sealed(made.SerializeToString(), b"")


def test_the_runtime_computes_little_ahead_and_keeps_less() -> None:
    model = runtime.load(known())
    tracemalloc.start()
    try:
        signature = model.signature()
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 32 << 20, "of 128 MB that the nodes give"
    assert held < 8 << 20
    np.testing.assert_array_equal(signature.run([])[0], np.ones(WIDE, np.float32))


def test_cinfer_charges_its_plans_to_the_limit_of_memory() -> None:
    cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")
    with cinfer.load(known(), limits={"max_memory": 1 << 20}) as model:
        with pytest.raises(errors.ResourceExhaustedError, match="raise the limit max_memory"):
            model.signature().run([])
    with cinfer.load(known(), limits={"max_memory": 1 << 23}) as model:
        np.testing.assert_array_equal(model.signature().run([])[0], np.ones(WIDE, np.float32))


def test_shapes_of_large_inputs_are_known_while_planning() -> None:
    cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")
    made, given = pb.Model(), {"type": tensor_type(None, None)}
    made.graph.node.extend(
        [
            node("Placeholder", "x", domain="graphio", dtype={"i": 1}, shape=given),
            node("Shape", "shape", "x", version=25),
            node("Reshape", "y", "x", "shape", version=25),
        ]
    )
    signature = made.signature.add(name="s")
    signature.input.add(key="x", value="x", type=tensor_type(None, None))
    signature.output.add(key="y", value="y", type=tensor_type(None, None))
    with cinfer.load(sealed(made.SerializeToString(), b"")) as model:
        x = np.ones((64, 100_000), np.float32)  # more than a plan may compute ahead
        for rows in (64, 64, 63):
            np.testing.assert_array_equal(model.signature().run([x[:rows]])[0], x[:rows])
        assert model.stats().run_allocations == 0
