"""Handwritten digits from a local folder, in batches."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphio.framework import dtypes
from graphio.keras.datasets import digits
from graphio.ops.random.more import get_seed
from graphio.support import api_guard

__all__ = ["ORIGIN", "DataSet", "Datasets", "read_data_sets"]

Array = np.ndarray[Any, Any]

ORIGIN = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_CLASSES = 10
_PIXELS = 28 * 28


class Datasets(NamedTuple):
    """The parts of a data set.

    Attributes:
        train, validation, test: a DataSet each.
    """

    train: Any
    validation: Any
    test: Any


class DataSet:
    """Pictures and labels.

    Args:
        images: uint8 [n, rows, columns, 1].
        labels: [n], or [n, 10] of 0 and 1.
        fake_data: next_batch can give pictures of ones without any data.
        one_hot: whether its labels are of 0 and 1.
        dtype: tf.uint8, or tf.float32: images from 0 to 1.
        reshape: whether images become [n, rows * columns].
        seed: of numpy's global generator, which orders the pictures; None: tf's seed of the graph,
            or any order.

    Raises:
        TypeError: another dtype.
        ValueError: images and labels differ in number.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = dtypes.float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        of_graph, of_operation = get_seed(seed)
        np.random.seed(of_graph if seed is None else of_operation)
        kind = dtypes.as_dtype(dtype).base_dtype
        if kind not in (dtypes.uint8, dtypes.float32):
            raise TypeError(f"Invalid image dtype {kind!r}, expected uint8 or float32")
        self._num_examples, self.one_hot = 10000, one_hot
        if not fake_data:
            if images.shape[0] != labels.shape[0]:
                raise ValueError(f"images.shape: {images.shape} labels.shape: {labels.shape}")
            self._num_examples = images.shape[0]
            if reshape:
                images = images.reshape(images.shape[0], math.prod(images.shape[1:]))
            if kind == dtypes.float32:
                images = np.multiply(images.astype(np.float32), np.float32(1.0 / 255.0))
        self._images, self._labels = images, labels
        self._epochs_completed = self._index = 0

    images = property(lambda self: self._images)
    labels = property(lambda self: self._labels)
    num_examples = property(lambda self: self._num_examples)
    epochs_completed = property(lambda self: self._epochs_completed)

    def next_batch(
        self, batch_size: int, fake_data: bool = False, shuffle: bool = True
    ) -> tuple[Any, Any]:
        """The next pictures and their labels; at the end of the data the first of the next round.

        Args:
            fake_data: gives lists of ones and zeros.
            shuffle: whether each round has a new order.
        """
        if fake_data:
            label = [1] + [0] * (_CLASSES - 1) if self.one_hot else 0
            return [[1] * _PIXELS for _ in range(batch_size)], [label for _ in range(batch_size)]
        start = self._index
        if self._epochs_completed == 0 and start == 0 and shuffle:
            self._shuffle()
        if start + batch_size <= self._num_examples:
            self._index = start + batch_size
            return self._images[start : self._index], self._labels[start : self._index]
        self._epochs_completed += 1
        rest = self._images[start:], self._labels[start:]
        if shuffle:
            self._shuffle()
        self._index = batch_size - (self._num_examples - start)
        return (
            np.concatenate((rest[0], self._images[: self._index]), axis=0),
            np.concatenate((rest[1], self._labels[: self._index]), axis=0),
        )

    def _shuffle(self) -> None:
        order = np.arange(self._num_examples)
        np.random.shuffle(order)
        self._images, self._labels = self._images[order], self._labels[order]


@api_guard.unguarded
def read_data_sets(
    train_dir: Any,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = dtypes.float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = ORIGIN,
) -> Datasets:
    """The data sets of a folder that has the four files of MNIST.

    Args:
        train_dir: the folder.
        fake_data: gives data sets without files, of ones.
        one_hot: whether labels are [n, 10] of 0 and 1.
        dtype, reshape, seed: as DataSet's.
        validation_size: the first pictures of the training set become the validation set.
        source_url: where the files can be had, for the error: nothing is downloaded.

    Raises:
        FileNotFoundError: a file is not there.
        ValueError: validation_size is not a part of the training set.
    """
    options: dict[str, Any] = {"dtype": dtype, "reshape": reshape, "seed": seed}
    if fake_data:
        empty = [
            DataSet([], [], fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed)
            for _ in range(3)
        ]
        return Datasets(*empty)
    train, test = (_part(Path(train_dir), kind, one_hot, source_url) for kind in ("train", "t10k"))
    if not 0 <= validation_size <= len(train[0]):
        raise ValueError(
            f"Validation size should be between 0 and {len(train[0])}. Received: {validation_size}."
        )
    cut = validation_size
    return Datasets(
        train=DataSet(train[0][cut:], train[1][cut:], **options),
        validation=DataSet(train[0][:cut], train[1][:cut], **options),
        test=DataSet(*test, **options),
    )


def _part(folder: Path, kind: str, one_hot: bool, source: str) -> tuple[Array, Array]:
    images = digits.read_images(_file(folder, f"{kind}-images-idx3-ubyte.gz", source))
    labels = digits.read_labels(_file(folder, f"{kind}-labels-idx1-ubyte.gz", source))
    if one_hot:
        labels = np.eye(_CLASSES)[labels]
    return images[..., np.newaxis], labels


def _file(folder: Path, name: str, source: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is not there, and graphio downloads nothing: get {source}{name} and put it "
            "there, or give fake_data=True"
        )
    return path
