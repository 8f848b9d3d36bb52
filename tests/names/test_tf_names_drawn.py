"""Initial values and pictures that are drawn: their distributions, in both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from value_cases import TARGETS

import graphio as tf

stats = pytest.importorskip("scipy.stats")

#: the standard deviation of a normal distribution that is cut at two deviations
CUT = 0.87962566103423978
SHAPE, INPUTS = [3, 4, 5, 40], 60


def _run(target: str, make: Any) -> Any:
    with tf.Graph().as_default(), tf.Session(target) as session:
        return session.run(make())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("name", "scale"), [("he_normal", 2.0), ("lecun_normal", 1.0)])
def test_kernels_are_of_a_normal_distribution_without_its_ends(
    name: str, scale: float, target: str
) -> None:
    drawn = _run(target, lambda: getattr(tf.initializers, name)(seed=3)(SHAPE))
    deviation = np.sqrt(scale / INPUTS) / CUT
    assert drawn.shape == tuple(SHAPE) and drawn.dtype == np.float32
    assert np.abs(drawn).max() <= 2 * deviation * (1 + 1e-6)
    assert stats.kstest(drawn.ravel(), stats.truncnorm(-2, 2, scale=deviation).cdf).pvalue > 0.01
    np.testing.assert_allclose(drawn.std(), np.sqrt(scale / INPUTS), rtol=0.05)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("he_uniform", np.sqrt(6 / INPUTS)),
        ("lecun_uniform", np.sqrt(3 / INPUTS)),
        ("uniform_unit_scaling", np.sqrt(3 / INPUTS)),
    ],
)
def test_kernels_are_of_a_uniform_distribution(name: str, limit: float, target: str) -> None:
    drawn = _run(target, lambda: getattr(tf.initializers, name)(seed=3)(SHAPE))
    assert np.abs(drawn).max() <= limit
    assert stats.kstest(drawn.ravel(), stats.uniform(-limit, 2 * limit).cdf).pvalue > 0.01


@pytest.mark.parametrize("target", TARGETS)
def test_the_factor_of_uniform_unit_scaling_is_that_of_the_limit(target: str) -> None:
    kind = tf.uniform_unit_scaling_initializer(factor=1.4, seed=5, dtype=tf.float64)
    drawn = _run(target, lambda: kind([50, 40]))
    limit = 1.4 * np.sqrt(3 / 50)
    assert drawn.dtype == np.float64
    assert 0.98 * limit < np.abs(drawn).max() <= limit


@pytest.mark.parametrize("target", TARGETS)
def test_pictures_are_flipped_in_half_of_the_draws(target: str) -> None:
    picture = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    drawn = _run(
        target, lambda: [tf.image.random_flip_up_down(picture, seed=seed) for seed in range(40)]
    )
    flipped = [np.array_equal(one, picture[::-1]) for one in drawn]
    for one, other in zip(drawn, flipped, strict=True):
        np.testing.assert_array_equal(one, picture[::-1] if other else picture)
    assert 10 < sum(flipped) < 30
    pictures = np.arange(240, dtype=np.float32).reshape(40, 3, 1, 2)
    each = _run(target, lambda: tf.image.random_flip_up_down(pictures, seed=2))
    changed = [not np.array_equal(one, given) for one, given in zip(each, pictures, strict=True)]
    assert 10 < sum(changed) < 30


@pytest.mark.parametrize("target", TARGETS)
def test_saturations_are_drawn_between_their_bounds(target: str) -> None:
    picture = np.array([[[0.6, 0.4, 0.2]]], np.float32)  # of saturation 2/3
    drawn = _run(
        target,
        lambda: [tf.image.random_saturation(picture, 0.5, 1.2, seed=seed) for seed in range(60)],
    )
    found = np.array([one.ravel() for one in drawn])
    factors = (1 - found.min(1) / found.max(1)) / (2 / 3)
    np.testing.assert_allclose(found.max(1), 0.6, rtol=1e-5)
    # the hue stays: the second channel is halfway between the others
    np.testing.assert_allclose(found[:, 1], (found[:, 0] + found[:, 2]) / 2, rtol=1e-4)
    assert stats.kstest(factors, stats.uniform(0.5, 0.7).cdf).pvalue > 0.01
    with pytest.raises(ValueError, match="lower"):
        tf.image.random_saturation(picture, -0.5, 1.2)
    with pytest.raises(ValueError, match="upper"):
        tf.image.random_saturation(picture, 1.2, 0.5)
