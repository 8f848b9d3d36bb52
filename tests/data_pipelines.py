"""Running datasets in tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import graphio as tf


def plain(value: Any) -> Any:
    """A fetched element as Python's numbers and lists."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return tuple(plain(inner) for inner in value)
    return value.tolist() if hasattr(value, "tolist") else value


def drain(make: Callable[[], Any], engine: str = "", limit: int = 1000) -> list[Any]:
    """The elements of the dataset that make gives, in a graph and a session of its own."""
    with tf.Graph().as_default(), tf.Session(engine) as session:
        element = make().make_one_shot_iterator().get_next()
        return rest(session, element, limit)


def rest(session: Any, element: Any, limit: int = 1000) -> list[Any]:
    """What an iterator still gives in a session."""
    found: list[Any] = []
    while len(found) < limit:
        try:
            found.append(plain(session.run(element)))
        except tf.errors.OutOfRangeError:
            break
    return found
