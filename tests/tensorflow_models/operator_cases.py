"""One call of TensorFlow's for each operator that graphio reads, for make.py."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import tensorflow as tf

R = tf.raw_ops
V = SimpleNamespace

_UNARY = (
    "Abs Atan Ceil Cos Cosh Elu Erf Erfc Exp Expm1 Floor Inv Neg Reciprocal Relu Relu6 Rint Round "
    "Selu Sigmoid Sign Sin Sinh Softplus Softsign Square Tan Tanh ZerosLike OnesLike IsNan IsInf "
    "IsFinite Asinh L2Loss Rank StopGradient Snapshot"
).split()
_POSITIVE = "Log Log1p Rsqrt Sqrt Lgamma Digamma Acosh".split()
_SMALL = "Acos Asin Atanh".split()
_BINARY = (
    "Add AddV2 Atan2 Div DivNoNan Equal FloorDiv FloorMod Greater GreaterEqual Less LessEqual "
    "Maximum Minimum Mul NotEqual RealDiv SquaredDifference Sub Xdivy TruncateMod"
).split()
_WHOLE = (
    "Add Div FloorDiv FloorMod Maximum Mod Mul TruncateDiv TruncateMod BitwiseAnd BitwiseOr "
    "BitwiseXor LeftShift"
).split()
_REDUCTIONS = "Sum Mean Max Min Prod".split()


def inputs() -> dict[str, np.ndarray]:
    """The values that are fed."""
    generator = np.random.default_rng(11)
    return {
        "x": generator.normal(size=(2, 3, 4)).astype(np.float32),
        "z": generator.normal(size=(2, 3, 4)).astype(np.float32),
        "i": generator.integers(-9, 9, (2, 3)).astype(np.int32),
        "j": generator.integers(1, 5, (2, 3)).astype(np.int32),
        "b": np.array([[True, False, True], [False, False, True]]),
        "image": generator.normal(size=(2, 6, 7, 4)).astype(np.float32),
        "video": generator.normal(size=(1, 4, 4, 4, 2)).astype(np.float32),
        "square": (np.eye(3) * 3 + generator.normal(size=(2, 3, 3)) * 0.3).astype(np.float32),
    }


def _named(names: list[str], call: Callable[[Any], Any]) -> dict[str, Any]:
    return {name: call(getattr(R, name)) for name in names}


def cases(f: Any) -> dict[str, Any]:
    """Results by a name, of the tensors that are fed."""
    small, positive = tf.tanh(f.x) * 0.9, tf.abs(f.x) + 1.5
    weights = tf.constant(np.random.default_rng(2).normal(size=(3, 3, 4, 2)), tf.float32)
    cube = tf.constant(np.random.default_rng(2).normal(size=(2, 2, 2, 2, 3)), tf.float32)
    four = tf.constant([0.5, -1.0, 2.0, 0.25])
    made: dict[str, Any] = {}
    for name in _UNARY:
        argument = "t" if name == "L2Loss" else "input" if name in _INPUT else None
        made[name] = _one(name, f.x, argument)
    made |= {name: _one(name, positive) for name in _POSITIVE}
    made |= {name: _one(name, small) for name in _SMALL}
    made |= _named(_BINARY, lambda op: op(**_two(op, f.x, f.z)))
    made |= {f"{n}_int": getattr(R, n)(**_two(getattr(R, n), f.i, f.j)) for n in _WHOLE}
    for name in _REDUCTIONS:
        made[name] = getattr(R, name)(input=f.x, axis=[0, -1], keep_dims=True)
    made |= {
        "Pow": R.Pow(x=positive, y=f.z), "Xlogy": R.Xlogy(x=f.x, y=positive),
        "All": R.All(input=f.b, axis=[1]), "Any": R.Any(input=f.b, axis=0),
        "LogicalAnd": R.LogicalAnd(x=f.b, y=f.i > 0), "LogicalNot": R.LogicalNot(x=f.b),
        "LogicalOr": R.LogicalOr(x=f.b, y=f.i > 0), "Invert": R.Invert(x=f.i),
        "AddN": R.AddN(inputs=[f.x, f.z, f.x]), "ClipByValue": R.ClipByValue(
            t=f.x, clip_value_min=-0.5, clip_value_max=0.5),
        "ArgMax": R.ArgMax(input=f.x, dimension=1), "ArgMin": R.ArgMin(
            input=f.x, dimension=-1, output_type=tf.int32),
        "Cumsum": R.Cumsum(x=f.x, axis=1, exclusive=True, reverse=True),
        "Cumprod": R.Cumprod(x=f.x, axis=-1),
        "MatMul": R.MatMul(a=f.x[0], b=f.z[0], transpose_b=True),
        "BatchMatMulV2": R.BatchMatMulV2(x=f.x, y=f.z, adj_y=True),
        "Einsum": R.Einsum(inputs=[f.x, f.z], equation="abc,adc->bd"),
        "Cast": R.Cast(x=f.x * 3.0, DstT=tf.int32),
        "LeakyRelu": R.LeakyRelu(features=f.x, alpha=0.3),
        "Softmax": R.Softmax(logits=f.x), "LogSoftmax": R.LogSoftmax(logits=f.x),
        "BiasAdd": R.BiasAdd(value=f.x, bias=four),
        # arrays
        "BroadcastTo": R.BroadcastTo(input=f.x[:, :1], shape=[2, 3, 4]),
        "ConcatV2": R.ConcatV2(values=[f.x, f.z], axis=-1),
        "DepthToSpace": R.DepthToSpace(input=f.image, block_size=2),
        "SpaceToDepth": R.SpaceToDepth(input=f.image[:, :, :6], block_size=2),
        "SpaceToBatchND": R.SpaceToBatchND(
            input=f.image, block_shape=[2, 2], paddings=[[0, 0], [0, 1]]),
        "BatchToSpaceND": R.BatchToSpaceND(
            input=tf.tile(f.image, [2, 1, 1, 1]), block_shape=[2, 2], crops=[[1, 0], [0, 1]]),
        "ExpandDims": R.ExpandDims(input=f.x, axis=1), "Fill": R.Fill(dims=[2, 3], value=1.5),
        "GatherV2": R.GatherV2(params=f.x, indices=[2, 0], axis=1),
        "GatherV2_batch": R.GatherV2(
            params=f.x, indices=[[0, 2], [1, 1]], axis=1, batch_dims=1),
        "GatherNd": R.GatherNd(params=f.x, indices=[[0, 1], [1, 2]]),
        "InvertPermutation": R.InvertPermutation(x=[2, 0, 1]),
        "MatrixBandPart": R.MatrixBandPart(input=f.square, num_lower=1, num_upper=0),
        "MatrixDiag": R.MatrixDiag(diagonal=f.x), "MatrixDiagPart": R.MatrixDiagPart(
            input=f.square), "MatrixInverse": R.MatrixInverse(input=f.square),
        "MirrorPad": R.MirrorPad(input=f.x, paddings=[[0, 0], [1, 1], [2, 0]], mode="REFLECT"),
        "OneHot": R.OneHot(indices=f.j, depth=5, on_value=2.0, off_value=-1.0, axis=1),
        "Pack": R.Pack(values=[f.x, f.z], axis=1), "Unpack": R.Unpack(
            value=f.x, num=3, axis=1)[1],
        "Pad": R.Pad(input=f.x, paddings=[[0, 1], [1, 0], [2, 2]]),
        "PadV2": R.PadV2(input=f.x, paddings=[[0, 1], [1, 0], [2, 2]], constant_values=3.0),
        "Range": R.Range(start=1, limit=9, delta=3), "LinSpace": R.LinSpace(
            start=0.0, stop=1.0, num=5),
        "Reshape": R.Reshape(tensor=f.x, shape=[4, -1]),
        "ReverseV2": R.ReverseV2(tensor=f.x, axis=[0, 2]),
        "ReverseSequence": R.ReverseSequence(
            input=f.x, seq_lengths=[2, 3], seq_dim=1, batch_dim=0),
        "Roll": R.Roll(input=f.x, shift=[1], axis=[2]),
        "ScatterNd": R.ScatterNd(indices=[[1], [3]], updates=[1.0, 2.0], shape=[5]),
        "TensorScatterUpdate": R.TensorScatterUpdate(
            tensor=f.x, indices=[[0, 1]], updates=[[9.0, 8.0, 7.0, 6.0]]),
        "TensorScatterAdd": R.TensorScatterAdd(
            tensor=f.x, indices=[[0, 1]], updates=[[9.0, 8.0, 7.0, 6.0]]),
        "Select": R.Select(condition=f.x > 0.0, x=f.x, y=f.z),
        "SelectV2": R.SelectV2(condition=f.b[:, :, None], t=f.x, e=0.5),
        "Shape": R.Shape(input=f.x, out_type=tf.int64), "Size": R.Size(input=f.x),
        "ShapeN": R.ShapeN(input=[f.x, f.z[0]])[1],
        "Slice": R.Slice(input=f.x, begin=[0, 1, 1], size=[2, -1, 2]),
        "Split": R.Split(axis=2, value=f.x, num_split=2)[1],
        "SplitV": R.SplitV(value=f.x, size_splits=[1, 3], axis=2, num_split=2)[1],
        "Squeeze": R.Squeeze(input=f.x[:, :1], axis=[1]),
        "StridedSlice": f.x[::-1, 1:, tf.newaxis, ..., 2],
        "Tile": R.Tile(input=f.x, multiples=[1, 2, 1]),
        "TopKV2": R.TopKV2(input=f.x, k=2)[0], "TopKV2_indices": R.TopKV2(input=f.x, k=2)[1],
        "Transpose": R.Transpose(x=f.x, perm=[2, 0, 1]),
        "Unique": R.Unique(x=[3, 1, 3, 2])[1], "Where": R.Where(condition=f.b),
        "SegmentSum": R.SegmentSum(data=f.x[0], segment_ids=[0, 0, 2]),
        "UnsortedSegmentSum": R.UnsortedSegmentSum(
            data=f.x[0], segment_ids=[2, 0, 2], num_segments=4),
        "Cholesky": R.Cholesky(input=tf.matmul(f.square, f.square, transpose_b=True)),
        "IdentityN": R.IdentityN(input=[f.x, f.i])[1],
        "EnsureShape": R.EnsureShape(input=f.x, shape=[None, 3, 4]),
        # networks
        "Conv2D": R.Conv2D(input=f.image, filter=weights, strides=[1, 2, 2, 1], padding="SAME"),
        "Conv2D_explicit": R.Conv2D(
            input=f.image, filter=weights, strides=[1, 1, 1, 1], padding="EXPLICIT",
            explicit_paddings=[0, 0, 2, 1, 0, 1, 0, 0], dilations=[1, 2, 1, 1]),
        "Conv2DBackpropInput": R.Conv2DBackpropInput(
            input_sizes=[2, 12, 14, 2], filter=tf.transpose(weights, [0, 1, 3, 2]),
            out_backprop=f.image, strides=[1, 2, 2, 1], padding="SAME"),
        "Conv3D": R.Conv3D(
            input=f.video, filter=cube, strides=[1, 1, 2, 1, 1], padding="VALID"),
        "DepthwiseConv2dNative": R.DepthwiseConv2dNative(
            input=f.image, filter=weights, strides=[1, 1, 1, 1], padding="VALID"),
        "MaxPool": R.MaxPool(
            input=f.image, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME"),
        "AvgPool": R.AvgPool(
            value=f.image, ksize=[1, 3, 2, 1], strides=[1, 2, 1, 1], padding="SAME"),
        "MaxPool3D": R.MaxPool3D(
            input=f.video, ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="VALID"),
        "FusedBatchNormV3": R.FusedBatchNormV3(
            x=f.image, scale=four, offset=four, mean=four, variance=tf.abs(four),
            is_training=False, epsilon=0.01)[0],
        "FusedBatchNormV3_training": R.FusedBatchNormV3(
            x=f.image, scale=four, offset=four, mean=[], variance=[], epsilon=0.01)[0],
        "LRN": R.LRN(input=f.image, depth_radius=1, bias=1.5, alpha=0.5),
        "ResizeBilinear": R.ResizeBilinear(
            images=f.image, size=[9, 5], half_pixel_centers=True),
        "ResizeNearestNeighbor": R.ResizeNearestNeighbor(images=f.image, size=[9, 5]),
    }  # fmt: skip
    return made


_INPUT = ("Rank", "StopGradient", "Snapshot")


def _one(name: str, x: Any, argument: str | None = None) -> Any:
    op = getattr(R, name)
    names = op.__signature__.parameters if hasattr(op, "__signature__") else {}
    return op(**{argument or next(iter(names), "x"): x})


def _two(op: Any, x: Any, y: Any) -> dict[str, Any]:
    names = list(op.__signature__.parameters) if hasattr(op, "__signature__") else ["x", "y"]
    return dict(zip(names[:2], (x, y), strict=True))
