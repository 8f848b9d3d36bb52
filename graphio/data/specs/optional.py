"""tf.data.experimental.Optional: a value that may be there or not when the graph runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.data import registered, structure
from graphio.data.components import Variant
from graphio.data.iterator import Iterator
from graphio.data.specs import type_specs
from graphio.data.specs.variant_tensors import to_variant
from graphio.data.structure import OptionalParts
from graphio.framework import api_boundary, dtypes, scopes
from graphio.framework import registered as framework
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.specs.optional_spec import OptionalSpec
from graphio.framework.specs.type_spec import type_spec_of
from graphio.framework.tensor import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array.surface import identity
from graphio.ops.base.host import host_call
from graphio.support import api_guard, errors

__all__ = ["Optional", "get_next_as_optional"]

Array = np.ndarray[Any, Any]
_FLAG = dtypes.bool, TensorShape([])


class Optional(OptionalParts):
    """A value that may be there or not when the graph runs.

    Made by from_value, none_from_structure and get_next_as_optional; an element of a dataset may
    have one as a component.
    """

    def __init__(self, has: Tensor, value: Any, specs: Any) -> None:
        super().__init__(has, value)
        self._specs = specs

    @staticmethod
    @api_boundary.rolling_back
    def from_value(value: Any) -> Optional:
        """An Optional that has a value.

        Args:
            value: nested tensors, SparseTensors, arrays and numbers, as an element of a dataset.

        Raises:
            TypeError: a component is something else.
        """
        with scopes.operation_scope(None, "optional"):
            specs, leaves = structure.of_values(value, "Optional.from_value")
            tensors = [_tensor(leaf) for leaf in leaves]
            parts = structure.pack(structure.with_composites(value), tensors)
            return Optional(constant(True, name="has_value"), parts, specs)

    @staticmethod
    @api_boundary.rolling_back
    def none_from_structure(value_structure: Any) -> Optional:
        """An Optional without a value.

        Args:
            value_structure: nested TypeSpecs of the value that it might have.

        Raises:
            TypeError: something else than TypeSpecs.
        """
        specs = type_specs.to_specs(value_structure, "Optional.none_from_structure")
        outputs = [(s.dtype, s.shape) for s in structure.flatten(specs)]
        made = host_call(
            functools.partial(_nothing, nothing_of(specs)),
            [],
            [_FLAG, *outputs],
            function="OptionalNone",
            name="OptionalNone",
            tf_type="OptionalNone",
        )
        return _of(specs, made.outputs)

    empty = none_from_structure

    @property
    def value_structure(self) -> Any:
        """Nested TypeSpecs of the value."""
        return type_specs.from_specs(self._specs)

    element_spec = value_structure

    @api_boundary.rolling_back_operator
    def has_value(self, name: str | None = None) -> Tensor:
        """Whether it has a value: a scalar bool tensor."""
        found: Tensor = identity(self.has, name=name or "OptionalHasValue")
        return found

    @api_boundary.rolling_back_operator
    def get_value(self, name: str | None = None) -> Any:
        """The value.

        Raises, when run:
            InvalidArgumentError: it has none.
        """
        tensors = [_tensor(leaf) for leaf in structure.flatten(self.value)]
        made = host_call(
            _unwrapped,
            [self.has, *tensors],
            [(s.dtype, s.shape) for s in structure.flatten(self._specs)],
            function="OptionalGetValue",
            name=name or "OptionalGetValue",
            tf_type="OptionalGetValue",
        )
        return structure.element_of(self._specs, made.outputs)


def _tensor(leaf: Any) -> Tensor:
    """The tensor of a component; of a dataset one of its elements."""
    if isinstance(leaf, Variant):
        return leaf.tensor
    return to_variant(leaf) if structure.is_dataset(leaf) else convert_to_tensor(leaf)


def _of(specs: Any, outputs: Sequence[Tensor]) -> Optional:
    return Optional(outputs[0], structure.element_of(specs, outputs[1:]), specs)


@registered.optional_of.register
def _remade(parts: OptionalParts, has: Tensor, value: Any) -> Optional:
    """The Optional of tensors, in the place of the specs or of the Optional in parts."""
    return Optional(has, value, parts._specs if isinstance(parts, Optional) else parts.value)


@framework.class_of_optionals.register
def _class() -> type[Optional]:
    return Optional


@type_spec_of.register
def _spec_of(value: Optional) -> OptionalSpec:
    return OptionalSpec(value.value_structure)


def nothing_of(specs: Any) -> list[Array]:
    """Values that stand for those of an Optional that has none: as small as the shapes allow."""
    found = []
    for spec in structure.flatten(specs):
        sizes = () if spec.shape.ndims is None else [n or 0 for n in spec.shape.as_list()]
        empty = b"" if spec.dtype == dtypes.string else 0
        found.append(np.full(sizes, empty, spec.dtype.as_numpy_dtype))
    return found


def _nothing(values: list[Array], session: Any) -> Callable[[Any], list[Array]]:
    return lambda inputs: [np.array(False), *values]


def _unwrapped(session: Any) -> Callable[[Any], list[Array]]:
    def call(inputs: Any) -> list[Array]:
        if not inputs[0]:
            raise errors.InvalidArgumentError(message="The given optional does not have a value.")
        return list(inputs[1:])

    return call


@api_guard.guarded
def get_next_as_optional(iterator: Iterator) -> Optional:
    """The next element of an iterator as an Optional, which has no value at the end of the data.

    Raises:
        TypeError: it is not an iterator.
    """
    if not isinstance(iterator, Iterator):
        raise TypeError(f"get_next_as_optional: expected a tf.data.Iterator, got {iterator!r}")
    specs = iterator._specs
    return _of(specs, iterator._stepped("IteratorGetNextAsOptional", nothing_of(specs)))
