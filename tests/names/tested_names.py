"""Which files of tests use a name of TensorFlow that docs/names.md counts as there.

python tests/names/tested_names.py    prints each name with a file that tests it

A file uses the name `image.rotate` where it says `image.rotate`, or `pictures.rotate` after
`pictures = tf.image`, or where it has the string "rotate" or "image.rotate". The names of an
object, such as `tf.is_inf` and `tf.math.is_inf`, need one test.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS.parent / "tools"))

import names_page  # noqa: E402

from graphio.python import names  # noqa: E402

#: files that list names without a use of them
LISTS = ("framework/api_guards.py", "names/tested_names.py", "names/test_tested_names.py")
#: tables of values by public path
TABLES = ("names/constants.json", "contrib/contrib_scenes/metrics.json")


def counted() -> dict[str, Any]:
    """The names that the page counts as there, with their objects."""
    return {
        path: names.resolve(path)
        for path in names.table()
        if (names_page.is_plain(path) or names_page.is_of_contrib(path))
        and names.status(path).how == "there"
    }


def groups(objects: dict[str, Any]) -> dict[Any, list[str]]:
    """The names of each object, by what identifies it."""
    found: dict[Any, list[str]] = defaultdict(list)
    for path, value in objects.items():
        found[identity(path, value)].append(path)
    return found


def identity(path: str, value: Any) -> Any:
    """The key that the names of an object share; of a constant its last name and its value."""
    if isinstance(value, (str, int, float, bool, type(None))):
        return path.rpartition(".")[2], repr(value)
    return id(inspect.unwrap(value) if inspect.isfunction(value) else value)


def uses(source: str) -> set[str]:
    """The dotted expressions of a file, such as "tf.image.rotate", and its strings."""
    tree = ast.parse(source)
    aliases = _aliases(tree)
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found.update(_expanded(f"{_dotted(node.value)}.{node.attr}", aliases))
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(f"{_root(node.module)}.{one.name}" for one in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found


def _aliases(tree: ast.Module) -> dict[str, set[str]]:
    """The namespaces that a file has under other names."""
    found: dict[str, set[str]] = defaultdict(set)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for name, value in _pairs(target, node.value):
                    found[name].add(_dotted(value))
        elif isinstance(node, ast.ImportFrom):
            for one in node.names:
                found[one.asname or one.name].add(f"{_root(node.module or '')}.{one.name}")
        elif isinstance(node, ast.Import):
            for one in node.names:
                if one.asname:
                    found[one.asname].add(_root(one.name))
    return found


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, given in zip(target.elts, value.elts, strict=False):
            yield from _pairs(one, given)
    elif isinstance(target, ast.Name):
        yield target.id, value


def _dotted(node: ast.expr) -> str:
    """An expression of names; what is not a name is empty, as in ".rotate"."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call) and len(node.args) == 1 and _dotted(node.func) == "contrib":
        argument = node.args[0]
        if isinstance(argument, ast.Constant):
            return f"tf.contrib.{argument.value}"
    return ""


def _expanded(dotted: str, aliases: dict[str, set[str]]) -> Iterator[str]:
    """An expression, and what it is with the first name's meaning instead of that name."""
    yield dotted
    head, _, rest = dotted.partition(".")
    yield from (f"{meaning}.{rest}" for meaning in aliases.get(head, ()))


def _root(module: str) -> str:
    """A module, from `tf`."""
    for name in ("graphio", "tensorflow.compat.v1", "tensorflow"):
        if module == name or module.startswith(name + "."):
            return "tf" + module.removeprefix(name)
    return module


def forms(path: str) -> Iterator[str]:
    """How a file may say a name."""
    parts = path.split(".")
    yield from (".".join(parts[i:]) for i in range(len(parts)))
    yield f"tf.{path}"


class Evidence:
    """The names that the files of tests use.

    Args:
        used: each expression and string, with a file that has it.
    """

    def __init__(self, used: dict[str, str]) -> None:
        self._used = used
        self._by_last: dict[str, list[str]] = defaultdict(list)
        for one in used:
            if one.startswith("tf."):
                self._by_last[one.rpartition(".")[2]].append(one)

    def file(self, key: Any, paths: list[str]) -> str | None:
        """A file that uses an object by one of its public names, or by another path to it."""
        for form in (form for path in paths for form in forms(path)):
            if form in self._used:
                return self._used[form]
        for last in {path.rpartition(".")[2] for path in paths}:
            for one in self._by_last[last]:
                with contextlib.suppress(AttributeError):
                    if identity(one, names.resolve(one.removeprefix("tf."))) == key:
                        return self._used[one]
        return None


@functools.cache
def evidence() -> Evidence:
    """The uses of all files and tables."""
    found: dict[str, str] = {}
    for file in sorted(TESTS.rglob("*.py")):
        name = file.relative_to(TESTS).as_posix()
        if name not in LISTS:
            found = dict.fromkeys(uses(file.read_text(encoding="utf-8")), name) | found
    for name in TABLES:
        keys = json.loads((TESTS / name).read_text(encoding="utf-8"))
        found = dict.fromkeys(keys, name) | found
    return Evidence(found)


def main() -> None:
    """Prints the table."""
    found = evidence()
    for key, paths in groups(counted()).items():
        print(f"{', '.join(paths)}: {found.file(key, paths) or 'NONE'}")


if __name__ == "__main__":
    main()
