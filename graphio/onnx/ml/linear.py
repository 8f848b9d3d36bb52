"""LinearClassifier and LinearRegressor of ai.onnx.ml."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.graph import Tensor
from graphio.onnx.ml import class_scores
from graphio.onnx.ml import nodes as ml
from graphio.onnx.ml.nodes import Lowered
from graphio.ops.base.emit import node as make_node
from graphio.ops.base.primitive import binary
from graphio.ops.base.shapes import dims_of
from graphio.ops.math.elementwise import cast as named_cast

__all__ = ["TABLE", "matmul"]

Inputs = Sequence["Tensor | None"]


def matmul(x: Tensor, weights: Any) -> Tensor:
    """x (rows, columns) by constants (columns, n)."""
    dims, wide = dims_of(x), x.dtype.as_numpy_dtype
    made = (dims[0] if dims else None, weights.shape[1])
    table = constant(np.ascontiguousarray(weights).astype(wide))
    return make_node("MatMul", [x, table], x.dtype, made)


def _scores(x: Tensor, attrs: Mapping[str, Any], targets: int) -> Tensor:
    """(rows, targets)."""
    weights = np.asarray(attrs.get("coefficients") or (), np.float64)
    if not len(weights) or len(weights) % targets:
        raise ValueError(
            f"coefficients has {len(weights)} entries, expected some for {targets} each"
        )
    table = weights.reshape(targets, -1).T
    wide = ml.matrix(x, len(table))
    intercepts = ml.entries(attrs, "intercepts", targets)
    scores = matmul(wide, table)
    return binary("Add", scores, ml.row(intercepts, wide.dtype)) if intercepts else scores


def _regressor(node: onnx.NodeProto, inputs: Inputs) -> Lowered:
    attrs, x = ml.attributes(node), ml.numbers(inputs[0])
    if attrs["targets"] < 1:
        raise ValueError(f"targets is {attrs['targets']}, expected 1 or more")
    scores = _scores(x, attrs, attrs["targets"])
    made = class_scores.transformed(scores, attrs["post_transform"])
    return [named_cast(made, dtypes.float32, name=ml.name_of(node))]


def _classifier(node: onnx.NodeProto, inputs: Inputs) -> Lowered:
    """Labels by the scores before their transform, which may make them equal."""
    attrs, x = ml.attributes(node), ml.numbers(inputs[0])
    names = class_scores.names(attrs, "classlabels_ints", "classlabels_strings")
    how = attrs["post_transform"]
    scores = _scores(x, attrs, _rows(attrs, x, len(names)))
    width = scores.shape[1]
    if width == 1 and len(names) == 2:
        scores = class_scores.both_signs(scores)
    elif width == 1 and len(names) < 2:
        made = class_scores.transformed(scores, how)
        chosen = class_scores.above(made, 0.0 if how == "NONE" else 0.5, names, ml.name_of(node))
        return [chosen, named_cast(made, dtypes.float32)]
    if names and width != 1 and len(names) != width:
        raise ValueError(f"{len(names)} class labels for {width} scores")
    chosen = class_scores.labels(scores, names or list(range(int(width))), ml.name_of(node))
    return [chosen, named_cast(class_scores.transformed(scores, how), dtypes.float32)]


def _rows(attrs: Mapping[str, Any], x: Tensor, names: int) -> int:
    """The number of scores of a row."""
    given, dims = len(attrs["coefficients"]), dims_of(x)
    if attrs.get("intercepts"):
        return len(attrs["intercepts"])
    columns = dims[-1] if dims else None
    if columns:
        return max(1, given // columns)
    return max(1, names)


#: the importer's lowerings
TABLE: dict[tuple[str, str], Callable[[onnx.NodeProto, Any], Lowered | None]] = {
    (ml.DOMAIN, "LinearClassifier"): _classifier,
    (ml.DOMAIN, "LinearRegressor"): _regressor,
}
