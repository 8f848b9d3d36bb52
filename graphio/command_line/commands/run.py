"""Runs a signature on inputs from files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from graphio.command_line import engines, exits, fitting, output, writing_outputs
from graphio.command_line.arguments import DEFAULT_ENGINE, Engine, Inputs, Signature, Sizes
from graphio.command_line.giving import given_files, given_inputs
from graphio.command_line.reading_inputs import read_arrays

NAME = "run"
Facts = dict[str, Any]
Array = np.ndarray[Any, Any]
_SHOWN = 8  # numbers of an output


def command(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="A model, also of ONNX or TensorFlow.")],
    inputs: Inputs = None,
    out: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help=".npz, .npy, .csv, .parquet"),
    ] = None,
    engine: Engine = DEFAULT_ENGINE,
    threads: Annotated[int, typer.Option(min=1, help="Of cinfer.")] = 1,
    batch: Annotated[int, typer.Option(min=0, help="Rows at a time; 0: all at once.")] = 0,
    compare: Annotated[
        str | None,
        typer.Option(metavar="ENGINE", help=f"Run it there, too: {', '.join(engines.names())}."),
    ] = None,
    expect: Annotated[
        str | None, typer.Option(metavar="FILE.npz", help="Outputs that it must give.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=0.0, help="Largest difference, in parts of the largest number.")
    ] = 1e-5,
    signature: Signature = None,
    size: Sizes = None,
    as_json: output.Json = False,
) -> None:
    """Run MODEL on files or random numbers; write, show or compare what it gives."""
    _check_options(context, engine, (compare, expect))
    if out is not None:
        writing_outputs.check_ending(out)
        fitting.refuse_source([model, *given_files(inputs), *([expect] if expect else [])], [out])
    loaded = engines.load(engine, model, signature, threads)
    given = given_inputs(loaded.data, loaded, inputs, size)
    results = _run(loaded, given, batch)
    facts: Facts = {"model": model, "signature": loaded.name, "engine": loaded.engine}
    facts["inputs"] = {name: list(np.shape(value)) for name, value in given.items()}
    facts["outputs"] = {name: _summary(value) for name, value in results.items()}
    if compare is not None:
        other = engines.load(compare, model, signature, threads)
        facts["compared"] = _compared(compare, results, _run(other, given, batch), tolerance)
    if expect is not None:
        facts["expected"] = _compared(expect, results, read_arrays(expect), tolerance)
    if out is not None:
        writing_outputs.write_outputs(out, results)
        facts["written"] = out
    output.show(facts, as_json, lambda console: _print(console, facts))
    if not all(facts[key]["agrees"] for key in ("compared", "expected") if key in facts):
        raise typer.Exit(exits.NO)


def _check_options(
    context: typer.Context, engine: str, others: tuple[str | None, str | None]
) -> None:
    """Refuses options that do nothing here.

    Args:
        others: what --compare and --expect were given.
    """
    unused = {}
    running = (engine, others[0] or engine)
    if not any(map(engines.has_threads, running)):
        unused["threads"] = "for cinfer and the peers; the runtime has one"
    if others == (None, None):
        unused["tolerance"] = "for --compare and --expect"
    fitting.refuse_unused(context, unused, "In this run")


def _run(loaded: engines.Loaded, inputs: Mapping[str, Any], batch: int) -> dict[str, Any]:
    """All rows at once, or some at a time with their results put together."""
    if not batch:
        return loaded.run(inputs)
    rows = {np.shape(value)[:1] for value in inputs.values()}
    if len(rows) != 1 or rows == {()}:
        shapes = ", ".join(f"{name}{list(np.shape(value))}" for name, value in inputs.items())
        raise exits.Refused(f"--batch needs inputs of the same number of rows, got {shapes}", 2)
    (count,) = rows.pop()
    starts = range(0, count, batch)
    parts = [
        loaded.run({name: value[at : at + batch] for name, value in inputs.items()})
        for at in output.progress(starts, f"run in {loaded.engine}", len(starts))
    ]
    return (
        {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}
    )


def _summary(value: Any) -> Facts:
    if not isinstance(value, np.ndarray):
        return {"type": type(value).__name__, "values": repr(value)[:200]}
    flat = value.ravel()
    facts: Facts = {"type": str(value.dtype), "shape": list(value.shape)}
    facts["values"] = [_text(number) for number in flat[:_SHOWN]]
    if value.dtype.kind in "fiub" and value.size:
        with np.errstate(all="ignore"):
            facts |= {"least": flat.min(), "largest": flat.max(), "mean": float(flat.mean())}
        facts["not_finite"] = int(np.count_nonzero(~np.isfinite(flat.astype(float))))
    return facts


def _text(number: Any) -> Any:
    return number.decode(errors="replace") if isinstance(number, bytes) else number


def _compared(
    what: str, ours: Mapping[str, Any], theirs: Mapping[str, Any], tolerance: float
) -> Facts:
    """The differences of outputs, in parts of the largest number of each."""
    rows = [_difference(name, ours.get(name), theirs[name], tolerance) for name in theirs]
    return {"with": what, "agrees": all(row["agrees"] for row in rows), "outputs": rows}


def _difference(name: str, a: Any, b: Any, tolerance: float) -> Facts:
    row: Facts = {"name": name, "agrees": False, "largest": None}
    if a is None:
        return row | {"why": "the model has no such output"}
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return row | {"why": f"shapes {list(a.shape)} and {list(b.shape)}"}
    if a.dtype.kind not in "fiubc" or b.dtype.kind not in "fiubc":
        same = [_text(x) for x in a.ravel().tolist()] == [_text(x) for x in b.ravel().tolist()]
        return row | {"agrees": same, "why": "" if same else "strings differ"}
    kind = complex if "c" in (a.dtype.kind, b.dtype.kind) else float
    x, y = a.astype(kind), b.astype(kind)
    either = np.isnan(x) | np.isnan(y)
    if not np.array_equal(np.isnan(x), np.isnan(y)):
        return row | {"why": "NaN in one of them"}
    with np.errstate(all="ignore"):
        gaps = np.where(either | (x == y), 0.0, np.abs(x - y))
    finite = np.abs(y[np.isfinite(y)])
    largest = float(gaps.max(initial=0.0)) / (float(finite.max(initial=0.0)) or 1.0)
    return row | {"largest": largest, "agrees": bool(largest <= tolerance)}


def _print(console: Console, facts: Facts) -> None:
    where = ", ".join(f"{name}{output.sizes(shape)}" for name, shape in facts["inputs"].items())
    console.print(output.name(f"{facts['signature']}({where}) in {facts['engine']}"))
    cells = [
        (
            name,
            row["type"],
            output.sizes(row["shape"]) if "shape" in row else "",
            f"{row['least']:.6g} .. {row['largest']:.6g}" if "least" in row else "",
            _values(row),
        )
        for name, row in facts["outputs"].items()
    ]
    console.print(output.table(("output", "type", "shape", "range", "values"), cells))
    for key in ("compared", "expected"):
        if key in facts:
            _print_compared(console, facts[key])
    if "written" in facts:
        console.print(output.name(f"written to {facts['written']}"))


def _values(row: Facts) -> str:
    if isinstance(row["values"], str):
        return row["values"]
    more = " ..." if np.prod(row["shape"]) > len(row["values"]) else ""
    return (
        " ".join(
            f"{v:.6g}" if isinstance(v, (float, np.floating)) else str(v) for v in row["values"]
        )
        + more
    )


def _print_compared(console: Console, found: Facts) -> None:
    says = "agrees with" if found["agrees"] else "differs from"
    console.print(output.name(f"{says} {found['with']}"))
    for row in found["outputs"]:
        why = row.get("why") or f"at most {row['largest']:.3g} of the largest number"
        console.print(output.name(f"  {row['name']}: {why}"))
