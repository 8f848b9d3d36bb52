"""Starting from another model's checkpoint: variables whose initial values are those in it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.model import casting
from graphio.ops.array import surface as array
from graphio.ops.base.host import host_call
from graphio.schema import restore
from graphio.support import api_guard, errors
from graphio.train.checkpoints.checkpoint_reader import CheckpointReader, load_checkpoint
from graphio.train.checkpoints.checkpoint_state import latest_checkpoint
from graphio.train.checkpoints.vocabularies import VocabInfo, sources
from graphio.variables.initializers import zeros_initializer
from graphio.variables.partitioned_variables import parts_of
from graphio.variables.variable_scope import targets_by_name
from graphio.variables.variables import Variable, global_variables, trainable_variables

__all__ = ["checkpoints_iterator", "init_from_checkpoint", "warm_start"]


@api_guard.makes_variables
def init_from_checkpoint(
    ckpt_dir_or_file: Any,
    assignment_map: Mapping[str, Any] | Iterable[tuple[str, Any]],
) -> None:
    """Makes the values in a checkpoint the initial values of variables of the default graph.

    It restores nothing itself: the variables' initializers read the checkpoint.

    Args:
        ckpt_dir_or_file: a checkpoint's prefix, or a folder, whose newest is taken, or another
            file that tf.train.Saver.restore reads, or what tf.train.load_values gave. Values of
            another dtype are converted as by restore's cast=True.
        assignment_map: dict or pairs, what a checkpoint has -> what it is for. "name": a Variable,
            or the name of one that get_variable made, or a PartitionedVariable or the list of its
            parts, for which the value is cut. "scope/": "other/": all variables in other/
            that get_variable made, each from the name with scope/ in the place of other/; "/" is
            the root on either side.

    Raises:
        ValueError: a variable or a value is not there, or its shape or dtype does not fit; all
            values that do not fit are named.
        NotFoundError: there is no such checkpoint.
    """
    reader = load_checkpoint(ckpt_dir_or_file)
    known = targets_by_name(scopes.get_default_graph())
    found: dict[Variable, str] = {}
    pairs = assignment_map.items() if isinstance(assignment_map, Mapping) else assignment_map
    for source, target in pairs:
        if isinstance(target, str) and (source.endswith("/") or target.endswith("/")):
            found.update(_of_scope(source, target, known))
        else:
            found.update(dict.fromkeys(_named(target, known), source))
    wrong = [line for variable, name in found.items() for line in _problems(variable, name, reader)]
    if wrong:
        raise ValueError("\n".join(wrong))
    for variable, name in found.items():
        variable.start_from(_stored(reader, name, variable))


def _named(target: Any, known: Mapping[str, Sequence[Variable]]) -> Sequence[Variable]:
    """The variables that take one stored value: one, or the parts of one."""
    given = parts_of(target)
    if given and all(isinstance(v, Variable) for v in given):
        return given
    if not isinstance(target, str):
        raise ValueError(f"assignment_map: {target!r} is neither a Variable nor the name of one")
    if target not in known:
        made = ", ".join(sorted(known)) or "none"
        raise ValueError(f"Variable {target} is not found: get_variable made {made}")
    return known[target]


def _of_scope(
    source: str, target: str, known: Mapping[str, Sequence[Variable]]
) -> dict[Variable, str]:
    if not (source.endswith("/") and target.endswith("/")):
        raise ValueError(
            f"Assignment map with scope only name {source} should map to scope only {target}. "
            "Should be 'scope/': 'other_scope/'."
        )
    old, new = source.removesuffix("/"), target.removesuffix("/")
    inside = {n: v for n, v in known.items() if not new or n.startswith(new + "/")}
    if not inside:
        raise ValueError(f"No variable of get_variable's is in the scope {target}")
    found = {}
    for name, variables in inside.items():
        rest = name[len(new) + 1 :] if new else name
        found.update(dict.fromkeys(variables, f"{old}/{rest}" if old else rest))
    return found


def _problems(variable: Variable, name: str, reader: CheckpointReader) -> Iterator[str]:
    shapes = reader.get_variable_to_shape_map()
    if name not in shapes:
        like = restore.near(name, list(shapes))
        hint = f" (near: {', '.join(like)})" if like else ""
        yield f"Tensor {name} is not found in {reader.where} checkpoint, for {variable.name}{hint}"
        return
    part = variable._save_slice_info
    requested = variable.shape if part is None else TensorShape(part.full_shape)
    if not requested.is_compatible_with(shapes[name]):
        yield (
            f"Shape of variable {variable.name} ({requested}) doesn't match with shape of "
            f"tensor {name} ({shapes[name]}) from checkpoint reader."
        )
    stored = reader.get_variable_to_dtype_map()[name]
    if not casting.castable(stored.number, variable.dtype.number):
        yield (
            f"Dtype of variable {variable.name} ({variable.dtype.name}) cannot hold that of tensor "
            f"{name} ({stored.name}) from checkpoint reader."
        )


def _stored(
    reader: CheckpointReader, name: str, variable: Variable, info: VocabInfo | None = None
) -> Tensor:
    """The initial value of a variable from a checkpoint; info: its words have other numbers."""
    kind: dtypes.DType = variable.dtype
    part = variable._save_slice_info
    indices = () if part is None else part.indices
    order = None if info is None else sources(info)

    def bind(session: Any) -> Callable[..., Any]:
        def call(arrays: Any) -> list[Any]:
            found = _value(reader, name, kind)
            if info is not None and order is not None:
                found = found.take(np.maximum(order, 0), info.axis)
            return [found[indices]]

        return call

    stored = reader.get_variable_to_shape_map()[name]
    complete: list[int] = list(stored or ())
    if info is not None and order is not None:
        _check_vocabulary(variable, complete, order, info)
        complete[info.axis] = len(order)
    shape = TensorShape(complete if part is None else part.var_shape)
    with (
        scopes.get_default_graph().root.as_default(),
        scopes.control_dependencies(None),
        scopes.name_scope("checkpoint_initializer"),
    ):
        made = host_call(
            bind, [], [(kind, shape)], function=f"checkpoint/{variable.op.name}", stateful=False,
            name=variable.op.name.rsplit("/", 1)[-1], tf_type="RestoreV2",
        )  # fmt: skip
        if info is None or order is None:
            return made.outputs[0]
        known = np.expand_dims(order >= 0, [a for a in range(len(complete)) if a != info.axis])
        here = np.broadcast_to(known, complete)[indices]
        fresh = (info.backup_initializer or zeros_initializer())(shape.as_list(), dtype=kind)
        return array.where(here, made.outputs[0], fresh)


def _check_vocabulary(
    variable: Variable, stored: Sequence[int], order: Any, info: VocabInfo
) -> None:
    """Refuses vocabularies that do not fit the variable or its value in the checkpoint."""
    part = variable._save_slice_info
    sizes = variable.shape.as_list() if part is None else list(part.full_shape or ())
    fits = len(sizes) == len(stored) > info.axis and sizes[info.axis] == len(order)
    if not fits or any(
        a != b for n, (a, b) in enumerate(zip(sizes, stored, strict=True)) if n != info.axis
    ):
        raise ValueError(
            f"variable {variable.name} is {sizes} and {list(stored)} in the checkpoint; with "
            f"{len(order)} rows of words, expected shapes that differ in axis {info.axis} alone, "
            f"and {len(order)} there"
        )
    if order.max(initial=-1) >= stored[info.axis]:
        raise ValueError(
            f"{info.old_vocab} has words after the {stored[info.axis]} of {variable.name} in the "
            "checkpoint: give old_vocab_size"
        )


def _value(reader: CheckpointReader, name: str, kind: dtypes.DType) -> Any:
    try:
        return casting.cast(reader.get_tensor(name), kind.number)
    except ValueError as error:
        raise errors.InvalidArgumentError(message=f"tensor {name}: {error}") from None


@api_guard.makes_variables
def warm_start(
    ckpt_to_initialize_from: Any,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: Mapping[str, Any] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """init_from_checkpoint for the trainable variables that a regular expression matches.

    Args:
        ckpt_to_initialize_from: a checkpoint's prefix or its folder.
        vars_to_warm_start: a regular expression for names; a list of them, for all global
            variables; a list of variables, partitioned ones too; None: no variable.
        var_name_to_vocab_info: a variable's name -> VocabInfo: its rows are those of the same
            words.
        var_name_to_prev_var_name: a variable's name -> its name in the checkpoint.

    Raises:
        ValueError, NotFoundError: see init_from_checkpoint; and a VocabInfo is not used, or does
            not fit.
    """
    former = var_name_to_prev_var_name or {}
    infos = dict(var_name_to_vocab_info or {})
    named = [(_whole_name(v), v) for v in _chosen(vars_to_warm_start)]
    unused = sorted(set(infos) - {name for name, _ in named})
    if unused:
        raise ValueError(
            f"var_name_to_vocab_info has {', '.join(unused)}, expected names of variables that are "
            f"warm-started: {', '.join(name for name, _ in named) or 'none'}"
        )
    init_from_checkpoint(
        ckpt_to_initialize_from,
        [(former.get(name, name), variable) for name, variable in named if name not in infos],
    )
    if infos:
        reader = load_checkpoint(ckpt_to_initialize_from)
        for name, variable in named:
            if name in infos:
                _start_by_words(variable, reader, former.get(name, name), infos[name])


def _start_by_words(
    variable: Variable, reader: CheckpointReader, stored: str, info: VocabInfo
) -> None:
    if stored not in reader.get_variable_to_shape_map():
        raise ValueError("\n".join(_problems(variable, stored, reader)))
    variable.start_from(_stored(reader, stored, variable, info))


def _whole_name(variable: Variable) -> str:
    """A variable's name in a checkpoint; of a part, that of the partitioned variable."""
    part = variable._save_slice_info
    return variable.op.name if part is None else part.full_name or ""


def _chosen(requested: Any) -> list[Variable]:
    if requested is None:
        return []
    if isinstance(requested, str):
        return trainable_variables(requested)
    given = [v for one in requested for v in parts_of(one)]
    if all(isinstance(v, Variable) for v in given):
        return given
    return [v for v in global_variables() if any(re.match(p, v.name) for p in given)]


@api_guard.guarded
def checkpoints_iterator(
    checkpoint_dir: str,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Each new checkpoint of a folder, as another process writes them.

    Args:
        checkpoint_dir: the folder.
        min_interval_secs: the minimum time from one to the next.
        timeout: seconds to wait for a new one; None: without end.
        timeout_fn: called when the time is over: True ends the iteration; None ends it.

    Raises:
        DataLossError, UnimplementedError, UnavailableError: as latest_checkpoint.
    """
    last: str | None = None
    while True:
        found = _next_checkpoint(checkpoint_dir, last, timeout)
        if found is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        last, begun = found, time.time()
        yield found
        time.sleep(max(0.0, begun + min_interval_secs - time.time()))


def _next_checkpoint(folder: str, last: str | None, timeout: float | None) -> str | None:
    end = None if timeout is None else time.time() + timeout
    while True:
        newest = latest_checkpoint(folder)
        if newest is not None and newest != last:
            return newest
        if end is not None and time.time() + 0.5 > end:
            return None
        time.sleep(0.5)
