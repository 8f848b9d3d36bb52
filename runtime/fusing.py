"""Steps that become a part of others: what surrounds the call of numpy is what a small model's run
consists of, so a run of fewer steps is a faster one. Values and their bits stay what they are.

- Transpose of a matrix that only a MatMul reads: the MatMul takes the other view.
- Shape that only Expand, SumToShape or Reshape read: it hands on a tuple instead of an array.
- Mul by an Expand, as gradients of sums have it: a number need not be repeated first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from graphio.runtime.kernels.array import expand_to
from graphio.runtime.kernels.linear import matmul
from graphio.runtime.kernels.reduction import sum_to
from graphio.runtime.program import NodeInfo
from graphio.runtime.registry import Function


class Entry(NamedTuple):
    """A node on its way to a step; reuse as in registry.Row."""

    node: NodeInfo
    function: Function
    inputs: list[int]
    outputs: list[int]
    reuse: Mapping[int, Function]


_SHAPE, _EXPAND, _TRANSPOSE = ("", "Shape"), ("", "Expand"), ("", "Transpose")
#: operators that read a shape, the input that it is, and how they take a tuple
_TAKES_TUPLE: dict[tuple[str, str], tuple[int, Function]] = {
    _EXPAND: (1, expand_to),
    ("graphio", "SumToShape"): (1, sum_to),
}


def fuse(entries: list[Entry], kept: Collection[int]) -> list[Entry]:
    """The entries, with some in others.

    Args:
        entries: in order.
        kept: slots that are read when all is done.
    """
    if not any(entry.node.key in (_SHAPE, _TRANSPOSE) for entry in entries):
        return entries
    work = _Fuser(entries, kept)
    for rule in (work.transpose, work.shape, work.spread):
        for i in range(len(entries)):
            if i not in work.gone:
                rule(i)
    return [entry for i, entry in enumerate(work.entries) if i not in work.gone]


class _Fuser:
    def __init__(self, entries: list[Entry], kept: Collection[int]) -> None:
        self.entries = entries[:]
        self.gone: set[int] = set()
        self._maker = {slot: i for i, e in enumerate(entries) for slot in e.outputs}
        self._readers: dict[int, list[int]] = {slot: [-1] for slot in kept}
        for i, entry in enumerate(entries):
            for slot in entry.inputs:
                self._readers.setdefault(slot, []).append(i)

    def _only_for(self, i: int, slot: int) -> Entry | None:
        """The entry that makes a slot which only entry i reads, and that once."""
        maker = self._maker.get(slot)
        if maker is None or maker in self.gone or self._readers[slot] != [i]:
            return None
        return self.entries[maker]

    def _replace(self, i: int, slot: int, entry: Entry) -> None:
        """Replaces entry i, and the one that made the slot, by an entry."""
        maker = self._maker[slot]
        self.gone.add(maker)
        self.entries[i] = entry
        for read in self.entries[maker].inputs:
            self._readers[read] = [i if r == maker else r for r in self._readers[read]]

    def transpose(self, i: int) -> None:
        """MatMul of a transposed matrix."""
        for k in (0, 1):
            entry = self.entries[i]
            if entry.function not in (matmul, _ONE_TRANSPOSED[0]):
                return
            made = self._only_for(i, entry.inputs[k])
            if made is None or not _turns_matrix(made.node):
                continue
            function = _ONE_TRANSPOSED[k] if entry.function is matmul else _both_transposed
            inputs = entry.inputs[:]
            inputs[k] = made.inputs[0]
            self._replace(i, entry.inputs[k], entry._replace(function=function, inputs=inputs))

    def shape(self, i: int) -> None:
        """A Shape that its readers take as a tuple."""
        entry = self.entries[i]
        if entry.node.key != _SHAPE or entry.node.attrs:
            return
        slot = entry.outputs[0]
        readers = self._readers.get(slot, [])
        if not readers or any(not self._takes_tuple(r, slot) for r in readers):
            return
        self.entries[i] = entry._replace(function=_shape_of)
        for r in readers:
            reader = self.entries[r]
            self.entries[r] = reader._replace(function=_TAKES_TUPLE[reader.node.key][1])

    def _takes_tuple(self, reader: int, slot: int) -> bool:
        if reader < 0:
            return False
        entry = self.entries[reader]
        position, _ = _TAKES_TUPLE.get(entry.node.key, (-1, None))
        return position >= 0 and [k for k, s in enumerate(entry.inputs) if s == slot] == [position]

    def spread(self, i: int) -> None:
        """Mul by what an Expand repeats."""
        entry = self.entries[i]
        if entry.function is not np.multiply:
            return
        for k in (0, 1):
            made = self._only_for(i, entry.inputs[k])
            if made is not None and made.function is expand_to:
                other = entry.inputs[1 - k]
                inputs = [*made.inputs, other]
                changed = entry._replace(function=_times_spread, inputs=inputs, reuse={})
                self._replace(i, entry.inputs[k], changed)
                return


def _turns_matrix(node: NodeInfo) -> bool:
    """Whether a node swaps the axes of what is known to be a matrix."""
    if node.key != _TRANSPOSE or node.attrs.get("perm") != [1, 0]:
        return False
    tensor = node.types[0].tensor if node.types else None
    return tensor is not None and len(tensor.shape.dim) == 2


def _shape_of(x: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = x.shape
    return shape


def _times_spread(x: Any, shape: tuple[int, ...], y: Any) -> Any:
    """y times x, repeated to a shape."""
    if shape == y.shape and not x.ndim:
        return np.multiply(x, y)
    return np.multiply(expand_to(x, shape), y)


def _first_transposed(a: Any, b: Any) -> Any:
    return matmul(a.T, b)


def _second_transposed(a: Any, b: Any) -> Any:
    return matmul(a, b.T)


def _both_transposed(a: Any, b: Any) -> Any:
    return matmul(a.T, b.T)


_ONE_TRANSPOSED: tuple[Callable[..., Any], ...] = (_first_transposed, _second_transposed)
