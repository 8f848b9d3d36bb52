"""graphio.cinfer: the binding's own behaviour (values are the engines' tests)."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import engines
import numpy as np
import pytest
from saving_in_c import saved_by_c

import graphio as tf
import graphio.cinfer
from graphio.schema import checkpoint, container, dtypes, tensors
from graphio.schema.model_pb2 import Node, Type
from graphio.support import errors


def save(path: Path, signatures: dict, graph: tf.Graph, optimize: str = "exact") -> bytes:
    with tf.Session(graph=graph) as session:
        with graph.as_default():
            session.run(tf.global_variables_initializer())
        tf.saved_model.save(str(path), session, signatures, optimize=optimize)
    return path.read_bytes()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """predict: y = x @ w + b; count: adds one to `steps` and gives it; text: names unchanged."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2), name="w")
        y = tf.matmul(x, w) + 1.0
        steps = tf.Variable(np.int64(0), name="steps", trainable=False)
        text = tf.placeholder(tf.string, [None], name="text")
        signatures = {
            "predict": ({"x": x}, {"y": y}),
            "count": ({}, {"steps": tf.assign_add(steps, tf.constant(1, tf.int64))}),
            "text": ({"text": text}, {"same": tf.identity(text)}),
        }
    return save(tmp_path_factory.mktemp("binding") / "model.gio", signatures, graph)


@pytest.fixture
def model(data: bytes) -> graphio.cinfer.Model:
    return graphio.cinfer.load(data)


X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
Y = X @ np.arange(6, dtype=np.float32).reshape(3, 2) + 1


def test_signatures(model: graphio.cinfer.Model) -> None:
    assert set(model.signatures) == {"predict", "count", "text"}
    predict = model.signature("predict")
    assert predict is model.signature("predict")
    spec = predict.inputs["x"]
    assert (spec.name, spec.dtype, spec.shape) == ("x", np.float32, (None, 3))
    with pytest.raises(ValueError, match="name a signature: the model has"):
        model.signature()
    with pytest.raises(ValueError, match="no signature 'absent'"):
        model.signature("absent")


def test_call_and_run(model: graphio.cinfer.Model) -> None:
    predict = model.signature("predict")
    np.testing.assert_array_equal(predict(x=X)["y"], Y)
    np.testing.assert_array_equal(predict(x=X.tolist())["y"], Y)
    np.testing.assert_array_equal(predict(x=np.asfortranarray(X))["y"], Y)
    np.testing.assert_array_equal(predict(x=X.astype(np.float64))["y"], Y)
    for rows in (1, 2, 0, 2):
        (y,) = predict.run([X[:rows]])
        np.testing.assert_array_equal(y, Y[:rows])
    first, second = predict.run([X])[0], predict.run([X])[0]
    assert not np.shares_memory(first, second)


def test_call_names_what_is_wrong(model: graphio.cinfer.Model) -> None:
    predict = model.signature("predict")
    with pytest.raises(errors.InvalidArgumentError, match="misses x and gives unknown") as raised:
        predict(X=X, other=1)
    assert "X, other" in str(raised.value)
    with pytest.raises(errors.InvalidArgumentError, match=r"'x'.*is complex64, expected float32"):
        predict(x=X.astype(np.complex64))
    with pytest.raises(errors.InvalidArgumentError, match="x"):
        predict(x=X[:, :2])


def test_run_takes_only_what_fits(model: graphio.cinfer.Model) -> None:
    predict = model.signature("predict")
    with pytest.raises(errors.InvalidArgumentError, match="takes 1 inputs.*2 were given"):
        predict.run([X, X])
    with pytest.raises(errors.InvalidArgumentError, match="is float64, expected an array"):
        predict.run([X.astype(np.float64)])
    with pytest.raises(errors.InvalidArgumentError, match="not contiguous"):
        predict.run([np.asfortranarray(X)])
    with pytest.raises(errors.InvalidArgumentError, match="is list"):
        predict.run([[1.0]])  # type: ignore[list-item]
    np.testing.assert_array_equal(predict.run([X])[0], Y)


def test_integers_are_not_cut_off() -> None:
    from graphio.engine.calls import convert

    int32, uint8 = np.dtype(np.int32), np.dtype(np.uint8)
    assert convert([1, 2], int32, "x").dtype == int32
    assert convert([], int32, "x").shape == (0,)
    assert convert(True, int32, "x") == 1
    for value in ([1.5], "text", np.array([1.5])):
        with pytest.raises(errors.InvalidArgumentError):
            convert(value, int32, "x")
    with pytest.raises(errors.InvalidArgumentError):
        convert(300, uint8, "x")


def test_strings(model: graphio.cinfer.Model) -> None:
    text = model.signature("text")
    given = np.array([b"one", b"", b"\xff\x00three"], object)
    for found in (text(text=given)["same"], text.run([given])[0]):
        assert found.dtype == object and found.tolist() == given.tolist()
    assert text(text=["a", "\u00e4"])["same"].tolist() == [b"a", "\u00e4".encode()]
    with pytest.raises(errors.InvalidArgumentError, match="holds int"):
        text(text=[1])


def test_bind(model: graphio.cinfer.Model) -> None:
    x, y = X.copy(), np.empty((2, 2), np.float32)
    predict = model.signature("predict")
    into, fresh = predict.bind(x, outputs=[y]), predict.bind(x)
    assert into()[0] is y
    np.testing.assert_array_equal(y, Y)
    x *= 2
    np.testing.assert_array_equal(into()[0], 2 * Y - 1)
    np.testing.assert_array_equal(fresh()[0], 2 * Y - 1)
    with pytest.raises(errors.InvalidArgumentError):
        predict.bind(x, outputs=[np.empty((1, 2), np.float32)])()
    with pytest.raises(errors.InvalidArgumentError):
        predict.bind()


def test_state(data: bytes) -> None:
    state = graphio.cinfer.new_state(seed=1)
    one = graphio.cinfer.load(data, state=state)
    two = graphio.cinfer.load(data, state=state)
    assert state.names() == ["steps", "w"] and state.initialized("w")
    one.signature("count")()
    assert two.signature("count")()["steps"] == 2
    assert state.get("steps") == 2 and state.get("steps").shape == ()
    state.set("steps", 10)
    assert one.signature("count")()["steps"] == 11
    state.set("w", np.zeros((3, 2), np.float32))
    np.testing.assert_array_equal(one.signature("predict")(x=X)["y"], np.ones((2, 2)))
    state.declare("new", 1, [None, 2])
    assert not state.initialized("new")
    with pytest.raises(errors.FailedPreconditionError, match="new"):
        state.get("new")
    with pytest.raises(errors.NotFoundError, match="absent"):
        state.get("absent")
    with pytest.raises(errors.InvalidArgumentError, match="w"):
        state.set("w", np.zeros((2, 2), np.float32))
    state.set_generator("dropout", 2**64 - 1, 3)
    assert state.generators() == {"dropout": (2**64 - 1, 3)}


def test_a_model_that_cannot_be_opened_leaves_the_state(tmp_path: Path) -> None:
    values = {"a": np.arange(32, dtype=np.float32), "b": -np.arange(32, dtype=np.float32)}
    builder = engines.Builder()
    for i, (name, value) in enumerate(values.items()):
        builder.arrays.append(value)
        builder.model.variable.add(name=name, dtype=1, value=i)
    builder.model.variable.add(name="slot", dtype=1, slot_of="a", slot="momentum")
    data = builder.bytes()
    damaged = data.replace(values["b"].tobytes(), values["a"].tobytes())
    state = graphio.cinfer.new_state()
    state.declare("a", 1, None)
    state.declare("slot", 1, None)
    state.set("slot", np.float32([1, 2]))
    with pytest.raises(errors.DataLossError, match="the checksum of a tensor"):
        graphio.cinfer.load(damaged, state=state, lazy=True)
    assert state.names() == ["a", "slot"] and not state.initialized("a")
    state.save(tmp_path / "before")
    graphio.cinfer.load(data, state=state, lazy=True)
    assert state.get("a")[1] == 1 and state.get("b")[1] == -1
    state.save(tmp_path / "after")
    for name, slot_of in (("before", ""), ("after", "a")):
        index = checkpoint.read_checkpoint(tmp_path / name).index
        assert index.variable[-1].name == "slot" and index.variable[-1].slot_of == slot_of


def test_checkpoint(data: bytes, tmp_path: Path) -> None:
    model = graphio.cinfer.load(data)
    model.signature("count")()
    model.state.save(tmp_path / "model", step=5, meta=b"graph")
    assert (tmp_path / "model.meta").read_bytes() == b"graph"
    other = graphio.cinfer.load(data)
    assert other.state.restore(tmp_path / "model") == 5
    assert other.state.get("steps") == 1
    with pytest.raises(errors.NotFoundError, match="nothing"):
        other.state.restore(tmp_path / "nothing")


def test_checkpoints_are_those_of_python(tmp_path: Path) -> None:
    values = {
        "net/w": np.arange(6, dtype=np.float32).reshape(2, 3),
        "step": np.array(7),
        "flags": np.array([True, False]),
        'text "\u00e4"': np.array([b"one", b""], object),
        "pairs": np.array([1 + 2j]),
        "long": np.arange(16, dtype=np.float64),
        "empty": np.empty((0, 3), np.float16),
    }
    state = graphio.cinfer.new_state()
    for name, value in values.items():
        state.declare(name, dtypes.of_numpy(value.dtype).number, value.shape)
        state.set(name, value)
    state.set_generator("dropout", 5, 6)
    (tmp_path / "python").mkdir()
    state.save(tmp_path / "model", step=3, meta=b"graph")
    found = checkpoint.read_checkpoint(tmp_path / "model")
    assert found.step == 3 and found.generators == {"dropout": (5, 6)} and found.meta() == b"graph"
    assert set(found.variables) == set(values)
    for name, value in values.items():
        np.testing.assert_array_equal(found.variables[name], value)
        assert found.variables[name].dtype == value.dtype

    same = {"save_id": found.index.save_id, "time": found.index.time}
    prefix = tmp_path / "python" / "model"
    checkpoint.write_checkpoint(prefix, values, found.resources, step=3, meta=b"graph", **same)
    for file in (tmp_path / "python").iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes(), file.name

    restored = graphio.cinfer.new_state()
    assert restored.restore(prefix) == 3
    assert restored.names() == sorted(values) and restored.generators() == {"dropout": (5, 6)}
    for name, value in values.items():
        np.testing.assert_array_equal(restored.get(name), value)


def test_graph_file_of_c_is_the_model_without_values(tmp_path: Path) -> None:
    rng = np.random.RandomState(0)
    constant = rng.randn(3, 200).astype(np.float32)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 200], name="x")
        w = tf.get_variable("w", [3, 500])
        y = tf.matmul(tf.matmul(x, tf.constant(constant.T)), w)
    data = save(tmp_path / "model.gio", {"predict": ({"x": x}, {"y": y})}, graph, "none")
    model = graphio.cinfer.load(data)
    prefix = saved_by_c(model, tmp_path / "model")
    meta = checkpoint.read_checkpoint(prefix).meta()
    described, arrays = container.unpack(meta)
    assert not any(v.HasField("value") for v in described.variable)
    assert [a.size for a in arrays if a.size] == [constant.size]
    assert len(meta) == len(data) - 4 * 1500
    again = graphio.cinfer.load(meta)
    assert not again.state.initialized("w")
    again.state.restore(prefix)
    given = rng.randn(2, 200).astype(np.float32)
    expected = model.signature()(x=given)["y"]
    np.testing.assert_array_equal(again.signature()(x=given)["y"], expected)


def fill_if(node: Node, depth: int, kind: Type) -> None:
    """An If on "p", whose then_branch has another one, and the innermost the stored tensor 0."""
    node.name, node.op, node.version = f"if{depth}", "If", 16
    node.input.append("p")
    node.output_type.append(kind)
    for key in ("else_branch", "then_branch"):
        branch = node.attr.add(key=key).value.g
        inner = branch.node.add()
        if key == "then_branch" and depth > 1:
            branch.capture.append("p")
            fill_if(inner, depth - 1, kind)
        else:
            inner.name, inner.op, inner.version = f"{key}{depth}", "Constant", 1
            inner.output_type.append(kind)
            value = inner.attr.add(key="value").value
            if key == "then_branch":
                value.tensor = 0
            else:
                value.t.CopyFrom(tensors.from_array(np.zeros(4, np.float32)))
        branch.output.append(inner.name)


@pytest.mark.parametrize("depth", [1, 63, 64])
def test_the_graph_file_of_c_has_constants_of_any_depth(depth: int, tmp_path: Path) -> None:
    builder = engines.Builder()
    builder.placeholder("p", np.bool_, [])
    builder.arrays.append(np.float32([1, 2, 3, 4]))
    kind = engines.tensor_type(np.float32, [4])
    fill_if(builder.model.graph.node.add(), depth, kind)
    builder.signature({"p": "p"}, {"y": f"if{depth}"})
    limits = {"max_depth": 64}
    model = graphio.cinfer.load(builder.bytes(), limits=limits)
    meta = checkpoint.read_checkpoint(saved_by_c(model, tmp_path / "model")).meta()
    again = graphio.cinfer.load(meta, limits=limits)
    assert again.signature()(p=np.True_)["y"].tolist() == [1, 2, 3, 4]


def test_load_errors(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError, match=r"absent\.gio"):
        graphio.cinfer.load(tmp_path / "absent.gio")
    with pytest.raises(errors.DataLossError):
        graphio.cinfer.load(data[:-1])
    with pytest.raises(errors.InvalidArgumentError, match="isa is 'sse'"):
        graphio.cinfer.load(data, isa="sse")


def test_all_ways_give_the_same_bits(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.gio").write_bytes(data)
    ways = [
        graphio.cinfer.load(tmp_path / "model.gio"),
        graphio.cinfer.load(str(tmp_path / "model.gio"), lazy=True, threads=2),
        graphio.cinfer.load(data, isa="portable"),
    ]
    assert {w.signature("predict")(x=X)["y"].tobytes() for w in ways} == {Y.tobytes()}
    assert ways[2].isa == "portable"


def test_close(data: bytes) -> None:
    with graphio.cinfer.load(data) as model:
        predict = model.signature("predict")
        bound = predict.bind(X)
        predict(x=X)
    for call in (lambda: predict(x=X), bound):
        with pytest.raises(errors.FailedPreconditionError, match="closed"):
            call()
    model.close()
    assert model.state.names() == ["steps", "w"]


def test_signature_outlives_model_and_bytes(data: bytes) -> None:
    copy = bytes(bytearray(data))
    model = graphio.cinfer.load(copy)
    gone = weakref.ref(model)
    predict = model.signature("predict")
    del model, copy
    assert gone() is None, "a model is freed without the cycle collector"
    gc.collect()
    np.testing.assert_array_equal(predict(x=X)["y"], Y)


def test_threads_share_a_model(model: graphio.cinfer.Model) -> None:
    predict, count = model.signature("predict"), model.signature("count")
    wrong = []

    def work(factor: float) -> None:
        for _ in range(200):
            x = X * np.float32(factor)
            if not np.allclose(predict.run([x])[0], (Y - 1) * factor + 1):
                wrong.append(factor)
            count.run([])

    threads = [threading.Thread(target=work, args=(f,)) for f in (1.0, 2.0, 3.0, 4.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and model.state.get("steps") == 800


def test_import_is_light() -> None:
    code = (
        "import sys, graphio.cinfer;"
        "print([m for m in ('onnx', 'google.protobuf', 'graphio.framework', 'graphio.runtime')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
