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
