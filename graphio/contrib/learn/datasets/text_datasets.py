"""Descriptions of things in 14 classes, from a local folder."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from graphio.contrib.learn.datasets import base
from graphio.support import api_guard

__all__ = ["DBPEDIA_URL", "load_dbpedia", "maybe_download_dbpedia"]

DBPEDIA_URL = "https://github.com/le-scientifique/torchDatasets/raw/master/dbpedia_csv.tar.gz"
_FOLDER = "dbpedia_csv"


@api_guard.unguarded
def maybe_download_dbpedia(data_dir: str) -> None:
    """Checks that a folder has dbpedia_csv/train.csv and test.csv.

    Raises:
        FileNotFoundError: a file is not there: nothing is downloaded.
    """
    for name in ("train.csv", "test.csv"):
        base.maybe_download(f"{_FOLDER}/{name}", data_dir, DBPEDIA_URL)


@api_guard.unguarded
def load_dbpedia(size: str = "small", test_with_fake_data: bool = False) -> base.Datasets:
    """The data set DBpedia: rows of title and text, and their classes, int32.

    It is read from the folder dbpedia_data of the working folder, or of that which the environment
    names as TF_EXP_BASE_DIR.

    Args:
        size: small: each thousandth row, also written to files next to it; else all.
        test_with_fake_data: must be False.

    Raises:
        FileNotFoundError: the files are not there.
        ValueError: test_with_fake_data is True: graphio has no such data.
    """
    if test_with_fake_data:
        raise ValueError("test_with_fake_data needs files of TensorFlow's: give False")
    folder = Path(os.environ.get("TF_EXP_BASE_DIR", "")) / "dbpedia_data"
    maybe_download_dbpedia(str(folder))
    found = []
    for name in ("train", "test"):
        path = str(folder / _FOLDER / f"{name}.csv")
        if size == "small":
            base.shrink_csv(path, 1000)
            path = path.replace(f"{name}.csv", f"{name}_small.csv")
        found.append(base.load_csv_without_header(path, np.int32, str, target_column=0))
    return base.Datasets(train=found[0], validation=None, test=found[1])
