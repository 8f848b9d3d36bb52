"""Builds the documentation site: every page where its links expect it, then mkdocs, strictly.

python tools/docs_site.py           build/site/html
python tools/docs_site.py --check   docs/reference/c.md is what the header says
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "build" / "site" / "pages"
HEADER = ROOT / "cinfer" / "include" / "cinfer.h"
REFERENCE = ROOT / "docs" / "reference" / "c.md"
#: files outside of docs/ that the pages link to
LINKED = (
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "SECURITY.md",
)
FOLDERS = ("schema", "examples", "tests/contributing")
COPIED = (".md", ".py", ".c", ".svg", ".png", ".proto", ".patch")

HEAD = """# C reference

Generated from `cinfer/include/cinfer.h` by `python tools/docs_site.py`; do not edit. C++ programs
include `cinfer.hpp`: the same, with handles that close themselves and exceptions.

"""


def c_reference() -> str:
    """The header as a page, with its sections and comments."""
    text = HEADER.read_text()
    about = text[text.index("/*") + 2 : text.index("*/")]
    lines = [re.sub(r"^ \* ?", "", line).rstrip() for line in about.strip().splitlines()[1:]]
    parts = [HEAD + "\n".join(lines).strip() + "\n"]
    body = text[text.index("/* ---- status") : text.index("/* end cdef")]
    sections = re.split(r"/\* ---- (.+?) ---- \*/\n", body)[1:]
    for title, code in zip(sections[::2], sections[1::2], strict=True):
        shown = re.sub(r"/\* clang-format (on|off) \*/\n", "", code).strip()
        parts.append(f"## {title[0].upper()}{title[1:]}\n\n```c\n{shown}\n```\n")
    return "\n".join(parts)


def files() -> Iterator[Path]:
    """Everything that a page is, shows or links to."""
    yield from (ROOT / name for name in LINKED)
    for folder in ("docs", *FOLDERS):
        yield from (p for p in sorted((ROOT / folder).rglob("*")) if p.suffix in COPIED)


def lay_out() -> None:
    shutil.rmtree(PAGES, ignore_errors=True)
    for file in files():
        target = PAGES / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        if REFERENCE.read_text() != c_reference():
            print(f"{REFERENCE.relative_to(ROOT)} is stale: python {sys.argv[0]}", file=sys.stderr)
            return 1
        return 0
    REFERENCE.write_text(c_reference())
    lay_out()
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
