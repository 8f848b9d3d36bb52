"""tf.keras.datasets.imdb."""

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
    path: str = "imdb.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
) -> tuple[local.Pair, local.Pair]:
    """Reviews of films as lists of numbers of words, in the order of seed.

    Args:
        path: of the file in keras's folder, or an absolute one.
        num_words, skip_top: numbers from num_words on, and those below skip_top, become oov_char.
            None: all words.
        maxlen: longer lists are left out.
        seed: of numpy's global generator.
        start_char: begins each list; None: none.
        oov_char: None: such words are left out.
        index_from: is added to the numbers of words.

    Returns:
        (x_train, y_train), (x_test, y_test): lists and 0 or 1.

    Raises:
        FileNotFoundError: the file is not there.
        ValueError: no list is short enough.
    """
    found = local.load_npz(local.path_of(path, f"{_ORIGIN}imdb.npz"))
    np.random.seed(seed)
    x_train, y_train = word_lists.shuffled(found["x_train"], found["y_train"])
    x_test, y_test = word_lists.shuffled(found["x_test"], found["y_test"])
    xs, labels = word_lists.prepared(
        [*x_train, *x_test], np.concatenate([y_train, y_test]), num_words, skip_top, maxlen,
        start_char, oov_char, index_from,
    )  # fmt: skip
    cut = len(x_train)  # TensorFlow's, also where maxlen has left some out
    return (
        (word_lists.array_of(xs[:cut]), labels[:cut]),
        (word_lists.array_of(xs[cut:]), labels[cut:]),
    )


@api_guard.unguarded
def get_word_index(path: str = "imdb_word_index.json") -> dict[str, Any]:
    """The number of each word. Raises FileNotFoundError where the file is not there."""
    with open(local.path_of(path, f"{_ORIGIN}imdb_word_index.json"), encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found
