"""cinfer's builds: one file, shared library, CMake, C++, warnings, sanitizers."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from folders import ROOT

CINFER = ROOT / "cinfer"
INCLUDE = f"-I{CINFER / 'include'}"
ONE_FILE = str(CINFER / "cinfer.c")
WARNINGS = (
    "-std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes "
    "-Wmissing-prototypes -Werror"
).split()
MOST_BYTES = 1250 * 1000

PROGRAM = """
#include <stdio.h>
#include "cinfer.h"
int main(int argc, char **argv) {
  ci_model *model;
  ci_session *session;
  ci_error error;
  float in[4] = {1, 2, -3, 4}, out[6];
  ci_tensor x = {in, sizeof in, CI_FLOAT, 2, {2, 2}}, y = {out, sizeof out, CI_FLOAT, 2, {2, 3}};
  if (argc != 2 || ci_open(argv[1], NULL, &model, &error) ||
      ci_session_open(model, NULL, NULL, &session, &error) ||
      ci_run(session, ci_signature(model, "predict"), &x, 1, &y, 1, &error))
    return fprintf(stderr, "%s\\n", error.message), 1;
  for (int i = 0; i < 6; i++) printf("%.9g\\n", (double)out[i]);
  ci_session_close(session);
  ci_close(model);
  return 0;
}
"""


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Runs a command that must succeed; what it printed is in the failure's message."""
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def tool(name: str) -> str:
    """A program of the system or of this virtual environment."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dense layer from two to three numbers, then relu."""
    import graphio as tf

    path = tmp_path_factory.mktemp("model") / "dense.gio"
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.Variable(np.arange(6, dtype=np.float32).reshape(2, 3) / 3, name="w")
        y = tf.nn.relu(tf.matmul(x, w) + 0.25)
        session.run(tf.global_variables_initializer())
        tf.saved_model.save(str(path), session, {"predict": ({"x": x}, {"y": y})})
    return path


def expected() -> np.ndarray:
    x = np.array([[1, 2], [-3, 4]], np.float32)
    return np.maximum(x @ (np.arange(6, dtype=np.float32).reshape(2, 3) / 3) + np.float32(0.25), 0)


def check_program(program: Path, model: Path) -> None:
    printed = np.array(run(program, model).split(), np.float32).reshape(2, 3)
    np.testing.assert_allclose(printed, expected(), rtol=1e-6)


def test_one_file_includes_every_part() -> None:
    parts = set(CINFER.glob("src/**/*.c"))
    included = re.findall(r'#include "(src/.*\.c)"', (CINFER / "cinfer.c").read_text())
    assert len(included) == len(set(included))
    assert {CINFER / name for name in included} == parts


@pytest.mark.parametrize("compiler", ["cc", "clang"])
def test_one_line_builds_without_a_warning_and_predicts(
    compiler: str, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "app.c").write_text(PROGRAM)
    app = tmp_path / "app"
    command = [tool(compiler), "-O2", *WARNINGS, INCLUDE, str(tmp_path / "app.c"), ONE_FILE]
    run(*command, "-lm", "-pthread", "-o", app)
    check_program(app, model)


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_header_is_cxx11(compiler: str, tmp_path: Path) -> None:
    source = tmp_path / "use.cpp"
    source.write_text('#include "cinfer.h"\nint main() { return ci_version() == 0; }\n')
    flags = "-std=c++11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only".split()
    run(tool(compiler), *flags, INCLUDE, source)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """CMake's folder of the libraries and of the one test that sanitizers must not see in full."""
    build, cmake = tmp_path_factory.mktemp("built"), tool("cmake")
    run(cmake, "-S", CINFER, "-B", build, "-DCINFER_TESTS=ON")
    targets = ("cinfer_shared", "cinfer_static", "test_threads")
    run(cmake, "--build", build, "--target", *targets, "-j2")
    return build


@pytest.fixture(scope="module")
def prefix(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where CMake has installed the libraries."""
    prefix = tmp_path_factory.mktemp("install")
    run(tool("cmake"), "--install", built, "--prefix", prefix)
    return prefix


def test_sessions_go_on_in_forked_children(built: Path) -> None:
    symbols = run(tool("nm"), built / "test_threads")
    assert "keep_busy" in symbols  # sanitizers' builds leave them out
    run(built / "test_threads")


def test_shared_library_is_small_and_exports_only_its_own_names(
    prefix: Path, tmp_path: Path
) -> None:
    (installed,) = prefix.rglob("libcinfer.so")
    library = tmp_path / "libcinfer.so"
    run("strip", "-o", library, installed)
    assert library.stat().st_size < MOST_BYTES
    names = [line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()]
    assert names and all(name.startswith("ci_") for name in names), names
    header = (CINFER / "include" / "cinfer.h").read_text()
    declared = set(
        re.findall(r"^(?:CI_OLD_NAME\(.*?\) )?CI_API [^;(]*?\b(ci_\w+)\(", header, re.MULTILINE)
    )
    assert declared == set(names)


def test_static_library_shares_no_name_with_the_program_but_its_own(prefix: Path) -> None:
    (archive,) = prefix.rglob("libcinfer.a")
    listed = run("nm", "-g", "--defined-only", archive).splitlines()
    names = [line.split()[2] for line in listed if len(line.split()) == 3]
    assert len(names) > 400 and all(name.startswith("ci_") for name in names), names


def test_only_one_part_asks_for_memory_by_itself(prefix: Path) -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    from failures import asking

    (archive,) = prefix.rglob("libcinfer.a")
    assert set(asking(archive)) == {("memory.c", "malloc")}


def test_find_package_and_pkg_config_find_what_cmake_installed(
    prefix: Path, model: Path, tmp_path: Path
) -> None:
    cmake = tool("cmake")
    (tmp_path / "app.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(user LANGUAGES C)\n"
        "find_package(cinfer 0.1 REQUIRED)\n"
        "foreach(kind cinfer static shared)\nadd_executable(app_${kind} app.c)\n"
        "target_link_libraries(app_${kind} PRIVATE cinfer::${kind})\nendforeach()\n"
    )
    run(cmake, "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run(cmake, "--build", tmp_path / "build")
    for kind in ("cinfer", "static", "shared"):
        check_program(tmp_path / "build" / f"app_{kind}", model)
    (config,) = prefix.rglob("cinfer.pc")
    assert "prefix=${pcfiledir}/../.." in config.read_text()
    if shutil.which("pkg-config") is not None:
        found = run("pkg-config", f"--with-path={config.parent}", "--cflags", "--libs", config)
        where = f"-Wl,-rpath,{config.parent.parent}"
        run("cc", "-std=c11", tmp_path / "app.c", *found.split(), where, "-o", tmp_path / "app")
        check_program(tmp_path / "app", model)


@pytest.mark.parametrize("shared", ["ON", "OFF"])
def test_a_project_that_takes_the_sources_as_the_readme_says_links_to_the_same_name(
    shared: str, tmp_path: Path
) -> None:
    (tmp_path / "app.c").write_text(PROGRAM)
    lines = re.search(r"```cmake\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert lines is not None
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(user LANGUAGES C)\n"
        "add_executable(app app.c)\n" + lines[1].replace("/path/to/graphio", str(ROOT))
    )
    made = tmp_path / "build"
    run(tool("cmake"), "-S", tmp_path, "-B", made, f"-DBUILD_SHARED_LIBS={shared}")


@pytest.mark.parametrize(("compiler", "isas"), [("gcc", ""), ("clang", "portable;avx2")])
def test_c_tests_under_sanitizers(compiler: str, isas: str, tmp_path: Path) -> None:
    """With clang without AVX-512, which takes it minutes to compile; `make sanitizers` has it."""
    cmake = tool("cmake")
    options = [f"-DCMAKE_C_COMPILER={tool(compiler)}", "-DCINFER_SANITIZE=address,undefined"]
    options.append(f"-DCINFER_ISAS={isas}")
    run(cmake, "-S", CINFER, "-B", tmp_path, "-DCINFER_TESTS=ON", *options)
    run(cmake, "--build", tmp_path, "-j2")
    run(tool("ctest"), "--output-on-failure", "-j2", cwd=tmp_path)
