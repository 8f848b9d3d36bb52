"""tf.saved_model: folders that TensorFlow's calls write and read."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import engines
import numpy as np
import pytest

import graphio as tf
from graphio.schema.tensorflow_pb2 import AssetFileDef
from graphio.storage import files

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
X = [[1.0, 2.0], [-3.0, 0.5]]
WANT = np.maximum(np.float64(X) @ [[1.0, -1.0], [2.0, 0.5]] + [0.25, 0.0], 0.0)

OTHER_PROCESS = """
import json, sys
import graphio as tf
from graphio.schema.tensorflow_pb2 import AssetFileDef
with tf.Session(sys.argv[2], graph=tf.Graph()) as sess:
    meta = tf.saved_model.loader.load(sess, [tf.saved_model.tag_constants.SERVING], sys.argv[1])
    signature = meta.signature_def["serving_default"]
    scores = sess.run(signature.outputs["scores"].name, {signature.inputs["x"].name: %r})
    print(json.dumps([scores.tolist(), signature.method_name, tf.get_collection("marks"),
                      [v.name for v in tf.global_variables()]]))
""" % (X,)  # noqa: UP031 - braces are the program's


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    graph = tf.Graph()
    with graph.as_default():
        yield graph


def session(target: str = "cinfer", graph: tf.Graph | None = None) -> tf.Session:
    engines.module(target)
    return tf.Session(target, graph=graph)


def net() -> tuple[tf.Tensor, tf.Variable, tf.Tensor]:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.Variable([[1.0, -1.0], [2.0, 0.5]], name="w")
    b = tf.Variable([0.25, 0.0], name="b")
    return x, w, tf.nn.relu(tf.matmul(x, w) + b, name="scores")


def signature(x: tf.Tensor, y: tf.Tensor) -> Any:
    return tf.saved_model.signature_def_utils.predict_signature_def({"x": x}, {"y": y})


def saved(folder: Path, target: str = "runtime") -> str:
    """A model that simple_save wrote."""
    x, _, scores = net()
    tf.add_to_collection("marks", 7)
    with session(target) as sess:
        sess.run(tf.global_variables_initializer())
        assert tf.saved_model.simple_save(sess, str(folder), {"x": x}, {"scores": scores}) is None
    return str(folder)


@TARGETS
def test_another_process_loads_what_this_one_saved(target: str, tmp_path: Path) -> None:
    path = saved(tmp_path / "new" / "model", target)
    assert sorted(p.name for p in Path(path).iterdir()) == [
        "saved_model.gio",
        "saved_model.pb",
        "variables",
    ]
    done = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS, path, target], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    scores, method, marks, variables = json.loads(done.stdout)
    np.testing.assert_allclose(scores, WANT, rtol=1e-6)
    assert (method, marks) == ("tensorflow/serving/predict", [7])
    assert variables == ["w:0", "b:0"]


@TARGETS
def test_engines_open_the_folder_and_the_file_in_it(target: str, tmp_path: Path) -> None:
    path = saved(tmp_path / "m")
    engine = engines.module(target)
    for model in (
        tf.saved_model.load(path, target),
        engine.load(str(tmp_path / "m" / "saved_model.gio")),
    ):
        scores = model.signature("serving_default")(x=np.float32(X))["scores"]
        np.testing.assert_allclose(scores, WANT, rtol=1e-6)


def test_a_saver_reads_the_variables_of_the_folder(tmp_path: Path) -> None:
    path = saved(tmp_path / "m")
    assert tf.train.list_variables(path + "/variables/variables") == [("b", [2]), ("w", [2, 2])]
    with tf.Session() as sess:
        tf.train.Saver().restore(sess, path + "/variables/variables")
        assert sess.run("b:0").tolist() == [0.25, 0]


@TARGETS
def test_the_loaded_graph_can_be_extended_and_saved_again(target: str, tmp_path: Path) -> None:
    path = saved(tmp_path / "m")
    with tf.Graph().as_default() as graph, session(target) as sess:
        meta = tf.saved_model.load(sess, ["serve"], path, import_scope="in")
        assert meta.signature_def["serving_default"].inputs["x"].name == "x:0"
        infos = meta.signature_def["serving_default"]
        x = tf.saved_model.get_tensor_from_tensor_info(infos.inputs["x"], graph, "in")
        y = tf.saved_model.get_tensor_from_tensor_info(infos.outputs["scores"], import_scope="in")
        double = tf.multiply(y, 2.0, name="double")
        sess.run(tf.global_variables()[1].assign([0.0, 1.0]))
        want = sess.run(double, {x: X})
        tf.saved_model.simple_save(sess, str(tmp_path / "again"), {"x": x}, {"y": double})
    loaded = tf.saved_model.load(str(tmp_path / "again"), target)
    np.testing.assert_array_equal(loaded.signature()(x=np.float32(X))["y"], want)


@TARGETS
def test_several_graphs_share_the_variables(target: str, tmp_path: Path) -> None:
    path = str(tmp_path / "m")
    builder = tf.saved_model.builder.SavedModelBuilder(path)
    x, w, scores = net()
    with session(target) as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(w.assign(w * 2.0))
        builder.add_meta_graph_and_variables(sess, ["train"], {"train": signature(x, scores)})
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2], name="x")
        w = tf.Variable(tf.zeros([2, 2]), name="w")
        y = tf.reduce_sum(w * x, 1, name="y")
        builder.add_meta_graph(["serve", "gpu"], {"serving_default": signature(x, y)})
    assert builder.save() == (path + "/saved_model.pb").encode()
    with tf.Graph().as_default(), session(target) as sess:
        meta = tf.saved_model.loader.load(sess, {"gpu", "serve"}, path)
        assert list(meta.signature_def) == ["serving_default"]
        assert list(meta.meta_info_def.tags) == ["serve", "gpu"]
        assert sess.run("y:0", {"x:0": [1, 1]}).tolist() == [0, 5]
        with pytest.raises(RuntimeError, match=r"tags 'serve' could not.*\['train'\]"):
            tf.saved_model.loader.load(sess, ["serve"], path)
    engine = engines.module(target)
    second = engine.load(path + "/saved_model-1.gio")
    assert second.signature()(x=np.float32([1, 0]))["y"].tolist() == [2, 4]


@TARGETS
def test_assets_and_the_operation_for_after_loading(target: str, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("a\nb\n")
    asset = tf.constant(str(tmp_path / "words.txt"), name="words")
    seen = tf.Variable("", name="seen", trainable=False)
    main = tf.group(seen.assign(asset), name="main")
    with session(target) as sess:
        sess.run(tf.global_variables_initializer())
        builder = tf.saved_model.Builder(str(tmp_path / "m"))
        builder.add_meta_graph_and_variables(
            sess, ["serve"], assets_collection=[asset], main_op=main
        )
        builder.save()
    (tmp_path / "words.txt").unlink()
    with session(target, tf.Graph()) as sess:
        tf.saved_model.loader.load(sess, ["serve"], str(tmp_path / "m"), import_scope="a")
        copy = str(tmp_path / "m" / "assets" / "words.txt")
        assert sess.run("a/seen:0") == copy.encode() and Path(copy).read_text() == "a\nb\n"


def test_text_and_graphs_without_variables(tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    tf.multiply(x, 2.0, name="y")
    path = str(tmp_path / "m")
    with tf.Session() as sess:
        builder = tf.saved_model.Builder(path)
        builder.add_meta_graph_and_variables(sess, ["serve"])
        assert builder.save(as_text=True).endswith(b"/saved_model.pbtxt")
    assert "Placeholder" in Path(path, "saved_model.pbtxt").read_text()
    assert not list(Path(path, "variables").iterdir())
    with tf.Session(graph=tf.Graph()) as sess:
        tf.saved_model.loader.load(sess, ["serve"], path)
        assert sess.run("y:0", {"x:0": 4}) == 8


def test_variables_without_values_leave_a_folder_that_can_be_tried_again(tmp_path: Path) -> None:
    x, _, scores = net()
    with tf.Session() as sess:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value b, w"):
            tf.saved_model.simple_save(sess, str(tmp_path / "m"), {"x": x}, {"y": scores})
        assert not tf.saved_model.maybe_saved_model_directory(str(tmp_path / "m"))
        sess.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(sess, str(tmp_path / "m"), {"x": x}, {"y": scores})
        assert tf.saved_model.contains_saved_model(str(tmp_path / "m"))
        with pytest.raises(AssertionError, match="already exists, and isn't empty"):
            tf.saved_model.simple_save(sess, str(tmp_path / "m"), {"x": x}, {"y": scores})


class NoCapacity(files.FileLayer):
    """A disk that is full from the n-th rename on."""

    left = 0

    def rename(self, old: str, new: str) -> None:
        NoCapacity.left -= 1
        if NoCapacity.left < 0:
            raise OSError(28, "No space left on device")
        super().rename(old, new)


def test_a_save_that_fails_anywhere_leaves_no_saved_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, _, scores = net()
    monkeypatch.setattr(files.SYSTEM, "rename", NoCapacity().rename)
    failed = 0
    with tf.Session() as sess:
        NoCapacity.left = 99
        sess.run(tf.global_variables_initializer())
        for steps in range(9):
            folder = str(tmp_path / str(steps))
            NoCapacity.left = steps
            try:
                tf.saved_model.simple_save(sess, folder, {"x": x}, {"y": scores})
            except OSError:
                failed += 1
                assert not tf.saved_model.maybe_saved_model_directory(folder)
                assert not list(Path(folder).rglob("tmp-*"))
            else:
                assert tf.saved_model.maybe_saved_model_directory(folder)
    assert 3 <= failed < 9


def test_what_is_no_saved_model_is_refused(tmp_path: Path) -> None:
    graph = tf.get_default_graph()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "saved_model.pb").write_bytes(b"\x08\x01\x12\x99")
    with tf.Session() as sess:
        for name in ("nothing", "bad"):
            with pytest.raises(OSError):
                tf.saved_model.loader.load(sess, ["serve"], str(tmp_path / name))
        with pytest.raises(tf.errors.NotFoundError):
            tf.saved_model.load(str(tmp_path / "nothing"))
    assert graph.get_operations() == []


def test_an_untrusted_asset_stays_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("a")
    asset = tf.constant(str(tmp_path / "words.txt"), name="words")
    main = tf.Variable("", name="seen", trainable=False).assign(asset).op
    path = tmp_path / "m"
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        builder = tf.saved_model.Builder(str(path))
        builder.add_meta_graph_and_variables(
            sess, ["serve"], assets_collection=[asset], main_op=main
        )
        builder.save(as_text=True)
    file = path / "saved_model.pbtxt"
    honest = file.read_text()

    def load(found: str, instead: str) -> tf.Session:
        assert found in honest
        file.write_text(honest.replace(found, instead))
        sess = tf.Session(graph=tf.Graph())
        try:
            tf.saved_model.loader.load(sess, ["serve"], str(path))
        except OSError:
            assert not sess.graph.get_operations()
            raise
        return sess

    for name in ("../../etc/passwd", "/etc/passwd"):
        with load('value: "words.txt"', f'value: "{name}"') as sess:
            assert sess.run("seen:0") == str(path / "assets" / "passwd").encode()
    for found in ("saved_model/asset/words", f'value: "{main.name}"'):
        with pytest.raises(OSError, match="is damaged: there is no node 'none"):
            load(found, found.replace("words", "none").replace(main.name, "none"))


def test_the_builder_refuses_what_does_not_belong(tmp_path: Path) -> None:
    x, _, scores = net()
    builder = tf.saved_model.Builder(str(tmp_path / "m"))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.raises(AssertionError, match="has not been saved"):
            builder.add_meta_graph(["late"])
        add = builder.add_meta_graph_and_variables
        with pytest.raises(TypeError, match="must be a SignatureDef"):
            add(sess, ["a"], {"s": (x, scores)})
        with pytest.raises(TypeError, match="tags must be a list"):
            add(sess, "serve")
        with pytest.raises(TypeError, match="must be a constant with the path"):
            add(sess, ["a"], assets_collection=[x])
        with tf.Graph().as_default():
            other = signature(tf.placeholder(tf.float32, name="q"), tf.constant(1.0))
        with pytest.raises(ValueError, match="signature 's' is not of this graph"):
            add(sess, ["a"], {"s": other})
        add(sess, ["a"], {"s": signature(x, scores)})
        with pytest.raises(AssertionError, match="has already been saved"):
            add(sess, ["b"])


# ---- signatures ----


def test_descriptions_of_tensors() -> None:
    x, w, _ = net()
    info = tf.saved_model.utils.build_tensor_info(x)
    assert (info.name, info.dtype) == ("x:0", tf.float32.as_datatype_enum)
    assert [d.size for d in info.tensor_shape.dim] == [-1, 2]
    assert info == tf.saved_model.build_tensor_info(x) != tf.saved_model.build_tensor_info(w)
    assert tf.saved_model.utils.build_tensor_info(w).name == "w:0"
    unknown = tf.saved_model.utils.build_tensor_info(tf.placeholder(tf.int64, name="p"))
    assert unknown.tensor_shape.unknown_rank and unknown.dtype == tf.int64.as_datatype_enum
    assert tf.saved_model.utils.get_tensor_from_tensor_info(info) is x
    with pytest.raises(TypeError, match="describes tensors, not int"):
        tf.saved_model.utils.build_tensor_info(3)
    with tf.Graph().as_default(), pytest.raises(KeyError):
        tf.saved_model.utils.get_tensor_from_tensor_info(info)


def test_signatures_of_the_usual_kinds() -> None:
    util, names = tf.saved_model.signature_def_utils, tf.saved_model.signature_constants
    text = tf.placeholder(tf.string, [None], name="text")
    score = tf.placeholder(tf.float32, [None], name="score")
    regression = util.regression_signature_def(text, score)
    assert regression.method_name == names.REGRESS_METHOD_NAME
    assert regression.inputs["inputs"].name == "text:0"
    both = util.classification_signature_def(text, text, score)
    assert sorted(both.outputs) == ["classes", "scores"]
    predict = util.predict_signature_def({"a": text}, {"b": score})
    built = util.build_signature_def(
        {"a": tf.saved_model.utils.build_tensor_info(text)},
        {"b": tf.saved_model.utils.build_tensor_info(score)},
        names.PREDICT_METHOD_NAME,
    )
    assert predict == built and predict != both
    for made in (regression, both, predict):
        assert util.is_valid_signature(made)
    assert not util.is_valid_signature(util.build_signature_def())
    built.method_name = names.REGRESS_METHOD_NAME
    assert not util.is_valid_signature(built)
    for wrong in (
        lambda: util.predict_signature_def({}, {"b": score}),
        lambda: util.predict_signature_def({"a": score}, {}),
        lambda: util.regression_signature_def(None, score),
        lambda: util.regression_signature_def(score, score),
        lambda: util.classification_signature_def(text, None, None),
        lambda: util.classification_signature_def(text, score, None),
    ):
        with pytest.raises(ValueError):
            wrong()


def test_a_graph_has_one_operation_to_run_after_a_load(tmp_path: Path) -> None:
    x, _, _ = net()
    builder = tf.saved_model.Builder(str(tmp_path / "m"))
    tf.add_to_collection("legacy_init_op", tf.no_op())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for option in ("main_op", "legacy_init_op"):
            with pytest.raises(ValueError, match="one or more main ops under the collection"):
                builder.add_meta_graph_and_variables(session, ["a"], **{option: tf.no_op()})
        builder.add_meta_graph_and_variables(session, ["a"])


def test_a_description_forgets_its_tensor() -> None:
    reported = tf.saved_model.utils.build_tensor_info(tf.constant([1.0]))
    reported.ClearField("name")
    with pytest.raises(ValueError, match=r"Invalid TensorInfo.encoding"):
        tf.saved_model.utils.get_tensor_from_tensor_info(reported)
    reported.ClearField("dtype")
    assert (reported.dtype, reported.name) == (0, "")


def test_a_sparse_tensor_is_described_by_its_parts(tmp_path: Path) -> None:
    sparse = tf.sparse_placeholder(tf.float32, [4, 6], name="s")
    reported = tf.saved_model.utils.build_tensor_info(sparse)
    assert reported.WhichOneof("encoding") == "coo_sparse" and reported.HasField("coo_sparse")
    assert reported.coo_sparse.indices_tensor_name == sparse.indices.name and not reported.name
    assert [d.size for d in reported.tensor_shape.dim] == [4, 6]
    copy = tf.saved_model.signature_def_utils.build_signature_def({"x": reported}, {}, "m").inputs[
        "x"
    ]
    again = tf.saved_model.utils.get_tensor_from_tensor_info(copy)
    assert again.values is sparse.values and again.dense_shape is sparse.dense_shape
    copy.coo_sparse.values_tensor_name = "nothing:0"
    with pytest.raises(KeyError):
        tf.saved_model.utils.get_tensor_from_tensor_info(copy)
    signature = tf.saved_model.signature_def_utils.build_signature_def(
        {"x": reported}, {"x": reported}
    )
    builder = tf.saved_model.Builder(str(tmp_path / "m"))
    tf.Variable(0.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(TypeError, match="give its parts"):
            builder.add_meta_graph_and_variables(session, ["a"], {"f": signature})
        reported.ClearField("coo_sparse")
        signature.inputs["x"].CopyFrom(reported)
        with pytest.raises(AssertionError, match="must have the name and dtype fields set: 'x'"):
            builder.add_meta_graph_and_variables(session, ["a"], {"f": signature})


def test_assets_are_a_collection_of_messages_and_the_first_of_a_name_serves_all(
    tmp_path: Path,
) -> None:
    builder = tf.saved_model.Builder(str(tmp_path / "m"))
    for tag in ("a", "b"):
        (tmp_path / tag).mkdir()
        (tmp_path / tag / "words.txt").write_text(tag)
        with tf.Graph().as_default(), tf.Session() as sess:
            words = tf.constant(str(tmp_path / tag / "words.txt"), name="words")
            sess.run(tf.Variable(1.0, name="v").initializer)
            if tag == "a":
                builder.add_meta_graph_and_variables(sess, [tag], assets_collection=[words])
            else:
                builder.add_meta_graph([tag], assets_collection=[words])
    builder.save()
    assert (tmp_path / "m" / "assets" / "words.txt").read_text() == "a"
    with tf.Graph().as_default(), tf.Session() as sess:
        found = tf.saved_model.load(sess, ["b"], str(tmp_path / "m")).collection_def
    assert "saved_model_assets" in found and "saved_model_assets" in list(found)
    assets = found["saved_model_assets"]
    assert assets.WhichOneof("kind") == "any_list"
    asset = AssetFileDef()
    assert assets.any_list.value[0].Unpack(asset)
    assert (asset.filename, asset.tensor_info.name) == ("words.txt", "words:0")
