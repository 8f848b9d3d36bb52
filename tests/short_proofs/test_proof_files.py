"""Proofs R27 and R28 in short: files that others can open, with the modes and names they expect."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import engines
import pytest
from proofs import ecosystem, victims

import graphio as tf
from graphio.storage import files
from graphio.support import errors

POSIX = pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")
#: a folder in which not even root can make files
SYSTEM_FOLDER = Path("/sys/kernel")


@pytest.fixture
def session() -> Iterator[Any]:
    with tf.Graph().as_default(), tf.Session() as made:
        tf.get_variable("v", [300], initializer=tf.ones_initializer())
        made.run(tf.global_variables_initializer())
        yield made


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


# ---- R27 ----


def test_the_newest_safetensors_opens_every_data_file(tmp_path: Path) -> None:
    engines.module("cinfer")
    found = ecosystem.looked_at(1, 60, tmp_path, "np")
    assert found.lost == []
    assert found.counts["tensors"] > 500


def test_torch_opens_them_too(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = ecosystem.looked_at(2, 4, tmp_path, "pt")
    assert found.lost == []
    assert found.counts["without a numpy type"] == 0


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: data + b"\0", "bytes after"),
        (lambda data: data.replace(b"}}  ", b"}} \n", 1), "r is not a multiple|\\\\n|assert"),
        (lambda data: data.replace(b'[0,', b'[8,', 1), ""),
    ],
)  # fmt: skip
def test_a_file_with_holes_is_reported(
    damage: Callable[[bytes], bytes], words: str, tmp_path: Path
) -> None:
    """The control of the look at the bytes."""
    victims.write(tmp_path / "c")
    path = next(tmp_path.glob("*.safetensors"))
    ecosystem.rows_of(path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(AssertionError):
        ecosystem.rows_of(path)


# ---- R28 ----


@POSIX
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002, 0])
def test_files_have_the_mode_that_the_umask_leaves(
    umask: int, session: Any, tmp_path: Path
) -> None:
    engines.module("cinfer")
    x = tf.placeholder(tf.float32, [None], name="x")
    before = os.umask(umask)
    try:
        saver = tf.train.Saver(max_to_keep=1, shard_bytes=64)
        for step in (1, 2):
            saver.save(session, tmp_path / "m", global_step=step)
        saver.save(session, tmp_path / "again", meta_graph_suffix="graph")
        tf.saved_model.save(str(tmp_path / "m.gio"), session, {"s": ({"x": x}, {"y": x + 1.0})})
        tf.train.export_meta_graph(str(tmp_path / "m.meta"))
        tf.train.write_graph(tf.get_default_graph(), str(tmp_path), "graph.pb", as_text=False)
        state = victims.engine("cinfer").load(str(tmp_path / "m.gio")).state
        state.save(tmp_path / "c", meta=b"graph")
    finally:
        os.umask(before)
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
    assert len(modes) >= 10
    assert modes == dict.fromkeys(modes, 0o666 & ~umask)


@POSIX
@pytest.mark.parametrize("engine", engines.NAMES)
def test_a_symlinked_folder_is_as_good_as_the_folder(
    engine: str, session: Any, tmp_path: Path
) -> None:
    engines.module(engine)
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real")
    saver = tf.train.Saver(max_to_keep=2)
    for step in (1, 2, 3):
        saver.save(session, link / "m", global_step=step)
    assert saver.last_checkpoints == [str(link / f"m-{step}") for step in (2, 3)]
    assert [n for n in names(tmp_path / "real") if n.endswith(".index")] == [
        "m-2.index", "m-3.index",
    ]  # fmt: skip
    for folder in (link, tmp_path / "real"):
        newest = tf.train.latest_checkpoint(folder)
        assert newest == str(folder / "m-3")
        saver.restore(session, newest)
        state = victims.blank_state(engine, Path(newest))
        assert state.restore(newest) == 3
        state.save(folder / "m-3", step=3)
        assert not any(n.startswith("tmp-") for n in names(tmp_path / "real"))
    link.unlink()
    (tmp_path / "real").rename(tmp_path / "moved")
    assert tf.train.latest_checkpoint(tmp_path / "moved") == str(tmp_path / "moved" / "m-3")


@pytest.mark.parametrize("asynchronous", [False, True])
def test_relative_paths_mean_the_folder_of_their_time(
    asynchronous: bool, session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that goes to another folder deletes nothing there that has the same name."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    monkeypatch.chdir(two)
    tf.train.Saver().save(session, "m", global_step=1)
    mine = names(two)
    monkeypatch.chdir(one)
    with tf.train.Saver(max_to_keep=1, asynchronous=asynchronous) as saver:
        assert saver.save(session, "m", global_step=1) == "m-1"
        monkeypatch.chdir(two)
        saver.wait()
        assert "m-1.index" in names(one)
        saver.save(session, one / "m", global_step=2)
        monkeypatch.chdir(tmp_path)
        saver.wait()
    assert names(two) == mine
    assert [n for n in names(one) if n.endswith(".index")] == ["m-2.index"]
    assert tf.train.latest_checkpoint(one) == str(one / "m-2")
    assert names(tmp_path) == ["one", "two"]


@pytest.mark.parametrize("engine", engines.NAMES)
@pytest.mark.parametrize(
    "folder", ["a b", "ü 日本", "quo\"te'", "new\nline", "back\\slash", "%s%n", "a:b", "[x]*?"]
)
def test_folders_of_all_names_hold_checkpoints(
    folder: str, engine: str, session: Any, tmp_path: Path
) -> None:
    engines.module(engine)
    where = tmp_path / folder
    where.mkdir()
    saver = tf.train.Saver(max_to_keep=1)
    for step in (1, 2):
        saver.save(session, where / "m", global_step=step)
    newest = tf.train.latest_checkpoint(where)
    assert newest == str(where / "m-2")
    saver.restore(session, newest)
    state = victims.blank_state(engine, Path(newest))
    state.restore(newest)
    state.save(where / "c")
    assert {n.split(".")[0] for n in names(where)} == {"m-2", "c", "checkpoint"}


@pytest.mark.parametrize("engine", engines.NAMES)
@pytest.mark.parametrize(
    "name", [".hidden", 'a"b', "ü" * 128, "x" * 250, "a\nb", "a\\b", "a\x7f", "..", "."]
)
def test_prefixes_that_cannot_be_are_refused(
    name: str, engine: str, session: Any, tmp_path: Path
) -> None:
    state = engines.module(engine).new_state(0)
    for save in (lambda: state.save(f"{tmp_path}/{name}"), lambda: _saved(session, tmp_path, name)):
        with pytest.raises((errors.InvalidArgumentError, errors.UnavailableError, ValueError)):
            save()
        assert names(tmp_path) == []


def _saved(session: Any, folder: Path, name: str) -> None:
    tf.train.Saver().save(session, f"{folder}/{name}")


def _saves(session: Any) -> dict[str, Callable[[Path], Any]]:
    found: dict[str, Callable[[Path], Any]] = {
        "Saver": lambda path: tf.train.Saver().save(session, path),
        "runtime": lambda path: engines.module("runtime").new_state(0).save(path),
    }
    if "graphio.cinfer._native" in sys.modules:
        found["cinfer"] = lambda path: engines.module("cinfer").new_state(0).save(path)
    return found


@pytest.mark.skipif(not SYSTEM_FOLDER.is_dir(), reason="there is no /sys/kernel")
def test_a_folder_that_cannot_be_written_is_an_error(session: Any, tmp_path: Path) -> None:
    engines.module("cinfer")
    for name, save in _saves(session).items():
        with pytest.raises(OSError if name == "Saver" else errors.OpError) as caught:
            save(SYSTEM_FOLDER / "m")
        assert f"{SYSTEM_FOLDER}/" in str(caught.value) and "m." in str(caught.value), name


def test_a_folder_that_is_none_is_an_error(session: Any, tmp_path: Path) -> None:
    engines.module("cinfer")
    (tmp_path / "file").write_text("")
    for name, save in _saves(session).items():
        for parent in ("file", "nowhere/deeper", *(["nowhere"] if name != "Saver" else [])):
            with pytest.raises((errors.OpError, ValueError), match=parent.split("/")[0]):
                save(tmp_path / parent / "m")
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("operation", ["create", "write", "fsync", "rename", "sync_folder"])
def test_a_folder_that_vanishes_during_a_save_is_an_error(
    operation: str, session: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()

    class Vanishing(files.FileLayer):
        pass

    def vanish(self: files.FileLayer, *arguments: Any) -> Any:
        shutil.rmtree(folder, ignore_errors=True)
        return getattr(files.FileLayer, operation)(self, *arguments)

    setattr(Vanishing, operation, vanish)
    from graphio.schema import checkpoint

    with pytest.raises(OSError, match="run"):
        checkpoint.write_checkpoint(
            folder / "m", victims.variables(), meta=b"graph", layer=Vanishing()
        )
    assert names(tmp_path) == []
