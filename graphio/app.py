"""tf.app: the frame of a program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from graphio import flags

__all__ = ["flags", "run"]


def run(
    main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None
) -> NoReturn:
    """Reads the flags, calls main with what is left of the command line, and ends the program.

    Args:
        main: takes the list of arguments that are not flags defined by tf.flags, the program's name
            first; None: the main of the program that runs.
        argv: the command line; None: that of the process.

    Raises:
        SystemExit: always; the status is what main returns, 1 for flags that cannot be read.
    """
    chosen = sys.modules["__main__"].main if main is None else main
    given = list(sys.argv if argv is None else argv)
    if any(word in ("--help", "-help", "--helpfull", "-h") for word in given[1:]):
        print(f"{sys.modules['__main__'].__doc__ or ''}\nflags:\n{flags.FLAGS.get_help()}")
        sys.exit(1)
    try:
        arguments = flags.FLAGS(given, known_only=True)
    except flags.Error as error:
        sys.stderr.write(f"FATAL Flags parsing error: {error}\nPass --help to see help on flags.\n")
        sys.exit(1)
    sys.exit(chosen(arguments))
