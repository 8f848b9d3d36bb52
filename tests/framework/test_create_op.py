"""Graph.create_op: operations by TensorFlow's type, and what Operation tells of its inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from value_cases import TARGETS

import graphio as tf
from graphio.engine import custom
from graphio.schema import operators


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as made:
        yield made
    for key in [k for k in custom._registered if k[0] == "tensorflow"]:
        del custom._registered[key]
        operators.table()._rows.pop(key, None)


def as_type(dtype: tf.DType) -> tf.AttrValue:
    """An attribute that is an element type."""
    return tf.AttrValue(type=dtype.as_datatype_enum)


@pytest.mark.parametrize("target", TARGETS)
def test_a_known_type_computes(target: str, graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    made = graph.create_op(
        "MatMul", [x, x], [tf.float32], name="m", attrs={"transpose_b": tf.AttrValue(b=True)}
    )
    number = graph.create_op("Cast", [x], attrs={"DstT": as_type(tf.int32)}).outputs[0]
    held = graph.create_op(
        "Const", [], attrs={"value": tf.AttrValue(tensor=tf.make_tensor_proto([[7]]))}
    ).outputs[0]
    assert (made.name, made.type, made.inputs[0]) == ("m", "MatMul", x)
    assert number.dtype == tf.int32 and number.shape.as_list() == [None, 2]
    with tf.Session(target) as session:
        matmul, integers, seven = session.run(
            [made.outputs[0], number, held], {x: [[1.5, 2.0], [0.0, 1.0]]}
        )
    np.testing.assert_array_equal(matmul, [[6.25, 2.0], [2.0, 1.0]])
    np.testing.assert_array_equal(integers, [[1, 2], [0, 1]])
    assert seven.tolist() == [[7]]


@pytest.mark.parametrize("target", TARGETS)
def test_a_constant_of_another_dtype_than_its_value_fails_in_the_run(
    target: str, graph: tf.Graph
) -> None:
    value = tf.AttrValue(tensor=tf.make_tensor_proto([0.5]))
    attrs = {"value": value, "dtype": as_type(tf.int32)}
    wrong = graph.create_op("Const", [], [tf.int32], attrs=attrs).outputs[0]
    right = graph.create_op("Const", [], attrs={**attrs, "dtype": as_type(tf.float32)}).outputs[0]
    assert (wrong.dtype, right.dtype) == (tf.int32, tf.float32)
    with tf.Session(target) as session:
        assert session.run(right) == [0.5]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Type mismatch between value"):
            session.run(wrong)


@pytest.mark.parametrize("target", TARGETS)
def test_an_assignment_takes_the_variables_tensor(target: str, graph: tf.Graph) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    added = graph.create_op("AssignAdd", [v.op.outputs[0], tf.constant([1.0, 1.0])])
    assert added.inputs[0] is graph.get_tensor_by_name("v:0")
    with tf.Session(target) as session:
        session.run(v.initializer)
        session.run(added)
        assert session.run(v).tolist() == [2.0, 3.0]


def test_names_follow_the_scopes(graph: tf.Graph) -> None:
    with graph.name_scope("outer") as scope:
        names = [graph.create_op("Draw", [], [tf.float32]).name for _ in range(2)]
        names.append(graph.create_op("Draw", [], [tf.float32], name=scope).name)
    assert names == ["outer/Draw", "outer/Draw_1", "outer"]


@pytest.mark.parametrize("target", TARGETS)
def test_an_unknown_type_stands_in_the_graph_and_does_not_run(target: str, graph: tf.Graph) -> None:
    first, x = tf.no_op(name="first"), tf.constant(1.0)
    with tf.device("/cpu:0"), tf.control_dependencies([first]):
        made = graph.create_op(
            "Draw", [x], [tf.float32, tf.int64],
            attrs={"sides": tf.AttrValue(i=6), "kind": as_type(tf.bool)},
        )  # fmt: skip
    assert [t.dtype for t in made.outputs] == [tf.float32, tf.int64]
    assert made.outputs[0].shape.ndims is None and made.get_attr("sides") == 6
    assert made.device == "/device:CPU:0"
    assert made.control_inputs == [first]
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.UnimplementedError, match="Draw"):
            session.run(made.outputs[0])


@pytest.mark.parametrize("target", TARGETS)
def test_a_program_may_register_a_type(target: str, graph: tf.Graph) -> None:
    tf.register_operator(
        "tensorflow", "Twice", inputs=["x: T"], outputs=["y: T"], types={"T": "float32"},
        shape=lambda shapes: shapes, kernel=lambda x: 2 * x,
    )  # fmt: skip
    made = graph.create_op("Twice", [tf.constant([1.0, 4.0])])
    assert made.outputs[0].shape.as_list() == [2]
    with tf.Session(target) as session:
        assert session.run(made.outputs[0]).tolist() == [2.0, 8.0]


REFUSED: dict[str, tuple[tuple[Any, ...], type[Exception], str]] = {
    "an input is not a tensor": (("Neg", [1.0]), TypeError, "Input #0 is not a tensor"),
    "an attribute is missing": (("Cast", [None]), ValueError, "no attribute 'DstT'"),
    "an attribute is not a message": (
        ("Neg", [None], None, None, None, {"T": 1}),
        TypeError,
        "expected a tf.AttrValue",
    ),
    "an input is missing": (("MatMul", [None]), ValueError, "2 inputs|is missing"),
    "a part of a branch": (("Switch", [None]), tf.errors.UnimplementedError, "tf.cond"),
    "a variable": (("VariableV2", []), tf.errors.UnimplementedError, "tf.Variable"),
    "a bad name": (("Draw", [], [], None, "a b"), ValueError, "not a valid scope name"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_create_op_refuses(what: str, graph: tf.Graph) -> None:
    arguments, kind, message = REFUSED[what]
    x = tf.constant(1.0)
    before = graph.get_operations()
    inputs = [x if value is None else value for value in arguments[1]]
    with pytest.raises(kind, match=message):
        graph.create_op(arguments[0], inputs, *arguments[2:])
    assert graph.get_operations() == before


def test_a_finished_graph_and_another_graphs_input_are_refused(graph: tf.Graph) -> None:
    other = tf.Graph()
    with other.as_default():
        x = tf.constant(1.0)
    with pytest.raises(ValueError, match="graph"):
        graph.create_op("Draw", [x], [tf.float32])
    graph.finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        graph.create_op("Draw", [], [tf.float32])


# ---- the inputs of an operation ----


def test_inputs_are_a_view_that_cannot_be_written() -> None:
    x = tf.constant(1.0)
    op = tf.negative(x).op
    assert op.inputs == (x,) and list(op.inputs) == [x] and op.inputs[0] is x
    with pytest.raises(AttributeError):
        op.inputs.append(x)
    with pytest.raises(AttributeError):
        op.inputs = ()


@pytest.mark.parametrize("target", TARGETS)
def test_what_assigns_or_reads_a_variable_has_it_among_its_inputs(
    target: str, graph: tf.Graph
) -> None:
    v = tf.get_variable("v", [2])
    tensor = graph.get_tensor_by_name("v:0")
    assign = graph.get_operation_by_name("v/Assign")
    reads = [v.read_value().op, tf.is_variable_initialized(v).op, tf.assign_add(v, [1.0, 1.0]).op]
    assert all(op.inputs[0] is tensor for op in [assign, *reads])
    with tf.Session(target) as session:
        session.run(assign, {assign.inputs[1]: [5.0, 6.0]})
        assert session.run(v).tolist() == [5.0, 6.0]
