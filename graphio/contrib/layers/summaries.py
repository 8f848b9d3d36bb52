"""Summaries of tensors and of the collections of a graph."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any

from graphio.framework import dtypes
from graphio.framework.collections import GraphKeys, get_collection
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.math import comparison, elementwise, reduction
from graphio.summary import ops as summary
from graphio.support import api_guard

__all__ = [
    "summarize_activation",
    "summarize_activations",
    "summarize_biases",
    "summarize_collection",
    "summarize_tensor",
    "summarize_tensors",
    "summarize_variables",
    "summarize_weights",
]


@api_guard.guarded
def summarize_activation(op: Tensor) -> Tensor:
    """A histogram of an activation's result, and of a Relu's the share of zeros.

    Also the share of sixes of a Relu6.
    """
    name = op.op.name
    given, limited = _activated(op)
    if given is not None:
        below = comparison.less(given, elementwise.cast(0.0, given.dtype))
        summary.scalar(f"{name}/zeros", _share(below))
        if limited:
            above = comparison.greater(given, elementwise.cast(6.0, given.dtype))
            summary.scalar(f"{name}/sixes", _share(above))
    return summary.histogram(f"{name}/activation", op)


def _activated(y: Tensor) -> tuple[Tensor | None, bool]:
    """The input of a Relu, Softplus or Relu6, None for others; whether it is a Relu6."""
    op = y.op
    if op.type in ("Relu", "Softplus"):
        return op.inputs[0], False
    # tf.nn.relu6 is the minimum of 6 and a Relu
    if (
        op.type == "Minimum"
        and op.inputs[1].op.type == "Relu"
        and constant_value(op.inputs[0]) == 6
    ):
        return op.inputs[1].op.inputs[0], True
    return None, False


def _share(holds: Tensor) -> Tensor:
    return reduction.reduce_mean(elementwise.to_float(holds))


@api_guard.guarded
def summarize_tensor(tensor: Any, tag: str | None = None) -> Tensor | None:
    """A scalar summary of a scalar, a histogram of other tensors; of strings and bools None.

    Args:
        tag: None: the tensor's name with _summary.
    """
    if tensor.dtype.base_dtype in (dtypes.string, dtypes.bool):
        return None
    name = tag or f"{tensor.op.name}_summary"
    summarize = summary.scalar if tensor.get_shape().ndims == 0 else summary.histogram
    return summarize(name, tensor)


@api_guard.guarded
def summarize_tensors(
    tensors: Iterable[Any], summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """The summaries of several tensors."""
    return [summarizer(tensor) for tensor in tensors]


@api_guard.guarded
def summarize_collection(
    collection: str,
    name_filter: str | None = None,
    summarizer: Callable[[Any], Any] = summarize_tensor,
) -> list[Any]:
    """The summaries of a collection.

    Args:
        name_filter: regular expression for the beginnings of names; None: all.
    """
    found = get_collection(collection)
    chosen = [x for x in found if name_filter is None or re.match(name_filter, x.op.name)]
    return summarize_tensors(chosen, summarizer)


summarize_variables = functools.partial(summarize_collection, GraphKeys.GLOBAL_VARIABLES)
summarize_weights = functools.partial(summarize_collection, GraphKeys.WEIGHTS)
summarize_biases = functools.partial(summarize_collection, GraphKeys.BIASES)


@api_guard.guarded
def summarize_activations(
    name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_activation
) -> list[Any]:
    """The summaries of the collection ACTIVATIONS."""
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)
