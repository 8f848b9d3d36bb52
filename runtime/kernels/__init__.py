"""The kernels, one module a family; importing a module registers its rows.

May import what graphio.runtime may. A kernel computes in float32 or float64; the engine widens
float16 and bfloat16 before it and rounds once after it, by the type letters of the row. Results may
be written into memory that is free again, where a row has `reuse`.
"""

from __future__ import annotations

import importlib

FAMILIES = (
    "activations",
    "array",
    "attention",
    "check",
    "control",
    "einsum",
    "conv",
    "fused",
    "host",
    "image",
    "index",
    "linear",
    "math",
    "ml",
    "nn",
    "quantize",
    "normalize",
    "pictures",
    "pool",
    "random",
    "recurrent",
    "reduction",
    "sequence",
    "solve",
    "select",
    "signal",
    "sparse",
    "state",
    "text",
    "text_numbers",
    "text_standard",
    "training",
    "trees",
    "window",
)


def load_all() -> None:
    """Registers every kernel."""
    for family in FAMILIES:
        importlib.import_module(f"{__name__}.{family}")
