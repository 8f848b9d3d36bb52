"""tf.keras.datasets.reuters."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from graphio.keras.datasets import local, word_lists
from graphio.support import api_guard

__all__ = ["get_word_index", "load_data"]

_ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"


@api_guard.unguarded
def load_data(
    path: str = "reuters.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    test_split: float = 0.2,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
) -> tuple[local.Pair, local.Pair]:
    """News as lists of numbers of words, in the order of seed.

    Args:
        path, num_words, skip_top, maxlen, seed, start_char, oov_char, index_from: as imdb's.
        test_split: the part that is for tests.

    Returns:
        (x_train, y_train), (x_test, y_test): lists and numbers of topics.

    Raises:
        FileNotFoundError: the file is not there.
        ValueError: no list is short enough.
    """
    found = local.load_npz(local.path_of(path, f"{_ORIGIN}reuters.npz"))
    np.random.seed(seed)
    x, y = word_lists.shuffled(found["x"], found["y"])
    xs, labels = word_lists.prepared(
        list(x), y, num_words, skip_top, maxlen, start_char, oov_char, index_from
    )
    cut = int(len(xs) * (1 - test_split))
    return (
        (word_lists.array_of(xs[:cut]), labels[:cut]),
        (word_lists.array_of(xs[cut:]), labels[cut:]),
    )


@api_guard.unguarded
def get_word_index(path: str = "reuters_word_index.json") -> dict[str, Any]:
    """The number of each word. Raises FileNotFoundError where the file is not there."""
    with open(local.path_of(path, f"{_ORIGIN}reuters_word_index.json"), encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found
