"""The engine that started this process, by what it leaves in the environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from graphio.distribute.communicators.base import Alone, Communicator
from graphio.support.installation import pip_install

__all__ = ["communicator", "engine_of"]

#: variables of the environment in which each engine says how many ranks there are
_VARIABLES = {
    "mpi": ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "PMIX_RANK"),
    "torch": ("WORLD_SIZE",),
}
#: further variables that torch.distributed needs
_OF_TORCH = ("RANK", "MASTER_ADDR", "MASTER_PORT")
_EXTRAS = {"mpi": ("mpi4py", "mpi"), "torch": ("torch", "bench")}


def engine_of(environment: Mapping[str, str]) -> str:
    """ "mpi", "torch" or "none"."""
    if any(name in environment for name in _VARIABLES["mpi"]):
        return "mpi"
    if all(name in environment for name in (*_VARIABLES["torch"], *_OF_TORCH)):
        return "torch"
    return "none"


def communicator(engine: str | None, timeout: float) -> Communicator:
    """The ranks of this job.

    Args:
        engine: "mpi", "torch" or "none"; None: the one that started this process.
        timeout: seconds that a rank waits for the others.

    Raises:
        ValueError: another engine, or timeout is not above 0.
        ImportError: the engine's library is not installed.
    """
    if not timeout > 0:
        raise ValueError(f"timeout is {timeout}, expected seconds above 0")
    chosen = engine_of(os.environ) if engine is None else engine
    makers: dict[str, Callable[[float], Communicator]] = {
        "none": lambda _: Alone(), "mpi": _mpi, "torch": _gloo,
    }  # fmt: skip
    if chosen not in makers:
        raise ValueError(f"engine is {engine!r}, expected one of {', '.join(makers)}, or None")
    try:
        return makers[chosen](timeout)
    except ImportError as error:
        library, extra = _EXTRAS[chosen]
        raise ImportError(
            f"this process is a rank of the engine {chosen!r}, which needs {library} "
            f"({error}): {pip_install(f'[{extra}]')}"
        ) from error


def _mpi(timeout: float) -> Communicator:
    from graphio.distribute.communicators.mpi import MPI

    return MPI(timeout)


def _gloo(timeout: float) -> Communicator:
    from graphio.distribute.communicators.gloo import Gloo

    return Gloo(timeout)
