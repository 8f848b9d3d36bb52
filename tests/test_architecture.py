"""The arrows between the rooms, and an operator's places."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import cases
import engines
import numpy as np
import pytest

from graphio.runtime import kernels, registry
from graphio.schema import operators

ROOT = Path(__file__).resolve().parent.parent
#: room to the top-level packages and rooms that it may import, beside the standard library
ALLOWED = {
    "schema": {"numpy", "google", "graphio.schema"},
    "runtime": {"numpy", "graphio.schema", "graphio.runtime"},
    "cinfer": {"numpy", "cffi", "graphio.schema", "graphio.cinfer"},
}
FOLDERS = {"schema": "graphio/schema", "runtime": "runtime", "cinfer": "graphio/cinfer"}
#: where an arrow bends, and why
EXCEPTIONS = {
    ("graphio/schema/images.py", "PIL"): "formats of pictures, when a model decodes them",
    ("graphio/schema/remote.py", "fsspec"): "object stores, when a path is a URL",
    ("graphio/schema/small_types.py", "ml_dtypes"): "types that numpy lacks, when a file has them",
}
#: what an engine must never load while it runs a model
FORBIDDEN = ("onnx", "onnxruntime", "torch", "tensorflow", "graphio.graph", "graphio.session")


def imports(path: Path) -> Iterator[str]:
    """Full names of the modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the arrows"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room_of(module: str) -> str:
    """ "graphio.schema" for graphio.schema.errors, "graphio" for the builder, "numpy" ..."""
    parts = module.split(".")
    if parts[0] == "graphio" and len(parts) > 1 and parts[1] in ALLOWED:
        return ".".join(parts[:2])
    return parts[0]


@pytest.mark.parametrize("room", ALLOWED)
def test_imports_point_one_way(room: str) -> None:
    for path in sorted((ROOT / FOLDERS[room]).rglob("*.py")):
        for module in imports(path):
            target = room_of(module)
            where = path.relative_to(ROOT).as_posix()
            if target not in sys.stdlib_module_names and (where, target) not in EXCEPTIONS:
                assert target in ALLOWED[room], f"{where} imports {module}"


def test_nothing_of_the_builder_is_loaded_when_the_runtime_runs_a_model(tmp_path: Path) -> None:
    x = np.float32([[1, -2]])
    data, _ = engines.one_node("Relu", [x], {}, ["float32"], version=6)
    (tmp_path / "m.gio").write_bytes(data)
    program = f"""
import sys
import numpy as np
import graphio.runtime
y = graphio.runtime.load({str(tmp_path / "m.gio")!r}).signature().run([np.float32([[1, -2]])])
assert y[0].tolist() == [[1, 0]]
print([m for m in {FORBIDDEN!r} if m in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


# ---- an operator's places ----

#: Operators that exist in a graph but not as a computation of their own case row: where they are
#: tested instead.
ELSEWHERE = {
    ("graphio", "Variable"): "test_runtime.py",
    ("graphio", "ReadVariable"): "test_runtime.py",
    ("graphio", "Assign"): "test_runtime.py",
    ("graphio", "IsInitialized"): "test_runtime.py",
    ("graphio", "NoOp"): "test_runtime.py",
    ("graphio", "RandomUniform"): "test_runtime.py",
    ("graphio", "RandomNormal"): "test_runtime.py",
    ("graphio", "RandomTruncatedNormal"): "test_runtime.py",
    ("graphio", "RandomInteger"): "test_runtime.py",
    ("graphio", "StatelessRandomUniform"): "test_cinfer_math.py",
    ("graphio", "StatelessRandomNormal"): "test_cinfer_math.py",
    ("graphio", "StatelessRandomTruncatedNormal"): "test_cinfer_math.py",
    ("graphio", "StatelessRandomInteger"): "test_cinfer_math.py",
    ("graphio", "HostCall"): "test_host_calls.py",
    ("graphio", "Assert"): "test_asserts.py",
    ("", "If"): "test_runtime.py",
    ("", "Loop"): "test_runtime.py",
    ("", "Scan"): "test_scan.py",
    **{
        ("", op): "test_sequences.py"
        for op in (
            *("SequenceConstruct", "SequenceEmpty", "SequenceInsert", "SequenceErase"),
            *("SequenceAt", "SequenceLength", "SplitToSequence", "ConcatFromSequence"),
            *("Optional", "OptionalHasElement", "OptionalGetElement"),
        )
    },
}


#: Operators that only the bodies of ours use, which are for readers that lack the kernels.
IN_BODIES = {"Conv", "MaxPool", "AveragePool"}


def vocabulary() -> set[tuple[str, str]]:
    """The operators that the builder writes: those of the standard with a form, and all of ours."""
    table = operators.table()
    standard = {("", op) for op in table.forms if op not in IN_BODIES}
    return standard | {("graphio", op) for op in table.names("graphio")}


def c_rows() -> set[tuple[str, str]]:
    """Operators with a row in the C library."""
    text = (ROOT / "cinfer" / "src" / "ops.def").read_text()
    return set(re.findall(r'^\s*CI_OP\("([^"]*)", (\w+),', text, re.MULTILINE))


def case_rows() -> set[tuple[str, str]]:
    """Operators with a row in tests/cases."""
    for module in pkgutil.iter_modules(cases.__path__):
        importlib.import_module(f"cases.{module.name}")
    return {(case.domain, case.op) for case in (*cases.CASES, *cases.BAD)} | set(ELSEWHERE)


def test_an_operator_has_all_its_places() -> None:
    kernels.load_all()
    places = {
        "a numpy kernel in runtime/kernels": set(registry.operators()),
        "a C row in cinfer/src/ops.def": c_rows(),
        "a case row in tests/cases": case_rows(),
    }
    missing = [
        f"{domain or 'ai.onnx'} {op} has no {place[2:]}"
        for domain, op in sorted(vocabulary())
        for place, found in places.items()
        if (domain, op) not in found
    ]
    assert not missing, "\n".join(missing)
