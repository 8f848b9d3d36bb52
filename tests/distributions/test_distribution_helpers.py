"""Checks of parameters, and shapes that only the run knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.distributions import checks, shapes

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


def fails(sess: Any, tensor: Any, feeds: Any) -> str:
    """The words of a failing run; "" of one that does not fail."""
    try:
        sess.run(tensor, feeds)
    except tf.errors.InvalidArgumentError as error:
        return str(error)
    return ""


@TARGETS
@pytest.mark.parametrize(
    ("dtype", "target_dtype", "options", "value", "words"),
    [
        (tf.float32, tf.int32, {}, 2.0, ""),
        (tf.float32, tf.int32, {}, 2.5, "int32-equivalent"),
        (tf.float32, tf.int32, {}, -2.0, "non-negative"),
        (tf.float32, tf.int32, {"assert_nonnegative": False}, -2.0, ""),
        (tf.int32, tf.float16, {}, 2049, "cannot exceed 2048"),
        (tf.int32, tf.float16, {}, 2048, ""),
        (
            tf.int32,
            tf.float16,
            {"assert_nonnegative": False},
            -2049,
            "cannot be smaller than -2048",
        ),
        (tf.int32, tf.bool, {}, 2, "cannot exceed 1"),
        (tf.int32, tf.uint8, {}, 255, ""),
        (tf.int32, tf.float64, {}, 2**31 - 1, ""),
    ],
)
def test_numbers_that_a_cast_changes_are_refused(
    dtype: Any, target_dtype: Any, options: Any, value: float, words: str, target: str
) -> None:
    with tf.Graph().as_default(), tf.Session(target) as sess:
        fed = tf.placeholder(dtype, [])
        found = fails(sess, checks.casts_unchanged(fed, target_dtype, **options), {fed: value})
    assert words in found
    assert bool(words) == bool(found)


def test_a_cast_is_between_numbers_of_which_some_are_whole() -> None:
    with pytest.raises(TypeError, match="must be integer-type"):
        checks.casts_unchanged(tf.constant(1.0), tf.float64)
    with pytest.raises(TypeError, match="Unrecognized dtype"):
        checks.casts_unchanged(tf.constant("a"), tf.int32)


@TARGETS
def test_classes_are_two_or_more_and_as_many_as_their_dtype_numbers(target: str) -> None:
    with pytest.raises(ValueError, match="at least 2 events"):
        checks.classes(tf.zeros([3, 1]))
    with pytest.raises(ValueError, match="at least 1 dimension"):
        checks.classes(tf.zeros([]))
    with pytest.raises(ValueError, match=r"shape \(2049\) cannot exceed 2048"):
        checks.classes(tf.zeros([2049], tf.float16))
    with pytest.raises(TypeError, match="unrecognized dtype"):
        checks.classes(tf.zeros([2], tf.int32))
    with tf.Graph().as_default(), tf.Session(target) as sess:
        fed = tf.placeholder(tf.float16)
        checked = checks.classes(fed)
        assert fails(sess, checked, {fed: np.zeros([2, 2])}) == ""
        assert "at least 2 events" in fails(sess, checked, {fed: np.zeros([2, 1])})
        assert "cannot exceed 2048" in fails(sess, checked, {fed: np.zeros([2049])})


@TARGETS
def test_one_of_two_vectors_is_picked(target: str) -> None:
    assert shapes.pick_vector(tf.constant(True), [1, 2], [3]) == [1, 2]
    assert shapes.pick_vector(tf.constant(False), [1, 2], [3]) == [3]
    with pytest.raises(TypeError, match="which is not"):
        shapes.pick_vector(tf.constant(1), [1], [2])
    with tf.Graph().as_default(), tf.Session(target) as sess:
        fed = tf.placeholder(tf.bool, [])
        with pytest.raises(TypeError, match="does not match"):
            shapes.pick_vector(fed, [1], [2.0])
        picked = shapes.pick_vector(fed, [1, 2], [3, 4, 5])
        assert sess.run(picked, {fed: True}).tolist() == [1, 2]
        assert sess.run(picked, {fed: False}).tolist() == [3, 4, 5]


@TARGETS
@pytest.mark.parametrize("rank", [None, 0, 1])
def test_the_number_of_samples_may_be_known_in_the_run_alone(rank: int | None, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as sess:
        fed = tf.placeholder(tf.int32, None if rank is None else [None] * rank)
        sample = tf.distributions.Dirichlet([[1.0, 2.0, 3.0]] * 2).sample(fed, seed=1)
        known = sample.shape.as_list() if sample.shape.ndims is not None else None
        assert known == {None: None, 0: [None, 2, 3], 1: None}[rank]
        for given, expected in ((4, (4,)), ([2, 3], (2, 3)), ([], ())):
            if rank is None or rank == np.ndim(given):
                assert sess.run(sample, {fed: given}).shape == (*expected, 2, 3)


@pytest.mark.parametrize("known", [True, False])
def test_a_shape_is_static_where_it_can_be(known: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.zeros([2, 3]) if known else tf.placeholder(tf.float32)
        found = [shapes.prefer_static_rank(x), shapes.prefer_static_shape(x)]
        both = shapes.prefer_static_broadcast_shape(tf.shape(x), [4, 1, 1])
        feeds = {} if known else {x: np.zeros([2, 3])}
        values = found if known else sess.run(found, feeds)
        assert not known or not any(isinstance(each, tf.Tensor) for each in (*found, both))
        assert [np.asarray(each).tolist() for each in values] == [2, [2, 3]]
        size = both.as_list() if known else sess.run(both, feeds).tolist()
        assert size == [4, 2, 3]
