"""Runs the fuzz targets, logs what they did, and writes the figures into docs/security.md.

python tools/fuzz.py wire run --seconds 60         these, or all that this machine can build
python tools/fuzz.py wire --executions 1000000 --log --jobs 2
python tools/fuzz.py --seconds 60 --settled        CI: only targets that reached their goal fail
python tools/fuzz.py --deep --log                  slices in turn until each target has its goal
python tools/fuzz.py cost --deep --log --jobs 16   sixteen runs of one target at a time
python tools/fuzz.py wire --replay                 seeds and regressions once; or files that follow
python tools/fuzz.py wire --pack 400000            the corpus, minimised, becomes the seeds
python tools/fuzz.py --summary                     what docs/fuzzing.jsonl adds up to
python tools/fuzz.py --page                        writes that into docs/security.md; --check

A target is a program that takes libFuzzer's flags. What it finds interesting is kept in
build/fuzz/corpus, so that a long run is many short ones. With a finding the exit status is 1 and
the reproducer's path is printed. A fixed finding goes into the target's folder of regressions.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import datetime
import hashlib
import importlib.util
import json
import lzma
import os
import platform
import random
import re
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/fuzz"
C_FUZZ = ROOT / "cinfer/fuzz"
PYTHON_FUZZ = ROOT / "tests/fuzzing"
LOG = ROOT / "docs/fuzzing.jsonl"
PAGE = ROOT / "docs/security.md"
MARKS = ("<!-- fuzzing -->", "<!-- /fuzzing -->")
SLICE = 600  # seconds of one turn of --deep
SHORT = 1024  # bytes of the longest input of most turns: those run several times as fast
# A replay reports where blocks were allocated.
QUICK = {"ASAN_OPTIONS": "malloc_context_size=2:quarantine_size_mb=32"}
TIMEOUT = 20  # seconds of one input, by the clock of a machine that may stand still
PATIENCE = 100  # of one that took longer: what does not end is a finding, much honest work is none
SHOWN = 8192  # bytes of the longest finding that is printed, so that a log alone can show it again
KINDS = ("crash-", "leak-", "timeout-", "oom-")  # of reproducers, as libFuzzer names them

Line = dict[str, Any]


# ---- the targets ----


@dataclass(frozen=True)
class Target:
    """A program that takes libFuzzer's flags.

    Attributes:
        what: what it is about, for the page.
        command: builds it and gives its command line; None where this machine cannot build it.
        goal: executions before 1.0.
        folder: has corpus/NAME.pack and regressions/NAME/, each if there is one.
        flags: of libFuzzer, in addition to those that all have.
        short_too: three seeds of four keep the inputs SHORT.
        dictionary: in the folder; "": none.
    """

    what: str
    command: Callable[[str], list[str] | None]
    goal: int
    folder: Path
    flags: tuple[str, ...] = ()
    dictionary: str = ""
    short_too: bool = False


def c_program(name: str) -> list[str] | None:
    """A target in C under ASan and UBSan."""
    compiler = shutil.which("clang")
    if compiler is None or not _has_libfuzzer(compiler):
        return None
    return _built(name, compiler, "libfuzzer", BUILD / "c")


def counting_program(name: str) -> list[str] | None:
    """A target in C that counts basic blocks, and has its own search: any gcc or clang. The bounds
    were measured with gcc."""
    compiler = shutil.which("gcc") or shutil.which("clang")
    return None if compiler is None else _built(name, compiler, "search", BUILD / "search")


def _built(name: str, compiler: str, engine: str, folder: Path) -> list[str]:
    cache = shutil.which("ccache")
    options = [f"-DCMAKE_C_COMPILER={compiler}", f"-DFUZZ_ENGINE={engine}"]
    options += [f"-DCMAKE_C_COMPILER_LAUNCHER={cache}"] if cache else []
    cmake = str(_beside("cmake"))
    with _one_builds():
        for command in (
            [cmake, "-S", str(C_FUZZ), "-B", str(folder), *options],
            [cmake, "--build", str(folder), "-j2", "--target", f"fuzz_{name}"],
        ):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(done.stdout[-3000:] + done.stderr[-3000:])
    return [str(folder / f"fuzz_{name}")]


@contextlib.contextmanager
def _one_builds() -> Iterator[None]:
    """Waits while another job, or another process, builds in the same folder."""
    import fcntl  # Windows has none, and no targets in C

    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / "building", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def python_program(name: str) -> list[str] | None:
    """A target in Python, tests/fuzzing/NAME.py, under atheris."""
    if importlib.util.find_spec("atheris") is None:
        return None
    return [sys.executable, str(PYTHON_FUZZ / "atheris_main.py"), f"--target={name}"]


def _beside(program: str) -> Path | str:
    """A program of this virtual environment, else of the system."""
    here = Path(sys.executable).parent / program
    return here if here.exists() else program


def _has_libfuzzer(compiler: str) -> bool:
    command = [compiler, "-fsanitize=fuzzer,address", "-x", "c", "-", "-o", os.devnull]
    source = "int LLVMFuzzerTestOneInput(void){return 0;}"
    return subprocess.run(command, input=source, capture_output=True, text=True).returncode == 0


TARGETS = {
    "wire": Target(
        "C: container, messages, parse, verify",
        c_program,
        10**8,
        C_FUZZ,
        ("-max_len=8192", "-entropic=0"),
        "model.dict",
        short_too=True,
    ),
    "run": Target(
        "C: load, plan, run",
        c_program,
        10**7,
        C_FUZZ,
        ("-max_len=8192", "-entropic=0"),
        "model.dict",
        short_too=True,
    ),
    "checkpoint": Target(
        "C: index, shards, the file `checkpoint`",
        c_program,
        10**6,
        C_FUZZ,
        ("-max_len=8192", "-entropic=0"),
        "checkpoint.dict",
        short_too=True,
    ),
    "cost": Target(
        "C: basic blocks and memory of load and plan, for each byte",
        counting_program,
        10**7,
        C_FUZZ,
        ("-max_len=65536",),
    ),
    "model_reader": Target(
        "Python: model files, to the plan and back to a graph",
        python_program,
        10**6,
        PYTHON_FUZZ,
        ("-max_len=16384",),
    ),
    "checkpoint_reader": Target(
        "Python: index, shards, graph file, the file `checkpoint`",
        python_program,
        10**6,
        PYTHON_FUZZ,
        ("-max_len=32768",),
    ),
    "interop": Target(
        "Python: safetensors, .npy and .npz, files of torch.save, TensorFlow's checkpoints",
        python_program,
        10**6,
        PYTHON_FUZZ,
        ("-max_len=32768",),
    ),
    "onnx_importer": Target(
        "Python: ONNX models to model files",
        python_program,
        10**6,
        PYTHON_FUZZ,
        ("-max_len=16384",),
    ),
    "tensorflow_importer": Target(
        "Python: GraphDefs and SavedModels to model files",
        python_program,
        10**6,
        PYTHON_FUZZ,
        ("-max_len=16384",),
    ),
    "serving_requests": Target(
        "Python: bodies of requests to `graphio serve`, to the answer",
        python_program,
        10**6,
        PYTHON_FUZZ,
        ("-max_len=8192",),
    ),
}


# ---- seeds: one packed file a target, each seed after its length in four bytes ----


def unpacked(data: bytes) -> list[bytes]:
    """The seeds of a pack."""
    seeds, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        seeds.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    return seeds


def packed(seeds: Iterable[bytes]) -> bytes:
    """A pack of these seeds."""
    return b"".join(struct.pack("<I", len(seed)) + seed for seed in seeds)


def seed_folder(name: str, target: Target) -> Path:
    """The seeds of a target, a file each."""
    folder = BUILD / "seeds" / name
    pack = target.folder / "corpus" / f"{name}.pack"
    seeds = unpacked(pack.read_bytes()) if pack.exists() else []
    named = {hashlib.sha1(seed).hexdigest(): seed for seed in seeds}
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():  # other jobs may read those that stay
        if path.name not in named:
            path.unlink(missing_ok=True)
    for seed_name, seed in named.items():
        if not (folder / seed_name).exists():
            (folder / seed_name).write_bytes(seed)
    return folder


def regressions(name: str, target: Target) -> list[Path]:
    """The files that once were findings."""
    return sorted((target.folder / "regressions" / name).glob("*"))


def pack_corpus(name: str, target: Target, most: int) -> None:
    """Minimises the corpus and writes it as the seeds, the smallest first, up to `most` bytes."""
    command = target.command(name) or sys.exit(f"{name} cannot be built here")
    small, found = BUILD / "minimised" / name, BUILD / "snapshot" / name
    for folder in (small, found):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    for path in corpus_folder(name).iterdir():
        with contextlib.suppress(FileNotFoundError):  # a run that goes on meanwhile removes files
            shutil.copy(path, found)
    sources = [str(seed_folder(name, target)), str(found)]
    subprocess.run([*command, "-merge=1", *target.flags, str(small), *sources], check=True)
    seeds = sorted((path.read_bytes() for path in small.iterdir()), key=lambda s: (len(s), s))
    while sum(map(len, seeds)) + 4 * len(seeds) > most:
        seeds.pop()
    pack = target.folder / "corpus" / f"{name}.pack"
    pack.parent.mkdir(exist_ok=True)
    pack.write_bytes(packed(seeds))
    print(f"{pack.relative_to(ROOT)}: {len(seeds)} seeds, {pack.stat().st_size} bytes")


def corpus_folder(name: str) -> Path:
    """Where a target keeps what it found interesting."""
    folder = BUILD / "corpus" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


# ---- running ----


def fuzz(name: str, target: Target, seed: int, limits: Sequence[str]) -> Line | None:
    """One run; its line for the log, or None where this machine cannot build the target."""
    program = target.command(name)
    if program is None:
        return None
    findings = BUILD / "findings" / name / str(seed)
    findings.mkdir(parents=True, exist_ok=True)
    before = {path: path.stat().st_mtime_ns for path in findings.iterdir()}
    folders = [corpus_folder(name), seed_folder(name, target)]
    old = target.folder / "regressions" / name
    folders += [old] if old.is_dir() else []
    flags = [f"-seed={seed}", f"-artifact_prefix={findings}/", "-print_final_stats=1"]
    flags += ["-rss_limit_mb=1024", f"-timeout={TIMEOUT}", "-reload=0", *target.flags, *limits]
    if target.short_too and seed % 4:
        flags.append(f"-max_len={SHORT}")
    flags += [f"-dict={target.folder / target.dictionary}"] if target.dictionary else []
    # With a given seed, what is tried is a matter of that seed and of time alone.
    around = {**QUICK, "PYTHONHASHSEED": str(seed % 2**32), **os.environ}
    started = time.monotonic()
    report = BUILD / f"{name}-{seed}.log"
    command = [*program, *flags, *map(str, folders)]
    with open(report, "wb") as out:
        done = subprocess.run(command, stdout=out, stderr=out, env=around)
    text = report.read_text(errors="replace")
    written = sorted(
        path
        for path in findings.iterdir()
        if path.name.startswith(KINDS) and path.stat().st_mtime_ns != before.get(path)
    )
    if done.returncode != 0 and not written:
        sys.exit(f"{name} ended with status {done.returncode}; its report is {report}")
    found = [path for path in written if not ends([*program, *target.flags], path)]
    for path in found:
        print(f"{name}: finding {path}; report {report}\n{shown(path, text)}", flush=True)
    line = line_of(name, seed, text, time.monotonic() - started, len(found))
    if not line["coverage"] and not found:
        sys.exit(f"{name} saw nothing of the library: it was not instrumented; see {report}")
    return line


def ends(command: Sequence[str], path: Path) -> bool:
    """Whether what took too long ends when it is run again, with time for much honest work."""
    if not path.name.startswith("timeout-"):
        return False
    again = subprocess.run([*command, f"-timeout={PATIENCE}", str(path)], capture_output=True)
    if again.returncode == 0:
        print(f"{path.name} took over {TIMEOUT} s, and ends: no finding", flush=True)
    return again.returncode == 0


def shown(path: Path, report: str) -> str:
    """Where it happened, and the input, to be pasted into `base64 -d | unxz`."""
    lines = re.findall(r"^.*(?:ERROR: |runtime error: |SUMMARY: | #[0-9] ).*$", report, re.M)
    packed = base64.b64encode(lzma.compress(path.read_bytes())).decode()
    return "\n".join([*lines[-12:], packed if len(packed) <= SHOWN else f"{len(packed)} bytes"])


def line_of(name: str, seed: int, text: str, seconds: float, findings: int) -> Line:
    """libFuzzer's report as a line of the log."""
    progress = re.findall(r"^#(\d+)\t.*?cov: (\d+)(?: ft: (\d+))?(?: corp: (\d+))?", text, re.M)
    units = re.search(r"number_of_executed_units:\s*(\d+)", text)
    last = progress[-1] if progress else ("0", "0", "0", "0")
    return {
        "target": name,
        "executions": int(units[1] if units else last[0]),
        "seconds": round(seconds, 1),
        "findings": findings,
        "coverage": int(last[1]),
        "features": int(last[2] or 0),
        "corpus": int(last[3] or 0),
        "seed": seed,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M"),
        "commit": _commit(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _commit() -> str:
    """The commit, with a "+" where sources differ from it."""
    dirty = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs")
    return _git("rev-parse", "--short=12", "HEAD") + ("+" if dirty else "")


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()


def run_slice(names: Sequence[str], arguments: argparse.Namespace, seconds: int) -> int:
    """Each target once, `jobs` at a time, several times if there are fewer targets than jobs; the
    number of findings."""
    names = [name for name in names for _ in range(max(1, arguments.jobs // len(names)))]
    limits = [f"-max_total_time={seconds}"] if seconds else []
    limits += [f"-runs={arguments.executions}"] if arguments.executions else []
    found = 0
    gates = settled() if arguments.settled else set(names)
    with ThreadPoolExecutor(arguments.jobs) as threads:
        first = names.index  # runs of one target have different seeds
        seeds = [
            arguments.seed + i - first(name) if arguments.seed else random.randrange(1, 2**31)
            for i, name in enumerate(names)
        ]
        lines = threads.map(
            lambda name, seed: fuzz(name, TARGETS[name], seed, limits), names, seeds
        )
        for name, line in zip(names, lines, strict=True):
            if line is None:
                print(f"{name}: cannot be built here, left out", flush=True)
                continue
            print(
                f"{name}: {line['executions']:,} executions in {line['seconds']:.0f} s, "
                f"coverage {line['coverage']}, {line['findings']} findings",
                flush=True,
            )
            found += line["findings"] if name in gates else 0
            if arguments.log:
                with open(LOG, "a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
    return found


def settled() -> set[str]:
    """The targets that have reached their goal; what others find is news, and no step back."""
    done = totals()
    return {n for n, t in TARGETS.items() if done.get(n, {}).get("executions", 0) >= t.goal}


def deep(names: Sequence[str], arguments: argparse.Namespace) -> int:
    """Slices until each target has its goal, or one has a finding."""
    while True:
        left = [n for n in names if n not in settled()]
        if not left:
            return 0
        found = run_slice(left, arguments, arguments.seconds or SLICE)
        if found or not arguments.log:
            return found


def replay(name: str, target: Target, files: Sequence[str]) -> int:
    """Runs seeds and regressions, or these files, once; the exit status."""
    command = target.command(name)
    if command is None:
        print(f"{name}: cannot be built here, left out")
        return 0
    stored = [*seed_folder(name, target).iterdir(), *regressions(name, target)]
    paths = list(files) or [str(path) for path in stored]
    return subprocess.run([*command, *target.flags, *paths]).returncode if paths else 0


# ---- figures ----


def lines() -> list[Line]:
    """The log, oldest first."""
    text = LOG.read_text(encoding="utf-8") if LOG.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


def totals() -> dict[str, Line]:
    """Sums by target; "clean" counts the executions after the last finding."""
    sums: dict[str, Line] = {}
    for line in lines():
        total = sums.setdefault(
            line["target"], {"executions": 0, "seconds": 0.0, "findings": 0, "clean": 0}
        )
        for key in ("executions", "seconds", "findings"):
            total[key] += line[key]
        total["clean"] = 0 if line["findings"] else total["clean"] + line["executions"]
        total["coverage"] = max(total.get("coverage", 0), line["coverage"])
        total["last"] = f"{line['date'][:10]}, `{line['commit'][:9]}`"
    return sums


HEAD = ("target", "what", "executions", "goal", "hours", "findings", "since the last", "replayed")


def summary() -> str:
    """The totals as a table; what is replayed are the files of fixed findings."""
    rows: list[Sequence[str]] = [(*HEAD, "last run"), ["---"] * (len(HEAD) + 1)]
    done = totals()
    for name, target in TARGETS.items():
        total = done.get(name, {"executions": 0, "seconds": 0, "findings": 0, "clean": 0})
        rows.append(
            (
                f"`{name}`",
                target.what,
                f"{total['executions']:,}",
                f"{target.goal:,}",
                f"{total['seconds'] / 3600:.1f}",
                f"{total['findings']:,}",
                f"{total['clean']:,}",
                f"{len(regressions(name, target)):,}",
                total.get("last", "not run yet"),
            )
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def page() -> str:
    """docs/security.md with the table of now."""
    before, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
    _, after = rest.split(MARKS[1])
    return f"{before}{MARKS[0]}\n{summary()}\n{MARKS[1]}{after}"


# ---- the command line ----


def main() -> int:
    """See the top of this file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=0, help="for each target")
    parser.add_argument("--executions", type=int, default=0, help="of each target")
    parser.add_argument("--seed", type=int, default=0, help="0: another one each time")
    parser.add_argument("--jobs", type=int, default=1, help="targets at the same time")
    parser.add_argument("--log", action="store_true", help="append to docs/fuzzing.jsonl")
    parser.add_argument(
        "--settled", action="store_true", help="fail only by targets that the log has to their goal"
    )
    parser.add_argument("--deep", action="store_true", help="until each target has its goal")
    parser.add_argument("--replay", nargs="*", metavar="FILE")
    parser.add_argument("--pack", type=int, default=0, metavar="BYTES")
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    names = arguments.targets or list(TARGETS)
    if unknown := set(names) - set(TARGETS):
        parser.error(f"no target {sorted(unknown)}, there are {', '.join(TARGETS)}")
    if arguments.summary:
        print(summary())
        return 0
    if arguments.page:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if arguments.check:
        return _check()
    if arguments.replay is not None:
        return max(replay(name, TARGETS[name], arguments.replay) for name in names)
    if arguments.pack:
        for name in names:
            pack_corpus(name, TARGETS[name], arguments.pack)
        return 0
    if arguments.deep:
        return min(deep(names, arguments), 1)
    return min(run_slice(names, arguments, arguments.seconds), 1)


def _check() -> int:
    if PAGE.read_text(encoding="utf-8") == page():
        return 0
    print("docs/security.md is out of date: run python tools/fuzz.py --page", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
