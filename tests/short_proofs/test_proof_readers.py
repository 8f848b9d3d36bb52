"""Proof R25 in short: restoring while another process saves and deletes."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import engines
import numpy as np
import pytest
from proofs import readers, slices

import graphio as tf
from graphio.schema import checkpoint


@pytest.mark.parametrize(
    ("reader", "max_to_keep", "same_prefix", "polls"),
    [
        ("Saver", 1, False, 150),
        ("Saver", 1, True, 50),
        ("cinfer", 1, False, 100),
        ("maps", 1, False, 10),
    ],
)
def test_a_reader_sees_only_whole_checkpoints(
    reader: str, max_to_keep: int, same_prefix: bool, polls: int
) -> None:
    engines.module("cinfer" if reader == "cinfer" else "runtime")
    with tempfile.TemporaryDirectory(dir=slices.memory()) as folder:
        found = readers.polled(reader, max_to_keep, same_prefix, polls, Path(folder))
    assert found.lost == []
    assert found.counts["polls"] >= polls
    assert found.counts["new checkpoints seen"] >= readers.LEAST


class Overtaken(tf.train.Saver):
    """A Saver that a writer overtakes: before its first restore something happens."""

    def __init__(self, happens: Any) -> None:
        super().__init__()
        self.happens = [happens]

    def restore(self, sess: Any, save_path: Any, **options: Any) -> None:
        while self.happens:
            self.happens.pop()()
        super().restore(sess, save_path, **options)


@pytest.fixture
def session() -> Any:
    with tf.Graph().as_default(), tf.Session() as made:
        tf.get_variable("v", [], tf.int64, initializer=tf.zeros_initializer())
        made.run(tf.global_variables_initializer())
        yield made


def test_a_checkpoint_that_is_deleted_before_it_is_read_gives_way(
    session: Any, tmp_path: Path
) -> None:
    writer = tf.train.Saver(max_to_keep=1)
    writer.save(session, tmp_path / "m", global_step=1)
    reader = Overtaken(lambda: writer.save(session, tmp_path / "m", global_step=2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tf.train.restore_latest(reader, session, tmp_path) == str(tmp_path / "m-2")


def test_a_folder_that_is_emptied_has_no_checkpoint(session: Any, tmp_path: Path) -> None:
    saved = tf.train.Saver().save(session, tmp_path / "m")
    reader = Overtaken(lambda: tf.train.remove_checkpoint(saved))
    with pytest.warns(UserWarning, match="names no checkpoint that exists"):
        assert tf.train.restore_latest(reader, session, tmp_path) is None
    (tmp_path / "checkpoint").unlink()
    assert tf.train.restore_latest(reader, session, tmp_path) is None


def test_what_the_newest_lacks_is_an_error(session: Any, tmp_path: Path) -> None:
    """No retry helps there, nor with damage."""
    saved = tf.train.Saver().save(session, tmp_path / "m")
    with tf.Graph().as_default(), tf.Session() as other:
        tf.get_variable("w", [], initializer=tf.zeros_initializer())
        with pytest.raises(tf.errors.NotFoundError, match="Key w not found"):
            tf.train.restore_latest(tf.train.Saver(), other, tmp_path)
    for damaged in (next(tmp_path.glob("*.safetensors")), Path(f"{saved}.index")):
        damaged.write_bytes(b"damaged")
        with pytest.raises(tf.errors.DataLossError):
            tf.train.restore_latest(tf.train.Saver(), session, tmp_path)


def test_latest_checkpoint_follows_a_writer_that_is_faster(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file `checkpoint` names what is deleted by the time that one looks for it."""
    from graphio.train.checkpoints import checkpoint_state

    writer = tf.train.Saver(max_to_keep=1)
    writer.save(session, tmp_path / "m", global_step=1)
    later = iter([2, 3])
    real = checkpoint_state.checkpoint_exists

    def exists(prefix: Any) -> bool:
        for step in later:
            writer.save(session, tmp_path / "m", global_step=step)
            break
        return real(prefix)

    monkeypatch.setattr(checkpoint_state, "checkpoint_exists", exists)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "m-3")


def test_latest_checkpoint_looks_again_where_the_list_came_after_it_had_looked(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No list yet, and what there was of indexes went while the folder was listed."""
    from graphio.train.checkpoints import checkpoint_state

    real = checkpoint_state.indexes

    def indexes(folder: str) -> Any:
        monkeypatch.setattr(checkpoint_state, "indexes", real)
        tf.train.Saver().save(session, tmp_path / "m", global_step=2)
        return [], {}

    monkeypatch.setattr(checkpoint_state, "indexes", indexes)
    assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "m-2")


def test_mapped_values_outlive_the_files(session: Any, tmp_path: Path) -> None:
    prefix = tmp_path / "c"
    value = np.arange(100_000, dtype=np.float32)
    checkpoint.write_checkpoint(prefix, {"a": value, "b": value[:7]})
    found = checkpoint.read_checkpoint(prefix, lazy=True)
    first = found.variables["b"]
    tf.train.remove_checkpoint(str(prefix))
    assert list(tmp_path.iterdir()) == []
    np.testing.assert_array_equal(found.variables["a"], value)
    np.testing.assert_array_equal(first, value[:7])
