"""The C library from many threads and from forked processes, through the binding."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import graphio as tf

cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")
WORKERS, RUNS = 4, 12


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two layers that are predicted with and trained, large enough to be worth threads."""
    path = tmp_path_factory.mktemp("model") / "layers.gio"
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, [None, 64], name="x")
        w = tf.Variable(np.linspace(-1, 1, 64 * 96, dtype=np.float32).reshape(64, 96), name="w")
        v = tf.Variable(np.linspace(1, -1, 96, dtype=np.float32).reshape(96, 1), name="v")
        y = tf.matmul(tf.nn.relu(tf.matmul(x, w)), v)
        loss = tf.reduce_mean(tf.square(y - 1.0))
        train = tf.train.MomentumOptimizer(1e-9, 0.9).minimize(loss)
        session.run(tf.global_variables_initializer())
        signatures = {"predict": ({"x": x}, {"y": y}), "train": ({"x": x}, {"loss": loss}, [train])}
        tf.saved_model.save(str(path), session, signatures)
    return path


def batch(rows: int) -> np.ndarray:
    return np.sin(np.arange(rows * 64, dtype=np.float32)).reshape(rows, 64)


def trained(path: Path, threads: int) -> list[bytes]:
    """The values of a training, step by step, in a separate state; batches differ in size."""
    with cinfer.load(path, threads=threads) as model:
        found = []
        for i in range(RUNS):
            loss = model.signature("train")(x=batch(300 + 7 * (i % 5)))["loss"]
            found += [loss.tobytes(), model.signature("predict")(x=batch(4))["y"].tobytes()]
        return found


def at_the_same_time(work: Callable[[], object]) -> list[object]:
    """The results of several threads; an exception of one is raised here."""
    found: list[object] = []
    begin = threading.Barrier(WORKERS)

    def run() -> None:
        begin.wait()
        try:
            found.append(work())
        except Exception as error:
            found.append(error)

    workers = [threading.Thread(target=run) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for one in found:
        if isinstance(one, Exception):
            raise one
    return found


@pytest.mark.parametrize("threads", [1, 2])
def test_trainings_of_many_threads_do_not_see_each_other(path: Path, threads: int) -> None:
    expected = trained(path, 1)
    assert at_the_same_time(lambda: trained(path, threads)) == [expected] * WORKERS


def test_steps_of_many_threads_on_one_state_all_count(path: Path) -> None:
    state = cinfer.new_state(1)
    losses = set()

    def work() -> None:
        with cinfer.load(path, state=state) as model:
            for _ in range(RUNS):
                losses.add(model.signature("train")(x=batch(8))["loss"].tobytes())

    at_the_same_time(work)
    with cinfer.load(path) as alone:
        expected = {
            alone.signature("train")(x=batch(8))["loss"].tobytes() for _ in range(WORKERS * RUNS)
        }
    assert losses == expected


def test_a_model_is_closed_while_others_run_it(path: Path) -> None:
    model = cinfer.load(path, threads=2)
    predict, expected = model.signature("predict"), None
    expected = predict(x=batch(300))["y"].tobytes()

    def work() -> int:
        done = 0
        for i in range(RUNS):
            try:
                assert predict(x=batch(300))["y"].tobytes() == expected
                done += 1
            except tf.errors.FailedPreconditionError:  # closed meanwhile
                return done
            if i == RUNS // 2:
                model.close()
        return done

    assert all(isinstance(done, int) and done < RUNS for done in at_the_same_time(work))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_child_goes_on_with_the_models_it_inherited(path: Path, threads: int) -> None:
    program = textwrap.dedent(f"""
        import os, signal, threading, warnings
        import numpy as np
        import graphio.cinfer as cinfer
        warnings.simplefilter("ignore")  # Python 3.12 warns of any fork in a process with threads
        x = np.sin(np.arange(300 * 64, dtype=np.float32)).reshape(300, 64)
        idle, busy = (cinfer.load({str(path)!r}, threads={threads}) for _ in range(2))
        predict, other = idle.signature("predict"), busy.signature("predict")
        expected, over = predict(x=x)["y"].tobytes(), threading.Event()
        def run():
            while not over.is_set():
                other(x=x)
        thread = threading.Thread(target=run)
        thread.start()
        for _ in range(5):
            child = os.fork()
            if child == 0:
                signal.alarm(240)  # one that waits for ever is a failure
                good = predict(x=x)["y"].tobytes() == expected
                idle.close()
                with cinfer.load({str(path)!r}, threads=2) as own:
                    good = good and own.signature("predict")(x=x)["y"].tobytes() == expected
                os._exit(0 if good else 1)
            assert os.waitpid(child, 0)[1] == 0
            assert predict(x=x)["y"].tobytes() == expected
        over.set()
        thread.join()
    """)
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
