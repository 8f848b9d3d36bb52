"""tf.repeat: how often each part comes, in both engines, with sizes known early or late."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from value_cases import TARGETS

import graphio as tf


@st.composite
def repetitions(draw: Any) -> tuple[Any, Any, int | None]:
    """An array, an axis of it or None, and repeats that fit."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    data = np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes)
    axis = draw(st.none() | st.integers(-len(sizes), len(sizes) - 1))
    parts = data.size if axis is None else data.shape[axis]
    times = st.integers(0, 3)
    return data, draw(times | st.lists(times, min_size=parts, max_size=parts)), axis


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=15, deadline=None)
@given(case=repetitions(), known=st.sampled_from(["all", "ranks", "nothing"]))
def test_parts_come_as_often_as_numpy_repeats_them(target: str, case: Any, known: str) -> None:
    data, repeats, axis = case
    counts = np.asarray(repeats, np.int32)
    with tf.Graph().as_default(), tf.Session(target) as session:
        x: Any = data
        times: Any = repeats
        if known != "all":
            ranks = (data.ndim, counts.ndim) if known == "ranks" else (None, None)
            shapes = [None if rank is None else [None] * rank for rank in ranks]
            x = tf.placeholder_with_default(data, shapes[0])
            times = tf.placeholder_with_default(counts, shapes[1])
        made = tf.repeat(x, times, axis)
        found = session.run(made)
    np.testing.assert_array_equal(found, np.repeat(data, repeats, axis))
    assert made.shape.is_compatible_with(found.shape)


def test_the_shape_of_known_repeats_is_known() -> None:
    rows = tf.placeholder(tf.int32, [2, None])
    assert tf.repeat(rows, [1, 3], axis=0).shape.as_list() == [4, None]
    assert tf.repeat(["a", "b"], 2).shape.as_list() == [4]


@pytest.mark.parametrize("target", TARGETS)
def test_a_gradient_adds_up_what_a_part_gave(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        made = tf.repeat(x, [1, 3], axis=0)
        [slope] = tf.gradients(made, x)
        np.testing.assert_array_equal(session.run(slope), [[1, 1], [3, 3]])


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (([1, 2], [1, 2, 3]), ValueError),
        (([1, 2], [[1]]), ValueError),
        (([1, 2], 1, 1), ValueError),
        (([1, 2], 1.5), TypeError),
        (([1, 2], 1, [0]), TypeError),
    ],
)
def test_repeats_and_axes_that_do_not_fit_are_refused(arguments: Any, kind: Any) -> None:
    with pytest.raises(kind, match=r"repeat|Repeat"):
        tf.repeat(*arguments)


@pytest.mark.parametrize("target", TARGETS)
def test_repeats_that_do_not_fit_fail_the_run(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        times = tf.placeholder(tf.int32)
        made = tf.repeat([1, 2], times)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(made, {times: [1, 2, 3]})
