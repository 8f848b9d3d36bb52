"""cinfer reads packed weights in place, or unpacks them for another order: no number changes."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import cases
import engines
import numpy as np
import pytest
import test_plan_corners as corners
from cases import CASES, Case
from engines import one_node
from saving_in_c import saved_by_c

from graphio.schema import container
from graphio.schema.checkpoint import read_checkpoint

for _module in pkgutil.iter_modules(cases.__path__):
    importlib.import_module(f"cases.{_module.name}")

Array = np.ndarray[Any, Any]
cinfer = engines.module("cinfer")
ISAS = ("best", "portable")


def may_lie_in_packed_tiles(array: Array | None) -> bool:
    return array is not None and array.dtype == np.float32 and array.ndim > 1


HAS_ONE = [c for c in CASES if any(map(may_lie_in_packed_tiles, c.inputs[1:]))]


def in_packed_tiles(monkeypatch: pytest.MonkeyPatch, data: bytes, width: int, axis: int) -> bytes:
    """The same model with every array packed that may be."""
    model, arrays = container.unpack(data)
    axes = {i: axis for i, array in enumerate(arrays) if may_lie_in_packed_tiles(array)}
    monkeypatch.setattr(container, "TILE_WIDTH", width)
    made = container.pack(model, arrays, axes)
    monkeypatch.undo()
    return made


def same(found: list[Any], expected: list[Any]) -> None:
    for a, b in zip(found, expected, strict=True):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


@pytest.mark.parametrize("case", HAS_ONE, ids=str)
def test_every_operator_reads_constants_in_packed_tiles(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = [x.dtype for x in case.outputs]
    what = {"domain": case.domain, "version": case.version, "constant": True}
    data, fed = one_node(case.op, case.inputs, case.attrs, kinds, **what)
    expected = cinfer.load(data).signature().run(fed)
    for width, axis in ((32, 0), (32, -1), (5, 0), (2, -1)):
        moved = in_packed_tiles(monkeypatch, data, width, axis)
        assert moved != data
        same(cinfer.load(moved).signature().run(fed), expected)


def planned(name: str) -> corners.Plan:
    plan = corners.Plan()
    (corners.MODELS | corners.FITTED)[name][0](plan)
    return plan


RARE = [
    name
    for name in (*corners.MODELS, *corners.FITTED)
    if any(map(may_lie_in_packed_tiles, planned(name).arrays))
]


@pytest.mark.parametrize("name", RARE)
def test_rare_models_may_have_all_in_packed_tiles(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, feeds = planned(name), (corners.MODELS | corners.FITTED)[name][1]
    for axis in (0, -1):
        expected = cinfer.load(plan.bytes())
        loaded = cinfer.load(in_packed_tiles(monkeypatch, plan.bytes(), 2, axis))
        for signature in (s.name for s in plan.model.signature):
            for fed in feeds if signature == "run" else [{}]:
                corners.check(loaded, expected, signature, fed)


def numbers(*shape: int) -> Array:
    return np.random.RandomState(sum(shape)).standard_normal(shape).astype(np.float32)


def node(op: str, x: Array, weights: Array, **attrs: Any) -> tuple[bytes, list[Array]]:
    version = {"Gemm": 13, "MatMul": 13, "Conv": 22}[op]
    return one_node(op, [x, weights], attrs, [np.float32], version=version, constant=True)


def channels_last(x: Array, weights: Array, **attrs: Any) -> tuple[bytes, list[Array]]:
    attrs = {"strides": [1, 1], "pads": [0] * 4, "dilations": [1, 1], "group": 1, **attrs}
    return one_node("Conv2D", [x, weights], attrs, [np.float32], domain="graphio", constant=True)


READ_IN_PLACE = {
    "a matrix": (node("MatMul", numbers(9, 40), numbers(40, 96)), -1),
    "a row": (node("MatMul", numbers(1, 300), numbers(300, 72)), -1),
    "a transposed matrix": (node("Gemm", numbers(70, 40), numbers(1000, 40), transB=1), 0),
    "a row by a transposed matrix": (node("Gemm", numbers(1, 300), numbers(48, 300), transB=1), 0),
    "columns that end in a partial tile": (node("MatMul", numbers(9, 40), numbers(40, 37)), -1),
    "windows": (node("Conv", numbers(2, 40, 9, 9), numbers(48, 40, 3, 3), pads=[1] * 4), 0),
    "pixels": (node("Conv", numbers(1, 96, 7, 7), numbers(64, 96, 1, 1)), 0),
    "many pixels": (node("Conv", numbers(1, 16, 24, 24), numbers(64, 16, 1, 1)), 0),
    "windows three wide": (node("Conv", numbers(1, 16, 9, 9), numbers(32, 16, 3, 3)), 0),
    "an odd number of outputs": (node("Conv", numbers(1, 40, 9, 9), numbers(45, 40, 3, 3)), 0),
    "channels last": (channels_last(numbers(2, 9, 9, 40), numbers(3, 3, 40, 48), pads=[1] * 4), -1),
    "pixels, channels last": (channels_last(numbers(1, 25, 25, 96), numbers(1, 1, 96, 64)), -1),
    "groups, channels last": (
        channels_last(numbers(1, 9, 9, 64), numbers(3, 3, 32, 64), group=2),
        -1,
    ),
    "groups": (node("Conv", numbers(1, 64, 9, 9), numbers(64, 32, 3, 3), group=2), 0),
    "one axis": (node("Conv", numbers(1, 40, 50), numbers(32, 40, 5)), 0),
    "three axes": (node("Conv", numbers(1, 8, 5, 5, 5), numbers(32, 8, 3, 3, 3)), 0),
}


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("what", READ_IN_PLACE)
def test_matmuls_and_convolutions_read_packed_tiles(
    what: str, threads: int, isa: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data, fed), axis = READ_IN_PLACE[what]
    expected = cinfer.load(data, isa="portable").signature().run(fed)
    for width in (32, 16, 8, 33):
        moved = in_packed_tiles(monkeypatch, data, width, axis)
        same(cinfer.load(moved, isa=isa, threads=threads).signature().run(fed), expected)
        same(cinfer.load(moved, isa=isa, lazy=True).signature().run(fed), expected)


def many_readers() -> corners.Plan:
    """Weights that are also an output, an operand elsewhere, of another shape and a branch's."""
    p = corners.Plan()
    p.fed(x=(np.float32, None, 64), z=(np.float32, None, 32), yes=(np.bool_,))
    p.constant("w", numbers(64, 64))
    p.constant("shape", np.array([32, 128]))
    p.add("multiplied", "MatMul", "x", "w")
    p.add("sum", "Add", "w", "w")
    p.add("same", "Identity", "w")
    p.add("again", "MatMul", "multiplied", "same")
    p.add("other", "Reshape", "w", "shape")
    p.add("wide", "MatMul", "z", "other")
    yes = corners.graph(corners.node("t", "Neg", "w"), outputs="t", capture="w")
    no = corners.graph(corners.node("e", "MatMul", "x", "w"), outputs="e", capture="w x")
    p.branches("chosen", "yes", yes, no, 1)
    p.done("x z yes", "multiplied sum w again other wide chosen")
    return p


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("axis", [0, -1])
def test_weights_in_packed_tiles_may_be_read_in_any_other_way(
    axis: int, isa: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = many_readers().bytes()
    loaded = cinfer.load(in_packed_tiles(monkeypatch, data, 32, axis), isa=isa)
    for rows, yes in ((1, True), (5, False), (7, True), (7, False)):
        fed = {"x": numbers(rows, 64), "z": numbers(rows, 32), "yes": np.array(yes)}
        corners.check(loaded, cinfer.load(data), "run", fed)


def test_the_graph_file_of_c_keeps_constants_in_packed_tiles(tmp_path: Any) -> None:
    """Variables are stored without values, and the flag is dropped if nothing else was packed."""
    p = corners.Plan()
    p.fed(x=(np.float32, None, 64))
    p.constant("w", numbers(64, 64))
    p.variable("v", numbers(64, 32))
    p.read("r", "v")
    p.add("multiplied", "MatMul", "x", "w")
    p.add("y", "MatMul", "multiplied", "r")
    p.done("x", "y")
    (expected,) = cinfer.load(p.bytes()).signature().run([numbers(3, 64)])
    for axes, flags in (({0: 1, 1: 1}, 1), ({0: 0}, 1), ({1: 0}, 0)):
        model = cinfer.load(container.pack(p.model, p.arrays, axes))
        same(model.signature().run([numbers(3, 64)]), [expected])
        prefix = saved_by_c(model, tmp_path / f"{axes}")
        meta = read_checkpoint(prefix).meta()
        assert meta[12] == flags
        described, arrays = container.unpack(meta)
        assert not described.variable[0].HasField("value")
        np.testing.assert_array_equal(arrays[0], p.arrays[0])
        again = cinfer.load(meta)
        again.state.restore(prefix)
        same(again.signature().run([numbers(3, 64)]), [expected])
