"""Messages that are put together from pieces of bytes say what their fields would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import graphio as tf
from graphio.export import graph_message, node_message
from graphio.schema import wire
from graphio.schema.model_pb2 import Graph, Node, Variable

NUMBERS = st.integers(0, 2**32 - 1)


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=400))
def test_a_text_is_written_as_protobuf_writes_it(text: str) -> None:
    piece = wire.sized(wire.tag(Node, "name"), text.encode())
    assert piece == Node(name=text).SerializeToString()


@given(NUMBERS)
def test_a_number_is_written_as_protobuf_writes_it(number: int) -> None:
    piece = wire.number_tag(Variable, "value") + wire.varint(number)
    assert piece == Variable(value=number).SerializeToString()


def test_pieces_are_added_in_their_order_however_many_there_are() -> None:
    names = [f"node{i}" for i in range(10_000)]
    tag = wire.tag(Graph, "target")
    message = Graph(target=["first"])
    wire.merge(message, (wire.sized(tag, name.encode()) for name in names))
    assert list(message.target) == ["first", *names]


def test_a_node_with_long_names_many_inputs_and_all_kinds_of_attributes_is_written_whole() -> None:
    long = "x" * 300
    with tf.Graph().as_default() as graph, tf.device("/cpu:0"):
        inputs = [tf.constant(float(i), name=f"c{i}") for i in range(200)]
        attrs = {
            "a": "text", "b": b"\xff", "c": [], "d": [1, -2], "e": 0.5, "f": tf.float32,
            "g": (tf.int64, tf.TensorShape([None, 2])), "h": -7, "i": None, "j": ["p", "q"],
        }  # fmt: skip
        with tf.control_dependencies([inputs[-1]]):
            made = graph.create_op(
                "Own", [None, *inputs[:-1]], [(tf.float32, tf.TensorShape(None))] * 2, attrs,
                domain="own", version=3, name=long,
            )  # fmt: skip
    node = node_message(made)
    assert (node.name, node.op, node.domain, node.version) == (long, "Own", "own", 3)
    assert (node.device, node.source.line) == ("/device:CPU:0", made.source.line)
    assert list(node.input) == ["", *(t.op.name for t in inputs[:-1])]
    assert list(node.control_input) == [inputs[-1].op.name]
    assert [kind.WhichOneof("kind") for kind in node.output_type] == ["tensor", "tensor"]
    held = {a.key: a.value for a in node.attr}
    assert list(held) == ["a", "b", "c", "d", "e", "f", "g", "h", "j"]
    assert (held["a"].s, held["b"].s, held["e"].f) == (b"text", b"\xff", 0.5)
    assert held["c"].HasField("ints") and list(held["d"].ints.i) == [1, -2]
    assert (held["f"].i, held["h"].i) == (tf.float32.number, -7)
    assert [d.size for d in held["g"].type.tensor.shape.dim] == [0, 2]
    assert list(held["j"].strings.s) == [b"p", b"q"]


def test_equal_attributes_of_other_kinds_are_not_mistaken_for_each_other() -> None:
    with tf.Graph().as_default() as graph:
        values = (1, 1.0, True, 0.0, -0.0, "1", b"1")
        for value in values:
            graph.create_op("Own", [], [], {"a": value}, domain="own", name="own")
    held = [node.attr[0].value for node in graph_message(graph).node]
    kinds = [value.WhichOneof("value") for value in held]
    assert kinds == ["i", "f", "i", "f", "f", "s", "s"]
    assert str(held[4].f) == "-0.0"
