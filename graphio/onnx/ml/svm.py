"""SVMClassifier and SVMRegressor of ai.onnx.ml. They are computed in float64: distances are taken
from matrix multiplications, and sums over support vectors have large terms of both signs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from graphio.framework import dtypes
from graphio.framework.graph import Tensor
from graphio.onnx.ml import class_scores
from graphio.onnx.ml import nodes as ml
from graphio.onnx.ml.linear import matmul
from graphio.onnx.ml.nodes import Array, Lowered
from graphio.ops.base.emit import node as make_node
from graphio.ops.base.emit import scalar
from graphio.ops.base.primitive import binary, cast, compare, reduce_sum, select, unary
from graphio.ops.base.shapes import dims_of
from graphio.ops.math.elementwise import cast as named_cast
from graphio.ops.ml.ml import pairwise_coupling

__all__ = ["TABLE"]

Inputs = Sequence["Tensor | None"]
_F64 = dtypes.float64
#: no pair of classes is surer than this
_SURE = 1e-7


def _floats(attrs: Mapping[str, Any], name: str) -> Array:
    return np.asarray(attrs.get(name) or (), np.float64)


# ---- kernels ----


def _kernel(x: Tensor, vectors: Array, attrs: Mapping[str, Any]) -> Tensor:
    """(rows, vectors): how near each row is to each support vector."""
    kind = attrs["kernel_type"]
    if kind not in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        raise ValueError(f"kernel_type is {kind!r}, expected LINEAR, POLY, RBF or SIGMOID")
    multiplied = matmul(x, vectors.T)
    if kind == "LINEAR":
        return multiplied
    given = ml.entries(attrs, "kernel_params", 3)
    if not given:
        raise ValueError(f"a kernel of type {kind} needs kernel_params: gamma, coef0, degree")
    gamma, offset, degree = (scalar(v, _F64) for v in given)
    if kind == "RBF":
        own = reduce_sum(binary("Mul", x, x), [1], keepdims=True)
        theirs = ml.row((vectors**2).sum(1), _F64)
        twice = binary("Mul", multiplied, scalar(2, _F64))
        square = binary("Sub", binary("Add", own, theirs), twice)
        square = make_node("Max", [square, scalar(0, _F64)], _F64, dims_of(square))
        return unary("Exp", unary("Neg", binary("Mul", square, gamma)))
    inner = binary("Add", binary("Mul", multiplied, gamma), offset)
    if kind == "SIGMOID":
        return unary("Tanh", inner)
    return make_node("Pow", [inner, degree], _F64, dims_of(inner))


def _vectors(attrs: Mapping[str, Any], count: int) -> Array:
    found = _floats(attrs, "support_vectors")
    if not len(found) or len(found) % count:
        raise ValueError(
            f"support_vectors has {len(found)} entries, expected some for {count} each"
        )
    return found.reshape(count, -1)


# ---- regression ----


def _regressor(node: onnx.NodeProto, inputs: Inputs) -> Lowered:
    attrs, count = ml.attributes(node), 0
    count, weights = attrs["n_supports"], _floats(attrs, "coefficients")
    if count < 0:
        raise ValueError(f"n_supports is {count}, expected 0 or more")
    if count:
        vectors = _vectors(attrs, count)
        if len(weights) != count:
            raise ValueError(f"coefficients has {len(weights)} entries, expected {count}")
        near = _kernel(ml.matrix(inputs[0], vectors.shape[1], _F64), vectors, attrs)
    else:
        if not len(weights):
            raise ValueError("has no coefficients")
        near = ml.matrix(inputs[0], len(weights), _F64)
    score = matmul(near, weights[:, None])
    if ml.entries(attrs, "rho", 1):
        score = binary("Add", score, ml.row(attrs["rho"], _F64))
    if attrs["one_class"]:
        inside = compare("Greater", score, scalar(0, _F64))
        score = select(inside, scalar(1, _F64), scalar(-1, _F64))
    made = class_scores.transformed(score, attrs["post_transform"])
    return [named_cast(made, dtypes.float32, name=ml.name_of(node))]


# ---- classification ----


def _classifier(node: onnx.NodeProto, inputs: Inputs) -> Lowered:
    attrs = ml.attributes(node)
    names = class_scores.names(attrs, "classlabels_ints", "classlabels_strings")
    counts = ml.entries(attrs, "vectors_per_class")
    how, name = attrs["post_transform"], ml.name_of(node)
    if not counts:
        return _linear(attrs, inputs[0], names, name)
    if min(counts) < 0 or len(counts) < 2:
        raise ValueError(f"vectors_per_class is {counts}, expected 0 or more for 2 classes or more")
    if names and len(names) != len(counts):
        raise ValueError(f"{len(names)} class labels, and vectors_per_class has {len(counts)}")
    decisions = _decisions(attrs, inputs[0], counts)
    chosen = class_scores.labels(
        _votes(decisions, len(counts)), names or list(range(len(counts))), name
    )
    scores = decisions
    if attrs.get("prob_a") or attrs.get("prob_b"):
        scores = _probabilities(attrs, decisions, len(counts))
    elif len(counts) == 2:
        scores = class_scores.both_signs(decisions)
    return [chosen, named_cast(class_scores.transformed(scores, how), dtypes.float32)]


def _pairs(classes: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(classes), 2))


def _decisions(attrs: Mapping[str, Any], x: Tensor | None, counts: Sequence[int]) -> Tensor:
    """(rows, pairs of classes): above 0 for the first class of a pair."""
    classes, total = len(counts), sum(counts)
    weights, count = _floats(attrs, "coefficients"), classes * (classes - 1) // 2
    if len(weights) != total * (classes - 1) or not total:
        raise ValueError(
            f"coefficients has {len(weights)} entries, expected {total * (classes - 1)}: "
            f"{classes - 1} for each of {total} support vectors"
        )
    if not ml.entries(attrs, "rho", count):
        raise ValueError(f"rho has no entries, expected {count}")
    pairs = _pairs(classes)
    vectors, of = _vectors(attrs, total), weights.reshape(classes - 1, total)
    ends = np.cumsum(counts)
    table = np.zeros((total, len(pairs)))
    for column, (i, j) in enumerate(pairs):
        for mine, other in ((i, j - 1), (j, i)):
            part = slice(ends[mine] - counts[mine], ends[mine])
            table[part, column] = of[other, part]
    near = _kernel(ml.matrix(x, vectors.shape[1], _F64), vectors, attrs)
    return binary("Add", matmul(near, table), ml.row(attrs["rho"], _F64))


def _votes(decisions: Tensor, classes: int) -> Tensor:
    """(rows, classes): how many pairs each class wins."""
    won = np.zeros((2, classes, classes * (classes - 1) // 2))
    for column, (i, j) in enumerate(_pairs(classes)):
        won[0, i, column] = won[1, j, column] = 1
    first = cast(compare("Greater", decisions, scalar(0, _F64)), _F64)
    votes = matmul(first, (won[0] - won[1]).T)
    return binary("Add", votes, ml.row(won[1].sum(1), _F64))


def _probabilities(attrs: Mapping[str, Any], decisions: Tensor, classes: int) -> Tensor:
    pairs = classes * (classes - 1) // 2
    slopes, offsets = (ml.entries(attrs, name, pairs) for name in ("prob_a", "prob_b"))
    if len(slopes) != len(offsets):
        raise ValueError(f"prob_a has {len(slopes)} entries and prob_b {len(offsets)}")
    inner = binary("Add", binary("Mul", decisions, ml.row(slopes, _F64)), ml.row(offsets, _F64))
    sure = unary("Sigmoid", unary("Neg", inner))
    bounds = [scalar(_SURE, _F64), scalar(1 - _SURE, _F64)]
    kept = make_node("Clip", [sure, *bounds], _F64, dims_of(sure))
    return pairwise_coupling(kept, classes)


def _linear(attrs: Mapping[str, Any], x: Tensor | None, names: Sequence[Any], name: str) -> Lowered:
    """Without support vectors: one row of coefficients a class."""
    weights, classes = _floats(attrs, "coefficients"), max(1, len(names))
    if not len(weights) or len(weights) % classes:
        raise ValueError(
            f"coefficients has {len(weights)} entries, expected some for {classes} each"
        )
    if attrs["kernel_type"] != "LINEAR":
        raise ValueError(f"a kernel of type {attrs['kernel_type']} needs vectors_per_class")
    table = weights.reshape(classes, -1).T
    scores = matmul(ml.matrix(x, len(table), _F64), table)
    if ml.entries(attrs, "rho", 1, classes):
        scores = binary("Add", scores, ml.row(attrs["rho"], _F64))
    made = class_scores.transformed(scores, attrs["post_transform"])
    if classes == 1:
        chosen = class_scores.above(scores, 0.0, names, name)
    else:
        chosen = class_scores.labels(scores, names, name)
    return [chosen, named_cast(made, dtypes.float32)]


#: the importer's lowerings
TABLE: dict[tuple[str, str], Callable[[onnx.NodeProto, Any], Lowered | None]] = {
    (ml.DOMAIN, "SVMClassifier"): _classifier,
    (ml.DOMAIN, "SVMRegressor"): _regressor,
}
