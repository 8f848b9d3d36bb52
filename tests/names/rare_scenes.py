"""Calls of rarely used functions of tf, for name_scenes."""

from __future__ import annotations

from typing import Any

import numpy as np
from name_scenes import Scene, numbers

IMAGE, LINE = numbers(2, 9, 8, 2), numbers(2, 11, 3)


def spaced(tf: Any) -> Any:
    """Operations over every second or third element."""
    kernel, seconds = numbers(3, 2, 2, 3), numbers(3, 3, 2)

    def convolved(x: Any, axes: int, padding: str) -> Any:
        return tf.nn.convolution(x, kernel if axes == 2 else seconds, padding)

    def pooled(x: Any, axes: int, padding: str) -> Any:
        return tf.nn.pool(x, [2, 3], "MAX", padding)

    def summed(x: Any, axes: int, padding: str) -> Any:
        return tf.cumsum(x, 2)

    nn, image = tf.nn, tf.placeholder_with_default(IMAGE, [None, None, None, 2])
    rate = tf.placeholder_with_default([2, 3], [2])
    return [
        nn.with_space_to_batch(IMAGE, [2, 3], "SAME", convolved, [3, 2]),
        nn.with_space_to_batch(image, [2, 3], "SAME", convolved, [3, 2, 2, 3]),
        nn.with_space_to_batch(IMAGE, rate, "VALID", convolved),
        nn.with_space_to_batch(IMAGE, [1, 1], "SAME", convolved),
        nn.with_space_to_batch(LINE, [3], "SAME", convolved, tf.shape(seconds)),
        nn.with_space_to_batch(IMAGE, [2, 1], "VALID", pooled),
        nn.with_space_to_batch(IMAGE, [2], "VALID", summed, spatial_dims=[2]),
        nn.with_space_to_batch(IMAGE, [3], "VALID", summed, data_format="NCW"),
    ]


def crossed(tf: Any) -> Any:
    """Crosses of strings and integers, sparse and dense, as strings and as hashes."""
    rows = [[0, 0], [1, 0], [1, 1], [3, 1]]
    words = tf.SparseTensor(rows, ["a", "b", "a longer word of more than 32 letters", "d"], [4, 2])
    numbers = tf.SparseTensor(rows[:3], np.array([-5, 7, 1 << 40]), [4, 2])
    dense = tf.constant([["x", "y"], ["z", "x"], ["u", "v"], ["w", ""]])
    small = tf.constant([[1], [-2], [3], [4]], tf.int32)
    cross, hashed = tf.sparse.cross, tf.sparse.cross_hashed
    return [
        cross([words, dense]), cross([dense, numbers, words]), cross([small, dense]),
        cross([words]), hashed([words, dense]), hashed([dense, numbers, small, words]),
        hashed([words, numbers], 100), hashed([words, dense], 1000, 77),
        hashed([small, numbers], hash_key=-3),
    ]  # fmt: skip


SCENES: dict[str, Scene] = {f.__name__: f for f in (spaced, crossed)}
