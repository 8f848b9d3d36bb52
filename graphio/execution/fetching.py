"""Fetches: nested structures of tensors, operations, variables and names, and their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from graphio.framework import nest
from graphio.framework.composite import Composite
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.tensor import InaccessibleTensorError

Array = np.ndarray[Any, Any]


def key_of(fetches: Any) -> Any:
    """A hashable key of a fetch structure, in which the fetched objects compare by identity.

    Raises:
        TypeError: something in it can be no fetch.
    """
    kind = type(fetches)
    if kind is Tensor or kind is Operation or kind is str:
        return fetches
    if isinstance(fetches, (list, tuple)):
        return (kind, *[f if type(f) is Tensor else key_of(f) for f in fetches])
    if isinstance(fetches, Mapping):
        return (kind, tuple(fetches), *map(key_of, fetches.values()))
    if isinstance(fetches, Composite):
        return (kind, *fetches.parts())
    if nest.is_nested(fetches):
        beside = repr(fetches.__tf_flatten__()[0]) if hasattr(kind, "__tf_flatten__") else ""
        return (kind, beside, *map(key_of, nest.children(fetches)))
    try:
        hash(fetches)
    except TypeError:
        raise TypeError(_no_fetch(fetches)) from None
    return fetches


def element(graph: Graph, fetch: Any) -> Tensor | Operation:
    """The tensor or operation that a leaf of the fetches stands for.

    Raises:
        TypeError: it stands for nothing of the sort.
        ValueError: it is not of this graph, or inside a loop or branch.
    """
    try:
        found = graph.as_graph_element(fetch)
    except TypeError:
        raise TypeError(_no_fetch(fetch)) from None
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error.args[0]})"
        ) from None
    if not graph.is_fetchable(found):
        if found.graph is graph:
            raise ValueError(f"'{found.name}' has been marked as not fetchable.")
        raise InaccessibleTensorError(
            f"{type(found).__name__} {found.name} may not be fetched: it is inside a loop or "
            "branch; return it from there"
        )
    return found


def _no_fetch(fetch: Any) -> str:
    kind = type(fetch).__name__
    return (
        f"Fetch argument {fetch!r} has invalid type {kind}, must be a string or Tensor. (Can not "
        f"convert a {kind} into a Tensor or Operation.)"
    )


class AsComputed:
    """A fetch of a tensor as its operation gives it, also where the tensor shows a variable, whose
    value at the end of the run a fetch of the tensor itself gives."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def _as_graph_element(self) -> Tensor:
        return self.tensor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AsComputed) and other.tensor is self.tensor

    def __hash__(self) -> int:
        return hash((AsComputed, self.tensor))


class Structure:
    """The fetches of a plan.

    Attributes:
        elements: tensor or operation of each leaf, in order.
        as_computed: whether each is fetched as its operation gives it.
    """

    def __init__(self, graph: Graph, fetches: Any) -> None:
        self._simple = isinstance(fetches, (list, Tensor, Operation)) and not any(
            nest.is_nested(f) or isinstance(f, Composite) for f in _top(fetches)
        )
        self._one = not isinstance(fetches, list)
        self._structure = fetches
        leaves = _top(fetches) if self._simple else nest.flatten(fetches, expand_composites=True)
        self.elements = [element(graph, leaf) for leaf in leaves]
        self.as_computed = [isinstance(leaf, AsComputed) for leaf in leaves]

    def packed(self, values: list[Any]) -> Any:
        """The values, one a leaf, in the fetches' structure."""
        if self._simple:
            return values[0] if self._one else values
        return _contracted(self._structure, iter(values))


def _top(fetches: Any) -> list[Any]:
    return fetches if isinstance(fetches, list) else [fetches]


def _contracted(structure: Any, values: Iterator[Any]) -> Any:
    """The values in the structure of the fetches."""
    if isinstance(structure, Composite):
        return structure.value_of([next(values) for _ in structure.parts()])
    if nest.is_nested(structure):
        parts = [_contracted(child, values) for child in nest.children(structure)]
        return nest.like(structure, parts)
    return next(values)


def unwrapped(array: Any) -> Any:
    """A scalar as a numpy scalar (bytes for strings), anything else as it is; so in lists."""
    if array.__class__ is np.ndarray:
        return array if array.ndim else array[()]
    if isinstance(array, list):
        return [unwrapped(v) for v in array]
    return array
