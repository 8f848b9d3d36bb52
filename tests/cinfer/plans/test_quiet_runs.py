"""A run of what was planned takes no memory, no lock and calls the system for nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import c_programs
import pytest

import graphio as tf

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")

WRAPPED = (
    *("malloc", "calloc", "realloc", "free", "pthread_mutex_lock"),
    *("pthread_cond_wait", "pthread_cond_signal", "pthread_cond_broadcast"),
)
Model = tuple[dict[str, Any], dict[str, Any]]


def perceptron() -> Model:
    x = tf.placeholder(tf.float32, [None, 64], name="x")
    hidden = tf.layers.dense(x, 32, tf.nn.relu)
    return {"x": x}, {"y": tf.nn.softmax(tf.layers.dense(hidden, 10))}


def convolutions() -> Model:
    x = tf.placeholder(tf.float32, [None, 8, 8, 1], name="x")
    y = tf.layers.conv2d(x, 16, 3, padding="same", activation=tf.nn.relu)
    y = tf.layers.max_pooling2d(tf.layers.batch_normalization(y), 2, 2)
    return {"x": x}, {"y": tf.layers.dense(tf.layers.flatten(y), 10)}


def recurrent() -> Model:
    x = tf.placeholder(tf.float32, [2, 5, 4], name="x")
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(3), x, dtype=tf.float32)
    return {"x": x}, {"y": outputs}


def training() -> Model:
    inputs, outputs = perceptron()
    loss = tf.reduce_mean(tf.square(outputs["y"]))
    step = tf.train.AdamOptimizer().minimize(loss)
    with tf.control_dependencies([step]):
        return inputs, {"loss": tf.identity(loss)}


def shapes_that_are_data() -> Model:
    x = tf.placeholder(tf.float32, [None], name="x")
    return {"x": x}, {"y": tf.boolean_mask(x, x > 0.3)}


def quiet_run(folder: Path, build: Callable[[], Model], runs: int = 20) -> str:
    with tf.Graph().as_default():
        inputs, outputs = build()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            path = folder / "model.gio"
            tf.saved_model.save(path, session, {"run": (inputs, outputs)})
    wraps = [f"-Wl,--wrap={name}" for name in WRAPPED]
    program = c_programs.build(Path(__file__).with_name("quiet_run.c"), "cc", *wraps)
    done = subprocess.run(
        [program, path, "run", str(runs)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if "no seccomp" in done.stdout:
        pytest.skip("seccomp is not to be had here")
    return done.stdout.strip()


@pytest.mark.parametrize("build", [perceptron, convolutions, recurrent, training])
def test_runs_are_quiet(build: Callable[[], Model], tmp_path: Path) -> None:
    assert quiet_run(tmp_path, build) == "heap 0 locks 0"


def test_the_proof_sees_memory_that_is_taken(tmp_path: Path) -> None:
    reported = quiet_run(tmp_path, shapes_that_are_data)
    assert reported.startswith("heap ") and reported != "heap 0 locks 0"
