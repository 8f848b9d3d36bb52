"""MatMuls of float64 and of integers: the order of docs/numerics.md, on every path."""

from __future__ import annotations

from typing import Any

import engines
import numpy as np
import pytest
from numerics_emulator import block_length

cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")

Array = np.ndarray[Any, Any]
WAYS = [(isa, threads) for isa in engines.instruction_sets() for threads in (1, 2)]
INTEGERS = (np.int32, np.uint32, np.int64, np.uint64)


def found(op: str, inputs: list[Array], attrs: dict[str, Any], constant: int = -1) -> Array:
    """The operator's result, equal on every path; input `constant` is the model's (-1: none)."""
    b = engines.Builder()
    names, fed = [], []
    for i, value in enumerate(inputs):
        if i == constant:
            names.append(b.constant(f"in{i}", value))
        else:
            names.append(b.placeholder(f"in{i}", value.dtype, None))
            fed.append((names[-1], value))
    to = [engines.tensor_type(inputs[0].dtype)]
    b.node("y", op, names, to, dict(sorted(attrs.items())), version=13)
    b.signature({n: n for n, _ in fed}, {"y": "y"})
    values = [v for _, v in fed]
    results = [
        cinfer.load(b.bytes(), isa=isa, threads=threads).signature().run(values)[0]
        for isa, threads in WAYS
    ]
    for other in results[1:]:
        np.testing.assert_array_equal(other.view(np.uint8), results[0].view(np.uint8))
    return np.asarray(results[0])


def dot(a: Array, b: Array) -> Any:
    lanes = np.zeros(64)
    wide = len(a) // 64 * 64 if len(a) >= 256 else 0
    for k in range(len(a)):
        lane = k % 64 if k < wide else k % 16
        lanes[lane] = lanes[lane] + a[k] * b[k]
    fours = lanes.reshape(4, 16)
    rest = (fours[0] + fours[1]) + (fours[2] + fours[3])
    while len(rest) > 1:
        rest = rest[: len(rest) // 2] + rest[len(rest) // 2 :]
    return rest[0]


def columns(a: Array, b: Array) -> Array:
    (m, k), n = a.shape, b.shape[1]
    total, length = np.zeros((m, n)), block_length(k, n)
    for start in range(0, k, length):
        chain = np.zeros((m, n))
        for i in range(start, min(start + length, k)):
            chain = chain + a[:, i : i + 1] * b[i]
        total = chain if start == 0 else total + chain
    return total


def expected(a: Array, b: Array) -> Array:
    """float64: two roundings a term."""
    (m, k), n = a.shape, b.shape[1]
    with np.errstate(all="ignore"):
        if k > 0 and (n == 1 or (n < 8 and k >= 32 * n)):
            return np.array([[dot(a[i], b[:, j]) for j in range(n)] for i in range(m)])
        return columns(a, b)


def drawn(random: np.random.RandomState, *shape: int) -> Array:
    values = random.standard_normal(shape)
    special = random.rand(*shape)
    values[special < 0.03] = 0.0
    values[special < 0.02] = -0.0
    values[special < 0.01] = np.inf
    values[special < 0.005] = np.nan
    return values


def same(actual: Array, expected_values: Array) -> None:
    """The same bits, whatever NaN holds."""
    one, other = (
        np.where(np.isnan(v), np.nan, v).view(np.uint64) for v in (actual, expected_values)
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("m", [1, 5, 6, 7, 20])
@pytest.mark.parametrize("n", [1, 3, 7, 8, 9, 16, 17, 33, 40])
def test_doubles_are_multiplied_in_the_order_of_the_document(m: int, n: int) -> None:
    random = np.random.RandomState(m * 100 + n)
    for k in (0, 1, 17, 96, 256, 300, 530):
        a, b = drawn(random, m, k), drawn(random, k, n)
        same(found("MatMul", [a, b], {}), expected(a, b))


@pytest.mark.parametrize("constant", [-1, 1])
@pytest.mark.parametrize(("m", "n", "k"), [(7, 12, 70), (3, 2, 300), (9, 33, 260), (5, 1, 40)])
def test_transposed_doubles_give_the_bits_of_those_in_order(
    m: int, n: int, k: int, constant: int
) -> None:
    random = np.random.RandomState(k)
    a, b = random.standard_normal((m, k)), random.standard_normal((k, n))
    for transposed in range(4):
        inputs = [np.ascontiguousarray(a.T) if transposed & 1 else a]
        inputs.append(np.ascontiguousarray(b.T) if transposed & 2 else b)
        attrs = {"transA": transposed & 1, "transB": transposed >> 1}
        same(found("Gemm", inputs, attrs, constant), expected(a, b))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap(dtype: Any) -> None:
    random = np.random.RandomState(3)
    for m, n, k in ((1, 1, 9), (5, 7, 300), (6, 16, 0), (7, 33, 65), (13, 70, 3), (4, 1, 40)):
        a = random.randint(-(2**62), 2**62, (m, k)).astype(dtype)
        b = random.randint(-(2**62), 2**62, (k, n)).astype(dtype)
        wide = a.astype(np.uint64) @ b.astype(np.uint64)
        np.testing.assert_array_equal(found("MatMul", [a, b], {}), wide.astype(dtype))
        if k == 0:
            continue
        transposed = [np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)]
        for constant in (-1, 1):
            y = found("Gemm", transposed, {"transA": 1, "transB": 1}, constant)
            np.testing.assert_array_equal(y, wide.astype(dtype))


@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
def test_recurrent_layers_of_doubles_take_constant_weights_in_two_directions(op: str) -> None:
    random = np.random.RandomState(5)
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    x, w = random.standard_normal((4, 3, 7)), random.standard_normal((2, gates * 9, 7))
    r = random.standard_normal((2, gates * 9, 9))
    attrs = {"hidden_size": 9, "direction": "bidirectional"}
    given = found(op, [x, w, r], attrs)
    for constant in (1, 2):
        same(found(op, [x, w, r], attrs, constant), given)
