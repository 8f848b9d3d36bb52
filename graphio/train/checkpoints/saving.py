"""The save half of a Saver: its contents are collected first, then written.

The first half looks at the session and is done in the caller's thread; the second half works on
what the first has gathered and may be done by another thread.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphio.framework.graph import Graph, Tensor
from graphio.framework.graph_state.attachments import ITERATORS
from graphio.framework.saved_parts import SavedParts
from graphio.model.export import build_model
from graphio.schema import checkpoint, container, model_pb2
from graphio.schema.checkpoint import Resource
from graphio.storage import files, stores
from graphio.support import errors
from graphio.train.checkpoints import checkpoint_state, slices, user_state
from graphio.train.checkpoints.background import Memory
from graphio.train.checkpoints.retention import Retention
from graphio.train.checkpoints.user_state import Stateful
from graphio.variables.variables import Variable

__all__ = [
    "Contents",
    "GraphFile",
    "Prepared",
    "Request",
    "commit",
    "export_meta_bytes",
    "prepare",
    "save_graph",
    "slots_of",
]

Array = np.ndarray[Any, Any]
SHARD_BYTES = 5_000_000_000  # of a data file, as the field's tools cut


@dataclass(frozen=True)
class Contents:
    """The contents of one save.

    Attributes:
        variables: by their names in the checkpoint.
        iterators: whether the positions of the session's iterators go along.
        meta: the bytes of the graph file; None: there will be none.
        padded: whether the step in the path has eight digits.
        shard_bytes: how large a data file may become.
        objects: user-defined, by name.
        sharded: whether each device has separate data files.
        inspect: called with the values before anything is written; what it raises ends the save.
        parted: state that the checkpoint has as several tensors, by the beginning of their names.
    """

    variables: Mapping[str, Variable]
    iterators: bool
    meta: bytes | None
    padded: bool = False
    shard_bytes: int | None = None
    objects: Mapping[str, Stateful] = field(default_factory=dict)
    sharded: bool = False
    inspect: Callable[[Mapping[str, Array]], None] | None = None
    parted: Mapping[str, SavedParts] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """The arguments of one save."""

    path: str
    global_step: Any = None
    latest_filename: str | None = None
    meta_graph_suffix: str = "meta"
    write_state: bool = True
    blobs: Mapping[str, bytes] | None = None
    metrics: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Prepared:
    """All that a commit needs; the session is not looked at any more.

    Attributes:
        where: the prefix as given; the caller may go to another folder before the commit.
        full_path: the same, absolute.
    """

    where: str
    full_path: str
    request: Request
    values: Mapping[str, Array]
    resources: Mapping[str, Resource]
    step: int | None
    contents: Contents


def prepare(session: Any, contents: Contents, request: Request, memory: Memory | None) -> Prepared:
    """Gathers what is to be saved: everything of one moment between two runs.

    The caller holds the lock of the session's state; without memory until the commit.

    Args:
        memory: for copies of values that would not stay as they are; None: they are not copied.
    """
    where, step = _where(session, contents, request)
    values = _values(session.state, contents.variables)
    if memory is not None and not session.state.lasting:
        values = memory.copies(values)
    values = {**values, **_of_parts(session, contents.parted)}
    resources: dict[str, Resource] = dict(session.state.generators())
    if contents.iterators:
        resources.update(_iterators(session))
    resources.update(user_state.gather(contents.objects, request.blobs, resources))
    return Prepared(
        where,
        stores.absolute(where),
        request,
        values,
        resources,
        step,
        contents,
    )


def _where(session: Any, contents: Contents, request: Request) -> tuple[str, int | None]:
    """Prefix and step."""
    _check_paths(request, contents.sharded)
    step = None if request.global_step is None else _step_of(session, request.global_step)
    where = stores.plain(request.path)
    if step is not None:
        where = f"{where}-{step:08d}" if contents.padded else f"{where}-{step}"
    if not stores.can_be_folder(stores.split(where)[0]):
        raise ValueError(f"Parent directory of {where} doesn't exist, can't save.")
    return where, step


def save_graph(session: Any, contents: Contents, request: Request, layer: files.FileLayer) -> None:
    """Writes the graph file alone, for a save without values."""
    if contents.meta is not None:
        where, _ = _where(session, contents, request)
        stores.of(where, layer)[0].make()
        stores.write(f"{where}.{request.meta_graph_suffix}", [contents.meta], layer)


def commit(prepared: Prepared, retention: Retention, layer: files.FileLayer) -> None:
    """Writes a checkpoint, then the state file; then deletes what is too old."""
    request, contents = prepared.request, prepared.contents
    if contents.inspect is not None:
        contents.inspect(prepared.values)
    stores.of(prepared.full_path, layer)[0].make()
    own = request.meta_graph_suffix == "meta"
    with contextlib.nullcontext() if own else _graph_beside(prepared, layer):
        checkpoint.write_checkpoint(
            prepared.full_path,
            prepared.values,
            prepared.resources,
            step=prepared.step,
            meta=contents.meta if own else None,
            slots=slots_of(contents.variables),
            shard_bytes=contents.shard_bytes,
            parts=_devices(contents) if contents.sharded else None,
            metrics=request.metrics,
            layer=layer,
        )
    if request.write_state:
        retention.record(
            prepared.where,
            prepared.full_path,
            request.latest_filename,
            layer,
            meta_suffix=request.meta_graph_suffix,
            metrics=request.metrics,
        )


@contextlib.contextmanager
def _graph_beside(prepared: Prepared, layer: files.FileLayer) -> Iterator[None]:
    """Writes a graph file that the index does not name: before the commit, so that a full disk
    fails the save, and renamed to its final name after it."""
    meta = prepared.contents.meta
    if meta is None:
        yield
        return
    store, name = stores.of(f"{prepared.full_path}.{prepared.request.meta_graph_suffix}", layer)
    if store.shared:
        yield
        store.put(name, [meta])
        return
    temporary = os.path.basename(files.temporary_name(name, secrets.token_hex(8)))
    store.put(temporary, [meta])
    try:
        yield
        if store.exists(temporary):
            store.rename(temporary, name)
        else:  # another process took it for what a crash has left
            store.put(name, [meta])
    except BaseException:
        store.remove(temporary)
        raise
    store.barrier()


class GraphFile:
    """The graph file's bytes, rebuilt when the graph or one of its collections has changed."""

    def __init__(self) -> None:
        self._key: Any = None
        self._members: list[list[Any]] = []  # as long as they live their ids are theirs
        self._made = b""

    def bytes_of(self, graph: Graph, saver: model_pb2.Saver) -> bytes:
        """See export_meta_bytes."""
        root = graph.root
        members = [list(items) for items in root.members.values()]
        collections = list(root.members), [[id(item) for item in items] for items in members]
        key = root, root.version, root.seed, collections, saver.SerializeToString()
        if self._key != key:
            self._key, self._members, self._made = key, members, export_meta_bytes(graph, saver)
        return self._made


def export_meta_bytes(graph: Graph, saver: model_pb2.Saver | None) -> bytes:
    """The graph file of a checkpoint: the complete graph with its collections, without values."""
    model, arrays = build_model(graph.root, [], prune=False)
    if saver is not None:
        model.saver.CopyFrom(saver)
    return container.pack(model, arrays)


def _check_paths(request: Request, sharded: bool) -> None:
    """Refuses a checkpoint of the name of the list, unless it is sharded, as TensorFlow does."""
    name = request.latest_filename or checkpoint_state.STATE_FILE
    if os.path.split(name)[0]:
        raise ValueError("'latest_filename' must not contain path components")
    if request.global_step is None and not sharded and stores.split(request.path)[1] == name:
        raise ValueError(
            f"'latest_filename' collides with 'save_path': '{name}' and '{request.path}'"
        )


def _step_of(session: Any, global_step: Any) -> int:
    if isinstance(global_step, (int, np.integer)):
        return int(global_step)
    if isinstance(global_step, (str, Tensor, Variable)):
        return int(session.run(global_step))
    raise TypeError(f"global_step must be a number, a tensor or its name, not {global_step!r}")


def _values(state: Any, variables: Mapping[str, Variable]) -> dict[str, Any]:
    known = set(state.names())
    empty = sorted(
        v.op.name
        for v in variables.values()
        if v.op.name not in known or not state.initialized(v.op.name)
    )
    if empty:
        raise errors.FailedPreconditionError(
            message=f"Attempting to use uninitialized value {', '.join(empty)}"
        )
    values = state.views([v.op.name for v in variables.values()])
    return slices.joined(variables, dict(zip(variables, values, strict=True)))


def _of_parts(session: Any, parted: Mapping[str, SavedParts]) -> dict[str, Array]:
    """The values of parted state by their names in the checkpoint."""
    return {
        name + part: array
        for name, one in parted.items()
        for part, array in zip(one.declared(), one.arrays(session), strict=True)
    }


def _devices(contents: Contents) -> dict[str, str]:
    """Names in the checkpoint to the devices that the variables wish for."""
    names = slices.stored_names(contents.variables)
    return {names[key]: variable.device for key, variable in contents.variables.items()}


def slots_of(variables: Mapping[str, Variable]) -> dict[str, tuple[str, str]]:
    """Names in the checkpoint of slots to those of their variables, and of the slots."""
    names = slices.stored_names(variables)
    keys = {v.op.name: names[key] for key, v in variables.items()}
    return {
        names[key]: (keys.get(v.slot_of, v.slot_of), v.slot)
        for key, v in variables.items()
        if v.slot_of
    }


def _iterators(session: Any) -> dict[str, Any]:
    if not ITERATORS.of(session.graph):
        return {}
    from graphio.data import resource  # tf.data is loaded where it is used

    return dict(resource.save_all(session, requested=True))
