"""The settings of the documentation's site."""

from __future__ import annotations

import subprocess
import sys

import pytest
from folders import ROOT

#: without pydantic the options are fields of a dataclass, which takes no others
CHECK = """
import sys
sys.modules["pydantic"] = None
from mkdocs.config import load_config
config = load_config(sys.argv[1])
options = config.plugins["mkdocstrings"].config.handlers["python"]["options"]
from mkdocstrings_handlers.python import PythonOptions
print(PythonOptions.from_data(**options).docstring_style)
"""


def test_the_options_of_the_reference_are_known_with_and_without_pydantic() -> None:
    pytest.importorskip("mkdocstrings_handlers.python", reason="the documentation's packages")
    done = subprocess.run(
        [sys.executable, "-c", CHECK, str(ROOT / "mkdocs.yml")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "google"
