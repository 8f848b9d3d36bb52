"""tf.Module: names, and what is found among the attributes."""

from __future__ import annotations

from typing import Any

import pytest

import graphio as tf


class DenseLayer(tf.Module):
    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        with self.name_scope:
            self.w = tf.Variable(1.0, name="w")
            self.a = tf.Variable(2.0, name="a", trainable=False)

    @tf.Module.with_name_scope
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        """Scales."""
        return tf.multiply(x, self.w, name="scaled")


class MyRNNStack(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        with self.name_scope:
            self.layers: list[Any] = [DenseLayer(), {"z": DenseLayer("z"), "b": DenseLayer("b")}]
            self.again = self.layers[0]
            self.bias = tf.Variable(0.0, name="bias")


def test_names_come_from_the_class_and_the_scopes_around() -> None:
    with tf.Graph().as_default():
        stack = MyRNNStack()
        assert (stack.name, stack.layers[0].name) == ("my_rnn_stack", "dense_layer")
        assert stack.layers[0].w.name == "my_rnn_stack/dense_layer/w:0"
        one, two = (stack.layers[1]["b"](tf.constant(1.0)).op.name for _ in range(2))
        assert (one, two) == ("my_rnn_stack/b/scaled", "my_rnn_stack/b/scaled_1")
        assert MyRNNStack().bias.name == "my_rnn_stack_1/bias:0"
        assert stack.layers[0].__call__.__doc__ == "Scales."
        assert tf.Module(name="given").name == "given"
        with pytest.raises(ValueError, match="is not a valid module name"):
            tf.Module(name="a-b")


def test_variables_and_modules_are_found_each_once_in_the_order_of_names() -> None:
    with tf.Graph().as_default():
        stack = MyRNNStack()
        first, rest = stack.layers[0], stack.layers[1]
        assert stack.submodules == (first, rest["b"], rest["z"])
        assert [v.op.name.removeprefix("my_rnn_stack/") for v in stack.variables] == [
            "bias", "dense_layer/a", "dense_layer/w", "b/a", "b/w", "z/a", "z/w",
        ]  # fmt: skip
        assert stack.trainable_variables == (stack.bias, first.w, rest["b"].w, rest["z"].w)
        paths = [path for path, _ in stack._flatten(
            predicate=lambda value: value is first.w, with_path=True
        )]  # fmt: skip
        assert paths == [("again", "w"), ("layers", 0, "w")]
        assert rest["b"].submodules == ()
