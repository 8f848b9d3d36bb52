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
from graphio.storage import stores
from graphio.support import errors

__all__ = ["ENDINGS", "holds_model", "opened"]

#: of files that are models
ENDINGS = (".gio", ".onnx", ".pb", ".pbtxt")
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


def _source(path: str) -> Any:
    """The path of a model file, or the bytes that one would hold."""
    if os.path.isdir(path):
        file = os.path.join(path, MODEL_FILENAME)
        if os.path.isfile(file):
            return file
        if holds_model(path):
            return _of_tensorflow(path)
        raise errors.NotFoundError(
            message=f"'{path}' has no {MODEL_FILENAME} and no {SAVED_MODEL_FILENAME_PB}"
        )
    if path.endswith(".onnx"):
        from graphio import onnx  # which the other formats do without

        return onnx.convert(path)
    if path.endswith((".pb", ".pbtxt")):
        return _of_tensorflow(path)
    return stores.loadable(path)


def _of_tensorflow(path: str) -> Any:
    from graphio import tensorflow_files  # which model files do without

    return tensorflow_files.convert(path)
