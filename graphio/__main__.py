"""The command `graphio`, also as `python -m graphio`."""

from __future__ import annotations

import sys


def main() -> int:
    """Runs the command line; says what to install where its libraries are missing."""
    try:
        from graphio.command_line import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click", "tqdm"):
            raise
        print(f"graphio: no module {error.name}: pip install 'graphio[cli]'", file=sys.stderr)
        return 2
    return app.main()


if __name__ == "__main__":
    sys.exit(main())
