"""Variables whose initial values are those of a checkpoint."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from graphio import scopes
from graphio.collections import GraphKeys
from graphio.constants import constant
from graphio.train.checkpoint_reader import CheckpointReader, load_checkpoint
from graphio.variables import Variable

__all__ = ["init_from_checkpoint"]


def init_from_checkpoint(ckpt_dir_or_file: str | os.PathLike[str], assignment_map: Any) -> None:
    """Variables of the default graph get a checkpoint's values when their initializers run.

    The values are read now and become constants of the graph. Initializers that were grouped
    before, as by global_variables_initializer, are the old ones.

    Args:
        ckpt_dir_or_file: a prefix, or a folder, whose newest checkpoint is taken.
        assignment_map: dict or pairs from what the checkpoint has to what gets it: name to
            variable or name of one, or scope ("a/", "/" for all) to scope.

    Raises:
        ValueError: a name that the checkpoint or the graph has not; a scope and a name; shapes
            that differ.
        NotFoundError: there is no such checkpoint.
    """
    reader = load_checkpoint(ckpt_dir_or_file)
    pairs = assignment_map.items() if isinstance(assignment_map, Mapping) else assignment_map
    found = [pair for key, target in pairs for pair in _matched(reader, key, target)]
    shapes = reader.get_variable_to_shape_map()
    for key, variable in found:
        if key not in shapes:
            raise ValueError(f"Tensor {key} is not found in {ckpt_dir_or_file} checkpoint")
        if not variable.shape.is_compatible_with(shapes[key]):
            raise ValueError(
                f"Shape of variable {variable.name} ({variable.shape}) doesn't match with shape of "
                f"tensor {key} ({shapes[key]}) from checkpoint reader."
            )
    with scopes.name_scope("init_from_checkpoint"), scopes.control_dependencies(None):
        for key, variable in found:
            kind = variable.dtype.base_dtype
            variable.set_initial_value(constant(reader.get_tensor(key), kind, name="value"))


def _matched(reader: CheckpointReader, key: str, target: Any) -> Iterator[tuple[str, Variable]]:
    """What one entry of the map says: name in the checkpoint, variable."""
    if isinstance(target, Variable):
        yield key, target
        return
    known = {
        v.op.name: v for v in scopes.get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)
    }
    if not key.endswith("/") and not target.endswith("/"):
        if target not in known:
            raise ValueError(f"Variable {target} is not in the graph; {key} was to go there")
        yield key, known[target]
        return
    if not (key.endswith("/") and target.endswith("/")):
        raise ValueError(
            f"Assignment map with scope only name {key} should map to scope only {target}. Should "
            "be 'scope/': 'other_scope/'."
        )
    for name, variable in known.items():
        if target == "/" or name.startswith(target):
            yield (
                ("" if key == "/" else key) + name[0 if target == "/" else len(target) :],
                variable,
            )
