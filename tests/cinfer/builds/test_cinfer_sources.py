"""The C sources keep the rules by which their files are found and read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from folders import ROOT

SOURCES = ROOT / "cinfer" / "src"
OPS = SOURCES / "ops.def"
FAMILIES = SOURCES / "families.h"
TABLES = {"ops.def", "families.h", "ci_schema.h"}
PUBLIC = set(re.findall(r"\b(ci_\w+)\(", (ROOT / "cinfer" / "include" / "cinfer.h").read_text()))
MOST_IN_A_FOLDER = 35

sys.path.insert(0, str(ROOT / "tools"))

import c_calls  # noqa: E402
import c_coverage  # noqa: E402

ROW = re.compile(
    r'^CI_OP\("[\w.]*", (?P<name>\w+), .*, (?P<flags>[A-Z0-9_ |]+), "[^"]*", '
    r"(?P<prepare>\w+), (?P<run>\w+)\)$",
    re.MULTILINE,
)

#: flags of an operator for the planner, by the function that runs it
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
    """Where the planner treats operators differently it reads a flag of their row."""
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


# ---- folders ----


def included(path: Path) -> list[Path]:
    """The files of the library that a file includes."""
    names = re.findall(r'^\s*#\s*include "([^"]+)"', path.read_text(), re.MULTILINE)
    found = [Path(os.path.normpath(path.parent / name)) for name in names]
    return [file for file in found if file.is_relative_to(SOURCES)]


def folder_of(path: Path) -> str:
    return "tables" if path.parent == SOURCES else path.relative_to(SOURCES).parts[0]


def test_folders_include_what_their_readme_says() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for path in c_files():
        if path.parent != SOURCES:
            found[folder_of(path)] |= {folder_of(file) for file in included(path)} - {
                folder_of(path)
            }
    reported = {}
    for readme in SOURCES.glob("*/README.md"):
        line = re.search(r"^Includes: (.*)\.$", readme.read_text(), re.MULTILINE)
        assert line is not None, readme
        reported[readme.parent.name] = set(line[1].split(", "))
    assert dict(found) == reported


def test_files_of_the_library_that_are_included_exist() -> None:
    assert not [file for path in c_files() for file in included(path) if not file.is_file()]


def test_files_that_readmes_name_exist() -> None:
    named = [
        readme.parent / name
        for readme in SOURCES.glob("*/README.md")
        for name in re.findall(r"`([\w/.]+\.[ch])`", readme.read_text())
    ]
    assert len(named) > 40
    assert not [path for path in named if not path.is_file()]


def test_no_folder_shows_more_than_a_reader_can_look_through() -> None:
    full = {
        str(folder): len(list(folder.iterdir()))
        for folder in (SOURCES, *SOURCES.rglob("*/"))
        if folder.is_dir() and len(list(folder.iterdir())) > MOST_IN_A_FOLDER
    }
    assert not full


def test_families_of_kernels_have_folders_of_their_names() -> None:
    folders = {path.name for path in (SOURCES / "kernels").iterdir() if path.is_dir()}
    assert folders <= set(
        re.findall(r"^#define CI_FAMILY_(\w+) ", FAMILIES.read_text(), re.MULTILINE)
    )


# ---- files ----


def test_a_header_declares_functions_of_files_of_its_folder_and_names_the_file() -> None:
    homes = defaultdict(set)
    for path in SOURCES.rglob("*.c"):
        for name in c_calls.DEFINITION.findall(c_calls.code_of(path)):
            homes[name].add(path)
    wrong = []
    for header in SOURCES.rglob("*.h"):
        for part in re.split(r"^(?=/\* ---- \w+\.c)", header.read_text(), flags=re.MULTILINE):
            section = re.match(r"/\* ---- (\w+\.c)", part)
            code = c_calls.PROSE.sub(" ", part)
            for name in re.findall(
                r"^[A-Za-z_][^;{}()=\n]*?\b(ci_\w+)\([^;{}]*\);", code, re.MULTILINE
            ):
                positions = homes.get(name, set())
                fits = {
                    path
                    for path in positions
                    if (path.name == section[1] if section else header.is_relative_to(path.parent))
                }
                if positions and not fits:
                    wrong.append(f"{header.relative_to(SOURCES)} declares {name} of {positions}")
    assert not wrong


def named_after(function: str, stems: set[str]) -> str | None:
    """The file, of some without endings, whose name a function begins with: the longest."""
    found = [stem for stem in stems if f"{function}_".startswith(f"ci_{stem}_")]
    return max(found, key=len, default=None)


def test_no_function_is_named_after_another_file_of_its_folder() -> None:
    wrong, seen = [], 0
    for path in SOURCES.rglob("*.c"):
        stems = {other.stem for other in path.parent.glob("*.c")}
        for name in c_calls.DEFINITION.findall(c_calls.code_of(path)):
            # ci_matmul is a structure that the operators of matmul.c share with other families
            if name.startswith(("ci_prepare_", "ci_run_", "ci_matmul_")) or name in PUBLIC:
                continue
            named = named_after(name, stems)
            seen += named is not None
            if named not in (None, path.stem):
                wrong.append(f"{name} of {path.relative_to(SOURCES)} is named after {named}.c")
    assert seen > 200
    assert not wrong


def test_a_function_is_named_after_the_file_with_the_longest_name_that_it_begins_with() -> None:
    stems = {"plan", "plan_variables", "pack"}
    assert named_after("ci_plan_variables_read", stems) == "plan_variables"
    assert named_after("ci_plan", stems) == "plan"
    assert named_after("ci_planner_open", stems) is None


def test_a_file_begins_with_its_name_and_what_it_is() -> None:
    without = [
        str(path)
        for path in c_files()
        if path.name != "ci_schema.h" and not path.read_text().startswith(f"/* {path.name} - ")
    ]
    assert not without


def test_every_file_is_in_a_group_of_the_report_of_coverage() -> None:
    files = [str(path.relative_to(SOURCES)) for path in c_files() if path.name != "ci_schema.h"]
    assert {c_coverage.group_of(file) for file in files} == set(c_coverage.GROUPS)


def test_lines_that_no_test_can_reach_are_of_files_that_exist() -> None:
    text = (ROOT / "tools" / "c_coverage_excluded.txt").read_text()
    named = set(re.findall(r"^([\w/]+\.[ch]) \| ", text, re.MULTILINE))
    assert len(named) > 30
    assert not [name for name in named if not (SOURCES / name).is_file()]


# ---- calls ----


def test_at_most_three_files_call_each_other_in_a_circle() -> None:
    calls = c_calls.of_folder(SOURCES)
    assert len(calls) > 150 and sum(map(len, calls.values())) > 500
    assert max(map(len, c_calls.circles(calls))) <= 3


def test_circles_of_calls_are_found_however_long_they_are(tmp_path: Path) -> None:
    code = {
        "a": "int ca(void) {\n  return cb();\n}\n",
        "b": "int cb(void) {\n  return cc(); /* ca() */\n}\n",
        "c": "int cc(void) {\n  return ca();\n}\n",
        "d": 'static int ca(void) {\n  return 1;\n}\nint cd(void) {\n  return cb(), f("cd");\n}\n',
    }
    for name, text in code.items():
        (tmp_path / f"{name}.c").write_text(text)
    calls = c_calls.of_folder(tmp_path)
    assert calls["b.c"] == {"c.c": frozenset({"cc"})}
    assert c_calls.circles(calls) == [["a.c", "b.c", "c.c"]]
    (tmp_path / "c.c").write_text("int cc(void) {\n  return 0;\n}\n")
    assert c_calls.circles(c_calls.of_folder(tmp_path)) == []


# ---- names that users see ----

OLD_NAMES = {
    "ci_foresee": "ci_infer_outputs",
    "ci_state_room": "ci_state_alloc",
    "ci_state_room_free": "ci_state_free",
    "ci_host_ahead": "ci_host_peek",
}


def test_older_names_of_public_functions_are_declared_deprecated_and_defined() -> None:
    header = (ROOT / "cinfer" / "include" / "cinfer.h").read_text()
    defined = (SOURCES / "session" / "old_names.c").read_text()
    for old, name in OLD_NAMES.items():
        assert re.search(rf'CI_OLD_NAME\("{name}"\)\s+CI_API [^;]*\b{old}\(', header)
        assert re.search(rf"\b{old}\([^;{{}}]*\) {{\s*(return )?{name}\(", defined)
        assert old not in c_calls.PROSE.sub(" ", header.split("/* end cdef */")[0])
