"""Imports between graphio's modules: how many are inside functions, and which form circles.

    python tools/imports.py [--edges]

Prints one line with the totals, then the modules of every circle of two or more, largest first;
with --edges also the imports inside functions, to which those of a namespace's table of names are
counted. Imports for type checkers only (under
TYPE_CHECKING) are not counted. tests/architecture/test_architecture.py checks the same imports
against the order of the packages.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
#: the compiled module, which imports nothing
COMPILED = "graphio.cinfer._native"
#: the table of a namespace whose names are looked up at their first use (support/lazy_names.py)
LAZY = "_NAMES"


class Import(NamedTuple):
    """One module that another imports, and whether a function does it when it is called."""

    importer: str
    imported: str
    inside_function: bool


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Every module of the package by its full name."""
    found = {}
    for folder, name in ((root / "graphio", "graphio"), (root / "runtime", "graphio.runtime")):
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join((name, *parts)).removesuffix(".__init__")] = path
    return {m: p for m, p in found.items() if not (m + ".").startswith("graphio.runtime.runtime.")}


def imports(root: Path = ROOT) -> list[Import]:
    """All imports from one module of graphio to another, each pair once per kind."""
    known = modules(root)
    found: dict[Import, None] = {}
    for module, path in known.items():
        for name, inside in _imported(ast.parse(path.read_text(encoding="utf-8")), False):
            target = name
            while target and target not in known:
                target = target.rpartition(".")[0]
            compiled = f"{name}.".startswith(f"{COMPILED}.")
            if not compiled and target not in ("", "graphio", module):
                found[Import(module, target, inside)] = None
    return list(found)


def _imported(tree: ast.AST, inside: bool) -> Iterator[tuple[str, bool]]:
    """Names that the statements of a tree import, and whether a function surrounds them."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((f"{node.module}.{alias.name}", inside) for alias in node.names)
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == LAZY:
            table = ast.literal_eval(node.value or ast.Dict([], []))
            yield from ((f"{home}.{name}", True) for home, names in table.items() for name in names)
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            executed = node.body if ast.unparse(node.test).startswith("not ") else node.orelse
            for statement in executed:
                yield from _imported(ast.Module([statement], []), inside)
        else:
            function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from _imported(node, inside or function)


def circles(found: list[Import]) -> list[list[str]]:
    """The strongly connected sets of two or more modules (Tarjan 1972, without recursion)."""
    reached: dict[str, set[str]] = {}
    for importer, imported, _ in found:
        reached.setdefault(importer, set()).add(imported)
    return sorted(_components(reached), key=lambda members: (-len(members), members))


def _components(graph: Mapping[str, set[str]]) -> Iterator[list[str]]:
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    for start in graph:
        if start in number:
            continue
        calls: list[tuple[str, Iterator[str]]] = [(start, iter(sorted(graph[start])))]
        number[start] = lowest[start] = len(number)
        stack.append(start)
        while calls:
            module, targets = calls[-1]
            for target in targets:
                if target not in number:
                    number[target] = lowest[target] = len(number)
                    stack.append(target)
                    calls.append((target, iter(sorted(graph.get(target, ())))))
                    break
                if target in stack:
                    lowest[module] = min(lowest[module], number[target])
            else:
                calls.pop()
                if calls:
                    above = calls[-1][0]
                    lowest[above] = min(lowest[above], lowest[module])
                if lowest[module] == number[module]:
                    at = stack.index(module)
                    members, stack[at:] = sorted(stack[at:]), []
                    if len(members) > 1:
                        yield members


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--edges", action="store_true", help="also the imports inside functions")
    edges = parser.parse_args().edges
    found = imports()
    loops = circles(found)
    inside = [one for one in found if one.inside_function]
    print(
        f"{len(modules())} modules, {len(found)} imports, {len(inside)} of them inside functions; "
        f"circles of {[len(members) for members in loops]} modules"
    )
    for members in loops:
        print(f"\ncircle of {len(members)}: {' '.join(members)}")
    if edges:
        print("\ninside functions:")
        for one in inside:
            print(f"  {one.importer} -> {one.imported}")


if __name__ == "__main__":
    main()
