"""Arithmetic of complex numbers against numpy's, gradients against finite differences."""

from __future__ import annotations

from typing import Any

import hypothesis
import numpy as np
import pytest
from complex_values import KINDS, TARGETS, agree, check_gradient, numbers, run
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import graphio as tf

#: name: function, numpy's, inputs
CASES: dict[str, tuple[Any, ...]] = {
    "add a row": (tf.add, np.add, numbers(2, 3), numbers(3, seed=1)),
    "subtract outer": (tf.subtract, np.subtract, numbers(2, 1), numbers(1, 3, seed=1)),
    "multiply a column": (tf.multiply, np.multiply, numbers(2, 3), numbers(2, 1, seed=1)),
    "square": (tf.square, np.square, numbers(2, 3)),
    "divide": (tf.divide, np.divide, numbers(2, 3), numbers(3, seed=1)),
    "div": (tf.div, np.divide, numbers(2, 3), numbers(2, 3, seed=1)),
    "reciprocal": (tf.reciprocal, np.reciprocal, numbers(2, 3)),
    "negative": (tf.negative, np.negative, numbers(2, 3)),
    "abs": (tf.abs, np.abs, numbers(2, 3)),
    "sign": (tf.sign, lambda z: z / np.abs(z), numbers(2, 3)),
    "real": (tf.math.real, np.real, numbers(2, 3)),
    "imag": (tf.math.imag, np.imag, numbers(2, 3)),
    "conj": (tf.conj, np.conj, numbers(2, 3)),
    "angle": (tf.angle, np.angle, numbers(2, 3)),
    "add_n": (lambda x, y: tf.add_n([x, y, x]), lambda x, y: x + y + x, numbers(3), numbers(3)),
    "reduce_sum": (tf.reduce_sum, np.sum, numbers(2, 3)),
    "reduce_sum of rows": (lambda z: tf.reduce_sum(z, 1), lambda z: z.sum(1), numbers(2, 3)),
    "reduce_mean": (lambda z: tf.reduce_mean(z, 0), lambda z: z.mean(0), numbers(2, 3)),
    "matmul": (tf.matmul, np.matmul, numbers(2, 3), numbers(3, 4, seed=1)),
    "matmul of batches": (tf.matmul, np.matmul, numbers(2, 2, 3), numbers(1, 3, 2, seed=1)),
    "matmul a^H": (
        lambda a, b: tf.matmul(a, b, adjoint_a=True), lambda a, b: a.conj().T @ b,
        numbers(3, 2), numbers(3, 4, seed=1),
    ),
    "matmul b^H": (
        lambda a, b: tf.matmul(a, b, adjoint_b=True), lambda a, b: a @ b.conj().T,
        numbers(2, 3), numbers(4, 3, seed=1),
    ),
    "matmul a^T": (
        lambda a, b: tf.matmul(a, b, transpose_a=True), lambda a, b: a.T @ b,
        numbers(3, 2), numbers(3, 4, seed=1),
    ),
    "with numbers": (lambda z: 2j * z + 3 - z / 2, lambda z: 2j * z + 3 - z / 2, numbers(4)),
}  # fmt: skip


@TARGETS
@KINDS
@pytest.mark.parametrize("case", CASES)
def test_values_are_numpys(target: str, kind: str, case: str) -> None:
    agree(target, kind, *CASES[case])


@TARGETS
@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_finite_differences(target: str, case: str) -> None:
    function, _, *arrays = CASES[case]
    check_gradient(target, function, *arrays)


@pytest.mark.parametrize(
    "case", [c for c in CASES if not c.startswith(("matmul", "reduce_", "angle"))]
)
def test_both_engines_give_the_same_bits_of_arithmetic(case: str) -> None:
    function, _, *arrays = CASES[case]
    given = [np.asarray(a, np.complex64) for a in arrays]
    one, other = (run(target, function, *given) for target in ("runtime", "cinfer"))
    np.testing.assert_array_equal(one, other)


FINITE = st.complex_numbers(max_magnitude=1e30, allow_nan=False)


@hypothesis.given(
    hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3), st.data()
)
@hypothesis.settings(max_examples=15, deadline=None)
def test_any_shapes_broadcast(shapes: Any, data: Any) -> None:
    x, y = (
        data.draw(hnp.arrays(np.complex128, shape, elements=FINITE))
        for shape in shapes.input_shapes
    )
    with np.errstate(all="ignore"):
        for target in ("runtime", "cinfer"):
            found = run(target, lambda a, b: [a + b, a * b, tf.abs(a - b)], x, y)
            expected = [x + y, x * y, np.abs(x - y)]
            for one, other in zip(found, expected, strict=True):
                assert one.shape == other.shape
                np.testing.assert_allclose(one, other, rtol=1e-14, atol=1e-300)


@TARGETS
def test_absolute_values_and_quotients_do_not_overflow_on_the_way(target: str) -> None:
    sizes = np.array([1e-44, 1e-38, 1e-20, 1.0, 1e19, 1e38])
    z = (sizes * (0.6 + 0.8j)).astype(np.complex64)
    absolute, quotient = run(target, lambda z: [tf.abs(z), z / (z * (0.5 + 0.25j))], z)
    np.testing.assert_allclose(absolute, np.abs(z.astype(np.complex128)), rtol=3e-7, atol=1e-45)
    np.testing.assert_allclose(quotient[2:], np.full(4, 1.6 - 0.8j), rtol=1e-6)
    wide = np.array([3e300 + 4e300j, 3e-310 - 4e-310j])
    np.testing.assert_allclose(run(target, tf.abs, wide), [5e300, 5e-310], rtol=1e-13)
    odd = np.array([complex(np.inf, np.nan), complex(np.nan, -np.inf), complex(np.nan, 1)])
    np.testing.assert_array_equal(run(target, tf.abs, odd), [np.inf, np.inf, np.nan])


@TARGETS
def test_a_division_by_zero_is_infinite_as_numpys(target: str) -> None:
    found = run(target, lambda x, y: x / y, np.array([1 + 2j, -1j, 0]), np.zeros(3, complex))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, np.array([1 + 2j, -1j, 0]) / np.zeros(3, complex))


@TARGETS
def test_the_gradient_of_an_absolute_value_at_zero_is_zero(target: str) -> None:
    found = run(
        target, lambda z: tf.gradients(tf.abs(z) + tf.abs(tf.sign(z)), z), np.zeros(2, complex)
    )
    assert found[0].tolist() == [0, 0]


@TARGETS
def test_casts_keep_or_drop_the_imaginary_part(target: str) -> None:
    z = np.array([1.5 + 2j, 0.25j, 0])
    kinds = [tf.complex64, tf.float32, tf.int32, tf.bool]
    found = run(target, lambda z: [tf.cast(z, kind) for kind in kinds], z)
    for value, kind in zip(found, kinds, strict=True):
        with np.errstate(all="ignore"):
            expected = (z if kind in (tf.complex64, tf.bool) else z.real).astype(
                kind.as_numpy_dtype
            )
        assert value.dtype == expected.dtype and value.tolist() == expected.tolist()
    for kind in (np.float64, np.int32, np.bool_, np.complex64):
        value = run(target, lambda x: tf.cast(x, tf.complex128), np.array([0, 1]).astype(kind))
        assert value.dtype == np.complex128 and value.tolist() == [0, 1]


@TARGETS
def test_parts_are_spread_over_each_other(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        x, y = tf.placeholder(tf.float32, [None, 1]), tf.placeholder(tf.float32)
        z = tf.complex(x, y)
        assert z.dtype == tf.complex64
        found = session.run(z, {x: [[1], [2]], y: [3, 4, 5]})
    assert found.tolist() == [[1 + 3j, 1 + 4j, 1 + 5j], [2 + 3j, 2 + 4j, 2 + 5j]]


def test_static_shapes_follow_and_the_last_node_has_the_name() -> None:
    with tf.Graph().as_default():
        z = tf.placeholder(tf.complex64, [None, 3])
        total = tf.add(z, z, name="total")
        multiplied = tf.matmul(z, tf.zeros([3, 2], tf.complex64), name="m")
        assert total.name == "total:0" and total.shape.as_list() == [None, 3]
        assert multiplied.op.name == "m" and multiplied.shape.as_list() == [None, 2]
        assert tf.abs(z, name="size").op.name == "size" and tf.abs(z).dtype == tf.float32


@TARGETS
def test_intermediate_complex_tensors_can_be_fed(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        x = tf.constant([1.0, 2.0])
        z = tf.complex(x, x)
        parts = [tf.math.real(z), tf.math.imag(z)]
        assert [p.tolist() for p in session.run(parts)] == [[1, 2], [1, 2]]
        fed = session.run(parts, {z: [5 + 6j, 7 + 8j]})
        assert [p.tolist() for p in fed] == [[5, 7], [6, 8]]


@pytest.mark.parametrize(
    "build",
    [tf.floor, lambda z: tf.less(z, z), lambda z: tf.maximum(z, z), tf.reduce_max, tf.nn.relu],
    ids=["floor", "less", "maximum", "reduce_max", "relu"],
)
def test_what_needs_an_order_is_refused(build: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match="complex64"):
        build(tf.placeholder(tf.complex64, [2]))


def test_complex_numbers_do_not_become_real_ones_unasked() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match="complex64"):
        tf.constant(1.0) * tf.constant(1j, tf.complex64)
    with tf.Graph().as_default(), pytest.raises(TypeError, match="1j"):
        tf.constant([1.0, 2.0]) * 1j
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        with pytest.raises(TypeError, match="complex"):
            session.run(x, {x: np.array([1j, 2])})
