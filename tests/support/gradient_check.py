"""Checks gradients against finite differences in float64 along random directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphio as tf

STEP = 1e-5


def away(*shape: int, seed: int = 7) -> np.ndarray:
    """Values at least 0.3 from 0 and at least 0.02 from one another, of both signs."""
    rng = np.random.RandomState(seed)
    size = int(np.prod(shape))
    values = 0.3 + 0.03 * rng.permutation(size) + 0.01 * rng.rand(size)
    return (values * np.where(np.arange(size) % 2, 1, -1)).reshape(shape)


def pos(*shape: int, seed: int = 7) -> np.ndarray:
    return np.abs(away(*shape, seed=seed))


def check(
    function: Callable[..., Any],
    values: Sequence[np.ndarray],
    *,
    shapes: Callable[[np.ndarray], Any] = np.shape,
    second: bool = True,
) -> None:
    """Compares first (and second) derivatives of function(*tensors) with differences.

    Args:
        function: builds one tensor from float64 tensors.
        values: where to differentiate.
        shapes: static shape of each placeholder, from its value.
        second: also the derivative of the gradient along a random direction.
    """
    rng = np.random.RandomState(3)
    with tf.Graph().as_default(), tf.Session() as session:
        xs = [tf.placeholder(tf.float64, shapes(v)) for v in values]
        y = function(*xs)
        shape = session.run(tf.shape(y), dict(zip(xs, values, strict=True)))
        total = tf.reduce_sum(y * tf.constant(np.asarray(rng.randn(*shape))))
        _along_a_direction(session, total, xs, values, rng)
        if second:
            inner = [
                tf.reduce_sum(g * tf.constant(np.asarray(rng.randn(*v.shape))))
                for g, v in zip(dense_gradients(total, xs), values, strict=True)
                if g is not None
            ]
            _along_a_direction(session, tf.add_n(inner), xs, values, rng)


def dense_gradients(y: Any, xs: Sequence[Any]) -> list[Any]:
    """tf.gradients, IndexedSlices made dense."""
    return [g if g is None else tf.convert_to_tensor(g) for g in tf.gradients(y, list(xs))]


def _along_a_direction(session: Any, y: Any, xs: Any, values: Any, rng: Any) -> None:
    directions = [rng.randn(*v.shape) for v in values]
    at = dict(zip(xs, values, strict=True))
    present = [
        (g, d) for g, d in zip(dense_gradients(y, xs), directions, strict=True) if g is not None
    ]
    gradients = session.run([g for g, _ in present], at)
    for value, (_, d) in zip(gradients, present, strict=True):
        assert np.shape(value) == np.shape(d)
    found = sum(np.sum(v * d) for v, (_, d) in zip(gradients, present, strict=True))
    ends = [
        session.run(
            y, {x: v + s * STEP * d for x, v, d in zip(xs, values, directions, strict=True)}
        )
        for s in (1, -1)
    ]
    expected = (ends[0] - ends[1]) / (2 * STEP)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-7)
