"""SparseTensor: the elements of a tensor that are stored, and their indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from graphio.framework import api_boundary, dtypes, registered, scopes, tracebacks
from graphio.framework.composite import Composite
from graphio.framework.constants import as_array, constant, convert_to_tensor, placeholder
from graphio.framework.conversions import register_tensor_conversion_function
from graphio.framework.folding import constant_shape
from graphio.framework.graph import Operation, Tensor
from graphio.framework.specs.type_spec import ShapedSpec, type_spec_of
from graphio.framework.tensor_shape import TensorShape, as_shape
from graphio.support import api_guard

if TYPE_CHECKING:
    from graphio.framework.dtypes import DType
    from graphio.framework.graph import Graph

__all__ = [
    "SparseTensor",
    "SparseTensorSpec",
    "SparseTensorValue",
    "convert_to_tensor_or_sparse_tensor",
    "sparse_placeholder",
]


class SparseTensorValue(NamedTuple):
    """The numbers of a SparseTensor, as a session gives them back and takes them as a feed."""

    indices: Any
    values: Any
    dense_shape: Any


class SparseTensor(Composite):
    """A tensor of which some elements are stored; all others are 0.

    Args:
        indices: int64 (n, rank): the coordinates of each element. Most operations want them in
            ascending order, the first coordinate first; see tf.sparse.reorder.
        values: (n), any dtype: the elements.
        dense_shape: int64 (rank): the shape of the dense tensor.

    Raises:
        ValueError: the three do not fit each other, or one is a tensor of another dtype.
        TypeError: indices or dense_shape holds no integers.
    """

    combines_with_tensors = True  # tensor * sparse is ours to compute
    __array_ufunc__ = None  # and so is array * sparse

    @api_boundary.rolling_back
    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        given = [
            ("indices", _numbers(indices, dtypes.int64), dtypes.int64),
            ("values", _numbers(values, None), None),
            ("dense_shape", _numbers(dense_shape, dtypes.int64), dtypes.int64),
        ]
        _check([as_shape(part.shape) for _, part, _ in given])
        with scopes.operation_scope(None, "SparseTensor"):
            self._indices, self._values, self._dense_shape = (
                convert_to_tensor(part, dtype=dtype, name=name) for name, part, dtype in given
            )
        self._static: TensorShape | None = None

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """A SparseTensor of a SparseTensorValue's numbers; one of the former stays as it is.

        Raises:
            TypeError: it is neither.
        """
        if isinstance(sparse_tensor_value, SparseTensor):
            return sparse_tensor_value
        if isinstance(sparse_tensor_value, SparseTensorValue):
            return cls(*sparse_tensor_value)
        raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value!r}.")

    @property
    def indices(self) -> Tensor:
        """The coordinates of each element: int64 (n, rank)."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """The elements: (n)."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """The shape of the dense tensor: int64 (rank)."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The static value of dense_shape."""
        return self.get_shape()

    def get_shape(self) -> TensorShape:
        """The static value of dense_shape."""
        found = constant_shape(self._dense_shape)
        static = TensorShape(None) if found is None else found
        return static if self._static is None else static.merge_with(self._static)

    def set_shape(self, shape: TensorShape) -> None:
        """Adds what the program knows of dense_shape. Raises ValueError where that clashes."""
        self._static = self.get_shape().merge_with(shape)

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._values.dtype

    @property
    def op(self) -> Operation:
        """The operation that makes the values."""
        operation: Operation = self._values.op
        return operation

    @property
    def graph(self) -> Graph:
        """The graph of the parts."""
        return self._values.graph

    @property
    def device(self) -> str:
        """The device of the values."""
        return self._values.device

    def consumers(self) -> list[Operation]:
        """The operations that have a part as an input."""
        found = [op for part in self.parts() for op in part.consumers()]
        return list(dict.fromkeys(found))

    @tracebacks.shortening
    def eval(self, feed_dict: Any = None, session: Any = None) -> SparseTensorValue:
        """The numbers, by the default session or the one given; see Session.run."""
        chosen = registered.session_of(self.graph, session, "eval")
        found: SparseTensorValue = chosen.run(self, feed_dict)
        return found

    def parts(self) -> list[Any]:
        """indices, values and dense_shape."""
        return [self._indices, self._values, self._dense_shape]

    def with_parts(self, parts: Sequence[Any]) -> SparseTensor:
        """A SparseTensor of other tensors."""
        return SparseTensor(*parts)

    def loop_shapes(self, given: Any = None) -> list[Any]:
        """Any number of elements, of the rank that a shape given has as its one size."""
        if given is None:
            rank = self._indices.shape.with_rank(2)[1]
        else:
            rank = as_shape(given).with_rank(1)[0]
        return [TensorShape([None, rank]), TensorShape([None]), TensorShape([rank])]

    def value_of(self, arrays: Sequence[Any]) -> SparseTensorValue:
        """The numbers of the parts."""
        return SparseTensorValue(*arrays)

    def __mul__(self, other: Any) -> SparseTensor:
        """self * a dense tensor that broadcasts to self's shape; there is no + and no -."""
        result: SparseTensor = registered.multiplied(self, other)
        return result

    def __rmul__(self, other: Any) -> Any:
        # TensorFlow knows tensor * sparse, but no number * sparse.
        is_tensor = isinstance(other, Tensor) or hasattr(other, "_as_graph_element")
        return self * other if is_tensor else NotImplemented

    def __truediv__(self, other: Any) -> SparseTensor:
        quotient: SparseTensor = registered.divided(self, other)
        return quotient

    def __str__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices}, values={self._values}, "
            f"dense_shape={self._dense_shape})"
        )

    __repr__ = __str__

    def __bool__(self) -> bool:
        raise TypeError(
            "a SparseTensor has no value while the graph is built, so as a bool it is neither "
            "true nor false"
        )


def _numbers(value: Any, dtype: DType | None) -> Any:
    """Other values than tensors as arrays, so that all is checked before a constant is made."""
    if isinstance(value, Tensor) or hasattr(value, "_as_graph_element"):
        return convert_to_tensor(value, dtype=dtype)
    if isinstance(value, TensorShape):
        value = value.as_list()
    if _has_tensors(value):
        return convert_to_tensor(value, dtype=dtype)
    return as_array(value, dtype)


def _has_tensors(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_has_tensors(v) for v in value)
    return isinstance(value, Tensor)


def _check(shapes: Sequence[TensorShape]) -> None:
    """Refuses indices, values and dense_shape whose shapes do not fit each other."""
    ranks = (2, 1, 1)
    for name, shape, rank in zip(("indices", "values", "dense_shape"), shapes, ranks, strict=True):
        if shape.ndims not in (None, rank):
            raise ValueError(
                f"SparseTensor: {name} has shape {shape}, expected rank {rank}: indices (n, rank), "
                "values (n), dense_shape (rank)"
            )
    rows, columns = [None, None] if shapes[0].ndims is None else shapes[0].as_list()
    for size, other, what in (
        (rows, shapes[1], "rows in indices and {} values"),
        (columns, shapes[2], "columns in indices and {} sizes in dense_shape"),
    ):
        count = None if other.ndims is None else other.as_list()[0]
        if size is not None and count is not None and size != count:
            raise ValueError(
                f"SparseTensor: there are {size} {what.format(count)}; indices is (n, rank), "
                "values (n), dense_shape (rank)"
            )


def _to_tensor(
    value: SparseTensor, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    raise TypeError(
        f"Failed to convert object of type SparseTensor to Tensor: {value}. Use "
        "tf.sparse.to_dense, or a function of tf.sparse"
    )


register_tensor_conversion_function(SparseTensor, _to_tensor)


class SparseTensorSpec(ShapedSpec):
    """The dense shape and the dtype of a SparseTensor.

    Args:
        shape: the dense shape, None where a size is unknown; None: any rank.
        dtype: of the values.
    """

    __slots__ = ()

    @classmethod
    def from_value(cls, value: Any) -> SparseTensorSpec:
        """The spec of a SparseTensor, or of a SparseTensorValue.

        Raises:
            TypeError: it is neither.
        """
        if isinstance(value, SparseTensorValue):
            value = SparseTensor.from_value(value)
        if not isinstance(value, SparseTensor):
            raise TypeError(f"Expected SparseTensor or SparseTensorValue, got {value!r}")
        return cls(value.shape, value.dtype)

    @property
    def value_type(self) -> type[SparseTensor]:
        """tf.SparseTensor."""
        return SparseTensor

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype


type_spec_of.register(SparseTensor, SparseTensorSpec.from_value)
type_spec_of.register(SparseTensorValue, SparseTensorSpec.from_value)


@api_guard.guarded
def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: Any = None, name: str | None = None
) -> Tensor | SparseTensor:
    """value if it is a SparseTensor, a SparseTensor of a SparseTensorValue, else a tensor.

    Raises:
        RuntimeError: a SparseTensor of another dtype.
    """
    if isinstance(value, SparseTensorValue):
        value = SparseTensor(*value)
    if not isinstance(value, SparseTensor):
        return convert_to_tensor(value, dtype, name)
    if dtype is not None and value.dtype != dtypes.as_dtype(dtype):
        raise RuntimeError(
            f"Sparse dtype: requested = {dtypes.as_dtype(dtype).name}, actual = {value.dtype.name}"
        )
    return value


@api_guard.guarded
def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """A SparseTensor that must be fed: with a SparseTensorValue, or a tuple of its three parts.

    Args:
        dtype: of the values.
        shape: None: any; a list whose sizes may be None or -1; or an int64 tensor.
        name: of the parts: name/indices, name/values, name/shape.
    """
    prefix = "" if name is None else f"{name}/"
    labels = [f"{prefix}{part}" if name else None for part in ("shape", "values", "indices")]
    static = None
    if isinstance(shape, Tensor):
        dense_shape, rank = shape, None if shape.shape.ndims is None else shape.shape.as_list()[0]
    else:
        if isinstance(shape, (list, tuple)):
            shape = [None if size == -1 else size for size in shape]
        static = as_shape(shape)
        rank = static.ndims
        if static.is_fully_defined():
            sizes = np.asarray(static.as_list(), np.int64).reshape(-1)
            dense_shape = constant(sizes, name=labels[0] or "Const")
        else:
            dense_shape = placeholder(dtypes.int64, [rank], labels[0])
    values = placeholder(dtype, [None], labels[1])
    indices = placeholder(dtypes.int64, [None, rank], labels[2])
    made = SparseTensor(indices, values, dense_shape)
    made._static = static
    return made
