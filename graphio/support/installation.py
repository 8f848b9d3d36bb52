"""The installation of this copy of graphio, and the commands that extend or fix it.

Engines import this for their error messages, so what only a message needs is imported in functions.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
from typing import Any

__all__ = ["DISTRIBUTION", "PUBLISHED", "conflict", "hint", "pip_install", "warn_of_conflict"]

#: The name for pip; the import is `graphio`, a name that another project has on PyPI.
DISTRIBUTION = "graphio-ml"
#: Whether package indexes have it. Until then the hints name the checkout.
PUBLISHED = False


def hint(extra: str, *packages: str) -> str:
    """The command that adds an extra, for the end of an error message.

    Args:
        extra: a key of pyproject.toml's optional-dependencies.
        packages: what else must be installed with it.

    Returns:
        "pip install '.[cli]' in the checkout", with the folder and `-e` as this copy was
        installed.
    """
    return pip_install(f"[{extra}]", *packages)


def pip_install(extras: str = "", *packages: str) -> str:
    """The command that installs this distribution again; extras as pip takes them, "[cli]"."""
    folder, editable = _source()
    if PUBLISHED and not folder:
        return _command(False, DISTRIBUTION + extras, *packages)
    return f"{_command(editable, '.' + extras, *packages)} in the checkout {folder}".rstrip()


def conflict() -> str:
    """A line about another distribution that owns files of this package, or "".

    The distribution `graphio` of package indexes installs into the same folder.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    beside = os.path.dirname(package)
    with contextlib.suppress(OSError):  # a package in an archive has no folder
        if any(fnmatch.fnmatch(name, "graphio-*.dist-info") for name in os.listdir(beside)):
            return _conflict(package, beside)
    return ""


def warn_of_conflict(stacklevel: int) -> None:
    """Warns of another distribution that owns files of this package."""
    if line := conflict():
        import warnings

        warnings.warn(line, RuntimeWarning, stacklevel=stacklevel + 1)


def _conflict(package: str, beside: str) -> str:
    import importlib.metadata  # takes as long as the rest of `import graphio`

    for found in importlib.metadata.distributions(name="graphio", path=[beside]):
        if "graphio/__init__.py" in map(str, found.files or ()):
            return (
                f"the distribution 'graphio' {found.version} owns files of {DISTRIBUTION} in "
                f"{package}: run pip uninstall graphio {DISTRIBUTION}, then {pip_install()}"
            )
    return ""


def _command(editable: bool, what: str, *packages: str) -> str:
    quoted = f"'{what}'" if "[" in what else what
    return " ".join(("pip install", *(["-e"] if editable else []), quoted, *packages))


def _source() -> tuple[str, bool]:
    """The folder from which pip installed this copy, or "", and whether it is editable."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    record = _record()
    path = url2pathname(urlsplit(record.get("url", "")).path)
    if "dir_info" in record and os.path.isdir(path):
        return path, bool(record["dir_info"].get("editable"))
    return "", False


def _record() -> dict[str, Any]:
    """Pip's record of where a distribution came from (PEP 610); empty where it was an index."""
    import importlib.metadata
    import json

    for found in importlib.metadata.distributions(name=DISTRIBUTION):
        made: dict[str, Any] = json.loads(found.read_text("direct_url.json") or "{}")
        return made
    return {}
