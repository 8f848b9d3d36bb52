"""Values of tensors that are known while the graph is built.

Shapes are computed with small integer tensors; folding follows them through the operators that
programs use for that, with single numbers unknown where a dimension is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from graphio.framework.graph import Operation, Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.schema.verify_graph import MAX_RANK

__all__ = ["constant_shape", "constant_value", "partial_value"]

Array = np.ndarray[Any, Any]
_LIMIT = 64  # elements; shapes are never longer
_LONGEST = 1 << 31  # dimension of an array without elements that numpy makes everywhere


def constant_value(tensor: Tensor) -> Array | None:
    """The tensor's numbers if they follow from constants and static shapes, else None."""
    while tensor.op.op == "StopGradient" or tensor.op.op == "Identity":
        tensor = tensor.op.inputs[0]
    if tensor.op.op == "Constant":
        value: Array = tensor.op.attrs["value"]
        return value
    partial = partial_value(tensor)
    if partial is None or any(v is None for v in partial.ravel()):
        return None
    return partial.astype(tensor.dtype.as_numpy_dtype)


def constant_shape(tensor: Tensor) -> TensorShape | None:
    """An integer vector read as a shape: -1 and unknown numbers are unknown sizes.

    Returns:
        None if not even the length is known.
    """
    partial = partial_value(tensor)
    if partial is None:
        length = tensor.shape[0].value if tensor.shape.ndims == 1 else None
        return None if length is None or length > MAX_RANK else TensorShape([None] * length)
    if partial.ndim != 1:
        return None
    return TensorShape([None if v is None or v < 0 else int(v) for v in partial])


def partial_value(tensor: Tensor) -> Array | None:
    """An integer or bool tensor's numbers as objects, None for unknown ones; None if not even the
    shape is known."""
    if not _foldable(tensor):
        return None
    now = tensor.graph.root.shapes
    if not _is_folded(tensor, now):
        for each in _in_order(tensor, now):
            each.folded = now, _folded(each)
    assert tensor.folded is not None
    value: Array | None = tensor.folded[1]
    return value


def _foldable(tensor: Tensor) -> bool:
    return tensor.dtype.is_integer or tensor.dtype.is_bool


def _is_folded(tensor: Tensor, now: int) -> bool:
    return tensor.folded is not None and tensor.folded[0] == now


def _in_order(tensor: Tensor, now: int) -> Iterator[Tensor]:
    """A tensor and the tensors of its value that are not folded, each after its inputs."""
    stack = [(tensor, False)]
    while stack:
        each, ready = stack.pop()
        if _is_folded(each, now):
            continue
        if ready:
            yield each
            continue
        stack.append((each, True))
        if (each.op.domain, each.op.op) in _RULES:
            needed = (t for t in each.op.inputs if t is not None and _foldable(t))
            stack += [(t, False) for t in needed]


def _folded(tensor: Tensor) -> Array | None:
    """A tensor's numbers, as partial_value, from those of the inputs."""
    operation = tensor.op
    rule = _RULES.get((operation.domain, operation.op))
    if rule is None:
        return _unknown(tensor)
    try:
        found = rule(operation)
        if found is not None and operation.op == "Split":
            found = _part(found, tensor)
    except (IndexError, ValueError, ZeroDivisionError, OverflowError):
        found = None
    if found is None or found.size > _LIMIT:
        return _unknown(tensor)
    made = _held(found, tensor)
    made.flags.writeable = False
    return made


def _held(values: Array, tensor: Tensor) -> Array:
    """Numbers as the dtype holds them: integers wrap."""
    kind = np.dtype(tensor.dtype.as_numpy_dtype)
    if kind.kind not in "iub":
        return values
    bits = 8 * kind.itemsize
    low = -(1 << (bits - 1)) if kind.kind == "i" else 0

    def hold(v: int | None) -> int | None:
        if v is None:
            return None
        return bool(v) if kind.kind == "b" else (int(v) - low) % (1 << bits) + low

    return _kept(np.frompyfunc(hold, 1, 1)(values))


def _unknown(tensor: Tensor) -> Array | None:
    """All numbers unknown, when at least the shape is known."""
    count = tensor.shape.num_elements()
    if count is None or count > _LIMIT or any((d or 0) > _LONGEST for d in tensor.shape.as_list()):
        return None
    return np.full(tensor.shape.as_list(), None, object)


def _objects(values: Any) -> Array:
    array = np.asarray(values)
    out = np.empty(array.shape, object)
    if array.size:  # of none, numpy makes lists for all axes but the one of size 0
        out[...] = array.tolist() if array.ndim else array.item()
    return out


def _constant(op: Operation) -> Array | None:
    value: Array = op.attrs["value"]
    return _objects(value) if value.size <= _LIMIT else None


def _shape(op: Operation) -> Array | None:
    shape = op.inputs[0].shape
    if shape.ndims is None:
        return None
    dims = shape.as_list()[op.attrs.get("start", 0) : op.attrs.get("end", None)]
    out = np.empty(len(dims), object)
    out[:] = dims
    return out


def _size(op: Operation) -> Array | None:
    count = op.inputs[0].shape.num_elements()
    return None if count is None else _objects(count)


def _first(op: Operation) -> Array | None:
    return partial_value(op.inputs[0])


def _ints(tensor: Tensor | None) -> list[int]:
    if tensor is None:
        raise ValueError("absent")
    value = constant_value(tensor)
    if value is None:
        raise ValueError("unknown")
    return [int(v) for v in value.ravel()]


def _gather(op: Operation) -> Array | None:
    data, indices = partial_value(op.inputs[0]), constant_value(op.inputs[1])
    if data is None or indices is None:
        return None
    out = np.empty(np.take(np.zeros(data.shape), indices, op.attrs.get("axis", 0)).shape, object)
    out[...] = np.take(data, indices, op.attrs.get("axis", 0))
    return out


def _concat(op: Operation) -> Array | None:
    parts = [partial_value(t) for t in op.inputs]
    if any(p is None for p in parts):
        return None
    return np.concatenate([p for p in parts if p is not None], op.attrs["axis"])


def _slice(op: Operation) -> Array | None:
    data = partial_value(op.inputs[0])
    if data is None:
        return None
    starts, ends = _ints(op.inputs[1]), _ints(op.inputs[2])
    given = op.inputs[3:]
    axes = _ints(given[0]) if given and given[0] is not None else list(range(len(starts)))
    steps = _ints(given[1]) if len(given) > 1 and given[1] is not None else [1] * len(starts)
    at = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        stop = None if step < 0 and end < -data.shape[axis] else end
        at[axis] = slice(start, stop, step)
    return data[tuple(at)]


def _part(whole: Array, tensor: Tensor) -> Array | None:
    """One output of a Split from the numbers of its input."""
    axis = tensor.op.attrs.get("axis", 0)
    sizes = [t.shape.as_list()[axis] for t in tensor.op.outputs]
    start = sum(sizes[: tensor.value_index])
    at = [slice(None)] * whole.ndim
    at[axis] = slice(start, start + sizes[tensor.value_index])
    return whole[tuple(at)]


def _pad(op: Operation) -> Array | None:
    data = partial_value(op.inputs[0])
    if data is None or len(op.inputs) > 3 or _mode(op) != "constant":
        return None
    widths = np.reshape(_ints(op.inputs[1]), (2, -1)).T
    if np.abs(widths).max(initial=0) > _LIMIT:
        return None
    fill = _ints(op.inputs[2])[0] if len(op.inputs) > 2 else 0
    return np.pad(data, widths, constant_values=fill)


def _mode(op: Operation) -> str:
    mode = op.attrs.get("mode", "constant")
    return mode.decode() if isinstance(mode, bytes) else str(mode)


def _squeeze(op: Operation) -> Array | None:
    data = partial_value(op.inputs[0])
    if data is None:
        return None
    axes = tuple(_ints(op.inputs[1])) if len(op.inputs) > 1 else None
    return _kept(data.reshape(np.squeeze(np.zeros(data.shape), axes).shape))


def _unsqueeze(op: Operation) -> Array | None:
    data = partial_value(op.inputs[0])
    if data is None:
        return None
    return data.reshape(np.expand_dims(np.zeros(data.shape), tuple(_ints(op.inputs[1]))).shape)


def _reshape(op: Operation) -> Array | None:
    data = partial_value(op.inputs[0])
    return None if data is None else data.reshape(_ints(op.inputs[1]))


def _kept(value: Any) -> Array:
    out = np.empty(np.shape(value), object)
    out[...] = value
    return out


def _binary(function: Callable[[int, int], int]) -> Callable[[Operation], Array | None]:
    def guarded(a: int | None, b: int | None) -> int | None:
        return None if a is None or b is None else function(a, b)

    apply = np.frompyfunc(guarded, 2, 1)

    def rule(op: Operation) -> Array | None:
        result: Any = None
        for i, tensor in enumerate(op.inputs):
            part = partial_value(tensor)
            if part is None:
                return None
            result = apply(result, part) if i else part
        return _kept(result)

    return rule


def _not(op: Operation) -> Array | None:
    values = None if op.inputs[0] is None else partial_value(op.inputs[0])
    return (
        None
        if values is None
        else _objects([None if v is None else not v for v in values.ravel().tolist()]).reshape(
            values.shape
        )
    )


def _where(op: Operation) -> Array | None:
    parts = [None if t is None else partial_value(t) for t in op.inputs]
    if any(p is None for p in parts):
        return None
    condition, one, other = np.broadcast_arrays(*(p for p in parts if p is not None))
    chosen = [
        None if c is None else a if c else b
        for c, a, b in zip(condition.ravel(), one.ravel(), other.ravel(), strict=True)
    ]
    return _objects(chosen).reshape(condition.shape)


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _modulo(op: Operation) -> Array | None:
    """Of the divisor's sign, or of the dividend's with fmod."""
    if op.attrs.get("fmod", 0):
        return _binary(lambda a, b: a - b * _truncated(a, b))(op)
    return _binary(operator.mod)(op)


def _reduced(function: Callable[[list[int]], int]) -> Callable[[Operation], Array | None]:
    """Reductions of a complete vector to a scalar or a vector of one."""

    def rule(op: Operation) -> Array | None:
        data = partial_value(op.inputs[0])
        if data is None or data.ndim != 1 or any(v is None for v in data):
            return None
        axes = op.inputs[1] if len(op.inputs) > 1 else None
        if op.attrs.get("noop_with_empty_axes", 0) and (axes is None or not _ints(axes)):
            return data
        result = function([int(v) for v in data])
        return _objects([result] if op.attrs.get("keepdims", 1) else result)

    return rule


def _range(op: Operation) -> Array | None:
    start, limit, delta = (_ints(t)[0] for t in op.inputs)
    if delta and (limit - start) // delta >= _LIMIT:
        return None
    return _objects(np.arange(start, limit, delta))


def _filled(op: Operation) -> Array | None:
    value = op.attrs.get("value")
    fill = 0 if value is None else np.ravel(value)[0].item()
    dims = _ints(op.inputs[0])
    if _product_of_elements(dims) > _LIMIT:
        return None
    return np.full(dims, fill, object)


def _expanded(op: Operation) -> Array | None:
    data = partial_value(op.inputs[0])
    if data is None:
        return None
    shape = np.broadcast_shapes(data.shape, tuple(_ints(op.inputs[1])))
    if _product_of_elements(list(shape)) > _LIMIT:
        return None
    out = np.empty(shape, object)
    out[...] = data
    return out


def _product_of_elements(values: list[int]) -> int:
    total = 1
    for v in values:
        total *= v
    return total


_RULES: dict[tuple[str, str], Callable[[Operation], Array | None]] = {
    ("", "Constant"): _constant,
    ("", "Shape"): _shape,
    ("", "Size"): _size,
    ("", "Identity"): _first,
    ("", "Cast"): _first,
    ("", "CastLike"): _first,
    ("graphio", "StopGradient"): _first,
    ("graphio", "IndexRange"): _first,
    ("graphio", "NonZeroDivisor"): _first,
    ("graphio", "EnsureShape"): _first,
    ("graphio", "CheckEqual"): _first,
    ("graphio", "CheckSparseIndices"): _first,
    ("", "Gather"): _gather,
    ("", "Concat"): _concat,
    ("", "Slice"): _slice,
    ("", "Split"): _first,
    ("", "Pad"): _pad,
    ("", "Squeeze"): _squeeze,
    ("", "Unsqueeze"): _unsqueeze,
    ("", "Reshape"): _reshape,
    ("", "Add"): _binary(lambda a, b: a + b),
    ("", "Sub"): _binary(lambda a, b: a - b),
    ("", "Mul"): _binary(lambda a, b: a * b),
    ("", "Div"): _binary(_truncated),
    ("", "Mod"): _modulo,
    ("", "Max"): _binary(max),
    ("", "Min"): _binary(min),
    ("", "Equal"): _binary(operator.eq),
    ("", "Less"): _binary(operator.lt),
    ("", "LessOrEqual"): _binary(operator.le),
    ("", "Greater"): _binary(operator.gt),
    ("", "GreaterOrEqual"): _binary(operator.ge),
    ("", "And"): _binary(operator.and_),
    ("", "Or"): _binary(operator.or_),
    ("", "Not"): _not,
    ("", "Where"): _where,
    ("", "ReduceProd"): _reduced(_product_of_elements),
    ("", "ReduceSum"): _reduced(sum),
    ("", "Range"): _range,
    ("", "ConstantOfShape"): _filled,
    ("", "Expand"): _expanded,
}
