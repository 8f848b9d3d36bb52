"""C programs of the tests, compiled once for all of them."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from folders import CINFER, ROOT

CACHE = ROOT / "build" / "c_programs"
WEBASSEMBLY = "--target=wasm32-wasi"
FLAGS = ["-std=c11", "-O0", f"-I{CINFER / 'include'}"]


def build(source: Path, cc: str = "cc", *flags: str) -> Path:
    """The program of a C file, linked with cinfer; skips without the compiler."""
    linked = library(cc, *flags)
    command = [compiler(cc), *FLAGS, *flags, str(source), str(linked), "-lm", "-pthread"]
    return made(command, [*parts(), source], source.stem)


def library(cc: str = "cc", *flags: str) -> Path:
    """The object file of cinfer; skips without the compiler."""
    command = [compiler(cc), *FLAGS, *flags, "-c", str(CINFER / "cinfer.c")]
    return made(command, parts(), "cinfer.o")


def installed_flags() -> list[str]:
    """The flags that compile and link a program with the C library of the installed package."""
    command = [sys.executable, "-m", "graphio.cinfer", "--cflags", "--libs"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return shlex.split(done.stdout)


def compiler(cc: str) -> str:
    """Where it is; skips without it."""
    found = shutil.which(cc)
    if found is None:
        pytest.skip(f"the C compiler {cc} is not installed")
    return found


def webassembly_compiler() -> str:
    """clang that makes programs for WebAssembly; skips without what it needs."""
    clang = compiler("clang")
    probe = [clang, WEBASSEMBLY, "-mexec-model=reactor", "-x", "c", "-", "-o", os.devnull]
    if subprocess.run(probe, input=b"#include <stdlib.h>\n", capture_output=True).returncode:
        pytest.skip("clang has no wasi-libc, lld or compiler-rt for wasm32")
    return clang


def parts() -> list[Path]:
    """The sources of the library and its tests."""
    return sorted(p for p in CINFER.rglob("*") if p.suffix in (".c", ".h", ".def"))


def made(command: list[str], sources: list[Path], name: str) -> Path:
    """The file that a command makes from these sources; rebuilt when one of them has changed."""
    digest = hashlib.sha256(repr(command).encode())
    for path in sources:
        digest.update(path.read_bytes())
    program = CACHE / digest.hexdigest()[:16] / name
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=program.parent) as folder:
            new = Path(folder) / name
            subprocess.run([*command, "-o", str(new)], check=True)
            os.replace(new, program)
    return program
