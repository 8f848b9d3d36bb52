"""tf.keras.datasets.boston_housing."""

from __future__ import annotations

import numpy as np

from graphio.keras.datasets import local, word_lists
from graphio.support import api_guard

__all__ = ["load_data"]

_ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/boston_housing.npz"


@api_guard.unguarded
def load_data(
    path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113
) -> tuple[local.Pair, local.Pair]:
    """Prices of houses, in the order of seed.

    Args:
        path: of the file in keras's folder, or an absolute one.
        test_split: the part that is for tests, from 0 to less than 1.
        seed: of numpy's global generator.

    Returns:
        (x_train, y_train), (x_test, y_test): float64 [n, 13] and [n].

    Raises:
        FileNotFoundError: the file is not there.
        ValueError: test_split is not a part.
    """
    if not 0 <= test_split < 1:
        raise ValueError(f"test_split is {test_split}, expected at least 0 and less than 1")
    found = local.load_npz(local.path_of(path, _ORIGIN))
    np.random.seed(seed)
    x, y = word_lists.shuffled(found["x"], found["y"])
    cut = int(len(x) * (1 - test_split))
    return (x[:cut], y[:cut]), (x[cut:], y[cut:])
