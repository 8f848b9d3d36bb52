"""Refusals: nodes that no engine may run, one row each; test_kernel_refusals.py drives them.

A row gives what a stranger may write into a file or feed: shapes, types, attributes and numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from node_rows import NodeRow, newest

from graphio.support.errors import InvalidArgumentError, OpError

Array = np.ndarray[Any, Any]
FLOAT, DOUBLE = np.float32, np.float64


@dataclass(frozen=True)
class Refusal(NodeRow):
    """A node, the class of its error, and words that the C library's message has."""

    error: type[OpError]
    runtime: type[OpError] | None
    words: str

    def __str__(self) -> str:
        return f"{self.op}-{self.words}"


REFUSALS: list[Refusal] = []


def refused(
    op: str,
    inputs: Sequence[Any],
    words: str,
    error: type[OpError] = InvalidArgumentError,
    *,
    outputs: Sequence[Any] | None = None,
    runtime: type[OpError] | None | str = "the same",
    **attrs: Any,
) -> None:
    """Adds a row.

    Args:
        op: the operator, "graphio.Name" for one of ours; in its newest version.
        inputs: arrays, or lists of integers for int64 vectors; None for an absent one.
        words: what the message of the C library must have.
        error: the class of the C library's error.
        runtime: that of the Python runtime's; None: not run, for numpy bears it, or
            takes what memory there is.
        outputs: their element types; None: one, of the first input's type.
        attrs: of the node.
    """
    there = error if isinstance(runtime, str) else runtime
    row = newest(op, inputs, attrs, outputs)
    REFUSALS.append(Refusal(**row, error=error, runtime=there, words=words))


def of(dtype: Any, *shape: int) -> Array:
    """Ones of a type."""
    return np.ones(shape, dtype)


def f(*shape: int) -> Array:
    """Ones of float32."""
    return np.ones(shape, FLOAT)


def i(*shape: int) -> Array:
    """Zeros of int64."""
    return np.zeros(shape, np.int64)


def texts(*shape: int) -> Array:
    """Texts."""
    return np.full(shape, b"x", object)
