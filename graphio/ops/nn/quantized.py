"""Numbers as steps of a range: quantization, and operations on the steps.

A quantized tensor here has the integer dtype of its steps, int8 for qint8, uint8 for quint8, and
two float32 scalars with it that say its range. Formulas are those of TensorFlow's kernels, in
float32 and in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.gradient_registry import REGIONS, Region
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.base.emit import FLOATING, require, scope
from graphio.ops.checks.assertion import once
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.nn import conv, pooling
from graphio.support import api_guard

__all__ = [
    "dequantize",
    "quantize",
    "quantize_and_dequantize",
    "quantize_v2",
    "quantized_avg_pool",
    "quantized_concat",
    "quantized_conv2d",
    "quantized_max_pool",
    "quantized_relu_x",
]


class Quantized(NamedTuple):
    """Steps and the range that they divide, float32 scalars."""

    output: Tensor
    output_min: Tensor
    output_max: Tensor


class Pooled(NamedTuple):
    """As Quantized, by the names that operations on pictures have."""

    output: Tensor
    min_output: Tensor
    max_output: Tensor


class Activated(NamedTuple):
    """As Quantized, by the names that activations have."""

    activations: Tensor
    min_activations: Tensor
    max_activations: Tensor


_PLAIN = {
    "qint8": dtypes.int8, "quint8": dtypes.uint8, "qint16": dtypes.int16,
    "quint16": dtypes.uint16, "qint32": dtypes.int32,
}  # fmt: skip
_QUINT8, _QINT32 = dtypes.as_dtype("quint8"), dtypes.as_dtype("qint32")
_MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")
_LARGEST = float(np.finfo(np.float32).max)
#: int32's largest value that float32 has
_MOST = 2147483520.0


# ---- arguments ----


def _plain(kind: Any, op: str) -> DType:
    """The integer dtype of a quantized one."""
    given = dtypes.as_dtype(kind)
    found = _PLAIN.get(given.name, given)
    if found not in _PLAIN.values():
        raise TypeError(f"{op}: the dtype is {given.name}, expected one of {', '.join(_PLAIN)}")
    return found


def _steps(value: Any, op: str, name: str) -> Tensor:
    x = convert_to_tensor(value, name=name)
    if x.dtype not in _PLAIN.values():
        raise TypeError(
            f"{op}: {name} is {x.dtype.name}, expected the integers that tf.quantize gives: "
            f"{', '.join(sorted(d.name for d in _PLAIN.values()))}"
        )
    return x


def _ends(low: Any, high: Any, op: str) -> tuple[Tensor, Tensor]:
    found = [convert_to_tensor(end, dtypes.float32, name="range") for end in (low, high)]
    for end, what in zip(found, ("minimum", "maximum"), strict=True):
        _require_rank(end, 0, op, f"the {what} of the range")
    return array.stop_gradient(found[0]), array.stop_gradient(found[1])


def _require_rank(x: Tensor, rank: int, op: str, name: str) -> None:
    if x.shape.ndims not in (None, rank):
        raise ValueError(
            f"Shape must be rank {rank} but is rank {x.shape.ndims} for '{op}': {name} has shape "
            f"{x.shape}"
        )


def _require_four(numbers: Sequence[int], op: str, name: str) -> None:
    if len(numbers) != 4:
        raise ValueError(f"{op}: {name} is {list(numbers)}, expected 4 integers")


def _one_of(value: str, allowed: Sequence[str], op: str, name: str) -> str:
    if value not in allowed:
        raise ValueError(f"{op}: {name} is {value!r}, expected one of {', '.join(allowed)}")
    return value


def _bounds(kind: DType) -> tuple[float, float]:
    return float(kind.min), float(kind.max)


def _away(x: Any) -> Tensor:
    """Rounded to the nearest whole number, halves away from 0."""
    size = elementwise.abs(x)
    down = elementwise.floor(size)
    up = elementwise.cast(comparison.greater_equal(size - down, 0.5), x.dtype)
    return elementwise.sign(x) * (down + up)


def _as_steps(x: Tensor, kind: DType) -> Tensor:
    """Whole numbers as integers; those beyond the dtype are its ends."""
    low, high = _bounds(kind)
    return elementwise.cast(elementwise.clip_by_value(x, low, min(high, _MOST)), kind)


# ---- one range's steps ----


class _Range:
    """The steps of a dtype between two ends, as MIN_FIRST counts them."""

    def __init__(self, kind: DType, low: Tensor, high: Tensor) -> None:
        self._kind, self._low, self._high = kind, low, high
        self._lowest, highest = _bounds(kind)
        self._count = highest - self._lowest  # steps, less one

    def steps(self, x: Tensor) -> Tensor:
        """The nearest step of each number."""
        width = self._high - self._low
        scale = array.where(
            comparison.equal(width, 0.0), array.zeros_like(width), self._divided(width)
        )
        start = _away(self._low * scale)
        return _as_steps(_away(x * scale) - (start - self._lowest), self._kind)

    def _divided(self, width: Tensor) -> Tensor:
        wide = elementwise.cast(width, dtypes.float64)
        return elementwise.cast(self._count / wide, dtypes.float32)

    def values(self, steps: Tensor) -> Tensor:
        """The number of each step."""
        width = elementwise.cast(self._high - self._low, dtypes.float64)
        scale = elementwise.cast(width / self._count, dtypes.float32)
        rounded = _away(self._low / scale) * scale
        start = array.where(comparison.equal(self._low, self._high), self._low, rounded)
        return (start - self._lowest * scale) + elementwise.cast(steps, dtypes.float32) * scale

    def unclamped(self, x: Any) -> Tensor:
        """The step of a number, also beyond the dtype, as an integer in float64."""
        width = elementwise.cast(self._high - self._low, dtypes.float64)
        count = self._count + 1.0
        scale = count / (width * (count / self._count))
        low = elementwise.cast(self._low, dtypes.float64)
        found = _away(x * scale) - _away(low * scale) + self._lowest
        same = comparison.equal(self._low, self._high)
        return array.where(same, array.zeros_like(found) + self._lowest, found)


# ---- quantization ----


@api_guard.operator
def quantize_v2(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
) -> Quantized:
    """Numbers as steps between min_range and max_range.

    Args:
        input: float32 tensor; numbers beyond the range are its ends.
        min_range, max_range: float32 scalars. The range that is taken has 0 in it, and its width is
            at least a hundredth of its larger end, or of 1.
        T: tf.qint8, quint8, qint16, quint16 or qint32.
        mode: MIN_COMBINED; MIN_FIRST: 0 is a step; SCALED: 0 is the step 0.
        name: of the operations.
        round_mode: HALF_AWAY_FROM_ZERO, or with SCALED HALF_TO_EVEN.

    Returns:
        (output, output_min, output_max): steps of the integer dtype that T has the bits
        of (graphio has no tensors of quantized dtypes), and the range that was taken. A number at
        the end of qint32 is its largest step, where TensorFlow overflows.

    Raises:
        TypeError: T is another dtype.
        ValueError: mode or round_mode is another word; HALF_TO_EVEN without SCALED.
        InvalidArgumentError: in a run: min_range is above max_range.

    Example:
        >>> steps, low, high = tf.quantize([0.0, 0.5, 1.0], 0.0, 1.0, tf.quint8)
        >>> tf.Session().run(steps).tolist()
        [0, 128, 255]
    """
    op, kind = "QuantizeV2", _plain(T, "QuantizeV2")
    _one_of(mode, _MODES, op, "mode")
    _one_of(round_mode, ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"), op, "round_mode")
    if round_mode == "HALF_TO_EVEN" and mode != "SCALED":
        raise ValueError(f"{op}: round_mode HALF_TO_EVEN only supported for mode 'SCALED'")
    with scope(name, op):
        x = convert_to_tensor(input, dtypes.float32, name="input")
        low, high = _widened(*_ends(min_range, max_range, op))
        if mode == "MIN_FIRST":
            return Quantized(_Range(kind, low, high).steps(x), low, high)
        if mode == "SCALED":
            scale, low, high = _scaled(kind, low, high)
            steps = _within(x, low, high) * scale
            rounded = elementwise.round(steps) if round_mode == "HALF_TO_EVEN" else _away(steps)
            return Quantized(_as_steps(rounded, kind), low, high)
        return Quantized(_combined(kind, _within(x, low, high), low, high), low, high)


@api_guard.operator
def quantize(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
) -> Quantized:
    """As quantize_v2, with its arguments in another order."""
    return quantize_v2(input, min_range, max_range, T, mode, name, round_mode)


def _within(x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    return elementwise.maximum(elementwise.minimum(x, high), low)


def _widened(low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    largest = elementwise.maximum(elementwise.abs(low), elementwise.abs(high))
    ordered = comparison.less_equal(low, high)
    low = once(low, ordered, "input_max_range must be larger than input_min_range.")
    least = elementwise.maximum(largest, 1.0) * np.float32(0.01)
    low = elementwise.minimum(low, 0.0)
    return low, elementwise.maximum(elementwise.maximum(high, low + least), 0.0)


def _combined(kind: DType, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    lowest, highest = _bounds(kind)
    width = elementwise.cast(high - low, dtypes.float64)
    scale = elementwise.cast((highest - lowest) / width, dtypes.float32)
    steps = (x - low) * scale
    if lowest == 0:
        return _as_steps(elementwise.floor(steps + 0.5), kind)
    return _as_steps(_away(steps - (highest - lowest + 1) / 2), kind)


def _scaled(kind: DType, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Steps in a unit, and the range that they then reach."""
    lowest, highest = _bounds(kind)
    scale = elementwise.minimum(_side(lowest, low), _side(highest, high))
    return scale, lowest / scale, highest / scale


def _side(step: float, end: Tensor) -> Tensor:
    """How many steps a unit has, if a step is to be an end of the range."""
    none = constant(_LARGEST, end.dtype)
    safe = array.where(comparison.equal(end, 0.0), array.ones_like(end), end)
    return array.where(comparison.greater(step * end, 0.0), step / safe, none)


@api_guard.operator
def dequantize(
    input: Any,
    min_range: Any,
    max_range: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
) -> Tensor:
    """The float32 numbers of steps.

    Args:
        input: steps, as quantize gives them.
        min_range, max_range: float32 scalars: the range that it gave.
        mode: as quantize's.
        name: of the operations.

    Raises:
        TypeError: input is not an integer tensor of 8, 16 or 32 bits.
        ValueError: mode is another word.
    """
    op = "Dequantize"
    _one_of(mode, _MODES, op, "mode")
    with scope(name, op):
        steps = _steps(input, op, "input")
        low, high = _ends(min_range, max_range, op)
        lowest, highest = _bounds(steps.dtype)
        if mode == "MIN_FIRST":
            return _Range(steps.dtype, low, high).values(steps)
        x = elementwise.cast(steps, dtypes.float32)
        if mode == "MIN_COMBINED":
            half = 0.0 if lowest == 0 else (highest - lowest + 1) / 2
            return (x + half) * ((high - low) / (highest - lowest)) + low
        if lowest == 0:
            return x * (high / highest)
        return x * elementwise.maximum(low / lowest, high / highest)


@api_guard.operator
def quantize_and_dequantize(
    input: Any,
    input_min: Any,
    input_max: Any,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
) -> Tensor:
    """Numbers rounded to the steps that a quantized dtype would have; the gradient passes.

    Args:
        input: floating tensor.
        input_min, input_max: the range, with range_given. Numbers beyond it become its ends.
        signed_input: whether there are steps below 0.
        num_bits: of the dtype, 1 to 62.
        range_given: False: the range is that of the numbers.
        round_mode: HALF_TO_EVEN or HALF_UP.
        name: of the operations.
        narrow_range: True: the lowest step is minus the highest.

    Raises:
        TypeError: input is not floating.
        ValueError: num_bits or round_mode is none of these, or an end of the range not a scalar.
        InvalidArgumentError: in a run: input_min is above input_max, with range_given.
    """
    op = "QuantizeAndDequantizeV2"
    _one_of(round_mode, ("HALF_TO_EVEN", "HALF_UP"), op, "round_mode")
    if not int(signed_input) < num_bits < 63:
        raise ValueError(f"{op}: num_bits is {num_bits}, out of range")
    highest = float(2 ** (num_bits - int(signed_input)) - 1)
    lowest = -highest - (0 if narrow_range else 1) if signed_input else 0.0
    with scope(name, op) as at:
        given = convert_to_tensor(input, name="input")
        require(given, FLOATING, op, "input")
        x = array.stop_gradient(given)
        if range_given:
            low, high = (convert_to_tensor(v, x.dtype) for v in (input_min, input_max))
            _require_rank(low, 0, op, "input_min")
            _require_rank(high, 0, op, "input_max")
            words = f"{op}: input_min is above input_max"
            low = once(low, comparison.less_equal(low, high), words)
        else:
            low, high = reduction.reduce_min(x), reduction.reduce_max(x)
        scale, unit, low, high = _symmetric(lowest, highest, low, high)
        steps = (_within(x, low, high) if range_given else x) * scale
        even = round_mode == "HALF_TO_EVEN"
        rounded = elementwise.round(steps) if even else elementwise.floor(steps + 0.5)
        made = array.identity(rounded * unit, name=at)
        # not made + given - given: of infinity that is nan
        REGIONS.of(made.graph)[made.op] = Region([made.op], [given], [made], list)
        return made


def _symmetric(
    lowest: float, highest: float, low: Tensor, high: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Steps in a unit, the unit of a step and the range, which the side with more steps decides."""
    below, above = _side(lowest, low), _side(highest, high)
    from_low = comparison.less(below, above)
    unit = array.where(from_low, low / (lowest or 1.0), high / highest)
    return (
        array.where(from_low, below, above),
        unit,
        array.where(from_low, low, lowest * unit),
        array.where(from_low, highest * unit, high),
    )


# ---- operations on steps ----


@api_guard.operator
def quantized_concat(
    concat_dim: Any,
    values: Sequence[Any],
    input_mins: Sequence[Any],
    input_maxes: Sequence[Any],
    name: str | None = None,
) -> Quantized:
    """Quantized tensors joined along an axis, in a range that has all of theirs.

    Args:
        concat_dim: the axis.
        values: list of two or more tensors of steps, of one dtype.
        input_mins, input_maxes: a range for each.
        name: of the operations.

    Returns:
        (output, output_min, output_max); the range of a signed dtype is symmetric.

    Raises:
        TypeError: values are not steps, or their dtypes differ.
        ValueError: the lists have different lengths, or less than two elements.
    """
    op = "QuantizedConcat"
    if not len(values) == len(input_mins) == len(input_maxes):
        raise ValueError(
            f"{op}: there are {len(values)} values, {len(input_mins)} input_mins and "
            f"{len(input_maxes)} input_maxes, expected equal numbers"
        )
    if len(values) < 2:
        raise ValueError(f"{op}: there are {len(values)} values, expected 2 or more")
    with scope(name, op):
        parts = [_steps(value, op, f"values_{i}") for i, value in enumerate(values)]
        kind = parts[0].dtype
        if any(part.dtype != kind for part in parts):
            found = ", ".join(part.dtype.name for part in parts)
            raise TypeError(
                f"{op}: the values are {found}, expected one dtype; quantize them alike"
            )
        ends = [_ends(*pair, op) for pair in zip(input_mins, input_maxes, strict=True)]
        low = elementwise.minimum(reduction.reduce_min(array.stack([e[0] for e in ends])), 0.0)
        high = reduction.reduce_max(array.stack([e[1] for e in ends]))
        if _bounds(kind)[0]:
            high = elementwise.maximum(elementwise.abs(low), elementwise.abs(high))
            low = -high
        moved = []
        for part, (first, last) in zip(parts, ends, strict=True):
            steps = _Range(kind, low, high).steps(_Range(kind, first, last).values(part))
            same = comparison.logical_and(
                comparison.equal(first, low), comparison.equal(last, high)
            )
            moved.append(array.where(same, part, steps))
        return Quantized(array.concat(moved, concat_dim), low, high)


@api_guard.operator
def quantized_relu_x(
    features: Any,
    max_value: Any,
    min_features: Any,
    max_features: Any,
    out_type: Any = _QUINT8,
    name: str | None = None,
) -> Activated:
    """min(max(features, 0), max_value) of a quantized tensor.

    Args:
        features: steps.
        max_value: a number.
        min_features, max_features: their range.
        out_type: the quantized dtype of the result.
        name: of the operations.

    Returns:
        (activations, min_activations, max_activations), in the range given.

    Raises:
        TypeError: features are not steps, or out_type is another dtype.
    """
    op, kind = "QuantizedReluX", _plain(out_type, "QuantizedReluX")
    with scope(name, op):
        steps = _steps(features, op, "features")
        most = convert_to_tensor(max_value, name="max_value")
        _require_rank(most, 0, op, "max_value")
        low, high = _ends(min_features, max_features, op)
        of, limits = _Range(steps.dtype, low, high), _bounds(steps.dtype)
        first, last = (
            elementwise.cast(elementwise.clip_by_value(of.unclamped(x), *limits), dtypes.int64)
            for x in (0.0, elementwise.cast(most, dtypes.float64))
        )
        wide = elementwise.maximum(elementwise.cast(steps, dtypes.int64), first)
        return Activated(elementwise.cast(elementwise.minimum(wide, last), kind), low, high)


@api_guard.operator
def quantized_max_pool(
    input: Any, min_input: Any, max_input: Any, ksize: Any, strides: Any, padding: str,
    name: str | None = None,
) -> Pooled:  # fmt: skip
    """The maximum of each window of a quantized picture, as tf.nn.max_pool; in the range given."""
    op = "QuantizedMaxPool"
    with scope(name, op):
        steps = _steps(input, op, "input")
        wide = elementwise.cast(steps, dtypes.float32)
        made = pooling.max_pool(wide, ksize, strides, padding)
        return Pooled(elementwise.cast(made, steps.dtype), *_ends(min_input, max_input, op))


@api_guard.operator
def quantized_avg_pool(
    input: Any, min_input: Any, max_input: Any, ksize: Any, strides: Any, padding: str,
    name: str | None = None,
) -> Pooled:  # fmt: skip
    """The mean step of each window of a quantized picture, rounded to 0; in the range given.

    Args:
        input: steps (n, height, width, c) of 8 bits.
        min_input, max_input: their range.
        ksize, strides: four integers.
        padding: SAME or VALID.
        name: of the operations.

    Returns:
        (output, min_output, max_output).

    Raises:
        TypeError: input are not steps.
        ValueError: ksize or strides are not four integers.
    """
    op = "QuantizedAvgPool"
    _require_four(ksize, op, "ksize")
    _require_four(strides, op, "strides")
    with scope(name, op):
        steps = _steps(input, op, "input")
        wide = elementwise.cast(steps, dtypes.float64)
        means = pooling.avg_pool(wide, ksize, strides, padding)
        # A mean that is a whole number may come out a bit below it.
        nudge = 0.25 / float(ksize[1] * ksize[2])
        whole = elementwise.sign(means) * elementwise.floor(elementwise.abs(means) + nudge)
        return Pooled(elementwise.cast(whole, steps.dtype), *_ends(min_input, max_input, op))


@api_guard.operator
def quantized_conv2d(
    input: Any,
    filter: Any,
    min_input: Any,
    max_input: Any,
    min_filter: Any,
    max_filter: Any,
    strides: Sequence[int],
    padding: str,
    out_type: Any = _QINT32,
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Pooled:
    """The convolution of two quantized tensors, as steps of 32 bits.

    Args:
        input: steps (n, height, width, c).
        filter: steps (height, width, c, outputs).
        min_input, max_input, min_filter, max_filter: their ranges.
        strides: four integers.
        padding: SAME or VALID.
        out_type: tf.qint32.
        dilations: only ones are supported.
        name: of the operations.

    Returns:
        (output, min_output, max_output).

    Raises:
        NotImplementedError: dilations are not ones.
        TypeError: input or filter are not steps, or out_type is another dtype.
    """
    op = "QuantizedConv2D"
    if _plain(out_type, op) != dtypes.int32:
        raise TypeError(f"{op}: out_type is {dtypes.as_dtype(out_type).name}, expected qint32")
    if list(dilations) != [1, 1, 1, 1]:
        raise NotImplementedError(f"{op}: dilations is {list(dilations)}, expected ones")
    with scope(name, op):
        centred, levels = [], []
        for value, ends, what in (
            (input, (min_input, max_input), "input"), (filter, (min_filter, max_filter), "filter"),
        ):  # fmt: skip
            steps, (low, high) = _steps(value, op, what), _ends(*ends, op)
            zero = _Range(steps.dtype, low, high).unclamped(0.0)
            centred.append(elementwise.cast(steps, dtypes.float64) - zero)
            lowest, highest = _bounds(steps.dtype)
            levels.append((high - low) / (highest - lowest))
        made = conv.conv2d(centred[0], centred[1], strides, padding)
        level = levels[0] * levels[1]
        lowest, highest = _bounds(dtypes.int32)
        return Pooled(elementwise.cast(made, dtypes.int32), level * lowest, level * highest)
