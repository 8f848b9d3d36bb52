"""Refusals of the C library's planner: attributes of other kinds, results that are too large or
of too many dimensions, invalid bodies (docs/security.md: S6, S7, S8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import engines
import numpy as np
import pytest

import graphio as tf
from graphio.schema import model_pb2 as pb
from graphio.support import errors

F = np.arange(6, dtype=np.float32).reshape(2, 3)
LONG = "n" * 300


def attribute(**value: Any) -> pb.AttributeValue:
    return pb.AttributeValue(**value)


def one(
    op: str, inputs: list[Any], version: int, domain: str = "", **attrs: Any
) -> tuple[bytes, list[Any]]:
    """A model of one node whose attributes are messages."""
    data, fed = engines.one_node(op, inputs, {}, [np.float32], domain=domain, version=version)
    made = engines.Builder()
    made.model.ParseFromString(data[64 : 64 + int.from_bytes(data[16:24], "little")])
    (node,) = (n for n in made.model.graph.node if n.name == "node")
    for key, value in sorted(attrs.items()):
        node.attr.add(key=key, value=value)
    return made.bytes(), fed


REFUSED: list[tuple[tuple[bytes, list[Any]], type[errors.OpError], str]] = [
    (
        one("LeakyRelu", [F], 16, alpha=attribute(i=1)),
        errors.InvalidArgumentError,
        "attribute alpha is not a float",
    ),
    (
        one("Softmax", [F], 13, axis=attribute(f=1)),
        errors.InvalidArgumentError,
        "attribute axis is not an integer",
    ),
    (
        one("Softmax", [F], 13, axis=attribute(i=2)),
        errors.InvalidArgumentError,
        "axis 2 is out of range for rank 2",
    ),
    (
        one("Softmax", [F], 13, axis=attribute(i=-3)),
        errors.InvalidArgumentError,
        "axis -3 is out of range for rank 2",
    ),
    (
        one("Einsum", [F], 12, equation=attribute(i=1)),
        errors.InvalidArgumentError,
        "attribute equation is not a string",
    ),
    (
        one("Transpose", [F], 13, perm=attribute(i=1)),
        errors.InvalidArgumentError,
        "attribute perm is not a list of integers",
    ),
    (
        one(
            "TfIdfVectorizer",
            [np.int64([1])],
            9,
            mode=attribute(s=b"TF"),
            max_gram_length=attribute(i=1),
            max_skip_count=attribute(i=0),
            min_gram_length=attribute(i=1),
            ngram_counts=attribute(ints={"i": [0]}),
            ngram_indexes=attribute(ints={"i": [0]}),
            pool_int64s=attribute(ints={"i": [1]}),
            weights=attribute(ints={"i": [1]}),
        ),
        errors.InvalidArgumentError,
        "attribute weights is not a list of floats",
    ),
    (
        one("Constant", [], 12, value=attribute(i=1)),
        errors.InvalidArgumentError,
        "attribute value is not a tensor",
    ),
    (
        one("Unsqueeze", [F.reshape((1,) * 14 + (2, 3)), np.int64([0])], 13),
        errors.InvalidArgumentError,
        "rank 17",
    ),
    (
        one("Add", [F, np.ones((1, 2), np.float32)], 14),
        errors.InvalidArgumentError,
        "3 and 2 differ and neither is 1",
    ),
    (
        one("Max", [F, np.ones(1, np.float32), np.ones((3, 1), np.float32)], 13),
        errors.InvalidArgumentError,
        "2 and 3 differ and neither is 1",
    ),
    (
        one("Max", [np.ones(1, np.float32), F, np.ones((3, 3), np.float32)], 13),
        errors.InvalidArgumentError,
        "cannot be broadcast",
    ),
    (
        one("Expand", [F, np.int64([2**40, 2, 3])], 13),
        errors.ResourceExhaustedError,
        "exceeds the session's limit",
    ),
    (
        one("Expand", [F, np.int64([2**62, 2, 3])], 13),
        errors.ResourceExhaustedError,
        "larger than this machine can hold",
    ),
    (
        one("If", [np.array(True)], 1),
        errors.InvalidArgumentError,
        "then_branch is missing or no graph",
    ),
    (
        one("If", [np.array(True)], 1, then_branch=attribute(i=1)),
        errors.InvalidArgumentError,
        "then_branch is missing or no graph",
    ),
    (
        one("RandomUniform", [np.int64([2])], 1, "graphio", generator=attribute(s=LONG.encode())),
        errors.NotFoundError,
        "no random generator",
    ),
    (
        one("ReadVariable", [], 1, "graphio", variable=attribute(s=LONG.encode())),
        errors.NotFoundError,
        "no variable 'n",
    ),
    (
        one("ReadVariable", [], 1, "graphio", variable=attribute(i=1)),
        errors.InvalidArgumentError,
        "attribute variable is not a string",
    ),
    (
        one("Assign", [F], 1, "graphio", variable=attribute(i=1)),
        errors.InvalidArgumentError,
        "attribute variable is not a string",
    ),
]


REPORTED = [
    (
        one(
            "FusedMatMul",
            [F, F.reshape(3, 2)],
            1,
            "graphio",
            nodes=attribute(i=1),
            operands=attribute(ints={"i": [0]}),
            ops=attribute(strings={"s": [b"Relu"]}),
        ),
        "attribute nodes is not a list of strings",
    ),
    (one("Relu", [F, F], 14), "2 inputs, expected 1 to 1"),
]


@pytest.mark.parametrize(("model", "text"), REPORTED)
def test_wrong_nodes_are_named(model: tuple[bytes, list[Any]], text: str) -> None:
    with pytest.raises(errors.InvalidArgumentError) as raised:
        engines.run("cinfer", *model)
    assert text in str(raised.value) and "'node'" in str(raised.value)


def test_nothing_is_no_tensor() -> None:
    """The result of Optional without an input, and a sequence, given to an operator of tensors."""
    for op, reported in (
        ("Optional", "input 0 is an empty optional"),
        ("SequenceEmpty", "input 0 is a sequence"),
    ):
        builder = engines.Builder()
        kind = pb.Type()
        (kind.optional if op == "Optional" else kind.sequence).CopyFrom(
            engines.tensor_type(np.float32)
        )
        attrs = {"type": engines.tensor_type(np.float32)} if op == "Optional" else {"dtype": 1}
        builder.node("held", op, [], [kind], attrs, version=15 if op == "Optional" else 11)
        builder.node("node", "Relu", ["held"], [engines.tensor_type(np.float32)], version=14)
        builder.signature({}, {"y": "node"})
        with pytest.raises(errors.InvalidArgumentError, match=f"{reported}, expected a tensor"):
            engines.run("cinfer", builder.bytes(), [])


@pytest.mark.parametrize(("model", "error", "text"), REFUSED, ids=[text for _, _, text in REFUSED])
def test_nodes_that_cannot_be_planned_are_refused(
    model: tuple[bytes, list[Any]], error: type[errors.OpError], text: str
) -> None:
    with pytest.raises(error) as raised:
        engines.run("cinfer", *model)
    assert text in str(raised.value)


def test_a_double_does_where_a_float_is_expected() -> None:
    data, fed = one("LeakyRelu", [-F], 16, alpha=attribute(d=0.5))
    np.testing.assert_array_equal(engines.run("cinfer", data, fed)[0], -F * np.float32(0.5))


@pytest.mark.parametrize("op", ["Mystery", LONG, ""])
def test_a_producer_that_another_signature_feeds_is_looked_for_when_it_is_needed(op: str) -> None:
    kind = engines.tensor_type(np.float32, [2])
    builder = engines.Builder()
    builder.placeholder("x", np.float32, [2])
    name = op + "1"
    builder.node(name, op, ["x"], [kind], domain="nowhere")
    builder.node("y", "Relu", [name], [kind], version=6)
    builder.signature({"h": name}, {"y": "y"}, name="fed")
    builder.signature({"x": "x"}, {"y": "y"}, name="whole")
    model = engines.module("cinfer").load(builder.bytes())
    fed = model.signature("fed").run([np.float32([1, -1])])[0]
    assert fed.tolist() == [1, 0]
    with pytest.raises(
        errors.UnimplementedError, match=f"{op[:63]} '{name[:127]}': this cinfer lacks the operator"
    ):
        model.signature("whole").run([np.float32([1, -1])])


def test_the_last_of_fused_operators_is_named_with_the_line_that_built_it(tmp_path: Path) -> None:
    """The fused node has its name; of those before it only names are kept."""
    path = tmp_path / "fused.gio"
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        x, z = (tf.placeholder(tf.float32, [None], name=name) for name in "xz")
        early = tf.add(x, z, name="early")
        last = tf.add(tf.nn.relu(x) * 2.0, z, name="last")
        signatures = {
            "early": ({"x": x, "z": z}, {"y": early * 2.0}),
            "last": ({"x": x, "z": z}, {"y": last}),
        }
        tf.saved_model.save(str(path), session, signatures)
    model = engines.module("cinfer").load(path)
    feeds = {"x": np.ones(2, np.float32), "z": np.ones(3, np.float32)}
    with pytest.raises(
        errors.InvalidArgumentError, match=r"Add 'last' \(test_plan_refusals.py:\d+"
    ):
        model.signature("last")(**feeds)
    with pytest.raises(errors.InvalidArgumentError, match="Add 'early': Incompatible shapes"):
        model.signature("early")(**feeds)
