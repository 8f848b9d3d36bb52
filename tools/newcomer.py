"""A clone of this checkout in a new folder with an empty home: what a newcomer has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Variables that a newcomer's machine may set: a compiler, the terminal, proxies and certificates.
KEPT = re.compile(r"CC|TERM|TMPDIR|PIP_.*|.*_proxy|.*_PROXY|.*CERT.*|.*_CA_.*|.*CAINFO|PYENV_ROOT")
SYSTEM = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")
STATE = "\nenv -0 > {0}; pwd > {1}"


@dataclass
class Newcomer:
    """A shell in the clone; what a command exports and where it goes stays for the next one.

    Attributes:
        checkout: the clone.
        environment: of the next command.
        folder: of the next command.
    """

    checkout: Path
    environment: dict[str, str]
    folder: Path

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Runs bash on a command; its two outputs come together."""
        home = Path(self.environment["HOME"])
        variables, folder = home / ".variables", home / ".folder"
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", command + STATE.format(variables, folder)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode == 0:
            pairs = (pair.partition("=") for pair in variables.read_text().split("\0") if pair)
            self.environment = {name: value for name, _, value in pairs}
            self.folder = Path(folder.read_text().rstrip("\n"))
        return done


@contextmanager
def newcomer(cache: str = "", also: Sequence[str] = ()) -> Iterator[Newcomer]:
    """A newcomer, whose folders are removed in the end.

    Args:
        cache: a folder in which pip keeps what it downloads, "": none is shared.
        also: further variables, as "CC=tcc".
    """
    with tempfile.TemporaryDirectory(prefix="newcomer-") as name:
        home, checkout = Path(name, "home"), Path(name, "graphio")
        home.mkdir()
        subprocess.run(["git", "clone", "-q", ROOT, checkout], check=True)
        own = str(Path(getattr(sys, "_base_executable", sys.executable)).resolve().parent)
        variables = {name: value for name, value in os.environ.items() if KEPT.fullmatch(name)}
        variables |= {"HOME": str(home), "LANG": "C.UTF-8", "PATH": ":".join([own, *SYSTEM])}
        variables |= {"PIP_CACHE_DIR": cache} if cache else {}
        variables |= dict(pair.split("=", 1) for pair in also)
        yield Newcomer(checkout, variables, checkout)


def commit() -> str:
    """The commit that is cloned, and whether something in the checkout is not part of it."""
    if shutil.which("git") is None:
        raise SystemExit("a clone needs git")

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout

    changed = ", without the changes that are not committed" if git("status", "--short") else ""
    return git("rev-parse", "--short", "HEAD").strip() + changed
