"""Builders of elementwise arithmetic and casts, and the operators of Python on tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence, ValuesView
from typing import Any

import numpy as np

from graphio.framework import dtypes, registered
from graphio.framework.composite import Composite
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.folding import constant_value
from graphio.framework.gradient_registry import REGIONS, Region
from graphio.framework.graph import Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    FLOATING,
    FLOATING_OR_COMPLEX,
    NUMERIC,
    describe,
    is_symbolic,
    like,
    node,
    operands,
    or_reflected,
    require,
    scalar,
    scope,
)
from graphio.ops.base.primitive import binary, compare, select, unary
from graphio.ops.base.primitive import cast as _cast
from graphio.ops.base.shapes import dims_of
from graphio.ops.base.signatures import Binary, Unary, UnaryOfSparse
from graphio.ops.checks import run_checks
from graphio.ops.strings.joining import string_join
from graphio.support import api_guard, errors

__all__ = [
    "abs",
    "accumulate_n",
    "acos",
    "acosh",
    "add",
    "add_n",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cast",
    "ceil",
    "clip_by_value",
    "cos",
    "cosh",
    "div",
    "divide",
    "erf",
    "exp",
    "expm1",
    "floor",
    "floor_div",
    "floordiv",
    "floormod",
    "is_finite",
    "is_inf",
    "is_nan",
    "log",
    "log1p",
    "log_sigmoid",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "pow",
    "realdiv",
    "reciprocal",
    "round",
    "rsqrt",
    "saturate_cast",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "squared_difference",
    "subtract",
    "tan",
    "tanh",
    "to_bfloat16",
    "to_complex64",
    "to_complex128",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
    "truediv",
]

# ---- one operand ----


def _unary_builder(function: str, op: str, tf_type: str, kind: str, summary: str) -> Unary:
    @api_guard.operator
    def build(x: Any, name: str | None = None) -> Tensor:
        with scope(name, tf_type) as at:
            tensor = convert_to_tensor(x, name="x")
            require(tensor, kind, tf_type)
            return node(op, [tensor], tensor.dtype, dims_of(tensor), name=at, tf_type=tf_type)

    build.__name__ = build.__qualname__ = function
    build.__doc__ = (
        f"{summary}, element by element.\n\n    Args:\n        x: tensor of {kind} dtype, any "
        "shape.\n        name: of the operation.\n\n    Returns:\n        A tensor of x's dtype "
        f"and shape.\n\n    Raises:\n        TypeError: x is not {kind}.\n    "
    )
    return build


abs = _unary_builder("abs", "Abs", "Abs", NUMERIC, "The absolute value")
negative = _unary_builder("negative", "Neg", "Neg", NUMERIC, "-x")
sign = _unary_builder("sign", "Sign", "Sign", NUMERIC, "-1, 0 or 1, as x is below, at or above 0")
exp = _unary_builder("exp", "Exp", "Exp", FLOATING_OR_COMPLEX, "e to the power of x")
log = _unary_builder("log", "Log", "Log", FLOATING_OR_COMPLEX, "The natural logarithm; -inf at 0")
sqrt = _unary_builder("sqrt", "Sqrt", "Sqrt", FLOATING_OR_COMPLEX, "The square root")
reciprocal = _unary_builder("reciprocal", "Reciprocal", "Reciprocal", FLOATING_OR_COMPLEX, "1 / x")
floor = _unary_builder("floor", "Floor", "Floor", FLOATING, "The largest whole number up to x")
ceil = _unary_builder("ceil", "Ceil", "Ceil", FLOATING, "The smallest whole number from x")
sin = _unary_builder("sin", "Sin", "Sin", FLOATING_OR_COMPLEX, "The sine")
cos = _unary_builder("cos", "Cos", "Cos", FLOATING_OR_COMPLEX, "The cosine")
asin = _unary_builder("asin", "Asin", "Asin", FLOATING_OR_COMPLEX, "The inverse sine; nan beyond 1")
acos = _unary_builder(
    "acos", "Acos", "Acos", FLOATING_OR_COMPLEX, "The inverse cosine; nan beyond 1"
)
atan = _unary_builder("atan", "Atan", "Atan", FLOATING_OR_COMPLEX, "The inverse tangent")
sinh = _unary_builder("sinh", "Sinh", "Sinh", FLOATING_OR_COMPLEX, "The hyperbolic sine")
cosh = _unary_builder("cosh", "Cosh", "Cosh", FLOATING_OR_COMPLEX, "The hyperbolic cosine")
asinh = _unary_builder(
    "asinh", "Asinh", "Asinh", FLOATING_OR_COMPLEX, "The inverse hyperbolic sine"
)
acosh = _unary_builder(
    "acosh", "Acosh", "Acosh", FLOATING_OR_COMPLEX, "cosh's inverse; nan below 1"
)
atanh = _unary_builder(
    "atanh", "Atanh", "Atanh", FLOATING_OR_COMPLEX, "tanh's inverse; nan beyond 1"
)
tanh = _unary_builder("tanh", "Tanh", "Tanh", FLOATING_OR_COMPLEX, "The hyperbolic tangent")
sigmoid = _unary_builder("sigmoid", "Sigmoid", "Sigmoid", FLOATING_OR_COMPLEX, "1 / (1 + exp(-x))")
erf = _unary_builder("erf", "Erf", "Erf", FLOATING, "The error function")


def _of_sparse(function: Unary) -> UnaryOfSparse:
    """The function, which computes with the values of a SparseTensor: it leaves 0 at 0."""

    @functools.wraps(function)
    def call(x: Any, *arguments: Any, **options: Any) -> Any:
        if _has_own_operators(x):
            return x.with_values(function(x.values, *arguments, **options))
        return function(x, *arguments, **options)

    return call


abs, negative, sign, sqrt, tanh, erf = map(_of_sparse, (abs, negative, sign, sqrt, tanh, erf))


@api_guard.operator
def round(x: Any, name: str | None = None) -> Tensor:
    """The nearest whole number, halves to the even one; integers stay as they are.

    Args:
        x: numeric tensor.
        name: of the operation.
    """
    with scope(name, "Round") as at:
        tensor = convert_to_tensor(x, name="x")
        require(tensor, NUMERIC, "Round")
        return unary("Identity" if tensor.dtype.is_integer else "Round", tensor, at)


@api_guard.operator
@_of_sparse
def square(x: Any, name: str | None = None) -> Tensor:
    """x * x, element by element; numeric."""
    with scope(name, "Square") as at:
        tensor = convert_to_tensor(x, name="x")
        require(tensor, NUMERIC, "Square")
        dims = dims_of(tensor)
        return node("Mul", [tensor, tensor], tensor.dtype, dims, name=at, tf_type="Square")


@api_guard.operator
def rsqrt(x: Any, name: str | None = None) -> Tensor:
    """1 / sqrt(x), element by element; floating."""
    with scope(name, "Rsqrt") as at:
        root = sqrt(x, name="sqrt")
        dims = dims_of(root)
        return node("Reciprocal", [root], root.dtype, dims, name=at, tf_type="Rsqrt")


@api_guard.operator
def tan(x: Any, name: str | None = None) -> Tensor:
    """The tangent, sin(x) / cos(x); floating."""
    with scope(name, "Tan") as at:
        tensor = convert_to_tensor(x, name="x")
        if tensor.dtype.is_complex:
            return unary("Tan", tensor, at)
        return binary("Div", sin(tensor), cos(tensor), at)


@api_guard.operator
def expm1(x: Any, name: str | None = None) -> Tensor:
    """exp(x) - 1 without cancellation near 0; floating.

    There it is 2 t / (1 - t) with t = tanh(x / 2).
    """
    with scope(name, "Expm1") as at:
        tensor = convert_to_tensor(x, name="x")
        require(tensor, FLOATING_OR_COMPLEX, "Expm1")
        if tensor.dtype.is_complex:
            return unary("Expm1", tensor, at)
        zero, half, one, two = (scalar(v, tensor.dtype) for v in (0, 0.5, 1, 2))
        small = compare("Less", abs(tensor), one)
        # The branch not taken computes on 0, so that its gradient is not nan.
        t = tanh(binary("Mul", select(small, tensor, zero), half))
        near = binary("Div", binary("Mul", t, two), binary("Sub", one, t))
        far = binary("Sub", exp(tensor), one)
        return select(small, near, far, at)


@api_guard.operator
def log1p(x: Any, name: str | None = None) -> Tensor:
    """log(1 + x) without loss near 0; floating.

    With u = 1 + x rounded: log(u) * x / (u - 1), whose last factor is a constant near 1
    (Kahan, via Goldberg 1991, theorem 4).
    """
    with scope(name, "Log1p") as at:
        tensor = convert_to_tensor(x, name="x")
        require(tensor, FLOATING_OR_COMPLEX, "Log1p")
        if tensor.dtype.is_complex:
            return unary("Log1p", tensor, at)
        one, zero = scalar(1, tensor.dtype), scalar(0, tensor.dtype)
        u = binary("Add", tensor, one)
        d = binary("Sub", u, one)
        lost = compare("Equal", d, zero)
        small = compare("Less", abs(tensor), one)
        divisor = select(lost, one, d)
        ratio = select(small, binary("Div", tensor, divisor), one)
        fixed = node("StopGradient", [ratio], ratio.dtype, dims_of(ratio), domain="graphio")
        found = select(lost, tensor, binary("Mul", log(u), fixed), at)

        # that of the formula has the error of its factor, which is large for x near the rounding
        def differentiate(arriving: Sequence[Any]) -> list[Tensor]:
            return [binary("Div", arriving[0], binary("Add", tensor, one))]

        REGIONS.of(found.graph)[found.op] = Region([found.op], [tensor], [found], differentiate)
        return found


@api_guard.operator
def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """log(sigmoid(x)) = -softplus(-x); floating."""
    with scope(name, "LogSigmoid") as at:
        tensor = convert_to_tensor(x, name="x")
        require(tensor, FLOATING, "LogSigmoid")
        return negative(unary("Softplus", negative(tensor)), name=at)


@api_guard.operator
def is_nan(x: Any, name: str | None = None) -> Tensor:
    """Whether each element is not a number: bool of x's shape; floating x."""
    return _float_test(x, "IsNaN", "IsNan", name)


@api_guard.operator
def is_inf(x: Any, name: str | None = None) -> Tensor:
    """Whether each element is infinite: bool of x's shape; floating x."""
    return _float_test(x, "IsInf", "IsInf", name)


@api_guard.operator
def is_finite(x: Any, name: str | None = None) -> Tensor:
    """Whether each element is neither infinite nor nan: bool of x's shape; floating x."""
    with scope(name, "IsFinite") as at:
        tensor = convert_to_tensor(x, name="x")
        odd = compare("Or", is_nan(tensor), is_inf(tensor))
        return node("Not", [odd], dtypes.bool, dims_of(odd), name=at, tf_type="IsFinite")


def _float_test(x: Any, op: str, tf_type: str, name: str | None) -> Tensor:
    with scope(name, tf_type) as at:
        tensor = convert_to_tensor(x, name="x")
        require(tensor, FLOATING, tf_type)
        return node(op, [tensor], dtypes.bool, dims_of(tensor), name=at, tf_type=tf_type)


def has_minus(x: Tensor) -> Tensor:
    """Whether the sign is minus, that of a zero too."""
    zero, one = (scalar(v, x.dtype) for v in (0, 1))
    inverse = select(compare("Equal", x, zero), binary("Div", one, x), x)
    return compare("Less", inverse, zero)


# ---- casts ----


@api_guard.operator
def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """x in another dtype; floats are truncated towards zero on their way to integers.

    Args:
        x: tensor, any shape; of a SparseTensor or IndexedSlices the values.
        dtype: of the result; if x has it already, x comes back as it is.
        name: of the operation.

    Raises:
        UnimplementedError: from or to strings.
    """
    target = dtypes.as_dtype(dtype).base_dtype
    with scope(name, "Cast") as at:
        if isinstance(x, Composite):
            converted: Tensor = x.with_values(_of_numbers(x.values, target, at))
            return converted
        return _of_numbers(convert_to_tensor(x, name="x"), target, at)


def _of_numbers(x: Tensor, target: DType, name: str) -> Tensor:
    """x in another dtype; strings and numbers are not cast into each other."""
    if (x.dtype == dtypes.string) != (target == dtypes.string):
        use = "tf.strings.to_number" if x.dtype == dtypes.string else "tf.as_string"
        raise errors.UnimplementedError(
            message=f"Cast {x.dtype.name} to {target.name} is not supported; use {use}"
        )
    return _cast(x, target, name)


def _largest(dtype: DType, other: DType) -> float:
    """The largest finite number of a floating dtype that another one holds."""
    most = float(min(dtype.max, other.max))
    with np.errstate(over="ignore"):
        number = np.asarray(most, dtype.as_numpy_dtype)  # the nearest one
    return float(number if float(number) <= most else np.nextafter(number, number.dtype.type(0)))


@api_guard.operator
def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """value in another dtype, limited to what that one can hold: infinities of floating dtypes
    become the largest numbers that both have.

    Raises:
        UnimplementedError: of strings.
    """
    target = dtypes.as_dtype(dtype).base_dtype
    with scope(name, "saturate_cast") as at:
        tensor = convert_to_tensor(value, name="value")
        if tensor.dtype.is_complex or target.is_complex:
            return _saturated_parts(tensor, target, at)
        if target.is_integer and not tensor.dtype.is_integer:
            return _of_numbers(tensor, target, at)  # this cast saturates by itself
        if target.is_floating and tensor.dtype.is_floating:
            limit = _largest(tensor.dtype.base_dtype, target)
            return _cast(minimum(maximum(tensor, -limit), limit), target, at)
        if tensor.dtype.min < target.min:
            tensor = maximum(tensor, target.min)
        if tensor.dtype.max > target.max:
            tensor = minimum(tensor, target.max)
        return _cast(tensor, target, at)


def _saturated_parts(x: Tensor, target: DType, name: str) -> Tensor:
    """saturate_cast from or to complex numbers; a real dtype takes the real parts."""
    kind = target.real_dtype
    if not target.is_complex:
        return saturate_cast(_cast(x, x.dtype.real_dtype), kind, name)
    if not x.dtype.is_complex:
        return _cast(saturate_cast(x, kind), target, name)
    parts = [
        saturate_cast(node(op, [x], x.dtype.real_dtype, dims_of(x), domain="graphio"), kind)
        for op in ("Real", "Imag")
    ]
    return node("Complex", parts, target, dims_of(x), name=name, domain="graphio")


@api_guard.operator
def to_float(x: Any, name: str = "ToFloat") -> Tensor:
    """x as float32."""
    return cast(x, dtypes.float32, name=name)


@api_guard.operator
def to_double(x: Any, name: str = "ToDouble") -> Tensor:
    """x as float64."""
    return cast(x, dtypes.float64, name=name)


@api_guard.operator
def to_complex64(x: Any, name: str = "ToComplex64") -> Tensor:
    """x as complex64."""
    return cast(x, dtypes.complex64, name=name)


@api_guard.operator
def to_complex128(x: Any, name: str = "ToComplex128") -> Tensor:
    """x as complex128."""
    return cast(x, dtypes.complex128, name=name)


@api_guard.operator
def to_int32(x: Any, name: str = "ToInt32") -> Tensor:
    """x as int32, truncated towards zero."""
    return cast(x, dtypes.int32, name=name)


@api_guard.operator
def to_int64(x: Any, name: str = "ToInt64") -> Tensor:
    """x as int64, truncated towards zero."""
    return cast(x, dtypes.int64, name=name)


@api_guard.operator
def to_bfloat16(x: Any, name: str = "ToBFloat16") -> Tensor:
    """x as bfloat16."""
    return cast(x, dtypes.bfloat16, name=name)


# ---- two operands ----


def _joined(a: Tensor, b: Tensor, name: str) -> Tensor:
    """The sum of two tensors of strings, with broadcasting."""
    one, two = dims_of(a), dims_of(b)
    if one and two and one != two and None not in (*one, *two):
        common = shapes.broadcast(one, two, describe(name, "Add")) or ()
        a, b = (
            primitive.expand(t, primitive.int_vector([d or 0 for d in common]), common)
            for t in (a, b)
        )
    return string_join([a, b], name=name)


def _exponent(y: Tensor) -> Tensor:
    """The exponent of an integer, once it is known not to be negative."""
    return run_checks.not_negative(y, "Integers to negative integer powers are not allowed")


def _binary_builder(function: str, op: str, tf_type: str, kind: str, summary: str) -> Binary:
    @api_guard.operator
    def build(x: Any, y: Any, name: str | None = None) -> Tensor:
        with scope(name, tf_type) as at:
            a, b = operands(x, y, tf_type)
            if op == "Add" and a.dtype.base_dtype == dtypes.string:
                return _joined(a, b, at)
            require(a, kind, tf_type)
            if op == "Pow" and a.dtype.is_integer and not a.dtype.is_unsigned:
                b = _exponent(b)
            dims = shapes.broadcast(dims_of(a), dims_of(b), describe(at, tf_type))
            return node(op, [a, b], a.dtype, dims, name=at, tf_type=tf_type)

    build.__name__ = build.__qualname__ = function
    build.__doc__ = (
        f"{summary}, element by element, with broadcasting.\n\n    Args:\n        x: tensor of "
        f"{kind} dtype.\n        y: tensor of the same dtype, or numbers.\n        name: of the "
        "operation.\n\n    Returns:\n        A tensor of the common shape and x's dtype.\n\n"
        "    Raises:\n        TypeError: the dtypes differ.\n        ValueError: the shapes do "
        "not broadcast.\n    "
    )
    return build


add = _binary_builder("add", "Add", "Add", NUMERIC, "x + y (strings are joined)")
subtract = _binary_builder("subtract", "Sub", "Sub", NUMERIC, "x - y")
multiply = _binary_builder("multiply", "Mul", "Mul", NUMERIC, "x * y")
realdiv = _binary_builder("realdiv", "Div", "RealDiv", FLOATING_OR_COMPLEX, "x / y")
pow = _binary_builder("pow", "Pow", "Pow", NUMERIC, "x to the power of y")
maximum = _binary_builder(
    "maximum", "Max", "Maximum", NUMERIC, "The larger one (gradient to x where equal)"
)
minimum = _binary_builder(
    "minimum", "Min", "Minimum", NUMERIC, "The smaller one (gradient to x where equal)"
)

#: the dtype of a true division of integers
TRUEDIV_OF = {
    dtypes.int8: dtypes.float32,
    dtypes.uint8: dtypes.float32,
    dtypes.int16: dtypes.float32,
    dtypes.uint16: dtypes.float32,
    dtypes.int32: dtypes.float64,
    dtypes.int64: dtypes.float64,
    dtypes.uint32: dtypes.float64,
    dtypes.uint64: dtypes.float64,
}


@api_guard.operator
def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y with broadcasting; integers of 32 and 64 bits give float64, smaller ones float32.

    Raises:
        TypeError: the dtypes differ.
        ValueError: the shapes do not broadcast.
    """
    with scope(name, "truediv") as at:
        a, b = operands(x, y, "truediv")
        target = TRUEDIV_OF.get(a.dtype.base_dtype)
        if target is not None:
            a, b = _cast(a, target, "Cast"), _cast(b, target, "Cast_1")
        return realdiv(a, b, name=at)


@api_guard.operator
def divide(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y as Python's operator divides, a number x in the dtype of a tensor y; see truediv."""
    if is_symbolic(y) and isinstance(x, (int, float)):
        x = convert_to_tensor(x, y.dtype.base_dtype, name="x")
    return truediv(x, y, name=name)


@api_guard.operator
def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y as Python 2 divides: integers are floored, see floordiv; floats are not."""
    with scope(name, "div") as at:
        a, b = operands(x, y, "div")
        return floordiv(a, b, name=at) if a.dtype.is_integer else realdiv(a, b, name=at)


def checked_divisor(y: Tensor) -> Tensor:
    """y; one of integers that may be 0 is checked when it is run."""
    known = constant_value(y)
    if not y.dtype.is_integer or (known is not None and known.all()):
        return y
    return node("NonZeroDivisor", [y], y.dtype, dims_of(y), domain="graphio")


@api_guard.operator
def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The largest whole number up to x / y, with broadcasting; keeps the dtype.

    Raises:
        TypeError: the dtypes differ.
        ValueError: the shapes do not broadcast.
    """
    with scope(name, "floordiv") as at:
        a, b = operands(x, y, "FloorDiv")
        require(a, NUMERIC, "FloorDiv")
        b = checked_divisor(b)
        quotient = binary("Div", a, b)
        dims = dims_of(quotient)
        if not a.dtype.is_integer:
            return node("Floor", [quotient], a.dtype, dims, name=at, tf_type="FloorDiv")
        # Div truncates: one less where its remainder has not the divisor's sign.
        remainder = binary("Sub", a, binary("Mul", quotient, b))
        same = compare("Equal", remainder, node("Mod", [a, b], a.dtype, dims, fmod=0))
        excess = _cast(node("Not", [same], dtypes.bool, dims), a.dtype)
        return node("Sub", [quotient, excess], a.dtype, dims, name=at, tf_type="FloorDiv")


floor_div = floordiv


@api_guard.operator
def floormod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x - y * floordiv(x, y): the remainder with the divisor's sign, with broadcasting.

    Raises:
        TypeError: the dtypes differ.
        ValueError: the shapes do not broadcast.
    """
    with scope(name, "FloorMod") as at:
        a, b = operands(x, y, "FloorMod")
        require(a, NUMERIC, "FloorMod")
        b = checked_divisor(b)
        dims = shapes.broadcast(dims_of(a), dims_of(b), describe(at, "FloorMod"))
        if a.dtype.is_integer:
            return node("Mod", [a, b], a.dtype, dims, name=at, tf_type="FloorMod", fmod=0)
        zero = scalar(0, a.dtype)
        rest = node("Mod", [a, b], a.dtype, dims, fmod=1)
        differs = compare("Xor", compare("Less", rest, zero), compare("Less", b, zero))
        exact = compare("Equal", rest, zero)
        keeps = compare("Or", exact, node("Not", [differs], dtypes.bool, dims))
        return select(keeps, rest, binary("Add", rest, b), at)


mod = floormod


@api_guard.operator
def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """(x - y) squared, with broadcasting; of complex numbers |x - y| squared, as complex ones.

    Raises:
        TypeError: the dtypes differ.
        ValueError: the shapes do not broadcast.
    """
    with scope(name, "SquaredDifference") as at:
        a, b = operands(x, y, "SquaredDifference")
        d = subtract(a, b, name="sub")
        dims = dims_of(d)
        other = unary("Conj", d) if d.dtype.is_complex else d
        return node("Mul", [other, d], d.dtype, dims, name=at, tf_type="SquaredDifference")


@api_guard.operator
def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """t limited to [clip_value_min, clip_value_max]; the bounds conduct the gradient.

    Args:
        t: numeric tensor, or IndexedSlices, which stay that.
        clip_value_min: number or tensor that broadcasts to t's shape.
        clip_value_max: the same.
        name: of the operation.
    """
    if isinstance(t, IndexedSlices):
        values = clip_by_value(t.values, clip_value_min, clip_value_max, name)
        return IndexedSlices(values, t.indices, t.dense_shape)
    with scope(name, "clip_by_value") as at:
        tensor = convert_to_tensor(t, name="t")
        upper = minimum(tensor, clip_value_max, name="Minimum")
        result = maximum(upper, clip_value_min, name=at)
        shapes.merge(dims_of(tensor), dims_of(result), describe(at, "ClipByValue"))
        return result


@api_guard.operator
def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of tensors of one dtype and shape.

    Args:
        inputs: a list, an array of them, or what gives one after the other, of at least one;
            IndexedSlices among them become dense.
        name: of the operation.

    Raises:
        ValueError: the list is empty, or the shapes differ.
        TypeError: the dtypes differ.
    """
    listed = isinstance(inputs, (list, tuple, Iterator, ValuesView, np.ndarray))
    values = list(inputs) if listed else [inputs]
    if not values:
        raise ValueError("add_n: inputs must be a list of at least one tensor, got none")
    with scope(name, "AddN") as at:
        first = convert_to_tensor(values[0], name="inputs_0")
        total, dims = first, dims_of(first)
        for i, value in enumerate(values[1:], 1):
            part = like(value, first, "AddN", ("inputs[0]", f"inputs[{i}]"))
            dims = shapes.merge(dims, dims_of(part), describe(at, "AddN"))
            final = i == len(values) - 1
            total = node(
                "Add",
                [total, part],
                first.dtype,
                dims,
                name=at if final else "add",
                tf_type="AddN" if final else None,
            )
        return total if len(values) > 1 else unary("Identity", first, at)


@api_guard.operator
def accumulate_n(
    inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None
) -> Tensor:
    """The sum of tensors of one dtype and shape; see add_n.

    Args:
        inputs: a list of at least one.
        shape: accepted for TensorFlow's sake.
        tensor_dtype: accepted for TensorFlow's sake.
        name: of the operation.
    """
    return add_n(inputs, name=name or "AccumulateNV2")


# ---- Python's operators ----


def _operator(method: str, function: Callable[..., Tensor], default: str) -> None:
    """Installs x <op> y and y <op> x; the tensor's dtype decides, on whichever side it is."""

    def forward(x: Tensor, y: Any) -> Any:
        if _has_own_operators(y):
            return NotImplemented
        with scope(None, default) as at:
            return function(x, like(y, x, default, ("x", "y")), name=at)

    def reflected(y: Tensor, x: Any) -> Any:
        with scope(None, default) as at:
            return function(like(x, y, default, ("y", "x")), y, name=at)

    Tensor.overload(f"__{method}__", or_reflected(method, forward))
    Tensor.overload(f"__r{method}__", reflected)


def _has_own_operators(value: Any) -> bool:
    """Whether value (a SparseTensor, say) computes with tensors by its own rules."""
    return bool(getattr(type(value), "combines_with_tensors", False))


def _install() -> None:
    for method, function, default in (
        ("add", add, "add"),
        ("sub", subtract, "sub"),
        ("mul", multiply, "mul"),
        ("div", div, "div"),
        ("truediv", truediv, "truediv"),
        ("floordiv", floordiv, "floordiv"),
        ("mod", floormod, "mod"),
        ("pow", pow, "pow"),
    ):
        _operator(method, function, default)
    Tensor.overload("__neg__", negative)
    Tensor.overload("__abs__", abs)


_install()


registered.negative.register(negative)
