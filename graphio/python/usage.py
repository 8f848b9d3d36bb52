"""The names of TensorFlow that a program uses, read from its source without running it."""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Use", "files_of", "local_imports", "uses_of"]

#: packages that programs import, the longest first, and the path that their names begin with
_ROOTS = (
    ("tensorflow.compat.v1", ""), ("tensorflow_core", ""), ("tensorflow", ""),
)  # fmt: skip


class Use(NamedTuple):
    """A name that a program uses.

    Attributes:
        path: without the package's name: nn.conv2d, contrib.rnn, python.framework.ops.Tensor.
        line: where it is used.
    """

    path: str
    line: int


def files_of(path: Path) -> list[Path]:
    """The programs of a folder: Python and notebooks; a file itself."""
    if not path.is_dir():
        return [path]
    found = (p for kind in ("*.py", "*.ipynb") for p in path.rglob(kind))
    return sorted(p for p in found if not any(part.startswith(".") for part in p.parts))


def uses_of(path: Path) -> list[Use]:
    """The names of TensorFlow that a file uses, in the order of their lines.

    Raises:
        SyntaxError: it is not Python 3.
        ValueError: it is not text, or not a notebook.
    """
    tree = ast.parse(_source(path))
    reader = _Reader()
    reader.visit(tree)
    return sorted(set(reader.uses), key=lambda use: (use.line, use.path))


def local_imports(path: Path) -> list[Path]:
    """The files in a program's folder, or below it, that it imports."""
    found = []
    for node in ast.walk(ast.parse(_source(path))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            at = path.parent.joinpath(*name.split("."))
            for file in (at.with_suffix(".py"), at / "__init__.py"):
                if file.is_file() and file not in found:
                    found.append(file)
    return found


def _source(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    lines = []
    for cell in json.loads(text).get("cells", []):
        if cell.get("cell_type") == "code":
            code = "".join(cell.get("source", [])).splitlines()
            # commands of the notebook are not Python
            lines += ["" if line.lstrip()[:1] in ("%", "!") else line for line in code]
    return "\n".join(lines)


def _relative(module: str) -> str | None:
    """The path of a module without the package's name; None for another package."""
    for root, path in _ROOTS:
        if module == root:
            return path
        if module.startswith(root + "."):
            return module[len(root) + 1 :]
    return None


def _joined(space: str, name: str) -> str:
    return f"{space}.{name}" if space else name


class _Reader(ast.NodeVisitor):
    """Collects uses: attributes of imported modules, and names that are imported themselves.

    Attributes:
        uses: found so far.
    """

    def __init__(self) -> None:
        self.uses: list[Use] = []
        self._known: dict[str, str] = {}  # local name -> path

    def visit_Import(self, node: ast.Import) -> None:
        """import tensorflow as tf."""
        for alias in node.names:
            path = _relative(alias.name)
            if path is None:
                continue
            if path:
                self.uses.append(Use(path, node.lineno))
            self._known[alias.asname or alias.name.partition(".")[0]] = path if alias.asname else ""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """from tensorflow.contrib import rnn."""
        space = _relative(node.module or "") if not node.level else None
        if space is None:
            return
        for alias in node.names:
            if alias.name == "*":
                self.uses.append(Use(space, node.lineno))
                continue
            path = _joined(space, alias.name)
            path = {"compat.v1": ""}.get(path, path)
            if path:
                self.uses.append(Use(path, node.lineno))
            self._known[alias.asname or alias.name] = path

    def visit_Assign(self, node: ast.Assign) -> None:
        """rnn = tf.contrib.rnn."""
        self.generic_visit(node)
        path = self._path(node.value)
        if path is not None and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._known[node.targets[0].id] = path

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """tf.nn.conv2d; of tf.nn.conv2d.name the names above, too."""
        path = self._path(node)
        if path:
            self.uses.append(Use(path, node.lineno))
        else:
            self.generic_visit(node)

    def _path(self, node: ast.AST) -> str | None:
        """The path that an expression names; None where it is another."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self._known:
            return None
        path = self._known[node.id]
        for name in names:
            path = _joined(path, name)
        return path.removeprefix("compat.v1.")


def by_path(uses: list[Use]) -> dict[str, list[int]]:
    """The lines of each name."""
    found: dict[str, list[int]] = defaultdict(list)
    for use in uses:
        found[use.path].append(use.line)
    return dict(found)


def namespaces(path: str) -> Iterator[str]:
    """A path and those above it, the shortest first."""
    parts = path.split(".")
    for count in range(1, len(parts) + 1):
        yield ".".join(parts[:count])
