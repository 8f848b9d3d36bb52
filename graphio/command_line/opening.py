"""The kind of a file, from its bytes, and models of any format as bytes of a .gio file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graphio.command_line.exits import Refused
from graphio.schema import foreign
from graphio.storage import files, stores
from graphio.support import errors

__all__ = [
    "CHECKPOINT",
    "MODEL",
    "ONNX",
    "TENSORFLOW",
    "WEIGHTS",
    "kind_of",
    "model_bytes",
    "naming",
    "prefix_of",
    "size_in_store",
    "unpacked",
]

MODEL = "graphio model"
ONNX = "ONNX model"
TENSORFLOW = "TensorFlow model"
CHECKPOINT = "graphio checkpoint"
WEIGHTS = "weights"
#: kinds that can be run
MODELS = (MODEL, ONNX, TENSORFLOW)

_MODEL_MAGIC = b"\x89GIO\r\n\x1a\n"
_INDEX_MAGIC = b"\x89GIX\r\n\x1a\n"
#: kinds recognised by the ending of the name
_MESSAGES = {".onnx": ONNX, ".pb": TENSORFLOW, ".pbtxt": TENSORFLOW}
_WEIGHTS = (".safetensors", ".npz", ".npy", ".pt", ".pth", ".bin", ".index.json")


def kind_of(path: str) -> str:
    """The kind of the file or folder at a path, or at a checkpoint's prefix.

    Raises:
        Refused: there is no such file, or it is of no kind that graphio knows.
    """
    if stores.is_remote(path):
        return _in_store(path)
    if os.path.isfile(path):
        return _of_file(path, files.map_file(path))
    if os.path.isdir(path):
        return _folder(path)
    if stores.plain(path) and os.path.isfile(path + ".index"):
        return CHECKPOINT if _starts(path + ".index", _INDEX_MAGIC) else WEIGHTS
    if os.path.exists(path):
        raise Refused(f"'{path}' is not a regular file: pipes and devices are not read")
    raise Refused(f"there is no file, folder or checkpoint '{path}'")


def _in_store(url: str) -> str:
    """As kind_of, for a URL of an object store."""
    from graphio.tensorflow_files.reading import is_saved_model
    from graphio.train.interop.reading import map_bytes

    store, name = stores.of(url)
    if name and store.exists(name):
        return _of_file(url, map_bytes(url))
    if name and store.exists(f"{name}.index"):
        return CHECKPOINT if store.read(f"{name}.index").startswith(_INDEX_MAGIC) else WEIGHTS
    if is_saved_model(url):
        return TENSORFLOW
    names = stores.of_folder(url).names()
    if not names:
        raise Refused(f"there is no file, folder or checkpoint '{url}'")
    return CHECKPOINT if any(n.endswith(".index") for n in names) else WEIGHTS


def size_in_store(url: str) -> int:
    """Bytes of a file of an object store, or of all whose names begin as a prefix and a dot."""
    store, name = stores.of(url)
    if name and store.exists(name):
        return store.open(name).size
    return sum(store.open(n).size for n in store.names() if n.startswith(f"{name}."))


def _of_file(path: str, data: memoryview) -> str:
    """The kind of a file by its bytes, and by its name where these are ambiguous."""
    head = bytes(data[:8])
    if head == _MODEL_MAGIC:
        return MODEL
    if head == _INDEX_MAGIC:
        return CHECKPOINT
    suffix = Path(path).suffix.lower()
    if head and (path.endswith(_WEIGHTS) or suffix == ".meta"):
        return WEIGHTS
    if head and suffix in _MESSAGES:
        return _MESSAGES[suffix]
    if kind := foreign.kind_of(data) or foreign.kind_of_name(path):
        raise Refused(f"'{path}' is {kind}")
    if suffix == ".gio":
        raise Refused(f"'{path}' is not a model file: it does not begin as one")
    raise Refused(
        f"'{path}' is neither a model nor a checkpoint of graphio's, and its name ends in none of "
        f".onnx, .pb, .pbtxt, {', '.join(_WEIGHTS)}"
    )


def _folder(path: str) -> str:
    from graphio.tensorflow_files.reading import is_saved_model

    if is_saved_model(path):
        return TENSORFLOW
    if any(
        name.endswith(".index") and _starts(os.path.join(path, name), _INDEX_MAGIC)
        for name in sorted(os.listdir(path))
    ):
        return CHECKPOINT
    return WEIGHTS


def _starts(path: str, magic: bytes) -> bool:
    with open(path, "rb") as file:
        return file.read(len(magic)) == magic


def prefix_of(path: str) -> str:
    """A checkpoint's prefix or folder: its index may be named as well."""
    if stores.is_remote(path):
        return path.removesuffix(".index")
    return (
        path.removesuffix(".index")
        if os.path.isfile(path) and _starts(path, _INDEX_MAGIC)
        else path
    )


def model_bytes(path: str, optimize: str = "exact") -> bytes:
    """A model of any format as the bytes of a model file of ours.

    Raises:
        Refused: it is not a model.
        OpError, ValueError: it is damaged, or has operators that graphio lacks (all are listed).
    """
    kind = kind_of(path)
    if kind == MODEL:
        return stores.loadable(path) if stores.is_remote(path) else Path(path).read_bytes()
    if kind == ONNX:
        from graphio.onnx import convert
    elif kind == TENSORFLOW:
        from graphio.tensorflow_files import convert
    else:
        raise Refused(
            f"'{path}' is not a model but {kind}, expected one (.gio, .onnx, .pb, SavedModel)"
        )
    data = convert(path, optimize=optimize)
    if data is None:
        raise errors.InternalError(message=f"'{path}' was converted to nothing")
    return data


def unpacked(path: str, optimize: str = "exact", *, lazy: bool = False) -> tuple[Any, Any]:
    """The message and the arrays of a model of any format; lazy: see container.unpack.

    Raises:
        As model_bytes; errors in the file name it.
    """
    from graphio.schema import container

    data = model_bytes(path, optimize)
    with naming(path):
        return container.unpack(data, lazy=lazy)


@contextlib.contextmanager
def naming(path: str) -> Iterator[None]:
    """A context in which an error in the bytes of a file begins with the file's path."""
    try:
        yield
    except errors.OpError as error:
        named = type(error)(None, None, f"{path}: {error.message}", error.error_code)
        raise named.with_traceback(error.__traceback__) from error.__cause__
