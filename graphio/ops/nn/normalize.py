"""Gradients of the normalizations, through equal compositions."""

from __future__ import annotations

from collections.abc import Sequence

from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base import primitive
from graphio.ops.base.emit import node, scalar
from graphio.ops.base.primitive import binary, compare, last, select, unary
from graphio.ops.base.recompute import by_parts
from graphio.ops.base.shapes import dims_of
from graphio.ops.math import elementwise, reduction

Gradients = Sequence["Tensor | None"]


def _rank(op: Operation) -> int:
    x = op.inputs[0]
    rank = None if x is None else x.shape.ndims
    if rank is None:
        raise LookupError(f"{op.op} '{op.name}'{op.where}: the gradient needs the rank of x")
    return int(rank)


def _last_axes(op: Operation) -> list[int]:
    rank, axis = _rank(op), int(op.attrs.get("axis", -1))
    return list(range(axis % rank, rank))


def _epsilon(op: Operation, x: Tensor) -> Tensor:
    return scalar(float(op.attrs.get("epsilon", 1e-5)), x.dtype)


def _mean(x: Tensor, axes: Sequence[int]) -> Tensor:
    return reduction.reduce_mean(x, list(axes), keepdims=True)


def _inverse_root(x: Tensor) -> Tensor:
    return unary("Reciprocal", unary("Sqrt", x))


def _standard(x: Tensor, axes: Sequence[int], epsilon: Tensor) -> tuple[Tensor, ...]:
    """(x - mean) / sqrt(variance + epsilon), the mean, the variance, 1 / sqrt(...)."""
    mean = _mean(x, axes)
    shifted = binary("Sub", x, mean)
    variance = _mean(binary("Mul", shifted, shifted), axes)
    inverse = _inverse_root(binary("Add", variance, epsilon))
    return binary("Mul", shifted, inverse), mean, variance, inverse


def _channels(v: Tensor, rank: int) -> Tensor:
    """(channels) as (channels, 1, ...), which broadcasts with (n, channels, ...)."""
    return primitive.unsqueeze(v, list(range(1, rank - 1))) if rank > 2 else v


def _scaled(y: Tensor, scale: Tensor, bias: Tensor, rank: int) -> Tensor:
    return binary("Add", binary("Mul", y, _channels(scale, rank)), _channels(bias, rank))


@gradient("LayerNormalization")
def _layer_normalization_gradient(op: Operation, *dys: Tensor | None) -> Gradients:
    axes = _last_axes(op)

    def parts(x: Tensor, scale: Tensor, bias: Tensor | None = None) -> list[Tensor]:
        y, mean, _, inverse = _standard(x, axes, _epsilon(op, x))
        y = binary("Mul", y, scale)
        y = y if bias is None else binary("Add", y, bias)
        statistics = zip((mean, inverse), op.outputs[1:], strict=False)
        return [y, *(primitive.cast(v, output.dtype) for v, output in statistics)]

    return by_parts(op, dys, parts)


@gradient("RMSNormalization")
def _rms_normalization_gradient(op: Operation, dy: Tensor) -> Gradients:
    axes = _last_axes(op)

    def parts(x: Tensor, scale: Tensor) -> Tensor:
        square = binary("Add", _mean(binary("Mul", x, x), axes), _epsilon(op, x))
        return binary("Mul", binary("Mul", x, _inverse_root(square)), scale)

    return by_parts(op, [dy], parts)


@gradient("InstanceNormalization")
def _instance_normalization_gradient(op: Operation, dy: Tensor) -> Gradients:
    rank = _rank(op)

    def parts(x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
        y = _standard(x, list(range(2, rank)), _epsilon(op, x))[0]
        return _scaled(y, scale, bias, rank)

    return by_parts(op, [dy], parts)


@gradient("GroupNormalization")
def _group_normalization_gradient(op: Operation, dy: Tensor) -> Gradients:
    rank, groups = _rank(op), int(op.attrs["num_groups"])

    def parts(x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
        shape = primitive.shape_of(x)
        first = primitive.slice_axes(shape, [0], [1], [0])
        rest = primitive.slice_axes(shape, [1], [rank], [0])
        count = node("ReduceProd", [rest], rest.dtype, (1,), keepdims=1)
        parted = primitive.int_vector([groups])  # no -1: an empty batch leaves it open
        target = primitive.concat([first, parted, binary("Div", count, parted)], 0)
        grouped = primitive.reshape_to(x, target, (None, groups, None))
        y = _standard(grouped, [2], _epsilon(op, x))[0]
        return _scaled(primitive.reshape_to(y, shape, dims_of(x)), scale, bias, rank)

    return by_parts(op, [dy], parts)


@gradient("BatchNormalization")
def _batch_normalization_gradient(op: Operation, *dys: Tensor | None) -> Gradients:
    rank = _rank(op)
    axes = [0, *range(2, rank)]

    def infer(x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        inverse = _inverse_root(binary("Add", variance, _epsilon(op, x)))
        factor = binary("Mul", inverse, scale)
        return _scaled(binary("Sub", x, _channels(mean, rank)), factor, bias, rank)

    def train(
        x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor
    ) -> list[Tensor]:
        y, batch_mean, batch_variance, _ = _standard(x, axes, _epsilon(op, x))
        momentum = float(op.attrs.get("momentum", 0.9))
        kept, added = scalar(momentum, x.dtype), scalar(1 - momentum, x.dtype)
        running = [
            binary(
                "Add", binary("Mul", old, kept), binary("Mul", primitive.squeeze(v, axes), added)
            )
            for old, v in ((mean, batch_mean), (variance, batch_variance))
        ]
        return [_scaled(y, scale, bias, rank), *running]

    return by_parts(op, dys, train if int(op.attrs.get("training_mode", 0)) else infer)


@gradient("LpNormalization")
def _lp_normalization_gradient(op: Operation, dy: Tensor) -> Gradients:
    """Of a vector of zeros the gradient is taken as if its norm were the constant 1."""
    axis, p = int(op.attrs.get("axis", -1)) % _rank(op), int(op.attrs.get("p", 2))

    def parts(x: Tensor) -> Tensor:
        terms = unary("Abs", x) if p == 1 else binary("Mul", x, x)
        total = primitive.reduce_sum(terms, [axis], keepdims=True)
        positive = compare("Greater", total, scalar(0, x.dtype))
        safe = select(positive, total, scalar(1, x.dtype))
        return binary("Div", x, safe if p == 1 else unary("Sqrt", safe))

    return by_parts(op, [dy], parts)


@gradient("LRN")
def _lrn_gradient(op: Operation, dy: Tensor) -> Gradients:
    size, rank = int(op.attrs["size"]), _rank(op)
    alpha, beta = float(op.attrs.get("alpha", 1e-4)), float(op.attrs.get("beta", 0.75))
    below = (size - 1) // 2
    pads = [0, below, *[0] * (rank - 2), 0, size - 1 - below, *[0] * (rank - 2)]

    def parts(x: Tensor) -> Tensor:
        dims = dims_of(x)
        wide = None
        if dims is not None:
            wide = tuple(
                None if d is None else d + (size - 1) * (i == 1) for i, d in enumerate(dims)
            )
        inputs = [binary("Mul", x, x), primitive.int_vector(pads), scalar(0, x.dtype)]
        squares = node("Pad", inputs, x.dtype, wide, mode="constant")
        ends = [last if i == size - 1 else i - size + 1 for i in range(size)]
        total = elementwise.add_n(
            [primitive.slice_axes(squares, [i], [end], [1]) for i, end in enumerate(ends)]
        )
        factor = scalar(alpha / size, x.dtype)
        bias = scalar(float(op.attrs.get("bias", 1.0)), x.dtype)
        base = binary("Add", binary("Mul", total, factor), bias)
        return binary("Mul", x, elementwise.pow(base, scalar(-beta, x.dtype)))

    return by_parts(op, [dy], parts)
