"""Uses of a Saver in any folder, of this machine or of an object store: programs for tests."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import graphio as tf
from graphio.storage import stores


def variables() -> tuple[tf.Variable, tf.Variable]:
    """Two small ones."""
    return tf.Variable([1.0, 2.0], name="v"), tf.Variable(3, name="w")


def started(target: str = "") -> tf.Session:
    """A session in which all variables have their initial values."""
    session = tf.Session(target)
    session.run(tf.global_variables_initializer())
    return session


def indexes(folder: str) -> list[str]:
    """The names of the committed checkpoints' indexes."""
    return [name for name in stores.of_folder(folder).names() if name.endswith(".index")]


def saves_keeps_finds_and_restores(target: str, folder: str) -> None:
    """Variables and random streams come back, in this session and in another one."""
    v, _ = variables()
    draw = tf.random_uniform([3], seed=1)
    saver = tf.train.Saver(max_to_keep=2)
    session = started(target)
    session.run(draw)
    for step in range(4):
        session.run(v.assign([step, step]))
        assert saver.save(session, f"{folder}/m", global_step=step) == f"{folder}/m-{step}"
    assert indexes(folder) == ["m-2.index", "m-3.index"]
    assert saver.last_checkpoints == [f"{folder}/m-2", f"{folder}/m-3"]
    expected = session.run(draw)
    latest = tf.train.latest_checkpoint(folder)
    assert latest == f"{folder}/m-3" == tf.train.latest_checkpoint(f"{folder}/")
    session.run(v.assign([9.0, 9.0]))
    other, again = tf.Session(target), tf.train.Saver(max_to_keep=2)
    for here, restorer in ((session, saver), (other, again)):
        restorer.restore(here, latest)
        assert here.run(v).tolist() == [3, 3]
        np.testing.assert_array_equal(here.run(draw), expected)
    again.save(other, f"{folder}/m", global_step=4)  # the list of those to keep was taken over
    assert indexes(folder) == ["m-3.index", "m-4.index"]


def can_be_moved(folder: str) -> None:
    """The list of a copied folder names the copies."""
    variables()
    tf.train.Saver().save(started(), f"{folder}/m", global_step=1)
    one, other = stores.of_folder(folder), stores.of_folder(folder + "-moved")
    other.make()
    for name in one.names():
        other.put(name, [one.read(name)])
        one.remove(name)
    assert folder.encode() not in other.read("checkpoint")
    assert tf.train.latest_checkpoint(folder + "-moved") == f"{folder}-moved/m-1"


def newest_is_found_without_a_good_list(folder: str) -> None:
    """By the indexes, of which a damaged one does not count."""
    variables()
    saver, session = tf.train.Saver(), started()
    assert tf.train.latest_checkpoint(folder) is None
    for step in (1, 2):
        saver.save(session, f"{folder}/m", global_step=step)
    for text in (b"", b"rubbish {", b'model_checkpoint_path: "m-9"\n', b"\xff\xfe"):
        stores.write(f"{folder}/checkpoint", [text])
        with pytest.warns(UserWarning):
            assert tf.train.latest_checkpoint(folder) == f"{folder}/m-2"
    stores.of_folder(folder).remove("checkpoint")
    with pytest.warns(UserWarning, match="'checkpoint' of .* is missing; going on from '.*/m-2'"):
        assert tf.train.latest_checkpoint(folder) == f"{folder}/m-2"
    stores.write(f"{folder}/m-2.index", [b"damaged"])
    with pytest.warns(UserWarning):
        assert tf.train.latest_checkpoint(folder) == f"{folder}/m-1"
    stores.of_folder(folder).remove("m-2.index")
    with warnings.catch_warnings():  # as while the first one is being saved
        warnings.simplefilter("error")
        assert tf.train.latest_checkpoint(folder) == f"{folder}/m-1"
    stores.of_folder(folder).remove("m-1.index")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tf.train.latest_checkpoint(folder) is None
    stores.write(f"{folder}/checkpoint", [b'model_checkpoint_path: "m-9"\n'])
    with pytest.warns(UserWarning, match="names no checkpoint that exists; there is no other"):
        assert tf.train.latest_checkpoint(folder) is None


def of_another_list_are_those_that_it_names(folder: str) -> None:
    """The indexes of a folder are of several runs, so that they do not stand in for one's list."""
    variables()
    saver, session = tf.train.Saver(), started()
    saver.save(session, f"{folder}/m", global_step=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tf.train.latest_checkpoint(folder, "other") is None
        assert tf.train.restore_latest(saver, session, folder, "other") is None
        assert tf.train.latest_checkpoint(folder + "-not-there") is None
    saver.save(session, f"{folder}/n", latest_filename="other")
    assert tf.train.latest_checkpoint(folder, "other") == f"{folder}/n"
    assert tf.train.restore_latest(saver, session, folder, "other") == f"{folder}/n"
    stores.of_folder(folder).remove("n.index")
    with pytest.warns(UserWarning, match="'other' of .* names no checkpoint that exists; .*/m-1'"):
        assert tf.train.latest_checkpoint(folder, "other") == f"{folder}/m-1"
