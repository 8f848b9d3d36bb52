"""Files as strings: of lib.io.file_io; a key of saved_model.constants."""

from __future__ import annotations

from typing import Any

from graphio.io import gfile
from graphio.support import api_guard

__all__ = ["TRAIN_OP_KEY", "read_file_to_string", "write_string_to_file"]

TRAIN_OP_KEY = "saved_model_train_op"


@api_guard.unguarded
def read_file_to_string(filename: Any, binary_mode: bool = False) -> Any:
    """The content of a file: a string, or bytes with binary_mode."""
    with gfile.GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()


@api_guard.unguarded
def write_string_to_file(filename: Any, file_content: Any, overwrite: bool = True) -> None:
    """Writes a string or bytes to a file.

    Raises:
        AlreadyExistsError: the file is there and overwrite is False.
    """
    if not overwrite and gfile.exists(filename):
        from graphio.support import errors

        raise errors.AlreadyExistsError(message=f"{filename} already exists")
    with gfile.GFile(filename, "wb" if isinstance(file_content, bytes) else "w") as file:
        file.write(file_content)
