"""Runs of small graphs of signals in an engine, with static and with unknown shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import graphio as tf

Array = np.ndarray[Any, Any]


def value(engine: str, build: Callable[..., Any], *arrays: Any) -> Any:
    """build(*constants), run."""
    with tf.Graph().as_default(), tf.Session(target=engine) as session:
        return session.run(build(*[tf.constant(a) for a in arrays]))


def fed(engine: str, build: Callable[..., Any], *arrays: Any, rank: bool = True) -> Any:
    """build(*placeholders) of unknown sizes, or of unknown rank, run."""
    with tf.Graph().as_default(), tf.Session(target=engine) as session:
        inputs = [
            tf.placeholder(a.dtype, [None] * a.ndim if rank else None)
            for a in map(np.asarray, arrays)
        ]
        return session.run(build(*inputs), dict(zip(inputs, arrays, strict=True)))
