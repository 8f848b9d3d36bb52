"""The graph of a dataset: iterators and datasets made of it are of the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphio.framework import scopes
from graphio.framework.graph import Graph

if TYPE_CHECKING:
    from graphio.data.dataset import Dataset

__all__ = ["check", "of_new"]


def of_new(inputs: Sequence[Dataset], alone: bool) -> Graph:
    """The graph of a dataset that is made now.

    Args:
        inputs: the datasets that it is made of.
        alone: it has no other tensors and functions, so it is of their graph.

    Raises:
        ValueError: they are of another graph than the default one.
    """
    if alone and len({dataset.graph for dataset in inputs}) == 1:
        return inputs[0].graph
    for dataset in inputs:
        check(dataset)
    return scopes.get_default_graph().root


def check(dataset: Dataset) -> None:
    """Refuses a dataset of another graph than the default one.

    Raises:
        ValueError: it is.
    """
    here: Graph | None = scopes.get_default_graph().root
    while here is not None and here is not dataset.graph:
        here = here.access.around
    if here is None:
        raise ValueError(
            f"{dataset!r}{dataset.where} must be from the same graph as what is made of it; the "
            "default graph is another. Make sure that the dataset is created in the same graph as "
            "the iterator: make it there, or take its graph as the default one"
        )
