"""tf.debug: recorded runs, the first value that is not finite; printing graphs; both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


def model() -> tuple[Any, Any, Any]:
    """x, the loss mean(log(x w)), a training step."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.Variable([[1.0], [2.0]], name="w")
    y = tf.matmul(x, w, name="y")
    loss = tf.reduce_mean(tf.log(y, name="logarithm"), name="loss")
    return x, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss)


@TARGETS
def test_a_run_gives_what_it_gives_and_is_recorded(target: str) -> None:
    with tf.Graph().as_default():
        x, loss, step = model()
        feeds = {x: [[1, 2], [3, 4]]}
        with tf.Session(target) as plain:
            plain.run(tf.global_variables_initializer())
            expected = [plain.run([loss, {"s": step}], feeds) for _ in range(3)]
        with tf.debug.DebugSession(tf.Session(target)) as session:
            assert session.last is None
            session.run(tf.global_variables_initializer())
            found = [session.run([loss, {"s": step}], feeds) for _ in range(3)]
            assert found == expected and session.last is not None
            dump = session.last
            assert session.run(loss, feeds) != expected[2][0]  # the steps were made once each
    np.testing.assert_allclose(dump["y"], np.array([[1, 2], [3, 4]]) @ dump["w/read:0"], rtol=1e-6)
    assert dump[loss] == expected[2][0] and dump[loss.op] == dump["loss"]
    assert dump[x].tolist() == [[1, 2], [3, 4]] and "w:0" in dump and "init" not in dump
    names = [datum.name for datum in dump]
    assert names[0] == "x:0" and names.index("y:0") < names.index("logarithm:0")
    assert len(dump) == len(names) and any(n.startswith("gradients/") for n in names)


@TARGETS
def test_the_first_value_that_is_not_finite_is_found(target: str) -> None:
    with tf.Graph().as_default():
        x, loss, step = model()
        tf.constant([np.inf], name="mask")
        session = tf.debug.DebugSession(tf.Session(target))
        session.run(tf.global_variables_initializer())
        session.run(loss, {x: [[1, 2]]})
        assert session.last is not None and session.last.first_nonfinite() is None
        session.run(step, {x: [[1, 2], [-3, -4], [-2, 1]]})
        found = session.last.first_nonfinite()
        assert found is not None and found.op.name == "logarithm" and found.op.type == "Log"
        assert found.source.file == "test_debug.py" and found.source.function == "model"
        assert [datum.name for datum in found.inputs] == ["y:0"]
        text = str(found).splitlines()
        assert text[0].startswith("Log 'logarithm' (test_debug.py:")
        assert text[0].endswith("in model) made the first value that is not finite:")
        assert text[1].startswith("  logarithm:0 float32[3,1] in ")
        assert text[1].endswith(", 1 NaN, 1 Inf of 3")
        assert text[2] == "  from y:0 float32[3,1] in -11 .. 5"
        session.run(loss, {x: [[np.nan, 1]]})
        found = session.last.first_nonfinite()
        assert "Placeholder 'x'" in str(found) and "was fed with" in str(found)


@TARGETS
def test_a_run_may_be_stopped_by_what_is_not_finite(target: str) -> None:
    with tf.Graph().as_default():
        x, loss, _ = model()
        session = tf.debug.DebugSession(tf.Session(target), stop_on_nonfinite=True)
        session.run(tf.global_variables_initializer())
        assert np.isfinite(session.run(loss, {x: [[1, 1]]}))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Log 'logarithm'") as caught:
            session.run(loss, {x: [[-1, 0]]})
        assert caught.value.op is loss.graph.get_operation_by_name("logarithm")
        assert session.last is not None and np.isnan(session.last["loss"])


@TARGETS
def test_what_is_recorded_may_be_chosen(target: str) -> None:
    with tf.Graph().as_default():
        x, loss, _ = model()
        inner = tf.Session(target)
        inner.run(tf.global_variables_initializer())
        feeds = {x: [[-1, 0]]}

        def names(**options: Any) -> list[str]:
            session = tf.debug.DebugSession(inner, **options)
            session.run(loss, feeds)
            assert session.last is not None
            return [datum.name for datum in session.last]

        assert names(watch="lo") == ["logarithm:0", "loss:0"]
        assert names(watch=lambda t: t.op.type == "MatMul") == ["y:0"]
        bad = tf.debug.has_inf_or_nan
        assert names(tensor_filter=bad) == ["logarithm:0", "loss:0"]
        assert names(tensor_filter=lambda datum, array: array.ndim == 0) == ["loss:0"]
        session = tf.debug.DebugSession(inner)
        session.run(loss, feeds)
        assert session.last is not None
        assert [d.name for d in session.last.find(bad, first_n=1)] == ["logarithm:0"]
        assert [d.node_name for d in session.last.find(lambda d, _: d.fed)] == ["x"]


@TARGETS
def test_a_listing_shows_ranges_and_lines(target: str) -> None:
    with tf.Graph().as_default():
        x, loss, _ = model()
        text = tf.constant("words")
        session = tf.debug.DebugSession(tf.Session(target))
        session.run(tf.global_variables_initializer())
        session.run([loss, tf.identity(text, name="said"), tf.identity(1j)], {x: [[1, 2], [-3, 2]]})
        lines = [line.split() for line in str(session.last).splitlines()]
        rows = {line[0]: line[1:] for line in lines}
        assert rows["tensor"][:2] == ["operation", "type"]
        assert rows["x:0"][:5] == ["fed", "float32[2,2]", "-3", "2", "0.5"]
        assert rows["y:0"][:5] == ["MatMul", "float32[2,1]", "1", "5", "3"]
        assert rows["y:0"][5].startswith("test_debug.py:") and rows["said:0"][1] == "string[]"
        assert "Const:0" not in rows and session.last is not None
        assert "Const:0" in session.last.listing(constants=True)
        tree = session.list_inputs(loss).splitlines()
        assert tree[0].startswith("loss:0 float32[] in ") and "= Mean (test_debug.py:" in tree[0]
        assert [line.split(":")[0] for line in tree] == [
            *("loss", "  logarithm", "    y", "      x", "      w/read", "        w"),
        ]


def test_the_inputs_of_a_long_chain_are_listed() -> None:
    with tf.Graph().as_default():
        y = tf.constant(0.0)
        for _ in range(1500):
            y = tf.negative(y)
        session = tf.debug.DebugSession(tf.Session())
        session.run(y)
        assert len(session.list_inputs(y).splitlines()) == 1501


@TARGETS
def test_feeds_of_inner_values_and_fetches_that_are_fed(target: str) -> None:
    with tf.Graph().as_default():
        x, loss, _ = model()
        y = x.graph.get_tensor_by_name("y:0")
        session = tf.debug.DebugSession(tf.Session(target))
        assert session.run([y, loss], {y: [[1.0]]})[0] == 1
        assert session.last is not None
        assert [datum.name for datum in session.last if datum.op.op != "Constant"] == [
            *("y:0", "logarithm:0", "loss:0"),
        ]
        assert session.run(y, {y: [[3.0]]}) == 3 and session.last["y"] == 3


@TARGETS
def test_a_debug_session_is_the_default_one_for_eval(target: str) -> None:
    with tf.Graph().as_default():
        y = tf.constant(2.0, name="two") * 3.0
        with tf.debug.DebugSession(tf.Session(target)) as session:
            assert y.eval() == 6 and session.last is not None and session.last["two"] == 2
        with pytest.raises(RuntimeError, match="closed"):
            session.run(y)
        with pytest.raises(RuntimeError, match="closed"):
            session._wrapped.run(y)


@TARGETS
def test_loops_are_recorded_where_they_come_out(target: str) -> None:
    with tf.Graph().as_default():
        y = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a / 0.0), [0, 1.0], name="loop")
        session = tf.debug.DebugSession(tf.Session(target))
        session.run(y)
        assert session.last is not None
        found = session.last.first_nonfinite()
        assert found is not None and found.op.type == "While" and found.datum.output_slot == 1


@TARGETS
def test_of_a_loop_what_a_run_computes_is_recorded(target: str) -> None:
    with tf.Graph().as_default():
        w = tf.Variable(2.0)  # never initialized
        step = lambda i, x: (i + 1, x * w)  # noqa: E731
        last, _ = tf.while_loop(lambda i, _: i < 3, step, [0, 1.0], name="turns")
        with tf.debug.DebugSession(tf.Session(target)) as session:
            assert session.run(last) == 3
            assert session.last is not None
            names = [datum.name for datum in session.last]
    assert "turns/Loop:0" in names and "turns/Loop:1" not in names


def test_mistakes_are_explained() -> None:
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="expected a tf.Session"):
            tf.debug.DebugSession(None)
        y = tf.constant(1.0, name="y")
        session = tf.debug.DebugSession(tf.Session())
        with pytest.raises(RuntimeError, match="nothing has run"):
            session.list_inputs(y)
        session.run(y)
        assert session.last is not None
        for what in (session.last.__getitem__, session.list_inputs):
            with pytest.raises(KeyError, match="did not record 'other:0'"):
                what("other")


# ---- printing ----


def test_a_graph_ends_with_what_it_has() -> None:
    with tf.Graph().as_default() as graph:
        x, loss, _ = model()
        tf.Variable(tf.zeros([10]), trainable=False)
        tf.cond(loss > 0, lambda: loss * 2.0, lambda: loss)
        lines = str(graph).splitlines()
    assert lines[0].startswith("x = Placeholder(): float32[?,2]")
    assert lines[-3].startswith(f"# {len(graph.operations)} operations and 2 in loops")
    assert lines[-2] == "# inputs: x float32[?,2]"
    assert lines[-1] == "# variables: 2; trainable: 1 with 2 numbers"


def test_of_a_long_graph_the_end_is_printed() -> None:
    with tf.Graph().as_default() as graph:
        for i in range(230):
            tf.constant(i, name=f"c{i}")
        lines = str(graph).splitlines()
        assert lines[0] == "... 30 operations before these; tf.debug.listing(graph) shows all"
        assert lines[1].startswith("c30 = ") and len(lines) == 202
        assert tf.debug.listing().startswith("c0 = ") and "c229 = " in tf.debug.listing(graph)
        assert lines[-1] == "# 230 operations"


def test_an_operation_prints_its_fields() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        with tf.device("/cpu:0"), tf.control_dependencies([tf.no_op(name="first")]):
            y = tf.reduce_sum(x, 1, name="y")
        big = tf.constant(np.zeros(10**6))
    text = str(y.op).splitlines()
    assert text[:3] == ['name: "y"', 'op: "Sum"', 'input: "x"'] and 'input: "^first"' in text
    assert 'device: "/device:CPU:0"' in text and "output: y:0 float32[?]" in text
    assert text[-1].startswith("made in: test_debug.py:")
    assert len(str(big.op)) < 300
