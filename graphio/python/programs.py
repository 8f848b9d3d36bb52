"""Runs a program of TensorFlow as it is: `python -m graphio program.py`."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["run"]


def run(program: Sequence[str]) -> None:
    """Runs a program as `python program.py` does; hook.install comes before.

    Args:
        program: the file and its arguments, or -m, a module and its arguments.

    Raises:
        SystemExit: by the program, or for a program that is not there.
    """
    if program[0] == "-m":
        if len(program) == 1:
            sys.exit("graphio: -m needs a module")
        sys.argv = list(program[1:])
        sys.path.insert(0, "")
        runpy.run_module(program[1], run_name="__main__", alter_sys=True)
        return
    if not Path(program[0]).exists():
        sys.exit(f"graphio: can't open file {program[0]!r}: there is no such file")
    sys.argv = list(program)
    sys.path.insert(0, str(Path(program[0]).resolve().parent))
    runpy.run_path(program[0], run_name="__main__")
