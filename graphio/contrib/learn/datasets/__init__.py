"""tf.contrib.learn.datasets: data sets from local files, and made ones.

base            tables from CSV files
mnist           digits
synthetic       circles and spirals
text_datasets   descriptions of things
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from graphio.contrib.learn.datasets import base, mnist, synthetic, text_datasets
from graphio.contrib.learn.datasets.base import load_boston, load_iris
from graphio.framework import api_boundary, refusals
from graphio.support import api_guard

__all__ = [
    "DATASETS",
    "SYNTHETIC",
    "base",
    "load_boston",
    "load_dataset",
    "load_iris",
    "make_dataset",
    "mnist",
    "synthetic",
    "text_datasets",
]

#: by name, the functions of load_dataset and make_dataset
DATASETS: dict[str, Callable[..., Any]] = {
    "iris": load_iris,
    "boston": load_boston,
    "mnist": mnist.load_mnist,
    "dbpedia": text_datasets.load_dbpedia,
}
SYNTHETIC: dict[str, Callable[..., base.Dataset]] = {
    "circles": synthetic.circles,
    "spirals": synthetic.spirals,
}


@api_guard.unguarded
def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Any:
    """A data set by name: mnist or dbpedia, from its local folder.

    Args:
        size, test_with_fake_data: those of load_dbpedia; without effect on others.

    Raises:
        ValueError: an unknown name.
        FileNotFoundError: its files are not there; iris and boston need a path: call load_iris
            and load_boston with one.
    """
    if name not in DATASETS:
        raise ValueError(f"Name of dataset is not found: {name}; there are {', '.join(DATASETS)}")
    return DATASETS[name](size, test_with_fake_data) if name == "dbpedia" else DATASETS[name]()


@api_guard.unguarded
def make_dataset(
    name: str,
    n_samples: int = 100,
    noise: float | None = None,
    seed: int | None = 42,
    *args: Any,
    **kwargs: Any,
) -> base.Dataset:
    """A made data set by name: circles or spirals, which have the arguments.

    Raises:
        ValueError: an unknown name.
    """
    if name not in SYNTHETIC:
        raise ValueError(
            f"Synthetic dataset not found or not implemeted: {name}; there are "
            f"{', '.join(SYNTHETIC)}"
        )
    return SYNTHETIC[name](n_samples, noise, seed, *args, **kwargs)


_GUARDED_MODULES = (base, mnist, synthetic, text_datasets)
api_boundary.guard_namespace(sys.modules[__name__])
__getattr__ = refusals.getter(__name__)
