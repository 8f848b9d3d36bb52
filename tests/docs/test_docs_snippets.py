"""The code of every page runs as it stands: Python, C and commands (page_snippets.py says how)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import c_programs
import page_snippets
import pytest
from folders import ROOT

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
#: packages without which a page cannot run
NEEDED = {
    "data": ["pyarrow"],
    "onnx": ["sklearn", "skl2onnx"],
    "serving": ["starlette", "httpx", "uvicorn", "prometheus_client"],
    "training": ["matplotlib"],
    "tutorial": ["typer"],
}
#: pages with trainings that their readers start again
AGAIN = ("README", "training", "tutorial")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def output(command: list[str], folder: Path, path: str) -> str:
    environment = {**os.environ, "PATH": path, "GRAPHIO_ROOT": str(ROOT)}
    environment.pop("GRAPHIO_TARGET", None)
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """PATH with the commands of an environment that has graphio."""
    folder = tmp_path_factory.mktemp("bin")
    for name, words in {"graphio": ["-m", "graphio"], "python3": []}.items():
        command = [sys.executable, *words]
        call = f"os.execv({sys.executable!r}, [*{command!r}, *sys.argv[1:]])"
        (folder / name).write_text(f"#!{sys.executable}\nimport os\nimport sys\n\n{call}\n")
        (folder / name).chmod(0o755)
    return os.pathsep.join([str(folder), os.environ["PATH"]])


def run_c(program: page_snippets.Program, page: Path, folder: Path, path: str) -> None:
    """A complete program, or one that page_setups/ makes of the section's blocks."""
    (folder / "page.c").write_text(program.code("c"))
    (section,) = {block.section for block in program.blocks if block.kind == "c"}
    frame = page_snippets.SETUPS / page.stem / f"{section}.c"
    source = frame if frame.exists() else folder / "page.c"
    command = [c_programs.compiler("cc"), "-std=c11", *WARNINGS, "-I.", str(source)]
    output([*command, *c_programs.installed_flags(), "-o", "page"], folder, path)
    output(["./page"], folder, path)


def pages_with_code() -> list[Path]:
    return [page for page in PAGES if page_snippets.programs(page)]


@pytest.mark.parametrize("page", pages_with_code(), ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page: Path, path: str, tmp_path: Path) -> None:
    for package in NEEDED.get(page.stem, []):
        pytest.importorskip(package)
    for number, program in enumerate(page_snippets.programs(page)):
        folder = tmp_path / str(number)
        folder.mkdir()
        if text := program.python():
            (folder / "page.py").write_text(text)
            for _ in range(2 if page.stem in AGAIN else 1):
                output([sys.executable, "page.py"], folder, path)
        if program.code("c"):
            run_c(program, page, folder, path)
        if commands := program.code("shell"):
            output(["bash", "-euc", commands], folder, path)


def test_most_blocks_run_and_setups_belong_to_sections() -> None:
    sections, ran, excused = set(), 0, []
    for page in PAGES:
        for block in page_snippets.blocks(page.read_text()):
            sections.add((page.stem, block.section))
            if block.excuse:
                excused.append(f"{page.name}:{block.line}: {block.excuse}")
            else:
                ran += 1
    setups = {(path.parent.name, path.stem) for path in page_snippets.SETUPS.glob("*/*.*")}
    assert setups <= sections
    assert ran > 4 * len(excused), excused


PAGE = """# A page

## One's own

```python
import graphio as tf
a = 1
```

<!-- not run: it needs a bucket -->
```sh
rm bucket
```

```text
no code
```

```python
b = a
```

## Another

```console
$ true
what it prints
$ false
```

```python
import graphio as tf
c = 2
```
"""


def test_a_page_is_cut_at_imports_and_excuses_are_read(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text(PAGE)
    found = page_snippets.blocks(PAGE)
    assert [(b.kind, b.section, b.line) for b in found] == [
        ("python", "ones-own", 5),
        ("shell", "ones-own", 11),
        ("python", "ones-own", 19),
        ("shell", "another", 25),
        ("python", "another", 31),
    ]
    assert [b.excuse for b in found] == ["", "it needs a bucket", "", "", ""]
    first, second = page_snippets.programs(page)
    assert first.python() == "import graphio as tf\na = 1\n\nb = a\n"
    assert first.code("shell") == "true\nfalse\n"
    assert second.python() == "import graphio as tf\nc = 2\n"
