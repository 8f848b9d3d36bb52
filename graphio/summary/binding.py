"""The functions of summary operations in models that were read from files."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

__all__ = ["summary_function"]


def summary_function(name: str) -> Callable[[Any], Callable[..., Any]] | None:
    """What Graph.add_host_function takes for a function of tf.summary; None for another name."""
    found = re.fullmatch(r"summary\.(\w+?)(_\d+)?", name)
    if found is None:
        return None
    from graphio.summary.encoding import FUNCTIONS

    function = FUNCTIONS.get(found[1])
    return None if function is None else lambda session: function
