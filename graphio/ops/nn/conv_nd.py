"""Gradients of ONNX's convolutions, channels first, any number of spatial axes.

Conv and the operators ConvGradInput and ConvGradWeight are linear in both of their tensors, so
each one's gradients are made of the other two.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphio.framework.constants import constant
from graphio.framework.gradient_registry import gradient, not_differentiable
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base import primitive
from graphio.ops.base.emit import node
from graphio.ops.base.shapes import Dims, dims_of
from graphio.support import errors

Gradients = Sequence["Tensor | None"]
Attributes = Mapping[str, Any]

_KEYS = ("strides", "pads", "dilations", "group", "auto_pad", "kernel_shape")


def _attributes(op: Operation) -> dict[str, Any]:
    return {key: op.attrs[key] for key in _KEYS if key in op.attrs}


def _rank(*tensors: Tensor) -> int:
    """The rank of tensors that share one."""
    for tensor in tensors:
        if tensor.shape.ndims is not None:
            return tensor.shape.ndims
    raise errors.UnimplementedError(
        message=f"the gradient of a convolution of '{tensors[0].name}', whose rank is not known"
    )


def _input_gradient(
    x_shape: Tensor, w: Tensor, dy: Tensor, attrs: Attributes, dims: Dims
) -> Tensor:
    given = [x_shape, w, dy]
    return node("ConvGradInput", given, dy.dtype, dims, domain="graphio", **attrs)


def _weight_gradient(
    x: Tensor, w_shape: Tensor, dy: Tensor, attrs: Attributes, dims: Dims
) -> Tensor:
    given = [x, w_shape, dy]
    return node("ConvGradWeight", given, dy.dtype, dims, domain="graphio", **attrs)


def _convolve(x: Tensor, w: Tensor, attrs: Attributes, like: Tensor) -> Tensor:
    """Conv of x with w: the first windows along each axis, as many as `like` has."""
    rank = _rank(x, w, like)
    y = node("Conv", [x, w], x.dtype, (None,) * rank, version=11, **attrs)
    axes = primitive.int_vector(range(2, rank))
    starts = primitive.int_vector([0] * (rank - 2))
    ends = primitive.gather(primitive.shape_of(like), axes, 0)
    return node("Slice", [y, starts, ends, axes], y.dtype, dims_of(like) or (None,) * rank)


def _bias_gradient(op: Operation, dy: Tensor) -> list[Tensor]:
    """The sum over everything but channels, if there is a bias."""
    if len(op.inputs) < 3 or op.inputs[2] is None:
        return []
    b, rank = op.inputs[2], _rank(dy, op.inputs[0], op.inputs[1])
    return [primitive.reduce_sum(dy, [0, *range(2, rank)], False, dims_of(b))]


@gradient("Conv")
def _conv_gradient(op: Operation, dy: Tensor) -> Gradients:
    x, w = op.inputs[:2]
    attrs = _attributes(op)
    return [
        _input_gradient(primitive.shape_of(x), w, dy, attrs, dims_of(x)),
        _weight_gradient(x, primitive.shape_of(w), dy, attrs, dims_of(w)),
        *_bias_gradient(op, dy),
    ]


@gradient("ConvGradInput", domain="graphio")
def _input_gradient_gradient(op: Operation, ddx: Tensor) -> Gradients:
    """By w the weights' gradient with ddx as the image; by dy the convolution of ddx."""
    _, w, dy = op.inputs
    attrs = _attributes(op)
    return [
        None,
        _weight_gradient(ddx, primitive.shape_of(w), dy, attrs, dims_of(w)),
        _convolve(ddx, w, attrs, dy),
    ]


@gradient("ConvGradWeight", domain="graphio")
def _weight_gradient_gradient(op: Operation, ddw: Tensor) -> Gradients:
    """By x the image's gradient with ddw as the weights; by dy the convolution with ddw."""
    x, _, dy = op.inputs
    attrs = _attributes(op)
    return [
        _input_gradient(primitive.shape_of(x), ddw, dy, attrs, dims_of(x)),
        None,
        _convolve(x, ddw, attrs, dy),
    ]


# ---- ConvTranspose: the image's gradient of a convolution of its result ----


def _transposed_attributes(op: Operation) -> dict[str, Any]:
    """The attributes of the convolution that ConvTranspose turns around, its pads spelled out."""
    x, w = op.inputs[:2]
    rank = _rank(x, w) - 2
    attrs = _attributes(op)
    mode = op.attrs.get("auto_pad", "NOTSET")
    mode = mode.decode() if isinstance(mode, bytes) else mode
    same, requested = str(mode).startswith("SAME"), op.attrs.get("output_shape")
    attrs.pop("auto_pad", None)
    if requested is None and not same:
        pads = list(attrs.get("pads") or [0] * (2 * rank)) if mode == "NOTSET" else [0] * (2 * rank)
    else:
        pads = _computed_pads(op, rank, str(mode), requested)
    # Enough padding at the end for the last window; what is too many is cut off.
    gaps = attrs.get("dilations") or [1] * rank
    steps = attrs.get("strides") or [1] * rank
    extra = max(*gaps, *steps)
    attrs["pads"] = pads[:rank] + [p + extra for p in pads[rank:]]
    return attrs


def _computed_pads(op: Operation, rank: int, mode: str, requested: Any) -> list[int]:
    x, w = dims_of(op.inputs[0]), dims_of(op.inputs[1])
    sizes: list[Any] = [None] * rank if x is None else list(x[2:])
    kernel = op.attrs.get("kernel_shape") or (None if w is None else list(w[2:]))
    steps = op.attrs.get("strides") or [1] * rank
    gaps = op.attrs.get("dilations") or [1] * rank
    extra = op.attrs.get("output_padding") or [0] * rank
    if kernel is None or None in kernel or (requested is not None and None in sizes):
        raise errors.UnimplementedError(
            message=f"the gradient of ConvTranspose '{op.name}': its pads depend on the shapes of "
            "x and w, which are not known while the graph is built; give pads instead"
        )
    before, after = [], []
    for i in range(rank):
        reach = (kernel[i] - 1) * gaps[i] + 1
        if requested is None:  # the result is x's size times the stride
            total = max(reach - steps[i] + extra[i], 0)
        else:
            total = max(steps[i] * (sizes[i] - 1) + extra[i] + reach - requested[-rank:][i], 0)
        small = total // 2
        before.append(small if mode == "SAME_UPPER" else total - small)
        after.append(total - before[i])
    return before + after


@gradient("ConvTranspose")
def _conv_transpose_gradient(op: Operation, dy: Tensor) -> Gradients:
    x, w = op.inputs[:2]
    attrs = _transposed_attributes(op)
    return [
        _convolve(dy, w, attrs, x),
        _weight_gradient(dy, primitive.shape_of(w), x, attrs, dims_of(w)),
        *_bias_gradient(op, dy),
    ]


# ---- Col2Im: its adjoint is a convolution with weights that pick one tap each ----


@gradient("Col2Im")
def _col2im_gradient(op: Operation, dy: Tensor) -> Gradients:
    columns, _, block = op.inputs
    kernel = primitive.static_vector(block)
    image = primitive.static_vector(op.inputs[1])
    if kernel is None or None in kernel or image is None:
        raise errors.UnimplementedError(
            message=f"the gradient of Col2Im '{op.name}': block_shape is not known while the graph "
            "is built"
        )
    sizes = [int(k) for k in kernel if k is not None]
    taps = math.prod(sizes)
    picks = np.eye(taps, dtype=dy.dtype.as_numpy_dtype).reshape(taps, 1, *sizes)
    attrs = {key: op.attrs[key] for key in ("strides", "pads", "dilations") if key in op.attrs}
    spatial = primitive.slice_axes(primitive.shape_of(dy), [2], [2 + len(sizes)], [0])
    alone = primitive.concat([primitive.int_vector([-1, 1]), spatial], 0)
    planes = primitive.reshape(dy, alone, (None, 1, *image))
    y = node("Conv", [planes, constant(picks)], dy.dtype, (None, taps, *(None for _ in sizes)),
             version=11, **attrs)  # fmt: skip
    return [primitive.reshape_to(y, primitive.shape_of(columns), dims_of(columns)), None, None]


not_differentiable("ConvInteger", "QLinearConv")
