"""Runs in which numpy does not warn of overflow, division by zero or NaN.

np.errstate costs more than the entire run of a small model. numpy keeps its settings in the context
(contextvars), so contexts that have the settings already are kept, and a run enters one.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

Result = TypeVar("Result")
#: contexts that are free; taking and giving back are one step each, so threads may share it
_free: list[contextvars.Context] = []


def call(function: Callable[..., Result], *arguments: Any) -> Result:
    """The function's result; it does not see the caller's context variables."""
    try:
        context = _free.pop()
    except IndexError:
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
    try:
        return context.run(function, *arguments)
    finally:
        _free.append(context)
