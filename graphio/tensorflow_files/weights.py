"""Constants of a frozen graph that were variables: weights of MatMuls, convolutions and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.tensorflow_files.bodies import Body, Key, Node
from graphio.tensorflow_files.importing import Importer

__all__ = ["weights"]

Array = np.ndarray[Any, Any]

#: Inputs that training changes, by operator; every other floating input is a setting.
PARAMETERS = {
    "Add": (0, 1), "AddV2": (0, 1), "BatchMatMul": (0, 1), "BatchMatMulV2": (0, 1),
    "BatchMatMulV3": (0, 1), "BiasAdd": (1,), "BiasAddV1": (1,), "Conv2D": (1,),
    "Conv2DBackpropInput": (1,), "Conv3D": (1,), "DepthwiseConv2dNative": (1,),
    "Einsum": (0, 1, 2), "FusedBatchNorm": (1, 2), "FusedBatchNormV2": (1, 2),
    "FusedBatchNormV3": (1, 2), "Gather": (0,), "GatherV2": (0,), "MatMul": (0, 1), "Mul": (0, 1),
    "Sub": (0, 1), "_FusedConv2D": (1, 2), "_FusedMatMul": (1, 2),
}  # fmt: skip
#: Inputs that a forward pass would update; variables, but none that an optimizer changes.
STATISTICS = dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), (3, 4))
#: Operators that pass their first input on unchanged.
_VIEWS = ("Cast", "Enter", "ExpandDims", "Identity", "Reshape", "Split", "Squeeze", "Switch",
          "Transpose")  # fmt: skip


def weights(
    importer: Importer, trainable: bool | Callable[[str], bool]
) -> Callable[[str, Array], bool | None]:
    """From a constant's name and value to what it becomes: see Importer.

    Args:
        importer: whose main graph and functions are looked through.
        trainable: True: weights become variables; False: none; or a function of a constant's name
            that says which do.
    """
    used = _used(importer, importer.main, {}) if trainable is True else {}

    def kind(name: str, array: Array) -> bool | None:
        if array.dtype == object or not dtypes.as_dtype(array.dtype).is_floating:
            return None
        if callable(trainable):
            return True if trainable(name) else None
        return used.get((name, 0)) if array.ndim else None

    return kind


Used = dict[Key, bool]


def _used(importer: Importer, body: Body, known: dict[str, Used]) -> Used:
    """Values that are weights (True) or statistics (False) of some operator.

    Args:
        known: those of functions that were looked at.
    """
    if body.name in known:
        return known[body.name]
    found = known[body.name] = {}
    for node in body.nodes.values():
        for position, is_trained in _positions(importer, node, known):
            waiting = [node.inputs[position]] if position < len(node.inputs) else []
            while waiting:
                key = waiting.pop()
                if key in found:
                    continue
                found[key] = is_trained
                maker = body.nodes.get(key[0])
                if maker is not None and maker.op in _VIEWS and maker.inputs:
                    waiting.append(maker.inputs[-1 if maker.op == "Split" else 0])
    return found


def _positions(importer: Importer, node: Node, known: dict[str, Used]) -> list[tuple[int, bool]]:
    """Inputs of a node that are weights or statistics."""
    found = [(i, True) for i in PARAMETERS.get(node.op, ())]
    found += [(i, False) for i in STATISTICS.get(node.op, ())]
    for called in importer.called(node):
        if called in importer.library:
            body = importer.body(called)
            inner = _used(importer, body, known)
            first = len(node.inputs) - len(body.args)  # after the predicate of an If
            found += [
                (first + i, inner[arg, 0])
                for i, arg in enumerate(body.args)
                if (arg, 0) in inner and first + i >= 0
            ]
    return found
