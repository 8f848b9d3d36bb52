"""tf.keras.datasets.fashion_mnist."""

from __future__ import annotations

from graphio.keras.datasets import digits, local
from graphio.support import api_guard

__all__ = ["load_data"]

_ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"


@api_guard.unguarded
def load_data() -> tuple[local.Pair, local.Pair]:
    """Pictures of clothes, from the four files of the folder fashion-mnist.

    Returns:
        (x_train, y_train), (x_test, y_test): uint8 [n, 28, 28] and [n].

    Raises:
        FileNotFoundError: a file is not there.
    """

    def part(kind: str) -> local.Pair:
        images, labels = (
            local.path_of(
                f"fashion-mnist/{kind}-{name}-ubyte.gz", f"{_ORIGIN}{kind}-{name}-ubyte.gz"
            )
            for name in ("images-idx3", "labels-idx1")
        )
        return digits.read_images(images), digits.read_labels(labels)

    return part("train"), part("t10k")
