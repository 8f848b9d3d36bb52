"""tf.keras.datasets.mnist."""

from __future__ import annotations

from graphio.keras.datasets import local
from graphio.support import api_guard

__all__ = ["load_data"]

_ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz"


@api_guard.unguarded
def load_data(path: str = "mnist.npz") -> tuple[local.Pair, local.Pair]:
    """Handwritten digits.

    Args:
        path: of the file in keras's folder, or an absolute one.

    Returns:
        (x_train, y_train), (x_test, y_test): uint8 [n, 28, 28] and [n].

    Raises:
        FileNotFoundError: the file is not there.
    """
    found = local.load_npz(local.path_of(path, _ORIGIN))
    return (found["x_train"], found["y_train"]), (found["x_test"], found["y_test"])
