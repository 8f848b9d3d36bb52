"""Initializers that take the rows of a checkpoint's matrix in the order of another vocabulary.

Files are read when the variable is made, and what they give is part of the graph.

Common arguments:
    ckpt_path: the checkpoint.
    old_tensor_name: a matrix of it.
    new_row_vocab_size, new_col_vocab_size: rows and columns that are taken or made.
    old_row_vocab_file, new_row_vocab_file: the names of the old and of the new rows, one in a line;
        None: they are the same.
    old_col_vocab_file, new_col_vocab_file: those of columns.
    num_row_oov_buckets, num_col_oov_buckets: further rows and columns at the end.
    initializer: makes the values that the checkpoint lacks.
    max_rows_in_memory: has no effect: the matrix is read at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.framework import dtypes, folding
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.storage.gfile import GFile
from graphio.support import api_guard, errors
from graphio.train.checkpoints import checkpoint_reader
from graphio.variables.initializers import truncated_normal_initializer, zeros_initializer

__all__ = [
    "load_and_remap_matrix_initializer",
    "load_embedding_initializer",
    "load_linear_multiclass_bias_initializer",
    "load_variable_slot_initializer",
]

_Initializer = Callable[..., Tensor]


@api_guard.unguarded
def load_and_remap_matrix_initializer(
    ckpt_path: Any, old_tensor_name: str, new_row_vocab_size: int, new_col_vocab_size: int,
    old_row_vocab_size: int = -1, old_row_vocab_file: Any = None, new_row_vocab_file: Any = None,
    old_col_vocab_file: Any = None, new_col_vocab_file: Any = None, num_row_oov_buckets: int = 0,
    num_col_oov_buckets: int = 0, initializer: Any = None, max_rows_in_memory: int = -1,
) -> _Initializer:  # fmt: skip
    """An initializer of a variable [new_row_vocab_size + num_row_oov_buckets, new_col_vocab_size +
    num_col_oov_buckets]. Further arguments are described at the head of the module.

    Args:
        old_row_vocab_size: lines of old_row_vocab_file that count; -1: all.
        initializer: None: zeros.

    Returns:
        The initializer; it takes partitions along the rows.

    Raises:
        TypeError: initializer is not callable. Of the initializer: another dtype than float32.
        ValueError: of the initializer: the shape is another, one of two files is given, none is,
            or a number of buckets is negative.
        InvalidArgumentError: of the initializer: the matrix lacks a row or column.
        NotFoundError: of the initializer: a file or the matrix is not there.
    """
    fill = zeros_initializer() if initializer is None else initializer
    if not callable(fill):
        raise TypeError(
            f"initializer must be callable, instead of being {fill} of type {type(fill)}."
        )
    rows = _Axis("row", old_row_vocab_file, new_row_vocab_file, old_row_vocab_size)
    columns = _Axis("col", old_col_vocab_file, new_col_vocab_file)

    def make(shape: Any, dtype: Any = dtypes.float32, partition_info: Any = None) -> Tensor:
        sizes = [int(size) for size in shape]
        _check_shape(sizes, dtype, new_col_vocab_size + num_col_oov_buckets, new_col_vocab_size)
        offset = 0 if partition_info is None else int(partition_info.var_offset[0])
        if offset + sizes[0] > new_row_vocab_size + num_row_oov_buckets:
            raise ValueError(
                f"Trying to initialize {sizes[0]} additional rows after {offset} rows have already "
                "been initialized, which would exceed expected total row count of "
                f"new_row_vocab_size ({new_row_vocab_size}) + num_row_oov_buckets "
                f"({num_row_oov_buckets}) = {new_row_vocab_size + num_row_oov_buckets}."
            )
        buckets = min(sizes[0], max(0, offset + sizes[0] - new_row_vocab_size))
        if buckets == sizes[0]:
            only: Tensor = fill(sizes)
            return only
        for name, number in (("row", num_row_oov_buckets), ("col", num_col_oov_buckets)):
            if number < 0:
                raise ValueError(f"num_{name}_oov_buckets must be >= 0, but received {number}")
        if not (rows.is_given or columns.is_given):
            raise ValueError(
                "Must provide either row or column vocab files. If no remapping is necessary, "
                "consider using `tf.contrib.framework.init_from_checkpoint` instead."
            )
        old = np.asarray(checkpoint_reader.load_variable(ckpt_path, old_tensor_name))
        found = _remapped(
            old, rows.numbers(offset, sizes[0] - buckets, old.shape[0]),
            columns.numbers(0, new_col_vocab_size, old.shape[1]), fill,
        )  # fmt: skip
        if buckets:
            more = convert_to_tensor(fill([buckets, new_col_vocab_size]))
            found = array.concat([found, more], 0)
        if num_col_oov_buckets:
            more = convert_to_tensor(fill([sizes[0], num_col_oov_buckets]))
            found = array.concat([found, more], 1)
        return found

    return make


def _check_shape(sizes: list[int], dtype: Any, columns: int, known: int) -> None:
    if dtypes.as_dtype(dtype).base_dtype != dtypes.float32:
        raise TypeError(f"Currently, only float32 is supported. Received dtype: {dtype}")
    if len(sizes) != 2:
        raise ValueError(f"Expected 2-dim shape, but received: {sizes}")
    if sizes[0] <= 0:
        raise ValueError(f"Expected 1st dim of shape to be > 0, but received shape: {sizes}")
    if sizes[1] != columns:
        raise ValueError(
            f"Expected 2nd dim of shape to be new_col_vocab_size ({known}) + num_col_oov_buckets "
            f"({columns - known}) = {columns}, but received shape: {sizes}"
        )


class _Axis:
    """The vocabularies of an axis.

    Args:
        kind: "row" or "col", for errors.
        old_file, new_file: paths, or constant tensors.
        old_size: lines of the old one that count; -1: all.

    Raises:
        ValueError: one of the files is given alone.
    """

    def __init__(self, kind: str, old_file: Any, new_file: Any, old_size: int = -1) -> None:
        self._kind, self._old_file, self._new_file = kind, old_file, new_file
        self._old_size = old_size

    @property
    def is_given(self) -> bool:
        """Whether names are matched."""
        if (self._old_file is None) != (self._new_file is None):
            raise ValueError(
                f"old_{self._kind}_vocab_file and new_{self._kind}_vocab_file must both be "
                f"specified or left unspecified. old_{self._kind}_vocab_file='{self._old_file}', "
                f"new_{self._kind}_vocab_file='{self._new_file}'"
            )
        return self._old_file is not None

    def numbers(self, offset: int, count: int, known: int) -> Any:
        """The old number of each new one from offset on; -1: there is none."""
        if not self.is_given:
            found = np.arange(offset, offset + count)
        else:
            names = _lines(self._new_file)[offset : offset + count]
            if len(names) < count:
                raise errors.InvalidArgumentError(
                    message=f"{_path(self._new_file)} has {offset + len(names)} lines, expected at "
                    f"least {offset + count}"
                )
            old = _lines(self._old_file)
            kept = old if self._old_size < 0 else old[: self._old_size]
            # of equal names the first counts
            at = {name: number for number, name in reversed(list(enumerate(kept)))}
            found = np.array([at.get(name, -1) for name in names])
        if found.size and found.max() >= known:
            raise errors.InvalidArgumentError(
                message=f"the matrix has {known} {self._kind}s, expected at least {found.max() + 1}"
            )
        return found


def _lines(file: Any) -> list[str]:
    with GFile(_path(file)) as opened:
        lines = str(opened.read()).split("\n")  # a name may have other line separators of Unicode
    return [line.rstrip("\r") for line in (lines if lines[-1] else lines[:-1])]


def _path(file: Any) -> str:
    known = folding.constant_value(file) if isinstance(file, Tensor) else file
    if known is None:
        raise ValueError(f"a path that is known while the graph is built is needed, got {file}")
    found = known.item() if isinstance(known, np.ndarray) else known
    return found.decode() if isinstance(found, bytes) else str(found)


def _remapped(old: Any, rows: Any, columns: Any, fill: Callable[..., Any]) -> Tensor:
    """The old values at the old numbers; the others come from the initializer, row by row."""
    is_old = (rows[:, None] >= 0) & (columns[None, :] >= 0)
    values = old[np.maximum(rows, 0)][:, np.maximum(columns, 0)].astype(np.float32)
    missing = int((~is_old).sum())
    if not missing:
        return constant(values)
    made = array.reshape(convert_to_tensor(fill([missing, 1])), [-1])
    known = int(is_old.sum())
    at = np.empty(is_old.shape, np.int64)
    at[is_old], at[~is_old] = np.arange(known), known + np.arange(missing)
    found: Tensor = index.gather(array.concat([constant(values[is_old]), made], 0), at)
    return found


@api_guard.unguarded
def load_embedding_initializer(
    ckpt_path: Any, embedding_tensor_name: str, new_vocab_size: int, embedding_dim: int,
    old_vocab_file: Any, new_vocab_file: Any, old_vocab_size: int = -1, num_oov_buckets: int = 0,
    initializer: Any = None, max_rows_in_memory: int = -1,
) -> _Initializer:  # fmt: skip
    """load_and_remap_matrix_initializer of the rows of an embedding.

    Args:
        embedding_dim: columns.
        initializer: None: truncated normal, with deviation 1 / sqrt(embedding_dim).
    """
    if initializer is None:
        initializer = truncated_normal_initializer(stddev=1.0 / math.sqrt(embedding_dim))
    return load_and_remap_matrix_initializer(
        ckpt_path, embedding_tensor_name, new_vocab_size, embedding_dim, old_vocab_size,
        old_vocab_file, new_vocab_file, num_row_oov_buckets=num_oov_buckets,
        initializer=initializer, max_rows_in_memory=max_rows_in_memory,
    )  # fmt: skip


@api_guard.unguarded
def load_linear_multiclass_bias_initializer(
    ckpt_path: Any, bias_tensor_name: str, new_class_vocab_size: int, old_class_vocab_file: Any,
    new_class_vocab_file: Any, num_class_oov_buckets: int = 0, initializer: Any = None,
    max_rows_in_memory: int = -1,
) -> _Initializer:  # fmt: skip
    """load_and_remap_matrix_initializer of a bias [classes, 1]."""
    return load_and_remap_matrix_initializer(
        ckpt_path, bias_tensor_name, new_class_vocab_size, 1, -1, old_class_vocab_file,
        new_class_vocab_file, num_row_oov_buckets=num_class_oov_buckets, initializer=initializer,
        max_rows_in_memory=max_rows_in_memory,
    )  # fmt: skip


@api_guard.unguarded
def load_variable_slot_initializer(
    ckpt_path: Any, old_tensor_name: str, primary_partition_info: Any, new_row_vocab_size: int,
    new_col_vocab_size: int, old_row_vocab_file: Any = None, new_row_vocab_file: Any = None,
    old_col_vocab_file: Any = None, new_col_vocab_file: Any = None, num_row_oov_buckets: int = 0,
    num_col_oov_buckets: int = 0, initializer: Any = None, max_rows_in_memory: int = -1,
) -> _Initializer:  # fmt: skip
    """load_and_remap_matrix_initializer of an optimizer's slot.

    Args:
        primary_partition_info: the partition of the variable that the slot is of.
    """
    make = load_and_remap_matrix_initializer(
        ckpt_path, old_tensor_name, new_row_vocab_size, new_col_vocab_size, -1,
        old_row_vocab_file, new_row_vocab_file, old_col_vocab_file, new_col_vocab_file,
        num_row_oov_buckets, num_col_oov_buckets, initializer, max_rows_in_memory,
    )  # fmt: skip

    def slot(shape: Any, dtype: Any = dtypes.float32, partition_info: Any = None) -> Tensor:
        return make(shape, dtype, primary_partition_info)

    return slot
