"""Runs everything that README.md tells a newcomer to run, in order, in a fresh clone.

python tools/readme_walk.py                          fails on the first step that fails
python tools/readme_walk.py --without 'make test'    leaves out steps in which the pattern is found
python tools/readme_walk.py README.md docs/tutorial.md   one page after another

Steps are the blocks in sh, python, py and c, those with `<!-- not run: ... -->` as well, and
commands in the prose (`pip install .`). A block of Python continues the program above it, unless it
imports graphio; C is written to the file that a later command names.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from newcomer import ROOT, Newcomer, commit, newcomer

sys.path.insert(0, str(ROOT / "tests/support"))
import page_snippets

PROSE = re.compile(r"`((?:pip install|python3?|make|cmake|cc|graphio)\s[^`]+)`")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
#: commands whose exit code is an answer: files that differ
ANSWERS = {"graphio diff": (0, 1)}


@dataclass(frozen=True)
class Step:
    """Something to run: a command, or a block of python or c."""

    kind: str
    code: str
    origin: str


def commands(code: str) -> Iterator[str]:
    """The commands of a shell block; one that goes on over several lines stays together."""
    if "<<" in code or re.search(r"^(for|if|while)\b", code, re.MULTILINE):
        yield code
        return
    for line in re.sub(r"\\\n", "", code).splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.strip()


def steps(page: Path) -> list[Step]:
    """The steps of a page, in its order; a command in the prose once."""
    text, found, seen = page.read_text(), [], set()
    for block in page_snippets.blocks(text):
        parts = list(commands(block.code)) if block.kind == "shell" else [block.code]
        origin = f"{page.name}:{block.line}"
        found += [(block.line, Step(block.kind, part, origin)) for part in parts]
        seen |= {re.sub(r"\s*#.*", "", part) for part in parts}
    prose = FENCED.sub(lambda match: "\n" * match[0].count("\n"), text)
    for match in PROSE.finditer(prose):
        command, line = " ".join(match[1].split()), prose.count("\n", 0, match.start()) + 1
        if command not in seen:
            found.append((line, Step("shell", command, f"{page.name}:{line}")))
            seen.add(command)
    return [step for _, step in sorted(found, key=lambda pair: pair[0])]


def c_file(following: list[Step]) -> str:
    """The file that a C block is meant to be in: the first that a later command compiles."""
    for step in following:
        if step.kind == "shell" and (named := re.search(r"(?<!\S)\w+\.c\b", step.code)):
            return named[0]
    return "app.c"


def program_of(command: str) -> str:
    """The program that a command compiles, or ""."""
    if not re.match(r"(cc|gcc|clang)(?!.*\s-(c|shared)\s)\s", command):
        return ""
    named = re.search(r"\s-o\s+(\S+)", command)
    return named[1] if named else "a.out"


class Walk:
    """A newcomer who goes through a page's steps."""

    def __init__(self, someone: Newcomer) -> None:
        self.someone = someone
        self.program = ""

    def take(self, step: Step, following: list[Step]) -> tuple[bool, str]:
        """Runs a step; says whether it succeeded, and its output."""
        if step.kind == "c":
            (self.someone.folder / c_file(following)).write_text(step.code)
            return True, ""
        if step.kind == "python":
            begins = page_snippets.START in step.code
            self.program = step.code if begins else self.program + "\n" + step.code
            (self.someone.folder / "example.py").write_text(self.program)
            return self._run("python3 example.py", (0,))
        good = next((codes for name, codes in ANSWERS.items() if step.code.startswith(name)), (0,))
        done, output = self._run(step.code, good)
        program = f"./{program_of(step.code)}"
        if done and program != "./" and not any(program in later.code for later in following):
            done, more = self._run(program, (0,))
            output += more
        return done, output

    def _run(self, command: str, good: tuple[int, ...]) -> tuple[bool, str]:
        done = self.someone.run(command)
        return done.returncode in good, done.stdout


def walk(pages: list[Path], someone: Newcomer, without: str, verbose: bool) -> int:
    """Prints a line for each step; 1 when one failed, which is the last."""
    todo = [step for page in pages for step in steps(page)]
    going = Walk(someone)
    for number, step in enumerate(todo):
        title = step.code.strip().splitlines()[0] if step.kind == "shell" else f"[{step.kind}]"
        if without and re.search(without, step.code):
            print(f"{step.origin:20} left out  {title}", flush=True)
            continue
        start = time.monotonic()
        good, output = going.take(step, todo[number + 1 :])
        word = "ok    " if good else "FAILED"
        print(f"{step.origin:20} {word} {time.monotonic() - start:5.1f} s  {title}", flush=True)
        if verbose or not good:
            print("".join(f"    {line}\n" for line in output.splitlines()[-60:]), flush=True)
        if not good:
            return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pages", nargs="*", default=["README.md"])
    parser.add_argument("--without", default="", help="leave out steps that match this pattern")
    parser.add_argument(
        "--cache", default="", help="a folder for pip's downloads; else none is shared"
    )
    parser.add_argument("--verbose", action="store_true", help="show what steps print")
    arguments = parser.parse_args()
    print(f"a clone of {commit()}", flush=True)
    with newcomer(arguments.cache) as someone:
        pages = [someone.checkout / page for page in arguments.pages]
        return walk(pages, someone, arguments.without, arguments.verbose)


if __name__ == "__main__":
    sys.exit(main())
