"""tf.train.Checkpoint and its manager; TensorFlow's own files are read by the same objects.

tracking_files/m-1 is what TensorFlow 2.21 saved for objects() after a step of Adam.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.schema.checkpoint_writer import write_checkpoint
from graphio.schema.tensorflow_pb2 import CheckpointObjectGraph
from graphio.train.tracking import manager as managers

WRITTEN = str(Path(__file__).parent / "tracking_files" / "m-1")
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
#: of TensorFlow's file
KEYS = [
    f"{path}/.ATTRIBUTES/VARIABLE_VALUE"
    for path in (
        "model/parts/0", "model/parts/0/.OPTIMIZER_SLOT/opt/m",
        "model/parts/0/.OPTIMIZER_SLOT/opt/v", "model/v", "model/v/.OPTIMIZER_SLOT/opt/m",
        "model/v/.OPTIMIZER_SLOT/opt/v", "opt/beta1_power", "opt/beta2_power", "save_counter",
        "step",
    )
]  # fmt: skip


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def objects() -> tuple[Any, Any]:
    """A Checkpoint of a model with its optimizer, and the training operation."""
    v = tf.get_variable("v", initializer=np.array([1.0, 2.0], np.float32))
    w = tf.Variable(3.0, name="w")
    optimizer, step = tf.train.AdamOptimizer(0.5), tf.train.get_or_create_global_step()
    train = optimizer.minimize(tf.reduce_sum(v * v) * w, global_step=step)
    model = tf.train.Checkpoint(v=v, parts=[w])
    return tf.train.Checkpoint(model=model, opt=optimizer, step=step), train


@TARGETS
def test_a_checkpoint_has_the_keys_graph_and_values_of_tensorflow(
    tmp_path: Path, target: str
) -> None:
    made, train = objects()
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        path = made.save(str(tmp_path / "folder" / "m"), session)
    assert path == str(tmp_path / "folder" / "m-1")
    assert tf.train.latest_checkpoint(str(tmp_path / "folder")) == path
    reader = tf.train.load_checkpoint(path)
    listed = dict(tf.train.list_variables(path))
    assert sorted(listed) == ["_CHECKPOINTABLE_OBJECT_GRAPH", *KEYS]
    written = tf.train.load_checkpoint(WRITTEN)
    for key in KEYS:
        value = written.get_tensor(key.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE"))
        np.testing.assert_allclose(reader.get_tensor(key), value, rtol=1e-6)
    found = CheckpointObjectGraph.FromString(reader.get_tensor("_CHECKPOINTABLE_OBJECT_GRAPH"))
    source: Any = written._source
    theirs = CheckpointObjectGraph.FromString(source.object_graph)
    assert _paths(found) == _paths(theirs)


def _paths(graph: CheckpointObjectGraph) -> dict[str, Any]:
    """The edges, keys and slots of a graph of objects, whose numbers are free."""
    found: dict[str, Any] = {}
    names = {0: "root"}
    for number, node in enumerate(graph.nodes):
        for child in node.children:
            names.setdefault(child.node_id, f"{names[number]}/{child.local_name}")
    for number, node in enumerate(graph.nodes):
        for slot in node.slot_variables:
            original = names[slot.original_variable_node_id]
            names[slot.slot_variable_node_id] = f"{names[number]}:{slot.slot_name}:{original}"
    for number, node in enumerate(graph.nodes):
        found[names[number]] = (
            {(c.local_name, names[c.node_id]) for c in node.children},
            [(a.name, a.full_name, a.checkpoint_key) for a in node.attributes],
        )
    return found


@TARGETS
def test_a_checkpoint_of_tensorflow_is_restored(target: str) -> None:
    made, _ = objects()
    model, optimizer = made.model, made.opt
    with tf.Session(target) as session:
        made.restore(WRITTEN).assert_consumed().run_restore_ops(session)
        found = session.run([model.v, model.parts[0], made.step, made.save_counter])
        np.testing.assert_allclose(found[0], [0.5, 1.5], rtol=1e-6)
        assert found[1:] == [2.5, 1, 1]
        np.testing.assert_allclose(
            session.run(optimizer.get_slot(model.v, "m")), [0.6, 1.2], rtol=1e-6
        )


@TARGETS
def test_objects_of_other_names_and_other_scopes_take_their_values(
    tmp_path: Path, target: str
) -> None:
    layer = tf.layers.Dense(2, name="one")
    layer(tf.ones([1, 3]))
    saved = tf.train.Checkpoint(net=layer, table={"a.b": tf.Variable(5.0)})
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        path, kernel = saved.write(tmp_path / "m", session), session.run(layer.kernel)
    assert dict(tf.train.list_variables(path))["table/a..b/.ATTRIBUTES/VARIABLE_VALUE"] == []
    other = tf.layers.Dense(2, name="two")
    status = tf.train.Checkpoint(net=other).restore(path)
    other(tf.ones([1, 3]))  # after the restore
    with tf.Session(target) as session:
        status.assert_existing_objects_matched().run_restore_ops(session)
        np.testing.assert_array_equal(session.run(other.kernel), kernel)
        with pytest.raises(AssertionError, match=r"no Python object has object \d+, table/a..b"):
            status.assert_consumed()
    assert status.expect_partial() is status


@TARGETS
def test_variables_without_values_are_initialized(tmp_path: Path, target: str) -> None:
    one = tf.Variable(1.0)
    with tf.Session(target) as session:
        session.run(one.initializer)
        path = tf.train.Checkpoint(one=one).write(tmp_path / "m", session)
    both = tf.train.Checkpoint(one=tf.Variable(10.0), two=tf.Variable(20.0))
    with tf.Session(target) as session:
        status = both.restore(path)
        status.initialize_or_restore(session)
        assert session.run([both.one, both.two]) == [1, 20]
        with pytest.raises(AssertionError, match="were not bound to checkpointed values.*: two/"):
            status.assert_existing_objects_matched()
        nothing = both.restore(None)
        nothing.initialize_or_restore(session)
        assert session.run([both.one, both.two]) == [10, 20]
        with pytest.raises(AssertionError, match="No checkpoint specified"):
            nothing.assert_consumed()
        with pytest.raises(AssertionError, match="No checkpoint specified"):
            nothing.run_restore_ops(session)
    other = tf.train.Checkpoint(three=tf.Variable(1.0))
    with pytest.raises(AssertionError, match="Nothing except the root object matched"):
        other.restore(path).assert_nontrivial_match()
    assert both.restore(path).assert_nontrivial_match()


@TARGETS
def test_a_checkpoint_of_a_saver_is_restored_by_names(tmp_path: Path, target: str) -> None:
    a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "m"))
        session.run([a.assign(0.0), b.assign(0.0)])
        tf.train.Checkpoint(x=[a, b]).restore(path).assert_consumed().run_restore_ops(session)
        assert session.run([a, b]) == [1, 2]
        with pytest.raises(AssertionError, match="no Python object has b"):
            tf.train.Checkpoint(x=a).restore(path).assert_consumed()


class Text(tf.train.experimental.PythonState):
    """Some text of a program."""

    def __init__(self, text: str) -> None:
        self.text = text

    def serialize(self) -> str:
        return self.text

    def deserialize(self, string_value: bytes) -> None:
        self.text = string_value.decode()


def test_state_of_python_is_saved_as_a_string(tmp_path: Path) -> None:
    saved = tf.train.Checkpoint(notes=Text("ü 1"))
    with tf.Session() as session:
        path = saved.write(tmp_path / "m", session)
        assert tf.train.load_variable(path, "notes/.ATTRIBUTES/py_state") == "ü 1".encode()
        other = tf.train.Checkpoint(notes=Text(""))
        other.restore(path).assert_consumed().run_restore_ops(session)
    assert other.notes.text == "ü 1"  # type: ignore[attr-defined]


def test_what_cannot_be_saved_or_restored_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expecting a trackable object .* got 3 for x"):
        tf.train.Checkpoint(x=3)
    v = tf.Variable([1.0, 2.0])
    made = tf.train.Checkpoint(v=v)
    with pytest.raises(RuntimeError, match=r"Checkpoint.save needs a session"):
        made.save(tmp_path / "m")
    with pytest.raises(tf.errors.NotFoundError):
        made.restore(tmp_path / "none")
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError):
            made.save(tmp_path / "m", session)
        session.run(v.initializer)
        path = made.write(tmp_path / "m")
        wrong = tf.train.Checkpoint(v=tf.Variable([1.0]))
        with pytest.raises(
            ValueError, match=r"is float32\[2\], but variable Variable_1 is float32"
        ):
            wrong.restore(path).run_restore_ops()


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (b"\xff", "its graph of objects is damaged"),
        (b"", "graph of 0 objects names one that it lacks"),
        (b"\n\x05\n\x03\x08\x07\x12", "its graph of objects is damaged"),
        (b"\n\x04\n\x02\x08\x07", "graph of 1 objects names one that it lacks"),
        (b"\n\x04\x1a\x02\x18\x07", "graph of 1 objects names one that it lacks"),
    ],
)
def test_a_damaged_graph_of_objects_is_refused(tmp_path: Path, graph: bytes, message: str) -> None:
    value = np.empty((), object)
    value[()] = graph
    write_checkpoint(tmp_path / "m", {"_CHECKPOINTABLE_OBJECT_GRAPH": value})
    with pytest.raises(tf.errors.DataLossError, match=message):
        tf.train.Checkpoint().restore(tmp_path / "m")


def test_a_manager_keeps_the_newest_checkpoints(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    made = tf.train.Checkpoint(v=tf.Variable(1.0))
    manager = tf.train.CheckpointManager(made, folder, max_to_keep=2)
    assert manager.latest_checkpoint is None
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        paths = [manager.save() for _ in range(3)]
        assert paths == [str(folder / f"ckpt-{n}") for n in (1, 2, 3)]
        assert manager.checkpoints == paths[1:]
        assert [tf.train.checkpoint_exists(p) for p in paths] == [False, True, True]
        assert manager.latest_checkpoint == paths[2] == tf.train.latest_checkpoint(str(folder))
        again = tf.train.CheckpointManager(made, folder, 2, checkpoint_name="other")
        assert again.checkpoints == paths[1:]
        last = again.save(checkpoint_number=70)
        assert last == str(folder / "other-70")
        assert again.checkpoints == [paths[2], last]
        assert session.run(made.save_counter) == 4
    with pytest.raises(ValueError, match="positive integer or `None` for `max_to_keep`, got 0"):
        tf.train.CheckpointManager(made, folder, 0)


def test_a_manager_leaves_checkpoints_of_others_alone(tmp_path: Path) -> None:
    made = tf.train.Checkpoint(v=tf.Variable(1.0))
    number = tf.Variable(40, trainable=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        other = made.save(tmp_path / "other")
        manager = tf.train.CheckpointManager(made, tmp_path, 1)
        assert manager.latest_checkpoint == other
        assert manager.checkpoints == []
        paths = [manager.save(number) for _ in range(2)] + [manager.save()]
        assert manager.checkpoints == paths[2:] == [str(tmp_path / "ckpt-4")]
    assert paths[0] == paths[1] == str(tmp_path / "ckpt-40")
    assert [tf.train.checkpoint_exists(p) for p in (other, *paths)] == [True, False, False, True]


def test_a_manager_keeps_one_in_some_hours(tmp_path: Path, monkeypatch: Any) -> None:
    now = [1000.0]
    monkeypatch.setattr(managers.time, "time", lambda: now[0])
    made = tf.train.Checkpoint(v=tf.Variable(1.0))
    manager = tf.train.CheckpointManager(made, tmp_path, 1, keep_checkpoint_every_n_hours=2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        paths = []
        for _ in range(5):
            now[0] += 3600
            paths.append(manager.save())
    assert manager.checkpoints == paths[4:]
    assert [tf.train.checkpoint_exists(p) for p in paths] == [False, True, False, True, True]
