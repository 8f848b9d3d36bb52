"""Models of old opsets and their upgrades give the same values, whatever is known of shapes."""

import numpy as np
import onnx
import onnx.defs
import onnx.parser
import pytest
from onnx import helper
from onnx_upgrades import agree, check, evaluate, f32, operators, parse, softmax_2d, typed

from graphio.onnx.upgrade import TARGET, upgrade
from graphio.onnx.upgrade.compatible import COMPATIBLE
from graphio.onnx.upgrade.table import RULES

# float32's limits in float16, by onnx's evaluator
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in cast")

# --- every change of every operator is classified


def changes():
    """(operator, opset) of every form but each operator's first."""
    versions = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.since_version <= TARGET:
            versions.setdefault(schema.name, []).append(schema.since_version)
    return {(op, v) for op, all_of in versions.items() for v in sorted(all_of)[1:]}


def test_every_change_has_a_rule_or_is_compatible():
    ruled = {(op, version) for op, rules in RULES.items() for version, _ in rules}
    compatible = {(op, version) for op, versions in COMPATIBLE.items() for version in versions}
    assert not ruled & compatible
    assert ruled | compatible == changes()


def attributes(schema):
    for name, attribute in schema.attributes.items():
        value = attribute.default_value
        default = helper.get_attribute_value(value) if value.name else None
        yield name, (attribute.type, default), attribute.required


OPTIONAL = onnx.defs.OpSchema.FormalParameterOption.Optional


def differences(old, new):
    """How the newer form could refuse or change a node of the older one."""
    before, after = list(attributes(old)), list(attributes(new))
    known = {n: v for n, v, _ in after}
    optional = {n for n, _, needed in before if not needed}
    for name, value, _ in before:
        if known.get(name) != value:
            yield f"attribute {name}"
    for name, _, needed in after:
        if needed and (name in optional or name not in {n for n, _, _ in before}):
            yield f"attribute {name} is required"
    for kind in ("inputs", "outputs"):
        olds, news = getattr(old, kind), getattr(new, kind)
        if len(olds) > len(news):
            yield f"fewer {kind}"
        for a, b in zip(olds, news, strict=False):
            if set(a.types) - set(b.types):
                yield f"{kind}: {a.name} has fewer types"
            if (
                a.option != b.option
                and b.option != onnx.defs.OpSchema.FormalParameterOption.Optional
            ):
                yield f"{kind}: {a.name} is no longer optional"
        if any(b.option != OPTIONAL for b in news[len(olds) :]):
            yield f"{kind} added"


@pytest.mark.parametrize("op", sorted(COMPATIBLE))
def test_compatible_forms_have_the_same_signature(op):
    for version in COMPATIBLE[op]:
        old = onnx.defs.get_schema(op, version - 1, "")
        new = onnx.defs.get_schema(op, version, "")
        assert not list(differences(old, new)), (op, version)


# --- attributes that became inputs, changed defaults and names

X234 = f32(2, 3, 4)


FROM_7 = {
    "squeeze": (11, "y0 = Squeeze<axes=[0]>(x0) y1 = Squeeze(x0)", [f32(1, 3, 1)]),
    "unsqueeze": (11, "y0 = Unsqueeze<axes=[0, -1]>(x0)", [f32(2, 3)]),
    "split-sizes": (11, "y0, y1 = Split<axis=1, split=[1, 2]>(x0)", [X234]),
    "split-equal": (12, "y0, y1 = Split<axis=-1>(x0)", [X234]),
    "split-13": (13, "y0, y1 = Split<axis=2>(x0)", [X234]),
    "slice": (9, "y0 = Slice<starts=[1, -3], ends=[9, -1], axes=[1, 2]>(x0)", [X234]),
    "slice-all": (7, "y0 = Slice<starts=[0, 1], ends=[1, 2]>(x0)", [X234]),
    "reduce-sum": (12, "y0 = ReduceSum<axes=[0, 2], keepdims=0>(x0) y1 = ReduceSum(x0)", [X234]),
    "reduce-mean": (17, "y0 = ReduceMean<axes=[-1]>(x0) y1 = ReduceL2<axes=[1]>(x0)", [X234]),
    "reduce-max": (9, "y0 = ReduceMax<axes=[1]>(x0) y1 = ReduceMin(x0)", [X234]),
    "reduce-log": (11, "y0 = ReduceLogSumExp<axes=[1]>(x0) y1 = ReduceL1<axes=[0]>(x0)", [X234]),
    "clip": (10, "y0 = Clip<min=-0.5, max=0.5>(x0) y1 = Clip<min=0.0>(x0)", [X234]),
    "pad": (10, "y0 = Pad<pads=[0, 1, 2, 0], value=1.5>(x0)", [f32(2, 3)]),
    "pad-zero": (7, "y0 = Pad<pads=[0, 1, 2, 0]>(x0)", [f32(2, 3)]),
    "pad-reflect": (9, 'y0 = Pad<mode="reflect", pads=[0, 1, 0, 2]>(x0)', [f32(2, 3)]),
    "topk": (9, "y0, y1 = TopK<axis=1, k=2>(x0)", [X234]),
    "topk-10": (10, "k = Constant<value=int64[1] {2}>() y0, y1 = TopK(x0, k)", [X234]),
    "dropout": (11, "y0 = Dropout<ratio=0.9>(x0)", [X234]),
    "dropout-7": (7, "y0 = Dropout<ratio=0.9>(x0)", [X234]),
    "scatter": (
        10,
        "y0 = Scatter<axis=1>(x0, x1, x2)",
        [f32(3, 4), np.array([[1, 3], [0, 2]]), f32(2, 2)],
    ),
    "argmax": (10, "y0 = ArgMax<axis=1>(x0)", [X234]),
    "concat": (9, "y0 = Concat<axis=1>(x0, x0)", [X234]),
    "gemm": (8, "y0 = Gemm<transB=1, alpha=0.5>(x0, x1, x2)", [f32(2, 3), f32(4, 3), f32(4)]),
    "reshape": (12, "s = Constant<value=int64[2] {0, -1}>() y0 = Reshape(x0, s)", [X234]),
    "softmax": (12, "y0 = Softmax(x0) y1 = Softmax<axis=2>(x0) y2 = Softmax<axis=0>(x0)", [X234]),
    "log-softmax": (9, "y0 = LogSoftmax<axis=1>(x0)", [X234]),
    "hardmax": (11, "y0 = Hardmax(x0) y1 = Hardmax<axis=-1>(x0)", [X234]),
    "softmax-ones": (9, "y0 = Softmax(x0)", [f32(2, 3, 1, 1)]),
    "upsample-nearest": (
        7,
        "y0 = Upsample<scales=[1.0, 1.0, 2.0, 1.5]>(x0)",
        [f32(1, 2, 3, 4)],
    ),
    "upsample-linear": (
        8,
        'y0 = Upsample<mode="linear", scales=[1.0, 1.0, 2.0, 3.0]>(x0)',
        [f32(1, 2, 3, 4)],
    ),
    "upsample-9": (
        9,
        "s = Constant<value=float[4] {1.0, 1.0, 2.0, 2.0}>() y0 = Upsample(x0, s)",
        [f32(1, 2, 3, 4)],
    ),
    "resize-10-up": (
        10,
        "s = Constant<value=float[4] {1.0, 1.0, 2.0, 2.6}>() y0 = Resize(x0, s)",
        [f32(1, 2, 3, 4)],
    ),
    "resize-10-down": (
        10,
        "s = Constant<value=float[4] {1.0, 1.0, 0.6, 0.6}>() y0 = Resize(x0, s)",
        [f32(1, 1, 5, 7)],
    ),
    "resize-10-both": (
        10,
        "s = Constant<value=float[4] {1.0, 1.0, 0.6, 2.0}>() y0 = Resize(x0, s)",
        [f32(1, 1, 5, 7)],
    ),
    "resize-10-fed": (10, "y0 = Resize(x0, x1)", [f32(5, 7), np.float32([0.6, 2.0])]),
    "resize-10-linear": (
        10,
        's = Constant<value=float[4] {1.0, 1.0, 0.6, 2.0}>() y0 = Resize<mode="linear">(x0, s)',
        [f32(1, 1, 5, 7)],
    ),
    "resize-11-sizes": (
        11,
        "roi = Constant<value=float[0] {}>() none = Constant<value=float[0] {}>()"
        " z = Constant<value=int64[4] {1, 1, 7, 3}>()"
        ' y0 = Resize<mode="linear", coordinate_transformation_mode="align_corners">'
        "(x0, roi, none, z)",
        [f32(1, 1, 4, 5)],
    ),
    "resize-11-scales": (
        11,
        "roi = Constant<value=float[0] {}>() s = Constant<value=float[4] {1.0, 1.0, 2.0, 2.0}>()"
        ' y0 = Resize<mode="cubic">(x0, roi, s)',
        [f32(1, 1, 4, 5)],
    ),
    **{
        f"resize-{opset}-corners-{mode}": (
            opset,
            "s = Constant<value=float[4] {1.0, 1.0, 0.7, 1.3}>()"
            f' y0 = Resize<mode="{mode}", coordinate_transformation_mode="align_corners">(x0, {s})',
            [f32(2, 3, 5, 8)],
        )
        for opset, s in ((11, "s, s"), (13, ", s"), (18, ", s"))
        for mode in ("linear", "cubic", "nearest")
    },
    "resize-18-corners-axes": (
        18,
        "s = Constant<value=float[2] {0.7, 1.3}>()"
        ' y0 = Resize<mode="linear", coordinate_transformation_mode="align_corners",'
        " axes=[3, 2]>(x0, , s)",
        [f32(2, 3, 8, 5)],
    ),
    "resize-13-corners-fed": (
        13,
        'y0 = Resize<mode="linear", coordinate_transformation_mode="align_corners">(x0, , x1)',
        [f32(5, 7), np.float32([0.7, 1.3])],
    ),
    "batch-norm": (
        7,
        "y0 = BatchNormalization<epsilon=0.01>(x0, x1, x2, x3, x4)",
        [f32(2, 3, 4), f32(3), f32(3), f32(3), np.abs(f32(3))],
    ),
    "group-norm": (
        18,
        "y0 = GroupNormalization<num_groups=2>(x0, x1, x2)",
        [f32(2, 6, 4), f32(2), f32(2)],
    ),
    "average-pool": (
        7,
        'y0 = AveragePool<kernel_shape=[2, 2], auto_pad="SAME_UPPER">(x0)'
        " y1 = MaxPool<kernel_shape=[3, 2], strides=[2, 1]>(x0)",
        [f32(1, 2, 5, 4)],
    ),
    "mean-variance": (9, "y0 = MeanVarianceNormalization(x0)", [f32(2, 3, 4, 5)]),
    "roi-align": (
        10,
        "y0 = RoiAlign<output_height=2, output_width=2>(x0, x1, x2)",
        [f32(1, 2, 6, 6), np.float32([[0, 0, 4, 4], [1, 2, 5, 5]]), np.array([0, 0])],
    ),
    "grid-sample": (
        16,
        "y0 = GridSample(x0, x1)",
        [f32(1, 2, 4, 5), np.clip(f32(1, 3, 3, 2), -1, 1)],
    ),
    "grid-sample-bilinear": (
        16,
        'y0 = GridSample<mode="bilinear", align_corners=1>(x0, x1)',
        [f32(1, 2, 4, 5), np.clip(f32(1, 3, 3, 2), -1, 1)],
    ),
    "dft": (17, "y0 = DFT(x0) y1 = DFT<axis=2, onesided=1>(x0)", [f32(1, 4, 6, 1)]),
    "lstm": (
        7,
        "y0, y1, y2 = LSTM<hidden_size=2>(x0, x1, x2)",
        [f32(3, 2, 4), f32(1, 8, 4), f32(1, 8, 2)],
    ),
    "one-hot": (
        9,
        "y0 = OneHot(x0, x1, x2)",
        [np.array([0, 2, 1]), np.array(3), np.float32([0.5, 2.0])],
    ),
    "in-if": (
        12,
        "y0 = If(x0) <then_branch = t () => (a) { a = Softmax(x1) },"
        " else_branch = e () => (b) { b = Unsqueeze<axes=[0]>(x1) }>",
        [np.array(True), X234],
    ),
    "in-loop": (
        11,
        "c = Constant<value=bool {1}>() n = Constant<value=int64 {3}>()"
        " y0, y1 = Loop(n, c, x0) <body = b (int64 i, bool go, float[k] v) => (go2, w, s)"
        " { go2 = Identity(go) w = Add(v, v) s = ReduceSum<axes=[0]>(w) }>",
        [f32(4)],
    ),
    "scan-9": (
        10,
        "y0, y1 = Scan(x0, x1) <num_scan_inputs = 1, body = b (float[3] s, float[3] e) => (t, o)"
        " { t = Add(s, e) o = ReduceSum<axes=[0], keepdims=0>(t) }>",
        [f32(3), f32(5, 3)],
    ),
    "scan-8": (
        8,
        'y0, y1 = Scan("", x0, x1) <num_scan_inputs = 1, body = b (float[3] s, float[3] e)'
        " => (float[3] t, float[3] o) { t = Add(s, e) o = Softmax<axis=0>(t) }>",
        [f32(2, 3), f32(2, 5, 3)],
    ),
    "scan-8-backward": (
        8,
        'y0, y1 = Scan("", x0, x1) <num_scan_inputs = 1, directions = [1],'
        " body = b (float[3] s, float[3] e) => (float[3] t, float[3] o)"
        " { t = Add(s, e) o = Identity(t) }>",
        [f32(2, 3), f32(2, 5, 3)],
    ),
}


@pytest.mark.parametrize("name", FROM_7)
def test_as_onnxruntime(name):
    check(*FROM_7[name])


A = f32(2, 3, 4, 5)
B34 = f32(3, 4)
SLOPE = np.abs(f32(3))
MEAN, VAR = f32(3), np.abs(f32(3)) + 1


def per_channel(v, rank=4):
    return v.reshape(-1, *[1] * (rank - 2))


def normalized(x, scale, bias, mean, var, epsilon=1e-5):
    p = [per_channel(v, x.ndim) for v in (scale, bias, mean, var)]
    return ((x - p[2]) / np.sqrt(p[3] + np.float32(epsilon)) * p[0] + p[1]).astype(x.dtype)


SCALE, BIAS = f32(3), f32(3)
WIDE = [np.abs(f32(3, 4)) + 1 for _ in range(4)]
BATCH = A.mean((0, 2, 3)), A.var((0, 2, 3))
SELU = np.where(X234 > 0, 1.0507 * X234, 1.0507 * (1.6732 * np.exp(X234) - 1.6732))

#: opset, nodes, inputs, outputs as opsets 1 to 6 describe them
BELOW_7 = {
    "add-axis": (6, "y0 = Add<broadcast=1, axis=1>(x0, x1)", [A, B34], [A + B34[..., None]]),
    "add-axis-negative": (
        6,
        "y0 = Add<broadcast=1, axis=-3>(x0, x1)",
        [A, B34],
        [A + B34[..., None]],
    ),
    "sub-suffix": (6, "y0 = Sub<broadcast=1>(x0, x1)", [A, A[0, 0]], [A - A[0, 0]]),
    "mul-first": (
        6,
        "y0 = Mul<broadcast=1, axis=0>(x0, x1)",
        [A, A[:, 0, 0, 0]],
        [A * A[:, :1, :1, :1]],
    ),
    "div-scalar": (
        1,
        "y0 = Div<broadcast=1, axis=2>(x0, x1)",
        [A, A[0, 0, 0, 0]],
        [A / A[0, 0, 0, 0]],
    ),
    "div-ones": (
        1,
        "y0 = Div<broadcast=1, consumed_inputs=[0, 0]>(x0, x1)",
        [A, A[0, 0, :1, :1]],
        [A / A[0, 0, 0, 0]],
    ),
    "add-same": (6, "y0 = Add(x0, x1)", [A, A], [A + A]),
    "pow-axis": (
        5,
        "y0 = Pow<broadcast=1, axis=1>(x0, x1)",
        [np.abs(A), SLOPE],
        [np.abs(A) ** per_channel(SLOPE)],
    ),
    "and-axis": (
        1,
        "y0 = And<broadcast=1, axis=1>(x0, x1) y1 = Or<broadcast=1, axis=1>(x0, x1)"
        " y2 = Xor<broadcast=1, axis=1>(x0, x1)",
        [A > 0, B34 > 0],
        [f(A > 0, B34[..., None] > 0) for f in (np.logical_and, np.logical_or, np.logical_xor)],
    ),
    "compare-axis": (
        6,
        "y0 = Less<broadcast=1, axis=1>(x0, x1) y1 = Greater<broadcast=1, axis=1>(x0, x1)",
        [A, B34],
        [B34[..., None] > A, B34[..., None] < A],
    ),
    "equal": (
        6,
        "y0 = Equal<broadcast=1>(x0, x1)",
        [np.array([[1, 2], [3, 2]]), np.array([1, 2])],
        [np.array([[True, True], [False, True]])],
    ),
    "consumed": (
        1,
        "y0 = Relu<consumed_inputs=[1]>(x0) y1 = Neg<consumed_inputs=[0]>(x0)"
        " y2 = Max<consumed_inputs=[0, 0]>(x0, x0)",
        [A],
        [np.maximum(A, 0), -A, A],
    ),
    "prelu": (
        6,
        "y0 = PRelu(x0, x1)",
        [A, SLOPE],
        [np.where(A < 0, per_channel(SLOPE) * A, A)],
    ),
    "prelu-3": (
        1,
        "y0 = PRelu(x0, x1)",
        [X234, SLOPE],
        [np.where(X234 < 0, SLOPE[:, None] * X234, X234)],
    ),
    "prelu-2": (
        6,
        "y0 = PRelu(x0, x1)",
        [B34.T, SLOPE],
        [np.where(B34.T < 0, SLOPE * B34.T, B34.T)],
    ),
    "prelu-1": (6, "y0 = PRelu(x0, x1)", [A, SLOPE[:1]], [np.where(A < 0, SLOPE[0] * A, A)]),
    "batch-norm": (
        6,
        "y0 = BatchNormalization<is_test=1>(x0, x1, x2, x3, x4)",
        [A, SCALE, BIAS, MEAN, VAR],
        [normalized(A, SCALE, BIAS, MEAN, VAR)],
    ),
    "batch-norm-training": (
        6,
        "y0, y1, y2, s0, s1 = BatchNormalization<momentum=0.75>(x0, x1, x2, x3, x4)",
        [A, SCALE, BIAS, MEAN, VAR],
        [
            normalized(A, SCALE, BIAS, *BATCH),
            MEAN * np.float32(0.75) + BATCH[0] * np.float32(0.25),
            VAR * np.float32(0.75) + BATCH[1] * np.float32(0.25),
        ],
    ),
    "batch-norm-1": (
        1,
        "y0 = BatchNormalization<is_test=1, consumed_inputs=[0, 0, 0, 1, 1]>(x0, x1, x2, x3, x4)",
        [A, SCALE, BIAS, MEAN, VAR],
        [normalized(A, SCALE, BIAS, MEAN, VAR)],
    ),
    "batch-norm-places": (
        6,
        "y0 = BatchNormalization<is_test=1, spatial=0>(x0, x1, x2, x3, x4)",
        [X234, *WIDE],
        [(X234 - WIDE[2]) / np.sqrt(WIDE[3] + np.float32(1e-5)) * WIDE[0] + WIDE[1]],
    ),
    "batch-norm-training-7": (
        7,
        "y0, y1, y2 = BatchNormalization(x0, x1, x2, x3, x4)",
        [A, SCALE, BIAS, MEAN, VAR],
        [
            normalized(A, SCALE, BIAS, *BATCH),
            MEAN * np.float32(0.9) + BATCH[0] * np.float32(0.1),
            VAR * np.float32(0.9) + BATCH[1] * np.float32(0.1),
        ],
    ),
    "batch-norm-training-places": (
        7,
        "y0, y1, y2 = BatchNormalization<spatial=0, momentum=0.5>(x0, x1, x2, x3, x4)",
        [X234, *WIDE],
        [
            (X234 - X234.mean(0)) / np.sqrt(X234.var(0) + np.float32(1e-5)) * WIDE[0] + WIDE[1],
            (WIDE[2] + X234.mean(0)) / 2,
            (WIDE[3] + X234.var(0)) / 2,
        ],
    ),
    "dropout": (6, "y0 = Dropout<is_test=1, ratio=0.9>(x0)", [X234], [X234]),
    "dropout-mask": (
        6,
        "y0, y1 = Dropout<is_test=1, ratio=0.9>(x0)",
        [X234],
        [X234, np.ones_like(X234)],
    ),
    "dropout-nothing": (6, "y0 = Dropout<ratio=0.0>(x0)", [X234], [X234]),
    "cast": (
        1,
        'y0 = Cast<to="INT32">(x0) y1 = Cast<to="double">(x0)',
        [X234],
        [X234.astype(np.int32), X234.astype(np.float64)],
    ),
    "cast-6": (6, 'y0 = Cast<to="INT32">(x0)', [X234], [X234.astype(np.int32)]),
    "concat": (3, "y0 = Concat(x0, x0)", [X234], [np.concatenate([X234, X234], 1)]),
    "reshape": (
        1,
        "y0 = Reshape<shape=[0, -1], consumed_inputs=[0]>(x0)",
        [X234],
        [X234.reshape(2, 12)],
    ),
    "selu": (5, "y0 = Selu(x0)", [X234], [SELU.astype(np.float32)]),
    "tile": (
        5,
        "y0 = Tile(x0, x1, x2)",
        [X234, np.float32(3), np.float32(1)],
        [np.tile(X234, (1, 3, 1))],
    ),
    "pad": (
        1,
        "y0 = Pad<paddings=[0, 1, 2, 0], value=2.0>(x0)",
        [B34],
        [np.pad(B34, ((0, 2), (1, 0)), constant_values=2)],
    ),
    "softmax": (1, "y0 = Softmax(x0)", [X234], [softmax_2d(X234, 1)]),
    "softmax-vector": (1, "y0 = Softmax<axis=0>(x0)", [SLOPE], [softmax_2d(SLOPE, 0)]),
    "clip": (
        1,
        "y0 = Clip<max=0.5>(x0) y1 = Clip(x0)",
        [X234.astype(np.float64)],
        [np.minimum(X234, 0.5).astype(np.float64), X234.astype(np.float64)],
    ),
    "clip-half": (
        6,
        "y0 = Clip<min=-3.4028234663852886e+38, max=0.5>(x0)",
        [X234.astype(np.float16)],
        [np.minimum(X234.astype(np.float16), np.float16(0.5))],
    ),
    "split": (
        1,
        "y0, y1 = Split<axis=1>(x0, x1)",
        [X234, np.array([1, 2])],
        [X234[:, :1], X234[:, 1:]],
    ),
    "upsample": (
        1,
        "y0 = Upsample<height_scale=2.0, width_scale=3.0>(x0)",
        [A],
        [A.repeat(2, 2).repeat(3, 3)],
    ),
    "lp-pool": (
        1,
        "y0 = GlobalLpPool<p=3.0>(x0)",
        [A],
        [(np.abs(A) ** 3).sum((2, 3), keepdims=True) ** np.float32(1 / 3)],
    ),
    "erf": (9, "y0 = Erf(x0)", [np.array([-2, 0, 3])], [np.array([0, 0, 0])]),
    "reduce-log-sum": (
        18,
        "a = Constant<value=int64[1] {1}>() y0 = ReduceLogSum<keepdims=0>(x0, a)",
        [np.array([[1, 2], [30, 70]])],
        [np.array([1, 4])],
    ),
}


@pytest.mark.parametrize("name", BELOW_7)
def test_as_described(name):
    if name in ("erf", "reduce-log-sum"):  # they need the type
        opset, body, inputs, expected = BELOW_7[name]
        model = typed(parse(opset, body, inputs), expected)
        agree(evaluate(upgrade(model), inputs), expected)
    else:
        check(*BELOW_7[name])


def test_gemm_broadcast():
    a, b, c = B34, f32(4, 2), np.float32([1, 2])
    check(6, "y0 = Gemm<broadcast=1>(x0, x1, x2)", [a, b, c], [a @ b + c])


def test_half_pixel_for_nearest_neighbours():
    x = f32(4)
    for mode, positions in (
        ("floor", np.floor((np.arange(6) + 0.5) / 1.5)),
        ("round_prefer_floor", np.ceil((np.arange(6) + 0.5) / 1.5 - 0.5)),
    ):
        body = (
            "roi = Constant<value=float[0] {}>() s = Constant<value=float[1] {1.5}>()"
            ' y0 = Resize<coordinate_transformation_mode="tf_half_pixel_for_nn",'
            f' nearest_mode="{mode}">(x0, roi, s)'
        )
        check(11, body, [x], [x[np.clip(positions, 0, 3).astype(int)]])


def mean_variance(x, axes):
    return (x - x.mean(axes, keepdims=True)) / x.std(axes, keepdims=True)


IMAGE = f32(2, 3, 5, 6)
COLUMN = np.float32([1, 2, 3]).reshape(3, 1, 1)

#: operators that early opsets had on trial, as the documents of that time describe them
EXPERIMENTAL = {
    "affine": ("y0 = Affine<alpha=2.0, beta=1.0>(x0)", IMAGE, 2 * IMAGE + 1),
    "scale": ("y0 = Scale<scale=2.0>(x0)", IMAGE, 2 * IMAGE),
    "scaled-tanh": (
        "y0 = ScaledTanh<alpha=2.0, beta=3.0>(x0)",
        IMAGE,
        2 * np.tanh(3 * IMAGE),
    ),
    "parametric-softplus": (
        "y0 = ParametricSoftplus<alpha=2.0, beta=3.0>(x0)",
        IMAGE,
        2 * np.log1p(np.exp(3 * IMAGE)),
    ),
    "thresholded-relu": (
        "y0 = ThresholdedRelu<alpha=0.5, consumed_inputs=[0]>(x0)",
        IMAGE,
        np.where(IMAGE > 0.5, IMAGE, 0),
    ),
    "image-scaler": (
        "y0 = ImageScaler<scale=2.0, bias=[1.0, 2.0, 3.0]>(x0)",
        IMAGE,
        2 * IMAGE + COLUMN,
    ),
    "image-scaler-plain": ("y0 = ImageScaler<scale=2.0>(x0)", IMAGE, 2 * IMAGE),
    "crop": ("y0 = Crop<border=[1, 2, 3, 0]>(x0)", IMAGE, IMAGE[:, :, 2:, 1:-3]),
    "crop-size": (
        "y0 = Crop<border=[1, 2, 0, 0], scale=[2, 3]>(x0)",
        IMAGE,
        IMAGE[:, :, 2:4, 1:4],
    ),
    "mean-variance": (
        "y0 = MeanVarianceNormalization(x0)",
        IMAGE,
        mean_variance(IMAGE, (0, 2, 3)),
    ),
    "mean-variance-across": (
        "y0 = MeanVarianceNormalization<across_channels=1>(x0)",
        IMAGE,
        mean_variance(IMAGE, (0, 1, 2, 3)),
    ),
    "mean": (
        "y0 = MeanVarianceNormalization<normalize_variance=0>(x0)",
        IMAGE,
        IMAGE - IMAGE.mean((0, 2, 3), keepdims=True),
    ),
    "fill": (
        "y0 = ConstantFill<dtype=6, value=3.0, extra_shape=[2]>(x0)",
        IMAGE,
        np.full((2, 3, 5, 6, 2), 3, np.int32),
    ),
    "fill-shape": (
        "y0 = ConstantFill<input_as_shape=1>(x0)",
        np.array([2, 3]),
        np.zeros((2, 3), np.float32),
    ),
}


@pytest.mark.parametrize("name", EXPERIMENTAL)
def test_experimental(name):
    body, x, y = EXPERIMENTAL[name]
    check(6, body, [x], [y])


def test_experimental_without_input():
    check(6, "y0 = ConstantFill<shape=[2, 3], value=1.0>()", [], [np.ones((2, 3), np.float32)])


def test_dynamic_slice():
    inputs = [IMAGE, np.array([1, 0]), np.array([3, 9]), np.array([2, 1])]
    check(9, "y0 = DynamicSlice(x0, x1, x2, x3)", inputs, [IMAGE[:, :, 1:3]])


def test_known_shapes_need_no_shape_nodes():
    """Where ranks are known, a broadcast becomes one Unsqueeze and Softmax stays alone."""
    model = check(6, "y0 = Add<broadcast=1, axis=1>(x0, x1)", [A, B34], [A + B34[..., None]])
    assert list(operators(model)) == ["Constant", "Unsqueeze", "Add"]
    x = f32(2, 3)
    model = check(6, "y0 = Softmax(x0)", [x], [softmax_2d(x, 1)])
    assert list(operators(model)) == ["Softmax"]
