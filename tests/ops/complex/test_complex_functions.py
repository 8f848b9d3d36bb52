"""Elementary functions of complex numbers against numpy's, gradients against finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from complex_values import KINDS, TARGETS, agree, check_gradient, numbers, run

import graphio as tf

#: name: function, numpy's, tolerances
FUNCTIONS: dict[str, tuple[Any, Any, float]] = {
    "exp": (tf.exp, np.exp, 1),
    "expm1": (tf.expm1, np.expm1, 1),
    "log": (tf.log, np.log, 1),
    "log1p": (tf.log1p, np.log1p, 1),
    "sqrt": (tf.sqrt, np.sqrt, 1),
    "rsqrt": (tf.rsqrt, lambda z: 1 / np.sqrt(z), 2),
    "square": (tf.square, np.square, 2),
    "sin": (tf.sin, np.sin, 1),
    "cos": (tf.cos, np.cos, 1),
    "tan": (tf.tan, np.tan, 4),
    "sinh": (tf.sinh, np.sinh, 1),
    "cosh": (tf.cosh, np.cosh, 1),
    "tanh": (tf.tanh, np.tanh, 4),
    "asin": (tf.asin, np.arcsin, 2),
    "acos": (tf.acos, np.arccos, 2),
    "atan": (tf.atan, np.arctan, 2),
    "asinh": (tf.asinh, np.arcsinh, 2),
    "acosh": (tf.acosh, np.arccosh, 2),
    "atanh": (tf.atanh, np.arctanh, 2),
    "sigmoid": (tf.sigmoid, lambda z: 1 / (1 + np.exp(-z)), 2),
    "reciprocal": (tf.reciprocal, np.reciprocal, 2),
    "pow 3": (lambda z: z**3, lambda z: z**3, 4),
    "pow -2": (lambda z: z**-2, lambda z: z**-2, 4),
    "pow 0": (lambda z: z**0, lambda z: z**0, 1),
    "pow 1.5": (lambda z: z**1.5, lambda z: z**1.5, 8),
    "power of 2": (lambda z: tf.pow(tf.constant(2, z.dtype), z), lambda z: 2**z, 8),
}
CUTS = ["log", "sqrt", "asin", "acos", "atan", "asinh", "acosh", "atanh"]


@TARGETS
@KINDS
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_numpys(target: str, kind: str, name: str) -> None:
    function, expected, times = FUNCTIONS[name]
    z = np.concatenate([numbers(40), numbers(20, seed=1) * 0.02, numbers(20, seed=2) * 4])
    agree(target, kind, function, expected, z, times=times)


@TARGETS
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_finite_differences(target: str, name: str) -> None:
    check_gradient(target, FUNCTIONS[name][0], numbers(5))


@TARGETS
@pytest.mark.parametrize("name", CUTS)
def test_the_sides_of_a_cut_are_numpys(target: str, name: str) -> None:
    zero, real = [0.0, -0.0], [-3.0, -1.0, -0.5, 0.5, 1.0, 3.0]
    z = [complex(a, b) for a in real for b in zero] + [complex(b, a) for a in real for b in zero]
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[name][1](np.array(z))
    found = run(target, FUNCTIONS[name][0], np.array(z))
    np.testing.assert_allclose(found.real, expected.real, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(found.imag, expected.imag, rtol=1e-14, atol=1e-15)


@TARGETS
def test_powers_with_broadcasting_and_of_zero(target: str) -> None:
    x, y = numbers(2, 3), numbers(3, seed=1)
    agree(target, "complex128", tf.pow, np.power, x, y, times=8)
    check_gradient(target, tf.pow, x, y)
    exponents = np.array([0, 2, 0.5, 1 + 1j])
    zeros = run(target, tf.pow, np.zeros(4, complex), exponents)
    assert zeros.tolist() == [1, 0, 0, 0]
    nought, two = np.zeros(1, complex), np.array([2 + 0j])
    slopes = run(target, lambda x, y: tf.gradients(tf.pow(x, y), x, x + 1), nought, two)
    assert slopes[0].tolist() == [0]
    none = run(target, lambda x, y: tf.gradients(tf.pow(x, y), x, x + 1), nought, nought)
    assert none[0].tolist() == [0]


@TARGETS
def test_powers_by_small_integers_are_multiplications_also_of_fed_exponents(target: str) -> None:
    z = numbers(6)
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        two = tf.constant(2 + 0j)
        y = tf.pow(tf.constant(z), two)
        np.testing.assert_allclose(session.run(y), z * z, rtol=3e-16)
        np.testing.assert_allclose(session.run(y, {two: 0.5j}), z**0.5j, rtol=1e-13)


@TARGETS
def test_large_numbers_do_not_overflow_on_the_way(target: str) -> None:
    z = np.array([1e300 + 1e300j, -1e-300 + 1e-310j, 1e200j, -1e308 - 1e308j])
    for name in ("log", "sqrt"):
        np.testing.assert_allclose(
            run(target, FUNCTIONS[name][0], z), FUNCTIONS[name][1](z), rtol=1e-13
        )
    far = np.array([700 + 1j, -700 + 2j, 40 - 1j, -1000 + 1j, 1000 + 0.5j])
    for name, function in (("tanh", np.tanh), ("sigmoid", lambda z: 1 / (1 + np.exp(-z)))):
        with np.errstate(all="ignore"):
            expected = function(far)
        found = run(target, FUNCTIONS[name][0], far)
        np.testing.assert_allclose(found[:3], expected[:3], rtol=1e-13)
        assert np.isfinite(found).all()
    assert run(target, tf.exp, np.array([complex(np.inf, 0)])).tolist() == [complex(np.inf, 0)]


@TARGETS
def test_real_arguments_give_numpys_zeros(target: str) -> None:
    for name in ("exp", "sin", "sinh", "expm1"):
        found = run(target, FUNCTIONS[name][0], np.array([2.0 + 0j]))
        assert found.imag.tolist() == [0.0]


@TARGETS
def test_second_derivatives_are_those_of_finite_differences(target: str) -> None:
    def slope(z: Any) -> Any:
        return tf.gradients(tf.exp(z * z) / z, z, tf.ones_like(z))[0]

    check_gradient(target, slope, numbers(3), tolerance=1e-5)


@TARGETS
def test_gradients_pass_through_loops_and_branches(target: str) -> None:
    def looped(z: Any) -> Any:
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, tf.sin(y) * z], [0, z])[1]

    def branched(z: Any) -> Any:
        return tf.cond(tf.reduce_sum(tf.abs(z)) > 0, lambda: tf.sqrt(z) * z, lambda: z)

    check_gradient(target, looped, numbers(3) * 0.5)
    check_gradient(target, branched, numbers(3))
