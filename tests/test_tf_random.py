"""Random numbers: which seeds repeat what, and what is drawn; in both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["", "cinfer"], ids=["runtime", "cinfer"])


def drawn(target: str, build: Callable[[], Any], runs: int = 1, seed: int | None = None) -> Any:
    """What a new graph's new session draws in some runs."""
    with tf.Graph().as_default():
        if seed is not None:
            tf.set_random_seed(seed)
        made = build()
        with tf.Session(target) as session:
            return [session.run(made) for _ in range(runs)]


def two(seed: int | None = None) -> Callable[[], Any]:
    return lambda: [tf.random_normal([3], seed=seed), tf.random_normal([3], seed=seed)]


@TARGETS
def test_a_graph_seed_repeats_the_stream_of_a_session(target: str) -> None:
    found = drawn(target, two(), 2, seed=7)
    np.testing.assert_array_equal(found, drawn(target, two(), 2, seed=7))
    assert np.any(found[0][0] != found[0][1])  # operations differ
    assert np.any(found[0][0] != found[1][0])  # runs differ
    assert np.any(np.asarray(found) != drawn(target, two(), 2, seed=8))


@TARGETS
def test_an_operations_seed_alone_stands_beside_the_graph_seed_87654321(target: str) -> None:
    alone = drawn(target, lambda: tf.random_normal([3], seed=5), 2)
    np.testing.assert_array_equal(alone, drawn(target, lambda: tf.random_normal([3], seed=5), 2))
    both = drawn(target, lambda: tf.random_normal([3], seed=5), 2, seed=87654321)
    np.testing.assert_array_equal(alone, both)


@TARGETS
def test_with_both_seeds_the_place_does_not_matter(target: str) -> None:
    ((first, second),) = drawn(target, two(5), seed=1)
    np.testing.assert_array_equal(first, second)
    later = drawn(target, lambda: (tf.random_uniform([2]), tf.random_normal([3], seed=5))[1], 1, 1)
    np.testing.assert_array_equal(first, later[0])


@TARGETS
def test_without_seeds_every_session_draws_anew(target: str) -> None:
    build = lambda: tf.random_normal([3])  # noqa: E731
    assert np.any(drawn(target, build)[0] != drawn(target, build)[0])


def test_the_seeds_that_the_next_operation_gets() -> None:
    with tf.Graph().as_default():
        assert tf.get_seed(None) == (None, None) and tf.get_seed(3) == (87654321, 3)
        tf.random.set_random_seed(5)
        assert tf.get_seed(3) == (5, 3) and tf.get_seed(None)[0] == 5


@TARGETS
def test_the_short_names_draw_alike(target: str) -> None:
    pairs = [
        (lambda: tf.random.normal([4], seed=1), lambda: tf.random_normal([4], seed=1)),
        (lambda: tf.random.uniform([4], seed=1), lambda: tf.random_uniform([4], seed=1)),
        (lambda: tf.random.shuffle(tf.range(9), 1), lambda: tf.random_shuffle(tf.range(9), 1)),
        (
            lambda: tf.random.categorical([[0.0, 1.0]], 5, seed=1),
            lambda: tf.multinomial([[0.0, 1.0]], 5, seed=1),
        ),
    ]
    for short, long in pairs:
        np.testing.assert_array_equal(drawn(target, short), drawn(target, long))


@TARGETS
@pytest.mark.parametrize("seed", [-5, np.int64(7), 1 << 63, -(1 << 70)])
def test_any_integer_is_a_seed(target: str, seed: Any) -> None:
    def seeded() -> tf.Tensor:
        tf.set_random_seed(seed)
        return tf.random_uniform([4])

    np.testing.assert_array_equal(drawn(target, seeded), drawn(target, seeded))


def test_a_seed_that_is_no_integer_is_refused_at_once() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match="cannot be interpreted"):
        tf.set_random_seed("a")
