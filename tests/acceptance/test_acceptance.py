"""Every program of this folder runs to its end in each engine; its assertions are the checks.

A program is complete: `python tests/acceptance/linear_regression.py` runs it alone. Here all run
in one process, each in a folder and a default graph that it has to itself.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import graphio as tf

FOLDER = Path(__file__).resolve().parent
PROGRAMS = sorted(path for path in FOLDER.glob("*.py") if not path.name.startswith("test_"))


@pytest.mark.parametrize("engine", ["runtime", "cinfer"])
@pytest.mark.parametrize("program", PROGRAMS, ids=[path.stem for path in PROGRAMS])
def test_the_program_runs_to_its_end(
    program: Path, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHIO_TARGET", engine)
    monkeypatch.chdir(tmp_path)
    with tf.Graph().as_default():
        runpy.run_path(str(program), run_name="__main__")


def test_the_folder_has_programs() -> None:
    assert len(PROGRAMS) >= 7
