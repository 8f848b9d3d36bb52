"""tf.autograph: nothing is converted, for functions build their part of a graph as they are called.

May import framework and below.
"""

from __future__ import annotations

from typing import Any

from graphio.autograph import experimental
from graphio.framework import refusals

__all__ = ["experimental", "set_verbosity", "trace"]


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Accepted: how much conversions report, of which there are none."""


def trace(*args: Any) -> None:
    """Prints its arguments while the graph is built."""
    print(*args)


__getattr__ = refusals.getter(__name__)
