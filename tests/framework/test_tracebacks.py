"""Tracebacks of errors: the program's lines and at most one of graphio's."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import graphio as tf

OURS = os.path.dirname(os.path.abspath(tf.__file__)) + os.sep


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g
    tf.debugging.enable_traceback_filtering()


def matmul() -> Any:
    return tf.matmul(tf.zeros([2, 3]), tf.zeros([4, 5]))


def divide(_: Any) -> Any:
    return 1 / 0


def error_of(call: Callable[[], Any]) -> BaseException:
    with pytest.raises((ValueError, TypeError, ArithmeticError, RuntimeError)) as caught:
        call()
    return caught.value


def frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Those behind this module's helper and pytest's."""
    return traceback.extract_tb(error.__traceback__)[1:]


CALLS: dict[str, Callable[[], Any]] = {
    "a function": matmul,
    "an operator": lambda: tf.zeros([2, 3]) + tf.zeros([4, 5]),
    "a wrong argument": lambda: tf.reshape(tf.zeros([2]), "x"),
    "a missing argument": lambda: tf.matmul(tf.zeros([2, 2])),
    "a function of a layer": lambda: tf.layers.dense(tf.zeros([2, 2]), -3),
    "a layer": lambda: tf.layers.Dense(3)(tf.zeros([])),
    "a variable": lambda: [tf.get_variable("v", [2]) for _ in range(2)],
    "an optimizer": lambda: tf.train.AdamOptimizer(0.1).minimize(tf.zeros([])),
    "a branch": lambda: tf.cond(tf.constant(True), matmul, matmul),
    "a loop": lambda: tf.while_loop(lambda i: i < 3, lambda i: matmul(), [0]),
    "a data set": lambda: tf.data.Dataset.range(3).map(lambda x: matmul()),
    "a function of the program": lambda: tf.map_fn(divide, tf.zeros([2])),
    "an index": lambda: tf.zeros([2])[1, 2, 3],
    "a model": lambda: tf.saved_model.load("nowhere.gio", "elsewhere"),
    "a feed": lambda: tf.Session().run(tf.zeros([2]) * 2.0, {tf.zeros([2]): "x"}),
    "an evaluation": lambda: tf.get_variable("w", [2]).eval(session=tf.Session()),
    "an operation": lambda: tf.get_variable("w", [2]).op.run(session=tf.Session()),
    "a run": lambda: tf.Session().run(tf.get_variable("w", [2])),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_error_has_one_frame_of_ours_and_all_of_the_program(call: Callable[[], Any]) -> None:
    found = frames(error_of(call))
    ours = [frame for frame in found if frame.filename.startswith(OURS)]
    assert len(ours) == 1, found
    assert found[0].filename == __file__


def test_functions_of_the_program_that_graphio_calls_stay_in_the_traceback() -> None:
    assert frames(error_of(CALLS["a function of the program"]))[-1].name == "divide"
    assert [f.name for f in frames(error_of(CALLS["a branch"]))][-1] == "matmul"


def test_what_led_to_an_error_keeps_its_last_frame() -> None:
    error = error_of(lambda: tf.layers.dense(tf.zeros([2, 2]), "many"))
    cause = error.__cause__
    assert cause is not None
    (frame,) = traceback.extract_tb(cause.__traceback__)
    assert frame.filename.startswith(OURS) and frame.name != "call"
    assert "given " in str(error)


def test_a_short_traceback_changes_no_message_and_no_class() -> None:
    for call in CALLS.values():
        reported = []
        for choose in (
            tf.debugging.disable_traceback_filtering,
            tf.debugging.enable_traceback_filtering,
        ):
            choose()
            with tf.Graph().as_default():
                error = error_of(call)
            reported.append((type(error), str(error), type(error.__cause__)))
        assert reported[0] == reported[1]


def test_the_whole_traceback_is_there_when_it_is_requested() -> None:
    short = len(frames(error_of(matmul)))
    tf.debugging.disable_traceback_filtering()
    assert not tf.debugging.is_traceback_filtering_enabled()
    assert len(frames(error_of(matmul))) > short + 2
    tf.debugging.enable_traceback_filtering()
    assert tf.debugging.is_traceback_filtering_enabled()
    assert len(frames(error_of(matmul))) == short


def test_an_environment_variable_keeps_all_frames(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import graphio as tf\ntf.matmul(tf.zeros([2, 3]), tf.zeros([4, 5]))\n")
    counts = []
    for value in ("", "1"):
        environment = {**os.environ, "GRAPHIO_FULL_TRACEBACKS": value}
        done = subprocess.run(
            [sys.executable, program], env=environment, capture_output=True, text=True
        )
        counts.append(done.stderr.count('  File "'))
    assert counts[0] == 2 < counts[1]


@pytest.mark.parametrize(
    "folder",
    ["/programs", "/programs/graphio", OURS.rstrip(os.sep) + "_more"],
    ids=["elsewhere", "in a folder of our name", "next to the package"],
)
def test_an_error_names_the_line_of_a_program_whatever_its_file_is_called(folder: str) -> None:
    program = compile(
        "tf.matmul(tf.zeros([2, 3]), tf.zeros([4, 5]))", f"{folder}/contextlib.py", "exec"
    )
    error = error_of(lambda: exec(program, {"tf": tf}))
    assert "(contextlib.py:1 in <module>" in str(error)
