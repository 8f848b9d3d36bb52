"""WebAssembly: vector code that other processors lack, and addresses of 32 bits."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import c_programs
import pytest
from folders import CINFER, TESTS

SOURCE = Path(__file__).with_name("webassembly_math.c")


def test_vectors_and_portable_code_give_the_same_bits_in_webassembly() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    command = [c_programs.webassembly_compiler(), c_programs.WEBASSEMBLY, "-O1", "-msimd128", "-w"]
    command += [f"-I{CINFER / 'include'}", str(SOURCE), "-lm"]
    program = c_programs.made(command, [*c_programs.parts(), SOURCE], "math.wasm")
    run = [node, "--no-warnings", str(CINFER / "tests" / "wasi.mjs"), program.name]
    done = subprocess.run(run, cwd=program.parent, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "2 instruction sets, 0 failures\n"), done.stderr


def test_what_untrusted_files_give_is_the_same_where_addresses_have_32_bits() -> None:
    c_programs.webassembly_compiler()
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    command = [sys.executable, "-m", "attacks.machines", "--share", "40", "--only", "plain"]
    done = subprocess.run([*command, "wasm32"], cwd=TESTS, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("2 builds, 0 lines differ\n")
