"""Tensor: a value in the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from graphio.engine.pickling import Handle
from graphio.framework import registered, tracebacks
from graphio.framework.dtypes import DType
from graphio.framework.graph_state.attachments import Attachment
from graphio.framework.tensor_shape import TensorShape
from graphio.schema.verify_graph import MAX_RANK
from graphio.support import errors

if TYPE_CHECKING:
    from graphio.framework.graph import Graph, Operation

__all__ = [
    "InaccessibleTensorError",
    "OperatorNotAllowedInGraphError",
    "Tensor",
    "check_shape",
    "refuse_dtype",
]

_MOST = (1 << 63) - 1
#: the function that gives the values of a graph's tensors at once, if they have such; else None
VALUES: Attachment[Any] = Attachment("values", lambda root: None)

#: the advice about a dtype that no tensor has
_INSTEAD = {
    "resource": "variables have no handles, use them themselves",
    "variant": "sequences and optional values have separate dtypes",
}

_operators: dict[str, Callable[..., Any]] = {}
_tensor_likes: list[type] = []


class InaccessibleTensorError(ValueError):
    """A tensor of a branch or of a loop's body was used outside."""


class OperatorNotAllowedInGraphError(TypeError):
    """A tensor was used as a Python bool, or iterated over."""


if TYPE_CHECKING:

    class Operators:
        """The methods that Tensor.overload gives to tensors and to similar classes."""

        def __getitem__(self, item: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __rfloordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __rmod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __rmatmul__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __rand__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __ror__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __rxor__(self, other: Any) -> Tensor: ...
else:
    Operators = object


class Reference:
    """A tensor or variable by its identity, which is hashed and compared.

    Args:
        value: the tensor or variable.
    """

    def __init__(self, value: Any) -> None:
        self._value = value

    def deref(self) -> Any:
        """The tensor or variable."""
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)


class Tensor(Handle, Operators):
    """A value in the graph: output number value_index of an operation, or a body's input.

    dtype and shape are what is known while building; dimensions may be unknown.
    """

    assign: Callable[..., Tensor]  # only the parts of a variable, v[1:3], have it
    __slots__ = (
        "__dict__",  # of what a program sets: net.scope = "fc"
        "_consumers",
        "_shape",
        "assign",
        "dtype",
        "folded",
        "graph",
        "name",
        "op",
        "value_index",
    )
    __array_priority__ = 100  # numpy leaves array + tensor to us

    def __init__(
        self, graph: Graph, op: Any, value_index: int, name: str, dtype: DType, shape: TensorShape
    ) -> None:
        self.graph = graph
        self.op = op
        self.value_index = value_index
        self.name = name
        self.dtype = dtype
        self._shape = shape
        self._consumers: list[Operation] | None = None  # None: no list was needed so far
        #: what folding found out: when (`shapes` of the graph), and the numbers
        self.folded: tuple[int, Any] | None = None

    @classmethod
    def overload(cls, method: str, function: Callable[..., Any]) -> None:
        """Gives all tensors a Python operator; the families of graphio.ops call this."""
        _operators[method] = operator = registered.in_graph_of_inputs(function)
        for tensor_like in (cls, *_tensor_likes):
            setattr(tensor_like, method, operator)

    @classmethod
    def share_operators(cls, tensor_like: type) -> None:
        """Gives the operators, now and later ones, to a class that converts to a tensor."""
        _tensor_likes.append(tensor_like)
        for method, function in _operators.items():
            setattr(tensor_like, method, function)

    @classmethod
    def is_like(cls, value: Any) -> bool:
        """Whether value is a tensor or of a class that has a tensor's operators."""
        return isinstance(value, (cls, *_tensor_likes))

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """The static shape."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Adds what the program knows of the shape. Raises ValueError where that clashes."""
        merged = self._shape.merge_with(shape)
        check_shape(merged, self.name)
        if merged.key != self._shape.key:
            self._shape = merged
            self.graph.changed()
            if self._consumers or self.folded is not None:
                self.graph.root.shapes += 1

    @property
    def device(self) -> str:
        """The device that the operation requests."""
        return str(self.op.device)

    def consumers(self) -> list[Operation]:
        """The operations that have this tensor as an input."""
        return list(self._consumers or ())

    def experimental_ref(self) -> Reference:
        """This tensor as a key of dicts and sets; its deref() gives the tensor."""
        return Reference(self)

    def add_consumer(self, operation: Operation) -> None:
        """Notes an operation that reads the tensor."""
        if self._consumers is None:
            self._consumers = [operation]
        else:
            self._consumers.append(operation)

    def drop_consumer(self, operation: Operation) -> None:
        """Takes out an operation that reads the tensor no more; the last one goes at once."""
        consumers = self._consumers
        if consumers and consumers[-1] is operation:
            consumers.pop()
        elif consumers and operation in consumers:
            consumers.remove(operation)

    @tracebacks.shortening
    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """The value, by the default session or the one given; see Session.run."""
        return registered.session_of(self.graph, session, "eval").run(self, feed_dict)

    def _at_once(self) -> Any:
        """The value, where the graph's tensors have values at once; None: they have none."""
        values = self._values()
        return None if values is None else values([self])[0]

    def _values(self) -> Any:
        graph = self.graph  # a body is computed by its operation alone
        return VALUES.find(graph) if graph.root is graph else None

    @property
    def numpy(self) -> Callable[[], Any]:
        """A function that gives the value, inside of a function given to tf.py_function.

        Raises:
            AttributeError: the tensor has no value while the graph is built.
        """
        if self._values() is None:
            raise AttributeError(
                f"'Tensor' object has no attribute 'numpy': '{self.name}' has no value while the "
                "graph is built; run it in a Session"
            )
        return self._at_once

    def __bool__(self) -> bool:
        value = self._at_once()
        if value is not None:
            return bool(value)
        raise OperatorNotAllowedInGraphError(
            f"'{self.name}' has no value while the graph is built, so as a bool it is neither true "
            "nor false; use tf.cond, or `is None` to ask whether there is a tensor"
        )

    def __iter__(self) -> Iterator[Any]:
        value = self._at_once()
        if value is not None:
            return iter([self[i] for i in range(len(value))])
        raise OperatorNotAllowedInGraphError(
            f"'{self.name}' cannot be iterated over while the graph is built; use tf.unstack or "
            "tf.while_loop"
        )

    def __len__(self) -> int:
        value = self._at_once()
        if value is not None:
            return len(value)
        raise TypeError(f"len of '{self.name}' is not known while the graph is built; use tf.shape")

    def __float__(self) -> float:
        value = self._at_once()
        if value is not None:
            return float(value)
        raise TypeError(f"'{self.name}' has no value while the graph is built; run it in a Session")

    def __int__(self) -> int:
        value = self._at_once()
        if value is not None:
            return int(value)
        raise TypeError(f"'{self.name}' has no value while the graph is built; run it in a Session")

    if not TYPE_CHECKING:  # else array + tensor would be an array to type checkers

        def __array__(self, *arguments: Any, **options: Any) -> Any:
            value = self._at_once()
            if value is not None:
                return np.asarray(value, *arguments, **options)
            raise NotImplementedError(
                f"Cannot convert a symbolic tensor ({self.name}) to a numpy array; run it in a "
                "Session"
            )

    def __str__(self) -> str:
        shape = "" if self._shape.ndims is None else f", shape={self._shape}"
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self._shape} dtype={self.dtype.name}>"


def check_shape(shape: TensorShape, name: str) -> None:
    """Refuses a tensor that no file can hold."""
    sizes = shape.sizes
    if sizes is None:
        return
    if len(sizes) > MAX_RANK:
        raise ValueError(f"'{name}' would have rank {len(sizes)}, at most {MAX_RANK} is possible")
    for size in sizes:
        if size is not None and size > _MOST:
            raise ValueError(
                f"'{name}' would have an axis of size {size}, at most 2^63 - 1 is possible"
            )


class UnsupportedDtypeError(errors.UnimplementedError, TypeError):
    """A tensor would have a dtype that no tensor of graphio has."""


def refuse_dtype(dtype: DType, name: str) -> NoReturn:
    """Of a dtype that no tensor has.

    Raises:
        UnsupportedDtypeError: always.
    """
    instead = _INSTEAD.get(
        dtype.name, f"tf.quantize gives, and its relatives take, {dtype.name.replace('q', '', 1)}"
    )
    raise UnsupportedDtypeError(
        message=f"'{name}' would have dtype {dtype.name}, which no tensor of graphio has: {instead}"
    )
