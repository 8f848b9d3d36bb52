"""Finds words that the glossary replaces; tools/glossary_rules.py has the rules.

python tools/glossary.py                     hits for each rule and top-level folder
python tools/glossary.py --list README.md    file:line, the words, what to write; or of all files
python tools/glossary.py --list --rule door  the hits of one rule
python tools/glossary.py --check             lists all hits and fails if there is one
"""

from __future__ import annotations

import argparse
import functools
import itertools
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from glossary_rules import COMMENTS, DOCSTRINGS, IDENTIFIERS, MARKDOWN, MESSAGES, RULES, Rule

ROOT = Path(__file__).resolve().parent.parent
#: generated, quoted, or about the words themselves
LEFT_OUT = re.compile(
    r".*_pb2\.pyi?$|graphio/__init__\.pyi$|cinfer/src/ci_schema\.h$|docs/(reference/c|command-line|names)\.md$"
    r"|tests/(golden|conformance|refusals)/|tools/glossary(_rules)?\.py$|tests/(\w+/)*test_glossary\.py$"
)
PYTHON = re.compile(
    r"(?P<comment>\#[^\n]*(?:\n[ \t]*\#[^\n]*)*)"
    r'|(?P<string>(?<!\w)[rbfuRBFU]{0,2}(?:"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'))'
    r'|(?P<short>(?<!\w)[rbfuRBFU]{0,2}(?:"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'))'
    r"|(?P<name>(?:itertools\.)?[^\W\d]\w*)",
    re.DOTALL,
)
C = re.compile(
    r"(?P<comment>/\*.*?\*/|//[^\n]*(?:\n[ \t]*//[^\n]*)*)"
    r'|(?P<short>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')'
    r"|(?P<name>[A-Za-z_]\w*)",
    re.DOTALL,
)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True)
class Hit:
    """Words that a rule replaces, at a line of a file."""

    path: str
    line: int
    words: str
    rule: Rule

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: '{self.words}' ({self.rule.name}): {self.rule.write}"


@functools.cache
def expression(pattern: str) -> re.Pattern[str]:
    """A pattern over words, in which a space is any white space and a comment's margin."""
    spaced = pattern.replace(" ?", r"[\s#*/_]*").replace(" ", r"[\s#*/_]+")
    return re.compile(rf"(?<![^\W_])(?:{spaced})(?![^\W_])", re.IGNORECASE)


#: finds out quickly whether any rule may apply
ANY = re.compile("|".join(f"(?:{expression(rule.pattern).pattern})" for rule in RULES), re.I)


def found(rule: Rule, text: str) -> Iterator[re.Match[str]]:
    """What a rule replaces in a text, outside of the phrases that it allows."""
    pattern = expression(rule.pattern)
    if not pattern.search(text):
        return
    for phrase in rule.allowed:
        text = expression(phrase).sub(lambda match: "\0" * len(match[0]), text)
    yield from pattern.finditer(text)


@functools.cache
def rules_of_identifier(name: str) -> tuple[tuple[Rule, str], ...]:
    """The rules that apply to an identifier, with its words."""
    words = " ".join(WORDS.findall(name)).lower()
    mine = (rule for rule in RULES if IDENTIFIERS in rule.scopes)
    return tuple((rule, name) for rule in mine if next(found(rule, words), None))


def pieces_of_code(text: str, lexer: re.Pattern[str]) -> Iterator[tuple[int, str, str]]:
    """Offsets, scopes and texts of comments, strings that are prose, and identifiers."""
    for match in lexer.finditer(text):
        kind = match.lastgroup
        if kind == "name":
            yield match.start(), IDENTIFIERS, match[0]
        elif kind == "comment":
            yield match.start(), COMMENTS, match[0]
        elif " " in match[0]:
            alone = not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
            documents = kind == "string" and alone
            yield match.start(), DOCSTRINGS if documents else MESSAGES, match[0]


def pieces_of_markdown(text: str) -> Iterator[tuple[int, str, str]]:
    """The prose of a page, without its blocks of code."""
    yield 0, MARKDOWN, FENCED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def pieces_of_changelog(text: str) -> Iterator[tuple[int, str, str]]:
    """The prose of a changelog without what it quotes: some are names that were replaced."""
    quoted = re.sub(r"`[^`\n]*`", lambda match: " " * len(match[0]), text)
    return pieces_of_markdown(quoted)


def pieces_of_script(text: str) -> Iterator[tuple[int, str, str]]:
    """A makefile or a script, of which commands are few: all of it counts as comments."""
    yield 0, COMMENTS, text


READERS: dict[str, Callable[[str], Iterator[tuple[int, str, str]]]] = {
    ".py": lambda text: pieces_of_code(text, PYTHON),
    ".md": pieces_of_markdown,
    "CHANGELOG.md": pieces_of_changelog,
    **dict.fromkeys(
        (".c", ".h", ".cc", ".hpp", ".def", ".proto"), lambda text: pieces_of_code(text, C)
    ),
    **dict.fromkeys(
        (".yml", ".toml", "Makefile", "CMakeLists.txt", "run", "packages"), pieces_of_script
    ),
}


def reader(path: str) -> Callable[[str], Iterator[tuple[int, str, str]]] | None:
    """What reads a file, by its name or the ending of it; None: nothing does."""
    return READERS.get(Path(path).name) or READERS.get(Path(path).suffix)


def hits(path: str, text: str) -> Iterator[Hit]:
    """Every word of a file, its name included, that a rule replaces."""
    mine = [rule for rule in RULES if re.match(rule.files, path)]
    read = reader(path)
    assert read is not None, path
    for start, scope, piece in itertools.chain([(0, IDENTIFIERS, Path(path).stem)], read(text)):
        if scope == IDENTIFIERS:
            for rule, name in rules_of_identifier(piece):
                if rule in mine:
                    yield Hit(path, text.count("\n", 0, start) + 1, name, rule)
        elif ANY.search(piece):
            for rule in mine:
                for match in found(rule, piece) if scope in rule.scopes else ():
                    line = text.count("\n", 0, start + match.start()) + 1
                    yield Hit(path, line, " ".join(match[0].split()), rule)


def files(under: list[str]) -> list[str]:
    """Paths of the checkout that are read, those of `under` if it names any."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "--", *under]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = (name for name in listed.splitlines() if reader(name))
    return [name for name in names if not LEFT_OUT.match(name) and (ROOT / name).is_file()]


def all_hits(under: list[str]) -> list[Hit]:
    return [hit for name in files(under) for hit in hits(name, (ROOT / name).read_text())]


def column(path: str) -> str:
    """The top-level folder of a path; files of the root are one column."""
    return path.split("/")[0] if "/" in path else "(root)"


def table(found: list[Hit]) -> str:
    """Hits for each rule (a row) and top-level folder (a column)."""
    counts = Counter((hit.rule.name, column(hit.path)) for hit in found)
    folders = sorted({folder for _, folder in counts})
    rows = {rule.name: [counts[rule.name, folder] for folder in folders] for rule in RULES}
    rows["all"] = [sum(counts[rule.name, folder] for rule in RULES) for folder in folders]
    lines = [["rule", *folders, "all"]]
    lines += [[name, *map(str, row), str(sum(row))] for name, row in rows.items()]
    return "\n".join(f"{name:26}" + "".join(f"{cell:>11}" for cell in row) for name, *row in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", help="files and folders; by default all")
    parser.add_argument("--rule", help="only this rule")
    parser.add_argument("--list", action="store_true", help="list hits instead of counting them")
    parser.add_argument("--check", action="store_true", help="list hits; fail if there are any")
    arguments = parser.parse_args()
    if arguments.rule and arguments.rule not in {rule.name for rule in RULES}:
        parser.error(f"--rule is none of: {', '.join(rule.name for rule in RULES)}")
    found = [hit for hit in all_hits(arguments.paths) if arguments.rule in (None, hit.rule.name)]
    if arguments.check:
        for hit in found:
            print(hit, file=sys.stderr)
        return bool(found)
    print("\n".join(map(str, found)) if arguments.list else table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
