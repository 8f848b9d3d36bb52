"""The time of each operation of a run."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console

from graphio.command_line import fitting, opening, output
from graphio.command_line.arguments import (
    DEFAULT_ENGINE,
    Engine,
    Inputs,
    Signature,
    Sizes,
    choose_signature,
)
from graphio.command_line.endings import ending
from graphio.command_line.giving import given_files, given_inputs

NAME = "profile"
Facts = dict[str, Any]


def command(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="A model, also of ONNX or TensorFlow.")],
    inputs: Inputs = None,
    engine: Engine = DEFAULT_ENGINE,
    runs: Annotated[int, typer.Option(min=1, help="How many are measured.")] = 20,
    rows: Annotated[int, typer.Option(min=1, help="How many operations are shown.")] = 20,
    trace: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.json", help="A trace for ui.perfetto.dev.", callback=ending(".json")
        ),
    ] = None,
    signature: Signature = None,
    size: Sizes = None,
    as_json: output.Json = False,
) -> None:
    """Show the time of each operation of a run of MODEL, the minimum of several runs."""
    from graphio.execution import engines
    from graphio.observe import profile
    from graphio.schema import container
    from graphio.storage import files

    if as_json:
        fitting.refuse_unused(context, {"rows": "of the table; JSON has all"}, "With --json")
    if trace is not None:
        fitting.refuse_source([model, *given_files(inputs)], [trace])
    data = opening.model_bytes(model)
    with opening.naming(model):
        opened = engines.load(engine, data)
    loaded = opened.signature(choose_signature(signature, opened.signatures, opened.metadata))
    given = given_inputs(data, loaded, inputs, size)
    message, _ = container.unpack(data, lazy=True)
    found = profile.of_runs(message, profile.observed(loaded, [*given.values()], runs), engine)
    if trace is not None:
        with files.naming("write", trace):
            found.save(trace)
    facts = {
        "model": model,
        "signature": loaded.name,
        "engine": engine,
        "runs": runs,
        "seconds": found.seconds,
        "operations": [asdict(row) for row in found.operations],
        "trace": trace,
    }
    output.show(facts, as_json, lambda console: _print(console, facts, rows))


def _print(console: Console, facts: Facts, most: int) -> None:
    operations = facts["operations"]
    total = f"{facts['seconds'] * 1e6:,.1f} us in {len(operations)} operations"
    console.print(output.name(f"{facts['signature']} in {facts['engine']}: {total}"))
    cells = [
        (f"{row['seconds'] * 1e6:,.1f}", f"{row['share']:.1%}", row["op"] or "?", row["name"])
        for row in operations[:most]
    ]
    console.print(output.table(("us", "share", "operator", "operation"), cells, right=(0, 1)))
    if len(operations) > most:
        console.print(f"{len(operations) - most} more; --rows shows them")
    if facts["trace"]:
        console.print(output.name(f"written to {facts['trace']}: open it at ui.perfetto.dev"))
