"""Operators for models of scikit-learn that ONNX lacks: lookup of keys, pairwise coupling."""

from __future__ import annotations

from graphio.framework import dtypes
from graphio.framework.gradient_registry import not_differentiable
from graphio.framework.graph import Tensor
from graphio.ops.base.emit import node
from graphio.ops.base.shapes import dims_of

__all__ = ["index_of", "pairwise_coupling"]


def index_of(x: Tensor, keys: Tensor, name: str | None = None) -> Tensor:
    """The index of each element in a vector.

    Args:
        x: numbers, bools or strings, of any shape.
        keys: vector of x's dtype.
        name: of the node.

    Returns:
        int64 of x's shape: the first index in keys, -1 where the element is not there, as NaN
        never is. Not differentiable.
    """
    return node("IndexOf", [x, keys], dtypes.int64, dims_of(x), name=name, domain="graphio")


def pairwise_coupling(r: Tensor, classes: int, name: str | None = None) -> Tensor:
    """Probabilities of classes from those of pairs of classes.

    Args:
        r: float32 or float64 (rows, classes (classes - 1) / 2): of the first class of each pair
            (0, 1), (0, 2) ... (1, 2) ... against the second.
        classes: how many, at least 2.
        name: of the node.

    Returns:
        (rows, classes), of r's dtype. Not differentiable.
    """
    dims = dims_of(r)
    rows = None if dims is None else dims[0]
    return node(
        "PairwiseCoupling", [r], r.dtype, (rows, classes), name=name, domain="graphio",
        classes=classes,
    )  # fmt: skip


not_differentiable("IndexOf", "PairwiseCoupling", domain="graphio")
