"""Pairs equal tensors of two models that have other names, perhaps other orders of axes.

A converter renames weights, transposes them, adds axes of size one or drops them.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Pair", "aligned", "pairs"]

Array = np.ndarray[Any, Any]
_MOST_AXES = 5  # of which all orders are tried


@dataclass(frozen=True)
class Pair:
    """A tensor of a and one of b that are held to be the same.

    Attributes:
        a, b: their names.
        by: why: "values" (the same elements) or "shape" (no other has it).
        axes: the order of b's axes, those of size one left out, that makes them a's.
    """

    a: str
    b: str
    by: str
    axes: tuple[int, ...]

    @property
    def how(self) -> str:
        """In words: "by values, transposed"."""
        transposed = self.axes != tuple(sorted(self.axes))
        return f"by {self.by}{', transposed' if transposed else ''}"


def pairs(a: Mapping[str, Array], b: Mapping[str, Array]) -> list[Pair]:
    """Pairs of the tensors whose names only one of the two has, in the order of a."""
    left = {name: value for name, value in a.items() if name not in b}
    right = {name: value for name, value in b.items() if name not in a}
    found = list(_paired(left, right, "values", _elements, _order_of_values))
    for pair in found:
        del left[pair.a], right[pair.b]
    found += _paired(left, right, "shape", _sizes, _order_of_sizes, alone=True)
    positions = {name: position for position, name in enumerate(a)}
    return sorted(found, key=lambda pair: positions[pair.a])


def aligned(a: Mapping[str, Array], b: Mapping[str, Array], found: list[Pair]) -> dict[str, Array]:
    """b's tensors, those of pairs under the names and with the axes of a."""
    new = {pair.b: pair for pair in found}
    made = {}
    for name, value in b.items():
        pair = new.get(name)
        if pair is None:
            made[name] = value
        else:
            made[pair.a] = value.squeeze().transpose(pair.axes).reshape(a[pair.a].shape)
    return made


def _paired(
    left: Mapping[str, Array],
    right: Mapping[str, Array],
    by: str,
    key: Callable[[Array], Hashable],
    order: Callable[[Array, Array], tuple[int, ...] | None],
    alone: bool = False,
) -> Iterator[Pair]:
    """Pairs of tensors with the same key; alone: only where each side has one of it."""
    groups: dict[Hashable, list[str]] = {}
    for name, value in left.items():
        groups.setdefault(key(value), []).append(name)
    theirs: dict[Hashable, list[str]] = {}
    for name, value in right.items():
        theirs.setdefault(key(value), []).append(name)
    for found, names in theirs.items():
        ours = groups.get(found, [])
        if alone and (len(ours) != 1 or len(names) != 1):
            continue
        for name in names:
            for mine in sorted(ours, key=lambda mine: -_likeness(mine, name)):
                axes = order(left[mine], right[name])
                if axes is not None:
                    ours.remove(mine)
                    yield Pair(mine, name, by, axes)
                    break


def _likeness(one: str, other: str) -> float:
    """The part of a name with which another one begins, too."""
    return len(os.path.commonprefix([one, other])) / max(len(one), 1)


def _elements(value: Array) -> Hashable:
    """The invariants of a transpose: the type and the elements, sorted."""
    if value.dtype == object:
        ordered = repr(sorted(value.ravel().tolist())).encode()
    else:
        bits = np.ascontiguousarray(value).reshape(-1).view(f"V{value.itemsize}")
        ordered = np.sort(bits.view(f"u{value.itemsize}") if _is_word(value) else bits).tobytes()
    return value.dtype, value.size, hashlib.sha256(ordered).digest()


def _is_word(value: Array) -> bool:
    return value.itemsize in (1, 2, 4, 8)


def _order_of_values(one: Array, other: Array) -> tuple[int, ...] | None:
    """The order of the other's axes that gives the same elements; None: there is none."""
    x, y = one.squeeze(), other.squeeze()
    axes = range(y.ndim)
    orders = itertools.permutations(axes) if y.ndim <= _MOST_AXES else [tuple(axes)]
    for order in orders:
        transposed = y.transpose(order)
        if transposed.size == x.size and _same(transposed.reshape(-1), x.reshape(-1)):
            return tuple(order)
    return None


def _same(x: Array, y: Array) -> bool:
    if x.dtype == object:
        return bool((x == y).all())
    bits = f"V{x.itemsize}"
    return bool((np.ascontiguousarray(x).view(bits) == np.ascontiguousarray(y).view(bits)).all())


def _sizes(value: Array) -> Hashable:
    """The sizes of the axes, whatever their order; numbers that are cast stay of their kind."""
    floats = value.dtype.kind in "fV"
    return "f" if floats else value.dtype.kind, tuple(sorted(value.squeeze().shape))


def _order_of_sizes(one: Array, other: Array) -> tuple[int, ...] | None:
    """The one order of the other's axes that gives the shape; None: there are several."""
    expected, sizes = one.squeeze().shape, other.squeeze().shape
    if expected == sizes:
        return tuple(range(len(sizes)))
    if len(set(sizes)) != len(sizes):
        return None
    return tuple(sizes.index(size) for size in expected)
