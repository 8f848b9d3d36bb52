"""Static shapes: TensorShape and its Dimensions, of which any may be unknown."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from graphio.framework import registered

__all__ = ["Dimension", "TensorShape"]


class Dimension:
    """A size, or an unknown one (value None). Arithmetic with the unknown is unknown."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        if isinstance(value, Dimension):
            value = value.value
        self._value: int | None = None if value is None else operator.index(value)
        if self._value is not None and self._value < 0:
            raise ValueError(f"Dimension {self._value} must be >= 0")

    def __reduce__(self) -> tuple[Any, ...]:
        return Dimension, (self._value,)

    @property
    def value(self) -> int | None:
        """The size, None if it is unknown."""
        return self._value

    def is_compatible_with(self, other: Any) -> bool:
        """Whether both may be the same size."""
        other = Dimension(other)
        return self._value is None or other.value is None or self._value == other.value

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises ValueError unless both may be the same size."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {Dimension(other)} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """The facts known from both. Raises ValueError where they clash."""
        self.assert_is_compatible_with(other)
        return Dimension(other) if self._value is None else self

    def _combine(self, other: Any, function: Callable[[int, int], int]) -> Any:
        try:
            value = Dimension(other).value
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or value is None:
            return Dimension(None)
        return Dimension(function(self._value, value))

    def __add__(self, other: Any) -> Any:
        return self._combine(other, operator.add)

    def __radd__(self, other: Any) -> Any:
        return self._combine(other, operator.add)

    def __sub__(self, other: Any) -> Any:
        return self._combine(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._combine(other, operator.mul)

    def __rmul__(self, other: Any) -> Any:
        return self._combine(other, operator.mul)

    def __floordiv__(self, other: Any) -> Any:
        return self._combine(other, operator.floordiv)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: b // a)

    def __mod__(self, other: Any) -> Any:
        return self._combine(other, operator.mod)

    def __rmod__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: b % a)

    def __div__(self, other: Any) -> Any:
        return self // other

    def _compare(self, other: Any, function: Callable[[int, int], bool]) -> bool | None:
        value = Dimension(other).value
        return None if self._value is None or value is None else function(self._value, value)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return self._compare(other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, operator.ge)

    def __eq__(self, other: object) -> Any:
        try:
            value = Dimension(other).value
        except (TypeError, ValueError):
            return NotImplemented
        return None if self._value is None or value is None else self._value == value

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented or equal is None else not equal

    def __hash__(self) -> int:
        return hash(self._value)

    def __int__(self) -> int:
        return self.__index__()

    def __bool__(self) -> bool:
        return bool(self._value)

    def __index__(self) -> int:
        if self._value is None:
            raise TypeError("an unknown Dimension is not an integer; tf.shape tells it at run time")
        return self._value

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value})"


def _size(axis: int, value: Any) -> int | None:
    """The size of a dimension; an error says which one is wrong."""
    try:
        return Dimension(value).value
    except TypeError:
        found = repr(value)
    raise TypeError(f"dimension {axis} is {found}, expected an integer or None")


def _sizes(dims: tuple[Any, ...]) -> tuple[int | None, ...]:
    for d in dims:
        if d is not None and (d.__class__ is not int or d < 0):
            return tuple([_size(axis, d) for axis, d in enumerate(dims)])
    return dims


class TensorShape:
    """A static shape: known, partly known (dimensions None) or of unknown rank (dims None).

    Args:
        dims: None, a sequence of sizes and Nones, a TensorShape, what as_proto gives, or one size.
        symbols: names of the unknown sizes, "" for those without one; None: no names, or those of
            the TensorShape given. Files and ONNX models keep them.
    """

    __slots__ = ("_dims", "_symbols")

    def __init__(self, dims: Any, symbols: Sequence[str] | None = None) -> None:
        self._dims: tuple[int | None, ...] | None
        self._symbols: tuple[str, ...] | None = None if symbols is None else tuple(symbols)
        if isinstance(dims, TensorShape):
            self._dims = dims._dims
            self._symbols = dims._symbols if symbols is None else self._symbols
        elif dims is None or getattr(dims, "unknown_rank", False):
            self._dims = None
        elif hasattr(dims, "dim"):  # a TensorShapeProto, where -1 is unknown
            self._dims = _sizes(tuple(None if d.size < 0 else d.size for d in dims.dim))
        elif hasattr(dims, "__iter__"):
            self._dims = _sizes(tuple(dims))
        else:
            self._dims = (_size(0, dims),)

    def __reduce__(self) -> tuple[Any, ...]:
        named = () if self._symbols is None else (self._symbols,)
        return TensorShape, (self.dims, *named)

    @property
    def dims(self) -> list[Dimension] | None:
        """The Dimensions, None for unknown rank."""
        return None if self._dims is None else [Dimension(d) for d in self._dims]

    @property
    def symbols(self) -> list[str]:
        """A name for each dimension, "" where it has none; empty for unknown rank."""
        if self._dims is None:
            return []
        return list(self._symbols or ("",) * len(self._dims))

    @property
    def key(self) -> object:
        """A hashable key that shapes of the same sizes and names share."""
        return self._dims, self._symbols

    @property
    def sizes(self) -> tuple[int | None, ...] | None:
        """The sizes, None where one is unknown; None for unknown rank."""
        return self._dims

    @property
    def ndims(self) -> int | None:
        """The rank, None if it is unknown."""
        return None if self._dims is None else len(self._dims)

    rank = ndims

    def as_list(self) -> list[int | None]:
        """The sizes, None where one is unknown.

        Raises:
            ValueError: the rank is unknown.
        """
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def num_elements(self) -> int | None:
        """The number of elements, None if it is not known."""
        if self._dims is None:
            return None
        total = 1
        for d in self._dims:
            if d is None:
                return None
            total *= d
        return total

    def is_fully_defined(self) -> bool:
        """Whether every size is known."""
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self) -> None:
        """Raises ValueError unless every size is known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: Any) -> bool:
        """Whether some shape satisfies both."""
        other = as_shape(other)
        if self._dims is None or other._dims is None or self._dims == other._dims:
            return True
        if len(self._dims) != len(other._dims):
            return False
        pairs = zip(self._dims, other._dims, strict=True)
        return all(a is None or b is None or a == b for a, b in pairs)

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises ValueError unless some shape satisfies both."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def assert_same_rank(self, other: Any) -> None:
        """Raises ValueError if both ranks are known and differ."""
        other = as_shape(other)
        if self.ndims is not None and other.ndims is not None and self.ndims != other.ndims:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_has_rank(self, rank: int) -> None:
        """Raises ValueError if the rank is known and another."""
        if self.ndims not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def with_rank(self, rank: int) -> TensorShape:
        """This shape, of the rank given. Raises ValueError if it has another."""
        self.assert_has_rank(rank)
        return TensorShape([None] * rank) if self._dims is None else self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape. Raises ValueError if its rank is known and less."""
        if self.ndims is not None and self.ndims < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """This shape. Raises ValueError if its rank is known and more."""
        if self.ndims is not None and self.ndims > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """The part that this shape and another have in common."""
        given: TensorShape = as_shape(other)
        if self._dims is None or given._dims is None or len(self._dims) != len(given._dims):
            return TensorShape(None)
        pairs = zip(self._dims, given._dims, strict=True)
        return TensorShape([a if a == b else None for a, b in pairs])

    def as_proto(self) -> Any:
        """This shape as a TensorShapeProto."""
        return registered.shape_proto(self)

    def merge_with(self, other: Any) -> TensorShape:
        """The facts known from both. Raises ValueError where they clash."""
        given: TensorShape = as_shape(other)
        self.assert_is_compatible_with(given)
        if self._dims is None:
            return given
        if given._dims is None or (given._dims == self._dims and self._symbols is None):
            return self
        pairs = zip(self._dims, given._dims, strict=True)
        return TensorShape([b if a is None else a for a, b in pairs])

    def concatenate(self, other: Any) -> TensorShape:
        """The sizes of both, one after the other."""
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return TensorShape(None)
        return TensorShape(self._dims + other._dims)

    __add__ = concatenate

    def __radd__(self, other: Any) -> TensorShape:
        return as_shape(other).concatenate(self)

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of Shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[Dimension]:
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter([Dimension(d) for d in self._dims])

    def __getitem__(self, key: Any) -> Any:
        if self._dims is None:
            return _unknown_part(key) if isinstance(key, slice) else Dimension(None)
        if isinstance(key, slice):
            return TensorShape(self._dims[key])
        return Dimension(self._dims[key])

    def __eq__(self, other: object) -> bool:
        try:
            return self._dims == as_shape(other)._dims
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._dims)

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        sizes = ["?" if d is None else str(d) for d in self._dims]
        return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"

    def __repr__(self) -> str:
        if self._dims is None:
            return "TensorShape(None)"
        return f"TensorShape({[Dimension(d) for d in self._dims]})"


def _unknown_part(key: slice) -> TensorShape:
    """A slice of an unknown shape: as many unknown sizes as the slice determines."""
    start, stop = key.start or 0, key.stop
    if stop is None or start < 0 or stop < 0 or key.step is not None:
        return TensorShape(None)
    return TensorShape([None] * (stop - start))


def as_shape(value: Any) -> TensorShape:
    """value as a TensorShape."""
    return value if isinstance(value, TensorShape) else TensorShape(value)


def text(shape: TensorShape | Sequence[int | None]) -> str:
    """In the form of error messages: [2,?,3], <unknown>."""
    shape = as_shape(shape)
    if shape.ndims is None:
        return "<unknown>"
    return "[" + ",".join("?" if d is None else str(d) for d in shape.as_list()) + "]"
