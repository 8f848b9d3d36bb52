"""Trainings that mpiexec starts: kills, and what they cost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from trainings import trained

pytest.importorskip("mpi4py", reason="the extra [mpi] is not installed")
FOLDER = Path(__file__).parent
BESIDE = Path(sys.executable).parent / "mpiexec"
MPIEXEC = str(BESIDE) if BESIDE.exists() else shutil.which("mpiexec")

PROGRAM = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from trainings import trained

name, folder, rank, step = sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5])
mine = os.environ.get("PMI_RANK") or os.environ["OMPI_COMM_WORLD_RANK"]

def change(feed):
    def fed(at, shard):
        if at == step and mine == rank:
            os.kill(os.getpid(), signal.SIGKILL)
        return feed(at, shard)
    return fed

sha = trained(name, None, folder, change=change)[0]
with open(os.path.join(folder, "rank" + mine), "w") as file:
    file.write(sha)
"""


def run(ranks: int, name: str, folder: Path, kill: tuple[int, int] = (-1, -1)) -> set[str]:
    """The SHAs of the ranks of a job; none where it has failed."""
    assert MPIEXEC is not None, "mpi4py is installed, mpiexec is not"
    arguments = [FOLDER, name, folder, *kill]
    done = subprocess.run(
        [MPIEXEC, "-n", str(ranks), sys.executable, "-c", PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
    )
    found = [each.read_text() for each in folder.glob("rank*")]
    assert (done.returncode == 0) == (len(found) == ranks), done.stderr
    return set(found)


@pytest.mark.parametrize("name", ["network", "words"])
def test_ranks_of_mpiexec_have_the_bits_of_one_process(name: str, tmp_path: Path) -> None:
    expected = trained(name, "none")[0]
    assert run(2, name, tmp_path) == {expected}


def test_a_killed_rank_ends_the_job_and_another_number_of_ranks_goes_on(tmp_path: Path) -> None:
    expected = trained("network", "none")[0]
    for rank, step in ((1, 0), (0, 3)):
        folder = tmp_path / f"{rank}_{step}"
        assert run(3, "network", folder, (rank, step)) == set()
        assert run(2, "network", folder) == {expected}
