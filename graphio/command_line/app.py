"""The commands and their help; ending.py has what becomes of their errors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from graphio.command_line import ending
from graphio.command_line.commands import (
    bench,
    compare,
    compat,
    convert,
    diff,
    export_c,
    inspect,
    ls,
    profile,
    run,
    selftest,
    serve,
    show,
    verify,
)
from graphio.support.progress_bars import progress_bars
from graphio.support.version import graphio_version

__all__ = ["app", "main"]

HELP = """Looks into models and checkpoints, converts, runs and compares them.

FILE is a model (.gio), an ONNX file, a SavedModel folder or frozen graph of TensorFlow's, a
checkpoint (its prefix or folder), or weights (.safetensors, .npz, .npy, .pt): recognised by their
bytes.

Exit codes: 0 done; 1 a negative answer (files differ, a check failed, operators are missing);
2 wrong usage; 3 a file is missing, damaged or of the wrong kind; 4 a mistake of graphio's;
5 the standard output cannot be written; 130 interrupted (Ctrl+C).
"""

app = typer.Typer(
    name="graphio",
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich" if sys.stdout.isatty() else None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (
    inspect,
    ls,
    verify,
    diff,
    convert,
    run,
    bench,
    profile,
    show,
    serve,
    export_c,
    compat,
    compare,
    selftest,
):
    app.command(module.NAME)(module.command)


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"graphio {graphio_version}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    context.obj = debug


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        arguments: after the program's name; None: sys.argv's.

    Returns:
        The exit code, see graphio.command_line.exits.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    return ending.end_of(lambda: _called(given), given)


def _called(given: list[str]) -> int | None:
    """Calls the command; errors in its arguments are shown by typer, or raised for JSON."""
    with progress_bars():
        ends = not ending.wants_json(given)
        code: int | None = app(given, prog_name="graphio", standalone_mode=ends)
    return code
