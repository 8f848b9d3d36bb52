"""A model with the kernels of every family, and its inputs, for tools/bits_matrix.py.

A signature a family. Families of ROWS treat the rows of a batch one by one, so that a batch may be
split; the others run once. Sizes are odd, and large enough for vectors, blocks and threads.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import graphio as tf
import graphio.onnx as tfonnx
from graphio.ops.math.incomplete import igamma_grad_a
from graphio.ops.ml.ml import index_of, pairwise_coupling
from graphio.ops.ml.trees import AGGREGATES, Trees, tree_ensemble

call = tfonnx.call
Tensor = Any
Array = np.ndarray[Any, Any]
BATCH = 3
FAMILIES: dict[str, tuple[bool, dict[str, Array], Callable[..., list[Tensor]]]] = {}


def numbers(*shape: int, seed: int = 0, dtype: Any = np.float32) -> Array:
    return np.random.RandomState(seed).randn(*shape).astype(dtype)


def weights(*shape: int, seed: int = 1) -> Tensor:
    return tf.constant(numbers(*shape, seed=seed))


def cast(x: Tensor, to: Any) -> Tensor:
    return call("Cast", x, to=to, version=25)


def bytes_of(*shape: int, seed: int = 0, dtype: Any = np.uint8) -> Array:
    return np.random.RandomState(seed).randint(0, 120, shape).astype(dtype)


def family(rows: bool, **inputs: Array) -> Callable[[Callable[..., list[Tensor]]], Any]:
    """Adds a signature; inputs: one a placeholder, the first axis is the batch if `rows`."""

    def add(function: Callable[..., list[Tensor]]) -> Any:
        FAMILIES[function.__name__] = rows, inputs, function
        return function

    return add


def special(dtype: Any = np.float32) -> Array:
    """Numbers of every size, and those that are none."""
    x = numbers(BATCH, 401) * np.float32(10) ** np.random.RandomState(3).randint(
        -30, 12, (BATCH, 401)
    )
    x[:, :9] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, -1e-42, 3e38, 88.5]
    x[:, 9:200] = numbers(BATCH, 191, seed=5) * 4
    return x.astype(dtype)


ELEMENTWISE = (
    "Abs Neg Exp Log Sqrt Reciprocal Floor Ceil Round Relu Sigmoid Tanh Sign Erf Sin Cos Tan Atan "
    "Asin Acos Sinh Cosh Asinh Acosh Atanh Softplus Elu Selu LeakyRelu Gelu Mish Swish HardSigmoid "
    "HardSwish Softsign IsNaN IsInf"
).split()


def elementwise(x: Tensor) -> list[Tensor]:
    """Functions of one and two numbers."""
    unary = [call(op, x) for op in ELEMENTWISE]
    y = call("Slice", x, [400], [-402], [1], [-1])
    binary = [call(op, x, y) for op in "Add Sub Mul Div Pow Max Min Mean Sum PRelu Less".split()]
    more = [
        call("Gelu", x, approximate="tanh"),
        call("Swish", x, alpha=1.5),
        call("Mod", x, y, fmod=1),
        call("Clip", x, cast(tf.constant(-0.5), x.dtype), None),
        call("Where", call("Greater", x, y), x, y),
    ]
    return unary + binary + more


@family(True, x=special())
def functions(x: Tensor) -> list[Tensor]:
    return elementwise(x)


@family(True, x=special(np.float64))
def functions_of_double(x: Tensor) -> list[Tensor]:
    return elementwise(x)


@family(True, x=special(np.float64))
def special_functions(x: Tensor) -> list[Tensor]:
    """Of numbers of every size, and of two sizes that are near each other."""
    y, part = call("Slice", x, [400], [-402], [1], [-1]), call("Sigmoid", x)
    size, other = call("Abs", x), call("Abs", y)
    near = call("Mul", size, call("Add", part, tf.constant(0.5, x.dtype)))
    order = call("Floor", size)
    found = [f(size, b) for f in (tf.igamma, tf.igammac, igamma_grad_a) for b in (other, near)]
    found += [tf.betainc(size, other, part), tf.zeta(size, other), tf.zeta(order, y)]
    found += [tf.polygamma(order, y), tf.math.nextafter(x, y)]
    found += [tf.math.bessel_i0(x), tf.math.bessel_i0e(x)]
    found += [tf.math.bessel_i1(x), tf.math.bessel_i1e(x)]
    return found + [cast(each, "float32") for each in found]


REDUCTIONS = "Sum Mean Max Min Prod L1 L2 SumSquare LogSum LogSumExp".split()


@family(False, x=numbers(5, 37, 70))
def reductions(x: Tensor) -> list[Tensor]:
    """Rows, columns, axes apart, everything; of float32, float64 and integers."""
    found = []
    wide = cast(x, "float64")
    whole = cast(call("Mul", x, tf.constant(np.float32(50))), "int32")
    for op in REDUCTIONS:
        for value in (x, wide) if "Log" in op else (x, wide, whole):
            found += [call(f"Reduce{op}", value, axes) for axes in ([2], [1], [0, 2], [0, 1, 2])]
    for value in (x, wide):
        found += [call("CumSum", value, tf.constant(np.int64(axis))) for axis in (1, 2)]
        found += [call("CumProd", value, tf.constant(np.int64(2)), reverse=1)]
        found += [call("ArgMax", value, axis=1), call("ArgMin", value, axis=2)]
        found += call("TopK", value, [7], axis=1, outputs=2)
    found += call("Unique", call("Round", x), outputs=4)
    return found


@family(True, x=numbers(BATCH, 9, 300))
def matmuls(x: Tensor) -> list[Tensor]:
    wide = cast(x, "float64")
    square = call("Slice", x, [0], [9], [2])
    return [
        *(call("MatMul", x, weights(300, n, seed=n)) for n in (1, 5, 13, 27, 70)),
        call("MatMul", wide, tf.constant(numbers(300, 33, dtype=np.float64))),
        call("Einsum", x, weights(300, 21), equation="bij,jk->bki"),
        call("Einsum", x, x, equation="bij,bkj->bik"),
        call("Einsum", x, x, equation="bij,bij->b"),
        call("Det", square),
        call("Det", cast(square, "float64")),
    ]


@family(True, x=numbers(BATCH, 300, 2))
def transforms(x: Tensor) -> list[Tensor]:
    def length(n: int) -> Tensor:
        return tf.constant(np.int64(n))

    real = call("Slice", x, [0], [1], [2])
    return [
        *(call("DFT", x, length(n), inverse=n % 2) for n in (1, 256, 300, 67, 2 * 71)),
        *(call("DFT", real, length(n), onesided=1) for n in (120, 143)),
        *(call("DFT", x, length(n), onesided=1, inverse=1) for n in (120, 143)),
        call("DFT", cast(x, "float64")),
        call("STFT", real, length(20), tf.constant(numbers(48, seed=7))),
        call("STFT", x, length(31), None, length(61), onesided=0),
    ]


@family(True, x=numbers(BATCH, 301, 2))
def complex_numbers(x: Tensor) -> list[Tensor]:
    """Parts, and what is composed of operators on them."""
    z = tf.complex(x[..., 0], x[..., 1])
    y = tf.reverse(z, [1])
    return [tf.math.real(z), tf.math.imag(z), z * y, z / y, tf.abs(z), tf.angle(z), tf.sign(z)]


@family(True, x=numbers(BATCH, 700))
def signals(x: Tensor) -> list[Tensor]:
    """Spectrograms and back, cosine transforms, cepstral coefficients, and gradients of these."""
    spectrum = tf.signal.stft(x, 100, 40, 120)
    bands = tf.signal.linear_to_mel_weight_matrix(20, 61, 8000, 80.0, 4000.0)
    mel = tf.tensordot(tf.abs(spectrum), bands, 1)
    cepstrum = tf.signal.mfccs_from_log_mel_spectrograms(tf.log(mel + 0.1))
    window = tf.signal.inverse_stft_window_fn(40)
    return [
        tf.math.real(spectrum),
        cepstrum,
        tf.signal.inverse_stft(spectrum, 100, 40, 120, window),
        tf.signal.inverse_mdct(tf.signal.mdct(x, 64)),
        *(tf.signal.dct(x, kind) for kind in (1, 3, 4)),
        *tf.gradients(cepstrum, x),
    ]


@family(False, a=numbers(37, 300), c=numbers(37, 19, seed=3))
def gemm(a: Tensor, c: Tensor) -> list[Tensor]:
    b = weights(19, 300)
    return [
        call("Gemm", a, b, c, transB=1, alpha=0.3, beta=1.7),
        call("Gemm", b, a, transB=1, alpha=0.3),
        tf.nn.relu(call("Gemm", a, b, c, transB=1, alpha=0.3) + weights(19, seed=2)),
        *tf.gradients(call("Gemm", a, b, c, transB=1, alpha=0.3, beta=1.7), [a, c]),
    ]


@family(True, x=numbers(BATCH, 6, 21, 23))
def windows(x: Tensor) -> list[Tensor]:
    """Convolutions and pools whose images do not see each other."""
    line, cube = call("Reshape", x, [0, 6, 483]), call("Reshape", x, [0, 2, 3, 21, 23])
    pads, bias = [1, 0, 1, 2], weights(8)
    return [
        call("Conv", line, weights(8, 6, 5), bias, strides=[2]),
        call("Conv", x, weights(8, 6, 3, 3), bias, pads=pads),
        call("Conv", x, weights(150, 6, 3, 3), dilations=[2, 1]),
        call("Conv", x, weights(9, 2, 3, 3), group=3, strides=[2, 1]),
        call("Conv", x, weights(6, 1, 3, 3), group=6, pads=[1, 1, 1, 1]),
        call("Conv", x, weights(8, 6, 1, 1)),
        call("Conv", cube, weights(5, 2, 2, 3, 3), pads=[1, 0, 0, 0, 1, 1]),
        call("ConvTranspose", x, weights(6, 5, 3, 3), strides=[2, 2], output_padding=[1, 0]),
        call("ConvTranspose", x, weights(6, 2, 3, 3), group=2, pads=[1, 1, 0, 1]),
        call("ConvTranspose", line, weights(6, 4, 3)),
        call("DeformConv", call("Slice", x, [0], [21], [3]), weights(4, 6, 2, 2), _offsets(x)),
        call("MaxPool", x, kernel_shape=[3, 2], strides=[2, 1], dilations=[1, 2]),
        call("AveragePool", x, kernel_shape=[3, 3], pads=pads, count_include_pad=1),
        call("AveragePool", cube, kernel_shape=[2, 3, 3], strides=[1, 2, 2], ceil_mode=1),
        call("LpPool", x, kernel_shape=[3, 2], p=3, strides=[2, 2]),
        *(call(f"Global{kind}Pool", x) for kind in ("Average", "Max", "Lp")),
        call("LRN", x, size=5, alpha=0.3, beta=0.6),
        call("LRN", x, size=3),
        call("Col2Im", line, [23, 24], [3, 2]),
        call("DepthToSpace", call("Concat", x, x, axis=1), blocksize=2),
        call("SpaceToDepth", call("Slice", x, [0, 0], [20, 22], [2, 3]), blocksize=2),
    ]


def _offsets(x: Tensor) -> Tensor:
    """Offsets that depend on the image."""
    part = call("Slice", x, [0, 0], [20, 20], [2, 3])
    return call("Slice", call("Concat", part, part, axis=1), [0], [8], [1])


@family(False, x=numbers(BATCH, 6, 13, 11))
def gradients_of_windows(x: Tensor) -> list[Tensor]:
    """And MaxPool's indices, which count through the batch."""
    size = {"kernel_shape": [2, 2], "strides": [2, 2]}
    most = call("MaxPool", call("Slice", x, [0, 0], [12, 10], [2, 3]), outputs=2, **size)
    found = [*most, call("MaxUnpool", *most, **size)]
    w, depth, line = weights(8, 6, 3, 3), weights(6, 1, 3, 3), weights(6, 5, 3, 3)
    y = call("Conv", x, w, pads=[1, 1, 1, 1], strides=[2, 1])
    found += tf.gradients(call("Mul", y, y), [x, w])
    y = call("Conv", x, depth, group=6)
    found += tf.gradients(call("Mul", y, y), [x, depth])
    y = call("ConvTranspose", x, line, strides=[2, 2])
    found += tf.gradients(call("Mul", y, y), [x, line])
    for y in (
        call("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2]),
        call("MaxPool", x, kernel_shape=[2, 3], strides=[2, 2]),
        call("LpPool", x, kernel_shape=[2, 2], p=3),
        call("Resize", x, None, tf.constant(np.float32([1, 1, 1.5, 2])), mode="linear"),
        call("Resize", x, None, tf.constant(np.float32([1, 1, 1.5, 2])), mode="cubic"),
        call("GridSample", x, tf.constant(np.tanh(numbers(BATCH, 7, 9, 2)))),
        call("RoiAlign", x, *_regions(), output_height=3, output_width=4, sampling_ratio=2),
    ):
        found += tf.gradients(call("Mul", y, y), [x])
    return found


def _regions() -> tuple[Tensor, Tensor]:
    """Boxes and the indices of their images."""
    corners = np.abs(numbers(5, 2, seed=8))
    boxes = np.concatenate([corners, corners + 3 + np.abs(numbers(5, 2, seed=9))], 1)
    return tf.constant(boxes.astype(np.float32)), tf.constant(np.int64([0, 2, 1, 1, 0]))


@family(True, x=numbers(BATCH, 5, 19, 17))
def samples(x: Tensor) -> list[Tensor]:
    found = []
    for mode in ("nearest", "linear", "cubic"):
        for how in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"):
            scales = tf.constant(np.float32([1, 1, 1.7, 0.6]))
            found.append(call("Resize", x, None, scales, mode=mode,
                              coordinate_transformation_mode=how))  # fmt: skip
    scales = tf.constant(np.float32([1, 1, 0.4, 0.6]))
    found += [call("Resize", x, None, scales, mode=m, antialias=1) for m in ("linear", "cubic")]
    grid = call("Transpose", call("Tanh", call("Slice", x, [0], [2], [1])), perm=[0, 2, 3, 1])
    for mode in ("linear", "nearest", "cubic"):
        for around in ("zeros", "border", "reflection"):
            found.append(call("GridSample", x, grid, mode=mode, padding_mode=around))
    return found


@family(False, x=numbers(BATCH, 5, 19, 17), boxes=np.abs(numbers(1, 40, 4)),
        scores=np.abs(numbers(1, 3, 40, seed=2)))  # fmt: skip
def regions(x: Tensor, boxes: Tensor, scores: Tensor) -> list[Tensor]:
    where = _regions()
    size = {"output_height": 3, "output_width": 4}
    rois = call("Concat", tf.constant(np.float32([[0], [2], [1], [1], [0]])), where[0], axis=1)
    limits = tf.constant(np.float32(0.4)), tf.constant(np.float32(0.1))
    return [
        call("RoiAlign", x, *where, **size),
        call("RoiAlign", x, *where, mode="max", sampling_ratio=2, **size),
        call("MaxRoiPool", x, rois, pooled_shape=[3, 2]),
        call("NonMaxSuppression", boxes, scores, tf.constant(np.int64([9])), *limits),
    ]


@family(True, x=numbers(BATCH, 8, 300))
def normalizations(x: Tensor) -> list[Tensor]:
    row, channel = weights(300, seed=2), weights(8, seed=3)
    wide = cast(x, "float64")
    spread = tf.constant(np.abs(numbers(8)) + np.float32(0.1))
    return [
        *call("LayerNormalization", x, row, row, outputs=3),
        call("LayerNormalization", wide, cast(row, "float64")),
        call("RMSNormalization", x, row),
        call("GroupNormalization", x, channel, channel, num_groups=4),
        call("InstanceNormalization", x, channel, channel),
        call("BatchNormalization", x, channel, channel, channel, spread),
        *(call("LpNormalization", x, axis=axis, p=p) for axis in (1, 2) for p in (1, 2)),
        *(call(op, v, axis=a) for op in ("Softmax", "LogSoftmax", "Hardmax")
          for v in (x, wide) for a in (1, 2)),
    ]  # fmt: skip


@family(False, x=numbers(BATCH, 8, 61))
def gradients_of_normalizations(x: Tensor) -> list[Tensor]:
    row, channel = weights(61, seed=2), weights(8, seed=3)
    spread = tf.constant(np.abs(numbers(8)) + np.float32(0.1))
    trained = call("BatchNormalization", x, channel, channel, channel, spread, training_mode=1,
                   outputs=3)  # fmt: skip
    found = [*trained]
    for y in (
        trained[0],
        call("LayerNormalization", x, row, row),
        call("RMSNormalization", x, row),
        call("GroupNormalization", x, channel, channel, num_groups=4),
        call("Softmax", x),
        call("LogSoftmax", x, axis=1),
        call("Gelu", x),
        call("Mish", x),
    ):
        found += tf.gradients(call("Mul", y, y), [x])
    return found


@family(True, q=numbers(BATCH, 4, 9, 24), k=numbers(BATCH, 2, 33, 24, seed=1),
        v=numbers(BATCH, 2, 33, 19, seed=2))  # fmt: skip
def attention(k: Tensor, q: Tensor, v: Tensor) -> list[Tensor]:
    mask = weights(9, 33)
    few = call("Slice", q, [0], [3], [2])
    cache = weights(50, 12), weights(50, 12, seed=2)
    positions = tf.constant(np.arange(9, dtype=np.int64)[None])
    found = [
        call("Attention", q, k, v),
        call("Attention", few, k, v, is_causal=1),
        call("Attention", q, k, v, mask, softcap=3.0, scale=0.3),
    ]
    for interleaved in (0, 1):
        expanded = call(
            "Expand", positions, call("Concat", call("Shape", q, start=0, end=1), [9], axis=0)
        )
        found.append(call("RotaryEmbedding", q, *cache, expanded, interleaved=interleaved))
    return found


@family(False, x=numbers(7, BATCH, 40))
def recurrent(x: Tensor) -> list[Tensor]:
    found = []
    for op, gates, outputs in (("RNN", 1, 2), ("GRU", 3, 2), ("LSTM", 4, 3)):
        w, r = weights(2, gates * 11, 40), weights(2, gates * 11, 11, seed=2)
        bias = weights(2, 2 * gates * 11, seed=3)
        lengths = tf.constant(np.int32([7, 4, 1]))
        found += call(op, x, w, r, bias, lengths, hidden_size=11, direction="bidirectional",
                      outputs=outputs)  # fmt: skip
        y = call(op, x, w, r, bias, hidden_size=11, direction="bidirectional")
        found += tf.gradients(call("Mul", y, y), [x, w])
    w, r = weights(1, 33, 40), weights(1, 33, 11)
    found.append(call("GRU", x, w, r, hidden_size=11, linear_before_reset=1))
    return found


@family(False, x=numbers(BATCH, 300), a=bytes_of(9, 70), i=bytes_of(2, 3, 9, 8, seed=4))
def quantisation(a: Tensor, i: Tensor, x: Tensor) -> list[Tensor]:
    scale, zero = tf.constant(np.float32(0.017)), tf.constant(np.uint8(7))
    b = tf.constant(bytes_of(70, 21, seed=1))
    w = tf.constant(bytes_of(5, 3, 3, 2, seed=2))
    many = tf.constant(np.abs(numbers(300)) + np.float32(0.01))
    quantized = [
        call("QuantizeLinear", x, scale, tf.constant(np.array(z, kind)))
        for z, kind in ((7, np.uint8), (-3, np.int8), (500, np.uint16), (-500, np.int16))
    ]
    found = [
        *quantized,
        *(call("DequantizeLinear", q, scale) for q in quantized),
        call("QuantizeLinear", x, many, axis=1),
        *call("DynamicQuantizeLinear", x, outputs=3),
        call("MatMulInteger", a, b, zero, zero),
        call("QLinearMatMul", a, scale, zero, b, scale, zero, scale, zero),
        call("ConvInteger", i, w, zero),
        call("QLinearConv", i, scale, zero, w, scale, zero, scale, zero),
    ]
    for name in ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"):
        narrow = cast(x, name)
        found.append(cast(narrow, "float32"))
    return found


def half(x: Tensor) -> list[Tensor]:
    """Arithmetic behind inputs and outputs of 16 bits."""
    w = cast(weights(401, 13), x.dtype)
    row = cast(weights(401), x.dtype)
    functions = "Exp Log Tanh Erf Sin Gelu Softplus Sqrt Reciprocal Sigmoid Mish".split()
    tame = call("Clip", call("Where", call("IsNaN", x), row, x),
                *(cast(tf.constant(v), x.dtype) for v in (-3.0, 3.0)))  # fmt: skip
    return [
        *(call(op, x) for op in functions),
        *(call(op, x, row, version=15) for op in ("Add", "Mul", "Div", "Pow", "Max")),
        call("MatMul", tame, w),
        call("Softmax", tame),
        call("LayerNormalization", tame, row, row),
        *(call(f"Reduce{op}", tame, [1]) for op in REDUCTIONS),
        call("CumSum", tame, tf.constant(np.int64(1))),
        *(cast(x, kind) for kind in ("int32", "uint8", "float64", "bool")),
    ]


@family(True, x=special(), d=special(np.float64))
def float16(d: Tensor, x: Tensor) -> list[Tensor]:
    return [cast(d, "float16"), *half(cast(x, "float16"))]


@family(True, x=special(), d=special(np.float64))
def bfloat16(d: Tensor, x: Tensor) -> list[Tensor]:
    return [cast(d, "bfloat16"), *half(cast(x, "bfloat16"))]


@family(False, x=special(), d=special(np.float64),
        i=np.random.RandomState(0).randint(-(2**62), 2**62, 90))  # fmt: skip
def casts(d: Tensor, i: Tensor, x: Tensor) -> list[Tensor]:
    kinds = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 bool float16 float32 float64".split()
    return [cast(v, kind) for v in (x, d, i) for kind in kinds]


@family(False, x=numbers(30, 50), i=np.random.RandomState(1).randint(-30, 30, (90, 50)),
        u=numbers(90, 50, seed=2))  # fmt: skip
def scatters(i: Tensor, u: Tensor, x: Tensor) -> list[Tensor]:
    rows = call("Slice", i, [0], [1], [1])
    found = []
    for how in ("add", "mul", "max", "min"):
        found.append(call("ScatterElements", x, i, u, reduction=how))
        found.append(call("ScatterND", x, rows, u, reduction=how))
    found += tf.gradients(call("GatherElements", x, i), [x])
    found += tf.gradients(call("Gather", x, rows), [x])
    return found


@family(False, x=numbers(BATCH, 9, 10), n=np.random.RandomState(2).randint(-9, 9, (BATCH, 9, 10)))
def movement(n: Tensor, x: Tensor) -> list[Tensor]:
    """Elements of one to eight bytes at other positions, and integers, which every machine must
    read in its own order."""
    found, index = [], tf.constant(np.int64([[0, 1], [2, 8], [1, 4]]))
    lengths = tf.constant(np.int64([3, 9, 1]))
    for kind in ("float32", "float64", "int16", "int64", "bool", "float16"):
        y = cast(x, kind)
        found += [
            call("Tile", y, [1, 2, 1]),
            call("Pad", y, [0, 1, 2, 1, 0, 3], mode="reflect", version=25),
            call("GatherND", y, index),
            call("NonZero", y),
            call("Trilu", y, upper=0),
            call("Squeeze", call("Slice", y, [0], [1], [0]), [0]),
            call("EyeLike", call("Gather", y, tf.constant(np.int64(0)))),
            call("Compress", y, tf.constant([True, False, True]), axis=0),
            call("ReverseSequence", y, lengths, batch_axis=0, time_axis=1),
        ]  # fmt: skip
    for kind in ("int8", "uint16", "int32", "uint64"):
        a, b = cast(n, kind), tf.constant(np.arange(10).astype(kind))
        found += [call(f"Bitwise{op}", a, b) for op in ("And", "Or", "Xor")]
        found += [call(op, a, b, version=14) for op in ("Add", "Mul", "Div")]
        found += [call(op, a, b) for op in ("Mod", "Equal")]
        found.append(call("OneHot", a, tf.constant(np.int64(5)), tf.constant(np.float32([-1, 2]))))
    return found


@family(False, x=numbers(5, 10, 10, 3), y=np.int32([0, 1, 2, 1, 0]))
def training(x: Tensor, y: Tensor) -> list[Any]:
    """Channels last, cross entropy and a step of every optimizer."""
    found: list[Any] = []
    optimizers = (
        tf.train.GradientDescentOptimizer(0.1),
        tf.train.MomentumOptimizer(0.1, 0.9),
        tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        tf.train.AdamOptimizer(0.01),
    )
    for i, optimizer in enumerate(optimizers):
        w = tf.Variable(numbers(3, 3, 3, 20, seed=i), name=f"w{i}")
        v = tf.Variable(numbers(500, 3, seed=i) / 10, name=f"v{i}")
        h = tf.nn.relu(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"))
        pool = tf.nn.max_pool if i % 2 else tf.nn.avg_pool
        h = pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
        logits = tf.matmul(tf.reshape(h, [-1, 500]), v)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        if i > 1:
            sharp = tf.nn.softmax(call("Neg", logits))
            losses += tf.nn.softmax_cross_entropy_with_logits(labels=sharp, logits=logits)
        found += [losses, optimizer.minimize(tf.reduce_mean(losses))]
    return found + tf.gradients(found[0], [x])


@family(True, x=numbers(BATCH, 11, 11))
def decompositions(x: Tensor) -> list[Tensor]:
    """Of matrices: equations, factors, eigenvalues."""
    found: list[Tensor] = []
    for value in (x, cast(x, "float64")):
        across = tf.transpose(value, [0, 2, 1])
        positive = tf.matmul(value, across) + tf.eye(11, dtype=value.dtype)
        found += [tf.cholesky(positive), tf.matrix_solve(value, across)]
        found += [*tf.qr(value), *tf.self_adjoint_eig(positive)]
    return found


def ensemble(dtype: Any, modes: int, per_leaf: int) -> Trees:
    """Eleven trees of fifteen nodes and sixteen leaves; parents come before their children."""
    random = np.random.RandomState(4)
    trees, inner, leaves = 11, 15, 16
    node = np.arange(inner)[:, None]
    child = np.concatenate([2 * node + 1, 2 * node + 2], 1)
    branches = np.concatenate(
        [
            np.where(child < inner, child + inner * t, -1 - (child - inner + leaves * t))
            for t in range(trees)
        ]
    )
    count = trees * leaves * per_leaf
    return Trees(
        random.randn(trees * inner).astype(dtype),
        random.randint(0, 6, trees * inner).astype(np.int32),
        random.randint(0, modes, trees * inner).astype(np.uint8),
        branches.astype(np.int32),
        (np.arange(trees) * inner).astype(np.int32),
        np.arange(0, count + 1, per_leaf).astype(np.int32),
        np.tile(np.arange(per_leaf), trees * leaves).astype(np.int32),
        random.randn(count).astype(dtype),
    )


@family(True, x=numbers(40, 6))
def trees(x: Tensor) -> list[Tensor]:
    """Leaves with few weights and with many, plain comparisons and all of them, each aggregate."""
    found: list[Tensor] = []
    for dtype in (np.float32, np.float64):
        value = cast(x, dtype)
        for modes, per_leaf in ((1, 3), (6, 1)):
            for aggregate in AGGREGATES:
                grown = ensemble(dtype, modes, per_leaf)
                found.append(tree_ensemble(value, grown, 4, aggregate))
    for modes, per_leaf in ((1, 3), (6, 1)):
        grown = ensemble(np.float32, modes, per_leaf)
        wide = grown._replace(weights=grown.weights.astype(np.float64))
        found.append(tree_ensemble(x, wide, 4, "SUM"))
    return found


@family(True, x=numbers(9, 10), d=numbers(9, 10, dtype=np.float64))
def pairs(x: Tensor, d: Tensor) -> list[Tensor]:
    """Classes coupled, and numbers looked up among others."""
    found = [pairwise_coupling(tf.sigmoid(value), 5) for value in (x, d)]
    return [*found, index_of(x, tf.constant(numbers(9, 10)[::2, ::3].ravel()))]


@family(False, n=np.float32([7.25]))
def steps(n: Tensor) -> list[Tensor]:
    return [
        call("Range", tf.constant(np.float32(0.1)), tf.reshape(n, []), tf.constant(np.float32(0.3)))
    ]


@family(False)
def randomness() -> list[Tensor]:
    kinds = (tf.random_uniform, tf.random_normal, tf.truncated_normal)
    draws, seed = tf.random, [3, 4]
    return [*(make([1001], seed=i) for i, make in enumerate(kinds)),
            tf.random_uniform([501], 0, 1000, dtype=tf.int32, seed=9),
            draws.stateless_uniform([1001], seed, dtype=tf.float64),
            draws.stateless_normal([1001], seed), draws.stateless_truncated_normal([1001], seed),
            draws.stateless_uniform([501], seed, 0, 1000, tf.int64),
            draws.stateless_uniform([501], seed, None, None, tf.uint32)]  # fmt: skip


def build(path: Path) -> dict[str, tuple[bool, list[Array]]]:
    """Writes the model; returns the inputs of its signatures as write_inputs takes them."""
    signatures, sets = {}, {}
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        for name, (rows, inputs, function) in FAMILIES.items():
            with tf.name_scope(name):
                given = {
                    key: tf.placeholder(
                        array.dtype, [None if rows else array.shape[0], *array.shape[1:]]
                    )
                    for key, array in sorted(inputs.items())
                }
                made = function(**given)
            steps = [y for y in made if isinstance(y, tf.Operation)]
            outputs = [tf.convert_to_tensor(y) for y in made if y not in steps]
            signatures[name] = given, {f"y{i:03d}": y for i, y in enumerate(outputs)}, steps
            sets[name] = rows, [inputs[key] for key in given]
        session.run(tf.global_variables_initializer())
        tf.saved_model.save(str(path), session, signatures, optimize="none")
    return sets
