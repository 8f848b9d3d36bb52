"""Which names of TensorFlow a program needs that graphio lacks, and what would run with them."""

from __future__ import annotations

import functools
import types
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from graphio.python import names, usage

__all__ = ["facts_of"]


def facts_of(root: Path) -> dict[str, Any]:
    """The facts of a program, or of all files of a folder.

    Returns:
        files: for each file that uses TensorFlow, its path, the number of names (uses), missing
        names with lines and reasons, modules of its folder that lack names (through), and the
        error of a file that is not Python 3; complete: the number of files that lack nothing;
        gains: groups of names, each with the number of files that would lack nothing with it and
        all groups before it.
    """
    files = [facts for path in usage.files_of(root) if (facts := _file(path, root))]
    lacking = {facts["file"]: _groups(facts["missing"]) for facts in files}
    for facts in files:
        facts["through"] = sorted(_through(root, facts["file"], lacking))
        for other in facts["through"]:
            lacking[facts["file"]] = lacking[facts["file"]] | lacking[other]
    readable = [facts["file"] for facts in files if facts["error"] is None]
    needs = {file: lacking[file] for file in readable}
    return {
        "files": files,
        "complete": sum(not groups for groups in needs.values()),
        "gains": _gains(list(needs.values())),
    }


def _file(path: Path, root: Path) -> dict[str, Any] | None:
    """The facts of one file; None if it does not use TensorFlow."""
    name = str(path.relative_to(root)) if root.is_dir() else str(path)
    facts: dict[str, Any] = {"file": name, "uses": 0, "missing": [], "through": [], "error": None}
    try:
        uses = usage.by_path(usage.uses_of(path))
    except (SyntaxError, ValueError) as error:
        facts["error"] = (
            f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else str(error)
        )
        return facts
    found: dict[str, dict[str, Any]] = {}
    for use, lines in uses.items():
        if (lack := _lack(use)) is not None:
            row = found.setdefault(lack[0], {"name": lack[0], "lines": [], "reason": lack[1]})
            row["lines"] = sorted({*row["lines"], *lines})
    facts["uses"], facts["missing"] = len(uses), [found[name] for name in sorted(found)]
    return facts if uses else None


@functools.cache
def _lack(path: str) -> tuple[str, str] | None:
    """The name of TensorFlow that is missing for a use, and why; None if it is all there.

    Attributes of objects (tf.float32.name) are not names of TensorFlow: they end the search.
    """
    for at in usage.namespaces(path):
        try:
            value = names.resolve(at)
        except AttributeError:
            found = names.status(_longest(path))
            text = found.why if found.how == "not" else "TensorFlow 1.15 has no such name either"
            return _longest(path), text
        if not isinstance(value, types.ModuleType):
            return None
    return None


def _longest(path: str) -> str:
    """The name of TensorFlow's that a path begins with; the path if there is none."""
    for at in reversed(list(usage.namespaces(path))):
        if at in names.table():
            return at
    return path


def _groups(missing: Iterable[dict[str, Any]]) -> frozenset[str]:
    """The groups of missing names: a part of contrib, a namespace, or a name."""
    return frozenset(_group(row["name"]) for row in missing)


def _group(path: str) -> str:
    parts = path.split(".")
    if parts[0] in ("contrib", "python", "core", "keras", "estimator"):
        return ".".join(parts[: 2 if parts[0] == "contrib" else 1])
    return path


def _through(root: Path, file: str, lacking: dict[str, frozenset[str]]) -> set[str]:
    """The files that a file imports, also through others, and that lack names."""
    folder = root if root.is_dir() else root.parent
    start = folder / file if root.is_dir() else root
    pending, seen = [start], {start}
    while pending:
        try:
            imported = usage.local_imports(pending.pop())
        except (SyntaxError, ValueError):
            continue
        for path in imported:
            if path not in seen:
                seen.add(path)
                pending.append(path)
    named = {str(path.relative_to(folder)) for path in seen - {start}}
    return {name for name in named if lacking.get(name)}


def _gains(needs: list[frozenset[str]]) -> list[dict[str, Any]]:
    """Groups of names, that which completes most files first."""
    pending, gains, complete = [set(n) for n in needs if n], [], sum(not n for n in needs)
    while pending:
        alone = Counter(next(iter(n)) for n in pending if len(n) == 1)
        shared = Counter(group for n in pending for group in n)
        best = max(sorted(shared), key=lambda group: (alone[group], shared[group]))
        pending = [n - {best} for n in pending]
        complete += sum(not n for n in pending)
        pending = [n for n in pending if n]
        gains.append({"names": best, "used_by": shared[best], "complete": complete})
    return gains
