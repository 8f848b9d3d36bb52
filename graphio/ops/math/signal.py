"""Gradients of Fourier transforms, and weights of mel bands."""

from __future__ import annotations

import math

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.dtypes import DType
from graphio.framework.folding import constant_value
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base import primitive
from graphio.ops.base.emit import node
from graphio.ops.base.primitive import binary, cast, compare, int_vector, select, unary
from graphio.ops.base.recompute import by_parts
from graphio.ops.base.shapes import dims_of

__all__ = ["mel_weight_matrix"]


def _scalar(value: float, dtype: DType) -> Tensor:
    return constant(np.asarray(value, dtype.as_numpy_dtype))


def _int(value: int) -> Tensor:
    return constant(np.asarray(value, np.int64))


def _line(count: Tensor) -> Tensor:
    """0, 1, ... count - 1."""
    return node("Range", [_int(0), count, _int(1)], dtypes.int64, (None,))


def _size(x: Tensor, axis: int) -> Tensor:
    """The size of one axis, int64 scalar."""
    return primitive.gather(primitive.shape_of(x), _int(axis), 0)


# ---- DFT ----


def _transform(x: Tensor, n: Tensor, axis: int, inverse: bool, onesided: bool) -> Tensor:
    dims = dims_of(x)
    if dims is not None:
        parts = 1 if inverse and onesided else 2
        dims = (*dims[:axis], None, *dims[axis + 1 : -1], parts)
    at = constant(np.asarray(axis, np.int64))
    return node("DFT", [x, n, at], x.dtype, dims, inverse=int(inverse), onesided=int(onesided))


def _fitted(g: Tensor, x: Tensor, axis: int) -> Tensor:
    """g with as many numbers along the axis and as many parts as x: cut, or padded with zeros."""
    rank = x.shape.ndims
    assert rank is not None
    sizes = primitive.shape_of(x)
    fill = np.zeros(1, x.dtype.as_numpy_dtype)
    whole = primitive.concat(
        [
            primitive.slice_axes(primitive.shape_of(g), [0], [axis], [0]),
            primitive.slice_axes(sizes, [axis], [axis + 1], [0]),
            primitive.slice_axes(primitive.shape_of(g), [axis + 1], [rank], [0]),
        ],
        0,
    )
    zeros = node("ConstantOfShape", [whole], x.dtype, (None,) * rank, value=fill)
    ends = primitive.gather(sizes, int_vector([axis, rank - 1]), 0)
    inputs = [primitive.concat([g, zeros], axis), int_vector([0, 0]), ends,
              int_vector([axis, rank - 1]), int_vector([1, 1])]  # fmt: skip
    return node("Slice", inputs, x.dtype, dims_of(x))


@gradient("DFT")
def _dft_gradient(op: Operation, dy: Tensor) -> list[Tensor | None]:
    """A transform is linear: what arrives goes through its adjoint, which is a transform, too."""
    x, length, at = [*op.inputs, None, None][:3]
    assert x is not None
    rank = x.shape.ndims
    axis = np.asarray(-2) if at is None else constant_value(at)
    if rank is None or axis is None:
        raise ValueError(
            f"the gradient of DFT '{op.name}' needs the rank of its input and its axis while the "
            "graph is built"
        )
    position = int(axis.item()) % rank
    inverse, onesided = bool(op.attrs.get("inverse")), bool(op.attrs.get("onesided"))
    n = _size(x, position)
    if length is not None:
        n = primitive.reshape(cast(length, dtypes.int64), int_vector([]), ())
    elif inverse and onesided:
        n = binary("Mul", binary("Sub", n, _int(1)), _int(2))
    scale = cast(n, x.dtype)
    if not inverse:
        g = binary("Mul", _transform(dy, n, position, True, False), scale)
    else:
        g = binary("Div", _transform(dy, n, position, False, onesided), scale)
    if inverse and onesided:
        g = binary("Mul", g, _twice(n, x.dtype, rank - position - 1))
    return [_fitted(g, x, position), None, None][: len(op.inputs)]


def _twice(n: Tensor, dtype: DType, behind: int) -> Tensor:
    """The multiplicity of frequencies 0 ... n / 2 of a spectrum: 2, or 1 without a mirror image."""
    line = _line(binary("Add", binary("Div", n, _int(2)), _int(1)))
    mirror = binary("Sub", n, line)
    alone = node("Or", [compare("Equal", line, mirror), compare("Equal", mirror, n)],
                 dtypes.bool, (None,))  # fmt: skip
    counts = select(alone, _scalar(1, dtype), _scalar(2, dtype))
    return primitive.reshape(counts, [-1, *[1] * behind], (None, *[1] * behind))


# ---- STFT ----


@gradient("STFT")
def _stft_gradient(op: Operation, dy: Tensor) -> list[Tensor | None]:
    def parts(
        x: Tensor, step: Tensor, window: Tensor | None = None, length: Tensor | None = None
    ) -> Tensor:
        n = _size(x, 1) if window is None else _size(window, 0)
        if length is not None:
            n = primitive.reshape(cast(length, dtypes.int64), int_vector([]), ())
        hop = primitive.reshape(cast(step, dtypes.int64), int_vector([]), ())
        frames = binary("Add", binary("Div", binary("Sub", _size(x, 1), n), hop), _int(1))
        begins = primitive.unsqueeze(binary("Mul", _line(frames), hop), [1])
        positions = binary("Add", begins, primitive.unsqueeze(_line(n), [0]))
        framed = primitive.gather(x, positions, 1)
        if window is not None:
            framed = binary("Mul", framed, primitive.unsqueeze(window, [1]))
        return _transform(framed, n, 2, False, bool(op.attrs.get("onesided", 1)))

    return by_parts(op, [dy], parts)


# ---- mel bands ----


def mel_weight_matrix(
    bands: Tensor, dft_length: Tensor, sample_rate: Tensor, lowest: Tensor, highest: Tensor
) -> Tensor:
    """Triangular weights of mel bands, which overlap by half, for the numbers of a spectrum.

    Args:
        bands: how many, integer scalar.
        dft_length: of the transform, integer scalar.
        sample_rate: in hertz, integer scalar.
        lowest, highest: where the first band begins and the last one ends in hertz, scalars.

    Returns:
        float64 [dft_length // 2 + 1, bands].
    """
    wide = dtypes.float64
    count, length = cast(bands, dtypes.int64), cast(dft_length, dtypes.int64)
    tenth, corner, slope = math.log(10.0), _scalar(700, wide), _scalar(2595, wide)

    def mel(hertz: Tensor) -> Tensor:
        ratio = binary("Add", binary("Div", cast(hertz, wide), corner), _scalar(1, wide))
        return binary("Div", binary("Mul", slope, unary("Log", ratio)), _scalar(tenth, wide))

    edges = _line(binary("Add", count, _int(2)))
    first = mel(lowest)
    step = binary("Div", binary("Sub", mel(highest), first), cast(_size(edges, 0), wide))
    mels = binary("Add", binary("Mul", cast(edges, wide), step), first)
    power = unary("Exp", binary("Mul", binary("Div", mels, slope), _scalar(tenth, wide)))
    hertz = binary("Mul", corner, binary("Sub", power, _scalar(1, wide)))
    scale = cast(binary("Add", length, _int(1)), wide)
    positions = binary("Div", binary("Mul", scale, hertz), cast(sample_rate, wide))
    positions = unary("Floor", positions)

    low = primitive.slice_axes(positions, [0], [-2], [0])
    middle = primitive.slice_axes(positions, [1], [-1], [0])
    high = primitive.slice_axes(positions, [2], [2**31], [0])
    line = _line(binary("Add", binary("Div", length, _int(2)), _int(1)))
    at = primitive.unsqueeze(cast(line, wide), [1])
    zero, one = _scalar(0, wide), _scalar(1, wide)

    def between(x: Tensor, y: Tensor, ends: str) -> Tensor:
        both = [compare("GreaterOrEqual", at, x), compare(ends, at, y)]
        return node("And", both, dtypes.bool, (None, None))

    width = binary("Sub", middle, low)
    flat = compare("Equal", width, zero)
    rising = binary("Div", binary("Sub", at, low), select(flat, one, width))
    rising = select(flat, one, rising)
    fall = binary("Sub", high, middle)
    falling = binary(
        "Div", binary("Sub", high, at), select(compare("Equal", fall, zero), one, fall)
    )
    found = select(between(low, middle, "LessOrEqual"), rising, zero)
    return select(between(middle, high, "Less"), falling, found)
