"""Twenty seconds of tools/fuzz_operators.py: no untrusted node kills an engine."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from folders import ROOT

pytest.importorskip("graphio.cinfer._native", reason="the C library was not built")
pytest.importorskip("resource", reason="the fuzzer limits memory as POSIX systems do")
TOOL = ROOT / "tools" / "fuzz_operators.py"


def test_mutated_nodes_are_answered_or_refused() -> None:
    command = [sys.executable, str(TOOL), "--rows", "--seconds", "15", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    mutants = re.search(r"^(\d+) mutants", done.stdout, re.MULTILINE)
    assert mutants is not None and int(mutants[1]) > 100, done.stdout[-1000:]
