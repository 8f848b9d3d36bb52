"""What a run of a model takes: operations, bytes, memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphio import cinfer
from graphio.command_line.random_inputs import random_inputs, sizes_of
from graphio.costs import node_costs
from graphio.describing import describe
from graphio.schema import container

__all__ = ["cost_of"]


def cost_of(
    data: bytes, signature: str | None, sizes: Mapping[str, tuple[int, ...]]
) -> dict[str, Any]:
    """Runs a model once in each engine, on random numbers.

    Args:
        data: bytes of a model file.
        signature: which; None: the only one.
        sizes: see graphio.command_line.random_inputs.sizes_of.

    Returns:
        signature, inputs (name to sizes), operations (a multiply-add is two), moved (bytes read and
        written once), arena_bytes (that cinfer holds for values), nodes (the costliest first).
    """
    with cinfer.load(data) as model:
        run = model.signature(signature)
        model_proto, _ = container.unpack(data, lazy=True)
        described = next(s for s in describe(model_proto)["signatures"] if s["name"] == run.name)
        shapes = sizes_of(described["inputs"], sizes)
        inputs = random_inputs(run.inputs, shapes)
        run(**inputs)
        held = model.stats().arena_bytes
    rows = node_costs(data, run.name, list(inputs.values()))
    total = sum(row.operations or 0 for row in rows)
    ordered = sorted(rows, key=lambda row: -(row.operations or 0))
    return {
        "signature": run.name,
        "inputs": shapes,
        "operations": total,
        "moved": sum(row.moved for row in rows),
        "arena_bytes": held,
        "nodes": [
            {
                "name": row.name,
                "op": row.op,
                "operations": row.operations,
                "moved": row.moved,
                "share": (row.operations or 0) / total if total else 0.0,
            }
            for row in ordered
        ],
    }
