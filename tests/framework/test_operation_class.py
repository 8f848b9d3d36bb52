"""tf.Operation as a constructor, and the lines that operations know."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import graphio as tf


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_an_operation_is_made_from_its_node_def(target: str) -> None:
    with tf.Graph().as_default() as graph, tf.control_dependencies([tf.no_op("open")]):
        x, first = tf.placeholder(tf.float32, [2], name="x"), tf.no_op("first")
        node = tf.NodeDef(name="scope/y", op="Neg", device="/cpu:0")
        with tf.device("/cpu:1"):
            made = tf.Operation(node, graph, [x], [tf.float32], control_inputs=[first])
        assert (made.name, made.type, made.device) == ("scope/y", "Neg", "/device:CPU:0")
        assert made.control_inputs == [first] and graph.get_operation_by_name("scope/y") is made
        with tf.Session(target) as session:
            found = session.run(made.outputs[0], {x: [1.0, -2.0]})
        np.testing.assert_array_equal(found, np.float32([-1.0, 2.0]))


def test_a_type_that_graphio_lacks_has_the_outputs_that_are_given() -> None:
    graph = tf.Graph()
    made = tf.Operation(tf.NodeDef(name="m", op="Mine"), graph, [], [tf.int32, tf.float64])
    assert [t.dtype for t in made.outputs] == [tf.int32, tf.float64]
    assert [t.name for t in made.outputs] == ["m:0", "m:1"]


@pytest.mark.parametrize(
    "name, inputs, control, error, words",
    [
        ("taken", (), (), ValueError, "Duplicate node name in graph: 'taken'"),
        ("", (), (), ValueError, "'' is not a valid node name"),
        ("-a", (), (), ValueError, "'-a' is not a valid node name"),
        ("b", [1.0], (), TypeError, "is not a tensor"),
        ("b", (), ["taken"], TypeError, "Control input must be an Operation"),
        ("b", 3, (), TypeError, "inputs needs to be a list of Tensors"),
    ],
)
def test_what_makes_no_operation_is_refused(
    name: str, inputs: Any, control: Any, error: type[Exception], words: str
) -> None:
    with tf.Graph().as_default() as graph:
        tf.no_op("taken")
        with pytest.raises(error, match=words):
            tf.Operation(tf.NodeDef(name=name, op="Neg"), graph, inputs, control_inputs=control)
        with pytest.raises(TypeError, match="node_def needs to be a NodeDef"):
            tf.Operation(name, graph)
        with pytest.raises(TypeError, match="g needs to be a Graph"):
            tf.Operation(tf.NodeDef(name="b", op="NoOp"), None)  # type: ignore[arg-type]
        assert [op.name for op in graph.get_operations()] == ["taken"]


def test_the_traceback_has_the_line_where_the_function_begins() -> None:
    with tf.Graph().as_default():
        ((file, line, function, _, start),) = tf.constant(1).op.traceback_with_start_lines
    code = inspect.currentframe().f_code  # type: ignore[union-attr]
    assert (file, function) == ("test_operation_class.py", code.co_name)
    assert start == code.co_firstlineno and line == start + 2
