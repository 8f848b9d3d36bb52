"""Every numeric operator of the standard, imported, has the gradient that the table expects."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np
import onnx.defs
import pytest
from folders import ROOT
from gradient_check import dense_gradients
from gradient_table import DIFFERENCES, EXPECTED, KINKS, NO, ROWS, YES, Const, Held, Kink, Row
from onnx import ModelProto, ValueInfoProto, helper, numpy_helper

import graphio as tf
from graphio.framework import gradient_registry
from graphio.onnx import call, import_model, lowering
from graphio.schema import operators

Array = np.ndarray[Any, Any]


def model(row: Row, sizes: str) -> ModelProto:
    """The row's node; sizes: which of the static sizes of fed inputs are known."""
    fed, weights, names = [], [], []
    for i, x in enumerate(row.inputs):
        name = "" if x is None else f"x{i}"
        names.append(name)
        array = value(x)
        if isinstance(x, Const):
            weights.append(numpy_helper.from_array(array, name))
        elif x is not None:
            shape = [] if i in row.keeps else unknown(array.ndim, sizes)
            shape = [name or size for name, size in zip_longest(shape, array.shape)]
            number = helper.np_dtype_to_tensor_dtype(array.dtype)
            fed.append(helper.make_tensor_value_info(name, number, shape))
    while names and not names[-1]:
        names.pop()
    made = [f"y{k}" for k in range(row.outputs)]
    attrs = {k: numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v
             for k, v in row.attrs.items()}  # fmt: skip
    nodes = row.make() if row.make else [helper.make_node(row.op, names, made, **attrs)]
    graph = helper.make_graph(
        nodes, "test", fed, [ValueInfoProto(name=name) for name in made], weights
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", row.opset)])


def unknown(rank: int, sizes: str) -> list[str | None]:
    """Names of the sizes that are not known."""
    open_axes = rank if sizes == "none" else 1 if sizes == "batch" and rank > 1 else 0
    return [f"n{axis}" for axis in range(open_axes)]


def value(x: Any) -> Array:
    return np.asarray(x.value if isinstance(x, (Const, Held)) else x)


def weighted(pairs: Iterable[tuple[Any, Any]]) -> Any:
    """One float64 number that depends on each element of some tensors in its own way."""
    return tf.add_n(
        [tf.reduce_sum(tf.cast(t, tf.float64) * tf.constant(np.asarray(w))) for t, w in pairs]
    )


class Checked:
    """A row's model in a separate graph."""

    def __init__(self, row: Row, sizes: str) -> None:
        self.row = row
        with tf.Graph().as_default() as self.graph:
            found = import_model(model(row, sizes))
        self.fed = {x: value(row.inputs[int(name[1:])]) for name, x in found.inputs.items()}
        self.xs = [x for x in found.inputs.values() if x.dtype.is_floating]
        self.expected = [
            x
            for name, x in found.inputs.items()
            if x.dtype.is_floating and not isinstance(row.inputs[int(name[1:])], Held)
        ]
        outputs = list(found.outputs.values())
        rng = np.random.RandomState(3)
        with self.graph.as_default():
            values = self.run(outputs)
            self.y = weighted(
                (y, rng.randn(*v.shape)) for y, v in zip(outputs, values, strict=True)
            )
        narrow = {x.dtype for x in [*self.xs, *outputs]} & {tf.float32}
        self.step, self.tolerance = (3e-3, 3e-3) if narrow else (1e-5, 2e-5)

    def run(
        self, fetches: Any, moved: dict[Any, Array] | None = None, target: str = "runtime"
    ) -> Any:
        with tf.Session(target, self.graph) as session:
            return session.run(fetches, {**self.fed, **(moved or {})})

    def gradients(self, y: Any) -> list[Any]:
        with self.graph.as_default():
            return dense_gradients(y, self.xs)

    def compare(self, y: Any, gradients: list[Any]) -> None:
        """The gradients of y with its differences along a random direction for each input."""
        rng = np.random.RandomState(5)
        pairs = [(x, g) for x, g in zip(self.xs, gradients, strict=True) if g is not None]
        found = self.run([g for _, g in pairs])
        for (x, _), dx in zip(pairs, found, strict=True):
            assert dx.dtype == x.dtype.as_numpy_dtype
            at = self.fed[x]
            assert dx.shape == at.shape
            along = rng.randn(*at.shape)
            ends = [at + sign * self.step * along for sign in (1, -1)]
            ends = [np.asarray(e, at.dtype) for e in ends]
            high, low = (self.run(y, {x: e}) for e in ends)
            rise = np.sum(dx * (ends[0].astype(float) - ends[1])) / (2 * self.step)
            assert np.isfinite(dx).all()
            np.testing.assert_allclose(
                rise, (high - low) / (2 * self.step), rtol=self.tolerance, atol=self.tolerance
            )

    def same_in_c(self, gradients: Iterable[Any]) -> None:
        fetches = [g for g in gradients if g is not None]
        loose = 1e-4 if self.step > 1e-4 else 1e-9
        for ours, theirs in zip(self.run(fetches), self.run(fetches, target="cinfer"), strict=True):
            np.testing.assert_allclose(theirs, ours, rtol=loose, atol=loose)


def parameters() -> list[Any]:
    return [
        pytest.param(row, sizes, id=f"{row}-{sizes}")
        for row in ROWS
        if EXPECTED[row.op] == YES
        for sizes in ("known", "batch", "none")
    ]


@pytest.mark.parametrize(("row", "sizes"), parameters())
def test_a_gradient_is_that_of_the_differences(row: Row, sizes: str) -> None:
    checked = Checked(row, sizes)
    first = checked.gradients(checked.y)
    with_one = {x for x, g in zip(checked.xs, first, strict=True) if g is not None}
    assert set(checked.expected) <= with_one, "an input that must have a gradient has none"
    for x, g in zip(checked.xs, first, strict=True):
        if x not in checked.expected and g is not None:
            assert not np.any(checked.run(g)), f"'{x.name}' has a gradient, expected none"
    if row.differences:
        checked.compare(checked.y, first)
    if row.second and sizes == "known":
        found = [(x, g) for x, g in zip(checked.xs, first, strict=True) if g is not None]
        rng = np.random.RandomState(7)
        with checked.graph.as_default():
            slope = weighted((g, rng.randn(*checked.fed[x].shape)) for x, g in found)
        checked.compare(slope, checked.gradients(slope))
    pytest.importorskip("graphio.cinfer._native", reason="the C library was not built")
    checked.same_in_c(first)


EMPTY = """
    Abs Mul Dropout-off Conv ConvTranspose MaxPool AveragePool GlobalMaxPool Resize Softmax
    LayerNormalization RMSNormalization GroupNormalization InstanceNormalization BatchNormalization
    MatMul Gemm Attention RotaryEmbedding LSTM-plain Flatten Reshape TopK GridSample DepthToSpace
""".split()


@pytest.mark.parametrize("name", EMPTY)
def test_a_batch_of_none_has_an_empty_gradient(name: str) -> None:
    row = next(row for row in ROWS if str(row) == name)
    count = row.inputs[0].shape[0]
    inputs = [x[:0] if isinstance(x, np.ndarray) and len(x) == count else x for x in row.inputs]
    checked = Checked(replace(row, inputs=tuple(inputs)), "batch")
    first = checked.gradients(checked.y)
    found = checked.run(first)
    for x, dx in zip(checked.xs, found, strict=True):
        assert dx.shape == checked.fed[x].shape
        assert not np.any(dx)
    pytest.importorskip("graphio.cinfer._native", reason="the C library was not built")
    checked.same_in_c(first)


@pytest.mark.parametrize("row", [row for row in ROWS if EXPECTED[row.op] != YES], ids=str)
def test_no_gradient_passes(row: Row) -> None:
    checked = Checked(row, "batch")
    with checked.graph.as_default():
        found = tf.gradients(checked.y, list(checked.fed))
    for dx in found:
        if dx is not None:
            assert EXPECTED[row.op] != NO
            assert not np.any(checked.run(dx))


def test_every_operator_has_a_row() -> None:
    assert {row.op for row in ROWS} == set(EXPECTED)


@pytest.mark.parametrize("op", sorted(EXPECTED))
def test_the_registry_knows_the_operator(op: str) -> None:
    known = ("", op) in gradient_registry.functions()
    silent = ("", op) in gradient_registry.without()
    assert not (known and silent)
    if op not in operators.table().forms or ("", op) in lowering.TABLE:
        return
    if EXPECTED[op] == YES:
        assert known
    elif EXPECTED[op] == NO:
        assert silent


def test_differences_from_the_marks_of_the_standard_are_listed() -> None:
    marked: dict[tuple[str, str], onnx.defs.OpSchema.DifferentiationCategory] = {}
    ours: dict[tuple[str, str], bool] = {}
    for row in ROWS:
        formals = onnx.defs.get_schema(row.op, row.opset).inputs
        for i, x in enumerate(row.inputs):
            if x is None or isinstance(x, Const) or value(x).dtype.kind != "f":
                continue
            formal = formals[min(i, len(formals) - 1)]
            key = row.op, formal.name
            marked[key] = formal.differentiation_category
            ours[key] = ours.get(key, False) or not isinstance(x, Held)
    kind = onnx.defs.OpSchema.DifferentiationCategory
    differ = {
        key
        for key, mark in marked.items()
        if (mark == kind.Differentiable and not ours[key])
        or (mark == kind.NonDifferentiable and ours[key])
    }
    assert differ == set(DIFFERENCES)


@pytest.mark.parametrize("kink", KINKS, ids=lambda kink: kink.says.replace("`", "")[:40])
def test_the_conventions_at_ties_and_kinks_hold(kink: Kink) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.constant(np.asarray(x)) for x in kink.inputs]
        made = call(kink.op, *inputs, outputs=kink.outputs, **kink.attrs)
        y = made if kink.outputs == 1 else made[0]
        found = session.run(dense_gradients(y, [x for x in inputs if x.dtype.is_floating]))
    for dx, expected in zip(found, kink.gradients, strict=True):
        np.testing.assert_array_equal(dx, expected)


def test_the_page_is_up_to_date() -> None:
    script = ROOT / "tools/gradients_page.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
