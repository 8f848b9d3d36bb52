"""The registry of operators' gradients.

A gradient function takes the operation and one gradient per output (None where none
arrives) and returns one gradient per input (None where none leaves). Operators without a
gradient are listed, so that silence means forgotten. A program may set the gradient of a part of
its graph: a Region, or by name for TensorFlow's operation types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from graphio.framework import registered
from graphio.framework.graph_state import attachments
from graphio.framework.graph_state.attachments import Attachment
from graphio.framework.graph_state.gradient_overrides import GRADIENT_NAMES
from graphio.framework.undo import Table

if TYPE_CHECKING:
    from graphio.framework.graph import Operation, Tensor

GradientFunction = Callable[..., "Sequence[Tensor | None]"]

_functions: dict[tuple[str, str], GradientFunction] = {}
_of_slices: set[GradientFunction] = set()
_none: set[tuple[str, str]] = set()
_lacking: dict[str, str] = {}


def gradient(
    op: str, domain: str = "", *, takes_slices: bool = False
) -> Callable[[GradientFunction], GradientFunction]:
    """Registers the decorated function as the gradient of an operator.

    takes_slices: whether it also takes IndexedSlices; else they are made dense before.
    """

    def register(function: GradientFunction) -> GradientFunction:
        _functions[domain, op] = function
        if takes_slices:
            _of_slices.add(function)
        return function

    return register


def takes_slices(function: GradientFunction) -> bool:
    """Whether a gradient function takes IndexedSlices."""
    return function in _of_slices


def not_differentiable(*ops: str, domain: str = "") -> None:
    """Says out loud that no gradient passes through these operators."""
    _none.update((domain, op) for op in ops)


def lacks_gradient(tf_type: str, instead: str) -> None:
    """Says that a gradient through the type is an error, and what to do instead."""
    _lacking[tf_type] = instead


def functions() -> frozenset[tuple[str, str]]:
    """(domain, operator) of all that have a gradient function."""
    return frozenset(_functions)


def without() -> frozenset[tuple[str, str]]:
    """(domain, operator) of all that are registered as having none."""
    return frozenset(_none)


class Region:
    """A part of a graph whose gradient the program gives.

    Attributes:
        operations: those that give its outputs, made one after another.
        inputs: what its gradient goes to.
        outputs: what its gradient comes from.
        function: from one gradient an output, None where none arrives, to one an input.
    """

    __slots__ = ("function", "inputs", "operations", "outputs")

    def __init__(
        self,
        operations: Sequence[Operation],
        inputs: Sequence[Tensor | None],
        outputs: Sequence[Tensor],
        function: Callable[[Sequence[Any]], Sequence[Any]],
    ) -> None:
        self.operations = list(operations)
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.function = function


#: by an operation of a region, that region
REGIONS: Attachment[Table[Operation, Region]] = attachments.table("gradient_regions")
#: TensorFlow's type, or a name for gradient_override_map, to a function or None: no gradient
named: dict[str, GradientFunction | None] = {}


def region_of(operation: Operation) -> Region | None:
    """The region that the operation ends, None if its gradient is the operator's own."""
    graph = operation.graph
    regions = REGIONS.of(graph)
    if operation in regions:
        return regions[operation]
    name = GRADIENT_NAMES.of(graph).get(operation)
    if name is None:
        name = operation.type if operation.type in named else None
    if name is None:
        return None
    made = registered.region_by_name(operation, name)
    REGIONS.of(graph)[operation] = made
    return made


def lookup(operation: Operation) -> GradientFunction | None:
    """The gradient of an operation; None if it has none by nature.

    Raises LookupError if no module has registered the operator.
    """
    key = (operation.domain, operation.op)
    if key in _functions:
        return _functions[key]
    if operation.tf_type in _lacking:
        raise LookupError(
            f"No gradient defined for operation '{operation.name}' (op type: {operation.type})"
            f"{operation.where}: {_lacking[operation.tf_type]}"
        )
    if key in _none:
        return None
    raise LookupError(
        f"No gradient defined for operation '{operation.name}' (op type: {operation.type})"
        f"{operation.where}: register one with tf.RegisterGradient or cut the path with "
        "stop_gradient"
    )
