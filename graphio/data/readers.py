"""The datasets that read files: TextLineDataset, TFRecordDataset, FixedLengthRecordDataset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.data import arguments, records
from graphio.data.dataset import Dataset
from graphio.data.function import Opening
from graphio.data.stages import Stage
from graphio.data.structure import Spec
from graphio.framework import api_boundary, dtypes
from graphio.framework.constants import as_array, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape

__all__ = ["FixedLengthRecordDataset", "TFRecordDataset", "TextLineDataset"]

_STRING = Spec(dtypes.string, TensorShape([]))
_Files = Callable[[Opening, Any, str], Stage]


class _FileDataset(Dataset):
    """A dataset of strings out of files, whose names are strings, a tensor or a dataset."""

    def _read(self, filenames: Any, compression: Any, given: list[Any], files: _Files) -> None:
        compressed = compression if isinstance(compression, Tensor) else None
        kind = "" if compressed is not None else records.checked_compression(compression)

        def opened(o: Opening, names: Any) -> Stage:
            text = kind
            if compressed is not None:
                text = records.checked_compression(bytes(o.value(compressed)[()]))
            return files(o, o.value(names), text)

        if isinstance(filenames, Dataset):
            _check_names(filenames)
            made = filenames.flat_map(
                lambda name: Dataset(_STRING, lambda o: opened(o, name), given=[name])
            )
            super().__init__(_STRING, made.open, [made], [*given, compressed])
        else:
            names = _names(filenames)
            super().__init__(_STRING, lambda o: opened(o, names), given=[names, compressed, *given])


def _check_names(filenames: Dataset) -> None:
    spec = filenames.element_specs
    if not isinstance(spec, Spec) or spec.dtype != dtypes.string or spec.shape.ndims:
        raise TypeError(
            "`filenames` must be a dataset of scalar strings; its elements are "
            f"{filenames.output_types} of the shape {filenames.output_shapes}"
        )


def _names(filenames: Any) -> Any:
    """String tensor, or array of bytes."""
    filenames = records.paths_as_strings(filenames)
    if isinstance(filenames, (list, tuple)) and not filenames:
        filenames = as_array([], dtypes.string)
    found = filenames if isinstance(filenames, Tensor) else convertible(filenames)
    dtype = found.dtype if isinstance(found, Tensor) else dtypes.as_dtype(found.dtype)
    if dtype != dtypes.string:
        raise TypeError(f"`filenames` must be a `tf.data.Dataset` or strings, got {filenames!r}")
    return found


def convertible(value: Any) -> Any:
    """An array of a Python value; a tensor where it holds tensors."""
    try:
        return as_array(value, None)
    except TypeError:
        return convert_to_tensor(value)


class TextLineDataset(_FileDataset):
    """The lines of text files, as bytes without their ends.

    Args:
        filenames: a name, a list of them, a string tensor or a dataset of names; names are
            strings or paths.
        compression_type: "", "GZIP" or "ZLIB".
        buffer_size: accepted.
        num_parallel_reads: accepted; files are read one after the other.
        name: of the dataset, for messages.
    """

    @api_boundary.rolling_back
    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        self._read(
            filenames, compression_type, [], lambda o, names, kind: records.TextLines(names, kind)
        )
        self._named(name)


class TFRecordDataset(_FileDataset):
    """The records of TFRecord files, as bytes; see TextLineDataset."""

    @api_boundary.rolling_back
    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        self._read(
            filenames, compression_type, [], lambda o, names, kind: records.TFRecords(names, kind)
        )
        self._named(name)


class FixedLengthRecordDataset(_FileDataset):
    """The records of files in which all have one length.

    Args:
        filenames, buffer_size, compression_type, num_parallel_reads, name: see TextLineDataset.
        record_bytes: of a record.
        header_bytes, footer_bytes: left out at each file's beginning and end.
    """

    @api_boundary.rolling_back
    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        sizes = [
            arguments.number(v or 0, "FixedLengthRecordDataset") if not isinstance(v, Tensor) else v
            for v in (record_bytes, header_bytes, footer_bytes)
        ]

        def files(o: Opening, names: Any, kind: str) -> Stage:
            record, header, footer = [o.number(v) for v in sizes]
            return records.FixedLength(names, record, header, footer, kind, 0)

        self._read(filenames, compression_type, sizes, files)
        self._named(name)
