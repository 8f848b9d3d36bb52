"""Every row of tests/cases in both engines: values, dtypes, shapes, refusals, bodies."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import cases
import engines
import numpy as np
import pytest
from cases import BAD, CASES, BadCase, Case
from engines import BOTH, one_node, run

from graphio.schema import container, dtypes, operators
from graphio.schema.model_pb2 import Function

for _module in pkgutil.iter_modules(cases.__path__):
    importlib.import_module(f"cases.{_module.name}")

#: operators that are only used in bodies and have no kernels: the body is left to onnx
ONNX_ONLY = {"Conv", "MaxPool", "AveragePool"}


def check(outputs: list[np.ndarray], case: Case, what: str) -> None:
    """Compares with what the row expects."""
    assert len(outputs) == len(case.outputs)
    for k, (found, expected) in enumerate(zip(outputs, case.outputs, strict=True)):
        where = f"{case}, {what}, output {k}"
        assert found.dtype == expected.dtype, where
        assert found.shape == expected.shape, where
        found, expected = plain(found), plain(expected)
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(
                found, expected, rtol=case.rtol, atol=case.atol, err_msg=where, equal_nan=True
            )
        else:
            np.testing.assert_array_equal(found, expected, err_msg=where)


def plain(x: np.ndarray) -> np.ndarray:
    """Elements that numpy lacks as float64."""
    return x.astype(np.float64) if dtypes.of_numpy(x.dtype).number in dtypes.ML_DTYPES else x


def run_case(engine: str, case: Case, *, constant: bool) -> list[np.ndarray]:
    data, inputs = one_node(
        case.op,
        case.inputs,
        case.attrs,
        [x.dtype for x in case.outputs],
        domain=case.domain,
        version=case.version,
        constant=constant,
    )
    before = [x.tobytes() for x in inputs]
    outputs = run(engine, data, inputs)
    assert [x.tobytes() for x in inputs] == before, f"{case} has changed what was fed"
    return outputs


@BOTH
@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_operator_gives_what_its_row_expects(case: Case, engine: str) -> None:
    check(run_case(engine, case, constant=False), case, "inputs fed")
    check(run_case(engine, case, constant=True), case, "inputs constant")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_engines_agree(case: Case) -> None:
    one, two = (run_case(name, case, constant=False) for name in engines.NAMES)
    for a, b in zip(map(plain, one), map(plain, two), strict=True):
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=case.rtol, atol=case.atol, equal_nan=True)
        else:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("constant", [False, True], ids=["fed", "constant"])
def test_files_are_what_they_were_after_reading_and_writing(constant: bool) -> None:
    for case in CASES:
        data, _ = one_node(
            case.op,
            case.inputs,
            case.attrs,
            [x.dtype for x in case.outputs],
            domain=case.domain,
            version=case.version,
            constant=constant,
        )
        assert container.pack(*container.unpack(data)) == data, str(case)


def body_of(case: Case) -> Function | None:
    """The operator's body under a name that no kernel has."""
    body = operators.body(case.domain, case.op, case.version) if case.domain else None
    if body is None or any(node.op in ONNX_ONLY for node in body.node):
        return None
    body.domain, body.name = "test", f"{case.op}Body"
    return body


BODIES = [(case, body) for case in CASES if case.body and (body := body_of(case)) is not None]


@BOTH
@pytest.mark.parametrize(("case", "body"), BODIES, ids=[str(case) for case, _ in BODIES])
def test_the_body_gives_what_the_kernel_gives(case: Case, body: Function, engine: str) -> None:
    data, inputs = one_node(
        body.name,
        case.inputs,
        case.attrs,
        [x.dtype for x in case.outputs],
        domain="test",
        version=case.version,
        functions=[body],
    )
    outputs = run(engine, data, inputs)
    check(outputs, case, "body")
    if engine == "cinfer" and case.op.endswith("Step"):
        kernel = run_case(engine, case, constant=False)
        assert [x.tobytes() for x in outputs] == [x.tobytes() for x in kernel]


@BOTH
@pytest.mark.parametrize("constant", [False, True], ids=["fed", "constant"])
@pytest.mark.parametrize("case", BAD, ids=str)
def test_bad_input_is_refused_with_words_that_help(
    case: BadCase, constant: bool, engine: str
) -> None:
    kinds: list[Any] = [next((x.dtype for x in case.inputs if x is not None), np.float32)]
    data, inputs = one_node(
        case.op,
        case.inputs,
        case.attrs,
        kinds * case.outputs,
        domain=case.domain,
        version=case.version,
        constant=constant,
    )
    with pytest.raises(case.error) as caught:
        run(engine, data, inputs)
    for words in case.words:
        assert words in str(caught.value)
