"""cond and while_loop: values, shapes, structures, order, refusals; in both engines."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest
from control_flow_builds import TARGETS, refused, run

import graphio as tf
from graphio.model.export import SignatureSpec, build_model


@TARGETS
def test_cond_takes_one_branch(target: str) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, [], name="x")
        return tf.cond(x < 1, lambda: x + 10, lambda: x * 100)

    assert run(target, build, {"x": 0.5}) == 10.5
    assert run(target, build, {"x": 2.0}) == 200


@TARGETS
def test_cond_runs_only_the_effects_of_the_branch_taken(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        v = tf.Variable(0.0)
        p = tf.placeholder(tf.bool, [])
        step = tf.cond(p, lambda: v.assign_add(1.0), lambda: v.assign_add(10.0))
        session.run(v.initializer)
        assert [float(session.run(step, {p: b})) for b in (True, False, True)] == [1, 11, 12]


@TARGETS
def test_cond_nests_and_returns_structures(target: str) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.int32, [], name="x")
        inner = lambda: tf.cond(x > 5, lambda: tf.constant(2), lambda: tf.constant(1))  # noqa: E731
        value = tf.cond(x > 0, inner, lambda: tf.constant(0))
        pair = tf.cond(x > 0, lambda: {"a": x, "b": [x + 1]}, lambda: {"a": -x, "b": [x]})
        return value, pair

    value, pair = run(target, build, {"x": 9})
    assert value == 2 and pair == {"a": 9, "b": [10]}
    value, pair = run(target, build, {"x": -4})
    assert value == 0 and pair == {"a": 4, "b": [-4]}


@TARGETS
def test_while_loop_runs_until_its_condition_fails(target: str) -> None:
    def build() -> Any:
        n = tf.placeholder(tf.int32, [], name="n")
        return tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), [0, 0])

    assert run(target, build, {"n": 5}) == (5, 10)
    assert run(target, build, {"n": 0}) == (0, 0)


@TARGETS
def test_maximum_iterations_ends_a_loop(target: str) -> None:
    def build() -> Any:
        return tf.while_loop(lambda i: i < 100, lambda i: i + 1, [0], maximum_iterations=7)

    assert run(target, build) == 7


@TARGETS
def test_a_loop_variable_may_grow_where_its_invariant_says_so(target: str) -> None:
    def build() -> Any:
        grow = lambda i, x: (i + 1, tf.concat([x, x[-1:] + 1], 0))  # noqa: E731
        start = [tf.constant(0), tf.constant([1])]
        shapes = [tf.TensorShape([]), tf.TensorShape([None])]
        return tf.while_loop(lambda i, x: i < 3, grow, start, shape_invariants=shapes)[1]

    assert run(target, build).tolist() == [1, 2, 3, 4]


@TARGETS
def test_loops_nest(target: str) -> None:
    def build() -> Any:
        n = tf.placeholder(tf.int32, [], name="n")

        def outer(i: Any, total: Any) -> Any:
            inner = lambda j, t: (j + 1, t + i * j)  # noqa: E731
            _, total = tf.while_loop(lambda j, t: j < n, inner, [0, total])
            return i + 1, total

        return tf.while_loop(lambda i, t: i < n, outer, [0, 0])[1]

    assert run(target, build, {"n": 4}) == sum(i * j for i in range(4) for j in range(4))


def test_a_sparse_tensor_of_branches_has_the_shape_that_both_have() -> None:
    def of_shape(rows: int) -> Any:
        return lambda: tf.SparseTensor([[1, 2]], [7.0], [rows, 4])

    chosen = tf.placeholder(tf.bool)
    assert tf.cond(chosen, of_shape(3), of_shape(3)).shape.as_list() == [3, 4]
    assert tf.cond(chosen, of_shape(3), of_shape(5)).shape.as_list() == [None, 4]


def test_a_branch_that_returns_another_dtype_is_refused() -> None:
    p = lambda: tf.placeholder(tf.bool, [])  # noqa: E731
    one, two = (lambda: tf.constant(1.0)), (lambda: tf.constant(1))
    refused(lambda: tf.cond(p(), one, two), ValueError, "float32", "int32")
    refused(lambda: tf.cond(p(), one, lambda: [one(), one()]), ValueError, "structure")
    refused(lambda: tf.cond(p(), one, lambda: None), ValueError, "None")
    refused(lambda: tf.cond(True, one, two), TypeError, "bool")
    refused(lambda: tf.cond(p(), one(), two), TypeError, "callable")
    refused(lambda: tf.cond(tf.placeholder(tf.bool, [2]), one, one), ValueError, "shape")
    refused(lambda: tf.cond(tf.constant(1), one, one), TypeError, "bool")


def test_a_loop_that_changes_shape_or_dtype_is_refused() -> None:
    below = lambda i: i < 3  # noqa: E731
    refused(
        lambda: tf.while_loop(below, lambda i: tf.stack([i, i]), [0]),
        ValueError,
        "shape_invariants",
    )
    refused(
        lambda: tf.while_loop(below, lambda i: tf.cast(i, tf.float32), [0]),
        TypeError,
        "float32",
        "int32",
    )
    refused(
        lambda: tf.while_loop(lambda i, j: i < 3, lambda i, j: i, [0, 0]),
        ValueError,
        "1 values for 2",
    )
    refused(lambda: tf.while_loop(lambda: True, lambda: 1, []), ValueError, "at least one")
    refused(lambda: tf.while_loop(below, below, [0], parallel_iterations=0), TypeError, "positive")
    refused(
        lambda: tf.while_loop(below, lambda i: i, [0], maximum_iterations=[3]), ValueError, "scalar"
    )
    refused(
        lambda: tf.while_loop(
            lambda x: True, lambda x: tf.stack([x, x]), [0], [tf.TensorShape([])]
        ),
        ValueError,
        "shape_invariants",
    )
    refused(lambda: tf.while_loop(lambda i: i, lambda i: i, [0]), TypeError, "bool")


def test_a_tensor_of_a_body_is_not_for_the_outside() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        inside: list[Any] = []

        def body(i: Any) -> Any:
            inside.append(i + 1)
            return inside[0]

        tf.while_loop(lambda i: i < 3, body, [0])
        with pytest.raises(tf.errors.InaccessibleTensorError):
            session.run(inside[0])
        with pytest.raises(tf.errors.InaccessibleTensorError):
            tf.identity(inside[0])


@TARGETS
def test_a_value_of_a_branch_is_there_in_runs_that_take_it(target: str) -> None:
    """Read outside of the branch, with gradients; of a branch in a branch and in a loop, too."""
    inside: dict[str, Any] = {}

    def keep(name: str, value: Any) -> Any:
        inside[name] = value
        return value

    with tf.Graph().as_default(), tf.Session(target) as session:
        x, yes, deep = (
            tf.placeholder(tf.float32, [None]),
            *(tf.placeholder(tf.bool, []) for _ in "12"),
        )
        inner = lambda: tf.cond(deep, lambda: keep("deep", x * 3), lambda: x)  # noqa: E731
        y = tf.cond(yes, lambda: keep("first", x * 2) + inner(), lambda: x)
        first, both = inside["first"] + 1, inside["deep"] * 1
        gradient = tf.gradients(first * first, x)[0]

        def body(i: Any, total: Any) -> Any:
            chosen = tf.cond(i < 9, lambda: keep("looped", total * 2) + 1, lambda: total)
            return i + 1, chosen + inside["looped"]

        loop = tf.while_loop(lambda i, _: i < 3, body, [0, 1.0])[1]
        feeds = {x: [1.0, 2.0], yes: True, deep: True}
        found = session.run([y, first, both, gradient, loop], feeds)
        expected = [[5, 10], [3, 5], [3, 6], [12, 20], 85]
        assert [np.asarray(v).tolist() for v in found] == expected
        assert session.run(y, {**feeds, yes: False}).tolist() == [1, 2]
        for fetch, other in ((first, yes), (both, yes), (both, deep), (gradient, yes)):
            with pytest.raises(tf.errors.InvalidArgumentError, match="took the other one"):
                session.run(fetch, {**feeds, other: False})


@TARGETS
def test_branches_share_a_constant(target: str) -> None:
    def build() -> Any:
        made: list[Any] = []

        def constant() -> Any:
            if not made:
                made.append(tf.constant(4.0))
            return made[0]

        return tf.cond(tf.placeholder(tf.bool, [], name="p"), constant, constant), made[0] + 1

    for p in (True, False):
        assert run(target, build, {"p": p}) == (4, 5)


# ---- structures and values that are not tensors ----

Pair = collections.namedtuple("Pair", "low high")


@TARGETS
def test_a_loop_keeps_the_structure_that_its_body_returns(target: str) -> None:
    def build() -> Any:
        few = lambda i, *_: i < 3  # noqa: E731
        one = tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [0])
        pair = tf.while_loop(few, lambda i, x: [i + 1, x * 2.0], (0, 1.0))
        nested = lambda i, d: (i + 1, {"a": Pair(d["a"].high, d["a"].low), "b": d["b"] + 1})  # noqa: E731
        return one, pair, tf.while_loop(few, nested, [0, {"a": Pair(1, 2), "b": 3}])

    one, pair, (count, nested) = run(target, build)
    assert one == 3 and pair == [3, 8.0] and count == 3
    assert nested == {"a": Pair(2, 1), "b": 6}


@TARGETS
def test_indexed_slices_go_through_branches_and_loops(target: str) -> None:
    def build() -> Any:
        def twice(i: Any, s: Any) -> Any:
            values, indices = [tf.concat([t, t], 0) for t in (s.values, s.indices)]
            return i + 1, tf.IndexedSlices(values, indices, s.dense_shape)

        p = tf.placeholder(tf.bool, [], name="p")
        rows = lambda n: tf.IndexedSlices(tf.ones([n, 2]), tf.range(n), tf.constant([4, 2]))  # noqa: E731
        chosen = tf.cond(p, lambda: rows(2), lambda: rows(3))
        assert chosen.values.shape.as_list() == [None, 2]
        invariants = [tf.TensorShape([]), tf.TensorShape([None, 2])]
        many = tf.while_loop(lambda i, s: i < 2, twice, [0, chosen], invariants)[1]
        return chosen, tf.convert_to_tensor(many)

    chosen, dense = run(target, build, {"p": True})
    assert chosen.indices.tolist() == [0, 1] and dense[:, 0].tolist() == [4, 4, 0, 0]
    assert run(target, build, {"p": False})[1][:, 1].tolist() == [4, 4, 4, 0]


@TARGETS
def test_a_sparse_tensor_changes_its_rank_in_a_loop_whose_invariant_leaves_it_open(
    target: str,
) -> None:
    """A shape invariant of a sparse tensor is a vector's: its one size is the rank."""

    def widen(i: Any, x: Any) -> Any:
        more = tf.cast(tf.fill([2, 1], i), tf.int64)
        shape = tf.concat([x.dense_shape, [10]], 0)
        return i + 1, tf.SparseTensor(tf.concat([x.indices, more], 1), x.values * 2, shape)

    def loop(invariant: Any) -> Any:
        x = tf.SparseTensor([[0], [3]], [2.0, 4.0], [10])
        invariants = None if invariant is None else [tf.TensorShape([]), invariant]
        _, made = tf.while_loop(lambda i, _: i < 2, widen, [0, x], invariants)
        return made, tf.gradients(made.values, x.values)[0]

    for invariant in (tf.TensorShape([None]), tf.TensorShape(None)):
        value, gradient = run(target, lambda invariant=invariant: loop(invariant))
        assert value.indices.tolist() == [[0, 0, 1], [3, 0, 1]]
        assert value.dense_shape.tolist() == [10, 10, 10] and gradient.tolist() == [4, 4]
    refused(lambda: loop(None), ValueError, "shape_invariants")
    refused(lambda: loop(tf.TensorShape([5])), ValueError, "is not compatible with")


@TARGETS
def test_a_run_computes_only_the_loop_variables_that_lead_to_its_fetches(target: str) -> None:
    with tf.Graph().as_default() as graph, tf.Session(target) as session:
        w = tf.get_variable("w", [2, 2], tf.float64, tf.ones_initializer())
        n = tf.placeholder(tf.int32, [])

        def step(i: Any, a: Any, b: Any, count: Any, largest: Any) -> Any:
            return i + 1, tf.matmul(a, w), a + b, count + tf.size(a), tf.maximum(largest, i)

        x = tf.constant([[1.0, 2.0]], tf.float64)
        start = [0, x, x, tf.constant(0), tf.constant(0)]
        _, a, b, count, largest = tf.while_loop(lambda i, *_: i < n, step, start)
        gradient = tf.gradients(b, w)[0]
        assert session.run([count, largest], {n: 3}) == [6, 2]
        for fetch in (a, b, gradient, [count, a]):
            with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
                session.run(fetch, {n: 1})
        session.run(w.initializer)
        assert session.run(b, {n: 2}).tolist() == [[5, 7]]
        assert session.run(gradient, {n: 2}).tolist() == [[1, 1], [2, 2]]

        def nodes(fetch: Any) -> list[str]:
            model, _ = build_model(graph, [SignatureSpec("", [("n", n)], [("y", fetch)])])
            (loop,) = [node for node in model.graph.node if node.op == "Loop"]
            (body,) = [a.value.g for a in loop.attr if a.key == "body"]
            assert len(loop.output_type) == len(body.output) - 1
            return [node.op for node in body.node if node.op not in ("Constant", "Identity")]

        assert nodes(largest) == ["Add", "Max", "Less"]
        assert nodes(a) == ["Add", "MatMul", "Less"]


@TARGETS
def test_a_run_without_the_gradient_leaves_nothing_for_it(target: str) -> None:
    """Nor does it compute of a branch what leads to no fetch."""
    with tf.Graph().as_default() as graph, tf.Session(target) as session:
        x, w = tf.placeholder(tf.float64, [4, 2]), tf.placeholder(tf.float64, [2])
        unset = tf.get_variable("unset", [2], tf.float64)
        one = lambda: (tf.sin(x) * w, tf.exp(x), x * unset)  # noqa: E731
        two = lambda: (tf.cos(x) * w, x, x)  # noqa: E731
        chosen, other, last = tf.cond(w[0] > 0, one, two)
        fetches = [chosen, other]
        feeds = {x: 0.1 * np.arange(8).reshape(4, 2), w: [1.0, 2.0]}

        def sizes() -> dict[str, list[int]]:
            outputs = [(str(i), t) for i, t in enumerate(fetches)]
            model, _ = build_model(graph, [SignatureSpec("", [("x", x), ("w", w)], outputs)])
            return {
                node.name: [len(node.output_type), sum(len(a.value.g.node) for a in node.attr)]
                for node in model.graph.node
                if node.op == "If"
            }

        before, values = sizes(), session.run(fetches, feeds)
        gradients = tf.gradients(chosen, [x, w])
        assert sizes() == before and len(before) == 1
        for mine, same in zip(values, session.run(fetches, feeds), strict=True):
            np.testing.assert_array_equal(mine, same)
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(last, feeds)
        session.run(tf.assign(unset, [1.0, 2.0]))
        both, of_chosen = session.run([fetches, gradients], feeds)
        for mine, same in zip(values, both, strict=True):
            np.testing.assert_array_equal(mine, same)
        np.testing.assert_allclose(of_chosen[0], np.cos(feeds[x]) * feeds[w])
        np.testing.assert_allclose(of_chosen[1], np.sin(feeds[x]).sum(0))


@TARGETS
@pytest.mark.parametrize("seed", range(6))
def test_loop_variables_that_are_fetched_alone_are_those_of_the_whole_loop(
    target: str, seed: int
) -> None:
    """Of random dependencies between them, with the gradients by where they begin."""
    random = np.random.RandomState(seed)
    count, reads = 5, [random.choice(5, random.randint(0, 3), replace=False) for _ in range(5)]

    def following(k: int, old: Any) -> Any:
        angle = tf.constant(0.3 * (k + 1), tf.float64) + (old[k] if k % 2 else 0.0)
        return tf.sin(sum((old[j] * old[j] for j in reads[k]), angle))

    def step(i: Any, *old: Any) -> Any:
        new = [following(k, old) for k in range(count)]
        return (i + 1, *new)

    with tf.Graph().as_default(), tf.Session(target) as session:
        n, x = tf.placeholder(tf.int32, []), tf.constant(random.rand(count))
        start = (0, *tf.unstack(x))
        _, *last = tf.while_loop(lambda i, *_: i < n, step, start)
        shared = [tf.zeros([], tf.float64) if y is None else y
                  for y in (tf.gradients(last[k], x)[0] for k in range(count))]  # fmt: skip
        for steps in (0, 1, 4):
            values, gradients = session.run([last, shared], {n: steps})
            for k in range(count):
                assert session.run(last[k], {n: steps}) == values[k]
                alone = session.run([last[k], shared[k]], {n: steps})
                np.testing.assert_array_equal(alone[1], gradients[k])
                np.testing.assert_array_equal(session.run(shared[k], {n: steps}), gradients[k])
            pair = session.run([last[3], last[1]], {n: steps})
            assert pair == [values[3], values[1]]


@TARGETS
def test_a_loop_with_an_effect_runs_whole(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        v = tf.Variable(0.0)
        body = lambda i, x: (i + 1, v.assign_add(x))  # noqa: E731
        last, _ = tf.while_loop(lambda i, x: i < 3, body, [0, tf.constant(2.0)])
        session.run(v.initializer)
        assert session.run(last) == 3
        assert session.run(v) == 8


@TARGETS
def test_an_operation_of_a_branch_runs_with_it(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        v, p = tf.Variable(1.0), tf.placeholder(tf.bool, [])
        choice = tf.cond(p, lambda: tf.group(v.assign_add(1.0)), tf.no_op)
        assert choice.shape.as_list() == []
        assert tf.cond(tf.placeholder(tf.bool), tf.no_op, tf.no_op).shape.ndims is None
        session.run(v.initializer)
        assert [bool(session.run(choice, {p: b})) for b in (True, False)] == [True, False]
        assert session.run(v) == 2


def test_one_result_is_taken_out_of_its_list() -> None:
    with tf.Graph().as_default():
        p, one = tf.placeholder(tf.bool, []), lambda: [tf.constant(1)]
        assert isinstance(tf.cond(p, one, lambda: tf.constant(2)), tf.Tensor)
        assert isinstance(tf.cond(p, one, one, strict=True), list)
        assert isinstance(tf.cond(p, fn1=one, fn2=one), tf.Tensor)
        with pytest.raises(ValueError, match="structure"):
            tf.cond(p, one, lambda: tf.constant(2), strict=True)
        with pytest.raises(TypeError, match="fn1"):
            tf.cond(p, one, one, fn1=one)


def test_a_static_shape_is_what_both_branches_have_in_common() -> None:
    with tf.Graph().as_default():
        p = tf.placeholder(tf.bool, [])
        shape = lambda a, b: tf.cond(p, lambda: tf.ones(a), lambda: tf.ones(b)).shape  # noqa: E731
        assert shape([2, 3], [2, 4]).as_list() == [2, None]
        assert shape([2, 3], [2]).ndims is None


# ---- variables and order ----


@TARGETS
def test_assignments_in_bodies_happen_in_their_order(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer())

        def body(i: Any, seen: Any) -> Any:
            with tf.control_dependencies([v.assign_add(tf.cast(i + 1, tf.float32))]):
                return i + 1, tf.concat([seen, [v.read_value()]], 0)

        before = v.read_value()
        with tf.control_dependencies([before]):
            start = [tf.constant(0), tf.zeros([0])]
            shapes = [tf.TensorShape([]), tf.TensorShape([None])]
            _, seen = tf.while_loop(lambda i, _: v.read_value() < 7.0, body, start, shapes)
        with tf.control_dependencies([seen]):
            after = v.read_value()
        session.run(v.initializer)
        first, values, last = session.run([before, seen, after])
        assert (first, values.tolist(), last) == (0, [1, 3, 6, 10], 10)


@TARGETS
def test_a_body_waits_for_what_is_outside(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        v = tf.Variable(0.0)
        given = v.assign(5.0)

        def body(i: Any, total: Any) -> Any:
            with tf.control_dependencies([given]):
                return i + 1, total + v.read_value()

        looped = tf.while_loop(lambda i, _: i < 2, body, [0, 0.0])[1]
        session.run(v.initializer)
        assert session.run(looped) == 10


@TARGETS
def test_variables_made_in_bodies_are_lifted_out_and_shared(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, p = tf.ones([2]), tf.placeholder(tf.bool, [])

        def scaled(x: Any) -> Any:
            with tf.variable_scope("shared", reuse=tf.AUTO_REUSE):
                return x * tf.get_variable("w", [2], initializer=tf.constant_initializer(2.0))

        y = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, scaled(x)), [0, x])[1]
        z = tf.cond(p, lambda: scaled(y), lambda: y)
        (w,) = tf.trainable_variables()
        assert w.op.name == "shared/w" and w.graph is tf.get_default_graph()
        slope = tf.gradients(z, w)[0]
        session.run(w.initializer)
        assert session.run([z, slope], {p: True})[1].tolist() == [32, 32]
        assert session.run([z, slope], {p: False})[0].tolist() == [8, 8]


@TARGETS
def test_the_condition_of_a_loop_is_built_once_and_may_do_what_a_body_may(target: str) -> None:
    calls = []

    def unfinished(i: Any, x: Any) -> Any:
        calls.append(i)
        limit = tf.get_variable("limit", [], tf.int32, initializer=tf.constant_initializer(5))
        with tf.control_dependencies([count.assign_add(1)]):
            short = lambda: tf.less(tf.shape(x)[0], 9)  # noqa: E731
            return tf.cond(i < limit, short, lambda: tf.constant(False))

    with tf.Graph().as_default(), tf.Session(target) as session:
        count = tf.Variable(0)
        start = [tf.constant(0), tf.ones([1])]
        shapes = [tf.TensorShape([]), tf.TensorShape([None])]
        twice = lambda i, x: (tf.constant(4), tf.concat([x, x], 0))  # noqa: E731
        _, x = tf.while_loop(unfinished, twice, start, shapes)
        with tf.control_dependencies([x]):
            tested = count.read_value()
        session.run(tf.global_variables_initializer())
        values, times = session.run([x, tested])
    assert len(calls) == 1 and len(values) == 16 and times == 5


def test_a_failed_build_leaves_the_graph_as_it_was() -> None:
    def body(i: Any) -> Any:
        tf.get_variable("w", [3])
        tf.random_uniform([2], seed=1)
        return tf.cast(i, tf.float32)

    with tf.Graph().as_default() as graph:
        x, p = tf.placeholder(tf.int32, [], name="x"), tf.placeholder(tf.bool, [], name="p")
        empty = str(graph), x.consumers(), graph.get_all_collection_keys()
        with pytest.raises((TypeError, ValueError)):
            tf.while_loop(lambda i: i < 3, body, [x])
        with pytest.raises(ValueError):
            tf.cond(p, lambda: body(x), lambda: tf.cond(p, lambda: x, lambda: 2.0))
        assert (str(graph), x.consumers(), graph.get_all_collection_keys()) == empty
        assert tf.get_variable("w", [2]).op.name == "w"
        with pytest.raises(ZeroDivisionError):
            tf.while_loop(lambda i: i < 3, lambda i: tf.cond(p, lambda: i + 1 // 0, lambda: i), [x])
        assert tf.constant(1, name="while").op.name == "while"


@TARGETS
def test_loops_in_loops_in_loops(target: str) -> None:
    def turns(depth: int, x: Any) -> Any:
        if depth == 0:
            return x + 1
        return tf.while_loop(lambda i, _: i < 2, lambda i, v: (i + 1, turns(depth - 1, v)), [0, x])[
            1
        ]

    assert run(target, lambda: turns(6, tf.constant(0))) == 2**6
