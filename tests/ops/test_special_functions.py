"""Special functions: the same bits in both engines, slopes, and numbers of every size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import graphio as tf
from graphio.ops.math.incomplete import igamma_grad_a

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
DRAW = np.random.default_rng(23)
N = 3000
#: of every size, and of about one size
A, B = (np.exp(DRAW.uniform(-9.0, 14.0, N)) for _ in range(2))
NEAR = A * np.exp(DRAW.normal(0.0, 3.0, N) / np.sqrt(1.0 + A))
SHARE = np.clip(A / (A + B) * np.exp(DRAW.normal(0.0, 0.5, N)), 1e-300, 1.0)
WHOLE = DRAW.integers(0, 40, N).astype(np.float64)
SIGNED = DRAW.normal(0.0, 30.0, N)
HUGE = np.array(
    [
        0.0,
        5e-324,
        1e-300,
        1e-100,
        1e-9,
        0.5,
        1.0,
        30.0,
        31.0,
        1e9,
        1e16,
        1e150,
        1e300,
        1.7e308,
        np.inf,
    ]
)
PAIRS = [np.ravel(each) for each in np.meshgrid(HUGE, HUGE)]
TRIPLES = [np.ravel(each) for each in np.meshgrid(HUGE, HUGE, [1e-300, 1e-9, 0.5, 1 - 1e-16])]

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray[Any, Any], ...]]] = {
    "igamma": (tf.igamma, (A, NEAR)),
    "igammac": (tf.igammac, (A, NEAR)),
    "igamma_grad_a": (igamma_grad_a, (A, NEAR)),
    "betainc": (tf.betainc, (A, B, SHARE)),
    "zeta": (tf.zeta, (1.0 + A, B)),
    "zeta of negative numbers": (tf.zeta, (WHOLE, SIGNED)),
    "polygamma": (tf.polygamma, (WHOLE, SIGNED)),
    "bessel_i0": (tf.math.bessel_i0, (SIGNED,)),
    "bessel_i0e": (tf.math.bessel_i0e, (SIGNED,)),
    "bessel_i1": (tf.math.bessel_i1, (SIGNED,)),
    "bessel_i1e": (tf.math.bessel_i1e, (SIGNED,)),
    "nextafter": (tf.math.nextafter, (SIGNED, WHOLE)),
}


def _evaluate(
    target: str, function: Callable[..., Any], arguments: Any, dtype: Any = np.float64
) -> Any:
    with tf.Graph().as_default(), tf.Session(target) as session:
        feeds = {tf.placeholder(dtype, x.shape): x.astype(dtype) for x in arguments}
        return session.run(function(*feeds), feeds)


def _bits(x: Any) -> bytes:
    """The bytes, with one nan for all."""
    return np.where(np.isnan(x), np.nan, x).astype(x.dtype).tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_both_engines_give_the_same_bits(name: str, dtype: Any) -> None:
    function, arguments = FUNCTIONS[name]
    one, other = (_evaluate(t, function, arguments, dtype) for t in ("runtime", "cinfer"))
    assert _bits(one) == _bits(other)
    assert np.isfinite(one).mean() > 0.4


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (tf.igamma, PAIRS), (tf.igammac, PAIRS), (igamma_grad_a, PAIRS), (tf.betainc, TRIPLES),
        (tf.zeta, PAIRS), (tf.polygamma, PAIRS), (tf.math.bessel_i1, [HUGE]),
    ],
)  # fmt: skip
def test_both_engines_give_the_same_bits_of_numbers_of_every_size(
    function: Callable[..., Any], arguments: list[Any]
) -> None:
    one, other = (_evaluate(target, function, arguments) for target in ("runtime", "cinfer"))
    assert _bits(one) == _bits(other)


@pytest.mark.parametrize("function", [tf.igamma, tf.igammac])
def test_a_share_of_the_gamma_distribution_is_a_number_from_0_to_1(
    function: Callable[..., Any],
) -> None:
    a, x = (
        each[(PAIRS[0] > 0.0) & np.isfinite(PAIRS[0]) & np.isfinite(PAIRS[1])] for each in PAIRS
    )
    found = _evaluate("cinfer", function, (a, x))
    assert ((found >= 0.0) & (found <= 1.0)).all()


def test_a_share_of_the_beta_distribution_is_a_number_from_0_to_1() -> None:
    inside = (TRIPLES[0] > 0.0) & (TRIPLES[1] > 0.0)
    inside &= np.isfinite(TRIPLES[0]) & np.isfinite(TRIPLES[1])
    found = _evaluate("cinfer", tf.betainc, [each[inside] for each in TRIPLES])
    assert ((found >= 0.0) & (found <= 1.0)).all()


def _difference(function: Callable[..., Any], x: Any) -> Any:
    """The slope: a central difference of five points."""
    step = 1e-3 * np.abs(x)
    one, two, three, four = (function(x + k * step) for k in (-2, -1, 1, 2))
    return (one - 8.0 * two + 8.0 * three - four) / (12.0 * step)


X = np.exp(DRAW.uniform(-1.0, 2.0, 40))
MORE = np.exp(DRAW.uniform(-1.0, 2.0, 40))
ORDERS = DRAW.integers(0, 5, 40).astype(np.float64)


@TARGETS
@pytest.mark.parametrize(
    ("function", "scipy", "arguments", "by"),
    [
        (tf.igamma, special.gammainc, (X, MORE), 0),
        (tf.igamma, special.gammainc, (X, MORE), 1),
        (tf.igammac, special.gammaincc, (X, MORE), 0),
        (tf.igammac, special.gammaincc, (X, MORE), 1),
        (tf.betainc, special.betainc, (X, MORE, X / 10.0), 2),
        (tf.zeta, special.zeta, (1.0 + X, MORE), 1),
        (tf.polygamma, lambda n, x: special.polygamma(n.astype(int), x), (ORDERS, MORE), 1),
        (tf.math.bessel_i0, special.i0, (X - 3.0,), 0),
        (tf.math.bessel_i0e, special.i0e, (X - 3.0,), 0),
        (tf.math.bessel_i1, special.i1, (X - 3.0,), 0),
        (tf.math.bessel_i1e, special.i1e, (X - 3.0,), 0),
    ],
)
def test_gradients_are_differences_of_scipys_functions(
    function: Callable[..., Any], scipy: Callable[..., Any], arguments: Any, by: int, target: str
) -> None:
    def slope(*tensors: Any) -> Any:
        return tf.gradients(function(*tensors), tensors[by])[0]

    def moved(x: Any) -> Any:
        return scipy(*arguments[:by], x, *arguments[by + 1 :])

    found = _evaluate(target, slope, arguments)
    np.testing.assert_allclose(found, _difference(moved, arguments[by]), rtol=2e-8, atol=1e-9)


@TARGETS
def test_slopes_at_the_ends_are_tensorflows(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.constant([0.0, 1e-20, -1e-20], tf.float64)
        assert session.run(tf.gradients(tf.math.bessel_i1(x), x)[0]).tolist() == [0.5] * 3
        assert session.run(tf.gradients(tf.math.bessel_i1e(x), x)[0]).tolist() == [0.5] * 3
        assert session.run(tf.gradients(tf.math.bessel_i0(x), x)[0])[0] == 0.0
        # a slope of nan does not arrive where the gradient is 0
        a = tf.constant([-1.0, 2.0])
        by_a = tf.gradients(tf.igamma(a, 1.5), a, tf.constant([0.0, 1.0]))[0]
        assert np.isfinite(session.run(by_a)).all()


def test_gradients_have_the_shapes_of_what_was_broadcast() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a, x = tf.constant([[1.0], [2.0]]), tf.constant([0.5, 1.0, 1.5])
        by_a, by_x = tf.gradients(tf.igamma(a, x), [a, x])
        apart = tf.gradients(tf.igamma(a + tf.zeros([2, 3]), x + tf.zeros([2, 3])), [a, x])
        found, expected = session.run(([by_a, by_x], apart))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_parameters_without_a_slope_have_no_gradient() -> None:
    with tf.Graph().as_default():
        a, b, x = (tf.constant(0.5) for _ in range(3))
        assert tf.gradients(tf.betainc(a, b, x), [a, b]) == [None, None]
        assert tf.gradients(tf.zeta(a, b), a) == [None]
        assert tf.gradients(tf.polygamma(a, b), a) == [None]
        assert tf.gradients(tf.math.nextafter(a, b), a)[0] is not None


def test_a_second_slope_by_the_shape_is_refused() -> None:
    with tf.Graph().as_default():
        a = tf.constant(2.0)
        first = tf.gradients(tf.igamma(a, 1.0), a)[0]
        with pytest.raises(LookupError, match="the second derivative of igamma by a is not known"):
            tf.gradients(first, a)


@TARGETS
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_narrow_numbers_are_computed_in_double_and_rounded_once(dtype: Any, target: str) -> None:
    x = np.linspace(0.25, 7.0, 50).astype(dtype)
    found = _evaluate(target, tf.math.bessel_i1e, (x,), dtype)
    assert found.dtype == dtype
    single = special.i1e(x.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(found, single.astype(dtype))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tf.igamma([1], [2]), TypeError, "'a' of 'Igamma' has DataType int32"),
        (lambda: tf.zeta(2.0, tf.constant(1.0, tf.float64)), TypeError, "float64"),
        (lambda: tf.math.bessel_i0("x"), TypeError, "'x' of 'BesselI0' has DataType string"),
        (lambda: tf.math.nextafter(np.float16(1), np.float16(2)), TypeError, "float32 or float64"),
        (lambda: tf.betainc([1.0, 2.0], 1.0, [0.1, 0.2, 0.3]), ValueError, "'Betainc'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    call: Callable[[], Any], error: type[Exception], words: str
) -> None:
    with tf.Graph().as_default(), pytest.raises(error, match=words):
        call()
