"""Models of any format, opened in an engine, with the message of the file."""

from __future__ import annotations

import os
from typing import Any

from graphio.engine.interface import Model
from graphio.execution import engines
from graphio.schema import container
from graphio.schema import model_pb2 as pb
from graphio.serving.names import (
    MODEL_FILENAME,
    SAVED_MODEL_FILENAME_PB,
    SAVED_MODEL_FILENAME_PBTXT,
)
from graphio.serving.settings import Settings
from graphio.storage import files, stores
from graphio.support import errors

__all__ = ["ENDINGS", "bytes_of", "file_of", "holds_model", "opened"]

_ONNX = ".onnx"
_FOREIGN = (_ONNX, ".pb", ".pbtxt")
#: of files that are models
ENDINGS = (".gio", *_FOREIGN)
_TENSORFLOW = (SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT)


def holds_model(path: str) -> bool:
    """Whether a file or a folder is a model, by its name and those in it."""
    if not os.path.isdir(path):
        return path.endswith(ENDINGS)
    return any(os.path.isfile(os.path.join(path, name)) for name in (MODEL_FILENAME, *_TENSORFLOW))


def opened(path: str, settings: Settings) -> tuple[Model, pb.Model]:
    """A model, and its message.

    A .gio file is mapped, so processes that open it share its memory; other formats are converted
    to bytes of this process.

    Raises:
        OpError: the file is missing, damaged, or has operators that are not there.
    """
    engine = engines.choose(settings.target)
    source = _source(path)
    is_path = isinstance(source, str)
    message, _ = container.read(source, lazy=True) if is_path else container.unpack(source, True)
    model = engine.load(
        source,
        host=settings.functions or None,
        **({"threads": settings.threads} if engine.has("threads") else {}),
        **({"timeout": settings.timeout} if engine.has("timeout") else {}),
    )
    if engine.has("timeout"):
        model.timeout = settings.timeout  # type: ignore[attr-defined]
    return model, message


def bytes_of(path: str) -> Any:
    """The bytes of a model file, or those that one would hold. Raises as opened."""
    source = _source(path)
    return files.map_file(source) if isinstance(source, str) else source


def file_of(path: str) -> str | None:
    """The model file at a path or in a folder; None: it is a model of another format."""
    if os.path.isdir(path):
        file = os.path.join(path, MODEL_FILENAME)
        return file if os.path.isfile(file) else None
    return None if path.endswith(_FOREIGN) else path


def _source(path: str) -> Any:
    """The path of a model file, or the bytes that one would hold."""
    if (file := file_of(path)) is not None:
        return stores.loadable(file)
    if path.endswith(_ONNX):
        from graphio import onnx  # which the other formats do without

        return onnx.convert(path)
    if os.path.isdir(path) and not holds_model(path):
        raise errors.NotFoundError(
            message=f"'{path}' has no {MODEL_FILENAME} and no {SAVED_MODEL_FILENAME_PB}"
        )
    from graphio import tensorflow_files  # which model files do without

    return tensorflow_files.convert(path)
