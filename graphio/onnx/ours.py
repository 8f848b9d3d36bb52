"""Operators of the domain graphio that are not functions of their inputs alone, or whose ONNX form
depends on static shapes: their replacements in an exported model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from graphio.onnx import ours_images, ours_windows
from graphio.onnx.attributes import message_value
from graphio.onnx.composed import nodes
from graphio.onnx.ml import tree_writing
from graphio.schema import dtypes
from graphio.schema.model_pb2 import Node
from graphio.support import errors

if TYPE_CHECKING:
    from graphio.onnx.emitting import Emitter

__all__ = ["OURS"]

Lower = Callable[["Emitter", Node, "list[str]", "list[str]"], None]


def _dtype(node: Node) -> int:
    return next(int(message_value(a.value)) for a in node.attr if a.key == "dtype")


def is_only_seen(node: Node) -> bool:
    """Whether a node checks or shows values and gives none: a model does the same without it."""
    checks = node.domain == "graphio" and node.op in ("Assert", "HostCall")
    return checks and not node.output_type


def _nothing(emit: Emitter, node: Node, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Control edges: the order of values says it all."""


def _host_call(emit: Emitter, node: Node, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    if not is_only_seen(node):
        raise errors.UnimplementedError(
            message=f"{node.tf_type or node.op} '{node.name}': a Python function cannot be part "
            "of a model; feed its result"
        )


def _is_initialized(
    emit: Emitter, node: Node, inputs: Sequence[str], outputs: Sequence[str]
) -> None:
    emit.rename_last(emit.constant(True, np.bool_, node.name), outputs[0])


def _random(op: str) -> Lower:
    """A draw of ONNX's own, in the shape that comes as data."""

    def lower(emit: Emitter, node: Node, inputs: list[str], outputs: list[str]) -> None:
        zeros = emit.add("ConstantOfShape", inputs, f"{node.name}/zeros")
        drawn = emit.add(op, [zeros], node.name, dtype=_dtype(node))
        emit.rename_last(drawn, outputs[0])

    return lower


def _random_integer(emit: Emitter, node: Node, inputs: list[str], outputs: list[str]) -> None:
    """low + floor(u * (high - low)) of a uniform u."""
    shape, low, high = inputs
    zeros = emit.add("ConstantOfShape", [shape], f"{node.name}/zeros")
    double = dtypes.BY_NAME["float64"].number
    uniform = emit.add("RandomUniformLike", [zeros], f"{node.name}/uniform", dtype=double)
    span = emit.add("Sub", [high, low], f"{node.name}/span")
    wide = emit.add("Cast", [span], f"{node.name}/wide", to=double)
    scaled = emit.add("Mul", [uniform, wide], f"{node.name}/scaled")
    whole = emit.add("Floor", [scaled], f"{node.name}/floor")
    number = emit.add("Cast", [whole], f"{node.name}/number", to=_dtype(node))
    emit.rename_last(emit.add("Add", [number, low], node.name), outputs[0])


def _scatter_sum(emit: Emitter, node: Node, inputs: list[str], outputs: list[str]) -> None:
    """Rows added into zeros of the rows' shape after the size given."""
    indices, updates, size = inputs
    one = emit.constant([1], np.int64, f"{node.name}/one")
    zero = emit.constant([0], np.int64, f"{node.name}/zero")
    many = emit.constant([np.iinfo(np.int64).max], np.int64, f"{node.name}/many")
    last = emit.constant([-1], np.int64, f"{node.name}/last")
    shape = emit.add("Shape", [updates], f"{node.name}/shape")
    rank = emit.add(
        "Shape", [emit.add("Shape", [indices], f"{node.name}/ishape")], f"{node.name}/rank"
    )
    row = emit.add("Slice", [shape, rank, many, zero], f"{node.name}/row")
    rows = emit.add("Reshape", [size, one], f"{node.name}/rows")
    target = emit.add("Concat", [rows, row], f"{node.name}/target", axis=0)
    empty = emit.add("ConstantOfShape", [target], f"{node.name}/zeros")
    like = emit.add("CastLike", [empty, updates], f"{node.name}/empty")
    at = emit.add("Unsqueeze", [indices, last], f"{node.name}/at")
    made = emit.add("ScatterND", [like, at, updates], node.name, reduction="add")
    emit.rename_last(made, outputs[0])


def _string_to_number(emit: Emitter, node: Node, inputs: list[str], outputs: list[str]) -> None:
    """A string that is not a number fails in an engine-specific way."""
    emit.rename_last(emit.add("Cast", inputs, node.name, to=_dtype(node)), outputs[0])


def _as_string(emit: Emitter, node: Node, inputs: list[str], outputs: list[str]) -> None:
    """A Cast, where that writes the same: integers without more, floats in as few digits as tell
    them from all others. Booleans are two strings."""
    dtype = emit.types[node.input[0]].tensor.dtype
    plain = {"precision": -1, "scientific": 0, "shortest": 0, "width": -1, "fill": ""}
    options = plain | {a.key: message_value(a.value) for a in node.attr}
    if dtype == dtypes.BY_NAME["bool"].number:
        yes = emit.constant(b"true", object, f"{node.name}/true")
        no = emit.constant(b"false", object, f"{node.name}/false")
        emit.rename_last(emit.add("Where", [*inputs, yes, no], node.name), outputs[0])
        return
    if dtypes.name(dtype) in ("float32", "float64"):
        plain["precision"] = -2
    if options != plain or dtypes.name(dtype).startswith("complex"):
        raise errors.UnimplementedError(
            message=f"{node.op} '{node.name}': ONNX writes numbers in one way only, integers as "
            "they are; format the numbers outside the model, or cast floats to integers"
        )
    string = dtypes.BY_NAME["string"].number
    emit.rename_last(emit.add("Cast", inputs, node.name, to=string), outputs[0])


OURS: dict[str, Lower] = {
    "NoOp": _nothing,
    "Assert": _nothing,
    "HostCall": _host_call,
    "IsInitialized": _is_initialized,
    "RandomUniform": _random("RandomUniformLike"),
    "RandomNormal": _random("RandomNormalLike"),
    "RandomInteger": _random_integer,
    "StatelessRandomUniform": nodes.stateless_random_uniform,
    "StatelessRandomNormal": nodes.stateless_random_normal,
    "StatelessRandomTruncatedNormal": nodes.stateless_random_truncated_normal,
    "StatelessRandomInteger": nodes.stateless_random_integer,
    "ScatterSum": _scatter_sum,
    "StringToNumber": _string_to_number,
    "AsString": _as_string,
    "Conv2DGradInput": ours_windows.conv_2d_grad_input,
    "Conv2DGradFilter": ours_windows.conv_2d_grad_filter,
    "ConvGradInput": ours_windows.conv_grad_input,
    "ConvGradWeight": ours_windows.conv_grad_weight,
    "MaxPool2DGrad": ours_windows.max_pool_2d_grad,
    "AveragePool2DGrad": ours_windows.average_pool_2d_grad,
    "AveragePoolGrad": ours_windows.average_pool_grad,
    "ResizeGrad": ours_images.resize_grad,
    "GridSampleGrad": nodes.grid_sample_grad,
    "RoiAlignGrad": nodes.roi_align_grad,
    "TreeEnsemble": tree_writing.tree_ensemble,
}
