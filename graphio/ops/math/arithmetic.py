"""Arithmetic composed of other operators, cumulative products, einsum."""

from __future__ import annotations

import math as _math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.ops.array import filling, reshaping, run_axis
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    FLOATING,
    FLOATING_OR_COMPLEX,
    NUMERIC,
    describe,
    integers,
    is_symbolic,
    like,
    node,
    operands,
    require,
    scalar,
    scope,
)
from graphio.ops.base.primitive import binary, cast, compare, select, unary
from graphio.ops.base.shapes import Dims, dims_of
from graphio.ops.checks import assertion
from graphio.ops.control_flow import loops
from graphio.ops.math import comparison, elementwise, reduction
from graphio.schema import equation as equations
from graphio.support import api_guard

__all__ = [
    "arg_max",
    "arg_min",
    "atan2",
    "cross",
    "cumprod",
    "cumulative_logsumexp",
    "div_no_nan",
    "einsum",
    "lin_space",
    "linspace",
    "multiply_no_nan",
    "reciprocal_no_nan",
    "reduce_euclidean_norm",
    "reduce_std",
    "reduce_variance",
    "rint",
    "scalar_mul",
    "truncatediv",
    "truncatemod",
    "xdivy",
    "xlogy",
]

# ---- elementwise ----


@api_guard.operator
def atan2(y: Any, x: Any, name: str | None = None) -> Tensor:
    """The angle of the point (x, y), in [-pi, pi], with broadcasting.

    Args:
        y: floating tensor.
        x: tensor of the same dtype.
        name: of the operation.

    Raises:
        TypeError: the dtypes differ, or y is not floating.
        ValueError: the shapes do not broadcast.
    """
    with scope(name, "Atan2") as at:
        a, b = operands(y, x, "Atan2", ("y", "x"))
        require(a, FLOATING, "Atan2", "y")
        zero, one = (scalar(v, a.dtype) for v in (0, 1))
        infinite = compare("And", elementwise.is_inf(a), elementwise.is_inf(b))
        a, b = select(infinite, elementwise.sign(a), a), select(infinite, elementwise.sign(b), b)
        # The smaller one over the larger one, so that neither value nor gradient overflows.
        steep = compare("Greater", elementwise.abs(a), elementwise.abs(b))
        divisor = select(steep, a, b)
        origin = compare("Equal", divisor, zero)
        ratio = binary("Div", select(steep, b, a), select(origin, one, divisor))
        angle = unary("Atan", ratio)
        pi = scalar(_math.pi, a.dtype)
        half = scalar(_math.pi / 2, a.dtype)
        below = elementwise.has_minus(a)
        flat = binary("Add", angle, select(below, unary("Neg", pi), pi))
        flat = select(elementwise.has_minus(b), flat, angle)
        upright = binary("Sub", select(below, unary("Neg", half), half), angle)
        return select(steep, upright, flat, at)


@api_guard.operator
def rint(x: Any, name: str | None = None) -> Tensor:
    """The nearest whole number, halves to the even one; floating.

    Raises:
        TypeError: x is not floating.
    """
    with scope(name, "Rint") as at:
        tensor = convert_to_tensor(x, name="x")
        require(tensor, FLOATING, "Rint")
        return unary("Round", tensor, at)


@api_guard.operator
def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """A scalar times a tensor, or times the values of IndexedSlices.

    Raises:
        ValueError: scalar has another shape than ().
        TypeError: the dtypes differ.
    """
    if isinstance(x, IndexedSlices):
        return x.with_values(scalar_mul(scalar, x.values, name))
    with scope(name, "Mul") as at:
        tensor = convert_to_tensor(x, name="x")
        factor = like(scalar, tensor, "Mul", ("x", "scalar"))
        if factor.shape.ndims not in (0, None):
            raise ValueError(
                f"Only scalar multiply works, got shape {shapes.text_of(factor)}; use multiply"
            )
        return binary("Mul", factor, tensor, at)


@api_guard.operator
def truncatediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y rounded towards zero, with broadcasting; keeps the dtype.

    Raises:
        TypeError: the dtypes differ.
        ValueError: the shapes do not broadcast.
    """
    with scope(name, "TruncateDiv") as at:
        a, b = operands(x, y, "TruncateDiv")
        require(a, NUMERIC, "TruncateDiv")
        b = elementwise.checked_divisor(b)
        if a.dtype.is_integer:
            return binary("Div", a, b, at)
        quotient = reshaping.stop_gradient(binary("Div", a, b))
        return binary(
            "Mul", elementwise.sign(quotient), elementwise.floor(elementwise.abs(quotient)), at
        )


@api_guard.operator
def truncatemod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x - y * truncatediv(x, y): the remainder with the dividend's sign, with broadcasting.

    Raises:
        TypeError: the dtypes differ.
        ValueError: the shapes do not broadcast.
    """
    with scope(name, "TruncateMod") as at:
        a, b = operands(x, y, "TruncateMod")
        require(a, NUMERIC, "TruncateMod")
        b = elementwise.checked_divisor(b)
        dims = shapes.broadcast(dims_of(a), dims_of(b), describe(at, "TruncateMod"))
        return node("Mod", [a, b], a.dtype, dims, name=at, tf_type="TruncateMod", fmod=1)


def _guarded(
    tf_type: str, x: Any, y: Any, name: str | None, by_first: bool,
    combine: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:  # fmt: skip
    """combine(x, y), but 0 where the guarding operand is 0; it is 1 in what is computed there."""
    with scope(name, tf_type) as at:
        a, b = operands(x, y, tf_type)
        require(a, FLOATING_OR_COMPLEX, tf_type)
        zero, one = (scalar(v, a.dtype) for v in (0, 1))
        off = compare("Equal", a if by_first else b, zero)
        kept = combine(a, select(off, one, b))
        return select(off, zero, kept, at)


@api_guard.operator
def div_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y with broadcasting, and 0 where y is 0; integers are divided as truediv does.

    Raises:
        TypeError: the dtypes differ, or x is not numeric.
        ValueError: the shapes do not broadcast.
    """
    with scope(name, "DivNoNan") as at:
        if is_symbolic(y) and isinstance(x, (int, float, complex)):
            x = convert_to_tensor(x, y.dtype.base_dtype, name="x")
        a, b = operands(x, y, "DivNoNan")
        requested = elementwise.TRUEDIV_OF.get(a.dtype.base_dtype, a.dtype)
        a, b = cast(a, requested), cast(b, requested)
        return _guarded("DivNoNan", a, b, at, False, lambda n, d: binary("Div", n, d))


@api_guard.operator
def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """1 / x, and 0 where x is 0."""
    with scope(name, "reciprocal_no_nan") as at:
        tensor = convert_to_tensor(x, name="x")
        require(tensor, FLOATING_OR_COMPLEX, "reciprocal_no_nan")
        return div_no_nan(scalar(1, tensor.dtype), tensor, at)


@api_guard.operator
def multiply_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * y with broadcasting, and 0 where y is 0, whatever x is."""
    with scope(name, "MulNoNan") as at:
        a, b = operands(x, y, "MulNoNan")
        require(a, FLOATING_OR_COMPLEX, "MulNoNan")
        zero = scalar(0, a.dtype)
        if a.dtype.is_complex:
            return select(compare("Equal", b, zero), zero, binary("Mul", a, b), at)
        # Only what makes a nan of 0 is left out, for the gradient by y is x.
        endless = compare("Or", elementwise.is_nan(a), elementwise.is_inf(a))
        off = compare("And", compare("Equal", b, zero), endless)
        return binary("Mul", select(off, zero, a), b, at)


@api_guard.operator
def xdivy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y with broadcasting, and 0 where x is 0, whatever y is."""
    return _guarded("Xdivy", x, y, name, True, lambda a, b: binary("Div", a, b))


@api_guard.operator
def xlogy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * log(y) with broadcasting, and 0 where x is 0, whatever y is."""
    return _guarded("Xlogy", x, y, name, True, lambda a, b: binary("Mul", a, unary("Log", b)))


@api_guard.operator
def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """The cross product of vectors of three elements along the last axis.

    Args:
        a: numeric tensor (..., 3).
        b: tensor of the same dtype and shape.
        name: of the operation.

    Raises:
        ValueError: the shapes differ, or the last axis is not 3.
        TypeError: the dtypes differ.
    """
    with scope(name, "Cross") as at:
        x, y = operands(a, b, "Cross", ("a", "b"))
        require(x, NUMERIC, "Cross", "a")
        what = describe(at, "Cross")
        dims = shapes.merge(dims_of(x), dims_of(y), what)
        if dims is None:
            raise ValueError("cross: the rank of a must be known; use set_shape")
        if not dims or dims[-1] not in (3, None):
            raise ValueError(
                f"cross: a has shape {shapes.text(dims)}, expected (..., 3) for {what}"
            )
        axis = len(dims) - 1
        after, before = (primitive.int_vector(v) for v in ((1, 2, 0), (2, 0, 1)))
        parts = [primitive.gather(t, p, axis) for t in (x, y) for p in (after, before)]
        return binary(
            "Sub", binary("Mul", parts[0], parts[3]), binary("Mul", parts[1], parts[2]), at
        )


# ---- ranges and running values ----


@api_guard.operator
def lin_space(start: Any, stop: Any, num: Any, name: str | None = None) -> Tensor:
    """num values from start to stop, both included, evenly spaced.

    Args:
        start: floating scalar.
        stop: scalar of the same dtype.
        num: how many, at least 1; an integer scalar.
        name: of the operation.

    Returns:
        A vector of start's dtype.

    Raises:
        ValueError: start or stop is not a scalar, or num is known and below 1.
        TypeError: start is not floating, or the dtypes differ.
    """
    with scope(name, "LinSpace") as at:
        first, end = operands(start, stop, "LinSpace", ("start", "stop"))
        require(first, FLOATING, "LinSpace", "start")
        for x, label in ((first, "start"), (end, "stop")):
            if x.shape.ndims not in (0, None):
                raise ValueError(f"lin_space: {label} has shape {shapes.text_of(x)}, expected ()")
        count = integers(num, "LinSpace", "num")
        known = constant_value(count)
        if known is not None and known < 1:
            raise ValueError(f"Requires num > 0: {int(known)} for {describe(at, 'LinSpace')}")
        one = scalar(1, count.dtype)
        steps = binary("Sub", count, one)
        positions = filling.range(count)
        whole = cast(binary("Max", steps, one), first.dtype)
        delta = binary("Div", binary("Sub", end, first), whole)
        values = binary("Add", first, binary("Mul", cast(positions, first.dtype), delta))
        # The last one is stop to the last bit, unless it is also the first.
        last = compare("Equal", positions, steps)
        ends = compare("And", last, compare("Greater", positions, scalar(0, positions.dtype)))
        return select(ends, end, values, at)


linspace = lin_space


@api_guard.operator
def cumprod(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Cumulative products along axis.

    Args:
        x: numeric tensor of rank 1 or more.
        axis: which axis.
        exclusive: True leaves each element out of its result.
        reverse: True multiplies from the end.
        name: of the operation.

    Raises:
        InvalidArgumentError: axis is out of range, or no scalar.
    """
    with scope(name, "Cumprod") as at:
        tensor = convert_to_tensor(x, name="x")
        require(tensor, NUMERIC, "Cumprod")
        number = axis
        if not run_axis.is_open(axis):
            number = reduction.scan_axis(axis, tensor, "Cumprod", at)
        if run_axis.is_open(axis) or tensor.shape.ndims is None:  # the gradient wants both
            return run_axis.along_same(
                tensor, number, "Cumprod", at,
                lambda flat: cumprod(flat, run_axis.AXIS, exclusive, reverse),
            )  # fmt: skip
        position = constant(np.asarray(number, np.int64), name="axis")
        return node(
            "CumProd",
            [tensor, position],
            tensor.dtype,
            dims_of(tensor),
            name=at,
            tf_type="Cumprod",
            exclusive=int(exclusive),
            reverse=int(reverse),
        )


@api_guard.operator
def cumulative_logsumexp(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The logarithm of running sums of exp(x) along axis; floating. Arguments as cumsum's.

    Sums of 2, 4, 8 ... neighbours are made of sums of half as many, each by its own largest
    element, so that neither large nor small ones are lost. An empty sum is minus infinity.

    Raises:
        InvalidArgumentError: axis is out of range, or no scalar.
    """
    with scope(name, "CumulativeLogsumexp") as at:
        tensor = convert_to_tensor(x, name="x")
        require(tensor, FLOATING, "CumulativeLogsumexp")
        if run_axis.is_open(axis):
            return run_axis.along_same(
                tensor, axis, "CumulativeLogsumexp", at,
                lambda flat: cumulative_logsumexp(flat, run_axis.AXIS, exclusive, reverse),
            )  # fmt: skip
        number = reduction.scan_axis(axis, tensor, "CumulativeLogsumexp", at)
        sums = moved_along(tensor, 1, number, reverse, -np.inf) if exclusive else tensor
        sums = running(
            sums, number, lambda sums, step: _joined_to_next(sums, step, number, reverse)
        )
        return unary("Identity", sums, at)


def running(x: Tensor, axis: int, join: Callable[[Tensor, int | Tensor], Tensor]) -> Tensor:
    """Results of 2, 4, 8 ... neighbours along an axis, each of those of half as many.

    Args:
        x: the elements.
        axis: which axis, from the end where the rank is unknown.
        join: from the results so far and a distance to each joined with the one so far away.
    """
    count = x.shape[axis].value if x.shape.ndims is not None else None
    if count is not None:
        for step in (1 << i for i in range(max(count - 1, 0).bit_length())):
            x = join(x, step)
        return x
    size = primitive.squeeze(_size_along(x, axis), [0])
    _, found = loops.kernel_loop(
        lambda step, sums: compare("Less", step, size),
        lambda step, sums: (binary("Add", step, step), join(sums, step)),
        [scalar(1, dtypes.int64), x],
    )
    result: Tensor = found
    return result


def _size_along(x: Tensor, axis: int) -> Tensor:
    """The size of an axis, which may be counted from the end, as a vector (1)."""
    end = primitive.last if axis == -1 else axis + 1
    return primitive.slice_axes(primitive.shape_of(x), [axis], [end], [0])


def moved_along(x: Tensor, step: int | Tensor, axis: int, reverse: bool, blank: float) -> Tensor:
    """x with each element moved by `step`, `blank` where there is none."""
    size = _size_along(x, axis)
    positions = filling.range(primitive.squeeze(size, [0]))
    step = scalar(step, dtypes.int64) if isinstance(step, int) else step
    sources = binary("Add" if reverse else "Sub", positions, step)
    zero, last = scalar(0, dtypes.int64), binary("Sub", size, scalar(1, dtypes.int64))
    within = binary("Max", binary("Min", sources, last), zero)
    moved = primitive.gather(x, within, axis)
    exists = compare("Equal", sources, within)
    behind = axis if axis < 0 else axis - x.shape.ndims if x.shape.ndims is not None else None
    if behind is not None:
        exists = primitive.unsqueeze(exists, list(range(1, -behind)))
    else:
        rank = primitive.shape_of(primitive.shape_of(x))
        axes = filling.range(
            1, primitive.squeeze(binary("Sub", rank, primitive.int_vector([axis])), [0])
        )
        exists = node("Unsqueeze", [exists, axes], dtypes.bool, None)
    return select(exists, moved, scalar(blank, x.dtype))


def _joined_to_next(sums: Tensor, step: int | Tensor, axis: int, reverse: bool) -> Tensor:
    """The logarithm of exp(sums) and exp of those `step` before, added."""
    before = moved_along(sums, step, axis, reverse, -np.inf)
    largest = binary("Max", sums, before)
    # An infinite one cannot be the shift: infinity less infinity is NaN.
    finite = compare("Less", unary("Abs", largest), scalar(np.inf, largest.dtype))
    largest = select(finite, largest, scalar(0, largest.dtype))
    shift = node("StopGradient", [largest], largest.dtype, dims_of(largest), domain="graphio")
    here, there = (unary("Exp", binary("Sub", part, shift)) for part in (sums, before))
    total = binary("Add", here, there)
    # The logarithm's slope at 0 is infinite: there it is taken of 1.
    nought = compare("Equal", total, scalar(0, total.dtype))
    logarithm = unary("Log", select(nought, scalar(1, total.dtype), total))
    logarithm = select(nought, scalar(-np.inf, total.dtype), logarithm)
    result = binary("Add", logarithm, shift)
    result.set_shape(sums.shape)
    return result


# ---- contractions ----


@api_guard.operator
def einsum(equation: str, *inputs: Any, name: str | None = None) -> Tensor:
    """The contraction that an equation describes, such as "ij,jk->ik".

    Args:
        equation: a letter an axis for each operand, "..." for the axes that broadcast, and after
            "->" the axes of the result; without it, those that occur once, in the alphabet's order.
        inputs: numeric tensors of one dtype and known rank.
        name: of the operation.

    Raises:
        ValueError: the equation does not fit the operands, or a size differs between two of them.
        TypeError: the dtypes differ.
    """
    if not inputs:
        raise ValueError("einsum: expected at least one tensor, got none")
    with scope(name, "einsum") as at:
        first = convert_to_tensor(inputs[0], name="inputs_0")
        require(first, NUMERIC, "Einsum", "inputs")
        tensors = [
            first if i == 0 else like(v, first, "Einsum", ("inputs[0]", f"inputs[{i}]"))
            for i, v in enumerate(inputs)
        ]
        what = describe(at, "Einsum")
        found = [dims_of(t) for t in tensors]
        dims: Dims = None
        if None not in found:
            dims = _einsum_dims(equation, [d or () for d in found], what)
        elif "..." in equation:
            tensors = _einsum_ranks(equation, tensors)
        return node("Einsum", tensors, first.dtype, dims, name=at, equation=equation)


def _einsum_ranks(equation: str, tensors: list[Tensor]) -> list[Tensor]:
    """Operands of unknown ranks, once no axis of theirs stands for an ellipsis that the output
    has not."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    if not arrow or "..." in right:
        return tensors
    words = f"einsum: {equation!r} has no ellipsis (...) in the output for axes of its inputs"
    checked = []
    for term, tensor in zip(left.split(","), tensors, strict=False):
        if tensor.shape.ndims is None and "..." in term:
            named = len(term) - len("...")
            tensor = assertion.once(
                tensor, comparison.less_equal(filling.rank(tensor), named), words
            )
        checked.append(tensor)
    return checked + tensors[len(checked) :]


def _einsum_dims(equation: str, operands_dims: list[tuple[int | None, ...]], what: str) -> Dims:
    try:
        parsed = equations.parse(equation, [len(d) for d in operands_dims])
    except ValueError as error:
        raise ValueError(f"einsum: {equation!r}: {error} for {what}") from None
    spread = {label for term in parsed.terms for label in term if label.isdigit()}
    if spread - set(parsed.output):
        raise ValueError(
            f"einsum: {equation!r} has no ellipsis (...) in the output, but {len(spread)} axes of "
            f"the inputs stand for one for {what}; write it, and sum over them with reduce_sum"
        )
    sizes: dict[str, int | None] = {}
    for term, dims in zip(parsed.terms, operands_dims, strict=True):
        for label, size in zip(term, dims, strict=True):
            old = sizes.get(label, size)
            if not label.isdigit():
                shapes.merge((old,), (size,), what)  # sizes of a letter must be equal
            joined = shapes.broadcast((old,), (size,), what)
            assert joined is not None
            sizes[label] = joined[0]
    return tuple(sizes[label] for label in parsed.output)


# ---- reductions ----


@api_guard.operator
def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The mean squared distance from the mean over axes: real numbers, also of complex ones.
    Arguments as reduce_sum's."""
    with scope(name, "reduce_variance") as at:
        x = convert_to_tensor(input_tensor, name="input_tensor")
        require(x, FLOATING_OR_COMPLEX, "reduce_variance", "input_tensor")
        mean = reduction.reduce_mean(x, axis, keepdims=True)
        apart = elementwise.squared_difference(x, mean)
        if x.dtype.is_complex:
            apart = cast(apart, x.dtype.real_dtype)
        return reduction.reduce_mean(apart, axis, keepdims=keepdims, name=at)


@api_guard.operator
def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The root of reduce_variance."""
    with scope(name, "reduce_std") as at:
        return elementwise.sqrt(reduce_variance(input_tensor, axis, keepdims), name=at)


@api_guard.operator
def reduce_euclidean_norm(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The root of the sum of squares over axes, cut off for integers; arguments as reduce_sum's."""
    with scope(name, "EuclideanNorm") as at:
        x = convert_to_tensor(input_tensor, name="input_tensor")
        require(x, NUMERIC, "EuclideanNorm", "input_tensor")
        other = unary("Conj", x) if x.dtype.is_complex else x
        total = reduction.reduce_sum(elementwise.multiply(other, x), axis, keepdims=keepdims)
        if x.dtype.is_integer:
            return cast(elementwise.sqrt(cast(total, dtypes.float64)), x.dtype, at)
        return elementwise.sqrt(total, name=at)


@api_guard.operator
def arg_max(
    input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """The old name of argmax."""
    return reduction.argmax(input, dimension, name=name, output_type=output_type)


@api_guard.operator
def arg_min(
    input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """The old name of argmin."""
    return reduction.argmin(input, dimension, name=name, output_type=output_type)
