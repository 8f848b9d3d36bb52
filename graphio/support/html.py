"""Tables for notebooks: what `_repr_html_` of several classes gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

__all__ = ["MOST_ROWS", "signature_rows", "state_table", "table"]

MOST_ROWS = 50
_CELL = "text-align:%s;padding:2px 10px;white-space:nowrap"
_SIDE_BY_SIDE = "display:flex;flex-wrap:wrap;gap:24px;align-items:flex-start"


def table(
    title: str,
    head: Sequence[str],
    rows: Iterable[Sequence[Any]],
    more: str = "",
    right: Sequence[int] = (),
) -> str:
    """An HTML table; strings are escaped, rows beyond MOST_ROWS are counted.

    Args:
        title: shown above.
        head: titles of the columns.
        rows: a string, a number or None for each column.
        more: HTML shown next to it, or below where it is too wide, such as a picture.
        right: numbers of the columns that are aligned to the right.
    """
    listed = list(rows)
    lines = [_row("th", head, right), *(_row("td", row, right) for row in listed[:MOST_ROWS])]
    left = len(listed) - MOST_ROWS
    rest = f"<div>and {left} more</div>" if left > 0 else ""
    body = f"<div><table>{''.join(lines)}</table>{rest}</div>" if listed else ""
    return f'<div><b>{escape(title)}</b><div style="{_SIDE_BY_SIDE}">{body}{more}</div></div>'


def _row(tag: str, cells: Iterable[Any], right: Sequence[int]) -> str:
    made = []
    for i, cell in enumerate(cells):
        style = _CELL % ("right" if i in right else "left")
        made.append(f'<{tag} style="{style}">{escape("" if cell is None else str(cell))}</{tag}>')
    return f"<tr>{''.join(made)}</tr>"


def sizes(shape: Sequence[Any] | None) -> str:
    """ "[?,3]"; "[...]" where the rank is unknown."""
    if shape is None:
        return "[...]"
    return "[" + ",".join("?" if size is None else str(size) for size in shape) + "]"


def signature_rows(signatures: Iterable[Any]) -> list[tuple[str, str, str, str]]:
    """A row an input or output of loaded signatures: signature, name, way, type."""
    return [
        (signature.name, name, way, f"{spec.dtype}{sizes(spec.shape)}")
        for signature in signatures
        for way, specs in (("in", signature.inputs), ("out", signature.outputs))
        for name, spec in specs.items()
    ]


def state_table(title: str, state: Any) -> str:
    """The variables and generators of a state."""
    rows = []
    for name in state.names():
        if state.initialized(name):
            value = state.get(name)
            rows.append((name, f"{value.dtype}{sizes(value.shape)}", f"{value.nbytes:,} bytes"))
        else:
            rows.append((name, "", "no value"))
    rows += [(name, "generator", f"at {at[1]}") for name, at in state.generators().items()]
    return table(title, ("name", "type", "holds"), rows, right=(2,))
