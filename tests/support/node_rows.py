"""The common parts of rows of tables of nodes (tests/corners, tests/refusals)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphio.schema import operators

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class NodeRow:
    """A node, what it is given, and the element types of its outputs."""

    op: str
    domain: str
    version: int
    inputs: tuple[Array | None, ...]
    attrs: Mapping[str, Any]
    outputs: tuple[Any, ...]


def newest(
    op: str, inputs: Sequence[Any], attrs: Mapping[str, Any], outputs: Sequence[Any] | None
) -> dict[str, Any]:
    """The fields of a NodeRow of an operator in its newest version.

    Args:
        op: the operator, "graphio.Name" for one of ours.
        inputs: arrays, or lists of integers for int64 vectors; None for an absent one.
        outputs: their element types; None: one, of the first input's type.
    """
    domain, _, name = op.rpartition(".")
    arrays = tuple(np.array(x, np.int64) if isinstance(x, list) else x for x in inputs)
    first = next((x.dtype for x in arrays if x is not None), np.dtype(np.float32))
    return {
        "op": name,
        "domain": domain,
        "version": operators.table().versions(domain, name)[-1],
        "inputs": arrays,
        "attrs": attrs,
        "outputs": (first,) if outputs is None else tuple(outputs),
    }
