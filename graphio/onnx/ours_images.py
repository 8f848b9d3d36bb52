"""Gradients of resampling in operators of the standard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from graphio.onnx.attributes import message_value
from graphio.onnx.composed import nodes
from graphio.schema.model_pb2 import Node

if TYPE_CHECKING:
    from graphio.onnx.emitting import Emitter

__all__ = ["resize_grad"]

Array = np.ndarray[Any, Any]


def resize_grad(emit: Emitter, node: Node, inputs: list[str], outputs: list[str]) -> None:
    """ResizeGrad: along each axis that changes, a MatMul with the weights of its elements."""
    matrices = _matrices(emit, node)
    if matrices is None:
        nodes.resize_grad(emit, node, inputs, outputs)
        return
    made = inputs[1]
    rank = len(emit.dims(node.input[1]) or emit.dims(node.name) or ())
    for axis, matrix in reversed(matrices):
        made = _matmul(emit, node, made, axis, matrix, rank)
    # The axes that were taken to stay as they are must have x's sizes.
    emit.rename_last(
        emit.add("Reshape", [made, inputs[0]], f"{node.name}/like_x", allowzero=1), outputs[0]
    )


def _matmul(emit: Emitter, node: Node, x: str, axis: int, matrix: Array, rank: int) -> str:
    """x with (size of axis, new size) applied along axis."""
    base = f"{node.name}/axis{axis}"
    number = emit.types[node.input[1]].tensor.dtype
    dtype = helper.tensor_dtype_to_np_dtype(number)
    if axis == rank - 2:  # in memory order
        return emit.add("MatMul", [emit.constant(matrix.T, dtype, f"{base}/weights"), x], base)
    weights = emit.constant(matrix, dtype, f"{base}/weights")
    if axis == rank - 1:
        return emit.add("MatMul", [x, weights], base)
    order = [*(i for i in range(rank) if i != axis), axis]
    last = emit.add("Transpose", [x], f"{base}/last", perm=order)
    matmul = emit.add("MatMul", [last, weights], f"{base}/product")
    return emit.add("Transpose", [matmul], base, perm=[int(i) for i in np.argsort(order)])


def _matrices(emit: Emitter, node: Node) -> list[tuple[int, Array]] | None:
    """For each axis that changes the weights (size of dy, size of x) of the Resize; None where
    they depend on the data."""
    # The Python engine is loaded for models with resized images only.
    from graphio.runtime.kernels.image import Resizing
    from graphio.runtime.registry import Call

    attributes = {a.key: message_value(a.value) for a in node.attr}
    rule = Resizing.of(Call(node.name, node.op, node.version, attributes))
    given = [*node.input[2:], "", "", ""][:3]
    roi, scales, sizes = (emit.known(v) for v in given)
    if scales is not None and not scales.size:  # as old opsets leave them out
        scales, given[1] = None, ""
    x, dy = emit.dims(node.name), emit.dims(node.input[1])
    if x is None or dy is None:
        return None
    axes = range(len(x)) if rule.axes is None else [a % len(x) for a in rule.axes]
    if scales is None and sizes is None:
        if rule.policy != "stretch" or given[1]:
            return None
        # Batch and channels may be unknown: Resize keeps them.
        same = [(x[a], dy[a]) == (None, None) and a < 2 for a in axes]
        sizes = np.array([1 if s else dy[a] or -1 for a, s in zip(axes, same, strict=True)])
    stays = _ones(axes, scales, sizes, x)
    if any(x[a] is None and a not in stays for a in axes) or (sizes is not None and -1 in sizes):
        return None
    if rule.coordinates == "tf_crop_and_resize" and roi is None:
        return None
    shape = tuple(1 if d is None else d for d in x)
    found = []
    for axis, out, *how in rule.sizes(shape, scales, sizes, roi):
        table = rule.table(shape[axis], out, *how)
        if table is not None:
            matrix = np.zeros((out, shape[axis]))
            rows = np.broadcast_to(np.arange(out)[:, None], table.index.shape)
            np.add.at(matrix, (rows, table.index), table.weights)
            found.append((axis, np.where(table.outside[:, None], 0.0, matrix)))
    return found


def _ones(
    axes: Sequence[int], scales: Array | None, sizes: Array | None, x: Sequence[int | None]
) -> list[int]:
    """Axes of unknown size that stay as they are: of scale 1, or of a size taken to be 1."""
    given = sizes if scales is None else scales
    if given is None:
        return []
    return [a for a, v in zip(axes, given.tolist(), strict=True) if x[a] is None and v == 1]
