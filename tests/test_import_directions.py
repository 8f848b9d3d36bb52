"""Pairs of modules of which one reads the other: the second may not import the first again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "graphio"
#: files (a pattern below the package), the module that they may not import, and why
FORBIDDEN = [
    ("**/train/interop/formats.py", "sources", "opens what these formats read"),
    ("**/train/interop/source.py", "sources", "opens what these formats read"),
    ("**/onnx/bodies.py", "importing", "calls it for branches and loops"),
    ("**/onnx/checking.py", "importing", "calls it before nodes are built"),
    ("**/onnx/training.py", "importing", "calls it for gradients in a model"),
    ("**/windows.py", "pooling", "pools lines and volumes with it"),
    ("**/profile.py", "timeline", "shows its names, too"),
    ("**/chrome_trace.py", "profile", "writes traces with it"),
    ("**/curves.py", "history", "draws itself with it"),
    ("**/storage/remote.py", "stores", "opens object stores with it"),
    ("**/store_paths.py", "stores", "shows its names, too"),
]


def imported(tree: ast.AST) -> Iterator[str]:
    """The last names of what code imports, in functions, too; without what is for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name.rpartition(".")[2] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").rpartition(".")[2]
            yield from (alias.name for alias in node.names)
        yield from imported(node)


@pytest.mark.parametrize(("files", "module", "why"), FORBIDDEN)
def test_a_module_does_not_import_the_one_that_reads_it(files: str, module: str, why: str) -> None:
    paths = sorted(PACKAGE.glob(files))
    assert paths, f"no {files}: name the files where they are now"
    wrong = [path for path in paths if module in imported(ast.parse(path.read_text()))]
    assert not wrong, f"{module} {why}"


def test_imports_in_functions_count_and_those_for_type_checkers_do_not() -> None:
    program = """
def f():
    from graphio.train.interop import sources
if TYPE_CHECKING:
    from graphio.train.loops import history
"""
    assert list(imported(ast.parse(program))) == ["interop", "sources"]
