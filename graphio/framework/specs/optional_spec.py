"""OptionalSpec: what a program says of an Optional without having one."""

from __future__ import annotations

from typing import Any

from graphio.framework import registered
from graphio.framework.specs.type_spec import TypeSpec

__all__ = ["OptionalSpec"]


class OptionalSpec(TypeSpec):
    """The specs of an Optional's value.

    Args:
        value_structure: nested TypeSpecs.
    """

    __slots__ = ("_value_structure",)

    def __init__(self, value_structure: Any) -> None:
        self._value_structure = value_structure

    @staticmethod
    def from_value(value: Any) -> OptionalSpec:
        """The spec of an Optional."""
        return OptionalSpec(value.value_structure)

    @property
    def value_type(self) -> type[Any]:
        """tf.data.experimental.Optional."""
        return registered.class_of_optionals()

    @property
    def value_structure(self) -> Any:
        """Nested TypeSpecs of the value."""
        return self._value_structure

    def _serialize(self) -> tuple[Any, ...]:
        return (self._value_structure,)
