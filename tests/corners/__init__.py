"""Corners: nodes whose shapes, absent inputs and numbers are rare; test_kernel_corners.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from node_rows import NodeRow, newest

Array = np.ndarray[Any, Any]
F, D = np.float32, np.float64


@dataclass(frozen=True)
class Corner(NodeRow):
    """A node; tolerance 0: that of the type."""

    tolerance: float

    def __str__(self) -> str:
        shapes = ",".join("-" if x is None else f"{x.dtype}{list(x.shape)}" for x in self.inputs)
        return f"{self.op}-{shapes}"


CORNERS: list[Corner] = []


def corner(
    op: str,
    *inputs: Any,
    outputs: Sequence[Any] | None = None,
    tolerance: float = 0.0,
    **attrs: Any,
) -> None:
    """Adds a row.

    Args:
        op: the operator, "graphio.Name" for one of ours; in its newest version.
        inputs: arrays, or lists of integers for int64 vectors; None for an absent one.
        outputs: their element types; None: one, of the first input's type.
        tolerance: 0: that of the type.
        attrs: of the node.
    """
    CORNERS.append(Corner(**newest(op, inputs, attrs, outputs), tolerance=tolerance))


def numbers(*shape: int, of: Any = F, seed: int = 0) -> Array:
    """Numbers of a type between -2 and 2, small integers of an integer type."""
    random = np.random.RandomState(seed)
    if np.dtype(of).kind in "iu":
        return random.randint(0 if np.dtype(of).kind == "u" else -9, 10, shape).astype(of)
    return random.uniform(-2, 2, shape).astype(F).astype(of)


def ones(*shape: int, of: Any = F) -> Array:
    """Ones of a type."""
    return np.ones(shape, of)
