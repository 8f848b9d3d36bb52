"""Graphs whose tensors have values at once, in which functions given to tf.py_function run.

Each call of the function has a separate graph. A tensor of it is computed when Python asks for
its value, by numpy(), bool(), float() or numpy's functions, and keeps it from then on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from graphio.framework import registered, scopes
from graphio.framework.constants import constant
from graphio.framework.folding import constant_value
from graphio.framework.graph import Graph, Tensor
from graphio.framework.tensor import VALUES

__all__ = ["inputs", "opened", "values_of"]

Array = np.ndarray[Any, Any]


class _Values:
    """The values of a graph's tensors, computed on demand."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[Tensor, Any] = {}
        self._session: Any = None

    def __call__(self, tensors: Sequence[Tensor]) -> list[Any]:
        missing = []
        for tensor in dict.fromkeys(tensors):
            folded = None if tensor in self._known else constant_value(tensor)
            if folded is not None:
                self._known[tensor] = folded[()]
            elif tensor not in self._known:
                missing.append(tensor)
        if missing:
            if self._session is None:
                self._session = registered.new_session(self._graph)
            fed = {t: v for t, v in self._known.items() if t.op.op != "Constant"}
            self._known.update(zip(missing, self._session.run(missing, fed), strict=True))
        return [self._known[tensor] for tensor in tensors]

    def close(self) -> None:
        """Ends the session, if there was one."""
        if self._session is not None:
            self._session.close()


@contextmanager
def opened() -> Iterator[Graph]:
    """A graph whose tensors have values at once, as the default graph."""
    with Graph().as_default() as graph, scopes.device(None):
        values = _Values(graph)
        VALUES.put(graph, values)
        try:
            yield graph
        finally:
            values.close()


def inputs(arrays: Sequence[Any]) -> list[Tensor]:
    """Tensors of the default graph with the values of arrays."""
    return [constant(array, name=f"input_{i}") for i, array in enumerate(arrays)]


def values_of(results: Sequence[Any]) -> list[Any]:
    """The values of results, which may be tensors of the default graph or values already."""
    tensors = [result for result in results if isinstance(result, Tensor)]
    values = VALUES.of(scopes.get_default_graph())(tensors) if tensors else []
    found = iter(values)
    return [next(found) if isinstance(result, Tensor) else result for result in results]
