"""Arguments shared by convolution and pooling: TensorFlow's strides, padding and data format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework.graph import Tensor
from graphio.ops.base import primitive
from graphio.ops.base.emit import integers_of
from graphio.support import errors

__all__ = [
    "AUTO_PAD",
    "channels_first",
    "explicit",
    "four",
    "padding_of",
    "spatial",
    "to_nchw",
    "to_nhwc",
    "word_or_pairs",
]

#: TensorFlow's padding in ONNX's words
AUTO_PAD = {"SAME": "SAME_UPPER", "VALID": "VALID"}


def padding_of(value: Any, op: str) -> str:
    """SAME or VALID. Raises ValueError for anything else."""
    word = value.upper() if isinstance(value, str) else value
    if not isinstance(word, str) or word not in AUTO_PAD:
        raise ValueError(f"{op}: padding is {value!r}, expected 'SAME' or 'VALID'")
    return word


def word_or_pairs(padding: Any, first: bool, op: str) -> tuple[str, list[list[int]] | None]:
    """SAME or VALID, and the pairs of what is put around the input before, channels last.

    Raises:
        ValueError: it is neither a word nor pairs; see explicit.
    """
    if not isinstance(padding, (list, tuple)):
        return padding_of(padding, op), None
    pairs = explicit(padding, first, op)
    return "VALID", [pairs[i] for i in (0, 2, 3, 1)] if first else pairs


def explicit(value: Any, first: bool, op: str, rank: int = 4) -> list[list[int]]:
    """Paddings before and after each axis in the data format.

    Raises:
        InvalidArgumentError: there is not a pair of integers >= 0 for each axis, or those of
            batch and channels are not 0.
    """
    pairs = [integers_of(pair) for pair in value]
    others = pairs[:2] if first else [*pairs[:1], *pairs[rank - 1 :]]
    if len(pairs) != rank or any(len(p) != 2 or min(p) < 0 for p in pairs) or any(map(any, others)):
        raise errors.InvalidArgumentError(
            message=f"{op}: padding is {value!r}, expected 'SAME', 'VALID' or {rank} pairs of "
            "integers >= 0, 0 for batch and channels"
        )
    return pairs


def channels_first(data_format: str | None, op: str) -> bool:
    """Whether the format is NCHW. Raises ValueError if it is neither that nor NHWC."""
    word = data_format or "NHWC"
    if word not in ("NHWC", "NCHW"):
        raise ValueError(f"{op}: data_format is {data_format!r}, expected 'NHWC' or 'NCHW'")
    return word == "NCHW"


def four(value: Any, first: bool, op: str, parameter: str) -> list[int]:
    """Four integers from one, two (height, width) or four in the data format, which is kept."""
    listed = integers_of(value)
    if len(listed) == 1:
        listed = listed * 2
    if len(listed) == 2:
        listed = [1, 1, *listed] if first else [1, *listed, 1]
    if len(listed) != 4 or any(v < 1 for v in listed):
        raise ValueError(f"{op}: {parameter} is {value!r}, expected 4 positive integers")
    return listed


def spatial(value: Any, first: bool, op: str, parameter: str) -> list[int]:
    """Height's and width's part of four integers.

    Raises:
        ValueError: there are not four, or those of batch and channels are not 1.
    """
    found, plain = spatial_of(value, first, op, parameter)
    if not plain:
        raise ValueError(
            f"{op}: {parameter} is {value!r}: those of batch and channels must be 1; only height "
            "and width can have others"
        )
    return found


def spatial_of(value: Any, first: bool, op: str, parameter: str) -> tuple[list[int], bool]:
    """Height's and width's part of four integers, and whether those of batch and channels are 1."""
    listed = four(value, first, op, parameter)
    others = listed[:2] if first else [listed[0], listed[3]]
    return listed[2:] if first else listed[1:3], others == [1, 1]


def to_nhwc(x: Tensor, first: bool) -> Tensor:
    """x (n, c, h, w) as (n, h, w, c), if it is that."""
    return primitive.transpose(x, [0, 2, 3, 1]) if first else x


def to_nchw(x: Tensor, first: bool, name: str) -> Tensor:
    """x (n, h, w, c) in the user's format, under the user's name."""
    return primitive.transpose(x, [0, 3, 1, 2], name) if first else x


def spatial_attributes(
    strides: Sequence[int], padding: str, **others: Sequence[int] | int
) -> dict[str, Any]:
    """The attributes that convolutions and pools have in common."""
    return {
        "strides": list(strides),
        "auto_pad": AUTO_PAD[padding],
        **others,
    }
