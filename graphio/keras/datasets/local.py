"""Files of data sets in a local folder."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Arrays", "Pair", "load_npz", "load_pickle", "path_of"]

Arrays = dict[str, np.ndarray[Any, Any]]
Pair = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def _folder() -> Path:
    """That of keras: datasets in $KERAS_HOME, or in ~/.keras."""
    home = os.environ.get("KERAS_HOME") or Path.home() / ".keras"
    return Path(home) / "datasets"


def path_of(name: str, origin: str) -> Path:
    """The path of a file or folder of a data set.

    Args:
        name: in the folder of keras, or an absolute path.
        origin: where it can be had.

    Raises:
        FileNotFoundError: it is not there.
    """
    path = _folder() / name  # an absolute name stays as it is
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is not there, and graphio downloads nothing: get {origin} and put it there "
            "(KERAS_HOME names another folder)"
        )
    return path


class _Arrays(pickle.Unpickler):
    """Reads pickles of numpy arrays, lists and strings; anything else is refused."""

    _ALLOWED = frozenset({"_reconstruct", "ndarray", "dtype", "scalar", "_frombuffer", "encode"})

    def find_class(self, module_name: str, global_name: str) -> Any:
        """A function that rebuilds arrays. Raises UnpicklingError for any other."""
        root = module_name.partition(".")[0]
        if global_name not in self._ALLOWED or root not in ("numpy", "_codecs"):
            raise pickle.UnpicklingError(f"the file names {module_name}.{global_name}")
        return super().find_class(module_name, global_name)


def load_pickle(file: Any) -> Any:
    """The value of an open pickle of arrays; strings of Python 2 become bytes.

    Raises:
        UnpicklingError: it has objects of other classes.
    """
    return _Arrays(file, encoding="bytes").load()


def load_npz(path: Path) -> Arrays:
    """The arrays of a file, also of objects that are lists of integers.

    Raises:
        UnpicklingError: it has objects of other classes.
    """
    found: Arrays = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            file = io.BytesIO(archive.read(name))
            found[name.removesuffix(".npy")] = _array(file)
    return found


def _array(file: io.BytesIO) -> np.ndarray[Any, Any]:
    form = np.lib.format
    old = form.read_magic(file) == (1, 0)
    header = form.read_array_header_1_0(file) if old else form.read_array_header_2_0(file)
    shape, _, dtype = header
    if dtype.hasobject:
        values: np.ndarray[Any, Any] = load_pickle(file)
        return values.reshape(shape)
    file.seek(0)
    array: np.ndarray[Any, Any] = form.read_array(file, allow_pickle=False)
    return array
