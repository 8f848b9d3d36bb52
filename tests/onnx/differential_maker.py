"""Draws the inputs and attributes of nodes, and the table of the operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

Array = np.ndarray[Any, Any]
FLOATS = ("float32", "float64", "float16")
SIGNED = ("int64", "int32", "int8", "int16")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTS
ANY = (*NUMBERS, "bool")
LARGEST = 6  # of a dimension


@dataclass(frozen=True)
class Call:
    """A node.

    Attributes:
        inputs: names of values, "" for an absent one.
        outputs: how many.
        loose: multiplies the tolerance of the element type.
        sums: whether terms may cancel, so that the error is that of the largest term.
        exact_zero: whether a zero must be a zero.
        off_by: what integers that were rounded from floats may differ by.
    """

    op: str
    inputs: list[str]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1
    loose: float = 1.0
    sums: bool = False
    exact_zero: bool = False
    off_by: int = 0


Row = Callable[["Maker", str], Call]
ROWS: dict[str, Row] = {}


class Maker:
    """Draws values: computed ones where they fit, else new ones."""

    def __init__(
        self, draw: st.DrawFn, values: dict[str, Array], constants: set[str], computed: list[str]
    ) -> None:
        self._draw = draw
        self._values, self._constants, self._computed = values, constants, computed
        self._count = 0

    def begin(self) -> None:
        """Starts the next node."""

    def __getitem__(self, name: str) -> Array:
        return self._values[name]

    def int(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def bool(self) -> bool:
        return self._draw(st.booleans())

    def pick(self, choices: Sequence[Any]) -> Any:
        return choices[0] if len(choices) == 1 else self._draw(st.sampled_from(choices))

    def shape(self, low: int = 0, high: int = 4, least: int = 0) -> tuple[int, ...]:
        """Sizes, often 1, seldom 0 unless `least` forbids it."""
        sizes = [n for n in (2, 1, 3, 1, 4, 5, 2, 3, LARGEST, 0) if n >= least]
        return tuple(self.pick(sizes) for _ in range(self.int(low, high)))

    def add(self, value: Any, dtype: Any = None, constant: bool | None = None) -> str:
        """A new value; None: a constant or an input."""
        name = f"x{len(self._values)}"
        self._values[name] = np.asarray(value, dtype)
        if self.bool() if constant is None else constant:
            self._constants.add(name)
        return name

    def ints(self, *values: int) -> str:
        """A vector of integers: axes or sizes."""
        return self.add(np.array(values, np.int64))

    def fresh(self, dtype: str, shape: Sequence[int], tame: bool = False) -> str:
        return self.add(self.array(dtype, shape, tame))

    def array(self, dtype: str, shape: Sequence[int], tame: bool = False) -> Array:
        """Elements of one of several kinds."""
        kind = np.dtype(dtype).kind
        flavours = ["whole", "normal"] if tame or kind == "b" else ["whole", "normal", "wild"]
        flavour, rng = self.pick(flavours), np.random.RandomState(self.int(0, 10**6))
        whole = rng.randint(-4 if kind in "if" else 0, 5, shape)
        if kind == "b":
            return np.asarray(whole > 1)
        if flavour == "whole":
            return np.asarray(whole / (2 if kind == "f" else 1)).astype(dtype)
        if kind == "f":
            x = np.asarray(rng.normal(size=shape))
            return (_wild(rng, x, dtype) if flavour == "wild" else x).astype(dtype)
        info = np.iinfo(dtype)
        if flavour == "normal":
            return np.asarray(rng.randint(max(info.min, -100), 101, shape)).astype(dtype)
        ends = np.array([info.min, info.max, 0, 1, info.max // 2 + 1, info.min + 1], dtype)
        return np.asarray(ends[rng.randint(0, len(ends), shape)])

    def tensor(
        self,
        types: Sequence[str],
        *,
        rank: tuple[int, int] = (0, 4),
        least: int = 0,
        tame: bool = False,
        fits: Callable[[Array], bool] | None = None,
    ) -> str:
        """A value of any shape: a computed one that fits, or a new one."""
        good = [
            n
            for n in self._computed[-6:]
            if self._values[n].dtype.name in types
            and rank[0] <= self._values[n].ndim <= rank[1]
            and min(self._values[n].shape, default=9) >= least
            and self._values[n].size <= 3000
            and (not tame or _is_tame(self._values[n]))
            and (fits is None or fits(self._values[n]))
        ]
        if good and self.int(0, 3):
            return str(self.pick(good))
        return self.fresh(self.pick(types), self.shape(*rank, least=least), tame)

    def like(self, name: str, shape: Sequence[int], tame: bool = False) -> str:
        """A value of the same type; a computed one if there is one of the shape."""
        dtype = self[name].dtype
        good = [
            n
            for n in self._computed[-6:]
            if self[n].dtype == dtype
            and self[n].shape == tuple(shape)
            and (not tame or _is_tame(self[n]))
        ]
        if good and self.bool():
            return str(self.pick(good))
        return self.fresh(dtype.name, shape, tame)

    def beside(self, name: str, tame: bool = False) -> str:
        """A value of the same type that broadcasts with it, in either direction."""
        shape = list(self[name].shape)
        shape = shape[self.int(0, len(shape)) :]
        shape = [1 if not self.int(0, 3) else n for n in shape]
        if len(shape) == self[name].ndim and len(shape) < 4 and not self.int(0, 3):
            shape = [self.int(1, 3), *shape]
        whole = [1] * len(shape) + list(self[name].shape)
        grown = [
            self.int(2, 3) if n == whole[i - len(shape)] == 1 and not self.int(0, 3) else n
            for i, n in enumerate(shape)
        ]
        return self.like(name, grown, tame)

    def axis(self, name: str) -> int:
        rank = self[name].ndim
        return self.int(-rank, rank - 1)

    def axes(self, name: str) -> list[int]:
        """Some axes, in any order, of either sign."""
        rank = self[name].ndim
        chosen = self._draw(st.permutations(range(rank)))[: self.int(0, rank)] if rank else []
        return [a - rank if self.bool() else a for a in chosen]

    def permutation(self, n: int) -> list[int]:
        return list(self._draw(st.permutations(range(n))))

    def indices(self, size: int, shape: Sequence[int], negative: bool = True) -> Array:
        rng = np.random.RandomState(self.int(0, 10**6))
        return np.asarray(
            rng.randint(-size if negative and self.bool() else 0, size, shape)
        ).astype(np.int64)


def _wild(rng: np.random.RandomState, x: Array, dtype: str) -> Array:
    """Special numbers among ordinary ones."""
    info = np.finfo(dtype)
    ends = [np.nan, np.inf, -np.inf, -0.0, 0.0, info.max, -info.max, info.tiny, -info.tiny / 4]
    special = np.array([float(v) for v in ends] + [0.5, 1.5, -2.5, 127.5, -1.0, 88.0, 1e4])
    return np.asarray(np.where(rng.rand(*x.shape) < 0.5, special[rng.randint(0, 16, x.shape)], x))


def _is_tame(x: Array) -> bool:
    if x.dtype.kind == "b":
        return True
    wide = x.astype(np.float64)
    return bool(np.isfinite(wide).all() and (np.abs(wide) <= 100).all())


def row(*ops: str) -> Callable[[Row], Row]:
    """Adds a row for each of the operators."""

    def add(function: Row) -> Row:
        ROWS.update(dict.fromkeys(ops, function))
        return function

    return add


Attrs = Callable[[Maker], dict[str, Any]]


def no_attributes(m: Maker) -> dict[str, Any]:
    return {}


def numbers(*names: str) -> Attrs:
    """Some of the float attributes."""
    return lambda m: {n: m.pick([0.5, 1.0, 0.25, 1.5, -0.5, 2.0]) for n in names if m.bool()}


def dtype_number(dtype: str) -> int:
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def positive_scale(m: Maker, shape: Sequence[int], dtype: str = "float32") -> str:
    return m.add(np.abs(m.array(dtype, shape, True)) + np.asarray(0.25, dtype))
