"""The differences between two checkpoints, files of weights, or models."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console

from graphio.command_line import exits, opening, output

NAME = "diff"
Facts = dict[str, Any]


def command(
    a: Annotated[str, typer.Argument(help="A checkpoint, a file of weights, or a model.")],
    b: Annotated[str, typer.Argument(help="Another one.")],
    as_json: output.Json = False,
) -> None:
    """Compare A with B: structure and values, the largest difference first. 1 if they differ.

    Tensors of two models that a conversion has renamed or transposed are paired by their values,
    or by a shape that no other has.
    """
    from graphio.train.checkpoints import pairing
    from graphio.train.checkpoints.comparing import diff_checkpoints

    models = all(opening.kind_of(path) in opening.MODELS for path in (a, b))
    one, other = _Side(a, models), _Side(b, models)
    structure = list(_structure(one.lines, other.lines))
    paired = pairing.pairs(one.values, other.values) if models else []
    values: Any = pairing.aligned(one.values, other.values, paired) if paired else other.values
    found = diff_checkpoints(one.values, values)
    facts = {
        "equal": found.equal and not structure and not paired,
        "structure": structure,
        "paired": [{"a": pair.a, "b": pair.b, "how": pair.how} for pair in paired],
        "same": sum(row.status == "same" for row in found),
        "values": [asdict(row) for row in found if row.status != "same"],
    }
    output.show(facts, as_json, lambda console: _print(console, facts))
    if not facts["equal"]:
        raise typer.Exit(exits.NO)


class _Side:
    """One of the two.

    Args:
        path: of it.
        models: whether both are models: then constants and structure are compared, too, else the
            variables alone.

    Attributes:
        values: what diff_checkpoints takes.
        lines: of a model, its structure as text.
    """

    def __init__(self, path: str, models: bool) -> None:
        self.lines: list[str] = []
        if opening.kind_of(path) not in opening.MODELS:
            self.values: Any = opening.prefix_of(path)
            return
        from graphio.model.describing import structure_lines, tensors_of

        model, arrays = opening.unpacked(path)
        variables = {v.name for v in model.variable}
        values = tensors_of(model, arrays)
        self.values = values if models else {n: v for n, v in values.items() if n in variables}
        self.lines = structure_lines(model) if models else []


def _structure(a: list[str], b: list[str]) -> Iterator[str]:
    """Lines of only one of the two: "- " of a, "+ " of b."""
    for line in difflib.unified_diff(a, b, lineterm="", n=0):
        if not line.startswith(("---", "+++", "@@")):
            yield f"{line[0]} {line[1:]}"


def _print(console: Console, facts: Facts) -> None:
    rows = facts["values"]
    console.print(f"{facts['same']} of {facts['same'] + len(rows)} tensors have the same bits")
    for pair in facts["paired"]:
        console.print(output.name(f"{pair['a']} is {pair['b']} in B, paired {pair['how']}"))
    for line in facts["structure"]:
        console.print(output.name(line))
    if not rows:
        return
    cells = [
        (
            row["name"],
            row["status"],
            " | ".join(dict.fromkeys(filter(None, (row["a"], row["b"])))),
            "" if row["largest"] is None else f"{row['largest']:.6g}",
            "" if row["relative"] is None else f"{row['relative']:.3g}",
            f"{row['count']} of {row['size']}" if row["size"] else "",
        )
        for row in rows
    ]
    head = ("name", "status", "is", "largest", "relative", "differing")
    console.print(output.table(head, cells, right=(3, 4, 5)))
