"""A program in TensorFlow and in graphio, and the first value that differs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from graphio.command_line import exits, output
from graphio.command_line.arguments import DEFAULT_ENGINE, Engine

NAME = "compare"
Facts = dict[str, Any]


def command(
    program: Annotated[list[str], typer.Argument(help="The program, and its arguments after --.")],
    tensorflow: Annotated[
        str, typer.Option("--tensorflow", metavar="PYTHON", help="A Python that has TensorFlow.")
    ],
    steps: Annotated[int, typer.Option("--steps", min=1, help="Runs to compare.")] = 10,
    tolerance: Annotated[
        float, typer.Option("--tolerance", help="Largest difference, relative to a tensor's.")
    ] = 1e-4,
    engine: Engine = DEFAULT_ENGINE,
    copies: Annotated[
        bool, typer.Option("--copies", help="Run each in its own copy of this folder.")
    ] = False,
    resource_variables: Annotated[
        bool,
        typer.Option("--resource-variables", help="Make TensorFlow's variables resources."),
    ] = False,
    as_json: output.Json = False,
) -> None:
    """Run a program in TensorFlow and in graphio and compare its first steps. 1 if they differ.

    A step is a Session.run that fetches numbers. graphio begins with the variables of
    TensorFlow and gets its feeds and the draws of its random operators, so that the losses of all
    steps have to agree. The first tensor that differs is named. Both run in this folder, TensorFlow
    first: a program that goes on from its checkpoint finds that of the other, but for --copies.
    Where a run both reads and writes a variable, TensorFlow's own values may change from run to
    run; with --resource-variables it reads before it writes.
    """
    from graphio.python import comparison

    if not Path(program[0]).is_file():
        raise exits.Refused(f"there is no file '{program[0]}'", exits.FILE)
    try:
        facts = comparison.compare(
            program, tensorflow, steps, tolerance, engine, copies, resource_variables
        )
    except (comparison.ProgramFailed, OSError) as error:
        raise exits.Refused(str(error), exits.FILE) from error
    output.show(facts, as_json, lambda console: _print(console, facts))
    if not facts["agree"]:
        raise typer.Exit(exits.NO)


def _print(console: Console, facts: Facts) -> None:
    cells = [
        (str(i), _numbers(step["tensorflow"]), _numbers(step["graphio"]))
        for i, step in enumerate(facts["steps"])
    ]
    console.print(output.table(("step", "TensorFlow", "graphio"), cells, right=(0, 1, 2)))
    if facts["absent"]:
        console.print(output.name(f"variables of one alone: {', '.join(facts['absent'])}"))
    first = facts["first"]
    if first is None:
        console.print(f"the first {len(facts['steps'])} steps agree")
        return
    console.print(
        output.name(
            f"step {first['step']}: {first['name']} differs by {first['difference']:.3g}: "
            f"TensorFlow {_numbers(first['tensorflow'])}, graphio {_numbers(first['graphio'])}"
        )
    )


def _numbers(values: list[float]) -> str:
    return " ".join(f"{value:.7g}" for value in values)
