"""Models, signatures and states under pickle: recipes that other processes rebuild."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import joblib
import numpy as np
import pytest
from pickled_models import called, doubled, predicted, refused

import graphio as tf
from graphio.engine import pickling
from graphio.support import errors

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A model: "predict" is y = x w, "train" adds 1 to w, "draw" gives a random number."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2])
        w = tf.get_variable("w", initializer=np.float32([[1.0], [10.0]]))
        signatures = {
            "predict": ({"x": x}, {"y": tf.matmul(x, w)}),
            "train": ({}, {"w": tf.assign_add(w, tf.ones([2, 1]))}),
            "draw": ({}, {"u": tf.random_uniform([], seed=7)}),
        }
        session.run(tf.global_variables_initializer())
        tf.saved_model.save(tmp_path / "model.gio", session, signatures)
    return str(tmp_path / "model.gio")


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


# ---- models ----


@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
@TARGETS
def test_a_model_of_a_file_pickles_as_its_path(
    path: str, target: str, dumps: Callable[[Any], bytes]
) -> None:
    data = dumps(tf.saved_model.load(path, target))
    assert path.encode() in data and len(data) < 400 + len(path)
    assert predicted(pickle.loads(data)) == 21.0


@TARGETS
def test_a_model_of_bytes_pickles_with_them(path: str, target: str) -> None:
    engine: Any = tf.cinfer if target == "cinfer" else tf.runtime
    model = engine.load(Path(path).read_bytes())
    Path(path).unlink()
    assert predicted(again(model)) == 21.0


@TARGETS
def test_the_path_in_a_pickle_does_not_depend_on_the_working_directory(
    path: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(path).parent)
    data = pickle.dumps(tf.saved_model.load("model.gio", target))
    monkeypatch.chdir("/")
    assert predicted(pickle.loads(data)) == 21.0


def test_the_options_of_the_load_are_part_of_the_recipe(path: str) -> None:
    assert again(tf.cinfer.load(path, isa="portable")).isa == "portable"
    data = pickle.dumps(tf.cinfer.load(path, limits={"max_nodes": 1000}))
    with pytest.raises(errors.ResourceExhaustedError, match="more than 3 nodes"):
        pickle.loads(data.replace(b"M\xe8\x03", b"M\x03\x00"))


@TARGETS
def test_a_model_that_was_trained_pickles_with_its_values(path: str, target: str) -> None:
    model = tf.saved_model.load(path, target)
    model.signature("train")()
    drawn = model.signature("draw")()["u"]
    other = again(model)
    assert predicted(other) == 24.0
    assert other.signature("draw")()["u"] == model.signature("draw")()["u"] != drawn
    other.signature("train")()
    assert predicted(model) == 24.0


@TARGETS
def test_models_that_share_a_state_share_one_after_they_were_pickled_together(
    path: str, target: str
) -> None:
    trained = tf.saved_model.load(path, target)
    served = tf.saved_model.load(path, target, state=trained.state)
    trained.state.set_blob("note", b"kept")
    a, b = again((trained, served))
    a.signature("train")()
    assert a.state is b.state and predicted(b) == 24.0
    assert b.state.blobs() == {"note": b"kept"}


@TARGETS
def test_signatures_pickle_with_their_model_once(path: str, target: str) -> None:
    model = tf.saved_model.load(path, target)
    signature, other, train = again([model.signature("predict"), model, model.signature("train")])
    train()
    assert signature is other.signature("predict") and called(signature) == 24.0


@TARGETS
def test_the_method_that_runs_a_signature_pickles_with_it(path: str, target: str) -> None:
    run = again(tf.saved_model.load(path, target).signature("predict").run)
    assert run(np.float32([[1.0, 2.0]]))[0].tolist() == [[21.0]]


@TARGETS
def test_a_host_function_pickles_by_its_name_or_says_so(path: str, target: str) -> None:
    engine: Any = tf.cinfer if target == "cinfer" else tf.runtime
    assert predicted(again(engine.load(path, host={"f": called}))) == 21.0
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(engine.load(path, host={"f": lambda arrays: arrays}))


@TARGETS
def test_a_deep_copy_of_a_model_is_another_model(path: str, target: str) -> None:
    model = tf.saved_model.load(path, target)
    copied = copy.deepcopy(model)
    copied.signature("train")()
    assert (predicted(model), predicted(copied)) == (21.0, 24.0)


@TARGETS
def test_a_state_pickles_with_its_variables(path: str, target: str) -> None:
    state = again(tf.saved_model.load(path, target).state)
    assert state.get("w").tolist() == [[1.0], [10.0]]


def test_the_function_that_pickles_name_is_where_older_pickles_look_for_it(path: str) -> None:
    """The path and the form of version 0.1; neither ever changes."""
    facts = {
        "engine": "runtime", "source": path, "header": b"", "options": {}, "state": None,
        "modules": [],
    }  # fmt: skip
    data = pickle.dumps(facts, 0)
    assert b"cgraphio.schema.pickling\nrebuild\n" in pickle.dumps(tf.runtime.load(path), 0)
    assert predicted(pickling.rebuild("model", pickle.loads(data))) == 21.0


@TARGETS
def test_another_file_in_the_place_of_a_pickled_model_is_refused(path: str, target: str) -> None:
    model = tf.saved_model.load(path, target)
    data = pickle.dumps(model)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.save(path, session, {"predict": ({}, {"y": tf.constant(1.0)})})
    with pytest.raises(errors.FailedPreconditionError, match="is another file than the one"):
        pickle.loads(data)
    with pytest.raises(errors.FailedPreconditionError, match="has changed since"):
        pickle.dumps(model)
    Path(path).unlink()
    with pytest.raises(errors.OpError, match=r"model\.gio"):
        pickle.loads(data)


def test_a_closed_model_does_not_pickle(path: str) -> None:
    model = tf.cinfer.load(path)
    signature = model.signature("predict")
    model.close()
    for value in (model, signature):
        with pytest.raises(errors.FailedPreconditionError, match="was closed"):
            pickle.dumps(value)


def test_a_pickle_of_a_newer_version_says_so() -> None:
    for kind, facts in (("ring", {}), ("model", {**dict.fromkeys("ab"), "engine": "gpu"})):
        with pytest.raises((errors.UnimplementedError, TypeError), match="newer graphio|'a'"):
            pickling.rebuild(kind, facts)


# ---- custom operators ----

KERNELS = """
import graphio as tf

def kernel(x):
    return 2 * x

double = tf.register_operator(
    "com.example.pickling", "Double", inputs=["x: T"], outputs=["y: T"],
    types={"T": "float32"}, shape=lambda shapes: [shapes[0]], kernel=kernel,
)
"""


def _loaded(data: bytes, folder: str) -> float:
    sys.path.insert(0, folder)
    return predicted(pickle.loads(data))


@TARGETS
def test_a_kernel_in_python_is_registered_by_its_module(
    tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "doubling.py").write_text(KERNELS)
    monkeypatch.syspath_prepend(tmp_path)
    import doubling  # type: ignore[import-not-found]

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2])
        outputs = {"y": tf.reduce_sum(doubling.double(x), keepdims=True)}
        tf.saved_model.save(tmp_path / "own.gio", session, {"predict": ({"x": x}, outputs)})
    data = pickle.dumps(tf.saved_model.load(tmp_path / "own.gio", target))
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        with pytest.raises(errors.UnimplementedError, match=r"com\.example\.pickling.Double"):
            pool.apply(_loaded, (data.replace(b"doubling", b"calendar"), str(tmp_path)))
        assert pool.apply(_loaded, (data, str(tmp_path))) == 6.0


# ---- other processes ----


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_models_and_signatures_go_to_other_processes(path: str, method: str) -> None:
    models = [tf.saved_model.load(path, target) for target in ("runtime", "cinfer")]
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.map(predicted, models) == [21.0, 21.0]
        assert pool.map(called, [m.signature("predict") for m in models]) == [21.0, 21.0]
        assert pool.apply(doubled, (4.0,)) == 8.0
        with pytest.raises(errors.InvalidArgumentError, match="'needed'") as caught:
            pool.apply(refused, (None,))
    assert caught.value.op is None and caught.value.node_name == "needed"


def test_joblib_sends_models_and_functions_that_use_the_module(path: str) -> None:
    model = tf.saved_model.load(path, "cinfer")

    def ours(n: float) -> float:
        with tf.Graph().as_default(), tf.Session() as session:
            return predicted(model) + float(session.run(tf.nn.relu(tf.constant(n))))

    assert joblib.Parallel(n_jobs=2)(joblib.delayed(ours)(n) for n in (1.0, -1.0)) == [22.0, 21.0]


# ---- other objects that programs send ----


def test_a_function_that_uses_the_module_pickles_by_value() -> None:
    data = cloudpickle.dumps(lambda: tf.constant(1.0, name="one"))
    with tf.Graph().as_default():
        assert pickle.loads(data)().name == "one:0"
    assert again(tf) is tf


def test_every_public_function_and_class_pickles_by_name() -> None:
    spaces = [tf, *(getattr(tf, name) for name in tf._NAMESPACES)]
    values = {
        f"{space.__name__}.{name}": getattr(space, name)
        for space in spaces
        for name in getattr(space, "__all__", ()) or tf._MODULE_OF
        if isinstance(getattr(space, name, None), (type, types.FunctionType))
    }
    wrong = [name for name, value in values.items() if again(value) is not value]
    assert len(values) > 1000 and not wrong


def test_parts_of_a_graph_say_what_to_send_instead() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        v = tf.get_variable("v", [2])
        data = tf.data.Dataset.range(3)
        hints = {
            graph: r"this Graph cannot be pickled: send graph\.as_graph_def\(\)",
            session: "this Session cannot be pickled: send a model",
            v: "this Variable cannot be pickled: it belongs to a graph",
            v.op: "Operation cannot be pickled: it belongs",
            v + 1.0: "this Tensor cannot be pickled: it belongs",
            data: "Dataset cannot be pickled: send the function",
            data.make_one_shot_iterator(): "Iterator cannot be pickled: make it",
            tf.train.Saver(): r"this Saver cannot be pickled: send saver\.to_proto",
        }
        for value, hint in hints.items():
            with pytest.raises(TypeError, match=hint):
                pickle.dumps(value)
        kept = {"loss": v + 1.0, "of": [v, v.op]}
        assert copy.deepcopy(kept) == kept and copy.copy(v) is v
        assert again(graph.as_graph_def()) == graph.as_graph_def()


def test_flags_pickle_with_their_values() -> None:
    flags = tf.flags.FLAGS
    tf.flags.DEFINE_integer("depth_of_pickles", 3, "of the net")
    flags(["program", "--depth_of_pickles=5"])
    other = pickle.loads(cloudpickle.dumps(flags))
    del flags.depth_of_pickles
    assert other.depth_of_pickles == 5


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_static_shapes_pickle_under_every_protocol(protocol: int) -> None:
    named = tf.TensorShape([2, None], symbols=["", "batch"])
    for value in (tf.Dimension(3), tf.TensorShape(None), tf.TensorShape([2, 3])):
        assert repr(pickle.loads(pickle.dumps(value, protocol))) == repr(value)
    assert pickle.loads(pickle.dumps(named, protocol)).symbols == ["", "batch"]
    build, parts = tf.TensorShape([2]).__reduce__()
    assert build(*parts) == tf.TensorShape([2])
