"""examples/c: each program is built and does what it shows."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from c_programs import CINFER, FLAGS, library
from command_line import Command

from graphio import cinfer

EXAMPLES = CINFER.parent / "examples" / "c"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("net") / "net.gio"
    subprocess.run([sys.executable, str(EXAMPLES / "make_model.py"), str(path)], check=True)
    return path


def built(folder: Path, *sources: Path) -> Path:
    command = [str(shutil.which("cc")), *FLAGS, *WARNINGS, f"-I{folder}", *map(str, sources)]
    made = folder / "program"
    subprocess.run([*command, str(library()), "-lm", "-pthread", "-o", str(made)], check=True)
    return made


def run(program: Path, *arguments: object) -> str:
    command = [str(program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def expected(net: Path) -> str:
    p = cinfer.load(net).signature("predict")(x=[[1, 2, 3]])["p"][0]
    return f"{p[0]:.6f} {p[1]:.6f}\n"


def test_hello_predicts_and_says_what_is_wrong(net: Path, tmp_path: Path) -> None:
    program = built(tmp_path, EXAMPLES / "hello.c")
    assert run(program, net) == expected(net)
    done = subprocess.run([program, tmp_path / "no"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.startswith("NOT_FOUND: ")


def test_threads_share_a_model(net: Path, tmp_path: Path) -> None:
    program = built(tmp_path, EXAMPLES / "threads.c")
    values = re.findall(r"thread \d: (\S+)", run(program, net, 6))
    assert len(values) == 6 and values[0::2] == values[:1] * 3 and values[1::2] == values[1:2] * 3


def test_training_goes_on_where_it_stopped_with_the_same_bits(net: Path, tmp_path: Path) -> None:
    program = built(tmp_path, EXAMPLES / "train.c")
    for name in ("once", "twice"):
        (tmp_path / name).mkdir()
    straight = run(program, net, tmp_path / "once", 60).splitlines()
    run(program, net, tmp_path / "twice", 33)
    resumed = run(program, net, tmp_path / "twice", 60).splitlines()
    assert straight[0] == "from step 0" and resumed[0] == "from step 33"
    assert straight[1] == resumed[1]
    assert float(straight[1].split()[-1]) < 0.6


def test_the_arena_holds_all_memory_and_runs_take_none(
    net: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    graphio = Command(capfd)
    small = tmp_path / "small.gio"
    graphio("convert", net, small, "-s", "predict", "--freeze", "--strip")
    graphio("export-c", small, "--name", "net", "--embed", "-o", tmp_path)
    program = built(tmp_path, EXAMPLES / "arena.c", tmp_path / "net_model.c")
    printed = run(program)
    assert printed.startswith(expected(net))
    assert ", 0 more in runs" in printed


def test_the_examples_build_with_an_installed_library(net: Path, tmp_path: Path) -> None:
    cmake = shutil.which("cmake")
    if cmake is None:
        pytest.skip("CMake is not installed")
    build, prefix = tmp_path / "build", tmp_path / "prefix"
    options = ["-DCINFER_TESTS=OFF", "-DCINFER_PRESET=inference", "-DCINFER_ISAS=portable"]
    options.append("-DCINFER_FAMILIES=training")
    for command in (
        ["-S", CINFER, "-B", build, f"-DCMAKE_INSTALL_PREFIX={prefix}", *options],
        ["--build", build, "--parallel"],
        ["--install", build],
        ["-S", EXAMPLES, "-B", tmp_path / "c", f"-DCMAKE_PREFIX_PATH={prefix}"],
        ["--build", tmp_path / "c"],
    ):
        subprocess.run([cmake, *map(str, command)], check=True, capture_output=True)
    for program in ("hello", "hello_shared"):
        assert run(tmp_path / "c" / program, net) == expected(net)
    assert (prefix / "include" / "cinfer.hpp").exists()
