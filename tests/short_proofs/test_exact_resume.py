"""Proof R18 in short: what is saved goes on in a new process as if it had never stopped."""

from __future__ import annotations

from pathlib import Path

import engines
import pytest
from proofs import programs, resume

import graphio as tf
from graphio.schema import checkpoint
from graphio.schema.model_pb2 import IteratorState

SEED = 3


@pytest.mark.parametrize("engine", engines.NAMES)
def test_a_new_process_goes_on_with_the_same_bits(engine: str, tmp_path: Path) -> None:
    """Also with another number of threads than the process that saved."""
    engines.module(engine)
    work = [job for way in resume.WAYS for job in resume.jobs(way, engine, SEED, tmp_path)]
    found = resume.resumed(work, (1, 2))
    assert found.lost == []
    assert found.counts == {"resumed runs": sum(map(len, resume.PROGRAMS.values()))}


def test_every_optimizer_takes_part() -> None:
    classes = {
        name
        for name in tf.train.__all__
        if isinstance(made := getattr(tf.train, name), type)
        and issubclass(made, tf.train.Optimizer)
        and made is not tf.train.Optimizer
    }
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        made = {type(make(0.1, step)).__name__ for make in programs.OPTIMIZERS.values()}
    # SyncReplicasOptimizer wraps one of them: a checkpoint keeps the state of that one
    assert made == classes - {"SyncReplicasOptimizer"}


def job(name: str, folder: Path) -> resume.Job:
    """Four steps, then four more."""
    return resume.Job("saver", name, "runtime", 4, 8, 1, str(folder))


@pytest.mark.parametrize(
    ("name", "lost"),
    [("random numbers of all kinds", tuple), ("data: filter", IteratorState)],
)
def test_what_is_not_saved_shows_in_the_digest(name: str, lost: type, tmp_path: Path) -> None:
    """The control: without generators, or without iterators, a run does not go on exactly."""
    work = job(name, tmp_path)
    first = resume.by_saver(work, 1, False)
    assert first["went on"] == first["never saved"] == resume.by_saver(work, 1, True)["resumed"]
    found = checkpoint.read_checkpoint(tmp_path / "c")
    left = {n: state for n, state in found.resources.items() if not isinstance(state, lost)}
    assert len(left) < len(found.resources)
    checkpoint.write_checkpoint(tmp_path / "c", dict(found.variables), left, step=found.step)
    assert resume.by_saver(work, 1, True)["resumed"] != first["went on"]


def test_one_step_less_shows_in_the_digest(tmp_path: Path) -> None:
    work = job("optimizer: Adam", tmp_path)
    first = resume.by_saver(work, 1, False)
    resumed = resume.by_saver(work._replace(last=work.last - 1), 1, True)
    assert resumed["resumed"] != first["went on"]
