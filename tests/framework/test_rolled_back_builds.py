"""Builds that fail are rolled back, and the names of their scopes are free again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import graphio as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


def test_a_failed_body_leaves_nothing_in_a_collection_that_the_program_holds() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    losses = tf.get_collection_ref("losses")

    def body() -> Any:
        losses.append(tf.square(x))
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        tf.cond(x > 0, body, lambda: x)
    assert losses == [] == tf.get_collection("losses")


@pytest.mark.parametrize("of_graph", [False, True])
def test_control_dependencies_decorate_a_function(graph: tf.Graph, of_graph: bool) -> None:
    first = tf.no_op(name="first")
    maker = graph.control_dependencies if of_graph else tf.control_dependencies

    @maker([first])
    def build() -> tf.Tensor:
        return tf.constant(1.0)

    assert build().op.control_inputs == [first]
    assert tf.constant(1.0).op.control_inputs == []


def test_a_name_scope_decorates_a_function_that_calls_itself(graph: tf.Graph) -> None:
    @graph.name_scope("deep")
    def build(depth: int) -> str:
        return build(depth - 1) if depth else tf.constant(1.0, name="c").name

    assert [build(0), build(1)] == ["deep/c:0", "deep_1/deep/c:0"]
    assert tf.constant(1.0, name="c").name == "c:0"


def test_scopes_within_scopes_note_as_much_as_they_open(graph: tf.Graph) -> None:
    noted = []
    with tf.variable_scope("top") as top:
        pass

    def nest(depth: int) -> None:
        with tf.variable_scope(top), tf.variable_scope(f"at{depth}"):
            if depth:
                nest(depth - 1)
            noted.append(len(graph.journal.entries))

    nest(6)
    small = max(noted)
    noted.clear()
    nest(12)
    assert max(noted) <= 5 * small  # twice for each level would be 64 times


def test_threads_that_enter_scopes_again_end_what_they_began(graph: tf.Graph) -> None:
    with tf.variable_scope("top") as top:
        pass
    failures: list[BaseException] = []

    def build(thread: int) -> None:
        try:
            with graph.as_default():
                for _ in range(30):
                    with tf.variable_scope(top), tf.variable_scope(None, "d"):
                        tf.constant(1.0)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=build, args=(i,)) for i in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failures == []
    assert graph.journal.entries == []
