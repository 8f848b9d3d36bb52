"""MatMul and Gemm in cinfer: weights packed once, fused programs, batches shared by threads.

On every path the bits are those of the unfused operator on portable C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from engines import Builder, instruction_sets, one_node, tensor_type

cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")
pytest.importorskip("graphio.cinfer._native", reason="the C library was not built")

Array = np.ndarray[Any, Any]
F = np.float32


WAYS = [(isa, threads) for isa in instruction_sets() for threads in (1, 2, 3)]


def numbers(*shape: int, seed: int = 0) -> Array:
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(F)


def matmul(op: str, inputs: Sequence[Array], attrs: Mapping[str, Any] | None = None) -> Array:
    """The plain operator, all operands fed, on portable C."""
    data, fed = one_node(op, inputs, attrs or {}, [F], version=13)
    made: Array = cinfer.load(data, isa="portable").signature().run(fed)[0]
    return made


def check(
    op: str,
    inputs: Sequence[Array],
    expected: Array,
    attrs: Mapping[str, Any] | None = None,
    domain: str = "",
    ways: Sequence[tuple[str, int]] = tuple(WAYS),
) -> None:
    """The operator gives these bits in every way, its weights fed or constant."""
    for constant in (False, True):
        version = 1 if domain else 13
        data, fed = one_node(
            op, inputs, attrs or {}, [F], domain=domain, version=version, constant=constant
        )
        for isa, threads in ways:
            found = cinfer.load(data, isa=isa, threads=threads).signature().run(fed)[0]
            assert found.shape == expected.shape
            assert found.tobytes() == expected.tobytes(), f"{isa}, {threads} threads, {constant=}"


@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize(
    ("m", "k", "n"),
    [
        (1, 64, 32),
        (1, 600, 100),
        (1, 40, 400),
        (2, 300, 10),
        (3, 33, 20),
        (17, 520, 65),
        (5, 64, 1),
    ],
)
def test_constant_weights_change_no_bit(m: int, k: int, n: int, transposed: int) -> None:
    a, b, c = numbers(m, k), numbers(k, n, seed=1), numbers(n, seed=2)
    attrs = {"transB": transposed}
    inputs = [a, np.ascontiguousarray(b.T) if transposed else b, c]
    check("Gemm", inputs, matmul("MatMul", [a, b]) + c, attrs)


def test_one_constant_read_as_two_shapes_has_two_orders() -> None:
    """w (8, 24) and the same bytes as a transposed (24, 8): each is packed in its own order."""
    w, x, z = numbers(8, 24), numbers(2, 8, seed=1), numbers(2, 24, seed=2)
    builder = Builder()
    builder.constant("w", w)
    builder.constant("tall", np.array([24, 8]))
    for name, value in (("x", x), ("z", z)):
        builder.placeholder(name, F, value.shape)
    kind = [tensor_type(F)]
    builder.node("reshaped", "Reshape", ["w", "tall"], kind, version=14)
    builder.node("wide", "Gemm", ["x", "w"], kind, version=13)
    builder.node("turned", "Gemm", ["z", "w"], kind, {"transB": 1}, version=13)
    builder.node("narrow", "Gemm", ["z", "reshaped"], kind, version=13)
    builder.signature({"x": "x", "z": "z"}, {name: name for name in ("narrow", "turned", "wide")})
    signature = cinfer.load(builder.bytes()).signature()
    for _ in range(2):
        narrow, transposed, wide = signature.run([x, z])
        np.testing.assert_allclose(narrow, z @ w.reshape(24, 8), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(transposed, z @ w.T, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(wide, x @ w, rtol=1e-5, atol=1e-6)


ADD_RELU = {"operands": [0, 1, 2], "ops": ["Add", "Relu"]}


@pytest.mark.parametrize(
    ("a", "b", "extra"),
    [
        ((1, 64), (64, 32), (32,)),
        ((150, 20), (20, 600), (600,)),  # several tiles, each finished by itself
        ((520, 9), (9, 200), (520, 200)),
        ((4, 3, 33, 40), (40, 70), (3, 33, 1)),
        ((4, 3, 33, 40), (3, 40, 70), (4, 1, 1, 70)),
        ((2, 1, 5, 7), (3, 7, 130), (5, 130)),
        ((60, 20), (20, 10), (10,)),  # some rows at a time, in full vectors
        ((5, 20), (20, 13), (5, 13)),
        ((2, 3, 9, 20), (20, 29), (1,)),
        ((7, 40), (40, 30), (7, 1)),
        ((40, 16), (16, 100), (100,)),  # the last columns are fewer than a vector
        ((1, 1000), (1000, 36), (36,)),
    ],
)
def test_programs_behind_matmuls_see_each_element_at_its_position(
    a: tuple[int, ...], b: tuple[int, ...], extra: tuple[int, ...]
) -> None:
    inputs = [numbers(*a), numbers(*b, seed=1), numbers(*extra, seed=2)]
    expected = np.maximum(matmul("MatMul", inputs[:2]) + inputs[2], F(0))
    check("FusedMatMul", inputs, expected, ADD_RELU, "graphio")


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 16, 17, 31, 32])
@pytest.mark.parametrize(
    "program",
    [
        ADD_RELU,
        {"operands": [0, 1], "ops": ["Add"]},
        {"operands": [0], "ops": ["Relu"]},
        {"operands": [0], "ops": ["Neg"]},
    ],
)
def test_every_number_of_rows_of_few_columns_is_finished(
    columns: int, program: dict[str, Any]
) -> None:
    """Tiles of every height, with the fused program inside them or after them."""
    for rows in range(3, 24):
        depth = 40 if rows % 5 else 7  # several blocks or one
        inputs = [numbers(rows, depth), numbers(depth, columns, seed=1), numbers(columns, seed=2)]
        expected = matmul("MatMul", inputs[:2])
        if "Add" in program["ops"]:
            expected = expected + inputs[2]
        else:
            inputs.pop()
        if "Relu" in program["ops"]:
            expected = np.maximum(expected, F(0)) + F(0)
        if "Neg" in program["ops"]:
            expected = -expected
        check("FusedMatMul", inputs, expected, program, "graphio", WAYS[:: len(WAYS) // 3])


@pytest.mark.parametrize("columns", [10, 16, 36])
@pytest.mark.parametrize("rows", [1, 3, 60])
def test_what_is_no_number_goes_through_what_is_behind_a_matmul(rows: int, columns: int) -> None:
    inputs = [numbers(rows, 20), numbers(20, columns, seed=1), numbers(columns, seed=2)]
    inputs[2][:4] = np.nan, np.inf, -np.inf, -0.0
    inputs[0][0] = 0.0
    expected = np.maximum(matmul("MatMul", inputs[:2]) + inputs[2], F(0)) + F(0)
    assert (
        np.isnan(expected).any() and np.isposinf(expected).any() and not np.signbit(expected).any()
    )
    check("FusedMatMul", inputs, expected, ADD_RELU, "graphio")


def test_a_gemm_with_a_program_scales_and_adds_first() -> None:
    a, b, c, d = (
        numbers(70, 30),
        numbers(1000, 30, seed=1),
        numbers(1000, seed=2),
        numbers(70, 1, seed=3),
    )
    attrs = {"transB": 1, "alpha": 0.5, "beta": 2.0}
    expected = np.maximum(matmul("Gemm", [a, b, c], attrs) + d, F(0))
    check("FusedGemm", [a, b, c, d], expected, {**attrs, **ADD_RELU}, "graphio")


def test_large_matmuls_are_the_small_ones_row_by_row() -> None:
    """Packed blocks of a, rows fetched ahead, two sweeps: paths that only large matrices take."""
    a, b = numbers(560, 520), numbers(520, 260, seed=1)
    rows = [0, 279, 280, 503, 504, 559]
    expected = matmul("MatMul", [a[rows], b])
    data, fed = one_node("MatMul", [a, b], {}, [F], version=13)
    fast = [(isa, threads) for isa, threads in WAYS if isa != "portable"]
    for isa, threads in fast:
        found = cinfer.load(data, isa=isa, threads=threads).signature().run(fed)[0]
        assert found[rows].tobytes() == expected.tobytes(), f"{isa}, {threads} threads"
