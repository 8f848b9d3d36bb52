"""A Saver deletes nothing but the checkpoints of the run that it goes on with."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf
import graphio.cinfer
import graphio.runtime
from graphio.schema import checkpoint_cleaner
from graphio.schema.checkpoint import read_checkpoint, write_checkpoint
from graphio.storage import stores
from graphio.storage.files import FileLayer
from graphio.train.loops import training_loop


@pytest.fixture(autouse=True)
def new_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        tf.Variable([1.0, 2.0], name="v")
        yield


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A folder with the checkpoints of another process."""
    folder = tmp_path / "trained"
    folder.mkdir()
    saver = tf.train.Saver()
    for step in range(3):
        saver.save(started(), folder / "m", global_step=step)
    return folder


def started() -> Any:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def names(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.index"))


def restored(folder: Path, **options: Any) -> tuple[Any, Any]:
    session, saver = started(), tf.train.Saver(**options)
    saver.restore(session, tf.train.latest_checkpoint(str(folder)))
    return session, saver


def test_fine_tuning_in_another_folder_leaves_the_first_alone(
    trained: Path, tmp_path: Path
) -> None:
    session, saver = restored(trained, max_to_keep=1)
    (tmp_path / "tuned").mkdir()
    for step in range(3):
        saver.save(session, tmp_path / "tuned" / "m", global_step=step)
    assert names(trained) == ["m-0", "m-1", "m-2"] and names(tmp_path / "tuned") == ["m-2"]


def test_another_name_or_state_file_leaves_the_run_alone(trained: Path) -> None:
    for name, options in (("best", {}), ("m", {"latest_filename": "best_state"})):
        session, saver = restored(trained, max_to_keep=1)
        saver.save(session, trained / name, global_step=9, **options)
    assert names(trained) == ["best-9", "m-0", "m-1", "m-2", "m-9"]


def test_the_run_itself_is_gone_on_with(trained: Path) -> None:
    session, saver = restored(trained, max_to_keep=2)
    saver.save(session, trained / "m", global_step=3)
    assert names(trained) == ["m-2", "m-3"]


@pytest.mark.parametrize("recover", [True, False])
@pytest.mark.parametrize("name", ["m", "best"])
def test_what_restore_latest_goes_on_from_goes_although_a_kill_came_before_its_list(
    name: str, recover: bool, trained: Path
) -> None:
    for other in ("m-0", "m-1"):
        tf.train.remove_checkpoint(str(trained / other))
    (trained / "checkpoint").unlink()
    session, saver = started(), tf.train.Saver(max_to_keep=1, recover=recover)
    tf.train.restore_latest(saver, session, trained)
    saver.save(session, trained / name, global_step=3)
    assert names(trained) == (
        ["m-3"] if (name, recover) == ("m", True) else sorted([f"{name}-3", "m-2"])
    )


def test_what_no_list_names_stays_when_it_is_restored_by_its_name(trained: Path) -> None:
    (trained / "checkpoint").unlink()
    session, saver = started(), tf.train.Saver(max_to_keep=1)
    saver.restore(session, trained / "m-2")
    saver.save(session, trained / "m", global_step=3)
    assert names(trained) == ["m-0", "m-1", "m-2", "m-3"]


@pytest.mark.parametrize("other", ["linked", "trained/../trained"])
def test_other_spellings_of_a_prefix_are_the_same_checkpoint(
    other: str, trained: Path, tmp_path: Path
) -> None:
    os.symlink(trained, tmp_path / "linked")
    session, saver = restored(trained, max_to_keep=1)
    saver.save(session, trained / "m")
    saver.save(session, tmp_path / other / "m")
    assert names(trained) == ["m"]


def test_what_was_made_anew_is_not_deleted_because_it_once_expired(trained: Path) -> None:
    session, saver = restored(trained, max_to_keep=2)
    saver.save(session, trained / "m", global_step=3)  # m-0 and m-1 expire
    time.sleep(0.02)  # of the file system's clock
    tf.train.Saver().save(session, trained / "m", global_step=1, write_state=False)
    session, saver = restored(trained, max_to_keep=2)
    saver.save(session, trained / "m", global_step=4)
    assert names(trained) == ["m-1", "m-3", "m-4"]


def test_a_folder_for_each_epoch_is_not_taken_for_one_checkpoint(tmp_path: Path) -> None:
    session, saver = started(), tf.train.Saver(max_to_keep=3)
    for epoch in range(3):
        (tmp_path / f"e{epoch}").mkdir()
        last = saver.save(session, tmp_path / f"e{epoch}" / "model")
    session, saver = started(), tf.train.Saver(max_to_keep=3)
    saver.restore(session, last)
    assert [Path(p).parent.name for p in saver.last_checkpoints] == ["e0", "e1", "e2"]
    (tmp_path / "e3").mkdir()
    saver.save(session, tmp_path / "e3" / "model")
    assert all(names(tmp_path / f"e{epoch}") == ["model"] for epoch in range(4))


def test_of_two_threads_that_save_to_one_prefix_the_one_that_commits_last_is_there(
    tmp_path: Path,
) -> None:
    inside, go_on = threading.Event(), threading.Event()

    class Slow(FileLayer):
        def fsync(self, handle: int) -> None:
            inside.set()
            go_on.wait(60)
            super().fsync(handle)

    def save(value: float, layer: FileLayer) -> None:
        write_checkpoint(tmp_path / "m", {"v": np.array([value])}, layer=layer)

    first = threading.Thread(target=save, args=(1.0, Slow()))
    first.start()
    assert inside.wait(60)
    save(2.0, FileLayer())
    assert read_checkpoint(tmp_path / "m").variables["v"].tolist() == [2.0]
    go_on.set()
    first.join()
    assert read_checkpoint(tmp_path / "m").variables["v"].tolist() == [1.0]


def test_files_that_another_process_removed_are_not_committed(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "m", {"v": np.array([1.0])})

    class Robbed(FileLayer):
        def rename(self, old: str, new: str) -> None:
            super().rename(old, new)
            if new.endswith(".safetensors"):
                os.unlink(new)

    with pytest.raises(tf.errors.UnavailableError, match="removed before the save was committed"):
        write_checkpoint(tmp_path / "m", {"v": np.array([2.0])}, layer=Robbed())
    assert read_checkpoint(tmp_path / "m").variables["v"].tolist() == [1.0]


@pytest.mark.parametrize(
    ("variables", "resources"),
    [({"a\0b": np.zeros(1)}, {}), ({"deep": np.zeros((1,) * 17)}, {}), ({}, {"a\0b": b"x"})],
)
def test_what_no_reader_takes_is_not_saved(variables: Any, resources: Any, tmp_path: Path) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="no reader would take it"):
        write_checkpoint(tmp_path / "m", variables, resources)
    assert list(tmp_path.iterdir()) == []


def test_temporary_files_of_other_runs_stay_until_they_are_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def left(name: str, seconds: float) -> Path:
        path = tmp_path / f"tmp-0123456789abcdef-{name}"
        path.write_bytes(b"x")
        moment = stores._STARTED - seconds
        os.utime(path, (moment, moment))
        return path

    ours, theirs = left("m-3.index", 1), left("other-3.index", 1)
    old, state = left("other-2.keep", 2 * stores.OTHERS_AGE), left("checkpoint", 1)
    write_checkpoint(tmp_path / "m-4", {"v": np.zeros(1)})
    assert [p.exists() for p in (ours, theirs, old, state)] == [False, True, False, False]
    monkeypatch.setattr(checkpoint_cleaner, "ABANDONED_AGE", -60.0)  # nothing is young
    write_checkpoint(tmp_path / "m-5", {"v": np.zeros(1)})
    assert not theirs.exists()


def test_the_last_save_is_made_though_one_before_failed(tmp_path: Path) -> None:
    class Full(FileLayer):
        def create(self, path: str) -> int:
            if "model.ckpt-2" in path:
                raise OSError(28, "No space left on device")
            return super().create(path)

    step = tf.train.get_or_create_global_step()
    saver = tf.train.Saver(asynchronous=True)
    saver._layer = Full()
    loop = training_loop.TrainingLoop(
        step.assign_add(1), tmp_path, steps=3, save_steps=2, saver=saver, progress=False
    )
    with pytest.warns(UserWarning, match="No space left"), loop:
        loop.fit()
    assert names(tmp_path) == ["model.ckpt-0", "model.ckpt-3"]


def test_where_list_and_newest_are_damaged_an_older_one_is_gone_on_from(trained: Path) -> None:
    (trained / "checkpoint").write_bytes(b"junk")
    next(iter(trained.glob("m-2.data*"))).write_bytes(b"junk")
    session = started()
    with pytest.warns(UserWarning, match="what is newer is damaged"):
        found = tf.train.restore_latest(tf.train.Saver(), session, trained, fall_back=True)
    assert found is not None and Path(found).name in ("m-0", "m-1")


def test_a_copy_of_the_folder_is_a_run_of_its_own(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "copy")
    session, saver = restored(tmp_path / "copy", max_to_keep=1)
    saver.save(session, tmp_path / "copy" / "m", global_step=3)
    assert names(tmp_path / "copy") == ["m-3"] and names(trained) == ["m-0", "m-1", "m-2"]


@pytest.mark.parametrize("engine", ["runtime", "cinfer"])
def test_a_name_like_a_temporary_one_is_refused(engine: str, tmp_path: Path) -> None:
    state = {"runtime": graphio.runtime, "cinfer": graphio.cinfer}[engine].new_state()
    with pytest.raises(tf.errors.InvalidArgumentError, match="cannot be called"):
        state.save(str(tmp_path / "tmp-0123456789abcdef-run"))
    assert list(tmp_path.iterdir()) == []
