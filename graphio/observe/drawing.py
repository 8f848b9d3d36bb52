"""A model's graph as an SVG picture: for documents and notebooks.

The layout is that of Sugiyama, Tagawa and Toda (1981): nodes in rows by their longest way from an
input, rows ordered by the mean position of their nodes' inputs or consumers; a line that goes past
rows has a position in each. Constants and variables are written into the nodes that read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from graphio.model.describing import type_text
from graphio.schema.model_pb2 import Model, Node, Signature
from graphio.support import errors

__all__ = ["draw", "is_written_in"]

_HEIGHT, _LETTER, _GAP_X, _GAP_Y, _MARGIN = 40, 7.2, 24, 36, 12
_SWEEPS = 4
_MOST_NAME = 40  # letters of a node's name; the last ones tell more
#: nodes that are written into those that read them
_WRITTEN_IN = frozenset(("Constant", "Variable", "ReadVariable"))
_VARIABLES = frozenset(("Variable", "ReadVariable"))
_COLOURS = {"input": "#dbeafe", "output": "#dcfce7", "node": "#f8fafc"}


@dataclass
class _Box:
    """A node of the picture.

    Attributes:
        title, detail: its two lines.
        kind: input, output, node, or line: the way of a line past a row.
        reads: names of the boxes whose values it takes.
        row, x, width: its position and size.
    """

    title: str
    detail: str
    kind: str
    reads: list[str] = field(default_factory=list)
    row: int = 0
    x: float = 0.0
    width: float = 0.0


def draw(model: Model, signature: str | Signature | None = None, most: int = 400) -> str:
    """The graph of a signature as SVG.

    Args:
        model: a file's message.
        signature: which; None: the first; or one that the model need not have.
        most: boxes; a larger picture would be unreadable.

    Raises:
        InvalidArgumentError: there is no such signature, or it has too many nodes for a picture.
    """
    chosen = signature if isinstance(signature, Signature) else _chosen(model, signature)
    boxes = _boxes(model, chosen)
    if len(boxes) > most:
        raise errors.InvalidArgumentError(
            message=f"{len(boxes)} nodes are too many for a picture, which takes {most}; "
            "`graphio show` without --svg has a viewer for them"
        )
    rows = _rows(boxes)
    _lead_past(boxes, rows)
    _arrange(boxes, rows)
    return _svg(boxes, len(rows))


def _chosen(model: Model, name: str | None) -> Signature:
    found = [s for s in model.signature if name in (None, s.name)]
    if not found:
        known = ", ".join(s.name for s in model.signature)
        raise errors.InvalidArgumentError(message=f"there is no signature '{name}', only {known}")
    return found[0]


# ---- boxes and lines ----


def _boxes(model: Model, signature: Signature) -> dict[str, _Box]:
    """Boxes by name in an order in which values come before their readers."""
    nodes = {node.name: node for node in model.graph.node}
    boxes = {}
    for binding in signature.input:
        boxes[_node_of(binding.value)] = _Box(binding.key, _text(binding.type), "input")
    needed = _needed(
        nodes, {_node_of(b.value) for b in signature.output} | set(signature.target), set(boxes)
    )
    for node in model.graph.node:
        if node.name in needed and node.name not in boxes and not is_written_in(node, nodes):
            boxes[node.name] = _box(node, nodes)
    for binding in signature.output:
        reads = [_node_of(binding.value)]
        boxes[f"{binding.key} "] = _Box(binding.key, _text(binding.type), "output", reads)
    for box in boxes.values():
        box.reads = [name for name in dict.fromkeys(box.reads) if name in boxes]
        box.width = max(len(box.title), len(box.detail)) * _LETTER + 20
    return boxes


def is_written_in(node: Node, nodes: Mapping[str, Node]) -> bool:
    """Whether a node has no box: a constant, a variable, or an Identity that reads one.

    Args:
        nodes: all of the graph, by name.
    """
    if node.op != "Identity":
        return node.op in _WRITTEN_IN
    read = nodes.get(_node_of(node.input[0]))
    return read is not None and read.op in _VARIABLES


def _node_of(value: str) -> str:
    return value.partition(":")[0]


def _text(kind: object) -> str:
    name, shape = type_text(kind)  # type: ignore[arg-type]
    sizes = "..." if shape is None else ",".join("?" if s is None else str(s) for s in shape)
    return f"{name}[{sizes}]"


def _needed(nodes: dict[str, Node], ends: set[str], given: set[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(ends)
    while waiting:
        name = waiting.pop()
        if name in found or name in given or name not in nodes:
            continue
        found.add(name)
        node = nodes[name]
        waiting += [_node_of(value) for value in (*node.input, *node.control_input) if value]
    return found


def _box(node: Node, nodes: dict[str, Node]) -> _Box:
    reads = [_node_of(value) for value in node.input if value]
    held = [nodes[name] for name in reads if name in nodes and is_written_in(nodes[name], nodes)]
    shapes = [
        _text(other.output_type[0]).partition("[")[2][:-1] for other in held if other.output_type
    ]
    weights = " ".join(f"[{shape}]" for shape in shapes if shape)
    name = node.name if len(node.name) <= _MOST_NAME else "…" + node.name[1 - _MOST_NAME :]
    return _Box(f"{node.op} {weights}".strip(), name, "node", reads)


# ---- positions ----


def _rows(boxes: dict[str, _Box]) -> list[list[_Box]]:
    for box in boxes.values():
        box.row = max((boxes[name].row + 1 for name in box.reads), default=0)
    rows: list[list[_Box]] = [
        [] for _ in range(max((b.row for b in boxes.values()), default=0) + 1)
    ]
    for box in boxes.values():
        rows[box.row].append(box)
    return rows


def _lead_past(boxes: dict[str, _Box], rows: Sequence[list[_Box]]) -> None:
    """A position in each row that a line goes past; lines from one box go together."""
    for name, box in list(boxes.items()):
        readers = [other for other in boxes.values() if name in other.reads]
        last = name
        for row in range(box.row + 1, max((other.row for other in readers), default=0)):
            last, before = f"{name} past {row}", last
            boxes[last] = _Box("", "", "line", [before], row)
            rows[row].append(boxes[last])
            for other in readers:
                if other.row == row + 1:
                    other.reads[other.reads.index(name)] = last


def _arrange(boxes: dict[str, _Box], rows: Sequence[list[_Box]]) -> None:
    """Puts boxes below their inputs and above their readers, as near as the row allows."""
    above = {id(box): [boxes[name] for name in box.reads] for box in boxes.values()}
    below: dict[int, list[_Box]] = {id(box): [] for box in boxes.values()}
    for box in boxes.values():
        for read in above[id(box)]:
            below[id(read)].append(box)
    for row in rows:
        _set_out(row, {})
    for _ in range(_SWEEPS):
        for order, near in ((rows, above), (rows[::-1], below)):
            for row in order:
                _set_out(row, near)
    least = min((box.x for box in boxes.values()), default=0.0)
    for box in boxes.values():
        box.x += _MARGIN - least


def _set_out(row: list[_Box], near: Mapping[int, list[_Box]]) -> None:
    """Sorts a row by the mean middle of near boxes and sets it so that the squares of the distances
    from there are least (pool adjacent violators), with gaps between."""
    wish = {id(box): _mean([_middle(other) for other in near.get(id(box), [])], box) for box in row}
    row.sort(key=lambda box: wish[id(box)])
    shift, shifts = 0.0, []
    pools: list[tuple[float, int]] = []  # the sum and number of wishes that share a position
    for box in row:
        shifts.append(shift)
        total, count = wish[id(box)] - box.width / 2 - shift, 1
        while pools and pools[-1][0] * count >= total * pools[-1][1]:
            before = pools.pop()
            total, count = total + before[0], count + before[1]
        pools.append((total, count))
        shift += box.width + _GAP_X
    positions = [total / count for total, count in pools for _ in range(count)]
    for box, position, moved in zip(row, positions, shifts, strict=True):
        box.x = position + moved


def _middle(box: _Box) -> float:
    return box.x + box.width / 2


def _mean(positions: Sequence[float], box: _Box) -> float:
    return sum(positions) / len(positions) if positions else _middle(box)


# ---- the picture ----


def _svg(boxes: dict[str, _Box], rows: int) -> str:
    width = max((box.x + box.width for box in boxes.values()), default=0) + _MARGIN
    height = rows * (_HEIGHT + _GAP_Y) - _GAP_Y + 2 * _MARGIN
    edges = [_edge(boxes[name], box) for box in boxes.values() for name in box.reads]
    shapes = [_shape(box) for box in boxes.values()]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
        f'viewBox="0 0 {width:.0f} {height}" font-family="monospace" font-size="12">\n'
        '<rect width="100%" height="100%" fill="#ffffff"/>\n'
        + "\n".join([*edges, *shapes])
        + "\n</svg>\n"
    )


def _top(box: _Box) -> float:
    return _MARGIN + box.row * (_HEIGHT + _GAP_Y)


def _edge(start: _Box, end: _Box) -> str:
    x1, y1, x2, y2 = _middle(start), _top(start) + _HEIGHT, _middle(end), _top(end)
    bend = (y1 + y2) / 2
    path = f"M{x1:.1f} {y1:.1f}C{x1:.1f} {bend:.1f} {x2:.1f} {bend:.1f} {x2:.1f} {y2:.1f}"
    return f'<path d="{path}" fill="none" stroke="#94a3b8"/>'


def _shape(box: _Box) -> str:
    top, middle = _top(box), _middle(box)
    if box.kind == "line":
        path = f"M{middle:.1f} {top:.1f}v{_HEIGHT}"
        return f'<path d="{path}" fill="none" stroke="#94a3b8"/>'
    return (
        f'<rect x="{box.x:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{_HEIGHT}" rx="5" '
        f'fill="{_COLOURS[box.kind]}" stroke="#475569"/>'
        f'<text x="{middle:.1f}" y="{top + 17:.1f}" text-anchor="middle" font-weight="bold">'
        f"{escape(box.title)}</text>"
        f'<text x="{middle:.1f}" y="{top + 32:.1f}" text-anchor="middle" fill="#475569">'
        f"{escape(box.detail)}</text>"
    )
