"""Gradients of Attention and RotaryEmbedding, through equal compositions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.dtypes import DType
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base import primitive
from graphio.ops.base.emit import node, scalar
from graphio.ops.base.primitive import binary, compare, int_vector, last, select, slice_axes, unary
from graphio.ops.base.recompute import by_parts
from graphio.ops.base.shapes import Dims, dims_of

Gradients = Sequence["Tensor | None"]


def _sizes(x: Tensor, start: int, end: int) -> Tensor:
    """x.shape[start:end]"""
    return slice_axes(primitive.shape_of(x), [start], [end], [0])


def _size(x: Tensor, axis: int) -> Tensor:
    """x.shape[axis] as a scalar."""
    return primitive.squeeze(_sizes(x, axis, axis + 1), [0])


def _reshaped(x: Tensor, parts: Sequence[Tensor | Sequence[int]], rank: int) -> Tensor:
    """x in the shape that the parts make one after another; without -1, which an empty batch
    leaves open."""
    vectors = [p if isinstance(p, Tensor) else int_vector(p) for p in parts]
    return primitive.reshape_to(x, primitive.concat(vectors, 0), (None,) * rank)


def _by_head(x: Tensor, heads: int) -> Tensor:
    """(n, length, heads * size) as (n, heads, length, size)."""
    size = binary("Div", _sizes(x, 2, 3), int_vector([heads]))
    split = _reshaped(x, [_sizes(x, 0, 2), [heads], size], 4)
    return primitive.transpose(split, [0, 2, 1, 3])


def _joined(x: Tensor) -> Tensor:
    """(n, heads, length, size) as (n, length, heads * size)."""
    y = primitive.transpose(x, [0, 2, 1, 3])
    width = binary("Mul", _sizes(y, 2, 3), _sizes(y, 3, 4))
    return _reshaped(y, [_sizes(y, 0, 2), width], 3)


def _matmul(x: Tensor, y: Tensor) -> Tensor:
    a, b = dims_of(x), dims_of(y)
    dims: Dims = None if a is None or b is None else (*a[:-1], b[-1])
    return node("MatMul", [x, y], x.dtype, dims)


def _positions(count: Tensor, axes: Sequence[int]) -> Tensor:
    """0, 1, ... with axes of size 1 around it."""
    zero, one = (constant(np.asarray(v, np.int64)) for v in (0, 1))
    line = node("Range", [zero, count, one], dtypes.int64, (None,))
    return primitive.unsqueeze(line, axes)


@dataclass
class _Parts:
    """The composition that equals one Attention."""

    op: Operation

    def integer(self, name: str, default: int) -> int:
        return int(self.op.attrs.get(name, default))

    def number(self, name: str, dtype: DType) -> Tensor:
        return scalar(float(self.op.attrs[name]), dtype)

    def __call__(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None = None,
        past_key: Tensor | None = None,
        past_value: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> list[Tensor]:
        flat = q.shape.ndims == 3
        if flat:
            kv_heads = self.integer("kv_num_heads", 0)
            q = _by_head(q, self.integer("q_num_heads", 0))
            k, v = _by_head(k, kv_heads), _by_head(v, kv_heads)
        offset: Tensor | None = None
        if past_key is not None and past_value is not None:
            offset = _size(past_key, 2)
            k, v = primitive.concat([past_key, k], 2), primitive.concat([past_value, v], 2)
        elif lengths is not None:
            offset = primitive.unsqueeze(binary("Sub", lengths, _size(q, 2)), [1, 2, 3])
        allowed = self.allowed(q, k, offset, lengths)
        y, scores = self.attend(q, k, v, mask, allowed)
        return [_joined(y) if flat else y, k, v, scores]

    def allowed(
        self, q: Tensor, k: Tensor, offset: Tensor | None, lengths: Tensor | None
    ) -> Tensor | None:
        """The keys that the causal rule, the window and the lengths admit; None: all."""
        left, right = self.integer("left_window_size", -1), self.integer("right_window_size", -1)
        at, keys = _positions(_size(q, 2), [0, 1, 3]), _positions(_size(k, 2), [0, 1, 2])
        at = at if offset is None else binary("Add", at, offset)
        far = 1 << 60
        rules = []
        if self.integer("is_causal", 0):
            rules.append(compare("LessOrEqual", keys, at))
        if left >= 0:
            low = binary("Sub", at, scalar(min(left, far), dtypes.int64))
            rules.append(compare("GreaterOrEqual", keys, low))
        if right >= 0:
            high = binary("Add", at, scalar(min(right, far), dtypes.int64))
            rules.append(compare("LessOrEqual", keys, high))
        if lengths is not None:
            rules.append(compare("Less", keys, primitive.unsqueeze(lengths, [1, 2, 3])))
        result = None
        for rule in rules:
            result = rule if result is None else compare("And", result, rule)
        return result

    def masked(
        self, scores: Tensor, mask: Tensor | None, allowed: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """The scores with the mask, -inf where a key takes no part; where one takes part."""
        never = scalar(float("-inf"), scores.dtype)
        if mask is not None:
            rank = mask.shape.ndims
            assert rank is not None
            missing = binary("Sub", _sizes(scores, 3, 4), _sizes(mask, rank - 1, rank))
            pads = primitive.concat([int_vector([0] * (2 * rank - 1)), missing], 0)
            real = binary("Sub", _size(scores, 3), primitive.squeeze(missing, [0]))
            inside = compare("Less", _positions(_size(scores, 3), [0, 1, 2]), real)
            allowed = inside if allowed is None else compare("And", allowed, inside)
            boolean = mask.dtype.base_dtype == dtypes.bool
            numbers = primitive.cast(mask, scores.dtype)
            inputs = [numbers, pads, scalar(0, scores.dtype)]
            wide = node("Pad", inputs, scores.dtype, (*(dims_of(mask) or ())[:-1], None))
            if boolean:
                holds = compare("Greater", wide, scalar(0, scores.dtype))
            else:
                holds = compare("Greater", wide, never)
                scores = binary("Add", scores, wide)
            allowed = compare("And", allowed, holds)
        return (scores if allowed is None else select(allowed, scores, never)), allowed

    def softmax(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        """Along the keys; rows without one are 0, and so is their gradient."""
        soft = {1: dtypes.float32, 10: dtypes.float32, 16: dtypes.float32, 11: dtypes.float64}
        wide = soft.get(self.integer("softmax_precision", 0), scores.dtype)
        some = None
        if allowed is not None:
            numbers = primitive.cast(allowed, dtypes.int32)
            rank = allowed.shape.ndims
            some = compare(
                "Greater",
                primitive.reduce_sum(numbers, [(rank or 4) - 1], keepdims=True),
                scalar(0, dtypes.int32),
            )
            scores = select(some, scores, scalar(0, scores.dtype))
        inner = primitive.cast(scores, wide)
        weights = node("Softmax", [inner], wide, dims_of(inner), axis=-1)
        weights = primitive.cast(weights, scores.dtype)
        return weights if some is None else select(some, weights, scalar(0, scores.dtype))

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, allowed: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """(softmax(q k' scale + bias) v, what qk_matmul_output_mode asks for)."""
        if "scale" in self.op.attrs:
            scale = self.number("scale", q.dtype)
        else:
            size = primitive.cast(_size(q, 3), q.dtype)
            scale = unary("Reciprocal", unary("Sqrt", size))
        heads = _sizes(k, 0, 2)
        group = binary("Div", _sizes(q, 1, 2), _sizes(k, 1, 2))
        rows = binary("Mul", group, _sizes(q, 2, 3))
        grouped = _reshaped(binary("Mul", q, scale), [heads, rows, _sizes(q, 3, 4)], 4)
        scores = _matmul(grouped, primitive.transpose(k, [0, 1, 3, 2]))
        scores = _reshaped(scores, [_sizes(q, 0, 3), _sizes(k, 2, 3)], 4)
        stages = [scores]
        if float(self.op.attrs.get("softcap", 0.0)):
            cap = self.number("softcap", q.dtype)
            scores = binary("Mul", unary("Tanh", binary("Div", scores, cap)), cap)
        stages.append(scores)
        scores, some = self.masked(scores, mask, allowed)
        stages.append(scores)
        weights = self.softmax(scores, some)
        stages.append(weights)
        y = _matmul(_reshaped(weights, [heads, rows, _sizes(k, 2, 3)], 4), v)
        y = _reshaped(y, [_sizes(q, 0, 3), _sizes(v, 3, 4)], 4)
        return y, stages[self.integer("qk_matmul_output_mode", 0)]


@gradient("Attention")
def _attention_gradient(op: Operation, *dys: Tensor | None) -> Gradients:
    return by_parts(op, dys, _Parts(op))


def _rotated(op: Operation, x: Tensor, angles: Sequence[Tensor], width: int | None) -> Tensor:
    """x (n, heads, length, size) rotated by angles (n, length, half)."""
    cos, sin = (primitive.unsqueeze(a, [1]) for a in angles)
    rotated = x if width is None else slice_axes(x, [0], [width], [3])
    half = binary("Div", _sizes(rotated, 3, 4), int_vector([2]))
    if int(op.attrs.get("interleaved", 0)):
        pairs = _reshaped(rotated, [_sizes(x, 0, 3), half, [2]], 5)
        first, second = (
            primitive.squeeze(slice_axes(pairs, [i], [i + 1], [4]), [4]) for i in (0, 1)
        )
    else:
        pairs = _reshaped(rotated, [_sizes(x, 0, 3), [2], half], 5)
        first, second = (
            primitive.squeeze(slice_axes(pairs, [i], [i + 1], [3]), [3]) for i in (0, 1)
        )
    real = binary("Sub", binary("Mul", cos, first), binary("Mul", sin, second))
    imaginary = binary("Add", binary("Mul", sin, first), binary("Mul", cos, second))
    axis = 4 if int(op.attrs.get("interleaved", 0)) else 3
    both = primitive.concat([primitive.unsqueeze(p, [axis]) for p in (real, imaginary)], axis)
    y = primitive.reshape_to(both, primitive.shape_of(rotated), dims_of(rotated))
    return y if width is None else primitive.concat([y, slice_axes(x, [width], [last], [3])], 3)


@gradient("RotaryEmbedding")
def _rotary_embedding_gradient(op: Operation, dy: Tensor) -> Gradients:
    """x turns back by the same angles; the caches' gradients come of the composition."""
    x, cos, sin, *positions = op.inputs
    assert x is not None and cos is not None and sin is not None
    inputs = [dy, cos, unary("Neg", sin), *positions]
    dx = node("RotaryEmbedding", inputs, dy.dtype, dims_of(x), version=op.version, **dict(op.attrs))
    if all(c.op.op == "Constant" for c in (cos, sin)):
        return [dx, *[None] * (len(op.inputs) - 1)]
    width = int(op.attrs.get("rotary_embedding_dim", 0)) or None

    def parts(x: Tensor, cos: Tensor, sin: Tensor, at: Tensor | None = None) -> Tensor:
        angles = [cos, sin]
        if at is not None:
            angles = [primitive.gather(c, at, 0, tf_type="Gather") for c in angles]
        if x.shape.ndims != 3:
            return _rotated(op, x, angles, width)
        return _joined(_rotated(op, _by_head(x, int(op.attrs["num_heads"])), angles, width))

    return [dx, *by_parts(op, [dy], parts)[1:]]
