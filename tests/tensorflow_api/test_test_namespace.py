"""tf.test: stubs, and comparisons of graphs with TensorFlow's text."""

from __future__ import annotations

import os
from typing import Any

import pytest

import graphio as tf


class Base:
    def method(self) -> str:
        return "base"

    @staticmethod
    def fixed() -> str:
        return "fixed"


class Derived(Base):
    pass


def test_stubs_are_put_back_in_reverse_order() -> None:
    exists = os.path.exists
    with tf.test.StubOutForTesting() as stubs:
        stubs.Set(os.path, "exists", lambda path: 1)
        stubs.Set(os.path, "exists", lambda path: 2)
        stubs.Set(Base, "fixed", staticmethod(lambda: "stub"))
        assert (os.path.exists("/nowhere"), Derived.fixed(), Base().fixed()) == (2, "stub", "stub")
    assert os.path.exists is exists and Base().fixed() == "fixed"


def test_a_smart_stub_replaces_where_the_attribute_is_defined() -> None:
    stubs: Any = tf.test.StubOutForTesting()
    stubs.SmartSet(Derived, "method", lambda self: "stub")
    assert (Base().method(), "method" in vars(Derived)) == ("stub", False)
    with pytest.raises(AttributeError, match="Attribute not found"):
        stubs.SmartSet(Derived, "absent", 1)
    with pytest.raises(AttributeError):
        stubs.Set(Derived, "absent", 1)
    stubs.CleanUp()
    assert Derived().method() == "base"


class Comparisons(tf.test.TestCase):
    def test_a_graph_equals_the_text_of_tensorflows_message(self) -> None:
        with tf.Graph().as_default() as graph, tf.device("/job:worker/replica:2"):
            tf.no_op("a")
        text = 'node { name: "a" op: "NoOp" device: "/job:worker/replica:2" }'
        self.assertProtoEqualsVersion(text, graph.as_graph_def())
        with self.assertRaises(AssertionError):
            self.assertProtoEqualsVersion(text, graph.as_graph_def(), producer=1)
        with self.assertRaises(AssertionError):
            self.assertProtoEqualsVersion(text.replace('"a"', '"b"'), graph.as_graph_def())

    def test_names_made_up_for_tables_do_not_count_if_so_wished(self) -> None:
        def graph_def(name: str) -> Any:
            made = tf.GraphDef()
            node = made.node.add(name="table", op="HashTableV2")
            node.attr["shared_name"].s = name.encode()
            return made

        one, two, three = map(graph_def, ("hash_table_1a-2", "hash_table_9", "mine"))
        tf.test.assert_equal_graph_def(one, two, hash_table_shared_name=True)
        with self.assertRaisesRegex(AssertionError, "differs"):
            tf.test.assert_equal_graph_def(one, two)
        with self.assertRaisesRegex(AssertionError, "differs"):
            tf.test.assert_equal_graph_def(one, three, hash_table_shared_name=True)
