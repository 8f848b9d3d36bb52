"""Tests of the imports that each package may have, and of the parts that each operator needs."""

from __future__ import annotations

import ast
import functools
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
from folders import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import imports as import_graph

from graphio.runtime import kernels, registry
from graphio.schema import operators

#: The packages of graphio from the lowest up. Each may import itself and those before it, whether
#: at the head of a module or inside a function. The root (namespaces of `tf.`) may import all.
PACKAGES = (
    "support",
    "storage",
    "schema",
    "engine",
    "cinfer",
    "runtime",
    "framework",
    "ops",
    "linear_operators",
    "variables",
    "autodiff",
    "model",
    "protos",
    "execution",
    "autograph",
    "config",
    "lookup",
    "io",
    "profiler",
    "compat",
    "observe",
    "testing",
    "evaluation",
    "distributions",
    "layers",
    "data",
    "summary",
    "queues",
    "train",
    "distribute",
    "tensorflow_files",
    "saved_model",
    "onnx",
    "keras",
    "examples",
    "python",
    "core",
    "contrib",
    "serving",
    "command_line",
)
#: the packages that are used without the builder, and the libraries that each may import
LIBRARIES = {
    "support": {"numpy", "tqdm"},
    "storage": {"numpy", "google"},
    "schema": {"numpy", "google"},
    "engine": {"numpy", "google"},
    "runtime": {"numpy"},
    "cinfer": {"numpy", "cffi"},
}
FOLDERS = {name: f"graphio/{name}" for name in LIBRARIES} | {"runtime": "runtime"}
#: libraries that one module needs in a rare case, imported when that comes
OPTIONAL = {
    ("graphio/engine/media/pillow.py", "PIL"): "formats of pictures, when a model decodes them",
    ("graphio/engine/media/turbojpeg.py", "simplejpeg"): "JPEG as TensorFlow decodes it",
    ("graphio/storage/remote.py", "fsspec"): "object stores, when a path is a URL",
    ("graphio/schema/small_types.py", "ml_dtypes"): "types that numpy lacks, when a file has them",
}
#: reversed imports that remain, (importer, imported package), each with its reason
REVERSED: dict[tuple[str, str], str] = {
    ("graphio.schema.pickling", "engine"): "the path by which pickles name rebuild stays",
}
#: folders that show more files than the others may
LARGEST = {"graphio": 45}  # a file for each public namespace
#: modules that an engine must never load while it runs a model
FORBIDDEN = ("onnx", "onnxruntime", "torch", "tensorflow", "graphio.framework", "graphio.execution")


every_import = functools.cache(import_graph.imports)


def imports(path: Path) -> Iterator[str]:
    """Full names of the modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide which package is imported"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def package_of(module: str) -> str:
    """ "schema" for graphio.schema.errors, "" for a namespace of the root."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in PACKAGES else ""


def test_every_folder_of_graphio_has_a_position_in_the_order() -> None:
    folders = {p.parent.name for p in (ROOT / "graphio").glob("*/__init__.py")}
    assert folders == set(PACKAGES)


def test_no_package_imports_one_after_it() -> None:
    order = {name: at for at, name in enumerate(PACKAGES)} | {"": len(PACKAGES)}
    found = {
        (one.importer, package_of(one.imported) or "graphio"): one.imported
        for one in every_import()
        if order[package_of(one.imported)] > order[package_of(one.importer)]
    }
    new = [f"{a} imports {found[a, b]}" for a, b in found if (a, b) not in REVERSED]
    assert not new, "\n".join(new)
    assert not set(REVERSED) - set(found), "no longer needed: remove from REVERSED"


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert import_graph.circles(every_import()) == []


#: modules that no module of graphio imports by its path, and what loads them
LOADED_OTHERWISE = {
    "graphio.compat.v1": "programs: import graphio.compat.v1 as tf",
    "graphio.onnx.backend": "tools of ONNX, as their backend",
    "graphio.onnx.upgrade.compatible": "the test that every change of an operator has a rule",
    "graphio.python.spawned.tensorflow": "new processes of a program, as tensorflow",
    "graphio.schema.pickling": "pickles, which name it",
    "graphio.tensorflow_files.conversion": "its package, by name, when it is first used",
}


def test_every_module_is_used() -> None:
    imported = {one.imported for one in every_import()}
    named = (ROOT / "graphio/__init__.py").read_text()
    unused = [
        module
        for module, path in import_graph.modules().items()
        if module not in imported
        and path.name not in ("__init__.py", "__main__.py")
        and path.parent != ROOT / "graphio"
        and not module.startswith("graphio.runtime.kernels.")  # all of that folder are loaded
        and not module.startswith("graphio.python.internals.")  # python/tables.py names them
        and f'"{module}"' not in named
    ]
    assert sorted(unused) == sorted(LOADED_OTHERWISE)


def test_the_root_names_the_modules_that_register_functions_for_packages_below_them() -> None:
    program = """
import importlib, inspect, sys
import graphio
import graphio.data.registered, graphio.framework.registered, graphio.model.registered
import graphio.ops.base.registered
from graphio.storage import native
from graphio.support.registration import Registered
names = dict(vars(native))
for package in (graphio.framework, graphio.ops.base, graphio.model, graphio.data):
    names.update(vars(package.registered))
declared = {n: v for n, v in names.items() if isinstance(v, Registered)}
assert all(v.name == n for n, v in declared.items())
assert set(declared) == set(graphio._REGISTERED_BY), set(declared) ^ set(graphio._REGISTERED_BY)
for name, module in graphio._REGISTERED_BY.items():
    importlib.import_module(module)
    found = declared[name]._function
    assert found is not None, f"{module} does not register {name}"
    target = inspect.unwrap(found)
    if inspect.isclass(target):
        here = target in vars(sys.modules[module]).values()
    else:
        here = inspect.getsourcefile(target) == sys.modules[module].__file__
    assert here, f"{module} registers a {name} of another module"
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("package", LIBRARIES)
def test_what_runs_models_imports_few_libraries_and_nothing_of_the_builder(package: str) -> None:
    allowed = LIBRARIES[package] | set(sys.stdlib_module_names)
    own = {"support", "storage", "schema", "engine", package}
    for path in sorted((ROOT / FOLDERS[package]).rglob("*.py")):
        where = path.relative_to(ROOT).as_posix()
        for module in imports(path):
            library = module.split(".")[0]
            if library == "graphio":
                target = package_of(module)
                assert (
                    target in own
                    or (f"graphio.{where[8:-3].replace('/', '.')}", target) in REVERSED
                ), f"{where} imports {module}"
            elif (where, library) not in OPTIONAL:
                assert library in allowed, f"{where} imports {module}"


@pytest.mark.parametrize("folder", ["graphio", "runtime"])
def test_no_folder_shows_more_files_than_a_reader_takes_in(folder: str) -> None:
    for path in [ROOT / folder, *(ROOT / folder).rglob("*/")]:
        if path.is_dir() and not path.is_symlink() and path.name != "__pycache__":
            shown = [p for p in path.glob("*.py") if "_pb2" not in p.name]
            assert len(shown) <= LARGEST.get(path.relative_to(ROOT).as_posix(), 35), path


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


# ---- the parts of an operator ----

#: Operators of graphs that have no case row because they compute nothing by themselves: where
#: they are tested instead.
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


def test_an_operator_has_all_its_parts() -> None:
    kernels.load_all()
    positions = {
        "a numpy kernel in runtime/kernels": set(registry.operators()),
        "a C row in cinfer/src/ops.def": c_rows(),
        "a case row in tests/cases": case_rows(),
    }
    missing = [
        f"{domain or 'ai.onnx'} {op} has no {position[2:]}"
        for domain, op in sorted(vocabulary())
        for position, found in positions.items()
        if (domain, op) not in found
    ]
    assert not missing, "\n".join(missing)
