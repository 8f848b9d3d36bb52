"""The Python and the commands of guides run as they stand, in order."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXPORT = ROOT / "examples" / "finetune" / "digits.onnx"


def run_page(name: str, folder: Path) -> None:
    """Runs the Python of a page, then its commands."""
    page = (ROOT / "docs" / name).read_text()
    program = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    assert program, f"{name} has no example"
    (folder / "page.py").write_text(program)
    commands = [[sys.executable, "page.py"]]
    for line in re.findall(r"^\$ graphio (.*)$", page, re.MULTILINE):
        commands.append([sys.executable, "-m", "graphio", *shlex.split(line)])
    for command in commands:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


@pytest.mark.parametrize("name", ["tutorial.md", "training.md", "from-pytorch.md"])
def test_a_guide_runs(name: str, tmp_path: Path) -> None:
    shutil.copy(EXPORT, tmp_path)
    run_page(name, tmp_path)
