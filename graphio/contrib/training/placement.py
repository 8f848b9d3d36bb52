"""Which of several tasks holds an operation."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.support import api_guard

__all__ = ["GreedyLoadBalancingStrategy", "RandomStrategy", "byte_size_load_fn"]


class RandomStrategy:
    """A task that an operation's name and a seed decide, as if it were drawn.

    Args:
        num_ps_tasks: number of tasks.
        seed: changes the choices.
    """

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._tasks, self._seed = num_ps_tasks, seed

    def __call__(self, op: Any) -> int:
        """The task of an operation."""
        key = f"{op.name}_{self._seed}".encode()
        return int(hashlib.md5(key, usedforsecurity=False).hexdigest(), 16) % self._tasks


class GreedyLoadBalancingStrategy:
    """The task with the smallest load.

    Args:
        num_tasks: number of tasks.
        load_fn: from an operation to its load.
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Any], float]) -> None:
        self._loads, self._load = np.zeros(num_tasks), load_fn

    def __call__(self, op: Any) -> int:
        """The task of an operation; it gets its load."""
        task = int(np.argmin(self._loads))
        self._loads[task] += self._load(op)
        return task


@api_guard.unguarded
def byte_size_load_fn(op: Any) -> float:
    """The size of an operation's only output in bytes.

    Raises:
        ValueError: there are several outputs, or the shape is not known.
    """
    if len(op.outputs) != 1:
        raise ValueError(f"Op {op} must have a single output")
    output = op.outputs[0]
    elements = output.shape.num_elements()
    if elements is None:
        raise ValueError(f"the shape of '{output.name}' is {output.shape}, expected a known one")
    return float(output.dtype.size * elements)
