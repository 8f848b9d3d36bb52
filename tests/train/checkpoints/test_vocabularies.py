"""tf.train.VocabInfo: warm starts of variables whose words have other numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf

OLD = np.arange(15, dtype=np.float32).reshape(5, 3)
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Any]:
    """Vocabularies and a checkpoint in which row (or column) n belongs to the n-th old word."""
    (tmp_path / "old").write_text("apple\nbanana\nguava\norange\npear\n")
    (tmp_path / "new").write_text("orange\nguava\nkiwi\napple\nlemon\n")
    with tf.Graph().as_default():
        tf.get_variable("rows", initializer=OLD)
        tf.get_variable("columns", initializer=OLD.T)
        tf.get_variable("bias", initializer=OLD[:, 0])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            path = tf.train.Saver().save(session, str(tmp_path / "m"))
    return {"new": str(tmp_path / "new"), "old": str(tmp_path / "old"), "path": path}


def started(files: dict[str, Any], target: str, shape: Any, name: str, info: Any) -> Any:
    """The value of a variable after a warm start."""
    with tf.Graph().as_default():
        split = tf.fixed_size_partitioner(2) if name == "rows" else None
        v = tf.get_variable(name, shape, partitioner=split)
        tf.train.warm_start(files["path"], name, {name: info})
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            return session.run(tf.convert_to_tensor(v))


@TARGETS
def test_rows_follow_their_words(files: dict[str, Any], target: str) -> None:
    info = tf.train.VocabInfo(files["new"], 4, 2, files["old"])
    found = started(files, target, [6, 3], "rows", info)
    zero = np.zeros(3)
    np.testing.assert_array_equal(found, [OLD[3], OLD[2], zero, OLD[0], zero, zero])


@TARGETS
def test_an_initializer_gives_the_rows_of_new_words(files: dict[str, Any], target: str) -> None:
    info = tf.train.VocabInfo(
        files["new"], 5, 0, files["old"], 3, backup_initializer=tf.constant_initializer(-1.0)
    )
    found = started(files, target, [5, 3], "rows", info)
    new = -np.ones(3)
    np.testing.assert_array_equal(found, [new, OLD[2], new, OLD[0], new])


@TARGETS
def test_columns_follow_their_words(files: dict[str, Any], target: str) -> None:
    info = tf.train.VocabInfo(files["new"], 3, 1, files["old"], axis=1)
    found = started(files, target, [3, 4], "columns", info)
    zero = np.zeros(3)
    np.testing.assert_array_equal(found.T, [OLD[3], OLD[2], zero, zero])


@TARGETS
def test_a_vector_follows_its_words(files: dict[str, Any], target: str) -> None:
    info = tf.train.VocabInfo(files["new"], 2, 0, files["old"])
    assert started(files, target, [2], "bias", info).tolist() == [9, 6]


def test_a_vocabulary_that_does_not_fit_is_refused(files: dict[str, Any]) -> None:
    make: Any = tf.train.VocabInfo
    with pytest.raises(ValueError, match="values for the axis argument are 0 and 1"):
        make(files["new"], 4, 2, files["old"], axis=2)
    for info, shape, message in (
        (make(files["new"], 6, 0, files["old"]), [6, 3], "has 5 words, expected new_vocab_size, 6"),
        (make(files["new"], 4, 0, files["old"]), [6, 3], "with 4 rows of words, expected"),
        (make(files["new"], 4, 0, files["old"]), [4, 2], "differ in axis 0 alone"),
        (make(files["new"], 4, 0, files["old"], axis=1), [6, 4], "differ in axis 1 alone"),
    ):
        with pytest.raises(ValueError, match=message):
            started(files, "cinfer", shape, "rows", info)
    with open(files["old"], "w") as file:
        file.write("a\nb\nc\nd\ne\norange\n")
    info = make(files["new"], 4, 2, files["old"])
    with pytest.raises(ValueError, match="has words after the 5 of .* give old_vocab_size"):
        started(files, "cinfer", [6, 3], "rows", info)
    with tf.Graph().as_default():
        tf.get_variable("other", [5, 3])
        with pytest.raises(ValueError, match="has rows, expected names of variables"):
            tf.train.warm_start(files["path"], [], {"rows": info})
        with pytest.raises(ValueError, match="Tensor other is not found"):
            tf.train.warm_start(files["path"], "other", {"other": info})
