"""Refusals: nodes that no engine may run, one row each; tests/test_kernel_refusals.py drives them.

A row gives what a stranger may write into a file or feed: shapes, types, attributes and numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphio.schema import operators
from graphio.schema.errors import InvalidArgumentError, OpError

Array = np.ndarray[Any, Any]
FLOAT, DOUBLE = np.float32, np.float64


@dataclass(frozen=True)
class Refusal:
    """A node, the class of its error, and words that the C library's message has."""

    op: str
    domain: str
    version: int
    inputs: tuple[Array | None, ...]
    attrs: Mapping[str, Any]
    outputs: tuple[Any, ...]
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
    domain, _, name = op.rpartition(".")
    arrays = tuple(np.array(x, np.int64) if isinstance(x, list) else x for x in inputs)
    kinds = [next((x.dtype for x in arrays if x is not None), np.dtype(FLOAT))]
    version = operators.table().versions(domain, name)[-1]
    found = tuple(kinds if outputs is None else outputs)
    there = error if isinstance(runtime, str) else runtime
    REFUSALS.append(Refusal(name, domain, version, arrays, attrs, found, error, there, words))


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
