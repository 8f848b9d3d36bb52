"""Bodies of our operators mean in ONNX what their kernels compute; onnx itself is the judge."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

import cases
import numpy as np
import onnx
import pytest
from cases import CASES, Case
from onnx import helper
from onnx.reference import ReferenceEvaluator

from graphio.schema import operators
from graphio.schema.model_pb2 import AttributeValue, Function

for _module in pkgutil.iter_modules(cases.__path__):
    importlib.import_module(f"cases.{_module.name}")

BODIES = [
    (case, body)
    for case in CASES
    if case.body
    and case.domain
    and (body := operators.body(case.domain, case.op, case.version)) is not None
]


def value_of(value: AttributeValue, outer: Mapping[str, Any]) -> Any:
    """An attribute of a node in a body; None if it refers to one that the call lacks."""
    kind = value.WhichOneof("value")
    if kind == "reference":
        return outer.get(value.reference)
    if kind == "ints":
        return list(value.ints.i)
    return getattr(value, str(kind))


def as_onnx(body: Function, case: Case) -> onnx.ModelProto:
    """The body as a model whose inputs are the operator's."""
    nodes = []
    for node in body.node:
        attributes = {a.key: value_of(a.value, case.attrs) for a in node.attr}
        given = {k: v for k, v in attributes.items() if v is not None}
        if given.get("auto_pad", "NOTSET") not in ("NOTSET", b"NOTSET"):
            given.pop("pads", None)  # ONNX has one or the other
        outputs = [node.name, *(f"{node.name}:{k}" for k in range(1, len(node.output_type)))]
        nodes.append(helper.make_node(node.op, list(node.input), outputs, **given))
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), list(x.shape))
        for name, x in zip(body.input, case.inputs, strict=True)
        if x is not None
    ]
    outputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), list(x.shape))
        for name, x in zip(body.output, case.outputs, strict=True)
    ]
    graph = helper.make_graph(nodes, case.op, inputs, outputs)
    opset = max(18, *(node.version for node in body.node))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    return model


def strings(x: np.ndarray) -> np.ndarray:
    """Strings as onnx's evaluator has them."""
    return np.array([text.decode() for text in x.ravel().tolist()], "<U8").reshape(x.shape)


@pytest.mark.parametrize(("case", "body"), BODIES, ids=[str(case) for case, _ in BODIES])
def test_a_body_means_in_onnx_what_the_row_expects(case: Case, body: Function) -> None:
    model = as_onnx(body, case)
    given = [x if x is None or x.dtype != object else strings(x) for x in case.inputs]
    feeds = {n: x for n, x in zip(body.input, given, strict=True) if x is not None}
    with np.errstate(all="ignore"):
        found = ReferenceEvaluator(model).run(None, feeds)
    for value, expected in zip(found, case.outputs, strict=True):
        array = np.asarray(value)
        assert array.dtype == expected.dtype and array.shape == expected.shape
        np.testing.assert_allclose(array, expected, case.rtol, case.atol, equal_nan=True)
