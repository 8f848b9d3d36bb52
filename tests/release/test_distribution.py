"""Published files: the source archive holds everything, and the wheel made from it works alone.

Here the wheel is compiled as quickly as this machine can, and borrows numpy and other packages from
the tests' environment; `make wheels-check` makes the real one, in empty environments.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from folders import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from wheels_check import lowest

pytest.importorskip("scikit_build_core", reason="scikit-build-core, which builds, is not installed")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="compilers of POSIX systems")
SDIST = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]


def run(*command: object, cwd: Path, **environment: str) -> str:
    words = list(map(str, command))
    # An environment's programs (cmake, ninja) are next to its Python.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, **environment}
    env.pop("PYTHONPATH", None)  # it would come before what is installed
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{words}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


WHEEL = """
import sys
from scikit_build_core.build import build_wheel

build_wheel(sys.argv[1], {"build-dir": sys.argv[2]})
"""
#: programs by system, as the message about a missing compiler names them
REMEDIES = ("apt install gcc libc6-dev", "dnf install gcc", "xcode-select", "MinGW-w64")


def test_without_a_compiler_the_last_line_says_what_to_install(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for name in ("cmake", "ninja", "make"):
        if found := shutil.which(name, path=path):
            (programs / name).symlink_to(found)
    env = {**os.environ, "PATH": str(programs)}
    env.pop("CC", None)
    done = subprocess.run(
        [sys.executable, "-c", WHEEL, tmp_path / "wheel", tmp_path / "build"],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode != 0
    reported = (done.stdout + done.stderr).splitlines()
    (line,) = (text for text in reported if text.startswith("graphio was not compiled"))
    assert all(remedy in line for remedy in REMEDIES) and "A wheel needs none" in line
    assert line in (done.stdout.splitlines()[-1:] + done.stderr.splitlines()[-1:])
    assert "No C compiler works here." in " ".join(reported)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-c", SDIST, folder, cwd=ROOT)
    (made,) = folder.glob("graphio_ml-*.tar.gz")
    return made


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made of the archive alone, in a folder that is empty."""
    folder = tmp_path_factory.mktemp("wheel")
    quick = shutil.which("tcc") or "cc"
    options = ["--no-deps", "--no-index", "--no-build-isolation"]
    options += ["--config-settings=cmake.define.CMAKE_C_FLAGS=-std=c11"]  # -C: of newer pips
    run(*PIP, "wheel", *options, "-w", folder, sdist, cwd=folder, CC=quick)
    (made,) = folder.glob("graphio_ml-*.whl")
    return made


def checkout() -> set[str]:
    """Files that belong to the source, by git."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("no checkout of git")
    return {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}


def test_the_source_archive_holds_the_whole_source(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        packed = {member.name.partition("/")[2] for member in archive if not member.isdir()}
    apart = (".ci/", ".github/")
    assert {name for name in checkout() - packed if not name.startswith(apart)} == set()
    assert {"LICENSE", "PKG-INFO"} <= packed


def test_the_wheel_holds_every_module_the_licence_and_the_bill_of_materials(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    package = {name for name in checkout() if name.startswith("graphio/")}
    package |= {f"graphio/{name}" for name in checkout() if name.startswith("runtime/")}
    assert {name for name in package - packed if not name.endswith((".c", ".h"))} == set()
    headers = {name for name in packed if name.endswith((".h", ".hpp"))}
    assert headers == {f"graphio/cinfer/include/cinfer.{ending}" for ending in ("h", "hpp")}
    assert "graphio/cinfer/lib/libcinfer.a" in packed
    (info,) = {name.partition("/")[0] for name in packed if ".dist-info/" in name}
    assert {f"{info}/licenses/LICENSE", f"{info}/sboms/graphio-ml.cdx.json"} <= packed
    assert {name.partition("/")[0] for name in packed} == {"graphio", info}
    compiled = {"graphio/cinfer/_native.abi3.so", "graphio/cinfer/_native.sha256"}
    assert compiled <= packed and "-cp310-abi3-" in wheel.name


def test_the_oldest_versions_that_wheels_are_tried_with_are_those_of_the_metadata(
    wheel: Path,
) -> None:
    found = dict(text.split("==") for text in lowest(wheel))
    assert set(found) == {"numpy", "protobuf", "onnx", "cffi", "typer"}
    project = (ROOT / "pyproject.toml").read_text()
    assert all(f'"{name}>={version}"' in project for name, version in found.items())


def test_the_wheel_passes_its_self_test_in_an_environment_of_its_own(
    wheel: Path, tmp_path: Path
) -> None:
    pytest.importorskip("typer", reason="typer, which the command needs, is not installed")
    run(sys.executable, "-m", "venv", "--without-pip", "alone", cwd=tmp_path)
    python = tmp_path / "alone" / "bin" / "python"
    run(*PIP, "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    # Only now, so that pip does not meet the graphio that is being developed.
    (packages,) = (tmp_path / "alone").glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text(str(Path(np.__file__).parent.parent))
    where = run(python, "-c", "import graphio; print(graphio.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(packages)
    ask = "import graphio.cinfer as c, graphio.cinfer._native as n; print(c.__file__, n.__file__)"
    sources, module = run(python, "-c", ask, cwd=ROOT).split()
    assert Path(sources).is_relative_to(ROOT) and Path(module).is_relative_to(packages)
    report = run(tmp_path / "alone" / "bin" / "graphio", "selftest", cwd=tmp_path)
    assert report.endswith("passed\n")
    requested = [python, "-m", "graphio.cinfer", "--cflags", "--libs"]
    flags = run(*requested, cwd=tmp_path).split()
    (tmp_path / "app.c").write_text(
        '#include "cinfer.h"\nint main(void) { return ci_version() == 0; }\n'
    )
    run(shutil.which("tcc") or "cc", "-std=c11", "app.c", *flags, "-o", "app", cwd=tmp_path)
    run(tmp_path / "app", cwd=tmp_path)
    version = re.search(r"^graphio (\S+)$", report, re.MULTILINE)
    assert version is not None and f"graphio_ml-{version[1]}-" in wheel.name
