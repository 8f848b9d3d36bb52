"""Parts of partitioned variables in checkpoints: a file holds the complete variable.

So a checkpoint can be restored into another number of parts, or into an unpartitioned variable.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from graphio.framework.save_slice_info import SaveSliceInfo
from graphio.variables.variables import Variable

__all__ = ["Part", "info_of_slot", "joined", "missing_parts", "part_of", "stored_names"]

Array = np.ndarray[Any, Any]
_NUMBER = re.compile(r"/part_\d+")


class Part(NamedTuple):
    """The position of a part in its partitioned variable.

    Attributes:
        variable_name: the name of the partitioned variable in the file.
        shape: of the complete variable.
        indices: the index of the part in the complete variable.
    """

    variable_name: str
    shape: tuple[int, ...]
    indices: tuple[slice, ...]


def part_of(key: str, variable: Variable) -> Part | None:
    """The part that a variable is under its name in a file; None if it stands for itself."""
    info = variable._save_slice_info
    variable_name = (
        None if info is None else _whole_name(key, variable.op.name, info.full_name or "")
    )
    if info is None or variable_name is None:
        return None
    return Part(variable_name, tuple(info.full_shape or ()), info.indices)


def _whole_name(key: str, own: str, full: str) -> str | None:
    """key with what makes full of own taken out: the number of the part."""
    if key.startswith(f"{own}/"):  # of what is called after the part, such as its average
        return full + key[len(own) :]
    for found in _NUMBER.finditer(own):
        rest = own[found.end() :]
        if own[: found.start()] + rest == full and key.endswith(own[found.start() :]):
            return key.removesuffix(own[found.start() :]) + rest
    return None


def stored_names(variables: Mapping[str, Variable]) -> dict[str, str]:
    """Each variable's name in the file: that of the partitioned variable, where all of its parts
    are there."""
    parts = {key: part for key, v in variables.items() if (part := part_of(key, v)) is not None}
    positions: dict[tuple[str, tuple[int, ...]], list[tuple[slice, ...]]] = {}
    for variable_name, shape, indices in parts.values():
        positions.setdefault((variable_name, shape), []).append(indices)
    complete = {
        (variable_name, shape)
        for (variable_name, shape), own in positions.items()
        if variable_name not in variables and _fill(own, shape)
    }
    return {
        key: part.variable_name if (part := parts.get(key)) and part[:2] in complete else key
        for key in variables
    }


def _fill(positions: Sequence[tuple[slice, ...]], shape: tuple[int, ...]) -> bool:
    """Whether parts at these indices cover an array of this shape, and none twice."""
    sizes = [[at.stop - at.start for at in indices] for indices in positions]
    if sum(math.prod(size) for size in sizes) != math.prod(shape):
        return False
    cut = [
        axis
        for axis, size in enumerate(shape)
        if any((indices[axis].start, indices[axis].stop) != (0, size) for indices in positions)
    ]
    if len(cut) < 2:  # no array of the shape is needed to see that one follows the other
        edges = sorted((indices[i].start, indices[i].stop) for indices in positions for i in cut)
        return all(one[1] == other[0] for one, other in pairwise([(0, 0), *edges]))
    covered = np.zeros(shape, bool)
    for indices in positions:
        covered[indices] = True
    return bool(covered.all())


def joined(variables: Mapping[str, Variable], values: Mapping[str, Array]) -> dict[str, Array]:
    """Values by their names in the file, parts put together; values: by the variables' names.

    Raises:
        ValueError: a value does not have the shape of its part.
    """
    found: dict[str, Array] = {}
    for key, name in stored_names(variables).items():
        part = None if name == key else part_of(key, variables[key])
        if part is None:
            found[name] = values[key]
            continue
        if name not in found:
            found[name] = np.empty(part.shape, values[key].dtype)
        indices = found[name][part.indices]
        if indices.shape != np.shape(values[key]):
            raise ValueError(
                f"variable '{key}' has a value of shape {list(np.shape(values[key]))}, but is the "
                f"part of shape {list(indices.shape)} of '{name}'; assign one of that shape"
            )
        indices[...] = values[key]
    return found


def missing_parts(variables: Mapping[str, Variable], names: Collection[str]) -> dict[str, Part]:
    """The parts of which a file does not have the part itself; names: of what it has."""
    found = {key: part_of(key, v) for key, v in variables.items() if key not in names}
    return {key: part for key, part in found.items() if part is not None}


def info_of_slot(variable: Variable, slot: Variable) -> SaveSliceInfo | None:
    """The part of the slot that belongs to a part of the variable; None: the variable is not
    partitioned."""
    info = variable._save_slice_info
    if info is None or slot.shape != variable.shape:
        return None
    full = slot.op.name.replace(variable.op.name, info.full_name or "", 1)
    return SaveSliceInfo(full, info.full_shape, info.var_offset, info.var_shape)
