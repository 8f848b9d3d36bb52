"""Inputs for a signature out of nothing: random numbers of the right types and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphio.command_line.exits import USAGE, Refused
from graphio.engine.interface import TensorSpec

__all__ = ["random_inputs", "sizes_of"]

Array = np.ndarray[Any, Any]


def sizes_of(
    described: Sequence[Mapping[str, Any]], sizes: Mapping[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    """The sizes of a signature's inputs.

    Args:
        described: the inputs as graphio.model.describing.describe gives them.
        sizes: by name of an input its sizes, by name of a dimension its size; others are 1.

    Raises:
        Refused: a name that the signature lacks, or sizes that contradict it.
    """
    dimensions = {size for row in described for size in row["shape"] or () if isinstance(size, str)}
    inputs = {row["name"]: row["shape"] for row in described}
    unknown = [name for name in sizes if name not in inputs and name not in dimensions]
    if unknown:
        known = ", ".join([*inputs, *sorted(dimensions)])
        raise Refused(f"--size names {', '.join(unknown)}, expected among: {known}", USAGE)
    return {name: _sizes(name, shape, sizes) for name, shape in inputs.items()}


def _sizes(
    name: str, shape: Sequence[int | str | None] | None, sizes: Mapping[str, tuple[int, ...]]
) -> tuple[int, ...]:
    if name not in sizes:
        return tuple(
            size if isinstance(size, int) else sizes.get(size or "", (1,))[0]
            for size in shape or ()
        )
    given = sizes[name]
    if shape is not None and (
        len(shape) != len(given)
        or any(isinstance(s, int) and s != g for s, g in zip(shape, given, strict=True))
    ):
        raise Refused(f"--size {name}={','.join(map(str, given))} contradicts {list(shape)}", USAGE)
    return given


def random_inputs(
    specs: Mapping[str, TensorSpec], sizes: Mapping[str, tuple[int, ...]], seed: int = 0
) -> dict[str, Any]:
    """Floats between 0 and 1; zeros where numbers may be indices of a table, or are strings.

    Raises:
        Refused: an input is not a tensor, or one of these sizes does not fit into memory.
    """
    random = np.random.default_rng(seed)
    made: dict[str, Any] = {}
    for name, spec in specs.items():
        if spec.kinds:
            raise Refused(f"input '{name}' is a {' of '.join(spec.kinds)}: give a file of inputs")
        try:
            made[name] = _random_input(random, spec, sizes[name])
        except (MemoryError, ValueError):  # numpy's ValueError: more than an array can ever have
            given = ",".join(map(str, sizes[name]))
            raise Refused(
                f"input '{name}' of sizes {given} does not fit into memory: give --size smaller "
                "ones",
                USAGE,
            ) from None
    return made


def _random_input(random: np.random.Generator, spec: TensorSpec, shape: tuple[int, ...]) -> Array:
    if spec.dtype == object:
        return np.full(shape, b"", object)
    if spec.dtype.kind in "fc":
        return random.random(shape).astype(spec.dtype)
    return np.zeros(shape, spec.dtype)
