"""The command `graphio`, also as `python -m graphio`."""

from __future__ import annotations

import sys

from graphio.support import installation


def main() -> int:
    """Runs the command line; says what to install where its libraries are missing."""
    if not hasattr(sys.modules["graphio"], "_EXPORTS") and (line := installation.conflict()):
        print(f"graphio: {line}", file=sys.stderr)
        return 2
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


if __name__ == "__main__":
    sys.exit(main())
