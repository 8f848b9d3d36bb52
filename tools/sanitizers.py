"""Runs the C tests, and kernels of every family, under each sanitizer and under valgrind.

python tools/sanitizers.py [--only NAME ...] [--tests REGEX]      (make sanitizers)

A watcher builds cinfer with its instruments below build/sanitizers/NAME, runs ctest there, and the
program of tools/bits_matrix.py on the model of tools/bits_families.py. Anything that is found ends
a program, and this one with 1.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bits_builds import Data

ROOT = Path(__file__).resolve().parent.parent
CINFER = ROOT / "cinfer"
BUILDS = ROOT / "build" / "sanitizers"
REPEATS = "2"
CLANG = ("clang-14", "clang")


class Watcher(NamedTuple):
    """A build and how it is run.

    Attributes:
        compilers: the first that is there.
        sanitize: what follows -fsanitize=; empty: none.
        flags: more for the compiler.
        environment: of the programs.
        wrapper: what runs them.
        isas: that are built; empty: all.
    """

    name: str
    compilers: tuple[str, ...]
    sanitize: str
    flags: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    wrapper: tuple[str, ...] = ()
    isas: str = ""


# Older ones do not see what fstat of today's glibc writes, none what masked stores of AVX write.
NEW_CLANG = ("clang-19", "clang-18", "clang-17", "clang-16")
# Unsigned numbers wrap on purpose, in hashes and random generators.
UNDEFINED = (
    "undefined,float-cast-overflow,implicit-signed-integer-truncation,"
    "implicit-unsigned-integer-truncation,implicit-integer-sign-change"
)
MEMCHECK = (
    *("valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full", "--track-origins=yes"),
    *("--errors-for-leak-kinds=definite,indirect,possible", "--child-silent-after-fork=yes"),
)
WATCHERS = (
    # Before gcc 14, frames that are watched after their return are not aligned for AVX-512.
    Watcher("address", ("gcc",), "address,undefined"),
    Watcher(
        "undefined",
        CLANG,
        f"address,{UNDEFINED}",
        environment=(("ASAN_OPTIONS", "detect_stack_use_after_return=1"),),
    ),
    Watcher("memory", NEW_CLANG, "memory", ("-fsanitize-memory-track-origins=2",), isas="portable"),
    Watcher("thread", CLANG, "thread", environment=(("TSAN_OPTIONS", "second_deadlock_stack=1"),)),
    Watcher("valgrind", ("gcc",), "", ("-g",), wrapper=MEMCHECK),
)


def compiler(watcher: Watcher) -> str:
    """The compiler of a watcher; ends everything if it or the wrapper is not there."""
    for name in watcher.compilers:
        if shutil.which(name):
            break
    else:
        raise SystemExit(f"sanitizers: {watcher.compilers[-1]} not found")
    if watcher.wrapper and not shutil.which(watcher.wrapper[0]):
        raise SystemExit(f"sanitizers: {watcher.wrapper[0]} not found")
    return name


def cmake(folder: Path, *options: str) -> None:
    """Builds the library and its tests."""
    cache = shutil.which("ccache")
    launcher = [f"-DCMAKE_C_COMPILER_LAUNCHER={cache}"] if cache else []
    for command in (
        ["cmake", "-S", str(CINFER), "-B", str(folder), "-DCINFER_TESTS=ON", *launcher, *options],
        ["cmake", "--build", str(folder), "-j2"],
    ):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def build(watcher: Watcher) -> Path:
    """Builds everything with the instruments of a watcher; returns the folder."""
    folder, cc = BUILDS / watcher.name, compiler(watcher)
    options = [f"-DCMAKE_C_COMPILER={cc}", f"-DCMAKE_C_FLAGS={' '.join(watcher.flags)}"]
    options += [f"-DCINFER_SANITIZE={watcher.sanitize}", f"-DCINFER_ISAS={watcher.isas}"]
    if watcher.wrapper:
        options += [f"-DCMAKE_CROSSCOMPILING_EMULATOR={';'.join(watcher.wrapper)}"]
    cmake(folder, *options)
    sanitize = [f"-fsanitize={watcher.sanitize}"] if watcher.sanitize else []
    command = [cc, "-g", "-O1", *watcher.flags, *sanitize, f"-I{CINFER / 'include'}", "-DCI_STATIC"]
    command += [str(CINFER / "tests" / "bits.c"), str(folder / "libcinfer.a"), "-lm", "-pthread"]
    subprocess.run([*command, "-o", str(folder / "bits")], check=True)
    return folder


def passes(command: list[str], watcher: Watcher, folder: Path) -> bool:
    """Whether a program ends well; if not, its output is shown."""
    environment = {**os.environ, **dict(watcher.environment)}
    done = subprocess.run(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        print(done.stdout[-20000:], file=sys.stderr)
    return done.returncode == 0


def watch(watcher: Watcher, tests: str, families: Data) -> bool:
    """Builds and runs everything; whether nothing was found."""
    folder = build(watcher)
    begin = time.monotonic()
    good = passes(["ctest", "--output-on-failure", "-R", tests], watcher, folder)
    then = time.monotonic()
    what = ["run", str(families.model), str(families.inputs), families.name]
    bits = [*watcher.wrapper, str(folder / "bits"), REPEATS, *what]
    kernels = passes(bits, watcher, folder)
    for name, passed, seconds in (
        ("C tests", good, then - begin),
        ("kernels of every family", kernels, time.monotonic() - then),
    ):
        found = "nothing found" if passed else "FOUND"
        print(f"{watcher.name}: {name}: {found}, {seconds:.0f} s", flush=True)
    return good and kernels


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=[w.name for w in WATCHERS])
    parser.add_argument("--tests", default=".", help="of ctest, a regular expression")
    arguments = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tools"))
    import bits_matrix

    chosen = [w for w in WATCHERS if not arguments.only or w.name in arguments.only]
    with tempfile.TemporaryDirectory() as name:
        families = bits_matrix.families(Path(name))
        found = [w.name for w in chosen if not watch(w, arguments.tests, families)]
    print(f"sanitizers: found something: {', '.join(found)}" if found else "sanitizers: clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
