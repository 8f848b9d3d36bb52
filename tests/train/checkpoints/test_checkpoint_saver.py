"""tf.train.Saver: what it saves, restores, keeps, finds and refuses."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import saver_scenarios
from saver_scenarios import started, variables

import graphio as tf
from graphio.schema import container
from graphio.schema.checkpoint import read_checkpoint, write_checkpoint
from graphio.storage import files
from graphio.train.checkpoints.retention import Retention

TARGETS = ["runtime", "cinfer"]


@pytest.fixture(autouse=True)
def new_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def steps_of(folder: Path) -> list[int]:
    return sorted(int(p.stem.split("-")[1]) for p in folder.glob("*.index"))


@pytest.mark.parametrize("target", TARGETS)
def test_a_restore_brings_back_variables_and_random_streams(target: str, tmp_path: Path) -> None:
    saver_scenarios.saves_keeps_finds_and_restores(target, str(tmp_path))


def test_the_two_engines_write_and_read_the_same_variables(tmp_path: Path) -> None:
    v, w = variables()
    saver = tf.train.Saver()
    one = started("cinfer")
    one.run([v.assign([5.0, 6.0]), w.assign(7)])
    saver.save(one, tmp_path / "m")
    two = tf.Session("runtime")
    saver.restore(two, tmp_path / "m")
    assert two.run(v).tolist() == [5.0, 6.0] and two.run(w) == 7


@pytest.mark.parametrize("target", TARGETS)
def test_bools_of_any_byte_are_saved_as_0_and_1(target: str, tmp_path: Path) -> None:
    given = np.array([0, 1, 2, 200], np.uint8).view(np.bool_)
    x = tf.placeholder(tf.bool, [4])
    v = tf.Variable(np.zeros(4, np.bool_), name="v")
    session = started(target)
    session.run(v.assign(x), {x: given})
    prefix = tf.train.Saver().save(session, tmp_path / "m")
    session.run(v.assign(np.zeros(4, np.bool_)))
    tf.train.Saver().restore(session, prefix)
    assert session.run(v).view(np.uint8).tolist() == [0, 1, 1, 1]
    state = pytest.importorskip("graphio.cinfer").new_state()
    state.restore(prefix)
    assert state.get("v").view(np.uint8).tolist() == [0, 1, 1, 1]


def test_the_graph_file_holds_graph_collections_and_saver_but_no_values(tmp_path: Path) -> None:
    variables()
    tf.add_to_collection("marks", 7)
    tf.train.Saver(max_to_keep=2).save(started(), tmp_path / "m")
    model, _ = container.unpack(read_checkpoint(tmp_path / "m").meta())
    assert [v.name for v in model.variable] == ["v", "w"]
    assert not any(v.HasField("value") for v in model.variable)
    assert model.saver.max_to_keep == 2 and list(model.saver.variable) == ["v", "w"]
    assert "marks" in [c.name for c in model.collection]


def test_slots_know_their_variable(tmp_path: Path) -> None:
    v = tf.Variable([1.0], name="v")
    tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(v * v))
    tf.train.Saver().save(started(), tmp_path / "m")
    rows = {r.name: (r.slot_of, r.slot) for r in read_checkpoint(tmp_path / "m").index.variable}
    assert rows["v/Adam"] == ("v", "m") and rows["v/Adam_1"] == ("v", "v")
    assert rows["v"] == ("", "")


def test_nothing_changes_when_a_restore_fails(tmp_path: Path) -> None:
    v, w = variables()
    session = started()
    prefix = tf.train.Saver({"v": v, "w2": w}).save(session, tmp_path / "m")
    session.run(v.assign([8.0, 8.0]))
    with pytest.raises(tf.errors.NotFoundError, match=r"Key w not found in checkpoint \(it has w2"):
        tf.train.Saver().restore(session, prefix)
    (shard,) = tmp_path.glob("*.safetensors")
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    shard.write_bytes(data)
    with pytest.raises(tf.errors.DataLossError):
        tf.train.Saver({"v": v}).restore(session, prefix)
    assert session.run(v).tolist() == [8.0, 8.0]


def test_reshape_restores_as_many_elements(tmp_path: Path) -> None:
    prefix = tf.train.Saver([variables()[0]]).save(started(), tmp_path / "m")
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([[0.0], [0.0]], name="v")
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"lhs shape= \[2,1\] rhs shape= \[2\]"
        ):
            tf.train.Saver().restore(session, prefix)
        tf.train.Saver(reshape=True).restore(session, prefix)
        assert session.run(v).tolist() == [[1.0], [2.0]]


def test_old_checkpoints_go_and_a_restart_goes_on_counting(tmp_path: Path) -> None:
    variables()
    session = started()
    saver = tf.train.Saver(max_to_keep=2)
    for step in range(4):
        saver.save(session, tmp_path / "m", global_step=step)
    assert steps_of(tmp_path) == [2, 3]
    again = tf.train.Saver(max_to_keep=2)
    again.restore(session, tf.train.latest_checkpoint(tmp_path))
    assert [os.path.basename(p) for p in again.last_checkpoints] == ["m-2", "m-3"]
    again.save(session, tmp_path / "m", global_step=4)
    assert steps_of(tmp_path) == [3, 4]
    forgetful = tf.train.Saver(max_to_keep=2, recover=False)
    forgetful.restore(session, tf.train.latest_checkpoint(tmp_path))
    assert forgetful.last_checkpoints == []


def test_what_a_crash_kept_from_being_deleted_is_deleted_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables()
    session, saver = started(), tf.train.Saver(max_to_keep=1)
    saver.save(session, tmp_path / "m", global_step=0)
    with monkeypatch.context() as crash:
        crash.setattr(Retention, "_delete_expired", lambda *_: None)
        saver.save(session, tmp_path / "m", global_step=1)
    assert steps_of(tmp_path) == [0, 1]
    again = tf.train.Saver(max_to_keep=1)
    again.restore(session, tf.train.latest_checkpoint(tmp_path))
    assert again.last_checkpoints == [str(tmp_path / "m-1")]
    again.save(session, tmp_path / "m", global_step=2)
    assert steps_of(tmp_path) == [2]


def test_a_folder_that_cannot_be_read_now_is_no_reason_to_begin_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables()
    tf.train.Saver().save(started(), tmp_path / "m")
    system = os.open

    def no_handles(path: str, *arguments: int, **more: int) -> int:
        if str(path).startswith(str(tmp_path)):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)
        return system(path, *arguments, **more)

    monkeypatch.setattr(os, "open", no_handles)
    with (
        pytest.raises(tf.errors.UnavailableError, match="m.index.*Too many open files"),
        pytest.warns(UserWarning, match="Checkpoint ignored"),
    ):
        tf.train.latest_checkpoint(tmp_path)


@pytest.mark.parametrize("keep", [None, 0])
def test_all_are_kept_when_requested(keep: int | None, tmp_path: Path) -> None:
    variables()
    saver, session = tf.train.Saver(max_to_keep=keep), started()
    for step in range(7):
        saver.save(session, tmp_path / "m", global_step=step)
    assert steps_of(tmp_path) == list(range(7))
    state = tf.train.get_checkpoint_state(tmp_path)
    assert state.all_model_checkpoint_paths == [str(tmp_path / "m-6")]


def test_one_an_hour_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variables()
    now = [1_000_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    saver = tf.train.Saver(max_to_keep=2, keep_checkpoint_every_n_hours=1)
    session = started()
    for step in range(16):
        now[0] += 600
        saver.save(session, tmp_path / "m", global_step=step)
    assert steps_of(tmp_path) == [6, 12, 14, 15]


def test_the_newest_is_found_without_a_usable_state_file(tmp_path: Path) -> None:
    saver_scenarios.newest_is_found_without_a_good_list(str(tmp_path))


def test_checkpoints_of_another_list_are_those_that_it_names(tmp_path: Path) -> None:
    saver_scenarios.of_another_list_are_those_that_it_names(str(tmp_path))


def test_a_folder_of_checkpoints_can_be_moved(tmp_path: Path) -> None:
    saver_scenarios.can_be_moved(str(tmp_path / "a"))


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    variables()
    saver, session = tf.train.Saver(max_to_keep=1), started()
    assert [saver.save(session, "m", global_step=s) for s in (1, 2)] == ["m-1", "m-2"]
    assert steps_of(tmp_path) == [2]
    assert tf.train.latest_checkpoint(".") == os.path.join(".", "m-2")
    tf.train.Saver().restore(session, "m-2")


def test_a_state_survives_its_file(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ('a"b', "c\\d", "e\nf")]
    tf.train.update_checkpoint_state(str(tmp_path), paths[-1], paths, None, [1.5, 2.5, 3.25])
    state = tf.train.get_checkpoint_state(tmp_path)
    assert state.all_model_checkpoint_paths == paths and state.model_checkpoint_path == paths[-1]
    assert state.all_model_checkpoint_timestamps == [1.5, 2.5, 3.25]


def test_readers(tmp_path: Path) -> None:
    variables()
    prefix = tf.train.Saver().save(started(), tmp_path / "m")
    assert tf.train.list_variables(tmp_path) == [("v", [2]), ("w", [])]
    reader = tf.train.load_checkpoint(prefix)
    assert reader.get_variable_to_dtype_map() == {"v": tf.float32, "w": tf.int32}
    assert reader.has_tensor("v") and not reader.has_tensor("zz")
    assert reader.get_tensor("v").tolist() == [1.0, 2.0]
    with pytest.raises(tf.errors.NotFoundError, match="Key zz not found in checkpoint"):
        reader.get_tensor("zz")
    assert tf.train.load_variable(prefix, "v:0").tolist() == [1.0, 2.0]


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="No variables to save"):
        tf.train.Saver()
    empty = tf.train.Saver(allow_empty=True)
    assert empty.save(tf.Session(), tmp_path / "m", write_meta_graph=False) is None
    v, w = variables()
    saver, session = tf.train.Saver(), started()
    with pytest.raises(ValueError, match="At least two variables have the same name: v"):
        tf.train.Saver([v, v])
    with pytest.raises(ValueError, match="restored with two names"):
        tf.train.Saver({"a": v, "b": v})
    with pytest.raises(TypeError, match="not a Variable"):
        tf.train.Saver([v.value()])
    with pytest.raises(ValueError, match="build cannot be deferred"):
        tf.train.Saver([v], defer_build=True)
    late = tf.train.Saver(defer_build=True)
    with pytest.raises(RuntimeError, match="build"):
        late.save(session, tmp_path / "m")
    late.build()
    with pytest.raises(TypeError, match="must be a Session"):
        saver.save(None, tmp_path / "m")
    with pytest.raises(ValueError, match="path components"):
        saver.save(session, tmp_path / "m", latest_filename="a/b")
    with pytest.raises(ValueError, match="collides"):
        saver.save(session, tmp_path / "checkpoint")
    with pytest.raises(ValueError, match="Parent directory of .* doesn't exist, can't save"):
        saver.save(session, tmp_path / "no" / "such" / "m")
    with pytest.raises(ValueError, match="when it is None"):
        saver.restore(session, None)
    with pytest.raises(ValueError, match="not a valid checkpoint"):
        saver.restore(session, tmp_path / "none")
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v, w"):
        saver.save(tf.Session(), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_names_of_files(tmp_path: Path) -> None:
    variables()
    session = started()
    saver = tf.train.Saver(pad_step_number=True)
    assert saver.save(session, tmp_path / "m", np.int64(7)) == str(tmp_path / "m-00000007")
    saver.save(session, tmp_path / "n", write_meta_graph=False, latest_filename="newest")
    assert not (tmp_path / "n.meta").exists() and (tmp_path / "newest").exists()
    saver.save(session, tmp_path / "o", meta_graph_suffix="graph", write_state=False)
    assert (tmp_path / "o.graph").exists() and not (tmp_path / "o.meta").exists()
    assert tf.train.latest_checkpoint(tmp_path, "newest") == str(tmp_path / "n")


@pytest.mark.parametrize("target", TARGETS)
def test_graph_files_of_another_suffix_go_with_their_checkpoints(
    target: str, tmp_path: Path
) -> None:
    variables()
    saver, session = tf.train.Saver(max_to_keep=1), started(target)
    for step in range(3):
        saver.save(session, tmp_path / "m", global_step=step, meta_graph_suffix="graph")
    assert sorted(path.name for path in tmp_path.glob("*.graph")) == ["m-2.graph"]


def test_a_save_that_fails_leaves_the_graph_file_of_another_suffix(tmp_path: Path) -> None:
    class Full(files.FileLayer):
        def rename(self, old: str, new: str) -> None:
            if new.endswith(".index"):
                raise OSError(errno.ENOSPC, "No space left on device")
            super().rename(old, new)

    variables()
    saver, session = tf.train.Saver(), started()
    saver.save(session, tmp_path / "m", meta_graph_suffix="graph")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    tf.constant(1.0, name="more")
    saver._layer = Full()
    with pytest.raises(files.DiskFullError):
        saver.save(session, tmp_path / "m", meta_graph_suffix="graph")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    saver._layer = files.SYSTEM
    saver.save(session, tmp_path / "m", meta_graph_suffix="graph")
    assert (tmp_path / "m.graph").read_bytes() != before["m.graph"]


@pytest.mark.parametrize("target", TARGETS)
def test_a_sharded_saver_gives_each_device_its_data_files(target: str, tmp_path: Path) -> None:
    with tf.device("/cpu:1"):
        v, a = tf.Variable([1.0], name="v"), tf.Variable([4.0], name="a")
    with tf.device("/cpu:0"):
        w = tf.Variable([2.0], name="w")
    saver, plain = tf.train.Saver(sharded=True), tf.train.Saver()
    session = tf.Session(target, config=tf.ConfigProto(device_count={"CPU": 2}))
    session.run(tf.global_variables_initializer())
    prefix = saver.save(session, tmp_path / "m")
    rows = {row.name: row.shard for row in read_checkpoint(prefix).index.variable}
    assert rows == {"a": 1, "v": 1, "w": 0} and len(list(tmp_path.glob("*.safetensors"))) == 2
    session.run([v.assign([0.0]), w.assign([0.0]), a.assign([0.0])])
    plain.restore(session, prefix)
    assert [x.tolist() for x in session.run([v, w, a])] == [[1], [2], [4]]
    one = plain.save(session, tmp_path / "one")
    assert len(read_checkpoint(one).index.shard) == 1
    assert saver.to_proto().sharded and not plain.to_proto().sharded
    for path, expected in ((prefix, True), (one, False)):
        with tf.Graph().as_default():
            assert tf.train.import_meta_graph(f"{path}.meta").to_proto().sharded is expected


def test_a_checkpoint_of_tensorflow_is_removed_with_its_data(tmp_path: Path) -> None:
    for name in ("m.index", "m.meta", "m.data-00000-of-00002", "m.data-00001-of-00002"):
        (tmp_path / name).touch()
    others = ["m-1.data-00000-of-00001", "m.data-00000-of-00001.txt", "mm.index"]
    for name in others:
        (tmp_path / name).touch()
    tf.train.remove_checkpoint(str(tmp_path / "m"))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(others)


KILLED = """
import sys
import graphio as tf
step = tf.Variable(0, name="step", dtype=tf.int64)
w = tf.Variable(tf.zeros([1000]), name="w")
train = tf.group(step.assign_add(1), w.assign_add(tf.ones([1000])))
saver = tf.train.Saver(max_to_keep=1)
with tf.Session() as session:
    newest = tf.train.latest_checkpoint(sys.argv[1])
    saver.restore(session, newest) if newest else session.run(tf.global_variables_initializer())
    while True:
        session.run(train)
        saver.save(session, sys.argv[1] + "/m", global_step=step if sys.argv[2] == "step" else None)
        print(session.run(step), flush=True)
"""


@pytest.mark.parametrize("how", ["step", "in place"])
def test_a_killed_training_goes_on_where_it_was_acknowledged(how: str, tmp_path: Path) -> None:
    acknowledged = 0
    for kill in range(4):
        command = [sys.executable, "-c", KILLED, str(tmp_path), how]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            acknowledged = int(child.stdout.readline())
            deadline = time.monotonic() + 0.02 + 0.013 * kill
            while time.monotonic() < deadline:
                pass
            child.kill()
            lines = child.stdout.read().splitlines()
        acknowledged = max([acknowledged, *(int(x) for x in lines if x)])
        found = read_checkpoint(tf.train.latest_checkpoint(tmp_path))
        saved = int(found.variables["step"])
        assert acknowledged <= saved <= acknowledged + 1
        assert found.variables["w"].tolist() == [float(saved)] * 1000
        container.unpack(found.meta())


def test_both_engines_write_the_same_bytes(tmp_path: Path) -> None:
    values = {
        "w": tf.Variable(np.arange(12, dtype=np.float32).reshape(3, 4), name="w"),
        "aligned": tf.Variable(np.zeros((4, 16), np.float64), name="aligned"),
        "wave": tf.Variable(np.complex128([1 + 2j]), name="wave"),
        "flag": tf.Variable(np.array([True, False, True]), name="flag"),
        "step": tf.Variable(7, dtype=tf.int64, name="step"),
        "empty": tf.Variable(np.zeros((0, 2), np.int8), name="empty"),
        "text": tf.Variable([b"ab", b"", b"c"], name="text"),
    }
    noise = tf.random_normal([3], seed=4)
    session = started("cinfer")
    session.run(noise)
    for folder in ("c", "python"):
        (tmp_path / folder).mkdir()
    session.state.save(tmp_path / "c" / "m", step=7, meta=b"graph")
    index = read_checkpoint(tmp_path / "c" / "m").index
    write_checkpoint(
        tmp_path / "python" / "m",
        {name: session.state.get(name) for name in values},
        session.state.generators(),
        step=7,
        meta=b"graph",
        save_id=index.save_id,
        time=index.time,
    )
    names = sorted(p.name for p in (tmp_path / "c").glob("m.*"))
    assert names == sorted(p.name for p in (tmp_path / "python").iterdir())
    for name in names:
        assert (tmp_path / "c" / name).read_bytes() == (tmp_path / "python" / name).read_bytes()


@pytest.fixture
def trained(tmp_path: Path) -> str:
    """The prefix of a checkpoint with body/w, body/b and head/w."""
    with tf.Graph().as_default():
        for i, name in enumerate(["body/w", "body/b", "head/w"]):
            tf.Variable(np.full(2, i + 1, np.float32), name=name)
        prefix = tf.train.Saver().save(started(), str(tmp_path / "m"))
    return str(prefix)


@pytest.mark.parametrize("target", TARGETS)
def test_initial_values_are_taken_from_a_checkpoint(target: str, trained: str) -> None:
    with tf.variable_scope("net"):
        w, b = tf.get_variable("w", [2]), tf.get_variable("b", [2])
    own, other = tf.get_variable("own", [2]), tf.Variable([7.0, 7.0])
    tf.train.init_from_checkpoint(trained, {"body/": "net/", "head/w": own})
    session = started(target)
    found = session.run([w, b, own, other])
    assert [v.tolist() for v in found] == [[1, 1], [2, 2], [3, 3], [7, 7]]
    tf.train.init_from_checkpoint(trained, [("body/b", "net/w")])
    session.run(w.initializer)
    assert session.run(w).tolist() == [2, 2]


def test_a_graph_of_the_same_names_takes_all_of_a_checkpoint(trained: str) -> None:
    with tf.variable_scope("body"):
        w = tf.get_variable("w", [2])
    tf.train.init_from_checkpoint(trained, {"/": "/"})
    assert started().run(w).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("chosen", "reported"),
    [({"none": "net"}, "not found"), ({"body/w": "none"}, "Variable none is not found"),
     ({"body/": "net"}, "scope only"), ({"body/w": "wide"}, r"\(3,\).*\[2\]")],
)  # fmt: skip
def test_what_does_not_fit_is_no_initial_value(
    chosen: dict[str, str], reported: str, trained: str
) -> None:
    with tf.variable_scope(""):
        tf.get_variable("net", [2])
        tf.get_variable("wide", [3])
    with pytest.raises(ValueError, match=reported):
        tf.train.init_from_checkpoint(trained, chosen)


def test_random_streams_that_a_checkpoint_lacks_are_reported_unless_a_part_is_restored(
    trained: str, recwarn: pytest.WarningsRecorder
) -> None:
    w = tf.Variable(tf.zeros([2]), name="body/w")
    head = tf.Variable(tf.random_normal([2]), name="head/w")
    session = started()
    tf.train.Saver([w]).restore(session, trained)
    assert session.run(w).tolist() == [1, 1] and not recwarn.list
    tf.train.Saver().restore(session, trained)
    assert session.run(head).tolist() == [3, 3]
    assert recwarn.list[0].filename == __file__
    assert [str(w.message).partition(";")[0] for w in recwarn.list] == [
        "the checkpoint has no state of the random generators random_normal/generator"
    ]
