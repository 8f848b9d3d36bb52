"""Static analysis of the C library: compilers' warnings, stack, recursion, analyzers.

    python tools/static_analysis.py            # warnings, stack and recursion
    python tools/static_analysis.py --deep     # and cppcheck, clang-tidy, gcc -fanalyzer
    python tools/static_analysis.py stack      # one step

A finding that stays has a line with its reason in tools/static_analysis.txt; a line that nothing
needs any more is a finding, too. Exit status 1: there are findings.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ONE_FILE = "cinfer/cinfer.c"
REASONS = ROOT / "tools" / "static_analysis.txt"

# ---- warnings ----

WARNINGS = (
    "-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wvla -Wstrict-prototypes "
    "-Wmissing-prototypes -Wold-style-definition -Wnested-externs -Wcast-qual -Wundef "
    "-Wformat=2 -Wpointer-arith -Wwrite-strings"
).split()
GCC = "-Wcast-align=strict -Wlogical-op -Wjump-misses-init -Wdate-time -Walloca".split()
CLANG = "-Wcast-align -Wassign-enum -Wunreachable-code -Wconditional-uninitialized".split()
COMPILERS = {
    "gcc": GCC,
    "clang-14": CLANG,
    "clang-19": CLANG,
    "i686-linux-gnu-gcc": [*GCC, "-msse2", "-mfpmath=sse"],
    "arm-linux-gnueabihf-gcc": GCC,
}

# Compilers that optimise the parts of the library as one, and the linker that this needs.
WITH_LTO = {
    "gcc": ("gcc", ["-flto=auto"]),
    "clang-14": ("ld.lld", ["-flto", "-fuse-ld=lld"]),
    "clang-19": ("ld.lld", ["-flto", "-fuse-ld=lld"]),
}

# ---- stack ----

MOST_FRAME = 2048  # bytes, of a function
# Larger ones, each with a buffer of fixed size.
LARGE_FRAMES = {
    "cinfer/src/checkpoint/checkpoint_save.c": 4608,  # a block of a file; the lists of a save
    "cinfer/src/checkpoint/checkpoint_restore.c": 2560,
    "cinfer/src/simd/linear/isa_linear_impl.h": 5120,  # tiles of MatMul
    "cinfer/src/simd/linear/isa_linear_window_impl.h": 5120,
    "cinfer/src/simd/math/isa_move_impl.h": 2560,
    "cinfer/src/kernels/arithmetic/cast.c": 3584,
    "cinfer/src/kernels/arithmetic/elementwise.c": 2560,
    "cinfer/src/kernels/arithmetic/fused.c": 17408,  # a tile of each register of a fused program
    "cinfer/src/kernels/arithmetic/fused_prepare.c": 6656,
    "cinfer/src/kernels/normalization/lrn.c": 2560,
    "cinfer/src/kernels/quantization/quantize.c": 4608,
    "cinfer/src/kernels/image/resize.c": 2560,
    "cinfer/src/kernels/logic/where.c": 4608,
}
MOST_DEPTH, MOST_CALLS = 16, 16  # ci_limits.max_depth by default; functions inside each other


@dataclass(frozen=True)
class Recursion:
    """Functions that call each other, how deep, and what bounds it."""

    names: frozenset[str]
    levels: int
    reason: str


RECURSIONS = [
    Recursion(
        frozenset(
            "parse_graph parse_bodies parse_keep parse_call ci_parse_node ci_function_inline "
            "functions_body".split()
        ),
        MOST_DEPTH + MOST_CALLS,
        "bodies inside each other: max_depth; calls inside each other: CI_MOST_CALLS",
    ),
    Recursion(
        frozenset("parse_count_graph parse_count_node parse_count_attr".split()),
        MOST_DEPTH + 1,
        "bodies inside each other: it stops at max_depth",
    ),
    Recursion(frozenset({"types_parse"}), 3, "an optional sequence of tensors, nothing deeper"),
    Recursion(
        frozenset(
            "ci_half_prepare ci_compile_frame_nodes ci_step_prepare compile_frame compile_node "
            "if_branch loop_prepare ci_prepare_if ci_prepare_loop ci_prepare_scan".split()
        ),
        MOST_DEPTH + 1,
        "bodies inside each other: max_depth of the load",
    ),
    Recursion(
        frozenset("ci_execute_frame ci_run_if ci_run_loop ci_run_scan".split()),
        MOST_DEPTH + 1,
        "bodies inside each other: max_depth of the load",
    ),
    Recursion(frozenset({"meta_keep_graph"}), 64, "META_MOST_DEPTH, and the model was verified"),
    Recursion(frozenset({"array_tile_axis"}), 16, "axes of a tensor: CI_MAX_RANK"),
]
# Functions that the pointers of an operator's row lead to.
INDIRECT = {
    "ci_step_prepare": "ci_prepare_",
    "ci_half_prepare": "ci_prepare_",
    "ci_step_compute": "ci_run_",
    "fold_run": "ci_run_",
    "ci_execute_frame": "ci_run_",
}
ENTRIES = ("ci_open", "ci_open_memory", "ci_session_open", "ci_reserve", "ci_run", "ci_close")


@dataclass(frozen=True)
class Finding:
    """One line of a tool's output."""

    check: str
    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text} [{self.check}]"


def run(*command: str, cwd: Path = ROOT) -> str:
    """A tool's output on both channels."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    return done.stdout + done.stderr


FINDING = re.compile(
    r"^([^\s:]+):(\d+):(?:\d+:)? (?:warning|error|style|performance|portability): (.*)$"
)


def findings_in(output: str) -> Iterator[Finding]:
    """The findings in what a compiler printed."""
    for line in output.splitlines():
        match = FINDING.match(line)
        if match is None:
            continue
        path, number, text = match.groups()
        check = re.search(r"\[([\w.,=+-]+)\]$", text)
        name = check.group(1).split(",")[0] if check else "error"
        at = Path(path)
        inside = at.relative_to(ROOT) if at.is_absolute() and at.is_relative_to(ROOT) else at
        yield Finding(name, str(inside), int(number), text.rsplit(" [", 1)[0])


def missing(tool: str) -> bool:
    """Whether a tool is not there, which is reported: its findings are unknown."""
    if shutil.which(tool):
        return False
    print(f"{tool} is not installed: not run")
    return True


def warnings() -> list[Finding]:
    """Every compiler, with every warning that makes sense for this code."""
    findings: list[Finding] = []
    for compiler, more in COMPILERS.items():
        if missing(compiler):
            continue
        print(f"warnings: {compiler}")
        findings += findings_in(run(compiler, *WARNINGS, *more, "-fsyntax-only", ONE_FILE))
    parts = sorted(ROOT.glob("cinfer/src/**/*.c"))
    for compiler, (linker, more) in WITH_LTO.items():
        if missing(compiler) or missing(linker):
            continue
        print(f"warnings: {compiler} {' '.join(more)}")
        findings += linked(compiler, [*COMPILERS[compiler], *more], parts)
    return findings


def linked(compiler: str, flags: list[str], parts: list[Path]) -> list[Finding]:
    """Findings of a compiler in parts that are compiled one by one and optimised when linked."""
    flags = [*WARNINGS, *flags, "-O2", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off"]
    flags += ["-DCI_BUILD", f"-I{ROOT / 'cinfer' / 'include'}"]
    with tempfile.TemporaryDirectory() as folder:

        def compiled(part: Path) -> tuple[str, str]:
            made = str(Path(folder, f"{part.parent.name}_{part.stem}.o"))
            return made, run(compiler, *flags, "-c", str(part), "-o", made)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            made = list(pool.map(compiled, parts))
        objects = [name for name, _ in made]
        link = [compiler, *flags, "-shared", *objects, "-o", str(Path(folder, "library.so"))]
        printed = "".join(text for _, text in made) + run(*link, "-lm", "-pthread")
    return list(findings_in(printed))


# ---- the call graph, as gcc writes it ----


@dataclass
class Function:
    """A function of the library after inlining."""

    path: str
    line: int
    frame: int
    bounded: bool
    calls: set[str]


def call_graph() -> dict[str, Function]:
    """From the .ci file that gcc -fcallgraph-info writes next to the object."""
    with tempfile.TemporaryDirectory() as folder:
        made = str(Path(folder, "cinfer.o"))
        flags = ["-std=c11", "-Os", "-ffp-contract=off", "-DCI_BUILD", "-fcallgraph-info=su,da"]
        refused = run("gcc", *flags, "-c", ONE_FILE, "-o", made)
        if refused:
            sys.exit(refused)
        return read_call_graph(Path(folder, "cinfer.ci").read_text())


NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "[^"]*?\\n([^"]*?)"')
EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')


def read_call_graph(text: str) -> dict[str, Function]:
    """By name without the path in front; constant copies (`f.isra.0`) count as their function."""

    def plain(title: str) -> str:
        return title.rsplit(":", 1)[-1]

    functions: dict[str, Function] = {}
    edges: dict[str, set[str]] = defaultdict(set)
    for line in text.splitlines():
        if match := EDGE.match(line):
            edges[plain(match[1])].add(plain(match[2]))
        elif (match := NODE.match(line)) and "bytes" in match[2]:
            location, frame, _ = match[2].split("\\n")
            path, number, _ = location.rsplit(":", 2)
            size, kind = re.match(r"(\d+) bytes \(([^)]*)\)", frame).groups()  # type: ignore[union-attr]
            bounded = kind in ("static", "dynamic,bounded")
            functions[plain(match[1])] = Function(path, int(number), int(size), bounded, set())
    for name, function in functions.items():
        function.calls = {called for called in edges[name] if called in functions}
        prefix = INDIRECT.get(name.split(".")[0])
        if prefix and "__indirect_call" in edges[name]:
            function.calls |= {other for other in functions if other.startswith(prefix)}
    return functions


def cycles(functions: dict[str, Function]) -> list[list[str]]:
    """Tarjan's strongly connected components, callees first; without recursion."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[list[str]] = []
    for root in functions:
        if root in index:
            continue
        work: list[tuple[str, Iterator[str]]] = [(root, iter(sorted(functions[root].calls)))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            name, calls = work[-1]
            called = next(calls, None)
            if called is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    at = stack.index(name)
                    found.append(stack[at:])
                    on_stack -= set(stack[at:])
                    del stack[at:]
            elif called not in index:
                index[called] = low[called] = len(index)
                stack.append(called)
                on_stack.add(called)
                work.append((called, iter(sorted(functions[called].calls))))
            elif called in on_stack:
                low[name] = min(low[name], index[called])
    return found


def deepest(functions: dict[str, Function], groups: list[list[str]]) -> dict[str, int]:
    """Bytes of stack below and with each function; a cycle counts once for each of its levels."""
    depth: dict[str, int] = {}
    for group in groups:
        below = max(
            (depth[c] for name in group for c in functions[name].calls if c not in group), default=0
        )
        frames = sum(functions[name].frame for name in group)
        recursion = allowed(group)
        total = below + frames * (recursion.levels if recursion else 1)
        depth.update(dict.fromkeys(group, total))
    return depth


def base(name: str) -> str:
    """The function that a copy of gcc's was made from."""
    return name.split(".")[0]


def allowed(group: list[str]) -> Recursion | None:
    """The reason why these functions may call each other."""
    names = {base(name) for name in group}
    return next((r for r in RECURSIONS if names & r.names and names <= r.names), None)


def stack() -> list[Finding]:
    """Frames no larger than they may be, no recursion without a bound, and the deepest stacks."""
    functions = call_graph()
    findings = []
    for name, function in functions.items():
        most = LARGE_FRAMES.get(function.path, MOST_FRAME)
        if function.frame > most or not function.bounded:
            text = f"{name} has {function.frame} bytes of stack, at most {most} are allowed"
            findings.append(Finding("stack-usage", function.path, function.line, text))
    groups = cycles(functions)
    for group in groups:
        first = functions[group[0]]
        if (len(group) > 1 or group[0] in first.calls) and allowed(group) is None:
            text = f"{', '.join(sorted(group))} call each other without a known bound"
            findings.append(Finding("recursion", first.path, first.line, text))
    depth = deepest(functions, groups)
    used = {
        allowed(group)
        for group in groups
        if len(group) > 1 or group[0] in functions[group[0]].calls
    }
    for recursion in RECURSIONS:
        if recursion not in used:
            text = f"no recursion of {', '.join(sorted(recursion.names))}: its row is not needed"
            findings.append(Finding("recursion", "tools/static_analysis.py", 1, text))
    for entry in ENTRIES:
        print(
            f"stack: {entry} takes at most {depth[entry]:,} bytes, the host's functions not counted"
        )
    return findings


# ---- analyzers ----


def one_unit(folder: Path) -> Path:
    """The library as one file, in which analyzers see every call, without the vector code."""
    parts = re.findall(r'#include "(src/.*\.c)"', (ROOT / ONE_FILE).read_text())
    lines = ["#define CI_ONE_FILE", "#define CI_LOCAL static", '#include "src/system/posix.h"']
    lines += [
        f'#include "{part}"' for part in parts if not re.match(r"src/(kernels/\w+|simd)/", part)
    ]
    made = folder / "unit.c"
    made.write_text("\n".join(lines) + "\n")
    return made


def clang_tidy() -> list[Finding]:
    """The checks of .clang-tidy: the loader, the planner, state and checkpoints as one file."""
    if missing("clang-tidy-14"):
        return []
    with tempfile.TemporaryDirectory() as folder:
        unit = one_unit(Path(folder))
        config = f"--config-file={ROOT / '.clang-tidy'}"
        flags = ["-std=c11", "-Wno-everything", f"-I{ROOT / 'cinfer'}"]
        return list(findings_in(run("clang-tidy-14", "--quiet", config, str(unit), "--", *flags)))


def gcc_analyzer() -> list[Finding]:
    """gcc -fanalyzer on the same."""
    if missing("gcc"):
        return []
    with tempfile.TemporaryDirectory() as folder:
        unit = one_unit(Path(folder))
        made = Path(folder, "unit.o")
        flags = ["-std=c11", "-O1", f"-I{ROOT / 'cinfer'}", "-fanalyzer", "-Wno-unused-function"]
        found = findings_in(run("gcc", *flags, "-c", str(unit), "-o", str(made)))
        return [f for f in found if f.check.startswith("-Wanalyzer")]  # kernels are not defined


def cppcheck() -> list[Finding]:
    """Every file of the library by itself."""
    if missing("cppcheck"):
        return []
    template = "--template={file}:{line}: {severity}: {message} [{id}]"
    enabled = "--enable=warning,performance,portability"
    flags = ["--std=c11", "--quiet", "-Icinfer/include", "-DCI_BUILD", enabled, template]
    return list(findings_in(run("cppcheck", *flags, "cinfer/src")))


STEPS: dict[str, Callable[[], list[Finding]]] = {
    "warnings": warnings,
    "stack": stack,
    "cppcheck": cppcheck,
    "tidy": clang_tidy,
    "analyzer": gcc_analyzer,
}
SHORT = ("warnings", "stack")

# ---- findings that stay ----


def reasons() -> dict[tuple[str, str, str], int]:
    """(step, check, file) of each line that is not a comment, and its number."""
    found = {}
    for number, line in enumerate(REASONS.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            words, _, reason = line.partition("  # ")
            step, check, path = words.split()
            assert reason.strip(), f"{REASONS.name}:{number}: no reason"
            found[step, check, path] = number
    return found


def judged(step: str, findings: list[Finding], complete: bool) -> list[Finding]:
    """Findings without a reason, and reasons without a finding."""
    known = {key: number for key, number in reasons().items() if key[0] == step}
    needed = {(step, finding.check, finding.path) for finding in findings}
    left = [f for f in dict.fromkeys(findings) if (step, f.check, f.path) not in known]
    for key, number in known.items():
        if complete and key not in needed:
            text = f"{' '.join(key)} is not found any more: remove the line"
            left.append(Finding("unneeded", str(REASONS.relative_to(ROOT)), number, text))
    return left


def main() -> None:
    """Runs the steps and prints what they found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", nargs="*", choices=[*STEPS, []], metavar="STEP")
    parser.add_argument("--deep", action="store_true", help="all steps: minutes")
    options = parser.parse_args()
    left = []
    for step in options.steps or (list(STEPS) if options.deep else SHORT):
        complete = step != "warnings" or all(shutil.which(compiler) for compiler in COMPILERS)
        findings = judged(step, STEPS[step](), complete)
        print(f"{step}: {len(findings)} findings")
        left += findings
    print(*left, sep="\n", end="\n" if left else "")
    sys.exit(bool(left))


if __name__ == "__main__":
    main()
