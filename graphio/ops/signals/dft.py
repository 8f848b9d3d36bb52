"""Fourier transforms of real and imaginary parts: ONNX's DFT, and gradients of DFT and STFT."""

from __future__ import annotations

import numpy as np

from graphio.framework import dtypes
from graphio.framework.dtypes import DType
from graphio.framework.folding import constant_value
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.ops.array import surface as array
from graphio.ops.base import primitive
from graphio.ops.base.emit import node, scalar
from graphio.ops.base.primitive import binary, cast, compare, int_vector, select
from graphio.ops.base.recompute import by_parts
from graphio.ops.base.shapes import dims_of
from graphio.ops.signals import lengths
from graphio.ops.signals.lengths import Length

__all__ = ["back_to_real", "full", "real", "transform"]


def _int(value: int) -> Tensor:
    return lengths.as_tensor(value)


# ---- builders: the last axis holds the real part, or both parts ----


def transform(
    x: Tensor, n: Length, axis: int, inverse: bool = False, onesided: bool = False
) -> Tensor:
    """A Fourier transform of n numbers along an axis, cut or padded with zeros to them.

    Args:
        x: floating tensor (..., 1) of real numbers or (..., 2) of complex ones, of known rank.
        n: of the transform; engines compute in float64. A run refuses an n of 0, a graph has
            no numbers then.
        axis: not the last one; 0 or greater.
        inverse: divides by n.
        onesided: the n // 2 + 1 numbers of a spectrum, of which the others are the conjugates: of
            the result, or with inverse those of x.

    Returns:
        A tensor (..., 2), or (..., 1) where inverse and onesided.
    """
    dims = dims_of(x)
    if dims is not None:
        parts = 1 if inverse and onesided else 2
        size = n if isinstance(n, int) else None
        if size is not None and onesided and not inverse:
            size = size // 2 + 1
        dims = (*dims[:axis], size, *dims[axis + 1 : -1], parts)
    if n == 0:
        sizes = [lengths.of(x, i) for i in range(_rank(x) - 1)]
        sizes[axis] = 0
        return array.zeros([*sizes, 1 if inverse and onesided else 2], x.dtype)
    inputs = [x, lengths.as_tensor(n), _int(axis)]
    return node("DFT", inputs, x.dtype, dims, inverse=int(inverse), onesided=int(onesided))


def real(x: Tensor, n: Length) -> Tensor:
    """Half the spectrum of real numbers in the last axis: (..., n // 2 + 1, 2)."""
    pairs = primitive.unsqueeze(x, [-1])
    return transform(pairs, n, _rank(pairs) - 2, onesided=True)


def back_to_real(pairs: Tensor, n: Length) -> Tensor:
    """The n real numbers of half a spectrum (..., m, 2), inverse to real."""
    found = transform(pairs, n, _rank(pairs) - 2, inverse=True, onesided=True)
    return primitive.squeeze(found, [_rank(found) - 1])


def full(pairs: Tensor, n: Length, inverse: bool = False) -> Tensor:
    """The transform of complex numbers (..., m, 2) along their last axis."""
    return transform(pairs, n, _rank(pairs) - 2, inverse)


def _rank(x: Tensor) -> int:
    rank = x.shape.ndims
    assert rank is not None
    return rank


# ---- gradients ----


def _fitted(g: Tensor, x: Tensor, axis: int) -> Tensor:
    """g with as many numbers along the axis and as many parts as x: cut, or padded with zeros."""
    size, rank = lengths.of(x, axis), _rank(x)
    missing = lengths.largest(0, size - lengths.of(g, axis))
    if isinstance(missing, Tensor) or missing:
        paddings: list[list[Length]] = [[0, 0] for _ in range(rank)]
        paddings[axis][1] = missing
        g = array.pad(g, paddings)
    if dims_of(g) == dims_of(x) and isinstance(size, int):
        return g
    parts = [slice(None)] * rank
    parts[axis], parts[-1] = slice(0, size), slice(0, lengths.of(x))
    return g[tuple(parts)]


@gradient("DFT")
def _dft_gradient(op: Operation, dy: Tensor) -> list[Tensor | None]:
    """A transform is linear: what arrives goes through its adjoint, which is a transform, too."""
    x, length, at = [*op.inputs, None, None][:3]
    assert x is not None
    rank = x.shape.ndims
    axis = np.asarray(-2) if at is None else constant_value(at)
    if rank is None or axis is None:
        raise ValueError(
            f"the gradient of DFT '{op.name}' needs the rank of its input and its axis while the "
            "graph is built"
        )
    position = int(axis.item()) % rank
    inverse, onesided = bool(op.attrs.get("inverse")), bool(op.attrs.get("onesided"))
    if length is not None:
        n = _scalar(length)
    else:
        n = lengths.of(x, position)
        n = 2 * (n - 1) if inverse and onesided else n
    scale = lengths.as_number(n, x.dtype)
    if not inverse:
        g = binary("Mul", transform(dy, n, position, True, False), scale)
    else:
        g = binary("Div", transform(dy, n, position, False, onesided), scale)
    if inverse and onesided:
        g = binary("Mul", g, _twice(n, x.dtype, rank - position - 1))
    return [_fitted(g, x, position), None, None][: len(op.inputs)]


def _scalar(length: Tensor) -> Length:
    """An input of one integer, () or (1)."""
    known = constant_value(length)
    if known is not None:
        return int(known.item())
    return primitive.reshape(cast(length, dtypes.int64), int_vector([]), ())


def _twice(n: Length, dtype: DType, behind: int) -> Tensor:
    """The multiplicity of frequencies 0 ... n / 2 of a spectrum: 2, or 1 without a mirror image."""
    line = lengths.counted(n // 2 + 1)
    whole = lengths.as_tensor(n)
    mirror = binary("Sub", whole, line)
    dims = dims_of(line)
    alone = node("Or", [compare("Equal", line, mirror), compare("Equal", mirror, whole)],
                 dtypes.bool, dims)  # fmt: skip
    counts = select(alone, scalar(1, dtype), scalar(2, dtype))
    return primitive.reshape(counts, [-1, *[1] * behind], (*(dims or (None,)), *[1] * behind))


@gradient("STFT")
def _stft_gradient(op: Operation, dy: Tensor) -> list[Tensor | None]:
    def parts(
        x: Tensor, step: Tensor, window: Tensor | None = None, length: Tensor | None = None
    ) -> Tensor:
        n = lengths.of(x, 1) if window is None else lengths.of(window, 0)
        if length is not None:
            n = _scalar(length)
        hop = lengths.as_tensor(_scalar(step))
        frames = (lengths.of(x, 1) - n) // hop + 1
        begins = primitive.unsqueeze(lengths.counted(frames) * hop, [1])
        positions = begins + lengths.counted(n)
        framed = primitive.gather(x, positions, 1)
        if window is not None:
            framed = binary("Mul", framed, primitive.unsqueeze(window, [1]))
        return transform(framed, n, 2, False, bool(op.attrs.get("onesided", 1)))

    return by_parts(op, [dy], parts)
