"""Cross-entropies of logits and labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.ops.array import reshaping, run_axis
from graphio.ops.array import surface as array
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    FLOATING,
    INTEGER,
    describe,
    int_value,
    like,
    operation,
    renamed,
    require,
    scalar,
    scope,
)
from graphio.ops.base.primitive import binary, cast, compare, select
from graphio.ops.base.shapes import dims_of
from graphio.ops.linalg import matmul
from graphio.ops.math import elementwise
from graphio.ops.nn.core import log_softmax, relu, softmax, softplus
from graphio.support import api_guard

__all__ = [
    "sigmoid_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "sparse_softmax_cross_entropy_with_logits",
    "weighted_cross_entropy_with_logits",
]

Gradients = Sequence["Tensor | None"]


@api_guard.operator
def softmax_cross_entropy_with_logits_v2(
    labels: Any, logits: Any, axis: Any = None, name: str | None = None, dim: Any = None
) -> Tensor:
    """-sum(labels * log(softmax(logits))) along axis; both conduct gradients.

    Args:
        labels: distribution along axis, of logits' shape, of any numeric dtype, which is cast to
            logits'. One row of labels serves all rows of logits. A label of another rank is fine
            where the axis is the last one and both have as many rows.
        logits: floating tensor.
        axis: the axis of the classes; None: the last.
        name: of the operation.
        dim: the old name of axis.

    Returns:
        A tensor of logits' shape without axis.

    Raises:
        ValueError: the shapes differ.
        InvalidArgumentError: of the run, they differ, or axis is out of range.
    """
    given = renamed("axis", axis, "dim", dim)
    along = -1 if given is None else given
    with scope(name, "softmax_cross_entropy_with_logits") as at:
        x = convert_to_tensor(logits, name="logits")
        require(x, FLOATING, "SoftmaxCrossEntropyWithLogits", "logits")
        target = _labels_like(labels, x)
        dims = dims_of(x)
        what = describe(at, "SoftmaxCrossEntropyWithLogits")
        if run_axis.is_open(along) or (dims is None and along != -1):
            cut, (flat, other) = run_axis.together(
                [x, target], along, "SoftmaxCrossEntropyWithLogits"
            )
            loss = softmax_cross_entropy_with_logits_v2(other, flat, axis=run_axis.AXIS)
            return cut.restored(loss, at)
        if along == -1 and _flatten_alike(dims, dims_of(target)):
            flat = _rows(x)
            return _unrolled(_dense_loss(flat, _spread_rows(flat, _rows(target)), None), x,
                             None if dims is None else dims[:-1], at)  # fmt: skip
        target = _spread_rows(x, target)
        merged = shapes.merge(dims, dims_of(target), what)
        if dims is None or merged is None:
            flat = _rows(x)
            spread = array.broadcast_to(_rows(target), primitive.shape_of(flat))
            return _unrolled(_dense_loss(flat, spread, None), x, None, at)
        number = shapes.normalize_axis(int_value(along, "softmax", "axis"), len(dims), what)
        if number != len(dims) - 1:
            order = [i for i in range(len(dims)) if i != number] + [number]
            x, target = primitive.transpose(x, order), primitive.transpose(target, order)
            merged = tuple(merged[i] for i in order)
        if len(dims) == 2:
            return _dense_loss(x, target, at)
        flat, other = _rows(x), _rows(target)
        loss = _dense_loss(flat, other, None)
        return _unrolled(loss, x, merged[:-1], at)


def _labels_like(labels: Any, logits: Tensor) -> Tensor:
    """labels as a tensor of logits' dtype, cast to it if they are a tensor of another.

    Raises:
        TypeError: labels are strings or complex.
    """
    requested = logits.dtype.base_dtype
    target = convert_to_tensor(labels, preferred_dtype=requested, name="labels")
    if target.dtype.base_dtype == dtypes.string or target.dtype.is_complex:
        raise TypeError(
            f"labels have DataType {target.dtype.base_dtype.name}, expected numbers or bools, "
            "which are cast to the dtype of logits"
        )
    return cast(target, requested)


def _flatten_alike(logits: shapes.Dims, labels: shapes.Dims) -> bool:
    """Whether two shapes of different ranks can have as many rows of one length."""
    if logits is None or labels is None or len(logits) == len(labels):
        return False
    if not logits or not labels or len({*logits[-1:], *labels[-1:]} - {None}) > 1:
        return False
    counts = {shapes.num_elements(dims[:-1]) for dims in (logits, labels)} - {None}
    return len(counts) < 2


def _spread_rows(logits: Tensor, labels: Tensor) -> Tensor:
    """labels with an axis of size 1 repeated to logits' size, where ranks are equal."""
    dims, given = dims_of(logits), dims_of(labels)
    if dims is None or given is None or len(dims) != len(given) or len(dims) != 2:
        return labels
    if all(m == n or n != 1 for m, n in zip(dims, given, strict=True)):
        return labels
    return array.broadcast_to(labels, primitive.shape_of(logits))


def _dense_loss(logits: Tensor, labels: Tensor, name: str | None) -> Tensor:
    dims = shapes.merge(dims_of(logits), dims_of(labels), "SoftmaxCrossEntropyWithLogits")
    made = operation(
        "SoftmaxCrossEntropy",
        [logits, labels],
        [(logits.dtype, None if dims is None else dims[:1]), (logits.dtype, dims)],
        name=name,
        domain="graphio",
        tf_type="SoftmaxCrossEntropyWithLogits",
    )
    return made.outputs[0]


def _rows(x: Tensor) -> Tensor:
    """x as (everything before the last axis, last axis)."""
    dims = dims_of(x)
    if dims is not None and dims[-1] is not None:
        total = shapes.num_elements(dims[:-1])
        return primitive.reshape(x, [-1 if total is None else total, dims[-1]])
    columns = primitive.slice_axes(primitive.shape_of(x), [-1], [primitive.last], [0])
    target = primitive.concat([primitive.int_vector([-1]), columns], 0)
    return primitive.reshape(x, target, (None, None))


def _unrolled(loss: Tensor, like_this: Tensor, dims: shapes.Dims, name: str) -> Tensor:
    """A loss a row, in the shape that the rows had."""
    target = primitive.slice_axes(primitive.shape_of(like_this), [0], [-1], [0])
    return primitive.reshape_to(loss, target, dims, name)


@api_guard.operator
def softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: Any = None,
) -> Tensor:
    """softmax_cross_entropy_with_logits_v2 whose labels conduct no gradient.

    Args:
        _sentinel: keeps positional arguments out.
        labels: distribution along the axis of classes.
        logits: floating tensor of the same shape.
        dim: the axis of the classes.
        name: of the operation.
        axis: the new name of dim.

    Raises:
        ValueError: labels and logits are not both given by name, or their shapes differ.
    """
    _by_name("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    default = "softmax_cross_entropy_with_logits_sg"
    with scope(name, default) as at:
        given = _labels_like(labels, convert_to_tensor(logits))
        fixed = reshaping.stop_gradient(given, name="labels_stop_gradient")
        along = dim if axis is None else axis
        return softmax_cross_entropy_with_logits_v2(fixed, logits, axis=along, name=at)


def _by_name(function: str, sentinel: Any, labels: Any, logits: Any) -> None:
    if sentinel is not None:
        raise ValueError(
            f"Only call `{function}` with named arguments (labels=..., logits=..., ...)"
        )
    if labels is None or logits is None:
        raise ValueError(f"Both labels and logits must be provided to {function}.")


@api_guard.operator
def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """-log(softmax(logits)) at the class of each label.

    Args:
        _sentinel: keeps positional arguments out.
        labels: int32 or int64, of logits' shape without the last axis, each in [0, classes).
        logits: floating tensor (..., classes).
        name: of the operation.

    Returns:
        A tensor of labels' shape.

    Raises:
        ValueError: the ranks or sizes do not fit, or arguments are not given by name.
        TypeError: labels is not an integer tensor.
    """
    op = "SparseSoftmaxCrossEntropyWithLogits"
    _by_name("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with scope(name, "SparseSoftmaxCrossEntropyWithLogits") as at:
        target = convert_to_tensor(labels, name="labels")
        x = convert_to_tensor(logits, name="logits")
        require(x, FLOATING, op, "logits")
        require(target, INTEGER, op, "labels")
        dims, given = dims_of(x), dims_of(target)
        if dims == ():
            raise ValueError(f"Logits cannot be scalars - received shape {shapes.text(dims)}.")
        if dims is not None and given is not None and len(given) != len(dims) - 1:
            raise ValueError(
                f"Rank mismatch: Rank of labels (received {len(given)}) should equal rank of "
                f"logits minus 1 (received {len(dims)})."
            )
        rows = shapes.merge(given, None if dims is None else dims[:-1], describe(at, op))
        if dims is not None and len(dims) == 2:
            return _sparse_loss(x, target, at)
        loss = _sparse_loss(_rows(x), primitive.reshape(target, [-1]), None)
        return _unrolled(loss, x, rows, at)


def _sparse_loss(logits: Tensor, labels: Tensor, name: str | None) -> Tensor:
    dims = dims_of(logits)
    made = operation(
        "SparseSoftmaxCrossEntropy",
        [logits, labels],
        [(logits.dtype, dims_of(labels)), (logits.dtype, dims)],
        name=name,
        domain="graphio",
        tf_type="SparseSoftmaxCrossEntropyWithLogits",
    )
    return made.outputs[0]


@api_guard.operator
def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """-z log(sigmoid(x)) - (1 - z) log(1 - sigmoid(x)), x the logits, z the labels.

    Computed as max(x, 0) - x z + log(1 + exp(-|x|)).

    Args:
        _sentinel: keeps positional arguments out.
        labels: tensor of logits' shape and dtype.
        logits: floating tensor.
        name: of the operation.

    Raises:
        ValueError: the shapes differ, or arguments are not given by name.
    """
    _by_name("sigmoid_cross_entropy_with_logits", _sentinel, labels, logits)
    with scope(name, "logistic_loss") as at:
        x, z = _logits_and_labels(logits, labels, "logistic_loss", at)
        positive, tail = _folded_logits(x)
        linear_part = binary("Sub", positive, binary("Mul", x, z))
        return binary("Add", linear_part, tail, at)


def _logits_and_labels(logits: Any, labels: Any, op: str, at: str) -> tuple[Tensor, Tensor]:
    x = convert_to_tensor(logits, name="logits")
    z = like(labels, x, op, ("logits", "labels"))
    a, b = dims_of(x), dims_of(z)
    try:
        shapes.merge(a, b, describe(at, op))
    except ValueError as error:
        raise ValueError(
            f"logits and labels must have the same shape ({shapes.text(a)} vs {shapes.text(b)})"
        ) from error
    require(x, FLOATING, op, "logits")
    return x, z


def _folded_logits(x: Tensor) -> tuple[Tensor, Tensor]:
    """max(x, 0) and log(1 + exp(-|x|)), whose gradients add up to the sigmoid at 0 too."""
    zero = scalar(0, x.dtype)
    above = compare("GreaterOrEqual", x, zero)
    positive = select(above, x, zero)
    negated = select(above, elementwise.negative(x), x)
    return positive, softplus(negated)


@api_guard.operator
def weighted_cross_entropy_with_logits(
    labels: Any = None,
    logits: Any = None,
    pos_weight: Any = None,
    name: str | None = None,
    targets: Any = None,
) -> Tensor:
    """sigmoid_cross_entropy_with_logits with the first term times pos_weight.

    Args:
        labels: tensor of logits' shape and dtype.
        logits: floating tensor.
        pos_weight: weight of positive examples.
        name: of the operation.
        targets: the old name of labels.

    Raises:
        ValueError: the shapes differ, labels are given under both names, or an argument is missing.
    """
    given = renamed("labels", labels, "targets", targets)
    if given is None or logits is None or pos_weight is None:
        raise ValueError(
            "weighted_cross_entropy_with_logits: labels, logits and pos_weight must all be given"
        )
    with scope(name, "logistic_loss") as at:
        x, z = _logits_and_labels(logits, given, "logistic_loss", at)
        weight = elementwise.add(
            elementwise.multiply(elementwise.subtract(_weight(pos_weight, x), 1), z), 1
        )
        below = relu(elementwise.negative(x))
        tail = elementwise.add(softplus(elementwise.negative(elementwise.abs(x))), below)
        rest = elementwise.multiply(elementwise.subtract(scalar(1, x.dtype), z), x)
        return elementwise.add(rest, elementwise.multiply(weight, tail), name=at)


def _weight(value: Any, x: Tensor) -> Tensor:
    """A weight as a tensor of x's dtype."""
    return like(value, x, "logistic_loss", ("logits", "pos_weight"))


# ---- gradients ----


def _loss_gradients(
    op: Operation, dloss: Tensor | None, dgradient: Tensor | None
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients that reach the logits through the loss, and through the gradient by them."""
    through_loss = through_gradient = None
    if dloss is not None:
        through_loss = binary("Mul", primitive.unsqueeze(dloss, [1]), op.outputs[1])
    if dgradient is not None:
        p = softmax(op.inputs[0])
        row, column = primitive.unsqueeze(dgradient, [1]), primitive.unsqueeze(p, [2])
        inner = primitive.squeeze(matmul.matmul(row, column), [1])
        through_gradient = binary("Mul", binary("Sub", dgradient, inner), p)
    return through_loss, through_gradient


def _total(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    if a is None or b is None:
        return b if a is None else a
    return binary("Add", a, b)


@gradient("SoftmaxCrossEntropy", domain="graphio")
def _dense_loss_gradient(
    op: Operation, dloss: Tensor | None, dgradient: Tensor | None
) -> Gradients:
    """By logits dloss (p - labels); by labels -dloss log(p); p = softmax(logits)."""
    to_logits = _total(*_loss_gradients(op, dloss, dgradient))
    to_labels = None
    if dloss is not None:
        logarithm = log_softmax(op.inputs[0])
        to_labels = elementwise.negative(binary("Mul", primitive.unsqueeze(dloss, [1]), logarithm))
    if dgradient is not None:
        to_labels = _total(to_labels, elementwise.negative(dgradient))
    return [to_logits, to_labels]


@gradient("SparseSoftmaxCrossEntropy", domain="graphio")
def _sparse_loss_gradient(
    op: Operation, dloss: Tensor | None, dgradient: Tensor | None
) -> Gradients:
    """By logits dloss (p - one_hot(labels)), p = softmax(logits)."""
    return [_total(*_loss_gradients(op, dloss, dgradient)), None]
