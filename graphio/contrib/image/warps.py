"""Images moved by a flow of each pixel, and splines that make one of a few points."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.framework import scopes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.ops.checks.asserts import assert_greater_equal
from graphio.ops.linalg.matmul import matmul
from graphio.ops.linalg.solving import matrix_solve
from graphio.ops.math import elementwise, reduction
from graphio.support import api_guard

__all__ = ["dense_image_warp", "interpolate_spline", "sparse_image_warp"]

#: keeps logarithms and roots of distances finite
_LEAST = 1e-10


@api_guard.operator
def dense_image_warp(image: Any, flow: Any, name: str = "dense_image_warp") -> Tensor:
    """An image whose pixel (y, x) is the image's at (y, x) - flow, interpolated bilinearly.

    Positions outside are those of the edge.

    Args:
        image: (n, height, width, channels), of two rows and columns at least.
        flow: (n, height, width, 2): rows, columns.

    Raises:
        InvalidArgumentError: the image has one row or column; when run, if that is not known.
    """
    with scopes.name_scope(name):
        given, moved = convert_to_tensor(image), convert_to_tensor(flow)
        shape = array.shape(given)
        checks = [
            assert_greater_equal(shape[axis], 2, message=f"Grid {side} must be at least 2.")
            for axis, side in ((1, "height"), (2, "width"))
        ]
        with scopes.control_dependencies(checks):
            shape = array.identity(shape)
        tops, offsets = [], []
        for axis in (1, 2):
            size = elementwise.cast(shape[axis], moved.dtype)
            broad = [1, -1, 1] if axis == 1 else [1, 1, -1]
            steps = elementwise.cast(array.reshape(array.range(shape[axis]), broad), moved.dtype)
            position = steps - moved[:, :, :, axis - 1]
            whole = elementwise.maximum(elementwise.floor(position), 0.0)
            top = elementwise.minimum(whole, size - 2.0)
            offset = elementwise.minimum(elementwise.maximum(position - top, 0.0), 1.0)
            tops.append(elementwise.to_int32(top))
            offsets.append(array.expand_dims(elementwise.cast(offset, given.dtype), 3))
        number = array.reshape(array.range(shape[0]), [-1, 1, 1])
        first = (number * shape[1] + tops[0]) * shape[2] + tops[1]
        flat = array.reshape(given, array.stack([-1, shape[3]]))

        def row(at: Tensor) -> Tensor:
            left, right = index.gather(flat, at), index.gather(flat, at + 1)
            return offsets[1] * (right - left) + left

        upper, lower = row(first), row(first + shape[2])
        result = offsets[0] * (lower - upper) + upper
        result.set_shape(given.shape)
        return result


@api_guard.operator
def interpolate_spline(
    train_points: Any,
    train_values: Any,
    query_points: Any,
    order: int,
    regularization_weight: float = 0.0,
    name: str = "interpolate_spline",
) -> Tensor:
    """Values between points by a polyharmonic spline.

    Args:
        train_points: (n, points, d); train_values: (n, points, k).
        query_points: (n, queries, d).
        order: of the spline: 1, 2 (thin plate), 3, ...
        regularization_weight: how much smoother than through all values.

    Returns:
        (n, queries, k).

    Raises:
        ValueError: d or k is not known.
    """
    with scopes.name_scope(name):
        points, values = convert_to_tensor(train_points), convert_to_tensor(train_values)
        queries = convert_to_tensor(query_points)
        for tensor, word in ((points, "input points (d)"), (values, "output values (k)")):
            if tensor.shape.as_list()[-1] is None:
                raise ValueError(f"The dimensionality of the {word} must be statically-inferrable.")
        kernel = _kernel(_squares(points, points), order)
        if regularization_weight > 0:
            size = array.shape(points)[1]
            kernel = kernel + regularization_weight * array.eye(size, dtype=points.dtype)
        linear = _with_ones(points)
        across = array.transpose(linear, [0, 2, 1])
        corner = matmul(array.zeros_like(across), array.zeros_like(linear))
        left = array.concat([kernel, across], 1)
        system = array.concat([left, array.concat([linear, corner], 1)], 2)
        rest = matmul(array.zeros_like(across), array.zeros_like(values))
        weights = matrix_solve(system, array.concat([values, rest], 1))
        count = array.shape(points)[1]
        near = matmul(_kernel(_squares(queries, points), order), weights[:, :count, :])
        return near + matmul(_with_ones(queries), weights[:, count:, :])


def _with_ones(points: Tensor) -> Tensor:
    return array.concat([points, array.ones_like(points[:, :, :1])], 2)


def _squares(one: Tensor, two: Tensor) -> Tensor:
    """(n, a, b): squared distances of points."""
    first = reduction.reduce_sum(elementwise.square(one), 2, keepdims=True)
    second = reduction.reduce_sum(elementwise.square(two), 2, keepdims=True)
    dots = matmul(one, two, transpose_b=True)
    return first - 2.0 * dots + array.transpose(second, [0, 2, 1])


def _kernel(squares: Tensor, order: int) -> Tensor:
    """distance^order, times its logarithm for even orders."""
    distance = elementwise.maximum(squares, _LEAST)
    if order == 1:
        return elementwise.sqrt(distance)
    if order in (2, 4):
        power = squares if order == 2 else elementwise.square(squares)
        return 0.5 * power * elementwise.log(distance)
    power = elementwise.pow(distance, 0.5 * order)
    return power if order % 2 else 0.5 * power * elementwise.log(distance)


@api_guard.operator
def sparse_image_warp(
    image: Any,
    source_control_point_locations: Any,
    dest_control_point_locations: Any,
    interpolation_order: int = 2,
    regularization_weight: float = 0.0,
    num_boundary_points: int = 0,
    name: str = "sparse_image_warp",
) -> tuple[Tensor, Tensor]:
    """An image that moves some points to others, and the flow (n, height, width, 2).

    Args:
        image: (n, height, width, channels) of known shape.
        source_control_point_locations, dest_control_point_locations: (n, points, 2): rows,
            columns.
        interpolation_order, regularization_weight: as of interpolate_spline.
        num_boundary_points: how many points of each edge stay; 0: none.

    Raises:
        ValueError: a size of the image is not known.
    """
    with scopes.name_scope(name):
        given = convert_to_tensor(image)
        source = convert_to_tensor(source_control_point_locations)
        target = convert_to_tensor(dest_control_point_locations)
        flows = target - source
        sizes = given.get_shape().as_list()[:3]
        if None in sizes:
            raise ValueError(
                f"sparse_image_warp: the image has the shape {given.get_shape()}, "
                "expected known sizes but for the channels"
            )
        number, height, width = (int(size or 0) for size in sizes)
        if num_boundary_points > 0:
            edge = _boundary(height, width, num_boundary_points + 1)
            fixed = np.broadcast_to(edge, (number, *edge.shape))
            target = array.concat([target, constant(fixed, target.dtype)], 1)
            still = constant(np.zeros(fixed.shape), flows.dtype)
            flows = array.concat([flows, still], 1)
        rows, columns = np.indices((height, width))
        grid = np.stack([rows.ravel(), columns.ravel()], -1)
        positions = constant(np.broadcast_to(grid, (number, *grid.shape)), given.dtype)
        moved = interpolate_spline(
            target, flows, positions, interpolation_order, regularization_weight
        )
        dense = array.reshape(moved, [number, height, width, 2])
        return dense_image_warp(given, dense), dense


def _boundary(height: int, width: int, points: int) -> Any:
    """Points of the edges, among so many rows and columns that are spread over the image."""
    rows, columns = np.linspace(0, height - 1, points), np.linspace(0, width - 1, points)
    y, x = np.meshgrid(rows, columns, indexing="ij")
    edge = (x == 0) | (x == width - 1) | (y == 0) | (y == height - 1)
    return np.stack([y[edge], x[edge]], -1)
