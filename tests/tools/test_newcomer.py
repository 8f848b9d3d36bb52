"""The tools of a newcomer: a walk through a page, and the Makefile's targets in fresh clones."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from folders import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import make_targets
import readme_walk
from newcomer import Newcomer, newcomer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="bash, make")
PAGE = """# A page

First `pip install --help`, which `pip install
--help` is, too; `xs`, `-lm` and `make` alone are not commands.

<!-- not run: it needs time -->
```sh
cd /  # somewhere
export WORD=one \\
  OTHER=two
test "$WORD $PWD" = "one /"
cd "$HOME/../graphio"
```

```python
import graphio as tf
print(1)
```

```c
int main(void) { return 0; }
```

`cc -std=c11 program.c` builds it.

```py
print(2)
```

```text
rm -rf /
```
"""


@pytest.fixture
def someone(tmp_path: Path) -> Newcomer:
    """A newcomer whose checkout holds a package that is imported in no time."""
    checkout = tmp_path / "graphio"
    (checkout / "graphio").mkdir(parents=True)
    (checkout / "graphio" / "__init__.py").touch()
    (tmp_path / "home").mkdir()
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    return Newcomer(checkout, {"HOME": str(tmp_path / "home"), "PATH": path}, checkout)


def page(someone: Newcomer, text: str) -> Path:
    path = someone.checkout / "PAGE.md"
    path.write_text(text)
    return path


def test_a_page_is_walked_in_its_order_with_commands_of_the_prose(someone: Newcomer) -> None:
    found = [(s.kind, s.code.split("\n")[0]) for s in readme_walk.steps(page(someone, PAGE))]
    assert found == [
        ("shell", "pip install --help"),
        ("shell", "cd /  # somewhere"),
        ("shell", "export WORD=one   OTHER=two"),
        ("shell", 'test "$WORD $PWD" = "one /"'),
        ("shell", 'cd "$HOME/../graphio"'),
        ("python", "import graphio as tf"),
        ("c", "int main(void) { return 0; }"),
        ("shell", "cc -std=c11 program.c"),
        ("python", "print(2)"),
    ]


def test_steps_share_a_shell_a_program_and_a_folder(
    someone: Newcomer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert readme_walk.walk([page(someone, PAGE)], someone, "", True) == 0
    reported = capsys.readouterr().out
    assert reported.count(" ok ") == 9 and "FAILED" not in reported
    assert re.search(r"^    1\n    2$", reported, re.MULTILINE)
    assert (someone.checkout / "a.out").exists()


def test_the_first_step_that_fails_ends_the_walk_and_shows_what_it_printed(
    someone: Newcomer, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "```sh\necho reason; false\necho never\n```\n"
    assert readme_walk.walk([page(someone, text)], someone, "", False) == 1
    reported = capsys.readouterr().out
    assert "FAILED" in reported and "    reason\n" in reported and "never" not in reported


def test_a_program_that_fails_and_a_compiled_one_end_the_walk_too(someone: Newcomer) -> None:
    for text in (
        "```py\nraise SystemExit(3)\n```\n",
        "```c\nint main(void) { return 1; }\n```\n`cc app.c`\n",
    ):
        assert readme_walk.walk([page(someone, text)], someone, "", False) == 1


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("cc app.c", "a.out"),
        ("cc -O2 app.c $(flags --libs) -o app", "app"),
        ("cc -c app.c -o app.o", ""),
        ("gcc -shared a.c -o a.so", ""),
        ("make app", ""),
    ],
)
def test_a_program_is_run_where_a_command_compiles_one(command: str, program: str) -> None:
    assert readme_walk.program_of(command) == program


def test_steps_are_left_out_by_request_only(
    someone: Newcomer, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "```sh\nmake test\necho ran\n```\n"
    assert readme_walk.walk([page(someone, text)], someone, "make (test|all)", False) == 0
    reported = capsys.readouterr().out
    assert "left out  make test" in reported and reported.count(" ok ") == 1


def test_every_command_of_the_readme_is_a_step() -> None:
    found = [step.code for step in readme_walk.steps(ROOT / "README.md")]
    for begins in ("make demo", "make test", "pip install '.[cli]'", "cc ", "graphio run"):
        assert any(code.startswith(begins) for code in found), begins


def test_a_newcomer_has_the_committed_files_and_an_empty_home() -> None:
    if subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True).returncode:
        pytest.skip("no checkout of git")
    with newcomer(also=["WORD=one"]) as someone:
        done = someone.run('ls -A "$HOME"; echo "$WORD"; ls pyproject.toml; env')
        assert done.stdout.startswith("one\npyproject.toml\n"), done.stdout
        assert "VIRTUAL_ENV=" not in done.stdout and "PYTHONPATH=" not in done.stdout
    assert not someone.checkout.exists()


def targets() -> set[str]:
    """Names of the rules of the Makefile that are not files."""
    text = (ROOT / "Makefile").read_text()
    return set(re.findall(r"^([a-z][\w%-]*):(?!=)", text, re.MULTILINE))


def test_every_target_of_the_makefile_is_listed_and_no_other() -> None:
    assert targets() == set(make_targets.TARGETS)


def test_every_rule_of_the_makefile_that_makes_no_file_is_phony() -> None:
    text = re.sub(r"\\\n", " ", (ROOT / "Makefile").read_text())
    (phony,) = re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert {name for name in targets() if not name.startswith("proof-")} == set(phony.split())


def test_proofs_are_found_by_the_pattern_of_their_rule() -> None:
    assert make_targets.target_of("proof-kills") is make_targets.TARGETS["proof-%"]
    assert make_targets.target_of("proof-files") is make_targets.TARGETS["proof-files"]
    assert make_targets.target_of("proof-") is None and make_targets.target_of("tests") is None


@pytest.mark.skipif(shutil.which("make") is None, reason="make")
def test_make_knows_what_every_target_is_made_of() -> None:
    names = [name.replace("%", "kills") for name in make_targets.TARGETS]
    done = subprocess.run(["make", "-n", *names], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "name", [".ci/run", ".github/workflows/ci.yml", ".pre-commit-config.yaml", "CONTRIBUTING.md"]
)
def test_checks_and_guides_name_targets_that_the_makefile_has(name: str) -> None:
    lines = (ROOT / name).read_text().splitlines()
    command = re.compile(r"^\s*(?:- run: |entry: |\| `)?make (?:PYTHON=\S+ )?([a-z][\w-]*)")
    named = [found[1] for line in lines if (found := command.match(line))]
    assert len(named) > 1 and [n for n in named if make_targets.target_of(n) is None] == []


@pytest.mark.skipif(shutil.which("make") is None, reason="make")
def test_acceptance_programs_of_others_are_run_where_they_are_and_not_required(
    tmp_path: Path,
) -> None:
    def commands(folder: Path) -> str:
        """The commands of make acceptance, without its environment and the project's programs."""
        made = ["make", "-n", "acceptance", f"ACCEPTANCE={folder}", "-o", ".venv/dev.stamp"]
        text = subprocess.run(made, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        assert "pytest -q -n0 tests/acceptance" in text
        text = text[text.index("if [") :].replace(".venv/bin/python", sys.executable)
        done = subprocess.run(["sh", "-ec", text], capture_output=True, text=True, check=False)
        return f"{done.returncode}: {done.stdout}"

    assert commands(tmp_path).startswith("0: no further acceptance programs")
    (tmp_path / "run_all.py").write_text(
        "import os, sys\nprint('ran in', os.environ['GRAPHIO_TARGET'])\n"
        "sys.exit(os.environ['GRAPHIO_TARGET'] == 'cinfer')\n"
    )
    found = commands(tmp_path)
    assert found.startswith("1: ") and "ran in runtime" in found and "ran in cinfer" in found
