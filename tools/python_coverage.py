"""Coverage of saving and restoring in Python by the tests: lines and branches, a row a file.

    python tools/python_coverage.py                      runs the tests, prints the table
    python tools/python_coverage.py --report             the table of the last run
    python tools/python_coverage.py --missing saving.py  and the parts of it that no test reaches
    python tools/python_coverage.py --add tests/ops/test_x.py -- -k name  adds to the last run

A branch is a way from one line to another, counted by coverage.py, in child processes too. It is
an error when a goal of GOALS is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from c_coverage import ROOT, Row, below, cells, test_files

BUILD = ROOT / "build/python_coverage"
# A group's modules, by how their paths in the package begin.
GROUPS = {
    "files": "schema/container schema/files schema/shard schema/stores schema/tensors "
    "schema/verify",
    "saving": "schema/checkpoint schema/restore train/background train/checkpoint train/latest "
    "train/restoring train/retention train/saver train/saving train/user_state",
}
GENERATED = "*/*_pb2.py"
# Percent of lines and branches that must be reached.
GOALS = {"files": (98.0, 98.0), "saving": (98.0, 98.0)}
TESTS = """
    test_async_save test_checkpoint test_checkpoint_names test_checkpoint_reading
    test_checkpoint_saver test_container test_data_checkpoints test_exact_resume test_model_damage
    test_monitored_session test_proof_faults test_remote test_remote_saver test_restore_failures
    test_restore_options test_restore_trees test_retention test_retention_of_others
    test_saver_surface test_saving_corners test_schema_verify test_strings test_training_loop
""".split()
# An interrupt inside of coverage.py leaves its lock taken, for ever.
LEFT_OUT = "tests/data/test_data_checkpoints.py::test_a_replay_without_end_can_be_interrupted"
# Child processes, also those of os.fork, count; each process writes a separate file.
SETTINGS = f"""
[run]
branch = true
parallel = true
data_file = {BUILD / "data"}
source = {ROOT / "graphio"}
omit = {GENERATED}
patch = subprocess, fork
"""


def coverage(*arguments: str) -> bool:
    """Runs coverage.py; whether it ended well."""
    first, *rest = arguments
    command = [sys.executable, "-m", "coverage", first, f"--rcfile={BUILD / 'settings'}", *rest]
    return subprocess.run(command, cwd=ROOT).returncode == 0


def measure(arguments: argparse.Namespace) -> bool:
    """Whether all tests passed."""
    if not arguments.add:
        shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True, exist_ok=True)
    (BUILD / "settings").write_text(SETTINGS)
    tests = arguments.add or test_files(TESTS)
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", f"--deselect={LEFT_OUT}", *tests]
    good = coverage("run", *pytest, *arguments.options)
    return coverage("combine", "--append", "--quiet") and good


def read() -> dict[str, Row]:
    """A row for each file of the package, `train/saver.py`."""
    found = BUILD / "report.json"
    if not coverage("json", "--quiet", "-o", str(found)):
        raise SystemExit(1)
    files = json.loads(found.read_text())["files"]
    return {re.sub(r"^.*graphio/", "", name): row_of(file) for name, file in files.items()}


def row_of(file: dict[str, Any]) -> Row:
    counts = file["summary"]
    row = Row(
        lines=[counts["covered_lines"], counts["num_statements"]],
        branches=[counts["covered_branches"], counts["num_branches"]],
    )
    row.missing = [(line, "line") for line in file["missing_lines"]]
    for start, end in file["missing_branches"]:
        row.missing.append((start, f"never to {end}" if end > 0 else "never to the end"))
    return row


def members(rows: dict[str, Row], group: str) -> Iterator[str]:
    yield from (name for name in sorted(rows) if name.startswith(tuple(GROUPS[group].split())))


def report(arguments: argparse.Namespace) -> int:
    rows = read()
    groups = {group: Row() for group in GROUPS}
    for group, total in groups.items():
        for name in members(rows, group):
            total.add(rows[name])
        print(cells(group, total))
        for name in members(rows, group):
            print(cells(f"  {name}", rows[name]))
            if os.path.basename(name) in arguments.missing or group in arguments.missing:
                for line, what in sorted(rows[name].missing):
                    print(f"    {line}: {what}")
    wrong = below(groups, GOALS)
    print("\n".join(wrong))
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--report", action="store_true", help="of the last run")
    parser.add_argument("--missing", nargs="+", default=[], metavar="FILE|GROUP")
    parser.add_argument("--add", nargs="+", default=[], metavar="TEST", help="adds to the last run")
    parser.add_argument("options", nargs="*", help="after --: handed to pytest")
    arguments = parser.parse_args()
    good = arguments.report or measure(arguments)
    return report(arguments) or int(not good)


if __name__ == "__main__":
    sys.exit(main())
