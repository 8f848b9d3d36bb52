"""erfc and the incomplete gamma and beta functions against scipy.special."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import graphio as tf
from graphio.distributions import special_math
from graphio.ops.math.incomplete import betainc, igamma, igammac

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
DRAW = np.random.default_rng(5)
A = np.exp(DRAW.uniform(-4.0, 7.0, 200))
B = np.exp(DRAW.uniform(-4.0, 7.0, 200))
X = A * np.exp(DRAW.normal(0.0, 0.5, 200))
SHARE = DRAW.uniform(0.0, 1.0, 200)
#: at the ends, and outside of the ranges
EDGES = np.array([0.0, np.inf, -1.0, np.nan, 1.0])


@TARGETS
@pytest.mark.parametrize(
    ("function", "scipy", "arguments"),
    [
        (igamma, special.gammainc, (A, X)),
        (igammac, special.gammaincc, (A, X)),
        (betainc, special.betainc, (A, B, SHARE)),
        (igamma, special.gammainc, (np.array(2.0), EDGES)),
        (igammac, special.gammaincc, (np.array(2.0), EDGES)),
        (igamma, special.gammainc, (np.array([-1.0, np.nan]), np.array(2.0))),
        (betainc, special.betainc, (np.array(2.0), np.array(3.0), EDGES[[0, 2, 3, 4]])),
        (betainc, special.betainc, (np.array([-1.0, 2.0]), np.array([2.0, -1.0]), np.array(0.5))),
        (tf.erfc, special.erfc, (np.concatenate([np.linspace(-27.0, 27.0, 401), EDGES]),)),
        (special_math.ndtr, special.ndtr, (np.linspace(-37.0, 9.0, 401),)),
        (special_math.ndtri, special.ndtri, (np.concatenate([SHARE, 10.0 ** -EDGES[[0, 4]]]),)),
        (special_math.ndtri, special.ndtri, (10.0 ** np.linspace(-300.0, -1.0, 101),)),
        (special_math.erfinv, special.erfinv, (2.0 * SHARE - 1.0,)),
    ],
)
def test_a_function_is_scipys(
    function: Callable[..., Any], scipy: Callable[..., Any], arguments: tuple[Any, ...], target: str
) -> None:
    with tf.Graph().as_default(), tf.Session(target) as sess:
        wide, single = sess.run(
            [
                function(*(tf.constant(x) for x in arguments)),
                function(*(tf.constant(x, tf.float32) for x in arguments)),
            ]
        )
    with np.errstate(all="ignore"):
        expected = scipy(*arguments)
        of_single = scipy(*(x.astype(np.float32).astype(np.float64) for x in arguments))
    np.testing.assert_allclose(wide, expected, rtol=1e-12, atol=1e-300)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, of_single, rtol=2e-5, atol=1e-37)


@TARGETS
@pytest.mark.parametrize("order", [0, 3, 10])
def test_the_logarithm_of_the_normal_distribution_function_is_scipys(
    order: int, target: str
) -> None:
    x = np.concatenate([np.linspace(-60.0, 12.0, 301), [-1e4]])
    with tf.Graph().as_default(), tf.Session(target) as sess:
        given = tf.constant(x)
        found = special_math.log_ndtr(given, order)
        value, slope = sess.run([found, tf.gradients(found, given)[0]])
    # a series that ends early has the error of its first missing term
    far = {0: 3e-3, 3: 1e-7, 10: 1e-11}[order]
    np.testing.assert_allclose(value, special.log_ndtr(x), rtol=far / 20)
    density = np.sqrt(2.0 / np.pi) / special.erfcx(-x / np.sqrt(2.0))
    np.testing.assert_allclose(slope, density, rtol=max(far, 1e-10) * 10, atol=1e-16)


@TARGETS
def test_slopes_are_differences_of_scipys_functions(target: str) -> None:
    step = 1e-6
    with tf.Graph().as_default(), tf.Session(target) as sess:
        a, b, x, share = (tf.constant(each) for each in (A, B, X, SHARE))
        lower, upper, beta = igamma(a, x), igammac(a, x), betainc(a, b, share)
        assert tf.gradients(beta, [a, b]) == [None, None]
        by_a, by_x, other, by_share, by_z = sess.run(
            [
                *tf.gradients(lower, [a, x]), tf.gradients(upper, a)[0],
                tf.gradients(beta, share)[0], tf.gradients(tf.erfc(share), share)[0],
            ]
        )  # fmt: skip
    change = special.gammainc(A * (1 + step), X) - special.gammainc(A * (1 - step), X)
    np.testing.assert_allclose(by_a, change / (2 * step * A), rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(other, -by_a)
    np.testing.assert_allclose(by_x, stats.gamma(A).pdf(X), rtol=1e-10)
    np.testing.assert_allclose(by_share, stats.beta(A, B).pdf(SHARE), rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(by_z, -2.0 / np.sqrt(np.pi) * np.exp(-(SHARE**2)), rtol=1e-12)


@pytest.mark.parametrize("function", [special_math.ndtr, special_math.ndtri, special_math.erfinv])
def test_other_dtypes_are_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="is not handled: expected float32 or float64"):
        function(tf.constant(1))


@pytest.mark.parametrize(("order", "error"), [(1.5, TypeError), (-1, ValueError), (31, ValueError)])
def test_the_order_of_the_series_is_a_small_number(order: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="series_order must be"):
        special_math.log_ndtr(1.0, order)
