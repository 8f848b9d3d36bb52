"""Nodes that the onnx package's shape inference, which is C++, cannot bear.

It does not end for them, ends the process, or reads past its own vectors.
"""

from __future__ import annotations

import re

import onnx

__all__ = ["unbearable"]

_EQUATION = re.compile(rb"[A-Za-z.,> -]*")
_FAR = 1 << 30  # no axis is


def unbearable(node: onnx.NodeProto, rank: int | None) -> str:
    """Why a node may not be handed to the inference; "" if it may.

    Args:
        node: of the model.
        rank: of its first input; None: not known.
    """
    if node.domain not in ("", "ai.onnx"):
        return ""
    axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
    most = _FAR
    if node.op_type in ("LayerNormalization", "RMSNormalization"):
        most = 1 if rank is None else rank
    if not -most <= axis < most and axis:
        return f"axis {axis} is outside the rank of its input"
    if node.op_type == "Split":
        parts = next((a.i for a in node.attribute if a.name == "num_outputs"), len(node.output))
        if parts != len(node.output):
            return f"num_outputs is {parts}, the node has {len(node.output)} outputs"
    if node.op_type == "Einsum":
        equation = next((a.s for a in node.attribute if a.name == "equation"), b"")
        if not _EQUATION.fullmatch(equation):
            return f"the equation {equation!r} has other characters than letters"
    return ""
