"""A node of trees as ai.onnx.ml's TreeEnsembleRegressor, whose trees are attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from graphio.onnx.attributes import message_value
from graphio.ops.ml.trees import MISSING, MODES, Trees
from graphio.schema.model_pb2 import Node
from graphio.support import errors

if TYPE_CHECKING:
    from graphio.onnx.emitting import Emitter

__all__ = ["tree_ensemble"]

_Rows = list[tuple[Any, ...]]


def tree_ensemble(emit: Emitter, node: Node, inputs: list[str], outputs: list[str]) -> None:
    """Raises UnimplementedError where the trees are not constants, or need float64: the standard's
    operator for many weights a leaf adds in float32."""
    arrays = [emit.known(name) for name in inputs[1:]]
    if any(a is None for a in arrays):
        _refuse(node, "its trees are computed, and ONNX has them as attributes")
    trees = Trees(*arrays)  # type: ignore[arg-type]
    wide = trees.weights.dtype == np.float64
    rounded = wide and np.any(trees.weights.astype(np.float32) != trees.weights)
    if trees.splits.dtype != np.float32 or rounded:
        _refuse(node, "ONNX's tree ensembles with several weights a leaf give float32, not float64")
    attrs = {a.key: message_value(a.value) for a in node.attr}
    nodes, weights = _listed(trees)
    names = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
             "missing_value_tracks_true")  # fmt: skip
    lists: dict[str, Any] = {
        f"nodes_{name}": list(column)
        for name, column in zip(names, zip(*nodes, strict=True), strict=True)
    }
    columns = list(zip(*weights, strict=True)) or [(), (), (), ()]
    for name, column in zip(("treeids", "nodeids", "ids", "weights"), columns, strict=True):
        lists[f"target_{name}"] = list(column)
    made = emit.fresh(f"{outputs[0]}/narrow") if wide else outputs[0]
    emit.add_of(
        "ai.onnx.ml",
        3,
        "TreeEnsembleRegressor",
        inputs[:1],
        made,
        n_targets=attrs["n_targets"],
        aggregate_function=attrs["aggregate"],
        post_transform="NONE",
        **lists,
    )
    if wide:
        cast = emit.add("Cast", [made], f"{outputs[0]}/wide", to=onnx.TensorProto.DOUBLE)
        emit.rename_last(cast, outputs[0])


def _refuse(node: Node, why: str) -> None:
    raise errors.UnimplementedError(message=f"{node.op} '{node.name}': {why}")


def _listed(trees: Trees) -> tuple[_Rows, _Rows]:
    """The rows of the nodes_ and of the target_ attributes; each tree numbers its own nodes."""
    nodes: _Rows = []
    weights: _Rows = []
    modes = [(f"BRANCH_{MODES[m % MISSING]}", int(m >= MISSING)) for m in trees.modes.tolist()]
    branches = trees.branches.tolist()
    starts, targets = trees.leaf_starts.tolist(), trees.targets.tolist()
    for tree, root in enumerate(trees.roots.tolist()):
        numbers = {root: 0}
        waiting = [root]
        for position in waiting:  # grows while it is read
            number = numbers[position]
            if position < 0:
                nodes.append((tree, number, 0, 0.0, "LEAF", 0, 0, 0))
                for at in range(starts[-1 - position], starts[-position]):
                    weights.append((tree, number, targets[at], float(trees.weights[at])))
                continue
            for child in branches[position]:
                if child not in numbers:
                    numbers[child] = len(waiting)
                    waiting.append(child)
            mode, missing = modes[position]
            yes, no = (numbers[child] for child in branches[position])
            split = float(trees.splits[position])
            nodes.append(
                (tree, number, int(trees.features[position]), split, mode, yes, no, missing)
            )
    return nodes, weights
