"""The commands, their help, and what becomes of their errors."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from graphio.bars import progress_bars
from graphio.command_line import exits
from graphio.command_line.commands import (
    bench,
    convert,
    diff,
    export_c,
    inspect,
    ls,
    profile,
    run,
    selftest,
    show,
    verify,
)
from graphio.schema import errors
from graphio.version import __version__

__all__ = ["app", "main"]

HELP = """Looks into models and checkpoints, converts, runs and compares them.

FILE is a model (.gio), an ONNX file, a SavedModel folder or frozen graph of TensorFlow's, a
checkpoint (its prefix or folder), or weights (.safetensors, .npz, .npy, .pt): told by their bytes.

Exit codes: 0 done; 1 the answer is no (files differ, a check failed, operators are missing);
2 wrong usage; 3 a file is missing, damaged or of the wrong kind; 4 a mistake of graphio's.
"""
EXPECTED = (exits.Refused, errors.OpError, OSError, ValueError, KeyError, NotImplementedError)

app = typer.Typer(
    name="graphio",
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich" if sys.stdout.isatty() else None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (inspect, ls, verify, diff, convert, run, bench, profile, show, export_c, selftest):
    app.command(module.NAME)(module.command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"graphio {__version__}")
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
        arguments: behind the program's name; None: sys.argv's.

    Returns:
        The exit code, see graphio.command_line.exits.
    """
    code = _run(sys.argv[1:] if arguments is None else list(arguments))
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _print_nowhere()
    return code


def _run(given: list[str]) -> int:
    try:
        with progress_bars():
            app(given, prog_name="graphio")
    except SystemExit as end:  # with which typer tells wrong usage, too
        if isinstance(end.__context__, BrokenPipeError):  # so do typer and rich tell of this
            _print_nowhere()
            return exits.DONE
        return end.code if isinstance(end.code, int) else exits.DONE
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except EXPECTED as error:
        return _failed(error, "--debug" in given)
    except Exception as error:
        return _fault(error, "--debug" in given)
    return exits.DONE


def _print_nowhere() -> None:
    """Whoever read the output has seen enough: what is still to come is not written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failed(error: Any, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    text = error.args[0] if isinstance(error, KeyError) and error.args else str(error)
    print(f"graphio: {text}", file=sys.stderr)
    return error.code if isinstance(error, exits.Refused) else exits.FILE


def _fault(error: Exception, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    more = "" if debug else "; `graphio --debug ...` shows where"
    print(f"graphio: {type(error).__name__}: {error}{more}", file=sys.stderr)
    return exits.FAULT
