"""Folders that cannot be synced (CIFS, vboxsf, DrvFs): one rule in both engines; a real error of
the disk fails the save and leaves nothing new."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import engines
import folders
import pytest
from proofs import shim
from unsynced_folders import NUMBERS

UNSUPPORTED = {"EINVAL", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"}


def test_a_folder_without_sync_takes_saves_and_a_failing_one_does_not(tmp_path: Path) -> None:
    engines.module("cinfer")
    if trouble := shim.why_not():
        pytest.skip(trouble)
    program = Path(__file__).with_name("unsynced_folders.py")
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path)],
        capture_output=True, text=True, check=False, env=folders.environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = {(number, who): what for number, who, what in json.loads(done.stdout)}
    assert len(found) == 5 * len(NUMBERS)
    expected = {
        key: "saved, saved" if key[0] in UNSUPPORTED else "reported, reported" for key in found
    }
    assert found == expected
