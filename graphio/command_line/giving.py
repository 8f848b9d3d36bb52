"""Inputs of a command: the named files, or random numbers of the given sizes."""

from __future__ import annotations

import glob
from collections.abc import Mapping
from typing import Any

from graphio.command_line.arguments import parse_sizes
from graphio.command_line.exits import USAGE, Refused
from graphio.command_line.random_inputs import random_inputs, sizes_of
from graphio.command_line.reading_inputs import read_inputs
from graphio.engine.interface import TensorSpec
from graphio.model.describing import describe
from graphio.schema import container

__all__ = ["given_files", "given_inputs"]

_RANDOM = "=random"


def given_inputs(
    data: bytes, signature: Any, files: list[str] | None, size: list[str] | None
) -> dict[str, Any]:
    """Inputs by name, in the signature's order.

    Args:
        data: bytes of the model file.
        signature: of the loaded model.
        files: values of --input; "NAME=random" is not a file.
        size: values of --size.

    Raises:
        Refused: --size without random inputs; a file that does not fit.
    """
    specs = signature.inputs
    if size and files and not any(_is_random(text, specs) for text in files):
        raise Refused(
            "--size does nothing: it is for random inputs, and all inputs come from files", USAGE
        )
    drawn = [text.removesuffix(_RANDOM) for text in files or () if _is_random(text, specs)]
    if not files:
        drawn = list(specs)
    found = _random(data, signature, size, drawn) if drawn else {}
    named = [text for text in files or () if not _is_random(text, specs)]
    return read_inputs(named, specs, found) if files else found


def given_files(files: list[str] | None) -> list[str]:
    """The paths that --input names, patterns resolved."""
    named = [text for text in files or () if not text.endswith(_RANDOM)]
    patterns = [*named, *(text.partition("=")[2] for text in named)]
    return [path for pattern in filter(None, patterns) for path in glob.glob(pattern)]


def _is_random(text: str, specs: Mapping[str, TensorSpec]) -> bool:
    return text.endswith(_RANDOM) and text.removesuffix(_RANDOM) in specs


def _random(
    data: bytes, signature: Any, size: list[str] | None, names: list[str]
) -> dict[str, Any]:
    """Random numbers for the inputs of these names."""
    model, _ = container.unpack(data, lazy=True)
    described = next(s for s in describe(model)["signatures"] if s["name"] == signature.name)
    sizes = sizes_of(described["inputs"], parse_sizes(size))
    return random_inputs({name: signature.inputs[name] for name in names}, sizes)
