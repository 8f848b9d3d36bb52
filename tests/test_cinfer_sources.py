"""The C sources keep the rules by which their files are found and read."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "cinfer" / "src"
OPS = SOURCES / "ops.def"
FAMILIES = SOURCES / "families.h"

ROW = re.compile(
    r'^CI_OP\("[\w.]*", (?P<name>\w+), .*, (?P<flags>[A-Z0-9_ |]+), "[^"]*", '
    r"(?P<prepare>\w+), (?P<run>\w+)\)$",
    re.MULTILINE,
)

#: what the planner does with an operator, by the function that runs it
FLAGS = {
    "ci_run_nothing": "CI_OP_NO_RUN",
    "ci_run_variable": "CI_OP_READS_VARIABLE",
    "ci_run_assign": "CI_OP_ASSIGNS",
    "ci_run_host_call": "CI_OP_CALLS_HOST",
}


def rows() -> list[re.Match[str]]:
    return list(ROW.finditer(OPS.read_text()))


def c_files() -> list[Path]:
    return sorted(SOURCES.rglob("*.[ch]"))


def test_every_row_of_the_table_of_operators_is_read_here() -> None:
    assert len(rows()) == len(re.findall(r"^CI_OP\(", OPS.read_text(), re.MULTILINE)) > 200


@pytest.mark.parametrize(("run", "flag"), FLAGS.items())
def test_rows_have_the_flag_of_what_runs_them(run: str, flag: str) -> None:
    run_by = {row["name"] for row in rows() if row["run"] == run}
    flagged = {row["name"] for row in rows() if flag in row["flags"].split(" | ")}
    assert flagged == run_by != set()


def test_no_file_compares_functions_of_operators() -> None:
    """What the planner wants to know of an operator is a flag of its row."""
    functions = {row[part] for row in rows() for part in ("prepare", "run")}
    compared = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in c_files()
        for match in re.finditer(r"[!=]= &?(ci_\w+)\b(?!\()", path.read_text())
        if match[1] in functions
    ]
    assert not compared


def test_families_have_a_bit_each_and_custom_has_the_last() -> None:
    bits = {
        name: int(bit)
        for name, bit in re.findall(
            r"^#define CI_FAMILY_(\w+) \(1ULL << (\d+)\)", FAMILIES.read_text(), re.MULTILINE
        )
    }
    assert len(bits) == len(re.findall(r"^#define CI_FAMILY_", FAMILIES.read_text(), re.MULTILINE))
    assert sorted(bits.values()) == list(range(len(bits)))
    assert max(bits, key=lambda name: bits[name]) == "custom"


def test_a_family_beyond_the_first_32_can_be_chosen(tmp_path: Path) -> None:
    source = tmp_path / "later.c"
    source.write_text(
        f'#define CI_FAMILY_later (1ULL << 40)\n#include "{FAMILIES}"\n'
        "#if !CI_HAS(later) || CI_HAS(types) || !CI_HAS(linear)\n#error \n#endif\n"
        '_Static_assert(CI_HAS(later) && !CI_HAS(types) && CI_HAS(linear), "");\n'
    )
    chosen = "-DCI_FAMILIES=CI_FAMILY_later|CI_FAMILY_linear"
    done = subprocess.run(
        ["cc", "-std=c11", "-Wall", "-Werror", "-c", chosen, source, "-o", tmp_path / "later.o"]
    )
    assert done.returncode == 0
