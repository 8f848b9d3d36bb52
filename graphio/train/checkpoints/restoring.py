"""Restoring: finds, checks and converts all values, then assigns them, all or none."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphio.engine.interface import State
from graphio.framework.graph_state.attachments import ITERATORS
from graphio.framework.saved_parts import SavedParts
from graphio.model import casting
from graphio.schema.checkpoint import Checkpoint
from graphio.schema.model_pb2 import IteratorState
from graphio.schema.restore import Problems, Required, Rows, find_problems, same_count
from graphio.schema.tensors import Stored
from graphio.storage import stores
from graphio.support import errors
from graphio.train.checkpoints import checkpoint_state, hints, renaming, slices
from graphio.train.checkpoints.user_state import Stateful, missing
from graphio.train.interop.sources import CheckpointSource, Resource, Source, open_source
from graphio.variables.variables import Variable

Array = np.ndarray[Any, Any]
_CALLER = 5  # stacklevel of the caller of Saver.restore, from a function that `restore` calls
VERIFY = ("full", "lazy", "meta")


@dataclass(frozen=True)
class Options:
    """The options of tf.train.Saver.restore; see there.

    Raises:
        ValueError: there is no such way to verify.
    """

    strict: bool = True
    assignment_map: renaming.Renaming | None = None
    ignore: Any = None
    cast: bool = False
    reshape: bool = False
    verify: str = "full"

    def __post_init__(self) -> None:
        if self.verify not in VERIFY:
            raise ValueError(f"verify is one of {', '.join(VERIFY)}, not {self.verify!r}")


@dataclass
class Target:
    """The objects that a restore fills in.

    Attributes:
        session: whose state it is.
        variables: name in the checkpoint to variable.
        iterators: whether the positions of iterators are restored.
        objects: name to object with get_state and set_state.
        complete: whether to warn of a random generator that is not restored.
        parted: name in the checkpoint to state that it has as several tensors.
    """

    session: Any
    variables: Mapping[str, Variable]
    iterators: bool
    objects: Mapping[str, Stateful]
    complete: bool
    parted: Mapping[str, SavedParts] = field(default_factory=dict)

    def of_parted(self) -> Required:
        """Names in the checkpoint to dtype and shape of the tensors of parted state."""
        return {
            name + part: declared
            for name, one in self.parted.items()
            for part, declared in one.declared().items()
        }


def restore_from(where: Any, target: Target, options: Options) -> Source:
    """Gives a session the values of what open_source opens, which is returned.

    Raises:
        ValueError: there is no such checkpoint.
        NotFoundError, InvalidArgumentError, DataLossError: as restore.
    """
    while True:
        try:
            source = open_source(where, lazy=True)
        except errors.NotFoundError as error:
            text = f"The passed save_path is not a valid checkpoint: {where}"
            raise ValueError(f"{text} ({error.message})") from None
        except errors.DataLossError as error:
            path = stores.plain(where)
            what = f"checkpoint {path!r}"
            if not error.message.startswith(what):  # a file of another framework
                raise
            raise _damaged(what, path, error) from None
        try:
            restore(target, source, options)
            return source
        except (errors.NotFoundError, errors.DataLossError) as error:
            # A save to the same prefix may have come in between.
            if not isinstance(source, CheckpointSource):
                raise
            if not source.checkpoint.replaced():
                raise _damaged(source.what, source.checkpoint.prefix, error) from None


_ADVICE = ". tf.train.verify lists all that is damaged; "


def _damaged(what: str, prefix: str, error: errors.OpError) -> errors.OpError:
    """The error; of damage with which checkpoint it is, and what to do."""
    if not isinstance(error, errors.DataLossError):
        return error
    found = checkpoint_state.listed_beside(prefix)
    todo = "no other checkpoint is listed in its folder"
    if found is not None:
        todo = (
            f"go on from {found!r}, which is listed in its folder, or let "
            "tf.train.restore_latest(..., fall_back=True) choose"
        )
    text = error.message.removeprefix(f"{what}: ").removeprefix(f"{what} ")
    return errors.DataLossError(
        message=f"{what}, of which nothing was restored: {text}{_ADVICE}{todo}"
    )


def without_advice(error: errors.DataLossError) -> str:
    """The message of a restore from a damaged checkpoint, without the remedies."""
    return str(error).partition(_ADVICE)[0]


def restore(target: Target, source: Source, options: Options) -> None:
    """Gives a session the values of a source.

    Raises:
        NotFoundError: variables have no value there; all problems are named.
        InvalidArgumentError: dtypes or shapes differ, or an option names what is not there.
        DataLossError: the source is damaged. Nothing changes when this raises.
    """
    rows: Rows = source.entries()
    ignored, wrong = renaming.matching(options.ignore, _all_names(target), "ignore")
    wholes = (part.variable_name for part in slices.missing_parts(target.variables, ()).values())
    of_parted = {n: kind for n, kind in target.of_parted().items() if n not in ignored}
    known = {*target.variables, *wholes, *of_parted}
    names, more = renaming.renamed(rows, options.assignment_map, known)
    chosen = {key: v for key, v in target.variables.items() if key not in ignored}
    parts = slices.missing_parts(chosen, names)
    requested: dict[str, tuple[int, Sequence[int | None] | None]] = {
        key: (v.dtype.number, static_shape(v)) for key, v in chosen.items() if key not in parts
    }
    requested |= {
        part.variable_name: (chosen[k].dtype.number, part.shape) for k, part in parts.items()
    }
    requested |= of_parted
    problems = find_problems(
        rows,
        requested,
        names=names,
        reshape=options.reshape,
        castable=casting.castable if options.cast else None,
    )
    problems.wrong = wrong + more
    kept = {name: value for name, value in target.objects.items() if name not in ignored}
    problems.lost_objects = missing(kept, source.resources)
    absent = _settle_missing(problems, requested, options, source)
    if problems:
        more = hints.lines(
            problems, rows, requested, names, strict=options.strict, cast=options.cast
        )
        raise problems.error(rows, more)
    found = {names[key]: v for key, v in chosen.items() if key not in absent and key not in parts}
    cut = {
        chosen[key]: (names[part.variable_name], part.indices)
        for key, part in parts.items()
        if part.variable_name not in absent
    }
    of_parts = [name for name, _ in cut.values()]
    parted = {name: names[name] for name in of_parted if name not in absent}
    read = dict.fromkeys([*found, *of_parts, *parted.values()])
    array = _reader(target.session.state, source, read, options)
    values = _converted(array, found, options.cast)
    values |= _cut(array, cut, options.cast)
    declared = {v.op.name: (v.dtype.number, static_shape(v)) for v in (*found.values(), *cut)}
    _assign(target, source, values, declared, ignored, _loads(array, target.parted, parted))


def _loads(
    array_of: Callable[[str], Array | Stored],
    parted: Mapping[str, SavedParts],
    names: Mapping[str, str],
) -> list[tuple[SavedParts, list[Array]]]:
    """Parted state with its values; names: of the stored ones by those requested."""
    loads = []
    for name, one in parted.items():
        parts = [names.get(name + part) for part in one.declared()]
        if None not in parts:
            found = [array_of(part) for part in parts if part is not None]
            arrays = [x if isinstance(x, np.ndarray) else x.array() for x in found]
            loads.append((one, [np.array(x) for x in arrays]))
    return loads


def _all_names(target: Target) -> Iterable[str]:
    root = target.session.graph.root
    others = (*ITERATORS.of(root), *target.objects, *target.of_parted())
    return [*target.variables, *root.generators, *others]


def _settle_missing(
    problems: Problems, requested: Required, options: Options, source: Source
) -> set[str]:
    """The names that may be missing, with a warning: if not strict, any but not all of them."""
    absent, lost = problems.missing, problems.lost_objects
    if options.strict or not (absent or lost) or 0 < len(absent) == len(requested):
        return set()
    problems.missing = problems.lost_objects = []
    if not problems:
        warnings.warn(
            f"{len(absent)} of {len(requested)} variables are not in {source.what} and stay as "
            f"they are: {hints.listed([*absent, *lost])}",
            stacklevel=_CALLER,
        )
    return set(absent)


def _reader(
    state: State, source: Source, found: Iterable[str], options: Options
) -> Callable[[str], Array | Stored]:
    """A function from a name to its value."""
    if not isinstance(source, CheckpointSource):
        return source.array
    if options.verify == "full":
        rows = source.entries()
        into = {name: state.buffer(rows[name].dtype, rows[name].dims) for name in found}
        source.checkpoint.read(into)
        source.checkpoint.check_meta()
        return into.__getitem__
    lazy = options.verify == "lazy"
    if options.cast or not (lazy or state.lasting):
        return lambda name: source.checkpoint.stored(name, checked=lazy).array()
    return functools.partial(source.checkpoint.stored, checked=lazy, fetched=state.lasting)


def _converted(
    array_of: Callable[[str], Array | Stored], found: Mapping[str, Variable], cast: bool
) -> dict[str, Array | Stored]:
    """Name of a variable to its value, each read and checked."""
    values, wrong = {}, []
    for name, variable in found.items():
        array = array_of(name)
        if cast and isinstance(array, np.ndarray):
            try:
                array = casting.cast(array, variable.dtype.number)
            except ValueError as error:
                wrong.append(f"{variable.op.name}: cast: {error}")
                continue
        values[variable.op.name] = _reshaped(array, static_shape(variable))
    if wrong:
        raise Problems(wrong=wrong).error(())
    return values


def _cut(
    array_of: Callable[[str], Array | Stored],
    cut: Mapping[Variable, tuple[str, tuple[slice, ...]]],
    cast: bool,
) -> dict[str, Array | Stored]:
    """Name of a variable to its part of a stored value; cut: which value, and where in it."""
    wholes: dict[str, Array] = {}
    values: dict[str, Array | Stored] = {}
    for variable, (name, indices) in cut.items():
        if name not in wholes:
            whole = array_of(name)
            wholes[name] = whole if isinstance(whole, np.ndarray) else whole.array()
        part = np.array(wholes[name][indices])
        if cast:
            try:
                part = casting.cast(part, variable.dtype.number)
            except ValueError as error:
                wrong = [f"{variable.op.name}: cast: {error}"]
                raise Problems(wrong=wrong).error(()) from None
        values[variable.op.name] = part
    return values


def _assign(
    target: Target,
    source: Source,
    values: Mapping[str, Array | Stored],
    declared: Required,
    ignored: set[str],
    parted: Sequence[tuple[SavedParts, list[Array]]],
) -> None:
    """The only part that changes the session; a failure is rolled back."""
    session = target.session
    resources = {n: state for n, state in source.resources.items() if n not in ignored}
    known = session.graph.root.generators
    generators = {
        name: state
        for name, state in resources.items()
        if isinstance(state, tuple) and name in known
    }
    with contextlib.ExitStack() as undo:
        _give_back(target.objects, resources, undo)
        if target.iterators:
            _move_iterators(session, resources, undo)
        for one, arrays in parted:
            undo.callback(one.snapshot(session))
            one.load(session, arrays)
        given = isinstance(source, CheckpointSource)
        session.state.assign(values, generators, given=given, declared=declared)
        undo.pop_all()
    if target.complete and isinstance(source, CheckpointSource):
        _tell_generators(session, set(generators) | ignored)
    if target.iterators and isinstance(source, CheckpointSource):
        _tell_iterators(session, source.checkpoint, ignored)


def _give_back(
    objects: Mapping[str, Stateful], resources: Mapping[str, Resource], undo: contextlib.ExitStack
) -> None:
    for name, value in objects.items():
        state = resources.get(name)
        if isinstance(state, bytes):
            undo.callback(value.set_state, value.get_state())
            value.set_state(state)


def static_shape(variable: Variable) -> tuple[int | None, ...] | None:
    """The shape that a variable is declared with."""
    return None if variable.shape.ndims is None else tuple(variable.shape.as_list())


def _reshaped(array: Array | Stored, shape: Sequence[int | None] | None) -> Array | Stored:
    if array.shape == shape or not same_count(shape, array.shape):
        return array
    return array.reshape([d or 0 for d in shape or ()])


def _tell_generators(session: Any, restored: set[str]) -> None:
    known = session.graph.root.generators
    absent = sorted(set(session.state.generators()) & set(known) - restored)
    if absent:
        warnings.warn(
            f"the checkpoint has no state of the random generators {', '.join(absent)}; they go on "
            "from where they are",
            stacklevel=_CALLER + 1,
        )


def _tell_iterators(session: Any, found: Checkpoint, ignored: set[str]) -> None:
    """Iterators of which the checkpoint says nothing: those that have begun; all, where a training
    that had taken steps saved no position of any."""
    if not ITERATORS.of(session.graph):
        return
    from graphio.data import resource  # tf.data is loaded where it is used

    positions = {name for name, it in found.resources.items() if isinstance(it, IteratorState)}
    begun = bool(positions) or not found.step
    absent = resource.without_position(session, positions | ignored, begun=begun)
    if absent:
        warnings.warn(
            f"the checkpoint has no positions of the iterators {', '.join(absent)}; they go on "
            "from where they are",
            stacklevel=_CALLER + 1,
        )


def _move_iterators(
    session: Any, resources: Mapping[str, Resource], undo: contextlib.ExitStack
) -> None:
    states = {
        name: indices for name, indices in resources.items() if isinstance(indices, IteratorState)
    }
    if not states:
        return
    from graphio.data import resource  # tf.data is loaded where it is used

    before = resource.save_all(session)
    undo.callback(resource.put_back, session, before, states)
    others = resource.load_all(session, states)
    if others:
        warnings.warn(
            f"the iterators {', '.join(sorted(others))} are not where the checkpoint was saved: "
            "their pipelines are others, or need their initializer before the restore",
            stacklevel=_CALLER + 1,
        )
