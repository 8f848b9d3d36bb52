"""The folder in which the short proofs work: in memory where there is such a file system."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = "/dev/shm"


@pytest.fixture(name="quick_folder")
def quick() -> Iterator[Path]:
    """An empty folder, removed afterwards."""
    inside = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=inside) as folder:
        yield Path(folder)
