"""Files that a real TensorFlow wrote: its outputs, training, and what is refused.

tests/tensorflow_models/make.py wrote them; TensorFlow is not needed here.
"""

from __future__ import annotations

import functools
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import engines
import numpy as np
import onnx
import pytest
from folders import TENSORFLOW_MODELS
from google.protobuf import text_format
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow_messages import message, node

import graphio as tf
import graphio.onnx
from graphio import tensorflow_files
from graphio.schema import container
from graphio.schema import tensorflow_pb2 as pb

ARCHIVES = TENSORFLOW_MODELS
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
MODELS = (
    "mlp", "cnn", "lstm", "mobilenet", "while_loop", "signatures", "tensorflow1", "frozen_lstm",
)  # fmt: skip
Arrays = dict[str, np.ndarray[Any, Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that TensorFlow wrote."""
    made = tmp_path_factory.mktemp("tensorflow")
    for path in ARCHIVES.glob("*.zip"):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(made)
    return made


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    graph = tf.Graph()
    with graph.as_default():
        yield graph


@pytest.fixture(scope="module")
def converted(folder: Path) -> Callable[[str], bytes]:
    """A model as a file of ours, made once for both engines."""

    @functools.cache
    def convert(name: str) -> bytes:
        data = tensorflow_files.convert(source(folder, name))
        assert data is not None
        return data

    return convert


def source(folder: Path, name: str) -> Path:
    path = folder / name
    return path if path.is_dir() else folder / f"{name}.pb"


def recorded(folder: Path, name: str) -> dict[str, tuple[Arrays, Arrays]]:
    """Inputs and outputs by signature, as TensorFlow computed them."""
    found: dict[str, tuple[Arrays, Arrays]] = {}
    for key, value in np.load(folder / f"{name}.npz").items():
        signature, kind, label = key.split("/", 2)
        ends = found.setdefault("predict" if signature == "main" else signature, ({}, {}))
        ends[kind == "output"][label] = value
    return found


def engine(target: str) -> str:
    engines.module(target)
    return target


def session(target: str = "cinfer", graph: tf.Graph | None = None) -> tf.Session:
    return tf.Session(engine(target), graph=graph)


# ---- TensorFlow's outputs ----


@TARGETS
@pytest.mark.parametrize("name", MODELS)
def test_a_model_gives_what_tensorflow_gives(
    folder: Path, converted: Callable[[str], bytes], name: str, target: str
) -> None:
    model = engines.module(target).load(converted(name))
    for signature, (fed, expected) in recorded(folder, name).items():
        found = model.signature(signature)(**fed)
        for key, value in expected.items():
            np.testing.assert_allclose(found[key], value, rtol=1e-4, atol=1e-4)


@TARGETS
def test_every_operator_gives_what_tensorflow_gives(
    folder: Path, converted: Callable[[str], bytes], target: str
) -> None:
    model = engines.module(target).load(converted("operators"))
    fed, expected = recorded(folder, "operators")["predict"]
    found = model.signature("predict").run([fed[k] for k in model.signature("predict").inputs])
    wrong = []
    for key, value in zip(model.signature("predict").outputs, found, strict=True):
        assert value.dtype == expected[key].dtype and value.shape == expected[key].shape, key
        if not np.allclose(value, expected[key], rtol=1e-4, atol=1e-5, equal_nan=True):
            wrong.append(key)
    assert not wrong and len(found) == len(expected) > 120


@pytest.mark.parametrize("name", MODELS)
def test_a_gradient_step_lowers_the_loss(folder: Path, name: str) -> None:
    found = tensorflow_files.import_model(source(folder, name))
    label, (fed, _) = max(recorded(folder, name).items())
    ends = found.signatures[label]
    output = next(y for _, y in sorted(ends.outputs.items()) if y.dtype.is_floating)
    loss = tf.reduce_mean(tf.square(output - 0.3))
    trainable = tf.trainable_variables()
    assert trainable and {v.name for v in trainable} <= {v.name for v in found.variables.values()}
    step = tf.train.GradientDescentOptimizer(1e-4).minimize(loss)
    feeds = {ends.inputs[key]: value for key, value in fed.items()}
    for target in ("runtime", "cinfer"):
        with session(target) as sess:
            sess.run(tf.global_variables_initializer())
            losses = [sess.run([loss, step], feeds)[0] for _ in range(3)]
        assert losses[0] > losses[1] > losses[2]


def test_statistics_and_counters_are_variables_that_do_not_train(folder: Path) -> None:
    found = tensorflow_files.import_model(folder / "cnn")
    kinds = {name: v.trainable for name, v in found.variables.items()}
    assert kinds["conv2d/kernel"] and kinds["batch_normalization/gamma"]
    assert not kinds["batch_normalization/moving_mean"]
    assert not tensorflow_files.import_model(folder / "signatures").variables["steps"].trainable
    old = tensorflow_files.import_model(folder / "tensorflow1").variables
    assert {n: v.trainable for n, v in old.items()} == {
        "w/part_0": True, "w/part_1": True, "b": False,
    }  # fmt: skip


def test_constants_of_a_frozen_graph_train_where_they_are_weights(folder: Path) -> None:
    path = folder / "while_loop.pb"
    assert set(tensorflow_files.import_model(path).variables) == {"net/w", "net/b"}
    with tf.Graph().as_default():
        assert not tensorflow_files.import_model(path, trainable=False).variables
    with tf.Graph().as_default():
        chosen = tensorflow_files.import_model(path, trainable=lambda name: name == "net/b")
        assert set(chosen.variables) == {"net/b"}
    with pytest.raises(TypeError, match="trainable is 3"):
        tensorflow_files.import_model(path, trainable=3)  # type: ignore[arg-type]


def test_text_is_read_as_bytes_are(folder: Path) -> None:
    fed, expected = recorded(folder, "while_loop")["predict"]
    found = tensorflow_files.load(folder / "while_loop.pbtxt").signature("predict")(**fed)
    np.testing.assert_allclose(found["y"], expected["y"], atol=1e-5)


def test_a_model_becomes_a_file_and_onnx(folder: Path, tmp_path: Path) -> None:
    tensorflow_files.convert(folder / "cnn", tmp_path / "cnn.gio", optimize="approximate")
    (fed, expected) = recorded(folder, "cnn")["serving_default"]
    model = tf.saved_model.load(str(tmp_path / "cnn.gio"))
    found = model.signature("serving_default")(**fed)["output_0"]
    np.testing.assert_allclose(found, expected["output_0"], rtol=1e-4, atol=1e-4)
    ends = tensorflow_files.import_model(folder / "cnn").signatures["serving_default"]
    with session() as sess:
        sess.run(tf.global_variables_initializer())
        made = graphio.onnx.export(None, sess, ends.inputs, ends.outputs)
    onnx.checker.check_model(made)
    again = graphio.onnx.load(made).signature("predict")(**fed)["output_0"]
    np.testing.assert_allclose(again, expected["output_0"], rtol=1e-4, atol=1e-4)


# ---- TensorFlow's calls ----


@TARGETS
def test_a_saved_model_is_loaded_into_a_session(folder: Path, target: str) -> None:
    fed, expected = recorded(folder, "signatures")["embed"]
    with session(target, tf.Graph()) as sess:
        meta = tf.saved_model.load(sess, ["serve"], str(folder / "signatures"))
        assert sorted(meta.signature_def) == ["embed", "score"]
        assert list(meta.meta_info_def.tags) == ["serve"]
        embed = meta.signature_def["embed"]
        feeds = {embed.inputs["words"].name: fed["words"]}
        rows, steps = sess.run([embed.outputs["rows"].name, "steps:0"], feeds)
        names = sorted(v.op.name for v in tf.global_variables())
    np.testing.assert_allclose(rows, expected["rows"], atol=1e-5)
    assert steps == 3 and names == ["steps", "table", "w"]
    assert tf.saved_model.maybe_saved_model_directory(str(folder / "signatures"))


@TARGETS
def test_a_saved_model_is_opened_in_an_engine(folder: Path, target: str) -> None:
    fed, expected = recorded(folder, "mlp")["serving_default"]
    model = tf.saved_model.load(folder / "mlp", engine(target))
    found = model.signature("serving_default")(**fed)["output_0"]
    np.testing.assert_allclose(found, expected["output_0"], atol=1e-5)


def test_tags_that_are_not_there_are_named(folder: Path) -> None:
    with pytest.raises(RuntimeError, match=r"'train'.*available are: \['serve'\]"):
        tensorflow_files.import_model(folder / "mlp", tags=["train"])


def test_import_graph_def_takes_bytes_and_messages(folder: Path) -> None:
    data = (folder / "while_loop.pb").read_bytes()
    message = tf.GraphDef.FromString(data)
    assert [n.op for n in message.node if n.name == "x"] == ["Placeholder"]
    assert tf.GraphDef.FromString(message.SerializeToString()) == message
    fed, expected = recorded(folder, "while_loop")["predict"]
    for given_ in (data, message, pb.GraphDef.FromString(data)):
        x, y, operation = tf.import_graph_def(given_, return_elements=["x:0", "y:0", "y"])
        assert operation is y.op and not tf.global_variables()
        with session() as sess:
            np.testing.assert_allclose(sess.run(y, {x: fed["x"]}), expected["y"], atol=1e-5)
    assert tf.get_default_graph().get_tensor_by_name("import/x:0").shape.as_list() == [None, 4]
    with pytest.raises(TypeError, match="TensorFlow's own"):
        tf.train.write_graph(message, str(folder), "again.pb")


def test_import_graph_def_takes_tensors_in_the_place_of_values(folder: Path) -> None:
    fed, expected = recorded(folder, "while_loop")["predict"]
    data = (folder / "while_loop.pb").read_bytes()
    half = tf.constant(fed["x"] / 2)
    (y,) = tf.import_graph_def(data, {"x:0": half * 2.0}, ["y:0"], name="net")
    with session() as sess:
        np.testing.assert_allclose(sess.run(y), expected["y"], atol=1e-5)
    with pytest.raises(ValueError, match=r"not found in graph_def: \[nothing:0\]"):
        tf.import_graph_def(data, {"nothing:0": half})
    with pytest.raises(ValueError, match="'nothing:0' not found"):
        tf.import_graph_def(data, return_elements=["nothing:0"])


def test_a_graph_that_is_not_frozen_brings_its_initializers() -> None:
    graph_def = message(
        node("value", "Const", value=np.float32([1, 2])),
        node("v", "VariableV2", dtype=np.float32, shape=(2,)),
        node("v/Assign", "Assign", "v", "value"),
        node("v/read", "Identity", "v"),
        node("y", "Neg", "v/read"),
        node("handle", "VarHandleOp", dtype=np.float32, shape=(2,)),
        node("set", "AssignVariableOp", "handle", "value"),
        node("more", "AssignAddVariableOp", "handle", "value"),
        node("read", "ReadVariableOp", "handle", "^more", dtype=np.float32),
    )
    y, read = tf.import_graph_def(graph_def, return_elements=["y:0", "read:0"])
    with session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(y).tolist() == [-1, -2]
        assert sess.run(read).tolist() == [2, 4] and sess.run(read).tolist() == [3, 6]


def x_node() -> pb.NodeDef:
    return node("x", "Placeholder", dtype=np.float32, shape=(2,))


def function(name: str, *nodes: pb.NodeDef, result: str) -> pb.FunctionDef:
    made = pb.FunctionDef(node_def=nodes, ret={"y": result})
    made.signature.name = name
    made.signature.input_arg.add(name="a", type=pb.DT_FLOAT)
    made.signature.output_arg.add(name="y", type=pb.DT_FLOAT)
    return made


@TARGETS
def test_nested_branches_and_loops_of_tensorflow_1_are_found(target: str) -> None:
    """A branch inside a branch; values that are constants in one of them."""
    graph_def = message(
        x_node(),
        node("axis", "Const", value=np.int32(0)),
        node("zero", "Const", value=np.float32(0)),
        node("sum", "Sum", "x", "axis"),
        node("p", "Greater", "sum", "zero"),
        node("p/switch", "Switch", "p", "p"),
        node("p/t", "Identity", "p/switch:1"),
        node("outer", "Switch", "x", "p"),
        node("ten", "Const", "^p/t", value=np.float32(10)),
        node("big", "Greater", "sum2", "ten"),
        node("sum2", "Sum", "outer:1", "axis"),
        node("inner", "Switch", "outer:1", "big"),
        node("huge", "Neg", "inner:1"),
        node("small", "Mul", "inner:0", "inner:0"),
        node("inner/merge", "Merge", "small", "huge"),
        node("none", "Abs", "outer:0"),
        node("y", "Merge", "none", "inner/merge"),
    )
    (y,) = tf.import_graph_def(graph_def, return_elements=["y:0"])
    x = tf.get_default_graph().get_tensor_by_name("import/x:0")
    with session(target) as sess:
        for fed, expected in (([-1, -2], [1, 2]), ([1, 2], [1, 4]), ([9, 8], [-9, -8])):
            assert sess.run(y, {x: fed}).tolist() == expected


def test_functions_are_written_out() -> None:
    twice = function("twice", node("d", "AddV2", "a", "a"), result="d:z:0")
    graph_def = message(
        x_node(),
        node("c", "PartitionedCall", "x", f="twice"),
        node("y", "twice", "c"),
        functions=[twice],
    )
    (y,) = tf.import_graph_def(graph_def, return_elements=["y:0"], name="")
    with session() as sess:
        assert sess.run(y, {"x:0": [1, 2]}).tolist() == [4, 8]


# ---- refusals ----


def test_everything_that_is_missing_is_listed_at_once() -> None:
    inner = function("inner", node("d", "Strange", "a"), result="d:z:0")
    graph_def = message(
        x_node(),
        *(node(f"s{i}", "SparseCross", "x") for i in range(6)),
        node("t", "HashTableV2"),
        node("c", "CudnnRNN", "x"),
        node("f", "PartitionedCall", "x", f="inner"),
        functions=[inner],
    )
    before = tf.get_default_graph().get_operations()
    with pytest.raises(tf.errors.UnimplementedError) as found:
        tf.import_graph_def(graph_def)
    text = found.value.message
    assert "4 problems" in text and "Strange ('d')" in text
    assert "SparseCross ('s0', 's1', 's2', 's3' and 2 more)" in text
    assert "take a signature after it" in text and "without a GPU" in text
    assert tf.get_default_graph().get_operations() == before


def test_what_is_unknown_may_be_cut_off() -> None:
    graph_def = message(
        x_node(), node("s", "Strange", "x"), node("y", "Neg", "s"), node("other", "Odd", "x")
    )
    (y,) = tf.import_graph_def(graph_def, {"s": tf.constant([1.0, 2.0])}, ["y:0"])
    with session() as sess:
        assert sess.run(y).tolist() == [-1, -2]


def test_problems_of_attributes_and_values_are_listed_at_once() -> None:
    bad = node("q", "Placeholder")
    bad.attr["dtype"].type = pb.DT_QINT8
    graph_def = message(
        x_node(),
        bad,
        node("c", "Cast", "x"),
        node("k", "Const", value=np.float32([1, 2])),
        node("m", "MatMul", "x", "x"),
    )
    graph_def.node[3].attr["value"].tensor.tensor_content = b"123"
    with pytest.raises(tf.errors.OpError) as found:
        tf.import_graph_def(graph_def)
    text = found.value.message
    for part in ("4 problems", "'q': has the element type DT_QINT8", "no attribute 'DstT'",
                 "Const 'k'", "MatMul 'm'"):  # fmt: skip
        assert part in text


BROKEN: dict[str, tuple[Callable[[], pb.GraphDef], str]] = {
    "an input that is not there": (lambda: message(node("y", "Neg", "x")), "reads 'x'"),
    "a name twice": (lambda: message(x_node(), x_node()), "two nodes"),
    "no name": (lambda: message(node("", "NoOp")), "has no name"),
    "a circle": (
        lambda: message(node("a", "Neg", "b"), node("b", "Neg", "a")),
        "need each other",
    ),
    "a predicate that is itself": (
        lambda: message(
            x_node(),
            node("p", "Identity", "q"),
            node("q", "Identity", "p"),
            node("s", "Switch", "x", "p"),
            node("y", "Merge", "s", "s:1"),
        ),
        "need each other",
    ),
    "a Switch of one input": (lambda: message(x_node(), node("y", "Switch", "x")), "expected 2"),
    "an output too far": (lambda: message(x_node(), node("y", "Neg", "x:7")), "number 7"),
    "an output that is none": (lambda: message(x_node(), node("y", "Neg", "x:q")), "names no out"),
    "a function that calls itself": (
        lambda: message(
            x_node(),
            node("y", "PartitionedCall", "x", f="f"),
            functions=[function("f", node("d", "PartitionedCall", "a", f="f"), result="d:o:0")],
        ),
        "deeper than",
    ),
    "a function that is missing": (
        lambda: message(x_node(), node("y", "PartitionedCall", "x", f="f")),
        "not in the library",
    ),
    "an Exit of no loop": (lambda: message(x_node(), node("y", "Exit", "x")), "leaves no loop"),
    "a Merge of no branch": (lambda: message(x_node(), node("y", "Merge", "x", "x")), "predicate"),
    "a constant that is too big": (
        lambda: message(node("k", "Const", value=np.float32([]))),
        "written as",
    ),
    "a variable without a value": (
        lambda: message(node("v", "VariableV2", dtype=np.float32, shape=(2,))),
        "has no value",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_graph_is_refused_and_adds_nothing(name: str) -> None:
    make, text = BROKEN[name]
    graph_def = make()
    if name == "a constant that is too big":
        tensor = graph_def.node[0].attr["value"].tensor
        tensor.tensor_shape.ClearField("dim")
        tensor.tensor_shape.dim.add(size=1 << 40)
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        tf.import_graph_def(graph_def)
    assert tf.get_default_graph().get_operations() == []


def test_functions_that_multiply_are_refused() -> None:
    """Each calls the next four times: written out they are 4^20 nodes."""
    functions = []
    for i in range(20):
        calls = [node(f"c{k}", "PartitionedCall", "a", f=f"f{i + 1}") for k in range(4)]
        total = node("d", "AddN", *(f"c{k}:output:0" for k in range(4)))
        functions.append(function(f"f{i}", *calls, total, result="d:sum:0"))
    functions.append(function("f20", node("d", "Neg", "a"), result="d:y:0"))
    graph_def = message(x_node(), node("y", "PartitionedCall", "x", f="f0"), functions=functions)
    with pytest.raises(tf.errors.InvalidArgumentError, match="the most is"):
        tf.import_graph_def(graph_def)


def test_a_long_chain_of_functions_is_refused() -> None:
    functions = [
        function(f"f{i}", node("d", "PartitionedCall", "a", f=f"f{i + 1}"), result="d:output:0")
        for i in range(3000)
    ]
    graph_def = message(x_node(), node("y", "PartitionedCall", "x", f="f0"), functions=functions)
    for read in (tf.import_graph_def, tensorflow_files.import_model):
        with pytest.raises(tf.errors.InvalidArgumentError, match="deep"):
            read(graph_def)


def test_a_long_chain_of_nodes_is_built() -> None:
    nodes = [node("n0", "Neg", "x"), *(node(f"n{i}", "Neg", f"n{i - 1}") for i in range(1, 3000))]
    (y,) = tf.import_graph_def(message(x_node(), *reversed(nodes)), return_elements=["n2999:0"])
    assert y.op.inputs[0].op.inputs[0].op.name == "import/n2997"


@TARGETS
def test_a_graph_asks_whether_its_variable_has_a_value(target: str) -> None:
    nodes = [
        node("v", "VariableV2", dtype=np.float32, shape=(2,)),
        node("one", "Const", dtype=np.float32, value=np.ones(2, np.float32)),
        node("begin", "Assign", "v", "one"),
        node("there", "IsVariableInitialized", "v"),
    ]
    (there,) = tf.import_graph_def(message(*nodes), return_elements=["there:0"])
    assert there.name == "import/there:0"
    with tf.Session(target) as session:
        assert not session.run(there)
        session.run(tf.global_variables_initializer())
        assert session.run(there)


def test_cut_and_foreign_files_are_refused(folder: Path, tmp_path: Path) -> None:
    data = (folder / "mlp" / "saved_model.pb").read_bytes()
    for end in (0, 1, 2, 7, len(data) // 2, len(data) - 1):
        copy = tmp_path / str(end)
        copy.mkdir()
        (copy / "saved_model.pb").write_bytes(data[:end])
        with pytest.raises(tf.errors.DataLossError):
            tensorflow_files.import_model(copy)
    for name, text in (("a.pb", b""), ("b.pb", b"no graph"), ("c.pbtxt", b"node { name: }")):
        (tmp_path / name).write_bytes(text)
        with pytest.raises(tf.errors.DataLossError):
            tensorflow_files.import_model(tmp_path / name)
    with pytest.raises(tf.errors.NotFoundError):
        tensorflow_files.import_model(tmp_path / "nothing.pb")
    with pytest.raises(TypeError, match="source is int"):
        tensorflow_files.import_model(3)
    with pytest.raises(DecodeError, match="SavedModels"):
        tf.MetaGraphDef().ParseFromString(message(x_node()).SerializeToString())


def test_variables_that_are_missing_are_all_named(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").write_bytes((folder / "mlp" / "saved_model.pb").read_bytes())
    with pytest.raises(tf.errors.InvalidArgumentError) as found:
        tensorflow_files.import_model(tmp_path)
    assert "6 problems" in found.value.message
    assert "copy the folder 'variables'" in found.value.message
    other = tmp_path / "variables"
    other.mkdir()
    for path in (folder / "signatures" / "variables").iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    with pytest.raises(tf.errors.InvalidArgumentError, match="has no key") as found:
        tensorflow_files.import_model(tmp_path)
    assert "6 problems" in found.value.message
    index = other / "variables.index"
    index.write_bytes(index.read_bytes()[:-20])
    with pytest.raises(tf.errors.DataLossError):
        tensorflow_files.import_model(tmp_path)
    assert tf.get_default_graph().get_operations() == []


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_damaged_bytes_never_do_harm(folder: Path, data: st.DataObject) -> None:
    """An error of ours, or a graph; nothing else."""
    whole = bytearray((folder / "while_loop.pb").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with tf.Graph().as_default() as graph:
        try:
            tensorflow_files.import_model(bytes(whole))
        except tf.errors.OpError:
            assert graph.get_operations() == []


def test_bytes_are_the_same_for_the_same_file(folder: Path) -> None:
    first, second = [tensorflow_files.convert(folder / "lstm") for _ in range(2)]
    assert first is not None and first == second
    assert container.MAGIC == first[: len(container.MAGIC)]
    assert text_format.Parse("", pb.GraphDef()) == pb.GraphDef()


def test_bytes_that_are_not_a_graph_are_reported() -> None:
    with pytest.raises(
        tf.errors.DataLossError, match="the 9 bytes given as graph_def are not a GraphDef"
    ):
        tf.import_graph_def(b"\x99\x88garbage")
