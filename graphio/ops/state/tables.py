"""The operations of lookup tables. What they look up is in the session: see table_contents."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Operation, Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.base.emit import scope
from graphio.ops.base.host import host_call
from graphio.ops.base.waiting import resources_of
from graphio.ops.state.table_contents import Fill, Pairs, Signature, StaticPairs

__all__ = [
    "InitializableLookupTableBase",
    "LookupInterface",
    "PairsInitializer",
    "Table",
    "TableInitializerBase",
]

Array = np.ndarray[Any, Any]
Outputs = Sequence[tuple[DType, TensorShape]]


def _bound(
    key: str, make: Callable[[], Pairs], method: str, given: Sequence[Any], session: Any
) -> Callable[[list[Array]], list[Array]]:
    """The function of an operation of a table, for a session."""
    resources = resources_of(session)

    def call(arrays: list[Array]) -> list[Array]:
        pairs = resources.get(("table", key), make)
        found: list[Array] = getattr(pairs, method)(*given, arrays)
        return found

    return call


class _OfPairs:
    """The dtypes of keys and values."""

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The dtype of keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of values."""
        return self._value_dtype


class LookupInterface(_OfPairs):
    """The base of tables, which subclasses give a name, lookup and size.

    Args:
        key_dtype, value_dtype: of keys and values.
    """

    @property
    def name(self) -> str:
        """The name of the table."""
        raise NotImplementedError

    def size(self, name: str | None = None) -> Tensor:
        """The number of pairs: an int64 scalar."""
        raise NotImplementedError

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys."""
        raise NotImplementedError


class Table(LookupInterface):
    """A table with a handle, whose pairs each session has for itself.

    Args:
        key_dtype, value_dtype: of keys and values.
        default_value: of a key that the table lacks, of value_dtype.
        name: of the table.
        key_shape: of one key.
        rows: whether export gives matrices, also of scalars.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str,
        key_shape: tuple[int, ...] = (),
        rows: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype)
        with scope(name, name) as at:
            self._key = at.rstrip("/")
            self._default = convert_to_tensor(
                default_value, self._value_dtype.base_dtype, name="default"
            )
            self._handle = constant(self._key, dtypes.string, name=at)
        if not self._default.shape.is_fully_defined():
            raise ValueError(
                f"default_value of the table '{self._key}' has shape {self._default.shape}, "
                "expected a known one, that of a value"
            )
        sizes = tuple(int(d) for d in self._default.shape)
        self._signature = Signature(
            self._key, self._key_dtype, self._value_dtype, key_shape, sizes, rows
        )

    def make(self) -> Pairs:
        """The pairs of a session that has not used the table before."""
        raise NotImplementedError

    def _call(
        self, tf_type: str, method: str, inputs: Sequence[Tensor], outputs: Outputs, name: str,
        *given: Any,
    ) -> Operation:  # fmt: skip
        """An operation that calls a method of the pairs; given: its arguments before the arrays."""
        return host_call(
            functools.partial(_bound, self._key, self.make, method, given),
            inputs, outputs, function=f"table/{tf_type}", name=name, tf_type=tf_type,
        )  # fmt: skip

    @property
    def resource_handle(self) -> Tensor:
        """The table as a tensor: its name in the graph, a scalar string."""
        return self._handle

    @property
    def name(self) -> str:
        """The name of the table, without its scope."""
        return self._key.rsplit("/", 1)[-1]

    def _find(self, keys: Tensor, at: str) -> Tensor:
        rank, sizes = len(self._signature.key_shape), self._signature.value_shape
        shape = TensorShape(None)
        if keys.shape.ndims is not None:
            shape = keys.shape[: keys.shape.ndims - rank].concatenate(sizes)
        given = [keys, self._default]
        outputs = [(self._value_dtype, shape)]
        return self._call("LookupTableFindV2", "find", given, outputs, at).outputs[0]

    def size(self, name: str | None = None) -> Tensor:
        """The number of pairs: an int64 scalar."""
        with scope(name, f"{self.name}_Size") as at:
            outputs = [(dtypes.int64, TensorShape([]))]
            return self._call("LookupTableSizeV2", "size", [], outputs, at).outputs[0]

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and all values, in the order in which the keys came in."""
        keys, values = self._signature.exported()
        with scope(name, f"{self.name}_Export") as at:
            outputs = [
                (self._key_dtype, TensorShape([None, *keys])),
                (self._value_dtype, TensorShape([None, *values])),
            ]
            found = self._call("LookupTableExportV2", "export", [], outputs, at).outputs
        return found[0], found[1]

    def filled_by(self, pairs: Fill, inputs: Sequence[Tensor], tf_type: str, at: str) -> Operation:
        """The operation that takes an initializer's pairs."""
        return self._call(tf_type, "fill", inputs, [], at, pairs)


# ---- initializers ----


class TableInitializerBase(_OfPairs):
    """The base of what fills a table, which subclasses give initialize.

    Args:
        key_dtype, value_dtype: of the keys and values that it gives.
    """

    def initialize(self, table: Any) -> Operation:
        """The operation that fills a table."""
        raise NotImplementedError


class PairsInitializer(TableInitializerBase):
    """An initializer that makes pairs from arrays.

    Attributes:
        inputs: tensors of the arrays.
    """

    inputs: list[Tensor]
    _TYPE = "InitializeTableV2"

    def pairs(self, arrays: list[Array]) -> tuple[list[Any], list[Any]]:
        """Keys and values, from the inputs' arrays."""
        raise NotImplementedError

    def initialize(self, table: Any) -> Operation:
        """The operation that fills a table, in the collection TABLE_INITIALIZERS.

        Raises:
            TypeError: the table's dtypes are others.
        """
        for what, found, expected in (
            ("key", self.key_dtype, table.key_dtype),
            ("value", self.value_dtype, table.value_dtype),
        ):
            if found.base_dtype != expected:
                raise TypeError(
                    f"Invalid {what} dtype, expected {expected.name} but got {found.name}."
                )
        with scope(None, f"{table.name}/table_init") as at:
            filled: Operation = table.filled_by(self.pairs, self.inputs, self._TYPE, at)
        scopes.get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, filled)
        return filled


class InitializableLookupTableBase(Table):
    """The base of tables that an initializer fills.

    Args:
        default_value: of a key that the table lacks, a scalar.
        initializer: its method initialize gives the operation that fills the table.
        name: of the table; None: "hash_table".

    Attributes:
        initializer: that operation.
    """

    def __init__(self, default_value: Any, initializer: Any, name: str | None = None) -> None:
        super().__init__(
            initializer.key_dtype, initializer.value_dtype, default_value, name or "hash_table"
        )
        self._default.shape.assert_is_compatible_with([])
        self.initializer: Operation = initializer.initialize(self)

    def make(self) -> Pairs:
        """The pairs of a session that has not used the table before."""
        return StaticPairs(self._signature)

    @property
    def default_value(self) -> Tensor:
        """The value of a key that the table lacks."""
        return self._default

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys: a tensor of their shape, or a SparseTensor of one.

        Raises:
            TypeError: keys are not of key_dtype.
            FailedPreconditionError: of the run: the initializer has not run.
        """
        if isinstance(keys, SparseTensor):
            return keys.with_values(self.lookup(keys.values, name))
        with scope(name, f"{self.name}_Lookup") as at:
            given = convert_to_tensor(keys, name="keys")
            if given.dtype != self.key_dtype:
                raise TypeError(
                    f"Signature mismatch. Keys must be dtype {self.key_dtype.name}, got "
                    f"{given.dtype.name}."
                )
            return self._find(given, at)
