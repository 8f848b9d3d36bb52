"""Operators of the standard that become something else in a graph: constants in their many forms,
random numbers with a state, dropout, affine grids.

The standard's own body of AffineGrid fails for a batch of one and hides its rank in branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.dtypes import DType
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.framework.operation_names import valid_name
from graphio.onnx import training
from graphio.onnx.attributes import from_proto
from graphio.onnx.ml import features, linear, lookup, svm, trees
from graphio.onnx.reading import Source
from graphio.onnx.weights import dense
from graphio.ops.base import primitive
from graphio.ops.base.emit import node as make_node
from graphio.ops.base.primitive import binary, compare, select
from graphio.ops.base.shapes import dims_of
from graphio.ops.image.onnx_gradients import affine_grid
from graphio.ops.math import elementwise
from graphio.ops.random import core as random
from graphio.ops.random import draws
from graphio.ops.signals.onnx_mel import mel_weight_matrix

__all__ = ["TABLE"]

Lowered = Sequence["Tensor | None"]


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {a.name: from_proto(a) for a in node.attribute}


def _name(node: onnx.NodeProto) -> str:
    return valid_name(node.name or node.output[0] or node.op_type)


# ---- constants ----


def _constant(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> Lowered:
    if len(node.attribute) != 1:
        raise ValueError(f"has {len(node.attribute)} attributes, expected one that is its value")
    source = Source(onnx.ModelProto(), "", None)
    attribute = node.attribute[0]
    if attribute.name == "value":
        array = source.array(attribute.t)
    elif attribute.name == "sparse_value":
        array = dense(source, attribute.sparse_tensor)
    elif attribute.name in ("value_int", "value_ints"):
        array = np.asarray(from_proto(attribute), np.int64)
    elif attribute.name in ("value_float", "value_floats"):
        array = np.asarray(from_proto(attribute), np.float32)
    else:
        string_values = (
            [attribute.s] if attribute.name == "value_string" else list(attribute.strings)
        )
        array = np.empty(len(string_values), object)
        array[:] = string_values
        array = array.reshape(()) if attribute.name == "value_string" else array
    return [constant(array, name=_name(node))]


# ---- random numbers ----


def _dtype(attrs: dict[str, Any], x: Tensor | None, default: DType = dtypes.float32) -> DType:
    found = attrs.get("dtype")
    if isinstance(found, DType):
        return found
    return x.dtype.base_dtype if x is not None else default


def _seed(attrs: dict[str, Any]) -> int | None:
    """The operator's seed is a float; its bits make an integer."""
    if "seed" not in attrs:
        return None
    return int(np.float32(attrs["seed"]).view(np.uint32))


def _random(normal: bool, like: bool) -> Callable[[onnx.NodeProto, Any], Lowered]:
    def lower(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> Lowered:
        attrs = _attributes(node)
        x = inputs[0] if like else None
        dtype = _dtype(attrs, x)
        if not dtype.is_floating:
            raise ValueError(f"cannot draw {dtype.name}; give the attribute dtype a floating type")
        shape: Any = attrs.get("shape") if x is None else primitive.shape_of(x)
        drawn, seed = draws.drawn_in(dtype), _seed(attrs)
        if normal:
            mean, scale = attrs.get("mean", 0.0), attrs.get("scale", 1.0)
            made = random.random_normal(shape, mean, scale, drawn, seed)
        else:
            low, high = attrs.get("low", 0.0), attrs.get("high", 1.0)
            made = random.random_uniform(shape, low, high, drawn, seed)
        return [elementwise.cast(made, dtype, name=_name(node))]

    return lower


def _bernoulli(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> Lowered:
    attrs, x = _attributes(node), inputs[0]
    assert x is not None
    drawn = draws.drawn_in(x.dtype)
    uniform = random.random_uniform(primitive.shape_of(x), 0, 1, drawn, _seed(attrs))
    hit = compare("Less", uniform, primitive.cast(x, drawn))
    return [elementwise.cast(hit, _dtype(attrs, x), name=_name(node))]


def _multinomial(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> Lowered:
    attrs, x = _attributes(node), inputs[0]
    assert x is not None
    dtype = attrs.get("dtype", dtypes.int32)
    count = attrs.get("sample_size", 1)
    logits = primitive.cast(x, draws.drawn_in(x.dtype))
    return [random.multinomial(logits, count, _seed(attrs), _name(node), dtype)]


# ---- dropout ----


def _dropout(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> Lowered:
    """Scales by 1 / (1 - ratio) what a uniform number at or above the ratio keeps, in training
    mode; else passes its input on."""
    x, ratio, training = [*inputs, None, None][:3]
    assert x is not None
    mode = None if training is None else constant_value(training)
    if training is None or (mode is not None and not mode):
        kept = primitive.fill_like(x, True, dtypes.bool)
        return [make_node("Identity", [x], x.dtype, dims_of(x), name=_name(node)), kept]
    drawn = draws.drawn_in(x.dtype)
    wide = primitive.cast(x, drawn)
    rate = (
        constant(np.asarray(0.5, drawn.as_numpy_dtype))
        if ratio is None
        else primitive.cast(_fixed(ratio), drawn)
    )
    uniform = random.random_uniform(primitive.shape_of(x), 0, 1, drawn, _seed(_attributes(node)))
    kept = primitive.unary("Not", compare("Less", uniform, rate))
    if mode is None:
        kept = _keep_all_unless(training, kept)
        zero = constant(np.asarray(0, drawn.as_numpy_dtype))
        rate = select(training, rate, zero)
    one = constant(np.asarray(1, drawn.as_numpy_dtype))
    scaled = binary("Div", wide, binary("Sub", one, rate))
    nothing = constant(np.asarray(0, drawn.as_numpy_dtype))
    result = select(kept, scaled, nothing)
    return [elementwise.cast(result, x.dtype, name=_name(node)), kept]


def _fixed(ratio: Tensor) -> Tensor:
    """The mask jumps with the ratio; the slope of the scale alone would mislead."""
    dims = dims_of(ratio)
    return make_node("StopGradient", [ratio], ratio.dtype, dims, domain="graphio")


def _keep_all_unless(training: Tensor, kept: Tensor) -> Tensor:
    off = primitive.unary("Not", training)
    return make_node("Or", [kept, off], dtypes.bool, dims_of(kept))


# ---- mel bands ----


def _mel_weight_matrix(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> Lowered:
    requested = dtypes.of_number(_attributes(node).get("output_datatype", 1))
    found = mel_weight_matrix(*[x for x in inputs if x is not None])
    return [elementwise.cast(found, requested, name=_name(node))]


# ---- grids ----


def _affine_grid(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> Lowered | None:
    """None where it is unknown whether the grid has two axes or three."""
    theta, size = inputs
    assert theta is not None and size is not None
    sizes, matrix = dims_of(size), dims_of(theta)
    rank = None if matrix is None else matrix[1]
    if sizes is not None and sizes[0] is not None:
        rank = sizes[0] - 2
    if rank not in (2, 3):
        return None
    return [affine_grid(theta, size, rank, bool(_attributes(node).get("align_corners")))]


TABLE: dict[tuple[str, str], Callable[[onnx.NodeProto, Any], Lowered | None]] = {
    ("", "Constant"): _constant,
    ("", "RandomNormal"): _random(normal=True, like=False),
    ("", "RandomNormalLike"): _random(normal=True, like=True),
    ("", "RandomUniform"): _random(normal=False, like=False),
    ("", "RandomUniformLike"): _random(normal=False, like=True),
    ("", "Bernoulli"): _bernoulli,
    ("", "Multinomial"): _multinomial,
    ("", "Dropout"): _dropout,
    ("", "AffineGrid"): _affine_grid,
    **features.TABLE,
    **linear.TABLE,
    **lookup.TABLE,
    **svm.TABLE,
    ("", "MelWeightMatrix"): _mel_weight_matrix,
    **trees.TABLE,
    **training.TABLE,
}
