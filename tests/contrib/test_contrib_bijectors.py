"""Bijectors by differences: inverses, log-determinants of Jacobians, caching, errors.

contrib_scenes/bijectors_scenes.py has the table; test_contrib_scenes.py compares it with
TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from contrib_scenes import bijectors_scenes

import graphio as tf

b = tf.contrib.distributions.bijectors
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
STEP = 1e-5


def log_determinant(of: Callable[[Any], Any], case: bijectors_scenes.Case, x: Any) -> float:
    """log |det| of the Jacobian at one x, by central differences in one call of `of`."""
    free_x, free_y = case.free or (np.ones(x.shape, bool), None)
    positions = np.argwhere(free_x)
    moved = np.stack([x] * (2 * len(positions)))
    for i, position in enumerate(positions):
        moved[(2 * i, *position)] += STEP
        moved[(2 * i + 1, *position)] -= STEP
    y = of(moved)
    y = y[:, free_y] if free_y is not None else y.reshape(len(moved), -1)
    return float(np.linalg.slogdet((y[::2] - y[1::2]) / (2 * STEP))[1])


def slopes_of_numbers(of: Callable[[Any], Any], x: Any) -> Any:
    """log |slope| of a function of numbers, by central differences."""
    return np.log(np.abs((of(x + STEP) - of(x - STEP)) / (2 * STEP)))


@TARGETS
@pytest.mark.parametrize("name", bijectors_scenes.CASES)
def test_the_inverse_and_the_log_determinants_are_those_of_differences(
    name: str, target: str
) -> None:
    case = bijectors_scenes.CASES[name]
    axes = case.x.ndim - case.axes[0]
    feed = tf.placeholder(tf.float64, [None, *case.x.shape[1:]])
    found = bijectors_scenes.evaluated(case, tf, b, feed)
    with tf.Session(target=target) as session:

        def of(x: Any) -> Any:
            return session.run(found["y"], {feed: x})

        values = session.run(found, {feed: case.x})
        if case.axes[0] == 0:
            expected = slopes_of_numbers(of, case.x)
        elif name == "affine_batch":  # a matrix for each x
            expected = np.log(bijectors_scenes.DIAGONALS).sum(-1)
        else:
            expected = np.array([log_determinant(of, case, x) for x in case.x])
    np.testing.assert_allclose(values["x"], case.x, rtol=1e-9, atol=1e-11)
    for word, sign in (("fldj", 1), ("ildj", -1)):
        given = np.broadcast_to(values[word], case.x.shape[:axes])
        np.testing.assert_allclose(given, sign * expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(values["summed"], expected.sum(-1), rtol=1e-6, atol=1e-8)


def test_the_inverse_of_what_forward_made_is_its_argument_itself() -> None:
    bijector = b.Exp()
    x = tf.constant([1.0, 2.0])
    y = bijector.forward(x)
    assert bijector.inverse(y) is x
    assert bijector.forward(x) is y
    first = bijector.inverse_log_det_jacobian(y, event_ndims=1)
    assert bijector.inverse_log_det_jacobian(y, event_ndims=1) is first
    assert bijector.inverse_log_det_jacobian(y, event_ndims=0) is not first


def test_a_constant_log_determinant_is_made_once() -> None:
    bijector = b.AffineScalar(scale=2.0)
    one = bijector.forward_log_det_jacobian(tf.constant([1.0]), event_ndims=0)
    other = bijector.inverse_log_det_jacobian(tf.constant([3.0]), event_ndims=0)
    assert bijector.inverse_log_det_jacobian(tf.constant([5.0]), event_ndims=0) is other
    found = tf.Session().run([one, other])
    np.testing.assert_allclose(found, [np.log(2), -np.log(2)], rtol=1e-6)


def test_a_conditional_bijector_keeps_results_by_its_further_arguments() -> None:
    class Shift(b.ConditionalBijector):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__(forward_min_event_ndims=0, name="shift")

        def _forward(self, x: Any, by: Any) -> Any:
            return x + by

        def _inverse(self, y: Any, by: Any) -> Any:
            return y - by

        def _forward_log_det_jacobian(self, x: Any, by: Any) -> Any:
            return tf.zeros([], x.dtype)

    x = tf.constant([1.0])
    chain = b.Chain([b.Exp(), Shift()])
    two, three = (chain.forward(x, shift={"by": by}) for by in (2.0, 3.0))
    assert two is not three
    np.testing.assert_allclose(tf.Session().run([two, three]), np.exp([[3.0], [4.0]]), rtol=1e-6)


@TARGETS
@pytest.mark.parametrize("training", [True, False])
def test_batch_normalization_normalizes_backwards(training: bool, target: str) -> None:
    values = np.array([[1.0, -2.0], [3.0, 0.5], [0.0, 4.0]], np.float32)
    bijector = b.BatchNormalization(training=training)
    x = tf.constant(values)
    tensors = {
        "x": bijector.inverse(x),
        "ildj": bijector.inverse_log_det_jacobian(tf.identity(x), event_ndims=1),
        "y": bijector.forward(tf.identity(x)),
        "fldj": bijector.forward_log_det_jacobian(tf.identity(x), event_ndims=1),
    }
    layer = bijector.batchnorm
    mean, variance = np.array([0.5, -1.0]), np.array([2.0, 0.7])
    beta, gamma = np.array([0.3, -0.6]), np.array([1.5, 0.4])
    with tf.Session(target=target) as session:
        session.run(tf.global_variables_initializer())
        for variable, value in (
            (layer.moving_mean, mean),
            (layer.moving_variance, variance),
            (layer.beta, beta),
            (layer.gamma, gamma),
        ):
            variable.load(value.astype(np.float32), session)
        found = session.run(tensors)
    used_mean, used = (values.mean(0), values.var(0)) if training else (mean, variance)
    scale, kept = (np.sqrt(v + layer.epsilon) for v in (used, variance))
    close = {"rtol": 1e-5, "atol": 1e-6}
    np.testing.assert_allclose(found["x"], (values - used_mean) / scale * gamma + beta, **close)
    np.testing.assert_allclose(found["ildj"], np.log(gamma / scale).sum(), **close)
    np.testing.assert_allclose(found["y"], (values - beta) / gamma * kept + mean, **close)
    np.testing.assert_allclose(found["fldj"], np.log(kept / gamma).sum(), **close)


#: calls that are refused: what is called, the class of the error, and words of it
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "the base class": (lambda: b.Bijector(), TypeError, "abstract"),
    "no number of axes": (lambda: b.Inline(), ValueError, "at least one of"),
    "axes that are not a number": (
        lambda: b.Exp().inverse_log_det_jacobian(tf.ones([2]), event_ndims=(1, 2)),
        ValueError,
        "scalar",
    ),
    "axes below the minimum": (
        lambda: b.Affine([1.0]).forward_log_det_jacobian(tf.zeros([1]), event_ndims=0),
        ValueError,
        "must be larger than min_event_ndims",
    ),
    "another dtype": (
        lambda: b.Affine([1.0]).forward(tf.zeros([1], tf.float64)),
        TypeError,
        "expected",
    ),
    "a chain of several inverses": (
        lambda: b.Chain([b.AbsoluteValue()]),
        NotImplementedError,
        "non-injective",
    ),
    "the slope where there are several inverses": (
        lambda: b.AbsoluteValue().forward_log_det_jacobian(tf.zeros([1]), event_ndims=0),
        NotImplementedError,
        "non-injective",
    ),
    "a permutation with a number twice": (lambda: b.Permute([0, 0]), ValueError, "exactly one"),
    "a power below 0": (lambda: b.PowerTransform(-1.0), ValueError, "non-negative"),
    "an event of another shape": (
        lambda: b.Reshape([2, 2], [4]).forward(tf.zeros([3, 5])),
        ValueError,
        "does not match",
    ),
    "a vector that is not a triangle": (
        lambda: b.FillTriangular().forward(tf.zeros([5])),
        ValueError,
        "triangular",
    ),
    "a perturbation without a factor": (
        lambda: b.Affine([1.0], scale_perturb_diag=[1.0]),
        ValueError,
        "scale_perturb_factor",
    ),
    "a scale that is not an operator": (
        lambda: b.AffineLinearOperator([1.0], tf.eye(1)),
        TypeError,
        "LinearOperator",
    ),
    "no numbers that stay": (lambda: b.RealNVP(0, lambda x, n: (x, x)), ValueError, "positive"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_call_is_refused_at_once(name: str) -> None:
    call, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words):
        call()


#: bijectors that check values in the run, and values that they refuse
CHECKED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "square": (lambda x: b.Square(validate_args=True).forward(x), "non-negative"),
    "exp": (lambda x: b.Exp(validate_args=True).inverse(x), "greater than 0"),
    "softsign": (lambda x: b.Softsign(validate_args=True).inverse(x), "greater than -1"),
    "weibull": (lambda x: b.Weibull(validate_args=True).inverse(x), "greater than 0"),
    "ordered": (lambda x: b.Ordered(validate_args=True).forward(x), "strictly increasing"),
}


@TARGETS
@pytest.mark.parametrize("name", CHECKED)
def test_a_run_refuses_values_where_validate_args_is_set(name: str, target: str) -> None:
    build, words = CHECKED[name]
    feed = tf.placeholder(tf.float32, [2])
    result = build(feed)
    with (
        tf.Session(target=target) as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=words),
    ):
        session.run(result, {feed: [0.5, -2.0]})
