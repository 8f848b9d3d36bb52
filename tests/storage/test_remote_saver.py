"""Every function that takes a checkpoint's path takes a URL of an object store."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import engines
import numpy as np
import object_stores
import pytest
import saver_scenarios
from object_stores import Watched, files_of
from saver_scenarios import started, variables

import graphio as tf
from graphio.schema.checkpoint import read_checkpoint
from graphio.storage import stores
from graphio.support import errors

folder, watched = object_stores.folder, object_stores.watched
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def new_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@TARGETS
def test_a_saver_saves_keeps_finds_and_restores(target: str, folder: str) -> None:
    saver_scenarios.saves_keeps_finds_and_restores(target, folder)


def test_a_folder_of_checkpoints_can_be_moved(folder: str) -> None:
    saver_scenarios.can_be_moved(folder)


def test_without_a_good_state_file_the_newest_checkpoint_is_found(folder: str) -> None:
    saver_scenarios.newest_is_found_without_a_good_list(folder)


def test_checkpoints_of_another_list_are_those_that_it_names(folder: str) -> None:
    saver_scenarios.of_another_list_are_those_that_it_names(folder)


def test_the_functions_about_checkpoints(folder: str) -> None:
    v, _ = variables()
    prefix = str(tf.train.Saver().save(started(), f"{folder}/m", meta_graph_suffix="mg"))
    assert tf.train.checkpoint_exists(prefix) and not tf.train.checkpoint_exists(prefix + "x")
    (moment,) = tf.train.get_checkpoint_mtimes([prefix, prefix + "x"])
    assert moment > 1.7e9
    assert tf.train.list_variables(folder) == [("v", [2]), ("w", [])]
    assert tf.train.load_variable(prefix, "v").tolist() == [1, 2]
    reader = tf.train.NewCheckpointReader(prefix)
    assert reader.has_tensor("w") and reader.get_tensor("w") == 3
    tf.train.update_checkpoint_state(folder, prefix, [f"{folder}/old", prefix])
    state = tf.train.get_checkpoint_state(folder)
    assert state.model_checkpoint_path == prefix
    assert state.all_model_checkpoint_paths == [f"{folder}/old", prefix]
    assert 'all_model_checkpoint_paths: "old"' in files_of(folder)["checkpoint"].decode()
    with pytest.raises(RuntimeError, match="conflicts"):
        tf.train.update_checkpoint_state(folder, f"{folder}/checkpoint")
    tf.train.remove_checkpoint(prefix, meta_graph_suffix="mg")
    assert list(files_of(folder)) == ["checkpoint"]
    with pytest.raises(errors.NotFoundError, match=f"no checkpoint '{prefix}'"):
        tf.train.load_checkpoint(prefix)
    with pytest.raises(ValueError, match="not a valid checkpoint"):
        tf.train.Saver().restore(tf.Session(), prefix)


@pytest.mark.parametrize("as_text", [False, True])
def test_graph_files(as_text: bool, folder: str) -> None:
    variables()
    session = started()
    prefix = str(tf.train.Saver().save(session, f"{folder}/m"))
    tf.train.export_meta_graph(f"{folder}/other.meta", as_text=as_text)
    for path in (f"{prefix}.meta", f"{folder}/other.meta"):
        with tf.Graph().as_default():
            saver = tf.train.import_meta_graph(path)
            with tf.Session() as other:
                saver.restore(other, prefix)
                assert other.run("v:0").tolist() == [1, 2]
    with pytest.raises(OSError, match=r"nothing\.meta does not exist"):
        tf.train.import_meta_graph(f"{folder}/nothing.meta")


@TARGETS
def test_initial_values_come_from_a_checkpoint(target: str, folder: str) -> None:
    with tf.Graph().as_default():
        variables()
        tf.train.Saver().save(started(), f"{folder}/m")
    v = tf.get_variable("net/v", [2])
    tf.train.init_from_checkpoint(folder, {"v": v})
    assert started(target).run(v).tolist() == [1, 2]


@TARGETS
def test_a_monitored_session_goes_on_from_a_store(target: str, folder: str) -> None:
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", initializer=8.0)
    train = tf.train.GradientDescentOptimizer(0.25).minimize(tf.square(w), global_step=step)
    for end in (3, 5):
        with (
            pytest.warns(UserWarning, match="no summaries are written.*summary_dir"),
            tf.train.MonitoredTrainingSession(
                target, checkpoint_dir=folder, save_checkpoint_steps=2
            ) as session,
        ):
            while session.run(step) < end:
                session.run(train)
        assert tf.train.latest_checkpoint(folder) == f"{folder}/model.ckpt-{end}"
    assert tf.train.load_variable(folder, "w") == 8 * 0.5**5
    assert next(tf.train.checkpoints_iterator(folder)) == f"{folder}/model.ckpt-5"


def test_a_save_in_the_background_tells_of_its_failure(folder: str, watched: Watched) -> None:
    variables()
    session = started()
    with tf.train.Saver(asynchronous=True) as saver:
        saver.save(session, f"{folder}/m", global_step=1)
        saver.wait()
        watched.before = object_stores.unavailable
        saver.save(session, f"{folder}/m", global_step=2)
        with pytest.raises(errors.UnavailableError, match=f"{folder}/m-2.*no answer"):
            saver.wait()
    assert tf.train.latest_checkpoint(folder) == f"{folder}/m-1"


def test_looking_into_checkpoints_and_comparing_them(folder: str, tmp_path: Path) -> None:
    v, _ = variables()
    session, saver = started(), tf.train.Saver()
    here = saver.save(session, tmp_path / "m", global_step=1)
    session.run(v.assign([1.0, 5.0]))
    there = str(saver.save(session, f"{folder}/m", global_step=2, blobs={"note": b"hello"}))
    report = tf.train.verify(folder)
    assert report.prefixes == (there,) and report.variables == 2
    assert "v" in str(tf.train.list_checkpoint(there))
    assert "3" in str(tf.train.diff_checkpoints(here, there))
    assert tf.train.load_checkpoint(there).get_blob("note") == b"hello"
    tf.train.export_variables(there, f"{folder}/w.npz")
    store = stores.of_folder(folder)
    assert np.load(io.BytesIO(store.read("w.npz")))["v"].tolist() == [1, 5]
    (shard,) = (name for name in store.names() if name.endswith(".safetensors"))
    store.put(shard, [store.read(shard)[:-1] + b"x"])
    with pytest.raises(errors.DataLossError, match=f"(?s)1 of 1 .* damaged:.*{there}"):
        tf.train.verify(folder)


@TARGETS
@pytest.mark.parametrize("verify", ["full", "lazy"])
def test_a_restore_takes_all_its_options(target: str, verify: str, folder: str) -> None:
    variables()
    prefix = tf.train.Saver().save(started(target), f"{folder}/m")
    with tf.Graph().as_default():
        v = tf.Variable([0.0, 0.0], name="net/v")
        session = tf.Session(target)
        tf.train.Saver().restore(
            session, prefix, assignment_map={"/": "net/"}, strict=False, verify=verify
        )
        assert session.run(v).tolist() == [1, 2]
        assert (
            tf.train.restore_latest(tf.train.Saver(), session, folder, assignment_map={"/": "net/"})
            == prefix
        )


@TARGETS
def test_a_training_loop_goes_on_from_a_store(target: str, folder: str) -> None:
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", initializer=8.0)
    train = tf.train.GradientDescentOptimizer(0.25).minimize(tf.square(w), global_step=step)
    for end in (3, 5):
        with tf.train.TrainingLoop(
            train, folder, steps=end, save_steps=2, target=target, progress=False
        ) as loop:
            for _ in loop:
                loop.run()
        latest = tf.train.latest_checkpoint(folder)
        assert latest is not None and latest.endswith(f"-{end}")
    assert tf.train.load_variable(folder, "w") == 8 * 0.5**5


@engines.BOTH
def test_the_state_of_an_engine(engine: str, folder: str) -> None:
    module = engines.module(engine)
    one = module.new_state()
    one.declare("w", 1, [2])
    one.set("w", np.float32([1, 2]))
    one.set_generator("dropout", 5, 6)
    one.save(f"{folder}/m", step=3, meta=b"graph")
    found = read_checkpoint(f"{folder}/m")
    assert found.step == 3 and found.meta() == b"graph" and found.generators == {"dropout": (5, 6)}
    two = module.new_state()
    two.declare("w", 1, [2])
    assert two.restore(f"{folder}/m") == 3
    assert two.get("w").tolist() == [1, 2] and two.generators() == {"dropout": (5, 6)}
    wide = module.new_state()
    wide.declare("w", 1, [3])
    with pytest.raises(errors.InvalidArgumentError, match=r"w.*\[3\]"):
        wide.restore(f"{folder}/m")
    with pytest.raises(errors.NotFoundError, match="nothing"):
        two.restore(f"{folder}/nothing")


@TARGETS
def test_a_file_url_is_a_folder_of_this_machine(
    target: str, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    v, _ = variables()
    session = started(target)
    prefix = tf.train.Saver().save(session, f"file://{tmp_path}/m", global_step=1)
    assert prefix == f"{tmp_path}/m-1"
    assert sorted(p.suffix for p in tmp_path.iterdir()) == ["", ".index", ".meta", ".safetensors"]
    assert tf.train.latest_checkpoint(f"file://{tmp_path}") == f"{tmp_path}/m-1"
    session.run(v.assign([9, 9]))
    saver = tf.train.Saver()
    saver.restore(session, f"file://{prefix}")
    assert session.run(v).tolist() == [1, 2] and saver.last_checkpoints == [prefix]
    state: Any = session.state
    state.save(f"file://{tmp_path}/n")
    state.restore(f"file://{tmp_path}/n")
    assert not recwarn.list


def test_fsspec_is_imported_when_a_url_comes_and_not_before() -> None:
    program = """
import json, sys
import graphio as tf
before = "fsspec" in sys.modules
tf.train.latest_checkpoint("memory://x")
print(json.dumps([before, "fsspec" in sys.modules]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [False, True]
