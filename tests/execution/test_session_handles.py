"""Tensors that a session keeps between runs, in both engines."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@TARGETS
def test_a_later_run_reads_the_tensor_of_a_handle(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float32, [2])
        kept = tf.get_session_handle(x * 3.0)
        handle, plain = session.run([kept, x], {x: [1.0, 2.0]})
        np.testing.assert_array_equal(plain, np.float32([1.0, 2.0]))
        holder, value = tf.get_session_tensor(handle.handle, tf.float32)
        found = session.run(value * 10.0, {holder: handle.handle})
        np.testing.assert_array_equal(found, np.float32([30.0, 60.0]))
        np.testing.assert_array_equal(handle.eval(), np.float32([3.0, 6.0]))
        np.testing.assert_array_equal(session.run(x + 1.0, {x: handle}), np.float32([4.0, 7.0]))


@TARGETS
def test_each_run_keeps_another_tensor(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.string, [])
        kept = tf.get_session_handle(x)
        one, two = (session.run(kept, {x: text}) for text in ("one", "two"))
        assert one.handle == "GetSessionHandle;0;/job:localhost/replica:0/task:0/device:CPU:0"
        assert (one.eval(), two.eval()) == (b"one", b"two")


@TARGETS
def test_a_deleted_tensor_is_refused(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        kept = tf.get_session_handle(tf.constant(1.0))
        holder, value = tf.get_session_tensor("", tf.float32)
        gone, deletion = tf.delete_session_tensor("")
        handle = session.run(kept)
        handle.delete()
        with pytest.raises(TypeError, match="may have already been deleted"):
            handle.eval()
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
            session.run(value, {holder: handle.handle})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Failed to delete a tensor"):
            session.run(deletion, {gone: handle.handle})
        with pytest.raises(TypeError, match="must be of type Tensor"):
            tf.get_session_handle(3.0)  # type: ignore[arg-type]


@TARGETS
def test_a_tensor_goes_with_its_handle_unless_the_raw_handle_was_taken(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        kept = tf.get_session_handle(tf.constant(7.0))
        holder, value = tf.get_session_tensor("", tf.float32)
        dropped, raw = session.run(kept).handle, session.run(kept).get_raw_handle()
        gc.collect()
        assert session.run(value, {holder: raw}) == 7.0
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(value, {holder: dropped})
