"""The tensors of a checkpoint, of weights or of a model."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from graphio.command_line import opening, output

NAME = "ls"
Facts = dict[str, Any]


def command(
    file: Annotated[str, typer.Argument(help="A checkpoint, a file of weights, or a model.")],
    as_json: output.Json = False,
) -> None:
    """List the tensors of FILE: name, type, shape, bytes."""
    kind = opening.kind_of(file)
    facts = {"file": file, "kind": kind} | (
        _model(file) if kind in opening.MODELS else _weights(file)
    )
    output.show(facts, as_json, lambda console: _print(console, facts))


def _weights(path: str) -> Facts:
    from graphio.train.checkpoints.inspecting import list_checkpoint

    listing = list_checkpoint(opening.prefix_of(path))
    rows = [row._asdict() for row in listing.rows]
    size = sum(row["bytes"] for row in rows)
    return {"step": listing.step, "metrics": listing.metrics, "tensors": rows, "bytes": size}


def _model(path: str) -> Facts:
    from graphio.model.describing import describe

    model, _ = opening.unpacked(path, lazy=True)
    facts = describe(model)
    rows = [
        {"name": row["name"], "kind": "slot" if row["slot_of"] else "variable"} | row
        for row in facts["variables"]
    ]
    rows += [{"kind": "constant"} | row for row in facts["constants"]]
    return {"tensors": rows, "bytes": sum(row["bytes"] or 0 for row in rows)}


def _print(console: Console, facts: Facts) -> None:
    rows = facts["tensors"]
    step = f", step {facts['step']}" if facts.get("step") is not None else ""
    metrics = facts.get("metrics", {}).items()
    head = f"{facts['file']}: {facts['kind']}{step}"
    head += "".join(f", {name} {value:.6g}" for name, value in metrics)
    head += f", {len(rows)} tensors, {facts['bytes']:,} bytes"
    console.print(output.name(head))
    cells = [
        (
            row["name"],
            row["kind"],
            row.get("dtype") or "",
            "" if row.get("shape") is None else output.sizes(row["shape"]),
            "" if row["bytes"] is None else f"{row['bytes']:,}",
        )
        for row in rows
    ]
    console.print(output.table(("name", "kind", "type", "shape", "bytes"), cells, right=(4,)))
