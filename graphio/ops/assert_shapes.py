"""tf.assert_rank, assert_scalar, assert_shapes: what tensors' shapes must be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphio import dtypes
from graphio.constants import convert_to_tensor
from graphio.folding import constant_value
from graphio.graph import Operation, Tensor
from graphio.ops import array, comparison, control_flow, math
from graphio.ops.check import Assert
from graphio.ops.emit import scope

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
    """What the assertions on ranks have in common; words: " rank", " rank at least", " rank in"."""
    data, summarize, message, name = options
    with scope(name, default) as at:
        tensor = convert_to_tensor(x, name="x")
        wanted = [_rank_tensor(rank, default) for rank in ranks]
        known = [_known_rank(rank) for rank in wanted]
        plain = [k for k in known if k is not None]
        if tensor.shape.ndims is not None and len(plain) == len(known):
            if not holds(tensor.shape.ndims, plain):
                text = str(plain[0]) if words != "in" else f"{tuple(plain)}"
                must = f"rank {words} {text}".replace("  ", " ")
                raise ValueError(
                    f"{message or ''}.  Tensor {tensor.name} must have {must}.  Received rank "
                    f"{tensor.shape.ndims}, shape {tensor.shape}"
                )
            return control_flow.no_op(name="static_checks_determined_all_ok")
        found = array.rank(tensor)
        conditions = [test(found, rank) for rank in wanted]
        condition = conditions[0]
        for other in conditions[1:]:
            condition = comparison.logical_or(condition, other)
        must = f"rank {words}".rstrip()
        shown = [message or "", f"Tensor {tensor.name} must have {must}", *wanted]
        shown += ["Received shape: ", array.shape(tensor)]
        return Assert(condition, shown if data is None else data, summarize, name=at)


def _rank_tensor(rank: Any, function: str) -> Tensor:
    tensor = convert_to_tensor(rank, name="rank")
    if tensor.dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"{function}: rank is {tensor.dtype.name}, must be of type int32")
    if tensor.shape.ndims not in (None, 0):
        raise ValueError(f"{function}: Rank must be a scalar, got shape {tensor.shape}.")
    return math.cast(tensor, dtypes.int32) if tensor.dtype == dtypes.int64 else tensor


def _known_rank(rank: Tensor) -> int | None:
    value = constant_value(rank)
    return None if value is None else int(value)


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
        x: tensor.
        rank: int, or int scalar tensor.
        data, summarize, message, name: as assert_equal's.

    Raises:
        ValueError: it is known while building not to hold, or rank is no scalar.
        TypeError: rank is no integer.
    """
    options = (data, summarize, message, name)
    return _rank_assertion(
        x, [rank], lambda n, r: n == r[0], comparison.equal, "", "assert_rank", options
    )


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


def assert_shapes(
    shapes: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails unless tensors have shapes that go together.

    Args:
        shapes: dict, or list of pairs, of tensors and their shapes: lists or tuples of sizes, of
            letters that stand for one size wherever they occur, and of None for any size. A shape
            that begins with Ellipsis or "*" is that of the last axes. None: any shape.
        data, summarize, message, name: as assert_equal's.

    Raises:
        ValueError: it is known while building not to hold.
    """
    pairs = list(shapes.items()) if hasattr(shapes, "items") else list(shapes)
    with scope(name, "assert_shapes"):
        checks: list[Operation] = []
        sizes: dict[str, tuple[Tensor, Tensor, int]] = {}
        options = {"data": data, "summarize": summarize, "message": message}
        for given, wanted in pairs:
            if wanted is None:
                continue
            tensor = convert_to_tensor(given)
            innermost = len(wanted) > 0 and (wanted[0] is Ellipsis or wanted[0] == "*")
            last = wanted[1:] if innermost else wanted
            check_rank = assert_rank_at_least if innermost else assert_rank
            checks.append(check_rank(tensor, len(last), **options))
            with_rank = control_flow.with_dependencies(checks[-1:], tensor)
            for axis, size in enumerate(last, -len(last) if innermost else 0):
                check = _size_check(with_rank, tensor, axis, size, sizes, options)
                checks += [] if check is None else [check]
        return control_flow.group(*checks)


def _size_check(
    ranked: Tensor,
    tensor: Tensor,
    axis: int,
    size: Any,
    sizes: dict[str, tuple[Tensor, Tensor, int]],
    options: dict[str, Any],
) -> Operation | None:
    if size is None or size == "*" or size == ".":
        return None
    words = options["message"] or ""
    lengths: Any = array.shape(ranked)
    found = lengths[axis]
    static = None if tensor.shape.ndims is None else tensor.shape.as_list()[axis]
    if isinstance(size, str) and not size.isdigit():
        if size not in sizes:
            sizes[size] = (found, tensor, axis)
            return None
        wanted, other, place = sizes[size]
        known = None if other.shape.ndims is None else other.shape.as_list()[place]
        what = f"equal dimension {place} of tensor {other.name}"
    else:
        known = int(size)
        wanted, what = convert_to_tensor(known), f"be {known}"
    if known is not None and static is not None:
        if known == static:
            return None
        raise ValueError(
            f"{words}.  Tensor {tensor.name} dimension {axis} must {what}, which is {known}.  "
            f"Received length {static}, shape {tensor.shape}"
        )
    shown = [words, f"Tensor {tensor.name} dimension {axis} must {what}: ", wanted, "Received: "]
    data = options["data"]
    condition = comparison.equal(found, wanted)
    return Assert(condition, [*shown, found] if data is None else data, options["summarize"])
