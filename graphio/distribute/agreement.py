"""Checks that the ranks of a training are of one mind: same program, same variables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphio.data import resource
from graphio.distribute.communicators.base import Communicator
from graphio.support import errors

__all__ = ["check_iterators", "check_program", "check_variables", "share_variables"]


def check_program(communicator: Communicator, facts: Mapping[str, str], nodes: bytes) -> None:
    """Compares what must be the same on all ranks.

    Args:
        facts: by their names, in words.
        nodes: the graph.

    Raises:
        FailedPreconditionError, on every rank: which ranks differ, and in what.
    """
    mine = {**facts, "graph": hashlib.sha256(nodes).hexdigest()}
    found = [json.loads(each) for each in communicator.gather_bytes(json.dumps(mine).encode())]
    wrong = [
        f"rank {rank} has {name} {other.get(name)!s:.80}, rank 0 {found[0].get(name)!s:.80}"
        for rank, other in enumerate(found)
        for name in found[0]
        if other.get(name) != found[0].get(name)
    ]
    if wrong:
        raise errors.FailedPreconditionError(
            message="the ranks of this training run different programs: "
            f"{'; '.join(wrong)}. Start the same file with the same arguments and the same "
            "version of graphio on every rank; what a rank builds must not depend on its number"
        )


def share_variables(communicator: Communicator, state: Any) -> None:
    """Gives the variables of all ranks the values of rank 0."""
    names = [name for name in sorted(state.names()) if state.initialized(name)]
    values = {name: state.get(name) for name in names}
    rows = [
        (name, value.dtype.str, value.shape)
        for name, value in values.items()
        if value.dtype != object
    ]
    rows_of_first = json.loads(communicator.broadcast(json.dumps(rows).encode()))
    packed = b"".join(np.ascontiguousarray(values[name]).tobytes() for name, _, _ in rows)
    flat = communicator.broadcast(packed)
    at = 0
    for name, dtype, shape in rows_of_first:
        length = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        if communicator.rank:
            state.set(
                name,
                np.frombuffer(
                    flat,
                    dtype,
                    offset=at,
                    count=-1 if not length else length // np.dtype(dtype).itemsize,
                ).reshape(shape),
            )
        at += length


def check_variables(communicator: Communicator, state: Any, when: str) -> None:
    """Compares the variables of all ranks by their SHA-256.

    Raises:
        DataLossError, on every rank: names the variables that differ.
    """
    if communicator.size == 1:
        return
    wrong = _different(communicator, {name: _digest(state, name) for name in state.names()})
    if wrong:
        raise errors.DataLossError(
            message=f"the variables {', '.join(wrong)} differ between the ranks {when}: nothing "
            "of it is saved. A rank was given other values by a hook or a feed, or its memory is "
            "damaged"
        )


def check_iterators(communicator: Communicator, session: Any, when: str) -> None:
    """Compares the pipelines of all ranks, and their positions.

    Raises:
        FailedPreconditionError, on every rank: names the iterators that differ.
    """
    if communicator.size == 1:
        return
    states = resource.save_all(session)
    digests = {
        name: hashlib.sha256(state.SerializeToString(deterministic=True)).hexdigest()
        for name, state in states.items()
    }
    wrong = _different(communicator, digests)
    if wrong:
        raise errors.FailedPreconditionError(
            message=f"the iterators {', '.join(wrong)} differ between the ranks {when}: each rank "
            "iterates over the same elements and computes its own shards. Give shuffle a seed, "
            "and let no pipeline depend on the rank, as shard(size, rank) does"
        )


def _different(communicator: Communicator, digests: Mapping[str, str]) -> list[str]:
    """The names whose digests are not the same on all ranks."""
    mine = json.dumps(digests, sort_keys=True).encode()
    if len(set(communicator.gather_bytes(hashlib.sha256(mine).digest()))) == 1:
        return []
    found = [json.loads(each) for each in communicator.gather_bytes(mine)]
    names = sorted({name for each in found for name in each})
    return [name for name in names if len({each.get(name) for each in found}) > 1]


def _digest(state: Any, name: str) -> str:
    if not state.initialized(name):
        return ""
    value = state.get(name)
    data = repr(value.tolist()).encode() if value.dtype == object else value.tobytes()
    return hashlib.sha256(data).hexdigest()
