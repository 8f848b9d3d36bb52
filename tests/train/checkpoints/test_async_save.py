"""Saver(asynchronous=True): a snapshot of one moment, errors reported once, nothing lost."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import tracemalloc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.schema.checkpoint import read_checkpoint
from graphio.storage.files import DiskFullError, FileLayer
from graphio.train.checkpoints.background import Memory

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
LONG = 60.0  # seconds: no wait of these tests takes so long unless something hangs


class Gate(FileLayer):
    """Writes only while it is open, and fails on request."""

    def __init__(self) -> None:
        self.open, self.entered = threading.Event(), threading.Event()
        self.open.set()
        self.fail = False
        self.entries = 0

    def write(self, handle: int, data: memoryview) -> int:
        self.entries += 1
        self.entered.set()
        assert self.open.wait(LONG)
        if self.fail:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(handle, data)


@pytest.fixture(autouse=True)
def new_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.open.set()


def a_saver(gate: FileLayer, **options: Any) -> Any:
    saver = tf.train.Saver(asynchronous=True, **options)
    saver._layer = gate
    return saver


def started(target: str = "") -> Any:
    session = tf.Session(target)
    session.run(tf.global_variables_initializer())
    return session


class Counter:
    """A user-defined object with a state."""

    def __init__(self, value: int = 0) -> None:
        self.value = value

    def get_state(self) -> bytes:
        return self.value.to_bytes(4, "little")

    def set_state(self, state: bytes) -> None:
        self.value = int.from_bytes(state, "little")


@TARGETS
def test_the_snapshot_is_of_the_moment_of_the_call(target: str, gate: Gate, tmp_path: Path) -> None:
    step = tf.train.create_global_step()
    w = tf.get_variable("w", initializer=np.arange(1000, dtype=np.float32))
    text = tf.Variable([b"a", b"bc"], name="text")
    noise = tf.random_uniform([3], seed=5)
    iterator = tf.data.Dataset.range(100).make_one_shot_iterator()
    element = iterator.get_next()
    move = tf.group(w.assign_add(tf.ones([1000])), step.assign_add(1), text.assign([b"x", b"y"]))
    counter = Counter(3)
    session = started(target)
    session.run([noise, element])
    saver = a_saver(gate, objects={"counter": counter})
    gate.open.clear()
    prefix = saver.save(session, tmp_path / "m", global_step=step, blobs={"note": b"hello"})
    assert prefix == str(tmp_path / "m-0")
    expected = session.run([noise, element])
    for _ in range(3):
        session.run([move, noise, element])
    counter.value = 9
    assert not tf.train.checkpoint_exists(prefix) and saver.last_checkpoints == []
    assert tf.train.latest_checkpoint(tmp_path) is None
    gate.open.set()
    saver.wait()
    assert saver.last_checkpoints == [prefix] and tf.train.latest_checkpoint(tmp_path) == prefix
    other, back = tf.Session(target), Counter()
    tf.train.Saver(objects={"counter": back}).restore(other, prefix)
    assert back.value == 3
    assert other.run([step, text])[0] == 0 and other.run(text).tolist() == [b"a", b"bc"]
    np.testing.assert_array_equal(other.run(w), np.arange(1000, dtype=np.float32))
    np.testing.assert_equal(other.run([noise, element]), expected)
    assert read_checkpoint(prefix).resources["note"] == b"hello"


@TARGETS
def test_a_snapshot_is_consistent_while_another_thread_runs_the_session(
    target: str, tmp_path: Path
) -> None:
    ones = tf.ones([5000])
    parts = [tf.Variable(tf.zeros([5000]), name=f"w{i}") for i in range(4)]
    step = tf.train.create_global_step()
    move = tf.group(*[w.assign_add(ones) for w in parts], step.assign_add(1))
    session = started(target)
    saver = tf.train.Saver(asynchronous=True, max_to_keep=100)
    over = threading.Event()

    def train() -> None:
        while not over.is_set():
            session.run(move)

    thread = threading.Thread(target=train)
    thread.start()
    try:
        prefixes = [saver.save(session, tmp_path / f"m{i}", global_step=step) for i in range(20)]
        saver.wait()
    finally:
        over.set()
        thread.join()
    for prefix in prefixes:
        found = read_checkpoint(prefix)
        assert prefix.endswith(f"-{found.step}") and found.variables["global_step"] == found.step
        for i in range(4):
            assert (found.variables[f"w{i}"] == found.step).all()


@TARGETS
@pytest.mark.parametrize("how", ["save", "wait", "close", "with"])
def test_an_error_is_reported_once_with_its_prefix(
    target: str, how: str, gate: Gate, tmp_path: Path
) -> None:
    tf.Variable([1.0], name="w")
    session = started(target)
    saver = a_saver(gate)
    good = saver.save(session, tmp_path / "good")
    saver.wait()
    gate.fail = True
    bad = saver.save(session, tmp_path / "bad")
    with pytest.raises(DiskFullError, match=r"the save of '.*bad' in the background.*No space"):
        if how == "save":
            saver.save(session, tmp_path / "third")
        elif how == "with":
            with saver:
                pass
        else:
            getattr(saver, how)()
    saver.wait()
    saver.close()
    assert not tf.train.checkpoint_exists(bad)
    assert saver.last_checkpoints == [good] and tf.train.latest_checkpoint(tmp_path) == good
    assert not list(tmp_path.glob("*tmp*")) and not list(tmp_path.glob("*third*"))
    gate.fail = False
    third = saver.save(session, tmp_path / "third")
    saver.close()
    assert saver.last_checkpoints == [good, third]


def test_an_error_on_the_way_out_is_not_hidden_by_the_save_s(gate: Gate, tmp_path: Path) -> None:
    tf.Variable([1.0], name="w")
    session, saver = started(), a_saver(gate)
    gate.fail = True
    with pytest.warns(RuntimeWarning, match="m' in the background failed"):
        with pytest.raises(KeyError, match="mine"), saver:
            saver.save(session, tmp_path / "m")
            raise KeyError("mine")


@TARGETS
def test_one_save_at_a_time_in_the_order_of_the_calls(
    target: str, gate: Gate, tmp_path: Path
) -> None:
    w = tf.Variable(0, name="w")
    session = started(target)
    saver = a_saver(gate)
    gate.open.clear()
    first = saver.save(session, tmp_path / "m", global_step=1)
    assert gate.entered.wait(LONG)
    second: list[str] = []
    session.run(w.assign(7))
    thread = threading.Thread(
        target=lambda: second.append(saver.save(session, tmp_path / "m", global_step=2))
    )
    thread.start()
    thread.join(0.05)
    assert thread.is_alive() and gate.entries == 1  # it waits and has not begun
    gate.open.set()
    thread.join(LONG)
    saver.wait()
    assert saver.last_checkpoints == [first, *second]
    assert int(read_checkpoint(first).variables["w"]) == 0
    assert int(read_checkpoint(second[0]).variables["w"]) == 7


@TARGETS
def test_a_restore_waits_for_the_save(target: str, gate: Gate, tmp_path: Path) -> None:
    w = tf.Variable([1.0, 2.0], name="w")
    session = started(target)
    saver = a_saver(gate)
    gate.open.clear()
    prefix = saver.save(session, tmp_path / "m")
    session.run(w.assign([8.0, 8.0]))
    threading.Timer(0.05, gate.open.set).start()
    saver.restore(session, prefix)
    assert session.run(w).tolist() == [1.0, 2.0]


@TARGETS
def test_the_session_may_end_while_its_values_are_written(
    target: str, gate: Gate, tmp_path: Path
) -> None:
    tf.Variable(np.full(1000, 3, np.float32), name="w")
    saver = a_saver(gate)
    with started(target) as session:
        gate.open.clear()
        prefix = saver.save(session, tmp_path / "m")
    del session
    gate.open.set()
    saver.close()
    assert (read_checkpoint(prefix).variables["w"] == 3).all()


@TARGETS
def test_memory_beside_the_variables_is_one_snapshot_for_any_number_of_saves(
    target: str, tmp_path: Path
) -> None:
    size = 1 << 20
    for i in range(8):
        tf.Variable(tf.zeros([size]), name=f"w{i}")
    move = tf.group(*[v.assign_add(tf.ones([size])) for v in tf.global_variables()])
    session = started(target)
    saver = tf.train.Saver(asynchronous=True, max_to_keep=1)
    session.run(move)
    tracemalloc.start()
    try:
        saver.save(session, tmp_path / "m", global_step=0)
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        for step in range(1, 5):
            saver.save(session, tmp_path / "m", global_step=step)
        saver.wait()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if target == "cinfer":  # the first snapshot's memory is used by all of them
        assert before > 8 * 4 * size and peak - before < 4 * size
    else:  # no copies at all: the variables' own arrays
        assert peak < 4 * size


def test_the_memory_of_copies_is_used_again() -> None:
    memory = Memory()
    values = {
        "a": np.zeros(4), "b": np.zeros((2, 3), np.int8), "scalar": np.array(True),
        "half": np.zeros(3, tf.bfloat16.as_numpy_dtype), "none": np.zeros((0, 2), np.float32),
        "text": np.array([b"x", b"yz"], object), "c": np.zeros(9, np.complex128),
    }  # fmt: skip
    first = memory.copies(values)
    second = memory.copies({name: v + v for name, v in values.items()} | {"a": np.ones((2, 2))})
    assert np.shares_memory(first["a"], second["a"]) and np.shares_memory(first["c"], second["c"])
    assert all(v.ctypes.data % v.itemsize == 0 for v in second.values() if v.size)
    assert second["a"].tolist() == [[1, 1], [1, 1]] and second["text"].tolist() == [b"xx", b"yzyz"]
    for name in ("b", "scalar", "half", "none", "c"):
        assert second[name].dtype == values[name].dtype
        np.testing.assert_array_equal(second[name], values[name])
    larger = memory.copies({"a": np.ones(1000)})
    assert not np.shares_memory(larger["a"], second["a"]) and larger["a"].sum() == 1000


ORDINARY_END = """
import sys, time
import graphio as tf
from graphio.storage.files import FileLayer
class Slow(FileLayer):
    def write(self, handle, data):
        time.sleep(0.1)
        if sys.argv[2] == "failing":
            raise OSError(28, "No space left on device")
        return super().write(handle, data)
w = tf.Variable([1.0, 2.0], name="w")
saver = tf.train.Saver(asynchronous=True)
saver._layer = Slow()
session = tf.Session()
session.run(tf.global_variables_initializer())
saver.save(session, sys.argv[1] + "/m")
if sys.argv[2] == "raising":
    raise ValueError("the program's own")
if sys.argv[2] == "dropped":
    del saver
"""


@pytest.mark.parametrize("how", ["plain", "raising", "dropped"])
def test_an_ordinary_end_of_the_process_waits_for_the_save(how: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", ORDINARY_END, str(tmp_path), how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG)
    assert done.returncode == (how == "raising"), done.stderr
    assert ("the program's own" in done.stderr) == (how == "raising")
    found = read_checkpoint(tf.train.latest_checkpoint(tmp_path))
    assert found.variables["w"].tolist() == [1.0, 2.0]


def test_an_error_that_no_one_requested_is_reported_at_the_end(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ORDINARY_END, str(tmp_path), "failing"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG)
    assert done.returncode == 0
    assert f"the save of '{tmp_path}/m' in the background failed" in done.stderr
    assert done.stderr.count("in the background failed") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_a_child_of_fork_neither_waits_for_the_save_nor_inherits_its_error(
    target: str, gate: Gate, tmp_path: Path
) -> None:
    tf.Variable([1.0], name="w")
    session, saver = started(target), a_saver(gate)
    gate.fail = True
    gate.open.clear()
    saver.save(session, tmp_path / "m")
    assert gate.entered.wait(LONG)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork with threads, 3.12
        child = os.fork()
    if child == 0:
        code = 1
        signal.alarm(int(LONG))  # a child that waits for ever fails the test
        try:
            saver._layer = FileLayer()
            saver.wait()
            saver.save(session, tmp_path / "child")
            saver.wait()
            code = 0 if saver.last_checkpoints == [str(tmp_path / "child")] else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    gate.open.set()
    with pytest.raises(DiskFullError):
        saver.wait()


def test_an_interrupt_ends_the_waiting_and_not_the_save(tmp_path: Path) -> None:
    program = """
import os, signal, sys, threading
import graphio as tf
from graphio.storage.files import FileLayer
gate = threading.Event()
class Gate(FileLayer):
    def write(self, handle, data):
        gate.wait()
        return super().write(handle, data)
w = tf.Variable([1.0], name="w")
saver = tf.train.Saver(asynchronous=True)
saver._layer = Gate()
session = tf.Session()
session.run(tf.global_variables_initializer())
prefix = saver.save(session, sys.argv[1] + "/m")
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    saver.wait()
except KeyboardInterrupt:
    print("interrupted", saver.last_checkpoints)
gate.set()
saver.wait()
print("saved", saver.last_checkpoints == [prefix])
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG)
    assert done.stdout == "interrupted []\nsaved True\n", done.stderr


def test_retention_is_that_of_a_synchronous_saver(tmp_path: Path) -> None:
    tf.Variable([1.0], name="w")
    session = started()
    with tf.train.Saver(asynchronous=True, max_to_keep=2) as saver:
        for step in range(6):
            saver.save(session, tmp_path / "m", global_step=step)
    assert sorted(p.stem for p in tmp_path.glob("*.index")) == ["m-4", "m-5"]
    assert saver.last_checkpoints == [str(tmp_path / "m-4"), str(tmp_path / "m-5")]


def test_what_is_wrong_with_the_call_is_reported_by_the_call(tmp_path: Path) -> None:
    tf.Variable([1.0], name="w")
    saver = tf.train.Saver(asynchronous=True)
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value w"):
        saver.save(tf.Session(), tmp_path / "m")
    with pytest.raises(ValueError, match="Parent directory"):
        saver.save(started(), tmp_path / "no" / "such" / "m")
    saver.wait()


# ---- why the Python runtime needs no copies ----

OPTIMIZERS: list[Any] = [
    lambda: tf.train.GradientDescentOptimizer(0.1),
    lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    lambda: tf.train.AdamOptimizer(0.1),
    lambda: tf.train.AdagradOptimizer(0.1),
    lambda: tf.train.AdadeltaOptimizer(0.1),
    lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
    lambda: tf.train.FtrlOptimizer(0.1),
    lambda: tf.train.ProximalAdagradOptimizer(0.1),
]


@pytest.mark.parametrize("parallel", [0, 4])
@pytest.mark.parametrize("optimizer", range(len(OPTIMIZERS)))
def test_no_run_writes_to_a_value_that_a_variable_had(optimizer: int, parallel: int) -> None:
    x = tf.placeholder(tf.float32, [4, 6], name="x")
    table = tf.get_variable("table", [6, 5], initializer=tf.ones_initializer())
    w = tf.get_variable("w", initializer=np.full((5, 3), 0.1, np.float32))
    fed = tf.get_variable("fed", [4, 6], initializer=tf.zeros_initializer())
    loss = tf.reduce_sum(tf.square(tf.nn.dropout(tf.matmul(tf.matmul(x, table), w), 0.7, seed=1)))
    looped = tf.while_loop(
        lambda i, v: i < 3, lambda i, v: (i + 1, v + tf.assign_add(w, v) * 0.1), [0, w * 0.5]
    )[1]
    doubled = w.assign(looped)
    after = tf.exp(doubled) + tf.sqrt(tf.abs(doubled * 2.0 + 1.0))
    moves = [
        OPTIMIZERS[optimizer]().minimize(loss),
        tf.scatter_add(table, [1, 1, 3], tf.ones([3, 5])),
        table[2:4].assign(tf.zeros([2, 5])),
        fed.assign(x),
        [after, doubled, fed.assign_sub(x), w.assign(tf.transpose(tf.transpose(w)) * 0.5)],
        tf.cond(
            tf.reduce_sum(w) > 0, lambda: table.assign(table + 1), lambda: table.assign(-table)
        ),
    ]
    session = tf.Session("runtime", config=tf.ConfigProto(inter_op_parallelism_threads=parallel))
    session.run(tf.global_variables_initializer())
    feed = np.arange(24, dtype=np.float32).reshape(4, 6) / 24
    seen: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
    for _ in range(2):
        for move in moves:
            seen += [(v, v.copy()) for v in session.state.views(session.state.names())]
            fetched = session.run(move, {x: feed})
            for value in fetched if isinstance(fetched, list) else []:
                value.fill(-7)  # the program owns the arrays that it gets
            feed += 0.5
    assert len(seen) > 30
    for value, copy in seen:
        np.testing.assert_array_equal(value, copy)


# ---- hooks ----


class Listener(tf.train.CheckpointSaverListener):
    """Notes whether the checkpoint was there when its hook was called."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.there = folder, []

    def after_save(self, session: Any, global_step_value: int) -> None:
        prefix = self.folder / f"model.ckpt-{global_step_value}"
        self.there.append(tf.train.checkpoint_exists(prefix))


@TARGETS
def test_steps_go_on_while_a_hook_s_checkpoint_is_written(
    target: str, gate: Gate, tmp_path: Path
) -> None:
    step = tf.train.create_global_step()
    count = step.assign_add(1)
    saver = a_saver(gate)
    hook = tf.train.CheckpointSaverHook(tmp_path, save_steps=100, saver=saver)
    creator = tf.train.ChiefSessionCreator(master=target)
    gate.open.clear()
    with tf.train.MonitoredSession(creator, [hook]) as session:
        assert [session.run(count) for _ in range(5)] == [1, 2, 3, 4, 5]
        assert saver.last_checkpoints == [] and gate.entries <= 1
        gate.open.set()
    assert [Path(p).name for p in saver.last_checkpoints] == ["model.ckpt-0", "model.ckpt-5"]


def test_a_listener_learns_of_checkpoints_that_are_there(tmp_path: Path) -> None:
    count = tf.train.create_global_step().assign_add(1)
    listener, saver = Listener(tmp_path), tf.train.Saver(asynchronous=True)
    hook = tf.train.CheckpointSaverHook(tmp_path, None, 2, saver, listeners=[listener])
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(5):
            session.run(count)
    assert listener.there == [True] * 4


def test_a_monitored_training_session_saves_in_the_background_when_requested(
    tmp_path: Path,
) -> None:
    count = tf.train.create_global_step().assign_add(1)
    options = {"log_step_count_steps": None, "save_summaries_steps": None}
    scaffold = tf.train.Scaffold()
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path), scaffold=scaffold, asynchronous=True, **options
    ) as session:
        session.run(count)
    assert scaffold.saver._asynchronous
    assert int(read_checkpoint(tf.train.latest_checkpoint(tmp_path)).variables["global_step"]) == 1


def test_close_lets_the_snapshot_s_memory_go_and_the_saver_goes_on(tmp_path: Path) -> None:
    tf.Variable(tf.zeros([1 << 20]), name="w")
    session, saver = started("cinfer"), tf.train.Saver(asynchronous=True, max_to_keep=1)
    tracemalloc.start()
    try:
        saver.save(session, tmp_path / "m")
        saver.wait()
        held = tracemalloc.get_traced_memory()[0]
        saver.close()
        assert held - tracemalloc.get_traced_memory()[0] > 4_000_000
    finally:
        tracemalloc.stop()
    saver.save(session, tmp_path / "m")
    saver.close()
