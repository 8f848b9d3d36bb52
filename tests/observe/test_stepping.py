"""tf.debug.Stepper: a run of one operation at a time gives what a run gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_graphs import RandomModel

import graphio as tf
from graphio import runtime


@pytest.fixture(autouse=True)
def a_graph_of_its_own() -> Any:
    with tf.Graph().as_default():
        yield


def model() -> tuple[Any, Any, Any]:
    """x, the loss mean(log(x w)), a training step."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.Variable([[1.0], [2.0]], name="w")
    y = tf.matmul(x, w, name="y")
    loss = tf.reduce_mean(tf.log(y, name="logarithm"), name="loss")
    return x, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss)


def ready(target: str = "runtime") -> tf.Session:
    session = tf.Session(target)
    session.run(tf.global_variables_initializer())
    return session


FEED = [[1.0, 2.0], [3.0, 4.0]]


def test_stepping_to_the_end_is_a_run() -> None:
    x, loss, train = model()
    plain, stepped = ready(), ready()
    for _ in range(3):
        want = plain.run({"loss": loss, "rest": [train, x]}, {x: FEED})
        steps = tf.debug.Stepper(stepped, {"loss": loss, "rest": [train, x]}, {x: FEED})
        found = steps.finish()
        assert steps.done and steps.next is None and found["loss"] == want["loss"]
        assert found["rest"][0] is None and np.array_equal(found["rest"][1], want["rest"][1])
    w = tf.global_variables()[0]
    np.testing.assert_array_equal(stepped.run(w), plain.run(w))


def test_each_step_shows_an_operation_with_its_line_and_values() -> None:
    x, loss, _ = model()
    steps = tf.debug.Stepper(ready(), loss, {x: FEED})
    assert steps.last is None and steps.position == 0 and len(steps) > 3
    before = steps.to("y")
    assert before.op.name == "y" and not before.done and before.outputs == ()
    assert before.source.file == "test_stepping.py" and before.source.function == "model"
    assert [d.array.tolist() for d in before.inputs] == [FEED, [[1], [2]]]
    assert before.inputs[0].fed and not before.inputs[1].fed
    with pytest.raises(KeyError, match="no value of 'y:0' yet"):
        steps["y"]
    made = steps.step()
    assert made is not None and made.done and steps.last == made
    assert made.outputs[0].array.tolist() == [[5], [11]]
    assert steps["y"].tolist() == [[5], [11]] and steps[x].tolist() == FEED
    assert "gave y:0 float32[2,1] in 5 .. 11" in str(made) and "(test_stepping.py:" in str(made)
    assert "is next" in str(steps.next)


def test_a_listing_points_at_the_next_operation() -> None:
    x, loss, _ = model()
    steps = tf.debug.Stepper(ready(), loss, {x: FEED})
    steps.to("Log")
    shown = str(steps).splitlines()
    assert shown[0] == f"{steps.position} of {len(steps)} operations have run"
    (arrow,) = [line for line in shown if line.startswith("->")]
    assert "Log 'logarithm' (test_stepping.py:" in arrow and len(steps.listing(0).splitlines()) == 2


def test_going_to_an_operation_by_name_type_pattern_or_itself() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    first = tf.exp(x, name="a/exp")
    second = tf.exp(-first, name="b/exp")
    steps = tf.debug.Stepper(ready(), second, {x: 1.0})
    assert steps.to("Exp").op is first.op and steps.to("Exp").op is second.op
    steps = tf.debug.Stepper(ready(), second, {x: 1.0})
    assert steps.to(r"b/.*").op is second.op
    assert tf.debug.Stepper(ready(), second, {x: 1.0}).to(second).op is second.op
    assert tf.debug.Stepper(ready(), second, {x: 1.0}).to(first.op).op is first.op


def test_going_where_no_operation_is_says_why_and_runs_nothing() -> None:
    x, loss, _ = model()
    steps = tf.debug.Stepper(ready(), loss, {x: FEED})
    with pytest.raises(ValueError, match="'logaritm' is none of this run's.* did you mean 'logar"):
        steps.to("logaritm")
    assert steps.position == 0
    steps.to("loss")
    with pytest.raises(ValueError, match="'y' has run already; 0 are still to run"):
        steps.to("y")
    with pytest.raises(RuntimeError, match=r"1 operations are still to run; finish\(\)"):
        _ = steps.result


def test_stepping_until_a_value_is_not_finite() -> None:
    x, loss, _ = model()
    steps = tf.debug.Stepper(ready(), loss, {x: [[1, 2], [-3, 1]]})
    found = steps.until(tf.debug.has_inf_or_nan)
    assert found is not None and found.name == "logarithm:0" and found.nonfinite == "1 NaN"
    assert steps.last is not None and steps.last.op is found.op and not steps.done
    assert np.isnan(steps.finish())
    fine = tf.debug.Stepper(ready(), loss, {x: FEED})
    assert fine.until(tf.debug.has_inf_or_nan) is None and fine.done


def test_a_variable_changes_when_its_assignment_is_stepped_over() -> None:
    v = tf.Variable(1.0, name="v")
    more = tf.assign_add(v, 2.0, name="more")
    after = tf.multiply(more, 10.0, name="after")
    session = ready()
    steps = tf.debug.Stepper(session, after)
    values = []
    while not steps.done:
        values.append((session.run(v), steps.step()))
    changed = [b.op.name for (a, b), (c, _) in zip(values, values[1:], strict=False) if a != c]
    assert changed == ["more"] and session.run(v) == 3 and steps.result == 30


def test_a_loop_is_one_step() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    i, y = tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 2.0), [0, x])
    steps = tf.debug.Stepper(ready(), [i, y], {x: 1.5})
    ran = [visit.op.op for visit in steps]
    assert ran.count("Loop") == 1 and steps.result == [5, 48]


def test_aliases_and_what_is_constant_are_steps_with_their_own_values() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    same = tf.identity(tf.stop_gradient(x, name="stopped"), name="same")
    steps = tf.debug.Stepper(ready(), same + 1.0, {x: [1, 2]})
    names = [visit.op.name for visit in steps]
    assert names[:2] == ["stopped", "same"] and steps["same"].tolist() == [1, 2]


def test_an_operation_that_fails_is_named_and_nothing_after_it_runs() -> None:
    x = tf.placeholder(tf.float32, [None], name="x")
    v = tf.Variable([1.0, 2.0], name="v")
    with tf.control_dependencies([tf.assign(v, [3.0, 4.0])]):
        bad = tf.add(x, v.read_value(), name="bad")
    session = ready()
    steps = tf.debug.Stepper(session, bad * 2.0, {x: [1, 2, 3]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible.*assigned.*v") as error:
        steps.finish()
    assert error.value.op is bad.op
    assert steps.next is not None and steps.next.op is bad.op
    assert session.run(v).tolist() == [3, 4]


def test_what_cannot_be_stepped_is_refused() -> None:
    x, loss, _ = model()
    with pytest.raises(tf.errors.UnimplementedError, match='tf.Session.target="runtime".'):
        tf.debug.Stepper(ready("cinfer"), loss, {x: FEED})
    with pytest.raises(TypeError, match="got int, expected a tf.Session"):
        tf.debug.Stepper(3, loss)  # type: ignore[arg-type]
    with pytest.raises(tf.errors.FailedPreconditionError, match="w"):
        tf.debug.Stepper(tf.Session("runtime"), loss, {x: FEED})
    closed = ready()
    closed.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        tf.debug.Stepper(closed, loss, {x: FEED})


def test_a_run_of_what_is_fed_has_no_steps() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    steps = tf.debug.Stepper(ready(), x, {x: 2.0})
    assert len(steps) == 0 and steps.done and steps.step() is None and steps.finish() == 2


def test_a_session_that_runs_operations_at_the_same_time_steps_in_order() -> None:
    x, loss, _ = model()
    config = tf.ConfigProto(inter_op_parallelism_threads=4)
    with tf.Session("runtime", config=config) as session:
        session.run(tf.global_variables_initializer())
        want = session.run(loss, {x: FEED})
        steps = tf.debug.Stepper(session, loss, {x: FEED})
        names = [visit.op.name for visit in steps]
        assert names.index("y") < names.index("logarithm") < names.index("loss")
        assert steps.result == want


def outcome(model: Any, run: Any, feeds: Any) -> list[Any]:
    """The results of a run, or its error, and the state after it."""
    try:
        found = run(model.signature("run"), feeds)
    except tf.errors.OpError as error:
        found = [np.array(str(error))]
    return [*found, *map(model.state.get, "vw")]


def in_steps(signature: Any, feeds: Any) -> Any:
    steps, results = signature.stepping(feeds)
    while steps.position < len(steps.nodes):
        steps.step()
    return results()


def visited(signature: Any, feeds: Any) -> Any:
    return signature.run_watched(feeds, None, None, lambda node, inputs, results: None)


@pytest.mark.parametrize("seed", range(0, 120, 2))
def test_stepped_and_visited_runs_of_any_model_give_the_bits_of_a_run(seed: int) -> None:
    made = RandomModel(seed, most_nodes=4 + seed % 24)
    plain = runtime.load(made.data)
    others = [(runtime.load(made.data, separate=True), way) for way in (in_steps, visited)]
    for run in range(3):
        feeds = made.feeds(4 * seed + run)
        want = outcome(plain, lambda signature, feeds: signature.run(feeds), feeds)
        for model, way in others:
            found = outcome(model, way, feeds)
            assert [x.dtype for x in found] == [x.dtype for x in want]
            assert [x.tobytes() for x in found] == [x.tobytes() for x in want]
