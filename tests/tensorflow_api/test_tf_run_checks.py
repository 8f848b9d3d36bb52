"""Numbers that TensorFlow refuses when it runs, and constants that it refuses before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


ROWS = np.arange(6.0, dtype=np.float32).reshape(3, 2)
#: what is built of rows [?, ?] and integers [?], good integers and what they give, bad ones
RUNS: dict[str, tuple[Callable[[Any, Any], Any], Any, Any, Any]] = {
    "segment_sum": (tf.segment_sum, [0, 0, 1], [[2, 4], [4, 5]], [1, 0, 0]),
    "segment_max": (tf.segment_max, [0, 0, 1], [[2, 3], [4, 5]], [1, 0, 0]),
    "segment_mean": (tf.segment_mean, [0, 0, 1], [[1, 2], [4, 5]], [0, 1, 0]),
    "dynamic_partition": (
        lambda x, i: tf.dynamic_partition(x, i, 2)[1], [0, 1, 0], [[2, 3]], [0, 2, 0],
    ),
    "pad": (
        lambda x, i: tf.pad(x[:1], tf.reshape(i, [2, 2])), [0, 0, 0, 1], [[0, 1, 0]], [0, 0, -1, 0],
    ),
    "one row of": (lambda x, i: tf.slice(x, [2, 0], [1, -1]) + tf.to_float(i), [0], [[4, 5]], None),
}  # fmt: skip


@TARGETS
@pytest.mark.parametrize("case", RUNS)
def test_a_run_refuses_numbers_that_are_out_of_range(target: str, case: str) -> None:
    build, good, want, bad = RUNS[case]
    x, i = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.int32, [None])
    made = build(x, i)
    with tf.Session(target) as session:
        np.testing.assert_allclose(session.run(made, {x: ROWS, i: good}), want)
        with pytest.raises(tf.errors.InvalidArgumentError):
            if bad is None:
                session.run(made, {x: ROWS[:2], i: good})
            else:
                session.run(made, {x: ROWS, i: bad})


def test_constants_that_are_in_place_need_no_check(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [3, 2])
    tf.segment_sum(x, [0, 0, 1]), tf.dynamic_partition(x, [0, 1, 0], 2)
    tf.slice(x, [0, 1], [-1, 1]), tf.pad(x, [[1, 0], [0, 0]])
    rows = tf.placeholder(tf.float32, [None, 2])
    tf.slice(rows, [0, 1], [-1, 1]), tf.pad(rows, [[0, 0], [1, 1]], "REFLECT")
    assert not {"Assert", "EnsureShape", "IndexRange"} & {op.op for op in graph.get_operations()}


@TARGETS
def test_each_row_of_a_partition_has_its_number(target: str) -> None:
    x, i = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.int32, [None])
    wide = tf.placeholder(tf.int32, [None, 2])
    rows, elements = tf.dynamic_partition(x, i, 2), tf.dynamic_partition(x, wide, 2)
    words = r"data.shape must start with partitions.shape: \[2\] and \[3\]"
    with tf.Session(target) as session:
        assert [r.tolist() for r in session.run(rows, {x: ROWS, i: [1, 0, 1]})] == [
            [[2, 3]], [[0, 1], [4, 5]],
        ]  # fmt: skip
        found = session.run(elements, {x: ROWS, wide: [[0, 1], [1, 1], [0, 0]]})
        assert [f.tolist() for f in found] == [[0, 4, 5], [1, 2, 3]]
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            session.run(rows, {x: ROWS, i: [1, 0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="must start with"):
            session.run(elements, {x: ROWS, wide: [[0, 1], [1, 1]]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="must start with"):
            session.run(elements, {x: ROWS[:, :1], wide: [[0, 1], [1, 1], [0, 0]]})
    with pytest.raises(ValueError, match="dynamic_partition|must be equal"):
        tf.dynamic_partition(tf.ones([3, 2]), [0, 1], 2)


@TARGETS
def test_gradients_pass_the_checks(target: str) -> None:
    x, i = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.int32, [None])
    slopes = [
        tf.gradients(tf.segment_sum(x, i), x)[0],
        tf.convert_to_tensor(tf.gradients(tf.dynamic_partition(x, i, 2)[1], x)[0]),
        tf.gradients(tf.slice(x, [1, 0], [1, 2]), x)[0],
    ]
    with tf.Session(target) as session:
        found = session.run(slopes, {x: ROWS, i: [0, 1, 1]})
    np.testing.assert_array_equal(found[0], np.ones((3, 2)))
    np.testing.assert_array_equal(found[1], [[0, 0], [1, 1], [1, 1]])
    np.testing.assert_array_equal(found[2], [[0, 0], [1, 1], [0, 0]])


def part_of(x: Any, begin: list[int], size: list[int]) -> Any:
    """The part of an array, None where it is not all inside."""
    ends = [n if c == -1 else b + c for n, b, c in zip(x.shape, begin, size, strict=True)]
    if any(not 0 <= b <= e <= n for n, b, e in zip(x.shape, begin, ends, strict=True)):
        return None
    return x[tuple(slice(b, e) for b, e in zip(begin, ends, strict=True))]


#: tf.slice of [3, 2] with parts that a run alone knows, the begin and size of its last axis
SLICES: dict[str, tuple[Callable[..., Any], int, int]] = {
    "both": (lambda x, b, c: tf.slice(x, tf.stack([b, 0]), tf.stack([c, -1])), 0, -1),
    "a vector of begins": (lambda x, b, c: tf.slice(x, tf.stack([b, 1]), [c, 1]), 1, 1),
    "begin": (lambda x, b, c: tf.slice(x, [b, 1], [2, 1]), 1, 1),
    "begin of the rest": (lambda x, b, c: tf.slice(x, [b, 0], [-1, -1]), 0, -1),
    "size": (lambda x, b, c: tf.slice(x, [1, 0], [c, -1]), 0, -1),
}  # fmt: skip


@TARGETS
@pytest.mark.parametrize("shape", [[3, 2], [None, 2], [None, None]], ids=str)
@pytest.mark.parametrize("case", SLICES)
def test_a_slice_that_a_run_alone_knows_lies_within(target: str, shape: Any, case: str) -> None:
    build, start, count = SLICES[case]
    x = tf.placeholder(tf.float32, shape)
    begin, size = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    made = build(x, begin, size)
    with tf.Session(target) as session:
        for b in range(-2, 6):
            for c in range(-2, 5):
                b = 1 if case == "size" else b
                c = {"begin": 2, "begin of the rest": -1}.get(case, c)
                want = part_of(ROWS, [b, start], [c, count])
                feeds = {x: ROWS, begin: b, size: c}
                if want is not None:
                    np.testing.assert_array_equal(session.run(made, feeds), want)
                    continue
                with pytest.raises(tf.errors.InvalidArgumentError):
                    session.run(made, feeds)


@TARGETS
@pytest.mark.parametrize("shape", [[None, 2], None], ids=str)
def test_a_slice_of_unknown_sizes_lies_within(target: str, shape: Any) -> None:
    x = tf.placeholder(tf.float32, shape)
    with tf.Session(target) as session:
        for b in range(5):
            for c in range(-1, 5):
                made, want = tf.slice(x, [b, 0], [c, -1]), part_of(ROWS, [b, 0], [c, -1])
                if want is not None:
                    np.testing.assert_array_equal(session.run(made, {x: ROWS}), want)
                    continue
                with pytest.raises(tf.errors.InvalidArgumentError):
                    session.run(made, {x: ROWS})


@TARGETS
def test_what_is_wrong_with_a_slice_is_named(target: str) -> None:
    x, v = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.int32, [1])
    opened = tf.slice(tf.placeholder_with_default(x, [None]), [5], [-1])
    made = [tf.slice(x, v, [1]), tf.slice(x, [2], v), tf.slice(x, v, [-1]), opened]
    words = [
        "begin_checked.* = -2 is", "left_after_slice.* = -4 is", "size_checked.* = -2 is",
        "left_after_slice.* = -2 is",
    ]  # fmt: skip
    with tf.Session(target) as session:
        for part, number, word in zip(made, (-2, 5, 5, 5), words, strict=True):
            with pytest.raises(tf.errors.InvalidArgumentError, match=word):
                session.run(part, {x: np.ones(3), v: [number]})


@TARGETS
@pytest.mark.parametrize("shape", [[3], [None], None], ids=str)
def test_a_reflection_needs_less_than_the_size(target: str, shape: Any) -> None:
    x, p = tf.placeholder(tf.float32, shape), tf.placeholder(tf.int32, [1, 2])
    fed = tf.pad(x, p, "REFLECT")
    with tf.Session(target) as session:
        for before in range(5):
            for after in range(5):
                pads, feeds = [[before, after]], {x: VECTOR, p: [[before, after]]}
                if before < 3 and after < 3:
                    want = np.pad(VECTOR, pads, "reflect")
                    made = tf.pad(x, pads, "REFLECT")
                    assert session.run(made, feeds).tolist() == want.tolist()
                    assert session.run(fed, feeds).tolist() == want.tolist()
                    continue
                with pytest.raises(tf.errors.InvalidArgumentError, match="left_to_reflect"):
                    session.run(fed, feeds)
                with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
                    session.run(tf.pad(x, pads, "REFLECT"), feeds)


@TARGETS
@pytest.mark.parametrize("form", ["NHWC", "NCHW"])
@pytest.mark.parametrize(
    "channels, length", [(3, 3), (3, None), (None, 1), (None, 3), (None, None)]
)
def test_a_bias_has_a_number_for_each_channel(
    target: str, form: str, channels: int | None, length: int | None
) -> None:
    x = np.arange(2 * 2 * 2 * 3, dtype=np.float32).reshape(2, 2, 2, 3)
    shape: list[int | None] = [None, 2, 2, channels]
    if form == "NCHW":
        x, shape = x.transpose(0, 3, 1, 2), [None, channels, 2, 2]
    value, bias = tf.placeholder(tf.float32, shape), tf.placeholder(tf.float32, [length])
    made = tf.nn.bias_add(value, bias, form)
    slopes = tf.gradients(made, [value, bias])
    axis = form.index("C")
    line = [1, 1, 1, 1]
    line[axis] = 3
    with tf.Session(target) as session:
        for n, m in ((3, 3), (3, 1), (1, 3), (3, 2), (1, 1)):
            part = x.take(range(n), axis)
            feeds = {value: part, bias: VECTOR[:m]}
            if channels not in (n, None) or length not in (m, None):
                continue
            if n != m:
                with pytest.raises(tf.errors.InvalidArgumentError):
                    session.run(made, feeds)
                continue
            line[axis] = m
            found, (dx, db) = session.run([made, slopes], feeds)
            np.testing.assert_array_equal(found, part + VECTOR[:m].reshape(line))
            assert dx.shape == part.shape and db.tolist() == [8] * m


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception]]] = {
    "negative padding": (lambda: tf.pad(tf.ones([2, 2]), [[0, -1], [0, 0]]), ValueError),
    "a negative size": (lambda: tf.eye(-1), ValueError),
    "indices that are floats": (lambda: tf.one_hot([1.0], 3), TypeError),
    "no dtype": (lambda: tf.placeholder(None), TypeError),
    "a slice past the end": (lambda: tf.slice(tf.ones([2]), [1], [2]), ValueError),
    "a reflection of all": (
        lambda: tf.pad(tf.ones([3]), [[1, 3]], "REFLECT"),
        ValueError,
    ),
    "a slice from before 0": (lambda: tf.slice(tf.placeholder("float"), [-1], [2]), ValueError),
    "a slice of size -2": (lambda: tf.slice(tf.placeholder("float"), [0], [-2]), ValueError),
    "too many sizes": (
        lambda: tf.slice(tf.ones([2]), tf.placeholder(tf.int32), [1, 1]),
        ValueError,
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_known_is_refused_while_the_graph_is_built(case: str) -> None:
    build, error = REFUSED[case]
    with pytest.raises(error):
        build()


@TARGETS
def test_shapes_that_do_not_broadcast_are_named(target: str) -> None:
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 3])
    total = tf.add(x, y, name="total")
    words = r"total.*test_tf_run_checks.*Incompatible shapes: \[2,3\] vs\. \[5,3\]"
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=words) as caught:
            session.run(total, {x: np.ones((2, 3)), y: np.ones((5, 3))})
        assert caught.value.op is total.op


@TARGETS
def test_gathered_rows_lie_within(target: str) -> None:
    table = tf.Variable(ROWS)
    i = tf.placeholder(tf.int32, [None])
    x = tf.placeholder(tf.float32, [None, 2])
    known, opened = tf.nn.embedding_lookup(table, i), tf.gather(x, i)
    with tf.Session(target) as session:
        session.run(table.initializer)
        assert session.run(known, {i: [2, 0]}).tolist() == [[4, 5], [0, 1]]
        assert session.run(opened, {i: [2, 0], x: ROWS}).tolist() == [[4, 5], [0, 1]]
        for wrong in (-1, 3):
            words = rf"indices\[1\] = {wrong} is not in \[0, 3\)"
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(known, {i: [0, wrong]})
            with pytest.raises(tf.errors.InvalidArgumentError, match=rf"indices\[1\] = {wrong}"):
                session.run(opened, {i: [0, wrong], x: ROWS})
        constant = tf.gather(table, [-1])
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"-1 is not in \[0, 3\)"):
            session.run(constant)
        last = tf.gather(table, [-1], validate_indices=False)
        assert session.run(last).tolist() == [[4, 5]]


VECTOR = np.float32([1, 2, 3])
#: reads or writes of a variable [3] at indices [?], valid indices, their results, invalid ones
POSITIONS: dict[str, tuple[Callable[[Any, Any], Any], list[int], Any, list[list[int]]]] = {
    "gather with batch_dims": (
        lambda v, i: tf.gather([VECTOR], [i], batch_dims=1), [2, 0], [[3, 1]], [[0, -1], [0, 3]],
    ),
    "gather_nd": (
        lambda v, i: tf.gather_nd(v, tf.expand_dims(i, 1)), [2, 0], [3, 1], [[0, -1], [0, 3]],
    ),
    "batch_gather": (lambda v, i: tf.batch_gather(VECTOR, i), [2, 0], [3, 1], [[0, -1], [3, 0]]),
    "scatter_nd": (
        lambda v, i: tf.scatter_nd(tf.expand_dims(i, 1), [9.0, 8.0], [3]), [2, 0], [8, 0, 9],
        [[0, -1], [0, 3]],
    ),
    "tensor_scatter_update": (
        lambda v, i: tf.tensor_scatter_update(VECTOR, tf.expand_dims(i, 1), [9.0, 8.0]), [2, 0],
        [8, 2, 9], [[0, -1], [0, 3]],
    ),
    "tensor_scatter_sub": (
        lambda v, i: tf.tensor_scatter_sub(VECTOR, tf.expand_dims(i, 1), [9.0, 8.0]), [2, 0],
        [-7, 2, -6], [[0, -1], [0, 3]],
    ),
    "scatter_update": (
        lambda v, i: tf.scatter_update(v, i, [9.0, 8.0]), [2, 0], [8, 2, 9], [[0, -1], [0, 3]],
    ),
    "scatter_add": (
        lambda v, i: tf.scatter_add(v, i, [9.0, 8.0]), [2, 0], [9, 2, 12], [[0, -1], [0, 3]],
    ),
    "scatter_max": (
        lambda v, i: tf.scatter_max(v, i, [9.0, 0.0]), [2, 0], [1, 2, 9], [[0, -1], [0, 3]],
    ),
    "scatter_div": (
        lambda v, i: tf.scatter_div(v, i, [3.0, 1.0]), [2, 0], [1, 2, 1], [[0, -1], [0, 3]],
    ),
    "scatter_nd_update": (
        lambda v, i: tf.scatter_nd_update(v, tf.expand_dims(i, 1), [9.0, 8.0]), [2, 0], [8, 2, 9],
        [[0, -1], [0, 3]],
    ),
    "scatter_nd_add": (
        lambda v, i: tf.scatter_nd_add(v, tf.expand_dims(i, 1), [9.0, 8.0]), [2, 0], [9, 2, 12],
        [[0, -1], [0, 3]],
    ),
    "confusion_matrix": (
        lambda v, i: tf.confusion_matrix(i, [1, 1], num_classes=2), [0, 1], [[0, 1], [0, 1]],
        [[0, -1], [0, 2]],
    ),
    "confusion_matrix of all": (
        lambda v, i: tf.confusion_matrix([1, 1], i), [0, 1], [[0, 0], [1, 1]], [[0, -1]],
    ),
    "invert_permutation": (
        lambda v, i: tf.invert_permutation(i), [2, 0, 1], [1, 2, 0],
        [[0, 0, 1], [2, 1, -1], [1, 2, 3]],
    ),
}  # fmt: skip


@TARGETS
@pytest.mark.parametrize("form", ["fed", "constant"])
@pytest.mark.parametrize("case", POSITIONS)
def test_positions_of_reads_and_writes_lie_within(target: str, case: str, form: str) -> None:
    build, good, want, bad = POSITIONS[case]
    v = tf.Variable(VECTOR)
    i = tf.placeholder(tf.int32, [None])
    fed = build(v, i)
    with tf.Session(target) as session:
        for positions in (good, *bad):
            session.run(v.initializer)
            made, feeds = (fed, {i: positions}) if form == "fed" else (build(v, positions), {})
            if positions is good:
                np.testing.assert_array_equal(session.run(made, feeds), want)
                continue
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(made, feeds)
            np.testing.assert_array_equal(session.run(v), VECTOR)


def test_constant_positions_that_are_0_or_more_need_no_check(graph: tf.Graph) -> None:
    v = tf.Variable(VECTOR)
    for build, good, _, _ in POSITIONS.values():
        build(v, good)
    assert not {"Assert", "IndexRange"} & {op.op for op in graph.get_operations()}


@TARGETS
def test_a_negative_position_is_named(target: str) -> None:
    v, i = tf.Variable(VECTOR), tf.placeholder(tf.int64, [None])
    write, classes = tf.scatter_add(v, i, 1.0), tf.confusion_matrix(i, i, 3, name="matrix")
    with tf.Session(target) as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = -1 is not in "):
            session.run(write, {i: [0, -1]})
        words = r"matrix/labels.*indices\[1\] = -1 is not in \[0, 3\)"
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            session.run(classes, {i: [0, -1]})


@TARGETS
def test_no_class_that_there_is_not_is_in_the_top(target: str) -> None:
    rows = np.float32([[1, 2, 3]] * 4 + [[1, np.nan, 3], [1, np.inf, 3]])
    x, i = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int32, [None])
    top = [tf.nn.in_top_k(x, i, 2), tf.nn.in_top_k(x, [-1, 7, 2, 0, 2, 2], 2)]
    with tf.Session(target) as session:
        for found in session.run(top, {x: rows, i: [-1, 7, 2, 0, 2, 2]}):
            assert found.tolist() == [False, False, True, False, False, False]


@TARGETS
def test_the_gradient_of_checked_rows(target: str) -> None:
    table, i = tf.Variable(ROWS), tf.placeholder(tf.int32, [None])
    (slope,) = tf.gradients(tf.gather(table, i), table)
    assert isinstance(slope, tf.IndexedSlices)
    with tf.Session(target) as session:
        session.run(table.initializer)
        found = session.run(slope, {i: [1, 1]})
    assert found.indices.tolist() == [1, 1] and found.values.tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_an_eye_of_less_than_nothing_is_an_error_of_the_run(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        n = tf.placeholder(tf.int32, [])
        for made in (tf.eye(n), tf.eye(2, n)):
            assert session.run(made, {n: 3}).shape[1] == 3
            with pytest.raises(tf.errors.InvalidArgumentError, match="eye: num_(rows|columns)"):
                session.run(made, {n: -2})
