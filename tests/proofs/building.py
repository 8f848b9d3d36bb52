"""Programs in C that the proofs need, compiled once for all processes, in build/proofs."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from proofs.log import ROOT

FOLDER = ROOT / "build/proofs"


def built(name: str, sources: Sequence[str | Path], options: Sequence[str]) -> Path:
    """A program or library, compiled if this compiler, the first cc, has not done so before.

    Args:
        name: of the file.
        sources: files and folders that it is made of; of the files those ending in .c are
            compiled.
        options: of the compiler, behind the sources.
    """
    files = [
        f for s in map(Path, sources) for f in ([s] if s.is_file() else sorted(s.rglob("*.*")))
    ]
    seen = hashlib.sha256(repr((shutil.which("cc"), options)).encode())
    for file in files:
        seen.update(file.read_bytes())
    made = FOLDER / f"{seen.hexdigest()[:16]}-{name}"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / f"{name}.lock", "w") as lock:  # others wait instead of doing it, too
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            programs = [str(s) for s in sources if str(s).endswith(".c")]
            subprocess.run(["cc", *programs, *options, "-o", f"{made}.new"], check=True)
            os.replace(f"{made}.new", made)
    return made
