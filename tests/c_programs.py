"""C programs of the tests, compiled once for all of them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
CINFER = TESTS.parent / "cinfer"
CACHE = TESTS.parent / "build" / "c_programs"
FLAGS = ["-std=c11", "-O0", f"-I{CINFER / 'include'}"]


def build(name: str, cc: str = "cc", *flags: str) -> Path:
    """The program of a C file beside this one, linked with cinfer; skips without the compiler."""
    found = shutil.which(cc)
    if found is None:
        pytest.skip(f"the C compiler {cc} is not installed")
    compiler = [found, *FLAGS, *flags]
    parts = sorted(p for p in CINFER.rglob("*") if p.suffix in (".c", ".h", ".def"))
    library = _made([*compiler, "-c", str(CINFER / "cinfer.c")], parts, "cinfer.o")
    source = TESTS / name
    command = [*compiler, str(source), str(library), "-lm", "-pthread"]
    return _made(command, [*parts, source], source.stem)


def _made(command: list[str], sources: list[Path], name: str) -> Path:
    """What a command makes from these sources; made anew when one of them has changed."""
    digest = hashlib.sha256(repr(command).encode())
    for path in sources:
        digest.update(path.read_bytes())
    made = CACHE / digest.hexdigest()[:16] / name
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=made.parent) as folder:
            new = Path(folder) / name
            subprocess.run([*command, "-o", str(new)], check=True)
            os.replace(new, made)
    return made
