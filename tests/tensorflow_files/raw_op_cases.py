"""Calls of tf.raw_ops with values that TensorFlow recorded.

python raw_op_cases.py    with TensorFlow 2.21 installed: writes raw_op_cases.json
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

STORED = Path(__file__).with_suffix(".json")
DEFINITIONS = Path(__file__).resolve().parents[2] / "graphio/tensorflow_files/op_definitions.json"


class Case(NamedTuple):
    """A call.

    Attributes:
        op: type of operation.
        inputs: arrays, lists of arrays and Held variables, in the order of the definition.
        attributes: by name.
        keep: the outputs that are compared; empty: all.
    """

    op: str
    inputs: tuple[Any, ...]
    attributes: Mapping[str, Any] = {}
    keep: tuple[int, ...] = ()


class Held(NamedTuple):
    """A variable, whose value after the operation is compared, too."""

    value: Any


def _numbers(*shape: int, seed: int = 1) -> Any:
    return np.random.RandomState(seed).uniform(-2, 2, shape).astype(np.float32)


X = _numbers(2, 3, 4)
Z = _numbers(2, 3, 4, seed=2)
POSITIVE = np.abs(X) + np.float32(1.5)
SMALL = np.tanh(X) * np.float32(0.9)
WHOLE = np.array([[7, -3, 5], [-8, 4, 0]], np.int32)
J = np.array([[2, 1, 3], [4, 3, 1]], np.int32)
B = np.array([[True, False, True], [False, False, True]])
IMAGE = _numbers(2, 6, 7, 3)
BRIGHT = np.abs(_numbers(2, 4, 5, 3, seed=4)) / 2
VIDEO = _numbers(1, 4, 4, 4, 2)
SQUARE = (np.eye(3) * 3 + _numbers(2, 3, 3) * 0.3).astype(np.float32)
EVEN = SQUARE @ SQUARE.transpose(0, 2, 1)
LOWER = np.linalg.cholesky(EVEN).astype(np.float32)
COMPLEX = (X + 1j * Z).astype(np.complex64)
CUBE = (_numbers(2, 4, 4, 4) + 1j * _numbers(2, 4, 4, 4, seed=5)).astype(np.complex64)
WORDS = np.array([[b"one", b"Two three"], [b"", b"a,b"]], object)
WEIGHTS = _numbers(3, 3, 3, 2)
FILTER3 = _numbers(2, 2, 2, 2, 3)
INDICES = np.array([[0, 1], [1, 0], [1, 3]], np.int64)
VALUES = np.array([1.5, -2.0, 3.0], np.float32)
SHAPE = np.array([2, 4], np.int64)
MORE = np.array([[0, 1], [0, 2], [1, 3]], np.int64)
SPARSE, SPARSE2 = (INDICES, VALUES, SHAPE), (MORE, VALUES[::-1].copy(), SHAPE)
SEGMENTS = np.array([0, 0, 2], np.int32)
ROWS = np.array([2, 0, 1], np.int32)
TABLE = _numbers(3, 4)
SAME = {"strides": [1, 2, 2, 1], "padding": "SAME"}
POOL = SAME | {"ksize": [1, 2, 2, 1]}
POOL3 = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "SAME"}


def many(ops: str, *inputs: Any, **attributes: Any) -> Iterator[Case]:
    """The same call of several operations."""
    for op in ops.split():
        yield Case(op, inputs, attributes)


def cases() -> dict[str, Case]:
    """All calls by name: the operation, and a number where there are several of one."""
    found: dict[str, Case] = {}
    for case in (*_elements(), *_arrays(), *_matrices(), *_nets(), *_slopes(), *_text(),
                 *_sparse(), *_various(), *_training()):  # fmt: skip
        count = sum(key.partition(" ")[0] == case.op for key in found)
        found[f"{case.op} {count}" if count else case.op] = case
    return found


def _elements() -> Iterator[Case]:
    yield from many(
        "Abs Atan Ceil Cos Cosh Elu Erf Erfc Exp Expm1 Floor Inv Neg Reciprocal Relu Relu6 Rint "
        "Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Square Tan Tanh ZerosLike OnesLike "
        "IsNan IsInf IsFinite Asinh L2Loss Rank StopGradient Snapshot Identity DeepCopy "
        "DebugGradientIdentity GuaranteeConst",
        X,
    )
    yield from many("Log Log1p Rsqrt Sqrt Lgamma Digamma Acosh", POSITIVE)
    yield from many("Acos Asin Atanh", SMALL)
    yield from many("BesselI0e BesselI1e", X)
    yield from many("Igamma Igammac IgammaGradA Polygamma", np.round(POSITIVE), POSITIVE[:, ::-1])
    yield from many("Zeta", POSITIVE, np.abs(X))
    yield from many("NextAfter", X, Z)
    yield Case("Betainc", (POSITIVE, np.abs(Z), np.abs(SMALL)))
    yield from many("Softmax LogSoftmax", TABLE)
    yield from many(
        "Add AddV2 Atan2 Div DivNoNan Equal FloorDiv FloorMod Greater GreaterEqual Less LessEqual "
        "Maximum Minimum Mul NotEqual RealDiv SquaredDifference Sub Xdivy TruncateMod MulNoNan "
        "ApproximateEqual Mod",
        X,
        Z,
    )
    yield from many("Pow", POSITIVE, Z)
    yield from many("Xlogy", X, POSITIVE)
    yield from many(
        "Add Div FloorDiv FloorMod Maximum Mod Mul TruncateDiv TruncateMod BitwiseAnd BitwiseOr "
        "BitwiseXor LeftShift RightShift",
        WHOLE,
        J,
    )
    yield from many("Invert", WHOLE)
    yield from many("LogicalAnd LogicalOr", B, ~B)
    yield from many("LogicalNot", B)
    yield from many("Sum Mean Max Min Prod EuclideanNorm", X, [0, -1], keep_dims=True)
    yield from many("All Any", B, [1])
    yield from many("ArgMax ArgMin", X, 1, output_type="int32")
    yield from many("Cumsum Cumprod", X, 1, exclusive=True, reverse=True)
    yield Case("CumulativeLogsumexp", (X, 1), {"reverse": True})
    yield Case("AddN", ([X, Z, X],))
    yield Case("AccumulateNV2", ([X, Z],), {"shape": [2, 3, 4]})
    yield Case("Bitcast", (X,), {"type": "int32"})
    yield Case("CheckNumerics", (X,), {"message": "none"})
    yield Case("Cast", (X,), {"DstT": "int32"})
    yield Case("ClipByValue", (X, np.float32(-0.5), np.float32(0.5)))
    yield Case("LeakyRelu", (X,), {"alpha": 0.3})
    yield Case("MatMul", (X[0], Z[0]), {"transpose_b": True})
    yield from many("BatchMatMul BatchMatMulV2", X, Z, adj_y=True)
    yield Case("Einsum", ([X, Z],), {"equation": "abc,adc->abd"})
    yield from many("Real Imag Conj Angle ComplexAbs", COMPLEX)
    yield Case("Complex", (X, Z))
    yield Case("Cross", (TABLE[:, :3], _numbers(3, 3, seed=8)))


def _arrays() -> Iterator[Case]:
    pads = np.array([[1, 0], [0, 2], [1, 1]], np.int32)
    yield Case("BatchToSpaceND", (_numbers(4, 2, 3, 1), [2, 2], [[0, 1], [1, 0]]))
    yield Case("SpaceToBatchND", (IMAGE, [2, 2], [[0, 0], [1, 0]]))
    yield Case("BatchToSpace", (_numbers(4, 2, 3, 1), [[0, 1], [1, 0]]), {"block_size": 2})
    yield Case("SpaceToBatch", (IMAGE, [[0, 0], [1, 0]]), {"block_size": 2})
    yield Case("DepthToSpace", (_numbers(1, 2, 3, 8),), {"block_size": 2})
    yield Case("SpaceToDepth", (_numbers(1, 4, 6, 2),), {"block_size": 2})
    yield Case("BroadcastTo", (TABLE, [2, 3, 4]))
    yield Case("BroadcastArgs", (np.array([2, 1], np.int32), np.array([3], np.int32)))
    yield Case("Concat", (np.int32(1), [X, Z]))
    yield Case("ConcatV2", ([X, Z], 1))
    yield Case("Const", (), {"value": [[1.5, 2.0]], "dtype": "float32"})
    yield Case("EnsureShape", (X,), {"shape": [2, None, 4]})
    yield Case("ExpandDims", (X, 1))
    yield Case("Fill", ([2, 3], np.float32(1.5)))
    yield Case("Gather", (X, np.array([1, 0, 1])))
    yield Case("GatherV2", (X, np.array([[2, 0], [1, 1]]), 1), {"batch_dims": 0})
    yield Case("GatherNd", (X, [[0, 2], [1, 1]]))
    yield Case("IdentityN", ([X, WHOLE],))
    yield Case("InvertPermutation", (ROWS,))
    yield Case("LinSpace", (np.float32(1), np.float32(3), 5))
    yield Case("MatrixBandPart", (SQUARE, 1, 0))
    yield Case("BatchMatrixBandPart", (SQUARE, np.int64(1), np.int64(0)))
    yield from many("MatrixDiag BatchMatrixDiag", X)
    yield from many("MatrixDiagPart BatchMatrixDiagPart", X)
    yield from many("MatrixSetDiag BatchMatrixSetDiag", X, X[:, :, 0])
    yield Case("MatrixDiagV2", (_numbers(2, 2, 3), [-1, 0], 3, 3, np.float32(9)))
    yield Case("MatrixDiagPartV2", (X, [-1, 1], np.float32(9)))
    yield Case("MatrixSetDiagV2", (X, _numbers(2, 2, seed=3), -1))
    yield from many("MatrixDeterminant BatchMatrixDeterminant", SQUARE)
    yield Case("Diag", (TABLE,))
    yield Case("DiagPart", (SQUARE[0],))
    yield Case("MirrorPad", (X, pads % 2), {"mode": "REFLECT"})
    yield Case("OneHot", (WHOLE, 5, np.float32(2), np.float32(-1)), {"axis": 1})
    yield Case("Pack", ([X, Z],), {"axis": 1})
    yield Case("ParallelConcat", ([X[:1], Z[:1]],), {"shape": [2, 3, 4]})
    yield Case("Pad", (X, pads))
    yield Case("PadV2", (X, pads, np.float32(7)))
    yield Case("PreventGradient", (X,), {"message": "none"})
    yield Case("Range", (1, 9, 3))
    yield Case("Reshape", (X, [4, -1]))
    yield Case("ReverseSequence", (X, np.array([2, 3])), {"seq_dim": 1})
    yield Case("ReverseV2", (X, [0, 2]))
    yield Case("Reverse", (X, [True, False, True]))
    yield Case("Roll", (X, [1, -2], [0, 2]))
    yield Case("ScatterNd", ([[1], [3]], X, [5, 3, 4]))
    for word in "Max Mean Min Prod Sum".split():
        yield Case(f"Segment{word}", (TABLE, SEGMENTS))
    for word in "Max Min Prod Sum".split():
        yield Case(f"UnsortedSegment{word}", (TABLE, np.array([2, 0, 2]), 3))
    yield from many("Select", B, WHOLE, J)
    yield Case("SelectV2", (B[:, :1], WHOLE, J))
    yield Case("Shape", (X,), {"out_type": "int64"})
    yield Case("ShapeN", ([X, X[0]],))
    yield Case("Size", (X,))
    yield Case("Slice", (X, [0, 1, 1], [2, -1, 2]))
    yield Case("Split", (2, X), {"num_split": 2})
    yield Case("SplitV", (X, [1, 3], 2), {"num_split": 2})
    yield Case("Squeeze", (X[:, :1],), {"axis": [1]})
    yield Case("StridedSlice", (X, [0, 2, 0], [2, 0, 4], [1, -1, 2]), {"shrink_axis_mask": 1})
    yield from many("TensorScatterAdd TensorScatterSub TensorScatterUpdate", X, [[1, 2]], X[0, :1])
    yield from many("InplaceAdd InplaceSub InplaceUpdate", TABLE, ROWS[:2], TABLE[1:])
    yield Case("Tile", (TABLE, [2, 3]))
    yield Case("TopK", (X,), {"k": 2})
    yield Case("TopKV2", (X, 2))
    yield Case("Transpose", (X, [2, 0, 1]))
    yield Case("ConjugateTranspose", (COMPLEX, [2, 0, 1]))
    yield from many("Unique UniqueWithCounts", np.array([3, 1, 3, 2], np.int32))
    yield from many("UniqueV2 UniqueWithCountsV2", np.array([3, 1, 3, 2]), [0])
    yield Case("Unpack", (X,), {"num": 3, "axis": 1})
    yield Case("UnravelIndex", (np.array([5, 11], np.int32), np.array([3, 4], np.int32)))
    yield Case("Where", (B,))
    yield Case("NoOp", ())
    yield Case("ControlTrigger", ())


def _matrices() -> Iterator[Case]:
    yield from many("Cholesky BatchCholesky", EVEN)
    yield from many("CholeskyGrad BatchCholeskyGrad", LOWER, np.tril(SQUARE))
    yield from many("MatrixInverse BatchMatrixInverse", SQUARE, adjoint=True)
    yield from many("MatrixSolve BatchMatrixSolve", SQUARE, X, adjoint=True)
    yield from many("MatrixSolveLs BatchMatrixSolveLs", SQUARE, X, np.float64(0.1))
    yield from many("MatrixTriangularSolve BatchMatrixTriangularSolve", LOWER, X, adjoint=True)
    yield Case("LogMatrixDeterminant", (SQUARE,))
    yield Case("Lu", (SQUARE,))
    yield Case("MatrixExponential", (SQUARE * np.float32(0.3),))
    yield Case("MatrixLogarithm", (EVEN.astype(np.complex64),))
    yield Case("MatrixSquareRoot", (EVEN,))
    yield Case("SparseMatMul", (X[0], Z[0]), {"transpose_b": True})
    for op in ("SelfAdjointEigV2", "BatchSelfAdjointEigV2"):
        yield Case(op, (EVEN,), {"compute_v": False}, (0,))
    for op in ("Svd", "BatchSvd"):
        yield Case(op, (SQUARE,), {"compute_uv": False}, (0,))
    for prefix in ("", "I"):
        yield from many(f"{prefix}FFT Batch{prefix}FFT", COMPLEX)
        yield from many(f"{prefix}FFT2D Batch{prefix}FFT2D", CUBE)
        yield from many(f"{prefix}FFT3D Batch{prefix}FFT3D", CUBE)
    yield Case("RFFT", (X, [4]))
    yield Case("RFFT2D", (X, [3, 4]))
    yield Case("RFFT3D", (X, [2, 3, 4]))
    yield Case("IRFFT", (CUBE, [6]))
    yield Case("IRFFT2D", (CUBE, [4, 6]))
    yield Case("IRFFT3D", (CUBE, [4, 4, 6]))


def _nets() -> Iterator[Case]:
    moments = (np.array([0.1, -0.2, 0.3], np.float32), np.array([1.0, 2.0, 0.5], np.float32))
    scale, offset = np.array([1, 2, 0.5], np.float32), np.array([0, 1, -1], np.float32)
    yield Case("Conv2D", (IMAGE, WEIGHTS), SAME)
    yield Case("Conv2DBackpropInput", ([2, 6, 7, 3], WEIGHTS, _numbers(2, 3, 4, 2)), SAME)
    yield Case("Conv2DBackpropFilter", (IMAGE, [3, 3, 3, 2], _numbers(2, 3, 4, 2)), SAME)
    yield Case(
        "DepthwiseConv2dNative", (IMAGE, WEIGHTS), {"strides": [1, 1, 1, 1], "padding": "VALID"}
    )
    depthwise = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    above = _numbers(2, 6, 7, 6)
    yield Case("DepthwiseConv2dNativeBackpropInput", ([2, 6, 7, 3], WEIGHTS, above), depthwise)
    yield Case("DepthwiseConv2dNativeBackpropFilter", (IMAGE, [3, 3, 3, 2], above), depthwise)
    cubic = {"strides": [1, 1, 1, 1, 1], "padding": "SAME"}
    above = _numbers(1, 4, 4, 4, 3)
    yield Case("Conv3D", (VIDEO, FILTER3), cubic)
    yield Case("Conv3DBackpropInputV2", ([1, 4, 4, 4, 2], FILTER3, above), cubic)
    yield Case("Conv3DBackpropFilterV2", (VIDEO, [2, 2, 2, 2, 3], above), cubic)
    yield Case("Conv3DBackpropInput", (VIDEO, FILTER3, above), cubic)
    yield Case("Conv3DBackpropFilter", (VIDEO, FILTER3, above), cubic)
    yield from many("AvgPool", IMAGE, **POOL)
    yield from many("MaxPool", IMAGE, **POOL)
    yield Case("MaxPoolV2", (IMAGE, [1, 2, 2, 1], [1, 2, 2, 1]), {"padding": "SAME"})
    yield Case("MaxPoolWithArgmax", (IMAGE,), POOL)
    yield from many("AvgPool3D MaxPool3D", VIDEO, **POOL3)
    yield from many("BiasAdd BiasAddV1", IMAGE, offset)
    yield Case("BatchNormWithGlobalNormalization", (IMAGE, *moments, offset, scale),
               {"variance_epsilon": 0.01, "scale_after_normalization": True})  # fmt: skip
    for version in ("", "V2", "V3"):
        yield Case(f"FusedBatchNorm{version}", (IMAGE, scale, offset, *moments),
                   {"is_training": False, "epsilon": 0.01}, (0,))  # fmt: skip
    yield Case("LRN", (IMAGE,), {"depth_radius": 1, "alpha": 0.3})
    yield Case("Dilation2D", (IMAGE, WEIGHTS[..., 0]),
               SAME | {"rates": [1, 1, 1, 1]})  # fmt: skip
    for kind in "Area Bicubic Bilinear NearestNeighbor".split():
        yield Case(f"Resize{kind}", (IMAGE, [3, 14] if kind == "Bicubic" else [4, 9]))
    yield Case("CropAndResize", (IMAGE, [[0, 0, 0.5, 1], [0.2, 0.1, 1, 0.9]], [1, 0], [3, 4]))
    yield Case("ExtractImagePatches", (IMAGE,),
               {"ksizes": [1, 2, 3, 1], "strides": [1, 2, 2, 1], "rates": [1, 1, 1, 1],
                "padding": "SAME"})  # fmt: skip
    yield Case("FusedPadConv2D", (IMAGE[:1], [[0, 0], [1, 1], [1, 0], [0, 0]], WEIGHTS),
               {"mode": "REFLECT", "strides": [1, 1, 1, 1], "padding": "VALID"})  # fmt: skip
    yield Case("FusedResizeAndPadConv2D",
               (IMAGE[:1], [8, 5], [[0, 0], [1, 1], [1, 0], [0, 0]], WEIGHTS),
               {"mode": "REFLECT", "strides": [1, 1, 1, 1], "padding": "VALID"})  # fmt: skip
    for op in ("SoftmaxCrossEntropyWithLogits",):
        yield Case(op, (TABLE, np.eye(3, 4, dtype=np.float32)))
    yield Case("SparseSoftmaxCrossEntropyWithLogits", (TABLE, ROWS))
    yield Case("InTopK", (TABLE, ROWS), {"k": 2})
    yield Case("InTopKV2", (TABLE, ROWS, 2))
    times = _numbers(5, 2, 4)
    yield Case("CTCGreedyDecoder", (times, [5, 4]), {"merge_repeated": True})
    yield Case("CTCLoss", (times, np.array([[0, 0], [0, 1], [1, 0]]), [1, 2, 0], [5, 4]))


def _slopes() -> Iterator[Case]:
    yield from many(
        "EluGrad Relu6Grad ReluGrad SeluGrad SoftplusGrad SoftsignGrad LeakyReluGrad", X, Z
    )
    yield from many("InvGrad ReciprocalGrad SigmoidGrad TanhGrad", X, Z)
    yield from many("RsqrtGrad SqrtGrad", POSITIVE, Z)
    yield Case("BiasAddGrad", (IMAGE,))
    yield Case("BiasAddGrad", (IMAGE,), {"data_format": "NCHW"})
    above = _numbers(2, 3, 4, 3, seed=9)
    pooled = np.zeros((2, 3, 4, 3), np.float32)
    padded = np.pad(IMAGE, [(0, 0), (0, 0), (0, 1), (0, 0)], constant_values=-9)
    pooled[:] = padded.reshape(2, 3, 2, 4, 2, 3).max(axis=(2, 4))
    yield Case("MaxPoolGrad", (IMAGE, pooled, above), POOL)
    yield Case(
        "MaxPoolGradV2", (IMAGE, pooled, above, [1, 2, 2, 1], [1, 2, 2, 1]), {"padding": "SAME"}
    )
    yield Case("AvgPoolGrad", ([2, 6, 7, 3], above), POOL)
    volume = VIDEO.reshape(1, 2, 2, 2, 2, 2, 2, 2).max(axis=(2, 4, 6))
    yield Case("MaxPool3DGrad", (VIDEO, volume, _numbers(1, 2, 2, 2, 2)), POOL3)
    yield Case("AvgPool3DGrad", ([1, 4, 4, 4, 2], _numbers(1, 2, 2, 2, 2)), POOL3)
    positions = np.arange(8).reshape(1, 2, 2, 2) * 3
    yield Case("MaxPoolGradWithArgmax",
               (_numbers(1, 4, 4, 2), _numbers(1, 2, 2, 2), positions),
               {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"})  # fmt: skip
    around = np.pad(X[:1, None] ** 2, [(0, 0)] * 3 + [(1, 1)])
    squares = around[..., :-2] + around[..., 1:-1] + around[..., 2:]
    normal = X[:1, None] / np.sqrt(1 + np.float32(0.3) * squares)
    yield Case("LRNGrad", (Z[:1, None], X[:1, None], normal), {"depth_radius": 1, "alpha": 0.3})
    size = _numbers(2, 4, 9, 3)
    yield Case("ResizeBicubicGrad", (_numbers(2, 3, 14, 3), IMAGE))
    yield Case("ResizeBilinearGrad", (size, IMAGE))
    yield Case("ResizeNearestNeighborGrad", (size, [6, 7]))
    yield Case("MirrorPadGrad", (X, [[0, 0], [1, 0], [1, 1]]), {"mode": "REFLECT"})
    yield Case("StridedSliceGrad",
               ([2, 5, 4], [0, 4, 0], [2, 0, 4], [1, -2, 2], X[:, :2, :2]), {})  # fmt: skip
    yield Case("TileGrad", (TABLE, [3, 2]))
    yield Case("SparseSegmentMeanGrad", (TABLE[:2], ROWS, [0, 0, 1], 4))
    yield Case("SparseSegmentSqrtNGrad", (TABLE[:2], ROWS, [0, 0, 1], 4))
    boxes = np.array([[0, 0, 0.5, 1], [0.2, 0.1, 1, 0.9]], np.float32)
    crops = _numbers(2, 3, 4, 3)
    yield Case("CropAndResizeGradBoxes", (crops, IMAGE, boxes, [1, 0]))
    yield Case("CropAndResizeGradImage", (crops, boxes, [1, 0], [2, 6, 7, 3]), {"T": "float32"})
    settings = SAME | {"rates": [1, 1, 1, 1]}
    yield Case("Dilation2DBackpropInput", (IMAGE, WEIGHTS[..., 0], above), settings)
    yield Case("Dilation2DBackpropFilter", (IMAGE, WEIGHTS[..., 0], above), settings)
    mean, spread = IMAGE.mean(axis=(0, 1, 2)), IMAGE.var(axis=(0, 1, 2))
    above, scale = _numbers(2, 6, 7, 3, seed=6), np.array([1, 2, 0.5], np.float32)
    saved = (mean, spread)
    yield Case("FusedBatchNormGrad", (above, IMAGE, scale, *saved), {"epsilon": 0.01}, (0, 1, 2))
    yield Case("FusedBatchNormGradV2", (above, IMAGE, scale, *saved), {"epsilon": 0.01}, (0, 1, 2))
    yield Case("FusedBatchNormGradV3", (above, IMAGE, scale, *saved, np.zeros(3, np.float32)),
               {"epsilon": 0.01}, (0, 1, 2))  # fmt: skip
    yield Case("FusedBatchNormGradV3", (above, IMAGE, scale, mean, spread, np.zeros(3, np.float32)),
               {"epsilon": 0.01, "is_training": False}, (0, 1, 2))  # fmt: skip


def _text() -> Iterator[Case]:
    yield Case("AsString", (X[0],), {"precision": 3, "width": 8, "fill": "0"})
    yield Case("DecodeRaw", (np.array([b"abcdefgh", b"12345678"], object),), {"out_type": "int32"})
    yield Case(
        "DecodePaddedRaw", (np.array([b"abc", b"12345678"], object), 4), {"out_type": "uint8"}
    )
    yield Case(
        "DecodeCSV",
        (np.array([b"1,a", b",b"], object), [np.array([7], np.int32), np.array([b"z"], object)]),
    )
    yield Case("EncodeBase64", (WORDS,), {"pad": True})
    yield Case("DecodeBase64", (np.array([b"b25l", b"dHdv"], object),))
    yield Case("ReduceJoin", (WORDS, [1]), {"separator": "-", "keep_dims": True})
    yield Case("RegexReplace", (WORDS, b"[a-n]", b"_"), {"replace_global": False})
    yield Case("StaticRegexReplace", (WORDS,), {"pattern": "[a-n]", "rewrite": "_"})
    yield Case("RegexFullMatch", (WORDS, b"[a-z,]+"))
    yield Case("StaticRegexFullMatch", (WORDS,), {"pattern": "[a-z,]+"})
    yield Case(
        "StringFormat", ([WHOLE[0], np.int32(3)],), {"template": "a {} b {}", "placeholder": "{}"}
    )
    yield Case("StringJoin", ([WORDS, WORDS],), {"separator": "+"})
    yield from many("StringLength StringLower StringUpper StringStrip", WORDS)
    yield Case("StringSplit", (WORDS[:, 1], b" "))
    yield Case("StringSplitV2", (WORDS[:, 1], b" "), {"maxsplit": 1})
    yield from many("StringToHashBucket StringToHashBucketFast", WORDS, num_buckets=1000)
    yield Case("StringToHashBucketStrong", (WORDS,), {"num_buckets": 1000, "key": [3, 5]})
    yield Case("StringToNumber", (np.array([b"1.5", b"-2e3"], object),))
    yield Case("Substr", (WORDS, 0, 0))
    yield Case(
        "UnicodeTranscode", (WORDS,), {"input_encoding": "UTF-8", "output_encoding": "UTF-16-BE"}
    )
    yield Case("UnsortedSegmentJoin", (WORDS[:, 0], np.array([1, 1]), 2), {"separator": "-"})
    yield Case("ShardedFilename", (b"part", 3, 12))
    yield Case("ShardedFilespec", (b"part", 12))
    yield Case("Fact", ())
    yield Case("Print", (X, [WHOLE]), {"message": "", "first_n": 0})
    yield Case("Assert", (True, [WHOLE]))


def _sparse() -> Iterator[Case]:
    dense = _numbers(2, 4)
    yield Case("EditDistance", (*SPARSE, *SPARSE2), {"normalize": False})
    yield Case("SparseAdd", (*SPARSE, *SPARSE2, np.float32(0)))
    yield Case(
        "SparseConcat", ([INDICES, MORE], [VALUES, VALUES], [SHAPE, SHAPE]), {"concat_dim": 1}
    )
    yield from many(
        "SparseDenseCwiseAdd SparseDenseCwiseDiv SparseDenseCwiseMul", *SPARSE, dense[:1]
    )
    yield Case(
        "SparseFillEmptyRows", (np.array([[0, 1], [2, 0], [2, 2]]), VALUES, [4, 3], np.float32(9))
    )
    yield from many("SparseReduceMax SparseReduceSum", *SPARSE, [1], keep_dims=True)
    yield from many("SparseReduceMaxSparse SparseReduceSumSparse", *SPARSE, [1])
    yield Case("SparseReorder", (INDICES[::-1].copy(), VALUES, SHAPE))
    yield Case("SparseReshape", (INDICES, SHAPE, [4, -1]))
    yield Case("SparseSlice", (*SPARSE, np.array([1, 0]), np.array([1, 3])))
    yield Case("SparseSoftmax", SPARSE)
    yield from many("SparseSparseMaximum SparseSparseMinimum", *SPARSE, *SPARSE2)
    yield Case("SparseSplit", (np.int64(1), *SPARSE), {"num_split": 2})
    yield Case("SparseTensorDenseAdd", (*SPARSE, dense))
    yield Case("SparseTensorDenseMatMul", (*SPARSE, _numbers(2, 3)), {"adjoint_a": True})
    yield Case("SparseToDense", (INDICES, SHAPE, VALUES, np.float32(-1)))
    for word in "Mean SqrtN Sum".split():
        yield Case(f"SparseSegment{word}", (TABLE, ROWS, SEGMENTS))
        yield Case(f"SparseSegment{word}WithNumSegments", (TABLE, ROWS, SEGMENTS, 5))


def _various() -> Iterator[Case]:
    counted = np.array([1, 3, 1, 0], np.int32)
    yield Case("Bincount", (counted, 5, np.array([1, 2, 3, 4], np.float32)))
    yield Case("Bincount", (counted, 5, np.zeros(0, np.int32)))
    yield Case("Bucketize", (X,), {"boundaries": [-1.0, 0.0, 0.5]})
    yield Case("HistogramFixedWidth", (X, np.array([-1, 1], np.float32), 4))
    yield Case("DynamicPartition", (TABLE, ROWS % 2), {"num_partitions": 2})
    yield from many(
        "DynamicStitch ParallelDynamicStitch", [ROWS[:1], ROWS[1:]], [TABLE[:1], TABLE[1:]]
    )
    yield from many("LowerBound UpperBound", np.sort(TABLE), TABLE)
    yield Case("NthElement", (X, 1), {"reverse": True})
    yield Case("ListDiff", (np.array([1, 2, 3, 4]), np.array([2, 4])))
    yield Case("DataFormatDimMap", (np.array([0, -1, 2], np.int32),))
    yield Case("DataFormatVecPermute", (np.array([5, 6, 7, 8], np.int32),))
    yield Case("DataFormatVecPermute", (np.array([[5, 6], [7, 8]], np.int32),))
    yield Case("AdjustContrastv2", (BRIGHT, np.float32(1.7)))
    yield Case("AdjustHue", (BRIGHT, np.float32(0.2)))
    yield Case("AdjustSaturation", (BRIGHT, np.float32(0.6)))
    yield from many("RGBToHSV HSVToRGB", BRIGHT)
    boxes = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]], np.float32)
    scores = np.array([0.5, 0.9, 0.2], np.float32)
    yield Case("NonMaxSuppression", (boxes, scores, 2))
    yield Case("NonMaxSuppressionV2", (boxes, scores, 3, np.float32(0.5)))
    yield Case("NonMaxSuppressionV3", (boxes, scores, 3, np.float32(0.5), np.float32(0.3)))
    yield Case("FakeQuantWithMinMaxArgs", (X,), {"min": -1.0, "max": 1.5})
    yield Case("FakeQuantWithMinMaxArgsGradient", (Z, X), {"min": -1.0, "max": 1.5})
    low, high = np.float32(-1), np.float32(1.5)
    yield Case("FakeQuantWithMinMaxVars", (X, low, high))
    yield Case("FakeQuantWithMinMaxVarsGradient", (Z, X, low, high))
    low, high = np.full(4, -1, np.float32), np.array([1, 1.5, 2, 1], np.float32)
    yield Case("FakeQuantWithMinMaxVarsPerChannel", (X, low, high))
    yield Case("FakeQuantWithMinMaxVarsPerChannelGradient", (Z, X, low, high))
    yield Case(
        "ComputeAccidentalHits", (np.array([[1], [2]]), np.array([2, 5, 1])), {"num_true": 1}
    )


def _training() -> Iterator[Case]:
    v, m, n, k = (np.abs(_numbers(3, 4, seed=s)) + np.float32(0.3) for s in (1, 2, 3, 4))
    g = _numbers(3, 4, seed=7)
    held = [Held(a) for a in (v, m, n, k)]
    rate, half = np.float32(0.1), np.float32(0.5)
    small, power = np.float32(1e-3), np.float32(-0.5)
    step = np.int64(3)
    rows: dict[str, tuple[Any, ...]] = {
        "AdaMax": (*held[:3], half, rate, np.float32(0.9), np.float32(0.8), small, g),
        "Adadelta": (*held[:3], rate, half, small, g),
        "Adagrad": (*held[:2], rate, g),
        "AdagradDA": (*held[:3], g, rate, small, small, step),
        "AdagradV2": (*held[:2], rate, small, g),
        "Adam": (*held[:3], half, half, rate, np.float32(0.9), np.float32(0.8), small, g),
        "AddSign": (*held[:2], rate, np.float32(1), half, np.float32(0.9), g),
        "CenteredRMSProp": (*held[:4], rate, half, half, np.float32(4), g),
        "Ftrl": (*held[:3], g, rate, small, small, power),
        "FtrlV2": (*held[:3], g, rate, small, small, half, power),
        "GradientDescent": (*held[:1], rate, g),
        "Momentum": (*held[:2], rate, g, half),
        "PowerSign": (*held[:2], rate, np.float32(1), half, np.float32(0.9), g),
        "ProximalAdagrad": (*held[:2], rate, small, small, g),
        "ProximalGradientDescent": (*held[:1], rate, small, small, g),
        "RMSProp": (*held[:3], rate, half, half, small, g),
    }
    for prefix in ("", "Resource"):
        for name, inputs in rows.items():
            yield Case(f"{prefix}Apply{name}", inputs)
        yield Case(f"{prefix}ApplyMomentum", rows["Momentum"], {"use_nesterov": True})
        yield Case(f"{prefix}ApplyAdam", rows["Adam"], {"use_nesterov": True})
    yield Case("ResourceApplyKerasMomentum", rows["Momentum"], {"use_nesterov": True})
    steps = (half, half, rate, np.float32(0.9), np.float32(0.8), small, g)
    yield Case("ResourceApplyAdamWithAmsgrad", (*held[:4], *steps))
    yield from _by_rows(rows, np.array([2, 0, 2], np.int32))
    indices, updates = np.array([2, 0], np.int32), g[:2]
    for prefix in ("", "Resource"):
        for kind in "Add Div Max Min Mul Sub Update".split():
            yield Case(f"{prefix}Scatter{kind}", (held[0], indices, updates))
        for kind in "Add Sub Update".split():
            yield Case(f"{prefix}ScatterNd{kind}", (held[0], [[1, 2], [0, 3]], g[0, :2]))
        kind = "VariableOp" if prefix else ""
        for word in ("Assign", "AssignAdd", "AssignSub"):
            yield Case(f"{word}{kind}", (held[0], g))
        yield Case(
            f"{prefix}CountUpTo",
            (Held(np.int32(3)),),
            {"limit": 5, **({"T": "int32"} if prefix else {})},
        )
    yield Case("ReadVariableOp", (held[0],), {"dtype": "float32"})
    yield Case("ResourceGather", (held[0], ROWS), {"dtype": "float32"})
    yield Case("ResourceGatherNd", (held[0], [[1, 2]]), {"dtype": "float32"})
    yield Case("VarIsInitializedOp", (held[0],))
    yield Case("IsVariableInitialized", (held[0],))
    yield Case("VariableShape", (held[0],))


def _by_rows(rows: Mapping[str, tuple[Any, ...]], indices: Any) -> Iterator[Case]:
    """The steps of single rows, one of which comes twice: the indices are after the gradient."""
    names = (
        "Adadelta Adagrad AdagradDA AdagradV2 CenteredRMSProp Ftrl FtrlV2 Momentum ProximalAdagrad "
        "ProximalGradientDescent RMSProp"
    )
    for prefix in ("", "Resource"):
        for name in names.split():
            inputs = list(rows[name])
            gradient = next(
                i
                for i, one in enumerate(inputs)
                if np.shape(one) == (3, 4) and not isinstance(one, Held)
            )
            inputs.insert(gradient + 1, indices)
            yield Case(f"{prefix}SparseApply{name}", tuple(inputs))
    inputs = list(rows["Momentum"])
    inputs.insert(4, indices)
    yield Case("ResourceSparseApplyKerasMomentum", tuple(inputs))


#: operations that TensorFlow 2.21 refuses, and what it says is the same
SUCCESSORS: dict[str, Any] = {
    "TopK": lambda tf, input, k: tf.raw_ops.TopKV2(input=input, k=k),
    "MatrixExponential": lambda tf, input: tf.linalg.expm(input),
    "Conv3DBackpropInput": lambda tf, input, **others: tf.raw_ops.Conv3DBackpropInputV2(
        input_sizes=np.array(input.shape, np.int32), **others
    ),
    "Conv3DBackpropFilter": lambda tf, filter, **others: tf.raw_ops.Conv3DBackpropFilterV2(
        filter_sizes=np.array(filter.shape, np.int32), **others
    ),
    "BatchNormWithGlobalNormalization": lambda tf, **given: (
        tf.nn.batch_norm_with_global_normalization(**given)
    ),
    "TileGrad": lambda tf, input, multiples: tf.add_n(
        [part for row in np.split(input, multiples[0]) for part in np.split(row, multiples[1], 1)]
    ),
    **{
        f"Batch{name}": lambda tf, name=name, **given: getattr(tf.raw_ops, name)(**given)
        for name in (
            *("Cholesky", "CholeskyGrad", "MatrixBandPart", "MatrixDeterminant", "MatrixDiag"),
            *("MatrixDiagPart", "MatrixInverse", "MatrixSetDiag", "MatrixSolve", "MatrixSolveLs"),
            *("MatrixTriangularSolve", "SelfAdjointEigV2", "Svd"),
        )
    },
    **{f"Batch{name}": lambda tf, name=name, **given: getattr(tf.raw_ops, name)(**given)
       for name in ("FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D")},
}  # fmt: skip


# ---- running ----


def definitions() -> Any:
    """The table of operations."""
    return json.loads(DEFINITIONS.read_text(encoding="utf-8"))


class Built:
    """A case in a graph.

    Args:
        tf: the module.
        case: the call.
        handle: from a variable to what the operation takes.
        find: from a type of operation to its function.

    Attributes:
        run: what is run first.
        then: what is read after it.
        initializers: of the variables.
    """

    def __init__(self, tf: Any, case: Case, handle: Any, find: Any) -> None:
        row = definitions_row(case.op)
        is_resource = any(kind == "resource" for _, kind in row["inputs"])
        self.initializers, self.then = [], []
        named = {}
        for (key, _), value in zip(row["inputs"], case.inputs, strict=True):
            if isinstance(value, Held):
                variable = tf.Variable(value.value, use_resource=is_resource)
                self.initializers.append(variable.initializer)
                self.then.append(variable)
                value = handle(variable, is_resource)
            named[key] = value
        attributes = {key: _attribute(tf, key, v) for key, v in case.attributes.items()}
        function = find(case.op)
        made = function(**named, **attributes)
        self.run = _flat(made)
        if case.keep:
            self.run = [self.run[i] for i in case.keep]

    def values(self, session: Any) -> list[Any]:
        """The results of the operation, and then the variables."""
        found = [v for v in session.run(self.run) if v is not None]
        return [plain(v) for v in (*found, *session.run(self.then))]


_ROWS: dict[str, Any] = {}


def definitions_row(op: str) -> Any:
    """An operation's row of the table."""
    if not _ROWS:
        _ROWS.update(definitions())
    return _ROWS[op]


def _attribute(tf: Any, key: str, value: Any) -> Any:
    if key == "value":
        maker = getattr(tf, "make_tensor_proto", None)
        return maker(np.array(value, np.float32))
    return value


def _flat(made: Any) -> list[Any]:
    if isinstance(made, (list, tuple)):
        return [part for one in made for part in _flat(one)]
    return [made]


def plain(value: Any) -> Any:
    """An array as JSON; complex numbers as pairs."""
    array = np.asarray(value)
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
    if array.dtype.kind in "SO":
        return np.vectorize(lambda s: s.decode("latin-1"), otypes=[object])(array).tolist()
    if array.dtype.kind == "f":
        return _rounded(array.tolist())
    return array.tolist()


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return float(f"{value:.8g}")


def main() -> None:
    """Records the cases in TensorFlow."""
    os.environ.update({"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""})
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()

    def find(op: str) -> Any:
        if op in SUCCESSORS:
            return functools.partial(SUCCESSORS[op], tf)
        return getattr(tf.raw_ops, op)

    lines = []
    for name, case in cases().items():
        with tf.Graph().as_default(), tf.Session() as session:
            try:
                built = Built(
                    tf, case, lambda v, resource: v.handle if resource else v._ref(), find
                )
                session.run(built.initializers)
                values = built.values(session)
            except Exception as error:
                print(name, type(error).__name__, str(error)[:300])
                continue
        lines.append(f"{json.dumps(name)}: {json.dumps(values)}")
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{STORED}: {len(lines)} cases")


if __name__ == "__main__":
    main()
