"""The numeric operators of the standard, and how each is checked to be differentiable or not.

EXPECTED names every operator and its class. ROWS gives one-node models: the inputs, fed unless
they are `Const`, and among them those to which a gradient must flow. test_gradient_table.py runs
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gradient_check import away, pos
from onnx import NodeProto, TensorProto, helper

Array = np.ndarray[Any, Any]

YES, ZERO, NO = "yes", "zero", "no"

#: yes: at least one input has a gradient; zero: constant in pieces, so none or zeros; no: none.
EXPECTED: dict[str, str] = {
    **dict.fromkeys(
        """
        Abs Acos Acosh Add AffineGrid Asin Asinh Atan Atanh Attention AveragePool BatchNormalization
        Cast CastLike CausalConvWithState Celu CenterCropPad Clip Col2Im Compress Concat Conv
        ConvTranspose Cos Cosh CumProd CumSum DFT DeformConv DepthToSpace DequantizeLinear Det Div
        Dropout Einsum Elu Erf Exp Expand Flatten GRU Gather GatherElements GatherND Gelu Gemm
        GlobalAveragePool GlobalLpPool GlobalMaxPool GridSample GroupNormalization HardSigmoid
        HardSwish Identity If InstanceNormalization LRN LSTM LayerNormalization LeakyRelu
        LinearAttention Log LogSoftmax Loop LpNormalization LpPool MatMul Max MaxPool MaxRoiPool
        MaxUnpool Mean MeanVarianceNormalization Min Mish Mod Mul Neg PRelu Pad Pow QuantizeLinear
        RMSNormalization RNN Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax
        ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize
        ReverseSequence RoiAlign RotaryEmbedding Scan Scatter ScatterElements ScatterND Selu Shrink
        STFT Sigmoid Sin Sinh Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub
        Sum SwiGLU Swish Tan Tanh TensorScatter ThresholdedRelu Tile TopK Transpose Trilu Unsqueeze
        Upsample Where
        """.split(),
        YES,
    ),
    **dict.fromkeys("Ceil Floor Round Sign".split(), ZERO),
    **dict.fromkeys(
        """
        And ArgMax ArgMin Bernoulli BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor
        Constant ConstantOfShape ConvInteger DynamicQuantizeLinear Equal EyeLike Greater
        GreaterOrEqual Hardmax ImageDecoder IsInf IsNaN Less LessOrEqual MatMulInteger
        MelWeightMatrix Multinomial NonMaxSuppression NonZero Not OneHot Or QLinearConv
        QLinearMatMul RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range Shape Size
        Unique Xor
        """.split(),
        NO,
    ),
}

_STATE = "the first state is differentiable as every later one; truncated training needs it"
_BOUND = "what is clipped is the bound"
_LINEAR = "marked as having none; a Fourier transform is linear, and so is what a window does"
#: (operator, input): why its gradient is not what the standard's mark says.
DIFFERENCES: dict[tuple[str, str], str] = {
    ("AffineGrid", "theta"): "the grid is linear in theta, which spatial transformers train",
    ("CausalConvWithState", "past_state"): _STATE,
    ("Clip", "max"): _BOUND,
    ("Clip", "min"): _BOUND,
    ("DFT", "input"): _LINEAR,
    ("GRU", "initial_h"): _STATE,
    ("GridSample", "grid"): "the samples move with the grid, which spatial transformers train",
    ("Hardmax", "input"): "marked differentiable; it is constant in pieces, so none",
    ("LSTM", "initial_c"): _STATE,
    ("LSTM", "initial_h"): _STATE,
    ("LinearAttention", "past_state"): _STATE,
    ("Mod", "B"): "between its jumps either remainder is A - n B with a constant n",
    ("Pad", "constant_value"): "the border is this value",
    ("RNN", "initial_h"): _STATE,
    ("STFT", "signal"): _LINEAR,
    ("STFT", "window"): _LINEAR,
}


@dataclass(frozen=True)
class Const:
    """An input that the model holds."""

    value: Any


@dataclass(frozen=True)
class Held:
    """A floating input that is fed and has no gradient, or a gradient of zeros."""

    value: Any


@dataclass(frozen=True)
class Row:
    """A model of one node.

    Attributes:
        op: the operator.
        inputs: arrays are fed, floating ones are differentiated by; Const, Held; None: absent.
        attrs: of the node.
        outputs: their number; the floating ones are summed with random weights.
        label: tells the rows of an operator apart.
        opset: of the model.
        second: whether second derivatives are compared as well.
        fresh: whether each run starts from a new state, so that random numbers repeat.
        differences: whether finite differences tell the truth: not for straight-through ones.
        make: the nodes, where it is not one of these inputs x0, x1, ... and outputs y0, y1, ...
        keeps: inputs whose static sizes must be known.
    """

    op: str
    inputs: tuple[Any, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1
    label: str = ""
    opset: int = 28
    second: bool = True
    fresh: bool = False
    differences: bool = True
    make: Callable[[], list[NodeProto]] | None = None
    keeps: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.op}-{self.label}" if self.label else self.op


ROWS: list[Row] = []
node = helper.make_node


def row(op: str, *inputs: Any, **more: Any) -> None:
    """Adds a row; arguments that are not fields of a Row are attributes of the node."""
    known = {k: more.pop(k) for k in list(more) if k in Row.__dataclass_fields__}
    ROWS.append(Row(op, inputs, more, **known))


def ints(*values: Any, dtype: Any = np.int64) -> Array:
    return np.array(values, dtype)


def axes(*values: int) -> Const:
    return Const(ints(*values))


def draw(*shape: int, seed: int = 0) -> Array:
    return np.random.RandomState(seed).randn(*shape)


def f32(value: Any) -> Array:
    return np.asarray(value, np.float32)


X = away(3, 4)
Y = away(3, 4, seed=8) * 1.7
IMAGE = away(2, 3, 6, 5)

# ---- of each element ----

for _op in (
    "Abs Asin Acos Asinh Atan Atanh Cos Cosh Elu Erf Exp Gelu HardSigmoid HardSwish Identity "
    "LeakyRelu Mish Neg Reciprocal Relu Selu Sigmoid Sin Sinh Softplus Softsign Swish Tan Tanh "
    "Celu Shrink ThresholdedRelu"
).split():
    row(_op, X)
row("Acosh", 1 + pos(3, 4))
row("Log", pos(3, 4))
row("Sqrt", pos(3, 4))
row("Gelu", X, label="by tanh", approximate="tanh")
row("Elu", X, label="alpha", alpha=0.4)
row("Celu", X, label="alpha", alpha=0.4)
row("Swish", X, label="alpha", alpha=1.7)
row("HardSigmoid", 9 * X, label="beyond its slope", alpha=0.3, beta=0.4)
row("HardSwish", 9 * X, label="beyond its slope")
row("LeakyRelu", X, label="alpha", alpha=0.3)
row("Selu", X, label="own", alpha=1.3, gamma=0.8)
row("Shrink", X, label="own", lambd=0.45, bias=0.2)
row("ThresholdedRelu", X, label="alpha", alpha=0.45)
row("Cast", X, to=TensorProto.DOUBLE)
row("Cast", X, label="to fewer bits", to=TensorProto.FLOAT)
row("CastLike", X, Held(np.ones(2)))
row("Clip", X, Const(np.array(-0.45)), Const(np.array(0.5)))
row("Clip", X, np.array(-0.45), np.array(0.5), label="bounds that are fed")
row("PRelu", X, away(4))
row("PRelu", away(2, 3, 4), away(3, 1), label="of channels")
row("Dropout", X, label="off")
row("Dropout", X, Held(np.array(0.5)), Const(np.array(True)), label="on", fresh=True, seed=3)
row(
    "Dropout", X, Held(np.array(0.3)), np.array(True), outputs=2, label="as fed", fresh=True, seed=3
)
for _op in "Ceil Floor Round Sign".split():
    row(_op, Held(X))

# ---- of pairs and lists ----

for _op in "Add Sub Mul Div Max Min Sum Mean".split():
    row(_op, X, Y)
    row(_op, away(2, 3, 1) + 0.015, away(4, seed=9), label="broadcast")
for _op in "Max Min Sum Mean".split():
    row(_op, X, away(1, 4, seed=9), away(3, 1, seed=5), label="of three")
    row(_op, X, label="of one")
row("Pow", pos(3, 4), Y)
row("Pow", X, Const(np.array(3.0)), label="by a constant")
row("Pow", X, Const(ints(2)), label="by an integer")
row("Mod", 3 * X, Y, fmod=1)
row("Mod", 3 * X, Y, label="of quotients rounded down")
row("Where", draw(3, 4) > 0, X, away(4, seed=9))
row("SwiGLU", X, Y)
row("SwiGLU", X, Y, label="alpha", alpha=1.5)

# ---- linear algebra ----

row("MatMul", away(2, 3, 4), away(4, 5))
row("MatMul", away(3), away(2, 3, 4), label="row by batch")
row("Gemm", X, away(4, 2), away(2), alpha=0.5, beta=1.5)
row("Gemm", X, away(2, 3), away(4, 1), label="turned", transA=1, transB=1)
row("Einsum", away(2, 3, 4), away(2, 4, 5), equation="bij,bjk->bik")
row("Einsum", away(2, 3, 3), label="trace", equation="...ii->...")
row("Det", away(2, 3, 3))
row("Det", np.eye(4) + 0.1 * draw(4, 4), label="matrix")

# ---- Fourier transforms ----

for _inverse in (0, 1):
    _way = "backwards" if _inverse else "forwards"
    for _n in (5, 3, 8):
        row("DFT", draw(2, 5, 3, 2), Const(ints(_n).reshape(())), Const(ints(1).reshape(())),
            label=f"{_way} {_n}", inverse=_inverse)  # fmt: skip
    row("DFT", draw(2, 5, 1), label=f"of real numbers {_way}", inverse=_inverse)
for _n in (5, 6):
    row("DFT", draw(2, 6, 1), Const(ints(_n).reshape(())), label=f"one side {_n}", onesided=1)
    row("DFT", draw(2, 4, 2), Const(ints(_n).reshape(())), label=f"from one side {_n}",
        onesided=1, inverse=1)  # fmt: skip
row("DFT", draw(2, 4, 2), label="from one side", onesided=1, inverse=1)
row("STFT", draw(2, 11, 1), Const(ints(3).reshape(())), draw(4))
row("STFT", draw(1, 9, 2), Const(ints(2).reshape(())), None, Const(ints(5).reshape(())),
    label="complex", onesided=0)  # fmt: skip

# ---- reductions ----

for _op in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split():
    _data = pos(2, 3, 4) if _op == "LogSum" else away(2, 3, 4)
    row(f"Reduce{_op}", _data, axes(-1, 0))
    row(f"Reduce{_op}", _data, ints(1), label="axes that are fed", keepdims=0)
    row(f"Reduce{_op}", _data, label="of all", second=False)
for _op in ("CumSum", "CumProd"):
    row(_op, X, Const(np.array(1)))
    row(_op, X, Const(np.array(-2)), label="reverse", exclusive=1, reverse=1)
row("TopK", X, axes(2), outputs=2)
row("TopK", X, ints(2), outputs=2, label="smallest", axis=0, largest=0, sorted=0)

# ---- shapes ----

row("Concat", X, away(2, 4), axis=0)
row("Concat", X, Y, X + 1, label="last axis", axis=-1)
row("Expand", away(3, 1), axes(2, 1, 4))
row("Expand", away(3, 1), ints(2, 1, 4), label="fed")
row("Flatten", IMAGE, axis=2)
row("Reshape", X, axes(2, -1))
row("Reshape", away(2, 3, 4), ints(0, -1), label="fed")
row("Squeeze", away(3, 1, 4, 1), axes(1, -1))
row("Squeeze", away(3, 1, 4), label="all")
row("Unsqueeze", X, axes(0, -1))
row("Transpose", away(2, 3, 4), perm=[2, 0, 1])
row("Transpose", X, label="turned")
row("DepthToSpace", away(2, 8, 2, 3), blocksize=2)
row("DepthToSpace", away(2, 8, 2, 3), label="CRD", blocksize=2, mode="CRD")
row("SpaceToDepth", away(2, 3, 4, 6), blocksize=2)
row("Slice", away(4, 5), axes(3, 1), axes(0, 5), axes(0, 1), axes(-1, 2))
row("Slice", away(4, 5), ints(1), ints(3), ints(-1), label="fed")
row("Split", away(3, 6), outputs=2, axis=1, num_outputs=2)
row("Split", away(5, 2), axes(1, 4), outputs=2, label="of sizes")
row("Tile", X, axes(2, 3))
row("Tile", X, ints(2, 1), label="fed")
row("Pad", X, axes(1, 0, 2, -1), np.array(0.7))
row("Pad", X, axes(1, 2), None, axes(-1), label="reflect", mode="reflect")
row("Pad", X, ints(1, 0, 0, 2), label="edge, fed", mode="edge")
row("Pad", X, axes(2, 0, 1, 3), label="wrap", mode="wrap")
row("Trilu", away(2, 4, 3), Const(np.array(-1)), upper=0)
row("Trilu", away(3, 4))
row("CenterCropPad", away(5, 4), axes(3, 6))
row("CenterCropPad", away(2, 5, 4), axes(4, 7), label="of axes", axes=[-1, 1])
row("CenterCropPad", away(4, 4, 3), ints(10, 7, 9), label="fed")
row("ReverseSequence", away(4, 3, 2), ints(2, 4, 1), time_axis=0, batch_axis=1)

# ---- by index ----

row("Gather", X, ints([2, -1], [0, 2]))
row("Gather", X, axes(1, 1), label="axis", axis=1)
row("GatherElements", X, ints([0, -1, 1, 0], [0, 1, 1, 2]))
row("GatherND", away(2, 3, 4), ints([[0], [2]], [[1], [1]]), batch_dims=1)
_along = ints([0, -1, 1, 0], [2, 1, 0, 2])
for _op, _opset in (("ScatterElements", 28), ("Scatter", 10)):
    row(_op, X, _along, away(2, 4, seed=9), opset=_opset)
row("ScatterElements", X, ints([0, 2, 2]), away(1, 3), label="along 1", axis=1, reduction="add")
row("ScatterElements", X, ints([0, 2, 2]), away(1, 3), label="mul", axis=1, reduction="mul")
row("ScatterElements", X, ints([0, 2, 2]), away(1, 3), label="max", axis=1, reduction="max")
row("Scatter", X, ints([0, 2, -1]), away(1, 3, seed=9), opset=9, label="along 1", axis=1)
row("ScatterND", X, ints([0], [2]), away(2, 4, seed=9))
row("ScatterND", X, ints([1], [1]), away(2, 4, seed=9), label="mul", reduction="mul")
row("ScatterND", X, ints([1], [1]), away(2, 4, seed=9), label="min", reduction="min")
row("TensorScatter", away(2, 4, 3), away(2, 2, 3, seed=9), ints(1, 0))
row("TensorScatter", away(2, 4, 3), away(2, 2, 3), ints(3, 1), label="ring", mode="circular")
row("Compress", X, np.array([True, False, True]), axis=0)
row("Compress", X, Const(np.array([False, True, True])), label="of all")

# ---- activations along an axis, normalizations ----

row("Softmax", X)
row("Softmax", away(2, 3, 4), label="axis", axis=1)
row("LogSoftmax", X)
row("LogSoftmax", away(2, 3, 4), label="axis", axis=0)
_scale, _bias = away(4), away(4, seed=9)
_maps = draw(2, 4, 3)
row("LayerNormalization", draw(3, 4), _scale, _bias)
row("LayerNormalization", _maps, draw(4, 3), label="of two axes", axis=1)
row("RMSNormalization", draw(3, 4), _scale)
row("InstanceNormalization", _maps, _scale, _bias)
row("GroupNormalization", _maps, _scale, _bias, num_groups=2)
row("BatchNormalization", _maps, _scale, _bias, away(4, seed=3), pos(4))
row(
    "BatchNormalization",
    _maps, _scale, _bias, away(4, seed=3), pos(4),
    label="training", outputs=3, training_mode=1,
)  # fmt: skip
row("LpNormalization", X)
row("LpNormalization", X, label="1", p=1, axis=0)
row("LRN", draw(2, 5, 3), size=3, alpha=0.3, bias=2.0)
row("MeanVarianceNormalization", draw(2, 3, 2, 2))
row("MeanVarianceNormalization", _maps, label="axes", axes=[1])

# ---- convolutions, pooling, images ----

_kernel, _shift = draw(4, 3, 3, 2), draw(4)
row("Conv", IMAGE, _kernel, _shift, pads=[1, 0, 1, 1], strides=[2, 1])
row("Conv", away(2, 4, 7), draw(4, 2, 3), label="groups", group=2, dilations=[2])
row("ConvTranspose", away(2, 4, 3, 2), _kernel, draw(3), strides=[2, 1], output_padding=[1, 0])
row("ConvTranspose", away(2, 4, 5), draw(4, 1, 3), label="groups", group=2, pads=[1, 1])
row("Col2Im", draw(2, 8, 6), axes(3, 4), axes(2, 2))
row(
    "CausalConvWithState",
    f32(draw(2, 3, 5)), f32(draw(3, 1, 3)), f32(draw(3)), f32(draw(2, 3, 2)),
    outputs=2, keeps=(1,),
)  # fmt: skip
row(
    "CausalConvWithState", f32(draw(2, 3, 5)), f32(draw(3, 1, 3)), label="silu", activation="silu",
    keeps=(1,),
)  # fmt: skip
row("MaxPool", IMAGE, outputs=2, kernel_shape=[2, 3], strides=[1, 2], pads=[1, 0, 0, 1])
row("MaxPool", away(2, 2, 9), label="dilated", kernel_shape=[3], dilations=[2])
row("AveragePool", IMAGE, kernel_shape=[2, 3], strides=[2, 1], pads=[0, 1, 1, 1])
row("AveragePool", away(2, 2, 9), label="ceil", kernel_shape=[2], strides=[2], ceil_mode=1)
row("LpPool", IMAGE, kernel_shape=[2, 2], p=2)
row("LpPool", IMAGE, label="3", kernel_shape=[2, 3], p=3, strides=[2, 2], pads=[1, 1, 0, 1])
for _op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
    row(_op, IMAGE)
_positions = ints([[0, 3], [8, 11]], [[1, 2], [12, 15]]).reshape(1, 2, 2, 2)
row("MaxUnpool", away(1, 2, 2, 2), _positions, kernel_shape=[2, 2], strides=[2, 2])
row("Resize", IMAGE, None, Const(f32([1, 1, 1.5, 2])), mode="linear")
row("Resize", IMAGE, None, None, axes(4, 7), label="cubic", mode="cubic", axes=[2, 3])
row("Resize", IMAGE, None, Held(f32([1, 1, 0.5, 2])), label="nearest, fed", mode="nearest")
row("Upsample", IMAGE, Const(f32([1, 1, 2, 2])), opset=9, mode="linear")
row("Upsample", IMAGE, opset=7, label="7", mode="nearest", scales=[1.0, 1.0, 2.0, 1.0])
_grid = 0.8 * away(2, 4, 3, 2, seed=5)
row("GridSample", IMAGE, _grid)
row("GridSample", IMAGE, _grid, label="cubic", mode="cubic", align_corners=1)
row("GridSample", IMAGE, Held(_grid), label="nearest", mode="nearest")
row("AffineGrid", draw(2, 2, 3), axes(2, 3, 4, 5))
row("AffineGrid", draw(2, 3, 4), axes(2, 3, 2, 3, 4), label="of volumes", align_corners=1)
row("AffineGrid", draw(2, 2, 3), ints(2, 3, 4, 5), label="fed")
row("AffineGrid", draw(1, 2, 3), axes(1, 3, 4, 5), label="of one image")
_boxes = np.array([[0.3, 0.2, 4.1, 3.9], [1.2, 0.4, 3.8, 4.7]])
row(
    "RoiAlign", IMAGE, Held(_boxes), ints(1, 0), output_height=2, output_width=3,
    sampling_ratio=2,
)  # fmt: skip
row(
    "RoiAlign", IMAGE, Held(_boxes), ints(0, 0), label="max", output_height=2,
    output_width=2, sampling_ratio=2, mode="max",
)  # fmt: skip
row(
    "DeformConv", IMAGE, draw(2, 3, 2, 2), 0.4 * draw(2, 8, 5, 4), draw(2), draw(2, 4, 5, 4),
    kernel_shape=[2, 2], pads=[0, 0, 0, 0], keeps=(1,),
)  # fmt: skip
row(
    "MaxRoiPool", IMAGE, Held(np.array([[0, 0, 0, 3, 4], [1, 1, 1, 4, 5.0]])),
    pooled_shape=[2, 2],
)  # fmt: skip

# ---- recurrent layers and attention ----

for _op, _gates, _outputs in (("RNN", 1, 2), ("GRU", 3, 2), ("LSTM", 4, 3)):
    _layer = [0.5 * draw(*s, seed=i) for i, s in enumerate(
        [(3, 2, 4), (2, _gates * 2, 4), (2, _gates * 2, 2), (2, _gates * 4), (2, 2, 2)]
    )]  # fmt: skip
    _states = [_layer[4], 0.5 * draw(2, 2, 2, seed=9)][: _outputs - 1]
    row(
        _op, *_layer[:4], ints(3, 2, dtype=np.int32), *_states, outputs=_outputs, second=False,
        hidden_size=2, direction="bidirectional",
    )  # fmt: skip
    row(_op, *(v[:1] if i else v for i, v in enumerate(_layer[:3])), hidden_size=2, label="plain")
row(
    "LSTM", *(0.5 * draw(*s) for s in ((3, 2, 4), (1, 8, 4), (1, 8, 2), (1, 16))), None, None, None,
    0.5 * draw(1, 6), hidden_size=2, label="peepholes", second=False,
)  # fmt: skip
_q, _k, _v = draw(2, 4, 3, 4), draw(2, 2, 5, 4, seed=1), draw(2, 2, 5, 3, seed=2)
row("Attention", draw(2, 2, 3, 4), _k, _v)
row("Attention", _q, _k, _v, draw(3, 5), label="mask, groups", second=False, softcap=2.0)
row(
    "Attention", draw(2, 3, 8), draw(2, 3, 8), draw(2, 3, 8), None, draw(2, 2, 2, 4),
    draw(2, 2, 2, 4, seed=4), outputs=3, label="causal, past", second=False, is_causal=1,
    q_num_heads=2, kv_num_heads=2,
)  # fmt: skip
_angle = draw(6, 2)
row(
    "RotaryEmbedding", f32(draw(2, 2, 3, 4)), f32(np.cos(_angle)), f32(np.sin(_angle)),
    ints([0, 2, 5], [1, 1, 3]),
)  # fmt: skip
row(
    "RotaryEmbedding", f32(draw(2, 3, 12)), f32(draw(2, 3, 2)), f32(draw(2, 3, 2)),
    label="of three axes", num_heads=2, rotary_embedding_dim=4, interleaved=1,
)  # fmt: skip
_heads = [f32(0.6 * draw(2, 4, 4, seed=i)) for i in range(3)]
_state = f32(0.5 * draw(2, 2, 2, 2))
_decay, _beta = f32(-np.abs(draw(2, 4, 2))), f32(np.abs(0.3 * draw(2, 4, 2, seed=5)))
for _rule, _rest in {
    "linear": (_state,),
    "gated": (_state, _decay),
    "delta": (None, None, _beta),
    "gated_delta": (_state, _decay, _beta),
}.items():
    row(
        "LinearAttention", *_heads, *_rest, outputs=2, label=_rule, second=False,
        q_num_heads=2, kv_num_heads=2, update_rule=_rule,
    )  # fmt: skip

# ---- quantisation: the rounding is passed by ----


def _quantized() -> list[NodeProto]:
    return [
        node("QuantizeLinear", ["x0", "x1", "x2"], ["q"]),
        node("DequantizeLinear", ["q", "x1", "x2"], ["y0"]),
    ]


row(
    "QuantizeLinear", f32(7 * X), f32(0.5), Const(np.uint8(128)),
    make=_quantized, differences=False, second=False,
)  # fmt: skip
row("DequantizeLinear", draw(3, 4).astype(np.int8), f32(0.5), Const(np.int8(3)))
row("DequantizeLinear", (9 * draw(3, 4)).astype(np.uint8), f32(pos(4)), label="of an axis", axis=1)

# ---- without a gradient ----

_flags = draw(3, 4) > 0
_whole = ints([3, -2, 5], [1, 4, -7])
for _op in ("And", "Or", "Xor"):
    row(_op, _flags, ~_flags)
row("Not", _flags)
for _op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
    row(_op, _whole, _whole + 1)
row("BitwiseNot", _whole)
row("BitShift", _whole.astype(np.uint32), np.ones((2, 3), np.uint32), direction="LEFT")
for _op in "Equal Greater GreaterOrEqual Less LessOrEqual".split():
    row(_op, Held(X), Held(Y))
for _op in "ArgMax ArgMin IsInf IsNaN NonZero Shape Size Hardmax".split():
    row(_op, Held(X))
row("Unique", Held(X), outputs=4)
row("EyeLike", Held(X))
row("BitCast", Held(X), to=TensorProto.INT64)
row("Constant", value=np.arange(3.0))
row("ConstantOfShape", ints(2, 3))
row("OneHot", ints(1, 0, 2), Const(np.array(3)), Held(np.array([0.0, 1.0])))
row("Range", Held(np.array(0.0)), Held(np.array(2.1)), Held(np.array(0.5)))
row("Bernoulli", Held(pos(3, 4)), fresh=True, seed=2.0)
row("ImageDecoder", np.frombuffer(b"P6 2 1 255\nabcdef", np.uint8))
row("MelWeightMatrix", Const(ints(4)[0]), Const(ints(16)[0]), Const(ints(8000)[0]),
    Held(np.array(100.0)), Held(np.array(3000.0)))  # fmt: skip
row("Multinomial", Held(X), fresh=True, sample_size=3, seed=2.0)
row("RandomNormal", fresh=True, shape=[2, 3], seed=2.0)
row("RandomUniform", fresh=True, shape=[2, 3], seed=2.0)
row("RandomNormalLike", Held(X), fresh=True, seed=2.0)
row("RandomUniformLike", Held(X), fresh=True, seed=2.0)
_bytes, _zero = ints([3, 7], [1, 4], dtype=np.uint8), Const(np.uint8(2))
row("MatMulInteger", _bytes, _bytes)
row("ConvInteger", _bytes.reshape(1, 1, 2, 2), _bytes.reshape(1, 1, 2, 2))
row("DynamicQuantizeLinear", Held(f32(X)), outputs=3)
_step = Held(f32(0.5))
row("QLinearMatMul", _bytes, _step, _zero, _bytes, _step, _zero, _step, _zero)
row(
    "QLinearConv", _bytes.reshape(1, 1, 2, 2), _step, _zero, _bytes.reshape(1, 1, 2, 2), _step,
    _zero, _step, _zero,
)  # fmt: skip
row(
    "NonMaxSuppression", Held(f32([[[0, 0, 1, 1], [0, 0, 1, 1.1], [0, 5, 1, 6]]])),
    Held(f32([[[0.9, 0.7, 0.6]]])), axes(2), Const(f32([0.5])),
)  # fmt: skip

# ---- bodies: separate models, whose inputs are named x0, x1, ... ----


def _body(name: str, nodes: Sequence[Any], takes: Mapping[str, Any], gives: Sequence[str]) -> Any:
    inputs = [
        helper.make_tensor_value_info(n, *(kind if isinstance(kind, tuple) else (kind, None)))
        for n, kind in takes.items()
    ]
    outputs = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, None) for n in gives]
    return helper.make_graph(list(nodes), name, inputs, outputs)


def _with_if() -> list[NodeProto]:
    """sin(a) * b, or a + b twice."""
    then = _body("then", [node("Sin", ["x1"], ["s"]), node("Mul", ["s", "x2"], ["p"])], {}, ["p"])
    other = _body("other", [node("Add", ["x1", "x2"], ["t"]), node("Add", ["t", "t"], ["u"])], {},
                  ["u"])  # fmt: skip
    return [node("If", ["x0"], ["y0"], then_branch=then, else_branch=other)]


def _with_loop() -> list[NodeProto]:
    """v = sin(v) * w, which is also stacked; w comes from outside."""
    body = helper.make_graph(
        [node("Sin", ["v"], ["s"]), node("Mul", ["s", "x2"], ["next"]),
         node("Identity", ["go"], ["go_on"]), node("Mul", ["next", "next"], ["square"])],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []),
         helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         helper.make_tensor_value_info("v", TensorProto.DOUBLE, None)],
        [helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
         helper.make_tensor_value_info("next", TensorProto.DOUBLE, None),
         helper.make_tensor_value_info("square", TensorProto.DOUBLE, None)],
    )  # fmt: skip
    return [node("Loop", ["x0", "", "x1"], ["y0", "y1"], body=body)]


def _with_scan() -> list[NodeProto]:
    """h = sin(h) * w + a * b over the rows of a and the columns of b; what is joined: a * h."""
    body = _body(
        "body",
        [node("Sin", ["h"], ["s"]), node("Mul", ["s", "x3"], ["m"]), node("Mul", ["a", "b"], ["p"]),
         node("Add", ["m", "p"], ["next"]), node("Mul", ["a", "next"], ["joined"])],
        dict.fromkeys(("h", "a", "b"), TensorProto.DOUBLE),
        ["next", "joined"],
    )  # fmt: skip
    return [
        node("Scan", ["x0", "x1", "x2"], ["y0", "y1"], body=body, num_scan_inputs=2,
             scan_input_axes=[0, 1], scan_input_directions=[0, 1], scan_output_axes=[1])
    ]  # fmt: skip


def _body_of_loop(name: str, nodes: Sequence[NodeProto], result: str) -> Any:
    """A Loop's body: from v<name> to the result, with go<name> passed on."""
    return helper.make_graph(
        [*nodes, node("Identity", [f"go{name}"], [f"again{name}"])],
        f"body{name}",
        [
            helper.make_tensor_value_info(f"i{name}", TensorProto.INT64, []),
            helper.make_tensor_value_info(f"go{name}", TensorProto.BOOL, []),
            helper.make_tensor_value_info(f"v{name}", TensorProto.DOUBLE, None),
        ],
        [
            helper.make_tensor_value_info(f"again{name}", TensorProto.BOOL, []),
            helper.make_tensor_value_info(result, TensorProto.DOUBLE, None),
        ],
    )


def _with_all() -> list[NodeProto]:
    """A Loop whose steps loop i times where i is odd, and else multiply."""
    inner = _body_of_loop(
        "b", [node("Sin", ["vb"], ["sin"]), node("MatMul", ["sin", "x2"], ["nextb"])], "nextb"
    )
    then = _body("then", [node("Loop", ["ia", "", "va"], ["t"], body=inner)], {}, ["t"])
    other = _body("other", [node("Cos", ["va"], ["cos"]), node("Mul", ["cos", "x1"], ["o"])], {},
                  ["o"])  # fmt: skip
    choice = [
        node("Constant", [], ["two"], value_int=2),
        node("Mod", ["ia", "two"], ["rest"]),
        node("Cast", ["rest"], ["odd"], to=TensorProto.BOOL),
        node("If", ["odd"], ["nexta"], then_branch=then, else_branch=other),
    ]
    return [node("Loop", ["x3", "", "x0"], ["y0"], body=_body_of_loop("a", choice, "nexta"))]


for _taken in (True, False):
    row("If", np.array(_taken), X, Y, make=_with_if, label=f"{_taken}".lower())
row("If", Const(np.array(True)), X, Y, make=_with_if, label="known")
row("Loop", np.array(3), X, Y, make=_with_loop, outputs=2)
row("Loop", Const(np.array(2)), X, Y, make=_with_loop, outputs=2, label="known count")
row("Loop", np.array(0), X, Y, make=_with_loop, outputs=2, label="no iteration")
row("Loop", away(2, 3), Y[:2, :3], draw(3, 3), np.array(4), make=_with_all, label="of all")
row("Scan", away(3), away(4, 3), away(3, 4), away(3, seed=9), make=_with_scan, outputs=2)

# ---- gradients at ties and kinks ----


@dataclass(frozen=True)
class Kink:
    """A node where its function has a corner or a tie.

    Attributes:
        says: the convention, as docs/gradients.md has it.
        op, inputs, attrs: of the node; the gradient of the first output's sum is meant.
        gradients: of the floating inputs, in order.
        outputs: of the node.
    """

    says: str
    op: str
    inputs: tuple[Any, ...]
    gradients: tuple[Any, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1


KINKS: list[Kink] = []


def kink(
    says: str, op: str, inputs: Sequence[Any], *gradients: Any, outputs: int = 1, **attrs: Any
) -> None:
    """Adds a convention."""
    KINKS.append(Kink(says, op, tuple(inputs), gradients, attrs, outputs))


_ends = [-1.0, 0.0, 1.0]
_first = np.array([0, 0])
kink("`Relu` at 0: 0", "Relu", [_ends], [0, 0, 1])
kink("`LeakyRelu` at 0: its slope below", "LeakyRelu", [_ends], [0.5, 0.5, 1], alpha=0.5)
kink("`PRelu` at 0: 1, as above it", "PRelu", [_ends, [0.5]], [0.5, 1, 1], [-1])
kink("`Elu`, `Selu` at 0: the slope above it", "Elu", [[0.0, 1.0]], [1, 1], alpha=3.0)
kink("`Abs`, `ReduceL1` at 0: 0", "Abs", [_ends], [-1, 0, 1])
kink("`HardSigmoid`, `HardSwish` at their corners: the slope beyond them", "HardSigmoid",
     [[-2.0, 2.0]], [0, 0], alpha=0.25)  # fmt: skip
kink("`Clip` on a bound: 1 for the input, 0 for the bound", "Clip", [_ends, -1.0, 0.0],
     [1, 1, 0], 0, 1)  # fmt: skip
kink("`Max`, `Min`: all to the first of equal arguments", "Max", [[1.0, 2.0], [1.0, 3.0]], [1, 0],
     [0, 1])  # fmt: skip
kink("`ReduceMax`, `ReduceMin`, `GlobalMaxPool`: in equal shares to equal elements", "ReduceMax",
     [[1.0, 3.0, 3.0]], [0, 0.5, 0.5], keepdims=0)  # fmt: skip
kink("`MaxPool`, `MaxRoiPool`: all to the first of equal elements", "MaxPool",
     [np.ones((1, 1, 4))], [[[1, 0, 1, 0]]], kernel_shape=[2], strides=[2])  # fmt: skip
kink("`TopK`: to the elements chosen, of equal ones those of lower index", "TopK",
     [[1.0, 1.0, 1.0], np.array([2])], [1, 1, 0], outputs=2)  # fmt: skip
kink("`ReduceL2`, `LpPool`, `GlobalLpPool` of zeros: 0", "ReduceL2", [[0.0, 0.0]], [0, 0])
kink("`ReduceProd`, `CumProd` with zeros: the other elements multiplied, without a division",
     "ReduceProd", [[0.0, 2.0, 3.0]], [6, 0, 0])  # fmt: skip
kink("`ReduceLogSumExp` of nothing but -inf: 0", "ReduceLogSumExp", [[-np.inf, -np.inf]], [0, 0])
kink("`Pow`: 0 by the base where the exponent is 0; 0 by the exponent where the base is not"
     " positive", "Pow", [[0.0, -1.0], [0.0, 2.0]], [0, -2], [0, 0])  # fmt: skip
kink("`Gather` and its kin: indices that repeat add up", "Gather", [[1.0, 2.0], _first], [2, 0])
kink("`ScatterElements`, `ScatterND`, `Scatter` without a reduction: all updates of one index get"
     " its gradient, what was overwritten gets none", "ScatterElements",
     [[1.0, 2.0], _first, [5.0, 6.0]], [0, 1], [1, 1])  # fmt: skip
kink("the same with max or min: in equal shares to equal winners, the data's element among them",
     "ScatterElements", [[5.0, 2.0], _first, [5.0, 4.0]], [0.5, 1], [0.5, 0],
     reduction="max")  # fmt: skip
kink("the same with mul: the other elements multiplied", "ScatterElements",
     [[0.0, 2.0], _first, [5.0, 6.0]], [30, 1], [0, 0], reduction="mul")  # fmt: skip
