"""The folders of the repository."""

from __future__ import annotations

import os
from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
TESTS = SUPPORT.parent
ROOT = TESTS.parent
CINFER = ROOT / "cinfer"
GOLDEN = TESTS / "golden"
TENSORFLOW_MODELS = TESTS / "tensorflow_models"


def environment(**more: str) -> dict[str, str]:
    """The environment of a Python program that imports what the tests import."""
    found = [str(TESTS), str(SUPPORT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, found)), **more}
