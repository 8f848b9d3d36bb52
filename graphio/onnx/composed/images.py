"""Gradients of resampling, composed for the types and shapes of one node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphio.autodiff.gradients import gradients
from graphio.framework.constants import constant
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.base.emit import node
from graphio.ops.base.primitive import concat, reshape_to, slice_axes, transpose
from graphio.ops.base.shapes import dims_of
from graphio.ops.image.sampling import grid_sample, roi_align, text
from graphio.support import errors

__all__ = ["grid_sample_grad", "resize_grad", "roi_align_grad"]

Attributes = Mapping[str, Any]


def grid_sample_grad(given: Sequence[Any], attrs: Attributes) -> list[Tensor | None]:
    """GridSampleGrad of x, grid, dy."""
    x, grid, dy = given
    return gradients([grid_sample(x, grid, attrs)], [x, grid], [dy])


def roi_align_grad(given: Sequence[Any], attrs: Attributes) -> list[Tensor | None]:
    """RoiAlignGrad of x, rois, batch_indices, dy."""
    x, rois, batch, dy = given
    return gradients([roi_align(x, rois, batch, attrs)], [x], [dy])


def resize_grad(given: Sequence[Any], attrs: Attributes) -> list[Tensor | None]:
    """ResizeGrad of x_shape, dy, roi, scales, sizes: along each axis a matrix multiplication with
    the Resize of the identity.

    Raises:
        UnimplementedError: sizes keep the ratio, so that an axis depends on the others.
    """
    x_shape, dx, roi, scales, sizes = [*given, None, None, None][:5]
    if text(attrs, "keep_aspect_ratio_policy", "stretch") != "stretch":
        raise errors.UnimplementedError(
            message="a policy that keeps the ratio has an ONNX form only with static shapes and "
            "constant sizes; give the placeholder a shape"
        )
    rank = len(dims_of(dx) or ())
    axes = [a % rank for a in attrs.get("axes") or range(rank)]
    crop = text(attrs, "coordinate_transformation_mode", "") == "tf_crop_and_resize"
    kept = {k: v for k, v in attrs.items() if k not in ("axes", "extrapolation_value")}
    factors = None if scales is None else constant_value(scales)
    if factors is not None and not factors.size:
        scales = factors = None
    for k, axis in reversed(list(enumerate(axes))):
        if factors is not None and factors[k] == 1 and not crop:
            continue
        count = _at(x_shape, axis)
        how = [
            concat([_at(roi, k), _one(roi, 0), _at(roi, k + len(axes)), _one(roi, 1)], 0)
            if crop
            else None,
            None if scales is None else concat([_at(scales, k), _one(scales, 1)], 0),
            None if scales is not None else concat([_at(sizes, k), count], 0),
        ]
        weights = node("Resize", [_identity(count, dx), *how], dx.dtype, (None, None), **kept)
        order = [*(i for i in range(rank) if i != axis), axis]
        moved = node("MatMul", [transpose(dx, order), weights], dx.dtype, (None,) * rank)
        dx = transpose(moved, [order.index(i) for i in range(rank)])
    return [reshape_to(dx, x_shape, (None,) * rank)]


def _at(vector: Tensor, k: int) -> Tensor:
    return slice_axes(vector, [k], [k + 1], [0])


def _one(like: Tensor, value: int) -> Tensor:
    return constant(np.asarray([value], like.dtype.base_dtype.as_numpy_dtype))


def _identity(count: Tensor, like: Tensor) -> Tensor:
    """(count, count) of like's dtype."""
    zero = np.zeros(1, like.dtype.base_dtype.as_numpy_dtype)
    square = node(
        "ConstantOfShape", [concat([count, count], 0)], like.dtype, (None, None), value=zero
    )
    return node("EyeLike", [square], like.dtype, (None, None))
