"""The version wherever it is written, and the order of the changelog.

python tools/release.py --check   every file has the same version, CHANGELOG.md is in order
python tools/release.py 0.2.0     writes a new version to all files and dates what is unreleased
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: files and the lines of them that have the version; a pattern's groups, joined by dots, are it
POSITIONS = {
    "pyproject.toml": r'^version = "(\S+)"$',
    "graphio/support/version.py": r'^graphio_version = "(\S+)"$',
    "graphio/schema/checkpoint_writer.py": r'^PRODUCER = "graphio (\S+)"$',
    "cinfer/CMakeLists.txt": r"^project\(cinfer VERSION (\S+) ",
    "cinfer/include/cinfer.h": "".join(
        rf"^#define CI_VERSION_{part} (\d+)\n" for part in ("MAJOR", "MINOR", "PATCH")
    ),
    "docs/command-line.md": r"^graphio (\S+)$",
}
CHANGELOG = "CHANGELOG.md"
HEADING = re.compile(r"^## \[(Unreleased|\d+\.\d+\.\d+)\](?: - (\d{4}-\d{2}-\d{2}))?$")
UNRELEASED = "## [Unreleased]"
#: of a version; the documents have the details
MOST_LINES = 60
#: the sections that Keep a Changelog knows
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def found(root: Path, name: str) -> re.Match[str] | None:
    return re.search(POSITIONS[name], (root / name).read_text(), re.MULTILINE)


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def version_problems(root: Path) -> Iterator[str]:
    """A line for every file whose version is not the package's."""
    expected = None
    for name in POSITIONS:
        match = found(root, name)
        if match is None:
            yield f"{name}: no version found"
            continue
        version = ".".join(match.groups())
        expected = expected or version
        if version != expected:
            yield f"{name}: version {version}, expected {expected}, which pyproject.toml has"


def headings(root: Path) -> list[tuple[int, str]]:
    """Numbers and titles of the changelog's lines that begin with ##."""
    lines = (root / CHANGELOG).read_text().splitlines()
    return [(i, line) for i, line in enumerate(lines, 1) if line.startswith("##")]


def length_problems(root: Path) -> Iterator[str]:
    """A line for every version that is described at too great a length."""
    text = (root / CHANGELOG).read_text()
    for part in re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]:
        title, lines = part.splitlines()[0], len(part.rstrip().splitlines())
        if lines > MOST_LINES:
            yield (
                f"{CHANGELOG}: '{title}' has {lines} lines, expected at most {MOST_LINES}:"
                " one sentence an entry, details in the documents"
            )


def changelog_problems(root: Path) -> Iterator[str]:
    """Versions in order and dated, sections by their names; no version newer than the package."""
    titles = [(i, line) for i, line in headings(root) if line.startswith("## ")]
    if not titles or titles[0][1] != UNRELEASED:
        yield f"{CHANGELOG}: begins with another section than {UNRELEASED}"
    package = found(root, "pyproject.toml")
    above = numbers(package[1]) if package else ()
    for i, title in titles:
        match = HEADING.match(title)
        if match is None or (match[1] == "Unreleased") != (match[2] is None):
            yield f"{CHANGELOG}:{i}: '{title}' is not '## [1.2.3] - 2030-12-31'"
        elif match[2]:
            if numbers(match[1]) > above:
                yield f"{CHANGELOG}:{i}: {match[1]} is newer than what stands above, or the package"
            above = numbers(match[1])
    for i, title in headings(root):
        if title.startswith("###") and title.removeprefix("### ") not in KINDS:
            yield f"{CHANGELOG}:{i}: '{title}' is none of {', '.join(sorted(KINDS))}"


def problems(root: Path) -> list[str]:
    return [*version_problems(root), *changelog_problems(root), *length_problems(root)]


def write(root: Path, version: str, today: str) -> None:
    """Writes the version into every file, and moves the unreleased changes under it."""
    for name in POSITIONS:
        match = found(root, name)
        assert match is not None, name
        text, parts = match.string, numbers(version)
        for i in range(len(match.groups()), 0, -1):
            new = version if len(match.groups()) == 1 else str(parts[i - 1])
            text = text[: match.start(i)] + new + text[match.end(i) :]
        (root / name).write_text(text)
    changelog = root / CHANGELOG
    dated = f"{UNRELEASED}\n\n## [{version}] - {today}"
    changelog.write_text(changelog.read_text().replace(UNRELEASED, dated, 1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("version", nargs="?", help="of the release, as 0.2.0")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    wrong = problems(ROOT)
    if not wrong and not arguments.check:
        if not re.fullmatch(r"\d+\.\d+\.\d+", arguments.version or ""):
            parser.error("a version as 0.2.0, or --check")
        write(ROOT, arguments.version, datetime.date.today().isoformat())
        wrong = problems(ROOT)
    for line in wrong:
        print(line, file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
