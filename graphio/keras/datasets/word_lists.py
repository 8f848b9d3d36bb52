"""Lists of numbers of words, as tf.keras.datasets prepares them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["array_of", "prepared", "shuffled"]

Array = np.ndarray[Any, Any]


def shuffled(x: Array, y: Array) -> tuple[Array, Array]:
    """Both in the order that numpy's global generator draws."""
    indices = np.arange(len(x))
    np.random.shuffle(indices)
    return x[indices], y[indices]


def prepared(
    xs: Sequence[Any],
    labels: Array,
    num_words: int | None,
    skip_top: int,
    maxlen: int | None,
    start_char: int | None,
    oov_char: int | None,
    index_from: int,
) -> tuple[list[list[int]], Array]:
    """Lists with a first number, without long lists and without rare or frequent words.

    Raises:
        ValueError: no list is shorter than maxlen.
    """
    if start_char is not None:
        lists = [[start_char, *(w + index_from for w in x)] for x in xs]
    else:
        lists = [[w + index_from for w in x] for x in xs]
    if maxlen:
        kept = [i for i, x in enumerate(lists) if len(x) < maxlen]
        lists, labels = [lists[i] for i in kept], labels[kept]
        if not lists:
            raise ValueError(
                f"After filtering for sequences shorter than maxlen={maxlen}, no sequence was "
                "kept. Increase maxlen."
            )
    top = num_words or max(max(x) for x in lists)
    if oov_char is not None:
        return [[w if skip_top <= w < top else oov_char for w in x] for x in lists], labels
    return [[w for w in x if skip_top <= w < top] for x in lists], labels


def array_of(lists: Sequence[list[int]]) -> Array:
    """An array of objects, the lists."""
    made = np.empty(len(lists), dtype=object)
    made[:] = lists
    return made
