"""Reductions over axes, such as sums, means and extremes; indices of extremes; running sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.gradient_registry import gradient, not_differentiable
from graphio.framework.graph import Operation, Tensor
from graphio.ops.array import run_axis
from graphio.ops.array import surface as array
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    FLOATING,
    NUMERIC,
    as_invalid_argument,
    describe,
    int_value,
    ints,
    is_symbolic,
    node,
    renamed,
    require,
    scalar,
    scope,
    static_ints,
)
from graphio.ops.base.primitive import binary, cast, compare, select
from graphio.ops.base.shapes import Dims, dims_of
from graphio.ops.base.signatures import Reduction, documented
from graphio.ops.math import elementwise
from graphio.ops.math.reduce_prod_gradients import Factors, shares
from graphio.support import api_guard, errors

__all__ = [
    "argmax",
    "argmin",
    "count_nonzero",
    "cumsum",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "to_input",
]

Gradients = Sequence["Tensor | None"]

not_differentiable("ArgMax", "ArgMin")


def _depth(axis: Any) -> int:
    """The rank of an axis or of axes in arrays or lists."""
    if isinstance(axis, (list, tuple)):
        return 1 + max((_depth(a) for a in axis if not is_symbolic(a)), default=0)
    return len(getattr(axis, "shape", ()))


class _Axes:
    """The axes of one reduction: as the node's input, and the result's static shape."""

    def __init__(self, x: Tensor, axis: Any, keepdims: bool, op: str, at: str) -> None:
        self.keepdims = keepdims
        self.tensor: Tensor | None = None
        self.dims: Dims
        dims = dims_of(x)
        if axis is None:
            self.dims = shapes.reduced(dims, None, keepdims, op)
            return
        ndims = axis.shape.ndims if is_symbolic(axis) else _depth(axis)
        if ndims is not None and ndims > 1:
            raise ValueError(
                f"Shape must be at most rank 1 but is rank {ndims} for {describe(at, op)}: "
                "axis names axes in a vector"
            )
        found = static_ints(axis)
        if found is None or None in found:
            self.tensor = ints(axis, op, "reduction_indices")
            self.dims = (None,) * len(dims) if keepdims and dims is not None else None
            return
        given = [a for a in found if a is not None]
        if dims is not None:
            self._check_once(given, len(dims), describe(at, op))
            given = shapes.normalize_axes(given, len(dims), describe(at, op))
        self.dims = shapes.reduced(dims, given, keepdims, describe(at, op))
        self.tensor = primitive.int_vector(given, "reduction_indices")

    @staticmethod
    def _check_once(axes: list[int], rank: int, what: str) -> None:
        """Refuses an axis that comes twice with the class of what TensorFlow finds in a run."""
        if len({a % rank for a in axes if -rank <= a < rank}) < len(axes):
            with as_invalid_argument():
                shapes.normalize_axes([a for a in axes if -rank <= a < rank], rank, what)

    def emit(
        self, op: str, x: Tensor, name: str | None = None, tf_type: str | None = None
    ) -> Tensor:
        return node(
            op,
            [x] if self.tensor is None else [x, self.tensor],
            x.dtype,
            self.dims,
            name=name,
            tf_type=tf_type,
            keepdims=int(self.keepdims),
            noop_with_empty_axes=int(self.tensor is not None),
        )


def _old_names(
    axis: Any, keepdims: Any, reduction_indices: Any, keep_dims: Any
) -> tuple[Any, bool]:
    """TensorFlow's two generations of argument names in one."""
    return (
        renamed("axis", axis, "reduction_indices", reduction_indices),
        bool(renamed("keepdims", keepdims, "keep_dims", keep_dims)),
    )


def _reduce(op: str, tf_type: str, x: Any, axis: Any, keepdims: bool, name: str | None) -> Tensor:
    with scope(name, tf_type) as at:
        tensor = convert_to_tensor(x, name="input_tensor")
        require(tensor, NUMERIC, tf_type, "input")
        return _Axes(tensor, axis, keepdims, tf_type, at).emit(op, tensor, at, tf_type)


def _reduction(build: Callable[[Any, Any, bool, str | None], Tensor]) -> Reduction:
    """The public form of a reduction, which also takes the old names of axis and keepdims."""

    @api_guard.operator
    def call(
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        axes, keep = _old_names(axis, keepdims, reduction_indices, keep_dims)
        return build(input_tensor, axes, keep, name)

    return documented(call, build.__name__, build.__doc__)


@_reduction
def reduce_sum(x: Any, axis: Any, keepdims: bool, name: str | None) -> Tensor:
    """The sum over axes; 0 for no elements.

    Args:
        input_tensor: numeric tensor.
        axis: an axis or a list of them; None: all, [] none.
        keepdims: True leaves the axes with size 1.
        name: of the operation.
        reduction_indices: the old name of axis.
        keep_dims: the old name of keepdims.

    Raises:
        ValueError: an axis is out of range, or an argument is given under both its names.
    """
    return _reduce("ReduceSum", "Sum", x, axis, keepdims, name)


@_reduction
def reduce_max(x: Any, axis: Any, keepdims: bool, name: str | None) -> Tensor:
    """The largest over axes; equal ones share the gradient. Arguments as reduce_sum's."""
    return _reduce("ReduceMax", "Max", x, axis, keepdims, name)


@_reduction
def reduce_min(x: Any, axis: Any, keepdims: bool, name: str | None) -> Tensor:
    """The smallest over axes; equal ones share the gradient. Arguments as reduce_sum's."""
    return _reduce("ReduceMin", "Min", x, axis, keepdims, name)


@_reduction
def reduce_prod(x: Any, axis: Any, keepdims: bool, name: str | None) -> Tensor:
    """The product over axes; 1 for no elements. Arguments as reduce_sum's."""
    return _reduce("ReduceProd", "Prod", x, axis, keepdims, name)


@_reduction
def reduce_mean(x: Any, axis: Any, keepdims: bool, name: str | None) -> Tensor:
    """The mean over axes, an integer for integers. Arguments as reduce_sum's."""
    with scope(name, "Mean") as at:
        x = convert_to_tensor(x, name="input_tensor")
        require(x, NUMERIC, "Mean", "input")
        axes = _Axes(x, axis, keepdims, "Mean", at)
        if not x.dtype.is_integer:
            return axes.emit("ReduceMean", x, at, "Mean")
        if x.dtype.size < 8:  # the sum, or the count, may be more than the dtype holds
            wide = cast(x, dtypes.int64)
            total = axes.emit("ReduceSum", wide)
            return cast(binary("Div", total, _per_result(wide, total)), x.dtype, at)
        total = axes.emit("ReduceSum", x)
        return node(
            "Div", [total, _per_result(x, total)], x.dtype, axes.dims, name=at, tf_type="Mean"
        )


def _per_result(x: Tensor, y: Tensor) -> Tensor:
    """The number of elements of x for each of its reduction y: scalar of x's dtype."""
    many, few = shapes.num_elements(dims_of(x)), shapes.num_elements(dims_of(y))
    if many is not None and few:
        return scalar(many // few, x.dtype)
    all_of_x, all_of_y = primitive.count(x, dtypes.int64), primitive.count(y, dtypes.int64)
    one = constant(np.asarray(1, np.int64))
    return cast(binary("Div", all_of_x, binary("Max", all_of_y, one)), x.dtype)


@_reduction
def reduce_any(x: Any, axis: Any, keepdims: bool, name: str | None) -> Tensor:
    """Whether any element over the axes holds: bool. Arguments as reduce_sum's."""
    return _of_bools("ReduceSum", "Any", x, axis, keepdims, name)


@_reduction
def reduce_all(x: Any, axis: Any, keepdims: bool, name: str | None) -> Tensor:
    """Whether all elements over the axes hold: bool. Arguments as reduce_sum's."""
    return _of_bools("ReduceProd", "All", x, axis, keepdims, name)


def _of_bools(op: str, tf_type: str, x: Any, axis: Any, keepdims: bool, name: str | None) -> Tensor:
    with scope(name, tf_type) as at:
        tensor = convert_to_tensor(x, None if is_symbolic(x) else dtypes.bool, name="input_tensor")
        if not tensor.dtype.is_bool:
            raise TypeError(
                f"Input 'input' of '{tf_type}' Op has type {tensor.dtype.name} that does not match "
                "expected type of bool; compare it with something"
            )
        axes = _Axes(tensor, axis, keepdims, tf_type, at)
        number = axes.emit(op, cast(tensor, dtypes.int32))
        return node(
            "Cast", [number], dtypes.bool, axes.dims, name=at, tf_type=tf_type, to=dtypes.bool
        )


@_reduction
def reduce_logsumexp(x: Any, axis: Any, keepdims: bool, name: str | None) -> Tensor:
    """log(sum(exp(x))) over axes without overflow; floating. Arguments as reduce_sum's."""
    with scope(name, "ReduceLogSumExp") as at:
        x = convert_to_tensor(x, name="input_tensor")
        require(x, FLOATING, "ReduceLogSumExp", "input")
        largest = reduce_max(x, axis, keepdims=True)
        finite = elementwise.is_finite(largest)
        shift = array.stop_gradient(select(finite, largest, scalar(0, x.dtype)))
        total = reduce_sum(elementwise.exp(binary("Sub", x, shift)), axis, keepdims=keepdims)
        logarithm = elementwise.log(total)
        if not keepdims:
            shift = reduce_sum(shift, axis)
        return binary("Add", logarithm, shift, at)


@api_guard.operator
def count_nonzero(
    input_tensor: Any = None,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: Any = dtypes.int64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
    input: Any = None,
) -> Tensor:
    """The number of elements over the axes that are not 0, of strings not empty; dtype of the
    result: int64 unless given. input is the newer name of input_tensor.

    Raises:
        ValueError: both are given, or none.
    """
    if (input_tensor is None) == (input is None):
        raise ValueError("count_nonzero: expected one of input_tensor and input")
    input_tensor = input if input_tensor is None else input_tensor
    axes, keep = _old_names(axis, keepdims, reduction_indices, keep_dims)
    with scope(name, "count_nonzero") as at:
        x = convert_to_tensor(input_tensor, name="input_tensor")
        if x.dtype == dtypes.string:
            held = primitive.unary("Not", compare("Equal", x, constant("")))
        else:
            held = cast(x, dtypes.bool)
        return cast(reduce_sum(cast(held, dtypes.int64), axes, keep), dtypes.as_dtype(dtype), at)


# ---- indices of extremes ----


def _arg(op: str, tf_type: str, x: Any, axis: Any, name: str | None, output_type: Any) -> Tensor:
    with scope(name, tf_type) as at:
        tensor = convert_to_tensor(x, name="input")
        if tensor.dtype == dtypes.bool:
            tensor = cast(tensor, dtypes.uint8)
        require(tensor, NUMERIC, tf_type, "input")
        if run_axis.is_open(axis):
            return run_axis.along(
                tensor, axis, tf_type, at,
                lambda flat: _arg(op, tf_type, flat, run_axis.AXIS, None, output_type),
            )  # fmt: skip
        number = 0 if axis is None else int_value(axis, tf_type, "axis")
        dims = dims_of(tensor)
        what = describe(at, tf_type)
        number = shapes.normalize_axis(number, None if dims is None else len(dims), what)
        result = None if dims is None else shapes.reduced(dims, [number], False, what)
        requested = dtypes.as_dtype(output_type)
        plain = requested == dtypes.int64
        found = node(
            op,
            [tensor],
            dtypes.int64,
            result,
            name=at if plain else tf_type,
            axis=number,
            keepdims=0,
        )
        return found if plain else cast(found, requested, at)


@api_guard.operator
def argmax(
    input: Any,
    axis: Any = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: Any = dtypes.int64,
) -> Tensor:
    """The index along axis of the largest element, the first of equal ones.

    Args:
        input: tensor of numbers or bools of rank 1 or more.
        axis: which axis; None: 0.
        name: of the operation.
        dimension: the old name of axis.
        output_type: int64 or int32.

    Raises:
        ValueError: axis is out of range, or given under both names.
    """
    position = renamed("axis", axis, "dimension", dimension)
    return _arg("ArgMax", "ArgMax", input, position, name, output_type)


@api_guard.operator
def argmin(
    input: Any,
    axis: Any = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: Any = dtypes.int64,
) -> Tensor:
    """The index along axis of the smallest element, the first of equal ones; see argmax."""
    position = renamed("axis", axis, "dimension", dimension)
    return _arg("ArgMin", "ArgMin", input, position, name, output_type)


def without_ones(x: Tensor, axes: Any) -> Tensor:
    """x without axes that have size 1; None: without all of them."""
    if run_axis.is_open(axes) or (axes is None and x.shape.ndims is None):
        return reduce_sum(x, axes)
    return array.squeeze(x, list(range(x.shape.ndims or 0)) if axes is None else axes)


# ---- running sums ----


def scan_axis(axis: Any, x: Tensor, op: str, at: str) -> int:
    """The axis of a cumulative reduction, counted from the front.

    Raises:
        InvalidArgumentError: it is not a scalar, or out of range.
    """
    rank = axis.shape.ndims if isinstance(axis, Tensor) else np.ndim(axis)
    if rank:
        raise errors.InvalidArgumentError(
            message=f"{describe(at, op)}: axis must be a scalar, got {axis!r}"
        )
    number = int_value(axis, op.lower(), "axis")
    with as_invalid_argument():
        return shapes.normalize_axis(number, x.shape.ndims, describe(at, op))


@api_guard.operator
def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Running sums along axis.

    Args:
        x: numeric tensor of rank 1 or more.
        axis: which axis.
        exclusive: True leaves each element out of its result.
        reverse: True sums from the end.
        name: of the operation.

    Raises:
        InvalidArgumentError: axis is out of range, or no scalar.
    """
    with scope(name, "Cumsum") as at:
        tensor = convert_to_tensor(x, name="x")
        require(tensor, NUMERIC, "Cumsum")
        if run_axis.is_open(axis):
            return run_axis.along_same(
                tensor, axis, "Cumsum", at,
                lambda flat: cumsum(flat, run_axis.AXIS, exclusive, reverse),
            )  # fmt: skip
        number = scan_axis(axis, tensor, "Cumsum", at)
        position = constant(np.asarray(number, np.int64), name="axis")
        return node(
            "CumSum",
            [tensor, position],
            tensor.dtype,
            dims_of(tensor),
            name=at,
            tf_type="Cumsum",
            exclusive=int(exclusive),
            reverse=int(reverse),
        )


# ---- gradients ----


def _spread(op: Operation, value: Tensor) -> Tensor:
    """A tensor of the result's shape, with the reduced axes back as size 1."""
    if int(op.attrs.get("keepdims", 1)):
        return value
    if len(op.inputs) > 1 and op.inputs[1] is not None:
        return primitive.unsqueeze(value, op.inputs[1])
    return value  # a scalar broadcasts as it is


def to_input(op: Operation, value: Tensor) -> Tensor:
    """value of the result's shape, repeated to the input's."""
    x = op.inputs[0]
    return primitive.expand(_spread(op, value), primitive.shape_of(x), dims_of(x))


def _results(op: Operation, dx: Tensor) -> Gradients:
    return [dx, *[None] * (len(op.inputs) - 1)]


@gradient("ReduceSum")
def _sum_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy for each element."""
    return _results(op, to_input(op, dy))


@gradient("SumToShape", "graphio")
def _sum_to_shape_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy for each element of which it is the sum."""
    x = op.inputs[0]
    return _results(op, primitive.expand(dy, primitive.shape_of(x), dims_of(x)))


@gradient("ReduceMean")
def _mean_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy / n for each of n elements."""
    x, y = op.inputs[0], op.outputs[0]
    return _results(op, to_input(op, binary("Div", dy, _per_result(x, y))))


@gradient("ReduceMax")
@gradient("ReduceMin")
def _extreme_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy / k for each of the k elements equal to the extreme."""
    x, y = op.inputs[0], op.outputs[0]
    hits = cast(compare("Equal", x, _spread(op, y)), dy.dtype)
    again = {"keepdims": op.attrs.get("keepdims", 1)}
    inputs = [hits, *op.inputs[1:]]
    if "noop_with_empty_axes" in op.attrs:
        again["noop_with_empty_axes"] = op.attrs["noop_with_empty_axes"]
    ties = node("ReduceSum", inputs, dy.dtype, dims_of(y), **again)
    share = _spread(op, binary("Div", dy, ties))
    return _results(op, binary("Mul", hits, share))


@gradient("ReduceProd")
def _prod_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy times all other elements, without a division."""
    x = op.inputs[0]
    axes = _known_axes(op)
    if axes is not None:
        others = _others(x, axes)
    elif len(op.inputs) == 1:  # all axes of an unknown rank
        flat = primitive.reshape(x, [-1])
        others = primitive.reshape(_others(flat, [0]), primitive.shape_of(x))
    else:
        return _results(op, _by_quotients(op, dy))
    return _results(op, binary("Mul", _spread(op, dy), others))


def _known_axes(op: Operation) -> list[int] | None:
    """The axes of a reduction, the last one first; None: not known while the graph is built."""
    x, axes = [*op.inputs, None][:2]
    rank = None if x is None else x.shape.ndims
    given = np.zeros(0, np.int64) if axes is None else constant_value(axes)
    if given is None or rank is None:
        return None
    none = not given.size and not op.attrs.get("noop_with_empty_axes")
    return sorted(range(rank) if none else (int(a) % rank for a in given), reverse=True)


def _others(x: Tensor, axes: Sequence[int]) -> Tensor:
    """For each element all others along axes, multiplied: axis by axis those of its line, times
    those of the other lines."""
    found, lines, dims = primitive.fill_like(x, 1) if not axes else None, x, dims_of(x)
    for k, axis in enumerate(axes):
        if k:
            done = axes[k - 1]
            if dims is not None:
                dims = tuple(1 if i == done else n for i, n in enumerate(dims))
            at = primitive.int_vector([done])
            lines = node("ReduceProd", [lines, at], x.dtype, dims, keepdims=1)
        number = constant(np.asarray(axis, np.int64))
        before, after = (cumulative_product(lines, number, 1, reverse) for reverse in (0, 1))
        others = binary("Mul", before, after)
        found = others if found is None else binary("Mul", found, others)
    assert found is not None
    return found


def cumulative_product(x: Tensor, axis: Tensor, exclusive: int, reverse: int) -> Tensor:
    """CumProd along an axis."""
    inputs = [x, axis]
    return node("CumProd", inputs, x.dtype, dims_of(x), exclusive=exclusive, reverse=reverse)


def _by_quotients(op: Operation, dy: Tensor) -> Tensor:
    """The gradient of ReduceProd over axes that only the run knows, by y / x."""
    attrs = {k: v for k, v in op.attrs.items() if k in ("keepdims", "noop_with_empty_axes")}
    rest, dims = list(op.inputs[1:]), dims_of(op.outputs[0])

    def reduced(kind: str, x: Tensor) -> Tensor:
        return node(kind, [x, *rest], x.dtype, dims, **attrs)

    factors = Factors(op.inputs[0])
    found = shares(
        dy,
        reduced("ReduceProd", factors.nonzero),
        reduced("ReduceSum", factors.zeros),
        reduced("ReduceSum", factors.vanishing),
    )
    return factors.owed([_spread(op, share) for share in found])


@gradient("CumSum")
def _cumsum_gradient(op: Operation, dy: Tensor) -> Gradients:
    """The running sums of dy from the other end."""
    dx = node(
        "CumSum",
        [dy, op.inputs[1]],
        dy.dtype,
        dims_of(dy),
        exclusive=int(op.attrs.get("exclusive", 0)),
        reverse=1 - int(op.attrs.get("reverse", 0)),
    )
    return [dx, None]
