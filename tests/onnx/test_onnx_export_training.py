"""Training steps of ONNX models, back in ONNX: ONNX Runtime, graphio's Python engine and its C
engine take the same two steps of gradient descent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import graphio as tf
import graphio.onnx as tfonnx

ort = pytest.importorskip("onnxruntime")
Array = np.ndarray
node = helper.make_node


def values(*shape: int, seed: int = 0) -> Array:
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


@dataclass
class Case:
    """A model whose output is y: its nodes, what it is fed, and its weights."""

    nodes: Sequence[onnx.NodeProto]
    feeds: dict[str, Array]
    weights: dict[str, Array] = field(default_factory=dict)
    batch: bool = True

    def model(self) -> onnx.ModelProto:
        inputs = []
        for name, value in self.feeds.items():
            dims: list[Any] = list(value.shape)
            if self.batch and dims and name == "x":
                dims[0] = "batch"
            kind = helper.np_dtype_to_tensor_dtype(value.dtype)
            inputs.append(helper.make_tensor_value_info(name, kind, dims))
        graph = helper.make_graph(
            list(self.nodes),
            "case",
            inputs,
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(a, n) for n, a in self.weights.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])


CASES: dict[str, Case] = {}
#: Those whose own operator ONNX Runtime has only in older opsets.
OLD: dict[str, Case] = {}


def one(
    label: str, op: str, x: Sequence[int], *weights: Array | None, batch: bool = True, **attrs: Any
) -> None:
    """A case of one node that takes x and weights."""
    names = ["x", *("" if w is None else f"w{i}" for i, w in enumerate(weights))]
    given = {f"w{i}": w for i, w in enumerate(weights) if w is not None}
    made = node(op, names, ["y"], **attrs)
    CASES[label] = Case([made], {"x": values(*x, seed=1)}, given, batch)


def ints(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


# ---- convolutions ----

one("Conv 1-d", "Conv", (2, 3, 9), values(4, 3, 3), values(4))
one("Conv 1-d dilated", "Conv", (2, 4, 11), values(6, 2, 3), group=2, dilations=[2], pads=[2, 1])
one("Conv 2-d strided", "Conv", (2, 3, 9, 8), values(4, 3, 3, 2), values(4), strides=[2, 3])
one("Conv 2-d grouped", "Conv", (2, 4, 7, 8), values(6, 2, 3, 2), group=2, pads=[1, 0, 2, 1])
one("Conv 2-d depthwise", "Conv", (2, 4, 7, 8), values(4, 1, 3, 3), group=4, pads=[1] * 4)
one(
    "Conv 2-d same", "Conv", (2, 3, 7, 8), values(4, 3, 3, 2), auto_pad="SAME_UPPER", strides=[2, 2]
)
one(
    "Conv 2-d lower",
    "Conv",
    (2, 3, 7, 8),
    values(4, 3, 2, 4),
    auto_pad="SAME_LOWER",
    strides=[2, 1],
)
one(
    "Conv 2-d padded widely",
    "Conv",
    (1, 2, 3, 4),
    values(2, 2, 2, 2),
    pads=[3, 2, 4, 3],
    strides=[3, 2],
)
one("Conv 3-d", "Conv", (2, 2, 5, 6, 4), values(3, 2, 3, 2, 2), values(3), strides=[1, 2, 1])
one("Conv 3-d grouped dilated", "Conv", (1, 4, 6, 5, 7), values(4, 2, 2, 2, 3), group=2,
    dilations=[2, 1, 2], pads=[1, 0, 1, 0, 1, 1])  # fmt: skip
one("ConvTranspose 1-d", "ConvTranspose", (2, 3, 5), values(3, 4, 3), values(4), strides=[2])
one("ConvTranspose 2-d", "ConvTranspose", (2, 4, 4, 5), values(4, 3, 3, 2), group=2,
    strides=[2, 3], pads=[1, 0, 0, 1], output_padding=[1, 2])  # fmt: skip
one("ConvTranspose same", "ConvTranspose", (2, 3, 4, 5), values(3, 2, 3, 3), strides=[2, 2],
    auto_pad="SAME_UPPER")  # fmt: skip
one("ConvTranspose dilated", "ConvTranspose", (1, 2, 4, 3), values(2, 2, 3, 2), dilations=[2, 2])
one("ConvTranspose 3-d", "ConvTranspose", (1, 2, 3, 4, 2), values(2, 2, 2, 2, 3), strides=[2, 1, 2])

# ---- pools ----

one("MaxPool 1-d", "MaxPool", (2, 3, 9), kernel_shape=[3], strides=[2])
one("MaxPool 2-d", "MaxPool", (2, 3, 7, 8), kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1])
one("MaxPool ceil", "MaxPool", (2, 3, 7, 8), kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
one("MaxPool dilated", "MaxPool", (1, 2, 9, 8), kernel_shape=[2, 3], dilations=[3, 2])
one("MaxPool 3-d", "MaxPool", (1, 2, 5, 6, 4), kernel_shape=[2, 3, 2], strides=[2, 1, 2])
one("AveragePool 1-d", "AveragePool", (2, 3, 9), kernel_shape=[3], strides=[2], pads=[1, 1])
one(
    "AveragePool 2-d",
    "AveragePool",
    (2, 3, 7, 8),
    kernel_shape=[3, 2],
    strides=[2, 3],
    pads=[1, 0, 2, 1],
)
one(
    "AveragePool padded",
    "AveragePool",
    (2, 3, 7, 8),
    kernel_shape=[3, 2],
    pads=[1, 0, 2, 1],
    count_include_pad=1,
)
one(
    "AveragePool ceil",
    "AveragePool",
    (2, 3, 7, 8),
    kernel_shape=[3, 3],
    strides=[2, 2],
    ceil_mode=1,
)
one("AveragePool dilated", "AveragePool", (1, 2, 9, 8), kernel_shape=[2, 3], dilations=[3, 2])
one(
    "AveragePool same",
    "AveragePool",
    (2, 3, 7, 8),
    kernel_shape=[3, 2],
    strides=[2, 2],
    auto_pad="SAME_UPPER",
)
one("AveragePool 3-d", "AveragePool", (1, 2, 5, 6, 4), kernel_shape=[2, 3, 2], strides=[2, 1, 2])
one("LpPool", "LpPool", (2, 3, 7, 8), kernel_shape=[3, 2], strides=[2, 2], p=3)
one("GlobalAveragePool", "GlobalAveragePool", (2, 3, 4, 5))
one("GlobalMaxPool", "GlobalMaxPool", (2, 3, 4, 5))

# ---- normalisations ----

one("BatchNormalization", "BatchNormalization", (3, 4, 5, 2), values(4), values(4, seed=2),
    values(4, seed=3), np.abs(values(4, seed=4)) + 0.5)  # fmt: skip
one("InstanceNormalization", "InstanceNormalization", (3, 4, 5, 2), values(4), values(4, seed=2))
one("LayerNormalization", "LayerNormalization", (3, 4, 5), values(5), values(5, seed=2))
one("LayerNormalization of two axes", "LayerNormalization", (3, 4, 5), values(4, 5), axis=-2)
one(
    "GroupNormalization",
    "GroupNormalization",
    (2, 6, 4, 3),
    values(6),
    values(6, seed=2),
    num_groups=3,
)
one("RMSNormalization", "RMSNormalization", (3, 4, 5), values(5))
one("LRN", "LRN", (2, 6, 4, 3), size=3, alpha=0.1)
one("LpNormalization", "LpNormalization", (3, 4, 5), axis=1)

# ---- dense layers and embeddings ----

one("Gemm", "Gemm", (3, 4), values(5, 4), values(5), transB=1, alpha=0.5, beta=2.0)
one("MatMul", "MatMul", (2, 3, 4), values(4, 5))
one("Softmax", "Softmax", (3, 4, 5), axis=1)
one("LogSoftmax", "LogSoftmax", (3, 4, 5))
one("PRelu", "PRelu", (3, 4, 5), values(4, 1))
CASES["Gather"] = Case(
    [node("Gather", ["table", "ids"], ["y"])],
    {"ids": np.array([[0, 3, 3], [1, 0, 6]], np.int64)},
    {"table": values(7, 4)},
)
CASES["Einsum"] = Case(
    [node("Einsum", ["x", "w"], ["y"], equation="bij,jk->bki")],
    {"x": values(2, 3, 4)},
    {"w": values(4, 5)},
)
CASES["Gelu"] = Case([node("MatMul", ["x", "w"], ["h"]), node("Gelu", ["h"], ["y"])],
                     {"x": values(3, 4)}, {"w": values(4, 4)})  # fmt: skip

# ---- attention and recurrence ----


def attention(label: str, heads: int, kv_heads: int, **attrs: Any) -> None:
    made = [
        node("MatMul", ["x", "wq"], ["q"]),
        node("MatMul", ["x", "wk"], ["k"]),
        node("MatMul", ["x", "wv"], ["v"]),
        node(
            "Attention", ["q", "k", "v"], ["y"], q_num_heads=heads, kv_num_heads=kv_heads, **attrs
        ),
    ]
    weights = {
        "wq": values(6, 4 * heads),
        "wk": values(6, 4 * kv_heads, seed=2),
        "wv": values(6, 4 * kv_heads, seed=3),
    }
    CASES[f"Attention {label}"] = Case(made, {"x": values(2, 5, 6)}, weights)


attention("of heads", 2, 2)
attention("causal", 2, 2, is_causal=1)
attention("grouped", 4, 2, scale=0.3)
attention("softcap", 2, 2, softcap=2.0)


def recurrent(label: str, op: str, gates: int, directions: int = 1, **attrs: Any) -> None:
    """Four steps of a batch of 3, 2 numbers in and 4 out."""
    weights = {
        "w": values(directions, gates * 4, 2),
        "r": values(directions, gates * 4, 4, seed=2) * np.float32(0.5),
        "b": values(directions, gates * 8, seed=3),
        "lengths": np.array([4, 2, 3], np.int32),
    }
    h = attrs.pop("lengths", "")
    outputs = ["y", "last"] if op != "LSTM" else ["y", "last", "cell"]
    made = node(op, ["x", "w", "r", "b", h and "lengths"], outputs, hidden_size=4, **attrs)
    if not h:
        del weights["lengths"]
    CASES[f"{op} {label}"] = Case([made], {"x": values(4, 3, 2, seed=4)}, weights, False)


for _op, _gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
    recurrent("forward", _op, _gates)
    recurrent(
        "both ways with lengths", _op, _gates, 2, direction="bidirectional", lengths="lengths"
    )
recurrent("reverse", "LSTM", 4, direction="reverse", lengths="lengths")
recurrent("after the reset", "GRU", 3, linear_before_reset=1)
recurrent("with other activations", "RNN", 1, activations=["Relu"])

# ---- resampling ----


def resize(label: str, x: Sequence[int], sizes: Any, **attrs: Any) -> None:
    """Sizes are integers, scales floats."""
    array = np.asarray(sizes, np.int64 if isinstance(sizes[0], int) else np.float32)
    inputs = ["x", "", "", "sizes"] if array.dtype == np.int64 else ["x", "", "sizes"]
    made = node("Resize", inputs, ["y"], **attrs)
    whole = array.dtype == np.int64 and len(array) == len(x)  # sizes include the batch
    CASES[f"Resize {label}"] = Case([made], {"x": values(*x, seed=1)}, {"sizes": array}, not whole)


resize(
    "nearest",
    (2, 3, 4, 5),
    [1.0, 1.0, 2.0, 3.0],
    coordinate_transformation_mode="asymmetric",
    nearest_mode="floor",
)
resize("nearest down", (2, 3, 7, 5), [2, 3, 4, 3], nearest_mode="round_prefer_ceil")
resize("linear", (2, 3, 4, 5), [1.0, 1.0, 2.0, 1.5], mode="linear")
resize(
    "linear aligned",
    (2, 3, 4, 5),
    [2, 3, 9, 3],
    mode="linear",
    coordinate_transformation_mode="align_corners",
)
resize("linear antialias", (1, 2, 8, 7), [1, 2, 4, 3], mode="linear", antialias=1)
resize("cubic", (1, 2, 4, 5), [1.0, 1.0, 2.0, 1.6], mode="cubic", cubic_coeff_a=-0.5)
resize("cubic of two axes", (1, 2, 4, 5), [7, 8], mode="cubic", axes=[2, 3])
CASES["Resize to a computed size"] = Case(
    [
        node("Shape", ["x"], ["n"], end=2),
        node("Concat", ["n", "wanted"], ["sizes"], axis=0),
        node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear"),
    ],
    {"x": values(2, 3, 4, 5)},
    {"wanted": ints(7, 3)},
)
CASES["Resize of a crop"] = Case(
    [node("Resize", ["x", "roi", "", "sizes"], ["y"], mode="linear", axes=[2, 3],
          coordinate_transformation_mode="tf_crop_and_resize")],
    {"x": values(2, 3, 4, 5)},
    {"roi": np.float32([0.2, -0.3, 0.9, 1.2]), "sizes": ints(5, 6)},
)  # fmt: skip


def sampled(label: str, x: Sequence[int], grid: Sequence[int], **attrs: Any) -> None:
    made = node("GridSample", ["x", "grid"], ["y"], **attrs)
    feeds = {"x": values(*x, seed=1), "grid": values(*grid, seed=2) * np.float32(0.7)}
    CASES[f"GridSample {label}"] = Case([made], feeds)


for _mode in ("linear", "nearest", "cubic"):
    for _padding in ("zeros", "border", "reflection"):
        for _align in (0, 1):
            sampled(f"{_mode} {_padding} {_align}", (2, 3, 4, 5), (2, 3, 6, 2), mode=_mode,
                    padding_mode=_padding, align_corners=_align)  # fmt: skip
sampled("3-d", (1, 2, 3, 4, 3), (1, 2, 3, 2, 3))
sampled(
    "1-d of the grid of one", (1, 2, 4, 1), (1, 1, 2, 2), padding_mode="reflection", align_corners=1
)


def regions(label: str, **attrs: Any) -> None:
    made = node("RoiAlign", ["x", "rois", "images"], ["y"], **attrs)
    weights = {
        "rois": np.float32([[0, 1, 5, 6], [2, 0, 3, 4], [-2, 1, 9, 12], [1, 1, 1.2, 1.4]]),
        "images": ints(0, 1, 1, 0),
    }
    OLD[f"RoiAlign {label}"] = Case([made], {"x": values(2, 3, 6, 7, seed=1)}, weights)


regions("average", output_height=2, output_width=3, sampling_ratio=2)
regions("as many samples as fit", output_height=2, output_width=2, spatial_scale=0.9)
regions(
    "of old", output_height=2, output_width=2, coordinate_transformation_mode="output_half_pixel"
)
regions("largest", output_height=3, output_width=2, sampling_ratio=2, mode="max")
regions("largest as many as fit", output_height=3, output_width=2, mode="max")
OLD["MaxRoiPool"] = Case(
    [node("MaxRoiPool", ["x", "rois"], ["y"], pooled_shape=[2, 3], spatial_scale=0.8)],
    {"x": values(2, 3, 6, 7)},
    {
        "rois": np.float32(
            [[0, 0, 0, 6, 5], [1, 1.4, 2, 4.6, 3], [0, -4, 1, 20, 30], [0, 9, 9, 11, 12]]
        )
    },
)
CASES["DeformConv"] = Case(
    [node("DeformConv", ["x", "w", "offset", "b", "mask"], ["y"], pads=[1, 0, 1, 1], strides=[2, 1],
          group=2, offset_group=2)],
    {"x": values(2, 4, 4, 4), "offset": values(2, 16, 3, 4, seed=2), "mask": values(2, 8, 3, 4)},
    {"w": values(2, 2, 2, 2, seed=1), "b": values(2, seed=3)},
)  # fmt: skip


@pytest.mark.parametrize("label", CASES)
def test_steps_are_the_same_in_all_engines(label: str) -> None:
    steps(CASES[label])


@pytest.mark.parametrize("label", OLD)
def test_steps_in_an_older_opset_are_the_same_too(label: str) -> None:
    steps(OLD[label], 21)


def steps(case: Case, opset: int | None = None) -> None:
    """Two steps of gradient descent in ONNX Runtime, the Python engine and the C engine."""
    found = {target: ours(case, target, opset) for target in ("runtime", "cinfer")}
    model, (losses, variables, gradients) = found["runtime"]
    onnx.checker.check_model(model, full_check=True)
    theirs = in_onnxruntime(model, case.feeds, len(losses))
    assert variables.keys() <= theirs[1].keys() and {"w0"} & case.weights.keys() <= variables.keys()
    for other in (found["cinfer"][1], theirs):
        close(other[0], losses)
        for key, value in variables.items():
            close(other[1][key], value)
        for key, value in gradients.items():
            close(other[2][key], value)


WINDOWS = [k for k in CASES if k.startswith(("Conv", "AveragePool", "MaxPool", "LpPool", "Resize"))]
FEW = ["GRU forward", "GridSample cubic border 1", "DeformConv", "Gather", "Attention causal"]


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("label", [*OLD, *WINDOWS, *FEW])
def test_gradients_alone_are_the_same_in_all_engines(label: str, unknown: bool) -> None:
    case = {**CASES, **OLD}[label]
    model, expected, feeds = alone(case, "", unknown)
    onnx.checker.check_model(model, full_check=True)
    found = in_onnxruntime(model, feeds, 1)[2]
    again = alone(case, "cinfer", unknown)[1]
    assert expected.keys() == found.keys() and expected
    for key, value in expected.items():
        close(again[key], value)
        close(found[key], value)


def alone(
    case: Case, target: str, unknown: bool
) -> tuple[onnx.ModelProto, dict[str, Array], dict[str, Array]]:
    """The exported gradients by feeds and weights, their values, what they were fed."""
    source = case.model()
    if unknown:
        for value in source.graph.input:
            for d in value.type.tensor_type.shape.dim:
                d.Clear()
    with tf.Graph().as_default(), tf.Session(target) as session:
        read = tfonnx.import_model(source, trainable=True)
        y = read.outputs["y"]
        expected_values = {k: v for k, v in read.inputs.items() if v.dtype.is_floating}
        expected_values |= {v.op.name: v for v in tf.trainable_variables()}
        session.run(tf.global_variables_initializer())
        at = {read.inputs[k]: v for k, v in case.feeds.items()}
        slope = values(*session.run(y, at).shape, seed=8)
        dy = tf.placeholder(tf.float32, [None] * slope.ndim if unknown else slope.shape)
        made = tf.gradients(y, list(expected_values.values()), [dy])
        outputs = {
            f"d_{k}": tf.convert_to_tensor(g)
            for k, g in zip(expected_values, made, strict=True)
            if g is not None
        }
        model = tfonnx.export(None, session, {**read.inputs, "dy": dy}, outputs)
        found = session.run(outputs, {**at, dy: slope})
    return model, found, {**case.feeds, "dy": slope}


def test_a_step_with_dropout_runs() -> None:
    """Its random numbers are ONNX Runtime's own, so that only what is dropped can be counted."""
    case = Case(
        [node("MatMul", ["x", "w"], ["h"]), node("Dropout", ["h", "ratio", "training"], ["y"])],
        {"x": np.ones((3, 40), np.float32)},
        {"w": np.ones((40, 50), np.float32), "ratio": np.float32(0.25), "training": np.array(True)},
    )
    with tf.Graph().as_default(), tf.Session() as session:
        read = tfonnx.import_model(case.model(), trainable=True)
        step = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(read.outputs["y"]))
        session.run(tf.global_variables_initializer())
        model = tfonnx.export(None, session, read.inputs, read.outputs, [step], opset=21)
    found = in_onnxruntime(model, case.feeds, 1)[1]["w"]
    # Of each column of w three slopes of 1 / 0.75 add up, less those of what was dropped.
    kept = (1 - found[0]) * 0.75
    np.testing.assert_allclose(kept, np.round(kept), atol=1e-4)
    assert 0.5 < np.mean(kept) / 3 < 0.95
    np.testing.assert_array_equal(found, found[:1].repeat(40, 0))


@pytest.mark.parametrize("size", [6, None])
def test_gradients_inside_the_body_of_a_loop(size: int | None) -> None:
    """The nodes that compute them read values of the body and weights from outside it."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [1, 2, size, size], name="x")
        w = tf.Variable(values(2, 2, 3, 3) * np.float32(0.3), name="w")

        def step(i: Any, v: Any) -> Any:
            y = tfonnx.call("Conv", v, w, pads=[1] * 4)
            mean = tfonnx.call("AveragePool", y, kernel_shape=[3, 3], pads=[1] * 4)
            return i + 1, tf.tanh(mean) + v

        invariants = [tf.TensorShape([]), tf.TensorShape([1, 2, size, size])]
        last = tf.while_loop(lambda i, _: i < 3, step, [tf.constant(0), x], invariants)[1]
        gradients = dict(zip(("dx", "dw"), tf.gradients(last, [x, w]), strict=True))
        session.run(tf.global_variables_initializer())
        model = tfonnx.export(None, session, {"x": x}, gradients | {"last": last})
        onnx.checker.check_model(model, full_check=True)
        feed = values(1, 2, 6, 6, seed=3)
        found = in_onnxruntime(model, {"x": feed}, 1)[2]
        for key, tensor in gradients.items():
            close(found[key], session.run(tensor, {x: feed}))


def test_a_ratio_that_depends_on_the_data_is_refused_with_words() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [1, 2, None, None], name="x")
        y = tfonnx.call(
            "Resize", x, None, None, tf.constant(ints(4, 6)), axes=[2, 3],
            keep_aspect_ratio_policy="not_larger",
        )  # fmt: skip
        (dx,) = tf.gradients(y, [x])
        with pytest.raises(tf.errors.UnimplementedError, match="ResizeGrad '.*keeps the ratio"):
            tfonnx.export(None, session, {"x": x}, {"dx": dx})


def close(found: Any, expected: Any) -> None:
    size = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * size)


Results = tuple[list[Array], dict[str, Array], dict[str, Array]]


def ours(
    case: Case, target: str, opset: int | None = None, count: int = 2
) -> tuple[onnx.ModelProto, Results]:
    """The exported step; losses, variables after the last step, gradients by the feeds in it."""
    with tf.Graph().as_default(), tf.Session(target) as session:
        read = tfonnx.import_model(case.model(), trainable=True)
        y = read.outputs["y"]
        with tf.name_scope("loss"):
            loss = tf.reduce_mean(tf.square(y - 0.3)) + 0.1 * tf.reduce_mean(y)
        floating = {k: v for k, v in read.inputs.items() if v.dtype.is_floating}
        gradients = dict(zip(floating, tf.gradients(loss, list(floating.values())), strict=True))
        outputs = {"loss": loss, **{f"d_{k}": g for k, g in gradients.items()}}
        targets = []
        if tf.trainable_variables():
            with tf.control_dependencies(list(outputs.values())):
                targets = [tf.train.GradientDescentOptimizer(0.05).minimize(loss)]
        session.run(tf.global_variables_initializer())
        model = tfonnx.export(None, session, read.inputs, outputs, targets, opset=opset)
        feeds = {read.inputs[k]: v for k, v in case.feeds.items()}
        losses, rest = [], {}
        for _ in range(count):
            rest, _ = session.run([outputs, targets], feeds)
            losses.append(rest.pop("loss", np.zeros(())))
        state = {v.op.name: session.run(v) for v in tf.trainable_variables()}
    return model, (losses, state, rest)


def in_onnxruntime(model: onnx.ModelProto, feeds: dict[str, Array], count: int) -> Results:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [o.name for o in session.get_outputs()]
    known = {i.name for i in session.get_inputs()}
    state: dict[str, Array] = {}
    losses, rest = [], {}
    for _ in range(count):
        given = {k: v for k, v in feeds.items() if k in known}
        rest = dict(zip(names, session.run(None, {**given, **state}), strict=True))
        losses.append(rest.pop("loss", np.zeros(())))
        state = {k.removesuffix("/new"): v for k, v in rest.items() if k.endswith("/new")}
    return losses, state, {k: v for k, v in rest.items() if not k.endswith("/new")}
