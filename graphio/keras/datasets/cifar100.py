"""tf.keras.datasets.cifar100."""

from __future__ import annotations

from graphio.keras.datasets import cifar, local
from graphio.support import api_guard

__all__ = ["load_data"]

_ORIGIN = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz, unpacked,"


@api_guard.unguarded
def load_data(label_mode: str = "fine") -> tuple[local.Pair, local.Pair]:
    """Small pictures of a hundred kinds, from the folder cifar-100-python.

    Args:
        label_mode: "fine", or "coarse": of twenty groups of kinds.

    Returns:
        (x_train, y_train), (x_test, y_test): uint8 [n, 32, 32, 3] and [n, 1].

    Raises:
        FileNotFoundError: the folder or a file of it is not there.
        ValueError: another label_mode.
    """
    if label_mode not in ("fine", "coarse"):
        raise ValueError('`label_mode` must be one of `"fine"`, `"coarse"`.')
    folder = local.path_of("cifar-100-python", _ORIGIN)
    key = f"{label_mode}_labels"
    return cifar.load_batch(folder / "train", key), cifar.load_batch(folder / "test", key)
