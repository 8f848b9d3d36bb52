"""ONNX's convolutions in the C library: how a result is computed does not show in its bits."""

from __future__ import annotations

from typing import Any

import engines
import numpy as np
import pytest

cinfer = pytest.importorskip("graphio.cinfer")
WAYS = [(isa, threads) for isa in ("portable", "best") for threads in (1, 3)]

SHAPES: dict[str, tuple[str, list[tuple[int, ...]], dict[str, Any]]] = {
    "Conv": ("Conv", [(3, 20, 13, 11), (150, 20, 3, 3), (150,)], {"pads": [1, 1, 0, 1]}),
    "groups": ("Conv", [(3, 8, 9, 40), (6, 4, 2, 3)], {"group": 2, "strides": [2, 1]}),
    "depthwise": ("Conv", [(2, 5, 9, 19), (5, 1, 3, 3)], {"group": 5, "strides": [1, 2]}),
    "dots": ("Conv", [(2, 40, 3, 4), (5, 40, 3, 3)], {}),
    "1 x 1": ("Conv", [(2, 30, 7, 33), (9, 30, 1, 1)], {}),
    "3-D": ("Conv", [(2, 3, 5, 6, 7), (4, 3, 2, 3, 2)], {"pads": [1, 0, 1, 0, 1, 1]}),
    "transposed": ("ConvTranspose", [(3, 8, 5, 6), (8, 9, 3, 3), (9,)], {"strides": [2, 2]}),
    "transposed dots": ("ConvTranspose", [(2, 90, 1, 2), (90, 3, 3, 2)], {"group": 2}),
}


def run(op: str, values: Any, attrs: Any, isa: str, threads: int, domain: str = "") -> Any:
    b = engines.Builder()
    names = [b.placeholder(f"in{i}", v.dtype, None) for i, v in enumerate(values)]
    version = 1 if domain else 11
    kind = [engines.tensor_type(np.float32)]
    b.node("node", op, names, kind, attrs, domain=domain, version=version)
    b.signature(dict(zip(names, names, strict=True)), {"y": "node"})
    options = {} if isa == "best" else {"isa": isa}
    return cinfer.load(b.bytes(), threads=threads, **options).signature().run(list(values))[0]


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


@pytest.mark.parametrize("name", SHAPES)
def test_batch_threads_and_instruction_set_do_not_show(name: str) -> None:
    op, shapes, attrs = SHAPES[name]
    values = [numbers(*s, seed=i) for i, s in enumerate(shapes)]
    found = [run(op, values, attrs, *way) for way in WAYS]
    for y in found[1:]:
        assert y.tobytes() == found[0].tobytes()
    alone = [run(op, [x[None], *values[1:]], attrs, *WAYS[0])[0] for x in values[0]]
    assert np.stack(alone).tobytes() == found[0].tobytes()


@pytest.mark.parametrize("name", [n for n, row in SHAPES.items() if row[0] == "Conv"])
def test_gradients_do_not_show_how_they_were_computed(name: str) -> None:
    _, (x_dims, w_dims, *_), attrs = SHAPES[name]
    x, w = numbers(*x_dims), numbers(*w_dims, seed=1)
    dy = run("Conv", [x, w], attrs, *WAYS[0])
    for op, values in (
        ("ConvGradInput", [np.array(x_dims), w, dy]),
        ("ConvGradWeight", [x, np.array(w_dims), dy]),
    ):
        found = [run(op, values, attrs, *way, domain="graphio") for way in WAYS]
        assert len({y.tobytes() for y in found}) == 1
