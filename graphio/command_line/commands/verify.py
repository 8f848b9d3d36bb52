"""Whether every byte is as it was written, and a model makes sense."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer
from rich.console import Console

from graphio.command_line import exits, fitting, opening, output
from graphio.support import errors

NAME = "verify"
Facts = dict[str, Any]


def command(
    context: typer.Context,
    files: Annotated[list[str], typer.Argument(help="Models, checkpoints, weights.")],
    every: Annotated[bool, typer.Option("--all", help="All checkpoints of a folder.")] = False,
    as_json: output.Json = False,
) -> None:
    """Check every byte of FILES against their checksums, and the rules of the format. 1 if one is
    damaged; 3 if none is, but one was written by a newer graphio."""
    if not any(map(os.path.isdir, files)):
        unused = {"every": "for folders of checkpoints"}
        fitting.refuse_unused(context, unused, f"For {', '.join(files)}")
    rows = [_checked(file, every) for file in output.progress(files, "verify")]
    output.show(rows, as_json, lambda console: _print(console, rows))
    if any(row["whole"] is False for row in rows):
        raise typer.Exit(exits.NO)
    if any(row["whole"] is None for row in rows):
        raise typer.Exit(exits.FILE)


def _print(console: Console, rows: list[Facts]) -> None:
    for row in rows:
        console.print(output.name(f"{row['file']}: {row['found']}"))


def _checked(path: str, every: bool) -> Facts:
    kind = opening.kind_of(path)
    row: Facts = {"file": path, "kind": kind}
    try:
        found = _model(path, kind) if kind in opening.MODELS else _checkpoint(path, every)
    except errors.NotFoundError:
        raise
    except _Newer as error:
        return row | {"whole": None, "found": str(error)}
    except (errors.OpError, ValueError) as error:
        return row | {"whole": False, "found": str(error)}
    return row | {"whole": True, "found": found}


class _Newer(Exception):
    """A newer graphio wrote it: this version cannot check it."""


def _model(path: str, kind: str) -> str:
    from graphio.schema import container, verify

    data = opening.model_bytes(path)
    try:
        model, arrays = container.unpack(data)
    except errors.UnimplementedError as error:
        raise _Newer(error) from None
    verify.verify(model)
    if kind != opening.MODEL:
        return f"a sound {kind} (the format has no checksums)"
    return f"{len(data):,} bytes, {len(arrays)} tensors: all as they were written"


def _checkpoint(path: str, every: bool) -> str:
    from graphio.train.checkpoints.inspecting import verify

    try:
        return str(verify(opening.prefix_of(path), all=every))
    except errors.UnimplementedError as error:
        raise _Newer(error) from None
