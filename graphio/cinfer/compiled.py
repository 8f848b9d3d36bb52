"""Finds the compiled module of an installation for a package that is imported from its sources.

Python started in a checkout imports the folder `graphio/` there, which hides what `pip install .`
has put elsewhere, and has no compiled module. The installed one serves if it was compiled from the
same C sources: CMake runs this file as a script, which writes their SHA-256 next to the module.

    python graphio/cinfer/compiled.py OUT
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

__all__ = ["load_installed"]

NAME = "graphio.cinfer._native"
FINGERPRINT = "_native.sha256"
#: the sources of the module, below the root of a checkout
SOURCES = (
    "cinfer/cinfer.c",
    "cinfer/include/*.h",
    "cinfer/src/**/*.[ch]",
    "cinfer/src/*.def",
    "graphio/cinfer/*.[ch]",
    "tools/gen_ffi.py",
)


def load_installed() -> None:
    """Loads the compiled module of an installation as this package's own.

    Raises:
        ModuleNotFoundError: no module is installed, or only one that was compiled from other
            sources; says what to do.
    """
    root = _root()
    here = fingerprint(root)
    found = list(_installed())
    for spec in found:
        if here and here == _fingerprint_of(spec):
            return _load(spec)
    raise ModuleNotFoundError(_refusal(root, here, found), name=NAME)


def fingerprint(root: Path) -> str:
    """The SHA-256 of the names and bytes of the C sources, or "" where there are none."""
    if not (root / "cinfer" / "include" / "cinfer.h").is_file():
        return ""
    files = sorted({path for pattern in SOURCES for path in root.glob(pattern) if path.is_file()})
    total = hashlib.sha256()
    for path in files:
        data = path.read_bytes()
        total.update(f"{path.relative_to(root).as_posix()}\0{len(data)}\0".encode() + data)
    return total.hexdigest()


def _root() -> Path:
    return Path(__file__).absolute().parent.parent.parent


def _installed() -> Iterator[ModuleSpec]:
    """The compiled modules in other folders of sys.path, in its order."""
    own = Path(__file__).absolute().parent
    for entry in sys.path:
        folder = Path(entry, "graphio", "cinfer").absolute()
        spec = None if folder == own else PathFinder.find_spec(NAME, [str(folder)])
        if spec is not None and spec.origin is not None:
            yield spec


def _fingerprint_of(spec: ModuleSpec) -> str:
    assert spec.origin is not None
    try:
        return Path(spec.origin).with_name(FINGERPRINT).read_text().strip()
    except OSError:
        return ""


def _load(spec: ModuleSpec) -> None:
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    spec.loader.exec_module(module)
    package, _, name = NAME.rpartition(".")
    setattr(sys.modules[package], name, module)


def _refusal(root: Path, here: str, found: list[ModuleSpec]) -> str:
    from graphio.support import installation

    if line := installation.conflict():
        return line
    if not here:
        return (
            f"graphio in {root} has no compiled module: remove that folder from Python's path, or "
            f"install graphio again ({installation.pip_install()})"
        )
    if not found:
        return (
            f"graphio is imported from its sources in {root}, and its compiled module is not "
            f"installed: run pip install . in {root}"
        )
    return (
        f"{found[0].origin} was not compiled from the sources in {root}, from which graphio is "
        f"imported: run pip install . in {root}, or start Python in another folder"
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(fingerprint(_root()) + "\n")
