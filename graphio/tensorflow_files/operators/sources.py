"""Operators without tensor inputs, and others: constants, placeholders, checks, lists."""

from __future__ import annotations

from typing import Any

import graphio as tf
from graphio.ops.checks import assertion
from graphio.tensorflow_files.calls import Call, Row
from graphio.tensorflow_files.values import array_of

__all__ = ["ROWS"]


def _placeholder(c: Call) -> Any:
    return tf.placeholder(c.dtype("dtype"), c.shape("shape"), name=c.name)


def _const(c: Call) -> Any:
    held = c.attr("value").tensor
    if "dtype" in c.node.attr and c.attr("dtype").type not in (0, held.dtype):
        return _no_constant(c, array_of(held))
    return tf.constant(array_of(held), name=c.name)


def _no_constant(c: Call, held: Any) -> Any:
    """A node of another dtype than its value's: a run of it fails, as in TensorFlow."""
    found, expected = tf.as_dtype(held.dtype), c.dtype("dtype")
    words = f"Type mismatch between value ({found.name}) and dtype ({expected.name})"
    return assertion.never(tf.zeros(held.shape, expected), words)


def _assert(c: Call) -> Any:
    return tf.Assert(c[0], c.tensors[1:], name=c.name)


# ---- lists of tensors, which TensorFlow 2 makes of TensorArrays ----


def _reserve(c: Call) -> Any:
    shape = c.element_shape(0)
    return tf.TensorArray(
        c.dtype("element_dtype"), c[1], clear_after_read=False, element_shape=shape, name=c.name
    )


def _from_tensor(c: Call) -> Any:
    length, shape = tf.shape(c[0])[0], c[0].shape[1:]
    made = tf.TensorArray(
        c.dtype("element_dtype"), length, clear_after_read=False, element_shape=shape
    )
    return made.unstack(c[0], name=c.name)


def _set_item(c: Call) -> Any:
    return c.tensor_list(0).rewritable().write(c[1], c[2], name=c.name)


ROWS: dict[str, Row] = {
    "Assert": _assert,
    "Const": _const,
    "Placeholder": _placeholder,
    "PlaceholderV2": _placeholder,
    "TensorListFromTensor": _from_tensor,
    "TensorListGather": lambda c: c.tensor_list(0).gather(c[1], name=c.name),
    "TensorListGetItem": lambda c: c.tensor_list(0).read(c[1], name=c.name),
    "TensorListLength": lambda c: c.tensor_list(0).size(name=c.name),
    "TensorListReserve": _reserve,
    "TensorListSetItem": _set_item,
    "TensorListStack": lambda c: c.tensor_list(0).stack(name=c.name),
}
