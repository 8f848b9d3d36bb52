"""LSTM and GRU in cinfer have the bits of docs/numerics.md, a row alone as in a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engines import instruction_sets, one_node
from numerics_emulator import matmul, sigmoid, tanh

cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")
pytest.importorskip("graphio.cinfer._native", reason="the C library was not built")

Array = np.ndarray[Any, Any]
F = np.float32
GATES = {"GRU": 3, "LSTM": 4}
STEPS, WIDTH = 3, 5


def numbers(*shape: int, seed: int = 0) -> Array:
    return np.random.RandomState(seed).uniform(-0.5, 0.5, shape).astype(F)


def states(op: str, x: Array, w: Array, r: Array, bias: Array) -> Array:
    """The states (steps, batch, units) of one direction, from the page alone."""
    n = r.shape[1]
    steps, rows, width = x.shape
    own, other = bias[: len(w)], bias[len(w) :].copy()
    inside = other[2 * n :].copy()
    if op == "GRU":
        other[2 * n :] = 0
    xw = matmul(x.reshape(-1, width), np.ascontiguousarray(w.T)) + (own + other)
    h, c = np.zeros((rows, n), F), np.zeros((rows, n), F)
    found = []
    for s in xw.reshape(steps, rows, -1):
        hr = matmul(h, np.ascontiguousarray(r.T))
        if op == "GRU":
            z, reset = (sigmoid(g) for g in np.split((s + hr)[:, : 2 * n], 2, axis=1))
            made = tanh(s[:, 2 * n :] + reset * (hr[:, 2 * n :] + inside))
            h = (F(1) - z) * made + z * h
        else:
            i, o, f, g = np.split(s + hr, 4, axis=1)
            c = sigmoid(f) * c + sigmoid(i) * tanh(g)
            h = sigmoid(o) * tanh(c)
        found.append(h)
    return np.stack(found)


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("units", [1, 3, 8, 11, 16, 33, 70, 260])
@pytest.mark.parametrize("op", GATES)
def test_both_directions_have_the_bits_of_the_page(op: str, units: int, batch: int) -> None:
    gates = GATES[op]
    x, w = numbers(STEPS, batch, WIDTH), numbers(2, gates * units, WIDTH, seed=1)
    r, bias = numbers(2, gates * units, units, seed=2), numbers(2, 2 * gates * units, seed=3)
    attrs: dict[str, Any] = {"direction": "bidirectional", "hidden_size": units}
    if op == "GRU":
        attrs["linear_before_reset"] = 1
    forth = states(op, x, w[0], r[0], bias[0])
    back = states(op, x[::-1], w[1], r[1], bias[1])[::-1]
    expected = np.stack([forth, back], axis=1)
    for constant in (False, True):
        data, fed = one_node(op, [x, w, r, bias], attrs, [F], version=22, constant=constant)
        for isa in instruction_sets():
            found = cinfer.load(data, isa=isa).signature().run(fed)[0]
            assert found.tobytes() == expected.tobytes(), f"{isa}, {constant=}"


@pytest.mark.parametrize("op", GATES)
def test_a_row_alone_ends_where_its_sequence_does(op: str) -> None:
    gates, units = GATES[op], 20
    x, w = numbers(6, 2, WIDTH), numbers(2, gates * units, WIDTH, seed=1)
    r, bias = numbers(2, gates * units, units, seed=2), numbers(2, 2 * gates * units, seed=3)
    h0 = numbers(2, 2, units, seed=4)
    attrs: dict[str, Any] = {"direction": "bidirectional", "hidden_size": units}
    if op == "GRU":
        attrs["linear_before_reset"] = 1
    outputs = [F] * (3 if op == "LSTM" else 2)

    def run(rows: slice, lengths: list[int]) -> list[Array]:
        inputs = [x[:, rows], w, r, bias, np.int32(lengths)[rows], h0[:, rows]]
        inputs = [np.ascontiguousarray(value) for value in inputs]
        data, fed = one_node(op, inputs, attrs, outputs, version=22)
        found: list[Array] = cinfer.load(data).signature().run(fed)
        return found

    for lengths in ([4, 6], [0, 1], [6, 5]):
        both = run(slice(0, 2), lengths)
        for row in (0, 1):
            alone = run(slice(row, row + 1), lengths)
            for name, one, all_rows in zip(("y", "h", "c"), alone, both, strict=False):
                assert np.array_equal(one[..., 0, :], all_rows[..., row, :]), f"{name}, {lengths}"
