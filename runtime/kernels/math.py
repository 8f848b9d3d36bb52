"""Elementwise operators: rows, and functions where numpy's do something else."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from graphio.runtime import registry, small
from graphio.runtime.choosing import chosen, kept
from graphio.runtime.erf import erf
from graphio.runtime.registry import Array, Call, Function, function, kernel
from graphio.runtime.special import operators as special
from graphio.schema import dtypes
from graphio.support import errors


def divide(x: Any, y: Any) -> Any:
    """x / y; of integers it truncates towards zero, and a division by zero gives 0."""
    if x.dtype.kind == "f":
        return np.true_divide(x, y)
    quotient = np.floor_divide(x, y)
    if x.dtype.kind == "u":
        return quotient
    up = ((x < 0) != (y < 0)) & (np.remainder(x, y) != 0)
    return quotient + up.astype(x.dtype)


def power(x: Any, y: Any) -> Any:
    """x ** y in x's dtype; integers with a negative exponent give the truncated 1 / x**-y."""
    if x.dtype.kind == "f":
        return np.power(x, y).astype(x.dtype, copy=False) if y.dtype != x.dtype else np.power(x, y)
    if y.dtype.kind == "f":
        return cast(np.power(x.astype(np.float64), y), x.dtype)
    # The low bits of the power are those of the power of the low bits.
    result = np.power(x.astype(np.uint64), np.maximum(y, 0).astype(np.uint64)).astype(x.dtype)
    if y.dtype.kind == "u" or not np.any(y < 0):
        return result
    inverse = (x == 1).astype(x.dtype)
    if x.dtype.kind == "i":
        inverse = np.where(x == -1, np.where(y % 2 == 0, 1, -1).astype(x.dtype), inverse)
    return np.where(y < 0, inverse, result)


def _extreme(choose: Any) -> Function:
    """The largest or smallest; NaN if there is one; a zero is +0."""

    def extreme(first: Any, *others: Any) -> Any:
        result = choose(first, others[0]) if others else first + _zero(first)
        if len(others) > 1:
            for other in others[1:]:
                result = choose(result, other)
        return _without_negative_zero(result) if result.dtype.kind == "f" else result

    return extreme


def total(*values: Any) -> Any:
    """The sum, from left to right."""
    return functools.reduce(np.add, values)


def mean(*values: Any) -> Any:
    """The sum over the number of values."""
    return divide(total(*values), values[0].dtype.type(len(values)))


def _zero(x: Any) -> Any:
    return x.dtype.type(0)


def relu(x: Any) -> Any:
    """max(x, 0); NaN stays."""
    return _without_negative_zero(np.maximum(x, _zero(x)))


def _without_negative_zero(x: Any) -> Any:
    """x, in its memory if it is an array, with a +0 for each -0."""
    return np.add(x, _zero(x), out=x) if x.__class__ is np.ndarray else x + _zero(x)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), without overflow."""
    e = np.exp(-np.abs(x))
    return chosen(x < 0, e, _one(x)) / (1 + e)


def _one(x: Any) -> Any:
    return x.dtype.type(1)


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow."""
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)


def softsign(x: Any) -> Any:
    """x / (1 + |x|)."""
    return x / (1 + np.abs(x))


def cast(x: Any, dtype: np.dtype[Any], saturate: bool = True, round_mode: str = "up") -> Any:
    """x in another dtype: floats to integers truncate and saturate, NaN gives 0.

    Args:
        x: an array or a scalar.
        dtype: the type of the result.
        saturate, round_mode: see small.narrow.
    """
    x = np.asarray(x)
    if x.dtype == dtype:
        return x
    x = small.widen(x)
    if small.is_small(dtype):
        if dtypes.of_numpy(dtype).bits < 8 and "int" in dtype.name:
            x = cast(x, np.dtype(np.int32))
        elif x.dtype != np.float32:
            x = cast(x, np.dtype(np.float64))
        return small.narrow(x, dtypes.of_numpy(dtype).number, saturate, round_mode)
    if dtype.kind in "iu" and x.dtype.kind == "f":
        return _to_integer(x, dtype)
    if x.dtype.kind == "O" or dtype.kind == "O":
        return _text(x, dtype)
    if dtype.kind == "b":
        return np.asarray(x != 0)
    return x.astype(dtype, copy=False)


def _to_integer(x: Array, dtype: np.dtype[Any]) -> Any:
    limits = np.iinfo(dtype)
    wide = x.astype(np.float64) if x.dtype.itemsize < 4 else x
    inside = (wide > float(limits.min) - 1) & (wide < 2.0 ** (limits.bits - (dtype.kind == "i")))
    if inside.all():
        return x.astype(dtype)
    ends = np.where(wide > 0, dtype.type(limits.max), np.where(wide < 0, dtype.type(limits.min), 0))
    return np.where(inside, np.where(inside, wide, 0).astype(dtype), ends.astype(dtype))


def _text(x: Array, dtype: np.dtype[Any]) -> Any:
    """Numbers from text; text stays."""
    if x.dtype == dtype:
        return x
    if dtype.kind == "O":
        raise errors.UnimplementedError(message=f"a cast from {x.dtype} to string")
    try:
        return cast(np.array([float(e) for e in x.ravel().tolist()]).reshape(x.shape), dtype)
    except ValueError as error:
        raise errors.InvalidArgumentError(message=f"a string is not a number: {error}") from None


#: (operator, since, function, types as in registry.Row)
_ROWS: tuple[tuple[str, int, Function, str], ...] = (
    ("Abs", 6, np.abs, "N"),
    ("Neg", 6, np.negative, "N"),
    ("Exp", 6, np.exp, "F"),
    ("Log", 6, np.log, "F"),
    ("Sqrt", 6, np.sqrt, "F"),
    ("Reciprocal", 6, np.reciprocal, "F"),
    ("Floor", 6, np.floor, "F"),
    ("Ceil", 6, np.ceil, "F"),
    ("Round", 11, np.rint, "F"),
    ("Sign", 9, np.sign, "N"),
    ("Sin", 7, np.sin, "F"),
    ("Cos", 7, np.cos, "F"),
    ("Tan", 7, np.tan, "F"),
    ("Asin", 7, np.arcsin, "F"),
    ("Acos", 7, np.arccos, "F"),
    ("Atan", 7, np.arctan, "F"),
    ("Sinh", 9, np.sinh, "F"),
    ("Cosh", 9, np.cosh, "F"),
    ("Asinh", 9, np.arcsinh, "F"),
    ("Acosh", 9, np.arccosh, "F"),
    ("Atanh", 9, np.arctanh, "F"),
    ("Tanh", 6, np.tanh, "F"),
    ("Erf", 9, erf, "F"),
    ("IsNaN", 9, np.isnan, "F"),
    ("Not", 1, np.logical_not, "B"),
    ("Relu", 6, relu, "N"),
    ("Sigmoid", 6, sigmoid, "F"),
    ("Softplus", 1, softplus, "F"),
    ("Softsign", 1, softsign, "F"),
    ("Add", 7, np.add, "NN"),
    ("Sub", 7, np.subtract, "NN"),
    ("Mul", 7, np.multiply, "NN"),
    ("Div", 7, divide, "NN"),
    ("Pow", 7, power, "NM"),
    ("Max", 8, _extreme(np.maximum), "N*"),
    ("Min", 8, _extreme(np.minimum), "N*"),
    ("Equal", 7, np.equal, "PP"),
    ("BitwiseAnd", 18, np.bitwise_and, "ZZ"),
    ("BitwiseOr", 18, np.bitwise_or, "ZZ"),
    ("BitwiseXor", 18, np.bitwise_xor, "ZZ"),
    ("BitwiseNot", 18, np.bitwise_not, "Z"),
    ("Less", 7, np.less, "NN"),
    ("Greater", 7, np.greater, "NN"),
    ("LessOrEqual", 12, np.less_equal, "NN"),
    ("GreaterOrEqual", 12, np.greater_equal, "NN"),
    ("And", 7, np.logical_and, "BB"),
    ("Or", 7, np.logical_or, "BB"),
    ("Xor", 7, np.logical_xor, "BB"),
)


def _into_first(fn: Any) -> Function:
    def run(x: Any, y: Any) -> Any:
        return fn(x, y, x) if registry.can_hold(x, x.shape) and _spans(x, y) else fn(x, y)

    return run


def _into_second(fn: Any) -> Function:
    def run(x: Any, y: Any) -> Any:
        return fn(x, y, y) if registry.can_hold(y, y.shape) and _spans(y, x) else fn(x, y)

    return run


def _spans(x: Any, y: Any) -> bool:
    """Whether a result of both has x's shape."""
    return y.shape == x.shape or not y.shape


def _into_only(fn: Any) -> Function:
    return lambda x: fn(x, x) if registry.can_hold(x, x.shape) else fn(x)


_UNARY_IN_PLACE = ("Abs", "Neg", "Exp", "Log", "Sqrt", "Reciprocal", "Sin", "Cos", "Tanh")
_BINARY_IN_PLACE = ("Add", "Sub", "Mul")


def _reuse(op: str, fn: Function) -> dict[int, Function]:
    if op in _UNARY_IN_PLACE:
        return {0: _into_only(fn)}
    return {0: _into_first(fn), 1: _into_second(fn)} if op in _BINARY_IN_PLACE else {}


for _op, _function, _types in special.ROWS:
    function(_op, 1, _function, _types, domain="graphio")
for _row in _ROWS:
    function(*_row, reuse=_reuse(_row[0], _row[2]))


@kernel("Where", since=9, types="BAA", fresh=True)
def _where(call: Call) -> Function:
    otherwise = call.constant(2)
    if (
        otherwise is None
        or otherwise.ndim
        or otherwise.dtype.kind not in "fiu"
        or any(otherwise.tobytes())
    ):
        return chosen
    return lambda condition, x, zero: kept(condition, x)


@kernel("Mod", since=10, types="NN", fresh=True)
def _mod(call: Call) -> Function:
    rule = call.integer("fmod", 0)
    if rule not in (0, 1):
        raise errors.InvalidArgumentError(message=f"fmod is {rule}, expected 0 or 1")
    # numpy's results are these already: an integer modulo 0 is 0.
    return np.fmod if rule else np.remainder


@kernel("Sum", since=8, types="N*")
def _sum(call: Call) -> Function:
    return total


@kernel("Mean", since=8, types="N*")
def _mean(call: Call) -> Function:
    return lambda *values: mean(*values) if len(values) > 1 else values[0]


@kernel("BitShift", since=11, types="ZZ", fresh=True)
def _bit_shift(call: Call) -> Function:
    direction = call.text("direction", "")
    if direction not in ("LEFT", "RIGHT"):
        raise errors.InvalidArgumentError(
            message=f'direction is "{direction}", expected "LEFT" or "RIGHT"'
        )

    def shift(x: Any, by: Any) -> Any:
        bits = 8 * x.dtype.itemsize
        inside = (by >= 0) & (by < bits)
        near = np.where(inside, by, 0).astype(x.dtype)
        if direction == "LEFT":
            return np.where(inside, np.left_shift(x, near), x.dtype.type(0))
        # Beyond the width the sign bit alone is left.
        sign = -(x < 0).astype(x.dtype) if x.dtype.kind == "i" else x.dtype.type(0)
        return np.where(inside, np.right_shift(x, near), sign)

    return shift


@kernel("Clip", since=11, types="N*", fresh=True)
def _clip(call: Call) -> Function:
    def clip(x: Any, low: Any = None, high: Any = None) -> Any:
        for bound, cut in ((low, np.maximum), (high, np.minimum)):
            if bound is not None and bound.size != 1:
                raise errors.InvalidArgumentError(
                    message=f"a bound has shape {list(bound.shape)}, expected a scalar"
                )
            if bound is not None and np.all(bound == bound):  # NaN bounds nothing
                x = cut(x, bound.reshape(()))
        return x + _zero(x)

    return clip


@kernel("Cast", since=6, types="A")
def _cast(call: Call) -> Function:
    dtype, saturate, round_mode = call.dtype("to"), *_cast_options(call)
    return lambda x: cast(x, dtype, saturate, round_mode)


@kernel("CastLike", since=15, types="AE")
def _cast_like(call: Call) -> Function:
    saturate, round_mode = _cast_options(call)
    return lambda x, like: cast(x, like.dtype, saturate, round_mode)


def _cast_options(call: Call) -> tuple[bool, str]:
    mode = call.text("round_mode", "up")
    if mode not in small.ROUND_MODES:
        raise errors.InvalidArgumentError(
            message=f"round_mode is {mode!r}, expected up, down or nearest"
        )
    return call.integer("saturate", 1) != 0, mode


@kernel("BitCast", since=26, types="A")
def _bit_cast(call: Call) -> Function:
    to = dtypes.of_number(call.integer("to", 0))
    kind = call.dtype("to")

    def bit_cast(x: Any) -> Any:
        row = dtypes.of_numpy(x.dtype)
        if dtypes.STRING in (row.number, to.number) or row.bits != to.bits:
            raise errors.InvalidArgumentError(
                message=f"the bits of {row.name} cannot be read as {to.name} ({to.number}): both "
                "need the same width"
            )
        return np.asarray(x.view(np.uint8) != 0) if to.name == "bool" else x.view(kind)

    return bit_cast


@kernel("IsInf", since=10, types="F", fresh=True)
def _is_inf(call: Call) -> Function:
    negative, positive = call.integer("detect_negative", 1), call.integer("detect_positive", 1)
    if negative and positive:
        return np.isinf
    if positive:
        return np.isposinf
    return np.isneginf if negative else (lambda x: np.zeros(x.shape, bool))


@kernel("Elu", since=6, types="F", fresh=True)
def _elu(call: Call) -> Function:
    alpha = call.number("alpha", 1.0)
    return lambda x: chosen(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


@kernel("Selu", since=6, types="F", fresh=True)
def _selu(call: Call) -> Function:
    alpha = call.number("alpha", 1.67326319217681884765625)
    gamma = call.number("gamma", 1.05070102214813232421875)
    return lambda x: gamma * chosen(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


@kernel("LeakyRelu", since=6, types="F", fresh=True)
def _leaky_relu(call: Call) -> Function:
    alpha = call.number("alpha", 0.01)
    return lambda x: chosen(x < 0, alpha * x, x)
