"""Compiler and linker flags of the C library that was installed with this package.

cc -std=c11 -O2 app.c $(python -m graphio.cinfer --cflags --libs) -o app
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from graphio.cinfer import _native
from graphio.support import installation

#: libraries of the system that the static library needs
SYSTEM = ("-lbcrypt",) if sys.platform == "win32" else ("-lm", "-pthread")
#: names of the static library: GNU's, Microsoft's
ARCHIVES = ("libcinfer.a", "cinfer.lib")


def flags(home: Path) -> dict[str, tuple[str, list[str]]]:
    """Each option to its help and its words; `home` is the folder of the native module."""
    include, lib = home / "include", home / "lib"
    return {
        "includedir": ("the folder of cinfer.h and cinfer.hpp", [str(include)]),
        "libdir": ("the folder of the static library", [str(lib)]),
        "cflags": ("flags for the compiler", [f"-I{include}", "-DCI_STATIC"]),
        "libs": ("flags for the linker", [f"-L{lib}", "-lcinfer", *SYSTEM]),
    }


def missing(home: Path) -> str:
    """The error message for an installation without header or library, "" if both are there."""
    if not (home / "include" / "cinfer.h").is_file():
        return f"'{home / 'include'}' has no cinfer.h"
    if not any((home / "lib" / name).is_file() for name in ARCHIVES):
        return f"'{home / 'lib'}' has no {ARCHIVES[0]}"
    return ""


def version() -> str:
    """The version of the C library."""
    number = _native.lib.ci_version()
    return f"{number >> 16}.{number >> 8 & 255}.{number & 255}"


def main(arguments: list[str] | None = None, home: Path | None = None) -> int:
    """Prints the requested flags on one line, quoted for a shell.

    Args:
        arguments: of the command; by default those of the process.
        home: folder with include/ and lib/; by default that of the native module, in which an
            installation puts them, an editable one, too.

    Returns:
        The exit code: 0; 1 where the installation has no library.
    """
    home = home or Path(_native.__file__).parent
    known = flags(home)
    parser = argparse.ArgumentParser(
        prog="python -m graphio.cinfer",
        description="Flags that compile and link a program with the C library of this package.",
    )
    for option, (text, _) in known.items():
        parser.add_argument(f"--{option}", action="store_true", help=text)
    parser.add_argument("--version", action="version", version=version())
    given = vars(parser.parse_args(arguments))
    if not any(given.values()):
        parser.error(f"expected --version or some of {', '.join(f'--{name}' for name in known)}")
    if problem := missing(home):
        print(
            f"graphio.cinfer: {problem}: install graphio again, which builds the C library: "
            f"{installation.pip_install()}",
            file=sys.stderr,
        )
        return 1
    print(shlex.join(word for name, (_, words) in known.items() if given[name] for word in words))
    return 0


if __name__ == "__main__":
    sys.exit(main())
