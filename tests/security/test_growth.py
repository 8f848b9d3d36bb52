"""S5: the work of a load and of a first run grows as the bytes of the file do, counted in C."""

from __future__ import annotations

import subprocess

import c_programs
from folders import CINFER

LIBC = ("memcpy", "memmove", "memset", "memcmp", "strlen", "strcmp")


def test_twice_the_bytes_are_little_more_than_twice_the_work() -> None:
    """Operators do not matter here: the library is built with few, which is quick."""
    parts = sorted(p for p in CINFER.rglob("*") if p.suffix in (".c", ".h", ".def"))
    compiler = [c_programs.compiler("gcc"), "-std=c11", "-O0", f"-I{CINFER / 'src'}"]
    few = ["-DCI_FAMILIES=CI_INFERENCE", "-DCI_NO_AVX512", "-DCI_NO_AVX2"]
    counted = "-fsanitize-coverage=trace-pc"
    tests = CINFER / "tests"
    growth = [*compiler, *few, counted, "-c", str(tests / "growth.c")]
    growth_o = c_programs.made(growth, parts, "growth.o")
    work_o = c_programs.made([*compiler, "-c", str(tests / "work.c")], parts, "work.o")
    wraps = [f"-Wl,--wrap={name}" for name in LIBC]
    link = [*compiler, *wraps, str(growth_o), str(work_o), "-lm", "-pthread"]
    program = c_programs.made(link, parts, "growth")
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" times the work") > 30
