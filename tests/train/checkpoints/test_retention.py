"""Checkpoints that a Saver keeps, over restarts and failures; states of objects; the graph file."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import graphio as tf
from graphio.schema import container
from graphio.schema.checkpoint import read_checkpoint
from graphio.storage.files import FileLayer
from graphio.train.checkpoints import saving


@pytest.fixture(autouse=True)
def new_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        tf.Variable([1.0, 2.0], name="v")
        yield


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of the clock, to be changed."""
    moment = [1_000_000.0]
    monkeypatch.setattr(time, "time", lambda: moment[0])
    return moment


def started() -> Any:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def steps_of(folder: Path) -> list[int]:
    return sorted(int(p.stem.split("-")[1]) for p in folder.glob("*.index"))


def hourly(folder: Path, now: list[float], restarts: tuple[int, ...]) -> list[int]:
    """A save every ten minutes, one an hour kept; the steps before which the process is new."""
    session = started()

    def new() -> Any:
        return tf.train.Saver(max_to_keep=2, keep_checkpoint_every_n_hours=1)

    saver = new()
    for step in range(22):
        if step in restarts:
            saver = new()
            saver.restore(session, tf.train.latest_checkpoint(folder))
        now[0] += 600
        saver.save(session, folder / "m", global_step=step)
    return steps_of(folder)


def test_one_an_hour_is_kept_whether_the_process_restarts_or_not(
    tmp_path: Path, now: list[float]
) -> None:
    kept = [6, 12, 18, 20, 21]
    for i, restarts in enumerate([(), (1, 5, 8, 9, 20)]):
        (tmp_path / str(i)).mkdir()
        assert hourly(tmp_path / str(i), now, restarts) == kept, restarts


def test_a_pause_makes_no_backlog_of_hours(tmp_path: Path, now: list[float]) -> None:
    session = started()
    saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=1)
    for step in range(8):
        now[0] += 100 * 3600 if step == 1 else 60
        saver.save(session, tmp_path / "m", global_step=step)
    assert steps_of(tmp_path) == [1, 7]


class Stubborn(FileLayer):
    """Deletes no checkpoint while it refuses: a deletion begins with a rename of the index."""

    def __init__(self) -> None:
        self.refuses = True

    def rename(self, old: str, new: str) -> None:
        if self.refuses and old.endswith(".index") and new.endswith(".deleted"):
            raise PermissionError(13, "Permission denied")
        super().rename(old, new)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_save_stands_when_an_old_one_cannot_be_deleted(
    asynchronous: bool, tmp_path: Path
) -> None:
    session, layer = started(), Stubborn()
    saver = tf.train.Saver(max_to_keep=1, asynchronous=asynchronous)
    saver._layer = layer
    saver.save(session, tmp_path / "m", global_step=0)
    with pytest.warns(UserWarning, match=r"m-0' is not needed .* cannot be deleted.*Perm"):
        prefix = saver.save(session, tmp_path / "m", global_step=1)
        saver.wait()
    assert saver.last_checkpoints == [prefix] and steps_of(tmp_path) == [0, 1]
    layer.refuses = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        saver.save(session, tmp_path / "m", global_step=2)
        saver.wait()
    assert steps_of(tmp_path) == [2]


def test_a_prefix_that_is_written_again_is_kept_once(tmp_path: Path) -> None:
    session, saver = started(), tf.train.Saver(max_to_keep=2)
    for step in (1, 2, 1, 3):
        saver.save(session, tmp_path / "m", global_step=step)
    assert [Path(p).name for p in saver.last_checkpoints] == ["m-1", "m-3"]
    assert steps_of(tmp_path) == [1, 3]


def test_a_list_can_be_taken_over(tmp_path: Path) -> None:
    session, saver = started(), tf.train.Saver(max_to_keep=None)
    paths = [saver.save(session, tmp_path / "m", global_step=step) for step in range(4)]
    one = tf.train.Saver(max_to_keep=3)
    one.recover_last_checkpoints([str(tmp_path / "gone"), *paths])
    assert one.last_checkpoints == paths
    one.save(session, tmp_path / "m", global_step=4)
    assert steps_of(tmp_path) == [2, 3, 4]
    other = tf.train.Saver(max_to_keep=1)
    other.set_last_checkpoints(paths[2:])
    other.save(session, tmp_path / "m", global_step=5)
    assert steps_of(tmp_path) == [4, 5]
    with pytest.raises(TypeError, match="must be a list"):
        other.set_last_checkpoints("m-1")


def test_nothing_is_deleted_without_a_state_file(tmp_path: Path) -> None:
    session, saver = started(), tf.train.Saver(max_to_keep=1)
    for step in range(3):
        saver.save(session, tmp_path / "m", global_step=step, write_state=False)
    assert steps_of(tmp_path) == [0, 1, 2] and not (tmp_path / "checkpoint").exists()


def test_a_checkpoint_of_elsewhere_takes_over_no_list(tmp_path: Path) -> None:
    session, saver = started(), tf.train.Saver(max_to_keep=2)
    saver.save(session, tmp_path / "other", write_state=False)
    saver.save(session, tmp_path / "m", global_step=1)
    again = tf.train.Saver(max_to_keep=2)
    again.restore(session, tmp_path / "other")
    assert again.last_checkpoints == []


# ---- sizes of data files ----


def test_data_files_are_cut_by_size(tmp_path: Path) -> None:
    for i in range(5):
        tf.Variable(tf.zeros([100]), name=f"w{i}")
    saver = tf.train.Saver(shard_bytes=900)
    prefix = saver.save(started(), tmp_path / "m")
    assert len(list(tmp_path.glob("*.safetensors"))) == 3
    assert len(read_checkpoint(prefix).variables) == 6
    saver.restore(tf.Session(), prefix)
    for wrong, error in ((0, ValueError), (-1, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match="shard_bytes"):
            tf.train.Saver(shard_bytes=wrong)


# ---- user-defined states ----


class State:
    """A state with a given value."""

    def __init__(self, value: object = b"state") -> None:
        self.value = value

    def get_state(self) -> object:
        return self.value

    def set_state(self, state: bytes) -> None:
        if state == b"refused":
            raise ValueError("not this one")
        self.value = state


def test_states_that_cannot_be_saved(tmp_path: Path) -> None:
    session = started()
    with pytest.raises(TypeError, match="'a' is a dict without get_state and set_state"):
        tf.train.Saver(objects={"a": {}})
    with pytest.raises(TypeError, match="must be a string that is not empty"):
        tf.train.Saver(objects={"": State()})
    with pytest.raises(TypeError, match="the state 'a' is str, expected bytes"):
        tf.train.Saver(objects={"a": State("text")}).save(session, tmp_path / "m")
    saver = tf.train.Saver(objects={"a": State()})
    with pytest.raises(ValueError, match="two states of one name in a checkpoint: a;"):
        saver.save(session, tmp_path / "m", blobs={"a": b""})
    with pytest.raises(TypeError, match="not 3"):
        saver.save(session, tmp_path / "m", blobs={3: b""})
    with pytest.raises(ValueError, match="at most 16777216 can go along"):
        saver.save(session, tmp_path / "m", blobs={"b": bytes(1 << 24)})
    draw = tf.random_uniform([1], name="draw")
    session.run(draw)
    with pytest.raises(ValueError, match="two states of one name in a checkpoint: draw/gen"):
        saver.save(session, tmp_path / "m", blobs={"draw/generator": b""})
    assert list(tmp_path.iterdir()) == []


def test_an_object_that_refuses_its_state_leaves_all_as_it_was(tmp_path: Path) -> None:
    session = started()
    objects = {"a": State(b"old a"), "b": State(b"refused")}
    prefix = tf.train.Saver(objects=objects).save(session, tmp_path / "m")
    v = tf.global_variables()[0]
    session.run(tf.assign(v, [7.0, 7.0]))
    objects["a"].value, objects["b"].value = b"new a", b"new b"
    with pytest.raises(ValueError, match="not this one"):
        tf.train.Saver(objects=objects).restore(session, prefix)
    assert objects["a"].value == b"new a" and session.run(v).tolist() == [7.0, 7.0]


def test_objects_that_a_checkpoint_lacks_are_named_and_nothing_changes(tmp_path: Path) -> None:
    session = started()
    prefix = tf.train.Saver(objects={"a": State()}).save(session, tmp_path / "m")
    objects = {"a": State(b"mine"), "loader": State(), "sampler": State()}
    with pytest.raises(tf.errors.NotFoundError, match=r"(?s)loader.*sampler"):
        tf.train.Saver(objects=objects).restore(session, prefix)
    assert objects["a"].value == b"mine"


# ---- the graph file, which is written once for all saves ----


def saved_graph(saver: Any, session: Any, folder: Path) -> Any:
    return container.unpack(read_checkpoint(saver.save(session, folder / "m")).meta())[0]


def test_the_graph_file_is_that_of_the_graph_as_it_is(tmp_path: Path) -> None:
    session, saver = started(), tf.train.Saver()
    (v,) = tf.global_variables()
    x = tf.placeholder(tf.float32, None, name="x")
    changes = [
        lambda: tf.constant(1.0, name="later"),
        lambda: tf.add_to_collection("marks", 7),
        lambda: tf.get_collection_ref("marks").append(8),
        lambda: tf.get_collection_ref("marks").__setitem__(0, 9),
        lambda: x.set_shape([None, 3]),
        lambda: tf.set_random_seed(5),
        lambda: tf.global_variables()[0].initializer,
        lambda: tf.train.init_from_checkpoint(saver.save(session, tmp_path / "i"), {"v": v}),
        lambda: tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0]),
    ]
    for change in changes:
        change()
        model = saved_graph(saver, session, tmp_path)
        fresh = saving.export_meta_bytes(tf.get_default_graph(), saver.to_proto()._message)
        assert model == container.unpack(fresh)[0]


def test_the_graph_file_is_made_once_for_a_graph_that_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, saver = started(), tf.train.Saver()
    first = saved_graph(saver, session, tmp_path)
    monkeypatch.setattr(saving, "export_meta_bytes", lambda *_: pytest.fail("made again"))
    assert saved_graph(saver, session, tmp_path) == first
