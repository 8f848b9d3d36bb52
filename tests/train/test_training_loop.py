"""tf.train.train and TrainingLoop: going on, saving, signals, NaN, damage, progress."""

from __future__ import annotations

import logging as python_logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from folders import ROOT

import graphio as tf
from graphio.schema.checkpoint import read_checkpoint
from graphio.storage.files import DiskFullError, FileLayer
from graphio.train.loops import training_loop

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
LONG = 120


@pytest.fixture(autouse=True)
def new_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def counting(rate: float = 1.0) -> tuple[Any, Any]:
    """A train_op that adds rate to w and one to the global step; and w."""
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", initializer=0.0)
    return tf.group(w.assign_add(rate), step.assign_add(1)), w


def steps_of(folder: Path) -> list[int]:
    return sorted(int(p.stem.rpartition("-")[2]) for p in folder.glob("*.index"))


def newest(folder: Path) -> Any:
    return read_checkpoint(tf.train.latest_checkpoint(folder))


def in_a_new_graph(function: Callable[[], Any]) -> Any:
    with tf.Graph().as_default():
        return function()


@TARGETS
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_training_goes_on_to_the_same_step(
    target: str, asynchronous: bool, tmp_path: Path
) -> None:
    seen: list[int] = []

    def run(steps: int) -> Any:
        x = tf.placeholder(tf.float32, [])
        op, w = counting()
        metrics = {"w": w.read_value(), "x": x * 2}

        def feed(step: int) -> Mapping[Any, Any]:
            seen.append(step)
            return {x: step}

        options = {"target": target, "asynchronous": asynchronous, "save_steps": 3}
        return tf.train.train(op, tmp_path, steps, feed, metrics=metrics, **options)

    assert in_a_new_graph(lambda: run(4))["x"] == 6
    assert steps_of(tmp_path) == [0, 3, 4]
    before = (tmp_path / "model.ckpt-4.index").read_bytes()
    assert in_a_new_graph(lambda: run(9))["x"] == 16
    assert (tmp_path / "model.ckpt-4.index").read_bytes() == before  # not saved again
    assert seen == list(range(9)) and steps_of(tmp_path) == [0, 3, 4, 7, 9]
    assert in_a_new_graph(lambda: run(9)) == {} and steps_of(tmp_path) == [0, 3, 4, 7, 9]
    found = newest(tmp_path)
    assert found.step == 9 and found.variables["w"] == 9 == found.variables["global_step"]


@TARGETS
def test_the_loop_in_one_s_own_hands(target: str, tmp_path: Path) -> None:
    op, w = counting(2.0)
    loop = tf.train.TrainingLoop(op, tmp_path, steps=3, metrics={"w": w}, target=target)
    with pytest.raises(RuntimeError, match="not running"):
        loop.run()
    with loop:
        assert [(step, float(loop.session.run(w))) for step in loop if loop.run() is not None] == [
            (0, 2.0), (1, 4.0), (2, 6.0)
        ]  # fmt: skip
        with pytest.raises(RuntimeError, match="running already"):
            loop.__enter__()
    assert set(loop.metrics) == {"w"} and steps_of(tmp_path) == [0, 3]


# ---- the global step ----


@pytest.mark.parametrize("how", ["none", "there", "counted"])
def test_the_global_step_is_made_and_counted_once(how: str, tmp_path: Path) -> None:
    w = tf.get_variable("w", initializer=4.0)
    step = None if how == "none" else tf.train.create_global_step()
    optimizer = tf.train.GradientDescentOptimizer(0.25)
    op = optimizer.minimize(w * w, global_step=step if how == "counted" else None)
    tf.train.train(op, tmp_path, 3)
    found = newest(tmp_path)
    assert found.variables["global_step"] == 3 and found.variables["w"] == 0.5


def test_a_step_that_is_counted_in_a_branch_is_not_counted_again(tmp_path: Path) -> None:
    step = tf.train.create_global_step()
    go = tf.constant(True)
    op = tf.cond(go, lambda: step.assign_add(1), lambda: step.read_value())
    tf.train.train(op, tmp_path, 2)
    assert newest(tmp_path).variables["global_step"] == 2


# ---- when it saves ----


def test_steps_and_seconds_both_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    op, _ = counting()
    options = {"save_steps": 10, "save_secs": 100.0, "max_to_keep": None}

    def feed(step: int) -> Mapping[Any, Any]:
        now[0] += 150.0 if step in (12, 17) else 1.0
        return {}

    tf.train.train(op, tmp_path, 30, feed, **options)
    assert steps_of(tmp_path) == [0, 10, 13, 18, 28, 30]


def test_nothing_is_saved_without_a_folder(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    op, w = counting()
    assert tf.train.train(op, None, 3, metrics={"w": w.read_value()})["w"] >= 2
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_a_save_in_the_background_ends_the_loop(tmp_path: Path) -> None:
    class Full(FileLayer):
        def write(self, handle: int, data: memoryview) -> int:
            raise OSError(28, "No space left on device")

    op, _ = counting()
    saver = tf.train.Saver(asynchronous=True)
    loop = tf.train.TrainingLoop(op, tmp_path, steps=50, save_steps=2, saver=saver)
    with pytest.raises(DiskFullError, match=r"the save of '.*-2' in the background failed"), loop:
        for step in loop:
            if step == 1:
                saver.wait()
                saver._layer = Full()
            loop.run()
    assert steps_of(tmp_path) == [0] and newest(tmp_path).variables["w"] == 0


@TARGETS
def test_the_end_of_the_data_ends_the_loop_and_is_saved(target: str, tmp_path: Path) -> None:
    element = tf.data.Dataset.range(5).make_one_shot_iterator().get_next()
    total = tf.get_variable("total", initializer=tf.zeros([], tf.int64))
    op = total.assign_add(element)
    metrics = tf.train.train(op, tmp_path, metrics={"element": element}, target=target)
    assert metrics == {"element": 4}
    assert newest(tmp_path).variables["total"] == 10 and newest(tmp_path).step == 5


# ---- NaN ----


@TARGETS
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_loss_that_is_nan_stops_and_good_checkpoints_stand(
    target: str, asynchronous: bool, tmp_path: Path
) -> None:
    op, w = counting()
    loss = tf.log(2.5 - w.read_value())  # of the third step: NaN
    options = {"save_steps": 1, "max_to_keep": 1, "target": target, "asynchronous": asynchronous}
    with pytest.raises(tf.train.NanLossDuringTrainingError):
        tf.train.train(tf.group(op), tmp_path, 9, metrics={"loss": loss}, **options)
    assert len(steps_of(tmp_path)) == 1 and np.isfinite(newest(tmp_path).variables["w"])


@TARGETS
def test_variables_that_are_nan_are_not_saved(target: str, tmp_path: Path) -> None:
    step = tf.train.create_global_step()
    w = tf.get_variable("w", initializer=[3.0, np.inf, -np.inf])
    worse = w.assign(w - [1.0, 0.0, 0.0] + [0.0, 0.0, 0.0] * tf.log(w[0]))
    op = tf.group(worse, step.assign_add(1))
    options = {"save_steps": 1, "target": target, "asynchronous": False}
    with pytest.raises(tf.errors.InvalidArgumentError, match="the variables w hold NaN"):
        tf.train.train(op, tmp_path, 9, **options)
    before = newest(tmp_path)
    assert np.isinf(before.variables["w"][1:]).all() and not np.isnan(before.variables["w"]).any()

    def again() -> None:
        tf.train.create_global_step()
        tf.get_variable("w", initializer=[3.0, np.inf, -np.inf])
        nan = tf.get_collection("variables")[1].assign([np.nan] * 3)
        tf.train.train(nan, tmp_path, before.step + 1, stop_on_nan=False)

    in_a_new_graph(again)
    assert np.isnan(newest(tmp_path).variables["w"]).all()


# ---- damage ----


def damage(folder: Path, step: int, pattern: str = ".data*") -> None:
    (shard,) = folder.glob(f"model.ckpt-{step}{pattern}")
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    shard.write_bytes(data)


@pytest.mark.parametrize("pattern", [".data*", ".index", ".meta"])
def test_a_damaged_checkpoint_is_reported_and_the_one_before_taken(
    pattern: str, tmp_path: Path
) -> None:
    def run(steps: int) -> Any:
        op, w = counting()
        tf.train.train(op, tmp_path, steps, save_steps=2)

    in_a_new_graph(lambda: run(4))
    damage(tmp_path, 4, pattern)
    with pytest.warns(UserWarning, match=r"going on from '.*-2', because .*-4'.*"):
        in_a_new_graph(lambda: run(5))
    found = newest(tmp_path)
    assert found.step == 5 and found.variables["w"] == 5


def test_a_training_does_not_begin_anew_where_all_is_damaged(tmp_path: Path) -> None:
    def run() -> None:
        op, _ = counting()
        tf.train.train(op, tmp_path, 2, save_steps=1)

    in_a_new_graph(run)
    for step in (0, 1, 2):
        damage(tmp_path, step)
    before = sorted(p.name for p in tmp_path.iterdir())
    with pytest.raises(tf.errors.DataLossError, match=r"no checkpoint.*-2'.*-1'.*-0'.*another"):
        in_a_new_graph(run)
    assert sorted(p.name for p in tmp_path.iterdir()) == before


@pytest.mark.parametrize("how", ["train", "MonitoredTrainingSession", "restore_latest"])
def test_a_training_goes_on_where_the_list_of_checkpoints_is_lost(how: str, tmp_path: Path) -> None:
    in_a_new_graph(lambda: tf.train.train(counting()[0], tmp_path, 4))
    (tmp_path / "checkpoint").unlink()
    op, w = counting()
    with pytest.warns(UserWarning, match=r"is missing; going on from '.*-4'"):
        if how == "train":
            assert tf.train.train(op, tmp_path, 5, metrics={"w": w.read_value()})["w"] == 5
        elif how == "MonitoredTrainingSession":
            with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path)) as session:
                assert session.run(w) == 4
        else:
            session = tf.Session()
            assert tf.train.restore_latest(tf.train.Saver(), session, tmp_path) is not None
            assert session.run(w) == 4


def test_a_training_does_not_begin_anew_without_a_list_and_a_good_index(tmp_path: Path) -> None:
    in_a_new_graph(lambda: tf.train.train(counting()[0], tmp_path, 2))
    (tmp_path / "checkpoint").unlink()
    for step in steps_of(tmp_path):
        damage(tmp_path, step, ".index")
    with pytest.raises(tf.errors.DataLossError, match=r"no checkpoint.*-0'.*-2'.*another folder"):
        tf.train.train(counting()[0], tmp_path, 3)


def test_a_checkpoint_of_another_graph_is_no_damage(tmp_path: Path) -> None:
    in_a_new_graph(lambda: tf.train.train(counting()[0], tmp_path, 2, save_steps=1))
    tf.get_variable("other", initializer=1.0)
    with pytest.raises(tf.errors.NotFoundError, match="other"):
        tf.train.train(counting()[0], tmp_path, 3)


# ---- state besides variables ----


def test_objects_come_back(tmp_path: Path) -> None:
    class Order:
        def __init__(self) -> None:
            self.generator = np.random.Generator(np.random.Philox(1))

        def get_state(self) -> bytes:
            return repr(self.generator.bit_generator.state["state"]["counter"].tolist()).encode()

        def set_state(self, state: bytes) -> None:
            full = self.generator.bit_generator.state
            counter = [int(n) for n in state.decode().strip("[]").split(",")]
            full["state"]["counter"] = np.array(counter, np.uint64)
            full["buffer_pos"] = 4
            self.generator.bit_generator.state = full

    def run(folder: Path, steps: int) -> Any:
        x = tf.placeholder(tf.float64, [4])
        w = tf.get_variable("w", initializer=np.zeros(4))
        order = Order()
        op = w.assign_add(x)
        feed = {"feed": lambda step: {x: order.generator.random(4)}, "objects": {"order": order}}
        tf.train.train(op, folder, steps, **feed)
        return newest(folder).variables["w"]

    for steps in (3, 7):
        found = in_a_new_graph(lambda steps=steps: run(tmp_path / "a", steps))
    np.testing.assert_array_equal(found, in_a_new_graph(lambda: run(tmp_path / "b", 7)))


def test_hooks_and_scaffold_take_part(tmp_path: Path) -> None:
    class Stop(tf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            if run_context.session.run(w) >= 13:
                run_context.request_stop()

    op, w = counting()
    begin = w.assign(10.0)
    scaffold = tf.train.Scaffold(init_fn=lambda scaffold, session: session.run(begin))
    tf.train.train(op, tmp_path, hooks=[Stop()], scaffold=scaffold)
    assert newest(tmp_path).variables["w"] == 13 and newest(tmp_path).step == 3


def test_other_threads_use_the_graph_while_it_is_trained(tmp_path: Path) -> None:
    op, w = counting()
    graph = tf.get_default_graph()
    answers: list[str] = []

    def build() -> None:
        with graph.as_default(), pytest.raises(RuntimeError, match="finalized"):
            tf.add(w, 1.0)
        answers.append("refused at once")

    class Builder(tf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            thread = threading.Thread(target=build)
            thread.start()
            thread.join(timeout=20)

    tf.train.train(op, tmp_path, 1, hooks=[Builder()])
    assert answers == ["refused at once"]


def test_refusals(tmp_path: Path) -> None:
    w = tf.get_variable("w", initializer=0.0)
    saver = tf.train.Saver()
    with pytest.raises(ValueError, match="does not save the global step 'global_step'"):
        tf.train.train(w.assign_add(1.0), tmp_path, 1, saver=saver)
    with pytest.raises(TypeError, match="train_op is 'w'"):
        tf.train.train("w", tmp_path, 1)
    for wrong in ({"save_steps": 0}, {"save_secs": -1.0}):
        with pytest.raises(ValueError, match="save_.*expected more than 0"):
            tf.train.train(w, tmp_path, 1, **wrong)
    with pytest.raises(ValueError, match="give one of them"):
        scaffold = tf.train.Scaffold(saver=saver)
        tf.train.TrainingLoop(w, tmp_path, saver=saver, scaffold=scaffold)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"steps": -1}, ValueError, "steps is -1, expected the global step"),
        ({"steps": 1.5}, TypeError, "steps is 1.5, expected an int or None"),
        ({"steps": True}, TypeError, "steps is True, expected an int"),
        ({"metrics": 3}, TypeError, "metrics is 3, expected a dict of tensors"),
        ({"feed": 3}, TypeError, "feed is 3, expected a dict, or a function"),
        ({"feed": lambda: {0: 1}}, TypeError, "feed is called with one argument, the global step"),
        ({"feed": lambda a, b: {}}, TypeError, r"takes \(a, b\): missing a required argument: 'b'"),
    ],
)
def test_arguments_of_a_training_are_checked_first(
    options: dict[str, Any], kind: type[Exception], message: str, tmp_path: Path
) -> None:
    op, _ = counting()
    with pytest.raises(kind, match=message) as refusal:
        tf.train.train(op, tmp_path / "run", **{"steps": 2, **options})
    where = r"\(test_training_loop\.py:\d+ in \w+(; by train)?\)$"
    assert re.search(where, str(refusal.value)), "the error names the line and the public function"
    assert not (tmp_path / "run").exists()


def test_a_metric_in_place_of_the_dict_is_reported(tmp_path: Path) -> None:
    op, w = counting()
    with pytest.raises(TypeError, match="metrics is <tf.Tensor .*>, expected a dict"):
        tf.train.train(op, tmp_path, 2, metrics=w.read_value())


def test_a_feed_may_have_parameters_with_defaults(tmp_path: Path) -> None:
    tf.train.train(counting()[0], tmp_path, 2, lambda step, scale=2: {})
    assert newest(tmp_path).step == 2


@TARGETS
def test_a_training_that_is_over_gives_what_its_history_has(target: str, tmp_path: Path) -> None:
    def run(recorded: bool) -> Any:
        op, w = counting()
        history = tf.train.History(tmp_path / "history.jsonl") if recorded else None
        metrics = {"w": w.read_value()}
        return tf.train.train(op, tmp_path, 3, metrics=metrics, history=history, target=target)

    assert in_a_new_graph(lambda: run(True)) == {"w": 3}
    tf.train.History(tmp_path / "history.jsonl").add(3, another=1.0)
    assert in_a_new_graph(lambda: run(True)) == {"w": 3}
    assert in_a_new_graph(lambda: run(False)) == {}


# ---- progress ----


def test_progress_is_lines_of_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def feed(step: int) -> Mapping[Any, Any]:
        now[0] += 5.0
        return {}

    op, _ = counting()
    with caplog.at_level(python_logging.INFO, "graphio"):
        tf.train.train(op, None, 5, feed, metrics={"x": tf.constant(1.5), "v": tf.zeros([2])})
    lines = [r.getMessage() for r in caplog.records if r.getMessage().startswith("step")]
    assert lines == [
        "step 2 of 5, x = 1.5 (0.2 steps/s)",
        "step 4 of 5, x = 1.5 (0.2 steps/s)",
        "step 5 of 5, x = 1.5 (0.2 steps/s)",
    ]


def test_progress_is_a_progress_bar_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    class ProgressBar:
        def __init__(self, **options: Any) -> None:
            self.options, self.moves, self.closed = options, [], False
            made.append(self)

        def update(self, count: int) -> None:
            self.moves.append(count)

        def set_postfix(self, values: Mapping[str, str], refresh: bool) -> None:
            self.postfix = values

        def close(self) -> None:
            self.closed = True

    module = types.ModuleType("tqdm")
    monkeypatch.setattr(module, "tqdm", ProgressBar, raising=False)
    monkeypatch.setitem(sys.modules, "tqdm", module)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    op, w = counting()
    tf.train.train(op, None, 3, metrics={"w": w.read_value() * 0})
    tf.train.train(op, None, 3, progress=False)
    (progress_bar,) = made
    assert progress_bar.options == {"initial": 0, "total": 3, "unit": "step"}
    assert (
        sum(progress_bar.moves) == 3 and progress_bar.postfix == {"w": "0"} and progress_bar.closed
    )


# ---- signals ----

PROGRAM = """
import os, signal, sys
import numpy as np
import graphio as tf
folder, target, mode = sys.argv[1:4]
images = np.random.RandomState(0).rand(40, 6).astype(np.float32)
data = tf.data.Dataset.from_tensor_slices(images).shuffle(40, seed=3).repeat().batch(4)
x = data.prefetch(2).make_one_shot_iterator().get_next()
shift = tf.placeholder(tf.float32, [])
h = tf.layers.dense(x + shift, 8, tf.nn.relu, kernel_initializer=tf.glorot_uniform_initializer(1))
loss = tf.reduce_mean(tf.square(tf.nn.dropout(h, 0.5, seed=2)))
train_op = tf.train.AdamOptimizer(0.01).minimize(loss)

def feed(step):
    if mode == "interrupted" and step == 7:
        print("ready", flush=True)
        sys.stdin.readline()
        print("printed before the end")
    if mode == "twice" and step == 7:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
    if mode == "ctrl-c" and step == 7:
        os.kill(os.getpid(), signal.SIGINT)
    return {shift: step / 10}

before = [signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGINT)]
try:
    tf.train.train(train_op, folder, 20, feed, metrics={"loss": loss}, target=target, save_steps=5)
except KeyboardInterrupt:
    print("interrupted by the keyboard")
print("over", before == [signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGINT)])
"""


def child(folder: Path, target: str, mode: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, str(folder), target, mode]
    pipe = subprocess.PIPE
    buffered = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=buffered)


def finished(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=LONG)
    return out, err


def everything(folder: Path) -> dict[str, Any]:
    """The contents of a folder's newest checkpoint, as bytes, without the iterator's position: how
    far prefetch has run ahead of the last step is chance, and its values show in the variables."""
    found = newest(folder)
    values = {name: found.variables[name].tobytes() for name in found.variables}
    assert len(values) >= 9 and len(found.resources) >= 2
    for name, state in found.resources.items():
        if name == "OneShotIterator":
            continue
        values[name] = state if isinstance(state, (tuple, bytes)) else state.SerializeToString()
    return values


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@TARGETS
def test_sigterm_in_mid_training_loses_no_bit(target: str, tmp_path: Path) -> None:
    process = child(tmp_path / "a", target, "interrupted")
    assert process.stdout is not None and process.stdin is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    process.stdin.write("\n")
    out, err = finished(process)
    assert (process.returncode, out) == (-signal.SIGTERM, "printed before the end\n"), err
    assert newest(tmp_path / "a").step == 8  # the running step was finished and saved
    for mode, folder in (("plain", "a"), ("plain", "b")):
        process = child(tmp_path / folder, target, mode)
        out, err = finished(process)
        assert (process.returncode, out) == (0, "over True\n"), err
    assert everything(tmp_path / "a") == everything(tmp_path / "b")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_ctrl_c_saves_and_is_a_keyboard_interrupt(tmp_path: Path) -> None:
    process = child(tmp_path, "runtime", "ctrl-c")
    out, err = finished(process)
    assert out == "interrupted by the keyboard\nover True\n", err
    assert newest(tmp_path).step == 8


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_a_second_signal_ends_the_process_at_once(tmp_path: Path) -> None:
    process = child(tmp_path, "runtime", "twice")
    finished(process)
    assert process.returncode == -signal.SIGTERM
    assert newest(tmp_path).step in (0, 5)  # the save of step 5 may have been running


def test_the_first_process_of_a_container_ends_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signal, "raise_signal", lambda number: None)  # as the system does there
    op, _ = counting()
    loop = tf.train.TrainingLoop(op, tmp_path, steps=9)
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals are the main thread's")
    with pytest.raises(SystemExit) as caught, loop:
        for step in loop:
            loop.run()
            if step == 3:
                os.kill(os.getpid(), signal.SIGTERM)
    assert caught.value.code == 128 + signal.SIGTERM and newest(tmp_path).step == 4


def test_handlers_are_put_back_when_the_loop_cannot_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    monkeypatch.setattr(training_loop, "Progress", lambda *_: 1 / 0)
    op, _ = counting()
    saver = tf.train.Saver()
    with pytest.raises(ZeroDivisionError):
        tf.train.train(op, tmp_path, 3, saver=saver)
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before
    assert saver.inspect is None


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_nan_is_found_in_every_dtype_and_large_numbers_are_none(dtype: str) -> None:
    kind = tf.as_dtype(dtype).as_numpy_dtype
    large = np.array([6e4, -6e4] * 500 if dtype == "float16" else [3e38, -3e38] * 500, kind)
    with np.errstate(all="ignore"):
        infinite = (large * kind(4)).astype(kind)
    training_loop._refuse_nan({"large": large, "infinite": infinite, "ids": np.arange(3)})
    infinite[700] = np.nan
    with pytest.raises(tf.errors.InvalidArgumentError, match="the variables infinite hold NaN"):
        training_loop._refuse_nan({"large": large, "infinite": infinite})


def test_handlers_are_put_back_after_an_error(tmp_path: Path) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    op, _ = counting()
    during: list[Any] = []

    def feed(step: int) -> Mapping[Any, Any]:
        during.extend(signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT))
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tf.train.train(op, tmp_path, 3, feed)
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before
    if threading.current_thread() is threading.main_thread():
        assert not set(during) & set(before)


def test_a_loop_in_another_thread_leaves_signals_alone(tmp_path: Path) -> None:
    graph, found = tf.get_default_graph(), []

    def feed(step: int) -> Mapping[Any, Any]:
        found.append(signal.getsignal(signal.SIGTERM))
        return {}

    def run() -> None:
        with graph.as_default():
            op, _ = counting()
            tf.train.train(op, tmp_path, 2, feed)

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join(LONG)
    assert found == [before, before] and newest(tmp_path).step == 2


MONITORED = """
import os, signal, sys
import graphio as tf
step = tf.train.create_global_step()
op = step.assign_add(1)
signals = [signal.SIGTERM]
with tf.train.MonitoredTrainingSession(
    checkpoint_dir=sys.argv[1], asynchronous=True, stop_signals=signals, log_step_count_steps=None,
    save_summaries_steps=None, save_summaries_secs=None,
) as session:
    while not session.should_stop():
        if session.run(op) == 5:
            os.kill(os.getpid(), signal.SIGTERM)
print("not here")
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_a_monitored_session_stops_at_a_signal_when_requested(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MONITORED, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, ""), done.stderr
    assert newest(tmp_path).variables["global_step"] == 5


def test_the_page_s_training_loop_runs_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "checkpoints.md").read_text()
    section = page.partition("## Training loop\n")[2].partition("\n## ")[0]
    whole, own = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    names: dict[str, Any] = {}
    exec(whole, names)
    assert names["metrics"]["loss"] < 2 and steps_of(tmp_path / "run") == [0, 100, 200, 300]
    exec(own, names)
    assert re.findall(r"^\d+", capsys.readouterr().out, re.MULTILINE) == ["300", "400", "500"]
