"""What a command feeds: files that were named, or random numbers of the sizes that were said."""

from __future__ import annotations

from typing import Any

from graphio.command_line.arguments import parse_sizes
from graphio.command_line.random_inputs import random_inputs, sizes_of
from graphio.command_line.reading_inputs import read_inputs
from graphio.describing import describe
from graphio.schema import container

__all__ = ["given_inputs"]


def given_inputs(
    data: bytes, signature: Any, files: list[str] | None, size: list[str] | None
) -> dict[str, Any]:
    """Inputs by name, in the signature's order.

    Args:
        data: bytes of the model file.
        signature: of the loaded model.
        files: what --input was given.
        size: what --size was given.
    """
    if files:
        return read_inputs(files, signature.inputs)
    model, _ = container.unpack(data, lazy=True)
    described = next(s for s in describe(model)["signatures"] if s["name"] == signature.name)
    return random_inputs(signature.inputs, sizes_of(described["inputs"], parse_sizes(size)))
