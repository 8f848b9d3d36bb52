"""Facts as JSON, or as text: coloured on a terminal, plain and never cut where it is not one."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["Json", "console", "lines", "name", "progress", "show", "table"]

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs to read.")]
T = TypeVar("T")
_PLAIN_WIDTH = 10_000  # nothing is wrapped or cut for a reader that is not a terminal


def console(error: bool = False) -> Console:
    """A console on the standard output, or on the standard error."""
    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() else _PLAIN_WIDTH
    return Console(stderr=error, highlight=False, width=width, markup=False, emoji=False)


def show(facts: Any, as_json: bool, text: Callable[[Console], None]) -> None:
    """Prints facts.

    Args:
        facts: dicts, lists, strings and numbers.
        text: prints the form for people.
    """
    if as_json:
        print(json.dumps(_strict(facts), indent=2, allow_nan=False))
        return
    out = console()
    if out.is_terminal:
        text(out)
        return
    with out.capture() as captured:
        text(out)
    for line in captured.get().splitlines():
        print(line.rstrip())


def _strict(value: Any) -> Any:
    """Facts as JSON has them: "NaN", "Infinity" and "-Infinity" are strings, for JSON lacks
    them."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _strict(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(inner) for inner in value]
    return value


def name(text: str) -> Text:
    """A name out of a file: what could move a terminal's cursor is shown as its escape."""
    return Text("".join(c if c.isprintable() else repr(c)[1:-1] for c in text))


def lines(message: str) -> Text:
    """A message of ours, whose lines stay lines; each as a name out of a file is shown."""
    return Text("\n").join(name(line) for line in message.split("\n"))


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], right: Iterable[int] = ()) -> Table:
    """Aligned columns.

    Args:
        right: numbers of the columns that are aligned to the right.
    """
    made = Table(box=None, pad_edge=False, header_style="bold")
    for number, title in enumerate(head):
        made.add_column(title, justify="right" if number in set(right) else "left", no_wrap=True)
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else name(str(cell)) for cell in row))
    return made


def progress(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """The items, with a progress bar on the standard error if it takes more than a second there."""
    from tqdm.auto import tqdm

    yield from tqdm(items, what, total, delay=1.0, disable=None, file=sys.stderr)


def sizes(shape: Sequence[int | str | None] | None) -> str:
    """A shape as it is written: "[?,3]", "[...]" where the rank is unknown."""
    if shape is None:
        return "[...]"
    return "[" + ",".join("?" if size is None else str(size) for size in shape) + "]"


def counted(amounts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Names with their counts, the largest first."""
    return sorted(amounts.items(), key=lambda row: (-row[1], row[0]))
