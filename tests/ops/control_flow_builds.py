"""Builds of branches and loops in tests: run in one engine, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


def run(target: str, build: Callable[[], Any], feeds: dict[str, Any] | None = None) -> Any:
    with tf.Graph().as_default(), tf.Session(target) as session:
        fetches = build()
        return session.run(fetches, {f"{k}:0": v for k, v in (feeds or {}).items()})


def refused(build: Callable[[], Any], kind: type[Exception], *words: str) -> None:
    with tf.Graph().as_default() as graph:
        tf.constant(1.0)
        with pytest.raises(kind) as caught:
            build()
        for word in words:
            assert word in str(caught.value)
        tf.constant(2.0, name="after")
        assert graph.get_tensor_by_name("after:0").graph is graph
