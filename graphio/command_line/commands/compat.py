"""The names of TensorFlow that programs use and graphio lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from graphio.command_line import exits, output

NAME = "compat"
Facts = dict[str, Any]


def command(
    path: Annotated[str, typer.Argument(help="A program, a notebook, or a folder of them.")],
    as_json: output.Json = False,
) -> None:
    """Show which names of TensorFlow programs use that graphio lacks. 1 if there are any.

    The programs are read, not run. For a folder it also shows how many files would lack nothing
    with each group of missing names, and with those before it.
    """
    from graphio.python import compatibility

    root = Path(path)
    if not root.exists():
        raise exits.Refused(f"there is no file or folder '{path}'", exits.FILE)
    facts = compatibility.facts_of(root)
    output.show(facts, as_json, lambda console: _print(console, facts))
    if facts["complete"] < len(facts["files"]):
        raise typer.Exit(exits.NO)


def _print(console: Console, facts: Facts) -> None:
    for file in facts["files"]:
        if file["error"] is not None:
            console.print(output.name(f"{file['file']}: not Python 3: {file['error']}"))
        elif file["missing"] or file["through"]:
            console.print(output.name(f"{file['file']}: {_summary(file)}"))
        for row in file["missing"]:
            lines = ", ".join(map(str, row["lines"][:5])) + (
                ", ..." if len(row["lines"]) > 5 else ""
            )
            console.print(output.name(f"  {row['name']} (line {lines}): {row['reason']}"))
    console.print(f"{facts['complete']} of {len(facts['files'])} files lack nothing")
    if len(facts["files"]) > 1 and facts["gains"]:
        cells = [
            (row["names"], str(row["used_by"]), str(row["complete"])) for row in facts["gains"]
        ]
        console.print(output.table(("with", "used by", "files that lack nothing"), cells, (1, 2)))


def _summary(file: Facts) -> str:
    text = f"{len(file['missing'])} of {file['uses']} names are missing"
    return f"{text}; and in {', '.join(file['through'])}" if file["through"] else text
