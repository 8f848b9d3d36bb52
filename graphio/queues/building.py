"""How methods of queues and readers build operations."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, TypeVar

from graphio.framework import api_boundary, scopes

__all__ = ["builds_with"]

F = TypeVar("F", bound=Callable[..., Any])


def builds_with(reference: str) -> Callable[[F], F]:
    """A decorator of methods that build in the graph of their object, whichever is the default one,
    as functions build in the graph of their tensors.

    Args:
        reference: the object's attribute that is a tensor of the graph.
    """

    def decorated(method: F) -> F:
        guarded = api_boundary.rolling_back(method)

        @functools.wraps(method)
        def call(self: Any, *arguments: Any, **options: Any) -> Any:
            graph = getattr(self, reference).graph
            inside = scopes.get_default_graph().root is graph.root
            with contextlib.nullcontext() if inside else graph.as_default():
                return guarded(self, *arguments, **options)

        return call  # type: ignore[return-value]

    return decorated
