"""The examples of README.md run as printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from folders import ROOT


def snippet(language: str) -> str:
    found = re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(found) == 1, f"README.md has {len(found)} examples in {language}, expected one"
    return str(found[0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the Python example has run."""
    where = tmp_path_factory.mktemp("readme")
    (where / "example.py").write_text(snippet("python"))
    done = subprocess.run(
        [sys.executable, "example.py"], cwd=where, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    (where / "printed").write_text(done.stdout)
    return where


def test_the_python_example_learns_and_is_short(folder: Path) -> None:
    assert snippet("python").count("\n") < 40
    loss = re.search(r"loss ([0-9.]+)", (folder / "printed").read_text())
    assert loss is not None and float(loss[1]) < 0.2
    assert (folder / "checkpoint").exists() and (folder / "xor.gio").exists()


def test_the_c_example_builds_as_the_readme_says_and_agrees(folder: Path) -> None:
    (folder / "app.c").write_text(snippet("c"))
    command = re.search(r"^cc .*$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert command is not None
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(command[0], shell=True, cwd=folder, check=True, env=environment, timeout=300)
    printed = subprocess.run(["./app"], cwd=folder, check=True, capture_output=True, text=True)
    probabilities = [float(v) for v in printed.stdout.split()]
    numbers = re.findall(
        r"[0-9]\.[0-9]+(?:e-?[0-9]+)?", (folder / "printed").read_text().split("[[")[1]
    )
    assert probabilities == pytest.approx([float(v) for v in numbers[:2]], abs=2e-6)


def test_the_page_on_debugging_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "debugging.md").read_text()
    program = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    (tmp_path / "train.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    shown = re.findall(r"(?:^    .*\n)+", re.sub(r"```.*?```", "", page, flags=re.DOTALL), re.M)
    for block in shown:
        words = " ".join(block.split())
        assert words in " ".join(done.stdout.split()), f"the page shows {words}"
    assert "y is [[5]]" in done.stderr


def test_newcomers_install_from_a_checkout() -> None:
    """The name graphio on PyPI is another project's."""
    named = re.compile(r"pip\s+install\s+[^\n]{0,20}graphio\b")
    folders = ("docs", "examples", "graphio", "runtime", "tools", "benchmarks", "schema")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.*")]
    sources = [*ROOT.glob("*.md"), *(path for path in files if path.suffix in (".md", ".py"))]
    assert [path for path in sources if named.search(path.read_text())] == []
    for page in ("README.md", "docs/command-line.md"):
        text = " ".join((ROOT / page).read_text().split())
        assert "the name graphio on PyPI is another project's" in text
