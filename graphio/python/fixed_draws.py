"""Draws that are the same in TensorFlow and in graphio, for recording.py.

A draw in the body of a loop or of a condition cannot be fetched or fed. There the random functions
give the same numbers at each turn, spread evenly. Draws that graphio computes by several operations
are found by the name that TensorFlow's one operation has.
"""

from __future__ import annotations

import functools
from typing import Any

__all__ = ["install", "named"]

#: the fractional parts of the multiples of this are spread evenly
_GOLDEN = 0.6180339887


def install(tf: Any, module: Any) -> None:
    """Makes the draws in bodies the same in every framework.

    Args:
        tf: tensorflow.compat.v1 or graphio.
        module: of random_uniform, random_normal and truncated_normal.
    """

    def uniform(
        shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = tf.float32, *_: Any, **__: Any
    ) -> Any:
        high = 1 if maxval is None else maxval
        low, span = tf.cast(minval, tf.float32), tf.cast(high - minval, tf.float32)
        return tf.cast(_even(tf, shape) * span + low, dtype)

    def normal(
        shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = tf.float32, *_: Any, **__: Any
    ) -> Any:
        spread = (_even(tf, shape) - 0.5) * 12**0.5
        return tf.cast(spread, dtype) * stddev + mean

    for name, fixed, public in (
        ("random_uniform", uniform, "uniform"),
        ("random_normal", normal, "normal"),
        ("truncated_normal", normal, "truncated_normal"),
    ):
        function = _chosen(tf, getattr(module, name), fixed)
        for holder, attribute in ((module, name), (tf, name), (tf.random, public)):
            setattr(holder, attribute, function)


def _even(tf: Any, shape: Any) -> Any:
    """Numbers from 0 to 1, by float32 arithmetic of exact order."""
    count = tf.reduce_prod(tf.cast(tf.convert_to_tensor(shape), tf.int32))
    multiples = tf.cast(tf.range(1, count + 1), tf.float32) * _GOLDEN
    return tf.stop_gradient(tf.reshape(multiples - tf.floor(multiples), shape))


def _chosen(tf: Any, drawn: Any, fixed: Any) -> Any:
    """A function that is fixed in bodies, and draws elsewhere."""

    @functools.wraps(drawn)
    def draw(*arguments: Any, **options: Any) -> Any:
        graph = tf.get_default_graph()
        context = getattr(graph, "_get_control_flow_context", lambda: None)()
        within = context is not None or getattr(graph, "outer", None) is not None
        return (fixed if within else drawn)(*arguments, **options)

    return draw


def named() -> dict[str, str]:
    """By name of graphio's tensors, the names that TensorFlow gives the same draws; it grows as a
    program makes them."""
    from graphio.ops.nn import candidates
    from graphio.ops.random import draws

    names: dict[str, str] = {}

    def noted(module: Any, function: str, suffix: str) -> None:
        original = getattr(module, function)

        @functools.wraps(original)
        def call(*arguments: Any, **options: Any) -> Any:
            made = original(*arguments, **options)
            for i, tensor in enumerate(made if isinstance(made, tuple) else (made,)):
                names[tensor.name] = f"{tensor.op.name.rpartition('/')[0]}{suffix}:{i}"
            return made

        setattr(module, function, call)

    noted(candidates, "_sampled", "")
    noted(draws, "classes", "/Multinomial")
    return names
