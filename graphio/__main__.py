"""The command `graphio`, also as `python -m graphio`; `python -m graphio program.py` runs a program
of TensorFlow."""

from __future__ import annotations

import sys

from graphio.support import installation


def main() -> int:
    """Runs the command line; says what to install where its libraries are missing."""
    if not hasattr(sys.modules["graphio"], "_EXPORTS") and (line := installation.conflict()):
        print(f"graphio: {line}", file=sys.stderr)
        return 2
    if (program := _program(sys.argv[1:])) is not None:
        return program
    try:
        from graphio.command_line import streams

        streams.open_closed()
        from graphio.command_line import app
    except KeyboardInterrupt:
        print("graphio: interrupted", file=sys.stderr)
        return 130
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click", "tqdm"):
            raise
        print(f"graphio: no module {error.name}: {installation.hint('cli')}", file=sys.stderr)
        return 2
    return app.main()


def _program(given: list[str]) -> int | None:
    """Runs a program if one is named, and gives the exit code; None: it is a command."""
    named = [one for one in given[:2] if one != "--force"][:1]
    if not named or not (named[0] == "-m" or named[0].endswith(".py")):
        return None
    from graphio.python import hook, programs

    try:
        hook.install(force="--force" in given[:1])
    except ImportError as error:
        print(f"graphio: {error}", file=sys.stderr)
        return 2
    programs.run([one for i, one in enumerate(given) if i or one != "--force"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
