"""Inputs of a run out of files: arrays, tables, pictures."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from graphio.command_line.exits import USAGE, Refused
from graphio.command_line.extras import need
from graphio.engine.interface import TensorSpec

__all__ = ["read_arrays", "read_inputs"]

Array = np.ndarray[Any, Any]
Specs = Mapping[str, TensorSpec]
_PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")


def read_inputs(
    given: Sequence[str], specs: Specs, others: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """Arrays for a signature's inputs.

    Args:
        given: "FILE", whose arrays or columns have the names of inputs, or which is the only
            input; or "NAME=FILE", where FILE may be a pattern of several pictures.
        specs: the signature's inputs.
        others: inputs that are not in files.

    Returns:
        By name of an input, converted to its type where no value changes.

    Raises:
        Refused: a file that is not there or not understood, an input that is missing, given twice
            or unknown.
    """
    found: dict[str, Any] = dict(others)
    for text in given:
        name, file = _parted(text, specs)
        for key, array in _read(name, file, specs).items():
            if key in found:
                raise Refused(f"input '{key}' is given twice", USAGE)
            found[key] = array
    missing = [
        name
        for name, spec in specs.items()
        if name not in found and spec.kinds[:1] != ("optional",)
    ]
    unknown = [name for name in found if name not in specs]
    if missing or unknown:
        problems = [f"no input {', '.join(missing)}"] if missing else []
        problems += [f"'{', '.join(unknown)}' is none of its inputs"] if unknown else []
        raise Refused(f"{' and '.join(problems)}; the signature takes {_listed(specs)}", USAGE)
    return {name: _typed(name, found[name], specs[name]) for name in specs if name in found}


def _listed(specs: Specs) -> str:
    return ", ".join(f"{name} {spec.dtype}{list(spec.shape or ())}" for name, spec in specs.items())


def _parted(text: str, specs: Specs) -> tuple[str | None, str]:
    """Name and file; a file's own name may have an equals sign."""
    name, equals, file = text.partition("=")
    if equals and (name in specs or not os.path.exists(text)):
        return name, file
    return None, text


def _read(name: str | None, path: str, specs: Specs) -> dict[str, Any]:
    suffix = os.path.splitext(path)[1].lower()
    if name is not None:
        _spec(name, specs)
    if suffix in _PICTURES:
        name = name or _only(path, specs)
        return {name: _pictures(path, _spec(name, specs))}
    if not os.path.isfile(path):
        raise Refused(f"there is no file '{path}'")
    if suffix == ".npz":
        arrays = read_arrays(path)
        return arrays if name is None else {name: _one_of(arrays, name, path)}
    if suffix == ".npy":
        return {name or _only(path, specs): next(iter(read_arrays(path).values()))}
    if suffix not in _TABLES:
        known = ", ".join((".npz", ".npy", *_TABLES, *_PICTURES))
        raise Refused(f"'{path}' ends in none of {known}", USAGE)
    need("pyarrow")
    try:
        table = _TABLES[suffix](path)
    except (OSError, ValueError) as error:
        raise Refused(f"'{path}' cannot be read: {error}") from None
    return _columns(table, name, path, specs)


def read_arrays(path: str) -> dict[str, Array]:
    """The arrays of a .npz or .npy file by name.

    Raises:
        Refused: it is not there, damaged, or has Python objects in it, which are not read.
    """
    from graphio.train.interop.values import load_values

    if not os.path.isfile(path):
        raise Refused(f"there is no file '{path}'")
    return dict(load_values(path))


def _spec(name: str, specs: Specs) -> TensorSpec:
    if name not in specs:
        raise Refused(
            f"'{name}' is none of its inputs; the signature takes {_listed(specs)}", USAGE
        )
    return specs[name]


def _only(path: str, specs: Specs) -> str:
    if len(specs) != 1:
        raise Refused(
            f"which input is '{path}'? Say NAME={path}; there are {_listed(specs)}", USAGE
        )
    return next(iter(specs))


def _one_of(arrays: Mapping[str, Array], name: str, path: str) -> Array:
    if name in arrays:
        return arrays[name]
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    raise Refused(f"'{path}' has {', '.join(arrays)}, but no '{name}'")


# ---- tables ----


def _csv(path: str) -> dict[str, Array]:
    from pyarrow import csv

    return _arrow(csv.read_csv(path))


def _parquet(path: str) -> dict[str, Array]:
    from pyarrow import parquet

    return _arrow(parquet.read_table(path))


def _arrow(table: Any) -> dict[str, Array]:
    return {name: table.column(name).to_numpy() for name in table.column_names}


_TABLES: Mapping[str, Callable[[str], dict[str, Array]]] = {
    ".csv": _csv,
    ".parquet": _parquet,
}


def _columns(
    table: Mapping[str, Array], name: str | None, path: str, specs: Specs
) -> dict[str, Any]:
    """Columns named as inputs, each one input; else all columns together, side by side."""
    if name is None and all(key in table for key in specs):
        return {key: _as_column(table[key], specs[key]) for key in specs}
    name = name or _only(path, specs)
    if name in table:
        return {name: _as_column(table[name], _spec(name, specs))}
    strings = [key for key, column in table.items() if column.dtype == object]
    if strings and _spec(name, specs).dtype != object:
        raise Refused(
            f"columns {', '.join(strings)} of '{path}' are not numbers, which '{name}' takes"
        )
    return {name: np.stack([np.asarray(column) for column in table.values()], axis=1)}


def _as_column(column: Array, spec: TensorSpec) -> Array:
    return column[:, None] if spec.shape is not None and len(spec.shape) == 2 else column


# ---- pictures ----


def _pictures(pattern: str, spec: TensorSpec) -> Array:
    """Pictures as a batch in the layout and size of the input; floats are between 0 and 1."""
    paths = sorted(glob.glob(pattern)) or [pattern]
    shape = spec.shape
    if shape is None or len(shape) != 4:
        raise Refused(f"input '{spec.name}' has shape {shape}; a picture is [batch, ...] of rank 4")
    first = shape[1] in (1, 3, 4) and shape[3] not in (1, 3, 4)
    channels, height, width = shape[1:] if first else (shape[3], shape[1], shape[2])
    batch = np.stack([_picture(path, channels, height, width) for path in paths])
    if first:
        batch = batch.transpose(0, 3, 1, 2)
    if spec.dtype.kind == "f":
        scaled: Array = (batch / np.float32(255)).astype(spec.dtype)
        return scaled
    return np.ascontiguousarray(batch)


_MODES = {1: "L", 3: "RGB", 4: "RGBA"}


def _picture(path: str, channels: int | None, height: int | None, width: int | None) -> Array:
    """[height, width, channels] of uint8."""
    pillow = need("PIL.Image")
    if not os.path.isfile(path):
        raise Refused(f"there is no file '{path}'")
    with pillow.open(path) as image:
        image = image.convert(_MODES.get(channels or 3, "RGB"))
        if height is not None and width is not None and image.size != (width, height):
            image = image.resize((width, height), pillow.Resampling.BILINEAR)
        array: Array = np.asarray(image)
    return array[:, :, None] if array.ndim == 2 else array


# ---- types ----


def _typed(name: str, value: Any, spec: TensorSpec) -> Any:
    """The array in the input's type; numbers that the type cannot hold are refused."""
    array = np.asarray(value)
    if spec.kinds or array.dtype == spec.dtype:
        return value
    if spec.dtype == object:
        return np.array([str(v).encode() for v in array.ravel()], object).reshape(array.shape)
    if array.dtype.kind in "OSU":
        raise Refused(f"input '{name}' is text, expected {spec.dtype}")
    with np.errstate(all="ignore"):
        cast = array.astype(spec.dtype)
    floats = spec.dtype.kind == "f" and array.dtype.kind in "fiub"
    if not floats and not np.array_equal(cast, array):
        raise Refused(f"input '{name}' is {array.dtype} with values that {spec.dtype} cannot hold")
    return cast
