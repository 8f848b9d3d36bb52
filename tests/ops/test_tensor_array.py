"""TensorArray: reading, writing, loops, gradients, refusals; in both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradient_check import away, check

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


def run(target: str, build: Callable[[], Any], feeds: dict[str, Any] | None = None) -> Any:
    with tf.Graph().as_default(), tf.Session(target) as session:
        fetches = build()
        return session.run(fetches, {f"{k}:0": v for k, v in (feeds or {}).items()})


@TARGETS
def test_what_is_written_is_read(target: str) -> None:
    def build() -> Any:
        ta = tf.TensorArray(tf.float32, 4).write(0, [1.0, 2.0]).write(2, [3.0, 4.0])
        assert ta.element_shape.as_list() == [2] and ta.dtype == tf.float32
        more = tf.TensorArray(tf.int32, 0, dynamic_size=True).write(1, 5).scatter([3, 4], [7, 8])
        cut = tf.TensorArray(tf.float32, 2).split(tf.range(6.0), [3, 3])
        taken = tf.TensorArray(tf.int64, 2).unstack(np.array([[1, 2], [3, 4]]))
        return {
            "stack": ta.stack(), "read": ta.read(2), "gather": ta.gather([2, 0]), "size": ta.size(),
            "grown": more.stack(), "grown size": more.size(), "cut": cut.read(1),
            "concat": taken.concat(), "row": taken.identity().read(0),
        }  # fmt: skip

    expected: dict[str, Any] = {
        "stack": [[1, 2], [0, 0], [3, 4], [0, 0]], "read": [3, 4], "gather": [[3, 4], [1, 2]],
        "size": 4, "grown": [0, 5, 0, 7, 8], "grown size": 5, "cut": [3, 4, 5],
        "concat": [1, 2, 3, 4], "row": [1, 2],
    }  # fmt: skip
    found = run(target, build)
    assert {key: np.asarray(value).tolist() for key, value in found.items()} == expected


@TARGETS
def test_a_write_leaves_the_array_before_as_it_was(target: str) -> None:
    def build() -> Any:
        first = tf.TensorArray(tf.float32, 2).write(0, 1.0)
        return first.write(1, 2.0).stack(), first.write(1, 3.0).stack(), first.stack()

    assert [x.tolist() for x in run(target, build)] == [[1, 2], [1, 3], [1, 0]]


@TARGETS
@pytest.mark.parametrize(
    "build",
    [
        lambda ta: ta.write(0, 1.0).write(0, 2.0).stack(),
        lambda ta: ta.write(3, 1.0).stack(),
        lambda ta: ta.write(-1, 1.0).stack(),
        lambda ta: ta.write(0, 1.0).read(3),
        lambda ta: ta.write(0, 1.0).read(-1),
        lambda ta: ta.write(0, 1.0).gather([0, 5]),
        lambda ta: ta.unstack(tf.ones([4])).stack(),
        lambda ta: ta.read(0),
        lambda ta: ta.stack(),
        lambda ta: ta.write(0, tf.constant(1)).stack(),
    ],
)
def test_wrong_indices_and_second_writes_are_invalid(target: str, build: Any) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(target, lambda: build(tf.TensorArray(tf.float32, 3)))


def test_refusals_while_building() -> None:
    with tf.Graph().as_default():
        ta = tf.TensorArray(tf.float32, 2)
        with pytest.raises(ValueError, match="Size must be provided"):
            tf.TensorArray(tf.float32)
        with pytest.raises(ValueError, match="Inconsistent shapes"):
            ta.write(0, [1.0]).write(1, [1.0, 2.0])
        with pytest.raises(ValueError, match="Inconsistent shapes"):
            tf.TensorArray(tf.float32, 2, element_shape=[2]).write(0, 1.0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="is a scalar"):
            ta.split(1.0, [1])
        with pytest.raises(ValueError, match="scalars"):
            ta.write(0, 1.0).concat()
        with pytest.raises(ValueError, match="expected a scalar"):
            ta.write([0], 1.0)
        with pytest.raises(TypeError, match="'size' of 'TensorArray' has DataType float32"):
            tf.TensorArray(tf.float32, 2.5)
        with pytest.raises(TypeError, match="'index' of 'TensorArray' has DataType string"):
            ta.write("a", 1.0)


@TARGETS
def test_a_loop_reads_what_it_wrote(target: str) -> None:
    def build() -> Any:
        n = tf.placeholder(tf.int32, [], name="n")
        ta = tf.TensorArray(tf.float32, n, clear_after_read=False).write(0, 1.0).write(1, 1.0)
        next_one = lambda i, a: (i + 1, a.write(i, a.read(i - 1) + a.read(i - 2)))  # noqa: E731
        _, ta = tf.while_loop(lambda i, _: i < n, next_one, [2, ta])
        return ta.stack(), ta.size()

    values, size = run(target, build, {"n": 7})
    assert values.tolist() == [1, 1, 2, 3, 5, 8, 13] and size == 7


@TARGETS
def test_nested_loops_and_branches_write(target: str) -> None:
    def build() -> Any:
        def outer(i: Any, ta: Any) -> Any:
            def inner(j: Any, ta: Any) -> Any:
                odd = tf.equal(j % 2, 1)
                return j + 1, tf.cond(odd, lambda: ta.write(2 * i + j, 10 * i + j), lambda: ta)

            return i + 1, tf.while_loop(lambda j, _: j < 2, inner, [0, ta])[1]

        ta = tf.TensorArray(tf.int32, 6)
        return tf.while_loop(lambda i, _: i < 3, outer, [0, ta])[1].stack()

    assert run(target, build).tolist() == [0, 1, 0, 11, 0, 21]


def _recurrent(dynamic: bool) -> Callable[..., Any]:
    def build(x: Any, w: Any) -> Any:
        length = tf.shape(x)[0]
        inputs = tf.TensorArray(tf.float64, length).unstack(x)
        states = tf.TensorArray(tf.float64, 0 if dynamic else length, dynamic_size=dynamic)

        def step(t: Any, h: Any, states: Any) -> Any:
            h = tf.tanh(tf.matmul(h + inputs.read(t), w))
            return t + 1, h, states.write(t, h)

        start = [tf.constant(0), tf.zeros_like(x[0]), states]
        return tf.while_loop(lambda t, *_: t < length, step, start)[2].stack()

    return build


@pytest.mark.parametrize("sizes", ["known", "open"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_gradients_go_through_reads_and_writes(sizes: str, dynamic: bool) -> None:
    values = [0.4 * away(3, 2, 2), 0.5 * away(2, 2, seed=2)]
    shapes = np.shape if sizes == "known" else (lambda v: [None] * v.ndim)
    check(_recurrent(dynamic), values, shapes=shapes)


@pytest.mark.parametrize("sizes", [[1, 2], [None, 2], [None, None]])
@pytest.mark.parametrize("dynamic", [False, True])
def test_gradients_go_through_nested_loops_and_branches(sizes: Any, dynamic: bool) -> None:
    def build(x: Any) -> Any:
        def outer(i: Any, h: Any, ta: Any) -> Any:
            def inner(j: Any, h: Any, ta: Any) -> Any:
                h = tf.sin(h) * 1.3
                add = lambda: ta.write(2 * i + j, tf.exp(h))  # noqa: E731
                return j + 1, h, tf.cond(i + j < 2, add, lambda: ta)

            _, h, ta = tf.while_loop(lambda j, *_: j < 2, inner, [0, h, ta])
            return i + 1, h, ta

        ta = tf.TensorArray(tf.float64, 0 if dynamic else 4, dynamic_size=dynamic)
        return tf.while_loop(lambda i, *_: i < 2, outer, [0, x, ta])[2].stack()

    check(build, [0.4 * away(1, 2)], shapes=lambda v: sizes, second=False)


@TARGETS
def test_an_array_goes_unwritten_through_loops_and_branches(target: str) -> None:
    def build() -> Any:
        p, ta = tf.placeholder(tf.bool, [], name="p"), tf.TensorArray(tf.float32, 2)
        looped = tf.while_loop(lambda i, _: i < 2, lambda i, t: (i + 1, t), [0, ta])[1]
        same = tf.cond(p, lambda: ta, lambda: ta)
        one = tf.cond(p, lambda: ta, lambda: ta.write(1, [3.0, 4.0]))
        return [t.write(0, [1.0, 2.0]).stack() for t in (looped, same, one)]

    for chosen in (True, False):
        found = [x.tolist() for x in run(target, build, {"p": chosen})]
        last = [0, 0] if chosen else [3, 4]
        assert found == [[[1, 2], [0, 0]], [[1, 2], [0, 0]], [[1, 2], last]]


def test_gradients_go_through_all_ways_to_write() -> None:
    def build(x: Any) -> Any:
        ta = tf.TensorArray(tf.float64, 4).scatter([3, 1], x).write(0, tf.sin(x[0]))
        return ta.stack() * ta.gather([1, 1, 3, 2]) + tf.TensorArray(tf.float64, 2).unstack(x).read(
            1
        )

    check(build, [away(2, 3)])


@TARGETS
@pytest.mark.parametrize("dtype", [tf.string, tf.bool, tf.int8, tf.uint8, tf.float16, tf.bfloat16])
def test_all_dtypes_are_kept_in_loops(target: str, dtype: Any) -> None:
    values = ["a", "b", "c"] if dtype == tf.string else [1, 0, 1]

    def build() -> Any:
        x = tf.constant(values) if dtype == tf.string else tf.cast(tf.constant(values), dtype)
        given = tf.TensorArray(dtype, 3).unstack(x)
        start = [0, tf.TensorArray(dtype, 4)]
        write = lambda i, ta: (i + 1, ta.write(i, given.read(2 - i)))  # noqa: E731
        ta = tf.while_loop(lambda i, _: i < 3, write, start)[1]
        return ta.stack(), tf.map_fn(lambda v: v, x), tf.scan(lambda a, v: v, x), x

    backward, mapped, scanned, x = run(target, build)
    blank = b"" if dtype == tf.string else np.zeros((), x.dtype)
    assert backward.dtype == x.dtype and backward.tolist() == [*x[::-1].tolist(), blank]
    assert mapped.tolist() == scanned.tolist() == x.tolist()
    assert {type(v) for v in mapped.tolist()} == {type(v) for v in x.tolist()}


# ---- elements of different shapes ----


def varied() -> tf.TensorArray:
    made = tf.TensorArray(tf.float32, 3, infer_shape=False)
    return made.write(0, [[4.0, 5.0], [6.0, 7.0]]).write(2, np.zeros((0, 2))).write(1, [[8.0, 9.0]])


@pytest.mark.parametrize("dynamic", [False, True])
def test_writes_of_elements_that_differ_make_constants_of_a_fixed_size(dynamic: bool) -> None:
    def numbers(count: int) -> int:
        with tf.Graph().as_default() as graph:
            rows = tf.TensorArray(tf.float32, 0 if dynamic else count, dynamic, infer_shape=False)
            for i in range(count):
                rows = rows.write(i, tf.zeros([1 + i % 3]))
            assert rows.concat().shape.as_list() == [sum(1 + i % 3 for i in range(count))]
            return sum(
                np.size(op.attrs["value"]) for op in graph.get_operations() if op.op == "Constant"
            )

    assert numbers(80) < 2.5 * numbers(40)


@TARGETS
def test_elements_of_different_shapes_are_read_and_joined(target: str) -> None:
    def build() -> Any:
        ta = varied()
        with tf.control_dependencies([ta.flow]):
            same = ta.identity()
        return ta.read(1), same.concat(), ta.size()

    one, joined, size = run(target, build)
    assert one.tolist() == [[8, 9]] and size == 3
    assert joined.tolist() == [[4, 5], [6, 7], [8, 9]]


@TARGETS
def test_gradients_go_through_a_split_into_unequal_lengths(target: str) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        ta = tf.TensorArray(tf.float32, 0, dynamic_size=True, infer_shape=False).split(x, [2, 1])
        return ta.read(0), tf.gradients(tf.square(ta.concat()), [x])[0]

    first, gradient = run(target, build, {"x": np.arange(6.0).reshape(3, 2)})
    assert first.tolist() == [[0, 1], [2, 3]]
    assert gradient.tolist() == [[0, 2], [4, 6], [8, 10]]


@TARGETS
def test_elements_of_unknown_rank_become_rows(target: str) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, name="x")
        ta = tf.TensorArray(tf.float32, 3).write(0, x).write(2, x)
        return ta.stack(), ta.read(1), ta.read(tf.placeholder_with_default(2, []))

    rows, unwritten, read = run(target, build, {"x": [1.0, 2.0]})
    assert rows.tolist() == [[1, 2], [0, 0], [1, 2]]
    assert unwritten.tolist() == [0, 0] and read.tolist() == [1, 2]


@TARGETS
@pytest.mark.parametrize("size, dynamic", [(3, False), (0, True), (1, True)])
def test_a_loop_writes_elements_of_unknown_rank(target: str, size: int, dynamic: bool) -> None:
    """Every rank of element, with gradients to what was written."""

    def build() -> Any:
        x = tf.placeholder(tf.float32, name="x")
        ta = tf.TensorArray(tf.float32, size, dynamic_size=dynamic)
        body = lambda i, ta: (i + 1, ta.write(i, tf.square(tf.gather(x, i))))  # noqa: E731
        _, ta = tf.while_loop(lambda i, _: i < 3, body, [0, ta])
        again = lambda i, ta: (i + 1, ta.write(i, tf.gather(x, i - 3)))  # noqa: E731
        if dynamic:
            _, ta = tf.while_loop(lambda i, _: i < 4, again, [3, ta])
        rows = ta.stack()
        assert rows.shape.ndims is None
        return rows, ta.read(1), ta.size(), tf.convert_to_tensor(tf.gradients(rows, x)[0])

    for x in (np.arange(3.0), np.arange(6.0).reshape(3, 2), np.arange(6.0).reshape(3, 1, 2)):
        rows, one, size_of, gradient = run(target, build, {"x": x})
        assert rows.tolist() == np.concatenate([x**2, x[: int(dynamic)]]).tolist()
        assert one.tolist() == (x[1] ** 2).tolist() and size_of == len(rows)
        added = np.zeros_like(x)
        added[: int(dynamic)] = 1
        assert gradient.tolist() == (2 * x + added).tolist()


@TARGETS
def test_elements_of_unknown_rank_are_of_one_shape(target: str) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, name="x")
        longer = lambda i: tf.tile(x, tf.reshape(i + 1, [1]))  # noqa: E731
        body = lambda i, ta: (i + 1, ta.write(i, longer(i)))  # noqa: E731
        return tf.while_loop(lambda i, _: i < 2, body, [0, tf.TensorArray(tf.float32, 2)])[
            1
        ].stack()

    with pytest.raises(tf.errors.InvalidArgumentError, match="updates"):
        run(target, build, {"x": [1.0]})


@TARGETS
def test_a_given_element_shape_is_known_before_a_loop_has_written(target: str) -> None:
    def build() -> Any:
        ta = tf.TensorArray(tf.float32, 4, element_shape=[], clear_after_read=False)

        def body(i: Any, ta: Any) -> Any:
            value = tf.cond(tf.equal(i, 0), lambda: 3.0, lambda: 2.0 * ta.read(i - 1))
            return i + 1, ta.write(i, value)

        open_rows = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[5, None])
        assert open_rows.stack().shape.as_list() == [None, 5, None]
        return tf.while_loop(lambda i, _: i < 4, body, [0, ta])[1].stack(), open_rows.stack()

    rows, none = run(target, build)
    assert rows.tolist() == [3, 6, 12, 24] and len(none) == 0


@TARGETS
def test_a_loop_takes_over_elements_that_were_written_one_by_one(target: str) -> None:
    def build() -> Any:
        ta = tf.TensorArray(tf.float32, 4, infer_shape=False).write(0, 1.0)
        body = lambda i, ta: (i + 1, ta.write(i, 2.0 * ta.read(i - 1)))  # noqa: E731
        return tf.while_loop(lambda i, ta: i < 4, body, [1, ta])[1].stack()

    assert run(target, build).tolist() == [1, 2, 4, 8]


@TARGETS
@pytest.mark.parametrize("lengths", [[1, 3, 0, 2], [2, 2, 2, 2], [0, 0, 0, 0], [0, 4, 1, 1]])
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_loop_writes_elements_of_different_lengths(
    target: str, lengths: list[int], dynamic: bool
) -> None:
    """They are read and joined as they were written, with gradients; stacked if they are alike."""
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, ends = tf.placeholder(tf.float64, [None, 2]), tf.placeholder(tf.int32, [None])
        count = 0 if dynamic else tf.size(ends)
        ta = tf.TensorArray(
            tf.float64, count, dynamic_size=dynamic, clear_after_read=False, infer_shape=False
        )
        step = lambda i, ta: (i + 1, ta.write(i, x[: ends[i]] * tf.cast(i + 1, tf.float64)))  # noqa: E731
        _, ta = tf.while_loop(lambda i, _: i < tf.size(ends), step, [0, ta])
        total = tf.reduce_sum(tf.square(ta.concat())) + tf.reduce_sum(ta.read(1))
        gradient, reads = tf.gradients(total, x)[0], [ta.read(k) for k in range(4)]
        feeds = {x: np.arange(1.0, 9).reshape(4, 2), ends: lengths}
        rows = [feeds[x][:n] * (k + 1) for k, n in enumerate(lengths)]
        joined, *found = session.run([ta.concat(), *reads], feeds)
        assert [v.tolist() for v in found] == [row.tolist() for row in rows]
        assert joined.tolist() == np.concatenate(rows).tolist()
        expected_values = np.zeros((4, 2))
        for k, n in enumerate(lengths):
            expected_values[:n] += 2 * (k + 1) * rows[k] + (2 if k == 1 else 0)
        assert session.run(gradient, feeds).tolist() == expected_values.tolist()
        if len(set(lengths)) == 1:
            assert session.run(ta.stack(), feeds).tolist() == np.stack(rows).tolist()
        else:
            with pytest.raises(tf.errors.InvalidArgumentError, match="inconsistent shapes"):
                session.run(ta.stack(), feeds)


@TARGETS
def test_rows_of_one_length_are_followed_by_longer_ones(target: str) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.int32, [None, None], name="x")
        ta = tf.TensorArray(tf.int32, 4, clear_after_read=False, infer_shape=False)
        ta = ta.scatter([0, 1], x).write(tf.placeholder_with_default(3, []), tf.range(tf.size(x)))
        return ta.concat(), ta.read(1), ta.gather([1, 0]), ta.size()

    joined, one, two, size = run(target, build, {"x": [[1], [2]]})
    assert joined.tolist() == [1, 2, 0, 0, 0, 1] and size == 4
    assert one.tolist() == [2] and two.tolist() == [[2], [1]]


@TARGETS
def test_elements_of_a_known_length_are_followed_by_such_of_an_unknown_one(target: str) -> None:
    """Those of length 0 stay empty, longer and shorter ones may follow; in a loop such as are
    alike."""

    def build() -> Any:
        x, size = tf.range(1, 5), tf.placeholder(tf.int32, [], name="size")
        positions = tf.placeholder_with_default([2, 0, 1], [3])
        ta = tf.TensorArray(tf.int32, 3, clear_after_read=False, infer_shape=False)
        made = []
        for first, last in ((0, 3), (2, 0)):
            one = ta.write(positions[0], x[:first]).write(positions[1], x[:size])
            whole = one.write(positions[2], x[:last])
            made += [whole.concat(), whole.read(2)]
        looped = lambda i, ta: (i + 1, ta.write(i, x[:size] * i))  # noqa: E731
        alike = tf.while_loop(lambda i, _: i < 3, looped, [1, ta.write(0, x[:2])])[1]
        return *made, alike.stack()

    one, none, two, pair, alike = run(target, build, {"size": 2})
    assert one.tolist() == [1, 2, 1, 2, 3] and none.tolist() == []
    assert two.tolist() == [1, 2, 1, 2] and pair.tolist() == [1, 2]
    assert alike.tolist() == [[1, 2], [1, 2], [2, 4]]


@TARGETS
def test_a_run_reads_an_element_once_unless_it_is_kept(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        ta = tf.TensorArray(tf.float32, 3).unstack(tf.constant([[1.0, 2.0]] * 3))
        first, second = ta.read(0), ta.read(1)
        grown = tf.TensorArray(tf.float32, 0, dynamic_size=True, infer_shape=False).write(0, 5.0)
        early, late = grown.read(0), grown.write(1, [6.0]).read(0)
        again, position = ta.read(tf.constant(0)), tf.placeholder_with_default(0, [])
        gradient = tf.gradients(first * first, first)[0]
        assert session.run([first, second, first, gradient])[3].tolist() == [2, 4]
        assert session.run([again, ta.read(position)])[1].tolist() == [1, 2]
        for fetches in ([first, again], first + again, [early, late]):
            with pytest.raises(tf.errors.InvalidArgumentError, match="read index 0 twice"):
                session.run(fetches)
        kept = tf.TensorArray(tf.float32, 1, clear_after_read=False).write(0, 3.0)
        assert session.run([kept.read(0), kept.read(0)]) == [3, 3]


@TARGETS
def test_gradients_of_an_array_add_up_what_is_written(target: str) -> None:
    """Those of one source are one object, which several writes change; shapes may differ."""

    def build() -> Any:
        ta = tf.TensorArray(tf.float32, 3, infer_shape=False)
        sums = ta.grad("loss")
        assert ta.write(0, 1.0).grad("loss") is sums and ta.grad("other") is not sums
        sums.write(0, [[1.0, 2.0]]).write(1, 3.0).write(0, [[10.0, 20.0]])
        position = tf.placeholder_with_default(1, [])
        rows = ta.grad("rows")
        rows.write(position, [1.0, 2.0]).scatter([1, 2], [[3.0, 4.0], [5.0, 6.0]])
        rows.unstack(tf.ones([3, 2]))
        grown = tf.TensorArray(tf.float32, 0, dynamic_size=True).write(1, 4.0).grad("grown")
        return {
            "first": sums.read(0), "second": sums.read(1), "size": sums.size(),
            "rows": rows.stack(), "taken": rows.gather([2, 0]), "joined": rows.concat(),
            "grown": grown.size(),
        }  # fmt: skip

    found = {key: np.asarray(value).tolist() for key, value in run(target, build).items()}
    rows = [[1, 1], [5, 7], [6, 7]]
    assert found == {
        "first": [[11, 22]], "second": 3, "size": 3, "rows": rows, "taken": [rows[2], rows[0]],
        "joined": sum(rows, []), "grown": 2,
    }  # fmt: skip


#: calls that a run, or building it, refuses
DIFFERENT: dict[str, Callable[[], Any]] = {
    "stack": lambda: varied().stack(),
    "concat of scalars": lambda: (
        tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, 1.0).write(1, [1.0]).concat()
    ),
    "concat of different rows": lambda: (
        tf.TensorArray(tf.float32, 2, infer_shape=False)
        .write(0, [[1.0]]).write(1, [[1.0, 2.0]]).concat()
    ),
    "a second write": lambda: (
        tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, 1.0).write(0, 2.0).flow
    ),
    "beyond the end": lambda: tf.TensorArray(tf.float32, 1, infer_shape=False).write(1, 1.0).flow,
    "a gradient of another shape": lambda: (
        tf.TensorArray(tf.float32, 1, infer_shape=False)
        .grad("y").write(0, 1.0).write(0, [1.0]).flow
    ),
    "a gradient of another shape in rows": lambda: (
        tf.TensorArray(tf.float32, tf.placeholder_with_default(2, []))
        .grad("y").write(0, [1.0, 2.0]).write(1, [1.0]).flow
    ),
    "a gradient beyond the end": lambda: tf.TensorArray(tf.float32, 1).grad("y").write(1, 1.0).flow,
    "lengths that do not sum up": lambda: tf.TensorArray(tf.float32, 2).split([1.0], [1, 1]).flow,
    "too few lengths": lambda: tf.TensorArray(tf.float32, 2).split([1.0], [1]).flow,
}  # fmt: skip


@TARGETS
@pytest.mark.parametrize("what", DIFFERENT)
def test_what_does_not_fit_is_invalid(target: str, what: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(target, DIFFERENT[what])
