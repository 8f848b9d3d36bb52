"""tf.signal.dct, idct: cosine transforms of types 1 to 4, by Fourier transforms."""

from __future__ import annotations

import math
from typing import Any

from graphio.framework import dtypes
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.array.index import reverse
from graphio.ops.base import primitive
from graphio.ops.base.emit import scope
from graphio.ops.base.primitive import cast
from graphio.ops.linalg.any_rank import of_any_rank
from graphio.ops.math import elementwise, reduction
from graphio.ops.signals import dft, lengths
from graphio.ops.signals.lengths import Length
from graphio.support import api_guard

__all__ = ["dct", "idct"]

#: the type that undoes a type, but for a factor
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
_WIDE = dtypes.float64


@api_guard.operator
@of_any_rank("dct", 1)
def dct(
    input: Any,
    type: int = 2,
    n: Any = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The discrete cosine transform of the last axis.

    For x of n elements and k from 0 to n - 1: type 1 gives x[0] + (-1)**k x[n-1] + 2 sum over the
    others of x[j] cos(pi j k / (n - 1)); type 2: 2 sum of x[j] cos(pi (2j + 1) k / 2n); type 3:
    x[0] + 2 sum over the others of x[j] cos(pi j (2k + 1) / 2n); type 4: 2 sum of
    x[j] cos(pi (2j + 1) (2k + 1) / 4n).

    Args:
        input: floating tensor (..., elements).
        type: 1, 2, 3 or 4.
        n: integer: the elements are cut to that number, or zeros are added; None: all.
        axis: -1.
        norm: "ortho" scales the transform to an orthogonal one; not for type 1.
        name: of the operation.

    Raises:
        ValueError: an argument is none of these, or type 1 has less than two elements.
        NotImplementedError: axis is not -1.
    """
    with scope(name, "dct") as at:
        _check(type, axis, norm, "dct")
        x = lengths.floating(input, "dct", "input")
        if n is not None:
            x = lengths.fitted(x, lengths.given(n, "dct", "n", minimum=1))
        return array.identity(_transformed(x, type, norm == "ortho", "dct"), name=at)


@api_guard.operator
def idct(
    input: Any,
    type: int = 2,
    n: Any = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The transform that undoes dct of that type; where norm is None but for a factor, which is
    2 (n - 1) for type 1 and 2 n for the others.

    Args:
        input: floating tensor (..., n).
        type: 1, 2, 3 or 4.
        n: None.
        axis: -1.
        norm: see dct.
        name: of the operation.

    Raises:
        ValueError: an argument is none of these.
        NotImplementedError: n or axis are not these.
    """
    _check(type, axis, norm, "idct")
    if n is not None:
        raise NotImplementedError(f"idct: n is {n!r}, expected None; cut or pad the input")
    return dct(input, _INVERSE[type], norm=norm, name=name or "idct")


def _check(type: Any, axis: Any, norm: Any, op: str) -> None:
    if axis != -1:
        raise NotImplementedError(f"{op}: axis is {axis!r}, expected -1; transpose the input")
    if type not in _INVERSE:
        raise ValueError(f"{op}: type is {type!r}, expected 1, 2, 3 or 4")
    if norm not in (None, "ortho"):
        raise ValueError(f"{op}: norm is {norm!r}, expected None or 'ortho'")
    if norm == "ortho" and type == 1:
        raise ValueError(f"{op}: type 1 has no orthogonal form; leave norm out")


def _transformed(x: Tensor, type: int, orthogonal: bool, op: str) -> Tensor:
    n = lengths.of(x)
    if type == 1:
        if isinstance(n, int) and n < 2:
            raise ValueError(f"{op}: type 1 takes two elements or more, got {n}")
        return _one(x, n)
    return {2: _two, 3: _three, 4: _four}[type](x, n, orthogonal)


def _one(x: Tensor, n: Length) -> Tensor:
    mirrored = array.concat([x, reverse(x[..., 1 : n - 1], [-1])], -1)
    return dft.real(mirrored, 2 * n - 2)[..., 0]


def _two(x: Tensor, n: Length, orthogonal: bool) -> Tensor:
    size = lengths.as_number(n, _WIDE)
    root = elementwise.sqrt(2.0 / size)
    weights = _weights(n, root * math.sqrt(0.5), root) if orthogonal else 2.0
    return _rotated(dft.real(x, 2 * n), n, _angles(n, 0.0), weights)


def _three(x: Tensor, n: Length, orthogonal: bool) -> Tensor:
    size = lengths.as_number(n, _WIDE)
    root = elementwise.sqrt(2.0 * size)
    weights = _weights(n, root * math.sqrt(2.0), root) if orthogonal else 2.0 * size
    table = _circle(_angles(n, 0.0), weights, x.dtype)
    return dft.back_to_real(array.expand_dims(x, -1) * table, 2 * n)[..., :n]


def _four(x: Tensor, n: Length, orthogonal: bool) -> Tensor:
    size = lengths.as_number(n, _WIDE)
    pairs = array.expand_dims(x, -1) * _circle(-_angles(n, 0.0), 1.0, x.dtype)
    weights = elementwise.sqrt(2.0 / size) if orthogonal else 2.0
    return _rotated(dft.full(pairs, 2 * n), n, _angles(n, 0.5), weights)


def _rotated(pairs: Tensor, n: Length, angles: Tensor, weights: Any) -> Tensor:
    """The real parts of the first n numbers times exp(-i angle), times the weights."""
    first = pairs[..., :n, :]
    return reduction.reduce_sum(first * _circle(angles, weights, pairs.dtype), axis=-1)


def _circle(angles: Tensor, weights: Any, dtype: DType) -> Tensor:
    """[n, 2]: cosine and sine, times the weights, rounded once."""
    pairs = [elementwise.cos(angles) * weights, elementwise.sin(angles) * weights]
    return cast(array.stack(pairs, 1), dtype)


def _angles(n: Length, begin: float) -> Tensor:
    """(begin + k) pi / 2n for k from 0 to n - 1, float64."""
    quarter = 0.5 * math.pi / lengths.as_number(n, _WIDE)
    return (lengths.counted(n, _WIDE) + begin) * quarter


def _weights(n: Length, first: Tensor, other: Tensor) -> Tensor:
    line = lengths.counted(n)
    return primitive.select(primitive.compare("Equal", line, lengths.as_tensor(0)), first, other)
