"""Whether summaries are recorded: a state of the thread that builds the graph."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.math import comparison, elementwise
from graphio.support import api_guard
from graphio.train.loops.step_counter import get_or_create_global_step

__all__ = [
    "always_record_summaries",
    "condition",
    "never_record_summaries",
    "record_summaries_every_n_global_steps",
    "should_record_summaries",
]

_thread = threading.local()


def condition() -> Any:
    """A bool or a bool tensor: whether summaries are recorded; False where nothing says it."""
    return getattr(_thread, "condition", False)


@contextlib.contextmanager
def _record_if(recorded: Any) -> Iterator[None]:
    before = condition()
    _thread.condition = recorded
    try:
        yield
    finally:
        _thread.condition = before


@api_guard.guarded
def should_record_summaries() -> Tensor:
    """Whether summaries are recorded here: a bool scalar, False outside of all contexts."""
    return convert_to_tensor(condition(), dtypes.bool)


@api_guard.unguarded
def always_record_summaries() -> contextlib.AbstractContextManager[None]:
    """A context whose summaries are written in each run."""
    return _record_if(True)


@api_guard.unguarded
def never_record_summaries() -> contextlib.AbstractContextManager[None]:
    """A context whose summaries are not written."""
    return _record_if(False)


@api_guard.makes_variables
def record_summaries_every_n_global_steps(
    n: int, global_step: Any = None
) -> contextlib.AbstractContextManager[None]:
    """A context whose summaries are written in runs whose global step is a multiple of n.

    Args:
        n: integer.
        global_step: a variable or tensor; None: the graph's, made if there is none.
    """
    step = get_or_create_global_step() if global_step is None else global_step
    return _record_if(comparison.equal(elementwise.mod(convert_to_tensor(step), n), 0))
