"""Matrices of a rank that only the run knows: their leading axes become one, and come back."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.base import primitive
from graphio.ops.base.emit import node, scope

__all__ = ["of_any_rank"]

F = TypeVar("F", bound=Callable[..., Any])


def of_any_rank(default: str, *axes: int) -> Callable[[F], F]:
    """Lets a builder whose first arguments are tensors take them without a known rank.

    Args:
        default: name of the operations.
        axes: for each of these arguments, how many of its last axes are the operation's own; those
            before are the same in all of them and in the results.
    """

    def decorate(build: F) -> F:
        names = list(inspect.signature(build).parameters)[: len(axes)]

        @functools.wraps(build)
        def call(*arguments: Any, **options: Any) -> Any:
            given = dict(zip(names, arguments, strict=False))
            given.update({n: options[n] for n in names if n in options})
            if len(given) < len(names) or not any(_lacks_rank(v) for v in given.values()):
                return build(*arguments, **options)
            bound = inspect.signature(build).bind(*arguments, **options).arguments
            with scope(bound.pop("name", None), default) as at:
                return _flattened(build, names, axes, bound, at)

        return call  # type: ignore[return-value]

    return decorate


def _lacks_rank(value: Any) -> bool:
    return isinstance(value, Tensor) and value.shape.ndims is None


def _flattened(
    build: Callable[..., Any],
    names: Sequence[str],
    axes: Sequence[int],
    bound: dict[str, Any],
    name: str,
) -> Any:
    tensors = [convert_to_tensor(bound[n], name=n) for n in names]
    leads = [
        primitive.slice_axes(primitive.shape_of(t), [0], [-own], [0])
        for t, own in zip(tensors, axes, strict=True)
    ]
    for key, tensor, own, lead in zip(names, tensors, axes, leads, strict=True):
        count = node("ReduceProd", [lead], dtypes.int64, (1,), keepdims=1)
        tail = primitive.slice_axes(primitive.shape_of(tensor), [-own], [primitive.last], [0])
        dims = (None,) * (own + 1)
        bound[key] = primitive.reshape_to(tensor, primitive.concat([count, tail], 0), dims)
    made = build(**bound)
    if isinstance(made, tuple):
        restored = (_restored(part, leads[0], None) for part in made)
        return made._make(restored) if hasattr(made, "_make") else tuple(restored)
    return _restored(made, leads[0], name)


def _restored(flat: Tensor, lead: Tensor, name: str | None) -> Tensor:
    tail = primitive.slice_axes(primitive.shape_of(flat), [1], [primitive.last], [0])
    return primitive.reshape_to(flat, primitive.concat([lead, tail], 0), None, name)
