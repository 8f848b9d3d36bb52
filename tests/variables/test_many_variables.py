"""The work of a program with its variables grows in proportion to their number."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from folders import ROOT
from work_counter import operations

import graphio as tf
from graphio import runtime
from graphio.support import errors

sys.path.insert(0, str(ROOT))

from benchmarks.many_variables import Steps

COUNT = 100
AT_MOST = 2.2  # times the work for twice the variables


def work_of_steps(folder: Path, count: int) -> dict[str, int]:
    """Operations of everything that benchmarks/many_variables.py measures."""
    folder.mkdir()
    return {name: operations(step) for name, step in Steps(count, str(folder))}


def test_twice_the_variables_are_twice_the_work(tmp_path: Path) -> None:
    work_of_steps(tmp_path / "warm", 10)
    one, two = (work_of_steps(tmp_path / str(n), n * COUNT) for n in (1, 2))
    grown = {name: two[name] / one[name] for name in one}
    assert {name: times for name, times in grown.items() if times > AT_MOST} == {}


def in_default_scopes(count: int) -> None:
    for _ in range(count):
        with tf.variable_scope(None, default_name="layer"):
            tf.get_variable("v", [1])


def in_a_scope_entered_again(count: int) -> None:
    with tf.variable_scope("a") as scope:
        pass
    for i in range(count):
        with tf.variable_scope(scope), tf.variable_scope(None, default_name="inner"):
            tf.get_variable(f"v{i}", [1])


def of_one_name(count: int) -> None:
    for i in range(count):
        tf.Variable(float(i), name="v")


def from_another_variable(count: int) -> None:
    last = tf.Variable(1.0)
    for _ in range(count):
        last = tf.Variable(last.initialized_value())


def by_layers(count: int) -> None:
    x = tf.placeholder(tf.float32, [None, 1])
    for _ in range(count // 4):
        x = tf.layers.dense(x, 1)


def trained(count: int) -> None:
    made = [tf.Variable(float(i)) for i in range(count // 4)]
    tf.train.AdamOptimizer().minimize(tf.add_n(made))


def refused(count: int) -> None:
    tf.Variable(1.0, name="v")
    for _ in range(count):
        with pytest.raises(ValueError):
            tf.get_variable("w")


def saved_by_a_dict(count: int) -> None:
    made = [tf.Variable(float(i)) for i in range(count)]
    tf.train.Saver({f"name{i}": v for i, v in enumerate(made)}, max_to_keep=2)


def of_operators_of_a_saver(count: int) -> None:
    for i in range(count):
        tf.Variable(float(i))
    assert tf.train.Saver().saver_def.restore_op_name


def of_an_average(count: int) -> None:
    made = [tf.Variable(float(i)) for i in range(count // 4)]
    tf.train.ExponentialMovingAverage(0.9).apply(made)


def frozen(count: int) -> None:
    made = [tf.Variable(float(i), name=f"v{i}") for i in range(count // 4)]
    total = tf.add_n(made, name="total")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        graph = total.graph.as_graph_def()
        tf.graph_util.convert_variables_to_constants(session, graph, ["total"])


@pytest.mark.parametrize(
    "build",
    [
        in_default_scopes, in_a_scope_entered_again, of_one_name, from_another_variable, by_layers,
        trained, refused, saved_by_a_dict, of_operators_of_a_saver, of_an_average, frozen,
    ],
)  # fmt: skip
def test_ways_to_have_variables_are_linear(build: Callable[[int], None]) -> None:
    def work(count: int) -> int:
        with tf.Graph().as_default():
            return operations(lambda: build(count))

    work(8)
    assert work(2 * COUNT) <= AT_MOST * work(COUNT), f"variables {build.__name__}"


def test_the_collector_is_as_it_was_after_a_model_was_built_and_loaded() -> None:
    def work() -> None:
        with tf.Graph().as_default(), tf.Session() as session:
            session.run(tf.Variable(1.0).initializer)

    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        try:
            work()
            assert gc.isenabled() == enabled
            with pytest.raises(errors.DataLossError):
                runtime.load(b"no model")
            assert gc.isenabled() == enabled
        finally:
            gc.enable()


def test_what_a_failed_call_had_changed_is_rolled_back_and_names_are_free_again() -> None:
    with tf.Graph().as_default() as graph:
        tf.get_variable("v", [1])
        before = [op.name for op in graph.get_operations()]

        def half_done() -> tf.Tensor:
            tf.get_variable("w", [1])
            graph.add_to_collection("own", 1)
            raise ValueError("enough")

        with pytest.raises(ValueError, match="enough"), graph.unchanged_on_error():
            half_done()
        assert [op.name for op in graph.get_operations()] == before
        assert not graph.get_collection("own")
        assert [v.op.name for v in tf.global_variables()] == ["v"]
        assert tf.get_variable("w", [1]).op.name == "w"


def test_default_names_of_scopes_count_from_the_start_in_a_scope_entered_by_name() -> None:
    def inner(outer: object) -> str:
        with tf.variable_scope(outer), tf.variable_scope(None, default_name="in") as scope:
            return str(scope.name)

    with tf.Graph().as_default():
        assert [inner("a"), inner("a"), inner("b")] == ["a/in", "a/in", "b/in"]
        with tf.variable_scope("a") as scope:
            with tf.variable_scope(None, default_name="in"):
                pass
            assert [inner(scope), inner(scope)] == ["a/in_1", "a/in_1"]
            with tf.variable_scope(None, default_name="in") as last:
                assert last.name == "a/in_1"
