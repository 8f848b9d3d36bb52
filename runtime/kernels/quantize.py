"""Quantisation: floats as small numbers with scales and zero points, and their matmul."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.runtime.kernels.linear import matmul
from graphio.runtime.kernels.math import cast
from graphio.runtime.registry import Array, Call, Function, kernel, numpy_dtype
from graphio.schema import dtypes
from graphio.support import errors

_FLOATS = ("float32", "float16", "bfloat16")
_INTEGERS = ("int8", "uint8", "int16", "uint16", "int4", "uint4", "int2", "uint2")
_SMALL = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float4e2m1")
_BYTES = ("int8", "uint8")
_WIDE = np.dtype(np.float32)


def _name(x: Array) -> str:
    return dtypes.of_numpy(x.dtype).name


def _refuse(what: str, found: str, allowed: tuple[str, ...]) -> None:
    if found not in allowed:
        raise errors.InvalidArgumentError(
            message=f"{what} is {found}, expected {', '.join(allowed)}"
        )


def _floats(x: Array) -> Array:
    wide: Array = cast(x, _WIDE)
    return wide


class _Grid:
    """Which scale and zero point an element has: attributes of both linear operators."""

    def __init__(self, call: Call) -> None:
        self.axis = call.integer("axis", 1)
        self.block = call.integer("block_size", 0)
        if self.block < 0:
            raise errors.InvalidArgumentError(
                message=f"block_size is {self.block}, expected 0 or more"
            )

    def spread(self, values: Array, x: Array, scale: Array) -> Array:
        """values, which have scale's shape, in a shape that broadcasts to x's."""
        one = scale.ndim == 0 or scale.shape == (1,)
        if values.shape != scale.shape and not (one and values.size == 1 and values.ndim <= 1):
            raise errors.InvalidArgumentError(
                message=f"the zero point is {list(values.shape)}, expected the shape of the scale "
                f"{list(scale.shape)}"
            )
        if one:
            return values.reshape(())
        axis = self._axis(x, scale)
        if self.block:
            blocks = [-(-n // self.block) if i == axis else n for i, n in enumerate(x.shape)]
            if list(scale.shape) != blocks:
                raise self._differ(x, scale, axis)
            return np.repeat(values, self.block, axis).take(range(x.shape[axis]), axis)
        if scale.ndim != 1 or scale.size != x.shape[axis]:
            raise self._differ(x, scale, axis)
        return values.reshape([-1 if i == axis else 1 for i in range(x.ndim)])

    def _axis(self, x: Array, scale: Array) -> int:
        if x.ndim == 1 and ((scale.ndim == 1 and not self.block) or self.axis == 1):
            return 0
        if not -x.ndim <= self.axis < x.ndim:
            raise errors.InvalidArgumentError(
                message=f"axis {self.axis} is out of range for rank {x.ndim}"
            )
        return self.axis % x.ndim

    def _differ(self, x: Array, scale: Array, axis: int) -> errors.OpError:
        return errors.InvalidArgumentError(
            message=f"the scale is {list(scale.shape)} for x {list(x.shape)}, axis {axis} and "
            f"block_size {self.block}: expected one number, one for each index of the axis, or "
            "x's shape with one for each block of the axis"
        )


def _to_integers(ratio: Array, zero: Any, least: int, most: int, dtype: np.dtype[Any]) -> Array:
    """Half to even, then the zero point, then the limits; NaN counts as 0."""
    whole = np.rint(np.where(np.isnan(ratio), 0, ratio).astype(np.float64))
    numbers = np.clip(whole + zero, least, most).astype(np.int32)
    made: Array = cast(numbers, dtype)
    return made


def _limits(name: str) -> tuple[int, int]:
    bits = dtypes.BY_NAME[name].bits
    least = 0 if name.startswith("u") else -(1 << (bits - 1))
    return least, least + (1 << bits) - 1


@kernel("QuantizeLinear", since=10, fresh=True)
def _quantize_linear(call: Call) -> Function:
    grid, saturate = _Grid(call), call.integer("saturate", 1) != 0
    output, precision = call.integer("output_dtype", 0), call.integer("precision", 0)

    def quantize(x: Array, scale: Array, zero: Array | None = None) -> Array:
        to = dtypes.of_number(output or (2 if zero is None else dtypes.of_numpy(zero.dtype).number))
        exact = dtypes.of_number(precision).name if precision else _name(scale)
        _refuse("x", _name(x), (*_FLOATS, "int32"))
        _refuse("the scale", _name(scale), (*_FLOATS, "int32", "float8e8m0"))
        _refuse("the output", to.name, (*_INTEGERS, *_SMALL))
        if zero is not None:
            _refuse("the zero point", _name(zero), (to.name,))
        kind = numpy_dtype(dtypes.BY_NAME[exact if exact in _FLOATS else "float32"].number)
        wide, scales = (_floats(cast(_floats(v), kind)) for v in (x, grid.spread(scale, x, scale)))
        ratio = _floats(cast(wide / scales, kind))
        zeros: Any = 0 if zero is None else _floats(grid.spread(zero, x, scale))
        if to.name in _INTEGERS:
            return _to_integers(ratio, zeros, *_limits(to.name), numpy_dtype(to.number))
        shifted = np.where(zeros != 0, ratio + zeros, ratio).astype(np.float32)
        made: Array = cast(shifted, numpy_dtype(to.number), saturate)
        return made

    return quantize


@kernel("DequantizeLinear", since=10, fresh=True)
def _dequantize_linear(call: Call) -> Function:
    grid, output = _Grid(call), call.integer("output_dtype", 0)

    def dequantize(x: Array, scale: Array, zero: Array | None = None) -> Array:
        _refuse("x", _name(x), (*_INTEGERS, "int32", *_SMALL))
        _refuse("the scale", _name(scale), (*_FLOATS, "float8e8m0"))
        if zero is not None:
            _refuse("the zero point", _name(zero), (_name(x),))
        kept = _name(scale) if _name(scale) in _FLOATS else "float32"
        to = dtypes.of_number(output) if output else dtypes.BY_NAME[kept]
        _refuse("the output", to.name, _FLOATS)
        moved = _floats(x)
        if zero is not None:
            moved = moved - _floats(grid.spread(zero, x, scale))
        made: Array = cast(moved * _floats(grid.spread(scale, x, scale)), numpy_dtype(to.number))
        return np.asarray(made)

    return dequantize


@kernel("DynamicQuantizeLinear", since=11, types="G", fresh=True)
def _dynamic_quantize_linear(call: Call) -> Function:
    def quantize(x: Array) -> tuple[Array, Array, Array]:
        _refuse("x", _name(x), ("float32",))
        least, most = np.min(x, initial=np.float32(0)), np.max(x, initial=np.float32(0))
        scale = np.float32((most - least) / np.float32(255))
        byte = np.dtype(np.uint8)
        zero = _to_integers(np.asarray(np.float32(0) - least / scale), 0, 0, 255, byte)
        made = _to_integers(x / scale, zero.astype(np.float64), 0, 255, byte)
        return made, np.asarray(scale), zero

    return quantize


# ---- matrix multiplication ----


def _along(matrix: Array, v: Array | None, what: str, rows: bool) -> Any:
    """Numbers of the rows of a, or columns of b, in a shape that broadcasts to the matrix."""
    if v is None:
        return 0
    if v.size == 1 and v.ndim <= 1:
        return v.reshape(())
    if matrix.ndim >= 2:
        kept, summed = (-2, -1) if rows else (-1, -2)
        full = list(matrix.shape)
        full[summed] = 1
        if v.ndim == 1 and v.size == matrix.shape[kept]:
            return v.reshape((-1, 1) if rows else (-1,))
        if list(v.shape) == full:
            return v
    raise errors.InvalidArgumentError(
        message=f"{what} is {list(v.shape)} for a matrix {list(matrix.shape)}: expected one number "
        f"or one for each {'row' if rows else 'column'}"
    )


def _matmul(a: Array, b: Array, a_zero: Array | None, b_zero: Array | None) -> Array:
    """int32, which wraps."""
    if not {_name(a), _name(b)} <= {*_BYTES}:
        raise errors.UnimplementedError(
            message=f"a is {_name(a)} and b is {_name(b)}, expected int8 or uint8"
        )
    for x, zero, what in ((a, a_zero, "a"), (b, b_zero, "b")):
        if zero is not None:
            _refuse(f"the zero point of {what}", _name(zero), (_name(x),))
    zero_a = _along(a, a_zero, "the zero point of a", True)
    zero_b = _along(b, b_zero, "the zero point of b", False)
    left, right = np.subtract(a, zero_a, dtype=np.int32), np.subtract(b, zero_b, dtype=np.int32)
    return np.asarray(matmul(left, right))


@kernel("MatMulInteger", since=10, fresh=True)
def _matmul_integer(call: Call) -> Function:
    def multiply(
        a: Array, b: Array, a_zero: Array | None = None, b_zero: Array | None = None
    ) -> Array:
        return _matmul(a, b, a_zero, b_zero)

    return multiply


@kernel("QLinearMatMul", since=10, fresh=True)
def _qlinear_matmul(call: Call) -> Function:
    def multiply(
        a: Array,
        a_scale: Array,
        a_zero: Array,
        b: Array,
        b_scale: Array,
        b_zero: Array,
        y_scale: Array,
        y_zero: Array,
    ) -> Array:
        for v, what in ((a_scale, "the scale of a"), (b_scale, "the scale of b")):
            _refuse(what, _name(v), (_name(y_scale),))
        _refuse("the scale of y", _name(y_scale), _FLOATS)
        _refuse("the zero point of y", _name(y_zero), _BYTES)
        if y_scale.size != 1 or y_zero.size != 1:
            raise errors.InvalidArgumentError(
                message="the scale and the zero point of y must be one number each"
            )
        wide = _matmul(a, b, a_zero, b_zero)
        left = _floats(_along(a, a_scale, "the scale of a", True))
        right = _floats(_along(b, b_scale, "the scale of b", False))
        if a.ndim == 1:
            right = right[..., 0, :] if right.ndim >= 2 else right
        if b.ndim == 1:
            left = left[..., 0] if left.ndim >= 2 else left
        kind = y_scale.dtype
        factor = _floats(cast(left * right, kind)) / _floats(y_scale.reshape(()))
        exact = _floats(cast(factor, kind)).astype(np.float64)
        zero = int(y_zero.reshape(()))
        return _to_integers(wide * exact, zero, *_limits(_name(y_zero)), y_zero.dtype)

    return multiply
