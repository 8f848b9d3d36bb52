"""Event files: what TensorBoard shows, written by the tensorboard package's own writer."""

from __future__ import annotations

import os
import time
import warnings
import weakref
from collections.abc import Iterator
from typing import Any, ClassVar

from google.protobuf.message import DecodeError

from graphio.framework import dtypes
from graphio.framework.graph import Graph
from graphio.protos.graph_def import GraphDef
from graphio.protos.graph_import import import_graph_def
from graphio.protos.meta_graph import MetaGraphDef
from graphio.schema import tensorflow_pb2
from graphio.schema.run_metadata_pb2 import RunMetadata
from graphio.storage import stores
from graphio.summary.graph_def import graph_def_of
from graphio.support import api_guard, errors, installation

__all__ = ["FileWriter", "FileWriterCache", "summary_iterator"]


class FileWriter:
    """Writes summaries and graphs to an event file in a folder, in a separate thread.

    Args:
        logdir: the folder, which is made if it is not there; a relative one is that of now, also
            after os.chdir.
        graph: a graph to show.
        max_queue: how many events wait before a call waits for the thread.
        flush_secs: how often the file is flushed.
        graph_def: or its GraphDef.
        filename_suffix: of the file's name.
        session: writers of one session and folder write to one file, in the order of their calls;
            its name and its queue are the first one's. None: the writer has a separate file.

    Raises:
        ImportError: the package tensorboard is not installed.
        TypeError: graph or graph_def is none, or session is not a session.
        ValueError: graph and graph_def are both given.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        graph: Graph | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        if session is not None and not hasattr(session, "state"):
            raise TypeError(f"session is {session!r}, expected a tf.Session or None")
        self._session = session
        self._logdir, self._folder = os.fspath(logdir), stores.absolute(logdir)
        self._options = (max_queue, flush_secs, filename_suffix or "")
        self._writer: Any = None
        self._closed = False
        self._tags: set[str] = set()
        self._described: set[str] = set()  # tags of summaries whose metadata the file has
        self._shown: weakref.WeakSet[Graph] = weakref.WeakSet()  # graphs that add_graph has added
        self._open()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)

    def _open(self) -> None:
        file_writer, self._protos = _tensorboard()
        if self._session is None:
            self._writer = file_writer(self._folder, *self._options)
        else:
            self._writer = _SharedFile.of(self._session, self._folder, file_writer, self._options)

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *details: Any) -> None:
        self.close()

    def get_logdir(self) -> str:
        """The folder, as it was given."""
        return self._logdir

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Adds a summary.

        Args:
            summary: what running a summary operation gave, or a tf.Summary.
            global_step: the number of the step; None: 0.
        """
        content = summary if isinstance(summary, bytes) else summary.SerializeToString()
        event = self._protos.Event()
        event.summary.ParseFromString(content)
        for value in event.summary.value:
            if value.tag in self._described:
                value.ClearField("metadata")
            elif value.HasField("metadata"):
                self._described.add(value.tag)
        self._add(event, global_step)

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Adds a tf.SessionLog, such as that a session has started."""
        event = self._protos.Event()
        event.session_log.ParseFromString(session_log.SerializeToString())
        self._add(event, global_step)

    def add_event(self, event: Any) -> None:
        """Adds an event: a tf.Event, or one of tensorboard's."""
        if self._warned():
            return
        self._writer.add_event(self._protos.Event.FromString(event.SerializeToString()))

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Adds a graph for TensorBoard's Graphs tab.

        Args:
            graph: a Graph or its GraphDef; None: graph_def says it.
            global_step: the number of the step; None: 0.
            graph_def: a GraphDef in the place of graph.

        Raises:
            ValueError: graph and graph_def are both given.
            TypeError: it is neither.
        """
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def, but not both.")
        given = graph_def if graph is None else graph
        graph = _graph_of(given) if isinstance(given, GraphDef) else given
        if not isinstance(graph, Graph):
            raise TypeError(
                f"The passed graph must be an instance of `Graph`, but it is {type(graph).__name__}"
            )
        self._shown.add(graph)
        content = graph_def_of(graph).SerializeToString()
        self._add(self._protos.Event(graph_def=content), global_step)

    def has_graph(self, graph: Graph) -> bool:
        """Whether add_graph has added the graph."""
        return graph in self._shown

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Adds the graph of a tf.MetaGraphDef, for TensorBoard's Graphs tab.

        Args:
            meta_graph_def: as tf.train.export_meta_graph gives it. Its collections and signatures
                are not written.
            global_step: the number of the step; None: 0.

        Raises:
            TypeError: it is not a MetaGraphDef.
        """
        if not isinstance(meta_graph_def, MetaGraphDef):
            raise TypeError(
                f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}"
            )
        graph_def = graph_def_of(_graph_of(meta_graph_def.graph_def))
        content = tensorflow_pb2.MetaGraphDef(graph_def=graph_def).SerializeToString()
        self._add(self._protos.Event(meta_graph_def=content), global_step)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Adds the times of a run, which TensorBoard shows in the graph.

        Args:
            run_metadata: a tf.RunMetadata that a traced run has filled.
            tag: what to call it; once a writer.
            global_step: the number of the step; None: 0.

        Raises:
            ValueError: the tag was used.
        """
        if tag in self._tags:
            raise ValueError("The provided tag was already used for this event type")
        self._tags.add(tag)
        event = self._protos.Event()
        event.tagged_run_metadata.tag = tag
        event.tagged_run_metadata.run_metadata = _in_tensorflows_numbers(run_metadata)
        self._add(event, global_step)

    def _add(self, event: Any, global_step: Any) -> None:
        event.wall_time = time.time()
        if global_step is not None:
            event.step = int(global_step)
        if not self._warned():
            self._writer.add_event(event)

    def _warned(self) -> bool:
        if self._closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the "
                "FileWriter is explicitly reopened.",
                stacklevel=4,
            )
        return self._closed

    def flush(self) -> None:
        """Writes all that waits to the file."""
        if not self._warned():
            self._writer.flush()

    def close(self) -> None:
        """Flushes and closes the file; reopen() makes another."""
        if not self._closed:
            self._closed = True
            self._writer.close()

    def reopen(self) -> None:
        """Goes on in a new file, if the writer is closed."""
        if self._closed:
            self._open()
            self._closed = False


class _SharedFile:
    """The event file of all writers of a session that have one folder."""

    _files: ClassVar[weakref.WeakKeyDictionary[Any, dict[str, _SharedFile]]] = (
        weakref.WeakKeyDictionary()
    )

    def __init__(self, writer: Any) -> None:
        self._writer, self._users = writer, 0
        self.add_event, self.flush = writer.add_event, writer.flush

    @classmethod
    def of(cls, session: Any, folder: str, make: Any, options: tuple[Any, ...]) -> _SharedFile:
        """The file that is open, or a new one."""
        files = cls._files.setdefault(session, {})
        found = files.get(folder)
        if found is None or not found._users:
            found = files[folder] = cls(make(folder, *options))
        found._users += 1
        return found

    def close(self) -> None:
        """Closes the file when its last writer is closed; until then what waits is written."""
        self._users -= 1
        if self._users:
            self._writer.flush()
        else:
            self._writer.close()


def _graph_of(graph_def: GraphDef) -> Graph:
    with Graph().as_default() as graph:
        import_graph_def(graph_def, name="")
    return graph


def _in_tensorflows_numbers(run_metadata: Any) -> bytes:
    """The message's times; our graphs are left out, and dtypes have TensorFlow's numbers."""
    copy = RunMetadata()
    copy.step_stats.CopyFrom(run_metadata.step_stats)
    for device in copy.step_stats.dev_stats:
        for node in device.node_stats:
            for output in node.output:
                known = dtypes.of_number(output.tensor_description.dtype)
                number: Any = known.as_datatype_enum
                output.tensor_description.dtype = number
    return copy.SerializeToString()


class FileWriterCache:
    """One FileWriter for each folder."""

    _writers: ClassVar[dict[str, FileWriter]] = {}

    @classmethod
    def get(cls, logdir: str) -> FileWriter:
        """The writer of a folder."""
        folder = stores.absolute(logdir)
        if folder not in cls._writers:
            cls._writers[folder] = FileWriter(logdir)
        return cls._writers[folder]

    @classmethod
    def show_graph(cls, logdir: str, graph: Graph) -> None:
        """Adds a graph to a folder's event file, once; not where the folder is of an object store,
        or tensorboard is not installed."""
        if stores.is_remote(logdir):
            return
        try:
            writer = cls.get(logdir)
        except ImportError:
            return
        if not writer.has_graph(graph):
            writer.add_graph(graph)
            writer.flush()

    @classmethod
    def clear(cls) -> None:
        """Closes and forgets all writers."""
        for writer in cls._writers.values():
            writer.close()
        cls._writers.clear()


@api_guard.guarded
def summary_iterator(path: str) -> Iterator[Any]:
    """The events of an event file, in order.

    After the end it goes on with what has been written since, if it is called again.

    Raises:
        ImportError: the package tensorboard is not installed.
        NotFoundError: there is no such file.
        DataLossError: at an event that is cut short or damaged, after those before it.
    """
    return _Events(os.fspath(path))


class _Events:
    """The iterator of summary_iterator."""

    def __init__(self, path: str) -> None:
        from graphio.data.writing import tf_record_iterator  # loads tf.data

        self._path, self._message = path, _tensorboard()[1].Event
        self._records = tf_record_iterator(path)

    def __iter__(self) -> _Events:
        return self

    def __next__(self) -> Any:
        record = next(self._records)
        try:
            return self._message.FromString(record)
        except DecodeError:
            raise errors.DataLossError(
                message=f"{self._path} holds a record that is not an event"
            ) from None


def _tensorboard() -> tuple[Any, Any]:
    """The package's writer, and its messages of events."""
    try:
        from tensorboard.compat.proto import event_pb2
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
    except ImportError as error:
        raise ImportError(
            f"event files need the package tensorboard: {installation.hint('tensorboard')}"
        ) from error
    return EventFileWriter, event_pb2
