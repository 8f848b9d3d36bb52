"""Fuzzing's targets in Python, without atheris: former findings, seeds, some changes of them."""

from __future__ import annotations

import importlib
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzzing.messages import bytes_changed
from fuzzing.names import GUIDED_BY
from fuzzing.target import FOLDER, Target, refusals

from graphio.support import errors

SECONDS = 60  # that one test may take: what does not end is a finding, too
CHANGES = 150
FINDINGS = [p for p in sorted((FOLDER / "regressions").glob("*/*")) if p.parent.name in GUIDED_BY]


def target(name: str) -> Target:
    """The module's target."""
    found: Target = importlib.import_module(f"fuzzing.{name}").TARGET
    return found


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """Ends the process, with a trace of where it is, when a reader does not."""
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)


@pytest.mark.parametrize("path", FINDINGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_former_finding_is_taken_or_refused(path: Path) -> None:
    target(path.parent.name).run(path.read_bytes())


@pytest.mark.parametrize("name", GUIDED_BY)
def test_changed_seeds_are_taken_or_refused(name: str) -> None:
    chosen, rng = target(name), random.Random(1)
    seeds = list(chosen.seeds())
    assert len(seeds) >= 3 and len(set(seeds)) == len(seeds)
    changed = 0
    for number in range(CHANGES):
        data = seeds[number * 7 % len(seeds)]
        made = chosen.change(data, rng, lambda data, most: bytes_changed(data, rng)[:most])
        changed += made != data
        chosen.run(made)
    assert changed > CHANGES / 2


def test_only_documented_errors_pass() -> None:
    with refusals():
        raise errors.DataLossError(message="damage")
    with refusals(ValueError):
        raise ValueError
    for bug in (errors.InternalError(message="a bug"), ValueError(), RuntimeWarning(), KeyError()):
        with pytest.raises(type(bug)), refusals():
            raise bug
