"""`python -m graphio.cinfer`: the C library of the installed package, for C and C++ programs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from c_programs import CINFER, compiler, installed_flags

import graphio as tf
from graphio.cinfer.__main__ import main

C = """#include <stdio.h>
#include "cinfer.h"
int main(void) { return printf("%d\\n", (int)ci_version()) < 0; }
"""
CXX = """#include <cinfer.hpp>
int main() {
  try { cinfer::Model model("/nowhere.gio"); }
  catch (const cinfer::Error &error) { return error.status() != CI_NOT_FOUND; }
  return 1;
}
"""


def test_a_c_program_builds_with_the_flags_and_takes_what_it_uses_alone(tmp_path: Path) -> None:
    source, program = tmp_path / "version.c", tmp_path / "version"
    source.write_text(C)
    command = [compiler("cc"), "-std=c11", "-O2", str(source), *installed_flags()]
    subprocess.run([*command, "-o", str(program)], check=True)
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert int(printed) == 1 << 8  # 0.1.0
    assert program.stat().st_size < 100_000


def test_the_linker_can_drop_single_functions_of_the_library() -> None:
    (folder,) = (word[2:] for word in installed_flags() if word.startswith("-L"))
    command = [compiler("objdump"), "-h", f"{folder}/libcinfer.a"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert " .text.ci_open" in listed and " .text.ci_save" in listed


def test_a_cxx_program_finds_its_header_beside_the_other(tmp_path: Path) -> None:
    source, program = tmp_path / "open.cc", tmp_path / "open"
    source.write_text(CXX)
    command = [compiler("c++"), "-std=c++17", str(source), *installed_flags()]
    subprocess.run([*command, "-o", str(program)], check=True)
    assert subprocess.run([program], check=False).returncode == 0


def test_the_headers_are_those_of_the_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--includedir"]) == 0
    folder = Path(capsys.readouterr().out.rstrip())
    for name in ("cinfer.h", "cinfer.hpp"):
        assert (folder / name).read_bytes() == (CINFER / "include" / name).read_bytes()


def test_flags_are_quoted_for_a_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = tmp_path / "my packages"
    for name in ("include/cinfer.h", "lib/libcinfer.a"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).touch()
    assert main(["--libs", "--cflags"], home) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"'-I{home}/include' -DCI_STATIC '-L{home}/lib' -lcinfer ")


@pytest.mark.parametrize("present", [(), ("include/cinfer.h",)])
def test_an_installation_without_the_library_is_one_line_that_says_what_to_do(
    present: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in present:
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    assert main(["--libs"], tmp_path) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "install graphio again" in err
    assert ("has no libcinfer.a" if present else "has no cinfer.h") in err


def test_the_version_is_the_package_s_and_no_option_is_an_error() -> None:
    command = [sys.executable, "-m", "graphio.cinfer"]
    shown = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout == f"{tf.graphio_version}\n"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "expected --version or some of --includedir" in done.stderr
