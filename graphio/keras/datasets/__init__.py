"""tf.keras.datasets: data sets from the folder in which keras keeps them; nothing is downloaded.

local            the folder, and its files
mnist, fashion_mnist, cifar10, cifar100, imdb, reuters, boston_housing
"""

from graphio.keras.datasets import (
    boston_housing,
    cifar10,
    cifar100,
    fashion_mnist,
    imdb,
    mnist,
    reuters,
)

__all__ = [
    "boston_housing",
    "cifar10",
    "cifar100",
    "fashion_mnist",
    "imdb",
    "mnist",
    "reuters",
]
