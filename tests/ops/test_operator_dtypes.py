"""Both engines run the same element types of each operator, and refuse the others alike."""

from __future__ import annotations

import os
import re

import engines
import numpy as np
import pytest
from folders import CINFER
from operator_dtypes import COMPLEX, RUNS, nodes, outcome

from graphio.runtime import kernels, registry

SOURCES = CINFER / "src"
ROWS = 20 if os.environ.get("GRAPHIO_DEEP") else 1

#: Casts that only the Python runtime runs: (operator, type variable, element type). In the C
#: library, casts of constants from and to strings need memory that lasts as long as the model.
ONLY_IN_PYTHON = {("Cast", "T1", "string"), ("CastLike", "T1", "string")}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_both_engines_run_the_same_types_and_refuse_others_with_one_class() -> None:
    engines.module("cinfer")
    different, count, ran = [], 0, 0
    for variable, kind, node in nodes(ROWS):
        if kind in COMPLEX or (node.op, variable, kind) in ONLY_IN_PYTHON:
            continue
        runtime, cinfer = (outcome(engine, node) for engine in engines.NAMES)
        count, ran = count + 1, ran + (runtime == RUNS)
        if runtime != cinfer:
            different.append(f"{node.op}, {variable} as {kind}: {runtime}, in C {cinfer}: {node}")
    assert not different, "\n".join(different)
    assert count > 6000 and ran > 1500  # that the rows were there, and are not refused alike


@pytest.mark.parametrize(("op", "variable", "kind"), sorted(ONLY_IN_PYTHON))
def test_what_python_alone_runs_is_listed_for_a_reason(op: str, variable: str, kind: str) -> None:
    engines.module("cinfer")
    found = [n for v, k, n in nodes(1) if (n.op, v, k) == (op, variable, kind)]
    assert [outcome("runtime", node) for node in found] == [RUNS]
    assert [outcome("cinfer", node) for node in found] == ["UnimplementedError"]


def c_types() -> dict[tuple[str, str, int], str]:
    """The letters of each row of the C library's table."""
    text = (SOURCES / "ops.def").read_text()
    rows = re.findall(r'^CI_OP\("(\w*)", (\w+), (\d+), .*"(.*)", ci_prepare_', text, re.MULTILINE)
    return {(domain, op, int(since)): types for domain, op, since, types in rows}


def test_both_tables_have_the_same_letters_for_each_operator() -> None:
    kernels.load_all()
    found = c_types()
    assert len(found) > 240
    for (domain, op, since), types in found.items():
        row = registry.find(domain, op, since)
        assert row is not None and row.types == types, op


def test_every_letter_means_the_same_types_in_both_tables() -> None:
    text = (SOURCES / "plan" / "kinds.c").read_text()
    words = dict(re.findall(r"^    \{'(\w)', .*, \"(.*)\"\},$", text, re.MULTILINE))
    assert words == {letter: meaning for letter, (meaning, _) in registry.KINDS.items()}
    assert set("".join(c_types().values())) - {"*"} <= set(words)


@engines.BOTH
def test_truths_scattered_to_one_position_are_joined_as_the_reduction_says(engine: str) -> None:
    positions = np.array([[0], [0], [2]], np.int64)
    for reduction, expected in (("add", [1, 0, 1]), ("mul", [0, 0, 0]), ("max", [1, 0, 1])):
        given = [np.zeros(3, np.bool_), positions, np.array([True, False, True])]
        data, fed = engines.one_node(
            "ScatterND", given, {"reduction": reduction}, [np.bool_], version=18
        )
        found = engines.run(engine, data, fed)[0]
        np.testing.assert_array_equal(found, np.array(expected, np.bool_))


@engines.BOTH
def test_strings_are_added_to_positions_that_have_none(engine: str) -> None:
    given = [
        np.array([b"", b"", b"left"], object),
        np.array([[1], [0]], np.int64),
        np.array([b"a", b"b"], object),
    ]
    data, fed = engines.one_node("ScatterND", given, {"reduction": "add"}, [object], version=18)
    assert engines.run(engine, data, fed)[0].tolist() == [b"b", b"a", b"left"]


@engines.BOTH
@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
def test_the_largest_of_a_window_of_integers(kind: str, engine: str) -> None:
    least = np.iinfo(kind).min
    x = np.array([least, least, 5, 3, 2, least], kind).reshape(1, 1, 6, 1)
    attrs = {"kernel_shape": [1, 2], "strides": [1, 2], "auto_pad": "VALID"}
    data, fed = engines.one_node("MaxPool2D", [x], attrs, [kind], domain="graphio")
    assert engines.run(engine, data, fed)[0].ravel().tolist() == [least, 5, 2]


@engines.BOTH
@pytest.mark.parametrize("op", ["MatrixSolve", "Cholesky", "SelfAdjointEig", "Qr"])
def test_halves_are_solved_in_double_and_rounded(op: str, engine: str) -> None:
    a = np.array([[4, 2], [2, 5]], np.float16)
    inputs = [a, np.eye(2, dtype=np.float16)] if op == "MatrixSolve" else [a]
    outputs = [np.float16] * (2 if op in ("SelfAdjointEig", "Qr") else 1)
    attrs = {"full_matrices": 0} if op == "Qr" else {}
    data, fed = engines.one_node(op, inputs, attrs, outputs, domain="graphio")
    wide, wide_fed = engines.one_node(
        op, [x.astype(np.float64) for x in inputs], attrs, [np.float64] * len(outputs),
        domain="graphio",
    )  # fmt: skip
    exact = engines.run(engine, wide, wide_fed)
    for half, double in zip(engines.run(engine, data, fed), exact, strict=True):
        assert half.dtype == np.float16
        np.testing.assert_allclose(half, double, rtol=1e-3, atol=1e-3)
