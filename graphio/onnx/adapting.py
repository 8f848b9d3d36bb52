"""Inputs of a node as its kernels take them, where the standard or ONNX Runtime admits others: a
signal without its last dimension, a slice backwards from before the first element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx

from graphio.framework.constants import constant
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.base.primitive import binary, cast, gather, int_vector, shape_of, unsqueeze
from graphio.ops.base.shapes import dims_of

__all__ = ["adapted"]

Inputs = Sequence["Tensor | None"]


def adapted(node: onnx.NodeProto, inputs: Inputs) -> Inputs | None:
    """The inputs that a node of the standard gets instead of the given ones.

    Args:
        node: the node.
        inputs: its inputs; None for absent ones.

    Returns:
        Other inputs, of which the node makes what it should; None where its own are right.
    """
    rule = _RULES.get(node.op_type)
    return None if rule is None or not inputs or inputs[0] is None else rule(inputs)


def _stft(inputs: Inputs) -> Inputs | None:
    """A real signal may come without the dimension of its one part, as torch writes it."""
    signal, *rest = inputs
    if signal is None or signal.shape.ndims != 2:
        return None
    return [unsqueeze(signal, [2]), *rest]


def _slice(inputs: Inputs) -> Inputs | None:
    """Backwards from before the first element is from the first one. The kernels, as Python does,
    take nothing then."""
    data, starts, ends, axes, steps = [*inputs, None, None, None, None][:5]
    if data is None or starts is None or steps is None:
        return None
    first, step = constant_value(starts), constant_value(steps)
    if first is None or step is None or first.ndim != 1 or first.shape != step.shape:
        return None
    positions = np.arange(first.size) if axes is None else constant_value(axes)
    if positions is None or positions.shape != first.shape:
        return None
    if not any(_early(data, *row) for row in zip(first, step, positions, strict=True)):
        return None
    sizes = gather(shape_of(data), int_vector(positions.tolist()), 0)
    least = binary("Sub", constant(np.asarray(0, np.int64)), sizes)
    return [data, binary("Max", starts, cast(least, starts.dtype)), ends, axes, steps]


def _early(data: Tensor, first: int, step: int, axis: int) -> bool:
    """Whether a slice goes backwards from an index that is, or may be, before the first element."""
    dims = dims_of(data)
    known = dims is not None and -len(dims) <= axis < len(dims)
    size = dims[axis] if dims is not None and known else None
    return step < 0 and first < -(1 if size is None else size)


_RULES: dict[str, Callable[[Inputs], Inputs | None]] = {"STFT": _stft, "Slice": _slice}
