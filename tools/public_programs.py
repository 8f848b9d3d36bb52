"""Runs public programs of TensorFlow 1 in both engines and compares their losses with TensorFlow's.

    python tools/public_programs.py [NAME ...] [--from FOLDER] [--tensorflow PYTHON] [--page]

Run by hand: it clones the repositories of public_programs_table.py from GitHub at their commits, or
takes bare ones from FOLDER (owner+name/repo or owner/name.git). Nothing of them is kept. Each
program gets data of the right shapes (public_programs_data.py), is shortened by its rules, and runs
four times in an empty folder: with `import graphio` in place of `import tensorflow` in each
engine, with nothing changed by `python -m graphio`, and by `graphio compare` if --tensorflow names
a Python that has TensorFlow. Prints a table; 1 if a run fails. --page writes
docs/public_programs.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import public_programs_data as data
from public_programs_table import COMMITS, PROGRAMS, Program

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/public_programs.md"
NOT_TRIED = "not tried"
LARGEST = 1 << 20  # bytes of a file that is taken out of a repository
WAYS = ("runtime", "cinfer", "unchanged")
#: for every program: handwritten digits come from a folder next to it; names that numpy and scipy
#: have dropped
ALWAYS = (
    (r"\bscipy\.sparse\.linalg\.eigen\.arpack\b", "scipy.sparse.linalg"),
    (r"\bscipy\.misc\b", "imageio"),
    (r"read_data_sets\((\s*)(?:train_dir=)?[^,()]+", rf'read_data_sets(\1"{data.DIGITS}"'),
    (r"\bnewshape=", "shape="),
    (r"\bnp\.(int|float|bool|object)\b", r"\1"),
)
IMPORT = re.compile(r"^([ \t]*)(import|from)[ \t]+tensorflow(\.compat\.v1)?(?=[ .\n])(.*)$", re.M)


@dataclasses.dataclass
class Result:
    """The outcome of a program.

    Attributes:
        runs: by way, "" or the last line of the error.
        losses: the number of steps whose losses agree with TensorFlow's.
        compared: "" if they agree, "not tried", or what differs or fails.
    """

    runs: dict[str, str]
    losses: int
    compared: str


def main() -> int:
    """Runs the programs of the command line; 1 if a run fails."""
    given = _arguments()
    chosen = [one for one in PROGRAMS if not given.names or any(n in one.name for n in given.names)]
    kept = json.loads(given.results.read_text()) if given.results and given.results.exists() else {}
    results = {name: Result(**fields) for name, fields in kept.items()}
    with tempfile.TemporaryDirectory() as folder:
        stand_ins = Path(folder, "stand_ins")
        data.stand_ins(stand_ins)
        for program in chosen:
            sources = Path(folder, "sources")
            shutil.rmtree(sources, ignore_errors=True)
            try:
                repository = _repository(program.repository, given.folder, Path(folder))
                _extract(repository, program, sources)
                result = _result(program, sources, stand_ins, given)
            except LookupError as error:
                result = Result(dict.fromkeys(WAYS, str(error)), 0, NOT_TRIED)
            if (earlier := results.get(program.name)) is not None:
                result.runs = {**earlier.runs, **result.runs}
                if result.compared == NOT_TRIED:
                    result.losses, result.compared = earlier.losses, earlier.compared
            results[program.name] = result
            if given.results:
                rows = {name: dataclasses.asdict(one) for name, one in results.items()}
                given.results.write_text(json.dumps(rows, indent=1))
            print(_line(program, result), flush=True)
    print(_totals(results))
    if given.page:
        PAGE.write_text(page(results, [one for one in PROGRAMS if one.name in results]))
    return int(any(any(result.runs.values()) for result in results.values()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="programs, by a part of their names; default: all")
    parser.add_argument("--from", dest="folder", type=Path, help="bare repositories")
    parser.add_argument("--tensorflow", help="a Python that has TensorFlow")
    parser.add_argument("--engine", default="cinfer", help="of the comparison")
    parser.add_argument("--ways", default=",".join(WAYS), help="those to run, with commas")
    parser.add_argument("--seconds", type=int, default=300, help="limit of a run")
    parser.add_argument("--results", type=Path, help="a file that keeps results between runs")
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    return parser.parse_args()


def _repository(name: str, folder: Path | None, scratch: Path) -> Path:
    """A bare repository: of the folder, else cloned."""
    if folder is None:
        clone = scratch / f"{name.replace('/', '+')}.git"
        if not clone.exists():
            url = f"https://github.com/{name}.git"
            subprocess.run(["git", "clone", "-q", "--bare", url, str(clone)], check=True)
        return clone
    owned = folder / name.replace("/", "+") / "repo"
    for path in (owned / ".git", owned, folder / f"{name}.git"):
        if (path / "HEAD").exists():
            return path
    raise LookupError(f"{name} is not in {folder}")


def _extract(repository: Path, program: Program, into: Path) -> None:
    """Writes the files of a program's folder, at its commit; those that are large stay out."""
    commit = COMMITS[program.repository]
    git = ["git", "-C", str(repository)]
    listed = [*git, "ls-tree", "-r", "-z", commit, "--", *program.folders]
    rows = subprocess.run(listed, capture_output=True, check=True, text=True).stdout
    for row in filter(None, rows.split("\0")):
        facts, _, path = row.partition("\t")
        if not path.endswith(data.ENDINGS):
            continue
        found = subprocess.run([*git, "cat-file", "blob", facts.split()[2]], capture_output=True)
        if found.returncode == 0 and len(found.stdout) <= LARGEST:
            (into / path).parent.mkdir(parents=True, exist_ok=True)
            (into / path).write_bytes(found.stdout)
    _shorten(program, into)
    data.make(program.data, (into / program.path).parent)


def _shorten(program: Program, sources: Path) -> None:
    """Applies the program's rules; each has to find something."""
    unused = dict(program.rules)
    for path in sources.rglob("*.py"):
        text = path.read_text(encoding="utf-8-sig", errors="replace")
        for pattern, replacement in (*ALWAYS, *program.rules):
            text, count = re.subn(pattern, replacement, text, flags=re.M)
            if count:
                unused.pop(pattern, None)
        path.write_text(text)
    if unused:
        raise LookupError(f"nothing matches {list(unused)}")


def change_imports(text: str) -> str:
    """A program with graphio in place of TensorFlow in its import lines."""

    def changed(match: re.Match[str]) -> str:
        indent, word, _, rest = match.groups()
        alias = " as tensorflow" if word == "import" and not rest.strip() else ""
        return f"{indent}{word} graphio{rest}{alias}"

    return IMPORT.sub(changed, text)


def _result(
    program: Program, sources: Path, stand_ins: Path, given: argparse.Namespace
) -> Result:  # fmt: skip
    runs = {}
    for way in given.ways.split(","):
        if way not in WAYS:
            continue
        target = "cinfer" if way == "unchanged" else way
        command = [sys.executable, *(["-m", "graphio"] if way == "unchanged" else [])]
        code, _, errors = _run(command, program, sources, stand_ins, given, target, way != WAYS[2])
        runs[way] = "" if code == 0 else _last(errors) or f"exit code {code}"
    if given.tensorflow is None or program.no_tensorflow:
        return Result(runs, 0, program.no_tensorflow or NOT_TRIED)
    command = [sys.executable, "-m", "graphio", "compare", "--json", "--engine", given.engine]
    command += ["--tensorflow", given.tensorflow, "--tolerance", str(program.tolerance), "--copies"]
    command += ["--resource-variables"] if program.resources else []
    code, text, errors = _run(
        command, program, sources, stand_ins, given, given.engine, False, "--"
    )
    return Result(runs, *_compared(code, text, errors))


def _run(
    command: Sequence[str], program: Program, sources: Path, stand_ins: Path,
    given: argparse.Namespace, target: str, change: bool, before_arguments: str = "",
) -> tuple[int, str, str]:  # fmt: skip
    """The exit code, output and errors of a run in a copy of the sources."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name, "program")
        shutil.copytree(sources, copy)
        if change:
            for path in copy.rglob("*.py"):
                path.write_text(change_imports(path.read_text()))
        path = copy / program.path
        folder = copy / program.start if program.start is not None else path.parent
        arguments = [*filter(None, [before_arguments]), *program.arguments]
        try:
            done = subprocess.run(
                [*command, os.path.relpath(path, folder), *arguments],
                cwd=folder,
                env=_environment(stand_ins, target, program, copy),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=given.seconds,
            )
        except subprocess.TimeoutExpired:
            return 124, "", f"longer than {given.seconds} s"
        return done.returncode, done.stdout, done.stderr


def _environment(stand_ins: Path, target: str, program: Program, copy: Path) -> Mapping[str, str]:
    paths = [str(stand_ins), *(str(copy / one) for one in program.import_from)]
    paths += filter(None, [os.environ.get("PYTHONPATH")])
    return {
        **os.environ,
        "GRAPHIO_TARGET": target,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONHASHSEED": "0",
    }


def _compared(code: int, text: str, errors: str) -> tuple[int, str]:
    """The steps that agree, and "" or what differs."""
    if code not in (0, 1) or not text.strip():
        return 0, _last(errors) or f"exit code {code}"
    facts = json.loads(text)
    if facts["first"] is None:
        return len(facts["steps"]), ""
    first = facts["first"]
    return first["step"], f"step {first['step']}: {first['name']} by {first['difference']:.2g}"


def _last(errors: str) -> str:
    lines = [line for line in errors.splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else ""


def _line(program: Program, result: Result) -> str:
    cells = [f"{way} {'ok' if not error else error}" for way, error in result.runs.items()]
    cells.append(f"{result.losses} losses agree" if not result.compared else result.compared)
    return f"{program.name}: {'; '.join(cells)}"


def _totals(results: Mapping[str, Result]) -> str:
    chosen = [one for one in PROGRAMS if one.name in results]
    counts = [
        f"{sum(not results[one.name].runs.get(way, 'no') for one in chosen)} {text}"
        for way, text in zip(WAYS, ("end in runtime", "in cinfer", "unchanged"), strict=True)
    ]
    agree = sum(not result.compared for result in results.values())
    return (
        f"{len(chosen)} programs of {len({one.repository for one in chosen})} repositories: "
        f"{', '.join(counts)}; the losses of {agree} agree with TensorFlow's"
    )


def page(results: Mapping[str, Result], programs: Sequence[Program]) -> str:
    """The text of docs/public_programs.md."""
    lines = [
        "# Public programs",
        "",
        "Written by `python tools/public_programs.py --tensorflow PYTHON --page`, which fetches "
        "public programs of TensorFlow 1, makes data of the shapes that they read, shortens them, "
        "and runs each. *runtime* and *cinfer*: with `import graphio` in place of `import "
        "tensorflow` and nothing else changed. *unchanged*: `python -m graphio program.py`. "
        "*losses*: the number of the first steps whose fetched values agree with those of "
        "TensorFlow 2.21 (`tensorflow.compat.v1`), with the same weights, feeds and draws, by "
        "`graphio compare`; where they differ, the step and the first tensor; where TensorFlow "
        "cannot run the program, its error. *not tried*: the run was left out. Both Pythons need "
        "scipy, scikit-learn and networkx, which some programs import.",
        "",
        f"{_totals(results)}.",
        "",
        "| program | commit | runtime | cinfer | unchanged | losses |",
        "|---|---|---|---|---|---|",
    ]
    for one in programs:
        result = results[one.name]
        url = f"https://github.com/{one.repository}"
        cells = [
            f"[{one.repository}]({url}): {one.path}",
            f"`{COMMITS[one.repository][:10]}`",
            *(_cell(result.runs.get(way, NOT_TRIED)) for way in WAYS),
            str(result.losses) if not result.compared else _cell(result.compared),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _cell(error: str) -> str:
    return error.replace("|", "\\|").replace("<", "&lt;") or "ends"


if __name__ == "__main__":
    sys.exit(main())
