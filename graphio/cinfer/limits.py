"""The limits of a model that is opened, and of its runs: ci_limits of cinfer.h."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from graphio.support import errors

BITS = {
    "max_bytes": 64,
    "max_nodes": 64,
    "max_memory": 64,
    "max_loop_steps": 64,
    "max_depth": 32,
    "max_load": 32,
}


def checked(limits: Mapping[str, int]) -> dict[str, int]:
    """The limits as integers.

    Raises:
        InvalidArgumentError: there are no such limits, or no such values; all are named.
    """
    good, wrong = {}, []
    for name, value in limits.items():
        try:
            good[name] = operator.index(value)
        except TypeError:
            wrong.append(f"{name} is {value!r}, expected an integer")
            continue
        if name not in BITS:
            wrong.append(f"there is no {name!r}")
        elif not 0 <= good[name] < 1 << BITS[name]:
            wrong.append(f"{name} is {value}, expected 0 (the default) to 2^{BITS[name]} - 1")
    if wrong:
        known = ", ".join(BITS)
        raise errors.InvalidArgumentError(
            message=f"limits: {'; '.join(wrong)}; the limits are {known}"
        )
    return good


def fill(options: Any, limits: Mapping[str, int]) -> None:
    """Puts them into ci_options or ci_session_options."""
    for name, value in limits.items():
        setattr(options.limits, name, value)
