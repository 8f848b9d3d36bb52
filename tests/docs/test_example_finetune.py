"""examples/finetune learns the digits that its network has not seen, in both engines."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from engines import BOTH, module
from folders import ROOT

SCRIPT = ROOT / "examples" / "finetune" / "finetune.py"


@BOTH
def test_finetune(engine: str, tmp_path: Path) -> None:
    module(engine)
    pytest.importorskip("sklearn")
    written = tmp_path / "finetuned.onnx"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--engine", engine, "--out", str(written)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = dict(re.findall(r"accuracy (before|after) ([0-9.]+)", done.stdout))
    assert float(found["before"]) < 0.6 and float(found["after"]) > 0.95
    assert written.exists()
