"""One node of TensorFlow's with the values of its inputs, as rows of the table read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.framework.dtypes import DType
from graphio.framework.folding import constant_shape, constant_value
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.control_flow.tensor_array import TensorArray
from graphio.schema import tensorflow_pb2 as pb
from graphio.tensorflow_files.bodies import Node
from graphio.tensorflow_files.values import dtype_of, shape_of

__all__ = ["Call", "Handle", "Row"]

Array = np.ndarray[Any, Any]
#: The builder of a node, which returns a tensor, an operation, a list of tensors, or None.
Row = Callable[["Call"], Any]


class Handle:
    """A variable as TensorFlow's nodes pass it on.

    Args:
        shown: the tensor of the node; None: the variable's value.

    Attributes:
        name: of the variable's node.
        variable: ours.
        is_read: whether nodes may use it as its value, as TensorFlow 1 does. Each of them is a use
            of the variable at its own position in the order.
    """

    def __init__(
        self, name: str, variable: Any, is_read: bool, shown: Tensor | None = None
    ) -> None:
        self.name, self.variable, self.is_read = name, variable, is_read
        self._shown = shown

    def shown(self) -> Tensor:
        """The tensor of the node."""
        return self.variable.value() if self._shown is None else self._shown


class Call:
    """A node and its inputs.

    Args:
        node: the node.
        values: of its inputs: tensors, lists of tensors (TensorArrays) or handles of variables.
        name: of what is built.
    """

    def __init__(self, node: Node, values: Sequence[Any], name: str) -> None:
        self.node, self.values, self.name = node, values, name
        self._reads: dict[Handle, Tensor] = {}

    # ---- inputs ----

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, i: int) -> Tensor:
        return self._tensor(self._value(i), i)

    @property
    def tensors(self) -> list[Tensor]:
        """All inputs."""
        return [self[i] for i in range(len(self.values))]

    def _value(self, i: int) -> Any:
        if not -len(self.values) <= i < len(self.values):
            raise ValueError(f"has {len(self.values)} inputs, of which number {i} is missing")
        return self.values[i]

    def _tensor(self, value: Any, i: int) -> Tensor:
        if isinstance(value, Handle) and value.is_read:
            if value not in self._reads:
                self._reads[value] = value.variable.value()
            value = self._reads[value]
        if not isinstance(value, Tensor):
            raise ValueError(f"its input {i} is not a tensor")
        return value

    def tensor_list(self, i: int) -> TensorArray:
        """An input that is a list of tensors."""
        value = self._value(i)
        if not isinstance(value, TensorArray):
            raise ValueError(f"its input {i} is not a list of tensors")
        return value

    def handle(self, i: int) -> Handle:
        """An input that is a variable."""
        value = self._value(i)
        if not isinstance(value, Handle):
            raise ValueError(f"its input {i} is not a variable")
        return value

    def known(self, i: int) -> Any:
        """The numbers of an input where they follow from the graph, else the tensor."""
        value = constant_value(self[i])
        return self[i] if value is None else value

    def constant(self, i: int) -> Any:
        """The numbers of an input. Raises ValueError where they are not known."""
        value = constant_value(self[i])
        if value is None:
            raise ValueError(f"its input {i} ('{self[i].name}') must be a constant")
        return value

    def element_shape(self, i: int) -> TensorShape:
        """The shape that an input gives, with -1 for what is not known."""
        value = constant_value(self[i])
        if value is not None and value.ndim == 0:
            return TensorShape(None)
        found = constant_shape(self[i])
        return TensorShape(None) if found is None else found

    # ---- attributes ----

    def attr(self, key: str) -> pb.AttrValue:
        """An attribute. Raises ValueError where it is missing."""
        if key not in self.node.attr:
            raise ValueError(f"has no attribute '{key}'")
        return self.node.attr[key]

    def _is(self, key: str, kind: str) -> bool:
        """Whether an attribute is there; raises ValueError where it is of another kind."""
        if key not in self.node.attr:
            return False
        found = self.node.attr[key].WhichOneof("value")
        if found != kind:
            raise ValueError(f"its attribute '{key}' is {found}, expected {kind}")
        return True

    def flag(self, key: str, default: bool = False) -> bool:
        """A truth value."""
        return self.node.attr[key].b if self._is(key, "b") else default

    def integer(self, key: str, default: int | None = None) -> int:
        """A whole number. Raises ValueError where it is missing and has no default."""
        if self._is(key, "i"):
            return self.node.attr[key].i
        if default is None:
            raise ValueError(f"has no attribute '{key}'")
        return default

    def number(self, key: str, default: float) -> float:
        """A number."""
        return self.node.attr[key].f if self._is(key, "f") else default

    def integers(self, key: str) -> list[int]:
        """Whole numbers; none where the attribute is missing."""
        return list(self.node.attr[key].list.i) if self._is(key, "list") else []

    def strings(self, key: str) -> list[bytes]:
        """Strings; none where the attribute is missing."""
        return list(self.node.attr[key].list.s) if self._is(key, "list") else []

    def text(self, key: str, default: str | None = None) -> str:
        """A string. Raises ValueError where it is missing and has no default."""
        if self._is(key, "s"):
            return self.node.attr[key].s.decode(errors="replace")
        if default is None:
            raise ValueError(f"has no attribute '{key}'")
        return default

    def dtype(self, key: str, default: DType | None = None) -> DType:
        """An element type. Raises ValueError where it is missing and has no default."""
        if self._is(key, "type"):
            return dtype_of(self.node.attr[key].type)
        if default is None:
            raise ValueError(f"has no attribute '{key}'")
        return default

    def shape(self, key: str) -> TensorShape:
        """A shape; unknown where the attribute is missing."""
        return shape_of(self.node.attr[key].shape) if self._is(key, "shape") else TensorShape(None)
