"""The kernels, one module a family; importing a module registers its rows."""

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
