"""tf.debug.watch: values that stop, warn or call while a session runs."""

from __future__ import annotations

import builtins
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.support import logging


@pytest.fixture(autouse=True)
def a_graph_of_its_own() -> Any:
    with tf.Graph().as_default():
        yield


def logarithm() -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [None], name="x")
    return x, tf.reduce_sum(tf.log(x, name="part/log"), name="sum")


def test_a_nan_stops_the_run_and_names_the_operation_and_what_it_read() -> None:
    x, total = logarithm()
    session = tf.Session("runtime")
    want = session.run(total, {x: [1, 2]})
    watch = tf.debug.watch(session)
    assert session.run(total, {x: [1, 2]}) == want and watch.hits == 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="watched for") as error:
        session.run(total, {x: [1, -2]})
    assert error.value.op is not None and error.value.op.name == "part/log"
    text = error.value.message
    assert "Log 'part/log' (test_watchpoints.py:" in text and "(has_inf_or_nan)" in text
    assert "part/log:0 float32[2] in 0 .. 0, 1 NaN of 2" in text and "from x:0 float32[2]" in text
    watch.remove()
    watch.remove()
    assert np.isnan(session.run(total, {x: [1, -2]})) and watch.hits == 1


def test_a_watch_ends_with_its_with_statement() -> None:
    x, total = logarithm()
    session = tf.Session("runtime")
    with pytest.raises(tf.errors.InvalidArgumentError), tf.debug.watch(session):
        session.run(total, {x: [-1]})
    assert np.isnan(session.run(total, {x: [-1]}))


@pytest.mark.parametrize(
    "choose, names",
    [
        (lambda a, b: None, ["a/exp:0", "b/exp:0", "both:0"]),
        (lambda a, b: "a/", ["a/exp:0"]),
        (lambda a, b: a, ["a/exp:0"]),
        (lambda a, b: [a, b.op], ["a/exp:0", "b/exp:0"]),
        (lambda a, b: lambda tensor: tensor.op.type == "Exp", ["a/exp:0", "b/exp:0"]),
    ],
    ids=["all", "pattern", "tensor", "list", "function"],
)
def test_what_is_watched(choose: Any, names: list[str]) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    a, b = tf.exp(x, name="a/exp"), tf.exp(x + 1.0, name="b/exp")
    both = tf.add(a, b, name="both")
    seen: list[str] = []
    with tf.Session("runtime") as session:

        def large(datum: Any, array: Any) -> bool:
            return bool(array > 2)

        tf.debug.watch(session, choose(a, b), large, lambda hit: seen.append(hit.datum.name))
        session.run(both, {x: 1.0})
    assert [name for name in seen if name != "add:0"] == names


def test_a_condition_is_looked_at_in_every_turn_of_a_loop_and_in_branches() -> None:
    x = tf.placeholder(tf.float32, [], name="x")

    def turn(i: Any, y: Any) -> Any:
        return i + 1, tf.cond(y > 10, lambda: tf.log(-y, name="bad"), lambda: y * 2.0)

    _, y = tf.while_loop(lambda i, y: i < 6, turn, [0, x])
    session = tf.Session("runtime")
    hits: list[Any] = []
    with tf.debug.watch(session, when=tf.debug.has_inf_or_nan, then=hits.append) as watch:
        session.run(y, {x: 3.0})
    assert watch.hits == len(hits) > 0 and hits[0].op.type == "Log"
    assert [d.array for d in hits[0].inputs] == [-12]
    tf.debug.watch(session)
    with pytest.raises(tf.errors.InvalidArgumentError, match="watched for") as error:
        session.run(y, {x: 3.0})
    assert error.value.op is not None and error.value.op is hits[0].op


def test_a_watch_may_log(monkeypatch: Any) -> None:
    x, total = logarithm()
    logged: list[str] = []
    monkeypatch.setattr(logging, "warning", lambda text, *values: logged.append(text % values))
    with tf.Session("runtime") as session, tf.debug.watch(session, "part/", then="log"):
        assert np.isnan(session.run(total, {x: [-1]}))
    (text,) = logged
    assert text.startswith("Log 'part/log' (test_watchpoints.py:") and "1 NaN of 1" in text


def test_a_watch_may_stop_in_the_debugger(monkeypatch: Any, capsys: Any) -> None:
    x, total = logarithm()
    seen: dict[str, Any] = {}
    monkeypatch.setattr(builtins, "breakpoint", lambda: seen.update(sys._getframe(1).f_locals))
    with tf.Session("runtime") as session, tf.debug.watch(session, "part/", then="break"):
        session.run(total, {x: [-1]})
    assert np.isnan(seen["value"]).all() and seen["of"]["x:0"].tolist() == [-1]
    assert seen["hit"].op.name == "part/log" and "1 NaN of 1" in capsys.readouterr().out


def test_a_function_of_a_watch_may_run_the_session() -> None:
    v = tf.Variable(1.0, name="v")
    grown = tf.assign_add(v, 1.0)
    found: list[Any] = []
    with tf.Session("runtime") as session:
        session.run(v.initializer)
        tf.debug.watch(
            session, grown, lambda d, a: a > 2, lambda hit: found.append(session.run(v * 10.0))
        )
        for _ in range(3):
            session.run(grown)
    assert found == [30, 40]


def test_what_a_condition_raises_comes_out() -> None:
    x, total = logarithm()

    def broken(datum: Any, array: Any) -> bool:
        raise ZeroDivisionError("mine")

    with (
        tf.Session("runtime") as session,
        tf.debug.watch(session, when=broken),
        pytest.raises(ZeroDivisionError, match="mine"),
    ):
        session.run(total, {x: [1]})


def test_a_watched_training_gives_the_same_values() -> None:
    rng = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [None, 4])
    out = tf.layers.dense(tf.layers.dense(x, 8, tf.nn.relu), 1)
    loss = tf.reduce_mean(tf.square(out - tf.reduce_sum(x, 1, keepdims=True)))
    train = tf.train.AdamOptimizer(0.05).minimize(loss)
    init = tf.global_variables_initializer()
    start = [rng.randn(*v.shape.as_list()).astype(np.float32) for v in tf.trainable_variables()]
    feeds = [rng.randn(16, 4).astype(np.float32) for _ in range(5)]
    curves = []
    for watched in (False, True):
        with tf.Session("runtime") as session:
            session.run(init)
            for variable, value in zip(tf.trainable_variables(), start, strict=True):
                variable.load(value, session)
            if watched:
                tf.debug.watch(session)
            curves.append([session.run([loss, train], {x: feed})[0] for feed in feeds])
    assert curves[0] == curves[1] and curves[0][-1] < curves[0][0]


def test_the_watch_of_a_wrapped_session_is_the_sessions() -> None:
    x, total = logarithm()
    session = tf.Session("runtime")
    wrapped = tf.debug.DebugSession(session)
    with tf.debug.watch(session), pytest.raises(tf.errors.InvalidArgumentError):
        wrapped.run(total, {x: [-1]})


def test_traces_of_a_watched_run_have_its_times() -> None:
    x, total = logarithm()
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session("runtime") as session, tf.debug.watch(session):
        session.run(total, {x: [1, 2]}, options, metadata)
    names = {n.node_name for d in metadata.step_stats.dev_stats for n in d.node_stats}
    assert {"part/log", "sum"} <= names


def test_what_cannot_be_watched_is_refused() -> None:
    _, total = logarithm()
    session = tf.Session("runtime")
    with pytest.raises(tf.errors.UnimplementedError, match="tf.debug.watch needs the Python runt"):
        tf.debug.watch(tf.Session("cinfer"))
    with pytest.raises(TypeError, match="got int, expected a tf.Session"):
        tf.debug.watch(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="then is 'stop', expected one of 'raise', 'break', 'log'"):
        tf.debug.watch(session, total, then="stop")
    with pytest.raises(TypeError, match="then is int, expected a function or a word"):
        tf.debug.watch(session, total, then=3)  # type: ignore[arg-type]


def test_pdb_has_the_value_and_what_it_was_made_of(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import graphio as tf\n"
        "x = tf.placeholder(tf.float32, [None], name='x')\n"
        "session = tf.Session('runtime')\n"
        "tf.debug.watch(session, then='break')\n"
        "session.run(tf.log(x, name='log'), {x: [-1]})\n"
    )
    done = subprocess.run(
        [sys.executable, str(program)],
        input="p hit.op.name, hit.op.source.line\np of['x:0'].tolist()\nc\n",
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "('log', 5)" in done.stdout and "[-1.0]" in done.stdout
