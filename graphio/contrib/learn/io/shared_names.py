"""A queue of files' names whose position is in variables, which all workers share."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.graph import Tensor
from graphio.framework.scopes import control_dependencies
from graphio.ops.array import index
from graphio.queues.queue_ops import FIFOQueue, QueueBase
from graphio.queues.queue_runner import QueueRunner, add_queue_runner
from graphio.variables.variable_scope import get_variable, variable_scope

__all__ = ["shared_names_queue"]


def shared_names_queue(
    names: Sequence[str], shuffle: bool, num_epochs: int | None, seed: int | None
) -> QueueBase:
    """A queue of one name, and a QueueRunner in QUEUE_RUNNERS that fills it.

    Args:
        names: of the files.
        shuffle: whether each epoch has a random order, which is drawn now.
        num_epochs: how often each name comes; None: without end, always in the first order.
        seed: of the order; None: another in each process.
    """
    queue = FIFOQueue(1, [dtypes.string], [[]])
    listed = _listed(names, shuffle, num_epochs, seed)
    runner = QueueRunner(queue, [queue.enqueue(_next(listed, num_epochs is not None))])
    add_queue_runner(runner)
    return queue


def _listed(
    names: Sequence[str], shuffle: bool, num_epochs: int | None, seed: int | None
) -> list[str]:
    draw = random.Random(seed)
    found: list[str] = []
    for _ in range(num_epochs or 1):
        epoch = list(names)
        if shuffle:
            draw.shuffle(epoch)
        found += epoch
    return found


def _next(listed: Sequence[str], ends: bool) -> Tensor:
    """The name after that of the last run; the names of variables are those of TensorFlow."""

    def number(name: str, value: int) -> Any:
        initial = constant(value, dtypes.int64)
        return get_variable(name, initializer=initial, dtype=dtypes.int64, trainable=False)

    with variable_scope("obtain_next"):
        counter = number("obtain_next_counter", -1)
        names = get_variable(
            "obtain_next_expanded_list",
            initializer=constant(list(listed)),
            dtype=dtypes.string,
            trainable=False,
        )
        limits = []
        if ends:
            total = number("obtain_next_filename_counter", 0)
            limits = [total.count_up_to(len(listed))]
        with control_dependencies(limits):
            at = counter.assign((counter + 1) % len(listed))
            found: Tensor = index.gather(names, at)
            return found
