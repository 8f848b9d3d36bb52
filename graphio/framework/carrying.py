"""Values that stand for several tensors, such as IndexedSlices, taken apart and put together.

Branches and loops carry tensors alone; a class that registers here goes through them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphio.framework.composite import Composite
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape

__all__ = ["Late", "Part", "assemble", "parts", "register"]


class Late:
    """A tensor whose shape is known only when a branch or a body has been built.

    Attributes:
        dtype: of the tensor.
        make: from the shape that was found to the tensor, in the default graph.
        owner: the value that it is a part of.
    """

    shape = TensorShape(None)

    def __init__(
        self, dtype: DType, make: Callable[[TensorShape], Tensor], owner: Any = None
    ) -> None:
        self.dtype = dtype
        self.make = make
        self.owner = owner


Part = Tensor | Late
Parts = Callable[[Any], Sequence[Part]]
Assemble = Callable[[Any, Sequence[Any]], Any]

Invariants = Callable[[Any, Sequence[Part], TensorShape | None], list[TensorShape]]

_kinds: dict[type, tuple[Parts, Assemble, Invariants | None]] = {}


def register(
    kind: type,
    take_apart: Parts,
    put_together: Assemble,
    shapes: Invariants | None = None,
) -> None:
    """Lets values of a class go through branches and loops.

    Args:
        kind: the class; it is a leaf of structures.
        take_apart: from a value to its tensors, as many for all values that may meet.
        put_together: from a value and its new tensors to the new value.
        shapes: from a value, its tensors and what shape_invariants says of it (None: nothing) to
            the shapes that its tensors keep in a loop; None: they keep the shapes they have.
    """
    _kinds[kind] = take_apart, put_together, shapes


def kind_of(value: Any) -> type | None:
    """The registered class of a value; None: it is one tensor."""
    return next((kind for kind in _kinds if isinstance(value, kind)), None)


def kind_name(value: Any) -> str:
    """The name of the value in messages."""
    return "Tensor" if kind_of(value) is None else type(value).__name__


def parts(value: Any, preferred: Any = None) -> list[Part]:
    """The tensors of a value; what is not registered is converted to one.

    preferred: the dtype that a number takes if it can.
    """
    kind = kind_of(value)
    if kind is None:
        return [convert_to_tensor(value, preferred_dtype=preferred)]
    return list(_kinds[kind][0](value))


def invariants(value: Any, tensors: Sequence[Part], given: TensorShape | None) -> list[TensorShape]:
    """The shapes that the tensors of a loop variable keep."""
    kind = kind_of(value)
    if kind is None:
        return [tensors[0].shape if given is None else given]
    shapes = _kinds[kind][2]
    return [t.shape for t in tensors] if shapes is None else shapes(value, tensors, given)


def assemble(like: Any, tensors: Sequence[Part]) -> Any:
    """A value like the one given, of other tensors."""
    kind = kind_of(like)
    if kind is None:
        (tensor,) = tensors
        return tensor
    return _kinds[kind][1](like, tensors)


register(
    Composite,
    lambda value: [convert_to_tensor(part) for part in value.parts()],
    lambda like, tensors: like.with_parts(tensors),
    lambda value, tensors, given: value.loop_shapes(given),
)
