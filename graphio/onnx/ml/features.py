"""Operators of ai.onnx.ml that change columns: Scaler, Normalizer, Imputer and others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.onnx.ml import nodes as ml
from graphio.onnx.ml.nodes import Lowered
from graphio.ops.base.emit import node as make_node
from graphio.ops.base.emit import scalar
from graphio.ops.base.primitive import (
    binary,
    cast,
    compare,
    concat,
    reduce_sum,
    reshape,
    select,
    shape_of,
    slice_axes,
    unary,
)
from graphio.ops.base.shapes import Dims, dims_of
from graphio.ops.math.elementwise import cast as named_cast

__all__ = ["TABLE"]

Inputs = Sequence["Tensor | None"]


def _float32(y: Tensor, node: onnx.NodeProto) -> Lowered:
    return [named_cast(y, dtypes.float32, name=ml.name_of(node))]


def _columns(x: Tensor) -> int | None:
    dims = dims_of(x)
    return dims[-1] if dims else None


def _per_column(attrs: dict[str, Any], name: str, x: Tensor) -> list[Any]:
    """A list of one entry, or of one a column."""
    width = _columns(x)
    return ml.entries(attrs, name, *(() if width is None else (1, width)))


def _scaler(node: onnx.NodeProto, inputs: Inputs) -> Lowered:
    attrs, x = ml.attributes(node), ml.numbers(inputs[0])
    dtype = ml.computed(x)
    offset, scale = _per_column(attrs, "offset", x), _per_column(attrs, "scale", x)
    y = cast(x, dtype)
    if offset:
        y = binary("Sub", y, ml.row(offset, dtype))
    if scale:
        y = binary("Mul", y, ml.row(scale, dtype))
    return _float32(y, node)


def _normalizer(node: onnx.NodeProto, inputs: Inputs) -> Lowered:
    """Rows by their norm, in which no row is divided by 0."""
    attrs, given = ml.attributes(node), ml.numbers(inputs[0])
    if attrs["norm"] not in ("MAX", "L1", "L2"):
        raise ValueError(f"norm is {attrs['norm']!r}, expected MAX, L1 or L2")
    x = cast(given, ml.computed(given))
    dims = dims_of(x)
    narrow: Dims = None if dims is None else (*dims[:-1], 1)
    if attrs["norm"] == "MAX":
        axes = constant(np.asarray([-1], np.int64))
        size = make_node("ReduceMax", [unary("Abs", x), axes], x.dtype, narrow, keepdims=1)
    else:
        parts = unary("Abs", x) if attrs["norm"] == "L1" else binary("Mul", x, x)
        size = reduce_sum(parts, [-1], keepdims=True)
    if attrs["norm"] == "L2":
        size = unary("Sqrt", size)
    least = scalar(1e-30, x.dtype)
    size = make_node("Max", [size, least], x.dtype, narrow)
    return _float32(binary("Div", x, size), node)


def _imputer(node: onnx.NodeProto, inputs: Inputs) -> Lowered:
    attrs, x = ml.attributes(node), ml.numbers(inputs[0])
    floats, ints = (attrs.get(n) or [] for n in ("imputed_value_floats", "imputed_value_int64s"))
    if not floats and not ints:
        raise ValueError("has neither imputed_value_floats nor imputed_value_int64s")
    whole = bool(ints) and not (floats and x.dtype.is_floating)
    kind = ("int64s", "int64") if whole else ("floats", "float")
    values = _per_column(attrs, f"imputed_value_{kind[0]}", x)
    replaced = attrs[f"replaced_value_{kind[1]}"]
    if not whole and np.isnan(replaced):
        if not x.dtype.is_floating:
            return [unary("Identity", x, ml.name_of(node))]  # no whole number is NaN
        missing = make_node("IsNaN", [x], dtypes.bool, dims_of(x))
    else:
        _fits([replaced], x.dtype, "replaced value")
        missing = compare("Equal", x, _constant([replaced], x.dtype))
    _fits(values, x.dtype, "imputed value")
    return [select(missing, _constant(values, x.dtype), x, ml.name_of(node))]


def _constant(values: Sequence[Any], dtype: DType) -> Tensor:
    return constant(np.asarray(values).astype(dtype.base_dtype.as_numpy_dtype))


def _fits(values: Sequence[Any], dtype: DType, what: str) -> None:
    """Refuses numbers that an integer type has not."""
    if dtype.is_floating:
        return
    for value in values:
        if value != int(value) or not dtype.min <= value <= dtype.max:
            raise ValueError(f"the {what} {value} is not a {dtype.name}, the type of X")


def _binarizer(node: onnx.NodeProto, inputs: Inputs) -> Lowered:
    x = ml.numbers(inputs[0])
    threshold = ml.attributes(node)["threshold"]
    wide = cast(x, dtypes.float64) if x.dtype.is_integer else x
    over = compare("Greater", wide, _constant([threshold], wide.dtype))
    return [named_cast(over, x.dtype.base_dtype, name=ml.name_of(node))]


def _array_feature_extractor(node: onnx.NodeProto, inputs: Inputs) -> Lowered:
    """Elements of the last axis; of a vector as one row."""
    ml.attributes(node)
    x, at = inputs
    assert x is not None and at is not None
    dims, count = dims_of(x), dims_of(reshape(at, [-1]))
    if dims == ():
        raise ValueError("X is a scalar, expected at least a vector")
    made: Dims = None if dims is None else (*dims[:-1], (count or (None,))[0])
    y = make_node("Gather", [x, reshape(at, [-1])], x.dtype, made, axis=-1)
    if dims is not None and len(dims) == 1:
        y = reshape(y, [1, -1], (1, *(made or ())))
    return [unary("Identity", y, ml.name_of(node))]


def _feature_vectorizer(node: onnx.NodeProto, inputs: Inputs) -> Lowered:
    """The inputs side by side, each cut or filled with zeros to its width."""
    widths = ml.entries(ml.attributes(node), "inputdimensions", len(inputs))
    for width in widths:
        if width < 0:
            raise ValueError(f"inputdimensions has {width}, expected 0 or more")
    parts = [_column(x) for x in inputs]
    if widths:
        parts = [_resized(x, width) for x, width in zip(parts, widths, strict=True)]
    return _float32(concat(parts, 1), node)


def _column(x: Tensor | None) -> Tensor:
    """(rows, columns) as float32; a vector is one column."""
    given = ml.numbers(x)
    dims = dims_of(given)
    if dims is not None and len(dims) == 1:
        given = reshape(given, [-1, 1], (dims[0], 1))
    elif dims is not None and len(dims) != 2:
        raise ValueError(f"an input has rank {len(dims)}, expected 1 or 2")
    return cast(given, dtypes.float32)


def _resized(x: Tensor, width: int) -> Tensor:
    if _columns(x) == width:
        return x
    dims = dims_of(x)
    rows = slice_axes(shape_of(x), [0], [1], [0])
    shape = concat([rows, constant(np.asarray([width], np.int64))], 0)
    empty: Dims = (dims[0] if dims else None, width)
    zeros = make_node("ConstantOfShape", [shape], x.dtype, empty, value=np.zeros(1, np.float32))
    return slice_axes(concat([x, zeros], 1), [0], [width], [1])


#: the importer's lowerings
TABLE: dict[tuple[str, str], Callable[[onnx.NodeProto, Any], Lowered | None]] = {
    (ml.DOMAIN, "ArrayFeatureExtractor"): _array_feature_extractor,
    (ml.DOMAIN, "Binarizer"): _binarizer,
    (ml.DOMAIN, "FeatureVectorizer"): _feature_vectorizer,
    (ml.DOMAIN, "Imputer"): _imputer,
    (ml.DOMAIN, "Normalizer"): _normalizer,
    (ml.DOMAIN, "Scaler"): _scaler,
}
