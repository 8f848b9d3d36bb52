"""Normalisation by statistics, weighted moments, and losses and embeddings of several parts."""

from __future__ import annotations

import math as _math
from collections.abc import Sequence
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.operation import TENSORFLOW_ATTRIBUTES
from graphio.framework.save_slice_info import parts_of
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    FLOATING,
    INTEGER,
    describe,
    like,
    node,
    operands,
    renamed,
    require,
    scalar,
    scope,
)
from graphio.ops.base.primitive import binary, cast, compare, select
from graphio.ops.base.shapes import dims_of
from graphio.ops.math import elementwise, reduction
from graphio.ops.math.arithmetic import div_no_nan
from graphio.ops.nn import core as nn
from graphio.ops.nn.padding import channels_first, to_nchw, to_nhwc
from graphio.support import api_guard

__all__ = [
    "batch_norm_with_global_normalization",
    "embedding_lookup",
    "fused_batch_norm",
    "local_response_normalization",
    "log_poisson_loss",
    "lrn",
    "normalize_moments",
    "sufficient_statistics",
    "weighted_moments",
]

# ---- normalisation ----


@api_guard.operator
def local_response_normalization(
    input: Any,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """x / (bias + alpha * the sum of squares of the channels up to depth_radius away) ^ beta.

    Args:
        input: floating (n, h, w, c).
        depth_radius: how many channels to each side.
        bias: keeps the divisor from 0.
        alpha: factor of the sum.
        beta: exponent.
        name: of the operation.

    Raises:
        ValueError: the rank is not 4, or depth_radius is negative.
    """
    with scope(name, "LRN") as at:
        x = convert_to_tensor(input, name="input")
        require(x, FLOATING, "LRN", "input")
        x = primitive.of_rank(x, 4)
        if x.shape.ndims != 4 or depth_radius < 0:
            raise ValueError(
                f"Shape must be rank 4 and depth_radius not negative, got {shapes.text_of(x)} and "
                f"{depth_radius} for {describe(at, 'LRN')}"
            )
        size = 2 * int(depth_radius) + 1
        front = primitive.transpose(x, [0, 3, 1, 2])
        # The operator divides alpha by the window's size.
        attrs: dict[str, Any] = {"size": size, "alpha": float(alpha) * size, "beta": float(beta)}
        y = node("LRN", [front], x.dtype, dims_of(front), bias=float(bias), **attrs)
        return primitive.transpose(y, [0, 2, 3, 1], at)


lrn = local_response_normalization


@api_guard.operator
def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch normalisation of images over all axes but the channels.

    Args:
        x: floating (n, h, w, c), or (n, c, h, w) with NCHW; (n, d, h, w, c) or (n, c, d, h, w)
            with NDHWC or NCDHW. float16 and bfloat16 are computed in float32, which all vectors
            then have.
        scale: vector (c).
        offset: vector (c).
        mean: vector (c), given if not is_training, or if exponential_avg_factor is not 1.
        variance: vector (c), given as mean is.
        epsilon: keeps the root from 0.
        data_format: NHWC, NCHW, NDHWC or NCDHW.
        is_training: True takes mean and variance from x.
        name: of the operation.
        exponential_avg_factor: how much of x's own mean and variance is in those of a training
            step that are returned; the rest are the given ones.

    Returns:
        (y, mean, variance); the variance of a training step is that of the sample (divided by
        one less than the count), that used for y divides by the count.

    Raises:
        ValueError: mean and variance are not given where they are needed, or the rank is not the
            format's.
    """
    if data_format in ("NDHWC", "NCDHW"):
        rest = (mean, variance, epsilon, is_training, name, exponential_avg_factor)
        return _fused_of_volumes(x, scale, offset, data_format == "NCDHW", *rest)
    first = channels_first(data_format, "FusedBatchNorm")
    needed = not is_training or exponential_avg_factor != 1
    if needed and (mean is None or variance is None):
        raise ValueError(
            "Both 'mean' and 'variance' must be given when is_training is False or "
            "exponential_avg_factor is not 1"
        )
    with scope(name, "FusedBatchNorm") as at:
        given = convert_to_tensor(x, name="x")
        if given.shape.ndims != 4:
            raise ValueError(
                f"Shape must be rank 4 but is {shapes.text_of(given)} for "
                f"{describe(at, 'FusedBatchNorm')}"
            )
        tensor = to_nhwc(given, first)
        if given.dtype in (dtypes.float16, dtypes.bfloat16):
            tensor = cast(tensor, dtypes.float32)
        if is_training:
            used_mean, used_variance = nn.moments(tensor, [0, 1, 2])
            dims = dims_of(tensor)
            assert dims is not None
            total = primitive.count(tensor, dtypes.int64)
            last = primitive.gather(primitive.shape_of(tensor), scalar(3, dtypes.int64), 0)
            one = scalar(1, dtypes.int64)
            rows = binary("Div", total, binary("Max", last, one))
            less = binary("Max", binary("Sub", rows, one), one)
            factor = binary("Div", cast(rows, tensor.dtype), cast(less, tensor.dtype))
            unbiased = binary("Mul", used_variance, factor)
        else:
            used_mean = like(mean, tensor, "FusedBatchNorm", ("x", "mean"))
            used_variance = like(variance, tensor, "FusedBatchNorm", ("x", "variance"))
            unbiased = used_variance
        narrows = tensor.dtype != given.dtype
        label = None if first or narrows else at
        y = nn.batch_normalization(
            tensor, used_mean, used_variance, offset, scale, epsilon, name=label
        )
        if narrows:
            y = elementwise.cast(y, given.dtype, name=None if first else at)
        if is_training and exponential_avg_factor != 1:
            pairs = ((used_mean, mean), (unbiased, variance))
            used_mean, unbiased = (_between(*p, exponential_avg_factor) for p in pairs)
        y = to_nchw(y, first, at)
        _attribute(y, epsilon, data_format, is_training)
        return y, used_mean, unbiased


def _attribute(y: Tensor, epsilon: float, data_format: str, is_training: bool) -> None:
    """Gives the operation of y the attributes of TensorFlow's FusedBatchNorm."""
    TENSORFLOW_ATTRIBUTES.of(y.op.graph)[y.op] = {
        "epsilon": float(epsilon), "data_format": data_format.encode(),
        "is_training": bool(is_training),
    }  # fmt: skip


def _between(new: Tensor, old: Any, factor: float) -> Tensor:
    """factor of the new statistics, and the rest of the old ones."""
    before = like(old, new, "FusedBatchNorm", ("x", "mean"))
    return elementwise.add(
        elementwise.multiply(new, factor), elementwise.multiply(before, 1.0 - factor)
    )


def _fused_of_volumes(
    x: Any, scale: Any, offset: Any, first: bool, mean: Any, variance: Any, epsilon: float,
    is_training: bool, name: str | None, factor: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """fused_batch_norm of five axes: depths count as images."""
    with scope(name, "FusedBatchNorm") as at:
        given = convert_to_tensor(x, name="x")
        if given.shape.ndims != 5:
            raise ValueError(
                f"Shape must be rank 5 but is {shapes.text_of(given)} for "
                f"{describe(at, 'FusedBatchNorm')}"
            )
        volumes = primitive.transpose(given, [0, 2, 3, 4, 1]) if first else given
        dims = dims_of(volumes) or ()
        sizes = primitive.slice_axes(primitive.shape_of(volumes), [2], [5], [0])
        flat = primitive.concat([primitive.int_vector([-1]), sizes], 0)
        images = primitive.reshape_to(volumes, flat, (None, *dims[2:]))
        y, used, unbiased = fused_batch_norm(
            images, scale, offset, mean, variance, epsilon, "NHWC", is_training, None, factor
        )
        whole = primitive.reshape_to(y, primitive.shape_of(volumes), dims, None if first else at)
        if first:
            whole = primitive.transpose(whole, [0, 4, 1, 2, 3], at)
        _attribute(whole, epsilon, "NCDHW" if first else "NDHWC", is_training)
        return whole, used, unbiased


@api_guard.operator
def batch_norm_with_global_normalization(
    t: Any = None,
    m: Any = None,
    v: Any = None,
    beta: Any = None,
    gamma: Any = None,
    variance_epsilon: float | None = None,
    scale_after_normalization: bool | None = None,
    name: str | None = None,
    input: Any = None,
    mean: Any = None,
    variance: Any = None,
) -> Tensor:
    """batch_normalization with mean m and variance v; gamma is left out unless it is to scale.
    input, mean and variance are the newer names of t, m and v.

    Raises:
        ValueError: one of them has no value, or two.
    """
    if any((old is None) == (new is None) for old, new in ((t, input), (m, mean), (v, variance))):
        raise ValueError("expected one of t and input, of m and mean, and of v and variance")
    if variance_epsilon is None:
        raise ValueError("expected variance_epsilon")
    t, m, v = (x if x is not None else y for x, y in ((t, input), (m, mean), (v, variance)))
    factor = gamma if scale_after_normalization else None
    return nn.batch_normalization(t, m, v, beta, factor, variance_epsilon, name=name)


# ---- moments ----


@api_guard.operator
def weighted_moments(
    x: Any,
    axes: Any,
    frequency_weights: Any,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance over axes, each element counting as often as its weight says; 0 where
    all weights are 0.

    Args:
        x: floating tensor; of float16 and bfloat16 the sums are built in float32.
        axes: list of axes.
        frequency_weights: tensor that broadcasts with x.
        name: name scope of the operations.
        keep_dims: True leaves the axes with size 1.
        keepdims: the new name of keep_dims.

    Returns:
        (mean, variance).
    """
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with scope(name, "weighted_moments"):
        given = convert_to_tensor(x, name="x")
        require(given, FLOATING, "weighted_moments")
        tensor = cast(given, nn.dtype_of_sums(given.dtype))
        weights = convert_to_tensor(frequency_weights, name="frequency_weights")
        weights = cast(weights, tensor.dtype)
        whole = binary("Mul", primitive.fill_like(tensor, 1), weights)
        total = reduction.reduce_sum(whole, axes, keepdims=True)
        weighted = reduction.reduce_sum(binary("Mul", tensor, weights), axes, keepdims=True)
        mean = div_no_nan(weighted, total)
        apart = elementwise.squared_difference(tensor, mean)
        spread = reduction.reduce_sum(binary("Mul", apart, weights), axes, keepdims=True)
        variance = div_no_nan(spread, total)
        if not keep:
            mean, variance = (reduction.without_ones(m, axes) for m in (mean, variance))
        return cast(mean, given.dtype), cast(variance, given.dtype)


@api_guard.operator
def sufficient_statistics(
    x: Any,
    axes: Any,
    shift: Any = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Sufficient statistics of moments: the count, the sum and the sum of squares over axes.

    Args:
        x: floating tensor of known rank.
        axes: list of axes.
        shift: taken off x first, or None.
        keep_dims: True leaves the axes with size 1.
        name: name scope of the operations.
        keepdims: the new name of keep_dims.

    Returns:
        (count, sum, sum of squares, shift).
    """
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with scope(name, "sufficient_statistics"):
        tensor = convert_to_tensor(x, name="x")
        require(tensor, FLOATING, "sufficient_statistics")
        rank = tensor.shape.ndims
        if rank is None:
            raise ValueError("sufficient_statistics: the rank of x must be known; use set_shape")
        listed = axes if isinstance(axes, (list, tuple)) else [axes]
        positions = shapes.normalize_axes([int(a) for a in listed], rank, "sufficient_statistics")
        sizes = primitive.gather(primitive.shape_of(tensor), primitive.int_vector(positions), 0)
        count = cast(node("ReduceProd", [sizes], dtypes.int64, (), keepdims=0), tensor.dtype)
        moved, by = tensor, None
        if shift is not None:
            by = like(shift, tensor, "sufficient_statistics", ("x", "shift"))
            moved = binary("Sub", tensor, by)
        sums = reduction.reduce_sum(moved, positions, keepdims=keep)
        return (
            count,
            sums,
            reduction.reduce_sum(elementwise.square(moved), positions, keepdims=keep),
            by,
        )


@api_guard.operator
def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance from what sufficient_statistics gives."""
    with scope(name, "normalize"):
        sums = convert_to_tensor(mean_ss, name="mean_ss")
        divisor = elementwise.reciprocal(like(counts, sums, "normalize", ("mean_ss", "counts")))
        apart = elementwise.multiply(sums, divisor)
        mean = apart if shift is None else elementwise.add(apart, shift)
        return mean, elementwise.subtract(
            elementwise.multiply(variance_ss, divisor), elementwise.square(apart)
        )


# ---- losses and embeddings ----


@api_guard.operator
def log_poisson_loss(
    targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """exp(log_input) - log_input * targets, element by element.

    Args:
        targets: floating tensor.
        log_input: tensor of the same dtype and shape, the logarithm of the expected value.
        compute_full_loss: True adds Stirling's approximation of log(targets!) above 1.
        name: of the operation.

    Raises:
        ValueError: the shapes differ.
        TypeError: the dtypes differ.
    """
    with scope(name, "log_poisson_loss") as at:
        x, z = operands(log_input, targets, "log_poisson_loss", ("log_input", "targets"))
        require(x, FLOATING, "log_poisson_loss", "log_input")
        shapes.merge(dims_of(x), dims_of(z), describe(at, "log_poisson_loss"))
        loss = binary("Sub", elementwise.exp(x), binary("Mul", x, z))
        if not compute_full_loss:
            return primitive.unary("Identity", loss, at)
        zero, one, half = (scalar(v, x.dtype) for v in (0, 1, 0.5))
        low = compare("LessOrEqual", z, one)
        safe = select(low, one, z)
        root = binary(
            "Mul", half, elementwise.log(binary("Mul", safe, scalar(2 * _math.pi, x.dtype)))
        )
        growth = binary("Sub", binary("Mul", safe, elementwise.log(safe)), safe)
        # Between 0 and 1 the correction is left out.
        correction = select(low, zero, binary("Add", growth, root))
        return binary("Add", loss, correction, at)


@api_guard.operator
def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """The rows that ids names, of one tensor or of several parts of one.

    Args:
        params: tensor or variable (rows, ...), or a list of them; a PartitionedVariable counts as
            the list of its parts.
        ids: integer tensor of any shape.
        partition_strategy: how several parts share the rows: mod: row i is in part i mod the
            number of parts; div: one part after the other.
        name: of the operation.
        validate_indices: accepted; ids are always checked.
        max_norm: None, or the largest norm that a row may have; longer ones are scaled down.

    Returns:
        A tensor of ids' shape followed by the shape of a row.

    Raises:
        ValueError: params is an empty list, or partition_strategy is neither.
    """
    parts = parts_of(params)
    if not parts:
        raise ValueError("Need at least one param")
    if partition_strategy not in ("mod", "div"):
        raise ValueError(f"Unrecognized partition strategy: {partition_strategy}")
    if len(parts) == 1:
        return nn.embedding_lookup(parts[0], ids, "mod", name, validate_indices, max_norm)
    with scope(name, "embedding_lookup") as at:
        tensors = [convert_to_tensor(p, name=f"params_{i}") for i, p in enumerate(parts)]
        positions = convert_to_tensor(ids, name="ids")
        require(positions, INTEGER, "embedding_lookup", "ids")
        if partition_strategy == "mod":
            positions = _in_turns(tensors, cast(positions, dtypes.int64))
        return nn.embedding_lookup(array.concat(tensors, 0), positions, name=at, max_norm=max_norm)


def _in_turns(parts: Sequence[Tensor], ids: Tensor) -> Tensor:
    """The indices, when one part follows the other, of the rows that the parts hold in turns."""
    sizes = [primitive.slice_axes(primitive.shape_of(p), [0], [1], [0]) for p in parts]
    starts = reduction.cumsum(primitive.concat(sizes, 0), 0, exclusive=True)
    many = scalar(len(parts), dtypes.int64)
    turn = node("Mod", [ids, many], dtypes.int64, dims_of(ids), fmod=0)
    start = index.gather(starts, turn, validate_indices=False)
    return binary("Add", start, binary("Div", ids, many))
