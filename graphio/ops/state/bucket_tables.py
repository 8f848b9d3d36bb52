"""Tables in which keys that another table lacks fall into buckets after its entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.ops.array import surface as array
from graphio.ops.base.emit import scope
from graphio.ops.control_flow.branches import no_op
from graphio.ops.math import comparison, elementwise
from graphio.ops.state.tables import LookupInterface
from graphio.ops.strings.numbers import as_string

__all__ = ["BucketTable"]


class BucketTable(LookupInterface):
    """The base of StaticVocabularyTable and contrib's IdTableWithHashBuckets.

    Args:
        table: from keys to int64 numbers; None: there are only buckets.
        buckets: how many.
        bucket_of: from strings and the number of buckets to the bucket of each.
        key_dtype: of lookup's keys, a string or an integer; None: that of the table, string
            without one.
        name: of the table; None: that of the other table.

    Attributes:
        initializer: the operation that fills the table.

    Raises:
        TypeError: keys or values have another dtype.
    """

    def __init__(
        self, table: Any, buckets: int, bucket_of: Callable[[Tensor, int], Tensor],
        key_dtype: Any, name: str | None,
    ) -> None:  # fmt: skip
        kind = dtypes.string if table is None else table.key_dtype
        super().__init__(key_dtype or kind, dtypes.int64)
        _check_keys(self.key_dtype, table)
        self._table, self._buckets, self._bucket_of = table, buckets, bucket_of
        given = (name or "").rstrip("/") or ("hash_bucket" if table is None else table.name)
        self._name = given.rsplit("/", 1)[-1]
        with scope(None, "init"):
            self.initializer = no_op() if table is None else table.initializer
        self.init = self.initializer

    @property
    def name(self) -> str:
        """The name of the table."""
        return self._name

    @property
    def resource_handle(self) -> Tensor | None:
        """The handle of the table behind; None: there are only buckets."""
        found: Tensor | None = None if self._table is None else self._table.resource_handle
        return found

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The numbers of keys: a tensor of their shape, or a SparseTensor of one.

        Raises:
            TypeError: keys are not of key_dtype.
        """
        if isinstance(keys, SparseTensor):
            return keys.with_values(self.lookup(keys.values, name))
        given = convert_to_tensor(keys)
        if given.dtype.base_dtype != self.key_dtype:
            raise TypeError(
                f"Signature mismatch. Keys must be dtype {self.key_dtype.name}, got "
                f"{given.dtype.name}."
            )
        with scope(name, f"{self.name}_Lookup") as at:
            if self._buckets == 0:
                return self._known(given)
            words = given if given.dtype == dtypes.string else as_string(given)
            bucket = self._bucket_of(words, self._buckets)
            if self._table is None:
                return array.identity(bucket, name=at)
            known = self._known(given)
            missing = elementwise.add(bucket, self._table.size())
            found = comparison.not_equal(known, self._table.default_value)
            return array.where(found, known, missing, name=at)

    def _known(self, keys: Tensor) -> Any:
        kind = self._table.key_dtype
        return self._table.lookup(keys if keys.dtype == kind else elementwise.cast(keys, kind))

    def size(self, name: str | None = None) -> Tensor:
        """The number of values: an int64 scalar."""
        with scope(name, f"{self.name}_Size") as at:
            many = constant(self._buckets, dtypes.int64)
            if self._table is None:
                return array.identity(many, name=at)
            return elementwise.add(self._table.size(), many, name=at)


def _check_keys(key_dtype: dtypes.DType, table: Any) -> None:
    """Raises TypeError: keys are neither integers nor strings, or not what the table takes."""
    if not (key_dtype.is_integer or key_dtype == dtypes.string):
        raise TypeError(f"Invalid key_dtype, expected integer or string, got {key_dtype.name}.")
    if table is None:
        return
    if table.key_dtype not in (dtypes.int64, dtypes.string):
        raise TypeError(
            f"Invalid key dtype, expected one of int64, string, but got {table.key_dtype.name}."
        )
    if table.key_dtype.is_integer != key_dtype.is_integer:
        expected = "integer" if key_dtype.is_integer else "non-integer"
        raise TypeError(f"Invalid key dtype, expected {expected} but got {table.key_dtype.name}.")
    if table.value_dtype != dtypes.int64:
        raise TypeError(
            f"Invalid value dtype, expected int64 but got {table.value_dtype.name}: buckets are "
            "numbered after the table's values"
        )
