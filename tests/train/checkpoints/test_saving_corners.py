"""Saves and restores in rare moments: a system that lacks a call, writes nothing or is faster, a
second save in between, a list that cannot be read, a thread that cannot be started (S6, S12, S13).
"""

from __future__ import annotations

import os
import pathlib
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.schema import checkpoint_index, restore, tensors
from graphio.schema import crc32c as checksums
from graphio.schema.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from graphio.schema.crc32c import crc32c
from graphio.storage import files, native, stores
from graphio.support import errors
from graphio.train.checkpoints import background, checkpoint_state
from graphio.train.checkpoints.retention import Retention
from graphio.train.loops import checkpoint_hook

W = {"w": np.float32([1, 2, 3])}


@pytest.fixture(autouse=True)
def new_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def started() -> Any:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


# ---- the system ----


class Silent(files.FileLayer):
    """Writes nothing and says so."""

    def write(self, handle: int, data: memoryview) -> int:
        return 0


class Second(files.FileLayer):
    """Another process makes each folder, or file, a moment before."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def make_folder(self, path: str) -> None:
        Path(path).mkdir() if self.kind == "folder" else Path(path).touch()
        super().make_folder(path)


def test_a_system_that_writes_nothing_is_no_endless_loop(tmp_path: Path) -> None:
    with pytest.raises(errors.UnavailableError, match="writes nothing"):
        write_checkpoint(tmp_path / "m", W, layer=Silent())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_another_process_makes_meanwhile_is_there(tmp_path: Path) -> None:
    files.make_folder(Second("folder"), str(tmp_path / "a"))
    assert (tmp_path / "a").is_dir()
    with pytest.raises(errors.OpError, match="make the folder"):
        files.make_folder(Second("file"), str(tmp_path / "b"))


def test_a_file_that_became_shorter_is_reported_with_the_position(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"12345678")
    with files.OpenFile(str(tmp_path / "f")) as file:
        os.truncate(tmp_path / "f", 5)
        with pytest.raises(errors.DataLossError, match="ends at byte 5"):
            file.read_into(2, memoryview(bytearray(6)))


def test_a_system_without_reads_at_a_position_reads_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_checkpoint(tmp_path / "m", W)
    monkeypatch.delattr(os, "preadv", raising=False)
    assert read_checkpoint(tmp_path / "m").variables["w"].tolist() == [1, 2, 3]


def test_without_the_library_the_same_bytes_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_checkpoint(tmp_path / "a", W, save_id=1, time=1)
    monkeypatch.setattr(native, "functions", lambda: None)
    kept = (files._start, checksums._implementation)
    for found in kept:
        found.cache_clear()
    try:
        write_checkpoint(tmp_path / "b", W, save_id=1, time=1)
        assert checksums._implementation() is checksums.crc32c_numpy
    finally:
        for found in kept:
            found.cache_clear()
    first, second = (next(tmp_path.glob(f"{name}.data*")).read_bytes() for name in "ab")
    assert first == second


def test_a_prefix_without_a_folder_is_of_the_present_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store, base = stores.of("m")
    store.make()
    write_checkpoint("m", W)
    assert base == "m"
    assert read_checkpoint(tmp_path / "m").variables["w"].tolist() == [1, 2, 3]


def test_a_url_that_pathlib_has_broken_is_reported() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="before pathlib took a slash"):
        stores.plain(pathlib.PurePosixPath("s3://bucket/run"))


# ---- reading a checkpoint ----


def test_an_array_is_decoded_once_and_a_list_gives_parts() -> None:
    stored = tensors.Stored(1, [2], np.float32([1, 2]).tobytes(), None, "w")
    assert stored.array() is stored.array()
    several = tensors.StoredList([stored, stored, stored])
    assert [array.tolist() for array in several[1:]] == [[1, 2], [1, 2]]


def test_large_values_alone_are_read(tmp_path: Path) -> None:
    large = np.arange(1 << 18, dtype=np.float32)
    write_checkpoint(tmp_path / "m", {"a": large, "b": large + 1})
    found = read_checkpoint(tmp_path / "m")
    assert (found.variables["b"] - found.variables["a"] == 1).all()


def test_an_index_of_a_newer_version_is_refused_as_that(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "m", W)
    path = tmp_path / "m.index"
    data = path.read_bytes()
    fields = list(checkpoint_index._FIELDS.unpack_from(data))
    fields[1] += 1
    head = checkpoint_index._FIELDS.pack(*fields)
    path.write_bytes(head + struct.pack("<I", crc32c(head)) + data[checkpoint_index.HEADER :])
    with pytest.raises(errors.UnimplementedError, match="written by a newer graphio"):
        read_checkpoint(tmp_path / "m")


def test_verifying_reads_what_nobody_has_read(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "m", W, meta=b"the graph")
    lazy = read_checkpoint(tmp_path / "m", lazy=True)
    lazy.verify()
    (graph,) = tmp_path.glob("*.meta*")
    graph.write_bytes(b"The graph")
    with pytest.raises(errors.DataLossError, match="graph file"):
        lazy.verify()


def test_a_save_that_comes_between_is_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_checkpoint(tmp_path / "m", W)
    plain, calls = Checkpoint.read, []

    def read(self: Checkpoint, *arguments: Any) -> Any:
        calls.append(self)
        if len(calls) == 1:
            write_checkpoint(tmp_path / "m", {"w": np.float32([7])})
            raise errors.DataLossError(message="what was replaced")
        return plain(self, *arguments)

    monkeypatch.setattr(Checkpoint, "read", read)
    assert read_checkpoint(tmp_path / "m").variables["w"].tolist() == [7]
    assert len(calls) == 2


def test_near_names_of_very_many_end_alike() -> None:
    names = [f"layer{i}/{end}" for i in range(1100) for end in ("kernel", "bias")]
    found = restore.near("layer_1/kernel", names)
    assert "layer1/kernel" in found
    assert all(name.endswith("/kernel") for name in found)


# ---- the thread of saves in the background ----


class NoThread(threading.Thread):
    """Cannot be started."""

    error: type[BaseException] = RuntimeError

    def start(self) -> None:
        raise self.error("can't start new thread")


def test_a_save_that_gets_no_thread_is_made_by_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tf.Variable([1.0, 2.0], name="w")
    session, saver = started(), tf.train.Saver(asynchronous=True)
    monkeypatch.setattr(background.threading, "Thread", NoThread)
    saver.save(session, tmp_path / "m")
    assert read_checkpoint(tmp_path / "m").variables["w"].tolist() == [1, 2]
    saver.wait()


def test_an_interrupt_before_the_thread_began_leaves_nothing_to_wait_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, done = background.Background(), []
    monkeypatch.setattr(NoThread, "error", KeyboardInterrupt)
    monkeypatch.setattr(background.threading, "Thread", NoThread)
    with pytest.raises(KeyboardInterrupt):
        one.start("the save", lambda: done.append(1))
    assert not one.running()
    monkeypatch.undo()
    one.start("the save", lambda: done.append(2))
    one.wait()
    assert done == [2]


def test_an_error_of_a_job_is_reported_with_what_it_was_and_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails() -> None:
        raise ValueError("no number")

    one = background.Background()
    one.start("the save of 'm'", fails)
    with pytest.raises(errors.UnknownError, match="the save of 'm' in the background failed"):
        one.wait()
    one.wait()
    one.start("the save of 'n'", fails)
    one.join()
    with pytest.warns(RuntimeWarning, match="the save of 'n'") as reported:
        background._tell_the_unseen()
        background._tell_the_unseen()
    assert len(reported) == 1


def test_close_while_a_save_goes_on_keeps_its_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tf.Variable([1.0, 2.0], name="w")
    session, saver = started(), tf.train.Saver(asynchronous=True)
    saver.save(session, tmp_path / "m")
    saver.wait()
    released: list[int] = []
    monkeypatch.setattr(saver._memory, "release", lambda: released.append(1))
    monkeypatch.setattr(saver._background, "running", lambda: True)
    saver.close()
    assert released == []
    monkeypatch.setattr(saver._background, "running", lambda: False)
    saver.close()
    assert released == [1]


# ---- Savers and hooks ----


def test_a_list_that_cannot_be_read_is_no_failure_of_the_restore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    w = tf.Variable([1.0, 2.0], name="w")
    session = started()
    tf.train.Saver().save(session, tmp_path / "m")
    session.run(w.assign([0.0, 0.0]))

    def adopt(self: Retention, prefix: str) -> None:
        raise errors.UnavailableError(message="no answer")

    monkeypatch.setattr(Retention, "adopt", adopt)
    with pytest.warns(UserWarning, match="deletes none of them"):
        tf.train.Saver(recover=True).restore(session, str(tmp_path / "m"))
    assert session.run(w).tolist() == [1, 2]


@pytest.mark.parametrize("kept", [1, 5])
def test_a_list_that_another_process_writes_meanwhile_is_believed_without_a_warning(
    kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    tf.get_variable("w", initializer=1.0)
    saver, session, read = tf.train.Saver(max_to_keep=kept), started(), checkpoint_state.indexes
    saver.save(session, tmp_path / "m", global_step=1)
    (tmp_path / "checkpoint").unlink()
    steps = iter((2, 3))

    def slow(folder: str) -> Any:
        for step in steps:
            saver.save(session, tmp_path / "m", global_step=step)
        return read(folder)

    monkeypatch.setattr(checkpoint_state, "indexes", slow)
    assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "m-3")
    assert [str(w.message) for w in recwarn] == []


def test_a_list_that_names_a_checkpoint_twice_keeps_its_times_from_the_files(
    tmp_path: Path,
) -> None:
    tf.Variable([1.0], name="w")
    session = started()
    tf.train.Saver().save(session, tmp_path / "m", global_step=1)
    prefix, path = tmp_path / "m-1", tmp_path / "checkpoint"
    path.write_text(
        'model_checkpoint_path: "m-1"\n'
        + 'all_model_checkpoint_paths: "m-1"\n' * 2
        + "all_model_checkpoint_timestamps: 5.0\nall_model_checkpoint_timestamps: 6.0\n"
    )
    saver = tf.train.Saver(recover=True)
    saver.restore(session, str(prefix))
    assert saver.last_checkpoints == [str(prefix)]
    saver.save(session, tmp_path / "m", global_step=2)
    assert saver.last_checkpoints == [str(prefix), str(tmp_path / "m-2")]


def test_a_message_of_a_saver_names_the_variables_of_its_scope() -> None:
    with tf.variable_scope("in"):
        tf.Variable([1.0], name="a")
    tf.Variable([1.0], name="b")
    message = tf.train.Saver().to_proto(export_scope="in")
    assert list(message.variable) == ["a"]
    assert list(message.key) == ["in/a"]


def test_a_suffix_without_a_graph_writes_no_graph(tmp_path: Path) -> None:
    tf.Variable([1.0], name="w")
    tf.train.Saver().save(
        started(), tmp_path / "m", meta_graph_suffix="graph", write_meta_graph=False
    )
    assert read_checkpoint(tmp_path / "m").variables["w"].tolist() == [1]
    assert list(tmp_path.glob("*graph*")) == []


class NotOurs:
    """A program's own object in the place of a Saver."""

    def __init__(self) -> None:
        self.saved: list[int] = []

    def save(self, session: Any, path: Any, global_step: int, **_: Any) -> str:
        self.saved.append(global_step)
        return f"{path}-{global_step}"


def test_a_hook_saves_with_an_object_that_cannot_wait(tmp_path: Path) -> None:
    step = tf.train.get_or_create_global_step()
    own = NotOurs()
    hook = checkpoint_hook.CheckpointSaverHook(str(tmp_path), save_steps=1, saver=own)  # type: ignore[arg-type]
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(step)
    assert own.saved == [0]


def test_a_damaged_file_of_another_framework_is_reported_as_it_is(tmp_path: Path) -> None:
    w = tf.Variable([1.0, 2.0], name="w")
    session = started()
    path = tmp_path / "w.safetensors"
    path.write_bytes(b"\xff" * 40)
    with pytest.raises(errors.OpError) as caught:
        tf.train.Saver([w]).restore(session, str(path))
    assert "w.safetensors" in str(caught.value)
    assert session.run(w).tolist() == [1, 2]


def test_a_newest_that_is_deleted_meanwhile_gives_way_to_the_newer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    w = tf.Variable([1.0], name="w")
    session, saver = started(), tf.train.Saver()
    saver.save(session, tmp_path / "m", global_step=1)
    plain, calls = saver.restore, []

    def restore_once_gone(session: Any, prefix: str, **options: Any) -> None:
        calls.append(prefix)
        if len(calls) == 1:
            session.run(w.assign([5.0]))
            saver.save(session, tmp_path / "m", global_step=2)
            os.remove(prefix + ".index")
            raise errors.NotFoundError(message="deleted meanwhile")
        plain(session, prefix, **options)

    monkeypatch.setattr(saver, "restore", restore_once_gone)
    assert tf.train.restore_latest(saver, session, tmp_path) == str(tmp_path / "m-2")
    assert session.run(w).tolist() == [5]
