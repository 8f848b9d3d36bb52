"""The functions of the C library that the format takes where they were built."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from folders import ROOT

from graphio.cinfer import file_functions
from graphio.schema import crc32c
from graphio.storage import native


@pytest.fixture
def registration() -> Iterator[None]:
    """Restores the registered function after the test."""
    before = native.file_functions._function
    native.functions.cache_clear()
    yield
    native.file_functions._function = before
    native.functions.cache_clear()


def test_cinfer_registers_its_functions() -> None:
    assert native.functions() is file_functions


def test_the_functions_are_loaded_once_and_not_before_they_are_needed(registration: None) -> None:
    loaded: list[Any] = []
    made: Any = SimpleNamespace(crc32c=lambda data, crc: 7, start=lambda *where: None)
    native.file_functions.register(lambda: loaded.append(1) or made)
    assert not loaded
    assert native.functions() is native.functions() is made
    assert len(loaded) == 1


def test_functions_that_were_not_built_are_none(registration: None) -> None:
    def missing() -> native.Functions:
        raise ImportError("not built")

    native.file_functions.register(missing)
    assert native.functions() is None


def test_a_checksum_in_a_new_process_is_the_one_of_the_library() -> None:
    program = "from graphio.schema import crc32c as c; c.crc32c(b'x'); print(c._implementation())"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert "numpy" not in done.stdout and "crc32c" in done.stdout


@pytest.mark.parametrize("size", [0, 1, 63, 70_000])
def test_the_library_and_numpy_give_the_same_checksum(size: int) -> None:
    data = bytes(i * 31 % 251 for i in range(size))
    assert file_functions.crc32c(data, 5) == crc32c.crc32c_numpy(data, 5)
