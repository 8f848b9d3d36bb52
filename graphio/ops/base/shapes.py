"""Static shapes: the rules that several families share.

Dims is a tuple of sizes, None where a size is unknown; None in place of the tuple means that
the rank is unknown too. `what` says which node a rule speaks for and ends the error text.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.support import errors

__all__ = [
    "Dims",
    "broadcast",
    "concatenated",
    "dims_of",
    "matmul",
    "merge",
    "normalize_axes",
    "normalize_axis",
    "num_elements",
    "reduced",
    "reshaped",
    "sliced",
    "text",
    "text_of",
    "window",
]

Dims: TypeAlias = "tuple[int | None, ...] | None"


def dims_of(value: Tensor | TensorShape) -> Dims:
    """The static shape of a tensor."""
    shape = value.shape if isinstance(value, Tensor) else value
    return None if shape.ndims is None else tuple(shape.as_list())


def text(dims: Dims) -> str:
    """TensorFlow's spelling: [2,?,3], <unknown>."""
    if dims is None:
        return "<unknown>"
    return "[" + ",".join("?" if d is None else str(d) for d in dims) + "]"


def text_of(tensor: Tensor) -> str:
    """A tensor's static shape as errors spell it."""
    return text(dims_of(tensor))


def num_elements(dims: Dims) -> int | None:
    """The number of elements, None if it is not known."""
    if dims is None or None in dims:
        return None
    return prod(d for d in dims if d is not None)


def check_countable(dims: Dims, what: str) -> None:
    """Refuses a static shape of more elements than an int64 counts.

    Raises:
        InvalidArgumentError: it has more.
    """
    count = num_elements(dims)
    if count is not None and count >= 2**63:
        raise errors.InvalidArgumentError(
            message=f"the shape {text(dims)} has more elements than an int64 counts, for {what}"
        )


def _dimensions_differ(a: int, b: int, shapes: Sequence[Dims], what: str) -> ValueError:
    listed = ", ".join(text(s) for s in shapes)
    return ValueError(
        f"Dimensions must be equal, but are {a} and {b} for {what} with input shapes: {listed}."
    )


def broadcast(a: Dims, b: Dims, what: str) -> Dims:
    """The shape of an elementwise operation on shapes a and b.

    An unknown size against 1 stays unknown, against another known size it must be that size.

    Raises:
        ValueError: two known sizes differ and neither is 1.
    """
    if a is None or b is None:
        return None
    rank = max(len(a), len(b))
    wide_a = (1,) * (rank - len(a)) + a
    wide_b = (1,) * (rank - len(b)) + b
    result: list[int | None] = []
    for m, n in zip(wide_a, wide_b, strict=True):
        if m == 1:
            result.append(n)
        elif n == 1 or m == n:
            result.append(m)
        elif m is None or n is None:
            result.append(n if m is None else m)
        else:
            raise _dimensions_differ(m, n, (a, b), what)
    return tuple(result)


def merge(a: Dims, b: Dims, what: str) -> Dims:
    """The dimensions known from either of two shapes that must be the same.

    Raises:
        ValueError: they contradict each other.
    """
    if a is None or b is None:
        return b if a is None else a
    if len(a) != len(b):
        raise ValueError(
            f"Shapes must be equal rank, but are {len(a)} and {len(b)} for {what} "
            f"with input shapes: {text(a)}, {text(b)}."
        )
    result: list[int | None] = []
    for m, n in zip(a, b, strict=True):
        if m is not None and n is not None and m != n:
            raise _dimensions_differ(m, n, (a, b), what)
        result.append(n if m is None else m)
    return tuple(result)


def normalize_axis(axis: int, rank: int | None, what: str) -> int:
    """axis counted from the front; left as it is when the rank is unknown.

    Raises:
        TypeError: axis is not an integer.
        ValueError: axis is outside [-rank, rank).
    """
    if not hasattr(axis, "__index__"):
        kind = type(axis).__name__
        raise TypeError(f"{what}: axis {axis!r} is of type {kind}, expected an integer")
    if rank is None:
        return axis
    if not -rank <= axis < rank:
        raise ValueError(
            f"{what}: axis {axis} is out of range for a tensor of rank {rank}; "
            f"expected an axis in [{-rank}, {rank})"
        )
    return axis % rank


def normalize_axes(axes: Sequence[int], rank: int | None, what: str) -> list[int]:
    """All axes counted from the front, in order.

    Raises:
        ValueError: one is out of range or comes twice.
    """
    found = [normalize_axis(a, rank, what) for a in axes]
    if len(set(found)) != len(found):
        raise ValueError(f"{what}: axis {list(axes)} names an axis twice")
    return found


def reduced(dims: Dims, axes: Sequence[int] | None, keepdims: bool, what: str) -> Dims:
    """The shape after a reduction; axes None means all of them."""
    if dims is None:
        return () if axes is None and not keepdims else None
    chosen = set(range(len(dims)) if axes is None else normalize_axes(axes, len(dims), what))
    if keepdims:
        return tuple(1 if i in chosen else d for i, d in enumerate(dims))
    return tuple(d for i, d in enumerate(dims) if i not in chosen)


def matmul(a: Dims, b: Dims, what: str) -> Dims:
    """The shape of a batched matrix multiplication.

    Raises:
        ValueError: the inner sizes differ, or the batch sizes do not broadcast.
    """
    if a is None or b is None:
        # TensorFlow's MatMul of matrices, unless both may have more axes.
        if b is not None and len(b) == 2:
            return (None, b[-1])
        return (a[-2], None) if a is not None and len(a) == 2 else None
    if a[-1] is not None and b[-2] is not None and a[-1] != b[-2]:
        raise _dimensions_differ(a[-1], b[-2], (a, b), what)
    batch = broadcast(a[:-2], b[:-2], what)
    return None if batch is None else (*batch, a[-2], b[-1])


def concatenated(parts: Sequence[Dims], axis: int, what: str) -> Dims:
    """The shape of the parts one after another along axis.

    Raises:
        ValueError: the ranks or the sizes off the axis differ, or axis is out of range.
    """
    known = [p for p in parts if p is not None]
    if not known:
        return None
    rank = len(known[0])
    at = normalize_axis(axis, rank, what)
    common: Dims = None
    for part in known:
        if len(part) != rank:
            listed = ", ".join(text(p) for p in parts)
            raise ValueError(
                f"Shapes must be equal rank, but are {rank} and {len(part)} for {what} "
                f"with input shapes: {listed}."
            )
        common = merge(common, (*part[:at], None, *part[at + 1 :]), what)
    assert common is not None
    sizes = [None if p is None else p[at] for p in parts]
    total = None if None in sizes else sum(s for s in sizes if s is not None)
    return (*common[:at], total, *common[at + 1 :])


def reshaped(dims: Dims, target: Dims, what: str) -> Dims:
    """The shape after a reshape; one unknown size of target follows from the rest, from that of
    the other sizes where there are no elements.

    Raises:
        ValueError: the numbers of elements do not agree.
    """
    if target is None:
        return None
    total = num_elements(dims)
    known = prod(d for d in target if d is not None)
    unknown = [i for i, d in enumerate(target) if d is None]
    if total is None or len(unknown) > 1:
        return target
    if not unknown:
        if total != known:
            raise ValueError(
                f"Cannot reshape a tensor with {total} elements to shape {text(target)} "
                f"({known} elements) for {what} with input shape: {text(dims)}."
            )
        return target
    if known == 0:
        # A size of 0 says nothing of the others: those of both sides are compared without it.
        total, known = (prod(d for d in sizes if d) for sizes in (dims or (), target))
    if total % known:
        raise ValueError(
            f"Dimension size must be evenly divisible by {known} but is {total} for {what} "
            f"with input shape: {text(dims)}, to shape {text(target)}."
        )
    return tuple(total // known if d is None else d for d in target)


def sliced(size: int | None, start: int | None, end: int | None, step: int) -> int | None:
    """The number of elements a Python slice takes of size; None for an unknown size or bound."""
    if size is None:
        return None
    return len(range(*slice(start, end, step).indices(size)))


def window(
    size: int | None, kernel: int | None, stride: int, dilation: int, padding: str, what: str
) -> int | None:
    """The number of positions of a convolution or pooling window along one axis.

    Raises:
        ValueError: with padding VALID, the window is larger than the axis.
    """
    if size is None:
        return None
    if padding == "SAME":
        return -(-size // stride)
    if kernel is None:
        return None
    extent = (kernel - 1) * dilation + 1
    if size < extent:
        raise ValueError(
            f"Negative dimension size caused by subtracting {extent} from {size} for {what}: "
            f"the window ({extent}) is larger than its input ({size}); use padding 'SAME' or a "
            "larger input"
        )
    return (size - extent) // stride + 1
