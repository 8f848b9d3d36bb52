"""Jobs of several ranks, started by the engines that are installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("one_rank.py")
SECONDS = 200
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def mpiexec(python: str = sys.executable) -> str | None:
    """The mpiexec in the folder of an interpreter, or that of the system; None without mpi4py."""
    if python == sys.executable and importlib.util.find_spec("mpi4py") is None:
        return None
    beside = Path(python).parent / "mpiexec"
    return str(beside) if beside.exists() else shutil.which("mpiexec")


def command(engine: str, ranks: int, python: str = sys.executable) -> list[str]:
    """The command that starts a job of ranks: "none", "mpich", "openmpi" or "torch"."""
    if engine == "none":
        return [python]
    if engine == "torch":
        module = [python, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks)]
        return [*module, "--master-port", str(free_port()), "--max-restarts", "0"]
    started = mpiexec(python)
    assert started is not None, "mpi4py is not installed"
    more = ["--oversubscribe"] if engine == "openmpi" else []
    return [started, *more, "-n", str(ranks), python]


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("localhost", 0))
        return int(listening.getsockname()[1])


def run(
    engine: str, ranks: int, name: str, folder: Path, *options: str, python: str = sys.executable
) -> set[str]:
    """The results that the ranks of a job have at their end; none where the job has failed.

    A job that fails leaves no process behind, and none waits.
    """
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    arguments = [str(PROGRAM), name, str(folder), str(out), *options]
    done = subprocess.run(
        [*command(engine, ranks, python), *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env={**os.environ, **AS_ROOT},
    )
    found = [each.read_text() for each in out.glob("rank*")]
    assert (done.returncode == 0) == (len(found) == ranks), done.stderr[-3000:]
    return set(found) if done.returncode == 0 else set()
