"""Opens and runs of cinfer that end early: timeouts and signals."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fuzzing.model_reader import sealed
from schema_samples import node, tensor_type

import graphio as tf
from graphio.schema import model_pb2 as pb
from graphio.support import errors

cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")

X, ZERO = np.float32([1, 2]), np.array(0, np.int32)
LONG = 30  # seconds after which a run that nothing has ended is cancelled, so that the test fails


def chain(length: int) -> bytes:
    """A model of so many nodes in a row."""
    names = ["x", *(f"n{i:x}" for i in range(length))]
    made = pb.Model(graph=pb.Graph(node=[node("Placeholder", "x", domain="graphio")]))
    pairs = zip(names[1:], names, strict=False)
    made.graph.node.extend(node("Neg", name, before, version=13) for name, before in pairs)
    signature = made.signature.add(name="s")
    signature.input.add(key="x", value="x", type=tensor_type(2))
    signature.output.add(key="y", value=names[-1], type=tensor_type(2))
    return sealed(made.SerializeToString(), b"")


@pytest.fixture
def endless(tmp_path: Any) -> Iterator[Any]:
    """A model whose loop never ends by itself."""
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        x = tf.placeholder(tf.int32, [], name="x")
        y = tf.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 1000, [x])
        path = str(tmp_path / "m.gio")
        tf.saved_model.save(path, session, {"s": ({"x": x}, {"y": y})})
    with cinfer.load(path) as model:
        yield model


def test_an_open_has_a_timeout() -> None:
    data = chain(2000)
    with pytest.raises(errors.DeadlineExceededError, match="opening the model took longer than"):
        cinfer.load(data, timeout=1e-9)
    with cinfer.load(data, timeout=1e6) as model:
        np.testing.assert_array_equal(model.signature().run([X])[0], X)


def test_a_run_has_the_timeout_of_its_model(endless: Any) -> None:
    endless.timeout = 0.01
    with pytest.raises(errors.DeadlineExceededError, match="took longer than its deadline"):
        endless.signature().run([ZERO])
    assert endless.timeout == 0.01


def test_planning_counts_as_a_part_of_the_run() -> None:
    with cinfer.load(chain(2000)) as model:
        model.timeout = 1e-9
        with pytest.raises(errors.DeadlineExceededError):
            model.signature().run([X])
        assert model.stats().plans == 0
        model.timeout = None
        np.testing.assert_array_equal(model.signature().run([X])[0], X)


@pytest.mark.parametrize("timeout", [0, -1.0, "1", True, float("nan")])
def test_other_timeouts_are_refused(timeout: Any) -> None:
    data = chain(1)
    with pytest.raises(errors.InvalidArgumentError, match="timeout is .* expected seconds above 0"):
        cinfer.load(data, timeout=timeout)
    with cinfer.load(data) as model, pytest.raises(errors.InvalidArgumentError, match="timeout is"):
        model.timeout = timeout


def test_the_timeout_of_one_run_leaves_that_of_the_model(endless: Any) -> None:
    endless.timeout = 1e6
    with pytest.raises(errors.DeadlineExceededError, match="Timed out waiting"):
        endless.signature().run_watched([ZERO], None, 1.0)  # that moment has passed
    assert endless.timeout == 1e6


def test_a_signal_ends_a_run_with_what_its_handler_raises(endless: Any) -> None:
    def handler(*_: object) -> None:
        raise KeyboardInterrupt("from the handler")

    main, before = threading.main_thread().ident, signal.signal(signal.SIGINT, handler)
    assert main is not None
    sooner = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT))
    later = threading.Timer(LONG, cancel, (endless,))
    sooner.start()
    later.start()
    try:
        with pytest.raises(KeyboardInterrupt, match="from the handler"):
            endless.signature().run([ZERO])
    finally:
        sooner.cancel()
        later.cancel()
        signal.signal(signal.SIGINT, before)
    endless.timeout = 0.01
    with pytest.raises(errors.DeadlineExceededError):  # the session goes on
        endless.signature().run([ZERO])


def cancel(model: Any) -> None:
    """Ends the run of another thread."""
    from graphio.cinfer._native import lib

    lib.ci_cancel(model._handles.session)
