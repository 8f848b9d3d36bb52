"""Complete graphs as messages: export_meta_graph, import_meta_graph, collections, Savers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import engines
import numpy as np
import pytest
from google.protobuf.message import DecodeError

import graphio as tf
from graphio.protos import meta_graph
from graphio.schema import container

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
FEED = [[1.0, 2.0]]


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    graph = tf.Graph()
    with graph.as_default():
        yield graph


def session(target: str = "cinfer") -> tf.Session:
    engines.module(target)
    return tf.Session(target)


def trained(
    target: str, folder: Path, optimizer: Any
) -> tuple[str, list[np.ndarray[Any, Any]], tf.MetaGraphDef]:
    """Three steps, a checkpoint, three further steps: the path, the variables after all six."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.Variable([[0.5], [-0.25]], name="w")
    with tf.name_scope("layer"):
        b = tf.Variable(0.125, name="b")
        y = tf.add(tf.matmul(x, w), b, name="y")
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_mean(tf.square(y - 1.0), name="loss")
    train = optimizer.minimize(loss, global_step=step)
    for value in (x, train, 7, 2.5, "text", w, object()):
        tf.add_to_collection("mixed", value)
    saver = tf.train.Saver(max_to_keep=3)
    with session(target) as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(3):
            sess.run(train, {x: FEED})
        path = saver.save(sess, str(folder / "m"), global_step=step)
        for _ in range(3):
            sess.run(train, {x: FEED})
        assert path is not None
        return path, sess.run(tf.global_variables()), saver.export_meta_graph()


OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.1),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
}


@TARGETS
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_training_goes_on_bit_for_bit(target: str, optimizer: str, tmp_path: Path) -> None:
    path, want, _ = trained(target, tmp_path, OPTIMIZERS[optimizer]())
    with tf.Graph().as_default(), session(target) as sess:
        saver = tf.train.import_meta_graph(path + ".meta")
        saver.restore(sess, path)
        for _ in range(3):
            sess.run(tf.get_collection("train_op")[0], {"x:0": FEED})
        for a, b in zip(sess.run(tf.global_variables()), want, strict=True):
            np.testing.assert_array_equal(a, b)
        assert sess.run(tf.train.get_global_step()) == 6


@pytest.mark.parametrize("scope", [None, "deep/er"])
@pytest.mark.parametrize("source", ["meta", "text", "message", "bytes"])
def test_collections_come_back(source: str, scope: str | None, tmp_path: Path) -> None:
    path, _, message = trained("runtime", tmp_path, tf.train.AdamOptimizer(0.1))
    text = str(tmp_path / "new" / "t.meta")
    tf.train.Saver().export_meta_graph(text, as_text=True)
    given = {
        "meta": path + ".meta",
        "text": text,
        "message": message,
        "bytes": tf.MetaGraphDef.FromString(message.SerializeToString()),
    }[source]
    before = set(tf.get_default_graph().get_all_collection_keys())
    with tf.Graph().as_default() as graph:
        saver = tf.train.import_meta_graph(given, import_scope=scope)
        assert set(graph.get_all_collection_keys()) == before
        prefix = f"{scope}/" if scope else ""
        x, train, *rest, w = tf.get_collection("mixed")
        assert x is graph.get_tensor_by_name(prefix + "x:0")
        assert train is graph.get_operation_by_name(prefix + "Adam")
        assert rest == [7, 2.5, b"text"]
        assert isinstance(w, tf.Variable) and w in tf.trainable_variables()
        assert [v.name for v in tf.trainable_variables()] == [prefix + "w:0", prefix + "layer/b:0"]
        with tf.Session() as sess:
            saver.restore(sess, path)
            assert sess.run(tf.train.get_global_step()) == 3


@TARGETS
def test_an_imported_graph_can_be_trained_anew(target: str, tmp_path: Path) -> None:
    path, _, _ = trained("runtime", tmp_path, tf.train.AdamOptimizer(0.1))
    with tf.Graph().as_default() as graph, session(target) as sess:
        tf.train.import_meta_graph(path + ".meta").restore(sess, path)
        loss = graph.get_tensor_by_name("loss:0")
        slopes = tf.gradients(loss, tf.trainable_variables())
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
        first = sess.run([loss, *slopes], {"x:0": FEED})
        sess.run(train, {"x:0": FEED})
        assert sess.run(loss, {"x:0": FEED}) < first[0]
        w, b = (v.eval(sess) for v in tf.trainable_variables())
        assert np.isfinite(w).all() and np.isfinite(b)
        x = np.float64(FEED)
        with tf.Session() as other:
            tf.train.Saver(tf.trainable_variables()).restore(other, path)
            w, b = (other.run(v) for v in tf.trainable_variables())
        residual = x @ w + b - 1
        np.testing.assert_allclose(first[1], 2 * residual * x.T, rtol=1e-5)
        np.testing.assert_allclose(first[2], 2 * residual[0, 0], rtol=1e-5)


def test_a_graph_without_variables_has_no_saver() -> None:
    tf.constant(1.0, name="c")
    message = tf.train.export_meta_graph()
    with tf.Graph().as_default() as graph:
        assert tf.train.import_meta_graph(message) is None
        assert graph.get_operation_by_name("c").type == "Const"
    assert not message.HasField("saver_def")


def test_without_a_saver_all_variables_get_one() -> None:
    tf.Variable(1.0, name="v")
    message = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        saver = tf.train.import_meta_graph(message)
        assert isinstance(saver, tf.train.Saver) and list(saver.saver_def.variable) == ["v"]


def test_a_saver_is_its_message_again(tmp_path: Path) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    saver = tf.train.Saver({"renamed": v}, max_to_keep=2, keep_checkpoint_every_n_hours=3.0)
    made = saver.to_proto()
    assert isinstance(made, tf.train.SaverDef)
    assert (made.max_to_keep, made.keep_checkpoint_every_n_hours) == (2, 3.0)
    with tf.Session() as sess:
        sess.run(v.initializer)
        path = tf.train.Saver.from_proto(made).save(sess, str(tmp_path / "m"))
        assert tf.train.list_variables(path) == [("renamed", [2])]
        sess.run(v.assign([0.0, 0.0]))
        tf.train.Saver(saver_def=made).restore(sess, path)
        assert sess.run(v).tolist() == [1, 2]
    with tf.Graph().as_default(), pytest.raises(ValueError, match="does not have: v"):
        tf.train.Saver(saver_def=made)


def test_checkpoints_have_the_names_of_the_file_whatever_the_scope(tmp_path: Path) -> None:
    path, _, message = trained("runtime", tmp_path, tf.train.GradientDescentOptimizer(0.1))
    with tf.Graph().as_default(), tf.Session() as sess:
        saver = tf.train.import_meta_graph(message, import_scope="a")
        tf.train.import_meta_graph(message, import_scope="a")
        assert [v.name for v in tf.global_variables()][3:] == [
            "a_1/w:0",
            "a_1/layer/b:0",
            "a_1/global_step:0",
        ]
        saver.restore(sess, path)
        again = saver.save(sess, str(tmp_path / "again"))
        assert tf.train.list_variables(again) == tf.train.list_variables(path)


def test_messages_can_be_looked_into(tmp_path: Path) -> None:
    _, _, message = trained("runtime", tmp_path, tf.train.AdamOptimizer(0.1))
    kinds = {k: c.WhichOneof("kind") for k, c in message.collection_def.items()}
    assert kinds["train_op"] == "node_list" and kinds["variables"] == "bytes_list"
    assert message.collection_def["mixed"].int64_list.value == [7]
    assert message.collection_def["mixed"].node_list.value == ["x:0", "Adam"]
    assert "x" in [n.name for n in message.graph_def.node]
    assert message.saver_def.max_to_keep == 3
    assert "Placeholder" in [op.name for op in message.meta_info_def.stripped_op_list.op]
    message.meta_info_def.tags.append("mine")
    assert list(tf.MetaGraphDef.FromString(message.SerializeToString()).meta_info_def.tags) == [
        "mine"
    ]


def test_the_graph_of_a_message_can_be_replaced(tmp_path: Path) -> None:
    a = tf.constant(1.0, name="a")
    tf.add_to_collection("kept", 5)
    message = tf.train.export_meta_graph()
    assert message.graph_def == a.graph.as_graph_def()
    with tf.Graph().as_default() as other:
        tf.constant(2.0, name="b")
        message.graph_def.CopyFrom(other.as_graph_def())
    assert message.graph_def == other.as_graph_def() != a.graph.as_graph_def()
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(message)
        assert [op.name for op in graph.get_operations()] == ["b"]
        assert tf.get_collection("kept") == [5]
    message.graph_def.ParseFromString(a.graph.as_graph_def().SerializeToString())
    assert [n.name for n in message.graph_def.node] == ["a"] and "kept" in message.collection_def
    message.graph_def.ClearField("node")
    assert len(message.graph_def.node) == 0


def test_keys_and_values_that_no_file_can_hold_stay_behind() -> None:
    graph = tf.get_default_graph()
    tf.add_to_collection(("a", 1), 3)
    tf.add_to_collection("objects", object())
    tf.add_to_collection("numbers", np.float32(1.5))
    assert graph.get_all_collection_keys() == ["objects", "numbers"]
    message = tf.train.export_meta_graph()
    with tf.Graph().as_default() as other:
        tf.train.import_meta_graph(message)
        assert other.get_all_collection_keys() == ["numbers"]
        assert tf.get_collection("numbers") == [1.5]


def test_chosen_collections_devices_and_nodes() -> None:
    with tf.device("/cpu:0"):
        a = tf.constant(1.0, name="a")
    tf.identity(a, name="b")
    tf.add_to_collection("one", a)
    tf.add_to_collection("two", a)
    assert list(tf.train.export_meta_graph(collection_list=["two"]).collection_def) == ["two"]
    message = tf.train.export_meta_graph(clear_devices=True)
    assert {n.device for n in message.graph_def.node} == {""}
    part = tf.graph_util.extract_sub_graph(tf.get_default_graph().as_graph_def(), ["b"])
    assert len(tf.train.export_meta_graph(graph_def=part).graph_def.node) == 2
    with tf.Graph().as_default() as graph:
        with_devices = tf.train.export_meta_graph(graph=a.graph)
        tf.train.import_meta_graph(with_devices, clear_devices=True)
        tf.train.import_meta_graph(with_devices)
        assert [op.device for op in graph.get_operations()] == ["", "", "/device:CPU:0", ""]
    with tf.Graph().as_default():
        given = tf.constant(4.0)
        saver, (b,) = tf.train.import_meta_graph(
            message, input_map={"a:0": given}, return_elements=["b:0"]
        )
        with tf.Session() as sess:
            assert saver is None and sess.run(b) == 4.0


def test_a_name_scope_can_be_exported_alone() -> None:
    with tf.name_scope("part"):
        v = tf.Variable(2.0, name="v")
        tf.multiply(v, 3.0, name="y")
    tf.negative(v, name="outside")
    message = tf.train.export_meta_graph(export_scope="part")
    assert {n.name.partition("/")[0] for n in message.graph_def.node} == {"v", "y"}
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.train.import_meta_graph(message, import_scope="new")
        sess.run(tf.global_variables_initializer())
        assert sess.run("new/y:0") == 6.0
    with tf.name_scope("reader"):
        tf.negative(v)
    with pytest.raises(ValueError, match="reads 'part/v/read', which is not"):
        tf.train.export_meta_graph(export_scope="reader")


def test_what_is_no_graph_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    graph = tf.get_default_graph()
    (tmp_path / "bad.meta").write_bytes(b"\x08\x96\x01 nothing")
    with pytest.raises(OSError, match="does not exist"):
        tf.train.import_meta_graph(str(tmp_path / "none.meta"))
    with pytest.raises(OSError, match="Cannot parse"):
        tf.train.import_meta_graph(str(tmp_path / "bad.meta"))
    (tmp_path / "deep.meta").write_text("graph { " + "node { attr { value { g { " * 5000)
    with pytest.raises(OSError, match="Cannot parse"):
        tf.train.import_meta_graph(str(tmp_path / "deep.meta"))
    with pytest.raises(TypeError):
        tf.train.import_meta_graph(3)
    path = tmp_path / "cut.meta"
    tf.train.export_meta_graph(str(path))
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(OSError):
        tf.train.import_meta_graph(str(path))
    tf.constant(1.0, name="one")
    tf.Variable(2.0, name="v")
    damaged = tf.train.export_meta_graph()
    damaged._message.variable[0].initializer = "one"
    with pytest.raises(ValueError, match="variable 'v': its initializer 'one' assigns nothing"):
        tf.train.import_meta_graph(damaged)
    broken = tf.train.export_meta_graph()
    broken.graph_def.node.add(name="q", op="Neg", input=["gone"])
    before = graph.as_graph_def()
    with pytest.raises(ValueError, match="Unknown input node 'gone'"):
        tf.train.import_meta_graph(broken)
    assert graph.as_graph_def() == before


def test_constants_that_a_file_lacks_or_multiplies_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tf.constant(0.0, name="nought")
    message = tf.train.export_meta_graph()._message
    value = next(a.value for a in message.graph.node[0].attr if a.key == "value")
    file = tmp_path / "a.meta"

    def read(index: int) -> None:
        value.tensor = index
        file.write_bytes(container.pack(message, [np.zeros(3)]))
        with tf.Graph().as_default():
            tf.train.import_meta_graph(str(file))

    read(0)
    with pytest.raises(OSError, match="there is no tensor 1"):
        read(1)
    value.tensor = 0
    for i in range(2):
        message.graph.node.add().CopyFrom(message.graph.node[0])
        message.graph.node[-1].name = f"again{i}"
    monkeypatch.setattr(meta_graph, "_LARGEST", 50)
    with pytest.raises(OSError, match="its constants have more than 50 bytes"):
        read(0)


def test_a_variable_is_its_description_again() -> None:
    v = tf.Variable([1.0, 2.0], name="v", trainable=False)
    made = v.to_proto()
    assert (made.variable_name, made.initial_value_name) == ("v:0", "v/initial_value:0")
    assert (made.initializer_name, made.snapshot_name) == ("v/Assign", "v/read:0")
    assert v.to_proto("elsewhere") is None
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(v.graph.as_graph_def(), name="in")
        one = tf.Variable.from_proto(made, import_scope="in")
        two = tf.Variable(variable_def=made, import_scope="in")
        assert not one.trainable and tf.global_variables() == []
        sess.run(two.initializer)
        sess.run(two.assign_add([1.0, 1.0]))
        assert sess.run(one).tolist() == [2, 3]
        with pytest.raises(KeyError, match="'v:0'"):
            tf.Variable.from_proto(made)
        with pytest.raises(TypeError, match="VariableDef"):
            tf.Variable.from_proto(3)


def test_a_message_is_read_from_the_bytes_of_a_meta_file(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(np.arange(300.0), name="v")
        session.run(v.initializer)
        tf.train.Saver().save(session, str(tmp_path / "m"))
    data = (tmp_path / "m.meta").read_bytes()
    message = tf.MetaGraphDef()
    assert message.ParseFromString(data) == len(data)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(message.graph_def, name="")
        session.run("v/Assign")
        assert session.run(graph.get_tensor_by_name("v/read:0")).tolist() == list(range(300))
    with pytest.raises(DecodeError, match="checksum|damaged|bytes"):
        message.ParseFromString(data[:-1] + b"\xff")
    with pytest.raises(DecodeError):
        message.ParseFromString(data[:50])


def test_savers_of_a_collection_survive_in_a_meta_graph(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v, w = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="w")
        for key, variable in (("first", v), ("second", w)):
            saver = tf.train.Saver({key: variable}, max_to_keep=3)
            tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
            session.run(variable.initializer)
            saver.save(session, tmp_path / key)
        tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver(defer_build=True))
        meta = tf.train.export_meta_graph()
    kept = meta.collection_def[tf.GraphKeys.SAVERS]
    assert kept.WhichOneof("kind") == "bytes_list" and len(kept.bytes_list.value) == 3
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(meta, import_scope="in")
        first, second = tf.get_collection(tf.GraphKeys.SAVERS)
        first.restore(session, str(tmp_path / "first"))
        assert session.run("in/v:0") == 1 and not session.run(
            tf.is_variable_initialized(tf.global_variables()[1])
        )
        second.restore(session, str(tmp_path / "second"))
        assert session.run("in/w:0") == 2


def test_the_savers_of_others_can_be_left_out() -> None:
    with tf.Graph().as_default():
        v, w = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="w")
        first, second = tf.train.Saver({"v": v}), tf.train.Saver({"w": w})
        for saver in (first, second):
            tf.add_to_collection("savers", saver)
        whole = second.export_meta_graph()
        own = second.export_meta_graph(clear_extraneous_savers=True)
    assert len(whole.collection_def["savers"].bytes_list.value) == 2
    kept = own.collection_def["savers"].bytes_list.value
    assert list(kept) == [whole.collection_def["savers"].bytes_list.value[1]]
    with tf.Graph().as_default():
        tf.train.import_meta_graph(own)
        assert len(tf.get_collection("savers")) == 1
