"""tf.assert_rank, assert_scalar, assert_shapes: what tensors' shapes must be."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Operation, Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import joining
from graphio.ops.array import surface as array
from graphio.ops.base.emit import scope
from graphio.ops.checks.assertion import Assert
from graphio.ops.control_flow import branches
from graphio.ops.math import comparison, elementwise
from graphio.support import api_guard

__all__ = [
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_scalar",
    "assert_shapes",
]


def _rank_assertion(
    x: Any,
    ranks: Sequence[Any],
    holds: Callable[[int, Sequence[int]], bool],
    test: Callable[..., Tensor],
    words: str,
    default: str,
    options: tuple[Any, int | None, str | None, str | None],
) -> Operation:
    """Builds an assertion on a rank; words: " rank", " rank at least", " rank in"."""
    data, summarize, message, name = options
    with scope(name, default) as at:
        tensor = _as_tensor(x)
        static = tensor.shape
        expected = [_rank_tensor(rank, default) for rank in ranks]
        known = [_known_rank(rank) for rank in expected]
        plain = [k for k in known if k is not None]
        if static.ndims is not None and len(plain) == len(known):
            if not holds(static.ndims, plain):
                text = str(plain[0]) if words != "in" else f"{tuple(plain)}"
                must = f"rank {words} {text}".replace("  ", " ")
                raise ValueError(
                    f"{message or ''}.  Tensor {_shown(tensor)} must have {must}.  Received rank "
                    f"{static.ndims}, shape {static}"
                )
            return branches.no_op(name="static_checks_determined_all_ok")
        found = array.size(_sizes(tensor))
        conditions = [test(found, rank) for rank in expected]
        condition = conditions[0]
        for other in conditions[1:]:
            condition = comparison.logical_or(condition, other)
        must = f"rank {words}".rstrip()
        shown = [message or "", f"Tensor {_shown(tensor)} must have {must}", *expected]
        shown += ["Received shape: ", _sizes(tensor)]
        return Assert(condition, shown if data is None else data, summarize, name=at)


def _as_tensor(x: Any) -> Tensor | SparseTensor:
    return x if isinstance(x, SparseTensor) else convert_to_tensor(x, name="x")


def _shown(x: Tensor | SparseTensor) -> str:
    return x.values.name if isinstance(x, SparseTensor) else x.name


def _sizes(x: Tensor | SparseTensor) -> Tensor:
    """The sizes of its axes, as a vector."""
    return x.dense_shape if isinstance(x, SparseTensor) else array.shape(x)


def _rank_tensor(rank: Any, function: str) -> Tensor:
    tensor = convert_to_tensor(rank, name="rank")
    if tensor.dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"{function}: rank is {tensor.dtype.name}, must be of type int32")
    if tensor.shape.ndims not in (None, 0):
        raise ValueError(f"{function}: Rank must be a scalar, got shape {tensor.shape}.")
    return elementwise.cast(tensor, dtypes.int32) if tensor.dtype == dtypes.int64 else tensor


def _known_rank(rank: Tensor) -> int | None:
    value = constant_value(rank)
    return None if value is None else int(value)


@api_guard.operator
def assert_rank(
    x: Any,
    rank: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails unless x has the rank.

    Args:
        x: tensor, or SparseTensor.
        rank: int, or int scalar tensor.
        data, summarize, message, name: as assert_equal's.

    Raises:
        ValueError: it is known while building not to hold, or rank is not a scalar.
        TypeError: rank is not an integer.
    """
    options = (data, summarize, message, name)
    return _rank_assertion(
        x, [rank], lambda n, r: n == r[0], comparison.equal, "", "assert_rank", options
    )


@api_guard.operator
def assert_rank_at_least(
    x: Any,
    rank: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """As assert_rank, for that rank or a higher one."""
    options = (data, summarize, message, name)
    return _rank_assertion(
        x,
        [rank],
        lambda n, r: n >= r[0],
        comparison.greater_equal,
        "at least",
        "assert_rank_at_least",
        options,
    )


@api_guard.operator
def assert_rank_in(
    x: Any,
    ranks: Sequence[Any],
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """As assert_rank, for one of several ranks."""
    options = (data, summarize, message, name)
    return _rank_assertion(
        x,
        list(ranks),
        lambda n, r: n in r,
        comparison.equal,
        "in",
        "assert_rank_in",
        options,
    )


@api_guard.operator
def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Tensor:
    """The tensor, if it is a scalar for all that is known.

    Raises:
        ValueError: its static shape is another one, or unknown.
    """
    with scope(name, "assert_scalar"):
        found = convert_to_tensor(tensor, name="tensor")
        if found.shape.ndims != 0:
            raise ValueError(
                f"{message or ''}Expected scalar shape for {found.name}, saw shape: {found.shape}."
            )
        return found


@api_guard.operator
def assert_shapes(
    shapes: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails unless tensors have shapes that go together.

    Args:
        shapes: dict, or list of pairs, of tensors (or SparseTensors) and their shapes: lists,
            tuples or strings of sizes, of symbols that stand for one size wherever they occur, and
            of None or "." for any size. A shape that begins with Ellipsis or "*" is that of the
            last axes. None: any shape. A scalar and a vector of one element are alike.
        data, summarize, message, name: as assert_equal's.

    Raises:
        ValueError: it is known while building not to hold, or a shape cannot be iterated, or has
            Ellipsis or "*" in another position.
    """
    pairs = list(shapes.items()) if hasattr(shapes, "items") else list(shapes)
    options = {"data": data, "summarize": summarize, "message": message}
    with scope(name, "assert_shapes"):
        expected = [_Requested(x, shape, message or "") for x, shape in pairs if shape is not None]
        ranks = [check for each in expected for check in each.rank_checks(options)]
        known: dict[Any, _Size] = {}
        with scopes.control_dependencies(ranks):
            checks = [check for each in expected for check in each.size_checks(known, options)]
        return branches.group(*ranks, *checks)


@dataclasses.dataclass
class _Size:
    """The size that a symbol stands for.

    Attributes:
        static: the size, if it is known while building.
        run: the size in a run.
        source: who says so.
    """

    static: int | None
    run: Any
    source: str


class _Requested:
    """A tensor and the shape that it must have."""

    def __init__(self, x: Any, shape: Any, words: str) -> None:
        self.tensor, self.words = _as_tensor(x), words
        if not hasattr(shape, "__iter__"):
            raise ValueError(
                f"{words}.  Tensor {_shown(self.tensor)}.  Specified shape must be an iterable, "
                f"as a list of sizes.  Received specified shape: {shape!r}"
            )
        symbols = tuple(shape.as_list() if isinstance(shape, TensorShape) else shape)
        self.innermost = len(symbols) > 0 and _is_rest(symbols[0])
        self.symbols = symbols[1:] if self.innermost else symbols
        if any(_is_rest(symbol) for symbol in self.symbols):
            raise ValueError(
                f"{words}.  Tensor {_shown(self.tensor)} specified shape {symbols}: '...' or '*', "
                "which stand for any number of axes, are only allowed as the first entry"
            )

    def rank_checks(self, options: dict[str, Any]) -> list[Operation]:
        rank = len(self.symbols)
        if self.innermost:
            return [] if rank < 2 else [assert_rank_at_least(self.tensor, rank, **options)]
        if rank < 2:
            return [assert_rank_in(self.tensor, [0, 1], **options)]
        return [assert_rank(self.tensor, rank, **options)]

    def size_checks(self, known: dict[Any, _Size], options: dict[str, Any]) -> list[Operation]:
        """Checks of the sizes; known: what the symbols stand for, to which those of this shape are
        added."""
        symbols = self.symbols or (() if self.innermost else (1,))
        checks: list[Operation] = []
        for axis, symbol in enumerate(symbols, -len(symbols) if self.innermost else 0):
            if symbol is None or (isinstance(symbol, str) and symbol == "."):
                continue
            found = self._size(axis)
            expected = _explicit(symbol) or known.setdefault(symbol, found)
            if expected is not found:
                checks += self._check(axis, found, expected, options)
        return checks

    def _size(self, axis: int) -> _Size:
        source = f"tensor {_shown(self.tensor)} dimension {axis}"
        static = self.tensor.shape
        if static.ndims is not None:
            sizes = static.as_list() or [1]
            if sizes[axis] is not None:
                return _Size(sizes[axis], sizes[axis], source)
        sizes_of_run = _sizes(self.tensor)
        if static.ndims is None and len(self.symbols) < 2:  # it may be a scalar
            one = elementwise.cast([1], sizes_of_run.dtype)
            ends = [one, sizes_of_run] if axis < 0 else [sizes_of_run, one]
            sizes_of_run = joining.concat(ends, 0)
        return _Size(None, sizes_of_run[axis], source)

    def _check(
        self, axis: int, found: _Size, expected: _Size, options: dict[str, Any]
    ) -> list[Operation]:
        must = f"Tensor {_shown(self.tensor)} dimension {axis} must have size"
        by = f"Specified {'explicitly' if not expected.source else f'by {expected.source}'}"
        if found.static is not None and expected.static is not None:
            if found.static == expected.static:
                return []
            raise ValueError(
                f"{self.words}{by}.  {must} {expected.static}.  Received size {found.static}, "
                f"shape {self.tensor.shape}"
            )
        size = expected.run
        shown = [self.words, by, must, size, "Received shape: ", _sizes(self.tensor)]
        data = options["data"]
        same = comparison.equal(
            elementwise.cast(found.run, dtypes.int64), elementwise.cast(expected.run, dtypes.int64)
        )
        return [Assert(same, shown if data is None else data, options["summarize"])]


def _is_rest(symbol: Any) -> bool:
    return symbol is Ellipsis or (isinstance(symbol, str) and symbol == "*")


def _explicit(symbol: Any) -> _Size | None:
    """The size that the symbol writes, as 3 or "3"."""
    try:
        size = int(symbol)
    except (TypeError, ValueError):
        return None
    return _Size(size, size, "")
