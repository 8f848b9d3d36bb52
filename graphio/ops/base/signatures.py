"""How functions that are made from a row of a table are called, for type checkers and editors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from graphio.framework.graph import Operation, Tensor

if TYPE_CHECKING:
    from graphio.framework.sparse_tensor import SparseTensor

__all__ = [
    "Activation",
    "Assertion",
    "AssertionOfTwo",
    "Binary",
    "Counter",
    "CounterAtThresholds",
    "Documented",
    "Loss",
    "Reduction",
    "Segments",
    "SparseReduction",
    "SparseSegments",
    "Unary",
    "UnaryOfSparse",
    "UnsortedSegments",
    "documented",
]

#: a function that gets its name and docstring where it is made
Documented = TypeVar("Documented", bound=Callable[..., Any])


def documented(build: Documented, name: str, text: str | None) -> Documented:
    """A function that was made in another one, with its name and docstring."""
    build.__name__ = build.__qualname__ = name
    build.__doc__ = text
    return build


class Unary(Protocol):
    """A function of one tensor."""

    def __call__(self, x: Any, name: str | None = None) -> Tensor: ...


class UnaryOfSparse(Protocol):
    """A function of one tensor, which keeps a SparseTensor sparse."""

    @overload
    def __call__(self, x: SparseTensor, name: str | None = None) -> SparseTensor: ...
    @overload
    def __call__(self, x: Any, name: str | None = None) -> Tensor: ...


class Binary(Protocol):
    """A function of two tensors."""

    def __call__(self, x: Any, y: Any, name: str | None = None) -> Tensor: ...


class Activation(Protocol):
    """A function of one tensor, under the name that tf.nn has for it."""

    def __call__(self, features: Any, name: str | None = None) -> Tensor: ...


class Assertion(Protocol):
    """An operation that checks a tensor."""

    def __call__(
        self,
        x: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation: ...


class AssertionOfTwo(Protocol):
    """An operation that compares two tensors."""

    def __call__(
        self,
        x: Any,
        y: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation: ...


class Segments(Protocol):
    """A reduction of rows whose segments ascend."""

    def __call__(self, data: Any, segment_ids: Any, name: str | None = None) -> Tensor: ...


class UnsortedSegments(Protocol):
    """A reduction of rows by segments."""

    def __call__(
        self, data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
    ) -> Tensor: ...


class SparseSegments(Protocol):
    """A reduction of chosen rows by segments."""

    def __call__(
        self,
        data: Any,
        indices: Any,
        segment_ids: Any,
        name: str | None = None,
        num_segments: Any = None,
    ) -> Tensor: ...


class Reduction(Protocol):
    """A reduction of a tensor, with both generations of TensorFlow's argument names."""

    def __call__(
        self,
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> Tensor: ...


class SparseReduction(Protocol):
    """A reduction of a SparseTensor, to a Tensor or to a SparseTensor."""

    def __call__(
        self,
        sp_input: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        reduction_axes: Any = None,
        keep_dims: bool | None = None,
    ) -> Any: ...


class Loss(Protocol):
    """A weighted loss of predictions."""

    def __call__(
        self,
        labels: Any,
        predictions: Any,
        weights: Any = 1.0,
        scope: str | None = None,
        loss_collection: str | None = ...,
        reduction: str = ...,
    ) -> Tensor: ...


class Counter(Protocol):
    """A metric of predictions: the value so far, and its update."""

    def __call__(
        self,
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> tuple[Tensor, Tensor]: ...


class CounterAtThresholds(Protocol):
    """A metric: the values so far, one for each threshold, and their update."""

    def __call__(
        self,
        labels: Any,
        predictions: Any,
        thresholds: Sequence[float],
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> tuple[Tensor, Tensor]: ...
