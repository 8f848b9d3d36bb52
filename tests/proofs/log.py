"""The log of the deep proofs, docs/proofs.jsonl: one line for each slice that was run.

A line says what was run on which sources and machine, and what it counted. docs/reliability.md
quotes nothing else. Lines of sources that were not committed count for nothing there.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
LOG = ROOT / "docs/proofs.jsonl"
#: the sources that proofs test: a line counts for those that it was run on
SOURCES = (
    "graphio",
    "runtime",
    "cinfer",
    "tests/proofs",
    "tests/support/crash_states.py",
    "tests/support/checkpoint_loop.c",
)


def append(
    proof: str,
    mode: str,
    *,
    seed: int,
    counts: Mapping[str, int],
    losses: int,
    seconds: float,
    folder: str | os.PathLike[str] = ".",
    log: Path | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Adds one line.

    Args:
        proof: its number in the table of goals: "R1".
        mode: what of the proof: "same prefix".
        seed: of the slice's random choices.
        counts: what was counted, by name: {"trials": 100}.
        losses: how often the promise was broken.
        seconds: how long it took.
        folder: where the files lay, for the name of the file system.
        log: the file; None: LOG.
        more: further facts: control=True says that losing is what the mode is for.

    Returns:
        The line.
    """
    line = {
        "proof": proof,
        "mode": mode,
        "seed": seed,
        "counts": dict(counts),
        "losses": losses,
        "seconds": round(seconds, 2),
        "command": command(),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M"),
        "commit": _git("rev-parse", "--short=12", "HEAD"),
        "code": code(),
        "machine": {**machine(), "files": file_system(folder)},
        **more,
    }
    with open(log or LOG, "a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return line


def lines(log: Path | None = None) -> list[dict[str, Any]]:
    """All lines, oldest first."""
    path = log or LOG
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def done(proof: str, mode: str, seed: int, log: Path | None = None) -> bool:
    """Whether this slice was run on these sources."""
    expected = (proof, mode, seed, code())
    return not code().endswith("+") and any(
        (line["proof"], line["mode"], line["seed"], line["code"]) == expected for line in lines(log)
    )


@functools.lru_cache(maxsize=1)
def code() -> str:
    """A name of the sources that are proved; with a "+" when they are not committed."""
    trees = "".join(_git("rev-parse", f"HEAD:{path}") for path in SOURCES)
    dirty = _git("status", "--porcelain", "--untracked-files=no", "--", *SOURCES)
    return hashlib.sha256(trees.encode()).hexdigest()[:12] + ("+" if dirty else "")


def command() -> str:
    """How this process was called, without the folders of this machine."""
    name = Path(sys.argv[0])
    if name.suffix == ".py" and name.parent.name == "proofs":
        return shlex.join(["python", "-m", f"proofs.{name.stem}", *sys.argv[1:]])
    return shlex.join([name.name, *(a for a in sys.argv[1:] if not os.path.isabs(a))])


def machine() -> dict[str, str]:
    """The kernel and the processor's kind."""
    return {"system": f"{platform.system()} {platform.release()}", "machine": platform.machine()}


def file_system(folder: str | os.PathLike[str]) -> str:
    """The kind of file system of a folder, "?" where that cannot be found out."""
    at, best = os.path.realpath(folder), ("", "?")
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "?"
    for mount in mounts:
        _, point, kind, *_ = mount.split()
        inside = at == point or at.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best[0]):
            best = (point, kind)
    return best[1]


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()
