"""The cost of a run of a model: operations, bytes, memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio import cinfer
from graphio.command_line.arguments import choose_signature
from graphio.command_line.giving import given_inputs
from graphio.model.costs import node_costs

__all__ = ["cost_of"]


def cost_of(data: bytes, signature: str | None, size: list[str] | None) -> dict[str, Any]:
    """Runs a model once in each engine, on random numbers.

    Args:
        data: bytes of a model file.
        signature: which; None: the only one.
        size: what --size was given.

    Returns:
        signature, inputs (name to sizes), operations (a multiply-add is two), moved (bytes read and
        written once), arena_bytes (that cinfer holds for values), nodes (the costliest first).
    """
    with cinfer.load(data) as model:
        run = model.signature(choose_signature(signature, model.signatures, model.metadata))
        inputs = given_inputs(data, run, None, size)
        run(**inputs)
        held = model.stats().arena_bytes
    rows = node_costs(data, run.name, list(inputs.values()))
    total = sum(row.operations or 0 for row in rows)
    ordered = sorted(rows, key=lambda row: -(row.operations or 0))
    return {
        "signature": run.name,
        "inputs": {name: list(np.shape(value)) for name, value in inputs.items()},
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
