"""tf.resource_loader: files next to a program's source."""

from __future__ import annotations

import os
import sys

__all__ = [
    "get_data_files_path", "get_path_to_datafile", "get_root_dir_with_all_resources",
    "load_resource", "readahead_file_path",
]  # fmt: skip


def _folder(depth: int) -> str:
    return os.path.dirname(os.path.abspath(sys._getframe(depth + 1).f_code.co_filename))


def get_data_files_path() -> str:
    """The folder of the program's file that calls this."""
    return _folder(1)


def get_root_dir_with_all_resources() -> str:
    """The folder of the program's file that calls this."""
    return _folder(1)


def get_path_to_datafile(path: str) -> str:
    """A path relative to the program's file that calls this."""
    return os.path.join(_folder(1), path)


def load_resource(path: str) -> bytes:
    """The bytes of a file whose path is relative to the program's file that calls this."""
    with open(os.path.join(_folder(1), path), "rb") as file:
        return file.read()


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """The path as it is."""
    return path
