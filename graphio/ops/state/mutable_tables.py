"""Lookup tables that operations change."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.framework import scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Operation, Tensor
from graphio.framework.saved_parts import SavedParts
from graphio.ops.base.emit import scope
from graphio.ops.base.waiting import resources_of
from graphio.ops.state.table_contents import DensePairs, MutablePairs, Pairs
from graphio.ops.state.tables import Table

__all__ = ["DenseHashTable", "MutableHashTable", "SavedTable"]

Array = np.ndarray[Any, Any]
_BUCKETS = 1 << 17  # where initial_num_buckets is None


class SavedTable(Table, SavedParts):
    """A table whose pairs operations change and a Saver saves.

    Each session begins with an empty table. A checkpoint has its keys and values as two tensors,
    called after the table with -keys and -values at the end.

    Args:
        key_dtype, value_dtype, default_value, name, key_shape, rows: as Table's.
        checkpoint: whether a Saver of all variables saves it.
    """

    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Any, name: str,
        key_shape: tuple[int, ...], checkpoint: bool, rows: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(key_dtype, value_dtype, default_value, name, key_shape, rows)
        self.saved_name = name
        if checkpoint:
            scopes.get_default_graph().add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self)

    def lookup(self, keys: Any, name: str | None = None) -> Tensor:
        """The values of keys, default_value of those that the table lacks.

        Args:
            keys: of key_dtype and any shape.
            name: of the operation.

        Raises:
            ValueError: keys are of another dtype.
        """
        with scope(name, f"{self.name}_lookup_table_find") as at:
            return self._find(convert_to_tensor(keys, self.key_dtype, name="keys"), at)

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """The operation that gives keys values, those that are there others.

        Args:
            keys: of key_dtype and any shape.
            values: of value_dtype, one for each key.
            name: of the operation.

        Raises:
            ValueError: keys or values are of another dtype.
        """
        with scope(name, f"{self.name}_lookup_table_insert") as at:
            given = [
                convert_to_tensor(keys, self.key_dtype, name="keys"),
                convert_to_tensor(values, self.value_dtype, name="values"),
            ]
            return self._call("LookupTableInsertV2", "insert", given, [], at)

    def remove(self, keys: Any, name: str | None = None) -> Operation:
        """The operation that takes keys out; those that are not there change nothing.

        Raises:
            TypeError: keys are of another dtype.
        """
        given = convert_to_tensor(keys)
        if given.dtype != self.key_dtype:
            raise TypeError(
                f"Signature mismatch. Keys must be dtype {self.key_dtype.name}, got "
                f"{given.dtype.name}."
            )
        with scope(name, f"{self.name}_lookup_table_remove") as at:
            return self._call("LookupTableRemoveV2", "remove", [given], [], at)

    # ---- for a Saver ----

    def _pairs(self, session: Any) -> Any:
        return resources_of(session).get(("table", self._key), self.make)

    def declared(self) -> Mapping[str, tuple[int, Sequence[int | None]]]:
        """The two tensors of a checkpoint: names' ends to dtype and shape."""
        keys, values = self._signature.exported()
        return {
            "-keys": (self._key_dtype.number, [None, *keys]),
            "-values": (self._value_dtype.number, [None, *values]),
        }

    def arrays(self, session: Any) -> list[Array]:
        """All keys and all values of a session."""
        found: list[Array] = self._pairs(session).export([])
        return found

    def load(self, session: Any, arrays: Sequence[Array]) -> None:
        """Gives a session keys and values in the place of those that it has."""
        self._pairs(session).load(list(arrays))

    def snapshot(self, session: Any) -> Callable[[], None]:
        """A function that gives the session the pairs of now again."""
        return functools.partial(self.load, session, self.arrays(session))


class MutableHashTable(SavedTable):
    """A table whose pairs are inserted and removed by operations; see SavedTable.

    Args:
        key_dtype, value_dtype: of keys and values.
        default_value: of a key that the table lacks: a scalar, or a vector for values that are
            vectors.
        name: of the table.
        checkpoint: whether a Saver of all variables saves it.

    Raises, when run:
        InvalidArgumentError: values are neither scalars nor vectors, or of another shape.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, name, (), checkpoint)

    def make(self) -> Pairs:
        """The pairs of a session that has not used the table before."""
        return MutablePairs(self._signature)


class DenseHashTable(SavedTable):
    """A table whose pairs are inserted and removed by operations; keys may be tensors, too.

    export gives two matrices with a row for each pair, without the empty buckets that TensorFlow
    gives between them.

    Args:
        key_dtype, value_dtype: of keys and values.
        default_value: of a key that the table lacks, of the shape of all values.
        empty_key, deleted_key: two different keys of one shape, that of all keys, which the data
            must not have.
        initial_num_buckets: a power of 2 from 4 on; memory grows with the pairs here.
        name: of the table.
        checkpoint: whether a Saver of all variables saves it.

    Raises:
        ValueError: empty_key or deleted_key is not known when the table is made.

    Raises, when run:
        InvalidArgumentError: the two keys are equal or used, keys or values have another shape,
            or initial_num_buckets is not such a number.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ) -> None:
        self._empty = _known(empty_key, key_dtype, "empty_key")
        self._deleted = _known(deleted_key, key_dtype, "deleted_key")
        self._buckets = _BUCKETS if initial_num_buckets is None else initial_num_buckets
        shape = self._empty.shape
        super().__init__(key_dtype, value_dtype, default_value, name, shape, checkpoint, True)

    def make(self) -> Pairs:
        """The pairs of a session that has not used the table before."""
        return DensePairs(self._signature, self._empty, self._deleted, self._buckets)

    def insert_or_assign(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """As insert."""
        return self.insert(keys, values, name)

    def erase(self, keys: Any, name: str | None = None) -> Operation:
        """As remove."""
        return self.remove(keys, name)


def _known(key: Any, dtype: Any, name: str) -> Array:
    found = constant_value(convert_to_tensor(key, dtype, name=name))
    if found is None:
        raise ValueError(f"{name} is not known when the table is made: {key}; give a constant")
    return np.asarray(found)
