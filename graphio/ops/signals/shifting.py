"""tf.signal.fftshift, ifftshift: the middle of an axis to its beginning, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.array.arranging import roll
from graphio.ops.base import shapes
from graphio.ops.base.emit import describe, scope, static_ints
from graphio.ops.signals import lengths
from graphio.ops.signals.lengths import Length
from graphio.support import api_guard

__all__ = ["fftshift", "ifftshift"]


@api_guard.operator
def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """A spectrum with frequency 0 in the middle: each axis is rolled by half its size.

    Args:
        x: tensor of known rank.
        axes: an axis, or a list of them; None: all.
        name: of the operation.

    Raises:
        ValueError: the rank is unknown, or an axis is out of range or not known.
    """
    return _shifted(x, axes, name, "fftshift", lambda size: size // 2)


@api_guard.operator
def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """The inverse of fftshift, from which it differs for odd sizes."""
    return _shifted(x, axes, name, "ifftshift", lambda size: -(size // 2))


def _shifted(
    value: Any, axes: Any, name: str | None, op: str, shift: Callable[[Length], Length]
) -> Tensor:
    with scope(name, op) as at:
        x = convert_to_tensor(value, name="x")
        rank = x.shape.ndims
        if rank is None:
            raise ValueError(f"{op}: the rank of x is unknown; set its shape")
        given = list(range(rank)) if axes is None else static_ints(axes)
        if given is None or None in given:
            raise ValueError(f"{op}: axes must be known while the graph is built, got {axes!r}")
        what = describe(at, op)
        positions = [shapes.normalize_axis(a, rank, what) for a in given if a is not None]
        if not positions:
            return array.identity(x, name=at)
        shifts = [lengths.as_tensor(shift(lengths.of(x, a))) for a in positions]
        return roll(x, array.stack(shifts), positions, name=at)
