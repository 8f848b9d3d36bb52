"""Arguments and sizes of layers: layers.utils."""

from __future__ import annotations

from typing import Any

from graphio.framework.tensor import Tensor
from graphio.framework.variable import Variable
from graphio.layers.convolutional import axes_of
from graphio.ops.array.static_values import get_static_value
from graphio.ops.control_flow import branches
from graphio.support import api_guard

__all__ = [
    "constant_value", "conv_input_length", "conv_output_length", "convert_data_format",
    "deconv_output_length", "normalize_data_format", "normalize_padding", "normalize_tuple",
    "smart_cond",
]  # fmt: skip

_CHANNELS = {
    "channels_last": {3: "NWC", 4: "NHWC", 5: "NDHWC"},
    "channels_first": {3: "NCW", 4: "NCHW", 5: "NCDHW"},
}


@api_guard.unguarded
def convert_data_format(data_format: str, ndim: int) -> str:
    """The data format of operators, such as NHWC, of a layer's "channels_last" or
    "channels_first" and its number of dimensions, 3 to 5.

    Raises:
        ValueError: another format or number.
    """
    if data_format not in _CHANNELS:
        raise ValueError(f"Invalid data_format: {data_format}")
    if ndim not in _CHANNELS[data_format]:
        raise ValueError(f"Input rank not supported: {ndim}")
    return _CHANNELS[data_format][ndim]


@api_guard.unguarded
def normalize_tuple(value: Any, n: int, name: str) -> tuple[int, ...]:
    """An integer n times, or n integers.

    Args:
        name: of the argument, for the message.

    Raises:
        ValueError: anything else.
    """
    return tuple(axes_of(value, n, name))


@api_guard.unguarded
def normalize_data_format(value: str) -> str:
    """ "channels_first" or "channels_last" in lower case; ValueError for anything else."""
    if value.lower() not in _CHANNELS:
        raise ValueError(
            "The `data_format` argument must be one of "
            f'"channels_first", "channels_last". Received: {value}'
        )
    return value.lower()


@api_guard.unguarded
def normalize_padding(value: str) -> str:
    """ "valid" or "same" in lower case; ValueError for anything else."""
    if value.lower() not in ("valid", "same"):
        raise ValueError(
            f'The `padding` argument must be one of "valid", "same". Received: {value}'
        )
    return value.lower()


@api_guard.unguarded
def conv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """The length that a convolution gives.

    Args:
        input_length: None gives None.
        padding: "same", "valid" or "full".
    """
    if input_length is None:
        return None
    _check_padding(padding, ("same", "valid", "full"))
    width = filter_size + (filter_size - 1) * (dilation - 1)
    length = input_length + {"same": 0, "valid": 1 - width, "full": width - 1}[padding]
    return (length + stride - 1) // stride


@api_guard.unguarded
def conv_input_length(
    output_length: int | None, filter_size: int, padding: str, stride: int
) -> int | None:
    """The length from which a convolution gives output_length; None gives None."""
    if output_length is None:
        return None
    _check_padding(padding, ("same", "valid", "full"))
    pad = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
    return (output_length - 1) * stride - 2 * pad + filter_size


@api_guard.unguarded
def deconv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int
) -> int | None:
    """The length that a transposed convolution gives; None gives None."""
    if input_length is None:
        return None
    length = input_length * stride
    if padding == "valid":
        return length + max(filter_size - stride, 0)
    return length - (stride + filter_size - 2) if padding == "full" else length


def _check_padding(padding: str, allowed: tuple[str, ...]) -> None:
    if padding not in allowed:
        raise ValueError(f"padding is {padding!r}, expected one of {', '.join(allowed)}")


@api_guard.guarded
def smart_cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: Any = None) -> Any:
    """true_fn() or false_fn() where the value of pred is known, else tf.cond of them.

    Args:
        pred: a bool, 0, 1, a variable or a tensor of bool.
        true_fn, false_fn: functions without arguments.

    Raises:
        TypeError: true_fn or false_fn cannot be called.
    """
    if isinstance(pred, Variable):
        return branches.cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)
    return branches.smart_cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)


@api_guard.unguarded
def constant_value(pred: Any) -> Any:
    """The value of a bool, 0 or 1, or of a tensor, if it is known before a run, else None.

    Raises:
        TypeError: pred is none of these.
    """
    if isinstance(pred, Variable):
        return None
    if isinstance(pred, Tensor):
        return get_static_value(pred)
    if isinstance(pred, bool):
        return pred
    if pred in {0, 1}:
        return bool(pred)
    raise TypeError(f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {pred}")
