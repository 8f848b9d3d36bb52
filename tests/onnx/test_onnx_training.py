"""The training domain of ONNX: optimizers against their formulas, Gradient against derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import graphio.onnx
from graphio import errors

Array = np.ndarray[Any, Any]
DOMAIN = "ai.onnx.preview.training"
NUMBERS = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "int64": TensorProto.INT64}


@pytest.fixture(params=["runtime", "cinfer"])
def target(request: pytest.FixtureRequest) -> str:
    if request.param:
        pytest.importorskip("graphio.cinfer", reason="the C library was not built")
    return str(request.param)


def model(
    nodes: Sequence[onnx.NodeProto], feeds: dict[str, Array], outputs: Sequence[str]
) -> onnx.ModelProto:
    inputs = [
        helper.make_tensor_value_info(name, NUMBERS[x.dtype.name], x.shape)
        for name, x in feeds.items()
    ]
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name=n) for n in outputs])
    opsets = [helper.make_opsetid("", 22), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=opsets)


def run(
    nodes: Sequence[onnx.NodeProto], feeds: dict[str, Array], outputs: Sequence[str], target: str
) -> list[Array]:
    loaded = graphio.onnx.load(model(nodes, feeds, outputs), target)
    found: list[Array] = loaded.signature(graphio.onnx.SIGNATURE).run(list(feeds.values()))
    return found


# ---- optimizers ----


def adagrad(r: Any, t: Any, x: Any, g: Any, h: Any, a: dict[str, Any]) -> Any:
    slope = a.get("norm_coefficient", 0) * x + g
    new = h + slope**2
    rate = r / (1 + t * a.get("decay_factor", 0))
    return x - rate * slope / (np.sqrt(new) + a.get("epsilon", 1e-6)), new


def adam(r: Any, t: Any, x: Any, g: Any, v: Any, h: Any, a: dict[str, Any]) -> Any:
    alpha, beta = a.get("alpha", 0.9), a.get("beta", 0.999)
    slope = a.get("norm_coefficient", 0) * x + g
    mean, spread = alpha * v + (1 - alpha) * slope, beta * h + (1 - beta) * slope**2
    rate = r * np.sqrt(1 - beta**t) / (1 - alpha**t) if t > 0 else r
    new = x - rate * mean / (np.sqrt(spread) + a.get("epsilon", 1e-6))
    return (1 - a.get("norm_coefficient_post", 0)) * new, mean, spread


def momentum(r: Any, t: Any, x: Any, g: Any, v: Any, a: dict[str, Any]) -> Any:
    slope = a["norm_coefficient"] * x + g
    new = a["alpha"] * v + (a["beta"] if t > 0 else 1) * slope
    return x - r * (slope + a["alpha"] * new if a["mode"] == "nesterov" else new), new


MOMENTUM = {"alpha": 0.9, "beta": 0.5, "norm_coefficient": 0.1, "mode": "standard"}
STEPS: list[tuple[str, Callable[..., Any], int, dict[str, Any]]] = [
    ("Adagrad", adagrad, 3, {}),
    ("Adagrad", adagrad, 3, {"decay_factor": 0.2, "norm_coefficient": 0.3, "epsilon": 1e-3}),
    ("Adam", adam, 4, {}),
    ("Adam", adam, 4, {"alpha": 0.5, "beta": 0.6, "norm_coefficient": 0.2}),
    ("Adam", adam, 4, {"norm_coefficient_post": 0.25, "epsilon": 1e-2}),
    ("Momentum", momentum, 3, MOMENTUM),
    ("Momentum", momentum, 3, {**MOMENTUM, "mode": "nesterov"}),
]


@pytest.mark.parametrize(("dtype", "count"), [("float32", 0), ("float64", 3)])
@pytest.mark.parametrize(("op", "formula", "kinds", "attrs"), STEPS)
def test_a_step_of_an_optimizer_is_that_of_its_formula(
    target: str, op: str, formula: Any, kinds: int, attrs: dict[str, Any], count: int, dtype: str
) -> None:
    random = np.random.RandomState(0)
    shapes = [(2, 3), (), (4,)]
    values = [[np.asarray(random.rand(*s) + 0.1, dtype) for s in shapes] for _ in range(kinds)]
    feeds = {"r": np.array(0.1, dtype), "t": np.array(count)}
    feeds |= {f"{k}{i}": x for k, kind in enumerate(values) for i, x in enumerate(kind)}
    outputs = [f"new{k}{i}" for k in range(kinds - 1) for i in range(len(shapes))]
    node = helper.make_node(op, list(feeds), outputs, domain=DOMAIN, **attrs)
    found = run([node], feeds, outputs, target)

    steps = [
        formula(0.1, count, *(kind[i].astype(float) for kind in values), attrs)
        for i in range(len(shapes))
    ]
    expected = [step[k] for k in range(kinds - 1) for step in steps]
    for y, expected_values in zip(found, expected, strict=True):
        assert y.dtype == dtype
        np.testing.assert_allclose(y, expected_values, rtol=1e-5 if dtype == "float32" else 1e-7)


X, T = np.float32([1, 2]), np.array(1)


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "words"),
    [
        ("Adam", ["r", "t", "x", "x", "x"], {}, "has 5 inputs, expected the rate"),
        ("Adagrad", ["r", "t"], {}, "has 2 inputs"),
        ("Momentum", ["r", "t", "x", "x", "x"], {"alpha": 1.0}, "needs the attribute beta"),
        ("Momentum", ["r", "t", "x", "x", "x"], {**MOMENTUM, "mode": "fast"}, "mode is 'fast'"),
        ("Adam", ["r", "t", "x", "x", "x", "x"], {"gamma": 1.0}, "has no attribute gamma"),
        ("Adagrad", ["r", "t", "x", "x", "t"], {}, "float32, float32, int64"),
    ],
)
def test_a_wrong_optimizer_is_named(
    op: str, inputs: list[str], attrs: dict[str, Any], words: str
) -> None:
    node = helper.make_node(op, inputs, ["y"], domain=DOMAIN, **attrs)
    feeds = {"r": np.float32(0.1), "t": T, "x": X}
    with pytest.raises(errors.InvalidArgumentError, match=words):
        graphio.onnx.load(model([node], feeds, ["y"]))


# ---- Gradient ----


def slope(inputs: Sequence[str], outputs: Sequence[str], **attrs: Any) -> onnx.NodeProto:
    return helper.make_node("Gradient", inputs, outputs, domain=DOMAIN, **attrs)


#: y = (w x)^2 z
NODES = [
    helper.make_node("Mul", ["w", "x"], ["h"]),
    helper.make_node("Mul", ["h", "h"], ["s"]),
    helper.make_node("Mul", ["s", "z"], ["y"]),
]
FEEDS = {"w": np.float32([1, 2]), "x": np.float32([3, -1]), "z": np.float32([0.5, 4])}
W, Z = FEEDS["w"], FEEDS["z"]


def test_derivatives_by_inputs_and_by_what_lies_between(target: str) -> None:
    x = FEEDS["x"]
    nodes = [
        *NODES,
        slope(["w", "z", "x"], ["dw", "dz"], xs=["w", "z"], zs=["x"], y="y"),
        slope(["h", "z"], ["dh", ""], xs=["h", "z"], y="y"),
    ]
    dw, dz, dh = run(nodes, FEEDS, ["dw", "dz", "dh"], target)
    np.testing.assert_allclose(dw, 2 * W * x * x * Z)
    np.testing.assert_allclose(dz, (W * x) ** 2)
    np.testing.assert_allclose(dh, 2 * W * x * Z)


def test_derivatives_of_derivatives(target: str) -> None:
    x = FEEDS["x"]
    nodes = [
        *NODES,
        slope(["w", "x", "z"], ["dw"], xs=["w"], zs=["x", "z"], y="y"),
        slope(["w", "x", "z"], ["dww", "dwx"], xs=["w", "x"], zs=["z"], y="dw"),
    ]
    dww, dwx = run(nodes, FEEDS, ["dww", "dwx"], target)
    np.testing.assert_allclose(dww, 2 * x * x * Z)
    np.testing.assert_allclose(dwx, 4 * W * x * Z)


def test_derivatives_at_other_values(target: str) -> None:
    feeds = {**FEEDS, "h1": np.float32([7, 8]), "z1": np.float32([9, 10])}
    nodes = [*NODES, slope(["h1", "z1"], ["dh", "dz"], xs=["h", "z"], y="y")]
    dh, dz = run(nodes, feeds, ["dh", "dz"], target)
    np.testing.assert_allclose(dh, 2 * feeds["h1"] * feeds["z1"])
    np.testing.assert_allclose(dz, feeds["h1"] ** 2)


def test_what_y_does_not_depend_on_has_a_derivative_of_zeros(target: str) -> None:
    nodes = [*NODES, slope(["z"], ["dz"], xs=["z"], y="h")]
    (dz,) = run(nodes, FEEDS, ["dz"], target)
    assert dz.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("inputs", "attrs", "words"),
    [
        (["w"], {"xs": ["w"]}, "needs the attributes xs and y"),
        (["w"], {"y": "y"}, "needs the attributes xs and y"),
        (["w"], {"xs": ["w"], "zs": ["x"], "y": "y"}, "has 1 inputs, xs and zs name 2"),
        (["w"], {"xs": ["w"], "y": "nothing"}, "nothing makes 'nothing'"),
        (["w"], {"xs": ["later"], "y": "y"}, "nothing makes 'later'"),
    ],
)
def test_a_wrong_gradient_is_named(inputs: list[str], attrs: dict[str, Any], words: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=words):
        graphio.onnx.load(model([*NODES, slope(inputs, ["d"], **attrs)], FEEDS, ["d"]))
