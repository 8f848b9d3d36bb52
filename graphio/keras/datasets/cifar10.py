"""tf.keras.datasets.cifar10."""

from __future__ import annotations

import numpy as np

from graphio.keras.datasets import cifar, local
from graphio.support import api_guard

__all__ = ["load_data"]

_ORIGIN = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz, unpacked,"


@api_guard.unguarded
def load_data() -> tuple[local.Pair, local.Pair]:
    """Small pictures of ten kinds, from the folder cifar-10-batches-py.

    Returns:
        (x_train, y_train), (x_test, y_test): uint8 [n, 32, 32, 3] and [n, 1].

    Raises:
        FileNotFoundError: the folder or a file of it is not there.
    """
    folder = local.path_of("cifar-10-batches-py", _ORIGIN)
    parts = [cifar.load_batch(folder / f"data_batch_{i}", "labels") for i in range(1, 6)]
    train = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    return train, cifar.load_batch(folder / "test_batch", "labels")
