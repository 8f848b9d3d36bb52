"""Sequences and optional values: in the engines, the builder, and ONNX files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engines import Builder, module, tensor_type

from graphio.schema import errors
from graphio.schema.model_pb2 import Graph, Type

F32, I64, BOOL = (tensor_type(t) for t in (np.float32, np.int64, np.bool_))
INVALID = errors.InvalidArgumentError


def sequence(kind: Type = F32) -> Type:
    made = Type()
    made.sequence.CopyFrom(kind)
    return made


def optional(kind: Type = F32) -> Type:
    made = Type()
    made.optional.CopyFrom(kind)
    return made


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


class Graphs(Builder):
    """A model over x, y (float32) and i (int64)."""

    def __init__(self) -> None:
        super().__init__()
        self.names = {
            "x": self.placeholder("x", np.float32, None),
            "y": self.placeholder("y", np.float32, None),
            "i": self.placeholder("i", np.int64, None),
        }

    def add(self, op: str, inputs: list[str], kind: Type, version: int = 18, **attrs: Any) -> str:
        name = f"n{len(self.model.graph.node)}"
        self.node(name, op, inputs, [kind], attrs, version=version)
        return name

    def run(self, *outputs: str, x: Any = (1, 2), y: Any = (3, 4), i: int = 0) -> Any:
        self.signature(self.names, {f"y{k}": name for k, name in enumerate(outputs)})
        found = module("runtime").load(self.bytes()).signature()
        result = found(x=np.float32(x), y=np.float32(y), i=np.int64(i))
        return [result[f"y{k}"] for k in range(len(outputs))]


def test_a_sequence_is_made_changed_and_read() -> None:
    g = Graphs()
    made = g.add("SequenceConstruct", ["x", "y"], sequence())
    longer = g.add("SequenceInsert", [made, "y", "i"], sequence())
    shorter = g.add("SequenceErase", [longer], sequence())
    at = g.add("SequenceAt", [shorter, "i"], F32)
    length = g.add("SequenceLength", [longer], I64)
    joined = g.add("ConcatFromSequence", [longer], F32, axis=0)
    stacked = g.add("ConcatFromSequence", [longer], F32, axis=-1, new_axis=1)
    at, length, joined, stacked, whole = g.run(at, length, joined, stacked, made)
    assert at.tolist() == [3, 4] and length == 3 and length.dtype == np.int64
    assert joined.tolist() == [3, 4, 1, 2, 3, 4]
    assert stacked.tolist() == [[3, 1, 3], [4, 2, 4]]
    assert [v.tolist() for v in whole] == [[1, 2], [3, 4]]


def test_an_empty_sequence_grows_in_a_loop() -> None:
    g = Graphs()
    empty = g.add("SequenceEmpty", [], sequence(), version=11, dtype=1)
    node = g.node("loop", "Loop", ["i", "", empty], [sequence()], version=16)
    body = node.attr.add(key="body").value.g
    for name, kind in (("step", I64), ("go", BOOL), ("s", sequence())):
        body.input.add(name=name).type.CopyFrom(kind)
    made = body.node.add(name="next", op="SequenceInsert", version=11)
    made.input.extend(["s", "x"])
    made.output_type.add().CopyFrom(sequence())
    body.output.extend(["go", "next"])
    body.capture.append("x")
    length = g.add("SequenceLength", ["loop"], I64)
    (found, count) = g.run("loop", length, i=3)
    assert [v.tolist() for v in found] == [[1, 2]] * 3 and count == 3


@pytest.mark.parametrize(
    ("split", "keep", "expected"),
    [
        (None, 1, [[1], [2], [3], [4], [5]]),
        (None, 0, [1, 2, 3, 4, 5]),
        (np.int64(2), 1, [[1, 2], [3, 4], [5]]),
        (np.int64([1, 0, 4]), 1, [[1], [], [2, 3, 4, 5]]),
    ],
)
def test_a_tensor_is_split(split: Any, keep: int, expected: Any) -> None:
    g = Graphs()
    inputs = ["x"] if split is None else ["x", g.constant("split", np.asarray(split))]
    made = g.add("SplitToSequence", inputs, sequence(), version=11, keepdims=keep)
    (found,) = g.run(made, x=[1, 2, 3, 4, 5])
    assert [v.tolist() for v in found] == expected


def test_optional_values_hold_something_or_nothing() -> None:
    g = Graphs()
    full = g.add("Optional", ["x"], optional(), version=15)
    empty = g.add("Optional", [], optional(), version=15, type=F32)
    names = [
        g.add("OptionalHasElement", [full], BOOL),
        g.add("OptionalHasElement", [empty], BOOL),
        g.add("OptionalHasElement", [], BOOL),
        g.add("OptionalGetElement", [full], F32),
        empty,
    ]
    found = g.run(*names)
    assert [bool(v) for v in found[:3]] == [True, False, False]
    assert found[3].tolist() == [1, 2] and found[4] is None


def test_an_if_gives_a_sequence() -> None:
    g = Graphs()
    made = g.add("SequenceConstruct", ["x", "y"], sequence())
    condition = g.add("Cast", ["i"], BOOL, version=13, to=9)
    node = g.node("if", "If", [condition], [sequence()], version=16)
    for key, op in (("else_branch", "SequenceErase"), ("then_branch", "Identity")):
        branch: Graph = node.attr.add(key=key).value.g
        inner = branch.node.add(name=key, op=op, version=16 if op == "Identity" else 11)
        inner.input.append(made)
        inner.output_type.add().CopyFrom(sequence())
        branch.output.append(key)
        branch.capture.append(made)
    length = g.add("SequenceLength", ["if"], I64)
    assert g.run(length, i=1)[0] == 2


def fed(kind: Type, op: str, gives: Type) -> Any:
    b = Builder()
    b.node("s", "Placeholder", [], [kind], {"dtype": 1, "shape": kind}, domain="graphio")
    b.node("y", op, ["s"], [gives], version=18)
    b.signature({"s": "s"}, {"y": "y"})
    return module("runtime").load(b.bytes()).signature()


def test_sequences_and_optional_values_are_fed() -> None:
    count = fed(sequence(), "SequenceLength", I64)
    assert count(s=[f32(1), f32(2, 3)])["y"] == 2
    assert count.run([[f32(1)]])[0] == 1
    holds = fed(optional(), "OptionalHasElement", BOOL)
    assert not holds(s=None)["y"] and holds(s=f32(1))["y"]
    for wrong in (f32(1), [np.int64([1])], None):
        with pytest.raises(INVALID, match="'s'"):
            count.run([wrong])


@pytest.mark.parametrize(
    ("op", "kind", "inputs", "words"),
    [
        ("SequenceAt", F32, ["i"], "position 5 is outside -2 to 1"),
        ("SequenceErase", sequence(), ["i"], "position 5 is outside -2 to 1"),
        ("SequenceInsert", sequence(), ["y", "i"], "position 5 is outside -2 to 2"),
        ("SequenceInsert", sequence(), ["i"], "expected one type"),
        ("ConcatFromSequence", F32, [], "cannot be joined"),
    ],
)
def test_wrong_uses_are_refused(op: str, kind: Type, inputs: list[str], words: str) -> None:
    g = Graphs()
    made = g.add("SequenceConstruct", ["x", "y"], sequence())
    attrs = {"axis": 1} if op == "ConcatFromSequence" else {}
    name = g.add(op, [made, *inputs], kind, version=11, **attrs)
    with pytest.raises(INVALID, match=words):
        g.run(name, x=np.ones((2, 3)), y=np.ones((3, 3)), i=5)


def test_nothing_is_no_element() -> None:
    g = Graphs()
    empty = g.add("Optional", [], optional(), version=15, type=F32)
    with pytest.raises(INVALID, match="holds nothing"):
        g.run(g.add("OptionalGetElement", [empty], F32))


# ---- the builder and ONNX files ----


def onnx_model() -> Any:
    """A sequence and an optional value go in; one with one more element and what it holds out."""
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    one = helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [None])
    kinds = {
        "s": helper.make_sequence_type_proto(one),
        "o": helper.make_optional_type_proto(one),
        "longer": helper.make_sequence_type_proto(one),
        "same": helper.make_optional_type_proto(one),
    }
    value = {k: helper.make_value_info(k, v) for k, v in kinds.items()}
    has = helper.make_tensor_value_info("has", onnx.TensorProto.BOOL, [])
    nodes = [
        helper.make_node("OptionalHasElement", ["o"], ["has"]),
        helper.make_node("Constant", [], ["c"], value_floats=[7.0]),
        helper.make_node("SequenceInsert", ["s", "c"], ["longer"]),
        helper.make_node("Identity", ["o"], ["same"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [value["s"], value["o"]], [has, value["longer"], value["same"]]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])


def check_onnx_model(run: Any) -> None:
    has, longer, same = run([f32(1, 2)], f32(3))
    assert has and [v.tolist() for v in longer] == [[1, 2], [7]] and same.tolist() == [3]
    has, longer, same = run([], None)
    assert not has and [v.tolist() for v in longer] == [[7]] and same is None


def test_a_model_of_sequences_comes_from_onnx_and_goes_back() -> None:
    import graphio.onnx as to_onnx
    from graphio import Graph as TfGraph
    from graphio import Session

    source = onnx_model()
    graph = TfGraph()
    with graph.as_default():
        found = to_onnx.import_model(source)
        assert found.inputs["s"].dtype.name == "sequence(float32)"
        assert found.inputs["o"].shape.as_list() == [None]
        outputs = dict(found.outputs)
        session = Session(graph=graph)

        def run(s: Any, o: Any) -> Any:
            return session.run(list(outputs.values()), {found.inputs["s"]: s, found.inputs["o"]: o})

        check_onnx_model(run)
        for key, wrong in (("s", f32(1)), ("s", None), ("s", [f32(1), ["x"]]), ("o", [["x"]])):
            with pytest.raises((TypeError, ValueError), match="feed"):
                session.run(outputs["has"], {found.inputs[key]: wrong, found.inputs["o"]: None}
                            if key == "s" else {found.inputs["o"]: wrong})  # fmt: skip
        again = to_onnx.export(None, session, found.inputs, outputs)
    for a, b in zip(
        (*source.graph.input, *source.graph.output),
        (*again.graph.input, *again.graph.output),
        strict=True,
    ):
        assert a.type.WhichOneof("value") == b.type.WhichOneof("value")
    model = to_onnx.load(again).signature("predict")
    check_onnx_model(lambda s, o: model.run([s, o]))


def test_a_model_of_sequences_is_saved_and_imported(tmp_path: Any) -> None:
    import graphio as tf
    import graphio.onnx as to_onnx

    graph = tf.Graph()
    with graph.as_default():
        found = to_onnx.import_model(onnx_model())
        x = tf.placeholder(tf.float32, [None], name="x")
        empty = to_onnx.call("Optional", type=(tf.float32, x.shape))
        pair = to_onnx.call("SequenceConstruct", x, x)
        assert empty.dtype.name == "optional(float32)" and pair.shape.as_list() == [None]
        outputs = {**found.outputs, "empty": empty, "pair": pair}
        with tf.Session() as session:
            tf.saved_model.save(
                tmp_path / "m.gio", session, {"f": ({**found.inputs, "x": x}, outputs)}
            )
    result = tf.saved_model.load(tmp_path / "m.gio").signature("f")(s=[f32(1)], o=None, x=f32(5))
    assert result["empty"] is None and [v.tolist() for v in result["pair"]] == [[5], [5]]
