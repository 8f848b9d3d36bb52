"""Messages that are put together from pieces of bytes say what their fields would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphio as tf
from graphio.framework import source
from graphio.model.export import graph_message, node_message
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
            made = graph.add_operation(
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
            graph.add_operation("Own", [], [], {"a": value}, domain="own", name="own")
    held = [node.attr[0].value for node in graph_message(graph).node]
    kinds = [value.WhichOneof("value") for value in held]
    assert kinds == ["i", "f", "i", "f", "f", "s", "s"]
    assert str(held[4].f) == "-0.0"


# ---- constants that are too large to be copied ----


def _parsed(graph: tf.Graph) -> list[Any]:
    with tf.Graph().as_default() as other:
        tf.import_graph_def(graph.as_graph_def(), name="")
        return [op.attrs["value"] for op in other.operations if op.op == "Constant"]


@pytest.mark.parametrize("size", [1, 1023, 1024, 5000])
def test_constants_of_any_size_are_written_in_a_graph_and_in_bodies_of_bodies(size: int) -> None:
    values = np.arange(size, dtype=np.float32) + 0.125
    with tf.Graph().as_default() as graph:
        tf.constant(values)
        tf.cond(
            tf.constant(True),
            lambda: tf.while_loop(lambda x: x[0] < 1, lambda x: x + values, [tf.zeros([size])]),
            lambda: tf.constant(values + 1),
        )
    written = graph_message(graph)
    large = [a.value.t for n in written.node for a in n.attr if a.key == "value"]
    assert [len(t.data) for t in large][:1] == [4 * size]
    assert (
        written.node[0].SerializeToString() == node_message(graph.operations[0]).SerializeToString()
    )
    text = written.SerializeToString()
    assert text.count(values.tobytes()) == 2 and text.count((values + 1).tobytes()) == 1
    np.testing.assert_array_equal(_parsed(graph)[0], values)


def test_no_large_constant_goes_through_a_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser takes 2 GB at most."""
    pieces: list[int] = []
    sized = wire.sized
    monkeypatch.setattr(wire, "sized", lambda t, c: pieces.append(len(c)) or sized(t, c))
    with tf.Graph().as_default() as graph:
        large = np.zeros(100_000, np.float32)
        tf.cond(tf.constant(True), lambda: tf.constant(large), lambda: tf.constant(large))
        tf.constant(large)
    message = graph_message(graph)
    assert message.ByteSize() > 1_200_000 and max(pieces) < 10_000


@pytest.mark.parametrize("dtype", [">i4", ">f8"])
def test_arrays_of_the_other_byte_order_and_of_subclasses_stay_arrays(dtype: str) -> None:
    class Own(np.ndarray[Any, Any]):
        pass

    for value in (np.array(5, dtype), np.arange(3.0).view(Own)):
        with tf.Graph().as_default() as graph:
            made = graph.add_operation("Own", [], [], {"a": value}, domain="own")
        (attribute,) = node_message(made).attr
        assert attribute.value.WhichOneof("value") == "t"
        assert list(attribute.value.t.dims) == list(value.shape)


def test_nodes_that_differ_in_one_thing_are_distinguished() -> None:
    changes: list[dict[str, Any]] = [
        {}, {"op": "Other"}, {"domain": "another"}, {"version": 2}, {"tf_type": "T"},
        {"outputs": [(tf.int32, [2])]}, {"outputs": [(tf.float32, [3])]},
        {"outputs": [(tf.float32, [None])]}, {"outputs": [(tf.float32, [2])] * 2},
        {"at": source.Source("a.py", 1, "f")}, {"at": source.Source("a.py", 2, "f")},
        {"at": source.Source("a.py", 1, "g")}, {"attrs": {"a": np.float32([0.0, 1.0])}},
        {"attrs": {"a": np.float32([-0.0, 1.0])}}, {"attrs": {"a": np.int32([0, 1])}},
        {"attrs": {"a": np.float32([[0.0, 1.0]])}}, {"attrs": {"a": 1}}, {"attrs": {"a": True}},
        {"attrs": {"a": "1"}}, {"attrs": {"b": 1}},
    ]  # fmt: skip
    with tf.Graph().as_default() as graph:
        for change in changes:
            given = {"op": "Own", "outputs": [(tf.float32, [2])], "attrs": {}, "domain": "own"}
            given |= {"at": source.NOWHERE} | change
            op, outputs, attrs = (given.pop(key) for key in ("op", "outputs", "attrs"))
            shapes = [(dtype, tf.TensorShape(shape)) for dtype, shape in outputs]
            graph.add_operation(op, [], shapes, attrs, **given)
        with tf.device("/cpu:0"):
            graph.add_operation("Own", [], [(tf.float32, tf.TensorShape([2]))], {}, domain="own")
    together = graph_message(graph).node
    alone = [node_message(op) for op in graph.operations]
    assert [n.SerializeToString() for n in together] == [n.SerializeToString() for n in alone]
    assert (
        len({n.SerializeToString().replace(n.name.encode(), b"") for n in alone}) >= len(alone) - 1
    )
