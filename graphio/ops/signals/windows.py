"""Windows for pieces of signals: computed in float64 and rounded once.

A window of a known length is a constant in both engines, because they compute constants once.
"""

from __future__ import annotations

import math
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.array.index import reverse
from graphio.ops.base import primitive
from graphio.ops.base.emit import scope
from graphio.ops.base.primitive import cast
from graphio.ops.math import elementwise, reduction
from graphio.ops.signals import lengths
from graphio.ops.signals.lengths import Length
from graphio.support import api_guard

__all__ = [
    "hamming_window",
    "hann_window",
    "kaiser_bessel_derived_window",
    "kaiser_window",
    "vorbis_window",
]

_WIDE = dtypes.float64
#: Points of the midpoint rule for the integral of exp(x cos t) from 0 to pi: exact in float64 for
#: x up to 800.
_POINTS = 128


def _floating(dtype: Any, op: str) -> DType:
    requested = dtypes.as_dtype(dtype).base_dtype
    if not requested.is_floating:
        raise ValueError(f"{op}: dtype is {requested.name}, expected a floating one")
    return requested


def _raised_cosine(
    name: str | None, op: str, window_length: Any, periodic: Any, dtype: Any, mean: float
) -> Tensor:
    """mean - (1 - mean) cos(2 pi i / n), where n is the length, or one less."""
    requested = _floating(dtype, op)
    with scope(name, op) as at:
        length = lengths.given(window_length, op, "window_length")
        even = cast(convert_to_tensor(periodic, dtype=dtypes.bool, name="periodic"), dtypes.int64)
        period = lengths.largest(1, length - 1 + (1 - length % 2) * even)
        turns = lengths.counted(length, _WIDE) / lengths.as_number(period, _WIDE)
        window = mean - (1 - mean) * elementwise.cos(2 * math.pi * turns)
        single = primitive.compare("Equal", lengths.as_tensor(length), lengths.as_tensor(1))
        window = primitive.select(single, array.ones_like(window), window)
        return elementwise.cast(window, requested, name=at)


@api_guard.operator
def hann_window(
    window_length: Any, periodic: Any = True, dtype: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """The window 0.5 - 0.5 cos(2 pi i / n).

    Args:
        window_length: integer, or scalar tensor of integers.
        periodic: bool; n is the length where it is True and the length even, else one less.
        dtype: floating.
        name: of the operation.

    Returns:
        A tensor [window_length]; [1] for a single element.

    Raises:
        ValueError: the length is negative or not a scalar, or the dtype is not floating.
    """
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5)


@api_guard.operator
def hamming_window(
    window_length: Any, periodic: Any = True, dtype: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """The window 0.54 - 0.46 cos(2 pi i / n); see hann_window."""
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54)


def _kaiser(length: Length, beta: Tensor) -> Tensor:
    """I0(beta sqrt(1 - t t)) / I0(beta) for t from -1 to 1, I0 being the Bessel function, of which
    both are the mean of exp(x cos angle) over a half circle."""
    angles = (lengths.counted(_POINTS, _WIDE) + 0.5) * (math.pi / _POINTS)
    circle = elementwise.cos(angles)
    half = lengths.as_number(lengths.largest(1, length - 1), _WIDE) / 2.0
    t = (lengths.counted(length, _WIDE) - half) / half
    height = elementwise.sqrt(elementwise.maximum(1.0 - t * t, 0.0))
    rows = array.expand_dims(height, 1) * circle
    found = reduction.reduce_sum(elementwise.exp(beta * rows - beta), axis=1)
    window = found / reduction.reduce_sum(elementwise.exp(beta * circle - beta))
    single = primitive.compare("Equal", lengths.as_tensor(length), lengths.as_tensor(1))
    return primitive.select(single, array.ones_like(window), window)


@api_guard.operator
def kaiser_window(
    window_length: Any, beta: Any = 12.0, dtype: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """The window I0(beta sqrt(1 - t t)) / I0(beta) for t from -1 to 1.

    Args:
        window_length: integer, or scalar tensor of integers.
        beta: floating scalar, at least 0; the larger, the narrower the window.
        dtype: floating.
        name: of the operation.

    Returns:
        A tensor [window_length].

    Raises:
        ValueError: the length is negative or not a scalar, or the dtype is not floating.
    """
    requested = _floating(dtype, "kaiser_window")
    with scope(name, "kaiser_window") as at:
        length = lengths.given(window_length, "kaiser_window", "window_length")
        slope = lengths.wide(beta, "beta")
        return elementwise.cast(_kaiser(length, slope), requested, name=at)


@api_guard.operator
def kaiser_bessel_derived_window(
    window_length: Any, beta: Any = 12.0, dtype: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """A window for mdct: roots of partial sums of a Kaiser window, forwards and backwards.

    Args:
        window_length: even integer, or scalar tensor of integers.
        beta: of kaiser_window.
        dtype: floating.
        name: of the operation.

    Returns:
        A tensor [window_length].

    Raises:
        ValueError: the length is negative or not a scalar, or the dtype is not floating.
    """
    op = "kaiser_bessel_derived_window"
    requested = _floating(dtype, op)
    with scope(name, op) as at:
        half = lengths.given(window_length, op, "window_length") // 2
        slope = lengths.wide(beta, "beta")
        sums = reduction.cumsum(_kaiser(half + 1, slope))
        rising = elementwise.sqrt(sums[:-1] / sums[-1])
        both = array.concat([rising, reverse(rising, [0])], 0)
        return elementwise.cast(both, requested, name=at)


@api_guard.operator
def vorbis_window(
    window_length: Any, dtype: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """A window for mdct: sin(pi / 2 sin(pi (i + 0.5) / window_length) ** 2), as Vorbis has it.

    Args:
        window_length: integer, or scalar tensor of integers.
        dtype: floating.
        name: of the operation.

    Returns:
        A tensor [window_length].

    Raises:
        ValueError: the length is negative or not a scalar, or the dtype is not floating.
    """
    requested = _floating(dtype, "vorbis_window")
    with scope(name, "vorbis_window") as at:
        length = lengths.given(window_length, "vorbis_window", "window_length")
        turns = (lengths.counted(length, _WIDE) + 0.5) / lengths.as_number(length, _WIDE)
        sine = elementwise.sin(math.pi * turns)
        window = elementwise.sin(0.5 * math.pi * sine * sine)
        return elementwise.cast(window, requested, name=at)
