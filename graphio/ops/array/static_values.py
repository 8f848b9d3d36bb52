"""tf.get_static_value: numbers of any dtype and size that follow from constants.

Builders ask framework.folding, which follows small integers through more operators; this is for
programs that ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.framework.variable import Variable
from graphio.support import api_guard

__all__ = ["get_static_value"]

Array = np.ndarray[Any, Any]
#: from a tensor, and the values of its operation's inputs, to its value
_Rule: TypeAlias = Callable[[Tensor, Sequence[Any]], Any]


@api_guard.operator
def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The numbers of a tensor as far as they follow from constants and static shapes.

    Args:
        tensor: a tensor; anything else that is not a variable is its own value.
        partial: True gives a stack along axis 0 of which not all parts are known as an array of
            objects, None for those that are not known.

    Returns:
        An array, or a numpy scalar; None where the numbers are not known.
    """
    if isinstance(tensor, Variable):
        return None
    if not isinstance(tensor, Tensor):
        return tensor
    known: dict[Tensor, Any] = {}
    pending = [tensor]
    while pending:
        each = pending[-1]
        if each in known:
            pending.pop()
            continue
        rule = _RULES.get((each.op.domain, each.op.op))
        inputs = [] if rule is None else [t for t in each.op.operands if t is not None]
        missing = [t for t in inputs if t not in known]
        pending += missing
        if not missing:
            known[each] = _value(each, rule, [known[t] for t in inputs], partial)
    return known[tensor]


def _value(tensor: Tensor, rule: _Rule | None, inputs: Sequence[Any], partial: bool) -> Any:
    is_stack = tensor.op.type == "Pack"
    if is_stack and tensor.op.attrs["axis"] != 0:
        return None  # as TensorFlow
    if rule is not None and (all(v is not None for v in inputs) or (partial and is_stack)):
        with np.errstate(all="ignore"):
            found = rule(tensor, inputs)
        if found is not None:
            return found
    found = constant_value(tensor)
    return None if found is None else found.copy()


def _first(tensor: Tensor, inputs: Sequence[Any]) -> Any:
    return inputs[0]


def _cast(tensor: Tensor, inputs: Sequence[Any]) -> Any:
    (value,) = inputs
    kind = tensor.dtype.as_numpy_dtype
    return None if object in (value.dtype, np.dtype(kind)) else value.astype(kind)


def _concat(tensor: Tensor, inputs: Sequence[Any]) -> Any:
    if tensor.op.type != "Pack":
        return np.concatenate(inputs, tensor.op.attrs["axis"])
    if all(part is not None for part in inputs):
        return np.concatenate(inputs, 0)
    parts = np.empty(len(inputs), object)
    for i, part in enumerate(inputs):
        parts[i] = None if part is None else part[0]
    return parts


def _is_partial(value: Array) -> bool:
    """Whether the elements are the parts of a stack."""
    return value.dtype == object and value.size > 0 and isinstance(value.flat[0], _PART)


_PART = (np.ndarray, np.generic, type(None))


def _split(tensor: Tensor, inputs: Sequence[Any]) -> Any:
    axis = tensor.op.attrs.get("axis", 0)
    sizes = [output.shape[axis].value for output in tensor.op.outputs]
    if None in sizes or (_is_partial(inputs[0]) and axis != 0):
        return None
    start = sum(sizes[: tensor.value_index])
    at = [slice(None)] * inputs[0].ndim
    at[axis] = slice(start, start + sizes[tensor.value_index])
    return inputs[0][tuple(at)]


def _squeeze(tensor: Tensor, inputs: Sequence[Any]) -> Any:
    axes = tuple(inputs[1].tolist()) if len(inputs) > 1 else None
    if _is_partial(inputs[0]):
        return inputs[0][0] if axes == (0,) else None
    return np.squeeze(inputs[0], axes)


def _unsqueeze(tensor: Tensor, inputs: Sequence[Any]) -> Any:
    return np.expand_dims(inputs[0], tuple(inputs[1].tolist()))


def _expand(tensor: Tensor, inputs: Sequence[Any]) -> Any:
    shape = np.broadcast_shapes(inputs[0].shape, tuple(inputs[1].tolist()))
    return np.broadcast_to(inputs[0], shape).copy()


def _fill(tensor: Tensor, inputs: Sequence[Any]) -> Any:
    value = tensor.op.attrs.get("value")
    fill = 0 if value is None else np.ravel(value)[0]
    return np.full(inputs[0].tolist(), fill, tensor.dtype.as_numpy_dtype)


def _range(tensor: Tensor, inputs: Sequence[Any]) -> Any:
    return np.arange(*[v.item() for v in inputs], dtype=tensor.dtype.as_numpy_dtype)


def _constant(tensor: Tensor, inputs: Sequence[Any]) -> Any:
    return tensor.op.attrs["value"].copy()


_RULES: dict[tuple[str, str], _Rule] = {
    ("", "Cast"): _cast,
    ("", "Concat"): _concat,
    ("", "Constant"): _constant,
    ("", "ConstantOfShape"): _fill,
    ("", "Equal"): lambda tensor, inputs: np.equal(*inputs),
    ("", "Expand"): _expand,
    ("", "Identity"): _first,
    ("", "Not"): lambda tensor, inputs: np.logical_not(*inputs),
    ("", "Range"): _range,
    ("", "Split"): _split,
    ("", "Squeeze"): _squeeze,
    ("", "Unsqueeze"): _unsqueeze,
    ("graphio", "StopGradient"): _first,
}
