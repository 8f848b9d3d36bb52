"""Broadcasting, slicing, reductions and transposes of any shape, against numpy, in both engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from engines import BOTH, one_node, run
from hypothesis import given, settings
from hypothesis import strategies as st

SIZES = st.integers(0, 4)
SHAPES = st.lists(SIZES, min_size=0, max_size=5).map(tuple)
DTYPES = st.sampled_from(["float32", "float64", "int32", "int64"])
EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)


def numbers(shape: Sequence[int], dtype: str, seed: int = 0) -> np.ndarray:
    """Small whole numbers, whose sums and multiples are exact in every dtype."""
    return np.random.RandomState(seed).randint(-3, 4, tuple(shape)).astype(dtype)


def outputs_of(
    engine: str,
    op: str,
    version: int,
    inputs: list[np.ndarray],
    dtype: Any,
    constant: bool,
    **attrs: Any,
) -> np.ndarray:
    data, fed = one_node(op, inputs, attrs, [dtype], version=version, constant=constant)
    return run(engine, data, fed)[0]


def same(found: np.ndarray, expected: Any) -> None:
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@st.composite
def broadcastable(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes that broadcast together."""
    whole = draw(SHAPES)
    pair = []
    for _ in range(2):
        kept = whole[draw(st.integers(0, len(whole))) :]
        pair.append(tuple(1 if draw(st.booleans()) else n for n in kept))
    return pair[0], pair[1]


@BOTH
@EXAMPLES
@given(shapes=broadcastable(), dtype=DTYPES, constant=st.booleans())
def test_any_shapes_broadcast_as_numpys_do(
    engine: str, shapes: tuple[tuple[int, ...], ...], dtype: str, constant: bool
) -> None:
    a, b = numbers(shapes[0], dtype), numbers(shapes[1], dtype, 1)
    for op, version, function in (
        ("Add", 7, np.add),
        ("Mul", 7, np.multiply),
        ("Max", 8, np.maximum),
    ):
        same(outputs_of(engine, op, version, [a, b], dtype, constant), function(a, b))
    same(outputs_of(engine, "Less", 9, [a, b], "bool", constant), np.less(a, b))
    chosen = np.asarray(numbers(shapes[0], "int64", 2) > 0)
    same(outputs_of(engine, "Where", 9, [chosen, a, b], dtype, constant), np.where(chosen, a, b))


@st.composite
def cuts(draw: st.DrawFn) -> tuple[tuple[int, ...], list[tuple[int, int, int, int]]]:
    """A shape and, for some of its axes, (start, end, axis, step)."""
    shape = draw(st.lists(st.integers(0, 6), min_size=1, max_size=4).map(tuple))
    axes = draw(st.lists(st.sampled_from(range(len(shape))), unique=True))
    bounds = st.integers(-9, 9) | st.sampled_from([-(2**63), 2**63 - 1])
    steps = st.sampled_from([1, 2, 3, -1, -2, -3, 2**62, -(2**62)])
    return shape, [
        (draw(bounds), draw(bounds), axis - draw(st.sampled_from([0, len(shape)])), draw(steps))
        for axis in axes
    ]


@BOTH
@EXAMPLES
@given(cut=cuts(), dtype=DTYPES, constant=st.booleans())
def test_any_slice_is_numpys(
    engine: str,
    cut: tuple[tuple[int, ...], list[tuple[int, int, int, int]]],
    dtype: str,
    constant: bool,
) -> None:
    shape, parts = cut
    x = numbers(shape, dtype)
    index = [slice(None)] * len(shape)
    for start, end, axis, step in parts:
        index[axis] = slice(start, end, step)
    columns = [np.array([part[i] for part in parts], np.int64) for i in range(4)]
    same(outputs_of(engine, "Slice", 10, [x, *columns], dtype, constant), x[tuple(index)])


@BOTH
@EXAMPLES
@given(data=st.data(), shape=SHAPES, dtype=DTYPES, keep=st.booleans(), constant=st.booleans())
def test_any_reduction_is_numpys(
    engine: str, data: st.DataObject, shape: tuple[int, ...], dtype: str, keep: bool, constant: bool
) -> None:
    x = numbers(shape, dtype)
    axes = data.draw(st.lists(st.sampled_from(range(len(shape))), unique=True)) if shape else []
    axis = tuple(axes) or None
    signed = [a - data.draw(st.sampled_from([0, len(shape)])) for a in axes]
    inputs = [x, np.array(signed, np.int64)]
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(dtype).min
    expected = {
        ("ReduceSum", 13): np.sum(x, axis, x.dtype, keepdims=keep),
        ("ReduceProd", 18): np.prod(x, axis, x.dtype, keepdims=keep),
        ("ReduceMax", 18): np.max(x, axis, keepdims=keep, initial=lowest),
    }
    for (op, version), value in expected.items():
        same(outputs_of(engine, op, version, inputs, dtype, constant, keepdims=int(keep)), value)


@BOTH
@EXAMPLES
@given(data=st.data(), shape=SHAPES, dtype=DTYPES)
def test_any_transpose_is_numpys(
    engine: str, data: st.DataObject, shape: tuple[int, ...], dtype: str
) -> None:
    x = numbers(shape, dtype)
    order = data.draw(st.permutations(range(len(shape))))
    same(outputs_of(engine, "Transpose", 1, [x], dtype, True, perm=order), x.transpose(order))


@BOTH
@EXAMPLES
@given(shapes=broadcastable(), m=SIZES, k=SIZES, n=SIZES, constant=st.booleans())
def test_any_matrices_multiply_as_numpys_do(
    engine: str, shapes: tuple[tuple[int, ...], ...], m: int, k: int, n: int, constant: bool
) -> None:
    a, b = numbers((*shapes[0], m, k), "float32"), numbers((*shapes[1], k, n), "float32", 1)
    same(outputs_of(engine, "MatMul", 1, [a, b], "float32", constant), np.matmul(a, b))
