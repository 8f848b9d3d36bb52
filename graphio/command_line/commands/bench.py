"""Latency in every engine that is there, side by side."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer
from rich.console import Console

from graphio.command_line import engines, fitting, opening, output
from graphio.command_line.arguments import Inputs, Signature, Sizes, chosen_engine, engine_names
from graphio.command_line.giving import given_inputs

NAME = "bench"
Facts = dict[str, Any]
_ROUND = 0.02  # seconds that an engine runs before the next one has its turn
_PROGRESS_BAR = 30


def command(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="A model; peers run ONNX files alone.")],
    inputs: Inputs = None,
    seconds: Annotated[
        float, typer.Option(min=0.01, help="For each engine and thread count.")
    ] = 2.0,
    threads: Annotated[list[int] | None, typer.Option(min=1, help="May be repeated.")] = None,
    engine: Annotated[
        list[str] | None, typer.Option(help="May be repeated; none: all that are installed.")
    ] = None,
    signature: Signature = None,
    size: Sizes = None,
    as_json: output.Json = False,
) -> None:
    """Time MODEL in each engine, in turns: loading, the first run, the median and least of many."""
    names = engine or _those_for(model)
    if not any(map(engines.has_threads, names)):
        unused = {"threads": "for cinfer and the peers; the runtime has one"}
        fitting.refuse_unused(context, unused, "In this comparison")
    rows = _rows(names, threads or [1])
    data = opening.model_bytes(model)
    reference = engines.load(chosen_engine(), model, signature)
    given = given_inputs(data, reference, inputs, size)
    for row in rows:
        row.open(model, signature, given)
    rounds = max(1, int(seconds / _ROUND))
    for _ in output.progress(range(rounds), "bench", rounds):
        for row in rows:
            row.measure(given)
    facts = {
        "model": model,
        "signature": reference.name,
        "inputs": {name: list(getattr(value, "shape", ())) for name, value in given.items()},
        "engines": [row.facts() for row in rows],
    }
    output.show(facts, as_json, lambda console: _print(console, facts))


def _rows(names: list[str], threads: list[int]) -> list[_Row]:
    """A row for each engine and number of threads; one for an engine that always has one."""
    counts = {name: threads if engines.has_threads(name) else [1] for name in names}
    most = max(map(len, counts.values()))
    return [
        _Row(name, counts[name][i]) for i in range(most) for name in names if i < len(counts[name])
    ]


def _those_for(model: str) -> list[str]:
    reading = engines.names() if opening.kind_of(model) == opening.ONNX else engine_names()
    return [name for name in reading if engines.installed(name)]


class _Row:
    """An engine with a number of threads, and what was measured of it."""

    def __init__(self, engine: str, threads: int) -> None:
        engines.check_known(engine)
        self.engine, self.threads = engine, threads
        self.times: list[float] = []
        self._run: Callable[[Mapping[str, Any]], Any] = dict
        self._load = self._first = 0.0

    def open(self, path: str, signature: str | None, inputs: Mapping[str, Any]) -> None:
        """Loads the model and runs it once."""
        began = time.perf_counter()
        self._run = engines.load(self.engine, path, signature, self.threads).run
        loaded = time.perf_counter()
        self._run(inputs)
        self._load, self._first = loaded - began, time.perf_counter() - loaded

    def measure(self, inputs: Mapping[str, Any]) -> None:
        """A turn: runs for some time, at least once."""
        end = time.perf_counter() + _ROUND
        while True:
            began = time.perf_counter()
            self._run(inputs)
            now = time.perf_counter()
            self.times.append(now - began)
            if now >= end:
                return

    def facts(self) -> Facts:
        """Seconds; runs is how many were measured."""
        return {
            "engine": self.engine,
            "threads": self.threads,
            "load": self._load,
            "first": self._first,
            "median": statistics.median(self.times),
            "least": min(self.times),
            "runs": len(self.times),
        }


def _print(console: Console, facts: Facts) -> None:
    where = ", ".join(f"{name}{output.sizes(shape)}" for name, shape in facts["inputs"].items())
    console.print(output.name(f"{facts['signature']}({where})"))
    rows = facts["engines"]
    slowest, ours = max(row["median"] for row in rows), rows[0]["median"]
    cells = [
        (
            row["engine"],
            row["threads"],
            f"{row['load'] * 1e3:.1f}",
            f"{row['first'] * 1e3:.2f}",
            f"{row['median'] * 1e6:,.1f}",
            f"{row['least'] * 1e6:,.1f}",
            f"{row['median'] / ours:.2f}",
            "█" * max(1, round(_PROGRESS_BAR * row["median"] / slowest)),
        )
        for row in rows
    ]
    head = ("engine", "threads", "load ms", "first ms", "median us", "least us", "ratio", "")
    console.print(output.table(head, cells, right=range(1, 7)))
