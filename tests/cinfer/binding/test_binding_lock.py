"""The lock of cinfer's states, an RLock that C takes without Python, and runs that take it."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.engine.run_lock import RunLock

cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")
from graphio.cinfer._native import Lock  # noqa: E402

LONG = 60.0  # seconds; who waits for so long waits for ever


@pytest.fixture(params=[Lock, threading.RLock, lambda: RunLock(Lock())])
def lock(request: pytest.FixtureRequest) -> Any:
    return request.param()


class Holder:
    """A thread that has taken a lock until another thread lets it release the lock."""

    def __init__(self, lock: Any) -> None:
        self._lock, self._has, self._over = lock, threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold)
        self._thread.start()
        assert self._has.wait(LONG)

    def _hold(self) -> None:
        with self._lock:
            self._has.set()
            assert self._over.wait(LONG)

    def end(self) -> None:
        self._over.set()
        self._thread.join(LONG)
        assert not self._thread.is_alive()


def elsewhere(work: Callable[[], Any]) -> Any:
    """The result of a function on another thread; what it raises is raised here."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(LONG)
    return found[0]


def is_free(lock: Any) -> bool:
    def taken() -> bool:
        if not lock.acquire(timeout=0):
            return False
        lock.release()
        return True

    return elsewhere(taken)


def test_its_owner_takes_it_again(lock: Any) -> None:
    with lock:
        assert lock.acquire(timeout=0) is True
        with lock:
            assert lock.acquire() is True
        lock.release()
        lock.release()
        assert not is_free(lock)
    assert is_free(lock)


def test_only_its_owner_gives_it_back(lock: Any) -> None:
    with pytest.raises(RuntimeError, match="cannot release un-acquired lock"):
        lock.release()
    with lock:
        assert isinstance(elsewhere(lock.release), RuntimeError)
        assert not is_free(lock)
    with pytest.raises(RuntimeError, match="cannot release un-acquired lock"):
        lock.release()


def test_an_exception_gives_it_back(lock: Any) -> None:
    with pytest.raises(ZeroDivisionError), lock:
        raise ZeroDivisionError
    assert is_free(lock)


def test_threads_keep_each_other_out(lock: Any) -> None:
    inside, most, turns = 0, 0, []

    def work() -> None:
        nonlocal inside, most
        for _ in range(200):
            with lock, lock:
                inside += 1
                most = max(most, inside)
                time.sleep(0)  # others get the GIL here, and nothing else
                inside -= 1
                turns.append(1)

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(LONG)
    assert (most, len(turns)) == (1, 8 * 200)


def test_one_that_waits_lets_others_run_and_is_woken(lock: Any) -> None:
    holder = Holder(lock)
    waiting = [threading.Thread(target=lambda: lock.acquire() and lock.release()) for _ in range(4)]
    for one in waiting:
        one.start()
    time.sleep(0.05)  # which this thread could not do if one of them kept the GIL
    assert all(one.is_alive() for one in waiting)
    holder.end()
    for one in waiting:
        one.join(LONG)
    assert not any(one.is_alive() for one in waiting)
    assert is_free(lock)


def test_it_may_be_waited_for_in_vain(lock: Any) -> None:
    holder = Holder(lock)
    for timeout in (0, 1e-6, 0.05):
        start = time.monotonic()
        assert lock.acquire(timeout=timeout) is False
        assert timeout <= time.monotonic() - start + 1e-3 < LONG
    waiter = threading.Thread(target=lambda: lock.acquire(timeout=LONG) and lock.release())
    waiter.start()
    holder.end()
    waiter.join(LONG)
    assert not waiter.is_alive()
    assert is_free(lock)


def test_many_come_and_go(lock: Any) -> None:
    """Some give up, others do not; at the end no thread waits."""
    taken, done = [0] * 8, [False] * 8

    def work(i: int) -> None:
        for k in range(300):
            if lock.acquire(timeout=-1 if i % 2 else 1e-5 * (k % 7)):
                taken[i] += 1
                if k % 5 == 0:
                    time.sleep(1e-5)
                lock.release()
        done[i] = True

    workers = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(LONG)
    assert all(done)
    assert taken[1::2] == [300] * 4
    assert is_free(lock)


@pytest.mark.parametrize("arguments", [(False, 1.0), (True, -2.0), (True, float("nan"))])
def test_it_refuses_the_timeouts_that_an_rlock_refuses(arguments: tuple[bool, float]) -> None:
    for lock in (Lock(), threading.RLock()):
        with pytest.raises(ValueError, match="."):
            lock.acquire(*arguments)
    assert Lock().acquire(False) and Lock().acquire(blocking=True, timeout=1e300)


def test_a_loop_of_turns_lets_others_in() -> None:
    lock, over, turns = Lock(), threading.Event(), 0

    def work() -> None:
        nonlocal turns
        while not over.is_set():
            with lock:
                time.sleep(0.002)  # as a long run
            turns += 1

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(20):
            before = turns
            with lock:
                assert turns - before < 110  # a hundred may overtake one
            time.sleep(0.003)
    finally:
        over.set()
        worker.join(LONG)


def test_nothing_is_left_of_it() -> None:
    state = cinfer.new_state()
    gone = weakref.ref(state)
    holder = Holder(state.lock)
    assert not state.lock.acquire(timeout=1e-3)
    holder.end()
    inner, count = state.lock.inner, sys.getrefcount(state.lock.inner)
    del state, holder
    gc.collect()
    assert gone() is None
    assert sys.getrefcount(inner) == count - 1
    with inner:
        pass


# ---- signals and forks ----


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer sends signals here")
def test_a_signal_ends_a_wait_if_it_raises(lock: Any) -> None:
    calls = []

    def handle(*_: object) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    holder, before = Holder(lock), signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        with pytest.raises(KeyboardInterrupt):
            lock.acquire()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(calls) == 3
    with pytest.raises(RuntimeError):
        lock.release()
    holder.end()
    assert is_free(lock)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer sends signals here")
def test_a_signal_does_not_prolong_a_timeout(lock: Any) -> None:
    holder, before = Holder(lock), signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        start = time.monotonic()
        assert not lock.acquire(timeout=0.2)
        assert 0.19 < time.monotonic() - start < LONG
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        holder.end()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_children_of_a_busy_process_have_it_as_it_was() -> None:
    program = textwrap.dedent("""
        import os, signal, threading, time, warnings
        from graphio.cinfer._native import Lock
        warnings.simplefilter("ignore")  # Python 3.12 warns of any fork in a process with threads
        lock, over = Lock(), threading.Event()
        def work():
            while not over.is_set():
                with lock:
                    time.sleep(0)
        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        for i in range(40):
            held = i % 2
            lock.acquire()
            if not held:  # others wait at the moment of the fork, or are about to have it
                lock.acquire(); lock.release()
            child = os.fork()
            if child == 0:
                signal.alarm(100)  # one that waits for ever is a failure
                lock.release()
                done = []
                def turn():
                    for _ in range(50):
                        with lock:
                            time.sleep(0)
                    done.append(1)
                own = [threading.Thread(target=turn) for _ in range(3)]
                for one in own:
                    one.start()
                for one in own:
                    one.join()
                os._exit(len(done) - 3)
            lock.release()
            assert os.waitpid(child, 0)[1] == 0
        over.set()
        for worker in workers:
            worker.join()
    """)
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


# ---- runs ----


@pytest.fixture(scope="module")
def calling(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that calls the function "pyfunc"; it gives twice what that gives."""
    path = tmp_path_factory.mktemp("lock") / "calling.gio"
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2], name="x")
        called = tf.py_func(lambda given: given, [x], tf.float32)
        called.set_shape([2])
        tf.saved_model.save(str(path), session, {"run": ({"x": x}, {"y": called * 2.0})})
    return path


X = np.float32([1, 2])


def forms(signature: Any) -> list[Callable[[], Any]]:
    """All ways to run a signature."""
    out = [np.empty(2, np.float32)]
    return [
        lambda: signature(x=X)["y"],
        lambda: signature.run([X])[0],
        lambda: signature.run(X, [np.empty(2, np.float32)])[0],
        lambda: signature.bind(X)()[0],
        lambda: signature.bind(X, outputs=out)()[0].copy(),
    ]


@pytest.mark.parametrize("parallel", [1, 2])
def test_runs_on_one_state_wait_for_each_other(calling: Path, parallel: int) -> None:
    inside, most = 0, 0

    def call(inputs: list[Any]) -> list[Any]:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(1e-3)
        inside -= 1
        return inputs

    state, found = cinfer.new_state(), []

    def work() -> None:
        model = cinfer.load(calling, state=state, host={"pyfunc": call}, parallel=parallel)
        found.extend(run().tolist() for _ in range(4) for run in forms(model.signature("run")))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(LONG)
    assert (most, found) == (1, [[2, 4]] * 4 * 4 * 5)
    assert is_free(state.lock)


def test_the_lock_of_a_run_is_that_of_the_state(calling: Path) -> None:
    free = []

    def call(inputs: list[Any]) -> list[Any]:
        free.append(is_free(state.lock))
        assert state.names() == []  # its thread has the lock
        return inputs

    state = cinfer.new_state()
    model = cinfer.load(calling, state=state, host={"pyfunc": call})
    for run in forms(model.signature("run")):
        assert run().tolist() == [2, 4]
        with state.lock:
            assert run().tolist() == [2, 4]
            assert not is_free(state.lock)
        assert is_free(state.lock)
    assert free == [False] * 10

    found: list[Any] = []
    runs = [
        threading.Thread(target=lambda run=run: found.append(run().tolist()))
        for run in forms(model.signature("run"))
    ]
    with state.lock:
        for one in runs:
            one.start()
        time.sleep(0.05)
        assert not found
    for one in runs:
        one.join(LONG)
    assert found == [[2, 4]] * 5


def test_a_run_that_fails_gives_the_lock_back(calling: Path) -> None:
    def call(_inputs: list[Any]) -> list[Any]:
        raise ValueError("no")

    state = cinfer.new_state()
    model = cinfer.load(calling, state=state, host={"pyfunc": call})
    for run in forms(model.signature("run")):
        with pytest.raises(tf.errors.OpError, match="no"):
            run()
        assert is_free(state.lock)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer sends signals here")
def test_a_run_that_waits_can_be_interrupted(calling: Path) -> None:
    def handle(*_: object) -> None:
        raise KeyboardInterrupt

    state = cinfer.new_state()
    model = cinfer.load(calling, state=state, host={"pyfunc": lambda inputs: inputs})
    holder, before = Holder(state.lock), signal.signal(signal.SIGALRM, handle)
    try:
        for run in forms(model.signature("run")):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            with pytest.raises(KeyboardInterrupt):
                run()
    finally:
        signal.signal(signal.SIGALRM, before)
        holder.end()
    assert is_free(state.lock)
    assert [run().tolist() for run in forms(model.signature("run"))] == [[2, 4]] * 5
