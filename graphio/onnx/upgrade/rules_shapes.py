"""Rules for shapes: broadcasting by attributes, operators that took their input as a matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx

from graphio.onnx.upgrade.step import Step

__all__ = [
    "as_matrix",
    "broadcast_b",
    "group_scale",
    "in_double",
    "slope_of_channels",
    "tile_axis",
]

_INTEGERS = frozenset(
    (
        onnx.TensorProto.INT8,
        onnx.TensorProto.INT16,
        onnx.TensorProto.INT32,
        onnx.TensorProto.INT64,
        onnx.TensorProto.UINT8,
        onnx.TensorProto.UINT16,
        onnx.TensorProto.UINT32,
        onnx.TensorProto.UINT64,
    )
)


def broadcast_b(step: Step) -> None:
    """The second input's dimensions start at the first one's `axis`, or end where it ends.

    The second case is how numpy broadcasts; in the first, B takes ones after its dimensions.
    """
    broadcast, axis = step.take("broadcast", 0), step.take("axis")
    if not broadcast or axis is None:
        return
    a, b = step.input(0), step.input(1)
    rank_a, rank_b = step.rank(a), step.rank(b)
    if rank_a is None or rank_b is None:
        step.set_input(1, _ones_behind(step, a, b, axis))
        return
    start = axis + rank_a if axis < 0 else axis
    missing = range(rank_b, rank_a - start)
    if missing:
        axes = step.constant(list(missing), "axes")
        step.set_input(1, step.add("Unsqueeze", b, axes, suffix="B"))


def _ones_behind(step: Step, a: str, b: str, axis: int) -> str:
    """B with rank(A) - axis - rank(B) ones after its dimensions, none where that is negative."""
    shape = step.add("Shape", b, suffix="shape")
    positions = step.add("Shape", step.add("Shape", a, suffix="tail", start=axis), suffix="places")
    taken = step.add("Shape", shape, suffix="taken")
    count = step.add("Sub", positions, taken, suffix="difference")
    count = step.add("Max", count, step.constant([0], "zero"), suffix="count")
    whole = step.add("Concat", shape, _ones(step, count), suffix="whole", axis=0)
    return step.add("Reshape", b, whole, suffix="B", allowzero=1)


def _ones(step: Step, count: str) -> str:
    """A vector of as many ones as the vector `count` of one element says."""
    one = onnx.numpy_helper.from_array(np.ones(1, np.int64))
    return step.add("ConstantOfShape", count, suffix="ones", value=one)


def slope_of_channels(step: Step) -> None:
    """PRelu's slope of one dimension belongs to X's dimension 1."""
    x, slope = step.input(0), step.input(1)
    dims, rank = step.dims(slope), step.rank(x)
    if dims is not None and (len(dims) != 1 or dims[0] == 1):
        return
    if rank is None or dims is None:
        rest = step.add("Shape", x, suffix="spatial", start=2)
        ones = _ones(step, step.add("Shape", rest, suffix="count"))
        shape = step.add("Concat", step.constant([-1], "all"), ones, suffix="shape", axis=0)
        step.set_input(1, step.add("Reshape", slope, shape, suffix="slope"))
    elif rank > 2:
        axes = step.constant(list(range(1, rank - 1)), "axes")
        step.set_input(1, step.add("Unsqueeze", slope, axes, suffix="slope"))


def as_matrix(default: int) -> Callable[[Step], None]:
    """Softmax, LogSoftmax and Hardmax worked over all dimensions from `axis` on, as if they were
    one."""

    def rule(step: Step) -> None:
        if step.attribute("axis") is None:
            step.set("axis", default)
        alone = _only_axis(step)
        if alone is not None:
            step.set("axis", alone)
            return
        axis = step.attribute("axis")
        assert axis is not None
        data = step.input(0)
        shape = step.add("Shape", data, suffix="shape")
        matrix = step.add("Flatten", data, suffix="matrix")
        step.before[-1].attribute.append(axis)
        step.set_input(0, matrix)
        step.set("axis", 1)
        flat, y = step.redirect_output(0, "flat")
        step.add_after("Reshape", flat, shape, output=y, suffix="reshape", allowzero=1)

    return rule


def _only_axis(step: Step) -> int | None:
    """The only dimension from `axis` on that is more than 1, where that is certain."""
    axis = step.attribute("axis")
    dims = step.dims(step.input(0))
    if dims is None or axis is None or axis.ref_attr_name:
        return None
    start = axis.i + len(dims) if axis.i < 0 else axis.i
    if not 0 <= start < len(dims):
        return None
    wide = [i for i in range(start, len(dims)) if dims[i] != 1]
    return (wide or [start])[0] if len(wide) <= 1 else None


def group_scale(step: Step) -> None:
    """GroupNormalization 18 has a scale and a bias per group instead of per channel."""
    groups = step.value("num_groups")
    channels = step.add("Shape", step.input(0), suffix="channels", start=1, end=2)
    count = step.constant([groups], "groups")
    each = step.add("Div", channels, count, suffix="channels_per_group")
    grid = step.add("Concat", count, each, suffix="grid", axis=0)
    one, flat = step.constant([1], "axes"), step.constant([-1], "all")
    for i, name in ((1, "scale"), (2, "bias")):
        column = step.add("Unsqueeze", step.input(i), one, suffix=f"{name}_column")
        wide = step.add("Expand", column, grid, suffix=f"{name}_grid")
        step.set_input(i, step.add("Reshape", wide, flat, suffix=name))
    if step.type(step.input(0)) == onnx.TensorProto.DOUBLE:
        step.set("stash_type", onnx.TensorProto.DOUBLE)  # it never went through float32


def tile_axis(step: Step) -> None:
    """Tile 1 repeats along one axis: inputs data, tiles, axis."""
    data, tiles, axis = (step.input(i) for i in range(3))
    rank = step.add("Shape", step.add("Shape", data, suffix="shape"), suffix="rank")
    vector = step.constant([1], "vector")
    positions = []
    for name, value in (("tiles", tiles), ("axis", axis)):
        whole = step.add("Cast", value, suffix=f"{name}_int64", to=onnx.TensorProto.INT64)
        positions.append(step.add("Reshape", whole, vector, suffix=name))
    repeats = step.add(
        "ScatterElements", _ones(step, rank), positions[1], positions[0], suffix="repeats", axis=0
    )
    step.set_inputs(data, repeats)


def in_double(step: Step) -> None:
    """The operator takes integers no more: it works in float64, and the result is cut back."""
    number = step.type(step.input(0))
    if number not in _INTEGERS:
        return
    wide = step.add("Cast", step.input(0), suffix="double", to=onnx.TensorProto.DOUBLE)
    step.set_input(0, wide)
    made, y = step.redirect_output(0, "real")
    step.add_after("Cast", made, output=y, suffix="integer", to=number)
