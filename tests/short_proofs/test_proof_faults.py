"""R4, short: calls that fail are reported and lose nothing; see tests/proofs/faults.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from folders import TESTS
from proof_folders import quick  # noqa: F401
from proofs import cuts, faults, shim

SHORT = [
    "save, distinct prefixes, 1 kept",
    "save, same prefix",
    "save, asynchronous, same prefix",
    "restore, sharded, 1 kept",
    "open",
    "full disk, tmpfs",
    "full disk, ext4",
    "C: save, distinct prefixes, 1 kept",
]


@pytest.mark.parametrize("mode", SHORT)
def test_a_failing_call_is_reported_and_loses_nothing(mode: str, quick_folder: Path) -> None:
    trouble = cuts.why_not(mode.split()[-1]) if mode.startswith("full") else shim.why_not()
    if trouble:
        pytest.skip(trouble)
    run("--mode", mode, "--count", "1", "--folder", str(quick_folder))


def test_the_control_finds_temporary_files(quick_folder: Path) -> None:
    if trouble := shim.why_not():
        pytest.skip(trouble)
    control = next(name for name, mode in faults.MODES.items() if mode.control)
    run("--mode", control, "--count", "1", "--folder", str(quick_folder))


def run(*arguments: str) -> None:
    """Runs the proof in a new process, which starts again with the library."""
    command = [sys.executable, "-m", "proofs.faults", "--no-log", *arguments]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
