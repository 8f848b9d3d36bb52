"""The short form of `make bits`: the same bits from another compiler, in changed floating-point
environments, of golden files and checkpoints (R19, R21, S11); what builds are refused."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import c_programs
import pytest
from folders import ROOT

CINFER = ROOT / "cinfer"
sys.path.insert(0, str(ROOT / "tools"))

import bits_builds  # noqa: E402
import bits_matrix  # noqa: E402

TCC = next(b for b in bits_builds.BUILDS if b.name == "x86-64 tcc")


class Rows(NamedTuple):
    folder: Path
    data: list[bits_builds.Data]
    first: list[bits_matrix.Run]
    runs: list[bits_matrix.Run]


@pytest.fixture(scope="module")
def tcc(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """The models and the golden files, run by a compiler that optimises nothing."""
    if shutil.which("tcc") is None:
        pytest.skip("tcc is not installed")
    folder = tmp_path_factory.mktemp("bits")
    scripts, first = bits_matrix.golden(folder)
    bits_matrix.copy_checkpoints(folder)
    data = [bits_matrix.models(folder), *scripts]
    runs, _ = bits_matrix.run_build(TCC, folder, data)
    return Rows(folder, data, first, runs)


def test_tcc_gives_one_hash_a_model_in_every_environment(tcc: Rows) -> None:
    assert bits_matrix.gaps([TCC], tcc.runs) == []
    assert bits_matrix.disagreements(tcc.runs) == []


def test_golden_files_have_the_bits_that_they_were_written_with(tcc: Rows) -> None:
    found = {r.signature for r in tcc.runs if r.way == "script"}
    assert found == {r.signature for r in tcc.first} != set()
    assert bits_matrix.disagreements([*tcc.first, *tcc.runs]) == []


def library_digest(model: Any, signature: str, arrays: list[Any]) -> str:
    """The hash of a batch as bits.c computes it."""
    outputs = model.signature(signature).run(arrays)
    each = (hashlib.sha256(y.tobytes()).hexdigest() for y in outputs)
    return hashlib.sha256("".join(each).encode()).hexdigest()


def test_the_library_of_this_machine_has_the_bits_of_tcc(tcc: Rows, tmp_path: Path) -> None:
    cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")
    from bits_models import build

    sets = build(tmp_path / "models.gio")
    model = cinfer.load(tmp_path / "models.gio", threads=2)
    expected = {r.signature: r.digest for r in tcc.runs}
    for name, (rows, arrays) in sets.items():
        if rows:
            assert library_digest(model, name, arrays) == expected[f"models/{name}"], name


def test_each_instruction_set_has_the_bits_of_tcc_in_every_environment(tcc: Rows) -> None:
    build = TCC._replace(name="cc", compiler="cc", flags=(), threads=2)
    program = c_programs.build(CINFER / "tests" / "bits.c")
    arguments = ["2", "modes", "models.gio", "models.bin", "models"]
    runs, _ = bits_matrix.parsed(
        build, bits_builds.run_program(build, program, tcc.folder, arguments)
    )
    assert {r.threads for r in runs} == {"1", "2"}
    assert bits_matrix.gaps([build], runs) == []
    assert bits_matrix.disagreements([*tcc.runs, *runs]) == []


def test_kernels_of_every_family_have_the_bits_of_tcc(tmp_path: Path) -> None:
    if shutil.which("tcc") is None:
        pytest.skip("tcc is not installed")
    data = [bits_matrix.families(tmp_path)]
    here = TCC._replace(name="cc", compiler="cc", flags=(), threads=2)
    programs = {
        TCC: bits_builds.compile_program(TCC, tmp_path, data, 2),
        here: c_programs.build(CINFER / "tests" / "bits.c"),
    }
    arguments = ["2", "run", "families.gio", "families.bin", "families"]
    runs = [
        run
        for build, program in programs.items()
        for run in bits_matrix.parsed(
            build, bits_builds.run_program(build, program, tmp_path, arguments)
        )[0]
    ]
    assert {r.build for r in runs} == {"x86-64 tcc", "cc"}
    assert bits_matrix.disagreements(runs) == []


def test_two_compilers_save_the_same_checkpoint(tcc: Rows) -> None:
    program = c_programs.build(CINFER / "tests" / "bits.c")
    (tcc.folder / "cc").mkdir()
    arguments = ["2", "save", "models.gio", "models.bin", "cc/m-2"]
    subprocess.run([str(program), *arguments], cwd=tcc.folder, check=True)
    saved = [r.digest for r in tcc.runs if r.way == "saved"]
    assert saved == [bits_matrix.checkpoint_digest(tcc.folder / "cc" / "m-2")]


def test_a_difference_of_bits_is_seen(tcc: Rows) -> None:
    other = tcc.runs[0]._replace(build="another", digest="0" * 64)
    assert f"{other.signature}: 2 hashes" in bits_matrix.disagreements([*tcc.runs, other])
    without = [r for r in tcc.runs if r.mode != "up"]
    assert bits_matrix.gaps([TCC], without) == ["x86-64 tcc: no environment up here"]


@pytest.mark.parametrize(
    "flags",
    ["-ffast-math", "-Ofast", "-funsafe-math-optimizations", "-ffinite-math-only",
     "-fno-signed-zeros", "-freciprocal-math", "-mfpmath=387"],
)  # fmt: skip
def test_flags_that_change_bits_are_compile_errors(flags: str) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    source = CINFER / "src" / "simd" / "vec_names.h"
    command = ["gcc", flags, f"-I{CINFER / 'include'}", "-fsyntax-only", "-x", "c", str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0 and "#error" in done.stderr and '"cinfer ' in done.stderr


NO_FILES = """
#include <stdio.h>
#include <stdlib.h>
#include "cinfer.h"
int main(int argc, char **argv) {
  static char bytes[1 << 20];
  ci_model *model;
  ci_session *session;
  ci_error error;
  FILE *file = fopen(argv[argc - 1], "rb");
  size_t size = fread(bytes, 1, sizeof bytes, file);
  printf("%d\\n", ci_open(argv[1], NULL, &model, &error));
  puts(error.message);
  printf("%d\\n", ci_open_memory(bytes, size, NULL, &model, &error));
  printf("%d\\n", ci_session_open(model, NULL, NULL, &session, &error));
  printf("%d\\n", ci_save(ci_session_state(session), model, "m-1", 1, &error));
  ci_session_close(session);
  ci_close(model);
  return 0;
}
"""


def test_a_build_without_files_runs_models_from_memory(tcc: Rows, tmp_path: Path) -> None:
    source, program = tmp_path / "app.c", tmp_path / "app"
    source.write_text(NO_FILES)
    command = ["tcc", "-DCI_NO_FILES", f"-I{CINFER / 'include'}", str(source)]
    command += [str(CINFER / "cinfer.c"), "-lm", "-o", str(program)]
    subprocess.run(command, check=True)
    path = tcc.folder / "models.gio"
    done = subprocess.run([str(program), str(path)], capture_output=True, text=True, check=True)
    unimplemented = "12"
    assert done.stdout.split("\n") == [
        unimplemented,
        f"cannot open '{path}': this build has no files (CI_NO_FILES)",
        *("0", "0", unimplemented, ""),
    ]
