"""Handwritten digits from a local folder: the data sets of tf.examples.tutorials.mnist."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.examples.tutorials.mnist import input_data
from graphio.examples.tutorials.mnist.input_data import DataSet, Datasets, read_data_sets
from graphio.keras.datasets import digits
from graphio.support import api_guard

__all__ = [
    "DEFAULT_SOURCE_URL",
    "DataSet",
    "dense_to_one_hot",
    "extract_images",
    "extract_labels",
    "load_mnist",
    "read_data_sets",
]

DEFAULT_SOURCE_URL = input_data.ORIGIN
Array = np.ndarray[Any, Any]


@api_guard.unguarded
def extract_images(f: Any) -> Array:
    """uint8 [n, rows, columns, 1] of an open compressed file of pictures.

    Raises:
        ValueError: it is another file.
    """
    return digits.read_images(f)[..., np.newaxis]


@api_guard.unguarded
def extract_labels(f: Any, one_hot: bool = False, num_classes: int = 10) -> Array:
    """uint8 [n] of an open compressed file of labels; with one_hot float64 [n, num_classes].

    Raises:
        ValueError: it is another file.
    """
    labels = digits.read_labels(f)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


@api_guard.unguarded
def dense_to_one_hot(labels_dense: Array, num_classes: int) -> Array:
    """float64 [n, num_classes] with a 1 at each label of [n]."""
    rows = np.zeros((labels_dense.shape[0], num_classes))
    rows[np.arange(len(rows)), labels_dense.ravel()] = 1
    return rows


@api_guard.unguarded
def load_mnist(train_dir: Any = "MNIST-data") -> Datasets:
    """read_data_sets of a folder."""
    return read_data_sets(train_dir)
