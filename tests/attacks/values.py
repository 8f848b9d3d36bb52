"""Models that are right until they are run: indices, sizes, windows, divisors, loops."""
# ruff: noqa: E501 - the tables have a row a line

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from untrusted_nodes import Node

from attacks.named import Named, add
from attacks.scenes import SCENES

Array = np.ndarray[Any, Any]
F, INT, B = np.dtype("float32"), np.dtype("int64"), np.dtype("bool")
LOW, HIGH = -(2**63), 2**63 - 1


def f32(*shape: int) -> Array:
    """Numbers that are all different."""
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def i64(*values: Any) -> Array:
    """A vector."""
    return np.array(values, np.int64)


def node(
    op: str, *inputs: Any, domain: str = "", out: Any = F, version: int = 0, **attrs: Any
) -> Node:
    """A node with fed inputs; version 0: the newest that every row of the table reaches."""
    arrays = tuple(None if x is None else np.asarray(x) for x in inputs)
    kinds = out if isinstance(out, tuple) else (out,)
    return Node(op, domain, version or (1 if domain else 24), arrays, attrs, kinds)


def ours(op: str, *inputs: Any, **rest: Any) -> Node:
    """One of domain graphio."""
    return node(op, *inputs, domain="graphio", **rest)


X, IMAGE = f32(3, 4), f32(1, 2, 5, 5)
KERNEL = f32(2, 2, 3, 3)

INDICES: dict[str, tuple[Node, str]] = {
    "an index one beyond the last": (node("Gather", X, i64(3)), "index|indices"),
    "an index one before the first": (node("Gather", X, i64(-4)), "index|indices"),
    "index INT64_MIN": (node("Gather", X, i64(LOW)), "index|indices"),
    "index INT64_MAX": (node("Gather", X, i64(HIGH)), "index|indices"),
    "index INT32_MIN of an int32": (node("Gather", X, np.int32([-(2**31)])), "index|indices"),
    "an index into an axis of no elements": (node("Gather", f32(0, 4), i64(0)), "index|indices"),
    "axis 2 of a matrix": (node("Gather", X, i64(0), axis=2), "axis"),
    "axis -3 of a matrix": (node("Gather", X, i64(0), axis=-3), "axis"),
    "axis INT64_MIN": (node("Softmax", X, axis=LOW), "axis"),
    "an element's index beyond its axis": (
        node("GatherElements", X, i64([4, 0]), axis=1), "index|indices|shape",
    ),
    "a tuple of indices that is longer than the rank": (
        node("GatherND", X, i64([0, 0, 0])), "indices|rank|coordinate",
    ),
    "a tuple of indices beyond the shape": (node("GatherND", X, i64([0, 4])), "index|indices"),
    "a scatter beyond its axis": (
        node("ScatterElements", X, i64([9]), np.float32([[1]]), axis=1), "index|indices|shape",
    ),
    "a scatter of tuples beyond the shape": (
        node("ScatterND", X, i64([3]), f32(4)), "index|indices|shape",
    ),
    "a scatter of more than its updates": (
        node("ScatterND", X, i64([0], [1]), f32(1, 4)), "shape|updates",
    ),
    "a permutation with an axis twice": (node("Transpose", X, perm=[0, 0]), "perm"),
    "a permutation beyond the rank": (node("Transpose", X, perm=[0, 2]), "perm|axis"),
    "a permutation that is too short": (node("Transpose", X, perm=[0]), "perm"),
    "a slice of step 0": (node("Slice", X, i64(0), i64(2), i64(0), i64(0)), "step"),
    "a slice from INT64_MIN to INT64_MAX": (
        node("Slice", X, i64(LOW), i64(HIGH), i64(0), i64(1)), "",
    ),
    "a slice backwards by INT64_MIN": (
        node("Slice", X, i64(HIGH), i64(LOW), i64(0), i64(LOW)), "",
    ),
    "a slice with an axis twice": (
        node("Slice", X, i64(0, 0), i64(1, 1), i64(0, 0), i64(1, 1)), "axes|axis",
    ),
    "the 4 largest of 3": (node("TopK", X, i64(4), axis=0, out=(F, INT)), "k|K"),
    "the -1 largest": (node("TopK", X, i64(-1), out=(F, INT)), "k|K"),
    "the INT64_MAX largest": (node("TopK", X, i64(HIGH), out=(F, INT)), "k|K"),
    "a sequence longer than its axis": (
        node("ReverseSequence", X, i64(5, 1, 1), batch_axis=0, time_axis=1), "sequence",
    ),
    "an axis to squeeze whose size is not 1": (node("Squeeze", X, i64(1)), "axis|axes|dimension|size"),
    "an axis to unsqueeze twice": (node("Unsqueeze", X, i64(0, 0)), "axis|axes"),
    "a sum over an axis twice": (node("ReduceSum", X, i64(0, 0)), "axis|axes"),
    "a sum over axis 7": (node("ReduceSum", X, i64(7)), "axis|axes"),
    "the largest along axis 5": (node("ArgMax", X, axis=5, out=INT), "axis"),
    "a cumulative sum along axis 2": (node("CumSum", X, np.int64(2)), "axis"),
    "parts of another sum than the axis": (
        node("Split", X, i64(1, 1), axis=0, out=(F, F)), "split|sizes|parts|sum",
    ),
    "a part of -1": (node("Split", X, i64(4, -1), axis=0, out=(F, F)), "split|negative|sizes|parts"),
}  # fmt: skip
SIZES: dict[str, tuple[Node, str]] = {
    "a shape with -1 twice": (node("Reshape", X, i64(-1, -1)), "shape"),
    "a shape with -2": (node("Reshape", X, i64(-2, 6)), "shape"),
    "a shape of -1 with 0 elements": (
        node("Reshape", f32(0), i64(0, -1), allowzero=1), "shape",
    ),
    "a shape whose number of elements wraps to twelve": (
        node("Reshape", X, i64(2**62 + 3, 4)), "shape|reshape",
    ),
    "a shape of 2^63 - 1": (node("Reshape", X, i64(HIGH)), "shape|reshape"),
    "a shape of rank 17": (node("Reshape", f32(1), i64(*[1] * 17)), "rank|16|dims"),
    "a shape that is not a vector": (node("Reshape", X, i64([3, 4])), "shape|rank"),
    "a fill of a negative size": (node("ConstantOfShape", i64(-1)), "negative|dimension"),
    "a range of step 0": (node("Range", i64(0)[0], i64(5)[0], i64(0)[0], out=INT), "delta|step|0"),
    "a range of a NaN": (
        node("Range", np.float32(0), np.float32("nan"), np.float32(1)), "Range",
    ),
    "a range to infinity": (node("Range", np.float32(0), np.float32("inf"), np.float32(1)), "Range"),
    "-1 copies": (node("Tile", X, i64(-1, 1)), "repeats"),
    "copies of one axis of two": (node("Tile", X, i64(2)), "repeats"),
    "pads that take more than there is": (node("Pad", X, i64(-2, 0, -2, 0)), "pads?"),
    "pads of INT64_MIN": (node("Pad", X, i64(LOW, 0, 0, 0)), "pads?"),
    "pads of three numbers": (node("Pad", X, i64(1, 1, 1)), "pads?"),
    "a mirror wider than the picture": (node("Pad", X, i64(5, 0, 0, 0), mode="reflect"), ""),
    "a shape that does not broadcast": (node("Expand", X, i64(2, 4)), "shape|broadcast|Expand"),
    "vectors of 3 and 4 that are added": (node("Add", f32(3), f32(4), version=14), "shape|broadcast|Add"),
    "matrices that do not fit": (node("MatMul", X, X, version=13), "MatMul"),
    "a matrix multiplication over no elements": (node("MatMul", f32(2, 0), f32(0, 3), version=13), ""),
    "an equation without an arrow's end": (node("Einsum", X, equation="ij->ijk"), "equation|Einsum"),
    "an equation of another rank": (node("Einsum", X, equation="ijk->i"), "Einsum"),
    "a one-hot of depth -1": (
        node("OneHot", i64(0), np.int64(-1), f32(2)), "depth",
    ),
    "a mean of no elements": (node("ReduceMean", f32(0, 3), i64(0)), ""),
    "a determinant of a matrix that is not square": (node("Det", X), "square|Det"),
    "two sequences of one name of lengths": (
        node("Concat", X, f32(2, 3), axis=0), "Concat",
    ),
    "a concatenation along axis 9": (node("Concat", X, X, axis=9), "axis"),
}  # fmt: skip
WINDOWS: dict[str, tuple[Node, str]] = {
    "a stride of 0": (node("Conv", IMAGE, KERNEL, strides=[0, 1]), "strides"),
    "a stride of -1": (node("Conv", IMAGE, KERNEL, strides=[-1, 1]), "strides"),
    "one stride for two axes": (node("Conv", IMAGE, KERNEL, strides=[1]), "strides"),
    "a dilation of 0": (node("Conv", IMAGE, KERNEL, dilations=[0, 1]), "dilations"),
    "a dilation of 2^62": (node("Conv", IMAGE, KERNEL, dilations=[2**62, 1]), "Conv"),
    "pads of -1": (node("Conv", IMAGE, KERNEL, pads=[-1, 0, 0, 0]), "pads"),
    "pads of 2^31": (node("Conv", IMAGE, KERNEL, pads=[2**31] * 4), "Conv"),
    "pads of 2^63 - 1": (node("Conv", IMAGE, KERNEL, pads=[HIGH] * 4), "Conv"),
    "a kernel larger than the picture": (node("Conv", IMAGE, f32(2, 2, 7, 7)), "Conv"),
    "a kernel of no elements": (node("Conv", IMAGE, f32(2, 2, 0, 3)), "Conv"),
    "a kernel of other channels": (node("Conv", IMAGE, f32(2, 3, 3, 3)), "Conv"),
    "a kernel of another rank": (node("Conv", IMAGE, f32(2, 2, 3)), "Conv"),
    "0 groups": (node("Conv", IMAGE, KERNEL, group=0), "group"),
    "-1 groups": (node("Conv", IMAGE, KERNEL, group=-1), "group"),
    "groups that do not divide the channels": (node("Conv", IMAGE, KERNEL, group=3), "group|channels"),
    "2^63 - 1 groups": (node("Conv", IMAGE, KERNEL, group=HIGH), "group|channels"),
    "a batch of no pictures": (node("Conv", f32(0, 2, 5, 5), KERNEL), ""),
    "a padding of an unknown name": (
        node("Conv", IMAGE, KERNEL, auto_pad="SOME"), "auto_pad",
    ),
    "a pool of a window of 0": (node("MaxPool", IMAGE, kernel_shape=[0, 1]), "kernel_shape"),
    "a pool of a stride of 0": (
        node("AveragePool", IMAGE, kernel_shape=[2, 2], strides=[0, 0]), "strides",
    ),
    "a pool of pads alone": (
        node("MaxPool", IMAGE, kernel_shape=[2, 2], pads=[3, 3, 3, 3]), "",
    ),
    "a pool of a window of 2^31 - 1": (
        node("MaxPool", IMAGE, kernel_shape=[2**31 - 1] * 2), "MaxPool",
    ),
    "a transposed convolution of a stride of 0": (
        node("ConvTranspose", IMAGE, KERNEL, strides=[0, 0]), "strides",
    ),
    "a transposed convolution of an output of 2^40": (
        node("ConvTranspose", IMAGE, KERNEL, output_shape=[2**40, 2**40]), "ConvTranspose",
    ),
    "blocks of 0": (node("DepthToSpace", f32(1, 4, 2, 2), blocksize=0), "blocksize"),
    "blocks of -2": (node("DepthToSpace", f32(1, 4, 2, 2), blocksize=-2), "blocksize"),
    "blocks of 2^32, whose square wraps to 0": (
        node("DepthToSpace", f32(1, 4, 2, 2), blocksize=2**32), "DepthToSpace",
    ),
    "blocks that do not divide the picture": (
        node("SpaceToDepth", IMAGE, blocksize=2), "SpaceToDepth",
    ),
    "a picture scaled by 0": (
        node("Resize", IMAGE, None, np.float32([1, 1, 0, 1])), "scale|size|Resize",
    ),
    "a picture scaled by NaN": (
        node("Resize", IMAGE, None, np.float32([1, 1, np.nan, 1])), "scale|Resize",
    ),
    "a picture scaled by infinity": (
        node("Resize", IMAGE, None, np.float32([1, 1, np.inf, 1])), "scale|Resize|memory",
    ),
    "a picture of size -1": (node("Resize", IMAGE, None, None, i64(1, 2, -1, 5)), "size|Resize"),
    "samples at NaN and infinity": (
        node("GridSample", IMAGE, np.float32([[[[np.nan, np.inf], [-np.inf, 3e38]]]])), "",
    ),
    "a region of a picture that is not there": (
        node("RoiAlign", IMAGE, np.float32([[0, 0, 2, 2]]), i64(1)), "batch|RoiAlign",
    ),
    "a Fourier transform of length 0": (
        node("DFT", f32(1, 4, 1), np.int64(0), version=20), "DFT",
    ),
    "complex numbers of three parts": (
        ours("PairsToComplex", f32(2, 3), out=np.complex64), "PairsToComplex|dimension of 2",
    ),
}  # fmt: skip
NUMBERS: dict[str, tuple[Node, str]] = {
    "an integer divided by 0": (node("Div", np.int32([1]), np.int32([0]), out=np.int32, version=14), ""),
    "INT32_MIN divided by -1": (
        node("Div", np.int32([-(2**31)]), np.int32([-1]), out=np.int32, version=14), "",
    ),
    "INT64_MIN divided by -1": (node("Div", i64(LOW), i64(-1), out=INT, version=14), ""),
    "INT64_MIN modulo -1": (node("Mod", i64(LOW), i64(-1), out=INT, version=13), ""),
    "an integer modulo 0": (node("Mod", i64(5), i64(0), out=INT, version=13), ""),
    "INT64_MIN negated": (node("Neg", i64(LOW), out=INT, version=13), ""),
    "the absolute value of INT64_MIN": (node("Abs", i64(LOW), out=INT, version=13), ""),
    "INT64_MAX plus 1": (node("Add", i64(HIGH), i64(1), out=INT, version=14), ""),
    "INT64_MIN squared": (node("Mul", i64(LOW), i64(LOW), out=INT, version=14), ""),
    "0 to the power of INT64_MIN": (node("Pow", i64(2), i64(LOW), out=INT, version=15), ""),
    "a shift by more bits than there are": (
        node("BitShift", np.uint32([1]), np.uint32([4000000000]), direction="LEFT",
             out=np.uint32, version=11), "",
    ),
    "NaN as an integer": (node("Cast", np.float32([np.nan, np.inf, 3e38]), to=7, out=INT), ""),
    "3e38 as int8": (node("Cast", np.float32([3e38, -3e38, 300]), to=3, out=np.int8), ""),
    "a cast to a type that is not there": (node("Cast", X, to=99), "99|to"),
    "a cast to no type": (node("Cast", X, to=0), "to|element type"),
    "a quantisation by a scale of 0": (
        node("QuantizeLinear", X, np.float32(0), np.uint8(0), out=np.uint8, version=21), "",
    ),
    "a quantisation by a NaN": (
        node("QuantizeLinear", X, np.float32("nan"), np.uint8(0), out=np.uint8, version=21), "",
    ),
    "a matrix without an inverse": (ours("MatrixInverse", f32(3, 3) * 0), "invert|singular|Matrix"),
    "a string that is not a number": (
        ours("StringToNumber", np.array([b"1e"], object), dtype=1), "1e",
    ),
    "a number that is not a picture's channel": (
        node("Unique", X, axis=2, out=(F, INT, INT, INT)), "axis",
    ),
    "a tensor of text where numbers are needed": (
        node("Relu", np.array([b"a"], object), version=14, out=object), "string",
    ),
    "bools that are added": (
        node("Add", np.array([True]), np.array([True]), out=B, version=14), "bool",
    ),
    "numbers of two types that are added": (
        node("Add", f32(1), np.float64([1]), version=14), "type",
    ),
}  # fmt: skip
HUGE: dict[str, tuple[Node, str]] = {
    "a fill of 2^62 elements": (node("ConstantOfShape", i64(2**31, 2**31)), "ConstantOfShape"),
    "a fill of 2^60 elements": (node("ConstantOfShape", i64(2**60)), "ConstantOfShape"),
    "a fill whose bytes wrap to 16": (node("ConstantOfShape", i64(2**62 + 4)), "ConstantOfShape"),
    "2^60 copies": (node("Tile", X, i64(2**60, 1)), "Tile"),
    "a broadcast to 2^50": (node("Expand", f32(1), i64(2**50)), "Expand|allocate"),
    "a range of 2^62": (node("Range", i64(0)[0], i64(2**62)[0], i64(1)[0], out=INT), "Range"),
    "a one-hot of depth 2^60": (node("OneHot", i64(0), np.int64(2**60), f32(2)), "OneHot"),
    "pads of 2^50": (node("Pad", X, i64(2**50, 0, 0, 0)), "Pad"),
    "a picture of 2^30 x 2^30": (
        node("Resize", IMAGE, None, None, i64(1, 2, 2**30, 2**30)), "Resize",
    ),
}  # fmt: skip


def _named(section: str, table: dict[str, tuple[Node, str]]) -> None:
    for name, (each, words) in table.items():
        feeds = each.model()[1]
        add(Named(section, name, lambda each=each: each.file()[0], feeds, words))  # type: ignore[misc]


_named("indices", INDICES)
_named("size arithmetic", SIZES)
_named("division", WINDOWS)
_named("element types", NUMBERS)
_named("resource exhaustion", HUGE)


def _scene(label: str, **feeds: Any) -> tuple[Callable[[], bytes], dict[str, Array]]:
    builder, given = SCENES[label]()
    return builder.bytes, {**given, **{k: np.asarray(v) for k, v in feeds.items()}}


LOOP, SCAN = "a loop that carries x and stacks it", "a scan over the rows of x with a sum"
RUNS = {
    "a Loop of -1 steps": ("division", LOOP, {"trips": -1}, ""),
    "a Loop of INT64_MIN steps": ("division", LOOP, {"trips": LOW}, ""),
    "a Loop of two conditions": ("recursion", LOOP, {"cond": [True, False]}, "condition"),
    "a Scan of lengths that differ": ("indices", SCAN, {"sum": f32(4)}, "Add|next"),
    "a Scan of a scalar": ("indices", SCAN, {"x": np.float32(1)}, "Scan"),
    "the second of one": ("indices", "one of a sequence", {"at": 2}, "position"),
    "the -3rd of two": ("indices", "one of a sequence", {"at": -3}, "position"),
    "a sequence's position INT64_MIN": ("indices", "a sequence that loses one", {"at": LOW}, "position"),
    "a position after the end": ("indices", "a sequence that gets one", {"at": 3}, "position"),
    "a split of -1": ("indices", "a tensor in parts", {"split": i64(4, -1)}, "split"),
    "random numbers of shape -1": ("size arithmetic", "randomuniform", {"shape": i64(-1)}, "shape|dimension"),
    "random numbers of 2^62": (
        "resource exhaustion", "randomnormal", {"shape": i64(2**31, 2**31)}, "Random|shape|memory",
    ),
    "random integers below what they begin with": (
        "division", "randominteger", {"low": 5, "high": -5}, "low|high",
    ),
    "random integers of the full range": (
        "division", "randominteger", {"low": LOW, "high": HIGH}, "",
    ),
    "a variable that is assigned another shape": (
        "element types", "a variable assigned", {"x": f32(7)}, "shape|v",
    ),
    "a condition that does not hold": ("division", "a condition that holds", {"cond": False}, "assert|Assert"),
}  # fmt: skip
for _name, (_section, _label, _feeds, _words) in RUNS.items():
    _file, _given = _scene(_label, **_feeds)
    add(Named(_section, _name, _file, _given, _words))
_file, _given = _scene(LOOP, trips=HIGH)
add(Named("recursion", "a Loop without an end", _file, _given, "Loop", ()))
