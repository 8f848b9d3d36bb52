"""Readers of files whose names come from a queue: TextLineReader and its relatives.

A reader's position is of the session, not of the graph, and no checkpoint has it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphio.framework import api_boundary, dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Operation, Tensor
from graphio.framework.operation import TENSORFLOW_ATTRIBUTES
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.base.waiting import Steps, resources_of, waiting_call
from graphio.queues.building import builds_with
from graphio.queues.queue_ops import contents_of
from graphio.queues.reader_state import ReaderState
from graphio.queues.record_files import KINDS
from graphio.support import errors

__all__ = [
    "FixedLengthRecordReader",
    "IdentityReader",
    "LMDBReader",
    "ReaderBase",
    "TFRecordReader",
    "TextLineReader",
    "WholeFileReader",
]


class _Opener:
    """From a session to a function that makes the reader at its first call, and gives its name.

    Attributes:
        kind, settings: see ReaderState.
        node: name of the operation.
    """

    def __init__(self, kind: str, settings: Mapping[str, Any]) -> None:
        self.kind, self.settings, self.node = kind, dict(settings), ""

    def __call__(self, session: Any) -> Any:
        resources, node = resources_of(session), self.node

        def call(inputs: list[Any]) -> list[Any]:
            resources.get(("reader", node), lambda: ReaderState(self.kind, node, self.settings))
            return [np.array(node.encode(), object)]

        return call


def _reader(session: Any, key: Any) -> ReaderState:
    name = np.asarray(key).item().decode()
    found: ReaderState | None = resources_of(session).find(("reader", name))
    if found is None:
        raise errors.NotFoundError(message=f"Resource reader {name} does not exist.")
    return found


def _read(session: Any) -> Any:
    def call(inputs: list[Any]) -> Steps[list[Any]]:
        queue = contents_of(session, inputs[1])
        (record,) = yield from _reader(session, inputs[0]).read(queue, 1)
        return [np.array(part, object) for part in record]

    return call


def _read_up_to(session: Any) -> Any:
    def call(inputs: list[Any]) -> Steps[list[Any]]:
        queue, count = contents_of(session, inputs[1]), int(inputs[2])
        if count < 1:
            raise errors.InvalidArgumentError(message=f"num_records is {count}, expected 1 or more")
        found = yield from _reader(session, inputs[0]).read(queue, count)
        return [np.array(parts, object) for parts in zip(*found, strict=True)]

    return call


def _count(attribute: str, session: Any) -> Any:
    return lambda inputs: [np.array(getattr(_reader(session, inputs[0]), attribute), np.int64)]


def _serialize(session: Any) -> Any:
    def call(inputs: list[Any]) -> Steps[list[Any]]:
        state = yield from _reader(session, inputs[0]).serialized()
        return [np.array(state, object)]

    return call


def _restore(session: Any) -> Any:
    return lambda inputs: _reader(session, inputs[0]).restore(bytes(inputs[1].item()))


def _reset(session: Any) -> Any:
    return lambda inputs: _reader(session, inputs[0]).reset()


_method = builds_with("reader_ref")


class ReaderBase:
    """A reader: it takes work from a queue of strings, such as names of files, and gives records.

    Args:
        reader_ref: the output of a reader's operation.
        supports_serialize: whether it has serialize_state.
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        """The tensor that stands for the reader: a string, the name that a session has for it."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether it has serialize_state and restore_state."""
        return self._supports_serialize

    @_method
    def read(self, queue: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
        """The next record, once there is one: key and value, string scalars.

        Args:
            queue: a queue of strings, or its queue_ref.
            name: of the operation.

        Raises:
            OutOfRangeError: of the run: the queue is closed and has no more.
            NotFoundError: of the run: a file is not there.
        """
        inputs = [_reference(queue)]
        made = self._operation(_read, "ReaderReadV2", inputs, [dtypes.string] * 2, [], name)
        return made.outputs[0], made.outputs[1]

    @_method
    def read_up_to(
        self, queue: Any, num_records: Any, name: str | None = None
    ) -> tuple[Tensor, Tensor]:
        """The next records of one file, at least one and at most num_records: keys and values,
        string vectors; see read."""
        inputs = [_reference(queue), convert_to_tensor(num_records, dtypes.int64)]
        kinds = [dtypes.string] * 2
        made = self._operation(_read_up_to, "ReaderReadUpToV2", inputs, kinds, [None], name)
        return made.outputs[0], made.outputs[1]

    @_method
    def num_records_produced(self, name: str | None = None) -> Tensor:
        """How many records it has given: int64 scalar."""
        bind = functools.partial(_count, "produced")
        return self._scalar(bind, "ReaderNumRecordsProducedV2", dtypes.int64, name)

    @_method
    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """How many pieces of work it has ended: int64 scalar."""
        bind = functools.partial(_count, "finished")
        return self._scalar(bind, "ReaderNumWorkUnitsCompletedV2", dtypes.int64, name)

    @_method
    def serialize_state(self, name: str | None = None) -> Tensor:
        """The counts and the last work: string scalar.

        Raises:
            UnimplementedError: of the run: the reader does not support it.
        """
        return self._scalar(_serialize, "ReaderSerializeStateV2", dtypes.string, name)

    @_method
    def restore_state(self, state: Any, name: str | None = None) -> Operation:
        """An operation that takes up a state of serialize_state.

        Args:
            state: string scalar.
            name: of the operation.

        Raises:
            ValueError: state is not a scalar.
            InvalidArgumentError: of the run: it is not a state.
        """
        given = convert_to_tensor(state, dtypes.string)
        given.shape.assert_has_rank(0)
        return self._operation(_restore, "ReaderRestoreStateV2", [given], [], [], name)

    @_method
    def reset(self, name: str | None = None) -> Operation:
        """An operation that lets the reader begin again, with the next work."""
        return self._operation(_reset, "ReaderResetV2", [], [], [], name)

    def _scalar(self, bind: Any, tf_type: str, dtype: Any, name: str | None) -> Tensor:
        return self._operation(bind, tf_type, [], [dtype], [], name).outputs[0]

    def _operation(
        self, bind: Any, tf_type: str, inputs: Sequence[Tensor], kinds: Sequence[Any],
        shape: list[int | None], name: str | None,
    ) -> Operation:  # fmt: skip
        return waiting_call(
            bind,
            [self._reader_ref, *inputs],
            [(kind, TensorShape(shape)) for kind in kinds],
            function=f"{self._reader_ref.op.name}/{tf_type.removesuffix('V2')}",
            name=name or tf_type,
            tf_type=tf_type,
        )


def _reference(queue: Any) -> Tensor:
    found: Tensor = queue if isinstance(queue, Tensor) else queue.queue_ref
    return found


class _Made(ReaderBase):
    """A reader that has an operation; its class's name is a key of KINDS."""

    def __init__(self, name: str | None, **settings: Any) -> None:
        title = type(self).__name__
        kind = KINDS[title]
        opener, chosen = _Opener(title, settings), name or kind.tf_type
        made = waiting_call(
            opener,
            [],
            [(dtypes.string, TensorShape([]))],
            function=chosen.rstrip("/"),
            name=chosen,
            tf_type=kind.tf_type,
        )
        opener.node = made.name
        TENSORFLOW_ATTRIBUTES.of(made.graph)[made] = {
            "container": b"", "shared_name": b"", **settings,
        }  # fmt: skip
        super().__init__(made.outputs[0], kind.serializes)


class WholeFileReader(_Made):
    """Gives the contents of files; the key is the file's name.

    Args:
        name: of the operation.
    """

    @api_boundary.rolling_back
    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)


class TextLineReader(_Made):
    """Gives lines of files without their ends; the key is "file:number", numbers from 1.

    Args:
        skip_header_lines: how many lines of each file are left out; None: none.
        name: of the operation.

    Example:
        >>> queue = tf.train.string_input_producer(["a.txt"], num_epochs=1)
        >>> key, line = tf.TextLineReader().read(queue)
    """

    @api_boundary.rolling_back
    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(name, skip_header_lines=int(skip_header_lines or 0))


class FixedLengthRecordReader(_Made):
    """Gives records of one length; the key is "file:number", numbers from 0.

    Args:
        record_bytes: of a record.
        header_bytes, footer_bytes: of the file, left out; None: 0.
        hop_bytes: from the beginning of a record to that of the next; None or 0: record_bytes.
        name: of the operation.
        encoding: "GZIP" or "ZLIB" of compressed files; None: they are not.

    Raises:
        ValueError: a number is negative, or record_bytes 0.
    """

    @api_boundary.rolling_back
    def __init__(
        self, record_bytes: int, header_bytes: int | None = None, footer_bytes: int | None = None,
        hop_bytes: int | None = None, name: str | None = None, encoding: str | None = None,
    ) -> None:  # fmt: skip
        sizes = {
            "record_bytes": int(record_bytes), "header_bytes": int(header_bytes or 0),
            "footer_bytes": int(footer_bytes or 0),
            "hop_bytes": int(hop_bytes or record_bytes),
        }  # fmt: skip
        for key, size in sizes.items():
            if size < 0 or (size == 0 and key == "record_bytes"):
                raise ValueError(f"FixedLengthRecordReader: {key} is {size}, expected more")
        from graphio.data.records import checked_compression  # late: see record_files

        super().__init__(name, **sizes, encoding=checked_compression(encoding))


class TFRecordReader(_Made):
    """Gives the records of TFRecord files; the key is "file:offset".

    Args:
        name: of the operation.
        options: a TFRecordOptions with the compression; None: there is none.
    """

    @api_boundary.rolling_back
    def __init__(self, name: str | None = None, options: Any = None) -> None:
        from graphio.data.writing import TFRecordOptions

        compression = TFRecordOptions.get_compression_type_string(options)
        super().__init__(name, compression=compression)


class LMDBReader(_Made):
    """Gives the keys and values of LMDB files, in the order of the keys.

    Args:
        name: of the operation.
        options: it has no effect, as in TensorFlow.

    Raises:
        ImportError: the package lmdb is not installed.
    """

    @api_boundary.rolling_back
    def __init__(self, name: str | None = None, options: Any = None) -> None:
        from graphio.data.bases.lmdb_files import module

        module("LMDBReader")
        super().__init__(name)


class IdentityReader(_Made):
    """Gives what it takes from the queue, as key and as value.

    Args:
        name: of the operation.
    """

    @api_boundary.rolling_back
    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
