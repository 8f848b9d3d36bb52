"""Small names of tf: messages, the horizon of compatibility, user_ops, autograph."""

from __future__ import annotations

import pytest
from google.protobuf import text_format

import graphio as tf
from graphio.schema import tensorflow_pb2


def test_messages_have_tensorflows_bytes() -> None:
    # from TensorFlow 2.21
    assert tf.LogMessage(level=20, message="hi").SerializeToString() == b"\x08\x14\x12\x02hi"
    event = tf.Event(log_message=tf.LogMessage(level=tf.LogMessage.ERROR, message="x"))
    assert event.SerializeToString() == b"2\x05\x08(\x12\x01x"
    functions = tf.NameAttrList(name="f")
    functions.attr["k"].i = 3
    assert functions.SerializeToString() == b"\n\x01f\x12\x07\n\x01k\x12\x02\x18\x03"


def test_a_date_is_compared_with_the_horizon() -> None:
    assert tf.compat.forward_compatible(2019, 8, 20)
    assert not tf.compat.forward_compatible(2019, 8, 21)
    with tf.compat.forward_compatibility_horizon(2024, 2, 29):
        assert tf.compat.forward_compatible(2024, 2, 28)
        assert not tf.compat.forward_compatible(2024, 2, 29)
    assert not tf.compat.forward_compatible(2019, 9, 1)
    with pytest.raises(ValueError, match="day"), tf.compat.forward_compatibility_horizon(23, 2, 29):
        pass


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_the_fact_is_tensorflows(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        fact = tf.user_ops.my_fact()
        assert (fact.op.name, session.run(fact)) == ("Fact", b"0! == 1")


def test_no_function_is_converted(capsys: pytest.CaptureFixture[str]) -> None:
    @tf.autograph.experimental.do_not_convert
    def doubled(x: int) -> int:
        """Twice."""
        tf.autograph.experimental.set_loop_options(parallel_iterations=1)
        tf.autograph.trace("x is", x)
        return 2 * x

    tf.autograph.set_verbosity(3, alsologtostdout=True)
    assert (doubled(3), doubled.__name__, doubled.__doc__) == (6, "doubled", "Twice.")
    assert tf.autograph.experimental.do_not_convert()(len)("ab") == 2
    assert capsys.readouterr().out == "x is 3\n"
    with pytest.raises(AttributeError, match=r"write tf\.cond and tf\.while_loop"):
        tf.autograph.to_graph  # noqa: B018


def test_descriptions_of_old_summaries_are_read() -> None:
    node = tf.NodeDef(name="s", op="TensorSummary")
    node.attr["description"].s = b'{"typeHint": "scalar"}'
    assert tf.summary.get_summary_description(node) == tf.summary.SummaryDescription(
        type_hint="scalar"
    )
    # bytes from TensorFlow 2.21
    assert tf.summary.SummaryDescription(type_hint="scalar").SerializeToString() == b"\n\x06scalar"
    tagged = tf.summary.TaggedRunMetadata(tag="a", run_metadata=b"z")
    assert tagged.SerializeToString() == b"\n\x01a\x12\x01z"
    with pytest.raises(ValueError, match="on TensorSummaryV2"):
        tf.summary.get_summary_description(tf.NodeDef(name="s", op="TensorSummaryV2"))


def test_contrib_util_knows_parts_of_constants_and_the_types_of_a_graph() -> None:
    with tf.Graph().as_default() as graph:
        stacked = tf.stack([tf.constant(3), tf.placeholder(tf.int32, []), tf.constant(5)])
        assert tf.contrib.util.constant_value(stacked) is None
        assert tf.contrib.util.constant_value(stacked, partial=True).tolist() == [3, None, 5]
        assert tf.contrib.util.constant_value(tf.constant([1, 2])).tolist() == [1, 2]
        used = tf.contrib.util.ops_used_by_graph_def(graph.as_graph_def())
    assert {"Const", "Placeholder", "Pack"} <= set(used) and len(set(used)) == len(used)
    text = (
        "node { name: 'a' op: 'F' } node { name: 'b' op: 'Add' } library { function { signature "
        "{ name: 'F' } node_def { op: 'Mul' } node_def { op: 'F' } node_def { op: 'Add' } } }"
    )
    with_function = text_format.Parse(text, tensorflow_pb2.GraphDef())
    assert sorted(tf.contrib.util.ops_used_by_graph_def(with_function)) == ["Add", "Mul"]
