"""Rules for operators that early opsets had on trial and real models use."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnx
from onnx import helper

from graphio.onnx.upgrade.step import Step, Unsupported

__all__ = ["EXPERIMENTAL"]

_END = int(np.iinfo(np.int64).max)


def _attribute(step: Step, name: str) -> float:
    value = step.take(name)
    if value is None:
        raise Unsupported(f"it has no attribute {name!r}", "give it, for it has no default")
    return float(value)


def _renamed(op: str) -> Callable[[Step], None]:
    """Its attributes and inputs are those of a later operator."""

    def rule(step: Step) -> None:
        step.drop("consumed_inputs")
        step.node.op_type = op

    return rule


def _scaled(inner: str) -> Callable[[Step], None]:
    """alpha * inner(beta * x)."""

    def rule(step: Step) -> None:
        step.drop("consumed_inputs")
        x = step.input(0)
        alpha = step.scalar_like(_attribute(step, "alpha"), x, "alpha")
        beta = step.scalar_like(_attribute(step, "beta"), x, "beta")
        made = step.add(inner, step.add("Mul", x, beta, suffix="scaled"), suffix="inner")
        step.node.op_type = "Mul"
        step.set_inputs(alpha, made)

    return rule


def _affine(step: Step) -> None:
    """alpha * x + beta."""
    x = step.input(0)
    alpha = step.scalar_like(step.take("alpha", 1.0), x, "alpha")
    beta = step.scalar_like(step.take("beta", 0.0), x, "beta")
    step.node.op_type = "Add"
    step.set_inputs(step.add("Mul", x, alpha, suffix="scaled"), beta)


def _scale(step: Step) -> None:
    """scale * x."""
    step.drop("consumed_inputs")
    x = step.input(0)
    factor = step.scalar_like(step.take("scale", 1.0), x, "scale")
    step.node.op_type = "Mul"
    step.set_inputs(x, factor)


def _image_scaler(step: Step) -> None:
    """scale * x and, where there is one, a bias for each channel."""
    bias = step.take("bias")
    _scale(step)
    if not bias:
        return
    column = np.asarray(bias, np.float32).reshape(-1, 1, 1)
    made = step.add(
        "CastLike", step.constant(column, "bias_float", np.float32), step.input(0), suffix="bias"
    )
    scaled = step.add("Mul", *step.node.input, suffix="scaled")
    step.node.op_type = "Add"
    step.set_inputs(scaled, made)


def _crop(step: Step) -> None:
    """The borders (left, top, right, bottom) go; with a scale (height, width), that remains."""
    step.drop("consumed_inputs")
    left, top, right, bottom = step.take("border", [0, 0, 0, 0])
    size = step.take("scale")
    ends = [-bottom or _END, -right or _END]
    if size:
        ends = [top + size[0], left + size[1]]
    step.node.op_type = "Slice"
    starts = step.constant([top, left], "starts")
    step.set_inputs(
        step.input(0), starts, step.constant(ends, "ends"), step.constant([2, 3], "axes")
    )


def _constant_fill(step: Step) -> None:
    """A constant of the shape that an attribute, the input or the input's shape gives."""
    step.drop("consumed_inputs")
    number, value = step.take("dtype", onnx.TensorProto.FLOAT), step.take("value", 0.0)
    shape, extra = step.take("shape"), step.take("extra_shape")
    as_shape = step.take("input_as_shape", 0)
    if not step.input(0):
        whole = step.constant(shape or [], "shape")
    elif as_shape:
        whole = step.add("Cast", step.input(0), suffix="shape", to=onnx.TensorProto.INT64)
    else:
        whole = step.add("Shape", step.input(0), suffix="shape")
    if extra:
        more = step.constant(extra, "extra_shape")
        whole = step.add("Concat", whole, more, suffix="whole_shape", axis=0)
    step.node.op_type = "ConstantOfShape"
    step.set_inputs(whole)
    kind = helper.tensor_dtype_to_np_dtype(number)
    step.set("value", onnx.numpy_helper.from_array(np.full(1, value, kind)))


def _mean_variance(step: Step) -> None:
    """Over the batch, each channel for itself or all together; a later form has axes."""
    step.drop("consumed_inputs")
    axes = [0, 1, 2, 3] if step.take("across_channels", 0) else step.take("axes", [0, 2, 3])
    if step.take("normalize_variance", 1):
        step.set("axes", axes)
        return
    mean = step.add("ReduceMean", step.input(0), step.constant(axes, "axes"), suffix="mean")
    step.node.op_type = "Sub"
    step.set_inputs(step.input(0), mean)


#: operators of opsets whose standard does not list them
EXPERIMENTAL: Mapping[str, Callable[[Step], None]] = {
    "Affine": _affine,
    "ConstantFill": _constant_fill,
    "Crop": _crop,
    "DynamicSlice": _renamed("Slice"),
    "ImageScaler": _image_scaler,
    "MeanVarianceNormalization": _mean_variance,
    "ParametricSoftplus": _scaled("Softplus"),
    "Scale": _scale,
    "ScaledTanh": _scaled("Tanh"),
    "ThresholdedRelu": _renamed("ThresholdedRelu"),
}
