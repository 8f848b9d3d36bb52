"""Positions of iterators from untrusted files: refused, or the iterator goes on with its data."""

from __future__ import annotations

import contextlib
import random
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np

import graphio as tf
from graphio.data import resource, saving
from graphio.support import errors
from proofs import programs
from proofs.victims import Tally

PATIENCE = 10.0  # seconds: what takes longer hangs
#: numbers, and what is none
ODD = (None, -1, 0, 1, 3, 99, 1 << 62, 1 << 70, -(1 << 63), 0.5, True, "x", b"\xff", [], {}, [1, 2])


class Hung(Exception):
    """It took too long."""


@contextlib.contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Raises Hung inside after so many seconds, where the system has timers."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: object) -> None:
        raise Hung(f"more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def changed(position: Any, rng: random.Random) -> Any:
    """A position with one of its parts replaced."""
    if isinstance(position, dict) and position and rng.random() < 0.9:
        key = rng.choice(sorted(position))
        return {**position, key: changed(position[key], rng)}
    if isinstance(position, list) and position and rng.random() < 0.9:
        at = rng.randrange(len(position))
        return [*position[:at], changed(position[at], rng), *position[at + 1 :]]
    if isinstance(position, np.ndarray) and rng.random() < 0.5:
        return position[: len(position) // 2] if position.ndim else position.astype(np.float64)
    if type(position) is int and rng.random() < 0.5:
        return position + rng.choice((-1, 1, 1000, 1 << 40))
    return rng.choice((*ODD, np.arange(2), np.array(-1), np.array([1 << 40])))


def of_pipeline(name: str, seed: int, count: int) -> Tally:
    """Changes of the position of one of the pipelines of programs.py, loaded and gone on with."""
    rng, tally = random.Random(f"{name}{seed}"), Tally()
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        element = programs.PIPELINES[name]().repeat().make_one_shot_iterator().get_next()
    with tf.Session(graph=graph) as session:
        for _ in range(rng.randrange(1, 9)):
            session.run(element)
        (iterator, state), *_ = resource.save_all(session).items()
    detail = saving.decode(state.detail)
    for number in range(count):
        state.detail = saving.encode({**detail, "stage": changed(detail["stage"], rng)})
        tally.tried += 1
        try:
            with patience(PATIENCE), tf.Session(graph=graph) as session:
                resource.load_all(session, {iterator: state})
                for _ in range(5):
                    session.run(element)
        except errors.OpError:
            tally.refused += 1
        except Exception as error:
            tally.taken.append(f"{name}, seed {seed}, change {number}: {error!r}")
    return tally
