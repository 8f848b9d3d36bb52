"""ONNX's MelWeightMatrix: weights of mel bands, which a model gets at import."""

from __future__ import annotations

import math

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.ops.base import primitive
from graphio.ops.base.emit import node
from graphio.ops.base.primitive import binary, cast, compare, select, unary
from graphio.ops.signals import lengths

__all__ = ["mel_weight_matrix"]


def _scalar(value: float, dtype: DType) -> Tensor:
    return constant(np.asarray(value, dtype.as_numpy_dtype))


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

    edges = lengths.counted(binary("Add", count, lengths.as_tensor(2)))
    first = mel(lowest)
    step = binary(
        "Div", binary("Sub", mel(highest), first), cast(lengths.as_tensor(lengths.of(edges)), wide)
    )
    mels = binary("Add", binary("Mul", cast(edges, wide), step), first)
    power = unary("Exp", binary("Mul", binary("Div", mels, slope), _scalar(tenth, wide)))
    hertz = binary("Mul", corner, binary("Sub", power, _scalar(1, wide)))
    scale = cast(binary("Add", length, lengths.as_tensor(1)), wide)
    positions = binary("Div", binary("Mul", scale, hertz), cast(sample_rate, wide))
    positions = unary("Floor", positions)

    low = primitive.slice_axes(positions, [0], [-2], [0])
    middle = primitive.slice_axes(positions, [1], [-1], [0])
    high = primitive.slice_axes(positions, [2], [2**31], [0])
    line = lengths.counted(
        binary("Add", binary("Div", length, lengths.as_tensor(2)), lengths.as_tensor(1))
    )
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
