"""Prints which C files call each other in a circle.

    python tools/c_calls.py [--calls] [FOLDER]

A file depends on another if it names a function that the other defines. Files that depend on each
other, directly or through more files, form a circle; the largest is what a reader has to understand
at once. Tables do not count: `ops.def` and the lists of vector functions name functions which are
called through pointers. --calls also prints which function each dependency inside a circle is.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "cinfer" / "src"

#: comments, strings and characters, which name no function
PROSE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', re.DOTALL)
#: a function definition begins in the first column and has its body's brace at the end of a line
DEFINITION = re.compile(
    r"^(?!static\b|CI_INLINE\b|typedef\b)[A-Za-z_][^;{}()=]*?\b(\w+)\([^;{}]*\) \{", re.MULTILINE
)
NAME = re.compile(r"\b[A-Za-z_]\w*\b")
PART = re.compile(r'^#include "([^"]*_impl\.h)"', re.MULTILINE)

#: of each file: the files that it calls, and the functions by which
Calls = Mapping[str, Mapping[str, frozenset[str]]]


def code_of(path: Path) -> str:
    """The text of a file without comments and strings, with the parts that it includes."""
    text = path.read_text()
    parts = [
        code_of(found) for name in PART.findall(text) for found in SOURCES.rglob(Path(name).name)
    ]
    return "\n".join([PROSE.sub(" ", text), *parts])


def calls_between(files: Mapping[str, str]) -> Calls:
    """Which of some files (name to code) call which others."""
    home = {name: file for file, code in files.items() for name in DEFINITION.findall(code)}
    calls: dict[str, dict[str, frozenset[str]]] = {}
    for file, code in files.items():
        named = {name for name in NAME.findall(code) if home.get(name, file) != file}
        homes = {home[name] for name in named}
        calls[file] = {to: frozenset(name for name in named if home[name] == to) for to in homes}
    return calls


def circles(calls: Calls) -> list[list[str]]:
    """The files that reach each other, the largest circle first (Tarjan's components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def open_file(file: str) -> Iterator[str]:
        index[file] = low[file] = len(index)
        stack.append(file)
        return iter(sorted(calls[file]))

    def close_file(file: str) -> None:
        if low[file] != index[file]:
            return
        begin = stack.index(file)
        if len(stack) - begin > 1:
            found.append(sorted(stack[begin:]))
        del stack[begin:]

    for root in sorted(calls):
        if root in index:
            continue
        path = [(root, open_file(root))]
        while path:
            file, rest = path[-1]
            for to in rest:
                if to not in index:
                    path.append((to, open_file(to)))
                    break
                if to in stack:
                    low[file] = min(low[file], index[to])
            else:
                path.pop()
                close_file(file)
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[file])
    return sorted(found, key=lambda circle: (-len(circle), circle))


def of_folder(folder: Path) -> Calls:
    """Which C files of a folder call which others, by their paths in it."""
    return calls_between(
        {str(path.relative_to(folder)): code_of(path) for path in sorted(folder.rglob("*.c"))}
    )


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=SOURCES)
    parser.add_argument(
        "--calls", action="store_true", help="print the functions of each dependency"
    )
    arguments = parser.parse_args()
    calls = of_folder(arguments.folder)
    found = circles(calls)
    dependencies = sum(map(len, calls.values()))
    print(f"{len(calls)} files, {dependencies} dependencies, {len(found)} circles", end="")
    print(f", the largest of {len(found[0])} files" if found else "")
    for circle in found:
        print(f"{len(circle)}: {' '.join(circle)}")
        for file in circle if arguments.calls else ():
            for to in sorted(calls[file].keys() & set(circle)):
                print(f"  {file} -> {to}: {' '.join(sorted(calls[file][to]))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
