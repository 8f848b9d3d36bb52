"""Windows over one, two or three spatial dimensions, whose number is that of the input's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphio.framework import registered
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import filling, joining, slicing
from graphio.ops.base.emit import scope
from graphio.ops.nn import conv, pooling, windows
from graphio.support import api_guard

__all__ = [
    "avg_pool_v2",
    "conv3d_backprop_filter",
    "conv3d_backprop_filter_v2",
    "conv_transpose",
    "extract_volume_patches",
    "max_pool_v2",
]

_LAYOUTS = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
_MAX_POOLS: dict[int, Callable[..., Tensor]] = {
    1: windows.max_pool1d,
    2: pooling.max_pool,
    3: windows.max_pool3d,
}
_AVG_POOLS: dict[int, Callable[..., Tensor]] = {
    1: windows.avg_pool1d,
    2: pooling.avg_pool,
    3: windows.avg_pool3d,
}
_TRANSPOSED: dict[int, Callable[..., Tensor]] = {
    1: windows.conv1d_transpose,
    2: conv.conv2d_transpose,
    3: windows.conv3d_transpose,
}


@api_guard.operator
def max_pool_v2(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """max_pool1d, max_pool or max_pool3d, by the input's rank.

    Args:
        input: floating, of rank 3, 4 or 5.
        ksize, strides: a number, one for each spatial dimension, or one for each dimension.
        padding: "SAME" or "VALID".
        data_format: None: channels last; else as the function's.
        name: of the operation.

    Raises:
        ValueError: the input has another rank.
    """
    return _pooled(_MAX_POOLS, input, ksize, strides, padding, data_format, name)


@api_guard.operator
def avg_pool_v2(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """avg_pool1d, avg_pool or avg_pool3d, by the input's rank; arguments as max_pool_v2's."""
    return _pooled(_AVG_POOLS, input, ksize, strides, padding, data_format, name)


def _pooled(
    functions: dict[int, Callable[..., Tensor]], input: Any, ksize: Any, strides: Any,
    padding: Any, data_format: str | None, name: str | None,
) -> Tensor:  # fmt: skip
    x = convert_to_tensor(input, name="input")
    spatial = _spatial(x)
    layout = data_format or _LAYOUTS[spatial]
    return functions[spatial](x, ksize, strides, padding, layout, name=name)


def _spatial(x: Tensor) -> int:
    """The number of spatial dimensions."""
    rank = x.shape.ndims
    if rank not in (3, 4, 5):
        raise ValueError(f"Input must have rank 3, 4 or 5, found {rank} ({x.name})")
    return rank - 2


@api_guard.operator
def conv_transpose(
    input: Any, filters: Any, output_shape: Any, strides: Any, padding: str = "SAME",
    data_format: str | None = None, dilations: Any = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """conv1d_transpose, conv2d_transpose or conv3d_transpose, by the length of output_shape.

    Args:
        input, filters: floating, as the function's.
        output_shape: list of 3, 4 or 5 sizes, or a tensor of so many.
        strides: a number, one for each spatial dimension, or one for each dimension.
        padding: "SAME" or "VALID".
        data_format: None: channels last; else as the function's.
        dilations: as the function's.
        name: of the operation.

    Raises:
        ValueError: output_shape has another length.
    """
    if isinstance(output_shape, Tensor):
        count = output_shape.shape.as_list()[0] if output_shape.shape.ndims else None
    else:
        count = len(output_shape)
    if count not in (3, 4, 5):
        raise ValueError(f"output_shape must have 3, 4 or 5 elements, found {count}")
    layout = data_format or _LAYOUTS[count - 2]
    return _TRANSPOSED[count - 2](
        input, filters, output_shape, strides, padding, layout, name=name,
        **({} if dilations is None else {"dilations": dilations}),
    )  # fmt: skip


@api_guard.operator
def conv3d_backprop_filter_v2(
    input: Any, filter_sizes: Any, out_backprop: Any, strides: Sequence[int], padding: str,
    data_format: str = "NDHWC", dilations: Any = (1, 1, 1, 1, 1), name: str | None = None,
) -> Tensor:  # fmt: skip
    """The gradient of conv3d with respect to its filter.

    Args:
        input: floating (n, d, h, w, c), or (n, c, d, h, w) with NCDHW.
        filter_sizes: the filter's five sizes.
        out_backprop: the gradient with respect to conv3d's result.
        strides, padding, data_format, dilations: conv3d's.
        name: of the operation.
    """
    with scope(name, "Conv3DBackpropFilterV2"):
        above = convert_to_tensor(out_backprop, name="out_backprop")
        filter = filling.zeros(filter_sizes, above.dtype)
        y = windows.conv3d(input, filter, list(strides), padding, data_format, dilations)
        (made,) = registered.gradients([y], [filter], [above], [])
    assert isinstance(made, Tensor)
    return made


conv3d_backprop_filter = conv3d_backprop_filter_v2


@api_guard.operator
def extract_volume_patches(
    input: Any, ksizes: Sequence[int], strides: Sequence[int], padding: str,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The windows of volumes, each laid out along the channels.

    Args:
        input: (n, d, h, w, c) of known sizes but for the first.
        ksizes, strides: 1, three sizes, 1.
        padding: "SAME", with zeros, or "VALID".
        name: of the operation.

    Returns:
        A tensor (n, d', h', w', ksizes multiplied with c).

    Raises:
        ValueError: the sizes are not known, or the first or last of ksizes or strides is not 1.
    """
    x = convert_to_tensor(input, name="input")
    sizes: Any = x.shape.with_rank(5).as_list()
    ends = [list(given)[0] for given in (ksizes, strides)] + [ksizes[-1], strides[-1]]
    if None in sizes[1:4] or ends != [1, 1, 1, 1] or len(ksizes) != 5 or len(strides) != 5:
        raise ValueError(
            f"extract_volume_patches: the input is {sizes}, ksizes {list(ksizes)} and strides "
            f"{list(strides)}; expected known sizes, and 1 for the first and last dimension"
        )
    with scope(name, "ExtractVolumePatches"):
        counts, pads = [], []
        for size, width, step in zip(sizes[1:4], ksizes[1:4], strides[1:4], strict=True):
            count = -(-size // step) if padding == "SAME" else (size - width) // step + 1
            missing = max((count - 1) * step + width - size, 0) if padding == "SAME" else 0
            counts.append(count)
            pads.append([missing // 2, missing - missing // 2])
        padded = joining.pad(x, [[0, 0], *pads, [0, 0]])
        parts = [
            _taken(padded, (d, h, w), counts, strides)
            for d in range(ksizes[1])
            for h in range(ksizes[2])
            for w in range(ksizes[3])
        ]
        return joining.concat(parts, 4)


def _taken(x: Tensor, at: Sequence[int], counts: Sequence[int], strides: Sequence[int]) -> Tensor:
    """The elements that windows have at one position."""
    steps = list(strides[1:4])
    ends = [a + (n - 1) * s + 1 for a, n, s in zip(at, counts, steps, strict=True)]
    return slicing.strided_slice(
        x, [0, *at, 0], [0, *ends, 0], [1, *steps, 1], begin_mask=17, end_mask=17
    )
