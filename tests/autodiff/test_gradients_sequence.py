"""Gradients through sequences and optional values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradient_check import away, check

import graphio as tf
from graphio.onnx import call


def both(a: Any, b: Any) -> Any:
    return call("SequenceConstruct", a, b)


def joined(sequence: Any, **attrs: Any) -> Any:
    return call("ConcatFromSequence", sequence, **{"axis": 0, **attrs})


@pytest.mark.parametrize("shapes", [np.shape, lambda v: [None] * np.ndim(v)])
@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: call("SequenceAt", both(a * a, b), 0),
        lambda a, b: call("SequenceAt", both(a, b * a[:2]), np.int32(-1)),
        lambda a, b: joined(both(a * a, b)),
        lambda a, b: joined(call("SequenceInsert", both(a, b), a * a, 1)),
        lambda a, b: joined(call("SequenceInsert", both(a, b), a * a, -1)),
        lambda a, b: joined(call("SequenceInsert", both(a * a, b), b)),
        lambda a, b: joined(call("SequenceErase", both(a, b * b))) * a,
        lambda a, b: joined(call("SequenceErase", both(a, b * b), 0)) * b,
        lambda a, b: call("OptionalGetElement", call("Optional", a * a)) * tf.reduce_sum(b),
    ],
)
def test_elements_come_and_go(function: Any, shapes: Any) -> None:
    check(function, [away(3), away(2, seed=3)], shapes=shapes)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("new", [0, 1])
def test_elements_are_joined(axis: int, new: int) -> None:
    check(
        lambda a, b: joined(both(a * b, b), axis=axis, new_axis=new),
        [away(2, 3), away(2, 3, seed=3)],
    )


@pytest.mark.parametrize("split", [None, np.int64(2), np.int64([1, 0, 3])])
@pytest.mark.parametrize("keep", [0, 1])
def test_pieces_of_a_tensor(split: Any, keep: int) -> None:
    def function(x: Any) -> Any:
        more = [] if split is None else [tf.constant(split)]
        pieces = call("SplitToSequence", x * x, *more, axis=-2, keepdims=keep)
        return call("SequenceAt", pieces, -1) * 2.0

    check(function, [away(3, 4, 2)])


def test_several_readers_of_a_sequence() -> None:
    def function(a: Any, b: Any) -> Any:
        s = both(a, b * b)
        first = call("SequenceAt", s, 0)
        return joined(s) * 2.0 + call("SequenceAt", s, 1)[0] * tf.reduce_sum(first)

    check(function, [away(3), away(2, seed=3)], second=False)


def test_a_loop_of_sequences_says_that_it_has_no_gradient() -> None:
    onnx = pytest.importorskip("onnx")
    import graphio.onnx as to_onnx

    helper = onnx.helper
    line = helper.make_tensor_type_proto(1, [2])
    value = [helper.make_tensor_value_info("x", 1, [2])]
    inner = helper.make_graph(
        [helper.make_node("Mul", ["e", "e"], ["m"])],
        "body",
        [helper.make_value_info("e", line)],
        [helper.make_value_info("m", line)],
    )
    graph = helper.make_graph(
        [
            helper.make_node("SequenceConstruct", ["x", "x"], ["s"]),
            helper.make_node("SequenceMap", ["s"], ["t"], body=inner),
            helper.make_node("ConcatFromSequence", ["t"], ["y"], axis=0),
        ],
        "g",
        value,
        [helper.make_tensor_value_info("y", 1, [4])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    with tf.Graph().as_default():
        found = to_onnx.import_model(model)
        with pytest.raises(LookupError, match="no gradient passes through.*sequence"):
            tf.gradients(found.outputs["y"], found.inputs["x"])
