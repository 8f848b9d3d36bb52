"""A convolution fused with the depthwise one after it has the bits of the two run separately."""

from __future__ import annotations

from typing import Any

import engines
import numpy as np
import pytest

cinfer = pytest.importorskip("graphio.cinfer")
from graphio.cinfer._native import ffi, lib  # noqa: E402

#: x, weights of the first and the second, their attributes
PAIRS: dict[str, tuple[tuple[int, ...], Any, Any, dict[str, Any], dict[str, Any]]] = {
    "expanded, strides": ((1, 5, 64, 70), (96, 5, 1, 1), (96, 1, 3, 3), {}, {"strides": [2, 2]}),
    "one tile": ((1, 3, 130, 130), (24, 3, 3, 3), (24, 1, 3, 3), {"strides": [1, 1]}, {}),
    "a partial tile": ((1, 4, 64, 70), (72, 4, 1, 1), (72, 1, 5, 5), {}, {"strides": [1, 2]}),
    "rows": ((1, 4, 4000), (80, 4, 1), (80, 1, 3), {}, {"strides": [2]}),
    "two images": ((2, 4, 64, 70), (64, 4, 1, 1), (64, 1, 3, 3), {}, {}),
    "growing": ((1, 4, 64, 70), (64, 4, 1, 1), (64, 1, 1, 1), {}, {"pads": [2, 2, 2, 2]}),
}


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def model(name: str, both: bool) -> bytes:
    """Two fused convolutions, their weights constants; both results are outputs, or the last."""
    x_dims, first, second, a, b = PAIRS[name]
    pads = {"pads": [k // 2 for k in second[2:]] * 2} if "pads" not in b else {}
    g = engines.Builder()
    kind = [engines.tensor_type(np.float32)]
    g.placeholder("x", np.float32, None)
    for i, array in enumerate((first, first[:1], second, second[:1])):
        g.constant(f"w{i}", numbers(*array, seed=i + 1))
    relu = {"ops": ["Relu"], "operands": [0]}
    g.node("first", "FusedConv", ["x", "w0", "w1"], kind, {**a, **relu}, domain="graphio")
    attrs = {**b, **pads, "group": second[0], **relu}
    g.node("second", "FusedConv", ["first", "w2", "w3"], kind, attrs, domain="graphio")
    g.signature({"x": "x"}, {"y": "second", "z": "first"} if both else {"y": "second"})
    return g.bytes()


@pytest.mark.parametrize("name", PAIRS)
def test_the_second_of_two_convolutions_is_the_same_whoever_makes_it(name: str) -> None:
    x = numbers(*PAIRS[name][0])
    alone = cinfer.load(model(name, True)).signature()(x=x)["y"]
    for options in ({}, {"isa": "portable"}, {"threads": 2}):
        signature = cinfer.load(model(name, False), **options).signature()
        for _ in range(2):
            assert signature(x=x)["y"].tobytes() == alone.tobytes(), options


def test_other_sizes_of_an_image_are_planned_again() -> None:
    signature = cinfer.load(model("expanded, strides", False)).signature()
    both = cinfer.load(model("expanded, strides", True)).signature()
    for size in (64, 90, 8, 200, 64):
        x = numbers(1, 5, size, 70, seed=size)
        assert signature(x=x)["y"].tobytes() == both(x=x)["y"].tobytes()


def test_the_value_between_two_convolutions_takes_little_memory() -> None:
    x = numbers(*PAIRS["expanded, strides"][0])
    held = []
    for both in (True, False):
        signature = cinfer.load(model("expanded, strides", both)).signature()
        signature(x=x)
        stats = ffi.new("ci_stats *", {"size": ffi.sizeof("ci_stats")})
        lib.ci_session_stats(signature._handles.session, stats)
        held.append(stats.arena_bytes)
    between = 4 * 96 * 64 * 70
    assert held[0] - held[1] > between / 2
