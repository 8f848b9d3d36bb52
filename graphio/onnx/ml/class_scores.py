"""Outputs of classifiers and regressors of ai.onnx.ml from raw scores: the attribute
post_transform, two classes from one score, and labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.graph import Tensor
from graphio.ops.base.emit import node, scalar
from graphio.ops.base.primitive import (
    binary,
    cast,
    compare,
    concat,
    gather,
    reduce_sum,
    reshape,
    select,
    unary,
)
from graphio.ops.base.shapes import dims_of

__all__ = ["above", "both_signs", "labels", "names", "transformed", "two_classes"]


def transformed(scores: Tensor, how: str, name: str | None = None) -> Tensor:
    """Scores (rows, classes) by a post_transform of the standard.

    Raises:
        ValueError: the standard has no such transform.
    """
    if how not in _TRANSFORMS:
        raise ValueError(f"post_transform is {how!r}, expected one of {', '.join(_TRANSFORMS)}")
    made = _TRANSFORMS[how](scores)
    return node("Identity", [made], made.dtype, dims_of(made), name=name)


def two_classes(score: Tensor, how: str) -> Tensor:
    """Scores (rows, 2) from the one (rows, 1) of the second class, before the transform."""
    one = scalar(1, score.dtype)
    plain = how in ("NONE", "PROBIT")
    return concat([binary("Sub", one, score) if plain else unary("Neg", score), score], 1)


def both_signs(score: Tensor) -> Tensor:
    """Scores (rows, 2) from the one (rows, 1) of the second class, which the first has negative."""
    return concat([unary("Neg", score), score], 1)


def names(attrs: Mapping[str, Any], ints: str, strings: str) -> Sequence[int] | Sequence[bytes]:
    """The class labels, none where both lists are absent.

    Raises:
        ValueError: both lists have entries, or a label is there twice.
    """
    if attrs.get(ints) and attrs.get(strings):
        raise ValueError(f"has both {ints} and {strings}, expected one of them")
    found: list[Any] = attrs.get(ints) or attrs.get(strings) or []
    seen: set[Any] = set()
    for label in found:
        if label in seen:
            raise ValueError(f"class label {label!r} is there twice")
        seen.add(label)
    return found


def above(
    scores: Tensor, threshold: float, names: Sequence[int] | Sequence[bytes], name: str | None
) -> Tensor:
    """(rows): the only label (1 if there is none) where the score (rows, 1) reaches a threshold,
    else 0 or an empty text."""
    reached = compare("GreaterOrEqual", scores, scalar(threshold, scores.dtype))
    only: Any = list(names or [1])
    table: Any = np.empty(2, object if isinstance(only[0], bytes) else np.int64)
    table[:] = [b"" if isinstance(only[0], bytes) else 0, only[0]]
    at = cast(reshape(reached, [-1]), dtypes.int64)
    return gather(constant(table), at, 0, name=name)


def labels(scores: Tensor, names: Sequence[int] | Sequence[bytes], name: str | None) -> Tensor:
    """(rows): the label of the largest score, the first of equal ones."""
    dims = dims_of(scores)
    rows = None if dims is None else dims[:1]
    best = node("ArgMax", [scores], dtypes.int64, rows, axis=1, keepdims=0)
    table: Any = np.empty(len(names), object if isinstance(names[0], bytes) else np.int64)
    table[:] = list(names)
    return gather(constant(table), best, 0, name=name)


def _largest(scores: Tensor) -> Tensor:
    dims = dims_of(scores)
    axes = constant(np.asarray([1], np.int64))
    return node("ReduceMax", [scores, axes], scores.dtype, dims and (dims[0], 1), keepdims=1)


def _softmax(scores: Tensor) -> Tensor:
    return node("Softmax", [scores], scores.dtype, dims_of(scores), axis=1)


def _softmax_zero(scores: Tensor) -> Tensor:
    """Softmax in which a score of 0 weighs 0; a row without any weight is 0.5 throughout."""
    most, zero = _largest(scores), scalar(0, scores.dtype)
    is_zero = compare("LessOrEqual", unary("Abs", scores), scalar(1e-7, scores.dtype))
    small = binary("Mul", scores, unary("Exp", unary("Neg", most)))
    weight = select(is_zero, small, unary("Exp", binary("Sub", scores, most)))
    total = reduce_sum(weight, [1], keepdims=True)
    nothing = compare("Equal", total, zero)
    divisor = select(nothing, scalar(1, scores.dtype), total)
    return select(nothing, scalar(0.5, scores.dtype), binary("Div", weight, divisor))


def _probit(scores: Tensor) -> Tensor:
    """sqrt(2) erfinv(2 x - 1), by the approximation of the standard's reference (Winitzki)."""

    def number(value: float) -> Tensor:
        return scalar(value, scores.dtype)

    x = binary("Sub", binary("Mul", scores, number(2)), number(1))
    scaled = binary("Mul", binary("Sub", number(1), x), binary("Add", number(1), x))
    log = unary("Log", scaled)
    half = binary("Add", number(2 / (np.pi * 0.147)), binary("Mul", number(0.5), log))
    inner = binary("Sub", binary("Mul", half, half), binary("Mul", log, number(1 / 0.147)))
    root = unary("Sqrt", binary("Sub", unary("Sqrt", inner), half))
    value = select(compare("Equal", scaled, number(0)), number(0), root)
    signed = select(compare("Less", x, number(0)), unary("Neg", value), value)
    return binary("Mul", signed, number(1.41421356))


_TRANSFORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "NONE": lambda scores: scores,
    "SOFTMAX": _softmax,
    "LOGISTIC": lambda scores: unary("Sigmoid", scores),
    "SOFTMAX_ZERO": _softmax_zero,
    "PROBIT": _probit,
}
