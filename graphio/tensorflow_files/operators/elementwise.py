"""Elementwise operators, reductions and matrix multiplications."""

from __future__ import annotations

from functools import partial
from typing import Any

import graphio as tf
from graphio.ops.math.incomplete import igamma_grad_a
from graphio.tensorflow_files.calls import Call, Row

__all__ = ["ROWS", "SAME"]

#: Operators whose inputs are the arguments of a function of graphio's, in their order.
SAME = {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Add": "add", "AddV2": "add", "Asin": "asin",
    "Asinh": "asinh", "Atan": "atan", "Atan2": "atan2", "Atanh": "atanh",
    "BesselI0e": "math.bessel_i0e", "BesselI1e": "math.bessel_i1e", "Betainc": "betainc",
    "BitwiseAnd": "bitwise.bitwise_and", "BitwiseOr": "bitwise.bitwise_or",
    "BitwiseXor": "bitwise.bitwise_xor", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh",
    "Digamma": "digamma", "DivNoNan": "div_no_nan", "Elu": "nn.elu", "Erf": "erf", "Erfc": "erfc",
    "Exp": "exp", "Expm1": "expm1", "Floor": "floor", "FloorDiv": "floordiv",
    "FloorMod": "floormod", "Greater": "greater", "GreaterEqual": "greater_equal",
    "Igamma": "igamma", "Igammac": "igammac", "Inv": "reciprocal", "Invert": "bitwise.invert",
    "IsFinite": "is_finite", "IsInf": "is_inf",
    "IsNan": "is_nan", "L2Loss": "nn.l2_loss", "LeftShift": "bitwise.left_shift", "Less": "less",
    "LessEqual": "less_equal", "Lgamma": "lgamma", "Log": "log", "Log1p": "log1p",
    "LogSoftmax": "nn.log_softmax", "LogicalAnd": "logical_and", "LogicalNot": "logical_not",
    "LogicalOr": "logical_or", "Maximum": "maximum", "Minimum": "minimum", "Mod": "truncatemod",
    "Mul": "multiply", "Neg": "negative", "NextAfter": "math.nextafter", "Polygamma": "polygamma",
    "Pow": "pow", "RealDiv": "realdiv",
    "Reciprocal": "reciprocal", "Relu": "nn.relu", "Relu6": "nn.relu6",
    "RightShift": "bitwise.right_shift", "Rint": "rint", "Round": "round", "Rsqrt": "rsqrt",
    "Selu": "nn.selu", "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin", "Sinh": "sinh",
    "Softmax": "nn.softmax", "Softplus": "nn.softplus", "Softsign": "nn.softsign", "Sqrt": "sqrt",
    "Square": "square", "SquaredDifference": "squared_difference", "Sub": "subtract", "Tan": "tan",
    "Tanh": "tanh", "TruncateDiv": "truncatediv", "TruncateMod": "truncatemod",
    "Xdivy": "math.xdivy", "Xlogy": "math.xlogy", "Zeta": "zeta",
}  # fmt: skip

_REDUCTIONS = {
    "All": "reduce_all", "Any": "reduce_any", "Max": "reduce_max", "Mean": "reduce_mean",
    "Min": "reduce_min", "Prod": "reduce_prod", "Sum": "reduce_sum",
}  # fmt: skip


def _reduce(function: str, c: Call) -> Any:
    axes = c.known(1)
    reduced = getattr(tf, function)
    return reduced(c[0], axis=axes, keepdims=c.flag("keep_dims"), name=c.name)


def _divide(c: Call) -> Any:
    """Div of integers rounds towards zero."""
    function = tf.realdiv if c[0].dtype.is_floating else tf.truncatediv
    return function(c[0], c[1], name=c.name)


def _clip(c: Call) -> Any:
    return tf.clip_by_value(c[0], c[1], c[2], name=c.name)


def _arg(function: str, c: Call) -> Any:
    dtype = c.dtype("output_type", tf.int64)
    return getattr(tf, function)(c[0], axis=int(c.constant(1)), output_type=dtype, name=c.name)


def _cumulative(function: str, c: Call) -> Any:
    return getattr(tf, function)(
        c[0], int(c.constant(1)), c.flag("exclusive"), c.flag("reverse"), name=c.name
    )


def _batch_matmul(c: Call) -> Any:
    return tf.matmul(c[0], c[1], adjoint_a=c.flag("adj_x"), adjoint_b=c.flag("adj_y"), name=c.name)


def _fused_matmul(c: Call) -> Any:
    y = tf.matmul(c[0], c[1], c.flag("transpose_a"), c.flag("transpose_b"))
    return fused(c, y, c.tensors[2:])


def fused(c: Call, y: Any, arguments: list[Any]) -> Any:
    """The bias and activation that TensorFlow's optimizer fused into a MatMul or convolution."""
    steps = {"Relu": tf.nn.relu, "Relu6": tf.nn.relu6, "Elu": tf.nn.elu, "Tanh": tf.tanh,
             "Sigmoid": tf.sigmoid}  # fmt: skip
    names = [text.decode(errors="replace") for text in c.strings("fused_ops")]
    for step in names:
        if step == "BiasAdd":
            y = tf.nn.bias_add(y, arguments[0])
        elif step == "LeakyRelu":
            y = tf.nn.leaky_relu(y, c.number("leakyrelu_alpha", 0.2))
        elif step in steps:
            y = steps[step](y)
        else:
            raise NotImplementedError(f"fuses {step}, which is not read; freeze without grappler")
    return tf.identity(y, name=c.name)


ROWS: dict[str, Row] = {
    "AddN": lambda c: tf.add_n(c.tensors, name=c.name),
    "ApproximateEqual": lambda c: tf.less_equal(
        tf.abs(c[0] - c[1]), c.number("tolerance", 1e-5), name=c.name
    ),
    "ArgMax": partial(_arg, "argmax"),
    "ArgMin": partial(_arg, "argmin"),
    "BatchMatMul": _batch_matmul,
    "BatchMatMulV2": _batch_matmul,
    "BatchMatMulV3": _batch_matmul,
    "Cast": lambda c: tf.cast(c[0], c.dtype("DstT"), name=c.name),
    "ClipByValue": _clip,
    "Cumprod": partial(_cumulative, "cumprod"),
    "Cumsum": partial(_cumulative, "cumsum"),
    "Div": _divide,
    "Einsum": lambda c: tf.einsum(c.text("equation"), *c.tensors, name=c.name),
    "Equal": lambda c: tf.equal(c[0], c[1], name=c.name),
    "IgammaGradA": lambda c: igamma_grad_a(c[0], c[1], c.name),
    "LeakyRelu": lambda c: tf.nn.leaky_relu(c[0], c.number("alpha", 0.2), name=c.name),
    "MatMul": lambda c: tf.matmul(
        c[0], c[1], c.flag("transpose_a"), c.flag("transpose_b"), name=c.name
    ),
    "NotEqual": lambda c: tf.not_equal(c[0], c[1], name=c.name),
    "_FusedMatMul": _fused_matmul,
    **{op: partial(_reduce, function) for op, function in _REDUCTIONS.items()},
}
