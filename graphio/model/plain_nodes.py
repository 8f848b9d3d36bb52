"""Nodes that a program wrote by hand, in TensorFlow's words, as operations of ours.

A node that as_graph_def gave says what types it gives; one that a program added to a GraphDef has
only TensorFlow's type and attributes. Those listed here are built as tf.* functions build them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, placeholder
from graphio.framework.graph import Operation, Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.model.static_types import static_type
from graphio.ops.array import surface as array
from graphio.ops.control_flow import branches
from graphio.ops.linalg import matmul
from graphio.ops.math import comparison, elementwise
from graphio.ops.nn import core as nn
from graphio.schema import model_pb2, tensors

__all__ = ["build", "is_plain", "known"]

Attributes = Mapping[str, model_pb2.AttributeValue]

#: functions of as many tensors as the node has inputs
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Abs": elementwise.abs,
    "Add": elementwise.add,
    "AddN": lambda *inputs, name: elementwise.add_n(list(inputs), name=name),
    "AddV2": elementwise.add,
    "Ceil": elementwise.ceil,
    "Cos": elementwise.cos,
    "Div": elementwise.divide,
    "Equal": comparison.equal,
    "Exp": elementwise.exp,
    "Floor": elementwise.floor,
    "FloorDiv": elementwise.floordiv,
    "Greater": comparison.greater,
    "Identity": array.identity,
    "Less": comparison.less,
    "Log": elementwise.log,
    "LogicalAnd": comparison.logical_and,
    "LogicalNot": comparison.logical_not,
    "LogicalOr": comparison.logical_or,
    "Maximum": elementwise.maximum,
    "Minimum": elementwise.minimum,
    "Mul": elementwise.multiply,
    "Neg": elementwise.negative,
    "Pow": elementwise.pow,
    "RealDiv": elementwise.realdiv,
    "Relu": nn.relu,
    "Reshape": array.reshape,
    "Rsqrt": elementwise.rsqrt,
    "Shape": array.shape,
    "Sigmoid": elementwise.sigmoid,
    "Sin": elementwise.sin,
    "Sqrt": elementwise.sqrt,
    "Square": elementwise.square,
    "Sub": elementwise.subtract,
    "Tanh": elementwise.tanh,
    "Transpose": array.transpose,
}


def _given(attr: Attributes, key: str) -> model_pb2.AttributeValue:
    if key not in attr:
        raise ValueError(f"it has no attr '{key}'")
    return attr[key]


def _dtype(attr: Attributes, key: str) -> dtypes.DType:
    number = _given(attr, key).i
    return dtypes.of_number(number) if number else dtypes.as_dtype(0)


def _shape(value: model_pb2.AttributeValue) -> TensorShape:
    return static_type(value.type)[1] if value.HasField("type") else TensorShape([])


def _placeholder(attr: Attributes, name: str) -> Tensor:
    shape = _shape(attr["shape"]) if "shape" in attr else None
    return placeholder(_dtype(attr, "dtype"), shape, name)


def _constant(attr: Attributes, name: str) -> Tensor:
    return constant(np.array(tensors.to_array(_given(attr, "value").t)), name=name)


def _flag(attr: Attributes, key: str) -> bool:
    return key in attr and bool(attr[key].i)


#: functions of the attributes and the inputs
_WITH_ATTRIBUTES: dict[str, Callable[..., Any]] = {
    "Cast": lambda attr, x, name: elementwise.cast(x, _dtype(attr, "DstT"), name=name),
    "Const": _constant,
    "MatMul": lambda attr, a, b, name: matmul.matmul(
        a, b, _flag(attr, "transpose_a"), _flag(attr, "transpose_b"), name=name
    ),
    "NoOp": lambda attr, name: branches.no_op(name),
    "Placeholder": _placeholder,
}


def known(tf_type: str) -> bool:
    """Whether build knows a type."""
    return tf_type in _FUNCTIONS or tf_type in _WITH_ATTRIBUTES


def is_plain(node: model_pb2.Node) -> bool:
    """Whether a node was written by hand: it has no version of an operator and no types."""
    return not node.version and not node.output_type


def build(node: model_pb2.Node, inputs: Sequence[Tensor | None]) -> Operation:
    """The operation of a node, with its name.

    Raises:
        ValueError: the inputs are too few, too many or of other dtypes, or an attribute is missing.
    """
    is_function = node.op in _FUNCTIONS
    build_it = _FUNCTIONS[node.op] if is_function else _WITH_ATTRIBUTES[node.op]
    first = () if is_function else ({a.key: a.value for a in node.attr},)
    title = f"{node.op} '{node.name}' of the graph_def"
    try:
        inspect.signature(build_it).bind(*first, *inputs, name=node.name)
    except TypeError:
        raise ValueError(f"{title} has {len(inputs)} inputs, which it cannot have") from None
    try:
        made = build_it(*first, *inputs, name=node.name)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{title}: {error}") from None
    operation = made if isinstance(made, Operation) else made.op
    assert isinstance(operation, Operation)
    return operation
