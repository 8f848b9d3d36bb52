"""Ensembles of decision trees as one node."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphio.framework.constants import constant
from graphio.framework.gradient_registry import not_differentiable
from graphio.framework.graph import Tensor
from graphio.ops.base.emit import node
from graphio.ops.base.shapes import dims_of

__all__ = ["AGGREGATES", "MISSING", "MODES", "Array", "Trees", "tree_ensemble"]

Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]
#: how a row's number is compared with a node's split, by number
MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")
#: added to a mode: NaN goes the true way
MISSING = 128
AGGREGATES = ("SUM", "AVERAGE", "MIN", "MAX")


class Trees(NamedTuple):
    """Nodes in an order in which branches lead to later ones; leaf l is written as -1 - l.

    Attributes:
        splits: (nodes), of x's dtype.
        features: int32 (nodes), columns of x.
        modes: uint8 (nodes), indices in MODES, plus MISSING.
        branches: int32 (nodes, 2), where to go if the comparison holds, and if not.
        roots: int32 (trees).
        leaf_starts: int32 (leaves + 1), offsets in targets and weights.
        targets: int32 (weights), ascending within a leaf.
        weights: (weights), of x's dtype or float64, in which they are added.
    """

    splits: Array
    features: Array
    modes: Array
    branches: Array
    roots: Array
    leaf_starts: Array
    targets: Array
    weights: Array


def tree_ensemble(
    x: Tensor, trees: Trees, n_targets: int, aggregate: str = "SUM", name: str | None = None
) -> Tensor:
    """The aggregated values of the leaves that each row reaches.

    Args:
        x: float32 or float64 (rows, columns).
        trees: splits of x's dtype.
        n_targets: columns of the result.
        aggregate: one of AGGREGATES.
        name: of the node.

    Returns:
        (rows, n_targets), of the weights' dtype. Not differentiable.
    """
    dims = dims_of(x)
    rows = None if dims is None else dims[0]
    parts = [constant(value) for value in trees]
    return node(
        "TreeEnsemble",
        [x, *parts],
        parts[-1].dtype,
        (rows, n_targets),
        name=name,
        domain="graphio",
        n_targets=n_targets,
        aggregate=aggregate,
    )


not_differentiable("TreeEnsemble", domain="graphio")
