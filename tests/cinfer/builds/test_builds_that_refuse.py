"""Builds of cinfer that lack a requested feature report it, and why."""

from __future__ import annotations

import subprocess
from pathlib import Path

import c_programs
import numpy as np
import pytest
from engines import instruction_sets, one_node

SOURCE = Path(__file__).with_name("open_model.c")
OPENED, UNIMPLEMENTED, INTERNAL = 0, 12, 13


def opened(folder: Path, compiler: str, *more: str, own: bool = False) -> tuple[int, str]:
    """Exit status and message of the program, made of the one file with a single family."""
    command = [c_programs.compiler(compiler), "-w", f"-I{c_programs.CINFER / 'include'}"]
    command += ["-DCI_FAMILIES=CI_FAMILY_arithmetic", "-DCI_NO_SIMD", *more, str(SOURCE)]
    command += [str(c_programs.CINFER / "cinfer.c"), "-lm", "-pthread"]
    program = c_programs.made(command, [*c_programs.parts(), SOURCE], SOURCE.stem)
    model = folder / "model.gio"
    model.write_bytes(one_node("Neg", [np.zeros(1, np.float32)], {}, [np.float32], version=13)[0])
    arguments = [str(program), str(model), *["own"] * own]
    done = subprocess.run(arguments, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_operators_of_the_programs_own_need_their_family(tmp_path: Path) -> None:
    assert opened(tmp_path, "cc") == (OPENED, "opened\n")
    status, reported = opened(tmp_path, "cc", own=True)
    assert status == UNIMPLEMENTED
    assert "built without custom operators: add custom to CINFER_FAMILIES" in reported


@pytest.mark.skipif(
    "avx2" not in instruction_sets(), reason="a flag of x86-64 processors with AVX2"
)
def test_a_build_whose_sums_are_fused_with_matmuls_opens_nothing(tmp_path: Path) -> None:
    status, reported = opened(tmp_path, "clang", "-O1", "-mfma", "-ffp-contract=fast")
    assert status == INTERNAL
    assert (
        "does not give cinfer's bits: was it compiled with a flag such as -ffp-contract" in reported
    )
