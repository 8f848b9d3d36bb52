"""Models of old opsets and their upgrades give the same values, whatever is known of shapes."""

import numpy as np
import onnx
import onnx.defs
import onnx.parser
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from graphio.onnx.upgrade import TARGET, upgrade
from graphio.onnx.upgrade.compatible import COMPATIBLE
from graphio.onnx.upgrade.table import RULES

# float32's limits in float16, by onnx's evaluator
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in cast")

RNG = np.random.default_rng(7)


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def parse(opset, body, inputs, ir=8):
    """A model of one graph: inputs x0, x1, ... as the arrays say, outputs y0, y1, ..."""
    model = onnx.parser.parse_model(
        f'<ir_version: {ir}, opset_import: ["": {opset}]> g () => () {{ {body} }}'
    )
    for i, x in enumerate(inputs):
        number = helper.np_dtype_to_tensor_dtype(x.dtype)
        model.graph.input.append(helper.make_tensor_value_info(f"x{i}", number, x.shape))
    made = {o for n in model.graph.node for o in n.output}
    model.graph.output.extend(
        onnx.ValueInfoProto(name=f"y{i}") for i in range(9) if f"y{i}" in made
    )
    return model


def typed(model, values):
    """The model whose outputs have the types of these values."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for info, value in zip(result.graph.output, values, strict=True):
        number = helper.np_dtype_to_tensor_dtype(value.dtype)
        info.type.CopyFrom(helper.make_tensor_type_proto(number, [None] * value.ndim))
    return result


def upgrade_without_shapes(model):
    """Upgrades the model while nothing says how its inputs are shaped."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for info in (*result.graph.input, *result.graph.output):
        info.type.tensor_type.ClearField("shape")
    result = upgrade(result)
    for k, info in enumerate(model.graph.input):
        result.graph.input[k].CopyFrom(info)
    for k, info in enumerate(model.graph.output):
        result.graph.output[k].CopyFrom(info)
    return result


def in_function(model):
    """The same nodes as a function's body."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    del result.graph.node[:]
    graph = model.graph
    names = [v.name for v in graph.input], [v.name for v in graph.output]
    function = result.functions.add(name="f", domain="local")
    function.input.extend(names[0])
    function.output.extend(names[1])
    function.node.extend(graph.node)
    function.opset_import.extend(model.opset_import)
    result.opset_import.append(helper.make_opsetid("local", 1))
    result.graph.node.append(helper.make_node("f", *names, domain="local", name="call"))
    return result


#: onnx's evaluator lacks them, or scans forward only
UNKNOWN_TO_REFERENCE = {"GlobalLpPool", "GroupNormalization", "Scan"}


def operators(model):
    """Names of the operators in a model's graph, in its functions and in their subgraphs."""
    for owner in (model.graph, *model.functions):
        yield from operators_in(owner)


def operators_in(owner):
    for node in owner.node:
        yield node.op_type
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from operators_in(attribute.g)


def evaluate(model, inputs):
    if UNKNOWN_TO_REFERENCE & set(operators(model)):
        result = onnx.ModelProto()
        result.CopyFrom(model)
        result.ir_version = 10
        for owner in (result, *result.functions):
            owner.opset_import[0].version = 21  # these operators mean the same there
        return by_onnxruntime(result, inputs)
    feeds = {f"x{i}": x for i, x in enumerate(inputs)}
    return ReferenceEvaluator(model).run(None, feeds)


def by_onnxruntime(model, inputs):
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, {f"x{i}": x for i, x in enumerate(inputs)})


def agree(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def check(opset, body, inputs, expected=None):
    """The upgraded model is valid and gives what is expected, or what onnxruntime gives.

    So does the upgrade of the model without shapes, and of the model as a function's body.
    """
    model = parse(opset, body, inputs)
    if expected is None:
        expected = by_onnxruntime(model, inputs)
    model = typed(model, expected)
    original = model.SerializeToString(deterministic=True)
    for upgraded in (upgrade(model), upgrade_without_shapes(model), upgrade(in_function(model))):
        onnx.checker.check_model(upgraded, full_check=True)
        assert [o.version for o in upgraded.opset_import if not o.domain] == [TARGET]
        agree(evaluate(upgraded, inputs), expected)
    assert model.SerializeToString(deterministic=True) == original
    return upgrade(model)


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


def softmax_2d(x, axis):
    flat = x.reshape(int(np.prod(x.shape[:axis])), -1)
    e = np.exp(flat - flat.max(1, keepdims=True))
    return (e / e.sum(1, keepdims=True)).reshape(x.shape)


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
    for mode, places in (
        ("floor", np.floor((np.arange(6) + 0.5) / 1.5)),
        ("round_prefer_floor", np.ceil((np.arange(6) + 0.5) / 1.5 - 0.5)),
    ):
        body = (
            "roi = Constant<value=float[0] {}>() s = Constant<value=float[1] {1.5}>()"
            ' y0 = Resize<coordinate_transformation_mode="tf_half_pixel_for_nn",'
            f' nearest_mode="{mode}">(x0, roi, s)'
        )
        check(11, body, [x], [x[np.clip(places, 0, 3).astype(int)]])


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


# --- names, functions, errors


def test_known_shapes_need_no_shape_nodes():
    """Where ranks are known, a broadcast becomes one Unsqueeze and Softmax stays alone."""
    model = check(6, "y0 = Add<broadcast=1, axis=1>(x0, x1)", [A, B34], [A + B34[..., None]])
    assert list(operators(model)) == ["Constant", "Unsqueeze", "Add"]
    x = f32(2, 3)
    model = check(6, "y0 = Softmax(x0)", [x], [softmax_2d(x, 1)])
    assert list(operators(model)) == ["Softmax"]


def test_names_stay_and_new_ones_derive_from_them():
    model = parse(11, "a = Identity(x0) y0 = Unsqueeze<axes=[0]>(a)", [f32(2)])
    model.graph.node[0].name = "u/axes"
    model.graph.node[1].name = "u"
    nodes = upgrade(model).graph.node
    assert [n.name for n in nodes] == ["u/axes", "u/axes_1", "u"]
    assert list(nodes[2].input) == ["a", "u/axes_1"]
    assert list(nodes[2].output) == ["y0"]


def test_without_an_opset_it_is_opset_1():
    model = parse(1, "y0 = Softmax(x0)", [X234])
    del model.opset_import[:]
    model.ir_version = 2
    agree(evaluate(upgrade(model), [X234]), [softmax_2d(X234, 1)])


def test_other_domains_stay():
    model = parse(11, "y0 = Squeeze<axes=[0]>(x0)", [f32(1, 2)])
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 2))
    model.graph.node.append(
        helper.make_node("Scaler", ["x0"], ["z"], domain="ai.onnx.ml", offset=[0.0], scale=[1.0])
    )
    result = upgrade(model)
    assert [(o.domain, o.version) for o in result.opset_import] == [("", TARGET), ("ai.onnx.ml", 2)]
    assert result.graph.node[-1] == model.graph.node[-1]


def test_the_domain_has_two_names():
    model = parse(11, "y0 = Squeeze<axes=[0]>(x0)", [f32(1, 2)])
    model.opset_import[0].domain = "ai.onnx"
    model.graph.node[0].domain = "ai.onnx"
    result = upgrade(model)
    assert [(o.domain, o.version) for o in result.opset_import] == [("", TARGET)]
    assert [n.domain for n in result.graph.node] == ["", ""]


def test_functions_have_their_own_opset_and_parameters():
    """A function of opset 11 in a model of opset 13, its axes given by the caller."""
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["": 13, "local": 1]>
        g (float[2, 3] x0) => (float[1, 2, 3] y0, float[2, 3] y1)
        { y0 = local.f<axes = [0]>(x0) y1 = Softmax(x0) }
        <opset_import: ["": 11], domain: "local"> f <axes> (x) => (y)
        { s = Softmax<axis = 0>(x) y = Unsqueeze<axes: ints = @axes>(s) }
    """)
    x = f32(2, 3)
    result = upgrade(model)
    onnx.checker.check_model(result, full_check=True)
    agree(evaluate(result, [x]), [softmax_2d(x, 0)[None], softmax_2d(x, 1)])


def test_parameters_of_functions_become_constants():
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["": 10, "local": 1]>
        g (float[2, 3] x0) => (float[3, 3] y0) { y0 = local.f<most = 0.5, pads = [1, 0, 0, 0]>(x0) }
        <opset_import: ["": 10], domain: "local"> f <most, pads> (x) => (y)
        { c = Clip<max: float = @most>(x) y = Pad<pads: ints = @pads, value: float = @most>(c) }
    """)
    x = f32(2, 3)
    result = upgrade(model)
    onnx.checker.check_model(result, full_check=True)
    expected = np.pad(np.minimum(x, 0.5), ((1, 0), (0, 0)), constant_values=0.5)
    agree(evaluate(result, [x]), [expected])


def test_parameters_that_rules_must_know():
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["": 6, "local": 1]>
        g (float[2, 3] x0) => (float[2, 3] y0) { y0 = local.f<test = 1>(x0) }
        <opset_import: ["": 6], domain: "local"> f <test> (x) => (y)
        { y = Dropout<is_test: int = @test>(x) }
    """)
    with pytest.raises(ValueError, match="'is_test' is the function's parameter 'test'"):
        upgrade(model)


def test_a_function_of_the_model_is_no_operator():
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["": 11, "local": 1]>
        g (float[2] x0) => (float[2] y0) { y0 = local.Softmax(x0) }
        <opset_import: ["": 11], domain: "local"> Softmax (x) => (y) { y = Relu(x) }
    """)
    assert upgrade(model).graph.node[0] == model.graph.node[0]


def test_the_newest_opset_stays():
    model = parse(TARGET, "y0 = Softmax(x0)", [X234])
    assert upgrade(model).graph == model.graph


def test_in_place():
    model = parse(11, "y0 = Squeeze<axes=[0]>(x0)", [f32(1, 2)])
    model.graph.initializer.append(numpy_helper.from_array(f32(4), "w"))
    result = upgrade(model, copy=False)
    assert result is model
    assert [n.op_type for n in model.graph.node] == ["Constant", "Squeeze"]
    assert model.graph.initializer[0].name == "w"


REFUSED = {
    "experimental": (6, "y0 = GRUUnit(x0)", "GRUUnit of opset 6"),
    "too new": (9, "y0 = Gelu(x0)", "no such operator"),
    "no default": (6, "y0 = ScaledTanh<beta=1.0>(x0)", "no attribute 'alpha'"),
    "deprecated": (12, "y0 = Scatter(x0, x0, x0)", "no more since opset 11"),
    "saved mean": (
        9,
        "y0, a, b, y1, y2 = BatchNormalization(x0, x0, x0, x0, x0)",
        "'y1' has no equal",
    ),
    "fraction": (1, "y0 = GlobalLpPool<p=2.5>(x0)", "p is 2.5"),
    "kernel": (1, "y0 = LpPool(x0)", "kernel_shape"),
    "axis": (1, "y0 = Split(x0)", "no attribute 'axis'"),
    "type": (1, 'y0 = Cast<to="REAL">(x0)', "no type 'REAL'"),
    "shape": (1, "y0 = Reshape(x0)", "no attribute 'shape'"),
    "lengths": (
        8,
        "y0, y1 = Scan(x0, x0, x0) <num_scan_inputs = 1, body = b (s, e) => (t, o)"
        " { t = Add(s, e) o = Identity(t) }>",
        "different lengths",
    ),
    "malformed": (18, "y0 = GroupNormalization(x0, x0, x0)", "malformed"),
    "half pixel": (
        11,
        'y0 = Resize<mode="linear", coordinate_transformation_mode="tf_half_pixel_for_nn">'
        "(x0, x0, x0)",
        "tf_half_pixel_for_nn",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    opset, body, text = REFUSED[name]
    model = parse(opset, body, [f32(2, 2)])
    before = model.SerializeToString(deterministic=True)
    with pytest.raises(ValueError, match="1 node cannot be upgraded") as caught:
        upgrade(model, copy=False)
    assert text in str(caught.value)
    assert model.SerializeToString(deterministic=True) == before


def test_all_refusals_at_once():
    model = parse(6, "y0 = GRUUnit(x0) y1 = ATen(x0) y2 = Relu(x0)", [f32(2)])
    model.graph.node[0].name = "unit"
    with pytest.raises(ValueError, match="2 nodes") as caught:
        upgrade(model)
    assert "'unit' (GRUUnit of opset 6)" in str(caught.value)
    assert "'y1' (ATen of opset 6)" in str(caught.value)


def test_an_opset_below_one_is_refused():
    with pytest.raises(ValueError, match="opset 0; the first one is 1"):
        upgrade(parse(0, "y0 = Relu(x0)", [f32(2)]))


def test_an_opset_of_the_future_counts_as_the_newest():
    model = parse(TARGET + 71, "y0 = Relu(x0)", [f32(2)])
    upgraded = upgrade(model)
    assert [o.version for o in upgraded.opset_import] == [TARGET]
    assert upgraded.graph.node == model.graph.node
