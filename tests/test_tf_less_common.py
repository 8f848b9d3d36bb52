"""What fewer programs use: values in both engines, and refusals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import engines
import numpy as np
import pytest

import graphio as tf

RNG = np.random.RandomState(5)


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


@pytest.fixture(params=engines.NAMES)
def session(request: Any, graph: tf.Graph) -> Iterator[tf.Session]:
    engines.module(request.param)
    with tf.Session(request.param, graph=graph) as made:
        yield made


# ---- variables and graphs ----


def test_an_assignment_without_validation_changes_the_shape(session: tf.Session) -> None:
    v = tf.get_variable("v", [2], initializer=tf.ones_initializer)
    doubled, fed = v * 2.0, tf.placeholder(tf.float32)
    grown = tf.assign(v, fed, validate_shape=False)
    session.run(v.initializer)
    assert session.run(doubled).tolist() == [2, 2]
    assert session.run(grown, {fed: [[1, 2, 3]]}).shape == (1, 3)
    assert session.run(doubled).tolist() == [[2, 4, 6]]


def test_a_variable_says_how_it_was_made() -> None:
    v = tf.get_variable("v", [2], constraint=tf.abs, aggregation=tf.VariableAggregation.SUM)
    assert v.trainable
    assert v.constraint is tf.abs
    assert v.aggregation is tf.VariableAggregation.SUM
    assert v.synchronization is tf.VariableSynchronization.AUTO


def test_an_operation_knows_the_line_that_made_it() -> None:
    file, line, function, _ = tf.constant(1.0).op.traceback[-1]
    assert (file, function) == (
        "test_tf_less_common.py", "test_an_operation_knows_the_line_that_made_it",
    )  # fmt: skip
    assert line > 0
    assert tf.no_op("n").colocation_groups() == [b"loc:@n"]


def test_shapes_have_limits_and_things_in_common() -> None:
    shape = tf.TensorShape([2, None])
    assert shape.with_rank_at_most(2) is shape
    with pytest.raises(ValueError, match="must have rank at most 1"):
        shape.with_rank_at_most(1)
    assert shape.most_specific_compatible_shape([2, 3]).as_list() == [2, None]
    assert shape.most_specific_compatible_shape([2]).ndims is None
    assert [d.size for d in shape.as_proto().dim] == [2, -1]


# ---- a permutation that is fed ----


def test_transpose_takes_a_permutation_that_is_fed(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [2, None, 4])
    order = tf.placeholder(tf.int32, [3])
    y = tf.transpose(x, order)
    slope = tf.gradients(y * tf.square(y), x)[0]
    assert y.shape.as_list() == [None, None, None]
    value = RNG.randn(2, 3, 4).astype(np.float32)
    for perm in ([2, 0, 1], [0, 1, 2], [1, 2, 0]):
        got, steep = session.run([y, slope], {x: value, order: perm})
        np.testing.assert_array_equal(got, value.transpose(perm))
        np.testing.assert_allclose(steep, 3 * value**2, rtol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError, match="no permutation of 3 axes"):
        session.run(y, {x: value, order: [0, 0, 1]})
    with pytest.raises(ValueError, match="Dimension must be 3 but is 2"):
        tf.transpose(x, tf.placeholder(tf.int32, [2]))
