"""Tree ensembles of ai.onnx.ml as one node with trees of constants, and what follows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.onnx.ml import class_scores, tree_reading
from graphio.onnx.ml.nodes import attributes, matrix, name_of
from graphio.ops.base.primitive import binary, cast
from graphio.ops.base.shapes import dims_of
from graphio.ops.ml.trees import AGGREGATES, tree_ensemble

__all__ = ["TABLE"]

Lowered = Sequence["Tensor | None"]
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
#: the numbers of aggregate_function in TreeEnsemble
_NUMBERED = ("AVERAGE", "SUM", "MIN", "MAX")


def _raw(
    x: Tensor,
    found: tree_reading.Branching,
    n_targets: int,
    aggregate: str,
    added: DType | None = None,
) -> Tensor:
    """The sums, in the widest type of x and splits unless another is given; integers count as
    float32."""
    if n_targets < 1:
        raise ValueError(f"n_targets is {n_targets}, expected 1 or more")
    wide = x.dtype == dtypes.float64 or found.splits.dtype == np.float64
    dtype = dtypes.float64 if wide else dtypes.float32
    rows = matrix(x, None, dtype)
    dims = dims_of(rows)
    tree_reading.check_ranges(found, dims[1] if dims else None, n_targets)
    sums = np.dtype((added or dtype).as_numpy_dtype)
    trees = tree_reading.in_order(found, np.dtype(dtype.as_numpy_dtype), sums)
    return tree_ensemble(rows, trees, n_targets, aggregate)


def _base(attrs: Mapping[str, Any], scores: Tensor) -> Tensor:
    tensor = attrs.get("base_values_as_tensor")
    values = attrs.get("base_values") if tensor is None else np.ravel(tensor)
    if values is None or not len(values):
        return scores
    dims = scores.shape.as_list()
    if len(values) not in (1, dims[1]):
        raise ValueError(f"base_values has {len(values)} entries, expected {dims[1]}")
    base = constant(np.asarray(values, scores.dtype.as_numpy_dtype))
    return binary("Add", scores, base)


def _classifier(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> Lowered:
    attrs, (x,) = attributes(node), inputs
    assert x is not None
    names = attrs.get("classlabels_int64s") or attrs.get("classlabels_strings") or []
    how, ids = attrs.get("post_transform", "NONE"), attrs.get("class_ids", [])
    if not names or not ids or min(ids) < 0 or max(ids) >= max(2, len(names)):
        raise ValueError(f"{len(names)} class labels, and class_ids that need others")
    if len(names) == 1:
        names = _two_labels(names)
    found = tree_reading.of_lists(attrs, "class")
    binary_case = len(set(ids)) == 1 and len(names) == 2
    if binary_case:
        found.targets = np.zeros_like(found.targets)
    width = 1 if binary_case else len(names)
    # Votes of a forest are often equal, and the first class then wins: sums have no error that is
    # left after rounding.
    scores = _base(attrs, _raw(x, found, width, "SUM", dtypes.float64))
    scores = cast(scores, dtypes.float32 if x.dtype != dtypes.float64 else dtypes.float64)
    if binary_case:
        scores = class_scores.two_classes(scores, how)
    scores = class_scores.transformed(scores, how)
    chosen = class_scores.labels(scores, names, name_of(node))
    return [chosen, cast(scores, dtypes.float32)]


def _two_labels(names: Sequence[Any]) -> list[int]:
    if list(names) != [1]:
        raise ValueError(f"the one class label is {names[0]!r}; the other is missing")
    return [0, 1]


def _regressor(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> Lowered:
    attrs, (x,) = attributes(node), inputs
    assert x is not None
    aggregate = attrs.get("aggregate_function", "SUM")
    if aggregate not in AGGREGATES:
        raise ValueError(f"aggregate_function is {aggregate!r}, expected {', '.join(AGGREGATES)}")
    found = tree_reading.of_lists(attrs, "target")
    made = _base(attrs, _raw(x, found, attrs.get("n_targets", 1), aggregate))
    made = class_scores.transformed(made, attrs.get("post_transform", "NONE"), name_of(node))
    return [cast(made, dtypes.float32)]


def _ensemble(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> Lowered:
    attrs, (x,) = attributes(node), inputs
    assert x is not None
    number, how = attrs.get("aggregate_function", 1), attrs.get("post_transform", 0)
    if not 0 <= number < len(_NUMBERED) or not 0 <= how < len(_TRANSFORMS):
        raise ValueError(
            f"aggregate_function is {number} and post_transform {how}, expected 0 to "
            f"{len(_NUMBERED) - 1} and 0 to {len(_TRANSFORMS) - 1}"
        )
    found = tree_reading.of_tensors(attrs)
    made = _raw(x, found, attrs.get("n_targets", 1), _NUMBERED[number])
    made = class_scores.transformed(made, _TRANSFORMS[how], name_of(node))
    return [cast(made, x.dtype)]


#: the importer's lowerings
TABLE: dict[tuple[str, str], Callable[[onnx.NodeProto, Any], Lowered | None]] = {
    ("ai.onnx.ml", "TreeEnsembleClassifier"): _classifier,
    ("ai.onnx.ml", "TreeEnsembleRegressor"): _regressor,
    ("ai.onnx.ml", "TreeEnsemble"): _ensemble,
}
