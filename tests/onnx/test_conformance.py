"""The standard's own cases through onnx.backend.base.Backend: what once passed never fails again.

`python tools/onnx_suite.py` adds cases that pass now to passed.json and writes docs/operators.md.
"""

from __future__ import annotations

import json

import pytest
from conformance import suite
from folders import TESTS

from graphio.onnx.backend import CBackend, PythonBackend

PASSED = json.loads((TESTS / "conformance" / "passed.json").read_text())
BACKENDS = {"runtime": PythonBackend, "cinfer": CBackend}


@pytest.mark.parametrize(
    ("engine", "name"), [(engine, name) for engine in BACKENDS for name in PASSED[engine]]
)
def test_a_case_that_once_passed_passes(engine: str, name: str) -> None:
    if engine == "cinfer":
        pytest.importorskip("graphio.cinfer._native", reason="the C library was not built")
    found = suite.cases().get(name)
    if found is None:
        pytest.skip("the installed onnx has no such case")
    suite.check(BACKENDS[engine], found)


def test_the_target_of_the_issue_is_met() -> None:
    assert len(PASSED["runtime"]) >= 1700
    assert len(PASSED["cinfer"]) >= 1700


def test_run_node_and_devices() -> None:
    import numpy as np
    from onnx import helper

    x = np.float32([[1, -2], [3, 4]])
    node = helper.make_node("Relu", ["x"], ["y"])
    for backend in BACKENDS.values():
        np.testing.assert_array_equal(backend.run_node(node, [x])[0], np.maximum(x, 0))
        assert backend.supports_device("CPU") and not backend.supports_device("CUDA")
        with pytest.raises(ValueError, match="on the CPU"):
            backend.run_node(node, [x], "CUDA:0")
