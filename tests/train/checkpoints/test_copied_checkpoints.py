"""Checkpoints that people copy, move, link and delete by their file names, in both engines."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engines
import numpy as np
import pytest

import graphio as tf
from graphio.schema import checkpoint
from graphio.schema.checkpoint import read_checkpoint, write_checkpoint
from graphio.support import errors
from graphio.train.checkpoints import checkpoint_state

from proofs.kills import strays  # isort: skip

Copy = Callable[[Path, Path], object]
COPIES: dict[str, Copy] = {"copied": shutil.copy2, "hard-linked": os.link}
Delete = Callable[[Path], None]


@pytest.fixture(params=engines.NAMES)
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    engines.module(name)
    return name


def save(folder: Path, base: str, value: float, step: int = 1) -> None:
    """A checkpoint with two data files and a graph file."""
    values = {"v": np.full(5, value, np.float32), "w": np.full(300, float(value))}
    write_checkpoint(
        folder / base, values, step=step, shard_bytes=1000, meta=b"graph %f" % value, time=step
    )


def duplicate(folder: Path, source: str, target: str, how: Copy, *but: str) -> None:
    """Copies a checkpoint by its file names, all but some endings."""
    for path in sorted(folder.glob(source + ".*")):
        ending = path.name[len(source) :]
        if not any(ending.startswith(start) for start in but):
            how(path, folder / (target + ending))


def restored(engine: str, prefix: Path, **options: Any) -> float:
    """The value that a session of an engine restores; all of it is checked."""
    with tf.Graph().as_default() as graph:
        v = tf.get_variable("v", [5])
        w = tf.get_variable("w", [300], tf.float64)
        with tf.Session(engine, graph=graph) as session:
            tf.train.Saver().restore(session, str(prefix), **options)
            found = np.concatenate([session.run(v), session.run(w)])
    assert (found == found[0]).all()
    return float(found[0])


def by_state(engine: str, prefix: Path) -> float:
    """The value that a state of an engine restores by itself."""
    state = engines.module(engine).State()
    state.restore(prefix)
    return float(state.get("v")[0])


def deleted_by_python(folder: Path) -> None:
    tf.train.remove_checkpoint(str(folder / "m-1"))


def deleted_by_c(folder: Path) -> None:
    """A save of the C library whose list has m-1 as the one too many."""
    from graphio.cinfer._native import ffi, lib

    tf.train.update_checkpoint_state(str(folder), str(folder / "m-1"))
    state = engines.module("cinfer").State()
    state.restore(folder / "m-1")
    options = ffi.new("ci_save_options *", lib.ci_save_defaults())
    options.max_to_keep = 1
    prefix = os.fsencode(folder / "m-2")
    assert lib.ci_checkpoint_save(state.handle, ffi.NULL, 0, prefix, options, ffi.NULL) == 0
    assert not (folder / "m-1.index").exists()


DELETIONS: dict[str, Delete] = {"python": deleted_by_python, "cinfer": deleted_by_c}


@pytest.fixture(params=DELETIONS)
def delete(request: pytest.FixtureRequest) -> Delete:
    engines.module("cinfer")
    return DELETIONS[request.param]


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_by_file_names_survives_its_original(
    how: str, delete: Delete, tmp_path: Path
) -> None:
    save(tmp_path, "m-1", 7)
    duplicate(tmp_path, "m-1", "best", COPIES[how])
    delete(tmp_path)
    assert not list(tmp_path.glob("m-1.*"))
    for name in engines.NAMES:
        assert restored(name, tmp_path / "best") == 7
        assert restored(name, tmp_path / "best", verify="lazy") == 7
        assert by_state(name, tmp_path / "best") == 7
    assert strays(tmp_path) == []


def test_every_reader_finds_the_data_of_a_copy(tmp_path: Path) -> None:
    save(tmp_path, "m-1", 7)
    duplicate(tmp_path, "m-1", "best", shutil.copy)
    checkpoint.delete(tmp_path / "m-1")
    best = str(tmp_path / "best")
    assert tf.train.verify(best).files == 4
    assert len(tf.train.list_checkpoint(best).rows) == 2
    assert tf.train.load_checkpoint(best).get_tensor("v")[0] == 7
    assert tf.train.list_variables(best) == [("v", [5]), ("w", [300])]
    assert read_checkpoint(best).meta() == b"graph %f" % 7
    assert tf.train.load_values(best)["v"][0] == 7
    save(tmp_path, "m-2", 7)
    assert tf.train.diff_checkpoints(best, str(tmp_path / "m-2")).equal
    checkpoint.copy(best, tmp_path / "again")
    assert restored("runtime", tmp_path / "again") == 7
    with tf.Graph().as_default() as graph:
        v = tf.get_variable("v", [5])
        tf.train.init_from_checkpoint(best, {"v": "v"})
        with tf.Session(graph=graph) as session:
            session.run(tf.global_variables_initializer())
            assert session.run(v)[0] == 7


def test_an_index_copied_alone_keeps_the_originals_data(delete: Delete, tmp_path: Path) -> None:
    save(tmp_path, "m-1", 7)
    duplicate(tmp_path, "m-1", "best", shutil.copy, ".data", ".meta")
    delete(tmp_path)
    for name in engines.NAMES:
        assert restored(name, tmp_path / "best") == 7
    assert read_checkpoint(tmp_path / "best").meta() == b"graph %f" % 7
    save(tmp_path, "m-3", 3)  # cleaning leaves them, too
    assert restored("runtime", tmp_path / "best") == 7
    tf.train.remove_checkpoint(str(tmp_path / "best"))
    left = {path.name for path in tmp_path.glob("*") if not path.name.startswith(("m-2", "m-3"))}
    assert left <= {"checkpoint", "m-1.meta"}  # a graph file alone might be one that was exported


def test_a_new_save_under_the_copys_name_removes_the_copys_files_alone(
    engine: str, tmp_path: Path
) -> None:
    save(tmp_path, "m-1", 7)
    duplicate(tmp_path, "m-1", "best", shutil.copy)
    copies = set(tmp_path.glob("best.data-*"))
    if engine == "cinfer":
        state = engines.module(engine).State()
        state.restore(tmp_path / "m-1")
        state.save(tmp_path / "best", meta=b"of C")
    else:
        save(tmp_path, "best", 8)
    assert not copies & set(tmp_path.iterdir())
    assert restored(engine, tmp_path / "m-1") == 7
    assert restored(engine, tmp_path / "best") == (7 if engine == "cinfer" else 8)
    assert strays(tmp_path) == []


def test_a_copy_of_a_prefix_that_is_saved_again_keeps_its_graph(tmp_path: Path) -> None:
    save(tmp_path, "m", 1)
    duplicate(tmp_path, "m", "best", shutil.copy)
    save(tmp_path, "m", 2)
    assert read_checkpoint(tmp_path / "best").meta() == b"graph %f" % 1
    assert read_checkpoint(tmp_path / "m").meta() == b"graph %f" % 2
    assert (tmp_path / "m.meta").read_bytes() == b"graph %f" % 2
    for name in engines.NAMES:
        engines.module(name)
        assert restored(name, tmp_path / "best") == 1


FOLDERS: dict[str, Copy] = {
    "copied": shutil.copytree,
    "moved": shutil.move,
    "hard-linked": lambda a, b: shutil.copytree(a, b, copy_function=os.link),
}


@pytest.mark.parametrize("how", FOLDERS)
def test_a_folder_may_be_copied_moved_and_linked(how: str, engine: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for step in (1, 2):
        save(run, f"m-{step}", step, step)
        tf.train.update_checkpoint_state(str(run), str(run / f"m-{step}"))
    FOLDERS[how](run, tmp_path / "new")
    if run.exists():  # a copy is independent of its source
        checkpoint.delete(run / "m-2")
        save(run, "m-1", 9)
    assert tf.train.latest_checkpoint(str(tmp_path / "new")) == str(tmp_path / "new/m-2")
    assert restored(engine, tmp_path / "new/m-2") == 2
    assert restored(engine, tmp_path / "new/m-1") == 1


@pytest.mark.filterwarnings("ignore:the file 'checkpoint'")
def test_a_partly_deleted_folder_gives_its_newest_complete_checkpoint(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        save(tmp_path, f"m-{step}", step, step)
        tf.train.update_checkpoint_state(str(tmp_path), str(tmp_path / f"m-{step}"))
    (gone, *_) = sorted(tmp_path.glob("m-3.data-*"))
    gone.unlink()
    for name in engines.NAMES:
        with pytest.raises(errors.DataLossError, match=f"{gone.name}.*bring it back"):
            restored(name, tmp_path / "m-3")
    with pytest.warns(UserWarning, match=f"(?s)cannot be restored.*{gone.name}.*going on from"):
        assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "m-2")
    (tmp_path / "checkpoint").unlink()
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "m-2")
    for path in tmp_path.glob("m-[12].data-*"):
        path.unlink()
    with pytest.raises(errors.DataLossError, match="no checkpoint of"):
        tf.train.latest_checkpoint(str(tmp_path))
    assert checkpoint_state.listed_beside(str(tmp_path / "m-3")) is None


def test_c_goes_on_from_the_newest_complete_checkpoint(tmp_path: Path) -> None:
    from graphio.cinfer._native import ffi, lib

    cinfer = engines.module("cinfer")
    for step in (1, 2):
        save(tmp_path, f"m-{step}", step, step)
        tf.train.update_checkpoint_state(str(tmp_path), str(tmp_path / f"m-{step}"))
    next(tmp_path.glob("m-2.data-*")).unlink()
    state, error = cinfer.State(), ffi.new("ci_error *")
    folder = os.fsencode(tmp_path)
    assert lib.ci_restore_latest(state.handle, folder, ffi.NULL, ffi.NULL, error) == 0
    assert state.get("v")[0] == 1
    next(tmp_path.glob("m-1.data-*")).unlink()
    assert lib.ci_restore_latest(state.handle, folder, ffi.NULL, ffi.NULL, error) != 0
    assert b"lacks its shard" in ffi.string(error.message)
