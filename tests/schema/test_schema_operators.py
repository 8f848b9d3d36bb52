"""The operator table, the generators, and the bodies of our operators."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import onnx
import onnx.parser
import pytest
from folders import ROOT
from onnx.reference import ReferenceEvaluator
from schema_samples import node, tensor_type

import graphio.runtime
from graphio.schema import checkpoint_writer, container, operators, verify
from graphio.schema import model_pb2 as pb

sys.path.insert(0, str(ROOT / "tools"))
from operator_bodies import function_text

OURS = operators.table().names("graphio")


@pytest.mark.parametrize("tool", ["gen_schema", "gen_operators"])
def test_what_is_generated_is_fresh(tool: str) -> None:
    command = [sys.executable, str(ROOT / "tools" / f"{tool}.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_header_follows_the_schema() -> None:
    text = (ROOT / "cinfer/src/ci_schema.h").read_text()
    for line in (
        "#define CI_PB_NODE_OP 2",
        "#define CI_PB_NODE_OP_WIRE 2",
        "#define CI_PB_TYPE_TENSORTYPE_DTYPE 1",
        "#define CI_PB_DATATYPE_BFLOAT16 16",
        "  X(dims, 2, 0, PACKED) \\",
        "  X(input, 3, 2, MANY) \\",
    ):
        assert line + "\n" in text


def test_the_schema_needs_little_to_be_imported() -> None:
    program = """
import sys
import graphio.schema.checkpoint, graphio.schema.verify, graphio.schema.restore
from graphio.schema import operators
operators.body("graphio", "AdamStep", 1)
wrong = [m for m in sys.modules if m.split(".")[0] in ("onnx", "cffi", "torch", "onnxruntime")]
wrong += [m for m in sys.modules if m.startswith("graphio.") and m.split(".")[1] not in
          ("schema", "storage", "support", "cinfer", "version")]
assert not wrong, wrong
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_versions_are_one() -> None:
    assert checkpoint_writer.PRODUCER == f"graphio {graphio.graphio_version}"
    header = (ROOT / "cinfer/include/cinfer.h").read_text()
    for part, number in zip(
        ("MAJOR", "MINOR", "PATCH"), graphio.graphio_version.split("."), strict=True
    ):
        assert f"#define CI_VERSION_{part} {number}\n" in header


def test_every_operator_of_the_standard_is_there() -> None:
    newest = {s.name: s for s in onnx.defs.get_all_schemas() if s.domain == ""}
    for name, schema in newest.items():
        row = operators.lookup("", name, schema.since_version)
        assert row.version == schema.since_version, name
        assert (row.min_inputs, row.max_inputs) == (schema.min_input, schema.max_input), name
        assert (row.min_outputs, row.max_outputs) == (schema.min_output, schema.max_output), name
        assert set(row.attributes) == set(schema.attributes), name


@pytest.mark.parametrize(
    ("op", "version", "options"),
    [
        ("Add", 7, {"dtypes": [1, 1]}),
        ("Add", 14, {"dtypes": [3, 3]}),
        ("Add", 7, {"dtypes": [14, 14]}),  # ours alone: the oldest
        ("Shape", 1, {}),
        ("Shape", 15, {"attributes": ["start"]}),
        ("Split", 13, {"attributes": ["axis"], "inputs": 2}),
        ("Split", 18, {"attributes": ["axis", "num_outputs"], "inputs": 1}),
        ("Loop", 1, {"inputs": 3}),
        ("Loop", 11, {"inputs": 2}),
        ("ReduceSum", 13, {"dtypes": [1, 7], "inputs": 2}),
        ("Reshape", 5, {"inputs": 2}),
        ("Reshape", 14, {"attributes": ["allowzero"], "inputs": 2}),
        ("StringSplit", 20, {}),
        ("NoSuchOperator", 1, {}),
    ],
)
def test_the_oldest_version_that_expresses_a_node(op: str, version: int, options: dict) -> None:
    assert operators.version_for(op, **options) == version


def test_defaults() -> None:
    assert operators.defaults("", "Gemm", 7) == {
        "alpha": 1.0,
        "beta": 1.0,
        "transA": 0,
        "transB": 0,
    }
    assert operators.defaults("", "Selu", 6)["alpha"] == np.float32(1.67326319217681884765625)
    assert operators.defaults("", "Conv", 11) == {"auto_pad": "NOTSET", "group": 1}


@pytest.mark.parametrize("op", OURS)
def test_ours_say_what_they_mean(op: str) -> None:
    row = operators.lookup("graphio", op, 1)
    data = {
        r["name"]: r
        for r in json.loads((ROOT / "schema/graphio_operators.json").read_text())["operators"]
    }[op]
    assert row.summary and row.family
    body = operators.body("graphio", op, 1)
    if isinstance(data["body"], list):
        assert body is not None
        assert [i.name for i in row.inputs] == list(body.input)
        model = pb.Model(function=[body])
        assert verify.problems(model) == []
    else:
        assert body is None and (data.get("no_body") or data.get("node_body"))


# ---- bodies and kernels ----

RANDOM = np.random.RandomState(0)


def randoms(*shape: int) -> np.ndarray:
    return RANDOM.randn(*shape)


STEP = [randoms(5) for _ in range(2)] + [np.array(0.1)]
IMAGE = {
    "strides": [2, 1],
    "dilations": [1, 2],
    "group": 2,
    "auto_pad": "NOTSET",
    "pads": [1, 0, 2, 1],
}
POOL = {"kernel_shape": [2, 3], "strides": [2, 1], "auto_pad": "NOTSET", "pads": [1, 0, 0, 2]}

CASES: dict[str, tuple[list[np.ndarray], dict]] = {
    "ReluGrad": ([np.array([0.0, 1.0, 2.0]), randoms(3)], {}),
    "StopGradient": ([randoms(2, 3)], {}),
    "CheckEqual": ([np.array([2, 3], np.int64)] * 2, {"message": ""}),
    "CheckSparseIndices": (
        [np.array([[0, 1], [1, 0]], np.int64), np.array([2, 2], np.int64)],
        {"ordered": 1},
    ),
    "Send": ([randoms(2, 3)], {"tensor_name": "x", "send_device": "a", "recv_device": "b"}),
    "Recv": ([randoms(2, 3)], {"tensor_name": "x", "send_device": "a", "recv_device": "b"}),
    "CheckNumerics": ([randoms(2, 3)], {"message": ""}),
    "IndexRange": ([np.array([0, 2])], {"limit": 3}),
    "IndexOf": ([randoms(2, 3), np.array([0.5, 2.0])], {}),
    "NonZeroDivisor": ([np.array([1.0, 2.0])], {}),
    "EnsureShape": ([randoms(2, 3)], {"dims": [-1, 3]}),
    "PlaceholderWithDefault": ([randoms(2, 3)], {}),
    "Conv2D": ([randoms(2, 7, 6, 4), randoms(3, 2, 2, 6)], IMAGE),
    "MaxPool2D": ([randoms(2, 7, 6, 3)], POOL),
    "AveragePool2D": ([randoms(2, 7, 6, 3)], POOL),
    "SoftmaxCrossEntropy": ([randoms(4, 3), np.abs(randoms(4, 3))], {}),
    "SparseSoftmaxCrossEntropy": ([randoms(4, 3), np.array([0, 2, 1, 2])], {}),
    "SumToShape": ([randoms(2, 3, 4), np.array([3, 1], np.int64)], {}),
    "GradientDescentStep": ([STEP[0], STEP[2], STEP[1]], {}),
    "MomentumStep": ([STEP[0], STEP[1], STEP[2], randoms(5), np.array(0.9)], {}),
    "NesterovMomentumStep": ([STEP[0], STEP[1], STEP[2], randoms(5), np.array(0.9)], {}),
    "AdamStep": (
        [randoms(5), randoms(5), np.abs(randoms(5)), np.array(0.5), np.array(0.9)]
        + [np.array(x) for x in (0.01, 0.9, 0.999, 1e-8)]
        + [randoms(5)],
        {},
    ),
}


def test_every_body_has_a_case() -> None:
    assert set(CASES) == {op for op in OURS if operators.body("graphio", op, 1) is not None}


def call(op: str, dtype: type, domain: str) -> tuple[pb.Model, list[np.ndarray]]:
    """A model of one node, and what to feed."""
    inputs, attributes = CASES[op]
    row = operators.lookup("graphio", op, 1)
    letters = [p.type for p in row.inputs]
    arrays = [
        a.astype(np.int64 if t in ("I", "int64") else dtype)
        for a, t in zip(inputs, letters, strict=True)
    ]
    model = pb.Model()
    kinds = [
        tensor_type(*a.shape, dtype=onnx.helper.np_dtype_to_tensor_dtype(a.dtype)) for a in arrays
    ]
    for i, kind in enumerate(kinds):
        attrs = {"dtype": {"i": kind.tensor.dtype}, "shape": {"type": kind}}
        model.graph.node.append(node("Placeholder", f"in{i}", domain="graphio", **attrs))
    made = node(op, "it", *(f"in{i}" for i in range(len(arrays))), domain=domain)
    for key, value in sorted(attributes.items()):
        of = {"s": value.encode()} if isinstance(value, str) else {"i": value}
        of = {"ints": pb.AttributeValue.IntList(i=value)} if isinstance(value, list) else of
        made.attr.add(key=key, value=pb.AttributeValue(**of))
    if op == "PlaceholderWithDefault":
        made.attr.add(key="shape", value=pb.AttributeValue(type=kinds[0]))
    del made.output_type[:]
    letter = tensor_type(dtype=1 if dtype is np.float32 else 11)
    letter.tensor.ClearField("shape")
    made.output_type.extend([letter] * len(row.outputs))
    model.graph.node.append(made)
    signature = model.signature.add(name="run")
    for i, kind in enumerate(kinds):
        signature.input.add(key=f"in{i}", value=f"in{i}", type=kind)
    for k in range(len(row.outputs)):
        signature.output.add(key=f"out{k}", value=f"it:{k}" if k else "it", type=letter)
    return model, arrays


def by_reference(op: str, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """A body by onnx's own evaluator, for operators of the standard that the runtime lacks."""
    source = json.loads((ROOT / "schema/graphio_operators.json").read_text())["operators"]
    text = function_text(next(r for r in source if r["name"] == op))
    evaluator = ReferenceEvaluator(onnx.parser.parse_function(text))
    feeds = dict(zip(evaluator.input_names, arrays, strict=True))
    return list(evaluator.run(None, feeds, attributes=CASES[op][1]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("op", CASES)
def test_a_kernel_gives_what_its_body_gives(op: str, dtype: type) -> None:
    by_kernel, arrays = call(op, dtype, "graphio")
    by_body, _ = call(op, dtype, "elsewhere")
    body = operators.body("graphio", op, 1)
    body.domain = "elsewhere"
    by_body.function.append(body)
    one = graphio.runtime.load(container.pack(by_kernel, [])).signature().run(arrays)
    if op in ("Conv2D", "MaxPool2D", "AveragePool2D"):
        two = by_reference(op, arrays)
    else:
        two = graphio.runtime.load(container.pack(by_body, [])).signature().run(arrays)
    tolerance = 2e-6 if dtype is np.float32 else 1e-14
    whole = operators.lookup("graphio", op, 1).outputs[0].type in ("I", "int64")
    for a, b in zip(one, two, strict=True):
        assert a.dtype == b.dtype == (np.int64 if whole else dtype)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
