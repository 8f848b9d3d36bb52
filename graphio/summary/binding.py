"""The functions of summary operations in models that were read from files."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from graphio.model import registered
from graphio.summary.encoding import FUNCTIONS

__all__ = ["summary_function"]


@registered.summary_function.register
def summary_function(name: str) -> Callable[[Any], Callable[..., Any]] | None:
    """The argument of Graph.add_host_function for a function of tf.summary; None: another name."""
    found = re.fullmatch(r"summary\.(\w+?)(_\d+)?", name)
    if found is None:
        return None
    function = FUNCTIONS.get(found[1])
    return None if function is None else lambda session: function
