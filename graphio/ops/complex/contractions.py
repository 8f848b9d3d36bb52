"""Einsum, and multiplications along axes, of complex numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from graphio.framework import dtypes
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.array.permuting import as_matrix
from graphio.ops.base import primitive
from graphio.ops.base.composing import Request
from graphio.ops.base.emit import node, scalar
from graphio.ops.base.primitive import binary, unary
from graphio.ops.base.shapes import dims_of
from graphio.ops.complex.parts import given, joined, of_parts, parts_of
from graphio.ops.math import arithmetic

__all__ = ["ROWS"]


# ---- contractions ----


def _einsum(request: Request, name: str) -> Tensor:
    """The sum over all choices of parts: of those with k imaginary ones, i^k times the contraction
    of these parts."""
    found: dict[int, list[Tensor]] = {0: [], 1: [], 2: [], 3: []}
    parts = [parts_of(given(request, i)) for i in range(len(request.inputs))]
    for choice in itertools.product((0, 1), repeat=len(parts)):
        chosen = [pair[k] for pair, k in zip(parts, choice, strict=True)]
        found[sum(choice) % 4].append(of_parts(request, chosen))
    re, im = _difference(found[0], found[2]), _difference(found[1], found[3])
    return joined(re, im, name, request.dims)


def _difference(added: list[Tensor], subtracted: list[Tensor]) -> Tensor:
    total = added[0]
    for sign, terms in (("Add", added[1:]), ("Sub", subtracted)):
        for term in terms:
            total = binary(sign, total, term)
    return total


# ---- multiplications along axes ----


def _reduce_prod(request: Request, name: str) -> Tensor:
    """The elements of each group multiplied from the first to the last."""
    x = given(request, 0)
    axes = request.inputs[1] if len(request.inputs) > 1 else None
    if axes is None and request.attrs.get("noop_with_empty_axes"):
        return unary("Identity", x, name)
    groups, kept = _groups(x, axes, bool(request.attrs.get("keepdims", 1)))
    others = primitive.slice_axes(primitive.shape_of(groups), [1], [2], [0])
    ones = primitive.expand(
        scalar(1, x.dtype), primitive.concat([primitive.int_vector([1]), others], 0)
    )
    rows = primitive.slice_axes(primitive.shape_of(groups), [0], [1], [0])
    first = primitive.concat([rows, primitive.int_vector([1])], 0)
    indices = node("Expand", [scalar(0, dtypes.int64), first], dtypes.int64, (None, 1))
    multiplied = node(
        "ScatterND", [ones, indices, groups], x.dtype, (1, None), version=16, reduction="mul"
    )
    return primitive.reshape_to(multiplied, kept, request.dims, name)


def _groups(x: Tensor, axes: Tensor | None, keepdims: bool) -> tuple[Tensor, Tensor]:
    """x as (elements of a group, groups), and the shape of the result."""
    sizes = primitive.shape_of(x)
    if axes is None:
        none = primitive.int_vector([])
        kept = primitive.fill_like(sizes, 1) if keepdims else none
        return primitive.reshape(x, [-1, 1]), kept
    groups, others = as_matrix(x, axes, "Prod", own_first=True)
    if not keepdims:
        return groups, others
    rank = primitive.shape_of(sizes)
    own = node("Where", [_below(axes), binary("Add", axes, rank), axes], axes.dtype, dims_of(axes))
    ones = primitive.fill_like(own, 1, dtypes.int64)
    return groups, node("ScatterElements", [sizes, own, ones], dtypes.int64, dims_of(sizes), axis=0)


def _below(axes: Tensor) -> Tensor:
    return node("Less", [axes, scalar(0, axes.dtype)], dtypes.bool, dims_of(axes))


def _cumprod(request: Request, name: str) -> Tensor:
    """Of 2, 4, 8 ... neighbours, each of those of half as many."""
    x, axis = given(request, 0), constant_value(given(request, 1))
    assert axis is not None
    number, reverse = int(axis.reshape(())), bool(request.attrs.get("reverse"))

    def joined_to(sums: Tensor, step: int | Tensor) -> Tensor:
        return binary("Mul", sums, arithmetic.moved_along(sums, step, number, reverse, 1))

    start = x
    if request.attrs.get("exclusive"):
        start = arithmetic.moved_along(x, 1, number, reverse, 1)
    return unary("Identity", arithmetic.running(start, number, joined_to), name)


ROWS: dict[tuple[str, str], Callable[[Request, str], Tensor]] = {
    ("", "Einsum"): _einsum,
    ("", "ReduceProd"): _reduce_prod,
    ("", "CumProd"): _cumprod,
}
