"""Coverage of the C library by the tests: lines, branches and MC/DC, a table a group of files.

    python tools/c_coverage.py                     builds, runs everything, prints the table
    python tools/c_coverage.py --report            the table of the last run
    python tools/c_coverage.py --missing parse.c   and the parts of these files that no test reaches
    python tools/c_coverage.py --add tests/ops/test_x.py -- -k name  runs more, adds to the last run

Built by clang with source-based coverage: the same objects in the C programs of cinfer/tests and in
the native module of the Python tests. A branch is one outcome of one condition, counted once where
it stands, also when a macro holds it (there, each use by itself) or a file is compiled several
times. What cannot be reached stands with its reason in c_coverage_excluded.txt,
marked `perhaps` where the machine or chance decides, and is counted in the last column. It is an
error when something else there is reached after all, and when a goal of GOALS is missed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "cinfer/src"
BUILD = ROOT / "build/coverage"
PROFILES = BUILD / "profiles"
EXCLUDED = Path(__file__).with_name("c_coverage_excluded.txt")
PRESET = BUILD / "preset"
CLANG, LLVM = "clang-19", "-19"  # the first with MC/DC
# Counts of an else are differences of others: threads must not lose any.
FLAGS = "-fprofile-instr-generate -fprofile-update=atomic -fcoverage-mapping -fcoverage-mcdc -w"
COMPILER = {"CC": CLANG, "CFLAGS": FLAGS}

# Files by their paths without ending; the longest pattern that fits a file counts.
GROUPS = {
    "loader": "families base/* system/* model/* state/in_file",
    "planner": "plan/* model/needs model/ops session/plan_cache session/session_plan "
    "kernels/kernel kernels/ci_kernel kernels/kernel_shape",
    "run": "session/* state/* plan/execute kernels/sequence kernels/one_nan system/threads "
    "base/out",
    "checkpoints": "checkpoint/*",
    "numbers": "math/* simd/* plan/half system/cpu system/float_mode",
    "kernels": "kernels/*/*",
}
# Percent of lines and branches that must be reached.
GOALS = {"loader": (100.0, 100.0), "planner": (100.0, 100.0), "kernels": (100.0, 95.0)}

# The Python tests that drive the library with files, plans, states and checkpoints ...
READERS = """
    test_aliased_inputs test_attacks test_binding test_binding_arrays test_binding_threads
    test_builds_that_refuse test_cases test_checkpoint test_checkpoint_names test_checkpoint_saver
    test_container test_control_flow test_custom_operators test_functional test_golden
    test_host_calls test_large_results test_loop_gradients test_model_damage test_new_rows
    test_new_shapes test_parallel_runs test_placement test_plan_corners test_plan_memory
    test_plan_refusals test_plan_variables test_proof_damage test_proof_faults test_quiet_runs
    test_restore_failures test_restore_options test_restore_trees test_retention test_reused_memory
    test_run_metadata test_runtime test_scan test_schema_verify test_sequences test_session
    test_steps_in_place test_strings test_unknown_rank test_variables
""".split()
# ... and those that drive its kernels.
KERNELS = """
    test_asserts test_bits_families test_byte_matmuls test_cinfer_math test_conformance
    test_conv_bits test_conv_pairs test_differential test_fourier_bits test_gradients_conv
    test_gradients_image test_gradients_index test_gradients_sampling test_kernel_corners
    test_kernel_graphs test_kernel_lengths test_kernel_limits test_kernel_memory
    test_kernel_refusals test_onnx_import test_onnx_ml test_onnx_training test_onnx_trees
    test_operators test_ops_onnx test_ops_shapes test_ops_values test_optimizers
    test_parse_example test_pictures test_fused_matmuls test_random_graphs test_recurrent_bits
    test_rewrite test_rnn test_small_types test_sparse_ops test_strings_standard test_tf_random
""".split()

# File, line, column: of the uses of macros from the outside in, the last one inside them.
Position = tuple[tuple[str, int, int], ...]


@dataclasses.dataclass
class Branch:
    """A condition: its text in the file that uses it, how often it was true and false."""

    file: str
    line: int
    text: str
    true: int = 0
    false: int = 0

    def missed(self) -> list[str]:
        return [s for s, n in (("never true", self.true), ("never false", self.false)) if n == 0]


@dataclasses.dataclass
class Decision:
    """Conditions joined by && and ||: which of them have decided by themselves."""

    file: str
    line: int
    text: str
    end: tuple[int, int]
    conditions: list[bool]

    def has(self, where: Position, branch: Position) -> bool:
        """Whether this decision, at `where`, holds the condition."""
        *uses, start = where
        depth = len(uses)
        if len(branch) <= depth or list(branch[:depth]) != uses or branch[depth][0] != start[0]:
            return False
        return start[1:] <= branch[depth][1:] < self.end


@dataclasses.dataclass
class Coverage:
    lines: dict[str, dict[int, int]]
    branches: dict[Position, Branch]
    decisions: dict[Position, Decision]
    left_out: dict[str, int]  # by file: lines and outcomes that were excluded and not reached


# ---- building and running ----


def build() -> None:
    cache = shutil.which("ccache")
    launcher = [f"-DCMAKE_C_COMPILER_LAUNCHER={cache}"] if cache else []
    ninja = ["-G", "Ninja"] if shutil.which("ninja") else []
    configure = ["cmake", "-S", str(ROOT), "-B", str(BUILD), *ninja, *launcher]
    configure += [f"-DCMAKE_C_COMPILER={CLANG}", f"-DCMAKE_C_FLAGS={FLAGS}", "-DCINFER_TESTS=ON"]
    configure += ["-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    for target in ("_native", "cinfer/all"):
        command = ["cmake", "--build", str(BUILD), "-j2", "--target", target]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (BUILD / "site").mkdir(exist_ok=True)
    (BUILD / "site/sitecustomize.py").write_text(CUSTOMIZE)
    for name in ("cc", "clang"):  # for the programs that tests compile
        compiler = BUILD / "site" / name
        compiler.write_text(f'#!/bin/sh\nexec {CLANG} {FLAGS} "$@"\n')
        compiler.chmod(0o755)


# Python finds our native module in place of the one of the package, in child processes too.
CUSTOMIZE = f'''\
import sys
from importlib.util import spec_from_file_location


class Native:
    def find_spec(self, name, path=None, target=None):
        if name == "graphio.cinfer._native":
            return spec_from_file_location(name, "{BUILD / "_native.abi3.so"}")


sys.meta_path.insert(0, Native())
'''


def environment(profile: str = "%8m") -> dict[str, str]:
    first = str(BUILD / "site")
    changed = {
        "PATH": f"{first}:{os.environ['PATH']}",
        "PYTHONPATH": f"{first}:{ROOT}:{ROOT / 'tests'}:{ROOT / 'tests/support'}",
        # Profiles of processes that run one after another are added up in eight files.
        "LLVM_PROFILE_FILE": f"{PROFILES}/{profile}.profraw",
    }
    return {**os.environ, **changed}


def run_c(names: str) -> bool:
    command = ["ctest", "--test-dir", str(BUILD / "cinfer"), "--output-on-failure", "-Q"]
    command += ["-R", names]
    # A file for each: programs that differ in a constant alone have one %m and refuse each other's.
    return subprocess.run(command, env=environment("%m-%p")).returncode == 0


def run_preset() -> bool:
    """Tests of a library without all families, which they build themselves."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += [
        "tests/cinfer/builds/test_families.py",
        "-k",
        "left_out or listed or no_build or no_family or one_file",
        f"--basetemp={PRESET}",
    ]
    return subprocess.run(command, cwd=ROOT, env=environment() | COMPILER).returncode == 0


def run_python(tests: list[str]) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=ROOT, env=environment()).returncode == 0


# ---- reading what was counted ----


def read() -> Coverage:
    merged = BUILD / "merged.profdata"
    raw = [str(path) for path in sorted(PROFILES.glob("*.profraw"))]
    command = [f"llvm-profdata{LLVM}", "merge", "-sparse", *raw, "-o", str(merged)]
    subprocess.run(command, check=True)
    command = [f"llvm-cov{LLVM}", "export", "-skip-expansions", f"-instr-profile={merged}"]
    command += [f"-object={path}" for path in objects()]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    found = json.loads(done.stdout)["data"][0]
    coverage = Coverage({}, {}, {}, defaultdict(int))
    for file in found["files"]:
        if (name := short(file["filename"])) is not None:
            found_lines = lines(file["segments"])
            coverage.lines[name] = {n: count for n, count in found_lines if is_code(name, n)}
    for function in found["functions"]:
        add(coverage, function)
    return coverage


def objects() -> Iterator[Path]:
    """Binaries with counters."""
    yield BUILD / "_native.abi3.so"
    yield BUILD / "cinfer/libcinfer.so"
    newest = max(path.stat().st_mtime for path in SOURCES.rglob("*.[chd]*"))
    made = [*(ROOT / "build/c_programs").glob("*/*"), *(ROOT / "build/proofs").glob("*-*")]
    programs = [path for path in made if path.suffix == ""]
    for path in (*PRESET.rglob("build/libcinfer.so"), *programs):
        if path.stat().st_mtime > newest and b"__llvm_covmap" in path.read_bytes():
            yield path


def short(path: str) -> str | None:
    """`kernels/shape/copy.c`; None outside of the library and of a header of numbers."""
    full_path = Path(path)
    if not full_path.is_relative_to(SOURCES) or full_path.name == "ci_schema.h":
        return None
    return str(full_path.relative_to(SOURCES))


def lines(segments: list[list[Any]]) -> Iterator[tuple[int, int]]:
    """The count of each line with code: of what starts in it, or goes on from the line before."""
    starts = defaultdict(list)
    for segment in segments:
        starts[segment[0]].append(segment)
    before: list[Any] | None = None
    for line in range(segments[0][0], segments[-1][0] + 1) if segments else ():
        here = starts[line]
        entries = [s[2] for s in here if s[3] and s[4] and not s[5]]  # counted, entered, no gap
        skipped = bool(here) and not here[0][3] and here[0][4]
        if before is not None and before[3]:
            entries.append(before[2])
        if not skipped and entries:
            yield line, max(entries)
        before = here[-1] if here else before


def is_code(file: str, line: int) -> bool:
    text = source(file)[line - 1].rstrip("\\").strip()  # of a macro, too
    return text not in ("", "}", "{") and not text.startswith("#")


def add(coverage: Coverage, function: dict[str, Any]) -> None:
    """Adds the counts of a function, which may be one of several compiled from the same lines."""
    uses = {r[6]: r for r in function["regions"] if r[7] == 1}  # of macros
    names = [short(name) for name in function["filenames"]]

    def position(region: list[Any], file: int) -> tuple[Position, str] | None:
        chain, outer = [(names[file], region[0], region[1])], region
        while file in uses:
            outer = uses[file]
            file = outer[5]
            chain.append((names[file], outer[0], outer[1]))
        if chain[-1][0] is None:
            return None
        return tuple(reversed(chain)), text_at(str(names[file]), outer)  # type: ignore[return-value]

    for region in function["branches"]:
        if (found := position(region, region[6])) is not None:
            where, text = found
            new = Branch(where[0][0], where[0][1], text)
            branch = coverage.branches.setdefault(where, new)
            branch.true += region[4]
            branch.false += region[5]
    for region in function["mcdc_records"]:
        # A record does not say in which use of a macro it is: where its conditions are.
        of = [b[6] for b in function["branches"] if region[:2] <= b[:2] < region[2:4]]
        if (found := position(region, min(of, default=0))) is not None:
            where, text = found
            end = region[2], region[3]
            new = Decision(where[0][0], where[0][1], text, end, [False] * len(region[6]))
            decision = coverage.decisions.setdefault(where, new)
            decision.conditions = [
                a or b for a, b in zip(decision.conditions, region[6], strict=True)
            ]


CACHE: dict[str, list[str]] = {}


def source(file: str) -> list[str]:
    if file not in CACHE:
        CACHE[file] = (SOURCES / file).read_text().split("\n")
    return CACHE[file]


def text_at(file: str, region: list[Any]) -> str:
    """The code between the two ends of a region, on one line."""
    first, start, last, end = region[:4]
    rows = source(file)[first - 1 : last]
    rows[-1] = rows[-1][: end - 1]
    rows[0] = rows[0][start - 1 :]
    return " ".join(row.strip() for row in rows)


# ---- exclusions ----


@dataclasses.dataclass
class Exclusion:
    """`file | never true | condition` or `never false`; `line` for a line of code; `perhaps`
    before either where it is reached on some machines or by chance."""

    file: str
    kind: str
    text: str
    perhaps: bool
    matched: int = 0
    needed: int = 0


def exclusions() -> list[Exclusion]:
    """Of a file where a row without blanks before it is an exclusion, what follows its reason."""
    found = []
    for row in EXCLUDED.read_text().splitlines():
        if row.strip() and not row.startswith((" ", "#")):
            file, kind, text = row.split(" | ", 2)
            perhaps = kind.startswith("perhaps ")
            found.append(Exclusion(file, kind.removeprefix("perhaps "), text, perhaps))
    return found


def exclude(coverage: Coverage, rows: list[Exclusion]) -> set[tuple[Position, str]]:
    """Takes excluded lines out; the outcomes of branches that count as reached."""
    known = {(row.file, row.kind, row.text): row for row in rows}
    outcomes = set()
    for where, branch in coverage.branches.items():
        for kind, count in (("never true", branch.true), ("never false", branch.false)):
            if (row := known.get((branch.file, kind, branch.text))) is not None:
                row.matched += 1
                row.needed += count == 0
                coverage.left_out[branch.file] += count == 0
                outcomes.add((where, kind))
    for file, counts in coverage.lines.items():
        for line in list(counts):
            if (row := known.get((file, "line", source(file)[line - 1].strip()))) is not None:
                row.matched += 1
                row.needed += counts[line] == 0
                coverage.left_out[file] += counts[line] == 0
                del counts[line]
    return outcomes


def complaints(rows: list[Exclusion]) -> list[str]:
    found = [f"matches nothing: {r.file} | {r.kind} | {r.text}" for r in rows if not r.matched]
    found += [
        f"is reached: {r.file} | {r.kind} | {r.text}"
        for r in rows
        if r.matched and not r.needed and not r.perhaps
    ]
    return [f"{EXCLUDED.name}: {row}" for row in found]


# ---- the table ----


@dataclasses.dataclass
class Row:
    """Reached and all of lines, outcomes of branches, conditions of decisions."""

    lines: list[int] = dataclasses.field(default_factory=lambda: [0, 0])
    branches: list[int] = dataclasses.field(default_factory=lambda: [0, 0])
    mcdc: list[int] = dataclasses.field(default_factory=lambda: [0, 0])
    left_out: int = 0
    missing: list[tuple[int, str]] = dataclasses.field(default_factory=list)

    def add(self, other: Row) -> None:
        for name in ("lines", "branches", "mcdc"):
            mine, its = getattr(self, name), getattr(other, name)
            mine[:] = [mine[0] + its[0], mine[1] + its[1]]
        self.left_out += other.left_out


def percent(pair: list[int]) -> float:
    return 100.0 * pair[0] / pair[1] if pair[1] else 100.0


def rows_of(coverage: Coverage, outcomes: set[tuple[Position, str]]) -> dict[str, Row]:
    rows: dict[str, Row] = defaultdict(Row)
    for file, counts in coverage.lines.items():
        rows[file].lines = [sum(n > 0 for n in counts.values()), len(counts)]
        rows[file].left_out = coverage.left_out[file]
        for line, count in counts.items():
            if count == 0:
                rows[file].missing.append((line, f"line: {source(file)[line - 1].strip()}"))
    for where, branch in coverage.branches.items():
        row = rows[branch.file]
        missed = [kind for kind in branch.missed() if (where, kind) not in outcomes]
        row.branches[0] += 2 - len(missed)
        row.branches[1] += 2
        row.missing += [(branch.line, f"{kind}: {branch.text}") for kind in missed]
    impossible = {where for where, _ in outcomes}
    for where, decision in coverage.decisions.items():
        inside = sum(decision.has(where, branch) for branch in impossible)
        row = rows[decision.file]
        alone = sum(decision.conditions)
        counted = max(alone, len(decision.conditions) - inside)
        row.mcdc[0] += alone
        row.mcdc[1] += counted
        if alone < counted:
            which = " ".join(str(i + 1) for i, ok in enumerate(decision.conditions) if not ok)
            row.missing.append((decision.line, f"condition {which} alone: {decision.text}"))
    return rows


def group_of(file: str) -> str:
    stem = file.rsplit(".", 1)[0]
    fitting = {
        pattern: group
        for group, patterns in GROUPS.items()
        for pattern in patterns.split()
        if fnmatchcase(stem, pattern)
    }
    if fitting:
        return fitting[max(fitting, key=len)]
    raise SystemExit(f"{file} is in no group of {__file__}")


def table(rows: dict[str, Row], details: bool) -> dict[str, Row]:
    groups: dict[str, Row] = {name: Row() for name in GROUPS}
    members: dict[str, list[str]] = defaultdict(list)
    for file in sorted(rows):
        members[group_of(file)].append(file)
        groups[group_of(file)].add(rows[file])
    head = f"{'':34} {'lines':>15} {'branches':>17} {'MC/DC':>15} {'left out':>19}"
    print(head)
    for group, total in groups.items():
        print(cells(group, total))
        for file in members[group] if details else ():
            print(cells(f"  {file}", rows[file]))
    return groups


def cells(name: str, row: Row) -> str:
    pairs = row.lines, row.branches, row.mcdc
    parts = [
        f"{percent(pair):6.2f} % {pair[0]:>5}/{pair[1]:<5}" if pair[1] else " " * 20
        for pair in pairs
    ]
    share = percent([row.left_out, row.left_out + row.lines[1] + row.branches[1]])
    left_out = f"{row.left_out:6} {share:6.2f} %" if row.left_out else ""
    return f"{name:28} " + "  ".join([*parts, left_out])


def below(groups: dict[str, Row], goals_of: dict[str, tuple[float, float]]) -> list[str]:
    """The goals that are missed."""
    found = []
    for group, goals in goals_of.items():
        pairs = {"lines": groups[group].lines, "branches": groups[group].branches}
        for (what, pair), goal in zip(pairs.items(), goals, strict=True):
            if percent(pair) < goal:
                found.append(f"{group}: {percent(pair):.2f} % of the {what}, the goal is {goal} %")
    return found


def report(arguments: argparse.Namespace) -> int:
    coverage = read()
    excluded = exclusions()
    rows = rows_of(coverage, exclude(coverage, excluded))
    groups = table(rows, not arguments.groups)
    for file in arguments.missing:
        for name in sorted(n for n in rows if n == file or group_of(n) == file):
            for line, what in sorted(set(rows[name].missing)):
                print(f"{name}:{line}: {what}")
    wrong = complaints(excluded) + below(groups, GOALS)
    print("\n".join(wrong))
    return 1 if wrong else 0


def test_files(names: list[str]) -> list[str]:
    """Files of Python tests, which are in folders of tests."""
    files = {path.stem: path for path in (ROOT / "tests").rglob("test_*.py")}
    return [str(files[name].relative_to(ROOT)) for name in names]


def chosen(arguments: argparse.Namespace) -> tuple[list[str], bool, list[str]]:
    """C programs, whether the preset, and files of Python tests."""
    if arguments.add:
        python = [test for test in arguments.add if ".py" in test]
        rest = [test for test in arguments.add if ".py" not in test]
        return [test for test in rest if test != "preset"], "preset" in rest, python
    all_kinds = arguments.only is None
    names = READERS * (all_kinds or arguments.only == "readers")
    names += KERNELS * (all_kinds or arguments.only == "kernels")
    programs = ["test_"] if all_kinds or arguments.only == "c" else []
    return programs, all_kinds or arguments.only == "preset", test_files(names)


def measure(arguments: argparse.Namespace) -> bool:
    """Builds and runs; whether all tests passed."""
    build()
    if not arguments.add:
        shutil.rmtree(PROFILES, ignore_errors=True)
    programs, preset, python = chosen(arguments)
    good = run_c("|".join(programs)) if programs else True
    if preset:
        good = run_preset() and good
    return run_python([*python, *arguments.options]) and good if python else good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--report", action="store_true", help="of the last run")
    parser.add_argument("--groups", action="store_true", help="no row a file")
    parser.add_argument(
        "--only", choices=("c", "preset", "readers", "kernels"), help="of the tests"
    )
    parser.add_argument("--missing", nargs="+", default=[], metavar="FILE|GROUP")
    add = "adds to the last run: tests/ops/test_x.py, test_y of cinfer/tests, preset"
    parser.add_argument("--add", nargs="+", default=[], metavar="TEST", help=add)
    parser.add_argument("options", nargs="*", help="after --: handed to pytest with --add")
    arguments = parser.parse_args()
    good = arguments.report or measure(arguments)
    return report(arguments) or int(not good)


if __name__ == "__main__":
    sys.exit(main())
