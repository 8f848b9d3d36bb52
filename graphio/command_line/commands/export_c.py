"""A header, an example and a makefile for a model: C code with its names and shapes filled in."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from graphio.command_line import fitting, opening, output
from graphio.command_line.exits import USAGE, Refused

NAME = "export-c"


def command(
    model: Annotated[str, typer.Argument(help="A model (.gio); others: `graphio convert` first.")],
    folder: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Where to.")
    ] = ".",
    name: Annotated[
        str | None,
        typer.Option(
            help="Prefix of files and functions; none: the model's, as far as it is ASCII."
        ),
    ] = None,
    embed: Annotated[
        bool, typer.Option("--embed", help="The model as an array in the program, too: no file.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an example that you have changed.")
    ] = False,
    as_json: output.Json = False,
) -> None:
    """Write C for MODEL: a header NAME.h, a program NAME_example.c and a makefile NAME.mk.

    The header has a function for each signature. `make -f NAME.mk` builds the program with the
    installed C library; CINFER=FOLDER takes the library's sources, for example in a cross build.
    """
    if opening.kind_of(model) != opening.MODEL:
        raise Refused(
            f"'{model}' is not a .gio file: `graphio convert {model} model.gio` makes one"
        )
    from graphio.model.c_source import sources
    from graphio.schema import container
    from graphio.storage import stores

    data = Path(model).read_bytes()
    with opening.naming(model):  # every tensor is compared with its checksum before the output
        container.unpack(data)
    made = sources(data, name or Path(model).stem, os.path.basename(model), embed)
    _check_targets(model, folder, made, force)
    os.makedirs(folder, exist_ok=True)
    for file, text in made.items():
        stores.write(os.path.join(folder, file), [text.encode()])
    (rules,) = (file for file in made if file.endswith(".mk"))
    build = shlex.join(["make", *(["-C", folder] if folder != "." else []), "-f", rules])
    facts = {"files": [os.path.join(folder, file) for file in made], "build": build}
    output.show(facts, as_json, lambda console: _print(console, facts))


def _check_targets(model: str, folder: str, made: Mapping[str, str], force: bool) -> None:
    """Refuses to write over the model, or over an example that is not as it would be written.

    Args:
        made: contents of the files, by name.
    """
    fitting.refuse_source([model], [os.path.join(folder, file) for file in made], "give --name")
    for file, text in made.items():
        path = os.path.join(folder, file)
        if file.endswith("_example.c") and not force and os.path.isfile(path):
            if Path(path).read_bytes() != text.encode():
                raise Refused(
                    f"'{path}' is there and is another text, maybe with changes of yours: nothing "
                    "was written. --force replaces it, --name gives the files another name",
                    USAGE,
                )


def _print(console: Console, facts: dict[str, Any]) -> None:
    for file in facts["files"]:
        console.print(output.name(file))
    console.print(output.name(f"build: {facts['build']}"))
