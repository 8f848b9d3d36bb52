"""A tensor that a node is given twice, in cinfer, whose outputs may take an input's memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import engines
import numpy as np
import pytest
from engines import Builder, tensor_type

X = np.arange(1, 9, dtype=np.float32).reshape(2, 4)
BACK = np.array([[3, 2, 1, 0], [0, 3, 3, 3]])


def run_twice(
    engine: str, op: str, version: int, x: Any, others: Sequence[Any], uses: str, **attrs: Any
) -> Any:
    """The output of op on inputs that `uses` names: x behind another node, or one of the others."""
    builder = Builder()
    fed = {"x": x, **{f"o{i}": other for i, other in enumerate(others)}}
    for name, value in fed.items():
        builder.placeholder(name, value.dtype, value.shape)
    kind = tensor_type(x.dtype)
    flat = builder.constant("flat", np.array([-1]))
    builder.node("twice", "Abs", ["x"], [kind], version=6)
    builder.node("line", "Reshape", ["twice", flat], [kind], version=14)
    builder.node("node", op, uses.split(), [kind], attrs, version=version)
    builder.signature({name: name for name in fed}, {"y": "node"})
    return engines.run(engine, builder.bytes(), list(fed.values()))[0]


@pytest.mark.parametrize(
    ("op", "version", "x", "others", "uses", "attrs"),
    [
        ("ScatterElements", 18, X, [BACK], "twice o0 twice", {"axis": 1}),
        ("ScatterElements", 18, X, [BACK], "twice o0 twice", {"axis": 1, "reduction": "add"}),
        ("ScatterElements", 18, BACK, [], "twice twice twice", {"axis": 1}),
        ("ScatterND", 18, X, [np.array([[1], [0]])], "twice o0 twice", {}),
        ("ScatterND", 18, X.reshape(-1), [BACK.reshape(-1, 1)], "line o0 twice", {}),
        (
            "TensorScatter",
            24,
            X,
            [np.array([3, 1])],
            "twice twice o0",
            {"mode": "circular", "axis": 1},
        ),
        ("BatchNormalization", 15, X[:1], [], "twice line line line line", {}),
        ("Add", 14, X, [], "twice twice", {}),
        ("PRelu", 16, -X, [], "twice twice", {}),
        ("MatMul", 13, np.ones((2, 2), "float32"), [], "twice twice", {}),
    ],
)
def test_a_tensor_given_twice(
    op: str, version: int, x: Any, others: list[Any], uses: str, attrs: dict[str, Any]
) -> None:
    one, two = (run_twice(name, op, version, x, others, uses, **attrs) for name in engines.NAMES)
    np.testing.assert_allclose(one, two, rtol=1e-6)


def weights(*shape: int, seed: int = 0) -> Any:
    return (np.random.RandomState(seed).randn(*shape) * 0.1).astype(np.float32)


@pytest.mark.parametrize(
    ("op", "version", "shapes", "others", "attrs"),
    [
        ("Conv", 11, [(32, 64, 1, 1), (64, 32, 1, 1)], [(1, 64, 4, 4), (1, 32, 4, 4)], {}),
        ("MatMul", 13, [(32, 64), (64, 32)], [(3, 32), (3, 64)], {}),
        ("LSTM", 14, [(1, 64, 32), (1, 128, 16)], [(5, 2, 32), (5, 2, 16)], {"hidden_size": 0}),
    ],
)
def test_a_constant_read_in_two_shapes(
    op: str, version: int, shapes: list[Any], others: list[Any], attrs: dict[str, Any]
) -> None:
    """The packed weights of one node are not used for the other."""
    builder, kind = Builder(), tensor_type("float32")
    builder.constant("w0", weights(*shapes[0]))
    builder.node("w1", "Reshape", ["w0", builder.constant("s", np.array(shapes[1]))], [kind])
    builder.model.graph.node[-1].version = 14
    xs = [weights(*shape, seed=1) for shape in others]
    for i, x in enumerate(xs):
        inputs = [builder.placeholder(f"x{i}", x.dtype, x.shape), f"w{i}"]
        more = {}
        if "hidden_size" in attrs:
            size = shapes[i][1] // 4
            inputs.append(builder.constant(f"r{i}", weights(1, 4 * size, size, seed=2)))
            more = {"hidden_size": size}
        builder.node(f"y{i}", op, inputs, [kind], more, version=version)
    builder.signature({"x0": "x0", "x1": "x1"}, {"y0": "y0", "y1": "y1"})
    one, two = (engines.run(name, builder.bytes(), xs) for name in engines.NAMES)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
