"""Errors of a run: which node, where it was built, what it was given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.runtime.program import NodeInfo
from graphio.schema import dtypes, operators
from graphio.support import errors

#: The status of an exception inside a kernel; the first that fits.
_CLASSES: tuple[tuple[type[BaseException], type[errors.OpError]], ...] = (
    (MemoryError, errors.ResourceExhaustedError),
    (NotImplementedError, errors.UnimplementedError),
    (ValueError, errors.InvalidArgumentError),
    (IndexError, errors.InvalidArgumentError),
    (TypeError, errors.InvalidArgumentError),
    (OverflowError, errors.InvalidArgumentError),
)

_SHOWS_ITS_INPUTS = ("graphio", "Assert")


def describe(value: Any) -> str:
    """ "float32[2,3]", "sequence of 3"."""
    if isinstance(value, list):
        return f"sequence of {len(value)}"
    array = np.asarray(value)
    return f"{dtypes.of_numpy(array.dtype).name}{shape_text(array.shape)}"


def shape_text(shape: Sequence[int | None] | None) -> str:
    """ "[2,?]", or "<unknown>" for None."""
    if shape is None:
        return "<unknown>"
    return "[" + ",".join("?" if d is None else str(d) for d in shape) + "]"


def located(node: NodeInfo) -> str:
    """ "Conv2D 'conv1' (train.py:88 in build)"."""
    source = node.proto.source
    built = f" ({source.file}:{source.line} in {source.function})" if source.file else ""
    return f"{node.proto.op} '{node.name}'{built}"


def of_node(node: NodeInfo, error: BaseException, inputs: Sequence[Any] = ()) -> errors.OpError:
    """The error of a node, with its name, its source line and its inputs.

    Args:
        node: that failed.
        error: what it raised; an OpError that names its node already is returned as it is.
        inputs: the arrays that it was given, None for absent ones.
    """
    if isinstance(error, errors.OpError):
        if error.node_name:
            return error
        made, text = type(error), error.message
    else:
        made = next((c for e, c in _CLASSES if isinstance(error, e)), errors.InternalError)
        text = str(error) or type(error).__name__
        held = next((i for i, x in enumerate(inputs) if isinstance(x, list)), None)
        if made is errors.InternalError and held is not None:  # of kernels that know arrays alone
            made = errors.InvalidArgumentError
            text = f"input {held} is a sequence, expected a tensor"
        if "not be broadcast" in text:  # numpy says it in two ways
            text = _incompatible(inputs) or text
    given = "" if node.key == _SHOWS_ITS_INPUTS else _given(node, inputs)
    return made(node.proto, None, f"{located(node)}: {text}{f' ({given})' if given else ''}")


def _incompatible(inputs: Sequence[Any]) -> str:
    """Which shapes do not broadcast, "" if all do."""
    shapes = [np.shape(value) for value in inputs if value is not None]
    for other in shapes[1:]:
        for x, y in zip(reversed(shapes[0]), reversed(other), strict=False):
            if x != y and 1 not in (x, y):
                return (
                    f"Incompatible shapes: {shape_text(shapes[0])} vs. {shape_text(other)}: {x} "
                    f"and {y} differ and neither is 1"
                )
    return ""


def _given(node: NodeInfo, inputs: Sequence[Any]) -> str:
    row = operators.lookup(node.proto.domain, node.proto.op, node.proto.version)
    names = [formal.name for formal in row.inputs] if row is not None else []
    parts = []
    for i, value in enumerate(inputs):
        if value is not None and i < len(node.inputs):
            name = names[i] if i < len(names) else f"input {i}"
            parts.append(f"{name} {describe(value)}")
    return ", ".join(parts)


def after_assign(error: errors.OpError, assigned: Sequence[str]) -> errors.OpError:
    """The same error, saying which variables the run had assigned before it failed."""
    if not assigned:
        return error
    names = ", ".join(sorted(set(assigned)))
    message = f"{error.message.rstrip('.')}. Variables already assigned by this run: {names}."
    made = type(error)(error.node_def, error.op, message, error.error_code)
    made.node_name = error.node_name
    return made
