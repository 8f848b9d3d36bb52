"""The folder in which the short proofs work: in memory where there is such a file system."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from proofs.slices import memory


@pytest.fixture(name="quick_folder")
def quick() -> Iterator[Path]:
    """An empty folder, removed afterwards."""
    with tempfile.TemporaryDirectory(dir=memory()) as folder:
        yield Path(folder)
