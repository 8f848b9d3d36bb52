"""The pairs of a lookup table in a session."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphio.framework.dtypes import DType
from graphio.support import errors

__all__ = ["DensePairs", "MutablePairs", "Pairs", "Signature", "StaticPairs"]

Array = np.ndarray[Any, Any]
#: from arrays to keys and values
Fill = Callable[[list[Array]], tuple[list[Any], list[Any]]]


class Signature(NamedTuple):
    """The types of a table.

    Attributes:
        name: of the table, for errors.
        key_dtype, value_dtype: of keys and values.
        key_shape, value_shape: of one key and one value.
        rows: whether exported keys and values are the rows of matrices, also those of scalars.
    """

    name: str
    key_dtype: DType
    value_dtype: DType
    key_shape: tuple[int, ...] = ()
    value_shape: tuple[int, ...] = ()
    rows: bool = False

    def exported(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shape of a key and of a value as export gives it."""
        if not self.rows:
            return self.key_shape, self.value_shape
        return (math.prod(self.key_shape),), (math.prod(self.value_shape),)


def _text(shape: Sequence[int]) -> str:
    return str(list(shape)).replace(" ", "")


class Pairs:
    """The keys and values of a table; the methods take and give arrays, as its operations do."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self._found: dict[Any, Any] = {}

    def found(self) -> dict[Any, Any]:
        """Values by key: a key that is not a scalar as a tuple, such a value as an array."""
        return self._found

    def find(self, arrays: list[Array]) -> list[Array]:
        """The values of keys; the second array is that of a key that the table lacks."""
        keys, batch = self._keys(arrays[0])
        signature, found = self.signature, self.found()
        values = np.empty((len(keys), *signature.value_shape), signature.value_dtype.as_numpy_dtype)
        self._check_value(arrays[1].shape, signature.value_shape)
        if signature.value_shape:
            for i, key in enumerate(keys):
                values[i] = found.get(key, arrays[1])
        else:
            other = arrays[1].item()
            values[:] = [found.get(key, other) for key in keys]
        return [values.reshape((*batch, *signature.value_shape))]

    def size(self, arrays: list[Array]) -> list[Array]:
        """The number of pairs."""
        return [np.array(len(self.found()), np.int64)]

    def export(self, arrays: list[Array]) -> list[Array]:
        """All keys and all values, in the order in which the keys came in."""
        signature, found = self.signature, self.found()
        keys, values = signature.exported()
        return [
            _stack(list(found), signature.key_dtype, keys),
            _stack(list(found.values()), signature.value_dtype, values),
        ]

    def _keys(self, array: Array) -> tuple[list[Any], tuple[int, ...]]:
        """Keys as found() has them, and their number along each axis."""
        shape = self.signature.key_shape
        if not shape:
            return array.ravel().tolist(), array.shape
        batch = array.shape[: -len(shape)]
        if array.shape[len(batch) :] != shape:
            raise errors.InvalidArgumentError(
                message=f"Expected key shape {_text(shape)} got {_text(array.shape)}: keys of "
                f"the table '{self.signature.name}' end with the axes of its empty_key"
            )
        rows = array.reshape(math.prod(batch), math.prod(shape))
        return [tuple(row) for row in rows.tolist()], batch

    def _check_value(self, found: tuple[int, ...], expected: tuple[int, ...]) -> None:
        if found != expected:
            raise errors.InvalidArgumentError(
                message=f"Expected shape {_text(expected)} for value, got {_text(found)} in the "
                f"table '{self.signature.name}', whose values have the shape "
                f"{_text(self.signature.value_shape)} of its default_value"
            )


def _stack(values: list[Any], dtype: DType, shape: tuple[int, ...]) -> Array:
    made = np.empty((len(values), math.prod(shape)), dtype.as_numpy_dtype)
    for i, value in enumerate(values):
        made[i] = np.ravel(value) if shape else value
    return made.reshape((len(values), *shape))


class StaticPairs(Pairs):
    """Those of a table that an initializer fills."""

    _filled = False

    def found(self) -> dict[Any, Any]:
        """Values by key.

        Raises:
            FailedPreconditionError: the initializer has not run.
        """
        if not self._filled:
            raise errors.FailedPreconditionError(
                message="Table not initialized: run tf.tables_initializer() before "
                f"'{self.signature.name}' is used"
            )
        return self._found

    def fill(self, pairs: Fill, arrays: list[Array]) -> list[Array]:
        """Takes an initializer's pairs.

        Raises:
            FailedPreconditionError: a key has two values.
        """
        keys, values = pairs(arrays)
        found: dict[Any, Any] = {}
        for key, value in zip(keys, values, strict=True):
            if found.setdefault(key, value) != value:
                raise errors.FailedPreconditionError(
                    message=f"HashTable has different value for same key. Key {key!r} has "
                    f"{found[key]!r} and trying to add value {value!r}"
                )
        self._found, self._filled = found, True
        return []


class MutablePairs(Pairs):
    """Those of a table that operations change."""

    def __init__(self, signature: Signature) -> None:
        super().__init__(signature)
        if len(signature.value_shape) > 1:
            raise errors.InvalidArgumentError(
                message=f"Default value must be a vector, got shape {_text(signature.value_shape)} "
                f"for the table '{signature.name}': values are scalars or vectors"
            )

    def insert(self, arrays: list[Array]) -> list[Array]:
        """Gives keys values, new ones or others than before."""
        keys, batch = self._keys(arrays[0])
        shape = self.signature.value_shape
        self._check_value(arrays[1].shape, (*batch, *shape))
        if shape:
            values = [row.copy() for row in arrays[1].reshape(len(keys), *shape)]
        else:
            values = arrays[1].ravel().tolist()
        self._found.update(zip(keys, values, strict=True))
        return []

    def remove(self, arrays: list[Array]) -> list[Array]:
        """Takes keys out, those that are there."""
        for key in self._keys(arrays[0])[0]:
            self._found.pop(key, None)
        return []

    def load(self, arrays: list[Array]) -> list[Array]:
        """As insert, in the place of all pairs."""
        before, self._found = self._found, {}
        try:
            return self.insert(arrays)
        except errors.OpError:
            self._found = before
            raise

    def fill(self, pairs: Fill, arrays: list[Array]) -> list[Array]:
        """Takes an initializer's pairs in the place of all."""
        keys, values = pairs(arrays)
        signature = self.signature
        return self.load(
            [_stack(keys, signature.key_dtype, ()), _stack(values, signature.value_dtype, ())]
        )


class DensePairs(MutablePairs):
    """Those of a DenseHashTable.

    Args:
        signature: of the table.
        empty, deleted: the two keys that no pair has.
        buckets: how many there would be at first.

    Raises:
        InvalidArgumentError: the two keys are equal or differ in shape, or buckets is not a
            power of 2 from 4 on.
    """

    def __init__(self, signature: Signature, empty: Array, deleted: Array, buckets: int) -> None:
        Pairs.__init__(self, signature)
        if empty.shape != deleted.shape:
            raise errors.InvalidArgumentError(
                message="Empty and deleted keys must have same shape, got shapes: "
                f"{_text(empty.shape)} and {_text(deleted.shape)} for '{signature.name}'"
            )
        if np.array_equal(empty, deleted):
            raise errors.InvalidArgumentError(
                message=f"Empty and deleted keys cannot be equal: both are {empty.tolist()} in "
                f"the table '{signature.name}'; give keys that the data never has"
            )
        if buckets < 4 or buckets & (buckets - 1):
            raise errors.InvalidArgumentError(
                message="Number of buckets must be at least 4 and a power of 2, got: "
                f"{buckets} as initial_num_buckets of '{signature.name}'"
            )
        self._reserved = {
            super(DensePairs, self)._keys(key)[0][0]: name
            for key, name in ((empty, "empty_key"), (deleted, "deleted_key"))
        }

    def load(self, arrays: list[Array]) -> list[Array]:
        """As insert of exported arrays, in the place of all pairs; the empty buckets that
        TensorFlow saves are left out."""
        given = arrays[0].reshape(-1, *self.signature.key_shape)
        values = arrays[1].reshape(-1, *self.signature.value_shape)
        keys, _ = super()._keys(given)
        used = np.array([key not in self._reserved for key in keys], bool)
        return super().load([given[used], values[used]])

    def _keys(self, array: Array) -> tuple[list[Any], tuple[int, ...]]:
        keys, batch = super()._keys(array)
        for key, name in self._reserved.items():
            if key in keys:
                raise errors.InvalidArgumentError(
                    message=f"Using the {name} as a table key is not allowed: {key!r} is among "
                    f"the keys of '{self.signature.name}'"
                )
        return keys, batch
