"""Writers of event files that operations use: one for each name in a session."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base.host import host_call
from graphio.ops.control_flow.branches import no_op
from graphio.protos.graph_def import GraphDef
from graphio.schema.summary_pb2 import Event
from graphio.summary.encoding import FUNCTIONS
from graphio.summary.writer import FileWriter
from graphio.support import api_guard, errors

__all__ = [
    "EventWriter",
    "NoopWriter",
    "SummaryWriter",
    "create_file_writer",
    "create_summary_file_writer",
    "current_writer",
    "flush",
    "show_graph",
    "summary_writer_initializer_op",
    "write_event",
    "write_graph",
    "write_summary",
]

#: the collection of the operations that open writers
_OPENING = "_SUMMARY_WRITER_V2"
#: of session.resources
_RESOURCE = "summary writers"
_thread = threading.local()

Array = np.ndarray[Any, Any]
Function = Callable[[Sequence[Array]], list[Array]]


class _Files:
    """The writers that are open in a session, by name."""

    def __init__(self) -> None:
        self._files: dict[str, FileWriter] = {}

    def open(self, name: str, *options: Any) -> None:
        """Opens one, if it is not open."""
        if name not in self._files:
            self._files[name] = FileWriter(*options)

    def find(self, name: str) -> FileWriter:
        """One that is open.

        Raises:
            NotFoundError: it is not.
        """
        if name not in self._files:
            raise errors.NotFoundError(
                message=f"the summary writer '{name}' does not exist in this session; run "
                "tf.contrib.summary.initialize() first"
            )
        return self._files[name]

    def shut(self, name: str) -> None:
        """Closes one."""
        self.find(name).close()
        del self._files[name]

    def close(self) -> None:
        """Closes all, with their session."""
        while self._files:
            self._files.popitem()[1].close()


def _files_of(session: Any) -> _Files:
    found: _Files = session.resources.setdefault(_RESOURCE, _Files())
    return found


class SummaryWriter:
    """The base of writers; see create_file_writer."""

    def set_as_default(self) -> None:
        """Makes it the writer of this thread's summaries."""
        raise NotImplementedError

    def as_default(self) -> contextlib.AbstractContextManager[Any]:
        """A context in which it is the writer of this thread's summaries."""
        raise NotImplementedError

    def init(self) -> Any:
        """The operation that opens it."""
        raise NotImplementedError

    def flush(self) -> Any:
        """An operation that writes what waits."""
        raise NotImplementedError

    def close(self) -> Any:
        """An operation that flushes and closes it."""
        raise NotImplementedError


class EventWriter(SummaryWriter):
    """A writer of an event file; see create_file_writer.

    Args:
        name: writers of one name are one in a session.
        options: arguments of the FileWriter.
    """

    def __init__(self, name: str, options: tuple[Any, ...]) -> None:
        self.name, self._options = name, options
        scopes.get_default_graph().add_to_collection(_OPENING, self.init())

    def set_as_default(self) -> None:
        """Makes it the writer of this thread's summaries."""
        _thread.writer = self

    @contextlib.contextmanager
    def as_default(self) -> Iterator[EventWriter]:
        """A context in which it is the writer of this thread's summaries."""
        before = current_writer()
        _thread.writer = self
        try:
            yield self
            self.flush()
        finally:
            _thread.writer = before

    def init(self) -> Operation:
        """An operation that opens it."""
        return self.operation("create", "CreateSummaryFileWriter", options=self._options)

    def flush(self) -> Operation:
        """An operation that writes what waits to the file."""
        return self.operation("flush", "FlushSummaryWriter")

    def close(self) -> Operation:
        """An operation that flushes and closes it."""
        return self.operation("close", "CloseSummaryWriter")

    def operation(
        self, action: str, tf_type: str, inputs: Sequence[Tensor] = (), name: str | None = None,
        **settings: Any,
    ) -> Operation:  # fmt: skip
        """An operation that calls one of _ACTIONS with its inputs."""
        bind = functools.partial(_bound, action, self.name, settings)
        return host_call(
            bind, inputs, [], function=f"summary_writer/{action}", name=name or tf_type,
            tf_type=tf_type,
        )  # fmt: skip


def _bound(action: str, name: str, settings: dict[str, Any], session: Any) -> Function:
    """The function of an operation, for a session."""
    perform = _ACTIONS[action]

    def call(inputs: Sequence[Array]) -> list[Array]:
        perform(_files_of(session), name, *inputs, **settings)
        return []

    return call


def _bytes(value: Array) -> bytes:
    content = np.asarray(value, object)[()]
    return content.encode() if isinstance(content, str) else bytes(content)


def _create(files: _Files, name: str, *, options: tuple[Any, ...]) -> None:
    files.open(name, *options)


def _write(files: _Files, name: str, step: Array, *inputs: Array, kind: str, tag: str) -> None:
    content = FUNCTIONS[kind]([np.array(tag, object), *inputs])[0]
    files.find(name).add_summary(_bytes(content), int(step))


def _write_graph(files: _Files, name: str, step: Array, content: Array) -> None:
    graph_def = GraphDef()
    graph_def.ParseFromString(_bytes(content))
    files.find(name).add_graph(None, int(step), graph_def)


def _write_event(files: _Files, name: str, content: Array) -> None:
    files.find(name).add_event(Event.FromString(_bytes(content)))


_ACTIONS: dict[str, Callable[..., None]] = {
    "create": _create,
    "write": _write,
    "write_graph": _write_graph,
    "write_event": _write_event,
    "flush": lambda files, name: files.find(name).flush(),
    "close": lambda files, name: files.shut(name),
}


class NoopWriter(SummaryWriter):
    """The writer of create_file_writer(None): it writes nothing and is not made the default."""

    def set_as_default(self) -> None:
        """Changes nothing."""

    @contextlib.contextmanager
    def as_default(self) -> Iterator[None]:
        """A context that changes nothing."""
        yield

    def init(self) -> None:
        """None."""

    def flush(self) -> None:
        """None."""

    def close(self) -> None:
        """None."""


def current_writer() -> EventWriter | None:
    """The writer of this thread's summaries; None: there is none."""
    found: EventWriter | None = getattr(_thread, "writer", None)
    return found


@api_guard.guarded
def create_file_writer(
    logdir: Any,
    max_queue: int | None = None,
    flush_millis: int | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
) -> SummaryWriter:
    """A writer of summaries to an event file in a folder, opened by initialize.

    Args:
        logdir: the folder; None: a writer that writes nothing.
        max_queue: how many events wait before a run waits for the file; None: 10.
        flush_millis: how often the file is flushed; None: 120000.
        filename_suffix: of the file's name; None: ".v2".
        name: writers of one name are one in a session; None: that of the folder.

    Raises:
        ImportError: in a run, the package tensorboard is not installed.
    """
    if logdir is None:
        return NoopWriter()
    folder = str(logdir)
    flush_secs = 120 if flush_millis is None else flush_millis / 1000
    suffix = ".v2" if filename_suffix is None else filename_suffix
    waiting = 10 if max_queue is None else max_queue
    options = (folder, None, waiting, flush_secs, None, suffix)
    return EventWriter(f"logdir:{folder}" if name is None else name, options)


@api_guard.guarded
def create_summary_file_writer(*args: Any, **kwargs: Any) -> SummaryWriter:
    """create_file_writer under its former name."""
    return create_file_writer(*args, **kwargs)


@api_guard.guarded
def summary_writer_initializer_op() -> list[Operation]:
    """The operations that open the writers of the default graph."""
    return scopes.get_default_graph().get_collection(_OPENING)


@api_guard.guarded
def flush(writer: Any = None, name: str | None = None) -> Operation:
    """An operation that writes what waits to the file.

    Args:
        writer: None: the default one; without one the operation does nothing.
        name: of the operation.

    Raises:
        TypeError: it is not a writer of this module.
    """
    chosen = current_writer() if writer is None else writer
    if chosen is None or isinstance(chosen, NoopWriter):
        return no_op(name)
    if not isinstance(chosen, EventWriter):
        raise TypeError(f"flush: writer is {writer!r}, expected one of create_file_writer")
    return chosen.operation("flush", "FlushSummaryWriter", name=name)


def write_summary(
    writer: EventWriter, step: Tensor, kind: str, tag: str, inputs: Sequence[Tensor], name: str
) -> Operation:
    """An operation that writes a summary.

    Args:
        step: its step.
        kind: a key of summary.encoding.FUNCTIONS.
        tag: its tag.
        inputs: those of the kind after the tag.
        name: of the operation.
    """
    tf_type = f"Write{kind.removesuffix('V2')}"
    return writer.operation("write", tf_type, [step, *inputs], name, kind=kind, tag=tag)


def write_graph(writer: EventWriter, step: Tensor, content: Any, name: str | None) -> Operation:
    """An operation that writes a graph, a serialized GraphDef."""
    inputs = [step, convert_to_tensor(content)]
    return writer.operation("write_graph", "WriteGraphSummary", inputs, name)


def show_graph(session: Any, writer: EventWriter, graph: Any) -> None:
    """Writes a Graph or GraphDef at step 0 to the file of a session."""
    _files_of(session).find(writer.name).add_graph(graph, 0)


def write_event(writer: EventWriter, content: Any, name: str | None) -> Operation:
    """An operation that writes a serialized Event."""
    return writer.operation("write_event", "ImportEvent", [convert_to_tensor(content)], name)
