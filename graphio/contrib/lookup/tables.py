"""Tables from words to numbers and back, of tensors and of files."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.math import elementwise
from graphio.ops.state.bucket_tables import BucketTable
from graphio.ops.state.lookup import (
    KeyValueTensorInitializer,
    StaticHashTable,
    TextFileIndex,
    TextFileInitializer,
)
from graphio.ops.strings.python_strings import (
    string_to_hash_bucket,
    string_to_hash_bucket_fast,
    string_to_hash_bucket_strong,
)
from graphio.support import api_guard

__all__ = [
    "FastHashSpec",
    "HashTable",
    "HasherSpec",
    "IdTableWithHashBuckets",
    "StrongHashSpec",
    "TextFileIdTableInitializer",
    "TextFileStringTableInitializer",
    "index_table_from_file",
    "index_table_from_tensor",
    "index_to_string",
    "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
    "string_to_index",
    "string_to_index_table_from_file",
    "string_to_index_table_from_tensor",
]


class HasherSpec(NamedTuple):
    """How keys that a table lacks fall into buckets.

    Attributes:
        hasher: name of the hash function: fasthash, legacy or stronghash.
        key: of the hash function, or None.
    """

    hasher: str
    key: Any


FastHashSpec = HasherSpec("fasthash", None)


class StrongHashSpec(HasherSpec):
    """Buckets by SipHash; see tf.strings.to_hash_bucket_strong.

    Args:
        key: two integers; secret, so that words of one bucket cannot be chosen on purpose.

    Raises:
        ValueError: there are not two. TypeError: they are not integers.
    """

    __slots__ = ()

    def __new__(cls, key: Any) -> StrongHashSpec:
        if len(key) != 2:
            raise ValueError(f"key must have size 2, got {len(key)}.")
        if not all(isinstance(part, (int, np.integer)) for part in key):
            raise TypeError(f"Invalid key {key}. Must be unsigned integer values.")
        return super().__new__(cls, "stronghash", key)


def _buckets(spec: HasherSpec, words: Tensor, count: int) -> Tensor:
    """The bucket of each word.

    Raises:
        ValueError: there is no such hash function.
    """
    if spec.hasher == "fasthash":
        return string_to_hash_bucket_fast(words, count)
    if spec.hasher == "legacy":
        return string_to_hash_bucket(words, count)
    if spec.hasher == "stronghash":
        return string_to_hash_bucket_strong(words, count, spec.key)
    raise ValueError(
        f"Unknown hasher {spec.hasher}: hasher_spec is FastHashSpec or a StrongHashSpec"
    )


class HashTable(StaticHashTable):
    """tf.lookup.StaticHashTable.

    Args:
        initializer, default_value, name: as StaticHashTable's.
        shared_name: accepted; a session runs in one process.
    """

    def __init__(
        self,
        initializer: Any,
        default_value: Any,
        shared_name: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(initializer, default_value, name)


class TextFileIdTableInitializer(TextFileInitializer):
    """Pairs of the words of a file's lines, or of a column, and the lines' numbers.

    Args:
        filename: of the file.
        key_column_index, value_column_index: columns, or entries of TextFileIndex.
        vocab_size: number of lines; None: all.
        delimiter: of columns.
        name: of the operations.
        key_dtype: string or int64.
    """

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = "text_file_id_table_init",
        key_dtype: Any = dtypes.string,
    ) -> None:
        super().__init__(
            filename, key_dtype, key_column_index, dtypes.int64, value_column_index, vocab_size,
            delimiter, name,
        )  # fmt: skip


class TextFileStringTableInitializer(TextFileInitializer):
    """Pairs of lines' numbers and the words of a file's lines, or of a column.

    The arguments are those of TextFileIdTableInitializer, without key_dtype.
    """

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = "text_file_string_table_init",
    ) -> None:
        super().__init__(
            filename, dtypes.int64, key_column_index, dtypes.string, value_column_index,
            vocab_size, delimiter, name,
        )  # fmt: skip


class IdTableWithHashBuckets(BucketTable):
    """A table in which keys that another table lacks fall into buckets after its entries.

    Args:
        table: from keys to numbers; None: there are only buckets.
        num_oov_buckets: how many buckets.
        hasher_spec: FastHashSpec or a StrongHashSpec.
        name: of the operations.
        key_dtype: string or an integer; None: that of the table, string without one.

    Attributes:
        initializer: the operation that fills the table.

    Raises:
        ValueError: there is neither a table nor a bucket. TypeError: hasher_spec is not a
            HasherSpec, or the keys or values of the table are of other dtypes.
    """

    def __init__(
        self,
        table: Any,
        num_oov_buckets: int,
        hasher_spec: HasherSpec = FastHashSpec,
        name: str | None = None,
        key_dtype: Any = None,
    ) -> None:
        if table is None and num_oov_buckets <= 0:
            raise ValueError(f"oov_buckets must be > 0 if no table is supplied: {num_oov_buckets}")
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"hasher_spec must be of type HasherSpec, got {hasher_spec!r}")
        super().__init__(
            table, num_oov_buckets, functools.partial(_buckets, hasher_spec), key_dtype, name
        )


# ---- words to numbers ----


def _with_buckets(table: Any, buckets: int, hasher_spec: HasherSpec, key_dtype: Any) -> Any:
    if buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {buckets}.")
    if not buckets:
        return table
    return IdTableWithHashBuckets(table, buckets, hasher_spec, key_dtype=key_dtype)


@api_guard.guarded
def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    key_dtype: Any = dtypes.string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:
    """A table from the words of a file to the numbers of their lines.

    Args:
        vocabulary_file: name of the file.
        num_oov_buckets: how many further numbers there are for other words, by their hash; 0:
            they get default_value.
        vocab_size: number of lines; None: all.
        hasher_spec: FastHashSpec or a StrongHashSpec.
        key_dtype: string, or an integer for files of numbers.
        key_column_index, value_column_index, delimiter: of columns, if lines have several.

    Raises:
        ValueError: the file is missing, or a number is out of range.
        TypeError: key_dtype is something else.
    """
    _check_file(vocabulary_file, vocab_size)
    kind = dtypes.as_dtype(key_dtype)
    if not kind.is_integer and kind.base_dtype != dtypes.string:
        raise TypeError("Only integer and string keys are supported.")
    with scopes.name_scope(name, "string_to_index"):
        stored = dtypes.int64 if kind.is_integer else kind
        pairs = TextFileIdTableInitializer(
            vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter,
            "table_init", stored,
        )  # fmt: skip
        return _with_buckets(
            StaticHashTable(pairs, default_value), num_oov_buckets, hasher_spec, kind
        )


def _check_file(vocabulary_file: Any, vocab_size: int | None) -> None:
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"vocab_size must be greater than 0, got {vocab_size}.")


@api_guard.guarded
def index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    dtype: Any = dtypes.string,
    name: str | None = None,
) -> Any:
    """A table from the elements of a vector to their positions.

    Args:
        mapping: strings or integers.
        dtype: of the keys.
        num_oov_buckets, default_value, hasher_spec: as index_table_from_file's.

    Raises:
        ValueError: mapping is None. TypeError: mapping and dtype do not fit.
    """
    if mapping is None:
        raise ValueError("mapping must be specified.")
    kind = dtypes.as_dtype(dtype)
    with scopes.name_scope(name, "string_to_index"):
        keys = convert_to_tensor(mapping)
        if keys.dtype.is_integer != kind.is_integer:
            raise TypeError(f"Expected {kind.name}, got {keys.dtype.name} for mapping")
        if kind.is_integer:
            keys = elementwise.to_int64(keys)
        positions = elementwise.to_int64(array.range(array.size(keys)))
        pairs = KeyValueTensorInitializer(keys, positions, keys.dtype, dtypes.int64)
        return _with_buckets(
            StaticHashTable(pairs, default_value), num_oov_buckets, hasher_spec, kind
        )


@api_guard.guarded
def string_to_index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    name: str | None = None,
) -> Any:
    """index_table_from_file of strings."""
    return index_table_from_file(
        vocabulary_file, num_oov_buckets, vocab_size, default_value, hasher_spec, name=name
    )


@api_guard.guarded
def string_to_index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    name: str | None = None,
) -> Any:
    """index_table_from_tensor of strings."""
    return index_table_from_tensor(mapping, num_oov_buckets, default_value, hasher_spec, name=name)


@api_guard.guarded
def string_to_index(
    tensor: Any, mapping: Any, default_value: int = -1, name: str | None = None
) -> Any:
    """The positions of a tensor's elements in a vector; run tf.tables_initializer() before."""
    return index_table_from_tensor(mapping, default_value=default_value, name=name).lookup(tensor)


# ---- numbers to words ----


@api_guard.guarded
def index_to_string_table_from_file(
    vocabulary_file: Any,
    vocab_size: int | None = None,
    default_value: Any = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> Any:
    """A table from the numbers of a file's lines to their words.

    Raises:
        ValueError: the file is missing, or vocab_size is below 1.
    """
    _check_file(vocabulary_file, vocab_size)
    with scopes.name_scope(name, "index_to_string"):
        pairs = TextFileStringTableInitializer(
            vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter,
            "table_init",
        )  # fmt: skip
        return StaticHashTable(pairs, default_value)


@api_guard.guarded
def index_to_string_table_from_tensor(
    mapping: Any, default_value: Any = "UNK", name: str | None = None
) -> Any:
    """A table from positions in a vector of strings to its elements.

    Raises:
        ValueError: mapping is None.
    """
    if mapping is None:
        raise ValueError("mapping must be specified.")
    with scopes.name_scope(name, "index_to_string"):
        values = convert_to_tensor(mapping, dtypes.string)
        positions = elementwise.to_int64(array.range(array.size(values)))
        pairs = KeyValueTensorInitializer(positions, values, dtypes.int64, dtypes.string)
        return StaticHashTable(pairs, default_value)


@api_guard.guarded
def index_to_string(
    tensor: Any, mapping: Any, default_value: Any = "UNK", name: str | None = None
) -> Any:
    """The elements of a vector at a tensor's positions; run tf.tables_initializer() before."""
    return index_to_string_table_from_tensor(mapping, default_value, name).lookup(tensor)
