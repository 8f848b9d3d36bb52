"""Sequences and optional values: in the engines, the builder, and ONNX files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engines import NAMES, Builder, module, tensor_type

from graphio.schema.model_pb2 import Graph, Type
from graphio.support import errors

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

    def __init__(self, engine: str) -> None:
        super().__init__()
        self.engine = engine
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
        found = module(self.engine).load(self.bytes()).signature()
        result = found(x=np.float32(x), y=np.float32(y), i=np.int64(i))
        return [result[f"y{k}"] for k in range(len(outputs))]


@pytest.fixture(params=NAMES)
def engine(request: Any) -> str:
    return str(request.param)


@pytest.fixture
def g(engine: str) -> Graphs:
    return Graphs(engine)


def test_a_sequence_is_made_changed_and_read(g: Graphs) -> None:
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


def test_an_empty_sequence_grows_in_a_loop(g: Graphs) -> None:
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
def test_a_tensor_is_split(g: Graphs, split: Any, keep: int, expected: Any) -> None:
    inputs = ["x"] if split is None else ["x", g.constant("split", np.asarray(split))]
    made = g.add("SplitToSequence", inputs, sequence(), version=11, keepdims=keep)
    (found,) = g.run(made, x=[1, 2, 3, 4, 5])
    assert [v.tolist() for v in found] == expected


def test_optional_values_hold_something_or_nothing(g: Graphs) -> None:
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


def test_an_if_gives_a_sequence(g: Graphs) -> None:
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


def fed(engine: str, kind: Type, op: str, gives: Type) -> Any:
    b = Builder()
    b.node("s", "Placeholder", [], [kind], {"dtype": 1, "shape": kind}, domain="graphio")
    b.node("y", op, ["s"], [gives], version=18)
    b.signature({"s": "s"}, {"y": "y"})
    return module(engine).load(b.bytes()).signature()


def test_sequences_and_optional_values_are_fed(engine: str) -> None:
    count = fed(engine, sequence(), "SequenceLength", I64)
    assert count(s=[f32(1), f32(2, 3)])["y"] == 2
    assert count.run([[f32(1)]])[0] == 1
    holds = fed(engine, optional(), "OptionalHasElement", BOOL)
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
def test_wrong_uses_are_refused(
    g: Graphs, op: str, kind: Type, inputs: list[str], words: str
) -> None:
    made = g.add("SequenceConstruct", ["x", "y"], sequence())
    attrs = {"axis": 1} if op == "ConcatFromSequence" else {}
    name = g.add(op, [made, *inputs], kind, version=11, **attrs)
    with pytest.raises(INVALID, match=words):
        g.run(name, x=np.ones((2, 3)), y=np.ones((3, 3)), i=5)


def test_nothing_is_no_element(g: Graphs) -> None:
    empty = g.add("Optional", [], optional(), version=15, type=F32)
    with pytest.raises(INVALID, match="holds nothing"):
        g.run(g.add("OptionalGetElement", [empty], F32))


def loop(
    g: Graphs, trips: str, carried: list[str], kinds: list[Type], nodes: Any, gives: Any
) -> str:
    """A Loop over values c0, c1, ...; nodes: (name, op, inputs, type) of the body."""
    node = g.node("loop", "Loop", [trips, "", *carried], kinds, version=16)
    body = node.attr.add(key="body").value.g
    body.input.add(name="step").type.CopyFrom(I64)
    body.input.add(name="go").type.CopyFrom(BOOL)
    for i, kind in enumerate(kinds[: len(carried)]):
        body.input.add(name=f"c{i}").type.CopyFrom(kind)
    for name, op, inputs, kind in nodes:
        made = body.node.add(name=name, op=op, version=18)
        made.input.extend(inputs)
        made.output_type.add().CopyFrom(kind)
    body.output.extend(["go", *gives])
    body.capture.extend(sorted({n for _, _, names, _ in nodes for n in names} & {"x", "y", "i"}))


def pair(g: Graphs) -> tuple[str, str]:
    """The sequences [x] and [x, y]."""
    return (
        g.add("SequenceConstruct", ["x"], sequence()),
        g.add("SequenceConstruct", ["x", "y"], sequence()),
    )


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_sequences_are_swapped_in_a_loop(g: Graphs, trips: int) -> None:
    a, b = pair(g)
    loop(
        g, "i", [a, b], [sequence(), sequence()],
        [("longer", "SequenceInsert", ["c0", "y"], sequence())], ["c1", "longer"],
    )  # fmt: skip
    short, long = [[1, 2]], [[1, 2], [3, 4]]
    for _ in range(trips):
        short, long = long, [*short, [3, 4]]
    found = g.run("loop", "loop:1", a, i=trips)
    assert [[v.tolist() for v in part] for part in found] == [short, long, [[1, 2]]]


def test_a_sequence_stays_as_it_is_in_a_loop(g: Graphs) -> None:
    a, _ = pair(g)
    loop(g, "i", [a], [sequence()], [("same", "Identity", ["c0"], sequence())], ["same"])
    assert [v.tolist() for v in g.run("loop", i=4)[0]] == [[1, 2]]


def test_steps_cannot_be_joined_to_sequences(g: Graphs) -> None:
    a, _ = pair(g)
    loop(
        g, "i", [a], [sequence(), F32],
        [("same", "Identity", ["c0"], sequence()), ("more", "SequenceInsert", ["c0", "x"], F32)],
        ["same", "more"],
    )  # fmt: skip
    with pytest.raises(errors.OpError, match="loop"):
        g.run("loop:1", i=2)


def test_sequences_cannot_be_cut_into_steps(g: Graphs) -> None:
    a, _ = pair(g)
    node = g.node("scan", "Scan", [a], [F32], version=16)
    body = node.attr.add(key="body").value.g
    body.input.add(name="piece").type.CopyFrom(F32)
    body.output.append("piece")
    node.attr.add(key="num_scan_inputs").value.i = 1
    with pytest.raises(INVALID, match="sequence.* cannot be cut into steps"):
        g.run("scan")


def branches(g: Graphs, kind: Type, yes: tuple[str, list[str]], no: tuple[str, list[str]]) -> None:
    """An If on i."""
    condition = g.add("Cast", ["i"], BOOL, version=13, to=9)
    node = g.node("if", "If", [condition], [kind], version=16)
    for key, (op, inputs) in (("else_branch", no), ("then_branch", yes)):
        branch: Graph = node.attr.add(key=key).value.g
        inner = branch.node.add(name=key, op=op, version=18)
        if not inputs:
            inner.attr.add(key="type").value.type.CopyFrom(F32)
        inner.input.extend(inputs)
        inner.output_type.add().CopyFrom(kind)
        branch.output.append(key)
        branch.capture.extend(sorted(inputs))


def test_branches_give_sequences_of_any_length(g: Graphs) -> None:
    a, b = pair(g)
    branches(g, sequence(), ("Identity", [a]), ("SequenceInsert", [b, "x"]))
    length = g.add("SequenceLength", ["if"], I64)
    for i, count in ((1, 1), (0, 3)):
        found, n = g.run("if", length, i=i)
        assert len(found) == n == count
        g.model.ClearField("signature")


def test_branches_give_something_or_nothing(g: Graphs) -> None:
    a, _ = pair(g)
    branches(g, optional(sequence()), ("Optional", [a]), ("Optional", []))
    has = g.add("OptionalHasElement", ["if"], BOOL)
    found, holds = g.run("if", has, i=1)
    assert found[0].tolist() == [1, 2] and holds
    g.model.ClearField("signature")
    found, holds = g.run("if", has, i=0)
    assert found is None and not holds


def test_other_operators_take_no_sequences(g: Graphs) -> None:
    a, _ = pair(g)
    for op, inputs in (("Relu", [a]), ("Shape", [a]), ("Concat", [a, "x"]), ("Add", ["x", a])):
        b = Graphs(g.engine)
        pair(b)
        name = b.add(op, inputs, F32, version=14, **({"axis": 0} if op == "Concat" else {}))
        with pytest.raises(errors.OpError, match="sequence"):
            b.run(name)


@pytest.mark.parametrize("op", ["SequenceLength", "SequenceErase", "ConcatFromSequence"])
def test_operators_on_sequences_take_no_tensors(g: Graphs, op: str) -> None:
    attrs = {"axis": 0} if op == "ConcatFromSequence" else {}
    name = g.add(op, ["x"], I64 if op == "SequenceLength" else F32, version=11, **attrs)
    with pytest.raises(INVALID, match="expected a sequence"):
        g.run(name)


@pytest.mark.parametrize("split", [np.int64(0), np.int64(-1), np.int64([2, 2]), np.int64([6, -1])])
def test_wrong_splits_are_refused(g: Graphs, split: Any) -> None:
    made = g.add("SplitToSequence", ["x", g.constant("s", np.asarray(split))], sequence())
    with pytest.raises(INVALID, match="expected sizes with the sum 5"):
        g.run(made, x=[1, 2, 3, 4, 5])


@pytest.mark.parametrize("split", [None, np.int32(2), np.int64([0, 3])])
@pytest.mark.parametrize("shape", [(2, 3, 2), (0, 3, 2), (2, 3, 0)])
def test_a_tensor_is_split_and_joined_again(g: Graphs, split: Any, shape: Any) -> None:
    inputs = ["x"] if split is None else ["x", g.constant("split", np.asarray(split))]
    cut = g.add("SplitToSequence", inputs, sequence(), version=11, axis=-2)
    joined = g.add("ConcatFromSequence", [cut], F32, version=11, axis=1)
    flat = g.add("SplitToSequence", ["x"], sequence(), version=11, axis=1, keepdims=0)
    stacked = g.add("ConcatFromSequence", [flat], F32, version=11, axis=-2, new_axis=1)
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    pieces, joined, rows, stacked = g.run(cut, joined, flat, stacked, x=x)
    at = {None: [1, 2], 2: [2]}.get(None if split is None else int(split.flat[0]), [0])
    for found, expected in zip(pieces, np.split(x, at, 1), strict=True):
        assert np.array_equal(found, expected)
    assert np.array_equal(joined, x) and np.array_equal(stacked, x)
    assert [r.shape for r in rows] == [(shape[0], shape[2])] * 3


ELEMENTS = ["float32", "float64", "float16", "int8", "int64", "uint16", "bool", "complex64"]


def random_elements(rng: Any, dtype: Any) -> Any:
    shape = rng.integers(0, 4, rng.integers(0, 4))
    if dtype is object:
        return np.array([b"x" * int(n) for n in rng.integers(0, 9, 3)], object)
    return rng.integers(0, 2 if dtype == "bool" else 99, shape).astype(dtype)


@pytest.mark.parametrize("dtype", [*ELEMENTS, object])
def test_edits_of_sequences_of_any_type(engine: str, dtype: Any) -> None:
    rng = np.random.default_rng(7)
    for _ in range(4):
        b = Builder()
        element = tensor_type(dtype)
        kind = sequence(element)
        b.node("s", "Placeholder", [], [kind], {"dtype": element.tensor.dtype, "shape": kind},
               domain="graphio")  # fmt: skip
        start = [random_elements(rng, dtype) for _ in range(rng.integers(0, 4))]
        model, value, outputs = list(start), "s", {"y0": "s"}
        expected = [list(model)]
        for step in range(6):
            name = f"n{step}"
            at = int(rng.integers(-len(model), len(model) + 1))
            where = b.constant(f"at{step}", np.array(at, rng.choice(["int32", "int64"])))
            if at < len(model) and rng.random() < 0.4:
                b.node(name, "SequenceErase", [value, where], [kind], version=11)
                del model[at]
            else:
                item = random_elements(rng, dtype)
                constant = b.constant(f"item{step}", item)
                b.node(name, "SequenceInsert", [value, constant, where], [kind], version=11)
                model.insert(at + len(model) if at < 0 else at, item)
            value = name
            outputs[f"y{step + 1}"] = name
            expected.append(list(model))
        b.signature({"s": "s"}, outputs)
        found = module(engine).load(b.bytes()).signature()
        for _ in range(2):
            result = found(s=start)
            for k, expected_values in enumerate(expected):
                for got, want in zip(result[f"y{k}"], expected_values, strict=True):
                    assert got.dtype == want.dtype and got.shape == want.shape
                    assert got.tolist() == want.tolist()


def test_what_is_fed_must_fit(engine: str) -> None:
    kind = sequence(tensor_type(np.float32, [None, 2]))
    count = fed(engine, kind, "SequenceLength", I64)
    assert count.run([[np.zeros((3, 2), np.float32), np.zeros((0, 2), np.float32)]])[0] == 2
    for wrong in ([np.zeros((2, 3), np.float32)], [np.zeros(2, np.float32)], [None], "text"):
        with pytest.raises(INVALID, match="'s'"):
            count.run([wrong])
    held = fed(engine, optional(kind), "Identity", optional(kind))
    assert held(s=None)["y"] is None and held(s=[])["y"] == []
    assert held(s=[[[1, 2]]])["y"][0].tolist() == [[1, 2]]
    call = held.bind([np.ones((1, 2), np.float32)]) if engine == "cinfer" else None
    assert call is None or call()[0][0].tolist() == call()[0][0].tolist() == [[1, 1]]


def test_no_array_can_be_bound_for_a_sequence() -> None:
    same = fed("cinfer", sequence(), "Identity", sequence())
    assert [v.tolist() for v in same.bind([f32(1), f32(2)])()[0]] == [[1], [2]]
    for given in ([f32(1)], f32(1), None):
        with pytest.raises(INVALID, match="'y' of signature 'run' is sequence"):
            same.bind([f32(1)], outputs=[given])
    holds = fed("cinfer", optional(), "OptionalHasElement", BOOL)
    with pytest.raises(INVALID, match="must be arrays, not list"):
        holds.bind(None, outputs=[[True]])


def test_results_outlive_the_next_run(engine: str) -> None:
    same = fed(engine, sequence(), "Identity", sequence())
    first = same.run([[f32(1, 2)]])[0]
    same.run([[f32(3, 4)]])
    assert first[0].tolist() == [1, 2]


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


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_a_model_of_sequences_comes_from_onnx_and_goes_back(target: str) -> None:
    import graphio.onnx as to_onnx
    from graphio import Graph as TfGraph
    from graphio import Session

    module(target)
    source = onnx_model()
    graph = TfGraph()
    with graph.as_default():
        found = to_onnx.import_model(source)
        assert found.inputs["s"].dtype.name == "sequence(float32)"
        assert found.inputs["o"].shape.as_list() == [None]
        outputs = dict(found.outputs)
        session = Session(target, graph=graph)

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
    model = to_onnx.load(again, target).signature("predict")
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
