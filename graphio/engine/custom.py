"""Custom operators, by domain, name and version, for both engines.

A file names them; what they do is in the program that runs it: a function on numpy arrays, or a
kernel in a shared library of C (cinfer.h: ci_operator).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from graphio.engine import host
from graphio.schema import dtypes, small_types
from graphio.support import errors

if TYPE_CHECKING:
    from graphio.schema import operators  # needs protobuf, which graphio.cinfer does without

Array = np.ndarray[Any, Any]
#: Sizes of a tensor, None where unknown; None: an input that is absent.
Dims = tuple[int | None, ...] | None
#: From the shapes of the inputs, and the attributes by name, to those of the outputs.
ShapeRule = Callable[..., Sequence[Any]]

#: Kinds of attributes that an operator may have, and what Python gives for them.
KINDS: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "string": (str,),
    "ints": (int,),
    "floats": (float, int),
}


@dataclass(frozen=True)
class CustomOperator:
    """The facts of one version of an operator that both engines need.

    Attributes:
        row: its entry in the operator table.
        shape: the rule for the outputs' shapes.
        kernel: arrays (None: absent) and the attributes by name to an array, or a tuple of them;
            None: only C has one.
        library: path of a shared library that exports `ci_operators`; None: only Python has one.
    """

    row: operators.Operator
    shape: ShapeRule
    kernel: Callable[..., Any] | None
    library: str | None

    @property
    def title(self) -> str:
        """Domain and name: "com.example.ScaledTanh"."""
        return f"{self.row.domain}.{self.row.op}"

    def attributes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Values of the attributes by name, defaults for those that a node leaves out."""
        found = {}
        for name, spec in self.row.attributes.items():
            value = given.get(name, spec.default)
            found[name] = value.decode() if isinstance(value, bytes) else value
        return found

    def output_types(self, inputs: Sequence[int]) -> list[int]:
        """Element types of the outputs from those of the inputs (0: absent)."""
        bound: dict[str, int] = {}
        for i, number in enumerate(inputs):
            parameter = self.row.inputs[min(i, len(self.row.inputs) - 1)]
            if number:
                bound.setdefault(parameter.type, number)
        named = dtypes.BY_NAME
        return [bound.get(p.type) or named[p.type].number for p in self.row.outputs]

    def shapes(self, inputs: Sequence[Dims], attributes: Mapping[str, Any]) -> list[Dims]:
        """Shapes of the outputs by the operator's rule.

        Raises:
            OpError: the rule raised, or returned something other than a list of shapes.
        """
        count = len(self.row.outputs)
        try:
            found = self.shape(list(inputs), **attributes)
            if count == 1 and all(d is None or isinstance(d, (int, np.integer)) for d in found):
                found = [found]
            made = [tuple(None if d is None else int(d) for d in dims) for dims in found]
        except Exception as error:
            known = host.failure(error)
            raise type(known)(
                message=f"the shape rule of {self.title} failed, or gave no shapes: {known.message}"
            ) from error
        if len(made) != count:
            raise errors.InvalidArgumentError(
                message=f"the shape rule of {self.title} gave {len(made)} shapes for {count} "
                "outputs"
            )
        return [*made]

    def compute(
        self, inputs: Sequence[Array | None], attributes: Mapping[str, Any]
    ) -> tuple[Array, ...]:
        """The outputs, checked against types and shape rule; kernels see inputs they cannot change.

        Raises:
            OpError: the kernel raised, or gave something else than its rules say.
        """
        assert self.kernel is not None
        numbers = [0 if x is None else dtypes.of_numpy(x.dtype).number for x in inputs]
        shapes = self.shapes([None if x is None else x.shape for x in inputs], attributes)
        try:
            found = self.kernel(*map(_read_only, inputs), **attributes)
        except Exception as error:
            raise host.failure(error) from error
        results = found if isinstance(found, (tuple, list)) else (found,)
        if len(results) != len(shapes):
            raise errors.InvalidArgumentError(
                message=f"{self.title} returned {len(results)} values, expected {len(shapes)}"
            )
        types = self.output_types(numbers)
        return tuple(
            self._checked(i, np.asarray(value), types[i], shapes[i])
            for i, value in enumerate(results)
        )

    def _checked(self, index: int, value: Array, number: int, shape: Dims) -> Array:
        expected = small_types.numpy_dtype(dtypes.of_number(number))
        if value.dtype == expected and value.shape == shape:
            return value
        raise errors.InvalidArgumentError(
            message=f"output {index} of {self.title} is {value.dtype.name}{list(value.shape)}; its "
            f"types and shape rule say {expected.name}{list(shape or ())}"
        )


def _read_only(value: Array | None) -> Array | None:
    if value is None:
        return None
    view: Array = value.view()
    view.flags.writeable = False
    return view


_registered: dict[tuple[str, str], list[CustomOperator]] = {}


def register(made: CustomOperator) -> None:
    """Makes an operator known; one of the same domain, name and version is replaced."""
    row = made.row
    others = [c for c in _registered.get((row.domain, row.op), ()) if c.row.version != row.version]
    _registered[row.domain, row.op] = sorted([*others, made], key=lambda c: -c.row.version)


def registered() -> list[CustomOperator]:
    """All of them, in the order of domain and name, the newest version first."""
    return [made for key in sorted(_registered) for made in _registered[key]]


def find(domain: str, op: str, version: int) -> CustomOperator | None:
    """The one that serves a version: the newest that is not newer."""
    for made in _registered.get((domain, op), ()):
        if made.row.version <= version:
            return made
    return None


def library_path(path: str | os.PathLike[str]) -> str:
    """An absolute path, so that a change of the working directory does not matter.

    Raises:
        NotFoundError: there is no such file.
    """
    found = os.path.abspath(os.fspath(path))
    if not os.path.isfile(found):
        raise errors.NotFoundError(message=f"there is no shared library '{found}'")
    return found
