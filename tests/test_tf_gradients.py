"""What tf.gradients gives where the answer is a choice: ties, corners, None; in both engines."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["", "cinfer"], ids=["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


#: a function, where, and its gradients there
CORNERS: dict[str, tuple[Callable[..., Any], list[Any], list[Any]]] = {
    "maximum gives ties to the first": (
        tf.maximum, [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]], [[1, 1, 0], [0, 0, 1]],
    ),
    "minimum, too": (tf.minimum, [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]], [[1, 0, 1], [0, 1, 0]]),
    "maximum(x, 0) at 0": (lambda x: tf.maximum(x, 0), [[0.0]], [[1]]),
    "maximum(0, x) at 0": (lambda x: tf.maximum(tf.zeros(1), x), [[0.0]], [[0]]),
    "relu at 0": (tf.nn.relu, [[0.0]], [[0]]),
    "reduce_max shares": (tf.reduce_max, [[2.0, 2.0, 1.0]], [[0.5, 0.5, 0]]),
    "reduce_min shares": (tf.reduce_min, [[2.0, 1.0, 1.0]], [[0, 0.5, 0.5]]),
    "abs at 0": (tf.abs, [[0.0]], [[0]]),
    "sqrt at 0": (tf.sqrt, [[0.0]], [[np.inf]]),
    "log at 0": (tf.log, [[0.0]], [[np.inf]]),
    "power by its exponent": (
        tf.pow, [[-2.0, 0.0, 2.0], [2.0, 2.0, 2.0]], [[-4, 0, 4], [0, 0, 4 * math.log(2)]],
    ),
    "clip conducts at its bounds": (
        lambda x: tf.clip_by_value(x, 1.0, 2.0), [[0.0, 1.0, 2.0, 3.0]], [[0, 1, 1, 0]],
    ),
    "a product with one 0": (tf.reduce_prod, [[0.0, 2.0, 3.0]], [[6, 0, 0]]),
    "a product with two": (tf.reduce_prod, [[0.0, 0.0, 3.0]], [[0, 0, 0]]),
    "norm at 0": (tf.norm, [[0.0, 0.0]], [[np.nan, np.nan]]),
    "sign": (tf.sign, [[1.0, -1.0]], [[0, 0]]),
    "mod": (lambda x: tf.mod(x, 2.0), [[1.0, 3.0]], [[1, 1]]),
    "there and back by float64": (
        lambda x: tf.cast(tf.cast(x, tf.float64) * 2, tf.float32), [[1.0]], [[2]],
    ),
    "broadcasting is summed back": (
        tf.multiply, [[[1.0, 2.0]], [[1.0], [3.0]]], [[[4, 4]], [[3], [3]]],
    ),
}  # fmt: skip


@TARGETS
@pytest.mark.parametrize("case", CORNERS)
def test_corners(target: str, case: str) -> None:
    function, values, wants = CORNERS[case]
    for opened in (False, True):
        xs = [tf.placeholder(tf.float32, None if opened else np.shape(v)) for v in values]
        slopes = tf.gradients(function(*xs), xs)
        with tf.Session(target) as session:
            found = session.run(slopes, dict(zip(xs, values, strict=True)))
        for value, want in zip(found, wants, strict=True):
            np.testing.assert_allclose(value, want, rtol=1e-5)


NO_PATH: dict[str, Callable[[Any], Any]] = {
    "argmax": lambda x: tf.cast(tf.argmax(x, 0), tf.float32),
    "shape": lambda x: tf.cast(tf.shape(x), tf.float32),
    "a comparison": lambda x: tf.cast(x < 1.0, tf.float32),
    "floor": tf.floor,
    "round": tf.round,
    "floordiv": lambda x: x // 2.0,
    "a cast to int": lambda x: tf.cast(tf.cast(x, tf.int32), tf.float32),
    "an assignment": lambda x: tf.Variable([1.0, 2.0]).assign(x),
    "stop_gradient": tf.stop_gradient,
    "something else": lambda x: tf.constant(1.0),
}


@pytest.mark.parametrize("case", NO_PATH)
def test_where_no_path_leads_the_gradient_is_none(case: str) -> None:
    x = tf.constant([1.0, 2.0])
    assert tf.gradients(NO_PATH[case](x), x) == [None]


def test_an_operation_without_gradient_is_an_error_on_the_way() -> None:
    x = tf.constant([1.0, 1.0])
    with pytest.raises(LookupError, match=r"No gradient defined for operation 'Unique' \(op type"):
        tf.gradients(tf.unique(x).y, x)
    assert tf.gradients(tf.stop_gradient(tf.unique(x).y), x) == [None]


@TARGETS
def test_several_ys_are_summed_and_stops_cut(target: str) -> None:
    x = tf.constant([1.0, 2.0])
    y = x * x
    z = y * x
    wanted = {
        "ys": ([x * 2, x * 3], [x], {}, [[5, 5]]),
        "itself": (x, [x], {}, [[1, 1]]),
        "both": (z, [y, x], {}, [[1, 2], [3, 12]]),
        "stopped": (z, [x], {"stop_gradients": [y]}, [[1, 4]]),
        "stopped at one": (z, [x], {"stop_gradients": y}, [[1, 4]]),
        "arriving": (x * 2, [x], {"grad_ys": [tf.constant([3.0, 4.0])]}, [[6, 8]]),
        "one arriving": ([x * 2, x], [x], {"grad_ys": [None, tf.constant([3.0, 4.0])]}, [[5, 6]]),
    }  # fmt: skip
    with tf.Session(target) as session:
        for ys, xs, options, want in wanted.values():
            found = session.run(tf.gradients(ys, xs, **options))
            assert [v.tolist() for v in found] == want
    with pytest.raises(ValueError, match="grad_ys"):
        tf.gradients(x, x, grad_ys=[x, x])


@TARGETS
def test_gathered_rows_have_indexed_slices(target: str) -> None:
    table = tf.constant([[1.0], [2.0], [3.0]])
    once = tf.gradients(tf.gather(table, [0, 0, 2]), table)[0]
    twice = tf.gradients(tf.gather(table, [0]) + tf.gather(table, [1]), table)[0]
    total = tf.reduce_sum(tf.gather(table, [0])) + tf.reduce_sum(table)
    dense = tf.gradients(total, table)[0]
    assert isinstance(once, tf.IndexedSlices) and isinstance(twice, tf.IndexedSlices)
    assert isinstance(dense, tf.Tensor)
    assert isinstance(tf.gradients(tf.gather(table, [0], axis=1), table)[0], tf.Tensor)
    with tf.Session(target) as session:
        assert session.run(once).indices.tolist() == [0, 0, 2]
        assert session.run(tf.convert_to_tensor(once)).tolist() == [[2], [0], [1]]
        assert session.run(dense).tolist() == [[2], [1], [1]]


@TARGETS
def test_a_read_in_order_conducts_to_the_variable(target: str) -> None:
    v = tf.Variable([1.0, 2.0])
    with tf.control_dependencies([v.assign_add([1.0, 1.0])]):
        read = v.read_value()
    by_variable, by_read = tf.gradients(tf.reduce_sum(read**2 + 3 * v), [v, read])
    with tf.Session(target) as session:
        session.run(v.initializer)
        of_variable, of_read = session.run([by_variable, by_read])
    assert of_read.tolist() == [4, 6]
    assert of_variable.tolist() == [7, 9]
    assert tf.gradients(v.assign([1.0, 1.0]) * 2, [v]) == [None]


@TARGETS
def test_only_a_gather_of_ones_own_has_indexed_slices(target: str) -> None:
    x = tf.constant([[1.0], [2.0], [3.0]])
    moved = {
        "mask": (tf.boolean_mask(x, [True, False, True]), [[1], [0], [1]]),
        "part": (tf.dynamic_partition(x, [0, 1, 0], 2)[1], [[0], [1], [0]]),
        "roll": (tf.roll(x, 1, 0) * [[1.0], [2.0], [3.0]], [[2], [3], [1]]),
    }
    with tf.Session(target) as session:
        for y, want in moved.values():
            (gradient,) = tf.gradients(y, x)
            assert isinstance(gradient, tf.Tensor)
            assert session.run(gradient).tolist() == want
