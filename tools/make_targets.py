"""Runs targets of the Makefile, each alone in a fresh clone with an empty home.

python tools/make_targets.py              all that are quick; fails when one fails
python tools/make_targets.py docs demo    these, whatever they cost
python tools/make_targets.py --list       the quick ones, and why the others are not

Clones share what pip downloads and, where ccache is installed, what was compiled.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from newcomer import ROOT, commit, newcomer


@dataclass(frozen=True)
class Target:
    """How a target is tried.

    Attributes:
        arguments: of its short form, as make takes them.
        reason: why it is run only when it is named; "": it is quick.
    """

    arguments: str = ""
    reason: str = ""


#: by the names that the Makefile has, patterns included
TARGETS = {
    "help": Target(),
    "clean": Target(),
    "venv": Target(),
    "demo": Target(),
    "test": Target(
        "PYTEST='tests/release/test_release.py tests/architecture/test_architecture.py' WORKERS=2"
    ),
    "smoke": Target(),
    "acceptance": Target(),
    "lint": Target(),
    "format": Target(),
    "docs": Target(),
    "analyze": Target("ANALYZE=stack"),
    "fuzz": Target("FUZZ='wire --seconds 1'"),
    "proof-%": Target("PROOF=--help", "hours in full; this is its command line"),
    "proof-errors": Target("PROOF=--help", "hours in full; this is its command line"),
    "proof-files": Target("PROOF=--help", "hours in full; this is its command line"),
    "proofs": Target(reason="the deep forms of all proofs: hours"),
    "fuzz-deep": Target(reason="hours, until each fuzz target has its goal"),
    "browser": Target(reason="needs clang, lld and wasi-libc of the system"),
    "operators": Target(reason="all cases of the standard in both engines: a quarter of an hour"),
    "bits": Target(reason="every compiler and machine, most of them emulated: an hour"),
    "distribute": Target(
        reason="each engine, number of ranks and a kill at each step: minutes; in short in tests/"
    ),
    "attacks": Target(reason="all attacks with sanitizers and on emulated machines: hours"),
    "failures": Target(reason="fails every allocation and read in turn: hours"),
    "sanitizers": Target(reason="all kernels under four sanitizers and valgrind: hours"),
    "coverage": Target(reason="the complete test suite in builds that count: hours"),
    "coverage-c": Target(reason="the complete test suite in a build that counts: hours"),
    "coverage-python": Target(reason="the tests of saves and restores under a tracer: an hour"),
    "bench": Target(reason="figures of an idle machine; installs PyTorch"),
    "bench-peers": Target(reason="figures of an idle machine; installs every other engine"),
    "ratchet-times": Target(reason="figures of an idle machine; installs PyTorch"),
    "wheels-check": Target(reason="an environment for each Python that is here: minutes each"),
    "sbom": Target(reason="the same as wheels-check"),
    "readme": Target("README=--help", "README's commands, `make test` among them"),
    "targets": Target("TARGETS=--list", "runs all these"),
}
WIDTH = max(map(len, TARGETS))


def target_of(name: str) -> Target | None:
    """The row of a target, which a pattern may be the name of."""
    found = (row for key, row in TARGETS.items() if fnmatch(name, key.replace("%", "?*")))
    return TARGETS.get(name) or next(found, None)


def run(name: str, cache: Path) -> bool:
    """Prints a line for a target, and the end of its output if it failed."""
    target = target_of(name)
    assert target is not None
    also = [f"CCACHE_DIR={cache / 'ccache'}", "CCACHE_NOHASHDIR=1"]
    also += ["CMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    command = f"make {name} {target.arguments}".strip()
    start = time.monotonic()
    with newcomer(str(cache / "pip"), also) as someone:
        done = someone.run(command)
        word = "FAILED" if done.returncode else "ok    "
        print(f"{name:{WIDTH}} {word} {time.monotonic() - start:6.1f} s  {command}", flush=True)
        if done.returncode:
            print("".join(f"    {line}\n" for line in done.stdout.splitlines()[-40:]), flush=True)
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("targets", nargs="*", help="by default all that are quick")
    parser.add_argument("--list", action="store_true", help="say which are quick, and run none")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.targets if target_of(name) is None]:
        parser.error(f"TARGETS lacks {', '.join(unknown)}")
    if arguments.list:
        for name, row in TARGETS.items():
            print(f"{name:{WIDTH}} {row.reason or 'quick'}")
        return 0
    chosen = arguments.targets or [name for name, row in TARGETS.items() if not row.reason]
    print(f"clones of {commit()}", flush=True)
    cache = ROOT / "build" / "newcomer"
    failed = [name for name in chosen if not run(name, cache)]
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
