"""Activations, softmax, normalisation, dropout, embeddings, and their gradients."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.folding import constant_value
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.framework.tensor_shape import Dimension, TensorShape
from graphio.ops.array import index, run_axis, shaping
from graphio.ops.array import surface as array
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    FLOATING,
    NUMERIC,
    as_invalid_argument,
    describe,
    int_value,
    is_symbolic,
    like,
    node,
    renamed,
    require,
    scalar,
    scope,
)
from graphio.ops.base.primitive import binary, compare, last, reduce_sum, select
from graphio.ops.base.shapes import dims_of
from graphio.ops.base.signatures import Activation
from graphio.ops.linalg import matmul
from graphio.ops.math import elementwise, reduction
from graphio.ops.random import core as random
from graphio.support import api_guard

__all__ = [
    "batch_normalization",
    "bias_add",
    "crelu",
    "dropout",
    "elu",
    "embedding_lookup",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "log_sigmoid",
    "log_softmax",
    "moments",
    "relu",
    "relu6",
    "relu_layer",
    "selu",
    "sigmoid",
    "softmax",
    "softplus",
    "softsign",
    "swish",
    "tanh",
    "xw_plus_b",
    "zero_fraction",
]

Gradients = Sequence["Tensor | None"]

log_sigmoid, sigmoid, tanh = elementwise.log_sigmoid, elementwise.sigmoid, elementwise.tanh

# ---- activations ----


def _activation(op: str, summary: str, takes: str = FLOATING, **attrs: Any) -> Activation:
    @api_guard.operator
    def build(features: Any, name: str | None = None) -> Tensor:
        with scope(name, op) as at:
            x = convert_to_tensor(features, name="features")
            require(x, takes, op, "features")
            return node(op, [x], x.dtype, dims_of(x), name=at, **attrs)

    build.__name__ = build.__qualname__ = op.lower()
    build.__doc__ = (
        f"{summary}, element by element; {takes}.\n\n    Args:\n        features: tensor of any "
        "shape.\n        name: of the operation.\n    "
    )
    return build


relu = _activation("Relu", "x where x > 0, else 0 (gradient 0 at 0)", NUMERIC)
elu = _activation("Elu", "x where x > 0, else exp(x) - 1", alpha=1.0)
softplus = _activation("Softplus", "log(1 + exp(x))")
selu = _activation(
    "Selu",
    "scale * elu with the constants that keep mean 0 and variance 1 (Klambauer et al. 2017)",
    alpha=1.6732632423543772848170429916717,
    gamma=1.0507009873554804934193349852946,
)


@api_guard.operator
def relu6(features: Any, name: str | None = None) -> Tensor:
    """x limited to [0, 6]; the gradient is 0 at both bounds."""
    with scope(name, "Relu6") as at:
        positive = relu(features)
        # The constant comes first: a tie's gradient goes to it.
        return elementwise.minimum(scalar(6, positive.dtype), positive, name=at)


@api_guard.operator
def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """x where x > 0, else alpha * x.

    Args:
        features: floating tensor of any shape; integers are cast to float32.
        alpha: slope below 0.
        name: of the operation.
    """
    with scope(name, "LeakyRelu") as at:
        x = convert_to_tensor(features, name="features")
        x = primitive.cast(x, dtypes.float32) if x.dtype.is_integer else x
        require(x, FLOATING, "LeakyRelu", "features")
        return node("LeakyRelu", [x], x.dtype, dims_of(x), name=at, alpha=float(alpha))


@api_guard.operator
def softsign(features: Any, name: str | None = None) -> Tensor:
    """x / (1 + |x|); floating."""
    with scope(name, "Softsign") as at:
        x = convert_to_tensor(features, name="features")
        require(x, FLOATING, "Softsign", "features")
        return binary("Div", x, binary("Add", elementwise.abs(x), scalar(1, x.dtype)), at)


@api_guard.operator
def swish(features: Any, beta: Any = 1.0, name: str | None = None) -> Tensor:
    """x * sigmoid(beta * x); floating. beta: a number or a tensor of x's dtype."""
    with scope(name, "swish") as at:
        x = convert_to_tensor(features, name="features")
        scaled = x
        if is_symbolic(beta) or beta != 1:
            scaled = elementwise.multiply(x, like(beta, x, "swish", ("x", "beta")))
        return binary("Mul", x, sigmoid(scaled), at)


@api_guard.operator
def crelu(features: Any, name: str | None = None, axis: int = -1) -> Tensor:
    """relu(x) and relu(-x) joined along axis."""
    with scope(name, "CRelu") as at:
        x = convert_to_tensor(features, name="features")
        return relu(array.concat([x, elementwise.negative(x)], axis), name=at)


@api_guard.operator
def bias_add(
    value: Any, bias: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """value plus a bias for each channel.

    Args:
        value: numeric tensor of rank 2 or more.
        bias: vector of value's dtype, as long as the channel axis.
        data_format: NHWC (channels last) or NCHW (channels second); None: NHWC.
        name: of the operation.

    Raises:
        ValueError: bias is not a vector, its length is not that of the channels, or data_format is
            none of these.
        InvalidArgumentError: of the run, the length of bias is not that of the channels.
    """
    with scope(name, "BiasAdd") as at:
        x = convert_to_tensor(value, name="value")
        b = like(bias, x, "BiasAdd", ("value", "bias"))
        dims = dims_of(x)
        if b.shape.ndims not in (1, None):
            raise ValueError(
                f"Shape must be rank 1 but is rank {b.shape.ndims} for {describe(at, 'BiasAdd')} "
                f"with input shapes: {shapes.text_of(x)}, {shapes.text_of(b)}; bias is a vector"
            )
        first = (data_format or "NHWC").upper().startswith("NC")
        if data_format not in (None, "NHWC", "NCHW", "NDHWC", "NCDHW"):
            raise ValueError(f"bias_add: data_format is {data_format!r}, expected NHWC or NCHW")
        if dims is not None:
            if len(dims) < 2:
                raise ValueError(
                    f"Shape must be at least rank 2 but is rank {len(dims)} for "
                    f"{describe(at, 'BiasAdd')} with input shapes: {shapes.text(dims)}, "
                    f"{shapes.text_of(b)}."
                )
            shapes.merge((dims[1 if first else -1],), dims_of(b), describe(at, "BiasAdd"))
        x, b = _one_for_each_channel(x, b, 1 if first else -1)
        if first:
            if dims is None:
                raise ValueError("bias_add: NCHW needs the rank of value; use set_shape")
            b = primitive.unsqueeze(b, list(range(1, len(dims) - 1)))
        return node("Add", [x, b], x.dtype, dims, name=at, tf_type="BiasAdd")


def _one_for_each_channel(x: Tensor, bias: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Both, once the bias is known to be as long as the axis: 1 would spread over more."""
    dims, length = dims_of(x), dims_of(bias)
    channels = None if dims is None else dims[axis]
    if length is not None and length[0] is not None:
        if channels is None and dims is not None:
            sizes: list[int | None] = [None] * len(dims)
            sizes[axis] = length[0]
            x = shaping.ensure_shape(x, sizes)
        return x, bias
    if channels is not None:
        return x, shaping.ensure_shape(bias, [channels])
    sizes_now = primitive.shape_of(x)
    size = primitive.slice_axes(sizes_now, [axis], [last if axis < 0 else axis + 1], [0])
    return x, primitive.reshape(bias, size, (None,))


@api_guard.operator
def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """x weights + biases: (n, k) (k, m) + (m)."""
    with scope(name, "xw_plus_b") as at:
        return bias_add(matmul.matmul(x, weights), biases, name=at)


@api_guard.operator
def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """relu(x weights + biases): (n, k) (k, m) + (m)."""
    with scope(name, "relu_layer") as at:
        return relu(xw_plus_b(x, weights, biases), name=at)


# ---- softmax ----


@api_guard.operator
def softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """exp(x) over its sum along axis.

    Args:
        logits: floating tensor.
        axis: which axis; None: the last.
        name: of the operation.
        dim: the old name of axis.

    Raises:
        InvalidArgumentError: axis is out of range.
    """
    return _softmax("Softmax", logits, renamed("axis", axis, "dim", dim), name)


@api_guard.operator
def log_softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """log(softmax(logits)) without overflow; arguments as softmax's."""
    return _softmax("LogSoftmax", logits, renamed("axis", axis, "dim", dim), name)


def _softmax(op: str, logits: Any, axis: Any, name: str | None) -> Tensor:
    with scope(name, op) as at:
        x = convert_to_tensor(logits, name="logits")
        require(x, FLOATING, op, "logits")
        if run_axis.is_open(axis):
            return run_axis.along_same(
                x, axis, op, at, lambda flat: _softmax(op, flat, run_axis.AXIS, None)
            )
        number = -1 if axis is None else int_value(axis, op, "axis")
        with as_invalid_argument():
            number = shapes.normalize_axis(number, x.shape.ndims, describe(at, op))
        return node(op, [x], x.dtype, dims_of(x), name=at, axis=number)


# ---- sums, norms, moments ----


@api_guard.operator
def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """Half the sum of squares: a scalar; floating t."""
    with scope(name, "L2Loss") as at:
        x = convert_to_tensor(t, name="t")
        require(x, FLOATING, "L2Loss", "t")
        total = reduction.reduce_sum(elementwise.square(x))
        return binary("Mul", total, scalar(0.5, x.dtype), at)


@api_guard.operator
def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Tensor:
    """x / sqrt(max(sum(|x|^2), epsilon)) along axis.

    Args:
        x: floating or complex tensor.
        axis: an axis or a list of them; None: all.
        epsilon: the minimum sum of squares.
        name: of the operation.
        dim: the old name of axis.
    """
    with scope(name, "l2_normalize") as at:
        tensor = convert_to_tensor(x, name="x")
        axes = renamed("axis", axis, "dim", dim)
        sizes = elementwise.abs(tensor) if tensor.dtype.is_complex else tensor
        total = reduction.reduce_sum(elementwise.square(sizes), axes, keepdims=True)
        inverse = elementwise.rsqrt(elementwise.maximum(total, epsilon))
        return elementwise.multiply(tensor, elementwise.cast(inverse, tensor.dtype), name=at)


@api_guard.operator
def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance over axes.

    Args:
        x: floating tensor; of float16 and bfloat16 the sums are built in float32.
        axes: list of axes.
        shift: accepted for TensorFlow's sake.
        name: name scope of the operations.
        keep_dims: True leaves the axes with size 1.
        keepdims: the new name of keep_dims.

    Returns:
        (mean, variance); the variance divides by the count.
    """
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with scope(name, "moments"):
        given = convert_to_tensor(x, name="x")
        tensor = primitive.cast(given, dtype_of_sums(given.dtype))
        mean = reduction.reduce_mean(tensor, axes, keepdims=True, name="mean")
        apart = elementwise.squared_difference(tensor, mean)
        variance = reduction.reduce_mean(apart, axes, keepdims=keep, name="variance")
        if not keep:
            mean = reduction.without_ones(mean, axes)
        return primitive.cast(mean, given.dtype), primitive.cast(variance, given.dtype)


def dtype_of_sums(dtype: DType) -> DType:
    """The dtype in which sums of many elements are built."""
    return dtypes.float32 if dtype.base_dtype in (dtypes.float16, dtypes.bfloat16) else dtype


@api_guard.operator
def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: float,
    name: str | None = None,
) -> Tensor:
    """(x - mean) / sqrt(variance + variance_epsilon) * scale + offset.

    Args:
        x: floating tensor.
        mean: broadcasts to x.
        variance: broadcasts to x.
        offset: broadcasts to x; None: 0.
        scale: broadcasts to x; None: 1.
        variance_epsilon: keeps the root from 0.
        name: of the operation.

    mean, variance, offset and scale share a dtype, which may be another than x's: what is computed
    of them is cast to x's.
    """
    with scope(name, "batchnorm") as at:
        tensor = convert_to_tensor(x, name="x")
        factor = elementwise.rsqrt(variance + variance_epsilon)
        if scale is not None:
            factor = elementwise.multiply(factor, scale)
        # by signs of arithmetic: mean and offset may be integers of Python
        shift = mean * factor
        moved = elementwise.negative(shift) if offset is None else offset - shift
        factor, moved = (elementwise.cast(t, tensor.dtype) for t in (factor, moved))
        return elementwise.add(elementwise.multiply(tensor, factor), moved, name=at)


@api_guard.operator
def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """The part of the elements that are 0: float32 scalar."""
    with scope(name, "zero_fraction") as at:
        x = convert_to_tensor(value, name="value")
        require(x, NUMERIC, "zero_fraction", "value")
        zeros = compare("Equal", x, scalar(0, x.dtype))
        return reduction.reduce_mean(elementwise.to_float(zeros), name=at)


@api_guard.operator
def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Tensor:
    """Whether each target class is among the k largest predictions; ties count as in.

    A class that there is not is in no row, and a row with an infinity or NaN has none.

    Args:
        predictions: floating tensor (n, classes).
        targets: integer tensor (n).
        k: how many.
        name: of the operation.

    Returns:
        A bool tensor (n).
    """
    with scope(name, "InTopKV2") as at:
        requested = None if is_symbolic(predictions) else dtypes.float32
        x = convert_to_tensor(predictions, requested, "predictions")
        given = elementwise.to_int64(convert_to_tensor(targets, name="targets"))
        classes = array.shape(x, out_type=dtypes.int64)[1]
        clipped = elementwise.clip_by_value(given, 0, classes - 1)
        own = index.read_along(x, array.expand_dims(clipped, 1))
        better = reduction.reduce_sum(elementwise.to_int32(compare("Greater", x, own)), 1)
        among = compare("Less", better, like(k, better, "InTopKV2", ("predictions", "k")))
        in_range = compare("Equal", given, clipped)
        finite = reduction.reduce_all(elementwise.is_finite(x), 1)
        return compare("And", compare("And", in_range, finite), among, at)


# ---- dropout and embeddings ----


@api_guard.operator
def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """x with elements dropped at random, the others scaled so that the mean stays.

    Args:
        x: floating tensor.
        keep_prob: probability to keep an element; a number in (0, 1] or a scalar tensor.
        noise_shape: shape of the choices, broadcast to x's; None: x's own, in a list: x's size.
        seed: of the random numbers.
        name: of the operation.
        rate: probability to drop an element, 1 - keep_prob.

    Raises:
        ValueError: keep_prob or rate is out of range, no scalar or a tensor of another dtype than
            x's, or neither or both are given.
    """
    if (keep_prob is None) == (rate is None):
        which = "neither was" if rate is None else "both were"
        raise ValueError(f"dropout: give keep_prob or rate; {which} given")
    with scope(name, "dropout") as at:
        tensor = convert_to_tensor(x, name="x")
        if not tensor.dtype.is_floating:
            raise ValueError(
                f"dropout: x is {tensor.dtype.name}, expected a floating dtype, for its elements "
                "are scaled; cast it"
            )
        try:
            keep = like(_kept(keep_prob, rate), tensor, "dropout", ("x", "keep_prob"))
        except TypeError as error:
            raise ValueError(str(error)) from None
        if keep.shape.ndims not in (0, None):
            raise ValueError(f"dropout: the probability has shape {keep.shape}, expected a scalar")
        if constant_value(keep) == 1:
            return tensor
        size = _noise_shape(tensor, noise_shape)
        draw = random.random_uniform(size, dtype=tensor.dtype, seed=seed)
        kept = elementwise.floor(elementwise.add(draw, keep))
        result = elementwise.multiply(elementwise.realdiv(tensor, keep), kept, name=at)
        result.set_shape(tensor.shape)
        return result


def _noise_shape(x: Tensor, given: Any) -> Any:
    """The shape of the choices; sizes that are None are x's."""
    if given is None:
        return primitive.shape_of(x)
    if not isinstance(given, (list, tuple, TensorShape)) or len(given) != x.shape.ndims:
        return given
    sizes = [size.value if isinstance(size, Dimension) else size for size in given]
    if None not in sizes:
        return given
    known, own = x.shape.as_list(), array.shape(x)
    return [
        (own[i] if known[i] is None else known[i]) if size is None else size
        for i, size in enumerate(sizes)
    ]


def _kept(keep_prob: Any, rate: Any) -> Any:
    """The probability to keep an element, of which one is given."""
    if is_symbolic(rate):
        return elementwise.subtract(scalar(1, rate.dtype), rate)
    for label, given in (("rate", rate), ("keep_prob", keep_prob)):
        if given is not None and not is_symbolic(given) and not isinstance(given, numbers.Real):
            raise ValueError(
                f"{label} must be a floating point number or a scalar tensor, got {given!r}"
            )
    if rate is not None and not 0 <= rate < 1:
        raise ValueError(f"rate must be a scalar tensor or a float in the range [0, 1), got {rate}")
    keep = keep_prob if rate is None else 1.0 - rate
    if not is_symbolic(keep) and not 0 < keep <= 1:
        raise ValueError(
            f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep}"
        )
    return keep


def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """The rows of params that ids names.

    Args:
        params: tensor or variable (rows, ...), or a list of one.
        ids: integer tensor of any shape.
        partition_strategy: accepted; params is one tensor.
        name: of the operation.
        validate_indices: accepted; ids are always checked.
        max_norm: None, or the largest norm that a row may have; longer ones are scaled down.

    Returns:
        A tensor of ids' shape followed by the shape of a row.

    Raises:
        ValueError: params is a list of more than one.
    """
    if isinstance(params, (list, tuple)):
        if len(params) != 1:
            raise ValueError(
                f"embedding_lookup: params is a list of {len(params)}; concatenate them into one"
            )
        params = params[0]
    with scope(name, "embedding_lookup") as at:
        if max_norm is None:
            return index.gather(params, ids, name=at)
        rows = index.gather(params, ids)
        axes = list(range(convert_to_tensor(ids).shape.ndims or 0, rows.shape.ndims or 0))
        norm = elementwise.sqrt(reduction.reduce_sum(elementwise.square(rows), axes, keepdims=True))
        return elementwise.multiply(
            rows, elementwise.realdiv(_norm_to_have(max_norm, rows, norm), norm), name=at
        )


def _norm_to_have(max_norm: float, rows: Tensor, norm: Tensor) -> Tensor:
    """The norm that a row is to have: its own, or max_norm if that is less."""
    return elementwise.minimum(norm, scalar(max_norm, rows.dtype))


# ---- gradients ----


@gradient("Relu")
def _relu_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy where y > 0, else 0."""
    y = op.outputs[0]
    return [node("ReluGrad", [y, dy], dy.dtype, dims_of(y), domain="graphio")]


@gradient("ReluGrad", domain="graphio")
def _relu_grad_gradient(op: Operation, ddx: Tensor) -> Gradients:
    """None by y, which only chooses; ddx where y > 0 by dy."""
    y = op.inputs[0]
    return [None, node("ReluGrad", [y, ddx], ddx.dtype, dims_of(ddx), domain="graphio")]


@gradient("LeakyRelu")
def _leaky_relu_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy where x > 0, else alpha dy."""
    above = compare("Greater", op.inputs[0], scalar(0, dy.dtype))
    slope = scalar(float(op.attrs.get("alpha", 0.01)), dy.dtype)
    return [select(above, dy, binary("Mul", dy, slope))]


@gradient("Elu")
def _elu_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy (y + alpha) where x < 0, else dy."""
    y, alpha = op.outputs[0], scalar(float(op.attrs.get("alpha", 1.0)), dy.dtype)
    below = compare("Less", op.inputs[0], scalar(0, dy.dtype))
    return [select(below, binary("Mul", dy, binary("Add", y, alpha)), dy)]


@gradient("Selu")
def _selu_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy (y + alpha gamma) where x < 0, else gamma dy."""
    y = op.outputs[0]
    alpha = float(op.attrs.get("alpha", 1.67326319217681884765625))
    gamma = float(op.attrs.get("gamma", 1.05070102214813232421875))
    below = compare("Less", op.inputs[0], scalar(0, dy.dtype))
    slope = binary("Add", y, scalar(alpha * gamma, dy.dtype))
    return [binary("Mul", dy, select(below, slope, scalar(gamma, dy.dtype)))]


@gradient("Softplus")
def _softplus_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy sigmoid(x)."""
    return [binary("Mul", dy, sigmoid(op.inputs[0]))]


@gradient("Softmax")
def _softmax_gradient(op: Operation, dy: Tensor) -> Gradients:
    """(dy - sum(dy y)) y."""
    y, axis = op.outputs[0], int(op.attrs.get("axis", -1))
    total = reduce_sum(binary("Mul", dy, y), [axis], keepdims=True)
    return [binary("Mul", binary("Sub", dy, total), y)]


@gradient("LogSoftmax")
def _log_softmax_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy - softmax sum(dy)."""
    y, axis = op.outputs[0], int(op.attrs.get("axis", -1))
    total = reduce_sum(dy, [axis], keepdims=True)
    return [binary("Sub", dy, binary("Mul", elementwise.exp(y), total))]
