"""The upgrade rules of each operator, by the opset in which its meaning or form changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from graphio.onnx.upgrade import rules_attributes as attributes
from graphio.onnx.upgrade import rules_control as control
from graphio.onnx.upgrade import rules_nn as nn
from graphio.onnx.upgrade import rules_shapes as shapes
from graphio.onnx.upgrade.step import Step

__all__ = ["RULES", "TARGET", "Rule"]

#: the opset that models are upgraded to
TARGET = 28

Rule = Callable[[Step], None]
Rules = Sequence[tuple[int, Rule]]


def _at(version: int, rule: Rule, *operators: str) -> dict[str, Rules]:
    return dict.fromkeys(operators, ((version, rule),))


def _joined(*tables: Mapping[str, Rules]) -> dict[str, Rules]:
    """All the tables' rules, each operator's by version; those of one version in their order."""
    result: dict[str, Rules] = {}
    for table in tables:
        for operator, rules in table.items():
            result[operator] = sorted((*result.get(operator, ()), *rules), key=lambda row: row[0])
    return result


_UNCONSUMED = attributes.dropped("consumed_inputs")

# fmt: off
_OPSET_6 = _at(
    6, _UNCONSUMED, "Abs", "Add", "BatchNormalization", "Ceil", "Clip", "Div", "Dropout", "Elu",
    "Exp", "Floor", "HardSigmoid", "InstanceNormalization", "LeakyRelu", "Log", "Max", "Mean",
    "Min", "Mul", "Neg", "PRelu", "Reciprocal", "Relu", "Selu", "Sigmoid", "Sqrt", "Sub", "Sum",
    "Tanh",
)
_REDUCTIONS = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
    "ReduceMin", "ReduceProd", "ReduceSumSquare",
)
# fmt: on

_BROADCASTS = _joined(
    _at(7, shapes.broadcast_b, "Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or"),
    _at(7, shapes.broadcast_b, "Pow", "Sub", "Xor"),
    _at(7, attributes.dropped("broadcast"), "Gemm"),  # C's one use of it is numpy's
)

_ATTRIBUTES: dict[str, Rules] = {
    # models of opset 6 still name the type: exporters were late
    "Cast": ((6, attributes.cast_to_number), (9, attributes.cast_to_number)),
    "Clip": ((11, attributes.clip_bounds),),
    "Concat": ((4, attributes.default("axis", 1)),),
    "DFT": ((20, attributes.dft_axis),),
    "GRU": (
        (3, attributes.recurrent_direction),
        (7, attributes.dropped("output_sequence")),
    ),
    "GlobalLpPool": ((2, attributes.integral_p),),
    "GridSample": (
        (20, attributes.renamed_values("mode", {"bilinear": "linear", "bicubic": "cubic"})),
    ),
    "LSTM": ((7, attributes.dropped("output_sequence")),),
    "LpPool": (
        (2, attributes.required("kernel_shape", "give the kernel's sizes")),
        (2, attributes.integral_p),
    ),
    # the same axes as the default, but onnx's checker requires them
    "MeanVarianceNormalization": ((13, attributes.default("axes", [0, 2, 3])),),
    "Pad": ((2, attributes.renamed("paddings", "pads")), (11, attributes.pad_value)),
    "RNN": ((7, attributes.dropped("output_sequence")),),
    "Reshape": ((5, _UNCONSUMED), (5, nn.reshape_shape)),
    "RoiAlign": ((16, attributes.default("coordinate_transformation_mode", "output_half_pixel")),),
    # float32's 1.67326... and 1.05070... as opset 1 rounded them
    "Selu": ((6, attributes.default("alpha", 1.6732)), (6, attributes.default("gamma", 1.0507))),
    "Slice": ((10, attributes.inputs_from("starts", "ends", "axes")),),
    "Split": (
        (2, attributes.required("axis", "name the dimension to split")),
        (13, attributes.inputs_from("split")),
        (18, attributes.split_parts),
    ),
    "TopK": ((10, attributes.top_k),),
    **_at(13, attributes.inputs_from("axes"), "ReduceSum", "Squeeze", "Unsqueeze"),
    **_at(18, attributes.inputs_from("axes"), *_REDUCTIONS),
}

_SHAPES: dict[str, Rules] = {
    "Erf": ((13, shapes.in_double),),
    "GroupNormalization": ((21, shapes.group_scale),),
    "PRelu": ((7, shapes.slope_of_channels),),
    "Tile": ((6, shapes.tile_axis),),
    **_at(13, shapes.as_matrix(1), "Hardmax", "LogSoftmax", "Softmax"),
    **_at(28, shapes.in_double, "ReduceLogSum", "ReduceLogSumExp"),
}

_NN: dict[str, Rules] = {
    "BatchNormalization": (
        (7, nn.normalization_mode),
        (9, nn.normalization_spatial),
        (14, nn.normalization_outputs),
    ),
    "Dropout": ((7, nn.dropout_mode), (10, nn.dropout_mask_type), (12, nn.dropout_ratio)),
    "Resize": ((11, nn.resize_asymmetric), (13, nn.resize_inputs), (19, nn.resize_corners)),
    "Scan": ((9, control.scan_batches),),
    "Scatter": ((11, nn.scatter_elements),),
    "Upsample": (
        (7, nn.scales_of_sides),
        (9, attributes.inputs_from("scales")),
        (10, nn.upsample_to_resize),
    ),
}

#: for each operator: (opset, what to do with a node written for an older one), oldest first
RULES: Mapping[str, Rules] = _joined(_OPSET_6, _BROADCASTS, _ATTRIBUTES, _SHAPES, _NN)
