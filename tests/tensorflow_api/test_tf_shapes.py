"""Static shapes as TensorFlow infers them, and what it refuses while the graph is built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.framework import scopes

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


def open_rows() -> tf.Tensor:
    return tf.placeholder(tf.float32, [None, 3])


#: an expression of p, a placeholder [?, 3], and u, one of unknown rank; its static shape
INFERRED: dict[str, tuple[Any, Any]] = {
    "matmul": (lambda p, u: tf.matmul(p, tf.ones([3, 4])), [None, 4]),
    "matmul of an unknown rank": (lambda p, u: tf.matmul(u, tf.ones([3, 4])), [None, 4]),
    "matmul of unknown ranks": (lambda p, u: tf.matmul(u, u), None),
    "a row": (lambda p, u: p + tf.ones([1, 3]), [None, 3]),
    "a known size wins": (lambda p, u: p + tf.ones([5, 1]), [5, 3]),
    "concat of open sizes": (lambda p, u: tf.concat([p, p], 0), [None, 3]),
    "concat with a known size": (lambda p, u: tf.concat([p, tf.ones([2, 3])], 1), [2, 6]),
    "reshape with -1": (lambda p, u: tf.reshape(p, [-1, 4]), [None, 4]),
    "reshape of an unknown rank": (lambda p, u: tf.reshape(u, [tf.shape(u)[0], 2]), [None, 2]),
    "its own shape": (lambda p, u: tf.reshape(p, tf.shape(p)), [None, 3]),
    "a stack of sizes": (lambda p, u: tf.reshape(p, tf.stack([tf.shape(p)[0], 3])), [None, 3]),
    "a list of sizes": (lambda p, u: tf.reshape(p, [tf.shape(p)[0], 3, 1]), [None, 3, 1]),
    "a concat of sizes": (
        lambda p, u: tf.reshape(p, tf.concat([tf.shape(p)[:1], [1, 3]], 0)), [None, 1, 3],
    ),
    "zeros of a shape": (lambda p, u: tf.zeros(tf.shape(p)), [None, 3]),
    "random of a shape": (lambda p, u: tf.random_normal([tf.shape(p)[0], 5]), [None, 5]),
    "arithmetic of sizes": (lambda p, u: tf.zeros([tf.shape(p)[1] // 2 + 1]), [2]),
    "a slice backwards": (lambda p, u: tf.zeros(tf.shape(tf.ones([2, 3]))[::-1]), [3, 2]),
    "cast there and back": (
        lambda p, u: tf.zeros(tf.cast(tf.cast(tf.shape(p), tf.int64), tf.int32)), [None, 3],
    ),
    "a product of sizes": (
        lambda p, u: tf.zeros([tf.reduce_prod(tf.shape(tf.ones([2, 3])))]), [6],
    ),
    "unstacked sizes": (lambda p, u: tf.zeros(tf.unstack(tf.shape(p))), [None, 3]),
    "split sizes": (lambda p, u: tf.zeros(tf.split(tf.shape(p), 2)[1]), [3]),
    "gathered sizes": (lambda p, u: tf.zeros(tf.gather(tf.shape(p), [1])), [3]),
    "the larger size": (lambda p, u: tf.zeros(tf.maximum(tf.shape(p)[1:], 2)), [3]),
    "a padded shape": (
        lambda p, u: tf.zeros(tf.pad(tf.shape(p), [[1, 0]], constant_values=2)), [2, None, 3],
    ),
    "a rank": (lambda p, u: tf.zeros([tf.rank(p)]), [2]),
    "a range up to a size": (lambda p, u: tf.range(tf.shape(p)[1]), [3]),
    "a Dimension": (lambda p, u: tf.reshape(p, [-1, p.shape[1]]), [None, 3]),
    "tiled": (lambda p, u: tf.tile(p, [1, 2]), [None, 6]),
    "split": (lambda p, u: tf.split(p, [1, 2], 1)[1], [None, 2]),
    "where alone": (lambda p, u: tf.where(p > 0), [None, 2]),
    "branches": (
        lambda p, u: tf.cond(tf.constant(True), lambda: tf.ones([2, 3]), lambda: tf.ones([2, 4])),
        [2, None],
    ),
    "a sum of all": (lambda p, u: tf.reduce_sum(u), []),
    "ensured": (lambda p, u: tf.ensure_shape(u, [None, 7]), [None, 7]),
}  # fmt: skip


@pytest.mark.parametrize("case", INFERRED)
def test_the_static_shape(case: str) -> None:
    build, want = INFERRED[case]
    found = build(open_rows(), tf.placeholder(tf.float32)).shape
    assert (found.as_list() if found.ndims is not None else None) == want


#: calls that are refused, and words of the error
REFUSED: dict[str, tuple[Any, str | None]] = {
    "matmul": (lambda a: tf.matmul(a, a), r"Dimensions must be equal, but are 3 and 2 for "),
    "a sum": (lambda a: a + tf.ones([4]), "Dimensions must be equal, but are 3 and 4"),
    "concat": (lambda a: tf.concat([a, tf.ones([2, 4])], 0), "3 and 4"),
    "reshape": (
        lambda a: tf.reshape(a, [4, 2]),
        r"Cannot reshape a tensor with 6 elements to shape \[4,2\] \(8 elements\)",
    ),
    "reshape with -1": (
        lambda a: tf.reshape(a, [4, -1]), "Dimension size must be evenly divisible by 4 but is 6",
    ),
    "an axis": (lambda a: tf.reduce_sum(a, 2), "axis 2"),
    "transpose": (lambda a: tf.transpose(a, [0, 0]), None),
    "squeeze": (
        lambda a: tf.squeeze(a, [0]), r"Can not squeeze dim\[0\], expected a dimension of 1, got 2",
    ),
    "an index": (lambda a: a[2], "slice index 2 of dimension 0 out of bounds"),
    "split": (lambda a: tf.split(a, 4, 1), None),
    "unstack": (lambda a: tf.unstack(tf.placeholder(tf.float32, [None])), "Cannot infer"),
    "a negative size": (lambda a: tf.zeros([-1, 2]), None),
    "stack": (lambda a: tf.stack([a, tf.ones([3, 2])]), None),
    "one_hot": (lambda a: tf.one_hot([1], -2), None),
    "tensordot": (lambda a: tf.tensordot(a, a, 1), None),
    "broadcast_to": (lambda a: tf.broadcast_to(a, [3, 3]), None),
    "ensure_shape": (lambda a: tf.ensure_shape(a, [None, 4]), "compatible"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_leaves_the_graph_as_it_was(case: str, graph: tf.Graph) -> None:
    build, words = REFUSED[case]
    a = tf.ones([2, 3])
    tf.constant(1.0)
    allowed = {"Const", "Fill", "Placeholder"}
    before = graph.get_operations()
    with pytest.raises(ValueError, match=words) as caught:
        build(a)
    assert "test_tf_shapes.py" in str(caught.value)
    left = [op for op in graph.get_operations() if op not in before and op.type not in allowed]
    assert left == []
    assert [op.name for op in a.consumers()] == []


def test_the_text_of_a_matmul(graph: tf.Graph) -> None:
    a = tf.ones([2, 3])
    with pytest.raises(ValueError, match=r"'MM' .*with input shapes: \[2,3\], \[2,3\]\."):
        tf.matmul(a, a, name="MM")


def test_a_part_of_a_refused_operation_cannot_be_found(graph: tf.Graph) -> None:
    a = tf.ones([2, 3])
    names = {op.name for op in graph.get_operations()}
    with pytest.raises(ValueError):
        tf.tensordot(a, a, 1, name="t")
    assert {op.name for op in graph.get_operations()} == names
    with pytest.raises(KeyError):
        graph.get_operation_by_name("t/Reshape")


def test_a_variable_made_meanwhile_stays() -> None:
    with pytest.raises(ValueError, match="refused"), scopes.operation_scope("f", "f"):
        tf.Variable(1.0, name="v")
        raise ValueError("refused")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(tf.global_variables()) == [1.0]


def test_sizes_that_are_none_are_a_type_error() -> None:
    with pytest.raises(TypeError):
        tf.zeros([None, 2])


@TARGETS
def test_two_unknown_sizes_are_refused_by_the_run(target: str) -> None:
    p = open_rows()
    with tf.Session(target) as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(tf.reshape(p, [-1, -1]), {p: np.ones((2, 3))})


@TARGETS
def test_shapes_that_do_not_fit_are_errors_of_the_run(target: str) -> None:
    p, q = open_rows(), tf.placeholder(tf.float32, [None, None])
    feeds = {p: np.ones((2, 3)), q: np.ones((4, 5))}
    with tf.Session(target) as session:
        for wrong in (p + q, tf.matmul(p, q), tf.concat([p, q], 0), tf.ensure_shape(q, [4, 6])):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(wrong, feeds)


@TARGETS
def test_an_ensured_shape_passes_values_and_gradients(target: str) -> None:
    x = tf.placeholder(tf.float32, [None, None])
    y = tf.ensure_shape(x, [None, 2])
    (dx,) = tf.gradients(y * 3.0, x)
    with tf.Session(target) as session:
        value, slope = session.run([y, dx], {x: [[1.0, 2.0]]})
    assert value.tolist() == [[1, 2]] and slope.tolist() == [[3, 3]]


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [((3, 0), "requires start <= limit"), ((0, 3, -1), "requires start >= limit"),
     ((0, 3, 0), "Requires delta != 0: 0")],
)  # fmt: skip
def test_a_range_that_never_reaches_its_limit_is_refused(
    graph: tf.Graph, arguments: tuple[int, ...], reported: str
) -> None:
    with pytest.raises(ValueError, match=reported):
        tf.range(*arguments)
    assert tf.range(3, 3).shape.as_list() == [0]
