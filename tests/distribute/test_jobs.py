"""Trainings whose ranks are processes: one result for each engine, and kills."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import jobs
import pytest
from trainings import trained


def expected(name: str) -> set[str]:
    sha, metrics = trained(name, "none")
    return {f"{sha} {sorted(metrics.items())}"}


def require(engine: str) -> None:
    if engine == "mpich" and jobs.mpiexec() is None:
        pytest.skip("the extra [mpi] is not installed")
    if engine == "torch" and importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")


@pytest.mark.parametrize(("engine", "name"), [("mpich", "words"), ("torch", "network")])
def test_ranks_of_an_engine_have_the_bits_of_one_process(
    engine: str, name: str, tmp_path: Path
) -> None:
    require(engine)
    assert jobs.run(engine, 2, name, tmp_path) == expected(name)


def test_a_rank_that_never_starts_ends_the_job(tmp_path: Path) -> None:
    require("mpich")
    assert jobs.run("mpich", 2, "words", tmp_path, "--absent", "1", "--timeout", "5") == set()


def test_a_killed_rank_ends_the_job_and_another_number_of_ranks_goes_on(tmp_path: Path) -> None:
    require("mpich")
    right = expected("network")
    for rank, step in ((1, 0), (0, 3)):
        folder = tmp_path / f"{rank}_{step}"
        assert jobs.run("mpich", 3, "network", folder, "--kill", f"{rank}:{step}") == set()
        assert jobs.run("mpich", 2, "network", folder) == right
