"""Gradients of convolutions and pools in operators of the standard.

With x (n, c, ...), filters (m, c / group, ...) and dy (n, m, ...): the gradient by x is the
transposed convolution of dy, the gradient by the filters is the convolution of x with dy in which
batch and channels are exchanged and strides and dilations too. Paddings are counted from static
sizes; where those are unknown, composed_windows has the model count them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from graphio.onnx.attributes import message_value
from graphio.onnx.composed import nodes
from graphio.schema.model_pb2 import Node

if TYPE_CHECKING:
    from graphio.onnx.emitting import Emitter

__all__ = [
    "average_pool_2d_grad",
    "average_pool_grad",
    "conv_2d_grad_filter",
    "conv_2d_grad_input",
    "conv_grad_input",
    "conv_grad_weight",
    "max_pool_2d_grad",
]

Array = np.ndarray[Any, Any]


@dataclass
class _Window:
    """The window of a node and the static sizes around it, spatial axes only."""

    size: list[int]
    output: list[int]
    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    begin: list[int]
    end: list[int]

    @property
    def pads(self) -> list[int]:
        return [*self.begin, *self.end]

    def reach(self, i: int) -> int:
        """The number of elements that a window spans along axis i."""
        return (self.kernel[i] - 1) * self.dilations[i] + 1


def _attribute(node: Node, key: str, default: Any) -> Any:
    for attribute in node.attr:
        if attribute.key == key:
            return message_value(attribute.value)
    return default


def _static(emit: Emitter, value: str, axes: slice) -> list[int]:
    """Sizes that are known."""
    return [d for d in (emit.dims(value) or [])[axes] if d is not None]


def _known(emit: Emitter, *ranges: tuple[str, int, int | None]) -> bool:
    """Whether the sizes of values from one axis to another are static."""
    shapes = [(emit.dims(value), first, stop) for value, first, stop in ranges]
    return all(dims is not None and None not in dims[first:stop] for dims, first, stop in shapes)


def _window(
    node: Node,
    size: list[int],
    kernel: list[int],
    dy: Sequence[int | None] | None,
    axes: slice,
) -> _Window:
    """The window over an input of the given size.

    Args:
        node: whose attributes say the rest.
        size: of the input.
        kernel: its size.
        dy: the static shape of the windows' gradient, which may be fewer than would fit.
        axes: where its spatial axes are.
    """
    rank = len(size)
    strides = _attribute(node, "strides", None) or [1] * rank
    dilations = _attribute(node, "dilations", None) or [1] * rank
    pads = _attribute(node, "pads", None) or [0] * 2 * rank
    rule = _attribute(node, "auto_pad", "NOTSET")
    made = _Window(size, [], kernel, strides, dilations, pads[:rank], pads[rank:])
    given = [None] * rank if dy is None else dy[axes]
    for i in range(rank):
        if rule == "VALID":
            made.begin[i] = made.end[i] = 0
        elif rule.startswith("SAME"):
            steps = -(-size[i] // strides[i])
            total = max((steps - 1) * strides[i] + made.reach(i) - size[i], 0)
            small = total // 2
            first = small if rule == "SAME_UPPER" else total - small
            made.begin[i], made.end[i] = first, total - first
        whole = size[i] + made.begin[i] + made.end[i] - made.reach(i)
        known = given[i]
        made.output.append(_windows(node, made, i, whole) if known is None else known)
    return made


def _windows(node: Node, window: _Window, i: int, last: int) -> int:
    """The number of windows along axis i, whose last one starts at `last` at most."""
    if not _attribute(node, "ceil_mode", 0):
        return last // window.strides[i] + 1
    count = -(-last // window.strides[i]) + 1
    beyond = (count - 1) * window.strides[i] >= window.size[i] + window.begin[i]
    return count - 1 if beyond else count  # none starts in the padding at the end


def _to_channels_first(emit: Emitter, value: str, base: str) -> str:
    return emit.add("Transpose", [value], base, perm=[0, 3, 1, 2])


def _to_channels_last(emit: Emitter, value: str, output: str) -> None:
    emit.rename_last(emit.add("Transpose", [value], output, perm=[0, 2, 3, 1]), output)


# ---- convolutions ----


def conv_2d_grad_input(emit: Emitter, node: Node, inputs: list[str], outputs: list[str]) -> None:
    """Conv2DGradInput: channels last."""
    if not _known(emit, (node.name, 1, 3), (node.input[1], 0, 2)):
        nodes.conv_2d_grad_input(emit, node, inputs, outputs)
        return
    size = _static(emit, node.name, slice(1, 3))
    kernel = _static(emit, node.input[1], slice(0, 2))
    window = _window(node, size, kernel, emit.dims(node.input[2]), slice(1, 3))
    filters = emit.add("Transpose", [inputs[1]], f"{node.name}/filters", perm=[3, 2, 0, 1])
    dy = _to_channels_first(emit, inputs[2], f"{node.name}/dy")
    dx = transposed(emit, dy, filters, window, _attribute(node, "group", 1), node.name)
    _to_channels_last(emit, dx, outputs[0])


def conv_grad_input(emit: Emitter, node: Node, inputs: list[str], outputs: list[str]) -> None:
    """ConvGradInput: channels first, any number of spatial axes."""
    if not _known(emit, (node.name, 2, None), (node.input[1], 2, None)):
        nodes.conv_grad_input(emit, node, inputs, outputs)
        return
    size = _static(emit, node.name, slice(2, None))
    kernel = _static(emit, node.input[1], slice(2, None))
    window = _window(node, size, kernel, emit.dims(node.input[2]), slice(2, None))
    group = _attribute(node, "group", 1)
    emit.rename_last(transposed(emit, inputs[2], inputs[1], window, group, node.name), outputs[0])


def transposed(emit: Emitter, dy: str, filters: str, window: _Window, group: int, base: str) -> str:
    """The transposed convolution of dy, of the size that the window's input has."""
    rank = len(window.size)
    missing = [
        window.size[i] + window.begin[i] + window.end[i]
        - ((window.output[i] - 1) * window.strides[i] + window.reach(i))
        for i in range(rank)
    ]  # fmt: skip
    # What the last windows leave out is an output_padding, which must be less than a stride; more
    # of it, or less than nothing, goes to the pads, which may be negative only as a Pad.
    direct = all(0 <= m < s for m, s in zip(missing, window.strides, strict=True))
    made = emit.add(
        "ConvTranspose",
        [dy, filters],
        f"{base}/dx",
        strides=window.strides,
        dilations=window.dilations,
        pads=window.pads if direct else [0] * 2 * rank,
        output_padding=missing if direct else [0] * rank,
        group=group,
    )
    if direct:
        return made
    cut = [0, 0, *(-p for p in window.begin), 0, 0]
    cut += [m - p for m, p in zip(missing, window.end, strict=True)]
    return emit.add("Pad", [made, emit.constant(cut, np.int64, f"{base}/pads")], f"{base}/cut")


def conv_2d_grad_filter(emit: Emitter, node: Node, inputs: list[str], outputs: list[str]) -> None:
    """Conv2DGradFilter: channels last."""
    if not _known(emit, (node.input[0], 1, 3), (node.name, 0, 2)):
        nodes.conv_2d_grad_filter(emit, node, inputs, outputs)
        return
    size = _static(emit, node.input[0], slice(1, 3))
    kernel = _static(emit, node.name, slice(0, 2))
    window = _window(node, size, kernel, emit.dims(node.input[2]), slice(1, 3))
    x = _to_channels_first(emit, inputs[0], f"{node.name}/x")
    dy = _to_channels_first(emit, inputs[2], f"{node.name}/dy")
    dw = _correlation(emit, node, x, dy, window)
    emit.rename_last(emit.add("Transpose", [dw], f"{node.name}/dw", perm=[2, 3, 1, 0]), outputs[0])


def conv_grad_weight(emit: Emitter, node: Node, inputs: list[str], outputs: list[str]) -> None:
    """ConvGradWeight: channels first, any number of spatial axes."""
    if not _known(emit, (node.input[0], 2, None), (node.name, 2, None)):
        nodes.conv_grad_weight(emit, node, inputs, outputs)
        return
    size = _static(emit, node.input[0], slice(2, None))
    kernel = _static(emit, node.name, slice(2, None))
    window = _window(node, size, kernel, emit.dims(node.input[2]), slice(2, None))
    emit.rename_last(_correlation(emit, node, inputs[0], inputs[2], window), outputs[0])


def _correlation(emit: Emitter, node: Node, x: str, dy: str, window: _Window) -> str:
    """x with dy as filters, batch and channels changed: (m, c / group, ...)."""
    rank = len(window.size)
    group = _attribute(node, "group", 1)
    changed = [1, 0, *range(2, rank + 2)]
    whole = emit.add(
        "Conv",
        [
            _grouped(emit, node, x, group, window.size),
            emit.add("Transpose", [dy], f"{node.name}/filters", perm=changed),
        ],
        f"{node.name}/whole",
        strides=window.dilations,
        dilations=window.strides,
        pads=window.pads,
        group=group,
    )
    cut = emit.add(
        "Slice",
        [
            whole,
            emit.constant([0] * rank, np.int64, f"{node.name}/starts"),
            emit.constant(window.kernel, np.int64, f"{node.name}/ends"),
            emit.constant(range(2, rank + 2), np.int64, f"{node.name}/axes"),
        ],
        f"{node.name}/cut",
    )
    return emit.add("Transpose", [cut], f"{node.name}/changed", perm=changed)


def _grouped(emit: Emitter, node: Node, x: str, group: int, size: Sequence[int]) -> str:
    """x (n, group * c, ...) as (c, group * n, ...)."""
    rank = len(size)
    if group == 1:
        return emit.add("Transpose", [x], f"{node.name}/first", perm=[1, 0, *range(2, rank + 2)])
    split = emit.constant([0, group, -1, *size], np.int64, f"{node.name}/split")
    parts = emit.add("Reshape", [x, split], f"{node.name}/parts")
    first = emit.add(
        "Transpose", [parts], f"{node.name}/first", perm=[2, 1, 0, *range(3, rank + 3)]
    )
    joined = emit.constant([0, -1, *size], np.int64, f"{node.name}/joined")
    return emit.add("Reshape", [first, joined], f"{node.name}/joined")


# ---- pools ----


def max_pool_2d_grad(emit: Emitter, node: Node, inputs: list[str], outputs: list[str]) -> None:
    """MaxPool2DGrad: dy added at the indices of MaxPool's second output."""
    x = _to_channels_first(emit, inputs[0], f"{node.name}/x")
    dy = _to_channels_first(emit, inputs[1], f"{node.name}/dy")
    attrs = {a.key: message_value(a.value) for a in node.attr}
    at = emit.add("MaxPool", [x], f"{node.name}/max", second=True, **attrs)
    line = emit.constant([-1], np.int64, f"{node.name}/line")
    shape = emit.add("Shape", [x], f"{node.name}/shape")
    count = emit.add("Reshape", [emit.add("Size", [x], f"{node.name}/size"), line],
                     f"{node.name}/count")  # fmt: skip
    zeros = emit.add("ConstantOfShape", [count], f"{node.name}/zeros")
    typed = emit.add("CastLike", [zeros, dy], f"{node.name}/typed")
    flat = emit.add("Reshape", [dy, line], f"{node.name}/flat")
    positions = emit.add("Reshape", [at, line], f"{node.name}/places")
    added = emit.add(
        "ScatterElements", [typed, positions, flat], f"{node.name}/added", axis=0, reduction="add"
    )
    _to_channels_last(emit, emit.add("Reshape", [added, shape], f"{node.name}/dx"), outputs[0])


def average_pool_2d_grad(emit: Emitter, node: Node, inputs: list[str], outputs: list[str]) -> None:
    """AveragePool2DGrad: channels last."""
    if not _known(emit, (node.name, 1, 3)):
        nodes.average_pool_2d_grad(emit, node, inputs, outputs)
        return
    size = _static(emit, node.name, slice(1, 3))
    window = _window(
        node, size, _attribute(node, "kernel_shape", []), emit.dims(node.input[1]), slice(1, 3)
    )
    dy = _to_channels_first(emit, inputs[1], f"{node.name}/dy")
    _to_channels_last(emit, _spread(emit, node, dy, window, "window"), outputs[0])


def average_pool_grad(emit: Emitter, node: Node, inputs: list[str], outputs: list[str]) -> None:
    """AveragePoolGrad: channels first, any number of spatial axes."""
    if not _known(emit, (node.name, 2, None)):
        nodes.average_pool_grad(emit, node, inputs, outputs)
        return
    size = _static(emit, node.name, slice(2, None))
    kernel = _attribute(node, "kernel_shape", [])
    window = _window(node, size, kernel, emit.dims(node.input[1]), slice(2, None))
    divisor = _attribute(node, "divisor", "window")
    emit.rename_last(_spread(emit, node, inputs[1], window, divisor), outputs[0])


def _spread(emit: Emitter, node: Node, dy: str, window: _Window, divisor: str) -> str:
    """dy over the number of elements of its window, spread over the window, channel by channel."""
    base = node.name
    if divisor != "one":
        counts = np.ones(())
        for i in range(len(window.size)):
            counts = np.multiply.outer(counts, _counts(window, i, divisor == "padded"))
        number = emit.constant(counts, np.float64, f"{base}/counts")
        dy = emit.add(
            "Div", [dy, emit.add("CastLike", [number, dy], f"{base}/number")], f"{base}/share"
        )
    planes = emit.constant([-1, 1, *window.output], np.int64, f"{base}/planes")
    alone = emit.add("Reshape", [dy, planes], f"{base}/alone")
    ones = emit.constant(np.ones((1, 1, *window.kernel)), np.float64, f"{base}/ones")
    filters = emit.add("CastLike", [ones, dy], f"{base}/filters")
    made = transposed(emit, alone, filters, window, 1, base)
    shape = emit.add("Shape", [dy], f"{base}/shape", end=2)
    target = emit.add(
        "Concat", [shape, emit.constant(window.size, np.int64, f"{base}/size")],
        f"{base}/target", axis=0,
    )  # fmt: skip
    return emit.add("Reshape", [made, target], f"{base}/spread")


def _counts(window: _Window, i: int, padded: bool) -> Any:
    """The number of taps of each window along axis i that count: in the image, or in its padding
    too."""
    first = np.arange(window.output[i]) * window.strides[i] - window.begin[i]
    taps = first[:, None] + np.arange(window.kernel[i]) * window.dilations[i]
    least, most = 0, window.size[i]
    if padded:
        least, most = least - window.begin[i], most + window.end[i]
    return np.maximum(np.sum((taps >= least) & (taps < most), axis=1), 1)
