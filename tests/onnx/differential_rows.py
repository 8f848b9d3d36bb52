"""The rows of all operators: how the inputs and attributes of their nodes are drawn."""

from __future__ import annotations

# importing these adds their rows
import differential_arithmetic  # noqa: F401
import differential_arrays  # noqa: F401
import differential_images  # noqa: F401
import differential_networks  # noqa: F401
from differential_maker import ROWS, Array, Call, Maker

__all__ = ["ROWS", "Array", "Call", "Maker"]
