"""The code of a page of the documentation, cut into programs that run.

A block in one of LANGUAGES runs, unless the line before it says why not:
`<!-- not run: it needs a bucket -->`. The code that a page presupposes is in page_setups/<page>/,
in files that are called like the section: `<section>.py` runs before the section's first block and
starts a program in a new folder, as `import graphio as tf` in a block does; `<section>.c`
includes the section's C as "page.c".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from folders import TESTS

SETUPS = TESTS / "page_setups"
LANGUAGES = {"python": "python", "py": "python", "c": "c", "sh": "shell", "console": "shell"}
NOT_RUN = re.compile(r"^<!-- not run: (.+) -->$")
START = "import graphio as tf\n"


@dataclass(frozen=True)
class Block:
    """Lines between fences.

    Attributes:
        kind: python, c or shell.
        line: number of the fence in the page.
        section: the heading above, as a file is called.
        excuse: why it does not run, or "".
    """

    kind: str
    code: str
    line: int
    section: str
    excuse: str


@dataclass
class Program:
    """Blocks that run one after another in one folder, first the Python."""

    setup: str
    blocks: list[Block] = field(default_factory=list)

    def code(self, kind: str) -> str:
        return "\n".join(block.code for block in self.blocks if block.kind == kind)

    def python(self) -> str:
        return self.setup + self.code("python")


def slug(heading: str) -> str:
    """ "Files that others wrote" -> "files-that-others-wrote"."""
    words = re.findall(r"[a-z0-9]+", heading.lower().replace("'", ""))
    return "-".join(words)


def blocks(text: str) -> list[Block]:
    """Every block in a language that runs, excused or not."""
    found: list[Block] = []
    section, language, begin, excuse = "", None, 0, ""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        fence = re.match(r"^```(\w*)", line)
        if fence is None:
            if language is None and line.startswith("#"):
                section = slug(line)
        elif language is None:
            language, begin = fence[1], i
            above = NOT_RUN.match(lines[i - 1])
            excuse = above[1] if above else ""
        else:
            if kind := LANGUAGES.get(language):
                inside = lines[begin + 1 : i]
                if language == "console":
                    inside = [t.removeprefix("$ ") for t in inside if t.startswith("$ ")]
                code = "".join(f"{t}\n" for t in inside)
                found.append(Block(kind, code, begin + 1, section, excuse))
            language = None
    return found


def programs(page: Path) -> list[Program]:
    """The programs of a page that run."""
    made: list[Program] = []
    seen: set[str] = set()
    for block in blocks(page.read_text()):
        if block.excuse:
            continue
        setup = SETUPS / page.stem / f"{block.section}.py"
        begins = setup.exists() and block.section not in seen
        if begins or not made or (block.kind == "python" and START in block.code):
            made.append(Program(setup.read_text() if begins else ""))
        seen.add(block.section)
        made[-1].blocks.append(block)
    return made
