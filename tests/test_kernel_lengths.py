"""Loops of the C library over rows of any length, their tails, steps and indices, beside numpy."""

from __future__ import annotations

from typing import Any

import engines
import numpy as np
import pytest

cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")

Array = np.ndarray[Any, Any]
F = np.float32
WAYS = [(isa, threads) for isa in engines.instruction_sets() for threads in (1, 2)]
LENGTHS = [1, 2, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1000, 5000]
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def found(op: str, inputs: list[Any], attrs: dict[str, Any], to: Any, version: int = 21) -> Array:
    """What the operator gives in every way."""
    dense = [np.array(v, order="C") for v in inputs]
    data, fed = engines.one_node(op, dense, dict(sorted(attrs.items())), [to], version=version)
    results = [cinfer.load(data, isa=isa, threads=n).signature().run(fed)[0] for isa, n in WAYS]
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])
    return np.asarray(results[0])


def integers(dtype: Any, *shape: int) -> Array:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    random = np.random.default_rng(shape[-1])
    return random.integers(low, high, shape, dtype=dtype, endpoint=True)


def floats(*shape: int) -> Array:
    return np.random.RandomState(shape[-1]).standard_normal(shape).astype(F)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_reduced_exactly(dtype: Any) -> None:
    for n in LENGTHS:
        x = integers(dtype, 3, n)
        axes = np.array([-1])
        np.testing.assert_array_equal(
            found("ReduceMax", [x, axes], {"keepdims": 0}, dtype), x.max(-1)
        )
        np.testing.assert_array_equal(
            found("ReduceMin", [x, axes], {"keepdims": 0}, dtype), x.min(-1)
        )
        total = found("ReduceSum", [x, axes], {"keepdims": 0}, dtype)
        np.testing.assert_array_equal(total, x.sum(-1, dtype=dtype))


@pytest.mark.parametrize("dtype", [F, np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("last", [0, 1])
def test_the_best_of_a_row_is_the_first_or_last_of_equals(dtype: Any, last: int) -> None:
    for n in LENGTHS:
        x = np.random.RandomState(n).randint(-3, 4, (4, n)).astype(dtype)
        for op, best in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
            attrs = {"axis": 1, "keepdims": 0, "select_last_index": last}
            wanted = n - 1 - best(x[:, ::-1], axis=1) if last else best(x, axis=1)
            np.testing.assert_array_equal(found(op, [x], attrs, np.int64), wanted)


def test_the_first_nan_is_the_best() -> None:
    for n in (1, 64, 65, 300):
        x = floats(3, n)
        x[0, n // 2 :: 7] = np.nan
        x[1, -1] = np.nan
        for op in ("ArgMax", "ArgMin"):
            for last in (0, 1):
                at = found(op, [x], {"axis": 1, "keepdims": 0, "select_last_index": last}, np.int64)
                assert list(at[:2]) == [n // 2, n - 1]
        hard = found("Hardmax", [x], {"axis": 1}, F)
        np.testing.assert_array_equal(hard.argmax(1)[:2], [n // 2, n - 1])
        np.testing.assert_array_equal(hard.sum(1), np.ones(3))


@pytest.mark.parametrize("dtype", [np.bool_, np.int16, F, np.float64, np.complex128])
def test_where_takes_numbers_and_tensors(dtype: Any) -> None:
    for n in LENGTHS:
        c = np.random.RandomState(n).randint(0, 2, (2, n)).astype(bool)
        a, b = (floats(2, n) * 9).astype(dtype), (floats(2, n) * 5 + 1).astype(dtype)
        for left in (a, a[:1, :1], a[:, :1], a[:1]):
            for right in (b, b[:1, :1]):
                for choice in (c, c[:, :1]):
                    y = found("Where", [choice, left, right], {}, dtype)
                    np.testing.assert_array_equal(y, np.where(choice, left, right))


@pytest.mark.parametrize("to", [np.int8, np.uint8, np.int16, np.uint16])
@pytest.mark.parametrize("each", ["one scale", "rows", "columns", "images"])
def test_quantisation_rounds_half_to_even(to: Any, each: str) -> None:
    limits = np.iinfo(to)
    for n in LENGTHS[:-1]:
        x = np.round(floats(3, n) * 200, 1) * F(0.25)
        x[0, 0] = np.nan if n > 1 else 3
        x[1, -1] = np.inf
        if each == "images":
            x = x.reshape(1, 3, n)
        scales, axis = {
            "one scale": (np.array(0.25, F), 0),
            "rows": (np.array([0.25, 0.5, 3.0], F), 0),
            "columns": (np.linspace(0.25, 9, n).astype(F), 1),
            "images": (np.array([0.25, 0.5, 3.0], F), 1),
        }[each]
        zeros = np.full(scales.shape, limits.max // 2, to)
        shape = [1] * x.ndim
        if scales.ndim:
            shape[axis] = scales.size
        by, zero = scales.reshape(shape), zeros.reshape(shape).astype(np.float64)
        quotient = np.nan_to_num(x / by, nan=0.0, posinf=1e9, neginf=-1e9).astype(np.float64)
        wanted = np.clip(np.rint(quotient) + zero, limits.min, limits.max).astype(to)
        y = found("QuantizeLinear", [x, scales, zeros], {"axis": axis}, to)
        np.testing.assert_array_equal(y, wanted)
        back = found("DequantizeLinear", [y, scales, zeros], {"axis": axis}, F)
        np.testing.assert_array_equal(back, ((y.astype(F) - zero.astype(F)) * by).astype(F))


@pytest.mark.parametrize(
    "repeats",
    [(1, 1, 1), (3, 1, 1), (1, 4, 1), (1, 1, 5), (2, 3, 4), (7, 1, 9), (2, 0, 3), (40, 30, 20)],
)
def test_tiles_repeat_every_axis(repeats: tuple[int, ...]) -> None:
    for shape in ((1, 1, 1), (2, 3, 4), (3, 1, 5), (1, 6, 1), (2, 0, 3)):
        for dtype in (np.uint8, F, np.float64):
            x = (np.arange(np.prod(shape)) % 251).reshape(shape).astype(dtype)
            y = found("Tile", [x, np.array(repeats)], {}, dtype)
            np.testing.assert_array_equal(y, np.tile(x, repeats))


@pytest.mark.parametrize("item", [np.uint8, np.int16, F, np.int64, np.complex128])
@pytest.mark.parametrize("places", [np.int32, np.int64])
def test_elements_are_gathered_along_any_axis(item: Any, places: Any) -> None:
    random = np.random.RandomState(0)
    x = (random.standard_normal((6, 5, 70)) * 50).astype(item)
    for axis in (-3, -2, -1, 0, 1, 2):
        size = x.shape[axis]
        indices = random.randint(-size, size, (4, 3, 65)).astype(places)
        y = found("GatherElements", [x, indices], {"axis": axis}, item)
        kept = [slice(None) if i == axis % 3 else slice(n) for i, n in enumerate((4, 3, 65))]
        np.testing.assert_array_equal(y, np.take_along_axis(x[tuple(kept)], indices % size, axis))


def test_every_form_of_slice_and_transpose_moves_whole_tensors() -> None:
    for shape in ((3, 5, 7), (2, 40, 130), (64, 3, 90), (1, 200, 3)):
        for dtype in (np.uint8, np.float16, F, np.int64):
            x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
            for perm in ((0, 2, 1), (2, 1, 0), (1, 0, 2), (2, 0, 1), (1, 2, 0)):
                y = found("Transpose", [x], {"perm": list(perm)}, dtype)
                np.testing.assert_array_equal(y, x.transpose(perm))
            for cut in (np.s_[:, 1:, ::-1], np.s_[::-1, ::2, 1:], np.s_[:1, -1:, :2]):
                first, last, step = ([], [], [])
                for s, n in zip(cut, shape, strict=True):
                    a, b, c = s.indices(n)
                    first.append(a), last.append(b if b >= 0 else -n - 1), step.append(c)
                rest = [np.array(v) for v in (first, last, [0, 1, 2], step)]
                np.testing.assert_array_equal(found("Slice", [x, *rest], {}, dtype), x[cut])
